"""Literals: values on the host, with their shape and layout, as they are moved into and out of a client.

Source: "Moving data into and out of XLA" and "Layout" of XLA's compiler preview of 2017.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..hlo import ElementType, Layout, Shape, TupleShape, compatible, element_type_of, shape_of
from ..hlo.shape import AnyShape, array_of_value
from ..hlo.text.literals import literal_text
from .shapes import as_element_type, require_shape, with_layout

_KIND_ORDER = ("pred", "unsigned", "signed", "float", "complex")


def array_of(values: Any, element_type: Any = None, what: str = "a literal") -> np.ndarray:
    """A new array of these values; without an element type, of their own.

    Raises TypeError for values of a wider kind than the element type's (floats as integers), and ValueError for integers that
    it does not hold.
    """
    array = array_of_value(what, values)
    try:
        given = element_type_of(array.dtype)
    except TypeError as error:
        raise TypeError(f"{what} requires numbers or truth values: {error}") from None
    target = given if element_type is None else as_element_type(element_type)
    if target.dtype is None:
        raise TypeError(f"{what} cannot hold values of element type {target}")
    # The sign does not count, the values do: they are looked at.
    source_kind = "unsigned" if given.is_integer else given.kind
    if array.size and _KIND_ORDER.index(source_kind) > _KIND_ORDER.index(target.kind):
        raise TypeError(f"{what} of element type {target} cannot hold values of {given}")
    if given is not target and given.is_integer and target.is_integer and array.size:
        limit = 2 ** (target.bits - (target.kind == "signed"))
        low, high = (0 if target.kind == "unsigned" else -limit), limit - 1
        least, greatest = int(array.min()), int(array.max())
        if least < low or greatest > high:
            raise ValueError(f"{what} of element type {target} holds {low} to {high}, got {least if least < low else greatest}")
    with np.errstate(over="ignore"):
        return np.array(array, target.dtype, order="C")


class Literal:
    """A value on the host: an array with an element type, dimensions and a layout, or a tuple of literals.

    value: an array or anything that NumPy makes one of, or a tuple of values or literals.
    layout: of an array; row-major where there is none.

    The literal has a copy of the value. Raises TypeError for values that no element type holds.

    >>> x = Literal(np.float32([[1, 2, 3], [4, 5, 6]]))
    >>> x
    f32[2,3] { { 1, 2, 3 }, { 4, 5, 6 } }
    >>> x.element_type, x.Get([1, 2])
    (f32, np.float32(6.0))
    """

    __slots__ = ("_array", "_elements", "_layout")
    __hash__ = None  # it can be changed by Set

    def __init__(self, value: Any, layout: Layout | None = None) -> None:
        self._elements: tuple[Literal, ...] | None = None
        self._array: np.ndarray | None = None
        self._layout = layout
        if isinstance(value, tuple):
            if layout is not None:
                raise ValueError("a tuple has no layout of its own; give one to its elements")
            self._elements = tuple(element if isinstance(element, Literal) else Literal(element) for element in value)
        elif isinstance(value, Literal):
            raise TypeError("a value is required, a Literal given; Relayout makes one of another layout")
        else:
            self._array = array_of(value)
            with_layout(shape_of(self._array), layout)

    @classmethod
    def _holding(cls, array: np.ndarray, layout: Layout | None) -> Literal:
        """The literal of this array, which is not copied."""
        literal = cls.__new__(cls)
        literal._elements, literal._array, literal._layout = None, array, layout
        return literal

    @property
    def shape(self) -> AnyShape:
        """The shape, with the layout where one was given."""
        if self._elements is not None:
            return TupleShape(tuple(element.shape for element in self._elements))
        return with_layout(shape_of(self._array), self._layout)

    @property
    def element_type(self) -> ElementType:
        """Raises TypeError for a tuple, which has none."""
        return element_type_of(self._require_array("element_type").dtype)

    @property
    def value(self) -> Any:
        """A copy of the array; of a tuple, a tuple of its elements' values."""
        if self._elements is not None:
            return tuple(element.value for element in self._elements)
        return self._array.copy()

    def arrays(self) -> list[np.ndarray]:
        """The arrays of which the literal consists, in order: not copies, what is written into them is in the literal."""
        if self._elements is not None:
            return [array for element in self._elements for array in element.arrays()]
        return [self._array]

    @property
    def tuple_literals(self) -> tuple[Literal, ...]:
        """The elements of a tuple. Raises TypeError for an array."""
        if self._elements is None:
            raise TypeError(f"a tuple literal is required, this one is an array {self.shape}")
        return self._elements

    def Get(self, multi_index: Sequence[int] | int = ()) -> Any:
        """The element at one index for each dimension, as a NumPy scalar. Raises IndexError, also for negative indices."""
        return self._require_array("Get")[self._index("Get", multi_index)]

    def Set(self, multi_index: Sequence[int] | int, value: Any) -> None:
        """Changes the element at one index for each dimension. Raises IndexError, and TypeError or ValueError for what does
        not fit the element type."""
        array = self._require_array("Set")
        index = self._index("Set", multi_index)
        element = array_of(value, self.element_type, "Set: a literal")
        if element.ndim:
            raise ValueError(f"Set: one element is required, got an array of shape {element.shape}")
        array[index] = element[()]

    def Relayout(self, layout: Layout | AnyShape | None) -> Literal:
        """The same value in another layout, or in those of a shape, a tuple's, too. Raises ValueError where it does not fit."""
        if not isinstance(layout, Shape | TupleShape):
            return Literal(self._require_array("Relayout"), layout)
        if not compatible(self.shape, layout):
            raise ValueError(f"Relayout: the value is {self.shape}, which cannot be had as {layout}")
        if self._elements is None:
            return Literal(self._array, layout.layout)
        return Literal(tuple(element.Relayout(shape) for element, shape in zip(self._elements, layout.elements)))

    def Linear(self) -> np.ndarray:
        """The elements in the order in which they lie in memory, with the layout's padding, as an array of rank 1.

        >>> letters = Literal(np.arange(6).reshape(2, 3), Layout((0, 1)))
        >>> letters.Linear()
        array([0, 3, 1, 4, 2, 5])
        """
        array, layout = self._require_array("Linear"), self._layout
        if layout is None:
            return array.ravel()
        if layout.padded_dimensions:
            padded = np.full(layout.padded_dimensions, layout.padding_value, array.dtype)
            padded[tuple(map(slice, array.shape))] = array
            array = padded
        return array.transpose(layout.minor_to_major[::-1]).ravel()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("the array of a literal can only be had as a copy")
        return np.array(self._require_array("an array"), dtype)

    def __eq__(self, other: object) -> bool:
        """Whether both have the same shape, but for the layouts, and equal elements."""
        if not isinstance(other, Literal):
            return NotImplemented
        if not compatible(self.shape, other.shape):
            return False
        if self._elements is not None:
            return all(map(operator.eq, self._elements, other._elements))
        return bool(np.all(self._array == other._array))

    def __repr__(self) -> str:
        return f"{self.shape} {literal_text(self.value, self.shape)}"

    def _require_array(self, what: str) -> np.ndarray:
        if self._array is None:
            raise TypeError(f"{what} requires an array, this literal is a tuple {self.shape}; tuple_literals has its elements")
        return self._array

    def _index(self, what: str, multi_index: Sequence[int] | int) -> tuple[int, ...]:
        given = (multi_index,) if isinstance(multi_index, int | np.integer) else multi_index
        try:
            index = tuple(map(operator.index, given))
        except TypeError:
            raise TypeError(f"{what}: an integer for each dimension is required, got {multi_index!r}") from None
        sizes = self._array.shape
        if len(index) != len(sizes) or not all(0 <= i < size for i, size in zip(index, sizes)):
            raise IndexError(f"{what}: index {index} is outside of {self.shape}")
        return index


