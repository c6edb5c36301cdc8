"""The scan in tiles: where neighbours in memory are elements of different slices, square tiles are turned in registers.

Lanes are rows, along a dimension of the slices; each carries its own values, a tile after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ....hlo import Shape
from ...llvm import index as indices
from ...llvm.arrays import stack_array
from ...llvm.index import Affine, Base, Component, Index
from ...llvm.loops import carried_loop, counted_loop
from ...llvm.pieces import independent_loop, independent_loops
from ...llvm.scans import Scan
from ...llvm.types import RegisterValue
from ..nest_samples import running_sum, samples
from ..target import Target
from ..vectors import lanes_of_scan, tail_mask, whole_lanes
from .loop import dimension_read_across
from .transpose import LARGEST_TILE, turned

# Where reads and writes go in different directions so many tiles lie side by side: they share pages of memory.
_ABREAST = 8


class Tiles(NamedTuple):
    """Tiles of so many rows and elements of each, along the dimension ``rows``; what is turned in registers."""

    size: int
    rows: int
    turns_inputs: bool
    turns_outputs: bool


def plan_tiles(scan: Scan, target: Target) -> Tiles | None:
    """The tiles of a scan; None where it needs none, or is too small for them."""
    last = scan.rank - 1
    across = dimension_read_across(scan.outside.instructions, scan.sizes)
    if scan.along == last:
        rows = max(range(last), key=scan.sizes.__getitem__, default=None) if across is None else across
    else:
        rows = last if across == scan.along else None
    if rows is None:
        return None
    size = whole_lanes(min(LARGEST_TILE, lanes_of_scan(target, scan, scan.steps)), scan.sizes[rows])
    return Tiles(size, rows, across is None or rows == last, scan.along == last) if size > 1 else None


@samples(
    """
    x = s32[37,50] parameter(0)
    init = s32[37] parameter(1)
    ROOT y = (s32[37,50], s32[37]) scan(x, init), dimensions={1}, num_carries=1, to_apply=running_sum_s32_37
    """,
    # Reads and writes go in different directions.
    """
    x = s32[300,200] parameter(0)
    init = s32[200] parameter(1)
    t = s32[200,300] transpose(x), dimensions={1,0}
    ROOT y = (s32[200,300], s32[200]) scan(t, init), dimensions={1}, num_carries=1, is_reverse=true,
      to_apply=running_sum_s32_200
    """,
    calls=running_sum("s32[37]") + running_sum("s32[200]"),
)
def emit_tiles(scan: Scan, tiles: Tiles) -> None:
    """All tiles; those side by side before the next ones along the scanned dimension."""
    b, sizes, size = scan.builder, scan.sizes, tiles.size
    others = [d for d in range(scan.rank) if d not in (tiles.rows, scan.along)]
    abreast = _ABREAST if tiles.turns_inputs != tiles.turns_outputs else 1
    groups = -(-sizes[tiles.rows] // size)
    with independent_loops(b, [sizes[d] for d in others]) as outer, independent_loop(b, -(-groups // abreast), "rows") as block:
        first = indices.multiply_base(b, block, abreast)
        stop = indices.clamp_base(b, indices.add_base(b, first, abreast), 0, groups)
        _Block(scan, tiles, dict(zip(others, outer)), first, stop, abreast).emit()


class _Block:
    """The rows from group ``first`` to before group ``stop``, whose carries wait in memory."""

    def __init__(self, scan: Scan, tiles: Tiles, fixed: dict[int, Affine], first: Base, stop: Base, abreast: int) -> None:
        self.scan, self.tiles, self.fixed, self.builder = scan, tiles, fixed, scan.builder
        self.first, self.stop = first, stop
        shapes = [Shape(init.shape.element_type, (abreast * tiles.size,)) for init in scan.inits]
        self.carries = [stack_array(self.builder, shape) for shape in shapes]

    def emit(self) -> None:
        scan, b, size = self.scan, self.builder, self.tiles.size
        whole, rest = divmod(scan.steps, size)
        self._each_group(lambda start, carries: scan.first_carries(self._place(start), size))

        def tile(number: Base) -> None:
            position = indices.multiply_base(b, number, size)
            if scan.is_reverse:
                position = indices.add_base(b, indices.multiply_base(b, position, -1), scan.steps - size)
            self._each_group(lambda start, carries: self._tile(start, position, size, carries))

        if whole:
            with counted_loop(b, whole, "scan", None if scan.stop is None else scan.whole(size)) as number:
                tile(number)
        if rest:
            position = 0 if scan.is_reverse else whole * size
            self._each_group(lambda start, carries: self._tile(start, position, rest, carries))
        if scan.last_carries:
            self._each_group(self._finish)

    def _finish(self, start: Base, carries: list[RegisterValue]) -> list[RegisterValue]:
        self.scan.store_carries(self._place(start), carries, self.tiles.size)
        return carries

    def _each_group(self, body: Callable[[Base, list[RegisterValue]], list[RegisterValue]]) -> None:
        """``body(first row, carries)`` gives the next carries of each group."""
        b, size, rows = self.builder, self.tiles.size, self.scan.sizes[self.tiles.rows]

        def group(number: Base, nothing: list[RegisterValue]) -> list[RegisterValue]:
            start = indices.multiply_base(b, number, size)
            if rows % size:
                start = indices.clamp_base(b, start, 0, rows - size)
            local = b.sub(number, indices.i64(self.first))
            memory = (Affine(indices.multiply_base(b, local, size), 1),)
            carries = [array.load(b, memory, size) for array in self.carries]
            for array, value in zip(self.carries, body(start, carries)):
                array.store(b, memory, value, size)
            return nothing

        carried_loop(b, self.first, self.stop, 1, [], group, "rows")

    def _index(self, row: Component, position: Component) -> Index:
        every = {**self.fixed, self.tiles.rows: row, self.scan.along: position}
        return tuple(every[d] for d in range(self.scan.rank))

    def _place(self, start: Base) -> Index:
        index = self._index(Affine(start, 1), indices.ZERO)
        return tuple(component for d, component in enumerate(index) if d != self.scan.along)

    def _tile(self, start: Base, first: Base, count: int, carries: list[RegisterValue]) -> list[RegisterValue]:
        """The rows from ``start`` on at ``count`` positions from ``first`` on."""
        b, scan, size = self.builder, self.scan, self.tiles.size
        mask = None if count == size else tail_mask(size, count)
        lines = [self._index(Affine(indices.add_base(b, start, k)), Affine(first, 1)) for k in range(size)]
        columns = [self._index(Affine(start, 1), Affine(indices.add_base(b, first, k))) for k in range(count)]
        if self.tiles.turns_inputs:
            elements = self._turned([scan.elements(line, size, mask) for line in lines])
        else:
            elements = [scan.elements(column, size) for column in columns]
        outputs: dict[int, list[RegisterValue]] = {}
        for k in reversed(range(count)) if scan.is_reverse else range(count):
            outputs[k], carries = scan.stepped(elements[k], carries, size)
        if self.tiles.turns_outputs:
            turned_outputs = self._turned([outputs[min(k, count - 1)] for k in range(size)])
            for line, values in zip(lines, turned_outputs):
                scan.store(line, values, size, mask)
        else:
            for k, column in enumerate(columns):
                scan.store(column, outputs[k], size)
        return carries

    def _turned(self, lines: list[list[RegisterValue]]) -> list[list[RegisterValue]]:
        """Lines of several arrays, each of them turned."""
        return [list(values) for values in zip(*(turned(self.builder, list(one)) for one in zip(*lines)))]
