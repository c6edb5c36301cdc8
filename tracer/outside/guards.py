"""What has to hold of what was read from outside, so that compiled code still means what the Python call would mean."""

from __future__ import annotations

import functools
import types
from array import array
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar, copy_context
from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np

from .paths import MISSING, Objects, Path
from .values import are_equal


@dataclass(eq=False, slots=True)
class Guard:
    """Something that was seen at a place; ``difference`` says what has changed, None if nothing has."""

    path: Path

    def difference(self, objects: Objects) -> str | None:
        found = self.path.read(objects)
        return None if self.holds(found) else self.words(found)

    def holds(self, found: Any) -> bool:
        raise NotImplementedError

    def words(self, found: Any) -> str:
        raise NotImplementedError


@dataclass(eq=False, slots=True)
class SameValue(Guard):
    """A number, a string or another value that cannot change: what is equal is as good. Of records, which can, a copy."""

    value: Any

    def __post_init__(self) -> None:
        if isinstance(self.value, np.void):
            self.value = self.value.copy()

    def holds(self, found: Any) -> bool:
        return found is self.value or are_equal(found, self.value)

    def words(self, found: Any) -> str:
        return f"{self.path.text}: {short(self.value)} -> {short(found)}"


@dataclass(eq=False, slots=True)
class SameErrorHandling(Guard):
    """What `np.geterr()` says: which errors are raised."""

    value: frozenset[str]
    _held_for: Any = field(default=MISSING, init=False)

    def difference(self, objects: Objects) -> str | None:
        setting = error_handling().get(None)
        if setting is self._held_for:  # `np.seterr` makes another object
            return None
        difference = Guard.difference(self, objects)
        if difference is None:
            self._held_for = setting
        return difference

    def holds(self, found: Any) -> bool:
        return raised_by(found) == self.value

    def words(self, found: Any) -> str:
        return f"np.seterr: raised are {sorted(self.value) or 'none'} -> {sorted(raised_by(found)) or 'none'}"


@functools.cache
def error_handling() -> ContextVar:
    """Where NumPy keeps what `np.seterr` and `np.errstate` say."""
    with np.errstate(all="ignore"):
        return next(variable for variable in copy_context() if variable.name == "numpy.ufunc.extobj")


def raised_by(handling: dict[str, str]) -> frozenset[str]:
    """The kinds of floating-point errors that are raised where this is said."""
    return frozenset([kind for kind, how in handling.items() if how == "raise"])


@dataclass(eq=False, slots=True)
class SameObject(Guard):
    """An object by its identity."""

    value: Any

    def holds(self, found: Any) -> bool:
        return found is self.value

    def words(self, found: Any) -> str:
        if found is MISSING:
            return f"{self.path.text}: {short(self.value)} -> nothing"
        if type(found) is type(self.value):
            return f"{self.path.text}: another {type(found).__name__}"
        return f"{self.path.text}: {short(self.value)} -> {short(found)}"


