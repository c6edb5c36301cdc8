"""Layers and networks, in single precision."""

import numpy as np

from .registry import program


def normals(*shapes):
    return lambda rng: tuple(rng.normal(size=shape).astype(np.float32) for shape in shapes)


def relu(x):
    return np.maximum(x, 0)


def softmax_of(x):
    tmp_max = np.max(x, axis=-1, keepdims=True)
    tmp_out = np.exp(x - tmp_max)
    tmp_sum = np.sum(tmp_out, axis=-1, keepdims=True)
    return tmp_out / tmp_sum


@program(normals((4, 3, 6, 6)), lambda found, x: np.allclose(found.sum(axis=-1), 1, atol=1e-5))
def softmax(x):
    return softmax_of(x)


def convolve(inputs, weights):
    """Images in rows, columns, channels; a loop over the places of the result."""
    K = weights.shape[0]
    N, H, W, C_in = inputs.shape
    H_out, W_out, C_out = H - K + 1, W - K + 1, weights.shape[3]
    output = np.empty((N, H_out, W_out, C_out), dtype=np.float32)
    for i in range(H_out):
        for j in range(W_out):
            output[:, i, j, :] = np.sum(
                inputs[:, i : i + K, j : j + K, :, np.newaxis] * weights[np.newaxis, :, :, :], axis=(1, 2, 3)
            )
    return output


def convolution_check(found, x, w, bias):
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))
    return np.allclose(found, np.einsum("nhwcij,ijco->nhwo", windows, w) + bias, atol=1e-4)


@program(normals((2, 8, 8, 3), (3, 3, 3, 4), 4), convolution_check)
def conv2d_bias(inputs, weights, bias):
    return convolve(inputs, weights) + bias


@program(
    normals((6, 10), (10, 16), 16, (16, 12), 12, (12, 5), 5),
    lambda found, *before: np.allclose(found.sum(axis=1), 1, atol=1e-5),
)
def mlp(inputs, w1, b1, w2, b2, w3, b3):
    x = relu(inputs @ w1 + b1)
    x = relu(x @ w2 + b2)
    return softmax_of(x @ w3 + b3)


def max_pool(x):
    output = np.empty([x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]], dtype=x.dtype)
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            output[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return output


@program(
    normals((2, 14, 14, 1), (3, 3, 1, 4), 4, (3, 3, 4, 6), 6, (24, 16), 16, (16, 10), 10),
    lambda found, *a: found.shape == (2, 10),
)
def lenet(image, conv1, bias1, conv2, bias2, w1, b1, w2, b2):
    x = max_pool(relu(convolve(image, conv1) + bias1))
    x = max_pool(relu(convolve(x, conv2) + bias2))
    x = np.reshape(x, (x.shape[0], x.shape[1] * x.shape[2] * x.shape[3]))
    x = relu(x @ w1 + b1)
    return x @ w2 + b2


def batch_norm(x, eps=1e-5):
    mean = np.mean(x, axis=0, keepdims=True)
    std = np.std(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(std + eps)


@program(normals((2, 6, 6, 4), (1, 1, 4, 2), (3, 3, 2, 2), (1, 1, 2, 4)), lambda found, *a: found.min() == 0)
def residual_block(image, conv1, conv2, conv3):
    padded = np.zeros((image.shape[0], image.shape[1] + 2, image.shape[2] + 2, conv1.shape[3]), dtype=np.float32)
    padded[:, 1:-1, 1:-1, :] = convolve(image, conv1)
    x = relu(batch_norm(padded))
    x = relu(batch_norm(convolve(x, conv2)))
    x = batch_norm(convolve(x, conv3))
    return relu(x + image)


def training_set(rng):
    x = rng.normal(size=(32, 2)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] > 0).astype(np.int64)
    return x, y, (rng.normal(size=(2, 8)) * 0.7).astype(np.float32), (rng.normal(size=(8, 2)) * 0.7).astype(np.float32)


@program(training_set, lambda found, *before: found["losses"][-1] < found["losses"][0])
def training_by_hand(x, y, w1, w2, epochs=60, rate=0.5):
    """Two layers, their gradients written out, in batches."""
    b1 = np.zeros(w1.shape[1], dtype=np.float32)
    b2 = np.zeros(w2.shape[1], dtype=np.float32)
    losses = []
    for epoch in range(epochs):
        total = 0.0
        for start in range(0, len(x), 16):
            xb, yb = x[start : start + 16], y[start : start + 16]
            hidden = np.tanh(xb @ w1 + b1)
            p = softmax_of(hidden @ w2 + b2)
            total += -np.log(p[np.arange(len(yb)), yb]).mean()
            delta = p.copy()
            delta[np.arange(len(yb)), yb] -= 1
            delta /= len(yb)
            back = (delta @ w2.T) * (1 - hidden**2)
            w2 -= rate * hidden.T @ delta
            b2 -= rate * delta.sum(axis=0)
            w1 -= rate * xb.T @ back
            b1 -= rate * back.sum(axis=0)
        losses.append(total)
        if epoch % 20 == 0:
            print(f"epoch {epoch}: loss {total:.3f}")
    return {"losses": losses, "w1": w1, "b1": b1, "w2": w2, "b2": b2}


@program(
    normals((5, 6), (6, 20), (5, 20), 20), lambda found, x, wx, wh, b: found[0].shape == (5, 5) and np.all(np.abs(found[0]) < 1)
)
def long_short_term_memory(x, w_x, w_h, bias):
    units = w_h.shape[0]

    def sigmoid(z):
        return 1.0 / (1.0 + np.exp(-z))

    h, c = np.zeros(units, dtype=x.dtype), np.zeros(units, dtype=x.dtype)
    outputs = []
    for t in range(x.shape[0]):
        gates = x[t] @ w_x + h @ w_h + bias
        i, f, o, g = np.split(gates, 4)
        c = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        outputs.append(h)
    return np.stack(outputs), c
