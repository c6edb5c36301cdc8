"""Softmax, layer norm and log-sum-exp of rows, and their gradients, which are written out for NumPy; JAX derives its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..contenders import Case, Row, case, jax, normal, row, targets

TITLE = "Normalization of rows, 4096 x 1024 f32"

SHAPE = 4096, 1024
EPSILON = np.float32(1e-5)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax_gradient(x, g):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    y = e / e.sum(axis=1, keepdims=True)
    return y * (g - (g * y).sum(axis=1, keepdims=True))


def layer_norm(x, scale, shift):
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return centred / np.sqrt(variance + EPSILON) * scale + shift


def layer_norm_gradient(x, scale, shift, g):
    """By x, scale and shift."""
    centred = x - x.mean(axis=1, keepdims=True)
    inverse = 1 / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + EPSILON)
    y = centred * inverse
    gy = g * scale
    gx = inverse * (gy - gy.mean(axis=1, keepdims=True) - y * (gy * y).mean(axis=1, keepdims=True))
    return gx, (g * y).sum(axis=0), g.sum(axis=0)


def log_sum_exp(x):
    largest = x.max(axis=1)
    return np.log(np.exp(x - largest[:, None]).sum(axis=1)) + largest


def log_sum_exp_gradient(x, g):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e * (g / e.sum(axis=1))[:, None]


def jax_softmax(x):
    return jax.nn.softmax(x, axis=1)


def jax_layer_norm(x, scale, shift):
    mean = x.mean(axis=1, keepdims=True)
    variance = x.var(axis=1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + EPSILON) * scale + shift


def jax_log_sum_exp(x):
    return jax.scipy.special.logsumexp(x, axis=1)


def derived(function):
    """By all arguments but the last one, which is the derivative by the result."""

    def gradient(*arguments):
        *inputs, g = arguments
        found = jax.vjp(function, *inputs)[1](g)
        return found if len(found) > 1 else found[0]

    return gradient


def of_rows(function, jax_function, gradient: bool, parameters: int = 0, result_rank: int = 2) -> Case:
    x = normal(*SHAPE)
    vectors = [normal(SHAPE[1], seed=number) for number in range(parameters)]
    g = [normal(*SHAPE[:result_rank], seed=7)] if gradient else []
    moved = x.nbytes * ((1 if gradient else 0) * (result_rank == 2) + 1 + (gradient or result_rank == 2))
    return case(
        function,
        x,
        *vectors,
        *g,
        jax_function=derived(jax_function) if gradient else jax_function,
        bytes=moved,
        tolerance=1e-3,
    )


def rows() -> Iterator[Row]:
    wanted = targets(JAX=1.5)
    yield row("softmax", wanted, of_rows, softmax, jax_softmax, False)
    yield row("softmax, gradient", wanted, of_rows, softmax_gradient, jax_softmax, True)
    yield row("layer norm", wanted, of_rows, layer_norm, jax_layer_norm, False, 2)
    yield row("layer norm, gradient", wanted, of_rows, layer_norm_gradient, jax_layer_norm, True, 2)
    yield row("log-sum-exp", wanted, of_rows, log_sum_exp, jax_log_sum_exp, False, 0, 1)
    yield row("log-sum-exp, gradient", wanted, of_rows, log_sum_exp_gradient, jax_log_sum_exp, True, 0, 1)
