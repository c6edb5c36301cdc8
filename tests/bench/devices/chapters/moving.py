"""What cannot be faster than memory: elementwise operations, reductions, rows, transposes, gathers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from hot_programs import (
    argmax_of_rows,
    bias_and_activation,
    chain,
    gather_of_rows,
    layer_norm,
    softmax,
    sums_of_columns,
    sums_of_rows,
)

from ..bench import Bench, of_calls
from ..cases import OF_COPY, Case, Row, Sizes, floats, places, some
from ..timing import times_of

TITLE = "Memory: the part of a copy's bandwidth"


def copy(bench: Bench) -> dict[str, Any]:
    """The bandwidth of copies on the device, by its driver and by PyTorch: the larger one is what others are compared with."""
    size = 4 * bench.sizes.elements
    contenders: dict[str, Any] = {}
    memory = bench.backend.memory
    if hasattr(memory, "allocate_bytes"):
        blocks = [memory.allocate_bytes(size) for _ in range(2)]
        device = bench.backend.device
        for block in blocks:
            device.fill(block.address, 1, size)
        contenders["the driver"] = (
            lambda: device.copy(blocks[1].address, blocks[0].address, size),
            lambda result: device.synchronize(),
        )
    if "PyTorch" in bench.peers:
        peer = bench.peers["PyTorch"]
        source, target = (peer.array(np.ones(size // 4, np.float32)) for _ in range(2))
        contenders["PyTorch"] = lambda: target.copy_(source), peer.wait
    if not contenders:
        source, target = (np.ones(size // 4, np.float32) for _ in range(2))
        contenders["NumPy"] = lambda: np.copyto(target, source), lambda result: None
    begun = time.perf_counter()
    times = times_of(contenders, bench.turns)
    fastest = min(times, key=lambda name: times[name])
    bench.copy_bandwidth = 2 * size / times[fastest][0]
    note = ", ".join([f"{name} {2 * size / seconds / 1e9:.0f} GB/s" for name, (seconds, _) in times.items()])
    return {"seconds": times[fastest][0], "bytes": 2 * size, "note": note, "turns took": time.perf_counter() - begun}


def axpy(x, y):
    return np.float32(2) * x + y


def transposed(x):
    return np.ascontiguousarray(x.swapaxes(-1, -2))


def of_elements(function: Callable[..., Any], arrays: int, *peers: Any, **facts: Any) -> Callable[[Bench], Case]:
    """An elementwise function of so many lines."""

    def make(bench: Bench) -> Case:
        count = bench.sizes.elements
        x = tuple(floats(count, seed=number) for number in range(arrays))
        seen = some(count, 10_000)
        return Case(
            function,
            x,
            peers=dict(peers),
            reference=lambda: function(*[one[seen].astype(np.float64) for one in x]),
            sample=lambda result: result[seen],
            bytes=4.0 * count * (arrays + 1),
            **facts,
        )

    return make


def of_line(function: Callable[..., Any], **facts: Any) -> Callable[[Bench], Case]:
    """One number of a line."""

    def make(bench: Bench) -> Case:
        x = floats(bench.sizes.elements)
        return Case(function, (x,), reference=lambda: function(x), bytes=x.nbytes, **facts)

    return make


def of_rows(function: Callable[..., Any], columns: int = 0, vectors: int = 0, **facts: Any) -> Callable[[Bench], Case]:
    """A function of each row of a table, and of so many vectors as long as a row."""

    def make(bench: Bench) -> Case:
        side = bench.sizes.side
        x = floats(side * side // columns, columns) if columns else floats(side, side)
        others = tuple(floats(x.shape[1], seed=number + 1) for number in range(vectors))
        seen = some(len(x))
        return Case(
            function,
            (x, *others),
            reference=lambda: function(x[seen].astype(np.float64), *others),
            sample=lambda result: result[seen],
            bytes=x.nbytes + (x.nbytes if function(x[:1], *others).ndim == 2 else 4.0 * len(x)),
            **facts,
        )

    return make


def of_columns(function: Callable[..., Any], **facts: Any) -> Callable[[Bench], Case]:
    """A number of each column of a table."""

    def make(bench: Bench) -> Case:
        x = floats(bench.sizes.side, bench.sizes.side)
        seen = some(x.shape[1])
        return Case(
            function,
            (x,),
            reference=lambda: function(x[:, seen].astype(np.float64)),
            sample=lambda result: result[seen],
            bytes=x.nbytes + 4.0 * x.shape[1],
            **facts,
        )

    return make


def transposes(batches: int, dtype: Any, bench: Bench) -> Case:
    side = bench.sizes.side // (8 if batches > 1 else 1)
    shape = (batches, side, side) if batches > 1 else (side, side)
    x = floats(*shape, dtype=dtype)
    peers = {"PyTorch": lambda torch, x: x.transpose(-1, -2).contiguous()}
    reference = lambda: x[..., :16, :].swapaxes(-1, -2)  # noqa: E731
    return Case(
        transposed, (x,), peers=peers, reference=reference, sample=lambda y: y[..., :16], tolerance=0, bytes=2 * x.nbytes
    )


def gathers(width: int, bench: Bench) -> Case:
    rows = bench.sizes.elements // width
    x, i = floats(rows, width), places(rows, rows)
    peers = {"PyTorch": lambda torch, x, i: x[i]}
    seen = some(rows, 1000)
    return Case(
        gather_of_rows, (x, i), peers=peers, reference=lambda: x[i[seen]], sample=lambda y: y[seen], tolerance=0,
        bytes=rows * (8.0 * width + 8),
    )  # fmt: skip


def rows(sizes: Sizes) -> Iterator[Row]:
    def row(name: str, make: Callable[[Bench], Case]) -> Row:
        return Row(name, OF_COPY, of_calls(make))

    yield Row("copy", None, copy)
    yield row("2 * x + y", of_elements(axpy, 2, ("PyTorch", lambda torch, x, y: torch.add(y, x, alpha=2))))
    yield row("sum", of_line(np.sum, peers={"PyTorch": lambda torch, x: x.sum()}, tolerance=1e-2))
    yield row("softmax of rows", of_rows(softmax, peers={"PyTorch": lambda torch, x: torch.softmax(x, 1)}))
    yield row("transpose", partial(transposes, 1, np.float32))
    yield row("sums of rows", of_rows(sums_of_rows, peers={"PyTorch": lambda torch, x: x.sum(1)}, tolerance=1e-4))
    yield row("sums of columns", of_columns(sums_of_columns, peers={"PyTorch": lambda torch, x: x.sum(0)}, tolerance=1e-4))
    yield row("layer norm", of_rows(layer_norm, vectors=2, peers={"PyTorch": torch_layer_norm}, tolerance=1e-4))
    yield row("argmax", of_line(np.argmax, peers={"PyTorch": lambda torch, x: x.argmax()}, tolerance=0))
    yield row("argmax of rows", of_rows(argmax_of_rows, peers={"PyTorch": lambda torch, x: x.argmax(1)}, tolerance=0))
    yield row("argmax of columns", of_columns(argmax_of_columns, peers={"PyTorch": lambda torch, x: x.argmax(0)}, tolerance=0))
    yield row("exp, log1p, tanh, sqrt", of_elements(chain, 1))
    yield row("rows by number, 64 wide", partial(gathers, 64))
    yield row("rows by number, 1024 wide", partial(gathers, 1024))
    yield row("softmax of rows of 1024", of_rows(softmax, 1024, peers={"PyTorch": lambda torch, x: torch.softmax(x, 1)}))
    yield row("bias and relu", of_rows(bias_and_activation, vectors=1))
    yield row("variance", of_line(np.var, peers={"PyTorch": lambda torch, x: x.var(correction=0)}, tolerance=1e-4))
    yield row("64 transposes", partial(transposes, 64, np.float32))
    yield row("transpose, 16 bits", partial(transposes, 1, np.float16))


def argmax_of_columns(x):
    return x.argmax(axis=0)


def torch_layer_norm(torch, x, gain, bias):
    return torch.nn.functional.layer_norm(x, (x.shape[1],), gain, bias)
