"""Life sciences and graphs: epidemics, cells, populations, sequences, networks, with parameters in dataclasses and dicts."""

from collections import deque
from dataclasses import asdict, dataclass, replace

import numpy as np

from .registry import either, program


@dataclass
class Epidemic:
    beta: float = 0.4
    gamma: float = 0.1
    sigma: float = 0.2
    population: int = 1000

    @property
    def r0(self):
        return self.beta / self.gamma

    def derivatives(self, y):
        s, e, i, r = y
        infections = self.beta * s * i / self.population
        return np.array([-infections, infections - self.sigma * e, self.sigma * e - self.gamma * i, self.gamma * i])


@program(lambda rng: (float(rng.uniform(0.3, 0.6)), int(rng.integers(1, 10))))
def lockdown(beta, infected, days=160, threshold=50):
    """An epidemic whose parameters are replaced when many are ill; events are kept with their days."""
    model = Epidemic(beta=beta)
    y = np.array([model.population - infected, 0.0, infected, 0.0])
    events, curve = [], np.zeros((days, 4))
    locked = False
    for day in range(days):
        for _ in range(10):
            y = y + 0.1 * model.derivatives(y)
        curve[day] = y
        if not locked and y[2] > threshold:
            model = replace(model, beta=beta / 4)
            locked = True
            events.append((day, "lockdown"))
        elif locked and y[2] < threshold / 2:
            model = replace(model, beta=beta)
            locked = False
            events.append((day, "opened"))
    print(f"R0 = {model.r0:.2f}, peak {curve[:, 2].max():.0f} on day {curve[:, 2].argmax()}")
    return curve[-1], events, asdict(model)["gamma"]


@program(lambda rng: (rng.exponential(size=300), rng.random(300), np.array([50, 20])))
def stochastic_reactions(waits, draws, counts):
    """Gillespie's algorithm with given random numbers: propensities, a choice by their sums, changes of counts."""
    change = np.array([[1, 0], [-1, 1], [0, -1]])
    t, times, history = 0.0, [0.0], [counts.copy()]
    for wait, draw in zip(waits, draws):
        a, b = counts
        propensities = np.array([1.0 * a, 0.02 * a * b, 0.8 * b])
        total = propensities.sum()
        if total == 0:
            break
        t += wait / total
        reaction = np.searchsorted(np.cumsum(propensities) / total, draw)
        counts = counts + change[reaction]
        times.append(t)
        history.append(counts)
    return np.array(times), np.array(history), counts.tolist()


@program(lambda rng: (rng.uniform(5, 12), 0.05, 30.0))
def hodgkin_huxley(current, dt, duration):
    """Gates as a dict of pairs of functions; spikes are counted where the potential crosses zero."""
    rates = {
        "m": (lambda v: 0.1 * (v + 40) / (1 - np.exp(-(v + 40) / 10)), lambda v: 4 * np.exp(-(v + 65) / 18)),
        "h": (lambda v: 0.07 * np.exp(-(v + 65) / 20), lambda v: 1 / (1 + np.exp(-(v + 35) / 10))),
        "n": (lambda v: 0.01 * (v + 55) / (1 - np.exp(-(v + 55) / 10)), lambda v: 0.125 * np.exp(-(v + 65) / 80)),
    }
    v = -65.0
    gates = {name: alpha(v) / (alpha(v) + beta(v)) for name, (alpha, beta) in rates.items()}
    steps = int(duration / dt)
    trace = np.empty(steps)
    spikes = []
    for k in range(steps):
        ionic = 120 * gates["m"] ** 3 * gates["h"] * (v - 50) + 36 * gates["n"] ** 4 * (v + 77) + 0.3 * (v + 54.387)
        before, v = v, v + dt * (current - ionic)
        for name, (alpha, beta) in rates.items():
            gates[name] += dt * (alpha(v) * (1 - gates[name]) - beta(v) * gates[name])
        if before < 0 <= v:
            spikes.append(k * dt)
        trace[k] = v
    rate = 1000 / np.mean(np.diff(spikes)) if len(spikes) > 1 else 0.0
    return trace[::50], spikes, rate


