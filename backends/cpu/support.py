"""What the CPU backend has code for: operations, and the forms of them."""

from __future__ import annotations

from ...compile.expansion import support_of
from ...hlo import Instruction
from . import control_flow, operations, regions  # noqa: F401  (importing them fills the table of emitters)
from .emitter_table import has_code, has_emitter


def is_native(instruction: Instruction) -> bool:
    """Whether the instruction of a program may stay as it is.

    A fusion is cut anew: that of a program was cut for another compiler.
    """
    return instruction.opcode != "fusion" and has_code(instruction)


def support(opcode: str) -> str | None:
    """ "native", "expanded", "host call", or None for an operation that compiling refuses.

    >>> support("dot"), support("topk"), support("batch-norm-grad")
    ('native', 'native', 'expanded')
    """
    return support_of(opcode, has_emitter)
