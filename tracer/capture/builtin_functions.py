"""Python's built-in functions, on traced values and on numbers."""

from __future__ import annotations

import builtins
import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, require_trace
from ..recording.dynamic_array import DynamicArray
from ..recording.errors import ConcretizationError
from ..recording.function_tables import SPECIAL_KERNELS
from ..recording.operands import as_traced, has_traced
from . import places
from .branches import truth
from .calls import call, implements
from .comprehensions import Generated, folded, generated
from .deques import TracedDeque
from .helpers import and_, choose, not_, or_
from .iteration import Enumerate, Indices, Lazy, ListRows, Reversed, Rows, TracedRange, Zip, is_captured, rows_of
from .list_access import items_of
from .list_functions import extreme, mapped, sorted_list, total, truths
from .list_runs import is_open_list, length_of
from .merging import Maybe
from .outside_objects import class_of
from .outside_streams import OutsideIterator


def _is_open(value: Any) -> bool:
    """Whether this is a traced value that is not known."""
    return isinstance(value, TracedArray) and value.known_value is None


def _converted(value: TracedArray, element_type: hlo.ElementType) -> TracedArray:
    """A Python number of this type; arrays of one element are taken as Python does."""
    if value.size != 1:
        raise TypeError("only length-1 arrays can be converted to Python scalars")
    trace = require_trace(value)
    scalar = hlo.reshape(value.instruction(trace), ())
    return TracedArray.from_instruction(trace, hlo.convert(scalar, element_type), weak_type=True)


