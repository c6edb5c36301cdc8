"""The inverse hyperbolic functions asinh, acosh and atanh.

Method: log(1 + z) with z formed without cancellation, and for f64 as a sum of two numbers. For f32 all of it runs in f64,
where nothing overflows.
"""

from ..arithmetic import (
    absolute,
    add,
    compare,
    constant,
    divide,
    fma,
    is_single,
    multiply,
    narrow,
    negate,
    select,
    set_sign_of,
    square_root,
    subtract,
    widen,
)
from .double_double import fast_two_sum
from .logarithm import log_of_normal, log_plus_one_of_sum, wide_log_plus_one
from .table import elementary

# Beyond this, asinh(x) and acosh(x) are log(2 x) in f64.
ASYMPTOTIC = 2.0**60
INFINITY = float("inf")


def _log_plus_one_of_sum(builder, z, z_low, x):
    """Return log(1 + z + z_low), or log(2 x) where x is in the asymptotic range."""
    asymptotic = compare(builder, ">", x, ASYMPTOTIC)
    z = builder.select(asymptotic, x, z)
    z_low = select(builder, asymptotic, 0.0, z_low)
    return log_plus_one_of_sum(builder, z, z_low, select(builder, asymptotic, constant(x.type, 1.0), 0.0))


@elementary
def asinh(builder, x):
    """Return the inverse hyperbolic sine of x."""
    single = is_single(x)
    argument = widen(builder, x) if single else x
    magnitude = absolute(builder, argument)
    if single:
        # In f64 the sum with 1 leaves enough of all but the smallest numbers, which are their own result.
        root = square_root(builder, fma(builder, magnitude, magnitude, 1.0))
        result = log_of_normal(builder, add(builder, magnitude, root), wide=True)
        result = select(builder, compare(builder, "<", magnitude, 2.0**-18), magnitude, result)
    else:
        square = multiply(builder, magnitude, magnitude)
        root = square_root(builder, add(builder, square, 1.0))
        # sqrt(1 + x**2) - 1
        excess = divide(builder, square, add(builder, root, 1.0))
        z, z_low = fast_two_sum(builder, magnitude, excess)
        result = _log_plus_one_of_sum(builder, z, z_low, magnitude)
    result = set_sign_of(builder, result, argument)
    result = select(builder, compare(builder, "<", magnitude, INFINITY), result, argument)
    return narrow(builder, result) if single else result


@elementary
def acosh(builder, x):
    """Return the inverse hyperbolic cosine of x, NaN for x < 1."""
    single = is_single(x)
    argument = widen(builder, x) if single else x
    t = subtract(builder, argument, 1.0)
    root = square_root(builder, fma(builder, t, t, add(builder, t, t)))
    z, z_low = fast_two_sum(builder, root, t)
    if single:
        result = wide_log_plus_one(builder, z)
    else:
        result = _log_plus_one_of_sum(builder, z, z_low, argument)
    result = select(builder, compare(builder, "<", argument, INFINITY), result, argument)
    result = select(builder, compare(builder, "<", argument, 1.0), float("nan"), result)
    return narrow(builder, result) if single else result


@elementary
def atanh(builder, x):
    """Return the inverse hyperbolic tangent of x, NaN for |x| > 1."""
    single = is_single(x)
    argument = widen(builder, x) if single else x
    magnitude = absolute(builder, argument)
    doubled = add(builder, magnitude, magnitude)
    if single:
        z = divide(builder, doubled, subtract(builder, 1.0, magnitude))
        logarithm = wide_log_plus_one(builder, z)
    else:
        denominator, denominator_low = fast_two_sum(builder, constant(x.type, 1.0), negate(builder, magnitude))
        reciprocal = divide(builder, 1.0, denominator)
        z = multiply(builder, doubled, reciprocal)
        remainder = fma(builder, negate(builder, z), denominator, doubled)
        z_low = multiply(builder, fma(builder, negate(builder, z), denominator_low, remainder), reciprocal)
        logarithm = log_plus_one_of_sum(builder, z, z_low, 0.0)
    result = set_sign_of(builder, multiply(builder, logarithm, 0.5), argument)
    at_pole = compare(builder, "==", magnitude, 1.0)
    result = builder.select(at_pole, multiply(builder, argument, INFINITY), result)
    result = select(builder, compare(builder, "<=", magnitude, 1.0), result, float("nan"))
    return narrow(builder, result) if single else result
