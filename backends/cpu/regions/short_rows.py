"""The reduction of short rows: many at once, each lane has the result of its own row.

The rows are read as they lie and turned in registers, so that what is combined are vectors of their first elements, of their
second ones, and so on; no lanes are left to be combined at the end. Where an identity fills the vectors up, elements of a row
are combined with each other while they are turned, which halves the registers that are left to be turned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from itertools import chain

from llvmlite import ir

from ....hlo import PRED, U8, Instruction
from ....hlo.operation import ELEMENTWISE, GIVEN, TUPLING
from ....hlo.ops.elementwise import AND, OR
from ...llvm import index as indices
from ...llvm.arrays import LARGEST_STEP, Array, lanes_constant
from ...llvm.elemental import ElementalEmitter
from ...llvm.elementary_calls import calls_on_vectors
from ...llvm.index import Affine, Index, Offsets
from ...llvm.pieces import independent_loops
from ...llvm.reductions import (
    Fold,
    Reduction,
    Store,
    extremum_of_floats,
    identity_of,
    splat_identity,
    stops_of_kept,
)
from ...llvm.types import I1, RegisterValue, broadcast_lanes, from_memory, to_memory
from ..nest_samples import combining, samples
from ..target import Target
from ..vectors import VectorLoop, lanes_of, tail_mask
from .transpose import LARGEST_TILE, columns_of_rows, evens_and_odds, interleaved, turned

# Longer rows fill several vectors by themselves.
_MOST_VECTORS = 2
# Of rows that lie one behind the other, vectors are rotated among each other: as many as there are columns, without factors of
# two; of rows longer than a vector, not so many.
_LARGEST_ODD, _LARGEST_ODD_OF_LONG = 13, 5
# Shorter vectors select lanes, and find extrema of floats, in several steps.
_LEAST_BYTES = 32
# The code for an element stands there as often as it takes to turn a tile.
_MOST_INSTRUCTIONS = 12


def has_short_rows(builder: ir.IRBuilder, target: Target, reduction: Reduction) -> bool:
    """Whether a reduction is one of many short rows, and little is done for an element."""
    dimensions, last = reduction.dimensions, len(reduction.dimensions) - 1
    if reduction.reduced != (last,) or last == 0 or reduction.divided or last in reduction.stops:
        return False
    size, rows, lanes = dimensions[last], dimensions[last - 1], _lanes(target, reduction)
    return (
        1 < lanes <= rows
        and 1 < size <= max(LARGEST_STEP, _MOST_VECTORS * lanes)
        and len(reduction.producers.instructions) <= _MOST_INSTRUCTIONS
        and not calls_on_vectors(builder.module, reduction.producers)
    )


def _lanes(target: Target, reduction: Reduction) -> int:
    """The lanes, of different rows."""
    *_, rows, size = reduction.dimensions
    if size <= LARGEST_STEP:
        return lanes_of(target, reduction, rows)
    return _lanes_of_rows(target, reduction) or min(LARGEST_TILE, lanes_of(target, reduction, size))


def _lanes_of_rows(target: Target, reduction: Reduction) -> int | None:
    """The lanes of vectors in which rows lie one behind the other, where their columns are found so in few steps.

    Else, with None, each row begins a vector of its own.
    """
    *_, rows, size = reduction.dimensions
    if target.vector_bytes < _LEAST_BYTES or not LARGEST_STEP < size <= _MOST_VECTORS * LARGEST_TILE:
        return None
    if not _lies_in_rows(reduction):
        return None
    # Bytes change places within longer vectors in many steps.
    most = LARGEST_TILE if not target.has("avx512vbmi") else target.lanes(1)
    lanes = min(most, lanes_of(target, reduction, rows))
    if lanes > rows:
        return None
    odd = size // (size & -size)
    if size < lanes:
        return lanes if lanes > LARGEST_TILE or odd <= _LARGEST_ODD else None
    is_quick = size % lanes > 0 and odd <= _LARGEST_ODD_OF_LONG
    return lanes if is_quick and _is_combined_while_turned(target, reduction, True) else None


def _lies_in_rows(reduction: Reduction) -> bool:
    """Whether elements of the rows that follow each other are computed of what is in memory as they are, and no narrower."""
    if any(operand.shape.element_type.is_complex for operand in reduction.operands):
        return False
    widest = max((one.shape.element_type.byte_size for one in reduction.operands if one.opcode != "iota"), default=1)
    bindings = reduction.bindings
    for instruction in reduction.producers.instructions:
        if instruction.opcode == "parameter":
            bound = bindings[instruction]
            if isinstance(bound, Array) and (type(bound) is not Array or bound.shape.element_type.byte_size < widest):
                return False
        elif instruction.opcode not in ("broadcast", "iota"):
            if instruction.operation.traits.isdisjoint((ELEMENTWISE, GIVEN, TUPLING)):
                return False
    return True


@samples(
    """
    x = f32[5,100,3] parameter(0)
    zero = f32[] constant(0)
    ROOT sum = f32[5,100] reduce(x, zero), dimensions={2}, to_apply=add_f32
    """,
    """
    x = f64[1000,10] parameter(0)
    init = f64[] parameter(1)
    ROOT most = f64[1000] reduce(x, init), dimensions={1}, to_apply=maximum_f64
    """,
    # Rows that lie one behind the other, with what is the same in a row or a column; in all lanes of bytes; and rows that
    # begin vectors of their own.
    """
    x = s32[3,70,7] parameter(0)
    y = s32[3,70] parameter(1)
    z = s32[7] parameter(2)
    init = s32[] parameter(3)
    of_rows = s32[3,70,7] broadcast(y), dimensions={0,1}
    of_columns = s32[3,70,7] broadcast(z), dimensions={2}
    first = s32[3,70,7] multiply(x, of_rows)
    second = s32[3,70,7] subtract(first, of_columns)
    ROOT least = s32[3,70] reduce(second, init), dimensions={2}, to_apply=minimum_s32
    """,
    """
    x = pred[131,12] parameter(0)
    true = pred[] constant(true)
    ROOT all = pred[131] reduce(x, true), dimensions={1}, to_apply=and_pred
    """,
    """
    x = f32[100,16] parameter(0)
    init = f32[] parameter(1)
    ROOT most = f32[100] reduce(x, init), dimensions={1}, to_apply=maximum_f32
    """,
    calls=combining("add", "f32[]")
    + combining("maximum", "f64[]")
    + combining("maximum", "f32[]")
    + combining("minimum", "s32[]")
    + combining("and", "pred[]"),
)
def emit_short_rows(builder: ir.IRBuilder, target: Target, reduction: Reduction, store: Store) -> None:
    dimensions, last, kept = reduction.dimensions, len(reduction.dimensions) - 1, reduction.kept
    lanes, is_flat = _lanes(target, reduction), _lanes_of_rows(target, reduction) is not None
    fold = Fold(builder, reduction, lanes, in_order=last)
    init = [broadcast_lanes(builder, value, lanes) for value in reduction.init_values]
    combined = None
    if _is_combined_while_turned(target, reduction, is_flat):
        combined = _combined_in_rows if is_flat else _combined_while_turned
    with independent_loops(builder, [dimensions[d] for d in kept[:-1]], stops_of_kept(reduction, kept[:-1])) as outer:

        def rows(component: Affine, lanes: int, mask: ir.Value | None) -> None:
            def elements(operand: Instruction) -> list[RegisterValue]:
                return _elements(builder, reduction, operand, (*outer, component), lanes, is_flat)

            if combined is not None:
                totals = [combined(builder, reduction, (*outer, component), lanes)]
            else:
                first, *others = zip(*map(elements, reduction.operands))
                state = fold.begin(list(first))
                for following in others:
                    state = fold.step(state, list(following))
                totals = fold.finish(state)
            store((*outer, component), reduction.combine(builder, init, totals, lanes), lanes, mask)

        loop = VectorLoop(builder, lanes, in_place=False, independent=True)
        loop.emit(dimensions[last - 1], rows, reduction.stops.get(last - 1))


def _is_combined_while_turned(target: Target, reduction: Reduction, is_flat: bool) -> bool:
    """Whether what is carried is one number, and an identity takes the place of elements that rows have not."""
    is_turned = reduction.dimensions[-1] > LARGEST_STEP and reduction.operands[0].opcode != "iota"
    if not is_turned or reduction.count > 1 or identity_of(reduction) is None:
        return False
    element_type = reduction.operands[0].shape.element_type
    if is_flat:
        return element_type is not PRED or reduction.to_apply.combining_operation in (AND, OR)
    is_simple = target.vector_bytes >= _LEAST_BYTES or extremum_of_floats(reduction) is None
    return is_simple and element_type is not PRED and not element_type.is_complex


def _combined_in_rows(builder: ir.IRBuilder, reduction: Reduction, rows: Index, lanes: int) -> RegisterValue:
    """The combination of the elements of each of so many rows; truth values as the bytes that they are in memory."""
    b, (operand,), operation = builder, reduction.operands, reduction.to_apply.combining_operation
    is_truth = operand.shape.element_type is PRED

    def merged(one: RegisterValue, other: RegisterValue) -> RegisterValue:
        if is_truth:
            return b.or_(one, other) if operation is OR else b.and_(one, other)
        return reduction.combine(b, [one], [other], lanes)[0]

    vectors = _vectors_of_rows(b, reduction, operand, rows, lanes)
    while len(vectors) % 2 == 0:
        vectors = [merged(*pair) for pair in zip(*evens_and_odds(b, vectors))]
    value = reduce(merged, columns_of_rows(b, vectors))
    return from_memory(b, PRED, value) if is_truth else value


def _combined_while_turned(builder: ir.IRBuilder, reduction: Reduction, rows: Index, lanes: int) -> RegisterValue:
    """The results of so many rows, as `turned`, of which each stage makes two lines of two; here these are made one.

    There is no first stage, since half a vector of one row and half a one of another are loaded beside each other.
    """
    (operand,), size, half = reduction.operands, reduction.dimensions[-1], lanes // 2
    neutral = splat_identity(operand.shape.element_type, identity_of(reduction), lanes)
    line, both = _lines(builder, reduction, operand, rows, half), lanes_constant(range(lanes))

    def merged(one: RegisterValue, other: RegisterValue) -> RegisterValue:
        return reduction.combine(builder, [one], [other], lanes)[0]

    def two_rows(number: int) -> RegisterValue:
        starts = range(0, size, half)
        parts = [builder.shuffle_vector(line(number, start), line(number + half, start), both) for start in starts]
        if size % half:
            given = ir.Constant(ir.VectorType(I1, lanes), [I1(int(lane % half < size % half)) for lane in range(lanes)])
            parts[-1] = builder.select(given, parts[-1], neutral)
        return reduce(merged, parts)

    lines = [two_rows(number) for number in range(half)]
    while len(lines) > 1:
        pairs = zip(lines[: len(lines) // 2], lines[len(lines) // 2 :])
        lines = [merged(*interleaved(builder, *pair, lanes=half)) for pair in pairs]
    return lines[0]


def _elements(
    builder: ir.IRBuilder, reduction: Reduction, operand: Instruction, rows: Index, lanes: int, is_flat: bool
) -> list[RegisterValue]:
    """The elements of so many rows, a vector for each of their positions in the row.

    Truth values are turned as the bytes that they are in memory.
    """
    size, element_type = reduction.dimensions[-1], operand.shape.element_type
    emitter = ElementalEmitter(builder, lanes, reduction.bindings)
    if size <= LARGEST_STEP or operand.opcode == "iota":
        return [emitter.emit(operand, (*rows, Affine(position))) for position in range(size)]
    if is_flat:
        columns = columns_of_rows(builder, _vectors_of_rows(builder, reduction, operand, rows, lanes))
        return [from_memory(builder, PRED, column) for column in columns] if element_type is PRED else columns
    line = _lines(builder, reduction, operand, rows, lanes)

    def tile(start: int) -> list[RegisterValue]:
        lines = turned(builder, [line(number, start) for number in range(lanes)])
        return [from_memory(builder, element_type, value) for value in lines] if element_type is PRED else lines

    return list(chain.from_iterable(map(tile, range(0, size, lanes))))[:size]


def _lines(
    builder: ir.IRBuilder, reduction: Reduction, operand: Instruction, rows: Index, lanes: int
) -> Callable[[int, int], RegisterValue]:
    """What gives a vector of the elements of a row from one on, of the row with a number among the rows."""
    size, (*outer, first) = reduction.dimensions[-1], rows
    emitter = ElementalEmitter(builder, lanes, reduction.bindings)

    def line(number: int, start: int) -> RegisterValue:
        mask = tail_mask(lanes, size - start) if start + lanes > size else None
        place = (*outer, Affine(indices.add_base(builder, first.base, number)), Affine(start, 1))
        return _turnable(emitter, operand, place, mask)

    return line


def _vectors_of_rows(
    builder: ir.IRBuilder, reduction: Reduction, operand: Instruction, rows: Index, lanes: int
) -> list[RegisterValue]:
    """The elements of as many rows as there are lanes, which follow each other in memory, as they lie there."""
    size, (*outer, first) = reduction.dimensions[-1], rows
    emitter = ElementalEmitter(builder, lanes, reduction.bindings)
    vectors = []
    for start in range(0, size * lanes, lanes):
        places = [divmod(start + lane, size) for lane in range(lanes)]
        in_rows, in_columns = zip(*places)
        vectors.append(_turnable(emitter, operand, (*outer, Offsets(first.base, in_rows), Offsets(0, in_columns)), None))
    return vectors


def _turnable(emitter: ElementalEmitter, operand: Instruction, place: Index, mask: ir.Value | None) -> RegisterValue:
    """The elements at a place, as they are turned."""
    b, array = emitter.builder, emitter.bindings.get(operand)
    if operand.shape.element_type is not PRED:
        return emitter.emit(operand, place, mask)
    if isinstance(array, Array):
        return replace(array, shape=array.shape.with_element_type(U8)).load(b, place, emitter.lanes, mask)
    return to_memory(b, PRED, emitter.emit(operand, place, mask))
