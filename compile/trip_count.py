"""What can be known about a while loop without running it: how often it runs, and which of its state never changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from ..hlo import Instruction

_MIRRORED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}


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
        direction = _MIRRORED.get(direction, direction)
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


class Counting(NamedTuple):
    """A loop that ends, if not before, when its counter no longer stands in a relation to a limit.

    The state's element ``index`` is advanced by ``step``; ``limit`` is a constant, or ``limit_index`` the state's element that
    holds it and stays. ``direction`` is "LT" or "LE" where the step is positive, "GT" or "GE" where it is negative.
    """

    index: int
    step: int
    direction: str
    limit: int | None
    limit_index: int | None


def counting(loop: Instruction) -> Counting | None:
    """How a ``while`` counts whose state is a tuple; the counter's beginning and the limit may be known at run time only.

    The comparison is made by the condition, or before it, for a truth value of the state: by the body and before the loop.
    """
    condition, body = loop.attributes["condition"].root, loop.attributes["body"].root
    if body.opcode != "tuple":
        return None
    for one in _conjuncts(condition):
        if one.opcode == "compare":
            found = _counting(_state_comparisons(one), loop)
        else:
            found = _counting(_carried_comparisons(_state_index(one), loop), loop)
        if found is not None:
            return found
    return None


class _Comparison(NamedTuple):
    """That of the state's element ``index`` with a constant, or with the element ``limit_index``."""

    index: int
    direction: str
    limit: int | None
    limit_index: int | None


def _conjuncts(truth: Instruction) -> Iterator[Instruction]:
    """What all holds where this does."""
    if truth.opcode == "and":
        for operand in truth.operands:
            yield from _conjuncts(operand)
    elif truth.opcode == "select" and _is_false(truth.operands[2]):
        for operand in truth.operands[:2]:
            yield from _conjuncts(operand)
    else:
        yield truth


def _is_false(truth: Instruction) -> bool:
    return truth.opcode == "constant" and not truth.shape.dimensions and not truth.attributes["literal"]


def _state_comparisons(compare: Instruction) -> Iterator[_Comparison]:
    """The comparison, as it is written and the other way round, where its operands are of the state or constants."""
    for counter, limit, direction in _both_ways(compare):
        index, limit_index, constant = _state_index(counter), _state_index(limit), _constant(limit)
        if index is not None and (constant is not None or limit_index is not None):
            yield _Comparison(index, direction, constant, limit_index)


def _both_ways(compare: Instruction) -> Iterator[tuple[Instruction, Instruction, str]]:
    lhs, rhs = compare.operands
    direction = compare.attributes["direction"]
    if lhs.shape.element_type.is_integer:
        yield lhs, rhs, direction
        yield rhs, lhs, _MIRRORED.get(direction, direction)


def _carried_comparisons(truth: int | None, loop: Instruction) -> Iterator[_Comparison]:
    """What holds of the state in each round whose element ``truth`` holds: of what it begins as, and of what the body makes."""
    init, body = loop.operands[0], loop.attributes["body"].root
    if truth is None or init.opcode != "tuple":
        return
    at_first = {found for one in _conjuncts(init.operands[truth]) for found in _element_comparisons(one, init.operands, ())}
    for one in _conjuncts(body.operands[truth]):
        for found in _element_comparisons(one, body.operands, loop_invariant_elements(loop)):
            begin = _constant(init.operands[found.index])
            if (
                found in at_first
                or begin is not None
                and found.limit is not None
                and _holds(begin, found.direction, found.limit)
            ):
                yield found


def _element_comparisons(
    compare: Instruction, elements: tuple[Instruction, ...], stay: Collection[int]
) -> Iterator[_Comparison]:
    """The comparison as one of the elements of a tuple; those that stay are also named by the state."""
    if compare.opcode != "compare":
        return
    for counter, limit, direction in _both_ways(compare):
        constant = _constant(limit)
        limits = [None] if constant is not None else [n for n, one in enumerate(elements) if one is limit]
        for index, element in enumerate(elements):
            if element is counter and index not in stay:
                for limit_index in limits:
                    yield _Comparison(index, direction, constant, limit_index)


def _holds(x: int, direction: str, y: int) -> bool:
    return {"LT": x < y, "LE": x <= y, "GT": x > y, "GE": x >= y, "EQ": x == y, "NE": x != y}[direction]


def _counting(comparisons: Iterable[_Comparison], loop: Instruction) -> Counting | None:
    for index, direction, limit, limit_index in comparisons:
        if limit is None and limit_index not in loop_invariant_elements(loop):
            continue
        step = _step(loop, index)
        if step and direction in (("LT", "LE") if step > 0 else ("GT", "GE")):
            return Counting(index, step, direction, limit, limit_index)
    return None


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
    init = loop.operands[0]
    stays = init.opcode == "tuple" and _state_index(root.operands[index]) == index
    return _constant(init.operands[index]) if stays else None


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
