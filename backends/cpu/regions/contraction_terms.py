"""Many contracted terms: in chunks that stay in caches, and divided among threads where the results are too few for that.

A chunk's products are added to what the chunks before it gave, in memory. Where there are few results each part of the
chunks has memory of its own for them, and what is there in the end is summed, in order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from llvmlite import ir

from .... import hlo
from ....compile.contraction import Contraction
from ....compile.fused_computations import as_computation
from ....hlo import PRED, Shape, scalar_computation
from ...llvm import index as indices
from ...llvm.arrays import Array
from ...llvm.elemental import Binding
from ...llvm.index import Affine, Base
from ...llvm.pieces import independent_loop
from ...llvm.reductions import Reduction, splat_identity
from ...llvm.types import is_narrow
from ..nest_samples import samples
from ..nests import Nest
from ..region_functions import Division, RegionFunctions
from ..work_estimate import copying, nanoseconds
from .reduction import emit_reduction

# More terms than _FEW_TERMS are taken in chunks of so many, or of more where there would be too many chunks to add one after
# the other.
_FEW_TERMS, _CHUNK, _MOST_CHUNKS = 2048, 512, 64
_LENGTH_STEP = 4  # as many terms as one instruction may take
# Results that are so few are not divided; the parts of the terms are as many at most. A batch of so many is divided instead.
_FEW_RESULTS_BYTES, _MOST_PARTS, _LARGE_BATCH = 64 << 10, 64, 16
_NANOSECONDS_OF_PART = 8_000


@dataclass(frozen=True)
class TermChunks:
    """Chunks of the terms: how many of each contracted dimension are in one, and how many chunks lie along it."""

    term_sizes: tuple[int, ...]
    sizes: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def count(self) -> int:
        return prod(self.counts)

    def origin(self, builder: ir.IRBuilder, number: Base) -> dict[int, Affine]:
        """The first terms of a chunk, of those dimensions of which it has not all."""
        found = {}
        for depth in reversed(range(len(self.sizes))):
            count = self.counts[depth]
            if count == 1:
                continue
            along = number
            if prod(self.counts[:depth]) > 1:
                number = indices.i64(number)
                along, number = builder.urem(number, indices.i64(count)), builder.udiv(number, indices.i64(count))
            found[depth] = Affine(indices.multiply_base(builder, along, self.sizes[depth]))
        return found

    def stops(self, builder: ir.IRBuilder, origin: dict[int, Affine]) -> dict[int, ir.Value]:
        """Where a chunk ends, counted from its first terms, along the dimension whose last chunk is shorter."""
        found = {}
        for depth, first in origin.items():
            size, length = self.term_sizes[depth], self.sizes[depth]
            if size % length:
                left = builder.sub(indices.i64(size), indices.i64(first.base))
                found[depth] = indices.i64(indices.least(builder, left, length))
        return found


def in_one_chunk(contraction: Contraction) -> TermChunks:
    sizes = tuple(contraction.lhs.dimensions[left] for left, _ in contraction.terms)
    return TermChunks(sizes, sizes, (1,) * len(sizes))


def term_chunks(contraction: Contraction) -> TermChunks:
    """As few as keep what they read of an operand in caches; one where the sums of several would have to be rounded."""
    whole, element_type = in_one_chunk(contraction), contraction.dot.shape.element_type
    terms = contraction.term_count
    if terms <= _FEW_TERMS or is_narrow(element_type) or element_type is PRED:
        return whole
    longest = max(_CHUNK, -(-terms // _MOST_CHUNKS))
    sizes, counts, inner = [], [], 1
    for size in reversed(whole.sizes):
        number = -(-size // max(1, longest // inner))
        length = -(-size // number)
        if number > 1 and not sizes:
            length = -(-length // _LENGTH_STEP) * _LENGTH_STEP
        sizes.append(length)
        counts.append(-(-size // length))
        inner = inner * length if number == 1 else longest
    return TermChunks(whole.sizes, tuple(reversed(sizes)), tuple(reversed(counts)))


def term_parts(contraction: Contraction) -> int:
    """Among how many parts the chunks are divided, each with results of its own; 1 where it is the results that are divided."""
    shape = contraction.dot.shape
    work = nanoseconds(as_computation(contraction.dot))
    batch = prod(contraction.lhs.dimensions[left] for left, _ in contraction.batch)
    if not RegionFunctions.is_divided(work) or shape.byte_size > _FEW_RESULTS_BYTES or batch >= _LARGE_BATCH:
        return 1
    chunks = term_chunks(contraction).count
    most = max(1, min(_MOST_PARTS, chunks, work // _NANOSECONDS_OF_PART))
    return -(-chunks // -(-chunks // most))


def parts_bytes(contraction: Contraction) -> int:
    """Memory for the results of the parts, if there are several."""
    parts = term_parts(contraction)
    return parts * contraction.dot.shape.byte_size if parts > 1 else 0


# Emits the contraction of the chunks from the first one to the end into an array of the result's shape.
EmitChunks = Callable[[ir.IRBuilder, list[Array], "ir.Value | None", Array, Base, Base], None]


@samples(
    """
    x = f32[30,9001] parameter(0)
    y = f32[9001,40] parameter(1)
    ROOT dot = f32[30,40] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    """,
    """
    a = s32[4,901,3,8] parameter(0)
    b = s32[3,4,901,9] parameter(1)
    ROOT c = s32[3,8,9] dot(a,b), lhs_batch_dims={2}, lhs_contracting_dims={0,1}, rhs_batch_dims={0}, rhs_contracting_dims={1,2}
    """,
    """
    x = f64[8,17,40,10] parameter(0)
    k = f64[8,15,36,20] parameter(1)
    ROOT y = f64[3,5,10,20] convolution(x, k), window={size=15x36}, dim_labels=f01b_i01o->01bf
    """,
)
def emit_parts(
    nest: Nest, contraction: Contraction, operands: list[Array], memory: ir.Value, emit: EmitChunks, output: Array
) -> None:
    """Compute the parts into the memory, each of them by ``emit``, and their sum into the output."""
    builder, parts, instruction = nest.builder, term_parts(contraction), contraction.dot
    chunks = term_chunks(contraction).count
    length = -(-chunks // parts)
    shape, count = instruction.shape, len(operands)
    partial = Array(memory, shape.with_dimensions((parts, *shape.dimensions)))

    def emit_part(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        arrays, results, own = bindings[:count], bindings[count], bindings[count + 1 :]
        with independent_loop(builder, parts) as number:
            first = indices.multiply_base(builder, number, length)
            end = indices.least(builder, indices.add_base(builder, first, length), chunks)
            place = (Affine(number), *[Affine(0)] * shape.rank)
            emit(builder, arrays, own[0] if own else None, Array(results.address(builder, place), shape), first, end)

    own = [] if nest.own is None else [nest.own]
    division = Division(nest.work, parts, nest.own, nest.own_bytes)
    computation = as_computation(instruction)
    nest.regions.emit(builder, ("part of terms", computation), [*operands, partial, *own], emit_part, 10, division)
    size = shape.size
    rows, result = Shape(shape.element_type, (parts, size)), Shape(shape.element_type, (size,))

    def emit_sum(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        zero = splat_identity(shape.element_type, 0, 1)
        given = hlo.computation("parts", [rows], lambda parts: parts)
        reduction = Reduction(given, [bindings[0]], [zero], (0,), scalar_computation("add", shape.element_type))
        emit_reduction(builder, nest.target, reduction, [bindings[1]])

    values: list[Binding] = [Array(partial.pointer, rows), Array(output.pointer, result)]
    nest.regions.emit(builder, ("sum of parts", computation), values, emit_sum, 10, Division(copying(rows)))
