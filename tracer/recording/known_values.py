"""Traced values that do not depend on the call: what Python needs of them is computed while the function is traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import hlo
from ...compile.traversal import has_effects
from ...hlo.evaluation import evaluate_instruction
from ...hlo.operation import CONTROL_FLOW

if TYPE_CHECKING:
    from .trace import Trace

LARGEST = 1 << 20  # elements of a value that is computed
_UNKNOWN = object()


def known_value(trace: Trace, instruction: hlo.Instruction) -> Any:
    """The value of an instruction of this trace, None where it depends on arguments, captured arrays or a loop's state.

    In a loop this is what the value is in the first round; the trace keeps what it was taken from (``taken_as_known``).
    """
    memo = trace.program.known_values
    pending = [(trace, instruction)]
    while pending:
        owner, current = pending[-1]
        if current in memo:
            pending.pop()
            continue
        storage = owner.entries.get(current)
        if storage is not None:
            if owner.parent is None or storage in owner.changing:
                memo[current] = _UNKNOWN
                continue
            outside = owner.parent.read(storage)
            if outside not in memo:
                pending.append((owner.parent, outside))
                continue
            memo[current] = memo[outside]
            if owner.repeats and memo[outside] is not _UNKNOWN:
                owner.taken_as_known.add(storage)
            continue
        if not _can_be_computed(current):
            memo[current] = _UNKNOWN
            continue
        missing = [operand for operand in current.operands if operand not in memo]
        if missing:
            pending.extend((owner, operand) for operand in missing)
            continue
        operands = tuple([memo[operand] for operand in current.operands])
        memo[current] = _UNKNOWN if any(one is _UNKNOWN for one in operands) else _computed(current, operands)
    found = memo[instruction]
    return None if found is _UNKNOWN else found


def _can_be_computed(instruction: hlo.Instruction) -> bool:
    if instruction.opcode == "parameter" or instruction.has_trait(CONTROL_FLOW) or instruction.opcode.startswith("rng"):
        return False
    if instruction.operation.evaluate_function is None or has_effects(instruction):
        return False
    return all(shape.size <= LARGEST for shape in hlo.leaves(instruction.shape))


def _computed(instruction: hlo.Instruction, operands: tuple[Any, ...]) -> Any:
    try:
        with np.errstate(all="ignore"):
            return evaluate_instruction(instruction, operands, hlo.Evaluator())
    except (RuntimeError, NotImplementedError):  # it needs a running program
        return _UNKNOWN
