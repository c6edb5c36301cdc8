"""Machine learning from scratch, as blog posts have it: classes with fit and predict, histories, mini-batches."""

import numpy as np

from .registry import program


def blobs(rng, n=60, d=2, k=3):
    centers = rng.uniform(-4, 4, (k, d))
    labels = np.arange(n) % k
    return centers[labels] + 0.5 * rng.normal(size=(n, d)), labels


class LinearRegressionGD:
    """With a cost history, as in many a blog."""

    def __init__(self, learning_rate=0.05, n_iterations=100, tolerance=None):
        self.learning_rate = learning_rate
        self.n_iterations = n_iterations
        self.tolerance = tolerance
        self.weights = None
        self.bias = 0.0
        self.cost_history = []

    def fit(self, X, y):
        n_samples, n_features = X.shape
        self.weights = np.zeros(n_features)
        for i in range(self.n_iterations):
            error = self.predict(X) - y
            self.weights -= self.learning_rate * (1 / n_samples) * X.T @ error
            self.bias -= self.learning_rate * (1 / n_samples) * np.sum(error)
            self.cost_history.append(np.mean(error**2) / 2)
            if self.tolerance is not None and i > 0:
                if abs(self.cost_history[-2] - self.cost_history[-1]) < self.tolerance:
                    break
        return self

    def predict(self, X):
        return X @ self.weights + self.bias

    def score(self, X, y):
        residual = np.sum((y - self.predict(X)) ** 2)
        return 1 - residual / np.sum((y - np.mean(y)) ** 2)


@program(lambda rng: (rng.normal(size=(80, 3)), rng.normal(size=3)))
def linear_regression_class(X, w):
    y = X @ w + 1.0
    model = LinearRegressionGD(0.1, 200).fit(X, y)
    return model.weights, model.bias, model.score(X, y), len(model.cost_history), model.cost_history[-1]


@program(lambda rng: (rng.normal(size=(80, 3)), rng.normal(size=3)))
def linear_regression_until_tolerance(X, w):
    """The history is a list of a length that the data decide, and looked back into."""
    y = X @ w + 1.0
    model = LinearRegressionGD(0.1, 500, tolerance=1e-6).fit(X, y)
    return model.weights, len(model.cost_history), np.array(model.cost_history)


class PCA:
    def __init__(self, n_components):
        self.n_components = n_components
        self.mean_ = None
        self.components_ = None

    def fit(self, X):
        self.mean_ = np.mean(X, axis=0)
        cov = np.cov(X - self.mean_, rowvar=False)
        values, vectors = np.linalg.eigh(cov)
        order = np.argsort(values)[::-1]
        self.explained_variance_ = values[order][: self.n_components]
        self.explained_variance_ratio_ = self.explained_variance_ / values.sum()
        vectors = vectors[:, order]
        signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
        self.components_ = (vectors * signs).T[: self.n_components]
        return self

    def transform(self, X):
        return (X - self.mean_) @ self.components_.T

    def fit_transform(self, X):
        return self.fit(X).transform(X)

    def inverse_transform(self, Z):
        return Z @ self.components_ + self.mean_


@program(lambda rng: (rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4)),))
def principal_components(X):
    pca = PCA(2)
    Z = pca.fit_transform(X)
    error = np.mean((X - pca.inverse_transform(Z)) ** 2)
    print("explained:", " ".join(f"{r:.1%}" for r in pca.explained_variance_ratio_))
    return Z, error, pca.components_


class Dense:
    def __init__(self, n_in, n_out, rng):
        self.W = rng.normal(0, np.sqrt(2 / n_in), (n_in, n_out))
        self.b = np.zeros(n_out)

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, grad):
        self.dW = self.x.T @ grad
        self.db = grad.sum(axis=0)
        return grad @ self.W.T

    def parameters(self):
        return [(self.W, self.dW), (self.b, self.db)]


class ReLU:
    def forward(self, x):
        self.mask = x > 0
        return x * self.mask

    def backward(self, grad):
        return grad * self.mask

    def parameters(self):
        return []


