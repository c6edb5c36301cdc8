"""Equations on grids and networks: multigrid, spectral methods, finite elements, events."""

import itertools
import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .registry import program


class Solution(NamedTuple):
    t: np.ndarray
    y: np.ndarray
    t_events: list
    nfev: int
    status: int
    sol: object


C = np.array([0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1])


A = np.array(
    [
        [0, 0, 0, 0, 0],
        [1 / 5, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    ]
)


B = np.array([35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84])


E = np.array([-71 / 57600, 0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40])


def hermite(t0, y0, f0, t1, y1, f1, t):
    h = t1 - t0
    s = (t - t0) / h
    return (1 + 2 * s) * (1 - s) ** 2 * y0 + s * (1 - s) ** 2 * h * f0 + s**2 * (3 - 2 * s) * y1 + s**2 * (s - 1) * h * f1


def solve_ivp(fun, t_span, y0, rtol=1e-6, atol=1e-9, events=None, max_steps=10_000):
    t, tf = t_span
    y = np.asarray(y0, dtype=float)
    f = fun(t, y)
    nfev = 1
    h = 0.01 * (tf - t)
    ts, ys, fs = [t], [y], [f]
    found = [[] for _ in events or []]
    K = np.empty((7, y.size))
    status = 0
    for _ in range(max_steps):
        if t >= tf:
            break
        h = min(h, tf - t)
        while True:
            K[0] = f
            for s in range(1, 6):
                K[s] = fun(t + C[s] * h, y + h * (K[:s].T @ A[s, :s]))
            ynew = y + h * (K[:6].T @ B)
            K[6] = fun(t + h, ynew)
            nfev += 6
            scale = atol + rtol * np.maximum(np.abs(y), np.abs(ynew))
            err = np.sqrt(np.mean((h * (K.T @ E) / scale) ** 2))
            if err < 1:
                factor = 10 if err == 0 else min(10, 0.9 * err**-0.2)
                break
            h *= max(0.2, 0.9 * err**-0.2)
        tnew, fnew = t + h, K[6].copy()
        stop = False
        for k, event in enumerate(events or []):
            a, b = event(t, y), event(tnew, ynew)
            if a * b < 0:
                lo, hi = t, tnew
                while hi - lo > 1e-12 * max(1, abs(hi)):
                    mid = 0.5 * (lo + hi)
                    v = event(mid, hermite(t, y, f, tnew, ynew, fnew, mid))
                    if a * v <= 0:
                        hi = mid
                    else:
                        lo = mid
                found[k].append(0.5 * (lo + hi))
                stop = stop or getattr(event, "terminal", False)
        t, y, f = tnew, ynew, fnew
        ts.append(t)
        ys.append(y)
        fs.append(f)
        if stop:
            status = 1
            break
        h *= factor

    T, Y, F = np.array(ts), np.array(ys), np.array(fs)

    def sol(q):
        k = np.clip(np.searchsorted(T, q) - 1, 0, len(T) - 2)
        return np.array([hermite(T[i], Y[i], F[i], T[i + 1], Y[i + 1], F[i + 1], x) for i, x in zip(k, q)])

    return Solution(T, Y.T, [np.array(one) for one in found], nfev, status, sol)


@program(lambda rng: (float(rng.uniform(8, 12)), float(rng.uniform(0.01, 0.05))))
def cannon_with_events(v0, drag):
    """Steps of a size that errors decide, events with attributes, and a closure that interpolates."""

    def fun(t, y):
        v = np.hypot(y[2], y[3])
        return np.array([y[2], y[3], -drag * v * y[2], -9.81 - drag * v * y[3]])

    def ground(t, y):
        return y[1]

    def apex(t, y):
        return y[3]

    ground.terminal = True
    s = solve_ivp(fun, (0.0, 10.0), [0, 0.1, v0 * np.cos(0.8), v0 * np.sin(0.8)], events=[ground, apex])
    q = np.linspace(0, s.t_events[0][0], 9)
    path = s.sol(q)
    return s.t, s.y, s.t_events, s.nfev, s.status, path


def smooth(u, f, h, sweeps, omega=2 / 3):
    for _ in range(sweeps):
        u[1:-1, 1:-1] += (
            omega * 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1] + h * h * f[1:-1, 1:-1])
        )
    return u


