"""Statistics: estimates, tests, densities."""

import numpy as np

from .registry import program


@program(
    lambda rng: (rng.gamma(2.0, size=120),),
    lambda found, x: np.isclose(found["variance"], np.var(x, ddof=1)) and found["quartiles"][1] == np.median(x),
)
def describe(x):
    """Moments and quantiles, as a dictionary."""
    n = len(x)
    mean = x.mean()
    deviations = x - mean
    variance = np.sum(deviations**2) / (n - 1)
    spread = np.sqrt(np.mean(deviations**2))
    q1, median, q3 = np.percentile(x, [25, 50, 75])
    fence = 1.5 * (q3 - q1)
    outliers = 0
    for value in x:
        if value < q1 - fence or value > q3 + fence:
            outliers += 1
    return {
        "count": n,
        "mean": mean,
        "variance": variance,
        "skewness": np.mean(deviations**3) / spread**3,
        "kurtosis": np.mean(deviations**4) / spread**4 - 3,
        "quartiles": (q1, median, q3),
        "outliers": outliers,
    }


def design_matrix(columns):
    X = np.ones((columns.shape[0], columns.shape[1] + 1))
    X[:, 1:] = columns
    return X


@program(
    lambda rng: ((columns := rng.normal(size=(60, 3))), columns @ [1.0, -2.0, 0.5] + 3 + 0.1 * rng.normal(size=60)),
    lambda found, columns, y: np.allclose(found[0][1:], [1, -2, 0.5], atol=0.1),
)
def linear_regression(columns, y):
    """Ordinary least squares with standard errors, t-values and R squared."""
    X = design_matrix(columns)
    n, p = X.shape
    gram = X.T @ X
    coefficients = np.linalg.solve(gram, X.T @ y)
    residuals = y - X @ coefficients
    s2 = residuals @ residuals / (n - p)
    inverse = np.linalg.inv(gram)
    errors = np.empty(p)
    for j in range(p):
        errors[j] = np.sqrt(s2 * inverse[j, j])
    t_values = np.zeros_like(coefficients)
    for j in range(p):
        if errors[j] > 0:
            t_values[j] = coefficients[j] / errors[j]
    total = np.sum((y - y.mean()) ** 2)
    r_squared = 1 - residuals @ residuals / total
    return coefficients, errors, t_values, r_squared


def bandwidth_of(samples):
    """Silverman's rule of thumb."""
    q75, q25 = np.percentile(samples, [75, 25])
    spread = min(samples.std(ddof=1), (q75 - q25) / 1.34)
    return 0.9 * spread * len(samples) ** (-0.2)


@program(
    lambda rng: (rng.normal(size=80), np.linspace(-4, 4, 65)),
    lambda found, samples, grid: np.isclose(found[0].sum() * (grid[1] - grid[0]), 1, atol=0.02),
)
def kernel_density(samples, grid):
    h = bandwidth_of(samples)
    density = np.zeros(len(grid))
    for i in range(len(grid)):
        total = 0.0
        for s in samples:
            u = (grid[i] - s) / h
            if abs(u) < 6:
                total += np.exp(-0.5 * u * u)
        density[i] = total / (len(samples) * h * np.sqrt(2 * np.pi))
    mode = grid[np.argmax(density)]
    return density, mode


def ranks_by_counting(x):
    return np.array([(x < value).sum() + (x == value).sum() / 2 for value in x])


def ranks_of(x):
    """Ranks from 1, ties share their mean."""
    order = np.argsort(x, kind="stable")
    ranks = np.empty(len(x))
    i = 0
    while i < len(x):
        j = i
        while j + 1 < len(x) and x[order[j + 1]] == x[order[i]]:
            j += 1
        for k in range(i, j + 1):
            ranks[order[k]] = (i + j) / 2 + 1
        i = j + 1
    return ranks


@program(
    lambda rng: (rng.integers(0, 12, 40), rng.normal(size=40)),
    lambda found, x, y: np.isclose(found, np.corrcoef(ranks_by_counting(x), ranks_by_counting(y))[0, 1]),
)
def spearman_correlation(x, y):
    rx = ranks_of(x)
    ry = ranks_of(y)
    rx -= rx.mean()
    ry -= ry.mean()
    return float(rx @ ry / np.sqrt((rx @ rx) * (ry @ ry)))


