"""Models from scratch as classes: fitted, asked for predictions, stopped early, and their weights in nested dicts."""

from collections import Counter

import numpy as np

from .registry import program


def pairwise(X):
    s = (X * X).sum(1)
    return np.maximum(s[:, None] - 2 * X @ X.T + s[None], 0)


def entropy_and_p(D, beta):
    P = np.exp(-D * beta)
    total = P.sum()
    H = np.log(total) + beta * (D * P).sum() / total
    return H, P / total


def perplexity_search(X, perplexity=5.0, tol=1e-5):
    n = len(X)
    D = pairwise(X)
    P = np.zeros((n, n))
    betas = np.ones(n)
    target = np.log(perplexity)
    for i in range(n):
        lo, hi = -np.inf, np.inf
        Di = np.delete(D[i], i)
        H, p = entropy_and_p(Di, betas[i])
        tries = 0
        while abs(H - target) > tol and tries < 50:
            if H > target:
                lo = betas[i]
                betas[i] = betas[i] * 2 if np.isinf(hi) else (betas[i] + hi) / 2
            else:
                hi = betas[i]
                betas[i] = betas[i] / 2 if np.isinf(lo) else (betas[i] + lo) / 2
            H, p = entropy_and_p(Di, betas[i])
            tries += 1
        P[i, np.concatenate((np.r_[0:i], np.r_[i + 1 : n]))] = p
    return P, np.sqrt(1 / betas)


@program(lambda rng, n=16: (rng.normal(size=(n, 5)),))
def tsne_with_perplexity_search(X):
    P, sigmas = perplexity_search(X)
    P = (P + P.T) / (2 * len(X))
    P = np.maximum(P * 4, 1e-12)
    rs = np.random.RandomState(0)
    Y = rs.randn(len(X), 2) * 1e-2
    iY, gains = np.zeros_like(Y), np.ones_like(Y)
    costs = []
    for it in range(30):
        num = 1 / (1 + pairwise(Y))
        num[np.arange(len(X)), np.arange(len(X))] = 0
        Q = np.maximum(num / num.sum(), 1e-12)
        PQ = (P - Q) * num
        dY = np.array([np.sum(PQ[:, [i]] * (Y[i] - Y), axis=0) for i in range(len(X))])
        momentum = 0.5 if it < 10 else 0.8
        gains = (gains + 0.2) * ((dY > 0) != (iY > 0)) + (gains * 0.8) * ((dY > 0) == (iY > 0))
        gains[gains < 0.01] = 0.01
        iY = momentum * iY - 0.5 * gains * dY
        Y += iY
        Y -= Y.mean(0)
        if it == 15:
            P /= 4
        if (it + 1) % 10 == 0:
            costs.append(np.sum(P * np.log(P / Q)))
    return Y, sigmas, costs


def layer_norm(x, g, b, eps=1e-5):
    mu = x.mean(-1, keepdims=True)
    return g * (x - mu) / np.sqrt(x.var(-1, keepdims=True) + eps) + b


def linear(x, w, b):
    return x @ w + b


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def split_heads(x, h):
    return [p for p in np.split(x, h, axis=-1)]


def mha(x, attn, n_head, causal=True):
    q, k, v = np.split(linear(x, **attn["qkv"]), 3, axis=-1)
    mask = (1 - np.tri(x.shape[0])) * -1e10 if causal else 0
    heads = [
        softmax(a @ b.T / np.sqrt(a.shape[-1]) + mask) @ c for a, b, c in zip(*(split_heads(z, n_head) for z in (q, k, v)))
    ]
    return linear(np.hstack(heads), **attn["out"])


def ffn(x, up, down):
    h = linear(x, **up)
    h = 0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3)))
    return linear(h, **down)


def init_block(rs, d):
    dense = lambda i, o: {"w": rs.normal(0, 0.2, (i, o)), "b": np.zeros(o)}
    norm = lambda: {"g": np.ones(d), "b": np.zeros(d)}
    return {
        "attn": {"qkv": dense(d, 3 * d), "out": dense(d, d)},
        "ln_1": norm(),
        "ln_2": norm(),
        "mlp": {"up": dense(d, 4 * d), "down": dense(4 * d, d)},
    }


