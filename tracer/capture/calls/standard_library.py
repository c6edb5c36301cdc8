"""The standard library's functions that look at traced values, or that the program calls: those of `..library` are followed."""

from __future__ import annotations

import bisect
import builtins
import decimal
import enum
import functools
import heapq
import itertools
import math
import operator
import sys
import types
from collections.abc import Callable, Iterator, MappingView
from typing import Any, NoReturn

import numpy as np

from ...calls.outside_state import look
from ...outside.ownership import is_of_the_user
from ...outside.values import decimal_context
from ...recording.array import TracedArray
from ...recording.operands import first_traced, has_traced, known_number
from .. import journals, made_iterators, places
from ..choices import Choice
from ..copies import require_own
from ..entries import has_open_keys
from ..keys.views import DictView
from ..library import bisection, enums, heaps, iterators, orderings
from ..lists.elements import are_alike
from ..lists.runs import is_open_list
from ..loops.comprehensions import is_open_generator, one_by_one
from ..loops.generators import TracedGenerator, begun
from ..loops.iteration import KnownElements, Lazy, Rows, is_captured, items_for_python, rows_of
from ..special_methods import is_compared_by_program
from .dispatch import call
from .library_calls import call_library
from .meanings import MEANINGS, TAKE_MAYBES, implements

# Of what is known, so many elements are gone over one by one.
_FEW = 32


def _is_traced(value: Any) -> bool:
    """Whether the program computes something of what is gone over, or how much it is."""
    if isinstance(value, MappingView) and not isinstance(value, DictView):
        value = list(value)
    return isinstance(value, (TracedArray, TracedGenerator)) or is_captured(value) or has_traced(value)


def _is_followed(value: Any) -> bool:
    """Whether a function may look at what the program computes."""
    function = value.func if isinstance(value, functools.partial) else value
    if isinstance(function, (types.BuiltinMethodType, types.MethodWrapperType)):  # `counts.get`
        return isinstance(function.__self__, (dict, list)) and first_traced(function.__self__) is not None
    return isinstance(function, (types.FunctionType, types.MethodType)) and is_of_the_user(function.__code__.co_filename)


def _sequence(iterable: Any) -> Any:
    """What can be asked for its elements by their positions."""
    if isinstance(iterable, TracedGenerator):
        return iterable.elements()
    return rows_of(iterable) if isinstance(iterable, Rows) or is_captured(iterable) else call(list, iterable)


# --- lists that are changed, or looked into ---


def _of_a_list(original: Callable, followed: Callable, is_change: bool) -> None:
    """``followed`` in the place of a function whose first argument is a list."""

    def implementation(holder: Any, *args: Any, **kwargs: Any) -> Any:
        is_followed = any(map(_is_traced, (holder, *args))) or any(map(_is_followed, kwargs.values()))
        if is_followed or any(map(is_compared_by_program, (*args, *(holder if type(holder) is list else ())))):
            return call(followed, holder, *args, **kwargs)
        if is_change:
            require_own(holder)
            journals.note(places.Contents(holder))
        return original(holder, *args, **kwargs)

    implements(original)(implementation)
    TAKE_MAYBES.add(original)


for _name in ("heappush", "heappop", "heapify", "heapreplace", "heappushpop"):
    _of_a_list(getattr(heapq, _name), getattr(heaps, _name), True)
for _name in ("insort_left", "insort_right"):
    _of_a_list(getattr(bisect, _name), getattr(bisection, _name), True)
for _name in ("bisect_left", "bisect_right"):
    _of_a_list(getattr(bisect, _name), getattr(bisection, _name), False)


