"""Machine code of AMD's devices, taken apart: tinygrad's tables, made from AMD's machine-readable ISA documents, say how."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from tinygrad.renderer.amd import decode_inst
from tinygrad.renderer.amd.dsl import FixedBitField, VGPRField

FIRST_VGPR = 256  # in the numbering of sources
LITERAL = 255

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
# Of RDNA3, missing in the tables: what keeps caches coherent, which is all the same here.
_COHERENCE = {0xE0AC: "BUFFER_GL0_INV", 0xE0B0: "BUFFER_GL1_INV"}


@dataclass(frozen=True)
class Instruction:
    """An instruction. ``fields`` are its bit fields, registers in the numbering of sources, where vector registers begin at 256.

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
    high = int.from_bytes(data[2:4], "little")
    if is_rdna(architecture) and high in _COHERENCE:
        return Instruction(_COHERENCE[high], "MUBUF", "", 8, {})
    name = _OF_GFX90A.get(high) if architecture == "gfx90a" else None
    if name:  # the fields are those of an instruction with as many operands
        data = data[:2] + (0xD1CB).to_bytes(2, "little") + data[4:]
    try:
        found = decode_inst(data[:16], "rdna3" if is_rdna(architecture) else "cdna")
    except (ValueError, AssertionError):
        raise NotImplementedError(f"machine code {data[:8].hex()} of {architecture} is not known") from None
    if architecture == "gfx90a" and high >> 7 == _VOP3P:
        name = _MATRIX_OF_GFX90A.get(high & 0x7F)
    instruction = _instruction(found, name)
    if architecture == "gfx90a" and instruction.name in _OTHERS_OF_GFX90A:
        of_floats = dict.fromkeys(instruction.formats, "F32")
        return replace(instruction, name=_OTHERS_OF_GFX90A[instruction.name], formats=of_floats)
    return instruction


def _instruction(found, name: str | None) -> Instruction:
    form, _, variant = type(found).__name__.partition("_")
    fields = {}
    for label, one in found._fields:
        if isinstance(one, FixedBitField) or label in ("op", "opx", "opy"):
            continue
        value = found._raw >> one.lo & one.mask
        if label == "vdsty":
            value = found.vdsty.offset
        elif label in ("sbase", "srsrc"):
            value *= 2 if label == "sbase" else 4
        elif isinstance(one, VGPRField):
            value += FIRST_VGPR
        fields[label] = value
    if form == "VOPD":
        name = f"{found.opx.name} {found.opy.name}"
    operands = found.operands if form != "VOPD" else {}
    widths = found.op_bits if form != "VOPD" else {}
    return Instruction(
        re.sub(r"_E(32|64)$", "", name or found.op.name),
        form,
        variant.replace("SDST", "").replace("LIT", "").replace("MFMA", "").strip("_"),
        found.size(),
        fields,
        {label: kind.name.removeprefix("FMT_").removeprefix("NUM_") for label, (kind, *_) in operands.items()},
        dict(widths),
    )
