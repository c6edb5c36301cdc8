"""Evenings at a table: an order book, a bank's queue, minesweeper, an agent in a grid world, and stumps that are boosted."""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict, deque
from dataclasses import dataclass, field

import numpy as np

from .registry import program


@dataclass
class Order:
    id: int
    side: str
    price: float
    qty: int


class OrderBook:
    def __init__(self):
        self.bids = []
        self.asks = []
        self.trades = []
        self.ids = itertools.count(1)

    def add(self, side, price, qty):
        order = Order(next(self.ids), side, price, qty)
        book, other, better = (
            (self.bids, self.asks, lambda p: p <= price) if side == "B" else (self.asks, self.bids, lambda p: p >= price)
        )
        while order.qty > 0 and other and better(other[0].price):
            top = other[0]
            q = min(order.qty, top.qty)
            self.trades.append((top.id, order.id, top.price, q))
            order.qty -= q
            top.qty -= q
            if top.qty == 0:
                other.pop(0)
        if order.qty > 0:
            book.append(order)
            book.sort(key=lambda o: (-o.price if side == "B" else o.price, o.id))
        return order.id

    def depth(self, n=3):
        agg = lambda book: [(o.price, o.qty) for o in book[:n]]
        return {"bids": agg(self.bids), "asks": agg(self.asks)}


@program(lambda rng: (rng.random(40), (100 + rng.normal(size=40)).round(1), rng.integers(1, 20, 40)))
def order_book(sides, prices, qtys):
    """Orders that meet those of the other side, of two books of which one is chosen."""
    ob = OrderBook()
    for s, p, q in zip(sides, prices, qtys):
        ob.add("B" if s < 0.5 else "S", float(p), int(q))
    vwap = sum(p * q for _, _, p, q in ob.trades) / max(1, sum(q for *_, q in ob.trades))
    print(len(ob.trades), "trades, vwap", round(vwap, 4))
    return ob.trades, ob.depth(), vwap


@dataclass(order=True)
class Event:
    time: float
    kind: str = field(compare=False)
    customer: int = field(compare=False, default=-1)


class Bank:
    def __init__(self, n_servers, seed):
        self.rng = np.random.default_rng(seed)
        self.events = []
        self.queue = deque()
        self.free = n_servers
        self.waits = []
        self.arrived = {}
        self.clock = 0.0
        self.area = 0.0
        self.last = 0.0

    def schedule(self, delay, kind, customer=-1):
        heapq.heappush(self.events, Event(self.clock + delay, kind, customer))

    def run(self, arrivals, mean_service):
        for i, a in enumerate(arrivals):
            heapq.heappush(self.events, Event(float(a), "arrive", i))
        while self.events:
            ev = heapq.heappop(self.events)
            self.clock = ev.time
            self.area += len(self.queue) * (self.clock - self.last)
            self.last = self.clock
            if ev.kind == "arrive":
                self.arrived[ev.customer] = self.clock
                self.queue.append(ev.customer)
            elif ev.kind == "depart":
                self.free += 1
            while self.free and self.queue:
                c = self.queue.popleft()
                self.free -= 1
                self.waits.append(self.clock - self.arrived[c])
                self.schedule(self.rng.exponential(mean_service), "depart", c)
        return self


@program(lambda rng: (rng.exponential(1.0, 40).cumsum(),))
def bank_queue(arrivals):
    """Customers in line for two tellers, by events."""
    b = Bank(2, 5).run(arrivals, 1.8)
    print(f"served {len(b.waits)}, mean wait {np.mean(b.waits):.3f}, Lq {b.area / b.clock:.3f}")
    return b.waits, b.clock, max(b.waits)


@program(lambda rng: (rng.random((8, 8)) < 0.15, [(0, 0), (7, 7), (3, 4)]))
def minesweeper(mines, clicks):
    """Fields that open their neighbours, and the board as text."""
    h, w = mines.shape
    padded = np.pad(mines.astype(int), 1)
    counts = sum(
        padded[1 + di : h + 1 + di, 1 + dj : w + 1 + dj] for di in (-1, 0, 1) for dj in (-1, 0, 1) if (di, dj) != (0, 0)
    )
    state = [["#"] * w for _ in range(h)]
    opened = 0
    for r, c in clicks:
        if mines[r, c]:
            state[r][c] = "*"
            print("BOOM at", (r, c))
            continue
        todo = deque([(r, c)])
        while todo:
            i, j = todo.popleft()
            if state[i][j] != "#":
                continue
            state[i][j] = str(counts[i, j]) if counts[i, j] else "."
            opened += 1
            if counts[i, j] == 0:
                for a in range(max(0, i - 1), min(h, i + 2)):
                    for b in range(max(0, j - 1), min(w, j + 2)):
                        if state[a][b] == "#":
                            todo.append((a, b))
    print("\n".join("".join(row) for row in state))
    return opened, opened == h * w - mines.sum()


