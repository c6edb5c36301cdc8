"""Networks that make data, and that read sequences: variational, adversarial, diffusion, recurrent ones, maps of features."""

import math
from collections import Counter, defaultdict

import numpy as np

from .registry import program

VAE_SHAPES = {"enc": (6, 8), "mu": (8, 2), "lv": (8, 2), "dec": (2, 8), "out": (8, 6)}


@program(
    lambda rng: (
        rng.random((16, 6)),
        {k: rng.normal(size=s) * 0.3 for k, s in VAE_SHAPES.items()},
        5,
    )
)
def vae(X, p, epochs):
    rng = np.random.default_rng(0)
    history = {"recon": [], "kl": []}
    for _ in range(epochs):
        h = np.tanh(X @ p["enc"])
        mu, logvar = h @ p["mu"], h @ p["lv"]
        eps = rng.standard_normal(mu.shape)
        std = np.exp(0.5 * logvar)
        z = mu + eps * std
        hd = np.tanh(z @ p["dec"])
        logits = hd @ p["out"]
        xhat = 1 / (1 + np.exp(-logits))
        recon = -(X * np.log(xhat) + (1 - X) * np.log(1 - xhat)).sum(1).mean()
        kl = (-0.5 * (1 + logvar - mu**2 - np.exp(logvar)).sum(1)).mean()
        history["recon"].append(recon)
        history["kl"].append(kl)
        n = len(X)
        g = {}
        dl = (xhat - X) / n
        g["out"] = hd.T @ dl
        dhd = dl @ p["out"].T * (1 - hd**2)
        g["dec"] = z.T @ dhd
        dz = dhd @ p["dec"].T
        dmu = dz + mu / n
        dlv = dz * eps * std * 0.5 + (np.exp(logvar) - 1) * 0.5 / n
        g["mu"], g["lv"] = h.T @ dmu, h.T @ dlv
        dh = (dmu @ p["mu"].T + dlv @ p["lv"].T) * (1 - h**2)
        g["enc"] = X.T @ dh
        for k in p:
            norm = np.linalg.norm(g[k])
            if norm > 1.0:
                g[k] *= 1.0 / norm
            p[k] -= 0.1 * g[k]
    return history


class Scheduler:
    def __init__(self, T):
        self.betas = np.linspace(1e-4, 0.2, T)
        self.alphas = 1 - self.betas
        self.abar = np.cumprod(self.alphas)

    def add_noise(self, x, noise, t):
        return np.sqrt(self.abar[t])[:, None] * x + np.sqrt(1 - self.abar[t])[:, None] * noise

    def step(self, eps, t, x, rng):
        mean = (x - self.betas[t] / np.sqrt(1 - self.abar[t]) * eps) / np.sqrt(self.alphas[t])
        if t == 0:
            return mean
        return mean + np.sqrt(self.betas[t]) * rng.normal(size=x.shape)


@program(lambda rng: (rng.normal(1, 0.1, size=(32, 2)), rng.normal(size=(4, 16)) * 0.3, 10))
def diffusion_ddpm(data, W1, epochs):
    rng = np.random.default_rng(1)
    T = 10
    sched = Scheduler(T)
    W2 = np.zeros((16, 2))
    losses = []

    def features(x, t):
        emb = np.stack([np.sin(t / T), np.cos(t / T)], axis=-1)
        return np.concatenate([x, np.broadcast_to(emb, (len(x), 2))], axis=1)

    for _ in range(epochs):
        t = rng.integers(0, T, len(data))
        noise = rng.standard_normal(data.shape)
        f = features(sched.add_noise(data, noise, t), t)
        h = np.maximum(f @ W1, 0)
        err = h @ W2 - noise
        losses.append((err**2).mean())
        W2 -= 0.05 * h.T @ err / len(data)
    x = rng.normal(size=(8, 2))
    for t in reversed(range(T)):
        x = sched.step(np.maximum(features(x, t) @ W1, 0) @ W2, t, x, rng)
    return losses, x.mean(0), x.std()


@program(lambda rng: (int(rng.integers(100)), 20))
def gan_1d(seed, steps):
    rng = np.random.default_rng(seed)
    G = {"a": 1.0, "b": 0.0}
    D = {"w": 0.1, "c": 0.0}
    log = []
    for it in range(steps):
        real = rng.normal(4, 0.5, 16)
        z = rng.normal(size=16)
        fake = G["a"] * z + G["b"]
        sr = 1 / (1 + np.exp(-(D["w"] * real + D["c"])))
        sf = 1 / (1 + np.exp(-(D["w"] * fake + D["c"])))
        D["w"] += 0.1 * (((1 - sr) * real).mean() - (sf * fake).mean())
        D["c"] += 0.1 * ((1 - sr).mean() - sf.mean())
        sf = 1 / (1 + np.exp(-(D["w"] * fake + D["c"])))
        g = (1 - sf) * D["w"]
        G["a"] += 0.1 * (g * z).mean()
        G["b"] += 0.1 * g.mean()
        if it % 5 == 0:
            log.append((it, *G.values()))
            print(f"step {it:3d}: G={G['a']:.3f},{G['b']:.3f}")
    return G, D, log


