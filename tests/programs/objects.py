"""Objects: methods that keep state, classes of numbers, closures, dataclasses, partial functions."""

import functools
from collections import namedtuple
from dataclasses import dataclass, replace

import numpy as np

from .registry import program


class Oscillator:
    """A mass on a spring, and how far it has come."""

    def __init__(self, position, speed, stiffness):
        self.position = position
        self.speed = speed
        self.stiffness = stiffness
        self.time = 0.0
        self.steps = 0

    def force(self):
        return -self.stiffness * self.position

    def step(self, dt):
        self.speed += dt * self.force()
        self.position = self.position + dt * self.speed
        self.time += dt
        self.steps += 1

    @program(lambda rng: (Oscillator(rng.normal(size=4), rng.normal(size=4), rng.uniform(1, 2)), 0.01, 50))
    def advance(self, dt, steps):
        """A method that changes the object it belongs to."""
        start = self.energy
        for _ in range(steps):
            self.step(dt)
        return self.energy - start

    @property
    def energy(self):
        return 0.5 * np.sum(self.speed**2) + 0.5 * self.stiffness * np.sum(self.position**2)


class DampedOscillator(Oscillator):
    def __init__(self, position, speed, stiffness, damping):
        super().__init__(position, speed, stiffness)
        self.damping = damping
        self.lost = 0.0

    def force(self):
        return super().force() - self.damping * self.speed

    @program(
        lambda rng: (DampedOscillator(rng.normal(size=3), rng.normal(size=3), 2.0, rng.uniform(0.1, 0.5)), 1e-2),
        lambda found, oscillator, level: abs(oscillator.energy * level - found[1]) / found[1] < 0.1,
    )
    def settle(self, level):
        """Until the energy has fallen to a fraction; super() and two attributes on the way."""
        first = self.energy
        while self.energy > level * first and self.steps < 5000:
            before = self.energy
            super().step(0.02)
            self.lost += before - self.energy
        return self.steps, self.energy, self.lost


def polynomial(coefficients):
    def value(x):
        result = 0
        for c in coefficients:
            result = result * x + c
        return result

    def derivative():
        degree = len(coefficients) - 1
        return polynomial([c * (degree - i) for i, c in enumerate(coefficients[:-1])])

    value.derivative = derivative
    return value


@program(
    lambda rng: (np.sort(rng.uniform(-3, 3, 3)), rng.uniform(3, 5)),
    lambda found, roots, start: abs(found[0] - roots[-1]) < 1e-5,
)
def newton_with_closures(roots, start):
    """Functions that make functions, and one that counts with nonlocal."""
    coefficients = [1.0]
    for root in roots:
        coefficients = [a - root * b for a, b in zip([*coefficients, 0.0], [0.0, *coefficients])]
    evaluations = 0

    def counted(function):
        def evaluate(x):
            nonlocal evaluations
            evaluations += 1
            return function(x)

        return evaluate

    f = polynomial(coefficients)
    slope = counted(f.derivative())
    f = counted(f)
    x = start
    for _ in range(100):
        step = f(x) / slope(x)
        x = x - step
        if abs(step) < 1e-12:
            break
    return x, evaluations


@dataclass
class Body:
    mass: float
    position: np.ndarray
    velocity: np.ndarray
    bounces: int = 0

    def momentum(self):
        return self.mass * self.velocity

    def moved(self, dt):
        return replace(self, position=self.position + dt * self.velocity)


def bodies(rng):
    return ([Body(float(rng.uniform(1, 3)), rng.uniform(-1, 1, 2), rng.normal(size=2)) for _ in range(4)],)


@program(lambda rng: (*bodies(rng), 0.05, 60), lambda found, bodies, dt, steps: np.abs(found[0]).max() <= 1.2)
def bouncing_bodies(bodies, dt, steps):
    """Dataclasses in a list: some replaced, some changed in place."""
    for _ in range(steps):
        for i, body in enumerate(bodies):
            body = body.moved(dt)
            for axis in range(2):
                if abs(body.position[axis]) > 1 and body.position[axis] * body.velocity[axis] > 0:
                    body.velocity[axis] = -body.velocity[axis]
                    body.bounces += 1
            bodies[i] = body
    total = sum(body.momentum() for body in bodies)
    return np.array([body.position for body in bodies]), total, [body.bounces for body in bodies]


def runge_kutta_step(derivative, dt, t, y):
    k1 = derivative(t, y)
    k2 = derivative(t + dt / 2, y + dt / 2 * k1)
    k3 = derivative(t + dt / 2, y + dt / 2 * k2)
    k4 = derivative(t + dt, y + dt * k3)
    return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def predator_prey(rates, t, y):
    a, b, c, d = rates
    return np.array([a * y[0] - b * y[0] * y[1], -c * y[1] + d * y[0] * y[1]])


