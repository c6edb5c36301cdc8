"""Floating-point building blocks that read the same for scalars and for fixed vectors.

Every helper takes an `llvmlite.ir.IRBuilder` first. An operand may be an `ir.Value` or a Python number; a number becomes
a constant of the type of the operation (splat over the lanes of a vector).

>>> from llvmlite import ir
>>> str(constant(ir.VectorType(ir.FloatType(), 4), 1.0))
'<4 x float> splat (float 0x3ff0000000000000)'
"""

from functools import cache, lru_cache, reduce

from llvmlite import binding, ir

from .builder import undefined, vector_type
from .module import approximation, declaration, has_avx2, has_float_extrema, lacks

FLOAT = ir.FloatType()
DOUBLE = ir.DoubleType()


# The intrinsics that make an integer of the signs of so many lanes, the integers that these are, and the type that they take.
_MASK_OF_LANES = {
    8: ("llvm.x86.avx.movmsk.ps.256", ir.IntType(32), FLOAT),
    16: ("llvm.x86.sse2.pmovmskb.128", ir.IntType(8), ir.IntType(8)),
}


class SplatConstant(ir.Constant):
    """A vector constant with equal lanes, printed as `splat (type value)` so that the text does not grow with the width."""

    def __init__(self, vector_type, value):
        self.type = vector_type
        self.constant = ir.Constant(vector_type.element, value)

    def _get_reference(self):
        return f"splat ({self.constant})"


def element_type(value_type):
    """Return the scalar type of a scalar or vector type."""
    return value_type.element if isinstance(value_type, ir.VectorType) else value_type


def lane_count(value_type):
    """Return the number of lanes of a type, 1 for a scalar."""
    return value_type.count if isinstance(value_type, ir.VectorType) else 1


def with_element_type(value_type, scalar_type):
    """Return `value_type` with its scalar type replaced and its lanes kept."""
    return vector_type(scalar_type, value_type.count) if isinstance(value_type, ir.VectorType) else scalar_type


@cache
def integer_type(value_type):
    """Return the integer type of the same width and lanes as a floating-point type."""
    return with_element_type(value_type, ir.IntType(32 if element_type(value_type) == FLOAT else 64))


@lru_cache(maxsize=4096)
def _cached_constant(value_type, value, sign):
    if not isinstance(value_type, ir.VectorType):
        return ir.Constant(value_type, value)
    if binding.llvm_version_info[0] < 19:  # the syntax of SplatConstant is younger
        return ir.Constant(value_type, [value] * value_type.count)
    return SplatConstant(value_type, value)


def constant(value_type, value):
    """Return the constant `value` of a scalar type, or its splat for a vector type."""
    # The repr tells 0.0 from -0.0 and NaN from itself, which the equality that a cache uses does not.
    return _cached_constant(value_type, value, repr(value))


def is_single(x):
    """Return True for f32 (scalar or vector) and False for f64; raise TypeError for anything else."""
    scalar = element_type(x.type)
    if scalar != FLOAT and scalar != DOUBLE:
        raise TypeError(f"an elementary function takes float, double or a vector of them, got {x.type}")
    return scalar == FLOAT


def _promote(operands):
    types = [operand.type for operand in operands if isinstance(operand, ir.Value)]
    if len(types) == len(operands):
        return operands
    if types:
        return [o if isinstance(o, ir.Value) else constant(types[0], o) for o in operands]
    raise TypeError(f"at least one operand must be an ir.Value, got {operands}")


def add(builder, x, y):
    """Return x + y."""
    return builder.fadd(*_promote((x, y)))


def subtract(builder, x, y):
    """Return x - y."""
    return builder.fsub(*_promote((x, y)))


def multiply(builder, x, y):
    """Return x * y."""
    return builder.fmul(*_promote((x, y)))


def divide(builder, x, y):
    """Return x / y."""
    return builder.fdiv(*_promote((x, y)))


def moderate_quotient(builder, x, y):
    """Return x / y, rounded once, where the magnitudes of both and of the quotient are between 2**-60 and 2**60.

    Where a device has no instruction for division, that of any numbers is a call of a function.
    """
    x, y = _promote((x, y))
    reciprocal = approximated(builder, "reciprocal", y) if is_single(y) else None
    if reciprocal is None:
        return divide(builder, x, y)
    # Markstein, "IA-64 and Elementary Functions", chapter 8: what is left of x, which is exact, corrects the quotient.
    negated = negate(builder, y)
    reciprocal = fma(builder, reciprocal, fma(builder, negated, reciprocal, 1.0), reciprocal)
    quotient = multiply(builder, x, reciprocal)
    for _ in range(2):
        quotient = fma(builder, reciprocal, fma(builder, negated, quotient, x), quotient)
    return quotient


