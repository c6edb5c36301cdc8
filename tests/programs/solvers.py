"""Programs of numerical analysis: extrapolation, exchange algorithms, Krylov spaces, adaptive steps, elements, wavelets."""

import math

import numpy as np

from .registry import program


@program(lambda rng: (0.0, float(1), 1e-10))
def romberg(a, b, tol):

    def f(x):
        return math.exp(-x * x) * math.cos(3 * x)

    R = [[0.5 * (b - a) * (f(a) + f(b))]]
    h = b - a
    for i in range(1, 20):
        h /= 2
        s = sum(f(a + (2 * k - 1) * h) for k in range(1, 2 ** (i - 1) + 1))
        row = [0.5 * R[i - 1][0] + h * s]
        for j in range(1, i + 1):
            row.append(row[j - 1] + (row[j - 1] - R[i - 1][j - 1]) / (4**j - 1))
        R.append(row)
        if abs(R[i][i] - R[i - 1][i - 1]) < tol:
            return (R[i][i], i)
    raise RuntimeError(f"no convergence on [{a}, {b}]")


@program(lambda rng: (4,))
def remez(n):
    f = np.exp
    nodes = np.cos(np.pi * np.arange(n + 2) / (n + 1))[::-1]
    grid = np.linspace(-1, 1, 2001)
    for it in range(10):
        A = np.empty((n + 2, n + 2))
        A[:, : n + 1] = np.vander(nodes, n + 1, increasing=True)
        A[:, n + 1] = (-1.0) ** np.arange(n + 2)
        sol = np.linalg.solve(A, f(nodes))
        c, E = (sol[:-1], sol[-1])
        err = f(grid) - np.polynomial.polynomial.polyval(grid, c)
        sign = np.sign(err)
        cuts = np.flatnonzero(np.diff(sign)) + 1
        pieces = np.split(np.arange(grid.size), cuts)
        if len(pieces) != n + 2:
            break
        nodes = np.array([grid[p[np.argmax(np.abs(err[p]))]] for p in pieces])
        if abs(np.abs(err).max() - abs(E)) < 1e-10:
            break
    return (c, abs(E), it)


@program(lambda rng: (rng.uniform(-1, 1, (8, 8)), rng.normal(size=8)))
def gmres(A, b):
    A = A + 4 * np.eye(len(b))
    n = len(b)
    m = n
    Q = np.zeros((n, m + 1))
    H = np.zeros((m + 1, m))
    beta = np.linalg.norm(b)
    Q[:, 0] = b / beta
    cs, sn = (np.zeros(m), np.zeros(m))
    g = np.zeros(m + 1)
    g[0] = beta
    for k in range(m):
        w = A @ Q[:, k]
        for j in range(k + 1):
            H[j, k] = Q[:, j] @ w
            w = w - H[j, k] * Q[:, j]
        H[k + 1, k] = np.linalg.norm(w)
        if H[k + 1, k] > 1e-12:
            Q[:, k + 1] = w / H[k + 1, k]
        for j in range(k):
            H[j, k], H[j + 1, k] = (cs[j] * H[j, k] + sn[j] * H[j + 1, k], -sn[j] * H[j, k] + cs[j] * H[j + 1, k])
        r = math.hypot(H[k, k], H[k + 1, k])
        cs[k], sn[k] = (H[k, k] / r, H[k + 1, k] / r)
        H[k, k], H[k + 1, k] = (r, 0.0)
        g[k], g[k + 1] = (cs[k] * g[k], -sn[k] * g[k])
        if abs(g[k + 1]) < 1e-09:
            break
    y = np.linalg.solve(H[: k + 1, : k + 1], g[: k + 1])
    return (Q[:, : k + 1] @ y, k)


@program(lambda rng: (np.array([1.0, 0.0]), 0.0, 5.0, 1e-06, 1.0))
def rkf45(y, t, end, tol, mu):

    def f(t, y):
        return np.array([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

    ts, ys = ([t], [y])
    h = 0.1
    rejected = 0
    while t < end:
        h = min(h, end - t)
        k1 = f(t, y)
        k2 = f(t + h / 4, y + h * k1 / 4)
        k3 = f(t + 3 * h / 8, y + h * (3 * k1 + 9 * k2) / 32)
        k4 = f(t + 12 * h / 13, y + h * (1932 * k1 - 7200 * k2 + 7296 * k3) / 2197)
        k5 = f(t + h, y + h * (439 / 216 * k1 - 8 * k2 + 3680 / 513 * k3 - 845 / 4104 * k4))
        k6 = f(t + h / 2, y + h * (-8 / 27 * k1 + 2 * k2 - 3544 / 2565 * k3 + 1859 / 4104 * k4 - 11 / 40 * k5))
        err = np.linalg.norm(h * (k1 / 360 - 128 / 4275 * k3 - 2197 / 75240 * k4 + k5 / 50 + 2 / 55 * k6))
        if err <= tol:
            t += h
            y = y + h * (25 / 216 * k1 + 1408 / 2565 * k3 + 2197 / 4104 * k4 - k5 / 5)
            ts.append(t)
            ys.append(y)
        else:
            rejected += 1
        h *= min(4, max(0.1, 0.84 * (tol / max(err, 1e-30)) ** 0.25))
    return (np.array(ts), np.vstack(ys), rejected)


@program(lambda rng: (np.sort(rng.uniform(size=10)),))
def fem1d(nodes):
    n = len(nodes)
    elements = [(i, i + 1) for i in range(n - 1)]
    K = np.zeros((n, n))
    F = np.zeros(n)
    for a, b in elements:
        L = nodes[b] - nodes[a]
        ke = np.array([[1, -1], [-1, 1]]) / L
        K[np.ix_([a, b], [a, b])] += ke
        F[[a, b]] += L / 2
    free = np.setdiff1d(np.arange(n), [0, n - 1])
    u = np.zeros(n)
    u[free] = np.linalg.solve(K[np.ix_(free, free)], F[free])
    return (u, K)


@program(lambda rng: (rng.normal(size=100), 6))
def levinson(x, order):
    n = len(x)
    r = np.correlate(x, x, mode="full")[n - 1 : n + order] / n
    a = np.zeros(order + 1)
    a[0] = 1
    e = r[0]
    ks = []
    for m in range(1, order + 1):
        k = -(r[m] + a[1:m] @ r[m - 1 : 0 : -1]) / e
        ks.append(k)
        a[1:m] = a[1:m] + k * a[m - 1 : 0 : -1]
        a[m] = k
        e *= 1 - k * k
    return (a, e, ks)


@program(lambda rng: (rng.normal(size=(5, 5)),))
def lu_pivot(A):
    A = A.copy()
    n = len(A)
    perm = list(range(n))
    sign = 1
    for k in range(n - 1):
        p = k + int(np.argmax(abs(A[k:, k])))
        if A[p, k] == 0:
            raise np.linalg.LinAlgError("singular")
        if p != k:
            A[[k, p]] = A[[p, k]]
            perm[k], perm[p] = (perm[p], perm[k])
            sign = -sign
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return (A, perm, sign * A.diagonal().prod())


@program(lambda rng: (rng.normal(size=(8, 8)).astype(np.float32),))
def haar2d(img):
    out = img.copy()
    n = len(img)
    while n > 1 and n % 2 == 0:
        sub = out[:n, :n]
        for ax in (0, 1):
            s = np.swapaxes(sub, 0, ax)
            a, d = ((s[::2] + s[1::2]) / 2, (s[::2] - s[1::2]) / 2)
            s[: n // 2], s[n // 2 :] = (a, d)
        n //= 2
    return out
