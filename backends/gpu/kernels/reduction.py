"""Reductions: teams of threads reduce the elements of one result each, and several teams where there are few results.

Each thread of a team takes every so many-th element, and the team combines what its threads have in a tree. Where there are more
elements than the teams of all results keep busy, each result has several teams, whose parts a second kernel combines. How
many, depends on shapes alone: results are the same from run to run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from llvmlite import ir

from ....compile.fused_computations import as_computation, producers, result_roots
from ....hlo import Computation, Instruction, Shape, array_leaves
from ...llvm.arrays import Array
from ...llvm.collapse import collapse_dimensions
from ...llvm.elemental import Binding, ElementalEmitter
from ...llvm.index import Affine, Index
from ...llvm.loops import carried_loop
from ...llvm.reductions import Reduction
from ...llvm.types import I32, I64, RegisterValue
from ..emitter_table import emits
from ..frame import ALIGNMENT, Frame, Leaf, Stored, Values
from ..kernel import Grid, Kernel, index_of, of_shape, wide
from ..operations import scalars as emit_scalars
from ..row_fusion import ROWS
from .loop import emit_loop
from .rows import emit_rows

THREADS = 256
# So many threads keep a device busy, and each has so many elements at least before another one helps it.
_BUSY_THREADS = 1 << 17
_LEAST_ELEMENTS = 8


@dataclass(frozen=True)
class Teams:
    """How the threads of a reduction divide the work: ``parts`` teams of so many threads (a power of two) for each result.

    ``across``: neighbouring threads work on neighbouring results, rather than on elements of the same.
    """

    results: int
    elements: int
    size: int
    parts: int
    across: bool

    @property
    def in_block(self) -> int:
        return max(1, THREADS // self.size)

    @property
    def grid(self) -> Grid:
        return Grid((max(1, -(-self.results // self.in_block)), self.parts, 1), (THREADS, 1, 1))


def teams_for(results: int, elements: int, across: bool) -> Teams:
    """The teams for so many results of so many elements each."""
    most = max(1, elements)
    wanted = max(1, min(elements // _LEAST_ELEMENTS, _BUSY_THREADS // max(1, results)))
    largest = 8 if across and results >= 32 else THREADS
    size = 1
    while size < largest and 2 * size <= wanted and 2 * size <= most:
        size *= 2
    parts = 1
    if size == largest:
        parts = max(1, min(wanted // size, elements // (size * _LEAST_ELEMENTS), 1024))
    return Teams(results, elements, size, parts, across)


def reduce_in_teams(
    kernel: Kernel,
    teams: Teams,
    shapes: Sequence[Shape],
    element: Callable[[ir.Value, ir.Value], list[RegisterValue]],
    combine: Callable[[list[RegisterValue], list[RegisterValue]], list[RegisterValue]],
    finish: Callable[[ir.Value, ir.Value, list[RegisterValue]], None],
) -> None:
    """Reduce ``element(result, number)``, each i64, for all numbers below ``teams.elements``, of which there is one at least.

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
    is_inside = b.icmp_unsigned("<", result, I64(teams.results))
    shared = (
        [Array(kernel.shared(THREADS * shape.byte_size), shape.with_dimensions((THREADS,))) for shape in shapes]
        if size > 1
        else []
    )
    with b.if_then(is_inside):
        first = b.add(b.mul(part, I64(size)), wide(b, member))
        step = teams.parts * size

        def following(number: ir.Value, totals: list[RegisterValue]) -> list[RegisterValue]:
            return combine(totals, element(result, number))

        begin = element(result, first)
        start = b.add(first, I64(step))
        totals = carried_loop(b, start, teams.elements, step, begin, following, "reduce", most=-(-teams.elements // step))
        if size == 1:
            finish(result, part, totals)
        for array, value in zip(shared, totals):
            array.store(b, (Affine(wide(b, thread)),), value, 1)
    if size == 1:
        return
    distance = size // 2
    while distance:
        kernel.barrier()
        with b.if_then(b.and_(is_inside, b.icmp_unsigned("<", member, I32(distance)))):
            other = b.add(thread, I32(distance * (in_block if teams.across else 1)))
            mine, others = ([array.load(b, (Affine(wide(b, place)),), 1) for array in shared] for place in (thread, other))
            totals = combine(mine, others)
            if distance == 1:
                finish(result, part, totals)
            else:
                for array, value in zip(shared, totals):
                    array.store(b, (Affine(wide(b, thread)),), value, 1)
        distance //= 2


@dataclass(frozen=True)
class _Form:
    """A reduction over collapsed dimensions."""

    computation: Computation  # of the operands
    reduced: tuple[int, ...]

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
        return teams_for(results, elements, across=last is not None and last in self.kept)


def _form(computation: Computation, reduce: Instruction) -> _Form:
    values = producers(computation, reduce.operands[: len(reduce.operands) // 2])
    rank, reduced = reduce.operands[0].shape.rank, frozenset(reduce.attributes["dimensions"])
    barriers = frozenset(d for d in range(rank - 1) if (d in reduced) != (d + 1 in reduced))
    collapsed = collapse_dimensions(values, barriers)
    if collapsed is None:
        return _Form(values, tuple(sorted(reduced)))
    return _Form(collapsed.computation, tuple(n for n, group in enumerate(collapsed.groups) if group[0] in reduced))


def _reduce_of(instruction: Instruction) -> tuple[Computation, Instruction] | None:
    if instruction.opcode == "fusion" and instruction.attributes["kind"] == ROWS:
        return None
    computation = instruction.attributes["calls"] if instruction.opcode == "fusion" else as_computation(instruction)
    root = computation.root
    return (computation, root) if root.opcode == "reduce" else None


def _scratch(instruction: Instruction) -> int:
    """The parts of all results."""
    found = _reduce_of(instruction)
    if found is None:
        return 0
    teams = _form(*found).teams()
    if teams.parts == 1:
        return 0
    return sum(_part_bytes(shape, teams) for shape in array_leaves(found[1].shape))


def _part_bytes(shape: Shape, teams: Teams) -> int:
    size = shape.element_type.byte_size * teams.parts * teams.results
    return -(-size // ALIGNMENT) * ALIGNMENT


def emit_reduction(frame: Frame, instruction: Instruction, computation: Computation, values: Values) -> list[Leaf]:
    """A computation whose root is a reduce."""
    reduce = result_roots(computation)[0]
    count = len(reduce.operands) // 2
    outputs = [output for output in frame.outputs(instruction) if output is not None]
    inputs = [values[operand][0] for operand in instruction.operands]
    form = _form(computation, reduce)
    teams = form.teams()
    if not teams.results:
        return list(outputs)
    scalars = [Shape(shape.element_type, ()) for shape in array_leaves(reduce.shape)]
    flat = [Stored(output.place, output.shape.with_dimensions((teams.results,))) for output in outputs]
    key = (frame.kernels.number(computation), "reduce")

    def initial(kernel: Kernel, bindings: list[Binding]) -> list[RegisterValue]:
        emitter = ElementalEmitter(kernel.builder, 1, dict(zip(computation.parameters, bindings)))
        return [emitter.emit(init, ()) for init in reduce.operands[count:]]

    if not teams.elements:
        grid = Grid.of(teams.results, THREADS)
        frame.launch("reduce_nothing", key, inputs, flat, grid, partial(_write_initial, initial, teams), instruction.source)
        return list(outputs)

    def reduction(bindings: list[Binding]) -> Reduction:
        given = [
            of_shape(binding, parameter.shape) if isinstance(binding, Array) else binding
            for binding, parameter in zip(bindings, form.computation.parameters)
        ]
        return Reduction(form.computation, given, [], form.reduced, reduce.attributes["to_apply"])

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, inner, sizes = kernel.builder, reduction(bindings), form.sizes

        def element(result: ir.Value, number: ir.Value) -> list[RegisterValue]:
            return inner.elements(b, _index(b, form, sizes, result, number), 1)

        def combine(first: list[RegisterValue], second: list[RegisterValue]) -> list[RegisterValue]:
            return inner.combine(b, first, second, 1)

        def finish(result: ir.Value, part: ir.Value, totals: list[RegisterValue]) -> None:
            if teams.parts > 1:
                place = b.add(b.mul(part, I64(teams.results)), result)
            else:
                place, totals = result, combine(initial(kernel, bindings), totals)
            for array, value in zip(arrays, totals):
                array.store(b, (Affine(place),), value, 1)

        reduce_in_teams(kernel, teams, scalars, element, combine, finish)

    name = "reduce_columns" if teams.across else "reduce_rows"
    if teams.parts == 1:
        frame.launch(name, key, inputs, flat, teams.grid, write, instruction.source)
        return list(outputs)
    parts, offset = [], 0
    for shape in scalars:
        parts.append(frame.scratch(instruction, shape.with_dimensions((teams.parts * teams.results,)), offset))
        offset += _part_bytes(shape, teams)
    frame.launch(name, key, inputs, parts, teams.grid, write, instruction.source)
    last = replace(teams_for(teams.results, teams.parts, teams.across), parts=1)

    def write_last(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, held = kernel.builder, bindings[: len(parts)]
        inner = reduction(bindings[len(parts) :])

        def element(result: ir.Value, number: ir.Value) -> list[RegisterValue]:
            place = Affine(b.add(b.mul(number, I64(teams.results)), result))
            return [array.load(b, (place,), 1) for array in held]

        def combine(first: list[RegisterValue], second: list[RegisterValue]) -> list[RegisterValue]:
            return inner.combine(b, first, second, 1)

        def finish(result: ir.Value, part: ir.Value, totals: list[RegisterValue]) -> None:
            for array, value in zip(arrays, combine(initial(kernel, bindings[len(parts) :]), totals)):
                array.store(b, (Affine(result),), value, 1)

        reduce_in_teams(kernel, last, scalars, element, combine, finish)

    frame.launch("reduce_parts", (*key, teams.parts), [*parts, *inputs], flat, last.grid, write_last, instruction.source)
    return list(outputs)


def _write_initial(initial, teams: Teams, kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
    b, number = kernel.builder, kernel.number()
    with b.if_then(b.icmp_unsigned("<", number, number.type(teams.results))):
        for array, value in zip(arrays, initial(kernel, bindings)):
            array.store(b, (Affine(wide(b, number)),), value, 1)


def _index(b: ir.IRBuilder, form: _Form, sizes: tuple[int, ...], result: ir.Value, number: ir.Value) -> Index:
    kept = index_of(b, result, [sizes[d] for d in form.kept])
    reduced = index_of(b, number, [sizes[d] for d in form.reduced])
    index = [None] * len(sizes)
    for positions, components in ((form.kept, kept), (form.reduced, reduced)):
        for d, component in zip(positions, components):
            index[d] = component
    return tuple(index)


@emits("reduce", scratch=_scratch)
def reduce(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    return emit_reduction(frame, instruction, as_computation(instruction), values)


@emits("fusion", scratch=_scratch)
def fusion(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """A fused computation: the hero gives the kernel its form."""
    computation = instruction.attributes["calls"]
    if instruction.attributes["kind"] == ROWS:
        return emit_rows(frame, instruction, computation, values)
    roots = result_roots(computation)
    if any(root.opcode == "reduce" for root in roots):
        return emit_reduction(frame, instruction, computation, values)
    if roots[0].shape.rank == 0:
        return emit_scalars(frame, instruction, computation, values)
    return emit_loop(frame, instruction, computation, values)
