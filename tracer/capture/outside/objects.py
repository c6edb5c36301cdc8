"""Objects whose classes have special methods of the user's: operators, iteration, items, context managers, texts.

Python calls these without being asked to. While a function is traced it sees, in place of such an object from outside, one of
a subclass that shares its attributes, and whose special methods are called, and attributes are read, as rewritten functions do
it. An object that the function makes has such a class until the function has returned.
"""

from __future__ import annotations

import abc
import functools
import operator
import types
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from ...outside.ownership import belongs_to_the_user, is_of_the_user
from ...recording import pytree
from ...recording.array import TracedArray
from ...recording.attributes import has_attributes_alone, is_generated, slots_of
from ...recording.current_trace import current_trace
from ...recording.errors import HINTS, ConcretizationError, TracerError
from ...recording.trace import Trace
from ..attributes import getattr_
from ..calls.dispatch import call
from ..calls.meanings import MEANINGS
from ..distribution import truth_of
from ..special_methods import CALLED
from .libraries import meet
from .surroundings import Surroundings, current_surroundings

# With the names of the special methods that the class has had.
_classes: weakref.WeakKeyDictionary[type, tuple[set[str], type | None]] = weakref.WeakKeyDictionary()
_made_classes: weakref.WeakKeyDictionary[type, tuple[set[str], type]] = weakref.WeakKeyDictionary()
_TEXTS = frozenset({"__repr__", "__str__", "__format__"})
# These are called otherwise, or not while a function is traced.
_OTHERS = frozenset({
    "__new__", "__init__", "__del__", "__call__", "__getattribute__", "__getattr__", "__setattr__",
    "__delattr__", "__hash__", "__dir__", "__init_subclass__", "__class_getitem__", "__subclasshook__", "__set_name__",
    "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs__", "__getnewargs_ex__", "__replace__",
    "__get__", "__set__", "__delete__", "__sizeof__",
})  # fmt: skip
# What Python takes of these has to be known.
_OF_PYTHON: dict[str, Callable[[TracedArray], Any]] = {
    "__bool__": bool, "__contains__": bool, "__int__": int, "__float__": float, "__complex__": complex,
    "__index__": TracedArray.__index__, "__len__": TracedArray.__index__, "__length_hint__": TracedArray.__index__,
    "__array__": lambda array: np.asarray(array) if array.known_value is None else np.array(array.known_value),
}  # fmt: skip


def followed(value: Any) -> Any:
    """What stands for an object from outside while a function is traced.

    The object itself where its class has no special methods; None where nothing can stand for it.
    """
    kind = type(value)
    if isinstance(value, (type, types.ModuleType)) or not belongs_to_the_user(kind):
        return value
    names = _special_names(kind) - {"__post_init__"}
    known = _classes.get(kind)
    if known is None or known[0] != names:
        made_of = _following(kind, names) if names and _can_be_shared(kind) else None
        known = _classes[kind] = names, kind if made_of is None and names <= _TEXTS else made_of
    made_of = known[1]
    if made_of is kind or made_of is None:
        return value if made_of is kind else None
    made = object.__new__(made_of)
    if kind.__dictoffset__:
        object.__setattr__(made, "__dict__", object.__getattribute__(value, "__dict__"))
    for slot in slots_of(kind).values():
        with suppress(AttributeError):  # it holds nothing
            slot.__set__(made, slot.__get__(value))
    return made


def class_to_make(kind: type) -> type:
    """The class of which the function makes instances in the place of this one."""
    names = _special_names(kind) if belongs_to_the_user(kind) else set()
    known = _made_classes.get(kind)
    if known is None or known[0] != names:
        known = _made_classes[kind] = names, (names and _following(kind, names, is_made=True)) or kind
    return known[1]


def follow_argument(surroundings: Surroundings, value: Any) -> None:
    """Let the objects in an argument, which has been put together for the function, be followed."""
    apart = pytree.taken_apart(value)
    if apart is None:
        return
    if (made_of := class_to_make(type(value))) is not type(value):
        object.__setattr__(value, "__class__", made_of)
        surroundings.followed_arguments.append(value)
    for part in apart[1]:
        follow_argument(surroundings, part)


def end_following(trace: Trace) -> None:
    """Give the objects that are followed their own class, as the function has returned."""
    for value in (*[made for made, _ in trace.program.made_objects.values()], *trace.program.surroundings.followed_arguments):
        kind = type(value)
        if "followed_methods" in vars(kind) and kind is _made_classes.get(kind.followed_class, (None, None))[1]:
            object.__setattr__(value, "__class__", kind.followed_class)


