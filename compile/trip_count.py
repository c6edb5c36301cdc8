"""What can be known about a while loop without running it: how often it runs, and which of its state never changes."""

from __future__ import annotations

from typing import NamedTuple

from ..hlo import Instruction


class TripCount(NamedTuple):
    """A loop that counts.

    The body runs ``count`` times; the state's element ``index`` is ``start + step * k`` in its round k.
    """

    count: int
    index: int
    start: int
    step: int


def known_trip_count(loop: Instruction) -> TripCount | None:
    """The trip count of a ``while`` whose condition compares a counter with a constant, both known before it starts.

    Recognised are: a tuple state made by ``tuple``; a condition ``compare(counter, limit)`` in either order; a counter that
    the body advances by a constant. The counter may be any integer type; None where it would wrap before the loop ends, and
    wherever the loop has another form.
    """
    init, condition, body = loop.operands[0], loop.attributes["condition"], loop.attributes["body"]
    if init.opcode != "tuple" or condition.root.opcode != "compare" or body.root.opcode != "tuple":
        return None
    lhs, rhs = condition.root.operands
    direction = condition.root.attributes["direction"]
    index, limit = _state_index(lhs), _integer(rhs, loop)
    if index is None or limit is None:
        index, limit = _state_index(rhs), _integer(lhs, loop)
        direction = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}.get(direction, direction)
    if index is None or limit is None:
        return None
    start, step = _constant(init.operands[index]), _step(loop, index)
    if start is None or step is None:
        return None
    count = _count(start, limit, step, direction)
    if count is None:
        return None
    element_type = lhs.shape.element_type
    least = -(2 ** (element_type.bits - 1)) if element_type.kind == "signed" else 0
    if not least <= start + count * step < least + 2**element_type.bits:
        return None
    return TripCount(count, index, start, step)


def loop_invariant_elements(loop: Instruction) -> set[int]:
    """The indices of the state's elements that the body hands on unchanged; empty where state or body's result is no tuple."""
    body = loop.attributes["body"]
    if body.root.opcode != "tuple":
        return set()
    return {index for index, element in enumerate(body.root.operands) if _state_index(element) == index}


def _state_index(instruction: Instruction) -> int | None:
    """Which element of the computation's tuple parameter this is."""
    if instruction.opcode == "get-tuple-element" and instruction.operands[0].opcode == "parameter":
        return instruction.attributes["index"]
    return None


def _constant(instruction: Instruction) -> int | None:
    if instruction.opcode == "constant" and not instruction.shape.is_tuple and not instruction.shape.dimensions:
        if instruction.shape.element_type.is_integer:
            return int(instruction.attributes["literal"])
    return None


def _integer(instruction: Instruction, loop: Instruction) -> int | None:
    """A constant of a loop's computations, or an element of the state that is one throughout the loop."""
    index = _state_index(instruction)
    if index is None:
        return _constant(instruction)
    root = loop.attributes["body"].root
    return _constant(loop.operands[0].operands[index]) if _state_index(root.operands[index]) == index else None


def _step(loop: Instruction, index: int) -> int | None:
    update = loop.attributes["body"].root.operands[index]
    if update.opcode not in ("add", "subtract"):
        return None
    lhs, rhs = update.operands
    if _state_index(lhs) != index and update.opcode == "add":
        lhs, rhs = rhs, lhs
    step = _integer(rhs, loop)
    if _state_index(lhs) != index or step is None:
        return None
    return -step if update.opcode == "subtract" else step


def _count(start: int, limit: int, step: int, direction: str) -> int | None:
    """How often start, start + step, ... stands in the relation to the limit before it first does not; None for endless
    loops."""
    if direction in ("GT", "GE"):
        start, limit, step = -start, -limit, -step
        direction = {"GT": "LT", "GE": "LE"}[direction]
    if direction == "NE":
        distance = limit - start
        return distance // step if step and distance % step == 0 and distance // step >= 0 else None
    if direction == "EQ":
        return (1 if step else None) if start == limit else 0
    if direction == "LE":
        limit += 1
    if start >= limit:
        return 0
    return -(-(limit - start) // step) if step > 0 else None
