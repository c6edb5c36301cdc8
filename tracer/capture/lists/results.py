"""Lists whose length the program decides as what a call returns or sets outside: lists of that length."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from ...recording import pytree
from ..texts import AS_RESULTS, is_open
from .access import items_of
from .deques import TracedDeque
from .parts import parts_of
from .runs import Run, is_open_list


class _Result:
    """A container in the place of such a list (or tuple, or deque), which a call puts together as one.

    parts: arrays and elements; making: the container's type and maximal length, and how many parts make up elements, with what
    does that; None for an element that is one itself.
    """

    def __init__(self, parts: Sequence[Any], making: tuple[type, int | None, Sequence[Any]]) -> None:
        self.parts, self.making = parts, making


def _result_of(items: Sequence[Any], kind: type, maxlen: int | None) -> _Result:
    parts: list[Any] = []
    pieces = []
    for item in items:
        arrays, elements = parts_of(item) if type(item) is Run else ([item], None)
        parts += arrays
        pieces.append((len(arrays), elements))
    return _Result(parts, (kind, maxlen, tuple(pieces)))


def _put_together(making: tuple[type, int | None, Sequence[Any]], parts: Sequence[Any]) -> Any:
    if any(map(is_open, parts)):
        return _Result(parts, making)
    kind, maxlen, pieces = making
    found: list[Any] = []
    begin = 0
    for count, elements in pieces:
        given = list(parts[begin : begin + count])
        found += given if elements is None else elements(given)
        begin += count
    return found if kind is list else kind(found) if kind is tuple else kind(found, maxlen)


pytree.register_pytree(_Result, lambda result: (result.parts, result.making), _put_together)


def with_results(tree: Any) -> Any:
    """The tree, with what becomes a list of the right length, where there are such lists."""
    leaves, structure = pytree.flatten(tree, _is_replaced)
    if not any(map(_is_replaced, leaves)):
        return tree
    return pytree.unflatten(structure, [_result(leaf) if _is_replaced(leaf) else leaf for leaf in leaves])


AS_RESULTS.append(with_results)


def _is_replaced(value: Any) -> bool:
    return type(value) is TracedDeque or is_open_list(value)


def _result(value: Any) -> _Result:
    items = [item if type(item) is Run else with_results(item) for item in items_of(value)]
    kind = deque if type(value) is TracedDeque else tuple if type(value) is tuple else list
    return _result_of(items, kind, getattr(value, "maxlen", None))
