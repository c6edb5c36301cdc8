"""Labels, edges and states as integers, whose largest one says how large a table is."""

import numpy as np

from .registry import program


def pairs(rng, largest, count):
    return rng.integers(0, largest, (count, 2))


@program(lambda rng: (rng.integers(0, 12, 300), rng.integers(0, 12, 300)), lambda found, *_: 0 <= found[3] <= 1)
def confusion_matrix(actual, predicted):
    k = int(max(actual.max(), predicted.max())) + 1
    table = np.zeros((k, k), dtype=int)
    for a, b in zip(actual, predicted):
        table[a, b] += 1
    recall = np.diag(table) / np.maximum(table.sum(axis=1), 1)
    precision = np.diag(table) / np.maximum(table.sum(axis=0), 1)
    return table, recall, precision, np.trace(table) / table.sum()


@program(lambda rng: (pairs(rng, 30, 80),), lambda found, _: np.isclose(found[0].sum(), 1))
def page_rank(edges):
    n = edges.max() + 1
    links = np.zeros((n, n))
    links[edges[:, 1], edges[:, 0]] = 1.0
    out = links.sum(axis=0)
    links = np.where(out > 0, links / np.where(out > 0, out, 1), 1.0 / n)
    rank = np.full(n, 1.0 / n)
    for _ in range(50):
        rank = 0.15 / n + 0.85 * (links @ rank)
    return rank, np.argsort(-rank)[:3]


@program(lambda rng: (pairs(rng, 20, 60), rng.random(60)), lambda found, *_: (np.diagonal(found[0]) == 0).all())
def shortest_distances(edges, lengths):
    n = int(edges.max()) + 1
    distance = np.full((n, n), np.inf)
    distance[np.arange(n), np.arange(n)] = 0
    for (a, b), length in zip(edges, lengths):
        distance[a, b] = min(distance[a, b], length)
    for k in range(n):
        distance = np.minimum(distance, distance[:, k : k + 1] + distance[k])
    return distance, np.isfinite(distance).sum()


@program(lambda rng: (rng.normal(size=(200, 3)), rng.integers(0, 6, 200)), lambda found, x, _: found[1].sum() == len(x))
def means_of_groups(x, groups):
    k = groups.max() + 1
    sums = np.zeros((k, x.shape[1]))
    np.add.at(sums, groups, x)
    counts = np.bincount(groups, minlength=k)
    means = sums / counts[:, None]
    within = ((x - means[groups]) ** 2).sum()
    apart = np.linalg.norm(means[:, None] - means[None], axis=2)
    return means, counts, within, apart, np.unravel_index(np.argmax(apart), apart.shape)


@program(lambda rng: (pairs(rng, 15, 40),), lambda found, _: abs(found[0][0]) < 1e-9)
def spectrum_of_a_graph(edges):
    n = int(edges.max()) + 1
    adjacency = np.zeros((n, n))
    adjacency[edges[:, 0], edges[:, 1]] = 1
    adjacency = np.maximum(adjacency, adjacency.T)
    np.fill_diagonal(adjacency, 0)
    laplacian = np.diag(adjacency.sum(axis=1)) - adjacency
    values, vectors = np.linalg.eigh(laplacian)
    return np.round(values, 9), int((values < 1e-9).sum()), np.allclose(vectors @ np.diag(values) @ vectors.T, laplacian)


@program(lambda rng: (rng.integers(0, 8, 400),), lambda found, _: np.allclose(found[1] @ found[0], found[1]))
def stationary_distribution(states):
    k = states.max() + 1
    moves = np.zeros((k, k))
    np.add.at(moves, (states[:-1], states[1:]), 1)
    moves /= moves.sum(axis=1, keepdims=True)
    p = np.ones(k) / k
    while True:
        following = p @ moves
        if np.abs(following - p).max() < 1e-12:
            break
        p = following
    return moves, following, -(following[:, None] * moves * np.log(np.where(moves > 0, moves, 1))).sum()


@program(lambda rng: (rng.integers(0, 5, 30), rng.integers(0, 7, 30)), lambda found, *_: found[0] >= 0)
def chi_squared(first, second):
    table = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(table, (first, second), 1)
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    known = expected > 0
    return ((table - expected)[known] ** 2 / expected[known]).sum(), (table.shape[0] - 1) * (table.shape[1] - 1)


@program(lambda rng: (rng.random(30) * 5, 0.1), lambda found, x, _: found[0].sum() == len(x))
def entropy_of_bins(x, width):
    bins = int(np.ceil((x.max() - x.min()) / width))
    counts, edges = np.histogram(x, bins=bins)
    part = counts[counts > 0] / len(x)
    return counts, edges, -(part * np.log2(part)).sum()


@program(lambda rng: (rng.integers(0, 10, (25, 3)),), lambda found, t: found[0].sum() == (t[:, 1] * t[:, 2]).sum())
def sparse_products(triplets):
    rows, columns, values = triplets.T
    n, m = rows.max() + 1, columns.max() + 1
    dense = np.zeros((n, m), int)
    np.add.at(dense, (rows, columns), values)
    product = dense @ np.arange(m)
    return product, (dense != 0).sum(axis=1), dense.T @ product


@program(lambda rng: (rng.integers(2, 9, 4),), lambda found, _: np.isclose(found[0].sum(), 1))
def walk_on_a_line(parts):
    n = int(parts.sum())
    moves = np.eye(n, k=1) * 0.5 + np.eye(n, k=-1) * 0.5
    moves[0, 0] = moves[-1, -1] = 0.5
    return np.linalg.matrix_power(moves, 8)[0], np.linalg.solve(np.eye(n) - 0.9 * moves, np.ones(n))


@program(lambda rng: (rng.random((50, 4)), rng.random(50) * 3), lambda found, *_: found[1] >= 0)
def regression_of_selected(x, y):
    keep = y > 1
    a = np.column_stack([np.ones(keep.sum()), x[keep]])
    beta = np.linalg.solve(a.T @ a, a.T @ y[keep])
    residual = y[keep] - a @ beta
    return beta, residual @ residual / (keep.sum() - a.shape[1]), np.linalg.inv(a.T @ a).diagonal()


@program(lambda rng: (rng.integers(0, 9, 15),), lambda found, _: (found[1] == 2 ** np.arange(len(found[1]))).all())
def pascals_triangle(numbers):
    n = int(numbers.max()) + 2
    table = np.zeros((n, n), dtype=np.int64)
    table[:, 0] = 1
    for i in range(1, n):
        for j in range(1, i + 1):
            table[i, j] = table[i - 1, j - 1] + table[i - 1, j]
    return table, table.sum(axis=1)
