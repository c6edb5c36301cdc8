"""Between which numbers an integer in a register lies, where that is known: of a loop's counter, and what is computed of it.

What is known rides on the register, as long as one function is emitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from ...compile.trip_count import counting, known_trip_count
from ...hlo import PRED, ElementType, Instruction
from ...hlo.operation import COMMUTATIVE

Range = tuple[int, int]

_NAME, _RELATIONS, _WHERE_POSITIVE = "known_range", "known_relations", "known_relations_where_positive"


class Relation(NamedTuple):
    """How a number is related to those in two registers: ``scale`` times the number is at most x - y + offset.

    As what is noted of a number's positive part, this holds where the number is above 0.
    """

    x: ir.Value
    y: ir.Value
    offset: int = 0
    scale: int = 1


def note_range(value: ir.Value, low: int, high: int) -> None:
    """The integer is at least ``low`` and at most ``high``, wherever its value is used from now on."""
    setattr(value, _NAME, (low, high))


def forget_range(value: ir.Value) -> None:
    """What has been noted holds no longer where code is emitted next."""
    for name in (_NAME, _RELATIONS):
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

    ``relations`` are those of the counter to other registers.
    """

    index: int
    most: int
    low: int
    high: int
    relations: tuple[Relation, ...] = ()

    def note(self, counter: ir.Value) -> None:
        """The counter's register holds that of a round, until what is known of it is forgotten."""
        note_range(counter, self.low, self.high)
        setattr(counter, _RELATIONS, self.relations)


def known_rounds(loop: Instruction, initial: Sequence[Any]) -> Rounds | None:
    """How a ``while`` counts whose state's leaves begin as these, None for what is in no register.

    None where that is not known, or some leaves are in inner tuples.
    """
    if not loop.shape.is_tuple or len(initial) != len(loop.shape.elements):
        return None
    trips = known_trip_count(loop)
    if trips is not None and trips.count:
        return Rounds(trips.index, trips.count, *sorted((trips.start, trips.start + trips.step * (trips.count - 1))))
    found = counting(loop)
    if found is None:
        return None
    limit = None if found.limit_index is None else initial[found.limit_index]
    begin = known_range(initial[found.index])
    end = (found.limit, found.limit) if found.limit_index is None else known_range(limit)
    if begin is None or end is None:
        return None
    strictly = found.direction in ("LT", "GT")
    low, high = (begin[0], end[1] - strictly) if found.step > 0 else (end[0] + strictly, begin[1])
    element_type = loop.shape.elements[found.index].element_type
    if low > high or not all(_fits(element_type, one + found.step) for one in (low, high)):
        return None  # no round, or one after which the counter begins anew at the other end
    relations = _where_positive(limit) if found.direction == "LT" and low >= 0 else ()
    # The limit is more than the counter, and so more than 0.
    relations = tuple([relation._replace(offset=relation.offset - relation.scale) for relation in relations])
    return Rounds(found.index, (high - low) // abs(found.step) + 1, low, high, relations)


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
    "clamp": lambda low, x, high: tuple([min(max(x[end], low[end]), high[end]) for end in (0, 1)]),
    "select": lambda _, x, y: (min(x[0], y[0]), max(x[1], y[1])),
    "divide": lambda x, y: tuple([_quotient(end, y[0]) for end in x]) if 0 < y[0] == y[1] else None,
    "remainder": lambda x, y: _remainder(x, y[0]) if 0 < y[0] == y[1] else None,
    "and": lambda x, y: (0, min(one[1] for one in (x, y) if one[0] >= 0)) if max(x[0], y[0]) >= 0 else None,
    "or": lambda x, y: _with_bits_of_both(x, y),
    "xor": lambda x, y: _with_bits_of_both(x, y),
}
_TRUTHS = (0, 1)
_MOST_RELATIONS = 3


def _quotient(x: int, y: int) -> int:
    return abs(x) // y if x >= 0 else -(abs(x) // y)


def _remainder(x: Range, y: int) -> Range:
    return max(1 - y, min(x[0], 0)), min(y - 1, max(x[1], 0))


def _with_bits_of_both(x: Range, y: Range) -> Range | None:
    return (0, (1 << max(x[1], y[1]).bit_length()) - 1) if min(x[0], y[0]) >= 0 else None


_DECIDED: dict[str, Callable[[Range, Range], bool | None]] = {  # None: the numbers decide
    "LT": lambda x, y: True if x[1] < y[0] else False if x[0] >= y[1] else None,
    "LE": lambda x, y: True if x[1] <= y[0] else False if x[0] > y[1] else None,
    "EQ": lambda x, y: False if x[1] < y[0] or y[1] < x[0] else True if x[0] == x[1] == y[0] == y[1] else None,
}


