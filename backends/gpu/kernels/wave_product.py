"""The sums of a block of AMD's.

Its threads load the next tiles of the operands into registers while its waves multiply those in its memory; one of two places
there is read, and the other one written.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from ....hlo import Shape
from ...llvm.loops import carried_loop
from ...llvm.types import I8, I32, POINTER, lane_values
from ..kernel import Kernel
from ..target import Target
from .matrix_divisions import Division, division_for
from .matrix_tiles import Reading, reading_of
from .matrix_units import MatrixUnits
from .product import Product
from .wave_instructions import WaveInstruction, wave_instruction
from .wave_tiles import WaveTiles, narrowed


def _plan(
    target: Target, product: Product, instruction: WaveInstruction, shapes: tuple[Shape, Shape], parts: int
) -> tuple[tuple[Reading, Reading], Division]:
    division, size = division_for(target, product, instruction, parts), instruction.operand.byte_size
    left, right = (reading_of(product, side, shape, through_registers=True) for side, shape in enumerate(shapes))
    return (narrowed(left, division, division.rows, size), narrowed(right, division, division.columns, size)), division


class WaveProduct:
    """The sums while they are emitted."""

    def __init__(
        self, kernel: Kernel, instruction: WaveInstruction, division: Division, tiles: tuple[WaveTiles, WaveTiles], size: int
    ) -> None:
        self.kernel, self.builder = kernel, kernel.builder
        self.instruction, self.division, self.tiles = instruction, division, tiles
        memory = kernel.shared(size)
        self.memory = self.builder.addrspacecast(memory, ir.PointerType(addrspace=kernel.target.spaces.shared))

    def sums(self, first: ir.Value, steps: int) -> list[ir.Value]:
        """Of so many tiles' terms, from a term on: those of an instruction after each other."""
        b, terms = self.builder, self.tiles[0].terms
        last = b.add(first, I32((steps - 1) * terms))

        def clamped(term: ir.Value) -> ir.Value:  # what is loaded behind the end is not used
            return b.select(b.icmp_unsigned("<", term, last), term, last)

        self._store(I32(0), self._load(first), first)
        loaded = self._load(clamped(b.add(first, I32(terms))))
        self.kernel.shared_barrier()
        height, width = self._counts
        vector = ir.VectorType(self.instruction.sum_type, len(self.instruction.places.others))
        sums = [ir.Constant(vector, None)] * (height * width)
        lines = [I32(0)] * sum([count for count, adds in zip(self._counts, self.instruction.adds_lines) if adds])

        def step(number: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            read, term, *rest = carried
            words, sums, lines = _split(rest, len(loaded), height * width)
            write = b.sub(I32(self.division.stage_bytes), read)

            def following() -> None:
                self._store(write, words, clamped(b.sub(term, I32(terms))))
                words[:] = self._load(clamped(term))

            sums, lines = self._multiply(read, sums, lines, following)
            self.kernel.shared_barrier()
            return [write, b.add(term, I32(terms)), *words, *sums, *lines]

        carried = [I32(0), b.add(first, I32(2 * terms)), *loaded, *sums, *lines]
        _, sums, lines = _split(carried_loop(b, 0, steps, 1, carried, step, "tiles"), 2 + len(loaded), height * width)
        elements = [value for one in sums for value in lane_values(b, one)]
        return self._with_lines(elements, lines, steps * terms) if lines else elements

    def free_memory(self) -> ir.Value:
        self.kernel.shared_barrier()
        return self.builder.addrspacecast(self.memory, POINTER)

    @property
    def _counts(self) -> tuple[int, int]:
        """How many matrices of an instruction's a wave has along rows and columns."""
        (rows, columns), places = self.division.warp_lines, self.instruction.places
        return rows // places.rows, columns // places.columns

    def _tile_memory(self, stage: ir.Value, side: int) -> ir.Value:
        b = self.builder
        offset = b.add(stage, I32(self.tiles[0].bytes)) if side else stage
        return b.gep(self.memory, [offset], source_etype=I8)

    def _load(self, term: ir.Value) -> list[ir.Value]:
        return [word for tile in self.tiles for word in tile.load(term)]

    def _store(self, stage: ir.Value, words: list[ir.Value], term: ir.Value) -> None:
        left, right = self.tiles
        count = len(words) * left.lines // (left.lines + right.lines)
        left.store(self._tile_memory(stage, 0), words[:count], term)
        right.store(self._tile_memory(stage, 1), words[count:], term)

    def _multiply(
        self, stage: ir.Value, sums: list[ir.Value], lines: list[ir.Value], following: Callable[[], None]
    ) -> tuple[list[ir.Value], list[ir.Value]]:
        """The new sums, and those of lines.

        ``following`` is done when the first step is multiplied, so that the next tile's elements have time to come.
        """
        b, (left, right), instruction = self.builder, self.tiles, self.instruction
        height, width = self._counts
        side = instruction.places.rows
        memory = self._tile_memory(stage, 0), self._tile_memory(stage, 1)
        sums = list(sums)
        for step in range(left.steps):
            rows = [left.fragments(memory[0], step, side * number) for number in range(height)]
            columns = [right.fragments(memory[1], step, side * number) for number in range(width)]
            added = [words for own, adds in zip((rows, columns), instruction.adds_lines) if adds for words in own]
            lines = [instruction.line_sum(b, words, total) for words, total in zip(added, lines)]
            for i in range(height):
                for j in range(width):
                    sums[i * width + j] = instruction.emit(b, rows[i], columns[j], sums[i * width + j])
            if not step:
                following()
        return sums, lines

    def _with_lines(self, sums: list[ir.Value], lines: list[ir.Value], terms: int) -> list[ir.Value]:
        """The sums, with what they lack where 128 was taken off their factors: 128 times those of their rows and columns."""
        b, instruction, target = self.builder, self.instruction, self.kernel.target
        places, (height, width) = instruction.places, self._counts
        lane = b.urem(self.kernel.thread(), I32(self.division.warp))
        distance = places.rows
        while distance < self.division.warp:  # groups of lanes have different terms of the same lines
            lines = [b.add(one, target.shuffle(b, one, b.xor(lane, I32(distance)))) for one in lines]
            distance *= 2
        if all(instruction.is_shifted):
            lines[:height] = [b.add(one, I32(128 * terms)) for one in lines[:height]]
        count = height if instruction.adds_lines[0] else 0
        of_rows, of_columns = lines[:count], lines[count:]
        first, _ = places.first(b, lane)
        found = []
        for i in range(height):
            rows = [target.shuffle(b, of_rows[i], b.add(first, I32(row))) for row, _ in places.others] if of_rows else []
            for j in range(width):
                for number in range(len(places.others)):
                    missing = [*rows[number : number + 1], *of_columns[j : j + 1]]  # a lane's sums are those of its column
                    total = missing[0] if len(missing) == 1 else b.add(*missing)
                    found.append(b.add(sums[len(found)], b.shl(total, I32(7))))
        return found


def _split(values: list[ir.Value], first: int, second: int) -> tuple[list[ir.Value], list[ir.Value], list[ir.Value]]:
    """So many, so many, and the others."""
    return values[:first], values[first : first + second], values[first + second :]


WAVE_UNITS = MatrixUnits(wave_instruction, _plan, WaveTiles, WaveProduct)
