"""Shapes and layouts.

Source: XLA's "Shapes and Layout" (the compiler preview of 2017, and ``xla/shape.h``): an array shape is an element type
with dimension sizes, and a layout says in which order the dimensions lie in memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from operator import is_
from typing import TypeAlias

import numpy as np

from .element_type import TOKEN, ElementType, element_type_of

UNBOUNDED = -1  # the size of a dimension of which nothing is known


@dataclass(frozen=True)
class Layout:
    """The order of an array's dimensions in memory, most quickly varying first.

    ``padded_dimensions`` and ``padding_value`` are those of the 2017 preview; ``annotation`` keeps what current HLO text
    adds behind the order (tiles, memory space, element size), which has no meaning here and is printed back.

    >>> Layout((0, 1)).is_row_major, Layout((1, 0)).is_row_major
    (False, True)
    """

    minor_to_major: tuple[int, ...]
    padded_dimensions: tuple[int, ...] = ()
    padding_value: float = 0.0
    annotation: str = ""

    def __post_init__(self) -> None:
        rank = len(self.minor_to_major)
        if sorted(self.minor_to_major) != list(range(rank)):
            raise ValueError(f"a layout: minor_to_major must hold 0 to {rank - 1} once each, got {self.minor_to_major}")
        if self.padded_dimensions and len(self.padded_dimensions) != rank:
            raise ValueError(f"a layout: {rank} padded_dimensions are required, got {self.padded_dimensions}")

    @property
    def is_row_major(self) -> bool:
        return self.minor_to_major == tuple(range(len(self.minor_to_major) - 1, -1, -1))

    def __str__(self) -> str:
        return "{" + ",".join(map(str, self.minor_to_major)) + self.annotation + "}"


@dataclass(frozen=True)
class Shape:
    """An array shape: element type, dimension sizes, and optionally a layout and dynamic dimensions.

    A layout of None means row-major. ``dynamic_dimensions`` tells for each dimension whether its size is only an upper bound
    (``f32[<=10]``), or UNBOUNDED where nothing says it (``f32[?]``); it is empty where no dimension is so. ``is_buffer`` tells
    that it is not the array but memory for it, ``b(f32[3])``.

    >>> from phlox.hlo import F32
    >>> print(Shape(F32, (2, 3)), Shape(F32, (10, 3), dynamic_dimensions=(True, False)))
    f32[2,3] f32[<=10,3]
    """

    element_type: ElementType
    dimensions: tuple[int, ...] = ()
    layout: Layout | None = None
    dynamic_dimensions: tuple[bool, ...] = ()
    is_buffer: bool = False

    is_tuple = False

    def __post_init__(self) -> None:
        if self.layout is not None:
            self._check_layout(self.layout)
        if not self.dynamic_dimensions:
            return
        if len(self.dynamic_dimensions) != len(self.dimensions):
            raise ValueError(f"{len(self.dimensions)} dimensions, but {len(self.dynamic_dimensions)} dynamic_dimensions")
        if not any(self.dynamic_dimensions):
            object.__setattr__(self, "dynamic_dimensions", ())

    def _check_layout(self, layout: Layout) -> None:
        if len(layout.minor_to_major) != self.rank:
            raise ValueError(f"a layout of {self.rank} dimensions is required for {self.without_layout()}, got {layout}")
        for number, (size, width) in enumerate(zip(self.dimensions, layout.padded_dimensions)):
            if width < size:
                given = f"dimension {number} of {self.without_layout()} cannot be padded to {width}"
                raise ValueError(f"{given}, which is less than its size")

    @property
    def rank(self) -> int:
        return len(self.dimensions)

    @cached_property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.dimensions)

    @property
    def byte_size(self) -> int:
        return self.size * self.element_type.byte_size

    @property
    def dtype(self) -> np.dtype:
        """The NumPy dtype that stores the elements."""
        dtype = self.element_type.dtype
        if dtype is None:
            raise TypeError(f"{self.element_type.name} values have no NumPy dtype")
        return dtype

    @cached_property
    def minor_to_major(self) -> tuple[int, ...]:
        if self.layout is None:
            return tuple(range(self.rank - 1, -1, -1))
        return self.layout.minor_to_major

    @property
    def is_row_major(self) -> bool:
        return self.layout is None or self.layout.is_row_major

    @property
    def has_dynamic_dimensions(self) -> bool:
        return bool(self.dynamic_dimensions)

    @property
    def has_size(self) -> bool:
        """Whether it is the shape of an array of a known, or bounded, size."""
        return not self.is_buffer and UNBOUNDED not in self.dimensions

    def is_dynamic(self, dimension: int) -> bool:
        """Whether the size of this dimension is known at run time only."""
        return bool(self.dynamic_dimensions) and self.dynamic_dimensions[dimension]

    def with_dimensions(self, dimensions: Iterable[int], dynamic_dimensions: Iterable[bool] = ()) -> Shape:
        """The same element type with other dimensions, in row-major layout."""
        return Shape(self.element_type, tuple(dimensions), None, tuple(dynamic_dimensions))

    def static(self) -> Shape:
        """The shape whose dimensions have the sizes that are bounds here, in row-major layout."""
        return Shape(self.element_type, self.dimensions)

    def with_element_type(self, element_type: ElementType) -> Shape:
        if element_type is self.element_type:
            return self
        return Shape(element_type, self.dimensions, self.layout, self.dynamic_dimensions, self.is_buffer)

    def without_layout(self) -> Shape:
        if self.layout is None:
            return self
        return Shape(self.element_type, self.dimensions, None, self.dynamic_dimensions, self.is_buffer)

    @cached_property
    def _text(self) -> str:
        if self.element_type is TOKEN:
            return "token[]"
        dynamic = self.dynamic_dimensions or (False,) * self.rank
        texts = [f"<={size}" if bounded else str(size) for size, bounded in zip(self.dimensions, dynamic)]
        sizes = ",".join(texts).replace(f"<={UNBOUNDED}", "?")
        text = f"{self.element_type.name}[{sizes}]" + (str(self.layout) if self.layout is not None else "")
        return f"b({text})" if self.is_buffer else text

    def __str__(self) -> str:
        return self._text


@dataclass(frozen=True)
class TupleShape:
    """The shape of a tuple: one shape for each element.

    >>> from phlox.hlo import F32, S32
    >>> print(TupleShape((Shape(F32, (2,)), Shape(S32))))
    (f32[2], s32[])
    """

    elements: tuple[AnyShape, ...] = ()

    is_tuple = True

    @cached_property
    def leaves(self) -> tuple[Shape, ...]:
        """The array shapes inside, in order."""
        return tuple(leaf for element in self.elements for leaf in leaves(element))

    @cached_property
    def leaf_offsets(self) -> tuple[int, ...]:
        """For each element the position among the leaves where its own begin, and behind them the number of leaves."""
        return tuple(accumulate((len(leaves(element)) for element in self.elements), initial=0))

    def without_layout(self) -> TupleShape:
        elements = tuple([element.without_layout() for element in self.elements])
        return self if all(map(is_, elements, self.elements)) else TupleShape(elements)

    @cached_property
    def _text(self) -> str:
        return "(" + ", ".join(map(str, self.elements)) + ")"

    def __str__(self) -> str:
        return self._text


AnyShape: TypeAlias = Shape | TupleShape

TOKEN_SHAPE = Shape(TOKEN)


def shape_of(value: object) -> AnyShape:
    """The shape of an array, a scalar, a token (None), or a tuple of these.

    >>> print(shape_of((np.zeros((2, 3), np.int8), True)))
    (s8[2,3], pred[])
    """
    if isinstance(value, tuple):
        return TupleShape(tuple(shape_of(element) for element in value))
    if value is None:
        return TOKEN_SHAPE
    array = np.asarray(value)
    return Shape(element_type_of(array.dtype), array.shape)


def array_of_value(what: str, value: object) -> np.ndarray:
    """The value as an array, without a copy where it is one. Raises TypeError and ValueError, which ``what`` begins.

    >>> array_of_value("x", [[1, 2], [3]])
    Traceback (most recent call last):
        ...
    ValueError: x: an array is required, the list given has elements of different shapes
    """
    # Asked in this order, since numpy.ma is loaded when it is first named.
    if isinstance(value, np.ndarray) and type(value) is not np.ndarray and isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{what}: an array without a mask is required, a masked array given; its .filled(...) is one")
    try:
        return np.asarray(value)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        given = f"the {type(value).__name__} given has elements of different shapes"
        raise ValueError(f"{what}: an array is required, {given}") from None


def compatible(first: AnyShape, second: AnyShape) -> bool:
    """Whether two shapes are the same but for their layouts."""
    if first is second:
        return True
    if first.is_tuple or second.is_tuple:
        return first.without_layout() == second.without_layout()
    return (
        first.element_type is second.element_type
        and first.dimensions == second.dimensions
        and first.dynamic_dimensions == second.dynamic_dimensions
        and first.is_buffer == second.is_buffer
    )


def leaves(shape: AnyShape) -> tuple[Shape, ...]:
    """The array shapes inside a shape, in order: the shape itself, or all leaves of a nested tuple."""
    return shape.leaves if shape.is_tuple else (shape,)


def array_leaves(shape: AnyShape) -> list[Shape]:
    """The leaves of a shape that hold data: all but its tokens."""
    return [leaf for leaf in leaves(shape) if leaf.element_type is not TOKEN]


def has_dynamic_dimensions(shape: AnyShape) -> bool:
    """Whether a leaf of the shape has a dynamic dimension."""
    return any(leaf.dynamic_dimensions for leaf in leaves(shape)) if shape.is_tuple else bool(shape.dynamic_dimensions)


def merged_dynamic_dimensions(shapes: Iterable[Shape]) -> tuple[bool, ...]:
    """Of shapes of one rank: for each dimension whether it is dynamic in any of them.

    >>> from phlox.hlo import F32
    >>> merged_dynamic_dimensions([Shape(F32, (2, 3)), Shape(F32, (2, 3), dynamic_dimensions=(False, True))])
    (False, True)
    """
    merged: tuple[bool, ...] = ()
    for shape in shapes:
        if shape.dynamic_dimensions:
            dynamic = shape.dynamic_dimensions
            merged = tuple(a or b for a, b in zip(merged, dynamic)) if merged else dynamic
    return merged


def row_major_strides(dimensions: tuple[int, ...]) -> tuple[int, ...]:
    """Elements to step over in memory for a step along each dimension of a row-major array.

    >>> row_major_strides((2, 3, 4))
    (12, 4, 1)
    """
    strides, step = [], 1
    for size in reversed(dimensions):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def element_strides(shape: Shape) -> tuple[int, ...]:
    """As row_major_strides, for the shape's own layout."""
    strides, step = [0] * shape.rank, 1
    for dimension in shape.minor_to_major:
        strides[dimension] = step
        step *= shape.dimensions[dimension]
    return tuple(strides)
