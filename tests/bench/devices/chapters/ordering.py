"""Sorts, the largest elements, scans and additions at places, beside PyTorch and CuPy, which call CUB."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from ..bench import Bench, of_calls
from ..cases import AS_FAST_AS_CUB, Case, Row, Sizes, floats, places, some

TITLE = "Sorts, scans and scatters, beside CUB"
LARGEST = 100


def ordered(x):
    return np.argsort(x, kind="stable")


def largest(x):
    return np.sort(np.partition(x, x.size - LARGEST)[x.size - LARGEST :])[::-1]


def largest_of_rows(x):
    return np.sort(np.partition(x, x.shape[1] - 10, axis=1)[:, x.shape[1] - 10 :], axis=1)[:, ::-1]


def running_sums(x):
    return np.cumsum(x)


def running_sums_of_columns(x):
    return np.cumsum(x, axis=0)


def running_sums_of_rows(x):
    return np.cumsum(x, axis=1)


def added(x, i, u):
    total = x.copy()
    np.add.at(total, i, u)
    return total


@contextmanager
def determinism(is_deterministic: bool, bench: Bench):
    """PyTorch sums in the same order each time, too."""
    if "PyTorch" not in bench.peers or not is_deterministic:
        yield
        return
    torch = bench.peers["PyTorch"].library
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def of_records(function: Callable[..., Any], peers: dict[str, Any], count: int, dtype: Any, bench: Bench) -> Case:
    x = floats(count, dtype=dtype) if np.dtype(dtype).kind == "f" else places(1 << 31, count, dtype=dtype)
    return Case(function, (x,), peers=peers, reference=lambda: function(x), tolerance=0)


def sums(function: Callable[..., Any], axis: int | None, count: int, bench: Bench) -> Case:
    """Compared with those of float64, since a sum may be rounded anywhere on its way."""
    side = max(2, round(count**0.5))
    x = floats(count) if axis is None else floats(side, side)
    seen = some(count, 10_000)
    wide = lambda: np.cumsum(x, axis=axis, dtype=np.float64).reshape(-1)[seen % x.size]  # noqa: E731
    peers = {
        "PyTorch": lambda torch, x: torch.cumsum(x, axis or 0),
        "CuPy": lambda cupy, x: cupy.cumsum(x, axis=axis or 0),
    }
    sample = lambda result: result.reshape(-1)[seen % x.size]  # noqa: E731
    return Case(function, (x,), peers=peers, reference=wide, sample=sample, tolerance=1e-4, bytes=2.0 * x.nbytes)


def sums_at(limit: int, width: int, is_deterministic: bool, count: int, bench: Bench) -> Case:
    shape = (count, width) if width else (count,)
    x = np.zeros((limit, *shape[1:]), np.float32)
    i, u = places(limit, count), floats(*shape)

    def with_cupy(cupy: Any, x: Any, i: Any, u: Any) -> Any:
        total = x.copy()
        cupy.add.at(total, i, u)
        return total

    peers = {"PyTorch": lambda torch, x, i, u: x.index_add(0, i, u)}
    if not is_deterministic:
        peers["CuPy"] = with_cupy
    return Case(
        added,
        (x, i, u),
        {"deterministic": is_deterministic},
        peers,
        reference=lambda: added(x.astype(np.float64), i, u),
        tolerance=1e-4,
        bytes=u.nbytes + 4.0 * count + 2 * x.nbytes,
        settings=partial(determinism, is_deterministic),
    )


def found(count: int, bench: Bench) -> Case:
    x, values = np.sort(floats(count)), np.sort(floats(count, seed=1))
    peers = {
        "PyTorch": lambda torch, x, values: torch.searchsorted(x, values),
        "CuPy": lambda cupy, x, values: cupy.searchsorted(x, values),
    }
    return Case(np.searchsorted, (x, values), peers=peers, reference=lambda: np.searchsorted(x, values), tolerance=0)


SORT = {"PyTorch": lambda torch, x: torch.sort(x).values, "CuPy": lambda cupy, x: cupy.sort(x)}
SORT_ROWS = {"PyTorch": lambda torch, x: torch.sort(x, 1).values, "CuPy": lambda cupy, x: cupy.sort(x, axis=1)}
ORDER = {"PyTorch": lambda torch, x: torch.argsort(x, stable=True), "CuPy": lambda cupy, x: cupy.argsort(x)}
TOP = {"PyTorch": lambda torch, x: torch.topk(x, LARGEST).values}
TOP_OF_ROWS = {"PyTorch": lambda torch, x: torch.topk(x, 10, 1).values}


def of_rows(function: Callable[..., Any], peers: dict[str, Any], columns: int, count: int, bench: Bench) -> Case:
    x = floats(count // columns, columns)
    return Case(function, (x,), peers=peers, reference=lambda: function(x), tolerance=0)


def sorted_rows(x):
    return np.sort(x, axis=1)


def rows(sizes: Sizes) -> Iterator[Row]:
    def row(name: str, *make: Any) -> Row:
        return Row(name, AS_FAST_AS_CUB, of_calls(partial(*make)))

    for count in sizes.records:
        name = f"{count >> 20} M" if count >> 20 else f"{count >> 10} K"
        yield row(f"sort, {name} f32", of_records, np.sort, SORT, count, np.float32)
        yield row(f"stable argsort, {name} f32", of_records, ordered, ORDER, count, np.float32)
        yield row(f"top {LARGEST} of {name}", of_records, largest, TOP, count, np.float32)
        yield row(f"cumsum, {name}", sums, running_sums, None, count)
        for limit, updates, width in ((1000, count, 0), (count, count, 0), (count // 64, count // 64, 64)):
            where = f"{updates:,} of {width} at {limit:,}" if width else f"{updates:,} at {limit:,}"
            for is_deterministic, how in ((False, ""), (True, ", deterministic")):
                yield row(f"add {where}{how}", sums_at, limit, width, is_deterministic, updates)
        yield row(f"sort, {name} s64", of_records, np.sort, SORT, count, np.int64)
        yield row(f"sort of rows of 1024, {name}", of_rows, sorted_rows, SORT_ROWS, 1024, count)
        yield row(f"top 10 of rows of 1024, {name}", of_rows, largest_of_rows, TOP_OF_ROWS, 1024, count)
        yield row(f"cumsum of columns, {name}", sums, running_sums_of_columns, 0, count)
        yield row(f"cumsum of rows, {name}", sums, running_sums_of_rows, 1, count)
        yield row(f"searchsorted in order, {name}", found, count)
