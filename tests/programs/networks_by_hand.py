"""Neural networks by hand, as tutorials write them: layers, norms, attention, optimisers."""

import math
from collections import defaultdict

import numpy as np

from .registry import program


def gpt_params(rng, d=8, layers=2, vocab=12, n=16):
    params = []
    for _ in range(layers):
        p = {k: rng.normal(size=(d, d)) * 0.3 for k in ("wq", "wk", "wv", "wo")}
        p |= {"g1": np.ones(d), "b1": np.zeros(d), "g2": np.ones(d), "b2": np.zeros(d)}
        p |= {"w1": rng.normal(size=(d, 4 * d)) * 0.3, "w2": rng.normal(size=(4 * d, d)) * 0.3}
        params.append(p)
    return params, rng.normal(size=(vocab, d)), rng.normal(size=(n, d)), [1, 5, 3]


def softmax(x, axis=-1):
    x = x - x.max(axis=axis, keepdims=True)
    e = np.exp(x)
    return e / e.sum(axis=axis, keepdims=True)


class Attention:
    def __init__(self, wq, wk, wv, wo, heads):
        self.wq, self.wk, self.wv, self.wo = wq, wk, wv, wo
        self.heads = heads
        self.cache = None

    def __call__(self, x):
        q, k, v = x @ self.wq, x @ self.wk, x @ self.wv
        if self.cache is not None:
            pk, pv = self.cache
            k = np.concatenate([pk, k], axis=0)
            v = np.concatenate([pv, v], axis=0)
        self.cache = (k, v)
        split = lambda t: t.reshape(t.shape[0], self.heads, -1).transpose(1, 0, 2)
        qh, kh, vh = split(q), split(k), split(v)
        scores = qh @ kh.transpose(0, 2, 1) / math.sqrt(qh.shape[-1])
        if x.shape[0] > 1:
            mask = np.triu(np.ones((x.shape[0], k.shape[0])), k=1 + k.shape[0] - x.shape[0]).astype(bool)
            scores = np.where(mask, -1e10, scores)
        out = softmax(scores) @ vh
        return out.transpose(1, 0, 2).reshape(x.shape[0], -1) @ self.wo


def layer_norm(x, g, b, eps=1e-5):
    mean = np.mean(x, axis=-1, keepdims=True)
    variance = np.var(x, axis=-1, keepdims=True)
    return g * (x - mean) / np.sqrt(variance + eps) + b


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


class Block:
    def __init__(self, p, heads):
        self.attn = Attention(p["wq"], p["wk"], p["wv"], p["wo"], heads)
        self.p = p

    def __call__(self, x):
        x = x + self.attn(layer_norm(x, self.p["g1"], self.p["b1"]))
        h = gelu(layer_norm(x, self.p["g2"], self.p["b2"]) @ self.p["w1"])
        return x + h @ self.p["w2"]


@program(lambda rng: (*gpt_params(rng), 6, 0.8, 5))
def gpt_with_cache(params, wte, wpe, prompt, n_new, temperature, top_k):
    rng = np.random.default_rng(42)
    blocks = [Block(p, 2) for p in params]
    tokens = list(prompt)
    x = wte[tokens] + wpe[: len(tokens)]
    for step in range(n_new):
        for block in blocks:
            x = block(x)
        logits = x[-1] @ wte.T / temperature
        kth = np.sort(logits)[-top_k]
        logits[logits < kth] = -np.inf
        probs = softmax(logits)
        nxt = int(rng.choice(len(probs), p=probs))
        tokens.append(nxt)
        x = wte[[nxt]] + wpe[len(tokens) - 1][None]
    return tokens, blocks[0].attn.cache[0].shape


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

    def step(self, lr):
        for layer in self.layers:
            for p, g in layer.parameters():
                p -= lr * g


class Conv2D:
    def __init__(self, w, b, stride=1):
        self.w, self.b, self.stride = w, b, stride

    def forward(self, x):
        n, c, h, w = x.shape
        f, _, kh, kw = self.w.shape
        oh, ow = (h - kh) // self.stride + 1, (w - kw) // self.stride + 1
        sn, sc, sh, sw = x.strides
        patches = np.lib.stride_tricks.as_strided(
            x, (n, c, oh, ow, kh, kw), (sn, sc, sh * self.stride, sw * self.stride, sh, sw)
        )
        self.cols = patches.transpose(0, 2, 3, 1, 4, 5).reshape(n * oh * ow, -1)
        self.shape = x.shape
        out = self.cols @ self.w.reshape(f, -1).T + self.b
        return out.reshape(n, oh, ow, f).transpose(0, 3, 1, 2)

    def backward(self, grad):
        n, f, oh, ow = grad.shape
        _, c, kh, kw = self.w.shape
        g = grad.transpose(0, 2, 3, 1).reshape(-1, f)
        self.dw = (g.T @ self.cols).reshape(self.w.shape)
        self.db = g.sum(axis=0)
        dcols = (g @ self.w.reshape(f, -1)).reshape(n, oh, ow, c, kh, kw)
        dx = np.zeros(self.shape)
        for i in range(kh):
            for j in range(kw):
                dx[:, :, i : i + oh * self.stride : self.stride, j : j + ow * self.stride : self.stride] += dcols[
                    :, :, :, :, i, j
                ].transpose(0, 3, 1, 2)
        return dx

    def parameters(self):
        return [(self.w, self.dw), (self.b, self.db)]


class ReLU:
    def forward(self, x):
        self.mask = x > 0
        return x * self.mask

    def backward(self, grad):
        return grad * self.mask

    def parameters(self):
        return []


