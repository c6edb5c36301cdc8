"""The power function of doubles: tables take the place of most of the polynomials, whose terms wait for each other.

Method: x = 2**k z with z near 1, c one of 16 numbers with z / c near 1; log(x) = k ln 2 + log(c) + log1p(r + r_low) with
z / c = 1 + r + r_low, a sum of two numbers, good to about 64 bits. Then y log(x) = n ln 2 / 16 + s, and
x**y = 2**(n / 16) exp(s), to 0.6 ULP, and to 1.1 where x is near 1 and the result near the ends of the range. Source of the
method: P.-T. P. Tang, "Table-driven implementation of the logarithm function in IEEE floating-point arithmetic", 1990. The
polynomials were fitted with the Remez exchange algorithm for this module. What is not usual, numbers below 0 and results near
the ends of the range, goes another way.
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
    polynomial_chain,
    subtract,
    to_bits,
)
from ..branches import RARE, replaced_if
from ..builder import Builder
from ..module import SharedFunction, align_stack, declared, shared_functions_of
from ..types import type_suffix
from .double_double import fast_two_sum, two_product
from .logarithm_table import ln, ln2_parts, split
from .wide_registers import TABLE_BITS, TABLE_SIZE, table_entry

# The bits of the least z: seven intervals and a half, of 1/32 each, below 1, so that 1 is within one, and z < 1.54.
_LEAST = 0x3FF0000000000000 - (15 << 47)
_SHIFT = 52 - TABLE_BITS
# (log1p(r) - r + r**2 / 2) / r**3 on |r| <= 1/32; error relative to log1p(r) 2**-65.3.
_LOGARITHM = (
    0.3333333333333333,
    -0.2499999999999918,
    0.19999999999998216,
    -0.16666666673475403,
    0.14285714295362562,
    -0.12499981235648427,
    0.1111108954232484,
    -0.10021088384161347,
    0.09112203817189601,
)
# (exp(s) - 1 - s) / s**2 on |s| <= ln 2 / 32; error relative to exp(s) 2**-65.1.
_EXPONENTIAL = (
    0.5000000000000004,
    0.1666666666666668,
    0.04166666666056611,
    0.008333333332272245,
    0.0013889112817728768,
    0.00019841572029078493,
)
_SHIFTER = 1.5 * 2.0**52  # a number to which others are added so that they become integers
_MOST = 700.0  # of |log(x**y)|, so that the result is a normal number


def table_power(builder: ir.IRBuilder, x: ir.Value, y: ir.Value, other: Callable[..., ir.Value]) -> ir.Value:
    """x**y by a call; ``other(builder, x, y)`` is what computes it where something is not usual."""

    def emit(function: ir.Function) -> None:
        shared = shared_functions_of(function.module)
        if shared is not None:
            align_stack(function, shared.vector_bytes)
        b = Builder(function.append_basic_block("entry"))
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
    number = b.lshr(difference, constant(integer, _SHIFT))
    # A biased exponent is read off the low bits of a large number: below AVX-512 vectors of integers are not converted.
    biased = b.lshr(difference, constant(integer, 52))
    k = subtract(b, from_bits(b, b.or_(biased, constant(integer, 0x433 << 52)), x.type), 2.0**52 + 1024)
    z = from_bits(b, b.sub(bits, b.sub(b.shl(biased, constant(integer, 52)), constant(integer, 1024 << 52))), x.type)
    quotient, r_low = two_product(b, z, table_entry(b, "power.reciprocals", reciprocals, number))
    r = subtract(b, quotient, 1.0)  # exact
    two, two_rest = ln2_parts()
    base = fma(b, k, two, table_entry(b, "power.logarithms", logarithms, number))
    base_rest = fma(b, k, two_rest, table_entry(b, "power.rests", rests, number))
    first, first_error = fast_two_sum(b, base, r)
    square = multiply(b, r, r)
    half = multiply(b, square, -0.5)
    half_error = multiply(b, fma(b, r, r, negate(b, square)), -0.5)
    high, second_error = fast_two_sum(b, first, half)
    # log1p(r + r_low) is log1p(r) + r_low / (1 + r), nearly.
    base_rest = fma(b, r_low, add(b, square, subtract(b, 1.0, r)), base_rest)
    tail = fma(b, polynomial_chain(b, square, _LOGARITHM[1::2]), r, polynomial_chain(b, square, _LOGARITHM[0::2]))
    low = add(b, add(b, first_error, second_error), add(b, base_rest, half_error))
    low = fma(b, multiply(b, square, r), tail, low)
    return fast_two_sum(b, high, low)


def _exponential(b: ir.IRBuilder, exponent: ir.Value, rest: ir.Value) -> ir.Value:
    """exp(exponent + rest), a normal number."""
    powers, corrections = _power_tables()
    short, short_rest = split(ln(2) / TABLE_SIZE)
    shifted = fma(b, exponent, TABLE_SIZE / float(ln(2)), _SHIFTER)
    n = subtract(b, shifted, _SHIFTER)
    s = fma(b, n, -short, exponent)
    s = add(b, fma(b, n, -short_rest, s), rest)
    number, integer = to_bits(b, shifted), integer_type(exponent.type)
    # What is above the number of the entry goes to the field of the exponent.
    scaling = b.shl(b.lshr(number, constant(integer, TABLE_BITS)), constant(integer, 52))
    power = table_entry(b, "power.powers", powers, number)
    scale = from_bits(b, b.add(to_bits(b, power), scaling), exponent.type)
    square = multiply(b, s, s)
    tail = fma(b, polynomial_chain(b, square, _EXPONENTIAL[1::2]), s, polynomial_chain(b, square, _EXPONENTIAL[0::2]))
    tail = fma(b, square, tail, add(b, s, table_entry(b, "power.corrections", corrections, number)))
    return fma(b, scale, tail, scale)


# --- tables ---


@cache
def _logarithm_tables() -> tuple[tuple[float, ...], ...]:
    """For each interval of z the reciprocal of its middle c, and log(c) in two parts; about 1 they are 1 and 0."""
    rows = []
    for number in range(TABLE_SIZE):
        begin, end = (_double(_LEAST + ((number + place) << _SHIFT)) for place in (0, 1))
        reciprocal = 1.0 if begin < 1 < end else 2 / (begin + end)
        rows.append((reciprocal, *split(-ln(reciprocal))))
    return tuple(zip(*rows))


@cache
def _power_tables() -> tuple[tuple[float, ...], ...]:
    """2**(n / 16), and how much is missing there, as a part of it."""
    rows = []
    with decimal.localcontext(prec=50):
        for number in range(TABLE_SIZE):
            exact = (ln(2) * number / TABLE_SIZE).exp()
            rows.append((float(exact), float(exact / decimal.Decimal(float(exact)) - 1)))
    return tuple(zip(*rows))


def _double(bits: int) -> float:
    return struct.unpack("<d", struct.pack("<q", bits))[0]
