"""Kernels of one thread that follow each other as one, on devices that are processors: to launch one takes some microseconds.

Before: a program over small arrays as a launch for each region. After: one launch, in which the regions follow each other, as
they do in a function of the CPU backend.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from .frame import Frame
from .kernel import ONE_THREAD, Grid, Kernel
from .persistent import MOST_POINTERS, PhaseWriter, places_of
from .phases import has_one_thread
from .plan import Conditional, Launch, Step, While

# LLVM takes more than linear time for long functions.
_MOST_LAUNCHES = 16


def joined(frame: Frame, steps: list[Step]) -> list[Step]:
    """The steps, also those of loops and branches, with such launches joined. Those of loops that run ahead have guards."""
    found: list[Step] = []
    for can_join, run in groupby(steps, lambda step: _can_join(frame, step)):
        if can_join:
            for launches in _groups(frame, list(run)):
                found.append(_one_kernel(frame, launches) if len(launches) > 1 else launches[0])
            continue
        for step in run:
            if isinstance(step, While):
                step.body = joined(frame, step.body)
            elif isinstance(step, Conditional):
                step.branches = [joined(frame, branch) for branch in step.branches]
            found.append(step)
    return found


def _can_join(frame: Frame, step: Step) -> bool:
    return isinstance(step, Launch) and step.kernel in frame.kernels.phases and has_one_thread(Grid(step.grid, step.block))


def _groups(frame: Frame, launches: list[Launch]) -> Iterator[list[Launch]]:
    """As many of them at a time as one kernel holds."""
    group: list[Launch] = []
    for launch in launches:
        longer = [*group, launch]
        kernels = {frame.kernels.phases[one.kernel] for one in longer}
        shared = sum(kernel.shared_bytes for kernel in kernels)
        fits = len(longer) <= _MOST_LAUNCHES and len(places_of(longer)) <= MOST_POINTERS
        if group and not (fits and shared <= frame.target.shared_bytes):
            yield group
            longer = [launch]
        group = longer
    yield group


def _one_kernel(frame: Frame, launches: list[Launch]) -> Launch:
    places = places_of(launches)

    def emit(kernel: Kernel) -> None:
        PhaseWriter(frame, kernel, dict(zip(places, kernel.arguments))).write(launches)

    numbers = {place: number for number, place in enumerate(places)}
    key = tuple([(launch.kernel, *[numbers[place] for place in launch.arguments]) for launch in launches])
    name = frame.kernels.kernel("steps", key, len(places), ONE_THREAD, emit, overlap=True)
    source = next((launch.source for launch in launches if launch.source is not None), None)
    return Launch(name, ONE_THREAD.blocks, ONE_THREAD.threads, tuple(places), source=source)
