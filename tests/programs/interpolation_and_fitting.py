"""Curves through points and near points."""

import numpy as np

from .registry import program


def samples(rng, n=9, m=25):
    x = np.sort(rng.uniform(-1, 1, n)) + np.linspace(-1, 1, n)
    return x, np.sin(2 * x), rng.uniform(x[0], x[-1], m)


def near_the_sine(found, x, y, points):
    return np.allclose(found, np.sin(2 * points), atol=0.05)


@program(samples, near_the_sine)
def lagrange_interpolation(x, y, points):
    result = np.zeros_like(points)
    for i in range(len(x)):
        term = np.full(points.shape, y[i])
        for j in range(len(x)):
            if i == j:
                continue
            term *= (points - x[j]) / (x[i] - x[j])
        result += term
    return result


@program(samples, near_the_sine)
def newton_divided_differences(x, y, points):
    coefficients = y.copy()
    n = len(x)
    for order in range(1, n):
        coefficients[order:] = (coefficients[order:] - coefficients[order - 1 : -1]) / (x[order:] - x[:-order])
    result = np.array([coefficients[-1]] * len(points))
    for k in reversed(range(n - 1)):
        result = result * (points - x[k]) + coefficients[k]
    return result


@program(samples, lambda found, x, y, points: near_the_sine(found[0], x, y, points) and found[1] == 0)
def neville(x, y, points):
    values, exact = [], 0
    for p in points:
        if p in x:
            exact += 1
            values.append(y[np.where(x == p)[0][0]])
            continue
        q = list(y)
        for level in range(1, len(x)):
            for i in range(len(x) - level):
                q[i] = ((p - x[i + level]) * q[i] + (x[i] - p) * q[i + 1]) / (x[i] - x[i + level])
        values.append(q[0])
    return np.array(values), exact


@program(lambda rng: (rng.uniform(-1, 1, 30), 12), lambda found, x, n: np.allclose(found, np.exp(x)))
def chebyshev_series(x, n):
    nodes = np.cos(np.pi * (np.arange(n) + 0.5) / n)
    f = np.exp(nodes)
    c = np.zeros(n)
    for k in range(n):
        c[k] = 2 / n * sum(f[j] * np.cos(np.pi * k * (j + 0.5) / n) for j in range(n))
    b1 = b2 = np.zeros_like(x)
    for k in range(n - 1, 0, -1):
        b1, b2 = 2 * x * b1 - b2 + c[k], b1
    return x * b1 - b2 + c[0] / 2


@program(
    lambda rng: (np.linspace(0, 1, 20), rng.normal(size=20), 3),
    lambda found, x, y, d: np.allclose(found[0], np.polyfit(x, y, d)[::-1]),
)
def polynomial_least_squares(x, y, degree):
    """By the normal equations, which are eliminated in place."""
    m = degree + 1
    A = np.empty((m, m + 1))
    for i in range(m):
        for j in range(m):
            A[i, j] = np.sum(x ** (i + j))
        A[i, m] = (y * x**i).sum()
    for k in range(m):
        A[k] /= A[k, k]
        for i in range(m):
            if i != k:
                A[i] -= A[i, k] * A[k]
    coefficients = A[:, m]
    fitted = np.polyval(coefficients[::-1], x)
    r2 = 1 - ((y - fitted) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    return coefficients, r2


def line_with_outliers(rng):
    x = rng.uniform(0, 10, 40)
    y = 2 * x + 1 + 0.05 * rng.normal(size=40)
    y[rng.permutation(40)[:12]] += rng.uniform(5, 20, 12)
    return x, y, rng.integers(0, 40, (50, 2))


@program(line_with_outliers, lambda found, *given: np.allclose(found[0], [2, 1], atol=0.2) and found[1].sum() >= 26)
def random_sample_consensus(x, y, pairs, threshold=0.3):
    best, best_inliers = None, np.zeros(len(x), dtype=bool)
    for i, j in pairs:
        if i == j or abs(x[i] - x[j]) < 1e-3:
            continue
        slope = (y[j] - y[i]) / (x[j] - x[i])
        offset = y[i] - slope * x[i]
        inliers = np.abs(y - slope * x - offset) < threshold
        if inliers.sum() > best_inliers.sum():
            best, best_inliers = (slope, offset), inliers
        if best_inliers.mean() > 0.95:
            break
    if best is None:
        raise ValueError("no line was found")
    slope, offset = np.polyfit(x[best_inliers], y[best_inliers], 1)
    return np.array([slope, offset]), best_inliers


@program(lambda rng: (rng.normal(size=(8, 2)), 3, rng.uniform(0, 1, 20)), lambda found, c, k, t: found.shape == (20, 2))
def b_spline_curve(control, degree, parameters):
    n = len(control)
    knots = np.concatenate((np.zeros(degree), np.linspace(0, 1, n - degree + 1), np.ones(degree)))
    curve = np.empty((len(parameters), control.shape[1]))
    for row, t in enumerate(parameters):
        k = degree
        while k < n - 1 and t >= knots[k + 1]:
            k += 1
        d = [control[j + k - degree].copy() for j in range(degree + 1)]
        for r in range(1, degree + 1):
            for j in range(degree, r - 1, -1):
                left = knots[j + k - degree]
                alpha = (t - left) / (knots[j + 1 + k - r] - left)
                d[j] = (1 - alpha) * d[j - 1] + alpha * d[j]
        curve[row] = d[degree]
    return curve


@program(
    lambda rng: (rng.normal(size=(7, 9)), rng.uniform(0, 6, 30), rng.uniform(0, 8, 30)),
    lambda found, *given: found.shape == (30,),
)
def bilinear_interpolation(table, rows, columns):
    out = np.empty(len(rows))
    last_row, last_column = table.shape[0] - 1, table.shape[1] - 1
    for k, (r, c) in enumerate(zip(rows, columns)):
        i, j = int(np.floor(r)), int(np.floor(c))
        i, j = min(i, last_row - 1), min(j, last_column - 1)
        u, v = r - i, c - j
        block = table[i : i + 2, j : j + 2]
        out[k] = np.array([1 - u, u]) @ block @ np.array([1 - v, v])
    return out
