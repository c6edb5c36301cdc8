"""Tasks as collections of them set: puzzles on texts, sets of cells, heaps, memos, numerals, cleaning of rows."""

import functools
import heapq
import itertools
import math
import operator
import statistics
from collections import Counter, OrderedDict, defaultdict, deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import reduce
from typing import NamedTuple

import numpy as np

from .registry import either, program


@program(lambda rng: (int(rng.integers(20, 41)), int(rng.integers(2, 5))))
def josephus(n, k):
    people = deque(range(1, n + 1))
    order = []
    while people:
        people.rotate(-(k - 1))
        order.append(people.popleft())
    return order[-1], order[:5]


@program(lambda rng: ([f"{'forward down up'.split()[k]} {v}" for k, v in zip(rng.integers(0, 3, 20), rng.integers(1, 9, 20))],))
def submarine(lines):
    x = depth = aim = 0
    for line in lines:
        match line.split():
            case ["forward", n]:
                x += int(n)
                depth += aim * int(n)
            case ["down", n]:
                aim += int(n)
            case ["up", n]:
                aim -= int(n)
    return x * depth, (x, depth, aim)


@program(lambda rng: (rng.integers(1, 6, 12), 30))
def lanternfish(timers, days):
    fish = Counter(timers.tolist())
    for _ in range(days):
        nxt = Counter()
        for t, n in fish.items():
            if t == 0:
                nxt[6] += n
                nxt[8] += n
            else:
                nxt[t - 1] += n
        fish = nxt
    return sum(fish.values())


@program(either((["([{}])", "([)]", "((", "{[]}()"],), (["]", "()()", "[{]}", "((([[]])))"],)))
def bracket_scores(lines):
    pairs = {")": "(", "]": "[", "}": "{"}
    points = {")": 3, "]": 57, "}": 1197}
    score, incomplete = 0, []
    for line in lines:
        stack = []
        for c in line:
            if c in "([{":
                stack.append(c)
            elif not stack or stack.pop() != pairs[c]:
                score += points[c]
                break
        else:
            incomplete.append(len(stack))
    return score, sorted(incomplete)


@program(either(("NNCB", 4), ("CBHN", 5)))
def polymer(template, steps):
    rules = {
        "CH": "B",
        "HH": "N",
        "CB": "H",
        "NH": "C",
        "HB": "C",
        "HC": "B",
        "HN": "C",
        "NN": "C",
        "BH": "H",
        "NC": "B",
        "NB": "B",
        "BN": "B",
        "BB": "N",
        "BC": "B",
        "CC": "N",
        "CN": "C",
    }
    pairs = Counter(a + b for a, b in zip(template, template[1:]))
    letters = Counter(template)
    for _ in range(steps):
        new = Counter()
        for pair, n in pairs.items():
            mid = rules[pair]
            letters[mid] += n
            new[pair[0] + mid] += n
            new[mid + pair[1]] += n
        pairs = new
    common = letters.most_common()
    return common[0][1] - common[-1][1], dict(letters)


class Edge(NamedTuple):
    to: int
    cost: float


@program(lambda rng: (rng.integers(0, 10, (25, 2)), rng.uniform(1, 9, 25)))
def shortest_path(pairs, costs):
    graph = defaultdict(list)
    for (a, b), c in zip(pairs, costs):
        graph[int(a)].append(Edge(int(b), float(c)))
    start = int(pairs[0, 0])
    dist, before = {start: 0.0}, {}
    heap = [(0.0, start)]
    while heap:
        d, u = heapq.heappop(heap)
        if d > dist[u]:
            continue
        for edge in graph[u]:
            nd = d + edge.cost
            if nd < dist.get(edge.to, math.inf):
                dist[edge.to] = nd
                before[edge.to] = u
                heapq.heappush(heap, (nd, edge.to))
    far = max(dist, key=dist.get)
    path = [far]
    while path[-1] in before:
        path.append(before[path[-1]])
    return dist, path[::-1]


class Kind(Enum):
    DEPOSIT = auto()
    WITHDRAW = auto()
    INTEREST = auto()


@dataclass
class Account:
    owner: str
    balance: float = 0.0
    history: list = field(default_factory=list)

    def apply(self, kind, amount):
        match kind:
            case Kind.DEPOSIT:
                self.balance += amount
            case Kind.WITHDRAW if amount <= self.balance:
                self.balance -= amount
            case Kind.WITHDRAW:
                raise ValueError(f"{self.owner} lacks {amount - self.balance:.2f}")
            case Kind.INTEREST:
                self.balance *= 1 + amount / 100
        self.history.append((kind.name, round(self.balance, 2)))


@program(lambda rng: (rng.integers(1, 4, 14), rng.uniform(1, 40, 14).round(2)))
def account_history(kinds, amounts):
    account, errors = Account("Ann"), []
    for k, amount in zip(kinds, amounts):
        try:
            account.apply(Kind(int(k)), float(amount))
        except ValueError as e:
            errors.append(str(e))
    return account.balance, account.history, errors


@program(lambda rng: (rng.integers(5, 40, 7).tolist(),))
def matrix_chain(dims):
    @functools.cache
    def cost(i, j):
        if i == j:
            return 0
        return min(cost(i, k) + cost(k + 1, j) + dims[i] * dims[k + 1] * dims[j + 1] for k in range(i, j))

    return cost(0, len(dims) - 2)


