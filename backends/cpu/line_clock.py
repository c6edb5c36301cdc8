"""How long a program spends at each of the user's lines, or in each of its kernels: its code reads the clock between them.

Before: ``multiply; add`` of two lines. After: ``go_to(2); multiply; go_to(3); add``, where ``go_to`` adds the time since the
last reading to the line that was left. What a reading takes is measured by the code itself, when it first begins.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from llvmlite import ir

from ...compile.aliasing import only_names
from ...compile.cost import Cost, kernel_cost
from ...hlo import Computation, Instruction, Module, leaves
from ...hlo.operation import CONTROL_FLOW, GIVEN, TUPLING
from ..llvm.builder import Builder
from ..llvm.types import I64, POINTER
from .clocks import emit_now

# A place in the user's files. What is computed in one go, as a fusion is, may come from several: that of its result is first.
Line = tuple[str, int]
Lines = tuple[Line, ...]
# What the time is taken by for code that computes all of these, and keeps the results; None: as what came before.
KeyOf = Callable[[Sequence[Instruction], Sequence[Instruction]], Hashable | None]

# The rows of the table: when the clock was read last, and the row since then; the time between programs, and that of readings.
_NOW, _OUTSIDE, _READINGS = range(3)
_READINGS_MEASURED = 128


class Kernel(NamedTuple):
    """What is computed in one go, and what that costs. ``element_bytes`` is the size of the widest element that it computes."""

    opcodes: tuple[str, ...]
    lines: Lines
    cost: Cost
    element_bytes: int


def lines_of(instructions: Sequence[Instruction], results: Sequence[Instruction] = ()) -> Lines | None:
    """The lines that instructions come from."""
    del results
    sources = (one.source for one in reversed(instructions) if one.source and one.source.file)
    return tuple(dict.fromkeys((source.file, source.line) for source in sources)) or None


def kernel_of(instructions: Sequence[Instruction], results: Sequence[Instruction]) -> Kernel | None:
    """The kernel that computes instructions; None for control flow, whose parts are kernels."""
    if results[0].has_trait(CONTROL_FLOW):
        return None
    computed, roots = instructions, results
    if results[0].opcode == "fusion":
        computed, roots = instructions[:-1], [results[0].called_computations[0].root]
    opcodes = [one.opcode for one in computed if not {GIVEN, TUPLING} & one.operation.traits]
    sizes = [leaf.element_type.bits // 8 for one in computed for leaf in leaves(one.shape)]
    cost = kernel_cost(computed, roots)
    return Kernel(tuple(dict.fromkeys(opcodes)), lines_of(instructions) or (), cost, max(sizes, default=1))


class Moments:
    """What began when, in all programs that share it: as much of it as there is room for, from the beginning.

    ``memory`` has the number of entries, and these: the moment, the number of the clock, the row.
    """

    def __init__(self, room: int) -> None:
        self.memory = np.zeros((room + 1, 3), np.int64)
        self.clocks: list[LineClock] = []

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        count = min(int(self.memory[0, 0]), len(self.memory) - 1)
        return iter(map(tuple, self.memory[1 : count + 1].tolist()))


class LineClock:
    """The table of a program's lines or kernels, in memory that its code writes: nanoseconds, and how often each was begun.

    ``rows`` has the rows of the table by key; ``table`` is the memory; ``name`` is the program's.
    """

    def __init__(self, program: Module, key_of: KeyOf = lines_of, moments: Moments | None = None) -> None:
        if not hasattr(time, "CLOCK_MONOTONIC"):
            raise NotImplementedError("the time by line needs the C library's clock_gettime, which this system does not have")
        self.name, self._key_of, self._moments = program.name, key_of, moments
        steps = sum(len(computation.instructions) for computation in program.computations())
        self.table = np.zeros((2 * steps + _READINGS + 1, 2), np.int64)  # a row for each, and for those that rows join
        self.rows: dict[Hashable, int] = {}
        self._last: tuple[ir.Block, Hashable] | None = None
        if moments is not None:
            moments.clocks.append(self)

    def seconds(self) -> dict[Hashable, tuple[float, int]]:
        """Seconds by key, of what was reached since the last `clear`, and how often it was begun."""
        reading = self.table[_READINGS, 0] / max(1, self.table[_READINGS, 1])
        found = ((key, *map(int, self.table[row])) for key, row in self.rows.items())
        return {key: (max(0.0, spent - begun * reading) / 1e9, begun) for key, spent, begun in found if begun}

    def clear(self) -> None:
        self.table[:] = 0
        self.table[_NOW] = time.monotonic_ns(), _OUTSIDE

    # --- the code ---

    def define(self, module: ir.Module, address_of: Callable[[np.ndarray], ir.Value]) -> None:
        """Write ``go_to`` into the module; ``address_of`` says how its code reaches memory."""
        self._go_to = _define_go_to(module, address_of(self.table), self._noting(address_of))
        self._measure = _define_measurement(module, address_of(self.table), self._go_to)
        self._entered: ir.CallInstr | None = None

    def _noting(self, address_of: Callable[[np.ndarray], ir.Value]) -> Callable[..., None] | None:
        if self._moments is None:
            return None
        memory, number = self._moments.memory, self._moments.clocks.index(self)

        def note(b: ir.IRBuilder, now: ir.Value, row: ir.Value) -> None:
            start = b.inttoptr(b.ptrtoint(address_of(memory), I64), POINTER)
            entry = b.add(b.atomic_rmw("add", start, I64(1), "monotonic"), I64(1))
            with b.if_then(b.icmp_unsigned("<", entry, I64(len(memory)))):
                place = b.gep(start, [b.mul(entry, I64(3))], source_etype=I64)
                for column, value in enumerate((now, I64(number), row)):
                    b.store(value, b.gep(place, [I64(column)], source_etype=I64))

        return note

    def enter(self, builder: ir.IRBuilder, instruction: Instruction) -> None:
        """The code that follows is the instruction's."""
        if GIVEN in instruction.operation.traits or only_names(instruction):
            return
        fused = instruction.called_computations[0].instructions if instruction.opcode == "fusion" else ()
        self._enter(builder, self._key_of([*fused, instruction], [instruction]))

    def enter_group(self, builder: ir.IRBuilder, computations: Sequence[Computation]) -> None:
        """The code that follows computes all of these."""
        instructions = [one for computation in computations for one in computation.instructions]
        self._enter(builder, self._key_of(instructions, [computation.root for computation in computations]))

    def _enter(self, builder: ir.IRBuilder, key: Hashable | None) -> None:
        if key is not None and self._last != (builder.block, key):
            self._entered = self._emit_go_to(builder, self._row(key), 1)
            self._last = builder.block, key

    def put_off(self) -> None:
        """The code of what was entered comes later, and will be entered then."""
        assert self._entered is not None
        self._entered.operands[1] = I64(0)
        self._last = None

    def surround(self, kernel: ir.Function) -> None:
        """The clock runs while the kernel does; what readings take is measured at its entry."""
        builder = Builder(kernel.entry_basic_block)
        builder.position_at_start(kernel.entry_basic_block)
        builder.call(self._measure, [])
        for block in kernel.blocks:
            if isinstance(block.terminator, ir.Ret):
                builder.position_before(block.terminator)
                self._emit_go_to(builder, _OUTSIDE, 0)
        del self._go_to, self._measure, self._entered  # the clock outlives the module that these are of
        self._last = None

    def _row(self, key: Hashable) -> int:
        return self.rows.setdefault(key, len(self.rows) + _READINGS + 1)

    def _emit_go_to(self, builder: ir.IRBuilder, row: int, begun: int) -> ir.CallInstr:
        return builder.call(self._go_to, [I64(row), I64(begun)])


