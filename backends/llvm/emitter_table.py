"""Which function emits an operation, in which forms, and the memory that it needs meanwhile: a table for each backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from ...hlo import Instruction
from .elemental import INDEX_RULES
from .elementwise import ELEMENTWISE_EMITTERS

Emitter = TypeVar("Emitter")


class EmitterTable(Generic[Emitter]):
    """The ``emitters`` of a backend by opcode, filled by the files that have them.

    ``forms`` says of some operations which instructions can be emitted, ``scratch`` how many bytes some need for themselves.
    """

    def __init__(self) -> None:
        self.emitters: dict[str, Emitter] = {}
        self.forms: dict[str, Callable[[Instruction], bool]] = {}
        self.scratch: dict[str, Callable[[Instruction], int]] = {}

    def add(
        self,
        opcode: str,
        emit: Emitter,
        scratch: Callable[[Instruction], int] | None = None,
        is_native: Callable[[Instruction], bool] | None = None,
    ) -> None:
        """Let a function emit an operation. Raises ValueError where another one does."""
        if opcode in self.emitters:
            raise ValueError(f"operation {opcode} has two emitters")
        self.emitters[opcode] = emit
        if scratch is not None:
            self.scratch[opcode] = scratch
        if is_native is not None:
            self.forms[opcode] = is_native

    def has_emitter(self, opcode: str) -> bool:
        """Whether there is code for some form of an operation. A parameter is an argument."""
        tables = (self.emitters, ELEMENTWISE_EMITTERS, INDEX_RULES)
        return opcode == "parameter" or any(opcode in table for table in tables)

    def has_code(self, instruction: Instruction) -> bool:
        """Whether the instruction can be emitted as it is."""
        form = self.forms.get(instruction.opcode)
        return self.has_emitter(instruction.opcode) and (form is None or form(instruction))

    def scratch_bytes(self, instruction: Instruction) -> int:
        """The memory that an instruction needs for itself while it runs."""
        own = self.scratch.get(instruction.opcode)
        return 0 if own is None else own(instruction)
