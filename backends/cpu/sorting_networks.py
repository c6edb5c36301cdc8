"""Sorting networks of vectors: lanes in order, and runs of vectors merged, without a branch.

What is sorted are unsigned integers, or pairs of such, the second of which decides where the first are equal: a *record* is the
list of these registers. Source: K. E. Batcher, "Sorting networks and their applications", AFIPS 1968 (bitonic sorters).
"""

from __future__ import annotations

from collections.abc import Iterable

from llvmlite import ir

from ..llvm.types import I32

Record = list[ir.Value]


class Network:
    """Networks of vectors of so many lanes."""

    def __init__(self, builder: ir.IRBuilder, lanes: int) -> None:
        self.builder, self.lanes = builder, lanes

    def sorted(self, record: Record) -> Record:
        """A vector with its lanes in order: bitonic runs of 2, 4, ... lanes are sorted, every other one downwards."""
        length = 2
        while length <= self.lanes:
            distance = length // 2
            while distance:
                record = self._exchanged(record, distance, [bool(lane & length) for lane in range(self.lanes)])
                distance //= 2
            length *= 2
        return record

    def merged(self, first: Record, second: Record) -> list[Record]:
        """The two vectors of two that are in order each, in order."""
        return list(map(self.in_lanes, self.in_pairs([first, second], 1)))

    def in_pairs(self, records: list[Record], length: int) -> list[Record]:
        """Of runs of so many vectors each two merged, but for the order of the lanes of each vector."""
        merged = []
        for start in range(0, len(records), 2 * length):
            first, second = records[start : start + length], records[start + length : start + 2 * length]
            pairs = [self.low_and_high(one, self.backwards(other)) for one, other in zip(first, reversed(second))]
            for half in zip(*pairs):
                merged += self.halved(list(half), length // 2)
        return merged

    def halved(self, records: list[Record], distance: int) -> list[Record]:
        """Vectors that are a bitonic sequence in order, but for the order of the lanes of each."""
        while distance:
            for start in range(0, len(records), 2 * distance):
                for low in range(start, start + distance):
                    records[low], records[low + distance] = self.low_and_high(records[low], records[low + distance])
            distance //= 2
        return records

    def in_lanes(self, record: Record) -> Record:
        """A vector whose lanes are a bitonic sequence, in order."""
        distance = self.lanes // 2
        while distance:
            record = self._exchanged(record, distance, [False] * self.lanes)
            distance //= 2
        return record

    def backwards(self, record: Record) -> Record:
        return [self.shuffled(one, range(self.lanes - 1, -1, -1)) for one in record]

    def _exchanged(self, record: Record, distance: int, downwards: list[bool]) -> Record:
        """Pairs of lanes at a distance in order: the smaller one in the lower lane, or, downwards, in the upper."""
        lanes = range(self.lanes)
        low, high = self.low_and_high(record, [self.shuffled(one, [lane ^ distance for lane in lanes]) for one in record])
        takes_high = [bool(lane & distance) != down for lane, down in zip(lanes, downwards)]
        order = [lane + self.lanes * high for lane, high in zip(lanes, takes_high)]
        return [self.shuffled(one, order, other) for one, other in zip(low, high)]

    def low_and_high(self, first: Record, second: Record) -> tuple[Record, Record]:
        """The smaller and the greater one in each lane."""
        b, less = self.builder, self._is_less(first, second)
        pairs = list(zip(first, second))
        return [b.select(less, *pair) for pair in pairs], [b.select(less, other, one) for one, other in pairs]

    def _is_less(self, first: Record, second: Record) -> ir.Value:
        b, (key, *positions), (other_key, *others) = self.builder, first, second
        less = b.icmp_unsigned("<", key, other_key)
        for position, other in zip(positions, others):
            is_first = b.and_(b.icmp_unsigned("==", key, other_key), b.icmp_unsigned("<", position, other))
            less = b.or_(less, is_first)
        return less

    def shuffled(self, first: ir.Value, lanes: Iterable[int], second: ir.Value | None = None) -> ir.Value:
        mask = ir.Constant(ir.VectorType(I32, self.lanes), [I32(lane) for lane in lanes])
        return self.builder.shuffle_vector(first, first if second is None else second, mask)
