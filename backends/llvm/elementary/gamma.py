"""The logarithm of the gamma function and its derivative: lgamma and digamma.

Method, for x > 0: from 3 on Stirling's series, as a polynomial in 1 / x**2; below, one step of the recurrence into [1, 2],
where lgamma is a polynomial at the nearer of its zeros 1 and 2, and digamma one at its root, so that nothing is lost beside
them. The terms are added as sums of two numbers. For x < 0 the reflection formulas: in the distance r to the next integer,
which is exact, sin(pi r) and pi cot(pi r) are polynomials. For f32 all of it runs in f64. The coefficients are derived by
`tests/bench/special_coefficients.py`.
"""

from ..arithmetic import (
    absolute,
    add,
    any_lane,
    clamp_above,
    compare,
    constant,
    divide,
    fma,
    intrinsic,
    is_single,
    multiply,
    narrow,
    negate,
    polynomial,
    polynomial_of_choice,
    select,
    subtract,
    truncate,
    widen,
)
from ..branches import replaced_if
from .double_double import fast_two_sum, two_product, two_sum
from .logarithm import log_of_normal
from .power import logarithm_sum
from .table import elementary

INFINITY, NAN = float("inf"), float("nan")
# Sums of two numbers: the slopes of lgamma at 1 (the negative of Euler's constant) and 2, (log(2 pi) - 1) / 2, and the root of
# digamma less 1.
SLOPE_AT_ONE = (-0.5772156649015329, 4.942915152430645e-18)
SLOPE_AT_TWO = (0.42278433509846713, 4.942915152430645e-18)
STIRLING_CONSTANT = (0.4189385332046727, 1.6728209650585413e-17)
ROOT_LESS_ONE = (0.46163214496836236, -1.5522348162858677e-17)
# From here on Stirling's series is used.
LARGE = 3.0
# A negative number so small has the result of its magnitude, for digamma the negative of that.
TINY = 2.0**-60

# (lgamma(1 + d) / d + gamma) / d, 0 to 0.5; relative error 2**-55.5.
FROM_ONE = (
    0.8224670334241132,
    -0.40068563438651555,
    0.27058080842507526,
    -0.2073855508450687,
    0.16955717043614324,
    -0.14404975431243078,
    0.12550762762270617,
    -0.11131389612858952,
    0.0999530067174804,
    -0.09017735989835049,
    0.08026962280803188,
    -0.06767376992002837,
    0.0502843701522226,
    -0.029620586319195865,
    0.011825734451660998,
    -0.0023302430130286377,
)
# (lgamma(2 + d) / d - (1 - gamma)) / d, -0.5 to 0; relative error 2**-54.2.
FROM_TWO = (
    0.3224670334241132,
    -0.0673523010531981,
    0.02058080842778242,
    -0.007385551028816421,
    0.002890510325747633,
    -0.0011927540173082164,
    0.0005096680632739939,
    -0.00022316868165587678,
    9.936327113457359e-05,
    -4.538769522002345e-05,
    1.8861508450319206e-05,
    -1.3694971849952738e-05,
    -3.4580677107140292e-06,
    -1.1900471080417845e-05,
    -6.8626255909132015e-06,
    -3.6320495669697716e-06,
)
# x (lgamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2)), where v = 1 / x**2, 0 to 0.11111; relative error 2**-54.0.
STIRLING = (
    0.08333333333333333,
    -0.0027777777777757695,
    0.000793650792622404,
    -0.0005952378854503139,
    0.0008417282394032359,
    -0.0019160464198791072,
    0.006346110578292672,
    -0.027601910018978465,
    0.13605466944124706,
    -0.6346190865706116,
    2.3482971113720583,
    -5.724231505133729,
    6.653396422514749,
)
# sin(pi r) / (pi r), where v = r**2, 0 to 0.25; relative error 2**-56.2.
SINE = (
    1.0,
    -1.6449340668482264,
    0.8117424252833536,
    -0.19075182412208255,
    0.026147847817611935,
    -0.002346081034815316,
    0.0001484287872033628,
    -6.975840829271595e-06,
    2.5300985563134005e-07,
    -7.0931258816238045e-09,
)
# digamma(root + e) / e, -0.4617 to 0.5384; relative error 2**-54.1.
FROM_ROOT = (
    0.9676722454476212,
    -0.4427631689835915,
    0.2584997609556521,
    -0.1639427054425991,
    0.10782405069118926,
    -0.07219956123803441,
    0.04880428816014516,
    -0.033161127281831966,
    0.022597648710404938,
    -0.015424746533030661,
    0.01053877458433183,
    -0.007204812057457886,
    0.004927093703091932,
    -0.003367340386837913,
    0.002301786109936887,
    -0.0015903329185722153,
    0.0011003710095071775,
    -0.0006962257764995995,
    0.0004232093971469311,
    -0.0004042402883266559,
    0.00039927018599451104,
    -0.00017319382478512738,
)
# x**2 (digamma(x) - log x + 1 / (2 x)), where v = 1 / x**2, 0 to 0.11111; relative error 2**-54.0.
ASYMPTOTIC = (
    -0.08333333333333333,
    0.008333333333325033,
    -0.003968253963318731,
    0.004166665495022904,
    -0.0075756100694986265,
    0.021081441106059102,
    -0.08275092617561204,
    0.42213739276734025,
    -2.4853225179572207,
    14.509465068315619,
    -72.40846099395732,
    269.9594777475153,
    -643.1483984648314,
    720.4954060785404,
)
# (1 - pi r cot(pi r)) / r**2, where v = r**2, 0 to 0.25; relative error 2**-54.7.
COTANGENT = (
    3.289868133696453,
    2.1646464674222266,
    2.0346861239837795,
    2.008154710650887,
    2.0019892571205644,
    2.0004882445092558,
    2.000216397061563,
    1.9984989923885619,
    2.0175482780709193,
    1.8569869062340112,
    2.8304597027964618,
    -1.3837148002891513,
    11.319882534156065,
    -14.00913635189951,
    16.010441555350102,
)


