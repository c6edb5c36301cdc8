"""Systems of equations and eigenvalues by iteration."""

import numpy as np

from .registry import program


def diagonally_dominant(rng, n=12):
    a = rng.uniform(-1, 1, size=(n, n))
    return a + np.diag(np.abs(a).sum(axis=1) + 1), rng.normal(size=n)


def solves(found, a, b, *others):
    return np.allclose(a @ found, b, atol=1e-5)


@program(lambda rng: (*diagonally_dominant(rng), 1e-8), lambda found, a, b, tol: solves(found[0], a, b))
def jacobi_iteration(A, b, tol):
    D = np.diag(A)
    R = A - np.diagflat(D)
    x = np.zeros(len(b))
    iterations = 0
    while True:
        x_new = (b - R @ x) / D
        iterations += 1
        if np.max(np.abs(x_new - x)) < tol or iterations >= 200:
            break
        x = x_new
    return x_new, iterations


@program(lambda rng: (*diagonally_dominant(rng), 1e-8), solves)
def gauss_seidel(A, b, tol, max_iterations=100):
    n = len(b)
    x = np.zeros(n)
    for iteration in range(max_iterations):
        x_old = x.copy()
        for i in range(n):
            sigma = 0.0
            for j in range(n):
                if j != i:
                    sigma += A[i, j] * x[j]
            x[i] = (b[i] - sigma) / A[i, i]
        if np.linalg.norm(x - x_old, np.inf) < tol:
            return x
    raise RuntimeError(f"no convergence after {max_iterations} iterations")


@program(lambda rng: (rng.normal(size=(14, 14)), 1.7))
def successive_over_relaxation(source, omega):
    """Poisson's equation on a grid with a zero boundary."""
    rows, columns = source.shape
    h = 1.0 / (rows - 1)
    u = np.zeros((rows, columns))
    residual = 1.0
    sweeps = 0
    while residual > 1e-5 and sweeps < 20:
        residual = 0.0
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                change = (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - h * h * source[i, j]) / 4 - u[i, j]
                u[i, j] += omega * change
                residual = max(residual, abs(change))
        sweeps += 1
    return u, sweeps, residual


def thomas(lower, diagonal, upper, rhs):
    """A tridiagonal system; lower[0] and upper[-1] are not read."""
    n = len(diagonal)
    c = np.zeros(n)
    d = np.zeros(n)
    c[0] = upper[0] / diagonal[0]
    d[0] = rhs[0] / diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / pivot
        d[i] = (rhs[i] - lower[i] * d[i - 1]) / pivot
    x = np.empty(n)
    x[-1] = d[-1]
    for i in reversed(range(n - 1)):
        x[i] = d[i] - c[i] * x[i + 1]
    return x


@program(
    lambda rng: (np.cumsum(rng.uniform(0.5, 1.5, 10)), rng.normal(size=10), rng.uniform(1.6, 5.0, 40)),
    lambda found, x, y, points: np.all(np.isfinite(found)),
)
def cubic_spline(x, y, points):
    """The natural spline through the data, at some points."""
    n = len(x)
    h = np.diff(x)
    slopes = np.diff(y) / h
    diagonal = np.ones(n)
    lower, upper, rhs = np.zeros((3, n))
    for i in range(1, n - 1):
        lower[i], diagonal[i], upper[i] = h[i - 1], 2 * (h[i - 1] + h[i]), h[i]
        rhs[i] = 6 * (slopes[i] - slopes[i - 1])
    m = thomas(lower, diagonal, upper, rhs)
    out = np.empty_like(points)
    for k, p in enumerate(points):
        i = np.searchsorted(x, p) - 1
        if i < 0:
            i = 0
        elif i > n - 2:
            i = n - 2
        left, right = p - x[i], x[i + 1] - p
        out[k] = (
            (m[i] * right**3 + m[i + 1] * left**3) / (6 * h[i])
            + (y[i] / h[i] - m[i] * h[i] / 6) * right
            + (y[i + 1] / h[i] - m[i + 1] * h[i] / 6) * left
        )
    return out


def smooth(u, f, h, sweeps):
    for _ in range(sweeps):
        u[1:-1] = u[1:-1] + 2 / 3 * ((u[:-2] + u[2:] + h * h * f[1:-1]) / 2 - u[1:-1])
    return u


