"""Programs of searches, plans and puzzles: recursions as deep as an argument says, heaps, parents in dicts."""

import bisect
import heapq
import math
from collections import defaultdict, deque, namedtuple

import numpy as np

from .registry import program


@program(lambda rng: (4,))
def n_queens(n):
    out = []
    cols, d1, d2 = (set(), set(), set())
    place = []

    def go(r):
        if r == n:
            out.append(tuple(place))
            return
        for c in range(n):
            if c in cols or r + c in d1 or r - c in d2:
                continue
            cols.add(c)
            d1.add(r + c)
            d2.add(r - c)
            place.append(c)
            go(r + 1)
            cols.remove(c)
            d1.remove(r + c)
            d2.remove(r - c)
            place.pop()

    go(0)
    return out


@program(lambda rng: (rng.uniform(size=(12, 12)) < 0.25,))
def bfs_parents(adj):
    parent = {0: None}
    queue = deque([0])
    order = []
    while queue:
        u = queue.popleft()
        order.append(u)
        for v in np.flatnonzero(adj[u]):
            v = int(v)
            if v not in parent:
                parent[v] = u
                queue.append(v)
    far = order[-1]
    chain = []
    while far is not None:
        chain.append(far)
        far = parent[far]
    return (order, chain)


Edge = namedtuple("Edge", "to cost")


@program(lambda rng: (15, np.c_[rng.integers(0, 15, 3 * 15), rng.integers(0, 15, 3 * 15), rng.integers(1, 10, 3 * 15)]))
def dijkstra(n, edges):
    graph = defaultdict(list)
    for a, b, c in edges:
        graph[int(a)].append(Edge(int(b), int(c)))
    dist = {0: 0}
    prev = {}
    done = set()
    heap = [(0, 0)]
    while heap:
        d, u = heapq.heappop(heap)
        if u in done:
            continue
        done.add(u)
        for e in graph[u]:
            nd = d + e.cost
            if nd < dist.get(e.to, math.inf):
                dist[e.to] = nd
                prev[e.to] = u
                heapq.heappush(heap, (nd, e.to))
    return (dict(sorted(dist.items())), dict(sorted(prev.items())))


@program(lambda rng: (rng.integers(0, 5, (7, 7)),))
def dijkstra_grid(cost):
    h, w = cost.shape
    dist = np.full(cost.shape, np.inf)
    dist[0, 0] = cost[0, 0]
    pq = [(int(cost[0, 0]), 0, 0)]
    came = {}
    while pq:
        d, i, j = heapq.heappop(pq)
        if d > dist[i, j]:
            continue
        for a, b in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):
            if 0 <= a < h and 0 <= b < w:
                nd = d + int(cost[a, b])
                if nd < dist[a, b]:
                    dist[a, b] = nd
                    came[a, b] = (i, j)
                    heapq.heappush(pq, (nd, a, b))
    node = (h - 1, w - 1)
    path = [node]
    while node in came:
        node = came[node]
        path.append(node)
    return (dist, path[::-1])


@program(lambda rng: (rng.integers(0, 4, (14, 2)),))
def topo_sort(edges):
    edges = [(int(a), int(b)) for a, b in edges if a < b]
    indeg = {i: 0 for i in range(4)}
    adj = {i: set() for i in range(4)}
    for a, b in edges:
        if b not in adj[a]:
            adj[a].add(b)
            indeg[b] += 1
    ready = sorted((k for k, v in indeg.items() if v == 0))
    order = []
    while ready:
        u = ready.pop(0)
        order.append(u)
        for v in sorted(adj[u]):
            indeg[v] -= 1
            if not indeg[v]:
                bisect.insort(ready, v)
    return (order, adj)


@program(lambda rng: (rng.uniform(size=12), rng.uniform(size=12)))
def gale_shapley(a, b):
    n = min(len(a), 6)
    men = [sorted(range(n), key=lambda j: (abs(a[i] - b[j]), j)) for i in range(n)]
    women = [{m: k for k, m in enumerate(sorted(range(n), key=lambda i: (abs(b[j] - a[i * 5 % n]), i)))} for j in range(n)]
    free = list(range(n))
    nxt = [0] * n
    wife = {}
    while free:
        m = free.pop(0)
        w = men[m][nxt[m]]
        nxt[m] += 1
        if w not in wife:
            wife[w] = m
        elif women[w][m] < women[w][wife[w]]:
            free.append(wife[w])
            wife[w] = m
        else:
            free.append(m)
    return (dict(sorted(wife.items())), nxt)


@program(lambda rng: (rng.integers(0, 100, 9),))
def merge_sort(x):
    count = 0

    def sort(a):
        nonlocal count
        if len(a) <= 1:
            return a
        m = len(a) // 2
        l, r = (sort(a[:m]), sort(a[m:]))
        out = []
        i = j = 0
        while i < len(l) and j < len(r):
            if l[i] <= r[j]:
                out.append(l[i])
                i += 1
            else:
                out.append(r[j])
                j += 1
                count += len(l) - i
        return out + l[i:] + r[j:]

    s = sort(x.tolist())
    return (s, count)