def _choose(builder, condition, on_true, on_false, like):
    """Return one of two numbers in each lane."""
    return builder.select(condition, constant(like.type, on_true), constant(like.type, on_false))


def _nearest_integer_distance(builder, x):
    """Return x less the nearest integer, exactly."""
    return subtract(builder, x, intrinsic(builder, "rint", x))


def _add_product(builder, x, y, z):
    """Return (high, low) with high + low = x + y z but for the rounding of y z, for |x| >= |y z|."""
    return fast_two_sum(builder, x, multiply(builder, y, z))


def _lgamma_of_positive(builder, x, accurate):
    """Return (high, low) with lgamma(x) = high + low for f64 lanes x > 0; without `accurate`, low is 0."""
    large = compare(builder, ">=", x, LARGE)
    whole = truncate(builder, x)
    d = _nearest_integer_distance(builder, x)
    from_one = compare(builder, ">=", d, 0.0)

    # log(x - 1) is added in [2, 3), log(x) subtracted below 1; Stirling's main term is (x - 1/2) (log(x) - 1).
    argument = builder.select(compare(builder, "==", whole, 2.0), subtract(builder, x, 1.0), x)
    argument = select(builder, compare(builder, "==", whole, 1.0), 1.0, argument)
    factor = _choose(builder, compare(builder, "<", x, 1.0), -1.0, 1.0, x)
    factor = builder.select(large, subtract(builder, x, 0.5), factor)
    offset = _choose(builder, large, -1.0, 0.0, x)

    inverse = divide(builder, 1.0, select(builder, large, x, LARGE))
    series = multiply(builder, inverse, polynomial(builder, multiply(builder, inverse, inverse), STIRLING))
    curve = polynomial_of_choice(builder, d, from_one, FROM_ONE[1:], FROM_TWO[1:])
    curve, curve_low = _add_product(builder, _choose(builder, from_one, FROM_ONE[0], FROM_TWO[0], x), d, curve)
    square, square_low = two_product(builder, d, d)
    near, near_low = two_product(builder, square, curve)
    near_low = fma(builder, square, curve_low, fma(builder, square_low, curve, near_low))
    rest = builder.select(large, series, near)
    # The constant of Stirling's series, or the slope times the distance.
    slope = _choose(builder, from_one, SLOPE_AT_ONE[0], SLOPE_AT_TWO[0], x)
    slope = select(builder, large, STIRLING_CONSTANT[0], slope)
    distance = select(builder, large, 1.0, d)
    if not accurate:
        logarithm = add(builder, log_of_normal(builder, argument), offset)
        return fma(builder, factor, logarithm, fma(builder, distance, slope, rest)), constant(x.type, 0.0)

    logarithm, logarithm_low = logarithm_sum(builder, argument)
    logarithm, error = two_sum(builder, logarithm, offset)
    logarithm_low = add(builder, logarithm_low, error)
    first, first_low = two_product(builder, factor, logarithm)
    first_low = fma(builder, factor, logarithm_low, first_low)
    linear, linear_low = two_product(builder, distance, slope)
    # Both slopes have the same low part.
    slope_low = _choose(builder, large, STIRLING_CONSTANT[1], SLOPE_AT_ONE[1], x)
    linear_low = fma(builder, distance, slope_low, linear_low)
    high, error = two_sum(builder, first, linear)
    high, second_error = two_sum(builder, high, rest)
    low = add(builder, add(builder, first_low, linear_low), add(builder, error, second_error))
    low = add(builder, low, select(builder, large, 0.0, near_low))
    return high, select(builder, compare(builder, "<", high, INFINITY), low, 0.0)


