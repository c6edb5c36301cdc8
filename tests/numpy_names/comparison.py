"""One program, undecorated and decorated, with arrays of sizes that are known while tracing, and that are not."""

from __future__ import annotations

import linecache
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from phlox import jit

_RANDOM = np.random.default_rng(3)


def _rows(table: np.ndarray) -> np.ndarray:
    """The array with a row more, which the functions leave out again."""
    return np.insert(table, 1, table[0] + (0 if table.dtype == bool else 1), axis=0)


_X = np.round(_RANDOM.uniform(-2, 2, (3, 4)), 2)
_SYMMETRIC = np.array([[4.0, 1, 0.5], [1, 3, 0.25], [0.5, 0.25, 5]])
_MATRIX = np.array([[2.0, -1, 0.5], [1, 3, 0.25], [-0.5, 1.5, 4]])
# With one row more than the programs see.
ARRAYS: dict[str, np.ndarray] = {
    name: _rows(np.array(table))
    for name, table in {
        "x": _X,
        "y": np.round(_X[::-1] * 1.3 + 0.1, 2),
        "p": np.round(_RANDOM.uniform(0.05, 0.95, (3, 4)), 2),
        "n": np.where(_X > 1, np.nan, _X),
        "f": _X.astype(np.float32),
        "z": _X + 1j * _X[::-1],
        "i": [[3, -2, 0, 5], [1, 4, -7, 2], [0, 3, 3, -1]],
        "j": [[3, 2, 0, 5], [1, 4, 7, 2], [0, 3, 3, 1]],
        "u": np.array([[3, 250, 0, 5], [1, 4, 128, 2], [0, 3, 3, 77]], np.uint8),
        "b": _X > -0.5,
        "c": _X[::-1] > 0,
        "o": np.zeros((3, 4)),
        "v": [0.5, -1.25, 2.0, 0.75, -0.25],
        "w": [0.5, 1.5, 1.0, 2.0, 0.25],
        "k": [2, 0, 1, 2, 1],
        "t": [3, 1, 0, 1, 2],
        "h": [True, False, True, True, False],
        "q": [-1.5, -0.5, 0.0, 0.5, 1.0],
        "r": np.zeros(5),
        "l": [_MATRIX, _SYMMETRIC],
        "a": np.insert(_SYMMETRIC, 1, 9, axis=1),
        "g": np.insert(_MATRIX, 1, 9, axis=1),
    }.items()
}
KEPT = {size: np.arange(size) != 1 for size in (3, 4, 6)}
NUMBERS = {"s": 1.5, "m": 3}


def with_errstate(x: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return x / 0.0


def with_seterr(x: np.ndarray) -> np.ndarray:
    before = np.seterr(all="ignore")
    found = x / 0.0
    np.seterr(**before)
    return found


def raise_it(kind: type[Exception], x: np.ndarray) -> np.ndarray:
    if x[0, 0] < 100:
        raise kind("as wanted")
    return x


_HELPERS = {"np": np, "with_errstate": with_errstate, "with_seterr": with_seterr, "raise_it": raise_it}


def function_of(text: str, are_cut: bool) -> tuple[Callable, list[str]]:
    """The function of this program, and the names of its arguments: of masks, too, if the arrays are cut by them."""
    names = [name for name in (*ARRAYS, *NUMBERS) if re.search(rf"\b{name}\b", text)]
    arrays = [name for name in names if name in ARRAYS]
    masks = sorted({len(ARRAYS[name]) for name in arrays}) if are_cut else []
    *statements, result = text.split("; ")
    body = (
        [f"{name} = {name}[kept{len(ARRAYS[name])}]{'[:, kept4]' if name in 'ag' else ''}" for name in arrays]
        if are_cut
        else []
    )
    arguments = [*names, *(f"kept{size}" for size in masks)]
    lines = [f"def program({', '.join(arguments)}):", *(f"    {one}" for one in (*body, *statements)), f"    return {result}"]
    file = f"{__file__}-{hash((text, are_cut))}"
    source = "\n".join(lines) + "\n"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    namespace = dict(_HELPERS)
    exec(compile(source, file, "exec"), namespace)
    return namespace["program"], arguments


def values_of(names: list[str], are_cut: bool) -> list[Any]:
    found = []
    for name in names:
        if name in NUMBERS:
            found.append(NUMBERS[name])
        elif name in ARRAYS:
            whole = ARRAYS[name]
            cut = whole if are_cut else whole[KEPT[len(whole)]]
            found.append(np.array(cut if are_cut or name not in "ag" else cut[:, KEPT[4]]))
        else:
            found.append(KEPT[int(name[-1])])
    return found


def outcome(function: Callable, values: list[Any]) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*values)
        except Exception as error:
            return error


def differences(expected: Any, actual: Any, where: str = "") -> Iterator[str]:
    """What is not as NumPy has it, in words."""
    if isinstance(expected, Exception):
        if not isinstance(actual, type(expected)):
            yield f"NumPy raises {expected!r}, the compiled function gives {actual!r:.300}"
        return
    if isinstance(actual, Exception):
        yield f"{type(actual).__name__}: {actual}"
        return
    if type(actual) is not type(expected):
        yield f"type{where}: {type(actual).__name__} instead of {type(expected).__name__}"
        return
    if isinstance(expected, (tuple, list)):
        if len(expected) != len(actual):
            yield f"length{where}: {len(actual)} instead of {len(expected)}"
            return
        for place, (one, other) in enumerate(zip(expected, actual)):
            yield from differences(one, other, f"{where}[{place}]")
        return
    if not isinstance(expected, (np.ndarray, np.generic, float, complex)):
        if not (expected == actual):
            yield f"value{where}: {actual!r:.200} instead of {expected!r:.200}"
        return
    one, other = np.asarray(expected), np.asarray(actual)
    if one.shape != other.shape or one.dtype != other.dtype:
        yield f"{where}: {other.dtype}{other.shape} instead of {one.dtype}{one.shape}"
    elif one.dtype.kind in "fc":
        tolerance = {4: 1e-5, 8: 1e-5 if one.dtype.kind == "c" else 1e-10}.get(one.dtype.itemsize, 1e-10)
        if not np.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True):
            yield f"values{where}: {actual!r:.200} instead of {expected!r:.200}"
    elif not np.array_equal(one, other):
        yield f"values{where}: {actual!r:.200} instead of {expected!r:.200}"


def compare(text: str, are_cut: bool, backend: str | None = None) -> list[str]:
    """What the decorated program does otherwise than the undecorated one."""
    function, names = function_of(text, are_cut)
    expected = outcome(function, values_of(names, are_cut))
    actual = outcome(jit(function, backend=backend), values_of(names, are_cut))
    return list(differences(expected, actual))
