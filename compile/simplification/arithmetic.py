"""Rules of arithmetic. Each holds for all values: NaN, infinities, signed zeros, wrapping integers."""

from __future__ import annotations

import math

import ml_dtypes

from ... import hlo
from ...hlo import Instruction
from .rule import c64, f32, f64, is_integer, is_negative_zero, pred, real_value, rule, s8, s32, u32, uniform_literal


def _is_float(instruction: Instruction) -> bool:
    return instruction.shape.element_type.is_float


def _is_negated(instruction: Instruction) -> bool:
    """Whether it is a negate of a type with negative numbers; of f8e8m0fnu, which has none, every negate is NaN."""
    return instruction.opcode == "negate" and instruction.shape.element_type.name != "f8e8m0fnu"


def _sides(opcode, first, second):
    """A sample: the operation on a parameter and a constant array."""

    def build():
        operands = [None if value is not first and value is not second else value for value in (first, second)]
        parameter = next(value for value in operands if callable(value))(3)
        return hlo.emit(opcode, *(parameter if callable(value) else hlo.full_like(parameter, value) for value in operands))

    return build


@rule(
    "add", "multiply", "maximum", "minimum", "and", "or", "xor",
    fires=[_sides("add", 1.5, f32), _sides("multiply", 3, s32), _sides("and", True, pred)],
    unchanged=_sides("add", f32, 1.5),
)  # fmt: skip
def constant_on_the_right(operation: Instruction) -> Instruction | None:
    """add(c, x) -> add(x, c), and so for all commutative operations"""
    lhs, rhs = operation.operands
    if uniform_literal(lhs) is None or uniform_literal(rhs) is not None:
        return None
    return operation.with_operands((rhs, lhs))


@rule(
    "add",
    fires=[_sides("add", s32, 0), _sides("add", f32, -0.0)],
    unchanged=[_sides("add", f32, 0.0), lambda: hlo.add(c64(3), c64(3))],
)
def add_zero(add: Instruction) -> Instruction | None:
    """add(x, 0) -> x for integers, add(x, -0.0) -> x for floats (-0.0 + 0.0 is 0.0, not -0.0)"""
    x, addend = add.operands
    value = real_value(addend)
    if value == 0 and (is_integer(add) or (_is_float(add) and is_negative_zero(value))):
        return x
    return None


@rule("subtract", fires=[_sides("subtract", s32, 0), _sides("subtract", f32, 0.0)], unchanged=_sides("subtract", f32, -0.0))
def subtract_zero(subtract: Instruction) -> Instruction | None:
    """subtract(x, 0) -> x"""
    x, subtrahend = subtract.operands
    value = real_value(subtrahend)
    return x if value == 0 and (is_integer(subtract) or not is_negative_zero(value)) else None


@rule(
    "subtract",
    fires=[_sides("subtract", 0, s32), _sides("subtract", -0.0, f32)],
    unchanged=_sides("subtract", 0.0, f32),
)
def subtract_from_zero(subtract: Instruction) -> Instruction | None:
    """subtract(0, x) -> negate(x) for integers, subtract(-0.0, x) -> negate(x) for floats (0.0 - 0.0 is 0.0, not -0.0)"""
    minuend, x = subtract.operands
    value = real_value(minuend)
    return hlo.negate(x) if value == 0 and (is_integer(subtract) or is_negative_zero(value)) else None


def _twice(opcode, parameter):
    def build():
        x = parameter(3)
        return hlo.emit(opcode, x, x)

    return build


@rule(
    "subtract",
    "xor",
    fires=[_twice("subtract", s32), _twice("xor", u32), _twice("xor", pred)],
    unchanged=_twice("subtract", f32),
)
def difference_with_itself(operation: Instruction) -> Instruction | None:
    """subtract(x, x) -> 0 and xor(x, x) -> 0, for integers and pred (inf - inf is NaN)"""
    lhs, rhs = operation.operands
    return hlo.full_like(operation, 0) if lhs is rhs and not _is_number_with_nan(operation) else None


def _is_number_with_nan(instruction: Instruction) -> bool:
    return instruction.shape.element_type.kind in ("float", "complex")


@rule("maximum", "minimum", "and", "or", fires=[_twice("maximum", f32), _twice("and", pred), _twice("or", u32)])
def combination_with_itself(operation: Instruction) -> Instruction | None:
    """maximum(x, x) -> x, and so for minimum, and, or"""
    lhs, rhs = operation.operands
    return lhs if lhs is rhs else None


