"""The reduction of short rows: many at once, each lane reduces its own row in order.

The rows are read as they lie and turned in registers, so that what is combined are vectors of their first elements, of their
second ones, and so on; no lanes are left to be combined at the end.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from llvmlite import ir

from ....hlo import PRED, U8, Instruction
from ...llvm import index as indices
from ...llvm.arrays import LARGEST_STEP, Array
from ...llvm.elemental import ElementalEmitter
from ...llvm.elementary_calls import calls_on_vectors
from ...llvm.index import Affine, Index
from ...llvm.pieces import independent_loops
from ...llvm.reductions import Fold, Reduction, Store, stops_of_kept
from ...llvm.types import RegisterValue, broadcast_lanes, from_memory, to_memory
from ..nest_samples import combining, samples
from ..target import Target
from ..vectors import VectorLoop, lanes_of, tail_mask
from .transpose import LARGEST_TILE, turned

# Longer rows fill several vectors by themselves.
_MOST_VECTORS = 2
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
    return min(LARGEST_TILE, lanes_of(target, reduction, size))


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
    calls=combining("add", "f32[]") + combining("maximum", "f64[]"),
)
def emit_short_rows(builder: ir.IRBuilder, target: Target, reduction: Reduction, store: Store) -> None:
    dimensions, last, kept = reduction.dimensions, len(reduction.dimensions) - 1, reduction.kept
    lanes = _lanes(target, reduction)
    fold = Fold(builder, reduction, lanes, in_order=last)
    init = [broadcast_lanes(builder, value, lanes) for value in reduction.init_values]
    with independent_loops(builder, [dimensions[d] for d in kept[:-1]], stops_of_kept(reduction, kept[:-1])) as outer:

        def rows(component: Affine, lanes: int, mask: ir.Value | None) -> None:
            def elements(operand: Instruction) -> list[RegisterValue]:
                return _elements(builder, reduction, operand, (*outer, component), lanes)

            first, *others = zip(*map(elements, reduction.operands))
            state = fold.begin(list(first))
            for following in others:
                state = fold.step(state, list(following))
            store((*outer, component), reduction.combine(builder, init, fold.finish(state), lanes), lanes, mask)

        loop = VectorLoop(builder, lanes, in_place=False, independent=True)
        loop.emit(dimensions[last - 1], rows, reduction.stops.get(last - 1))


def _elements(
    builder: ir.IRBuilder, reduction: Reduction, operand: Instruction, rows: Index, lanes: int
) -> list[RegisterValue]:
    """The elements of so many rows, a vector for each of their positions in the row.

    Truth values are turned as the bytes that they are in memory.
    """
    size, element_type = reduction.dimensions[-1], operand.shape.element_type
    emitter = ElementalEmitter(builder, lanes, reduction.bindings)
    if size <= LARGEST_STEP or operand.opcode == "iota":
        return [emitter.emit(operand, (*rows, Affine(position))) for position in range(size)]
    (*outer, first), array = rows, reduction.bindings.get(operand)

    def line(number: int, start: int) -> RegisterValue:
        mask = tail_mask(lanes, size - start) if start + lanes > size else None
        place = (*outer, Affine(indices.add_base(builder, first.base, number)), Affine(start, 1))
        if element_type is not PRED:
            return emitter.emit(operand, place, mask)
        if isinstance(array, Array):
            return replace(array, shape=array.shape.with_element_type(U8)).load(builder, place, lanes, mask)
        return to_memory(builder, element_type, emitter.emit(operand, place, mask))

    def tile(start: int) -> list[RegisterValue]:
        lines = turned(builder, [line(number, start) for number in range(lanes)])
        return [from_memory(builder, element_type, value) for value in lines] if element_type is PRED else lines

    return list(chain.from_iterable(map(tile, range(0, size, lanes))))[:size]
