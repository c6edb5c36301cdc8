"""The bounds between which integers are drawn, as NumPy's generators take them."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from ..recording.array import TracedArray
from ..recording.operands import require


class Bounds(NamedTuple):
    """``first`` and ``size``, how many integers there are from there on, as u64, arrays or scalars. A size of 0 is 2**64.

    ``is_large``, which may be traced, says whether there may be more than 2**32.
    """

    first: Any
    size: Any
    is_large: Any


def bounds_of(low: Any, high: Any, dtype: DTypeLike, endpoint: Any) -> Bounds:
    """The bounds as NumPy's ``integers`` takes them. Raises TypeError and ValueError as it does, or when the program runs."""
    low, high = (0, low) if high is None else (low, high)
    low, high = _bound(low), _bound(high)
    name, least, most = _limits(np.dtype(dtype))
    _require_above(low, least, f"low is out of bounds for {name}")
    _require_below(high, most + (not endpoint), f"high is out of bounds for {name}")
    are_known = isinstance(low, int) and isinstance(high, int)
    holds = low <= high if endpoint else low < high
    if not are_known or not holds:
        is_from_zero = not isinstance(low, TracedArray) and np.all(np.equal(low, 0))
        message = f"high {'<' if endpoint else '<='} 0" if is_from_zero else f"low {'>' if endpoint else '>='} high"
        require(np.all(holds), ValueError, message)
    if are_known:
        size = high - low + bool(endpoint)
        return Bounds(np.uint64(low % 2**64), np.uint64(size % 2**64), size > 2**32)
    first, end = _unsigned(low), _unsigned(high)
    size = end - first + np.uint64(1) if endpoint else end - first
    return Bounds(first, size, np.any(size - np.uint64(1) >= np.uint64(2**32)))


@cache
def _limits(dtype: np.dtype) -> tuple[str, int, int]:
    """The name of a type, and the least and the largest number that it has."""
    return (str(dtype), 0, 1) if dtype == np.bool_ else (str(dtype), int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


def _bound(value: Any) -> Any:
    """A Python integer, or an array or a traced scalar of integers. Raises TypeError."""
    if type(value) is int:
        return value
    if not isinstance(value, TracedArray):
        value = np.asarray(value)
        if value.dtype.kind == "O" and not value.ndim and isinstance(value.item(), int):
            return value.item()
    if value.dtype.kind not in "biu":
        raise TypeError(f"integers: the bounds must be integers, got {value.dtype}")
    return int(value) if isinstance(value, np.ndarray) and not value.ndim else value


def _require_above(value: Any, least: int, message: str) -> None:
    if isinstance(value, int):
        require(value >= least, ValueError, message)
    elif value.dtype.kind == "i" and np.iinfo(value.dtype).min < least:
        require(np.all(value >= value.dtype.type(least)), ValueError, message)


def _require_below(value: Any, most: int, message: str) -> None:
    if isinstance(value, int):
        require(value <= most, ValueError, message)
    elif value.dtype.kind != "b" and np.iinfo(value.dtype).max > most:
        require(np.all(value <= value.dtype.type(most)), ValueError, message)


def _unsigned(value: Any) -> Any:
    """As u64, negative numbers as their complement."""
    if isinstance(value, int):
        return np.uint64(value % 2**64)
    return value.astype(np.uint64) if value.dtype.kind in "bu" else value.astype(np.int64).astype(np.uint64)
