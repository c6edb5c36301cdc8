"""A transformer block and a step of training a network of two layers, forward and backward, beside JAX."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
from hot_programs import layer_with_residual
from phlox.hlo import parse_module
from phlox.hlo.fast_math import allow_fast_math

from ...limits.contenders import with_jax_numpy
from ...limits.rows import networks
from ..bench import Bench, of_calls
from ..cases import AS_FAST_AS_JAX, Case, Row, Sizes, floats, some
from .products import precision

TITLE = "Networks, beside JAX"


def mlp_step(x, y, w1, b1, w2, b2):
    """The loss, and what gradient descent makes of the weights."""
    hidden = np.tanh(x @ w1 + b1)
    error = hidden @ w2 + b2 - y
    loss = (error * error).mean()
    by_output = error * np.float32(2 / error.size)
    by_hidden = (by_output @ w2.T) * (1 - hidden * hidden)
    rate = np.float32(0.1)
    w2, b2 = w2 - rate * (hidden.T @ by_output), b2 - rate * by_output.sum(axis=0)
    return loss, w1 - rate * (x.T @ by_hidden), b1 - rate * by_hidden.sum(axis=0), w2, b2


def jax_mlp_step(jax, x, y, w1, b1, w2, b2):
    """As users of JAX write it."""
    jnp = jax.numpy

    def loss(weights):
        w1, b1, w2, b2 = weights
        error = jnp.tanh(x @ w1 + b1) @ w2 + b2 - y
        return (error * error).mean()

    value, gradient = jax.value_and_grad(loss)((w1, b1, w2, b2))
    return value, *[one - np.float32(0.1) * by for one, by in zip((w1, b1, w2, b2), gradient)]


def mlp_arguments(batch: int, inputs: int, hidden: int, outputs: int) -> tuple[np.ndarray, ...]:
    w1, w2 = floats(inputs, hidden) / np.float32(inputs**0.5), floats(hidden, outputs, seed=1) / np.float32(hidden**0.5)
    b1, b2 = floats(hidden, seed=2), floats(outputs, seed=3)
    return floats(batch, inputs, seed=4), floats(batch, outputs, seed=5), w1, b1, w2, b2


def transformer_arguments(batch: int, length: int, width: int) -> tuple[Any, ...]:
    return floats(batch, length, width), networks.weights_of_transformer(width, 4 * width)


def jax_loss(x, weights):
    return (networks.jax_transformer(x, weights) ** 2).mean()


# The batch, and other sizes, of the networks in this order.
SIZES = {False: ((4, 128, 256), (4, 1024, 1024), (512, 784, 1024, 10), (4096, 1024, 4096, 1024)),
         True: ((1, 8, 256), (1, 16, 256), (8, 12, 16, 4), (16, 8, 32, 8))}  # fmt: skip


def forward(number: int, is_tf32: bool, bench: Bench) -> Case:
    arguments = transformer_arguments(*SIZES[bench.sizes.is_tiny][number])
    return Case(
        networks.transformer,
        arguments,
        {"fastmath": is_tf32},
        {"JAX": lambda jax, x, w: networks.jax_transformer(x, w)},
        reference=lambda: networks.transformer(*arguments),
        tolerance=2e-2 if is_tf32 else 1e-3,
        settings=partial(precision, is_tf32),
    )


def gradient(number: int, is_tf32: bool, bench: Bench) -> Case:
    """By all weights, as JAX derives it: the same HLO for phlox and XLA."""
    if "JAX" not in bench.peers:
        raise RuntimeError(f"JAX derives it: {bench.missing['JAX']}")
    jax = bench.peers["JAX"].library
    x, weights = transformer_arguments(*SIZES[bench.sizes.is_tiny][number])
    by_weights = jax.grad(lambda weights, x: jax_loss(x, weights))
    module = parse_module(jax.jit(by_weights).lower(weights, x).compiler_ir("hlo").as_hlo_text())
    if is_tf32:
        allow_fast_math(module)
    leaves = tuple(np.asarray(leaf) for leaf in jax.tree.leaves((weights, x)))

    def theirs(jax: Any, *leaves: Any) -> Any:
        *given, x = leaves
        return jax.tree.leaves(by_weights(jax.tree.unflatten(jax.tree.structure(weights), given), x))

    return Case(
        None, leaves, peers={"JAX": theirs}, tolerance=5e-2 if is_tf32 else 1e-2, module=module,
        settings=partial(precision, is_tf32),
    )  # fmt: skip


def training(number: int, is_tf32: bool, bench: Bench) -> Case:
    arguments = mlp_arguments(*SIZES[bench.sizes.is_tiny][number])
    return Case(
        mlp_step,
        arguments,
        {"fastmath": is_tf32},
        {"JAX": jax_mlp_step},
        reference=lambda: mlp_step(*arguments),
        tolerance=1e-2 if is_tf32 else 1e-3,
        settings=partial(precision, is_tf32),
    )


def dense(dtype: Any, bench: Bench) -> Case:
    size = bench.sizes.products[0]
    x, w = (floats(size, size, dtype=dtype, seed=seed) / dtype(size**0.25) for seed in range(2))
    bias, before = floats(size, seed=2), floats(size, size, seed=3)
    seen = some(size)
    return Case(
        layer_with_residual,
        (x, w, bias, before),
        peers={"JAX": lambda jax, *given: with_jax_numpy(layer_with_residual)(*given)},
        reference=lambda: layer_with_residual(x[seen].astype(np.float64), w.astype(np.float64), bias, before[seen]),
        sample=lambda result: result[seen],
        tolerance=1e-4 if dtype is np.float32 else 2e-2,
        flops=2.0 * size**3,
        settings=partial(precision, False),
    )


def attended(bench: Bench) -> Case:
    heads, length = (2, 16) if bench.sizes.is_tiny else (8, 1024)
    operands = tuple(floats(heads, length, 64, seed=number) for number in range(3))
    return Case(
        networks.attention,
        operands,
        peers={"JAX": lambda jax, q, k, v: networks.jax_attention(q, k, v)},
        reference=lambda: networks.attention(*operands),
        tolerance=1e-3,
        flops=4.0 * heads * length * length * 64,
        settings=partial(precision, False),
    )


def rows(sizes: Sizes) -> Iterator[Row]:
    def row(name: str, *make: Any) -> Row:
        return Row(name, AS_FAST_AS_JAX, of_calls(partial(*make)))

    for number, size in ((1, "4 x 1024 x 1024"), (0, "4 x 128 x 256")):
        for is_tf32, precise in ((False, "f32"), (True, "tf32")):
            yield row(f"transformer block, {size}, {precise}", forward, number, is_tf32)
            yield row(f"transformer block, {size}, gradient, {precise}", gradient, number, is_tf32)
    for number, size in ((3, "4096 of 1024, 4096 hidden"), (2, "512 of 784, 1024 hidden")):
        for is_tf32, precise in ((False, "f32"), (True, "tf32")):
            yield row(f"training step of two layers, {size}, {precise}", training, number, is_tf32)
    yield row("dense layer of 4096 with gelu and residual, f32", dense, np.float32)
    yield row("dense layer of 4096 with gelu and residual, bf16", dense, ml_dtypes.bfloat16)
    yield row("attention, 8 heads of 1024 x 64, f32", attended)
