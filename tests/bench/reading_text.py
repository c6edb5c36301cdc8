"""How fast HLO text is read, verified and printed: megabytes a second for kinds of text, at several sizes.

Reading is linear where the figures do not fall with the size. What JAX writes is left out where JAX is not installed::

    python tests/bench/reading_text.py [--sizes 1,4,16] [--only PART_OF_A_NAME] [--repetitions N]
"""

from __future__ import annotations

import argparse
import gc
import time
import tracemalloc

import numpy as np
from phlox.hlo import parse_module, verify

RANDOM = np.random.default_rng(0)
ROW = "f32[128,256]{1,0}"
METADATA = 'metadata={{op_name="jit(f)/layer{0}/mlp/add" source_file="/home/user/models/transformer/layer.py" source_line={0}}}'


def module(lines, computations=(), end="\n"):
    body = end.join(["ENTRY %main {", *lines, "}"])
    return end.join(["HloModule m", "", *computations, body, ""])


def chain(size, ending="", shape=ROW, end="\n"):
    """Elementwise operations, one after another; ``ending`` is formatted with the number of each."""
    operations = ("add", "multiply", "subtract", "maximum")
    lines = [f"  %p = {shape} parameter(0)", f"  %v.0 = {shape} negate(%p)"]
    length = sum(map(len, lines))
    while length < size * 1e6:
        i = len(lines) - 1
        line = f"  %v.{i} = {shape} {operations[i % 4]}(%v.{i - 1}, %v.{max(0, i - 7)}){ending.format(i)}"
        lines.append(line)
        length += len(line)
    return module(lines, end=end)


def fusions(size, callers_first=False):
    count = int(size * 2400)
    computations = [
        f"%fused.{i} (p.{i}: f32[128], q.{i}: f32[128]) -> f32[128] {{\n  %p.{i} = f32[128]{{0}} parameter(0)\n"
        f"  %q.{i} = f32[128]{{0}} parameter(1)\n  %add.{i} = f32[128]{{0}} add(%p.{i}, %q.{i})\n"
        f"  ROOT %tanh.{i} = f32[128]{{0}} tanh(%add.{i})\n}}\n"
        for i in range(count)
    ]
    lines = ["  %f.0 = f32[128]{0} parameter(0)"]
    lines += [f"  %f.{i + 1} = f32[128]{{0}} fusion(%f.{i}, %f.0), kind=kLoop, calls=%fused.{i}" for i in range(count)]
    return "\n".join([module(lines), *computations]) if callers_first else module(lines, computations)


def stated_operands(size):
    lines = [f"  %v.0 = {ROW} parameter(0)"]
    lines += [f"  %v.{i} = {ROW} add({ROW} %v.{i - 1}, {ROW} %v.{i // 2})" for i in range(1, int(size * 1e4))]
    return module(lines)


def slices(size):
    lines = ["  %p = f32[9999999]{0} parameter(0)"]
    lines += [f"  %s.{i} = f32[7]{{0}} slice(%p), slice={{[{i}:{i + 7}]}}" for i in range(int(size * 18000))]
    return module(lines)


def shapes(size):
    lines = ["  %p = f32[] parameter(0)"]
    lines += [f"  %b.{i} = f32[{i},3]{{1,0}} broadcast(%p), dimensions={{}}" for i in range(int(size * 18000))]
    return module(lines)


def wide(size, opcode):
    """Operations of 10,000 operands each."""
    count = 10_000
    lines = ["  %p = f32[2]{0} parameter(0)", *(f"  %n.{i} = f32[2]{{0}} negate(%p)" for i in range(500))]
    shape = f"f32[{2 * count}]{{0}}" if opcode == "concatenate" else f"({', '.join(['f32[2]{0}'] * count)})"
    ending = ", dimensions={0}" if opcode == "concatenate" else ""
    for turn in range(max(1, int(size * (14 if opcode == "concatenate" else 5)))):
        operands = ", ".join(f"%n.{(7 * i + turn) % 500}" for i in range(count))
        lines.append(f"  %w.{turn} = {shape} {opcode}({operands}){ending}")
    return module(lines)


