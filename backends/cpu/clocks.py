"""Readings of the system's clocks."""

from __future__ import annotations

from llvmlite import ir

from ..llvm.memory import stack_memory
from ..llvm.module import declaration
from ..llvm.types import I8, I32, I64, POINTER


def emit_now(b: ir.IRBuilder, number: int) -> ir.Value:
    """Nanoseconds of the clock that has this number for clock_gettime."""
    clock_gettime = declaration(b.module, "clock_gettime", I32, [I32, POINTER])
    moment = stack_memory(b, 16, 8)
    b.call(clock_gettime, [I32(number), moment])
    seconds, nanoseconds = (b.load(b.gep(moment, [I64(offset)], source_etype=I8), typ=I64) for offset in (0, 8))
    return b.add(b.mul(seconds, I64(10**9)), nanoseconds)
