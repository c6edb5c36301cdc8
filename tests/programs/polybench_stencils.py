"""Stencils, sweeps and recurrences on grids."""

import numpy as np

from .registry import program


def grids(*sizes, count=1):
    return lambda rng: tuple(rng.uniform(size=sizes) for _ in range(count))


def steps_and(steps, make):
    return lambda rng: (steps, *make(rng))


def relaxed(points, axes):
    """One round of an average over a cross, computed by rolling."""
    middle = (slice(1, -1),) * points.ndim
    total = points + sum(np.roll(points, by, axis) for axis in range(axes) for by in (1, -1))
    out = points.copy()
    out[middle] = total[middle]
    return out


def jacobi_1d_check(found, steps, A, B):
    for _ in range(1, steps):
        B = np.where(np.arange(len(A)) % (len(A) - 1) == 0, B, 0.33333 * relaxed(A, 1))
        A = np.where(np.arange(len(A)) % (len(A) - 1) == 0, A, 0.33333 * relaxed(B, 1))
    return np.allclose(found[1], A)


@program(steps_and(40, grids(30, count=2)), jacobi_1d_check)
def jacobi_1d(TSTEPS, A, B):
    for t in range(1, TSTEPS):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])


@program(steps_and(25, grids(14, 14, count=2)), lambda found, n, A, B: np.ptp(found[1][4:-4, 4:-4]) < np.ptp(A))
def jacobi_2d(TSTEPS, A, B):
    for t in range(1, TSTEPS):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])


@program(steps_and(10, grids(8, 8, 8, count=2)), lambda found, n, A, B: np.ptp(found[1]) <= np.ptp(A) + 1e-9)
def heat_3d(TSTEPS, A, B):
    for t in range(1, TSTEPS):
        for source, target in ((A, B), (B, A)):
            middle = source[1:-1, 1:-1, 1:-1]
            target[1:-1, 1:-1, 1:-1] = (
                0.125 * (source[2:, 1:-1, 1:-1] - 2.0 * middle + source[:-2, 1:-1, 1:-1])
                + 0.125 * (source[1:-1, 2:, 1:-1] - 2.0 * middle + source[1:-1, :-2, 1:-1])
                + 0.125 * (source[1:-1, 1:-1, 2:] - 2.0 * middle + source[1:-1, 1:-1, :-2])
                + middle
            )


