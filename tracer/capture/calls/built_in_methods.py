"""Calls of methods of Python's containers and texts, and of other functions written in C."""

from __future__ import annotations

import operator
import types
from collections.abc import Sequence
from typing import Any

from .. import journals, made_iterators, places
from ..copies import require_own
from ..distribution import each_within, holds_choice
from ..lists.runs import is_open_list
from ..lists.text_ranks import in_one_run
from ..outside.surroundings import current_surroundings
from ..texts.deferred import Deferred
from ..texts.methods import method_of_text
from .handed_functions import seen_in
from .meanings import DICT_METHODS, LIST_METHODS, SET_METHODS, TEXT_METHODS, UNANSWERED, Call
from .methods_of_containers import is_keyed_call, is_open_call

_CHANGING = {
    "append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "setdefault", "popitem", "add",
    "discard",
}  # fmt: skip
_STORING = {"append", "extend", "insert"}
_GO_OVER_ARGUMENTS = {
    "join", "fromkeys", "update", "union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset",
    "isdisjoint", "intersection_update", "difference_update", "symmetric_difference_update",
}  # fmt: skip
_KEEPING = {"append", "insert", "setdefault", "add"}  # an iterator as it is
# What changes a deque, a Counter or another container.
_CHANGING_OTHERS = {*_CHANGING, "appendleft", "extendleft", "popleft", "rotate", "subtract", "move_to_end"}


def of_built_in_method(call: Call, function: Any, args: tuple, kwargs: dict) -> Any:
    """A call of a method of a container or a text, where that meets what the program decides, or changes the container."""
    if type(function) is not types.BuiltinFunctionType:
        return UNANSWERED
    holder = function.__self__
    if function.__name__ in _GO_OVER_ARGUMENTS and isinstance(holder, (str, set, frozenset, type)):
        together = with_texts_together(args)
        if any(map(operator.is_not, together, args)):
            return call(function, *together, **kwargs)
    if holds_choice(args) and not (isinstance(holder, list) and function.__name__ in _STORING):
        return each_within(lambda given: call(function, *given, **kwargs), args)
    if isinstance(holder, (list, dict, set)) and function.__name__ in _CHANGING:
        require_own(holder)
        places.note_change_of_set(holder, function.__name__)
        made_iterators.require_made_here(*args if function.__name__ not in _KEEPING else ())
    is_sequence = isinstance(holder, (list, tuple)) and function.__name__ in LIST_METHODS
    if is_sequence and is_open_call(function, holder, args, kwargs):
        return LIST_METHODS[function.__name__](holder, *args, **kwargs)
    if isinstance(holder, dict) and function.__name__ in DICT_METHODS and is_keyed_call(function, holder, args):
        return DICT_METHODS[function.__name__](holder, *args, **kwargs)
    if isinstance(holder, (set, frozenset)) and function.__name__ in SET_METHODS and is_keyed_call(function, holder, args):
        return SET_METHODS[function.__name__](holder, *args, **kwargs)
    is_change = isinstance(holder, (list, dict, set)) and function.__name__ in _CHANGING
    if is_change and (journals.is_journaling() or holds_choice(args) or any(map(is_open_list, args))):
        journals.note(places.Contents(holder))
        return function(*args, **(seen_in(call, (), kwargs)[1] if kwargs else kwargs))
    if function.__name__ in _CHANGING_OTHERS and not isinstance(holder, (set, types.ModuleType)):
        if (surroundings := current_surroundings()) is not None:
            surroundings.require_followed(holder)
    if type(holder) is str and function.__name__ in TEXT_METHODS:
        return TEXT_METHODS[function.__name__](function, args, kwargs)
    if type(holder) is str and any([isinstance(one, Deferred) for one in args]):
        return method_of_text(holder, function.__name__)(*args, **kwargs)
    return UNANSWERED


def with_texts_together(args: Sequence[Any]) -> Sequence[Any]:
    """Arguments, of which those that hold several chosen texts are runs of these."""
    return tuple(map(in_one_run, args)) if any(type(one) in (list, tuple) for one in args) and holds_choice(args) else args