class MaxPool:
    def forward(self, x):
        n, c, h, w = x.shape
        self.x = x.reshape(n, c, h // 2, 2, w // 2, 2)
        self.out = self.x.max(axis=(3, 5))
        self.shape = x.shape
        return self.out

    def backward(self, grad):
        mask = self.x == self.out[:, :, :, None, :, None]
        return (mask * grad[:, :, :, None, :, None]).reshape(self.shape)

    def parameters(self):
        return []


class Flatten:
    def forward(self, x):
        self.shape = x.shape
        return x.reshape(x.shape[0], -1)

    def backward(self, grad):
        return grad.reshape(self.shape)

    def parameters(self):
        return []


class Dense:
    def __init__(self, w, b):
        self.w, self.b = w, b

    def forward(self, x):
        self.x = x
        return x @ self.w + self.b

    def backward(self, grad):
        self.dw = self.x.T @ grad
        self.db = grad.sum(axis=0)
        return grad @ self.w.T

    def parameters(self):
        return [(self.w, self.dw), (self.b, self.db)]


@program(
    lambda rng: (
        rng.normal(size=(6, 1, 8, 8)),
        rng.integers(0, 3, 6),
        rng.normal(size=(4, 1, 3, 3)) * 0.3,
        rng.normal(size=(36, 3)) * 0.1,
        4,
    )
)
def convnet_im2col(X, y, w1, w2, epochs):
    model = Sequential(Conv2D(w1.copy(), np.zeros(4)), ReLU(), MaxPool(), Flatten(), Dense(w2.copy(), np.zeros(3)))
    losses = []
    for _ in range(epochs):
        logits = model(X)
        p = softmax(logits)
        losses.append(-np.log(p[np.arange(len(y)), y]).mean())
        d = p.copy()
        d[np.arange(len(y)), y] -= 1
        model.backward(d / len(y))
        model.step(0.1)
    acc = (model(X).argmax(1) == y).mean()
    return losses, acc, model.layers[0].w


class BatchNorm1d:
    def __init__(self, n, momentum=0.1, eps=1e-5):
        self.gamma, self.beta = np.ones(n), np.zeros(n)
        self.running_mean, self.running_var = np.zeros(n), np.ones(n)
        self.momentum, self.eps = momentum, eps
        self.training = True
        self.num_batches = 0

    def __call__(self, x):
        if self.training:
            mu, var = x.mean(axis=0), x.var(axis=0)
            self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * mu
            self.running_var *= 1 - self.momentum
            self.running_var += self.momentum * var * len(x) / (len(x) - 1)
            self.num_batches += 1
        else:
            mu, var = self.running_mean, self.running_var
        return self.gamma * (x - mu) / np.sqrt(var + self.eps) + self.beta

    def eval(self):
        self.training = False
        return self

    def state_dict(self):
        return {k: v for k, v in self.__dict__.items() if isinstance(v, np.ndarray)}


def minibatches(X, y, batch_size, rng=None):
    idx = np.arange(len(X))
    if rng is not None:
        rng.shuffle(idx)
    for start in range(0, len(X), batch_size):
        sel = idx[start : start + batch_size]
        yield X[sel], y[sel]


@program(lambda rng: (rng.normal(2, 3, size=(50, 4)), rng.integers(0, 2, 50)))
def batchnorm_running(X, y):
    bn = BatchNorm1d(4)
    rng = np.random.default_rng(3)
    outs = []
    for epoch in range(3):
        for xb, yb in minibatches(X, y, 16, rng):
            if len(xb) < 2:
                continue
            out = bn(xb)
            outs.append((out[yb == 1].sum(), len(xb)))
    final = bn.eval()(X)
    return outs, final, bn.state_dict(), bn.num_batches


class AdamW:
    def __init__(self, params, lr=1e-2, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.params = params
        self.defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
        self.state = defaultdict(dict)

    def zero_grad(self):
        self.grads = {k: np.zeros_like(v) for k, v in self.params.items()}

    def step(self):
        lr, (b1, b2), eps, wd = (self.defaults[k] for k in ("lr", "betas", "eps", "weight_decay"))
        for name, p in self.params.items():
            g = self.grads[name]
            s = self.state[name]
            if len(s) == 0:
                s["step"] = 0
                s["m"] = np.zeros_like(p)
                s["v"] = np.zeros_like(p)
            s["step"] += 1
            s["m"] = b1 * s["m"] + (1 - b1) * g
            s["v"] = b2 * s["v"] + (1 - b2) * g**2
            mhat = s["m"] / (1 - b1 ** s["step"])
            vhat = s["v"] / (1 - b2 ** s["step"])
            p *= 1 - lr * wd
            p -= lr * mhat / (np.sqrt(vhat) + eps)


@program(lambda rng: (rng.normal(size=(40, 3)), rng.normal(size=3), rng.normal(size=40) * 0.1))
def adamw_linear(X, w_true, noise):
    y = X @ w_true + noise
    params = {"w": np.zeros(3), "b": np.zeros(())}
    opt = AdamW(params, lr=0.05)
    history = []
    best, patience = float("inf"), 0
    for it in range(15):
        opt.zero_grad()
        pred = X @ params["w"] + params["b"]
        err = pred - y
        loss = float(np.mean(err**2))
        history.append(loss)
        if loss < best - 1e-6:
            best, patience = loss, 0
        else:
            patience += 1
            if patience > 5:
                break
        opt.grads["w"] += 2 * X.T @ err / len(y)
        opt.grads["b"] += 2 * err.mean()
        opt.step()
    return history, params, {k: v["step"] for k, v in opt.state.items()}
