"""Operands of instructions: functions of waves that read them, with a type, and write them."""

from __future__ import annotations

import struct

import numpy as np

from .instructions import FIRST_VGPR, LITERAL
from .waves import EXEC, VCC

_FLOATS = {240: 0.5, 241: -0.5, 242: 1.0, 243: -1.0, 244: 2.0, 245: -2.0, 246: 4.0, 247: -4.0, 248: 0.15915494309189532}
_FLOAT_FORMATS = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}
# What generic addresses of memory of a block and of a lane have in their upper half.
SHARED_APERTURE, PRIVATE_APERTURE = 0x7F010000, 0x7F020000
_APERTURES = {235: SHARED_APERTURE, 236: SHARED_APERTURE, 237: PRIVATE_APERTURE, 238: PRIVATE_APERTURE}

_TYPES = {
    "F16": np.float16, "F32": np.float32, "F64": np.float64, "U16": np.uint16, "I16": np.int16, "B16": np.uint16,
    "BF16": np.uint16, "U32": np.uint32, "I32": np.int32, "B32": np.uint32, "U64": np.uint64, "I64": np.int64,
    "B64": np.uint64,
}  # fmt: skip


def type_of(kind: str, bits: int) -> np.dtype:
    """Of an operand of this format; what is smaller than a register is taken out of it by the instruction."""
    return np.dtype(_TYPES.get(kind) or {16: np.uint16, 64: np.uint64}.get(bits, np.uint32))


def constant(code: int, dtype: np.dtype, literal: int | None) -> np.ndarray | None:
    """An operand that is a number; None if it is a register."""
    bits = dtype.itemsize * 8
    if code == LITERAL:
        assert literal is not None
        value = literal << 32 if dtype == np.float64 else literal
        if dtype == np.int64 and literal >> 31:
            value = literal - (1 << 32)
    elif 128 <= code <= 192:
        value = code - 128
    elif 193 <= code <= 208:
        value = 192 - code
    elif code in _FLOATS:
        given, taken = _FLOAT_FORMATS[bits]
        (value,) = struct.unpack(taken, struct.pack(given, _FLOATS[code]))
    else:
        return None
    return np.array(value & ((1 << bits) - 1), f"u{bits // 8}").view(dtype).reshape(1, 1)


def reader(code: int, dtype: np.dtype, literal: int | None = None, is_high: bool = False):
    """A function of waves that returns an operand: by wave and lane, or with 1 in their places."""
    number = constant(code, dtype, literal)
    if number is not None:
        return lambda waves: number
    if code in _APERTURES:
        value = _APERTURES[code] << (32 if dtype.itemsize == 8 else 0)
        aperture = np.array(value, f"u{dtype.itemsize}").view(dtype).reshape(1, 1)
        return lambda waves: aperture
    if code == 251:
        return lambda waves: _is_zero(waves, VCC).astype(dtype)
    if code == 252:
        return lambda waves: _is_zero(waves, EXEC).astype(dtype)
    if code == 253:
        return lambda waves: waves.condition.astype(dtype)
    is_vector = code >= FIRST_VGPR
    at = code - FIRST_VGPR if is_vector else code
    if not is_vector and at >= 128:
        raise NotImplementedError(f"source {code}")

    def register(waves, number):
        return waves.vector[number] if is_vector else waves.scalar[number]

    if dtype.itemsize == 4:
        return lambda waves: register(waves, at).view(dtype)
    if dtype.itemsize == 2:
        half = int(is_high)
        return lambda waves: register(waves, at).view(dtype)[:, half::2]

    def pair(waves):
        both = np.empty((*register(waves, at).shape, 2), np.uint32)
        both[..., 0], both[..., 1] = register(waves, at), register(waves, at + 1)
        return both.view(dtype)[..., 0]

    return pair


def _is_zero(waves, at):
    low, high = waves.scalar[at], waves.scalar[at + 1]
    return (low == 0) if waves.lanes == 32 else (low | high) == 0


def write_vector(at: int, dtype: np.dtype, half: str):
    """A function that writes a result of this type to active lanes.

    ``half`` is what of a register 16 bits are: ``zero`` (and zeros above), ``low`` or ``high``, the rest staying.
    """
    if dtype.itemsize == 4:
        return lambda waves, value: waves.set_vector(at, _bits(value, np.uint32))
    if dtype.itemsize == 8:

        def pair(waves, value):
            words = np.ascontiguousarray(_bits(value, np.uint64)).view(np.uint32).reshape(*value.shape, 2)
            waves.set_vector(at, words[..., 0])
            waves.set_vector(at + 1, words[..., 1])

        return pair
    keep, shift = {"zero": (0, 0), "low": (0xFFFF0000, 0), "high": (0xFFFF, 16)}[half]

    def part(waves, value):
        bits = _bits(value, np.uint16).astype(np.uint32) << np.uint32(shift)
        waves.set_vector(at, bits | waves.vector[at] & np.uint32(keep) if keep else bits)

    return part


def _bits(value: np.ndarray, dtype: type) -> np.ndarray:
    """The value's bits; integers may come wider than they are stored."""
    if value.dtype.itemsize != np.dtype(dtype).itemsize:
        assert value.dtype.kind in "iub", value.dtype
        return value.astype(dtype)
    return value.view(dtype)


def write_scalar(at: int, width: int):
    """A function that writes a result of 32 or 64 bits to scalar registers."""

    def one(waves, value):
        waves.scalar[at] = _bits(value, np.uint32)
        waves.changed(at)

    def pair(waves, value):
        bits = np.broadcast_to(_bits(value, np.uint64), (waves.shape[0], 1))
        waves.scalar[at] = (bits & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        waves.scalar[at + 1] = (bits >> np.uint64(32)).astype(np.uint32)
        waves.changed(at)

    return pair if width == 64 else one
