"""``vars(x)`` of an object from outside, as the traced function sees it: its attributes, which are read and set as such."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...outside.guards import SameKeys
from ...outside.paths import MISSING, Attribute, Item, Path
from ...recording.errors import TracerError
from .. import journals, places
from ..choices import Maybe
from .containers import OutsideDict

if TYPE_CHECKING:
    from .surroundings import Surroundings


class OutsideAttribute(places.Place):
    """An attribute of an object from outside, as the traced function sees it."""

    def __init__(self, surroundings: Surroundings, holder: Any, path: Path, attribute: str, place: Path | None = None) -> None:
        self.surroundings, self.holder, self.path, self.attribute, self.place = surroundings, holder, path, attribute, place
        self.name = f"{path.text}.{attribute}"

    @property
    def key(self) -> Any:
        return id(self.holder), self.attribute

    def get(self) -> Any:
        is_cached = isinstance(getattr(type(self.holder), self.attribute, None), functools.cached_property)
        is_set = self.attribute in vars(self.holder) if is_cached else True
        if not is_set and not self.surroundings.has_attribute(self.holder, self.attribute):
            return places.UNBOUND  # and not what would be computed now
        try:
            return self.surroundings.attribute(self.holder, self.path, self.attribute)
        except AttributeError:
            return places.UNBOUND

    def set(self, value: Any) -> None:
        value = MISSING if value is places.UNBOUND else value
        self.surroundings.set_attribute(self.holder, self.path, self.attribute, value, self.place)


def require_surely_set(holder: Any, name: str, value: Any) -> None:
    """To be called with what the dict of an object holds. Raises TracerError where it does on some ways only."""
    if type(value) is Maybe and value.absent is places.UNBOUND:
        raise TracerError(
            f"vars() of a {type(holder).__name__} whose attribute {name} is set, or deleted, under a condition that the "
            "program decides. Fix: set it to None first"
        )


class OutsideAttributes(OutsideDict):
    """The dict of an object. What it holds is asked of the object each time: it may be set there, too."""

    def __init__(self, surroundings: Surroundings, original: dict, path: Attribute) -> None:
        super().__init__(surroundings, original, path)
        self.holder, self.path_of_holder = path.holder.read(surroundings.objects), path.holder

    def value(self, key: Any) -> Any:
        is_set = self.surroundings.has_attribute(self.holder, key, is_set=True)
        if not is_set and (key not in self.original or self._is_behind_another(key)):
            return super().value(key)
        self.unread.discard(key)
        try:
            value = self.surroundings.attribute(self.holder, self.path_of_holder, key)
        except AttributeError:
            dict.pop(self, key, None)
            return MISSING
        require_surely_set(self.holder, key, value)
        dict.__setitem__(self, key, value)
        return value

    def _is_behind_another(self, key: str) -> bool:
        """Whether the object's class has something under this name that is asked before the dict, as properties are."""
        return hasattr(type(getattr(type(self.holder), key, None)), "__set__")

    def _read_all(self) -> None:
        self.surroundings.guard(SameKeys(self.path, list(self.original)))
        for key in [*dict.keys(self), *self.surroundings.names_set(self.holder)]:
            self.value(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._set(key, value)
        dict.__setitem__(self, key, value)

    def __delitem__(self, key: Any) -> None:
        if self.value(key) is MISSING:
            raise KeyError(key)
        self._set(key, MISSING)
        dict.__delitem__(self, key)

    def _set(self, key: Any, value: Any) -> None:
        is_as_it_is = type(type(self.holder).__setattr__) is not types.FunctionType and not self._is_behind_another(key)
        place = None if is_as_it_is else Item(self.path, key)
        if journals.is_journaling():
            journals.note(OutsideAttribute(self.surroundings, self.holder, self.path_of_holder, key, place))
        self.unread.discard(key)
        self.surroundings.set_attribute(self.holder, self.path_of_holder, key, value, place)

    def effects(self) -> Iterator[tuple[str, Path, Any]]:
        """None of its own: they are those of the object."""
        yield from ()
