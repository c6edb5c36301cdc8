"""Which plans are so short that the thread that asks for them may run them, where the device is a processor."""

from __future__ import annotations

from collections.abc import Sequence

from ...hlo import Module
from ..cpu.work_estimate import nanoseconds
from .kernel import ONE_THREAD
from .plan import Conditional, HostCall, Launch, Step, While, inside
from .target import Target

# To wake another thread, once a step, and to wait for it, takes some tens of microseconds.
_NANOSECONDS_OF_OTHERS = 200_000


def is_short(target: Target, program: Module, steps: Sequence[Step]) -> bool:
    """Whether what a program does, in these steps, keeps no more than one thread of a processor busy, and not for long.

    However long it takes where loops, branches or the host go by what is computed: this thread would wait for that in any case.
    """
    if target.processor is None:
        return False
    every = list(inside(steps))
    if not all((one.grid, one.block) == (ONE_THREAD.blocks, ONE_THREAD.threads) for one in every if isinstance(one, Launch)):
        return False
    return any(map(waits, every)) or nanoseconds(program.entry) < _NANOSECONDS_OF_OTHERS


def waits(step: Step) -> bool:
    """Whether the host goes by what is computed, or evaluates something."""
    return isinstance(step, Conditional | HostCall) or (isinstance(step, While) and step.predicate is not None)
