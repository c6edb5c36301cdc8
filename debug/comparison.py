"""NumPy and the compiled function, side by side."""

from __future__ import annotations

import copy
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import numpy as np

from ..tracer.calls.jit import jit
from ..tracer.calls.jitted_function import JittedFunctionBase
from ..tracer.calls.random_generators import is_traced_generator
from ..tracer.capture.calls.dispatch import captured_callable
from ..tracer.recording import pytree
from ..tracer.recording.array import TracedArray

# What a variable holds when control first comes to a line, by both.
Moment = tuple[int, str]
_RESULT = "the result"


@dataclass(frozen=True)
class Row:
    """One value, as NumPy and as compiled code has it: how far they are apart, in units in the last place, and where most."""

    line: int
    name: str
    expected: Any
    found: Any
    ulps: float
    place: tuple[int, ...] | None

    def __str__(self) -> str:
        if self.place is None:
            return f"{self.name}: {_short(self.expected)} and {_short(self.found)} are not of one form"
        where = f"{self.name}{list(self.place)}" if self.place else self.name
        one, other = (np.asarray(value)[self.place] for value in (self.expected, self.found))
        return f"{where}: {one!s} and {other!s}, {self.ulps:.3g} ULP apart"


@dataclass(frozen=True)
class Comparison:
    """What `compare` has found: a row for each value that was compared, in the order of the program."""

    file: str
    rows: tuple[Row, ...]
    tolerance: float

    @property
    def first(self) -> Row | None:
        """The first value that is further away than the tolerance, or of another form; None where all agree."""
        return next((row for row in self.rows if row.place is None or row.ulps > self.tolerance), None)

    def __str__(self) -> str:
        worst = max((row.ulps for row in self.rows), default=0.0)
        count = f"{len(self.rows)} values compared"
        if self.first is None:
            return f"{count}: at most {worst:.3g} ULP apart"
        line = self.first.line
        text = linecache.getline(self.file, line).strip()
        return f"{count}; the first that differ, at {self.file}:{line} `{text}`:\n    NumPy and compiled {self.first}"

    __repr__ = __str__


def compare(function: Callable[..., Any], *args: Any, tolerance: float = 4.0, **kwargs: Any) -> Comparison:
    """Call a function as Python, and compiled, and compare its variables between its statements, and its result.

    Those within loops, branches and the functions that it calls are not looked at. ``tolerance`` is in units in the last place;
    integers, truth values and texts have to be equal. The arguments are copied for each call.

    Raises what the function raises, and TypeError for what is no function written in Python.

    >>> def shifted(x):
    ...     y = x + 1
    ...     return y * 2
    >>> compare(shifted, np.ones(3))
    3 values compared: at most 0 ULP apart
    """
    options: dict[str, Any] = {}
    if isinstance(function, JittedFunctionBase):
        options, function = function.options, function.__wrapped__
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        raise TypeError(f"compare requires a function written in Python, {type(function).__name__} given")
    before, expected = _seen(function, code, *copy.deepcopy((args, kwargs)))
    probed = jit(_Probed(function, code), **options)
    found = probed(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    rows, known = [], {}
    for moment, value in expected.items():
        line, name = moment
        if moment not in found or name in known and not any(row.ulps for row in _rows(line, name, known[name], value)):
            continue
        known[name] = value
        rows += _rows(before.get(line, line), name, value, found[moment])
    return Comparison(code.co_filename, tuple(rows), tolerance)


class _Probed:
    """The function, which returns what its variables hold, too, when it is traced."""

    def __init__(self, function: Callable[..., Any], code: CodeType) -> None:
        self._function, self._code = function, code
        self.__name__, self.__signature__ = function.__name__, inspect.signature(function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _seen(captured_callable(self._function), self._code, args, kwargs)[1]


def _seen(
    function: Callable[..., Any], code: CodeType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[dict[int, int], dict[Moment, Any]]:
    """The line before each line when control first comes there in a call, and what is seen then; last of all the result."""
    before: dict[int, int] = {}
    seen: dict[Moment, Any] = {}
    with _watched(code, before, seen):
        result = function(*args, **kwargs)
    seen[0, _RESULT] = result
    return before, seen


@contextmanager
def _watched(code: CodeType, before: dict[int, int], seen: dict[Moment, Any]) -> Iterator[None]:
    """Take down what a function's variables hold when control first comes to a line of it."""
    names = {*code.co_varnames, *code.co_cellvars}
    last = code.co_firstlineno

    def at_line(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal last
        if event == "line" and frame.f_lineno not in before:
            before[frame.f_lineno] = last
            seen.update({(frame.f_lineno, name): _copied(value) for name, value in frame.f_locals.items() if name in names})
        last = frame.f_lineno
        return at_line

    def at_call(frame: FrameType, event: str, _: Any) -> Any:
        one = frame.f_code
        is_it = (
            one.co_filename == code.co_filename and one.co_name == code.co_name and one.co_firstlineno == code.co_firstlineno
        )
        return at_line if is_it else None

    outer = sys.gettrace()
    sys.settrace(at_call)
    try:
        yield
    finally:
        sys.settrace(outer)
        before[0] = last


def _copied(value: Any) -> Any:
    """What a variable holds, where that is made of arrays and numbers; else nothing."""
    leaves, structure = pytree.flatten(value, is_traced_generator)
    if not all(isinstance(leaf, (TracedArray, np.ndarray, np.generic, int, float, complex, str)) for leaf in leaves):
        return None
    return pytree.unflatten(
        structure, [leaf.copy() if isinstance(leaf, (TracedArray, np.ndarray)) else leaf for leaf in leaves]
    )


def _rows(line: int, name: str, expected: Any, found: Any) -> list[Row]:
    """A row for each array or number that two values hold."""
    leaves, structure = pytree.flatten(expected)
    others, other_structure = pytree.flatten(found)
    if structure != other_structure:
        return [Row(line, name, expected, found, np.inf, None)]
    rows = []
    for path, leaf, other in zip(pytree.leaf_paths(structure, name), leaves, others):
        one, another = np.asarray(leaf), np.asarray(other)
        if type(leaf) is not type(other) or one.dtype != another.dtype or one.shape != another.shape:
            rows.append(Row(line, path, leaf, other, np.inf, None))
            continue
        ulps = _ulps(one, another)
        place = tuple(map(int, np.unravel_index(int(np.argmax(ulps)), ulps.shape))) if ulps.size else ()
        rows.append(Row(line, path, leaf, other, float(ulps.max(initial=0.0)), place))
    return rows


def _ulps(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """How many units in the last place elements are apart; infinitely many where that has no meaning, and they differ."""
    same = (one == other) | ((one != one) & (other != other))
    if not np.issubdtype(one.dtype, np.inexact):
        return np.where(same, 0.0, np.inf)
    with np.errstate(all="ignore"):
        unit = np.spacing(np.maximum(np.abs(one), np.abs(other)))
        apart = np.abs(one - other) / unit
    return np.where(same, 0.0, np.where(np.isfinite(apart), apart, np.inf))


def _short(value: Any) -> str:
    array = np.asarray(value)
    return f"{type(value).__name__} {array.dtype}{list(array.shape)}" if isinstance(value, np.ndarray) else repr(value)[:60]
