"""Ten million random numbers: NumPy's own stream, and that of phlox.random, which can be split."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from phlox import jit
from phlox import random as phlox_random

from ..contenders import LARGE, Case, Contender, Row, jax, jax_contender, numba_package, row, targets

TITLE = "Random numbers, 10 M"


def standard_normal(dtype):
    return lambda rng: rng.standard_normal(LARGE, dtype=dtype)


def random(dtype):
    return lambda rng: rng.random(LARGE, dtype=dtype)


def jax_normal(dtype):
    return lambda key: jax.random.normal(key, (LARGE,), dtype)


def jax_random(dtype):
    return lambda key: jax.random.uniform(key, (LARGE,), dtype)


def numba_normal(rng):
    return rng.standard_normal(LARGE)


def numba_random(rng):
    return rng.random(LARGE)


def moments(numbers) -> np.ndarray:
    """Streams differ; what they are distributed like does not. Beside 3, so that noise is small beside what is compared."""
    x = np.asarray(numbers, np.float64)
    return 3 + np.array([x.mean(), x.var(), (x**4).mean(), (x < 0.25).mean()])


def drawn(function, of_jax, of_numba, dtype, split: bool) -> Case:
    generator = phlox_random.Generator(7) if split else np.random.default_rng(7)
    drawing = function(dtype)
    found = {"phlox": Contender(jit(drawing), (generator,)), "NumPy": Contender(drawing, (np.random.default_rng(8),))}
    if jax is not None:
        found |= jax_contender(of_jax(dtype), (jax.random.key(9),))
    if numba_package is not None and dtype == np.float64:
        found["Numba"] = Contender(numba_package.njit(of_numba), (np.random.default_rng(10),))
    work = LARGE * np.dtype(dtype).itemsize
    return Case(found, bytes=work, comparable=moments, tolerance=3e-3, turns=5)


def rows() -> Iterator[Row]:
    wanted = targets(NumPy=1, JAX=3)
    for dtype, name in ((np.float64, "f64"), (np.float32, "f32")):
        for title, *functions in (
            ("normal", standard_normal, jax_normal, numba_normal),
            ("uniform", random, jax_random, numba_random),
        ):
            yield row(f"{title}, {name}, NumPy's generator", wanted, drawn, *functions, dtype, False)
            yield row(f"{title}, {name}, phlox.random", wanted, drawn, *functions, dtype, True)