def approximated(builder, what, x):
    """What of x, a lane at a time, the device approximates; None where it does not."""
    name = approximation(builder.module, what)
    if name is None:
        return None
    kind = element_type(x.type)
    function = declaration(builder.module, name, kind, [kind])
    if not isinstance(x.type, ir.VectorType):
        return builder.call(function, [x])
    result = undefined(x.type)
    for lane in range(x.type.count):
        number = ir.Constant(ir.IntType(32), lane)
        result = builder.insert_element(result, builder.call(function, [builder.extract_element(x, number)]), number)
    return result


def negate(builder, x):
    """Return -x, with the sign bit of zeros and NaNs flipped too."""
    return builder.fneg(x)


def compare(builder, predicate, x, y):
    """Return the ordered comparison `x predicate y` (`<`, `<=`, `==`, ...): false where an operand is NaN."""
    return builder.fcmp_ordered(predicate, *_promote((x, y)))


def select(builder, condition, x, y):
    """Return x where the condition holds, else y."""
    return builder.select(condition, *_promote((x, y)))


_SUFFIXES = {"float": "f32", "double": "f64"}


def type_suffix(value_type):
    """Return the suffix that LLVM gives a type in a mangled name, such as `v16f32`."""
    # A type keeps its text, which is looked up in fewer steps than a type: all vectors have one hash.
    text = str(value_type)
    if text not in _SUFFIXES:
        suffix = _SUFFIXES.get(str(element_type(value_type)))
        if suffix is None:
            raise TypeError(f"an elementary function takes float, double or a vector of them, got {value_type}")
        _SUFFIXES[text] = f"v{value_type.count}{suffix}"
    return _SUFFIXES[text]


def intrinsic(builder, name, *operands):
    """Call the LLVM intrinsic `llvm.<name>` overloaded on the type of its operands, which is also its result type."""
    operands = _promote(operands)
    value_type = operands[0].type
    mangled = f"llvm.{name}.{type_suffix(value_type)}"
    module = builder.module
    function = module.globals.get(mangled) or declaration(module, mangled, value_type, [value_type] * len(operands))
    return builder.call(function, operands)


def fma(builder, x, y, z):
    """Return x * y + z rounded once."""
    return intrinsic(builder, "fma", x, y, z)


def multiply_add(builder, x, y, z):
    """Return x * y + z, rounded once where the machine has an instruction for it, and else twice."""
    return intrinsic(builder, "fmuladd", x, y, z)


def absolute(builder, x):
    """Return |x|."""
    return intrinsic(builder, "fabs", x)


def copysign(builder, magnitude, sign):
    """Return `magnitude` with the sign bit of `sign`."""
    return intrinsic(builder, "copysign", magnitude, sign)


def square_root(builder, x):
    """Return the correctly rounded square root."""
    if not is_single(x) or approximation(builder.module, "reciprocal root") is None:
        return intrinsic(builder, "sqrt", x)
    # What is left of subnormal numbers would not be exact; the root of a power of four is, and no root is subnormal.
    is_small = compare(builder, "<", x, 2.0**-64)
    scaled = multiply(builder, x, select(builder, is_small, constant(x.type, 2.0**64), 1.0))
    reciprocal = approximated(builder, "reciprocal root", scaled)
    root = multiply(builder, scaled, reciprocal)
    rest = fma(builder, negate(builder, root), root, scaled)
    root = fma(builder, rest, multiply(builder, reciprocal, 0.5), root)
    root = multiply(builder, root, select(builder, is_small, constant(x.type, 2.0**-32), 1.0))
    is_itself = builder.or_(compare(builder, "==", x, 0.0), compare(builder, "==", x, float("inf")))
    return select(builder, is_itself, x, root)


def truncate(builder, x):
    """Return x rounded to an integral value towards zero."""
    return intrinsic(builder, "trunc", x)


def to_bits(builder, x):
    """Reinterpret floating-point lanes as integers."""
    return builder.bitcast(x, integer_type(x.type))


def from_bits(builder, bits, value_type):
    """Reinterpret integer lanes as the floating-point type `value_type`."""
    return builder.bitcast(bits, value_type)


def widen(builder, x):
    """Convert f32 lanes to f64 (exact)."""
    return builder.fpext(x, with_element_type(x.type, DOUBLE))


def narrow(builder, x):
    """Convert f64 lanes to f32, correctly rounded."""
    return builder.fptrunc(x, with_element_type(x.type, FLOAT))


def clamp_above(builder, x, limit):
    """Return min(x, limit), NaN where x is NaN."""
    if is_single(x) and limit and has_float_extrema(builder.module):
        return intrinsic(builder, "minimum", x, limit)
    return select(builder, compare(builder, "<", constant(x.type, limit), x), limit, x)


