"""Decides in which memory every array of a program lies.

The program is laid out on one time line, loops and branches nested in it. Every array value gets a buffer that lives from its
definition to its last use; temporary buffers whose lives do not overlap share memory in one arena. A value takes over
its operand's buffer where it may (an elementwise loop that reads each element just before it writes it, a
dynamic-update-slice or scatter whose operand is not needed afterwards, branches that do no more than that), and a While's state
stays in one place where its body allows; otherwise the body writes a second buffer and the two change roles each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..hlo import TOKEN, Computation, Instruction, Module, Shape, leaves
from ..hlo.address_space import check_memory
from ..hlo.operation import GIVEN
from .aliasing import Value, defining_value, invariant_leaves, only_names
from .arena_packing import Buffer, pack
from .in_place import (
    in_place_operands,
    last_reads,
    leaves_updated_in_place,
    member_of_group,
    names_in,
    reads_in_place_only,
    updates_of_branches,
    written_over_parameters,
)
from .traversal import called_functions


@dataclass
class LoopState:
    """The buffers of one While: for each leaf its home, and a second buffer where the body cannot work in place."""

    homes: dict[int, Buffer] = field(default_factory=dict)
    seconds: dict[int, Buffer] = field(default_factory=dict)


@dataclass
class BufferAssignment:
    """Where every array value lies; scalars (rank 0) are not in memory and do not occur.

    ``buffers`` holds the defining values only (see aliasing.defining_value). ``scratch`` holds memory that an instruction
    needs while it runs; that of a call is the arena of the computation that it calls, of which ``arena_sizes`` tells the size.
    ``over_arguments`` has, for results of the entry that lie where an argument does, the argument's number.
    """

    buffers: dict[Value, Buffer] = field(default_factory=dict)
    loops: dict[Instruction, LoopState] = field(default_factory=dict)
    scratch: dict[Instruction, Buffer] = field(default_factory=dict)
    arena_size: int = 0
    arena_sizes: dict[Computation, int] = field(default_factory=dict)
    over_arguments: dict[int, int] = field(default_factory=dict)

    def of(self, value: Value) -> Buffer:
        return self.buffers[defining_value(value)]


ScratchBytes = Callable[[Instruction], int]


def assign_buffers(
    module: Module, scratch_bytes: ScratchBytes, alignment: int, given_up: Iterable[tuple[int, int]] = ()
) -> BufferAssignment:
    """Assign buffers to a module that insert_copies has prepared.

    ``scratch_bytes`` tells how much memory the backend needs for itself while an instruction runs; temporaries lie at multiples
    of the ``alignment``, in bytes. ``given_up`` are pairs of a result's number and that of an argument, of no tuple, in whose
    memory it may be written. Raises AddressSpaceError for temporaries that no memory can hold.
    """
    assignment = BufferAssignment()
    for function in (*called_functions(module), module.entry):
        planner = _Planner(assignment, scratch_bytes, alignment)
        size = assignment.arena_sizes[function] = planner.plan_function(function, given_up if function is module.entry else ())
        check_memory(f"module {module.name}, {function.name}: the temporaries", size)
        planner.owners.clear()  # which refer to it: there would be a circle of garbage
    assignment.arena_size = assignment.arena_sizes[module.entry]
    return assignment


class _Planner:
    """Lays out the entry, or a computation that is called: each has a time line and an arena of its own."""

    def __init__(self, assignment: BufferAssignment, scratch_bytes: ScratchBytes, alignment: int) -> None:
        self.assignment = assignment
        self._scratch_bytes, self._alignment = scratch_bytes, alignment
        self.clock = 0
        self.temporaries: list[Buffer] = []
        self._names: dict[Instruction, Counter[Value]] = {}
        self.owners: dict[Buffer, _ComputationPlan] = {}  # the first computation with a value in the buffer
        self.shared: set[Buffer] = set()  # buffers with values of several computations

    def temporary(self, size: int) -> Buffer:
        buffer = Buffer("temporary", size, start=self.clock, end=self.clock)
        self.temporaries.append(buffer)
        return buffer

    def names_in(self, instruction: Instruction) -> Counter[Value]:
        """As the function of this name, remembered."""
        found = self._names.get(instruction)
        if found is None:
            found = self._names[instruction] = names_in(instruction)
        return found

    def scratch_bytes(self, instruction: Instruction) -> int:
        if instruction.opcode != "call":
            return self._scratch_bytes(instruction)
        return self.assignment.arena_sizes[instruction.attributes["to_apply"]]

    def plan_function(self, function: Computation, given_up: Iterable[tuple[int, int]]) -> int:
        """Assign all values; the size of the arena."""
        number = 0
        for parameter in function.parameters:
            for leaf, shape in enumerate(leaves(parameter.shape)):
                if shape.element_type is not TOKEN:
                    self.assignment.buffers[Value(parameter, leaf)] = Buffer("argument", shape.byte_size, number)
                    number += 1
        targets: dict[int, Buffer] = {}
        number = 0
        for leaf, shape in enumerate(leaves(function.shape)):
            if shape.element_type is TOKEN:
                continue
            if shape.rank:
                targets[leaf] = Buffer("result", shape.byte_size, number)
            number += 1
        for leaf, old in written_over_parameters(function, given_up).items():
            targets[leaf] = self.assignment.buffers[old]
            self.assignment.over_arguments[leaf] = targets[leaf].number
        self.plan(function, targets)
        return pack(self.temporaries, self._alignment)

    def plan(self, computation: Computation, targets: dict[int, Buffer]) -> None:
        """Assign all values of a computation; parameters have theirs already. ``targets`` are the buffers of the results."""
        _ComputationPlan(self, computation, targets).run()


class _ComputationPlan:
    """Assigns the values of one computation."""

    def __init__(self, planner: _Planner, computation: Computation, targets: dict[int, Buffer]) -> None:
        self.planner, self.computation = planner, computation
        self.buffers = planner.assignment.buffers
        self.position = {instruction: number for number, instruction in enumerate(computation.instructions)}
        self.last_read = last_reads(computation)
        for value, _ in self._array_leaves(computation.root):
            self.last_read[defining_value(value)] = len(computation.instructions)
        self.last_read_of: dict[Buffer, int] = {}  # the last position at which what the buffer has held is read
        for parameter in computation.parameters:
            for value, _ in self._array_leaves(parameter):
                self._hold(value, self.buffers[value])
        self.preferred = {defining_value(Value(computation.root, leaf)): buffer for leaf, buffer in targets.items()}
        self.required = set(self.preferred)
        self._prefer_for_operands()

    def _array_leaves(self, instruction: Instruction) -> Iterator[tuple[Value, Shape]]:
        for leaf, shape in enumerate(leaves(instruction.shape)):
            if shape.rank:
                yield Value(instruction, leaf), shape

    def _hold(self, value: Value, buffer: Buffer) -> None:
        """Let the value lie in the buffer."""
        self.buffers[value] = buffer
        self.last_read_of[buffer] = max(self.last_read_of.get(buffer, -1), self.last_read.get(value, -1))
        if self.planner.owners.setdefault(buffer, self) is not self:
            self.planner.shared.add(buffer)

    def _is_read_after(self, buffer: Buffer, instruction: Instruction) -> bool:
        """Whether this computation reads behind the instruction what the buffer has held so far."""
        return self.last_read_of.get(buffer, -1) > self.position[instruction]

    def _is_ours(self, buffer: Buffer) -> bool:
        """Whether the buffer holds values of this computation alone."""
        return self.planner.owners.get(buffer) is self and buffer not in self.planner.shared

    def _ours_in(self, *operands: Instruction) -> set[Buffer]:
        """Buffers of this computation alone, which it has alone again behind a nested one that gets these operands."""
        found = [self.buffers[defining_value(value)] for operand in operands for value, _ in self._array_leaves(operand)]
        return set(filter(self._is_ours, found))

    def _prefer_for_operands(self) -> None:
        """Hand the preference for a buffer on to the operand that could be updated in place in it."""
        for instruction in reversed(self.computation.instructions):
            if instruction.opcode == "conditional":
                updates = updates_of_branches(instruction)
                for value, _ in self._array_leaves(instruction):
                    buffer = self.preferred.get(value)
                    for old in updates.get(value.leaf, ()) if buffer is not None else ():
                        if self._hand_on(old, buffer, instruction):
                            break
                continue
            if instruction.shape.is_tuple and instruction.opcode != "while":
                continue
            if instruction.opcode == "while":
                names = self.planner.names_in(instruction.operands[0])
                for value, _ in self._array_leaves(instruction):
                    buffer = self.preferred.get(value)
                    initial = Value(instruction.operands[0], value.leaf)
                    # What another leaf starts from too must stay where it is: that leaf may be invariant.
                    if buffer is not None and names[defining_value(initial)] == 1:
                        self._hand_on(initial, buffer, instruction)
                continue
            buffer = self.preferred.get(Value(instruction))
            if buffer is None:
                continue
            for operand in in_place_operands(instruction):
                if self._hand_on(Value(instruction.operands[operand]), buffer, instruction):
                    break

    def _hand_on(self, operand: Value, buffer: Buffer, user: Instruction) -> bool:
        value = defining_value(operand)
        if value in self.preferred or value.instruction.has_trait(GIVEN):
            return False
        if self.last_read.get(value, -1) != self.position[user] or not self._fits(value, buffer):
            return False
        if user.opcode not in ("while", "conditional") and not reads_in_place_only(user, lambda read: read == value):
            return False
        self.preferred[value] = buffer
        return True

    def _fits(self, value: Value, buffer: Buffer) -> bool:
        return leaves(value.instruction.shape)[value.leaf].byte_size == buffer.size

    def run(self) -> None:
        for instruction in self.computation.instructions:
            self.planner.clock += 1
            if not only_names(instruction):
                for operand in instruction.operands:
                    for value, _ in self._array_leaves(operand):
                        self.buffers[defining_value(value)].end = self.planner.clock
            self._plan_instruction(instruction)
        self.planner.clock += 1
        for value, _ in self._array_leaves(self.computation.root):
            self.buffers[defining_value(value)].end = self.planner.clock

    def _plan_instruction(self, instruction: Instruction) -> None:
        if instruction.opcode == "parameter":
            return
        if instruction.opcode == "constant":
            literal = instruction.attributes["literal"]
            for value, shape in self._array_leaves(instruction):
                self.buffers[value] = Buffer("constant", shape.byte_size, literal=literal)
            return
        if instruction.opcode == "while":
            self._plan_while(instruction)
            return
        for value, shape in self._array_leaves(instruction):
            if defining_value(value) == value:
                buffer = self._choose(value, shape)
                self._hold(value, buffer)
                buffer.end = max(buffer.end, self.planner.clock)
        if instruction.opcode == "conditional":
            self._plan_branches(instruction)
        scratch = self.planner.scratch_bytes(instruction)
        if scratch:
            self.planner.assignment.scratch[instruction] = self.planner.temporary(scratch)

    def _choose(self, value: Value, shape: Shape) -> Buffer:
        preferred = self.preferred.get(value)
        if preferred is not None and (value in self.required or self._is_free(preferred, value)):
            return preferred
        for operand in _updated_values(value):
            buffer = self.buffers.get(operand)
            if buffer is not None and buffer.kind == "temporary" and self._may_take_over(buffer, value, shape):
                return buffer
        return self.planner.temporary(shape.byte_size)

    def _may_take_over(self, buffer: Buffer, value: Value, shape: Shape) -> bool:
        """Whether no value in the buffer is read after this instruction, and it is this computation's own."""
        return buffer.size == shape.byte_size and self._is_ours(buffer) and self._is_free(buffer, value)

    def _writes_over(self, buffer: Buffer, value: Value) -> bool:
        """Whether the instruction itself reads each element of the buffer before it may write it."""
        instruction = value.instruction
        if instruction.opcode != "conditional":
            return reads_in_place_only(instruction, lambda held: self.buffers.get(held) is buffer, value.leaf)
        if any(self.buffers.get(other) is buffer for other, _ in self._array_leaves(instruction) if other != value):
            return False
        given = [defining_value(one) for operand in instruction.operands[1:] for one, _ in self._array_leaves(operand)]
        updates = updates_of_branches(instruction).get(value.leaf, ())
        return all(one in updates for one in given if self.buffers.get(one) is buffer)

    def _is_free(self, buffer: Buffer, value: Value) -> bool:
        """Whether the buffer can be written at this instruction: nothing that it holds is read afterwards."""
        return not self._is_read_after(buffer, value.instruction) and self._writes_over(buffer, value)

    def _plan_branches(self, instruction: Instruction) -> None:
        targets = {value.leaf: self.buffers[value] for value, _ in self._array_leaves(instruction)}
        ours = self._ours_in(*instruction.operands[1:])
        ours.update(filter(self._is_ours, targets.values()))
        for branch, operand in zip(instruction.called_computations, instruction.operands[1:]):
            (parameter,) = branch.parameters
            self._bind(parameter, operand)
            self.planner.plan(branch, targets)
        self.planner.shared -= ours
        self._keep_alive(instruction)

    def _bind(self, parameter: Instruction, operand: Instruction) -> None:
        for value, _ in self._array_leaves(parameter):
            self.buffers[value] = self.buffers[defining_value(Value(operand, value.leaf))]

    def _keep_alive(self, instruction: Instruction) -> None:
        """What goes into a nested computation, and what comes out, lives while it runs."""
        for user in (*instruction.operands, instruction):
            for value, _ in self._array_leaves(user):
                self.buffers[defining_value(value)].end = self.planner.clock

    def _plan_while(self, loop: Instruction) -> None:
        (init,), condition, body = loop.operands, loop.attributes["condition"], loop.attributes["body"]
        state = self.planner.assignment.loops[loop] = LoopState()
        invariant = invariant_leaves(loop)
        (body_parameter,), (condition_parameter,) = body.parameters, condition.parameters
        taken: set[Buffer] = set()
        for value, shape in self._array_leaves(loop):
            initial = self.buffers[defining_value(Value(init, value.leaf))]
            if value.leaf in invariant:
                home = initial
            else:
                home = state.homes[value.leaf] = self._home(value, shape, initial, taken)
                taken.add(home)
                self._hold(value, home)
            self.buffers[Value(body_parameter, value.leaf)] = home
            self.buffers[Value(condition_parameter, value.leaf)] = home
        targets = {}
        in_place = leaves_updated_in_place(body)
        for leaf, home in state.homes.items():
            if leaf in in_place:
                targets[leaf] = home
            else:
                # The two change places in every round, so the state lies here when the condition is computed again.
                targets[leaf] = state.seconds[leaf] = self.planner.temporary(home.size)
        ours = self._ours_in(init)
        ours.update(filter(self._is_ours, state.homes.values()))
        self.planner.plan(condition, {})
        self.planner.plan(body, targets)
        self.planner.shared -= ours
        for second in state.seconds.values():
            second.end = self.planner.clock
        for home in state.homes.values():
            home.end = self.planner.clock
        self._keep_alive(loop)

    def _may_be_home(self, buffer: Buffer, value: Value) -> bool:
        """Whether a loop can write the buffer in every round: nothing but this leaf's own initial value in it is read then."""
        (init,) = value.instruction.operands
        others = (defining_value(other) for other, _ in self._array_leaves(init) if other.leaf != value.leaf)
        return not self._is_read_after(buffer, value.instruction) and all(self.buffers[one] is not buffer for one in others)

    def _home(self, value: Value, shape: Shape, initial: Buffer, taken: set[Buffer]) -> Buffer:
        """The loop works where its result is wanted, or where its initial value lies if nothing else needs that."""
        loop = value.instruction
        preferred = self.preferred.get(value)
        if preferred is not None and preferred not in taken and (value in self.required or self._may_be_home(preferred, value)):
            return preferred
        if initial.kind == "temporary" and initial not in taken and initial.size == shape.byte_size:
            init = defining_value(Value(loop.operands[0], value.leaf))
            unread = self._is_ours(initial) and not self._is_read_after(initial, loop)
            if unread and self.planner.names_in(loop.operands[0])[init] == 1:
                return initial
        return self.planner.temporary(shape.byte_size)


def _updated_values(value: Value) -> Sequence[Value]:
    """The values whose buffers this one may take over, if nothing needs them afterwards."""
    instruction = value.instruction
    if instruction.opcode == "conditional":
        return updates_of_branches(instruction).get(value.leaf, ())
    if instruction.shape.is_tuple:
        member = member_of_group(instruction, value.leaf)
        if member is None or member[0].shape.is_tuple:
            return []
    return [defining_value(Value(instruction.operands[position])) for position in in_place_operands(instruction, value.leaf)]