def lotka_volterra(y0, steps, dt, rates):
    """Partial functions of partial functions."""
    step = functools.partial(runge_kutta_step, functools.partial(predator_prey, rates), dt)
    y = np.array(y0, dtype=float)
    path = np.zeros((steps + 1, 2))
    path[0] = y
    for n in range(steps):
        y = step(n * dt, y)
        path[n + 1] = y
    return path


def conserved(rates, y):
    a, b, c, d = rates
    return d * y[..., 0] - c * np.log(y[..., 0]) + b * y[..., 1] - a * np.log(y[..., 1])


RATES = (1.0, 0.5, 0.8, 0.3)
fixed_lotka_volterra = functools.partial(lotka_volterra, dt=0.02, rates=RATES)
fixed_lotka_volterra.__module__ = __name__
fixed_lotka_volterra.__name__ = "fixed_lotka_volterra"

program(
    lambda rng: ([rng.uniform(0.5, 2), rng.uniform(0.5, 2)], 200),
    lambda path, y0, steps: np.ptp(conserved(RATES, path)) < 1e-4,
)(fixed_lotka_volterra)


def in_degrees(function):
    """A decorator that changes the signature."""

    @functools.wraps(function)
    def wrapper(*degrees, rounded=False):
        result = function(tuple(np.radians(d) for d in degrees))
        return np.round(result, 3) if rounded else result

    return wrapper


@program(lambda rng: tuple(rng.uniform(0, 360, (3, 5))), lambda found, *angles: np.all(np.abs(found) <= 3))
@in_degrees
def sum_of_sines(angles):
    """What is decorated takes other arguments than what it wraps."""
    total = np.zeros(angles[0].shape)
    for angle in angles:
        total += np.sin(angle)
    return total


