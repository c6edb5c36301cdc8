"""Which plans are so short that the thread that asks for them may run them, where the device is a processor."""

from __future__ import annotations

from collections.abc import Sequence

from ...hlo import Module
from ..cpu.region_functions import most_pieces
from ..cpu.work_estimate import nanoseconds
from .kernel import ONE_THREAD
from .plan import Copy, Fill, HostCall, Launch, Step
from .target import Target


def is_short(target: Target, program: Module, steps: Sequence[Step]) -> bool:
    """Whether what a program does, in these steps, is not worth more than one thread of a processor."""
    if target.processor is None or most_pieces(nanoseconds(program.entry)) > 1:
        return False
    return all(isinstance(step, Copy | Fill | HostCall) or _has_one_thread(step) for step in steps)


def _has_one_thread(step: Step) -> bool:
    return isinstance(step, Launch) and (step.grid, step.block) == (ONE_THREAD.blocks, ONE_THREAD.threads)
