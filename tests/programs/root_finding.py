"""Roots of equations."""

import math

import numpy as np

from .registry import program


@program(lambda rng: (float(rng.uniform(1, 50)),), lambda found, x: np.isclose(found[0] ** 3 - found[0], x))
def bisection(target):
    def f(x):
        return x**3 - x - target

    lo, hi = 1.0, 10.0
    steps = 0
    while hi - lo > 1e-12:
        mid = (lo + hi) / 2
        steps += 1
        if f(lo) * f(mid) <= 0:
            hi = mid
        else:
            lo = mid
    return (lo + hi) / 2, steps


@program(lambda rng: (rng.uniform(0.1, 9.0, 30),), lambda found, x: np.allclose(found**2, x))
def newton_square_roots(values):
    roots = np.empty(len(values))
    for i in range(len(values)):
        x = values[i]
        guess = x / 2 + 0.5
        for _ in range(100):
            better = 0.5 * (guess + x / guess)
            if abs(better - guess) < 1e-14 * better:
                break
            guess = better
        roots[i] = better
    return roots


@program(lambda rng: (rng.uniform(0, 2 * np.pi, 25), 0.6), lambda found, m, e: np.allclose(found[0] - e * np.sin(found[0]), m))
def kepler_equation(mean_anomaly, eccentricity):
    if not 0 <= eccentricity < 1:
        raise ValueError("the orbit is not an ellipse")
    E = mean_anomaly.copy() if eccentricity < 0.8 else np.full_like(mean_anomaly, np.pi)
    iterations = 0
    while True:
        delta = (E - eccentricity * np.sin(E) - mean_anomaly) / (1 - eccentricity * np.cos(E))
        E -= delta
        iterations += 1
        if (np.abs(delta) < 1e-12).all():
            break
        if iterations == 50:
            raise RuntimeError("Kepler's equation was not solved")
    return E, iterations


@program(lambda rng: (float(rng.uniform(0.5, 2.0)), float(rng.uniform(2.5, 4))), lambda found, a, b: True)
def secant(x0, x1):
    f = lambda x: math.cos(x) * x + 0.5
    trace = [x0, x1]
    while abs(trace[-1] - trace[-2]) > 1e-12 and len(trace) < 60:
        a, b = trace[-2:]
        if f(b) == f(a):
            break
        trace.append(b - f(b) * (b - a) / (f(b) - f(a)))
    return trace[-1]


@program(lambda rng: (rng.uniform(0.5, 1.5, 4), 2.0, 1.0))
def root_without_a_change_of_sign(coefficients, low, high):
    def polynomial(x):
        total = 0.0
        for c in coefficients[::-1]:
            total = total * x + c
        return total

    a, b = polynomial(low), polynomial(high)
    if a * b > 0:
        raise ValueError("f(low) and f(high) have the same sign")
    while abs(high - low) > 1e-9:
        x = (low * b - high * a) / (b - a)
        y = polynomial(x)
        if y * a > 0:
            low, a = x, y
        else:
            high, b = x, y
    return x


def brent(f, a, b, tol=1e-10, max_iterations=100):
    fa, fb = f(a), f(b)
    if fa * fb > 0:
        raise ValueError("Root not bracketed")
    if abs(fa) < abs(fb):
        a, b, fa, fb = b, a, fb, fa
    c, fc = a, fa
    d = c
    bisected = True
    for i in range(max_iterations):
        if fb == 0 or abs(b - a) < tol:
            break
        if fa != fc and fb != fc:
            s = (
                a * fb * fc / ((fa - fb) * (fa - fc))
                + b * fa * fc / ((fb - fa) * (fb - fc))
                + c * fa * fb / ((fc - fa) * (fc - fb))
            )
        else:
            s = b - fb * (b - a) / (fb - fa)
        lo, hi = min((3 * a + b) / 4, b), max((3 * a + b) / 4, b)
        if not lo < s < hi or abs(s - b) >= abs((b - c) if bisected else (c - d)) / 2:
            s = (a + b) / 2
            bisected = True
        else:
            bisected = False
        fs = f(s)
        d, c, fc = c, b, fb
        if fa * fs < 0:
            b, fb = s, fs
        else:
            a, fa = s, fs
        if abs(fa) < abs(fb):
            a, b = b, a
            fa, fb = fb, fa
    return b


@program(
    lambda rng: (rng.uniform(0.3, 0.9, 6),), lambda found, rates: np.allclose(np.exp(-found) - rates * found, 0, atol=1e-8)
)
def brent_for_each(rates):
    return np.array([brent(lambda x: np.exp(-x) - rate * x, 0.0, 5.0) for rate in rates])


@program(lambda rng: (rng.normal(size=2) * 0.1 + np.array([1.0, 2.0]),), lambda found, x: np.allclose(found[0] @ found[0], 5))
def newton_for_a_system(x0):
    x = x0.copy()
    for k in range(25):
        u, v = x
        F = np.array([u * u + v * v - 5.0, u * v - 2.0])
        if np.linalg.norm(F) < 1e-12:
            break
        J = np.array([[2 * u, 2 * v], [v, u]])
        x = x - np.linalg.solve(J, F)
    return x, k


@program(
    lambda rng: (rng.normal(size=6),),
    lambda found, c: np.allclose(np.sort_complex(found), np.sort_complex(np.roots(np.r_[1, c])), atol=1e-6),
)
def durand_kerner(coefficients):
    """All roots of x**n + c[0] * x**(n-1) + ... at once."""
    n = len(coefficients)
    roots = np.array([(0.4 + 0.9j) ** k for k in range(n)])
    for _ in range(200):
        largest = 0
        for i in range(n):
            value = 1 + 0j
            for c in coefficients:
                value = value * roots[i] + c
            denominator = 1 + 0j
            for j in range(n):
                if i != j:
                    denominator *= roots[i] - roots[j]
            change = value / denominator
            roots[i] -= change
            largest = max(largest, abs(change))
        if largest < 1e-13:
            break
    return roots
