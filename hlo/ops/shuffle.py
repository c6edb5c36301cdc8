"""Shuffle: elements change places along some dimensions, by a rotation or by a table of their origins.

Source of the semantics: ``ShuffleExpander`` and ``HloShuffleInstruction`` of XLA (2026).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..attributes import AttributeKind, Choice, Cursor, IntegerList
from ..element_type import F32
from ..errors import ShapeError, require
from ..operation import InvalidSample, Sample, operation
from ..shape import Shape, TupleShape, shape_of
from .constraints import require_array, require_dimensions


class ShapedLiteral(AttributeKind):
    """``indices=s32[3,1]{1,0} { {2}, {0}, {1} }``: an array, written with its shape."""

    def check(self, value: Any) -> np.ndarray:
        array = np.array(value, order="C")
        try:
            shape_of(array)
        except TypeError as error:
            raise ShapeError(str(error)) from None
        array.flags.writeable = False
        return array

    def print(self, value: np.ndarray) -> str:
        # Text is made for all operations, which stand below it.
        from ..text.literals import literal_text
        from ..text.shapes import full_shape_text

        shape = shape_of(value)
        assert isinstance(shape, Shape)
        return f"{full_shape_text(shape)} {literal_text(value, shape)}"

    def parse(self, cursor: Cursor) -> np.ndarray:
        # Text is made for all operations, which stand below it.
        from ..text.literals import parse_literal
        from ..text.shapes import parse_shape

        place = cursor.position
        shape = parse_shape(cursor)
        if shape.is_tuple:
            cursor.fail(f"an array is required, found {shape}", place)
        return parse_literal(cursor, shape)


def origins(dimensions: tuple[int, ...], shuffled: tuple[int, ...], indices: np.ndarray) -> tuple[np.ndarray, ...]:
    """For each dimension of an array the index from which each element of the permuted array comes.

    >>> [origin.tolist() for origin in origins((2, 3), (1,), np.array([[2, 0, 1]]))]
    [[[0], [1]], [[2, 0, 1]]]
    """
    found = list(np.ogrid[tuple(slice(size) for size in dimensions)])
    for dimension, coordinate in zip(shuffled, _coordinates(shuffled, indices)):
        found[dimension] = coordinate
    return tuple(found)


def _coordinates(shuffled: tuple[int, ...], indices: np.ndarray) -> list[np.ndarray]:
    return [indices] if len(shuffled) == 1 else list(np.moveaxis(indices, -1, 0))


@operation(
    "shuffle", "operand", builder="Shuffle", cost=1.0,
    dimensions=IntegerList(), mode=Choice("rotate", "permute"), shifts=IntegerList(()), indices=ShapedLiteral(None),
)  # fmt: skip
def shuffle(operand, *, dimensions, mode, shifts, indices):
    """Shuffle(operand, dimensions, mode, ...): the operand's elements in other places along the dimensions.

    ``rotate`` moves them to lower indices by the shifts, one for each of the dimensions, around the end. ``permute`` takes the
    element at each place from where the indices say. They have the operand's shape, with size 1 along the other dimensions,
    and, where there are several dimensions, one more dimension behind, for the coordinates.
    """
    require_array("shuffle", "operand", operand)
    require_dimensions("shuffle", "dimensions", dimensions, operand.rank)
    if mode == "rotate":
        require(indices is None, "shuffle: mode rotate takes shifts, not indices")
        same = len(shifts) == len(dimensions)
        require(same, f"shuffle: one shift for each of dimensions {dimensions} is required, got {shifts}")
        return operand.without_layout()
    require(indices is not None and not shifts, "shuffle: mode permute takes indices, and no shifts")
    require(len(dimensions) > 0, "shuffle: mode permute needs a dimension, got none")
    wanted = tuple(size if number in dimensions else 1 for number, size in enumerate(operand.dimensions))
    wanted += (len(dimensions),) if len(dimensions) > 1 else ()
    fits = indices.dtype.kind in "iu" and indices.shape == wanted
    require(fits, f"shuffle: indices must be integers of shape {wanted}, got {shape_of(indices)}")
    for dimension, coordinate in zip(dimensions, _coordinates(dimensions, indices)):
        size = operand.dimensions[dimension]
        within = not coordinate.size or (coordinate.min() >= 0 and coordinate.max() < size)
        require(within, f"shuffle: indices along dimension {dimension} must be in [0, {size})")
    return operand.without_layout()


@shuffle.evaluation
def _(operand, *, dimensions, mode, shifts, indices):
    if not dimensions:
        return operand
    if mode == "rotate":
        return np.roll(operand, [-shift for shift in shifts], dimensions)
    shape = np.shape(operand)
    return np.asarray(operand)[np.broadcast_arrays(*origins(shape, dimensions, indices))].reshape(shape)


@shuffle.sampling
def _():
    x, y = np.array([1, 2, 3, 4], np.float32), np.arange(6, dtype=np.float32).reshape(3, 2)
    yield Sample([x], {"dimensions": (0,), "mode": "rotate", "shifts": (1,)}, expected=np.array([2, 3, 4, 1], np.float32))
    yield Sample([x], {"dimensions": (0,), "mode": "rotate", "shifts": (-5,)}, expected=np.array([4, 1, 2, 3], np.float32))
    expected = np.array([[3, 2], [5, 4], [1, 0]], np.float32)
    yield Sample([y], {"dimensions": (0, 1), "mode": "rotate", "shifts": (1, 3)}, expected=expected)
    permute = {"dimensions": (0,), "mode": "permute"}
    yield Sample([x], permute | {"indices": np.int32([3, 1, 0, 2])}, expected=np.array([4, 2, 1, 3], np.float32))
    expected = np.array([[4, 5], [0, 1], [2, 3]], np.float32)
    yield Sample([y], permute | {"indices": np.int32([[2], [0], [1]])}, expected=expected)
    table = np.int8([[[2, 0], [0, 1]], [[0, 0], [2, 1]], [[1, 0], [1, 1]]])
    expected = np.array([[4, 1], [0, 5], [2, 3]], np.float32)
    yield Sample([y], permute | {"dimensions": (0, 1), "indices": table}, expected=expected)
    yield Sample([y], permute | {"dimensions": (1, 0), "indices": table[..., ::-1]}, expected=expected)
    table = np.int32([[[[1, 1], [1, 0]]], [[[0, 1], [0, 0]]]])
    z = np.arange(8, dtype=np.int32).reshape(2, 2, 2)
    expected = np.int32([[[5, 4], [7, 6]], [[1, 0], [3, 2]]])
    yield Sample([z], permute | {"dimensions": (0, 2), "indices": table}, expected=expected)
    yield Sample([Shape(F32, (0, 3))], permute | {"indices": np.zeros((0, 1), np.int32)})
    yield Sample([Shape(F32)], {"dimensions": (), "mode": "rotate"})
    array = Shape(F32, (3, 2))
    yield InvalidSample([TupleShape(())], {"dimensions": (), "mode": "rotate"}, "operand must be an array")
    yield InvalidSample([array], {"dimensions": (2,), "mode": "rotate", "shifts": (1,)}, "dimensions")
    yield InvalidSample([array], {"dimensions": (0,), "mode": "rotate"}, "one shift for each of dimensions")
    yield InvalidSample([array], {"dimensions": (0,), "mode": "rotate", "indices": np.int32([0])}, "takes shifts, not indices")
    yield InvalidSample([array], permute, "takes indices, and no shifts")
    yield InvalidSample([array], permute | {"dimensions": (), "indices": np.int32([0])}, "needs a dimension")
    yield InvalidSample([array], permute | {"indices": np.int32([0, 1, 2])}, r"integers of shape \(3, 1\), got s32\[3\]")
    yield InvalidSample([array], permute | {"indices": np.float32([[0], [1], [2]])}, "must be integers")
    yield InvalidSample([array], permute | {"indices": np.int32([[0], [1], [3]])}, r"must be in \[0, 3\)")
    yield InvalidSample([array], permute | {"indices": "none"}, "no XLA element type")
