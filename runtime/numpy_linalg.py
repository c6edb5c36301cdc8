"""The functions of ``np.linalg`` that compiled programs call by name, ``numpy.linalg.<name>``; attributes are their keywords.

Where sizes are known at run time only the operands are arrays of the bounds, and one more has the sizes, as s32: the attribute
"sizes" names the operand and the dimension of each. "result_sizes" does so for the results, which are padded again; behind them
comes an array of these. The last part of the results says whether the function has failed, where it can.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..hlo import TupleShape
from ..hlo.ops.known_calls import NUMPY_FAILURES
from .custom_calls import PythonTarget, Target

_NAMES = frozenset({
    "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "pinv", "qr", "slogdet", "solve", "svd",
})  # fmt: skip
# NumPy returns real numbers where no imaginary part is other than 0; programs take complex ones.
_EITHER_KIND = frozenset({"eig", "eigvals"})


def find_numpy(name: str) -> Target | None:
    """The target of this name; None for a name that is not among those known."""
    short = name.removeprefix("numpy.linalg.")
    if short not in _NAMES:
        return None
    function = getattr(np.linalg, short)
    may_fail = short in NUMPY_FAILURES

    def call(*arrays: np.ndarray, attributes: dict[str, Any], shape: Any) -> Any:
        shapes = shape.elements if isinstance(shape, TupleShape) else (shape,)
        sizes, result_sizes = attributes.pop("sizes", []), attributes.pop("result_sizes", None)
        if sizes:
            arrays = _cut(arrays, sizes)
        try:
            found = function(*arrays, **attributes)
        except np.linalg.LinAlgError:
            if not may_fail:
                raise
            found = [_filled(one) for one in shapes[:-1]]
            return (*found, np.True_)
        results = tuple(found) if isinstance(found, tuple) else (found,)
        if result_sizes is not None:
            actual = np.array([np.shape(results[number])[d] for number, d in result_sizes], np.int32)
            results = (*map(_padded, results, shapes), actual)
        elif short in _EITHER_KIND:
            results = tuple([np.asarray(one).astype(like.dtype, copy=False) for one, like in zip(results, shapes)])
        if may_fail:
            results = (*results, np.False_)
        return results if isinstance(shape, TupleShape) else results[0]

    return PythonTarget(name, call)


def _cut(arrays: Sequence[np.ndarray], sizes: list[list[int]]) -> list[np.ndarray]:
    *padded, actual = arrays
    for (number, d), size in zip(sizes, actual.tolist()):
        padded[number] = padded[number][(slice(None),) * d + (slice(0, size),)]
    return padded


def _padded(result: Any, shape: Any) -> np.ndarray:
    padded = np.zeros(shape.dimensions, shape.dtype)
    padded[tuple(slice(0, size) for size in np.shape(result))] = result
    return padded


def _filled(shape: Any) -> np.ndarray:
    """NaN in place of numbers that have not been found; for sizes, none."""
    return np.full(shape.dimensions, 0 if shape.element_type.is_integer else np.nan, shape.dtype)
