"""Groups of things: pivots, inventories, events, classifiers, generations."""

import bisect
import heapq
import itertools
import math
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field

import numpy as np

from .registry import program

Sale = namedtuple("Sale", "region product units price")


@program(
    lambda rng: (
        [
            Sale(["north", "south", "west"][int(r)], ["tea", "coffee"][int(p)], int(u), float(x))
            for r, p, u, x in zip(
                rng.integers(0, 3, 10), rng.integers(0, 2, 10), rng.integers(-2, 9, 10), rng.uniform(2, 9, 10)
            )
        ],
    )
)
def sales_pivot(sales):
    table = defaultdict(lambda: defaultdict(float))
    returns = defaultdict(list)
    for s in sales:
        if s.units < 0:
            returns[s.region].append(s)
            continue
        table[s.region][s.product] += s.units * s.price
    totals = {r: sum(row.values()) for r, row in table.items()}
    ranked = sorted(totals, key=totals.get, reverse=True)
    lines = [f"{r:<6}" + "".join(f"{table[r].get(p, 0.0):>10.2f}" for p in ("tea", "coffee")) for r in ranked]
    return lines, {r: len(v) for r, v in returns.items()}


class Inventory:
    def __init__(self, reorder=5):
        self.stock = Counter()
        self.backlog = OrderedDict()
        self.events = []
        self.reorder = reorder

    def receive(self, item, n):
        self.stock[item] += n
        if item in self.backlog:
            served = min(self.backlog[item], self.stock[item])
            self.stock[item] -= served
            self.backlog[item] -= served
            if not self.backlog[item]:
                del self.backlog[item]

    def sell(self, item, n):
        have = self.stock[item]
        if have >= n:
            self.stock[item] -= n
        else:
            self.stock[item] = 0
            self.backlog[item] = self.backlog.get(item, 0) + n - have
            self.events.append((item, n - have))
        if self.stock[item] < self.reorder:
            self.events.append((item, "low"))


@program(lambda rng: ([("abc"[int(i)], int(n)) for i, n in zip(rng.integers(0, 3, 12), rng.integers(-7, 8, 12))],))
def inventory_events(moves):
    inv = Inventory(2)
    for item, n in moves:
        if n >= 0:
            inv.receive(item, n)
        else:
            inv.sell(item, -n)
    return dict(inv.stock), dict(inv.backlog), inv.events


@program(lambda rng: (rng.integers(0, 256, (14, 16)).astype(np.uint8),))
def canny_like(image):
    """Sobel, suppression, hysteresis with a stack, on uint8."""
    img = image.astype(float)
    kx = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    pad = np.pad(img, 1, mode="edge")
    gx = sum(kx[i, j] * pad[i : i + img.shape[0], j : j + img.shape[1]] for i in range(3) for j in range(3))
    gy = sum(kx.T[i, j] * pad[i : i + img.shape[0], j : j + img.shape[1]] for i in range(3) for j in range(3))
    mag = np.hypot(gx, gy)
    angle = (np.rad2deg(np.arctan2(gy, gx)) + 180) % 180
    thin = np.zeros_like(mag)
    h, w = mag.shape
    for r in range(1, h - 1):
        for c in range(1, w - 1):
            a = angle[r, c]
            if a < 22.5 or a >= 157.5:
                n1, n2 = mag[r, c - 1], mag[r, c + 1]
            elif a < 67.5:
                n1, n2 = mag[r - 1, c + 1], mag[r + 1, c - 1]
            elif a < 112.5:
                n1, n2 = mag[r - 1, c], mag[r + 1, c]
            else:
                n1, n2 = mag[r - 1, c - 1], mag[r + 1, c + 1]
            if mag[r, c] >= n1 and mag[r, c] >= n2:
                thin[r, c] = mag[r, c]
    hi, lo = np.percentile(mag, [90, 70])
    edges = np.zeros((h, w), np.uint8)
    stack = [tuple(p) for p in np.argwhere(thin > hi)]
    while stack:
        r, c = stack.pop()
        if edges[r, c]:
            continue
        edges[r, c] = 255
        for dr, dc in itertools.product((-1, 0, 1), repeat=2):
            rr, cc = r + dr, c + dc
            if 0 <= rr < h and 0 <= cc < w and not edges[rr, cc] and thin[rr, cc] > lo:
                stack.append((rr, cc))
    return edges, (edges > 0).sum()


@dataclass(order=True)
class Event:
    time: float
    kind: str = field(compare=False)
    who: int = field(compare=False, default=-1)


@program(lambda rng: (rng.exponential(1.0, 10), rng.exponential(1.5, 10)))
def event_queue(gaps, services):
    """Discrete events in a heap of ordered dataclasses."""
    events = [Event(float(t), "arrive", i) for i, t in enumerate(np.cumsum(gaps))]
    heapq.heapify(events)
    waiting, busy, log = deque(), False, []
    left = {}
    while events:
        e = heapq.heappop(events)
        if e.kind == "arrive":
            if busy:
                waiting.append(e.who)
            else:
                busy = True
                heapq.heappush(events, Event(e.time + services[e.who], "leave", e.who))
        else:
            left[e.who] = e.time
            if waiting:
                nxt = waiting.popleft()
                heapq.heappush(events, Event(e.time + services[nxt], "leave", nxt))
            else:
                busy = False
        log.append(len(waiting))
    return left, max(log), sum(log) / len(log)


