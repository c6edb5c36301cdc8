"""NumPy's functions that are written in terms of others: their source is followed, as that of the user's own functions is."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.lib import _histograms_impl
from numpy.polynomial import polynomial, polyutils

from .... import hlo
from ...control_flow.loops import fori_loop
from ...functions import windows
from ...functions.decompositions import complex_eigenvalues, expected_to_hold, guessed_to_hold, real_if_all_are
from ...functions.padding import known_widths
from ...recording.array import TracedArray, require_trace
from ...recording.dynamic_array import DynamicArray, dynamic
from ...recording.function_tables import DYNAMIC, FUNCTIONS, implements_dynamic
from ...recording.function_tables import implements as implements_function
from ...recording.operands import as_traced, has_traced, require
from .dispatch import call
from .meanings import implements
from .users_functions import captured

# What is followed for arrays of fixed shapes alone, for all, and only where sizes are known at run time only.
_FOLLOWED_IF_FIXED: tuple[Callable, ...] = (np.diag_indices_from, np.tril_indices_from, np.triu_indices_from)
_FOLLOWED: tuple[Callable, ...] = (
    np.apply_over_axes, np.geomspace, np.i0, np.ix_, np.linalg.matrix_rank, np.linalg.tensorinv,
    np.polyfit, np.polyint, np.roots, polynomial.polygrid2d, polynomial.polygrid3d,
    polynomial.polyval2d, polynomial.polyval3d, *filter(None, [getattr(polynomial, "polyvalnd", None)]),
)  # fmt: skip
_FOLLOWED_IF_DYNAMIC: tuple[Callable, ...] = (
    np.astype, np.fft.fftshift, np.fft.ifftshift, np.linalg.matmul, np.linalg.matrix_norm, np.linalg.matrix_transpose,
    np.linalg.outer, np.linalg.vecdot, np.linalg.vector_norm, np.matrix_transpose, np.polyadd, np.polyder, np.polysub,
    np.rollaxis, np.rot90, np.sort_complex, np.vander,
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


_follow(_FOLLOWED_IF_FIXED, FUNCTIONS)
_follow(_FOLLOWED, FUNCTIONS, DYNAMIC)
_follow(_FOLLOWED_IF_DYNAMIC, DYNAMIC)


def _with_weights_followed(function: Callable, unweighted: Callable) -> Callable:
    weighted = _followed(function)

    def implementation(*args: Any, **kwargs: Any) -> Any:
        has_weights = any(kwargs.get(name) is not None for name in ("fweights", "aweights")) or len(args) > 5
        return (weighted if has_weights else unweighted)(*args, **kwargs)

    return implementation


for _table in (FUNCTIONS, DYNAMIC):
    _table[np.cov] = _with_weights_followed(np.cov, _table[np.cov])


@implements_function(np.histogram_bin_edges)
@implements_dynamic(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    return _followed(np.histogram_bin_edges)(a, bins, range, weights)


_pad = FUNCTIONS[np.pad]


@implements_function(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    if not callable(mode):
        return _pad(array, pad_width, mode, **kwargs)
    array = as_traced(array)
    widths = known_widths(pad_width, array.ndim)
    return captured(_padded_by)(_pad(array, widths) if array.ndim else array.copy(), widths, mode, kwargs)


def _padded_by(padded, widths, function, keywords):
    for axis in range(padded.ndim):
        lines = np.moveaxis(padded, axis, -1)
        for index in np.ndindex(lines.shape[:-1]):
            function(lines[(*index, ...)], widths[axis], axis, keywords)
    return padded


# The one estimator of NumPy's whose source, the smallest of a range by a key, is not followed.
@implements(vars(_histograms_impl)["_hist_bin_stone"])
def stone_width(x: Any, limits: Any) -> Any:
    """The width of bins with the least estimated error, in a loop over how many they are."""
    return captured(_stone_width)(x, limits)


def _stone_width(x, limits):
    count, width = x.size, np.max(x) - np.min(x)
    if count <= 1 or width == 0:
        return 0.0
    best, least = 1, np.inf
    for number in range(1, max(100, int(np.sqrt(count))) + 1):
        density = np.histogram(x, bins=number, range=limits)[0] / count
        error = (2 - (count + 1) * density.dot(density)) / (width / number)
        if error < least:
            best, least = number, error
    return width / best


@implements(np.roots)
def roots(p: Any) -> Any:
    """NumPy asks the array itself for those to dispatch on, one element after the other: so it is not asked."""
    return _followed(np.roots)(p) if isinstance(p, TracedArray) or has_traced(p) else np.roots(p)


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """One root after the other; real where the roots are those of a real matrix, or come in conjugate pairs."""
    if not isinstance(seq_of_zeros, TracedArray) and not has_traced(seq_of_zeros):
        return np.poly(seq_of_zeros)
    if isinstance(seq_of_zeros, DynamicArray):  # further roots that are 0 give further coefficients that are 0
        if seq_of_zeros.ndim != 1:
            raise NotImplementedError("np.poly of a matrix whose size is known at run time only is not implemented")
        trace = require_trace(seq_of_zeros)
        whole = poly(seq_of_zeros.filled(trace, 0))
        return dynamic(trace, whole, {0: hlo.add(seq_of_zeros.sizes(trace)[0], 1)})
    found = np.atleast_1d(as_traced(seq_of_zeros))
    if found.ndim > 2 or found.ndim == 2 and (found.shape[0] != found.shape[1] or not found.size):
        raise ValueError("input must be 1d or non-empty square 2d array.")
    is_real = not found.element_type.is_complex
    found = complex_eigenvalues(found) if found.ndim == 2 else found.astype(np.common_type(found))
    if not found.size:
        return 1.0
    first = FUNCTIONS[np.zeros](found.shape[0] + 1, found.dtype)
    first[0] = 1
    product = fori_loop(0, found.shape[0], lambda k, a: a + np.concatenate([a[:1] * 0, a[:-1]]) * -found[k], first)
    if not found.element_type.is_complex:
        return product
    pairs = np.all(np.sort(found) == np.sort(found.conjugate()))
    return product.real.copy() if is_real or guessed_to_hold("np.poly", pairs) else product


@implements(polyutils.trimseq)
def trimseq(seq: Any) -> Any:
    """Nothing is left out unless a call finds that the last coefficient is 0."""
    if isinstance(seq, TracedArray) and not isinstance(seq, DynamicArray) and seq.size:
        if expected_to_hold("a polynomial's last coefficient is not 0", seq[-1] != 0):
            return seq
    return captured(polyutils.trimseq)(seq)


def _between_bases(function: Callable) -> Callable:
    """A product with what NumPy's function makes of each polynomial of the basis."""

    def implementation(coefficients: Any) -> Any:
        if isinstance(coefficients, (list, tuple)):
            coefficients = call(np.asarray, coefficients)
        if not isinstance(coefficients, TracedArray):
            return function(coefficients)
        [series] = captured(polyutils.as_series)([coefficients])
        if isinstance(series, DynamicArray):
            return captured(function)(series)
        count = series.shape[0]
        columns = [function(one) for one in np.eye(count)]
        return np.stack([np.pad(one, (0, count - one.shape[0])) for one in columns], axis=1) @ series

    return implementation


