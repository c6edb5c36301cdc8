"""What combines with any x to x itself, by element type: where reductions start from, and what stands in their padding.

Each function returns a number of the element type, or None where it has no such number.
"""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np

from ..element_type import ElementType


def of_sums(element_type: ElementType) -> bool | int | float | complex | None:
    """0; of floating-point numbers -0, as -0 + 0 is 0. There are types that have no 0."""
    if element_type.is_complex:
        return complex(-0.0, -0.0)
    if element_type.is_float:
        zero = _as_stored(-0.0, element_type)
        return zero if zero == 0 else None
    return _number(0, element_type)


def of_products(element_type: ElementType) -> bool | int | float | None:
    """1; but not of complex numbers, of which infinities times 1 have parts that are no numbers."""
    return None if element_type.is_complex else _number(1, element_type)


def of_maxima(element_type: ElementType) -> bool | int | float | None:
    """The least number."""
    return _extreme(element_type, -math.inf, "min")


def of_minima(element_type: ElementType) -> bool | int | float | None:
    """The greatest number."""
    return _extreme(element_type, math.inf, "max")


def of_conjunctions(element_type: ElementType) -> bool | int:
    """All bits set."""
    return True if element_type.kind == "pred" else ~0 if element_type.kind == "signed" else (1 << element_type.bits) - 1


def of_disjunctions(element_type: ElementType) -> bool | int:
    """No bit set."""
    return _number(0, element_type)


def _extreme(element_type: ElementType, infinity: float, which: str) -> bool | int | float | None:
    if element_type.is_complex:
        return None
    if element_type.kind == "pred":
        return which == "max"
    if not element_type.is_float:
        return int(getattr(ml_dtypes.iinfo(element_type.dtype), which))
    stored = _as_stored(infinity, element_type)
    return stored if stored == infinity else float(getattr(ml_dtypes.finfo(element_type.dtype), which))


def _number(value: int, element_type: ElementType) -> bool | int | float:
    """The whole number as Python's type of the kind."""
    return {"pred": bool, "float": float}.get(element_type.kind, int)(value)


def _as_stored(value: float, element_type: ElementType) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(value).astype(element_type.dtype))
