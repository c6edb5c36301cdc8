"""Lists whose length the program decides, and texts, as what a call returns or sets outside: real lists and texts."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from ..recording import pytree
from .deques import TracedDeque
from .list_access import items_of
from .list_parts import parts_of
from .list_runs import Run, is_open_list
from .printing import Deferred
from .printing import Result as TextResult


class _Result:
    """A container in the place of such a list (or tuple, or deque), which a call puts together as one."""

    def __init__(self, items: Sequence[Any], kind: type, maxlen: int | None) -> None:
        self.items, self.kind, self.maxlen = items, kind, maxlen


def _taken_apart(result: _Result) -> tuple[list[Any], tuple[Any, ...]]:
    """The parts, and how many of them make up elements; None for an element that is one itself."""
    parts: list[Any] = []
    pieces = []
    for item in result.items:
        arrays, elements = parts_of(item) if type(item) is Run else ([item], None)
        parts += arrays
        pieces.append((len(arrays), elements))
    return parts, (result.kind, result.maxlen, tuple(pieces))


def _put_together(auxiliary: tuple[type, int | None, Sequence[Any]], parts: Sequence[Any]) -> Any:
    kind, maxlen, pieces = auxiliary
    found: list[Any] = []
    begin = 0
    for count, elements in pieces:
        given = list(parts[begin : begin + count])
        found += given if elements is None else elements(given)
        begin += count
    return found if kind is list else kind(found) if kind is tuple else kind(found, maxlen)


pytree.register_pytree(_Result, _taken_apart, _put_together)


def with_results(tree: Any) -> Any:
    """The tree, with what becomes a list of the right length, or a text, where there are such lists and texts."""
    leaves, structure = pytree.flatten(tree, _is_replaced)
    if not any(map(_is_replaced, leaves)):
        return tree
    return pytree.unflatten(structure, [_result(leaf) if _is_replaced(leaf) else leaf for leaf in leaves])


def _is_replaced(value: Any) -> bool:
    return type(value) in (TracedDeque, Deferred) or is_open_list(value)


def _result(value: Any) -> _Result | TextResult:
    if type(value) is Deferred:
        return TextResult(value)
    items = [item if type(item) is Run else with_results(item) for item in items_of(value)]
    kind = deque if type(value) is TracedDeque else tuple if type(value) is tuple else list
    return _Result(items, kind, getattr(value, "maxlen", None))
