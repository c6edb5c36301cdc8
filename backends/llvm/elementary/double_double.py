"""Arithmetic on unevaluated sums high + low of two floating-point numbers.

Source of the methods: T. J. Dekker, "A floating-point technique for extending the available precision", 1971, with the
fused multiply-add in place of Dekker's splitting (J.-M. Muller et al., "Handbook of Floating-Point Arithmetic", 2018).
"""

from ..arithmetic import add, divide, fma, multiply, subtract


def fast_two_sum(builder, x, y):
    """Return (s, e) with s = fl(x + y) and s + e = x + y exactly, for |x| >= |y|."""
    total = add(builder, x, y)
    return total, subtract(builder, y, subtract(builder, total, x))


def two_sum(builder, x, y):
    """Return (s, e) with s = fl(x + y) and s + e = x + y exactly, for any x and y."""
    total = add(builder, x, y)
    x_part = subtract(builder, total, y)
    y_part = subtract(builder, total, x_part)
    return total, add(builder, subtract(builder, x, x_part), subtract(builder, y, y_part))


def two_product(builder, x, y):
    """Return (p, e) with p = fl(x * y) and p + e = x * y exactly."""
    product = multiply(builder, x, y)
    return product, fma(builder, x, y, builder.fneg(product))


def divide_sums(builder, numerator, numerator_low, denominator, denominator_low):
    """Return (numerator + numerator_low) / (denominator + denominator_low), within about 0.5 ULP.

    One division and one step of refinement; the denominator must lie well inside the normal range.
    """
    reciprocal = divide(builder, 1.0, denominator)
    quotient = multiply(builder, numerator, reciprocal)
    negative = builder.fneg(quotient)
    remainder = fma(builder, negative, denominator, numerator)
    low = fma(builder, negative, denominator_low, numerator_low)
    return fma(builder, add(builder, remainder, low), reciprocal, quotient)