def residual(u, f, h):
    r = np.zeros_like(u)
    r[1:-1, 1:-1] = f[1:-1, 1:-1] - (4 * u[1:-1, 1:-1] - u[:-2, 1:-1] - u[2:, 1:-1] - u[1:-1, :-2] - u[1:-1, 2:]) / (h * h)
    return r


def restrict(r):
    n = (r.shape[0] - 1) // 2 + 1
    c = np.zeros((n, n))
    c[1:-1, 1:-1] = (
        0.25 * r[2:-2:2, 2:-2:2]
        + 0.125 * (r[1:-3:2, 2:-2:2] + r[3:-1:2, 2:-2:2] + r[2:-2:2, 1:-3:2] + r[2:-2:2, 3:-1:2])
        + 0.0625 * (r[1:-3:2, 1:-3:2] + r[3:-1:2, 1:-3:2] + r[1:-3:2, 3:-1:2] + r[3:-1:2, 3:-1:2])
    )
    return c


def prolong(c):
    n = 2 * (c.shape[0] - 1) + 1
    u = np.zeros((n, n))
    u[::2, ::2] = c
    u[1::2, ::2] = 0.5 * (c[:-1] + c[1:])
    u[:, 1::2] = 0.5 * (u[:, :-1:2] + u[:, 2::2])
    return u


def v_cycle(u, f, h):
    if u.shape[0] <= 3:
        u[1, 1] = 0.25 * h * h * f[1, 1] + 0.25 * (u[0, 1] + u[2, 1] + u[1, 0] + u[1, 2])
        return u
    u = smooth(u, f, h, 3)
    c = restrict(residual(u, f, h))
    u += prolong(v_cycle(np.zeros_like(c), c, 2 * h))
    return smooth(u, f, h, 3)


@program(lambda rng: (rng.normal(size=(33, 33)), 1e-4))
def multigrid(f, tol):
    """A recursion over coarser grids, slices with steps, a while loop over a list of norms."""
    h = 1 / (f.shape[0] - 1)
    u = np.zeros_like(f)
    norms = [np.linalg.norm(residual(u, f, h))]
    while norms[-1] > tol * norms[0] and len(norms) < 30:
        u = v_cycle(u, f, h)
        norms.append(np.linalg.norm(residual(u, f, h)))
    rates = [b / a for a, b in itertools.pairwise(norms)]
    return u, norms, max(rates)


class CSR(NamedTuple):
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray

    @classmethod
    def from_dense(cls, M):
        data, indices, indptr = [], [], [0]
        for row in M:
            cols = np.flatnonzero(row)
            indices.extend(cols)
            data.extend(row[cols])
            indptr.append(len(indices))
        return cls(np.array(data), np.array(indices), np.array(indptr))

    def __matmul__(self, x):
        return np.add.reduceat(self.data * x[self.indices], self.indptr[:-1])

    def diagonal(self):
        n = len(self.indptr) - 1
        rows = np.repeat(np.arange(n), np.diff(self.indptr))
        d = np.zeros(n)
        on = rows == self.indices
        d[rows[on]] = self.data[on]
        return d


def cg(A, b, M=None, tol=1e-10, maxiter=None, callback=None):
    x = np.zeros_like(b)
    r = b - A @ x
    z = r if M is None else M(r)
    p = z.copy()
    rz = r @ z
    for k in range(maxiter or 10 * len(b)):
        Ap = A @ p
        alpha = rz / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        if callback is not None:
            callback(x)
        if np.linalg.norm(r) < tol * np.linalg.norm(b):
            return x, k + 1
        z = r if M is None else M(r)
        rz, old = r @ z, rz
        p = z + rz / old * p
    raise RuntimeError(f"no convergence in {k + 1} iterations")


