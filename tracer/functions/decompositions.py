"""Solving and decomposing with LAPACK: compiled code calls NumPy's own functions back."""

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
from ..recording.operands import as_traced, normalize_axis, require


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
    trace = require_trace(*found)
    if message is not None:
        trace.add_error_flag(found.pop().instruction(trace), np.linalg.LinAlgError, message)
    if result_sizes:
        actual = found.pop()
        for number, place in enumerate(result_sizes):
            size = {place[1]: hlo.convert(actual[number].instruction(trace), hlo.S32)}
            found[place[0]] = dynamic(trace, found[place[0]].recorded(trace), size)
    return tuple(found)


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
    tolerances, keywords = tolerances_of_pinv(rcond, rtol)
    sample = np.linalg.pinv(np.zeros((0, *a.shape[-2:]) if a.ndim >= 2 else a.shape, a.dtype))
    return _call("pinv", a, *tolerances, sample=sample, hermitian=bool(hermitian), **keywords)


def tolerances_of_pinv(rcond: Any, rtol: Any) -> tuple[list[TracedArray], dict[str, Any]]:
    """The tolerance as an operand, if there is one, and keywords."""
    if rcond is not None and rtol is not np._NoValue:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    given = rcond if rtol is np._NoValue else rtol
    return tolerance(given), {"rtol": None} if rtol is None else {}


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
    values = complex_eigenvalues(a)
    return values if as_traced(a).element_type.is_complex else real_if_all_are("np.linalg.eigvals", values)[0]


@implements(np.linalg.eig)
def eig(a):
    a = _finite_matrices(a)
    kind = complex_type(a.dtype)
    size = a.shape[-1]
    sample = type(np.linalg.eig(np.eye(1)))(np.zeros((0, size), kind), np.zeros((0, size, size), kind))
    found = _call("eig", a, sample=sample)
    return found if a.element_type.is_complex else type(sample)(*real_if_all_are("np.linalg.eig", *found))


def real_if_all_are(what: str, values: TracedArray, *others: TracedArray) -> tuple[TracedArray, ...]:
    """These complex numbers and the others, without their imaginary parts where those of the first are all 0."""
    are_real = guessed_to_hold(what, np.all(values.imag == 0))
    return tuple(one.real.copy() if are_real else one for one in (values, *others))


def guessed_to_hold(what: str, condition: TracedArray) -> bool:
    """Whether complex numbers become real ones, which the condition says.

    It is guessed; where that is wrong the call fails before it has changed anything, and the function is traced anew.
    """
    trace = require_trace(condition)
    place = f"{what} at {user_location()}"
    number = trace.program.asked_kinds[place] = trace.program.asked_kinds.get(place, 0) + 1  # there may be several on a line
    place = f"{place}, number {number}" if number > 1 else place
    are_real = bool(trace.program.guessed_bounds.setdefault(place, True))
    require(condition if are_real else np.logical_not(condition), OtherKind, OtherKind.message(place))
    return are_real


@implements(np.linalg.cond)
def cond(x, p=None):
    x = as_traced(x)
    sample = np.zeros((0,), np.linalg.svdvals(np.zeros((0, 1, 1), x.dtype)).dtype)
    if x.ndim < 2:
        raise np.linalg.LinAlgError(f"{x.ndim}-dimensional array given. Array must be at least two-dimensional")
    return _call("cond", x, sample=sample, p=order_of_cond(p))


def order_of_cond(p: Any) -> str:
    if p not in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        raise ValueError("Invalid norm order for matrices.")
    return "2" if p is None else str(p)


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