class Vec(tuple):
    def __new__(cls, x, y):
        return super().__new__(cls, (x, y))

    def __add__(self, o):
        return Vec(self[0] + o[0], self[1] + o[1])

    def __mul__(self, k):
        return Vec(self[0] * k, self[1] * k)

    __rmul__ = __mul__

    def __abs__(self):
        return math.hypot(*self)


@program(lambda rng: ("".join("URDL"[i] for i in rng.integers(0, 4, 30)),))
def rope_and_turtle(moves):
    steps = {"U": (0, 1), "D": (0, -1), "L": (-1, 0), "R": (1, 0)}
    knots = [[0, 0] for _ in range(4)]
    seen = {(0, 0)}
    for m in moves:
        dx, dy = steps[m]
        knots[0][0] += dx
        knots[0][1] += dy
        for head, tail in zip(knots, knots[1:]):
            ex, ey = head[0] - tail[0], head[1] - tail[1]
            if max(abs(ex), abs(ey)) > 1:
                tail[0] += (ex > 0) - (ex < 0)
                tail[1] += (ey > 0) - (ey < 0)
        seen.add(tuple(knots[-1]))
    return len(seen), knots


@program(lambda rng: (rng.normal(size=(6, 2)), rng.normal(size=(6, 2)), rng.uniform(0.5, 2, 6)))
def planets_with_vectors(p, v, m):
    bodies = [{"p": Vec(*a), "v": Vec(*b), "m": c} for a, b, c in zip(p.tolist(), v.tolist(), m.tolist())]
    for _ in range(3):
        for a in bodies:
            f = Vec(0.0, 0.0)
            for b in bodies:
                if a is not b:
                    d = b["p"] + -1 * a["p"]
                    f = f + (b["m"] / (abs(d) ** 3 + 0.1)) * d
            a["v"] = a["v"] + 0.01 * f
        for a in bodies:
            a["p"] = a["p"] + 0.01 * a["v"]
    return [tuple(b["p"]) for b in bodies], sum(0.5 * b["m"] * abs(b["v"]) ** 2 for b in bodies)


@program(lambda rng: (rng.integers(0, 3, (5, 14)), rng.random(14)))
def naive_bayes_dicts(X, y):
    labels = ["yes" if v > 0.5 else "no" for v in y]
    counts = defaultdict(Counter)
    classes = Counter(labels)
    for row, label in zip(X.T, labels):
        for i, value in enumerate(row):
            counts[label][i, int(value)] += 1
    predictions = []
    for row in X.T:
        scores = {}
        for label, n in classes.items():
            s = math.log(n / len(labels))
            for i, value in enumerate(row):
                s += math.log((counts[label][i, int(value)] + 1) / (n + 3))
            scores[label] = s
        predictions.append(max(scores, key=scores.get))
    return sum(a == b for a, b in zip(predictions, labels)) / len(labels), classes


@program(lambda rng: (rng.random(8), rng.random((8, 8))))
def genetic_knapsack(values, draws):
    @dataclass
    class Genome:
        bits: list
        fitness: float = 0.0

    n = len(values)
    weights = [1 + (i * 7) % 5 for i in range(n)]
    population = [Genome([int(d > 0.5) for d in row]) for row in draws]
    for generation in range(4):
        for g in population:
            w = sum(a * b for a, b in zip(g.bits, weights))
            g.fitness = sum(a * b for a, b in zip(g.bits, values)) if w <= 2 * n else 0.0
        population.sort(key=lambda g: g.fitness, reverse=True)
        parents = population[: n // 2]
        children = []
        for i in range(n - len(parents)):
            a, b = parents[i % len(parents)], parents[(i * 3 + 1) % len(parents)]
            cut = 1 + (i + generation) % (n - 1)
            bits = a.bits[:cut] + b.bits[cut:]
            if draws[i, generation] < 0.3:
                bits[cut] = 1 - bits[cut]
            children.append(Genome(bits))
        population = parents + children
    best = max(population, key=lambda g: g.fitness)
    return best.fitness, best.bits


@program(
    lambda rng: (
        [
            (float(a), float(a + b), float(c))
            for a, b, c in zip(rng.uniform(0, 20, 8), rng.uniform(1, 6, 8), rng.uniform(1, 9, 8))
        ],
    )
)
def weighted_intervals(jobs):
    jobs = sorted(jobs, key=lambda j: j[1])
    ends = [j[1] for j in jobs]
    best, take = [0.0], []
    for i, (s, e, w) in enumerate(jobs):
        p = bisect.bisect_right(ends, s, 0, i)
        if best[p] + w > best[i]:
            best.append(best[p] + w)
            take.append(p)
        else:
            best.append(best[i])
            take.append(None)
    chosen, i = [], len(jobs)
    while i > 0:
        if take[i - 1] is not None:
            chosen.append(i - 1)
            i = take[i - 1]
        else:
            i -= 1
    return best[-1], chosen[::-1]