def _reflected_lgamma(builder, magnitude, high, low, accurate):
    """Return lgamma(-magnitude) = -log(magnitude |sin(pi r)| / pi) - lgamma(magnitude), the last being high + low."""
    r = absolute(builder, _nearest_integer_distance(builder, magnitude))
    sine = polynomial(builder, multiply(builder, r, r), SINE)
    product, product_low = two_product(builder, magnitude, r)
    argument, argument_low = two_product(builder, product, sine)
    if accurate:
        logarithm, logarithm_low = logarithm_sum(builder, argument)
        argument_low = fma(builder, product_low, sine, argument_low)
        low = add(builder, add(builder, divide(builder, argument_low, argument), logarithm_low), low)
        total, error = two_sum(builder, logarithm, high)
        result = add(builder, total, add(builder, error, low))
    else:
        result = add(builder, log_of_normal(builder, argument), high)
    # Infinite magnitudes have no distance.
    return select(builder, compare(builder, ">", r, 0.0), negate(builder, result), INFINITY)


@elementary
def lgamma(builder, x):
    """Return log|gamma(x)|; the builder ends in a new block.

    Below 0, where the function has zeros, the error of f64 is at most 2 ULP of the larger of |lgamma(x)| and 1.
    """
    single = is_single(x)
    argument = widen(builder, x) if single else x
    magnitude = absolute(builder, argument)
    high, low = _lgamma_of_positive(builder, magnitude, accurate=not single)
    usual = add(builder, high, low)
    reflects = compare(builder, "<", argument, -TINY)

    def reflected():
        value = _reflected_lgamma(builder, magnitude, high, low, accurate=not single)
        return [builder.select(reflects, value, usual)]

    (result,) = replaced_if(builder, any_lane(builder, reflects), [usual], reflected)
    result = select(builder, compare(builder, "==", argument, 0.0), INFINITY, result)
    result = builder.select(builder.fcmp_unordered("uno", argument, argument), argument, result)
    return narrow(builder, result) if single else result


