"""Functions of ``scipy.linalg``, in terms of those of ``numpy.linalg`` which have the same conventions."""

import numpy as np


def _finite(check_finite, *arrays):
    for array in arrays:
        if check_finite and not np.isfinite(array).all():
            raise ValueError("array must not contain infs or NaNs")


def inv(a, overwrite_a=False, check_finite=True):
    _finite(check_finite, a)
    return np.linalg.inv(a)


def det(a, overwrite_a=False, check_finite=True):
    _finite(check_finite, a)
    return np.linalg.det(a)


def norm(a, ord=None, axis=None, keepdims=False, check_finite=True):
    _finite(check_finite, a)
    a = np.asarray(a)
    found = np.linalg.norm(a, ord, axis, keepdims)
    is_of_all = a.size and a.dtype.char in "fdFD" and axis is None and not keepdims
    by_blas = a.ndim == 1 and ord in (None, 2) or a.ndim == 2 and ord in (1, np.inf) and a.flags.forc and max(a.shape) > 1
    return float(found) if is_of_all and by_blas else found  # BLAS and LAPACK give Python's


def cholesky(a, lower=False, overwrite_a=False, check_finite=True):
    _finite(check_finite, a)
    return np.linalg.cholesky(a, upper=not lower)


def cho_factor(a, lower=False, overwrite_a=False, check_finite=True):
    """The other triangle has what stands there in ``a``."""
    _finite(check_finite, a)
    factor = np.linalg.cholesky(a, upper=not lower)
    rest = np.triu(a, 1) if lower else np.tril(a, -1)
    return factor + rest, lower


def solve(
    a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None, transposed=False
):  # fmt: skip
    _finite(check_finite, a, b)
    if assume_a == "pos":
        return cho_solve((np.linalg.cholesky(a if lower else np.conj(np.swapaxes(a, -1, -2))), True), b, check_finite=False)
    if assume_a not in (None, "gen", "general"):
        raise NotImplementedError(f"scipy.linalg.solve with assume_a={assume_a!r} is not implemented for traced arrays")
    return np.linalg.solve(np.swapaxes(a, -1, -2) if transposed else a, b)


def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True):
    _finite(check_finite, a, b)
    a, x = np.asarray(a), np.array(b, np.result_type(a, b, np.float32 if np.asarray(a).dtype == np.float32 else float))
    if trans in (1, "T", 2, "C"):
        a, lower = a.T, not lower
        a = np.conj(a) if trans in (2, "C") else a
    n = a.shape[0]
    for step in range(n):
        i = step if lower else n - 1 - step
        known = a[i, :i] @ x[:i] if lower else a[i, i + 1 :] @ x[i + 1 :]
        x[i] = (x[i] - known) / (1 if unit_diagonal else a[i, i])
    return x


def solve_banded(l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True):
    """Of three diagonals, with exchanges of neighbouring rows, as LAPACK's ``gtsv``."""
    if tuple(l_and_u) != (1, 1):
        raise NotImplementedError(f"scipy.linalg.solve_banded of {l_and_u} diagonals is not implemented for traced arrays")
    _finite(check_finite, ab, b)
    kind = np.result_type(ab, b, np.float64)
    n = ab.shape[1]
    below, middle, above = ab[2].astype(kind), ab[1].astype(kind), np.roll(ab[0].astype(kind), -1)
    beyond, x = np.zeros(n, kind), np.array(b, kind)
    for row in range(n - 1):
        if np.abs(middle[row]) >= np.abs(below[row]):
            factor = below[row] / middle[row]
            middle[row + 1] -= factor * above[row]
            x[row + 1] -= factor * x[row]
        else:
            factor = middle[row] / below[row]
            middle[row], kept = below[row], middle[row + 1]
            middle[row + 1] = above[row] - factor * kept
            if row < n - 2:
                beyond[row] = above[row + 1]
                above[row + 1] = -factor * beyond[row]
            above[row] = kept
            held = x[row].copy()
            x[row] = x[row + 1]
            x[row + 1] = held - factor * x[row + 1]
    if (middle == 0).any():
        raise np.linalg.LinAlgError("singular matrix")
    for back in range(n):
        row = n - 1 - back
        if row < n - 1:
            x[row] -= above[row] * x[row + 1]
        if row < n - 2:
            x[row] -= beyond[row] * x[row + 2]
        x[row] = x[row] / middle[row]
    return x


def cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True):
    c, lower = c_and_lower
    _finite(check_finite, c, b)
    first = solve_triangular(c, b, 0 if lower else 2, lower, check_finite=False)
    return solve_triangular(c, first, 2 if lower else 0, lower, check_finite=False)


def eigvalsh(a, lower=True, overwrite_a=False, check_finite=True):
    _finite(check_finite, a)
    return np.linalg.eigvalsh(a, "L" if lower else "U")


def svd(a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True, lapack_driver="gesdd"):
    _finite(check_finite, a)
    found = np.linalg.svd(a, full_matrices, compute_uv)
    return (found[0], found[1], found[2]) if compute_uv else found


def svdvals(a, overwrite_a=False, check_finite=True):
    return svd(a, compute_uv=False, check_finite=check_finite)


def qr(a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
    if mode not in ("full", "economic") or pivoting:
        raise NotImplementedError(f"scipy.linalg.qr with {mode=}, {pivoting=} is not implemented for traced arrays")
    _finite(check_finite, a)
    q, r = np.linalg.qr(a, "complete" if mode == "full" else "reduced")
    return q, r


def lstsq(a, b, cond=None, overwrite_a=False, overwrite_b=False, check_finite=True, lapack_driver=None):
    _finite(check_finite, a, b)
    x, residuals, rank, s = np.linalg.lstsq(a, b, np.finfo(np.asarray(a).dtype).eps if cond is None else cond)
    if np.ndim(b) == 1 and len(residuals):
        residuals = residuals[0]
    return x, residuals, int(rank), s
