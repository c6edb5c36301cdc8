"""Repetition in a sequence of instructions: runs in which the same operations come again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..hlo import Computation, Instruction
from ..hlo.operation import CALLS, EFFECTFUL
from ..hlo.shape import has_dynamic_dimensions
from .common_subexpression_elimination import ComputationKeys, attribute_key
from .traversal import has_effects

# So many codes in a row are looked up; a shorter repetition is found with the others around it.
_WINDOW = 3


class Run(NamedTuple):
    """The positions from start to stop, of which each has the code of the one ``period`` later, as far as there is one."""

    start: int
    stop: int
    period: int


def instruction_codes(computation: Computation, keys: ComputationKeys) -> list[int]:
    """A number for each instruction: the same for those that do the same, whatever their operands are.

    The values of constants and the starts of slices do not count. What must run as often as written, and parameters, have
    numbers of their own.
    """
    numbers: dict[Any, int] = {}
    same: dict[tuple, int] = {}  # by identity: most repetitions share their attributes and shapes
    codes = []
    for position, instruction in enumerate(computation.instructions):
        if _is_unique(instruction):
            codes.append(-1 - position)
            continue
        what = 0 if instruction.opcode == "constant" else id(instruction.attributes)
        parts = (instruction.opcode, what, id(instruction.shape), id(instruction.annotations), len(instruction.operands))
        code = same.get(parts)
        if code is None:
            code = same[parts] = numbers.setdefault(_code_key(instruction, keys), len(numbers))
        codes.append(code)
    return codes


def _is_unique(instruction: Instruction) -> bool:
    traits = instruction.operation.traits
    shape = instruction.shape
    if instruction.opcode == "parameter" or instruction.opcode == "constant" and shape.is_tuple:
        return True
    if has_dynamic_dimensions(shape):
        return True
    return (CALLS in traits or EFFECTFUL in traits) and has_effects(instruction)


def _code_key(instruction: Instruction, keys: ComputationKeys) -> tuple:
    opcode, attributes, values = instruction.opcode, instruction.attributes, ()
    if opcode == "slice":
        values = tuple([(limit - start, stride) for start, limit, stride in attributes["slice"]])
    elif opcode != "constant" and attributes:
        values = tuple([attribute_key(value, keys) for value in attributes.values()])
    annotations = tuple(sorted(instruction.annotations.items())) if instruction.annotations else ()
    return opcode, instruction.shape, values, len(instruction.operands), annotations


def search_runs(codes: Sequence[int], least_count: int, stop_of: Callable[[Run], int | None]) -> None:
    """Call ``stop_of`` for runs in which the period fits in so many times.

    Where it returns a position the run is taken up to there, and the search goes on behind it.
    """
    latest: dict[tuple[int, ...], int] = {}  # where each window was seen last
    tried: dict[int, int] = {}  # how far the sequence is known to repeat with a period
    free, position = 0, 0  # what lies before free belongs to a run that was taken
    windows = list(zip(*[codes[k:] for k in range(_WINDOW)]))
    while position < len(windows):
        window = windows[position]
        before = latest.get(window)
        latest[window] = position
        position += 1
        if before is None or before < free or tried.get(position - 1 - before, -1) >= position:
            continue
        run = _whole_run(codes, before, position - 1, free)
        tried[run.period] = run.stop
        if run.stop - run.start >= least_count * run.period:
            taken = stop_of(run)
            if taken is not None:
                free = position = taken


def _whole_run(codes: Sequence[int], first: int, second: int, free: int) -> Run:
    """The run with equal codes at these positions, which begins at or behind ``free``."""
    period, start, stop = second - first, first, second
    while stop < len(codes) and codes[stop] == codes[stop - period]:
        stop += 1
    while start > free and codes[start - 1] == codes[start - 1 + period]:
        start -= 1
    return Run(start, stop, period)
