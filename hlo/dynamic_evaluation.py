"""Evaluation under dynamic dimensions: the shapes that values have at run time.

A value of shape ``f32[<=10]`` is an array of its actual size. So an operation is evaluated as the same operation on static
shapes, those of its operands, once its attributes say what they mean for these. Where an operation requires equal sizes and
only some of the dimensions are dynamic, the static ones are cut to the size of these, as XLA ignores what is behind it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .instruction import Instruction
from .operation import BOUNDS, Places
from .shape import AnyShape, shape_of


def is_dynamic(instruction: Instruction) -> bool:
    """Whether the shape of the result, or of an operand that is an array, has dynamic dimensions."""
    shape = instruction.shape
    if not shape.is_tuple and shape.dynamic_dimensions:
        return True
    for operand in instruction.operands:
        if not operand.shape.is_tuple and operand.shape.dynamic_dimensions:
            return True
    return False


def actual_operation(
    instruction: Instruction, operands: tuple[Any, ...]
) -> tuple[tuple[Any, ...], dict[str, Any], AnyShape, tuple[AnyShape, ...]]:
    """Operands, attributes, result shape and operand shapes with which the operation is evaluated.

    Raises ValueError where the sizes at run time do not fit together.
    """
    attributes, shape = instruction.attributes, instruction.shape
    if instruction.operation.dynamic == BOUNDS or any(isinstance(operand, tuple) for operand in operands):
        return operands, attributes, shape, tuple([operand.shape for operand in instruction.operands])
    operands = _cut(instruction, operands)
    resize, shape = instruction.operation.resize_function, None
    if resize is not None:
        operands, attributes, shape = resize(instruction, operands)
    shapes = tuple(map(shape_of, operands))
    if shape is None:
        shape = instruction.operation.infer_shape(shapes, attributes, instruction.shape)
    return operands, attributes, shape, shapes


def equal_places(instruction: Instruction) -> list[Places]:
    """The operands' dimensions that must have the same size, as groups of (operand, dimension)."""
    shapes = [operand.shape for operand in instruction.operands]
    return instruction.operation.agreement_function(shapes, instruction.attributes)


def _cut(instruction: Instruction, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands, static dimensions cut to the size of dynamic ones to which they must be equal."""
    result = list(operands)
    for places in equal_places(instruction):
        shapes = [(instruction.operands[number].shape, dimension) for number, dimension in places]
        sizes = {np.shape(operands[n])[d] for (n, d), (shape, _) in zip(places, shapes) if shape.is_dynamic(d)}
        if not sizes:
            continue
        if len(sizes) > 1:
            raise ValueError(f"{instruction!r}: dimensions that must be equal have the sizes {sorted(sizes)}")
        (size,) = sizes
        for (number, dimension), (shape, _) in zip(places, shapes):
            if not shape.is_dynamic(dimension):
                result[number] = np.asarray(result[number])[(slice(None),) * dimension + (slice(size),)]
    return tuple(result)
