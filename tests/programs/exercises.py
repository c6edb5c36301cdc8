"""Exercises as courses set them: classes, generators, backtracking, games of chance, splines, ciphers, records of tables."""

import bisect
import heapq
import itertools
import math
import operator
import random
import string
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import NamedTuple

import numpy as np

from .registry import either, program


def counted(f):
    @wraps(f)
    def inner(*args):
        inner.calls += 1
        return f(*args)

    inner.calls = 0
    return inner


@program(lambda rng: (float(rng.uniform(1, 9)),))
def counted_bisection(a):
    @counted
    def f(x):
        return x**3 - a

    lo, hi = 0.0, 10.0
    while hi - lo > 1e-6:
        mid = (lo + hi) / 2
        if f(mid) > 0:
            hi = mid
        else:
            lo = mid
    return lo, f.calls


class Student(NamedTuple):
    name: str
    group: int
    score: float


@program(lambda rng: ([f"s{i}" for i in range(10)], rng.integers(0, 3, 10), rng.uniform(0, 100, 10)))
def gradebook(names, groups, scores):
    students = [Student(n, int(g), float(s)) for n, g, s in zip(names, groups, scores)]
    students.sort(key=lambda s: (s.group, -s.score))
    report = []
    for g, members in itertools.groupby(students, key=operator.attrgetter("group")):
        members = list(members)
        first, *_, last = members if len(members) > 1 else members * 2
        report.append(f"group {g}: best {first.name} {first.score:.1f}, worst {last.name} {last.score:.1f}, n={len(members)}")
    letters = Counter("ABCDF"[min(bisect.bisect_right([40, 60, 75, 90], 100 - s.score), 4)] for s in students)
    return report, dict(letters)


@program(either((["10110", "111", "0"],), (["1001", "", "1100"],)))
def divisible_by_three(words):
    table = {"even": {"0": "even", "1": "one"}, "one": {"0": "two", "1": "even"}, "two": {"0": "one", "1": "two"}}
    visits = Counter()
    accepted = []
    for word in words:
        state = "even"
        for c in word:
            state = table[state][c]
            visits[state] += 1
        if state == "even":
            accepted.append(word)
    return accepted, visits


class DSU:
    def __init__(self, n):
        self.parent, self.size = list(range(n)), [1] * n

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
        return True


@program(lambda rng: (rng.integers(0, 12, (9, 2)), 12))
def islands(edges, n):
    dsu = DSU(n)
    joined = sum(dsu.union(int(a), int(b)) for a, b in edges)
    groups = defaultdict(list)
    for v in range(n):
        groups[dsu.find(v)].append(v)
    return joined, sorted(groups.values(), key=lambda g: (-len(g), g)), max(dsu.size)


@program(either((["car", "cat", "cart", "dog"], "ca"), (["tree", "trie", "try", "algo"], "tr")))
def trie_words(words, prefix):
    root = {}
    for word in words:
        node = root
        for c in word:
            node = node.setdefault(c, {})
        node["$"] = True
    node = root
    for c in prefix:
        if c not in node:
            return []
        node = node[c]
    found = []

    def walk(node, path):
        for c, child in sorted(node.items()):
            if c == "$":
                found.append(prefix + path)
            else:
                walk(child, path + c)

    walk(node, "")
    return found


class Perceptron:
    def __init__(self, rate=0.1, epochs=10):
        self.rate, self.epochs = rate, epochs

    def fit(self, X, y):
        self.w, self.b = np.zeros(X.shape[1]), 0.0
        self.history = []
        for epoch in range(self.epochs):
            errors = 0
            for xi, t in zip(X, y):
                update = self.rate * (t - self.predict(xi))
                if update != 0:
                    self.w += update * xi
                    self.b += update
                    errors += 1
            self.history.append({"epoch": epoch, "errors": errors, "norm": float(np.linalg.norm(self.w))})
            if errors == 0:
                break
        return self

    def predict(self, x):
        return 1 if x @ self.w + self.b >= 0 else -1


@program(lambda rng: (X := rng.normal(size=(20, 2)), np.where(X[:, 0] + X[:, 1] > 0.1, 1, -1)))
def perceptron_history(X, y):
    model = Perceptron().fit(X, y)
    return model.w, model.b, model.history, [model.predict(x) for x in X]


