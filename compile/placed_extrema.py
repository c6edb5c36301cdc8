"""Reductions of elements with their places to the largest or smallest element and where it is first, as of `numpy.argmax`.

What is recognized is what a computation gives, not how it is written: where it only compares its elements, and its places, and
chooses among them, the results depend on how these are ordered alone, and all orders are tried.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from ..hlo import PRED, Computation, Evaluator, Instruction
from ..hlo.operation import ELEMENTWISE
from .memo import Memo

_known: Memo[Computation, tuple[bool | None]] = Memo()


def finds_largest(to_apply: Computation) -> bool | None:
    """Whether the largest element is found (True), or the smallest (False); None where it is neither.

    The parameters are an element and its place, then another element with its place. NaN is larger than all, or smaller; of
    equal ones the first is found, and NaN, and zeros, are equal.
    """
    known = _known.get(to_apply)
    if known is None:
        known = _known[to_apply] = (_found(to_apply),)
    return known[0]


def _found(to_apply: Computation) -> bool | None:
    if len(to_apply.parameters) != 4 or not all(map(_depends_on_order, to_apply.instructions)):
        return None
    shapes = [parameter.shape for parameter in to_apply.parameters]
    if any(shape.rank for shape in shapes) or shapes[0].element_type.is_complex or not shapes[1].element_type.is_integer:
        return None
    values = [0, 1, *([-0.0, np.nan] if shapes[0].element_type.is_float else [])]
    cases = [(x, i, y, 1 - i) for x, y in product(values, values) for i in (0, 1)]
    columns = [np.array(column, shape.dtype) for column, shape in zip(zip(*cases), shapes)]
    results = Evaluator().elementwise(to_apply, *columns)
    if len(results) != 2:
        return None
    for is_largest in (True, False):
        expected = [(x, i) if _is_first(x, i, y, j, is_largest) else (y, j) for x, i, y, j in cases]
        wanted = (np.array(column, shape.dtype) for column, shape in zip(zip(*expected), shapes))
        if all(_same(*pair) for pair in zip(results, wanted)):
            return is_largest
    return None


def _depends_on_order(instruction: Instruction) -> bool:
    if instruction.opcode == "compare":
        numbers = [one.attributes["number"] if one.opcode == "parameter" else -1 for one in instruction.operands]
        return min(numbers) >= 0 and numbers[0] % 2 == numbers[1] % 2 and instruction.attributes["type"] != "TOTALORDER"
    if ELEMENTWISE in instruction.operation.traits and instruction.opcode != "select":
        return all(one.shape.element_type is PRED for one in (instruction, *instruction.operands))
    return instruction.opcode in ("parameter", "select") or instruction.opcode == "tuple"


def _is_first(x: float, i: int, y: float, j: int, is_largest: bool) -> bool:
    if np.isnan(x) or np.isnan(y):
        return i < j if np.isnan(x) and np.isnan(y) else bool(np.isnan(x))
    return i < j if x == y else (x > y) == is_largest


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    if one.dtype.kind == "f":
        return np.array_equal(one, other, equal_nan=True) and np.array_equal(np.signbit(one), np.signbit(other))
    return np.array_equal(one, other)