class Sequential:
    def __init__(self, *layers):
        self.layers = layers

    def __call__(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def backward(self, grad):
        for layer in reversed(self.layers):
            grad = layer.backward(grad)

    def parameters(self):
        return [p for layer in self.layers for p in layer.parameters()]


class Adam:
    def __init__(self, lr=0.01, betas=(0.9, 0.999), eps=1e-8):
        self.lr, self.betas, self.eps = lr, betas, eps
        self.t = 0
        self.m, self.v = {}, {}

    def step(self, parameters):
        self.t += 1
        b1, b2 = self.betas
        for i, (p, g) in enumerate(parameters):
            if i not in self.m:
                self.m[i] = np.zeros_like(p)
                self.v[i] = np.zeros_like(p)
            self.m[i] = b1 * self.m[i] + (1 - b1) * g
            self.v[i] = b2 * self.v[i] + (1 - b2) * g**2
            m_hat = self.m[i] / (1 - b1**self.t)
            v_hat = self.v[i] / (1 - b2**self.t)
            p -= self.lr * m_hat / (np.sqrt(v_hat) + self.eps)


def softmax_cross_entropy(logits, labels):
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    n = len(labels)
    loss = -log_p[np.arange(n), labels].mean()
    grad = np.exp(log_p)
    grad[np.arange(n), labels] -= 1
    return loss, grad / n


@program(blobs)
def layers_and_adam(X, y, epochs=20, batch=20):
    """Layers as objects, an optimizer with dicts of state by number, shuffled mini-batches."""
    rng = np.random.default_rng(0)
    net = Sequential(Dense(2, 8, rng), ReLU(), Dense(8, 3, rng))
    optimizer = Adam(lr=0.02)
    history = {"loss": [], "accuracy": []}
    for epoch in range(epochs):
        order = rng.permutation(len(X))
        losses = []
        for start in range(0, len(X), batch):
            idx = order[start : start + batch]
            loss, grad = softmax_cross_entropy(net(X[idx]), y[idx])
            net.backward(grad)
            optimizer.step(net.parameters())
            losses.append(loss)
        history["loss"].append(np.mean(losses))
        history["accuracy"].append(np.mean(net(X).argmax(axis=1) == y))
        if epoch % 10 == 0:
            print(f"epoch {epoch:3d}: loss {history['loss'][-1]:.4f}, accuracy {history['accuracy'][-1]:.2f}")
    return np.array(history["loss"]), np.array(history["accuracy"]), optimizer.t


class GaussianMixture:
    def __init__(self, k, n_iter=30, tol=1e-4, reg=1e-6):
        self.k, self.n_iter, self.tol, self.reg = k, n_iter, tol, reg

    def _log_gaussian(self, X, mean, cov):
        d = X.shape[1]
        L = np.linalg.cholesky(cov + self.reg * np.eye(d))
        z = np.linalg.solve(L, (X - mean).T)
        return -0.5 * (d * np.log(2 * np.pi) + (z**2).sum(axis=0)) - np.log(np.diag(L)).sum()

    def fit(self, X):
        n, d = X.shape
        self.weights = np.full(self.k, 1 / self.k)
        self.means = X[:: n // self.k][: self.k].copy()
        self.covs = np.array([np.cov(X.T) for _ in range(self.k)])
        previous = -np.inf
        for iteration in range(1, self.n_iter + 1):
            self.iterations = iteration
            log_r = np.stack(
                [np.log(w) + self._log_gaussian(X, m, c) for w, m, c in zip(self.weights, self.means, self.covs)], axis=1
            )
            top = log_r.max(axis=1, keepdims=True)
            log_sum = top + np.log(np.exp(log_r - top).sum(axis=1, keepdims=True))
            r = np.exp(log_r - log_sum)
            counts = r.sum(axis=0)
            self.weights = counts / n
            self.means = r.T @ X / counts[:, None]
            for j in range(self.k):
                diff = X - self.means[j]
                self.covs[j] = (r[:, j, None] * diff).T @ diff / counts[j]
            likelihood = log_sum.sum()
            if abs(likelihood - previous) < self.tol:
                break
            previous = likelihood
        self.responsibilities = r
        return self


@program(blobs)
def gaussian_mixture(X, y):
    """A likelihood that is watched; what one round leaves behind is used after the break."""
    model = GaussianMixture(3).fit(X)
    return model.weights, model.means, model.covs, model.responsibilities.argmax(axis=1), model.iterations


class KMedoids:
    def __init__(self, k):
        self.k = k

    def __call__(self, X):
        distances = np.linalg.norm(X[:, None] - X[None], axis=-1)
        medoids = np.arange(self.k)
        while True:
            labels = distances[:, medoids].argmin(axis=1)
            new = medoids.copy()
            for j in range(self.k):
                (members,) = np.where(labels == j)
                costs = distances[np.ix_(members, members)].sum(axis=1)
                new[j] = members[costs.argmin()]
            if np.array_equal(new, medoids):
                return medoids, labels
            medoids = new


@program(blobs)
def k_medoids(X, y):
    return KMedoids(3)(X)


@program(lambda rng: (blobs(rng)[0], 0.9, 4))
def dbscan(X, eps, min_samples):
    """A queue of points to visit, labels that are written while the queue grows."""
    n = len(X)
    labels = np.full(n, -1)
    cluster = 0
    neighbours = np.linalg.norm(X[:, None] - X[None], axis=-1) <= eps
    for i in range(n):
        if labels[i] != -1 or neighbours[i].sum() < min_samples:
            continue
        labels[i] = cluster
        queue = [i]
        while queue:
            p = queue.pop()
            if neighbours[p].sum() < min_samples:
                continue
            for q in range(n):
                if neighbours[p, q] and labels[q] == -1:
                    labels[q] = cluster
                    queue.append(q)
        cluster += 1
    return labels, cluster, np.mean(labels == -1)


@program(lambda rng: (rng.normal(size=(60, 2)), np.where(rng.random(60) < 0.5, -1, 1)))
def pegasos(X, y, lam=0.1, epochs=5):
    """A support vector machine by subgradients, one example after the other."""
    X = np.column_stack([X + 1.5 * y[:, None], np.ones(len(X))])
    w = np.zeros(X.shape[1])
    t = 0
    for epoch in range(epochs):
        for xi, yi in zip(X, y):
            t += 1
            eta = 1 / (lam * t)
            if yi * (w @ xi) < 1:
                w = (1 - eta * lam) * w + eta * yi * xi
            else:
                w *= 1 - eta * lam
            norm = np.linalg.norm(w)
            if norm > 1 / np.sqrt(lam):
                w *= 1 / np.sqrt(lam) / norm
    margin = y * (X @ w)
    return w, (margin > 0).mean(), np.maximum(0, 1 - margin).mean()


class Node:
    def __init__(self, value=None, feature=None, threshold=None, left=None, right=None):
        self.value, self.feature, self.threshold, self.left, self.right = value, feature, threshold, left, right


def gini(y, n_classes):
    if len(y) == 0:
        return 0.0
    p = np.bincount(y, minlength=n_classes) / len(y)
    return 1 - np.sum(p**2)


def best_split(X, y, n_classes):
    best = (np.inf, 0, 0.0)
    for feature in range(X.shape[1]):
        for threshold in np.unique(X[:, feature])[:-1]:
            left = X[:, feature] <= threshold
            score = left.mean() * gini(y[left], n_classes) + (1 - left.mean()) * gini(y[~left], n_classes)
            if score < best[0]:
                best = (score, feature, threshold)
    return best


def grow(X, y, n_classes, depth):
    majority = np.bincount(y, minlength=n_classes).argmax()
    if depth == 0 or len(np.unique(y)) == 1:
        return Node(value=majority)
    _, feature, threshold = best_split(X, y, n_classes)
    left = X[:, feature] <= threshold
    return Node(
        None, feature, threshold, grow(X[left], y[left], n_classes, depth - 1), grow(X[~left], y[~left], n_classes, depth - 1)
    )


def classify(node, x):
    while node.value is None:
        node = node.left if x[node.feature] <= node.threshold else node.right
    return node.value


@program(lambda rng: blobs(rng, n=30))
def decision_tree(X, y):
    """A tree that is grown and gone down recursively."""
    tree = grow(X, y, 3, depth=2)
    predictions = np.array([classify(tree, x) for x in X])
    return predictions, np.mean(predictions == y)


@program(blobs)
def cross_validation(X, y, folds=5):
    """Nearest centroids on folds that np.array_split makes, with a confusion matrix."""
    indices = np.array_split(np.arange(len(X)), folds)
    confusion = np.zeros((3, 3), dtype=int)
    scores = []
    for i, test in enumerate(indices):
        train = np.concatenate([part for j, part in enumerate(indices) if j != i])
        centroids = np.array([X[train][y[train] == c].mean(axis=0) for c in range(3)])
        predicted = np.argmin(((X[test][:, None] - centroids) ** 2).sum(axis=2), axis=1)
        for t, p in zip(y[test], predicted):
            confusion[t, p] += 1
        scores.append((predicted == y[test]).mean())
    precision = np.diag(confusion) / np.maximum(confusion.sum(axis=0), 1)
    print(f"accuracy {np.mean(scores):.3f} +/- {np.std(scores):.3f}")
    return confusion, precision, scores
