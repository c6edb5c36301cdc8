"""Loops over elements, as they are written where there are no operations on arrays: what Numba is for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..contenders import Case, Row, case, row, targets, uniform

TITLE = "Loops over elements"


def polynomial(x, coefficients):
    out = np.zeros_like(x)
    for i in range(len(x)):
        total = 0.0
        for c in coefficients:
            total = total * x[i] + c
        out[i] = total
    return out


def stencil(a):
    out = np.zeros_like(a)
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            out[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
    return out


def blurred(image):
    """The means of the neighbours that there are."""
    height, width = image.shape
    out = np.zeros_like(image)
    for i in range(height):
        for j in range(width):
            total, count = 0.0, 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    if 0 <= i + di < height and 0 <= j + dj < width:
                        total += image[i + di, j + dj]
                        count += 1
            out[i, j] = total / count
    return out


def distances(points):
    n = len(points)
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            out[i, j] = np.sqrt((points[i, 0] - points[j, 0]) ** 2 + (points[i, 1] - points[j, 1]) ** 2)
    return out


def product(a, b):
    out = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                out[i, j] += a[i, k] * b[k, j]
    return out


def decomposition(a):
    a = a.copy()
    n = len(a)
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def recurrence(x):
    out = np.zeros_like(x)
    for i in range(2, len(x)):
        out[i] = x[i] + 0.5 * out[i - 1] - 0.25 * out[i - 2]
    return out


def positive(x):
    count = 0
    for i in range(len(x)):
        if x[i] > 0.5:
            count += 1
    return count


def tridiagonal(a, b, c, d):
    """Thomas' algorithm."""
    n = len(d)
    c, d = c.copy(), d.copy()
    c[0] /= b[0]
    d[0] /= b[0]
    for i in range(1, n):
        m = b[i] - a[i] * c[i - 1]
        c[i] /= m
        d[i] = (d[i] - a[i] * d[i - 1]) / m
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]
    return d


def steps_to_one(n):
    """Collatz' problem: phlox looks whether an integer outgrows 64 bits, Numba does not."""
    out = np.zeros(n, np.int64)
    for i in range(1, n):
        k, steps = i, 0
        while k != 1:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            steps += 1
        out[i] = steps
    return out


def compared(function: Callable, *arguments: Any) -> Case:
    return case(function, *arguments, numpy=None, jax_function=None, numba=True, parallel=False, turns=7, tolerance=1e-9)


def rows() -> Iterator[Row]:
    wanted, random = targets(Numba=1), np.random.default_rng(0)
    matrix = random.random((100, 100))
    diagonals = random.random((4, 2000)) + [[1], [5], [1], [1]]
    for name, function, arguments in (
        ("a polynomial of degree 11 at 5,000 places", polynomial, (random.random(5000), random.random(12))),
        ("a stencil, 500 x 500", stencil, (random.random((500, 500)),)),
        ("means of the neighbours that there are, 120 x 130", blurred, (random.random((120, 130)),)),
        ("distances of 300 points", distances, (random.random((300, 2)),)),
        ("a product of matrices, 100 x 100", product, (matrix, matrix.T.copy())),
        ("LU decomposition, 100 x 100", decomposition, (matrix + 100 * np.eye(100),)),
        ("a recurrence over 10,000", recurrence, (uniform(10_000, dtype=np.float64),)),
        ("counting among 100,000", positive, (random.random(100_000),)),
        ("a tridiagonal system of 2,000", tridiagonal, tuple(diagonals)),
        ("steps to one, below 3,000", steps_to_one, (3000,)),
    ):
        yield row(name, wanted, compared, function, *arguments)