def decided_comparison(instruction: Instruction, operands: Sequence[Any]) -> bool | None:
    """What a comparison gives wherever its operands, in registers, lie where they are known to; None where that is open."""
    element_type, direction = instruction.operands[0].shape.element_type, instruction.attributes["direction"]
    if not element_type.is_integer:
        return None
    x, y = map(known_range, operands)
    if x is None or y is None or not all(_fits(element_type, end) for end in (*x, *y)):
        return None
    if direction in ("GT", "GE"):
        x, y, direction = y, x, {"GT": "LT", "GE": "LE"}[direction]
    if direction == "NE":
        equal = _DECIDED["EQ"](x, y)
        return None if equal is None else not equal
    return _DECIDED[direction](x, y)


def _fits(element_type: ElementType, number: int) -> bool:
    least = -(1 << element_type.bits - 1) if element_type.kind == "signed" else 0
    return least <= number < least + (1 << element_type.bits)


def _related(opcode: str, operands: list[ir.Value], found: Range) -> Range:
    """What follows of operands that depend on one another: of k <= x - y + c that y + k <= x + c, and x - k >= y - c."""
    low, high = found
    if opcode == "add":
        for number, other in (operands, operands[::-1]):
            for relation in getattr(number, _RELATIONS, ()):
                if relation.scale == 1 and relation.y is other and (x := known_range(relation.x)):
                    high = min(high, x[1] + relation.offset)
    elif opcode == "subtract":
        for relation in getattr(operands[1], _RELATIONS, ()):
            if relation.scale == 1 and relation.x is operands[0] and (y := known_range(relation.y)):
                low = max(low, y[0] - relation.offset)
    return low, high


def note_result(instruction: Instruction, operands: list[ir.Value], result: ir.Value) -> None:
    """Note of an operation's result, an integer, what follows from its operands."""
    rule, shape = _RULES.get(instruction.opcode), instruction.shape
    if rule is None or not shape.element_type.is_integer or isinstance(result, ir.Constant):
        return
    ranges = [_range_of(operand, value) for operand, value in zip(instruction.operands, operands)]
    if None in ranges:
        return
    found = rule(*ranges)
    if found is None:
        return
    low, high = _related(instruction.opcode, operands, found)
    if _fits(shape.element_type, low) and _fits(shape.element_type, high):
        note_range(result, low, high)
        _note_relations(instruction, operands, ranges, result)


def _range_of(operand: Instruction, value: ir.Value) -> Range | None:
    element_type = operand.shape.element_type
    if element_type.is_integer:
        return known_range(value)
    return _TRUTHS if element_type is PRED else None


def _where_positive(number: Any) -> tuple[Relation, ...]:
    return getattr(number, _WHERE_POSITIVE, ()) + getattr(number, _RELATIONS, ())


def _note_relations(instruction: Instruction, operands: list[ir.Value], ranges: list[Range], result: ir.Value) -> None:
    """Carry on how numbers are related to others, where the result does not overflow."""
    if len(operands) != 2:
        return
    opcode, is_commutative = instruction.opcode, instruction.has_trait(COMMUTATIVE)
    relations = [Relation(*operands)] if opcode == "subtract" else []
    where_positive: list[Relation] = []
    for number, (low, high) in zip(operands, ranges[::-1]):
        if number is operands[0] or is_commutative:
            if low == high:
                relations += filter(None, [_moved(opcode, one, low) for one in getattr(number, _RELATIONS, ())])
            where_positive += filter(None, [_no_larger(opcode, one, low, high) for one in _where_positive(number)])
    for name, found in ((_RELATIONS, relations), (_WHERE_POSITIVE, where_positive)):
        if found:
            setattr(result, name, tuple(found[:_MOST_RELATIONS]))


def _moved(opcode: str, relation: Relation, other: int) -> Relation | None:
    """That of a number to which another one is added, or from which it is subtracted, or that is multiplied by it."""
    if opcode in ("add", "subtract"):
        return relation._replace(offset=relation.offset + relation.scale * (other if opcode == "add" else -other))
    factor = {"multiply": other, "shift-left": 1 << other if opcode == "shift-left" else 0}.get(opcode, 0)
    return relation._replace(scale=relation.scale // factor) if factor > 0 and relation.scale % factor == 0 else None


def _no_larger(opcode: str, relation: Relation, low: int, high: int) -> Relation | None:
    """That of a positive result: of a number divided by another one, or less that, or of the larger of both, which is 0."""
    if opcode == "divide" and low == high > 0:
        return relation._replace(scale=relation.scale * low)
    if opcode == "subtract" and low >= 0:
        return relation._replace(offset=relation.offset - relation.scale * low)
    return relation if opcode == "maximum" and low == high == 0 else None
