"""Launches of one thread, one behind the other, as one: for devices that are processors.

Before: ``launch a, 1 blocks of 1 threads``, ``launch b, 1 blocks of 1 threads``. After: ``launch ab, 1 blocks of 1 threads``, a
kernel that calls both. What one of them computes of small arrays takes less time than to launch it.
"""

from __future__ import annotations

from .frame import Frame
from .kernel import ONE_THREAD, Kernel
from .persistent import MOST_POINTERS, PhaseWriter
from .plan import Conditional, Copy, Fill, Launch, Place, Step, While, places_of

# What copies or fills more bytes is left to the driver; kernels with more code are several.
_MOST_BYTES = 4 << 10
_MOST_LAUNCHES = 64


def in_fewer_launches(frame: Frame, steps: list[Step]) -> list[Step]:
    """The steps, those inside of loops and branches too."""
    result: list[Step] = []
    run: list[Launch | Copy | Fill] = []
    for step in steps:
        if _is_part(frame, step):
            if not _fits(frame, [*run, step]):
                result += _as_one(frame, run)
                run = []
            run.append(step)
            continue
        result += _as_one(frame, run)
        run = []
        if isinstance(step, While) and not step.runs_ahead:
            step.body = in_fewer_launches(frame, step.body)
        elif isinstance(step, Conditional):
            step.branches = [in_fewer_launches(frame, branch) for branch in step.branches]
        result.append(step)
    return [*result, *_as_one(frame, run)]


def _is_part(frame: Frame, step: Step) -> bool:
    if isinstance(step, Copy | Fill):
        return step.size <= _MOST_BYTES
    if not isinstance(step, Launch) or (step.grid, step.block) != (ONE_THREAD.blocks, ONE_THREAD.threads):
        return False
    return step.kernel in frame.kernels.phases and not step.shared_bytes


def _fits(frame: Frame, run: list[Launch | Copy | Fill]) -> bool:
    kernels = {step.kernel for step in run if isinstance(step, Launch)}
    shared = sum(frame.kernels.phases[kernel].shared_bytes for kernel in kernels)
    return len(run) <= _MOST_LAUNCHES and len(places_of(run)) <= MOST_POINTERS and shared <= frame.target.shared_bytes


def _as_one(frame: Frame, run: list[Launch | Copy | Fill]) -> list[Step]:
    launches = [step for step in run if isinstance(step, Launch)]
    if len(run) < 2 or not launches:
        return list(run)
    places = places_of(run)
    numbers = {place: number for number, place in enumerate(places)}
    key = tuple([_form(step, numbers) for step in run]), tuple([place in frame.slots for place in places])

    def emit(kernel: Kernel) -> None:
        kernel.are_apart([number for number, place in enumerate(places) if place in frame.slots])
        PhaseWriter(frame, kernel, dict(zip(places, kernel.arguments))).write(list(run))

    name = frame.kernels.kernel("together", key, len(places), ONE_THREAD, emit, overlap=True)
    first = launches[0]
    return [Launch(name, ONE_THREAD.blocks, ONE_THREAD.threads, tuple(places), 0, first.source, first.instruction)]


def _form(step: Launch | Copy | Fill, numbers: dict[Place, int]) -> tuple[object, ...]:
    """The same for steps that do the same to places of these numbers."""
    if isinstance(step, Copy):
        return "copy", numbers[step.source], numbers[step.target], step.size
    if isinstance(step, Fill):
        return "fill", numbers[step.target], step.byte, step.size
    return step.kernel, *[numbers[place] for place in step.arguments]
