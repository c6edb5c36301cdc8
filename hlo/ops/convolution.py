"""Convolution.

Source of the semantics: "ConvWithGeneralPadding" in XLA's Operation Semantics. Padding and the holes of dilation hold zeros,
which are multiplied as any element is.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from ..attributes import Integer
from ..convolution_dimensions import ConvolutionDimensions, DimensionLabels, default_dimensions
from ..element_type import BF16, C64, C128, F16, F32, F64, PRED, S8, S32, U8
from ..errors import require
from ..operation import ACTUAL_SIZES, InvalidSample, Sample, operation
from ..shape import Shape
from ..window import Window, dilated_size, make_window, output_sizes, require_window
from .constraints import require_kind, require_preferred_type, require_static

_KINDS = ("pred", "signed", "unsigned", "float", "complex")


@operation(
    "convolution", "lhs", "rhs", builder="ConvGeneralDilated",
    aliases=("Conv", "ConvGeneral", "ConvWithGeneralDimensions", "ConvWithGeneralPadding"), dynamic=ACTUAL_SIZES,
    window=Window(), dim_labels=DimensionLabels(), feature_group_count=Integer(1), batch_group_count=Integer(1),
)  # fmt: skip
def convolution(lhs, rhs, *, window, dim_labels, feature_group_count, batch_group_count, stated):
    """ConvGeneralDilated(lhs, rhs, ...): sums of products of a window of the input lhs with the kernel rhs, for each place of
    the window, batch and output feature.

    ``dim_labels`` names the dimensions. The kernel has as many input features as the input has in each of
    ``feature_group_count`` groups, and each group of its output features belongs to one of these. With ``batch_group_count``
    groups, each group of output features belongs to one group of the input's batch. The preferred element type, in which
    products are summed, is that of the stated result shape; without one it is that of the operands.
    """
    require_kind("convolution", "lhs", lhs, _KINDS)
    require_kind("convolution", "rhs", rhs, _KINDS)
    numbers: ConvolutionDimensions = dim_labels
    rank = len(numbers.input)
    for name, shape in (("lhs", lhs), ("rhs", rhs)):
        require(shape.rank == rank, f"convolution: dim_labels name {rank} dimensions, but {name} is {shape}")
    require(
        lhs.element_type is rhs.element_type or stated is not None,
        f"convolution: lhs {lhs} and rhs {rhs} differ in element type: a preferred element type is required",
    )
    require_preferred_type("convolution", lhs, rhs, stated)
    require_window("convolution", window, rank - 2)
    sizes, spatial = tuple(d.size for d in window), tuple(rhs.dimensions[d] for d in numbers.kernel_spatial)
    require(sizes == spatial, f"convolution: the window must be as large as the kernel, {spatial}, got {sizes}")
    for name, count in (("feature_group_count", feature_group_count), ("batch_group_count", batch_group_count)):
        require(count >= 1, f"convolution: {name} must be positive, got {count}")
    one_kind = feature_group_count == 1 or batch_group_count == 1
    require(
        one_kind,
        f"convolution: feature_group_count or batch_group_count must be 1, got {feature_group_count} and {batch_group_count}",
    )
    batch, features = lhs.dimensions[numbers.input_batch], lhs.dimensions[numbers.input_feature]
    kernel_in, kernel_out = (rhs.dimensions[d] for d in (numbers.kernel_input_feature, numbers.kernel_output_feature))
    require(
        kernel_in * feature_group_count == features,
        f"convolution: the kernel's input features ({kernel_in}) times feature_group_count ({feature_group_count}) must be the "
        f"input's features ({features})",
    )
    require(
        kernel_out % feature_group_count == 0,
        f"convolution: feature_group_count ({feature_group_count}) must divide the kernel's output features ({kernel_out})",
    )
    for words, size in (("the input's batch", batch), ("the kernel's output features", kernel_out)):
        divides = size % batch_group_count == 0
        require(divides, f"convolution: batch_group_count ({batch_group_count}) must divide {words} ({size})")
    result = [0] * rank
    result[numbers.output_batch], result[numbers.output_feature] = batch // batch_group_count, kernel_out
    for d, size in zip(numbers.output_spatial, output_sizes(window, [lhs.dimensions[d] for d in numbers.input_spatial])):
        result[d] = size
    dynamic = [False] * rank
    dynamic[numbers.output_batch], dynamic[numbers.output_feature] = (
        lhs.is_dynamic(numbers.input_batch), rhs.is_dynamic(numbers.kernel_output_feature),
    )  # fmt: skip
    for d, of_input, of_kernel in zip(numbers.output_spatial, numbers.input_spatial, numbers.kernel_spatial):
        dynamic[d] = lhs.is_dynamic(of_input)
        require_static("convolution", "rhs", rhs, [of_kernel], "as the window says its size")
    if feature_group_count * batch_group_count > 1 and (lhs.dynamic_dimensions or rhs.dynamic_dimensions):
        require_static("convolution", "lhs", lhs, [numbers.input_batch, numbers.input_feature], "as it is in groups")
        of_kernel = [numbers.kernel_input_feature, numbers.kernel_output_feature]
        require_static("convolution", "rhs", rhs, of_kernel, "as it is in groups")
    return Shape(lhs.element_type if stated is None else stated.element_type, tuple(result), None, tuple(dynamic))


@convolution.counting
def _(operands, shape, attributes):
    """A multiplication and an addition for each element of the kernel of an output feature; padding counts as elements."""
    kernel = operands[1]
    return 2 * shape.size * (kernel.size // max(1, kernel.dimensions[attributes["dim_labels"].kernel_output_feature]))


@convolution.evaluation
def _(lhs, rhs, *, window, dim_labels, feature_group_count, batch_group_count, shape):
    """One product of matrices for each group and position in the window, over all places of the window at once."""
    # Types that NumPy's matmul lacks or would round too early are summed in a wider one.
    is_small_float = shape.element_type.is_float and shape.dtype.itemsize <= 2
    dtype = np.dtype(np.float32) if is_small_float else shape.dtype
    numbers, groups = dim_labels, feature_group_count * batch_group_count
    base = _padded(np.asarray(lhs).transpose(numbers.input).astype(dtype), window)
    kernel = np.asarray(rhs).transpose(numbers.kernel).astype(dtype)
    turned = [d for d, dimension in enumerate(window, 2) if dimension.reversal]
    kernel = np.flip(kernel, turned)
    bases = np.split(base, groups, axis=1 if feature_group_count > 1 else 0)
    kernels = np.split(kernel, groups, axis=1)
    places = [shape.dimensions[d] for d in numbers.output_spatial]
    results = []
    with np.errstate(all="ignore"):
        for one_base, one_kernel in zip(bases, kernels):
            total = np.zeros((one_base.shape[0], *places, one_kernel.shape[1]), dtype)
            for position in product(*(range(d.size) for d in window)) if total.size else ():
                taken = [
                    slice(at * d.window_dilation, at * d.window_dilation + (count - 1) * d.stride + 1, d.stride)
                    for at, d, count in zip(position, window, places)
                ]
                total += np.moveaxis(one_base[:, :, *taken], 1, -1) @ one_kernel[:, :, *position]
            results.append(total)
        joined = np.concatenate(results, axis=-1) if results else np.zeros(0, dtype)
        in_order = np.empty(shape.dimensions, shape.dtype)
        in_order.transpose(numbers.output_batch, *numbers.output_spatial, numbers.output_feature)[...] = joined
    return in_order


def _padded(base: np.ndarray, window) -> np.ndarray:
    """The base, batch and feature first, dilated and padded with zeros; negative padding cuts off."""
    for axis, dimension in enumerate(window, 2):
        size, low, high = base.shape[axis], dimension.padding_low, dimension.padding_high
        length = dilated_size(size, dimension.base_dilation)
        wide = np.zeros((*base.shape[:axis], max(0, low) + length + max(0, high), *base.shape[axis + 1 :]), base.dtype)
        wide = np.moveaxis(wide, axis, 0)
        wide[max(0, low) : max(0, low) + length : dimension.base_dilation] = np.moveaxis(base, axis, 0)
        wide = wide[max(0, -low) : max(0, len(wide) + min(0, high))]
        base = np.moveaxis(wide, 0, axis)
    return base


# --- samples ---


@convolution.sampling
def _():
    def sample(lhs, rhs, labels, window=(), expected=None, element_type=F32, shape=None, **groups):
        operands = [
            Shape(element_type, operand) if isinstance(operand, tuple) else np.array(operand, element_type.dtype)
            for operand in (lhs, rhs)
        ]
        wanted = None if expected is None else np.array(expected, (shape or Shape(element_type)).dtype)
        return Sample(operands, {"window": window, "dim_labels": labels, **groups}, shape, wanted)

    # One row of numbers, one kernel; batch and feature of size 1 stand in front.
    row, kernel, labels = [[[1, 2, 3, 4]]], [[[10, 1]]], "bf0_oi0->bf0"
    for window, expected in (
        (make_window((2,)), [12, 23, 34]),
        (make_window((2,), (2,)), [12, 34]),
        (make_window((2,), padding=[(1, 1)]), [1, 12, 23, 34, 40]),
        (make_window((2,), padding=[(-1, 1)]), [23, 34, 40]),
        (make_window((2,), window_dilations=(2,)), [13, 24]),
        (make_window((2,), base_dilations=(2,)), [10, 2, 20, 3, 30, 4]),
        (make_window((2,), reversal=(True,)), [21, 32, 43]),
        (make_window((2,), (2,), [(0, -2)], (2,), (2,), (True,)), [21, 32]),
    ):
        yield sample(row, kernel, labels, window, [[expected]])
    # Two input features are added up, two output features stand apart; as groups neither.
    pairs, mixed = [[[1, 2], [3, 4], [5, 6]]], [[[1, 10], [100, 1000]]]
    yield sample(pairs, mixed, "b0f_0io->b0f", make_window((1,)), [[[201, 2010], [403, 4030], [605, 6050]]])
    yield sample(pairs, [[[1, 10]]], "b0f_0io->b0f", make_window((1,)), [[[1, 20], [3, 40], [5, 60]]], feature_group_count=2)
    # The batch's first half meets the first output feature, the second half the second one.
    yield sample([[1], [2]], [[10, 100]], "bf_io->bf", (), [[10, 200]], batch_group_count=2)
    yield sample([[1, 2], [3, 4]], [[1, 10, 100], [1, 2, 3]], "fb_io->fb", (), [[4, 6], [16, 28], [109, 212]], S32)
    table, corner = [[[[1], [2], [3]], [[4], [5], [6]]]], [[[[1]], [[10]]], [[[100]], [[1000]]]]
    yield sample(table, corner, "b01f_01io->b01f", make_window((2, 2)), [[[[5421], [6532]]]], F64)
    yield sample([[[100, 27]]], [[[2, 3]]], labels, make_window((2,)), [[[281]]], U8, Shape(S32, (1, 1, 1)))
    for element_type in (F32, F64, S32, S8, F16, BF16, C64, C128, PRED):
        yield sample((2, 6, 9, 5), (3, 2, 5, 20), "b01f_01io->b01f", make_window((3, 2), (1, 2), [(1, 1), (0, 1)]),
                     element_type=element_type)  # fmt: skip
    yield sample((2, 5, 6), (20, 5, 3), labels, make_window((3,)), element_type=BF16, shape=Shape(F32, (2, 20, 4)))
    for labels, lhs, rhs in (
        ("bf01_oi01->bf01", (2, 4, 7, 8), (6, 4, 3, 2)),
        ("fb01_io01->01bf", (4, 2, 7, 8), (4, 6, 3, 2)),
        ("01bf_01oi->b1f0", (7, 8, 2, 4), (3, 2, 6, 4)),
        ("1b0f_1o0i->1b0f", (8, 2, 7, 4), (2, 6, 3, 4)),
    ):
        for window in (
            make_window((3, 2)),
            make_window((3, 2), (2, 3), [(1, 2), (0, 3)], (2, 1), (1, 2)),
            make_window((3, 2), (1, 2), [(-1, 4), (2, -2)], (1, 3), (2, 1), (True, False)),
        ):
            yield sample(lhs, rhs, labels, window)
    yield sample((2, 9, 8, 12), (3, 3, 3, 20), "b01f_01io->b01f", make_window((3, 3)), feature_group_count=4)
    yield sample((2, 9, 8, 12), (3, 3, 1, 24), "b01f_01io->b01f", make_window((3, 3), (2, 1)), feature_group_count=12)
    yield sample((2, 33, 9, 10), (33, 1, 3, 3), "bf01_oi01->bf01", make_window((3, 3)), feature_group_count=33)
    yield sample((6, 9, 8, 4), (3, 3, 4, 9), "b01f_01io->b01f", make_window((3, 3), (1, 2)), batch_group_count=3)
    yield sample((2, 3, 4, 5, 3), (2, 2, 2, 3, 5), "b012f_012io->b012f", make_window((2, 2, 2), (1, 2, 1)))
    yield sample((1, 1, 300), (1, 1, 40), "bf0_io0->bf0", make_window((40,), padding=[(39, 39)], reversal=(True,)))
    yield sample((3, 40), (40, 30), "bf_io->bf")
    yield sample((0, 4, 5), (3, 5, 6), "b0f_0io->b0f", make_window((3,)))
    yield sample((2, 2, 5), (3, 5, 6), "b0f_0io->b0f", make_window((3,)), np.zeros((2, 0, 6)))
    yield sample((2, 4, 0), (3, 0, 6), "b0f_0io->b0f", make_window((3,)), np.zeros((2, 2, 6)))
    yield sample((2, 0, 5), (3, 5, 6), "b0f_0io->b0f", make_window((3,), padding=[(1, 2)]), np.zeros((2, 1, 6)))
    yield sample((2, 3, 5), (3, 5, 6), "b0f_0io->b0f", make_window((3,), padding=[(-2, -2)]), np.zeros((2, 0, 6)))

    lhs, rhs, good = Shape(F32, (2, 9, 4)), Shape(F32, (3, 4, 6)), {"window": make_window((3,)), "dim_labels": "b0f_0io->b0f"}
    yield InvalidSample([lhs, Shape(S32, (3, 4, 6))], good, "a preferred element type is required")
    yield InvalidSample([lhs, rhs], good, "cannot be summed in", shape=Shape(S32, (2, 6, 7)))
    yield InvalidSample([Shape(F32, (2, 9)), rhs], good, r"dim_labels name 3 dimensions, but lhs is f32\[2,9\]")
    yield InvalidSample([lhs, Shape(F32, (3, 3, 4, 6))], good, "dim_labels name 3 dimensions, but rhs")
    yield InvalidSample([lhs, rhs], {**good, "window": ()}, "the window must have 1 dimensions, got 0")
    yield InvalidSample([lhs, rhs], {**good, "window": make_window((2,))}, "the window must be as large as the kernel")
    yield InvalidSample(
        [lhs, rhs], {**good, "window": make_window((3,), (0,))}, "stride of window dimension 0 must be positive"
    )
    yield InvalidSample([lhs, Shape(F32, (0, 4, 6))], {**good, "window": make_window((0,))}, "size of window dimension 0")
    yield InvalidSample([lhs, rhs], {**good, "feature_group_count": 0}, "feature_group_count must be positive")
    yield InvalidSample([lhs, rhs], {**good, "batch_group_count": -1}, "batch_group_count must be positive")
    yield InvalidSample([lhs, rhs], {**good, "batch_group_count": 2, "feature_group_count": 2}, "must be 1, got 2 and 2")
    yield InvalidSample([lhs, rhs], {**good, "feature_group_count": 2}, r"must be the input's features \(4\)")
    yield InvalidSample([lhs, Shape(F32, (3, 3, 6))], good, r"the kernel's input features \(3\) times")
    yield InvalidSample([lhs, Shape(F32, (3, 1, 6))], {**good, "feature_group_count": 4}, "must divide the kernel's output")
    yield InvalidSample([Shape(F32, (3, 9, 4)), rhs], {**good, "batch_group_count": 2}, "must divide the input's batch")
    yield InvalidSample([lhs, Shape(F32, (3, 4, 5))], {**good, "batch_group_count": 2}, "must divide the kernel's output")
    yield InvalidSample([lhs, rhs], {**good, "dim_labels": "b0f_0io"}, "labels of the form b01f_01io->b01f are required")
    yield InvalidSample([lhs, rhs], {**good, "dim_labels": "b0b_0io->b0f"}, "must label each of b, f, 0 once")
    yield InvalidSample([lhs, rhs], {**good, "dim_labels": "b0f_01io->b0f"}, "equally many spatial dimensions, got 1, 2, 1")
    repeated = default_dimensions(1)._replace(input_feature=0)
    yield InvalidSample([lhs, rhs], {**good, "dim_labels": repeated}, "dimensions of the input must be 0 to 2, each once")
    yield InvalidSample([lhs, rhs], {**good, "dim_labels": 3}, "ConvolutionDimensions or labels of the form")
    yield InvalidSample([lhs, rhs], {**good, "dim_labels": default_dimensions(11)}, "at most 10 spatial dimensions")
