"""Solving and decomposing with LAPACK: compiled code calls what NumPy's own functions are written in terms of."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import hlo
from ...hlo.source_lines import user_location
from ..calls.custom_call import custom_call
from ..recording.array import TracedArray, require_trace
from ..recording.dynamic_array import dynamic
from ..recording.errors import OtherKind
from ..recording.function_tables import implements
from ..recording.operands import as_traced, known_number, normalize_axis, require
from .factorizations import require_known_to_lapack


def _call(name: str, *operands: Any, sample: Any = None, **keywords: Any) -> Any:
    """The result of ``np.linalg.<name>`` on arrays whose last two dimensions are matrices (or vectors, beside another).

    The sample is what it returns of no matrices at all, by default what NumPy says.
    """
    arrays = [as_traced(operand) for operand in operands]
    if sample is None:  # NumPy says shapes, dtypes and errors; fewer dimensions than a matrix has are an error
        empty = [np.zeros((0, *one.shape[-2:]) if one.ndim >= 2 else one.shape, one.dtype) for one in arrays]
        sample = getattr(np.linalg, name)(*empty, **keywords)
    batch = np.broadcast_shapes(*(array.shape[:-2] for array in arrays if array.ndim >= 2))
    described = [np.broadcast_to(np.zeros((), part.dtype), (*batch, *part.shape[1:])) for part in _parts(sample)]
    results = call_numpy(f"linalg.{name}", arrays, [], described, [], **keywords)
    if not isinstance(sample, tuple):
        return results[0]
    return type(sample)(*results) if hasattr(sample, "_fields") else results


def call_numpy(
    name: str,
    arrays: Sequence[TracedArray],
    sizes: Sequence[tuple[int, int, hlo.Instruction]],
    described: Sequence[Any],
    result_sizes: Sequence[tuple[int, int]],
    **keywords: Any,
) -> tuple[TracedArray, ...]:
    """The results of ``np.<name>``, each like what describes it, of arrays of the bounds.

    sizes: the number of an array, the dimension, and its size there, which is known at run time only; result_sizes: the numbers
    of results and the dimensions whose sizes are.
    """
    operands, results = list(arrays), list(described)
    if name.startswith("linalg."):
        matrices = 2 if name in ("linalg.solve", "linalg.lstsq") else 1
        for one in operands[:matrices]:
            require_known_to_lapack(one)
        kind = np.result_type(np.float64, *[one.dtype for one in operands[:matrices]])
        operands[:matrices] = [one if one.dtype == kind else one.astype(kind) for one in operands[:matrices]]
        results = [np.empty(np.shape(one), _in_double(one.dtype)) for one in results]
    if sizes:
        trace = require_trace(*arrays)
        actual = hlo.concatenate(*(hlo.reshape(size, (1,)) for *_, size in sizes), dimensions=(0,))
        operands.append(TracedArray.from_instruction(trace, actual))
        keywords["sizes"] = [[number, d] for number, d, _ in sizes]
    if result_sizes:
        results.append(np.zeros(len(result_sizes), np.int32))
        keywords["result_sizes"] = [list(place) for place in result_sizes]
    message = hlo.ops.known_calls.NUMPY_FAILURES.get(name.removeprefix("linalg."))
    if message is not None:
        results.append(np.False_)
    found = custom_call(
        f"numpy.{name}",
        *operands,
        result=tuple(results) if len(results) > 1 else results[0],
        backend_config=json.dumps(keywords) if keywords else "",
    )
    found = list(found) if isinstance(found, tuple) else [found]
    found[: len(described)] = [
        one if one.dtype == like.dtype else one.astype(like.dtype) for one, like in zip(found, described)
    ]
    trace = require_trace(*found)
    if message is not None:
        trace.add_error_flag(found.pop().instruction(trace), np.linalg.LinAlgError, message)
    if result_sizes:
        actual = found.pop()
        for number, place in enumerate(result_sizes):
            size = {place[1]: hlo.convert(actual[number].instruction(trace), hlo.S32)}
            found[place[0]] = dynamic(trace, found[place[0]].recorded(trace), size)
    return tuple(found)


def _in_double(dtype: np.dtype) -> np.dtype:
    """The type in which NumPy computes what is of this one."""
    return np.result_type(dtype, np.float64) if dtype.kind in "fc" else dtype


def _parts(value: Any) -> tuple[np.ndarray, ...]:
    return value if isinstance(value, tuple) else (value,)


@implements(np.linalg.solve)
def solve(a, b):
    return _call("solve", a, b)


@implements(np.linalg.inv)
def inv(a):
    return _call("inv", a)


@implements(np.linalg.det)
def det(a):
    return _call("det", a)


@implements(np.linalg.slogdet)
def slogdet(a):
    return _call("slogdet", a)


@implements(np.linalg.eigh)
def eigh(a, UPLO="L"):
    return _call("eigh", a, UPLO=UPLO)


@implements(np.linalg.eigvalsh)
def eigvalsh(a, UPLO="L"):
    return _call("eigvalsh", a, UPLO=UPLO)


@implements(np.linalg.svd)
def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    return _call("svd", a, full_matrices=bool(full_matrices), compute_uv=bool(compute_uv), hermitian=bool(hermitian))


@implements(np.linalg.svdvals)
def svdvals(x, /):
    return _call("svd", x, compute_uv=False)


@implements(np.linalg.qr)
def qr(a, mode="reduced"):
    return _call("qr", a, mode=mode)


@implements(np.linalg.pinv)
def pinv(a, rcond=None, hermitian=False, *, rtol=np._NoValue):
    a = as_traced(a)
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if 0 in a.shape[-2:]:
        return np.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    return from_singular_values(a, rcond, hermitian, rtol)


def from_singular_values(a: TracedArray, rcond: Any, hermitian: bool, rtol: Any) -> TracedArray:
    """The pseudo-inverse; singular values count as 0 that are smaller than this part of the largest one."""
    if rcond is not None and rtol is not np._NoValue:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    given = 1e-15 if rcond is None and rtol is np._NoValue else rtol if rcond is None else rcond
    given = np.maximum(a.shape[-2], a.shape[-1]) * np.finfo(a.dtype).eps if given is None else given
    u, values, vt = np.linalg.svd(np.conjugate(a), full_matrices=False, hermitian=bool(hermitian))
    is_large = values > as_traced(given)[..., np.newaxis] * np.max(values, axis=-1, keepdims=True, initial=0)
    if is_large.ndim != values.ndim:
        raise ValueError(
            f"non-broadcastable output operand with shape {values.shape} doesn't match the broadcast shape {is_large.shape}"
        )
    inverses = np.where(is_large, 1 / np.where(is_large, values, 1), 0)
    return np.matmul(np.swapaxes(vt, -1, -2), inverses[..., np.newaxis] * np.swapaxes(u, -1, -2))


# --- eigenvalues ---


def complex_type(dtype: np.dtype) -> np.dtype:
    return np.result_type(dtype, np.complex64 if dtype.kind in "fc" else np.complex128)


def _finite_matrices(a: Any) -> TracedArray:
    a = as_traced(a)
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    require(np.isfinite(a).all(), np.linalg.LinAlgError, "Array must not contain infs or NaNs")
    return a


def complex_eigenvalues(a: Any) -> TracedArray:
    a = _finite_matrices(a)
    return _call("eigvals", a, sample=np.zeros((0, a.shape[-1]), complex_type(a.dtype)))


@implements(np.linalg.eigvals)
def eigvals(a):
    return real_if_numpy_has_them("np.linalg.eigvals", a, complex_eigenvalues(a))[0]


@implements(np.linalg.eig)
def eig(a):
    a = _finite_matrices(a)
    kind = complex_type(a.dtype)
    size = a.shape[-1]
    sample = type(np.linalg.eig(np.eye(1)))(np.zeros((0, size), kind), np.zeros((0, size, size), kind))
    found = _call("eig", a, sample=sample)
    return type(sample)(*real_if_numpy_has_them("np.linalg.eig", a, *found))


# As they are from NumPy 2.5 on; before, those of real matrices are real where all imaginary parts are 0.
_EIGENVALUES_STAY_COMPLEX = np.linalg.eigvals(np.eye(1)).dtype.kind == "c"


def real_if_numpy_has_them(what: str, a: Any, values: TracedArray, *others: TracedArray) -> tuple[TracedArray, ...]:
    """Eigenvalues of the matrix, which are complex here, and the others, as ``what`` of NumPy returns them."""
    is_complex = as_traced(a).element_type.is_complex
    return (values, *others) if is_complex or _EIGENVALUES_STAY_COMPLEX else real_if_all_are(what, values, *others)


def real_if_all_are(what: str, values: TracedArray, *others: TracedArray) -> tuple[TracedArray, ...]:
    """These complex numbers and the others, without their imaginary parts where those of the first are all 0."""
    are_real = guessed_to_hold(what, np.all(values.imag == 0))
    return tuple(one.real.copy() if are_real else one for one in (values, *others))


def guessed_to_hold(what: str, condition: TracedArray) -> bool:
    """Whether complex numbers become real ones, which the condition says.

    It is guessed; where that is wrong the call fails before it has changed anything, and the function is traced anew.
    """
    are_real, place = _guess(what, condition)
    require(condition if are_real else np.logical_not(condition), OtherKind, OtherKind.message(place, are_real))
    return are_real


def expected_to_hold(what: str, condition: TracedArray) -> bool:
    """Whether the condition may be relied on: until a call finds that it does not hold, and the function is traced anew."""
    known = condition.known_value
    if known is not None:
        return bool(known)
    is_expected, place = _guess(what, condition)
    if is_expected:
        require(condition, OtherKind, OtherKind.message(place, True))
    return is_expected


def _guess(what: str, condition: TracedArray) -> tuple[bool, str]:
    """What is guessed of the condition, and the name of this guess."""
    trace = require_trace(condition)
    place = f"{what} at {user_location()}"
    number = trace.program.asked_kinds[place] = trace.program.asked_kinds.get(place, 0) + 1  # there may be several on a line
    place = f"{place}, number {number}" if number > 1 else place
    return bool(trace.program.guessed_bounds.setdefault(place, True)), place


@implements(np.linalg.cond)
def cond(x, p=None):
    x, p = as_traced(x), known_number(p)
    if 0 in x.shape:
        raise np.linalg.LinAlgError("cond is not defined on empty arrays")
    if x.ndim < 2:
        raise np.linalg.LinAlgError(f"{x.ndim}-dimensional array given. Array must be at least two-dimensional")
    if is_ratio_of_singular_values(p):
        return ratio_of_singular_values(x, p)
    sample = np.zeros((0,), np.linalg.svdvals(np.zeros((0, 1, 1), x.dtype)).dtype)
    return _call("cond", x, sample=sample, p=str(p))


def is_ratio_of_singular_values(p: Any) -> bool:
    """Whether this is so of a condition number in this norm. Raises ValueError for what is no norm."""
    if p not in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        raise ValueError("Invalid norm order for matrices.")
    return p in (None, 2, -2)


def ratio_of_singular_values(x: TracedArray, p: Any) -> TracedArray:
    values = np.linalg.svd(x, compute_uv=False)
    one, other = (0, -1) if p != -2 else (-1, 0)
    with np.errstate(all="ignore"):
        ratio = values[..., one] / values[..., other]
    is_infinite = np.isnan(ratio) & ~np.isnan(x).any(axis=(-2, -1))
    return np.where(is_infinite, ratio.dtype.type(np.inf), ratio)[()]


# --- least squares ---


@implements(np.linalg.lstsq)
def lstsq(a, b, rcond=None):
    """How many sums of squares there are depends on the rank."""
    a, b = as_traced(a), as_traced(b)
    described = results_of_lstsq((a.shape, a.dtype), (b.shape, b.dtype))
    if a.shape[0] != b.shape[0]:
        raise np.linalg.LinAlgError("Incompatible dimensions")
    return call_numpy("linalg.lstsq", [a, b, *tolerance(rcond)], [], described, [(1, 0)])


def results_of_lstsq(a: tuple[tuple[int, ...], np.dtype], b: tuple[tuple[int, ...], np.dtype]) -> tuple[Any, ...]:
    """Arrays like the results, where there are sums of squares, of such arrays."""
    for (shape, _), allowed, wanted in ((b, (1, 2), "one or two"), (a, (2,), "two")):
        if len(shape) not in allowed:
            raise np.linalg.LinAlgError(f"{len(shape)}-dimensional array given. Array must be {wanted}-dimensional")
    ((rows, columns), _), (right, _) = a, b
    kind = np.result_type(*(kind if kind.kind in "fc" else np.dtype(np.float64) for _, kind in (a, b)))
    real = np.zeros(0, kind).real.dtype
    return (
        np.zeros((columns, *right[1:]), kind),
        np.zeros(right[1] if len(right) == 2 else 1, real),
        np.int32(0),
        np.zeros(min(rows, columns), real),
    )


def tolerance(rcond: Any) -> list[TracedArray]:
    return [] if rcond is None else [as_traced(rcond, np.dtype(np.float64))]


@implements(np.linalg.tensorsolve)
def tensorsolve(a, b, axes=None):
    a, b = as_traced(a), as_traced(b)
    moved = [] if axes is None else [normalize_axis(axis, a.ndim) for axis in axes]
    a = a.transpose([*[d for d in range(a.ndim) if d not in moved], *moved])
    unknown = a.shape[-(a.ndim - b.ndim) :]
    count = math.prod(unknown)
    if a.size != count**2:
        raise np.linalg.LinAlgError(
            "Input arrays must satisfy the requirement             prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    return np.linalg.solve(a.reshape(count, count), b.reshape(-1)).reshape(unknown)
