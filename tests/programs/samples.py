"""Statistics: tests, regressions, time series, resampling, as in scripts that write a report."""

import itertools
import math
from functools import partial

import numpy as np

from .registry import program


@program(lambda rng: (rng.normal(0, 1, 15), rng.normal(0.5, 1, 12), int(rng.integers(100))))
def permutation_test(a, b, seed, n=200, statistic=None):
    """A generator that is made from a seed; a statistic as default argument None."""
    statistic = statistic or (lambda x, y: x.mean() - y.mean())
    rng = np.random.default_rng(seed)
    observed = statistic(a, b)
    pooled = np.concatenate([a, b])
    count = 0
    null = np.empty(n)
    for i in range(n):
        rng.shuffle(pooled)
        null[i] = statistic(pooled[: len(a)], pooled[len(a) :])
        if abs(null[i]) >= abs(observed):
            count += 1
    p = (count + 1) / (n + 1)
    stars = "***" if p < 0.001 else "**" if p < 0.01 else "*" if p < 0.05 else "n.s."
    print(f"observed {observed:+.4f}, p = {p:.4f} {stars}")
    return observed, p, np.quantile(null, [0.025, 0.975])


def f_survival(f, d1, d2, n=400):
    t = np.linspace(0, 1, n)[1:-1]
    x = d1 * f / (d1 * f + d2)
    integrand = t ** (d1 / 2 - 1) * (1 - t) ** (d2 / 2 - 1)
    return integrand[t > x].sum() / integrand.sum()


@program(lambda rng: ({"control": rng.normal(5, 1, 10), "low": rng.normal(5.4, 1, 12), "high": rng.normal(6.5, 1.2, 9)},))
def analysis_of_variance(groups):
    """A dict of arrays of different lengths; pairs of its names; a table of text."""
    everything = np.concatenate(list(groups.values()))
    grand = everything.mean()
    between = sum(len(g) * (g.mean() - grand) ** 2 for g in groups.values())
    within = sum(((g - g.mean()) ** 2).sum() for g in groups.values())
    d1, d2 = len(groups) - 1, len(everything) - len(groups)
    F = (between / d1) / (within / d2)
    p = f_survival(F, d1, d2)
    print("{:<10}{:>10}{:>6}{:>10}".format("source", "SS", "df", "MS"))
    for name, ss, df in (("between", between, d1), ("within", within, d2)):
        print(f"{name:<10}{ss:>10.3f}{df:>6}{ss / df:>10.3f}")
    pairs = {}
    for (na, a), (nb, b) in itertools.combinations(groups.items(), 2):
        se = math.sqrt(within / d2 * (1 / len(a) + 1 / len(b)))
        pairs[f"{na}-{nb}"] = (a.mean() - b.mean()) / se
    eta = between / (between + within)
    return F, p, pairs, eta


@program(lambda rng: (rng.normal(size=80), rng.uniform(0.4, 0.8), 6))
def partial_autocorrelation(e, phi, lags):
    """An AR process is made, then Durbin-Levinson with rows of different lengths in a dict."""
    x = np.zeros_like(e)
    for t in range(1, len(e)):
        x[t] = phi * x[t - 1] + e[t]
    x -= x.mean()
    acf = np.array([1.0] + [np.dot(x[:-k], x[k:]) / np.dot(x, x) for k in range(1, lags + 1)])
    phis = {1: np.array([acf[1]])}
    pacf = [acf[1]]
    for k in range(2, lags + 1):
        last = phis[k - 1]
        num = acf[k] - last @ acf[k - 1 : 0 : -1]
        den = 1 - last @ acf[1:k]
        new = num / den
        phis[k] = np.append(last - new * last[::-1], new)
        pacf.append(new)
    bound = 1.96 / np.sqrt(len(x))
    order = max((k for k, v in enumerate(pacf, 1) if abs(v) > bound), default=0)
    q = len(x) * (len(x) + 2) * sum(r**2 / (len(x) - k) for k, r in enumerate(acf[1:], 1))
    return acf, np.array(pacf), order, q


class HoltWinters:
    def __init__(self, period, *, alpha=0.3, beta=0.1, gamma=0.2):
        self.period = period
        self.alpha, self.beta, self.gamma = alpha, beta, gamma

    def fit(self, y):
        m = self.period
        self.level = y[:m].mean()
        self.trend = (y[m : 2 * m].mean() - y[:m].mean()) / m
        self.season = list(y[:m] - self.level)
        self.errors = []
        for t in range(m, len(y)):
            s = self.season[t % m]
            forecast = self.level + self.trend + s
            self.errors.append(y[t] - forecast)
            last = self.level
            self.level = self.alpha * (y[t] - s) + (1 - self.alpha) * (self.level + self.trend)
            self.trend = self.beta * (self.level - last) + (1 - self.beta) * self.trend
            self.season[t % m] = self.gamma * (y[t] - self.level) + (1 - self.gamma) * s
        self.n = len(y)
        return self

    def forecast(self, horizon):
        return np.array(
            [self.level + h * self.trend + self.season[(self.n + h - 1) % self.period] for h in range(1, horizon + 1)]
        )

    @property
    def rmse(self):
        return math.sqrt(sum(e * e for e in self.errors) / len(self.errors))


@program(lambda rng: (10 + 0.1 * np.arange(36) + 3 * np.sin(np.arange(36) * np.pi / 3) + rng.normal(0, 0.3, 36),))
def seasonal_forecast(y):
    """A grid of options with itertools.product; the best object is kept."""
    best = None
    for alpha, gamma in itertools.product((0.2, 0.5), (0.1, 0.4)):
        model = HoltWinters(6, alpha=alpha, gamma=gamma).fit(y)
        if best is None or model.rmse < best.rmse:
            best = model
    print(f"alpha={best.alpha} gamma={best.gamma} rmse={best.rmse:.4f}")
    return best.forecast(6), np.array(best.season)


def log_posterior(theta, x, y, prior_scale=10.0):
    a, b, log_s = theta
    s = np.exp(log_s)
    if not 0.01 < s < 100:
        return -np.inf
    r = y - a - b * x
    return -len(x) * log_s - (r @ r) / (2 * s**2) - (a**2 + b**2) / (2 * prior_scale**2)


@program(lambda rng: (rng.normal(size=20), rng.normal(size=20), int(rng.integers(1000))))
def gibbs_and_metropolis(x, noise, seed):
    """functools.partial of a posterior; acceptance adapts the step; a burn-in is cut off."""
    y = 1 + 2 * x + 0.5 * noise
    target = partial(log_posterior, x=x, y=y)
    rng = np.random.default_rng(seed)
    theta = np.zeros(3)
    current = target(theta)
    step = 0.2
    accepted = 0
    chain = np.zeros((300, 3))
    for i in range(300):
        proposal = theta + step * rng.standard_normal(3)
        value = target(proposal)
        if np.log(rng.uniform()) < value - current:
            theta, current = proposal, value
            accepted += 1
        chain[i] = theta
        if i < 100 and (i + 1) % 20 == 0:
            rate = accepted / 20
            step *= 1.3 if rate > 0.4 else 0.7 if rate < 0.2 else 1.0
            accepted = 0
    kept = chain[100:]
    return kept.mean(axis=0), kept.std(axis=0), accepted / 200, step
