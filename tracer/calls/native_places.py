"""The places that a native call reads: parts of arguments, and what stands outside."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from functools import partial
from types import MappingProxyType, NoneType
from typing import Any

import numpy as np

from ...hlo import Shape
from ...runtime.bit_generators import offset_of
from ..outside import paths
from ..outside.entries import Columns, Entries, entries_key
from ..recording import pytree
from ..recording.intervals import SMALL
from ..recording.ndarrays import array_form_key
from .leaves import (
    RANDOM_GENERATORS,
    Leaf,
    ObjectLeaf,
    PackedLeaf,
    TextLeaf,
    TracedLeaf,
    is_known_by_identity,
    is_one_object,
    static_key,
)

# Whose entries are Python's own to read and to change.
_AS_COLUMNS = frozenset({dict, Counter, defaultdict, set, list})


# Of containers of one type, of which each call sees that they are not the same.
_MOST_PAIRS = 10_000


class NotNative(Exception):
    """A call has to go through Python."""


class Around:
    """Collects the places of a native call.

    types: the backend's. slots: the numbers of the data pointers, by the names of leaves and by the keys of paths; changed:
    those of arrays that are changed in place. objects: the arguments that are objects. packs: leaves that are one parameter
    together.
    """

    def __init__(
        self, types: Any, slots: dict[Any, int], changed: set[int], objects: paths.Objects, packs: Sequence[PackedLeaf] = ()
    ) -> None:
        self.types, self.slots, self.changed, self.objects = types, slots, changed, objects
        # By the names of leaves: where the pack begins, where they stand, and how many there are in it.
        self.packed: dict[str, tuple[int, int, int]] = {}
        first = 0
        for pack in packs:
            count = len(pack.members)
            self.packed |= {path: (first, first + place, count) for place, (_, path) in enumerate(pack.members)}
            first += types.size_of_texts(count, pack.shape.size - 2 * count) if pack.kind == "texts" else count
        self.places: list[dict[str, Any]] = []
        self.identities: dict[tuple, Any] = {}  # by the keys of paths: objects of which memory tells that they stand there
        self._leaves: dict[str, int] = {}  # by their names
        self._containers: list[tuple[int, type]] = []  # those that can be changed, with their types
        self.columns_made: set[Columns] = set()  # by Python, at each call
        self._opened: list[tuple[int, type]] = []  # those that are read as what is outside
        self._known: dict[tuple, int] = {}  # by the keys of paths

    def finished(self) -> list[Any]:
        return [self.types.Place(**place) for place in self.places]

    def _add(self, source: str, **details: Any) -> int:
        self.places.append({"source": source, **details})
        return len(self.places) - 1

    def _attribute(self, value: Any, name: str) -> dict[str, Any]:
        """What a place is that is an attribute of what stands now at its holder."""
        return {"source": "attribute", "key": name, "kept": self.types.instance_value(value, name)}

    def _dict_item(self, value: dict, key: Any) -> dict[str, Any]:
        """The same of an item of a dict."""
        number, own = self.types.entry_number(value, key)
        return {"source": "dict item", "key": own, "index": number}

    # --- arguments ---

    def argument(self, position: int, name: str, structure: pytree.Structure, value: Any, leaves: dict[str, Leaf]) -> Any:
        """The guard of an argument, and its slot; what it is made of gets places."""
        if structure is pytree.LEAF:
            leaf = leaves.get(name)
            if isinstance(leaf, ObjectLeaf):
                self._leaves[name] = self._add("argument", index=position)
                if leaf.type in (list, dict):
                    self._opened.append((self._leaves[name], leaf.type))
            guard = self._leaf(leaf, value)
            if isinstance(guard, (self.types.CheckedGuard, self.types.TextGuard)):
                self.require_place(self.place_of_leaf(name, position), guard, self.slots.get(name))
                return self.types.TypeGuard(type(value)), None
            if _is_converted(leaf):
                self.converted(self.place_of_leaf(name, position), leaf.shape, leaf.convert, value, self.slots[name])
                return guard, None
            return guard, self.slots.get(name)
        guard = self._container(structure, value)
        place = self._leaves[name] = self._add("argument", index=position)
        self._parts(place, name, structure, value, leaves)
        return guard, None

    def place_of_leaf(self, name: str, position: int | None) -> int:
        """The place of a leaf of the arguments, at this position if it is an argument itself."""
        if name not in self._leaves:
            if position is None:
                raise NotNative
            self._leaves[name] = self._add("argument", index=position)
        return self._leaves[name]

    def converted(self, holder: int, shape: Shape, convert: Callable[[Any], Any], value: np.ndarray, slot: int) -> None:
        """A place for the copy of an array that the kernel gets. Where arrays are changed a copy would not see that."""
        if self.changed:
            raise NotNative
        form = array_form_key(value)

        def converted(found: Any) -> Any:
            return convert(found) if array_form_key(found) == form else paths.MISSING

        self._add("read", holder=holder, key=converted, guard=self.array(shape, False), slot=slot)

    def _leaf(self, leaf: Leaf | None, value: Any) -> Any:
        types = self.types
        if isinstance(leaf, ObjectLeaf):
            return types.TypeGuard(leaf.type)
        if isinstance(leaf, TracedLeaf):
            if isinstance(leaf, TextLeaf):
                return types.TextGuard(*self.packed[leaf.path], leaf.room)
            if leaf.path in self.packed:
                return types.PackedGuard(type(value), *self.packed[leaf.path][:2], *(leaf.interval or ()))
            if leaf.kind == "python scalar":
                return types.PythonScalarGuard(type(value), *(leaf.interval or ()))
            if leaf.kind == "numpy scalar":
                return self._numpy_scalar(leaf.shape.dtype)
            if _is_converted(leaf):
                return types.TypeGuard(type(value))
            return self.array(leaf.shape, self.slots[leaf.path] in self.changed)
        if _is_number_of_64_bits(value):
            return types.ValueGuard(value)
        return self._static(value)

    def value(self, value: Any, holds: Callable[[Any], bool]) -> Any:
        """The guard of a value that is read from outside, of which ``holds`` tells others that are as good."""
        if _is_number_of_64_bits(value):
            return self.types.ValueGuard(value)
        if not is_known_by_identity(value):
            return self.types.CheckedGuard(holds)
        return self.types.IdentityGuard(value, _is_as_good(value, holds))

    def _static(self, value: Any) -> Any:
        """The guard of a static object: equal ones are as good, where they may be made anew."""
        holds = _has_key(static_key(value))
        if not is_known_by_identity(value):  # it may have changed since it was seen
            return self.types.CheckedGuard(holds)
        return self.types.StaticGuard(_is_as_good(value, holds))

    def array(self, shape: Shape, writeable: bool) -> Any:
        """The guard of an array."""
        return self.types.ArrayGuard(shape.dtype, shape.dimensions, "C" if shape.is_row_major else "F", writeable)

    def _numpy_scalar(self, dtype: Any) -> Any:
        try:
            return self.types.NumPyScalarGuard(dtype)
        except NotImplementedError:
            raise NotNative from None

    def _container(self, structure: pytree.Structure, value: Any) -> Any:
        """The guard of a container, which says how many elements it has."""
        types, (kind, _, children) = self.types, structure
        if value is None:
            return types.StaticGuard()
        if kind is list or issubclass(kind, tuple):
            return types.SizeGuard(kind, len(children))
        if kind is dict:
            return types.KeysGuard(tuple(value))
        return types.TypeGuard(kind)

    def _parts(self, holder: int, name: str, structure: pytree.Structure, value: Any, leaves: dict[str, Leaf]) -> None:
        """Places for the elements of a container; ``name`` is what they are called after."""
        kind, auxiliary, children = structure
        if kind is NoneType:
            return
        labels = pytree.child_labels(structure)
        if not issubclass(kind, tuple):
            self._containers.append((holder, kind))
        if dataclasses.is_dataclass(kind):
            self._static_fields(holder, value)
        elif kind not in (list, dict) and not issubclass(kind, tuple):
            guard = self.types.SizeGuard(tuple, len(children))
            holder = self._add("read", holder=holder, key=_parts_beside(auxiliary), guard=guard)
            apart = pytree.taken_apart(value)
            if apart is None:  # an array of records
                raise NotNative
            kind, value = tuple, apart[1]
        for number, (child, label) in enumerate(zip(children, labels)):
            place: dict[str, Any]
            if kind is dict:
                key = tuple(value)[number]
                part, place = value[key], self._dict_item(value, key)
            elif kind is list or issubclass(kind, tuple):
                part, place = value[number], {"source": "list item" if kind is list else "tuple item", "index": number}
            else:
                attribute = sys.intern(label[1:])  # what classes and dicts find without comparing letters
                part, place = getattr(value, attribute), self._attribute(value, attribute)
            path = name + label
            at = self._add(holder=holder, **place)
            if child is pytree.LEAF:
                self._leaves[path] = at
                guard, is_converted = self._leaf(leaves[path], part), _is_converted(leaves[path])
                slot = None if is_converted else self.slots.get(path)
                self.places[at] |= {"guard": self._identity(guard, part), "slot": slot}
                if is_converted:
                    self.converted(at, leaves[path].shape, leaves[path].convert, part, self.slots[path])
            else:
                self.places[at]["guard"] = self._identity(self._container(child, part), part)
                self._parts(at, path, child, part, leaves)

    def require_distinct(self, changes_containers: bool) -> None:
        """No list, dict or other container that is changed, or read as what is outside, stands at two places among the
        arguments.
        """
        pairs = [*itertools.combinations(self._opened, 2), *itertools.product(self._opened, self._containers)]
        if changes_containers:
            pairs += itertools.combinations(self._containers, 2)
        places = [(one, other) for (one, kind), (other, other_kind) in pairs if kind is other_kind]
        if len(places) > _MOST_PAIRS:
            raise NotNative
        for one, other in places:
            self.require_same(one, other, differs=True)

    def _identity(self, guard: Any, value: Any) -> Any:
        """Places have their static objects themselves."""
        return self.types.IdentityGuard(value, guard.is_as_good) if isinstance(guard, self.types.StaticGuard) else guard

    def _static_fields(self, holder: int, value: Any) -> None:
        for field in dataclasses.fields(value):
            if field.metadata.get("static", False):
                part = getattr(value, field.name)
                guard = self._identity(self._static(part), part)
                self._add(holder=holder, **self._attribute(value, field.name), guard=guard)

    # --- outside ---

    def place_of(self, path: paths.Path) -> int:
        """The number of the place that a path leads to."""
        if path.key not in self._known:
            self._known[path.key] = self._read(path)
        return self._known[path.key]

    def _read(self, path: paths.Path) -> int:
        if path.key in self.identities:
            return self._add("object", key=self.identities[path.key])
        match path:
            case paths.Argument(name=name):
                return self.place_of_leaf(name, None)
            case paths.Fixed(value=value):
                return self._add("object", key=value)
            case paths.Cell(cell=cell):
                return self._add("cell", key=cell)
            case paths.Global(namespace=namespace, name=name):
                return self._add(holder=self._namespace(namespace), **self._dict_item(namespace, name))
            case paths.Attribute(holder=holder, name=name):
                return self._add(holder=self.place_of(holder), **self._attribute(holder.read(self.objects), name))
            case paths.Item(holder=holder, index=index):
                found = holder.read(self.objects)
                if isinstance(found, MappingProxyType):  # the attributes of a class
                    return self._add("item", holder=self.place_of(holder), key=index)
                if type(found) is dict:
                    return self._add(holder=self._typed(holder, dict), **self._dict_item(found, index))
                if type(found) is deque:
                    return self._add("item", holder=self._typed(holder, deque), key=index)
                if isinstance(found, (list, tuple)) and type(index) is int and index >= 0:
                    source = "list item" if isinstance(found, list) else "tuple item"
                    return self._add(source, holder=self._typed(holder, type(found)), index=index)
            case paths.NewList():
                return self._add("new list")
            case paths.Length(holder=holder):
                return self._add("length", holder=self.typed(holder, list))
        return self.read_by_python(path)

    def read_by_python(self, path: paths.Path) -> int:
        """A place that Python reads: there is no native way to it, or nothing at its end."""
        name = path.root.name if isinstance(path.root, paths.Argument) else ""
        return self._add("read", holder=self.root(path), key=lambda root: path.read({name: root}))

    def root(self, path: paths.Path) -> int:
        """The place of the argument that the way to a path begins at, of None where it begins outside."""
        if isinstance(path.root, paths.Argument):
            return self.place_of_leaf(path.root.name, None)
        return self._add("object", key=None)

    def _namespace(self, namespace: dict) -> int:
        key = ("namespace", id(namespace))
        if key not in self._known:
            self._known[key] = self._add("object", key=namespace)
        return self._known[key]

    def _typed(self, path: paths.Path, kind: type) -> int:
        """The place of a container, which has passed a guard of its type."""
        place = self.place_of(path)
        if self.places[place].get("guard") is None:
            self.places[place]["guard"] = self.types.TypeGuard(kind)
        return place

    def typed(self, path: paths.Path, kind: type) -> int:
        """As `place_of`, of what has to be of exactly this type."""
        if type(path.read(self.objects)) is not kind:
            raise NotNative
        return self._typed(path, kind)

    def require(self, path: paths.Path, guard: Any, slot: int | None = None) -> None:
        """What stands at the path has to pass a guard."""
        self.require_place(self.place_of(path), guard, slot)

    def require_place(self, place: int, guard: Any, slot: int | None = None) -> None:
        """As `require`, of a place by its number."""
        if self.places[place].get("guard") is not None:
            place = self._add("place", holder=place)
        self.places[place] |= {"guard": guard, "slot": slot}

    def expect(self, path: paths.Path, facts: list[tuple[Any, ...]], known: Any) -> None:
        """While the facts hold this object stands at the path; it need not be looked for."""
        self.places[self.place_of(path)] |= {"facts": facts, "known": known}

    def require_length(self, path: paths.Path, kind: type, length: int) -> None:
        """What stands at the path has to be of exactly this type, and of this length."""
        if kind is list or issubclass(kind, tuple):
            self.require(path, self.types.SizeGuard(kind, length))
        else:
            self._add("read", holder=self._typed(path, kind), key=len, guard=self.types.ValueGuard(length))

    def require_same(self, place: int, other: int, differs: bool = False) -> None:
        """The same object has to stand at both places, or not."""
        first, second = sorted((place, other))
        self.require_place(second, self.types.SameGuard(first, differs))

    def entries(self, holder: paths.Path, read: Columns) -> int:
        """The place of the columns of a container's entries."""
        key = entries_key(holder)
        if key not in self._known:
            kind = type(holder.read(self.objects))
            form = read.form
            if kind not in _AS_COLUMNS or max(len(part.types) for part in form.parts) > self.types.MOST_NUMBERS:
                raise NotNative
            parts = tuple([(part.types, part.kind is tuple) for part in form.parts])
            columns = self.types.EntryColumns(form.kind, read.rows, parts)
            self._known[key] = self._add("entries", holder=self._typed(holder, kind), key=columns)
        return self._known[key]

    def has_entries(self, holder: paths.Path) -> bool:
        """Whether the columns of a container's entries are a place."""
        return entries_key(holder) in self._known

    def known_entries(self, holder: paths.Path) -> int:
        """As `entries`, of a container whose columns are a place already."""
        return self._known[entries_key(holder)]

    def require_input(self, path: paths.Path, shape: Shape, value: Any) -> None:
        """What stands at the path has to be as an array or a number of which the kernel takes the data, where it has a slot."""
        if isinstance(path, Entries) and path.columns.form.is_flat:
            columns = self.places[self.entries(path.holder, path.columns)]["key"]
            columns.slots[path.number] = self.slots[path.key]
            return
        slot = self.slots.setdefault(path.key, len(self.slots))
        if isinstance(path, Entries):
            take = path.columns.take if path.columns in self.columns_made else path.columns.take_anew
            self.columns_made.add(path.columns)
            guard = self.array(shape, False) if shape.rank else self.types.PythonScalarGuard(int, *SMALL)
            self._add("read", holder=self.place_of(path.holder), key=partial(take, path.number), guard=guard, slot=slot)
            return
        if isinstance(value, np.ndarray):
            guard = self.array(shape, slot in self.changed)
        elif isinstance(value, (*RANDOM_GENERATORS, list)):
            guard = self.types.AddressGuard(type(value), offset_of(type(value)))
        elif type(value) in (int, float, complex):
            guard = self.types.PythonScalarGuard(type(value), *(SMALL if type(value) is int else ()))
        else:
            guard = self._numpy_scalar(shape.dtype)
        self.require(path, guard, slot)