@rule("add", fires=lambda: hlo.add(f32(3), hlo.negate(f32(3))))
def add_of_negate(add: Instruction) -> Instruction | None:
    """add(x, negate(y)) -> subtract(x, y)"""
    x, other = add.operands
    if not _is_negated(other):
        x, other = other, x
    return hlo.subtract(x, other.operands[0]) if _is_negated(other) else None


@rule("subtract", fires=[lambda: hlo.subtract(f32(3), hlo.negate(f32(3))), lambda: hlo.subtract(s32(), hlo.negate(s32()))])
def subtract_of_negate(subtract: Instruction) -> Instruction | None:
    """subtract(x, negate(y)) -> add(x, y)"""
    x, other = subtract.operands
    return hlo.add(x, other.operands[0]) if _is_negated(other) else None


@rule(
    "multiply", "divide",
    fires=[
        lambda: hlo.multiply(hlo.negate(f32(3)), hlo.negate(f32(3))),
        lambda: hlo.divide(hlo.negate(f64(3)), hlo.negate(f64(3))),
    ],
    unchanged=lambda: hlo.divide(hlo.negate(s32(3)), hlo.negate(s32(3))),
)  # fmt: skip
def product_of_negates(operation: Instruction) -> Instruction | None:
    """multiply(negate(x), negate(y)) -> multiply(x, y), and so for divide, of floats (integers wrap)"""
    lhs, rhs = operation.operands
    if _is_float(operation) and _is_negated(lhs) and _is_negated(rhs):
        return operation.with_operands((lhs.operands[0], rhs.operands[0]))
    return None


@rule("multiply", "divide", fires=[_sides("multiply", f32, 1), _sides("divide", s32, 1)], unchanged=_sides("multiply", c64, 1))
def times_one(operation: Instruction) -> Instruction | None:
    """multiply(x, 1) -> x and divide(x, 1) -> x, not for complex numbers (inf * (1+0j) has a NaN part)"""
    x, factor = operation.operands
    return x if real_value(factor) == 1 and not x.shape.element_type.kind == "pred" else None


@rule("multiply", "divide", fires=[_sides("multiply", f32, -1), _sides("multiply", s32, -1), _sides("divide", f64, -1)])
def times_minus_one(operation: Instruction) -> Instruction | None:
    """multiply(x, -1) -> negate(x) and divide(x, -1) -> negate(x)"""
    x, factor = operation.operands
    return hlo.negate(x) if real_value(factor) == -1 else None


@rule("multiply", "and", fires=[_sides("multiply", s32, 0), _sides("and", u32, 0)], unchanged=_sides("multiply", f32, 0))
def times_zero(operation: Instruction) -> Instruction | None:
    """multiply(x, 0) -> 0 for integers (NaN * 0 is NaN), and(x, 0) -> 0"""
    return hlo.full_like(operation, 0) if real_value(operation.operands[1]) == 0 and is_integer(operation) else None


@rule("remainder", fires=_sides("remainder", s32, 1))
def remainder_by_one(remainder: Instruction) -> Instruction | None:
    """remainder(x, 1) -> 0 for integers (the remainder of infinity is NaN)"""
    return hlo.full_like(remainder, 0) if real_value(remainder.operands[1]) == 1 and is_integer(remainder) else None


@rule(
    "divide",
    fires=[_sides("divide", f32, 8.0), _sides("divide", f64, -0.25)],
    unchanged=[
        _sides("divide", f32, 3.0),
        _sides("divide", f32, 2.0**-140),
        _sides("divide", f32, 2.0**127),
        _sides("divide", s32, 8),
    ],
)
def divide_by_power_of_two(divide: Instruction) -> Instruction | None:
    """divide(x, 2**k) -> multiply(x, 2**-k) for floats, where both powers are normal numbers: the same real number, rounded
    once"""
    x, divisor = divide.operands
    value = real_value(divisor)
    if not _is_float(divide) or divide.shape.element_type.bits < 16 or value is None or not _is_power_of_two(abs(value)):
        return None
    format = ml_dtypes.finfo(divisor.shape.dtype)
    if not all(float(format.smallest_normal) <= abs(factor) <= float(format.max) for factor in (value, 1 / value)):
        return None
    return hlo.multiply(x, 1 / value)


def _is_power_of_two(value: float | int) -> bool:
    return value > 0 and math.isfinite(value) and math.frexp(value)[0] == 0.5


