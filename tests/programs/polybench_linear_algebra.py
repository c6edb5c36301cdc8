"""Kernels of linear algebra and statistics, in loops and slices."""

import numpy as np

from .registry import program


def matrices(*shapes):
    """Makes two numbers and a matrix or vector of each shape."""
    return lambda rng: (1.5, 1.2, *(rng.uniform(0.1, 1, shape) for shape in shapes))


def positive_definite(rng, n):
    a = rng.uniform(-1, 1, (n, n))
    return a @ a.T + n * np.eye(n)


@program(
    matrices((10, 12), (10, 11), (11, 12)), lambda found, alpha, beta, C, A, B: np.allclose(found[2], alpha * A @ B + beta * C)
)
def gemm(alpha, beta, C, A, B):
    C[:] = alpha * A @ B + beta * C


@program(
    matrices((10, 12), (10, 10), (10, 12)),
    lambda found, alpha, beta, C, A, B: np.allclose(found[2], beta * C + alpha * (np.tril(A) + np.tril(A, -1).T) @ B),
)
def symm(alpha, beta, C, A, B):
    """A is symmetric, and only its lower triangle is read."""
    column = np.empty((C.shape[1],), dtype=C.dtype)
    C *= beta
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            column[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * column


@program(
    matrices((10, 10), (10, 9)),
    lambda found, alpha, beta, A, B: np.allclose(found[3], alpha * (np.eye(10) + np.tril(A, -1)).T @ B),
)
def trmm(alpha, beta, A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
    B *= alpha


@program(
    matrices((9, 9), (9, 7)),
    lambda found, alpha, beta, C, A: np.allclose(np.tril(found[2]), np.tril(beta * C + alpha * A @ A.T)),
)
def syrk(alpha, beta, C, A):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += alpha * A[i, k] * A[: i + 1, k]


@program(
    matrices((9, 9), (9, 7), (9, 7)),
    lambda found, alpha, beta, C, A, B: np.allclose(np.tril(found[2]), np.tril(beta * C + alpha * (A @ B.T + B @ A.T))),
)
def syr2k(alpha, beta, C, A, B):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += A[: i + 1, k] * alpha * B[i, k] + B[: i + 1, k] * alpha * A[i, k]


@program(
    lambda rng: (rng.uniform(size=(4, 5, 6)), rng.uniform(size=(6, 6))),
    lambda found, A, C4: np.allclose(found[0], np.einsum("rqs,sp->rqp", A, C4)),
)
def doitgen(A, C4):
    for r in range(A.shape[0]):
        for q in range(A.shape[1]):
            A[r, q, :] = A[r, q, :] @ C4


@program(matrices((10, 10), *[10] * 8), lambda found, *before: found[9].shape == (10,))
def gemver(alpha, beta, A, u1, v1, u2, v2, w, x, y, z=0.5):
    A += np.outer(u1, v1) + np.outer(u2, v2)
    x += beta * y @ A + z
    w += alpha * A @ x


@program(matrices((9, 9), (9, 9), 9), lambda found, alpha, beta, A, B, x: np.allclose(found, (alpha * A + beta * B) @ x))
def gesummv(alpha, beta, A, B, x):
    return alpha * A @ x + beta * B @ x


@program(lambda rng: (rng.normal(size=(9, 7)), rng.normal(size=7)), lambda found, A, x: np.allclose(found, A.T @ A @ x))
def atax(A, x):
    return (A @ x) @ A


@program(
    lambda rng: (rng.normal(size=(9, 7)), rng.normal(size=7), rng.normal(size=9)),
    lambda found, A, p, r: np.allclose(found[0], A.T @ r) and np.allclose(found[1], A @ p),
)
def bicg(A, p, r):
    return r @ A, A @ p


@program(
    lambda rng: (*rng.normal(size=(4, 8)), rng.normal(size=(8, 8))),
    lambda found, x1, x2, y1, y2, A: np.allclose(found[0], x1 + A @ y1) and np.allclose(found[1], x2 + A.T @ y2),
)
def mvt(x1, x2, y_1, y_2, A):
    x1 += A @ y_1
    x2 += y_2 @ A


@program(
    matrices((8, 9), (9, 7), (7, 6), (8, 6)),
    lambda found, alpha, beta, A, B, C, D: np.allclose(found[5], alpha * A @ B @ C + beta * D),
)
def k2mm(alpha, beta, A, B, C, D):
    D[:] = alpha * A @ B @ C + beta * D


@program(
    lambda rng: tuple(rng.normal(size=shape) for shape in ((8, 9), (9, 7), (7, 6), (6, 5))),
    lambda found, A, B, C, D: np.allclose(found, np.linalg.multi_dot([A, B, C, D])),
)
def k3mm(A, B, C, D):
    return A @ B @ (C @ D)


@program(lambda rng: (positive_definite(rng, 10),), lambda found, A: np.allclose(np.tril(found[0]), np.linalg.cholesky(A)))
def cholesky(A):
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])


