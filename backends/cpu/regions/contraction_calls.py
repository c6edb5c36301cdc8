"""The nest of a contraction whose register blocks are all functions, as a table of calls (call_tables.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ....compile.contraction import Contraction
from ...llvm.arrays import Array
from ..call_tables import IN_PLACE, Both, Called, Chunks, Loop, Node, Packed, Steps
from ..nest_samples import samples
from .contraction_terms import TermChunks

# As many blocks of rows make a piece.
LEAST_BLOCKS = 16
# As many groups of rows are divided alone.
MANY_GROUPS = 32


@dataclass(frozen=True)
class BlockCalls:
    """What the nest of `contraction_blocks.Blocks` is made of, its loops in the same order.

    ``output`` has one dimension of columns, which lie ``column_step`` elements from each other in the right operand. ``block``
    is the rows and the vectors of a block. ``called`` has the functions of blocks by their rows and vectors, those of columns
    behind the last whole vector as of 0 vectors; ``copied``, by their vectors, what copies strips into a panel, where that is
    done. Rows are in groups of ``blocks_in_group`` blocks, if that is not 0.
    """

    contraction: Contraction
    lhs: Array
    rhs: Array
    output: Array
    lanes: int
    block: tuple[int, int]
    chunks: TermChunks
    column_step: int
    blocks_in_group: int
    divides_strips: bool
    called: Mapping[tuple[int, int], Called]
    copied: Mapping[int, Node]

    @samples(
        """
        x = f32[19,3000] parameter(0)
        y = f32[3000,70] parameter(1)
        ROOT dot = f32[19,70] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        """,
        """
        x = f64[2,3,35,64] parameter(0)
        y = f64[2,64,53] parameter(1)
        ROOT dot = f64[2,3,35,53] dot(x, y), lhs_batch_dims={0}, lhs_contracting_dims={3},
          rhs_batch_dims={0}, rhs_contracting_dims={1}
        """,
        # A left operand that does not stay in caches, whose rows are in groups.
        """
        x = f32[1003,600] parameter(0)
        y = f32[600,100] parameter(1)
        ROOT dot = f32[1003,100] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        """,
    )
    def node(self) -> Node:
        """The table of the nest."""
        c = self.contraction
        node = self._in_groups() if self.blocks_in_group else self._columns(*self._blocks_of_rows())
        if self.chunks.count > 1:
            left, right = c.terms[0]
            (length,), (terms,) = self.chunks.sizes, self.chunks.term_sizes
            node = Chunks(node, length, terms, self._steps(length * self.lhs.strides[left], length * self.rhs.strides[right]))
        for number, (left, right) in reversed(list(enumerate(c.batch))):
            steps = self._steps(self.lhs.strides[left], self.rhs.strides[right], self.output.strides[number])
            node = Loop(node, c.lhs.dimensions[left], steps)
        return node

    def _steps(self, left: int = 0, right: int = 0, result: int = 0) -> Steps:
        """Distances of elements in bytes."""
        sizes = [array.shape.element_type.byte_size for array in (self.lhs, self.rhs, self.output)]
        return sizes[0] * left, sizes[1] * right, sizes[2] * result

    def _blocks_of_rows(self) -> tuple[int, int]:
        return divmod(self.contraction.lhs.dimensions[self.contraction.rows[-1]], self.block[0])

    def _in_groups(self) -> Node:
        """Groups of rows, each taken through all strips, and the rows behind the last whole block."""
        (blocks, rest), length = self._blocks_of_rows(), self.blocks_in_group
        groups, behind = divmod(blocks, length)
        is_divided = groups + (behind > 0) < MANY_GROUPS
        node: Node = Loop(self._columns(length, 0, is_divided), groups, self._row_steps(length * self.block[0]))
        if behind:
            last = self._columns(behind, 0, is_divided)
            node = Both(node, last, self._row_steps(groups * length * self.block[0]), divides_second=is_divided)
        if rest:
            node = Both(node, self._columns(0, rest, False), self._row_steps(blocks * self.block[0]), in_order=True)
        return self._outer_rows(node)

    def _columns(self, blocks: int, rest: int, is_divided: bool = True) -> Node:
        """All strips of columns of so many blocks of rows, and of the rest."""
        width, step = self.block[1], self.lanes * self.column_step
        divides_strips = is_divided and self.divides_strips
        whole, last = divmod(self.contraction.column_count // self.lanes, width)
        strips = [(whole, width), (int(last > 0), last), (int(self.contraction.column_count % self.lanes > 0), 0)]
        nodes, vectors = [], 0
        for count, vectors_of_strip in strips:
            if count:
                node = self._strip(vectors_of_strip, blocks, rest)
                if count > 1:
                    steps = self._steps(0, vectors_of_strip * step, vectors_of_strip * self.lanes * self._result_step)
                    node = Loop(node, count, steps, least=int(divides_strips))
                nodes.append((vectors, node))
                vectors += count * vectors_of_strip
        (_, node), *others = nodes
        for vectors, other in others:
            offsets = self._steps(0, vectors * step, vectors * self.lanes * self._result_step)
            node = Both(node, other, offsets, divides_second=not divides_strips)
        return node

    @property
    def _result_step(self) -> int:
        return self.output.strides[-1]

    def _strip(self, width: int, blocks: int, rest: int) -> Node:
        height = self.block[0]
        rows: Node | None = None
        if blocks:
            rows = Loop(self.called[height, width], blocks, self._row_steps(height), LEAST_BLOCKS)
        if rest:
            last = Loop(self.called[rest, width], 1, IN_PLACE)
            rows = last if rows is None else Both(rows, last, self._row_steps(blocks * height), in_order=True)
        rows = rows if self.blocks_in_group else self._outer_rows(rows)
        return Packed(rows, self.copied[width]) if width in self.copied else rows

    def _row_steps(self, rows: int) -> Steps:
        place = len(self.contraction.batch) + len(self.contraction.rows) - 1
        return self._steps(rows * self.lhs.strides[self.contraction.rows[-1]], 0, rows * self.output.strides[place])

    def _outer_rows(self, node: Node) -> Node:
        c = self.contraction
        for number, dimension in reversed(list(enumerate(c.rows[:-1], len(c.batch)))):
            steps = self._steps(self.lhs.strides[dimension], 0, self.output.strides[number])
            node = Loop(node, c.lhs.dimensions[dimension], steps)
        return node
