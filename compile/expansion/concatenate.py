"""Concatenate of very many operands as one of concatenates."""

from __future__ import annotations

from ...hlo import Builder, Instruction
from ..fusion_policy import MOST_CONCATENATED
from ..traversal import on_operands
from .table import expansion


@expansion("concatenate")
def expand_concatenate(b: Builder, concatenate: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """concatenate(w, x, y, z) -> concatenate(concatenate(w, x), concatenate(y, z)), with groups of many operands"""
    if len(operands) <= MOST_CONCATENATED:
        return on_operands(concatenate, operands)
    groups = -(-len(operands) // MOST_CONCATENATED)
    size = -(-len(operands) // groups)
    attributes = concatenate.attributes
    joined = [b.emit("concatenate", *operands[i : i + size], **attributes) for i in range(0, len(operands), size)]
    return b.emit("concatenate", *joined, **attributes)
