"""Arrays that share memory, and unusual ways to read and write them."""

import numpy as np

from .registry import program


@program(
    lambda rng: (rng.uniform(size=(8, 8)),),
    lambda found, a: found == 0.5,
)
def paint_a_checkerboard(image):
    black = image[::2, ::2]
    black[:] = 0
    image[1::2, 1::2] *= 0
    white = image[::2, 1::2], image[1::2, ::2]
    for part in white:
        part.fill(1)
    image += 0
    return image.mean()


@program(lambda rng: (rng.integers(0, 50, (6, 6)),), lambda found, a: np.array_equal(found[0], np.rot90(a, -1)))
def rotate_in_place(image):
    n = len(image)
    for layer in range(n // 2):
        for k in range(layer, n - 1 - layer):
            kept = image[layer, k]
            image[layer, k] = image[n - 1 - k, layer]
            image[n - 1 - k, layer] = image[n - 1 - layer, n - 1 - k]
            image[n - 1 - layer, n - 1 - k] = image[k, n - 1 - layer]
            image[k, n - 1 - layer] = kept


@program(
    lambda rng: (rng.integers(0, 7, 60), rng.normal(size=60), 7), lambda found, k, x, n: np.allclose(found[0].sum(), x.sum())
)
def accumulate_by_key(keys, values, groups):
    total = np.zeros(groups)
    np.add.at(total, keys, values)
    largest = np.full(groups, -np.inf)
    np.maximum.at(largest, keys, values)
    count = np.bincount(keys, minlength=groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(count > 0, total / count, np.nan)
    return total, largest, mean


def zeros_check(found, a):
    kept = np.outer((a != 0).all(axis=1), (a != 0).all(axis=0))
    return np.array_equal(found[0], np.where(kept, np.maximum(a, -1), 0))


@program(lambda rng: (rng.integers(-5, 15, (7, 8)),), zeros_check)
def zero_rows_and_columns(matrix):
    rows, columns = np.where(matrix == 0)
    matrix[np.unique(rows), :] = 0
    matrix[:, np.unique(columns)] = 0
    matrix[matrix < 0] = -1


@program(
    lambda rng: (rng.normal(size=(6, 6)), [0, 2, 5]),
    lambda found, a, keep: found[0].shape == (3, 3) and found[1].shape == (3, 3),
)
def schur_complement(a, keep):
    drop = [i for i in range(len(a)) if i not in keep]
    A = a[np.ix_(keep, keep)]
    B = a[np.ix_(keep, drop)]
    C = a[np.ix_(drop, keep)]
    D = a[np.ix_(drop, drop)]
    S = A - B @ np.linalg.inv(D) @ C
    a[np.ix_(keep, keep)] = S
    return S, np.linalg.inv(a)[np.ix_(keep, keep)]


@program(
    lambda rng: (rng.normal(size=30), 5), lambda found, x, w: np.allclose(found[0], np.convolve(x, np.ones(w) / w, "valid"))
)
def sliding_statistics(x, width):
    windows = np.lib.stride_tricks.sliding_window_view(x, width)
    means = windows.mean(axis=-1)
    n = x.shape[0] - width + 1
    ranges = np.empty(n)
    for i in range(n):
        window = x[i : i + width]
        ranges[i] = window.max() - window.min()
    peaks = [i for i in range(1, n - 1) if means[i - 1] < means[i] > means[i + 1]]
    return means, ranges, peaks


@program(lambda rng: (rng.normal(size=(4, 5)), rng.normal(size=5)), lambda found, a, b: found[0].shape == (4, 5))
def rows_that_are_views(table, offset):
    best = table[0]
    for row in table[1:]:
        row -= offset
        if row.sum() > best.sum():
            best = row
    best[:] = np.sort(best)
    flat = table.reshape(-1)
    flat[::3] = 0.0
    column = table.T[1]
    column[...] = column[::-1].copy()
    return table, best.sum()


@program(lambda rng: (rng.normal(size=24),), lambda found, x: found[0].shape == (4, 3, 2))
def shapes_and_axes(x):
    cube = x.reshape(2, 3, 4)
    swapped = cube.swapaxes(0, 2)
    swapped[0, :, 1] = [1.0, 2.0, 3.0]
    b = np.moveaxis(cube, 1, 0).copy()
    b.shape = (3, 8)
    b.T[2] += 1
    b[1:, [0, -1]] = b[1:, [-1, 0]]
    total = np.zeros(4)
    np.add(cube.sum(axis=(0, 1)), 1.0, out=total)
    total[np.argmax(total)], total[0] = total[0], total[np.argmax(total)]
    return swapped, b, total, x[:6]


@program(lambda rng: (rng.normal(size=(5, 4)), rng.integers(0, 4, 5)), lambda found, a, k: np.allclose(found[2], 0))
def choose_from_each_row(scores, choice):
    rows = np.arange(len(scores))
    chosen = scores[rows, choice]
    along = np.take_along_axis(scores, choice[:, None], axis=1)[:, 0]
    ranks = np.empty(scores.shape, dtype=int)
    for i, row in enumerate(scores):
        ranks[i, np.argsort(-row)] = np.arange(row.size)
    scores[rows, choice] = -np.inf
    runner_up = scores.argmax(axis=1)
    return ranks, runner_up, chosen - along
