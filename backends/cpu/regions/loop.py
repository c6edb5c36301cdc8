"""The elementwise region: every element of the results is computed where it is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from types import MappingProxyType

from llvmlite import ir

from ....compile.fused_computations import result_roots
from ....hlo import Computation, Instruction, Shape, make_instruction
from ...llvm import index as indices
from ...llvm.arithmetic import any_lane
from ...llvm.arrays import Array
from ...llvm.collapse import collapse_dimensions
from ...llvm.elemental import Binding, ElementalEmitter
from ...llvm.elementary_calls import calls_on_vectors, wide_lanes
from ...llvm.index import Affine, Index, i64
from ...llvm.loops import carried_loop
from ...llvm.masked_ranges import masked_ranges
from ...llvm.pieces import in_one_piece, independent_loop, independent_loops
from ...llvm.scalar_control_flow import has_control_flow
from ...llvm.types import I64, register_bytes
from ..nest_samples import samples
from ..target import Target
from ..vectors import VectorLoop, whole_lanes
from .transpose import emit_transpose, transposed_source


@samples(
    """
    x = f32[4,5,30] parameter(0)
    y = f32[5,30] parameter(1)
    b = f32[4,5,30] broadcast(y), dimensions={1,2}
    ROOT z = f32[4,5,30] add(x, b)
    """,
    # Read across: tiles of the last dimension and another.
    """
    x = f64[37,50] parameter(0)
    y = f64[50,37] parameter(1)
    t = f64[37,50] transpose(y), dimensions={1,0}
    ROOT z = f64[37,50] multiply(x, t)
    """,
    # Pieces of their own, and pieces that take turns in a vector.
    """
    x = f32[40,20] parameter(0)
    y = f32[3,20] parameter(1)
    n = f32[40,20] negate(x)
    ROOT z = f32[43,20] concatenate(n, y), dimensions={0}
    """,
    """
    x = c64[50,1] parameter(0)
    y = c64[50,2] parameter(1)
    ROOT z = c64[50,3] concatenate(x, y), dimensions={1}
    """,
    # What is padded by loops of its own, and rows with what stands beside them.
    """
    x = f32[30,80] parameter(0)
    y = f32[] parameter(1)
    n = f32[30,80] negate(x)
    ROOT z = f32[32,84] pad(n, y), padding=2_0x1_3
    """,
    """
    x = f64[3,20,70] parameter(0)
    y = f64[] constant(7)
    ROOT z = f64[6,21,70] pad(x, y), padding=1_2x0_1x0_0
    """,
)
def emit_loop(
    builder: ir.IRBuilder,
    target: Target,
    computation: Computation,
    arguments: list[Binding],
    outputs: list[Array],
    in_place: bool,
    stops: Mapping[int, ir.Value] = MappingProxyType({}),
    kept: int | None = None,
) -> None:
    """Compute a fused computation's results into the outputs.

    ``arguments`` binds the parameters; ``in_place`` says that an output shares the memory of an argument, so that no
    element may be computed twice; ``stops`` says of some dimensions behind which size nothing is needed; ``kept`` is the
    number of the argument in whose memory the only output is.
    """
    if outputs[0].shape.size == 0:
        return
    transposed = transposed_source(computation, arguments)
    if transposed is not None and emit_transpose(builder, target, *transposed, outputs[0]):
        return
    collapsed = collapse_dimensions(computation, barriers_in_front(stops))
    if collapsed is not None:
        stops = collapsed_stops(builder, stops, collapsed.groups, outputs[0].shape.dimensions)
        computation = collapsed.computation
        arguments = reshaped_arguments(arguments, computation)
    roots = result_roots(computation)
    streams = not in_place and streams_results(target, [root.shape for root in roots])
    outputs = [Array(output.pointer, root.shape, is_streamed=streams) for output, root in zip(outputs, roots)]
    held = None if kept is None else computation.parameters[kept]
    nest = _Nest(builder, target, computation, dict(zip(computation.parameters, arguments)), outputs, in_place, stops, held)
    if roots[0].opcode == "concatenate" and not _interleaves(roots[0]):
        nest.emit_concatenate(roots[0])
    elif len(roots) == 1 and not stops and nest.is_framed(roots[0]):
        nest.emit_framed(roots[0])
    elif (across := dimension_read_across(computation.instructions, roots[0].shape.dimensions)) is None:
        nest.emit(roots)
    else:
        nest.emit_blocks(roots, across)
    if streams:
        builder.fence("seq_cst")


def streams_results(target: Target, shapes: Iterable[Shape]) -> bool:
    """Whether results of these shapes are stored past the caches, where they are not written in place of what is read."""
    return target.stores_past_caches and max(shape.byte_size for shape in shapes) >= _STREAMED_BYTES


def emit_loop_at(
    builder: ir.IRBuilder,
    target: Target,
    computation: Computation,
    arguments: list[Binding],
    output: Array,
    origin: Index,
    in_place: bool,
) -> None:
    """Compute the one result into a block of a larger output, whose first element is at the origin."""
    nest = _Nest(builder, target, computation, dict(zip(computation.parameters, arguments)), [output], in_place, {})
    nest.emit((computation.root,), origin)


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


# Waking the upper halves of 512-bit registers takes longer than a few vectors of half the width.
_SMALL_BYTES = 256
_SMALL_VECTOR_BYTES = 32
# Of larger arrays it is the traffic with memory that takes the time, rather than branches that are predicted wrongly.
_LEAST_MASKED_BYTES = 1 << 20
# Results of this size leave the caches before anybody reads them.
_STREAMED_BYTES = 32 << 20
# Loops of their own for what is padded and for what stands around it are longer code: for rows of so many vectors, and arrays
# of so many elements.
_LEAST_FRAMED_VECTORS, _LEAST_FRAMED = 4, 1024
# What stands around is divided among threads where it is this part of the array, at least.
_DIVIDED_FRAME = 8
# Of fewer elements all are gone over.
_LEAST_RANGED = 256
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
    stops: Mapping[int, ir.Value]
    held: Instruction | None = None

    def emit(self, roots: tuple[Instruction, ...], origin: Index | None = None) -> None:
        """Compute the roots' elements into the outputs, whose first element for them is at the origin."""
        *outer_sizes, size = roots[0].shape.dimensions
        starts, stops = self._ranges(roots) if origin is None else ({}, {})

        def store(outer: Index, inner: Affine, lanes: int, mask: ir.Value | None) -> None:
            self._store(roots, (*outer, inner), lanes, mask, origin)

        with independent_loops(self.builder, outer_sizes, stops, starts) as outer:
            last = len(outer_sizes)
            self._vectors(roots).emit(size, partial(store, outer), stops.get(last), starts.get(last))

    def _ranges(self, roots: tuple[Instruction, ...]) -> tuple[Mapping[int, ir.Value], Mapping[int, ir.Value]]:
        """Between which indices something has to be computed: what is left as it lies need not be gone over."""
        root = roots[0]
        is_left = root.opcode == "select" and root.operands[2] is self.held and root.operands[0].shape.rank
        if not is_left or self.stops or root.shape.size < _LEAST_RANGED:
            return {}, self.stops
        scalars = ElementalEmitter(self.builder, 1, self.bindings)
        return masked_ranges(self.builder, root.operands[0], lambda scalar: scalars.emit(scalar, ()))

    def emit_concatenate(self, root: Instruction) -> None:
        """Each operand by loops of its own, which need not ask where they are."""
        (along,) = root.attributes["dimensions"]
        start = 0
        for operand in root.operands:
            if operand.shape.size:
                origin = tuple(Affine(start if d == along else 0) for d in range(operand.shape.rank))
                self.emit((operand,), origin)
            start += operand.shape.dimensions[along]

    def is_framed(self, root: Instruction) -> bool:
        """Whether this is an array with a frame around it, large enough for loops in which no vector asks where it is."""
        if root.opcode != "pad" or root.shape.size < _LEAST_FRAMED or not root.operands[0].shape.size:
            return False
        *_, last = padding = root.attributes["padding"]
        width = root.operands[0].shape.dimensions[-1]
        has_long_rows = last[:2] == (0, 0) or width >= _LEAST_FRAMED_VECTORS * self._vectors(root.operands[:1]).lanes
        return has_long_rows and all(low >= 0 and high >= 0 and not interior for low, high, interior in padding)

    def emit_framed(self, root: Instruction) -> None:
        """An array, its rows with what stands beside them, and then what stands in front of them and behind."""
        (array, filler), padding, full = root.operands, root.attributes["padding"], root.shape.dimensions
        sizes, lows = array.shape.dimensions, [low for low, *_ in padding]
        self._emit_framed_rows(root)
        is_thin = _DIVIDED_FRAME * (root.shape.size - array.shape.size) < root.shape.size
        with in_one_piece(self.builder) if is_thin else nullcontext():
            for d, (low, high, _) in enumerate(padding[:-1]):
                for first, count in (0, low), (low + sizes[d], high):
                    dimensions = (*sizes[:d], count, *full[d + 1 :])
                    shape = root.shape.with_dimensions(dimensions)
                    block = make_instruction("broadcast", (filler,), {"dimensions": ()}, shape)
                    if shape.size:
                        self.emit((block,), tuple(map(Affine, (*lows[:d], first, *[0] * (len(full) - d - 1)))))

    def _emit_framed_rows(self, root: Instruction) -> None:
        b, (array, filler), (output,) = self.builder, root.operands, self.outputs
        *outer_padding, (low, high, _) = root.attributes["padding"]
        *outer_sizes, size = array.shape.dimensions
        loop = self._vectors((array,))
        with independent_loops(b, outer_sizes) as outer:
            row = tuple(indices.add(b, component, first) for component, (first, *_) in zip(outer, outer_padding))

            def store(emitted: Instruction, start: int, inner: Affine, lanes: int, mask: ir.Value | None) -> None:
                index = (*outer, inner) if emitted is array else ()
                value = ElementalEmitter(b, lanes, self.bindings).emit(emitted, index, mask)
                output.store(b, (*row, indices.add(b, inner, start)), value, lanes, mask)

            loop.emit(size, partial(store, array, low))
            for start, count in (0, low), (low + size, high):
                if count:
                    with in_one_piece(b):
                        VectorLoop(b, whole_lanes(loop.lanes, count), False).emit(count, partial(store, filler, start))

    def emit_blocks(self, roots: tuple[Instruction, ...], across: int) -> None:
        """A few indices of one dimension are the innermost loop.

        A vector that gathers elements from as many cache lines is followed by those that find theirs in the same lines.
        """
        b, sizes = self.builder, roots[0].shape.dimensions
        outer_sizes = [1 if dimension == across else size for dimension, size in enumerate(sizes[:-1])]
        with (
            independent_loops(b, outer_sizes) as outer,
            independent_loop(b, -(-sizes[across] // _BLOCK), "block", divides_inner=True) as block,
        ):
            start = b.mul(i64(block), I64(_BLOCK))
            stop = indices.least(b, b.add(start, I64(_BLOCK)), sizes[across])

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
        return VectorLoop(self.builder, lanes, self.in_place, independent=True)

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
        if lanes > 1 and self._leaves_elements(roots):
            self._store_selected(emitter, roots[0], index, mask)
            return
        values = [emitter.emit(root, index, mask) for root in roots]
        if origin is not None:
            index = tuple(indices.add(self.builder, component, first.base) for component, first in zip(index, origin))
        for output, value in zip(self.outputs, values):
            output.store(self.builder, index, value, lanes, mask)

    def _leaves_elements(self, roots: tuple[Instruction, ...]) -> bool:
        """Whether the result is selected from a value and what lies where it is written, which is left alone then."""
        root = roots[0]
        if self.held is None or root.opcode != "select" or root.shape.byte_size < _LEAST_MASKED_BYTES:
            return False
        element_type = root.shape.element_type
        width = 1 if self.target.vector_bytes == 64 else 4  # of what can be stored by a mask
        is_storable = not element_type.is_complex and element_type.byte_size >= width and self.target.vector_bytes >= 32
        return is_storable and root.operands[0].shape.rank > 0 and self.held in root.operands[1:]

    def _store_selected(self, emitter: ElementalEmitter, select: Instruction, index: Index, mask: ir.Value | None) -> None:
        """Compute and write the vector's elements that are not left alone, if there are any."""
        b, (predicate, on_true, on_false) = self.builder, select.operands
        chosen = emitter.emit(predicate, index, mask)
        if on_true is self.held:
            chosen, on_true = b.not_(chosen), on_false
        chosen = chosen if mask is None else b.and_(chosen, mask)
        with b.if_then(any_lane(b, chosen)):
            value = emitter.emit(on_true, index, chosen)
            self.outputs[0].store(b, index, value, emitter.lanes, chosen)


def barriers_in_front(stops: Iterable[int]) -> frozenset[int]:
    """Between which dimensions none collapse, so that those that stop early are the first of what they become a part of."""
    return frozenset([dimension - 1 for dimension in stops])


def collapsed_stops(
    builder: ir.IRBuilder, stops: Mapping[int, ir.Value], groups: list[tuple[int, ...]], sizes: tuple[int, ...]
) -> dict[int, ir.Value]:
    """Where collapsed dimensions stop."""
    return {
        number: builder.mul(stops[group[0]], I64(prod(sizes[d] for d in group[1:])))
        for number, group in enumerate(groups)
        if group[0] in stops
    }


def reshaped_arguments(arguments: list[Binding], computation: Computation) -> list[Binding]:
    """The same memory with the shapes of a computation's parameters."""
    return [
        Array(argument.pointer, parameter.shape) if isinstance(argument, Array) else argument
        for argument, parameter in zip(arguments, computation.parameters)
    ]


def _lanes_for(target: Target, widest: int | None, dimensions: tuple[int, ...]) -> int:
    """Lanes such that the widest element fills one vector register, and no more than the loop has iterations."""
    if widest is None:
        return 1
    lanes = target.lanes(widest, dimensions[-1])
    return min(lanes, _SMALL_VECTOR_BYTES // widest) if prod(dimensions) * widest <= _SMALL_BYTES else lanes
