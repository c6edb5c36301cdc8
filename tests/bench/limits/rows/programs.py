"""Whole programs of arrays: simulation, finance, clustering, networks."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..contenders import Case, Row, case, hlo_case, jax, jnp, normal, numba_package, row, targets, uniform
from . import networks

try:
    from scipy.special import erf
except ImportError:
    erf = np.vectorize(math.erf)

TITLE = "Programs"
MEAN = {"JAX": 2, "NumPy": 5}

prange = numba_package.prange if numba_package else range

STEPS = 10
BOUND = 50


def n_body(position, velocity, mass):
    for _ in range(STEPS):
        difference = position[None, :, :] - position[:, None, :]
        squares = (difference * difference).sum(axis=2) + 1e-3
        weights = mass / (squares * np.sqrt(squares))
        velocity = velocity + 1e-3 * (difference * weights[:, :, None]).sum(axis=1)
        position = position + 1e-3 * velocity
    return position, velocity


def jax_n_body(position, velocity, mass):
    def step(_, state):
        position, velocity = state
        difference = position[None, :, :] - position[:, None, :]
        squares = (difference * difference).sum(axis=2) + 1e-3
        weights = mass / (squares * jnp.sqrt(squares))
        velocity = velocity + 1e-3 * (difference * weights[:, :, None]).sum(axis=1)
        return position + 1e-3 * velocity, velocity

    return jax.lax.fori_loop(0, STEPS, step, (position, velocity))


def numba_n_body(position, velocity, mass):
    position, velocity = position.copy(), velocity.copy()
    n = len(mass)
    for _ in range(STEPS):
        for i in prange(n):
            ax = ay = az = 0.0
            for j in range(n):
                x = position[j, 0] - position[i, 0]
                y = position[j, 1] - position[i, 1]
                z = position[j, 2] - position[i, 2]
                s = x * x + y * y + z * z + 1e-3
                w = mass[j] / (s * np.sqrt(s))
                ax, ay, az = ax + w * x, ay + w * y, az + w * z
            velocity[i, 0] += 1e-3 * ax
            velocity[i, 1] += 1e-3 * ay
            velocity[i, 2] += 1e-3 * az
        position += 1e-3 * velocity
    return position, velocity


def mandelbrot(x, y):
    a, b = np.zeros_like(x), np.zeros_like(y)
    count = np.zeros(x.shape, np.int32)
    for _ in range(BOUND):
        inside = a * a + b * b <= 4
        count += inside
        a, b = np.where(inside, a * a - b * b + x, a), np.where(inside, 2 * a * b + y, b)
    return count


def jax_mandelbrot(x, y):
    def step(_, state):
        a, b, count = state
        inside = a * a + b * b <= 4
        return jnp.where(inside, a * a - b * b + x, a), jnp.where(inside, 2 * a * b + y, b), count + inside

    return jax.lax.fori_loop(0, BOUND, step, (jnp.zeros_like(x), jnp.zeros_like(y), jnp.zeros(x.shape, jnp.int32)))[2]


def mandelbrot_by_points(x, y):
    count = np.zeros(x.shape, np.int32)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            a = b = 0.0
            for _ in range(BOUND):
                if a * a + b * b > 4:
                    break
                a, b = a * a - b * b + x[i, j], 2 * a * b + y[i, j]
                count[i, j] += 1
    return count


def numba_mandelbrot(x, y):
    count = np.zeros(x.shape, np.int32)
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            a = b = 0.0
            for _ in range(BOUND):
                if a * a + b * b > 4:
                    break
                a, b = a * a - b * b + x[i, j], 2 * a * b + y[i, j]
                count[i, j] += 1
    return count


def black_scholes(spot, strike, time):
    root = 0.2 * np.sqrt(time)
    d1 = (np.log(spot / strike) + (0.05 + 0.02) * time) / root
    d2 = d1 - root
    discounted = strike * np.exp(-0.05 * time)
    call = spot * 0.5 * (1 + erf(d1 * 0.7071067811865476)) - discounted * 0.5 * (1 + erf(d2 * 0.7071067811865476))
    return call, call - spot + discounted


def jax_black_scholes(spot, strike, time):
    root = 0.2 * jnp.sqrt(time)
    d1 = (jnp.log(spot / strike) + (0.05 + 0.02) * time) / root
    d2 = d1 - root
    discounted = strike * jnp.exp(-0.05 * time)
    call = spot * 0.5 * (1 + jax.scipy.special.erf(d1 * 0.7071067811865476))
    call = call - discounted * 0.5 * (1 + jax.scipy.special.erf(d2 * 0.7071067811865476))
    return call, call - spot + discounted


def numba_black_scholes(spot, strike, time):
    calls, puts = np.empty_like(spot), np.empty_like(spot)
    for i in prange(spot.size):
        root = 0.2 * math.sqrt(time[i])
        d1 = (math.log(spot[i] / strike[i]) + (0.05 + 0.02) * time[i]) / root
        d2 = d1 - root
        discounted = strike[i] * math.exp(-0.05 * time[i])
        call = spot[i] * 0.5 * (1 + math.erf(d1 * 0.7071067811865476))
        calls[i] = call - discounted * 0.5 * (1 + math.erf(d2 * 0.7071067811865476))
        puts[i] = calls[i] - spot[i] + discounted
    return calls, puts


def k_means(points, centres):
    for _ in range(STEPS):
        distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        labels = distances.argmin(axis=1)
        members = (labels[:, None] == np.arange(centres.shape[0])).astype(points.dtype)
        centres = (members.T @ points) / np.maximum(members.sum(axis=0), 1)[:, None]
    return centres


def jax_k_means(points, centres):
    def step(_, centres):
        distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        labels = distances.argmin(axis=1)
        members = (labels[:, None] == jnp.arange(centres.shape[0])).astype(points.dtype)
        return (members.T @ points) / jnp.maximum(members.sum(axis=0), 1)[:, None]

    return jax.lax.fori_loop(0, STEPS, step, centres)


def bodies(dtype) -> Case:
    arguments = normal(1000, 3, dtype=dtype), normal(1000, 3, dtype=dtype, seed=1), uniform(1000, dtype=dtype)
    return case(n_body, *arguments, jax_function=jax_n_body, numba=numba_n_body, tolerance=1e-3, turns=5)


def plane(function, dtype, numpy=True) -> Case:
    """Points at the edge of the set may fall to either side by rounding, so what is compared is how many fall where."""
    x, y = np.meshgrid(np.linspace(-2, 0.6, 1000, dtype=dtype), np.linspace(-1.2, 1.2, 1000, dtype=dtype))
    return case(
        function, x, y, numpy=numpy, jax_function=jax_mandelbrot, numba=numba_mandelbrot,
        comparable=lambda count: np.asarray(count).mean(axis=0), tolerance=1e-2, turns=5,
    )  # fmt: skip


def options(dtype) -> Case:
    size = 5_000_000
    arguments = [
        uniform(size, dtype=dtype, seed=number, low=low, high=high)
        for number, low, high in ((0, 10, 50), (1, 10, 50), (2, 0.5, 3))
    ]
    exactness = {"tolerance": 1e-3 if dtype == np.float32 else 1e-9, "bytes": 5 * arguments[0].nbytes}
    return case(black_scholes, *arguments, jax_function=jax_black_scholes, numba=numba_black_scholes, turns=5, **exactness)


def clusters() -> Case:
    centres = 10 * normal(16, 8)
    points = (centres[:, None, :] + normal(16, 6250, 8, seed=1)).reshape(-1, 8)
    return case(k_means, points, centres + 1, jax_function=jax_k_means, tolerance=1e-3, turns=5)


def lenet() -> Case:
    weights = networks.weights_of_lenet()
    x = normal(64, 28, 28, 1)
    numpy, of_jax = networks.lenet(networks.NUMPY), networks.lenet(networks.JAX)
    return hlo_case(of_jax, x, weights, numpy=numpy, tolerance=1e-3, turns=7)


def resnet() -> Case:
    weights = networks.weights_of_resnet()
    x = normal(1, 224, 224, 3)
    numpy, of_jax = networks.resnet(networks.NUMPY), networks.resnet(networks.JAX)
    return hlo_case(of_jax, x, weights, numpy=numpy, tolerance=1e-2, turns=5, flops=3.6e9)


def transformer() -> Case:
    arguments = normal(4, 128, 256), networks.weights_of_transformer(256, 1024)
    return case(networks.transformer, *arguments, jax_function=networks.jax_transformer, tolerance=1e-3, turns=7)


def transformer_gradient() -> Case:
    """By all weights, as JAX derives it: the same HLO for phlox and XLA."""
    gradient = jax.grad(lambda weights, x: (networks.jax_transformer(x, weights) ** 2).mean())
    return hlo_case(gradient, networks.weights_of_transformer(256, 1024), normal(4, 128, 256), tolerance=1e-2, turns=7)


def attention(heads: int, length: int) -> Case:
    operands = [normal(heads, length, 64, seed=number) for number in range(3)]
    work = {"flops": 4 * heads * length * length * 64}
    return case(networks.attention, *operands, jax_function=networks.jax_attention, tolerance=1e-3, turns=7, **work)


def rows() -> Iterator[Row]:
    wanted = targets(JAX=1.2)
    for dtype, name in ((np.float64, "f64"), (np.float32, "f32")):
        yield row(f"N-body, 1000 bodies, {STEPS} steps, {name}", wanted, bodies, dtype)
        yield row(f"Mandelbrot, 1000 x 1000, {BOUND} rounds, {name}", wanted, plane, mandelbrot, dtype)
        yield row(f"Black-Scholes, 5 M, {name}", wanted, options, dtype)
    yield row(
        f"Mandelbrot, 1000 x 1000, {BOUND} rounds, point by point, f64",
        wanted,
        plane,
        mandelbrot_by_points,
        np.float64,
        mandelbrot,
    )
    yield row(f"k-means, 100,000 x 8, 16 centres, {STEPS} steps, f32", wanted, clusters)
    yield row("LeNet, batch of 64", wanted, lenet)
    yield row("ResNet-18, one picture of 224 x 224", wanted, resnet)
    yield row("transformer block, 4 x 128 x 256", wanted, transformer)
    yield row("transformer block, 4 x 128 x 256, gradient", wanted, transformer_gradient)
    yield row("attention, 8 heads of 128 x 64", wanted, attention, 8, 128)
    yield row("attention, 8 heads of 1024 x 64", wanted, attention, 8, 1024)
