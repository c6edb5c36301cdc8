"""In which interval Python's integers lie, as far as it is known while tracing.

A Python integer is traced as an s64, which is what it means only as long as every result of its arithmetic fits. So each
integer argument is traced for an interval of values, calls with others trace again (`tracer.calls.integers`), and what is
computed from it has an interval, too. Where no interval shows that a result fits, the argument's is made smaller
(`UnprovenInterval`), down to its value alone; a number that does not come from arguments, or comes out of a loop, is checked
when the program runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import hlo
from ...hlo.operation import ELEMENTWISE
from .current_trace import current_trace
from .errors import IntegerOverflow

if TYPE_CHECKING:
    from .array import TracedArray
    from .trace import Trace

Interval = tuple[int, int]

INT64: Interval = (-(2**63), 2**63 - 1)
SMALL: Interval = (-(2**31), 2**31 - 1)
# What a loop carries. Steps of less than 2**32 do not lead out of 64 bits from there in the time that a program has.
CARRIED: Interval = (-(2**62), 2**62)
_STEP = 2**32


class UnprovenInterval(BaseException):
    """A function has to be traced again, for fewer values of integers. No Exception, so that it passes by handlers.

    ``sources`` are the parameters that these integers are; ``wanted`` is the interval in which one has to lie, where it is one
    alone that is used as it is. ``outside`` has the keys of the paths of those that are read from outside.
    """

    def __init__(self, sources: frozenset[hlo.Instruction], wanted: Interval | None) -> None:
        super().__init__("an integer may not be computed with as Python does")
        self.sources, self.wanted = sources, wanted
        self.outside: frozenset[tuple] = frozenset()


def within(inner: Interval, outer: Interval) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def hull(*intervals: Interval) -> Interval:
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def interval_of(trace: Trace, value: Any) -> Interval:
    """In which interval a Python int, or a traced one, lies."""
    return (int(value), int(value)) if isinstance(value, int) else interval_of_instruction(trace, value.instruction(trace))


def interval_of_instruction(trace: Trace, instruction: hlo.Instruction) -> Interval:
    if instruction.shape.element_type is hlo.PRED:
        return 0, 1
    return _known_interval(trace, instruction, _DEEPEST) or INT64


# What takes elements of some operands as they are: which of these.
_MOVES = {
    "broadcast": slice(1), "concatenate": slice(None), "dynamic-slice": slice(1), "reshape": slice(1), "select": slice(1, 3),
    "slice": slice(1),
}  # fmt: skip
_DEEPEST = 8


def _known_interval(trace: Trace, instruction: hlo.Instruction, depth: int) -> Interval | None:
    found = trace.interval_of_input(instruction)
    if found is not None or not depth:
        return found
    storage = trace.entries.get(instruction) if trace.parent is not None else None
    if storage is not None:
        return _known_interval(trace.parent, trace.parent.read(storage), depth)
    if instruction.opcode == "constant":
        literal = np.asarray(instruction.attributes["literal"])
        return (int(literal.min()), int(literal.max())) if literal.size else None
    if instruction.opcode not in _MOVES:
        return None
    parts = [_known_interval(trace, operand, depth - 1) for operand in instruction.operands[_MOVES[instruction.opcode]]]
    return hull(*parts) if parts and None not in parts else None


# --- what a condition says ---

_SWAPPED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "EQ": "EQ"}
_OTHERWISE = {"LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT", "NE": "EQ", "EQ": "NE"}


def narrowed(trace: Trace, predicate: hlo.Instruction, holds: bool) -> dict[hlo.Instruction, Interval]:
    """In which intervals integers of the trace lie where a predicate of it holds, or where it does not."""
    found: dict[hlo.Instruction, Interval] = {}
    for comparison, is_true in _comparisons(predicate, holds, _DEEPEST):
        first, second = comparison.operands
        if first.shape.element_type is not hlo.S64 or first.shape.rank:
            continue
        direction = comparison.attributes["direction"]
        direction = direction if is_true else _OTHERWISE[direction]
        for number, other, relation in ((first, second, direction), (second, first, _SWAPPED.get(direction))):
            low, high = found.get(number) or interval_of_instruction(trace, number)
            least, most = interval_of_instruction(trace, other)
            if relation in ("GT", "GE", "EQ"):
                low = max(low, least + (relation == "GT"))
            if relation in ("LT", "LE", "EQ"):
                high = min(high, most - (relation == "LT"))
            if low <= high:  # else nobody comes here
                found[number] = low, high
    return found


def _comparisons(predicate: hlo.Instruction, holds: bool, depth: int) -> Iterator[tuple[hlo.Instruction, bool]]:
    """The comparisons that are known to be true, or false, where the predicate is."""
    opcode, operands = predicate.opcode, predicate.operands
    if opcode == "compare":
        yield predicate, holds
    elif not depth:
        return
    elif opcode == "not":
        yield from _comparisons(operands[0], not holds, depth - 1)
    elif opcode in ("and", "or") and holds == (opcode == "and"):
        for operand in operands:
            yield from _comparisons(operand, holds, depth - 1)
    elif opcode == "select":  # as `and` and `or` are recorded: what is selected otherwise does not hold
        test, on_true, on_false = operands
        for side, constant, is_true in ((on_true, on_false, True), (on_false, on_true, False)):
            if constant.opcode == "constant" and bool(constant.attributes["literal"]) != holds:
                yield from _comparisons(test, is_true, depth - 1)
                yield from _comparisons(side, holds, depth - 1)


def is_traced_integer(value: Any) -> bool:
    """Whether this is a Python integer that the program computes."""
    return getattr(value, "weak_type", False) and value.is_scalar and value.element_type is hlo.S64


def note_carried(trace: Trace, value: Any) -> None:
    """The value comes out of a loop's state, for which `require_carried` has let pass what it was."""
    note_interval(trace, value, (CARRIED[0] - _STEP, CARRIED[1] + _STEP))
    if is_traced_integer(value):
        note_checked(trace, value.instruction(trace))