@program(lambda rng: ("hello hello help", 6, int(rng.integers(50))))
def min_char_rnn(data, hidden_size, seed):
    chars = sorted(set(data))
    char_to_ix = {ch: i for i, ch in enumerate(chars)}
    ix_to_char = {i: ch for i, ch in enumerate(chars)}
    V = len(chars)
    rng = np.random.default_rng(seed)
    Wxh, Whh = rng.normal(size=(hidden_size, V)) * 0.01, rng.normal(size=(hidden_size, hidden_size)) * 0.01
    Why = rng.normal(size=(V, hidden_size)) * 0.01
    bh, by = np.zeros((hidden_size, 1)), np.zeros((V, 1))

    def loss_fun(inputs, targets, hprev):
        xs, hs, ps = {}, {}, {}
        hs[-1] = np.copy(hprev)
        loss = 0
        for t in range(len(inputs)):
            xs[t] = np.zeros((V, 1))
            xs[t][inputs[t]] = 1
            hs[t] = np.tanh(Wxh @ xs[t] + Whh @ hs[t - 1] + bh)
            y = Why @ hs[t] + by
            ps[t] = np.exp(y) / np.sum(np.exp(y))
            loss += -np.log(ps[t][targets[t], 0])
        dWxh, dWhh, dWhy = np.zeros_like(Wxh), np.zeros_like(Whh), np.zeros_like(Why)
        dbh, dby = np.zeros_like(bh), np.zeros_like(by)
        dhnext = np.zeros_like(hs[0])
        for t in reversed(range(len(inputs))):
            dy = np.copy(ps[t])
            dy[targets[t]] -= 1
            dWhy += dy @ hs[t].T
            dby += dy
            dh = Why.T @ dy + dhnext
            dhraw = (1 - hs[t] * hs[t]) * dh
            dbh += dhraw
            dWxh += dhraw @ xs[t].T
            dWhh += dhraw @ hs[t - 1].T
            dhnext = Whh.T @ dhraw
        for dparam in [dWxh, dWhh, dWhy, dbh, dby]:
            np.clip(dparam, -5, 5, out=dparam)
        return loss, dWxh, dWhh, dWhy, dbh, dby, hs[len(inputs) - 1]

    def sample(h, seed_ix, n):
        x = np.zeros((V, 1))
        x[seed_ix] = 1
        ixes = []
        for t in range(n):
            h = np.tanh(Wxh @ x + Whh @ h + bh)
            y = Why @ h + by
            p = np.exp(y) / np.sum(np.exp(y))
            ix = rng.choice(range(V), p=p.ravel())
            x = np.zeros((V, 1))
            x[ix] = 1
            ixes.append(ix)
        return "".join(ix_to_char[int(ix)] for ix in ixes)

    mems = [np.zeros_like(p) for p in (Wxh, Whh, Why, bh, by)]
    n, p, seq = 0, 0, 5
    smooth = -np.log(1.0 / V) * seq
    texts = []
    while n < 12:
        if p + seq + 1 >= len(data) or n == 0:
            hprev = np.zeros((hidden_size, 1))
            p = 0
        inputs = [char_to_ix[ch] for ch in data[p : p + seq]]
        targets = [char_to_ix[ch] for ch in data[p + 1 : p + seq + 1]]
        if n % 6 == 0:
            texts.append(sample(hprev, inputs[0], 8))
        loss, *grads, hprev = loss_fun(inputs, targets, hprev)
        smooth = smooth * 0.999 + loss * 0.001
        for param, dparam, mem in zip([Wxh, Whh, Why, bh, by], grads, mems):
            mem += dparam * dparam
            param += -0.1 * dparam / np.sqrt(mem + 1e-8)
        p += seq
        n += 1
    return smooth, texts, Why


@program(
    lambda rng: (rng.normal(size=(12, 3)), {f"{g}{m}": rng.normal(size=(4, 3 if m == "x" else 4)) for g in "zrh" for m in "xh"})
)
def gru_forward(xs, p):
    sig = lambda v: 1 / (1 + np.exp(-v))
    h = np.zeros(4)
    states = []
    for x in xs:
        z = sig(p["zx"] @ x + p["zh"] @ h)
        r = sig(p["rx"] @ x + p["rh"] @ h)
        cand = np.tanh(p["hx"] @ x + p["hh"] @ (r * h))
        h = (1 - z) * h + z * cand
        states.append(h)
    return np.stack(states), max(np.abs(s).max() for s in states)


