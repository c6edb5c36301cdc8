"""The elementwise region: every element of the results is computed where it is stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from llvmlite import ir

from ....hlo import Computation, Instruction
from ...llvm import index as indices
from ...llvm.arrays import Array
from ...llvm.collapse import collapse_dimensions
from ...llvm.elemental import Binding, ElementalEmitter
from ...llvm.elementary_calls import calls_on_vectors, wide_lanes
from ...llvm.index import Affine, Component, Index, i64
from ...llvm.loops import carried_loop, counted_loop, loop_nest
from ...llvm.scalar_control_flow import has_control_flow
from ...llvm.types import I1, I64, register_bytes
from ..target import Target
from .transpose import emit_transpose, transposed_source


def emit_loop(
    builder: ir.IRBuilder,
    target: Target,
    computation: Computation,
    arguments: list[Binding],
    outputs: list[Array],
    in_place: bool,
) -> None:
    """Compute a fused computation's results into the outputs.

    ``arguments`` binds the parameters; ``in_place`` says that an output shares the memory of an argument, so that no
    element may be computed twice.
    """
    if outputs[0].shape.size == 0:
        return
    transposed = transposed_source(computation, arguments)
    if transposed is not None and emit_transpose(builder, target, *transposed, outputs[0]):
        return
    collapsed = collapse_dimensions(computation)
    if collapsed is not None:
        computation = collapsed.computation
        arguments = reshaped_arguments(arguments, computation)
    roots = result_roots(computation)
    outputs = [Array(output.pointer, root.shape) for output, root in zip(outputs, roots)]
    nest = _Nest(builder, target, computation, dict(zip(computation.parameters, arguments)), outputs, in_place)
    if roots[0].opcode == "concatenate" and not _interleaves(roots[0]):
        nest.emit_concatenate(roots[0])
        return
    across = dimension_read_across(computation.instructions, roots[0].shape.dimensions)
    if across is None:
        nest.emit(roots)
    else:
        nest.emit_blocks(roots, across)


def _interleaves(concatenate: Instruction) -> bool:
    """Whether operands take turns within a vector of the result."""
    (along,), shape = concatenate.attributes["dimensions"], concatenate.shape
    return along == shape.rank - 1 and shape.dimensions[along] < _BLOCK < shape.size


def dimension_read_across(instructions: Sequence[Instruction], sizes: tuple[int, ...]) -> int | None:
    """The dimension of results of these sizes along which an operand is contiguous, where that is not the last one."""
    last = len(sizes) - 1
    for instruction in instructions:
        if last < 1 or instruction.shape.is_tuple or instruction.shape.dimensions != sizes:
            continue
        if instruction.opcode == "transpose" and instruction.attributes["dimensions"][last] != last:
            return instruction.attributes["dimensions"].index(last)
    return None


# As many elements as the vectors that are read across touch of each cache line before they come to the next one.
_BLOCK = 16


@dataclass(frozen=True)
class _Nest:
    """Loop nests that write into the same outputs; ``bindings`` are the values of the computation's parameters."""

    builder: ir.IRBuilder
    target: Target
    computation: Computation
    bindings: dict[Instruction, Binding]
    outputs: list[Array]
    in_place: bool

    def emit(self, roots: tuple[Instruction, ...], origin: Index | None = None) -> None:
        """Compute the roots' elements into the outputs, whose first element for them is at the origin."""
        *outer_sizes, size = roots[0].shape.dimensions
        with loop_nest(self.builder, outer_sizes) as outer:
            self._vectors(roots).emit(size, lambda inner, lanes, mask: self._store(roots, (*outer, inner), lanes, mask, origin))

    def emit_concatenate(self, root: Instruction) -> None:
        """Each operand by loops of its own, which need not ask where they are."""
        (along,) = root.attributes["dimensions"]
        start = 0
        for operand in root.operands:
            if operand.shape.size:
                origin = tuple(Affine(start if d == along else 0) for d in range(operand.shape.rank))
                self.emit((operand,), origin)
            start += operand.shape.dimensions[along]

    def emit_blocks(self, roots: tuple[Instruction, ...], across: int) -> None:
        """A few indices of one dimension are the innermost loop.

        A vector that gathers elements from as many cache lines is followed by those that find theirs in the same lines.
        """
        b, sizes = self.builder, roots[0].shape.dimensions
        outer_sizes = [1 if dimension == across else size for dimension, size in enumerate(sizes[:-1])]
        with loop_nest(b, outer_sizes) as outer, counted_loop(b, -(-sizes[across] // _BLOCK), "block") as block:
            start = b.mul(i64(block), I64(_BLOCK))
            stop = b.add(start, I64(_BLOCK))
            stop = b.select(b.icmp_signed("<", stop, I64(sizes[across])), stop, I64(sizes[across]))

            def emit(inner: Affine, lanes: int, mask: ir.Value | None) -> None:
                def store(position: ir.Value, nothing: list) -> list:
                    self._store(roots, (*outer[:across], Affine(position), *outer[across + 1 :], inner), lanes, mask)
                    return nothing

                carried_loop(b, start, stop, 1, [], store, "across")

            self._vectors(roots).emit(sizes[-1], emit)

    def _vectors(self, roots: tuple[Instruction, ...]) -> VectorLoop:
        dimensions = roots[0].shape.dimensions
        lanes = _lanes_for(self.target, self._widest_element, dimensions)
        lanes = wide_lanes(lanes, dimensions[-1]) if self._calls_on_vectors else lanes
        return VectorLoop(self.builder, lanes, self.in_place)

    @cached_property
    def _calls_on_vectors(self) -> bool:
        return calls_on_vectors(self.builder.module, self.computation)

    @cached_property
    def _widest_element(self) -> int | None:
        """The bytes of the widest element in a register; None where there can be no vectors."""
        if has_control_flow([self.computation]):
            return None
        shapes = {instruction.shape for instruction in self.computation.instructions if not instruction.shape.is_tuple}
        return max((register_bytes(shape.element_type) for shape in shapes), default=8)

    def _store(
        self,
        roots: tuple[Instruction, ...],
        index: Index,
        lanes: int,
        mask: ir.Value | None,
        origin: Index | None = None,
    ) -> None:
        emitter = ElementalEmitter(self.builder, lanes, self.bindings)
        values = [emitter.emit(root, index, mask) for root in roots]
        if origin is not None:
            index = tuple(indices.add(self.builder, component, first.base) for component, first in zip(index, origin))
        for output, value in zip(self.outputs, values):
            output.store(self.builder, index, value, lanes, mask)


def reshaped_arguments(arguments: list[Binding], computation: Computation) -> list[Binding]:
    """The same memory with the shapes of a computation's parameters."""
    return [
        Array(argument.pointer, parameter.shape) if isinstance(argument, Array) else argument
        for argument, parameter in zip(arguments, computation.parameters)
    ]


def result_roots(computation: Computation) -> tuple[Instruction, ...]:
    """The instructions whose values a fused computation returns."""
    return computation.root.operands if computation.root.opcode == "tuple" else (computation.root,)


def _lanes_for(target: Target, widest: int | None, dimensions: tuple[int, ...]) -> int:
    """Lanes such that the widest element fills one vector register, and no more than the loop has iterations."""
    if widest is None:
        return 1
    small = prod(dimensions) * widest <= _SMALL_BYTES
    lanes = min(target.vector_bytes, _SMALL_VECTOR_BYTES if small else target.vector_bytes) // widest
    while lanes > 1 and lanes >= 2 * dimensions[-1]:
        lanes //= 2
    return lanes


def tail_mask(lanes: int, count: int) -> ir.Constant:
    """The first ``count`` lanes."""
    return ir.Constant(ir.VectorType(I1, lanes), [I1(int(lane < count)) for lane in range(lanes)])


# Waking the upper halves of 512-bit registers takes longer than a few vectors of half the width.
_SMALL_BYTES = 256
_SMALL_VECTOR_BYTES = 32


class VectorLoop:
    """A loop over one dimension, ``lanes`` indices at a time.

    What remains at the end is done by a last full vector that overlaps the one before; where elements must not be computed
    twice, by a masked vector.
    """

    def __init__(self, builder: ir.IRBuilder, lanes: int, in_place: bool) -> None:
        self.builder, self.lanes, self.in_place = builder, lanes, in_place

    def emit(self, size: int, body) -> None:
        """``body(component, lanes, mask)`` emits the work at the indices that the component stands for."""
        b, lanes = self.builder, self.lanes
        if lanes == 1:
            with counted_loop(b, size) as index:
                body(Affine(index), 1, None)
            return
        whole, remainder = divmod(size, lanes)
        if whole == 0:
            body(Affine(0, 1), lanes, tail_mask(lanes, remainder))
            return
        overlap = remainder and not self.in_place
        with counted_loop(b, whole + bool(overlap)) as number:
            start = indices.multiply_base(b, number, lanes)
            if overlap:
                if isinstance(start, int):
                    start = min(start, size - lanes)
                else:
                    last = I64(size - lanes)
                    start = b.select(b.icmp_signed("<", start, last), start, last)
            body(Affine(start, 1), lanes, None)
        if remainder and not overlap:
            body(Affine(whole * lanes, 1), lanes, tail_mask(lanes, remainder))


def vector_strips(
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