for _module, _name in (
    ("chebyshev", "cheb"),
    ("legendre", "leg"),
    ("hermite", "herm"),
    ("hermite_e", "herme"),
    ("laguerre", "lag"),
):
    for _function in (f"{_name}2poly", f"poly2{_name}"):
        _function = getattr(getattr(np.polynomial, _module), _function)
        implements(_function)(_between_bases(_function))


@implements(polynomial.polycompanion)
def polycompanion(c: Any) -> Any:
    """Without views of the diagonals, which a matrix of a size that is known at run time only does not have."""
    [c] = captured(np.polynomial.polyutils.as_series)([c])
    columns = c.shape[0] - 1
    require(columns > 0, ValueError, "Series must have maximum degree of at least 1.")
    matrix = np.eye(columns, k=-1, dtype=c.dtype) if not isinstance(c, TracedArray) else FUNCTIONS[np.eye](columns, k=-1)
    last = FUNCTIONS[np.arange](columns) == columns - 1
    return np.where(last, matrix - (c[:-1] / c[-1])[:, None], matrix)


@implements_dynamic(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """A number for a number; coefficients of a number that is known at run time only, one after the other."""
    if not isinstance(p, DynamicArray) or not isinstance(x, TracedArray | int | float | complex) or isinstance(x, DynamicArray):
        return _followed(np.polyval)(p, x)
    trace, x, size = require_trace(p), as_traced(x), p.shape[0]
    coefficients = p.padded(trace)
    kind = np.result_type(p.dtype, x.dtype_class if not isinstance(x.dtype_class, type) else x.dtype_class(0))
    first = FUNCTIONS[np.zeros](x.shape, kind)

    def step(k: Any, value: Any) -> Any:
        return np.where(k < size, value * x + coefficients[k], value)

    return fori_loop(0, coefficients.shape[0], step, first)[()]


@implements_function(np.polydiv)
@implements_dynamic(np.polydiv)
def polydiv(u: Any, v: Any) -> Any:
    """The quotient, and the rest without leading coefficients that are close to 0."""
    if isinstance(u, DynamicArray) or isinstance(v, DynamicArray):
        raise NotImplementedError("np.polydiv of an array whose size is known at run time only is not implemented")
    u, v = (np.atleast_1d(as_traced(one)) + 0.0 for one in (u, v))
    kind, steps = (u[:1] + v[:1]).dtype, u.shape[0] - v.shape[0] + 1
    quotient, rest, scale = FUNCTIONS[np.zeros](max(steps, 1), kind), u.astype(kind), 1.0 / v[0]

    def step(k: Any, state: Any) -> Any:
        quotient, rest = state
        part = scale * rest[k]
        places = k + FUNCTIONS[np.arange](v.shape[0])
        return _set(quotient, k, part), _set(rest, places, rest[places] - part * v)

    if steps > 0:
        quotient, rest = fori_loop(0, steps, step, (quotient, rest))
    is_left = np.logical_not(np.isclose(rest, 0, rtol=1e-14))
    leading = np.where(np.any(is_left), np.argmax(is_left), rest.shape[0] - 1)[()]
    return quotient, rest[leading:]


def _set(array: Any, places: Any, value: Any) -> Any:
    array[places] = value
    return array


@implements(polynomial.polyfromroots)
def polyfromroots(roots: Any) -> Any:
    """The highest coefficient is 1, so that no product has any to be left out."""
    roots = np.atleast_1d(roots)
    if isinstance(roots, DynamicArray):
        raise NotImplementedError("polyfromroots of an array whose size is known at run time only is not implemented")
    if not isinstance(roots, TracedArray) or not roots.size:
        return captured(polynomial.polyfromroots)(roots)
    roots = np.sort(roots.astype(np.common_type(roots)))
    parts = [np.stack([-root, np.ones_like(root)]) for root in roots]
    while len(parts) > 1:
        half, odd = divmod(len(parts), 2)
        last = parts[-1]
        parts = [np.convolve(parts[number], parts[number + half]) for number in range(half)]
        parts[0] = np.convolve(parts[0], last) if odd else parts[0]
    return parts[0]


# Of NumPy 2.5, by which np.roots makes eigenvalues real.
_TO_REAL = getattr(importlib.import_module("numpy.linalg._linalg"), "_to_real_if_imag_zero", None)

if _TO_REAL is not None:

    @implements(_TO_REAL)
    def real_eigenvalues(values: Any, matrix: Any) -> Any:
        is_complex = as_traced(matrix).element_type.is_complex
        return values if is_complex else real_if_all_are("np.roots", as_traced(values))[0]


@implements(np.lib.stride_tricks.as_strided)
def as_strided(x: Any, *args: Any, **kwargs: Any) -> Any:
    strided = windows.as_strided if isinstance(x, TracedArray) else np.lib.stride_tricks.as_strided
    return strided(x, *args, **kwargs)


def _window(function: Callable) -> Callable:
    def implementation(M: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N803
        return (captured(function) if isinstance(M, TracedArray) else function)(M, *args, **kwargs)

    return implementation


for _function in (np.bartlett, np.blackman, np.hamming, np.hanning, np.kaiser):
    implements(_function)(_window(_function))


@implements_function(np.real_if_close)
@implements_dynamic(np.real_if_close)
def real_if_close(a: Any, tol: Any = 100) -> Any:
    """Which of the two it is, is guessed."""
    a = a if isinstance(a, DynamicArray) else FUNCTIONS[np.asarray](a)
    if not a.element_type.is_complex:
        return a
    eps = np.finfo(a.dtype).eps
    bound = np.where(tol > 1, tol * eps, tol)[()] if isinstance(tol, TracedArray) else tol * eps if tol > 1 else tol
    return a.real if guessed_to_hold("np.real_if_close", np.all(np.absolute(a.imag) < bound)) else a


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
