"""Scalar instructions: one value for each wave.

Source: AMD's "RDNA3 Instruction Set Architecture" and "CDNA3 Instruction Set Architecture".
"""

from __future__ import annotations

import re

import numpy as np

from .instructions import Instruction
from .operands import reader, type_of, write_scalar
from .vector_operations import OPERATIONS as VECTOR_OPERATIONS
from .vector_operations import leading_zeros, trailing_zeros
from .waves import EXEC

# Results, and SCC where the instruction sets it: None if it is whether the result is not zero.
_OPERATIONS = {}
_KEEPS_CONDITION = set()


def _operation(names, keeps_condition=False):
    def add(function):
        for name in names.split():
            _OPERATIONS[f"S_{name}"] = function
            if keeps_condition:
                _KEEPS_CONDITION.add(f"S_{name}")
        return function

    return add


def _define(names, function, keeps_condition=False):
    _operation(names, keeps_condition)(function)


def _plain(function):
    return lambda waves, *given: (function(*given), None)


_define("MOV_B32 MOV_B64", _plain(lambda a: a), keeps_condition=True)
_define("AND_B32 AND_B64", _plain(np.bitwise_and))
_define("OR_B32 OR_B64", _plain(np.bitwise_or))
_define("XOR_B32 XOR_B64", _plain(np.bitwise_xor))
_define("NOT_B32 NOT_B64", _plain(np.invert))
_define("NAND_B32 NAND_B64", _plain(lambda a, b: ~(a & b)))
_define("NOR_B32 NOR_B64", _plain(lambda a, b: ~(a | b)))
_define("XNOR_B32 XNOR_B64", _plain(lambda a, b: ~(a ^ b)))
_define("ANDN2_B32 ANDN2_B64 AND_NOT1_B32 AND_NOT1_B64", _plain(lambda a, b: a & ~b))
_define("ORN2_B32 ORN2_B64 OR_NOT1_B32 OR_NOT1_B64", _plain(lambda a, b: a | ~b))
_define("BREV_B32", _plain(VECTOR_OPERATIONS["V_BFREV_B32"]), keeps_condition=True)
_define("ABS_I32", _plain(np.abs))
_define("MUL_I32 MUL_U32", _plain(np.multiply), keeps_condition=True)
_define("MUL_HI_U32", _plain(VECTOR_OPERATIONS["V_MUL_HI_U32"]), keeps_condition=True)
_define("MUL_HI_I32", _plain(VECTOR_OPERATIONS["V_MUL_HI_I32"]), keeps_condition=True)
_define("FLBIT_I32_B32 CLZ_I32_U32", _plain(leading_zeros), keeps_condition=True)
_define("FLBIT_I32 CLS_I32", _plain(VECTOR_OPERATIONS["V_FFBH_I32"]), keeps_condition=True)
_define("FF1_I32_B32 CTZ_I32_B32", _plain(trailing_zeros), keeps_condition=True)
_define("SEXT_I32_I8", _plain(lambda a: a.astype(np.int8).astype(np.int32)), keeps_condition=True)
_define("SEXT_I32_I16", _plain(lambda a: a.astype(np.int16).astype(np.int32)), keeps_condition=True)
_define("BCNT1_I32_B32 BCNT1_I32_B64", _plain(lambda a: np.bitwise_count(a).astype(np.uint32)))


@_operation("FF1_I32_B64 CTZ_I32_B64", keeps_condition=True)
def _first_one(waves, a):
    low, high = (a & np.uint64(0xFFFFFFFF)).astype(np.uint32), (a >> np.uint64(32)).astype(np.uint32)
    return np.where(low != 0, trailing_zeros(low), np.where(high != 0, trailing_zeros(high) + 32, -1)).astype(np.int32), None


@_operation("FLBIT_I32_B64 CLZ_I32_U64", keeps_condition=True)
def _last_one(waves, a):
    low, high = (a & np.uint64(0xFFFFFFFF)).astype(np.uint32), (a >> np.uint64(32)).astype(np.uint32)
    return np.where(high != 0, leading_zeros(high), np.where(low != 0, leading_zeros(low) + 32, -1)).astype(np.int32), None


def _shift(function):
    def shifted(waves, value, amount):
        return function(value, (amount & np.uint32(value.dtype.itemsize * 8 - 1)).astype(value.dtype)), None

    return shifted


_define("LSHL_B32 LSHL_B64", _shift(np.left_shift))
_define("LSHR_B32 LSHR_B64 ASHR_I32 ASHR_I64", _shift(np.right_shift))
for _number in (1, 2, 3, 4):

    @_operation(f"LSHL{_number}_ADD_U32")
    def _shift_add(waves, a, b, number=_number):
        wide = (a.astype(np.uint64) << np.uint64(number)) + b
        return wide.astype(np.uint32), wide >> np.uint64(32) != 0


