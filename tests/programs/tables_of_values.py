"""Agents with tables of values, models that are chosen by scores, and numbers of analysts."""

import math
from collections import Counter, defaultdict

import numpy as np

from .registry import program


@program(lambda rng: (rng.random(4).tolist(), 150, int(rng.integers(50))))
def thompson(probs, rounds, seed):
    rng = np.random.default_rng(seed)
    alpha, beta = [1] * len(probs), [1] * len(probs)
    rewards, regret = 0, []
    best = max(probs)
    for t in range(rounds):
        samples = [rng.beta(a, b) for a, b in zip(alpha, beta)]
        arm = samples.index(max(samples))
        if rng.random() < probs[arm]:
            alpha[arm] += 1
            rewards += 1
        else:
            beta[arm] += 1
        regret.append((regret[-1] if regret else 0) + best - probs[arm])
    return rewards, regret[-1], alpha, beta


class Corridor:
    def __init__(self, n=6):
        self.n = n

    def reset(self):
        self.pos, self.t = self.n // 2, 0
        return self.observe()

    def observe(self):
        o = np.zeros(self.n)
        o[self.pos] = 1.0
        return o

    def step(self, action):
        self.pos = min(max(self.pos + (1 if action == 1 else -1), 0), self.n - 1)
        self.t += 1
        done = self.pos == self.n - 1 or self.pos == 0 or self.t >= 20
        return self.observe(), float(self.pos == self.n - 1) - 0.01, done, {"t": self.t}


@program(lambda rng: (rng.normal(size=(6, 2)) * 0.1, 15, int(rng.integers(99))))
def reinforce_corridor(theta, episodes, seed):
    env, rng = Corridor(), np.random.default_rng(seed)
    returns, baseline = [], 0.0
    for ep in range(episodes):
        obs, done, traj = env.reset(), False, []
        while not done:
            z = obs @ theta
            p = np.exp(z - z.max())
            p /= p.sum()
            a = int(rng.choice(2, p=p))
            nxt, r, done, info = env.step(a)
            traj.append((obs, a, r, p))
            obs = nxt
        G, grads = 0.0, np.zeros_like(theta)
        for obs_t, a, r, p in reversed(traj):
            G = r + 0.99 * G
            grads += np.outer(obs_t, np.eye(2)[a] - p) * (G - baseline)
        baseline = 0.9 * baseline + 0.1 * G
        theta = theta + 0.1 * grads
        returns.append(sum(t[2] for t in traj))
    return theta, returns, info["t"]


@program(lambda rng: (20, int(rng.integers(100))))
def q_learning_dict(episodes, seed):
    rng = np.random.default_rng(seed)
    actions = ["up", "down", "left", "right"]
    moves = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
    Q = {}
    for r in range(3):
        for c in range(3):
            Q[(r, c)] = {a: 0.0 for a in actions}
    totals = []
    for ep in range(episodes):
        s, total = (0, 0), 0.0
        for step in range(20):
            if rng.random() < 0.2:
                a = actions[rng.integers(4)]
            else:
                a = max(Q[s], key=Q[s].get)
            dr, dc = moves[a]
            n = (min(max(s[0] + dr, 0), 2), min(max(s[1] + dc, 0), 2))
            reward = 1.0 if n == (2, 2) else -0.05
            Q[s][a] += 0.5 * (reward + 0.9 * max(Q[n].values()) - Q[s][a])
            s = n
            total += reward
            if s == (2, 2):
                break
        totals.append(total)
    policy = {s: max(q, key=q.get) for s, q in Q.items()}
    return totals, policy


@program(lambda rng: (20, int(rng.integers(100))))
def q_learning_defaultdict(episodes, seed):
    rng = np.random.default_rng(seed)
    Q = defaultdict(float)
    total = 0
    for ep in range(episodes):
        s = 0
        for t in range(30):
            if rng.random() < 0.1:
                a = int(rng.integers(2))
            else:
                a = max((0, 1), key=lambda a: Q[s, a])
            s2 = max(0, s - 1) if a == 0 else s + 1
            r = 1.0 if s2 == 5 else 0.0
            Q[s, a] += 0.5 * (r + 0.9 * max(Q[s2, 0], Q[s2, 1]) - Q[s, a])
            s = s2
            total += r
            if s == 5:
                break
    return total, dict(Q)


class TreeNode:
    def __init__(self, feature=None, threshold=None, left=None, right=None, *, value=None):
        self.feature, self.threshold, self.left, self.right, self.value = feature, threshold, left, right, value

    def is_leaf(self):
        return self.value is not None


