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
