"""Bounds of sizes that are known at run time only: what follows from how the size is computed, or a guess.

A guess that turns out too small makes the call fail before anything is changed, and the function is traced again with a larger
one.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ... import hlo
from ...hlo.source_lines import user_location
from ..recording.array import TracedArray
from ..recording.differences import size_of_array
from ..recording.dynamic_array import DynamicArray, same_value
from ..recording.errors import ConcretizationError, SizeBeyondBound, no_integer
from ..recording.guessed_bounds import FIRST_GUESS, LARGEST_SIZE
from ..recording.trace import Trace
from .broadcasting import fail_if

Instruction = hlo.Instruction
Interval = tuple[int, int]


def interval_of(trace: Trace, instruction: Instruction, depth: int = 32) -> Interval | None:
    """The least and the greatest value that an integer scalar can have, where its computation tells."""
    opcode, operands = instruction.opcode, instruction.operands
    if opcode == "constant" and instruction.shape.rank == 0:
        value = int(instruction.attributes["literal"])
        return value, value
    if opcode == "get-dimension-size":
        return 0, operands[0].shape.dimensions[instruction.attributes["dimensions"][0]]
    if opcode == "get-tuple-element":
        found = trace.interval_of_input(instruction)
        return None if found is None or found[1] >= LARGEST_SIZE else found  # as of an argument of which nothing is known
    if depth == 0 or opcode not in _RULES:
        return None
    if opcode == "select":
        operands = operands[1:]
    found = [interval_of(trace, operand, depth - 1) for operand in operands if operand.shape.element_type.is_integer]
    return _RULES[opcode](*found) if len(found) == len(operands) and None not in found else None


def _product(x: Interval, y: Interval) -> Interval:
    corners = [one * other for one in x for other in y]
    return min(corners), max(corners)


_RULES: dict[str, Any] = {
    "convert": lambda x: x,
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "subtract": lambda x, y: (x[0] - y[1], x[1] - y[0]),
    "multiply": _product,
    "minimum": lambda x, y: (min(x[0], y[0]), min(x[1], y[1])),
    "maximum": lambda x, y: (max(x[0], y[0]), max(x[1], y[1])),
    "clamp": lambda low, x, high: (min(max(x[0], low[0]), high[0]), min(max(x[1], low[1]), high[1])),
    "divide": lambda x, y: (0, x[1] // y[0]) if x[0] >= 0 and y[0] > 0 else None,
    "remainder": lambda x, y: (0, min(x[1], y[1] - 1)) if x[0] >= 0 and y[0] > 0 else None,
    "select": lambda x, y: (min(x[0], y[0]), max(x[1], y[1])),
}


def require_known_at_run_time(trace: Trace, value: Any, purpose: str) -> None:
    """Raise ConcretizationError for what a caller gives as a number of Python's, or what is outside: they become known."""
    if isinstance(value, TracedArray) and trace.may_become_known(value.recorded(trace)):
        raise ConcretizationError(value, purpose)


def size_of_shape(trace: Trace, value: Any, purpose: str) -> tuple[int, Instruction | None]:
    """A size given by a user: its bound, and itself where it is known at run time only."""
    if not isinstance(value, TracedArray):
        size = operator.index(value)
        if size < 0:
            raise ValueError("negative dimensions are not allowed")
        return size, None
    if isinstance(value, DynamicArray) or value.ndim or not value.element_type.is_integer:
        raise no_integer(value)
    if value.known_value is not None:
        return size_of_shape(trace, int(value), purpose)
    require_known_at_run_time(trace, value, purpose)
    size = hlo.convert(value.instruction(trace), hlo.S64)
    if size_of_array(size)[0] is None:
        fail_if(trace, hlo.lt(size, 0), "negative dimensions are not allowed")
    return bounded(trace, size)


def bounded(trace: Trace, size: Instruction, guess: int = FIRST_GUESS) -> tuple[int, Instruction]:
    """The bound of a size, s64[], and the size as s32[]."""
    own, bound = size_of_array(size)
    if own is not None:
        return bound, own
    interval = interval_of(trace, size)
    if interval is not None and 0 <= interval[1] <= LARGEST_SIZE:
        return interval[1], _clamped(size, interval[1])
    places = trace.program.places_of_sizes
    place = next((places[known] for known in places if same_value(known, size)), None) or str(user_location())
    bound = trace.program.guessed_bounds.setdefault(place, guess)
    message = SizeBeyondBound.message(place, has_value=True)
    trace.add_error_flag(hlo.gt(size, bound), SizeBeyondBound, message, size)
    clamped = _clamped(size, bound)
    places[size] = places[clamped] = place
    return bound, clamped


def _clamped(size: Instruction, bound: int) -> Instruction:
    """As s32[]."""
    return hlo.convert(hlo.clamp(hlo.constant(np.int64(0)), size, hlo.constant(np.int64(bound))), hlo.S32)
