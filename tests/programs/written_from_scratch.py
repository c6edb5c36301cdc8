"""Programs of many subjects as tutorials write them from scratch: hashes, molecules, agents, gradients, games, records."""

import collections
import itertools
import math
import struct

import numpy as np

from .registry import program


@program(lambda rng: (rng.integers(0, 2, (12, 17)).astype(np.int8), 30))
def wireworld(grid, steps):
    EMPTY, HEAD, TAIL, COND = range(4)
    cells = np.where(grid == 1, COND, EMPTY)
    cells[3, 3], cells[3, 4] = HEAD, TAIL
    history = collections.Counter()
    for step in range(steps):
        padded = np.pad(cells == HEAD, 1).astype(int)
        neighbours = sum(
            np.roll(np.roll(padded, dy, 0), dx, 1) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)
        )[1:-1, 1:-1]
        new = cells.copy()
        new[cells == HEAD] = TAIL
        new[cells == TAIL] = COND
        new[(cells == COND) & ((neighbours == 1) | (neighbours == 2))] = HEAD
        if (new == cells).all():
            break
        cells = new
        history[int((cells == HEAD).sum())] += 1
    rows = ["".join(" @~."[v] for v in row) for row in cells]
    print("\n".join(rows))
    return cells, dict(history), step


class Agent:
    count = 0

    def __init__(self, position, rng):
        self.position = np.array(position, dtype=float)
        self.rng = rng
        self.energy = 10.0
        self.alive = True
        type(self).count += 1

    def act(self, world):
        self.position += self.rng.normal(0, 1, 2)
        np.clip(self.position, 0, world.size - 1, out=self.position)
        self.energy -= 0.5
        i, j = self.position.astype(int)
        if world.food[i, j] > 0:
            self.energy += world.food[i, j]
            world.food[i, j] = 0
        if self.energy <= 0:
            self.alive = False


class Predator(Agent):
    def act(self, world):
        super().act(world)
        for other in world.agents:
            if other is not self and other.alive and not isinstance(other, Predator):
                if np.abs(other.position - self.position).max() < 1.0:
                    other.alive = False
                    self.energy += 5
                    break


class World:
    def __init__(self, food, seed):
        self.food = food.astype(float)
        self.size = len(food)
        rng = np.random.default_rng(seed)
        self.agents = [Agent(rng.uniform(0, self.size, 2), rng) for _ in range(5)] + [Predator((1, 1), rng)]

    def run(self, steps):
        for _ in range(steps):
            for agent in self.agents:
                if agent.alive:
                    agent.act(self)
            yield sum(a.alive for a in self.agents)


@program(lambda rng: (rng.integers(0, 3, (8, 8)), int(rng.integers(0, 100))))
def agents_with_inheritance(food, seed):
    world = World(food, seed)
    alive = list(world.run(12))
    return alive, [round(a.energy, 3) for a in world.agents], world.food


@program(lambda rng: (bytes(rng.integers(32, 127, 60).astype(np.uint8)),))
def sha256_in_numpy(message):
    def primes(n):
        out, k = [], 2
        while len(out) < n:
            if all(k % p for p in out):
                out.append(k)
            k += 1
        return out

    p = np.array(primes(64), dtype=float)
    K = ((np.cbrt(p) % 1) * 2**32).astype(np.uint32)
    H = ((np.sqrt(p[:8]) % 1) * 2**32).astype(np.uint32)
    data = bytearray(message)
    length = len(data) * 8
    data.append(0x80)
    while len(data) % 64 != 56:
        data.append(0)
    data += struct.pack(">Q", length)
    rotr = lambda x, n: (x >> np.uint32(n)) | (x << np.uint32(32 - n))
    for block in np.frombuffer(bytes(data), dtype=">u4").astype(np.uint32).reshape(-1, 16):
        w = np.zeros(64, np.uint32)
        w[:16] = block
        for i in range(16, 64):
            s0 = rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ (w[i - 15] >> np.uint32(3))
            s1 = rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ (w[i - 2] >> np.uint32(10))
            w[i] = w[i - 16] + s0 + w[i - 7] + s1
        a, b, c, d, e, f, g, h = H
        for i in range(64):
            S1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)
            ch = (e & f) ^ (~e & g)
            t1 = h + S1 + ch + K[i] + w[i]
            S0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)
            maj = (a & b) ^ (a & c) ^ (b & c)
            h, g, f, e, d, c, b, a = g, f, e, d + t1, c, b, a, t1 + S0 + maj
        H = H + np.array([a, b, c, d, e, f, g, h])
    return "".join(f"{int(v):08x}" for v in H)


