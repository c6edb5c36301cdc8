"""Orders and choices of elements: what is required of the arguments, with NumPy's messages."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..recording.array import TracedArray
from ..recording.operands import as_traced, has_traced, require


def is_integer(value: Any) -> bool:
    """Whether this is one integer, which may be traced."""
    if isinstance(value, TracedArray):
        return not value.ndim and value.dtype.kind in "iu"
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def as_array(value: Any) -> Any:
    """An array, or a sequence, as an array."""
    if isinstance(value, (TracedArray, np.ndarray)):
        return value
    return as_traced(list(value)) if isinstance(value, (list, tuple)) and has_traced(value) else np.asarray(value)


def elements(a: Any) -> Any:
    """What is chosen from, as an array. Raises ValueError for what has no dimension."""
    array = as_array(a)
    if not np.ndim(array):
        raise ValueError(f"a must be a sequence or an integer, not {type(a)}")
    return array


def population(a: Any, axis: int, is_empty_draw: bool) -> Any:
    """How many there are to be chosen from. Raises ValueError, which where that is traced the program may do."""
    if is_integer(a):
        if not is_empty_draw:
            require(a > 0, ValueError, "a must be a positive integer unless no samples are taken")
        return a
    count = length(a, axis)
    if not is_empty_draw:
        require(count > 0, ValueError, "a cannot be empty unless no samples are taken")
    return count


def probabilities(p: Any, count: Any) -> Any:
    """Probabilities of that many elements as f64. Raises ValueError, which for those that are traced the program may do."""
    p = as_array(p)
    tolerance = np.sqrt(max(np.finfo(np.float64).eps, np.finfo(p.dtype).eps if p.dtype.kind == "f" else 0))
    p = p.astype(np.float64)
    if p.ndim != 1:
        raise ValueError("p must be 1-dimensional")
    if isinstance(count, TracedArray):
        require(count == p.size, ValueError, "a and p must have same size")
    elif p.size != count:
        raise ValueError("a and p must have same size")
    total = np.sum(p)
    require(~np.isnan(total), ValueError, "Probabilities contain NaN")
    require(~np.any(p < 0), ValueError, "Probabilities are not non-negative")
    message = "Probabilities do not sum to 1. See Notes section of docstring for more information."
    require(np.abs(total - 1.0) <= tolerance, ValueError, message)
    return p


def require_enough(wanted: int, count: Any, p: Any) -> None:
    """Raises ValueError where fewer elements than wanted can be chosen."""
    message = "Cannot take a larger sample than population when replace is False"
    require(wanted <= count, ValueError, message)
    if p is not None:
        require(np.count_nonzero(p > 0) >= wanted, ValueError, "Fewer non-zero entries in p than size")


def normalized(axis: int, array: Any) -> int:
    """An axis, counted from the first one. Raises AxisError."""
    ndim = np.ndim(array)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def fitting(array: Any, out: Any) -> Any:
    """An array that is written to an output. Raises TypeError, ValueError where it does not fit there."""
    if not isinstance(out, (np.ndarray, TracedArray)):
        raise TypeError("out must be a numpy array")
    if np.shape(out) != np.shape(array):
        raise ValueError("out must have the same shape as x")
    if not np.can_cast(array.dtype, out.dtype, "safe"):
        raise TypeError(f"Cannot cast array data from {array.dtype!r} to {out.dtype!r} according to the rule 'safe'")
    return array


def length(array: Any, axis: int) -> int:
    """The size of an array along an axis. Raises AxisError."""
    return np.shape(array)[normalized(axis, array)]


def size_of(shape: tuple[Any, ...]) -> Any:
    """How many elements an array of this shape has."""
    return shape[0] if len(shape) == 1 else math.prod(shape)


def is_empty(shape: tuple[Any, ...]) -> bool:
    """Whether there are certainly none."""
    return any([not isinstance(size, TracedArray) and size == 0 for size in shape])


def is_wide(seed: Any) -> bool:
    """Whether a seed has more than 64 bits."""
    return not isinstance(seed, TracedArray) and seed >= 2**64
