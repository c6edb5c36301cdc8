"""Matrix instructions: MFMA of CDNA, of which waves of 64 lanes hold the matrices, and WMMA of RDNA 3.

Who holds which element is as AMD's documents have it: "CDNA3 Instruction Set Architecture", 7.1, and "RDNA3 Instruction Set
Architecture", 7.9, with AMD's Matrix Instruction Calculator, which prints the places for each instruction.
"""

from __future__ import annotations

import re

import numpy as np

from .floats import flushed
from .instructions import FIRST_VGPR, Instruction
from .operands import reader

ACCUMULATION = 256  # where the registers for it begin


def _widened_bf16(bits):
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _shortened_f32(bits):
    """XF32: f32 of which 10 bits of the fraction are read."""
    return (bits + np.uint32(0xFFF) + (bits >> np.uint32(13) & np.uint32(1)) & ~np.uint32(0x1FFF)).view(np.float32)


# How the words of a lane are taken apart, and what the parts are.
_ELEMENTS = {
    "F64": (np.uint64, lambda bits: bits.view(np.float64)),
    "F32": (np.uint32, lambda bits: bits.view(np.float32)),
    "XF32": (np.uint32, _shortened_f32),
    "F16": (np.uint16, lambda bits: bits.view(np.float16)),
    "BF16": (np.uint16, _widened_bf16),
    "I8": (np.uint8, lambda bits: bits.view(np.int8)),
    "U8": (np.uint8, lambda bits: bits),
}
_WIDE = {"F64": np.float64, "F32": np.float64, "I32": np.int64}
_SUMS = {"F64": np.float64, "F32": np.float32, "I32": np.int32}


def _elements(waves, at, words, kind):
    """By wave, lane and element: what so many registers of a lane hold."""
    raw = np.ascontiguousarray(np.moveaxis(waves.vector[at : at + words], 0, -1))
    part, decode = _ELEMENTS[kind]
    return decode(raw.view(part))


