"""NumPy's functions that compiled programs call by name, ``numpy.linalg.<name>`` and ``numpy.fft.<name>``.

The attributes are their keywords. ``cond`` has the order of its norm as text.

Where sizes are known at run time only the operands are arrays of the bounds, and one more has the sizes, as s32: the attribute
"sizes" names the operand and the dimension of each. "result_sizes" does so for the results, which are padded again; behind them
comes an array of these. The last part of the results says whether the function has failed, where it can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..hlo import TupleShape
from ..hlo.ops.known_calls import NUMPY_FAILURES
from ..hlo.shape import AnyShape
from .call_attributes import call_attributes
from .custom_calls import PythonTarget, Target

_NAMES = frozenset({
    "cond", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "pinv", "qr", "slogdet", "solve", "svd",
})  # fmt: skip
# NumPy returns real numbers where no imaginary part is other than 0; programs take complex ones.
_EITHER_KIND = frozenset({"eig", "eigvals"})


def find_numpy(name: str) -> Target | None:
    """The target of this name; None for a name that is not among those known."""
    module, _, short = name.removeprefix("numpy.").rpartition(".")
    if module == "linalg" and short in _NAMES:
        return NumpyTarget(name, _cond if short == "cond" else getattr(np.linalg, short))
    return NumpyTarget(name, getattr(np.fft, short)) if module == "fft" and short in np.fft.__all__ else None


def _cond(x: np.ndarray, p: str) -> Any:
    return np.linalg.cond(x, p if p in ("fro", "nuc") else float(p))


class _Described(NamedTuple):
    dimensions: tuple[int, ...]
    dtype: np.dtype


class NumpyTarget(PythonTarget):
    """One of these functions; what it returns fits, and is not looked at again."""

    def prepared(self, operand_shapes: Sequence[AnyShape], shape: AnyShape, config: str) -> Callable[[tuple[Any, ...]], Any]:
        function, short, attributes = self.function, self.name.rpartition(".")[2], call_attributes(config)
        is_tuple = isinstance(shape, TupleShape)
        described = [_Described(one.dimensions, one.dtype) for one in (shape.elements if is_tuple else (shape,))]
        sizes, result_sizes = attributes.pop("sizes", []), attributes.pop("result_sizes", None)
        may_fail, either_kind = short in NUMPY_FAILURES, short in _EITHER_KIND

        def call(arrays: tuple[Any, ...]) -> Any:
            try:
                found = function(*(_cut(arrays, sizes) if sizes else arrays), **attributes)
            except np.linalg.LinAlgError:
                if not may_fail:
                    raise
                return (*map(_filled, described[:-1]), np.True_)
            results = list(found) if isinstance(found, tuple) else [found]
            if result_sizes is not None:
                actual = np.array([results[number].shape[d] for number, d in result_sizes], np.int32)
                results = [*map(_padded, results, described), actual]
            elif either_kind:
                results = [np.asarray(one, like.dtype) for one, like in zip(results, described)]
            if may_fail:
                results.append(np.False_)
            return tuple(results) if is_tuple else results[0]

        return call


def _cut(arrays: Sequence[np.ndarray], sizes: list[list[int]]) -> list[np.ndarray]:
    *padded, actual = arrays
    for (number, d), size in zip(sizes, actual.tolist()):
        padded[number] = padded[number][(slice(None),) * d + (slice(0, size),)]
    return padded


def _padded(result: Any, like: _Described) -> Any:
    if result.shape == like.dimensions and result.dtype == like.dtype:
        return result
    padded = np.zeros(like.dimensions, like.dtype)
    padded[tuple([slice(0, size) for size in result.shape])] = result
    return padded


def _filled(like: _Described) -> np.ndarray:
    """NaN in place of numbers that have not been found; for sizes, none."""
    return np.full(like.dimensions, 0 if like.dtype.kind in "iu" else np.nan, like.dtype)
