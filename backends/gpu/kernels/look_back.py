"""What all tiles of a line before one come to, while they are still being read: decoupled look-back with a fixed grouping.

Blocks take tiles in the order in which they begin, so that one waits only for blocks that run. A tile leaves what it comes to
in the device's memory; the last one of each group of so many tiles (the *fan-out*) what the group comes to, the last one of as
many groups what these come to, and so on. What is before a tile is put together from less than so many words of each level:
it waits for as many blocks after each other as there are levels, at most, where waiting for what is before its neighbour would
wait for all; and how values are grouped depends on the number of tiles alone, so that sums of floats are the same from run to
run. Each word has a bit that says that it is there, so that nothing else needs an order.

Source: D. Merrill, M. Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016, whose tiles look back until
they find a prefix that is known.
"""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from ...llvm.branches import replaced_if
from ...llvm.loops import while_loop
from ...llvm.types import I32, I64, RegisterValue
from ...llvm.windows import select_all
from ..kernel import Kernel, wide
from ..teams import Combine
from ..words import from_words, word_count, words_of
from .atomics import load_atomically, store_atomically

# How many tiles a group has that one thread looks through.
FAN_OUT = 8


@dataclass(frozen=True)
class TileWords:
    """Words in memory for what tiles come to, of so many lines with so many tiles each.

    ``parts`` words hold a value. They are ``bits`` wide: a word of 64 has 32 of a value, a word of 32 an integer below 2**31.
    """

    lines: int
    tiles: int
    parts: int
    fan_out: int = FAN_OUT
    bits: int = 64

    @property
    def levels(self) -> list[int]:
        """How many groups of a line are complete in each level: of one tile, of ``fan_out``, of its square."""
        found, size = [], 1
        while size < self.tiles:
            found.append(self.tiles // size)
            size *= self.fan_out
        return found

    @property
    def count(self) -> int:
        return sum(self.levels) * self.lines * self.parts

    @property
    def bytes(self) -> int:
        return self.count * self.bits // 8


def begun_block(kernel: Kernel, counter: ir.Value) -> ir.Value:
    """The number of the block in the order in which blocks begin, i32; the counter's memory is zero at first."""
    b = kernel.builder
    held = kernel.shared(4)
    with b.if_then(b.icmp_unsigned("==", kernel.thread(), I32(0))):
        scope = f'syncscope("{kernel.target.device_scope}") monotonic'
        b.store(b.atomic_rmw("add", counter, I32(1), scope), held)
    kernel.barrier()
    return kernel.own(b.load(held, typ=I32))


class LookBack:
    """Looks from one tile of a line at those before it. ``address`` is that of the words, which are zero at first; ``line`` and
    ``tile`` are i32. ``like`` are values of the types that are combined.
    """

    def __init__(
        self,
        kernel: Kernel,
        words: TileWords,
        address: ir.Value,
        line: ir.Value,
        tile: ir.Value,
        combine: Combine,
        like: list[RegisterValue],
    ) -> None:
        assert words.parts == word_count(like)
        self.kernel, self.builder, self.words = kernel, kernel.builder, words
        self.address, self.line, self.combine, self.like = address, line, combine, like
        self._word = ir.IntType(words.bits)
        self._flag = self._word(1 << (32 if words.bits == 64 else 31))
        self._bases: list[int] = []  # of levels
        base = 0
        for count in words.levels:
            self._bases.append(base)
            base += count
        # In each level the group with the tile has this number, and is this one of the group around it.
        shift = words.fan_out.bit_length() - 1
        b, self._groups, self._places = self.builder, [], []
        for level in range(len(words.levels)):
            group = b.lshr(tile, I32(level * shift))
            self._groups.append(group)
            self._places.append(b.and_(group, I32(words.fan_out - 1)))

    def leave(self, value: list[RegisterValue]) -> None:
        """Leave what the tile comes to, unless it is the last one of its group."""
        if self._groups:
            with self.builder.if_then(self._is_followed(0)):
                self._store(0, value)

    def by_one_thread(self, value: list[RegisterValue], first: list[RegisterValue]) -> list[RegisterValue]:
        """What ``first``, and all tiles before this one, come to; each thread for a line of its own, after `leave`."""
        b, levels = self.builder, range(len(self._groups))
        found = []
        for level in levels:
            # All words are asked for before the first is looked at.
            held = [self._loaded(level, I32(j), b.icmp_unsigned("<", I32(j), self._places[level])) for j in self._members]
            found.append(held)
        sums = []
        for level in levels:
            values = [self._waited(level, I32(j), words) for j, words in zip(self._members, found[level])]
            total = values[0]
            for j, following in enumerate(values[1:], 1):
                is_one = b.icmp_unsigned("<", I32(j), self._places[level])
                total = select_all(b, is_one, self.combine(total, following), total)
            sums.append(total)
        return self._joined(sums, value, first)

    def by_sub_group(self, value: list[RegisterValue], first: list[RegisterValue]) -> list[RegisterValue]:
        """The same, by the threads of a sub-group together, as many as the fan-out, for one line."""
        b, target = self.builder, self.kernel.target
        assert target.shuffle is not None and self.words.fan_out == target.sub_group
        lane = b.and_(self.kernel.thread(), I32(target.sub_group - 1))
        found = [self._loaded(level, lane, b.icmp_unsigned("<", lane, place)) for level, place in enumerate(self._places)]
        sums = []
        for level, (words, place) in enumerate(zip(found, self._places)):
            total = scanned_by_lanes(self.kernel, lane, self._waited(level, lane, words), self.combine)
            is_any = b.icmp_unsigned("!=", place, I32(0))
            sums.append(value_of_lane(self.kernel, b.select(is_any, b.sub(place, I32(1)), place), total))
        return self._joined(sums, value, first, b.icmp_unsigned("==", lane, I32(0)))

    def _joined(
        self,
        sums: list[list[RegisterValue]],
        value: list[RegisterValue],
        first: list[RegisterValue],
        is_writer: ir.Value | None = None,
    ) -> list[RegisterValue]:
        """What is before the tile, from what is before it in its group of each level; what groups come to that end with it."""
        b, total, ends = self.builder, value, None
        for level in range(len(sums) - 1):
            ends_here = b.not_(self._is_followed(level))
            ends = ends_here if ends is None else b.and_(ends, ends_here)
            total = self.combine(sums[level], total)
            is_left = b.and_(ends, self._is_followed(level + 1))
            with b.if_then(is_left if is_writer is None else b.and_(is_left, is_writer)):
                self._store(level + 1, total)
        before = first
        for total, place in zip(reversed(sums), reversed(self._places)):
            before = select_all(b, b.icmp_unsigned("!=", place, I32(0)), self.combine(before, total), before)
        return before

    # --- words ---

    @property
    def _members(self) -> range:
        return range(self.words.fan_out - 1)

    def _is_followed(self, level: int) -> ir.Value:
        return self.builder.icmp_unsigned("!=", self._places[level], I32(self.words.fan_out - 1))

    def _address(self, level: int, group: ir.Value, part: int) -> ir.Value:
        """The address of a word of a group, of which those of lines are side by side."""
        b, words = self.builder, self.words
        row = b.add(wide(b, group), I64(self._bases[level]))
        number = b.add(b.mul(row, I64(words.lines)), wide(b, self.line))
        place = b.add(number, I64(part * (words.count // words.parts)))
        return b.gep(self.address, [place], source_etype=self._word)

    def _store(self, level: int, value: list[RegisterValue]) -> None:
        b = self.builder
        for part, word in enumerate(words_of(b, value)):
            word = b.zext(word, self._word) if self._word.width > 32 else word
            address = self._address(level, self._groups[level], part)
            store_atomically(b, self.kernel.target, address, b.or_(word, self._flag))

    def _load(self, level: int, member: ir.Value, part: int) -> ir.Value:
        """A word of a member of the tile's group, as it is now."""
        b = self.builder
        group = b.add(b.sub(self._groups[level], self._places[level]), member)
        return load_atomically(b, self.kernel.target, self._address(level, group, part), self._word)

    def _loaded(self, level: int, member: ir.Value, is_before: ir.Value) -> list[ir.Value]:
        """The words of a member where it is before the tile, else zeros that are there."""
        parts = range(self.words.parts)
        return replaced_if(
            self.builder, is_before, [self._flag for _ in parts], lambda: [self._load(level, member, part) for part in parts]
        )

    def _waited(self, level: int, member: ir.Value, words: list[ir.Value]) -> list[RegisterValue]:
        """The value of a member, once all of its words are there."""
        b, values = self.builder, []
        for part, word in enumerate(words):
            with while_loop(b, [word], "wait") as loop:
                (held,) = loop.values
                loop.leave_unless(b.icmp_unsigned("<", held, self._flag))
                loop.carry([self._load(level, member, part)])
            values.append(b.trunc(held, I32) if self._word.width > 32 else b.xor(held, self._flag))
        return from_words(b, values, self.like)


def scanned_by_lanes(kernel: Kernel, lane: ir.Value, values: list[RegisterValue], combine: Combine) -> list[RegisterValue]:
    """What the threads of a sub-group up to each one have in all."""
    b, distance = kernel.builder, 1
    while distance < kernel.target.sub_group:
        has_other = b.icmp_unsigned(">=", lane, I32(distance))
        other = value_of_lane(kernel, b.select(has_other, b.sub(lane, I32(distance)), lane), values)
        values = select_all(b, has_other, combine(other, values), values)
        distance *= 2
    return values


def value_of_lane(kernel: Kernel, lane: ir.Value, values: list[RegisterValue]) -> list[RegisterValue]:
    """The values that another thread of the sub-group has."""
    b, shuffle = kernel.builder, kernel.target.shuffle
    assert shuffle is not None
    return from_words(b, [shuffle(b, word, lane) for word in words_of(b, values)], values)
