"""Long computations as several native functions, called one after the other.

LLVM takes more than linear time for long functions: an unrolled loop of a few thousand steps would take minutes. What one
part computes and another needs goes through memory, its slots; addresses of buffers are computed anew.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from llvmlite import ir

from ...hlo import Computation, Instruction, Shape
from ...hlo.operation import CONTROL_FLOW
from ..llvm.arrays import Array
from ..llvm.builder import Builder
from ..llvm.interruption import InterruptibleFunction
from ..llvm.memory import resize_stack_memory, stack_memory
from ..llvm.types import I8, I32, I64, POINTER, ComplexValue
from .arena import ALIGNMENT, Arena, BorrowedArena
from .call.python_calls import INTERRUPTED

if TYPE_CHECKING:
    from .frame import Frame, Leaf, Values

# A part ends with the instruction of HLO that brings it to so many instructions of LLVM.
_PART_LENGTH = 250
# Computations with a greater weight are emitted in parts; the weight is about a number of LLVM's instructions.
_LARGEST_WEIGHT = 800
_WEIGHT_OF_ARRAYS = 10
_LARGEST_WEIGHT_OF_ONE = 200
_SLOT_BYTES = 16


class Argument(NamedTuple):
    """An argument's leaf, of which each part that uses it finds the address or the value where the caller has left them."""

    number: int
    shape: Shape


@dataclass(frozen=True)
class NativeFunction:
    """A function that is being written.

    ``arguments`` and ``results`` are tables of pointers to the leaves' data, ``slots`` the memory in which its parts hand on
    their values, ``pointers`` those that it has read, by table and number.
    """

    builder: ir.IRBuilder
    arguments: ir.Value
    results: ir.Value
    arena: Arena | BorrowedArena
    slots: ir.Value
    pointers: dict[tuple[ir.Value, int], ir.Value] = field(default_factory=dict)


