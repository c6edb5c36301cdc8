"""Rules that follow from between which integers the elements of an array lie: of positions, sizes, what is clamped."""

from __future__ import annotations

from typing import NamedTuple

from ... import hlo
from ...hlo import S8, S32, S64, Instruction, Shape
from ...hlo.operation import DATA_MOVEMENT
from .rule import is_integer, pred, real_value, rule, s8, s32, u8

# So far up the operands of operands are looked at.
_DEPTH = 6


class Range(NamedTuple):
    """The integers from ``low`` to ``high``, both among them."""

    low: int
    high: int


def range_of(instruction: Instruction, depth: int = _DEPTH) -> Range:
    """Between which integers all elements of an integer array lie, as far as it is seen quickly."""
    value = real_value(instruction)
    if value is not None:
        return Range(value, value)
    whole = _of_type(instruction)
    opcode, operands = instruction.opcode, instruction.operands
    if opcode == "iota":
        size = instruction.shape.dimensions[instruction.attributes["iota_dimension"]]
        return Range(0, max(size - 1, 0)) if size - 1 <= whole.high else whole
    if opcode == "get-dimension-size":
        bound = operands[0].shape.dimensions[instruction.attributes["dimensions"][0]]
        return Range(0, bound) if bound <= whole.high else whole
    if depth == 0:
        return whole
    if opcode == "convert":
        if not is_integer(operands[0]):
            return whole
        inner = range_of(operands[0], depth - 1)
        return inner if whole.low <= inner.low and inner.high <= whole.high else whole
    if opcode == "select" or DATA_MOVEMENT in instruction.operation.traits and instruction.operation.updated_operand is None:
        holding = operands[1:] if opcode == "select" else operands if opcode in ("concatenate", "pad") else operands[:1]
        inner = [range_of(operand, depth - 1) for operand in holding]
        return Range(min(one.low for one in inner), max(one.high for one in inner))
    if opcode == "and":
        masks = [value for operand in operands if (value := real_value(operand)) is not None and value >= 0]
        return Range(0, min(masks)) if masks else whole
    if opcode in ("maximum", "minimum"):
        (low, high), (other_low, other_high) = (range_of(operand, depth - 1) for operand in operands)
        best = max if opcode == "maximum" else min
        return Range(best(low, other_low), best(high, other_high))
    if opcode == "clamp":
        least, inner, most = (range_of(operand, depth - 1) for operand in operands)
        return Range(*(min(max(one, bound), limit) for one, bound, limit in zip(inner, least, most)))
    if opcode in ("add", "subtract"):
        first, second = (range_of(operand, depth - 1) for operand in operands)
        if opcode == "subtract":
            second = Range(-second.high, -second.low)
        low, high = first.low + second.low, first.high + second.high
        return Range(low, high) if whole.low <= low and high <= whole.high else whole
    return whole


def _of_type(instruction: Instruction) -> Range:
    element_type = instruction.shape.element_type
    if element_type.kind == "signed":
        return Range(-(2 ** (element_type.bits - 1)), 2 ** (element_type.bits - 1) - 1)
    return Range(0, 2**element_type.bits - 1)


def _positions(size=5, element_type=S32):
    return hlo.iota(Shape(element_type, (size,)), 0)


# By direction, when a comparison of two ranges holds, and when it does not.
_HOLDS = {
    "LT": lambda x, y: x.high < y.low,
    "LE": lambda x, y: x.high <= y.low,
    "GT": lambda x, y: x.low > y.high,
    "GE": lambda x, y: x.low >= y.high,
    "NE": lambda x, y: x.high < y.low or y.high < x.low,
    "EQ": lambda x, y: x.low == x.high == y.low == y.high,
}
_INVERSE = {"LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT", "EQ": "NE", "NE": "EQ"}


@rule(
    "compare",
    fires=[
        lambda: hlo.lt(_positions(), 0), lambda: hlo.lt(_positions(), 5), lambda: hlo.ge(_positions(element_type=S8), 0),
        lambda: hlo.eq(_positions(), 5), lambda: hlo.ne(_positions(), -1), lambda: hlo.le(hlo.add(_positions(), 3), 7),
        lambda: hlo.gt(hlo.select(pred(5), _positions(), 2), 4), lambda: hlo.ge(hlo.maximum(s32(5), 2), 2),
        lambda: hlo.lt(hlo.convert(_positions(), S64), 5), lambda: hlo.ge(hlo.subtract(7, _positions()), 3),
        lambda: hlo.lt(hlo.and_(s32(5), 7), 8), lambda: hlo.ge(hlo.and_(s32(5), 7), 0),
    ],
    unchanged=[
        lambda: hlo.lt(_positions(), 4), lambda: hlo.eq(_positions(), 4), lambda: hlo.ge(s8(5), 0), lambda: hlo.ge(s32(), 1),
        lambda: hlo.ge(hlo.add(hlo.maximum(s8(5), 2), 126), 2), lambda: hlo.lt(hlo.and_(s32(5), 7), 7),
        lambda: hlo.ge(hlo.and_(s32(5), -2), 0),
    ],
)  # fmt: skip
def compare_of_ranges(compare: Instruction) -> Instruction | None:
    """compare(iota, 0, LT) -> false, and so on, where the least and greatest integers decide"""
    x, y = compare.operands
    if not is_integer(x):
        return None
    first, second, direction = range_of(x), range_of(y), compare.attributes["direction"]
    if _HOLDS[direction](first, second):
        return hlo.full_like(compare, True)
    return hlo.full_like(compare, False) if _HOLDS[_INVERSE[direction]](first, second) else None


@rule(
    "maximum", "minimum",
    fires=[
        lambda: hlo.maximum(_positions(), 0), lambda: hlo.minimum(_positions(), 4), lambda: hlo.minimum(_positions(), -1),
        lambda: hlo.maximum(hlo.minimum(s32(3), 5), hlo.maximum(s32(3), 5)), lambda: hlo.maximum(u8(3), 0),
    ],
    unchanged=[lambda: hlo.maximum(_positions(), 1), lambda: hlo.minimum(s8(3), 126)],
)  # fmt: skip
def extremum_of_ranges(operation: Instruction) -> Instruction | None:
    """maximum(iota, 0) -> iota, where one is never above, or never below, the other"""
    x, y = operation.operands
    if not is_integer(x):
        return None
    first, second = range_of(x), range_of(y)
    if operation.opcode == "minimum":
        first, second = second, first
    if first.low >= second.high:
        return x
    return y if second.low >= first.high else None


@rule(
    "clamp",
    fires=[
        lambda: hlo.clamp(0, _positions(), 4), lambda: hlo.clamp(-1, _positions(), 9), lambda: hlo.clamp(0, _positions(), 3),
        lambda: hlo.clamp(2, _positions(), 9),
    ],
    unchanged=lambda: hlo.clamp(1, _positions(), 3),
)  # fmt: skip
def clamp_of_ranges(clamp: Instruction) -> Instruction | None:
    """clamp(0, iota, size - 1) -> iota; with one bound that matters -> maximum, or minimum, with that one"""
    least, x, most = clamp.operands
    if not is_integer(x):
        return None
    lowest, inner, highest = range_of(least), range_of(x), range_of(most)
    if inner.low >= lowest.high:
        if inner.high <= highest.low:
            return x
        return hlo.minimum(x, most if most.shape.dimensions else hlo.broadcast_in_dim(most, x.shape.dimensions, ()))
    if inner.high <= highest.low and lowest.high <= highest.low:
        return hlo.maximum(x, least if least.shape.dimensions else hlo.broadcast_in_dim(least, x.shape.dimensions, ()))
    return None
