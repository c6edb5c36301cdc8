"""Loops over small arrays as one kernel of one block: what the body launches are phases of it, with barriers between them.

To launch a kernel takes as long as one block needs for some thousand elements. The kernels of loops are emitted as functions
that are told which thread and block they are (`kernel.Kernel.phase`); here each of them runs for all its blocks, some at once.
Inner loops and branches are the block's own. Where a loop cannot be one kernel, those inside of it may.
"""

from __future__ import annotations

from collections import Counter
from math import prod

from .frame import Frame
from .kernel import Grid, Kernel
from .one_thread import MOST_POINTERS, in_one_thread, is_of_one_thread, uses_in_plan
from .phase_writer import PhaseWriter, blocks_at_once
from .phases import MOST_THREADS, MOST_TURNS, is_phase
from .plan import Advance, Conditional, Copy, Fill, Launch, Place, Point, Step, While, inside, places_of
from .resumable_writer import ResumableWriter, begin, loops_to_leave, words_for
from .running_ahead import running_ahead
from .values import Loop

_MOST_BYTES_OF_ONE_THREAD = 256


def loops_in_kernels(frame: Frame, steps: list[Step]) -> list[Step]:
    """The steps with loops as kernels where that takes less time; of others rounds are launched, ahead where they can be."""
    return _loops_in_kernels(frame, steps, uses_in_plan(frame, steps), in_loop=False)


def _loops_in_kernels(frame: Frame, steps: list[Step], uses: Counter[Place], in_loop: bool) -> list[Step]:
    known = {id(loop.step): loop for loop in frame.loops}
    result: list[Step] = []
    rest = list(steps)
    while rest:
        step = rest.pop(0)
        if isinstance(step, Conditional):
            step.branches = [_loops_in_kernels(frame, branch, uses, in_loop) for branch in step.branches]
        if not isinstance(step, While) or id(step) not in known:
            result.append(step)
            continue
        loop = known[id(step)]
        kernels = None if frame.target.processor is not None else in_one_kernel(frame, loop, uses, in_loop)
        if kernels is not None:
            del rest[: len(loop.after)]
            if loop.before and result[-len(loop.before) :] == loop.before:  # which the kernel does itself
                del result[-len(loop.before) :]
            result += kernels
            continue
        step.body = _loops_in_kernels(frame, step.body, uses, in_loop=True)
        ahead = None if step.predicate is None else running_ahead(frame, step, loop.is_odd)
        result.append(ahead or step)
    return result


def in_one_kernel(frame: Frame, loop: Loop, uses: Counter[Place], in_loop: bool) -> list[Step] | None:
    """A loop with the steps before and after it as one kernel, which the host repeats as long as a byte says so.

    None where that would take longer, or cannot be: something of it is for the host, or needs another number of threads.
    """
    steps: list[Step] = [*loop.before, loop.step, *loop.after]
    phases = frame.kernels.phases
    launches = [step for step in inside(steps) if isinstance(step, Launch)]
    if not launches or not _is_for_one_block(frame, loop.step, launches):
        return None
    if all(is_of_one_thread(frame, launch) for launch in launches) and not _moves_much(steps):
        return in_one_thread(frame, "loop", steps, uses, in_loop, loop.source)
    threads = _threads(frame, launches)
    if threads is None:
        return None
    turns = [_turns(phases[launch.kernel], threads) for launch in launches]
    if sum(turns) > MOST_TURNS * len(turns):
        return None
    internal = {number for step in inside(steps) if isinstance(step, Point) for number in step.numbers}
    places = [place for place in places_of(steps) if place.region != "moving" or place.number not in internal]
    left = loops_to_leave(frame, steps)
    may_be_left = [inner for inner in left if inner is not loop.step or inner.predicate is None]
    words = None
    if may_be_left:
        count = words_for(frame, steps)
        if count is None:
            return None
        words = frame.words(count)
        places.append(words)
    if len(places) > MOST_POINTERS:
        return None

    def emit(kernel: Kernel) -> None:
        pointers = dict(zip(places, kernel.pointers))
        if words is None:
            PhaseWriter(frame, kernel, pointers).write(steps)
        else:
            ResumableWriter(frame, kernel, pointers, pointers[words]).write_all(steps)

    grid = Grid((1, 1, 1), (threads, 1, 1))
    phase = is_phase(frame.target, grid, in_loop, runs_ahead=False)
    name = frame.kernels.kernel("loop", object(), len(places), grid, emit, phase, overlap=True)
    launch = Launch(name, grid.blocks, grid.threads, tuple(places), source=loop.source)
    if words is not None:
        return [begin(words, count), launch, While([launch], words)]
    return [While([launch], loop.step.predicate) if left else launch]


def _is_for_one_block(frame: Frame, loop: While, launches: list[Launch]) -> bool:
    """Whether the device can run it all by itself, in the end."""
    known = frame.kernels.phases
    if any(launch.kernel not in known or launch.shared_bytes for launch in launches):
        return False
    if not all(isinstance(step, Launch | Copy | Fill | Point | Advance | While | Conditional) for step in inside(loop.body)):
        return False
    shared = sum(known[name].shared_bytes for name in {launch.kernel for launch in launches})
    return shared <= frame.target.shared_bytes


def _moves_much(steps: list[Step]) -> bool:
    """Whether something is copied or filled for which one thread takes long."""
    return any(isinstance(step, Copy | Fill) and step.size > _MOST_BYTES_OF_ONE_THREAD for step in inside(steps))


def _threads(frame: Frame, launches: list[Launch]) -> int | None:
    """How many threads the block has: those of the kernels that have barriers."""
    target, known = frame.target, [frame.kernels.phases[launch.kernel] for launch in launches]
    required = {prod(kernel.grid.threads) for kernel in known if kernel.has_barriers}
    if len(required) > 1:
        return None
    step = max(32, target.sub_group)
    wanted = max(prod(kernel.grid.blocks) * prod(kernel.grid.threads) for kernel in known)
    threads = next(iter(required), min(-(-wanted // step) * step, MOST_THREADS, target.threads))
    for kernel in known:
        own = prod(kernel.grid.threads)
        if own > threads or (own != 1 and own % target.sub_group):
            return None
    return threads


def _turns(kernel: Kernel, threads: int) -> int:
    return -(-prod(kernel.grid.blocks) // blocks_at_once(kernel, threads))
