"""Time from a Python function to code that is loaded, beside JAX, both cold and without caches.

Wall time decides; processor time in all threads, and in processes that have ended, stands beside it. XLA tries out its
choices of kernels meanwhile, as it does for users.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import phlox
from hot_programs import chain, softmax
from phlox.hlo import parse_module

from ...limits.contenders import with_jax_numpy
from ...limits.rows import networks
from ..bench import Bench
from ..cases import HALF_OF_JAX, Row, Sizes, floats
from ..peers import mapped
from .networks import SIZES, jax_loss, jax_mlp_step, mlp_arguments, mlp_step, transformer_arguments

TITLE = "Compilation, beside JAX"


def three_products(a, b, c, d):
    return a @ b @ c @ d


def _now() -> tuple[float, float]:
    of_children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter(), time.process_time() + of_children.ru_utime + of_children.ru_stime


def seconds_of(work: Callable[[], Any]) -> tuple[float, float]:
    """Of the wall's clock, and of the processor."""
    begun = _now()
    work()
    wall, processor = (end - start for start, end in zip(begun, _now()))
    return wall, processor


def compiled(
    ours: Callable[[Bench, tuple[Any, ...]], Callable[[], Any]],
    of_jax: Callable[..., Any],
    arguments: Callable[[bool], tuple[Any, ...]],
    bench: Bench,
) -> dict[str, Any]:
    given = arguments(bench.sizes.is_tiny)
    warm_up(bench)
    wall, processor = seconds_of(ours(bench, given))
    record: dict[str, Any] = {"seconds": wall, "processor": processor, "peers": {}, "bytes": 0, "flops": 0}
    record["note"] = f"processor {1e3 * processor:.0f} ms"
    if "JAX" in bench.peers:
        peer = bench.peers["JAX"]
        jax, shapes = peer.library, mapped(peer.array, given)
        jax.clear_caches()
        wall, processor = seconds_of(lambda: jax.jit(partial(of_jax, jax)).lower(*shapes).compile())
        record["peers"]["JAX"] = wall
        record["note"] += f", JAX {1e3 * processor:.0f} ms"
    return record


def traced(function: Callable[..., Any], bench: Bench, given: tuple[Any, ...]) -> Callable[[], Any]:
    return lambda: phlox.jit(lambda *arguments: function(*arguments), backend=bench.name).lower(*given).compile()


def derived(bench: Bench, given: tuple[Any, ...]) -> Callable[[], Any]:
    """The HLO that JAX derives, which took its time before: phlox reads and compiles it."""
    if "JAX" not in bench.peers:
        raise RuntimeError(f"JAX derives it: {bench.missing['JAX']}")
    jax = bench.peers["JAX"].library
    text = jax.jit(partial(gradient_of_block, jax)).lower(*given).compiler_ir("hlo").as_hlo_text()
    return lambda: bench.backend.compile(parse_module(text))


_warm: set[str] = set()


def warm_up(bench: Bench) -> None:
    """What a process does once, for whatever it compiles first."""
    if bench.name in _warm:
        return
    _warm.add(bench.name)
    x = floats(8, 8)
    for function in (softmax, three_products):
        given = (x,) * (4 if function is three_products else 1)
        phlox.jit(function, backend=bench.name).lower(*given).compile()
        if "JAX" in bench.peers:
            jax = bench.peers["JAX"].library
            jax.jit(with_jax_numpy(function)).lower(*given).compile()


def gradient_of_block(jax: Any, x: Any, weights: Any) -> Any:
    return jax.grad(lambda weights: jax_loss(x, weights))(weights)


def rows(sizes: Sizes) -> Iterator[Row]:
    def row(name: str, function: Callable[..., Any], arguments: Any, of_jax: Callable[..., Any] | None = None) -> Row:
        theirs = of_jax or (lambda jax, *given: with_jax_numpy(function)(*given))
        return Row(name, HALF_OF_JAX, partial(compiled, partial(traced, function), theirs, arguments))

    def table(rows: int, columns: int) -> Callable[[bool], tuple[Any, ...]]:
        return lambda is_tiny: (floats(8, 16) if is_tiny else floats(rows, columns),)

    def squares(is_tiny: bool) -> tuple[Any, ...]:
        return (floats(8, 8) if is_tiny else floats(512, 512),) * 4

    def block(is_tiny: bool) -> tuple[Any, ...]:
        return transformer_arguments(*SIZES[is_tiny][0])

    def training(is_tiny: bool) -> tuple[Any, ...]:
        return mlp_arguments(*SIZES[is_tiny][2])

    yield row("chain of elementwise operations", chain, table(1024, 1024))
    yield row("softmax of rows", softmax, table(4096, 1024))
    yield row("three products of 512 x 512", three_products, squares)
    yield row("training step of two layers", mlp_step, training, jax_mlp_step)
    yield row("transformer block", networks.transformer, block, lambda jax, x, w: networks.jax_transformer(x, w))
    yield Row("gradient of a transformer block", HALF_OF_JAX, partial(compiled, derived, gradient_of_block, block))
