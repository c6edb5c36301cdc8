"""Machine code of AMD's devices, taken apart: tinygrad's tables, made from AMD's machine-readable ISA documents, say how."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field, replace

from tinygrad.renderer.amd import decode_inst
from tinygrad.renderer.amd.dsl import FixedBitField, VGPRField

FIRST_VGPR = 256  # in the numbering of sources
LITERAL = 255
_OF_EIGHT = {233, 234}
_MARKS = {*_OF_EIGHT, 249, 250, LITERAL}  # sources that stand for more words of the instruction

# Instructions of gfx90a that its successors, whose tables these are, do not have, or have others in their places.
_OF_GFX90A = {0xD1C1: "V_MAD_F32"}
_OTHERS_OF_GFX90A = {"V_DOT2C_F32_BF16": "V_MAC_F32", "V_FMAMK_F32": "V_MADMK_F32", "V_FMAAK_F32": "V_MADAK_F32"}
_MATRIX_OF_GFX90A = {
    0x54: "V_MFMA_I32_32X32X8_I8",
    0x55: "V_MFMA_I32_16X16X16_I8",
    0x66: "V_MFMA_F32_32X32X8_BF16",
    0x67: "V_MFMA_F32_16X16X16_BF16",
}
_VOP3P = 0x1A7  # the upper bits of an instruction of this form
# What keeps caches coherent, which is all the same here, and is missing in the tables.
_COHERENCE = {
    "gfx90a": {0xE0FC: "BUFFER_WBINVL1_VOL", 0xE0A0: "BUFFER_WBL2", 0xE0A4: "BUFFER_INVL2"},
    "gfx1100": {0xE0AC: "BUFFER_GL0_INV", 0xE0B0: "BUFFER_GL1_INV"},
}


@dataclass(frozen=True)
class Instruction:
    """An instruction.

    ``fields`` are its bit fields, registers in the numbering of sources, where vector registers begin at 256.
    ``formats`` are those of its operands, such as ``F32`` or ``U64``, and ``widths`` how many bits these are; ``form`` is the
    encoding: VOP2, SMEM; ``variant`` is DPP16, SDWA, or nothing.
    """

    name: str
    form: str
    variant: str
    size: int
    fields: dict[str, int]
    formats: dict[str, str] = field(default_factory=dict)
    widths: dict[str, int] = field(default_factory=dict)

    def __getattr__(self, name: str) -> int:
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(f"{self.name} has no field {name}") from None

    def get(self, name: str, default: int = 0) -> int:
        return self.fields.get(name, default)


def is_rdna(architecture: str) -> bool:
    return architecture.startswith("gfx11")


def decode(data: bytes, architecture: str) -> Instruction:
    """The instruction at the beginning of machine code. Raises NotImplementedError for what is none that is known."""
    low, high = int.from_bytes(data[:4], "little"), int.from_bytes(data[2:4], "little")
    if (name := _COHERENCE.get(architecture, {}).get(high)) is not None:
        return Instruction(name, "MUBUF", "", 8, {})
    name = _OF_GFX90A.get(high) if architecture == "gfx90a" else None
    if name:  # the fields are those of an instruction with as many operands
        data = data[:2] + (0xD1CB).to_bytes(2, "little") + data[4:]
    try:
        kind = _kind(low, data, "rdna3" if is_rdna(architecture) else "cdna")
    except (ValueError, AssertionError):
        raise NotImplementedError(f"machine code {data[:8].hex()} of {architecture} is not known") from None
    instruction = _instruction(kind, int.from_bytes(data[: kind.size], "little"))
    if architecture != "gfx90a":
        return instruction
    if high >> 7 == _VOP3P:
        name = _MATRIX_OF_GFX90A.get(high & 0x7F)
    if instruction.name in _OTHERS_OF_GFX90A:
        name = _OTHERS_OF_GFX90A[instruction.name]
        return replace(instruction, name=name, formats=dict.fromkeys(instruction.formats, "F32"))
    return replace(instruction, name=name) if name else instruction


@dataclass(frozen=True)
class _Kind:
    """What instructions have in common that differ in the values of fields: their places, by name, with their masks."""

    name: str
    form: str
    variant: str
    size: int
    places: tuple[tuple[str, int, int], ...]
    vectors: frozenset[str]
    formats: dict[str, str]
    widths: dict[str, int]


_kinds: dict[tuple, _Kind] = {}


def _kind(low: int, data: bytes, tables: str) -> _Kind:
    """Looked up by the bits that say which instruction it is, and whether sources are literals or lanes exchanged."""
    marks = low & 0xFF if low & 0xFF in _MARKS else 0, low >> 8 & 0xFF == LITERAL
    if low >> 31 == 0:  # VOP1, VOPC, VOP2
        upper = low >> 25
        opcode = {0x3F: low >> 9 & 0xFF, 0x3E: low >> 17 & 0xFF}.get(upper, 0)
        key = tables, upper, opcode, marks[0] if low & 0x100 == 0 else 0
    elif low >> 30 == 2:
        key = tables, low >> 8, *marks
    else:
        second = int.from_bytes(data[4:8], "little")
        sources = [second >> shift & 0x1FF for shift in (0, 9, 18)]
        key = tables, low >> 14, *[one if one in _MARKS else 0 for one in (*sources, low & 0x1FF)]
    found = _kinds.get(key)
    if found is None:
        found = _kinds[key] = _kind_of(_with_lanes_in_eights(decode_inst(data[:16], tables), data))
    return found


def _with_lanes_in_eights(found, data: bytes):
    """DPP8, which the tables of RDNA 3 have, and their reader does not see."""
    source = getattr(found, "src0", None)
    if source is None or source.offset not in _OF_EIGHT or "rdna" not in type(found).__module__:
        return found
    return getattr(sys.modules[type(found).__module__], f"{type(found).__name__}_DPP8").from_bytes(data[:16])


def _kind_of(found) -> _Kind:
    form, _, variant = type(found).__name__.partition("_")
    is_double = form == "VOPD"
    fields = [
        (label, one) for label, one in found._fields if not isinstance(one, FixedBitField) and label not in ("op", "opx", "opy")
    ]
    operands = {} if is_double else found.operands
    return _Kind(
        f"{found.opx.name} {found.opy.name}" if is_double else re.sub(r"_E(32|64)$", "", found.op.name),
        form,
        variant.replace("SDST", "").replace("LIT", "").replace("MFMA", "").strip("_"),
        found.size(),
        tuple([(label, one.lo, one.mask) for label, one in fields]),
        frozenset([label for label, one in fields if isinstance(one, VGPRField)]),
        {label: kind.name.removeprefix("FMT_").removeprefix("NUM_") for label, (kind, *_) in operands.items()},
        {} if is_double else dict(found.op_bits),
    )


def _instruction(kind: _Kind, raw: int) -> Instruction:
    fields = {label: (raw >> low & mask) + FIRST_VGPR * (label in kind.vectors) for label, low, mask in kind.places}
    if "vdsty" in fields:  # of two destinations one is even and one is odd
        fields["vdsty"] = FIRST_VGPR + (fields["vdsty"] << 1 | fields["vdstx"] & 1 ^ 1)
    for label, unit in (("sbase", 2), ("srsrc", 4)):
        if label in fields:
            fields[label] *= unit
    return Instruction(kind.name, kind.form, kind.variant, kind.size, fields, kind.formats, kind.widths)
