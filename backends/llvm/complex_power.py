"""Powers of complex numbers.

z**w = exp(w log z). For small integer w the power is a product, by repeated squaring: exact where the products are.
"""

from __future__ import annotations

from llvmlite import ir

from .complex_algebra import INFINITY, in_double, is_finite, is_infinite, quotient, sum_of_products
from .complex_exponential import argument, log_modulus, times_exponential
from .complex_trigonometric import sine_and_cosine
from .elementary.arithmetic import (
    absolute,
    any_lane,
    compare,
    constant,
    negate,
    select,
    truncate,
    with_element_type,
)
from .types import I32, ComplexValue

# Exponents below this, and results whose logarithm is below the other, are computed by multiplication.
INTEGER_LIMIT, LOGARITHM_LIMIT = 128.0, 690.0


def _times(builder: ir.IRBuilder, x: ComplexValue, y: ComplexValue) -> ComplexValue:
    real = sum_of_products(builder, x.real, y.real, negate(builder, x.imag), y.imag)
    return ComplexValue(real, sum_of_products(builder, x.real, y.imag, x.imag, y.real))


def _repeated_squaring(builder: ir.IRBuilder, base: ComplexValue, exponent: ir.Value) -> ComplexValue:
    """Return base**exponent for integers of i32 that are not negative; the builder ends in a new block."""
    kind = exponent.type
    one, zero = constant(kind, 1), constant(kind, 0)
    before = builder.block
    head, body, done = (builder.append_basic_block(name) for name in ("power", "power_step", "after_power"))
    builder.branch(head)
    builder.position_at_end(head)
    start = (*base, constant(base.real.type, 1.0), constant(base.real.type, 0.0), exponent)
    phis = [builder.phi(value.type) for value in start]
    for phi, value in zip(phis, start):
        phi.add_incoming(value, before)
    square, result, remaining = ComplexValue(*phis[:2]), ComplexValue(*phis[2:4]), phis[4]
    builder.cbranch(any_lane(builder, builder.icmp_signed("!=", remaining, zero)), body, done)
    builder.position_at_end(body)
    odd = builder.icmp_signed("!=", builder.and_(remaining, one), zero)
    multiplied = _times(builder, result, square)
    following = [builder.select(odd, new, old) for new, old in zip(multiplied, result)]
    for phi, value in zip(phis, (*_times(builder, square, square), *following, builder.lshr(remaining, one))):
        phi.add_incoming(value, builder.block)
    builder.branch(head)
    builder.position_at_end(done)
    return result


@in_double
def power(builder, single, z, w):
    """Return z**w, the principal value; 1 for w = 0, and for z = 0: 0 where the real part of w is positive, else NaN.

    Other powers have a relative error of about |w log z| ULP. The builder ends in a new block.
    """
    # In f64 for f32 too: the error grows with the exponent.
    angle = argument(builder, False, z)
    logarithm = log_modulus(builder, False, z)
    x = sum_of_products(builder, w.real, logarithm, negate(builder, w.imag), angle)
    y = sum_of_products(builder, w.imag, logarithm, w.real, angle)
    sine, cosine = sine_and_cosine(builder, False, y)
    real, imag = times_exponential(builder, False, x, cosine, sine)
    real = select(builder, builder.and_(is_infinite(builder, x), builder.not_(is_finite(builder, y))), INFINITY, real)

    integer = builder.and_(compare(builder, "==", w.imag, 0.0), compare(builder, "==", truncate(builder, w.real), w.real))
    small = compare(builder, "<", absolute(builder, w.real), INTEGER_LIMIT)
    small = builder.and_(small, compare(builder, "<", absolute(builder, x), LOGARITHM_LIMIT))
    by_product = builder.and_(integer, small)
    count = select(builder, by_product, absolute(builder, w.real), 0.0)
    count = builder.fptosi(count, with_element_type(count.type, I32))
    base = ComplexValue(*(select(builder, by_product, part, 1.0) for part in z))
    product = _repeated_squaring(builder, base, count)
    one = ComplexValue(constant(x.type, 1.0), constant(x.type, 0.0))
    inverse, _ = quotient(builder, False, one, product)
    inverted = compare(builder, "<", w.real, 0.0)
    real, imag = (
        builder.select(by_product, builder.select(inverted, reciprocal, direct), general)
        for reciprocal, direct, general in zip(inverse, product, (real, imag))
    )

    at_zero = builder.and_(*(compare(builder, "==", part, 0.0) for part in z))
    positive = compare(builder, ">", w.real, 0.0)
    of_zero = select(builder, positive, constant(x.type, 0.0), float("nan"))
    exponent_zero = builder.and_(*(compare(builder, "==", part, 0.0) for part in w))
    real = select(builder, exponent_zero, 1.0, builder.select(at_zero, of_zero, real))
    return ComplexValue(real, select(builder, exponent_zero, 0.0, builder.select(at_zero, of_zero, imag)))