class Tensor:
    """micrograd with arrays."""

    def __init__(self, data, children=(), op=""):
        self.data = np.asarray(data, dtype=float)
        self.grad = np.zeros_like(self.data)
        self._backward = lambda: None
        self._prev = set(children)
        self._op = op

    def __add__(self, other):
        other = other if isinstance(other, Tensor) else Tensor(other)
        out = Tensor(self.data + other.data, (self, other), "+")

        def _backward():
            self.grad = self.grad + out.grad
            g = out.grad
            while g.ndim > other.data.ndim:
                g = g.sum(axis=0)
            other.grad = other.grad + g

        out._backward = _backward
        return out

    def __matmul__(self, other):
        out = Tensor(self.data @ other.data, (self, other), "@")

        def _backward():
            self.grad = self.grad + out.grad @ other.data.T
            other.grad = other.grad + self.data.T @ out.grad

        out._backward = _backward
        return out

    def tanh(self):
        t = np.tanh(self.data)
        out = Tensor(t, (self,), "tanh")

        def _backward():
            self.grad = self.grad + (1 - t**2) * out.grad

        out._backward = _backward
        return out

    def square_mean(self):
        out = Tensor((self.data**2).mean(), (self,), "mean")

        def _backward():
            self.grad = self.grad + 2 * self.data / self.data.size * out.grad

        out._backward = _backward
        return out

    def backward(self):
        topo, visited = [], set()

        def build(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build(child)
                topo.append(v)

        build(self)
        self.grad = np.ones_like(self.data)
        for v in reversed(topo):
            v._backward()


@program(lambda rng: (rng.normal(size=(16, 3)), rng.normal(size=(16, 1))))
def autograd_training(X, y):
    rng = np.random.default_rng(3)
    W1, b1 = Tensor(rng.normal(0, 0.5, (3, 8))), Tensor(np.zeros(8))
    W2 = Tensor(rng.normal(0, 0.5, (8, 1)))
    losses = []
    for epoch in range(6):
        out = (Tensor(X) @ W1 + b1).tanh() @ W2
        loss = (out + Tensor(-y)).square_mean()
        for p in (W1, b1, W2):
            p.grad = np.zeros_like(p.data)
        loss.backward()
        for p in (W1, b1, W2):
            p.data = p.data - 0.1 * p.grad
        losses.append(float(loss.data))
        if epoch % 2 == 0:
            print(f"epoch {epoch}: {loss.data:.5f}")
    return losses, W1.data


@program(lambda rng: (rng.normal(size=(12, 3)) * 1.5, rng.integers(0, 3, 12)))
def molecule_bonds(xyz, kinds):
    symbols = np.array(["H", "C", "O"])
    radii = np.array([0.31, 0.76, 0.66])
    d = np.linalg.norm(xyz[:, None, :] - xyz[None, :, :], axis=-1)
    limit = 1.3 * (radii[kinds][:, None] + radii[kinds][None])
    bonded = (d < limit) & ~np.eye(len(xyz), dtype=bool)
    adjacency = {i: np.flatnonzero(bonded[i]).tolist() for i in range(len(xyz))}
    angles = []
    for j, neighbours in adjacency.items():
        for i, k in itertools.combinations(neighbours, 2):
            u, v = xyz[i] - xyz[j], xyz[k] - xyz[j]
            angles.append(np.degrees(np.arccos(u @ v / np.linalg.norm(u) / np.linalg.norm(v))))
    seen, fragments = set(), []
    for start in adjacency:
        if start in seen:
            continue
        stack, fragment = [start], []
        while stack:
            a = stack.pop()
            if a in seen:
                continue
            seen.add(a)
            fragment.append(a)
            stack.extend(adjacency[a])
        fragments.append(sorted(fragment))
    formula = collections.Counter(symbols[kinds].tolist())
    print("".join(f"{e}{n}" for e, n in sorted(formula.items())))
    masses = np.array([1.008, 12.011, 15.999])[kinds]
    com = np.average(xyz, axis=0, weights=masses)
    r = xyz - com
    inertia = np.einsum("i,ij,ik->jk", masses, r, r)
    inertia = np.trace(inertia) * np.eye(3) - inertia
    return fragments, np.round(angles, 4), np.linalg.eigvalsh(inertia)


@program(lambda rng: (rng.integers(18, 80, 12), np.round(rng.normal(70, 12, 12), 1)))
def structured_people(ages, weights):
    people = np.zeros(len(ages), dtype=[("age", "i4"), ("weight", "f8"), ("group", "u1")])
    people["age"] = ages
    people["weight"] = weights
    people["group"] = people["age"] // 20
    order = np.argsort(people["age"], kind="stable")
    by_age = people[order]
    means = {}
    for g in np.unique(people["group"]):
        of_group = people[people["group"] == g]
        means[int(g)] = (len(of_group), round(float(of_group["weight"].mean()), 3))
    oldest = by_age[-1]
    print(f"oldest {oldest['age']} weighs {oldest['weight']:.4f}")
    return by_age["weight"], means, by_age["age"].tolist()


@program(lambda rng: (rng.integers(0, 2, (6, 7)) * 0, rng.integers(0, 7, 30)))
def connect_four(board, moves):
    def wins(b, player):
        for r in range(b.shape[0]):
            for c in range(b.shape[1]):
                for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1)):
                    cells = [(r + k * dr, c + k * dc) for k in range(4)]
                    if all(0 <= y < b.shape[0] and 0 <= x < b.shape[1] and b[y, x] == player for y, x in cells):
                        return True
        return False

    def drop(b, column, player):
        for row in reversed(range(b.shape[0])):
            if b[row, column] == 0:
                b[row, column] = player
                return row
        raise ValueError(f"column {column} is full")

    player, played = 1, []
    for column in moves:
        try:
            row = drop(board, column, player)
        except ValueError as e:
            print(e)
            continue
        played.append((row, int(column)))
        if wins(board, player):
            print(f"player {player} wins")
            break
        player = 3 - player
    else:
        print("nobody wins")
    for line in board:
        print("|" + "|".join({0: " ", 1: "X", 2: "O"}[int(v)] for v in line) + "|")
    return board, played


