"""A scan by a block: each thread scans a few neighbours, from what all threads before it come to.

Source of the scan of the threads' totals: W. D. Hillis, G. L. Steele, "Data parallel algorithms", 1986.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llvmlite import ir

from ....hlo import Shape
from ...llvm.arrays import Array
from ...llvm.branches import chosen
from ...llvm.index import Affine
from ...llvm.types import I32, RegisterValue
from ...llvm.windows import select_all
from ..kernel import Kernel, wide
from ..teams import Combine
from .look_back import scanned_by_lanes

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

    @property
    def groups(self) -> int:
        """How many threads share a line."""
        return THREADS // self.lines

    @property
    def each(self) -> int:
        return self.steps // self.groups


def tile_shape(scalars: Sequence[Shape], lines: int = 1) -> TileShape:
    """The tile of elements of these types, of so many lines."""
    elements = _MOST_ELEMENTS
    while elements > THREADS and elements * sum(shape.byte_size for shape in scalars) > _BYTES:
        elements //= 2
    return TileShape(lines, elements // lines)


def shared_arrays(kernel: Kernel, scalars: Sequence[Shape], count: int) -> list[Array]:
    """Arrays of so many elements in the memory of the block."""
    return [Array(kernel.shared(count * one.byte_size), one.with_dimensions((count,))) for one in scalars]


def load_all(kernel: Kernel, arrays: list[Array], place: ir.Value) -> list[RegisterValue]:
    b = kernel.builder
    return [array.load(b, (Affine(wide(b, place)),), 1) for array in arrays]


def store_all(kernel: Kernel, arrays: list[Array], place: ir.Value, values: list[RegisterValue]) -> None:
    b = kernel.builder
    for array, value in zip(arrays, values):
        array.store(b, (Affine(wide(b, place)),), value, 1)


class BlockScan:
    """What the threads of a block up to each one have in all: the lines of a tile each for themselves."""

    def __init__(self, kernel: Kernel, scalars: Sequence[Shape], combine: Combine, lines: int = 1) -> None:
        self.kernel, self.combine, self.lines = kernel, combine, lines
        self.arrays = [shared_arrays(kernel, scalars, THREADS) for _ in range(2)]
        self.latest, self.spare = self.arrays

    def run(self, values: list[RegisterValue]) -> None:
        """Scan these, so that `of` has them. Ends with a barrier."""
        has_sub_groups = self.lines == 1 and self.kernel.target.lanes > 1
        scan = self._in_sub_groups if has_sub_groups else self._in_steps
        self.latest, self.spare = scan(values)

    def of(self, thread: ir.Value) -> list[RegisterValue]:
        """What the threads up to this one have."""
        return load_all(self.kernel, self.latest, thread)

    def _in_steps(self, mine: list[RegisterValue]) -> tuple[list[Array], list[Array]]:
        b, thread = self.kernel.builder, self.kernel.thread()
        source, target = self.arrays
        store_all(self.kernel, source, thread, mine)
        distance = self.lines
        while distance < THREADS:
            self.kernel.barrier()
            has_other = b.icmp_unsigned(">=", thread, I32(distance))
            other = b.select(has_other, b.sub(thread, I32(distance)), thread)
            joined = self.combine(load_all(self.kernel, source, other), mine)
            mine = select_all(b, has_other, joined, mine)
            store_all(self.kernel, target, thread, mine)
            source, target = target, source
            distance *= 2
        self.kernel.barrier()
        return source, target

    def _in_sub_groups(self, mine: list[RegisterValue]) -> tuple[list[Array], list[Array]]:
        """The threads of a sub-group tell each other what they have."""
        b, thread, size = self.kernel.builder, self.kernel.thread(), self.kernel.target.sub_group
        of_groups, result = self.arrays
        lane, group = b.urem(thread, I32(size)), b.udiv(thread, I32(size))
        mine = scanned_by_lanes(self.kernel, lane, mine, self.combine)
        with b.if_then(b.icmp_unsigned("==", lane, I32(size - 1))):
            store_all(self.kernel, of_groups, group, mine)
        self.kernel.barrier()
        before = load_all(self.kernel, of_groups, I32(0))
        for number in range(1, THREADS // size - 1):
            joined = self.combine(before, load_all(self.kernel, of_groups, I32(number)))
            before = select_all(b, b.icmp_unsigned("<", I32(number), group), joined, before)
        mine = select_all(b, b.icmp_unsigned("!=", group, I32(0)), self.combine(before, mine), mine)
        store_all(self.kernel, result, thread, mine)
        self.kernel.barrier()
        return result, of_groups


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
        self.elements = shared_arrays(kernel, scalars, shape.steps + shape.steps // _BANKS) if shape.lines == 1 else []
        self.threads = BlockScan(kernel, scalars, combine, shape.lines)
        self.held: list[list[RegisterValue]] = []

    def _place(self, step: ir.Value) -> ir.Value:
        b = self.kernel.builder
        return b.add(step, b.lshr(step, I32(_BANKS.bit_length() - 1)))

    def _own(self, number: int) -> ir.Value:
        """The step with this number of a thread."""
        b = self.kernel.builder
        return b.add(b.mul(self.group, I32(self.shape.each)), I32(number))

    def _neighbours(self) -> list[ir.Value]:
        """Steps of the line for a thread, of which the next one has the neighbours."""
        b, thread = self.kernel.builder, self.kernel.thread()
        return [b.add(thread, I32(number * THREADS)) for number in range(self.shape.each)]

    def fill(self, count: ir.Value, load: Callable[[ir.Value, int], list[RegisterValue]]) -> None:
        """Set the first ``count`` steps, of which there is one at least: of the thread's line what ``load(step, offset)`` has,
        so far behind a step.
        """
        b, thread = self.kernel.builder, self.kernel.thread()
        is_held = self.shape.lines > 1
        first, offsets = self._own(0) if is_held else thread, [n * (1 if is_held else THREADS) for n in range(self.shape.each)]

        def whole() -> list[RegisterValue]:
            return [value for offset in offsets for value in load(first, offset)]

        def part() -> list[RegisterValue]:
            steps = [b.add(first, I32(offset)) for offset in offsets]
            last = b.sub(count, I32(1))
            return [value for step in steps for value in load(b.select(b.icmp_unsigned("<", step, count), step, last), 0)]

        if not is_held:
            self.kernel.barrier()
        found = chosen(b, b.icmp_unsigned("==", count, I32(self.shape.steps)), [whole, part])  # all before one is there
        parts = len(self.scalars)
        elements = [found[place : place + parts] for place in range(0, len(found), parts)]
        if is_held:
            self.held = elements
            return
        for offset, values in zip(offsets, elements):
            store_all(self.kernel, self.elements, self._place(b.add(thread, I32(offset))), values)
        self.kernel.barrier()

    def _element(self, number: int) -> list[RegisterValue]:
        return self.held[number] if self.held else load_all(self.kernel, self.elements, self._place(self._own(number)))

    def reduce(self, count: ir.Value) -> list[RegisterValue]:
        """What the first ``count`` steps of its line come to, in all threads."""
        b, mine = self.kernel.builder, self._element(0)
        for number in range(1, self.shape.each):
            joined = self.combine(mine, self._element(number))
            mine = select_all(b, b.icmp_unsigned("<", self._own(number), count), joined, mine)
        self.threads.run(mine)
        last = b.udiv(b.sub(count, I32(1)), I32(self.shape.each))
        return self.threads.of(b.add(b.mul(last, I32(self.shape.lines)), self.line))

    def shared_by_line(self, find: Callable[[], list[RegisterValue]], by_sub_group: bool) -> list[RegisterValue]:
        """What ``find()`` has found for each line, in its first thread or sub-group, in all threads; after `reduce`."""
        b, thread = self.kernel.builder, self.kernel.thread()
        place = self.threads.spare
        finders = self.kernel.target.sub_group if by_sub_group else self.shape.lines
        with b.if_then(b.icmp_unsigned("<", thread, I32(finders))):
            found = find()
            with b.if_then(b.icmp_unsigned("<", thread, I32(self.shape.lines))):
                store_all(self.kernel, place, thread, found)
        self.kernel.barrier()
        return load_all(self.kernel, place, self.line)

    def scan(
        self, count: ir.Value, carries: list[RegisterValue], store: Callable[[ir.Value, list[RegisterValue]], None]
    ) -> None:
        """Give ``store(step, values)`` what the carries and all steps up to each one come to, after `reduce`."""
        b, thread = self.kernel.builder, self.kernel.thread()
        is_first = b.icmp_unsigned("==", self.group, I32(0))
        before = self.threads.of(b.select(is_first, thread, b.sub(thread, I32(self.shape.lines))))
        current = select_all(b, is_first, carries, self.combine(carries, before))
        for number in range(self.shape.each):
            current = self.combine(current, self._element(number))
            if self.held:
                self._leave(self._own(number), count, current, store)
            else:
                store_all(self.kernel, self.elements, self._place(self._own(number)), current)
        if self.held:
            return
        self.kernel.barrier()
        for step in self._neighbours():
            self._leave(step, count, load_all(self.kernel, self.elements, self._place(step)), store)

    def _leave(self, step: ir.Value, count: ir.Value, values: list[RegisterValue], store) -> None:
        b = self.kernel.builder
        with b.if_then(b.icmp_unsigned("<", step, count)):
            store(step, values)