def _sums(waves, code, at, words, kind):
    """The matrix that products are added to: in registers, or a number for all elements."""
    dtype = np.dtype(_SUMS[kind])
    if FIRST_VGPR <= code:
        raw = np.ascontiguousarray(np.moveaxis(waves.vector[at : at + words], 0, -1))
        return raw.view(dtype)
    return np.broadcast_to(reader(code, dtype)(waves)[..., None], (*waves.shape, words * 4 // dtype.itemsize))


def _write(waves, at, values):
    words = np.ascontiguousarray(values).view(np.uint32)
    waves.vector[at : at + words.shape[2]] = np.moveaxis(words, -1, 0)


def matrix_step(instruction: Instruction, architecture: str):
    """A function that runs the instruction for waves; all lanes take part, active or not. Raises NotImplementedError."""
    name = instruction.name
    if "ACCVGPR" in name:
        return _move(instruction)
    if match := re.fullmatch(r"V_MFMA_(F64|F32|I32)_(\d+)X(\d+)X(\d+)_(\w+)", name):
        sums, rows, columns, terms, kind = match[1], *map(int, match.group(2, 3, 4)), match[5]
        if (rows, columns) in ((32, 32), (16, 16)) and kind in _ELEMENTS:
            return _mfma(instruction, sums, rows, terms, kind, architecture)
    if match := re.fullmatch(r"V_WMMA_(F32|I32)_16X16X16_(F16|BF16|IU8)", name):
        return _wmma(instruction, match[1], match[2])
    raise NotImplementedError(f"the instruction {name}")


def _mfma(instruction, sums, side, terms, kind, architecture):
    # The fields of these instructions lie where the modifiers of others are.
    accumulates, of_accumulation = instruction.clmp, instruction.opsel_hi
    if instruction.neg or instruction.neg_hi or instruction.opsel or instruction.opsel_hi2:
        raise NotImplementedError(f"{instruction.name} with matrices repeated or permuted")
    groups = 64 // side
    per_lane = terms // groups  # terms that a lane has
    if per_lane * groups != terms or per_lane == 0:
        raise NotImplementedError(f"{instruction.name}: several matrices")
    size = np.dtype(_ELEMENTS[kind][0]).itemsize
    words = per_lane * size // 4
    if words * 4 != per_lane * size:
        raise NotImplementedError(f"{instruction.name}: parts of registers")
    left = instruction.src0 - FIRST_VGPR + ACCUMULATION * (of_accumulation & 1)
    right = instruction.src1 - FIRST_VGPR + ACCUMULATION * (of_accumulation >> 1)
    start = instruction.src2 - FIRST_VGPR + ACCUMULATION * accumulates
    to = instruction.vdst - FIRST_VGPR + ACCUMULATION * accumulates
    results = side * side // 64  # of a lane
    lane, number = np.arange(64), np.arange(results)
    rows = _rows_of_f64(lane, number, side) if sums == "F64" else _rows(lane, number, side)
    columns = np.broadcast_to(lane[:, None] % side, rows.shape)
    # Those of CDNA 2 take subnormal numbers of 16 bits for zero.
    flushes = architecture == "gfx90a" and kind in ("F16", "BF16")
    words_of_sums = results * np.dtype(_SUMS[sums]).itemsize // 4

    def step(waves):
        # By wave, row (or column), and term: lanes that are `side` apart have the terms that follow.
        matrices = []
        for at in (left, right):
            elements = _elements(waves, at, words, kind)
            if flushes:
                elements = flushed(elements)
            elements = elements.reshape(-1, groups, side, per_lane).transpose(0, 2, 1, 3)
            matrices.append(elements.reshape(-1, side, terms).astype(_WIDE[sums]))
        product = matrices[0] @ matrices[1].transpose(0, 2, 1)
        total = product[:, rows, columns] + _sums(waves, instruction.src2, start, words_of_sums, sums)
        _write(waves, to, total.astype(_SUMS[sums]))

    return step


def _rows(lane, number, side):
    """Four rows of a lane follow each other; those of all lanes, before its next four."""
    return 4 * (64 // side) * (number // 4) + 4 * (lane[:, None] // side) + number % 4


def _rows_of_f64(lane, number, side):
    return 64 // side * number + lane[:, None] // side


def _wmma(instruction, sums, kind):
    if instruction.opsel or instruction.neg_hi or instruction.clmp or (kind != "IU8" and instruction.neg):
        raise NotImplementedError(f"{instruction.name} with modifiers")
    kinds = [kind, kind]
    if kind == "IU8":
        kinds = ["I8" if instruction.neg >> number & 1 else "U8" for number in range(2)]
    words = 4 if kind == "IU8" else 8
    sources = [instruction.fields[name] - FIRST_VGPR for name in ("src0", "src1")]
    start, to = instruction.src2 - FIRST_VGPR, instruction.vdst - FIRST_VGPR
    lane, number = np.arange(32), np.arange(8)
    rows = 2 * number + lane[:, None] // 16
    columns = np.broadcast_to(lane[:, None] % 16, rows.shape)

    def step(waves):
        matrices = []
        for at, one in zip(sources, kinds):
            words_of = waves.vector[at : at + words]
            assert (words_of[:, :, :16] == words_of[:, :, 16:]).all(), "both halves of a wave have to hold the same elements"
            matrices.append(_elements(waves, at, words, one)[:, :16].astype(_WIDE[sums]))
        a, b = matrices
        total = (a @ b.transpose(0, 2, 1))[:, rows, columns] + _sums(waves, instruction.src2, start, 8, sums)
        _write(waves, to, total.astype(_SUMS[sums]))

    return step


def _move(instruction):
    """Between registers for accumulation and others."""
    to, source = instruction.vdst - FIRST_VGPR, instruction.src0
    if "READ" not in instruction.name:
        to += ACCUMULATION
    if "WRITE" not in instruction.name and source >= FIRST_VGPR:
        source += ACCUMULATION
    read = reader(source, np.dtype(np.uint32), instruction.fields.get("literal"))
    return lambda waves: waves.set_vector(to, read(waves))
