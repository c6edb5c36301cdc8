"""Text made of traced values: it exists when the program runs, and what prints it is called then, as often as the code says."""

from __future__ import annotations

import builtins
import operator
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...hlo.tracebacks import Place, places_of_users
from ..calls.again import once
from ..calls.host_call import call_when_run
from ..recording import pytree
from ..recording.array import TracedArray, require_trace
from ..recording.current_trace import current_trace
from ..recording.dynamic_array import DynamicArray
from ..recording.errors import TracerError
from .calls import TEXT_METHODS, implements
from .deques import TracedDeque
from .list_access import items_of
from .list_parts import parts_of
from .list_runs import Run, is_open_list
from .merging import Maybe
from .surroundings import current_surroundings


class Deferred:
    """What a function makes of values, some of them traced: a text, as a rule. It can be put together, printed and returned."""

    __slots__ = ("function", "values")

    def __init__(self, function: Callable[..., Any], *values: Any) -> None:
        self.function, self.values = function, [pytree.tree_map(_as_it_is_now, value) for value in values]

    def __add__(self, other: Any) -> Any:
        return Deferred(lambda one, two: one + two, self, other) if isinstance(other, (str, Deferred)) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return Deferred(lambda one, two: one + two, other, self) if isinstance(other, str) else NotImplemented

    def _refuse(self, *arguments: Any) -> Any:
        raise TracerError(
            "a text, or another object, that is made of traced values is known when the program runs: it can be printed and "
            "returned, no more"
        )

    __str__ = __format__ = __len__ = __iter__ = __getitem__ = __contains__ = __bool__ = __eq__ = __lt__ = __gt__ = _refuse
    __hash__ = object.__hash__


def _as_it_is_now(leaf: Any) -> Any:
    """An array that may be changed before the text is needed, as a copy."""
    if not isinstance(leaf, TracedArray) or leaf.is_scalar:
        return leaf
    trace = require_trace(leaf)
    return TracedArray.from_instruction(trace, leaf.recorded(trace), leaf.weak_type, is_scalar=False)


class Result:
    """A container in the place of such a text, which a call puts together."""

    def __init__(self, text: Deferred) -> None:
        self.arrays: list[TracedArray] = []
        self.make = _prepared(text, self.arrays)


pytree.register_pytree(Result, lambda result: (result.arrays, result.make), lambda make, given: make(list(given)))


def is_open(value: Any) -> bool:
    """Whether a text made of this value depends on the call."""
    if isinstance(value, TracedArray):
        return value.known_value is None
    if isinstance(value, (list, tuple, set)):
        return any(map(is_open, value))
    if isinstance(value, dict):
        return any(map(is_open, value.values()))
    if isinstance(value, BaseException):
        return any(map(is_open, value.args))
    return isinstance(value, (Deferred, Maybe, Run))


def _prepared(value: Any, arrays: list[TracedArray]) -> Callable[[list[Any]], Any]:
    """What gives the value when the program runs, of the arrays that it is made of."""
    if isinstance(value, DynamicArray):
        padded, shape = (_prepared(one, arrays) for one in (value.padded(require_trace(value)), value.shape))
        return lambda given: padded(given)[tuple(map(slice, shape(given)))]
    if isinstance(value, TracedArray):
        arrays.append(value)
        place, weak, scalar = len(arrays) - 1, value.weak_type, value.is_scalar

        def found(given: list[Any]) -> Any:
            array = np.array(given[place])
            return array.item() if weak and scalar else array[()] if scalar else array

        return found
    if isinstance(value, Maybe):
        there, held = _prepared(value.is_there, arrays), _prepared(value.value, arrays)
        return lambda given: held(given) if there(given) else None
    if isinstance(value, Deferred):
        parts = [_prepared(part, arrays) for part in value.values]
        return lambda given: value.function(*[part(given) for part in parts])
    if type(value) is TracedDeque:
        whole = _prepared(items_of(value), arrays)
        return lambda given: deque(whole(given), value.maxlen)
    if is_open_list(value):
        pieces = [_prepared_run(item, arrays) if type(item) is Run else _prepared([item], arrays) for item in value]
        kind = tuple if type(value) is tuple else list
        return lambda given: kind([item for piece in pieces for item in piece(given)])
    if isinstance(value, BaseException):
        arguments = [_prepared(argument, arrays) for argument in value.args]
        return lambda given: type(value)(*[argument(given) for argument in arguments])
    if type(value) in (list, tuple, set):
        items, kind = [_prepared(item, arrays) for item in value], type(value)
        return lambda given: kind([item(given) for item in items])
    if type(value) is dict:
        entries = {key: _prepared(item, arrays) for key, item in value.items()}
        return lambda given: {key: item(given) for key, item in entries.items()}
    return lambda given: value


