"""Functions that put containers together of parts that are known: made once for a structure, and called at each call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from . import pytree

# Stands among leaves for one that the function takes.
GIVEN = object()

# For kinds of containers whose parts may be known or not: what gives the function for known ones, by the auxiliary value.
_MAKERS: dict[type, Callable[[Any], Callable[..., Any]]] = {}
# For those that are objects what says, by the auxiliary value, what makes an empty one, and the names of its attributes.
_ATTRIBUTES: dict[type, Callable[[Any], tuple[Any, ...] | None]] = {}
# For some of them what writes an expression that does it without a call, or None: of the source, the auxiliary value and the
# structures of the parts, whose leaves it takes.
_WRITERS: dict[type, Callable[[Source, Any, Sequence[pytree.Structure]], str | None]] = {}


def register_maker(kind: type, maker: Callable[[Any], Callable[..., Any]]) -> None:
    """Let ``maker(auxiliary)`` be what puts containers of this kind together, of parts that are known."""
    _MAKERS[kind] = maker


def register_writer(kind: type, write: Callable[[Source, Any, Sequence[pytree.Structure]], str | None]) -> None:
    """Let this write an expression for containers of this kind, or None before it has taken a leaf."""
    _WRITERS[kind] = write


def is_written(structure: pytree.Structure) -> bool:
    """Whether an expression makes such a value, of parts that are leaves, or tuples of these."""
    if structure is pytree.LEAF or structure[0] not in _WRITERS:
        return False
    children = [child for child in structure[2] if child is not pytree.LEAF]
    parts = [part for child in children for part in (child[2] if child[0] is tuple else [child])]
    return all(part is pytree.LEAF or is_written(part) for part in parts)


def maker(kind: type, auxiliary: Any) -> Callable[..., Any]:
    """A function of the parts of such a container."""
    made = _MAKERS.get(kind)
    return partial(_put_together, kind, auxiliary) if made is None else made(auxiliary)


def register_attributes(kind: type, attributes: Callable[[Any], tuple[Any, ...] | None]) -> None:
    """Let ``attributes(auxiliary)`` be what `attributes_of` says of such containers."""
    _ATTRIBUTES[kind] = attributes


def attributes_of(kind: type, auxiliary: Any) -> tuple[Any, ...] | None:
    """Of a container that is an object, what makes an empty one, and the names of the attributes that its parts become."""
    if kind in _ATTRIBUTES:
        return _ATTRIBUTES[kind](auxiliary)
    names = pytree.names_of(kind, auxiliary)
    return (partial(object.__new__, kind), *names) if names else None


def _put_together(kind: type, auxiliary: Any, *parts: Any) -> Any:
    return pytree.put_together(kind, auxiliary, parts)


def function_of_leaves(structure: pytree.Structure, leaves: Iterable[Any]) -> Callable[..., Any]:
    """A function of the leaves that are GIVEN, which puts a value together of them and of the others.

    >>> leaves, structure = pytree.flatten({"w": [1, GIVEN], "b": (GIVEN, None)})
    >>> function_of_leaves(structure, leaves)(2, 3)
    {'w': [1, 2], 'b': (3, None)}
    """
    source = Source(iter(leaves))
    name, _ = source.function(structure)
    exec("\n".join(source.definitions), source.names)  # noqa: S102, as namedtuple does
    return source.names[name]


class Source:
    """The source of such functions: a line for each container, as the parentheses of an expression must not nest deeply."""

    def __init__(self, leaves: Iterator[Any]) -> None:
        self.leaves = leaves
        self.names: dict[str, Any] = {}
        self.definitions: list[str] = []
        self.parameters: list[str] = []
        self.lines: list[str] = []

    def function(self, structure: pytree.Structure) -> tuple[str, list[str]]:
        """The name and the parameters of a function that makes such a value; behind it stands what was being written."""
        outer, self.parameters, self.lines = (self.parameters, self.lines), [], []
        result = self.value(structure)
        name, parameters = f"made{len(self.definitions)}", self.parameters
        self.definitions += [f"def {name}({', '.join(parameters)}):", *self.lines, f" return {result}"]
        self.parameters, self.lines = outer
        return name, parameters

    def value(self, structure: pytree.Structure) -> str:
        if structure is pytree.LEAF:
            leaf = next(self.leaves)
            return self._parameter() if leaf is GIVEN else self.constant(leaf)
        kind, auxiliary, children = structure
        written = _WRITERS[kind](self, auxiliary, children) if kind in _WRITERS else None
        if written is not None:
            return self._line(written)
        needed = pytree.needed_of(kind)
        parts = [self.value(child) for child in children] if needed is None else self._needed_parts(needed, children)
        return self._line(self._container(kind, auxiliary, parts))

    def _needed_parts(self, needed: Callable[[Any], Collection[int]], children: Sequence[pytree.Structure]) -> list[str]:
        """The parts of a container the first of which asks for some of the others; those that it does not are not made."""
        first, *others = children
        parts = [self.value(first)]
        asked = self._line(f"{self.constant(needed)}({parts[0]})")
        for number, child in enumerate(others, 1):
            if child is pytree.LEAF:
                parts.append(self.value(child))
                continue
            parts.append(self._line(f"{self.later(child)} if {number} in {asked} else None"))
        return parts

    def later(self, structure: pytree.Structure) -> str:
        """An expression that makes such a value where it is evaluated, and not before."""
        if structure is pytree.LEAF:
            return self.value(structure)
        name, parameters = self.function(structure)
        return f"{name}({', '.join([self._parameter() for _ in parameters])})"

    def _container(self, kind: type, auxiliary: Any, parts: list[str]) -> str:
        if kind is type(None):
            return "None"
        if kind is tuple:
            return f"({''.join([part + ',' for part in parts])})"
        if kind is list:
            return f"[{', '.join(parts)}]"
        if kind is dict:
            return f"{{{', '.join([f'{self.constant(key)}: {part}' for key, part in zip(auxiliary, parts)])}}}"
        return f"{self.constant(maker(kind, auxiliary))}({', '.join(parts)})"

    def _parameter(self) -> str:
        self.parameters.append(f"given{len(self.parameters)}")
        return self.parameters[-1]

    def _line(self, expression: str) -> str:
        name = f"value{len(self.lines)}"
        self.lines.append(f" {name} = {expression}")
        return name

    def constant(self, value: Any) -> str:
        """The name of a value."""
        name = f"constant{len(self.names)}"
        self.names[name] = value
        return name
