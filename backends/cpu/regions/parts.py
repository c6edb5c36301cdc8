"""Reductions to few results: each piece reduces some of the elements, and what comes of it is combined in the end, in order."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import prod

from llvmlite import ir

from ....hlo import Computation, Instruction, Shape
from ...llvm.arrays import Array
from ...llvm.collapse import collapse_dimensions
from ...llvm.elemental import Binding
from ...llvm.index import Affine, Base, Component, Index
from ...llvm.loops import carried_loop, loop_nest
from ...llvm.memory import stack_memory
from ...llvm.pieces import piece_number
from ...llvm.reductions import (
    Reduction,
    add_with_error,
    finish_compensation,
    identity_of,
    is_sum_of_floats,
    splat_identity,
)
from ...llvm.types import RegisterValue, broadcast_lanes
from ..nest_samples import combining, samples
from ..region_functions import Division, RegionFunctions
from ..vectors import VectorLoop, lanes_of
from .reduction import emit_reduction
from .row_reduction import is_decided_early

# As many parts at most, and as many bytes of what each of them gives.
_MOST_PARTS, _PARTS_BYTES = 64, 64 << 10
# Longer rows are divided into columns.
_MOST_KEPT_BYTES = 8 << 10
_ALIGNMENT = 64


def has_few_results(shape: Shape, reduced: tuple[int, ...]) -> bool:
    """Whether the leading dimensions of arrays of this shape are reduced, to a short row at most."""
    kept_bytes = prod(shape.dimensions[len(reduced) :]) * shape.element_type.byte_size
    return bool(reduced and shape.size) and reduced == tuple(range(len(reduced))) and kept_bytes <= _MOST_KEPT_BYTES


def has_parts(producers: Computation, reduced: tuple[int, ...], reduce: Instruction) -> bool:
    """Whether the first dimension of those that are reduced is better divided than the results, which are few.

    Where no identity is known there must be one dimension in all.
    """
    operand = producers.root if not producers.root.shape.is_tuple else producers.root.operands[0]
    shape, to_apply = operand.shape, reduce.attributes["to_apply"]
    if not has_few_results(shape, reduced):
        return False
    operation = to_apply.combining_operation
    identity = None if operation is None else operation.identity(shape.element_type)
    if is_decided_early(to_apply, operand, reduced, identity):
        return False  # it reads a few elements at best
    if identity is not None:
        return True
    collapsed = collapse_dimensions(producers)
    return len(reduced) == shape.rank and (shape.rank == 1 or collapsed is not None and len(collapsed.groups) == 1)


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
    """
    x = s32[601,503] parameter(0)
    init = s32[] parameter(1)
    ROOT largest = s32[] reduce(x, init), dimensions={0,1}, to_apply=larger_of_all
    """,
    calls=combining("add", "f32[]")
    + combining("add", "f64[]")
    + combining("add", "s32[]")
    + combining("maximum", "s32[]")
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
    kept, most = outputs[0].shape.dimensions, _most_parts(outputs)
    parts = [_partial_results(builder, output, most) for output in outputs]
    divided, count = _without_init(reduction), len(outputs)

    def emit(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        arguments, parts = bindings[:-count], bindings[-count:]
        place = (Affine(piece_number(builder)), *[Affine(0)] * len(kept))
        own = [Array(part.address(builder, place), output.shape) for part, output in zip(parts, outputs)]
        here = replace(divided, arguments=arguments)
        for part, value in zip(own, emit_reduction(builder, functions.target, here, own if kept else [])):
            part.store(builder, (), value, 1)

    pieces = functions.emit(builder, ("part", computation), [*reduction.arguments, *parts], emit, 10, Division(work, most))

    def finish(outer: Index, component: Component, lanes: int, mask: ir.Value | None) -> None:
        index = (*outer, component)
        for output, value in zip(outputs, _combined(builder, reduction, parts, index, pieces, lanes, mask)):
            output.store(builder, index, value, lanes, mask)

    if not kept:
        for output, value in zip(outputs, _combined(builder, reduction, parts, (), pieces, 1, None)):
            output.store(builder, (), value, 1)
        return
    lanes = lanes_of(functions.target, reduction, kept[-1])
    with loop_nest(builder, kept[:-1]) as outer:
        VectorLoop(builder, lanes, in_place=False).emit(kept[-1], partial(finish, outer))


def _most_parts(outputs: list[Array]) -> int:
    return min(_MOST_PARTS, _PARTS_BYTES // max(output.shape.byte_size for output in outputs))


def _partial_results(builder: ir.IRBuilder, output: Array, most: int) -> Array:
    shape = output.shape.with_dimensions((most, *output.shape.dimensions))
    with builder.goto_entry_block():
        return Array(stack_memory(builder, shape.byte_size, _ALIGNMENT), shape)


def _without_init(reduction: Reduction) -> Reduction:
    """What each piece does; it begins with the identity, where one is known."""
    identity, element_type = identity_of(reduction), reduction.operands[0].shape.element_type
    init_values = reduction.init_values if identity is None else [splat_identity(element_type, identity, 1)]
    return replace(reduction, init_values=init_values, divided=True)


def _combined(
    builder: ir.IRBuilder,
    reduction: Reduction,
    parts: list[Array],
    index: Index,
    pieces: int,
    lanes: int,
    mask: ir.Value | None,
) -> list[RegisterValue]:
    """The results of the pieces, one after the other; of sums of floats with the rounding errors kept."""

    init_values = [broadcast_lanes(builder, value, lanes) for value in reduction.init_values]

    def load(number: Base) -> list[RegisterValue]:
        return [part.load(builder, (Affine(number), *index), lanes, mask) for part in parts]

    def combine(number: ir.Value, totals: list[RegisterValue]) -> list[RegisterValue]:
        return reduction.combine(builder, totals, load(number), lanes)

    def add(number: ir.Value, state: list[RegisterValue]) -> list[RegisterValue]:
        return add_with_error(builder, *state, *load(number))

    if not is_sum_of_floats(reduction):
        return carried_loop(builder, 0, pieces, 1, init_values, combine, "parts")
    zero = splat_identity(reduction.operands[0].shape.element_type, 0.0, lanes)
    total = finish_compensation(builder, *carried_loop(builder, 1, pieces, 1, [*load(0), zero], add, "parts"))
    return reduction.combine(builder, init_values, [total], lanes)