def _prepared_run(run: Run, arrays: list[TracedArray]) -> Callable[[list[Any]], list[Any]]:
    parts, elements = parts_of(run)
    begin = len(arrays)
    arrays.extend(parts)
    return lambda given: elements(given[begin : begin + len(parts)])


def call_later(function: Callable[..., None], *values: Any, lines: Sequence[Place] | None = None) -> None:
    """Call the function with these values whenever the program comes here, to the lines that are executed, or to these."""
    arrays: list[TracedArray] = []
    prepared = [_prepared(value, arrays) for value in values]

    def run(*given: Any) -> None:
        function(*[value(list(given)) for value in prepared])

    call_when_run(run, None, tuple(arrays), named=function, lines=lines)


def raise_later(error: Exception) -> None:
    """Raise an exception like this one, whose message is made of values, whenever the program comes here."""
    call_later(_raise, type(error), *error.args, lines=places_of_users(error.__traceback__))


def _raise(kind: type[Exception], *arguments: Any) -> None:
    raise kind(*arguments)


@implements(print)
def print_(*values: Any, sep: Any = " ", end: Any = "\n", file: Any = None, flush: bool = False) -> None:
    """Prints at every call, what the values are then."""

    def print_now(*shown: Any) -> None:
        once(print, *shown, sep=sep, end=end, file=file, flush=flush)

    call_later(print_now, *values)


def text(*parts: Any) -> Any:
    """An f-string: its texts, and its values as (value, conversion, format)."""
    if not any(type(part) is tuple and (is_open(part[0]) or is_open(part[2])) for part in parts):
        return _joined(*parts)
    return Deferred(_joined, *parts)


def _joined(*parts: Any) -> str:
    return "".join([part if type(part) is str else _formatted(*part) for part in parts])


def _formatted(value: Any, conversion: int, specification: str) -> str:
    if conversion != -1:
        value = {"s": str, "r": repr, "a": ascii}[chr(conversion)](_concrete(value))
    return format(_concrete(value), specification)


def _concrete(value: Any) -> Any:
    """A traced value that is known, as what it is outside of a trace."""
    if isinstance(value, TracedArray):
        known = np.array(value.known_value)
        return known.item() if value.weak_type and value.is_scalar else known[()] if value.is_scalar else known
    if type(value) in (list, tuple):
        return type(value)(map(_concrete, value))
    surroundings = current_surroundings()
    if surroundings is not None and surroundings.is_object(value):  # its methods say what its text is, where nobody sees it
        surroundings.guard_state(value)
        return surroundings.original(value)
    return value


def _text_function(builtin: Callable[..., str]) -> Callable:
    def implementation(*args: Any, **kwargs: Any) -> Any:
        if args and any(map(is_open, args)):
            return Deferred(lambda *values: builtin(*values, **kwargs), *args)
        return builtin(*map(_concrete, args), **kwargs)

    return implementation


for _builtin in (
    builtins.str, builtins.repr, builtins.format, builtins.ascii, np.array2string, np.array_str, np.array_repr,
    np.format_float_positional, np.format_float_scientific,
):  # fmt: skip
    implements(_builtin)(_text_function(_builtin))


def call_text_method(method: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """``"...".format(...)`` and the like."""
    args = tuple(map(_listed, args))
    if current_trace() is not None and (any(map(is_open, args)) or any(map(is_open, kwargs.values()))):
        if method.__name__ in ("format", "join"):
            names = list(kwargs)
            count = len(args)

            def run(*values: Any) -> str:
                given = values[:count]
                return method(*given, **dict(zip(names, values[count:])))

            return Deferred(run, *args, *kwargs.values())
        raise TracerError(f"str.{method.__name__} of a text that depends on traced values is known when the program runs")
    return method(*map(_concrete, args), **kwargs)


def percent(text: Any, values: Any) -> Any:
    """``"..." % values``"""
    if is_open(values):
        return Deferred(operator.mod, text, values)
    return text % _concrete(values)


for _name in ("format", "join"):
    TEXT_METHODS[_name] = call_text_method


def _listed(value: Any) -> Any:
    return list(value) if hasattr(value, "__next__") else value
