"""Programs of people who know NumPy alone: games, puzzles, plans, machines of states, records, generators."""

import heapq
import math
import operator
from collections import defaultdict, deque
from dataclasses import asdict, dataclass, field, replace
from enum import Enum, Flag, IntEnum, auto
from functools import cached_property, partial, reduce, total_ordering
from itertools import pairwise, starmap, zip_longest

import numpy as np

from .registry import program


class Kind(Enum):
    ARRIVE = auto()
    LEAVE = auto()


@dataclass(order=True)
class Event:
    time: float
    seq: int
    kind: Kind = field(compare=False)


@program(lambda rng: (np.cumsum(rng.exponential(1, 12)), rng.exponential(0.8, 12)))
def single_server(arrivals, services):
    events = []
    for k, t in enumerate(arrivals):
        heapq.heappush(events, Event(t, k, Kind.ARRIVE))
    queue = deque()
    busy = False
    seq = len(arrivals)
    waits = []
    served = 0
    while events:
        e = heapq.heappop(events)
        if e.kind is Kind.ARRIVE:
            queue.append(e.time)
        else:
            busy = False
        if queue and not busy:
            t0 = queue.popleft()
            waits.append(e.time - t0)
            heapq.heappush(events, Event(e.time + services[served], seq, Kind.LEAVE))
            seq += 1
            served += 1
            busy = True
    return np.mean(waits), max(waits), served


@total_ordering
class Money:
    def __init__(self, cents):
        self.cents = cents

    def __lt__(self, o):
        return self.cents < o.cents

    def __eq__(self, o):
        return self.cents == o.cents

    def __add__(self, o):
        return Money(self.cents + (o.cents if isinstance(o, Money) else o))

    __radd__ = __add__

    def __str__(self):
        return f"{self.cents / 100:.2f}"


@program(lambda rng: (rng.integers(1, 500, 6),))
def wallet(cents):
    coins = [Money(int(c)) for c in cents]
    total = sum(coins)
    largest = max(coins)
    coins.sort()
    print(total, largest, *coins, sep=" | ")
    return total.cents, largest >= coins[0], coins[0].cents


@program(lambda rng: (rng.integers(1, 9, 10), 3))
def list_scheduling(durations, machines):
    free = [(0, m) for m in range(machines)]
    heapq.heapify(free)
    plan = {m: [] for m in range(machines)}
    for j in np.argsort(-durations, kind="stable"):
        t, m = heapq.heappop(free)
        plan[m].append(int(j))
        heapq.heappush(free, (t + durations[j], m))
    makespan = max(t for t, _ in free)
    return makespan, plan


class Cell(IntEnum):
    EMPTY = 0
    X = 1
    O = 2


@program(lambda rng: (rng.permutation(9),))
def tic_tac_toe_replay(moves):
    board = np.full((3, 3), Cell.EMPTY)
    lines = [[(r, c) for c in range(3)] for r in range(3)] + [[(r, c) for r in range(3)] for c in range(3)]
    lines += [[(i, i) for i in range(3)], [(i, 2 - i) for i in range(3)]]
    winner = None
    for turn, mv in enumerate(moves):
        who = Cell.X if turn % 2 == 0 else Cell.O
        board[divmod(mv, 3)] = who
        for line in lines:
            if all(board[p] == who for p in line):
                winner = who
                break
        if winner is not None:
            break
    for row in board:
        print("".join(".XO"[v] for v in row))
    return winner.name if winner is not None else "draw", turn + 1, board


@program(lambda rng: (rng.integers(0, 2, (4, 4)) * 2 ** rng.integers(1, 4, (4, 4)),))
def slide_2048(board):
    score = 0
    out = np.zeros_like(board)
    for r, row in enumerate(board):
        vals = [v for v in row if v != 0]
        merged = []
        while vals:
            v = vals.pop(0)
            if vals and vals[0] == v:
                v *= 2
                vals.pop(0)
                score += v
            merged.append(v)
        out[r, : len(merged)] = merged
    return out, score, (out == 0).sum()


@program(lambda rng: (42, 40))
def reservoir(seed, n):
    rng = np.random.default_rng(seed)
    sample = []
    for i, item in enumerate(rng.integers(0, 1000, n)):
        if len(sample) < 5:
            sample.append(int(item))
        else:
            j = rng.integers(0, i + 1)
            if j < 5:
                sample[j] = int(item)
    return sample, rng.choice(["a", "b", "c"], p=[0.2, 0.5, 0.3]), rng.standard_normal(2).round(3)


@program(lambda rng: (rng.integers(0, 3, (9, 9)), 5))
def rock_paper_scissors(grid, steps):
    g = grid.copy()
    for s in range(steps):
        new = g.copy()
        for (i, j), v in np.ndenumerate(g):
            beats = (v + 1) % 3
            k = 0
            for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                if g[(i + di) % 9, (j + dj) % 9] == beats:
                    k += 1
            if k >= 2:
                new[i, j] = beats
        if np.array_equal(new, g):
            break
        g = new
    return g, np.bincount(g.ravel(), minlength=3), s


class Perm(Flag):
    R = 1
    W = 2
    X = 4


@program(lambda rng: (rng.integers(0, 8, 6),))
def permissions(codes):
    out = []
    for c in codes:
        p = Perm(int(c))
        out.append(("r" if Perm.R in p else "-") + ("w" if p & Perm.W else "-") + ("x" if p & Perm.X else "-"))
    return out, reduce(lambda a, b: a | b, (int(c) for c in codes))


@dataclass(frozen=True)
class State:
    x: float
    v: float
    n: int = 0

    def advance(self, dt):
        return replace(self, x=self.x + dt * self.v, v=self.v - dt * self.x, n=self.n + 1)


