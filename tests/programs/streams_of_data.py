"""Data that streams: statistics, samples, sketches, caches, queues, ranks and tests by drawing again."""

import heapq
import math
import random
from collections import Counter, OrderedDict, deque

import numpy as np

from .registry import program


@program(lambda rng: ({"a": ["b", "c"], "b": ["c"], "c": ["a"], "d": ["c"]}, float(rng.uniform(0.8, 0.9))))
def pagerank_dict(links, d):
    n = len(links)
    rank = {p: 1 / n for p in links}
    for it in range(100):
        new = {p: (1 - d) / n for p in links}
        for p, outs in links.items():
            for q in outs:
                new[q] += d * rank[p] / len(outs)
        delta = sum(abs(new[p] - rank[p]) for p in links)
        rank = new
        if delta < 1e-8:
            break
    return sorted(rank.items(), key=lambda kv: kv[1], reverse=True), it


@program(lambda rng: (rng.binomial(1, 0.1, 200), rng.binomial(1, 0.15, 180), 200, int(rng.integers(10))))
def ab_bootstrap(a, b, B, seed):
    rng = np.random.default_rng(seed)
    diffs = []
    for _ in range(B):
        sa = rng.choice(a, len(a))
        sb = rng.choice(b, len(b))
        diffs.append(sb.mean() - sa.mean())
    diffs = np.sort(diffs)
    lo, hi = np.percentile(diffs, [2.5, 97.5])
    pooled = np.r_[a, b]
    obs = b.mean() - a.mean()
    count = 0
    for _ in range(100):
        rng.shuffle(pooled)
        count += abs(pooled[len(a) :].mean() - pooled[: len(a)].mean()) >= abs(obs)
    se = np.sqrt(pooled.mean() * (1 - pooled.mean()) * (1 / len(a) + 1 / len(b)))
    z = obs / se
    p = math.erfc(abs(z) / math.sqrt(2))
    return lo, hi, (count + 1) / 101, z, p, "significant" if p < 0.05 else "not significant"


class Welford:
    def __init__(self):
        self.n, self.mean, self.M2 = 0, 0.0, 0.0
        self.min, self.max = math.inf, -math.inf

    def update(self, x):
        self.n += 1
        delta = x - self.mean
        self.mean += delta / self.n
        self.M2 += delta * (x - self.mean)
        self.min, self.max = min(self.min, x), max(self.max, x)
        return self

    @property
    def variance(self):
        return self.M2 / (self.n - 1) if self.n > 1 else float("nan")

    def merge(self, other):
        out = Welford()
        out.n = self.n + other.n
        d = other.mean - self.mean
        out.mean = self.mean + d * other.n / out.n
        out.M2 = self.M2 + other.M2 + d**2 * self.n * other.n / out.n
        out.min, out.max = min(self.min, other.min), max(self.max, other.max)
        return out


@program(lambda rng: (rng.normal(size=100), 7, int(rng.integers(99))))
def streaming_statistics(stream, k, seed):
    rng = random.Random(seed)
    a, b = Welford(), Welford()
    reservoir = []
    ema = None
    for i, x in enumerate(stream):
        (a if i % 3 else b).update(x)
        ema = x if ema is None else 0.9 * ema + 0.1 * x
        if i < k:
            reservoir.append(x)
        else:
            j = rng.randint(0, i)
            if j < k:
                reservoir[j] = x
    m = a.merge(b)
    return m.mean, m.variance, m.min, m.max, reservoir, ema


class CountMin:
    def __init__(self, width, depth):
        self.table = np.zeros((depth, width), dtype=np.int64)
        self.width = width
        self.seeds = [(2 * i + 1, 7 * i + 3) for i in range(depth)]

    def add(self, x, count=1):
        for row, (a, b) in enumerate(self.seeds):
            self.table[row, (a * x + b) % 101 % self.width] += count

    def __getitem__(self, x):
        return min(self.table[row, (a * x + b) % 101 % self.width] for row, (a, b) in enumerate(self.seeds))


@program(lambda rng: (rng.zipf(1.5, 200) % 50,))
def count_min_sketch(xs):
    cm, exact = CountMin(20, 4), Counter()
    for x in xs:
        x = int(x)
        cm.add(x)
        exact[x] += 1
    top = exact.most_common(3)
    errors = [cm[x] - c for x, c in exact.items()]
    return [(x, c, cm[x]) for x, c in top], max(errors), min(errors), cm.table


class LRU:
    def __init__(self, capacity):
        self.capacity, self.data = capacity, OrderedDict()
        self.hits = self.misses = 0

    def get(self, key):
        if key not in self.data:
            self.misses += 1
            return None
        self.hits += 1
        self.data.move_to_end(key)
        return self.data[key]

    def put(self, key, value):
        self.data[key] = value
        self.data.move_to_end(key)
        if len(self.data) > self.capacity:
            self.data.popitem(last=False)


@program(lambda rng: (rng.integers(0, 12, 60), 5))
def lru_embedding_cache(keys, cap):
    cache = LRU(cap)
    total = 0.0
    for k in keys:
        k = int(k)
        v = cache.get(k)
        if v is None:
            v = math.sqrt(k)
            cache.put(k, v)
        total += v
    return cache.hits, cache.misses, total, list(cache.data)


@program(lambda rng: (int(rng.integers(1000)), 2, 40))
def mmc_queue(seed, servers, customers):
    rng = np.random.default_rng(seed)
    events, t = [], 0.0
    for i in range(customers):
        t += rng.exponential(1.0)
        heapq.heappush(events, (t, "arrive", i))
    free, queue = servers, deque()
    waits, arrival = [], {}
    log = Counter()
    while events:
        now, kind, i = heapq.heappop(events)
        log[kind] += 1
        if kind == "arrive":
            arrival[i] = now
            queue.append(i)
        else:
            free += 1
        while free and queue:
            j = queue.popleft()
            free -= 1
            waits.append(now - arrival[j])
            heapq.heappush(events, (now + rng.exponential(1.6), "leave", j))
    return sum(waits) / len(waits), max(waits), dict(log), now
