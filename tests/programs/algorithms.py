"""Algorithms as textbooks have them: heaps, sets that are joined, search, coding, numbers of many digits, rows of bits."""

import heapq
from collections import Counter, defaultdict, deque, namedtuple

import numpy as np

from .registry import program


class UnionFind:
    def __init__(self, n):
        self.parent = list(range(n))
        self.size = [1] * n
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
        if self.size[a] < self.size[b]:
            a, b = b, a
        self.parent[b] = a
        self.size[a] += self.size[b]
        self.count -= 1
        return True


@program(lambda rng, n=12: (n, rng.integers(0, n, (20, 2)), rng.integers(1, 50, 20)))
def kruskal(n, edges, weights):
    uf = UnionFind(n)
    total, chosen = 0, []
    for w, a, b in sorted((int(w), int(a), int(b)) for w, (a, b) in zip(weights, edges)):
        if uf.union(a, b):
            total += w
            chosen.append((a, b))
    return total, chosen, uf.count


@program(lambda rng: (rng.random((12, 12)) > 0.7, 10))
def life_until_repeat(board, limit):
    seen = {}
    b = board.astype(int)
    for gen in range(limit):
        key = b.tobytes()
        if key in seen:
            return "cycle", seen[key], gen
        seen[key] = gen
        nb = sum(np.roll(np.roll(b, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
        b = ((nb == 3) | ((b == 1) & (nb == 2))).astype(int)
        if not b.any():
            return "dead", gen, 0
    return "alive", int(b.sum()), limit


@program(lambda rng, n=16: (rng.integers(0, 2**32, n, dtype=np.uint64),))
def bit_tricks(xs):
    pop, rev, gray, low = [], [], [], []
    for x in xs:
        x = int(x)
        pop.append(bin(x).count("1"))
        r = 0
        for k in range(32):
            r |= ((x >> k) & 1) << (31 - k)
        rev.append(r)
        gray.append(x ^ (x >> 1))
        low.append((x & -x).bit_length() - 1)
    v = xs.copy()
    v = v - ((v >> np.uint64(1)) & np.uint64(0x55555555))
    v = (v & np.uint64(0x33333333)) + ((v >> np.uint64(2)) & np.uint64(0x33333333))
    v = ((v + (v >> np.uint64(4))) & np.uint64(0x0F0F0F0F)) * np.uint64(0x01010101) & np.uint64(0xFFFFFFFF)
    assert (v >> np.uint64(24)).tolist() == pop
    return pop, rev, gray, low


@program(lambda rng, n=20: ("".join(rng.choice(list("abcde "), n)),))
def fnv_and_bloom(text):
    def fnv1a(s, seed=0):
        h = 2166136261 ^ seed
        for ch in s:
            h ^= ord(ch)
            h = (h * 16777619) & 0xFFFFFFFF
        return h

    bits = np.zeros(64, dtype=bool)
    words = text.split()
    for w in words:
        for seed in range(3):
            bits[fnv1a(w, seed) % 64] = True
    tests = {w: all(bits[fnv1a(w, s) % 64] for s in range(3)) for w in ["a", "b", "cd", *words[:2]]}
    return hex(fnv1a(text)), int(bits.sum()), tests


class HuffNode:
    def __init__(self, freq, symbol=None, left=None, right=None):
        self.freq, self.symbol, self.left, self.right = freq, symbol, left, right

    def __lt__(self, other):
        return self.freq < other.freq


@program(lambda rng, n=40: ("".join(rng.choice(list("aaaabbcd"), n)),))
def huffman_roundtrip(text):
    heap = [HuffNode(f, s) for s, f in sorted(Counter(text).items())]
    heapq.heapify(heap)
    while len(heap) > 1:
        a, b = heapq.heappop(heap), heapq.heappop(heap)
        heapq.heappush(heap, HuffNode(a.freq + b.freq, None, a, b))
    codes = {}

    def walk(node, prefix):
        if node.symbol is not None:
            codes[node.symbol] = prefix or "0"
            return
        walk(node.left, prefix + "0")
        walk(node.right, prefix + "1")

    walk(heap[0], "")
    bits = "".join(codes[c] for c in text)
    out, node = [], heap[0]
    for bit in bits:
        node = node.left if bit == "0" else node.right
        if node.symbol is not None:
            out.append(node.symbol)
            node = heap[0]
    assert "".join(out) == text
    return codes, len(bits), 8 * len(text) / len(bits)


@program(lambda rng, n=30: (rng.integers(0, 3, n),))
def lz77_and_back(data):
    tokens, i = [], 0
    while i < len(data):
        best_len, best_off = 0, 0
        for off in range(1, min(i, 8) + 1):
            k = 0
            while i + k < len(data) - 1 and k < 6 and data[i - off + k] == data[i + k]:
                k += 1
            if k > best_len:
                best_len, best_off = k, off
        tokens.append((best_off, best_len, int(data[i + best_len])))
        i += best_len + 1
    out = []
    for off, ln, sym in tokens:
        for _ in range(ln):
            out.append(out[-off])
        out.append(sym)
    assert out == data.tolist()
    return tokens, len(tokens)


@program(lambda rng, n=20: (rng.integers(0, 3, n),))
def arithmetic_coder_floats(symbols):
    p = np.array([0.5, 0.3, 0.2])
    cdf = np.concatenate([[0], np.cumsum(p)])
    low, high = 0.0, 1.0
    for s in symbols[:10]:
        width = high - low
        low, high = low + width * cdf[s], low + width * cdf[s + 1]
    code = (low + high) / 2
    bits = ""
    x = code
    for _ in range(int(np.ceil(-np.log2(high - low))) + 1):
        x *= 2
        bits += "1" if x >= 1 else "0"
        x -= int(x)
    decoded, v = [], code
    for _ in range(10):
        s = int(np.searchsorted(cdf, v, side="right") - 1)
        decoded.append(s)
        v = (v - cdf[s]) / p[s]
    return bits, decoded == symbols[:10].tolist()


@program(lambda rng, n=25: (rng.integers(0, 4, n),))
def run_length_rows(x):
    change = np.flatnonzero(np.diff(x)) + 1
    starts = np.r_[0, change]
    lengths = np.diff(np.r_[starts, len(x)])
    pairs = list(zip(x[starts].tolist(), lengths.tolist()))
    text = ",".join(f"{v}*{n}" for v, n in pairs)
    back = np.repeat(x[starts], lengths)
    assert np.array_equal(back, x)
    return pairs, text


@program(lambda rng, n=8: (rng.integers(0, n, (14, 2)), n))
def topological_levels(edges, n):
    edges = [(int(min(a, b)), int(max(a, b))) for a, b in edges if a != b]
    graph, indeg = defaultdict(list), [0] * n
    for a, b in set(edges):
        graph[a].append(b)
        indeg[b] += 1
    ready = deque(i for i in range(n) if indeg[i] == 0)
    order, level = [], {i: 0 for i in ready}
    while ready:
        a = ready.popleft()
        order.append(a)
        for b in sorted(graph[a]):
            level[b] = max(level.get(b, 0), level[a] + 1)
            indeg[b] -= 1
            if indeg[b] == 0:
                ready.append(b)
    return order, max(level.values()), len(order) == n


@program(lambda rng, n=9: (rng.random((n, n)) < 0.2,))
def tarjan_components(adj):
    n = len(adj)
    index, low, on, stack, comps = {}, {}, set(), [], []

    def strong(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        on.add(v)
        for w in np.flatnonzero(adj[v]):
            w = int(w)
            if w not in index:
                strong(w)
                low[v] = min(low[v], low[w])
            elif w in on:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            comp = []
            while True:
                w = stack.pop()
                on.discard(w)
                comp.append(w)
                if w == v:
                    break
            comps.append(sorted(comp))

    for v in range(n):
        if v not in index:
            strong(v)
    return sorted(comps)


Event = namedtuple("Event", "time kind who")


@program(lambda rng, n=10: (rng.exponential(1.0, n), rng.exponential(1.0, n)))
def queue_event_log(gaps, services):
    arrivals = np.cumsum(gaps)
    events = [Event(float(t), "arrive", i) for i, t in enumerate(arrivals)]
    heapq.heapify(events)
    waiting, busy, log, waits = deque(), False, [], []
    while events:
        e = heapq.heappop(events)
        if e.kind == "arrive":
            waiting.append(e)
        else:
            busy = False
        if not busy and waiting:
            first = waiting.popleft()
            waits.append(e.time - first.time)
            heapq.heappush(events, Event(e.time + float(services[first.who]), "leave", first.who))
            busy = True
        log.append(f"{e.time:6.2f} {e.kind:<6} {e.who} q={len(waiting)}")
    print("\n".join(log[:4]))
    return np.mean(waits), len(log)


class LRUCache:
    def __init__(self, capacity):
        self.capacity, self.data, self.hits = capacity, {}, 0

    def get(self, key):
        if key not in self.data:
            return None
        self.hits += 1
        value = self.data.pop(key)
        self.data[key] = value
        return value

    def put(self, key, value):
        if key in self.data:
            self.data.pop(key)
        elif len(self.data) >= self.capacity:
            self.data.pop(next(iter(self.data)))
        self.data[key] = value


@program(lambda rng, n=30: (rng.integers(0, 8, n),))
def cache_simulation(keys):
    cache = LRUCache(4)
    misses = []
    for k in keys:
        k = int(k)
        if cache.get(k) is None:
            misses.append(k)
            cache.put(k, k * k)
    return cache.hits, misses, list(cache.data.items())


@program(lambda rng, n=12: (rng.integers(0, 50, n), rng.integers(1, 15, n)))
def merge_intervals(starts, lengths):
    intervals = sorted([int(s), int(s + l)] for s, l in zip(starts, lengths))
    merged = []
    for s, e in intervals:
        if merged and s <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], e)
        else:
            merged.append([s, e])
    return merged, sum(e - s for s, e in merged), " ".join(f"{s}-{e}" for s, e in merged)


class Matrix2048:
    def __init__(self, board):
        self.board, self.score = board, 0

    def left(self):
        moved = False
        for r in range(4):
            row = [v for v in self.board[r] if v]
            out, i = [], 0
            while i < len(row):
                if i + 1 < len(row) and row[i] == row[i + 1]:
                    out.append(row[i] * 2)
                    self.score += int(row[i] * 2)
                    i += 2
                else:
                    out.append(row[i])
                    i += 1
            out += [0] * (4 - len(out))
            if out != self.board[r].tolist():
                moved = True
            self.board[r] = out
        return moved


@program(lambda rng: (rng.choice([0, 2, 4], (4, 4)),))
def game_2048(board):
    g = Matrix2048(board)
    history = []
    for move in "lrul":
        k = "lurd".index(move)
        g.board = np.rot90(g.board, k)
        moved = g.left()
        g.board = np.rot90(g.board, -k)
        history.append((move, moved, g.score))
    print(g.board)
    return history, g.board


@program(lambda rng, n=10: (rng.integers(1, 7, n),))
def polynomial_strings(coeffs):
    terms = []
    for k, c in enumerate(coeffs):
        if c % 3 == 0:
            continue
        sign = "-" if c % 2 else "+"
        body = str(c) if k == 0 else (f"{c}x" if k == 1 else f"{c}x^{k}")
        terms.append(f"{sign} {body}")
    text = " ".join(terms) or "0"
    return text[2:] if text.startswith("+ ") else text


@program(lambda rng, n=30: (rng.integers(2, 2000, n),))
def factor_strings(ns):
    out = {}
    for n in ns:
        n, m, factors = int(n), int(n), []
        p = 2
        while p * p <= m:
            e = 0
            while m % p == 0:
                m //= p
                e += 1
            if e:
                factors.append(f"{p}^{e}" if e > 1 else f"{p}")
            p += 1
        if m > 1:
            factors.append(str(m))
        out[n] = " * ".join(factors)
    return out
