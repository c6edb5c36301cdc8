"""A scan by a block: each thread scans a few neighbours, from what all threads before it come to.

Source of the scan of the threads' totals: W. D. Hillis, G. L. Steele, "Data parallel algorithms", 1986.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llvmlite import ir

from ....hlo import Shape
from ...llvm.arrays import Array
from ...llvm.index import Affine
from ...llvm.types import I32, RegisterValue
from ...llvm.windows import select_all
from ..kernel import Kernel, wide
from .look_back import Combine, scanned_by_lanes

# Elements of a tile: so many bytes, and no more than so many.
_BYTES, _MOST_ELEMENTS = 16 << 10, 4096
THREADS = 256
# One element in so many is left free, so that neighbours of a thread lie in another bank than those of the next.
_BANKS = 32


@dataclass(frozen=True)
class TileShape:
    """``steps`` of ``lines`` that lie side by side, by so many threads, of which each has ``each`` steps of a line."""

    lines: int
    steps: int
    threads: int = THREADS

    @property
    def groups(self) -> int:
        """How many threads share a line."""
        return self.threads // self.lines

    @property
    def each(self) -> int:
        return self.steps // self.groups


def tile_shape(scalars: Sequence[Shape], lines: int = 1) -> TileShape:
    """The tile of elements of these types, of so many lines."""
    elements = _MOST_ELEMENTS
    while elements > THREADS and elements * sum(shape.byte_size for shape in scalars) > _BYTES:
        elements //= 2
    return TileShape(lines, elements // lines)


class ScanTile:
    """Elements, lists of registers, of the lines of a block. All threads call all methods, ``fill`` first.

    One line is in the memory of the block, of which neighbouring threads read neighbours. Of several, which lie side by side,
    threads hold their own elements.
    """

    def __init__(self, kernel: Kernel, shape: TileShape, scalars: Sequence[Shape], combine: Combine) -> None:
        self.kernel, self.shape, self.scalars, self.combine = kernel, shape, scalars, combine
        b, thread = kernel.builder, kernel.thread()
        # The line of this thread, and which one of those that share it this is.
        self.line, self.group = b.urem(thread, I32(shape.lines)), b.udiv(thread, I32(shape.lines))
        self.elements = self._arrays(shape.steps + shape.steps // _BANKS) if shape.lines == 1 else []
        self.totals = [self._arrays(shape.threads) for _ in range(2)]
        self.latest = self.totals[0]
        self.held: list[list[RegisterValue]] = []

    def _arrays(self, count: int) -> list[Array]:
        kernel = self.kernel
        return [Array(kernel.shared(count * one.byte_size), one.with_dimensions((count,))) for one in self.scalars]

    def _place(self, step: ir.Value) -> ir.Value:
        b = self.kernel.builder
        return b.add(step, b.lshr(step, I32(_BANKS.bit_length() - 1)))

    def _load(self, arrays: list[Array], place: ir.Value) -> list[RegisterValue]:
        b = self.kernel.builder
        return [array.load(b, (Affine(wide(b, place)),), 1) for array in arrays]

    def _store(self, arrays: list[Array], place: ir.Value, values: list[RegisterValue]) -> None:
        b = self.kernel.builder
        for array, value in zip(arrays, values):
            array.store(b, (Affine(wide(b, place)),), value, 1)

    def _own(self, number: int) -> ir.Value:
        """The step with this number of a thread."""
        b = self.kernel.builder
        return b.add(b.mul(self.group, I32(self.shape.each)), I32(number))

    def _neighbours(self) -> list[ir.Value]:
        """Steps of the line for a thread, of which the next one has the neighbours."""
        b, thread, threads = self.kernel.builder, self.kernel.thread(), self.shape.threads
        return [b.add(thread, I32(number * threads)) for number in range(self.shape.each)]

    def fill(self, count: ir.Value, load: Callable[[ir.Value], list[RegisterValue]]) -> None:
        """Set the first ``count`` steps, of which there is one at least: what ``load(step)`` has of the thread's line."""
        b = self.kernel.builder
        last = b.sub(count, I32(1))

        def loaded(step: ir.Value) -> list[RegisterValue]:
            return load(b.select(b.icmp_unsigned("<", step, count), step, last))

        if self.shape.lines > 1:
            self.held = [loaded(self._own(number)) for number in range(self.shape.each)]
            return
        self.kernel.barrier()
        steps = self._neighbours()
        for step, values in zip(steps, list(map(loaded, steps))):  # all are asked for before the first is there
            self._store(self.elements, self._place(step), values)
        self.kernel.barrier()

    def _element(self, number: int) -> list[RegisterValue]:
        return self.held[number] if self.held else self._load(self.elements, self._place(self._own(number)))

    def reduce(self, count: ir.Value) -> list[RegisterValue]:
        """What the first ``count`` steps of its line come to, in all threads."""
        b, mine = self.kernel.builder, self._element(0)
        for number in range(1, self.shape.each):
            joined = self.combine(mine, self._element(number))
            mine = select_all(b, b.icmp_unsigned("<", self._own(number), count), joined, mine)
        self.latest = self._scanned_in_sub_groups(mine) if self._has_sub_groups else self._scanned(mine)
        last = b.udiv(b.sub(count, I32(1)), I32(self.shape.each))
        return self._load(self.latest, b.add(b.mul(last, I32(self.shape.lines)), self.line))

    @property
    def _has_sub_groups(self) -> bool:
        return self.shape.lines == 1 and self.kernel.target.lanes > 1

    def _scanned(self, mine: list[RegisterValue]) -> list[Array]:
        """What the threads of a line up to each one have in all."""
        b, thread = self.kernel.builder, self.kernel.thread()
        source, target = self.totals
        self._store(source, thread, mine)
        distance = 1
        while distance < self.shape.groups:
            self.kernel.barrier()
            has_other = b.icmp_unsigned(">=", self.group, I32(distance))
            other = b.select(has_other, b.sub(thread, I32(distance * self.shape.lines)), thread)
            joined = self.combine(self._load(source, other), mine)
            mine = select_all(b, has_other, joined, mine)
            self._store(target, thread, mine)
            source, target = target, source
            distance *= 2
        self.kernel.barrier()
        return source

    def _scanned_in_sub_groups(self, mine: list[RegisterValue]) -> list[Array]:
        """The same, of one line, where the threads of a sub-group tell each other what they have."""
        b, thread, size = self.kernel.builder, self.kernel.thread(), self.kernel.target.sub_group
        of_groups, result = self.totals
        lane, group = b.urem(thread, I32(size)), b.udiv(thread, I32(size))
        mine = scanned_by_lanes(self.kernel, lane, mine, self.combine)
        with b.if_then(b.icmp_unsigned("==", lane, I32(size - 1))):
            self._store(of_groups, group, mine)
        self.kernel.barrier()
        before = self._load(of_groups, I32(0))
        for number in range(1, self.shape.threads // size - 1):
            joined = self.combine(before, self._load(of_groups, I32(number)))
            before = select_all(b, b.icmp_unsigned("<", I32(number), group), joined, before)
        mine = select_all(b, b.icmp_unsigned("!=", group, I32(0)), self.combine(before, mine), mine)
        self._store(result, thread, mine)
        self.kernel.barrier()
        return result

    def shared_by_line(self, find: Callable[[], list[RegisterValue]], by_sub_group: bool) -> list[RegisterValue]:
        """What ``find()`` has found for each line, in its first thread or sub-group, in all threads; after `reduce`."""
        b, thread = self.kernel.builder, self.kernel.thread()
        (place,) = [arrays for arrays in self.totals if arrays is not self.latest]
        finders = self.kernel.target.sub_group if by_sub_group else self.shape.lines
        with b.if_then(b.icmp_unsigned("<", thread, I32(finders))):
            found = find()
            with b.if_then(b.icmp_unsigned("<", thread, I32(self.shape.lines))):
                self._store(place, thread, found)
        self.kernel.barrier()
        return self._load(place, self.line)

    def scan(
        self, count: ir.Value, carries: list[RegisterValue], store: Callable[[ir.Value, list[RegisterValue]], None]
    ) -> None:
        """Give ``store(step, values)`` what the carries and all steps up to each one come to, after `reduce`."""
        b, thread = self.kernel.builder, self.kernel.thread()
        is_first = b.icmp_unsigned("==", self.group, I32(0))
        before = self._load(self.latest, b.select(is_first, thread, b.sub(thread, I32(self.shape.lines))))
        current = select_all(b, is_first, carries, self.combine(carries, before))
        for number in range(self.shape.each):
            current = self.combine(current, self._element(number))
            if self.held:
                self._leave(self._own(number), count, current, store)
            else:
                self._store(self.elements, self._place(self._own(number)), current)
        if self.held:
            return
        self.kernel.barrier()
        for step in self._neighbours():
            self._leave(step, count, self._load(self.elements, self._place(step)), store)

    def _leave(self, step: ir.Value, count: ir.Value, values: list[RegisterValue], store) -> None:
        b = self.kernel.builder
        with b.if_then(b.icmp_unsigned("<", step, count)):
            store(step, values)
