"""Engines that differentiate what they have recorded: of numbers, and of arrays."""

import math

import numpy as np

from .registry import program


def build(X, y, depth, rng):
    if depth == 0 or len(set(y.tolist())) == 1:
        return int(np.bincount(y).argmax())
    f = rng.integers(X.shape[1])
    t = np.median(X[:, f])
    left = X[:, f] <= t
    if left.all() or not left.any():
        return int(np.bincount(y).argmax())
    return (int(f), t, build(X[left], y[left], depth - 1, rng), build(X[~left], y[~left], depth - 1, rng))


class Value:
    def __init__(self, data, _children=(), _op="", label=""):
        self.data = data
        self.grad = 0.0
        self._backward = lambda: None
        self._prev = set(_children)
        self._op = _op
        self.label = label

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
        t = math.tanh(self.data)
        out = Value(t, (self,), "tanh")

        def _backward():
            self.grad += (1 - t**2) * out.grad

        out._backward = _backward
        return out

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + (-other)

    __radd__ = __add__
    __rmul__ = __mul__

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
        for node in reversed(topo):
            node._backward()


@program(lambda rng: (rng.normal(size=(4, 3)).tolist(), [1.0, -1.0, -1.0, 1.0], rng.normal(size=4).tolist()))
def micrograd_neuron(xs, ys, init):
    w = [Value(v) for v in init[:3]]
    b = Value(init[3])
    losses = []
    for _ in range(2):
        preds = [sum((wi * xi for wi, xi in zip(w, x)), b).tanh() for x in xs]
        loss = sum((p - y) ** 2 for p, y in zip(preds, ys))
        for p in w + [b]:
            p.grad = 0.0
        loss.backward()
        for p in w + [b]:
            p.data -= 0.1 * p.grad
        losses.append(loss.data)
    return losses, [p.data for p in w], b.grad


class Tensor:
    def __init__(self, data, parents=(), backward=None):
        self.data = np.asarray(data, dtype=float)
        self.grad = np.zeros_like(self.data)
        self.parents = parents
        self.backward_fn = backward

    @staticmethod
    def _unbroadcast(g, shape):
        while g.ndim > len(shape):
            g = g.sum(axis=0)
        for i, n in enumerate(shape):
            if n == 1:
                g = g.sum(axis=i, keepdims=True)
        return g

    def __add__(self, other):
        other = other if isinstance(other, Tensor) else Tensor(other)
        return Tensor(self.data + other.data, (self, other), lambda g: (g, g))

    def __mul__(self, other):
        other = other if isinstance(other, Tensor) else Tensor(other)
        return Tensor(self.data * other.data, (self, other), lambda g: (g * other.data, g * self.data))

    def __matmul__(self, other):
        return Tensor(self.data @ other.data, (self, other), lambda g: (g @ other.data.T, self.data.T @ g))

    def relu(self):
        return Tensor(np.maximum(self.data, 0), (self,), lambda g: (g * (self.data > 0),))

    def mean(self):
        n = self.data.size
        return Tensor(self.data.mean(), (self,), lambda g: (np.full(self.data.shape, g / n),))

    def backward(self):
        order, seen = [], set()
        stack = [(self, False)]
        while stack:
            node, done = stack.pop()
            if done:
                order.append(node)
                continue
            if id(node) in seen:
                continue
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((p, False) for p in node.parents)
        self.grad = np.ones_like(self.data)
        for node in reversed(order):
            if node.backward_fn is None:
                continue
            for parent, g in zip(node.parents, node.backward_fn(node.grad)):
                parent.grad = parent.grad + self._unbroadcast(g, parent.data.shape)


@program(lambda rng: (rng.normal(size=(10, 3)), rng.normal(size=(3, 6)), rng.normal(size=(6, 1)), rng.normal(size=(10, 1))))
def tensor_autograd(X, W1, W2, y):
    params = [Tensor(W1), Tensor(np.zeros((1, 6))), Tensor(W2)]
    losses = []
    for _ in range(5):
        x = Tensor(X)
        h = (x @ params[0] + params[1]).relu()
        d = h @ params[2] + Tensor(-y)
        loss = (d * d).mean()
        for p in params:
            p.grad = np.zeros_like(p.data)
        loss.backward()
        for p in params:
            p.data -= 0.05 * p.grad
        losses.append(loss.data.item())
    return losses, [p.data for p in params]