@program(lambda rng: (rng.normal(), rng.normal(), 30))
def frozen_states(x, v, n):
    s = State(x, v)
    hist = [s]
    for _ in range(n):
        s = s.advance(0.01)
        hist.append(s)
    return s, asdict(hist[3]), max(hist, key=lambda q: abs(q.x)).n


def windows(x, n):
    for i in range(len(x) - n + 1):
        yield x[i : i + n]


def running(gen):
    total = 0
    for k, v in enumerate(gen, 1):
        total = total + v
        yield total / k


@program(lambda rng: (rng.normal(size=16), 4))
def generator_pipeline(x, n):
    smooth = list(running(w.mean() for w in windows(x, n)))
    first = next((i for i, v in enumerate(smooth) if v < 0), None)
    ups = sum(b > a for a, b in pairwise(smooth))
    return np.array(smooth), first, ups


class Poly:
    def __init__(self, c):
        self.c = np.trim_zeros(np.atleast_1d(np.asarray(c, float)), "b")

    def __call__(self, x):
        return reduce(lambda acc, a: acc * x + a, self.c[::-1], 0.0)

    def __add__(self, o):
        n = max(len(self.c), len(o.c))
        r = np.zeros(n)
        r[: len(self.c)] += self.c
        r[: len(o.c)] += o.c
        return Poly(r)

    def __mul__(self, o):
        return Poly(np.convolve(self.c, o.c))

    def __getitem__(self, k):
        return self.c[k] if k < len(self.c) else 0.0

    @cached_property
    def degree(self):
        return len(self.c) - 1

    def deriv(self):
        return Poly(self.c[1:] * np.arange(1, len(self.c)))


@program(lambda rng: (rng.normal(size=4), rng.normal(size=3), rng.normal()))
def poly_class(a, b, x):
    p, q = Poly(a), Poly(b)
    r = p * q + p
    return r.c, r(x), r.deriv()(x), r.degree, r[2], r[99]


@program(lambda rng: (rng.integers(2, 60, 9),))
def partial_and_map(n):
    is_div = lambda d, m: m % d == 0
    tests = [partial(is_div, d) for d in (2, 3, 5)]
    kinds = [tuple(t(int(m)) for t in tests) for m in n]
    g = reduce(math.gcd, map(int, n))
    prods = list(starmap(operator.mul, zip(n, n[1:])))
    padded = list(zip_longest([int(v) for v in n[:2]], [1, 2, 3], fillvalue=0))
    return kinds, g, prods, padded


@program(lambda rng: (rng.integers(-3, 4, 8),))
def safe_division(x):
    out, errors = [], 0
    for v in x:
        try:
            if v < -2:
                raise KeyError(int(v))
            out.append(10 // int(v))
        except ZeroDivisionError:
            out.append(None)
            errors += 1
        except KeyError as e:
            out.append(str(e))
        finally:
            errors += 100
    return out, errors


@program(lambda rng: (rng.integers(0, 4, 20), np.array([10, 20, 30, 40])))
def state_machine(symbols, costs):
    table = {("idle", 0): "idle", ("idle", 1): "run", ("run", 2): "idle", ("run", 3): "stop"}
    state, total, visits = "idle", 0, defaultdict(int)
    for s in symbols:
        state = table.get((state, int(s)), state)
        visits[state] += 1
        total += costs[s] if state == "run" else 0
        if state == "stop":
            break
    return state, total, dict(visits)


@program(lambda rng: (rng.integers(0, 10, 6),))
def rpn(numbers):
    tokens = [str(n) for n in numbers] + ["+", "*", "-", "+", "*"]
    stack = []
    ops = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}
    for t in tokens:
        if t in ops:
            b, a = stack.pop(), stack.pop()
            stack.append(ops[t](a, b))
        else:
            stack.append(float(t))
    return stack[0]


class Matrix:
    def __init__(self, rows):
        self.rows = [list(r) for r in rows]

    @property
    def shape(self):
        return len(self.rows), len(self.rows[0])

    def __matmul__(self, o):
        n, k = self.shape
        _, m = o.shape
        return Matrix([[sum(self.rows[i][t] * o.rows[t][j] for t in range(k)) for j in range(m)] for i in range(n)])

    def __getitem__(self, ij):
        i, j = ij
        return self.rows[i][j]

    def __setitem__(self, ij, v):
        self.rows[ij[0]][ij[1]] = v

    def __iter__(self):
        return iter(self.rows)

    def __pow__(self, n):
        r = Matrix([[float(i == j) for j in range(len(self.rows))] for i in range(len(self.rows))])
        b = self
        while n:
            if n & 1:
                r = r @ b
            b = b @ b
            n >>= 1
        return r

    @property
    def T(self):
        return Matrix(zip(*self.rows))


@program(lambda rng: (rng.normal(size=(3, 3)), 5))
def matrix_class(a, n):
    m = Matrix(a)
    m[0, 1] = 2.0
    p = m**n
    return [list(r) for r in p], p.T[0, 2], m.shape


@program(lambda rng: (rng.integers(0, 2**62, 6), 1_000_003))
def big_modular(xs, m):
    h = 0
    for x in xs:
        h = (h * 31 + int(x)) % m
    p = 1
    for x in xs:
        p *= int(x)
    return h, p % m, p.bit_length(), hex(p)[:6]


@program(lambda rng: (rng.integers(0, 9, 30), 4))
def sliding_maximum(x, k):
    dq, out = deque(), []
    for i, v in enumerate(x):
        while dq and x[dq[-1]] <= v:
            dq.pop()
        dq.append(i)
        if dq[0] <= i - k:
            dq.popleft()
        if i >= k - 1:
            out.append(x[dq[0]])
    return out
