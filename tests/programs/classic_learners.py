"""Learners as course work has them: mixtures, clusters, filters, factorizations, trees, rules, words that are counted."""

import heapq
import itertools
import math
from collections import Counter

import numpy as np

from .registry import program


def grow_regression(X, r, depth):
    if depth == 0 or len(r) < 4:
        return float(r.mean())
    best = None
    for j in range(X.shape[1]):
        order = X[:, j].argsort()
        xs, rs = X[order, j], r[order]
        left = np.cumsum(rs)[:-1]
        n = np.arange(1, len(rs))
        score = left**2 / n + (rs.sum() - left) ** 2 / (len(rs) - n)
        k = int(score.argmax())
        if best is None or score[k] > best[0]:
            best = (score[k], j, (xs[k] + xs[k + 1]) / 2)
    _, j, t = best
    mask = X[:, j] < t
    if mask.sum() == 0 or mask.sum() == len(r):
        return float(r.mean())
    left, right = grow_regression(X[mask], r[mask], depth - 1), grow_regression(X[~mask], r[~mask], depth - 1)
    return {"feature": j, "threshold": t, "left": left, "right": right}


def tree_value(tree, x):
    while isinstance(tree, dict):
        tree = tree["left"] if x[tree["feature"]] < tree["threshold"] else tree["right"]
    return tree


@program(lambda rng, n=20: (rng.normal(size=(n, 2)), rng.normal(size=n)))
def gradient_boosted_dicts(X, y):
    pred = np.full(len(y), y.mean())
    trees, losses = [], []
    for _ in range(3):
        tree = grow_regression(X, y - pred, 2)
        pred += 0.3 * np.array([tree_value(tree, x) for x in X])
        trees.append(tree)
        losses.append(np.mean((y - pred) ** 2))
    return losses, pred


class KMeans:
    def __init__(self, k, max_iter=50, seed=0):
        self.k, self.max_iter, self.rng = k, max_iter, np.random.default_rng(seed)

    def init_plus_plus(self, X):
        centers = [X[self.rng.integers(len(X))]]
        while len(centers) < self.k:
            d2 = np.min([((X - c) ** 2).sum(axis=1) for c in centers], axis=0)
            centers.append(X[self.rng.choice(len(X), p=d2 / d2.sum())])
        return np.array(centers)

    def fit(self, X):
        self.centers = self.init_plus_plus(X)
        for n_iter in range(1, self.max_iter + 1):
            self.n_iter = n_iter
            labels = np.linalg.norm(X[:, None] - self.centers[None], axis=2).argmin(axis=1)
            new = np.array([X[labels == j].mean(axis=0) if np.any(labels == j) else self.centers[j] for j in range(self.k)])
            if np.allclose(new, self.centers):
                break
            self.centers = new
        self.labels_ = labels
        self.inertia_ = sum(((X[labels == j] - self.centers[j]) ** 2).sum() for j in range(self.k))
        return self


@program(lambda rng, n=30: (rng.normal(size=(n, 2)) + rng.integers(0, 3, n)[:, None] * 4,))
def kmeans_elbow(X):
    inertias = {}
    for k in range(1, 5):
        model = KMeans(k).fit(X)
        inertias[k] = model.inertia_
        print(f"k={k} inertia={model.inertia_:.3f} iterations={model.n_iter} sizes={np.bincount(model.labels_, minlength=k)}")
    drops = [inertias[k] - inertias[k + 1] for k in range(1, 4)]
    return inertias, int(np.argmax(drops)) + 2