@program(lambda rng: (rng.uniform(1, 10, 30), rng.normal(size=30)))
def preconditioned_cg(d, b):
    """A named tuple with an operator of its own, callbacks, rows by reduceat."""
    n = len(d)
    M = np.diag(d + 2) - np.diag(np.ones(n - 1), 1) - np.diag(np.ones(n - 1), -1)
    A = CSR.from_dense(M)
    history = []
    x, its = cg(A, b, callback=lambda x: history.append(np.linalg.norm(M @ x - b)))
    jacobi = A.diagonal()
    y, its2 = cg(A, b, M=lambda r: r / jacobi)
    print(f"{its} iterations, {its2} with a preconditioner")
    return x, np.allclose(x, y), its, its2, np.array(history)


@program(lambda rng: (rng.uniform(0, 1, (4, 8)), rng.uniform(1, 2, 8), rng.uniform(0.1, 1, 8)))
def mehrotra(A, c, x0):
    """Closures within a loop, for with else."""
    b = A @ x0
    m, n = A.shape
    AAt = A @ A.T
    x = A.T @ np.linalg.solve(AAt, b)
    y = np.linalg.solve(AAt, A @ c)
    s = c - A.T @ y
    x += max(-1.5 * x.min(), 0)
    s += max(-1.5 * s.min(), 0)
    x += 0.5 * (x @ s) / s.sum()
    s += 0.5 * (x @ s) / x.sum()

    def step(v, dv):
        neg = dv < 0
        return min(1.0, 0.99 * np.min(-v[neg] / dv[neg])) if neg.any() else 1.0

    for iteration in range(50):
        rb, rc, mu = A @ x - b, A.T @ y + s - c, x @ s / n
        if max(np.linalg.norm(rb), np.linalg.norm(rc), mu) < 1e-9:
            break
        D = x / s
        M = (A * D) @ A.T

        def direction(rxs):
            rhs = -rb - A @ ((x * rc - rxs) / s)
            dy = np.linalg.solve(M, rhs)
            ds = -rc - A.T @ dy
            return -(rxs + x * ds) / s, dy, ds

        dxa, dya, dsa = direction(x * s)
        mu_aff = (x + step(x, dxa) * dxa) @ (s + step(s, dsa) * dsa) / n
        sigma = (mu_aff / mu) ** 3
        dx, dy, ds = direction(x * s + dxa * dsa - sigma * mu)
        x, y, s = x + step(x, dx) * dx, y + step(s, ds) * dy, s + step(s, ds) * ds
    else:
        raise RuntimeError("maxiter")
    return x, c @ x, b @ y, iteration


@dataclass
class Mesh:
    nodes: np.ndarray
    elements: np.ndarray
    boundary: np.ndarray = field(default=None)

    @classmethod
    def unit_square(cls, n):
        x = np.linspace(0, 1, n + 1)
        X, Y = np.meshgrid(x, x, indexing="ij")
        nodes = np.stack([X.ravel(), Y.ravel()], axis=1)
        k = np.arange((n + 1) ** 2).reshape(n + 1, n + 1)
        a, b, c, d = k[:-1, :-1].ravel(), k[1:, :-1].ravel(), k[:-1, 1:].ravel(), k[1:, 1:].ravel()
        elements = np.concatenate([np.c_[a, b, d], np.c_[a, d, c]])
        edge = np.any((nodes == 0) | (nodes == 1), axis=1)
        return cls(nodes, elements, np.nonzero(edge)[0])


