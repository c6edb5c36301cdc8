"""Linear algebra: factorizations and eigenvalues, as textbooks write them."""

import numpy as np

from .registry import program


def square(rng, n=8):
    return (rng.normal(size=(n, n)) + n * np.eye(n),)


def positive_definite(rng, n=8):
    a = rng.normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


@program(square, lambda found, a: np.allclose(found[0] @ found[1], a[found[2]]))
def lu_with_pivoting(a):
    n = a.shape[0]
    upper = a.copy()
    lower = np.eye(n)
    order = np.arange(n)
    for k in range(n - 1):
        pivot = k + np.argmax(np.abs(upper[k:, k]))
        if upper[pivot, k] == 0:
            raise np.linalg.LinAlgError("Singular matrix")
        if pivot != k:
            upper[[k, pivot], k:] = upper[[pivot, k], k:]
            lower[[k, pivot], :k] = lower[[pivot, k], :k]
            order[k], order[pivot] = order[pivot], order[k]
        for i in range(k + 1, n):
            lower[i, k] = upper[i, k] / upper[k, k]
            upper[i, k:] -= lower[i, k] * upper[k, k:]
    return lower, upper, order
