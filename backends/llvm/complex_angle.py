"""The angle of two complex numbers: what the angle of a point is to two real ones."""

from __future__ import annotations

import math

from .arithmetic import (
    absolute,
    add,
    compare,
    constant,
    copysign,
    multiply,
    negate,
    select,
    subtract,
)
from .arithmetic import (
    divide as real_divide,
)
from .complex_algebra import divide, in_double, is_finite, sqrt, sum_of_products
from .complex_exponential import log
from .elementary import ELEMENTARY_FUNCTIONS
from .types import ComplexValue


@in_double
def atan2(builder, single, y, x):
    """Return -i log((x + iy) / sqrt(x**2 + y**2)); the builder ends in a new block.

    With u = x + iy and v = x - iy the real part is half the angle of u conj(v), or that and half a turn, the imaginary part
    half the area tangent of (|v|**2 - |u|**2) / (|v|**2 + |u|**2): there nothing cancels near 0.
    """
    point = ComplexValue(subtract(builder, x.real, y.imag), add(builder, x.imag, y.real))
    squares = [_square(builder, z) for z in (x, y)]
    length = sqrt(builder, ComplexValue(*(add(builder, one, other) for one, other in zip(*squares))))
    logarithm = log(builder, divide(builder, point, length))
    textbook = ComplexValue(logarithm.imag, negate(builder, logarithm.real))

    of_x, of_y = (sum_of_products(builder, z.real, z.real, z.imag, z.imag) for z in (x, y))
    along = sum_of_products(builder, x.real, y.real, x.imag, y.imag)
    across = sum_of_products(builder, x.real, y.imag, negate(builder, x.imag), y.real)
    angle = ELEMENTARY_FUNCTIONS["atan2"](builder, add(builder, along, along), subtract(builder, of_x, of_y))
    angle = multiply(builder, angle, 0.5)
    far = compare(builder, ">", absolute(builder, subtract(builder, textbook.real, angle)), math.pi / 2)
    half_turn = copysign(builder, constant(angle.type, math.pi), textbook.real)
    real = select(builder, far, add(builder, angle, half_turn), angle)
    ratio = real_divide(builder, add(builder, across, across), add(builder, of_x, of_y))
    imag = multiply(builder, ELEMENTARY_FUNCTIONS["atanh"](builder, ratio), 0.5)
    near = compare(builder, "<", absolute(builder, ratio), 0.5)
    exact = builder.and_(is_finite(builder, real), is_finite(builder, ratio))
    return ComplexValue(
        builder.select(exact, real, textbook.real), builder.select(builder.and_(exact, near), imag, textbook.imag)
    )


def _square(builder, z):
    real = sum_of_products(builder, z.real, z.real, negate(builder, z.imag), z.imag)
    product = multiply(builder, z.real, z.imag)
    return ComplexValue(real, add(builder, product, product))
