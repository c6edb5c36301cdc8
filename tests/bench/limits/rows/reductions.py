"""Reductions of all elements, along the first axis and along the last."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..contenders import LARGE, Case, Row, case, row, targets, uniform

TITLE = "Reductions"

SHAPES = {
    (LARGE,): ("all",),
    (1000, 1000): ("all", "first", "last"),
    (10, 1_000_000): ("first", "last"),
    (1_000_000, 10): ("first", "last"),
}


# By the axis; Numba is given those of all elements, which it divides among threads.
FUNCTIONS = {
    "sum": (lambda axis: lambda x: x.sum(axis=axis), lambda x: x.sum()),
    "max": (lambda axis: lambda x: x.max(axis=axis), lambda x: x.max()),
    "argmax": (lambda axis: lambda x: x.argmax(axis=axis), lambda x: x.argmax()),
    "mean": (lambda axis: lambda x: x.mean(axis=axis), lambda x: x.mean()),
    "var": (lambda axis: lambda x: x.var(axis=axis), lambda x: x.var()),
    "any": (lambda axis: lambda x: x.any(axis=axis), lambda x: x.any()),
}
AXES = {"all": None, "first": 0, "last": 1}


def reduction(name: str, shape: tuple[int, ...], axis: str) -> Case:
    """any: of truth values none of which is true, so that all are looked at. Numba sums f32 in order: less exact."""
    of_axis, of_all = FUNCTIONS[name]
    x = np.zeros(shape, np.bool_) if name == "any" else uniform(*shape)
    return case(of_axis(AXES[axis]), x, numba=of_all if axis == "all" else None, bytes=x.nbytes, tolerance=5e-3)


def rows() -> Iterator[Row]:
    wanted = targets(bandwidth=0.85, JAX=1.2, NumPy=1)
    for name in FUNCTIONS:
        for shape, axes in SHAPES.items():
            for axis in axes:
                sizes = " x ".join(f"{size:,}" for size in shape)
                title = f"{name}, {sizes}{f', {axis} axis' if axis != 'all' else ''}"
                yield row(title, wanted, reduction, name, shape, axis)
