"""Steps of a plan as one kernel of one thread, which keeps to itself the scalars that nothing else needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from ..llvm.types import I8, I64
from .frame import Frame
from .kernel import ONE_THREAD, Kernel
from .own_scalars import OwnScalars
from .phase_writer import PhaseWriter
from .plan import Copy, Fill, Launch, Place, Step, While, inside, named, places_of, pointers
from .resumable_writer import ResumableWriter, begin, loops_to_leave, words_for

MOST_POINTERS = 128
_MANY_POINTERS = 16  # each of which takes a driver some time


def uses_in(steps: Sequence[Step]) -> Counter[Place]:
    """How many steps name a place, or move a pointer."""
    return Counter(place for step in inside(steps) for place in {*named(step), *pointers(step)})


def uses_in_plan(frame: Frame, steps: Sequence[Step]) -> Counter[Place]:
    """Those of all steps, and what loops that run ahead are going to read besides."""
    return uses_in(steps) + Counter([loop.is_odd for loop in frame.loops if loop.is_odd is not None])


def is_of_one_thread(frame: Frame, launch: Launch) -> bool:
    """Whether another kernel of one thread can call this one."""
    is_one = (launch.grid, launch.block) == (ONE_THREAD.blocks, ONE_THREAD.threads)
    return is_one and launch.kernel in frame.kernels.phases and not launch.shared_bytes


def in_one_thread(
    frame: Frame, name: str, steps: list[Step], uses: Counter[Place], phase: bool, source: object = None
) -> list[Step] | None:
    """One launch that does what these steps do, which the host repeats as long as a byte says so where it may take long.

    uses: those in the plan. None where a kernel cannot have so much, or would move pointers that others use.
    """
    phases, inner = frame.kernels.phases, uses_in(steps)
    moved = {place for step in inside(steps) for place in pointers(step)}
    if any(inner[place] != uses[place] for place in moved):
        return None
    places = [place for place in places_of(steps) if place not in moved]
    own = {place: frame.slots[place] for place in places if place in frame.slots}
    shared = [place for place in places if place not in own or inner[place] != uses[place]]
    bases = _bases(shared)
    given = list(dict.fromkeys([bases.get(place, place) for place in shared]))
    may_be_left = bool(loops_to_leave(frame, steps))
    if may_be_left:
        count = words_for(frame, steps, len(own))
        if count is None:
            return None
        given.append(frame.words(count))  # last
    kernels = {step.kernel for step in inside(steps) if isinstance(step, Launch)}
    shared_bytes = sum(phases[kernel].shared_bytes for kernel in kernels)
    if len(given) > MOST_POINTERS or shared_bytes > frame.target.shared_bytes:
        return None

    def emit(kernel: Kernel) -> None:
        b, pointers = kernel.builder, dict(zip(given, kernel.pointers))
        where = {
            place: b.gep(pointers[bases[place]], [I64(place.number)], source_etype=I8) if place in bases else pointers[place]
            for place in shared
        }
        scalars = OwnScalars(b, own, {place: where[place] for place in own if place in where})
        if may_be_left:
            ResumableWriter(frame, kernel, where | scalars.pointers, kernel.pointers[-1], scalars).write_all(steps)
            return
        scalars.fetch()
        PhaseWriter(frame, kernel, where | scalars.pointers, scalars).write(steps)
        scalars.hand_on()

    key = _key(steps, places, [(place in own, place in shared, place.number if place in bases else -1) for place in places])
    kernel = frame.kernels.kernel(name, key, len(given), ONE_THREAD, emit, phase and not may_be_left, overlap=True)
    launches = [step for step in inside(steps) if isinstance(step, Launch)]
    source, instruction = (launches[0].source, launches[0].instruction) if source is None else (source, None)
    launch = Launch(kernel, ONE_THREAD.blocks, ONE_THREAD.threads, tuple(given), 0, source, instruction)
    if not may_be_left:
        return [launch]
    # Processors need not be waited for, to read a byte.
    first = [begin(given[-1], count), *([launch] if frame.target.processor is None else [])]
    return [*first, While([launch], given[-1])]


def _bases(places: Sequence[Place]) -> dict[Place, Place]:
    """Where the memory begins in which places lie, if a launch would be given many of these."""
    if len(places) <= _MANY_POINTERS:
        return {}
    return {place: Place(place.region, 0) for place in places if place.region in ("temporary", "constant")}


def _key(steps: Sequence[Step], places: Sequence[Place], kinds: Sequence[Hashable]) -> Hashable:
    """The same for steps that do the same to places of such kinds."""
    numbers = {place: number for number, place in enumerate(places)}
    forms: list[Hashable] = []
    for step in steps:
        match step:
            case Launch():
                forms.append((step.kernel, *[numbers[place] for place in step.arguments]))
            case Copy():
                forms.append(("copy", numbers[step.source], numbers[step.target], step.size))
            case Fill():
                forms.append(("fill", numbers[step.target], step.byte, step.size))
            case _:
                return object()
    return tuple(forms), tuple(kinds)
