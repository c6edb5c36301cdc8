"""Waves that are at the same instruction: their registers, of all lanes at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from access_log import of_several, stamps_of

VCC, M0_CDNA, M0_RDNA, EXEC = 106, 124, 125, 126
NULL = 124  # of RDNA, where waves have 32 lanes: always 0
_REGISTERS = 128  # scalar ones, with those that have names


@dataclass
class Memories:
    """What waves read and write: the device's memory, that of each block, and of each lane.

    ``intervals`` is that between barriers in which each block is, and ``waves_of_block`` how many each has.
    """

    device: object
    shared: object
    private: object
    intervals: np.ndarray
    waves_of_block: int


class Waves:
    """Waves that are at the same instruction.

    ``vector`` are registers of 32 bits by number, wave and lane; ``scalar`` by number and wave, with a last dimension of 1, so
    that they meet vectors. ``condition`` is SCC. ``numbers`` are the waves' in the launch, ``blocks`` those of their blocks.
    """

    def __init__(self, vector, scalar, condition, numbers, blocks, memories):
        self.vector, self.scalar, self.condition = vector, scalar, condition
        self.numbers, self.blocks, self.memories = numbers, blocks, memories
        self._active = None
        self.at, self.turn = 0, 0

    @property
    def lanes(self):
        return self.vector.shape[2]

    @property
    def shape(self):
        return self.vector.shape[1:]

    def active(self):
        """Which lanes are, by wave and lane; True if all are."""
        if self._active is None:
            mask = self.mask(EXEC)
            self._active = True if mask.all() else mask
        return self._active

    def active_lanes(self):
        active = self.active()
        return np.ones(self.shape, bool) if active is True else active

    def mask(self, register):
        """Scalar registers as a bit for each lane."""
        bits = self.scalar[register]
        if self.lanes == 64:
            bits = np.concatenate([bits, self.scalar[register + 1]], axis=1)
        return np.unpackbits(np.ascontiguousarray(bits).view(np.uint8), axis=1, bitorder="little").view(bool)

    def set_mask(self, register, mask):
        bits = np.packbits(np.broadcast_to(mask, self.shape), axis=1, bitorder="little").view(np.uint32)
        self.scalar[register] = bits[:, :1]
        if self.lanes == 64:
            self.scalar[register + 1] = bits[:, 1:]
        self.changed(register)

    def changed(self, register):
        """A scalar register was written."""
        if register in (EXEC, EXEC + 1):
            self._active = None
        elif register == NULL and self.lanes == 32:
            self.scalar[NULL] = 0

    def set_vector(self, register, value):
        """Write 32 bits of active lanes."""
        active = self.active()
        if active is True:
            self.vector[register] = value
        else:
            np.copyto(self.vector[register], value, where=active)

    def stamps(self, lanes):
        """These lanes, indices of waves and lanes, as threads of blocks in their intervals.

        Those of a wave that is a block's only one are in order without barriers, which LLVM leaves out there: they are one.
        """
        waves, inside = lanes
        of_block = self.memories.waves_of_block
        threads = self.numbers[waves] % of_block * self.lanes + inside if of_block > 1 else 0
        return stamps_of(self.memories.intervals[self.blocks[waves]], threads)

    def stamps_of_waves(self):
        """Likewise what a wave does for all of its lanes that are active."""
        active = self.active_lanes()
        stamps = self.stamps((np.arange(self.shape[0]), np.argmax(active, axis=1)))
        is_one = np.add.reduce(active, axis=1) <= 1
        return stamps if self.memories.waves_of_block == 1 else np.where(is_one, stamps, of_several(stamps))

    def part(self, which):
        """Some of the waves, as ones of their own."""
        return Waves(
            self.vector[:, which], self.scalar[:, which], self.condition[which], self.numbers[which], self.blocks[which],
            self.memories,
        )  # fmt: skip


def joined(parts):
    """Waves that have come to the same instruction."""
    if len(parts) == 1:
        return parts[0]
    return Waves(
        np.concatenate([one.vector for one in parts], axis=1),
        np.concatenate([one.scalar for one in parts], axis=1),
        np.concatenate([one.condition for one in parts]),
        np.concatenate([one.numbers for one in parts]),
        np.concatenate([one.blocks for one in parts]),
        parts[0].memories,
    )


def initial_waves(count, lanes, vectors, numbers, blocks, memories):
    """Waves whose registers hold what no one has written."""
    vector = np.full((vectors, count, lanes), 0xFFA5A5A5, np.uint32)
    scalar = np.full((_REGISTERS, count, 1), 0xA5A5A5A5, np.uint32)
    return Waves(vector, scalar, np.zeros((count, 1), bool), numbers, blocks, memories)
