"""Numerical analysis: solvers as a course builds them, with options in dicts, callbacks, histories, event detection."""

from collections import deque

import numpy as np

from .registry import program


def givens(a, b):
    if b == 0:
        return 1.0, 0.0
    r = np.hypot(a, b)
    return a / r, -b / r


@program(lambda rng: (rng.normal(size=(6, 4)),), lambda found, a: np.allclose(found[0] @ found[1], a))
def givens_qr(a):
    """Rotations of two rows, by fancy indexing with a list."""
    m, n = a.shape
    q, r = np.eye(m), a.copy()
    for j in range(n):
        for i in range(m - 1, j, -1):
            c, s = givens(r[i - 1, j], r[i, j])
            g = np.array([[c, -s], [s, c]])
            r[[i - 1, i]] = g @ r[[i - 1, i]]
            q[:, [i - 1, i]] = q[:, [i - 1, i]] @ g.T
    r[np.abs(r) < 1e-14] = 0
    return q, r


@program(lambda rng: (rng.normal(size=(20, 20)) + 8 * np.eye(20), rng.normal(size=20)))
def gmres(a, b, tol=1e-8, max_iter=None):
    """Arnoldi, least squares of a growing Hessenberg matrix, an early return."""
    n = len(b)
    max_iter = n if max_iter is None else max_iter
    q = np.zeros((n, max_iter + 1))
    h = np.zeros((max_iter + 1, max_iter))
    beta = np.linalg.norm(b)
    q[:, 0] = b / beta
    residuals = [beta]
    x = np.zeros(n)
    for k in range(max_iter):
        v = a @ q[:, k]
        for j in range(k + 1):
            h[j, k] = q[:, j] @ v
            v = v - h[j, k] * q[:, j]
        h[k + 1, k] = np.linalg.norm(v)
        if h[k + 1, k] > 1e-14:
            q[:, k + 1] = v / h[k + 1, k]
        e1 = np.zeros(max_iter + 1)
        e1[0] = beta
        hk = h[: k + 2, : k + 1]
        y = np.linalg.solve(hk.T @ hk, hk.T @ e1[: k + 2])
        residuals.append(np.linalg.norm(hk @ y - e1[: k + 2]))
        x = q[:, : k + 1] @ y
        if residuals[-1] < tol * beta:
            return x, residuals, True
    return x, residuals, False


def rk45_coefficients():
    return {
        "c": [0, 1 / 4, 3 / 8, 12 / 13, 1, 1 / 2],
        "a": [
            [],
            [1 / 4],
            [3 / 32, 9 / 32],
            [1932 / 2197, -7200 / 2197, 7296 / 2197],
            [439 / 216, -8, 3680 / 513, -845 / 4104],
            [-8 / 27, 2, -3544 / 2565, 1859 / 4104, -11 / 40],
        ],
        "b4": [25 / 216, 0, 1408 / 2565, 2197 / 4104, -1 / 5, 0],
        "b5": [16 / 135, 0, 6656 / 12825, 28561 / 56430, -9 / 50, 2 / 55],
    }


class OdeResult(dict):
    """A dict whose keys are attributes, as SciPy has it."""

    def __getattr__(self, name):
        return self[name]


@program(lambda rng: (rng.uniform(0.5, 2, 2), (0.0, 5.0)))
def fehlberg(y0, t_span, rtol=1e-6, atol=1e-8):
    """Steps of varying length, kept in lists; rejected ones are counted."""
    tableau = rk45_coefficients()

    def rhs(t, y):
        return np.array([y[1], (1 - y[0] ** 2) * y[1] - y[0]])

    t, end = t_span
    y, h = np.asarray(y0), 0.1
    ts, ys, rejected = [t], [y], 0
    while t < end:
        h = min(h, end - t)
        k = []
        for c, row in zip(tableau["c"], tableau["a"]):
            k.append(rhs(t + c * h, y + h * sum((a * ki for a, ki in zip(row, k)), np.zeros(2))))
        y5 = y + h * sum(b * ki for b, ki in zip(tableau["b5"], k))
        y4 = y + h * sum(b * ki for b, ki in zip(tableau["b4"], k))
        scale = atol + rtol * np.maximum(np.abs(y), np.abs(y5))
        error = np.sqrt(np.mean(((y5 - y4) / scale) ** 2))
        if error <= 1:
            t += h
            y = y5
            ts.append(t)
            ys.append(y)
        else:
            rejected += 1
        h *= min(5.0, max(0.2, 0.9 * error**-0.2)) if error > 0 else 5.0
    return np.array(ts), np.array(ys), rejected


