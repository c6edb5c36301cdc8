"""The reduction region: rows (the vector dimension is reduced) and columns (it is kept)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

from llvmlite import ir

from ....hlo import Computation, ElementType, Instruction
from ...llvm import index as indices
from ...llvm.arrays import Array
from ...llvm.collapse import collapse_dimensions
from ...llvm.elemental import Binding, ElementalEmitter, emit_scalar_computation
from ...llvm.elementary.arithmetic import constant, intrinsic
from ...llvm.elementary.double_double import two_sum
from ...llvm.index import Affine, Component, Index
from ...llvm.loops import carried_loop, counted_loop, loop_nest
from ...llvm.scalar_control_flow import has_control_flow
from ...llvm.small_types import POWERS_OF_TWO
from ...llvm.types import (
    I32,
    ComplexValue,
    RegisterValue,
    broadcast_lanes,
    integer_constant,
    register_bytes,
    scalar_register_type,
)
from ..target import Target
from .loop import VectorLoop, all_row_major, reshaped_arguments, result_roots, tail_mask

# Row reductions keep this many vectors of partial results, so that one addition need not wait for another.
PARTIAL_VECTORS = 4
# A sum is carried with compensation beyond this many additions a lane: the error of the lanes' sums stays that of one block.
BLOCK_STEPS = 32
# Rows up to this long are reduced in registers; longer ones in pieces of the output that stay in the first-level cache.
_REGISTER_COLUMN_BYTES = 1 << 10
_PIECE_BYTES = 1 << 14


@dataclass(frozen=True)
class Reduction:
    """What is reduced, and how.

    ``producers`` computes the operands (its root, or the elements of its root tuple) from ``arguments``; ``init_values``
    are scalar registers; ``reduced`` are the reduced dimensions, in order.
    """

    producers: Computation
    arguments: list[Binding]
    init_values: list[RegisterValue]
    reduced: tuple[int, ...]
    to_apply: Computation

    @property
    def operands(self) -> tuple[Instruction, ...]:
        return result_roots(self.producers)

    @property
    def count(self) -> int:
        return len(self.operands)

    @property
    def dimensions(self) -> tuple[int, ...]:
        return self.operands[0].shape.dimensions

    @property
    def kept(self) -> tuple[int, ...]:
        return tuple(d for d in range(len(self.dimensions)) if d not in self.reduced)

    @property
    def bindings(self) -> dict[Instruction, Binding]:
        return dict(zip(self.producers.parameters, self.arguments))

    def combine(
        self, builder: ir.IRBuilder, accumulators: list[RegisterValue], elements: list[RegisterValue], lanes: int
    ) -> list[RegisterValue]:
        return emit_scalar_computation(builder, self.to_apply, [*accumulators, *elements], lanes)

    def elements(self, builder: ir.IRBuilder, index: Index, lanes: int, mask: ir.Value | None = None) -> list[RegisterValue]:
        emitter = ElementalEmitter(builder, lanes, self.bindings)
        return [emitter.emit(operand, index, mask) for operand in self.operands]


def emit_reduction(builder: ir.IRBuilder, target: Target, reduction: Reduction, outputs: list[Array]) -> list[RegisterValue]:
    """Reduce into the outputs, row-major arrays; where everything is reduced, the results are returned instead."""
    dimensions = reduction.dimensions
    if any(dimensions[d] == 0 for d in reduction.kept):
        return []
    reduction, outputs = _collapse(reduction, outputs)
    dimensions = reduction.dimensions
    results: list[RegisterValue] = []

    def store(index: Index, values: list[RegisterValue], lanes: int, mask: ir.Value | None) -> None:
        if not outputs:
            results.extend(values)
        for output, value in zip(outputs, values):
            output.store(builder, index, value, lanes, mask)

    if 0 in dimensions:
        with loop_nest(builder, [dimensions[d] for d in reduction.kept]) as index:
            store(index, reduction.init_values, 1, None)
    elif dimensions and len(dimensions) - 1 in reduction.kept:
        if reduction.reduced and dimensions[-1] * outputs[0].shape.element_type.byte_size > _REGISTER_COLUMN_BYTES:
            _emit_wide_columns(builder, target, reduction, outputs)
        else:
            _emit_columns(builder, target, reduction, store)
    else:
        _emit_rows(builder, target, reduction, store)
    return results


def _collapse(reduction: Reduction, outputs: list[Array]) -> tuple[Reduction, list[Array]]:
    """The reduction with adjacent dimensions collapsed that are both reduced or both kept."""
    rank, reduced = len(reduction.dimensions), reduction.reduced
    if not all_row_major(reduction.arguments):
        return reduction, outputs
    barriers = frozenset(d for d in range(rank - 1) if (d in reduced) != (d + 1 in reduced))
    collapsed = collapse_dimensions(reduction.producers, barriers)
    if collapsed is None:
        return reduction, outputs
    computation, groups = collapsed
    reduced_groups = tuple(number for number, group in enumerate(groups) if group[0] in reduced)
    kept_sizes = tuple(
        size for number, size in enumerate(result_roots(computation)[0].shape.dimensions) if number not in reduced_groups
    )
    outputs = [Array(output.pointer, output.shape.with_dimensions(kept_sizes)) for output in outputs]
    arguments = reshaped_arguments(reduction.arguments, computation)
    return replace(reduction, producers=computation, arguments=arguments, reduced=reduced_groups), outputs


Store = Callable[[Index, list[RegisterValue], int, "ir.Value | None"], None]


def _lanes(target: Target, reduction: Reduction, size: int) -> int:
    arrays = [i for c in (reduction.producers, reduction.to_apply) for i in c.instructions if not i.shape.is_tuple]
    if has_control_flow((reduction.to_apply, reduction.producers)):
        return 1
    lanes = target.lanes(max(register_bytes(i.shape.element_type) for i in arrays))
    while lanes > 1 and lanes >= 2 * size:
        lanes //= 2
    return lanes


# --- columns: the vector dimension is kept, each lane reduces its own column in order ---


def _emit_columns(builder: ir.IRBuilder, target: Target, reduction: Reduction, store: Store) -> None:
    dimensions, kept = reduction.dimensions, reduction.kept
    size = dimensions[-1]
    lanes = _lanes(target, reduction, size)
    simple = len(reduction.producers.instructions) <= 12
    unroll = 1 if not simple or reduction.count > 1 else max(1, min(8, size // lanes))
    with loop_nest(builder, [dimensions[d] for d in kept[:-1]]) as outer:

        def column(start: Component, vectors: int, mask: ir.Value | None) -> None:
            starts = [indices.add(builder, start, number * lanes) for number in range(vectors)]
            init = [broadcast_lanes(builder, value, lanes) for value in reduction.init_values]

            def accumulate(index: dict[int, Component], values: list[RegisterValue]) -> list[RegisterValue]:
                results = []
                for number, component in enumerate(starts):
                    full = tuple(component if d == len(dimensions) - 1 else index[d] for d in range(len(dimensions)))
                    group = values[number * reduction.count : (number + 1) * reduction.count]
                    results += reduction.combine(builder, group, reduction.elements(builder, full, lanes, mask), lanes)
                return results

            fixed = dict(zip(kept[:-1], outer))
            totals = _reduce_loops(builder, reduction, list(reduction.reduced), fixed, init * vectors, accumulate)
            for number, component in enumerate(starts):
                group = totals[number * reduction.count : (number + 1) * reduction.count]
                store((*outer, component), group, lanes, mask)

        _strip(builder, size, lanes, unroll, column)


def _strip(
    builder: ir.IRBuilder, size: int, lanes: int, unroll: int, body: Callable[[Component, int, ir.Value | None], None]
) -> None:
    """Cover a dimension by blocks of several vectors, then by single vectors."""
    block = unroll * lanes
    blocks = size // block if unroll > 1 else 0
    if blocks:
        with counted_loop(builder, blocks) as number:
            body(Affine(indices.multiply_base(builder, number, block), int(lanes > 1)), unroll, None)
    done = blocks * block
    if done < size:
        VectorLoop(builder, lanes, in_place=False).emit(
            size - done, lambda component, _, mask: body(indices.add(builder, component, done), 1, mask)
        )


def _reduce_loops(
    builder: ir.IRBuilder,
    reduction: Reduction,
    remaining: list[int],
    index: dict[int, Component],
    values: list[RegisterValue],
    body: Callable[[dict[int, Component], list[RegisterValue]], list[RegisterValue]],
) -> list[RegisterValue]:
    """Loops over the remaining reduced dimensions, the values carried through all of them."""
    if not remaining:
        return body(index, values)
    dimension, *inner = remaining

    def iteration(number: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
        return _reduce_loops(builder, reduction, inner, {**index, dimension: Affine(number)}, carried, body)

    return carried_loop(builder, 0, reduction.dimensions[dimension], 1, values, iteration, "reduce")


def _emit_wide_columns(builder: ir.IRBuilder, target: Target, reduction: Reduction, outputs: list[Array]) -> None:
    """Columns of long rows: the accumulators stay in the output, a piece of it at a time, and whole rows stream by.

    Reading a few columns of each row would touch a new page of memory at every step.
    """
    dimensions, kept, size = reduction.dimensions, reduction.kept, reduction.dimensions[-1]
    last = len(dimensions) - 1
    lanes = _lanes(target, reduction, size)
    piece = min(size, _PIECE_BYTES // outputs[0].shape.element_type.byte_size)
    init = [broadcast_lanes(builder, value, lanes) for value in reduction.init_values]

    def cover(first: indices.Base, count: int, outer: Index, fixed: dict[int, Component]) -> None:
        def over_columns(rows: list[dict[int, Component]] | None) -> None:
            def update(component: Component, lanes: int, mask: ir.Value | None) -> None:
                column = indices.add(builder, component, first)
                place = (*outer, column)
                values = init if rows is None else [output.load(builder, place, lanes, mask) for output in outputs]
                for row in rows or ():
                    index = tuple(column if d == last else row[d] for d in range(len(dimensions)))
                    values = reduction.combine(builder, values, reduction.elements(builder, index, lanes, mask), lanes)
                for output, value in zip(outputs, values):
                    output.store(builder, place, value, lanes, mask)

            VectorLoop(builder, lanes, in_place=True).emit(count, update)

        over_columns(None)
        *outer_reduced, innermost = reduction.reduced

        def rows(index: dict[int, Component], values: list[RegisterValue]) -> list[RegisterValue]:
            rows_at_once = 4 if len(reduction.producers.instructions) <= 12 else 1
            whole, rest = divmod(dimensions[innermost], rows_at_once)
            if whole:
                with counted_loop(builder, whole, "rows") as number:
                    base = indices.multiply_base(builder, number, rows_at_once)
                    over_columns(
                        [{**index, innermost: Affine(indices.add_base(builder, base, k))} for k in range(rows_at_once)]
                    )
            if rest:
                over_columns([{**index, innermost: Affine(whole * rows_at_once + k)} for k in range(rest)])
            return values

        _reduce_loops(builder, reduction, outer_reduced, fixed, [], rows)

    with loop_nest(builder, [dimensions[d] for d in kept[:-1]]) as outer:
        fixed = dict(zip(kept[:-1], outer))
        whole, rest = divmod(size, piece)
        with counted_loop(builder, whole, "piece") as number:
            cover(indices.multiply_base(builder, number, piece), piece, outer, fixed)
        if rest:
            cover(whole * piece, rest, outer, fixed)


# --- rows: the vector dimension is reduced ---


def _emit_rows(builder: ir.IRBuilder, target: Target, reduction: Reduction, store: Store) -> None:
    dimensions, kept = reduction.dimensions, reduction.kept
    opcode = _single_operation(reduction)
    identity = None if opcode is None else _identity(opcode, reduction.operands[0].shape.element_type)
    with loop_nest(builder, [dimensions[d] for d in kept]) as outer:
        fixed = dict(zip(kept, outer))
        init = reduction.init_values
        if identity is None or not reduction.reduced:

            def one(index: dict[int, Component], values: list[RegisterValue]) -> list[RegisterValue]:
                full = tuple(index[d] for d in range(len(dimensions)))
                return reduction.combine(builder, values, reduction.elements(builder, full, 1), 1)

            totals = _reduce_loops(builder, reduction, list(reduction.reduced), fixed, init, one)
        else:
            totals = _vector_row(builder, target, reduction, fixed, init, opcode, identity)
        store(outer, totals, 1, None)


def _single_operation(reduction: Reduction) -> str | None:
    """The opcode, where the reduction applies one operation to its two parameters."""
    computation = reduction.to_apply
    root = computation.root
    if reduction.count != 1 or len(root.operands) != 2 or set(root.operands) != set(computation.parameters):
        return None
    return root.opcode


def _identity(opcode: str, element_type: ElementType) -> float | int | None:
    """The value that leaves any other unchanged, where the operation has one. For a sum of floats it is -0."""
    kind = element_type.kind
    if kind == "complex":
        return {"add": -0.0}.get(opcode)
    if kind == "float":
        if element_type.name == POWERS_OF_TWO and opcode == "add":
            return None  # it has no zero
        return {"add": -0.0, "multiply": 1.0, "maximum": -inf, "minimum": inf}.get(opcode)
    bits = element_type.bits
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind == "signed" else (0, (1 << bits) - 1)
    table = {
        "add": 0,
        "multiply": 1,
        "maximum": low,
        "minimum": high,
        "and": -1 if kind == "signed" else high,
        "or": 0,
        "xor": 0,
    }
    return table.get(opcode)


def _vector_row(
    builder: ir.IRBuilder,
    target: Target,
    reduction: Reduction,
    fixed: dict[int, Component],
    init: list[RegisterValue],
    opcode: str,
    identity: float | int,
) -> list[RegisterValue]:
    """Reduce one row: vectors of partial results, combined across lanes at the end."""
    dimensions, last = reduction.dimensions, len(reduction.dimensions) - 1
    size = dimensions[last]
    lanes = _lanes(target, reduction, size)
    element_type = reduction.operands[0].shape.element_type
    neutral = _splat_identity(element_type, identity, lanes)
    outer_reduced = [d for d in reduction.reduced if d != last]
    compensated = opcode == "add" and element_type.is_float and _steps(dimensions, reduction.reduced, lanes) > BLOCK_STEPS

    def combine(first: RegisterValue, second: RegisterValue) -> RegisterValue:
        return reduction.combine(builder, [first], [second], lanes)[0]

    def load(index: dict[int, Component], component: Component, mask: ir.Value | None = None) -> RegisterValue:
        full = tuple(component if d == last else index[d] for d in range(len(dimensions)))
        (value,) = reduction.elements(builder, full, lanes, mask)
        return value if mask is None else _select(builder, mask, value, neutral)

    def block(index: dict[int, Component], start: indices.Base, steps: int) -> RegisterValue:
        """The combination of ``steps`` groups of PARTIAL_VECTORS vectors."""
        stride = PARTIAL_VECTORS * lanes

        def iteration(number: ir.Value, partial: list[RegisterValue]) -> list[RegisterValue]:
            base = indices.add_base(builder, number, start)
            return [
                combine(value, load(index, Affine(indices.add_base(builder, base, k * lanes), 1 if lanes > 1 else 0)))
                for k, value in enumerate(partial)
            ]

        partial = carried_loop(builder, 0, steps * stride, stride, [neutral] * PARTIAL_VECTORS, iteration, "row")
        while len(partial) > 1:
            partial = [combine(a, b) for a, b in zip(partial[::2], partial[1::2])]
        return partial[0]

    def accumulate(state: list[RegisterValue], value: RegisterValue) -> list[RegisterValue]:
        if not compensated:
            return [combine(state[0], value)]
        total, error = two_sum(builder, state[0], value)
        return [total, builder.fadd(state[1], error)]

    def row(index: dict[int, Component], state: list[RegisterValue]) -> list[RegisterValue]:
        group = PARTIAL_VECTORS * lanes
        steps = BLOCK_STEPS if compensated else max(1, size // group)
        done = 0
        blocks = size // (steps * group)
        if blocks:

            def whole(number: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
                return accumulate(carried, block(index, number, steps))

            state = carried_loop(builder, 0, blocks * steps * group, steps * group, state, whole, "block")
            done = blocks * steps * group
        groups = (size - done) // group
        if groups:
            state = accumulate(state, block(index, done, groups))
            done += groups * group
        singles = (size - done) // lanes
        if singles:

            def single(number: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
                return accumulate(carried, load(index, Affine(number, 1 if lanes > 1 else 0)))

            state = carried_loop(builder, done, done + singles * lanes, lanes, state, single, "vector")
            done += singles * lanes
        if done < size:
            state = accumulate(state, load(index, Affine(done, 1), tail_mask(lanes, size - done)))
        return state

    zero = _splat_identity(element_type, 0.0, lanes) if compensated else None
    state = [neutral, zero] if compensated else [neutral]
    state = _reduce_loops(builder, reduction, outer_reduced, fixed, state, row)
    total = _finish_compensation(builder, *state) if compensated else state[0]
    width = lanes
    while width > 1:
        width //= 2
        total = reduction.combine(builder, [_half(builder, total, 0)], [_half(builder, total, 1)], width)[0]
    return reduction.combine(builder, init, [total], 1)


def _steps(dimensions: tuple[int, ...], reduced: tuple[int, ...], lanes: int) -> int:
    """Additions that each lane of each partial vector makes."""
    count = 1
    for dimension in reduced:
        count *= dimensions[dimension]
    return count // (lanes * PARTIAL_VECTORS)


def _splat_identity(element_type: ElementType, identity: float | int, lanes: int) -> RegisterValue:
    scalar = scalar_register_type(element_type)
    type_ = scalar if lanes == 1 else ir.VectorType(scalar, lanes)
    if element_type.is_complex:
        return ComplexValue(constant(type_, identity), constant(type_, identity))
    if element_type.is_float:
        return constant(type_, identity)
    return integer_constant(type_, identity)


def _select(builder: ir.IRBuilder, mask: ir.Value, value: RegisterValue, otherwise: RegisterValue) -> RegisterValue:
    if isinstance(value, ComplexValue):
        return ComplexValue(*(builder.select(mask, v, o) for v, o in zip(value, otherwise)))
    return builder.select(mask, value, otherwise)


def _half(builder: ir.IRBuilder, value: RegisterValue, which: int) -> RegisterValue:
    """The lower (0) or upper (1) half of the lanes; a scalar where one lane is left."""
    if isinstance(value, ComplexValue):
        return ComplexValue(*(_half(builder, part, which) for part in value))
    count = value.type.count // 2
    if count == 1:
        return builder.extract_element(value, I32(which))
    lanes = ir.Constant(ir.VectorType(I32, count), [I32(which * count + lane) for lane in range(count)])
    return builder.shuffle_vector(value, ir.Constant(value.type, ir.Undefined), lanes)


def _finish_compensation(builder: ir.IRBuilder, total: ir.Value, compensation: ir.Value) -> ir.Value:
    """The compensated sum; where the sum is not finite its error is not a number and is left out."""
    magnitude = intrinsic(builder, "fabs", total)
    finite = builder.fcmp_ordered("<", magnitude, constant(total.type, inf))
    # Nothing is added where there was no error: it would turn -0 into +0.
    needed = builder.fcmp_unordered("!=", compensation, constant(total.type, 0.0))
    return builder.select(builder.and_(finite, needed), builder.fadd(total, compensation), total)
