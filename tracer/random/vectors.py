"""Distributions of vectors: what is required of their parameters, with NumPy's messages, and the parts of them."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.operands import require
from . import draws
from .choices import as_array
from .distributions import LOGARITHMS_OF_GAMMAS
from .elementary import exponential


def _floats(value: Any) -> Any:
    return as_array(value).astype(np.float64)


def concentrations(alpha: Any) -> Any:
    """The parameter of a Dirichlet distribution. Raises TypeError, ValueError, perhaps when the program runs."""
    array = _floats(alpha)
    if not array.ndim:
        raise TypeError(f"object of type {type(alpha).__name__!r} has no len()")
    if array.ndim > 1:
        raise ValueError("alpha must be 1-dimensional")
    require(~np.any(array < 0), ValueError, "alpha < 0")
    return array


def logarithms_of_gammas(state: Any, alpha: Any, shape: tuple[int, ...]) -> Any:
    """The logarithms of gamma numbers, as many as there are in alpha for each element of the shape."""
    whole = (*shape, alpha.shape[0])
    return draws.draw(
        LOGARITHMS_OF_GAMMAS, state, math.prod(whole), np.broadcast_to(alpha, whole).reshape(-1)
    ).reshape(whole)  # fmt: skip


def relative(logarithms: Any, largest: Any) -> Any:
    """The numbers of which these are the logarithms, as parts of the largest one."""
    return exponential(logarithms - largest[..., None])


def trials(n: Any, pvals: Any, size: Any) -> tuple[Any, Any, tuple[int, ...]]:
    """The numbers of trials as f64, the probabilities, and the shape of what is drawn. Raises ValueError."""
    n, given = as_array(n), as_array(pvals)
    if not given.ndim or not given.shape[-1]:
        raise ValueError("pvals must have at least 1 dimension and the last dimension of pvals must be greater than 0.")
    p = given.astype(np.float64)
    message = "pvals < 0, pvals > 1 or pvals contains NaNs"
    require(np.all((p >= 0) & (p <= 1)), ValueError, message)
    message = "sum(pvals[:-1]) > 1.0"
    if isinstance(given, np.ndarray) and given.dtype.kind == "f" and given.dtype.itemsize < 8 and given.sum() < 1.0001:
        message = (
            "sum(pvals[:-1].astype(np.float64)) > 1.0. The pvals array is cast to 64-bit floating point prior to checking the "
            "sum. Precision changes when casting may cause problems even if the sum of the original pvals is valid."
        )
    require(np.all(np.sum(p[..., :-1], axis=-1) <= 1.0 + 1e-12), ValueError, message)
    require(np.all(n >= 0), ValueError, "n < 0")
    shape = np.broadcast_shapes(np.shape(n), p.shape[:-1])
    if size is not None:
        shape = draws.shape_of_draw(size, *[one for one in (n, p[..., 0]) if np.ndim(one)])
    return n.astype(np.int64), p, shape


def part(p: Any, share: Any) -> Any:
    """The share of an outcome among those that are left, where rounding leaves none that is above 1."""
    is_left = np.greater(share, p)
    return np.where(is_left, p / np.where(is_left, share, 1.0), np.where(np.greater(p, 0.0), 1.0, 0.0))


def factored(mean: Any, cov: Any, check_valid: str, tol: float, method: str) -> tuple[Any, Any]:
    """Means, and a matrix whose product with its transpose, on the other side, is the covariances. Raises as NumPy does."""
    if method not in {"eigh", "svd", "cholesky"}:
        raise ValueError("method must be one of {'eigh', 'svd', 'cholesky'}")
    mean, cov = _floats(mean), _floats(cov)
    if mean.ndim != 1:
        raise ValueError("mean must be 1 dimensional")
    if cov.ndim != 2 or cov.shape[0] != cov.shape[1]:
        raise ValueError("cov must be 2 dimensional and square")
    if mean.shape[0] != cov.shape[0]:
        raise ValueError("mean and cov must have same length")
    if check_valid not in ("warn", "raise", "ignore"):
        raise ValueError("check_valid must equal 'warn', 'raise', or 'ignore'")
    if method == "cholesky":
        return mean, np.linalg.cholesky(cov).T
    if method == "eigh":
        squares, vectors = np.linalg.eigh(cov)
        holds = ~np.any(squares < -tol)
    else:
        vectors, squares, rows = np.linalg.svd(cov)
        holds = np.allclose(np.dot(rows.T * squares, rows), cov, rtol=tol, atol=tol)
    message = "covariance is not symmetric positive-semidefinite."
    if check_valid == "raise":
        require(holds, ValueError, message)
    elif check_valid == "warn" and current_trace() is None and not isinstance(holds, TracedArray) and not holds:
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    return mean, (vectors * np.sqrt(np.abs(squares))).T
