"""Tracing, compiling and the first run of functions that have not been seen before."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from phlox import jit

from ..contenders import Case, Contender, Row, jax, jnp, row, targets, uniform

TITLE = "Cold functions: trace, compile, first run"


def operations(np, x, y, count):
    """So many operations; one in three is sin or exp."""
    for step in range(count // 3):
        x = np.sin(x) * 1.01 + y if step % 2 else np.exp(-x) * 0.5 - y
    return x + y if count % 3 else x


def cold(count: int) -> Case:
    numbers = itertools.count(1)
    arguments = uniform(1000), uniform(1000)

    def fresh(compiler, numpy):
        def call(x, y):
            # A number of its own makes each program a new one, so that no cache can answer.
            number = np.float32(1 + next(numbers) / 1024)
            return compiler(lambda x, y: operations(numpy, x * number, y, count - 1))(x, y)

        return call

    found = {"phlox": Contender(fresh(jit, np), arguments)}
    if jax is not None:
        on_device = tuple(map(jnp.asarray, arguments))
        found["JAX"] = Contender(fresh(jax.jit, jnp), on_device, "{}.block_until_ready()")
    return Case(found, fresh=True, comparable=lambda result: result.shape, turns=3 if count >= 1000 else 9)


def rows() -> Iterator[Row]:
    for count in (1, 10, 30, 100, 1000):
        yield row(f"{count} operation{'s' * (count > 1)} on 1,000 f32", targets(JAX=2), cold, count)
