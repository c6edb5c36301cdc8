"""What is handed in: physics, signals, images, money and small networks, written with classes and lists of layers."""

import functools
import itertools
import math
import operator
from collections import deque, namedtuple
from dataclasses import dataclass

import numpy as np

from .registry import program


class Dense:
    def __init__(self, rng, inputs, outputs):
        self.w = rng.normal(0, 0.5, (inputs, outputs))
        self.b = np.zeros(outputs)

    def forward(self, x):
        self.x = x
        return x @ self.w + self.b

    def backward(self, grad):
        self.dw, self.db = self.x.T @ grad, grad.sum(axis=0)
        return grad @ self.w.T

    def parameters(self):
        return [(self.w, self.dw), (self.b, self.db)]


class Tanh:
    def forward(self, x):
        self.y = np.tanh(x)
        return self.y

    def backward(self, grad):
        return grad * (1 - self.y**2)

    def parameters(self):
        return []


class Sequential:
    def __init__(self, *layers):
        self.layers = layers

    def __call__(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def backward(self, grad):
        for layer in reversed(self.layers):
            grad = layer.backward(grad)

    def parameters(self):
        for layer in self.layers:
            yield from layer.parameters()


class Momentum:
    def __init__(self, rate, beta=0.9):
        self.rate, self.beta = rate, beta
        self.velocity = {}

    def step(self, parameters):
        for k, (p, g) in enumerate(parameters):
            v = self.velocity.get(k, np.zeros_like(p))
            v = self.beta * v - self.rate * g
            self.velocity[k] = v
            p += v


@program(lambda rng: (rng.uniform(-1, 1, (16, 2)), int(rng.integers(100)), 12))
def layers_with_momentum(x, seed, epochs):
    rng = np.random.default_rng(seed)
    y = (x[:, :1] * x[:, 1:] > 0).astype(float)
    model = Sequential(Dense(rng, 2, 6), Tanh(), Dense(rng, 6, 1))
    optimizer = Momentum(0.05)
    losses = []
    for _ in range(epochs):
        out = model(x)
        error = out - y
        losses.append((error**2).mean())
        model.backward(2 * error / len(x))
        optimizer.step(model.parameters())
    return losses[0], losses[-1], np.mean((model(x) > 0.5) == y)


@dataclass
class Body:
    mass: float
    position: np.ndarray
    velocity: np.ndarray

    def kinetic(self):
        return 0.5 * self.mass * self.velocity @ self.velocity


class System:
    def __init__(self, bodies, g=1.0):
        self.bodies, self.g = bodies, g

    def accelerations(self):
        for one in self.bodies:
            total = np.zeros(2)
            for other in self.bodies:
                if other is not one:
                    d = other.position - one.position
                    total += self.g * other.mass * d / (np.linalg.norm(d) ** 2 + 0.01) ** 1.5
            yield total

    def step(self, dt):
        for body, a in zip(self.bodies, list(self.accelerations())):
            body.velocity = body.velocity + a * dt / 2
        for body in self.bodies:
            body.position = body.position + body.velocity * dt
        for body, a in zip(self.bodies, list(self.accelerations())):
            body.velocity = body.velocity + a * dt / 2

    def energy(self):
        kinetic = sum(b.kinetic() for b in self.bodies)
        potential = 0.0
        for a, b in itertools.combinations(self.bodies, 2):
            potential -= self.g * a.mass * b.mass / np.linalg.norm(a.position - b.position)
        return kinetic + potential


@program(lambda rng: (rng.normal(0, 1, (3, 2)), rng.normal(0, 0.3, (3, 2)), 15))
def gravity_of_objects(positions, velocities, steps):
    system = System([Body(1.0 + k, p.copy(), v.copy()) for k, (p, v) in enumerate(zip(positions, velocities))])
    before = system.energy()
    for _ in range(steps):
        system.step(0.01)
    return system.energy() - before, np.array([b.position for b in system.bodies])


class Matrix:
    def __init__(self, rows):
        self.rows = [list(r) for r in rows]
        self.shape = len(self.rows), len(self.rows[0])

    def __matmul__(self, other):
        return Matrix([[sum(a * b for a, b in zip(row, column)) for column in zip(*other.rows)] for row in self.rows])

    def __getitem__(self, where):
        i, j = where
        return self.rows[i][j]

    def __eq__(self, other):
        return self.rows == other.rows

    @classmethod
    def identity(cls, n):
        return cls([[int(i == j) for j in range(n)] for i in range(n)])

    def __pow__(self, k):
        result, base = Matrix.identity(self.shape[0]), self
        while k:
            if k & 1:
                result = result @ base
            base = base @ base
            k >>= 1
        return result

    def det(self):
        n = self.shape[0]
        if n == 1:
            return self.rows[0][0]
        return sum((-1) ** j * self.rows[0][j] * Matrix([r[:j] + r[j + 1 :] for r in self.rows[1:]]).det() for j in range(n))


@program(lambda rng: (rng.integers(-3, 4, (3, 3)).tolist(), 5))
def matrix_with_operators(rows, power):
    m = Matrix(rows)
    p = m**power
    return p.rows, m.det(), p[0, 0] == (m @ m ** (power - 1))[0, 0], p == m**power


@program(lambda rng: (np.sin(np.arange(64) * 0.4) + 0.3 * rng.normal(size=64),))
def zero_crossings_and_envelope(x):
    crossings = [k for k in range(1, len(x)) if x[k - 1] < 0 <= x[k]]
    periods = np.diff(crossings)
    peaks = [(k, x[k]) for k in range(1, len(x) - 1) if x[k - 1] < x[k] > x[k + 1]]
    strong = sorted(peaks, key=lambda p: -p[1])[:4]
    envelope = np.maximum.accumulate(np.abs(x) * 0.95 ** np.arange(len(x))[::-1])
    return periods.mean() if len(periods) else 0.0, [int(k) for k, _ in strong], envelope[-1]


@program(lambda rng: (rng.normal(size=40), [0.25, 0.5, 0.25]))
def delay_line(x, taps):
    """A FIR filter with a deque as its delay line, and an echo with a ring buffer."""
    line = deque([0.0] * len(taps), maxlen=len(taps))
    out = []
    for sample in x:
        line.appendleft(sample)
        out.append(sum(t * s for t, s in zip(taps, line)))
    ring, head = [0.0] * 7, 0
    echoed = np.empty(len(x))
    for k, sample in enumerate(out):
        echoed[k] = sample + 0.5 * ring[head]
        ring[head] = echoed[k]
        head = (head + 1) % len(ring)
    return np.array(out), echoed


@program(lambda rng: (rng.integers(0, 256, (12, 12)).astype(np.uint8),))
def median_and_connected(image):
    """A median filter of 3 by 3, a threshold, and the boxes around what is connected."""
    h, w = image.shape
    padded = np.pad(image, 1, mode="edge")
    smooth = np.zeros_like(image)
    for i in range(h):
        for j in range(w):
            smooth[i, j] = np.median(padded[i : i + 3, j : j + 3])
    mask = smooth > 127
    labels = np.zeros((h, w), dtype=int)
    boxes = []
    for i in range(h):
        for j in range(w):
            if mask[i, j] and labels[i, j] == 0:
                label = len(boxes) + 1
                queue = [(i, j)]
                labels[i, j] = label
                box = [i, j, i, j]
                while queue:
                    a, b = queue.pop()
                    box = [min(box[0], a), min(box[1], b), max(box[2], a), max(box[3], b)]
                    for c, d in ((a + 1, b), (a - 1, b), (a, b + 1), (a, b - 1)):
                        if 0 <= c < h and 0 <= d < w and mask[c, d] and not labels[c, d]:
                            labels[c, d] = label
                            queue.append((c, d))
                boxes.append(box)
    return boxes, labels.max(), smooth.mean()


Trade = namedtuple("Trade", ["side", "price", "amount"])


@program(lambda rng: (np.round(100 + np.cumsum(rng.normal(0, 1, 20)), 2), 1000.0))
def mean_reversion(prices, cash):
    """Trades are named tuples; lots are sold first in, first out."""
    lots, trades, realized = deque(), [], 0.0
    for k in range(3, len(prices)):
        mean = prices[k - 3 : k].mean()
        if prices[k] < mean - 0.3 and cash >= prices[k]:
            lots.append(prices[k])
            cash -= prices[k]
            trades.append(Trade("buy", prices[k], 1))
        elif prices[k] > mean + 0.3 and lots:
            bought = lots.popleft()
            realized += prices[k] - bought
            cash += prices[k]
            trades.append(Trade("sell", prices[k], 1))
    buys = [t for t in trades if t.side == "buy"]
    return realized, cash + len(lots) * prices[-1], len(trades), len(buys)


@program(lambda rng: (float(rng.uniform(80, 120)), 100.0, 0.03, 0.2, 6))
def option_tree_of_lists(spot, strike, rate, volatility, steps):
    dt = 1.0 / steps
    up = math.exp(volatility * math.sqrt(dt))
    down = 1 / up
    p = (math.exp(rate * dt) - down) / (up - down)
    tree = [[spot]]
    for _ in range(steps):
        last = tree[-1]
        tree.append([s * up for s in last] + [last[-1] * down])
    values = [max(strike - s, 0.0) for s in tree[-1]]
    exercised = 0
    for level in reversed(tree[:-1]):
        following = []
        for k, s in enumerate(level):
            hold = math.exp(-rate * dt) * (p * values[k] + (1 - p) * values[k + 1])
            early = strike - s
            exercised += early > hold
            following.append(max(hold, early))
        values = following
    return values[0], exercised


def compose(*functions):
    return functools.reduce(lambda f, g: lambda x: g(f(x)), functions)


@program(lambda rng: (rng.uniform(0, 1, 10),))
def composed_transforms(x):
    steps = [np.sqrt, functools.partial(np.power, 3.0), lambda v: v - v.mean(), operator.neg]
    pipeline = compose(*steps)
    first = pipeline(x)
    by_name = {"min": min, "max": max, "span": lambda v: max(v) - min(v)}
    return first, {name: float(f(first)) for name, f in by_name.items()}, list(itertools.accumulate(x.tolist(), operator.mul))


class Polynomial:
    def __init__(self, *coefficients):
        self.c = list(coefficients)
        while len(self.c) > 1 and self.c[-1] == 0:
            self.c.pop()

    def __call__(self, x):
        return functools.reduce(lambda acc, a: acc * x + a, reversed(self.c), 0)

    def __add__(self, other):
        return Polynomial(*(a + b for a, b in itertools.zip_longest(self.c, other.c, fillvalue=0)))

    def __mul__(self, other):
        c = [0] * (len(self.c) + len(other.c) - 1)
        for i, a in enumerate(self.c):
            for j, b in enumerate(other.c):
                c[i + j] += a * b
        return Polynomial(*c)

    def derivative(self):
        return Polynomial(*(k * a for k, a in enumerate(self.c) if k)) if len(self.c) > 1 else Polynomial(0)

    def __repr__(self):
        return " + ".join(f"{a}x^{k}" for k, a in enumerate(self.c) if a)


@program(lambda rng: (rng.integers(-4, 5, 4).tolist(), float(rng.uniform(-2, 2))))
def polynomials_with_newton(coefficients, guess):
    p = Polynomial(*coefficients) * Polynomial(1, 2) + Polynomial(3)
    slope = p.derivative()
    x = guess
    for _ in range(6):
        d = slope(x)
        if abs(d) < 1e-9:
            break
        x -= p(x) / d
    return x, p(guess), repr(p), len(slope.c)


@program(lambda rng: (rng.normal(0, 1, 50), 5))
def stochastic_gradient_minibatches(x, size):
    """A line is fitted by minibatches, with early stopping and a schedule of rates."""
    y = 2 * x + 0.5
    parameters = {"w": 0.0, "b": 0.0}
    best, patience, history = math.inf, 3, []
    for epoch in range(30):
        rate = 0.2 if epoch < 10 else 0.05
        for start in range(0, len(x), size):
            xb, yb = x[start : start + size], y[start : start + size]
            error = parameters["w"] * xb + parameters["b"] - yb
            gradients = {"w": 2 * (error * xb).mean(), "b": 2 * error.mean()}
            parameters = {k: v - rate * gradients[k] for k, v in parameters.items()}
        loss = ((parameters["w"] * x + parameters["b"] - y) ** 2).mean()
        history.append(loss)
        if loss < best - 1e-6:
            best, patience = loss, 3
        else:
            patience -= 1
            if patience == 0:
                break
    return parameters, len(history), round(best, 6)


@program(lambda rng: (rng.integers(0, 2, 25), rng.random(25)))
def genetic_strings(target, noise):
    """Bit strings are bred toward a target: tournament, crossover, mutation."""
    rng = np.random.default_rng(3)
    population = [(noise * (k + 1) % 1 > 0.5).astype(int) for k in range(8)]
    for generation in range(10):
        fitness = [int((p == target).sum()) for p in population]
        order = sorted(range(len(population)), key=lambda k: -fitness[k])
        parents = [population[k] for k in order[:4]]
        children = []
        for k in range(4):
            a, b = parents[k], parents[(k + 1) % 4]
            cut = rng.integers(1, len(target))
            child = np.concatenate([a[:cut], b[cut:]])
            flip = rng.random(len(target)) < 0.05
            children.append(np.where(flip, 1 - child, child))
        population = parents + children
    return max(int((p == target).sum()) for p in population), len(population)
