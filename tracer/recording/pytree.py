"""Nested containers of arrays, taken apart and put together again.

Containers are dict, OrderedDict, Counter, defaultdict, list, tuple, namedtuple, None, dataclasses and what `register_pytree`
adds. Everything else is a leaf. The idea and the names are those of JAX's pytrees ("Pytrees", JAX documentation); the order of
a dict's keys is kept, so that a function that runs through a dict meets the same order as without ``jit``.
"""

from __future__ import annotations

import collections
import dataclasses
import gc
import itertools
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .attributes import UNBOUND, attributes_of, set_held


class Node(NamedTuple):
    """How one type of container is taken apart.

    take_apart(value) returns (auxiliary, children), auxiliary hashable; put_together(auxiliary, children) is the inverse;
    labels(auxiliary, count) returns each child's place as code spells it: ``[0]``, ``['w']``, ``.w``.
    needed(first) says which of the other children the first one asks for; those that it does not are not put together.
    names: of an object that nothing else is known of, the names of the attributes that the children are.
    """

    take_apart: Callable[[Any], tuple[Any, Sequence[Any]]]
    put_together: Callable[[Any, Sequence[Any]], Any]
    labels: Callable[[Any, int], Sequence[str]]
    needed: Callable[[Any], Collection[int]] | None = None
    names: tuple[str, ...] = ()


_STRUCTURED = frozenset([np.ndarray, np.void, np.recarray, np.record])  # types of arrays that may have fields, and of these


class _Leaf:
    def __repr__(self) -> str:
        return "*"

    def __deepcopy__(self, memo: dict[int, Any]) -> _Leaf:
        return self


LEAF = _Leaf()

# A structure is LEAF or (type, auxiliary, (child structures...)): plain tuples, whose hash and equality are native code.
Structure = Any


def _positions(_: Any, count: int) -> list[str]:
    return [f"[{index}]" for index in range(count)]


def _keys(keys: Iterable[Any], _: int) -> list[str]:
    return [f"[{key!r}]" for key in keys]


_NODES: dict[type, Node | None] = {
    type(None): Node(lambda value: (None, ()), lambda _, children: None, _positions),
    list: Node(lambda value: (None, value), lambda _, children: list(children), _positions),
    tuple: Node(lambda value: (None, value), lambda _, children: tuple(children), _positions),
    dict: Node(lambda value: (tuple(value), tuple(value.values())), lambda keys, children: dict(zip(keys, children)), _keys),
    OrderedDict: Node(
        lambda value: (tuple(value), tuple(value.values())), lambda keys, children: OrderedDict(zip(keys, children)), _keys
    ),
    Counter: Node(
        lambda value: (tuple(value), tuple(value.values())), lambda keys, children: Counter(dict(zip(keys, children))), _keys
    ),
    defaultdict: Node(
        lambda value: ((value.default_factory, tuple(value)), tuple(value.values())),
        lambda auxiliary, children: defaultdict(auxiliary[0], zip(auxiliary[1], children)),
        lambda auxiliary, count: _keys(auxiliary[1], count),
    ),
}


def register_pytree(
    type: type,
    flatten: Callable[[Any], tuple[Sequence[Any], Any]],
    unflatten: Callable[[Any, Sequence[Any]], Any],
    needed: Callable[[Any], Collection[int]] | None = None,
) -> None:
    """Let instances of exactly this type be containers of arrays.

    flatten(value) returns (children, auxiliary): a sequence of arrays or containers, and a hashable value that together with
    them makes up the value. unflatten(auxiliary, children) makes an equal one; the children may then be any objects.
    needed(first), where there is one, says which of the children after the first matter beside it: unflatten finds None in
    the place of the others.

    Raises ValueError if the type is a container already.

    >>> class Point:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    >>> register_pytree(Point, lambda p: ((p.x, p.y), None), lambda _, children: Point(*children))
    >>> tree_map(lambda leaf: 2 * leaf, Point(1, 2)).y
    4
    """
    if _NODES.get(type) is not None:
        raise ValueError(f"register_pytree: {type.__qualname__} is a container already")

    def take_apart(value: Any) -> tuple[Any, Sequence[Any]]:
        children, auxiliary = flatten(value)
        return auxiliary, tuple(children)

    _NODES[type] = Node(take_apart, unflatten, _positions, needed)


