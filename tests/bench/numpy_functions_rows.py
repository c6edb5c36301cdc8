"""Calls of NumPy's functions at several sizes, as a user writes them: of the names in `numpy_names`, as `numpy_calls.txt` says.

A name that ends up with no call here is `left_out`. Calls are statements, of which the last one may be an expression, over what
`values` has; those over a matrix are made at sizes of their own.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.random import default_rng

from ..numpy_names.table import every_row, read_rows
from ..numpy_names.ufuncs import INTEGER_OPERANDS, UFUNCS

SIZES = (10, 1_000, 1_000_000)
# Of what is as much work as a product of matrices.
MATRIX_SIZES = (3, 32, 300)
_MATRICES = frozenset("ASLlrd")
_CONTRACTIONS = {np.matmul: "A, S", np.vecdot: "X, Y", getattr(np, "matvec", None): "A, r", getattr(np, "vecmat", None): "r, A"}
_COMPARISONS = {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}


class Row(NamedTuple):
    """A call of a function of NumPy's, and how many elements its arrays have, or rows its matrices."""

    name: str
    text: str
    size: int

    def function(self) -> Callable[..., Any]:
        """The call as a function of what it takes, whose source can be read."""
        *statements, last = self.text.split("; ")
        is_expression = isinstance(ast.parse(last).body[0], ast.Expr)
        lines = [f"def call({', '.join(_letters(self.text))}):", *(f"    {one}" for one in statements)]
        source = "\n".join([*lines, f"    {'return ' if is_expression else ''}{last}"]) + "\n"
        file = f"<{self.text}>"
        linecache.cache[file] = len(source), None, source.splitlines(True), file
        namespace: dict[str, Any] = {"np": np}
        exec(compile(source, file, "exec"), namespace)
        return namespace["call"]

    def arguments(self) -> list[Any]:
        found = [values(self.size)[letter] for letter in _letters(self.text)]
        return [one.copy() if isinstance(one, np.ndarray) else one for one in found]


@cache
def values(size: int) -> dict[str, Any]:
    """What calls are made with: lines of this many elements, tables of as many, square matrices of as many rows."""
    rng = default_rng(size)
    side, size = (size, SIZES[0]) if size in MATRIX_SIZES else (MATRIX_SIZES[0], size)
    x, y = rng.uniform(-2, 2, (2, size))
    table = ({10: 2, 1_000: 25, 1_000_000: 1_000}[size], -1)
    half = rng.uniform(-1, 1, (side, side))
    return {
        "x": x, "y": y, "x2": x.copy(), "o": np.zeros(size), "s": 1.5, "n": size,
        "p": rng.uniform(0.05, 0.95, size), "w": rng.uniform(0.99, 1.01, size),
        "f": x.astype(np.float32), "f2": y.astype(np.float32), "z": x + 1j * y, "z2": y - 1j * x,
        "i": rng.integers(-100, 100, size), "j": rng.integers(1, 100, size), "k": rng.permutation(size),
        "t": rng.integers(0, 3, size), "u": rng.integers(0, 255, size, np.uint8), "b": x > 0, "c": y > 0,
        "q": np.sort(rng.uniform(-2, 2, size)), "h": np.array([0.5, -1.25, 2.0, 0.75, -0.25]),
        "v": rng.uniform(-1, 1, (size, 3)), "w3": rng.uniform(-1, 1, (size, 3)),
        "X": x.reshape(table), "Y": y.reshape(table), "O": np.zeros(size).reshape(table), "Z": (x + 1j * y).reshape(table),
        "B": (x > 0).reshape(table), "I": rng.integers(-100, 100, size).reshape(table),
        "K": np.argsort(x.reshape(table), axis=1), "d": side, "A": half, "S": half @ half.T + side * np.eye(side),
        "L": np.stack([half @ half.T + side * np.eye(side)] * 3), "l": rng.uniform(-1, 1, (3, side, 1)),
        "r": rng.uniform(-1, 1, side), "g": rng,
    }  # fmt: skip


_NAMES = tuple(values(10))


def _letters(text: str) -> list[str]:
    return [name for name in _NAMES if re.search(rf"(?<![.\w\"']){name}\b(?!=[^=])", text)]


