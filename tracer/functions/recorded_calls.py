"""Instructions that a call records again as they were recorded for a call like it.

A Python loop calls the same ufuncs on the same shapes in every round. What a ufunc records depends on the shapes and types of
its operands, and on the values of numbers, alone; so the second such call copies what the first one found out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ... import hlo
from ...hlo.source_lines import user_location
from ..recording.array import TracedArray
from ..recording.trace import Trace

Instruction = hlo.Instruction


class _Step(NamedTuple):
    """One instruction: its operands are positions among the call's operands and the steps before it."""

    operation: hlo.Operation
    operands: tuple[int, ...]
    attributes: dict[str, Any]
    shape: hlo.shape.AnyShape


class _Recorded(NamedTuple):
    """What a call records, and the positions of its results."""

    steps: tuple[_Step, ...]
    results: tuple[int, ...]


def record_again(
    trace: Trace, call: tuple, inputs: tuple, record: Callable[[], tuple[Instruction, ...]]
) -> tuple[Instruction, ...]:
    """What ``record()`` returns: the results of a call, which it records; or what it returned for a call like this one.

    ``call`` is hashable and tells apart all that the record depends on besides the inputs: traced arrays and numbers.
    """
    alike, operands = list(call), []
    for value in inputs:
        form = _form(trace, value, operands)
        if form is None:
            return record()
        alike.append(form)
    recorded_calls, key = trace.program.recorded_calls, tuple(alike)
    known = recorded_calls.get(key)
    if known is not None:
        return _append(trace, known, operands)
    made, errors = trace.builder.instructions, trace.program.error_messages
    before = len(made), len(errors)
    results = record()
    if len(errors) == before[1]:
        recorded = _recorded(operands, made[before[0] :], results)
        if recorded is not None:
            recorded_calls[key] = recorded
    return results


def _form(trace: Trace, value: Any, operands: list[Instruction]) -> tuple | None:
    """What is alike in values that are treated alike; None where that is not known.

    The instruction of a traced value is added to the operands, once: that a call has one of them twice counts, too.
    """
    if type(value) is TracedArray:
        instruction = value.instruction(trace)
        shape = instruction.shape
        if instruction.opcode in _WHOSE_VALUE_COUNTS or shape.layout is not None or shape.dynamic_dimensions:
            return None
        if value.exact is not None:
            return None
        if instruction in operands:
            return operands.index(instruction), value.weak_type
        operands.append(instruction)
        return value.element_type, value.shape, value.weak_type and trace.program.intervals.get(instruction, True)
    if type(value) in (int, float, complex, bool):
        return type(value), repr(value)  # as numbers, 0.0 and -0.0 are equal
    if isinstance(value, np.generic):
        return type(value), value.tobytes()
    return None


# Kernels write a division by a constant in another way (`scalar_value`).
_WHOSE_VALUE_COUNTS = frozenset({"constant", "broadcast"})


def _recorded(operands: list[Instruction], made: list[Instruction], results: tuple[Instruction, ...]) -> _Recorded | None:
    """The instructions with positions in place of operands; None where they use others than the call's operands."""
    positions = {instruction: position for position, instruction in enumerate((*operands, *made))}
    used = [operand for instruction in made for operand in instruction.operands]
    if not all(instruction in positions for instruction in (*used, *results)):
        return None
    steps = [_Step(m.operation, tuple([positions[o] for o in m.operands]), m.attributes, m.shape) for m in made]
    return _Recorded(tuple(steps), tuple([positions[result] for result in results]))


def _append(trace: Trace, recorded: _Recorded, operands: list[Instruction]) -> tuple[Instruction, ...]:
    values, source = list(operands), user_location()
    for operation, positions, attributes, shape in recorded.steps:
        arguments = tuple([values[position] for position in positions])
        values.append(trace.builder.append(Instruction(operation, arguments, attributes, shape, "", source)))
    return tuple([values[position] for position in recorded.results])
