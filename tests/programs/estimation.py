"""Filters, chains, likelihoods: what is estimated of measurements."""

import itertools
import math
import operator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from .registry import program


class UKF:
    def __init__(self, f, h, Q, R, x0, P0, alpha=1e-1, beta=2.0, kappa=0.0):
        self.f, self.h, self.Q, self.R = f, h, Q, R
        self.x, self.P = x0.copy(), P0.copy()
        n = len(x0)
        lam = alpha**2 * (n + kappa) - n
        self.Wm = np.full(2 * n + 1, 0.5 / (n + lam))
        self.Wc = self.Wm.copy()
        self.Wm[0] = lam / (n + lam)
        self.Wc[0] = self.Wm[0] + (1 - alpha**2 + beta)
        self.gamma = math.sqrt(n + lam)

    def sigma_points(self):
        try:
            L = np.linalg.cholesky(self.P)
        except LinAlgError:
            L = np.linalg.cholesky(self.P + 1e-6 * np.eye(len(self.x)))
        return np.vstack([self.x, self.x + self.gamma * L.T, self.x - self.gamma * L.T])

    def predict(self, dt):
        X = np.array([self.f(s, dt) for s in self.sigma_points()])
        self.x = self.Wm @ X
        d = X - self.x
        self.P = np.einsum("k,ki,kj->ij", self.Wc, d, d) + self.Q

    def update(self, z):
        X = self.sigma_points()
        Z = np.array([self.h(s) for s in X])
        zbar = self.Wm @ Z
        dz, dx = Z - zbar, X - self.x
        S = np.einsum("k,ki,kj->ij", self.Wc, dz, dz) + self.R
        C = np.einsum("k,ki,kj->ij", self.Wc, dx, dz)
        K = np.linalg.solve(S, C.T).T
        nu = z - zbar
        self.x += K @ nu
        self.P -= K @ S @ K.T
        self.P = 0.5 * (self.P + self.P.T)
        return float(nu @ np.linalg.inv(S) @ nu)


@program(lambda rng: (np.cumsum(rng.normal(1, 0.1, (30, 2)), axis=0) + 5, 0.5, np.array([5.0, 5.0, 1.0, 1.0])))
def unscented(track, dt, x0):
    """Methods that are given functions; an attempt at a factorization, and another one where it fails."""

    def move(s, dt):
        return np.array([s[0] + dt * s[2], s[1] + dt * s[3], s[2], s[3]])

    def radar(s):
        return np.array([np.hypot(s[0], s[1]), np.arctan2(s[1], s[0])])

    filt = UKF(move, radar, 0.01 * np.eye(4), np.diag([0.04, 1e-3]), x0, np.eye(4))
    estimates, nis = [], []
    for point in track:
        filt.predict(dt)
        nis.append(filt.update(radar(np.append(point, [0, 0]))))
        estimates.append(filt.x.copy())
    estimates = np.stack(estimates)
    print(f"mean NIS {np.mean(nis):.4f}, final {estimates[-1, :2].round(3)}")
    return estimates, nis, filt.P


@dataclass
class Chain:
    samples: np.ndarray
    accepted: int
    scale: float

    @property
    def rate(self):
        return self.accepted / len(self.samples)


def gelman_rubin(chains):
    n = min(len(c.samples) for c in chains)
    means = np.array([c.samples[-n:].mean(axis=0) for c in chains])
    within = np.mean([c.samples[-n:].var(axis=0, ddof=1) for c in chains], axis=0)
    between = n * means.var(axis=0, ddof=1)
    return np.sqrt(((n - 1) / n * within + between / n) / within)


def autocorrelation_time(x, c=5.0):
    n = len(x)
    f = np.fft.fft(x - x.mean(), n=2 * n)
    acf = np.fft.ifft(f * np.conjugate(f))[:n].real
    acf /= acf[0]
    taus = 2.0 * np.cumsum(acf) - 1.0
    window = np.arange(n) > c * taus
    m = np.argmax(window) if window.any() else n - 1
    return taus[m]