class FunctionParts:
    """Emits long computations in parts, for a frame."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self._used_bytes = 0
        # How to compute a pointer again in another function.
        self.recipes: dict[ir.Value, Callable[[], ir.Value]] = {}
        self._weights: dict[Computation, int] = {}
        self._callers: dict[ir.Function, ir.Function] = {}
        self._slot_memories: dict[ir.Function, ir.Value] = {}
        self._slots: dict[ir.Value, int] = {}
        self._loaded: dict[tuple[ir.Function, ir.Value], ir.Value] = {}
        self._arguments: dict[tuple[ir.Function, int], Leaf] = {}

    def begin(self, builder: ir.IRBuilder, computation: Computation, arena: Arena | BorrowedArena) -> ir.Value:
        """A place for the slots of a function: behind an arena that may grow, else on the stack."""
        self._used_bytes = 0
        if not self.may_be_needed(computation):
            return ir.Constant(POINTER, None)
        if isinstance(arena, Arena):
            start = -(-self.frame.assignment.arena_size // ALIGNMENT) * ALIGNMENT
            return builder.gep(arena.pointer, [I64(start)], source_etype=I8)
        return stack_memory(builder, 0, _SLOT_BYTES)

    def end(self) -> None:
        """Give the memory the size that turned out to be needed."""
        arena, slots = self.frame.here.arena, self.frame.here.slots
        if isinstance(arena, Arena):
            if self._used_bytes:
                arena.extend(self._used_bytes)
        elif isinstance(slots, ir.AllocaInstr):
            resize_stack_memory(slots, self._used_bytes)

    def are_needed(self, computation: Computation) -> bool:
        """Whether a computation is emitted in parts."""
        return self._weight(computation) > _LARGEST_WEIGHT

    def may_be_needed(self, computation: Computation) -> bool:
        """Whether this computation is, or one that is emitted inside of it."""
        return any(map(self.are_needed, _emitted_within(computation)))

    def _weight(self, computation: Computation) -> int:
        known = self._weights.get(computation)
        if known is None:
            known = self._weights[computation] = sum(map(self._weight_of_one, computation.instructions))
        return known

    def _weight_of_one(self, instruction: Instruction) -> int:
        if instruction.has_trait(CONTROL_FLOW):
            return min(_LARGEST_WEIGHT_OF_ONE, sum(map(self._weight, instruction.called_computations)))
        if instruction.opcode == "tuple":
            return len(instruction.operands)
        has_arrays = (
            instruction.shape.is_tuple
            or instruction.shape.rank
            or any(o.shape.is_tuple or o.shape.rank for o in instruction.operands)
        )
        return _WEIGHT_OF_ARRAYS if has_arrays else 1

    def emit(self, computation: Computation, values: Values) -> None:
        """Emit the instructions; ``values`` gets the root's value, wherever it was computed."""
        local = _LocalValues(self, values)
        self.emit_steps(
            lambda instruction=instruction: self.frame.emit_instruction(instruction, local)
            for instruction in computation.instructions
            if instruction.opcode != "parameter"
        )
        values[computation.root] = raw_leaves(local, computation.root)

    def emit_steps(self, steps: Iterable[Callable[[], None]]) -> None:
        """Let each step write into a part that is not full yet."""
        frame = self.frame
        caller = frame.here
        frame.row_groups.flush(frame.builder)

        def end_part() -> None:
            frame.row_groups.flush(frame.builder)
            frame.builder.ret(I32(0))
            part = frame.builder.function
            frame.here = caller
            frame.builder.function.interruption.called(frame.builder, part)

        for emit_step in steps:
            if frame.here is caller:
                self._begin()
            emit_step()
            if _length(frame.builder.function) > _PART_LENGTH:
                end_part()
        if frame.here is not caller:
            end_part()

    def _begin(self) -> None:
        """Call a new function, and let the frame write into it."""
        frame = self.frame
        b, caller = frame.builder, frame.builder.function
        here = frame.here
        self._slot_memories[caller] = here.slots
        name = frame.llvm.get_unique_name(f"part.{len(self._callers)}")
        part = InterruptibleFunction(frame.llvm, name, [POINTER] * 4, lambda builder: frame.return_code(I32(INTERRUPTED)))
        part.linkage = "internal"
        self._callers[part] = caller
        code = b.call(part, [here.arguments, here.results, here.arena.pointer, here.slots])
        with b.if_then(b.icmp_signed("!=", code, I32(0)), likely=False):
            frame.return_code(code)
        arguments, results, arena, slots = part.args
        builder = Builder(part.append_basic_block("entry"))
        frame.here = NativeFunction(builder, arguments, results, BorrowedArena(arena), slots)
        self._slot_memories[part] = slots

    def local(self, value: ir.Value) -> ir.Value:
        """A value of any function, in the function that is being emitted."""
        here, owner = self.frame.builder.function, _function_of(value)
        if owner is None or owner is here:
            return value
        recipe = self.recipes.get(value)
        if recipe is not None:
            return recipe()
        known = self._loaded.get((here, value))
        if known is not None:
            return known
        slot = self._slots.get(value)
        if slot is None:
            slot = self._store(value, owner)
        b = self.frame.builder
        if self._is_called_by(owner, here):
            return b.load(self._address(b, here, slot), typ=value.type)
        with b.goto_entry_block():
            loaded = b.load(self._address(b, here, slot), typ=value.type)
        self._loaded[here, value], self._slots[loaded] = loaded, slot
        return loaded

    def local_leaf(self, leaf: Leaf) -> Leaf:
        if isinstance(leaf, Argument):
            return self._argument(leaf)
        if isinstance(leaf, Array):
            pointer = self.local(leaf.pointer)
            return leaf if pointer is leaf.pointer else Array(pointer, leaf.shape)
        if isinstance(leaf, ComplexValue):
            return ComplexValue(self.local(leaf.real), self.local(leaf.imag))
        return self.local(leaf)

    def _argument(self, leaf: Argument) -> Leaf:
        key = (self.frame.builder.function, leaf.number)
        if key not in self._arguments:
            self._arguments[key] = self.frame.argument(*leaf)
        return self._arguments[key]

    def _store(self, value: ir.Value, owner: ir.Function) -> int:
        """Let the function that computes the value store it, right after it has done so, or as soon as there are slots."""
        slot = self._slots[value] = self._used_bytes
        self._used_bytes += _SLOT_BYTES
        slots = self._slot_memories[owner]
        # What is read at a function's entry is there before the memory that it has to ask for.
        before_slots = isinstance(slots, ir.Instruction) and value.parent is owner.entry_basic_block is not slots.parent
        last = slots if before_slots else value
        b = Builder(last.parent)
        if isinstance(last, ir.PhiInstr):
            instructions = last.parent.instructions
            b.position_before(instructions[bisect_left(instructions, True, key=lambda one: not isinstance(one, ir.PhiInstr))])
        else:
            b.position_after(last)
        b.store(value, self._address(b, owner, slot))
        return slot

    def _address(self, b: ir.IRBuilder, function: ir.Function, slot: int) -> ir.Value:
        return b.gep(self._slot_memories[function], [I64(slot)], source_etype=I8)

    def _is_called_by(self, function: ir.Function, caller: ir.Function) -> bool:
        current: ir.Function | None = function
        while current is not None and current is not caller:
            current = self._callers.get(current)
        return current is caller


class _LocalValues(dict):
    """Values of instructions, as the function that is being emitted can use them."""

    def __init__(self, parts: FunctionParts, values: Values) -> None:
        super().__init__(values)
        self._parts = parts

    def __getitem__(self, instruction: Instruction) -> list[Leaf]:
        return [self._parts.local_leaf(leaf) for leaf in super().__getitem__(instruction)]


def _emitted_within(computation: Computation) -> set[Computation]:
    """The computation, and the loops and branches in it."""
    found, waiting = {computation}, [computation]
    while waiting:
        for instruction in waiting.pop().instructions:
            if instruction.has_trait(CONTROL_FLOW):
                waiting += set(instruction.called_computations) - found
                found.update(instruction.called_computations)
    return found


def _function_of(value: ir.Value) -> ir.Function | None:
    if isinstance(value, ir.Instruction):
        return value.parent.function
    return value.parent if isinstance(value, ir.Argument) else None


def _length(function: ir.Function) -> int:
    return sum(len(block.instructions) for block in function.blocks)


def raw_leaves(values: Values, instruction: Instruction) -> list[Leaf]:
    """The leaves of a value that is only named again, wherever they were computed."""
    return dict.__getitem__(values, instruction)
