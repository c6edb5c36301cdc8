"""The sort region: each line along the sorted dimension is sorted on its own, all operands together, stably.

A line is sorted in runs by insertion, and the runs are merged (a bottom-up merge sort), the comparator being emitted in
place. Lines that are ordered by a plain key go to regions/vector_sort.py, or, where they are long, to regions/radix_sort.py;
a long one alone to regions/sample_sort.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from llvmlite import ir

from ....compile.comparators import SortKey, sort_key
from ....hlo import Computation, Instruction, Shape, leaves
from ....hlo.shape import element_strides
from ...llvm.arrays import Array
from ...llvm.index import Affine, Base, Component, Index, i64, least, merge_levels
from ...llvm.loops import carried_loop, counted_loop, while_loop
from ...llvm.memory import copy_apart
from ...llvm.pieces import independent_loops
from ...llvm.scalar_computations import emit_scalar_computation
from ...llvm.types import I8, I64, RegisterValue, register_bytes
from ..frame import KEEPS_REST
from ..nest_samples import samples
from ..nests import EmitNest, Nest, always, emits_nest
from ..target import Target
from ..vectors import VectorLoop, compresses_lanes
from .radix_sort import LEAST_ELEMENTS, emit_radix_sort, histogram_bytes
from .sample_sort import LEAST_DIVIDED, SampleSort, emit_phase, sample_sort_bytes
from .vector_sort import emit_vector_sort, plan_vector_sort

# Runs of this length are sorted by insertion.
_RUN = 16
_ALIGNMENT = 64

Move = Callable[[Component, int, ir.Value | None], None]


@dataclass(frozen=True)
class Line:
    """One line of each operand, contiguous in memory."""

    arrays: tuple[Array, ...]

    def load(self, builder: ir.IRBuilder, position: Base) -> list[RegisterValue]:
        return [array.load(builder, (Affine(position),), 1) for array in self.arrays]

    def store(self, builder: ir.IRBuilder, position: Base, values: Sequence[RegisterValue]) -> None:
        for array, value in zip(self.arrays, values):
            array.store(builder, (Affine(position),), value, 1)

    @property
    def pointers(self) -> list[ir.Value]:
        return [array.pointer for array in self.arrays]

    def at(self, pointers: Sequence[ir.Value]) -> Line:
        """Lines of the same types elsewhere."""
        return Line(tuple(Array(pointer, array.shape) for pointer, array in zip(pointers, self.arrays)))


def scratch_bytes(instruction: Instruction) -> int:
    """Memory for one or two copies of a line, and for counting digits."""
    if leaves(instruction.shape)[0].size == 0:
        return 0
    plan = plan_vector_sort(instruction, _line_size(instruction))
    if plan is not None and _is_divided(instruction):
        return max(sample_sort_bytes(plan), _undivided_bytes(instruction))
    return _undivided_bytes(instruction)


def own_bytes(instruction: Instruction) -> int:
    """What each thread needs of that for itself."""
    return 0 if _is_divided(instruction) else scratch_bytes(instruction)


def _is_divided(instruction: Instruction) -> bool:
    """Whether there is one long line, which several threads sort together where the processor can divide keys."""
    size = _line_size(instruction)
    is_alone = size >= LEAST_DIVIDED and leaves(instruction.shape)[0].size == size
    return is_alone and plan_vector_sort(instruction, size) is not None


def _phases_before(instruction: Instruction) -> list[EmitNest]:
    if not _is_divided(instruction):
        return []
    plan = plan_vector_sort(instruction, _line_size(instruction))
    return [lambda nest, phase=phase: emit_phase(nest, plan, phase) for phase in (SampleSort.count, SampleSort.move)]


def _undivided_bytes(instruction: Instruction) -> int:
    plan = plan_vector_sort(instruction, _line_size(instruction))
    if plan is not None and not plan.only_divided:
        return plan.scratch_bytes
    line, copies = _line_bytes(instruction), 1 if _is_contiguous(instruction) else 2
    others = copies * line + (histogram_bytes(key) if (key := _radix_key(instruction)) is not None else 0)
    return max(others, plan.scratch_bytes) if plan is not None else others


def _line_bytes(instruction: Instruction) -> int:
    size = _line_size(instruction)
    return sum(_aligned(size * shape.element_type.byte_size) for shape in leaves(instruction.shape))


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _line_size(instruction: Instruction) -> int:
    (dimension,) = instruction.attributes["dimensions"]
    return leaves(instruction.shape)[0].dimensions[dimension]


def _is_contiguous(instruction: Instruction) -> bool:
    """Whether the lines of the results lie in one piece each, so that they can be sorted where they are."""
    (dimension,) = instruction.attributes["dimensions"]
    return all(element_strides(shape)[dimension] == 1 for shape in leaves(instruction.shape))


def _radix_key(instruction: Instruction) -> SortKey | None:
    return sort_key(instruction.attributes["to_apply"]) if _line_size(instruction) >= LEAST_ELEMENTS else None


@samples(
    # No key is known: runs are merged.
    """
    x = f32[5,100] parameter(0)
    i = s32[5,100] parameter(1)
    ROOT y = (f32[5,100], s32[5,100]) sort(x, i), dimensions={1}, is_stable=true, to_apply=smaller
    """,
    """
    x = f32[100,5] parameter(0)
    i = s32[100,5] parameter(1)
    ROOT y = (f32[100,5], s32[100,5]) sort(x, i), dimensions={0}, is_stable=true, to_apply=smaller
    """,
    calls="""smaller {
      a = f32[] parameter(0)
      b = f32[] parameter(1)
      i = s32[] parameter(2)
      j = s32[] parameter(3)
      m = f32[] abs(a)
      n = f32[] abs(b)
      ROOT z = pred[] compare(m, n), direction=LT
    }""",
)
@emits_nest("sort", scratch=scratch_bytes, own=own_bytes, divides=always, before=_phases_before)
def emit_sort(nest: Nest) -> None:
    """Sort the operands into the outputs."""
    builder, target, instruction, scratch = nest.builder, nest.target, nest.instruction, nest.own or nest.scratch
    operands, outputs = nest.operands, nest.outputs
    if outputs[0].shape.size == 0:
        return
    b, size = builder, _line_size(instruction)
    plan = plan_vector_sort(instruction, size)
    if _is_divided(instruction) and emit_phase(nest, plan, SampleSort.sort):
        return
    (dimension,) = instruction.attributes["dimensions"]
    sizes = [1 if d == dimension else s for d, s in enumerate(outputs[0].shape.dimensions)]
    stop = nest.stops.get(dimension)
    count: Base = size if stop is None else stop
    if plan is not None and (compresses_lanes(target) or not plan.only_divided):
        with independent_loops(b, sizes) as index:
            at = partial(_on_line, index, dimension)
            emit_vector_sort(b, target, plan, operands, outputs, at, scratch, count)
            if KEEPS_REST in nest.stops:
                _keep_rest(b, operands, outputs, at, count, size)
        return
    comparator, key = instruction.attributes["to_apply"], _radix_key(instruction)
    spare = _line_at(b, scratch, 0, operands, size)
    contiguous = _is_contiguous(instruction)
    own = None if contiguous else _line_at(b, scratch, _line_bytes(instruction), operands, size)
    histograms = _line_bytes(instruction) * (1 if contiguous else 2)
    with independent_loops(b, sizes) as index:
        if own is None:
            line = Line(tuple(_row(output.seen_from(b, index), size) for output in outputs))
        else:
            line = own
        if key is not None:
            _copy_line(b, target, operands, line.arrays, index, dimension, stop)
            emit_radix_sort(b, key, line.arrays, spare.arrays, _bytes_at(b, scratch, histograms), count)
        else:
            start, other = line, spare
            if stop is None and merge_levels(b, -(-size // _RUN)) % 2:
                start, other = spare, line
            _copy_line(b, target, operands, start.arrays, index, dimension, stop)
            _sort_runs(b, comparator, start, count, size)
            sorted_ = _merge_levels(b, comparator, start, other, count, size)
            if stop is not None:
                _bring_back(b, sorted_, line, count)
        if own is not None:
            _store_line(b, target, line.arrays, outputs, index, dimension, stop)
        if KEEPS_REST in nest.stops:
            _keep_rest(b, operands, outputs, partial(_on_line, index, dimension), count, size)


def _on_line(index: Index, dimension: int, component: Component) -> Index:
    """The index of a position on the line through an index."""
    return (*index[:dimension], component, *index[dimension + 1 :])


def _bring_back(builder: ir.IRBuilder, pointers: Sequence[ir.Value], line: Line, count: ir.Value) -> None:
    """Copy the elements to the line where they lie elsewhere."""
    b = builder
    with b.if_then(b.icmp_unsigned("!=", pointers[0], line.pointers[0])):
        for array, pointer in zip(line.arrays, pointers):
            copy_apart(b, array.pointer, pointer, b.mul(count, I64(array.shape.element_type.byte_size)))


def _keep_rest(
    builder: ir.IRBuilder,
    operands: Sequence[Array],
    outputs: Sequence[Array],
    at: Callable[[Component], Index],
    count: Base,
    size: int,
) -> None:
    """Copy what follows the first elements of a line."""

    def copy(position: ir.Value, nothing: list[RegisterValue]) -> list[RegisterValue]:
        index = at(Affine(position))
        for operand, output in zip(operands, outputs):
            output.store(builder, index, operand.load(builder, index, 1), 1)
        return nothing

    carried_loop(builder, count, size, 1, [], copy, "rest", most=size)


def _bytes_at(builder: ir.IRBuilder, scratch: ir.Value | None, offset: int) -> ir.Value:
    assert scratch is not None
    return builder.gep(scratch, [I64(offset)], source_etype=I8) if offset else scratch


def _row(array: Array, size: int) -> Array:
    """The array's first elements, as an array of one dimension."""
    return Array(array.pointer, Shape(array.shape.element_type, (size,)))


