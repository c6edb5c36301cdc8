"""What buffer assignment has made of a program, for people: how much memory, and which arrays are copied, and why.

An update in place (``dynamic-update-slice``, ``scatter``) writes where its operand lies, unless that is still needed there:
then the operand is copied first. A loop copies the arrays that it changes to where it may change them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..hlo import Computation, Instruction, Module, Shape, leaves
from ..hlo.operation import CONTROL_FLOW
from .aliasing import Value, defining_value, invariant_leaves
from .buffer_assignment import BufferAssignment
from .in_place import last_reads, updated_operand
from .traversal import called_functions
from .trip_count import known_trip_count

# Why an array is not written over where it lies.
ARGUMENT = "argument"  # it is a parameter of the program, of this ``number``
CONSTANT = "constant"
READ_LATER = "read later"  # by the instruction ``reader``
RETURNED = "returned"  # it is a result of the program itself
NEXT_ROUND = "next round"  # each round of the loop reads it as it was
HANDED_ON = "handed on"  # it is a result of the round or the branch, beside the new one
TWO_PLACES = "two places"  # a loop that writes a second array in each round has ended there
ELSEWHERE = "elsewhere"  # the new value has to lie in another place


@dataclass(frozen=True)
class Copy:
    """An array that is copied: ``writer`` is what changes the copy, ``loop`` the innermost one that copies in each round.

    ``before`` is a loop that begins with the copy.
    """

    writer: Instruction
    shape: Shape
    reason: str
    number: int = -1
    reader: Instruction | None = None
    loop: Instruction | None = None
    before: Instruction | None = None


@dataclass(frozen=True)
class MemoryPlan:
    """The ``copies`` of a program; its ``temporaries`` (how many arrays), their bytes one by one, and in the arena they share.

    ``working_bytes`` are what operations need besides while they run, also in the arena and counted one by one.
    ``over_arguments`` are the numbers of the arguments in whose memory results are written.
    """

    copies: Sequence[Copy]
    temporaries: int
    separate_bytes: int
    working_bytes: int
    arena_bytes: int
    over_arguments: Sequence[int]


def memory_plan(module: Module, assignment: BufferAssignment) -> MemoryPlan:
    """The plan of a module that insert_copies has prepared, and what assign_buffers has found for it."""
    copies: list[Copy] = []
    for function in (*called_functions(module), module.entry):
        copies += _Found(function, assignment, is_entry=function is module.entry).copies()
    values = [value for value, buffer in assignment.buffers.items() if buffer.kind == "temporary" and not _names_another(value)]
    sizes = [leaves(value.instruction.shape)[value.leaf].byte_size for value in values]
    working = sum(buffer.size for buffer in assignment.scratch.values())
    over = tuple(assignment.over_arguments.values())
    return MemoryPlan(tuple(copies), len(sizes), sum(sizes), working, assignment.arena_size, over)


def _names_another(value: Value) -> bool:
    return defining_value(value) != value or value.instruction.opcode == "parameter"


class _Found:
    """The copies in a computation, which ``around`` runs, as its ``caller``; None for a function."""

    def __init__(
        self,
        computation: Computation,
        assignment: BufferAssignment,
        around: _Found | None = None,
        caller: Instruction | None = None,
        is_entry: bool = False,
    ) -> None:
        self.computation, self.assignment, self.around, self.caller = computation, assignment, around, caller
        self.is_entry = is_entry
        self._position = {instruction: number for number, instruction in enumerate(computation.instructions)}
        self._results = [defining_value(Value(computation.root, leaf)) for leaf in range(len(leaves(computation.shape)))]

    def copies(self) -> Iterator[Copy]:
        for instruction in self.computation.instructions:
            if instruction.opcode == "while":
                yield from self._of_loop(instruction)
            for leaf, operand in _updated(instruction):
                if operand.shape.rank and self._is_moved(Value(operand), Value(instruction, leaf)):
                    writer = self.caller if instruction.opcode == "copy" and self._is_branch() else instruction
                    yield self._why(Copy(writer, operand.shape, ELSEWHERE), Value(operand), instruction)
            if instruction.has_trait(CONTROL_FLOW):
                for called in instruction.called_computations:
                    for copy in _Found(called, self.assignment, self, instruction).copies():
                        is_round = instruction.opcode == "while" and copy.loop is None
                        yield replace(copy, loop=instruction) if is_round else copy

    def _is_branch(self) -> bool:
        return self.caller is not None and self.caller.opcode == "conditional"

    def _is_moved(self, old: Value, new: Value) -> bool:
        return self.assignment.of(old) is not self.assignment.of(new)

    def _of_loop(self, loop: Instruction) -> Iterator[Copy]:
        state, (init,) = self.assignment.loops[loop], loop.operands
        shapes = leaves(loop.shape)
        for leaf, home in state.homes.items():
            if home is not self.assignment.of(Value(init, leaf)):
                copy = Copy(writer_of(Value(loop, leaf)), shapes[leaf], ELSEWHERE, before=loop)
                yield self._why(copy, Value(init, leaf), loop)
        trips = known_trip_count(loop)
        if trips is None or trips.count % 2:
            for leaf in state.seconds:
                yield Copy(writer_of(Value(loop, leaf)), shapes[leaf], TWO_PLACES)

    def _why(self, copy: Copy, old: Value, user: Instruction) -> Copy:
        """The copy, with the reason why the user does not write over the old value."""
        value = defining_value(old)
        reader = self._reader_behind(value, user)
        kept = value in self._results or reader is not None and reader.opcode == "copy" and Value(reader) in self._results
        if reader is not None and not kept:
            return replace(copy, reason=READ_LATER, reader=reader)
        if value.instruction.opcode == "constant":
            return replace(copy, reason=CONSTANT)
        if value.instruction.opcode == "parameter":
            return self._why_of_parameter(copy, value, kept)
        return replace(copy, reason=RETURNED if self.is_entry else HANDED_ON) if kept else copy

    def _why_of_parameter(self, copy: Copy, value: Value, kept: bool) -> Copy:
        if self.around is None and not self.is_entry:  # who calls the function keeps it
            return replace(copy, reason=HANDED_ON)
        if self.around is None:
            number = _number_of(self.computation.parameters, value)
            return replace(copy, reason=RETURNED if kept else ARGUMENT, number=number)
        if self.caller.opcode == "while":
            if value.leaf in invariant_leaves(self.caller):
                return replace(copy, reason=NEXT_ROUND)
            return replace(copy, reason=HANDED_ON) if kept else copy
        if kept:
            return replace(copy, reason=HANDED_ON)
        number = self.caller.called_computations.index(self.computation)
        return self.around._why(copy, Value(self.caller.operands[number + 1], value.leaf), self.caller)

    def _reader_behind(self, value: Value, user: Instruction) -> Instruction | None:
        """The last instruction behind the user, or the user itself in another place, that reads a value."""
        last = last_reads(self.computation).get(value, -1)
        return self.computation.instructions[last] if last > self._position[user] else None


def _updated(instruction: Instruction) -> Iterable[tuple[int, Instruction]]:
    """The leaves of a result that begin as copies of operands, or lie where these do."""
    if instruction.opcode == "copy":
        return [(0, instruction.operands[0])]
    updated = updated_operand(instruction)
    if updated is None:
        return []
    count = len(leaves(instruction.shape))
    return enumerate(instruction.operands[updated:][:count])


def writer_of(value: Value) -> Instruction:
    """What computes a value, in the innermost loop or branch that does."""
    while True:
        instruction, leaf = value = defining_value(value)
        if instruction.opcode == "while":
            value = Value(instruction.attributes["body"].root, leaf)
            continue
        if instruction.opcode != "conditional":
            return instruction
        for branch in instruction.called_computations:
            made = defining_value(Value(branch.root, leaf))
            if made.instruction.opcode not in ("parameter", "copy"):
                value = made
                break
        else:
            return instruction


def _number_of(parameters: Sequence[Instruction], value: Value) -> int:
    """The number of an array among all leaves of the parameters."""
    before = parameters[: parameters.index(value.instruction)]
    return sum(len(leaves(parameter.shape)) for parameter in before) + value.leaf
