"""What prints text, and what makes it of values: it is called when the program runs, as often as the code says."""

from __future__ import annotations

import builtins
import io
import json
import logging
import re
import string
import sys
import textwrap
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..calls.again import once
from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.errors import TracerError
from .calls.dispatch import call
from .calls.meanings import SAYING, TEXT_METHODS, implements
from .choices import Choice
from .keys.views import DictView
from .lists.references import row_of
from .loops.iteration import Rows
from .text_fields import as_python
from .texts.deferred import Deferred, call_later, concrete, is_bytes, is_open, is_text
from .texts.formatting import text, told
from .texts.methods import TextMethod
from .texts.shared import MAKERS
from .texts.streams import TextStream, print_to


class Spread:
    """The elements of a list, each of which is printed."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def __str__(self) -> str:
        raise TracerError("elements of a list whose length the program decides, behind a star, are arguments of print alone")

    __repr__ = __str__


def _spreading(printing: Callable[..., None], values: tuple[Any, ...]) -> Callable[..., None]:
    """What prints values, the elements of those that are `Spread`."""
    places = frozenset(place for place, value in enumerate(values) if type(value) is Spread)
    return partial(_print_spread, places, printing) if places else printing


def _print_spread(places: frozenset[int], printing: Callable[..., None], *shown: Any) -> None:
    printing(*[one for place, value in enumerate(shown) for one in (value if place in places else (value,))])


@implements(print)
def print_(*values: Any, sep: Any = " ", end: Any = "\n", file: Any = None, flush: bool = False) -> None:
    """Prints at every call, what the values are then; to what is the standard output or error then, if it is that now."""
    if type(file) is TextStream:
        return print_to(file, values, sep, end)
    if isinstance(file, io.StringIO) and id(file) in current_trace().program.made_objects:
        raise TracerError("a StringIO that begins with a text is printed to in a traced function: write to an empty one")
    standard = next((name for name in ("stdout", "stderr") if file is not None and file is getattr(sys, name)), None)

    def print_now(*shown: Any) -> None:
        stream = file if standard is None else getattr(sys, standard)
        once(print, *shown, sep=sep, end=end, file=stream, flush=flush)

    shown = [value.values if type(value) is Spread else told(value, ord("s")) for value in values]
    if file is not None:
        return call_later(_spreading(print_now, values), *shown)
    is_plain = not flush and (sep, end) == (" ", "\n")
    printing = print if is_plain else partial(print, sep=sep, end=end, flush=flush)
    call_later(_spreading(partial(once, printing), values), *shown, named=print)


def _log_function(function: Callable[..., None]) -> Callable[..., None]:
    def log_now(args: tuple, kwargs: dict) -> None:
        once(function, *args, **kwargs)

    log_now.__name__ = function.__name__

    def log(*args: Any, **kwargs: Any) -> None:
        if kwargs:
            call_later(log_now, args, kwargs)
        else:
            call_later(partial(once, function), *args, named=function)

    return log


# Loggers are told at every call, too, what the values are then.
for _level in ("debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log"):
    for _holder in (logging, logging.Logger, logging.LoggerAdapter):
        if hasattr(_holder, _level):
            SAYING.add(getattr(_holder, _level))
            implements(getattr(_holder, _level))(_log_function(getattr(_holder, _level)))


def _is_number(value: Any) -> bool:
    return isinstance(value, TracedArray) and value.is_scalar


def _parts_of_format(template: Any, args: tuple, kwargs: dict) -> list[Any] | None:
    """``template.format(...)`` of numbers and texts as the parts of an f-string; None where it asks for more."""
    if type(template) is not str or not any(map(_is_number, (*args, *kwargs.values()))):
        return None
    try:
        fields = list(_FORMATTER.parse(template))
    except ValueError:
        return None
    parts: list[Any] = []
    names = [field for _, field, _, _ in fields if field is not None]
    numbered = iter(range(len(names)))
    for known, field, specification, conversion in fields:
        if known:
            parts.append(known)
        if field is None:
            continue
        if "{" in specification or "}" in specification or "" in names and set(names) != {""}:
            return None
        place = next(numbered) if not field else int(field) if field.isdecimal() and field.isascii() else field
        if type(place) is int and place < len(args):
            value = args[place]
        elif place in kwargs:
            value = kwargs[place]
        else:
            return None
        if not _is_number(value) and type(value) not in (str, int, float, bool):
            return None
        if conversion is not None and conversion not in ("s", "r", "a"):
            return None
        parts.append((value, ord(conversion) if conversion else -1, specification))
    return parts


def _text_function(builtin: Callable[..., str]) -> Callable:
    conversion = {builtins.str: ord("s"), builtins.repr: ord("r"), builtins.format: -1}.get(builtin)

    def when_run(kwargs: dict, *args: Any) -> str:  # one function, so that texts of several rounds are alike
        return builtin(*args, **kwargs)

    MAKERS.add(when_run)

    def implementation(*args: Any, **kwargs: Any) -> Any:
        if args and conversion is not None and (found := told(args[0], conversion, *args[1:])) is not args[0]:
            return found
        if builtin is builtins.str and len(args) == 1 and type(args[0]) is Choice and not any(map(is_open, args[0].values)):
            return Choice(args[0].number, list(map(str, args[0].values)))
        is_one = builtin is builtins.str and len(args) == 1 and is_text(args[0]) and not is_bytes(args[0])
        if is_one and not isinstance(args[0], str):
            return as_python(args[0])
        if conversion is not None and len(args) == 1 and not kwargs and isinstance(args[0], TracedArray) and args[0].is_scalar:
            return text((args[0], conversion, ""))
        if builtin is builtins.format and len(args) == 2 and not kwargs and type(args[1]) is str and _is_number(args[0]):
            return text((args[0], -1, args[1]))
        if args and any(map(is_open, args)):
            return Deferred(when_run, kwargs, *args)
        return builtin(*map(concrete, args), **kwargs)

    return implementation


for _builtin in (
    builtins.str, builtins.repr, builtins.format, builtins.ascii, np.array2string, np.array_str, np.array_repr,
    np.format_float_positional, np.format_float_scientific, json.dumps, textwrap.fill, textwrap.indent, textwrap.dedent,
    textwrap.shorten,
):  # fmt: skip
    implements(_builtin)(_text_function(_builtin))


_FORMATTER = string.Formatter()
_ASKS_MORE = re.compile(r"{[^}]*[!.:\[]")  # for something else than the text of the object


def call_text_method(method: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """``"...".format(...)`` and the like."""
    if method.__name__ == "join":
        args = tuple(map(_listed, args))
    if method.__name__ == "format" and (parts := _parts_of_format(method.__self__, args, kwargs)) is not None:
        return text(*parts)
    if not _ASKS_MORE.search(method.__self__):
        args, kwargs = tuple(map(told, args)), {name: told(value) for name, value in kwargs.items()}
    if any(map(is_open, (*args, *kwargs.values()))):
        return Deferred(TextMethod(method.__name__), method.__self__, args, kwargs)
    return method(*map(concrete, args), **kwargs)


TEXT_METHODS["join"] = call_text_method


def _listed(value: Any) -> Any:
    """An iterator or a row of a table as a list that has the elements themselves."""
    is_one = hasattr(value, "__next__") or isinstance(value, (Rows, DictView)) or row_of(value) is not None
    return call(list, value) if is_one else value
