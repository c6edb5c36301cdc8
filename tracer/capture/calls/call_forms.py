"""What a call of a user's function depends on while it is traced: calls of one form record the same.

That is told of functions that take arrays and constants, and find no more than these, and functions like them, in closures and
globals. A container or an object may hold something else at the next call.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...outside.ownership import belongs_to_the_user, is_of_the_user
from ...outside.paths import MISSING
from ...recording.array import TracedArray
from ...recording.intervals import interval_of, is_traced_integer
from ...recording.trace import Trace

_PURE_MODULES = frozenset({"builtins", "numpy", "scipy", "math", "cmath", "operator", "_operator", "itertools"})
# What is called so, or is an attribute of that name, may depend on more than it is given, or do more than return something.
_IMPURE_NAMES = frozenset({
    "__builtins__", "__class__", "__closure__", "__code__", "__defaults__", "__dict__", "__globals__", "__import__",
    "__kwdefaults__", "breakpoint", "delattr", "eval", "exec", "globals", "input", "iter", "locals", "next", "open", "random",
    "setattr", "seterr", "vars",
})  # fmt: skip
_FUNCTIONS = (types.BuiltinFunctionType, types.FunctionType, np.ufunc, type(np.sum))
_CONSTANTS = frozenset({int, str, bytes, bool, type(None), type(...), np.dtype, range})
_MOST_BYTES = 64  # of a known array that is part of a form
_MANY_STEPS = 1000


class NotAlike(Exception):
    """A call cannot be compared with others."""


class Array(NamedTuple):
    """An array among the arguments."""

    array: TracedArray
    is_known: bool


class CallForm(NamedTuple):
    """How a function is called. ``kept`` are the objects that the key has by their ids."""

    key: tuple
    arrays: list[Array]
    args: tuple
    kwargs: dict[str, Any]
    kept: list[Any]

    def arguments_with(self, handles: Sequence[TracedArray]) -> tuple[tuple, dict[str, Any]]:
        """The arguments with other arrays."""
        others = {id(array): handle for (array, _), handle in zip(self.arrays, handles)}
        return _replaced(self.args, others), {name: _replaced(value, others) for name, value in self.kwargs.items()}


def _replaced(value: Any, others: dict[int, TracedArray]) -> Any:
    if type(value) is tuple:
        return tuple([_replaced(part, others) for part in value])
    return others.get(id(value), value)


def form_of_call(trace: Trace, function: types.FunctionType, args: tuple, kwargs: dict[str, Any]) -> CallForm | None:
    """The form of a call, None where it cannot be told."""
    finder = _Finder(trace)
    try:
        inputs = [finder.argument(value) for value in args]
        named = [(name, finder.argument(value)) for name, value in kwargs.items()]
        key = (finder.function(function), *inputs, *named, *np.geterr().values())
    except (NotAlike, KeyError):
        return None
    if finder.arrays and all(array.is_known for array in finder.arrays):  # what it returns may be known, too
        return None
    return CallForm(key, finder.arrays, args, kwargs, finder.kept)


def form_in_recursion(trace: Trace, function: types.FunctionType, args: tuple, kwargs: dict[str, Any]) -> tuple | None:
    """What of a call is known while it is traced: a recursion that comes to the same again is ended by the program alone.

    None where it cannot be told.
    """
    finder = _FinderOfKnown(trace)
    try:
        inputs = [finder.argument(value) for value in args]
        return (finder.function(function), *inputs, *[(name, finder.argument(value)) for name, value in kwargs.items()])
    except (NotAlike, KeyError):
        return None


def constant_form(value: Any) -> Any:
    """Equal for equal constants, None for what is none."""
    kind = type(value)
    if kind in _CONSTANTS:
        return kind, value
    if kind in (float, complex):
        return kind, repr(value)  # as numbers, 0.0 and -0.0 are equal
    if isinstance(value, np.generic):
        return kind, value.tobytes()
    if kind is tuple:
        parts = tuple(map(constant_form, value))
        return None if None in parts else (kind, parts)
    return None


class _Finder:
    """Collects what one call depends on."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.arrays: list[Array] = []
        self.kept: list[Any] = []
        self._functions: set[int] = set()

    def argument(self, value: Any) -> Any:
        if type(value) is TracedArray:
            return self._array(value)
        if type(value) is tuple:
            return tuple, *map(self.argument, value)
        return self._value(value)

    def _array(self, value: TracedArray) -> Any:
        for number, (array, _) in enumerate(self.arrays):
            if array is value:
                return number
        storage = value.root_storage
        if storage.may_be_another or value.exact is not None:
            raise NotAlike
        known = value.known_value
        self.arrays.append(Array(value, known is not None))
        if known is not None:
            if known.nbytes > _MOST_BYTES:
                raise NotAlike
            known = known.tobytes()
        form = value.shape, value.element_type, value.weak_type, value.is_scalar, value.unusual_strides, value.is_writeable
        if not is_traced_integer(value):
            return *form, known
        instruction = value.instruction(self.trace)
        return *form, known, interval_of(self.trace, value), self.trace.sources(instruction) is None

    def _value(self, value: Any) -> Any:
        """A value that is no argument, or one that is no array."""
        constant = constant_form(value)
        if constant is not None:
            return constant
        if type(value) is tuple:
            return tuple, *map(self._value, value)
        if type(value) is TracedArray:
            if value.root_storage.may_be_another:
                raise NotAlike
        elif type(value) is types.FunctionType and is_of_the_user(value.__code__.co_filename):
            return self.function(value)
        elif not _stays_the_same(value):
            raise NotAlike
        self.kept.append(value)
        return id(value)

    def function(self, function: types.FunctionType) -> Any:
        if id(function) in self._functions:
            return id(function)
        self._functions.add(id(function))
        self.kept.append(function)
        names = _names_in(function.__code__)
        if names is None or function.__dict__.keys() - {"__wrapped__"}:
            raise NotAlike
        surroundings = self.trace.program.surroundings
        for name in names:
            value = surroundings.functions.global_value(function.__globals__, name)
            if value is not MISSING:
                self._value(value)  # while it is traced the name stands for nothing else
        held = [
            self._value(surroundings.functions.cell_value(cell))
            for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ())
            if name != "_phlox"
        ]
        defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        return id(function), *held, *map(self._value, defaults)


