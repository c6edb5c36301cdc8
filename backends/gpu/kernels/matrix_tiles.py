"""Tiles of an operand: how they come to a block's memory, for all families.

A tile is *lines* (rows of the left operand, columns of the right one) by terms. How it lies in the memory of the block, and how
it is read from there, is in `warp_tiles` and `wave_tiles`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from llvmlite import ir

from ....hlo import Shape
from ...llvm.types import I32, I64
from ..kernel import Kernel
from .matrix_divisions import Division
from .matrix_instructions import MatrixInstruction
from .product import Axis, Product, offsets_of

CHUNK_BYTES = 16


@dataclass(frozen=True)
class Reading:
    """How an operand's tiles come to the block: in which order they lie there, and how many bytes are read at once; 0 where
    its elements are loaded one by one. ``is_turned``: they lie by terms there, but by lines in the operand.
    """

    is_by_terms: bool
    piece: int
    is_turned: bool = False


def reading_of(product: Product, side: int, shape: Shape, through_registers: bool) -> Reading:
    """The widest pieces that the operand's layout allows.

    Those that pass through registers are all inside of the operand, or all outside of it. Bytes whose lines lie side by side
    are put in another order there; they can't be otherwise.
    """
    size = shape.element_type.byte_size
    lines = (product.rows, product.columns)[side]
    for piece in (16, 8, 4):
        count = piece // size
        for is_by_terms in (True, False):
            axes = product.terms if is_by_terms else lines
            if not count or not axes or axes[-1].steps[side] != 1:
                continue
            if size == 1 and not is_by_terms and not through_registers:
                continue
            others = [*product.batch, *product.rows, *product.columns, *product.terms]
            others.remove(axes[-1])
            is_divided = len(axes) > 1 or through_registers
            if any(axis.steps[side] % count for axis in others) or (is_divided and axes[-1].size % count):
                continue
            return Reading(is_by_terms, piece)
    is_turned = through_registers and bool(lines) and lines[-1].steps[side] == 1
    return Reading(True, 0, is_turned)


class OperandTiles(ABC):
    """The tiles of an operand, while a kernel is emitted.

    ``source`` is the operand's address, i64; ``batch`` how far its batch is from it, in elements, ``first`` the block's first
    line, and ``own`` the first one in the tile of those that the thread multiplies.
    """

    def __init__(
        self, kernel: Kernel, instruction: MatrixInstruction, product: Product, side: int, reading: Reading, division: Division,
        source: ir.Value, batch: ir.Value, first: ir.Value, own: ir.Value,
    ) -> None:  # fmt: skip
        self.builder, self.instruction, self.side, self.reading = kernel.builder, instruction, side, reading
        self.axes: tuple[Axis, ...] = (product.rows, product.columns)[side]
        self.term_axes, self.size = product.terms, product.sizes[1 + side]
        self.all_terms, self.threads = product.sizes[3], division.threads
        self.lines = (division.rows, division.columns)[side]
        self.element_bytes = instruction.operand.byte_size
        self.terms = division.run_bytes // self.element_bytes  # in a tile
        self.bytes = self.lines * division.run_bytes
        self.thread, self.own = kernel.thread(), own
        self.source, self.batch, self.first = source, batch, first
        self._prepare(division)

    @abstractmethod
    def _prepare(self, division: Division) -> None:
        """Compute what is the same for all tiles: where what a thread loads and multiplies lies."""

    def line_address(self, place: ir.Value) -> ir.Value:
        """Of the operand's line with this number, or of its last one."""
        b = self.builder
        inside = b.select(b.icmp_unsigned("<", place, I32(self.size)), place, I32(self.size - 1))
        offset = b.add(offsets_of(b, inside, self.axes)[self.side], self.batch)
        return b.add(self.source, b.mul(offset, I64(self.element_bytes)))

    def term_offset(self, term: ir.Value) -> ir.Value:
        """In bytes."""
        b = self.builder
        return b.mul(offsets_of(b, term, self.term_axes)[self.side], I64(self.element_bytes))

    def gathered(self, base: ir.Value, first_term: ir.Value, is_line: ir.Value | None) -> list[ir.Value]:
        """The words of a chunk of a line's terms, loaded one by one; what is outside of the operand is zero."""
        b, size = self.builder, self.element_bytes
        integer, pointer = ir.IntType(8 * size), ir.PointerType(addrspace=1)
        words: list[ir.Value] = [I32(0)] * 4
        for number in range(CHUNK_BYTES // size):
            term = b.add(first_term, I32(number))
            is_inside = b.icmp_unsigned("<", term, I32(self.all_terms))
            if is_line is not None:
                is_inside = b.and_(is_line, is_inside)
            address = b.add(base, self.term_offset(b.select(is_inside, term, I32(0))))
            value = b.load(b.inttoptr(address, pointer), typ=integer, align=size)
            value = b.select(is_inside, value, integer(0))
            if size == 8:
                words[2 * number : 2 * number + 2] = [b.trunc(b.lshr(value, I64(shift)), I32) for shift in (0, 32)]
            else:
                word, place = divmod(number * size, 4)
                value = b.zext(value, I32) if size < 4 else value
                words[word] = b.or_(words[word], b.shl(value, I32(8 * place)))
        return words