@program(lambda rng: (rng.uniform(5, 20), rng.uniform(5, 15)))
def bouncing_ball(height, speed):
    """Events are found between steps by bisection; a deque keeps the last of them."""
    g, restitution, dt = 9.81, 0.8, 0.01
    t, y, v = 0.0, height, speed
    recent = deque(maxlen=3)
    bounces = 0
    while t < 6:
        y_new, v_new = y + v * dt - 0.5 * g * dt**2, v - g * dt
        if y_new < 0:
            low, high = 0.0, dt
            for _ in range(40):
                middle = 0.5 * (low + high)
                if y + v * middle - 0.5 * g * middle**2 > 0:
                    low = middle
                else:
                    high = middle
            t += low
            y, v = 0.0, -restitution * (v - g * low)
            bounces += 1
            recent.append(t)
            if abs(v) < 0.5:
                break
        else:
            t, y, v = t + dt, y_new, v_new
    return bounces, list(recent), t, y


@program(lambda rng: (rng.uniform(50, 200), np.array([1.0, 0.0])))
def backward_differences(stiffness, y0):
    """An implicit method of second order with Newton in each step and a Jacobian from differences."""

    def f(t, y):
        return np.array([-stiffness * (y[0] - np.cos(t)), y[0] - y[1]])

    def jacobian(t, y, eps=1e-7):
        base = f(t, y)
        J = np.empty((len(y), len(y)))
        for j in range(len(y)):
            dy = y.copy()
            dy[j] += eps
            J[:, j] = (f(t, dy) - base) / eps
        return J

    h, steps = 0.05, 40
    ys = np.empty((steps + 1, 2))
    ys[0] = y0
    newton_steps = 0
    for n in range(steps):
        t = (n + 1) * h
        if n == 0:
            known, gamma = ys[0], h
        else:
            known, gamma = (4 * ys[n] - ys[n - 1]) / 3, 2 * h / 3
        y = ys[n].copy()
        for _ in range(10):
            residual = y - known - gamma * f(t, y)
            delta = np.linalg.solve(np.eye(2) - gamma * jacobian(t, y), -residual)
            y += delta
            newton_steps += 1
            if np.max(np.abs(delta)) < 1e-10:
                break
        ys[n + 1] = y
    return ys, newton_steps


@program(lambda rng: (rng.normal(size=40), 60))
def burgers_with_limiters(noise, steps, cfl=0.4):
    """Finite volumes with a limiter that is chosen from a dict and passed as a function."""
    limiters = {
        "minmod": lambda a, b: np.where(a * b > 0, np.where(np.abs(a) < np.abs(b), a, b), 0.0),
        "vanleer": lambda a, b: np.where(a * b > 0, 2 * a * b / np.where(a + b == 0, 1, a + b), 0.0),
        "none": lambda a, b: np.zeros_like(a),
    }
    dx = 1 / len(noise)

    def godunov(ul, ur):
        return np.where(
            ul > ur,
            np.maximum(ul**2, ur**2) / 2,
            np.where((ul < 0) & (ur > 0), 0.0, np.minimum(ul**2, ur**2) / 2),
        )

    def solve(limiter):
        u = 1.0 + 0.2 * noise
        t = 0.0
        for _ in range(steps):
            dt = cfl * dx / max(np.abs(u).max(), 1e-12)
            slope = limiter(u - np.roll(u, 1), np.roll(u, -1) - u)
            left, right = u + slope / 2, np.roll(u - slope / 2, -1)
            flux = godunov(left, right)
            u = u - dt / dx * (flux - np.roll(flux, 1))
            t += dt
        return u, t

    return {name: solve(limiter) for name, limiter in limiters.items()}


