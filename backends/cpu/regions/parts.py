"""Reductions to few results: each piece reduces some of the elements, and what comes of it is combined in the end, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from math import prod

from llvmlite import ir

from ....hlo import PRED, S32, S64, Computation, Instruction, Shape
from ...llvm import index as indices
from ...llvm.arrays import Array
from ...llvm.branches import replaced_if
from ...llvm.collapse import collapse_dimensions
from ...llvm.elemental import Binding
from ...llvm.index import Affine, Base, Index
from ...llvm.loops import loop_nest
from ...llvm.memory import stack_memory
from ...llvm.pieces import piece_number
from ...llvm.reductions import (
    Reduction,
    combined_in_order,
    identity_of,
    splat_identity,
)
from ...llvm.types import I8, I64, RegisterValue, broadcast_lanes
from ..nest_samples import combining, samples
from ..region_functions import Division, RegionFunctions
from ..target import Target
from ..vectors import VectorLoop, lanes_for
from .reduction import emit_reduction
from .row_truths import is_decided_early

# As many parts at most, and as many bytes of what each of them gives.
_MOST_PARTS, _PARTS_BYTES = 64, 64 << 10
# Longer rows are divided into columns.
_MOST_KEPT_BYTES = 8 << 10
_ALIGNMENT = 64
# Where the first elements may decide the result, so many are looked at before others are divided, which are many times as many.
_BEGINNING, _MANY_BEGINNINGS = 4096, 16


def has_few_results(shape: Shape, reduced: tuple[int, ...]) -> bool:
    """Whether the leading dimensions of arrays of this shape are reduced, to a short row at most."""
    kept_bytes = prod(shape.dimensions[len(reduced) :]) * shape.element_type.byte_size
    return bool(reduced and shape.size) and reduced == tuple(range(len(reduced))) and kept_bytes <= _MOST_KEPT_BYTES


def has_parts(producers: Computation, reduced: tuple[int, ...], reduce: Instruction) -> bool:
    """Whether the first dimension of those that are reduced is better divided than the results, which are few.

    Where no identity is known one dimension must be reduced.
    """
    operand = producers.root if not producers.root.shape.is_tuple else producers.root.operands[0]
    shape, to_apply = operand.shape, reduce.attributes["to_apply"]
    if not has_few_results(shape, reduced):
        return False
    operation = to_apply.combining_operation
    identity = None if operation is None else operation.identity(shape.element_type)
    if len(reduced) == shape.rank and is_decided_early(to_apply, operand, reduced, identity):
        is_known = shape.element_type in (PRED, S32, S64)
        return is_known and shape.dimensions[0] >= _MANY_BEGINNINGS * _beginning(shape.dimensions)
    if identity is not None or len(reduced) == 1:
        return True
    collapsed = collapse_dimensions(producers)
    return len(reduced) == shape.rank and collapsed is not None and len(collapsed.groups) == 1


@samples(
    """
    x = f32[300001] parameter(0)
    init = f32[] parameter(1)
    ROOT sum = f32[] reduce(x, init), dimensions={0}, to_apply=add_f32
    """,
    """
    x = s32[70001,9] parameter(0)
    init = s32[] parameter(1)
    ROOT most = s32[9] reduce(x, init), dimensions={0}, to_apply=maximum_s32
    """,
    """
    x = f64[30001,9] parameter(0)
    zero = f64[] constant(0)
    ROOT sum = f64[9] reduce(x, zero), dimensions={0}, to_apply=add_f64
    """,
    """
    x = s32[301,307] parameter(0)
    y = s32[307] parameter(1)
    b = s32[301,307] broadcast(y), dimensions={1}
    z = s32[301,307] multiply(x, b)
    init = s32[] parameter(2)
    ROOT sum = s32[] reduce(z, init), dimensions={0,1}, to_apply=add_s32
    """,
    # No identity is known.
    """
    x = s32[300001] parameter(0)
    init = s32[] parameter(1)
    ROOT largest = s32[] reduce(x, init), dimensions={0}, to_apply=larger_of_all
    """,
    # Decided by the first element of a kind.
    """
    x = pred[1000001] parameter(0)
    false = pred[] constant(false)
    ROOT any = pred[] reduce(x, false), dimensions={0}, to_apply=or_pred
    """,
    """
    x = f32[300001] parameter(0)
    some = f32[] parameter(1)
    bound = f32[300001] broadcast(some), dimensions={}
    above = pred[300001] compare(x, bound), direction=GT
    place = s32[300001] iota(), iota_dimension=0
    none = s32[] constant(2147483647)
    nowhere = s32[300001] broadcast(none), dimensions={}
    found = s32[300001] select(above, place, nowhere)
    ROOT first = s32[] reduce(found, none), dimensions={0}, to_apply=minimum_s32
    """,
    """
    x = s32[601,503] parameter(0)
    init = s32[] parameter(1)
    ROOT largest = s32[] reduce(x, init), dimensions={0,1}, to_apply=larger_of_all
    """,
    calls=combining("add", "f32[]")
    + combining("add", "f64[]")
    + combining("add", "s32[]")
    + combining("maximum", "s32[]")
    + combining("minimum", "s32[]")
    + combining("or", "pred[]")
    + """larger_of_all {
      x = s32[] parameter(0)
      y = s32[] parameter(1)
      m = s32[] abs(x)
      n = s32[] abs(y)
      ROOT z = s32[] maximum(m, n)
    }""",
)
def emit_in_parts(
    builder: ir.IRBuilder,
    functions: RegionFunctions,
    computation: Computation,
    reduction: Reduction,
    outputs: list[Array],
    work: int,
) -> None:
    """The reduction at the end of a computation that takes so much work, into the outputs, scalars in memory, too."""
    identity, operand = identity_of(reduction), reduction.operands[0]
    if outputs[0].shape.rank or not is_decided_early(reduction.to_apply, operand, reduction.reduced, identity):
        _emit_parts(builder, functions, computation, reduction, outputs, work)
        return
    (output,) = outputs
    count, neutral = _beginning(reduction.dimensions), splat_identity(output.shape.element_type, identity, 1)
    beginning = replace(reduction, stops={0: I64(count)})
    (value,) = emit_reduction(builder, functions.target, beginning, [])
    output.store(builder, (), value, 1)
    if operand.shape.element_type is PRED:
        is_open = builder.icmp_unsigned("==", value, neutral)
    else:  # some elements behind the stop may have entered, too, but the least number is wanted
        is_open = builder.icmp_signed(">=", value, value.type(count))
    with builder.if_then(is_open):
        _emit_parts(builder, functions, computation, reduction, outputs, work, neutral)


def _beginning(dimensions: tuple[int, ...]) -> int:
    """How many of the first dimension's indices have about as many elements as are looked at before others."""
    return max(1, _BEGINNING // max(1, prod(dimensions[1:])))


def _emit_parts(
    builder: ir.IRBuilder,
    functions: RegionFunctions,
    computation: Computation,
    reduction: Reduction,
    outputs: list[Array],
    work: int,
    neutral: ir.Value | None = None,
) -> None:
    """``neutral``: a part with another result decides the whole one, and parts behind it are left out."""
    count, shapes = len(outputs), [output.shape for output in outputs]
    most = most_parts(shapes)
    parts = _partial_results(builder, functions, shapes, most)
    deciding = [] if neutral is None else [_deciding_part(builder)]

    def emit(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        first, last = len(reduction.arguments), len(reduction.arguments) + count
        arguments, parts = bindings[:first], bindings[first:last]
        decided = None if neutral is None else (bindings[last], neutral)
        emit_part(builder, functions.target, replace(reduction, arguments=arguments), parts, shapes, decided)

    values = [*reduction.arguments, *parts, *deciding]
    pieces = functions.emit(builder, ("part", computation), values, emit, 10, Division(work, most))

    def combine(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        parts, results, init_values = bindings[:count], bindings[count : 2 * count], bindings[2 * count :]
        combine_parts(builder, functions.target, replace(reduction, init_values=init_values), parts, results, pieces)

    key = ("combine", computation, pieces)
    functions.emit(builder, key, [*parts, *outputs, *reduction.init_values], combine, 1)


def emit_part(
    builder: ir.IRBuilder,
    target: Target,
    reduction: Reduction,
    parts: list[Array],
    shapes: Sequence[Shape],
    decided: tuple[ir.Value, ir.Value] | None = None,
) -> None:
    """The part of a piece, into its place among those of all pieces; ``shapes`` are those of the results.

    ``decided``: the number of a part that has decided the result, in memory, and what no part gives that does so.
    """
    divided = _without_init(reduction)
    number = piece_number(builder)
    is_array = shapes[0].rank > 0
    place = (Affine(number), *[Affine(0)] * shapes[0].rank)
    own = [Array(part.address(builder, place), shape) for part, shape in zip(parts, shapes)]

    def reduced() -> list[RegisterValue]:
        return emit_reduction(builder, target, divided, own if is_array else [])

    values = reduced() if decided is None else _unless_decided(builder, decided[0], number, decided[1], reduced)
    for part, value in zip(own, values):
        part.store(builder, (), value, 1)


def combine_parts(
    builder: ir.IRBuilder, target: Target, reduction: Reduction, parts: list[Array], outputs: list[Array], pieces: int
) -> None:
    """The results of so many parts, in their order."""

    def combine(index: Index, lanes: int, mask: ir.Value | None) -> None:
        def load(number: Base) -> list[RegisterValue]:
            return [part.load(builder, (Affine(number), *index), lanes, mask) for part in parts]

        init = [broadcast_lanes(builder, value, lanes) for value in reduction.init_values]
        totals = combined_in_order(builder, reduction, pieces, load, lanes)
        for number, (output, value) in enumerate(zip(outputs, reduction.combine(builder, init, totals, lanes))):
            if number not in reduction.unread:
                output.store(builder, index, value, lanes, mask)

    kept = outputs[0].shape.dimensions
    if not kept:
        combine((), 1, None)
        return
    *outer, size = kept
    lanes = lanes_for(target, size, reduction.to_apply, [operand.shape.element_type for operand in reduction.operands])
    with loop_nest(builder, outer) as index:
        loop = VectorLoop(builder, lanes, in_place=False)
        loop.emit(size, lambda component, lanes, mask: combine((*index, component), lanes, mask))


def _deciding_part(builder: ir.IRBuilder) -> ir.Value:
    """Memory for the number of a part that has decided the result: none has."""
    with builder.goto_entry_block():
        memory = stack_memory(builder, 8, 8)
    builder.store(I64(_MOST_PARTS), memory)
    return memory


def _unless_decided(
    builder: ir.IRBuilder, deciding: ir.Value, number: Base, neutral: ir.Value, emit: Callable[[], list[RegisterValue]]
) -> list[RegisterValue]:
    """The one value that ``emit()`` computes for the part with this number, unless one before it has decided the result.

    Which those are depends on timing; what comes of all parts does not.
    """
    b, number = builder, indices.i64(number)
    decided = b.load_atomic(deciding, "monotonic", 8, typ=I64)

    def computed() -> list[RegisterValue]:
        (value,) = emit()
        with b.if_then(b.icmp_unsigned("!=", value, neutral)):
            b.atomic_rmw("min", deciding, number, "monotonic")
        return [value]

    return replaced_if(b, b.icmp_signed(">=", decided, number), [neutral], computed)


def most_parts(shapes: Sequence[Shape]) -> int:
    """How many parts there are at most, of results of these shapes."""
    return min(_MOST_PARTS, _PARTS_BYTES // max(shape.byte_size for shape in shapes))


def _partial_results(builder: ir.IRBuilder, functions: RegionFunctions, shapes: Sequence[Shape], most: int) -> list[Array]:
    """Memory for what each of so many parts gives."""
    of_parts = [shape.with_dimensions((most, *shape.dimensions)) for shape in shapes]
    starts = list(accumulate([-(-shape.byte_size // _ALIGNMENT) * _ALIGNMENT for shape in of_parts], initial=0))
    memory = functions.memory(builder, starts[-1], _ALIGNMENT)
    return [Array(builder.gep(memory, [I64(start)], source_etype=I8), shape) for start, shape in zip(starts, of_parts)]


def _without_init(reduction: Reduction) -> Reduction:
    """What each piece does; it begins with the identity, where one is known."""
    identity, element_type = identity_of(reduction), reduction.operands[0].shape.element_type
    init_values = reduction.init_values if identity is None else [splat_identity(element_type, identity, 1)]
    return replace(reduction, init_values=init_values, divided=True, unread=frozenset())
