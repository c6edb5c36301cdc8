"""What else than `numpy.ma` makes of masked arrays: conversions, assignments, types and ``is numpy.ma.masked``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .calls.dispatch import call
from .library.masked.array import MaskedArray, as_array, as_element


def without_masks(value: Any) -> Any:
    """The arrays that NumPy makes of masked arrays, and of numbers that may be masked; also of those in lists."""
    if isinstance(value, MaskedArray):
        return call(as_array, value)
    return _elements(value) if type(value) in (list, tuple) else value


def assigned(value: Any) -> Any:
    """The same for what is assigned to an element: ``numpy.ma.masked`` is not a number."""
    return call(as_element, value) if isinstance(value, MaskedArray) else value


def _elements(values: Any) -> Any:
    found = [
        _elements(one) if type(one) in (list, tuple) else call(as_element, one) if isinstance(one, MaskedArray) else one
        for one in values
    ]
    return values if all(one is another for one, another in zip(found, values)) else type(values)(found)


def is_instance(value: MaskedArray, kinds: Any) -> Any:
    """``isinstance(value, kinds)``, which may be for the program to decide."""
    if isinstance(value, kinds):  # `library.masked` asks
        return True
    masked, plain = [issubclass(kind, kinds) for kind in _types(value)]
    if masked == plain or value.mask is np.ma.nomask:
        return plain
    is_masked = np.any(value.mask)
    return is_masked if masked else np.logical_not(is_masked)


def type_of(value: MaskedArray) -> type:
    """What NumPy has in its place. Raises NotImplementedError where the program decides."""
    masked, plain = _types(value)
    if masked is not plain and value.mask is not np.ma.nomask:
        raise NotImplementedError(
            f"the type of what is {masked.__name__} or {plain.__name__}, as the program decides; ask isinstance, or whether it "
            "is numpy.ma.masked"
        )
    return plain


def _types(value: MaskedArray) -> tuple[type, type]:
    """What it is in NumPy where something of it is masked, and where nothing is."""
    if not value.is_decided:
        return np.ma.MaskedArray, np.ma.MaskedArray
    if np.ndim(value.data):
        return np.ma.MaskedArray, np.ndarray
    return type(np.ma.masked), value.data.dtype.type


def is_the_masked(value: Any, other: Any) -> Any:
    """``value is numpy.ma.masked``, None where that is not asked."""
    for one, another in ((value, other), (other, value)):
        if another is np.ma.masked and isinstance(one, MaskedArray):
            return one.mask if one.is_decided and not one.data.ndim else False
    return None