def _is_number_of_64_bits(value: Any) -> bool:
    return type(value) is float or type(value) is int and -(1 << 63) <= value < 1 << 63


def _is_converted(leaf: Leaf) -> bool:
    return isinstance(leaf, TracedLeaf) and leaf.kind == "array" and leaf.convert is not None


def _parts_beside(auxiliary: Any) -> Callable[[Any], Any]:
    """What gives the parts of a container of which this is known besides."""

    kinds = pytree.types_within((object, auxiliary, ()))

    def parts(found: Any) -> Any:
        known, parts = pytree.taken_apart(found)
        is_same = known == auxiliary and pytree.types_within((object, known, ())) == kinds
        return tuple(parts) if is_same else paths.MISSING

    return parts


def _has_key(key: Any) -> Callable[[Any], bool]:
    number = hash(key)

    def holds(found: Any) -> bool:
        try:
            other = static_key(found)
        except TypeError:
            return False
        return hash(other) == number and other == key

    return holds


def _is_as_good(value: Any, holds: Callable[[Any], bool]) -> Callable[[Any], bool] | None:
    """What tells, of another object of the type of a value that cannot change, whether it is as good; None where none is."""
    if is_one_object(value):
        return None
    return value.__eq__ if type(value) in (str, bytes) else holds