@program(lambda rng: (8, rng.uniform(1, 2, 128)))
def finite_elements(n, kappa):
    """Triplets in lists, added at two indices."""
    mesh = Mesh.unit_square(n)
    rows, cols, vals = [], [], []
    load = np.zeros(len(mesh.nodes))
    for tri, k in zip(mesh.elements, kappa):
        P = mesh.nodes[tri]
        B = np.array([P[1] - P[0], P[2] - P[0]]).T
        area = abs(np.linalg.det(B)) / 2
        G = np.array([[-1.0, -1.0], [1.0, 0.0], [0.0, 1.0]]) @ np.linalg.inv(B)
        local = k * area * G @ G.T
        for a in range(3):
            load[tri[a]] += area / 3
            for b in range(3):
                rows.append(tri[a])
                cols.append(tri[b])
                vals.append(local[a, b])
    K = np.zeros((len(mesh.nodes),) * 2)
    np.add.at(K, (rows, cols), vals)
    free = np.setdiff1d(np.arange(len(mesh.nodes)), mesh.boundary)
    u = np.zeros(len(mesh.nodes))
    u[free] = np.linalg.solve(K[np.ix_(free, free)], load[free])
    print(f"{len(mesh.elements)} triangles, max u = {u.max():.6f}")
    return u.reshape(n + 1, n + 1), u @ K @ u


@program(lambda rng: (64, 40, float(rng.uniform(8, 12))))
def kdv(n, steps, speed):
    """An integrating factor, and a lambda that each step makes anew."""
    x = np.linspace(-np.pi, np.pi, n, endpoint=False)
    k = np.fft.fftfreq(n, 1 / n)
    ik3 = 1j * k**3
    u = 3 * speed**2 * (1 / np.cosh(0.5 * speed * (x + 1))) ** 2
    v = np.fft.fft(u)
    dt = 0.4 / n**2
    mass = [u.sum()]
    for step in range(steps):
        E = np.exp(dt * ik3 / 2)
        E2 = E**2
        g = -0.5j * dt * k
        nonlinear = lambda w: g * np.fft.fft(np.real(np.fft.ifft(w)) ** 2)
        a = nonlinear(v)
        b = nonlinear(E * (v + a / 2))
        c = nonlinear(E * v + b / 2)
        d = nonlinear(E2 * v + E * c)
        v = E2 * v + (E2 * a + 2 * E * (b + c) + d) / 6
        if (step + 1) % 10 == 0:
            u = np.fft.ifft(v).real
            mass.append(u.sum())
    return u, np.array(mass), np.argmax(u)


class QPError(Exception):
    pass


def equality_qp(H, g, A, b):
    n, m = len(g), len(b)
    K = np.block([[H, A.T], [A, np.zeros((m, m))]])
    try:
        s = np.linalg.solve(K, np.concatenate([-g, b]))
    except np.linalg.LinAlgError as e:
        raise QPError(str(e)) from e
    return s[:n], s[n:]


@program(lambda rng: (np.array([1.5, 1.5]) + rng.normal(0, 0.1, 2),))
def sqp(x):
    """Exceptions from exceptions, lambdas of lambdas, rows by a mask."""
    f = lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2
    grad = lambda x: np.array([2 * (x[0] - 2), 2 * (x[1] - 1)])
    c = lambda x: np.array([x[0] ** 2 - x[1], x[0] + x[1] - 2])
    jac = lambda x: np.array([[2 * x[0], -1.0], [1.0, 1.0]])
    B = np.eye(2)
    mu = 10.0
    log = []
    for it in range(40):
        g, J, cx = grad(x), jac(x), c(x)
        active = cx > -1e-8
        if active.any():
            p, multipliers = equality_qp(B, g, J[active], -cx[active])
        else:
            p, multipliers = -np.linalg.solve(B, g), np.zeros(0)
        merit = lambda y: f(y) + mu * np.maximum(c(y), 0).sum()
        alpha, m0 = 1.0, merit(x)
        while merit(x + alpha * p) > m0 - 1e-4 * alpha * (p @ B @ p) and alpha > 1e-6:
            alpha *= 0.5
        s = alpha * p
        y = grad(x + s) - g
        x = x + s
        if s @ y > 1e-12:
            B += np.outer(y, y) / (y @ s) - np.outer(B @ s, B @ s) / (s @ B @ s)
        log.append((it, f(x), float(np.max(c(x), initial=0.0)), alpha, multipliers.size))
        if np.linalg.norm(s) < 1e-8:
            break
    return x, log


