"""Programs that JAX writes as HLO, run by phlox and by XLA: time to compile, time of a call, and their ratio.

Both run in this process, call by call in turn; the figures are the least of the repetitions. XLA may use several threads, phlox
uses one. Programs whose results differ by more than rounding are marked::

    python tests/bench/operations.py [--only PART_OF_A_NAME] [--repetitions N]
"""

from __future__ import annotations

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from phlox import load_hlo

RANDOM = np.random.default_rng(0)


def normal(*sizes):
    return RANDOM.standard_normal(sizes).astype(np.float32)


def indices(limit, *sizes):
    return RANDOM.integers(0, limit, sizes).astype(np.int32)


def max_pool(x, size, stride, padding):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, size, size, 1), (1, stride, stride, 1), padding)


def attention(q, k, v):
    weights = jax.nn.softmax(jnp.einsum("hid,hjd->hij", q, k) / 8)
    return jnp.einsum("hij,hjd->hid", weights, v)


def convolution(layout):
    return lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=layout)


def recurrence(w, x):
    return lax.scan(lambda h, row: ((h := jnp.tanh(0.1 * (w @ h) + row)), None), jnp.zeros(64, jnp.float32), x)[0]


KEY = jax.random.PRNGKey(0)
PROGRAMS = {
    "sort 100,000": (jnp.sort, normal(100_000)),
    "sort rows of 100": (jnp.sort, normal(1000, 100)),
    "argsort 100,000": (jnp.argsort, normal(100_000)),
    "top 10 of 1000": (lambda x: lax.top_k(x, 10), normal(100, 1000)),
    "cumsum 1,000,000": (jnp.cumsum, normal(1_000_000)),
    "max pool": (lambda x: max_pool(x, 2, 2, "VALID"), normal(8, 64, 64, 16)),
    "max pool, overlapping": (lambda x: max_pool(x, 3, 1, "SAME"), normal(8, 64, 64, 16)),
    "max pool, gradient": (jax.grad(lambda x: max_pool(x, 2, 2, "VALID").sum()), normal(8, 64, 64, 16)),
    "gather rows": (lambda x, i: x[i], normal(10_000, 64), indices(10_000, 50_000)),
    "scatter rows": (lambda x, i, u: x.at[i].add(u), normal(10_000, 64), indices(10_000, 50_000), normal(50_000, 64)),
    "segment sum": (lambda u, i: jax.ops.segment_sum(u, i, 1000), normal(200_000), indices(1000, 200_000)),
    "convolution NHWC": (convolution(("NHWC", "HWIO", "NHWC")), normal(16, 28, 28, 8), normal(3, 3, 8, 16)),
    "convolution NCHW": (convolution(("NCHW", "OIHW", "NCHW")), normal(16, 8, 28, 28), normal(16, 8, 3, 3)),
    "uniform random": (lambda key: jax.random.uniform(key, (1_000_000,)), KEY),
    "normal random": (lambda key: jax.random.normal(key, (100_000,)), KEY),
    "argmax of rows": (lambda x: jnp.argmax(x, axis=1), normal(1000, 1000)),
    "logsumexp": (lambda x: jax.scipy.special.logsumexp(x, axis=1), normal(1000, 1000)),
    "softmax, gradient": (jax.grad(lambda x: jax.nn.log_softmax(x)[:, 0].sum()), normal(1000, 1000)),
    "attention": (attention, normal(8, 128, 64), normal(8, 128, 64), normal(8, 128, 64)),
    "transpose": (jnp.transpose, normal(2000, 2000)),
    "recurrence": (recurrence, normal(64, 64), normal(1000, 64)),
    "fft 1000 x 1024": (jnp.fft.fft, (normal(1000, 1024) + 1j * normal(1000, 1024)).astype(np.complex64)),
    "integer product": (
        lambda x, y: lax.dot(x, y, preferred_element_type=jnp.int32),
        indices(100, 256, 256).astype(np.int8),
        indices(100, 256, 256).astype(np.int8),
    ),
    "gamma function": (jax.scipy.special.gammaln, np.abs(normal(100_000)) + np.float32(0.1)),
}


def seconds(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def compare(name, function, *arguments, repetitions):
    lowered = jax.jit(function).lower(*arguments)
    text = lowered.compiler_ir("hlo").as_hlo_text()
    compile_phlox, loaded = seconds(lambda: load_hlo(text))
    compile_xla, compiled = seconds(lowered.compile)
    arrays, on_device = [np.asarray(argument) for argument in arguments], [jnp.asarray(argument) for argument in arguments]
    runs = [lambda: loaded(*arrays), lambda: jax.block_until_ready(compiled(*on_device))]
    found, expected = (jax.tree.leaves(run()) for run in runs)
    agree = all(np.allclose(one, other, rtol=1e-3, atol=1e-2) for one, other in zip(found, expected, strict=True))
    phlox, xla = np.array([[seconds(run)[0] for run in runs] for _ in range(repetitions)]).min(axis=0)
    print(
        f"{name:24s} {1e3 * compile_phlox:7.0f} {1e3 * compile_xla:7.0f} {1e6 * phlox:10.0f} {1e6 * xla:10.0f} "
        f"{xla / phlox:6.2f}{'' if agree else '  results differ'}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="programs with this in their name")
    parser.add_argument("--repetitions", type=int, default=9)
    options = parser.parse_args()
    load_hlo("HloModule first\nENTRY e { ROOT x = f32[] parameter(0) }")  # what a process compiles once
    print(f"{'':24s} {'compile, ms':>15s} {'call, us':>21s}")
    print(f"{'':24s} {'phlox':>7s} {'XLA':>7s} {'phlox':>10s} {'XLA':>10s}  XLA / phlox")
    for name, (function, *arguments) in PROGRAMS.items():
        if options.only in name:
            compare(name, function, *arguments, repetitions=options.repetitions)


if __name__ == "__main__":
    main()
