"""Between which numbers an integer in a register lies, where that is known: of a loop's counter, and what is computed of it.

What is known rides on the register, as long as one function is emitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from ...compile.trip_count import counting, known_trip_count
from ...hlo import ElementType, Instruction

Range = tuple[int, int]

_NAME = "known_range"
_DIFFERENCE = "known_difference"  # of the two registers x and y: x - y, or 0 if that is negative
_BELOW_DIFFERENCE = "known_below_difference"  # less than x - y


def note_range(value: ir.Value, low: int, high: int) -> None:
    """The integer is at least ``low`` and at most ``high``, wherever its value is used from now on."""
    setattr(value, _NAME, (low, high))


def forget_range(value: ir.Value) -> None:
    """What has been noted holds no longer where code is emitted next."""
    for name in (_NAME, _BELOW_DIFFERENCE):
        if hasattr(value, name):
            delattr(value, name)


def known_range(value: ir.Value) -> Range | None:
    """
    >>> known_range(ir.Constant(ir.IntType(64), 3))
    (3, 3)
    """
    if isinstance(value, ir.Constant) and isinstance(value.type, ir.IntType) and isinstance(value.constant, int):
        return value.constant, value.constant
    return getattr(value, _NAME, None)


class Rounds(NamedTuple):
    """A loop's counter, the state's element ``index``: in each of its rounds, ``most`` at most, it lies between these numbers.

    ``difference`` are registers x and y of which the counter is less than x - y.
    """

    index: int
    most: int
    low: int
    high: int
    difference: tuple[ir.Value, ir.Value] | None = None

    def note(self, counter: ir.Value) -> None:
        """The counter's register holds that of a round, until what is known of it is forgotten."""
        note_range(counter, self.low, self.high)
        if self.difference is not None:
            setattr(counter, _BELOW_DIFFERENCE, self.difference)


def known_rounds(loop: Instruction, initial: Sequence[Any]) -> Rounds | None:
    """How a ``while`` counts whose state's leaves begin as these; None where that is not known, or some are in inner tuples."""
    if not loop.shape.is_tuple or len(initial) != len(loop.shape.elements):
        return None
    trips = known_trip_count(loop)
    if trips is not None and trips.count:
        return Rounds(trips.index, trips.count, *sorted((trips.start, trips.start + trips.step * (trips.count - 1))))
    found = counting(loop)
    if found is None:
        return None
    begin = known_range(initial[found.index])
    limit = None if found.limit_index is None else initial[found.limit_index]
    end = (found.limit, found.limit) if limit is None else known_range(limit)
    if begin is None or end is None:
        return None
    strictly = found.direction in ("LT", "GT")
    low, high = (begin[0], end[1] - strictly) if found.step > 0 else (end[0] + strictly, begin[1])
    element_type = loop.shape.elements[found.index].element_type
    if low > high or not all(_fits(element_type, one + found.step) for one in (low, high)):
        return None  # no round, or one after which the counter begins anew at the other end
    difference = getattr(limit, _DIFFERENCE, None) if found.direction == "LT" else None
    return Rounds(found.index, (high - low) // abs(found.step) + 1, low, high, difference)


def _product(x: Range, y: Range) -> Range:
    corners = [one * other for one in x for other in y]
    return min(corners), max(corners)


_RULES: dict[str, Callable[..., Range | None]] = {
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "subtract": lambda x, y: (x[0] - y[1], x[1] - y[0]),
    "multiply": _product,
    "negate": lambda x: (-x[1], -x[0]),
    "convert": lambda x: x,
    "shift-left": lambda x, y: _product(x, (1 << y[0], 1 << y[1])) if 0 <= y[0] <= y[1] < 64 else None,
    "minimum": lambda x, y: (min(x[0], y[0]), min(x[1], y[1])),
    "maximum": lambda x, y: (max(x[0], y[0]), max(x[1], y[1])),
}


def _fits(element_type: ElementType, number: int) -> bool:
    least = -(1 << element_type.bits - 1) if element_type.kind == "signed" else 0
    return least <= number < least + (1 << element_type.bits)


def _together(opcode: str, operands: list[ir.Value], found: Range) -> Range:
    """What follows of operands that depend on one another: of k below x - y, y + k is below x, and x - k is above y."""
    low, high = found
    if opcode == "add":
        for counter, other in (operands, operands[::-1]):
            x, y = getattr(counter, _BELOW_DIFFERENCE, (None, None))
            if y is other:
                high = min(high, known_range(x)[1] - 1)
    elif opcode == "subtract":
        x, y = getattr(operands[1], _BELOW_DIFFERENCE, (None, None))
        if x is operands[0]:
            low = max(low, known_range(y)[0] + 1)
    return low, high


def note_result(instruction: Instruction, operands: list[ir.Value], result: ir.Value) -> None:
    """Note of an operation's result, an integer, what follows from its operands."""
    rule, shape = _RULES.get(instruction.opcode), instruction.shape
    if rule is None or not shape.element_type.is_integer or isinstance(result, ir.Constant):
        return
    if not all(operand.shape.element_type.is_integer for operand in instruction.operands):
        return
    ranges = [known_range(operand) for operand in operands]
    if None in ranges:
        return
    found = rule(*ranges)
    if found is None:
        return
    low, high = _together(instruction.opcode, operands, found)
    if _fits(shape.element_type, low) and _fits(shape.element_type, high):
        note_range(result, low, high)
        _note_difference(instruction.opcode, operands, result)


def _note_difference(opcode: str, operands: list[ir.Value], result: ir.Value) -> None:
    if opcode == "subtract":
        setattr(result, _DIFFERENCE, tuple(operands))
    elif opcode == "maximum":
        for one, other in (operands, operands[::-1]):
            if known_range(other) == (0, 0) and hasattr(one, _DIFFERENCE):
                setattr(result, _DIFFERENCE, getattr(one, _DIFFERENCE))
