"""A computation over all rounds of a loop: each instruction by the rule of its opcode."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ... import hlo
from ...hlo import Computation, Instruction, Shape, leaves, make_instruction
from ...hlo.builder import UnattachedBuilder
from ...hlo.instruction import post_order
from ...hlo.operation import ELEMENTWISE
from ..cost import vector_instructions
from ..loop_state import PROGRESSION_RULES, Progression
from ..traversal import is_control_flow
from ..trip_count import known_trip_count
from .values import Carried, Fixed, Initial, NotBatchedError, Read, Value, Varying

_FOR_FEW = "a branch does much, and perhaps in few rounds"
# What a branch computes is computed in all rounds, if it is but chosen in one of a thousand, or none.
_MOST_BRANCH_INSTRUCTIONS = 45
_MOST_BRANCH_ELEMENTS = 64

Rule = Callable[["Batch", Instruction, Sequence[Value]], Value]
_RULES: dict[str, Rule] = {}


def rule(opcode: str) -> Callable[[Rule], Rule]:
    """Puts a rule into the table."""

    def register(found: Rule) -> Rule:
        _RULES[opcode] = found
        return found

    return register


class Batch:
    """Batches instructions without effects over ``count`` rounds; arrays have ``most_bytes`` at most.

    ``reads`` collects what is read of arrays that the loop may write.
    """

    def __init__(self, count: int, most_bytes: int) -> None:
        self.count, self.most_bytes = count, most_bytes
        self.reads: list[Read] = []
        self._branches = 0  # that are being batched, one within the other

    def run(self, wanted: Sequence[Instruction], known: dict[Instruction, Value]) -> list[Value]:
        """The values of the wanted instructions, given some; adds all that it needs to those known. Raises NotBatchedError."""
        for root in wanted:
            for instruction in post_order(root, known):
                if instruction not in known:
                    with UnattachedBuilder("batch", where=lambda instruction=instruction: instruction.source):
                        known[instruction] = self._value(instruction, [known[operand] for operand in instruction.operands])
        return [known[root] for root in wanted]

    def _value(self, instruction: Instruction, operands: list[Value]) -> Value:
        opcode = instruction.opcode
        if opcode == "tuple":
            return operands
        if opcode == "get-tuple-element" and isinstance(operands[0], list):
            return operands[0][instruction.attributes["index"]]
        is_dynamic = any(shape.dynamic_dimensions for shape in leaves(instruction.shape))
        if opcode == "parameter" or is_dynamic:
            raise NotBatchedError(opcode)
        if self._branches and _is_for_few(instruction):
            raise NotBatchedError(_FOR_FEW)
        if any(type(operand) is Carried for operand in operands):
            raise NotBatchedError("a round needs what the one before it has computed")
        if all(type(operand) is Fixed for operand in operands) and not is_control_flow(instruction):
            return Fixed(instruction.with_operands([operand.instruction for operand in operands]))
        found = _RULES.get(opcode) or (_elementwise if ELEMENTWISE in instruction.operation.traits else None)
        if found is None:
            raise NotBatchedError(opcode)
        return found(self, instruction, operands)

    def branch(self, computation: Computation, argument: Value) -> Value:
        """What a branch makes of its argument: computed in each round, also in those that do not choose it."""
        if vector_instructions(computation) > _MOST_BRANCH_INSTRUCTIONS:
            raise NotBatchedError(_FOR_FEW)
        (parameter,) = computation.parameters
        self._branches += 1
        try:
            return self.run([computation.root], {parameter: argument})[0]
        finally:
            self._branches -= 1

    def rows(self, value: Value, dimensions: Sequence[int]) -> Instruction:
        """The array of all rounds' values, each of these dimensions; what is a scalar stands for all elements."""
        if type(value) not in (Fixed, Varying):
            raise NotBatchedError("an array that the loop writes is used as a whole")
        array, is_fixed = value.instruction, type(value) is Fixed
        whole = (self.count, *dimensions)
        if array.shape.with_dimensions(whole).byte_size > self.most_bytes:
            raise NotBatchedError("arrays would be too large")
        if array.shape.rank == len(dimensions) + (not is_fixed):
            return hlo.broadcast_in_dim(array, whole, range(1, len(whole))) if is_fixed else array
        return hlo.broadcast_in_dim(array, whole, () if is_fixed else (0,))

    def read(self, value: Value, places: tuple[Value, ...]) -> Value:
        """What a block is read from, as a value in each round."""
        if type(value) is not Initial:
            return value
        self.reads.append(Read(value.leaf, places))
        return Fixed(value.instruction)


def _is_for_few(instruction: Instruction) -> bool:
    """Whether a round must not do this that does not need it: a loop that may never end then, or work on many elements."""
    if is_control_flow(instruction):
        return instruction.opcode == "while" and known_trip_count(instruction) is None
    # Of the array from which a block is taken, or in which it is put, nothing else is touched.
    arrays = {
        "dynamic-slice": (instruction,),
        "dynamic-update-slice": instruction.operands[1:],
        "get-tuple-element": (),
    }.get(instruction.opcode, (instruction, *instruction.operands))
    return any(leaf.size > _MOST_BRANCH_ELEMENTS for array in arrays for leaf in leaves(array.shape))


def _elementwise(batch: Batch, instruction: Instruction, operands: Sequence[Value]) -> Value:
    shape = instruction.shape
    arrays = [batch.rows(operand, shape.dimensions) for operand in operands]
    whole = Shape(shape.element_type, (batch.count, *shape.dimensions))
    result = make_instruction(instruction.opcode, arrays, instruction.attributes, whole, source=instruction.source)
    return Varying(result, _progression(instruction, operands))


def _progression(instruction: Instruction, operands: Sequence[Value]) -> Progression | None:
    rule = PROGRESSION_RULES.get(instruction.opcode)
    if rule is None or instruction.shape.rank or not instruction.shape.element_type.is_integer:
        return None
    parts = [_known_progression(operand) for operand in operands]
    return None if None in parts else rule(*parts)


def _known_progression(value: Value) -> Progression | None:
    if type(value) is Varying:
        return value.progression
    constant = value.instruction
    return (int(constant.attributes["literal"]), 0) if constant.opcode == "constant" and not constant.shape.rank else None
