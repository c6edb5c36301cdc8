"""Which plans the thread that asks for them may run, where the device is a processor, and which it had better."""

from __future__ import annotations

from collections.abc import Sequence

from ...hlo import Module
from ..cpu.work_estimate import CONTRACTIONS, nanoseconds
from .plan import Conditional, HostCall, Launch, Step, While, inside
from .target import Target

# To wake another thread, once a step, and to wait for it, takes some tens of microseconds.
NANOSECONDS_OF_OTHERS = 200_000
# A program that takes less is not divided; the estimate of anything but products is about twice what it takes.
_LEAST_NANOSECONDS, _LEAST_NANOSECONDS_WITHOUT_PRODUCTS = 60_000, 100_000


def is_soon_done(program: Module) -> bool:
    """Whether one thread has done what a program does before others would have woken, so that no part of it is for these."""
    has_products = any(one.opcode in CONTRACTIONS for part in program.computations() for one in part.instructions)
    return nanoseconds(program.entry) < (_LEAST_NANOSECONDS if has_products else _LEAST_NANOSECONDS_WITHOUT_PRODUCTS)


def has_blocks_of_one_thread(steps: Sequence[Step]) -> bool:
    """Whether threads may share the blocks of each launch among them, whatever of these they run."""
    launches = [step for step in inside(steps) if isinstance(step, Launch)]
    return all((*one.grid[1:], *one.block) == (1, 1, 1, 1, 1) for one in launches)


def is_short(target: Target, program: Module, steps: Sequence[Step]) -> bool:
    """Whether what a program does, in these steps, keeps the threads of a processor busy, and not for long.

    However long it takes where loops, branches or the host go by what is computed: this thread would wait for that in any case.
    """
    if target.processor is None or not has_blocks_of_one_thread(steps):
        return False
    return any(map(waits, inside(steps))) or nanoseconds(program.entry) < NANOSECONDS_OF_OTHERS


def waits(step: Step) -> bool:
    """Whether the host goes by what is computed, or evaluates something."""
    return isinstance(step, Conditional | HostCall) or (isinstance(step, While) and step.predicate is not None)
