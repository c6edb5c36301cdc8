"""What is compared: ``is``, ``==``, ``<``, ``in``, of values of which the program knows some."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, ItemsView, KeysView, Sequence, ValuesView
from functools import partial
from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, require_trace
from ..recording.attributes import class_of, is_generated
from ..recording.dynamic_array import DynamicArray
from ..recording.errors import AMBIGUOUS, LeftToPython
from . import made_iterators
from .attributes import getattr_
from .branches import choose as choose_traced
from .branches import truth
from .calls.dispatch import call
from .choices import Choice, Maybe
from .coded_arrays import CodedArray
from .copies import require_identity
from .distribution import condition, each, truth_of
from .entries import elements_in, has_open_keys
from .keys import dicts, sets
from .keys.dicts import contains_key
from .keys.views import DictView
from .library import iterators, searches
from .lists import comparisons
from .lists.references import row_behind
from .lists.runs import is_open_list
from .loops.generators import TracedGenerator
from .loops.iteration import TracedRange, in_range, unlisted
from .masked import is_the_masked
from .operators import NUMBERS, OPERATORS, each_pair
from .origins import is_shared_by_names, may_be_one, merged_from, require_known_arrays
from .places import is_frozen
from .special_methods import special_method
from .text_fields import TextArray
from .texts.deferred import Deferred, asked
from .truths import Later, not_
from .unknown_values import holds_unknown, is_searched_one_by_one


def choose(test: Any, first: Later, second: Later) -> Any:
    """``first if test else second``"""
    test = condition(test)
    if isinstance(test, TracedArray):
        known = truth(test)
        if known is None:
            return choose_traced(test, first, second)
        test = known
    return first() if test else second()


def is_none(value: Any) -> Any:
    """``value is None``"""
    return not_(value.is_there) if type(value) is Maybe and value.absent is None else value is None


def is_(value: Any, other: Any) -> Any:
    """``value is other``"""
    if type(value) is Choice or type(other) is Choice:
        return each(lambda one: each(lambda two: is_(one, two), other), value)
    if type(value) is Maybe or type(other) is Maybe:
        value, other = (value, other) if type(value) is Maybe else (other, value)
        another = other.value if type(other) is Maybe else other
        return choose(
            is_none(value),
            lambda: is_none(other),
            lambda: choose(is_none(other), lambda: False, lambda: is_(value.value, another)),
        )
    for one, truth_value in ((value, other), (other, value)):
        if isinstance(one, TracedArray) and one.weak_type and isinstance(truth_value, bool):
            return one.element_type.kind == "pred" and (one if truth_value else not_(one))
    if (found := is_the_masked(value, other)) is not None:
        return found
    if (row := row_behind(value)) is not None and (another := row_behind(other)) is not None and value is not other:
        return row.table is another.table and equal(row.position, another.position)
    if value is not other and type(value) is type(other) and is_shared_by_names(value):
        if merged_from(value) is None:
            value, other = other, value
        if (merged := merged_from(value)) is not None and may_be_one(value, other):
            test, (first, second) = merged
            return choose_traced(test, lambda: is_(first, other), lambda: is_(second, other))
        require_identity(value, other)
    if value is not other and type(value) is type(other) and (isinstance(value, tuple) or is_frozen(type(value))):
        require_identity(value, other)
    if isinstance(value, TracedArray) and isinstance(other, TracedArray) and value is not other:
        for one, another in ((value, other), (other, value)):
            if (merged := merged_from(one)) is not None:
                test, ends = merged
                return choose_traced(test, *[partial(is_, end, another) for end in ends])
        require_known_arrays(value, other)
        require_trace().program.compares_arrays |= value.root_storage.is_from_outside and other.root_storage.is_from_outside
    return value is other


def contains(item: Any, container: Any) -> Any:
    """``item in container``."""
    if type(item) is Choice or type(container) is Choice:
        return each(lambda one: each(lambda other: contains(one, other), container), item)
    if isinstance(container, TracedGenerator):
        return call(iterators.holds, item, container)
    if is_open_list(container):
        if is_searched_one_by_one(container, item):
            return call(searches.holds, container, item)
        return comparisons.holds(container, item)
    if has_open_keys(container):
        return contains_key(container, item)
    if type(container) is DictView:
        return contains(item, container.listed())
    if isinstance(container, (CodedArray, TextArray)):
        return _as_bool(np.any(container == item))
    if isinstance(container, Deferred) or isinstance(container, str) and isinstance(item, Deferred):
        return asked(operator.contains, False, container, item)
    if isinstance(container, TracedArray) and container.is_scalar:
        return item in container.run_time_type()  # raises
    if isinstance(container, (TracedArray, np.ndarray)) and (_is_traced(container) or _is_traced(item)):
        return _as_bool(np.any(container == item))
    if isinstance(container, (KeysView, ValuesView, ItemsView)):
        container = tuple(container)
    if type(container) is TracedRange or isinstance(container, range) and _is_traced(item):
        return _as_bool(in_range(container, item))
    if (method := special_method(container, "__contains__")) is not None:
        return truth_of(method(item))
    if not isinstance(container, (tuple, list, set, frozenset, dict, range)):
        made_iterators.require_made_here(container)
        return item in made_iterators.taken(container)
    held = list(elements_in(container)) if isinstance(container, (set, frozenset)) else container
    if not holds_unknown(item) and not any(map(holds_unknown, held)):
        return item in container
    if any(other is item for other in held):
        return True
    found: Any = False
    for other in held:
        found = found | same_or_equal(item, other)
    return found


def _is_array(value: Any) -> bool:
    """Whether this is an array, or a number of NumPy's, which compares lists element by element."""
    return isinstance(value, TracedArray) and not value.weak_type or isinstance(value, (np.ndarray, np.generic))


