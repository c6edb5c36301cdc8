"""Machine learning: what is fitted and what it predicts."""

import numpy as np

from .registry import program


def blobs(rng, count=90, dimensions=2, centers=3):
    middle = rng.normal(scale=4.0, size=(centers, dimensions))
    labels = rng.permutation(np.arange(count) % centers)
    return middle[labels] + rng.normal(scale=0.7, size=(count, dimensions)), labels


def distances_to(points, center):
    return np.sqrt(((points - center) ** 2).sum(axis=1))


@program(
    lambda rng: (blobs(rng)[0], 3, 50),
    lambda found, points, k, most: np.isclose(found[2], np.sum((points - found[0][found[1]]) ** 2)),
)
def k_means(points, k, max_iterations):
    n = points.shape[0]
    centers = points[:k].copy()
    labels = np.zeros(n, dtype=int)
    for iteration in range(max_iterations):
        distances = np.empty((n, k))
        for j in range(k):
            distances[:, j] = distances_to(points, centers[j])
        new_labels = np.argmin(distances, axis=1)
        if iteration > 0 and np.all(new_labels == labels):
            break
        labels = new_labels
        for j in range(k):
            members = points[labels == j]
            if len(members) > 0:
                centers[j] = members.mean(axis=0)
    inertia = sum(distances[i, labels[i]] ** 2 for i in range(n))
    return centers, labels, inertia


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


@program(
    lambda rng: (rng.normal(size=(80, 4)), rng.integers(0, 2, 80).astype(float)),
    lambda found, X, y: np.all(np.diff(found[2]) < 0),
)
def logistic_regression(X, y, rate=0.1, steps=200, penalty=0.01):
    w = np.zeros(X.shape[1])
    b = 0.0
    losses = []
    for step in range(steps):
        p = sigmoid(X @ w + b)
        error = p - y
        w -= rate * (X.T @ error / len(y) + penalty * w)
        b -= rate * error.mean()
        if step % 50 == 0:
            losses.append(-np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)))
    return w, b, losses


def separable(rng):
    X = rng.normal(size=(50, 3))
    margin = X @ np.array([1.0, -2.0, 1.5]) + 0.3
    return X + 0.2 * np.sign(margin)[:, None] * [1.0, -2.0, 1.5], np.where(margin > 0, 1, -1)


@program(separable, lambda found, X, y: np.all(np.sign(X @ found[0] + found[1]) == y))
def perceptron(X, y):
    w = np.zeros(X.shape[1])
    bias = 0
    epochs = 0
    mistakes = 1
    while mistakes and epochs < 1000:
        mistakes = 0
        for xi, yi in zip(X, y):
            if yi * (w @ xi + bias) <= 0:
                w += yi * xi
                bias += yi
                mistakes += 1
        epochs += 1
    return w, bias, epochs


@program(
    lambda rng: (*blobs(rng), rng.normal(scale=4.0, size=(20, 2))),
    lambda found, X, labels, queries: np.allclose(found[1], 1 / 3),
)
def naive_bayes(X, labels, queries):
    classes = np.unique(labels)
    means = np.zeros((len(classes), X.shape[1]))
    variances = np.zeros_like(means)
    priors = []
    for i, c in enumerate(classes):
        rows = X[labels == c]
        means[i] = rows.mean(axis=0)
        variances[i] = rows.var(axis=0) + 1e-9
        priors.append(len(rows) / len(X))
    predicted = []
    for q in queries:
        scores = [
            np.log(prior) - 0.5 * np.sum(np.log(2 * np.pi * v) + (q - m) ** 2 / v)
            for prior, m, v in zip(priors, means, variances)
        ]
        predicted.append(classes[np.argmax(scores)])
    return np.array(predicted), np.array(priors)


@program(
    lambda rng: (*blobs(rng, count=60), rng.normal(scale=4.0, size=(15, 2)), 5),
    lambda found, X, labels, queries, k: np.all(found[1].sum(axis=1) == k),
)
def nearest_neighbours(X, labels, queries, k):
    votes = np.zeros((len(queries), labels.max() + 1), dtype=int)
    for i, q in enumerate(queries):
        nearest = np.argsort(distances_to(X, q))[:k]
        for j in nearest:
            votes[i, labels[j]] += 1
    return votes.argmax(axis=1), votes


