"""How much a compilation does for fast code: less where the code is long and runs rarely, or where a budget of time is short.

Results do not depend on it: neither the passes that may be left out nor LLVM's levels change the order of operations on
numbers, or how they are rounded.
"""

from __future__ import annotations

from time import perf_counter

from ...hlo import Module
from ...hlo.fast_math import has_fast_math
from ...runtime.compile_budget import current_budget
from .target import FULL, QUICK

# Lines of assembly for which LLVM's optimizations take a tenth of a second and more.
_LONG_CODE = 2000
# How often a call runs a line, on average, where it takes some thousands of calls to earn that time back: without these
# optimizations calls take 1.4 times as long, and up to twice that.
_RARE_RUNS = 96
# What is foreseen may take longer, by this factor, before a budget is exceeded.
_MARGIN = 1.25
# What shorter work takes says little of how long longer work does.
_LEAST_MEASURED = 200


class Rate:
    """Seconds for one of what is worked on, at first as given, then as measured in this process."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def foreseen(self, count: int) -> float:
        return _MARGIN * count * self._seconds

    def measured(self, count: int, started: float) -> None:
        """Take down that the work that began then has ended now."""
        if count >= _LEAST_MEASURED:
            self._seconds = (self._seconds + (perf_counter() - started) / count) / 2


# For a line of assembly at each of LLVM's levels, and for an instruction of HLO that is written as assembly.
CODE_GENERATION = {QUICK: Rate(30e-6), FULL: Rate(100e-6)}
_LINES_OF_INSTRUCTION = 4
WRITING = Rate(60e-6)


def leaves_out(step: str, module: Module) -> bool:
    """Whether a budget is too short for a pass that could be left out, if what follows it is to be done in time."""
    budget = current_budget()
    if budget is None:
        return False
    count = module.instruction_count()
    following = WRITING.foreseen(count) + CODE_GENERATION[QUICK].foreseen(_LINES_OF_INSTRUCTION * count)
    if budget.left > following:
        return False
    budget.give_up(f"pass {step}")
    return True


def code_generation(llvm_ir: str, module: Module, runs: int | None) -> tuple[int, tuple[str, ...]]:
    """LLVM's level for this assembly, and in words all that the compilation has given up.

    runs: the instructions that one call runs; None where that is not known.
    """
    lines, budget = llvm_ir.count("\n"), current_budget()
    before = () if budget is None else tuple(budget.given_up)
    if has_fast_math(module):  # products and sums are joined by what the quick level leaves out
        return FULL, before
    if lines >= _LONG_CODE and runs is not None and runs <= _RARE_RUNS * lines:
        often = f"of which a call runs each {max(1, runs // lines)} times, on average"
        return QUICK, (*before, f"LLVM's optimizations of {lines:,} lines, {often}")
    if budget is None or budget.left > CODE_GENERATION[FULL].foreseen(lines):
        return FULL, before
    budget.give_up(f"LLVM's optimizations of {lines:,} lines")
    return QUICK, tuple(budget.given_up)