@program(lambda rng: (rng.normal(2.0, 1.5, 40), 200))
def adaptive_metropolis(data, n):
    """Chains with steps that adapt, and what is said of them by Fourier transforms."""

    def logpost(theta):
        mu, logs = theta
        if not -10 < logs < 10:
            return -np.inf
        return -0.5 * np.sum((data - mu) ** 2) * np.exp(-2 * logs) - len(data) * logs - 0.5 * (mu / 10) ** 2

    chains = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        theta = rng.normal(size=2)
        current, scale, accepted = logpost(theta), 0.5, 0
        samples = np.empty((n, 2))
        for i in range(n):
            proposal = theta + scale * rng.standard_normal(2)
            new = logpost(proposal)
            if np.log(rng.random()) < new - current:
                theta, current = proposal, new
                accepted += 1
            samples[i] = theta
            if i < n // 2 and (i + 1) % 25 == 0:
                scale *= np.exp(accepted / (i + 1) - 0.3)
        chains.append(Chain(samples, accepted, scale))
    rhat = gelman_rubin(chains)
    for k, chain in enumerate(chains):
        print(f"chain {k}: acceptance {chain.rate:.3f} scale {chain.scale:.4f}")
    tau = [autocorrelation_time(c.samples[:, 0]) for c in chains]
    return rhat, tau, np.percentile(np.concatenate([c.samples for c in chains]), [5, 50, 95], axis=0)


class GaussianProcess:
    def __init__(self, kernel, noise=1e-2):
        self.kernel, self.noise = kernel, noise
        self._L = self._alpha = None

    def fit(self, X, y):
        self.X, self.ymean = X, y.mean()
        K = self.kernel(X, X)
        K[np.diag_indices_from(K)] += self.noise
        self._L = np.linalg.cholesky(K)
        self._alpha = np.linalg.solve(self._L.T, np.linalg.solve(self._L, y - self.ymean))
        self.lml = -0.5 * (y - self.ymean) @ self._alpha - np.log(np.diag(self._L)).sum() - 0.5 * len(y) * math.log(2 * math.pi)
        return self

    def predict(self, Xs, return_std=False):
        if self._L is None:
            raise RuntimeError("fit first")
        Ks = self.kernel(Xs, self.X)
        mean = Ks @ self._alpha + self.ymean
        if not return_std:
            return mean
        v = np.linalg.solve(self._L, Ks.T)
        var = np.diag(self.kernel(Xs, Xs)) - (v**2).sum(axis=0)
        return mean, np.sqrt(np.maximum(var, 0))


def rbf(length, amplitude):
    def k(A, B):
        d2 = ((A[:, None, :] - B[None, :, :]) ** 2).sum(-1)
        return amplitude**2 * np.exp(-0.5 * d2 / length**2)

    return k


@program(lambda rng: (np.sort(rng.uniform(0, 10, (25, 1)), axis=0), rng.normal(0, 0.1, 25), np.linspace(0, 10, 40)[:, None]))
def gp_grid_search(X, noise, Xs):
    """An object holds a function that a round has made; the best one is kept from round to round."""
    y = np.sin(X[:, 0]) + noise
    best = None
    for length, amplitude in itertools.product(np.logspace(-0.5, 1, 6), (0.5, 1.0, 2.0)):
        try:
            gp = GaussianProcess(rbf(length, amplitude)).fit(X, y)
        except np.linalg.LinAlgError:
            continue
        if best is None or gp.lml > best[0]:
            best = gp.lml, length, amplitude, gp
    lml, length, amplitude, gp = best
    mean, std = gp.predict(Xs, return_std=True)
    print(f"lml={lml:.3f} length={length:.3f} amplitude={amplitude}")
    return mean, std, lml


def logsumexp(a, axis=None):
    m = np.max(a, axis=axis, keepdims=True)
    m = np.where(np.isfinite(m), m, 0)
    return np.squeeze(m, axis=axis) + np.log(np.sum(np.exp(a - m), axis=axis))