@program(lambda rng, n=6: (rng.integers(0, 11, n).tolist(), 4))
def greedy_decoder(prompt, steps):
    rs = np.random.default_rng(3)
    d, vocabulary = 8, 11
    wte, wpe = rs.normal(size=(vocabulary, d)), rs.normal(size=(64, d))
    blocks = [init_block(rs, d) for _ in range(2)]
    ids = list(prompt)
    scores = []
    for _ in range(steps):
        x = wte[ids] + wpe[range(len(ids))]
        for block in blocks:
            x = x + mha(layer_norm(x, **block["ln_1"]), block["attn"], 2)
            x = x + ffn(layer_norm(x, **block["ln_2"]), **block["mlp"])
        logits = x @ wte.T
        nxt = np.argmax(logits[-1])
        scores.append(logits[-1].max())
        ids.append(int(nxt))
    return ids[len(ids) - steps :], scores


class DiscreteHMM:
    def __init__(self, n_states, n_symbols, seed=1):
        rng = np.random.default_rng(seed)
        self.pi = np.ones(n_states) / n_states
        self.A = rng.dirichlet(np.ones(n_states) * 3, size=n_states)
        self.B = rng.dirichlet(np.ones(n_symbols), size=n_states)
        self.log_likelihoods = []

    def forward(self, obs):
        T = len(obs)
        alpha = np.zeros((T, len(self.pi)))
        scale = np.zeros(T)
        alpha[0] = self.pi * self.B[:, obs[0]]
        scale[0] = alpha[0].sum()
        alpha[0] /= scale[0]
        for t in range(1, T):
            alpha[t] = (alpha[t - 1] @ self.A) * self.B[:, obs[t]]
            scale[t] = alpha[t].sum()
            alpha[t] /= scale[t]
        return alpha, scale

    def backward(self, obs, scale):
        T = len(obs)
        beta = np.ones((T, len(self.pi)))
        for t in reversed(range(T - 1)):
            beta[t] = self.A @ (self.B[:, obs[t + 1]] * beta[t + 1]) / scale[t + 1]
        return beta

    def step(self, obs):
        alpha, scale = self.forward(obs)
        beta = self.backward(obs, scale)
        gamma = alpha * beta
        gamma /= gamma.sum(axis=1, keepdims=True)
        xi = np.zeros_like(self.A)
        for t in range(len(obs) - 1):
            m = alpha[t][:, None] * self.A * self.B[:, obs[t + 1]] * beta[t + 1]
            xi += m / m.sum()
        self.pi = gamma[0]
        self.A = xi / xi.sum(axis=1, keepdims=True)
        for k in range(self.B.shape[1]):
            self.B[:, k] = gamma[obs == k].sum(axis=0) / gamma.sum(axis=0)
        return np.log(scale).sum()

    def fit(self, obs, max_iter=30, tol=1e-2):
        for it in range(max_iter):
            ll = self.step(obs)
            if self.log_likelihoods and abs(ll - self.log_likelihoods[-1]) < tol:
                print("converged after", it, "iterations")
                break
            self.log_likelihoods.append(ll)
        else:
            print("not converged")
        return self

    def viterbi(self, obs):
        with np.errstate(divide="ignore"):
            la, lb = np.log(self.A), np.log(self.B)
        delta = np.log(self.pi + 1e-300) + lb[:, obs[0]]
        back = []
        for o in obs[1:]:
            s = delta[:, None] + la
            back.append(s.argmax(axis=0))
            delta = s.max(axis=0) + lb[:, o]
        path = [delta.argmax()]
        for pointers in back[::-1]:
            path.append(pointers[path[-1]])
        return np.array(path[::-1])


@program(lambda rng, n=30: (rng.integers(0, 3, n),))
def hmm_class_until_converged(obs):
    model = DiscreteHMM(2, 3).fit(obs)
    states = model.viterbi(obs)
    return model.A, model.B, model.log_likelihoods, states, Counter(states.tolist()).most_common(1)


