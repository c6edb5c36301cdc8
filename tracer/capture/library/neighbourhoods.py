"""What ``scipy.ndimage`` has compiled: filters that compute an element of those around it, and write into ``output``."""

import numpy as np

# SciPy's numbers of ways to go on beyond the edges, and NumPy's names.
_EDGES = {0: "edge", 1: "wrap", 2: "symmetric", 3: "reflect", 4: "constant", 5: "wrap", 6: "constant"}


def _padded(x, sizes, origins, mode, cval):
    """The array with what is beyond its edges, as far as windows of these sizes reach."""
    widths = [(size // 2 + origin, size - 1 - size // 2 - origin) for size, origin in zip(sizes, origins)]
    name = _EDGES[mode]
    return np.pad(x, widths, name, constant_values=cval) if name == "constant" else np.pad(x, widths, name)


def _along(axis, ndim, value, others):
    return [value if place == axis else others for place in range(ndim)]


def _of_line(x, size, axis, mode, cval, origin):
    """The array with what is beyond the edges of one axis, which is the last one."""
    axis = axis % x.ndim
    sizes, origins = _along(axis, x.ndim, size, 1), _along(axis, x.ndim, origin, 0)
    return np.moveaxis(_padded(x, sizes, origins, mode, cval), axis, -1)


def _neighbours(x, footprint, origins, mode, cval):
    """For each element of the footprint the array of what is there, beside the place in the footprint."""
    padded = _padded(x, footprint.shape, origins, mode, cval)
    for place in np.ndindex(footprint.shape):
        yield place, padded[tuple([slice(start, start + size) for start, size in zip(place, x.shape)])]


_EPSILON = np.finfo(float).eps


def correlate1d(x, weights, axis, output, mode, cval, origin):
    """In SciPy's order, which counts where sums become integers: pairs first, if weights are alike on both sides."""
    size, count = len(weights), x.shape[axis]
    padded = _of_line(x.astype(float), size, axis, mode, cval, origin)
    middle, others = size // 2, weights[::-1]
    pairs = 0
    if size % 2 and np.all(np.abs(weights - others) <= _EPSILON):
        pairs = 1
    elif size % 2 and np.all(np.abs(weights + others) <= _EPSILON):
        pairs = -1
    first = middle if pairs else size - 1
    total = padded[..., first : first + count] * weights[first]
    for place in range(middle if pairs else size - 1):
        here = padded[..., place : place + count]
        if pairs:
            there = padded[..., size - 1 - place : size - 1 - place + count]
            here = here + there if pairs == 1 else here - there
        total = total + here * weights[place]
    output[...] = np.moveaxis(total, -1, axis)


def correlate(x, weights, output, mode, cval, origins):
    total = np.zeros(x.shape)
    for place, neighbours in _neighbours(x.astype(float), weights, origins, mode, cval):
        if abs(weights[place]) > _EPSILON:
            total = total + weights[place] * neighbours
    output[...] = total


def uniform_filter1d(x, size, axis, output, mode, cval, origin):
    """By a running sum, as SciPy's."""
    padded = _of_line(x.astype(float), size, axis, mode, cval, origin)
    first = np.sum(padded[..., :size], axis=-1, keepdims=True)
    sums = np.cumsum(np.concatenate([first, padded[..., size:] - padded[..., :-size]], axis=-1), axis=-1)
    output[...] = np.moveaxis(sums / size, -1, axis)


def min_or_max_filter1d(x, size, axis, output, mode, cval, origin, is_minimum):
    padded, count = _of_line(x, size, axis, mode, cval, origin), x.shape[axis]
    best = padded[..., :count]
    for place in range(1, size):
        neighbours = padded[..., place : place + count]
        best = np.minimum(best, neighbours) if is_minimum else np.maximum(best, neighbours)
    output[...] = np.moveaxis(best, -1, axis)


def min_or_max_filter(x, footprint, structure, output, mode, cval, origins, is_minimum):
    if structure is not None:
        raise NotImplementedError("filters of scipy.ndimage with a structure are not implemented for traced arrays")
    best = None
    for place, neighbours in _neighbours(x, footprint, origins, mode, cval):
        if not footprint[place]:
            continue
        if best is None:
            best = neighbours
        else:
            best = np.minimum(best, neighbours) if is_minimum else np.maximum(best, neighbours)
    output[...] = best


def rank_filter(x, rank, footprint, output, mode, cval, origins):
    found = [near for place, near in _neighbours(x, footprint, origins, mode, cval) if footprint[place]]
    output[...] = np.sort(np.stack(found), axis=0)[rank]


def rank_filter_of_a_line(x, rank, size, output, mode, cval, origin):
    rank_filter(x, rank, np.ones(size, bool), output, mode, cval, [origin])
