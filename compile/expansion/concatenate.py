"""Concatenate of very many operands as one of concatenates."""

from __future__ import annotations

from math import isqrt

from ... import hlo
from ...hlo import Instruction
from ..traversal import on_operands
from .table import expansion


@expansion("concatenate")
def expand_concatenate(concatenate: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """concatenate(w, x, y, z) -> concatenate(concatenate(w, x), concatenate(y, z)), as many groups as operands in each"""
    if len(operands) < 4:
        return on_operands(concatenate, operands)
    size = isqrt(len(operands))
    attributes = concatenate.attributes
    joined = [hlo.concatenate(*operands[i : i + size], **attributes) for i in range(0, len(operands), size)]
    return hlo.concatenate(*joined, **attributes)
