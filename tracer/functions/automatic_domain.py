"""``np.emath``: numbers outside of a function's real domain give complex results.

Whether there are any is known when the program runs. It is guessed that there are none; where that is wrong the function is
traced anew, and computes complex numbers from then on.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..recording.array import TracedArray
from ..recording.function_tables import implements, implements_dynamic
from .decompositions import guessed_to_hold
from .histograms import as_array

_OF_SINGLE_PRECISION = (np.float32, np.int8, np.int16, np.uint8, np.uint16)


def _complex_where(what: str, x: TracedArray, is_outside: Callable[[TracedArray], TracedArray]) -> TracedArray:
    """The numbers, as complex ones where some are outside of the domain."""
    if x.dtype.kind == "c" or guessed_to_hold(what, np.logical_not(np.any(is_outside(x)))):
        return x
    return x.astype(np.complex64 if x.dtype in _OF_SINGLE_PRECISION else np.complex128)


def _is_negative(x: TracedArray) -> TracedArray:
    return x < 0


def _is_beyond_one(x: TracedArray) -> TracedArray:
    return np.abs(x) > 1


def _implements(function: Callable) -> Callable:
    def register(implementation: Callable) -> Callable:
        return implements(function)(implements_dynamic(function)(implementation))

    return register


def _of_one(function: Callable, compute: Callable, is_outside: Callable[[TracedArray], TracedArray]) -> None:
    what = f"np.emath.{function.__name__}"
    _implements(function)(lambda x: compute(_complex_where(what, as_array(x), is_outside)))


for _function, _compute in (
    (np.emath.sqrt, np.sqrt), (np.emath.log, np.log), (np.emath.log2, np.log2), (np.emath.log10, np.log10),
):  # fmt: skip
    _of_one(_function, _compute, _is_negative)
for _function, _compute in ((np.emath.arccos, np.arccos), (np.emath.arcsin, np.arcsin), (np.emath.arctanh, np.arctanh)):
    _of_one(_function, _compute, _is_beyond_one)


@_implements(np.emath.logn)
def logn(n, x):
    x, n = (_complex_where("np.emath.logn", as_array(one), _is_negative) for one in (x, n))
    return np.log(x) / np.log(n)


@_implements(np.emath.power)
def power(x, p):
    """Integers to a negative power are floats."""
    x, p = _complex_where("np.emath.power", as_array(x), _is_negative), as_array(p)
    if p.dtype.kind == "i" and not guessed_to_hold("the exponent of np.emath.power", np.logical_not(np.any(p < 0))):
        p = p * 1.0
    return np.power(x, p)
