"""Which function emits an operation, and the memory that it needs meanwhile: filled by the files that have one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...hlo import Instruction
from ...hlo.operation import HOST_CALL
from ..llvm.elemental import INDEX_RULES
from ..llvm.elementwise import ELEMENTWISE_EMITTERS

if TYPE_CHECKING:
    from .frame import Frame, Leaf, Values

Emitter = Callable[["Frame", Instruction, "Values"], "list[Leaf]"]

EMITTERS: dict[str, Emitter] = {}
_FORMS: dict[str, Callable[[Instruction], bool]] = {}
_SCRATCH_BYTES: dict[str, Callable[[Instruction], int]] = {}


def emits(
    *opcodes: str,
    scratch: Callable[[Instruction], int] | None = None,
    is_native: Callable[[Instruction], bool] | None = None,
) -> Callable[[Emitter], Emitter]:
    """Decorator: the function turns these operations into steps of the plan, and returns where the leaves of the result are.

    An instruction needs ``scratch`` bytes of memory for itself; ``is_native`` says which of them it can emit, if not all.
    """

    def register(emit: Emitter) -> Emitter:
        for opcode in opcodes:
            if opcode in EMITTERS:
                raise ValueError(f"operation {opcode} has two emitters")
            EMITTERS[opcode] = emit
            if scratch is not None:
                _SCRATCH_BYTES[opcode] = scratch
            if is_native is not None:
                _FORMS[opcode] = is_native
        return emit

    return register


# Emits what has a loop nest of its own, or is a scalar: every operation that is not in the table.
ELEMENTS = "elements"


def has_emitter(opcode: str) -> bool:
    """Whether there is code for some form of an operation. A parameter is an argument."""
    return opcode == "parameter" or any(opcode in table for table in (EMITTERS, ELEMENTWISE_EMITTERS, INDEX_RULES))


def has_code(instruction: Instruction) -> bool:
    """Whether the instruction can be emitted as it is."""
    form = _FORMS.get(instruction.opcode)
    return has_emitter(instruction.opcode) and (form is None or form(instruction))


def emitter_of(instruction: Instruction) -> Emitter:
    """The function that emits an instruction. Raises NotImplementedError where there is none."""
    if not has_code(instruction):
        if instruction.has_trait(HOST_CALL):
            return EMITTERS[HOST_CALL]
        raise NotImplementedError(f"{instruction!r} has no code for GPUs; the backends cpu and reference run it")
    return EMITTERS.get(instruction.opcode, EMITTERS[ELEMENTS])


def scratch_bytes(instruction: Instruction) -> int:
    """The memory that an instruction needs for itself while it runs."""
    own = _SCRATCH_BYTES.get(instruction.opcode)
    return 0 if own is None else own(instruction)
