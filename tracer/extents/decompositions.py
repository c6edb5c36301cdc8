"""Decompositions and Fourier transforms where sizes are known at run time only: NumPy's functions are called with these."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import hlo
from ..functions import decompositions
from ..recording.array import TracedArray, require_trace
from ..recording.dynamic_array import DynamicArray, same_value
from ..recording.function_tables import FUNCTIONS, implements_dynamic
from ..recording.operands import known_number
from ..recording.trace import Trace
from .broadcasting import as_array, dimensions_of, fail_if
from .linear_algebra import size_of_square


def _sizes(trace: Trace, arrays: list[TracedArray]) -> list[tuple[int, int, hlo.Instruction]]:
    return [
        (number, d, size)
        for number, one in enumerate(arrays)
        if isinstance(one, DynamicArray)
        for d, size in one.sizes(trace).items()
    ]


def _padded(trace: Trace, array: TracedArray) -> TracedArray:
    return array.padded(trace) if isinstance(array, DynamicArray) else array


def on_sizes(name: str, array: DynamicArray, *others: TracedArray, least: int = 0, **keywords: Any) -> Any:
    """The result of ``np.<name>``, called with an array of its sizes.

    Its shape follows from that of the array, and is largest at the bounds. Those dimensions are taken for dynamic that are
    others for other sizes; the function takes arrays of no less than ``least`` along each dimension.
    """
    trace, bounds = require_trace(array), array.bounds.dimensions
    module, _, short = name.rpartition(".")
    function = getattr(getattr(np, module), short)
    smallest, larger = (
        [size if not array.bounds.is_dynamic(d) else other for d, (size, other) in enumerate(zip(bounds, sizes))]
        for sizes in ([least] * len(bounds), [size + 1 for size in bounds])
    )
    shapes = [
        tuple([np.shape(one) for one in _parts(function(np.zeros(sizes, array.dtype), **keywords))])
        for sizes in (smallest, larger)
    ]
    sample = function(np.zeros(np.maximum(bounds, smallest), array.dtype), **keywords)
    described = _parts(sample)
    changing = [
        (number, d)
        for number, one in enumerate(described)
        for d, size in enumerate(np.shape(one))
        if any(shape[number][d] != size for shape in shapes)
    ]
    arrays = [array, *others]
    padded = [_padded(trace, one) for one in arrays]
    found = decompositions.call_numpy(name, padded, _sizes(trace, arrays), described, changing, **keywords)
    if not isinstance(sample, tuple):
        return found[0]
    return type(sample)(*found) if hasattr(sample, "_fields") else found


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _on_matrix(name: str, a: DynamicArray, *tolerance: TracedArray, **keywords: Any) -> Any:
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    return on_sizes(f"linalg.{name}", a, *tolerance, **keywords)


@implements_dynamic(np.linalg.svd)
def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    return _on_matrix("svd", a, full_matrices=bool(full_matrices), compute_uv=bool(compute_uv), hermitian=bool(hermitian))


@implements_dynamic(np.linalg.svdvals)
def svdvals(x, /):
    return _on_matrix("svd", x, compute_uv=False)


@implements_dynamic(np.linalg.qr)
def qr(a, mode="reduced"):
    return _on_matrix("qr", a, mode=mode)


@implements_dynamic(np.linalg.pinv)
def pinv(a, rcond=None, hermitian=False, *, rtol=np._NoValue):
    a = as_array(a)
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    return decompositions.from_singular_values(a, rcond, hermitian, rtol)


def _finite_square(a: DynamicArray) -> tuple[Trace, DynamicArray, Any]:
    """The matrix, which must be square and have finite elements; its size."""
    trace = require_trace(a)
    if a.ndim != 2:
        raise NotImplementedError("eigenvalues of stacks of matrices whose sizes are known at run time only")
    size_of_square(trace, a)
    infinite = np.logical_not(np.isfinite(a).all())
    fail_if(trace, infinite.instruction(trace), "Array must not contain infs or NaNs", np.linalg.LinAlgError)
    return trace, a, min(a.bounds.dimensions)


@implements_dynamic(np.linalg.eigvals)
def eigvals(a):
    trace, a, size = _finite_square(as_array(a))
    described = [np.zeros(size, decompositions.complex_type(a.dtype))]
    (values,) = decompositions.call_numpy("linalg.eigvals", [a.padded(trace)], _sizes(trace, [a]), described, [(0, 0)])
    return decompositions.real_if_numpy_has_them("np.linalg.eigvals", a, values)[0]


@implements_dynamic(np.linalg.eig)
def eig(a):
    trace, a, size = _finite_square(as_array(a))
    kind = decompositions.complex_type(a.dtype)
    described, changing = [np.zeros(size, kind), np.zeros((size, size), kind)], [(0, 0), (1, 0), (1, 1)]
    found = decompositions.call_numpy("linalg.eig", [a.padded(trace)], _sizes(trace, [a]), described, changing)
    named = type(np.linalg.eig(np.eye(1)))
    return named(*decompositions.real_if_numpy_has_them("np.linalg.eig", a, *found))


@implements_dynamic(np.linalg.cond)
def cond(x, p=None):
    x, p = as_array(x), known_number(p)
    if decompositions.is_ratio_of_singular_values(p):
        return decompositions.ratio_of_singular_values(x, p)
    trace = require_trace(x)
    described = [np.zeros(x.bounds.dimensions[:-2], np.linalg.svdvals(np.zeros((0, 1, 1), x.dtype)).dtype)]
    changing = [(0, d) for d in range(x.ndim - 2) if x.bounds.is_dynamic(d)]
    return decompositions.call_numpy("linalg.cond", [x.padded(trace)], _sizes(trace, [x]), described, changing, p=str(p))[0]


@implements_dynamic(np.linalg.lstsq)
def lstsq(a, b, rcond=None):
    a, b = as_array(a), as_array(b)
    trace = require_trace(a, b)
    arrays = [a, b]
    described = decompositions.results_of_lstsq(*[(dimensions_of(one), one.dtype) for one in arrays])
    sizes = _sizes(trace, arrays)
    is_dynamic = {(number, d) for number, d, _ in sizes}
    rows, others = (one.sizes(trace).get(0) if isinstance(one, DynamicArray) else None for one in arrays)
    rows, others = (
        hlo.constant(np.int32(dimensions_of(one)[0])) if size is None else size for one, size in ((a, rows), (b, others))
    )
    if not same_value(rows, others):
        fail_if(trace, hlo.ne(rows, others), "Incompatible dimensions", np.linalg.LinAlgError)
    changing = [(1, 0)]
    changing += [(0, 0)] if (0, 1) in is_dynamic else []
    changing += [(0, 1)] if (1, 1) in is_dynamic else []
    changing += [(3, 0)] if (0, 0) in is_dynamic or (0, 1) in is_dynamic else []
    given = [*[_padded(trace, one) for one in arrays], *decompositions.tolerance(rcond)]
    return decompositions.call_numpy("linalg.lstsq", given, sizes, described, changing)


# --- Fourier transforms ---


def _transform(function: Callable) -> Callable:
    name = f"fft.{function.__name__}"

    def implementation(a, *rest, out=None, **keywords):
        given = signature.bind(a, *rest, **keywords).arguments
        if a.is_expected_full:
            return FUNCTIONS[function](a.full(require_trace(a), f"np.{name}"), *rest, **keywords)
        return on_sizes(name, as_array(given.pop("a")), least=2, **given)

    signature = inspect.signature(function)
    return implementation


for _name in (
    "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn",
):  # fmt: skip
    implements_dynamic(getattr(np.fft, _name))(_transform(getattr(np.fft, _name)))
