"""Convolution in one form: no padding, the kernel's output features last. Depthwise convolution as a sum of products."""

from __future__ import annotations

from itertools import product

from ... import hlo
from ...hlo import F32, PRED, Instruction
from ...hlo.convolution_dimensions import ConvolutionDimensions
from ...hlo.window import WindowDimension, dilated_size, padded_size
from ..convolution_views import has_scattered_columns
from ..traversal import on_operands
from .convolution_phases import by_phases, has_phases
from .table import expansion


@expansion("convolution")
def expand_convolution(convolution: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """Reversal, base dilation and padding become operations of their own; the kernel's output features come last.

    In that form a depthwise convolution becomes an expression with a term for each position of the kernel.
    """
    base, kernel = operands
    attributes, shape = dict(convolution.attributes), convolution.shape
    numbers: ConvolutionDimensions = attributes["dim_labels"]
    window: tuple[WindowDimension, ...] = attributes["window"]
    element_type = shape.element_type
    if not shape.size:
        return hlo.broadcast(hlo.constant(0, element_type), shape.dimensions, ())
    if has_phases(convolution) and not is_depthwise(convolution):
        return by_phases(convolution, base, kernel)
    turned = [of for dimension, of in zip(window, numbers.kernel_spatial) if dimension.reversal and dimension.size > 1]
    if turned:
        kernel = hlo.reverse(kernel, dimensions=turned)
        attributes |= {"window": tuple(dimension._replace(reversal=False) for dimension in window)}
        return hlo.convolution(base, kernel, shape=shape, **attributes)
    base = _padded(base, window, numbers)
    window = tuple(WindowDimension(d.size, d.stride, window_dilation=d.window_dilation) for d in window)
    last = kernel.shape.rank - 1
    if numbers.kernel_output_feature != last:
        order = [d for d in range(last + 1) if d != numbers.kernel_output_feature] + [numbers.kernel_output_feature]
        kernel = hlo.transpose(kernel, dimensions=order)
        numbers = numbers._replace(
            kernel_input_feature=order.index(numbers.kernel_input_feature),
            kernel_output_feature=last,
            kernel_spatial=tuple(map(order.index, numbers.kernel_spatial)),
        )
    if (base, kernel, window) == (*operands, attributes["window"]):
        if is_depthwise(convolution) and element_type is not PRED:
            return _depthwise(convolution, base, kernel, window)
        return _with_features_last(convolution, base, kernel)
    attributes |= {"window": window, "dim_labels": numbers}
    return hlo.convolution(base, kernel, shape=shape, **attributes)


def _padded(base: Instruction, window: tuple[WindowDimension, ...], numbers: ConvolutionDimensions) -> Instruction:
    padding = [(0, 0, 0)] * base.shape.rank
    for dimension, at in zip(window, numbers.input_spatial):
        padding[at] = (dimension.padding_low, dimension.padding_high, dimension.base_dilation - 1)
        assert padded_size(dimension, base.shape.dimensions[at]) >= 0
    if not any(map(any, padding)):
        return base
    return hlo.pad(base, hlo.constant(0, base.shape.element_type), padding=padding)


def _with_features_last(convolution: Instruction, base: Instruction, kernel: Instruction) -> Instruction:
    """The convolution with the features last in the output, too, and its transpose, if else the columns were scattered."""
    if not has_scattered_columns(convolution):
        return on_operands(convolution, (base, kernel))
    numbers, shape = convolution.attributes["dim_labels"], convolution.shape
    feature = numbers.output_feature
    order = [d for d in range(shape.rank) if d != feature] + [feature]
    of_output = [order.index(d) for d in range(shape.rank)]
    moved = numbers._replace(
        output_batch=of_output[numbers.output_batch],
        output_feature=of_output[feature],
        output_spatial=tuple(of_output[d] for d in numbers.output_spatial),
    )
    attributes = convolution.attributes | {"dim_labels": moved}
    turned = shape.with_dimensions(tuple(shape.dimensions[d] for d in order))
    return hlo.transpose(hlo.convolution(base, kernel, shape=turned, **attributes), dimensions=of_output)


def is_depthwise(convolution: Instruction) -> bool:
    """Whether each output feature is made of one input feature of its own."""
    numbers, groups = convolution.attributes["dim_labels"], convolution.attributes["feature_group_count"]
    sizes = convolution.operands[1].shape.dimensions
    return groups > 1 and sizes[numbers.kernel_input_feature] == 1 and sizes[numbers.kernel_output_feature] == groups


def _depthwise(
    convolution: Instruction, base: Instruction, kernel: Instruction, window: tuple[WindowDimension, ...]
) -> Instruction:
    """The sum over the kernel's positions of slices of the base times the kernel's features there."""
    numbers, shape = convolution.attributes["dim_labels"], convolution.shape
    element_type = F32 if shape.element_type.is_float and shape.element_type.bits < 32 else shape.element_type
    order = [0] * shape.rank  # of the base's dimensions, in the result's
    for at, to in zip(numbers.input, numbers.output):
        order[to] = at
    base = hlo.transpose(hlo.convert(base, element_type), dimensions=order)
    kernel = hlo.convert(kernel, element_type)
    result_shape, total = shape.with_element_type(element_type), None
    for position in product(*(range(d.size) for d in window)):
        starts, limits, strides = [0] * shape.rank, list(shape.dimensions), [1] * shape.rank
        weight = [slice(0, size) for size in kernel.shape.dimensions]
        for at, dimension, to, of in zip(position, window, numbers.output_spatial, numbers.kernel_spatial):
            starts[to], strides[to] = at * dimension.window_dilation, dimension.stride
            limits[to] = starts[to] + dilated_size(shape.dimensions[to], dimension.stride)
            weight[of] = slice(at, at + 1)
        taken = hlo.slice(base, starts, limits, strides)
        chosen = hlo.slice(kernel, [s.start for s in weight], [s.stop for s in weight])
        features = hlo.reshape(chosen, (shape.dimensions[numbers.output_feature],))
        term = hlo.multiply(taken, hlo.broadcast(features, result_shape.dimensions, (numbers.output_feature,)))
        total = term if total is None else hlo.add(total, term)
    assert total is not None
    return hlo.convert(total, shape.element_type)
