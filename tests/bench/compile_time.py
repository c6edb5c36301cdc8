"""Time to trace and to compile, by the number of operations and for unrolled programs, beside XLA.

The figures are processor time in milliseconds, the least of the repetitions, in which both take turns; each compiles a new
function. What a process compiles once, for all programs, is left out, as is importing. XLA compiles for minutes where a
program has thousands of operations; it is asked for those up to ``--xla`` only::

    python tests/bench/compile_time.py [--only PART_OF_A_NAME] [--repetitions N] [--xla OPERATIONS]
"""

from __future__ import annotations

import argparse
import os
import time

os.environ["PHLOX_CACHE"] = "0"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_X64"] = "1"

import jax
import jax.numpy as jnp
import numpy as np
from phlox import jit


def alternating(np, x, y, count):
    """Three operations a step, one of them sin or exp."""
    for step in range(count // 3 or 1):
        x = np.sin(x) * 1.01 + y if step % 2 else np.exp(x) * 0.5 - y
    return x


def chain(np, x, y, steps):
    for _ in range(steps):
        x = np.sin(x) * 1.01 + y
    return x


def recurrence(np, x, y, steps):
    for step in range(1, steps):
        x = x.at[step].set(x[step - 1] * 2) if np is jnp else assigned(x, step)
    return x


def assigned(x, step):
    x[step] = x[step - 1] * 2
    return x


def regression(np, x, y, steps):
    weights = np.zeros(10)
    for _ in range(steps):
        weights = weights - 0.1 * (x.T @ (1 / (1 + np.exp(-(x @ weights))) - y))
    return weights


def transforms(np, x, y, steps):
    for _ in range(steps):
        x = np.fft.fft(x) * 0.1
    return x


def without_order(np, x, y, steps):
    """Operations that never repeat in the same order."""
    values = [x, y]
    for step in range(steps):
        one, other = values[-1], values[-1 - step * step % 7 % len(values)]
        values.append(
            (one + other, np.sin(one), one - other * 0.5, np.exp(-other * other), np.maximum(one, other))[step**3 % 11 % 5]
        )
    return values[-1]


def lengths(np, x, y, steps):
    """As many reductions, none of them like another."""
    return [np.sum(x[: step + 1]) for step in range(steps)]


def random(*sizes):
    return np.random.default_rng(0).uniform(0.1, 1, sizes)


SCALARS = np.float64(0.3), np.float64(0.1)
ARRAYS = random(1000), random(1000)
SINGLE = tuple(array.astype(np.float32) for array in ARRAYS)
# Title, function, arguments, and the numbers of operations or steps.
PROGRAMS = [
    ("operations on f32[1000]", alternating, SINGLE, (1, 3, 10, 30, 100, 300, 1000)),
    ("operations on f64[1000]", alternating, ARRAYS, (1, 3, 10, 30, 100, 300, 1000)),
    ("operations on f64[]", alternating, SCALARS, (1, 3, 10, 30, 100, 300, 1000)),
    ("steps of scalars", chain, SCALARS, (1000, 20_000)),
    ("steps of arrays", chain, SINGLE, (1000, 20_000)),
    ("steps of x[i] = x[i - 1] * 2", recurrence, ARRAYS, (300, 1000)),
    ("steps of a regression", regression, (random(100, 10), random(100)), (20, 200)),
    ("transforms", transforms, (random(64) + 1j, random(64)), (20, 200)),
    ("scalars, nothing repeats", without_order, SCALARS, (100, 1000, 10_000)),
    ("arrays, nothing repeats", without_order, ARRAYS, (100, 1000)),
    ("different reductions", lengths, ARRAYS, (30, 300)),
]


def milliseconds(work):
    start = time.process_time()
    result = work()
    return 1e3 * (time.process_time() - start), result


def compile_phlox(function, arguments, count):
    lowering, lowered = milliseconds(lambda: jit(lambda x, y: function(np, x, y, count)).lower(*arguments))
    return lowering, milliseconds(lowered.compile)[0]


def compile_xla(function, arguments, count):
    jax.clear_caches()
    lowering, lowered = milliseconds(lambda: jax.jit(lambda x, y: function(jnp, x, y, count)).lower(*arguments))
    return lowering, milliseconds(lowered.compile)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="programs with this in their name")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--xla", type=int, default=100, help="the largest program that XLA compiles, too")
    options = parser.parse_args()
    print(f"{'':36s} {'phlox, ms':>17s} {'XLA, ms':>17s}   phlox / XLA")
    print(f"{'':36s} {'trace':>8s} {'compile':>8s} {'trace':>8s} {'compile':>8s}   of compile")
    for title, function, arguments, counts in PROGRAMS:
        if options.only not in title:
            continue
        for compile_one in (compile_phlox, compile_xla):
            compile_one(function, arguments, 12)
        for count in counts:
            contenders = [compile_phlox] + ([compile_xla] if count <= options.xla else [])
            repetitions = options.repetitions if count <= 1000 else 1
            turns = [[compile_one(function, arguments, count) for compile_one in contenders] for _ in range(repetitions)]
            (trace, compiling), *xla = np.array(turns).min(axis=0)
            other = f"{xla[0][0]:8.0f} {xla[0][1]:8.0f}   {compiling / xla[0][1]:.2f}" if xla else ""
            print(f"{count:6d} {title:29s} {trace:8.0f} {compiling:8.0f} {other}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
