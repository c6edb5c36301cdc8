"""Dicts and sets whose keys the program computes: what such a Python object holds in the place of its entries.

A dict stays the Python object that it is, also under other names, and holds one item: under the key OPEN, a list of its
entries, (key, value), in their order, whose length the program decides. A set has one element, which holds such a list, of
(element, None).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from ..recording.errors import TracerError


class _Mark:
    """The key under which the entries stand."""

    def __init__(self, name: str) -> None:
        self.name = name

    def _refuse(self, *arguments: Any) -> NoReturn:
        raise TracerError(
            "a dict or a set whose keys the program computes is used in a way that is not implemented: by code that is not "
            "captured, or as keywords **x"
        )

    __eq__, __hash__ = object.__eq__, object.__hash__
    __lt__ = __le__ = __gt__ = __ge__ = __str__ = __format__ = _refuse

    def __repr__(self) -> str:
        return f"<{self.name}>"


OPEN = _Mark("entries")
INSERTED = _Mark("entries of a set, in the order in which they were put into an empty one, one after the other")
UNORDERED = _Mark("entries of a set, in an order that is not Python's")


class _Elements(_Mark):
    """What stands among the elements of a set for all of them."""

    def __init__(self, mark: _Mark, entries: list[Any]) -> None:
        super().__init__(mark.name)
        self.mark, self.entries = mark, entries


def is_open_set(value: Any) -> bool:
    """Whether the program decides what a set holds."""
    return isinstance(value, (set, frozenset)) and len(value) == 1 and type(next(elements_in(value))) is _Elements


def elements_in(holder: Any) -> Iterator[Any]:
    """What a set holds, in any order; a copy of one from outside tells the order of that where it is gone over."""
    return (set if isinstance(holder, set) else frozenset).__iter__(holder)


def type_of_set(holder: Any) -> type:
    """Of what class a set is, for the user; one from outside has a class of its own."""
    return set if isinstance(holder, set) else type(holder)


def is_open_dict(value: Any) -> bool:
    """Whether the program decides on the keys of a dict."""
    return isinstance(value, dict) and dict.__contains__(value, OPEN)


def has_open_keys(value: Any) -> bool:
    """Whether the program decides on the keys of a dict, or on the elements of a set."""
    return is_open_dict(value) or is_open_set(value)


def contents_of(holder: Any) -> dict[Any, Any]:
    """What a dict or a set holds, as a dict of its own."""
    if isinstance(holder, dict):
        return dict(holder)
    if is_open_set(holder):
        (elements,) = elements_in(holder)
        return {elements.mark: elements.entries}
    try:
        return dict.fromkeys(holder)
    except TracerError as error:
        if not error.is_of_order:
            raise
        return {UNORDERED: [(element, None) for element in elements_in(holder)]}


def mark_of(contents: dict[Any, Any]) -> Any:
    """OPEN, INSERTED or UNORDERED, where such contents are a list of entries; None elsewhere."""
    if len(contents) != 1:
        return None
    (key,) = contents
    return key if type(key) is _Mark else None


def common_mark(*contents: dict[Any, Any]) -> Any:
    """What is true of the order of all of these contents: where marks differ, or elements are known, whose order is Python's,
    there is none."""
    marks = {mark_of(one) for one in contents}
    if marks <= {None, OPEN}:
        return OPEN
    is_inserted = marks <= {None, INSERTED} and all(len(one) <= 1 for one in contents)
    return INSERTED if is_inserted else UNORDERED


def opened(contents: dict[Any, Any], mark: Any = OPEN) -> dict[Any, Any]:
    """The contents with their entries as a list, which has this mark."""
    have = mark_of(contents)
    return {mark: list(contents.items()) if have is None else contents[have]}


def require_order(value: Any) -> None:
    """To be called with what becomes a text, as that of a set says its elements in Python's order. Raises TracerError."""
    if isinstance(value, (list, tuple)):
        for part in list.__iter__(value) if isinstance(value, list) else value:
            require_order(part)
    elif isinstance(value, dict):
        require_order(tuple(dict.values(value)))
    elif is_open_set(value) and mark_of(contents_of(value)) is not INSERTED:
        raise TracerError(
            "the text of a set has its elements in Python's order, which is not known of one that the program computes by "
            "anything else than putting elements into an empty one. Fix: the text of sorted(...) of it"
        )


def elements_of_set(contents: dict[Any, Any]) -> Sequence[Any]:
    """What a set consists of that has these contents."""
    mark = mark_of(contents)
    return list(contents) if mark is None else [_Elements(mark, contents[mark])]
