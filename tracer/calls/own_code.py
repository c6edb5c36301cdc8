"""What decides what a decorated function does, its code and its defaults, which may become others."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from ..capture.calls.dispatch import captured_later
from ..capture.outside.surroundings import current_surroundings
from ..outside.guards import SameFunction
from ..outside.paths import Fixed
from ..recording.callables import named
from .arguments import ArgumentReader

_PARTS = ("__code__", "__defaults__", "__kwdefaults__")


class OwnCode:
    """The code and the defaults that a function had when it was last looked at; nothing for what is no function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        inner = named(function)
        inner = getattr(inner, "__func__", inner)
        self.function = inner if type(inner) is types.FunctionType else None
        self._held = tuple([getattr(self.function, part, None) for part in _PARTS])

    def has_changed(self) -> bool:
        function = self.function
        if function is None:
            return False
        code, defaults, keyword_defaults = self._held
        is_same = function.__code__ is code and function.__defaults__ is defaults
        return not is_same or function.__kwdefaults__ is not keyword_defaults

    def guard(self) -> None:
        """The function is part of another one that is traced."""
        surroundings = current_surroundings()
        if surroundings is not None and self.function is not None:
            surroundings.guard(SameFunction(Fixed(self.function, self.function.__name__), self.function))

    @property
    def facts(self) -> list[tuple[Any, ...]]:
        """As `identities.facts_of` has them."""
        return [] if self.function is None else [("entered", self.function)]


def _shared_with_function(name: str) -> Any:
    def get(self: Any) -> Any:
        return getattr(self.__wrapped__, name)

    def set_(self: Any, value: Any) -> None:
        setattr(self.__wrapped__, name, value)

    return property(get, set_)


class HasCode:
    """What is made of a function, whose code and defaults it shows."""

    __code__, __defaults__, __kwdefaults__ = map(_shared_with_function, _PARTS)


def read_function(
    function: Callable[..., Any], options: dict[str, Any]
) -> tuple[OwnCode, ArgumentReader, Callable[[], Callable[..., Any]]]:
    """What a function is now, what it takes, and what gives the function to trace. The options are those of `jit`."""
    code = OwnCode(function)
    reader = ArgumentReader(function, options["static_argnums"], options["static_argnames"])
    return code, reader, captured_later(function) if options["control_flow"] == "source" else lambda: function