def _line_at(builder: ir.IRBuilder, scratch: ir.Value | None, offset: int, like: list[Array], size: int) -> Line:
    rows = []
    for array in like:
        rows.append(_row(Array(_bytes_at(builder, scratch, offset), array.shape), size))
        offset += _aligned(size * array.shape.element_type.byte_size)
    return Line(tuple(rows))


def _copy_line(
    builder: ir.IRBuilder,
    target: Target,
    sources: list[Array],
    line: Sequence[Array],
    index: Index,
    dimension: int,
    stop: ir.Value | None,
) -> None:
    """Copy the lines through an index into contiguous memory."""
    for source, row in zip(sources, line):

        def move(component, lanes, mask, source=source, row=row):
            at = _on_line(index, dimension, component)
            row.store(builder, (component,), source.load(builder, at, lanes, mask), lanes, mask)

        _loop(builder, target, row, move, stop)


def _store_line(
    builder: ir.IRBuilder,
    target: Target,
    line: Sequence[Array],
    outputs: list[Array],
    index: Index,
    dimension: int,
    stop: ir.Value | None,
) -> None:
    for row, output in zip(line, outputs):

        def move(component, lanes, mask, row=row, output=output):
            at = _on_line(index, dimension, component)
            output.store(builder, at, row.load(builder, (component,), lanes, mask), lanes, mask)

        _loop(builder, target, row, move, stop)


