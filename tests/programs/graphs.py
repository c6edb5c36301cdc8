"""Graphs, as matrices and as lists of edges."""

import numpy as np

from .registry import program


def weighted(rng, count=14, density=0.3):
    weights = rng.uniform(1, 10, (count, count))
    weights[rng.random((count, count)) > density] = np.inf
    np.fill_diagonal(weights, 0)
    return weights


def edges(rng, count=12, many=30):
    return rng.integers(0, count, (many, 2)), rng.uniform(1, 10, many), count


@program(
    lambda rng: (weighted(rng), 0),
    lambda found, weights, source: np.allclose(found[0], np.min(found[0][:, None] + weights, axis=0)),
)
def dijkstra(weights, source):
    n = weights.shape[0]
    distance = np.full(n, np.inf)
    previous = np.full(n, -1)
    done = np.zeros(n, dtype=bool)
    distance[source] = 0
    for _ in range(n):
        u = -1
        for v in range(n):
            if not done[v] and (u < 0 or distance[v] < distance[u]):
                u = v
        if np.isinf(distance[u]):
            break
        done[u] = True
        for v in range(n):
            if distance[u] + weights[u, v] < distance[v]:
                distance[v] = distance[u] + weights[u, v]
                previous[v] = u
    return distance, previous


@program(
    lambda rng: (rng.random((16, 16)) < 0.12, 3),
    lambda found, adjacency, start: sorted(found[1]) == np.flatnonzero(found[0] >= 0).tolist(),
)
def breadth_first(adjacency, start):
    """Levels and the order of visits, with a list as a queue."""
    level = -np.ones(len(adjacency), dtype=int)
    level[start] = 0
    queue = [start]
    order = []
    while queue:
        node = queue.pop(0)
        order.append(node)
        for other in np.nonzero(adjacency[node])[0]:
            if level[other] < 0:
                level[other] = level[node] + 1
                queue.append(int(other))
    return level, np.array(order)


def find(parent, x):
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


@program(
    edges, lambda found, pairs, weights, count: np.isclose(found[0], weights[found[1]].sum()) and len(found[1]) == count - 1
)
def spanning_forest(pairs, weights, count):
    """Kruskal's algorithm with union and find."""
    parent = np.arange(count)
    size = np.ones(count, dtype=int)
    total = 0.0
    chosen = []
    for e in np.argsort(weights):
        a, b = find(parent, pairs[e, 0]), find(parent, pairs[e, 1])
        if a == b:
            continue
        if size[a] < size[b]:
            a, b = b, a
        parent[b] = a
        size[a] += size[b]
        total += weights[e]
        chosen.append(e)
        if len(chosen) == count - 1:
            break
    return total, np.array(chosen), size


@program(
    lambda rng: ((rng.random((20, 20)) < 0.15).astype(float), 0.85),
    lambda found, adjacency, damping: np.isclose(found[0].sum(), 1),
)
def page_rank(adjacency, damping, tolerance=1e-10):
    n = len(adjacency)
    degree = adjacency.sum(axis=1)
    transition = np.empty((n, n))
    for i in range(n):
        if degree[i] == 0:
            transition[i] = 1 / n
        else:
            transition[i] = adjacency[i] / degree[i]
    rank = np.ones(n) / n
    iterations = 0
    while True:
        new = damping * rank @ transition + (1 - damping) / n
        iterations += 1
        if np.abs(new - rank).sum() < tolerance:
            break
        rank = new
    return new, iterations


@program(
    lambda rng: (np.triu(rng.random((12, 12)) < 0.3, 1)[(order := rng.permutation(12))][:, order],),
    lambda order, adjacency: not np.tril(adjacency[order][:, order]).any(),
)
def topological_order(adjacency):
    """Kahn's algorithm; raises ValueError for a cycle."""
    incoming = adjacency.sum(axis=0)
    ready = [i for i in range(len(incoming)) if incoming[i] == 0]
    order = []
    while len(ready) > 0:
        node = min(ready)
        ready.remove(node)
        order.append(node)
        for other in range(len(adjacency)):
            if adjacency[node, other]:
                incoming[other] -= 1
                if incoming[other] == 0:
                    ready.append(other)
    if len(order) != len(adjacency):
        raise ValueError("the graph has a cycle")
    return order


@program(lambda rng: (*edges(rng), 0, bool(rng.random() < 0.6)))
def bellman_ford(pairs, weights, count, source, negative):
    """Distances, or an exception where a cycle makes them endless."""
    if negative:
        weights = weights - 3.0
    distance = np.full(count, np.inf)
    distance[source] = 0.0
    for _ in range(count - 1):
        changed = False
        for (a, b), w in zip(pairs, weights):
            if distance[a] + w < distance[b]:
                distance[b] = distance[a] + w
                changed = True
        if not changed:
            break
    else:
        for (a, b), w in zip(pairs, weights):
            if distance[a] + w < distance[b] - 1e-12:
                raise RuntimeError(f"a cycle of negative length goes through {a} and {b}")
    return distance


@program(
    lambda rng: ((m := rng.random((15, 15)) < 0.2) | m.T,),
    lambda found, adjacency: not (np.equal.outer(found[0], found[0]) & adjacency & ~np.eye(15, dtype=bool)).any(),
)
def greedy_colouring(adjacency):
    adjacency = adjacency & ~np.eye(len(adjacency), dtype=bool)
    order = np.argsort(-adjacency.sum(axis=1), kind="stable")
    colours = np.full(len(adjacency), -1)
    for node in order:
        taken = set(colours[adjacency[node]].tolist())
        colour = 0
        while colour in taken:
            colour += 1
        colours[node] = colour
    return colours, colours.max() + 1


@program(lambda rng: (np.triu(rng.random((18, 18)) < 0.3, 1),), lambda found, upper: np.all((0 <= found[1]) & (found[1] <= 1)))
def triangles_and_clustering(upper):
    a = (upper | upper.T).astype(int)
    n = len(a)
    triangles = 0
    for i in range(n):
        for j in range(i + 1, n):
            if a[i, j]:
                for k in range(j + 1, n):
                    triangles += a[i, k] * a[j, k]
    assert triangles == np.trace(a @ a @ a) // 6
    clustering = []
    for i in range(n):
        neighbours = np.flatnonzero(a[i])
        d = len(neighbours)
        links = a[np.ix_(neighbours, neighbours)].sum() / 2
        clustering.append(2 * links / (d * (d - 1)) if d > 1 else 0.0)
    return triangles, np.array(clustering)
