"""The power function of doubles: tables take the place of most of the polynomials, whose terms wait for each other.

Method: x = 2**k z with z near 1, c one of 256 numbers with z / c near 1, whose reciprocal is so short that r = z / c - 1 is
exact; log(x) = k ln 2 + log(c) + log1p(r), a sum of two numbers, good to about 66 bits. Then y log(x) = n ln 2 / 256 + s, and
x**y = 2**(n / 256) exp(s), to 0.51 ULP. Source of the method: P.-T. P. Tang, "Table-driven implementation of the logarithm
function in IEEE floating-point arithmetic", 1990. What is not usual, numbers below 0 and results near the ends of the range,
goes another way.
"""

from __future__ import annotations

import decimal
import struct
from collections.abc import Callable
from functools import cache

from llvmlite import ir

from ..arithmetic import (
    absolute,
    add,
    any_lane,
    compare,
    constant,
    fma,
    from_bits,
    integer_type,
    multiply,
    negate,
    subtract,
    to_bits,
)
from ..arrays import masked_gather
from ..branches import RARE, replaced_if
from ..memory import element_address
from ..module import SharedFunction, align_stack, declared, shared_functions_of
from ..types import DOUBLE, type_suffix
from .double_double import fast_two_sum

_ENTRIES = 256
# The bits of the least z: 2**-9 above 0.703, so that 1 is the beginning of an interval, and z < 1.41.
_LEAST = 0x3FE6800000000000
_SHIFT = 52 - 8
# log(2), a part of it, and logarithms in units of this, so that multiples and sums are exact.
_UNIT = decimal.Decimal(2) ** -42
_SHIFTER = 1.5 * 2.0**52  # a number to which others are added so that they become integers
_MOST = 700.0  # of |log(x**y)|, so that the result is a normal number


def table_power(builder: ir.IRBuilder, x: ir.Value, y: ir.Value, other: Callable[..., ir.Value]) -> ir.Value:
    """x**y by a call; ``other(builder, x, y)`` is what computes it where something is not usual."""

    def emit(function: ir.Function) -> None:
        shared = shared_functions_of(function.module)
        if shared is not None:
            align_stack(function, shared.vector_bytes)
        b = ir.IRBuilder(function.append_basic_block("entry"))
        x, y = function.args
        high, low = _logarithm(b, x)
        exponent = multiply(b, y, high)
        rest = fma(b, y, low, fma(b, y, high, negate(b, exponent)))
        is_normal = b.and_(compare(b, ">=", x, 2.0**-1022), compare(b, "<", x, float("inf")))
        is_usual = b.and_(is_normal, compare(b, "<", absolute(b, exponent), _MOST))
        found, is_other = _exponential(b, exponent, rest), any_lane(b, b.not_(is_usual))
        (result,) = replaced_if(b, is_other, [found], lambda: [b.select(is_usual, found, other(b, x, y))], RARE)
        b.ret(result)

    type_ = ir.FunctionType(x.type, [x.type, x.type])
    return builder.call(
        declared(builder.module, SharedFunction(f"phlox.power.table.{type_suffix(x.type)}", type_, emit)), [x, y]
    )


