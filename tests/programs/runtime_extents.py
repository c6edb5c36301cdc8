"""Arrays whose extents are known when the program runs."""

import numpy as np

from .registry import program


@program(lambda rng: (rng.normal(size=30), 0.5), lambda found, x, limit: np.array_equal(found[0], [v for v in x if v > limit]))
def filter_values(x, limit):
    """Masks: what is kept, how much that is, and its statistics."""
    kept = x[x > limit]
    rest = x[~(x > limit)]
    share = len(kept) / len(x)
    mean = kept.mean() if kept.size else np.nan
    x[x < -limit] = 0
    centered = np.zeros(len(kept))
    for i in range(len(kept)):
        centered[i] = kept[i] - mean
    return kept, rest.sum(), share, mean, centered, kept.shape


@program(
    lambda rng: (rng.integers(0, 6, 25),), lambda found, x: dict(zip(found[0], found[1])) == {v: (x == v).sum() for v in x}
)
def count_distinct(x):
    """unique in its forms, and bincount of the same."""
    values, counts = np.unique(x, return_counts=True)
    places, inverse = np.unique(x, return_index=True, return_inverse=True)[1:]
    assert (values[inverse] == x).all()
    histogram = np.bincount(x)
    most = values[counts == counts.max()]
    return values, counts, places, inverse, histogram, most, len(values)


@program(lambda rng: (rng.normal(size=40), int(rng.integers(3, 15)), int(rng.integers(16, 40))))
def window_sums(x, lo, hi):
    """Slices with bounds among the arguments."""
    inside = x[lo:hi].sum()
    before = x[:lo].mean()
    after = x[hi:]
    middle = x[lo:hi]
    best = lo + middle.argmax()
    widths = np.zeros(hi - lo)
    for i in range(hi - lo):
        widths[i] = np.abs(middle[: i + 1]).sum()
    x[lo:hi] -= inside / (hi - lo)
    return inside, before, len(after), best, widths, middle


@program(
    lambda rng: (rng.integers(0, 10, 6), rng.integers(0, 4, 6)),
    lambda found, values, counts: found[0].tolist() == [v for v, c in zip(values, counts) for _ in range(c)],
)
def expand_runs(values, counts):
    """repeat with counts that are data, and back."""
    expanded = np.repeat(values, counts)
    ends = np.cumsum(counts)
    starts = ends - counts
    where = np.arange(len(expanded)) - np.repeat(starts, counts)
    changes = np.flatnonzero(np.diff(expanded)) + 1
    pieces = np.split(expanded, changes)
    return expanded, where, [len(piece) for piece in pieces], np.zeros(ends[-1]).shape


@program(lambda rng: ((rng.random((6, 7)) < 0.3).astype(int),))
def sparse_form(dense):
    """Coordinates, compressed rows, and a product with them."""
    rows, columns = np.nonzero(dense)
    pointers = np.zeros(dense.shape[0] + 1, dtype=int)
    for r in rows:
        pointers[r + 1] += 1
    pointers = np.cumsum(pointers)
    data = dense[rows, columns] * (1.0 + np.arange(len(rows)))
    x = np.arange(dense.shape[1]) - 2.0
    y = np.zeros(dense.shape[0])
    for r in range(len(y)):
        for p in range(pointers[r], pointers[r + 1]):
            y[r] += data[p] * x[columns[p]]
    return pointers, columns, data, y, np.argwhere(dense), np.count_nonzero(dense)


@program(
    lambda rng: (rng.integers(0, 15, 10), rng.integers(0, 15, 12)),
    lambda found, a, b: set(found[0].tolist()) == set(a.tolist()) & set(b.tolist()),
)
def set_operations(a, b):
    both = np.intersect1d(a, b)
    either = np.union1d(a, b)
    only = np.setdiff1d(a, b)
    one = np.setxor1d(a, b)
    member = np.isin(a, b)
    assert len(either) == len(both) + len(one)
    jaccard = both.size / either.size
    return both, either, only, one, member, jaccard


def with_zeros(rng):
    x = rng.normal(size=12)
    x[: rng.integers(1, 4)] = 0
    x[-rng.integers(1, 4) :] = 0
    return x, rng.random(12) < 0.5


@program(with_zeros, lambda found, x, keep: np.array_equal(found[3], x[keep]))
def trimmed(x, keep):
    """trim_zeros, compress, and where with one argument."""
    core = np.trim_zeros(x)
    front = np.trim_zeros(x, "f")
    padded = np.zeros(20)
    padded[: len(core)] = core
    chosen = np.compress(keep, x)
    (positive,) = np.where(x > 0)
    gaps = np.diff(positive)
    widest = gaps.max() if len(gaps) > 0 else 0
    return core, len(front), padded, chosen, positive, widest


@program(lambda rng: (rng.integers(0, 4, 20), rng.normal(size=20)), lambda found, g, x: np.isclose(sum(found[1]), x.sum()))
def group_by(groups, x):
    """Sums, medians and sizes of groups, by sorting and cutting."""
    order = np.argsort(groups, kind="stable")
    g, v = groups[order], x[order]
    edges = np.concatenate([[0], np.flatnonzero(g[1:] != g[:-1]) + 1, [len(g)]])
    names, sums, medians = [], [], []
    for begin, end in zip(edges[:-1], edges[1:]):
        names.append(g[begin])
        sums.append(v[begin:end].sum())
        medians.append(np.median(v[begin:end]))
    return np.array(names), np.array(sums), np.array(medians), np.add.reduceat(v, edges[:-1])


@program(
    lambda rng: ((a := rng.normal(size=(7, 7))) @ a.T + 7 * np.eye(7),),
    lambda factor, a: np.allclose(factor @ factor.T, a),
)
def cholesky_by_rows(a):
    """Products of slices whose extent is the loop's index."""
    n = len(a)
    factor = np.zeros_like(a)
    for i in range(n):
        for j in range(i):
            factor[i, j] = (a[i, j] - factor[i, :j] @ factor[j, :j]) / factor[j, j]
        factor[i, i] = np.sqrt(a[i, i] - np.dot(factor[i, :i], factor[i, :i]))
    return factor


@program(
    lambda rng: (rng.normal(size=(25, 3)), 1.2),
    lambda found, points, radius: sum(len(c) for c in found[1]) == len(points),
)
def clusters_by_distance(points, radius):
    """Grows clusters until no point is near; rows are chosen by masks, and taken away."""
    remaining = points.copy()
    sizes, clusters = [], []
    while len(remaining) > 0:
        cluster = remaining[:1]
        remaining = remaining[1:]
        grown = True
        while grown and len(remaining) > 0:
            distance = np.linalg.norm(remaining[:, None, :] - cluster[None], axis=-1).min(axis=1)
            near = distance < radius
            grown = near.any()
            cluster = np.vstack([cluster, remaining[near]])
            remaining = remaining[~near]
        clusters.append(cluster)
        sizes.append(len(cluster))
    return sizes, clusters
