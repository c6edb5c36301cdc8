"""Scalars that a kernel of one thread keeps to itself while it runs phases.

Each lies on the thread's stack instead of at its place in the device's memory. As nothing else can see it there, compilers keep
it in a register from one phase to the next, and through loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from ...hlo import ElementType, Shape
from ..llvm.arrays import Array
from ..llvm.index import Index
from ..llvm.memory import stack_memory
from ..llvm.types import I8, I64, RegisterValue, memory_type, part_size
from .plan import Place

SCALAR_BYTES = 16  # as large as any


@dataclass(frozen=True, eq=False, kw_only=True)
class KeptScalar(Array):
    """Memory of a scalar, of which is known which register holds what was last stored there."""

    place: Place
    registers: dict[Place, ir.Value]

    def store(self, builder: ir.IRBuilder, index: Index, value: RegisterValue, lanes: int, mask: Any = None) -> None:
        super().store(builder, index, value, lanes, mask)
        if _is_the_same_in_memory(self.shape.element_type):
            assert isinstance(value, ir.Value)
            self.registers[self.place] = value
        else:
            self.registers.pop(self.place, None)


def _is_the_same_in_memory(element_type: ElementType) -> bool:
    return element_type.kind == "pred" or (not element_type.is_complex and element_type.bits >= 32)


class OwnScalars:
    """The scalars of these places; ``outside`` is where those are that others read or write, too."""

    def __init__(self, builder: ir.IRBuilder, shapes: Mapping[Place, Shape], outside: Mapping[Place, ir.Value]) -> None:
        self.builder, self.shapes, self.outside = builder, shapes, outside
        self.pointers = {place: stack_memory(builder, SCALAR_BYTES, SCALAR_BYTES) for place in shapes}

    def fetch(self) -> None:
        """Take over what others have written."""
        for place, pointer in self.outside.items():
            self._store(place, self.pointers[place], self._load(place, pointer))

    def hand_on(self) -> None:
        """Write what others read."""
        for place, pointer in self.outside.items():
            self._store(place, pointer, self._load(place, self.pointers[place]))

    def save(self, memory: ir.Value) -> None:
        """Write down all of them."""
        for place, saved in self._saved(memory):
            self._store(place, saved, self._load(place, self.pointers[place]))

    def restore(self, memory: ir.Value, is_saved: ir.Value) -> None:
        """Take over what was written down, if anything was; else what others have written."""
        for place, saved in self._saved(memory):
            values = self._load(place, saved)
            if place in self.outside:
                others = self._load(place, self.outside[place])
                values = [self.builder.select(is_saved, value, other) for value, other in zip(values, others)]
            self._store(place, self.pointers[place], values)

    def _saved(self, memory: ir.Value) -> Iterator[tuple[Place, ir.Value]]:
        for number, place in enumerate(self.shapes):
            yield place, self.builder.gep(memory, [I64(number * SCALAR_BYTES)], source_etype=I8)

    # As the types in which phases read and write it, so that it needs no conversions in registers.

    def _load(self, place: Place, pointer: ir.Value) -> list[ir.Value]:
        part = memory_type(self.shapes[place].element_type)
        return [self.builder.load(address, typ=part, align=part_size(part)) for address in self._parts(place, pointer)]

    def _store(self, place: Place, pointer: ir.Value, values: list[ir.Value]) -> None:
        part = memory_type(self.shapes[place].element_type)
        for value, address in zip(values, self._parts(place, pointer)):
            self.builder.store(value, address, align=part_size(part))

    def _parts(self, place: Place, pointer: ir.Value) -> list[ir.Value]:
        element_type = self.shapes[place].element_type
        size = part_size(memory_type(element_type))
        count = 2 if element_type.is_complex else 1
        return [self.builder.gep(pointer, [I64(number * size)], source_etype=I8) for number in range(count)]