def _is_traced(value: Any) -> bool:
    return isinstance(value, TracedArray) and value.known_value is None


def same_or_equal(first: Any, second: Any) -> Any:
    """Whether two are one object, or are equal: so elements of containers are compared."""
    if first is second:
        return True
    is_identity = type(first).__eq__ is object.__eq__ and type(second).__eq__ is object.__eq__
    return is_(first, second) if is_identity else _as_bool(condition(equal(first, second)))


def _as_bool(value: Any) -> Any:
    """A condition as a bool of Python's."""
    if not isinstance(value, TracedArray) or value.size != 1:
        return bool(value)
    value.weak_type, value.exact = True, None
    return value


def _fields(value: Any, other: Any, method: str) -> tuple[tuple, tuple] | None:
    """What is compared of two objects of a class for which `dataclass` has written this comparison; None for others."""
    kind = class_of(type(value))
    if not dataclasses.is_dataclass(kind) or kind is not class_of(type(other)) or not is_generated(getattr_(kind, method)):
        return None
    names = [field.name for field in dataclasses.fields(kind) if field.compare]
    return tuple([getattr_(value, name) for name in names]), tuple([getattr_(other, name) for name in names])


_COMPARED = (tuple, list, dict, object)


def equal(first: Any, second: Any) -> Any:
    """``first == second``; tuples and lists are compared element by element where the program knows some."""
    if type(first) in NUMBERS and type(second) in NUMBERS:
        return first == second
    first, second = unlisted(first), unlisted(second)
    if type(first) is Choice or type(second) is Choice:
        return each_pair(equal, first, second)
    if _are_compared_each_way(first, second):
        return _each_way(equal, first, second)
    if is_open_list(first) or is_open_list(second):
        if _is_array(first) or _is_array(second):
            return call(np.equal, first, second)
        lists = [one for one in (first, second) if isinstance(one, list)]
        if len(lists) == 2 and any(is_searched_one_by_one(one, None) for one in lists):
            return call(searches.are_equal, first, second)
        return comparisons.equal(first, second)
    for one, other in ((first, second), (second, first)):
        if isinstance(one, (list, tuple)) and isinstance(other, TracedArray) and other.weak_type:
            return False  # a number of Python's
    if has_open_keys(first) or has_open_keys(second):
        if isinstance(first, dict):
            return isinstance(second, dict) and dicts.equal(first, second, equal)
        return sets.are_sets(first, second) and sets.equal(first, second)
    first, second = _fields(first, second, "__eq__") or (first, second)
    kind = next((kind for kind in _COMPARED if type(first).__eq__ is kind.__eq__ is type(second).__eq__), None)
    if kind is None or not (holds_unknown(first) or holds_unknown(second)):
        return first == second
    if kind is object:
        return is_(first, second)
    if kind is dict:
        if first.keys() != second.keys():
            return False
        first, second = list(first.values()), [second[key] for key in first]
    found: Any = len(first) == len(second)
    for one, other in zip(first, second):
        if found is False:
            break
        found = found & same_or_equal(one, other)
    return found