def note_checked(trace: Trace, instruction: hlo.Instruction) -> None:
    """What this integer is shows when the program runs alone, whatever the intervals of arguments."""
    trace.program.checked_integers.add(instruction)


def note_interval(trace: Trace, value: Any, interval: Interval) -> None:
    """The value, if it is a Python integer that the program computes, is known to lie in this interval."""
    if is_traced_integer(value):
        trace.program.intervals[value.instruction(trace)] = interval


def require(
    trace: Trace,
    numbers: Sequence[Any],
    violated: Callable[[], hlo.Instruction],
    error: Exception,
    wanted: Interval | None = None,
) -> None:
    """For what the intervals of integers do not show: they have to, where the numbers come from arguments and outside alone.

    Elsewhere the program raises the error when it runs, if what ``violated`` writes, a pred[], is true.
    """
    require_shown(trace, numbers, wanted)
    trace.add_raise(violated(), error)


def require_shown(trace: Trace, numbers: Sequence[Any], wanted: Interval | None = None) -> None:
    """Ask for smaller intervals of the arguments, where these numbers come from arguments and outside alone."""
    traced = [number for number in numbers if not isinstance(number, (int, float, complex))]
    instructions = [number.instruction(trace) for number in traced]
    sources = [trace.sources(instruction) for instruction in instructions]
    known = frozenset().union(*sources) if None not in sources else frozenset()
    if not known or not known <= trace.program.python_integers or any(_is_opaque(trace, one) for one in instructions):
        return
    itself = len(traced) == 1 and _is_source(trace, instructions[0])
    trace.program.unproven = UnprovenInterval(known, wanted if itself else None)
    raise trace.program.unproven


def _is_opaque(trace: Trace, instruction: hlo.Instruction, depth: int = _DEEPEST) -> bool:
    """Whether fewer values of arguments would show nothing of it: it comes out of a loop, or a table that is written."""
    if instruction in trace.program.checked_integers:
        return True
    storage = trace.entries.get(instruction) if trace.parent is not None else None
    if storage is not None:
        return _is_opaque(trace.parent, trace.parent.read(storage), depth)
    opcode, operands = instruction.opcode, instruction.operands
    if opcode == "dynamic-slice":
        return operands[0].opcode != "constant"
    if opcode == "get-tuple-element":
        return operands[0].opcode == "while" or not within(interval_of_instruction(trace, instruction), CARRIED)
    if not depth or opcode != "reshape" and not instruction.has_trait(ELEMENTWISE):
        return False
    return any(_is_opaque(trace, one, depth - 1) for one in operands[opcode == "select" :])


def _is_source(trace: Trace, instruction: hlo.Instruction) -> bool:
    """Whether an instruction, which may be one of an inner trace, is an integer argument or one from outside."""
    while trace.parent is not None:
        storage = trace.entries.get(instruction)
        if storage is None:
            return False
        trace = trace.parent
        instruction = trace.read(storage)
    return instruction in trace.program.python_integers


def require_fits(trace: Trace, value: TracedArray, element_type: hlo.ElementType) -> None:
    """A Python integer becomes an element of an integer array: OverflowError, as in NumPy, where that has no such number."""
    if is_shown_to_fit(trace, value, element_type):
        return
    limits, number = np.iinfo(element_type.dtype), value.instruction(trace)
    outside = hlo.lt(number, max(int(limits.min), INT64[0]))
    if limits.max < INT64[1]:
        outside = hlo.or_(outside, hlo.gt(number, int(limits.max)))
    trace.add_error_flag(outside, OverflowError, f"Python integer {{}} out of bounds for {element_type.dtype}", number)


def is_shown_to_fit(trace: Trace, value: TracedArray, element_type: hlo.ElementType) -> bool:
    """Whether the type has the integer, whatever the program computes; where arguments could show it they have to."""
    limits = np.iinfo(element_type.dtype)
    wanted = int(limits.min), int(limits.max)
    if within(interval_of(trace, value), wanted):
        return True
    require_shown(trace, (value,), wanted)
    return False


def require_carried(value: Any) -> None:
    """What becomes part of a loop's state, if it is a Python integer."""
    if not is_traced_integer(value):
        return
    trace = current_trace()
    low, high = interval_of(trace, value)
    if low < CARRIED[0] - _STEP or high > CARRIED[1] + _STEP:
        number = value.instruction(trace)
        beyond = hlo.or_(hlo.lt(number, CARRIED[0] - _STEP), hlo.gt(number, CARRIED[1] + _STEP))
        trace.add_raise(beyond, IntegerOverflow(IntegerOverflow.MESSAGE))


def number_form_key(value: Any) -> Any:
    """What compiled code was made for of a number, None for what cannot be an input."""
    if type(value) is int and not SMALL[0] <= value <= SMALL[1]:
        return None
    return type(value)
