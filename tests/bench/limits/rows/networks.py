"""The networks among the programs: LeNet, ResNet-18, a transformer block, attention."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..contenders import jax, jnp, normal

HEADS = 4


def _numpy_convolution(x, w, stride: int = 1, padding: str = "SAME"):
    size = w.shape[0]
    if padding == "SAME":
        missing = [max(0, (-(-n // stride) - 1) * stride + size - n) for n in x.shape[1:3]]
        x = np.pad(x, ((0, 0), *((one // 2, one - one // 2) for one in missing), (0, 0)))
    windows = sliding_window_view(x, (size, size), (1, 2))[:, ::stride, ::stride]
    return np.tensordot(windows, w, ((4, 5, 3), (0, 1, 2)))


def _numpy_max_pool(x, size: int, stride: int, padding: int = 0):
    x = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)), constant_values=-np.inf)
    return sliding_window_view(x, (size, size), (1, 2))[:, ::stride, ::stride].max(axis=(4, 5))


def _jax_convolution(x, w, stride: int = 1, padding: str = "SAME"):
    return jax.lax.conv_general_dilated(x, w, (stride, stride), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))


def _jax_max_pool(x, size: int, stride: int, padding: int = 0):
    around = ((0, 0), (padding, padding), (padding, padding), (0, 0))
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, size, size, 1), (1, stride, stride, 1), around)


NUMPY = SimpleNamespace(np=np, convolution=_numpy_convolution, max_pool=_numpy_max_pool)
JAX = SimpleNamespace(np=jnp, convolution=_jax_convolution, max_pool=_jax_max_pool) if jax else None


def lenet(library):
    """With the functions of this library: digits of 28 x 28 to 10 scores."""

    def network(x, weights):
        relu = lambda x: library.np.maximum(x, 0)  # noqa: E731
        x = library.max_pool(relu(library.convolution(x, weights["conv1"])), 2, 2)
        x = library.max_pool(relu(library.convolution(x, weights["conv2"], 1, "VALID")), 2, 2)
        x = x.reshape(x.shape[0], -1)
        x = relu(x @ weights["full1"] + weights["bias1"])
        x = relu(x @ weights["full2"] + weights["bias2"])
        return x @ weights["full3"] + weights["bias3"]

    return network


def weights_of_lenet() -> dict[str, np.ndarray]:
    shapes = {
        "conv1": (5, 5, 1, 6), "conv2": (5, 5, 6, 16), "full1": (400, 120), "full2": (120, 84), "full3": (84, 10),
        "bias1": (120,), "bias2": (84,), "bias3": (10,),
    }  # fmt: skip
    return {name: 0.1 * normal(*shape) for name, shape in shapes.items()}


STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))


def resnet(library):
    """ResNet-18, its batch normalizations folded to scales and shifts, as for inference."""

    def normalized(x, weights, name):
        return x * weights[f"{name}.scale"] + weights[f"{name}.shift"]

    def network(x, weights):
        relu = lambda x: library.np.maximum(x, 0)  # noqa: E731
        x = relu(normalized(library.convolution(x, weights["stem"], 2), weights, "stem"))
        x = library.max_pool(x, 3, 2, 1)
        for stage, (_, stride) in enumerate(STAGES):
            for block in range(2):
                name, step = f"{stage}.{block}", stride if block == 0 else 1
                y = relu(normalized(library.convolution(x, weights[f"{name}.a"], step), weights, f"{name}.a"))
                y = normalized(library.convolution(y, weights[f"{name}.b"]), weights, f"{name}.b")
                if f"{name}.down" in weights:
                    x = normalized(library.convolution(x, weights[f"{name}.down"], step), weights, f"{name}.down")
                x = relu(x + y)
        return x.mean(axis=(1, 2)) @ weights["full"] + weights["bias"]

    return network


def weights_of_resnet() -> dict[str, np.ndarray]:
    kernels = {"stem": (7, 7, 3, 64)}
    inputs = 64
    for stage, (width, stride) in enumerate(STAGES):
        for block in range(2):
            kernels[f"{stage}.{block}.a"] = (3, 3, inputs, width)
            kernels[f"{stage}.{block}.b"] = (3, 3, width, width)
            if stride != 1 and block == 0:
                kernels[f"{stage}.{block}.down"] = (1, 1, inputs, width)
            inputs = width
    found = {"full": 0.04 * normal(512, 1000), "bias": normal(1000)}
    for name, shape in kernels.items():
        found[name] = normal(*shape) * np.float32(1.4 / np.sqrt(np.prod(shape[:3])))
        found[f"{name}.scale"], found[f"{name}.shift"] = 1 + 0.1 * normal(shape[3]), 0.1 * normal(shape[3], seed=1)
    return found


def transformer(x, w):
    """A block with layer norms in front of attention and of two dense layers."""

    def normalized(x, scale, shift):
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(1e-5)) * scale + shift

    batch, length, width = x.shape
    y = normalized(x, w["scale1"], w["shift1"])
    q, k, v = ((y @ w[name]).reshape(batch, length, HEADS, -1).transpose(0, 2, 1, 3) for name in ("q", "k", "v"))
    scores = q @ k.transpose(0, 1, 3, 2) * np.float32(1 / 8)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = (e / e.sum(axis=-1, keepdims=True)) @ v
    x = x + mixed.transpose(0, 2, 1, 3).reshape(batch, length, width) @ w["out"]
    y = normalized(x, w["scale2"], w["shift2"]) @ w["up"] + w["bias"]
    y = 0.5 * y * (1 + np.tanh(np.float32(0.7978845608) * (y + np.float32(0.044715) * y * y * y)))
    return x + y @ w["down"]


def jax_transformer(x, w):
    def normalized(x, scale, shift):
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(1e-5)) * scale + shift

    batch, length, width = x.shape
    y = normalized(x, w["scale1"], w["shift1"])
    q, k, v = ((y @ w[name]).reshape(batch, length, HEADS, -1).transpose(0, 2, 1, 3) for name in ("q", "k", "v"))
    mixed = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) * np.float32(1 / 8)) @ v
    x = x + mixed.transpose(0, 2, 1, 3).reshape(batch, length, width) @ w["out"]
    y = jax.nn.gelu(normalized(x, w["scale2"], w["shift2"]) @ w["up"] + w["bias"], approximate=True)
    return x + y @ w["down"]


def weights_of_transformer(width: int, wide: int) -> dict[str, np.ndarray]:
    squares = {name: 0.06 * normal(width, width, seed=number) for number, name in enumerate(("q", "k", "v", "out"))}
    vectors = {
        name: 1 + 0.1 * normal(width, seed=number) for number, name in enumerate(("scale1", "shift1", "scale2", "shift2"))
    }
    return (
        squares | vectors | {"up": 0.06 * normal(width, wide), "down": 0.03 * normal(wide, width), "bias": 0.1 * normal(wide)}
    )


def attention(q, k, v):
    scores = q @ k.transpose(0, 2, 1) * np.float32(1 / 8)
    e = np.exp(scores - scores.max(axis=2, keepdims=True))
    return (e / e.sum(axis=2, keepdims=True)) @ v


def jax_attention(q, k, v):
    weights = jax.nn.softmax(jnp.einsum("hid,hjd->hij", q, k) * np.float32(1 / 8))
    return jnp.einsum("hij,hjd->hid", weights, v)
