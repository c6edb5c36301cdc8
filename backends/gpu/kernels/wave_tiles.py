"""Tiles of an operand in a block's memory, as waves' products of small matrices read them.

A lane reads runs of 16 bytes of its line's terms, *chunks*. They lie there in one of two orders, in which neighbouring lines
are neighbours, so that the lanes of a wave read from all banks:

- by terms: the first chunks of all lines, then the second ones. Threads that are neighbours write neighbouring chunks of a
  line: lines are permuted by the chunk's number, so that these are in different banks;
- by lines, as they lie in the operand: pieces of a chunk that hold four terms of elements of 8 and 16 bits, one term of others.
  A thread loads such elements of neighbouring lines for four terms, and turns them; chunks of lines are permuted likewise.

What is loaded for the next tile waits in registers, and is written to the block's memory later.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ...llvm.module import declaration
from ...llvm.types import I8, I32, I64, lane_values, vector_of_values
from .matrix_divisions import Division
from .matrix_tiles import CHUNK_BYTES, OperandTiles, Reading
from .wave_instructions import WaveInstruction

_DEVICE = ir.PointerType(addrspace=1)
_BANK_CHUNKS = 8  # of 16 bytes, in all banks: 32 of 4 bytes
_WORD_BYTES = 4


def narrowed(reading: Reading, division: Division, lines: int, element_bytes: int) -> Reading:
    """With pieces so narrow that all threads have some to turn."""
    if reading.is_by_terms:
        return reading
    piece = lines * division.run_bytes // (_turned_terms(element_bytes) * division.threads)
    return Reading(False, min(reading.piece, piece))


def _turned_terms(element_bytes: int) -> int:
    """Of how many terms the elements of a line lie side by side, where tiles lie by lines."""
    return 4 if element_bytes <= 2 else 1


class WaveTiles(OperandTiles):
    """The tiles of an operand, while a kernel is emitted; see `OperandTiles`. ``is_full``: tiles end where terms do."""

    instruction: WaveInstruction

    def _prepare(self, division: Division) -> None:
        instruction = self.instruction
        self.chunks = division.run_bytes // CHUNK_BYTES  # of a line
        self.is_full = not self.all_terms % (self.terms * division.parts)
        self._turned = _turned_terms(self.element_bytes)
        self._piece_bytes = self._turned * self.element_bytes
        self.steps = self.chunks * CHUNK_BYTES // (_WORD_BYTES * instruction.step_words * instruction.groups)
        self._prepare_loads()
        self._prepare_fragments(self.builder.urem(self.thread, I32(division.warp)))

    # --- from the operand to registers ---

    def _prepare_loads(self) -> None:
        """For each run that the thread loads: its first term in the tile, its address, and its row and place in the tile."""
        b, size = self.builder, self.element_bytes
        self._loads: list[tuple[ir.Value, ir.Value, ir.Value, ir.Value]] = []
        if self.reading.is_by_terms:
            for number in range(self.lines * self.chunks // self.threads):
                position = b.add(self.thread, I32(number * self.threads))
                if self.reading.is_turned:  # neighbouring threads read neighbouring lines
                    line, chunk = b.urem(position, I32(self.lines)), b.udiv(position, I32(self.lines))
                else:
                    line, chunk = b.udiv(position, I32(self.chunks)), b.urem(position, I32(self.chunks))
                term = b.mul(chunk, I32(CHUNK_BYTES // size))
                base = self.line_address(b.add(self.first, line))
                self._loads.append((term, self._with_own_term(base, term), I32(0), self._place_by_terms(chunk, line)))
            return
        width = self.reading.piece // size  # lines
        runs = self.lines // width
        for number in range(runs * self.terms // self._turned // self.threads):
            position = b.add(self.thread, I32(number * self.threads))
            line = b.mul(b.urem(position, I32(runs)), I32(width))
            row = b.udiv(position, I32(runs))
            term = b.mul(row, I32(self._turned))
            place = b.add(self.first, line)
            # Neither is inside where the first one is not.
            place = b.select(b.icmp_unsigned("<", place, I32(self.size)), place, I32(0))
            base = self._with_own_term(self.line_address(place), term)
            beginning = b.mul(row, I32(self.lines * self._piece_bytes))
            self._loads.append((term, base, beginning, b.mul(line, I32(self._piece_bytes))))

    @property
    def _has_plain_terms(self) -> bool:
        """Whether terms are equally far apart."""
        return len(self.term_axes) <= 1

    def _with_own_term(self, base: ir.Value, term: ir.Value) -> ir.Value:
        return self.builder.add(base, self.term_offset(term)) if self._has_plain_terms else base

    def load(self, first_term: ir.Value) -> list[ir.Value]:
        """This thread's words of the tile that begins at a term, as they lie in the operand."""
        b, words = self.builder, []
        common = self.term_offset(first_term) if self._has_plain_terms else None
        for own_term, base, *_ in self._loads:
            if not self.reading.piece:
                start = b.sub(base, self.term_offset(own_term)) if self._has_plain_terms else base
                words += self.gathered(start, b.add(first_term, own_term), None)
                continue
            for number in self._piece_terms:
                words += self._loaded(base, common, b.add(first_term, own_term), number)
        return words

    @property
    def _piece_terms(self) -> range:
        """How many terms behind its first one the pieces of a run are."""
        if self.reading.is_by_terms:
            return range(0, CHUNK_BYTES // self.element_bytes, self.reading.piece // self.element_bytes)
        return range(self._turned)

    def _loaded(self, base: ir.Value, common: ir.Value | None, first_term: ir.Value, number: int) -> list[ir.Value]:
        """The words of a piece that is so many terms behind the first one; anything, where there is no such term."""
        b, term = self.builder, self.builder.add(first_term, I32(number))
        is_inside = self._is_inside(term)
        if common is not None:
            step = self.term_axes[0].steps[self.side] if self.term_axes else 0
            address = b.add(b.add(base, common), I64(number * step * self.element_bytes))
            address = address if is_inside is None else b.select(is_inside, address, self.source)
        else:
            address = b.add(base, self.term_offset(term if is_inside is None else b.select(is_inside, term, I32(0))))
        return _load_words(b, b.inttoptr(address, _DEVICE), self.reading.piece)

    def _is_inside(self, term: ir.Value) -> ir.Value | None:
        return None if self.is_full else self.builder.icmp_unsigned("<", term, I32(self.all_terms))

    # --- from registers to the block ---

    def _place_by_terms(self, chunk: ir.Value, line: ir.Value) -> ir.Value:
        b = self.builder
        moved = b.xor(line, b.and_(b.mul(chunk, I32(_BANK_CHUNKS // self.chunks)), I32(_BANK_CHUNKS - 1)))
        return b.mul(b.add(b.mul(chunk, I32(self.lines)), moved), I32(CHUNK_BYTES))

    def _place_by_lines(self, within: ir.Value) -> ir.Value:
        """Where what is so many bytes behind the beginning of a row of pieces lies.

        Threads that turn elements write four chunks each, one after the other.
        """
        if self._turned == 1:
            return within
        b = self.builder
        return b.xor(within, b.mul(b.and_(b.lshr(within, I32(7)), I32(3)), I32(CHUNK_BYTES)))

    def store(self, memory: ir.Value, words: Sequence[ir.Value], first_term: ir.Value) -> None:
        """Write what was loaded of the tile that begins at a term into a place in the block's memory, zeros behind the end.

        Nothing is done before with what was loaded, so that it may still be under way.
        """
        b, of_load = self.builder, len(words) // len(self._loads)
        unit = min(of_load, CHUNK_BYTES // _WORD_BYTES)
        for number, (own_term, _, row, place) in enumerate(self._loads):
            own = list(words[number * of_load : (number + 1) * of_load])
            if self.reading.piece:
                own = self._as_in_tile(own, b.add(first_term, own_term))
            for first in range(0, of_load, unit):
                within = place
                if not self.reading.is_by_terms:
                    within = self._place_by_lines(b.add(place, I32(first * _WORD_BYTES)))
                pointer = b.gep(memory, [b.add(row, within)], source_etype=I8)
                stored = self.instruction.factors(b, own[first : first + unit], self.side)
                b.store(vector_of_values(b, stored), pointer, align=len(stored) * _WORD_BYTES)

    def _as_in_tile(self, words: Sequence[ir.Value], first_term: ir.Value) -> list[ir.Value]:
        """The words of a run in the order in which they lie there."""
        b, count = self.builder, self.reading.piece // _WORD_BYTES
        pieces = []
        for number, behind in enumerate(self._piece_terms):
            piece = words[number * count : (number + 1) * count]
            is_inside = self._is_inside(b.add(first_term, I32(behind)))
            pieces.append(piece if is_inside is None else [b.select(is_inside, word, I32(0)) for word in piece])
        if self.reading.is_by_terms:
            return [word for piece in pieces for word in piece]
        return _turned(b, pieces, self.element_bytes)

    # --- from the block to registers ---

    def _prepare_fragments(self, lane: ir.Value) -> None:
        """Addresses in the tile, less what is known: of a step's chunks where it lies by terms, otherwise of lines."""
        b, side, groups = self.builder, self.instruction.places.rows, self.instruction.groups
        of_step = self.instruction.step_words * _WORD_BYTES // CHUNK_BYTES  # chunks of a lane
        line = b.add(self.own, b.urem(lane, I32(side)))
        group = b.udiv(lane, I32(side)) if groups > 1 else I32(0)
        self._addresses: dict[tuple[int, int], ir.Value] = {}
        if self.reading.is_by_terms:
            for step in range(self.steps):
                for number in range(of_step):
                    chunk = b.add(b.mul(group, I32(of_step)), I32(step * groups * of_step + number))
                    self._addresses[step, number] = self._place_by_terms(chunk, line)
            return
        first_row = b.mul(group, I32(of_step * CHUNK_BYTES // self._piece_bytes))
        base = b.mul(first_row, I32(self.lines * self._piece_bytes))
        for first in range(0, self.lines, side):
            within = b.mul(b.add(line, I32(first)), I32(self._piece_bytes))
            self._addresses[first, 0] = b.add(base, self._place_by_lines(within))

    def fragments(self, memory: ir.Value, step: int, first: int) -> list[ir.Value]:
        """The words of a step that the lane has of the lines from this one on."""
        b, words = self.builder, []
        of_step = self.instruction.step_words * _WORD_BYTES // CHUNK_BYTES
        if self.reading.is_by_terms:
            for number in range(of_step):
                at = b.gep(memory, [self._addresses[step, number]], source_etype=I8)
                words += _load_words(b, b.gep(at, [I32(first * CHUNK_BYTES)], source_etype=I8), CHUNK_BYTES)
            return words
        pieces = CHUNK_BYTES // self._piece_bytes
        at = b.gep(memory, [self._addresses[first, 0]], source_etype=I8)
        start = step * self.instruction.groups * of_step * pieces
        for row in range(start, start + of_step * pieces):
            offset = row * self.lines * self._piece_bytes
            words += _load_words(b, b.gep(at, [I32(offset)], source_etype=I8), self._piece_bytes)
        return words


def _load_words(b: ir.IRBuilder, pointer: ir.Value, size: int) -> list[ir.Value]:
    count = size // _WORD_BYTES
    return lane_values(b, b.load(pointer, typ=I32 if count == 1 else ir.VectorType(I32, count), align=size))


def _turned(b: ir.IRBuilder, rows: Sequence[Sequence[ir.Value]], size: int) -> list[ir.Value]:
    """The words of rows of elements, ordered by column: four rows of elements of 8 or 16 bits, or one row."""
    if size > 2:
        return list(rows[0])
    words: list[ir.Value] = []
    for one, two, three, four in zip(*rows):
        if size == 2:
            for halves in (0x05040100, 0x07060302):
                words += [_permuted(b, two, one, halves), _permuted(b, four, three, halves)]
            continue
        pairs = [
            [_permuted(b, high, low, bytes_) for bytes_ in (0x05010400, 0x07030602)]
            for low, high in ((one, two), (three, four))
        ]
        for half in (0, 1):
            words += [_permuted(b, pairs[1][half], pairs[0][half], halves) for halves in (0x05040100, 0x07060302)]
    return words


def _permuted(b: ir.IRBuilder, high: ir.Value, low: ir.Value, selector: int) -> ir.Value:
    """Four bytes of two words: those with the numbers that the selector's bytes are; the second word has the lower ones."""
    function = declaration(b.module, "llvm.amdgcn.perm", I32, [I32, I32, I32])
    return b.call(function, [high, low, I32(selector)])
