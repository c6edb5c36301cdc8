"""What a text asks a dict for whose class puts what is missing: ``"%(key)s" % d`` and ``"{0[key]}".format(d)``.

It is put there as ``d[key]`` would, before Python or the program makes the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from string import Formatter
from typing import Any

from ..attributes import getattr_
from ..calls.meanings import TEXT_METHODS
from ..items import getitem
from ..printing import call_text_method
from . import formatting

_KEYS = re.compile(r"%(?:%|\(([^)]*)\))")


def _puts_missing(value: Any) -> bool:
    return isinstance(value, dict) and hasattr(type(value), "__missing__")


def mod(value: Any, other: Any) -> Any:
    """``value % other``"""
    if type(value) is str and _puts_missing(other):
        for key in _KEYS.findall(value):
            if key:
                getitem(other, key)
    return formatting.mod(value, other)


def _ask_for_fields(text: str, field: Callable[[str | int], Any]) -> None:
    """Ask for the items in a format's replacement fields; ``field`` says what these begin with."""
    for _, name, format_, _ in Formatter().parse(text):
        if name is None:
            continue
        parts = re.findall(r"^[^.\[]*|\.[^.\[]+|\[[^\]]*\]", name)
        held = field(int(parts[0]) if parts[0].isdigit() else parts[0])
        for part in parts[1:]:
            key = part[1:-1] if part[0] == "[" else part[1:]
            if _puts_missing(held):
                held = getitem(held, int(key) if key.isdigit() else key)
            elif part[0] == "." and hasattr(held, "__dict__"):
                held = getattr_(held, key)
            else:
                break
        _ask_for_fields(format_, field)


def _format(method: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    if "[" in method.__self__:
        given = dict(enumerate(args)) | kwargs | {"": None}
        numbers = iter(range(len(args)))
        _ask_for_fields(method.__self__, lambda name: given.get(next(numbers, "") if name == "" else name))
    return call_text_method(method, args, kwargs)


def _format_map(method: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    if len(args) == 1 and _puts_missing(args[0]):
        _ask_for_fields(method.__self__, lambda name: getitem(args[0], str(name)))
    return call_text_method(method, args, kwargs)


TEXT_METHODS["format"], TEXT_METHODS["format_map"] = _format, _format_map