@program(lambda rng, n=40: (np.concatenate([rng.normal(-2, 1, n // 2), rng.normal(3, 0.5, n - n // 2)]),))
def gmm_em_1d(x):
    weights, means, sds = np.array([0.5, 0.5]), np.array([x.min(), x.max()]), np.array([x.std(), x.std()])
    ll_old = -np.inf
    for it in range(100):
        parts = zip(weights, means, sds)
        dens = np.stack([w * np.exp(-0.5 * ((x - m) / s) ** 2) / (s * np.sqrt(2 * np.pi)) for w, m, s in parts])
        total = dens.sum(axis=0)
        ll = np.log(total).sum()
        if abs(ll - ll_old) < 1e-6:
            print(f"converged after {it} iterations")
            break
        ll_old = ll
        resp = dens / total
        nk = resp.sum(axis=1)
        weights = nk / len(x)
        means = resp @ x / nk
        sds = np.sqrt((resp * (x - means[:, None]) ** 2).sum(axis=1) / nk)
    else:
        print("no convergence")
    return weights, means, sds, ll


@program(lambda rng, n=25: (rng.normal(size=(n, 3)), rng.choice(["red", "green", "blue"], n), rng.normal(size=(4, 3))))
def knn_by_heap(X, labels, queries):
    answers = []
    for q in queries:
        heap = []
        for i, x in enumerate(X):
            d = float(np.sum((x - q) ** 2))
            if len(heap) < 5:
                heapq.heappush(heap, (-d, i))
            elif -d > heap[0][0]:
                heapq.heapreplace(heap, (-d, i))
        votes = Counter(labels[i] for _, i in heap)
        label, count = votes.most_common(1)[0]
        answers.append((str(label), count))
    return answers


@program(lambda rng, n=40: (rng.normal(size=(n, 4)),))
def pca_explained(X):
    Xc = X - X.mean(axis=0)
    cov = Xc.T @ Xc / (len(X) - 1)
    vals, vecs = np.linalg.eigh(cov)
    order = np.argsort(vals)[::-1]
    vals, vecs = vals[order], vecs[:, order]
    signs = np.sign(vecs[np.abs(vecs).argmax(axis=0), np.arange(4)])
    vecs = vecs * signs
    ratio = vals / vals.sum()
    k = int(np.searchsorted(np.cumsum(ratio), 0.8) + 1)
    Z = Xc @ vecs[:, :k]
    for i, r in enumerate(ratio):
        print(f"PC{i + 1}: {r:6.1%} {'#' * int(r * 40)}")
    return k, Z, np.linalg.norm(Xc - Z @ vecs[:, :k].T)


@program(lambda rng, n=14: ("".join(rng.choice(list("NCD"), n)),))
def viterbi_with_dicts(obs):
    states = ("Healthy", "Fever")
    start = {"Healthy": 0.6, "Fever": 0.4}
    trans = {"Healthy": {"Healthy": 0.7, "Fever": 0.3}, "Fever": {"Healthy": 0.4, "Fever": 0.6}}
    emit = {"Healthy": {"N": 0.5, "C": 0.4, "D": 0.1}, "Fever": {"N": 0.1, "C": 0.3, "D": 0.6}}
    V = [{s: (math.log(start[s]) + math.log(emit[s][obs[0]]), None) for s in states}]
    for o in obs[1:]:
        row = {}
        for s in states:
            best = max(states, key=lambda q: V[-1][q][0] + math.log(trans[q][s]))
            row[s] = (V[-1][best][0] + math.log(trans[best][s]) + math.log(emit[s][o]), best)
        V.append(row)
    last = max(states, key=lambda s: V[-1][s][0])
    path = [last]
    for row in reversed(V[1:]):
        path.append(row[path[-1]][1])
    path.reverse()
    return path, V[-1][last][0]


@program(lambda rng, n=20: (np.cumsum(rng.normal(size=n)) + rng.normal(size=n),))
def particle_filter(zs):
    rng = np.random.default_rng(0)
    N = 50
    particles, weights = rng.normal(0, 1, N), np.full(N, 1 / N)
    estimates, resampled = [], 0
    for z in zs:
        particles = particles + rng.normal(0, 1, N)
        weights = weights * np.exp(-0.5 * (z - particles) ** 2) + 1e-300
        weights /= weights.sum()
        estimates.append(np.average(particles, weights=weights))
        if 1 / np.sum(weights**2) < N / 2:
            positions = (np.arange(N) + rng.random()) / N
            particles = particles[np.searchsorted(np.cumsum(weights), positions).clip(max=N - 1)]
            weights = np.full(N, 1 / N)
            resampled += 1
    return estimates, resampled


@program(lambda rng, n=8: (np.where(rng.random((n, 6)) > 0.4, rng.integers(1, 6, (n, 6)), 0).astype(float),))
def recommender_als(R):
    rng = np.random.default_rng(0)
    k, lam = 2, 0.1
    U, V = rng.random((R.shape[0], k)), rng.random((R.shape[1], k))
    mask = R > 0
    for _ in range(6):
        for u in range(R.shape[0]):
            idx = np.where(mask[u])[0]
            if len(idx) == 0:
                continue
            Vi = V[idx]
            U[u] = np.linalg.solve(Vi.T @ Vi + lam * np.eye(k), Vi.T @ R[u, idx])
        for i in range(R.shape[1]):
            idx = mask[:, i].nonzero()[0]
            if idx.size:
                Ui = U[idx]
                V[i] = np.linalg.solve(Ui.T @ Ui + lam * np.eye(k), Ui.T @ R[idx, i])
    pred = U @ V.T
    rmse = np.sqrt(((pred - R)[mask] ** 2).mean())
    top = {}
    for u in range(3):
        unseen = [i for i in range(R.shape[1]) if not mask[u, i]]
        top[u] = sorted(unseen, key=lambda i: -pred[u, i])[:2]
    return rmse, top


GOODS = ["milk", "bread", "eggs", "beer", "tea"]


@program(lambda rng: ([sorted(rng.choice(GOODS, k, replace=False).tolist()) for k in (2, 3, 4, 3, 2, 5)],))
def apriori(transactions, min_support=2):
    counts = Counter(item for t in transactions for item in t)
    frequent = {frozenset([i]): c for i, c in counts.items() if c >= min_support}
    result = dict(frequent)
    k = 2
    while frequent:
        items = sorted(set().union(*frequent))
        frequent = {}
        for combo in itertools.combinations(items, k):
            s = frozenset(combo)
            c = sum(1 for t in transactions if s <= set(t))
            if c >= min_support:
                frequent[s] = c
        result.update(frequent)
        k += 1
    rules = []
    for s, c in result.items():
        for i in s:
            rest = s - {i}
            if rest and c / result[rest] >= 0.8:
                rules.append((tuple(sorted(rest)), i, round(c / result[rest], 3)))
    return len(result), sorted(rules)


class NaiveBayes:
    def fit(self, docs, labels):
        self.classes = sorted(set(labels))
        self.word_counts = {c: Counter() for c in self.classes}
        self.doc_counts = Counter(labels)
        for doc, label in zip(docs, labels):
            self.word_counts[label].update(doc.lower().split())
        self.vocab = set(w for c in self.classes for w in self.word_counts[c])
        return self

    def log_scores(self, doc):
        n = sum(self.doc_counts.values())
        scores = {}
        for c in self.classes:
            total = sum(self.word_counts[c].values()) + len(self.vocab)
            known = [w for w in doc.split() if w in self.vocab]
            scores[c] = math.log(self.doc_counts[c] / n)
            scores[c] += sum(math.log((self.word_counts[c][w] + 1) / total) for w in known)
        return scores


WORDS = "win cash now meeting report free lunch prize project deadline".split()


LABELS = ["spam" if v else "ham" for v in [1, 0, 1, 1, 0, 0, 1, 0]]


@program(lambda rng: ([" ".join(rng.choice(WORDS, 5)) for _ in range(8)], LABELS, " ".join(rng.choice(WORDS, 3))))
def spam_filter(docs, labels, query):
    model = NaiveBayes().fit(docs, labels)
    scores = model.log_scores(query)
    best = max(scores, key=scores.get)
    print(f"{query!r} -> {best}")
    return scores, best, len(model.vocab)


@program(lambda rng, n=40: (rng.normal(size=(n, 3)), rng.integers(0, 2, n)))
def metrics_and_roc(X, y):
    score = X @ np.array([1.0, -0.5, 0.2])
    order = np.argsort(-score)
    ys = y[order]
    tp, fp = np.cumsum(ys), np.cumsum(1 - ys)
    tpr, fpr = tp / tp[-1], fp / fp[-1]
    auc = np.trapezoid(np.r_[0, tpr], np.r_[0, fpr])
    report = {}
    for t in (-0.5, 0.0, 0.5):
        pred = (score > t).astype(int)
        cm = np.zeros((2, 2), dtype=int)
        np.add.at(cm, (y, pred), 1)
        precision = cm[1, 1] / max(cm[:, 1].sum(), 1)
        recall = cm[1, 1] / max(cm[1].sum(), 1)
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        report[t] = dict(precision=precision, recall=recall, f1=f1, cm=cm.tolist())
    best_t = max(report, key=lambda t: report[t]["f1"])
    return auc, best_t, report


class StandardScaler:
    def fit(self, X):
        self.mean_ = X.mean(axis=0)
        self.scale_ = X.std(axis=0)
        self.scale_[self.scale_ == 0] = 1.0
        return self

    def transform(self, X):
        return (X - self.mean_) / self.scale_

    def fit_transform(self, X):
        return self.fit(X).transform(X)


class Pipeline:
    def __init__(self, steps):
        self.steps = steps
        self.named_steps = dict(steps)

    def fit(self, X, y):
        for name, step in self.steps[:-1]:
            X = step.fit_transform(X)
        self.steps[-1][1].fit(X, y)
        return self

    def predict(self, X):
        for _, step in self.steps[:-1]:
            X = step.transform(X)
        return self.steps[-1][1].predict(X)


class Ridge:
    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def fit(self, X, y):
        A = X.T @ X + self.alpha * np.eye(X.shape[1])
        self.coef_ = np.linalg.solve(A, X.T @ (y - y.mean()))
        self.intercept_ = y.mean()

    def predict(self, X):
        return X @ self.coef_ + self.intercept_


@program(lambda rng, n=30: (rng.normal(5, 2, size=(n, 3)), rng.normal(size=n)))
def grid_search_pipeline(X, y):
    folds = np.array_split(np.random.default_rng(0).permutation(len(y)), 5)
    results = []
    for alpha in [0.1, 1.0, 10.0]:
        scores = []
        for i, test in enumerate(folds):
            train = np.concatenate([f for j, f in enumerate(folds) if j != i])
            pipe = Pipeline([("scale", StandardScaler()), ("ridge", Ridge(alpha))])
            pred = pipe.fit(X[train], y[train]).predict(X[test])
            ss = ((y[test] - pred) ** 2).sum() / ((y[test] - y[test].mean()) ** 2).sum()
            scores.append(1 - ss)
        results.append({"alpha": alpha, "mean": np.mean(scores), "std": np.std(scores)})
    results.sort(key=lambda r: r["mean"], reverse=True)
    for rank, r in enumerate(results, 1):
        print(f"{rank}. alpha={r['alpha']:<5} R2={r['mean']:.3f} +/- {r['std']:.3f}")
    return results[0]
