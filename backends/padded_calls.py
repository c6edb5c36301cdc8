"""What is around a program on padded arrays, where a module has dynamic dimensions (`compile.dynamic_padding`)."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..hlo import Shape


def with_sizes(arguments: Sequence[Any], shapes: Sequence[Shape]) -> list[np.ndarray]:
    """The arguments as the padded program takes them: arrays of the bounds, then the sizes."""
    arrays = [_padded(np.asarray(argument), shape) for argument, shape in zip(arguments, shapes)]
    sizes = [
        np.array(size, np.int32)
        for argument, shape in zip(arguments, shapes)
        for size, dynamic in zip(np.shape(argument), shape.dynamic_dimensions)
        if dynamic
    ]
    return arrays + sizes


def cut_results(found: Sequence[Any], shapes: Sequence[Shape], errors: Sequence[tuple[str, str]], name: str) -> tuple[Any, ...]:
    """The results of these shapes, of what the padded program of a module with this name returns.

    Raises the error that it reports: a built-in exception, named with its message in ``errors``.
    """
    *results, error = found
    if error:
        exception, message = errors[int(error) - 1]
        raise getattr(builtins, exception)(f"module {name}: {message}")
    sizes = iter(results[len(shapes) :])
    return tuple([cut(array, shape, sizes) for array, shape in zip(results, shapes)])


def cut(array: Any, shape: Shape, sizes: Iterator[Any]) -> Any:
    """The array with the next sizes for the dynamic dimensions of its shape."""
    if not shape.dynamic_dimensions:
        return array
    wanted = [int(next(sizes)) if dynamic else size for size, dynamic in zip(shape.dimensions, shape.dynamic_dimensions)]
    return array if array.shape == tuple(wanted) else array[tuple([slice(size) for size in wanted])].copy()


def _padded(array: np.ndarray, shape: Shape) -> np.ndarray:
    """The array as one of the padded module's parameters."""
    if array.shape == shape.dimensions:
        return np.require(array, requirements=("C", "A")) if shape.dynamic_dimensions else array
    result = np.zeros(shape.dimensions, array.dtype)
    result[tuple(map(slice, array.shape))] = array
    return result
