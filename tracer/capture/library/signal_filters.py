"""What ``scipy.signal`` has compiled: filters that go from sample to sample, in the same order of the same operations."""

import numpy as np


def linear_filter(b, a, x, axis=-1, zi=None):
    """``_linear_filter``: the transposed direct form II, along an axis."""
    order = max(len(b), len(a)) - 1
    b = np.concatenate([b, np.zeros(order + 1 - len(b), b.dtype)]) / a[0]
    a = np.concatenate([a, np.zeros(order + 1 - len(a), a.dtype)]) / a[0]
    x = np.moveaxis(x, axis, 0)
    delays = np.zeros((order, *x.shape[1:]), x.dtype) if zi is None else np.moveaxis(zi, axis, 0).astype(x.dtype)
    z = [delays[place] + 0 * x[0] for place in range(order)]
    y = np.zeros(x.shape, x.dtype)
    for time in range(len(x)):
        new = x[time]
        out = b[0] * new + z[0] if order else b[0] * new
        y[time] = out
        z = [z[place + 1] + b[place + 1] * new - a[place + 1] * out for place in range(order - 1)] + [
            b[order] * new - a[order] * out for _ in range(min(order, 1))
        ]
    y = np.moveaxis(y, 0, axis)
    if zi is None:
        return y
    for place in range(order):
        delays[place] = z[place]
    return y, np.moveaxis(delays, 0, axis)


def sections(sos, x, zi):
    """``_sosfilt``: one section behind the other, for each row of ``x``, which gets the results; ``zi`` is what they keep."""
    for time in range(x.shape[1]):
        value = x[:, time]
        for number in range(len(sos)):
            given = value
            value = sos[number, 0] * given + zi[:, number, 0]
            zi[:, number, 0] = sos[number, 1] * given - sos[number, 4] * value + zi[:, number, 1]
            zi[:, number, 1] = sos[number, 2] * given - sos[number, 5] * value
        x[:, time] = value
