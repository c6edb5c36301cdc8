"""Lists, deques and dicts whose contents are decided at run time, as people write them: schedulers, parsers, caches, grids."""

import heapq
import math
from collections import OrderedDict

from .registry import program


def digits(rng):
    return (rng.integers(0, 10, 60),)


@program(lambda rng: (rng.integers(0, 50, 40), rng.integers(1, 9, 40)))
def intervals_merged(start, length):
    iv = sorted(zip(start.tolist(), (start + length).tolist()))
    merged = []
    for s, e in iv:
        if merged and s <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], e)
        else:
            merged.append([s, e])
    return merged, sum(b - a for a, b in merged)


@program(lambda rng: (rng.integers(0, 12, 80),))
def least_recently_used(keys):
    cache = OrderedDict()
    hits = 0
    for k in keys:
        k = int(k)
        if k in cache:
            cache.move_to_end(k)
            hits += 1
            cache[k] += 1
        else:
            if len(cache) >= 4:
                cache.popitem(last=False)
            cache[k] = 1
    return hits, dict(cache)


@program(digits)
def tokens(x):
    tokens = []
    cur = []
    for v in x:
        if v == 0 or v == 9:
            if cur:
                tokens.append(cur)
                cur = []
            tokens.append([-1])
        else:
            cur.append(int(v))
    if cur:
        tokens.append(cur)
    return tokens, [len(t) for t in tokens], max(len(t) for t in tokens)


@program(lambda rng: (rng.integers(2, 20, 7),))
def matrix_chain(d):
    n = len(d) - 1
    best = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            best[i][j] = float("inf")
            for k in range(i, j):
                c = best[i][k] + best[k + 1][j] + int(d[i]) * int(d[k + 1]) * int(d[j + 1])
                if c < best[i][j]:
                    best[i][j] = c
                    split[i][j] = k
    return best[0][n - 1], split, best


@program(lambda rng: (rng.integers(1, 8, 8), int(rng.integers(8, 14))))
def sums_on_a_stack(x, target):
    stack = [(0, 0, [])]
    found = []
    while stack:
        i, s, chosen = stack.pop()
        if s == target:
            found.append(chosen)
        if i == len(x) or s >= target:
            continue
        stack.append((i + 1, s, chosen))
        stack.append((i + 1, s + int(x[i]), chosen + [int(x[i])]))
    return len(found), found[:3]


@program(digits)
def chunks(x):
    out = []
    chunk = []
    for v in x:
        chunk.append(int(v))
        if sum(chunk) > 15:
            out.append(chunk)
            chunk = []
    return out, chunk, [sum(c) for c in out]


@program(digits)
def runs_and_back(x):
    runs = []
    for v in x // 3:
        if runs and runs[-1][0] == v:
            runs[-1][1] += 1
        else:
            runs.append([int(v), 1])
    back = []
    for v, n in runs:
        back.extend([v] * n)
    return runs, back == (x // 3).tolist(), max(runs, key=lambda r: r[1])


@program(lambda rng: (rng.integers(0, 8, (20, 2)), rng.integers(1, 9, 20)))
def shortest_ways(e, w):
    adj = [[] for _ in range(8)]
    for (u, v), c in zip(e, w):
        adj[u].append((int(v), int(c)))
        adj[v].append((int(u), int(c)))
    dist = [math.inf] * 8
    dist[0] = 0
    pq = [(0, 0)]
    while pq:
        d, u = heapq.heappop(pq)
        if d > dist[u]:
            continue
        for v, c in adj[u]:
            if d + c < dist[v]:
                dist[v] = d + c
                heapq.heappush(pq, (d + c, v))
    return dist


@program(digits)
def library(x):
    books = [{"id": i, "out": False, "log": []} for i in range(10)]
    for i, v in enumerate(x):
        b = books[v]
        b["out"] = not b["out"]
        b["log"].append(i)
    return books


@program(digits)
def inverse_of_lists(x):
    a = [[float(v) for v in x[i * 4 : i * 4 + 4]] for i in range(4)]
    inv = [[1.0 if i == j else 0.0 for j in range(4)] for i in range(4)]
    for i in range(4):
        a[i][i] += 30.0
    for c in range(4):
        p = max(range(c, 4), key=lambda r: abs(a[r][c]))
        a[c], a[p] = a[p], a[c]
        inv[c], inv[p] = inv[p], inv[c]
        d = a[c][c]
        a[c] = [v / d for v in a[c]]
        inv[c] = [v / d for v in inv[c]]
        for r in range(4):
            if r != c:
                f = a[r][c]
                a[r] = [u - f * v for u, v in zip(a[r], a[c])]
                inv[r] = [u - f * v for u, v in zip(inv[r], inv[c])]
    return inv
