"""Powers of complex numbers, in NumPy's steps, so that overflow, infinities and NaN give what they give there.

z**w = exp(w log z), the product by C99 Annex G. For integer w between -100 and 100 the power is a product, by repeated
squaring: exact where the products are.
"""

from __future__ import annotations

from llvmlite import ir

from .arithmetic import (
    absolute,
    add,
    any_lane,
    compare,
    constant,
    copysign,
    divide,
    multiply,
    narrow,
    negate,
    select,
    subtract,
    truncate,
    widen,
    with_element_type,
)
from .complex_algebra import INFINITY, branch_for_rare, in_double, is_infinite, sum_of_products
from .complex_exponential import apply_infinite_exponent, argument, log_modulus, times_exponential
from .complex_trigonometric import sine_and_cosine
from .loops import while_loop
from .types import I32, ComplexValue

# Integer exponents of a smaller magnitude are computed by multiplication.
INTEGER_LIMIT = 100.0
LARGEST = {True: 2.0**128 - 2.0**104, False: float.fromhex("0x1.fffffffffffffp1023")}


def _times(builder: ir.IRBuilder, x: ComplexValue, y: ComplexValue) -> ComplexValue:
    """The product by its formula alone."""
    real = subtract(builder, multiply(builder, x.real, y.real), multiply(builder, x.imag, y.imag))
    return ComplexValue(real, add(builder, multiply(builder, x.real, y.imag), multiply(builder, x.imag, y.real)))


def _recovered_product(builder: ir.IRBuilder, x: ComplexValue, y: ComplexValue) -> ComplexValue:
    """The product by C99 G.5.1: infinite where an operand is, unless the other is zero or NaN in both parts."""
    products = [multiply(builder, one, other) for one in x for other in y]
    result = _times(builder, x, y)
    lost = builder.and_(*(builder.fcmp_unordered("uno", part, part) for part in result))
    infinite = [builder.or_(*(is_infinite(builder, part) for part in z)) for z in (x, y)]
    boxed: list[ComplexValue] = []
    for z, own in zip((x, y), infinite):
        parts = []
        for part in z:
            zero = copysign(builder, constant(part.type, 0.0), part)
            unit = copysign(builder, constant(part.type, 1.0), part)
            as_infinite = builder.select(is_infinite(builder, part), unit, zero)
            part = builder.select(own, as_infinite, part)
            parts.append(builder.select(builder.fcmp_unordered("uno", part, part), zero, part))
        boxed.append(ComplexValue(*parts))
    overflow = builder.or_(*infinite)
    for product in products:
        overflow = builder.or_(overflow, is_infinite(builder, product))
    recovered = [multiply(builder, part, INFINITY) for part in _times(builder, *boxed)]
    wanted = builder.and_(lost, overflow)
    return ComplexValue(*(builder.select(wanted, new, old) for new, old in zip(recovered, result)))


def _inverse(builder: ir.IRBuilder, z: ComplexValue) -> ComplexValue:
    """1 / z by the method of R. L. Smith, "Algorithm 116: Complex division", 1962; infinite or NaN part by part of 0."""
    c, d = z
    wide = compare(builder, ">=", absolute(builder, c), absolute(builder, d))
    larger, smaller = builder.select(wide, c, d), builder.select(wide, d, c)
    ratio = divide(builder, smaller, larger)
    scale = divide(builder, 1.0, add(builder, larger, multiply(builder, smaller, ratio)))
    one, zero = constant(c.type, 1.0), constant(c.type, 0.0)
    # (1 + 0 ratio) scale, and (0 - 1 ratio) scale; (1 ratio + 0) scale, and (0 ratio - 1) scale
    of_zero = multiply(builder, ratio, 0.0)
    real = builder.select(wide, add(builder, one, of_zero), add(builder, ratio, zero))
    imag = builder.select(wide, subtract(builder, zero, ratio), subtract(builder, of_zero, one))
    at_zero = builder.and_(*(compare(builder, "==", part, 0.0) for part in z))
    real = select(builder, at_zero, INFINITY, multiply(builder, real, scale))
    return ComplexValue(real, select(builder, at_zero, float("nan"), multiply(builder, imag, scale)))


