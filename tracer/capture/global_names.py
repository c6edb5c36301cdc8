"""Global names that a traced function sets and deletes."""

from __future__ import annotations

import types
from typing import Any

from . import journals, places
from .outside.namespaces import Namespace


class _GlobalName(places.Place):
    """A global name that a traced function sets."""

    def __init__(self, name: str, namespace: Namespace) -> None:
        self.name, self.namespace = name, namespace

    @property
    def key(self) -> Any:
        return id(self.namespace), self.name

    def get(self) -> Any:
        return self.namespace.held(self.name)

    def set(self, value: Any) -> None:
        self.namespace.hold(self.name, value)


def delete_global(name: str, here: types.FunctionType) -> None:
    """``del name`` of a global name; ``here`` is a function with the same globals."""
    namespace = here.__globals__
    try:
        namespace[name]  # of what may be nothing the program finds the error
    except KeyError:
        raise NameError(f"name '{name}' is not defined") from None
    if isinstance(namespace, Namespace):
        note_global(name, here)
        namespace.hold(name, places.UNBOUND)
    else:
        del namespace[name]


def note_global(name: str, here: types.FunctionType) -> None:
    """A global name is about to be set; ``here`` is a function with the same globals."""
    if journals.is_journaling():
        journals.note(_GlobalName(name, here.__globals__))
