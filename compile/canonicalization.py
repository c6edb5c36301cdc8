"""Canonicalization: one form for programs that say the same, so that later passes know only that one.

A constant of equal elements is the broadcast of a scalar.
"""

from __future__ import annotations

import numpy as np

from ..hlo import Computation, Instruction, Module, Shape, make_instruction, rebuild
from .pass_manager import module_pass
from .traversal import on_operands, transform_computations


@module_pass("canonicalize")
def canonicalize(module: Module) -> Module:
    """Constants of equal elements as broadcasts of scalars."""
    return transform_computations(module, _with_splats)


def _with_splats(computation: Computation) -> Computation:
    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        if instruction.opcode == "constant":
            splat = _splat(instruction)
            if splat is not None:
                return splat
        return on_operands(instruction, operands)

    return rebuild(computation, transform)


def _splat(constant: Instruction) -> Instruction | None:
    literal = constant.attributes["literal"]
    if isinstance(literal, tuple) or literal.ndim == 0 or literal.size == 0:
        return None
    # Bits, not values: 0 and -0 differ, NaN equals itself.
    elements = literal.reshape(-1).view(f"V{literal.dtype.itemsize}")
    first = elements[0]
    if elements[-1] != first or not np.all(elements == first):
        return None
    scalar = make_instruction("constant", (), {"literal": literal.reshape(-1)[0]}, source=constant.source)
    shape = Shape(constant.shape.element_type, constant.shape.dimensions)
    return make_instruction("broadcast", (scalar,), {"dimensions": ()}, shape, source=constant.source)