@program(lambda rng: (rng.uniform(0.8, 1.2, 3), rng.uniform(0.1, 0.2, 3), 100))
def euler_equations(left, right, n):
    """Sod's tube with the HLL flux; conserved variables as rows, primitives by a helper that returns a tuple."""
    gamma = 1.4

    def conserved(rho, u, p):
        return np.array([rho, rho * u, p / (gamma - 1) + 0.5 * rho * u**2])

    def primitive(U):
        rho, m, e = U
        u = m / rho
        return rho, u, (gamma - 1) * (e - 0.5 * rho * u**2)

    def flux(U):
        rho, u, p = primitive(U)
        return np.array([U[1], U[1] * u + p, u * (U[2] + p)])

    x = (np.arange(n) + 0.5) / n
    U = np.empty((3, n))
    U[:, x < 0.5] = conserved(left[0], 0.0, left[2])[:, None]
    U[:, x >= 0.5] = conserved(right[0], 0.0, right[2])[:, None]
    t, rounds = 0.0, 0
    while t < 0.15:
        rho, u, p = primitive(U)
        c = np.sqrt(gamma * p / rho)
        dt = min(0.4 / n / np.max(np.abs(u) + c), 0.15 - t)
        P = np.pad(U, ((0, 0), (1, 1)), mode="edge")
        L, R = P[:, :-1], P[:, 1:]
        (rl, ul, pl), (rr, ur, pr) = primitive(L), primitive(R)
        sl = np.minimum(ul - np.sqrt(gamma * pl / rl), ur - np.sqrt(gamma * pr / rr))
        sr = np.maximum(ul + np.sqrt(gamma * pl / rl), ur + np.sqrt(gamma * pr / rr))
        middle = (sr * flux(L) - sl * flux(R) + sl * sr * (R - L)) / (sr - sl)
        F = np.where(sl >= 0, flux(L), np.where(sr <= 0, flux(R), middle))
        U = U - dt * n * (F[:, 1:] - F[:, :-1])
        t += dt
        rounds += 1
    return primitive(U), rounds


def chebyshev(n):
    if n == 0:
        return np.array([[0.0]]), np.array([1.0])
    x = np.cos(np.pi * np.arange(n + 1) / n)
    c = np.hstack([2, np.ones(n - 1), 2]) * (-1) ** np.arange(n + 1)
    X = np.tile(x, (n + 1, 1)).T
    dX = X - X.T
    D = np.outer(c, 1 / c) / (dX + np.eye(n + 1))
    D -= np.diag(D.sum(axis=1))
    return D, x


@program(lambda rng: (rng.uniform(1, 4), 16))
def spectral_collocation(k, n):
    """Chebyshev points, a differentiation matrix, and Newton on u'' = exp(k u)."""
    D, x = chebyshev(n)
    D2 = (D @ D)[1:-1, 1:-1]
    u = np.zeros(n - 1)
    change, it = 1.0, 0
    while change > 1e-12 and it < 20:
        residual = D2 @ u - np.exp(k * u) / 4
        step = np.linalg.solve(D2 - np.diag(k * np.exp(k * u) / 4), -residual)
        u += step
        change = np.linalg.norm(step, np.inf)
        it += 1
    u = np.concatenate(([0], u, [0]))
    return x, u, it


@program(lambda rng: (rng.uniform(-1, 1, 3),))
def broyden(x0, tol=1e-10, callback=None):
    """A rank-one update of an inverse, an optional callback, keyword arguments handed on."""
    history = []
    callback = callback or (lambda x, **info: history.append(info["norm"]))

    def f(x):
        return np.array([3 * x[0] - np.cos(x[1] * x[2]) - 0.5, x[0] ** 2 - 81 * (x[1] + 0.1) ** 2 + np.sin(x[2]) + 1.06,
                         np.exp(-x[0] * x[1]) + 20 * x[2] + 9.5])  # fmt: skip

    x = np.array(x0) * 0.1
    fx = f(x)
    B = np.linalg.inv(np.array([[3.0, 0, 0], [0, -16.2, 1.0], [0, 0, 20.0]]))
    for k in range(25):
        callback(x, iteration=k, norm=np.linalg.norm(fx))
        s = -B @ fx
        x = x + s
        new = f(x)
        y = new - fx
        fx = new
        Bs = s @ B
        B += np.outer(s - B @ y, Bs) / (Bs @ y)
    return x, np.round(history[-1], 6) < 1, len(history)


@program(lambda rng: (rng.normal(size=(30, 10)), rng.normal(size=30), 0.5))
def admm_lasso(A, b, lam, rho=1.0, iterations=100):
    """Alternating directions with a factor that is made once, and a history of tuples."""

    def shrink(v, k):
        return np.sign(v) * np.maximum(np.abs(v) - k, 0)

    n = A.shape[1]
    L = np.linalg.cholesky(A.T @ A + rho * np.eye(n))
    x = z = u = np.zeros(n)
    history = []
    for _ in range(iterations):
        q = A.T @ b + rho * (z - u)
        x = np.linalg.solve(L.T, np.linalg.solve(L, q))
        z_old, z = z, shrink(x + u, lam / rho)
        u = u + x - z
        history.append((np.linalg.norm(x - z), rho * np.linalg.norm(z - z_old)))
        if history[-1][0] < 1e-8 and history[-1][1] < 1e-8:
            break
    primal, dual = zip(*history)
    return z, np.count_nonzero(z), primal[-1] < 1e-3, dual[0]