class HMM:
    def __init__(self, n_states, n_symbols, seed=0):
        rng = np.random.RandomState(seed)
        self.pi = np.full(n_states, 1 / n_states)
        self.A = rng.dirichlet(np.ones(n_states) * 5, n_states)
        self.B = rng.dirichlet(np.ones(n_symbols), n_states)

    def forward(self, obs):
        alpha = np.empty((len(obs), len(self.pi)))
        with np.errstate(divide="ignore"):
            logA, logB = np.log(self.A), np.log(self.B)
            alpha[0] = np.log(self.pi) + logB[:, obs[0]]
        for t in range(1, len(obs)):
            alpha[t] = logsumexp(alpha[t - 1][:, None] + logA, axis=0) + logB[:, obs[t]]
        return alpha

    def backward(self, obs):
        beta = np.zeros((len(obs), len(self.pi)))
        logA, logB = np.log(self.A), np.log(self.B)
        for t in range(len(obs) - 2, -1, -1):
            beta[t] = logsumexp(logA + logB[:, obs[t + 1]] + beta[t + 1], axis=1)
        return beta

    def fit(self, obs, maxiter=15, tol=1e-3):
        last = -np.inf
        for it in range(maxiter):
            a, b = self.forward(obs), self.backward(obs)
            ll = logsumexp(a[-1])
            gamma = np.exp(a + b - ll)
            xi = np.exp(a[:-1, :, None] + np.log(self.A)[None] + (np.log(self.B)[:, obs[1:]].T + b[1:])[:, None, :] - ll)
            self.pi = gamma[0] / gamma[0].sum()
            self.A = xi.sum(0) / gamma[:-1].sum(0)[:, None]
            onehot = obs[:, None] == np.arange(self.B.shape[1])
            self.B = (gamma.T @ onehot) / gamma.sum(0)[:, None]
            if ll - last < tol:
                break
            last = ll
        return ll, it

    def viterbi(self, obs):
        logA, logB = np.log(self.A), np.log(self.B)
        score = np.log(self.pi) + logB[:, obs[0]]
        back = []
        for o in obs[1:]:
            candidates = score[:, None] + logA
            back.append(candidates.argmax(axis=0))
            score = candidates.max(axis=0) + logB[:, o]
        path = [int(score.argmax())]
        for pointers in back[::-1]:
            path.append(int(pointers[path[-1]]))
        return path[::-1], score.max()


@program(lambda rng: (rng.integers(0, 4, 60),))
def baum_welch(obs):
    """Expectation and maximization in logarithms, and the most likely way as a list."""
    model = HMM(3, 4)
    ll, it = model.fit(obs)
    path, best = model.viterbi(obs)
    with np.printoptions(precision=3, suppress=True):
        print(model.A)
    return ll, it, path, best, model.B


class KM(NamedTuple):
    times: np.ndarray
    survival: np.ndarray
    at_risk: np.ndarray
    median: float | None


def kaplan_meier(time, event):
    order = np.argsort(time, kind="stable")
    time, event = time[order], event[order]
    unique, first = np.unique(time, return_index=True)
    at_risk = len(time) - first
    deaths = np.array([np.sum(event[time == t]) for t in unique])
    s = np.cumprod(1 - deaths / at_risk)
    below = np.flatnonzero(s <= 0.5)
    return KM(unique, s, at_risk, float(unique[below[0]]) if below.size else None)


@program(lambda rng: (np.ceil(rng.exponential(10, 40)), rng.random(40) < 0.7, rng.integers(0, 2, 40)))
def survival(time, event, group):
    """Named tuples in a dict; a median that may be None."""
    curves = {g: kaplan_meier(time[group == g], event[group == g]) for g in (0, 1)}
    O = E = V = 0.0
    for t in np.unique(time[event]):
        n = np.sum(time >= t)
        n1 = np.sum((time >= t) & (group == 1))
        d = np.sum((time == t) & event)
        d1 = np.sum((time == t) & event & (group == 1))
        O += d1
        E += d * n1 / n
        if n > 1:
            V += d * (n1 / n) * (1 - n1 / n) * (n - d) / (n - 1)
    z = (O - E) / math.sqrt(V)
    p = math.erfc(abs(z) / math.sqrt(2))
    for g, km in curves.items():
        median = "not reached" if km.median is None else f"{km.median:.1f}"
        print(f"group {g}: n={km.at_risk[0]:3d} median {median}")
    return curves, z, p


