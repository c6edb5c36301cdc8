"""Products of matrices beside cuBLAS, which PyTorch, CuPy or JAX calls, in this order whichever is there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from ..bench import Bench, of_calls
from ..cases import OF_CUBLAS, Case, Row, Sizes, floats, places, some

TITLE = "Products of matrices, beside cuBLAS"

# By name: the elements, options of `jit`, and how exact results are.
KINDS: dict[str, tuple[Any, dict[str, bool], float]] = {
    "bf16": (ml_dtypes.bfloat16, {}, 1e-2),
    "f32": (np.float32, {}, 1e-5),
    "tf32": (np.float32, {"fastmath": True}, 2e-3),
    "f16": (np.float16, {}, 2e-3),
    "f64": (np.float64, {}, 1e-12),
    "int8": (np.int8, {}, 0),
}


@contextmanager
def precision(is_tf32: bool, bench: Bench):
    """Peers multiply f32 as f32, or as tf32."""
    if "PyTorch" in bench.peers:
        settings = bench.peers["PyTorch"].library.backends.cuda.matmul
        before, settings.allow_tf32 = settings.allow_tf32, is_tf32
    try:
        if "JAX" in bench.peers:
            with bench.peers["JAX"].library.default_matmul_precision("tensorfloat32" if is_tf32 else "highest"):
                yield
        else:
            yield
    finally:
        if "PyTorch" in bench.peers:
            settings.allow_tf32 = before


def product(x, y):
    return x @ y


def product_of_bytes(x, y):
    return np.matmul(x, y, dtype=np.int32)


PEERS = {
    "PyTorch": lambda torch, x, y: torch.matmul(x, y),
    "CuPy": lambda cupy, x, y: cupy.matmul(x, y),
    "JAX": lambda jax, x, y: x @ y,
}
PEERS_OF_BYTES = {
    "PyTorch": lambda torch, x, y: torch._int_mm(x, y),
    "JAX": lambda jax, x, y: jax.lax.dot(x, y, preferred_element_type=np.int32),
}


def multiplied(kind: str, size: int, layout: str, bench: Bench) -> Case:
    dtype, options, tolerance = KINDS[kind]
    is_bytes = kind == "int8"
    peers = PEERS_OF_BYTES if is_bytes else PEERS
    if kind in ("bf16", "tf32"):  # CuPy has no bfloat16, and is told of tf32 when it is imported
        peers = {name: call for name, call in peers.items() if name != "CuPy"}
    peers = dict([(name, call) for name, call in peers.items() if name in bench.peers][:1])  # one of them is enough
    wide = np.int64 if is_bytes else np.float64
    x, y = (
        places(100, size, size, dtype=np.int8, seed=seed) if is_bytes else floats(size, size, dtype=dtype, seed=seed)
        for seed in range(2)
    )
    seen = some(size)

    def reference() -> np.ndarray:
        left = (x[:, seen].T if layout[0] == "t" else x[seen]).astype(wide)
        return left @ (y.T if layout[1] == "t" else y).astype(wide)

    return Case(
        product_of_bytes if is_bytes else of_layout(layout),
        (x, y),
        options,
        {name: partial(in_layout, call, layout) for name, call in peers.items()},
        reference,
        sample=lambda result: result[seen],
        tolerance=tolerance,
        flops=2.0 * size**3,
        settings=partial(precision, kind == "tf32"),
    )


def of_layout(layout: str):
    functions = {"nn": product, "nt": lambda x, y: x @ y.T, "tn": lambda x, y: x.T @ y}
    return functions[layout]


def in_layout(call: Any, layout: str, library: Any, x: Any, y: Any) -> Any:
    return call(library, x.T if layout[0] == "t" else x, y.T if layout[1] == "t" else y)


def rows(sizes: Sizes) -> Iterator[Row]:
    for size in sizes.products:
        for kind in KINDS:
            yield Row(f"{size} x {size}, {kind}", OF_CUBLAS, of_calls(partial(multiplied, kind, size, "nn")))
    size = sizes.products[0]
    for layout, name in (("tn", "left transposed"), ("nt", "right transposed")):
        for kind in ("bf16", "f32"):
            yield Row(f"{size} x {size}, {kind}, {name}", OF_CUBLAS, of_calls(partial(multiplied, kind, size, layout)))
