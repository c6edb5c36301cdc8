"""Launches of one thread, with loops and branches over such, as one: for devices that are processors.

Before: ``launch a, 1 blocks of 1 threads``, ``launch b, 1 blocks of 1 threads``. After: ``launch ab, 1 blocks of 1 threads``, a
kernel that calls both. What one of them computes of small arrays takes less time than to launch it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from .frame import Frame
from .one_thread import in_one_thread, is_of_one_thread, uses_in, uses_in_plan
from .plan import Conditional, Copy, Fill, HostCall, Launch, Place, Step, While, inside

# What copies or fills more bytes, outside of loops, is left to the driver; kernels with more code are several.
_MOST_BYTES = 64 << 10
_MOST_LAUNCHES = 64
# A program that changes an argument copies it to a result first, or does not, where the caller gives it up (`given_up`).
_MOST_BYTES_OF_ARGUMENTS = 4 << 10


def in_fewer_launches(frame: Frame, steps: list[Step]) -> list[Step]:
    """The steps, those inside of loops and branches too."""
    return _in_fewer(frame, steps, uses_in_plan(frame, steps), in_loop=False)


def _in_fewer(frame: Frame, steps: list[Step], uses: Counter[Place], in_loop: bool) -> list[Step]:
    result: list[Step] = []
    run: list[Step] = []
    for unit in _units(frame, steps):
        if _is_part(frame, unit):
            if _launches([*run, *unit]) > _MOST_LAUNCHES:
                result += _as_one(frame, run, uses, in_loop)
                run = []
            run += unit
            continue
        result += _as_one(frame, run, uses, in_loop)
        run = []
        result += [_inside_of(frame, step, uses, in_loop) for step in unit]
    return [*result, *_as_one(frame, run, uses, in_loop)]


def _units(frame: Frame, steps: list[Step]) -> Iterator[list[Step]]:
    """The steps in order; those that name the same moving pointers, and what is between them, together, if they can be."""
    moving = [{place for place in uses_in([step]) if place.region == "moving"} for step in steps]
    last = {place: at for at, places in enumerate(moving) for place in places}
    begin = 0
    while begin < len(steps):
        end = at = begin
        while at <= end:
            end = max([end, *[last[place] for place in moving[at]]])
            at += 1
        unit = steps[begin:at]
        yield from [unit] if _is_part(frame, unit) else [[step] for step in unit]
        begin = at


def _inside_of(frame: Frame, step: Step, uses: Counter[Place], in_loop: bool) -> Step:
    """The step, with fewer launches inside of it."""
    if isinstance(step, While):
        step.body = _in_fewer(frame, step.body, uses, in_loop=True)
    elif isinstance(step, Conditional):
        step.branches = [_in_fewer(frame, branch, uses, in_loop) for branch in step.branches]
    return step


def _is_part(frame: Frame, unit: list[Step]) -> bool:
    """Whether these may be steps of one thread."""
    steps = list(inside(unit))
    if any(isinstance(one, HostCall) for one in steps) or any(map(_is_for_the_driver, unit)):
        return False
    return all(is_of_one_thread(frame, one) for one in steps if isinstance(one, Launch))


def _is_for_the_driver(step: Step) -> bool:
    if isinstance(step, Copy) and (step.source.region, step.target.region) == ("argument", "result"):
        return step.size > _MOST_BYTES_OF_ARGUMENTS
    return isinstance(step, Copy | Fill) and step.size > _MOST_BYTES


def _launches(steps: list[Step]) -> int:
    return sum(isinstance(step, Launch | Copy | Fill) for step in inside(steps))


def _as_one(frame: Frame, run: list[Step], uses: Counter[Place], in_loop: bool) -> list[Step]:
    """A run of steps as one launch; where that cannot be, what comes of the two halves."""
    if not any(isinstance(step, Launch) for step in inside(run)):
        return run
    if len(run) == 1 and isinstance(run[0], Launch):
        return run
    found = in_one_thread(frame, "together", run, uses, in_loop)
    if found is not None:
        return found
    if len(run) == 1:
        return [_inside_of(frame, run[0], uses, in_loop)]
    half = len(run) // 2
    return [*_as_one(frame, run[:half], uses, in_loop), *_as_one(frame, run[half:], uses, in_loop)]
