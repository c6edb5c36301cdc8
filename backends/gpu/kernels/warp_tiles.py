"""Tiles of an operand in a block's memory, as warps' products of small matrices read them.

A tile has 128 bytes each way of which one is contiguous:

- ``terms``: a line's terms lie side by side, 128 bytes;
- ``lines``: a term's lines lie side by side, in panels of 128 bytes.

The eight chunks of 16 bytes of such a run are permuted by its number, so that chunks with the same number of neighbouring runs
are in different banks. What is contiguous in the operand is copied without passing through registers.
"""

from __future__ import annotations

from llvmlite import ir

from ....hlo import F64
from ...llvm.types import I32
from .matrix_divisions import Division
from .matrix_tiles import CHUNK_BYTES, OperandTiles, Reading
from .warp_instructions import WarpInstruction, copy_async, load_matrices, load_shared, round_to_tf32, store_shared

RUN_BYTES = 128
_CHUNKS = RUN_BYTES // CHUNK_BYTES


def turned(reading: Reading) -> Reading:
    """The reading of an operand of 32 bits whose tiles have to lie by terms."""
    return reading if reading.is_by_terms else Reading(True, 4, is_turned=True)


class WarpTiles(OperandTiles):
    """The tiles of an operand, while a kernel is emitted; see `OperandTiles`."""

    instruction: WarpInstruction

    def _prepare(self, division: Division) -> None:
        self.steps = self.terms // (2 * self.instruction.terms)
        self._prepare_copies(self.thread)
        self._prepare_fragments(lane_of(self.builder, self.thread), self.own)

    # --- from the operand to the block ---

    def _prepare_copies(self, thread: ir.Value) -> None:
        """For each chunk that the thread copies: where it lies in the tile, and where the run that it is of begins."""
        b, chunks = self.builder, self.lines * _CHUNKS
        per_chunk = CHUNK_BYTES // self.element_bytes
        self._chunks = []
        for number in range(chunks // self.threads):
            position = b.add(thread, I32(number * self.threads))
            if self.reading.is_by_terms:
                if self.reading.is_turned:  # neighbouring threads read neighbouring lines
                    line, chunk = b.urem(position, I32(self.lines)), b.udiv(position, I32(self.lines))
                else:
                    line, chunk = b.udiv(position, I32(_CHUNKS)), b.urem(position, I32(_CHUNKS))
                target = b.add(b.mul(line, I32(RUN_BYTES)), self._place(line, chunk))
                place = b.add(self.first, line)
                base = self.line_address(place)
                is_line = b.icmp_unsigned("<", place, I32(self.size))
                self._chunks.append((target, base, is_line, b.mul(chunk, I32(per_chunk))))
                continue
            in_run = chunks // self.terms
            term, chunk = b.udiv(position, I32(in_run)), b.urem(position, I32(in_run))
            panel, chunk_of_panel = b.udiv(chunk, I32(_CHUNKS)), b.urem(chunk, I32(_CHUNKS))
            target = b.add(b.mul(panel, I32(self.terms * RUN_BYTES)), b.mul(term, I32(RUN_BYTES)))
            target = b.add(target, self._place(term, chunk_of_panel))
            first = b.add(self.first, b.mul(chunk, I32(per_chunk)))
            count = self.reading.piece // self.element_bytes
            for piece in range(CHUNK_BYTES // self.reading.piece):
                place = b.add(first, I32(piece * count))
                left = self._bytes_left(b.sub(I32(self.size), place))
                self._chunks.append((b.add(target, I32(piece * self.reading.piece)), self.line_address(place), left, term))

    def _place(self, run: ir.Value, chunk: ir.Value) -> ir.Value:
        """Where a chunk lies in its run."""
        return self.builder.mul(self.builder.xor(chunk, self._permutation(run)), I32(CHUNK_BYTES))

    def _permutation(self, run: ir.Value) -> ir.Value:
        """What is changed in the numbers of a run's chunks.

        Eight runs are read at once by instructions that load matrices; four runs of two chunks where lanes load registers.
        """
        b = self.builder
        if self._loads_matrices:
            return b.and_(run, I32(7))
        return b.shl(b.and_(run, I32(3)), I32(1))

    def _bytes_left(self, elements: ir.Value) -> ir.Value:
        """How many bytes of a piece are of so many elements, which may be negative."""
        b, most = self.builder, self.reading.piece // self.element_bytes
        elements = b.select(b.icmp_signed("<", elements, I32(most)), elements, I32(most))
        elements = b.select(b.icmp_signed(">", elements, I32(0)), elements, I32(0))
        return b.mul(elements, I32(self.element_bytes))

    def fill(self, memory: ir.Value, first_term: ir.Value) -> None:
        """Ask for the tile that begins at a term; what is outside of the operand is zero."""
        b, piece = self.builder, self.reading.piece
        if not piece:
            self._gather(memory, first_term)
        elif self.reading.is_by_terms:
            for target, base, is_line, chunk_term in self._chunks:
                for number in range(CHUNK_BYTES // piece):
                    term = b.add(first_term, b.add(chunk_term, I32(number * piece // self.element_bytes)))
                    left = b.select(is_line, self._bytes_left(b.sub(I32(self.all_terms), term)), I32(0))
                    source = b.add(base, self.term_offset(term))
                    copy_async(b, b.add(memory, b.add(target, I32(number * piece))), source, piece, left)
        else:
            for target, base, left, own_term in self._chunks:
                term = b.add(first_term, own_term)
                left = b.select(b.icmp_unsigned("<", term, I32(self.all_terms)), left, I32(0))
                copy_async(b, b.add(memory, target), b.add(base, self.term_offset(term)), piece, left)

    def _gather(self, memory: ir.Value, first_term: ir.Value) -> None:
        """Load elements one by one."""
        b = self.builder
        for target, base, is_line, chunk_term in self._chunks:
            store_shared(b, b.add(memory, target), self.gathered(base, b.add(first_term, chunk_term), is_line))

    # --- from the block to registers ---

    @property
    def _loads_matrices(self) -> bool:
        """Whether one instruction loads four registers: their terms lie side by side, or are 16 bits wide."""
        return self.instruction.operand is not F64 and (self.reading.is_by_terms or self.element_bytes == 2)

    def _prepare_fragments(self, lane: ir.Value, own: ir.Value) -> None:
        """Addresses in the tile, less what is known: of a step where lines have runs, of 16 lines where terms have."""
        b = self.builder
        if self._loads_matrices:
            row, matrix = b.and_(lane, I32(7)), b.lshr(lane, I32(3))
            group, half = b.and_(matrix, I32(1)), b.lshr(matrix, I32(1))
        else:
            group = half = None
            row, term = b.lshr(lane, I32(2)), b.and_(lane, I32(3))
        self._addresses: dict[tuple[int, ...], ir.Value] = {}
        if self.reading.is_by_terms:
            if self._loads_matrices:
                line = b.add(own, b.add(b.mul(group, I32(8)), row))
            else:
                line = b.add(own, row)
            run = b.mul(line, I32(RUN_BYTES))
            for step in range(self.steps):
                if self._loads_matrices:
                    chunk = b.add(half, I32(2 * step))
                    self._addresses[step,] = b.add(run, self._place(line, chunk))
                    continue
                for number in (0, 1):  # two chunks have the four terms of a half
                    chunk = b.add(b.lshr(term, I32(1)), I32(4 * step + 2 * number))
                    within = b.mul(b.and_(term, I32(1)), I32(8))
                    self._addresses[step, number] = b.add(b.add(run, self._place(line, chunk)), within)
            return
        per_chunk = CHUNK_BYTES // self.element_bytes
        for first in range(0, self.lines, 8 if not self._loads_matrices else 16):
            if self._loads_matrices:
                chunk = b.add(b.udiv(b.add(own, I32(first)), I32(per_chunk)), group)
                number, within = b.add(b.mul(half, I32(self.instruction.terms)), row), I32(0)
            else:
                line = b.add(b.add(own, I32(first)), row)
                chunk, number = b.udiv(line, I32(per_chunk)), term
                within = b.mul(b.urem(line, I32(per_chunk)), I32(self.element_bytes))
            panel = b.mul(b.udiv(chunk, I32(_CHUNKS)), I32(self.terms * RUN_BYTES))
            place = b.add(self._place(number, b.urem(chunk, I32(_CHUNKS))), within)
            self._addresses[first,] = b.add(b.add(panel, b.mul(number, I32(RUN_BYTES))), place)

    def fragments(self, memory: ir.Value, step: int, first: int) -> list[ir.Value]:
        """The registers of a step for 16 of the warp's lines: first those of its first half, of 8 lines each."""
        b = self.builder
        type_, constraint = self.instruction.register
        if self._loads_matrices:
            if self.reading.is_by_terms:
                address, offset = self._addresses[step,], first * RUN_BYTES
            else:
                address, offset = self._addresses[first,], step * 2 * self.instruction.terms * RUN_BYTES
            values = load_matrices(b, b.add(memory, address), offset, transposed=not self.reading.is_by_terms)
        else:
            values = []
            for half in (0, 1):
                for line in (first, first + 8):
                    if self.reading.is_by_terms:
                        address, offset = self._addresses[step, half], line * RUN_BYTES
                    else:
                        address = self._addresses[line,]
                        offset = (2 * step + half) * self.instruction.terms * RUN_BYTES
                    values.append(load_shared(b, b.add(memory, address), offset, type_, constraint))
        if ".tf32" in self.instruction.name:
            values = [round_to_tf32(b, value) for value in values]
        return values


def lane_of(b: ir.IRBuilder, thread: ir.Value) -> ir.Value:
    """The thread's number in its warp."""
    return b.and_(thread, I32(31))
