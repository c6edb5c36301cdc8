"""Operators in rewritten functions: of sets, dicts and lists whose contents the program decides, and of anything else."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, require_trace
from ..recording.current_trace import current_trace
from ..recording.errors import ConcretizationError
from . import journals, places
from .calls.dispatch import call
from .calls.meanings import implements
from .choices import Choice, Maybe
from .distribution import each
from .entries import is_open_dict
from .keys import dicts, sets
from .keys.listed_dicts import made_dict
from .lists import access as list_access
from .lists.growing import note_list
from .lists.references import kept
from .texts.formatting import product

OPERATORS = vars(operator)
NUMBERS = frozenset({TracedArray, int, float, complex, bool, np.float64, np.int64})  # most operands; no sets, lists or dicts


def made(value: Any) -> Any:
    """A list, a dict, a set or a class that is written down, or the result of an operator."""
    kind = type(value)
    if kind in NUMBERS:
        return value
    if kind is list or isinstance(value, list):
        note_list(value)
    elif isinstance(value, dict):
        return made_dict(value)
    elif isinstance(value, set):
        journals.note_made(value)
        return kept(value)
    elif isinstance(value, type):
        journals.note_made(value)
    return value


def each_pair(function: Callable[[Any, Any], Any], first: Any, second: Any) -> Any:
    """``function(first, second)``, where both may be one of several: of many sets a copy of the one that is taken."""
    if type(first) is type(second) is Choice:
        first, second = sets.in_one_set(first), sets.in_one_set(second)
    return each(lambda one: each(lambda two: function(one, two), second), first)


def combined(name: str, first: Any, second: Any) -> Any:
    """``first | second``, and other operators of sets."""
    if type(first) in NUMBERS and type(second) in NUMBERS:
        return OPERATORS[name](first, second)
    if type(first) is Choice or type(second) is Choice:
        return each_pair(lambda one, two: combined(name, one, two), first, second)
    if sets.are_sets(first, second):
        return sets.operated(name, first, second)
    if name == "or_" and is_open_dict(first) | is_open_dict(second):
        return dicts.merged(first, second)
    return made(OPERATORS[name](first, second))


def combined_in_place(name: str, holder: Any, other: Any) -> Any:
    """``holder |= other``, and other operators of sets."""
    if type(holder) in NUMBERS and type(other) in NUMBERS:
        return OPERATORS["i" + name.rstrip("_")](holder, other)
    if type(holder) is Choice and any(isinstance(one, (set, dict)) for one in holder.values):
        each(lambda one: combined_in_place(name, one, other), holder)
        return holder
    if type(holder) is Maybe:
        return combined_in_place(name, holder.required(), other)
    places.note_change_of_set(holder, name)
    if sets.are_sets(holder, other):
        return sets.operated_in_place(name, holder, other)
    if name == "or_" and is_open_dict(holder) | is_open_dict(other):
        dicts.put_all(holder, other)
        return holder
    return OPERATORS["i" + name.rstrip("_")](holder, other)


@implements(operator.iadd)
def added_in_place(holder: Any, other: Any) -> Any:
    """``holder += other``"""
    if current_trace() is None:
        return operator.iadd(holder, other)
    if type(holder) is Choice and any(isinstance(one, list) for one in holder.values):
        each(lambda one: added_in_place(one, other), holder)
        return holder
    if type(holder) is Maybe:
        return added_in_place(holder.required(), other)
    is_array = isinstance(other, TracedArray) and not other.weak_type or isinstance(other, (np.ndarray, np.generic))
    if type(holder) is list and not is_array:  # an array adds, element by element
        call(holder.extend, other)
        return holder
    return operator.iadd(holder, other)


def times(value: Any, other: Any) -> Any:
    """``value * other``"""
    holder, count = (value, other) if isinstance(value, (list, tuple, deque)) else (other, value)
    if isinstance(holder, (list, tuple, deque)) and isinstance(count, TracedArray) and count.is_scalar:
        is_bool = count.element_type is hlo.PRED
        if type(holder) is not tuple and isinstance(holder, tuple):
            return times(tuple(holder), count)  # which is what is left of a named tuple
        if is_bool and count.weak_type or count.element_type.is_integer and not is_bool and not count.weak_type:
            return times(holder, call(int, count))  # a scalar of NumPy's repeats a list, too
    try:
        return made(product(value, other))
    except ConcretizationError:
        if not isinstance(count, TracedArray) or count.ndim or not count.element_type.is_integer:
            raise
        trace = require_trace()
        if trace.may_become_known(count.recorded(trace)):
            raise
    return made(type(holder)(list_access.repeated(holder, count)))
