"""Integers between bounds, which may be traced, arrays, and of any of NumPy's integer types."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ..calls import integer_bounds
from ..calls.integer_bounds import Bounds
from . import draws
from .transforms import BITS, INTEGERS


def bounds_of(low: Any, high: Any, dtype: DTypeLike, endpoint: Any) -> Bounds:
    """The bounds as NumPy's ``integers`` takes them. Raises TypeError and ValueError as it does, or when the program runs."""
    draws.transform_for(INTEGERS[False], dtype, "integers")
    return integer_bounds.bounds_of(low, high, dtype, endpoint)


def drawn_between(state: Any, bounds: Bounds, is_large: bool, size: Any, dtype: DTypeLike) -> Any:
    """Integers between the bounds."""
    transform = draws.transform_for(INTEGERS[is_large], dtype, "integers")
    shape = draws.shape_of_draw(size, bounds.first, bounds.size)
    if bounds.first.ndim or bounds.size.ndim:
        first, count = [np.broadcast_to(one, shape).reshape(-1) for one in (bounds.first, bounds.size)]
        words = draws.draw(BITS, state, transform.words_for(math.prod(shape)))
        return transform.function(words, first, count).reshape(shape)
    return draws.drawn(transform, state, shape, size is None, dtype is int or dtype is bool, bounds.first, bounds.size)
