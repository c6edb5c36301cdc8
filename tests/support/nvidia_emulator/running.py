"""Threads that go on together: what functions of blocks of code ask about them, and copies and products that are under way."""

from __future__ import annotations

import numpy as np
from access_log import RaceError
from emulated_library import UNWRITTEN

from .code import GROUP


class Running:
    """``lanes`` are threads, by their places in the registers' arrays, in order; ``blocks`` those that they belong to."""

    def __init__(self, launch, lanes, is_all):
        self._launch, self.lanes, self._is_all = launch, lanes, is_all
        self.count, self.memories = lanes.size, launch.memories
        self._blocks = self._stamps = self._rows = None

    @property
    def blocks(self):
        if self._blocks is None:
            self._blocks = self._launch.block_of if self._is_all else self._launch.block_of[self.lanes]
        return self._blocks

    @property
    def stamps(self):
        """Threads and intervals between barriers, for what is known of accesses."""
        if self._stamps is None:
            self._stamps = self._launch.stamps(self.lanes)
        return self._stamps

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
        self._launch.copies.ask(self.lanes, self.stamps, places, data)

    def commit_copies(self):
        self._launch.copies.commit(self.lanes)

    def wait_for_copies(self, left):
        self._launch.copies.wait(self.lanes, left)

    def show_to_products(self):
        self.memories["shared"].show_to_products(self.lanes)

    def note_product(self, first, places):
        """A product of the group of warps that begins with this thread reads these bytes."""
        units = self.memories["shared"].note_product(places, self.stamps[first : first + 1])
        self._launch.products.ask(int(self.lanes[first]), units)

    def commit_products(self):
        self._launch.products.commit(self.lanes)

    def wait_for_products(self, left):
        self._launch.products.wait(self.lanes, left)


class Copies:
    """Copies to the memory of blocks: they arrive when the threads that have asked for them wait for them."""

    def __init__(self, launch):
        self._launch, self._shared = launch, launch.memories["shared"]
        self._asked = []  # threads, places, bytes, of what is in no group yet
        self._groups = []  # number of the group of each thread, threads, places, bytes
        self._committed = np.zeros(launch.count, np.int64)

    def ask(self, lanes, stamps, places, data):
        size = data.shape[1]
        self._shared.note_write(places, size, stamps, lanes)
        for at in self._shared.units(places, size):
            self._shared.in_flight.begin(at)
        self._shared.views[1][places[:, None] + np.arange(size)] = UNWRITTEN
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
                size = data.shape[1]
                for at in self._shared.units(places[here], size):
                    self._shared.in_flight.end(at)
                self._shared.note_write(places[here], size, self._launch.stamps(threads[here]), threads[here])
                self._shared.views[1][places[here][:, None] + np.arange(size)] = data[here]
            if not here.all():
                kept.append((numbers[~here], threads[~here], places[~here], data[~here]))
        self._groups = kept


class Products:
    """What products of groups of warps read, until one waits for them: nothing else may be there by then."""

    def __init__(self, shared):
        self._shared = shared
        self._asked, self._groups = {}, {}

    def ask(self, thread, units):
        self._asked.setdefault(thread, []).append(units)

    def commit(self, lanes):
        for first in lanes[::GROUP]:
            self._groups.setdefault(int(first), []).append(self._asked.pop(int(first), []))

    def wait(self, lanes, left):
        for first in lanes[::GROUP]:
            groups = self._groups.get(int(first), [])
            while len(groups) > left:
                for units in groups.pop(0):
                    self._shared.multiplied.end(units)
