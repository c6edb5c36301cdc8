"""Machine learning by hand, as in course notebooks: agents, embeddings, optimisers with state, metrics."""

from dataclasses import dataclass, field

import numpy as np

from .registry import program

EPS = 1e-8


class Optimizer:
    def __init__(self, lr):
        self.lr = lr
        self.t = 0

    def step(self, params, grads):
        self.t += 1
        for name in params:
            params[name] -= self.update(name, grads[name])


class Momentum(Optimizer):
    def __init__(self, lr, mu=0.9):
        super().__init__(lr)
        self.mu = mu
        self.velocity = {}

    def update(self, name, g):
        v = self.velocity.setdefault(name, np.zeros_like(g))
        v *= self.mu
        v += self.lr * g
        return v


class RMSprop(Optimizer):
    decay = 0.9

    def __init__(self, lr):
        super().__init__(lr)
        self.cache = {}

    def update(self, name, g):
        if name not in self.cache:
            self.cache[name] = np.zeros_like(g)
        self.cache[name] = self.decay * self.cache[name] + (1 - self.decay) * g**2
        return self.lr * g / (np.sqrt(self.cache[name]) + EPS)


@program(
    lambda rng: (rng.normal(size=(30, 5)), rng.normal(size=(5, 8)) * 0.3, rng.normal(size=(8, 1)) * 0.3, rng.normal(size=5))
)
def compare_optimizers(X, W1, W2, truth):
    """Classes with inheritance, parameters in dicts that are changed in place, losses in lists."""
    y = np.tanh(X @ truth)[:, None]
    curves = {}
    for opt in (Momentum(0.05), RMSprop(0.01), Momentum(0.05, mu=0.5)):
        p = {"W1": W1.copy(), "b1": np.zeros(8), "W2": W2.copy(), "b2": np.zeros(1)}
        losses = []
        for epoch in range(25):
            h = np.maximum(X @ p["W1"] + p["b1"], 0)
            out = h @ p["W2"] + p["b2"]
            err = out - y
            losses.append((err**2).mean())
            d = 2 * err / len(X)
            dh = (d @ p["W2"].T) * (h > 0)
            grads = {"W1": X.T @ dh, "b1": dh.sum(0), "W2": h.T @ d, "b2": d.sum(0)}
            opt.step(p, grads)
        curves[f"{type(opt).__name__}({opt.lr}) after {opt.t}"] = np.array(losses)
    for name, curve in curves.items():
        print(f"{name:25s} {curve[0]:.4f} -> {curve[-1]:.4f}")
    return curves


@dataclass
class GridWorld:
    width: int = 4
    height: int = 4
    goal: tuple = (3, 3)
    pits: set = field(default_factory=lambda: {(1, 1), (2, 3)})

    def step(self, state, action):
        x, y = state
        dx, dy = [(0, 1), (1, 0), (0, -1), (-1, 0)][action]
        x = min(max(x + dx, 0), self.width - 1)
        y = min(max(y + dy, 0), self.height - 1)
        if (x, y) == self.goal:
            return (x, y), 1.0, True
        if (x, y) in self.pits:
            return (x, y), -1.0, True
        return (x, y), -0.01, False


@program(lambda rng: (rng.random((20, 30, 2)), 0.9, 0.3))
def q_learning(u, gamma, epsilon, alpha=0.5):
    """An environment in a dataclass; states are tuples; the table is an array."""
    env = GridWorld()
    Q = np.zeros((env.width, env.height, 4))
    total = np.zeros(len(u))
    for episode, draws in enumerate(u):
        state = (0, 0)
        for pick, which in draws:
            if pick < epsilon:
                action = int(which * 4)
            else:
                action = int(np.argmax(Q[state]))
            new, reward, done = env.step(state, action)
            target = reward if done else reward + gamma * Q[new].max()
            Q[state + (action,)] += alpha * (target - Q[state + (action,)])
            total[episode] += reward
            state = new
            if done:
                break
    policy = Q.argmax(axis=2)
    return Q, total, policy


class Bandit:
    def __init__(self, arms, seed=None):
        self.rng = np.random.default_rng(seed)
        self.means = self.rng.normal(size=arms)

    def pull(self, arm):
        return self.means[arm] + self.rng.normal()


@program(lambda rng: (6, 200, int(rng.integers(1000))))
def bandit_strategies(arms, pulls, seed):
    """Strategies are functions in a dict; the bandit draws its own numbers."""

    def greedy(n, s, t):
        return int(np.argmax(s / np.maximum(n, 1)))

    def ucb(n, s, t):
        if (n == 0).any():
            return int(np.argmin(n))
        return int(np.argmax(s / n + np.sqrt(2 * np.log(t + 1) / n)))

    report = {}
    for name, choose in {"greedy": greedy, "ucb": ucb}.items():
        bandit = Bandit(arms, seed)
        n, s = np.zeros(arms), np.zeros(arms)
        regret = 0.0
        for t in range(pulls):
            a = choose(n, s, t)
            r = bandit.pull(a)
            n[a] += 1
            s[a] += r
            regret += bandit.means.max() - bandit.means[a]
        report[name] = {"regret": regret, "counts": n.astype(int)}
    winner = min(report, key=lambda name: report[name]["regret"])
    return report, winner