@program(lambda rng: (rng.exponential(10, 30), rng.random(30) < 0.7, rng.normal(size=(30, 2))))
def cox_regression(time, event, X):
    """Newton with cumulative sums over who is still there; a table as dicts."""
    order = np.argsort(-time)
    time, event, X = time[order], event[order], X[order]
    beta = np.zeros(X.shape[1])
    for iteration in range(25):
        w = np.exp(X @ beta)
        S0 = np.cumsum(w)
        S1 = np.cumsum(w[:, None] * X, axis=0)
        S2 = np.cumsum(w[:, None, None] * X[:, :, None] * X[:, None, :], axis=0)
        mean = S1 / S0[:, None]
        gradient = (X - mean)[event].sum(axis=0)
        hessian = (S2 / S0[:, None, None] - mean[:, :, None] * mean[:, None, :])[event].sum(axis=0)
        step = np.linalg.solve(hessian, gradient)
        ll = np.sum((X @ beta - np.log(S0))[event])
        beta = beta + step
        if np.abs(step).max() < 1e-10:
            break
    se = np.sqrt(np.diag(np.linalg.inv(hessian)))
    table = [{"coef": b, "hr": math.exp(b), "se": s, "z": b / s, "ci": (b - 1.96 * s, b + 1.96 * s)} for b, s in zip(beta, se)]
    print("\n".join(f"x{k}: {row['coef']:+.4f} (HR {row['hr']:.3f})" for k, row in enumerate(table)))
    return table, ll, iteration


def nelder_mead(f, x0, step=0.3, maxiter=60, tol=1e-8):
    n = len(x0)
    simplex = [(f(x0), tuple(x0))]
    for i in range(n):
        x = np.array(x0, float)
        x[i] += step
        simplex.append((f(x), tuple(x)))
    for it in range(maxiter):
        simplex.sort(key=operator.itemgetter(0))
        if simplex[-1][0] - simplex[0][0] < tol:
            break
        c = np.mean([s[1] for s in simplex[:-1]], axis=0)
        worst = np.array(simplex[-1][1])
        xr = c + (c - worst)
        fr = f(xr)
        if fr < simplex[0][0]:
            xe = c + 2 * (c - worst)
            fe = f(xe)
            simplex[-1] = (fe, tuple(xe)) if fe < fr else (fr, tuple(xr))
        elif fr < simplex[-2][0]:
            simplex[-1] = (fr, tuple(xr))
        else:
            xc = c + 0.5 * (worst - c)
            fc = f(xc)
            if fc < simplex[-1][0]:
                simplex[-1] = (fc, tuple(xc))
            else:
                best = np.array(simplex[0][1])
                simplex = [simplex[0]] + [
                    (f(best + 0.5 * (np.array(x) - best)), tuple(best + 0.5 * (np.array(x) - best))) for _, x in simplex[1:]
                ]
    simplex.sort(key=lambda s: s[0])
    return np.array(simplex[0][1]), simplex[0][0], it


@program(lambda rng: (np.cumsum(rng.normal(0, 1, 40)) * 0.3 + rng.normal(0, 1, 40),))
def arma_by_kalman(y):
    """Nelder and Mead on a list of tuples, of a likelihood with a loop of its own."""

    def negloglik(params):
        phi, theta = np.tanh(params[0]), np.tanh(params[1])
        sigma2 = np.exp(params[2])
        T = np.array([[phi, 1.0], [0.0, 0.0]])
        R = np.array([1.0, theta])
        Q = sigma2 * np.outer(R, R)
        a, P = np.zeros(2), np.eye(2) * 10
        ll = 0.0
        for obs in y:
            v, F = obs - a[0], P[0, 0]
            ll -= 0.5 * (np.log(2 * np.pi * F) + v * v / F)
            K = P[:, 0] / F
            a, P = a + K * v, P - np.outer(K, P[0])
            a, P = T @ a, T @ P @ T.T + Q
        return -ll

    best, value, it = nelder_mead(negloglik, [0.1, 0.1, 0.0])
    return np.tanh(best[:2]), np.exp(best[2]), value, it