@program(lambda rng: (rng.uniform(-2, 2, 2), {"c1": 1e-4, "c2": 0.9}))
def line_search_descent(x, options):
    """Rosenbrock's function with a line search after Wolfe; the gradient is a bound method of a class that counts."""

    class Rosenbrock:
        def __init__(self, a=1.0, b=10.0):
            self.a, self.b, self.evaluations = a, b, 0

        def __call__(self, x):
            self.evaluations += 1
            return (self.a - x[0]) ** 2 + self.b * (x[1] - x[0] ** 2) ** 2

        def gradient(self, x):
            d = x[1] - x[0] ** 2
            return np.array([-2 * (self.a - x[0]) - 4 * self.b * x[0] * d, 2 * self.b * d])

    def wolfe(f, x, p, c1=1e-4, c2=0.9):
        alpha, low, high = 1.0, 0.0, np.inf
        fx, slope = f(x), f.gradient(x) @ p
        for _ in range(30):
            if f(x + alpha * p) > fx + c1 * alpha * slope:
                high = alpha
            elif f.gradient(x + alpha * p) @ p < c2 * slope:
                low = alpha
            else:
                break
            alpha = (low + high) / 2 if np.isfinite(high) else 2 * low
        return alpha

    f = Rosenbrock()
    for iteration in range(40):
        g = f.gradient(x)
        if np.linalg.norm(g) < 1e-8:
            break
        x = x + wolfe(f, x, -g, **options) * -g
    return x, f.evaluations, iteration


@program(lambda rng: (np.sort(rng.uniform(0, 1, 9)), rng.normal(size=9), np.linspace(0.05, 0.95, 7)))
def barycentric_interpolation(x, y, at):
    """Weights once, points that meet a node handled by an index."""
    w = np.ones(len(x))
    for j in range(1, len(x)):
        w[:j] *= x[:j] - x[j]
        w[j] = np.prod(x[j] - x[:j])
    w = 1 / w
    at = np.append(at, x[3])
    result = np.empty_like(at)
    for i, t in enumerate(at):
        d = t - x
        hit = np.where(d == 0)[0]
        if len(hit):
            result[i] = y[hit[0]]
        else:
            q = w / d
            result[i] = q @ y / q.sum()
    return result, result[-1] == y[3]


@program(lambda rng: (rng.uniform(0, np.pi), 8))
def extrapolation_table(x, n):
    """Richardson: a triangle of lists, the best entry by the smallest change."""
    table = []
    h = 0.4
    for i in range(n):
        row = [(np.sin(x + h) - np.sin(x - h)) / (2 * h)]
        for j in range(1, i + 1):
            row.append(row[j - 1] + (row[j - 1] - table[i - 1][j - 1]) / (4**j - 1))
        table.append(row)
        h /= 2
    changes = [abs(table[i][-1] - table[i - 1][-1]) for i in range(1, n)]
    best = int(np.argmin(changes)) + 1
    return table[3][-1], [len(row) for row in table], abs(table[best][-1] - np.cos(x)) < 1e-8


@program(lambda rng: (rng.normal(size=(5, 5)), 1e-10))
def singular_values_by_jacobi(a, tolerance):
    """One-sided rotations until the columns are orthogonal, with a flag."""
    u = a.copy()
    v = np.eye(u.shape[1])
    sweeps, rotated = 0, True
    while rotated and sweeps < 30:
        rotated = False
        for p in range(u.shape[1] - 1):
            for q in range(p + 1, u.shape[1]):
                alpha, beta, gamma = u[:, p] @ u[:, p], u[:, q] @ u[:, q], u[:, p] @ u[:, q]
                if abs(gamma) <= tolerance * np.sqrt(alpha * beta):
                    continue
                rotated = True
                zeta = (beta - alpha) / (2 * gamma)
                t = np.sign(zeta) / (abs(zeta) + np.sqrt(1 + zeta**2)) if zeta != 0 else 1.0
                c = 1 / np.sqrt(1 + t**2)
                s = c * t
                for m in (u, v):
                    m[:, p], m[:, q] = c * m[:, p] - s * m[:, q], s * m[:, p] + c * m[:, q]
        sweeps += 1
    values = np.linalg.norm(u, axis=0)
    order = np.argsort(-values)
    return values[order], sweeps, np.allclose(values[order], np.linalg.svd(a, compute_uv=False))
