"""Rules of logic: comparisons, boolean operations, select, clamp."""

from __future__ import annotations

import numpy as np

from ... import hlo
from ...hlo import Instruction, ShapeError
from .rule import f32, is_integer, is_pred, pred, real_value, rule, s8, s32, u8, uniform_literal

_INVERSE = {"EQ": "NE", "NE": "EQ", "LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT"}
_SWAPPED = {"EQ": "EQ", "NE": "NE", "LT": "GT", "GT": "LT", "GE": "LE", "LE": "GE"}
_ON_PRED = {"add": "or", "multiply": "and", "maximum": "or", "minimum": "and"}


@rule(
    "add", "multiply", "maximum", "minimum",
    fires=[lambda: hlo.add(pred(3), pred(3)), lambda: hlo.minimum(pred(), pred())],
    unchanged=lambda: hlo.add(s32(3), s32(3)),
)  # fmt: skip
def logic_of_pred(operation: Instruction) -> Instruction | None:
    """add(p, q) -> or(p, q), multiply -> and, maximum -> or, minimum -> and, for pred"""
    return hlo.emit(_ON_PRED[operation.opcode], *operation.operands) if is_pred(operation) else None


def _ones(instruction: Instruction) -> int | None:
    """The value whose bits are all set, of a pred or integer type."""
    element_type = instruction.shape.element_type
    if element_type.kind == "pred":
        return 1
    return -1 if element_type.kind == "signed" else 2**element_type.bits - 1


@rule(
    "and", "or", "xor",
    fires=[
        lambda: hlo.and_(pred(3), True), lambda: hlo.and_(s32(3), -1),
        lambda: hlo.or_(pred(3), False), lambda: hlo.xor(u8(3), 0),
    ],
    unchanged=lambda: hlo.and_(s32(3), 1),
)  # fmt: skip
def neutral_bits(operation: Instruction) -> Instruction | None:
    """and(x, all ones) -> x, or(x, 0) -> x, xor(x, 0) -> x"""
    x, constant = operation.operands
    return x if real_value(constant) == (_ones(operation) if operation.opcode == "and" else 0) else None


@rule(
    "and", "or", "xor",
    fires=[
        lambda: hlo.and_(pred(3), False), lambda: hlo.or_(pred(3), True),
        lambda: hlo.or_(u8(3), 255), lambda: hlo.xor(pred(3), True),
    ],
    unchanged=lambda: hlo.or_(s32(3), 1),
)  # fmt: skip
def absorbing_bits(operation: Instruction) -> Instruction | None:
    """and(x, 0) -> 0, or(x, all ones) -> all ones, xor(x, all ones) -> not(x)"""
    x, constant = operation.operands
    value = real_value(constant)
    if operation.opcode == "and":
        return hlo.full_like(operation, 0) if value == 0 else None
    if value is None or value != _ones(operation):
        return None
    return hlo.not_(x) if operation.opcode == "xor" else hlo.full_like(operation, value)


@rule("not", fires=[lambda: hlo.not_(hlo.not_(pred(3))), lambda: hlo.not_(hlo.not_(s32()))])
def not_of_not(inversion: Instruction) -> Instruction | None:
    """not(not(x)) -> x"""
    inner = inversion.operands[0]
    return inner.operands[0] if inner.opcode == "not" else None


@rule(
    "not",
    fires=[
        lambda: hlo.not_(hlo.lt(s32(3), s32(3))), lambda: hlo.not_(hlo.eq(f32(3), f32(3))),
        lambda: hlo.not_(hlo.compare(f32(3), f32(3), "GT", "TOTALORDER")),
    ],
    unchanged=lambda: hlo.not_(hlo.lt(f32(3), f32(3))),
)  # fmt: skip
def not_of_compare(inversion: Instruction) -> Instruction | None:
    """not(compare(x, y, LT)) -> compare(x, y, GE), and so on; of floats EQ and NE only (NaN is neither below nor above)"""
    inner = inversion.operands[0]
    if inner.opcode != "compare":
        return None
    direction, kind = inner.attributes["direction"], inner.operands[0].shape.element_type.kind
    ordered = kind in ("pred", "signed", "unsigned") or inner.attributes["type"] == "TOTALORDER"
    if not ordered and direction not in ("EQ", "NE"):
        return None
    return inner.with_operands(inner.operands, direction=_INVERSE[direction])


def _compared_with_itself(parameter, direction, type=""):
    def build():
        x = parameter(3)
        return hlo.compare(x, x, direction, type)

    return build


