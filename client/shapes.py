"""Shapes and layouts, made and asked about under the names of the preview.

Source: "Shapes and Layout" of XLA's compiler preview of 2017. The shapes and layouts themselves are those of `phlox.hlo`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..hlo import ElementType, Layout, Shape, TupleShape, compatible, element_type_of
from ..hlo.shape import AnyShape


def as_element_type(value: Any) -> ElementType:
    """The element type, given itself or a dtype that stores it. Raises TypeError.

    >>> as_element_type(np.float32), as_element_type("int8")
    (f32, s8)
    """
    if isinstance(value, ElementType):
        return value
    try:
        return element_type_of(np.dtype(value))
    except TypeError as error:
        raise TypeError(f"an element type such as F32, or a dtype, is required, {value!r} given: {error}") from None


def _dimension(value: Any) -> int:
    try:
        size = operator.index(value)
    except TypeError:
        raise TypeError(f"MakeShape: dimensions must be integers, got {value!r}") from None
    if size < 0:
        raise ValueError(f"MakeShape: dimensions must not be negative, got {size}")
    return size


class LayoutUtil:
    """Makes layouts and asks about them."""

    @staticmethod
    def MakeLayout(minor_to_major: Iterable[int], padded_dimensions: Iterable[int] = (), padding_value: float = 0.0) -> Layout:
        """The layout with these dimensions from the most to the least quickly varying, and the widths they are padded to.

        Raises ValueError unless the dimensions are 0 to N-1, in any order, and the widths none or N.

        >>> LayoutUtil.MakeLayout([0, 1], padded_dimensions=[3, 5])
        Layout(minor_to_major=(0, 1), padded_dimensions=(3, 5), padding_value=0.0, annotation='')
        """
        order, widths = tuple(map(operator.index, minor_to_major)), tuple(map(operator.index, padded_dimensions))
        return Layout(order, widths, padding_value)

    @staticmethod
    def GetDefaultLayoutForShape(shape: Shape) -> Layout:
        """Row-major: dimension 0 is major."""
        return Layout(tuple(range(shape.rank - 1, -1, -1)))

    @staticmethod
    def IsMonotonicWithDim0Minor(layout: Layout) -> bool:
        """Whether dimension 0 varies most quickly, then 1, and so on; at rank 2, column-major."""
        return layout.minor_to_major == tuple(range(len(layout.minor_to_major)))

    @staticmethod
    def IsMonotonicWithDim0Major(layout: Layout) -> bool:
        """Whether dimension 0 varies least quickly, then 1, and so on; at rank 2, row-major."""
        return layout.is_row_major

    @staticmethod
    def IsPadded(shape: Shape) -> bool:
        """Whether any dimension is padded to more than its size."""
        widths = shape.layout.padded_dimensions if shape.layout is not None else ()
        return any(width > size for width, size in zip(widths, shape.dimensions))


class ShapeUtil:
    """Makes shapes and asks about them."""

    @staticmethod
    def MakeShape(element_type: Any, dimensions: Iterable[int] = ()) -> Shape:
        """The shape of an array with these dimensions; a dtype stands for the element type that it stores.

        >>> print(ShapeUtil.MakeShape(np.float32, [2, 3]))
        f32[2,3]
        """
        return Shape(as_element_type(element_type), tuple(map(_dimension, dimensions)))

    @staticmethod
    def MakeShapeWithLayout(element_type: Any, dimensions: Iterable[int], minor_to_major: Iterable[int] | Layout) -> Shape:
        """As MakeShape, in a layout, given whole or as its minor_to_major. Raises ValueError where it does not fit.

        >>> print(ShapeUtil.MakeShapeWithLayout(np.float32, [2, 3], [0, 1]))
        f32[2,3]{0,1}
        """
        shape = ShapeUtil.MakeShape(element_type, dimensions)
        layout = minor_to_major if isinstance(minor_to_major, Layout) else LayoutUtil.MakeLayout(minor_to_major)
        return with_layout(shape, layout)

    @staticmethod
    def MakeTupleShape(shapes: Iterable[AnyShape]) -> TupleShape:
        elements = tuple(shapes)
        for number, element in enumerate(elements):
            require_shape(f"MakeTupleShape: element {number}", element)
        return TupleShape(elements)

    @staticmethod
    def Rank(shape: Shape) -> int:
        """The number of dimensions."""
        return shape.rank

    @staticmethod
    def TrueRank(shape: Shape) -> int:
        """The number of dimensions whose size is greater than 1.

        >>> ShapeUtil.TrueRank(ShapeUtil.MakeShape(np.float32, [1, 5, 1]))
        1
        """
        return sum(size > 1 for size in shape.dimensions)

    @staticmethod
    def ElementsIn(shape: Shape) -> int:
        return shape.size

    @staticmethod
    def ByteSizeOf(shape: Shape) -> int:
        """Bytes of the array's elements, without padding."""
        return shape.byte_size

    @staticmethod
    def Equal(lhs: AnyShape, rhs: AnyShape) -> bool:
        """Whether both shapes are the same, layouts included; no layout is the row-major one."""
        if lhs.is_tuple or rhs.is_tuple:
            same_length = lhs.is_tuple and rhs.is_tuple and len(lhs.elements) == len(rhs.elements)
            return same_length and all(map(ShapeUtil.Equal, lhs.elements, rhs.elements))
        return compatible(lhs, rhs) and _layout_of(lhs) == _layout_of(rhs)

    @staticmethod
    def Compatible(lhs: AnyShape, rhs: AnyShape) -> bool:
        """Whether both shapes are the same but for their layouts."""
        return compatible(lhs, rhs)

    @staticmethod
    def HumanString(shape: AnyShape) -> str:
        """The shape as HLO text spells it, without layouts."""
        return str(shape.without_layout())


def _layout_of(shape: Shape) -> Layout:
    return shape.layout if shape.layout is not None else LayoutUtil.GetDefaultLayoutForShape(shape)


def with_layout(shape: Shape, layout: Layout | None) -> Shape:
    """The shape in this layout. Raises ValueError where it is of another rank or pads to less than a size, and TypeError."""
    if layout is not None and not isinstance(layout, Layout):
        raise TypeError(f"a layout, as LayoutUtil.MakeLayout makes it, is required, got {type(layout).__name__} {layout!r}")
    return Shape(shape.element_type, shape.dimensions, layout, shape.dynamic_dimensions)


def require_shape(what: str, value: Any) -> AnyShape:
    """The value, which must be a shape; TypeError if it is none."""
    if not isinstance(value, Shape | TupleShape):
        raise TypeError(f"{what} must be a shape, as ShapeUtil.MakeShape makes it, got {type(value).__name__} {value!r}")
    return value
