"""The elementwise region: every element of the results is computed where it is stored."""

from __future__ import annotations

from math import prod

from llvmlite import ir

from ....hlo import Computation, Instruction
from ...llvm import index as indices
from ...llvm.arrays import Array
from ...llvm.collapse import collapse_dimensions
from ...llvm.elemental import Binding, ElementalEmitter
from ...llvm.index import Affine, Index, i64
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
    if all(output.shape.is_row_major for output in outputs) and all_row_major(arguments):
        collapsed = collapse_dimensions(computation)
        if collapsed is not None:
            computation = collapsed.computation
            arguments = reshaped_arguments(arguments, computation)
    roots = result_roots(computation)
    outputs = [
        Array(output.pointer, root.shape) if output.shape.is_row_major else output for output, root in zip(outputs, roots)
    ]
    bindings = dict(zip(computation.parameters, arguments))
    dimensions = roots[0].shape.dimensions
    lanes = lanes_for(target, computation, dimensions[-1])
    across = _dimension_read_across(computation, arguments)
    if across is not None and lanes > 1 and dimensions[across] > 1:
        _emit_blocks(builder, bindings, roots, outputs, across, VectorLoop(builder, lanes, in_place))
        return
    with loop_nest(builder, dimensions[:-1]) as outer:
        VectorLoop(builder, lanes, in_place).emit(
            dimensions[-1], lambda inner, lanes, mask: _store(builder, bindings, roots, outputs, (*outer, inner), lanes, mask)
        )


def _dimension_read_across(computation: Computation, arguments: list[Binding]) -> int | None:
    """The dimension of the result along which an operand is contiguous, where that is not the last one."""
    sizes = result_roots(computation)[0].shape.dimensions
    last = len(sizes) - 1
    for instruction in computation.instructions:
        if last < 1 or instruction.shape.is_tuple or instruction.shape.dimensions != sizes:
            continue
        across = last
        if instruction.opcode == "transpose" and instruction.operands[0].shape.is_row_major:
            across = instruction.attributes["dimensions"].index(last)
        elif instruction.opcode == "parameter":
            across = arguments[instruction.attributes["number"]].shape.minor_to_major[0]
        if across != last:
            return across
    return None


# As many elements as the vectors that are read across touch of each cache line before they come to the next one.
_BLOCK = 16


def _emit_blocks(
    builder: ir.IRBuilder,
    bindings: dict[Instruction, Binding],
    roots: tuple[Instruction, ...],
    outputs: list[Array],
    across: int,
    loop: VectorLoop,
) -> None:
    """The loop nest with a few indices of one dimension as its innermost loop.

    A vector that gathers elements from as many cache lines is followed by those that find theirs in the same lines.
    """
    b, sizes = builder, roots[0].shape.dimensions
    outer_sizes = [1 if dimension == across else size for dimension, size in enumerate(sizes[:-1])]
    with loop_nest(b, outer_sizes) as outer, counted_loop(b, -(-sizes[across] // _BLOCK), "block") as block:
        start = b.mul(i64(block), I64(_BLOCK))
        stop = b.add(start, I64(_BLOCK))
        stop = b.select(b.icmp_signed("<", stop, I64(sizes[across])), stop, I64(sizes[across]))

        def emit(inner: Affine, lanes: int, mask: ir.Value | None) -> None:
            def store(position: ir.Value, nothing: list) -> list:
                index = (*outer[:across], Affine(position), *outer[across + 1 :], inner)
                _store(b, bindings, roots, outputs, index, lanes, mask)
                return nothing

            carried_loop(b, start, stop, 1, [], store, "across")

        loop.emit(sizes[-1], emit)


def reshaped_arguments(arguments: list[Binding], computation: Computation) -> list[Binding]:
    """The same memory with the shapes of a computation's parameters."""
    return [
        Array(argument.pointer, parameter.shape) if isinstance(argument, Array) else argument
        for argument, parameter in zip(arguments, computation.parameters)
    ]


def all_row_major(arguments: list[Binding]) -> bool:
    return all(argument.shape.is_row_major for argument in arguments if isinstance(argument, Array))


def result_roots(computation: Computation) -> tuple[Instruction, ...]:
    """The instructions whose values a fused computation returns."""
    return computation.root.operands if computation.root.opcode == "tuple" else (computation.root,)


def _store(
    builder: ir.IRBuilder,
    bindings: dict[Instruction, Binding],
    roots: tuple[Instruction, ...],
    outputs: list[Array],
    index: Index,
    lanes: int,
    mask: ir.Value | None,
) -> None:
    emitter = ElementalEmitter(builder, lanes, bindings)
    values = [emitter.emit(root, index, mask) for root in roots]
    for output, value in zip(outputs, values):
        output.store(builder, index, value, lanes, mask)


def lanes_for(target: Target, computation: Computation, size: int) -> int:
    """Lanes such that the widest element type fills one vector register, and no more than the loop has iterations."""
    if has_control_flow([computation]):
        return 1
    widest = max((register_bytes(i.shape.element_type) for i in computation.instructions if not i.shape.is_tuple), default=8)
    small = prod(result_roots(computation)[0].shape.dimensions) * widest <= _SMALL_BYTES
    lanes = min(target.vector_bytes, _SMALL_VECTOR_BYTES if small else target.vector_bytes) // widest
    while lanes > 1 and lanes >= 2 * size:
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
