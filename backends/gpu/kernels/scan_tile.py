"""A scan in the memory of a block: each thread scans a few neighbours, from what all threads before it come to.

Source of the scan of the threads' totals: W. D. Hillis, G. L. Steele, "Data parallel algorithms", 1986.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from ....hlo import Shape
from ...llvm.arrays import Array
from ...llvm.index import Affine
from ...llvm.types import I32, RegisterValue
from ...llvm.windows import select_all
from ..kernel import Kernel, wide

THREADS = 256
# Elements of a thread, as many as fit so many bytes: the memory of a block holds these, and two totals of each thread.
_MOST_EACH, _BYTES = 8, 24 << 10
# One element in so many is left free, so that neighbours of a thread lie in another bank than those of the next.
_BANKS = 32

Combine = Callable[[list[RegisterValue], list[RegisterValue]], list[RegisterValue]]


def elements_of_thread(scalars: Sequence[Shape]) -> int:
    size = sum(shape.byte_size for shape in scalars)
    each = _MOST_EACH
    while each > 1 and (each + 2) * THREADS * size > _BYTES:
        each //= 2
    return each


def elements_of_tile(scalars: Sequence[Shape]) -> int:
    return elements_of_thread(scalars) * THREADS


class ScanTile:
    """Elements, lists of registers, in the memory of a block. All threads call all methods, ``fill`` first."""

    def __init__(self, kernel: Kernel, scalars: Sequence[Shape], combine: Combine) -> None:
        self.kernel, self.combine = kernel, combine
        self.each = elements_of_thread(scalars)
        size = self.each * THREADS
        size += size // _BANKS

        def arrays(count: int) -> list[Array]:
            return [Array(kernel.shared(count * one.byte_size), one.with_dimensions((count,))) for one in scalars]

        self.elements, self.totals = arrays(size), [arrays(THREADS), arrays(THREADS)]
        self.latest = self.totals[0]

    def _place(self, element: ir.Value) -> ir.Value:
        b = self.kernel.builder
        return b.add(element, b.lshr(element, I32(_BANKS.bit_length() - 1)))

    def _load(self, arrays: list[Array], place: ir.Value) -> list[RegisterValue]:
        b = self.kernel.builder
        return [array.load(b, (Affine(wide(b, place)),), 1) for array in arrays]

    def _store(self, arrays: list[Array], place: ir.Value, values: list[RegisterValue]) -> None:
        b = self.kernel.builder
        for array, value in zip(arrays, values):
            array.store(b, (Affine(wide(b, place)),), value, 1)

    def _own(self, number: int) -> ir.Value:
        b = self.kernel.builder
        return b.add(b.mul(self.kernel.thread(), I32(self.each)), I32(number))

    def fill(self, count: ir.Value, load: Callable[[ir.Value], list[RegisterValue]]) -> None:
        """Set the first ``count`` elements, neighbours by neighbouring threads."""
        b, thread = self.kernel.builder, self.kernel.thread()
        self.kernel.barrier()
        for number in range(self.each):
            element = b.add(thread, I32(number * THREADS))
            with b.if_then(b.icmp_unsigned("<", element, count)):
                self._store(self.elements, self._place(element), load(element))
        self.kernel.barrier()

    def reduce(self, count: ir.Value) -> list[RegisterValue]:
        """What the first ``count`` elements, one at least, come to, in all threads."""
        b, thread = self.kernel.builder, self.kernel.thread()
        mine = self._load(self.elements, self._place(self._own(0)))
        for number in range(1, self.each):
            element = self._own(number)
            joined = self.combine(mine, self._load(self.elements, self._place(element)))
            mine = select_all(b, b.icmp_unsigned("<", element, count), joined, mine)
        source, target = self.totals
        self._store(source, thread, mine)
        distance = 1
        while distance < THREADS:
            self.kernel.barrier()
            has_other = b.icmp_unsigned(">=", thread, I32(distance))
            other = b.select(has_other, b.sub(thread, I32(distance)), thread)
            joined = self.combine(self._load(source, other), mine)
            mine = select_all(b, has_other, joined, mine)
            self._store(target, thread, mine)
            source, target = target, source
            distance *= 2
        self.kernel.barrier()
        self.latest = source
        return self._load(source, b.udiv(b.sub(count, I32(1)), I32(self.each)))

    def scan(
        self, count: ir.Value, carries: list[RegisterValue], store: Callable[[ir.Value, list[RegisterValue]], None]
    ) -> None:
        """Give ``store(element, values)`` what the carries and all elements up to each one come to, after `reduce`."""
        b, thread = self.kernel.builder, self.kernel.thread()
        is_first = b.icmp_unsigned("==", thread, I32(0))
        before = self._load(self.latest, b.select(is_first, thread, b.sub(thread, I32(1))))
        current = select_all(b, is_first, carries, self.combine(carries, before))
        for number in range(self.each):
            place = self._place(self._own(number))
            current = self.combine(current, self._load(self.elements, place))
            self._store(self.elements, place, current)
        self.kernel.barrier()
        for number in range(self.each):
            element = b.add(thread, I32(number * THREADS))
            with b.if_then(b.icmp_unsigned("<", element, count)):
                store(element, self._load(self.elements, self._place(element)))