@program(lambda rng: (rng.random((60, 3)), 5, 5))
def self_organizing_map(data, rows, cols):
    rng = np.random.default_rng(0)
    W = rng.random((rows, cols, 3))
    grid = np.stack(np.meshgrid(np.arange(rows), np.arange(cols), indexing="ij"), axis=-1)
    for epoch in range(4):
        lr = 0.5 * math.exp(-epoch / 4)
        sigma = max(rows, cols) / 2 * math.exp(-epoch / 2)
        for x in rng.permutation(data):
            bmu = np.unravel_index(np.argmin(((W - x) ** 2).sum(-1)), (rows, cols))
            h = np.exp(-((grid - np.array(bmu)) ** 2).sum(-1) / (2 * sigma**2))
            W += lr * h[..., None] * (x - W)
    hits = defaultdict(int)
    for x in data:
        bmu = np.unravel_index(np.argmin(((W - x) ** 2).sum(-1)), (rows, cols))
        hits[tuple(int(v) for v in bmu)] += 1
    return W, dict(hits)


@program(lambda rng: ((rng.random((20, 6)) < 0.5).astype(float), 4, 5))
def rbm_cd1(V, hidden, epochs):
    rng = np.random.default_rng(2)
    W, a, b = rng.normal(0, 0.1, (V.shape[1], hidden)), np.zeros(V.shape[1]), np.zeros(hidden)
    sig = lambda x: 1.0 / (1.0 + np.exp(-x))
    errs = []
    for _ in range(epochs):
        err = 0
        for s in range(0, len(V), 5):
            v0 = V[s : s + 5]
            h0 = sig(v0 @ W + b)
            hs = (rng.random(h0.shape) < h0).astype(np.float64)
            v1 = sig(hs @ W.T + a)
            h1 = sig(v1 @ W + b)
            W += 0.1 * (v0.T @ h0 - v1.T @ h1) / len(v0)
            a += 0.1 * (v0 - v1).mean(0)
            b += 0.1 * (h0 - h1).mean(0)
            err += ((v0 - v1) ** 2).sum()
        errs.append(err / len(V))
    return W, errs


def three_blobs(rng, n=40, d=2):
    return np.concatenate([rng.normal(c, 0.5, size=(n, d)) for c in (-3, 0, 3)])


class KMeansPP:
    def __init__(self, n_clusters=3, max_iter=50, tol=1e-6, random_state=0):
        self.n_clusters, self.max_iter, self.tol = n_clusters, max_iter, tol
        self.rng = np.random.default_rng(random_state)

    def fit(self, X):
        n = X.shape[0]
        centers = np.empty((self.n_clusters, X.shape[1]))
        centers[0] = X[self.rng.integers(n)]
        closest = ((X - centers[0]) ** 2).sum(1)
        for k in range(1, self.n_clusters):
            cum = np.cumsum(closest / closest.sum())
            r = self.rng.random()
            centers[k] = X[np.searchsorted(cum, r)]
            closest = np.minimum(closest, ((X - centers[k]) ** 2).sum(1))
        for self.n_iter_ in range(1, self.max_iter + 1):  # noqa: B020
            d = np.linalg.norm(X[:, None] - centers[None], axis=2)
            labels = d.argmin(axis=1)
            new = np.array([X[labels == k].mean(axis=0) if np.any(labels == k) else centers[k] for k in range(self.n_clusters)])
            shift = np.abs(new - centers).max()
            centers = new
            if shift < self.tol:
                break
        self.cluster_centers_, self.labels_ = centers, labels
        self.inertia_ = float((d.min(axis=1) ** 2).sum())
        return self

    def predict(self, X):
        return np.argmin(np.linalg.norm(X[:, None] - self.cluster_centers_[None], axis=2), axis=1)


@program(lambda rng: (three_blobs(rng),))
def kmeans_plus_plus(X):
    km = KMeansPP(3).fit(X)
    sizes = Counter(km.labels_.tolist())
    return km.cluster_centers_, km.n_iter_, km.inertia_, sorted(sizes.items()), km.predict(X[:5])


