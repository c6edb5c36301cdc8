"""Whether two computations are the same program."""

from __future__ import annotations

from typing import Any

import numpy as np

from .instruction import Computation, Instruction


def same_computation(first: Computation, second: Computation) -> bool:
    """Whether the instructions agree one by one: operations, operands, attributes, shapes and roots; names do not count."""
    if first is second:
        return True
    if len(first.instructions) != len(second.instructions):
        return False
    position = {instruction: number for number, instruction in enumerate(first.instructions)}
    other = {instruction: number for number, instruction in enumerate(second.instructions)}
    if position[first.root] != other[second.root]:
        return False
    for mine, yours in zip(first.instructions, second.instructions):
        if [position[operand] for operand in mine.operands] != [other[operand] for operand in yours.operands]:
            return False
        if not same_operation(mine, yours):
            return False
    return True


def same_operation(first: Instruction, second: Instruction) -> bool:
    """Whether two instructions do the same, their operands aside."""
    return (
        first.operation is second.operation
        and first.shape == second.shape
        and dict(first.annotations) == dict(second.annotations)
        and all(_same_value(first.attributes[name], second.attributes[name]) for name in first.operation.attributes)
    )


def _same_value(first: Any, second: Any) -> bool:
    if isinstance(first, Computation):
        return isinstance(second, Computation) and same_computation(first, second)
    if isinstance(first, tuple):
        return isinstance(second, tuple) and len(first) == len(second) and all(map(_same_value, first, second))
    if isinstance(first, np.ndarray):
        # Bits, not values: NaN equals itself and -0 differs from +0.
        return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()
    return first == second
