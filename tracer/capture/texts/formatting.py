"""How values are shown in texts: f-strings, ``%`` and the texts that objects have of themselves."""

from __future__ import annotations

import operator
import re
from typing import Any

import numpy as np

from .... import hlo
from ...outside.guards import SameValue
from ...outside.paths import Called
from ...outside.values import print_options
from ...recording.array import TracedArray
from ..entries import require_order
from ..lists.runs import is_open_list
from ..outside.surroundings import current_surroundings
from ..special_methods import special_method
from .deferred import CONVERSIONS, Deferred, FString, concrete, is_open, is_text, shown

# The methods that say what the text of an object is, for each conversion; -1 is none.
_TELLING = {-1: ("__str__", "__repr__"), ord("s"): ("__str__", "__repr__"), ord("r"): ("__repr__",)}


def told(value: Any, conversion: int = -1, specification: str | Deferred = "") -> Any:
    """An object as the text that its class makes of it, and an exception as the text that it has; anything else as it is."""
    require_order(value)
    _guard_options_for(value)
    has_specification = not isinstance(specification, str) or specification != ""
    if isinstance(value, BaseException) and conversion in (-1, ord("s")) and len(value.args) == 1:
        (only,), says = value.args, type(value).__str__
        if says is KeyError.__str__:
            return text((only, ord("r"), ""))
        if says is BaseException.__str__:
            return text((only, ord("s"), "")) if isinstance(only, TracedArray) else only if is_text(only) else value
    if conversion == -1 and (method := special_method(value, "__format__")) is not None:
        return method(specification)
    method = None if conversion == -1 and has_specification else special_method(value, *_TELLING.get(conversion, ()))
    return value if method is None else method()


def _guard_options_for(value: Any) -> None:
    """Arrays that are known become texts while the function is traced, as NumPy's options say."""
    if _holds_known_array(value) and (surroundings := current_surroundings()) is not None:
        options = print_options(surroundings.trace.program.print_options)
        surroundings.guard(SameValue(Called(print_options), options))


def _holds_known_array(value: Any) -> bool:
    if type(value) in (list, tuple) and not is_open_list(value):
        return any(map(_holds_known_array, value))
    is_array = isinstance(value, TracedArray) and not value.is_scalar or isinstance(value, np.ndarray)
    return is_array and not is_open(value)


_SHOWN_BY_PYTHON = frozenset({int, float, complex, bool, str, type(None)})


def _shown(value: Any, conversion: int, specification: str) -> str:
    return format(value if conversion == -1 else CONVERSIONS[conversion](value), specification)


def text(*parts: Any) -> Any:
    """An f-string: its texts, and its values as (value, conversion, format)."""
    if all([type(part) is str or type(part[0]) in _SHOWN_BY_PYTHON and type(part[2]) is str for part in parts]):
        return "".join([part if type(part) is str else _shown(*part) for part in parts])
    parts = tuple([part if type(part) is str else _told_part(*part) for part in parts])
    open_parts = [type(part) is tuple and (is_open(part[0]) or is_open(part[2])) for part in parts]
    known = [
        part if type(part) is str else (part[0], part[2]) if open_ else FString(part[1:2])((part[0], part[2]))
        for part, open_ in zip(parts, open_parts)
    ]
    if not any(open_parts):
        return "".join(known)
    return Deferred(FString([part[1] for part, open_ in zip(parts, open_parts) if open_]), *known)


def _told_part(value: Any, conversion: int, specification: Any) -> tuple[Any, int, Any]:
    found = told(value := shown(value), conversion, specification)
    return (value, conversion, specification) if found is value else (found, -1, "" if conversion == -1 else specification)


_UNPADDED = re.compile(r"([-+ ]?)((?:\.\d{1,4})?[eEfFgG%d]?)")
_ALIGNED = {"rjust": ">", "ljust": "<", "zfill": "0"}
_MOST_PLACES = 9999


