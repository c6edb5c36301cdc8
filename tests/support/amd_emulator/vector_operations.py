"""What vector instructions compute: functions of arrays of their operands' types, by the names of the instructions.

Source: AMD's "RDNA3 Instruction Set Architecture" and "CDNA3 Instruction Set Architecture".
"""

from __future__ import annotations

import numpy as np

from .floats import (
    bits_of,
    division_fixup,
    division_fma,
    division_scale,
    flushed,
    fma,
    has_class,
    inexact,
    maximum,
    minimum,
)

OPERATIONS = {}
# Of these the last source is a bit of each lane: VCC, where the encoding has no operand for it.
READS_MASK = set()
# These have a result of one bit for each lane beside the other one.
WRITES_MASK = set()
# The old contents of the destination are the last source.
READS_DESTINATION = set()


def _define(names, function):
    for name in names.split():
        OPERATIONS[f"V_{name}"] = function


def _types(name, *types):
    return " ".join(f"{name}_{one}" for one in types)


def _operation(names):
    def add(function):
        _define(names, function)
        return function

    return add


_FLOATS, _HALVES, _WORDS = ("F16", "F32", "F64"), ("U16", "I16"), ("U32", "I32")


def _reversed(function):
    return lambda a, b, *rest: function(b, a, *rest)


def _u32(value):
    return value.astype(np.uint32)


# --- moves and bits ---

_define("MOV_B32 MOV_B16 MOV_B64", lambda a: a)
_define("NOT_B32 NOT_B16", np.invert)
_define("AND_B32 AND_B16", np.bitwise_and)
_define("OR_B32 OR_B16", np.bitwise_or)
_define("XOR_B32 XOR_B16", np.bitwise_xor)
_define("XNOR_B32", lambda a, b: ~(a ^ b))
_define("AND_OR_B32", lambda a, b, c: a & b | c)
_define("OR3_B32", lambda a, b, c: a | b | c)
_define("XOR3_B32", lambda a, b, c: a ^ b ^ c)
_define("BFI_B32", lambda a, b, c: a & b | ~a & c)
_define("BFM_B32", lambda a, b: ((np.uint32(1) << (a & np.uint32(31))) - np.uint32(1)) << (b & np.uint32(31)))
_define("CNDMASK_B32 CNDMASK_B16", lambda a, b, mask: np.where(mask, b, a))
READS_MASK |= {"V_CNDMASK_B32", "V_CNDMASK_B16"}


def _shift(function):
    def shifted(amount, value):
        amount = amount & amount.dtype.type(value.dtype.itemsize * 8 - 1)
        return function(value, amount.astype(value.dtype))

    return shifted


_define("LSHLREV_B32 LSHLREV_B16 LSHLREV_B64", _shift(np.left_shift))
_define("LSHRREV_B32 LSHRREV_B16 LSHRREV_B64", _shift(np.right_shift))
_define("ASHRREV_I32 ASHRREV_I16 ASHRREV_I64", _shift(np.right_shift))


@_operation("BFE_U32 BFE_I32")
def _bit_field(a, b, c):
    wide, offset = a.astype(np.int64), (b & np.uint32(31)).astype(np.int64)
    width = (c & np.uint32(31)).astype(np.int64)
    field = wide >> offset & (np.int64(1) << width) - 1
    if a.dtype == np.int32:
        sign = np.where(width > 0, np.int64(1) << np.maximum(width - 1, 0), 0)
        field = (field ^ sign) - sign
    return field


@_operation("BFREV_B32")
def _reverse_bits(a):
    return np.packbits(np.unpackbits(np.ascontiguousarray(a)[..., None].view(np.uint8), axis=-1, bitorder="little"), axis=-1)[
        ..., ::-1
    ].copy().view(np.uint32)[..., 0]  # fmt: skip


@_operation("ALIGNBIT_B32")
def _align_bit(a, b, c):
    both = a.astype(np.uint64) << np.uint64(32) | b
    return _u32(both >> (c & c.dtype.type(31)).astype(np.uint64))


