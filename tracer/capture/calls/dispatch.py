"""Calls in rewritten functions: the user's own functions are rewritten in turn, others have meanings for traced values."""

from __future__ import annotations

import collections
import enum
import functools
import operator
import random
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from ...calls.again import is_repeating, once
from ...calls.library_effects import require_no_effect
from ...calls.outside_state import look, writes_to_standard_stream
from ...calls.outside_state import meaning as meaning_of_state
from ...calls.random_generators import LIBRARY, method_of_generator, name_of_method
from ...outside.ownership import belongs_to_the_user, is_followed_of_traced, is_of_the_user
from ...recording.array import TracedArray
from ...recording.attributes import factories_left_out, factories_of, has_attributes_alone, is_generated
from ...recording.callables import named
from ...recording.current_trace import current_trace
from ...recording.errors import ConcretizationError, TracerError, name_of_type
from ...recording.libraries import is_compiled_by_others
from ...recording.operands import has_traced
from ...source.reading import note_source
from ...source.rewriting import reason_against
from .. import journals, made_iterators, places
from ..choices import Choice, Maybe, without_maybes
from ..copies import require_own
from ..distribution import each, each_within, holds_choice
from ..lists.references import kept
from ..lists.runs import is_open_list
from ..lists.text_ranks import in_one_run
from ..loops.trials import attempt, drop_effects
from ..outside.containers import OutsideDict, OutsideList
from ..outside.libraries import meet
from ..outside.surroundings import current_surroundings
from ..special_methods import special_method
from ..texts.deferred import Deferred
from .cached_functions import recorded_call
from .compiled_functions import done_by_compiled
from .followed_libraries import (
    call_method,
    is_called_by_followed,
    is_followed,
    is_followed_object,
    is_users,
    may_call_the_users,
)
from .harmless import leaves_no_traces, only_keeps
from .library_calls import call_library
from .meanings import (
    DICT_METHODS,
    LIST_METHODS,
    MADE_BY_PYTHON,
    MEANINGS,
    NEEDS_ARRAYS,
    SAYING,
    SET_METHODS,
    SPECIAL_METHODS,
    TAKE_MAYBES,
    TEXT_METHODS,
)
from .methods_of_containers import holds_open_list, is_keyed_call, is_open_call
from .numpy_calls import call_numpy, of_numpy, with_arrays
from .ordinary import FUNCTION_OF_ARRAYS, OF_ITERTOOLS, ORDINARY, PLAIN
from .repeated_calls import repeated
from .scipy_functions import meaning_of_scipy
from .users_functions import captured, captured_alone

_GENERIC = (types.GenericAlias, type(Generic[TypeVar("T")]))  # list[int], and the user's Stack[int]
_WITH_CACHE = type(functools.lru_cache(len))
_LEAVE_ITERATORS = {print, str, repr, format, isinstance, type, iter, callable}  # do not go over one when they are called
_OF_EXACT_TYPES = (type, isinstance)  # whose results depend on the type that a number has
_OF_CONTAINERS = (types.WrapperDescriptorType, types.MethodDescriptorType)  # methods that take the container
_CHANGEABLE = (list, dict, set)
_CALLED_ANEW = (operator.methodcaller, operator.attrgetter, types.MethodWrapperType)  # in place of a function of the user's
_CHANGING = {
    "append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "setdefault", "popitem", "add",
    "discard",
}  # fmt: skip
_STORING = {"append", "extend", "insert"}
_APPENDING = {"append", "extend"}
_TAKE_FUNCTIONS = (map, filter, functools.reduce)
# What goes over the elements of its arguments, and for which it does not matter what these lie in.
_GO_OVER = {sorted, max, min, set, frozenset, collections.Counter}
_GO_OVER_ARGUMENTS = {
    "join", "fromkeys", "update", "union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset",
    "isdisjoint", "intersection_update", "difference_update", "symmetric_difference_update",
}  # fmt: skip
_KEEPING = {"append", "insert", "setdefault", "add"}  # an iterator as it is
# What changes a deque, a Counter or another container.
_CHANGING_OTHERS = {*_CHANGING, "appendleft", "extendleft", "popleft", "rotate", "subtract", "move_to_end"}


