"""What stands in cells of notebooks: models that are trained, fitted and summed up in a few dozen lines."""

from collections import Counter

import numpy as np

from .registry import program


@program(
    lambda rng: (
        rng.integers(0, 3, 40), np.array([[0.7, 0.3], [0.4, 0.6]]), np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]]), 5,
    ),
)  # fmt: skip
def baum_welch(seen, A, B, iterations):
    """Forward and backward passes within each iteration, which replaces the matrices that they read."""
    A, B = A.copy(), B.copy()
    start = np.array([0.5, 0.5])
    T, N = len(seen), len(A)
    likelihoods = []
    for _ in range(iterations):
        alpha, scale = np.zeros((T, N)), np.zeros(T)
        alpha[0] = start * B[:, seen[0]]
        scale[0] = alpha[0].sum()
        alpha[0] /= scale[0]
        for t in range(1, T):
            alpha[t] = (alpha[t - 1] @ A) * B[:, seen[t]]
            scale[t] = alpha[t].sum()
            alpha[t] /= scale[t]
        beta = np.ones((T, N))
        for t in range(T - 2, -1, -1):
            beta[t] = A @ (B[:, seen[t + 1]] * beta[t + 1]) / scale[t + 1]
        gamma = alpha * beta
        gamma /= gamma.sum(axis=1, keepdims=True)
        xi = np.zeros((N, N))
        for t in range(T - 1):
            x = alpha[t][:, None] * A * (B[:, seen[t + 1]] * beta[t + 1])
            xi += x / x.sum()
        start = gamma[0]
        A = xi / xi.sum(1, keepdims=True)
        for k in range(B.shape[1]):
            B[:, k] = gamma[seen == k].sum(axis=0) / gamma.sum(axis=0)
        likelihoods.append(np.log(scale).sum())
    return start, A, B, likelihoods


ZONES = ("tropics", "middle", "polar")


@program(lambda rng: (np.array([25.0, 10, -10]) + rng.normal(size=3), 0.5 + rng.random(), 120))
def energy_balance(temperatures, rate, years):
    """A list that a comprehension filters, in a dict in a dict."""
    arriving, area = np.array([417.0, 320, 190]), np.array([0.5, 0.37, 0.13])
    records, ice_free = {}, None
    for year in range(years):
        mean = float(area @ temperatures)
        frozen = [zone for zone, t in zip(ZONES, temperatures) if t < -10]
        albedo = np.where(temperatures < -10, 0.6, np.where(temperatures > 0, 0.3, 0.3 - 0.03 * temperatures))
        forcing = rate * np.log(1 + year / 50)
        change = arriving * (1 - albedo) - (203.3 + 2.09 * temperatures) + 3.8 * (mean - temperatures) + forcing
        temperatures = temperatures + change / 40
        if ice_free is None and not frozen:
            ice_free = year
            print(f"ice free in year {year}")
        if year % 30 == 0:
            records[year] = {"mean": mean, "zones": dict(zip(ZONES, temperatures.round(2))), "frozen": frozen}
    return temperatures, records, ice_free


@program(lambda rng: ("".join(rng.choice(list("ACGT"), 60)), int(rng.integers(2, 5))))
def words_of_a_sequence(sequence, length):
    """Slices of a text of a length that is an argument."""
    counts = Counter(sequence[i : i + length] for i in range(len(sequence) - length + 1))
    shares = np.array([count / sum(counts.values()) for count in counts.values()])
    for word, count in counts.most_common(3):
        print(word, count, "#" * count)
    return dict(counts), -(shares * np.log2(shares)).sum()


class Ridge:
    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def fit(self, X, y):
        self.intercept = y.mean()
        A = X.T @ X + self.alpha * np.identity(X.shape[1])
        self.weights = np.linalg.solve(A, X.T @ (y - self.intercept))
        return self

    def score(self, X, y):
        rest = y - X @ self.weights - self.intercept
        return 1 - (rest**2).sum() / ((y - y.mean()) ** 2).sum()


@program(lambda rng: (X := rng.normal(size=(44, 4)), X @ rng.normal(size=4) + rng.normal(size=44), [0.01, 1.0, 100.0]))
def best_model(X, y, alphas):
    """Returns a model, an object of a class of its own, and all of them in a list."""
    models = []
    for alpha in alphas:
        model = Ridge(alpha).fit(X[:30], y[:30])
        model.held_out = model.score(X[30:], y[30:])
        if model.held_out > 0:
            models.append(model)
    return Ridge(max(models, key=lambda model: model.held_out).alpha).fit(X, y) if models else None, models


@program(lambda rng: (rng.integers(0, 100, 12), 40, rng))
def random_subsets(values, rounds, rng):
    """Masks that are drawn."""
    totals = []
    for _ in range(rounds):
        chosen = values[rng.random(len(values)) < 0.3]
        totals.append(chosen.sum() if chosen.size else -1)
    return max(totals), totals, values[rng.random(len(values)) < 0.5]


@program(lambda rng: (np.where(rng.random(96) < 0.05, np.nan, 15 + 8 * np.sin(np.arange(96) / 2) + rng.normal(size=96)),))
def extreme_months(series):
    """A name that stands twice in the target of a generator, and texts that are joined."""
    months = np.arange(series.size) % 12
    normal = np.array([np.nanmean(series[months == m]) for m in range(12)])
    anomaly = series - normal[months]
    far = np.flatnonzero(np.abs(anomaly) > 1.5 * np.nanstd(anomaly))
    extremes = [(int(i // 12), int(i % 12), round(float(anomaly[i]), 2)) for i in far]
    print("".join("JFMAMJJASOND"[m] for _, m, _ in extremes))
    return normal, extremes
