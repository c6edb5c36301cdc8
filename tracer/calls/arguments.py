"""From the arguments of a call to the key of its compiled code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ... import hlo
from ..recording import pytree
from ..recording.callables import callable_name
from ..recording.device_arrays import ArrayOnDevice
from ..recording.errors import StaticArgumentError
from ..recording.intervals import Interval
from ..recording.ndarrays import memory_key
from .integers import below, first_interval, interval_key, narrowed
from .leaves import Leaf, ObjectLeaf, PackedLeaf, TextLeaf, is_object, leaf_key, make_leaf, packed, static_key, static_leaf
from .opened_arguments import OpenedArguments
from .recorded_function import CallForm, Structures
from .text_arguments import TextArguments, pack_of_texts

# By the position of an argument: its structure, and how many leaves it has.
Containers = dict[int, tuple[pytree.Structure, int]]

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """The function's own signature; that of the function that it wraps, where it hands on whatever it is given."""
    own = inspect.signature(function, follow_wrapped=False)
    hands_on = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    return inspect.signature(function) if {one.kind for one in own.parameters.values()} == hands_on else own


class ArgumentReader:
    """Reads the arguments of one function's calls.

    ``intervals`` has, for places of Python's numbers, the integers that they are traced for, since the function has turned out
    to need it; None where they are static. ``known`` are the places at which NumPy's scalars and arrays are static, or known.
    ``taken_apart`` are the arguments whose numbers are a parameter each.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        static_argnums: int | Iterable[int] = (),
        static_argnames: str | Iterable[str] = (),
    ) -> None:
        self.function, self.name = function, callable_name(function)
        is_plain = type(function) is FunctionType
        self.says_what_it_takes = is_plain and not {"__wrapped__", "__signature__"} & vars(function).keys()
        try:
            self.signature = _signature(function)
        except ValueError:  # some built-in functions do not tell theirs
            self.signature = inspect.Signature(
                [
                    inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                    inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
                ]
            )
        parameters = self.signature.parameters.values()
        self.positional = tuple(parameter.name for parameter in parameters if parameter.kind in _POSITIONAL)
        self.positional_only = {one.name for one in parameters if one.kind is inspect.Parameter.POSITIONAL_ONLY}
        self.rest = _name_of_kind(parameters, inspect.Parameter.VAR_POSITIONAL, "args")
        self.rest_by_name = _name_of_kind(parameters, inspect.Parameter.VAR_KEYWORD, "kwargs")
        self.static_names = self._static_names(static_argnums, static_argnames)
        self.static_positions = frozenset(
            position for position, name in enumerate(self.positional) if name in self.static_names
        )
        self.intervals: dict[str, Interval | None] = {}
        self.known: set[str] = set()
        self.taken_apart: set[str] = set()
        self.opened = OpenedArguments()
        self.texts = TextArguments()

    def _static_names(self, numbers: int | Iterable[int], names: str | Iterable[str]) -> frozenset[str]:
        numbers = (numbers,) if isinstance(numbers, int) else tuple(numbers)
        names = {names} if isinstance(names, str) else set(names)
        for number in numbers:
            if not isinstance(number, int) or not -len(self.positional) <= number < len(self.positional):
                count = len(self.positional)
                raise StaticArgumentError(
                    f"static_argnums: {self.name}{self.signature} has {count} positional parameter{'s' * (count != 1)}, got "
                    f"the number {number!r}"
                )
            names.add(self.positional[number])
        takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in self.signature.parameters.values())
        for name in names:
            if not isinstance(name, str) or name not in self.signature.parameters and not takes_any:
                raise StaticArgumentError(f"static_argnames: {self.name}{self.signature} has no parameter {name!r}")
            parameter = self.signature.parameters.get(name)
            if parameter is not None and parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
                raise StaticArgumentError(f"static_argnames: *{name} cannot be static as a whole")
        return frozenset(names)

    def position_name(self, position: int) -> str:
        """What the argument at this position is called in messages."""
        if position < len(self.positional):
            return self.positional[position]
        return f"{self.rest}[{position - len(self.positional)}]"

    def keyword_name(self, keyword: str) -> str:
        """What the argument under this keyword is called in messages: none is called as an argument by position may be."""
        return f"{self.rest_by_name}[{keyword!r}]" if keyword in self.positional_only else keyword

    def read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], list[Any], Containers]:
        """The key of the call, all leaves of the arguments in the order of the call, static ones too, and the containers."""
        parts: list[Any] = []
        leaves: list[Any] = []
        containers: Containers = {}
        static_positions = self.static_positions
        for position, value in enumerate(args):
            kind = type(value)
            if static_positions and position in static_positions:
                parts.append(self.static_part(value, self.positional[position]))
                leaves.append(value)
            elif kind is np.ndarray and value.dtype.names is None:
                parts.append((value.dtype, value.shape, memory_key(value)))
                leaves.append(value)
            elif kind is float:
                parts.append(float)
                leaves.append(value)
            else:
                parts.append(self._read_any(value, position, self.position_name(position), leaves, containers))
        for position, (keyword, value) in enumerate(kwargs.items(), len(args)):
            name = self.keyword_name(keyword)
            parts.append(name)
            if name in self.static_names:
                parts.append(self.static_part(value, name))
                leaves.append(value)
            else:
                parts.append(self._read_any(value, position, name, leaves, containers))
        return tuple(parts), leaves, containers

    def _read_any(self, value: Any, position: int, name: str, leaves: list[Any], containers: Containers) -> Any:
        if self.opened and self.opened.takes(name, value):
            leaves.append(value)
            return leaf_key(value)
        start = len(leaves)
        structure = pytree.flatten_into(value, leaves)
        if structure is pytree.LEAF:
            return self.leaf_part(value, name)
        containers[position] = structure, len(leaves) - start
        return self.container_part(structure, leaves[start:], name)

    # --- the parts of a key, one for each argument ---

    def leaf_part(self, value: Any, name: str) -> Any:
        if type(value) is str and name in self.texts.places:
            return str, self.texts.room(name, (value,))
        if type(value) is int and name in self.intervals:
            return interval_key(value, self.interval_of(value, name))
        is_static = self.is_static_number(value, name) and type(value) is not np.ndarray
        return static_key(value) if is_static else leaf_key(value)

    def is_static_number(self, value: Any, name: str) -> bool:
        """Whether this is a float, a complex number, a scalar or an array of NumPy's whose contents the function needs."""
        if type(value) in (float, complex):
            return name in self.intervals and self.intervals[name] is None
        return name in self.known and (type(value) is np.ndarray or isinstance(value, np.generic))

    def container_part(self, structure: pytree.Structure, leaves: list[Any], name: str) -> Any:
        keys = list(map(leaf_key, leaves))
        if self.intervals or self.known:
            for index, path in enumerate(pytree.leaf_paths(structure, name)):
                if path in self.intervals or path in self.known:
                    keys[index] = self.leaf_part(leaves[index], path)
        if self.texts and (texts := self.texts.of(name, structure, leaves)):
            for index in texts:
                keys[index] = str
            keys.append(self.texts.room(name, [leaves[index] for index in texts]))
        return structure, pytree.types_within(structure), tuple(keys), name in self.taken_apart

    def interval_of(self, value: int, name: str) -> Interval | None:
        """The interval that a Python integer is traced for; None where it is static."""
        if name not in self.intervals:
            return first_interval(value)
        interval = self.intervals[name]
        return interval if interval is not None and interval[0] <= value <= interval[1] else None

    def narrow(self, value: int, name: str, wanted: Interval | None) -> None:
        """Trace integers at this place for fewer values from now on."""
        if interval := self.interval_of(value, name):
            self.intervals[name] = narrowed(interval, value, wanted)

    def static_part(self, value: Any, name: str) -> Any:
        try:
            return static_key(value)
        except TypeError:
            static_leaf(value, name)  # raises with the name
            raise

    def named(self, names: frozenset[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments with these names."""
        return {name: value for name, value in self.given(args, kwargs).items() if name in names}

    def given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """All arguments, by their names."""
        names = (*map(self.position_name, range(len(args))), *map(self.keyword_name, kwargs))
        return dict(zip(names, (*args, *kwargs.values())))

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """A call, read. Raises TypeError where the arguments do not fit the function."""
        _, leaves, containers = self.read(args, kwargs)
        return Call(self, args, kwargs, leaves, containers)


class Argument(NamedTuple):
    """One argument of a call, taken apart; the first of its leaves is number ``start`` of the call's."""

    name: str
    value: Any
    structure: pytree.Structure
    leaves: list[Any]
    start: int


class Call:
    """A call that has been read: all that is asked about it is answered without looking at its containers again.

    ``arguments`` stand as they were given, the last of them under ``keywords``; ``canonical`` has the same ones in the order of
    the function's parameters, the last of them under ``canonical_keywords``. Raises TypeError where they do not fit it.
    """

    def __init__(
        self, reader: ArgumentReader, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any], containers: Containers
    ) -> None:
        self.reader = reader
        self.keywords = tuple(kwargs)
        self.arguments: list[Argument] = []
        start = 0
        names = (*map(reader.position_name, range(len(args))), *map(reader.keyword_name, kwargs))
        for position, (name, value) in enumerate(zip(names, (*args, *kwargs.values()))):
            structure, count = containers.get(position, (pytree.LEAF, 1))
            self.arguments.append(Argument(name, value, structure, leaves[start : start + count], start))
            start += count
        try:
            bound = reader.signature.bind(*range(len(args)), **dict(zip(kwargs, range(len(args), len(names)))))
        except TypeError as error:
            reason, bound = str(error), None
        if bound is None:
            if reader.says_what_it_takes:
                reader.function(*args, **kwargs)  # raises; nothing of it runs
            raise TypeError(f"{reader.name}() {reason}")
        self.canonical = [self.arguments[number] for number in (*bound.args, *bound.kwargs.values())]
        self.canonical_keywords = tuple(bound.kwargs)

    def numbers(self) -> dict[str, Interval | None]:
        """The places of Python integers in this call, with the intervals that they are traced for; None: they are static.

        Also those of other numbers that are static.
        """
        others = {path: None for path, value in self._leaves() if self.reader.is_static_number(value, path)}
        return {path: self.reader.interval_of(value, path) for path, value in self._integers()} | others

    def _integers(self) -> Iterator[tuple[str, int]]:
        return ((path, value) for path, value in self._leaves() if type(value) is int)

    def _leaves(self) -> Iterator[tuple[str, Any]]:
        for one in self.arguments:
            if one.name not in self.reader.static_names:
                yield from zip(pytree.leaf_paths(one.structure, one.name), one.leaves)

    def open_texts(self) -> dict[str, int]:
        """The places of texts that are inputs in this call, with how many characters all of the argument may have."""
        found: dict[str, int] = {}
        texts = self.reader.texts
        for one in self.arguments if texts else ():
            if one.name not in self.reader.static_names and (numbers := texts.of(one.name, one.structure, one.leaves)):
                paths = pytree.leaf_paths(one.structure, one.name)
                room = texts.room(one.name, [one.leaves[number] for number in numbers])
                found |= dict.fromkeys([paths[number] for number in numbers], room)
        return found

    def taken_apart(self) -> frozenset[str]:
        """The arguments of this call whose numbers are a parameter each."""
        return frozenset([one.name for one in self.arguments if one.name in self.reader.taken_apart])

    def is_on_host(self, path: str) -> bool:
        """Whether the leaf at this place can be read without a transfer."""
        return not isinstance(dict(self._leaves()).get(path), ArrayOnDevice)

    def narrow_all(self) -> bool:
        """Trace the Python integers of this call for smaller values than theirs from now on; whether there are any."""
        found = [(path, value) for path, value in self._integers() if self.reader.interval_of(value, path) is not None]
        for path, value in found:
            self.narrow(path, below(value))
        return bool(found)

    def narrow(self, path: str, wanted: Interval | None) -> None:
        """Trace the Python integer at this place for fewer values from now on; without ``wanted``, for half of them or less."""
        self.reader.narrow(dict(self._integers())[path], path, wanted)

    def key(self) -> tuple[Any, ...]:
        """As `ArgumentReader.read` has it."""
        return self._key(self.arguments, self.keywords)

    def canonical_key(self) -> tuple[Any, ...]:
        """The key of all calls that differ from this one in their spelling alone."""
        return self._key(self.canonical, self.canonical_keywords)

    def _key(self, arguments: list[Argument], keywords: tuple[str, ...]) -> tuple[Any, ...]:
        parts: list[Any] = []
        for position, one in enumerate(arguments, len(keywords) - len(arguments)):
            if position >= 0:
                parts.append(one.name)
            if one.name in self.reader.static_names:
                parts.append(self.reader.static_part(one.value, one.name))
            elif one.structure is pytree.LEAF:
                parts.append(self.reader.leaf_part(one.value, one.name))
            else:
                parts.append(self.reader.container_part(one.structure, one.leaves, one.name))
        return tuple(parts)

    def leaf_order(self) -> list[int]:
        """For each leaf of the canonical call its place among the leaves of this call."""
        return [one.start + index for one in self.canonical for index in range(len(one.leaves))]

    def objects(self) -> dict[str, int]:
        """The leaves that are objects, by their names: their numbers among the leaves of this call."""
        found: dict[str, int] = {}
        for one in self.arguments:
            is_static = one.name in self.reader.static_names
            paths = [one.name] if is_static else pytree.leaf_paths(one.structure, one.name)
            found.update(
                {
                    path: one.start + index
                    for index, (path, leaf) in enumerate(zip(paths, one.leaves))
                    if is_object(leaf) or type(leaf) is np.ndarray and self.reader.is_static_number(leaf, path)
                }
            )
        return found

    def object_values(self) -> dict[str, Any]:
        """The leaves that are objects, by their names."""
        leaves = [leaf for one in self.arguments for leaf in one.leaves]
        return {path: leaves[number] for path, number in self.objects().items()}

    def form(self, descriptions: bool = False) -> CallForm:
        """The form of the call. Raises TypeError, naming the argument, for one that cannot be traced."""
        leaves: list[Leaf] = []
        packs: list[PackedLeaf] = []
        taken_apart = self.taken_apart()
        numbers = self.numbers()
        texts = self.open_texts()
        for one in self.canonical:
            begin = len(leaves)
            if one.name in self.reader.static_names:
                leaves.append(static_leaf(one.value, one.name))
                continue
            for leaf, path in zip(one.leaves, pytree.leaf_paths(one.structure, one.name)):
                interval = numbers.get(path)
                if path in texts:
                    leaves.append(TextLeaf(path, hlo.Shape(hlo.S32), "text", room=texts[path]))
                elif type(leaf) is np.ndarray and path in numbers:
                    leaves.append(ObjectLeaf(path, np.ndarray))
                elif interval is None and path in numbers:
                    leaves.append(static_leaf(leaf, path))
                else:
                    leaves.append(make_leaf(leaf, path, descriptions, interval))
            packs += pack_of_texts(one.name, begin, leaves)
            if one.name not in taken_apart:
                packs += packed(one.name, begin, leaves)
        structures = tuple([(one.name, one.structure) for one in self.canonical])
        _check_structures(structures)
        return CallForm(leaves, structures, self.canonical_keywords, numbers, tuple(packs), taken_apart)


def _name_of_kind(parameters: Iterable[inspect.Parameter], kind: Any, default: str) -> str:
    return next((parameter.name for parameter in parameters if parameter.kind is kind), default)


def _check_structures(structures: Structures) -> None:
    for name, structure in structures:
        try:
            hash(structure)
        except TypeError as error:
            raise StaticArgumentError(
                f"argument {name}: the structure of a container is part of the key of the compiled code, but {error}; "
                "static fields of dataclasses must be hashable"
            ) from None


def structure_words(structures: Structures) -> str:
    """The structures of all arguments, as code spells them."""
    return ", ".join(f"{name}={pytree.structure_text(structure)}" for name, structure in structures)
