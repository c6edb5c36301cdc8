"""Reductions: teams of threads reduce the elements of one result each, and several teams where there are few results.

Each thread of a team takes every so many-th element, and the team combines what its threads have in a tree. Where there are
more elements than the teams of all results keep busy, each result has several teams, whose parts a second kernel combines. How
many, depends on shapes alone: results are the same from run to run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from functools import reduce as fold
from math import prod

from llvmlite import ir

from ....compile.fused_computations import as_computation, producers, result_roots
from ....hlo import Computation, Instruction, Shape, array_leaves
from ...llvm import index as indices
from ...llvm.arrays import Array
from ...llvm.collapse import collapse_dimensions
from ...llvm.elemental import Binding, ElementalEmitter
from ...llvm.index import Affine, Index
from ...llvm.loops import carried_loop
from ...llvm.reductions import Reduction
from ...llvm.scalar_control_flow import has_control_flow
from ...llvm.types import I32, I64, RegisterValue, broadcast_lanes, lane_values
from .. import choices
from ..emitter_table import emits
from ..epilogue_form import epilogue_form
from ..frame import ALIGNMENT, Frame
from ..kernel import Grid, Kernel, index_of, of_shape, wide
from ..teams import totals_of_spread_teams
from ..values import Leaf, Stored, Values
from .epilogue import Results, epilogue_results
from .vectors import aligned, is_elementwise, lanes_for

THREADS = 256
VECTOR_BYTES = 16
_ROUNDS_WRITTEN_OUT = 4  # of a thread, where all have as many
Finish = Callable[[ir.Value, ir.Value, list[RegisterValue]], None]  # of a result, a part, and its totals


@dataclass(frozen=True)
class Teams:
    """How the threads of a reduction divide the work: ``parts`` teams of so many threads (a power of two) for each result.

    ``across``: neighbouring threads work on neighbouring results, rather than on elements of the same. Each takes ``lanes`` of
    these at once: ``results``, or else ``elements``, count vectors.
    """

    results: int
    elements: int
    size: int
    parts: int
    across: bool
    lanes: int = 1

    @property
    def held(self) -> int:
        """How many elements of results a team has."""
        return self.lanes if self.across else 1

    @property
    def all_results(self) -> int:
        return self.results * self.held

    @property
    def in_block(self) -> int:
        return max(1, THREADS // self.size)

    @property
    def grid(self) -> Grid:
        return Grid((max(1, -(-self.results // self.in_block)), self.parts, 1), (THREADS, 1, 1))


def teams_for(results: int, elements: int, across: bool, lanes: int = 1) -> Teams:
    """The teams for so many results of so many elements each, of which a thread takes so many at once."""
    results, elements = (results // lanes, elements) if across else (results, elements // lanes)
    most = max(1, elements)
    wanted = max(1, min(elements // choices.LEAST_ELEMENTS, choices.THREADS_OF_REDUCTION // max(1, results)))
    largest = 8 if across and results >= 32 else THREADS
    size = 1
    while size < largest and 2 * size <= wanted and 2 * size <= most:
        size *= 2
    parts = 1
    if size == largest:
        parts = max(1, min(wanted // size, elements // (size * choices.LEAST_ELEMENTS), 1024))
    return Teams(results, elements, size, parts, across, lanes)


def reduce_in_teams(
    kernel: Kernel,
    teams: Teams,
    shapes: Sequence[Shape],
    element: Callable[[ir.Value, ir.Value], list[RegisterValue]],
    combine: Callable[[list[RegisterValue], list[RegisterValue], int], list[RegisterValue]],
    finish: Finish,
) -> None:
    """Reduce ``element(result, number)``, each i64, for all numbers below ``teams.elements``, of which there is one at least.

    Results, or else elements, are vectors of ``teams.lanes``; ``combine(values, others, lanes)`` combines vectors.
    ``finish(result, part, totals)`` is emitted for one thread of each team. ``shapes`` are those of the scalars.
    """
    b, size, in_block = kernel.builder, teams.size, teams.in_block
    thread = kernel.thread()
    if teams.across:
        member, team = b.udiv(thread, I32(in_block)), b.urem(thread, I32(in_block))
    else:
        member, team = b.urem(thread, I32(size)), b.udiv(thread, I32(size))
    result = b.add(b.mul(wide(b, kernel.block()), I64(in_block)), wide(b, team))
    part = wide(b, kernel.block(1))
    is_finishing = b.icmp_unsigned("==", member, I32(0))
    if teams.results % in_block:
        # Teams behind the last result reduce that one, too.
        is_inside = b.icmp_unsigned("<", result, I64(teams.results))
        is_finishing = b.and_(is_finishing, is_inside)
        result = b.select(is_inside, result, I64(teams.results - 1))
    first = b.add(b.mul(part, I64(size)), wide(b, member))
    totals = _own_totals(b, teams, first, partial(element, result), combine)
    held = teams.held
    if held != teams.lanes:
        totals = fold(partial(combine, lanes=1), _in_lanes(b, totals))
    of_team = totals_of_spread_teams(
        kernel, size, in_block if teams.across else 1, shapes, totals, held, partial(combine, lanes=held)
    )
    with b.if_then(is_finishing):
        finish(result, part, of_team())


def _own_totals(
    b: ir.IRBuilder,
    teams: Teams,
    first: ir.Value,
    element: Callable[[ir.Value], list[RegisterValue]],
    combine: Callable[[list[RegisterValue], list[RegisterValue], int], list[RegisterValue]],
) -> list[RegisterValue]:
    """What a thread reduces by itself: every so many-th element from the first on."""
    step = teams.parts * teams.size
    totals = element(first)

    def following(count: int, number: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
        _, *totals = carried
        found = [element(b.add(number, I64(ahead * step))) for ahead in range(count)]
        for values in found:
            totals = combine(totals, values, teams.lanes)
        return [b.add(number, I64(count * step)), *totals]

    rounds, others = divmod(teams.elements, step)
    second = b.add(first, I64(step))
    if not others and rounds <= _ROUNDS_WRITTEN_OUT:
        return following(rounds - 1, second, [second, *totals])[1:]
    carried = [second, *totals]
    has_many = len(totals) > 1 and teams.elements >= 2 * choices.VECTORS_OF_REDUCTION * step
    for count in (choices.VECTORS_OF_REDUCTION, 1) if has_many else (1,):
        stop, steps = teams.elements - (count - 1) * step, count * step
        most = -(-stop // steps) if count > 1 or not has_many else choices.VECTORS_OF_REDUCTION
        carried = carried_loop(b, carried[0], stop, steps, carried, partial(following, count), "reduce", most=most)
    return carried[1:]


def _vector(b: ir.IRBuilder, number: ir.Value, lanes: int) -> Affine:
    """The place of the vector of this number."""
    return Affine(b.mul(number, I64(lanes)), 1) if lanes > 1 else Affine(number)


def _in_lanes(b: ir.IRBuilder, values: list[RegisterValue]) -> list[list[RegisterValue]]:
    return list(map(list, zip(*[lane_values(b, value) for value in values])))


@dataclass(frozen=True)
class _Form:
    """A reduction over collapsed dimensions."""

    computation: Computation  # of the operands
    reduced: tuple[int, ...]
    vector_bytes: int

    @property
    def sizes(self) -> tuple[int, ...]:
        return result_roots(self.computation)[0].shape.dimensions

    @property
    def kept(self) -> tuple[int, ...]:
        return tuple(d for d in range(len(self.sizes)) if d not in self.reduced)

    def teams(self) -> Teams:
        sizes = self.sizes
        results = prod(sizes[d] for d in self.kept)
        elements = prod(sizes[d] for d in self.reduced)
        last = max((d for d in range(len(sizes)) if sizes[d] != 1), default=None)
        lanes = lanes_for(self.vector_bytes, self.computation, sizes[-1]) if last == len(sizes) - 1 else 1
        return teams_for(results, elements, last is not None and last in self.kept, lanes)


def _form(computation: Computation, reduce: Instruction) -> _Form:
    vector_bytes = 1 if has_control_flow([reduce.attributes["to_apply"]]) else VECTOR_BYTES
    values = producers(computation, reduce.operands[: len(reduce.operands) // 2])
    rank, reduced = reduce.operands[0].shape.rank, frozenset(reduce.attributes["dimensions"])
    barriers = frozenset(d for d in range(rank - 1) if (d in reduced) != (d + 1 in reduced))
    collapsed = collapse_dimensions(values, barriers)
    if collapsed is None:
        return _Form(values, tuple(sorted(reduced)), vector_bytes)
    numbers = tuple(n for n, group in enumerate(collapsed.groups) if group[0] in reduced)
    return _Form(collapsed.computation, numbers, vector_bytes)


def _reduce_of(instruction: Instruction) -> tuple[Computation, Instruction] | None:
    computation = instruction.attributes["calls"] if instruction.opcode == "fusion" else as_computation(instruction)
    reduce = _reduce_in(computation)
    return None if reduce is None else (computation, reduce)


def _reduce_in(computation: Computation) -> Instruction | None:
    """The root, or what its epilogue is computed of."""
    return next((one for one in computation.instructions if one.opcode == "reduce"), None)


def scratch_of_reduction(instruction: Instruction) -> int:
    """The parts of all results."""
    found = _reduce_of(instruction)
    if found is None:
        return 0
    teams = _form(*found).teams()
    if teams.parts == 1:
        return 0
    return sum(_part_bytes(shape, teams) for shape in array_leaves(found[1].shape))


def _part_bytes(shape: Shape, teams: Teams) -> int:
    size = shape.element_type.byte_size * teams.parts * teams.all_results
    return -(-size // ALIGNMENT) * ALIGNMENT


def emit_reduction(frame: Frame, instruction: Instruction, computation: Computation, values: Values) -> list[Leaf]:
    """A computation with a reduce, which is its root or has an epilogue."""
    outputs = [output for output in frame.outputs(instruction) if output is not None]
    reduction = _reduction(frame, instruction, computation, values)
    teams, all_inputs = reduction.teams, reduction.all_inputs
    if not teams.results:
        return list(outputs)
    flat = [Stored(output.place, output.shape.with_dimensions((teams.all_results,))) for output in outputs]
    key = (frame.kernels.number(computation), "reduce")
    name = "reduce_columns" if teams.across else "reduce_rows"
    if not teams.elements:
        grid = Grid.of(teams.all_results, THREADS)
        frame.launch("reduce_nothing", key, all_inputs, flat, grid, reduction.write_initial, instruction.source)
    elif teams.parts == 1:
        frame.launch(name, key, all_inputs, flat, teams.grid, reduction.write_results, instruction.source)
    else:
        parts, offset = [], 0
        for shape in reduction.scalars:
            parts.append(frame.scratch(instruction, shape.with_dimensions((teams.parts * teams.all_results,)), offset))
            offset += _part_bytes(shape, teams)
        frame.launch(name, key, reduction.inputs, parts, teams.grid, reduction.write_parts, instruction.source)
        last = replace(teams_for(teams.all_results, teams.parts, teams.across), parts=1)
        write, given = partial(reduction.write_combined, last), [*parts, *all_inputs]
        frame.launch("reduce_parts", (*key, teams.parts), given, flat, last.grid, write, instruction.source)
    return list(outputs)


def _reduction(frame: Frame, instruction: Instruction, computation: Computation, values: Values) -> _TeamReduction:
    reduce = _reduce_in(computation)
    assert reduce is not None
    inputs = [values[operand][0] for operand in instruction.operands]
    epilogue, needed = None, 0
    if computation.root is not reduce:
        parts_of_epilogue = epilogue_form(computation)
        epilogue = epilogue_results(frame, instruction, parts_of_epilogue, None, values)
        if reduce.shape.is_tuple:
            needed = parts_of_epilogue.seen.attributes["index"]
    form = _form(computation, reduce)
    return _TeamReduction(computation, reduce, form, form.teams(), inputs, epilogue, needed)


@dataclass(frozen=True)
class _TeamReduction:
    """A reduction by teams, and what its kernels write. The ``epilogue`` is computed of one total, the ``needed`` one."""

    computation: Computation
    reduce: Instruction
    form: _Form
    teams: Teams
    inputs: list[Leaf]
    epilogue: Results | None
    needed: int

    @property
    def all_inputs(self) -> list[Leaf]:
        return [*self.inputs, *(self.epilogue.inputs if self.epilogue is not None else ())]

    @property
    def is_plain(self) -> bool:
        others = [one for one in self.computation.instructions if one is not self.reduce]
        return self.reduce.attributes["to_apply"].combining_operation is not None and all(map(is_elementwise, others))

    @property
    def scalars(self) -> list[Shape]:
        return [Shape(shape.element_type, ()) for shape in array_leaves(self.reduce.shape)]

    def write_initial(self, kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        """All results, where there are no elements."""
        b, number = kernel.builder, kernel.number()
        with b.if_then(b.icmp_unsigned("<", number, number.type(self.teams.all_results))):
            self._store(b, bindings, arrays, wide(b, number), self._initial(kernel, bindings), 1)

    def write_results(self, kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        """The results of teams that reduce all elements of theirs."""
        b, held, inner = kernel.builder, self.teams.held, self._of_elements(bindings)

        def finish(result: ir.Value, part: ir.Value, totals: list[RegisterValue]) -> None:
            first = [broadcast_lanes(b, value, held) for value in self._initial(kernel, bindings)]
            self._store(b, bindings, arrays, result, inner.combine(b, first, totals, held), held)

        self._reduce(kernel, inner, finish)

    def write_parts(self, kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        """The totals of several teams for each result."""
        b, held = kernel.builder, self.teams.held

        def finish(result: ir.Value, part: ir.Value, totals: list[RegisterValue]) -> None:
            place = _vector(b, b.add(b.mul(part, I64(self.teams.results)), result), held)
            for array, value in zip(arrays, totals):
                aligned(array, array.shape, held).store(b, (place,), value, held)

        self._reduce(kernel, self._of_elements(bindings), finish)

    def write_combined(self, teams: Teams, kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        """The results of these parts, which are the first bindings."""
        b, scalars = kernel.builder, self.scalars
        kernel.is_plain = self.is_plain
        parts, own = bindings[: len(scalars)], bindings[len(scalars) :]
        inner = self._of_elements(own)

        def element(result: ir.Value, number: ir.Value) -> list[RegisterValue]:
            place = Affine(b.add(b.mul(number, I64(self.teams.all_results)), result))
            return [array.load(b, (place,), 1) for array in parts]

        def finish(result: ir.Value, part: ir.Value, totals: list[RegisterValue]) -> None:
            self._store(b, own, arrays, result, inner.combine(b, self._initial(kernel, own), totals, 1), 1)

        reduce_in_teams(kernel, teams, scalars, element, partial(inner.combine, b), finish)

    def _of_elements(self, bindings: list[Binding]) -> Reduction:
        given = [
            _with_vectors(binding, parameter.shape, self.form, self.teams) if isinstance(binding, Array) else binding
            for binding, parameter in zip(bindings, self.form.computation.parameters)
        ]
        return Reduction(self.form.computation, given, [], self.form.reduced, self.reduce.attributes["to_apply"])

    def _reduce(self, kernel: Kernel, inner: Reduction, finish: Finish) -> None:
        b, teams = kernel.builder, self.teams
        kernel.is_plain = self.is_plain

        def element(result: ir.Value, number: ir.Value) -> list[RegisterValue]:
            return inner.elements(b, _index(b, self.form, teams, result, number), teams.lanes)

        reduce_in_teams(kernel, teams, self.scalars, element, partial(inner.combine, b), finish)

    def _initial(self, kernel: Kernel, bindings: list[Binding]) -> list[RegisterValue]:
        emitter = ElementalEmitter(kernel.builder, 1, dict(zip(self.computation.parameters, bindings)))
        return [emitter.emit(init, ()) for init in self.reduce.operands[len(self.reduce.operands) // 2 :]]

    def _store(
        self,
        b: ir.IRBuilder,
        bindings: list[Binding],
        arrays: list[Array],
        result: ir.Value,
        totals: list[RegisterValue],
        held: int,
    ) -> None:
        """The results of this number, of so many each, or what comes of them."""
        if self.epilogue is None:
            for array, value in zip(arrays, totals):
                aligned(array, array.shape, held).store(b, (_vector(b, result, held),), value, held)
            return
        of_epilogue = bindings[len(self.inputs) :]
        total, first = totals[self.needed], _vector(b, result, held)
        if held > 1 and self.epilogue.lanes % held == 0:
            self.epilogue.store(b, of_epilogue, arrays, first.base, total, held)
            return
        for lane, value in enumerate(lane_values(b, total)):
            self.epilogue.store(b, of_epilogue, arrays, b.add(first.base, I64(lane)), value)


def _index(b: ir.IRBuilder, form: _Form, teams: Teams, result: ir.Value, number: ir.Value) -> Index:
    sizes, index = list(form.sizes), [Affine(0)] * len(form.sizes)
    if teams.lanes > 1:
        sizes[-1] //= teams.lanes
    for positions, place in ((form.kept, result), (form.reduced, number)):
        for d, component in zip(positions, index_of(b, place, [sizes[d] for d in positions])):
            index[d] = component
    if teams.lanes > 1:
        index[-1] = Affine(indices.multiply_base(b, index[-1].base, teams.lanes), 1)
    return tuple(index)


def _with_vectors(array: Array, shape: Shape, form: _Form, teams: Teams) -> Array:
    is_whole = shape.rank and shape.dimensions[-1] == form.sizes[-1]
    return aligned(array, shape, teams.lanes) if is_whole else of_shape(array, shape)


@emits("reduce", scratch=scratch_of_reduction)
def reduce(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    return emit_reduction(frame, instruction, as_computation(instruction), values)
