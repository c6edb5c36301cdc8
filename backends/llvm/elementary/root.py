"""The roots sqrt, rsqrt and cbrt."""

from ..arithmetic import (
    absolute,
    compare,
    constant,
    divide,
    fma,
    from_bits,
    integer_type,
    is_single,
    multiply,
    negate,
    polynomial,
    select,
    set_sign_of,
    square_root,
    subtract,
    to_bits,
)
from .double_double import two_product
from .table import elementary, short_elementary

# (1 - h)**(-1/3) to third order
INVERSE_CUBE_ROOT = (1.0, 1 / 3, 2 / 9, 14 / 81)


@short_elementary
def sqrt(builder, x):
    """Return the correctly rounded square root of x."""
    return square_root(builder, x)


@short_elementary
def rsqrt(builder, x):
    """Return 1 / sqrt(x); -inf for -0, as IEEE 754 says of rSqrt."""
    y = divide(builder, 1.0, square_root(builder, x))
    # One Newton step: y + y (1 - x y**2) / 2 with x y taken exactly.
    product, product_low = two_product(builder, x, y)
    residual = fma(builder, negate(builder, product), y, 1.0)
    residual = fma(builder, negate(builder, product_low), y, residual)
    refined = fma(builder, multiply(builder, y, 0.5), residual, y)
    # 0 * inf where x is 0 or inf: y is exact there.
    return builder.select(builder.fcmp_ordered("ord", refined, refined), refined, y)


def inverse_cube_root_estimate(builder, x):
    """Return x**(-1/3) to about 4 % from the bits of x read as a logarithm; x is positive and normal."""
    bits_type = integer_type(x.type)
    bits = to_bits(builder, x)
    if is_single(x):
        estimate = fma(builder, builder.sitofp(bits, x.type), -1 / 3, CUBE_ROOT_SINGLE)
        return from_bits(builder, builder.fptosi(estimate, bits_type), x.type)
    # The high word alone, as the low bits of a large number: conversions of 64-bit integers are slow below AVX-512.
    high_word = builder.lshr(bits, constant(bits_type, 32))
    large = from_bits(builder, builder.or_(high_word, constant(bits_type, 0x4330000000000000)), x.type)
    estimate = fma(builder, subtract(builder, large, 2.0**52), -1 / 3, CUBE_ROOT_DOUBLE + 1.5 * 2.0**52)
    return from_bits(builder, builder.shl(to_bits(builder, estimate), constant(bits_type, 32)), x.type)


# 4/3 of the bits of 1.0, less the correction that balances the error of the estimate.
CUBE_ROOT_SINGLE = float(0x54A21D2A)
CUBE_ROOT_DOUBLE = float(0x553EF0FF)


@elementary
def cbrt(builder, x):
    """Return the cube root of x.

    An estimate of x**(-1/3), one step of fourth order (two for f64), and a Newton step for the root itself with its
    residual in extended precision.
    """
    single = is_single(x)
    magnitude = absolute(builder, x)
    subnormal = compare(builder, "<", magnitude, 2.0**-126 if single else 2.0**-1022)
    lift = 24 if single else 54
    a = select(builder, subnormal, multiply(builder, magnitude, 2.0**lift), magnitude)
    y = inverse_cube_root_estimate(builder, a)
    for _ in range(1 if single else 2):
        h = fma(builder, negate(builder, multiply(builder, a, y)), multiply(builder, y, y), 1.0)
        y = multiply(builder, y, polynomial(builder, h, INVERSE_CUBE_ROOT))
    y_square = multiply(builder, y, y)
    root = multiply(builder, a, y_square)
    square, square_low = two_product(builder, root, root)
    residual = fma(builder, negate(builder, root), square, a)
    residual = fma(builder, negate(builder, root), square_low, residual)
    root = fma(builder, residual, multiply(builder, y_square, 1 / 3), root)
    root = select(builder, subnormal, multiply(builder, root, 2.0 ** (-lift // 3)), root)
    root = set_sign_of(builder, root, x)
    return select(builder, compare(builder, "<", magnitude, float("inf")), root, x)