def entropy(y):
    hist = np.bincount(y)
    ps = hist / len(y)
    return -np.sum([p * np.log2(p) for p in ps if p > 0])


class DecisionTree:
    def __init__(self, min_samples_split=2, max_depth=3):
        self.min_samples_split, self.max_depth, self.root = min_samples_split, max_depth, None

    def fit(self, X, y):
        self.root = self._grow(X, y)

    def _grow(self, X, y, depth=0):
        if depth >= self.max_depth or len(np.unique(y)) == 1 or len(X) < self.min_samples_split:
            return TreeNode(value=Counter(y.tolist()).most_common(1)[0][0])
        best_gain, split = -1, None
        for f in range(X.shape[1]):
            for t in np.unique(X[:, f]):
                left = X[:, f] <= t
                if left.all() or not left.any():
                    continue
                n, nl = len(y), left.sum()
                gain = entropy(y) - nl / n * entropy(y[left]) - (n - nl) / n * entropy(y[~left])
                if gain > best_gain:
                    best_gain, split = gain, (f, t)
        if split is None:
            return TreeNode(value=Counter(y.tolist()).most_common(1)[0][0])
        f, t = split
        left = X[:, f] <= t
        return TreeNode(f, t, self._grow(X[left], y[left], depth + 1), self._grow(X[~left], y[~left], depth + 1))

    def predict(self, X):
        return np.array([self._walk(x, self.root) for x in X])

    def _walk(self, x, node):
        if node.is_leaf():
            return node.value
        if x[node.feature] <= node.threshold:
            return self._walk(x, node.left)
        return self._walk(x, node.right)


@program(lambda rng: (rng.normal(size=(16, 2)), rng.integers(0, 2, 16)))
def tree_classifier(X, y):
    tree = DecisionTree(max_depth=2)
    tree.fit(X, y)
    pred = tree.predict(X)
    return pred, (pred == y).mean()


@program(lambda rng: (rng.integers(0, 3, 50), rng.integers(0, 3, 50), rng.random(50), ["cat", "dog", "fox"]))
def metrics_report(y, pred, score, names):
    cm = np.zeros((3, 3), dtype=int)
    for t, p in zip(y, pred):
        cm[t, p] += 1
    report = {}
    for i, name in enumerate(names):
        tp = cm[i, i]
        precision = tp / cm[:, i].sum() if cm[:, i].sum() else 0.0
        recall = tp / cm[i].sum() if cm[i].sum() else 0.0
        f1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
        report[name] = {"precision": precision, "recall": recall, "f1": f1, "support": int(cm[i].sum())}
    lines = [f"{'':10s}{'prec':>8}{'rec':>8}{'f1':>8}{'n':>6}"]
    for name, r in report.items():
        lines.append(f"{name:10s}{r['precision']:8.2f}{r['recall']:8.2f}{r['f1']:8.2f}{r['support']:6d}")
    print("\n".join(lines))
    binary = (y == 1).astype(int)
    order = np.argsort(-score, kind="mergesort")
    s, b = score[order], binary[order]
    distinct = np.where(np.diff(s))[0]
    idx = np.r_[distinct, b.size - 1]
    tps = np.cumsum(b)[idx]
    fps = 1 + idx - tps
    tpr, fpr = np.r_[0, tps] / tps[-1], np.r_[0, fps] / fps[-1]
    auc = np.trapezoid(tpr, fpr)
    prec = tps / (tps + fps)
    ap = np.sum(np.diff(np.r_[0, tps / tps[-1]]) * prec)
    best = max(zip(s[idx], tpr[1:] - fpr[1:]), key=lambda p: p[1])
    return cm, auc, ap, best


class Ridge:
    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def fit(self, X, y):
        A = np.c_[np.ones(len(X)), X]
        P = self.alpha * np.eye(A.shape[1])
        P[0, 0] = 0
        self.coef_ = np.linalg.solve(A.T @ A + P, A.T @ y)
        return self

    def predict(self, X):
        return self.coef_[0] + X @ self.coef_[1:]

    def score(self, X, y):
        r = y - self.predict(X)
        return 1 - (r @ r) / ((y - y.mean()) ** 2).sum()