class _FinderOfKnown(_Finder):
    """Collects what is known of what a call depends on: classes of which it makes objects, and arrays of unknown sizes, too."""

    def argument(self, value: Any) -> Any:
        return self._array(value) if isinstance(value, TracedArray) else super().argument(value)

    def _array(self, value: TracedArray) -> Any:
        if value.is_dynamic:
            return value.bounds, value.is_expected_full
        if value.known_value is not None:
            return super()._array(value)
        form = value.shape, value.element_type, value.weak_type, value.is_scalar
        if not is_traced_integer(value):
            return form
        low, high = interval_of(self.trace, value)
        # Of one that is counted up or down both ends move, and come to something known behind so many steps.
        return *form, high - low if high - low >= _MANY_STEPS else (low, high)

    def _value(self, value: Any) -> Any:
        if isinstance(value, type) and belongs_to_the_user(value):
            return id(value)
        return super()._value(value)


def _stays_the_same(value: Any) -> bool:
    """Whether this is a function, a class or a module of a library, which depend on nothing else."""
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[0] in _PURE_MODULES and not belongs_to_the_user(value)
    if isinstance(value, np.ndarray) or value is MISSING:
        return True
    module = getattr(value, "__module__", None) or ("numpy" if isinstance(value, np.ufunc) else "")
    return isinstance(value, (type, *_FUNCTIONS)) and module.partition(".")[0] in _PURE_MODULES


# By the ids of code objects, which are kept with it.
_names: dict[int, tuple[types.CodeType, frozenset[str] | None]] = {}


def _names_in(code: types.CodeType) -> frozenset[str] | None:
    """All names in a function, None where one of them, or what it is, keeps its calls from being alike."""
    known = _names.get(id(code))
    if known is None:
        found = _all_names(code)
        suspends = code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR)
        known = _names[id(code)] = code, None if suspends or found & _IMPURE_NAMES else found
    return known[1]


def _all_names(code: types.CodeType) -> frozenset[str]:
    """Those of inner functions, and texts, as rewritten functions name attributes so, among them."""
    parts = [_all_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    texts = [constant for constant in code.co_consts if isinstance(constant, str)]
    return frozenset(code.co_names).union(texts, *parts)
