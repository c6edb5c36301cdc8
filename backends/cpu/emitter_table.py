"""Which function emits an operation, and the memory that it needs meanwhile: filled by the files that have one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ...hlo import Instruction
from ...hlo.operation import HOST_CALL
from ..llvm.emitter_table import EmitterTable

if TYPE_CHECKING:
    from .frame import Frame, Leaf, Values

Emitter = Callable[["Frame", Instruction, "Values"], list["Leaf"]]

_TABLE: EmitterTable[Emitter] = EmitterTable()
EMITTERS = _TABLE.emitters
has_emitter, has_code, scratch_bytes = _TABLE.has_emitter, _TABLE.has_code, _TABLE.scratch_bytes
_SHARED: dict[str, Emitter] = {}
_JOINING_ROW_GROUPS: set[str] = set()


def emits(
    opcode: str,
    scratch: Callable[[Instruction], int] | None = None,
    is_native: Callable[[Instruction], bool] | None = None,
    joins_row_groups: bool = False,
) -> Callable[[Emitter], Emitter]:
    """Decorator: the function emits this operation.

    Its instructions need ``scratch`` bytes of memory for themselves; ``is_native`` says which of them it can emit, if not all.
    With ``joins_row_groups`` it hands its regions to the row groups, and else what they hold is emitted before.
    """

    def register(emit: Emitter) -> Emitter:
        _TABLE.add(opcode, emit, scratch, is_native)
        if joins_row_groups:
            _JOINING_ROW_GROUPS.add(opcode)
        return emit

    return register


def emits_elements(**forms: Callable[[Instruction], bool]) -> Callable[[Emitter], Emitter]:
    """Decorator: the function emits every operation that has no emitter of its own; of some, certain forms."""
    _TABLE.forms.update(forms)
    return partial(_SHARED.setdefault, "elements")


def emits_host_calls(**scratch: Callable[[Instruction], int]) -> Callable[[Emitter], Emitter]:
    """Decorator: the function emits every operation that Python evaluates; some need memory for themselves."""
    _TABLE.scratch.update({name.replace("_", "-"): size for name, size in scratch.items()})
    return partial(_SHARED.setdefault, "host calls")


def emitter_of(instruction: Instruction) -> Emitter:
    """The function that emits an instruction. Raises NotImplementedError where there is none."""
    if instruction.has_trait(HOST_CALL):
        return _SHARED["host calls"]
    if not has_code(instruction):
        raise NotImplementedError(f"{instruction!r} has no native code; the reference backend runs it")
    return EMITTERS.get(instruction.opcode, _SHARED["elements"])


def joins_row_groups(instruction: Instruction) -> bool:
    """Whether the instruction's emitter hands its regions to the row groups, or makes them emit what they hold."""
    return instruction.opcode in _JOINING_ROW_GROUPS