@program(lambda rng: (rng.integers(1, 20, (5, 5)),))
def hungarian(cost):
    n = len(cost)
    u, v = np.zeros(n + 1), np.zeros(n + 1)
    p, way = np.zeros(n + 1, dtype=int), np.zeros(n + 1, dtype=int)
    for i in range(1, n + 1):
        p[0] = i
        j0 = 0
        minv = np.full(n + 1, np.inf)
        used = np.zeros(n + 1, dtype=bool)
        while True:
            used[j0] = True
            i0, delta, j1 = p[j0], np.inf, -1
            for j in range(1, n + 1):
                if not used[j]:
                    cur = cost[i0 - 1, j - 1] - u[i0] - v[j]
                    if cur < minv[j]:
                        minv[j], way[j] = cur, j0
                    if minv[j] < delta:
                        delta, j1 = minv[j], j
            for j in range(n + 1):
                if used[j]:
                    u[p[j]] += delta
                    v[j] -= delta
                else:
                    minv[j] -= delta
            j0 = j1
            if p[j0] == 0:
                break
        while j0:
            j1 = way[j0]
            p[j0] = p[j1]
            j0 = j1
    assignment = {int(p[j]) - 1: j - 1 for j in range(1, n + 1)}
    return assignment, -v[0], sum(int(cost[i, j]) for i, j in assignment.items())


@program(lambda rng: (rng.exponential(10, 30), rng.integers(0, 2, 30), rng.integers(0, 2, 30)))
def kaplan_meier(times, events, arms):
    out = {}
    for arm in (0, 1):
        t, e = times[arms == arm], events[arms == arm]
        order = np.argsort(t)
        t, e = t[order], e[order]
        n = len(t)
        at_risk = n - np.arange(n)
        s = np.cumprod(1 - e / at_risk)
        var = s**2 * np.cumsum(e / np.maximum(at_risk * (at_risk - e), 1))
        below = np.flatnonzero(s <= 0.5)
        median = float(t[below[0]]) if below.size else math.inf
        out[f"arm {arm}"] = {"median": median, "last": (s[-1], var[-1]) if n else None}
    print(f"{out['arm 0']['median']:.6f}")
    return out