@program(lambda rng: (" ".join(np.array(["the", "cat", "dog", "sat", "ran", "on", "mat", "log"])[rng.integers(0, 8, 60)]),))
def cooccurrence_vectors(text):
    words = text.split()
    vocab = sorted(set(words))
    index = {w: i for i, w in enumerate(vocab)}
    window = 2
    M = np.zeros((len(vocab), len(vocab)))
    for i, w in enumerate(words):
        for j in range(max(0, i - window), min(len(words), i + window + 1)):
            if i != j:
                M[index[w], index[words[j]]] += 1.0 / abs(i - j)
    total = M.sum()
    row = M.sum(axis=1, keepdims=True)
    col = M.sum(axis=0, keepdims=True)
    with np.errstate(divide="ignore"):
        pmi = np.log(M * total / (row * col))
    pmi[~np.isfinite(pmi)] = 0
    ppmi = np.maximum(pmi, 0)
    U, S, Vt = np.linalg.svd(ppmi)
    E = np.abs(U[:, :3] * np.sqrt(S[:3]))
    similar = {}
    for w in vocab:
        sims = E @ E[index[w]] / (np.linalg.norm(E, axis=1) * np.linalg.norm(E[index[w]]) + 1e-9)
        sims[index[w]] = -1
        similar[w] = vocab[int(np.argmax(sims))]
    return similar, S


class Clusterer:
    def __init__(self, k, seed=0):
        self.k = k
        self.rng = np.random.default_rng(seed)

    def seeds(self, X):
        centres = [X[self.rng.integers(len(X))]]
        while len(centres) < self.k:
            d2 = np.min([((X - c) ** 2).sum(axis=1) for c in centres], axis=0)
            centres.append(X[self.rng.choice(len(X), p=d2 / d2.sum())])
        return np.array(centres)

    def fit_predict(self, X):
        return self.fit(X).predict(X)


class KMeans(Clusterer):
    def fit(self, X):
        self.centres = self.seeds(X)
        for self.n_iter in range(1, 101):
            labels = self.predict(X)
            new = np.array([X[labels == j].mean(axis=0) if np.any(labels == j) else self.centres[j] for j in range(self.k)])
            shift = np.linalg.norm(new - self.centres)
            self.centres = new
            if shift < 1e-9:
                break
        return self

    def predict(self, X):
        return np.linalg.norm(X[:, None] - self.centres[None], axis=2).argmin(axis=1)


class GMM(Clusterer):
    def fit(self, X, tol=1e-4):
        n, d = X.shape
        self.mu = KMeans(self.k).fit(X).centres
        self.cov = np.stack([np.eye(d)] * self.k)
        self.w = np.full(self.k, 1 / self.k)
        self.bounds = [-np.inf]
        for _ in range(50):
            logp = self._logp(X)
            top = logp.max(axis=1, keepdims=True)
            norm = top + np.log(np.exp(logp - top).sum(axis=1, keepdims=True))
            R = np.exp(logp - norm)
            self.bounds.append(norm.mean())
            if self.bounds[-1] - self.bounds[-2] < tol:
                break
            Nk = R.sum(axis=0)
            self.w = Nk / n
            self.mu = R.T @ X / Nk[:, None]
            for j in range(self.k):
                D = X - self.mu[j]
                self.cov[j] = (R[:, j, None] * D).T @ D / Nk[j] + 1e-6 * np.eye(d)
        return self

    def _logp(self, X):
        out = np.empty((len(X), self.k))
        for j in range(self.k):
            L = np.linalg.cholesky(self.cov[j])
            z = np.linalg.solve(L, (X - self.mu[j]).T)
            out[:, j] = (
                np.log(self.w[j]) - 0.5 * (z**2).sum(axis=0) - np.log(np.diag(L)).sum() - 0.5 * X.shape[1] * np.log(2 * np.pi)
            )
        return out

    def predict(self, X):
        return self._logp(X).argmax(axis=1)