@_operation("ALIGNBYTE_B32")
def _align_byte(a, b, c):
    both = a.astype(np.uint64) << np.uint64(32) | b
    return _u32(both >> ((c & c.dtype.type(3)).astype(np.uint64) << np.uint64(3)))


@_operation("PERM_B32")
def _permute_bytes(a, b, selectors):
    a, b, selectors = np.broadcast_arrays(a, b, selectors)
    both = a.astype(np.uint64) << np.uint64(32) | b
    result = np.zeros(a.shape, np.uint32)
    for number in range(4):
        selector = (selectors >> np.uint32(8 * number) & np.uint32(0xFF)).astype(np.uint64)
        byte = both >> (np.uint64(8) * (selector & np.uint64(7))) & np.uint64(0xFF)
        signs = both >> (np.uint64(16) * (selector & np.uint64(3)) + np.uint64(15)) & np.uint64(1)
        byte = np.where(selector >= 8, signs * np.uint64(0xFF), byte)
        byte = np.where(selector == 12, np.uint64(0), np.where(selector >= 13, np.uint64(0xFF), byte))
        result |= _u32(byte) << np.uint32(8 * number)
    return result


_define("BCNT_U32_B32", lambda a, b: np.bitwise_count(a).astype(np.uint32) + b)


def leading_zeros(a):
    """Of 32 bits; -1 if there is no one."""
    wide = a.astype(np.uint64).astype(np.float64)  # exact
    return np.where(a == 0, -1, 31 - (np.frexp(wide)[1] - 1)).astype(np.int32)


def trailing_zeros(a):
    low = a & (~a + a.dtype.type(1))
    return np.where(a == 0, -1, np.frexp(low.astype(np.float64))[1] - 1).astype(np.int32)


_define("FFBH_U32 CLZ_I32_U32", leading_zeros)
_define("FFBL_B32 CTZ_I32_B32", trailing_zeros)
_define("FFBH_I32 CLS_I32", lambda a: leading_zeros(np.where(a < 0, ~a, a).view(np.uint32)))
_define("PACK_B32_F16", lambda a, b: _u32(bits_of(a)) | _u32(bits_of(b)) << np.uint32(16))

# --- integers ---

_define(f"ADD_U32 ADD_NC_U32 {_types('ADD', *_HALVES)} {_types('ADD_NC', *_HALVES)} ADD_I32 ADD_NC_I32", np.add)
_define(f"SUB_U32 SUB_NC_U32 {_types('SUB', *_HALVES)} {_types('SUB_NC', *_HALVES)} SUB_I32 SUB_NC_I32", np.subtract)
_define("SUBREV_U32 SUBREV_NC_U32 SUBREV_U16", _reversed(np.subtract))
_define("ADD3_U32", lambda a, b, c: a + b + c)
_define("ADD_LSHL_U32", lambda a, b, c: (a + b) << (c & np.uint32(31)))
_define("LSHL_ADD_U32", lambda a, b, c: (a << (b & np.uint32(31))) + c)
_define("LSHL_ADD_U64", lambda a, b, c: (a << (b & np.uint32(7)).astype(np.uint64)) + c)
_define("LSHL_OR_B32", lambda a, b, c: a << (b & np.uint32(31)) | c)
_define("XAD_U32", lambda a, b, c: (a ^ b) + c)
_define("MUL_LO_U32 MUL_LO_U16", np.multiply)
_define("MUL_HI_U32", lambda a, b: a.astype(np.uint64) * b >> np.uint64(32))
_define("MUL_HI_I32", lambda a, b: a.astype(np.int64) * b >> np.int64(32))
_define("MAD_U16 MAD_LEGACY_U16 MAD_I16", lambda a, b, c: a * b + c)


def _u24(value):
    return value.astype(np.uint64) & np.uint64(0xFFFFFF)


def _i24(value):
    return (value.view(np.int32) << np.int32(8) >> np.int32(8)).astype(np.int64)


