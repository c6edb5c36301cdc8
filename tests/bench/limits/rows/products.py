"""Products of matrices of all sizes and forms, of floats, bfloat16 and bytes."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np

from ..contenders import Case, Row, Target, case, integers, jax, jnp, normal, row, targets
from ..machine import has_unit

TITLE = "Products of matrices"

NAMES = {np.float32: "f32", np.float64: "f64"}


def product(x, y):
    return x @ y


def of_transposed(x, y):
    return x.T @ y


def with_transposed(x, y):
    return x @ y.T


def with_bias_and_relu(x, y, bias):
    return np.maximum(x @ y + bias, 0)


def of_bytes(x, y):
    return np.matmul(x, y, dtype=np.int32)


def jax_of_bytes(x, y):
    return jax.lax.dot(x, y, preferred_element_type=jnp.int32)


def of_bfloat16(x, y):
    return x.astype(np.float32) @ y.astype(np.float32)


def jax_of_bfloat16(x, y):
    return jax.lax.dot(x, y, preferred_element_type=jnp.float32)


def multiplied(function, left, right, dtype, *others, flops: float, memory: bool = False, numba=True, **facts) -> Case:
    """memory: the work is to read the operands, rather than to multiply them."""
    x, y = normal(*left, dtype=dtype), normal(*right, dtype=dtype, seed=1)
    more = [normal(*shape, dtype=dtype, seed=2) for shape in others]
    work = {"bytes": x.nbytes + y.nbytes} if memory else {"flops": flops, "unit": NAMES[dtype]}
    return case(function, x, y, *more, numba=numba, tolerance=1e-4 if dtype == np.float32 else 1e-10, **work, **facts)


def bytes_multiplied(n: int) -> Case:
    x, y = (integers(256, n, n, dtype=np.int8, seed=number) for number in range(2))
    return case(of_bytes, x, y, jax_function=jax_of_bytes, flops=2 * n**3, unit="int8", turns=5)


def bfloat16_multiplied(n: int, function, jax_function) -> Case:
    x, y = (normal(n, n, dtype=ml_dtypes.bfloat16, seed=number) for number in range(2))
    facts = {"flops": 2 * n**3, "unit": "bf16", "tolerance": 2e-2, "turns": 5}
    return case(function, x, y, jax_function=jax_function, numpy=None if function is product else True, **facts)


def rows() -> Iterator[Row]:
    wanted = targets(NumPy=1, JAX=1.2)
    peak = Target("peak", 0.85)
    for dtype, name in NAMES.items():
        for n in (16, 32, 64, 128, 256, 512, 1024, 2048):
            both = (*wanted, peak) if n >= 512 else wanted
            few = {"turns": 5} if n > 1024 else {}
            yield row(f"{n} x {n}, {name}", both, multiplied, product, (n, n), (n, n), dtype, flops=2 * n**3, **few)
        for kind, left, right in (
            ("tall, 100,000 x 64 by 64 x 64", (100_000, 64), (64, 64)),
            ("wide, 64 x 100,000 by 100,000 x 64", (64, 100_000), (100_000, 64)),
            ("outer, 2000 x 32 by 32 x 2000", (2000, 32), (32, 2000)),
        ):
            flops = 2 * left[0] * left[1] * right[1]
            yield row(f"{kind}, {name}", wanted, multiplied, product, left, right, dtype, flops=flops)
        for count, n in ((10_000, 4), (1000, 32), (64, 128)):
            shape = (count, n, n)
            title = f"{count:,} of {n} x {n}, {name}"
            yield row(title, wanted, multiplied, product, shape, shape, dtype, flops=2 * count * n**3, numba=None)
        for side, function in (("left", of_transposed), ("right", with_transposed)):
            title, shape = f"512 x 512, {side} transposed, {name}", (512, 512)
            yield row(title, wanted, multiplied, function, shape, shape, dtype, flops=2 * 512**3)
        for n in (256, 4096):
            title = f"matrix by vector, {n}, {name}"
            yield row(title, wanted, multiplied, product, (n, n), (n,), dtype, flops=2 * n**2, memory=True)
            title = f"vector by matrix, {n}, {name}"
            yield row(title, wanted, multiplied, product, (n,), (n, n), dtype, flops=2 * n**2, memory=True)
        work = {"flops": 2 * 512 * 1024 * 1024}
        shapes = (512, 1024), (1024, 1024)
        yield row(
            f"with bias and relu, 512 x 1024 x 1024, {name}",
            wanted,
            multiplied,
            with_bias_and_relu,
            *shapes,
            dtype,
            (1024,),
            **work,
        )
    for n in (256, 512, 1024):
        at_rate = (Target("peak", 0.85),) if has_unit("int8") and n >= 512 else ()
        yield row(f"{n} x {n}, int8 to int32", (*wanted, *at_rate), bytes_multiplied, n)
    for n in (256, 512, 1024):
        at_rate = (Target("peak", 0.85),) if has_unit("bf16") and n >= 512 else ()
        yield row(f"{n} x {n}, bf16", (*targets(JAX=1.2), *at_rate), bfloat16_multiplied, n, product, True)
        yield row(f"{n} x {n}, bf16 to f32", (*wanted, *at_rate), bfloat16_multiplied, n, of_bfloat16, jax_of_bfloat16)