@dataclass(eq=False, slots=True)
class SameNames(Guard):
    """Names of a library's module or class: the objects that they stand for, MISSING where there is none."""

    held: dict[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> Mapping[str, Any]:
        """The dict that has the names, which always is the same one."""
        holder = self.path.read({})
        return holder if type(holder) is dict else vars(holder)

    def difference(self, objects: Objects) -> str | None:
        names = self.names
        for name, value in self.held.items():
            if (found := names.get(name, MISSING)) is not value:
                return f"{self.path.text}.{name}: {short(value)} -> {short(found)}"
        return None

    def holds(self, found: Any) -> bool:
        return self.difference({}) is None


@dataclass(eq=False, slots=True)
class SameClass(Guard):
    """What a class of the user's inherits from, and all that decides what reads and calls of its instances run.

    ``is_set`` are names that the function sets itself, with the classes that it sets them of.
    """

    bases: tuple[type, ...]
    is_set: set[tuple[type, str]]
    order: tuple[type, ...] = field(init=False)
    held: list[dict[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.order = self.path.read({}).__mro__
        self.held = [_what_is_run(base) for base in self.bases]

    def difference(self, objects: Objects) -> str | None:
        kind = self.path.read(objects)
        if kind.__mro__ is not self.order and kind.__mro__ != self.order:
            return f"class {self.path.text}: other base classes"
        for base, held in zip(self.bases, self.held):
            now = _what_is_run(base)
            if now.keys() == held.keys() and all([now[name] is value for name, value in held.items()]):
                continue
            for name in (*held, *now):
                if now.get(name, MISSING) is not held.get(name, MISSING) and (base, name) not in self.is_set:
                    return f"class {base.__name__}: another {name}"
        return None

    def holds(self, found: Any) -> bool:
        return self.difference({}) is None


def _what_is_run(kind: type) -> dict[str, Any]:
    """Functions and other descriptors of a class, and its special methods, which None leaves out."""
    return {
        name: value
        for name, value in vars(kind).items()
        if hasattr(type(value), "__get__") or name[:2] == "__" and (value is None or callable(value))
    }


@dataclass(eq=False, slots=True)
class SameFunction(SameObject):
    """A function, with what decides what it does. With ``may_be_another``, one that does the same is as good."""

    may_be_another: bool = False
    parts: tuple = field(init=False)

    def __post_init__(self) -> None:
        self.parts = self._parts(self.value)

    @staticmethod
    def _parts(value: Any) -> tuple:
        return value.__code__, value.__defaults__, value.__kwdefaults__

    def holds(self, found: Any) -> bool:
        if found is not self.value and not (self.may_be_another and self._does_the_same(found)):
            return False
        return all(one is other for one, other in zip(self._parts(found), self.parts))

    def _does_the_same(self, found: Any) -> bool:
        return is_open_to_others(found) and found.__globals__ is self.value.__globals__

    def words(self, found: Any) -> str:
        name = getattr(found, "__name__", None)
        return f"{self.path.text}: another function" if name is not None else SameObject.words(self, found)


def is_open_to_others(value: Any) -> bool:
    """Whether code, defaults and globals are all that counts of a function: no variables around it, no attributes."""
    return type(value) is types.FunctionType and value.__closure__ is None and not value.__dict__


@dataclass(eq=False, slots=True)
class SameMethod(SameObject):
    """A method with this function; what it is bound to stands at a place of its own."""

    def holds(self, found: Any) -> bool:
        return type(found) is types.MethodType and found.__func__ is self.value.__func__

    def words(self, found: Any) -> str:
        return f"{self.path.text}: another method" if type(found) is types.MethodType else SameObject.words(self, found)


@dataclass(eq=False, slots=True)
class SameType(Guard):
    """Something of exactly this type, which is looked into."""

    kind: type

    def holds(self, found: Any) -> bool:
        return type(found) is self.kind

    def words(self, found: Any) -> str:
        return f"{self.path.text}: {self.kind.__name__} -> {short(found)}"


@dataclass(eq=False, slots=True)
class SameKeys(Guard):
    """The keys of a dict, in their order."""

    keys: list

    def holds(self, found: Any) -> bool:
        if not isinstance(found, dict) or (keys := list(in_order(found))) != self.keys:
            return False
        return all([one is other or are_equal(one, other) for one, other in zip(keys, self.keys)])

    def words(self, found: Any) -> str:
        return f"{self.path.text}: other keys"


def in_order(table: dict) -> Iterator[Any]:
    """The keys of a dict, also of one whose class has an ``__iter__`` of its own."""
    return (OrderedDict if isinstance(table, OrderedDict) else dict).__iter__(table)


@dataclass(eq=False, slots=True)
class SameLength(Guard):
    """The length of a list."""

    length: int

    def holds(self, found: Any) -> bool:
        return isinstance(found, (list, tuple, deque)) and len(found) == self.length

    def words(self, found: Any) -> str:
        is_sequence = isinstance(found, (list, tuple, deque))
        return f"{self.path.text}: length {self.length} -> {len(found) if is_sequence else short(found)}"


# Equal ones are the same in all that counts.
_OF_ONE_FORM = frozenset({int, bool, str, bytes, type(None)})


@dataclass(eq=False, slots=True)
class SameContents(Guard):
    """What an array or a set holds, of a set in the order in which it is gone over."""

    contents: Any
    elements: tuple[Any, ...] = field(init=False)
    types: tuple[type, ...] = field(init=False)
    are_plain: bool = field(init=False)

    def __post_init__(self) -> None:
        self.elements = () if isinstance(self.contents, np.ndarray) else tuple(self.contents)
        self.types = tuple(map(type, self.elements))
        self.are_plain = _OF_ONE_FORM.issuperset(self.types)
        self.contents = self.contents.copy()

    def holds(self, found: Any) -> bool:
        if type(found) is not type(self.contents):
            return False
        if not isinstance(found, np.ndarray):
            elements = tuple(found)
            if elements != self.elements or tuple(map(type, elements)) != self.types:
                return False
            return self.are_plain or all(map(are_equal, elements, self.elements))
        if found.dtype != self.contents.dtype or found.shape != self.contents.shape:
            return False
        return found.tobytes() == self.contents.tobytes()

    def words(self, found: Any) -> str:
        return f"{self.path.text}: other contents"


@dataclass(eq=False, slots=True)
class SameForm(Guard):
    """What counts of an array of a kind that has code of its own; ``form_of`` tells it, None of what is no such array."""

    form_of: Callable[[Any], Any]
    form: Any

    def holds(self, found: Any) -> bool:
        return are_equal(self.form_of(found), self.form)

    def words(self, found: Any) -> str:
        form = self.form_of(found)
        return f"{self.path.text}: {short(self.form)} -> {short(found if form is None else form)}"


@dataclass(eq=False, slots=True)
class SameState(Guard):
    """All that an object holds."""

    value: InitVar[Any]
    state: Any = field(init=False)

    def __post_init__(self, value: Any) -> None:
        self.state = state_of(value)

    def holds(self, found: Any) -> bool:
        return state_of(found) == self.state

    def words(self, found: Any) -> str:
        return f"{self.path.text}: other contents"

    def put_back(self, objects: Objects) -> None:
        """Gives an array, as of dates, that an operator has changed in place its contents again."""
        found = self.path.read(objects)
        if isinstance(found, np.ndarray) and found.dtype.kind != "O":
            _, dtype, shape, contents = self.state
            found[...] = np.frombuffer(contents, dtype).reshape(shape)


def state_of(value: Any, seen: tuple[int, ...] = ()) -> Any:
    """What an object holds, such that what is equal is as good: itself where that is not known."""
    kind = type(value)
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
        return kind, repr(value)
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return kind, value.dtype, value.shape, value.tobytes()
    if isinstance(value, (types.FunctionType, types.ModuleType, type)) or id(value) in seen:
        return kind, id(value)
    within = (*seen, id(value))
    parts: list[Any] = [kind, id(value)]
    if isinstance(value, dict):
        parts += [(state_of(key, within), state_of(dict.get(value, key), within)) for key in in_order(value)]
    elif isinstance(value, np.ndarray):
        parts += [value.shape, *(state_of(item, within) for item in value.ravel().tolist())]
    elif isinstance(value, (list, tuple, deque)):
        parts += [state_of(item, within) for item in value]
    elif isinstance(value, (set, frozenset)):
        parts.append(frozenset(state_of(item, within) for item in value))
    elif isinstance(value, (bytearray, memoryview, array)):
        parts.append(bytes(value))
    slots = [name for base in kind.__mro__ for name in base.__dict__.get("__slots__", ()) if name != "__dict__"]
    attributes = {**getattr(value, "__dict__", {}), **{name: getattr(value, name, MISSING) for name in slots}}
    parts += [(name, state_of(item, within)) for name, item in attributes.items()]
    return tuple(parts)


@dataclass(eq=False, slots=True)
class SameAs(Guard):
    """Two places hold one object."""

    other: Path

    def difference(self, objects: Objects) -> str | None:
        same = self.path.read(objects) is self.other.read(objects)
        return None if same else f"{self.path.text} and {self.other.text} are no longer the same object"


@dataclass(eq=False, slots=True)
class Distinct(Guard):
    """Two places hold different objects."""

    other: Path

    def difference(self, objects: Objects) -> str | None:
        same = self.path.read(objects) is self.other.read(objects)
        return f"{self.path.text} and {self.other.text} have become the same object" if same else None


@dataclass(eq=False, slots=True)
class Readable(Guard):
    """An array or a number that is an input at each call: what was compiled for its ``form`` fits."""

    value: InitVar[Any]
    form_of: Callable[[Any], Any]
    form: Any = field(init=False)
    facts: dict[str, str] = field(init=False)

    def __post_init__(self, value: Any) -> None:
        self.form, self.facts = self.form_of(value), _facts(value)

    def holds(self, found: Any) -> bool:
        return self.form_of(found) == self.form

    def words(self, found: Any) -> str:
        before, now = self.facts, _facts(found)
        changed = [fact for fact in before if fact in now and before[fact] != now[fact]]
        if not changed:
            return f"{self.path.text}: {', '.join(before.values())} -> {short(found)}"
        return "; ".join(f"{self.path.text}: {fact} {before[fact]} -> {now[fact]}" for fact in changed)


def _facts(value: Any) -> dict[str, str]:
    if isinstance(value, np.ndarray):
        order = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "strided"
        return {"shape": str(value.shape), "dtype": str(value.dtype), "memory order": order}
    return {"type": type(value).__name__}


def is_number(value: Any) -> bool:
    """Whether a value may be an input of a program."""
    if isinstance(value, np.generic):
        return type(value).__module__ == "numpy" and value.dtype.kind in "iufc"
    return type(value) in (int, float, complex)


def short(value: Any) -> str:
    """A value in messages."""
    if isinstance(value, np.ndarray):
        return f"an array {value.dtype}{list(value.shape)}"
    if type(value) is tuple and value:
        return f"({', '.join(map(short, value))})"
    text = repr(value) if isinstance(value, (np.dtype, int, float, complex, str, bytes, bool, type(None), np.generic)) else None
    if text is None:
        return f"{getattr(value, '__name__', None) or 'a ' + type(value).__name__}" if value is not MISSING else "nothing"
    return text if len(text) <= 40 else text[:37] + "..."