@rule(
    "compare",
    fires=[_compared_with_itself(s32, "LE"), _compared_with_itself(pred, "NE"), _compared_with_itself(f32, "EQ", "TOTALORDER")],
    unchanged=_compared_with_itself(f32, "EQ"),
)
def compare_with_itself(compare: Instruction) -> Instruction | None:
    """compare(x, x, LE) -> true, compare(x, x, LT) -> false, not of floats (NaN is unequal to itself)"""
    lhs, rhs = compare.operands
    exact = lhs.shape.element_type.kind in ("pred", "signed", "unsigned") or compare.attributes["type"] == "TOTALORDER"
    if lhs is not rhs or not exact:
        return None
    return hlo.full_like(compare, compare.attributes["direction"] in ("EQ", "LE", "GE"))


@rule(
    "compare",
    fires=[lambda: hlo.lt(1, f32(3)), lambda: hlo.eq(1, s32(3))],
    unchanged=lambda: hlo.lt(f32(3), 1),
)
def compared_constant_on_the_right(compare: Instruction) -> Instruction | None:
    """compare(c, x, LT) -> compare(x, c, GT)"""
    lhs, rhs = compare.operands
    if uniform_literal(lhs) is None or uniform_literal(rhs) is not None:
        return None
    return compare.with_operands((rhs, lhs), direction=_SWAPPED[compare.attributes["direction"]])


@rule(
    "compare",
    fires=[
        lambda: hlo.eq(pred(3), True), lambda: hlo.ne(pred(3), True),
        lambda: hlo.eq(pred(3), False), lambda: hlo.ne(pred(3), False),
    ],
    unchanged=lambda: hlo.lt(pred(3), True),
)  # fmt: skip
def compare_pred(compare: Instruction) -> Instruction | None:
    """compare(p, true, EQ) -> p, compare(p, false, EQ) -> not(p), and so for NE"""
    p, constant = compare.operands
    direction, value = compare.attributes["direction"], real_value(constant)
    if not is_pred(p) or value is None or direction not in ("EQ", "NE"):
        return None
    return p if (direction == "EQ") == bool(value) else hlo.not_(p)


@rule(
    "compare",
    fires=[lambda: hlo.ne(hlo.convert(pred(3), hlo.S32), 0)],
    unchanged=lambda: hlo.ne(hlo.convert(s8(3), hlo.S32), 0),
)
def compare_converted_pred(compare: Instruction) -> Instruction | None:
    """compare(convert(p), 0, NE) -> p and compare(convert(p), 0, EQ) -> not(p), for a pred p"""
    x, constant = compare.operands
    direction = compare.attributes["direction"]
    if x.opcode != "convert" or not is_pred(x.operands[0]) or direction not in ("EQ", "NE") or real_value(constant) != 0:
        return None
    if compare.attributes["type"] == "TOTALORDER":
        return None
    return x.operands[0] if direction == "NE" else hlo.not_(x.operands[0])


@rule(
    "select",
    fires=[
        lambda: hlo.select(hlo.constant(True), f32(3), f32(3)), lambda: hlo.select(pred(3), x := f32(3), x),
        lambda: hlo.select(hlo.full_like(pred(3), False), s32(3), s32(3)),
    ],
    unchanged=lambda: hlo.select(pred(3), f32(3), f32(3)),
)  # fmt: skip
def select_known(select: Instruction) -> Instruction | None:
    """select(true, x, y) -> x, select(false, x, y) -> y, select(p, x, x) -> x"""
    condition, on_true, on_false = select.operands
    if on_true is on_false:
        return on_true
    value = real_value(condition)
    if value is None:
        return None
    return on_true if value else on_false


@rule("select", fires=lambda: hlo.select(pred(), hlo.tuple(f32(3), s32()), hlo.tuple(f32(3), s32())))
def select_of_tuples(select: Instruction) -> Instruction | None:
    """select(p, s, t) -> tuple(select(p, s.0, t.0), ...), for tuples s and t"""
    if not select.shape.is_tuple:
        return None
    condition, on_true, on_false = select.operands
    parts = [[hlo.get_tuple_element(side, i) for side in (on_true, on_false)] for i in range(len(select.shape.elements))]
    try:
        return hlo.tuple(*(hlo.select(condition, *pair) for pair in parts))
    except ShapeError:  # an element is a token, which has no values to select from
        return None