def _repeated_squaring(builder: ir.IRBuilder, base: ComplexValue, exponent: ir.Value, direct: ir.Value) -> ComplexValue:
    """Return base**exponent for integers of i32 from 0 to INTEGER_LIMIT; the builder ends in a new block.

    The first factor is multiplied by 1, but where ``direct``.
    """
    kind = exponent.type
    one, zero = constant(kind, 1), constant(kind, 0)
    unit = ComplexValue(constant(base.real.type, 1.0), constant(base.real.type, 0.0))
    with while_loop(builder, [base, unit, exponent, direct], "power", most=int(INTEGER_LIMIT).bit_length()) as loop:
        square, result, remaining, is_first = loop.values
        loop.leave_unless(any_lane(builder, builder.icmp_signed("!=", remaining, zero)))
        odd = builder.icmp_signed("!=", builder.and_(remaining, one), zero)
        factors = _times(builder, result, square)
        multiplied = [builder.select(is_first, first, product) for first, product in zip(square, factors)]
        following = ComplexValue(*(builder.select(odd, new, old) for new, old in zip(multiplied, result)))
        is_first = builder.and_(is_first, builder.not_(odd))
        loop.carry([_times(builder, square, square), following, builder.lshr(remaining, one), is_first])
    return result


def _by_multiplication(builder: ir.IRBuilder, z: ComplexValue, exponent: ir.Value) -> ComplexValue:
    """z**exponent for small integers; the builder ends in a new block."""
    count = builder.fptosi(absolute(builder, exponent), with_element_type(exponent.type, I32))
    positive = compare(builder, ">", exponent, 0.0)
    few = compare(builder, "<=", exponent, 3.0)
    product = _repeated_squaring(builder, z, count, builder.and_(positive, few))
    inverse = _inverse(builder, product)
    negative = compare(builder, "<", exponent, 0.0)
    return ComplexValue(*(builder.select(negative, new, old) for new, old in zip(inverse, product)))


@in_double
def power(builder, single, z, w):
    """Return z**w, the principal value; 1 for w = 0, and for z = 0: 0 where the real part of w is positive, else NaN.

    Other powers have a relative error of about |w log z| ULP. The builder ends in a new block.
    """

    def in_own_type(function, *operands):
        if not single:
            return function(builder, *operands)
        narrowed = [
            ComplexValue(*(narrow(builder, part) for part in one)) if isinstance(one, ComplexValue) else narrow(builder, one)
            for one in operands
        ]
        return ComplexValue(*(widen(builder, part) for part in function(builder, *narrowed)))

    # In f64 for f32 too: the error grows with the exponent.
    angle = argument(builder, False, z)
    logarithm = log_modulus(builder, False, z)
    x = sum_of_products(builder, w.real, logarithm, negate(builder, w.imag), angle)
    y = sum_of_products(builder, w.imag, logarithm, w.real, angle)
    # The sum of the corrections has lost the sign of a zero.
    plain = add(builder, multiply(builder, w.imag, logarithm), multiply(builder, w.real, angle))
    y = builder.select(compare(builder, "==", y, 0.0), plain, y)
    fits = builder.and_(*(compare(builder, "<=", absolute(builder, part), LARGEST[single]) for part in (x, y)))
    logarithms = ComplexValue(logarithm, angle)
    x, y = branch_for_rare(
        builder, builder.not_(fits), ComplexValue(x, y), lambda: in_own_type(_recovered_product, w, logarithms)
    )
    sine, cosine = sine_and_cosine(builder, False, y)
    result = ComplexValue(*times_exponential(builder, False, x, cosine, sine))
    general = apply_infinite_exponent(builder, x, y, result, 0.0)

    integer = builder.and_(compare(builder, "==", w.imag, 0.0), compare(builder, "==", truncate(builder, w.real), w.real))
    by_product = builder.and_(integer, compare(builder, "<", absolute(builder, w.real), INTEGER_LIMIT))
    exponent = select(builder, by_product, w.real, 1.0)
    product = in_own_type(_by_multiplication, z, exponent)
    real, imag = (builder.select(by_product, one, other) for one, other in zip(product, general))

    at_zero = builder.and_(*(compare(builder, "==", part, 0.0) for part in z))
    positive = compare(builder, ">", w.real, 0.0)
    of_zero = select(builder, positive, constant(x.type, 0.0), float("nan"))
    exponent_zero = builder.and_(*(compare(builder, "==", part, 0.0) for part in w))
    real = select(builder, exponent_zero, 1.0, builder.select(at_zero, of_zero, real))
    return ComplexValue(real, select(builder, exponent_zero, 0.0, builder.select(at_zero, of_zero, imag)))
