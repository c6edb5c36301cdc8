"""Lists whose length the program decides as what a call returns or sets outside: lists of that length."""

from __future__ import annotations

import operator
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...recording import pytree
from ...recording.errors import TracerError
from ...recording.makers import register_maker
from ..entries import contents_of, is_open_dict, opened
from ..shared_containers import First, Other
from ..texts import AS_RESULTS, is_open
from .access import items_of
from .deques import TracedDeque
from .parts import parts_of
from .runs import Run, is_open_list


class _Result:
    """A container in the place of such a list (or tuple, or deque), or of a dict or a set, which a call puts together as one.

    parts: arrays and elements; making: what makes the container of a list, and how many parts make up elements, with what
    does that; None for an element that is one itself.
    """

    def __init__(self, parts: Sequence[Any], making: tuple[Callable[[list], Any], Sequence[Any]]) -> None:
        self.parts, self.making = parts, making


def _result_of(items: Sequence[Any], make: Callable[[list], Any]) -> _Result:
    parts: list[Any] = []
    pieces = []
    for item in items:
        arrays, elements = parts_of(item) if type(item) is Run else ([with_results(item)], None)
        parts += arrays
        pieces.append((len(arrays), elements))
    return _Result(parts, (make, tuple(pieces)))


def _put_together(making: tuple[Callable[[list], Any], Sequence[Any]], parts: Sequence[Any]) -> Any:
    return _Result(parts, making) if any(map(is_open, parts)) else _finished(making, *parts)


def _finished(making: tuple[Callable[[list], Any], Sequence[Any]], *parts: Any) -> Any:
    make, pieces = making
    found: list[Any] = []
    begin = 0
    for count, elements in pieces:
        given = list(parts[begin : begin + count])
        found += given if elements is None else elements(given)
        begin += count
    return make(found)


pytree.register_pytree(_Result, lambda result: (result.parts, result.making), _put_together)
register_maker(_Result, lambda making: partial(_finished, making))


def with_results(tree: Any) -> Any:
    """The tree, with what becomes a list of the right length, where there are such lists."""
    leaves, structure = pytree.flatten(tree, lambda value: isinstance(value, (First, Other)) or _is_replaced(value))
    found = list(map(_as_result, leaves))
    return tree if all(map(operator.is_, found, leaves)) else pytree.unflatten(structure, found)


def _as_result(leaf: Any) -> Any:
    if type(leaf) is First:
        return First(leaf.mark, with_results(leaf.value))
    return _result(leaf) if _is_replaced(leaf) else leaf


AS_RESULTS.append(with_results)


def _is_replaced(value: Any) -> bool:
    return type(value) in (TracedDeque, Run, set, frozenset, Counter) or is_open_list(value) or is_open_dict(value)


def _result(value: Any) -> _Result:
    if type(value) is Run:
        raise TracerError("a list whose length the program decides is one of two of another structure, and cannot be returned")
    if isinstance(value, (dict, set, frozenset)):
        ((mark, entries),) = opened(contents_of(value)).items()
        return _result_of(entries, _maker_of(value))
    if type(value) is TracedDeque:
        return _result_of(items_of(value), partial(deque, maxlen=value.maxlen))
    return _result_of(items_of(value), tuple if type(value) is tuple else list)


def _maker_of(value: Any) -> Callable[[list], Any]:
    if isinstance(value, defaultdict):
        return partial(defaultdict, value.default_factory)
    return partial(_from_entries, type(value))


def _from_entries(kind: type, entries: list[tuple[Any, Any]]) -> Any:
    return kind(dict(entries))