def _node_of(type: type) -> Node | None:
    """How to take instances of this type apart; None for leaves. Remembered by type."""
    try:
        return _NODES[type]
    except KeyError:
        pass
    node = None
    if issubclass(type, tuple) and hasattr(type, "_fields") and not hasattr(type, "_make"):
        node = _node_with_attributes(type)
    elif issubclass(type, tuple) and hasattr(type, "_fields"):
        node = Node(
            lambda value: (None, tuple(value)),
            lambda _, children: type._make(children),
            lambda _, count: ["." + name for name in type._fields],
        )
    elif dataclasses.is_dataclass(type):
        node = _dataclass_node(type)
    _NODES[type] = node
    return node


def _node_with_attributes(type: type) -> Node:
    """Of what SciPy returns: a tuple, which has attributes besides."""

    def take_apart(value: Any) -> tuple[Any, Sequence[Any]]:
        return tuple(vars(value)), (*value, *vars(value).values())

    def put_together(names: tuple[str, ...], children: Sequence[Any]) -> Any:
        count = len(children) - len(names)
        made = tuple.__new__(type, children[:count])
        vars(made).update(zip(names, children[count:]))
        return made

    def positions(names: tuple[str, ...], count: int) -> list[str]:
        return [*[f"[{place}]" for place in range(count - len(names))], *["." + name for name in names]]

    return Node(take_apart, put_together, positions)


# How arrays of records are taken apart: as which type, and into what auxiliary value and children.
_structured: list[tuple[type, Callable[[Any], tuple[Any, Sequence[Any]]]]] = []


def register_structured(type: type, take_apart: Callable[[Any], tuple[Any, Sequence[Any]]]) -> None:
    """Let arrays whose dtype has fields be taken apart by this, and put together as those of this type are."""
    _structured.append((type, take_apart))


def register_as(type: type, other: type) -> None:
    """Let instances of this type be taken apart as those of the other one are; what is put together is of that."""
    _NODES[type] = _node_of(other)


class _Others(tuple):
    """The names of attributes of a dataclass's object that are no fields, as its methods set some."""


def _dataclass_node(type: type) -> Node:
    """Auxiliary are the static fields, and behind them the names of attributes that are no fields, if there are some."""
    fields = dataclasses.fields(type)
    names = {field.name for field in fields}
    dynamic = [field.name for field in fields if not field.metadata.get("static", False)]
    static = [field.name for field in fields if field.metadata.get("static", False)]

    def take_apart(value: Any) -> tuple[Any, Sequence[Any]]:
        known, parts = tuple(getattr(value, name) for name in static), tuple(getattr(value, name) for name in dynamic)
        if _may_have_others(value, len(names)):
            others = _Others(name for name in attributes_of(value) if name not in names)
            if others:
                return (*known, others), (*parts, *[getattr(value, name) for name in others])
        return known, parts

    def put_together(auxiliary: Any, children: Sequence[Any]) -> Any:
        # Not through __init__, whose checks and conversions would meet traced values.
        value = object.__new__(type)
        for name, part in (*zip(static, auxiliary), *zip((*dynamic, *others_in(auxiliary)), children)):
            if part is not UNBOUND:
                set_held(value, name, part)
        return value

    def others_in(auxiliary: tuple) -> tuple[str, ...]:
        return auxiliary[-1] if len(auxiliary) > len(static) else ()

    def labels(auxiliary: Any, count: int) -> list[str]:
        return ["." + name for name in (*dynamic, *others_in(auxiliary))]

    return Node(take_apart, put_together, labels, names=() if static else tuple(dynamic))


def _may_have_others(value: Any, count: int) -> bool:
    """Whether an object may have more attributes than this number of fields, without asking for its dict.

    That makes the attributes of the caller's own slower from then on; as long as nobody has, the object refers to them itself.
    """
    referents = gc.get_referents(value)
    return len(referents) != count + 1 or any(type(one) is dict for one in referents)


def taken_apart(value: Any) -> tuple[Any, Sequence[Any]] | None:
    """What is known of a container besides its parts, and these; None for a leaf.

    >>> taken_apart({"w": [1, 2], "b": 3})
    (('w', 'b'), ([1, 2], 3))
    """
    node = _node_of(type(value))
    return None if node is None else node.take_apart(value)


