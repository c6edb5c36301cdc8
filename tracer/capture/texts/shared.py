"""Texts that Python makes, and that are used more than once: it makes them once, and they lie among the program's characters.

What is used once Python makes where it is used. So a function is recorded once more where a text turns out to be used twice.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from ....hlo.source_lines import user_location
from ...recording import pytree
from ...recording.array import TracedArray, require_trace
from ...recording.dynamic_array import DynamicArray
from ...recording.program import Program
from .deferred import MADE_ONCE, Deferred, FString, WrittenText, is_open, is_text, part_of_text
from .methods import TextMethod
from .reading import needs_no_host
from .writing import of_host, text_of_parts

_USED_AGAIN, _RECORDED = "texts that are used more than once", "how often the function was recorded for these"
_FEW = 4  # values that Python writes as fast as it finds a text
_MOST_LEAVES, _MOST_RECORDINGS = 100, 3
# Functions that make texts, whatever they get, and those that make texts of texts.
MAKERS: set[Callable[..., Any]] = set()
_OF_TEXTS = {operator.add, operator.mod, operator.mul, operator.getitem, part_of_text}
_METHODS = (
    "capitalize", "casefold", "center", "expandtabs", "format", "format_map", "join", "ljust", "lower", "lstrip",
    "removeprefix", "removesuffix", "replace", "rjust", "rstrip", "strip", "swapcase", "title", "upper", "zfill",
)  # fmt: skip
_OF_TEXTS |= {TextMethod(name) for name in _METHODS}

Place = tuple[str, tuple[int, ...]]


def with_texts_made_once(tree: Any) -> Any:
    """What is used, with texts among the characters in the place of those that are used again, or have been before."""
    if not any(map(_is_deferred, pytree.flatten(tree, _is_deferred)[0])):
        return tree
    line = str(user_location())
    return _replaced(tree, line, ())


def _is_deferred(value: Any) -> bool:
    return type(value) is Deferred


def _replaced(tree: Any, line: str, path: tuple[int, ...]) -> Any:
    leaves, structure = pytree.flatten(tree, _is_deferred)
    found = [_shared(leaf, line, (*path, k)) if type(leaf) is Deferred else leaf for k, leaf in enumerate(leaves)]
    return tree if all(map(operator.is_, found, leaves)) else pytree.unflatten(structure, found)


def _shared(text: Deferred, line: str, path: tuple[int, ...]) -> Any:
    if text.in_characters is not None or needs_no_host(text):
        return text
    leaves, structure = pytree.flatten(text)
    if len(leaves) > _MOST_LEAVES or not _is_costly(leaves):
        return text
    trace = require_trace()
    program, place = trace.program, (line, path)
    key = _key(leaves, structure) if _makes_text(text) else None
    if key is not None:
        used = program.used_texts.get((trace, key))
        if type(used) is WrittenText:
            return used
        if used is not None:
            program.used_again.add(used)
            return text
        if place in program.guessed_bounds.get(_USED_AGAIN, ()):
            made = text_of_parts([of_host(text)], True)
            program.used_texts[trace, key] = made
            return made
        program.used_texts[trace, key] = place
    parts = [_replaced(value, line, (*path, k)) for k, value in enumerate(text.values)]
    return text if all(map(operator.is_, parts, text.values)) else pytree.put_together(Deferred, text.function, parts)


def _is_costly(leaves: list[Any]) -> bool:
    """Whether an array is shown, or several values."""
    is_array = [isinstance(leaf, DynamicArray) or isinstance(leaf, TracedArray) and not leaf.is_scalar for leaf in leaves]
    return any(is_array) or sum(map(is_open, leaves)) >= _FEW


def _makes_text(value: Any) -> bool:
    """Whether this is a text for certain, and not bytes or numbers that are made likewise."""
    if type(value) is not Deferred:
        return is_text(value)
    function = getattr(value.function, "function", value.function)  # of one with options
    if type(function) is FString or function in MAKERS:
        return True
    return function in _OF_TEXTS and _makes_text(value.values[0])


def _key(leaves: list[Any], structure: pytree.Structure) -> tuple | None:
    """What is equal of texts that are made of the same values in the same way; None where nothing says so."""
    if not all(map(_is_simple, _nodes(structure))):
        return None
    trace, found = require_trace(), []
    for leaf in leaves:
        if isinstance(leaf, TracedArray):
            found.append((leaf.recorded(trace), leaf.weak_type, leaf.is_scalar))
        elif type(leaf) in (str, int, bool, type(None)):
            found.append((type(leaf), leaf))
        else:
            return None
    return structure, tuple(found)


def _nodes(structure: pytree.Structure) -> Iterator[Any]:
    if structure is not pytree.LEAF:
        yield structure
        for part in structure[2]:
            yield from _nodes(part)


def _is_simple(node: Any) -> bool:
    """Whether containers of these nodes are the same where the nodes are equal: True and 1 are equal, too."""
    kind, known = node[:2]
    return kind in (tuple, list, Deferred) or kind is dict and all([type(name) is str for name in known])


def is_recorded_again(program: Program) -> bool:
    """Whether texts have turned out to be used more than once, so that the function is to be recorded once more."""
    guessed = program.guessed_bounds
    new = program.used_again - guessed.get(_USED_AGAIN, set())
    if not new or guessed.setdefault(_RECORDED, 0) == _MOST_RECORDINGS:
        return False
    guessed[_RECORDED] += 1
    guessed.setdefault(_USED_AGAIN, set()).update(new)
    return True


MADE_ONCE.append(with_texts_made_once)
