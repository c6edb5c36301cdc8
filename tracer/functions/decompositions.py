"""Solving and decomposing with LAPACK: compiled code calls NumPy's own functions back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ... import hlo
from ..calls.custom_call import custom_call
from ..recording.array import require_trace
from ..recording.function_tables import implements
from ..recording.operands import as_traced, has_traced


def _call(name: str, *operands: Any, **keywords: Any) -> Any:
    """The result of ``np.linalg.<name>`` on arrays whose last two dimensions are matrices (or vectors, beside another)."""
    function = getattr(np.linalg, name)
    arrays = [as_traced(operand) for operand in operands]
    # NumPy says shapes, dtypes and errors, asked about no matrices at all; fewer dimensions than a matrix has are an error.
    samples = [np.zeros((0, *array.shape[-2:]) if array.ndim >= 2 else array.shape, array.dtype) for array in arrays]
    sample = function(*samples, **keywords)
    batch = np.broadcast_shapes(*(array.shape[:-2] for array in arrays if array.ndim >= 2))
    described = [np.broadcast_to(np.zeros((), part.dtype), (*batch, *part.shape[1:])) for part in _parts(sample)]
    message = hlo.ops.known_calls.NUMPY_FAILURES.get(name)
    if message is not None:
        described.append(np.False_)
    results = custom_call(
        f"numpy.linalg.{name}",
        *arrays,
        result=tuple(described) if len(described) > 1 else described[0],
        backend_config=json.dumps(keywords) if keywords else "",
    )
    if message is not None:
        *results, failed = results
        trace = require_trace(failed)
        trace.add_error_flag(failed.instruction(trace), np.linalg.LinAlgError, message)
        results = tuple(results) if isinstance(sample, tuple) else results[0]
    return type(sample)(*results) if hasattr(sample, "_fields") else results


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
    """The tolerances must be known while tracing."""
    if rcond is not None and rtol is not np._NoValue:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    keywords: dict[str, Any] = {} if rcond is None else {"rcond": rcond}
    keywords |= {} if rtol is np._NoValue else {"rtol": rtol}
    for name, tolerance in keywords.items():
        if has_traced(tolerance):
            raise NotImplementedError(f"np.linalg.pinv: {name} must be known when the function is traced")
        keywords[name] = None if tolerance is None else np.asarray(tolerance, np.float64).tolist()
    return _call("pinv", a, hermitian=bool(hermitian), **keywords)
