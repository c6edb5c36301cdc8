"""Instructions by which threads of a warp read what others have.

Source: NVIDIA's "PTX ISA" 8.1, "shfl.sync", "vote.sync".
"""

from __future__ import annotations

import numpy as np

_OF_NOBODY = np.uint32(0xA5A5A5A5)  # what is read of a thread that is not there


def shuffle(mode):
    """Threads read the register of another one, and whether that is inside of the segment; their own one if not."""

    def run(running, value, amount, limit):
        values = running.by_warp(value, _OF_NOBODY)
        lane = np.arange(32)
        amount, limit = (running.by_warp(one, 0).astype(np.int64) for one in (amount, limit))
        clamp, segment = limit & 31, limit >> 8 & 31
        least, most = lane & segment, (lane & segment) | (clamp & ~segment)
        amount = amount & 31
        source = {"up": lane - amount, "down": lane + amount, "bfly": lane ^ amount, "idx": least | (amount & ~segment)}[mode]
        inside = source >= most if mode == "up" else source <= most
        source = np.where(inside, source, lane)
        found = np.take_along_axis(values, source, axis=1)
        return running.from_warp(found), running.from_warp(inside)

    return run


def vote(mode):
    def run(running, condition):
        here = running.by_warp(np.ones(1, bool), False)
        conditions = running.by_warp(condition, False) & here
        if mode == "ballot":
            found = (
                (conditions.astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(axis=1, dtype=np.uint64).astype(np.uint32)
            )
        elif mode == "any":
            found = conditions.any(axis=1)
        elif mode == "all":
            found = (conditions | ~here).all(axis=1)
        else:
            found = (conditions | ~here).all(axis=1) | ~conditions.any(axis=1)
        return running.from_warp(np.broadcast_to(found[:, None], here.shape))

    return run
