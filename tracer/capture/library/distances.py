"""What ``scipy.spatial.distance`` and ``scipy.cluster.vq`` have compiled: distances between rows, and the nearest ones."""

import numpy as np


def euclidean(difference, p):
    return np.sqrt(np.sum(difference * difference, axis=-1))


def sqeuclidean(difference, p):
    return np.sum(difference * difference, axis=-1)


def cityblock(difference, p):
    return np.sum(np.abs(difference), axis=-1)


def chebyshev(difference, p):
    return np.max(np.abs(difference), axis=-1)


def minkowski(difference, p):
    return np.sum(np.abs(difference) ** p, axis=-1) ** (1.0 / p)


METRICS = {one.__name__: one for one in (euclidean, sqeuclidean, cityblock, chebyshev, minkowski)}


def between(metric, x, y, w=None, p=2.0, out=None):
    """``cdist``, with one of the metrics."""
    return _stored(metric(_differences(x[:, None, :], y[None, :, :], w), p), out)


def among(metric, x, w=None, p=2.0, out=None):
    """``pdist``: each row with those behind it."""
    first, second = np.triu_indices(x.shape[0], 1)
    return _stored(metric(_differences(x[first], x[second], w), p), out)


def _differences(x, y, w):
    if w is not None:
        raise NotImplementedError("distances with weights are not implemented for traced arrays")
    return x.astype(float) - y.astype(float)


def _stored(distances, out):
    if out is None:
        return distances
    out[...] = distances
    return out


def to_square(square, line):
    first, second = np.triu_indices(square.shape[0], 1)
    square[first, second] = line
    square[second, first] = line


def to_line(square, line):
    first, second = np.triu_indices(square.shape[0], 1)
    line[...] = square[first, second]


def nearest(rows, codes):
    """``vq``: which code is the nearest one to each row, and how far it is."""
    distances = np.sum((rows[:, None] - codes[None]).reshape(len(rows), len(codes), -1) ** 2, axis=-1)
    return np.argmin(distances, axis=1).astype(np.int32), np.sqrt(np.min(distances, axis=1))


def cluster_means(rows, labels, count):
    """``update_cluster_means``: the mean of the rows of each cluster, and which clusters have any."""
    sums, members = np.zeros((count, *rows.shape[1:]), rows.dtype), np.bincount(labels, minlength=count)
    np.add.at(sums, labels, rows)
    divisors = np.maximum(members, 1).reshape(-1, *[1] * (rows.ndim - 1))
    return (sums / divisors).astype(rows.dtype), members > 0
