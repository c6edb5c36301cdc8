"""Which kernels may be phases of one that runs a whole loop (`persistent`), or several of them (`fewer_launches`)."""

from __future__ import annotations

from math import prod

from .kernel import ONE_THREAD, Grid
from .target import Target

# A phase takes turns where it has more threads than the block. So many, on average, take less time than a launch.
MOST_TURNS = 4
MOST_THREADS = 512  # more would have few registers each
_BESIDE_OTHERS = 4  # as many times the average
# Of most kernels with barriers. All phases of a kernel that have some are to have as many threads.
USUAL_THREADS = 256


def is_small(target: Target, grid: Grid) -> bool:
    """Whether one block runs through a kernel in a time that others of its loop may make up for."""
    return prod(grid.blocks) * prod(grid.threads) <= _BESIDE_OTHERS * MOST_TURNS * min(MOST_THREADS, target.threads)


def is_phase(target: Target, grid: Grid, in_loop: bool, runs_ahead: bool) -> bool:
    """Whether a kernel is emitted as a function that others can call; ``runs_ahead`` is that of the loop that it is in."""
    if target.processor is not None and grid == ONE_THREAD:
        return True
    return in_loop and (runs_ahead or is_small(target, grid))
