"""What is around a program on padded arrays that stands for one with dynamic dimensions: sizes beside arrays, and errors."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compile.dynamic_padding import PaddedModule
from ..hlo import Module, Shape, array_leaves
from .arguments import parameter_leaves


@dataclass(frozen=True)
class Padding:
    """Shapes with dynamic dimensions, and what the program raises.

    The program takes the parameters' leaves padded to their bounds, then the size (s32[]) of each dynamic dimension. It returns
    the same of the results, then an s32[]: 0, or n where ``errors[n - 1]`` has a built-in exception's name, and its message.
    """

    parameters: tuple[tuple[str, Shape], ...]
    results: tuple[Shape, ...]
    errors: tuple[tuple[str, str], ...]

    @property
    def takes_sizes(self) -> bool:
        return any(shape.dynamic_dimensions for _, shape in self.parameters)


def padding_of(module: Module, padded: PaddedModule) -> Padding:
    """What is around the padded module that stands for this one."""
    errors = tuple((exception.__name__, message) for exception, message in padded.errors)
    return Padding(tuple(parameter_leaves(module)), tuple(array_leaves(module.entry.shape)), errors)


def sizes_of(padding: Padding, shapes: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    """What the program takes behind arguments of these shapes: the size of each dynamic dimension."""
    return [
        np.array(size, np.int32)
        for given, (_, shape) in zip(shapes, padding.parameters)
        for size, dynamic in zip(given, shape.dynamic_dimensions)
        if dynamic
    ]


def padded_array(array: np.ndarray, shape: Shape) -> np.ndarray:
    """The array as one of the program's parameters."""
    if array.shape == shape.dimensions:
        return np.require(array, requirements=("C", "A")) if shape.dynamic_dimensions else array
    result = np.zeros(shape.dimensions, array.dtype)
    result[tuple(map(slice, array.shape))] = array
    return result


def wanted_sizes(shape: Shape, sizes: Iterator[Any]) -> tuple[int, ...]:
    """The dimensions of a result, whose dynamic ones are the next of the sizes."""
    if not shape.dynamic_dimensions:
        return shape.dimensions
    return tuple([int(next(sizes)) if dynamic else size for size, dynamic in zip(shape.dimensions, shape.dynamic_dimensions)])


def cut(array: Any, shape: Shape, sizes: Iterator[Any]) -> Any:
    """A result at its sizes."""
    wanted = wanted_sizes(shape, sizes)
    return array if array.shape == wanted else array[tuple([slice(size) for size in wanted])].copy()


def raise_error(padding: Padding, name: str, error: Any) -> None:
    """What the last result of the program stands for; nothing where it is 0."""
    if error:
        exception, message = padding.errors[int(error) - 1]
        raise getattr(builtins, exception)(f"module {name}: {message}")
