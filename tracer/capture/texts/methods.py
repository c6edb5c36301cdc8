"""Methods of texts that are made when the program runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...recording.errors import TracerError
from .deferred import Deferred, DeferredObject, DeferredParts, answered, asked, is_bytes
from .formatting import padded


class TextMethod:
    """A method of texts, as a function; two of one name are equal."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, value: str, args: Sequence[Any], kwargs: dict) -> Any:
        return getattr(value, self.__name__)(*args, **kwargs)

    def __eq__(self, other: Any) -> bool:
        return type(other) is TextMethod and other.__name__ == self.__name__

    def __hash__(self) -> int:
        return hash(self.__name__)


# Methods of texts, with an example of what they say; where there is none here it is a text.
_ANSWERS = {"startswith": False, "endswith": False, "find": 0, "index": 0, "rfind": 0, "rindex": 0, "count": 0, "__len__": 0}
_ANSWERS |= {name: False for name in dir(str) if name.startswith("is")}
_ANSWERS_OF_LISTS = {"index": 0, "count": 0, "__len__": 0}
_OF_BYTES = {"decode", "hex"}  # which make texts
_LEFT_OUT = {"encode", "maketrans"}


def method_of_text(value: Deferred, name: str) -> Callable[..., Any]:
    """``value.name`` for a method of str."""
    if name == "__class__" and not isinstance(value, DeferredObject):
        return list if type(value) is DeferredParts else bytes if is_bytes(value) else str
    if is_bytes(value):
        if name not in _OF_BYTES | {"__len__"}:
            raise TracerError(f"bytes.{name} of bytes that depend on traced values is not followed. Fix: use an array of uint8")
        if name == "__len__":
            return lambda: asked(TextMethod(name), 0, value, (), {})
        return lambda *args, **kwargs: Deferred(TextMethod(name), value, args, kwargs)
    answers = _ANSWERS_OF_LISTS if type(value) is DeferredParts else _ANSWERS
    if name in answers:
        return lambda *args, **kwargs: asked(TextMethod(name), answers[name], value, args, kwargs)
    if type(value) is DeferredObject:
        raise TracerError(f"{name} of an object that is made of traced values is known when the program runs")
    if name not in dir(str) or name in _LEFT_OUT or type(value) is DeferredParts:
        kind = "list" if type(value) is DeferredParts else "str"
        raise TracerError(f"{kind}.{name} of a text that depends on traced values is known when the program runs")
    if name == "translate":
        return lambda table: Deferred(TextMethod(name), value, (_codes_by_code(table),), {})
    kind = DeferredParts if name in ("split", "rsplit", "splitlines") else Deferred

    def made(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and (number := padded(value, name, args[0])) is not None:
            return number
        if kind is DeferredParts and (parts := answered(TextMethod(name), value, args, kwargs)) is not None:
            return parts
        found = kind(TextMethod(name), value, args, kwargs)
        return tuple([found[place] for place in range(3)]) if name in ("partition", "rpartition") else found

    return made


def _codes_by_code(table: Any) -> dict[int, int]:
    """What `str.translate` puts in the place of characters. Raises TracerError where that is no character, or not known."""
    found = {}
    for key, value in table.items() if isinstance(table, dict) else ((None, None),):
        code = ord(value) if isinstance(value, str) and len(value) == 1 else value
        if type(key) is not int or type(code) is not int:
            raise TracerError("str.translate of a text that depends on traced values takes a dict of characters for characters")
        found[key] = code
    return found