def call(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """``function(*args, **kwargs)``"""
    if current_trace() is None:
        return function(*args, **kwargs) if not is_repeating() else _called_again(function, args, kwargs)
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
    if kind is type and _is_written_anew(function) and function not in MEANINGS:
        return _made(function, args, kwargs)
    if kind is Maybe:
        return call(function.required(), *args, **kwargs)
    if kind is Choice:
        return each(lambda one: call(one, *args, **kwargs), function)
    if kwargs and type(kwargs.get("key")) is Choice:
        kwargs["key"] = _any_of(kwargs["key"])
    elif args and type(args[0]) is Choice and function in _TAKE_FUNCTIONS and all(map(callable, args[0].values)):
        args = (_any_of(args[0]), *args[1:])
    if args and type(args[0]) is TracedArray and args[0].exact is not None and function in _OF_EXACT_TYPES:
        return each(lambda one: call(function, one, *args[1:]), args[0].exact)
    at_run_time = meaning_of_state(function, (*args, *kwargs.values()))
    if at_run_time is not None:
        return _call_when_run(at_run_time, args, kwargs)
    if kind is types.MethodWrapperType and (slot := getattr(function.__objclass__, function.__name__)) in MEANINGS:
        return call(slot, function.__self__, *args, **kwargs)
    if kind in _OF_CONTAINERS and args and isinstance(args[0], function.__objclass__) and isinstance(args[0], _CHANGEABLE):
        return call(function.__get__(args[0]), *args[1:], **kwargs)
    if isinstance(getattr(function, "__self__", None), _CHANGEABLE) and function.__name__ in SPECIAL_METHODS:
        return SPECIAL_METHODS[function.__name__](function.__self__, *args)
    if kind is types.MethodType and isinstance(function.__self__, OutsideDict) and function.__name__ in DICT_METHODS:
        if function.__func__ not in MEANINGS and is_keyed_call(function, function.__self__, args):
            return DICT_METHODS[function.__name__](function.__self__, *args, **kwargs)
    if kind is types.MethodType and isinstance(function.__self__, OutsideList) and function.__name__ in LIST_METHODS:
        holder = function.__self__
        if holder.entries is not None or is_open_list(holder) and function.__name__ not in _APPENDING:
            return LIST_METHODS[function.__name__](holder, *args, **kwargs)
    if kind is types.FunctionType or kind is types.MethodType:
        inner = function if kind is types.FunctionType else function.__func__
        if type(inner) is types.FunctionType:
            if kind is types.MethodType and vars(type(function.__self__)).get(inner.__name__) is inner:
                if (special := special_method(function.__self__, inner.__name__)) is not None:  # called by its name
                    return special(*args, **kwargs)
            try:
                meaning = MEANINGS.get(inner)
            except TypeError:
                meaning = None
            if meaning is None and is_of_the_user(inner.__code__.co_filename):
                if kind is types.FunctionType:
                    return repeated(inner, captured(inner), args, kwargs)
                inner = captured(inner)
            elif holds_choice(args):
                return each_within(lambda given: call(function, *given, **kwargs), args)
            elif meaning is not None:
                inner = meaning
            elif (meaning := meaning_of_scipy(inner, args, kwargs)) is not None:
                inner = meaning
            elif is_followed(inner, args, kwargs) or kind is types.MethodType and is_followed_object(function.__self__):
                inner = captured(inner)
            elif is_followed_of_traced(inner) and is_called_by_followed() and journals.may_be_put_back():
                inner = captured(inner)  # which may warn, or raise an error
            elif may_call_the_users(inner, args, kwargs):
                if not is_called_by_followed():
                    return _followed_if_needed(function, inner, args, kwargs)
                inner = captured(inner)
            elif inner.__code__ is _DISPATCHING_METHODS:
                raise _not_followed(functools.singledispatchmethod)
            elif journals.may_be_put_back() and not leaves_no_traces(function):
                require_no_effect(function)
                raise _not_captured(function)
            elif kind is types.MethodType and isinstance(function.__self__, TracedArray) and any(map(is_open_list, args)):
                return NEEDS_ARRAYS["numpy"](function, args, kwargs)
            else:
                require_no_effect(function)
                args, kwargs = _seen_in(args, kwargs)
                if of_numpy(inner):
                    return call_numpy(function, args, kwargs)
                if inner.__code__ is _DISPATCHING:
                    return call(look(inner.dispatch, MEANINGS[type](args[0])), *args, **kwargs)
                if kind is types.MethodType and isinstance(function.__self__, OutsideDict):
                    return function(*args, **kwargs)  # which notes what it changes, and reads what it is asked for
                held = () if kind is types.FunctionType else (function.__self__,)
                return call_library(function, _wrapping_captured(inner), (*held, *args), kwargs)
            return inner(*args, **kwargs) if kind is types.FunctionType else inner(function.__self__, *args, **kwargs)
        return call(inner, function.__self__, *args, **kwargs)
    if kind is types.BuiltinFunctionType:
        holder = function.__self__
        if function.__name__ in _GO_OVER_ARGUMENTS and isinstance(holder, (str, set, frozenset, type)):
            args = _with_texts_together(args)
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
            return function(*args, **(_seen_in((), kwargs)[1] if kwargs else kwargs))
        if function.__name__ in _CHANGING_OTHERS and not isinstance(holder, (set, types.ModuleType)):
            if (surroundings := current_surroundings()) is not None:
                surroundings.require_followed(holder)
        if type(holder) is str and function.__name__ in TEXT_METHODS:
            return TEXT_METHODS[function.__name__](function, args, kwargs)
    try:
        meaning = MEANINGS.get(function)
    except TypeError:  # not hashable
        meaning = None
    if _takes_arrays(function) and any(map(holds_open_list, (*args, *kwargs.values()))):
        reads_text = isinstance(function, type) and any(isinstance(one, Deferred) for one in args)  # np.float64("1.5")
        if not reads_text:
            return NEEDS_ARRAYS["numpy"](function, args, kwargs)
    if any(map(is_open_list, args)) or kwargs and any(map(is_open_list, kwargs.values())):
        if meaning is None and not _is_written_anew(function) and not only_keeps(function, args):
            return NEEDS_ARRAYS[""](function)
    if meaning is not None:
        if function not in TAKE_MAYBES:
            computes = of_numpy(function) or function in _COMPUTE and not kwargs.get("key")
            args = without_maybes(args) if computes else tuple(map(_or_value, args))
            args = _with_texts_together(args) if function in _GO_OVER else args
            if holds_choice(args) and not (function in _HAND_ON and all(type(one) is not Choice for one in args)):
                return each_within(lambda given: call(function, *given, **kwargs), args)
        if function not in _LEAVE_ITERATORS:
            made_iterators.require_made_here(*args)
            args = args if function is next else list(map(made_iterators.taken, args))
        return made_iterators.note_iterator(meaning(*args, **kwargs))
    if kind is functools.partial:
        applied, first, keywords = function.func, function.args, function.keywords
        if (surroundings := current_surroundings()) is not None:
            applied, first, keywords = surroundings.functions.applied(function)
        return call(applied, *first, *args, **{**keywords, **kwargs})
    if kind is _DISPATCHING_METHODS:
        raise _not_followed(functools.singledispatchmethod)
    if kind is operator.methodcaller or kind is operator.attrgetter:
        return _called_on(function, *args)
    if function is globals:
        return sys._getframe(1).f_globals
    if kind is _WITH_CACHE:
        found = recorded_call(call, function, args, kwargs)
        return look(function, *args, **kwargs) if found is None else found[0]
    if isinstance(function, type):
        if len(args) == 1 and issubclass(function, enum.Enum):  # its members are there already
            return MEANINGS[enum.EnumType](function, *args) if has_traced(args) else function(*args)
        return _made(function, args, kwargs)
    if kind in _GENERIC and isinstance(function.__origin__, type):
        return call(function.__origin__, *args, **kwargs)
    method = call_method(kind)
    if is_users(method) or is_followed_object(function):
        return captured(method)(function, *args, **kwargs)
    if isinstance(function, TracedArray):
        raise TypeError(f"'{name_of_type(function.run_time_type)}' object is not callable")
    require_no_effect(function)
    if journals.may_be_put_back() and not leaves_no_traces(function) and meaning_of_scipy(function, args, kwargs) is None:
        raise _not_captured(function)
    if kind is FUNCTION_OF_ARRAYS or isinstance(getattr(function, "__self__", function), np.ufunc):
        args, kwargs = with_arrays(function, args, kwargs)
    if _may_call(function):
        args, kwargs = _seen_in(args, kwargs)
    if of_numpy(function):
        return each_within(lambda given: call_numpy(function, given, kwargs), without_maybes(args))
    made_iterators.require_made_here(*args)
    args = tuple(map(made_iterators.taken, args))
    if (meaning := meaning_of_scipy(function, args, kwargs)) is not None:
        return each_within(lambda given: meaning(*given, **kwargs), args)
    if is_compiled_by_others(function):
        return each_within(lambda given: done_by_compiled(function, given, kwargs), args)
    return each_within(lambda given: call_library(function, function, given, kwargs), args)


def _any_of(functions: Choice) -> Callable:
    """A function for one of several, where what calls it is done once."""
    return lambda *args: call(functions, *args)


def _with_texts_together(args: Sequence[Any]) -> Sequence[Any]:
    """Arguments, of which those that hold several chosen texts are runs of these."""
    return tuple(map(in_one_run, args)) if any(type(one) in (list, tuple) for one in args) and holds_choice(args) else args


def _or_value(argument: Any) -> Any:
    """An argument that is not None; elements of a list that may be None are handed on as they are."""
    return argument.required() if type(argument) is Maybe else argument


def _called_on(caller: Any, holder: Any) -> Any:
    """A call of what `operator.methodcaller` or `operator.attrgetter` has made."""
    made, given = caller.__reduce__()
    if type(caller) is operator.attrgetter:
        found = [functools.reduce(lambda value, part: call(getattr, value, part), name.split("."), holder) for name in given]
        return tuple(found) if len(found) > 1 else found[0]
    name, *args = (*made.args, *given) if type(made) is functools.partial else given
    return call(call(getattr, holder, name), *args, **getattr(made, "keywords", {}))


# These compute with the elements of what they are given, which then are not None.
_COMPUTE = frozenset({max, min, sorted, sum})
# These hand the elements on, whatever they are.
_HAND_ON = frozenset({all, any, dict, enumerate, filter, iter, len, list, map, next, reversed, tuple, zip, *OF_ITERTOOLS})


def _is_users_own(method: types.MethodType) -> bool:
    """Whether a method is one of the user's, of a class that inherits from no library's, and is called as it is."""
    function, kind = method.__func__, type(method.__self__)
    if type(function) is not types.FunctionType or kind.__base__ is not object or kind is type:
        return False
    return is_of_the_user(function.__code__.co_filename) and function not in MEANINGS


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


def _followed_if_needed(function: Any, inner: types.FunctionType, args: tuple, kwargs: dict) -> Any:
    """A call of a library's function that is given known values and a function of the user's.

    Where that gives traced values, on which the library's function decides, it is followed.
    """
    held = () if function is inner else (function.__self__,)
    if not journals.may_be_put_back():
        trace, written = current_trace(), {}
        recorded = len(trace.builder.instructions)
        seen, seen_by_name = _seen_in(args, kwargs)
        try:
            with trace.logging_writes(written):
                return attempt(lambda: inner(*held, *seen, **seen_by_name), (), places.NO_NAMES)
        except ConcretizationError:
            drop_effects(trace, recorded, written)
    return captured(inner)(*held, *args, **kwargs)


_DISPATCHING = functools.singledispatch(len).__code__
_dispatching_method = functools.singledispatchmethod(len).__get__(0, int)
_DISPATCHING_METHODS = getattr(_dispatching_method, "__code__", type(_dispatching_method))  # from Python 3.14 on a class


def _not_followed(function: Any) -> TracerError:
    return TracerError(f"functools.{function.__name__} is not followed while a function is traced; decide by isinstance")


def _may_call(function: Any) -> bool:
    """Whether a function of a library may call what is among its arguments."""
    holder = getattr(function, "__self__", None)
    if holder is operator.add.__self__:
        return function.__name__ == "call"
    return not isinstance(holder, (list, dict, set)) or function.__name__ == "sort"


def _seen_in(args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """The arguments of a library's function, with functions of the user's, which it may call, captured."""
    return tuple(map(_seen, args)), {name: _seen(value) for name, value in kwargs.items()}


def _seen(value: Any) -> Any:
    if not callable(value):
        return value
    kind = type(value)
    if kind is types.FunctionType:
        return captured(value) if is_of_the_user(value.__code__.co_filename) else value
    if kind is types.MethodType:
        return types.MethodType(captured(value.__func__), value.__self__) if is_users(value.__func__) else value
    if kind is functools.partial:
        return value if _seen(value.func) is value.func else functools.partial(call, value)
    if kind in _CALLED_ANEW:
        return functools.partial(call, value)
    method = None if isinstance(value, type) else call_method(kind)
    return functools.partial(captured(method), value) if is_users(method) else value


def _wrapping_captured(function: types.FunctionType) -> types.FunctionType:
    """A function of a library, and around those of the user's that it holds, as `contextlib.contextmanager` makes it."""
    cells = function.__closure__ or ()
    seen = []
    for cell in cells:
        try:
            value = cell.cell_contents
        except ValueError:  # it is empty
            return function
        seen.append(_seen(value) if type(value) is types.FunctionType or type(value) is types.MethodType else value)
    if all(one is cell.cell_contents for one, cell in zip(seen, cells)):
        return function
    made = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, tuple(map(types.CellType, seen))
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _call_when_run(function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """A call of what has to do with a state outside; generators are given lists as they are to take them."""
    if name_of_method(function) == "shuffle" and args and isinstance(args[0], list):
        require_own(args[0])
        journals.note(places.Contents(args[0]))
        if is_open_list(args[0]):
            return LIBRARY["shuffled"](method_of_generator(function)[0], *args, **kwargs)
        return function(*args, **kwargs)  # the list itself
    if (found := method_of_generator(function)) is not None and any(map(is_open_list, (*args, *kwargs.values()))):
        if isinstance(found[0], random.Random):
            return _drawn_by_python(*found, args, kwargs)
        args = tuple(map(_as_numpy_takes_it, args))
        kwargs = {name: _as_numpy_takes_it(value) for name, value in kwargs.items()}
    return function(*without_maybes(args), **kwargs)


def _drawn_by_python(generator: Any, method: str, args: tuple, kwargs: dict) -> Any:
    """What a method of one of Python's generators gives of lists whose length the program decides."""
    if method != "choice":
        raise NotImplementedError(
            f"{method} of a generator, of a list whose length the program decides or differs from call to call, "
            "is not implemented. Fix: choose from it, or shuffle it"
        )
    return LIBRARY["element"](generator, *args, **kwargs)


def _as_numpy_takes_it(value: Any) -> Any:
    """An array in the place of a list whose length the program decides."""
    return call(np.array, value) if is_open_list(value) else value


def _called_again(function: Any, args: tuple, kwargs: dict) -> Any:
    """A call where Python makes a call again that the program has made."""
    kind = type(function)
    is_function = kind in (types.FunctionType, types.BuiltinFunctionType, type(np.save))
    if is_function and function in MADE_BY_PYTHON:
        return MADE_BY_PYTHON[function](*args, **kwargs)
    if writes_to_standard_stream(function) or is_function and function in SAYING:
        return once(function, *args, **kwargs)
    if kind is types.MethodType:
        return _called_again(function.__func__, (function.__self__, *args), kwargs)
    if kind is types.FunctionType and is_of_the_user(function.__code__.co_filename):
        function = captured(function)
    return function(*args, **kwargs)


def _not_captured(function: Any) -> TracerError:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return TracerError(
        f"{name} is called in a loop or a branch that depends on traced values; what it does besides returning something, and "
        "what it returns the next time, cannot be captured. Call it outside of the loop or branch"
    )


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


def _made(kind: type, args: tuple, kwargs: dict) -> Any:
    """An instance of a class, whose ``__init__``, if it has one, is captured if it is the user's."""
    new, initialize, surroundings = kind.__new__, kind.__init__, current_surroundings()
    if surroundings is not None:
        meet(surroundings, kind)
    is_error = issubclass(kind, BaseException) and type(new) is types.BuiltinFunctionType
    is_plain = is_error or new is object.__new__ or has_attributes_alone(kind) and is_users(new)
    has_none = initialize is object.__init__ and (is_users(new) or not args and not kwargs)
    follows = type(initialize) is types.FunctionType and (
        is_followed(initialize, args, kwargs) or may_call_the_users(initialize, args, kwargs)
    )
    is_captured = has_none or follows or is_users(initialize)
    factories = factories_of(kind) if is_generated(initialize) else []
    if factories:
        left_out = factories_left_out(factories, initialize, args, kwargs)
        kwargs = {**kwargs, **{name: call(factory) for name, factory in left_out.items()}}
    if type(kind).__call__ is not type.__call__ or not is_plain or not is_captured:
        if not belongs_to_the_user(kind):
            made_iterators.require_made_here(*args)
            args, kwargs = _seen_in(args, kwargs)
            require_no_effect(kind)
        made = kind(*args, **kwargs) if belongs_to_the_user(kind) else call_library(kind, kind, args, kwargs)
        if surroundings is not None and type(made) is kind and isinstance(made, tuple):
            made.__class__ = surroundings.class_to_make(kind)
        journals.note_made(made)
        return kept(made)
    if is_users(new):
        made = captured(new)(kind, *args, **kwargs)
    else:
        made = new(kind, *args) if is_error else MEANINGS[object.__new__](kind)
        journals.note_made(made)
        if follows:
            current_trace().program.followed_objects[id(made)] = made
    if not has_none and isinstance(made, kind):
        captured(initialize)(made, *args, **kwargs)
    for one in factories:
        if not one.init and isinstance(held := getattr(made, one.name), (list, dict, set)):
            if one.default_factory() is not held:  # one that it always gives is from outside
                journals.note_made(held)
    return kept(made)
