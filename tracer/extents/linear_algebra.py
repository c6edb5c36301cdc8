"""Linear algebra of matrices whose sizes are known at run time only.

NumPy's loops take a matrix of its size. In Cholesky's factorization the identity stands behind that, whose factor is itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import hlo
from ..functions import decompositions
from ..recording.array import TracedArray, as_index, require_trace
from ..recording.dynamic_array import DynamicArray, Sizes, dynamic, same_value, valid
from ..recording.function_tables import FUNCTIONS, implements_dynamic
from ..recording.operands import known_number, normalize_axes, normalize_axis, require
from ..recording.trace import Trace
from .broadcasting import as_array, dimensions_of, fail_if, with_bound
from .creation import arange


def size_of_square(trace: Trace, a: DynamicArray) -> hlo.Instruction:
    """How many rows and columns a matrix has; LinAlgError is raised when the program runs where these differ."""
    rows, columns = (a.sizes(trace).get(d, hlo.constant(np.int32(a.bounds.dimensions[d]))) for d in (a.ndim - 2, a.ndim - 1))
    if not same_value(rows, columns):
        fail_if(trace, hlo.ne(rows, columns), "Last 2 dimensions of the array must be square", np.linalg.LinAlgError)
    return rows


def _square(trace: Trace, a: Any) -> tuple[TracedArray, hlo.Instruction]:
    """The matrix in its bounds, and how many rows and columns it has."""
    if not isinstance(a, DynamicArray) or a.ndim != 2:
        raise NotImplementedError("linear algebra of stacks of matrices whose own sizes are known at run time only")
    a = a if a.dtype.kind in "fc" else a.astype(np.float64)
    common = min(a.bounds.dimensions)
    return a.padded(trace)[:common, :common], size_of_square(trace, a)


def _of_square(name: str, a: Any, **keywords: Any) -> Any:
    """What ``np.linalg.<name>`` makes of a square matrix; its results have as many elements in each dimension as that."""
    trace = require_trace(a)
    padded, size = _square(trace, a)
    sample = getattr(np.linalg, name)(np.eye(1, dtype=padded.dtype), **keywords)
    parts = [
        np.empty(padded.shape[:1] * np.ndim(one), one.dtype) for one in (sample if isinstance(sample, tuple) else (sample,))
    ]
    places = [(number, d) for number, part in enumerate(parts) for d in range(part.ndim)]
    sizes = [(0, 0, size), (0, 1, size)]
    found = decompositions.call_numpy(f"linalg.{name}", [padded], sizes, parts, places, **keywords)
    found = [_of_size(trace, one, dict.fromkeys(range(one.ndim), size)) for one in found]
    return type(sample)(*found) if hasattr(sample, "_fields") else found[0]


def _of_size(trace: Trace, found: TracedArray, sizes: Sizes) -> TracedArray:
    """What a call has found, whose sizes are known from before it."""
    return dynamic(trace, found.padded(trace), sizes) if isinstance(found, DynamicArray) else found


def of_stacks(implementation: Callable) -> Callable:
    """The function, also of stacks of matrices of known sizes: identities stand behind the number of matrices."""
    function = getattr(np.linalg, implementation.__name__)

    def of_either(a: Any, *others: Any, **arguments: Any) -> Any:
        if not isinstance(a, DynamicArray) or a.ndim < 3:
            return implementation(a, *others, **arguments)
        trace = require_trace(a)
        sizes = a.sizes(trace)
        if max(sizes) >= a.ndim - 2:
            raise NotImplementedError(
                f"np.linalg.{function.__name__} of stacks of matrices whose own sizes are known at run time only"
            )
        identity = np.eye(*a.bounds.dimensions[-2:], dtype=a.dtype if a.dtype.kind in "fc" else np.float64)
        padded = np.where(valid(trace, a.bounds.dimensions, sizes), a.padded(trace), identity)
        others = tuple(one.padded(trace) if isinstance(one, DynamicArray) else one for one in others)
        found = FUNCTIONS[function](padded, *others, **arguments)
        if not isinstance(found, tuple):
            return dynamic(trace, found, sizes)
        parts = [dynamic(trace, one, sizes) for one in found]
        return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)

    return of_either


@implements_dynamic(np.linalg.inv)
@of_stacks
def inv(a):
    return _of_square("inv", a)


@implements_dynamic(np.linalg.cholesky)
@of_stacks
def cholesky(a, /, *, upper=False):
    trace = require_trace(a)
    padded, size = _square(trace, a)
    sizes = {0: size, 1: size}
    padded = np.where(valid(trace, padded.shape, sizes), padded, np.eye(padded.shape[0], dtype=padded.dtype))
    found = FUNCTIONS[np.linalg.cholesky](padded, upper=True) if upper else FUNCTIONS[np.linalg.cholesky](padded)
    return dynamic(trace, found, sizes)


@implements_dynamic(np.linalg.det)
@of_stacks
def det(a):
    return _of_square("det", a)


@implements_dynamic(np.linalg.slogdet)
@of_stacks
def slogdet(a):
    return _of_square("slogdet", a)


@implements_dynamic(np.linalg.solve)
def solve(a, b):
    a, b = as_array(a), as_array(b)
    if isinstance(a, DynamicArray) and a.ndim > 2 and not isinstance(b, DynamicArray):
        return of_stacks(solve)(a, b)
    trace = require_trace(a, b)
    own = b.sizes(trace) if isinstance(b, DynamicArray) else {}
    of_b = {d: own.get(d, hlo.constant(np.int32(size))) for d, size in enumerate(dimensions_of(b))}
    padded, size = _square(trace, a) if isinstance(a, DynamicArray) else (a, hlo.constant(np.int32(a.shape[-1])))
    if not same_value(of_b[0], size):
        fail_if(trace, hlo.ne(of_b[0], size), "solve: Input operand 1 has a mismatch in its core dimension 0")
    right = with_bound(b.padded(trace) if own else b, 0, dimensions_of(b)[0], padded.shape[0])
    of_result = of_b | {0: size}
    places = [(0, d) for d in of_result if d in own or d == 0 and isinstance(a, DynamicArray)]
    sizes = [(0, 0, size), (0, 1, size), *[(1, d, one) for d, one in of_result.items()]]
    described = np.empty(right.shape, np.result_type(padded.dtype, right.dtype, np.float32))
    (found,) = decompositions.call_numpy("linalg.solve", [padded, right], sizes, [described], places)
    return _of_size(trace, found, {d: of_result[d] for _, d in places})


@implements_dynamic(np.linalg.eigh)
@of_stacks
def eigh(a, UPLO="L"):  # noqa: N803
    return _of_square("eigh", a, UPLO=UPLO)


@implements_dynamic(np.linalg.eigvalsh)
@of_stacks
def eigvalsh(a, UPLO="L"):  # noqa: N803
    return _of_square("eigvalsh", a, UPLO=UPLO)


@implements_dynamic(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    """Of vectors, and Frobenius' of matrices."""
    x, ord = as_array(x), known_number(ord)
    x = x.astype(np.float64) if x.dtype.kind in "iub" else x
    rank = x.ndim if axis is None else len(axis) if isinstance(axis, tuple) else 1
    if rank == 1 and isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if rank == 2 and ord not in (None, "fro", "f"):
        return _matrix_norm(x, ord, axis, keepdims)
    if ord in (None, "fro") or ord == 2 and rank == 1:
        return np.sqrt(np.sum(np.abs(x) ** 2, axis, keepdims=keepdims))
    if rank != 1:
        raise ValueError("Improper number of dimensions to norm.")
    if ord == np.inf:
        return np.max(np.abs(x), axis, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return np.min(np.abs(x), axis, keepdims=keepdims)
    if ord == 0:
        return np.sum(x != 0, axis, keepdims=keepdims).astype(np.abs(x).dtype)
    return np.sum(np.abs(x) ** ord, axis, keepdims=keepdims) ** (1 / ord)


def _matrix_norm(x, ord, axis, keepdims):
    row, column = normalize_axes(axis, x.ndim)
    if ord in (1, -1, np.inf, -np.inf):
        sums = np.sum(np.abs(x), row if abs(ord) == 1 else column, keepdims=True)
        if ord > 0:
            return np.max(sums, (row, column), keepdims=keepdims, initial=0)
        return np.min(sums, (row, column), keepdims=keepdims)
    if ord not in (2, -2, "nuc"):
        raise ValueError("Invalid norm order for matrices.")
    if x.ndim != 2 or row > column:
        raise NotImplementedError(f"np.linalg.norm with ord={ord} of stacks of matrices whose sizes are known at run time only")
    values = np.linalg.svd(x, compute_uv=False)
    found = np.max(values, initial=0) if ord == 2 else np.min(values) if ord == -2 else np.sum(values)
    return found.reshape(1, 1) if keepdims else found


@implements_dynamic(np.linalg.matrix_power)
def matrix_power(a, n):
    """The exponent must be known while tracing; a negative one takes the inverse."""
    n = as_index(n, "as an exponent")
    size_of_square(require_trace(a), a)
    if n < 0:
        return matrix_power(np.linalg.inv(a), -n)
    power, square = eye(a.shape[0], dtype=a.dtype) + np.zeros_like(a) if n == 0 else None, a
    while n:
        n, bit = divmod(n, 2)
        if bit:
            power = square if power is None else power @ square
        square = square @ square if n else square
    return power


@implements_dynamic(np.linalg.diagonal)
def linalg_diagonal(x, /, *, offset=0):
    return diagonal(x, offset, -2, -1)


@implements_dynamic(np.linalg.trace)
def linalg_trace(x, /, *, offset=0, dtype=None):
    return trace_of(x, offset, -2, -1, dtype)


@implements_dynamic(np.diag)
def diag(v, k=0):
    if v.ndim == 2:
        return np.diagonal(v, k)
    size = v.shape[0] + abs(k)
    rows, columns = _places(size, size)
    zero = np.zeros((), v.dtype)[()]
    return np.where(columns - rows == k, np.pad(v, (max(-k, 0), max(k, 0)))[:, None], zero)


@implements_dynamic(np.diagonal, np.ndarray.diagonal)
def diagonal(a, offset=0, axis1=0, axis2=1):
    """A copy, which cannot be written to."""
    if a.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    axis1, axis2 = normalize_axis(axis1, a.ndim, "axis1"), normalize_axis(axis2, a.ndim, "axis2")
    if axis1 == axis2:
        raise ValueError("axis1 and axis2 cannot be the same")
    if (axis1, axis2) != (0, 1):
        a = np.moveaxis(a, (axis1, axis2), (0, 1))
    first, second = max(0, -offset), max(0, offset)
    count = np.minimum(a.shape[0] - first, a.shape[1] - second)
    positions = arange(np.maximum(count, 0))
    found = np.moveaxis(a[positions + first, positions + second], 0, -1)
    return DynamicArray.view_on(found, found.bounds, lambda trace, base: base, None)


@implements_dynamic(np.trace, np.ndarray.trace)
def trace_of(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    return np.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def _places(rows: Any, columns: Any) -> tuple[Any, Any]:
    return arange(rows)[:, None], arange(columns)[None, :]


def _with_places(m: Any) -> tuple[Any, Any, Any]:
    """A stack of matrices, and where their elements are: a vector stands in each row of a square one."""
    m = as_array(m)
    rows, columns = _places(m.shape[0 if m.ndim == 1 else -2], m.shape[-1])
    return m, rows, columns


@implements_dynamic(np.tril)
def tril(m, k=0):
    m, rows, columns = _with_places(m)
    return np.where(columns <= rows + k, m, np.zeros((), m.dtype)[()])


@implements_dynamic(np.triu)
def triu(m, k=0):
    m, rows, columns = _with_places(m)
    return np.where(columns >= rows + k, m, np.zeros((), m.dtype)[()])


@implements_dynamic(np.eye)
def eye(N, M=None, k=0, dtype=float, order="C", *, device=None, like=None):  # noqa: N803
    rows, columns = _places(N, N if M is None else M)
    return (columns - rows == k).astype(dtype)


implements_dynamic(np.identity)(lambda n, dtype=None, *, like=None: eye(n, dtype=float if dtype is None else dtype))


@implements_dynamic(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """Without weights."""
    rows = [one if one.ndim == 1 or rowvar else one.T for one in map(as_array, (m,) if y is None else (m, y))]
    table = np.vstack(rows) if len(rows) > 1 or rows[0].ndim == 1 else rows[0]
    if isinstance(table.shape[0], TracedArray):
        message = (
            "np.cov and np.corrcoef of a table of one row, where NumPy has a number, are not implemented for a traced size"
        )
        require(table.shape[0] != 1, NotImplementedError, message)
    table = table.astype(np.result_type(table.dtype, np.float64) if dtype is None else dtype)
    centred = table - np.mean(table, axis=1, keepdims=True)
    count = table.shape[1] - ((0 if bias else 1) if ddof is None else ddof)
    found = centred @ np.conj(centred.T) / count
    return found[0, 0, ...] if len(rows) == 1 and rows[0].ndim == 1 else found


@implements_dynamic(np.corrcoef)
def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    found = cov(x, y, rowvar, dtype=dtype)
    if found.ndim == 0:
        return (found / found)[()]
    deviations = np.sqrt(np.diagonal(found).real)
    return np.clip(found / deviations[:, None] / deviations[None, :], -1, 1)


@implements_dynamic(np.fill_diagonal)
def fill_diagonal(a, val, wrap=False):
    """In place; of a matrix, with one number."""
    if a.ndim != 2 or wrap or np.ndim(val):
        raise NotImplementedError("np.fill_diagonal, but of a matrix with one number, of a size that is known at run time only")
    a[...] = np.where(eye(*a.shape, dtype=bool), val, a)