@program(lambda rng: (rng.normal(5, 1, 200), rng.random((20, 20)) < 0.2))
def spiking_network(drive, connections):
    """Leaky neurons with a refractory period; who has fired is a mask, a raster grows column by column."""
    n = len(connections)
    v, refractory = np.zeros(n), np.zeros(n, dtype=int)
    raster = np.zeros((n, 60), dtype=bool)
    weights = 0.3 * connections * np.where(np.arange(n) % 5 == 0, -2.0, 1.0)
    for t in range(60):
        active = refractory == 0
        v[active] += 0.1 * (drive[t * 3 % 200] * (1 + 0.05 * np.arange(n)[active]) - v[active])
        fired = v > 3.0
        raster[:, t] = fired
        v[fired] = 0.0
        refractory = np.where(fired, 4, np.maximum(refractory - 1, 0))
        v += weights[:, fired].sum(axis=1)
    return raster.sum(axis=1), v, raster.any(axis=0).sum()


@program(lambda rng: (rng.random((24, 24)), {"F": 0.035, "k": 0.06, "Du": 0.16, "Dv": 0.08}))
def gray_scott(noise, parameters):
    """Reaction and diffusion; parameters by keywords, a stencil as an inner function."""

    def laplacian(a):
        return np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4 * a

    def update(u, v, *, F, k, Du, Dv):
        reaction = u * v * v
        u += Du * laplacian(u) - reaction + F * (1 - u)
        v += Dv * laplacian(v) + reaction - (F + k) * v

    u, v = np.ones_like(noise), np.zeros_like(noise)
    u[8:16, 8:16], v[8:16, 8:16] = 0.5, 0.25
    u -= 0.05 * noise
    for _ in range(100):
        update(u, v, **parameters)
    return u, v.max(), (v > 0.1).mean()


@program(lambda rng: (rng.uniform(1, 9, (6, 6)),))
def cluster_tree(noise):
    """Average linkage: the two nearest clusters become one; what is joined is a list of tuples."""
    distances = (noise + noise.T) / 2
    n = len(distances)
    np.fill_diagonal(distances, np.inf)
    sizes, alive = np.ones(n), np.ones(n, dtype=bool)
    merges = []
    for _ in range(n - 1):
        i, j = np.unravel_index(np.argmin(distances), distances.shape)
        i, j = min(i, j), max(i, j)
        merges.append((int(i), int(j), distances[i, j]))
        row = (sizes[i] * distances[i] + sizes[j] * distances[j]) / (sizes[i] + sizes[j])
        distances[i] = distances[:, i] = row
        distances[i, i] = np.inf
        distances[j] = distances[:, j] = np.inf
        sizes[i] += sizes[j]
        alive[j] = False
    return merges, sizes[alive]


@program(lambda rng: (rng.integers(0, 4, 60),))
def codons(sequence):
    """Bases as numbers: complements, counts of triples, the longest open frame by an early continue."""
    complement = np.array([3, 2, 1, 0])[sequence][::-1]
    counts = np.zeros((4, 4, 4), dtype=int)
    for a, b, c in sequence.reshape(-1, 3):
        counts[a, b, c] += 1
    stops = {(3, 0, 0), (3, 0, 2), (3, 2, 0)}
    longest, start = 0, 0
    for frame in range(3):
        begin = frame
        for i in range(frame, len(sequence) - 2, 3):
            if not any((sequence[i : i + 3] == np.array(stop)).all() for stop in sorted(stops)):
                continue
            if i - begin > longest:
                longest, start = i - begin, begin
            begin = i + 3
    gc = np.isin(sequence, [1, 2]).mean()
    return complement, counts.sum(axis=(1, 2)), (longest, start), f"GC {gc:.1%}"


@program(lambda rng: (rng.uniform(0.2, 0.8), rng.random((50, 40))))
def genetic_drift(frequency, draws):
    """Populations that fix or lose an allele; the generation when they do is None until then."""
    size = draws.shape[1]
    p, fixed_at = frequency, None
    path = [p]
    for generation, row in enumerate(draws):
        p = np.sum(row < p) / size
        path.append(p)
        if p in (0.0, 1.0):
            fixed_at = generation
            break
    return path[-1], len(path), "segregating" if fixed_at is None else f"fixed in generation {fixed_at}"


class Graph:
    def __init__(self, n):
        self.capacity = np.zeros((n, n), dtype=int)
        self.n = n

    def add_edge(self, a, b, capacity):
        self.capacity[a, b] += capacity
        return self

    def path(self, source, sink, residual):
        parent = np.full(self.n, -1)
        parent[source] = source
        queue = deque([source])
        while queue:
            a = queue.popleft()
            for b in range(self.n):
                if residual[a, b] > 0 and parent[b] < 0:
                    parent[b] = a
                    if b == sink:
                        return parent
                    queue.append(b)
        return None

    def max_flow(self, source, sink):
        residual, total = self.capacity.copy(), 0
        while (parent := self.path(source, sink, residual)) is not None:
            flow, b = 10**9, sink
            while b != source:
                flow = min(flow, residual[parent[b], b])
                b = parent[b]
            b = sink
            while b != source:
                residual[parent[b], b] -= flow
                residual[b, parent[b]] += flow
                b = parent[b]
            total += flow
        return total, residual


