"""Linear algebra: factorizations and eigenvalues, as textbooks write them."""

import numpy as np

from .registry import program

EPS = 1e-12


def dominant(rng, n=8):
    return rng.normal(size=(n, n)) + n * np.eye(n)


def symmetric(rng, n=6):
    a = rng.normal(size=(n, n))
    return a + a.T


def positive_definite(rng, n=8):
    a = rng.normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


@program(lambda rng: (dominant(rng)[::-1].copy(),), lambda found, a: np.allclose(found[0] @ found[1], a[found[2]]))
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


@program(lambda rng: (positive_definite(rng),), lambda found, a: np.allclose(found, np.linalg.cholesky(a)))
def cholesky_decomposition(a):
    n = len(a)
    L = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = sum(L[i, k] * L[j, k] for k in range(j))
            if i == j:
                d = a[i, i] - s
                if d <= 0.0:
                    raise ValueError("matrix is not positive definite")
                L[i, j] = np.sqrt(d)
            else:
                L[i, j] = (a[i, j] - s) / L[j, j]
    return L


@program(lambda rng: (symmetric(rng),))
def cholesky_of_an_indefinite_matrix(a):
    n = a.shape[0]
    L = np.zeros((n, n))
    for j in range(n):
        pivot = a[j, j] - L[j, :j] @ L[j, :j]
        if pivot <= 0:
            raise np.linalg.LinAlgError("leading minor is not positive")
        L[j, j] = pivot**0.5
        for i in range(j + 1, n):
            L[i, j] = (a[i, j] - L[i, :j] @ L[j, :j]) / L[j, j]
    return L


def householder_vector(x):
    v = x.copy()
    alpha = -np.sign(x[0]) * np.linalg.norm(x) if x[0] != 0 else -np.linalg.norm(x)
    v[0] -= alpha
    norm = np.linalg.norm(v)
    return v / norm if norm > EPS else v


@program(
    lambda rng: (rng.normal(size=(9, 5)),),
    lambda found, a: np.allclose(found[0] @ found[1], a) and np.allclose(found[0].T @ found[0], np.eye(9)),
)
def qr_householder(a):
    m, n = a.shape
    Q = np.eye(m)
    R = a.astype(float)
    for k in range(min(m - 1, n)):
        v = householder_vector(R[k:, k])
        R[k:, k:] -= 2.0 * np.outer(v, v @ R[k:, k:])
        Q[:, k:] -= 2.0 * np.outer(Q[:, k:] @ v, v)
    return Q, np.triu(R)


@program(lambda rng: (rng.normal(size=(12, 6)),), lambda found, a: np.allclose(found[0] @ found[1], a))
def modified_gram_schmidt(a):
    rows, columns = a.shape
    v = a.copy()
    q = np.empty((rows, columns))
    r = np.zeros((columns, columns))
    for i in range(columns):
        r[i, i] = np.linalg.norm(v[:, i])
        if r[i, i] < EPS:
            raise ValueError(f"column {i} depends on those before")
        q[:, i] = v[:, i] / r[i, i]
        for j in range(i + 1, columns):
            r[i, j] = q[:, i] @ v[:, j]
            v[:, j] -= r[i, j] * q[:, i]
    return q, r


@program(lambda rng: (symmetric(rng),), lambda found, a: np.allclose(found[0], np.linalg.eigvalsh(a)))
def jacobi_eigenvalues(a, tolerance=1e-10, max_rotations=500):
    A = np.array(a, dtype=float)
    n = A.shape[0]
    V = np.identity(n)
    rotations = 0
    while rotations < max_rotations:
        off = np.abs(np.triu(A, 1))
        p, q = np.unravel_index(np.argmax(off), off.shape)
        if off[p, q] < tolerance:
            break
        theta = 0.5 * np.arctan2(2 * A[p, q], A[q, q] - A[p, p])
        c, s = np.cos(theta), np.sin(theta)
        J = np.identity(n)
        J[p, p] = c
        J[q, q] = c
        J[p, q] = s
        J[q, p] = -s
        A = J.T @ A @ J
        V = V @ J
        rotations += 1
    else:
        raise RuntimeError("no convergence")
    values = np.diag(A)
    order = np.argsort(values)
    return values[order], V[:, order]


@program(
    lambda rng: (positive_definite(rng), rng.normal(size=8)),
    lambda found, a, x: np.isclose(found[0], np.linalg.eigvalsh(a)[-1], rtol=1e-4),
)
def power_iteration(a, x):
    x = x / np.linalg.norm(x)
    previous = 0.0
    for step in range(1000):
        y = a @ x
        value = x @ y
        x = y / np.linalg.norm(y)
        if abs(value - previous) < 1e-7 * abs(value):
            break
        previous = value
    if x[0] < 0:
        x = -x
    return value, x, step


@program(
    lambda rng: (positive_definite(rng, 20), rng.normal(size=20)),
    lambda found, a, b: np.allclose(a @ found[0], b),
)
def conjugate_gradients(A, b, tol=1e-10):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    history = [np.sqrt(rs)]
    for _ in range(2 * len(b)):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        new = r @ r
        history.append(np.sqrt(new))
        if np.sqrt(new) < tol:
            break
        p = r + (new / rs) * p
        rs = new
    return x, len(history)


@program(
    lambda rng: (dominant(rng)[rng.permutation(8)], rng.normal(size=8)),
    lambda found, a, b: np.allclose(found, np.linalg.solve(a, b)),
)
def gaussian_elimination(A, b):
    n = len(b)
    M = np.hstack([A, b.reshape(-1, 1)])
    for i in range(n):
        best = i
        for j in range(i + 1, n):
            if abs(M[j, i]) > abs(M[best, i]):
                best = j
        if abs(M[best, i]) < EPS:
            raise ZeroDivisionError("no pivot")
        M[[i, best]] = M[[best, i]]
        for j in range(i + 1, n):
            factor = M[j, i] / M[i, i]
            M[j] -= factor * M[i]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (M[i, n] - np.dot(M[i, i + 1 : n], x[i + 1 :])) / M[i, i]
    return x


@program(lambda rng: (dominant(rng, 6),), lambda found, a: np.isclose(found, np.linalg.det(a)))
def determinant_by_elimination(matrix):
    a = [[value for value in row] for row in matrix]
    size = len(a)
    sign = 1
    result = 1.0
    for column in range(size):
        pivot = None
        for row in range(column, size):
            if a[row][column] != 0:
                pivot = row
                break
        if pivot is None:
            return 0.0
        if pivot != column:
            a[pivot], a[column] = a[column], a[pivot]
            sign = -sign
        result *= a[column][column]
        for row in range(column + 1, size):
            ratio = a[row][column] / a[column][column]
            for k in range(column, size):
                a[row][k] -= ratio * a[column][k]
    return sign * result
