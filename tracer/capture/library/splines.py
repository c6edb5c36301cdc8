"""What piecewise polynomials of ``scipy.interpolate`` have compiled."""

import math

import numpy as np


def evaluate(c, x, at, derivative, extrapolate, out):
    """Polynomials of what a place is behind its break, the highest power first; beyond the ends NaN, or the outermost."""
    if derivative < 0:
        raise NotImplementedError("antiderivatives of piecewise polynomials are not implemented for traced arrays")
    direction = np.where(x[-1] >= x[0], 1.0, -1.0)
    piece = np.clip(np.searchsorted(direction * x, direction * at, side="right") - 1, 0, len(x) - 2)
    distance = (at - x[piece])[:, None]
    order, total = c.shape[0], np.zeros(out.shape, out.dtype)
    for place in range(order - derivative):
        power = order - 1 - place
        factor = math.perm(power, derivative)
        total = total * distance + factor * c[place, piece]
    is_beyond = (direction * at < direction * x[0]) | (direction * at > direction * x[-1])
    is_nowhere = np.isnan(at) if extrapolate else np.isnan(at) | is_beyond
    out[...] = np.where(is_nowhere[:, None], np.nan, total)


def solve_banded(l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True):
    """``scipy.linalg.solve_banded`` of three diagonals, with exchanges of neighbouring rows, as LAPACK's ``gtsv``."""
    if tuple(l_and_u) != (1, 1):
        raise NotImplementedError(f"scipy.linalg.solve_banded of {l_and_u} diagonals is not implemented for traced arrays")
    if check_finite and not (np.isfinite(ab).all() and np.isfinite(b).all()):
        raise ValueError("array must not contain infs or NaNs")
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