class GridWorld:
    actions = [(-1, 0), (1, 0), (0, -1), (0, 1)]

    def __init__(self, grid):
        self.grid = grid
        self.rows, self.cols = grid.shape
        self.reset()

    def reset(self):
        self.pos = (0, 0)
        return self.pos

    def step(self, a):
        dr, dc = self.actions[a]
        r, c = self.pos[0] + dr, self.pos[1] + dc
        if 0 <= r < self.rows and 0 <= c < self.cols and self.grid[r, c] != 1:
            self.pos = (r, c)
        reward, done = -0.04, False
        if self.grid[self.pos] == 2:
            reward, done = 1.0, True
        elif self.grid[self.pos] == 3:
            reward, done = -1.0, True
        return self.pos, reward, done


class QAgent:
    def __init__(self, n_actions, alpha=0.5, gamma=0.9, eps=0.2, rng=None):
        self.q = defaultdict(lambda: np.zeros(n_actions))
        self.alpha, self.gamma, self.eps, self.rng, self.n = alpha, gamma, eps, rng, n_actions

    def act(self, s):
        if self.rng.random() < self.eps:
            return int(self.rng.integers(self.n))
        return int(np.argmax(self.q[s]))

    def learn(self, s, a, r, s2, done):
        target = r if done else r + self.gamma * np.max(self.q[s2])
        self.q[s][a] += self.alpha * (target - self.q[s][a])


def _grid(rng):
    g = np.zeros((4, 4), int)
    g[3, 3] = 2
    g[tuple(rng.integers(1, 3, 2))] = 3
    g[1, 0] = 1
    return g


@program(lambda rng: (_grid(rng),))
def q_learning(grid):
    """Values of states in a dict of arrays, and the policy, state by state."""
    env = GridWorld(grid)
    agent = QAgent(4, rng=np.random.default_rng(3))
    returns = []
    for ep in range(30):
        s, done, total, steps = env.reset(), False, 0.0, 0
        while not done and steps < 50:
            a = agent.act(s)
            s2, r, done = env.step(a)
            agent.learn(s, a, r, s2, done)
            s = s2
            total += r
            steps += 1
        returns.append(total)
        if (ep + 1) % 10 == 0:
            print(f"episode {ep + 1}: mean return {np.mean(returns[-10:]):.3f}")
    policy = {s: "UDLR"[int(np.argmax(q))] for s, q in sorted(agent.q.items())}
    return returns, policy


@dataclass
class Stump:
    feature: int
    threshold: float
    left: float
    right: float

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return np.where(X[:, self.feature] <= self.threshold, self.left, self.right)


@dataclass
class Booster:
    n_rounds: int = 10
    lr: float = 0.3
    stumps: list[Stump] = field(default_factory=list)
    base: float = 0.0

    def _fit_stump(self, X, r) -> Stump | None:
        best: Stump | None = None
        best_err = float("inf")
        for j in range(X.shape[1]):
            order = np.argsort(X[:, j], kind="stable")
            xs, rs = X[order, j], r[order]
            csum = np.cumsum(rs)
            total = csum[-1]
            n = len(rs)
            for i in range(1, n):
                if xs[i] == xs[i - 1]:
                    continue
                lm = csum[i - 1] / i
                rm = (total - csum[i - 1]) / (n - i)
                err = -(i * lm * lm + (n - i) * rm * rm)
                if err < best_err:
                    best_err = err
                    best = Stump(j, (xs[i] + xs[i - 1]) / 2, lm, rm)
        return best

    def fit(self, X, y):
        self.base = y.mean()
        pred = np.full(len(y), self.base)
        for m in range(self.n_rounds):
            s = self._fit_stump(X, y - pred)
            if s is None:
                break
            self.stumps.append(s)
            pred += self.lr * s(X)
            if m % 5 == 0:
                print(f"round {m}: mse={np.mean((y - pred) ** 2):.6f}")
        return self

    def predict(self, X):
        return self.base + self.lr * sum(s(X) for s in self.stumps)


@program(lambda rng: (rng.normal(size=(25, 3)).round(1), rng.normal(size=25)))
def boosted_stumps(X, y):
    """Stumps are added until there is no further one."""
    model = Booster(8).fit(X, y)
    importances = defaultdict(int)
    for s in model.stumps:
        importances[s.feature] += 1
    return model.predict(X), model.stumps, dict(sorted(importances.items()))