_define("MUL_U32_U24", lambda a, b: _u24(a) * _u24(b))
_define("MUL_HI_U32_U24", lambda a, b: _u24(a) * _u24(b) >> np.uint64(32))
_define("MUL_I32_I24", lambda a, b: _i24(a) * _i24(b))
_define("MUL_HI_I32_I24", lambda a, b: _i24(a) * _i24(b) >> np.int64(32))
_define("MAD_U32_U24", lambda a, b, c: _u24(a) * _u24(b) + c)
_define("MAD_I32_I24", lambda a, b, c: _i24(a) * _i24(b) + c)
_define("MAD_U32_U16", lambda a, b, c: a.astype(np.uint32) * b.astype(np.uint32) + c)


@_operation("MAD_U64_U32")
def _multiply_add_wide(a, b, c):
    result = a.astype(np.uint64) * b + c
    return result, result < c


@_operation("MAD_I64_I32")
def _multiply_add_wide_signed(a, b, c):
    product = a.astype(np.int64) * b
    result = product + c
    return result, (product < 0) ^ (c < 0) ^ (result < 0)


for _name in ("V_MAD_U64_U32", "V_MAD_I64_I32"):
    WRITES_MASK.add(_name)


def _add_with_carry(a, b, carry=None):
    wide = a.astype(np.uint64) + b + (0 if carry is None else carry.astype(np.uint64))
    return _u32(wide), wide >> np.uint64(32) != 0


def _subtract_with_borrow(a, b, borrow=None):
    wide = b.astype(np.uint64) + (np.uint64(0) if borrow is None else borrow.astype(np.uint64))
    return _u32(a.astype(np.uint64) - wide), wide > a


_define("ADD_CO_U32 ADD_CO_CI_U32 ADDC_CO_U32", _add_with_carry)
_define("SUB_CO_U32 SUB_CO_CI_U32 SUBB_CO_U32", _subtract_with_borrow)
_define("SUBREV_CO_U32 SUBREV_CO_CI_U32 SUBBREV_CO_U32", _reversed(_subtract_with_borrow))
for _name in ("ADD_CO", "SUB_CO", "SUBREV_CO", "ADD_CO_CI", "SUB_CO_CI", "SUBREV_CO_CI", "ADDC_CO", "SUBB_CO", "SUBBREV_CO"):
    WRITES_MASK.add(f"V_{_name}_U32")
    if _name not in ("ADD_CO", "SUB_CO", "SUBREV_CO"):
        READS_MASK.add(f"V_{_name}_U32")

_INTEGERS = (*_HALVES, *_WORDS)
_define(_types("MIN", *_INTEGERS), np.minimum)
_define(_types("MAX", *_INTEGERS), np.maximum)
_define(_types("MIN3", *_INTEGERS), lambda a, b, c: np.minimum(np.minimum(a, b), c))
_define(_types("MAX3", *_INTEGERS), lambda a, b, c: np.maximum(np.maximum(a, b), c))
_define(_types("MED3", *_INTEGERS), lambda a, b, c: np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c)))
_define(_types("MAXMIN", *_WORDS), lambda a, b, c: np.minimum(np.maximum(a, b), c))
_define(_types("MINMAX", *_WORDS), lambda a, b, c: np.maximum(np.minimum(a, b), c))
_define("SAD_U32", lambda a, b, c: np.maximum(a, b) - np.minimum(a, b) + c)

# --- comparisons ---

_TESTS = {
    "LT": np.less, "EQ": np.equal, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal,
    "NE": np.not_equal, "LG": lambda a, b: (a < b) | (a > b),
    "O": lambda a, b: ~(np.isnan(a) | np.isnan(b)), "U": lambda a, b: np.isnan(a) | np.isnan(b),
    "NGE": lambda a, b: ~(a >= b), "NLG": lambda a, b: ~((a < b) | (a > b)), "NGT": lambda a, b: ~(a > b),
    "NLE": lambda a, b: ~(a <= b), "NEQ": np.not_equal, "NLT": lambda a, b: ~(a < b),
    "F": lambda a, b: np.zeros(np.broadcast_shapes(a.shape, b.shape), bool),
    "T": lambda a, b: np.ones(np.broadcast_shapes(a.shape, b.shape), bool),
    "TRU": lambda a, b: np.ones(np.broadcast_shapes(a.shape, b.shape), bool),
    "CLASS": has_class,
}  # fmt: skip
COMPARISONS = {
    f"V_CMP{x}_{test}_{kind}": function
    for test, function in _TESTS.items()
    for kind in ("F16", "F32", "F64", "U16", "I16", "U32", "I32", "U64", "I64")
    for x in ("", "X")
}