def _digamma_of_positive(builder, x, accurate):
    """Return (high, low) with digamma(x) = high + low for f64 lanes x > -TINY; without `accurate`, low is 0."""
    large = compare(builder, ">=", x, LARGE)
    whole = truncate(builder, x)
    # 1 / (x - 1) is added in [2, 3), 1 / x subtracted below 1, and from LARGE on half of it.
    divisor = builder.select(compare(builder, "==", whole, 2.0), subtract(builder, x, 1.0), x)
    factor = _choose(builder, large, -0.5, 1.0, x)
    factor = select(builder, compare(builder, "==", whole, 1.0), 0.0, factor)
    factor = select(builder, compare(builder, "<", x, 1.0), -1.0, factor)
    inverse = divide(builder, 1.0, divisor)
    term = multiply(builder, factor, inverse)

    square = multiply(builder, inverse, inverse)
    square = clamp_above(builder, square, 1.0 / (LARGE * LARGE))
    series = multiply(builder, square, polynomial(builder, square, ASYMPTOTIC))
    t = builder.select(large, constant(x.type, 0.5), subtract(builder, x, whole))
    e = subtract(builder, t, ROOT_LESS_ONE[0])
    slope, slope_low = _add_product(builder, constant(x.type, FROM_ROOT[0]), e, polynomial(builder, e, FROM_ROOT[1:]))
    logarithm_argument = select(builder, large, x, LARGE)
    if not accurate:
        e = subtract(builder, e, ROOT_LESS_ONE[1])
        near = multiply(builder, e, slope)
        far = add(builder, log_of_normal(builder, logarithm_argument), series)
        return add(builder, term, builder.select(large, far, near)), constant(x.type, 0.0)

    e, e_low = two_sum(builder, t, constant(x.type, -ROOT_LESS_ONE[0]))
    e_low = subtract(builder, e_low, ROOT_LESS_ONE[1])
    near, near_low = two_product(builder, e, slope)
    near_low = fma(builder, e, slope_low, fma(builder, e_low, slope, near_low))
    logarithm, logarithm_low = logarithm_sum(builder, logarithm_argument)
    leading = builder.select(large, logarithm, near)
    leading_low = builder.select(large, add(builder, logarithm_low, series), near_low)
    high, error = two_sum(builder, term, leading)
    # What the quotient lacks.
    remainder = fma(builder, negate(builder, inverse), divisor, 1.0)
    low = fma(builder, multiply(builder, factor, inverse), remainder, add(builder, error, leading_low))
    # A quotient that is infinite, or close to it, has no remainder.
    huge = compare(builder, ">", absolute(builder, term), 2.0**100)
    return builder.select(huge, term, high), select(builder, huge, 0.0, low)


def _reflected_digamma(builder, magnitude, high, low, accurate):
    """Return digamma(-magnitude) = digamma(magnitude) + 1 / magnitude + pi cot(pi r), the first being high + low."""
    r = _nearest_integer_distance(builder, magnitude)
    rest = multiply(builder, r, polynomial(builder, multiply(builder, r, r), COTANGENT))
    inverse = divide(builder, 1.0, magnitude)
    cotangent = divide(builder, 1.0, r)
    if not accurate:
        result = subtract(builder, add(builder, cotangent, add(builder, high, inverse)), rest)
    else:
        inverse_low = multiply(builder, fma(builder, negate(builder, inverse), magnitude, 1.0), inverse)
        cotangent_low = multiply(builder, fma(builder, negate(builder, cotangent), r, 1.0), cotangent)
        total, error = two_sum(builder, high, inverse)
        total, second_error = two_sum(builder, total, cotangent)
        total, third_error = two_sum(builder, total, negate(builder, rest))
        low = add(builder, add(builder, low, error), add(builder, second_error, third_error))
        result = add(builder, total, add(builder, low, add(builder, inverse_low, cotangent_low)))
    # Infinite magnitudes have no distance.
    return select(builder, compare(builder, "!=", r, 0.0), result, NAN)


@elementary
def digamma(builder, x):
    """Return the derivative of log(gamma(x)); the builder ends in a new block.

    Below 0, where the function has many roots, the error of f64 is at most 2 ULP of the larger of |digamma(x)| and 1.
    """
    single = is_single(x)
    argument = widen(builder, x) if single else x
    reflects = compare(builder, "<", argument, -TINY)
    magnitude = builder.select(reflects, negate(builder, argument), argument)
    high, low = _digamma_of_positive(builder, magnitude, accurate=not single)
    usual = add(builder, high, low)

    def reflected():
        value = _reflected_digamma(builder, magnitude, high, low, accurate=not single)
        return [builder.select(reflects, value, usual)]

    (result,) = replaced_if(builder, any_lane(builder, reflects), [usual], reflected)
    result = builder.select(compare(builder, "<", argument, INFINITY), result, argument)
    return narrow(builder, result) if single else result
