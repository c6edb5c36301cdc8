"""From the arguments of a call to the key of its compiled code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..recording import pytree
from ..recording.callables import callable_name
from ..recording.errors import StaticArgumentError
from ..recording.ndarrays import MEMORY_FLAGS
from .leaves import Leaf, leaf_key, make_leaf, static_key, static_leaf
from .traced_function import CallForm

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class ArgumentReader:
    """Reads the arguments of one function's calls.

    ``static_paths`` are the places of Python integers that became static because the function needs their values.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        static_argnums: int | Iterable[int] = (),
        static_argnames: str | Iterable[str] = (),
    ) -> None:
        self.name = callable_name(function)
        try:
            self.signature = inspect.signature(function)
        except ValueError:  # some built-in functions do not tell theirs
            self.signature = inspect.Signature(
                [
                    inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                    inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
                ]
            )
        parameters = self.signature.parameters.values()
        self.positional = tuple(parameter.name for parameter in parameters if parameter.kind in _POSITIONAL)
        self.rest = next(
            (parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.VAR_POSITIONAL), "args"
        )
        self.static_names = self._static_names(static_argnums, static_argnames)
        self.static_positions = frozenset(
            position for position, name in enumerate(self.positional) if name in self.static_names
        )
        self.static_paths: set[str] = set()

    def _static_names(self, numbers: int | Iterable[int], names: str | Iterable[str]) -> frozenset[str]:
        numbers = (numbers,) if isinstance(numbers, int) else tuple(numbers)
        names = {names} if isinstance(names, str) else set(names)
        for number in numbers:
            if not isinstance(number, int) or not -len(self.positional) <= number < len(self.positional):
                raise StaticArgumentError(
                    f"static_argnums: {self.name}{self.signature} has {len(self.positional)} positional parameters, got the "
                    f"number {number!r}"
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

    def read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], list[Any]]:
        """The key of the call and all leaves of the arguments, static ones among them, in the order of the call."""
        parts: list[Any] = []
        leaves: list[Any] = []
        static_positions = self.static_positions
        for position, value in enumerate(args):
            kind = type(value)
            if static_positions and position in static_positions:
                parts.append(self._static_key(value, self.positional[position]))
                leaves.append(value)
            elif kind is np.ndarray:
                parts.append((value.dtype, value.shape, value.flags.num & MEMORY_FLAGS))
                leaves.append(value)
            elif kind is float:
                parts.append(float)
                leaves.append(value)
            else:
                self._read_any(value, self.position_name(position), parts, leaves)
        for name, value in kwargs.items():
            parts.append(name)
            if name in self.static_names:
                parts.append(self._static_key(value, name))
                leaves.append(value)
            else:
                self._read_any(value, name, parts, leaves)
        return tuple(parts), leaves

    def _read_any(self, value: Any, name: str, parts: list[Any], leaves: list[Any]) -> None:
        start = len(leaves)
        structure = pytree.flatten_into(value, leaves)
        if structure is pytree.LEAF:
            parts.append(static_key(value) if name in self.static_paths else leaf_key(value))
            return
        keys = [leaf_key(leaf) for leaf in leaves[start:]]
        if self.static_paths:
            for index, path in enumerate(pytree.leaf_paths(structure, name)):
                if path in self.static_paths:
                    keys[index] = static_key(leaves[start + index])
        parts.append((structure, tuple(keys)))

    def _static_key(self, value: Any, name: str) -> Any:
        try:
            return static_key(value)
        except TypeError:
            static_leaf(value, name)  # raises with the name
            raise

    def canonical(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same call with arguments given by position where they can be. Raises TypeError where they do not fit."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}() {error}") from None
        return bound.args, bound.kwargs

    def form(self, args: tuple[Any, ...], kwargs: dict[str, Any], descriptions: bool = False) -> CallForm:
        """The form of a call. Raises TypeError, naming the argument, for one that cannot be traced."""
        names = [*(self.position_name(position) for position in range(len(args))), *kwargs]
        leaves: list[Leaf] = []
        structures: dict[str, pytree.Structure] = {}
        for name, value in zip(names, (*args, *kwargs.values())):
            if name in self.static_names:
                structures[name] = pytree.LEAF
                leaves.append(static_leaf(value, name))
                continue
            values, structures[name] = pytree.flatten(value)
            for leaf, path in zip(values, pytree.leaf_paths(structures[name], name)):
                leaves.append(static_leaf(leaf, path) if path in self.static_paths else make_leaf(leaf, path, descriptions))
        _check_structures(structures)
        count = len(args)

        def put_together(values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any], dict[str, Any]]:
            remaining = iter(values)
            containers = {name: pytree.unflatten_from(structure, remaining) for name, structure in structures.items()}
            given = list(containers.values())
            return tuple(given[:count]), dict(zip(kwargs, given[count:])), containers

        return CallForm(leaves, structures, put_together)

    def leaf_order(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int]:
        """For each leaf of the canonical call its place among the leaves of this call."""
        starts: dict[str, range] = {}
        position = 0
        for name, value in zip([*map(self.position_name, range(len(args))), *kwargs], (*args, *kwargs.values())):
            count = 1 if name in self.static_names else len(pytree.flatten(value)[0])
            starts[name] = range(position, position + count)
            position += count
        canonical_args, canonical_kwargs = self.canonical(args, kwargs)
        names = [*map(self.position_name, range(len(canonical_args))), *canonical_kwargs]
        return [index for name in names for index in starts[name]]


def _check_structures(structures: dict[str, pytree.Structure]) -> None:
    for name, structure in structures.items():
        try:
            hash(structure)
        except TypeError as error:
            raise StaticArgumentError(
                f"argument {name}: the structure of a container is part of the key of the compiled code, but {error}; "
                "static fields of dataclasses must be hashable"
            ) from None


def structure_words(structures: dict[str, pytree.Structure]) -> str:
    """The structures of all arguments, as code spells them."""
    return ", ".join(f"{name}={pytree.structure_text(structure)}" for name, structure in structures.items())
