"""Traced values that do not depend on the call: what Python needs of them is computed while the function is traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

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

    Counters behind loops of a known number of rounds are known.

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
        counted = _counted(current)
        if counted is None and not _can_be_computed(current):
            memo[current] = _UNKNOWN
            continue
        operands = current.operands if counted is None else counted.begins
        missing = [operand for operand in operands if operand not in memo]
        if missing:
            pending.extend((owner, operand) for operand in missing)
            continue
        operands = tuple([memo[operand] for operand in operands])
        if any(one is _UNKNOWN for one in operands):
            memo[current] = _UNKNOWN
        else:
            memo[current] = _computed(current, operands) if counted is None else counted.end(*operands)
    found = memo[instruction]
    return None if found is _UNKNOWN else found


class _Counted(NamedTuple):
    """An integer to which each round of a loop adds the same: where the loop's own counter and the integer begin."""

    begins: tuple[hlo.Instruction, hlo.Instruction]
    limit: int
    step: int
    dtype: np.dtype

    def end(self, first: Any, begin: Any) -> Any:
        return np.array(int(begin) + max(self.limit - int(first), 0) * self.step).astype(self.dtype)


def _counted(instruction: hlo.Instruction) -> _Counted | None:
    """What a number of rounds that is known makes of a part of a loop's state; None where it is something else."""
    loop = instruction.operands[0] if instruction.opcode == "get-tuple-element" else None
    if loop is None or loop.opcode != "while" or not instruction.shape.element_type.is_integer or instruction.shape.rank:
        return None
    test, begin = loop.attributes["condition"].root, loop.operands[0]
    if test.opcode != "compare" or test.attributes["direction"] != "LT" or begin.opcode != "tuple":
        return None
    counter, limit = test.operands
    following = loop.attributes["body"].root.operands if loop.attributes["body"].root.opcode == "tuple" else ()
    if counter.opcode != "get-tuple-element" or limit.opcode != "constant" or not following:
        return None
    places = counter.attributes["index"], instruction.attributes["index"]
    steps = [_step(following[place], place) for place in places]
    if steps[0] != 1 or steps[1] is None:
        return None
    begins = begin.operands[places[0]], begin.operands[places[1]]
    return _Counted(begins, int(limit.attributes["literal"]), steps[1], instruction.shape.dtype)


def _step(value: hlo.Instruction, place: int) -> int | None:
    """What a round adds to the part of the state at this place."""

    def is_state(one: hlo.Instruction) -> bool:
        return one.opcode == "get-tuple-element" and one.attributes["index"] == place and one.operands[0].opcode == "parameter"

    if is_state(value):
        return 0
    if value.opcode != "add" or value.shape.rank:
        return None
    for one, other in (value.operands, value.operands[::-1]):
        if is_state(one) and other.opcode == "constant":
            return int(other.attributes["literal"])
    return None


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
