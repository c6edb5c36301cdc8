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


def _wide_log(builder, argument):
    """Return the logarithm of f64 lanes as f32."""
    return narrow(builder, log_of_normal(builder, argument, wide=True))


def _of_small(builder, x, result):
    """Return x where it is small, else the result: in f64 a sum with 1 leaves enough of all other numbers of f32."""
    return select(builder, compare(builder, "<", x, 2.0**-18), x, result)


@elementary
def asinh(builder, x):
    """Return the inverse hyperbolic sine of x."""
    magnitude = absolute(builder, x)
    if is_single(x):
        argument = widen(builder, magnitude)
        root = square_root(builder, fma(builder, argument, argument, 1.0))
        result = _of_small(builder, magnitude, _wide_log(builder, add(builder, argument, root)))
    else:
        square = multiply(builder, magnitude, magnitude)
        root = square_root(builder, add(builder, square, 1.0))
        # sqrt(1 + x**2) - 1
        excess = divide(builder, square, add(builder, root, 1.0))
        z, z_low = fast_two_sum(builder, magnitude, excess)
        result = _log_plus_one_of_sum(builder, z, z_low, magnitude)
    result = set_sign_of(builder, result, x)
    return select(builder, compare(builder, "<", magnitude, INFINITY), result, x)


@elementary
def acosh(builder, x):
    """Return the inverse hyperbolic cosine of x, NaN for x < 1."""
    if is_single(x):
        argument = widen(builder, x)
        root = square_root(builder, fma(builder, argument, argument, -1.0))
        result = _wide_log(builder, add(builder, argument, root))
    else:
        t = subtract(builder, x, 1.0)
        root = square_root(builder, fma(builder, t, t, add(builder, t, t)))
        z, z_low = fast_two_sum(builder, root, t)
        result = _log_plus_one_of_sum(builder, z, z_low, x)
    result = select(builder, compare(builder, "<", x, INFINITY), result, x)
    return select(builder, compare(builder, "<", x, 1.0), float("nan"), result)


@elementary
def atanh(builder, x):
    """Return the inverse hyperbolic tangent of x, NaN for |x| > 1."""
    magnitude = absolute(builder, x)
    if is_single(x):
        argument = widen(builder, magnitude)
        ratio = divide(builder, add(builder, argument, 1.0), subtract(builder, 1.0, argument))
        half = multiply(builder, _wide_log(builder, ratio), 0.5)
        result = _of_small(builder, magnitude, half)
    else:
        doubled = add(builder, magnitude, magnitude)
        denominator, denominator_low = fast_two_sum(builder, constant(x.type, 1.0), negate(builder, magnitude))
        reciprocal = divide(builder, 1.0, denominator)
        z = multiply(builder, doubled, reciprocal)
        remainder = fma(builder, negate(builder, z), denominator, doubled)
        z_low = multiply(builder, fma(builder, negate(builder, z), denominator_low, remainder), reciprocal)
        result = multiply(builder, log_plus_one_of_sum(builder, z, z_low, 0.0), 0.5)
    result = set_sign_of(builder, result, x)
    at_pole = compare(builder, "==", magnitude, 1.0)
    result = builder.select(at_pole, multiply(builder, x, INFINITY), result)
    return select(builder, compare(builder, "<=", magnitude, 1.0), result, float("nan"))
