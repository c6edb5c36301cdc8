"""All that one trace reads from outside, and sets there."""

from __future__ import annotations

import decimal
import functools
import operator
import types
import weakref
from array import array
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .... import hlo
from ...calls.leaves import RANDOM_GENERATORS, counts_by_contents
from ...calls.random_generators import from_outside, is_traced_generator
from ...outside.guards import (
    Distinct,
    Guard,
    Readable,
    SameAs,
    SameContents,
    SameFunction,
    SameKeys,
    SameLength,
    SameMethod,
    SameObject,
    SameState,
    SameType,
    SameValue,
    is_number,
    is_open_to_others,
)
from ...outside.ownership import belongs_to_the_user, holds_attributes_alone, is_looked_into
from ...outside.paths import MISSING, Argument, Attribute, Called, Fixed, Item, Objects, Path
from ...outside.policy import HiddenNeeded, Policy
from ...outside.values import decimal_context, is_value
from ...recording.array import TracedArray
from ...recording.current_trace import current_trace
from ...recording.device_arrays import ArrayOnDevice
from ...recording.errors import LeakedArrayError, TracerError
from ...recording.intervals import SMALL, number_form_key
from ...recording.ndarrays import array_form, array_form_key, strides_with_gaps
from ...recording.program import Capture
from ...recording.trace import Trace
from . import streams
from .arguments import ArgumentContainers
from .functions import FunctionsOutside
from .kinds import OUTSIDE_CONTAINERS, container_for
from .libraries import meet, meet_object
from .namespaces import Namespace
from .sets import outside_set

NUMBERS: dict[type, type[np.generic]] = {int: np.int64, float: np.float64, complex: np.complex128}
_NO_OBJECTS = (types.ModuleType, types.FunctionType, dict, list, deque)
_LIBRARIES = frozenset({"collections", "numpy"})  # whose classes hold what their methods read
_NUMPY_FUNCTIONS = (np.ufunc, type(np.sum))
_FOLLOWED = (TracedArray, *OUTSIDE_CONTAINERS, set)


