"""What the GPU backends have code for: operations, and the forms of them."""

from __future__ import annotations

from ...compile.expansion import support_of
from ...hlo import Instruction
from ..cpu import emitter_table as processors
from . import control_flow, custom_kernels, kernels, operations  # noqa: F401  (importing them fills the table of emitters)
from .emitter_table import has_code, has_emitter


def is_native(instruction: Instruction) -> bool:
    """Whether the instruction of a program may stay as it is.

    A fusion is cut anew: that of a program was cut for another compiler.
    """
    return instruction.opcode != "fusion" and has_code(instruction)


def is_native_on_processors(instruction: Instruction) -> bool:
    """Likewise, for devices that are processors: what has a nest of the CPU backend's is as that takes it."""
    return processors.has_code(instruction) if instruction.opcode in kernels.nests.OPCODES else is_native(instruction)


def support(opcode: str) -> str | None:
    """ "native", "expanded", "host call", or None for an operation that compiling refuses."""
    return "expanded" if opcode == "call" else support_of(opcode, has_emitter)  # calls are inlined