@rule(
    "multiply",
    fires=[_sides("multiply", s32, 8), _sides("multiply", u32, 2)],
    unchanged=[_sides("multiply", s32, 6), _sides("multiply", f32, 8)],
)
def multiply_by_power_of_two(multiply: Instruction) -> Instruction | None:
    """multiply(x, 2**k) -> shift-left(x, k) for integers"""
    x, factor = multiply.operands
    value = real_value(factor)
    if not is_integer(multiply) or multiply.shape.element_type.bits < 8 or value is None or value < 2 or value & (value - 1):
        return None
    return hlo.shift_left(x, value.bit_length() - 1)


@rule(
    "divide", "remainder",
    fires=[_sides("divide", u32, 16), _sides("remainder", u32, 16)],
    unchanged=[_sides("divide", s32, 16), _sides("divide", u32, 0), _sides("remainder", u32, 12)],
)  # fmt: skip
def unsigned_division_by_power_of_two(operation: Instruction) -> Instruction | None:
    """divide(x, 2**k) -> shift-right-logical(x, k) and remainder(x, 2**k) -> and(x, 2**k - 1), for unsigned integers"""
    x, divisor = operation.operands
    value = real_value(divisor)
    unsigned = operation.shape.element_type.kind == "unsigned" and operation.shape.element_type.bits >= 8
    if not unsigned or value is None or value < 2 or value & (value - 1):
        return None
    if operation.opcode == "divide":
        return hlo.shift_right_logical(x, value.bit_length() - 1)
    return hlo.and_(x, value - 1)


def _floored(remainder, parameter=s32, divisor=8):
    """A sample: the floored quotient, or remainder, as NumPy's are recorded."""

    def build():
        x = parameter(3)
        rest = hlo.remainder(x, divisor)
        if remainder:
            return hlo.select(hlo.lt(rest, 0), hlo.add(rest, divisor), rest)
        return hlo.subtract(hlo.divide(x, divisor), hlo.convert(hlo.lt(rest, 0), x.shape.element_type))

    return build


def _is_remainder_below_zero(compare: Instruction) -> bool:
    """Whether it asks this of the remainder of signed integers by a power of two."""
    if compare.opcode != "compare" or compare.attributes["direction"] != "LT" or real_value(compare.operands[1]) != 0:
        return False
    rest = compare.operands[0]
    is_signed = rest.opcode == "remainder" and rest.shape.element_type.kind == "signed"
    value = real_value(rest.operands[1]) if is_signed else None
    return value is not None and rest.shape.element_type.bits >= 8 and value >= 2 and not value & (value - 1)


@rule(
    "select",
    fires=[_floored(True), _floored(True, s8, 64), _floored(True, s32, 2)],
    unchanged=[_floored(True, divisor=12), _floored(True, divisor=1), _floored(True, f32)],
)
def floored_remainder_by_power_of_two(select: Instruction) -> Instruction | None:
    """select(r < 0, r + 2**k, r) -> and(x, 2**k - 1) for the remainder r of a signed integer x by 2**k"""
    is_below_zero, moved, rest = select.operands
    if not _is_remainder_below_zero(is_below_zero) or is_below_zero.operands[0] is not rest or moved.opcode != "add":
        return None
    x, divisor = rest.operands
    value = real_value(divisor)
    return hlo.and_(x, value - 1) if moved.operands[0] is rest and real_value(moved.operands[1]) == value else None


@rule(
    "subtract",
    fires=[_floored(False), _floored(False, s8, 64), _floored(False, s32, 2)],
    unchanged=[_floored(False, divisor=12), _floored(False, divisor=1)],
)
def floored_division_by_power_of_two(subtract: Instruction) -> Instruction | None:
    """subtract(divide(x, 2**k), remainder(x, 2**k) < 0) -> shift-right-arithmetic(x, k) for signed integers"""
    quotient, inexact = subtract.operands
    if quotient.opcode != "divide" or inexact.opcode != "convert" or not _is_remainder_below_zero(inexact.operands[0]):
        return None
    x, divisor = inexact.operands[0].operands[0].operands
    value = real_value(divisor)
    if quotient.operands[0] is not x or real_value(quotient.operands[1]) != value:
        return None
    return hlo.shift_right_arithmetic(x, value.bit_length() - 1)


@rule(
    "add", "multiply", "and", "or", "xor",
    fires=[lambda: hlo.add(hlo.add(s32(3), 5), 7), lambda: hlo.multiply(hlo.multiply(u32(), 5), 7)],
    unchanged=lambda: hlo.add(hlo.add(f32(3), 5), 7),
)  # fmt: skip
def constants_together(operation: Instruction) -> Instruction | None:
    """add(add(x, c), d) -> add(x, c + d) for integers, and so for the other associative operations"""
    inner, outer_constant = operation.operands
    if inner.operation is not operation.operation or _is_number_with_nan(operation) or uniform_literal(outer_constant) is None:
        return None
    x, inner_constant = inner.operands
    if uniform_literal(inner_constant) is None:
        return None
    return operation.with_operands((x, hlo.emit(operation.opcode, inner_constant, outer_constant)))


