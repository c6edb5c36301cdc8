"""Prints each instruction with its value while a module runs, for debugging."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any

import numpy as np

from ... import hlo

THRESHOLD = 20
"""Arrays of more elements are printed with their middle left out."""


def print_step(computation: hlo.Computation, instruction: hlo.Instruction, value: Any) -> None:
    """One instruction and its value, to standard error. An observer for hlo.Evaluator."""
    print(step_text(computation, instruction, value), file=sys.stderr)


def step_text(computation: hlo.Computation, instruction: hlo.Instruction, value: Any) -> str:
    """What print_step prints: the computation, the instruction, where it comes from, and the value below it.

    >>> double = hlo.computation("double", [hlo.Shape(hlo.F32, (2,))], lambda x: hlo.add(x, x))
    >>> print(step_text(double, double.root, np.float32([2, 4])))
    double: %add.1 = f32[2] add(%parameter.0, %parameter.0)
        [2. 4.]
    """
    names = _names(computation)
    operands = ", ".join("%" + names[operand] for operand in instruction.operands)
    line = f"{computation.name}: %{names[instruction]} = {instruction.shape} {instruction.opcode}({operands})"
    if instruction.source is not None:
        line += f"   # {instruction.source}"
    return line + "\n    " + value_text(value).replace("\n", "\n    ")


def value_text(value: Any) -> str:
    """An array or a tuple of arrays, large ones shortened."""
    if isinstance(value, tuple):
        return "(" + ", ".join(value_text(element) for element in value) + ")"
    return np.array2string(np.asarray(value), threshold=THRESHOLD, edgeitems=3)


@lru_cache(maxsize=64)
def _names(computation: hlo.Computation) -> dict[hlo.Instruction, str]:
    return {
        instruction: instruction.name or f"{instruction.opcode}.{position}"
        for position, instruction in enumerate(computation.instructions)
    }