def v_cycle(u, f, h):
    """One cycle for -u'' = f; the grid has a power of two of intervals."""
    if len(u) <= 3:
        u[1] = (u[0] + u[2] + h * h * f[1]) / 2
        return u
    u = smooth(u, f, h, 2)
    residual = np.zeros_like(f)
    residual[1:-1] = f[1:-1] + (u[:-2] - 2 * u[1:-1] + u[2:]) / (h * h)
    coarse = np.zeros(len(u) // 2 + 1)
    coarse[1:-1] = (residual[1:-3:2] + 2 * residual[2:-2:2] + residual[3:-1:2]) / 4
    error = v_cycle(np.zeros_like(coarse), coarse, 2 * h)
    u[::2] += error
    u[1::2] += (error[:-1] + error[1:]) / 2
    return smooth(u, f, h, 2)


@program(lambda rng: (rng.normal(size=65),), lambda found, f: np.allclose(found[1][-1], 0, atol=1e-4))
def multigrid(f):
    n = len(f) - 1
    h = 1.0 / n
    u = np.zeros(n + 1)
    norms = []
    for cycle in range(8):
        u = v_cycle(u, f, h)
        r = f[1:-1] + (u[:-2] - 2 * u[1:-1] + u[2:]) / h**2
        norms.append(np.sqrt(np.sum(r**2) * h))
    return u, np.array(norms)


@program(lambda rng: diagonally_dominant(rng), solves)
def biconjugate_gradients_stabilized(A, b):
    x = np.zeros_like(b)
    r = b - A.dot(x)
    r_hat = r.copy()
    rho = alpha = omega = 1.0
    v = p = np.zeros_like(b)
    for i in range(1, 50):
        rho_new = np.dot(r_hat, r)
        beta = (rho_new / rho) * (alpha / omega)
        p = r + beta * (p - omega * v)
        v = A.dot(p)
        alpha = rho_new / np.dot(r_hat, v)
        s = r - alpha * v
        if np.linalg.norm(s) < 1e-10:
            return x + alpha * p
        t = A.dot(s)
        omega = np.dot(t, s) / np.dot(t, t)
        x = x + alpha * p + omega * s
        r = s - omega * t
        if np.linalg.norm(r) < 1e-10:
            return x
        rho = rho_new
    return x


@program(
    lambda rng: (rng.normal(size=(20, 20)), rng.normal(size=20), 8),
    lambda found, a, start, steps: np.allclose(found[0][:, :-1].T @ (a + a.T) @ found[0][:, :-1], found[1], atol=1e-8),
)
def lanczos(a, start, steps):
    """An orthonormal basis of a Krylov space, and the symmetric matrix in it."""
    A = a + a.T
    Q = np.zeros((len(start), steps + 1))
    T = np.zeros((steps, steps))
    Q[:, 0] = start / np.linalg.norm(start)
    beta = 0.0
    for k in range(steps):
        w = A @ Q[:, k]
        alpha = Q[:, k] @ w
        w -= alpha * Q[:, k]
        if k > 0:
            w -= beta * Q[:, k - 1]
        w -= Q[:, : k + 1] @ (Q[:, : k + 1].T @ w)
        beta = np.linalg.norm(w)
        T[k, k] = alpha
        if k + 1 < steps:
            T[k, k + 1] = T[k + 1, k] = beta
        if beta < 1e-12:
            break
        Q[:, k + 1] = w / beta
    return Q, T


@program(lambda rng: (rng.normal(size=(7, 7)),), lambda found, a: np.allclose(found[0], np.linalg.eigvalsh(a + a.T), atol=1e-6))
def qr_algorithm(a):
    """Eigenvalues of the symmetric part by QR steps with shifts and deflation."""
    A = a + a.T
    eigenvalues = []
    steps = 0
    while A.shape[0] > 1:
        n = A.shape[0]
        shift = A[n - 1, n - 1]
        q, r = np.linalg.qr(A - shift * np.eye(n))
        A = r @ q + shift * np.eye(n)
        steps += 1
        if abs(A[n - 1, n - 2]) < 1e-10:
            eigenvalues.append(A[n - 1, n - 1])
            A = A[: n - 1, : n - 1]
        if steps > 500:
            raise RuntimeError("too many steps")
    eigenvalues.append(A[0, 0])
    return np.sort(eigenvalues), steps