class Surroundings:
    """What a trace knows of the world around the traced function.

    ``objects`` are the arguments of this call that are objects. ``guards`` is what has to hold at later calls; ``is_finished``
    once the function has returned. ``follow`` and ``class_to_make`` are those of `objects`,
    ``structured`` that of `structured_arrays`, ``masked`` that of `calls.masked_arrays`, ``texts`` that of `texts.given`.
    """

    follow: Callable[[Any], Any]
    class_to_make: Callable[[type], type]
    structured: Callable[[Surroundings, np.ndarray, Path], Any]
    masked: Callable[[Surroundings, np.ma.MaskedArray, Path], Any]
    texts: Any

    def __init__(self, trace: Trace, policy: Policy, objects: Objects) -> None:
        self.trace, self.policy = trace, policy
        self.guards: dict[Any, Guard] = {}
        self.is_finished = False
        self.names_set_of_classes: set[tuple[type, str]] = set()
        self.methods: set[tuple[type, str]] = set()  # of classes from outside: those that are read, guarded, and not set
        self.opened: set[tuple] = set()  # by `entries_key`: containers whose entries are columns
        self.are_numbers = True  # these entries
        self.keys_given: list[tuple[TracedArray, TracedArray]] = []  # columns of texts that are keys, and how many there are
        self.copied: set[type] = set()  # the types of lists, dicts and objects among these entries: the function gets copies
        self._begin(objects)

    def _begin(self, objects: Objects) -> None:
        self.objects = objects
        self.functions = FunctionsOutside(self)
        self.containers = ArgumentContainers()
        self._holders: dict[int, tuple[Any, Path]] = {}
        self._followed: dict[int, Any] = {}  # by the ids of objects: what stands for those that have special methods
        self._originals: dict[int, Any] = {}  # the other way round
        self.followed_arguments: list[Any] = []  # containers that are objects with special methods
        # By the ids of arrays from outside: arguments that are the same arrays, or parts of memory, and keys of their paths.
        self.aliases: dict[int, tuple[TracedArray, Any]] = {}
        self._handles: dict[int, TracedArray] = {}
        self.arrays_in_parts: dict[int, tuple[Any, Path]] = {}
        self.captured: dict[int, tuple[types.FunctionType, tuple, types.FunctionType]] = {}  # by id: for `calls.captured`
        self._attributes: dict[tuple[int, str], Any] = {}
        self._attributes_read: dict[tuple[int, str], Any] = {}
        self._attributes_set: dict[tuple[int, str], Path] = {}
        self._containers: dict[int, tuple[Any, Any]] = {}

    def forget(self) -> None:
        """Hold nothing from outside any more: a trace that is over refers to itself, and lasts until Python looks for that."""
        self._begin({})

    def argument(self, name: str, value: Any) -> Any:
        """An argument that is not traced: one that is an object is looked into."""
        if name in self.objects:
            return self.convert(self.objects[name], Argument(name))
        if type(value) is decimal.Decimal:
            self._guard_decimal_context()
        return value

    def _guard_decimal_context(self) -> None:
        self.guard(SameValue(Called(decimal_context), decimal_context()))

    # --- values ---

    def guard(self, guard: Guard) -> None:
        self.guards.setdefault((guard.path.key, type(guard)), guard)

    def convert(self, value: Any, path: Path) -> Any:
        """What the traced function sees of a value from outside. The value is a hidden input, guarded, or looked into later."""
        kind = type(value)
        if kind is np.ndarray or isinstance(value, np.ndarray):
            return self._array(value, path)
        if isinstance(value, ArrayOnDevice):
            return self.handle(value, path)
        if isinstance(value, RANDOM_GENERATORS):
            self.guard(SameType(path, kind))
            return from_outside(self.trace, value, path)
        if kind in NUMBERS or isinstance(value, np.generic):
            return self._number(value, path)
        if is_value(value):
            self.guard(SameValue(path, value))
            if kind is decimal.Decimal:
                self._guard_decimal_context()
        elif kind is types.FunctionType:
            self._function(value, path)
        elif kind is types.MethodType:
            self.guard(SameMethod(path, value))
            bound_to = Attribute(path, "__self__")
            if id(value.__self__) in self._holders:
                self.remember(value.__self__, bound_to)
            else:
                self.convert(value.__self__, bound_to)
            if id(value.__self__) in self._followed:
                return types.MethodType(value.__func__, self._followed[id(value.__self__)])
        elif kind is tuple or issubclass(kind, tuple) and hasattr(kind, "_fields"):
            self.guard(SameType(path, kind))
            self.guard(SameLength(path, len(value)))
            items = [self.convert(item, Item(path, position)) for position, item in enumerate(value)]
            return value if all(map(operator.is_, items, value)) else tuple(items) if kind is tuple else kind._make(items)
        elif kind is set or isinstance(value, (dict, list, deque)):
            return self._container(value, path)
        elif kind is frozenset:
            self.guard(SameContents(path, value))
        elif isinstance(value, TracedArray):
            raise LeakedArrayError(value)
        elif isinstance(value, (bytearray, memoryview, array)) or (
            kind.__module__ in _LIBRARIES and kind not in _NUMPY_FUNCTIONS and hasattr(value, "__dict__")
        ):
            return self.opaque(value, path)
        elif isinstance(path, Argument) and kind is functools.partial:
            self._partial(value, path)
        elif isinstance(path, Argument) and holds_attributes_alone(kind):
            self.guard(SameType(path, kind))
            return self._object(value, path)
        else:
            self.guard(SameType(path, kind) if _is_kept_by_nobody(path) else SameObject(path, value))
            if (stream := streams.seen(value, path)) is not None:
                return stream
            if is_looked_into(value):
                return self._object(value, path)
        return value

    def _function(self, value: types.FunctionType, path: Path) -> None:
        """A function among the arguments may be made anew for each call, and do the same."""
        may_be_another = is_open_to_others(value) and isinstance(path.root, Argument)
        self.guard(SameFunction(path, value, may_be_another))
        self.remember(value, path)
        if may_be_another:
            for other, place in list(self._holders.values()):
                if other is not value and isinstance(other, types.FunctionType) and other.__code__ is value.__code__:
                    self.guards[path.key, Distinct, place.key] = Distinct(path, place)

    def _partial(self, value: functools.partial, path: Path) -> None:
        """A partial application among the arguments may be made anew for each call."""
        self.remember(value, path)
        self.convert(value.func, Attribute(path, "func"))
        self.guard(SameLength(Attribute(path, "args"), len(value.args)))
        self.guard(SameKeys(Attribute(path, "keywords"), list(value.keywords)))
        self.functions.applied(value)

    def _object(self, value: Any, path: Path) -> Any:
        """An object whose attributes are looked at when they are asked for."""
        self.remember(value, path)
        if isinstance(path, Argument) or _is_kept_by_nobody(path):
            meet(self, type(value))
        else:
            meet_object(self, value)
        if id(value) not in self._followed:
            made = self.follow(value)
            if made is None:
                return self.opaque(value, path)
            if made is value:
                return value
            self._followed[id(value)], self._originals[id(made)] = made, value
            self._holders[id(made)] = made, path
        return self._followed[id(value)]

    def opaque(self, value: Any, path: Path) -> Any:
        """An object that is read where nobody sees it."""
        self.guard(SameObject(path, value))
        self.remember(value, path)
        self.guard_state(value)
        return value

    def guard_state(self, value: Any) -> None:
        """What an object holds stays the same; for what is read where nobody sees it."""
        self.guard(SameState(self._holders[id(value)][1], self.original(value)))

    def is_object(self, value: Any) -> bool:
        """Whether this is an object from outside that has attributes of its own."""
        return id(value) in self._holders and hasattr(value, "__dict__") and not isinstance(value, (type, *_NO_OBJECTS))

    def original(self, value: Any) -> Any:
        """The user's own object, for one that may stand for it."""
        return self._originals.get(id(value), value)

    def remember(self, value: Any, path: Path) -> None:
        known = self._holders.get(id(value))
        if known is None:
            self._holders[id(value)] = value, path
        elif known[1].key != path.key:
            self.guard(SameAs(path, known[1]))

    def path_of(self, holder: Any) -> Path | None:
        """Where an object comes from, None if the function has made it."""
        known = self._holders.get(id(holder))
        if known is not None:
            return known[1]
        if isinstance(holder, (types.ModuleType, type)) and belongs_to_the_user(holder) and not _is_made_here(holder):
            path = Fixed(holder, holder.__name__)
            self._holders[id(holder)] = holder, path
            meet_object(self, holder)
            return path
        return None

    def _array(self, value: np.ndarray, path: Path) -> Any:
        if counts_by_contents(value):
            self.remember(value, path)
            self.guard_state(value)
            return value
        if value.dtype.names is not None:
            return self.structured(self, value, path)
        if type(value) is np.ma.MaskedArray:
            return self.masked(self, value, path)
        try:
            array_form(value, path.text)
        except TypeError:
            return self.opaque(value, path)
        return self.handle(value, path)

    def in_parts(self, value: np.ndarray, path: Path, make: Callable[[], Any]) -> Any:
        """What stands for an array that is several to the program, made once for all places that hold it."""
        made = self.arrays_in_parts.get(id(value))
        if made is None:
            made = self.arrays_in_parts[id(value)] = make(), path
        elif made[1].key != path.key:
            self.guard(SameAs(path, made[1]))
        return made[0]

    def handle(self, value: np.ndarray, path: Path) -> TracedArray:
        if id(value) in self.aliases:
            handle, place = self.aliases[id(value)]
            # Of an array at this path it is found out before each call where it lies.
            self.guard(Readable(path, value, array_form_key) if path.key == place else SameObject(path, value))
            return handle
        capture = self.trace.captured(value)
        if capture.path is None:
            capture.path = path
            capture.storage.origin = f"{path.text}, an array from outside"
            self.guard(Readable(path, value, array_form_key))
            if path.key in self.policy.known and not isinstance(value, ArrayOnDevice):
                self.guard(SameContents(path, value))
                self.trace.program.known_values[capture.parameter] = np.array(value, value.dtype.newbyteorder("="), order="C")
            self._handles[id(value)] = handle = TracedArray(capture.storage, capture.parameter.shape, is_scalar=False)
            handle.unusual_strides = strides_with_gaps(value) or handle.unusual_strides
        elif capture.path.key != path.key:
            self.guard(SameAs(path, capture.path))
        return self._handles[id(value)]

    def _number(self, value: Any, path: Path) -> Any:
        is_plain = type(value) in NUMBERS
        if not is_number(value) or not self.policy.is_hidden(path.key) or number_form_key(value) is None:
            self.guard(SameValue(path, value))
            return value
        self.guard(Readable(path, value, number_form_key))
        element_type = hlo.element_type_of(np.dtype(NUMBERS[type(value)]) if is_plain else value.dtype)
        capture = self.trace.captured_number(value, element_type, NUMBERS.get(type(value)), path)
        if type(value) is int:
            self.trace.program.python_integers.add(capture.parameter)
            self.trace.program.python_numbers.add(capture.parameter)
            self.trace.program.intervals[capture.parameter] = SMALL
        return TracedArray(capture.storage, hlo.Shape(element_type), is_plain, True)

    def _container(self, value: Any, path: Path) -> Any:
        known = self._containers.get(id(value))
        if known is not None:
            self.guard(SameAs(path, self._holders[id(value)][1]))
            return known[1]
        if type(value) is set:
            made = outside_set(self, value, path)
        else:
            made = container_for(self, value, path)
            if made is None:
                return self.opaque(value, path)
        self._containers[id(value)] = value, made
        self._holders[id(value)] = value, path
        self._holders[id(made)] = made, path
        return made

    # --- attributes ---

    def attribute(self, holder: Any, path: Path, name: str) -> Any:
        """An attribute of an object from outside. Raises AttributeError."""
        holder = self.original(holder)
        key = id(holder), name
        if key in self._attributes:
            value = self._attributes[key]
            if value is MISSING:
                raise AttributeError(f"'{type(holder).__name__}' object has no attribute '{name}'")
            return value
        try:
            value = getattr(holder, name)
            if not (isinstance(holder, types.ModuleType) and name.startswith("__")):
                value = self._converted_attribute(holder, value, Attribute(path, name))
        except AttributeError:
            self._attributes[key] = self._attributes_read[key] = self.convert(MISSING, Attribute(path, name))
            raise
        self._attributes[key] = self._attributes_read[key] = value
        return value

    def _converted_attribute(self, holder: Any, value: Any, path: Attribute) -> Any:
        if isinstance(value, (types.BuiltinFunctionType, types.MethodWrapperType)) and value.__self__ is holder:
            return value  # a method of a type that is not Python's to change
        if not isinstance(value, types.MethodType) and getattr(holder, path.name, MISSING) is not value:
            if is_looked_into(value) and not is_value(value) and not isinstance(value, (np.ndarray, tuple, dict, list)):
                self.guard(SameType(path, type(value)))  # made anew whenever it is read
                self.remember(value, path)
                return value
        return self.convert(value, path)

    def set_attribute(self, holder: Any, path: Path, name: str, value: Any, place: Path | None = None) -> None:
        """MISSING deletes it. ``place`` is where it is set, if not as an attribute."""
        if isinstance(holder, type):
            self.methods.clear()
            self.names_set_of_classes.add((holder, name))
        key = id(self.original(holder)), name
        self._attributes_set[key] = place or Attribute(path, name)
        self._attributes[key] = value

    def has_attribute(self, holder: Any, name: str, is_set: bool = False) -> bool:
        """Whether an attribute has been read or set."""
        return (id(self.original(holder)), name) in (self._attributes_set if is_set else self._attributes)

    def names_set(self, holder: Any) -> list[str]:
        return [name for identity, name in self._attributes_set if identity == id(self.original(holder))]

    # --- what becomes of it ---

    def effects(self) -> list[tuple[str, Path, Any]]:
        """What is to be done behind each call: how, where, and the value as it was traced."""
        found: list[tuple[str, Path, Any]] = []
        found += self.functions.effects()
        for key, path in self._attributes_set.items():
            value = self._attributes[key]
            if key not in self._attributes_read or self._attributes_read[key] is not value:
                found.append(("write", path, value))
        for _, made in list(self._containers.values()):
            if not isinstance(made, set):
                found += made.effects()
        found += self.containers.effects()
        for guard in list(self.guards.values()):
            if isinstance(guard, SameState) and guard.difference(self.objects) is not None:
                guard.put_back(self.objects)
                raise TracerError(
                    f"{guard.path.text} is changed while the function is traced, and would not be changed at each call. Change "
                    "it outside of the function, or let it be a list, a dict, or an object whose attributes are set"
                )
        found += [change for _, made in self._containers.values() if isinstance(made, set) for change in made.effects()]
        self._check_numbers(found)
        return found

    def _check_numbers(self, effects: list[tuple[str, Path, Any]]) -> None:
        """Numbers that are read and set become inputs at once: they would be others at the next call."""
        needed = set()
        for _, path, value in effects:
            guard = self.guards.get((path.key, SameValue))
            if guard is None or path.key in self.policy.known or path.key in self.policy.hidden:
                continue
            both = is_number(guard.value) and isinstance(value, (TracedArray, int, float, complex, np.number))
            if both and not guard.holds(value):
                needed.add(path.key)
        if needed:
            raise HiddenNeeded(needed)

    def place(self, capture: Capture) -> None:
        """An array that was met otherwise than by a path stays the array that it is."""
        if capture.path is None:
            capture.path = Fixed(capture.array, f"an array of shape {capture.array.shape} from outside")
            self.guard(Readable(capture.path, capture.array, array_form_key))

    def require_followed(self, holder: Any) -> None:
        """Raises TracerError for a container from outside that is about to be changed, if its kind is not followed."""
        if id(holder) not in self._holders:  # of modules and classes none is a container
            return
        path = self.path_of(holder)
        if path is not None and not isinstance(holder, _FOLLOWED) and id(holder) not in self._originals:
            raise TracerError(
                f"{path.text}, a {type(holder).__name__}, is changed by the traced function: that is followed for lists, "
                "dicts, sets and deques alone. Use one of these, or return the new value and change it outside"
            )

    def keep_apart(self, changed: Capture, captures: Iterable[Capture]) -> None:
        """An array that is changed in place stays another one than those that were others."""
        for capture in captures:
            if capture is not changed and isinstance(capture.array, (np.ndarray, ArrayOnDevice)):
                self.guards[changed.path.key, Distinct, capture.path.key] = Distinct(changed.path, capture.path)

    def user_container(self, made: Any) -> Any:
        """The user's own container, for one that stands for it; MISSING for another object."""
        return next((value for value, stands in self._containers.values() if stands is made), MISSING)

    def place_of(self, value: Any) -> Path | None:
        """Where an object from outside, or a copy of a container from there, is found; None for another object."""
        if is_traced_generator(value):
            return value.path
        found = self._holders.get(id(value))
        return self.containers.path_of(value) if found is None else found[1]


def _is_kept_by_nobody(path: Path) -> bool:
    """Whether this is what a weak reference refers to: one object, or None once that is gone."""
    return isinstance(path, Called) and isinstance(path.function, weakref.ref)


def _is_made_here(kind: Any) -> bool:
    """Whether this is a class that the function makes while it is traced: by a statement, or with methods."""
    trace = current_trace()
    if trace is not None and id(kind) in trace.program.made_objects:
        return True
    return any([isinstance(getattr(value, "__globals__", None), Namespace) for value in vars(kind).values()])


def current_surroundings() -> Surroundings | None:
    """Those of the trace that this thread records; None where there is none, or it has none."""
    trace = current_trace()
    return None if trace is None else trace.program.surroundings
