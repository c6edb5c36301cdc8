"""What a scatter is given, indices and updates: in memory, computed where they are needed, or computed a block at a time."""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from ...compile.fused_computations import producers
from ...hlo import Computation, Instruction, Shape
from ...hlo.instruction import post_order
from ..llvm import index as indices
from ..llvm.arrays import Array, stack_array
from ..llvm.elemental import Binding, ElementalEmitter
from ..llvm.elementary_calls import lanes_for_calls
from ..llvm.index import Base, Component, Index
from ..llvm.scalar_control_flow import has_control_flow
from ..llvm.types import RegisterValue, register_bytes
from .target import Target

# What costs more than this is computed by vectors and kept until it is needed: about what writing and reading it takes.
_MOST_COST_AT_ONCE = 5.0


class Stored:
    """Indices and updates that lie in memory."""

    is_costly = False

    def __init__(self, indices: Array, updates: list[Array]) -> None:
        self.indices, self.updates = indices, updates

    def start(self, b: ir.IRBuilder, index: Index, lanes: int, mask: ir.Value | None) -> ir.Value:
        return self.indices.load(b, index, lanes, mask)

    def elements(self, b: ir.IRBuilder, index: Index, lanes: int, mask: ir.Value | None) -> list[RegisterValue]:
        return [update.load(b, index, lanes, mask) for update in self.updates]

    def lie_side_by_side(self, of_updates: int, of_indices: int | None = None) -> bool:
        """Whether those along these dimensions make vectors."""
        is_contiguous = of_indices is None or self.indices.strides[of_indices] == 1
        return is_contiguous and all(update.strides[of_updates] == 1 for update in self.updates)


class Computed:
    """Indices and updates whose elements are computed where they are needed; ``is_costly`` where some take long."""

    def __init__(self, computation: Computation, bindings: dict[Instruction, Binding]) -> None:
        _, self.indices, self.updates = computation.root.operands
        self.computation, self._bindings = computation, bindings
        self.costly = tuple(_cost(operand) > _MOST_COST_AT_ONCE for operand in (self.indices, self.updates))
        self.is_costly = any(self.costly)

    def start(self, b: ir.IRBuilder, index: Index, lanes: int, mask: ir.Value | None) -> ir.Value:
        return ElementalEmitter(b, lanes, self._bindings).emit(self.indices, index, mask)

    def elements(self, b: ir.IRBuilder, index: Index, lanes: int, mask: ir.Value | None) -> list[RegisterValue]:
        return [ElementalEmitter(b, lanes, self._bindings).emit(self.updates, index, mask)]

    def lie_side_by_side(self, of_updates: int, of_indices: int | None = None) -> bool:
        """Any elements can be computed as vectors."""
        return True

    def lanes(self, module: ir.Module, target: Target, size: int) -> int:
        """How many indices and updates of so many are computed at once."""
        computed = producers(self.computation, self.computation.root.operands[1:])
        if has_control_flow([computed]):
            return 1
        inside = (one for one in computed.instructions if not one.shape.is_tuple)
        lanes = target.lanes(max(register_bytes(one.shape.element_type) for one in inside), size)
        return lanes_for_calls(module, computed, lanes, size)


def _cost(instruction: Instruction) -> float:
    return sum(one.operation.cost or 0.0 for one in post_order(instruction))


@dataclass
class Block:
    """Those of the indices and updates that are costly, of some that follow one another: computed, from the ``first`` on.

    ``indices`` is an array for each of the numbers of an index, ``updates`` one for the updates; None where they are not kept.
    """

    indices: list[Array] | None
    updates: Array | None
    first: Base = 0

    def place(self, builder: ir.IRBuilder, component: Component) -> Index:
        """Where what belongs to an update is, by its index along the last dimension."""
        return (indices.add(builder, component, indices.multiply_base(builder, self.first, -1)),)


def block_of(builder: ir.IRBuilder, given: Computed, size: int, numbers: int) -> Block:
    """Memory for a block of so many updates, whose indices have so many numbers."""

    def memory(operand: Instruction) -> Array:
        return stack_array(builder, Shape(operand.shape.element_type, (size,)))

    costly_indices, costly_updates = given.costly
    return Block(
        [memory(given.indices) for _ in range(numbers)] if costly_indices else None,
        memory(given.updates) if costly_updates else None,
    )