@program(lambda rng: (rng.normal(size=(15, 2)), rng.integers(0, 3, 15), rng.normal(size=(4, 2))))
def knn_votes(X, y, queries):
    out = []
    for q in queries:
        near = heapq.nsmallest(5, ((float(((x - q) ** 2).sum()), int(c)) for x, c in zip(X, y)))
        votes = Counter(c for _, c in near)
        top = max(votes.values())
        out.append(min(c for c, n in votes.items() if n == top))
    return out


@program(lambda rng: (int(rng.integers(0, 99)), 200))
def dice_game(seed, n):
    r = random.Random(seed)
    wins = Counter()
    for _ in range(n):
        a, b = r.randint(1, 6), r.randint(1, 6)
        s = a + b
        if s in (7, 11):
            wins["natural"] += 1
        elif s in (2, 3, 12):
            wins["craps"] += 1
        else:
            point = s
            while True:
                s = r.randint(1, 6) + r.randint(1, 6)
                if s == point:
                    wins["point"] += 1
                    break
                if s == 7:
                    wins["seven"] += 1
                    break
    return dict(sorted(wins.items()))


@program(lambda rng: (np.sort(rng.uniform(0, 10, 6)), rng.normal(size=6), rng.uniform(1, 9, 4)))
def cubic_spline(x, y, at):
    n = len(x) - 1
    h = [x[i + 1] - x[i] for i in range(n)]
    alpha = [0.0] + [3 * ((y[i + 1] - y[i]) / h[i] - (y[i] - y[i - 1]) / h[i - 1]) for i in range(1, n)]
    l, mu, z = [1.0], [0.0], [0.0]
    for i in range(1, n):
        l.append(2 * (x[i + 1] - x[i - 1]) - h[i - 1] * mu[-1])
        mu.append(h[i] / l[-1])
        z.append((alpha[i] - h[i - 1] * z[-1]) / l[-1])
    c = [0.0] * (n + 1)
    b, d = [0.0] * n, [0.0] * n
    for j in reversed(range(n)):
        c[j] = z[j] - mu[j] * c[j + 1]
        b[j] = (y[j + 1] - y[j]) / h[j] - h[j] * (c[j + 1] + 2 * c[j]) / 3
        d[j] = (c[j + 1] - c[j]) / (3 * h[j])
    out = []
    for t in at:
        i = min(max(bisect.bisect_right(x, t) - 1, 0), n - 1)
        u = t - x[i]
        out.append(y[i] + b[i] * u + c[i] * u**2 + d[i] * u**3)
    return out


@program(lambda rng: (float(rng.uniform(0.5, 2)), 1e-4))
def adaptive_heun(y0, tol):
    def steps(f, t, y, end):
        h = 0.1
        while t < end:
            h = min(h, end - t)
            k1 = f(t, y)
            k2 = f(t + h, y + h * k1)
            err = abs(h * (k2 - k1) / 2)
            if err < tol:
                t, y = t + h, y + h * (k1 + k2) / 2
                yield t, y
            h *= min(2.0, max(0.3, 0.9 * math.sqrt(tol / (err + 1e-16))))

    path = list(steps(lambda t, y: -y * (1 + math.sin(t)), 0.0, y0, 2.0))
    return len(path), path[-1], max(b[0] - a[0] for a, b in zip(path, path[1:]))


@dataclass(order=True)
class Task:
    priority: int
    name: str = field(compare=False)
    cost: float = field(compare=False, default=1.0)


@program(lambda rng: (rng.integers(0, 5, 8), rng.uniform(1, 3, 8)))
def scheduler(priorities, costs):
    tasks = [Task(int(p), f"job{i}", float(c)) for i, (p, c) in enumerate(zip(priorities, costs))]
    clock, log = 0.0, []
    for task in sorted(tasks, reverse=True):
        clock += task.cost
        log.append((task.name, round(clock, 3)))
    urgent = max(tasks)
    return log, urgent.priority, [replace(t, cost=0.0).cost for t in tasks][:2]


