"""Programs of people who know NumPy alone: signals, shapes, graphs, epidemics, money, pictures."""

import heapq
import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from .registry import program


@program(lambda rng: (rng.normal(size=64), 4, 0.5))
def median_despike(signal, half, limit):
    clean = signal.copy()
    n = len(signal)
    replaced = []
    for i in range(n):
        lo = max(0, i - half)
        hi = min(n, i + half + 1)
        m = np.median(signal[lo:hi])
        if abs(signal[i] - m) > limit:
            clean[i] = m
            replaced.append(i)
    return clean, replaced, len(replaced)


class RingBuffer:
    def __init__(self, size):
        self.data = np.zeros(size)
        self.pos = 0
        self.full = False

    def push(self, v):
        self.data[self.pos] = v
        self.pos = (self.pos + 1) % len(self.data)
        if self.pos == 0:
            self.full = True

    @property
    def mean(self):
        if self.full:
            return self.data.mean()
        if self.pos == 0:
            return 0.0
        return self.data[: self.pos].mean()

    def __len__(self):
        return len(self.data) if self.full else self.pos


@program(lambda rng: (rng.normal(size=20), 6))
def ring_buffer_means(x, size):
    rb = RingBuffer(size)
    out = np.empty_like(x)
    lengths = []
    for i, v in enumerate(x):
        rb.push(v)
        out[i] = rb.mean
        lengths.append(len(rb))
    return out, lengths, rb.data


class Vec:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, o):
        return Vec(self.x + o.x, self.y + o.y)

    def __sub__(self, o):
        return Vec(self.x - o.x, self.y - o.y)

    def __mul__(self, s):
        return Vec(self.x * s, self.y * s)

    __rmul__ = __mul__

    def __matmul__(self, o):
        return self.x * o.x + self.y * o.y

    def __abs__(self):
        return math.sqrt(self @ self)

    def __eq__(self, o):
        return isinstance(o, Vec) and self.x == o.x and self.y == o.y

    def __repr__(self):
        return f"Vec({self.x:.3f}, {self.y:.3f})"


@program(lambda rng: (rng.uniform(-2, 2, 2), rng.uniform(-2, 2, 2), rng.uniform(0.5, 2)))
def segment_circle(p, q, r):
    a, b = Vec(*p), Vec(*q)
    d = b - a
    A = d @ d
    B = 2 * (a @ d)
    C = a @ a - r * r
    disc = B * B - 4 * A * C
    hits = []
    if disc >= 0:
        root = math.sqrt(disc)
        for s in (-1, 1):
            t = (-B + s * root) / (2 * A)
            if 0 <= t <= 1:
                hits.append(a + t * d)
    for h in hits:
        print(h, f"{abs(h):.4f}")
    return len(hits), [(h.x, h.y) for h in hits], a == b


@program(lambda rng: (rng.integers(1, 10, (7, 7)).astype(float), 0))
def dijkstra_heap(W, source):
    n = W.shape[0]
    dist = [float("inf")] * n
    prev = [None] * n
    dist[source] = 0.0
    pq = [(0.0, source)]
    while pq:
        d, u = heapq.heappop(pq)
        if d > dist[u]:
            continue
        for v in range(n):
            if v == u:
                continue
            nd = d + W[u, v]
            if nd < dist[v]:
                dist[v] = nd
                prev[v] = u
                heapq.heappush(pq, (nd, v))
    return dist, prev


@program(lambda rng: (rng.random((6, 6)) < 0.3,))
def topological_layers(adj):
    adj = np.triu(adj, 1)
    indeg = adj.sum(axis=0)
    layers = []
    done = np.zeros(len(adj), dtype=bool)
    while not done.all():
        ready = np.flatnonzero((indeg == 0) & ~done)
        layers.append(ready.tolist())
        done[ready] = True
        for r in ready:
            indeg = indeg - adj[r]
    return layers, len(layers)


@dataclass
class Params:
    beta: float
    gamma: float
    sigma: float = 0.2
    N: int = 1000
    history: list = field(default_factory=list)

    @property
    def r0(self):
        return self.beta / self.gamma


def seir_step(state, p, dt):
    S, E, I, R = state
    inf = p.beta * S * I / p.N
    return np.array([S - dt * inf, E + dt * (inf - p.sigma * E), I + dt * (p.sigma * E - p.gamma * I), R + dt * p.gamma * I])


