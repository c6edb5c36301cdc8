"""What a computation of scalars returns whatever most of its parameters are."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..hlo import PRED, Instruction
from ..hlo.operation import ELEMENTWISE

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "EQ": operator.eq, "NE": operator.ne, "LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge,
}  # fmt: skip
_SWAPPED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "EQ": "EQ", "NE": "NE"}


def known_value(instruction: Instruction, parameters: Mapping[int, Any]) -> Any:
    """The value of a scalar where some parameters have these, by number; None where it depends on others.

    Before: ``compare(a, b), direction=LT`` with ``a`` = inf, and any ``b``. After: False.
    """
    opcode, operands = instruction.opcode, instruction.operands
    if opcode == "parameter":
        return parameters.get(instruction.attributes["number"])
    if opcode == "constant":
        return instruction.attributes["literal"]
    if ELEMENTWISE not in instruction.operation.traits:
        return None
    values = [known_value(operand, parameters) for operand in operands]
    if opcode == "compare":
        return _compared(instruction, *values)
    if opcode == "select":
        predicate, inside, otherwise = values
        return None if predicate is None else inside if predicate else otherwise
    if instruction.shape.element_type is not PRED:
        return None
    if opcode == "not":
        return None if values[0] is None else not values[0]
    if opcode not in ("and", "or"):
        return None
    deciding = opcode == "or"
    if any(value is not None and bool(value) is deciding for value in values):
        return deciding
    return None if None in values else not deciding


def _compared(compare: Instruction, first: Any, second: Any) -> bool | None:
    direction, element_type = compare.attributes["direction"], compare.operands[0].shape.element_type
    if compare.attributes["type"] == "TOTALORDER" or element_type.is_complex:
        return None
    if first is not None and second is not None:
        return bool(_COMPARISONS[direction](first, second))
    if first is None and second is None:
        return None
    value, direction = (first, direction) if second is None else (second, _SWAPPED[direction])
    if element_type.is_float and np.isnan(value):
        return direction == "NE"
    least, greatest = _bounds(element_type)
    if value == greatest and direction in ("LT", "GE"):
        return None if element_type.is_float and direction == "GE" else direction == "GE"
    if value == least and direction in ("GT", "LE"):
        return None if element_type.is_float and direction == "LE" else direction == "LE"
    return None


def _bounds(element_type: Any) -> tuple[Any, Any]:
    """The least and the greatest value."""
    if element_type.is_float:
        return -np.inf, np.inf
    if element_type.kind == "pred":
        return False, True
    if element_type.kind == "signed":
        return -(2 ** (element_type.bits - 1)), 2 ** (element_type.bits - 1) - 1
    return 0, 2**element_type.bits - 1
