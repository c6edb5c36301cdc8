"""Integrals, sums and limits."""

import math

import numpy as np

from .registry import program


@program(lambda rng: (0.0, float(rng.uniform(1, 3))), lambda found, a, b: np.isclose(found[0], np.sin(b) - np.sin(a)))
def romberg(a, b, tolerance=1e-10):
    R = np.zeros((12, 12))
    h = b - a
    R[0, 0] = h * (np.cos(a) + np.cos(b)) / 2
    for k in range(1, 12):
        h /= 2
        middle = 0.0
        for i in range(1, 2**k, 2):
            middle += np.cos(a + i * h)
        R[k, 0] = R[k - 1, 0] / 2 + h * middle
        for j in range(1, k + 1):
            R[k, j] = R[k, j - 1] + (R[k, j - 1] - R[k - 1, j - 1]) / (4**j - 1)
        if abs(R[k, k] - R[k - 1, k - 1]) < tolerance:
            return R[k, k], k
    return R[-1, -1], 12


@program(lambda rng: (rng.uniform(0.5, 2, 3), 100), lambda found, c, n: np.isclose(found, c[0] / 3 + c[1] / 2 + c[2]))
def simpson(c, n):
    if n % 2:
        raise ValueError("n must be even")

    def f(x):
        return c[0] * x * x + c[1] * x + c[2]

    h = 1 / n
    total = f(0) + f(1)
    for i in range(1, n):
        total += (4 if i % 2 else 2) * f(i * h)
    return total * h / 3


@program(lambda rng: (9,), lambda found, n: np.allclose(found, np.polynomial.legendre.leggauss(n)))
def gauss_legendre_nodes(n):
    nodes, weights = np.zeros(n), np.zeros(n)
    for i in range((n + 1) // 2):
        x = math.cos(math.pi * (i + 0.75) / (n + 0.5))
        while True:
            p0, p1 = 1.0, 0.0
            for k in range(n):
                p0, p1 = ((2 * k + 1) * x * p0 - k * p1) / (k + 1), p0
            slope = n * (x * p0 - p1) / (x * x - 1)
            dx = p0 / slope
            x -= dx
            if abs(dx) < 1e-15:
                break
        nodes[i], nodes[n - 1 - i] = -x, x
        weights[i] = weights[n - 1 - i] = 2 / ((1 - x * x) * slope**2)
    return nodes, weights


@program(
    lambda rng: (float(rng.uniform(0.02, 0.2)),), lambda found, w: np.isclose(found[0], 2 * np.arctan(1 / w) * 1 / w, atol=1e-6)
)
def adaptive_simpson(width):
    """A peak between -1 and 1, with a stack of intervals that are still to be done."""

    def f(x):
        return 1 / (x * x + width * width)

    def rule(a, b):
        return (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b))

    stack = [(-1.0, 1.0, rule(-1.0, 1.0), 1e-7)]
    total, accepted = 0.0, 0
    while stack:
        a, b, whole, eps = stack.pop()
        m = (a + b) / 2
        left, right = rule(a, m), rule(m, b)
        if abs(left + right - whole) < 15 * eps:
            total += left + right + (left + right - whole) / 15
            accepted += 1
        else:
            stack.append((a, m, left, eps / 2))
            stack.append((m, b, right, eps / 2))
    return total, accepted


@program(lambda rng: (rng.uniform(-1, 1, 500), rng.uniform(-1, 1, 500)), lambda found, x, y: abs(found[0] - np.pi) < 0.4)
def monte_carlo_pi(xs, ys):
    inside = 0
    estimates = []
    for i, (x, y) in enumerate(zip(xs, ys), start=1):
        if x**2 + y**2 <= 1.0:
            inside += 1
        if i % 100 == 0:
            estimates.append(4 * inside / i)
            print(f"{i:4d} points: pi is about {estimates[-1]:.4f}")
    return estimates[-1], inside


@program(lambda rng: (float(rng.uniform(0.1, 6)),), lambda found, x: np.allclose(found[0], [np.exp(x), np.sin(x)]))
def power_series(x):
    e = term = 1.0
    n = 0
    while term > 1e-16 * e:
        n += 1
        term *= x / n
        e += term
    s, t, k = 0.0, x, 1
    while abs(t) > 1e-17:
        s += t
        t *= -x * x / ((k + 1) * (k + 2))
        k += 2
    return (e, s), n, k


@program(lambda rng: (float(rng.uniform(2, 30)), 12), lambda found, x, depth: np.isclose(found[0], np.sqrt(x)))
def continued_fraction(x, depth):
    whole = math.floor(math.sqrt(x))
    rest = x - whole * whole
    value = 0.0
    for _ in range(depth * 3):
        value = rest / (2 * whole + value)
    digits = []
    y = x
    for _ in range(4):
        digit = int(y)
        digits.append(digit)
        if y - digit < 1e-9:
            break
        y = 1 / (y - digit)
    return whole + value, digits


@program(lambda rng: (rng.uniform(0.1, 0.9, 10),), lambda found, k: np.all(found > np.pi / 2))
def complete_elliptic_integral(k):
    """By the arithmetic-geometric mean."""
    a, g = np.ones_like(k), np.sqrt(1 - k**2)
    while np.max(np.abs(a - g)) > 1e-14:
        a, g = (a + g) / 2, np.sqrt(a * g)
    return np.pi / (2 * a)
