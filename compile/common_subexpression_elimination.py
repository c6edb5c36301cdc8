"""Common subexpression elimination by value numbering: what is computed twice is computed once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..hlo import Computation, Instruction, Module, rebuild
from ..hlo.operation import CALLS, COMMUTATIVE, EFFECTFUL
from .pass_manager import module_pass
from .traversal import has_effects, on_operands, transform_computations

# Larger literals are equal only if they are the same array: hashing megabytes costs more than it finds.
LARGEST_COMPARED_LITERAL = 16384  # bytes


@module_pass("cse")
def eliminate_common_subexpressions(module: Module) -> Module:
    """Replaces each instruction by an earlier one that does the same to the same operands."""
    keys: dict[Computation, Any] = {}
    known: dict[Computation, bool] = {}
    return transform_computations(module, lambda computation: _eliminate(computation, keys, known))


def _eliminate(computation: Computation, keys: dict[Computation, Any], known: dict[Computation, bool]) -> Computation:
    seen: dict[Any, Instruction] = {}

    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        traits = instruction.operation.traits
        if instruction.opcode == "parameter":
            return on_operands(instruction, operands)
        if (CALLS in traits or EFFECTFUL in traits) and has_effects(instruction, known):
            return on_operands(instruction, operands)
        return seen.setdefault(_key(instruction, operands, keys), on_operands(instruction, operands))

    return rebuild(computation, transform)


def _key(instruction: Instruction, operands: tuple[Any, ...], keys: dict[Computation, Any]) -> tuple:
    """Equal for two instructions if and only if they do the same."""
    operation, shape = instruction.operation, instruction.shape
    if COMMUTATIVE in operation.traits and id(operands[0]) > id(operands[1]):
        operands = operands[::-1]
    # Without a stated shape, operands and attributes decide the shape.
    stated = shape if operation.wants_stated_shape or shape.is_tuple else None
    attributes = instruction.attributes
    values = tuple([_value_key(value, keys) for value in attributes.values()]) if attributes else ()
    annotations = tuple(sorted(instruction.annotations.items())) if instruction.annotations else ()
    return operation, operands, values, stated, annotations


def _value_key(value: Any, keys: dict[Computation, Any]) -> Any:
    if isinstance(value, np.ndarray):
        if value.nbytes > LARGEST_COMPARED_LITERAL:
            return id(value)
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, Computation):
        found = keys.get(value)
        return found if found is not None else keys.setdefault(value, computation_key(value, keys))
    if isinstance(value, tuple):
        return tuple([_value_key(element, keys) for element in value])
    # The type matters: True == 1, but they are different attribute values.
    return value if isinstance(value, str) else (type(value), value)


def computation_key(computation: Computation, keys: dict[Computation, Any] | None = None) -> tuple:
    """A hashable value, equal for two computations if and only if they do the same; ``keys`` remembers those of callees."""
    keys = {} if keys is None else keys
    position = {instruction: number for number, instruction in enumerate(computation.instructions)}
    lines = []
    for instruction in computation.instructions:
        operands = tuple([position[operand] for operand in instruction.operands])
        values = tuple([_value_key(value, keys) for value in instruction.attributes.values()])
        annotations = tuple(sorted(instruction.annotations.items()))
        lines.append((instruction.operation, operands, values, instruction.shape, annotations))
    return "computation", tuple(lines), position[computation.root]
