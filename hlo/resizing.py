"""Arrays cut off, or filled up with zeros, to the sizes that dynamic dimensions have at run time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def grown(value: Any, sizes: Sequence[int]) -> np.ndarray:
    """The array in one of these sizes, zeros behind it; what is beyond them is gone."""
    result = np.zeros(sizes, np.asarray(value).dtype)
    common = tuple(slice(min(old, new)) for old, new in zip(np.shape(value), sizes))
    result[common] = np.asarray(value)[common]
    return result


def resized(value: Any, dimension: int, size: int) -> np.ndarray:
    """The array cut to this size along a dimension, or filled up to it with zeros."""
    sizes = list(np.shape(value))
    if size <= sizes[dimension]:
        return np.asarray(value)[(slice(None),) * dimension + (slice(size),)]
    sizes[dimension] = size
    return grown(value, sizes)