def every_call() -> Iterator[tuple[str, str]]:
    """Names and calls."""
    of_ufuncs = {f"np.{name}": ufunc for name, ufunc in _without_aliases(UFUNCS).items()}
    written = _written()
    for _, row in every_row():
        if row.name in of_ufuncs:
            yield from ((row.name, text) for text in _of_ufunc(row.name, of_ufuncs[row.name]))
        yield from ((row.name, text) for text in written.pop(row.name, ()))
    for name, texts in written.items():
        yield from ((name, text) for text in texts)


def left_out() -> list[str]:
    """Names of functions and methods that mean something in compiled code, and are not called here; many of polynomials are."""
    called = {name for name, _ in every_call()}
    names = [row.name for chapter, row in every_row() if row.programs and chapter != "python"]
    others = {"amax", "amin", "around"} | set(UFUNCS) - set(_without_aliases(UFUNCS))
    return [name for name in names if name not in called and name.removeprefix("np.") not in others]


def rows(wanted: list[str]) -> Iterator[Row]:
    """Those whose names are these, or whose calls have one of them within."""
    for name, text in every_call():
        if not wanted or any(one == name or one in text for one in wanted):
            letters = set(_letters(text))
            sizes = MATRIX_SIZES if _MATRICES & letters else SIZES if letters - {"h", "g"} else SIZES[:1]
            yield from (Row(name, text, size) for size in sizes)


def _written() -> dict[str, list[str]]:
    text = Path(__file__).with_name("numpy_calls.txt").read_text(encoding="utf-8")
    return {row.name: [program.text for program in row.programs] for row in read_rows(text)}


def _without_aliases(ufuncs: dict[str, np.ufunc]) -> dict[str, np.ufunc]:
    return {name: ufunc for name, ufunc in ufuncs.items() if ufunc.__name__ == name}


def _operands(ufunc: np.ufunc) -> tuple[str, ...]:
    """What it is called with, where its results are numbers and differ."""
    if ufunc in INTEGER_OPERANDS:
        return ("j", "t" if ufunc in (np.left_shift, np.right_shift) else "k")
    if ufunc is np.ldexp:
        return ("x", "t")
    if ufunc in (np.power, np.float_power):
        return ("p", "y")
    if ufunc in (np.arcsin, np.arccos, np.arctanh, np.sqrt, np.log, np.log2, np.log10, np.log1p):
        return ("p",)
    return ("w",) if ufunc is np.arccosh else ("x", "y")


def _of_ufunc(name: str, ufunc: np.ufunc) -> Iterator[str]:
    if ufunc in _CONTRACTIONS:
        yield f"{name}({_CONTRACTIONS[ufunc]})"
        return
    integers = ufunc in INTEGER_OPERANDS
    yield f"{name}({', '.join(_operands(ufunc)[: ufunc.nin])})" + ("[0]" if ufunc.nout == 2 else "")
    for type_, letters in (("f", ("f", "f2")), ("D", ("z", "z2")), ("l", ("i", "j"))):
        own = "l" if type_ == "l" else ""
        if not integers and ufunc.nout == 1 and any(one.startswith(f"{type_ * ufunc.nin}->{own}") for one in ufunc.types):
            yield f"{name}({', '.join(letters[: ufunc.nin])})"
    if ufunc.nin != 2 or ufunc.nout != 1 or ufunc is np.ldexp:
        return
    line = "j" if integers else "w" if ufunc in (np.multiply, np.divide, np.power, np.float_power) else "p"
    if ufunc not in (np.power, np.arctan2) and ufunc not in _COMPARISONS:
        yield from (f"{name}.{method}({line})" for method in ("reduce", "accumulate"))
        yield f"{name}.reduce({'I' if integers else 'X'}, axis=0)"
        yield f"{name}.reduceat({line}, [0, 2, 5])"
    second = _operands(ufunc)[1] if "shift" in name else line
    yield f"{name}.outer({line}[:1000], {second}[:1000])"
    if not any(types.endswith("->?") for types in ufunc.types):
        yield f"{name}.at({'i' if integers else 'o'}, k, {second})"
