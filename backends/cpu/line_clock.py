"""How long a program spends at each of the user's lines: its code reads the clock where it goes from one line to another.

Before: ``multiply; add`` of two lines. After: ``go_to(2); multiply; go_to(3); add``, where ``go_to`` adds the time since the
last reading to the line that was left. What a reading takes is measured by the code itself, when it begins.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from llvmlite import ir

from ...compile.aliasing import only_names
from ...hlo import Instruction, Module
from ...hlo.operation import GIVEN
from ..llvm.types import I64, POINTER
from .clocks import emit_now

# A place in the user's files. What is computed in one go, as a fusion is, may come from several: that of its result is first.
Line = tuple[str, int]
Lines = tuple[Line, ...]

# The rows of the table: when the clock was read last, and the row since then; the time between programs, and that of readings.
_NOW, _OUTSIDE, _READINGS = range(3)
_READINGS_MEASURED = 128


class LineClock:
    """The table of a program's lines, in memory that its code writes: nanoseconds, and how often each was begun.

    ``rows`` has the rows of the table by the lines; ``table`` is the memory.
    """

    def __init__(self, program: Module) -> None:
        if not hasattr(time, "CLOCK_MONOTONIC"):
            raise NotImplementedError("the time by line needs the C library's clock_gettime, which this system does not have")
        steps = sum(len(computation.instructions) for computation in program.computations())
        self.table = np.zeros((2 * steps + _READINGS + 1, 2), np.int64)  # a row for each, and for those that rows join
        self.rows: dict[Lines, int] = {}
        self._last: tuple[ir.Block, Lines] | None = None

    def seconds_by_line(self) -> dict[Lines, tuple[float, int]]:
        """Seconds at each line that was reached since the last `clear`, and how often it was begun."""
        reading = self.table[_READINGS, 0] / max(1, self.table[_READINGS, 1])
        found = ((lines, *map(int, self.table[row])) for lines, row in self.rows.items())
        return {lines: (max(0.0, spent - begun * reading) / 1e9, begun) for lines, spent, begun in found if begun}

    def clear(self) -> None:
        self.table[:] = 0
        self.table[_NOW] = time.monotonic_ns(), _OUTSIDE

    # --- the code ---

    def define(self, module: ir.Module, table: ir.Value) -> None:
        """Write ``go_to`` into the module; ``table`` is the address of the table."""
        self._go_to = _define_go_to(module, table)

    def enter(self, builder: ir.IRBuilder, instruction: Instruction) -> None:
        """The code that follows is the instruction's."""
        if GIVEN in instruction.operation.traits or only_names(instruction):
            return
        fused = instruction.called_computations[0].instructions if instruction.opcode == "fusion" else ()
        self.enter_region(builder, [*fused, instruction])

    def enter_region(self, builder: ir.IRBuilder, instructions: Sequence[Instruction]) -> None:
        """The code that follows computes all of these, the last one for the result."""
        sources = (one.source for one in reversed(instructions) if one.source and one.source.file)
        lines = tuple(dict.fromkeys((source.file, source.line) for source in sources))
        if lines and self._last != (builder.block, lines):
            self._entered = self._emit_go_to(builder, self._row(lines), 1)
            self._last = builder.block, lines

    def put_off(self) -> None:
        """The code of what was entered comes later, and will be entered then."""
        self._entered.operands[1] = I64(0)
        self._last = None

    def surround(self, kernel: ir.Function) -> None:
        """The clock runs while the kernel does; what readings take is measured at its entry."""
        builder = ir.IRBuilder(kernel.entry_basic_block)
        builder.position_at_start(kernel.entry_basic_block)
        builder.call(_define_measurement(kernel.module, self._go_to), [])
        for block in kernel.blocks:
            if isinstance(block.terminator, ir.Ret):
                builder.position_before(block.terminator)
                self._emit_go_to(builder, _OUTSIDE, 0)

    def _row(self, lines: Lines) -> int:
        return self.rows.setdefault(lines, len(self.rows) + _READINGS + 1)

    def _emit_go_to(self, builder: ir.IRBuilder, row: int, begun: int) -> ir.CallInstr:
        return builder.call(self._go_to, [I64(row), I64(begun)])


def _define_go_to(module: ir.Module, table: ir.Value) -> ir.Function:
    """``void (i64 row, i64 begun)``: the time since the last reading goes to the row that was current."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64, I64]), "go_to_line")
    function.linkage = "internal"
    function.attributes.add("noinline")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    start = b.inttoptr(b.ptrtoint(table, I64), POINTER)

    def place(row: ir.Value, column: int) -> ir.Value:
        return b.gep(start, [b.add(b.mul(row, I64(2)), I64(column))], source_etype=I64)

    def add(pointer: ir.Value, amount: ir.Value) -> None:
        b.store(b.add(b.load(pointer, typ=I64), amount), pointer)

    row, begun = function.args
    read, current = place(I64(_NOW), 0), place(I64(_NOW), 1)
    now = emit_now(b, time.CLOCK_MONOTONIC)
    add(place(b.load(current, typ=I64), 0), b.sub(now, b.load(read, typ=I64)))
    add(place(row, 1), begun)
    b.store(now, read)
    b.store(row, current)
    b.ret_void()
    return function


def _define_measurement(module: ir.Module, go_to: ir.Function) -> ir.Function:
    """``void ()``: readings one after the other, in a row of their own."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), []), "measure_readings")
    function.linkage = "internal"
    function.attributes.add("noinline")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    for row in (_OUTSIDE, _READINGS):  # once for the caches
        for _ in range(_READINGS_MEASURED):
            b.call(go_to, [I64(row), I64(1)])
    b.call(go_to, [I64(_OUTSIDE), I64(0)])
    b.ret_void()
    return function
