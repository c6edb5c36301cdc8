"""Arrays of several sizes, known at run time only, as elements of lists: rows of the bounds, and their sizes beside them.

A list of such arrays has two columns, ``s32[rows, dimensions]`` with the sizes of each and an array with room for the largest
one in each row. What an element is becomes a `DynamicArray` again when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from .... import hlo
from ...control_flow.bodies import ValueType, are_other_arrays, promoted
from ...recording.array import TracedArray, require_trace
from ...recording.dynamic_array import cut, fitted, padded_instruction, size_of, with_sizes
from ...recording.errors import CarryTypeError, SizeBeyondBound

Instruction = hlo.Instruction
# A list has room for so many numbers at most.
_MOST_ROOM = 1 << 26


def dynamic_dimensions(kind: ValueType | None) -> tuple[int, ...]:
    return () if kind is None else tuple([d for d in range(kind.shape.rank) if kind.shape.is_dynamic(d)])


def common(first: ValueType, second: ValueType) -> ValueType | None:
    """The type of both numbers or arrays, which may be of several sizes; those of other types have none, as it shows."""
    return None if are_other_arrays(first, second) else promoted(first, second, widens=True, resizes=True)


# --- columns ---


def column_types(dynamic: tuple[int, ...], number: ValueType | None) -> list[ValueType | None]:
    """The types of a row of both columns."""
    sizes = ValueType(hlo.Shape(hlo.S32, (len(dynamic),)))
    if number is None:
        return [sizes, None]
    return [sizes, replace(number, shape=hlo.Shape(number.shape.element_type, number.shape.dimensions))]


def with_bounds(number: ValueType, like: ValueType) -> ValueType:
    """The type with the bounds of another one."""
    shape = like.shape
    return replace(number, shape=number.shape.with_dimensions(shape.dimensions, shape.dynamic_dimensions))


def require_room(kind: object, columns: Sequence[Instruction]) -> None:
    """Each row has room for the largest array. Raises CarryTypeError where that is too much."""
    if (size := max(prod(column.shape.dimensions) for column in columns)) > _MOST_ROOM:
        raise CarryTypeError(
            f"a list whose length the program decides holds {kind}, of sizes known at run time only: with room for the largest "
            f"in each place that is {size} numbers, where {_MOST_ROOM} are the most. Fix: keep indices or masks instead"
        )


# --- rows ---


def row_of_array(array: TracedArray, dynamic: tuple[int, ...], place: str | None, number: ValueType) -> list[Instruction]:
    """The sizes of an array, and what it holds in one of the bounds, which may be smaller if they are guessed."""
    trace = require_trace()
    own = array.recorded(trace)
    for d, bound in enumerate(number.shape.dimensions):
        if own.shape.dimensions[d] > bound:
            whole = number.shape.with_dimensions(own.shape.dimensions, number.shape.dynamic_dimensions)
            own = cut(trace, fitted(own, whole), d, bound, place)
    own = fitted(hlo.convert(own, number.shape.element_type), number.shape)
    sizes = [hlo.reshape(size_of(own, d), (1,)) for d in dynamic]
    return [hlo.concatenate(*sizes, dimensions=(0,)), padded_instruction(own)]


def array_of_row(row: Instruction, sizes: Instruction, dynamic: tuple[int, ...]) -> Instruction:
    each = [hlo.reshape(hlo.slice(sizes, (place,), (place + 1,)), ()) for place in range(len(dynamic))]
    return with_sizes(row, dict(zip(dynamic, each)))


def resized(
    columns: Sequence[Instruction], before: tuple[int, ...], dynamic: tuple[int, ...], place: str | None, number: ValueType
) -> list[Instruction]:
    """The columns with rows of other bounds; of arrays of one size, or of several."""
    *sizes, held = columns
    count, *had = held.shape.dimensions
    if before != dynamic:
        known = {d: hlo.full(hlo.Shape(hlo.S32, (count, 1)), had[d]) for d in dynamic}
        known |= {d: hlo.slice(sizes[0], (0, n), (count, n + 1)) for n, d in enumerate(before)}
        sizes = [hlo.concatenate(*[known[d] for d in dynamic], dimensions=(1,))]
    for n, d in enumerate(dynamic):
        if had[d] > (bound := number.shape.dimensions[d]):
            is_larger = hlo.gt(hlo.slice(sizes[0], (0, n), (count, n + 1)), bound)
            found = np.any(TracedArray.from_instruction(require_trace(), is_larger, is_scalar=False))
            message = SizeBeyondBound.message(place)
            require_trace().add_error_flag(found.instruction(require_trace()), SizeBeyondBound, message)
    held = hlo.convert(held, number.shape.element_type)
    if tuple(had) != number.shape.dimensions:  # padding below 0 takes away
        padding = [(0, 0, 0), *[(0, bound - size, 0) for bound, size in zip(number.shape.dimensions, had)]]
        held = hlo.pad(held, hlo.constant(0, number.shape.element_type), padding=padding)
    return [*sizes, held]


def array_when_run(row: np.ndarray, sizes: np.ndarray, dynamic: Sequence[int]) -> np.ndarray:
    """The array of a row when the program has run."""
    within = [slice(None)] * row.ndim
    for d, size in zip(dynamic, sizes.tolist()):
        within[d] = slice(size)
    return row[tuple(within)].copy()
