"""The transposing copy: square tiles turned in registers.

Element by element either the reads or the writes would touch a new cache line every time.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from ....hlo import Computation
from ....hlo.shape import element_strides
from ...llvm import index as indices
from ...llvm.arrays import Array, lanes_constant
from ...llvm.builder import Builder, undefined
from ...llvm.elemental import Binding
from ...llvm.index import Affine, Base
from ...llvm.loops import carried_loop
from ...llvm.module import Module, SharedFunction, align_stack, declared
from ...llvm.pieces import independent_loop, independent_loops
from ...llvm.types import I1, I8, I64, POINTER, ComplexValue, RegisterValue, memory_type, part_size, type_suffix
from ..call_tables import CALLED, IN_PLACE, Both, Called, Loop, Node, Steps, number_of, run_calls
from ..nest_samples import samples
from ..target import WIDEST_VECTOR_BYTES, Target

LARGEST_TILE = 16
# Smaller tiles are short code, which is faster for known sizes, and stay where they are; so do lines of more tiles, which may
# have to be interrupted.
_LEAST_CALLED_TILE, _MOST_CALLED_TILES = 8, 1 << 12
# That read and write a line of a tile, addresses included.
_MEMORY_INSTRUCTIONS = 4


def transposed_source(computation: Computation, arguments: list[Binding]) -> tuple[Array, tuple[int, ...]] | None:
    """The array and the permutation, where a computation does nothing but transpose an argument."""
    root = computation.root
    if root.opcode != "transpose" or root.operands[0].opcode != "parameter":
        return None
    source = arguments[root.operands[0].attributes["number"]]
    return (source, root.attributes["dimensions"]) if isinstance(source, Array) else None


def emit_transpose(builder: ir.IRBuilder, target: Target, source: Array, permutation: tuple[int, ...], output: Array) -> bool:
    """Copy the source so that output dimension i is source dimension permutation[i].

    Returns False, and emits nothing, where tiles would not help: the contiguous dimension stays, or a dimension of the tile
    is short.
    """
    rows = output.shape.rank - 1
    if rows < 1:
        return False
    strides = element_strides(source.shape)
    contiguous = [i for i, d in enumerate(permutation) if strides[d] == 1 and source.shape.dimensions[d] > 1]
    if not contiguous or contiguous[0] == rows:
        return False
    across = contiguous[0]
    sizes = output.shape.dimensions
    tile = min(LARGEST_TILE, target.lanes(output.shape.element_type.byte_size))
    if min(sizes[rows], sizes[across]) < tile or tile < 2:
        return False
    _Tiles(builder, source, permutation, output, across, tile).emit()
    return True


class _Tiles:
    """Loops over tiles. Along output dimension ``across`` the source is contiguous, along the last one the output."""

    def __init__(
        self, builder: ir.IRBuilder, source: Array, permutation: tuple[int, ...], output: Array, across: int, tile: int
    ) -> None:
        self.builder, self.source, self.permutation, self.output = builder, source, permutation, output
        self.across, self.tile = across, tile
        self.last = output.shape.rank - 1
        # As they lie in memory: complex elements as two parts each.
        part = memory_type(output.shape.element_type)
        self.align = part_size(part)
        self.element_bytes = output.shape.element_type.byte_size
        self.vector = ir.VectorType(part, tile * self.element_bytes // self.align)

    @samples(
        """
        x = f32[33,65] parameter(0)
        ROOT y = f32[65,33] transpose(x), dimensions={1,0}
        """,
        """
        x = s8[17,16,19,18] parameter(0)
        ROOT y = s8[18,16,17,19] transpose(x), dimensions={3,1,0,2}
        """,
        """
        x = c64[20,3,40] parameter(0)
        ROOT y = c64[40,3,20] transpose(x), dimensions={2,1,0}
        """,
    )
    def emit(self) -> None:
        b, sizes, tile = self.builder, self.output.shape.dimensions, self.tile
        others = [d for d in range(self.last) if d != self.across]
        tiles = -(-sizes[self.last] // tile)
        if isinstance(b.module, Module) and tile >= _LEAST_CALLED_TILE and tiles <= _MOST_CALLED_TILES:
            addresses = [self.source.pointer, ir.Constant(POINTER, None), self.output.pointer]
            run_calls(b, self._calls(others, tiles), addresses, tiles)
            return
        with independent_loops(b, [sizes[d] for d in others]) as outer:
            fixed = dict(zip(others, outer))
            with independent_loop(b, -(-sizes[self.across] // tile)) as first:
                every = {**fixed, self.across: Affine(self._first_row(first)), self.last: indices.ZERO}
                index = tuple([every[d] for d in range(self.last + 1)])
                source = tuple([component for _, component in sorted(zip(self.permutation, index))])
                addresses = self.source.address(b, source), self.output.address(b, index)
                self._turn(b, *addresses, *map(I64, self._numbers(tiles)), tiles)

    def _first_row(self, number: Base) -> Base:
        """Of tiles that stand beside each other; the last ones overlap those before."""
        row, size = indices.multiply_base(self.builder, number, self.tile), self.output.shape.dimensions[self.across]
        return row if size % self.tile == 0 else indices.clamp_base(self.builder, row, 0, size - self.tile)

    def _numbers(self, tiles: int) -> tuple[int, int, int]:
        """How far the lines of a tile lie apart in both arrays, and by how many elements the last tile overlaps."""
        strides = self.source.strides[self.permutation[self.last]], self.output.strides[self.across]
        source_step, output_step = (self.element_bytes * stride for stride in strides)
        return source_step, output_step, tiles * self.tile - self.output.shape.dimensions[self.last]

    def _calls(self, others: list[int], tiles: int) -> Node:
        """The loops over lines of tiles, which are turned by a function that transpositions have in common."""
        name = f"phlox.transpose.{self.tile}.{type_suffix(self.vector)}"
        cost = tiles * self.tile * (_MEMORY_INSTRUCTIONS + self.tile.bit_length())
        function = declared(self.builder.module, SharedFunction(name, CALLED, self._define_line))
        line = Called(function, self._numbers(tiles), cost)
        size = self.output.shape.dimensions[self.across]
        node: Node = Loop(line, size // self.tile, self._steps(self.across, self.tile))
        if size % self.tile:
            node = Both(node, Loop(line, 1, IN_PLACE), self._steps(self.across, size - self.tile), in_order=True)
        for dimension in reversed(others):
            node = Loop(node, self.output.shape.dimensions[dimension], self._steps(dimension, 1))
        return node

    def _steps(self, dimension: int, count: int) -> Steps:
        """Distances in bytes of places so far apart along a dimension of the output."""
        strides = self.source.strides[self.permutation[dimension]], self.output.strides[dimension]
        source, output = (count * self.element_bytes * stride for stride in strides)
        return source, 0, output

    def _define_line(self, function: ir.Function) -> None:
        align_stack(function, WIDEST_VECTOR_BYTES)
        b = Builder(function.append_basic_block("entry"))
        source, _, output, numbers, tiles, _ = function.args
        self._turn(b, source, output, *[number_of(b, numbers, place) for place in range(3)], tiles)
        b.ret_void()

    def _turn(
        self,
        b: ir.IRBuilder,
        source: ir.Value,
        output: ir.Value,
        source_step: ir.Value,
        output_step: ir.Value,
        overlap: ir.Value,
        tiles: Base,
    ) -> None:
        """So many tiles from these addresses on, whose lines lie these steps apart; the last one overlaps that before."""
        tile, element_bytes = I64(self.tile), I64(self.element_bytes)
        advances = [
            [b.mul(elements, step) for step in (source_step, element_bytes)] for elements in (tile, b.sub(tile, overlap))
        ]
        before_last = indices.add_base(b, tiles, -2)

        def turn(number: ir.Value, addresses: list) -> list:
            lines, (source, output) = [], addresses
            for k in range(self.tile):
                source = b.gep(source, [source_step], source_etype=I8) if k else source
                lines.append(b.load(source, typ=self.vector, align=self.align))
            for k, line in enumerate(transpose_registers(b, lines, self.vector.count // self.tile)):
                output = b.gep(output, [output_step], source_etype=I8) if k else output
                b.store(line, output, align=self.align)
            is_before_last = b.icmp_signed("==", number, indices.i64(before_last))
            following = [b.select(is_before_last, last, usual) for usual, last in zip(*advances)]
            return [b.gep(address, [step], source_etype=I8) for address, step in zip(addresses, following)]

        carried_loop(b, 0, tiles, 1, [source, output], turn, most=_MOST_CALLED_TILES, runs=True)


def turned(builder: ir.IRBuilder, lines: list[RegisterValue]) -> list[RegisterValue]:
    """The transpose of lines of elements; of complex ones, part by part."""
    if not isinstance(lines[0], ComplexValue):
        return transpose_registers(builder, lines)
    return [ComplexValue(*parts) for parts in zip(*(transpose_registers(builder, list(part)) for part in zip(*lines)))]


def folded(
    builder: ir.IRBuilder,
    lines: list[list[RegisterValue]],
    combine: Callable[[list[RegisterValue], list[RegisterValue]], list[RegisterValue]],
) -> list[RegisterValue]:
    """The elements of each line combined in one of the lanes, as many lines as lanes; each line may be of several arrays.

    As if they were turned, and halves of halves of what that makes combined: each stage of turning makes two lines of two, and
    here these are made one.
    """
    while len(lines) > 1:
        pairs = zip(lines[: len(lines) // 2], lines[len(lines) // 2 :])
        halves = [[_interleaved_values(builder, *values) for values in zip(*pair)] for pair in pairs]
        lines = [combine([low for low, _ in one], [high for _, high in one]) for one in halves]
    return lines[0]


def _interleaved_values(builder: ir.IRBuilder, first: RegisterValue, second: RegisterValue) -> list[RegisterValue]:
    if not isinstance(first, ComplexValue):
        return interleaved(builder, first, second)
    return [ComplexValue(*parts) for parts in zip(*[interleaved(builder, *pair) for pair in zip(first, second)])]


def transpose_registers(builder: ir.IRBuilder, lines: list[ir.Value], parts: int = 1) -> list[ir.Value]:
    """The transpose of a square matrix of registers; the size is a power of two. An element may take several lanes, its parts.

    Each stage interleaves line i with line i + n/2; after log2(n) stages every bit of the row number has changed places
    with one of the lane number.
    """
    count = len(lines)
    for _ in range(count.bit_length() - 1):
        pairs = zip(lines[: count // 2], lines[count // 2 :])
        lines = [line for first, second in pairs for line in interleaved(builder, first, second, parts)]
    return lines


def interleaved(
    builder: ir.IRBuilder, first: ir.Value, second: ir.Value, parts: int = 1, lanes: int | None = None
) -> list[ir.Value]:
    """Elements of two registers in turn: those of their lower halves, and those of their upper ones; ``lanes`` by lanes."""
    count = first.type.count // parts
    lanes = lanes or count
    low = [start + lane // 2 + (lane % 2) * count for start in range(0, count, lanes) for lane in range(lanes)]
    of_halves = [[parts * (m + half) + part for m in low for part in range(parts)] for half in (0, lanes // 2)]
    return [builder.shuffle_vector(first, second, lanes_constant(mask)) for mask in of_halves]


def columns_of_rows(builder: ir.IRBuilder, vectors: list[ir.Value]) -> list[ir.Value]:
    """The columns of rows that lie one behind the other, as many rows as a vector has lanes: a vector of their first elements,
    one of their second ones, and so on. There are as many vectors as columns.
    """
    if len(vectors) % 2:
        return _columns_of_odd_rows(builder, vectors)
    halves = zip(*(columns_of_rows(builder, half) for half in evens_and_odds(builder, vectors)))
    return [column for pair in halves for column in pair]


def evens_and_odds(builder: ir.IRBuilder, vectors: list[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
    """Every other element of all vectors, and those between them."""
    lanes = vectors[0].type.count
    pairs = list(zip(vectors[::2], vectors[1::2]))
    evens, odds = (
        [builder.shuffle_vector(*pair, lanes_constant(range(first, 2 * lanes, 2))) for pair in pairs] for first in (0, 1)
    )
    return evens, odds


def _columns_of_odd_rows(builder: ir.IRBuilder, vectors: list[ir.Value]) -> list[ir.Value]:
    """Of an odd number of columns, which has no factor in common with the lanes.

    So the elements of a column lie in different lanes, each in one of the vectors. Where these are rotated among each other, by
    a number of places that each lane has, each holds the elements of one column; then they are put in order.
    """
    count, lanes = len(vectors), vectors[0].type.count
    if count == 1:
        return vectors
    inverse = pow(lanes, -1, count)  # element ``lane`` of vector ``number`` is in column ``number * lanes + lane``
    places = [lane * inverse % count for lane in range(lanes)]
    for bit in range((count - 1).bit_length()):
        is_moved = ir.Constant(ir.VectorType(I1, lanes), [I1(place >> bit & 1) for place in places])
        vectors = [builder.select(is_moved, vectors[number - (1 << bit)], vectors[number]) for number in range(count)]
    nothing = undefined(vectors[0].type)
    orders = [lanes_constant((count * row + column) % lanes for row in range(lanes)) for column in range(count)]
    return [builder.shuffle_vector(vectors[column * inverse % count], nothing, order) for column, order in enumerate(orders)]
