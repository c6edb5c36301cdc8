"""Which plans are so short that the thread that asks for them may run them, where the device is a processor."""

from __future__ import annotations

from collections.abc import Sequence

from ...hlo import Module
from ..cpu.region_functions import most_pieces
from ..cpu.work_estimate import nanoseconds
from .kernel import ONE_THREAD
from .plan import Conditional, HostCall, Launch, Step, While, inside
from .target import Target


def is_short(target: Target, program: Module, steps: Sequence[Step]) -> bool:
    """Whether what a program does, in these steps, is not worth more than one thread of a processor.

    However long it takes where loops, branches or the host go by what is computed: this thread would wait for that in any case.
    """
    if target.processor is None:
        return False
    every = list(inside(steps))
    if not all((one.grid, one.block) == (ONE_THREAD.blocks, ONE_THREAD.threads) for one in every if isinstance(one, Launch)):
        return False
    return any(map(_waits, every)) or most_pieces(nanoseconds(program.entry)) == 1


def _waits(step: Step) -> bool:
    return isinstance(step, Conditional | HostCall) or (isinstance(step, While) and step.predicate is not None)