@rule(
    "negate",
    fires=[
        lambda: hlo.negate(hlo.negate(f32(3))),
        lambda: hlo.negate(hlo.negate(c64())),
        lambda: hlo.negate(hlo.negate(s32())),
    ],
)
def negate_of_negate(negate: Instruction) -> Instruction | None:
    """negate(negate(x)) -> x"""
    inner = negate.operands[0]
    return inner.operands[0] if _is_negated(inner) else None


@rule(
    "abs",
    fires=[lambda: hlo.abs(hlo.abs(f32(3))), lambda: hlo.abs(hlo.negate(s32(3))), lambda: hlo.abs(hlo.negate(c64(3)))],
    unchanged=lambda: hlo.abs(hlo.negate(u32(3))),
)
def abs_of_abs(absolute: Instruction) -> Instruction | None:
    """abs(abs(x)) -> abs(x), and abs(negate(x)) -> abs(x) but of unsigned integers (they wrap)"""
    inner = absolute.operands[0]
    if inner.opcode == "abs":
        return inner
    if _is_negated(inner) and inner.shape.element_type.kind != "unsigned":
        return hlo.abs(inner.operands[0])
    return None


@rule("abs", fires=lambda: hlo.abs(u32(3)), unchanged=lambda: hlo.abs(s32(3)))
def abs_of_unsigned(absolute: Instruction) -> Instruction | None:
    """abs(x) -> x, of unsigned integers"""
    x = absolute.operands[0]
    return x if x.shape.element_type.kind == "unsigned" else None


@rule("power", fires=[_sides("power", f32, 1), _sides("power", s32, 1)])
def power_of_one(power: Instruction) -> Instruction | None:
    """power(x, 1) -> x, not for complex numbers"""
    x, exponent = power.operands
    return x if real_value(exponent) == 1 else None


@rule("power", fires=[_sides("power", f32, 0), _sides("power", s32, 0)])
def power_of_zero(power: Instruction) -> Instruction | None:
    """power(x, 0) -> 1, of NaN too (IEEE 754, 9.2.1)"""
    return hlo.full_like(power, 1) if real_value(power.operands[1]) == 0 else None


@rule("power", fires=[_sides("power", f32, 2), _sides("power", s32, 2), _sides("power", f64, 2)], tolerance=1e-6)
def square(power: Instruction) -> Instruction | None:
    """power(x, 2) -> multiply(x, x)"""
    x, exponent = power.operands
    return hlo.multiply(x, x) if real_value(exponent) == 2 else None


@rule("power", fires=[_sides("power", f32, -1), _sides("power", f64, -1)], unchanged=_sides("power", s32, -1), tolerance=1e-6)
def reciprocal(power: Instruction) -> Instruction | None:
    """power(x, -1) -> divide(1, x) for floats"""
    x, exponent = power.operands
    return hlo.divide(1, x) if _is_float(power) and real_value(exponent) == -1 else None


@rule("real", "imag", fires=[lambda: hlo.real(hlo.complex(f32(3), f32(3))), lambda: hlo.imag(hlo.complex(f64(), f64()))])
def part_of_complex(part: Instruction) -> Instruction | None:
    """real(complex(a, b)) -> a and imag(complex(a, b)) -> b"""
    inner = part.operands[0]
    return inner.operands[0 if part.opcode == "real" else 1] if inner.opcode == "complex" else None


@rule("real", "imag", fires=[lambda: hlo.real(f32(3)), lambda: hlo.imag(f32(3))], unchanged=lambda: hlo.real(c64(3)))
def part_of_real(part: Instruction) -> Instruction | None:
    """real(x) -> x and imag(x) -> 0, of a real number"""
    x = part.operands[0]
    if x.shape.element_type.is_complex:
        return None
    return x if part.opcode == "real" else hlo.full_like(part, 0)


@rule("complex", fires=lambda: hlo.complex(hlo.real(z := c64(3)), hlo.imag(z)))
def complex_of_parts(whole: Instruction) -> Instruction | None:
    """complex(real(z), imag(z)) -> z"""
    real, imag = whole.operands
    if real.opcode == "real" and imag.opcode == "imag" and real.operands[0] is imag.operands[0]:
        z = real.operands[0]
        return z if z.shape.element_type.is_complex else None
    return None
