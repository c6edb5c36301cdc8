"""What is done with one of several values: it is done with each of them, on sides of a branch that the program decides."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.errors import ConcretizationError, TracerError, name_of_type, no_integer
from ..recording.intervals import INT64, interval_of, require
from .branches import choose, truth
from .choices import BINARY_OPERATORS, Choice, Maybe
from .entries import has_open_keys
from .journals import note_made
from .keys.views import KEYS, DictView
from .lists.runs import is_open_list, length_of
from .loops.iteration import TracedRange
from .special_methods import special_method
from .texts.deferred import Deferred, asked, is_text

_HOLDERS = (Choice, tuple, list, dict, slice)


def holds_choice(value: Any) -> bool:
    """Whether a value, or a part of it, is one of several."""
    return type(value) in _HOLDERS and next(_choices_in(value), None) is not None


def each(function: Callable[[Any], Any], value: Any) -> Any:
    """``function(value)``, where the value may be one of several."""
    return _among(function, value, 0, len(value.values)) if type(value) is Choice else function(value)


def _among(function: Callable[[Any], Any], value: Choice, first: int, behind: int) -> Any:
    """The same of those from the ``first`` to the one before ``behind``: halves of them are on the sides of each branch."""
    if behind - first == 1:
        return _one(function, value.values[first])
    middle = (first + behind) // 2
    test = value.number == first if middle == first + 1 else value.number < middle
    return choose(test, lambda: _among(function, value, first, middle), lambda: _among(function, value, middle, behind))


def _one(function: Callable[[Any], Any], value: Any) -> Any:
    """What cannot be done with one of the values is an exception of the program, where it is that one."""
    try:
        return each(function, value)
    except TracerError:
        raise
    except (LookupError, AttributeError, TypeError, ValueError, ArithmeticError) as error:
        note_made(error)
        raise


_MOST_WAYS = 256  # in which values that are each one of several come together


def _choices_in(value: Any) -> Iterator[Choice]:
    if type(value) is Choice:
        yield value
    elif type(value) is slice:
        yield from _choices_in((value.start, value.stop, value.step))
    elif type(value) in (tuple, list, dict):
        for part in value.values() if type(value) is dict else value:
            yield from _choices_in(part)


def each_within(function: Callable[[Any], Any], value: Any) -> Any:
    """``function(value)``, where the value may be one of several, or a tuple, list, dict or slice that holds such."""
    if type(value) is Choice or not holds_choice(value):
        return each(function, value)
    choices = list(_choices_in(value))
    if math.prod([len(one.values) for one in choices]) > _MOST_WAYS:
        reason = f"to choose among the ways in which {len(choices)} values come together that are each one of several"
        raise ConcretizationError(choices[0].number, reason)
    if type(value) is slice:
        return each_within(lambda bounds: function(slice(*bounds)), (value.start, value.stop, value.step))
    parts = list(value.values() if type(value) is dict else value)
    place = next(place for place, part in enumerate(parts) if holds_choice(part))

    def with_part(part: Any) -> Any:
        known = [*parts[:place], part, *parts[place + 1 :]]
        return each_within(function, dict(zip(value, known)) if type(value) is dict else type(value)(known))

    return each_within(with_part, parts[place])


_DECIDING = frozenset({TracedArray, bool, int, float, str, type(None), np.bool_, np.float64, np.int64})


def condition(value: Any) -> Any:
    """What decides in the place of a value: one that may be None counts as false where it is."""
    if type(value) in _DECIDING:
        return value
    if type(value) is Maybe:
        return choose(value.is_there, lambda: truth_of(value.value), lambda: False)
    if type(value) is Choice:
        return each(truth_of, value)
    if isinstance(value, Deferred):
        return asked(len, 0, value) > 0
    if has_open_keys(value) or type(value) is DictView:
        return (value if type(value) is DictView else DictView(value, KEYS)).length > 0
    if (method := special_method(value, "__bool__")) is not None:
        return each(_as_told, method())
    if (method := special_method(value, "__len__")) is not None:
        return length_told(method) > 0
    if type(value) is TracedRange:
        return value.length > 0
    return length_of(value) > 0 if is_open_list(value) else value


def type_when_run(value: Any) -> type:
    """What ``type(value)`` is of a number, an array or a text when the program runs."""
    if isinstance(value, TracedArray):
        return value.run_time_type
    return str if isinstance(value, Deferred) or is_text(value) else type(value)


def _as_told(found: Any) -> Any:
    """What a ``__bool__`` of the user's returns, which has to be a bool of Python's."""
    if getattr(found, "exact", None) is not None:
        return each(_as_told, found.exact)
    if (kind := type_when_run(found)) is not bool:
        raise TypeError(f"__bool__ should return bool, returned {name_of_type(kind)}")
    return found


def length_told(method: Callable[[], Any]) -> Any:
    """``len`` of an object with this ``__len__`` of the user's, which has to return an integer that is not negative."""
    return each(_as_length, method())