@program(lambda rng: (three_blobs(rng), 3, 15))
def gmm_full(X, k, iters):
    n, d = X.shape
    rng = np.random.default_rng(0)
    mu = X[rng.choice(n, k, replace=False)]
    cov = np.stack([np.eye(d)] * k)
    pi = np.ones(k) / k
    lls = []
    for it in range(iters):
        logp = np.zeros((n, k))
        for j in range(k):
            diff = X - mu[j]
            L = np.linalg.cholesky(cov[j])
            z = np.linalg.solve(L, diff.T)
            logp[:, j] = np.log(pi[j]) - 0.5 * (z**2).sum(0) - np.log(np.diag(L)).sum() - d / 2 * np.log(2 * np.pi)
        m = logp.max(1, keepdims=True)
        ll = m[:, 0] + np.log(np.exp(logp - m).sum(1))
        lls.append(ll.sum())
        if it > 0 and abs(lls[-1] - lls[-2]) < 1e-4:
            break
        r = np.exp(logp - ll[:, None])
        nk = r.sum(0)
        pi = nk / n
        mu = (r.T @ X) / nk[:, None]
        for j in range(k):
            diff = X - mu[j]
            cov[j] = (r[:, j, None] * diff).T @ diff / nk[j] + 1e-6 * np.eye(d)
    return pi, mu, cov, lls, it


@program(lambda rng: (rng.random((20, 6)), rng.uniform(-1, 1, (2, 200)), 3))
def factorizations(V, S, k):
    rng = np.random.default_rng(1)
    W, H = rng.random((20, k)), rng.random((k, 6))
    errors = []
    for i in range(100):
        H *= (W.T @ V) / (W.T @ W @ H + 1e-9)
        W *= (V @ H.T) / (W @ H @ H.T + 1e-9)
        if i % 10 == 0:
            errors.append(np.linalg.norm(V - W @ H, "fro"))
            if len(errors) > 1 and errors[-2] - errors[-1] < 1e-4 * errors[0]:
                break
    X = np.array([[1, 0.5], [0.3, 1]]) @ S
    X -= X.mean(axis=1, keepdims=True)
    d, E = np.linalg.eigh(np.cov(X))
    Z = E @ np.diag(d**-0.5) @ E.T @ X
    B = np.zeros((2, 2))
    for p in range(2):
        w = np.array([1.0, 0.5]) if p == 0 else np.array([0.5, 1.0])
        w /= np.linalg.norm(w)
        for _ in range(100):
            g = np.tanh(w @ Z)
            new = (Z * g).mean(axis=1) - (1 - g**2).mean() * w
            new -= B[:p].T @ (B[:p] @ new)
            new /= np.linalg.norm(new)
            converged = abs(abs(new @ w) - 1) < 1e-10
            w = new
            if converged:
                break
        B[p] = w
    return errors, np.abs(B @ Z).mean(axis=1), W @ H


@program(lambda rng: (three_blobs(rng, 6, 4), 5.0, 30))
def tsne_small(X, perplexity, iters):
    n = len(X)
    D = np.square(X[:, None] - X[None]).sum(-1)
    P = np.zeros((n, n))
    for i in range(n):
        lo, hi, beta = -np.inf, np.inf, 1.0
        di = np.delete(D[i], i)
        for _ in range(50):
            p = np.exp(-di * beta)
            s = p.sum()
            h = np.log(s) + beta * (di * p).sum() / s
            p = p / s
            diff = h - np.log(perplexity)
            if abs(diff) < 1e-5:
                break
            if diff > 0:
                lo = beta
                beta = beta * 2 if hi == np.inf else (beta + hi) / 2
            else:
                hi = beta
                beta = beta / 2 if lo == -np.inf else (beta + lo) / 2
        P[i, np.arange(n) != i] = p
    P = (P + P.T) / (2 * n)
    P = np.maximum(P, 1e-12)
    Y = np.random.default_rng(0).normal(size=(n, 2)) * 1e-2
    vel = np.zeros_like(Y)
    gains = np.ones_like(Y)
    for it in range(iters):
        num = 1 / (1 + np.square(Y[:, None] - Y[None]).sum(-1))
        num[range(n), range(n)] = 0
        Q = np.maximum(num / num.sum(), 1e-12)
        PQ = (P * (4.0 if it < 10 else 1.0) - Q) * num
        grad = 4 * (PQ[:, :, None] * (Y[:, None] - Y[None])).sum(1)
        momentum = 0.5 if it < 20 else 0.8
        gains = (gains + 0.2) * ((grad > 0) != (vel > 0)) + gains * 0.8 * ((grad > 0) == (vel > 0))
        gains[gains < 0.01] = 0.01
        vel = momentum * vel - 10 * gains * grad
        Y += vel
        Y -= Y.mean(0)
    kl = (P * np.log(P / Q)).sum()
    return kl, P.sum()
