"""Vectors of lanes along one dimension: how many there are, loops over them, and their end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from llvmlite import ir

from ...hlo import Computation, ElementType
from ..llvm import index as indices
from ..llvm.builder import undefined
from ..llvm.index import Affine, Base, Component
from ..llvm.loops import counted_loop
from ..llvm.module import declaration
from ..llvm.pieces import in_one_piece, independent_loop
from ..llvm.reductions import Reduction
from ..llvm.scalar_control_flow import has_control_flow, runs_alone
from ..llvm.scans import Scan
from ..llvm.types import I1, I32, I64, ComplexValue, RegisterValue, register_bytes, type_suffix
from .target import Target


def lanes_for(target: Target, size: int, applied: Computation, types: Iterable[ElementType] = ()) -> int:
    """The lanes along a dimension of this size in which a computation on scalars is applied, among values of further types."""
    if runs_alone([applied]):
        return 1
    computed = (instruction.shape.element_type for instruction in applied.instructions if not instruction.shape.is_tuple)
    return target.lanes(max(map(register_bytes, (*types, *computed))), size)


def lanes_of(target: Target, reduction: Reduction, size: int) -> int:
    """The lanes along a dimension of this size in which a reduction is computed."""
    if has_control_flow([reduction.producers]):
        return 1
    arrays = [i for i in reduction.producers.instructions if not i.shape.is_tuple]
    return lanes_for(target, size, reduction.to_apply, (i.shape.element_type for i in arrays))


def lanes_of_scan(target: Target, scan: Scan, size: int) -> int:
    """The lanes along a dimension of this size in which a scan is computed."""
    if has_control_flow([scan.step, scan.outside]):
        return 1
    arrays = (i for i in (*scan.outside.instructions, *scan.step.instructions) if not i.shape.is_tuple)
    return target.lanes(max(register_bytes(i.shape.element_type) for i in arrays), size)


def whole_lanes(lanes: int, size: int) -> int:
    """As many lanes as there are, but no more than elements along a dimension, which is not empty."""
    return min(lanes, 1 << (size.bit_length() - 1))


Loop = Callable[..., AbstractContextManager[Base]]


class VectorLoop:
    """A loop over one dimension, ``lanes`` indices at a time.

    What remains at the end is done by a last full vector that overlaps the one before; where elements must not be computed
    twice, by a masked vector. With ``independent``, vectors may be computed in any order, and at once; another ``loop`` may
    take its place.
    """

    def __init__(
        self, builder: ir.IRBuilder, lanes: int, in_place: bool, independent: bool = False, loop: Loop = counted_loop
    ) -> None:
        self.builder, self.lanes, self.in_place = builder, lanes, in_place
        self._loop = independent_loop if independent else loop
        self._alone = in_one_piece if independent else nullcontext

    def emit(
        self,
        size: int,
        body: Callable[[Affine, int, ir.Value | None], None],
        stop: ir.Value | None = None,
        start: ir.Value | None = None,
    ) -> None:
        """``body(component, lanes, mask)`` emits the work at the indices that the component stands for.

        stop: where the work may end, ``size`` at most. start: where it begins, of an independent loop. Some of what is around
        is done, too.
        """
        b, lanes = self.builder, self.lanes
        given = {} if start is None else {"start": b.sdiv(start, I64(lanes))}
        if lanes == 1:
            with self._loop(b, size, stop=stop, **given) as index:
                body(Affine(index), 1, None)
            return
        whole, remainder = divmod(size, lanes)
        if whole == 0:
            body(Affine(0, 1), lanes, tail_mask(lanes, remainder))
            return
        overlap = remainder and not self.in_place
        count = whole + bool(overlap)
        with self._loop(b, count, stop=blocks_up_to(b, stop, lanes, count), **given) as number:
            first = indices.multiply_base(b, number, lanes)
            if overlap:
                first = indices.least(b, first, size - lanes)
            body(Affine(first, 1), lanes, None)
        if remainder and not overlap:
            with self._alone(b):
                body(Affine(whole * lanes, 1), lanes, tail_mask(lanes, remainder))


def vector_strips(
    builder: ir.IRBuilder,
    size: int,
    lanes: int,
    unroll: int,
    body: Callable[[Component, int, ir.Value | None], None],
    stop: ir.Value | None = None,
    independent: bool = False,
    overlaps: bool = False,
) -> None:
    """Cover a dimension by blocks of several vectors, then by single ones; ``stop`` and ``independent`` as of `VectorLoop`.

    With ``overlaps``, what remains may be done by a last block that overlaps the one before.
    """
    if overlaps and stop is None and lanes > 1 and 1 < unroll <= size // lanes:
        vectors = min(range(unroll, 0, -1), key=partial(_steps, size, lanes))
        rest = size % (unroll * lanes)
        if _steps(size, lanes, vectors) < _steps(size - rest, lanes, unroll) + _steps(rest, lanes, 1):
            _overlapping_strips(builder, size, lanes, vectors, body, independent)
            return
    block = unroll * lanes
    blocks = size // block if unroll > 1 else 0
    if blocks:
        loop = independent_loop if independent else counted_loop
        with loop(builder, blocks, stop=blocks_up_to(builder, stop, block, blocks)) as number:
            body(Affine(indices.multiply_base(builder, number, block), int(lanes > 1)), unroll, None)
    done = blocks * block
    if done < size:
        VectorLoop(builder, lanes, False, independent).emit(
            size - done,
            lambda component, _, mask: body(indices.add(builder, component, done), 1, mask),
            elements_behind(builder, stop, done),
        )


def _steps(size: int, lanes: int, vectors: int) -> int:
    """What it takes to cover a dimension by blocks of so many vectors: a step for each vector, and one for each block."""
    return -(-size // (vectors * lanes)) * (vectors + 1)


def _overlapping_strips(
    builder: ir.IRBuilder,
    size: int,
    lanes: int,
    vectors: int,
    body: Callable[[Component, int, ir.Value | None], None],
    independent: bool,
) -> None:
    """Blocks of so many vectors, the last of which may overlap the one before."""
    block = vectors * lanes
    loop = independent_loop if independent else counted_loop
    with loop(builder, -(-size // block)) as number:
        start = indices.multiply_base(builder, number, block)
        start = start if size % block == 0 else indices.least(builder, start, size - block)
        body(Affine(start, 1), vectors, None)


def blocks_up_to(builder: ir.IRBuilder, stop: ir.Value | None, block: int, count: int) -> ir.Value | None:
    """How many of ``count`` blocks of elements begin in front of the stop; None without one."""
    if stop is None:
        return None
    return indices.least(builder, builder.sdiv(builder.add(stop, I64(block - 1)), I64(block)), count)


def elements_behind(builder: ir.IRBuilder, stop: ir.Value | None, start: Base) -> ir.Value | None:
    """How many elements there are from a start to the stop, none if negative; None without a stop."""
    return None if stop is None else builder.sub(stop, indices.i64(start))


def compresses_lanes(target: Target) -> bool:
    """Whether the processor moves selected lanes of a vector of 32 or 64 bits each together."""
    return target.vector_bytes == 64 and target.has("avx512f")


def compressed(builder: ir.IRBuilder, value: ir.Value, mask: ir.Value) -> ir.Value:
    """The selected lanes of integers that fill a register, in front; 0 behind them."""
    name = f"llvm.x86.avx512.mask.compress.{type_suffix(value.type)}"
    function = declaration(builder.module, name, value.type, [value.type, value.type, mask.type])
    return builder.call(function, [value, ir.Constant(value.type, None), mask])


def tail_mask(lanes: int, count: int) -> ir.Constant:
    """The first ``count`` lanes."""
    return ir.Constant(ir.VectorType(I1, lanes), [I1(int(lane < count)) for lane in range(lanes)])


def combined_lanes(
    builder: ir.IRBuilder,
    values: list[RegisterValue],
    lanes: int,
    combine: Callable[[list[RegisterValue], list[RegisterValue], int], list[RegisterValue]],
) -> list[RegisterValue]:
    """The lanes of vectors combined into scalars: ``combine(low, high, lanes)`` is asked for halves of halves."""
    while lanes > 1:
        lanes //= 2
        values = combine(*([_half(builder, value, which) for value in values] for which in (0, 1)), lanes)
    return values


def _half(builder: ir.IRBuilder, value: RegisterValue, which: int) -> RegisterValue:
    """The lower (0) or upper (1) half of the lanes; a scalar where one lane is left."""
    if isinstance(value, ComplexValue):
        return ComplexValue(*(_half(builder, part, which) for part in value))
    count = value.type.count // 2
    if count == 1:
        return builder.extract_element(value, I32(which))
    lanes = ir.Constant(ir.VectorType(I32, count), [I32(which * count + lane) for lane in range(count)])
    return builder.shuffle_vector(value, undefined(value.type), lanes)
