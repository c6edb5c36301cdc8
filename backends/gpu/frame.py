"""The plan that is being written: values, where they lie, and the kernels that compute them.

Arrays have their places from the buffer assignment; each scalar that is computed has a slot of its own beside the arena. What
computes scalars from scalars waits until a kernel needs memory to be as the program says, and then runs as one kernel of one
thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir

from ...compile.aliasing import Value, defining_value
from ...compile.buffer_assignment import Buffer, BufferAssignment
from ...compile.fused_computations import as_computation
from ...compile.in_place import update_of
from ...compile.traversal import users_of
from ...hlo import TOKEN, Computation, Instruction, Module, Shape, leaves
from ...hlo.determinism import determinism_of
from ...runtime.determinism import determinism
from ..cpu.region_functions import most_pieces
from ..cpu.work_estimate import copying, nanoseconds
from ..llvm.arrays import Array
from ..llvm.elemental import Binding
from ..llvm.scalar_computations import constant_value
from ..llvm.types import RegisterValue, check_supported
from .emitter_table import emitter_in
from .kernel import ONE_THREAD, Grid, Kernel
from .kernel_module import KernelModule
from .launches_together import AnySize, Asked, EmitWithBindings, together
from .most_rounds import most_rounds
from .phases import USUAL_THREADS, is_phase, is_small
from .plan import Copy, Launch, Place, Plan, Step, inside, places_of
from .short_plans import is_short, is_soon_done
from .target import Target
from .values import Known, Leaf, Loop, Stored, Values
from .waiting import Waiting, are_stored, may_wait_together

if TYPE_CHECKING:
    from ..cpu.row_groups import RowGroups
    from .custom_kernels import CustomKernel

ALIGNMENT = 256
_SLOT_BYTES = 16  # of a scalar: as large as any
_WORD_BYTES = 8
_MOST_ELEMENTS = 32  # that one kernel writes
_LEAST_NANOSECONDS_IN_LOOPS = 60_000
_NANOSECONDS_OF_PHASE = 4  # which computes a scalar, on a processor
_ANY = 1 << 31  # of blocks: a number that a kernel does not know


# From the values of operands to those of results, of scalars.
EmitScalars = Callable[[ir.IRBuilder, list[Binding]], list[RegisterValue]]
# From the values of operands, and the arrays that are written.
EmitElement = Callable[[ir.IRBuilder, list[Binding], list[Array]], None]


def is_deterministic(program: Module) -> bool:
    """Whether results are to be the same from run to run: as the program says, or the setting of the process."""
    asked = determinism_of(program)
    return bool(determinism) if asked is None else asked


def _scalar_results(root: Instruction) -> dict[Value, int]:
    """The scalars among a program's results that an instruction computes, with the results' numbers.

    Those of loops and branches are computed elsewhere.
    """
    found: dict[Value, int] = {}
    number = 0
    for result in root.operands if root.opcode == "tuple" else (root,):
        is_one = not result.shape.is_tuple and result.shape.element_type is not TOKEN
        if is_one and not result.shape.rank:
            value = defining_value(Value(result))
            if value.instruction.opcode not in ("while", "conditional"):
                found.setdefault(value, number)
        number += sum(shape.element_type is not TOKEN for shape in leaves(result.shape))
    return found


@dataclass(frozen=True, eq=False)
class _Member:
    """An instruction inside of a group, and where its results and its own memory begin among those of the group."""

    group: Instruction
    leaf: int
    offset: int


def _nanoseconds(instruction: Instruction) -> int:
    """About how long an instruction takes on a processor; an update, as long as it takes to copy what is written."""
    update = update_of(instruction) or instruction
    updated = update.operation.updated_operand
    if updated is not None:
        rest = [operand.shape for number, operand in enumerate(update.operands) if number != updated]
        return sum(copying(leaf) for shape in rest for leaf in leaves(shape))
    return nanoseconds(instruction.attributes["calls"] if instruction.opcode == "fusion" else as_computation(instruction))


class Frame:
    """A program, while its instructions become steps, one after the other.

    ``steps`` are those of the computation that is being emitted, ``moving`` the pointers that stand for buffers whose place
    differs from one round of a loop to the next.
    """

    def __init__(self, program: Module, assignment: BufferAssignment, target: Target) -> None:
        self.program, self.assignment, self.target = program, assignment, target
        self.is_deterministic = is_deterministic(program)
        self.kernels = KernelModule(program.name, target)
        self.steps: list[Step] = []
        self.loops: list[Loop] = []
        self.moving: dict[Buffer, Place] = {}
        self.pointers = 0
        self._waiting: list[Waiting] = []
        self.row_groups: RowGroups | None = None  # regions that wait for others on the same rows, on processors
        self._source: Any = None  # of what is being emitted
        self._instruction: Instruction | None = None  # likewise
        self.depth = 0  # of loops around what is being emitted
        self.runs_ahead = False  # whether rounds of the innermost one may be run that are to do nothing
        self._slots = 0
        self._users: dict[Instruction, list[Instruction | None]] = {}  # None: whoever runs a computation, of its root
        self.slots: dict[Place, Shape] = {}  # of scalars, each of which is found at this place alone
        self._workspace: tuple[int, int] | None = None  # where it begins, and its size
        self._asked: list[Asked] | None = None
        self._asked_for: dict[int, tuple[Step, Asked]] = {}  # by launches of one thread
        self._members: dict[Instruction, _Member] = {}
        self._custom: dict[Any, CustomKernel] = {}
        self._result_numbers = _scalar_results(program.entry.root)
        self._constants: dict[int, tuple[int, np.ndarray]] = {}
        self._constant_bytes = 0

    @cached_property
    def most_rounds(self) -> dict[Instruction, int]:
        """How many rounds loops have at most, where that is known."""
        return most_rounds(self.program.entry)

    def emit(self, arrange: Callable[[Frame, list[Step]], list[Step]] = lambda frame, steps: steps) -> Plan:
        """The plan of the whole program, whose steps are arranged in the end."""
        entry, values, number = self.program.entry, {}, 0
        for parameter in entry.parameters:
            values[parameter] = []
            for shape in leaves(parameter.shape):
                is_token = shape.element_type is TOKEN
                values[parameter].append(None if is_token else Stored(Place("argument", number), shape))
                number += not is_token
        self._emit_instructions(entry, values)
        self._store_results(values[entry.root])
        self.steps = arrange(self, self.steps)
        constants = bytearray(self._constant_bytes)
        for offset, literal in self._constants.values():
            constants[offset : offset + literal.nbytes] = np.ascontiguousarray(literal).tobytes()
        self.kernels.keep({step.kernel for step in inside(self.steps) if isinstance(step, Launch)})
        is_used = any([place.region == "temporary" for place in places_of(self.steps)])
        size = self.assignment.arena_size + self._slots * _SLOT_BYTES if is_used else 0
        short = not self._custom and is_short(self.target, self.program, self.steps)
        return Plan(self.steps, size, bytes(constants), self.pointers, short)

    def _store_results(self, held: list[Leaf]) -> None:
        """Scalars have no buffers of the assignment's; an array that is an argument as well is one of its results' already."""
        results = [leaf for leaf in held if leaf is not None]
        moves = [
            (leaf, Stored(Place("result", number), leaf.shape)) for number, leaf in enumerate(results) if leaf.shape.rank == 0
        ]
        self.move_scalars(moves)
        self.flush()

    # --- memory ---

    def place_of(self, buffer: Buffer) -> Place:
        if buffer in self.moving:
            return self.moving[buffer]
        if buffer.kind == "constant":
            return Place("constant", self._constant_offset(buffer.literal))
        return Place(buffer.kind, buffer.offset if buffer.kind == "temporary" else buffer.number)

    def _constant_offset(self, literal: np.ndarray) -> int:
        known = self._constants.get(id(literal))
        if known is None:
            known = self._constants[id(literal)] = self._constant_bytes, literal
            self._constant_bytes += -(-max(literal.nbytes, 1) // ALIGNMENT) * ALIGNMENT
        return known[0]

    def constant(self, literal: np.ndarray, shape: Shape) -> Stored:
        """An array that kernels read."""
        return Stored(Place("constant", self._constant_offset(literal)), shape)

    def slot(self, shape: Shape) -> Stored:
        """Memory for a scalar."""
        self._slots += 1
        found = Stored(Place("temporary", self.assignment.arena_size + (self._slots - 1) * _SLOT_BYTES), shape)
        self.slots[found.place] = shape
        return found

    def workspace(self, size: int) -> Place:
        """So many bytes of memory that nothing else uses until the next instruction: all instructions have it in common."""
        if self._workspace is None or self._workspace[1] < size:
            slots = -(-size // _SLOT_BYTES)
            self._workspace = self.assignment.arena_size + self._slots * _SLOT_BYTES, slots * _SLOT_BYTES
            self._slots += slots
        return Place("temporary", self._workspace[0])

    def words(self, count: int) -> Place:
        """So many words of memory that nothing else uses."""
        begin = self.assignment.arena_size + self._slots * _SLOT_BYTES
        self._slots += -(-count * _WORD_BYTES // _SLOT_BYTES)
        return Place("temporary", begin)

    def _scalar_place(self, instruction: Instruction | None, leaf: int, shape: Shape) -> Stored:
        """Memory for a scalar that an instruction computes: a result of the program where it is one, else a slot."""
        number = None if instruction is None else self._result_numbers.pop(Value(instruction, leaf), None)
        return self.slot(shape) if number is None else Stored(Place("result", number), shape)

    def pointer(self) -> Place:
        """A new pointer that moves."""
        self.pointers += 1
        return Place("moving", self.pointers - 1)

    def output(self, instruction: Instruction, leaf: int = 0) -> Stored:
        """Memory for a leaf of the result: its planned buffer, or a place for a scalar."""
        member = self._members.get(instruction)
        if member is not None:
            return self.output(member.group, member.leaf + leaf)
        shape = leaves(instruction.shape)[leaf]
        if not shape.rank:
            return self._scalar_place(instruction, leaf, shape)
        return Stored(self.place_of(self.assignment.of(Value(instruction, leaf))), shape)

    def outputs(self, instruction: Instruction) -> list[Stored | None]:
        """Memory for each leaf of the result, none for a token."""
        shapes = leaves(instruction.shape)
        return [None if shape.element_type is TOKEN else self.output(instruction, leaf) for leaf, shape in enumerate(shapes)]

    def scratch(self, instruction: Instruction, shape: Shape, offset: int = 0) -> Stored:
        """An array in the memory that an instruction has for itself, which begins so many bytes behind its beginning."""
        member = self._members.get(instruction)
        if member is not None:
            return self.scratch(member.group, shape, member.offset + offset)
        place = self.place_of(self.assignment.scratch[instruction])
        return Stored(Place(place.region, place.number + offset), shape)

    def updated(self, instruction: Instruction, leaf: int, operand: Instruction, values: Values) -> Stored:
        """Memory for a leaf of the result that holds the operand: its own, or a copy where it is needed afterwards."""
        source, output = self.stored(values[operand][0]), self.output(instruction, leaf)
        if source.place != output.place:
            self.copy(output, source)
        return output

    def copy(self, target: Stored, source: Stored) -> None:
        if target.shape.byte_size:
            self.add(Copy(target.place, source.place, target.shape.byte_size))

    def stored(self, leaf: Leaf) -> Stored:
        """The leaf in memory, where it is a scalar that the program says, too."""
        if isinstance(leaf, Known):
            literal = leaf.instruction.attributes["literal"]
            return self.constant(literal, leaf.shape)
        assert leaf is not None
        return leaf

    # --- steps ---

    def pieces(self, work: int) -> int:
        """How many pieces so much work, in nanoseconds, is worth on a processor; 1 where it is not divided.

        In a loop that takes more, as what is divided cannot be a phase of one kernel that runs all of the loop. Nothing is
        divided where the thread that calls the program has done all of it before others would have woken.
        """
        if self._is_soon_done or self.depth and work < _LEAST_NANOSECONDS_IN_LOOPS:
            return 1
        return most_pieces(work)

    @cached_property
    def _is_soon_done(self) -> bool:
        return is_soon_done(self.program)

    def block_threads(self, wanted: int) -> int:
        """How many threads a block has that needs no more than so many: in loops, as many as others that have barriers."""
        return max(wanted, USUAL_THREADS) if self.depth else wanted

    def add(self, step: Step) -> None:
        """A step that may read or write anything."""
        self.flush()
        self.steps.append(step)

    def launch(
        self,
        name: str,
        key: Any,
        inputs: Sequence[Leaf],
        outputs: Sequence[Stored],
        grid: Grid,
        emit: EmitWithBindings,
        source: Any = None,
        pieces: bool = False,
        numbers: tuple[int, ...] = (),
        any_size: AnySize | None = None,
    ) -> int:
        """Run the kernel of this key, which ``emit(kernel, bindings, arrays)`` writes; the key is that of all it depends on,
        but the shapes. Of ``pieces`` (see `Kernel`) there are as many as the grid has blocks, at most. Returns how many blocks
        there are along the first dimension.

        numbers: what the kernel is given besides (see `takes_numbers`). It knows neither these nor how many blocks there are.
        any_size: of what shares its code with loops of other sizes, in a group.
        """
        self.flush()
        asked = Asked(name, key, tuple(inputs), tuple(outputs), grid, emit, source, numbers, any_size)
        if self._asked is not None:
            self._asked.append(asked)
            return grid.blocks[0]
        return self._launch(asked, self._instruction, pieces)

    @property
    def is_grouping(self) -> bool:
        """Whether launches are those of a group."""
        return self._asked is not None

    @property
    def takes_numbers(self) -> bool:
        """Whether launches may give numbers: those that are no part of others, where drivers take them as they do addresses."""
        return self.target.family.takes_numbers and not self.depth and self._asked is None

    def launch_together(self, group: Instruction, members: Sequence[tuple[Instruction, int]], values: Values) -> list[Leaf]:
        """Run what members of a group ask for: the first launches of all of them together, the second ones, ...

        Members, of which no one needs what comes of another, come with the bytes of memory that they need meanwhile. They have
        values for their operands, and the group's results, and its memory, in their order.
        """
        asked: list[list[Asked]] = []
        results: list[Leaf] = []
        offset = 0
        for member, size in members:
            self._members[member] = _Member(group, len(results), offset)
            self._asked = []
            results += emitter_in(self, member)(self, member, values)
            asked.append(self._asked)
            offset += -(-size // ALIGNMENT) * ALIGNMENT
        self._asked = None
        # Small ones in a loop are phases of one kernel, which takes turns for their blocks in any case.
        are_phases = self.depth > 0 and all(is_small(self.target, one.grid) for launches in asked for one in launches)
        for launches in zip_longest(*asked):
            given = [one for one in launches if one is not None]
            for one in given if are_phases else together(given):
                self._launch(one, self._instruction)
        return results

    def _launch(self, asked: Asked, instruction: Instruction | None = None, pieces: bool = False) -> int:
        inputs, outputs = asked.inputs, asked.outputs
        places = list(dict.fromkeys([one.place for one in (*inputs, *outputs) if isinstance(one, Stored)]))
        numbers = {place: number for number, place in enumerate(places)}
        forms = tuple([
            (numbers[one.place], one.shape) if isinstance(one, Stored) else (one.shape, one.number)
            for one in (*inputs, *outputs)
        ])  # fmt: skip

        def write(kernel: Kernel) -> None:
            arrays = [Array(kernel.pointers[numbers[one.place]], one.shape) for one in outputs]
            asked.emit(kernel, [self._binding(kernel, numbers, one) for one in inputs], arrays)

        key, grid = (asked.key, forms), asked.grid
        if asked.numbers:
            grid = Grid((_ANY, 1, 1), grid.threads)
        phase = not pieces and not asked.numbers and is_phase(self.target, grid, self.depth > 0, self.runs_ahead)
        kernel = self.kernels.kernel(
            asked.name, key, len(places), grid, write, phase, pieces=pieces, numbers=len(asked.numbers)
        )
        if phase and self.target.processor is not None and instruction is not None:
            self.kernels.work[kernel] = 1 + _nanoseconds(instruction) // _NANOSECONDS_OF_PHASE
        shared, grid = self.kernels.dynamic_bytes[kernel], asked.grid if asked.numbers else self.kernels.grids[kernel]
        most = self.target.grid_threads
        if most is not None and any(count * size >= most for count, size in zip(grid.blocks, grid.threads)):
            raise NotImplementedError(
                f"{asked.name} by {grid.blocks} blocks of {grid.threads} threads: "
                f"a grid of {self.target.family.backend} has fewer than {most:,} threads along a dimension"
            )
        places += [Place("number", number) for number in asked.numbers]
        source = asked.source or self._source
        self.steps.append(Launch(kernel, grid.blocks, grid.threads, tuple(places), shared, source, instruction))
        return grid.blocks[0]

    @staticmethod
    def _binding(kernel: Kernel, numbers: dict[Place, int], leaf: Stored | Known) -> Binding:
        if isinstance(leaf, Known):
            return constant_value(kernel.builder, leaf.instruction, 1)
        array = Array(kernel.pointers[numbers[leaf.place]], leaf.shape)
        return array if leaf.shape.rank else array.load(kernel.builder, (), 1)

    def custom_kernel(self, entry: str, key: Any, make: Callable[[str], CustomKernel]) -> CustomKernel:
        """The user's kernel with this key, which ``make(name)`` makes where there is none yet."""
        if key not in self._custom:
            # Those of the compiler have no dots in their names.
            self._custom[key] = make(f"{entry}.{len(self._custom)}")
        return self._custom[key]

    @property
    def custom_kernels(self) -> tuple[CustomKernel, ...]:
        return tuple(self._custom.values())

    def _flush_regions(self) -> None:
        if self.row_groups is not None:
            self.row_groups.flush(None)

    # --- scalars ---

    def compute_scalars(
        self,
        key: Any,
        inputs: Sequence[Leaf],
        shapes: Sequence[Shape],
        emit: EmitScalars,
        instruction: Instruction | None = None,
    ) -> list[Stored]:
        """Places that will hold what ``emit(builder, bindings)`` makes of the inputs, before anything else is run.

        instruction: what this is all of. Its results are in no memory where others need them that are computed with them.
        """
        outputs = [self._scalar_place(self._instruction, leaf, shape) for leaf, shape in enumerate(shapes)]
        self._wait(Waiting(key, tuple(inputs), tuple(outputs), (), lambda b, values, _: emit(b, values), instruction))
        return outputs

    def write_element(
        self, key: Any, inputs: Sequence[Leaf], written: Sequence[Stored], emit: EmitElement, instruction: Instruction
    ) -> None:
        """Let ``emit(builder, bindings, arrays)`` write an element of each of the arrays, before anything else is run: all of
        what an instruction does.
        """

        def emit_all(builder: ir.IRBuilder, values: list[Binding], arrays: list[Array]) -> list[RegisterValue]:
            emit(builder, values, arrays)
            return []

        self._wait(Waiting(key, tuple(inputs), (), tuple(written), emit_all, instruction))

    def _wait(self, one: Waiting) -> None:
        self._flush_regions()
        if not may_wait_together(self._waiting, one) or sum(bool(other.written) for other in self._waiting) > _MOST_ELEMENTS:
            self.flush()
        self._waiting.append(one)

    def move_scalars(self, moves: Sequence[tuple[Leaf, Stored]]) -> None:
        """Store scalars at places, all of them as they are now."""
        moves = [
            (source, target) for source, target in moves if not (isinstance(source, Stored) and source.place == target.place)
        ]
        if moves:
            sources, targets = zip(*moves)
            self._wait(Waiting("move", sources, targets, (), lambda builder, values, _: list(values)))

    def flush(self) -> None:
        """Run what waits: regions, which find scalars that were asked for before them, and scalars."""
        self._flush_regions()
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        made: dict[Place, int] = {}
        inputs: dict[Leaf, int] = {}
        outputs: list[Stored] = []
        stored: list[int] = []  # which of them are stored
        written: list[Stored] = []
        wiring = []
        for one, is_stored in zip(waiting, are_stored(waiting, self._users)):
            origins = []
            for leaf in one.inputs:
                if isinstance(leaf, Stored) and leaf.place in made:
                    origins.append(("made", made[leaf.place]))
                else:
                    origins.append(("given", inputs.setdefault(leaf, len(inputs))))
            wiring.append((one, tuple(origins)))
            written += one.written
            for output in one.outputs:
                made[output.place] = len(outputs)
                if is_stored or output.place.region == "result":
                    stored.append(len(outputs))
                outputs.append(output)

        def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
            values: dict[str, list] = {"given": bindings, "made": []}
            elements = iter(arrays[len(stored) :])
            for one, origins in wiring:
                given = [values[origin][number] for origin, number in origins]
                values["made"] += one.emit(kernel.builder, given, list(islice(elements, len(one.written))))
            for array, number in zip(arrays, stored):
                array.store(kernel.builder, (), values["made"][number], 1)

        key = tuple([(one.key, origins, len(one.outputs), len(one.written)) for one, origins in wiring]), tuple(stored)
        targets = (*[outputs[number] for number in stored], *written)
        asked = Asked("scalars", key, tuple(inputs), targets, ONE_THREAD, write)
        self._launch(asked)
        self._asked_for[id(self.steps[-1])] = self.steps[-1], asked

    def asked_for(self, launch: Launch) -> Asked | None:
        """What a launch computes, if it is scalars and elements."""
        known, asked = self._asked_for.get(id(launch), (None, None))
        return asked if known is launch else None

    # --- instructions ---

    def emit_computation(
        self, computation: Computation, arguments: list[list[Leaf]], known: Values | None = None
    ) -> list[Leaf]:
        """Emit a called computation in place; its parameters are the arguments' leaves, and some instructions are known."""
        values: Values = {p: arguments[p.attributes["number"]] for p in computation.parameters} | (known or {})
        self._emit_instructions(computation, values)
        return values[computation.root]

    def _emit_instructions(self, computation: Computation, values: Values) -> None:
        self._users |= users_of(computation)
        self._users[computation.root] = [*self._users[computation.root], None]
        for instruction in computation.instructions:
            if instruction.opcode == "parameter" or instruction in values:
                continue
            for shape in leaves(instruction.shape):
                check_supported(shape.element_type)
            self._source, self._instruction = instruction.source or self._source, instruction
            values[instruction] = emitter_in(self, instruction)(self, instruction, values)

    def number(self, instruction: Instruction) -> int:
        """The same for instructions that do the same to operands of the same shapes."""
        return self.kernels.number(as_computation(instruction))