class Dual:
    """A number and its derivative."""

    def __init__(self, value, slope=0.0):
        self.value = value
        self.slope = slope

    @staticmethod
    def of(x):
        return x if isinstance(x, Dual) else Dual(x)

    def __add__(self, other):
        other = Dual.of(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    __radd__ = __add__

    def __mul__(self, other):
        other = Dual.of(other)
        return Dual(self.value * other.value, self.value * other.slope + self.slope * other.value)

    __rmul__ = __mul__

    def __neg__(self):
        return Dual(-self.value, -self.slope)

    def __sub__(self, other):
        return self + -Dual.of(other)

    def sin(self):
        return Dual(np.sin(self.value), self.slope * np.cos(self.value))

    def __lt__(self, other):
        return self.value < Dual.of(other).value


@program(
    lambda rng: (rng.uniform(-2, 2, 12),),
    lambda found, x: np.allclose(found[1], np.where(np.sin(x) * x < 0.2, 2 * x, np.sin(x) + x * np.cos(x))),
)
def forward_derivatives(x):
    """Operators of a class of one's own, on numbers taken from an array."""

    def f(z):
        y = z.sin() * z
        if y < 0.2:
            return z * z - 1
        return 3 + y

    values, slopes = [], []
    for number in x:
        y = f(Dual(number, 1.0))
        values.append(y.value)
        slopes.append(y.slope)
    return np.array(values), np.array(slopes)


class RingBuffer:
    """The last values, in an array that is written around."""

    def __init__(self, size):
        self.data = np.zeros(size)
        self.next = 0
        self.filled = 0

    def __len__(self):
        return self.filled

    def __iter__(self):
        for i in range(self.filled):
            yield self.data[(self.next - self.filled + i) % len(self.data)]

    def push(self, value):
        self.data[self.next] = value
        self.next = (self.next + 1) % len(self.data)
        self.filled = min(self.filled + 1, len(self.data))


@program(
    lambda rng: (rng.normal(size=40), 7),
    lambda found, x, size: np.allclose(found[0][size - 1 :], np.convolve(x, np.full(size, 1 / size), "valid")),
)
def moving_average_with_a_buffer(x, size):
    """An object with __len__ and __iter__, and a generator."""
    buffer = RingBuffer(size)
    averages = np.empty_like(x)
    for i, value in enumerate(x):
        buffer.push(value)
        averages[i] = sum(buffer) / len(buffer)
    return averages, buffer.next, list(buffer)


class Layer:
    """Called like a function; keeps what it was last called with."""

    made = 0

    def __init__(self, weights, bias, activation=np.tanh):
        self.weights, self.bias, self.activation = weights, bias, activation
        self.seen = None
        type(self).made += 1

    def __call__(self, x):
        self.seen = x
        return self.activation(x @ self.weights + self.bias)


def counted(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        wrapper.calls += 1
        return function(*args, **kwargs)

    wrapper.calls = 0
    return wrapper


Prediction = namedtuple("Prediction", "label confidence")


@counted
def softmax(z, axis=-1):
    e = np.exp(z - z.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def network(rng):
    sizes = [5, 8, 6, 3]
    layers = [Layer(rng.normal(size=pair), rng.normal(size=pair[1])) for pair in zip(sizes, sizes[1:])]
    layers[-1].activation = lambda z: z
    return layers


@program(lambda rng: (network(rng), rng.normal(size=(10, 5))), lambda found, layers, x: all(1 / 3 <= p[1] <= 1 for p in found))
def network_of_callables(layers, x):
    """Callable objects, a decorator that wraps, a list of named tuples as the result."""
    before = softmax.calls
    outputs = softmax(functools.reduce(lambda value, layer: layer(value), layers, x))
    assert softmax.calls == before + 1
    return [Prediction(int(np.argmax(row)), float(row.max())) for row in outputs]


class Ridge:
    """A model that is fitted by one method, and asked by another."""

    def __init__(self, penalty):
        self.penalty = penalty
        self.weights = None

    def fit(self, X, y):
        gram = X.T @ X + self.penalty * np.eye(X.shape[1])
        self.weights = np.linalg.solve(gram, X.T @ y)
        return self

    def predict(self, X):
        if self.weights is None:
            raise RuntimeError("fit comes first")
        return X @ self.weights


MODEL = Ridge(0.1)


def forget():
    MODEL.weights = None


def other_penalty(rng):
    MODEL.penalty = rng.uniform(0.01, 1)
    return rng.normal(size=(20, 3)), rng.normal(size=20)


def normal_equations(found, X, y):
    return np.allclose(X.T @ (y - X @ found.weights), found.penalty * found.weights)


def fitted_anew(rng):
    X, y = other_penalty(rng)
    MODEL.fit(X, y)
    return (rng.normal(size=(5, 3)),)


# Bound methods: the object is no argument, and is another at every call.
program(other_penalty, normal_equations, reset=forget, outside=lambda: MODEL)(MODEL.fit)
program(fitted_anew, lambda found, X: np.allclose(found, X @ MODEL.weights), reset=forget)(MODEL.predict)


class Filter:
    """An object that is called, and has a memory."""

    def __init__(self, share):
        self.share = share
        self.level = 0.0

    def __call__(self, x):
        out = np.empty(len(x))
        for i in range(len(x)):
            self.level += self.share * (x[i] - self.level)
            out[i] = self.level
        return out

    def clear(self):
        self.level = 0.0


smooth = Filter(0.25)
smooth.__name__ = "filter_with_memory"
program(
    lambda rng: (rng.normal(size=16),),
    lambda found, x: np.isclose(found[-1], 0.25 * x @ 0.75 ** np.arange(15, -1, -1)),
    reset=smooth.clear,
    outside=lambda: smooth.level,
)(smooth)


class Simplex:
    """Nelder and Mead's method, as a class with small methods and a cache of values."""

    def __init__(self, function, corners):
        self.function = function
        self.corners = corners
        self.values = np.array([function(c) for c in corners])
        self.evaluations = len(corners)

    def try_point(self, factor):
        center = self.corners[:-1].mean(axis=0)
        point = center + factor * (self.corners[-1] - center)
        value = self.function(point)
        self.evaluations += 1
        return point, value

    def sort(self):
        order = np.argsort(self.values)
        self.corners, self.values = self.corners[order], self.values[order]

    def step(self):
        self.sort()
        point, value = self.try_point(-1.0)
        if value < self.values[0]:
            further, better = self.try_point(-2.0)
            if better < value:
                point, value = further, better
        elif value >= self.values[-2]:
            point, value = self.try_point(0.5)
            if value >= self.values[-1]:
                for i in range(1, len(self.corners)):
                    self.corners[i] = (self.corners[i] + self.corners[0]) / 2
                    self.values[i] = self.function(self.corners[i])
                return
        self.corners[-1], self.values[-1] = point, value


@program(
    lambda rng: (rng.uniform(-2, 2, (3, 2)), rng.uniform(0.5, 1.5, 2)),
    lambda found, corners, target: np.allclose(found[0], target, atol=1e-3),
)
def downhill_simplex(corners, target):
    def bowl(p):
        return (p[0] - target[0]) ** 2 + 10 * (p[1] - target[1]) ** 2

    simplex = Simplex(bowl, corners.copy())
    rounds = 0
    while np.ptp(simplex.values) > 1e-10 and rounds < 300:
        simplex.step()
        rounds += 1
    simplex.sort()
    return simplex.corners[0], simplex.evaluations, rounds