@implements(int)
def int_(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and _is_open(args[0]):
        if args[0].element_type.is_complex:
            raise TypeError("int() argument must be a string, a bytes-like object or a real number, not 'complex'")
        return _converted(args[0], hlo.S64)
    return int(*args, **kwargs)


@implements(float)
def float_(*args: Any) -> Any:
    return _converted(args[0], hlo.F64) if args and _is_open(args[0]) else float(*args)


@implements(complex)
def complex_(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 2 and (_is_open(args[0]) or _is_open(args[1])):
        return args[0] + args[1] * 1j
    return _converted(args[0], hlo.C128) if args and _is_open(args[0]) else complex(*args, **kwargs)


@implements(bool)
def bool_(*args: Any) -> Any:
    if args and isinstance(args[0], TracedArray) and truth(args[0]) is None:
        return _converted(not_(not_(args[0])), hlo.PRED)
    return bool(*args)


@implements(round)
def round_(number: Any, ndigits: int | None = None) -> Any:
    if not _is_open(number):
        return round(number) if ndigits is None else round(number, ndigits)
    if ndigits is None:
        return number if number.element_type.is_integer else _converted(np.rint(number), hlo.S64)
    rounded = np.round(number, ndigits)
    rounded.weak_type = number.weak_type
    return rounded


@implements(len)
def len_(value: Any) -> Any:
    if is_open_list(value):
        return length_of(value)
    return value.shape[0] if isinstance(value, DynamicArray) else len(value)


@implements(list)
def list_(*args: Any) -> Any:
    made = _elements(args) if args and isinstance(args[0], (list, Lazy, Rows)) else list(*args)
    places.note_made(made)
    return made


@implements(range)
def range_(*bounds: Any) -> Any:
    return TracedRange(*bounds) if any(map(_is_open, bounds)) else range(*bounds)


@implements(tuple)
def tuple_(*args: Any) -> tuple:
    return tuple(_elements(args)) if args and isinstance(args[0], (list, Lazy, Rows)) else tuple(*args)


@implements(zip)
def zip_(*iterables: Any, strict: bool = False) -> Any:
    parts = [rows_of(iterable) for iterable in iterables]
    if any(map(is_open_list, iterables)):
        parts = [
            ListRows(one) if part is None and isinstance(one, (list, tuple)) else part for part, one in zip(parts, iterables)
        ]
    if None in parts or not any(map(is_captured, iterables)) and not all(part.length > 8 for part in parts):
        return zip(*iterables, strict=strict)
    return Zip(parts)


@implements(enumerate)
def enumerate_(iterable: Any, start: int = 0) -> Any:
    rows = rows_of(iterable)
    return enumerate(iterable, start) if rows is None else Enumerate(rows, start)


@implements(reversed)
def reversed_(sequence: Any) -> Any:
    rows = rows_of(sequence)
    return reversed(sequence) if rows is None else Reversed(rows)


@implements(np.ndindex)
def ndindex(*shape: Any) -> Any:
    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    return Indices(tuple(map(int, shape)))


@implements(next)
def next_(iterator: Any, *default: Any) -> Any:
    return iterator.following(*default) if isinstance(iterator, OutsideIterator) else next(iterator, *default)


@implements(map)
def map_(function: Callable, *iterables: Iterable) -> Any:
    if len(iterables) > 1:
        return map(lambda *items: call(function, *items), *iterables)
    (iterable,) = iterables
    return generated(
        iterable, lambda one: map(functools.partial(call, function), one), None, None, functools.partial(call, function)
    )


@implements(filter)
def filter_(function: Callable | None, iterable: Iterable) -> Any:
    test = _itself if function is None else functools.partial(call, function)
    return generated(iterable, lambda one: filter(test, one), None, test, _itself)


def _itself(value: Any) -> Any:
    return value


def _is_of_open_length(iterable: Any) -> bool:
    rows = rows_of(iterable) if is_captured(iterable) else None
    return rows is not None and _is_open(rows.length)


def _elements(args: tuple) -> list[Any]:
    if len(args) == 1 and is_open_list(args[0]):
        return items_of(args[0])
    if len(args) == 1 and _is_of_open_length(args[0]):
        return mapped(_itself, rows_of(args[0]))
    return list(args[0]) if len(args) == 1 else list(args)


def _extreme(builtin: Callable, reduction: Callable, pair: Callable) -> Callable:
    def implementation(*args: Any, key: Callable | None = None, **default: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], TracedArray) and key is None and args[0].ndim == 1:
            if args[0].is_dynamic or args[0].size:
                return reduction(args[0])
        if len(args) == 1 and isinstance(args[0], np.ndarray):
            return builtin(*args, key=key, **default)
        items = _elements(args)
        if is_open_list(items):
            return extreme(builtin.__name__, items, key, default)
        if not has_traced(items) and key is None or not items:
            return builtin(items, **default)
        if key is not None:
            keys = [call(key, item) for item in items]
            if not has_traced(keys):
                return items[keys.index(builtin(keys))]
            best, best_key = items[0], keys[0]
            for item, item_key in zip(items[1:], keys[1:]):
                better = pair(item_key, best_key)
                best, best_key = (_chosen(better, one, other) for one, other in ((item, best), (item_key, best_key)))
            return best
        found = items[0]
        for item in items[1:]:
            found = _chosen(pair(item, found), item, found)
        return found

    return implementation


def _chosen(test: Any, first: Any, second: Any) -> Any:
    return choose(test, lambda: first, lambda: second)


implements(builtins.max)(_extreme(builtins.max, np.max, lambda one, other: one > other))
implements(builtins.min)(_extreme(builtins.min, np.min, lambda one, other: one < other))


@implements(builtins.sum)
def sum_(iterable: Any, /, start: Any = 0) -> Any:
    if isinstance(iterable, TracedArray) and iterable.ndim >= 1 and type(start) is int and start == 0:
        return np.sum(iterable, axis=0)
    if isinstance(iterable, Generated) and iterable.opened():
        return folded(iterable, start, lambda one, other: one + other)
    items = _elements((iterable,)) if is_captured(iterable) else iterable
    return total(items, start) if is_open_list(items) else sum(items, start)


@implements(builtins.any)
def any_(iterable: Any) -> Any:
    if isinstance(iterable, TracedArray) and iterable.ndim == 1:
        return np.any(iterable)
    if isinstance(iterable, Generated) and iterable.opened():
        return folded(iterable, False, lambda _, value: bool_(value), bool_)
    items = _elements((iterable,))
    if is_open_list(items):
        return truths("any", items)
    return bool_(or_(False, *[(lambda item=item: item) for item in items]))


@implements(builtins.all)
def all_(iterable: Any) -> Any:
    if isinstance(iterable, TracedArray) and iterable.ndim == 1:
        return np.all(iterable)
    if isinstance(iterable, Generated) and iterable.opened():
        return folded(iterable, True, lambda _, value: bool_(value), not_)
    items = _elements((iterable,))
    if is_open_list(items):
        return truths("all", items)
    return bool_(and_(True, *[(lambda item=item: item) for item in items]))


@implements(builtins.sorted)
def sorted_(iterable: Any, /, *, key: Callable | None = None, reverse: bool = False) -> Any:
    items = _elements((iterable,))
    if is_open_list(items):
        return sorted_list(items, key, reverse)
    if not has_traced(items) and key is None:
        return sorted(items, reverse=reverse)
    keys = items if key is None else [call(key, item) for item in items]
    if not has_traced(keys):
        order = sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
        return [items[position] for position in order]
    values = np.stack([as_traced(item) for item in keys])
    order = np.argsort(-values if reverse else values, kind="stable")
    whole = np.stack([as_traced(item) for item in items])[order]
    found = [whole[position] for position in range(len(items))]
    if all(type_(item) in (bool, int, float) for item in items):
        for item in found:
            item.weak_type = True
    return found


@implements(builtins.abs)
def abs_(value: Any) -> Any:
    return abs(value)


@implements(builtins.isinstance)
def isinstance_(value: Any, kinds: Any) -> bool:
    if isinstance(value, (TracedArray, Maybe, TracedDeque)):
        return issubclass(type_(value), kinds)
    return isinstance(value, kinds)


@implements(builtins.type)
def type_(*args: Any) -> Any:
    """What the value's type is when the program runs."""
    (value, *others) = args
    if not others and type(value) is Maybe:
        raise ConcretizationError(value.is_there, "to decide between None and a value, by its type", "Use `is None`.")
    if others or not isinstance(value, TracedArray):
        return class_of(type(*args))
    if not value.is_scalar:
        return np.ndarray
    if value.weak_type:
        return {"pred": bool, "signed": int, "unsigned": int, "float": float, "complex": complex}[value.element_type.kind]
    return value.dtype.type


@implements(builtins.callable)
def callable_(value: Any) -> bool:
    return callable(value)


# --- math ---

_MATH = {
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "expm1": np.expm1,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "fabs": np.abs,
    "atan2": np.arctan2, "hypot": np.hypot, "pow": np.power, "fmod": np.fmod, "copysign": np.copysign, "degrees": np.degrees,
    "radians": np.radians, "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite,
}  # fmt: skip
_INTEGERS = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}
# Where math raises ValueError on a number.
_DOMAINS: dict[str, Callable[[Any], Any]] = {
    "sqrt": lambda x: x < 0, "log": lambda x: x <= 0, "log2": lambda x: x <= 0, "log10": lambda x: x <= 0,
    "log1p": lambda x: x <= -1, "asin": lambda x: abs(x) > 1, "acos": lambda x: abs(x) > 1, "acosh": lambda x: x < 1,
    "atanh": lambda x: abs(x) >= 1,
}  # fmt: skip