@program(lambda rng: (rng.integers(1, 20, 9),))
def maximum_flow(capacities):
    """Edmonds and Karp: breadth first search with a deque, and None where there is no way."""
    graph = Graph(6)
    edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 4), (3, 2), (3, 5), (4, 3), (4, 5)]
    for (a, b), capacity in zip(edges, capacities):
        graph.add_edge(a, b, capacity)
    total, residual = graph.max_flow(0, 5)
    return total, residual


class DisjointSets:
    def __init__(self, n):
        self.parent = np.arange(n)
        self.rank = np.zeros(n, dtype=int)
        self.count = n

    def find(self, x):
        while self.parent[x] != x:
            self.parent[x] = self.parent[self.parent[x]]
            x = self.parent[x]
        return x

    def union(self, a, b):
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        if self.rank[a] < self.rank[b]:
            a, b = b, a
        self.parent[b] = a
        self.rank[a] += self.rank[a] == self.rank[b]
        self.count -= 1
        return True


@program(lambda rng: (rng.random((15, 2)), 0.35))
def minimum_spanning_tree(points, limit):
    """Kruskal with a class for the sets; edges sorted by np.argsort, clusters when long edges are left out."""
    i, j = np.triu_indices(len(points), k=1)
    lengths = np.hypot(*(points[i] - points[j]).T)
    order = np.argsort(lengths, kind="stable")
    sets, tree, total = DisjointSets(len(points)), [], 0.0
    clusters = None
    for k in order:
        if clusters is None and lengths[k] > limit:
            clusters = sets.count
        if sets.union(i[k], j[k]):
            tree.append((i[k], j[k]))
            total += lengths[k]
            if sets.count == 1:
                break
    return total, len(tree), np.array(tree), clusters


@program(lambda rng: (rng.random((8, 8)),))
def assignment_by_auction(values):
    """Bids in a while loop until everybody has something; the price rises by what the second best is worth less."""
    n, eps = len(values), 1e-3
    prices, owner = np.zeros(n), np.full(n, -1)
    unassigned = list(range(n))
    bids = 0
    while unassigned:
        person = unassigned.pop(0)
        worth = values[person] - prices
        best = int(np.argmax(worth))
        second = np.max(np.delete(worth, best))
        prices[best] += worth[best] - second + eps
        if owner[best] >= 0:
            unassigned.append(int(owner[best]))
        owner[best] = person
        bids += 1
    return owner, values[owner, np.arange(n)].sum(), bids


@program(lambda rng: (rng.random((20, 20)), rng.integers(0, 20, 2)), lambda found, field, start: len(found[0]) > 0)
def walk_uphill(field, start):
    """Recursion on places of a grid with a limit of depth, and a table of directions."""
    directions = [(-1, 0), (1, 0), (0, -1), (0, 1)]
    smooth = (field + np.roll(field, 1, 0) + np.roll(field, 1, 1)) / 3

    def climb(y, x, depth=0):
        best = (smooth[y, x], y, x)
        for dy, dx in directions:
            ny, nx = (y + dy) % 20, (x + dx) % 20
            if smooth[ny, nx] > best[0]:
                best = (smooth[ny, nx], ny, nx)
        if best[1:] == (y, x) or depth == 4:
            return [(y, x)]
        return [(y, x), *climb(best[1], best[2], depth + 1)]

    path = climb(*start)
    return path, len(path)


@program(either((30, 0.1, "flat"), (30, 0.3, "ring")))
def random_walkers(n, step, world="flat", *, seed=7, walkers=3, **options):
    """Generators made inside, options that are looked up with defaults, an unknown one that raises."""
    unknown = set(options) - {"drift"}
    if unknown:
        raise TypeError(f"unknown options: {sorted(unknown)}")
    rng = np.random.default_rng(seed)
    drift = options.get("drift", 0.0)
    tracks = []
    for w in range(walkers):
        position, track = 0.0, []
        for _ in range(n):
            position += step * rng.normal() + drift
            if world == "ring":
                position %= 1.0
            track.append(position)
        tracks.append(track)
    tracks = np.array(tracks)
    return tracks, tracks.mean(axis=0)[-1], np.sqrt((tracks[:, -1] ** 2).mean())
