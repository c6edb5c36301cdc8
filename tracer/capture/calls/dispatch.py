"""Calls in rewritten functions: the user's own functions are rewritten in turn, others have meanings for traced values."""

from __future__ import annotations

import collections
import enum
import functools
import operator
import sys
import types
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

from ...calls.again import is_repeating
from ...calls.library_effects import require_no_effect
from ...calls.outside_state import look
from ...calls.outside_state import meaning as meaning_of_state
from ...outside.ownership import is_of_the_user
from ...recording.array import TracedArray
from ...recording.callables import named
from ...recording.current_trace import current_trace
from ...recording.errors import name_of_type
from ...recording.libraries import is_compiled_by_others
from ...recording.operands import has_traced
from ...source.reading import note_source
from ...source.rewriting import reason_against
from .. import journals, made_iterators
from ..choices import Choice, Maybe, without_maybes
from ..distribution import each, each_within, holds_choice
from ..lists.runs import is_open_list
from ..outside.containers import OutsideDict, OutsideList
from ..outside.surroundings import current_surroundings
from ..texts.deferred import Deferred, is_text
from ..texts.methods import method_of_text
from .built_in_methods import of_built_in_method, with_texts_together
from .cached_functions import recorded_call
from .calls_when_run import call_when_run, called_again
from .compiled_functions import done_by_compiled
from .followed_libraries import (
    call_method,
    is_followed_object,
    is_users,
)
from .handed_functions import may_call, seen_in
from .harmless import leaves_no_traces, only_keeps
from .instances import made_instance
from .library_calls import call_library
from .meanings import (
    DICT_METHODS,
    LIST_METHODS,
    MEANINGS,
    NEEDS_ARRAYS,
    SPECIAL_METHODS,
    TAKE_MAYBES,
    UNANSWERED,
    Call,
    meaning_of,
)
from .methods_of_containers import holds_open_list, is_keyed_call
from .numpy_calls import call_numpy, of_numpy, with_arrays
from .old_polynomials import of_old_polynomial
from .ordinary import FUNCTION_OF_ARRAYS, OF_ITERTOOLS, ORDINARY, PLAIN
from .python_functions import not_captured, of_dispatching_method, of_python_function
from .repeated_calls import repeated
from .scipy_functions import meaning_of_scipy
from .users_functions import captured, captured_alone

_GENERIC = (types.GenericAlias, type(Generic[TypeVar("T")]))  # list[int], and the user's Stack[int]
_WITH_CACHE = type(functools.lru_cache(len))
_LEAVE_ITERATORS = {print, str, repr, format, isinstance, type, iter, callable}  # do not go over one when they are called
_OF_EXACT_TYPES = (type, isinstance)  # whose results depend on the type that a number has
_OF_CONTAINERS = (types.WrapperDescriptorType, types.MethodDescriptorType)  # methods that take the container
_CHANGEABLE = (list, dict, set)
_APPENDING = {"append", "extend"}
_TAKE_FUNCTIONS = (map, filter, functools.reduce)
# What goes over the elements of its arguments, and for which it does not matter what these lie in.
_GO_OVER = {sorted, max, min, set, frozenset, collections.Counter}
# These compute with the elements of what they are given, which then are not None.
_COMPUTE = frozenset({max, min, sorted, sum})
# These hand the elements on, whatever they are.
_HAND_ON = frozenset({all, any, dict, enumerate, filter, iter, len, list, map, next, reversed, tuple, zip, *OF_ITERTOOLS})