def best_stump(X, y, weights):
    """The feature, threshold and sign with the smallest weighted error."""
    best = {"error": np.inf}
    for feature in range(X.shape[1]):
        for threshold in X[:, feature]:
            for sign in (1, -1):
                guess = np.where(sign * (X[:, feature] - threshold) > 0, 1, -1)
                error = weights[guess != y].sum()
                if error < best["error"]:
                    best = {"error": error, "feature": feature, "threshold": threshold, "sign": sign}
    return best


@program(
    lambda rng: ((X := rng.normal(size=(30, 2))), np.where(X[:, 0] ** 2 + X[:, 1] > 0.4, 1, -1)),
    lambda found, X, y: found[1] > 0.8,
)
def boosted_stumps(X, y, rounds=6):
    weights = np.full(len(y), 1 / len(y))
    score = np.zeros(len(y))
    stumps = []
    for _ in range(rounds):
        stump = best_stump(X, y, weights)
        error = max(stump["error"], 1e-12)
        if error >= 0.5:
            break
        alpha = 0.5 * np.log((1 - error) / error)
        guess = np.where(stump["sign"] * (X[:, stump["feature"]] - stump["threshold"]) > 0, 1, -1)
        weights *= np.exp(-alpha * y * guess)
        weights /= weights.sum()
        score += alpha * guess
        stumps.append((stump["feature"], stump["threshold"], stump["sign"], alpha))
    return stumps, np.mean(np.sign(score) == y)


def initial_parameters(inputs, hidden):
    return {
        "W1": np.sin(np.arange(inputs * hidden, dtype=float)).reshape(inputs, hidden),
        "b1": np.zeros(hidden),
        "W2": np.cos(np.arange(hidden, dtype=float)).reshape(hidden, 1) / np.sqrt(hidden),
        "b2": np.zeros(1),
    }


def gradients(parameters, X, y):
    hidden = np.tanh(X @ parameters["W1"] + parameters["b1"])
    output = hidden @ parameters["W2"] + parameters["b2"]
    error = (output[:, 0] - y)[:, None] / len(y)
    back = (error @ parameters["W2"].T) * (1 - hidden**2)
    grads = {"W2": hidden.T @ error, "b2": error.sum(axis=0), "W1": X.T @ back, "b1": back.sum(axis=0)}
    return 0.5 * np.mean((output[:, 0] - y) ** 2), grads


@program(
    lambda rng: ((X := rng.uniform(-2, 2, size=(64, 2))), np.sin(X[:, 0]) * X[:, 1]),
    lambda found, X, y: found[1][-1] < 0.5 * found[1][0],
)
def neural_network(X, y):
    """One hidden layer, trained with Adam; parameters and moments are dictionaries of arrays."""
    parameters = initial_parameters(X.shape[1], 8)
    first = {name: np.zeros_like(value) for name, value in parameters.items()}
    second = {name: np.zeros_like(value) for name, value in parameters.items()}
    history = np.zeros(100)
    for t in range(1, 101):
        loss, grads = gradients(parameters, X, y)
        history[t - 1] = loss
        for name in parameters:
            first[name] = 0.9 * first[name] + 0.1 * grads[name]
            second[name] = 0.999 * second[name] + 0.001 * grads[name] ** 2
            step = (first[name] / (1 - 0.9**t)) / (np.sqrt(second[name] / (1 - 0.999**t)) + 1e-8)
            parameters[name] -= 0.02 * step
    return parameters, history


@program(
    lambda rng: ((x := np.sort(rng.uniform(0, 6, 15))), np.sin(x), np.linspace(0, 6, 25)),
    lambda found, x, y, queries: np.allclose(np.interp(x, queries, found[0]), y, atol=0.1),
)
def gaussian_process(x, y, queries, length=1.0, noise=1e-3):
    def kernel(a, b):
        return np.exp(-0.5 * np.subtract.outer(a, b) ** 2 / length**2)

    K = kernel(x, x) + noise * np.eye(len(x))
    L = np.linalg.cholesky(K)
    alpha = np.linalg.solve(L.T, np.linalg.solve(L, y))
    cross = kernel(queries, x)
    mean = cross @ alpha
    variance = np.empty(len(queries))
    for i in range(len(queries)):
        v = np.linalg.solve(L, cross[i])
        variance[i] = max(0.0, 1.0 - v @ v)
    evidence = -0.5 * y @ alpha - np.log(np.diag(L)).sum() - 0.5 * len(x) * np.log(2 * np.pi)
    return mean, variance, evidence