def _are_compared_each_way(first: Any, second: Any) -> bool:
    """Whether one is an array, a tuple or the like, or None, and the other nothing that both are compared with alike."""
    value, other = (first, second) if type(first) is Maybe else (second, first)
    if type(value) is not Maybe or value.absent is not None or other is None or type(other) is Maybe:
        return False
    is_array = isinstance(value.value, TracedArray) and not value.value.is_scalar
    is_container = isinstance(value.value, (tuple, list, dict))
    return isinstance(other, np.generic) or is_container or is_array and not _is_array(other)


def _each_way(compare: Callable[[Any, Any], Any], first: Any, second: Any) -> Any:
    """A comparison where the one that may be None is there, and where it is not."""
    value, other = (first, second) if type(first) is Maybe else (second, first)
    return choose(value.is_there, lambda: compare(value.value, other), lambda: compare(None, other))


def differ(first: Any, second: Any) -> Any:
    """``first != second``"""
    first, second = unlisted(first), unlisted(second)
    if type(first) is Choice or type(second) is Choice:
        return each_pair(differ, first, second)
    if _are_compared_each_way(first, second):
        return _each_way(differ, first, second)
    are_lists = isinstance(first, (tuple, list)) and isinstance(second, (tuple, list)) or _fields(first, second, "__eq__")
    are_lists = are_lists or any(type(first).__ne__ is kind.__ne__ is type(second).__ne__ for kind in (dict, object))
    if any(map(is_open_list, (first, second))) and any(map(_is_array, (first, second))):
        return call(np.not_equal, first, second)
    if are_lists or any(is_open_list(one) or has_open_keys(one) for one in (first, second)):
        return not_(equal(first, second))
    if any(isinstance(one, (list, tuple)) for one in (first, second)) and first is not second:
        numbers = [one for one in (first, second) if isinstance(one, TracedArray) and one.weak_type]
        if numbers:
            return True
    return first != second


def ordered(name: str, first: Any, second: Any) -> Any:
    """``first <= second``, and other comparisons of sets, tuples, lists and dataclasses."""
    if type(first) in NUMBERS and type(second) in NUMBERS:
        return OPERATORS[name](first, second)
    first, second = unlisted(first), unlisted(second)
    if type(first) is Choice or type(second) is Choice:
        return each_pair(lambda one, two: ordered(name, one, two), first, second)
    first, second = _fields(first, second, f"__{name}__") or (first, second)
    if sets.are_sets(first, second):
        return sets.compared(name, first, second)
    if type(first) is list and type(second) is list and (is_open_list(first) or is_open_list(second)):
        return call(searches.is_before, first, second, OPERATORS[name])
    if _are_sequences(first, second, f"__{name}__") and (holds_unknown(first) or holds_unknown(second)):
        return _in_lexical_order(name, first, second)
    return OPERATORS[name](first, second)


def _are_sequences(first: Any, second: Any, name: str) -> bool:
    """Whether these are two lists, or two tuples, named ones among them, which Python itself compares."""
    if type(first) is list:
        return type(second) is list
    return all(isinstance(one, tuple) and getattr(type(one), name) is getattr(tuple, name) for one in (first, second))


def _in_lexical_order(name: str, first: Sequence[Any], second: Sequence[Any]) -> Any:
    """The first elements that differ decide, or the lengths."""
    if not first or not second:
        return OPERATORS[name](len(first), len(second))
    one, other = first[0], second[0]
    is_equal = True if one is other else _one_truth(equal(one, other))
    return choose(
        is_equal,
        lambda: _in_lexical_order(name, first[1:], second[1:]),
        lambda: _one_truth(ordered(name, one, other)),  # and not its truth: of NumPy's numbers a bool of NumPy's
    )


def _one_truth(value: Any) -> Any:
    """What a comparison gives that decides an order. Of arrays with other than one element the call raises ValueError."""
    if not isinstance(value, TracedArray) or value.is_scalar or not isinstance(value, DynamicArray) and value.size == 1:
        return value
    if isinstance(value, DynamicArray):
        require_trace().add_error_flag(hlo.constant(np.bool_(True)), LeftToPython, "an order of arrays")
    else:
        require_trace().add_raise(hlo.constant(np.bool_(True)), ValueError(AMBIGUOUS))
    return False
