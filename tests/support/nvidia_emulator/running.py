"""Threads that go on together: what functions of blocks of code ask about them, and copies and products that are under way."""

from __future__ import annotations

import numpy as np

from .memory import UNWRITTEN, RaceError


class Running:
    """``lanes`` are threads, by their places in the registers' arrays, in order; ``blocks`` those that they belong to."""

    def __init__(self, launch, lanes, is_all):
        self._launch, self.lanes, self._is_all = launch, lanes, is_all
        self.count, self.memories = lanes.size, launch.memories
        self._blocks = None
        self._rows = None

    @property
    def blocks(self):
        if self._blocks is None:
            self._blocks = self._launch.block_of if self._is_all else self._launch.block_of[self.lanes]
        return self._blocks

    @property
    def block_numbers(self):
        """Those of the blocks in the launch."""
        return self._launch.numbers[self.blocks]

    def part(self, which):
        return Running(self._launch, self.lanes[which], False)

    def full(self, value):
        """An array of its own, with an element for each thread."""
        return value.copy() if value.size == self.count else np.full(self.count, value[0])

    def special(self, name):
        found = self._launch.special[name]
        return np.full(self.count, found, np.uint32) if isinstance(found, int) else found[self.lanes].astype(np.uint32)

    def parameter(self, at, size):
        return np.full(self.count, np.frombuffer(self._launch.parameters, f"u{size}", 1, at)[0])

    def parameter_at(self, addresses, offset, size):
        words = np.frombuffer(self._launch.parameters, f"u{size}")
        return words[(self.full(addresses).astype(np.int64) + offset) // size]

    def parts(self, value, bits):
        """The parts of words, the lowest first."""
        words = np.ascontiguousarray(self.full(value)).view(f"u{bits // 8}").reshape(self.count, -1)
        return [np.ascontiguousarray(words[:, number]) for number in range(words.shape[1])]

    def joined(self, parts, bits):
        words = np.stack([self.full(one) for one in parts], axis=1)
        return np.ascontiguousarray(words).view(f"u{len(parts) * bits // 8}")[:, 0].copy()

    # --- warps ---

    def by_warp(self, value, missing):
        """By warp and lane; ``missing`` for threads that are not there."""
        if self._rows is None:
            warps, rows = np.unique(self.lanes // 32, return_inverse=True)
            self._rows = rows, self.lanes % 32, (warps.size, 32)
        rows, columns, shape = self._rows
        if value.size == self.count == shape[0] * 32:
            return value.reshape(shape)
        found = np.full(shape, missing, value.dtype)
        found[rows, columns] = value
        return found

    def from_warp(self, values):
        rows, columns, shape = self._rows
        return values.reshape(-1).copy() if self.count == shape[0] * 32 else values[rows, columns]

    def require_whole_warps(self):
        if self.count % 32 or (self.lanes.reshape(-1, 32)[:, 0] % 32).any():
            raise RaceError("a matrix of a warp of which not all threads are there")

    # --- copies, and products of groups of warps ---

    def copy_later(self, places, data):
        self._launch.copies.ask(self.lanes, places, data)

    def commit_copies(self):
        self._launch.copies.commit(self.lanes)

    def wait_for_copies(self, left):
        self._launch.copies.wait(self.lanes, left)

    def show_to_products(self):
        self.memories["shared"].show_to_products(self.lanes)

    def note_product(self, places, data):
        self.memories["shared"].require_shown(places)
        self._launch.products.ask(int(self.lanes[0]), places, data)

    def commit_products(self):
        self._launch.products.commit(self.lanes)

    def wait_for_products(self, left):
        self._launch.products.wait(self.lanes, left)


class Copies:
    """Copies to the memory of blocks: they arrive when the threads that have asked for them wait for them."""

    def __init__(self, count, shared):
        self._shared = shared
        self._asked = []  # threads, places, bytes, of what is in no group yet
        self._groups = []  # number of the group of each thread, threads, places, bytes
        self._committed = np.zeros(count, np.int64)

    def ask(self, lanes, places, data):
        self._shared.note_write(places, data.shape[1], lanes)
        self._shared.views[1][places[:, None] + np.arange(data.shape[1])] = UNWRITTEN
        self._asked.append((lanes, places, data))

    def commit(self, lanes):
        kept = []
        for threads, places, data in self._asked:
            here = np.isin(threads, lanes)
            if here.any():
                self._groups.append((self._committed[threads[here]], threads[here], places[here], data[here]))
            if not here.all():
                kept.append((threads[~here], places[~here], data[~here]))
        self._asked = kept
        self._committed[lanes] += 1

    def wait(self, lanes, left):
        """For all groups of these threads but the last ones."""
        kept = []
        for numbers, threads, places, data in self._groups:
            here = np.isin(threads, lanes) & (numbers < self._committed[threads] - left)
            if here.any():
                at = self._require_untouched(places[here], data.shape[1])
                self._shared.note_write(places[here], data.shape[1], threads[here])
                self._shared.views[1][at] = data[here]
            if not here.all():
                kept.append((numbers[~here], threads[~here], places[~here], data[~here]))
        self._groups = kept

    def finish(self, lanes):
        """These threads end: what they have not waited for arrives at any time, but not where others write."""
        for _, threads, places, data in self._groups:
            here = np.isin(threads, lanes)
            if here.any():
                self._require_untouched(places[here], data.shape[1])

    def _require_untouched(self, places, size):
        at = places[:, None] + np.arange(size)
        if (self._shared.views[1][at] != UNWRITTEN).any():
            raise RaceError("memory of the block is written where a copy is still to arrive")
        return at


class Products:
    """What products of groups of warps read, until one waits for them: nothing else may be there by then."""

    def __init__(self, shared):
        self._shared = shared
        self._asked, self._groups = {}, {}

    def ask(self, thread, places, data):
        self._asked.setdefault(thread, []).append((places, data))

    def commit(self, lanes):
        self._groups.setdefault(int(lanes[0]), []).append(self._asked.pop(int(lanes[0]), []))

    def wait(self, lanes, left):
        groups = self._groups.get(int(lanes[0]), [])
        while len(groups) > left:
            for places, data in groups.pop(0):
                if (self._shared.views[1][places] != data).any():
                    raise RaceError("memory of the block is written over while a product reads it")