def call(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """``function(*args, **kwargs)``"""
    if current_trace() is None:
        return function(*args, **kwargs) if not is_repeating() else called_again(function, args, kwargs)
    kind = type(function)
    if kind is types.FunctionType:
        if is_of_the_user(function.__code__.co_filename) and function not in MEANINGS:
            return repeated(function, captured(function), args, kwargs)
    elif kind is types.MethodType and _is_users_own(function):
        return captured(function.__func__)(function.__self__, *args, **kwargs)
    elif kind in ORDINARY and PLAIN.issuperset(map(type, args)):
        if not kwargs or PLAIN.issuperset(map(type, kwargs.values())):
            ordinary = ORDINARY[kind](function, args)
            if ordinary is not None:
                return ordinary(*args, **kwargs)
    if function is globals:
        return sys._getframe(1).f_globals
    for rule in _RULES:
        if (answer := rule(call, function, args, kwargs)) is not UNANSWERED:
            return answer
    return _of_other(call, function, args, kwargs)


def _is_users_own(method: types.MethodType) -> bool:
    """Whether a method is one of the user's, of a class that inherits from no library's, and is called as it is."""
    function, kind = method.__func__, type(method.__self__)
    if type(function) is not types.FunctionType or kind.__base__ is not object or kind is type:
        return False
    return is_of_the_user(function.__code__.co_filename) and function not in MEANINGS


def _of_users_class(call: Call, function: Any, args: tuple, kwargs: dict) -> Any:
    if type(function) is type and _is_written_anew(function) and function not in MEANINGS:
        return made_instance(call, function, args, kwargs)
    return UNANSWERED


def _of_several(call: Call, function: Any, args: tuple, kwargs: dict) -> Any:
    """A call of what may be None or one of several, or where such a function, or a number of one of several types, is given."""
    if type(function) is Maybe:
        return call(function.required(), *args, **kwargs)
    if type(function) is Choice:
        return each(lambda one: call(one, *args, **kwargs), function)
    if kwargs and type(kwargs.get("key")) is Choice:
        return call(function, *args, **{**kwargs, "key": _any_of(kwargs["key"])})
    if not args:
        return UNANSWERED
    if type(args[0]) is Choice and function in _TAKE_FUNCTIONS and all(map(callable, args[0].values)):
        return call(function, _any_of(args[0]), *args[1:], **kwargs)
    if type(args[0]) is TracedArray and args[0].exact is not None and function in _OF_EXACT_TYPES:
        return each(lambda one: call(function, one, *args[1:]), args[0].exact)
    return UNANSWERED


def _any_of(functions: Choice) -> Callable:
    """A function for one of several, where what calls it is done once."""
    return lambda *args: call(functions, *args)


def _of_state_outside(call: Call, function: Any, args: tuple, kwargs: dict) -> Any:
    at_run_time = meaning_of_state(function, (*args, *kwargs.values()))
    return UNANSWERED if at_run_time is None else call_when_run(at_run_time, args, kwargs)


def _of_slot(call: Call, function: Any, args: tuple, kwargs: dict) -> Any:
    """A call of what a class written in C has under a name: ``x.__add__(y)``, ``list.append(values, x)``."""
    kind = type(function)
    if kind is types.MethodWrapperType and (slot := getattr(function.__objclass__, function.__name__)) in MEANINGS:
        return call(slot, function.__self__, *args, **kwargs)
    if kind in _OF_CONTAINERS and args and isinstance(args[0], function.__objclass__) and isinstance(args[0], _CHANGEABLE):
        return call(function.__get__(args[0]), *args[1:], **kwargs)
    if kind in _OF_CONTAINERS and args and function.__objclass__ is str and isinstance(args[0], Deferred) and is_text(args[0]):
        return method_of_text(args[0], function.__name__)(*args[1:], **kwargs)
    if isinstance(getattr(function, "__self__", None), _CHANGEABLE) and function.__name__ in SPECIAL_METHODS:
        return SPECIAL_METHODS[function.__name__](function.__self__, *args)
    return UNANSWERED


def _of_outside_container(call: Call, function: Any, args: tuple, kwargs: dict) -> Any:
    if type(function) is not types.MethodType:
        return UNANSWERED
    holder, name = function.__self__, function.__name__
    if isinstance(holder, OutsideDict) and name in DICT_METHODS:
        if function.__func__ not in MEANINGS and is_keyed_call(function, holder, args):
            return DICT_METHODS[name](holder, *args, **kwargs)
    if isinstance(holder, OutsideList) and name in LIST_METHODS:
        if holder.entries is not None or is_open_list(holder) and name not in _APPENDING:
            return LIST_METHODS[name](holder, *args, **kwargs)
    return UNANSWERED


def _of_open_lists(call: Call, function: Any, args: tuple, kwargs: dict) -> Any:
    """A call that is given lists whose length the program decides, where it has no meaning for such."""
    if _takes_arrays(function) and any(map(holds_open_list, (*args, *kwargs.values()))):
        reads_text = isinstance(function, type) and any(isinstance(one, Deferred) for one in args)  # np.float64("1.5")
        if not reads_text:
            return NEEDS_ARRAYS["numpy"](function, args, kwargs)
    if any(map(is_open_list, args)) or kwargs and any(map(is_open_list, kwargs.values())):
        if meaning_of(function) is None and not _is_written_anew(function) and not only_keeps(function, args):
            return NEEDS_ARRAYS[""](function)
    return UNANSWERED


def _takes_arrays(function: Any) -> bool:
    """Whether this is a function of NumPy's, which makes arrays of lists."""
    if isinstance(getattr(function, "__self__", function), np.ufunc):
        return True
    return (getattr(function, "__module__", None) or "").partition(".")[0] == "numpy"


def _is_written_anew(function: Any) -> bool:
    """Whether what a call of an object runs is the user's own."""
    if isinstance(function, type):
        function = function.__init__
    elif isinstance(function, functools.partial):
        return True
    elif not isinstance(function, types.BuiltinFunctionType):
        function = call_method(type(function))
    return is_users(function)


def _of_meaning(call: Call, function: Any, args: tuple, kwargs: dict) -> Any:
    meaning = meaning_of(function)
    if meaning is None:
        return UNANSWERED
    if function not in TAKE_MAYBES:
        computes = of_numpy(function) or function in _COMPUTE and not kwargs.get("key")
        args = without_maybes(args) if computes else tuple(map(_or_value, args))
        args = with_texts_together(args) if function in _GO_OVER else args
        if holds_choice(args) and not (function in _HAND_ON and all(type(one) is not Choice for one in args)):
            return each_within(lambda given: call(function, *given, **kwargs), args)
    if function not in _LEAVE_ITERATORS:
        made_iterators.require_made_here(*args)
        args = args if function is next else list(map(made_iterators.taken, args))
    return made_iterators.note_iterator(meaning(*args, **kwargs))


def _or_value(argument: Any) -> Any:
    """An argument that is not None; elements of a list that may be None are handed on as they are."""
    return argument.required() if type(argument) is Maybe else argument


def _of_applied(call: Call, function: Any, args: tuple, kwargs: dict) -> Any:
    """A call of what holds a function, or names one, with some of its arguments."""
    kind = type(function)
    if kind is functools.partial:
        applied, first, keywords = function.func, function.args, function.keywords
        if (surroundings := current_surroundings()) is not None:
            applied, first, keywords = surroundings.functions.applied(function)
        return call(applied, *first, *args, **{**keywords, **kwargs})
    if kind is operator.methodcaller or kind is operator.attrgetter:
        return _called_on(function, *args)
    if kind is np.vectorize:
        return MEANINGS[np.vectorize.__call__](function, *args, **kwargs)
    if kind is _WITH_CACHE:
        found = recorded_call(call, function, args, kwargs)
        return look(function, *args, **kwargs) if found is None else found[0]
    return UNANSWERED


def _called_on(caller: Any, holder: Any) -> Any:
    """A call of what `operator.methodcaller` or `operator.attrgetter` has made."""
    made, given = caller.__reduce__()
    if type(caller) is operator.attrgetter:
        found = [functools.reduce(lambda value, part: call(getattr, value, part), name.split("."), holder) for name in given]
        return tuple(found) if len(found) > 1 else found[0]
    name, *args = (*made.args, *given) if type(made) is functools.partial else given
    return call(call(getattr, holder, name), *args, **getattr(made, "keywords", {}))


def _of_class(call: Call, function: Any, args: tuple, kwargs: dict) -> Any:
    if isinstance(function, type):
        if len(args) == 1 and issubclass(function, enum.Enum):  # its members are there already
            return MEANINGS[enum.EnumType](function, *args) if has_traced(args) else function(*args)
        if (meaning := meaning_of_scipy(function, args, kwargs)) is not None:
            return meaning(*args, **kwargs)
        return made_instance(call, function, args, kwargs)
    if type(function) in _GENERIC and isinstance(function.__origin__, type):
        return call(function.__origin__, *args, **kwargs)
    return UNANSWERED


def _of_object(call: Call, function: Any, args: tuple, kwargs: dict) -> Any:
    """A call of an object that the user's class, or one of a library that is followed, lets be called."""
    method = call_method(type(function))
    if is_users(method) or is_followed_object(function):
        return captured(method)(function, *args, **kwargs)
    if isinstance(function, TracedArray):
        raise TypeError(f"'{name_of_type(function.run_time_type)}' object is not callable")
    return UNANSWERED


def _of_other(call: Call, function: Any, args: tuple, kwargs: dict) -> Any:
    """A call of what a library, or Python, has in C: it runs as it is, while the program is traced."""
    require_no_effect(function)
    if journals.may_be_put_back() and not leaves_no_traces(function) and meaning_of_scipy(function, args, kwargs) is None:
        raise not_captured(function)
    if type(function) is FUNCTION_OF_ARRAYS or isinstance(getattr(function, "__self__", function), np.ufunc):
        args, kwargs = with_arrays(function, args, kwargs)
    if may_call(function):
        args, kwargs = seen_in(call, args, kwargs)
    if of_numpy(function):
        return each_within(lambda given: call_numpy(function, given, kwargs), without_maybes(args))
    made_iterators.require_made_here(*args)
    args = tuple(map(made_iterators.taken, args))
    if (meaning := meaning_of_scipy(function, args, kwargs)) is not None:
        return each_within(lambda given: meaning(*given, **kwargs), args)
    if is_compiled_by_others(function):
        return each_within(lambda given: done_by_compiled(function, given, kwargs), args)
    return each_within(lambda given: call_library(function, function, given, kwargs), args)


# Each answers the calls that concern it; those behind it are asked about the others.
_RULES = (
    _of_users_class, _of_several, _of_state_outside, _of_slot, _of_outside_container, of_old_polynomial, of_python_function,
    of_built_in_method, _of_open_lists, _of_meaning, _of_applied, of_dispatching_method, _of_class, _of_object,
)  # fmt: skip


def reason_not_captured(function: Callable[..., Any]) -> str | None:
    """Why the control flow of a function is not captured, None if it is."""
    inner = getattr(named(function), "__func__", named(function))
    if type(function) is types.FunctionType:
        captured_callable(function)  # which says so, where nobody has asked for it yet
    return reason_against(inner) if type(inner) is types.FunctionType else None


def captured_later(function: Callable[..., Any]) -> Callable[[], Callable[..., Any]]:
    """What gives the `captured_callable`, which is made when it is first asked for, of the source as it is now."""
    if type(function) is types.FunctionType:
        note_source(function)
    return functools.lru_cache(maxsize=1)(lambda: captured_callable(function))


def captured_callable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Any callable, so that what it runs is captured."""
    return captured_alone(function) if type(function) is types.FunctionType else functools.partial(call, function)