def _as_length(found: Any) -> Any:
    if not isinstance(found, TracedArray):
        return len(type("Sized", (), {"__len__": lambda _: found})())
    if not issubclass(found.run_time_type, (int, np.integer)):
        raise no_integer(found)
    length = found + 0 if found.weak_type else found.item()
    trace = current_trace()
    if interval_of(trace, length)[0] < 0:
        error = ValueError("__len__() should return >= 0")
        require(trace, (length,), lambda: hlo.lt(length.instruction(trace), 0), error, (0, INT64[1]))
    return length


def truth_of(value: Any) -> Any:
    """A bool of Python's, traced where the program decides."""
    value = condition(value)
    if not isinstance(value, TracedArray) or truth(value) is not None:
        return bool(value)
    found = np.not_equal(value.reshape(()) if value.shape else value, 0)
    found.weak_type = True
    return found


def _sum(one: Any, other: Any, add: Callable = operator.add) -> Any:
    """One after the other, where one or both are one of several: texts are put together when the program runs."""
    if all(map(is_text, (one, other))):
        return Deferred(operator.add, one, other)
    return each_within(lambda operands: add(*operands), (one, other))


def _operator(function: Callable, is_reflected: bool = False) -> Callable:
    def operate(self: Choice, *others: Any) -> Any:
        if is_reflected:
            return each_within(lambda pair: function(*pair), (*others, self))
        return each_within(lambda operands: function(*operands), (self, *others))

    return operate


for _name in BINARY_OPERATORS:
    _function = divmod if _name == "divmod" else getattr(operator, f"__{_name}__")
    setattr(Choice, f"__{_name}__", _operator(_function))
    setattr(Choice, f"__r{_name}__", _operator(_function, is_reflected=True))
    if _name != "divmod":
        setattr(Choice, f"__i{_name}__", _operator(getattr(operator, f"__i{_name}__")))
Choice.__add__ = _sum
Choice.__iadd__ = lambda self, other: _sum(self, other, operator.iadd)
Choice.__radd__ = lambda self, other: _sum(other, self)
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs", "invert", "getitem"):
    setattr(Choice, f"__{_name}__", _operator(getattr(operator, f"__{_name}__")))


def _iterate(self: Choice) -> Iterator[Any]:
    """The elements; all of the values have to have as many."""
    if any(map(is_open_list, self.values)):
        _refuse(self)
    parts = [list(value) for value in self.values]
    if len({len(part) for part in parts}) > 1:
        _refuse(self)
    return iter([each(lambda value, place=place: list(value)[place], self) for place in range(len(parts[0]))])


def _refuse(self: Choice, *arguments: Any) -> Any:
    raise ConcretizationError(self.number, f"to decide between {', '.join(map(repr, self.values))}, where Python has to know")


def _ufunc(self: Choice, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
    return each_within(lambda given: getattr(ufunc, method)(*given[0], **given[1]), (inputs, keywords))


def _function_of_arrays(self: Choice, function: Callable, types: Any, arguments: tuple, keywords: dict) -> Any:
    return each_within(lambda given: function(*given[0], **given[1]), (arguments, keywords))


Choice.__iter__, Choice.__array_ufunc__, Choice.__array_function__ = _iterate, _ufunc, _function_of_arrays
for _name in ("bool", "hash", "len", "int", "float", "complex", "index", "format", "array"):
    setattr(Choice, f"__{_name}__", _refuse)
