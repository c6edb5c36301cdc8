"""Factorizations of matrices that HLO has operations for."""

from __future__ import annotations

import numpy as np

from ... import hlo
from ..recording.array import TracedArray
from ..recording.function_tables import implements
from ..recording.operands import as_traced, instruction_of, result, value


def require_known_to_lapack(a: TracedArray) -> None:
    """Raises TypeError for numbers of which `numpy.linalg` has no matrices."""
    if a.element_type.is_float and a.element_type.bits < 32:
        raise TypeError(f"array type {a.dtype} is unsupported in linalg")


@implements(np.linalg.cholesky)
def cholesky(a, /, *, upper=False):
    """Raises LinAlgError when the compiled function runs and finds a matrix that is not positive definite."""
    a = as_traced(a)
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    require_known_to_lapack(a)
    kind = a.element_type
    trace, _ = value(a)
    operand = instruction_of(trace, a, kind if kind.is_float or kind.is_complex else hlo.F64)
    factor = hlo.cholesky(operand, not upper)
    factors = result(trace, factor)
    if factor.shape.size:
        # The last diagonal element is NaN where there is no factor; a matrix that holds NaN raises nothing.
        read = np.triu(a) if upper else np.tril(a)
        failed = np.any(np.isnan(factors[..., -1, -1]) & ~np.isnan(read).any(axis=(-2, -1)))
        trace.add_error_flag(failed.instruction(trace), np.linalg.LinAlgError, "Matrix is not positive definite")
    return factors