@_operation("ADD_U32")
def _add(waves, a, b):
    wide = a.astype(np.uint64) + b
    return wide.astype(np.uint32), wide >> np.uint64(32) != 0


@_operation("ADDC_U32")
def _add_with_carry(waves, a, b):
    wide = a.astype(np.uint64) + b + waves.condition
    return wide.astype(np.uint32), wide >> np.uint64(32) != 0


@_operation("SUB_U32")
def _subtract(waves, a, b):
    return a - b, b > a


@_operation("SUBB_U32")
def _subtract_with_borrow(waves, a, b):
    wide = b.astype(np.uint64) + waves.condition
    return (a.astype(np.uint64) - wide).astype(np.uint32), wide > a


def _signed(function):
    def checked(waves, a, b):
        wide = function(a.astype(np.int64), b.astype(np.int64))
        narrow = wide.astype(np.int32)
        return narrow, narrow != wide

    return checked


_define("ADD_I32 ADDK_I32", _signed(np.add))
_define("SUB_I32", _signed(np.subtract))
_define("MULK_I32", _plain(np.multiply), keeps_condition=True)
_define("MIN_I32 MIN_U32", lambda waves, a, b: (np.minimum(a, b), a < b))
_define("MAX_I32 MAX_U32", lambda waves, a, b: (np.maximum(a, b), a >= b))
_define("CSELECT_B32 CSELECT_B64", lambda waves, a, b: (np.where(waves.condition, a, b), None), keeps_condition=True)


@_operation("BFE_U32 BFE_I32")
def _bit_field(waves, a, b):
    return VECTOR_OPERATIONS["V_BFE_U32"](a, b & np.uint32(31), _width(b)).astype(a.dtype), None


def _width(b):
    return b >> np.uint32(16) & np.uint32(0x1F)


@_operation("BFE_U64 BFE_I64")
def _wide_bit_field(waves, a, b):
    # Once to the upper end, and back: of a signed type the sign comes along.
    offset, width = b & np.uint32(63), np.minimum(b >> np.uint32(16) & np.uint32(0x7F), np.uint32(64))
    end = np.minimum(offset + width, np.uint32(64))
    left, right = (np.uint32(64) - end).astype(a.dtype), (np.uint32(64) - (end - offset)).astype(a.dtype)
    field = a << left >> np.minimum(right, a.dtype.type(63))
    return np.where(end == offset, a.dtype.type(0), field), None


_define(
    "BFM_B32",
    _plain(lambda a, b: ((np.uint32(1) << (a & np.uint32(31))) - np.uint32(1)) << (b & np.uint32(31))),
    keeps_condition=True,
)


def _packed(a_shift, b_shift):
    def pack(a, b):
        low = a.astype(np.uint32) >> np.uint32(a_shift) & np.uint32(0xFFFF)
        return low | (b.astype(np.uint32) >> np.uint32(b_shift) & np.uint32(0xFFFF)) << np.uint32(16)

    return _plain(pack)


for _name, _shifts in {"LL": (0, 0), "LH": (0, 16), "HL": (16, 0), "HH": (16, 16)}.items():
    _define(f"PACK_{_name}_B32_B16", _packed(*_shifts), keeps_condition=True)

_TESTS = {
    "EQ": np.equal, "LG": np.not_equal, "GT": np.greater, "GE": np.greater_equal, "LT": np.less, "LE": np.less_equal,
}  # fmt: skip

# Of the mask of active lanes and the operand: the new mask. SCC is whether any is left.
_SAVING = {
    "AND": lambda operand, active: operand & active,
    "OR": lambda operand, active: operand | active,
    "XOR": lambda operand, active: operand ^ active,
    "ANDN2": lambda operand, active: operand & ~active,
    "AND_NOT1": lambda operand, active: operand & ~active,
    "ORN2": lambda operand, active: operand | ~active,
    "OR_NOT1": lambda operand, active: operand | ~active,
    "ANDN1": lambda operand, active: ~operand & active,
    "AND_NOT0": lambda operand, active: ~operand & active,
    "ORN1": lambda operand, active: ~operand | active,
    "OR_NOT0": lambda operand, active: ~operand | active,
    "XNOR": lambda operand, active: ~(operand ^ active),
    "NAND": lambda operand, active: ~(operand & active),
    "NOR": lambda operand, active: ~(operand | active),
}

# What changes nothing that is looked at here: when something happens, and hints.
NOTHING = {
    "S_NOP", "S_WAITCNT", "S_WAITCNT_VSCNT", "S_WAITCNT_VMCNT", "S_WAITCNT_EXPCNT", "S_WAITCNT_LGKMCNT", "S_WAITCNT_DEPCTR",
    "S_DELAY_ALU", "S_CLAUSE", "S_SETPRIO", "S_SLEEP", "S_SENDMSG", "S_SET_INST_PREFETCH_DISTANCE", "S_INST_PREFETCH",
    "S_DCACHE_WB", "S_DCACHE_INV", "S_ICACHE_INV", "S_CODE_END", "S_VERSION", "S_TTRACEDATA", "S_GL1_INV",
}  # fmt: skip


