"""The floating-point remainder, C's fmod."""

from ..arithmetic import (
    absolute,
    add,
    any_lane,
    compare,
    divide,
    fma,
    is_single,
    multiply,
    negate,
    select,
    set_sign_of,
    truncate,
)
from ..branches import replaced_if
from ..loops import while_loop
from .table import elementary


@elementary
def remainder(builder, x, y):
    """Return x - n y with n = x / y truncated towards zero, exactly, with the sign of x; the builder ends in a new block.

    Long division in a loop: each step subtracts the rounded quotient times y, which a fused operation does without error,
    and so takes at least as many bits off the quotient as the format has. Most arguments need one step, and those that are
    smaller than the divisor, which are their own remainder, none: a branch, which costs a chain of remainders no time.
    """
    is_own = compare(builder, "<", absolute(builder, x), absolute(builder, y))
    (result,) = replaced_if(builder, any_lane(builder, builder.not_(is_own)), [x], lambda: [_divided(builder, x, y)])
    return result


def _divided(builder, x, y):
    infinity = float("inf")
    x_magnitude, y_magnitude = absolute(builder, x), absolute(builder, y)
    finite = compare(builder, "<", x_magnitude, infinity)
    nonzero = compare(builder, ">", y_magnitude, 0.0)
    valid = builder.and_(finite, nonzero)
    # Lanes without a remainder would keep the loop from ending.
    dividend = select(builder, valid, x_magnitude, 0.0)
    divisor = select(builder, valid, y_magnitude, 1.0)
    # A quotient beyond the range of the format is taken down in two stages of multiples of the divisor.
    step = 2.0**100 if is_single(x) else 2.0**600
    larger = multiply(builder, divisor, step)
    largest = multiply(builder, larger, step)

    with while_loop(builder, [dividend], "remainder", most=1) as loop:
        (rest,) = loop.values
        magnitude = absolute(builder, rest)
        active = compare(builder, ">=", magnitude, divisor)
        loop.leave_unless(any_lane(builder, active))
        by = builder.select(compare(builder, ">=", magnitude, larger), larger, divisor)
        by = builder.select(compare(builder, ">=", magnitude, largest), largest, by)
        quotient = truncate(builder, divide(builder, rest, by))
        # For an infinite divisor, which is never active, the step would yield NaN.
        loop.carry([builder.select(active, fma(builder, negate(builder, quotient), by, rest), rest)])
    result = select(builder, compare(builder, "<", rest, 0.0), add(builder, rest, divisor), rest)
    result = set_sign_of(builder, result, x)
    return select(builder, valid, result, float("nan"))
