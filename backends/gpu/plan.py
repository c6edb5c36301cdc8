"""The host plan: what the host asks of a device, in order, as data.

A program becomes kernels and such a plan. Where something lies is a `Place`; the kernels' arguments are addresses of places.

>>> print(Launch("add", (4, 1, 1), (256, 1, 1), (Place("argument", 0), Place("result", 0))))
launch add, 4 blocks of 256 threads: argument 0, result 0
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...hlo import Instruction
from .target import Dimensions


@dataclass(frozen=True, slots=True)
class Place:
    """Where an array begins: an ``argument`` or a ``result`` of this number, a byte of the ``constant`` or ``temporary``
    memory, or wherever the ``moving`` pointer of this number points. A kernel is also given a ``number`` that is one, no place.
    """

    region: str
    number: int

    def __str__(self) -> str:
        return f"{self.region} {self.number}"


@dataclass(frozen=True, slots=True)
class Launch:
    """Run a kernel. ``instruction`` is what it computes, or a part of it; None for scalars."""

    kernel: str
    grid: Dimensions
    block: Dimensions
    arguments: tuple[Place, ...]
    shared_bytes: int = 0
    source: object = None
    instruction: Instruction | None = None

    def __str__(self) -> str:
        shared = f", {self.shared_bytes} bytes in common" if self.shared_bytes else ""
        sizes = f"{_product(self.grid)} blocks of {_product(self.block)} threads"
        return f"launch {self.kernel}, {sizes}{shared}: {', '.join(map(str, self.arguments))}"


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy bytes that do not overlap."""

    target: Place
    source: Place
    size: int

    def __str__(self) -> str:
        return f"copy {self.size} bytes: {self.source} to {self.target}"


@dataclass(frozen=True, slots=True)
class Fill:
    """Make bytes this one, of memory that following kernels have for themselves."""

    target: Place
    byte: int
    size: int

    def __str__(self) -> str:
        return f"fill {self.size} bytes with {self.byte}: {self.target}"


@dataclass(frozen=True, slots=True)
class HostCall:
    """Let the host evaluate an instruction: its operands are read from places, its results written to places."""

    instruction: Instruction
    operands: tuple[Place, ...]
    results: tuple[Place, ...]

    def __str__(self) -> str:
        ends = f"{', '.join(map(str, self.operands))} to {', '.join(map(str, self.results))}"
        return f"call the host for {self.instruction.opcode}: {ends}"


@dataclass(frozen=True, slots=True)
class Point:
    """Let moving pointers point to places."""

    numbers: tuple[int, ...]
    places: tuple[Place, ...]

    def __str__(self) -> str:
        return f"point {', '.join(f'{number} to {place}' for number, place in zip(self.numbers, self.places))}"


@dataclass(frozen=True, slots=True)
class Advance:
    """Let moving pointers go on by so many bytes."""

    numbers: tuple[int, ...]
    size: int

    def __str__(self) -> str:
        return f"advance {', '.join(map(str, self.numbers))} by {self.size} bytes"


@dataclass(slots=True)
class While:
    """Run the body as long as the predicate, a byte, is not zero, ``most`` times, if that is known; or so many times.

    Where it ``runs_ahead``, rounds after the last do nothing: the body may be run an even number of times before the predicate
    is read. A pointer that it moves points to one of two places in turn: where the byte ``is_odd`` says that an odd number of
    rounds did something, the pointers are to be moved by ``last`` once more.
    """

    body: list[Step] = field(default_factory=list)
    predicate: Place | None = None
    trips: int | None = None
    runs_ahead: bool = False
    is_odd: Place | None = None
    last: Point | None = None
    most: int | None = None

    def __str__(self) -> str:
        if self.trips is not None:
            return f"{self.trips} times:"
        ahead = ", which is read some rounds ahead" if self.runs_ahead else ""
        after = f", then {self.last} where {self.is_odd}" if self.last is not None else ""
        return f"while {self.predicate}{ahead}{after}:"


@dataclass(slots=True)
class Conditional:
    """Run one of the branches: by a byte the first where it is not zero; by an i32 that of its number, or the last."""

    selector: Place
    is_predicate: bool
    branches: list[list[Step]]

    def __str__(self) -> str:
        return f"branch on {self.selector}:"


Step = Launch | Copy | Fill | HostCall | Point | Advance | While | Conditional


@dataclass(frozen=True)
class Plan:
    """What a program asks for. ``temporary_bytes`` of memory are its own; ``constants`` are written once, when it is loaded.

    ``moving`` is the number of pointers that move. One that ``is_short`` takes a processor no longer than it is worth to let
    another thread do it, or is waited for by this one in any case.
    """

    steps: list[Step]
    temporary_bytes: int
    constants: bytes
    moving: int
    is_short: bool = False

    def as_text(self) -> str:
        by_own_thread = ", by the thread that asks" if self.is_short else ""
        lines = [f"temporary: {self.temporary_bytes} bytes, constant: {len(self.constants)} bytes{by_own_thread}"]
        return "\n".join([*lines, *_lines(self.steps, "")]) + "\n"


def inside(steps: Sequence[Step]) -> Iterator[Step]:
    """The steps, and those inside of them."""
    for step in steps:
        yield step
        for inner in [step.body] if isinstance(step, While) else step.branches if isinstance(step, Conditional) else []:
            yield from inside(inner)


def places_of(steps: Sequence[Step]) -> list[Place]:
    """All places that the steps name."""
    return list(dict.fromkeys([place for step in inside(steps) for place in named(step)]))


def named(step: Step) -> tuple[Place, ...]:
    """The places that a step names itself, not those inside of it."""
    match step:
        case Launch():
            return step.arguments
        case Copy():
            return step.target, step.source
        case Fill():
            return (step.target,)
        case HostCall():
            return *step.operands, *step.results
        case Point():
            return step.places
        case While():
            read = [place for place in (step.predicate, step.is_odd) if place is not None]
            return *read, *(() if step.last is None else step.last.places)
        case Conditional():
            return (step.selector,)
        case Advance():
            return ()


def pointers(step: Step) -> tuple[Place, ...]:
    """The pointers that a step moves itself."""
    numbers = step.numbers if isinstance(step, Point | Advance) else ()
    return tuple([Place("moving", number) for number in numbers])


def _lines(steps: list[Step], indentation: str) -> Iterator[str]:
    for step in steps:
        yield f"{indentation}{step}"
        inner = [step.body] if isinstance(step, While) else step.branches if isinstance(step, Conditional) else []
        for number, steps_inside in enumerate(inner):
            if isinstance(step, Conditional):
                yield f"{indentation}  {number}:"
            yield from _lines(steps_inside, indentation + ("    " if isinstance(step, Conditional) else "  "))


def _product(sizes: Dimensions) -> int:
    return sizes[0] * sizes[1] * sizes[2]
