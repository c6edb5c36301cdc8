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
from .logarithm import log_of_normal, log_plus_one_of_sum
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


def _of_small(builder, x, result):
    """Return x where it is small, else the result: in f64 a sum with 1 leaves enough of all other numbers of f32."""
    return select(builder, compare(builder, "<", x, 2.0**-18), x, result)


@elementary
def asinh(builder, x):
    """Return the inverse hyperbolic sine of x."""
    single = is_single(x)
    argument = widen(builder, x) if single else x
    magnitude = absolute(builder, argument)
    if single:
        root = square_root(builder, fma(builder, magnitude, magnitude, 1.0))
        result = log_of_normal(builder, add(builder, magnitude, root), wide=True)
        result = _of_small(builder, magnitude, result)
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
    if single:
        root = square_root(builder, fma(builder, argument, argument, -1.0))
        result = log_of_normal(builder, add(builder, argument, root), wide=True)
    else:
        t = subtract(builder, argument, 1.0)
        root = square_root(builder, fma(builder, t, t, add(builder, t, t)))
        z, z_low = fast_two_sum(builder, root, t)
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
    if single:
        ratio = divide(builder, add(builder, magnitude, 1.0), subtract(builder, 1.0, magnitude))
        half = multiply(builder, log_of_normal(builder, ratio, wide=True), 0.5)
        result = _of_small(builder, magnitude, half)
    else:
        doubled = add(builder, magnitude, magnitude)
        denominator, denominator_low = fast_two_sum(builder, constant(x.type, 1.0), negate(builder, magnitude))
        reciprocal = divide(builder, 1.0, denominator)
        z = multiply(builder, doubled, reciprocal)
        remainder = fma(builder, negate(builder, z), denominator, doubled)
        z_low = multiply(builder, fma(builder, negate(builder, z), denominator_low, remainder), reciprocal)
        result = multiply(builder, log_plus_one_of_sum(builder, z, z_low, 0.0), 0.5)
    result = set_sign_of(builder, result, argument)
    at_pole = compare(builder, "==", magnitude, 1.0)
    result = builder.select(at_pole, multiply(builder, argument, INFINITY), result)
    result = select(builder, compare(builder, "<=", magnitude, 1.0), result, float("nan"))
    return narrow(builder, result) if single else result
