"""The layout of a result whose shape the text leaves out: that of an operand, for the operations of which XLA infers it so.

Source: ``ShapeInference`` (``xla/service/shape_inference.cc``), which hands the operand's shape on with its layout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..operation import ELEMENTWISE, Operation
from ..shape import AnyShape, Layout, Shape, TupleShape

# The operand whose layout the result has, where it is not the first; and those that are not elementwise.
_SOURCE = {
    "batch-norm-inference": 0, "cholesky": 0, "clamp": 1, "copy": 0, "domain": 0, "fft": 0, "reverse": 0, "select": 0,
    "select-and-scatter": 0, "transpose": 0, "triangular-solve": 1,
}  # fmt: skip
# Results, alone or in a tuple, each with the layout of the operand at its place; of batch norms the first of them alone.
_OF_EACH = frozenset({"scatter", "sort"})
_OF_THE_FIRST = frozenset({"batch-norm-grad", "batch-norm-training"})


def in_inferred_layout(
    shape: AnyShape, record: Operation, operands: tuple[AnyShape, ...], attributes: Mapping[str, Any]
) -> AnyShape:
    """The result shape of an operation on operands of these shapes, with the layout that XLA infers where none is stated.

    >>> from phlox.hlo import F32, OPERATIONS
    >>> x = Shape(F32, (2, 3), Layout((0, 1)))
    >>> print(in_inferred_layout(Shape(F32, (2, 3)), OPERATIONS["negate"], (x,), {}))
    f32[2,3]{0,1}
    >>> print(in_inferred_layout(Shape(F32, (3, 2)), OPERATIONS["transpose"], (x,), {"dimensions": (1, 0)}))
    f32[3,2]
    """
    opcode = record.opcode
    if opcode in _OF_EACH or opcode in _OF_THE_FIRST:
        if not shape.is_tuple:
            return _like(shape, operands[0])
        count = len(shape.elements) if opcode in _OF_EACH else 1
        elements = [_like(element, operand) for element, operand in zip(shape.elements[:count], operands)]
        return TupleShape((*elements, *shape.elements[count:]))
    source = _SOURCE.get(opcode, 0 if ELEMENTWISE in record.traits else None)
    if source is None or source >= len(operands):
        return shape
    if opcode == "transpose":
        return _transposed(shape, operands[0], attributes["dimensions"])
    if opcode == "select" and not operands[0].rank:
        source = 1
    return _like(shape, operands[source])


def _like(shape: AnyShape, other: AnyShape) -> AnyShape:
    """The shape with the layout of another of its rank."""
    if shape.is_tuple or other.is_tuple or other.layout is None or shape.rank != other.rank:
        return shape
    return replace(shape, layout=other.layout)


def _transposed(shape: Shape, operand: Shape, dimensions: tuple[int, ...]) -> Shape:
    if operand.layout is None and operand.rank < 2:
        return shape
    layout = Layout(tuple(dimensions.index(d) for d in operand.minor_to_major))
    return shape if layout.is_row_major else replace(shape, layout=layout)
