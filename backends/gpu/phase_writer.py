"""Steps of a plan as code of one block: what they launch are phases, with barriers between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import prod

from llvmlite import ir

from ..llvm.arrays import Array
from ..llvm.branches import chosen
from ..llvm.elemental import Binding
from ..llvm.known_ranges import Rounds, known_rounds
from ..llvm.loops import carried_loop, while_loop
from ..llvm.memory import copy_apart, fill_memory
from ..llvm.scalar_computations import constant_value
from ..llvm.types import I8, I32, I64
from .frame import Frame
from .kernel import Kernel
from .launches_together import Asked
from .own_scalars import KeptScalar, OwnScalars
from .plan import Advance, Conditional, Copy, Fill, Launch, Place, Point, Step, While, inside
from .values import Known, Leaf, Stored


def blocks_at_once(kernel: Kernel, threads: int) -> int:
    """How many blocks of a phase the block runs at once."""
    return 1 if kernel.has_barriers or kernel.shared_bytes else threads // prod(kernel.grid.threads)


# Phases that run before the host is asked, where their number is known, and cannot be interrupted: they take some tenths of a
# second on a GPU. On processors phases count by the time that they take, and these are less than a tenth of a second.
_MOST_PHASES, _MOST_PHASES_OF_PROCESSORS = 1 << 17, 1 << 24


def phase_count(frame: Frame, steps: Sequence[Step]) -> int:
    """How many phases run, at most, until the host is asked; of loops that may take any number of rounds, those of one."""
    total = 0
    for step in steps:
        if isinstance(step, While):
            total += phase_count(frame, step.body) * (1 if step.most is None else step.most)
        elif isinstance(step, Conditional):
            total += 1 + max([phase_count(frame, branch) for branch in step.branches])
        elif isinstance(step, Launch):
            total += frame.kernels.work.get(step.kernel, 1)
        else:
            total += isinstance(step, Copy | Fill)
    return total


def is_over_soon(frame: Frame, loop: While) -> bool:
    """Whether it is known that a loop does not take so long that the host has to be asked."""
    if any(isinstance(step, While) and step.most is None for step in inside([loop])):
        return False
    most = _MOST_PHASES if frame.target.processor is None else _MOST_PHASES_OF_PROCESSORS
    return phase_count(frame, [loop]) <= most


def moved(steps: list[Step]) -> list[Place]:
    """The pointers that steps move."""
    numbers = [number for step in inside(steps) if isinstance(step, Point | Advance) for number in step.numbers]
    return [Place("moving", number) for number in dict.fromkeys(numbers)]


@dataclass
class PhaseWriter:
    """Writes the steps of a plan as code of one block. ``pointers`` are where places are at this point of the code.

    What computes ``scalars`` that one thread has for itself is written where it is run: what is known of a number, as between
    which others it lies, is known where it is used. ``registers`` are those that hold scalars at this point of the code.
    """

    frame: Frame
    kernel: Kernel
    pointers: dict[Place, ir.Value]
    scalars: OwnScalars | None = None
    registers: dict[Place, ir.Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.b = self.kernel.builder
        self.thread = self.kernel.thread()
        self.threads = prod(self.kernel.grid.threads)
        self.loops = {id(loop.step): loop for loop in self.frame.loops}

    def write(self, steps: list[Step]) -> None:
        for step in steps:
            match step:
                case Launch():
                    asked = None if self.scalars is None else self.frame.asked_for(step)
                    if asked is None:
                        self.phase(step)
                        self.forget(step.arguments)
                    else:
                        self.here(asked)
                case Copy():
                    self.copy(step)
                    self.forget([step.target])
                case Fill():
                    self.fill(step)
                    self.forget([step.target])
                case Point():
                    pointers = [self.pointers[place] for place in step.places]
                    self.pointers |= {Place("moving", number): pointer for number, pointer in zip(step.numbers, pointers)}
                case Advance():
                    for number in step.numbers:
                        place = Place("moving", number)
                        self.pointers[place] = self.behind(self.pointers[place], I64(step.size))
                case While():
                    counter = self.counter(step)
                    with self.changing([step]):
                        self.loop(step, counter)
                case Conditional():
                    with self.changing([step]):
                        self.branch(step)

    # --- scalars in registers ---

    def here(self, asked: Asked) -> None:
        """What computes scalars, with its results in registers."""
        assert self.scalars is not None
        outputs = [
            KeptScalar(self.pointers[one.place], one.shape, place=one.place, registers=self.registers)
            if one.place in self.scalars.shapes
            else Array(self.pointers[one.place], one.shape)
            for one in asked.outputs
        ]
        asked.emit(self.kernel, [self.binding(one) for one in asked.inputs], outputs)

    def binding(self, leaf: Leaf) -> Binding:
        if isinstance(leaf, Known):
            return constant_value(self.b, leaf.instruction, 1)
        assert leaf is not None
        array = Array(self.pointers[leaf.place], leaf.shape)
        if leaf.shape.rank:
            return array
        return self.registers[leaf.place] if leaf.place in self.registers else array.load(self.b, (), 1)

    def counter(self, loop: While) -> tuple[Rounds, Stored] | None:
        """How a loop counts, and where; None where that is not known, or the counter is no scalar of this thread's."""
        if self.scalars is None or id(loop) not in self.loops:
            return None
        known = self.loops[id(loop)]
        rounds = known_rounds(known.instruction, list(map(self.register, known.state)))
        counter = None if rounds is None else known.state[rounds.index]
        return (rounds, counter) if isinstance(counter, Stored) and counter.place in self.scalars.shapes else None

    def register(self, leaf: Leaf) -> ir.Value | None:
        """The register of a scalar, if it is in one."""
        if isinstance(leaf, Known):
            return constant_value(self.b, leaf.instruction, 1)
        return None if leaf is None else self.registers.get(leaf.place)

    def note(self, counter: tuple[Rounds, Stored] | None) -> None:
        """A round of the loop begins that counts so."""
        if counter is not None:
            rounds, stored = counter
            self.registers[stored.place] = Array(self.pointers[stored.place], stored.shape).load(self.b, (), 1)
            rounds.note(self.registers[stored.place])

    def forget(self, places: Iterable[Place]) -> None:
        for place in places:
            self.registers.pop(place, None)

    @contextmanager
    def changing(self, steps: Sequence[Step]) -> Iterator[None]:
        """Write these steps, which may run any number of times."""
        for step in inside(steps) if self.scalars is not None else ():
            match step:
                case Launch():
                    asked = self.frame.asked_for(step)
                    self.forget(step.arguments if asked is None else [one.place for one in asked.outputs])
                case Copy() | Fill():
                    self.forget([step.target])
        before = dict(self.registers)
        yield
        self.registers.clear()
        self.registers.update(before)

    # --- steps ---

    def phase(self, launch: Launch) -> None:
        """All blocks of a kernel."""
        b, kernel = self.b, self.frame.kernels.phases[launch.kernel]
        blocks, threads = prod(kernel.grid.blocks), prod(kernel.grid.threads)
        at_once = blocks_at_once(kernel, self.threads)
        pointers = [self.pointers[place] for place in launch.arguments]
        first, own = I32(0), self.thread
        if at_once > 1 or threads < self.threads:
            first, own = b.udiv(self.thread, I32(threads)), b.urem(self.thread, I32(threads))

        # What loops carry is in registers where the driver's compiler sees all that uses it.
        attributes = ("alwaysinline",) if self.threads == 1 else ()

        def turn(number: ir.Value) -> None:
            block = b.add(b.mul(number, I32(at_once)), first)
            indices = [*_split(b, own, kernel.grid.threads), *_split(b, block, kernel.grid.blocks)]
            if at_once * threads == self.threads and blocks % at_once == 0:
                b.call(kernel.phase, [*pointers, *indices], attrs=attributes)
            else:
                is_one = b.icmp_unsigned("<", block, I32(blocks))
                if at_once * threads != self.threads:
                    is_one = b.and_(is_one, b.icmp_unsigned("<", first, I32(at_once)))
                with b.if_then(is_one):
                    b.call(kernel.phase, [*pointers, *indices], attrs=attributes)
            if kernel.shared_bytes or kernel.has_barriers:
                self.kernel.barrier()

        self.repeat(-(-blocks // at_once), turn)
        self.kernel.barrier()

    def copy(self, step: Copy) -> None:
        b = self.b
        target, source = self.pointers[step.target], self.pointers[step.source]
        if self.frame.target.processor is not None:
            copy_apart(b, target, source, step.size)
            return

        def move(kind: ir.IntType, offset: ir.Value) -> None:
            size = kind.width // 8
            value = b.load(self.behind(source, offset), typ=kind, align=size)
            b.store(value, self.behind(target, offset), align=size)

        with b.if_then(b.icmp_unsigned("!=", b.ptrtoint(target, I64), b.ptrtoint(source, I64))):
            self.each_word(step.size, move)
        self.kernel.barrier()

    def fill(self, step: Fill) -> None:
        b, target = self.b, self.pointers[step.target]
        if self.frame.target.processor is not None:
            fill_memory(b, target, step.byte, step.size)
            return

        def set_to(kind: ir.IntType, offset: ir.Value) -> None:
            size = kind.width // 8
            b.store(kind(int.from_bytes(bytes([step.byte]) * size)), self.behind(target, offset), align=size)

        self.each_word(step.size, set_to)
        self.kernel.barrier()

    def each_word(self, size: int, body: Callable[[ir.IntType, ir.Value], None]) -> None:
        """``body(kind, offset)`` for all words of so many bytes: of four each, where that divides them."""
        b = self.b
        kind, count = (I32, size // 4) if size % 4 == 0 else (I8, size)

        def turn(number: ir.Value) -> None:
            index = b.add(b.mul(number, I32(self.threads)), self.thread)
            with b.if_then(b.icmp_unsigned("<", index, I32(count))):
                body(kind, b.zext(b.mul(index, I32(kind.width // 8)), I64))

        self.repeat(-(-count // self.threads), turn)

    def repeat(self, count: int, turn: Callable[[ir.Value], None], moving: Sequence[Place] = ()) -> None:
        """``turn(number)`` for all numbers below the count, which is one at least; it moves these pointers."""

        def body(number: ir.Value, values: list[ir.Value]) -> list[ir.Value]:
            self.pointers |= zip(moving, values)
            turn(self.b.trunc(number, I32))
            return self.at(moving)

        self.pointers |= zip(moving, carried_loop(self.b, 0, count, 1, self.at(moving), body, "turn"))

    def at(self, places: Sequence[Place]) -> list[ir.Value]:
        return [self.pointers[place] for place in places]

    def loop(self, loop: While, counter: tuple[Rounds, Stored] | None) -> None:
        moving = [place for place in moved(loop.body) if place in self.pointers]
        if loop.predicate is None:
            if loop.trips:
                self.repeat(loop.trips, lambda _: self.round(loop, counter), moving)
            return
        b = self.b
        rounds = max(1, self.frame.target.phases // max(1, phase_count(self.frame, loop.body)))
        counted = [] if is_over_soon(self.frame, loop) else [I32(0)]
        with while_loop(b, [*counted, *self.at(moving)], most=rounds) as repeated:
            values = repeated.values[len(counted) :]
            self.pointers |= zip(moving, values)
            goes_on = self.truth(loop.predicate)
            if counted:
                goes_on = b.and_(goes_on, b.icmp_unsigned("<", repeated.values[0], I32(rounds)))
            repeated.leave_unless(goes_on)
            self.round(loop, counter)
            repeated.carry([*[b.add(repeated.values[0], I32(1)) for _ in counted], *self.at(moving)])
        self.pointers |= zip(moving, values)

    def round(self, loop: While, counter: tuple[Rounds, Stored] | None) -> None:
        self.note(counter)
        self.write(loop.body)

    def branch(self, step: Conditional) -> None:
        b = self.b
        which = self.selector(step)
        moving = [place for place in moved([step]) if place in self.pointers]
        before = dict(self.pointers)

        def run(steps: list[Step]) -> list[ir.Value]:
            self.pointers = dict(before)
            with self.changing(()):
                self.write(steps)
            return self.at(moving)

        found = chosen(b, which, [partial(run, branch) for branch in step.branches])
        self.pointers = before | dict(zip(moving, found))

    def selector(self, step: Conditional) -> ir.Value:
        """Which branch it is, a truth value of a predicate."""
        if not step.is_predicate:
            return self.number(step.selector, I32)
        return self.truth(step.selector)

    def truth(self, place: Place) -> ir.Value:
        """Whether a byte is not zero."""
        if place in self.registers:
            return self.registers[place]
        return self.b.icmp_unsigned("!=", self.number(place, I8), I8(0))

    def behind(self, pointer: ir.Value, offset: ir.Value) -> ir.Value:
        return self.b.gep(pointer, [offset], source_etype=I8)

    def number(self, place: Place, kind: ir.IntType) -> ir.Value:
        """What all threads find at a place, before one of them goes on and writes it."""
        found = self.b.load(self.pointers[place], typ=kind, align=kind.width // 8)
        self.kernel.barrier()
        return found


def _split(b: ir.IRBuilder, number: ir.Value, sizes: tuple[int, int, int]) -> list[ir.Value]:
    """The three indices of the block or thread with this number."""
    found: list[ir.Value] = []
    for dimension, size in enumerate(sizes):
        rest = prod(sizes[dimension + 1 :])
        if size == 1:
            found.append(I32(0))
        elif rest == 1:
            found.append(number)
        else:
            found.append(b.urem(number, I32(size)))
            number = b.udiv(number, I32(size))
    return found
