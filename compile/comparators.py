"""Comparators that order by a key: one operand's elements as they are, ascending or descending.

What is recognized: ``a < b`` and ``a > b`` of integers and pred; of floats in total order; and of floats as NumPy orders them,
``a < b or (b is NaN and a is not)``, and as JAX does, zeros and NaN made the same first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..hlo import Computation, ElementType, Instruction


class SortKey(NamedTuple):
    """``operand`` is the number of the operand that is compared. With ``zeros_equal`` -0 equals +0, and all NaN are equal."""

    operand: int
    element_type: ElementType
    is_descending: bool
    zeros_equal: bool


def sort_key(comparator: Computation) -> SortKey | None:
    """The key by which a comparator orders, None where it is not recognized."""
    root = comparator.root
    if root.opcode == "or":
        return _numpy_order(root)
    if root.opcode != "compare":
        return None
    direction, type_ = root.attributes["direction"], root.attributes["type"]
    if direction not in ("LT", "GT"):
        return None
    first, second = root.operands
    canonical = False
    if first.opcode == "select":
        first, second, canonical = _canonicalized(first), _canonicalized(second), True
    if first is None or second is None or not _is_pair(first, second):
        return None
    element_type = first.shape.element_type
    total = element_type.is_float and type_ == "TOTALORDER"
    if element_type.is_complex or element_type.is_float and not total or not element_type.has_order_of_bytes:
        return None
    return SortKey(first.attributes["number"] // 2, element_type, direction == "GT", canonical)


def _is_pair(first: Instruction, second: Instruction) -> bool:
    """Whether they are the two elements of one operand, in order."""
    if first.opcode != "parameter" or second.opcode != "parameter":
        return False
    number = first.attributes["number"]
    return number % 2 == 0 and second.attributes["number"] == number + 1


def _compares(instruction: Instruction, direction: str, first: Instruction, second: Instruction) -> bool:
    return (
        instruction.opcode == "compare"
        and instruction.attributes["direction"] == direction
        and instruction.attributes["type"] in ("", "FLOAT")
        and instruction.operands == (first, second)
    )


def _numpy_order(root: Instruction) -> SortKey | None:
    """``(a < b) or (b != b and a == a)``, for a float type."""
    less, last = root.operands
    if less.opcode != "compare" or last.opcode != "and":
        return None
    first, second = less.operands
    if not _is_pair(first, second) or not first.shape.element_type.is_float:
        return None
    is_nan, is_number = last.operands
    matches = (
        _compares(less, "LT", first, second)
        and _compares(is_nan, "NE", second, second)
        and _compares(is_number, "EQ", first, first)
    )
    matches = matches and first.shape.element_type.has_order_of_bytes
    return SortKey(first.attributes["number"] // 2, first.shape.element_type, False, True) if matches else None


def _canonicalized(value: Instruction) -> Instruction | None:
    """The x of ``select(x != x, nan, select(x == 0, 0, x))``, None if that is not it."""
    if value.opcode != "select":
        return None
    is_nan, nan, rest = value.operands
    if rest.opcode != "select" or not _is_constant(nan, np.isnan):
        return None
    is_zero, zero, x = rest.operands
    if not _is_constant(zero, lambda literal: literal == 0 and not np.signbit(literal)) or is_zero.opcode != "compare":
        return None
    same = _compares(is_nan, "NE", x, x) and _compares(is_zero, "EQ", x, is_zero.operands[1])
    return x if same and _is_constant(is_zero.operands[1], lambda literal: literal == 0) else None


def _is_constant(instruction: Instruction, holds) -> bool:
    if instruction.opcode != "constant" or instruction.shape.is_tuple or instruction.shape.rank:
        return False
    literal = np.asarray(instruction.attributes["literal"])
    return instruction.shape.element_type.is_float and bool(holds(literal.astype(np.float64)))