def _of_rank(rank: int, name: str, values: Any, element_type: Any) -> np.ndarray:
    array = array_of(values, element_type, name)
    if array.ndim != rank:
        raise ValueError(f"{name}: values of rank {rank} are required, got rank {array.ndim}, of shape {array.shape}")
    return array


def constant_of_rank(rank: int, name: str, values: Any, element_type: Any, *value: Any) -> np.ndarray:
    """The array of CreateR0 to CreateR4, ConstantR0 to ConstantR4, and of their form (length, value) at rank 1."""
    if not value:
        return _of_rank(rank, name, values, element_type)
    length = operator.index(values)
    if length < 0:
        raise ValueError(f"{name}: the length must not be negative, got {length}")
    return np.full(length, _of_rank(0, name, value[0], element_type))


class LiteralUtil:
    """Makes literals.

    The element type stands for the template argument of the preview; without it, it is the one that NumPy gives the values
    (f64 for Python's floats, s64 for its integers).

    >>> LiteralUtil.CreateR1([1, 2, 3], np.float32)
    f32[3] {1, 2, 3}
    """

    @staticmethod
    def CreateR0(value: Any, element_type: Any = None) -> Literal:
        """A scalar."""
        return Literal(_of_rank(0, "CreateR0", value, element_type))

    @staticmethod
    def CreateR1(values: Any, element_type: Any = None) -> Literal:
        """A vector."""
        return Literal(_of_rank(1, "CreateR1", values, element_type))

    @staticmethod
    def CreateR2(values: Any, element_type: Any = None, layout: Layout | None = None) -> Literal:
        """A matrix, of a sequence of rows or an array of rank 2."""
        return Literal(_of_rank(2, "CreateR2", values, element_type), layout)

    @staticmethod
    def CreateR3(values: Any, element_type: Any = None, layout: Layout | None = None) -> Literal:
        """An array of rank 3."""
        return Literal(_of_rank(3, "CreateR3", values, element_type), layout)

    @staticmethod
    def CreateR4(values: Any, element_type: Any = None, layout: Layout | None = None) -> Literal:
        """An array of rank 4."""
        return Literal(_of_rank(4, "CreateR4", values, element_type), layout)

    @staticmethod
    def CreateFromShape(shape: AnyShape) -> Literal:
        """Zeros of this shape, to be filled by Set. Raises TypeError for what is no shape of a literal."""
        require_shape("CreateFromShape: the shape", shape)
        if shape.is_tuple:
            return Literal(tuple(map(LiteralUtil.CreateFromShape, shape.elements)))
        return Literal._holding(np.zeros(shape.dimensions, shape.dtype), shape.layout)

    @staticmethod
    def MakeTuple(elements: Iterable[Literal]) -> Literal:
        """A tuple of literals.

        >>> LiteralUtil.MakeTuple([LiteralUtil.CreateR0(True), LiteralUtil.CreateR1([1.5, 2.5])])
        (pred[], f64[2]) (true, {1.5, 2.5})
        """
        return Literal(tuple(elements))
