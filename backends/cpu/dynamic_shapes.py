"""Modules with dynamic dimensions: native code on padded arrays, called with arrays of any size within the bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...compile.dynamic_padding import PaddedModule
from ...hlo import Module, Shape, array_leaves
from ..arguments import check_arguments, parameter_leaves


class PaddedExecutable:
    """A module with dynamic dimensions, by way of the executable of the padded one.

    ``module`` is the module as given, ``padded`` the executable. Arguments are padded with zeros to their bounds before the
    call; results are arrays of their sizes.
    """

    def __init__(self, module: Module, padding: PaddedModule, padded: Any) -> None:
        self.module, self.padded, self.optimized = module, padded, padded.optimized
        self._errors = padding.errors
        self._parameters = parameter_leaves(module)
        self._results = array_leaves(module.entry.shape)

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """The results for one array for each leaf of the entry's parameters.

        Raises TypeError and ValueError for arguments that do not fit, ValueError where sizes at run time do not fit together.
        """
        check_arguments(self.module.name, self._parameters, arguments)
        return self.run(arguments)

    def run(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """As a call, on checked arrays."""
        shapes = [shape for _, shape in self._parameters]
        arrays = [_padded(np.asarray(argument), shape) for argument, shape in zip(arguments, shapes)]
        sizes = [
            np.array(size, np.int32)
            for argument, shape in zip(arguments, shapes)
            for size, dynamic in zip(np.shape(argument), shape.dynamic_dimensions)
            if dynamic
        ]
        *results, error = self.padded(*arrays, *sizes)
        if error:
            exception, message = self._errors[int(error) - 1]
            raise exception(f"module {self.module.name}: {message}")
        found = iter(results[len(self._results) :])
        return tuple(_cut(array, shape, found) for array, shape in zip(results, self._results))

    def install(self, *arguments: Any, **options: Any) -> None:
        """Does nothing: padding takes the way by Python."""

    @property
    def bytes_touched(self) -> int:
        return self.padded.bytes_touched

    def as_text(self) -> str:
        """The optimized padded module in HLO text."""
        return self.padded.as_text()

    def llvm_ir(self) -> str:
        return self.padded.llvm_ir()

    def assembly(self) -> str:
        return self.padded.assembly()

    def memory_analysis(self) -> dict[str, int]:
        """Bytes of the padded ``arguments``, ``results`` and ``temporaries``."""
        return self.padded.memory_analysis()


def _padded(array: np.ndarray, shape: Shape) -> np.ndarray:
    """The array as one of the padded module's parameters."""
    if array.shape == shape.dimensions:
        return np.require(array, requirements=("C", "A")) if shape.dynamic_dimensions else array
    result = np.zeros(shape.dimensions, array.dtype)
    result[tuple(map(slice, array.shape))] = array
    return result


def _cut(array: Any, shape: Shape, sizes: Any) -> Any:
    if not shape.dynamic_dimensions:
        return array
    wanted = tuple([int(next(sizes)) if dynamic else size for size, dynamic in zip(shape.dimensions, shape.dynamic_dimensions)])
    return array if wanted == shape.dimensions else np.ascontiguousarray(array[tuple(map(slice, wanted))])
