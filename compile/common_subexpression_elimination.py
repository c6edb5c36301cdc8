"""Common subexpression elimination by value numbering: what is computed twice is computed once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..hlo import Computation, Instruction, rebuild
from ..hlo.instruction import callees_first
from ..hlo.operation import CALLS, COMMUTATIVE, EFFECTFUL
from .pass_manager import module_pass
from .traversal import has_effects, of_each_computation, on_operands

# Larger literals are equal only if they are the same array: hashing megabytes costs more than it finds.
LARGEST_COMPARED_LITERAL = 16384  # bytes


def _first_that_calls_the_same(
    instruction: Instruction, operands: tuple[Instruction, ...], alike: list[Instruction], keys: ComputationKeys
) -> Instruction:
    """The first of those that are alike but for what they call, or the instruction itself, which becomes one of them."""
    made = on_operands(instruction, operands)
    if alike:  # few are, and what they call may be long
        called = list(map(keys.number, made.called_computations))
        for one in alike:
            if called == list(map(keys.number, one.called_computations)):
                return one
    alike.append(made)
    return made


def _key(instruction: Instruction, operands: tuple[Any, ...]) -> tuple:
    """Equal for two instructions if and only if they do the same, if the computations that they call do."""
    operation, shape = instruction.operation, instruction.shape
    if COMMUTATIVE in operation.traits and id(operands[0]) > id(operands[1]):
        operands = operands[::-1]
    # Without a stated shape, operands and attributes decide the shape.
    stated = shape if operation.wants_stated_shape or shape.is_tuple else None
    attributes = instruction.attributes
    values = tuple([attribute_key(value) for value in attributes.values()]) if attributes else ()
    annotations = tuple(sorted(instruction.annotations.items())) if instruction.annotations else ()
    return operation, operands, values, stated, annotations


_PLAIN = frozenset({int, bool, str, type(None)})


def attribute_key(value: Any, keys: ComputationKeys | None = None) -> Any:
    """A hashable value, equal for two values of attributes if and only if they are; for keys made with the same ``keys``.

    Without, all computations are equal.
    """
    kind = type(value)
    if kind in _PLAIN:
        return kind, value  # the type matters: True == 1, but they are different attribute values
    if isinstance(value, tuple):
        kinds = tuple(map(type, value))
        if _PLAIN.issuperset(kinds):
            return kinds, value
        return tuple([attribute_key(element, keys) for element in value])
    if isinstance(value, np.ndarray):
        if value.nbytes > LARGEST_COMPARED_LITERAL:
            return id(value)
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, Computation):
        return "computation", None if keys is None else keys.number(value)
    return kind, value


class ComputationKeys:
    """Numbers computations, such that two have the same number if and only if they do the same.

    Numbers, since a key that held those of its callees would be hashed and compared as often as there are ways to them.
    """

    def __init__(self) -> None:
        self._numbers: dict[Computation, int] = {}
        self._known: dict[tuple, int] = {}

    def number(self, computation: Computation) -> int:
        known = self._numbers.get(computation)
        if known is not None:
            return known
        for callee in callees_first(computation, self._numbers):
            self._numbers[callee] = self._known.setdefault(_computation_key(callee, self), len(self._known))
        return self._numbers[computation]


def _computation_key(computation: Computation, keys: ComputationKeys) -> tuple:
    position = {instruction: number for number, instruction in enumerate(computation.instructions)}
    lines = []
    for instruction in computation.instructions:
        operands = tuple([position[operand] for operand in instruction.operands])
        values = tuple([attribute_key(value, keys) for value in instruction.attributes.values()])
        annotations = tuple(sorted(instruction.annotations.items()))
        lines.append((instruction.operation, operands, values, instruction.shape, annotations))
    return tuple(lines), position[computation.root]


@module_pass("cse")
@of_each_computation(ComputationKeys)
def eliminate_common_subexpressions(computation: Computation, keys: ComputationKeys) -> Computation:
    """Replaces each instruction by an earlier one that does the same to the same operands."""
    return without_common_subexpressions(computation, keys)


def without_common_subexpressions(computation: Computation, keys: ComputationKeys) -> Computation:
    """One computation as the pass leaves it: also a fused one, which the pass takes for finished."""
    seen: dict[Any, Instruction] = {}
    calling: dict[Any, list[Instruction]] = {}

    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        traits = instruction.operation.traits
        if instruction.opcode == "parameter":
            return on_operands(instruction, operands)
        calls = CALLS in traits
        if (calls or EFFECTFUL in traits) and has_effects(instruction):
            return on_operands(instruction, operands)
        if calls:
            return _first_that_calls_the_same(instruction, operands, calling.setdefault(_key(instruction, operands), []), keys)
        return seen.setdefault(_key(instruction, operands), on_operands(instruction, operands))

    return rebuild(computation, transform)