@program(
    lambda rng: (rng.normal(size=50), rng.normal(0.3, 1.0, size=35)),
    lambda found, a, b: np.isclose(abs((a <= found[1]).mean() - (b <= found[1]).mean()), found[0]),
)
def kolmogorov_smirnov(a, b):
    """The largest distance of two empirical distributions, and where it is."""
    a, b = np.sort(a), np.sort(b)
    i = j = 0
    largest, where = 0.0, None
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            x = a[i]
            i += 1
        else:
            x = b[j]
            j += 1
        distance = abs(i / len(a) - j / len(b))
        if distance > largest:
            largest, where = distance, x
    effective = len(a) * len(b) / (len(a) + len(b))
    argument = (np.sqrt(effective) + 0.12 + 0.11 / np.sqrt(effective)) * largest
    p, sign = 0.0, 1
    for k in range(1, 101):
        p += sign * 2 * np.exp(-2 * (k * argument) ** 2)
        sign = -sign
    return largest, where, max(0.0, min(1.0, p))


@program(
    lambda rng: (rng.normal(5.0, 2.0, size=200), 20),
    lambda found, stream, every: np.allclose(found[-1], [stream.mean(), stream.std(ddof=1)]),
)
def running_moments(stream, every):
    """Welford's recurrence; a snapshot of mean and deviation every so many values."""
    count, mean, m2 = 0, 0, 0
    snapshots = []
    for x in stream:
        count += 1
        delta = x - mean
        mean += delta / count
        m2 += delta * (x - mean)
        if count % every == 0:
            snapshots.append((mean, (m2 / (count - 1)) ** 0.5))
    return np.array(snapshots)


@program(
    lambda rng: (np.concatenate([rng.normal(-2, 0.6, 60), rng.normal(1.5, 1.0, 90)]), 1e-8),
    lambda found, x, tolerance: np.allclose(found[1], [-2, 1.5], atol=0.4) and np.isclose(found[0].sum(), 1),
)
def gaussian_mixture(x, tolerance):
    """Two components by expectation maximization, until the likelihood stands still."""
    weights = np.array([0.5, 0.5])
    means = np.array([x.min(), x.max()])
    variances = np.array([x.var(), x.var()])
    previous = -np.inf
    for iteration in range(200):  # noqa: B007
        responsibility = np.empty((len(x), 2))
        for k in range(2):
            responsibility[:, k] = weights[k] * np.exp(-0.5 * (x - means[k]) ** 2 / variances[k])
            responsibility[:, k] /= np.sqrt(2 * np.pi * variances[k])
        evidence = responsibility.sum(axis=1)
        likelihood = np.log(evidence).sum()
        if likelihood - previous < tolerance * abs(likelihood):
            break
        previous = likelihood
        responsibility /= evidence[:, None]
        counts = responsibility.sum(axis=0)
        weights = counts / len(x)
        means = (responsibility * x[:, None]).sum(axis=0) / counts
        variances = (responsibility * (x[:, None] - means) ** 2).sum(axis=0) / counts
    return weights, means, np.sqrt(variances), iteration


@program(
    lambda rng: (np.sort(rng.integers(1, 30, 40)).astype(float), rng.random(40) < 0.7),
    lambda found, times, observed: np.all(np.diff(found[1]) < 0) and set(found[0][1:]) == set(times[observed]),
)
def kaplan_meier(times, observed):
    """The survival curve, as arrays of times and probabilities."""
    at_risk = len(times)
    survival = 1.0
    steps, curve = [0.0], [1.0]
    i = 0
    while i < len(times):
        t = times[i]
        deaths = removed = 0
        while i < len(times) and times[i] == t:
            deaths += int(observed[i])
            removed += 1
            i += 1
        if deaths > 0:
            survival *= 1 - deaths / at_risk
            steps.append(t)
            curve.append(survival)
        at_risk -= removed
    return np.array(steps), np.array(curve)
