"""Loops that can be interrupted.

Where a loop may take long, the end of each iteration subtracts an estimate of its work, in instructions, from a counter. When
nothing is left, the code asks whether to go on (``phlox.check_interrupts``), and else leaves its function at once. Loops inside
of loops share the counter of their function, so that many short ones count, too.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from .branches import UNLIKELY, replaced_if
from .module import declaration
from .types import I32, I64

CHECK_INTERRUPTS = "phlox.check_interrupts"

# Instructions from one look at the clock to the next, some tens to hundreds of microseconds.
BUDGET = 1 << 18
# A loop of fewer instructions in all is over before anybody waits.
UNINTERRUPTED = 1 << 24
# What a loop of unknown length is taken for, unless it is told to be one that may take long.
USUAL_TRIPS = 1 << 8


class Interruption:
    """How one function is left early, and what it is known to cost.

    ``leave(builder)`` emits the return. ``can_leave`` says whether any code does so; ``calls`` whom the code calls, and of each
    how often, None for any number of times.
    """

    def __init__(self, function: ir.Function, leave: Callable[[ir.IRBuilder], None]) -> None:
        self.function, self._leave = function, leave
        self.can_leave = self.has_loops = False
        self.calls: list[tuple[Interruption, int | None]] = []
        self.open_loops = 0
        self._repeated = 0  # instructions in the open loop beyond those that stand in it
        self._slot: ir.Value | None = None

    @property
    def cost(self) -> int:
        """The instructions that a call runs, without what loops of unknown length repeat."""
        return self.standing + self._repeated

    @property
    def standing(self) -> int:
        """The instructions that stand in the function."""
        return sum(len(block.instructions) for block in self.function.blocks)

    def add(self, instructions: int) -> None:
        """Count code that is not in the function, or is repeated by other means."""
        self._repeated += instructions

    def called(self, builder: ir.IRBuilder, function: InterruptibleFunction) -> None:
        """Count a call of a function that can be interrupted, too; the caller has left where it was."""
        other = function.interruption
        self.calls.append((other, None if self.open_loops else 1))
        self.add(other.cost)
        self.can_leave |= other.can_leave
        if other.cost > UNINTERRUPTED:
            self.count_down(builder, other.cost)

    def count_down(self, builder: ir.IRBuilder, cost: int) -> None:
        """Subtract from the counter, in memory, and ask where nothing is left."""
        counter = self.counter(builder)
        cost = min(cost, BUDGET)
        builder.store(self.check(builder, builder.sub(builder.load(counter, typ=I64), I64(cost))), counter)

    def leave_if(self, builder: ir.IRBuilder, condition: ir.Value) -> None:
        self.can_leave = True
        with builder.if_then(condition, likely=False):
            self._leave(builder)

    def counter(self, builder: ir.IRBuilder) -> ir.Value:
        """The memory of the counter."""
        if self._slot is None:
            with builder.goto_entry_block():
                self._slot = builder.alloca(I64)
                builder.store(I64(BUDGET), self._slot)
        return self._slot

    def check(self, builder: ir.IRBuilder, left: ir.Value) -> ir.Value:
        """Ask whether to go on if nothing is left of the counter; its value afterwards."""
        function = declaration(builder.module, CHECK_INTERRUPTS, I32, [])

        def ask() -> list[ir.Value]:
            code = builder.call(function, [])
            self.leave_if(builder, builder.icmp_signed("!=", code, I32(0)))
            return [I64(BUDGET)]

        (following,) = replaced_if(builder, builder.icmp_signed("<", left, I64(0)), [left], ask, UNLIKELY)
        return following


class InterruptibleFunction(ir.Function):
    """A function whose loops can be interrupted; it returns 0, or by ``leave(builder)`` another i32."""

    def __init__(self, module: ir.Module, name: str, arguments: list[ir.Type], leave: Callable[[ir.IRBuilder], None]) -> None:
        super().__init__(module, ir.FunctionType(I32, arguments), name)
        self.interruption = Interruption(self, leave)


def call_interruptible(builder: ir.IRBuilder, function: InterruptibleFunction, arguments: list[ir.Value]) -> None:
    """Call a function; where it was interrupted, leave the caller, too, if that can be left."""
    status, caller = builder.call(function, arguments), interruption_of(builder)
    if caller is not None:
        if function.interruption.can_leave:
            caller.leave_if(builder, builder.icmp_signed("!=", status, I32(0)))
        caller.called(builder, function)


def call_repeatedly(
    builder: ir.IRBuilder, function: InterruptibleFunction, times: int, call: Callable[[bool], ir.Value]
) -> None:
    """Call a function so many times, by ``call(checks)``, which looks for interrupts in between if that is asked for.

    Where there was one, leave the caller, too, if that can be left.
    """
    cost, caller = times * function.interruption.cost, interruption_of(builder)
    checks = caller is not None and cost > UNINTERRUPTED
    status = call(checks)
    if caller is not None:
        if checks or function.interruption.can_leave:
            caller.leave_if(builder, builder.icmp_signed("!=", status, I32(0)))
        caller.calls.append((function.interruption, None if caller.open_loops else times))
        caller.add(cost)


def interruption_of(builder: ir.IRBuilder) -> Interruption | None:
    function = builder.function
    return function.interruption if isinstance(function, InterruptibleFunction) else None


class OpenLoop:
    """A loop that is being emitted: made where its head begins, closed at the end of its body.

    Made after the loop's own phis or before them, with the builder in the head; ``before`` is the block that leads to it.
    """

    def __init__(self, builder: ir.IRBuilder, before: ir.Block) -> None:
        self._interruption = interruption_of(builder)
        if self._interruption is None:
            return
        self._interruption.has_loops = True
        self._interruption.open_loops += 1
        self._head, self._before = builder.block, before
        self._outside, self._interruption._repeated = self._interruption._repeated, 0
        self._could_leave, self._interruption.can_leave = self._interruption.can_leave, False
        self._phi = builder.phi(I64)

    def close(self, builder: ir.IRBuilder, trips: int | None = None, done: ir.Block | None = None) -> None:
        """Count an iteration, and emit the check where the loop may take long.

        trips: how many iterations there are at most; None if that is not known, and may be any number. done: the block behind
        the loop, where it is left in its head.
        """
        interruption = self._interruption
        if interruption is None:
            return
        interruption.open_loops -= 1
        blocks = builder.function.blocks
        inside = blocks[len(blocks) - 1 - blocks[::-1].index(self._head) :]
        standing = sum(len(block.instructions) for block in inside)
        cost = standing + interruption._repeated
        interruption._repeated = self._outside
        if trips is not None and trips * cost <= UNINTERRUPTED:
            interruption.add(trips * cost - standing)
            self._head.instructions.remove(self._phi)
        else:
            self._count(builder, interruption, cost, done)
        interruption.can_leave |= self._could_leave

    def _count(self, builder: ir.IRBuilder, interruption: Interruption, cost: int, done: ir.Block | None) -> None:
        if interruption.can_leave:
            # Checks inside have changed the counter: it is read from memory.
            self._head.instructions.remove(self._phi)
            interruption.count_down(builder, cost)
            return
        # In a register, since a loop of few instructions would wait for memory.
        counter = interruption.counter(builder)
        with builder.goto_block(self._before):
            self._phi.add_incoming(builder.load(counter, typ=I64), self._before)
        left = interruption.check(builder, builder.sub(self._phi, I64(min(cost, BUDGET))))
        self._phi.add_incoming(left, builder.block)
        if done is None:
            builder.store(left, counter)
        else:
            with builder.goto_block(done):
                builder.store(self._phi, counter)
