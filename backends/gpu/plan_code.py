"""A plan as numbers that one native function runs: steps with jumps between them.

Addresses are in *slots*: one for each argument and result, those of the constant and the temporary memory, of memory of the
host, 0, the moving pointers; other slots are counters of loops. A place is a slot and a number of bytes behind what it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .plan import Advance, Conditional, Copy, Fill, HostCall, Launch, Place, Plan, Point, Step, While

# The operations, with what follows each: "place" are a slot and an offset; a target is the index of another operation.
END = 0
LAUNCH = 1  # kernel, shared bytes, how many arguments are a parameter, sizes of the grid and of a block, count, places
COPY = 2  # target place, source place, size
FILL = 3  # place, byte, size
POINT = 4  # count, slots, places
READ_BYTE = 5  # place: what the next jumps are by
READ_I32 = 6  # place
JUMP_IF_ZERO = 7  # target
JUMP = 8  # target
REPEAT = 9  # target: back, at the end of a loop
COUNT = 10  # slot, value
COUNT_DOWN = 11  # slot, target: back, unless the slot is 0 then
SELECT = 12  # count, targets: by the number read, the last one where it is none of them
CALL_HOST = 13  # number of the call, address of a function of operands and results or 0, count of operands, count, places
WRITE = 14  # place, place of the host, size
READ = 15  # place, place of the host, size


# Where a place's number is that of a byte.
_WITH_OFFSETS = ("constant", "temporary", "number")
# Even numbers: what is read takes as long as some launches do.
_ROUNDS_AHEAD = (2, 4, 8)


@dataclass(frozen=True)
class PlanCode:
    """``numbers`` are the operations, each behind the number of its step in ``steps``."""

    numbers: np.ndarray
    steps: tuple[Step, ...]
    host_calls: tuple[HostCall, ...]
    slots: int
    most_places: int
    most_together: int  # arguments that are read at once, behind the last one, too

    @property
    def reads(self) -> bool:
        """Whether something is read from the device in between."""
        return any(isinstance(step, Conditional) or (isinstance(step, While) and step.predicate) for step in self.steps)


@dataclass(frozen=True)
class Packed:
    """Arguments that lie side by side from the first one on, and results that do so: bytes that are copied from and to memory
    of the host, where the results follow at ``results_at``.
    """

    argument_bytes: int
    result_bytes: int
    results_at: int


def encode(
    plan: Plan,
    arguments: int,
    results: int,
    kernel_words: Callable[[Launch], tuple[int, int]],
    packed: Packed | None = None,
    host_function: Callable[[HostCall], int] = lambda call: 0,
) -> PlanCode:
    """The code of a plan with so many arguments and results.

    kernel_words: the handle of a launch's kernel, and how many arguments are a parameter of it.
    """
    writer = _Writer(plan, arguments, results, kernel_words, host_function)
    if packed is not None and packed.argument_bytes:
        writer.emit(-1, WRITE, writer.first["argument"], 0, writer.first["host"], 0, packed.argument_bytes)
    writer.write(plan.steps)
    if packed is not None:
        writer.emit(-1, READ, writer.first["result"], 0, writer.first["host"], packed.results_at, packed.result_bytes)
        writer.most_places = max(writer.most_places, 2)
    writer.emit(-1, END)
    numbers = np.array(writer.numbers, np.int64)
    host_calls, places = tuple(writer.host_calls), writer.most_places
    return PlanCode(numbers, tuple(writer.steps), host_calls, writer.slots, places, writer.most_together)


class _Writer:
    def __init__(
        self,
        plan: Plan,
        arguments: int,
        results: int,
        kernel_words: Callable[[Launch], tuple[int, int]],
        host_function: Callable[[HostCall], int],
    ) -> None:
        self.numbers: list[int] = []
        self.steps: list[Step] = []
        self.host_calls: list[HostCall] = []
        self.most_places = 2  # of a copy
        self.most_together = 1
        constant = arguments + results
        self.first = {
            "argument": 0,
            "result": arguments,
            "constant": constant,
            "temporary": constant + 1,
            "host": constant + 2,
            "number": constant + 3,  # a slot with 0
            "moving": constant + 4,
        }
        self.slots = constant + 4 + plan.moving
        self.kernel_words, self.host_function = kernel_words, host_function

    def emit(self, step: int, operation: int, *numbers: int) -> int:
        """The index of the last number."""
        self.numbers += [step, operation, *numbers]
        return len(self.numbers) - 1

    def place(self, place: Place) -> tuple[int, int]:
        first = self.first[place.region]
        return (first, place.number) if place.region in _WITH_OFFSETS else (first + place.number, 0)

    def places(self, places: Sequence[Place]) -> list[int]:
        self.most_places = max(self.most_places, len(places))
        return [len(places), *[number for place in places for number in self.place(place)]]

    def write(self, steps: Sequence[Step]) -> None:
        for step in steps:
            number = len(self.steps)
            self.steps.append(step)
            match step:
                case Launch():
                    sizes = (*step.grid, *step.block)
                    handle, together = self.kernel_words(step)
                    self.most_together = max(self.most_together, together)
                    self.emit(number, LAUNCH, handle, step.shared_bytes, together, *sizes, *self.places(step.arguments))
                case Copy():
                    self.emit(number, COPY, *self.place(step.target), *self.place(step.source), step.size)
                case Fill():
                    self.emit(number, FILL, *self.place(step.target), step.byte, step.size)
                case Point():
                    count, *places = self.places(step.places)
                    self.emit(number, POINT, count, *[self.first["moving"] + moving for moving in step.numbers], *places)
                case Advance():
                    slots = [self.first["moving"] + moving for moving in step.numbers]
                    self.most_places = max(self.most_places, len(slots))
                    self.emit(number, POINT, len(slots), *slots, *[one for slot in slots for one in (slot, step.size)])
                case While():
                    self.loop(number, step)
                case Conditional():
                    self.branch(number, step)
                case HostCall():
                    called = len(self.host_calls), self.host_function(step), len(step.operands)
                    self.emit(number, CALL_HOST, *called, *self.places((*step.operands, *step.results)))
                    self.host_calls.append(step)

    def loop(self, number: int, loop: While) -> None:
        if loop.runs_ahead:
            self.loop_ahead(number, loop)
        elif loop.predicate is not None:
            begin = len(self.numbers)
            self.emit(number, READ_BYTE, *self.place(loop.predicate))
            end = self.emit(number, JUMP_IF_ZERO, 0)
            self.write(loop.body)
            self.emit(number, REPEAT, begin)
            self.numbers[end] = len(self.numbers)
        elif loop.trips:
            counter, self.slots = self.slots, self.slots + 1
            self.emit(number, COUNT, counter, loop.trips)
            begin = len(self.numbers)
            self.write(loop.body)
            self.emit(number, COUNT_DOWN, counter, begin)

    def loop_ahead(self, number: int, loop: While) -> None:
        """Twice as many rounds each time, up to some, before the predicate is read again."""
        counter, self.slots = self.slots, self.slots + 1
        ends, begin = [], 0
        for rounds in _ROUNDS_AHEAD:
            begin = len(self.numbers)
            self.emit(number, READ_BYTE, *self.place(loop.predicate))
            ends.append(self.emit(number, JUMP_IF_ZERO, 0))
            self.emit(number, COUNT, counter, rounds)
            first = len(self.numbers)
            self.write(loop.body)
            self.emit(number, COUNT_DOWN, counter, first)
        self.emit(number, REPEAT, begin)
        for end in ends:
            self.numbers[end] = len(self.numbers)
        if loop.last is not None:
            self.emit(number, READ_BYTE, *self.place(loop.is_odd))
            stays = self.emit(number, JUMP_IF_ZERO, 0)
            self.write([loop.last])
            self.numbers[stays] = len(self.numbers)

    def branch(self, number: int, step: Conditional) -> None:
        self.emit(number, READ_BYTE if step.is_predicate else READ_I32, *self.place(step.selector))
        # A predicate selects the first branch where it is not 0.
        branches = step.branches[::-1] if step.is_predicate else step.branches
        last = self.emit(number, SELECT, len(branches), *[0] * len(branches))
        ends = []
        for which, branch in enumerate(branches):
            self.numbers[last - len(branches) + 1 + which] = len(self.numbers)
            self.write(branch)
            ends.append(self.emit(number, JUMP, 0))
        for end in ends:
            self.numbers[end] = len(self.numbers)