@program(lambda rng: ([tuple(p) for p in rng.integers(0, 30, (20, 2)).tolist()],))
def hull(points):
    pts = sorted(set(points))

    def half(ps):
        out = []
        for p in ps:
            while (
                len(out) >= 2
                and (out[-1][0] - out[-2][0]) * (p[1] - out[-2][1]) - (out[-1][1] - out[-2][1]) * (p[0] - out[-2][0]) <= 0
            ):
                out.pop()
            out.append(p)
        return out

    lower, upper = (half(pts), half(reversed(pts)))
    poly = lower[:-1] + upper[:-1]
    area = 0.5 * abs(sum((a[0] * b[1] - a[1] * b[0] for a, b in zip(poly, poly[1:] + poly[:1]))))
    return (poly, area)


@program(lambda rng: (rng.uniform(size=(10, 10)) < 0.55,))
def label(img):
    parent = list(range(img.size))

    def find(a):
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        return a

    h, w = img.shape
    for i in range(h):
        for j in range(w):
            if not img[i, j]:
                continue
            if i and img[i - 1, j]:
                parent[find(i * w + j)] = find((i - 1) * w + j)
            if j and img[i, j - 1]:
                parent[find(i * w + j)] = find(i * w + j - 1)
    roots = {}
    out = np.zeros(img.shape, int)
    for i, j in np.argwhere(img):
        r = find(i * w + j)
        out[i, j] = roots.setdefault(r, len(roots) + 1)
    return (out, len(roots))


@program(lambda rng: (rng.integers(1, 9, 8), rng.integers(1, 20, 8), 20))
def knapsack(w, v, cap):
    n = len(w)
    T = np.zeros((n + 1, cap + 1), dtype=int)
    for i, (wi, vi) in enumerate(zip(w, v), start=1):
        T[i] = T[i - 1]
        T[i, wi:] = np.maximum(T[i - 1, wi:], T[i - 1, : cap + 1 - wi] + vi)
    items, c = ([], cap)
    for i in range(n, 0, -1):
        if T[i, c] != T[i - 1, c]:
            items.append(i - 1)
            c -= w[i - 1]
    return (T[n, cap], items[::-1])


@program(lambda rng: (rng.integers(3, 2000, 20),))
def probable_primes(numbers):

    def is_prime(n):
        if n < 4:
            return n in (2, 3)
        d, s = (n - 1, 0)
        while d % 2 == 0:
            d //= 2
            s += 1
        for a in (2, 3, 5, 7):
            if a % n == 0:
                continue
            x = pow(a, d, n)
            if x in (1, n - 1):
                continue
            for _ in range(s - 1):
                x = pow(x, 2, n)
                if x == n - 1:
                    break
            else:
                return False
        return True

    return [int(n) for n in numbers if is_prime(int(n))]


@program(lambda rng: ([int(v) for v in rng.integers(1, 20, 6)],))
def shared_secret(exponents):
    p, g = (2087, 5)
    secret = g
    public = []
    for e in exponents:
        public.append(pow(g, e, p))
        secret = pow(secret, e, p)
    inverse = pow(secret, -1, p)
    return (public, secret, inverse, secret * inverse % p)


@program(lambda rng: (rng.integers(0, 9, 8),))
def first_repeat(x):
    seen = [None] * 10
    for i, v in enumerate(x.tolist()):
        if seen[v] is not None:
            return (v, seen[v], i)
        seen[v] = i
    return None


@program(lambda rng: (rng.uniform(size=(9, 9)) < 0.2,))
def astar(walls):
    n = len(walls)
    start, goal = ((0, 0), (n - 1, n - 1))

    def h(p):
        return abs(p[0] - goal[0]) + abs(p[1] - goal[1])

    frontier = [(h(start), 0, start)]
    came = {start: None}
    cost = {start: 0}
    while frontier:
        _, g, cur = heapq.heappop(frontier)
        if cur == goal:
            break
        for dx, dy in ((1, 0), (0, 1), (-1, 0), (0, -1)):
            nxt = (cur[0] + dx, cur[1] + dy)
            if not (0 <= nxt[0] < n and 0 <= nxt[1] < n) or walls[nxt]:
                continue
            ng = g + 1
            if nxt not in cost or ng < cost[nxt]:
                cost[nxt] = ng
                came[nxt] = cur
                heapq.heappush(frontier, (ng + h(nxt), ng, nxt))
    else:
        return None
    path = []
    p = goal
    while p is not None:
        path.append(p)
        p = came[p]
    return (path[::-1], len(cost))


@program(lambda rng: ("".join(rng.choice(list("ACGT"), 12)), "".join(rng.choice(list("ACGT"), 12 - 2))))
def needleman(a, b):
    n, m = (len(a), len(b))
    S = np.zeros((n + 1, m + 1), np.int16)
    S[:, 0] = -np.arange(n + 1)
    S[0] = -np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            S[i, j] = max(S[i - 1, j - 1] + (1 if a[i - 1] == b[j - 1] else -1), S[i - 1, j] - 1, S[i, j - 1] - 1)
    top, bottom = ([], [])
    i, j = (n, m)
    while i or j:
        if i and j and (S[i, j] == S[i - 1, j - 1] + (1 if a[i - 1] == b[j - 1] else -1)):
            i -= 1
            j -= 1
            top.append(a[i])
            bottom.append(b[j])
        elif i and S[i, j] == S[i - 1, j] - 1:
            i -= 1
            top.append(a[i])
            bottom.append("-")
        else:
            j -= 1
            top.append("-")
            bottom.append(b[j])
    return ("".join(reversed(top)), "".join(reversed(bottom)), S)