def _define_go_to(module: ir.Module, table: ir.Value, note: Callable[..., None] | None) -> ir.Function:
    """``void (i64 row, i64 begun)``: the time since the last reading goes to the row that was current."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64, I64]), "go_to_line")
    function.linkage = "internal"
    function.attributes.add("noinline")
    b = Builder(function.append_basic_block("entry"))

    def add(pointer: ir.Value, amount: ir.Value) -> None:
        b.store(b.add(b.load(pointer, typ=I64), amount), pointer)

    row, begun = function.args
    read, current = (_place(b, table, I64(_NOW), column) for column in (0, 1))
    now = emit_now(b, time.CLOCK_MONOTONIC)
    add(_place(b, table, b.load(current, typ=I64), 0), b.sub(now, b.load(read, typ=I64)))
    add(_place(b, table, row, 1), begun)
    b.store(now, read)
    b.store(row, current)
    if note is not None:
        is_kernel, is_end = b.icmp_unsigned(">", row, I64(_READINGS)), b.icmp_unsigned("==", begun, I64(0))
        with b.if_then(b.or_(is_kernel, is_end)):
            note(b, now, row)
    b.ret_void()
    return function


def _define_measurement(module: ir.Module, table: ir.Value, go_to: ir.Function) -> ir.Function:
    """``void ()``: readings one after the other, in a row of their own, where there are none yet."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), []), "measure_readings")
    function.linkage = "internal"
    function.attributes.add("noinline")
    b = Builder(function.append_basic_block("entry"))
    measured = b.load(_place(b, table, I64(_READINGS), 1), typ=I64)
    with b.if_then(b.icmp_unsigned("<", measured, I64(_READINGS_MEASURED))):
        for row in (_OUTSIDE, _READINGS):  # once for the caches
            for _ in range(_READINGS_MEASURED):
                b.call(go_to, [I64(row), I64(1)])
    b.call(go_to, [I64(_OUTSIDE), I64(0)])
    b.ret_void()
    return function


def _place(b: ir.IRBuilder, table: ir.Value, row: ir.Value, column: int) -> ir.Value:
    start = b.inttoptr(b.ptrtoint(table, I64), POINTER)
    return b.gep(start, [b.add(b.mul(row, I64(2)), I64(column))], source_etype=I64)
