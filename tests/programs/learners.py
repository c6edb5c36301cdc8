"""Programs that learn, written without a library: boosting, mixtures, Bayes, attention, recurrence, filters."""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np

from .registry import program


@program(lambda rng: (rng.normal(size=(40, 2)), np.where(rng.normal(size=40) > 0, 1, -1), 4))
def adaboost(X, y, rounds):
    n = len(y)
    w = np.full(n, 1 / n)
    stumps = []
    for _ in range(rounds):
        best = None
        for j in range(X.shape[1]):
            for t in np.unique(X[:, j]):
                for s in (1, -1):
                    pred = np.where(s * (X[:, j] - t) > 0, 1, -1)
                    err = w[pred != y].sum()
                    if best is None or err < best[0]:
                        best = (err, j, t, s, pred)
        err, j, t, s, pred = best
        a = 0.5 * np.log((1 - err) / max(err, 1e-12))
        w *= np.exp(-a * y * pred)
        w /= w.sum()
        stumps.append((a, j, t, s))
    score = sum((a * np.where(s * (X[:, j] - t) > 0, 1, -1) for a, j, t, s in stumps))
    return (stumps, (np.sign(score) == y).mean())


@program(lambda rng: (["the cat sat", "the dog ran", "a cat ran off", "dog and cat"], ["x", "y", "x", "y"], "cat ran the"))
def naive_bayes_text(docs, labels, query):
    counts = defaultdict(Counter)
    prior = Counter(labels)
    for d, l in zip(docs, labels):
        counts[l].update(d.split())
    vocab = {w for c in counts.values() for w in c}
    scores = {}
    for l in prior:
        total = sum(counts[l].values())
        scores[l] = math.log(prior[l] / len(docs)) + sum(
            math.log((counts[l][w] + 1) / (total + len(vocab))) for w in query.split()
        )
    return (max(scores, key=scores.get), {k: round(v, 6) for k, v in scores.items()})


@program(lambda rng: (rng.normal(size=(20, 2)), rng.integers(0, 3, 20), rng.normal(size=(4, 2)), 3))
def knn_vote(X, y, Q, k):
    out = []
    for q in Q:
        d = sorted(((float(np.linalg.norm(x - q)), int(c)) for x, c in zip(X, y)))
        votes = Counter((c for _, c in d[:k]))
        out.append(votes.most_common(1)[0][0])
    return (np.array(out), votes)


@program(
    lambda rng: (rng.normal(size=(8, 3)), rng.normal(size=(4, 3)) / 2, rng.normal(size=(4, 4)) / 2, rng.normal(size=(1, 4)))
)
def bptt(xs, Wx, Wh, Wo):
    hs = {-1: np.zeros(4)}
    loss = 0.0
    ys = {}
    for t, x in enumerate(xs):
        hs[t] = np.tanh(Wx @ x + Wh @ hs[t - 1])
        ys[t] = Wo @ hs[t]
        loss += float(((ys[t] - x.sum()) ** 2).sum())
    g = {k: np.zeros_like(v) for k, v in (("Wx", Wx), ("Wh", Wh), ("Wo", Wo))}
    nxt = np.zeros(4)
    for t in reversed(range(len(xs))):
        dy = 2 * (ys[t] - xs[t].sum())
        g["Wo"] += np.outer(dy, hs[t])
        dh = (Wo.T @ dy + nxt) * (1 - hs[t] ** 2)
        g["Wx"] += np.outer(dh, xs[t])
        g["Wh"] += np.outer(dh, hs[t - 1])
        nxt = Wh.T @ dh
    for v in g.values():
        np.clip(v, -1, 1, out=v)
    return (loss, g)


@dataclass
class KState:
    x: np.ndarray
    P: np.ndarray
    n: int = 0
    log: list = field(default_factory=list)

    def predict(self, F, Q):
        self.x = F @ self.x
        self.P = F @ self.P @ F.T + Q
        return self

    def update(self, z, H, R):
        y = z - H @ self.x
        S = H @ self.P @ H.T + R
        K = np.linalg.solve(S, H @ self.P).T
        self.x += K @ y
        self.P -= K @ S @ K.T
        self.n += 1
        self.log.append(float(y @ np.linalg.inv(S) @ y))
        return self


@program(lambda rng: (KState(np.zeros(2), np.eye(2)), rng.normal(size=(12, 1)).cumsum(0)))
def kalman_dc(state, zs):
    F = np.array([[1.0, 1.0], [0, 1]])
    H = np.array([[1.0, 0.0]])
    for z in zs:
        state.predict(F, 0.01 * np.eye(2)).update(z, H, 0.5 * np.eye(1))
    return (state.x.copy(), state.log[-3:])


@program(lambda rng: (np.random.default_rng(7), 200, 0.8))
def metropolis(rng, n, step):
    x, lp = (0.0, 0.0)
    chain = np.empty(n)
    accepted = 0
    for i in range(n):
        prop = x + step * rng.standard_normal()
        q = -0.5 * prop**2 + math.log1p(prop * prop)
        if math.log(rng.random()) < q - lp:
            x, lp = (prop, q)
            accepted += 1
        chain[i] = x
    return (chain, accepted / n)