@dataclass
class Option:
    strike: float
    maturity: float
    is_call: bool = False
    american: bool = True

    def payoff(self, s):
        return np.maximum(s - self.strike if self.is_call else self.strike - s, 0.0)


@program(lambda rng: (Option(100.0, 1.0), float(rng.uniform(0.15, 0.35)), 0.05, 40, 20))
def american_psor(option, sigma, r, ns, nt):
    """Relaxation point by point within a while loop; dataclass with a payoff."""
    S = np.linspace(0, 3 * option.strike, ns + 1)
    dt = option.maturity / nt
    j = np.arange(1, ns)
    a = 0.25 * dt * (sigma**2 * j**2 - r * j)
    b = -0.5 * dt * (sigma**2 * j**2 + r)
    c = 0.25 * dt * (sigma**2 * j**2 + r * j)
    V = option.payoff(S)
    g = V.copy()
    iterations = 0
    boundary = []
    for n in range(nt):
        rhs = a * V[:-2] + (1 + b) * V[1:-1] + c * V[2:]
        x = V.copy()
        while True:
            iterations += 1
            error = 0.0
            for i in range(1, ns):
                y = (rhs[i - 1] + a[i - 1] * x[i - 1] + c[i - 1] * x[i + 1]) / (1 - b[i - 1])
                new = x[i] + 1.2 * (y - x[i])
                if option.american:
                    new = max(new, g[i])
                error += (new - x[i]) ** 2
                x[i] = new
            if error < 1e-10:
                break
        V = x
        exercised = np.flatnonzero(np.isclose(V, g) & (g > 0))
        boundary.append(S[exercised[-1]] if exercised.size else np.nan)
    price = np.interp(option.strike, S, V)
    delta = np.gradient(V, S)
    return price, delta[::8], boundary, iterations


@program(lambda rng: ({"A": 1.0, "B": 0.0, "C": 0.0}, [("A", "B", 0.04), ("B", "C", 3.0)], 5.0))
def reaction_network(initial, reactions, t_end):
    """Names are looked up in dicts; steps that are refused."""
    names = sorted(initial)
    index = {name: k for k, name in enumerate(names)}
    n = len(names)
    stoich = np.zeros((n, len(reactions)))
    for k, (source, target, _) in enumerate(reactions):
        stoich[index[source], k] -= 1
        stoich[index[target], k] += 1
    rates = np.array([r for *_, r in reactions])
    sources = [index[s] for s, _, _ in reactions]

    def rhs(y):
        return stoich @ (rates * y[sources])

    def jacobian(y):
        J = np.zeros((n, n))
        for k, s in enumerate(sources):
            J[:, s] += stoich[:, k] * rates[k]
        return J

    gamma = 1 + 1 / math.sqrt(2)
    y = np.array([initial[name] for name in names])
    t, h = 0.0, 0.01
    trajectory = [(t, *y)]
    while t < t_end:
        h = min(h, t_end - t)
        W = np.eye(n) - gamma * h * jacobian(y)
        k1 = np.linalg.solve(W, rhs(y))
        k2 = np.linalg.solve(W, rhs(y + h * k1) - 2 * k1)
        new = y + 1.5 * h * k1 + 0.5 * h * k2
        error = np.abs(0.5 * h * (k1 + k2)).max() / 1e-5 + 1e-12
        if error <= 1:
            t, y = t + h, new
            trajectory.append((t, *y))
        h *= min(5.0, max(0.2, 0.9 / error**0.5))
    return dict(zip(names, y)), len(trajectory), np.array(trajectory)[-1]
