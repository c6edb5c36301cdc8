"""How many neighbouring elements a thread computes at once, and arrays whose vectors lie at multiples of their size."""

from __future__ import annotations

from ....hlo import Computation, Shape
from ....hlo.operation import ELEMENTWISE
from ...llvm.arrays import Array, part_size
from ...llvm.scalar_control_flow import has_control_flow
from ...llvm.types import memory_type, register_bytes

# What costs more, in cheap instructions, is computed one element a thread: its code would be as many times as long.
_MOST_COST = 400.0
_KEEPS_PLACES = frozenset({"parameter", "constant", "broadcast", "reduce", "iota"})


def lanes_for(vector_bytes: int, computation: Computation, last: int) -> int:
    """As many elements along the last dimension, of this size, as a thread loads at once.

    One where not all that is read lies as the results do.
    """
    if not last or has_control_flow([computation]):
        return 1
    widest, cost = 1, 0.0
    for instruction in computation.instructions:
        if instruction.shape.is_tuple:
            continue
        keeps_places = instruction.opcode in _KEEPS_PLACES or ELEMENTWISE in instruction.operation.traits
        if not keeps_places or instruction.shape.element_type.is_complex:
            return 1
        widest = max(widest, register_bytes(instruction.shape.element_type))
        cost += instruction.operation.cost or 0.0
    lanes = max(1, vector_bytes // widest)
    while lanes > 1 and (last % lanes or cost * lanes > _MOST_COST):
        lanes //= 2
    return lanes


def aligned(array: Array, shape: Shape, lanes: int) -> Array:
    """The array as one of this shape, whose vectors of so many elements lie at multiples of their size."""
    is_vector = lanes > 1 and shape.dimensions and not shape.element_type.is_complex
    alignment = lanes * part_size(memory_type(shape.element_type)) if is_vector else 0
    return Array(array.pointer, shape, vector_alignment=min(alignment, 16))
