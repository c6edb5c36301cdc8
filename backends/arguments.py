"""The arguments and results of a compiled module: flat lists of arrays, checked against the entry computation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import hlo
from ..hlo.shape import array_of_value


def parameter_leaves(module: hlo.Module) -> list[tuple[str, hlo.Shape]]:
    """A name for messages and the shape of every leaf of the entry parameters' shapes, in order.

    >>> b = hlo.Builder("pair")
    >>> _ = b.parameter(hlo.TupleShape((hlo.Shape(hlo.F32), hlo.Shape(hlo.S32, (2,)))), "state")
    >>> [(name, str(shape)) for name, shape in parameter_leaves(b.build_module())]
    [('parameter 0 (state), element 0', 'f32[]'), ('parameter 0 (state), element 1', 's32[2]')]
    """
    found = []
    for number, parameter in enumerate(module.entry.parameters):
        name = f"parameter {number}" + (f" ({parameter.name})" if parameter.name else "")
        found.extend(named_leaves(name, parameter.shape))
    return found


def named_leaves(name: str, shape: hlo.Shape | hlo.TupleShape) -> Iterator[tuple[str, hlo.Shape]]:
    """The leaves of one shape that hold data, each with its place inside it."""
    if not shape.is_tuple:
        if shape.element_type is not hlo.TOKEN:
            yield name, shape
        return
    for number, element in enumerate(shape.elements):
        yield from named_leaves(f"{name}, element {number}", element)


def check_arguments(module_name: str, expected: Sequence[tuple[str, hlo.Shape]], arguments: Sequence[Any]) -> None:
    """Raise TypeError or ValueError unless there is one array for each expected leaf, of its dtype, dimensions and layout."""
    if len(arguments) != len(expected):
        shapes = ", ".join(str(shape) for _, shape in expected)
        plural = "s" * (len(expected) != 1)
        raise TypeError(f"module {module_name} takes {len(expected)} array{plural} ({shapes}), {len(arguments)} given")
    for (name, shape), argument in zip(expected, arguments):
        place = f"module {module_name}, {name}"
        if not isinstance(argument, np.ndarray | np.generic):
            raise TypeError(f"{place}: an array {shape} is required, {type(argument).__name__} given")
        argument = array_of_value(place, argument)
        if argument.dtype != shape.dtype:
            raise TypeError(f"{place}: {shape} is required (dtype {shape.dtype}), an array of dtype {argument.dtype} given")
        if argument.shape != shape.dimensions:
            check_sizes(place, shape, argument.shape)
        if not is_contiguous(argument, shape):
            raise ValueError(f"{place}: an array contiguous as {shape} is required, one with strides {argument.strides} given")


def check_sizes(place: str, shape: hlo.Shape, sizes: tuple[int, ...]) -> None:
    """Raise ValueError unless an array of these sizes is one of the shape; dynamic dimensions may be below their bounds."""
    fits = len(sizes) == shape.rank
    for dimension, (size, bound) in enumerate(zip(sizes, shape.dimensions)):
        fits = fits and (size == bound or (size < bound and shape.is_dynamic(dimension)))
    if not fits:
        bounds = [f"dimension {d} at most {shape.dimensions[d]}" for d in range(shape.rank) if shape.is_dynamic(d)]
        words = f" ({', '.join(bounds)})" if bounds else ""
        raise ValueError(f"{place}: {shape} is required{words}, an array of shape {sizes} given")


def is_contiguous(array: np.ndarray | np.generic, shape: hlo.Shape) -> bool:
    """Whether the array's elements lie in memory as the shape's layout says, without gaps."""
    if array.ndim < 2 or shape.is_row_major:
        return array.flags.c_contiguous
    return array.transpose(shape.minor_to_major[::-1]).flags.c_contiguous


def contiguous(array: np.ndarray, shape: hlo.Shape) -> np.ndarray:
    """The array in native byte order and contiguous in the shape's layout; a copy only where it is not."""
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    major_to_minor = shape.minor_to_major[::-1]
    ordered = np.asarray(native.transpose(major_to_minor), order="C")
    return ordered.transpose(np.argsort(major_to_minor)) if array.ndim else ordered


def pack(shape: hlo.Shape | hlo.TupleShape, values: Iterator[Any]) -> Any:
    """The next values as the shape nests them: a value for an array shape, None for a token, a tuple for a tuple shape."""
    if not shape.is_tuple:
        return None if shape.element_type is hlo.TOKEN else next(values)
    return tuple(pack(element, values) for element in shape.elements)


def flatten(value: Any) -> list[Any]:
    """The arrays in nested tuples, in order; tokens (None) are left out.

    >>> flatten((1, (2, (), None, 3)))
    [1, 2, 3]
    """
    if not isinstance(value, tuple):
        return [] if value is None else [value]
    return [leaf for element in value for leaf in flatten(element)]
