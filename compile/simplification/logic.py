"""Rules of logic: comparisons, boolean operations, select, clamp."""

from __future__ import annotations

import numpy as np

from ...hlo import Instruction, ShapeError
from .rule import (
    broadcast,
    f32,
    full,
    is_integer,
    is_pred,
    new,
    pred,
    real_value,
    rule,
    s8,
    s32,
    u8,
    uniform,
    uniform_literal,
)  # fmt: skip

_INVERSE = {"EQ": "NE", "NE": "EQ", "LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT"}
_SWAPPED = {"EQ": "EQ", "NE": "NE", "LT": "GT", "GT": "LT", "GE": "LE", "LE": "GE"}
_ON_PRED = {"add": "or", "multiply": "and", "maximum": "or", "minimum": "and"}


@rule(
    "add", "multiply", "maximum", "minimum",
    fires=[lambda b: b.Add(pred(b, 3), pred(b, 3)), lambda b: b.Min(pred(b), pred(b))],
    unchanged=lambda b: b.Add(s32(b, 3), s32(b, 3)),
)  # fmt: skip
def logic_of_pred(operation: Instruction) -> Instruction | None:
    """add(p, q) -> or(p, q), multiply -> and, maximum -> or, minimum -> and, for pred"""
    return new(_ON_PRED[operation.opcode], *operation.operands) if is_pred(operation) else None


def _ones(instruction: Instruction) -> int | None:
    """The value whose bits are all set, of a pred or integer type."""
    element_type = instruction.shape.element_type
    if element_type.kind == "pred":
        return 1
    return -1 if element_type.kind == "signed" else 2**element_type.bits - 1


@rule(
    "and", "or", "xor",
    fires=[
        lambda b: b.And(p := pred(b, 3), full(b, p, True)), lambda b: b.And(x := s32(b, 3), full(b, x, -1)),
        lambda b: b.Or(p := pred(b, 3), full(b, p, False)), lambda b: b.Xor(x := u8(b, 3), full(b, x, 0)),
    ],
    unchanged=lambda b: b.And(x := s32(b, 3), full(b, x, 1)),
)  # fmt: skip
def neutral_bits(operation: Instruction) -> Instruction | None:
    """and(x, all ones) -> x, or(x, 0) -> x, xor(x, 0) -> x"""
    x, constant = operation.operands
    return x if real_value(constant) == (_ones(operation) if operation.opcode == "and" else 0) else None


@rule(
    "and", "or", "xor",
    fires=[
        lambda b: b.And(p := pred(b, 3), full(b, p, False)), lambda b: b.Or(p := pred(b, 3), full(b, p, True)),
        lambda b: b.Or(x := u8(b, 3), full(b, x, 255)), lambda b: b.Xor(p := pred(b, 3), full(b, p, True)),
    ],
    unchanged=lambda b: b.Or(x := s32(b, 3), full(b, x, 1)),
)  # fmt: skip
def absorbing_bits(operation: Instruction) -> Instruction | None:
    """and(x, 0) -> 0, or(x, all ones) -> all ones, xor(x, all ones) -> not(x)"""
    x, constant = operation.operands
    value = real_value(constant)
    if operation.opcode == "and":
        return uniform(operation, 0) if value == 0 else None
    if value is None or value != _ones(operation):
        return None
    return new("not", x) if operation.opcode == "xor" else uniform(operation, value)


@rule("not", fires=[lambda b: b.Not(b.Not(pred(b, 3))), lambda b: b.Not(b.Not(s32(b)))])
def not_of_not(inversion: Instruction) -> Instruction | None:
    """not(not(x)) -> x"""
    inner = inversion.operands[0]
    return inner.operands[0] if inner.opcode == "not" else None


@rule(
    "not",
    fires=[
        lambda b: b.Not(b.Lt(s32(b, 3), s32(b, 3))), lambda b: b.Not(b.Eq(f32(b, 3), f32(b, 3))),
        lambda b: b.Not(b.GtTotalOrder(f32(b, 3), f32(b, 3))),
    ],
    unchanged=lambda b: b.Not(b.Lt(f32(b, 3), f32(b, 3))),
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
    def build(b):
        x = parameter(b, 3)
        return b.Compare(x, x, direction, type)

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
    return uniform(compare, compare.attributes["direction"] in ("EQ", "LE", "GE"))


@rule(
    "compare",
    fires=[lambda b: b.Lt(full(b, x := f32(b, 3), 1), x), lambda b: b.Eq(full(b, x := s32(b, 3), 1), x)],
    unchanged=lambda b: b.Lt(x := f32(b, 3), full(b, x, 1)),
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
        lambda b: b.Eq(p := pred(b, 3), full(b, p, True)), lambda b: b.Ne(p := pred(b, 3), full(b, p, True)),
        lambda b: b.Eq(p := pred(b, 3), full(b, p, False)), lambda b: b.Ne(p := pred(b, 3), full(b, p, False)),
    ],
    unchanged=lambda b: b.Lt(p := pred(b, 3), full(b, p, True)),
)  # fmt: skip
def compare_pred(compare: Instruction) -> Instruction | None:
    """compare(p, true, EQ) -> p, compare(p, false, EQ) -> not(p), and so for NE"""
    p, constant = compare.operands
    direction, value = compare.attributes["direction"], real_value(constant)
    if not is_pred(p) or value is None or direction not in ("EQ", "NE"):
        return None
    return p if (direction == "EQ") == bool(value) else new("not", p)


