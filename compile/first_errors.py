"""The state of a loop that holds the first error: 0 as long as there is none, and never changed after that.

Such a state is written ``error = select(error == 0 and it_is_wrong, code, error)``, once or several times in a round.
"""

from __future__ import annotations

from .. import hlo
from ..hlo import Instruction, scalar_computation
from .batching import Batch, Fixed, Value
from .loop_state import is_state

Users = dict[Instruction, list[Instruction]]


def keeps_first_error(root: Instruction, leaf: int, users: Users) -> bool:
    """Whether all that a body does with an element of the state, of which ``root`` follows, is to set it where it is 0."""
    if root.shape.is_tuple or root.shape.rank or not root.shape.element_type.is_integer:
        return False
    stages: set[Instruction] = set()
    if root.opcode != "select" or not _collect(root, leaf, stages):
        return False
    questions = {user for stage in stages for user in users[stage] if _is_zero_test(user, stage)}
    conditions = {user for question in questions for user in users[question] if user.opcode == "and"}
    known = stages | questions | conditions
    others = [user for one in known if one is not root for user in users[one] if user not in known]
    return not others and len(users[root]) == 1


def _collect(value: Instruction, leaf: int, stages: set[Instruction]) -> bool:
    """Add the stages of the state on the way to a value, if it is always the first error."""
    if value in stages:
        return True
    if not (is_state(value) and value.attributes["index"] == leaf):
        if value.opcode != "select":
            return False
        predicate, on_true, on_false = value.operands
        if not _collect(on_false, leaf, stages):
            return False
        if not _asks(predicate, on_false) and not _collect(on_true, leaf, stages):
            return False
    stages.add(value)
    return True


def _asks(predicate: Instruction, stage: Instruction) -> bool:
    """Whether a predicate holds only where the state is 0."""
    if predicate.opcode == "and":
        return any(_asks(operand, stage) for operand in predicate.operands)
    return _is_zero_test(predicate, stage)


def _is_zero_test(comparison: Instruction, stage: Instruction) -> bool:
    if comparison.opcode != "compare" or comparison.attributes["direction"] != "EQ" or comparison.operands[0] is not stage:
        return False
    other = comparison.operands[1]
    return other.opcode == "constant" and int(other.attributes["literal"]) == 0


def first_error(batch: Batch, value: Value, start: Instruction) -> Instruction:
    """The state behind the loop, given the error of each round alone, 0 where there is none."""
    zero = hlo.constant(0, start.shape.element_type)
    if type(value) is Fixed:
        found = value.instruction
    else:
        errors, behind = batch.rows(value, ()), hlo.constant(batch.count, hlo.S64)
        numbers = hlo.iota(errors.shape.with_dimensions((batch.count,)).with_element_type(hlo.S64), 0)
        wrong = hlo.select(hlo.ne(errors, 0), numbers, hlo.broadcast(behind, (batch.count,), ()))
        first = hlo.emit("reduce", wrong, behind, dimensions=(0,), to_apply=scalar_computation("minimum", hlo.S64))
        error = hlo.reshape(hlo.dynamic_slice(errors, first, sizes=(1,)), ())
        found = hlo.select(hlo.lt(first, behind), error, zero)
    return hlo.select(hlo.eq(start, zero), found, start)