def _of_math(name: str, ufunc: np.ufunc) -> Callable:
    function = getattr(math, name)

    def implementation(*args: Any) -> Any:
        if not any(map(_is_open, args)):
            return function(*args)
        numbers = [_converted(one, hlo.F64) if isinstance(one, TracedArray) else one for one in args]
        if name in _DOMAINS:
            trace = require_trace(*numbers)
            trace.add_error_flag(_DOMAINS[name](numbers[0]).instruction(trace), ValueError, "math domain error")
        if name == "log" and len(numbers) == 2:
            return np.log(numbers[0]) / np.log(numbers[1])
        found = ufunc(*numbers)
        found.weak_type = True
        return _converted(found, hlo.S64) if name in _INTEGERS else found

    return implementation


def _special(name: str) -> Callable:
    """A function of math that is a ufunc of SciPy, which may not be there."""
    function, kernel = getattr(math, name), SPECIAL_KERNELS[name if name != "lgamma" else "gammaln"]

    def implementation(number: Any) -> Any:
        if not _is_open(number):
            return function(number)
        trace = require_trace(number)
        found = kernel.emit(_converted(number, hlo.F64).instruction(trace))
        return TracedArray.from_instruction(trace, found, weak_type=True)

    return implementation


for _name in ("erf", "erfc", "gamma", "lgamma"):
    if _name in SPECIAL_KERNELS or _name == "lgamma" and "gammaln" in SPECIAL_KERNELS:
        implements(getattr(math, _name))(_special(_name))
for _name, _ufunc in (_MATH | _INTEGERS).items():
    implements(getattr(math, _name))(_of_math(_name, _ufunc))