def literal(element_type, texts, rows=False):
    if not rows:
        return module([f"  ROOT %c = {element_type}[{len(texts)}]{{0}} constant({{{', '.join(texts)}}})"])
    groups = ", ".join("{ " + ", ".join(texts[i : i + 10]) + " }" for i in range(0, len(texts) // 10 * 10, 10))
    return module([f"  ROOT %c = {element_type}[{len(texts) // 10},10]{{1,0}} constant({{ {groups} }})"])


def numbers(size, form=".8g", length=12):
    return [format(value, form) for value in RANDOM.standard_normal(int(size * 1e6 / length))]


def integers(size, limit, length):
    return list(map(str, RANDOM.integers(0, limit, int(size * 1e6 / length))))


def transformer(size, optimized):
    import jax
    import jax.numpy as jnp

    def layer(x, w):
        h = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
        q, k, v = (jnp.einsum("td,dhk->htk", h, part) for part in w["qkv"])
        x = x + jnp.einsum("htk,hkd->td", jax.nn.softmax(q @ k.transpose(0, 2, 1)) @ v, w["o"])
        return x + jax.nn.gelu(x @ w["up"]) @ w["down"]

    def loss(ws, x):
        for w in ws:
            x = layer(x, w)
        return (x * x).sum()

    one = np.ones(1, np.float32)
    shapes = {"qkv": [(64, 4, 16)] * 3, "o": (4, 16, 64), "up": (64, 256), "down": (256, 64)}
    weights = {k: [np.broadcast_to(one, s) for s in v] if k == "qkv" else np.broadcast_to(one, v) for k, v in shapes.items()}
    count = max(1, int(size * (8 if optimized else 80)))
    lowered = jax.jit(jax.grad(loss)).lower([weights] * count, np.ones((32, 64), np.float32))
    return lowered.compile().as_text() if optimized else lowered.as_text("hlo")


KINDS = {
    "elementwise": chain,
    "elementwise, all on one line": lambda size: chain(size, end=" "),
    "metadata, of 50 kinds": lambda size: chain(size, ", " + METADATA).replace("layer.py", "a.py"),
    "metadata and backend configurations": lambda size: chain(size, ', backend_config={{"n":["{0}"]}}, ' + METADATA),
    "fusions": fusions,
    "fusions, callers first": lambda size: fusions(size, callers_first=True),
    "operands with their shapes": stated_operands,
    "slices, each another": slices,
    "shapes, each another": shapes,
    "tuple of 10,000": lambda size: wide(size, "tuple"),
    "concatenate of 10,000": lambda size: wide(size, "concatenate"),
    "literal f32": lambda size: literal("f32", numbers(size)),
    "literal bf16": lambda size: literal("bf16", numbers(size, ".3g", 7)),
    "literal c64": lambda size: literal("c64", [f"({a}, {a})" for a in numbers(size, length=24)]),
    "literal s32": lambda size: literal("s32", integers(size, 99999, 6.9)),
    "literal s32, rows of 10": lambda size: literal("s32", integers(size, 99999, 7.2), rows=True),
    "literal pred": lambda size: literal("pred", integers(size, 2, 3)),
    "JAX, a transformer": lambda size: transformer(size, optimized=False),
    "JAX, a transformer, optimized": lambda size: transformer(size, optimized=True),
}


def seconds(function, argument, repetitions):
    """The result, and the least processor time of some calls."""
    times = []
    for _ in range(repetitions):
        gc.collect()
        start = time.process_time()
        result = function(argument)
        times.append(time.process_time() - start)
    return result, min(times)


def measure(text, repetitions):
    """Megabytes a second of reading, verifying, both and printing; and bytes of memory at most, for a byte of text."""
    read, reading = seconds(parse_module, text, repetitions)
    _, verifying = seconds(verify, read, repetitions)
    printed, printing = seconds(lambda module: module.as_text(metadata=True), read, repetitions)
    del read
    tracemalloc.start()
    read = parse_module(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    size = len(text) / 1e6
    speeds = size / reading, size / verifying, size / (reading + verifying), len(printed) / 1e6 / printing
    return size, read.instruction_count(), *speeds, peak / len(text)


def main():
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--sizes", default="1", metavar="MB,MB", help="megabytes of text, about (default: 1)")
    options.add_argument("--only", default="", metavar="WORD", help="only the kinds whose name contains this")
    options.add_argument("--repetitions", type=int, default=3, metavar="N", help="the least time of so many counts")
    options = options.parse_args()
    print(f"{'MB/s':36}{'MB':>7}{'instructions':>14}{'read':>8}{'verify':>9}{'both':>8}{'print':>8}{'memory':>9}")
    for name, make in KINDS.items():
        if options.only not in name:
            continue
        for size in map(float, options.sizes.split(",")):
            try:
                text = make(size)
            except ImportError:
                continue
            size, count, read, verified, both, printed, memory = measure(text, options.repetitions)
            print(
                f"{name:36}{size:7.2f}{count:14}{read:8.1f}{verified:9.1f}{both:8.1f}{printed:8.1f}{memory:8.1f}x", flush=True
            )


if __name__ == "__main__":
    main()
