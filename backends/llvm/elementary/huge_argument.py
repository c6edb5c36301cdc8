"""Range reduction of sine, cosine and tan for arguments of any size, on a path of its own that is rarely taken.

Method: M. H. Payne and R. N. Hanek, "Radian reduction for trigonometric functions", 1983. The argument is an integer m of
53 bits times 2**e; only a window of 192 bits of 2 / pi, chosen by e, decides x * 2 / pi modulo 4 to about 126 bits.
"""

from functools import cache

from llvmlite import ir

from ..arithmetic import (
    DOUBLE,
    FLOAT,
    any_lane,
    compare,
    element_type,
    lane_count,
    multiply,
    to_bits,
    type_suffix,
)
from ..branches import RARE, replaced_if
from ..builder import Builder
from ..loops import carried_loop
from ..module import SharedFunction, constant_table, declaration, declared, lacks
from ..wide_integers import wide_product
from .double_double import fast_two_sum, two_product

I64 = ir.IntType(64)
PI_HALF = (1.5707963267948966, 6.123233995736766e-17)
# The bits of 2 / pi with weights 2**63 (a run of zeros, for small exponents) down to 2**-1216.
TABLE_WORDS = 20


@cache
def two_over_pi_words():
    """Return the words of 2 / pi, most significant first, computed from Machin's formula for pi.

    >>> [hex(word) for word in two_over_pi_words()[:2]]
    ['0x0', '0xa2f9836e4e441529']
    """
    precision = 1400

    def arctangent_of_inverse(n):
        term = (1 << precision) // n
        total, divisor, sign = 0, 1, 1
        while term:
            total += sign * (term // divisor)
            term //= n * n
            divisor, sign = divisor + 2, -sign
        return total

    pi = 4 * (4 * arctangent_of_inverse(5) - arctangent_of_inverse(239))
    bits = 64 * (TABLE_WORDS - 1)
    value = (1 << (precision + 1 + bits)) // pi
    return [value >> (64 * (TABLE_WORDS - 1 - i)) & (2**64 - 1) for i in range(TABLE_WORDS)]


def reduce_huge(builder, x):
    """Return (n, r, r_low) for a finite double x >= 2**16: x = n pi/2 + r + r_low, |r| <= pi / 4, n (i64) modulo 4."""
    bits = to_bits(builder, x)
    exponent = builder.lshr(bits, I64(52))
    mantissa = builder.or_(builder.and_(bits, I64((1 << 52) - 1)), I64(1 << 52))
    # x = mantissa * 2**(exponent - 1075); the window begins at the bit of weight 2**(2 - (exponent - 1075) - 1).
    position = builder.sub(exponent, I64(1075 - 62))
    word, shift = builder.lshr(position, I64(6)), builder.and_(position, I64(63))
    table = constant_table(builder, "phlox.two_over_pi", I64, two_over_pi_words())
    words = []
    for i in range(4):
        address = builder.gep(table, [builder.add(word, I64(i))], inbounds=True, source_etype=I64)
        words.append(builder.load(address, typ=I64))
    funnel_shift = declaration(builder.module, "llvm.fshl.i64", I64, [I64] * 3)
    window = [builder.call(funnel_shift, [words[i], words[i + 1], shift]) for i in range(3)]

    _, carried_in = wide_product(builder, window[2], mantissa)
    middle_low, middle_high = wide_product(builder, window[1], mantissa)
    # x * 2 / pi modulo 4, in units of 2**-126.
    turns_low = builder.add(middle_low, carried_in)
    carry = builder.zext(builder.icmp_unsigned("<", turns_low, middle_low), I64)
    turns_high = builder.add(builder.add(middle_high, carry), builder.mul(window[0], mantissa))
    fraction_low_word = builder.shl(turns_low, I64(2))
    fraction_high_word = builder.call(funnel_shift, [turns_high, turns_low, I64(2)])
    negative = builder.icmp_signed("<", fraction_high_word, I64(0))
    # Rounding to the nearest multiple: a fraction of one half or more, seen as negative, belongs to the next.
    n = builder.add(builder.lshr(turns_high, I64(62)), builder.zext(negative, I64))
    borrow = builder.zext(builder.icmp_unsigned("==", fraction_low_word, I64(0)), I64)
    low_word = builder.select(negative, builder.neg(fraction_low_word), fraction_low_word)
    high_word = builder.select(negative, builder.add(builder.not_(fraction_high_word), borrow), fraction_high_word)

    def scaled(word, power):
        return multiply(builder, builder.uitofp(word, DOUBLE), 2.0**power)

    leading = scaled(builder.and_(high_word, I64(-2048 & (2**64 - 1))), -64)
    trailing = builder.fadd(scaled(builder.and_(high_word, I64(2047)), -64), scaled(low_word, -128))
    fraction_high, fraction_low = fast_two_sum(builder, leading, trailing)

    product, product_error = two_product(builder, fraction_high, ir.Constant(DOUBLE, PI_HALF[0]))
    tail = builder.fadd(multiply(builder, fraction_high, PI_HALF[1]), multiply(builder, fraction_low, PI_HALF[0]))
    r, r_low = fast_two_sum(builder, product, builder.fadd(product_error, tail))
    return n, builder.select(negative, builder.fneg(r), r), builder.select(negative, builder.fneg(r_low), r_low)


def _mark_rarely_called(function):
    # Optimizing these functions would take longer than compiling the rest of a small kernel.
    attributes = ["noinline", "cold"] if lacks(function.module, "unoptimized calls") else ["noinline", "cold", "optnone"]
    for attribute in attributes:
        function.attributes.add(attribute)


def _scalar_function(module, name, evaluate):
    """Return the shared function `double (double)` that evaluates `evaluate(builder, |x|)`, NaN for an infinite argument."""

    def emit(function):
        _mark_rarely_called(function)
        builder = Builder(function.append_basic_block("entry"))
        x = function.args[0]
        result = evaluate(builder, x)
        infinite = compare(builder, "==", x, float("inf"))
        builder.ret(builder.select(infinite, ir.Constant(DOUBLE, float("nan")), result))

    return declared(module, SharedFunction(f"phlox.{name}.huge", ir.FunctionType(DOUBLE, [DOUBLE]), emit))


def _vector_function(module, name, value_type, limit, evaluate):
    """Return a shared function of (|x|, fast result) that replaces the lanes with |x| > limit by their slow result."""

    def emit(function):
        _mark_rarely_called(function)
        x, fast = function.args
        builder = Builder(function.append_basic_block("entry"))
        is_vector, single = isinstance(value_type, ir.VectorType), element_type(value_type) == FLOAT

        def replaced_lane(lane, values):
            element = builder.extract_element(x, lane) if is_vector else x

            def slow():
                argument = builder.fpext(element, DOUBLE) if single else element
                value = builder.call(_scalar_function(function.module, name, evaluate), [argument])
                value = builder.fptrunc(value, FLOAT) if single else value
                return [builder.insert_element(values[0], value, lane) if is_vector else value]

            return replaced_if(builder, compare(builder, ">", element, limit), values, slow)

        (result,) = carried_loop(builder, 0, lane_count(value_type), 1, [fast], replaced_lane, "lane")
        builder.ret(result)

    function_type = ir.FunctionType(value_type, [value_type, value_type])
    return declared(module, SharedFunction(f"phlox.{name}.huge.{type_suffix(value_type)}", function_type, emit))


def replace_huge(builder, name, magnitude, fast, limit, evaluate):
    """Return `fast` with the lanes where magnitude > limit recomputed, behind a branch that is taken when there are any.

    `evaluate(builder, x)` emits the function of a scalar double x > limit. The builder ends in a new block. NaN lanes keep
    the fast result.
    """
    huge = any_lane(builder, compare(builder, ">", magnitude, limit))
    slow_function = _vector_function(builder.module, name, magnitude.type, limit, evaluate)
    (result,) = replaced_if(builder, huge, [fast], lambda: [builder.call(slow_function, [magnitude, fast])], RARE)
    return result
