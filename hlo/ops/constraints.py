"""Checks that several shape functions share, each with its own message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..element_type import PRED, ElementType
from ..errors import require
from ..shape import AnyShape, Shape, TupleShape, compatible, merged_dynamic_dimensions

KINDS_IN_WORDS = {
    "pred": "pred",
    "signed": "signed integer",
    "unsigned": "unsigned integer",
    "float": "floating-point",
    "complex": "complex",
}


def require_array(opcode: str, name: str, shape: AnyShape) -> None:
    if shape.is_tuple or shape.element_type.dtype is None:
        require(False, f"{opcode}: {name} must be an array, got {'the tuple ' * shape.is_tuple}", shape)


def require_reduced(opcode: str, operands: Sequence[AnyShape]) -> tuple[Sequence[Shape], tuple[Shape, ...]]:
    """N arrays of the same dimensions are followed by N scalars of their types; returns the arrays, and such scalars."""
    require(
        len(operands) >= 2 and len(operands) % 2 == 0,
        f"{opcode}: N operands followed by N init values are required, got {len(operands)} in all",
    )
    count = len(operands) // 2
    arrays = operands[:count]
    for number, (array, init_value) in enumerate(zip(arrays, operands[count:])):
        require_array(opcode, f"operand {number}", array)
        require_scalar(opcode, f"init value {number}", init_value, array.element_type)
        same = array.dimensions == arrays[0].dimensions
        require(same, f"{opcode}: all operands must have the same dimensions, got {arrays[0]} and {array}")
    return arrays, scalars_of(arrays)


def require_stated_array(opcode: str, stated: AnyShape | None) -> None:
    """The result shape, which the operation cannot infer, is stated and is an array."""
    require(stated is not None, f"{opcode}: a result shape is required")
    require_array(opcode, "result", stated)


def require_kind(opcode: str, name: str, shape: AnyShape, kinds: Iterable[str]) -> None:
    """The operand is an array whose element type is of one of the kinds."""
    require_array(opcode, name, shape)
    if shape.element_type.kind not in kinds:
        allowed = ", ".join(KINDS_IN_WORDS[kind] for kind in kinds)
        require(False, f"{opcode}: {name} must have a {allowed} element type, got {shape}")


def require_same_shape(opcode: str, **shapes: AnyShape) -> Shape:
    """All shapes agree (but for layouts); returns it. A dimension is dynamic where it is so in any of them."""
    (first_name, first), *others = shapes.items()
    for name, shape in others:
        if not compatible(shape, first) and not _agree(shape, first):
            require(False, f"{opcode}: {first_name} and {name} must have the same shape, got {first} and {shape}")
    return with_dynamic_dimensions_of(first.without_layout(), shapes.values())


def _agree(first: AnyShape, second: AnyShape) -> bool:
    """Whether two arrays have the same dimensions, dynamic or not."""
    return not first.is_tuple and not second.is_tuple and first.static() == second.static()


def with_dynamic_dimensions_of(shape: AnyShape, others: Iterable[AnyShape]) -> AnyShape:
    """The shape, dynamic where one of the others, arrays of its rank or scalars, is; a tuple as it is."""
    if shape.is_tuple:
        return shape
    dynamic = merged_dynamic_dimensions([other for other in others if not other.is_tuple and other.dynamic_dimensions])
    return shape if dynamic == shape.dynamic_dimensions or not dynamic else replace(shape, dynamic_dimensions=dynamic)


def require_static(opcode: str, name: str, shape: Shape, dimensions: Iterable[int], reason: str) -> None:
    """None of these dimensions is dynamic."""
    for dimension in dimensions:
        if shape.is_dynamic(dimension):
            require(False, f"{opcode}: dimension {dimension} of {name} must not be dynamic, {reason}; got {shape}")


def require_dimensions(opcode: str, name: str, dimensions: tuple[int, ...], rank: int) -> None:
    """Dimension numbers are in range and distinct."""
    for dimension in dimensions:
        if not 0 <= dimension < rank:
            require(False, f"{opcode}: {name} must be in [0, {rank}), got {dimension}")
    if len(set(dimensions)) != len(dimensions):
        require(False, f"{opcode}: {name} must be distinct, got {dimensions}")


def require_scalar(opcode: str, name: str, shape: AnyShape, element_type: ElementType | None = None) -> None:
    require_array(opcode, name, shape)
    require(shape.rank == 0, f"{opcode}: {name} must be a scalar, got {shape}")
    if element_type is not None:
        require(shape.element_type is element_type, f"{opcode}: {name} must be {element_type.name}[], got {shape}")


def require_preferred_type(opcode: str, lhs: Shape, rhs: Shape, stated: AnyShape | None) -> None:
    """The stated result, where there is one, has an element type in which products of the operands can be summed.

    As XLA's users may ask for: integers in integers or floats, floats in floats, complex numbers in complex numbers, pred in
    any real type.
    """
    if stated is None:
        return
    require_kind(opcode, "result", stated, KINDS_IN_WORDS)
    preferred = stated.element_type.kind
    for name, shape in (("lhs", lhs), ("rhs", rhs)):
        kind = shape.element_type.kind
        fits = {
            "pred": preferred != "complex",
            "signed": preferred in ("signed", "unsigned", "float"),
            "unsigned": preferred in ("signed", "unsigned", "float"),
            "float": preferred == "float",
            "complex": preferred == "complex",
        }
        require(fits[kind], f"{opcode}: products of {name} {shape} cannot be summed in {stated.element_type.name}")


def require_index(opcode: str, name: str, shape: AnyShape) -> None:
    """The operand is an integer scalar."""
    require_scalar(opcode, name, shape)
    require(shape.element_type.is_integer, f"{opcode}: {name} must be an integer scalar, got {shape}")


def require_signature(
    opcode: str, name: str, computation: object, parameters: tuple[AnyShape, ...], result: AnyShape | None
) -> None:
    """The called computation takes these parameters and returns this (None: anything)."""
    actual = computation.parameter_shapes
    if len(actual) != len(parameters) or not all(map(compatible, actual, parameters)):
        texts = [", ".join(str(shape.without_layout()) for shape in shapes) for shapes in (parameters, actual)]
        require(False, f"{opcode}: {name} must take ({texts[0]}), but {computation.name} takes ({texts[1]})")
    if result is not None and not compatible(computation.shape, result):
        stated = result.without_layout()
        require(False, f"{opcode}: {name} must return {stated}, but {computation.name} returns {computation.shape}")


def scalars_of(shapes: Iterable[Shape]) -> tuple[Shape, ...]:
    return tuple(Shape(shape.element_type) for shape in shapes)


def one_or_tuple(shapes: list[Shape]) -> AnyShape:
    """The result shape of an operation that is variadic: the one shape itself, or the tuple of several."""
    return shapes[0] if len(shapes) == 1 else TupleShape(tuple(shapes))


PRED_SCALAR = Shape(PRED)