def needed_of(type: type) -> Callable[[Any], Collection[int]] | None:
    """For a container the first part of which says which of the others are needed: what asks it."""
    return _NODES[type].needed


def names_of(type: type, auxiliary: Any) -> tuple[str, ...]:
    """Of an object that nothing else is known of, the names of the attributes that its parts are."""
    return () if auxiliary else _NODES[type].names


def labels_of(type: type, auxiliary: Any, count: int) -> Sequence[str]:
    """The place of each part, as code spells it."""
    return _NODES[type].labels(auxiliary, count)


def flatten_into(value: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None = None) -> Structure:
    """Append the leaves of value and return its structure."""
    kind = type(value)
    node = _NODES[kind] if kind in _NODES else _node_of(kind)
    if node is None or is_leaf is not None and kind is not type(None) and is_leaf(value):
        if kind not in _STRUCTURED or value.dtype.names is None or not _structured or is_leaf is not None:
            leaves.append(value)
            return LEAF
        kind, take_apart = _structured[0]
        auxiliary, children = take_apart(value)
    else:
        auxiliary, children = node.take_apart(value)
    return kind, auxiliary, tuple([flatten_into(child, leaves, is_leaf) for child in children])


def flatten(value: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Structure]:
    """The leaves of value and its structure; what ``is_leaf`` says is a leaf, too.

    >>> flatten({"w": [1, 2], "b": 3})
    ([1, 2, 3], (<class 'dict'>, ('w', 'b'), ((<class 'list'>, None, (*, *)), *)))
    """
    leaves: list[Any] = []
    structure = flatten_into(value, leaves, is_leaf)
    return leaves, structure


def unflatten(structure: Structure, leaves: Iterable[Any]) -> Any:
    """The value of this structure with these leaves.

    >>> unflatten(flatten({"w": [1, 2], "b": 3})[1], "xyz")
    {'w': ['x', 'y'], 'b': 'z'}
    """
    return unflatten_from(structure, iter(leaves))


def unflatten_from(structure: Structure, leaves: Iterator[Any]) -> Any:
    """As `unflatten`; takes as many leaves as the structure has."""
    if structure is LEAF:
        return next(leaves)
    kind, auxiliary, children = structure
    node = _NODES[kind]
    if node.needed is None:
        return node.put_together(auxiliary, [unflatten_from(child, leaves) for child in children])
    parts = [unflatten_from(children[0], leaves)]
    needed = node.needed(parts[0])
    for index, child in enumerate(children[1:], start=1):
        if index in needed:
            parts.append(unflatten_from(child, leaves))
        else:
            collections.deque(itertools.islice(leaves, leaf_count(child)), maxlen=0)
            parts.append(None)
    return node.put_together(auxiliary, parts)


def types_within(structure: Structure) -> tuple[Any, ...]:
    """What tells apart what is equal of what a structure holds besides leaves, as keys: types, and of floats the texts.

    >>> types_within(flatten({1: 3, (True,): [4], -0.0: 5})[1])
    (<class 'int'>, (<class 'bool'>,), (<class 'float'>, '-0.0'))
    """
    if structure is LEAF:
        return ()
    _, auxiliary, children = structure
    own = () if auxiliary is None else _types(auxiliary) if type(auxiliary) is tuple else _types((auxiliary,))
    return (*own, *[one for child in children if child is not LEAF for one in types_within(child)])


# Values of these that are equal may differ in what they hold, or in a sign of zero.
_TOLD_BY_MORE = frozenset([tuple, float, complex, *[np.dtype(kind).type for kind in "efdgFDG"]])