@program(lambda rng: (float(rng.uniform(-0.2, 0.2)), 20))
def mandelbrot_text(shift, width):
    rows = []
    for i in range(7):
        row = ""
        for j in range(width):
            z, c = 0j, complex(-2 + 3 * j / width + shift, -1.2 + 0.4 * i)
            n = 0
            while abs(z) <= 2 and n < 20:
                z = z * z + c
                n += 1
            row += " .:-=+*#%@"[n // 2 - 1 if n else 0]
        rows.append(row)
    return "\n".join(rows)


@program(either(("attack at dawn", "LEMON", 3), ("hide the gold", "KEY", 7)))
def ciphers(text, key, shift):
    caesar = "".join(chr((ord(c) - 97 + shift) % 26 + 97) if c.isalpha() else c for c in text)
    ks = itertools.cycle(key.lower())
    vigenere = "".join(chr((ord(c) + ord(next(ks)) - 194) % 26 + 97) if c.isalpha() else c for c in text)
    table = str.maketrans(string.ascii_lowercase, string.ascii_lowercase[::-1])
    counts = Counter(c for c in text if c != " ")
    return caesar, vigenere, text.translate(table), counts.most_common(2)


@program(lambda rng: (rng.permutation(4), rng.integers(0, 2, (4, 4)) > 0))
def small_sudoku(perm, hidden):
    base = [[(2 * (r % 2) + r // 2 + c) % 4 for c in range(4)] for r in range(4)]
    grid = [[0 if hidden[r, c] else int(perm[base[r][c]]) + 1 for c in range(4)] for r in range(4)]
    tried = 0

    def options(r, c):
        used = set(grid[r]) | {grid[k][c] for k in range(4)}
        used |= {grid[i][j] for i in range(r // 2 * 2, r // 2 * 2 + 2) for j in range(c // 2 * 2, c // 2 * 2 + 2)}
        return [v for v in (1, 2, 3, 4) if v not in used]

    def solve():
        nonlocal tried
        for r in range(4):
            for c in range(4):
                if grid[r][c] == 0:
                    for v in options(r, c):
                        tried += 1
                        grid[r][c] = v
                        if solve():
                            return True
                        grid[r][c] = 0
                    return False
        return True

    return solve(), grid, tried


class Shelf:
    def __init__(self):
        self._items = {}
        self.opened = 0

    @property
    def total(self):
        return sum(self._items.values())

    def __setitem__(self, k, v):
        self._items[k] = v

    def __getitem__(self, k):
        return self._items.get(k, 0)

    def __contains__(self, k):
        return k in self._items

    def __len__(self):
        return len(self._items)


@program(lambda rng: (rng.integers(0, 5, 12), rng.integers(-3, 6, 12)))
def shelf_orders(kinds, amounts):
    shelf, names, refused = Shelf(), ["nut", "bolt", "cog", "pin", "cam"], []
    for k, a in zip(kinds, amounts):
        name = names[k]
        shelf.opened += 1
        try:
            if shelf[name] + a < 0:
                raise LookupError(name)
            shelf[name] = shelf[name] + int(a)
        except LookupError as e:
            refused.append(e.args[0])
        finally:
            shelf.opened -= 1
    return shelf.total, len(shelf), "nut" in shelf, refused, shelf.opened


@program(lambda rng: (int(rng.integers(4, 7)),))
def queens_generator(n):
    def place(rows):
        if len(rows) == n:
            yield rows
            return
        for c in range(n):
            if all(c != q and abs(c - q) != len(rows) - r for r, q in enumerate(rows)):
                yield from place(rows + (c,))

    boards = list(place(()))
    return len(boards), boards[:1]


CSV = ["name,qty,price\npen,3,1.5\nink,x,2\npad,4,0.25\n", "name,qty,price\ncup,1,9.5\nmug,2,y\nlid,8,0.5\n"]


@program(either((CSV[0],), (CSV[1],)))
def csv_totals(text):
    header, *lines = text.strip().split("\n")
    fields = header.split(",")
    total, errors = 0.0, []
    for number, line in enumerate(lines, 2):
        row = dict(zip(fields, line.split(",")))
        try:
            total += int(row["qty"]) * float(row["price"])
        except ValueError as e:
            errors.append((number, row["name"], str(e)))
    return total, errors


@program(lambda rng: (rng.permutation(9),))
def cycles_of_permutation(p):
    seen, cycles = set(), []
    for start in range(len(p)):
        if start in seen:
            continue
        cycle, k = [], start
        while k not in seen:
            seen.add(k)
            cycle.append(k)
            k = int(p[k])
        cycles.append(tuple(cycle))
    order = math.lcm(*(len(c) for c in cycles))
    (first, *others) = sorted(cycles, key=len, reverse=True)
    sign = (-1) ** sum(len(c) - 1 for c in cycles)
    return cycles, order, sign, first, len(others)