@program(lambda rng, n=20: (np.concatenate([rng.normal(m, 0.5, (n, 2)) for m in (-2, 0, 3)]),))
def clusterers_with_inheritance(X):
    results = {}
    for cls in (KMeans, GMM):
        model = cls(3)
        results[cls.__name__] = np.bincount(model.fit_predict(X), minlength=3)
    return results, model.mu, model.bounds[1:]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class LSTM:
    def __init__(self, n_in, n_hidden, rng):
        scale = 1 / np.sqrt(n_in + n_hidden)
        self.params = {f"W{g}": rng.normal(0, scale, (n_hidden, n_in + n_hidden)) for g in "fioc"}
        self.params.update({f"b{g}": np.zeros(n_hidden) for g in "fioc"})
        self.params["Wy"], self.params["by"] = rng.normal(0, scale, (1, n_hidden)), np.zeros(1)
        self.n_hidden = n_hidden

    def forward(self, xs):
        p = self.params
        h, c = np.zeros(self.n_hidden), np.zeros(self.n_hidden)
        cache, ys = [], []
        for x in xs:
            z = np.concatenate([h, x])
            f, i, o = (sigmoid(p["W" + g] @ z + p["b" + g]) for g in "fio")
            g = np.tanh(p["Wc"] @ z + p["bc"])
            c_old = c
            c = f * c + i * g
            h = o * np.tanh(c)
            ys.append(p["Wy"] @ h + p["by"])
            cache.append((z, f, i, o, g, c, c_old, h))
        return np.array(ys), cache

    def backward(self, ys, targets, cache):
        p = self.params
        grads = {k: np.zeros_like(v) for k, v in p.items()}
        dh_next = dc_next = np.zeros(self.n_hidden)
        for t in reversed(range(len(cache))):
            z, f, i, o, g, c, c_old, h = cache[t]
            dy = 2 * (ys[t] - targets[t])
            grads["Wy"] += np.outer(dy, h)
            grads["by"] += dy
            dh = p["Wy"].T @ dy + dh_next
            do = dh * np.tanh(c) * o * (1 - o)
            dc = dh * o * (1 - np.tanh(c) ** 2) + dc_next
            df = dc * c_old * f * (1 - f)
            di = dc * g * i * (1 - i)
            dg = dc * i * (1 - g**2)
            dz = np.zeros_like(z)
            for name, d in zip("fioc", (df, di, do, dg)):
                grads["W" + name] += np.outer(d, z)
                grads["b" + name] += d
                dz += p["W" + name].T @ d
            dh_next, dc_next = dz[: self.n_hidden], dc * f
        for g in grads.values():
            np.clip(g, -1, 1, out=g)
        return grads


@program(lambda rng, n=8: (np.sin(np.arange(n + 1) * 0.5 + rng.random()),))
def lstm_learns_a_sine(series):
    rng = np.random.default_rng(0)
    net = LSTM(1, 4, rng)
    memory = {k: np.zeros_like(v) for k, v in net.params.items()}
    losses, best, patience = [], np.inf, 0
    for epoch in range(15):
        ys, cache = net.forward(series[:-1, None])
        loss = ((ys[:, 0] - series[1:]) ** 2).sum()
        losses.append(loss)
        grads = net.backward(ys, series[1:, None], cache)
        for k in net.params:
            memory[k] += grads[k] ** 2
            net.params[k] -= 0.1 * grads[k] / np.sqrt(memory[k] + 1e-8)
        if loss < best - 1e-3:
            best, patience = loss, 0
        else:
            patience += 1
            if patience > 3:
                print(f"stopped early at epoch {epoch}")
                break
    return losses, net.params["Wy"]


class CliffWalk:
    actions = ((-1, 0), (0, 1), (1, 0), (0, -1))

    def __init__(self, rows=3, cols=6):
        self.shape = (rows, cols)
        self.start, self.goal = (rows - 1, 0), (rows - 1, cols - 1)
        self.reset()

    def reset(self):
        self.position = self.start
        self.steps = 0
        return self.position

    def step(self, action):
        dr, dc = self.actions[action]
        r = min(max(self.position[0] + dr, 0), self.shape[0] - 1)
        c = min(max(self.position[1] + dc, 0), self.shape[1] - 1)
        self.steps += 1
        self.position = (r, c)
        if self.position == self.goal:
            return self.position, 0.0, True
        if r == self.shape[0] - 1 and 0 < c < self.shape[1] - 1:
            self.position = self.start
            return self.position, -100.0, False
        return self.position, -1.0, self.steps >= 100


@program(lambda rng, n=15: (n, float(rng.uniform(0.1, 0.3))))
def sarsa_with_traces(episodes, eps):
    np.random.seed(4)
    env = CliffWalk()
    Q = np.zeros(env.shape + (4,))
    lengths, rewards = [], []

    def choose(s):
        if np.random.rand() < eps:
            return np.random.randint(4)
        return int(np.argmax(Q[s]))

    for episode in range(episodes):
        E = np.zeros_like(Q)
        s = env.reset()
        a = choose(s)
        total, done = 0.0, False
        while not done:
            s2, r, done = env.step(a)
            a2 = choose(s2)
            delta = r + (0 if done else Q[s2][a2]) - Q[s][a]
            E[s][a] += 1
            Q += 0.5 * delta * E
            E *= 0.9 * 0.8
            s, a = s2, a2
            total += r
        rewards.append(total)
        lengths.append(env.steps)
    return Q, np.array(rewards), lengths