def scalar_step(instruction: Instruction, architecture: str):
    """A function that runs the instruction for waves. Raises NotImplementedError."""
    name = instruction.name
    fields, literal = instruction.fields, instruction.fields.get("literal")

    def read(field, dtype=None):
        dtype = dtype or type_of(instruction.formats[field], instruction.widths[field])
        if dtype.itemsize == 2:
            dtype = np.dtype(np.uint32)
        return reader(fields[field], dtype, literal)

    if match := re.fullmatch(r"S_CMPK?_(\w\w)_([UI]\d+)", name):
        return _compare(instruction, _TESTS[match[1]], match[2], read)
    if match := re.fullmatch(r"S_BITCMP(\d)_B(\d+)", name):
        return _test_bit(read, int(match[1]), int(match[2]))
    if match := re.fullmatch(r"S_(\w+)_(SAVEEXEC|WREXEC)_B(\d+)", name):
        return _save_active(fields, read, _SAVING[match[1]], match[2] == "SAVEEXEC", int(match[3]))
    if match := re.fullmatch(r"S_BITSET(\d)_B(\d+)", name):
        return _set_bit(fields, read, int(match[1]), int(match[2]))
    if name == "S_MOVK_I32":
        value = np.array([[_immediate(instruction)]], np.int32)
        write = write_scalar(fields["sdst"], 32)
        return lambda waves: write(waves, np.broadcast_to(value, (waves.shape[0], 1)))
    if name in ("S_SETREG_IMM32_B32", "S_SETREG_B32", "S_GETREG_B32"):
        raise NotImplementedError(f"{name}: the mode of floating-point operations is the descriptor's")
    function = _OPERATIONS.get(name)
    if function is None:
        raise NotImplementedError(f"the instruction {name}")
    if name in ("S_ADDK_I32", "S_MULK_I32"):
        value = np.array([[_immediate(instruction)]], np.int32)
        own = reader(fields["sdst"], np.dtype(np.int32))
        sources = [own, lambda waves: value]
    else:
        sources = [read(field) for field in ("ssrc0", "ssrc1") if field in instruction.formats]
    write = write_scalar(fields["sdst"], instruction.widths["sdst"])
    keeps = name in _KEEPS_CONDITION

    def step(waves):
        result, condition = function(waves, *[source(waves) for source in sources])
        write(waves, result)
        if not keeps:
            found = result != 0 if condition is None else condition
            waves.condition = np.broadcast_to(found, (waves.shape[0], 1)).copy()

    return step


def _immediate(instruction):
    value = instruction.simm16
    return value - (1 << 16) if value >> 15 else value


def _compare(instruction, test, kind, read):
    dtype = type_of(kind, int(kind[1:]))
    if "simm16" in instruction.fields:
        value = _immediate(instruction) if kind[0] == "I" else instruction.simm16
        constant = np.array([[value]], dtype)
        first, second = reader(instruction.sdst, dtype), lambda waves: constant
    else:
        first, second = read("ssrc0", dtype), read("ssrc1", dtype)

    def step(waves):
        waves.condition = np.broadcast_to(test(first(waves), second(waves)), (waves.shape[0], 1)).copy()

    return step


def _test_bit(read, wanted, bits):
    value, number = read("ssrc0"), read("ssrc1")

    def step(waves):
        given = value(waves)
        bit = given >> (number(waves) & np.uint32(bits - 1)).astype(given.dtype) & given.dtype.type(1)
        waves.condition = np.broadcast_to(bit == wanted, (waves.shape[0], 1)).copy()

    return step


def _set_bit(fields, read, wanted, bits):
    dtype = np.dtype(f"u{bits // 8}")
    own, number, write = reader(fields["sdst"], dtype), read("ssrc0"), write_scalar(fields["sdst"], bits)

    def step(waves):
        bit = dtype.type(1) << (number(waves) & np.uint32(bits - 1)).astype(dtype)
        value = own(waves)
        write(waves, value | bit if wanted else value & ~bit)

    return step


def _save_active(fields, read, function, saves_active, bits):
    dtype = np.dtype(f"u{bits // 8}")
    active, operand = reader(EXEC, dtype), read("ssrc0", dtype)
    write, write_active = write_scalar(fields["sdst"], bits), write_scalar(EXEC, bits)

    def step(waves):
        before = active(waves).copy()
        after = function(operand(waves), before)
        write(waves, before if saves_active else after)
        write_active(waves, after)
        waves.condition = np.broadcast_to(after != 0, (waves.shape[0], 1)).copy()

    return step