def _logarithm(b: ir.IRBuilder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Two numbers whose sum is log(x), of a positive normal number."""
    reciprocals, logarithms, rests = _logarithm_tables()
    bits, integer = to_bits(b, x), integer_type(x.type)
    difference = b.sub(bits, constant(integer, _LEAST - (1024 << 52)))
    number = b.and_(b.lshr(difference, constant(integer, _SHIFT)), constant(integer, _ENTRIES - 1))
    # A biased exponent is read off the low bits of a large number: below AVX-512 vectors of integers are not converted.
    biased = b.lshr(difference, constant(integer, 52))
    k = subtract(b, from_bits(b, b.or_(biased, constant(integer, 0x433 << 52)), x.type), 2.0**52 + 1024)
    z = from_bits(b, b.sub(bits, b.sub(b.shl(biased, constant(integer, 52)), constant(integer, 1024 << 52))), x.type)
    r = fma(b, z, _entry(b, "reciprocals", reciprocals, number), -1.0)
    two, two_rest = _split(_ln(2), _UNIT)
    base = fma(b, k, two, _entry(b, "logarithms", logarithms, number))
    base_rest = fma(b, k, two_rest, _entry(b, "rests", rests, number))
    first, first_error = fast_two_sum(b, base, r)
    square = multiply(b, r, r)
    half = multiply(b, square, -0.5)
    half_error = multiply(b, fma(b, r, r, negate(b, square)), -0.5)
    high, second_error = fast_two_sum(b, first, half)
    tail = fma(b, square, fma(b, r, -1 / 8, 1 / 7), fma(b, r, -1 / 6, 1 / 5))
    tail = fma(b, square, tail, fma(b, r, -1 / 4, 1 / 3))
    low = add(b, add(b, first_error, second_error), add(b, base_rest, half_error))
    low = fma(b, multiply(b, square, r), tail, low)
    return fast_two_sum(b, high, low)


def _exponential(b: ir.IRBuilder, exponent: ir.Value, rest: ir.Value) -> ir.Value:
    """exp(exponent + rest), a normal number."""
    powers, corrections = _power_tables()
    short, short_rest = _split(_ln(2) / _ENTRIES, _UNIT)
    shifted = fma(b, exponent, _ENTRIES / float(_ln(2)), _SHIFTER)
    n = subtract(b, shifted, _SHIFTER)
    s = fma(b, n, -short, exponent)
    s = add(b, fma(b, n, -short_rest, s), rest)
    bits, integer = to_bits(b, shifted), integer_type(exponent.type)
    number = b.and_(bits, constant(integer, _ENTRIES - 1))
    # What is above the number of the entry goes to the field of the exponent.
    scaling = b.shl(b.sub(bits, number), constant(integer, 52 - 8))
    scale = from_bits(b, b.add(to_bits(b, _entry(b, "powers", powers, number)), scaling), exponent.type)
    square = multiply(b, s, s)
    tail = fma(b, square, fma(b, s, 1 / 120, 1 / 24), fma(b, s, 1 / 6, 1 / 2))
    tail = fma(b, square, tail, add(b, s, _entry(b, "corrections", corrections, number)))
    return fma(b, scale, tail, scale)


# --- tables ---


def _entry(b: ir.IRBuilder, name: str, table: tuple[float, ...], number: ir.Value) -> ir.Value:
    name = f"phlox.power.{name}"
    found = b.module.globals.get(name)
    if found is None:
        kind = ir.ArrayType(DOUBLE, len(table))
        found = ir.GlobalVariable(b.module, kind, name)
        found.linkage, found.global_constant = "internal", True
        found.initializer = ir.Constant(kind, [DOUBLE(one) for one in table])
    address = element_address(b, found, number, DOUBLE)
    if isinstance(number.type, ir.VectorType):
        return masked_gather(b, address, ir.VectorType(DOUBLE, number.type.count), None, 8)
    return b.load(address, typ=DOUBLE)


def _ln(value: int | float | decimal.Decimal) -> decimal.Decimal:
    with decimal.localcontext(prec=50):
        return decimal.Decimal(value).ln()


def _split(value: decimal.Decimal, unit: decimal.Decimal) -> tuple[float, float]:
    """A multiple of the unit near a number, and the rest."""
    with decimal.localcontext(prec=50):
        near = (value / unit).to_integral_value() * unit
        return float(near), float(value - near)


@cache
def _logarithm_tables() -> tuple[tuple[float, ...], ...]:
    """For each interval of z the reciprocal of c, and log(c) in two parts. About 1 the logarithm is that of z / c alone."""
    rows = []
    for number in range(_ENTRIES):
        begin, end = (_double(_LEAST + ((number + place) << _SHIFT)) for place in (0, 1))
        steps = 256 if begin < 1 else 512
        is_about_one = 1 - 2.0**-8 <= begin and end <= 1 + 2.0**-8
        reciprocal = 1.0 if is_about_one else round(2 * steps / (begin + end)) / steps
        rows.append((reciprocal, *_split(-_ln(reciprocal), _UNIT)))
    return tuple(zip(*rows))


@cache
def _power_tables() -> tuple[tuple[float, ...], ...]:
    """2**(n / 256), and how much is missing there, as a part of it."""
    rows = []
    with decimal.localcontext(prec=50):
        for number in range(_ENTRIES):
            exact = (_ln(2) * number / _ENTRIES).exp()
            rows.append((float(exact), float(exact / decimal.Decimal(float(exact)) - 1)))
    return tuple(zip(*rows))


def _double(bits: int) -> float:
    return struct.unpack("<d", struct.pack("<q", bits))[0]
