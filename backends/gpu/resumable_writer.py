"""Nests of loops as code of one block that may be left in the middle, and goes on there when it is launched again.

The host can be interrupted between launches alone, and nobody knows how long loops take whose predicate the device computes. So
the code counts phases; where it has run enough of them it writes down in which loop it is, where the moving pointers are, and
how many rounds of the loops around are over, and ends. All else is in memory in any case. The next launch comes to that loop by
way of the loops around it, and leaves out what stands before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from llvmlite import ir

from ..llvm.branches import chosen, replaced_if
from ..llvm.known_ranges import Rounds
from ..llvm.loops import while_loop
from ..llvm.types import I8, I32, I64, POINTER
from .frame import Frame
from .kernel import Kernel
from .own_scalars import SCALAR_BYTES, OwnScalars
from .phase_writer import PhaseWriter, is_over_soon, moved, phase_count
from .plan import Conditional, Fill, Place, Step, While, inside
from .values import Stored

_WORD = 8
# The byte that says in which loop to go on: its number, from 1; and before the first launch.
_MOST_LOOPS, _BEGINS = 254, 255


def loops_to_leave(frame: Frame, steps: Sequence[Step]) -> list[While]:
    """The loops in which the code may be left: of any number of rounds, or too many, and what is around such."""
    return [step for step in inside(steps) if isinstance(step, While) and not is_over_soon(frame, step)]


def words_for(frame: Frame, steps: Sequence[Step], scalars: int = 0) -> int | None:
    """How many words the code needs for what it writes down, so many scalars too; None where there are too many loops."""
    loops = loops_to_leave(frame, steps)
    if len(loops) > _MOST_LOOPS:
        return None
    return 1 + len(moved(steps)) + len(loops) + scalars * SCALAR_BYTES // _WORD


def begin(words: Place, count: int) -> Fill:
    """What comes before the first launch. All of the words are read there, before it is known which of them count."""
    return Fill(words, _BEGINS, count * _WORD)


class ResumableWriter(PhaseWriter):
    """Writes such steps. The first byte of the ``words`` is the number of the loop to go on in; 0 in the end.

    ``resumed`` is that number at this point of the code, where it is not known that there is nothing left to be found again.
    """

    def __init__(
        self,
        frame: Frame,
        kernel: Kernel,
        pointers: dict[Place, ir.Value],
        words: ir.Value,
        scalars: OwnScalars | None = None,
    ) -> None:
        super().__init__(frame, kernel, pointers, scalars)
        self.words = words
        self.numbers: dict[int, int] = {}
        self.rounds: list[tuple[int, ir.Value]] = []  # the numbers of the loops around this point, and their rounds
        self.resumed: ir.Value | None = None
        self.left = I32(frame.target.phases)

    def write_all(self, steps: list[Step]) -> None:
        """The steps as all that the kernel does."""
        b = self.b
        self.numbers = {id(loop): number for number, loop in enumerate(loops_to_leave(self.frame, steps), 1)}
        self.moving = moved(steps)
        self.end = self.leaving = b.append_basic_block("end")
        if self.scalars is not None:
            self.leaving = b.append_basic_block("leaving")
        number = b.load(self.words, typ=I8, align=1)
        begins = b.icmp_unsigned("==", number, I8(_BEGINS))
        self.resumed = b.zext(b.select(begins, I8(0), number), I32)
        device = ir.PointerType(addrspace=self.frame.target.spaces.device)
        for number, place in enumerate(self.moving, 1):
            address = b.inttoptr(b.load(self._word(number), typ=I64, align=_WORD), device)
            self.pointers[place] = b.addrspacecast(address, POINTER)
        if self.scalars is not None:
            self.scalars.restore(self._saved_scalars(), b.not_(begins))
        self.kernel.barrier()
        self.write(steps)
        if self.scalars is not None:
            self.scalars.hand_on()
        with self._by_one_thread():
            b.store(I8(0), self.words, align=1)
        b.branch(self.end)
        if self.scalars is not None:
            b.position_at_end(self.leaving)
            self.scalars.save(self._saved_scalars())
            b.branch(self.end)
        b.position_at_end(self.end)

    def write(self, steps: list[Step]) -> None:
        """The steps; where one of them is to be gone on with, those before it are left out."""
        while self.resumed is not None and steps:
            count = next((number for number, step in enumerate(steps) if self._last([step])), len(steps))
            if count:
                self._if(self.b.icmp_unsigned("==", self.resumed, I32(0)), steps[:count])
            if count == len(steps):
                return
            step, steps = steps[count], steps[count + 1 :]
            if self._last(steps):
                self._if(self.b.icmp_unsigned("<=", self.resumed, I32(self._last([step]))), [step])
            else:
                super().write([step])
                self.resumed = None
        super().write(steps)

    def _last(self, steps: Sequence[Step]) -> int:
        """The last number of those of the loops in these steps, which follow each other; 0 where there is none."""
        return max((self.numbers.get(id(step), 0) for step in inside(steps)), default=0)

    def _if(self, condition: ir.Value, steps: list[Step]) -> None:
        """The steps where the condition holds: where it does not, the loop to go on in is a later one."""
        resumed, moving, before = self.resumed, moved(steps), dict(self.pointers)
        assert resumed is not None
        numbered = self._last(steps)
        values = [resumed, self.left, *self.at(moving)]

        def run() -> list[ir.Value]:
            self.resumed = resumed if numbered else None
            with self.changing(steps):
                self.write(steps)
            return [I32(0), self.left, *self.at(moving)]

        self.resumed, self.left, *pointers = replaced_if(self.b, condition, values, run)
        self.pointers = before | dict(zip(moving, pointers))

    def loop(self, loop: While, counter: tuple[Rounds, Stored] | None) -> None:
        number = self.numbers.get(id(loop))
        if number is None:
            super().loop(loop, counter)
            return
        b, moving = self.b, moved(loop.body)
        first, inner = I64(0), None
        if self.resumed is not None:
            is_new = b.icmp_unsigned("==", self.resumed, I32(0))
            first = b.select(is_new, I64(0), b.load(self._word(self._rounds_of(number)), typ=I64, align=_WORD))
            if self._last(loop.body):
                is_here = b.icmp_unsigned("==", self.resumed, I32(number))
                inner = b.select(is_here, I32(0), self.resumed)
        initial = [first, self.left, *([] if inner is None else [inner]), *self.at(moving)]
        with while_loop(b, initial) as repeated:
            rounds, left, *values = repeated.values
            self.resumed = None if inner is None else values.pop(0)
            self.pointers |= zip(moving, values)
            if loop.predicate is not None:
                goes_on = self.truth(loop.predicate)
            else:
                goes_on = b.icmp_unsigned("<", rounds, I64(loop.trips))
            repeated.leave_unless(goes_on)
            self.rounds.append((number, rounds))
            with b.if_then(b.icmp_signed("<=", left, I32(0))):
                self._leave(number)
            self.left = b.sub(left, I32(max(1, self._own_phases(loop.body))))
            if self.resumed is not None:  # a round that has been counted
                self.left = b.select(b.icmp_unsigned("==", self.resumed, I32(0)), self.left, left)
            self.round(loop, counter)
            self.rounds.pop()
            carried = [b.add(rounds, I64(1)), self.left, *([] if inner is None else [I32(0)]), *self.at(moving)]
            repeated.carry(carried)
        self.resumed, self.left = None, left
        self.pointers |= zip(moving, values)

    def branch(self, step: Conditional) -> None:
        if not self._last([step]):
            super().branch(step)
            return
        b = self.b
        which = self.selector(step)
        resumed, moving, before, left = self.resumed, moved([step]), dict(self.pointers), self.left
        if resumed is not None:
            which = self._resumed_branch(step, which, resumed)

        def run(steps: list[Step]) -> list[ir.Value]:
            self.pointers, self.left = dict(before), left
            self.resumed = resumed if self._last(steps) else None
            with self.changing(()):
                self.write(steps)
            return [self.left, *self.at(moving)]

        self.left, *found = chosen(b, which, [partial(run, branch) for branch in step.branches])
        self.resumed = None
        self.pointers = before | dict(zip(moving, found))

    def _resumed_branch(self, step: Conditional, which: ir.Value, resumed: ir.Value) -> ir.Value:
        """Which branch is to be run: that of the loop to go on in, if there is one."""
        b, found = self.b, which
        for number, steps in reversed(list(enumerate(step.branches))):
            last = self._last(steps)
            if last:
                chosen_one = which.type(number == 0) if step.is_predicate else I32(number)
                found = b.select(b.icmp_unsigned("<=", resumed, I32(last)), chosen_one, found)
        return b.select(b.icmp_unsigned("==", resumed, I32(0)), which, found)

    def _own_phases(self, steps: Sequence[Step]) -> int:
        """How many phases these steps run, at most, without those that loops count themselves."""
        total = 0
        for step in steps:
            if isinstance(step, Conditional):
                total += 1 + max(map(self._own_phases, step.branches))
            elif id(step) not in self.numbers:
                total += phase_count(self.frame, [step])
        return min(total, 1 << 20)

    def _leave(self, number: int) -> None:
        """End here, by way of the code that saves scalars for all loops: the next launch is to go on in that of this number."""
        b = self.b
        with self._by_one_thread():
            b.store(I8(number), self.words, align=1)
            for word, place in enumerate(self.moving, 1):
                b.store(b.ptrtoint(self.pointers[place], I64), self._word(word), align=_WORD)
            for around, rounds in self.rounds:
                b.store(rounds, self._word(self._rounds_of(around)), align=_WORD)
        b.branch(self.leaving)

    def _by_one_thread(self):
        return self.b.if_then(self.b.icmp_unsigned("==", self.thread, I32(0)))

    def _saved_scalars(self) -> ir.Value:
        return self._word(self._rounds_of(len(self.numbers) + 1))

    def _rounds_of(self, number: int) -> int:
        return len(self.moving) + number

    def _word(self, number: int) -> ir.Value:
        return self.b.gep(self.words, [I64(number * _WORD)], source_etype=I8)