def padded(shown: Deferred, name: str, places: Any) -> Deferred | None:
    """``f"{number}".rjust(places)`` and the like as ``f"{number:>places}"``, None for other texts."""
    if type(shown) is not Deferred or type(shown.function) is not FString:
        return None
    if len(shown.values) != 1 or type(shown.values[0]) is not tuple:
        return None
    (value, specification), (conversion,) = shown.values[0], shown.function.conversions
    found = _UNPADDED.fullmatch(specification) if type(specification) is str else None
    if found is None or type(places) is not int or not 0 < places <= _MOST_PLACES or name not in _ALIGNED:
        return None
    if conversion not in (-1, ord("s")) or conversion != -1 and specification:
        return None
    if not isinstance(value, TracedArray) or not value.is_scalar or value.exact is not None:
        return None
    kind, (sign, form) = value.element_type, found.groups()
    # What has no digits, or other ones than Python's, and signs in front of which zeros go, are other texts than these.
    is_number = kind.is_integer and kind is not hlo.PRED or kind is hlo.F64 and (value.weak_type or form != "" or sign != "")
    if not is_number or name == "zfill" and (sign == " " or not kind.is_integer):
        return None
    align = _ALIGNED[name]
    written = f"{sign}0{places}{form}" if align == "0" else f"{align}{sign}{places}{form}"
    return Deferred(FString((-1,)), (value, written))


_DIRECTIVES = re.compile(r"%%|(%[-+ #0]*\d*(?:\.\d+)?)([a-zA-Z])")


def _with_texts(value: str, others: list[Any]) -> tuple[str, tuple[Any, ...]]:
    """A text with directives, and what they show, with the texts of objects as their classes make them."""
    remaining = iter(range(len(others)))

    def told_by(found: re.Match) -> str:
        place = next(remaining, None) if found[2] else None
        if place is None or found[2] not in "sr":
            return found[0]
        before, others[place] = others[place], told(others[place], ord(found[2]))
        return found[0] if others[place] is before else f"{found[1]}s"

    return _DIRECTIVES.sub(told_by, value), tuple(others)


def mod(value: Any, other: Any) -> Any:
    """``value % other``"""
    if type(value) is not str:
        return value % other
    others = list(other) if type(other) is tuple else [other]
    if any(special_method(one, *_TELLING[-1]) for one in others):
        value, other = _with_texts(value, others)
    elif is_open(other) and (parts := _parts_of_f_string(value, others)) is not None:
        return text(*parts)
    return Deferred(operator.mod, value, other) if is_open(other) else value % concrete(other)


# Of these an f-string has the same; no Python is needed for many of them.
_PLAIN_DIRECTIVE = re.compile(r"%(?:%|([-+ 0]?)(\d{0,3})(\.\d{1,3})?([feEgGds]))")


def _parts_of_f_string(value: str, others: list[Any]) -> list[Any] | None:
    """The parts of the f-string that shows the same, as `text` takes them; None where there may be none."""
    parts, end, remaining = [], 0, list(others)
    for found in _PLAIN_DIRECTIVE.finditer(value):
        if "%" in (between := value[end : found.start()]):
            return None
        parts.append(between)
        end = found.end()
        if found[0] == "%%":
            parts.append("%")
            continue
        if not remaining or (part := _part_of_f_string(remaining.pop(0), *found.groups())) is None:
            return None
        parts.append(part)
    return None if remaining or "%" in value[end:] else [*parts, value[end:]]


def _part_of_f_string(value: Any, flag: str, width: str, precision: str | None, letter: str) -> tuple[Any, int, str] | None:
    is_number = isinstance(value, TracedArray) and value.is_scalar and value.exact is None
    kind = value.element_type if is_number else None
    align = "<" if flag == "-" else ">" if width and flag != "0" else ""
    written = f"{align}{flag.replace('-', '')}{width}"
    if letter == "s":
        is_shown = isinstance(value, str) or is_number and (kind.is_integer or kind is hlo.F64) and kind is not hlo.PRED
        return (value, ord("s"), written) if is_shown and flag in ("", "-") and precision is None else None
    if letter == "d":
        is_shown = type(value) is int or is_number and kind.is_integer and kind is not hlo.PRED
        return (value, -1, f"{written}d") if is_shown and precision is None else None
    is_shown = type(value) is float or is_number and kind in (hlo.F64, hlo.F32)
    return (value, -1, f"{written}{precision or ''}{letter}") if is_shown else None


def product(value: Any, other: Any) -> Any:
    """``value * other``"""
    is_repeated = (type(value) is str and is_open(other)) or (type(other) is str and is_open(value))
    return Deferred(operator.mul, value, other) if is_repeated else value * other