class KFold:
    def __init__(self, n_splits=5, shuffle=False, random_state=None):
        self.n_splits, self.shuffle, self.random_state = n_splits, shuffle, random_state

    def split(self, X):
        idx = np.arange(len(X))
        if self.shuffle:
            np.random.RandomState(self.random_state).shuffle(idx)
        sizes = np.full(self.n_splits, len(X) // self.n_splits)
        sizes[: len(X) % self.n_splits] += 1
        current = 0
        for size in sizes:
            start, stop = current, current + size
            yield np.concatenate([idx[:start], idx[stop:]]), idx[start:stop]
            current = stop


@program(lambda rng: (rng.normal(size=(33, 4)), rng.normal(size=4), rng.normal(size=33)))
def ridge_grid_search(X, w, noise):
    y = X @ w + 0.3 * noise
    results = []
    for alpha in [0.01, 0.1, 1, 10]:
        scores = [Ridge(alpha).fit(X[tr], y[tr]).score(X[te], y[te]) for tr, te in KFold(5, True, 0).split(X)]
        results.append({"alpha": alpha, "mean": np.mean(scores), "std": np.std(scores)})
    best = max(results, key=lambda r: r["mean"])
    ranked = sorted(results, key=lambda r: (-r["mean"], r["alpha"]))
    model = Ridge(**{k: v for k, v in best.items() if k == "alpha"}).fit(X, y)
    rng = np.random.default_rng(0)
    importance = []
    for j in range(4):
        shuffled = np.column_stack([rng.permutation(X[:, j]) if k == j else X[:, k] for k in range(4)])
        importance.append(model.score(X, y) - model.score(shuffled, y))
    return best, [r["alpha"] for r in ranked], model.coef_, importance


@program(lambda rng: (rng.integers(0, 5, 60), rng.integers(0, 4, 60), rng.normal(size=60), np.sort(rng.integers(0, 300, 60))))
def frame_operations(store, product, amount, minute):
    keys, inv = np.unique(store, return_inverse=True)
    sums = np.bincount(inv, weights=amount)
    counts = np.bincount(inv)
    means = sums / counts
    pivot = np.zeros((len(keys), product.max() + 1))
    np.add.at(pivot, (inv, product), amount)
    order = np.lexsort((minute, store))
    bounds = np.flatnonzero(np.diff(store[order])) + 1
    firsts = [g[0] for g in np.split(amount[order], bounds)]
    left = np.searchsorted(minute, minute - 30, side="right")
    csum = np.r_[0, np.cumsum(amount)]
    rolling = csum[np.arange(1, 61)] - csum[left]
    ranks = np.empty(60)
    ranks[np.argsort(amount)] = np.arange(60)
    agg = {int(k): (float(amount[store == k].min()), float(np.median(amount[store == k]))) for k in keys}
    top = sorted(agg.items(), key=lambda kv: kv[1][1], reverse=True)[:2]
    z = (amount - means[inv]) / np.sqrt(np.bincount(inv, (amount - means[inv]) ** 2) / counts)[inv]
    return means, pivot, firsts, rolling, ranks, agg, top, np.abs(z).max()


@program(lambda rng: ([(int(rng.integers(5)), int(rng.integers(6)), float(rng.integers(1, 6))) for _ in range(30)], 3, 10))
def mf_sgd(ratings, k, epochs):
    rng = np.random.default_rng(0)
    users, items = {u for u, _, _ in ratings}, {i for _, i, _ in ratings}
    P = {u: rng.normal(0, 0.1, k) for u in sorted(users)}
    Q = {i: rng.normal(0, 0.1, k) for i in sorted(items)}
    bu, bi = defaultdict(float), defaultdict(float)
    mu = np.mean([r for _, _, r in ratings])
    hist = []
    for ep in range(epochs):
        se = 0.0
        for n in rng.permutation(len(ratings)):
            u, i, r = ratings[n]
            e = r - (mu + bu[u] + bi[i] + P[u] @ Q[i])
            se += e * e
            bu[u] += 0.05 * (e - 0.02 * bu[u])
            bi[i] += 0.05 * (e - 0.02 * bi[i])
            P[u], Q[i] = P[u] + 0.05 * (e * Q[i] - 0.02 * P[u]), Q[i] + 0.05 * (e * P[u] - 0.02 * Q[i])
        hist.append(math.sqrt(se / len(ratings)))
    return hist, dict(bu)


def readings(rng, n=60):
    return np.datetime64("2024-01-01T00:00") + np.cumsum(rng.integers(5, 50, n)).astype("timedelta64[m]"), rng.normal(size=n)


@program(readings)
def resample_hours(times, values):
    hours = times.astype("datetime64[h]")
    uniq, inv = np.unique(hours, return_inverse=True)
    mean = np.bincount(inv, weights=values) / np.bincount(inv)
    gaps = np.diff(times)
    long = gaps > np.timedelta64(40, "m")
    day = (times - times.astype("datetime64[D]")).astype("timedelta64[m]").astype(int) / 60
    night = (day < 6) | (day >= 22)
    last = times[night][-1] if night.any() else None
    return uniq, mean, long.sum(), gaps.max(), values[night].mean(), last, times[values > 1]