@rule("select", fires=lambda: hlo.select(pred(), f32(3), f32(3)), unchanged=lambda: hlo.select(pred(), f32(), f32()))
def select_by_scalar(select: Instruction) -> Instruction | None:
    """select(p, x, y) -> select(broadcast(p), x, y), for a scalar p and arrays x and y"""
    condition, on_true, on_false = select.operands
    if select.shape.is_tuple or condition.shape.dimensions or not select.shape.dimensions:
        return None
    return hlo.select(hlo.broadcast_in_dim(condition, select.shape.dimensions, ()), on_true, on_false)


@rule(
    "select",
    fires=[lambda: hlo.select(hlo.not_(pred(3)), f32(3), f32(3)), lambda: hlo.select(hlo.not_(pred()), f32(), f32())],
)
def select_by_not(select: Instruction) -> Instruction | None:
    """select(not(p), x, y) -> select(p, y, x)"""
    condition, on_true, on_false = select.operands
    return hlo.select(condition.operands[0], on_false, on_true) if condition.opcode == "not" else None


@rule(
    "select",
    fires=[
        lambda: hlo.select(p := pred(3), f32(3), hlo.select(p, f32(3), f32(3))),
        lambda: hlo.select(p := pred(3), hlo.select(p, f32(3), f32(3)), f32(3)),
    ],
    unchanged=lambda: hlo.select(pred(3), f32(3), hlo.select(pred(3), f32(3), f32(3))),
)
def select_of_select(select: Instruction) -> Instruction | None:
    """select(p, x, select(p, y, z)) -> select(p, x, z), and select(p, select(p, x, y), z) -> select(p, x, z)"""
    condition, on_true, on_false = select.operands
    if on_false.opcode == "select" and on_false.operands[0] is condition:
        return hlo.select(condition, on_true, on_false.operands[2])
    if on_true.opcode == "select" and on_true.operands[0] is condition:
        return hlo.select(condition, on_true.operands[1], on_false)
    return None


@rule(
    "select",
    fires=[
        lambda: hlo.select(p := pred(3), hlo.full_like(p, True), hlo.full_like(p, False)),
        lambda: hlo.select(p := pred(3), hlo.full_like(p, False), hlo.full_like(p, True)),
    ],
    unchanged=lambda: hlo.select(pred(3), True, pred(3)),
)
def select_of_constants(select: Instruction) -> Instruction | None:
    """select(p, true, false) -> p and select(p, false, true) -> not(p)"""
    condition, on_true, on_false = select.operands
    if select.shape.is_tuple or not is_pred(select) or condition.shape.dimensions != select.shape.dimensions:
        return None
    values = real_value(on_true), real_value(on_false)
    if values == (1, 0):
        return condition
    return hlo.not_(condition) if values == (0, 1) else None


@rule("clamp", fires=lambda: hlo.clamp(f32(), f32(3), f32()), unchanged=lambda: hlo.clamp(f32(), f32(), f32()))
def clamp_between_scalars(clamp: Instruction) -> Instruction | None:
    """clamp(a, x, b) -> clamp(broadcast(a), x, broadcast(b)), for scalar bounds of an array x"""
    low, x, high = clamp.operands
    dimensions = clamp.shape.dimensions
    if not dimensions or (low.shape.dimensions and high.shape.dimensions):
        return None
    bounds = [bound if bound.shape.dimensions else hlo.broadcast_in_dim(bound, dimensions, ()) for bound in (low, high)]
    return hlo.clamp(bounds[0], x, bounds[1])


@rule(
    "clamp",
    fires=[
        lambda: hlo.clamp(hlo.constant(np.float32(-np.inf)), f32(), hlo.constant(np.float32(np.inf))),
        lambda: hlo.clamp(hlo.constant(np.uint8(0)), u8(), hlo.constant(np.uint8(255))),
    ],
    unchanged=lambda: hlo.clamp(hlo.constant(np.uint8(1)), u8(), hlo.constant(np.uint8(255))),
)
def clamp_between_limits(clamp: Instruction) -> Instruction | None:
    """clamp(least value, x, greatest value) -> x"""
    low, x, high = clamp.operands
    low_value, high_value = real_value(low), real_value(high)
    if low_value is None or high_value is None:
        return None
    element_type = clamp.shape.element_type
    if is_integer(clamp):
        least = -(2 ** (element_type.bits - 1)) if element_type.kind == "signed" else 0
        greatest = least + 2**element_type.bits - 1
    else:
        least, greatest = -np.inf, np.inf
    return x if (low_value, high_value) == (least, greatest) else None
