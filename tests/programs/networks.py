"""Neural networks from scratch, as in tutorials: layers as classes, optimisers with state, generators of batches."""

import numpy as np

from .registry import program


class Linear:
    def __init__(self, n_in, n_out, rng):
        self.params = {"W": rng.normal(size=(n_in, n_out)) * np.sqrt(2.0 / n_in), "b": np.zeros(n_out)}
        self.grads = {}

    def forward(self, x):
        self.x = x
        return x @ self.params["W"] + self.params["b"]

    def backward(self, grad):
        self.grads["W"] = self.x.T @ grad
        self.grads["b"] = grad.sum(axis=0)
        return grad @ self.params["W"].T


class ReLU:
    params, grads = {}, {}

    def forward(self, x):
        self.mask = x > 0
        return x * self.mask

    def backward(self, grad):
        return grad * self.mask


class Dropout:
    params, grads = {}, {}

    def __init__(self, p, rng):
        self.p, self.rng, self.training = p, rng, True

    def forward(self, x):
        if not self.training:
            return x
        self.mask = (self.rng.random(x.shape) > self.p) / (1 - self.p)
        return x * self.mask

    def backward(self, grad):
        return grad * self.mask


class Sequential:
    def __init__(self, *layers):
        self.layers = list(layers)

    def __call__(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def backward(self, grad):
        for layer in reversed(self.layers):
            grad = layer.backward(grad)

    def named_parameters(self):
        for i, layer in enumerate(self.layers):
            for name in layer.params:
                yield f"{i}.{name}", layer, name

    def eval(self):
        for layer in self.layers:
            if hasattr(layer, "training"):
                layer.training = False

    def state_dict(self):
        return {key: layer.params[name].copy() for key, layer, name in self.named_parameters()}


class Adam:
    def __init__(self, model, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        self.model, self.lr, self.betas, self.eps, self.weight_decay = model, lr, betas, eps, weight_decay
        self.state = {}

    def step(self):
        for key, layer, name in self.model.named_parameters():
            g = layer.grads[name]
            p = layer.params[name]
            if self.weight_decay:
                g = g + self.weight_decay * p
            state = self.state.setdefault(key, {"step": 0, "m": np.zeros_like(p), "v": np.zeros_like(p)})
            state["step"] += 1
            b1, b2 = self.betas
            state["m"] = b1 * state["m"] + (1 - b1) * g
            state["v"] = b2 * state["v"] + (1 - b2) * g * g
            mhat = state["m"] / (1 - b1 ** state["step"])
            vhat = state["v"] / (1 - b2 ** state["step"])
            p -= self.lr * mhat / (np.sqrt(vhat) + self.eps)


def cross_entropy(logits, y):
    z = logits - logits.max(axis=1, keepdims=True)
    logp = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    n = len(y)
    loss = -logp[np.arange(n), y].mean()
    grad = np.exp(logp)
    grad[np.arange(n), y] -= 1
    return loss, grad / n


def batches(X, y, size, rng):
    order = rng.permutation(len(X))
    for start in range(0, len(X), size):
        idx = order[start : start + size]
        yield X[idx], y[idx]


@program(lambda rng, n=50: (rng.normal(size=(n, 4)), rng.integers(0, 3, n), 5))
def mlp_with_dropout_and_adam(X, y, epochs):
    rng = np.random.default_rng(0)
    model = Sequential(Linear(X.shape[1], 16, rng), ReLU(), Dropout(0.2, rng), Linear(16, 3, rng))
    opt = Adam(model, lr=0.01, weight_decay=1e-4)
    history = {"loss": [], "acc": []}
    for epoch in range(epochs):
        total, correct = 0.0, 0
        for xb, yb in batches(X, y, 16, rng):
            logits = model(xb)
            loss, grad = cross_entropy(logits, yb)
            model.backward(grad)
            opt.step()
            total += loss * len(xb)
            correct += (logits.argmax(axis=1) == yb).sum()
        history["loss"].append(total / len(X))
        history["acc"].append(correct / len(X))
        print(f"epoch {epoch + 1:2d}: loss {history['loss'][-1]:.4f} acc {history['acc'][-1]:.2%}")
    model.eval()
    return history, model.state_dict(), model(X)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class GRUCell:
    def __init__(self, n_in, n_hidden, rng):
        self.Wz, self.Wr, self.Wh = (rng.normal(size=(n_in + n_hidden, n_hidden)) * 0.3 for _ in range(3))
        self.n_hidden = n_hidden

    def __call__(self, x, h):
        xh = np.concatenate([x, h])
        z = sigmoid(xh @ self.Wz)
        r = sigmoid(xh @ self.Wr)
        c = np.tanh(np.concatenate([x, r * h]) @ self.Wh)
        self.gates = z, r
        return (1 - z) * h + z * c


@program(lambda rng: ("the quick brown fox jumps", int(rng.integers(0, 100)), 12))
def sample_characters_from_gru(text, seed, length):
    rng = np.random.default_rng(seed)
    chars = sorted(set(text))
    index = {c: i for i, c in enumerate(chars)}
    cell = GRUCell(len(chars), 8, rng)
    Wo = rng.normal(size=(8, len(chars)))
    h = np.zeros(8)
    surprise = 0.0
    for a, b in zip(text, text[1:]):
        x = np.zeros(len(chars))
        x[index[a]] = 1
        h = cell(x, h)
        logits = h @ Wo
        p = np.exp(logits - logits.max())
        p /= p.sum()
        surprise -= np.log2(p[index[b]])
    out = [text[-1]]
    for _ in range(length):
        x = np.zeros(len(chars))
        x[index[out[-1]]] = 1
        h = cell(x, h)
        logits = h @ Wo
        p = np.exp((logits - logits.max()) / 0.8)
        p /= p.sum()
        out.append(chars[int(rng.choice(len(chars), p=p))])
    return "".join(out), surprise / (len(text) - 1), cell.gates[0].round(6)


@program(lambda rng, n=16: (rng.normal(3.0, 0.5, size=(n, 1)), 20))
def tiny_gan(real, steps):
    rng = np.random.default_rng(5)
    G = {"a": np.array([1.0]), "b": np.array([0.0])}
    D = {"w": rng.normal(size=1), "c": np.zeros(1)}

    def disc(x):
        return sigmoid(x * D["w"] + D["c"])

    trace = []
    for step in range(steps):
        z = rng.normal(size=real.shape)
        fake = G["a"] * z + G["b"]
        pr, pf = disc(real), disc(fake)
        D["w"] += 0.1 * ((1 - pr) * real - pf * fake).mean(axis=0)
        D["c"] += 0.1 * ((1 - pr) - pf).mean(axis=0)
        if step % 2:
            pf = disc(fake)
            d = (1 - pf) * D["w"]
            G["a"] += 0.1 * (d * z).mean(axis=0)
            G["b"] += 0.1 * d.mean(axis=0)
        trace.append((G["b"].item(), pr.mean()))
    return trace[-1], len(trace), G, D


class Value:
    """micrograd"""

    def __init__(self, data, children=(), op=""):
        self.data = data
        self.grad = 0.0
        self._backward = lambda: None
        self._prev = set(children)
        self._op = op

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other), "+")

        def _backward():
            self.grad += out.grad
            other.grad += out.grad

        out._backward = _backward
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other), "*")

        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._backward = _backward
        return out

    def __pow__(self, k):
        out = Value(self.data**k, (self,), f"**{k}")

        def _backward():
            self.grad += k * self.data ** (k - 1) * out.grad

        out._backward = _backward
        return out

    def tanh(self):
        t = np.tanh(self.data)
        out = Value(t, (self,), "tanh")

        def _backward():
            self.grad += (1 - t**2) * out.grad

        out._backward = _backward
        return out

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + (-other)

    def backward(self):
        topo, visited = [], set()

        def build(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build(child)
                topo.append(v)

        build(self)
        self.grad = 1.0
        for v in reversed(topo):
            v._backward()


@program(lambda rng: (rng.normal(size=(4, 2)), rng.choice([-1.0, 1.0], 4)))
def micrograd_neuron(X, y):
    w = [Value(0.3), Value(-0.2)]
    b = Value(0.1)
    losses = []
    for _ in range(3):
        loss = Value(0.0)
        for xi, yi in zip(X, y):
            act = sum((wj * xj for wj, xj in zip(w, xi)), b).tanh()
            loss = loss + (act - yi) ** 2
        for p in w + [b]:
            p.grad = 0.0
        loss.backward()
        for p in w + [b]:
            p.data -= 0.05 * p.grad
        losses.append(loss.data)
    return losses, [p.data for p in w + [b]]


class BatchNorm1d:
    def __init__(self, n, momentum=0.1):
        self.gamma, self.beta = np.ones(n), np.zeros(n)
        self.running_mean, self.running_var = np.zeros(n), np.ones(n)
        self.momentum, self.training = momentum, True
        self.num_batches_tracked = 0

    def __call__(self, x):
        if self.training:
            mean, var = x.mean(0), x.var(0)
            n = len(x)
            self.running_mean += self.momentum * (mean - self.running_mean)
            self.running_var += self.momentum * (var * n / (n - 1) - self.running_var)
            self.num_batches_tracked += 1
        else:
            mean, var = self.running_mean, self.running_var
        return (x - mean) / np.sqrt(var + 1e-5) * self.gamma + self.beta


bn = BatchNorm1d(3)


def bn_state():
    return bn.running_mean.copy(), bn.running_var.copy(), bn.num_batches_tracked, bn.training


def bn_reset():
    bn.__init__(3)


@program(lambda rng, n=12: (rng.normal(2, 3, size=(n, 3)),), reset=bn_reset, outside=bn_state)
def batch_norm_train_and_eval(X):
    bn.training = True
    for k in range(0, len(X), 4):
        out = bn(X[k : k + 4])
    bn.training = False
    print(bn.num_batches_tracked, "batches")
    return out, bn(X)


class SGD:
    def __init__(self, params, lr=0.1, momentum=0.0, nesterov=False):
        self.param_groups = [{"params": params, "lr": lr, "momentum": momentum, "nesterov": nesterov}]
        self.state = {}

    def step(self, grads):
        for group in self.param_groups:
            for i, (p, g) in enumerate(zip(group["params"], grads)):
                if group["momentum"] != 0:
                    buf = self.state.get(i)
                    if buf is None:
                        buf = self.state[i] = g.copy()
                    else:
                        buf *= group["momentum"]
                        buf += g
                    g = g + group["momentum"] * buf if group["nesterov"] else buf
                p -= group["lr"] * g


class CosineSchedule:
    def __init__(self, opt, T):
        self.opt, self.T, self.t = opt, T, 0
        self.base = [g["lr"] for g in opt.param_groups]

    def step(self):
        self.t += 1
        for g, base in zip(self.opt.param_groups, self.base):
            g["lr"] = 0.5 * base * (1 + np.cos(np.pi * self.t / self.T))

    def get_last_lr(self):
        return [g["lr"] for g in self.opt.param_groups]


@program(lambda rng, n=24: (rng.normal(size=(n, 3)), rng.normal(size=n)))
def sgd_with_groups_and_schedule(X, y):
    w, b = np.zeros(3), np.zeros(1)
    opt = SGD([w, b], lr=0.2, momentum=0.9, nesterov=True)
    sched = CosineSchedule(opt, 10)
    for t in range(10):
        r = X @ w + b - y
        opt.step([X.T @ r / len(y), np.array([r.mean()])])
        sched.step()
        print(f"{t}: mse={np.mean(r**2):.5f} lr={sched.get_last_lr()[0]:.4f}")
    return w, b, opt.state[0]


def numerical_gradient(f, x, eps=1e-5):
    grad = np.zeros_like(x)
    it = np.nditer(x, flags=["multi_index"])
    while not it.finished:
        i = it.multi_index
        old = x[i]
        x[i] = old + eps
        hi = f(x)
        x[i] = old - eps
        lo = f(x)
        x[i] = old
        grad[i] = (hi - lo) / (2 * eps)
        it.iternext()
    return grad


@program(lambda rng: (rng.normal(size=(3, 2)), rng.normal(size=(2, 4))))
def gradient_check(A, B):
    def f(a):
        return np.sum(np.tanh(a @ B) ** 2)

    t = np.tanh(A @ B)
    analytic = (2 * t * (1 - t**2)) @ B.T
    numeric = numerical_gradient(f, A)
    rel = np.abs(analytic - numeric).max() / np.maximum(np.abs(analytic), np.abs(numeric)).max()
    assert rel < 1e-5, f"gradient check failed: {rel}"
    return numeric.round(5), "passed" if rel < 1e-6 else "close"