@program(lambda rng: (6, 12, rng.uniform(size=(12, 12))), lambda found, n, N, A: np.array_equal(found[2][0], A[0]))
def seidel_2d(TSTEPS, N, A):
    for t in range(0, TSTEPS - 1):
        for i in range(1, N - 1):
            A[i, 1:-1] += (
                A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:] + A[i + 1, :-2] + A[i + 1, 1:-1] + A[i + 1, 2:]
            )
            for j in range(1, N - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0


@program(lambda rng: (15, *(rng.uniform(size=(10, 12)) for _ in range(3)), rng.uniform(size=15)))
def fdtd_2d(TMAX, ex, ey, hz, fict):
    for t in range(TMAX):
        ey[0, :] = fict[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


@program(lambda rng: (4, 10, rng.uniform(size=(10, 10))), lambda found, n, N, u: np.all(np.isfinite(found[2])))
def adi(TSTEPS, N, u):
    v, p, q = np.empty_like(u), np.empty_like(u), np.empty_like(u)
    DX = DY = 1.0 / N
    DT = 1.0 / TSTEPS
    mul1, mul2 = 2.0 * DT / (DX * DX), 1.0 * DT / (DY * DY)
    a = c = -mul1 / 2.0
    b = 1.0 + mul1
    d = f = -mul2 / 2.0
    e = 1.0 + mul2
    for t in range(1, TSTEPS + 1):
        v[0, 1 : N - 1] = 1.0
        p[1 : N - 1, 0] = 0.0
        q[1 : N - 1, 0] = v[0, 1 : N - 1]
        for j in range(1, N - 1):
            p[1 : N - 1, j] = -c / (a * p[1 : N - 1, j - 1] + b)
            q[1 : N - 1, j] = (
                -d * u[j, 0 : N - 2] + (1.0 + 2.0 * d) * u[j, 1 : N - 1] - f * u[j, 2:N] - a * q[1 : N - 1, j - 1]
            ) / (a * p[1 : N - 1, j - 1] + b)
        v[N - 1, 1 : N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            v[j, 1 : N - 1] = p[1 : N - 1, j] * v[j + 1, 1 : N - 1] + q[1 : N - 1, j]
        u[1 : N - 1, 0] = 1.0
        p[1 : N - 1, 0] = 0.0
        q[1 : N - 1, 0] = u[1 : N - 1, 0]
        for j in range(1, N - 1):
            p[1 : N - 1, j] = -f / (d * p[1 : N - 1, j - 1] + e)
            q[1 : N - 1, j] = (
                -a * v[0 : N - 2, j] + (1.0 + 2.0 * a) * v[1 : N - 1, j] - c * v[2:N, j] - d * q[1 : N - 1, j - 1]
            ) / (d * p[1 : N - 1, j - 1] + e)
        u[1 : N - 1, N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            u[1 : N - 1, j] = p[1 : N - 1, j] * u[1 : N - 1, j + 1] + q[1 : N - 1, j]


@program(lambda rng: (0.25, rng.uniform(size=(12, 9))), lambda found, alpha, image: found.shape == image.shape)
def deriche(alpha, imgIn):
    """An edge detector of recursive filters, along the rows and then along the columns."""
    k = (1.0 - np.exp(-alpha)) ** 2 / (1.0 + alpha * np.exp(-alpha) - np.exp(2.0 * alpha))
    a1 = a5 = k
    a2 = a6 = k * np.exp(-alpha) * (alpha - 1.0)
    a3 = a7 = k * np.exp(-alpha) * (alpha + 1.0)
    a4 = a8 = -k * np.exp(-2.0 * alpha)
    b1 = 2.0 ** (-alpha)
    b2 = -np.exp(-2.0 * alpha)
    y1 = np.empty_like(imgIn)
    y1[:, 0] = a1 * imgIn[:, 0]
    y1[:, 1] = a1 * imgIn[:, 1] + a2 * imgIn[:, 0] + b1 * y1[:, 0]
    for j in range(2, imgIn.shape[1]):
        y1[:, j] = a1 * imgIn[:, j] + a2 * imgIn[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
    y2 = np.empty_like(imgIn)
    y2[:, -1] = 0.0
    y2[:, -2] = a3 * imgIn[:, -1]
    for j in range(imgIn.shape[1] - 3, -1, -1):
        y2[:, j] = a3 * imgIn[:, j + 1] + a4 * imgIn[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
    imgOut = y1 + y2
    y1[0, :] = a5 * imgOut[0, :]
    y1[1, :] = a5 * imgOut[1, :] + a6 * imgOut[0, :] + b1 * y1[0, :]
    for i in range(2, imgIn.shape[0]):
        y1[i, :] = a5 * imgOut[i, :] + a6 * imgOut[i - 1, :] + b1 * y1[i - 1, :] + b2 * y1[i - 2, :]
    y2[-1, :] = 0.0
    y2[-2, :] = a7 * imgOut[-1, :]
    for i in range(imgIn.shape[0] - 3, -1, -1):
        y2[i, :] = a7 * imgOut[i + 1, :] + a8 * imgOut[i + 2, :] + b1 * y2[i + 1, :] + b2 * y2[i + 2, :]
    imgOut[:] = y1 + y2
    return imgOut


@program(lambda rng: (rng.integers(1, 50, (12, 12)),), lambda found, path: np.all(found[0] <= path))
def floyd_warshall(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))


@program(lambda rng: (14, rng.integers(0, 4, 14)), lambda found, N, seq: np.all(np.diff(found[0]) >= 0))
def nussinov(N, seq):
    """The greatest number of pairs in a folded sequence of bases."""

    def match(b1, b2):
        if b1 + b2 == 3:
            return 1
        else:
            return 0

    table = np.zeros((N, N), np.int32)
    for i in range(N - 1, -1, -1):
        for j in range(i + 1, N):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < N:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < N:
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + match(seq[i], seq[j]))
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table
