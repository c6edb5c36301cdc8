"""The logarithm of doubles by tables short enough for registers.

Method: x = 2**k m with m in [1, 2), c one of 16 reciprocals with m c near 1; log(x) = k ln 2 - log(c) + log1p(r), r = m c - 1.
About 1 the first two cancel, or are 0, and nothing is lost: the first reciprocal is 1, the last one 1/2. Source of the method:
P.-T. P. Tang, "Table-driven implementation of the logarithm function in IEEE floating-point arithmetic", 1990. The polynomial
was fitted with the Remez exchange algorithm for this module.
"""

from __future__ import annotations

import decimal
from functools import cache

from llvmlite import ir

from ..arithmetic import add, constant, fma, multiply, polynomial_chain, to_bits
from .wide_registers import TABLE_BITS, TABLE_SIZE, exponent_and_mantissa, table_entry

# Of a part of each logarithm in the table, and of that of 2, so that sums of multiples are exact.
UNIT = decimal.Decimal(2) ** -42
# (log1p(r) - r) / r**2 on -1/32 <= r <= 1/16; error relative to log1p(r) 2**-56.3.
_TAIL = (
    -0.5,
    0.3333333333334957,
    -0.25000000000126604,
    0.19999999923977854,
    -0.16666665527745259,
    0.14285813870691783,
    -0.12502242231689292,
    0.11080275387665126,
    -0.08800341707462757,
)
# The same; error 2**-28.4, for f32 evaluated in f64.
_WIDE_TAIL = (
    -0.5000000139044343,
    0.3333445281532421,
    -0.2500610421200063,
    0.18846035679529793,
)


def table_logarithm(builder: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """The natural logarithm of doubles, to 0.7 ULP; of subnormal numbers, zeros, numbers below it, infinities and NaN, too."""
    reciprocals, logarithms, rests = tables()
    k, m = exponent_and_mantissa(builder, x)
    bits = to_bits(builder, m)
    number = builder.lshr(bits, constant(bits.type, 52 - TABLE_BITS))
    r = fma(builder, m, table_entry(builder, "reciprocals", reciprocals, number), -1.0)
    two, two_rest = ln2_parts()
    base = fma(builder, k, two, table_entry(builder, "logarithms", logarithms, number))
    rest = fma(builder, k, two_rest, table_entry(builder, "rests", rests, number))
    square = multiply(builder, r, r)
    even = polynomial_chain(builder, square, _TAIL[0::2])
    tail = fma(builder, polynomial_chain(builder, square, _TAIL[1::2]), r, even)
    return add(builder, base, add(builder, r, fma(builder, square, tail, rest)))


def wide_table_logarithm(builder: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """The same to 2**-28, for f32."""
    reciprocals, logarithms, rests = tables()
    sums = tuple(map(sum, zip(logarithms, rests)))
    k, m = exponent_and_mantissa(builder, x)
    bits = to_bits(builder, m)
    number = builder.lshr(bits, constant(bits.type, 52 - TABLE_BITS))
    r = fma(builder, m, table_entry(builder, "reciprocals", reciprocals, number), -1.0)
    base = fma(builder, k, sum(ln2_parts()), table_entry(builder, "wide.logarithms", sums, number))
    tail = fma(builder, multiply(builder, r, r), polynomial_chain(builder, r, _WIDE_TAIL), r)
    return add(builder, base, tail)


@cache
def ln2_parts() -> tuple[float, float]:
    """Log(2) as the sum of a multiple of the unit and a rest above 0, so that both are infinite at once when multiplied."""
    return split(ln(2), decimal.ROUND_FLOOR)


@cache
def tables() -> tuple[tuple[float, ...], ...]:
    """For each 16th of [1, 2) a reciprocal c of its middle, and -log(c) in two parts."""
    rows = []
    for number in range(TABLE_SIZE):
        middle = 1 + (number + 0.5) / TABLE_SIZE
        reciprocal = {0: 1.0, TABLE_SIZE - 1: 0.5}.get(number, round(256 / middle) / 256)
        rows.append(
            (reciprocal, *((0.0, 0.0) if number == 0 else ln2_parts() if reciprocal == 0.5 else split(-ln(reciprocal))))
        )
    return tuple(zip(*rows))


def ln(value: float | decimal.Decimal) -> decimal.Decimal:
    """The logarithm to 50 digits."""
    with decimal.localcontext(prec=50):
        return decimal.Decimal(value).ln()


def split(value: decimal.Decimal, rounding: str = decimal.ROUND_HALF_EVEN) -> tuple[float, float]:
    """A multiple of the unit near a number, and the rest."""
    with decimal.localcontext(prec=50):
        near = (value / UNIT).to_integral_value(rounding) * UNIT
        return float(near), float(value - near)
