"""Bioinformatics and ecology: sequences, trees, populations, counts of genes."""

from collections import defaultdict

import numpy as np

from .registry import program

BASES = "ACGT"


class PositionWeightMatrix:
    def __init__(self, sites, pseudo=0.5, background=None):
        self.background = np.full(4, 0.25) if background is None else np.asarray(background)
        counts = np.zeros((4, sites.shape[1]))
        for site in sites:
            counts[site, np.arange(len(site))] += 1
        self.p = (counts + pseudo) / (len(sites) + 4 * pseudo)
        self.score_matrix = np.log2(self.p / self.background[:, None])

    def __len__(self):
        return self.p.shape[1]

    def information(self):
        return (self.p * self.score_matrix).sum(axis=0)

    def scan(self, seq, threshold=0.0):
        for start in range(len(seq) - len(self) + 1):
            s = self.score_matrix[seq[start : start + len(self)], range(len(self))].sum()
            if s > threshold:
                yield start, s


@program(lambda rng: (rng.choice(4, (12, 6), p=[0.6, 0.1, 0.2, 0.1]), rng.integers(0, 4, 80)))
def motif_scan(sites, seq):
    """A class with __len__, and a generator that is read by a comprehension."""
    pwm = PositionWeightMatrix(sites)
    hits = [(start, round(float(s), 3)) for start, s in pwm.scan(seq, threshold=1.0)]
    best = max(hits, key=lambda h: h[1]) if hits else (None, -np.inf)
    consensus = "".join(BASES[i] for i in pwm.p.argmax(axis=0))
    print(consensus, len(hits), best)
    return pwm.information(), hits


@program(lambda rng: (rng.uniform(0.1, 1.0, (6, 6)),))
def neighbour_joining(noise):
    """A matrix that becomes smaller, labels as nested text."""
    D = noise + noise.T
    np.fill_diagonal(D, 0)
    labels = [chr(ord("A") + i) for i in range(len(D))]
    edges = []
    while len(D) > 2:
        n = len(D)
        r = D.sum(axis=1)
        Q = (n - 2) * D - r[:, None] - r[None, :]
        np.fill_diagonal(Q, np.inf)
        i, j = np.unravel_index(Q.argmin(), Q.shape)
        li = D[i, j] / 2 + (r[i] - r[j]) / (2 * (n - 2))
        edges.append((li, D[i, j] - li))
        d = (D[i] + D[j] - D[i, j]) / 2
        keep = [m for m in range(n) if m not in (i, j)]
        new = np.zeros((n - 1, n - 1))
        new[:-1, :-1] = D[np.ix_(keep, keep)]
        new[-1, :-1] = new[:-1, -1] = d[keep]
        D = new
    return np.array(edges), D[0, 1], len(labels)


def jukes_cantor(t):
    e = np.exp(-4 * t / 3)
    return np.full((4, 4), 0.25 * (1 - e)) + np.eye(4) * e


@program(lambda rng: (rng.integers(0, 4, (4, 20)), rng.uniform(0.05, 0.5, 6)))
def tree_likelihood(leaves, lengths):
    """Felsenstein's recursion over a tree that is a tuple of tuples."""
    tree = ((0, 1), (2, 3))
    lengths = iter(lengths)

    def partial(node):
        if isinstance(node, int):
            return np.eye(4)[leaves[node]]
        result = 1.0
        for child in node:
            P = jukes_cantor(next(lengths))
            result = result * (partial(child) @ P.T)
        return result

    site = partial(tree) @ np.full(4, 0.25)
    return np.log(site).sum(), np.round(site.min(), 9)


@program(lambda rng: (rng.integers(0, 6, (8, 12)), rng.integers(0, 3, 8)))
def diversity_of_sites(abundance, habitat):
    """Ecology: indices for each site, grouped in a defaultdict."""
    total = abundance.sum(axis=1, keepdims=True)
    p = abundance / np.maximum(total, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        H = -np.nansum(np.where(p > 0, p * np.log(p), 0), axis=1)
    richness = (abundance > 0).sum(axis=1)
    evenness = H / np.log(np.where(richness > 1, richness, 2))
    groups = defaultdict(list)
    for h, value in zip(habitat, H):
        groups[int(h)].append(value)
    means = {h: sum(v) / len(v) for h, v in sorted(groups.items())}
    a = abundance[:, None, :]
    b = abundance[None, :, :]
    bray = np.abs(a - b).sum(-1) / (a + b).sum(-1)
    near = np.where(np.eye(len(bray), dtype=bool), np.inf, bray).argmin(axis=1)
    return H, evenness, means, near


@program(lambda rng: (rng.random(200), rng.uniform(0.1, 0.3), rng.uniform(0.05, 0.15)))
def sir_by_persons(u, beta, gamma):
    """People as numbers in one array; contacts by a walk around a ring."""
    n = 50
    S, I, R = 0, 1, 2
    state = np.zeros(n, dtype=np.int8)
    state[n // 2] = I
    curve = []
    k = 0
    for day in range(len(u) // 10):
        infected = np.flatnonzero(state == I)
        if infected.size == 0:
            break
        new = []
        for person in infected:
            for neighbour in ((person - 1) % n, (person + 1) % n):
                if state[neighbour] == S and u[k % len(u)] < beta:
                    new.append(neighbour)
                k += 1
            if u[(k * 7) % len(u)] < gamma:
                state[person] = R
        for person in new:
            state[person] = I
        curve.append((int((state == S).sum()), int((state == I).sum())))
    return curve, state, k