@program(
    lambda rng: (
        rng.normal(size=(20, 10)),
        rng.normal(size=(20, 10)),
        rng.integers(0, 20, (60, 2)),
        rng.integers(0, 20, (60, 3)),
    )
)
def skip_gram(center, context, pairs, negatives, lr=0.1):
    """Rows of two tables are changed in place, with np.add.at for those that come twice."""
    sigmoid = lambda z: 1 / (1 + np.exp(-z))  # noqa: E731
    loss = 0.0
    for (c, o), neg in zip(pairs, negatives):
        v = center[c]
        targets = np.r_[o, neg]
        labels = np.array([1.0] + [0.0] * len(neg))
        u = context[targets]
        p = sigmoid(u @ v)
        loss -= np.log(np.where(labels == 1, p, 1 - p) + EPS).sum()
        g = p - labels
        np.add.at(context, targets, -lr * g[:, None] * v)
        center[c] -= lr * g @ u
    norms = np.linalg.norm(center, axis=1, keepdims=True)
    similarity = (center / norms) @ (center / norms).T
    nearest = np.argsort(-similarity, axis=1)[:, 1]
    return loss / len(pairs), nearest


def kfold(n, k):
    fold = n // k
    index = np.arange(n)
    for i in range(k):
        test = index[i * fold : (i + 1) * fold]
        yield np.setdiff1d(index, test), test


class RidgeCV:
    def __init__(self, alphas=(0.1, 1.0, 10.0), cv=3):
        self.alphas, self.cv = alphas, cv

    @staticmethod
    def _solve(X, y, alpha):
        return np.linalg.solve(X.T @ X + alpha * np.eye(X.shape[1]), X.T @ y)

    def fit(self, X, y):
        self.mean_, self.scale_ = X.mean(0), X.std(0)
        Z = (X - self.mean_) / self.scale_
        self.intercept_ = y.mean()
        yc = y - self.intercept_
        self.scores_ = {}
        for a in self.alphas:
            errors = []
            for train, test in kfold(len(y), self.cv):
                w = self._solve(Z[train], yc[train], a)
                errors.append(np.mean((Z[test] @ w - yc[test]) ** 2))
            self.scores_[a] = float(np.mean(errors))
        self.alpha_ = min(self.scores_, key=self.scores_.get)
        self.coef_ = self._solve(Z, yc, self.alpha_)
        return self

    def predict(self, X):
        return (X - self.mean_) / self.scale_ @ self.coef_ + self.intercept_

    def __repr__(self):
        return f"RidgeCV(alpha={self.alpha_})"


@program(lambda rng: (rng.normal(size=(30, 6)), rng.normal(size=6), rng.normal(size=30)))
def ridge_with_folds(X, w, noise):
    """The style of scikit-learn, with a generator of folds, a repr, and attributes that end in an underscore."""
    y = X @ w + noise + 3
    model = RidgeCV().fit(X, y)
    r2 = 1 - ((y - model.predict(X)) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    print(model, round(r2, 3))
    return model.coef_, model.scores_


@program(lambda rng: (rng.normal(size=(40, 4)), rng.integers(0, 3, 40)))
def discriminant_analysis(X, y):
    classes, counts = np.unique(y, return_counts=True)
    X = X + y[:, None] * 0.7
    mean = X.mean(axis=0)
    Sw, Sb = np.zeros((4, 4)), np.zeros((4, 4))
    means = {}
    for c, n in zip(classes, counts):
        Xc = X[y == c]
        mu = Xc.mean(axis=0)
        means[int(c)] = mu
        Sw += (Xc - mu).T @ (Xc - mu)
        diff = (mu - mean).reshape(-1, 1)
        Sb += n * diff @ diff.T
    evals = np.sort(np.linalg.eigvals(np.linalg.inv(Sw) @ Sb).real)[::-1]
    P = np.linalg.inv(Sw / (len(X) - len(classes)))
    scores = np.stack([X @ P @ m - 0.5 * m @ P @ m + np.log(n / len(X)) for m, n in zip(means.values(), counts)], axis=1)
    pred = classes[scores.argmax(axis=1)]
    acc = (pred == y).mean()
    confusion = np.array([[np.sum((y == i) & (pred == j)) for j in classes] for i in classes])
    return evals[:2], acc, confusion
