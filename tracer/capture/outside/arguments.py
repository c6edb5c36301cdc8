"""Containers among the arguments: the traced function gets copies; what it changes in these happens to the caller's own."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from ...outside.paths import MISSING, Argument, Attribute, Item, Path
from ...recording import pytree
from ...recording.array import TracedArray
from ...recording.errors import TracerError
from ..entries import is_open_dict

Effect = tuple[str, Path, Any]


class ArgumentContainers:
    """The copies, by their ids, with their places and with what they held when the function began."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Any, Path, Any]] = {}
        self._arrays: list[tuple[TracedArray, Path, tuple[int, ...]]] = []  # with the shapes that they had

    def add(self, name: str, value: Any) -> None:
        """An argument, which may be a container."""
        self._add(value, Argument(name))

    def _add(self, value: Any, path: Path) -> None:
        if isinstance(value, TracedArray) and not value.is_scalar:
            self._arrays.append((value, path, value.shape))
        if value is None or pytree.flatten(value)[1] is pytree.LEAF:
            return
        held = _held(value)
        self._found[id(value)] = value, path, held
        for key, child in held.items() if isinstance(value, (list, tuple, dict)) or dataclasses.is_dataclass(value) else ():
            self._add(child, Item(path, key) if isinstance(value, (list, tuple, dict)) else Attribute(path, key))

    def path_of(self, value: Any) -> Path | None:
        """Where one of the copies comes from, None for another object."""
        found = self._found.get(id(value))
        return None if found is None else found[1]

    def effects(self) -> Iterator[Effect]:
        """What is to be done to the caller's arrays and containers, to those first that are in others, which still hold them.

        Raises TracerError for one that cannot be changed.
        """
        for array, path, before in self._arrays:
            if array.shape != before:
                if any(other is not array and other.root_storage is array.root_storage for other, *_ in self._arrays):
                    raise TracerError(f"the shape of {path.text}, which is another argument, too, is assigned to: use .reshape")
                yield "write", Attribute(path, "shape"), array.shape
        for value, path, before in reversed(self._found.values()):
            now = _held(value)
            if list(before) == list(now) and all(now[key] is held for key, held in before.items()):
                continue
            if isinstance(value, list):
                starts_as_before = all(now.get(key, MISSING) is held for key, held in before.items())
                yield ("append", path, value[len(before) :]) if starts_as_before else ("contents", path, list(value))
            elif is_open_dict(value):
                yield "contents", path, dict(value)
            elif isinstance(value, dict):
                yield from _effects_on_items(path, before, now)
            elif dataclasses.is_dataclass(value):
                for key in {**before, **now}:
                    if now.get(key, MISSING) is not before.get(key, MISSING):
                        yield "write", Attribute(path, key), now.get(key, MISSING)
            else:
                raise TracerError(
                    f"{path.text}, a {type(value).__name__}, is changed by the traced function, which got a copy of it: the "
                    "caller would not see that. Return a new one instead, or make it a dataclass"
                )


def _held(value: Any) -> dict[Any, Any]:
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, (list, tuple)):
        return dict(enumerate(value))
    if dataclasses.is_dataclass(value):
        return dict(vars(value)) if hasattr(value, "__dict__") else _fields(value)
    return dict(enumerate(pytree.flatten(value)[0]))


def _fields(value: Any) -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(value)]
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def _effects_on_items(path: Path, before: dict, now: dict) -> Iterator[Effect]:
    kept = [key for key in before if key in now]
    in_place = kept == list(now)[: len(kept)]
    for key in before:
        if key not in now or not in_place:
            yield "write", Item(path, key), MISSING
    for key, value in now.items():
        if not in_place or before.get(key, MISSING) is not value:
            yield "write", Item(path, key), value


def require_distinct(values: Any) -> None:
    """Raises ValueError where one list, dict or dataclass stands at two places among these arguments."""
    seen: set[int] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if value is None or pytree.flatten(value)[1] is pytree.LEAF:
            continue
        if not isinstance(value, tuple):
            if id(value) in seen:
                raise ValueError(
                    f"one {type(value).__name__} stands at two places among the arguments, and the function changes one of "
                    "them; pass a copy of it"
                )
            seen.add(id(value))
        # To ask the caller's own for its dict makes its attributes slower from then on.
        pending += (_fields(value) if dataclasses.is_dataclass(value) else _held(value)).values()
