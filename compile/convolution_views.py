"""A convolution as a contraction of views of its operands.

Without padding it is one of an overlapping view of its base: row (b, y, x) and term (i, j, f) of the view are the base's
element (b, y * stride + i * dilation, x * stride + j * dilation, f). The columns are the output features, or the places along
the last spatial dimension where these lie side by side in memory, and are not few.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..hlo import ElementType, Instruction, Shape
from ..hlo.shape import element_strides
from .contraction import Contraction

# Places that are fewer than these, and than the features, are rows. Rows of which some are taken at once are at least so many.
_FEW_PLACES, _ROWS_OF_BLOCK = 64, 8


@dataclass
class ViewDimensions:
    """Dimensions of a view as they are listed: their sizes and steps."""

    sizes: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)

    def append(self, size: int, step: int) -> int:
        """Add a dimension; returns its number."""
        self.sizes.append(size)
        self.steps.append(step)
        return len(self.sizes) - 1

    def shape(self, element_type: ElementType) -> Shape:
        return Shape(element_type, tuple(self.sizes))


@dataclass(frozen=True)
class ConvolutionViews:
    """A convolution as a contraction: the views of its left and right operand and of its output."""

    contraction: Contraction
    left: ViewDimensions
    right: ViewDimensions
    output: ViewDimensions
    base_is_left: bool


def convolution_views(convolution: Instruction) -> ConvolutionViews:
    base, kernel = (operand.shape for operand in convolution.operands)
    attributes, output = convolution.attributes, convolution.shape
    numbers, window = attributes["dim_labels"], attributes["window"]
    base_steps, kernel_steps, output_steps = (element_strides(shape) for shape in (base, kernel, output))
    groups = attributes["feature_group_count"] * attributes["batch_group_count"]
    features = kernel.dimensions[numbers.kernel_output_feature] // groups
    batch = output.dimensions[numbers.output_batch]
    terms_of_feature = kernel.dimensions[numbers.kernel_input_feature]
    feature_step, batch_step = base_steps[numbers.input_feature], base_steps[numbers.input_batch]
    group_step = terms_of_feature * feature_step if attributes["feature_group_count"] > 1 else batch * batch_step
    kernel_feature_step, output_feature_step = kernel_steps[numbers.kernel_output_feature], output_steps[numbers.output_feature]

    # Of each place: its size, and its step in the base and in the output.
    places = [(batch, batch_step, output_steps[numbers.output_batch])]
    for dimension, at, to in zip(window, numbers.input_spatial, numbers.output_spatial):
        places.append((output.dimensions[to], base_steps[at] * dimension.stride, output_steps[to]))
    # Of each term: its size, and its step in the base and in the kernel.
    terms = []
    for dimension, at, of in zip(window, numbers.input_spatial, numbers.kernel_spatial):
        terms.append((dimension.size, base_steps[at] * dimension.window_dilation, kernel_steps[of]))
    terms.append((terms_of_feature, feature_step, kernel_steps[numbers.kernel_input_feature]))
    # The longest dimension is that of the inner loop.
    terms = sorted(_merged(terms), key=lambda term: term[0])

    of_base, of_kernel, of_output = ViewDimensions(), ViewDimensions(), ViewDimensions()
    pairs: list[tuple[int, int]] = []  # dimensions of base and kernel that run together
    if groups > 1:
        pairs.append((of_base.append(groups, group_step), of_kernel.append(groups, features * kernel_feature_step)))
        of_output.append(groups, features * output_feature_step)
    base_is_left = not _runs_along_places(places, features, output_feature_step)
    if base_is_left:
        rows = []
        for size, step, to in _with_long_end(places):
            rows.append(of_base.append(size, step))
            of_output.append(size, to)
        columns = [of_kernel.append(features, kernel_feature_step)]
        of_output.append(features, output_feature_step)
    else:
        for size, step, to in places[:-1]:
            pairs.append((of_base.append(size, step), of_kernel.append(size, 0)))
            of_output.append(size, to)
        rows = [of_kernel.append(features, kernel_feature_step)]
        of_output.append(features, output_feature_step)
        size, step, to = places[-1]
        columns = [of_base.append(size, step)]
        of_output.append(size, to)
    both = [(of_base.append(size, step), of_kernel.append(size, of)) for size, step, of in terms]
    if not base_is_left:
        pairs, both = [(k, b) for b, k in pairs], [(k, b) for b, k in both]
    left, right = (of_base, of_kernel) if base_is_left else (of_kernel, of_base)
    types = (base.element_type, kernel.element_type) if base_is_left else (kernel.element_type, base.element_type)
    shapes = left.shape(types[0]), right.shape(types[1])
    contraction = Contraction(convolution, *shapes, tuple(pairs), tuple(rows), tuple(columns), tuple(both))
    return ConvolutionViews(contraction, left, right, of_output, base_is_left)


def has_scattered_columns(convolution: Instruction) -> bool:
    """Whether the columns are output features that do not lie side by side in the output."""
    views = convolution_views(convolution)
    columns = views.output.sizes[-1]
    return columns > 1 and views.output.steps[-1] != 1


def _runs_along_places(places: list[tuple[int, int, int]], features: int, feature_step: int) -> bool:
    """Whether the places along the last dimension lie side by side in base and output, and the features do not."""
    size, base_step, output_step = places[-1]
    contiguous = base_step == 1 and output_step == 1 and len(places) > 1
    return contiguous and size > 1 and (feature_step != 1 or features == 1) and size >= min(_FEW_PLACES, features)


def _with_long_end(places: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """The places with the longest dimension last, if the last one is short."""
    if places[-1][0] >= _ROWS_OF_BLOCK:
        return places
    longest = max(range(len(places)), key=lambda number: places[number][0])
    return [*places[:longest], *places[longest + 1 :], places[longest]]


def _merged(terms: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Dimensions that lie in one run in both operands as one; those of size 1 left out."""
    merged: list[tuple[int, int, int]] = []
    for size, base_step, kernel_step in reversed(terms):
        if size == 1:
            continue
        if merged:
            inner, inner_base, inner_kernel = merged[-1]
            if (base_step, kernel_step) == (inner * inner_base, inner * inner_kernel):
                merged[-1] = (size * inner, inner_base, inner_kernel)
                continue
        merged.append((size, base_step, kernel_step))
    return merged[::-1] or [(1, 0, 0)]