def _among_few(original: Callable, place: Callable[[np.ndarray, TracedArray], Any]) -> None:
    """Where the sequence is known and short, a place in it is a number of comparisons that hold."""
    general = MEANINGS[original]

    def implementation(a: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        is_short = type(a) in (list, tuple) and len(a) <= _FEW and all(type(value) in (int, float) for value in a)
        if args or kwargs or not is_short or not isinstance(x, TracedArray) or x.shape or list(a) != sorted(a):
            return general(a, x, *args, **kwargs)
        return call(int, place(np.array(a), x)) if a else 0

    implements(original)(implementation)


_among_few(bisect.bisect_left, lambda values, x: np.sum(values < x))
_among_few(bisect.bisect_right, lambda values, x: len(values) - np.sum(x < values))


for _name in ("nsmallest", "nlargest"):
    implements(getattr(heapq, _name))(functools.partial(call, getattr(heaps, _name)))


@implements(heapq.merge)
def merge(*iterables: Any, key: Callable | None = None, reverse: bool = False) -> Any:
    concerns_traced = any(map(may_give_traced, iterables)) or _is_followed(key)
    merged = functools.partial(call, heaps.merge) if concerns_traced else heapq.merge
    return merged(*iterables, key=key, reverse=reverse)


# --- folds ---


def may_give_traced(iterable: Any) -> bool:
    """Whether there are traced values in what is gone over, or may be, as in what an iterator gives."""
    return isinstance(iterable, Iterator) or _is_traced(iterable)


@implements(functools.reduce)
def reduce(function: Callable, iterable: Any, *initial: Any) -> Any:
    if not _is_followed(function) and not may_give_traced(iterable) and not _is_traced(initial):
        return functools.reduce(function, iterable, *initial)
    if initial:
        return call(iterators.reduce_from, function, iterable, *initial)
    return call(iterators.reduce, function, _sequence(iterable))


@implements(itertools.accumulate)
def accumulate(iterable: Any, func: Callable | None = None, *, initial: Any = None) -> Any:
    if not _is_followed(func) and not may_give_traced(iterable) and not _is_traced(initial):
        return itertools.accumulate(iterable, func, initial=initial)
    func = operator.add if func is None else func
    if initial is not None:
        return call(iterators.accumulate_from, initial, iterable, func)
    if isinstance(iterable, TracedGenerator) or made_iterators.is_endless(iterable):
        return call(iterators.accumulate_of, iterable, func)
    return call(iterators.accumulate, _sequence(iterable), func)


# --- the end of the process ---


def _exit(code: Any = None) -> NoReturn:
    raise SystemExit(code)


for _function in (sys.exit, *[getattr(builtins, name) for name in ("exit", "quit") if hasattr(builtins, name)]):
    implements(_function)(_exit)


# --- iterators ---


@implements(iter)
def iter_(iterable: Any, *sentinel: Any) -> Any:
    is_open = is_open_list(iterable) or has_open_keys(iterable) or type(iterable) is DictView
    is_asked = not sentinel and made_iterators.are_iterators_asked()
    if is_open or is_asked and not isinstance(iterable, (Iterator, TracedGenerator, Lazy)):
        return call(iterators.Iterating, _sequence(iterable))
    return iter(begun(iterable) if sentinel else items_for_python(begun(iterable)), *sentinel)


@implements(itertools.cycle)
def cycle(iterable: Any) -> Any:
    if made_iterators.are_iterators_asked():
        return call(iterators.Cycle, _sequence(iterable))
    return itertools.cycle(one_by_one(begun(iterable)))


@implements(itertools.repeat)
def repeat(value: Any, *times: Any, **kwargs: Any) -> Any:
    if made_iterators.are_iterators_asked() and not times and not kwargs:
        return call(iterators.Cycle, [value])
    return itertools.repeat(value, *times, **kwargs)


@implements(itertools.count)
def count(start: Any = 0, step: Any = 1) -> Any:
    is_asked = made_iterators.are_iterators_asked() or has_traced((start, step))
    return call(iterators.Count, start, step) if is_asked else itertools.count(start, step)


@implements(itertools.pairwise)
def pairwise(iterable: Any, /) -> Any:
    if isinstance(iterable, TracedGenerator) or made_iterators.is_endless(iterable):
        return call(iterators.pairwise_of, iterable)
    if _is_traced(iterable):
        return call(iterators.pairwise, _sequence(iterable))
    return itertools.pairwise(items_for_python(iterable))


_COMBINATIONS = {1: iterators.single_combinations, 2: iterators.pairs, 3: iterators.triples}


@implements(itertools.combinations)
def combinations(iterable: Any, r: int) -> Any:
    if r in _COMBINATIONS and (_is_captured(iterable) or isinstance(iterable, range) and math.comb(len(iterable), r) > _FEW):
        return call(_COMBINATIONS[r], _sequence(iterable))
    return itertools.combinations(iterable, r)


_PRODUCTS = {2: iterators.product_of_two, 3: iterators.product_of_three}


@implements(itertools.product)
def product(*iterables: Any, repeat: int = 1) -> Any:
    iterables *= repeat
    if len(iterables) not in _PRODUCTS:
        return itertools.product(*iterables)
    if any(map(_is_captured, iterables)):
        return call(_PRODUCTS[len(iterables)], *[one if isinstance(one, range) else _sequence(one) for one in iterables])
    if all(map(_has_numbers, iterables)) and math.prod(map(len, iterables)) > _FEW:
        rows = [one if isinstance(one, range) else KnownElements(one) for one in iterables]
        return call(_PRODUCTS[len(iterables)], *rows)
    return itertools.product(*iterables)


def _has_numbers(iterable: Any) -> bool:
    return isinstance(iterable, range) or type(iterable) in (list, tuple) and len(iterable) > 1 and are_alike(list(iterable))


def _is_captured(iterable: Any) -> bool:
    return isinstance(iterable, TracedGenerator) or is_captured(iterable)


@implements(itertools.chain)
def chain(*iterables: Any) -> Any:
    return call(iterators.chain, *iterables) if any(map(_is_captured, iterables)) else itertools.chain(*iterables)


@implements(itertools.chain.from_iterable)
def from_iterable(iterables: Any, /) -> Any:
    for one in iterables if isinstance(iterables, (list, tuple)) else ():
        made_iterators.require_made_here(one)
    return call(iterators.from_iterable, iterables) if _is_captured(iterables) else chain(*iterables)


@implements(itertools.islice)
def islice(iterable: Any, *bounds: Any) -> Any:
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    start, step = 0 if start is None else start, 1 if step is None else step
    if isinstance(iterable, TracedGenerator) and is_open_generator(iterable):
        return call(iterators.islice_of, iterable, start, stop, step)
    if is_captured(iterable) or has_traced((start, stop, step)) and not isinstance(iterable, Iterator):
        return call(iterators.islice, _sequence(iterable), start, stop, step)
    return itertools.islice(iterable, *[known_number(bound) for bound in (start, stop, step)])


def _with_function(original: Callable, followed: Callable) -> None:
    """``followed`` in the place of an iterator that takes a function, and what it is called with."""

    def implementation(function: Any, iterable: Any, /) -> Any:
        if _is_followed(function) or _is_traced(function) or _is_traced(iterable):
            return call(followed, function, iterable)
        return original(function, iterable)

    implements(original)(implementation)


for _name in ("takewhile", "dropwhile", "filterfalse", "starmap", "compress"):
    _with_function(getattr(itertools, _name), getattr(iterators, _name))


@implements(itertools.groupby)
def groupby(iterable: Any, key: Callable | None = None) -> Any:
    if _is_followed(key) or _is_traced(iterable) or isinstance(iterable, (zip, enumerate)):
        if made_iterators.is_endless(iterable):
            return call(iterators.groupby_of, iterable, key)
        return call(iterators.groupby, _sequence(iterable), key)
    return itertools.groupby(iterable, key)


# --- classes ---


@implements(decimal.Decimal)
def decimal_(*args: Any, **kwargs: Any) -> decimal.Decimal:
    look(decimal_context)
    return call_library(decimal.Decimal, decimal.Decimal, args, kwargs)


_OTHERWISE = "_missing_"


@implements(enum.EnumType)
def member_of(kind: type[enum.Enum], value: TracedArray) -> Any:
    """The member of an enumeration that has a value, where classes of the user's do not say otherwise which one that is."""
    members = [one for one in kind if isinstance(one.value, (int, float))]
    says_otherwise = getattr(kind, _OTHERWISE).__func__ is not getattr(enum.Enum, _OTHERWISE).__func__
    if not members or issubclass(kind, enum.Flag) or says_otherwise:
        return kind(value)
    place = call(enums.place_of_member, kind, [one.value for one in members], value)
    return Choice(place, members) if len(members) > 1 else members[0]


def _compared(followed: Callable) -> Callable[..., Any]:
    return lambda one, other: call(followed, one, other)


for _name, _followed in vars(orderings).items():
    if (_original := getattr(functools, f"_{_name}", None)) is not None:  # by which `functools.total_ordering` compares
        implements(_original)(_compared(_followed))