def _loop(builder: ir.IRBuilder, target: Target, row: Array, move: Move, stop: ir.Value | None) -> None:
    (size,) = row.shape.dimensions
    lanes = target.lanes(register_bytes(row.shape.element_type), size)
    VectorLoop(builder, lanes, in_place=False).emit(size, move, stop)


def _is_before(
    builder: ir.IRBuilder, comparator: Computation, first: list[RegisterValue], second: list[RegisterValue]
) -> ir.Value:
    arguments = [value for pair in zip(first, second) for value in pair]
    return emit_scalar_computation(builder, comparator, arguments, 1)[0]


def _runs(builder: ir.IRBuilder, count: Base) -> Base:
    """In how many runs so many elements are."""
    return -(-count // _RUN) if isinstance(count, int) else builder.udiv(builder.add(count, I64(_RUN - 1)), I64(_RUN))


def _sort_runs(builder: ir.IRBuilder, comparator: Computation, line: Line, count: Base, size: int) -> None:
    """Sort each run by insertion: an element moves up past all that it comes before."""
    b = builder
    if size == 1:
        return
    with counted_loop(b, -(-size // _RUN), stop=None if isinstance(count, int) else _runs(b, count)) as number:
        start = b.mul(i64(number), I64(_RUN))
        end = least(b, b.add(start, I64(_RUN)), count)

        def insert(position: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
            element = line.load(b, position)
            with while_loop(b, [position], "insert", most=_RUN) as loop:
                (place,) = loop.values
                loop.leave_unless(b.icmp_signed(">", place, start))
                before = b.sub(place, I64(1))
                neighbour = line.load(b, before)
                loop.leave_unless(_is_before(b, comparator, element, neighbour))
                line.store(b, place, neighbour)
                loop.carry([before])
            line.store(b, place, element)
            return carried

        carried_loop(b, b.add(start, I64(1)), end, 1, [], insert, "run")


def _merge_levels(
    builder: ir.IRBuilder, comparator: Computation, source: Line, target: Line, elements: Base, size: int
) -> list[ir.Value]:
    """Merge runs twice as long in each level, from one line into the other and back; returns the line where they are then."""
    b, count = builder, len(source.arrays)
    runs = _runs(b, elements)
    if not isinstance(runs, int):
        runs = b.select(b.icmp_signed("<", runs, I64(1)), I64(1), runs)

    def level(number: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
        width, *pointers = carried
        sources, targets = source.at(pointers[:count]), target.at(pointers[count:])
        step = b.shl(width, I64(1))
        pairs = b.udiv(b.sub(b.add(step, i64(elements)), I64(1)), step)

        def merge(pair: ir.Value, nothing: list[RegisterValue]) -> list[RegisterValue]:
            start = b.mul(pair, step)
            middle = least(b, b.add(start, width), elements)
            end = least(b, b.add(start, step), elements)
            _merge(b, comparator, sources, targets, start, middle, end, size)
            return nothing

        carried_loop(b, 0, pairs, 1, [], merge, "merge.pair", most=1)
        return [step, *pointers[count:], *pointers[:count]]

    begin = [I64(_RUN), *source.pointers, *target.pointers]
    return carried_loop(b, 0, merge_levels(b, runs), 1, begin, level, "merge.level")[1 : count + 1]


def _merge(
    builder: ir.IRBuilder,
    comparator: Computation,
    source: Line,
    target: Line,
    start: ir.Value,
    middle: ir.Value,
    end: ir.Value,
    most: int,
) -> None:
    """Merge the runs [start, middle) and [middle, end); of equal elements those of the first run come first.

    most: the number of elements in all runs of the level.
    """
    b = builder
    with while_loop(b, [start, middle], "merge", most) as loop:
        left, right = loop.values
        loop.leave_unless(b.and_(b.icmp_signed("<", left, middle), b.icmp_signed("<", right, end)))
        take_right = _is_before(b, comparator, source.load(b, right), source.load(b, left))
        taken = b.select(take_right, right, left)
        target.store(b, b.sub(b.add(left, right), middle), source.load(b, taken))
        step = b.zext(take_right, I64)
        loop.carry([b.sub(b.add(left, I64(1)), step), b.add(right, step)])
    for array, into in zip(source.arrays, target.arrays):
        _move(b, array, left, into, b.sub(b.add(left, right), middle), b.sub(middle, left))
        _move(b, array, right, into, right, b.sub(end, right))


def _move(builder: ir.IRBuilder, source: Array, first: ir.Value, target: Array, place: ir.Value, count: ir.Value) -> None:
    b = builder
    size = b.mul(count, I64(source.shape.element_type.byte_size))
    copy_apart(b, target.address(b, (Affine(place),)), source.address(b, (Affine(first),)), size)