@rule(
    "compare",
    fires=[lambda b: b.Ne(x := b.emit("convert", pred(b, 3), shape=s32(b, 3).shape), full(b, x, 0))],
    unchanged=lambda b: b.Ne(x := b.emit("convert", s8(b, 3), shape=s32(b, 3).shape), full(b, x, 0)),
)
def compare_converted_pred(compare: Instruction) -> Instruction | None:
    """compare(convert(p), 0, NE) -> p and compare(convert(p), 0, EQ) -> not(p), for a pred p"""
    x, constant = compare.operands
    direction = compare.attributes["direction"]
    if x.opcode != "convert" or not is_pred(x.operands[0]) or direction not in ("EQ", "NE") or real_value(constant) != 0:
        return None
    if compare.attributes["type"] == "TOTALORDER":
        return None
    return x.operands[0] if direction == "NE" else new("not", x.operands[0])


@rule(
    "select",
    fires=[
        lambda b: b.Select(b.constant(True), f32(b, 3), f32(b, 3)), lambda b: b.Select(pred(b, 3), x := f32(b, 3), x),
        lambda b: b.Select(full(b, pred(b, 3), False), s32(b, 3), s32(b, 3)),
    ],
    unchanged=lambda b: b.Select(pred(b, 3), f32(b, 3), f32(b, 3)),
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


@rule("select", fires=lambda b: b.Select(pred(b), b.Tuple([f32(b, 3), s32(b)]), b.Tuple([f32(b, 3), s32(b)])))
def select_of_tuples(select: Instruction) -> Instruction | None:
    """select(p, s, t) -> tuple(select(p, s.0, t.0), ...), for tuples s and t"""
    if not select.shape.is_tuple:
        return None
    condition, on_true, on_false = select.operands
    parts = [
        [new("get-tuple-element", side, index=i) for side in (on_true, on_false)] for i in range(len(select.shape.elements))
    ]
    try:
        return new("tuple", *(new("select", condition, *pair) for pair in parts))
    except ShapeError:  # an element is a token, which has no values to select from
        return None


@rule("select", fires=lambda b: b.Select(pred(b), f32(b, 3), f32(b, 3)), unchanged=lambda b: b.Select(pred(b), f32(b), f32(b)))
def select_by_scalar(select: Instruction) -> Instruction | None:
    """select(p, x, y) -> select(broadcast(p), x, y), for a scalar p and arrays x and y"""
    condition, on_true, on_false = select.operands
    if select.shape.is_tuple or condition.shape.dimensions or not select.shape.dimensions:
        return None
    return new("select", broadcast(condition, select.shape.dimensions, ()), on_true, on_false)


@rule(
    "select",
    fires=[lambda b: b.Select(b.Not(pred(b, 3)), f32(b, 3), f32(b, 3)), lambda b: b.Select(b.Not(pred(b)), f32(b), f32(b))],
)
def select_by_not(select: Instruction) -> Instruction | None:
    """select(not(p), x, y) -> select(p, y, x)"""
    condition, on_true, on_false = select.operands
    return new("select", condition.operands[0], on_false, on_true) if condition.opcode == "not" else None


@rule(
    "select",
    fires=[
        lambda b: b.Select(p := pred(b, 3), full(b, p, True), full(b, p, False)),
        lambda b: b.Select(p := pred(b, 3), full(b, p, False), full(b, p, True)),
    ],
    unchanged=lambda b: b.Select(p := pred(b, 3), full(b, p, True), pred(b, 3)),
)
def select_of_constants(select: Instruction) -> Instruction | None:
    """select(p, true, false) -> p and select(p, false, true) -> not(p)"""
    condition, on_true, on_false = select.operands
    if select.shape.is_tuple or not is_pred(select) or condition.shape.dimensions != select.shape.dimensions:
        return None
    values = real_value(on_true), real_value(on_false)
    if values == (1, 0):
        return condition
    return new("not", condition) if values == (0, 1) else None


@rule("clamp", fires=lambda b: b.Clamp(f32(b), f32(b, 3), f32(b)), unchanged=lambda b: b.Clamp(f32(b), f32(b), f32(b)))
def clamp_between_scalars(clamp: Instruction) -> Instruction | None:
    """clamp(a, x, b) -> clamp(broadcast(a), x, broadcast(b)), for scalar bounds of an array x"""
    low, x, high = clamp.operands
    dimensions = clamp.shape.dimensions
    if not dimensions or (low.shape.dimensions and high.shape.dimensions):
        return None
    bounds = [bound if bound.shape.dimensions else broadcast(bound, dimensions, ()) for bound in (low, high)]
    return new("clamp", bounds[0], x, bounds[1])


@rule(
    "clamp",
    fires=[
        lambda b: b.Clamp(b.constant(np.float32(-np.inf)), f32(b), b.constant(np.float32(np.inf))),
        lambda b: b.Clamp(b.constant(np.uint8(0)), u8(b), b.constant(np.uint8(255))),
    ],
    unchanged=lambda b: b.Clamp(b.constant(np.uint8(1)), u8(b), b.constant(np.uint8(255))),
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
