"""Evaluation under dynamic dimensions: the shapes that values have at run time.

A value of shape ``f32[<=10]`` is an array of its actual size. So an operation is evaluated as the same operation on static
shapes, those of its operands, once its attributes say what they mean for these. Where an operation requires equal sizes and
only some of the dimensions are dynamic, the static ones are cut to the size of these, as XLA ignores what is behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from .instruction import Instruction
from .operation import ELEMENTWISE
from .ops.reshaping import reshaped_sizes
from .resizing import grown
from .shape import AnyShape, Shape, shape_of

Place: TypeAlias = tuple[int, int]  # (operand, dimension)


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
    if instruction.opcode in _BY_BOUNDS or any(isinstance(operand, tuple) for operand in operands):
        return operands, attributes, shape, tuple([operand.shape for operand in instruction.operands])
    operands = _cut(instruction, operands)
    adapt = _ADAPTERS.get(instruction.opcode)
    if adapt is not None:
        operands, attributes, shape = adapt(instruction, operands)
    shapes = tuple(map(shape_of, operands))
    if adapt is None or shape is None:
        shape = instruction.operation.infer_shape(shapes, attributes, instruction.shape)
    return operands, attributes, shape, shapes


# Their evaluations need the bounds, or no shape at all.
_BY_BOUNDS = frozenset(
    {
        "parameter", "constant", "set-dimension-size", "get-dimension-size", "dynamic-reshape", "while", "conditional", "call",
        "fusion", "tuple", "get-tuple-element", "copy", "opt-barrier", "domain", "add-dependency",
    }
)  # fmt: skip


def equal_places(instruction: Instruction) -> list[list[Place]]:
    """The operands' dimensions that must have the same size, as groups of (operand, dimension)."""
    opcode, attributes = instruction.opcode, instruction.attributes
    shapes = [operand.shape for operand in instruction.operands]
    if opcode == "dot":
        pairs = [
            *zip(attributes["lhs_batch_dimensions"], attributes["rhs_batch_dimensions"]),
            *zip(attributes["lhs_contracting_dimensions"], attributes["rhs_contracting_dimensions"]),
        ]
        return [[(0, left), (1, right)] for left, right in pairs]
    if opcode == "convolution":
        numbers = attributes["dim_labels"]
        return [[(0, numbers.input_feature), (1, numbers.kernel_input_feature)]]
    if opcode == "scatter":
        count = len(shapes) // 2
        groups: Iterable[range] = (range(count), range(count + 1, len(shapes)))
    elif ELEMENTWISE in instruction.operation.traits or opcode in _ALIKE:
        groups = [range(len(shapes))]
    else:
        return []
    found = []
    for group in groups:
        rank = max(shapes[number].rank for number in group)
        for dimension in range(rank):
            if opcode != "concatenate" or dimension != attributes["dimensions"][0]:
                found.append([(number, dimension) for number in group if shapes[number].rank == rank])
    return found


_ALIKE = frozenset({"map", "reduce", "reduce-window", "sort", "concatenate"})


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


def _broadcast(instruction: Instruction, operands: tuple[Any, ...]) -> tuple:
    sizes = list(instruction.shape.dimensions)
    for position, dimension in enumerate(instruction.attributes["dimensions"]):
        sizes[dimension] = np.shape(operands[0])[position]
    return operands, instruction.attributes, instruction.shape.with_dimensions(sizes)


def _reshape(instruction: Instruction, operands: tuple[Any, ...]) -> tuple:
    sizes = reshaped_sizes(instruction.operands[0].shape, instruction.shape, np.shape(operands[0]))
    return operands, instruction.attributes, instruction.shape.with_dimensions(sizes)


def _convert(instruction: Instruction, operands: tuple[Any, ...]) -> tuple:
    return operands, instruction.attributes, instruction.shape.with_dimensions(np.shape(operands[0]))


def _bitcast_convert(instruction: Instruction, operands: tuple[Any, ...]) -> tuple:
    sizes = (*np.shape(operands[0]), *instruction.shape.dimensions[np.ndim(operands[0]) :])
    return operands, instruction.attributes, instruction.shape.with_dimensions(sizes[: instruction.shape.rank])


def _slice(instruction: Instruction, operands: tuple[Any, ...]) -> tuple:
    shape, ranges = instruction.operands[0].shape, instruction.attributes["slice"]
    least = [d.start + 1 if size == 1 else 0 for d, size in zip(ranges, instruction.shape.dimensions)]
    operand = _filled_up(shape, operands[0], least)
    cut = []
    for (start, limit, stride), size in zip(ranges, np.shape(operand)):
        limit = min(limit, size)
        cut.append(type(ranges[0])(min(start, limit), limit, stride))
    return (operand,), {"slice": tuple(cut)}, None


def _dynamic_slice(instruction: Instruction, operands: tuple[Any, ...]) -> tuple:
    operand = _filled_up(instruction.operands[0].shape, operands[0], instruction.attributes["sizes"])
    return (operand, *operands[1:]), instruction.attributes, None


def _gather(instruction: Instruction, operands: tuple[Any, ...]) -> tuple:
    shape, sizes = instruction.operands[0].shape, list(instruction.attributes["slice_sizes"])
    removed = (*instruction.attributes["collapsed_slice_dims"], *instruction.attributes["operand_batching_dims"])
    for dimension, full in enumerate(np.shape(operands[0])):
        if shape.is_dynamic(dimension) and sizes[dimension] == shape.dimensions[dimension] and dimension not in removed:
            sizes[dimension] = full
    operand = _filled_up(shape, operands[0], sizes)
    return (operand, operands[1]), {**instruction.attributes, "slice_sizes": tuple(sizes)}, None


def _filled_up(shape: Shape, value: Any, least: Sequence[int]) -> Any:
    """The array with zeros behind it in the dynamic dimensions, up to these sizes."""
    missing = [max(0, size - full) if shape.is_dynamic(d) else 0 for d, (size, full) in enumerate(zip(least, np.shape(value)))]
    if not any(missing):
        return value
    return grown(value, [size + more for size, more in zip(np.shape(value), missing)])


def _pad(instruction: Instruction, operands: tuple[Any, ...]) -> tuple:
    sizes = []
    for size, (low, high, interior) in zip(np.shape(operands[0]), instruction.attributes["padding"]):
        sizes.append(max(0, size + max(size - 1, 0) * interior + low + high))
    return operands, instruction.attributes, instruction.shape.with_dimensions(sizes)


_ADAPTERS: dict[str, Callable[[Instruction, tuple[Any, ...]], tuple]] = {
    "bitcast-convert": _bitcast_convert,
    "broadcast": _broadcast,
    "convert": _convert,
    "dynamic-slice": _dynamic_slice,
    "gather": _gather,
    "pad": _pad,
    "reshape": _reshape,
    "slice": _slice,
    "stochastic-convert": _convert,
}
