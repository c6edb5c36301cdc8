"""What AVX-512 has instructions for, and other code computes: short tables of doubles, exponents and mantissas, extrema.

Either way gives the same bits, but for those of NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from ..arithmetic import (
    DOUBLE,
    FLOAT,
    compare,
    constant,
    from_bits,
    integer_type,
    intrinsic,
    is_single,
    lane_count,
    multiply,
    select,
    subtract,
    to_bits,
    with_element_type,
)
from ..arrays import masked_gather
from ..builder import undefined
from ..memory import element_address
from ..module import constant_table, declaration, has_avx512, lacks, vector_bytes_of
from ..types import type_suffix

I8, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_SCALAR = {FLOAT: "ss", DOUBLE: "sd"}  # in names of instructions
_LANES = 8  # doubles in a register
_REGISTER, _INDICES = ir.VectorType(DOUBLE, _LANES), ir.VectorType(I64, _LANES)
# As many entries as two registers hold, among which one instruction chooses.
TABLE_BITS = 4
TABLE_SIZE = 1 << TABLE_BITS

_ONE, _FRACTION = 0x3FF0000000000000, 0x000FFFFFFFFFFFFF
_INFINITY, _NAN = float("inf"), float("nan")


def table_entry(builder: ir.IRBuilder, name: str, table: tuple[float, ...], number: ir.Value) -> ir.Value:
    """The entry of the table of this name, `TABLE_SIZE` doubles, that the last `TABLE_BITS` bits of each number say."""
    if _in_registers(builder, number):
        halves = [ir.Constant(_REGISTER, [DOUBLE(one) for one in table[first : first + _LANES]]) for first in (0, _LANES)]
        choose = declaration(builder.module, "llvm.x86.avx512.vpermi2var.pd.512", _REGISTER, [_REGISTER, _INDICES, _REGISTER])
        return _by_registers(builder, number, lambda part: builder.call(choose, [halves[0], part, halves[1]]))
    number = builder.and_(number, constant(number.type, TABLE_SIZE - 1))
    pointer = constant_table(builder, f"phlox.table.{name}", DOUBLE, table)
    if isinstance(number.type, ir.VectorType) and lacks(builder.module, "pointer vectors"):
        entries = undefined(with_element_type(number.type, DOUBLE))
        for lane in range(number.type.count):
            address = element_address(builder, pointer, builder.extract_element(number, I32(lane)), DOUBLE)
            entries = builder.insert_element(entries, builder.load(address, typ=DOUBLE), I32(lane))
        return entries
    address = element_address(builder, pointer, number, DOUBLE)
    if isinstance(number.type, ir.VectorType):
        return masked_gather(builder, address, with_element_type(number.type, DOUBLE), None, 8)
    return builder.load(address, typ=DOUBLE)


def exponent_and_mantissa(builder: ir.IRBuilder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """(k, m) of doubles x = 2**k m, 1 <= m < 2: k is -inf of zeros, inf of inf; one is NaN of NaN and of numbers below 0."""
    if _in_registers(builder, x):
        module, current = builder.module, I32(4)  # how to round
        exponent = declaration(module, "llvm.x86.avx512.mask.getexp.pd.512", _REGISTER, [_REGISTER, _REGISTER, I8, I32])
        mantissa = declaration(module, "llvm.x86.avx512.mask.getmant.pd.512", _REGISTER, [_REGISTER, I32, _REGISTER, I8, I32])
        nothing, everywhere = undefined(_REGISTER), I8(-1)
        in_one_to_two_or_nan = I32(0b1000)
        k = _by_registers(builder, x, lambda part: builder.call(exponent, [part, nothing, everywhere, current]))
        operands = in_one_to_two_or_nan, nothing, everywhere, current
        return k, _by_registers(builder, x, lambda part: builder.call(mantissa, [part, *operands]))
    bits_type = integer_type(x.type)
    subnormal = compare(builder, "<", x, 2.0**-1022)
    bits = to_bits(builder, select(builder, subnormal, multiply(builder, x, 2.0**54), x))
    m = from_bits(builder, builder.or_(builder.and_(bits, constant(bits_type, _FRACTION)), constant(bits_type, _ONE)), x.type)
    # A biased exponent is read off the low bits of a large number: below AVX-512 vectors of integers are not converted.
    biased = builder.or_(builder.lshr(bits, constant(bits_type, 52)), constant(bits_type, 0x433 << 52))
    bias = select(builder, subnormal, constant(x.type, 2.0**52 + 1023 + 54), 2.0**52 + 1023)
    k = subtract(builder, from_bits(builder, biased, x.type), bias)
    k = select(builder, compare(builder, "<", x, _INFINITY), k, x)
    k = select(builder, compare(builder, "<", x, 0.0), _NAN, k)
    return select(builder, compare(builder, "==", x, 0.0), -_INFINITY, k), m


def has_wide_registers(module: ir.Module) -> bool:
    """Whether the code is for a processor that has these instructions; a scalar, too, is computed as vectors are there then."""
    return vector_bytes_of(module) == 8 * _LANES or has_avx512(module)


def extremum(builder: ir.IRBuilder, x: ir.Value, y: ir.Value, is_largest: bool) -> ir.Value:
    """The larger or smaller of floats or doubles, where -0 < +0; NaN beside NaN."""
    width = 4 if is_single(x) else 8
    if _in_registers(builder, x) and width * x.type.count == 8 * _LANES:
        # An instruction that knows the order of zeros, and prefers numbers to NaN.
        mask, of_both = ir.IntType(x.type.count), I32(0b0100 + is_largest)
        name = f"llvm.x86.avx512.mask.range.{'ps' if is_single(x) else 'pd'}.512"
        choose = declaration(builder.module, name, x.type, [x.type, x.type, I32, x.type, mask, I32])
        chosen = builder.call(choose, [x, y, of_both, undefined(x.type), mask(-1), I32(4)])
        return builder.select(builder.fcmp_unordered("uno", x, y), builder.fadd(x, y), chosen)
    if lacks(builder.module, "extrema"):
        return _compared(builder, x, y, is_largest)
    return intrinsic(builder, "maximum" if is_largest else "minimum", x, y)


def _compared(builder: ir.IRBuilder, x: ir.Value, y: ir.Value, is_largest: bool) -> ir.Value:
    """The extremum, by comparisons: of two zeros, that with the sign that both, or one of them, has."""
    chosen = select(builder, compare(builder, ">" if is_largest else "<", x, y), x, y)
    bits = (builder.and_ if is_largest else builder.or_)(to_bits(builder, x), to_bits(builder, y))
    chosen = select(builder, compare(builder, "==", x, y), from_bits(builder, bits, x.type), chosen)
    return builder.select(builder.fcmp_unordered("uno", x, y), builder.fadd(x, y), chosen)


def words_as_floats(builder: ir.IRBuilder, x: ir.Value, kind: ir.Type, signed: bool) -> ir.Value:
    """Integers as floats or doubles; those of 64 bits by instructions instead of which compilers of drivers call a library."""
    if not _by_intrinsic(builder, x.type, kind):
        return (builder.sitofp if signed else builder.uitofp)(x, kind)
    if isinstance(kind, ir.VectorType) and kind.count < 4:
        return _by_lanes(builder, x, kind, lambda lane: words_as_floats(builder, lane, kind.element, signed))
    module, how = builder.module, I32(4)
    if not isinstance(kind, ir.VectorType):
        result = _small_register(kind)
        name = f"llvm.x86.avx512.cvt{'si2' if signed else 'usi642'}{_SCALAR[kind]}{'64' if signed else ''}"
        convert = declaration(module, name, result, [result, I64, I32])
        return builder.extract_element(builder.call(convert, [undefined(result), x, how]), I32(0))
    result = ir.VectorType(kind.element, _LANES)
    name = f"llvm.x86.avx512.{'s' if signed else 'u'}itofp.round.{type_suffix(result)}.{type_suffix(_INDICES)}"
    convert = declaration(module, name, result, [_INDICES, I32])
    return _by_registers(builder, x, lambda part: builder.call(convert, [part, how]))


def floats_as_words(builder: ir.IRBuilder, x: ir.Value, kind: ir.Type, signed: bool) -> ir.Value:
    """Floats or doubles as integers, likewise; what of those that do not fit is anything."""
    if not _by_intrinsic(builder, kind, x.type):
        return (builder.fptosi if signed else builder.fptoui)(x, kind)
    module, how = builder.module, I32(4)
    if not isinstance(kind, ir.VectorType):
        given, of = _small_register(x.type), _SCALAR[x.type]
        operand = builder.insert_element(undefined(given), x, I32(0))
        if signed:
            name = f"llvm.x86.sse{'' if x.type == FLOAT else '2'}.cvtt{of}2si64"
            return builder.call(declaration(module, name, I64, [given]), [operand])
        return builder.call(declaration(module, f"llvm.x86.avx512.cvtt{of}2usi64", I64, [given, I32]), [operand, how])
    given = ir.VectorType(x.type.element, _LANES)
    name = f"llvm.x86.avx512.mask.cvtt{'ps' if is_single(x) else 'pd'}2{'' if signed else 'u'}qq.512"
    convert = declaration(module, name, _INDICES, [given, _INDICES, I8, I32])
    return _by_registers(builder, x, lambda part: builder.call(convert, [part, undefined(_INDICES), I8(-1), how]))


def _by_intrinsic(builder: ir.IRBuilder, words: ir.Type, floats: ir.Type) -> bool:
    are_words = getattr(words, "element", words) == I64 and getattr(floats, "element", floats) in _SCALAR
    return are_words and has_avx512(builder.module)


def _small_register(kind: ir.Type) -> ir.VectorType:
    return ir.VectorType(kind, 4 if kind == FLOAT else 2)


def _in_registers(builder: ir.IRBuilder, value: ir.Value) -> bool:
    return isinstance(value.type, ir.VectorType) and has_wide_registers(builder.module)


def _by_registers(builder: ir.IRBuilder, value: ir.Value, function: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """What the function makes of each whole register of a vector, as one vector."""
    lanes = lane_count(value.type)
    if lanes == _LANES:
        return function(value)
    parts = [function(_lanes_from(builder, value, first, _LANES)) for first in range(0, lanes, _LANES)]
    while len(parts) > 1:
        numbers = _constant_numbers(range(2 * lane_count(parts[0].type)))
        parts = [builder.shuffle_vector(one, other, numbers) for one, other in zip(parts[::2], parts[1::2])]
    return parts[0] if lanes > _LANES else _lanes_from(builder, parts[0], 0, lanes)


def _by_lanes(
    builder: ir.IRBuilder, value: ir.Value, kind: ir.VectorType, function: Callable[[ir.Value], ir.Value]
) -> ir.Value:
    """What the function makes of each lane: Intel's compiler for OpenCL converts one of two lanes twice in a whole register."""
    found = undefined(kind)
    for lane in range(kind.count):
        found = builder.insert_element(found, function(builder.extract_element(value, I32(lane))), I32(lane))
    return found


def _lanes_from(builder: ir.IRBuilder, value: ir.Value, first: int, count: int) -> ir.Value:
    """Some lanes of a vector, and the first lane in the place of those behind its end."""
    numbers = [number if number < lane_count(value.type) else 0 for number in range(first, first + count)]
    return builder.shuffle_vector(value, undefined(value.type), _constant_numbers(numbers))


def _constant_numbers(numbers: Sequence[int]) -> ir.Constant:
    return ir.Constant(ir.VectorType(I32, len(numbers)), list(numbers))
