"""What operations mean on operands of their actual sizes, where they have dynamic dimensions: sizes that must be equal, and
attributes and results that follow from sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..operation import Places, Resized, agreeing, all_agree
from ..resizing import grown
from ..shape import Shape
from .contractions import dot
from .control_flow import map_
from .conversions import bitcast_convert, convert
from .convolution import convolution
from .data_movement import broadcast, concatenate, dynamic_slice, pad, reshape, slice_
from .indexing import gather, scatter
from .random_numbers import stochastic_convert
from .reductions import reduce
from .reshaping import reshaped_sizes
from .sorting import sort
from .windows import reduce_window

if TYPE_CHECKING:
    from ..instruction import Instruction

# --- sizes that must be equal ---


@dot.agreement
def _(shapes: list[Shape], attributes: dict[str, Any]) -> list[Places]:
    pairs = [
        *zip(attributes["lhs_batch_dimensions"], attributes["rhs_batch_dimensions"]),
        *zip(attributes["lhs_contracting_dimensions"], attributes["rhs_contracting_dimensions"]),
    ]
    return [[(0, left), (1, right)] for left, right in pairs]


@convolution.agreement
def _(shapes: list[Shape], attributes: dict[str, Any]) -> list[Places]:
    numbers = attributes["dim_labels"]
    return [[(0, numbers.input_feature), (1, numbers.kernel_input_feature)]]


@scatter.agreement
def _(shapes: list[Shape], attributes: dict[str, Any]) -> list[Places]:
    count = len(shapes) // 2
    return [*agreeing(shapes, range(count)), *agreeing(shapes, range(count + 1, len(shapes)))]


@concatenate.agreement
def _(shapes: list[Shape], attributes: dict[str, Any]) -> list[Places]:
    (along,) = attributes["dimensions"]
    return [places for dimension, places in enumerate(all_agree(shapes, attributes)) if dimension != along]


for _record in (map_, reduce, reduce_window, sort):
    _record.agreement(all_agree)


# --- attributes and results that follow from sizes ---


@broadcast.resizing
def _(instruction: Instruction, operands: tuple[Any, ...]) -> Resized:
    sizes = list(instruction.shape.dimensions)
    for position, dimension in enumerate(instruction.attributes["dimensions"]):
        sizes[dimension] = np.shape(operands[0])[position]
    return operands, instruction.attributes, instruction.shape.with_dimensions(sizes)


@reshape.resizing
def _(instruction: Instruction, operands: tuple[Any, ...]) -> Resized:
    sizes = reshaped_sizes(instruction.operands[0].shape, instruction.shape, np.shape(operands[0]))
    return operands, instruction.attributes, instruction.shape.with_dimensions(sizes)


@convert.resizing
@stochastic_convert.resizing
def _(instruction: Instruction, operands: tuple[Any, ...]) -> Resized:
    return operands, instruction.attributes, instruction.shape.with_dimensions(np.shape(operands[0]))


@bitcast_convert.resizing
def _(instruction: Instruction, operands: tuple[Any, ...]) -> Resized:
    sizes = (*np.shape(operands[0]), *instruction.shape.dimensions[np.ndim(operands[0]) :])
    return operands, instruction.attributes, instruction.shape.with_dimensions(sizes[: instruction.shape.rank])


@slice_.resizing
def _(instruction: Instruction, operands: tuple[Any, ...]) -> Resized:
    shape, ranges = instruction.operands[0].shape, instruction.attributes["slice"]
    least = [d.start + 1 if size == 1 else 0 for d, size in zip(ranges, instruction.shape.dimensions)]
    operand = _filled_up(shape, operands[0], least)
    cut = []
    for (start, limit, stride), size in zip(ranges, np.shape(operand)):
        limit = min(limit, size)
        cut.append(type(ranges[0])(min(start, limit), limit, stride))
    return (operand,), {"slice": tuple(cut)}, None


@dynamic_slice.resizing
def _(instruction: Instruction, operands: tuple[Any, ...]) -> Resized:
    operand = _filled_up(instruction.operands[0].shape, operands[0], instruction.attributes["sizes"])
    return (operand, *operands[1:]), instruction.attributes, None


@gather.resizing
def _(instruction: Instruction, operands: tuple[Any, ...]) -> Resized:
    shape, sizes = instruction.operands[0].shape, list(instruction.attributes["slice_sizes"])
    removed = (*instruction.attributes["collapsed_slice_dims"], *instruction.attributes["operand_batching_dims"])
    for dimension, full in enumerate(np.shape(operands[0])):
        if shape.is_dynamic(dimension) and sizes[dimension] == shape.dimensions[dimension] and dimension not in removed:
            sizes[dimension] = full
    operand = _filled_up(shape, operands[0], sizes)
    return (operand, operands[1]), {**instruction.attributes, "slice_sizes": tuple(sizes)}, None


def _filled_up(shape: Shape, value: Any, least: Sequence[int]) -> Any:
    """The array with zeros behind it in the dynamic dimensions, up to these sizes."""
    missing = [max(0, size - full) if shape.is_dynamic(d) else 0 for d, (size, full) in enumerate(zip(least, np.shape(value)))]
    if not any(missing):
        return value
    return grown(value, [size + more for size, more in zip(np.shape(value), missing)])


@pad.resizing
def _(instruction: Instruction, operands: tuple[Any, ...]) -> Resized:
    sizes = []
    for size, (low, high, interior) in zip(np.shape(operands[0]), instruction.attributes["padding"]):
        sizes.append(max(0, size + max(size - 1, 0) * interior + low + high))
    return operands, instruction.attributes, instruction.shape.with_dimensions(sizes)
