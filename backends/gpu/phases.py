"""Which kernels may be phases of one that runs a whole loop (`persistent`), or several of them (`fewer_launches`)."""

from __future__ import annotations

from math import prod

from .kernel import Grid
from .target import Target

# A phase takes turns where it has more threads than the block. So many, on average, take less time than a launch.
MOST_TURNS = 4
MOST_THREADS = 512  # more would have few registers each
_BESIDE_OTHERS = 4  # as many times the average


def is_small(target: Target, grid: Grid) -> bool:
    """Whether one block runs through a kernel in a time that others of its loop may make up for."""
    return prod(grid.blocks) * prod(grid.threads) <= _BESIDE_OTHERS * MOST_TURNS * min(MOST_THREADS, target.threads)