@program(
    lambda rng: (positive_definite(rng, 10),),
    lambda found, A: np.allclose((np.tril(found[0], -1) + np.eye(10)) @ np.triu(found[0]), A),
)
def lu(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]


@program(lambda rng: (positive_definite(rng, 9), rng.uniform(size=9)), lambda found, A, b: np.allclose(A @ found[0], b))
def ludcmp(A, b):
    n = A.shape[0]
    x, y = np.zeros_like(b), np.zeros_like(b)
    for i in range(n):
        for j in range(i):
            A[i, j] = (A[i, j] - A[i, :j] @ A[:j, j]) / A[j, j]
        for j in range(i, n):
            A[i, j] -= A[i, :i] @ A[:i, j]
    for i in range(n):
        y[i] = b[i] - A[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x, y


@program(
    lambda rng: (positive_definite(rng, 12), np.empty(12), rng.uniform(size=12)),
    lambda found, L, x, b: np.allclose(np.tril(L) @ found[1], b),
)
def trisolv(L, x, b):
    for i in range(len(x)):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]


def toeplitz(r):
    column = np.concatenate([[1.0], r[:-1]])
    return column[np.abs(np.subtract.outer(np.arange(len(r)), np.arange(len(r))))]


@program(lambda rng: (rng.uniform(0, 0.1, 10),), lambda found, r: np.allclose(toeplitz(r) @ found, -r))
def durbin(r):
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


@program(lambda rng: (rng.normal(size=(10, 7)),), lambda found, A: np.allclose(found[0] @ found[1], A))
def gramschmidt(A):
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]), dtype=A.dtype)
    for k in range(A.shape[1]):
        nrm = np.dot(A[:, k], A[:, k])
        R[k, k] = np.sqrt(nrm)
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return Q, R


@program(lambda rng: (12.0, rng.normal(size=(12, 8))), lambda found, n, data: np.allclose(found, np.cov(data.T)))
def covariance(float_n, data):
    mean = np.mean(data, axis=0)
    data -= mean
    cov = np.zeros((data.shape[1], data.shape[1]), dtype=data.dtype)
    for i in range(data.shape[1]):
        cov[i:, i] = data[:, i] @ data[:, i:] / (float_n - 1.0)
        cov[i, i:] = cov[i:, i]
    return cov


@program(lambda rng: (12, rng.normal(size=(12, 8))), lambda found, n, data: np.allclose(found, np.corrcoef(data.T)))
def correlation(n, data):
    stddev = np.std(data, axis=0)
    stddev[stddev <= 0.1] = 1.0
    data -= np.mean(data, axis=0)
    data /= np.sqrt(n) * stddev
    corr = np.eye(data.shape[1], dtype=data.dtype)
    for i in range(data.shape[1] - 1):
        corr[i + 1 :, i] = corr[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
    return corr


@program(lambda rng: (12, rng.normal(size=(12, 8))), lambda found, n, data: np.allclose(found, np.cov(data.T)))
def covariance_by_elements(n, data):
    centred = np.subtract(data, np.mean(data, axis=0), out=data)
    columns = data.shape[1]
    cov = np.empty((columns, columns), dtype=data.dtype)
    for i in range(columns):
        for j in range(i, columns):
            cov[i, j] = np.sum(centred[:, i] * centred[:, j])
            cov[i, j] /= n - 1.0
            cov[j, i] = cov[i, j]
    return cov


@program(lambda rng: (rng.normal(size=(12, 8)),), lambda found, data: np.allclose(found, np.cov(data.T)))
def covariance_of_numpy(data):
    return np.cov(np.transpose(data))


@program(lambda rng: (positive_definite(rng, 10),), lambda found, A: np.allclose(np.tril(found[0]), np.linalg.cholesky(A)))
def cholesky_of_numpy(A):
    """The factor in the lower triangle, what was there above it."""
    A[:] = np.linalg.cholesky(A) + np.triu(A, k=1)
