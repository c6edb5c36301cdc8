"""NumPy's functions that are written in terms of others: their source is followed, as that of the user's own functions is."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.polynomial import polynomial

from ..functions import windows
from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.function_tables import DYNAMIC, FUNCTIONS
from ..recording.operands import has_traced
from .calls import captured, implements

# What is followed for all traced arrays, and what only where sizes are known at run time only.
_FOLLOWED: tuple[Callable, ...] = (
    np.apply_over_axes, np.diag_indices_from, np.geomspace, np.histogram_bin_edges, np.ix_,
    np.linalg.matrix_rank, np.linalg.tensorinv, np.linalg.tensorsolve, np.poly, np.polyfit, np.polyint, np.roots,
    np.tril_indices_from, np.triu_indices_from, polynomial.polygrid2d, polynomial.polygrid3d, polynomial.polyval2d,
    polynomial.polyval3d,
)  # fmt: skip
_FOLLOWED_IF_DYNAMIC: tuple[Callable, ...] = (
    np.astype, np.cumulative_prod, np.fft.fftshift,
    np.fft.ifftshift, np.linalg.matmul, np.linalg.matrix_norm,
    np.linalg.matrix_transpose, np.linalg.outer,
    np.linalg.vecdot, np.linalg.vector_norm, np.matrix_transpose,
    np.polyadd, np.polyder, np.polysub, np.polyval, np.real_if_close,
    np.rot90, np.sort_complex, np.vander,
)  # fmt: skip


def _followed(function: Callable) -> Callable:
    """What runs NumPy's own code for a function that it dispatches."""
    source = getattr(function, "_implementation", function)

    def run(*args: Any, **kwargs: Any) -> Any:
        return captured(source)(*args, **kwargs)

    return run


def _follow(functions: Iterable[Callable], *tables: dict[Callable, Callable]) -> None:
    for function in functions:
        for table in tables:
            table.setdefault(function, _followed(function))


_follow(_FOLLOWED, FUNCTIONS, DYNAMIC)
_follow(_FOLLOWED_IF_DYNAMIC, DYNAMIC)


def _of_one_array(function: Callable) -> Callable:
    """NumPy asks the array itself for those to dispatch on, one element after the other: so it is not asked."""
    run = _followed(function)

    def implementation(array: Any) -> Any:
        return run(array) if isinstance(array, TracedArray) or has_traced(array) else function(array)

    return implementation


for _function in (np.poly, np.roots):
    implements(_function)(_of_one_array(_function))


@implements(polynomial.polycompanion)
def polycompanion(c: Any) -> Any:
    """Without views of the diagonals, which a matrix of a size that is known at run time only does not have."""
    [c] = captured(np.polynomial.polyutils.as_series)([c])
    columns = c.shape[0] - 1
    matrix = np.eye(columns, k=-1, dtype=c.dtype) if not isinstance(c, TracedArray) else FUNCTIONS[np.eye](columns, k=-1)
    last = FUNCTIONS[np.arange](columns) == columns - 1
    return np.where(last, matrix - (c[:-1] / c[-1])[:, None], matrix)


@implements(warnings.warn)
def warn(*args: Any, **kwargs: Any) -> None:
    """Compiled code gives no warnings, wherever the program is when it comes here."""
    if current_trace() is None:
        warnings.warn(*args, **kwargs)


@implements(np.lib.stride_tricks.as_strided)
def as_strided(x: Any, *args: Any, **kwargs: Any) -> Any:
    strided = windows.as_strided if isinstance(x, TracedArray) else np.lib.stride_tricks.as_strided
    return strided(x, *args, **kwargs)


@implements(np.fft.fftfreq)
def fftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    if not isinstance(n, TracedArray):
        return np.fft.fftfreq(n, d, device)
    positions = DYNAMIC[np.arange](n)
    return np.where(positions < (n - 1) // 2 + 1, positions, positions - n) * (1.0 / (n * d))


@implements(np.fft.rfftfreq)
def rfftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    if not isinstance(n, TracedArray):
        return np.fft.rfftfreq(n, d, device)
    return DYNAMIC[np.arange](n // 2 + 1) * (1.0 / (n * d))