@program(lambda rng: (rng.uniform(0.2, 0.6), rng.uniform(0.05, 0.2), 60))
def seir(beta, gamma, days):
    p = Params(beta, gamma)
    y = np.array([p.N - 1, 0, 1, 0])
    peak, peak_day = 0, None
    for day in range(days):
        y = seir_step(y, p, 1.0)
        p.history.append(y[2])
        if y[2] > peak:
            peak, peak_day = y[2], day
    print(f"R0={p.r0:.2f} peak={peak:.1f} on day {peak_day}")
    return p, y


@program(lambda rng: (rng.uniform(0, 5, 30), rng.random(30) < 0.6, rng.integers(0, 2, 30)))
def log_rank(time, event, group):
    obs = exp = var = 0
    for t in np.unique(time[event]):
        at_risk = time >= t
        n = at_risk.sum()
        n1 = (at_risk & (group == 1)).sum()
        d = ((time == t) & event).sum()
        d1 = ((time == t) & event & (group == 1)).sum()
        obs += d1
        exp += d * n1 / n
        if n > 1:
            var += d * (n1 / n) * (1 - n1 / n) * (n - d) / (n - 1)
    return (obs - exp) ** 2 / var, obs, exp


class Account:
    interest = 0.02
    opened = 0

    def __init__(self, owner, balance=0):
        self.owner = owner
        self._balance = balance
        self.log = []
        Account.opened += 1

    @property
    def balance(self):
        return self._balance

    @balance.setter
    def balance(self, value):
        if value < 0:
            raise ValueError(f"{self.owner} would be at {value:.2f}")
        self.log.append(value - self._balance)
        self._balance = value

    @classmethod
    def joint(cls, a, b):
        return cls(a.owner + "&" + b.owner, a.balance + b.balance)

    @staticmethod
    def fee(amount):
        return max(0.5, 0.01 * amount)


class Savings(Account):
    interest = 0.05

    def accrue(self):
        self.balance *= 1 + self.interest

    @staticmethod
    def fee(amount):
        return 0


def _reset_account():
    Account.opened = 0


@program(lambda rng: (rng.uniform(-40, 60, 8),), reset=_reset_account, outside=lambda: Account.opened)
def bank_day(amounts):
    a, b = Account("ann"), Savings("bob", 10)
    failed = 0
    for amount in amounts:
        for acc in (a, b):
            try:
                acc.balance += amount - acc.fee(abs(amount))
            except ValueError as e:
                failed += 1
                print("refused:", e)
    b.accrue()
    j = Account.joint(a, b)
    return j.balance, a.log, b.log, failed


@program(lambda rng: (rng.random((10, 10)) < 0.45,))
def label_two_pass(mask):
    labels = np.zeros(mask.shape, int)
    eq = {}
    nxt = 1
    for i in range(mask.shape[0]):
        for j in range(mask.shape[1]):
            if not mask[i, j]:
                continue
            around = []
            if i > 0 and labels[i - 1, j]:
                around.append(labels[i - 1, j])
            if j > 0 and labels[i, j - 1]:
                around.append(labels[i, j - 1])
            if not around:
                labels[i, j] = nxt
                eq[nxt] = nxt
                nxt += 1
            else:
                m = min(around)
                labels[i, j] = m
                for a in around:
                    ra, rm = a, m
                    while eq[ra] != ra:
                        ra = eq[ra]
                    while eq[rm] != rm:
                        rm = eq[rm]
                    eq[max(ra, rm)] = min(ra, rm)
    for i in range(mask.shape[0]):
        for j in range(mask.shape[1]):
            if labels[i, j]:
                r = labels[i, j]
                while eq[r] != r:
                    r = eq[r]
                labels[i, j] = r
    return labels, len(np.unique(labels)) - 1


@program(lambda rng: (rng.integers(0, 26, 60),))
def letter_statistics(codes):
    text = "".join(chr(97 + c) for c in codes)
    count = Counter(text)
    vowels = sum(count[v] for v in "aeiou")
    top = count.most_common(3)
    n = len(text)
    ic = sum(k * (k - 1) for k in count.values()) / (n * (n - 1))
    return vowels, top, ic, text.count("th"), text[::-1][:5].upper()


@program(lambda rng: (rng.random((8, 8)), 4))
def integral_image(img, w):
    I = np.zeros((img.shape[0] + 1, img.shape[1] + 1))
    I[1:, 1:] = img.cumsum(0).cumsum(1)

    def box(y, x):
        return I[y + w, x + w] - I[y, x + w] - I[y + w, x] + I[y, x]

    best = max((box(y, x), (y, x)) for y in range(img.shape[0] - w + 1) for x in range(img.shape[1] - w + 1))
    return best, best[0] / w**2