@program(lambda rng: (rng.normal(size=60),))
def text_histogram(x):
    counts, edges = np.histogram(x, bins=6, range=(-3, 3))
    lines = []
    for n, lo, hi in zip(counts, edges, edges[1:]):
        lines.append(f"{lo:6.2f} to {hi:5.2f} | {'*' * int(n):<30} {n:3d}")
    print("\n".join(lines))
    return max(len(line.rstrip()) for line in lines)


class LRU:
    def __init__(self, size):
        self.size, self.data, self.hits = size, OrderedDict(), 0

    def get(self, key, make):
        if key in self.data:
            self.hits += 1
            self.data.move_to_end(key)
            return self.data[key]
        value = self.data[key] = make(key)
        if len(self.data) > self.size:
            self.data.popitem(last=False)
        return value


@program(lambda rng: (rng.integers(0, 8, 40),))
def lru_hits(keys):
    cache, total = LRU(4), 0
    for k in keys:
        total += cache.get(int(k), lambda v: v * v)
    return total, cache.hits, list(cache.data)


@program(lambda rng: (rng.normal(size=8),))
def logged_sections(x):
    log = []

    @contextmanager
    def section(name):
        log.append(f"enter {name}")
        try:
            yield len(log)
        finally:
            log.append(f"leave {name}")

    total = 0.0
    for i, v in enumerate(x):
        with section(f"item{i}") as depth:
            if v < 0:
                continue
            total += v * depth
    return total, log


@program(lambda rng: (rng.integers(1, 3999, 6),))
def roman(values):
    table = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ]

    def to_roman(n):
        out = ""
        for v, s in table:
            while n >= v:
                out += s
                n -= v
        return out

    def back(text):
        value = dict((s, v) for v, s in table)
        total = 0
        for a, b in zip(text, text[1:] + " "):
            v = value[a]
            total += -v if v < value.get(b, 0) else v
        return total

    texts = [to_roman(int(v)) for v in values]
    return texts, [back(t) for t in texts]


@program(lambda rng: (str(rng.integers(1, 999)), 5))
def look_and_say(text, n):
    for _ in range(n):
        text = "".join(f"{len(list(g))}{d}" for d, g in itertools.groupby(text))
    return text, len(text)


@program(lambda rng: (rng.integers(2, 12, 7), rng.integers(3, 20, 7), 20))
def knapsack_bound(w, v, cap):
    items = sorted(zip(w.tolist(), v.tolist()), key=lambda p: p[1] / p[0], reverse=True)

    def bound(i, room):
        total = 0.0
        for wi, vi in items[i:]:
            if wi <= room:
                room -= wi
                total += vi
            else:
                return total + vi * room / wi
        return total

    best = 0
    heap = [(-bound(0, cap), 0, cap, 0)]
    visited = 0
    while heap:
        b, i, room, value = heapq.heappop(heap)
        visited += 1
        if -b <= best or i == len(items):
            continue
        wi, vi = items[i]
        if wi <= room:
            best = max(best, value + vi)
            heapq.heappush(heap, (-(value + vi + bound(i + 1, room - wi)), i + 1, room - wi, value + vi))
        heapq.heappush(heap, (-(value + bound(i + 1, room)), i + 1, room, value))
    return best, visited


@program(
    lambda rng: (
        [
            {"id": i, "temp": f"{v:.1f}" if v > -1 else "n/a", "city": "  Rome " if v > 0 else "paris"}
            for i, v in enumerate(rng.normal(size=10))
        ],
    )
)
def clean_rows(rows):
    groups = defaultdict(list)
    bad = 0
    for row in rows:
        city = row["city"].strip().title()
        try:
            t = float(row["temp"])
        except ValueError:
            bad += 1
            continue
        groups[city].append(t)
    return {c: (len(v), round(statistics.mean(v), 3), max(v)) for c, v in sorted(groups.items())}, bad


@program(either(("3 4 + 2 * 7 /",), ("5 1 2 + 4 * + 3 -",)))
def rpn(text):
    ops = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
    stack = []
    for token in text.split():
        if token in ops:
            b, a = stack.pop(), stack.pop()
            stack.append(ops[token](a, b))
        else:
            stack.append(float(token))
    return stack.pop()


@program(lambda rng: (rng.integers(0, 2**31, 12),))
def bit_tricks(x):
    out = []
    for v in x.tolist():
        count = 0
        w = v
        while w:
            w &= w - 1
            count += 1
        gray = v ^ (v >> 1)
        rev = int(f"{v:032b}"[::-1], 2)
        out.append((count, gray, rev, v.bit_length(), v & -v))
    return out


@program(lambda rng: (rng.normal(size=4),))
def durand_kerner(c):
    coeffs = [1.0 + 0j, *c]
    n = len(coeffs) - 1
    roots = [(0.4 + 0.9j) ** k for k in range(n)]
    for it in range(60):
        new = []
        for i, r in enumerate(roots):
            p = reduce(lambda acc, a: acc * r + a, coeffs)
            q = math.prod(r - s for j, s in enumerate(roots) if j != i)
            new.append(r - p / q)
        delta = max(abs(a - b) for a, b in zip(new, roots))
        roots = new
        if delta < 1e-12:
            break
    return sorted(roots, key=lambda z: (round(z.real, 6), round(z.imag, 6)))