# --- floats ---

_define(_types("ADD", *_FLOATS), np.add)
_define(_types("SUB", *_FLOATS), np.subtract)
_define(_types("SUBREV", *_FLOATS), _reversed(np.subtract))
_define(_types("MUL", *_FLOATS), np.multiply)
_define(_types("FMA", *_FLOATS), fma)
_define(_types("FMAC", *_FLOATS), fma)
_define("FMAAK_F32 FMAAK_F16 FMAMK_F32 FMAMK_F16", fma)
_define("MAD_F32 MAC_F32 MADMK_F32 MADAK_F32", lambda a, b, c: flushed(flushed(flushed(a) * flushed(b)) + flushed(c)))
READS_DESTINATION |= {"V_FMAC_F16", "V_FMAC_F32", "V_FMAC_F64", "V_MAC_F32"}
_define(_types("MAX", *_FLOATS), maximum)
_define(_types("MIN", *_FLOATS), minimum)
_define(_types("MAX3", "F16", "F32"), lambda a, b, c: maximum(maximum(a, b), c))
_define(_types("MIN3", "F16", "F32"), lambda a, b, c: minimum(minimum(a, b), c))
_define(_types("MAXMIN", "F16", "F32"), lambda a, b, c: minimum(maximum(a, b), c))
_define(_types("MINMAX", "F16", "F32"), lambda a, b, c: maximum(minimum(a, b), c))


@_operation("MED3_F32 MED3_F16")
def _median(a, b, c):
    middle = maximum(minimum(a, b), minimum(maximum(a, b), c))
    none = np.isnan(a) | np.isnan(b) | np.isnan(c)
    return np.where(none, minimum(minimum(a, b), c), middle)


_define(_types("TRUNC", *_FLOATS), np.trunc)
_define(_types("CEIL", *_FLOATS), np.ceil)
_define(_types("FLOOR", *_FLOATS), np.floor)
_define(_types("RNDNE", *_FLOATS), np.rint)


@_operation(_types("FRACT", *_FLOATS))
def _fraction(a):
    return np.minimum(a - np.floor(a), np.nextafter(a.dtype.type(1), a.dtype.type(0)))


_define(_types("LDEXP", *_FLOATS), lambda a, b: np.ldexp(a, b.astype(np.int32)))
_define(_types("FREXP_MANT", *_FLOATS), lambda a: np.frexp(a)[0])
for _kind, _result in (("I16_F16", np.int16), ("I32_F32", np.int32), ("I32_F64", np.int32)):
    _define(
        f"FREXP_EXP_{_kind}",
        lambda a, result=_result: np.where(np.isfinite(a), np.frexp(a)[1], 0).astype(result),
    )

# What the hardware computes inexactly: of f32 to one unit in the last place; of f64 reciprocals and roots are good to 2^29 of
# them. Results here are wrong by that much, so that code which takes them for right is seen.
_define("RCP_F32 RCP_IFLAG_F32", lambda a: flushed(inexact(1 / flushed(a).astype(np.float64), np.float32, 0)))
_define("RSQ_F32", lambda a: inexact(1 / np.sqrt(flushed(a).astype(np.float64)), np.float32, 0))
_define("SQRT_F32", lambda a: inexact(np.sqrt(flushed(a).astype(np.float64)), np.float32, 0))
_define("EXP_F32", lambda a: flushed(inexact(np.exp2(flushed(a).astype(np.float64)), np.float32, 0)))
_define("LOG_F32", lambda a: inexact(np.log2(flushed(a).astype(np.float64)), np.float32, 0))
_define("RCP_F16", lambda a: inexact(1 / a.astype(np.float64), np.float16, 0))
_define("RSQ_F16", lambda a: inexact(1 / np.sqrt(a.astype(np.float64)), np.float16, 0))
_define("SQRT_F16", lambda a: inexact(np.sqrt(a.astype(np.float64)), np.float16, 0))
_define("RCP_F64", lambda a: inexact(1 / a, np.float64, 28))
_define("RSQ_F64", lambda a: inexact(1 / np.sqrt(a), np.float64, 28))
_define("SQRT_F64", lambda a: inexact(np.sqrt(a), np.float64, 28))