@program(lambda rng: (np.cumsum(rng.normal(0, 1, 25)), 64))
def particle_filter(observations, n):
    """Weights in place, resampled where few count; an exception where none does."""
    rng = np.random.default_rng(3)
    particles = rng.normal(0, 1, n)
    weights = np.full(n, 1 / n)
    estimates, resampled = [], 0
    for t, z in enumerate(observations):
        particles = particles + rng.normal(0, 1, n)
        weights *= np.exp(-0.5 * (z - particles) ** 2)
        total = weights.sum()
        if total < 1e-300:
            raise FloatingPointError(f"all weights vanish at step {t}")
        weights /= total
        estimates.append(np.average(particles, weights=weights))
        if 1 / np.sum(weights**2) < n / 2:
            positions = (np.arange(n) + rng.random()) / n
            cumulative = np.cumsum(weights)
            cumulative[-1] = 1.0
            indexes = np.searchsorted(cumulative, positions)
            particles = particles[indexes]
            weights.fill(1 / n)
            resampled += 1
    return np.array(estimates), resampled


@dataclass
class Mixture:
    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    loglik: float = -np.inf
    converged: bool = False

    @property
    def n_parameters(self) -> int:
        k, d = self.means.shape
        return k - 1 + k * d + k * d * (d + 1) // 2

    def bic(self, n):
        return self.n_parameters * math.log(n) - 2 * self.loglik


def log_gaussian(X, mean, cov):
    L = np.linalg.cholesky(cov)
    z = np.linalg.solve(L, (X - mean).T)
    return -0.5 * (z**2).sum(axis=0) - np.log(np.diag(L)).sum() - 0.5 * X.shape[1] * np.log(2 * np.pi)


def fit_mixture(X, k, rng, max_iter=30, tol=1e-4, reg=1e-3):
    n, d = X.shape
    m = Mixture(np.full(k, 1 / k), X[rng.choice(n, k, replace=False)].copy(), np.array([np.cov(X.T) + reg * np.eye(d)] * k))
    for _ in range(max_iter):
        logp = np.stack([np.log(w) + log_gaussian(X, mu, S) for w, mu, S in zip(m.weights, m.means, m.covariances)], axis=1)
        top = logp.max(axis=1, keepdims=True)
        norm = top + np.log(np.exp(logp - top).sum(axis=1, keepdims=True))
        R = np.exp(logp - norm)
        ll = float(norm.sum())
        if abs(ll - m.loglik) < tol:
            m.converged = True
            break
        m.loglik = ll
        Nk = R.sum(axis=0)
        m.weights = Nk / n
        m.means = (R.T @ X) / Nk[:, None]
        for j in range(k):
            diff = X - m.means[j]
            m.covariances[j] = (R[:, j, None] * diff).T @ diff / Nk[j] + reg * np.eye(d)
    return m


@program(lambda rng: (np.concatenate([rng.normal(0, 1, (25, 2)), rng.normal(4, 0.7, (25, 2))]),))
def mixture_by_bic(X):
    """Objects in a dict by their number of components; the best one by a method."""
    models = {}
    for k in range(1, 4):
        models[k] = fit_mixture(X, k, np.random.default_rng(k))
    scores = {k: m.bic(len(X)) for k, m in models.items()}
    best = min(scores, key=scores.get)
    order = np.argsort(models[best].means[:, 0])
    print(f"best k={best}", "converged" if models[best].converged else "not converged")
    return best, scores, models[best].means[order]
