"""What this machine can do at most, as compiled code reaches it: bytes and floating-point operations a second."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..tracer import jit

_TRIAD_ELEMENTS, _PRODUCT_ROWS = 4_000_000, 768
_SECONDS = 0.03


class MachineLimits(NamedTuple):
    """A second: bytes between the cores and memory, and floating-point operations on f32 and on f64."""

    bytes: float
    flops_single: float
    flops_double: float

    def __str__(self) -> str:
        single, double = self.flops_single / 1e9, self.flops_double / 1e9
        return f"{self.bytes / 1e9:.3g} GB/s, {single:.3g} GFLOP/s of f32, {double:.3g} of f64"


@functools.cache
def machine_limits() -> MachineLimits:
    """The limits, measured once a process with as many threads as programs have: it takes a quarter of a second.

    Bytes are those of ``a = b + 3 * c`` on arrays of 32 MB, floating-point operations those of products of matrices, which come
    within some percent of what the vector units can do.
    """
    a, b, c = np.zeros((3, _TRIAD_ELEMENTS))
    x = np.ones((_PRODUCT_ROWS, _PRODUCT_ROWS))
    single = x.astype(np.float32)
    work = 2 * _PRODUCT_ROWS**3
    return MachineLimits(
        3 * a.nbytes / _least_seconds(jit(_triad), a, b, c),
        work / _least_seconds(jit(_product), single, single),
        work / _least_seconds(jit(_product), x, x),
    )


def _triad(a: Any, b: Any, c: Any) -> None:
    a[:] = b + 3 * c


def _product(x: Any, y: Any) -> Any:
    return x @ y


def _least_seconds(function: Callable[..., Any], *arguments: np.ndarray) -> float:
    function(*arguments)
    times, begin = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - begin < _SECONDS:
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)
