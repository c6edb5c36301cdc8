"""Which function emits an operation, and the memory that it needs meanwhile: filled by the files that have one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...hlo import Instruction
from ...hlo.operation import HOST_CALL
from ..llvm.emitter_table import EmitterTable

if TYPE_CHECKING:
    from .frame import Frame
    from .target import Target
    from .values import Leaf, Values

Emitter = Callable[["Frame", Instruction, "Values"], "list[Leaf]"]

_TABLE: EmitterTable[Emitter] = EmitterTable()
EMITTERS = _TABLE.emitters
has_emitter, has_code = _TABLE.has_emitter, _TABLE.has_code
# Of operations that need other memory where results are to be the same from run to run.
_ORDERED_SCRATCH: dict[str, Callable[[Instruction, bool], int]] = {}


def scratch_bytes(instruction: Instruction, is_deterministic: bool = True) -> int:
    """The memory that an instruction needs for itself while it runs."""
    own = _ORDERED_SCRATCH.get(instruction.opcode)
    return _TABLE.scratch_bytes(instruction) if own is None else own(instruction, is_deterministic)


def emits(
    *opcodes: str,
    scratch: Callable[[Instruction], int] | None = None,
    is_native: Callable[[Instruction], bool] | None = None,
    ordered_scratch: Callable[[Instruction, bool], int] | None = None,
) -> Callable[[Emitter], Emitter]:
    """Decorator: the function turns these operations into steps of the plan, and returns where the leaves of the result are.

    An instruction needs ``scratch`` bytes of memory for itself, or ``ordered_scratch``, which is told whether results are to be
    the same from run to run; ``is_native`` says which of them it can emit, if not all.
    """

    def register(emit: Emitter) -> Emitter:
        for opcode in opcodes:
            _TABLE.add(opcode, emit, scratch, is_native)
            if ordered_scratch is not None:
                _ORDERED_SCRATCH[opcode] = ordered_scratch
        return emit

    return register


# Emits what has a loop nest of its own, or is a scalar: every operation that is not in the table.
ELEMENTS = "elements"


@dataclass(frozen=True)
class ProcessorForm:
    """How an operation is emitted for devices that are processors, and the memory that it needs meanwhile."""

    emit: Emitter
    is_for: Callable[[Instruction], bool]
    scratch: Callable[[Instruction], int]


ON_PROCESSORS: dict[str, ProcessorForm] = {}


def scratch_bytes_on(target: Target, is_deterministic: bool = True) -> Callable[[Instruction], int]:
    """The memory that an instruction needs for itself on a device."""

    def most(instruction: Instruction) -> int:
        form = _processor_form(target, instruction)
        return scratch_bytes(instruction, is_deterministic) if form is None else form.scratch(instruction)

    return most


def _processor_form(target: Target, instruction: Instruction) -> ProcessorForm | None:
    if target.processor is None:
        return None
    form = ON_PROCESSORS.get(instruction.opcode if instruction.opcode in EMITTERS else ELEMENTS)
    return form if form is not None and form.is_for(instruction) else None


def emitter_in(frame: Frame, instruction: Instruction) -> Emitter:
    """The function that emits an instruction for the frame's target. Raises NotImplementedError where there is none."""
    form = _processor_form(frame.target, instruction)
    return emitter_of(instruction) if form is None else form.emit


def emitter_of(instruction: Instruction) -> Emitter:
    """The function that emits an instruction on any device. Raises NotImplementedError where there is none."""
    if not has_code(instruction):
        if instruction.has_trait(HOST_CALL):
            return EMITTERS[HOST_CALL]
        raise NotImplementedError(f"{instruction!r} has no code for GPUs; the backends cpu and reference run it")
    return EMITTERS.get(instruction.opcode, EMITTERS[ELEMENTS])
