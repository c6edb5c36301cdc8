"""Loops whose iterations depend on those before."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..contenders import Case, Row, case, jax, jnp, normal, row, targets, uniform

TITLE = "Loops"

ITERATIONS = 1_000_000


def scalar_loop(x, n):
    for _ in range(n):
        x = 2.8 * x * (1.0 - x)
    return x


def jax_scalar_loop(x, n):
    return jax.lax.fori_loop(0, n, lambda _, x: 2.8 * x * (1.0 - x), x)


def scalar_while(x, limit):
    """The condition is a test of what is computed."""
    i = 0
    while x < limit:
        x = x + x * 1e-5
        i += 1
    return x, i


def jax_scalar_while(x, limit):
    return jax.lax.while_loop(lambda s: s[0] < limit, lambda s: (s[0] + s[0] * 1e-5, s[1] + 1), (x, 0))


def vector_loop(v, w, n):
    for _ in range(n):
        v = 0.5 * v + w * v
    return v


def jax_vector_loop(v, w, n):
    return jax.lax.fori_loop(0, n, lambda _, v: 0.5 * v + w * v, v)


def cheapest_paths(cost):
    """From the first row to the last, each step to one of the three neighbours below."""
    table = cost.copy()
    for i in range(1, len(cost)):
        above = table[i - 1]
        table[i] += above
        table[i, 1:] = np.minimum(table[i, 1:], cost[i, 1:] + above[:-1])
        table[i, :-1] = np.minimum(table[i, :-1], cost[i, :-1] + above[1:])
    return table


def jax_cheapest_paths(cost):
    infinite = jnp.full(1, jnp.inf, cost.dtype)

    def step(above, row):
        left, right = jnp.concatenate([infinite, above[:-1]]), jnp.concatenate([above[1:], infinite])
        found = row + jnp.minimum(above, jnp.minimum(left, right))
        return found, found

    return jnp.concatenate([cost[:1], jax.lax.scan(step, cost[0], cost[1:])[1]])


def edit_distance(a, b):
    """A table of whole numbers, row by row, element by element."""
    previous = np.arange(len(b) + 1)
    for i in range(len(a)):
        current = np.zeros_like(previous)
        current[0] = i + 1
        for j in range(len(b)):
            change = previous[j] + (a[i] != b[j])
            current[j + 1] = min(change, previous[j + 1] + 1, current[j] + 1)
        previous = current
    return previous[-1]


def jax_edit_distance(a, b):
    def step(previous, numbered):
        i, one = numbered

        def inner(left, operands):
            diagonal, above, other = operands
            found = jnp.minimum(jnp.minimum(diagonal + (one != other), above + 1), left + 1)
            return found, found

        row = jax.lax.scan(inner, i + 1, (previous[:-1], previous[1:], b))[1]
        return jnp.concatenate([i[None] + 1, row]), None

    return jax.lax.scan(step, jnp.arange(len(b) + 1), (jnp.arange(len(a)), a))[0][-1]


def lstm(x, w_x, w_h, bias):
    n = w_h.shape[0]
    h = np.zeros(n, np.float32)
    c = np.zeros(n, np.float32)
    for t in range(x.shape[0]):
        gates = x[t] @ w_x + h @ w_h + bias
        i = 1 / (1 + np.exp(-gates[:n]))
        f = 1 / (1 + np.exp(-gates[n : 2 * n]))
        o = 1 / (1 + np.exp(-gates[2 * n : 3 * n]))
        c = f * c + i * np.tanh(gates[3 * n :])
        h = o * np.tanh(c)
    return h


def jax_lstm(x, w_x, w_h, bias):
    n = w_h.shape[0]

    def step(state, x):
        h, c = state
        i, f, o, g = jnp.split(x @ w_x + h @ w_h + bias, 4)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zeros = jnp.zeros(n, jnp.float32)
    return jax.lax.scan(step, (zeros, zeros), x)[0][0]


def power_iteration(a, x):
    change = 1.0
    while change > 1e-10:
        y = a @ x
        y = y / np.sqrt((y * y).sum())
        change = np.abs(y - x).max()
        x = y
    return x


def jax_power_iteration(a, x):
    def step(state):
        x, _ = state
        y = a @ x
        y = y / jnp.sqrt((y * y).sum())
        return y, jnp.abs(y - x).max()

    return jax.lax.while_loop(lambda state: state[1] > 1e-10, step, (x, jnp.float64(1)))[0]


def relaxation(u):
    u = u.copy()
    change = 1.0
    while change > 1e-4:
        new = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        change = np.abs(new - u[1:-1, 1:-1]).max()
        u[1:-1, 1:-1] = new
    return u


def jax_relaxation(u):
    def step(state):
        u, _ = state
        new = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        return u.at[1:-1, 1:-1].set(new), jnp.abs(new - u[1:-1, 1:-1]).max()

    return jax.lax.while_loop(lambda state: state[1] > 1e-4, step, (u, jnp.float64(1)))[0]


def looped(function, jax_function, *arguments, steps: int = 1, tolerance: float = 1e-9, **facts) -> Case:
    facts = {"numba": True, "parallel": False} | facts
    return case(function, *arguments, jax_function=jax_function, per=steps, tolerance=tolerance, turns=7, **facts)


def scalars() -> Case:
    return looped(scalar_loop, jax_scalar_loop, 0.3, ITERATIONS, steps=ITERATIONS)


def scalar_condition() -> Case:
    return looped(scalar_while, jax_scalar_while, 1.0, 100.0, steps=460_520)


def vectors(size: int, steps: int) -> Case:
    return looped(vector_loop, jax_vector_loop, uniform(size, dtype=np.float64), np.full(size, 0.5), steps, steps=steps)


def paths() -> Case:
    return looped(cheapest_paths, jax_cheapest_paths, uniform(1000, 1000, dtype=np.float64), steps=1000)


def edits() -> Case:
    a, b = np.random.default_rng(0).integers(0, 4, (2, 500))
    return looped(edit_distance, jax_edit_distance, a, b)


def recurrent(hidden: int) -> Case:
    weights = 0.1 * normal(64, 4 * hidden), 0.1 * normal(hidden, 4 * hidden), 0.1 * normal(4 * hidden)
    return looped(lstm, jax_lstm, normal(1000, 64), *weights, steps=1000, tolerance=1e-3)


def eigenvector(size: int) -> Case:
    a = uniform(size, size, dtype=np.float64)
    a = a @ a.T + size * np.eye(size) + 40 * np.diag(uniform(size, dtype=np.float64))
    return looped(power_iteration, jax_power_iteration, a, np.full(size, 1 / np.sqrt(size)), tolerance=1e-7)


def relaxed(size: int) -> Case:
    u = np.zeros((size, size))
    u[0] = 1
    return looped(relaxation, jax_relaxation, u)


def rows() -> Iterator[Row]:
    wanted = targets(JAX=3, Numba=1)
    yield row("3 operations on a scalar, an iteration of 1 M", wanted, scalars)
    yield row("a scalar until it is large, an iteration of 460,520", wanted, scalar_condition)
    yield row("3 operations on 100 f64, an iteration of 10,000", wanted, vectors, 100, 10_000)
    yield row("3 operations on 10,000 f64, an iteration of 1,000", wanted, vectors, 10_000, 1_000)
    yield row("a table by rows, a row of 1,000 x 1,000", wanted, paths)
    yield row("a table by elements: edit distance of 500 and 500", wanted, edits)
    for hidden in (64, 256):
        yield row(f"LSTM of {hidden}, a step of 1,000", wanted, recurrent, hidden)
    yield row("power iteration until it converges, 200 x 200", wanted, eigenvector, 200)
    yield row("relaxation until it converges, 100 x 100", wanted, relaxed, 100)