_define(_types("DIV_SCALE", "F32", "F64"), division_scale)
_define(_types("DIV_FMAS", "F32", "F64"), division_fma)
_define(_types("DIV_FIXUP", *_FLOATS), division_fixup)
for _name in ("F32", "F64"):
    WRITES_MASK.add(f"V_DIV_SCALE_{_name}")
    READS_MASK.add(f"V_DIV_FMAS_{_name}")

# --- conversions ---


def _to_integer(dtype, rounding=np.trunc):
    info = np.iinfo(dtype)

    def convert(a):
        wide = rounding(a.astype(np.float64))
        return np.where(np.isnan(a), 0, np.clip(wide, info.min, info.max)).astype(np.int64).astype(dtype)

    return convert


for _kind in _FLOATS:
    for _name, _dtype in (("U32", np.uint32), ("I32", np.int32), ("U16", np.uint16), ("I16", np.int16)):
        _define(f"CVT_{_name}_{_kind}", _to_integer(_dtype))
_define("CVT_RPI_I32_F32 CVT_NEAREST_I32_F32", _to_integer(np.int32, lambda a: np.floor(a + 0.5)))
_define("CVT_FLR_I32_F32 CVT_FLOOR_I32_F32", _to_integer(np.int32, np.floor))
for _kind, _dtype in (("F16", np.float16), ("F32", np.float32), ("F64", np.float64)):
    _sources = " ".join(f"CVT_{_kind}_{one}" for one in (*_FLOATS, "U32", "I32", "U16", "I16"))
    _define(_sources, lambda a, dtype=_dtype: a.astype(dtype))
for _number in range(4):
    _define(
        f"CVT_F32_UBYTE{_number}",
        lambda a, shift=np.uint32(8 * _number): (a >> shift & np.uint32(0xFF)).astype(np.float32),
    )


@_operation("CVT_PKRTZ_F16_F32 CVT_PK_RTZ_F16_F32")
def _pack_toward_zero(a, b):
    halves = []
    for value in np.broadcast_arrays(a, b):
        nearest = value.astype(np.float16)
        over = np.abs(nearest.astype(np.float32)) > np.abs(value)
        halves.append(_u32(bits_of(np.where(over, np.nextafter(nearest, np.float16(0)), nearest))))
    return halves[0] | halves[1] << np.uint32(16)


# --- products of parts of registers ---


def _parts(value, dtype):
    return np.ascontiguousarray(value)[..., None].view(np.uint32).view(dtype)


def _dot(dtype_a, dtype_b, wide):
    def dot(a, b, c):
        a, b = _parts(a, dtype_a).astype(wide), _parts(b, dtype_b).astype(wide)
        return (a * b).sum(axis=-1) + c.astype(wide)

    return dot


_define("DOT4_U32_U8", lambda a, b, c: _dot(np.uint8, np.uint8, np.uint64)(a, b, c))
_define("DOT4_I32_I8 DOT4C_I32_I8", lambda a, b, c: _dot(np.int8, np.int8, np.int64)(a, b, c.view(np.int32)))
_define("DOT4_I32_IU8", lambda a, b, c: _dot(np.uint8, np.uint8, np.int64)(a, b, c.view(np.int32)))
READS_DESTINATION.add("V_DOT4C_I32_I8")
_define("DOT2_F32_F16", lambda a, b, c: _dot(np.float16, np.float16, np.float64)(a, b, c.view(np.float32)).astype(np.float32))