def clamp_below(builder, x, limit):
    """Return max(x, limit), NaN where x is NaN."""
    if is_single(x) and limit and has_float_extrema(builder.module):
        return intrinsic(builder, "maximum", x, limit)
    return select(builder, compare(builder, ">", constant(x.type, limit), x), limit, x)


def polynomial(builder, x, coefficients):
    """Return sum of coefficients[i] * x**i by Horner's rule with fused operations; two or four chains when it is long."""
    # A single long chain would leave the machine waiting on the latency of each step.
    return _in_chains(builder, x, coefficients, 1 if len(coefficients) < 10 else 2 if len(coefficients) < 16 else 4)


def _in_chains(builder, x, coefficients, chains):
    if chains == 1:
        return polynomial_chain(builder, x, coefficients)
    square = multiply(builder, x, x)
    even = _in_chains(builder, square, coefficients[0::2], chains // 2)
    odd = _in_chains(builder, square, coefficients[1::2], chains // 2)
    return fma(builder, odd, x, even)


def polynomial_chain(builder, x, coefficients):
    """Return sum of coefficients[i] * x**i by Horner's rule with fused operations in one chain."""
    _, result = _promote((x, coefficients[-1]))
    for coefficient in reversed(coefficients[:-1]):
        result = fma(builder, result, x, coefficient)
    return result


def polynomial_of_choice(builder, x, condition, on_true, on_false):
    """Return the polynomial with the coefficients `on_true` where the condition holds, with as many others elsewhere."""
    pairs = zip(on_true, on_false, strict=True)
    choices = [builder.select(condition, constant(x.type, one), constant(x.type, other)) for one, other in pairs]
    return polynomial(builder, x, choices)


def set_sign_of(builder, magnitude, x):
    """Set the sign bit of `magnitude` where x has it set; `magnitude` may already carry it."""
    bits = integer_type(x.type)
    sign_mask = constant(bits, 1 << (element_type(bits).width - 1))
    sign = builder.and_(to_bits(builder, x), sign_mask)
    return from_bits(builder, builder.or_(to_bits(builder, magnitude), sign), x.type)


def any_lane(builder, condition):
    """Return an i1 that is true when the condition holds in any lane."""
    if not isinstance(condition.type, ir.VectorType):
        return condition
    word = reduce(builder.or_, _lane_words(builder, condition))
    return builder.icmp_unsigned("!=", word, word.type(0))


def all_lanes(builder, condition):
    """Return an i1 that is true when the condition holds in all lanes."""
    if not isinstance(condition.type, ir.VectorType):
        return condition
    word = reduce(builder.and_, _lane_words(builder, condition))
    return builder.icmp_unsigned("==", word, word.type(-1))


def count_lanes(builder, condition, result):
    """In how many lanes of a vector the condition holds, an integer of this type."""
    words = _lane_words(builder, condition)
    bits = reduce(builder.add, [builder.ctpop(word) for word in words])
    bits_of_lane = sum(word.type.width for word in words) // condition.type.count
    return of_width(builder, builder.udiv(bits, bits.type(bits_of_lane)), result)


def of_width(builder, number, integer):
    """A number without a sign as an integer of this type, of which it has the last bits where that has fewer."""
    if number.type == integer:
        return number
    return (builder.zext if integer.width > number.type.width else builder.trunc)(number, integer)


def _lane_words(builder, condition):
    """The lanes of a condition as the bits of an integer, or its bytes, each 0 or -1, where there are no such integers."""
    count, byte, word = condition.type.count, ir.IntType(8), ir.IntType(64)
    if not lacks(builder.module, "lane masks"):
        return [builder.bitcast(condition, ir.IntType(count))]
    if count in _MASK_OF_LANES and has_avx2(builder.module):
        name, lane, given = _MASK_OF_LANES[count]
        signs = builder.bitcast(builder.sext(condition, ir.VectorType(lane, count)), ir.VectorType(given, count))
        gather_signs = declaration(builder.module, name, ir.IntType(32), [signs.type])
        return [builder.trunc(builder.call(gather_signs, [signs]), ir.IntType(count))]
    lanes = builder.sext(condition, ir.VectorType(byte, count))
    if count <= 8:
        return [builder.bitcast(lanes, ir.IntType(8 * count))]
    words = builder.bitcast(lanes, ir.VectorType(word, count // 8))
    return [builder.extract_element(words, ir.IntType(32)(number)) for number in range(count // 8)]


def round_by_magic(builder, x, factor):
    """Return (n, bits) with n the integer nearest to x * factor, also as the low bits of an integer.

    Valid for |x * factor| < 2**21 (f32) or 2**50 (f64). The high bits of `bits` are not zero: shift or mask them away.
    """
    magic = 1.5 * 2.0**23 if is_single(x) else 1.5 * 2.0**52
    shifted = fma(builder, x, factor, magic)
    return subtract(builder, shifted, magic), to_bits(builder, shifted)