def _special_names(kind: type) -> set[str]:
    """The special methods of a class that are the user's, and not written by `dataclass`."""
    found: dict[str, Any] = {}
    for base in kind.__mro__[:-1]:
        for name, method in base.__dict__.items():
            if name.startswith("__") and name.endswith("__") and name not in _OTHERS:
                found.setdefault(name, method)
    return {name for name, method in found.items() if type(method) is types.FunctionType and _is_the_users(method)}


def _is_the_users(method: types.FunctionType) -> bool:
    """Whether the user has written a method, or has it from `functools.total_ordering`."""
    return is_of_the_user(method.__code__.co_filename) and not is_generated(method) or method in MEANINGS


def _can_be_shared(kind: type) -> bool:
    """Whether another object can have the attributes of one of this class."""
    return has_attributes_alone(kind) and not kind.__itemsize__


def _following(kind: type, names: set[str], is_made: bool = False) -> type | None:
    """A class like this one whose methods with these names are followed; None where there can be none."""
    if type(kind) not in (type, abc.ABCMeta) or any("__init_subclass__" in base.__dict__ for base in kind.__mro__[:-1]):
        return None
    methods: dict[str, Any] = {name: _method(kind, name) for name in names}
    if "__eq__" in names and kind.__ne__ is object.__ne__:
        methods["__ne__"] = _differs
    methods["followed_methods"] = {name: functools.partial(_called, kind, name) for name in names}
    is_own = type(kind.__hash__) is types.FunctionType and _is_the_users(kind.__hash__)
    methods |= {"__hash__": _hash(kind) if is_own else kind.__hash__, "__qualname__": kind.__qualname__}
    methods |= {"__module__": kind.__module__, "followed_class": kind, "__slots__": ()}
    if not is_made:
        methods["__getattribute__"] = _getattribute
        if kind.__eq__ is object.__eq__ and kind.__hash__ is object.__hash__:
            methods |= {"__eq__": _is_same, "__hash__": lambda self: object.__hash__(_original(self))}
    try:
        made = type(kind)(kind.__name__, (kind,), methods)
    except TypeError:  # a class that is final
        return None
    if is_made:
        pytree.register_as(made, kind)
    return made


def _called(kind: type, name: str, self: Any, /, *args: Any, **kwargs: Any) -> Any:
    """What the user's special method returns, which may be known when the program runs only."""
    function = getattr(kind, name)
    surroundings = current_surroundings()
    if surroundings is not None and not surroundings.is_finished:
        meet(surroundings, kind)
    return call(function, self, *args, **kwargs)


def _method(kind: type, name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = _called(kind, name, self, *args, **kwargs)
        if name in _TEXTS and not isinstance(found, str):
            raise TracerError(
                f"the text of a {kind.__name__} is known when the program runs, and not where Python needs it. "
                "Fix: format or print the object by itself"
            )
        return found if name not in _OF_PYTHON or not isinstance(found, TracedArray) else _OF_PYTHON[name](found)

    def following(self: Any) -> Any:
        """What asks for it has to know whether there is one, or it would ask without end."""
        trace = current_trace()
        known = 0 if trace is None else len(trace.program.error_messages)
        found = _called(kind, name, self)
        new = [] if trace is None else [one for one, *_ in trace.program.error_messages[known:]]
        if any(one is StopIteration or isinstance(one, StopIteration) for one in new):
            flag = TracedArray.from_instruction(trace, trace.read(trace.program.error_flag))
            raise ConcretizationError(flag, f"to know whether a {kind.__name__} has come to its end", HINTS["range"])
        return found

    method.__name__ = following.__name__ = name
    return following if name == "__next__" else method


def _hash(kind: type) -> Callable[[Any], int]:
    """What Python asks for the hash, which has to be known."""

    def method(self: Any) -> int:
        found = kind.__hash__(self)
        return operator.index(found) if isinstance(found, TracedArray) else found

    return method


def _differs(self: Any, other: Any) -> Any:
    """``self != other`` where the class says what is equal alone."""
    found = type(self).followed_methods["__eq__"](self, other)
    if found is NotImplemented or not isinstance(found := truth_of(found), TracedArray):
        return found if found is NotImplemented else not found
    differs = np.logical_not(found)
    differs.weak_type = True
    return differs


def _getattribute(self: Any, name: str) -> Any:
    surroundings = current_surroundings()
    if name.startswith("__") or surroundings is None or surroundings.is_finished:
        return super(object.__getattribute__(self, "followed_class"), self).__getattribute__(name)
    return getattr_(self, name)


def _original(value: Any) -> Any:
    surroundings = current_surroundings()
    return value if surroundings is None else surroundings.original(value)


def _is_same(self: Any, other: Any) -> bool:
    return _original(self) is _original(other)


CALLED.append(_called)
Surroundings.follow, Surroundings.class_to_make = staticmethod(followed), staticmethod(class_to_make)