def _types(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([type(value) if type(value) not in _TOLD_BY_MORE else _told(value) for value in values])


def _told(value: Any) -> tuple[Any, ...]:
    return _types(value) if type(value) is tuple else (type(value), repr(value))


def leaf_count(structure: Structure) -> int:
    """How many leaves a value of this structure has.

    >>> leaf_count(flatten({"w": [1, 2], "b": 3})[1])
    3
    """
    return 1 if structure is LEAF else sum(map(leaf_count, structure[2]))


def leaf_paths(structure: Structure, prefix: str = "") -> list[str]:
    """The place of each leaf, as code spells it.

    >>> leaf_paths(flatten({"w": [1, 2], "b": 3})[1], "state")
    ["state['w'][0]", "state['w'][1]", "state['b']"]
    """
    if structure is LEAF:
        return [prefix]
    pairs = zip(child_labels(structure), structure[2])
    return [path for label, child in pairs for path in leaf_paths(child, prefix + label)]


def child_labels(structure: Structure) -> Sequence[str]:
    """The places of a container's children, as code spells them.

    >>> child_labels(flatten({"w": [1, 2], "b": 3})[1])
    ["['w']", "['b']"]
    """
    kind, auxiliary, children = structure
    return _NODES[kind].labels(auxiliary, len(children))


def put_together(kind: type, auxiliary: Any, children: Sequence[Any]) -> Any:
    """A container of this kind."""
    return _NODES[kind].put_together(auxiliary, children)


class StructureMismatch(Exception):
    """A value does not have the structure required; ``path``, ``required`` and ``given`` say where and how."""

    def __init__(self, path: str, required: str, given: str) -> None:
        super().__init__(f"{path}: {required} required, {given} given")
        self.path, self.required, self.given = path, required, given


def flatten_as(structure: Structure, value: Any, path: str = "") -> list[Any]:
    """The leaves of a value that must have this structure; dicts may have their keys in another order.

    Raises StructureMismatch with the place that differs.
    """
    leaves: list[Any] = []
    _flatten_as(structure, value, path, leaves)
    return leaves


def _flatten_as(structure: Structure, value: Any, path: str, leaves: list[Any]) -> None:
    node = _node_of(type(value))
    if structure is LEAF:
        if node is not None:
            raise StructureMismatch(path, "an array", _words(type(value), *node.take_apart(value)))
        leaves.append(value)
        return
    kind, auxiliary, children = structure
    if type(value) is not kind:
        raise StructureMismatch(path, _words(kind, auxiliary, children), getattr(value, "run_time_type", type(value)).__name__)
    given_auxiliary, given = node.take_apart(value)
    if kind in (dict, OrderedDict) and given_auxiliary != auxiliary and set(given_auxiliary) == set(auxiliary):
        given_auxiliary, given = auxiliary, [value[key] for key in auxiliary]
    if given_auxiliary != auxiliary or len(given) != len(children):
        raise StructureMismatch(path, _words(kind, auxiliary, children), _words(kind, given_auxiliary, given))
    for label, child, part in zip(node.labels(auxiliary, len(children)), children, given):
        _flatten_as(child, part, path + label, leaves)


def _words(kind: type, auxiliary: Any, children: Sequence[Any]) -> str:
    if kind is type(None):
        return "None"
    if kind in (dict, OrderedDict):
        return f"{kind.__name__} with keys {list(auxiliary)}"
    details = f" with {auxiliary!r}" if auxiliary not in (None, ()) else ""
    return f"{kind.__name__} of {len(children)}{details}"


def structure_text(structure: Structure) -> str:
    """A structure as code spells it, ``*`` for leaves.

    >>> structure_text(flatten({"w": [1, 2], "b": None})[1])
    "{'w': [*, *], 'b': None}"
    """
    if structure is LEAF:
        return "*"
    kind, auxiliary, children = structure
    parts = [structure_text(child) for child in children]
    if kind is type(None):
        return "None"
    if kind is list:
        return "[" + ", ".join(parts) + "]"
    if kind is tuple:
        return "(" + ", ".join(parts) + ("," if len(parts) == 1 else "") + ")"
    if kind is dict:
        return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(auxiliary, parts)) + "}"
    return f"{kind.__name__}(" + ", ".join(parts) + ")"


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """The tree with each leaf replaced by function(leaf, corresponding leaves of the other trees).

    Raises ValueError if another tree has a different structure.

    >>> tree_map(lambda a, b: a + b, {"x": 1, "y": (2, 3)}, {"y": (20, 30), "x": 10})
    {'x': 11, 'y': (22, 33)}
    """
    leaves, structure = flatten(tree)
    try:
        columns = [flatten_as(structure, other, f"tree {number}") for number, other in enumerate(others, 2)]
    except StructureMismatch as mismatch:
        raise ValueError(f"tree_map: {mismatch}") from None
    return unflatten(structure, [function(*row) for row in zip(leaves, *columns)])
