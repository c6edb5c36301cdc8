"""What stands outside of a call, as words of memory that have to hold what they held: globals, closure variables, functions.

What a context variable is depends on the thread and its context: the interpreter is asked.

The native entry compares them before anything else. A word may be looked at once those before it hold: the table of a dict
stays where it is as long as the dict points to it. Where many names of one dict are looked at, which hardly ever
changes, its version says the same in one word.

The offsets are those of CPython's ``pycore_dict.h`` and ``funcobject.h``, and are tried on objects before
they are relied on.
"""

from __future__ import annotations

import contextvars
import ctypes
import functools
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .object_layout import CELL_CONTENTS, DICT_VERSION, OBJECT_TYPE, TYPE_VERSION, dicts_have_versions, types_have_versions

# A word's address, and what has to stand there.
Word = tuple[int, int]
# ("item", dict, key, value), ("absent", dict, key), ("names", dict, facts about it), ("class", class, facts about dicts),
# ("type", object, its type), ("cell", cell, value), ("function", function), ("entered", function) or ("variable", variable,
# what says, when it is called, whether another object there is as good).
Fact = tuple[Any, ...]

# PyDictObject { PyObject_HEAD; ma_used; a version; ma_keys; ma_values }
DICT_KEYS, DICT_VALUES = 32, 40
# PyDictKeysObject { dk_refcnt; uint8_t dk_log2_size, dk_log2_index_bytes, dk_kind; dk_version; dk_usable; dk_nentries; ... }
KEYS_LOG2_INDEX_BYTES, KEYS_KIND, KEYS_COUNT, KEYS_INDICES = 9, 10, 24, 32
_GENERAL, KEYS_OF_TEXTS = 0, 1  # whose entries are (hash, key, value) and (key, value)
# PyFunctionObject: func_code, func_defaults, func_kwdefaults; func_globals, func_closure
FUNCTION_PARTS = (48, 56, 64)
_FUNCTION_GLOBALS, _FUNCTION_CLOSURE = 16, 72


def words_of(facts: Iterable[Fact]) -> list[Word] | None:
    """The words that tell whether the facts still hold, each once, but for variables; None where memory cannot tell it."""
    words: dict[Word, None] = {}
    for kind, *details in facts:
        if not layout_is_known():
            return None
        found = _WORDS[kind](*details)
        if found is None:
            return None
        words.update(dict.fromkeys(found))
    return list(words)


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _byte(address: int) -> int:
    return ctypes.c_uint8.from_address(address).value


def _item_words(holder: dict, key: Any, value: Any) -> list[Word] | None:
    table = _word(id(holder) + DICT_KEYS)
    kind = _byte(table + KEYS_KIND)
    if _word(id(holder) + DICT_VALUES) or kind not in (_GENERAL, KEYS_OF_TEXTS):  # shared with other objects of a class
        return None
    size = 24 if kind == _GENERAL else 16
    entries = table + KEYS_INDICES + (1 << _byte(table + KEYS_LOG2_INDEX_BYTES))
    keys, count = list(dict.keys(holder)), _word(table + KEYS_COUNT)
    try:
        first = keys.index(key)
    except ValueError:  # there is none; or NumPy compares a scalar with a tuple element by element
        return None
    if type(keys[first]) is not type(key):
        return None
    key = keys[first]
    # Entries of deleted keys stand between the others; those of an OrderedDict may be in another order.
    for place in (*range(first, count), *range(min(first, count))):
        key_at, value_at = entries + place * size + size - 16, entries + place * size + size - 8
        if _word(key_at) == id(key) and _word(value_at) == id(value):
            return [(id(holder) + DICT_KEYS, table), (key_at, id(key)), (value_at, id(value))]
    return None


def _absent_words(holder: dict, key: Any) -> list[Word] | None:
    table = _word(id(holder) + DICT_KEYS)
    if _word(id(holder) + DICT_VALUES) or dict.__contains__(holder, key):
        return None
    # What is inserted is appended to the table.
    return [(id(holder) + DICT_KEYS, table), (table + KEYS_COUNT, _word(table + KEYS_COUNT))]


def _words_of_names(holder: dict, facts: Sequence[Fact]) -> list[Word] | None:
    at = id(holder) + DICT_VERSION if dicts_have_versions() else None
    return _version_word(holder, at, facts) or words_of(facts)


def _words_of_class(kind: type, facts: Sequence[Fact]) -> list[Word] | None:
    found = _version_word(kind, id(kind) + TYPE_VERSION if types_have_versions() else None, facts)
    if found is not None:
        return found
    found, order = words_of(facts), id(kind.__mro__)
    places = [at for at in range(id(kind), id(kind) + type.__basicsize__, 8) if _word(at) == order]
    return None if found is None or not places else [*found, (places[0], order)]


def _version_word(holder: Any, at: int | None, facts: Sequence[Fact]) -> list[Word] | None:
    """The version of a dict or a class, where it stays the same as a rule, and these facts about the dict, or dicts, hold."""
    getattr(holder, "__doc__", None)  # by a read a class gets a version
    if at is None or (version := _word(at)) == 0:
        return None
    seen = _seen_at(at)
    seen.changes += seen.version not in (0, version)
    seen.version = version
    if seen.changes > _FEW_CHANGES:
        return None
    # Another thread may have changed it since the facts were found.
    holds = all([names.get(key, _ABSENT) is (value[0] if value else _ABSENT) for _, names, key, *value in facts])
    return [(at, version)] if holds else None


_ABSENT = object()
# As modules are imported, and tests put something in the place of a function.
_FEW_CHANGES = 4


class _Seen:
    """The version of a dict or a class that was seen last, and how often it was another one than before."""

    __slots__ = ("changes", "version")

    def __init__(self) -> None:
        self.version = self.changes = 0


# As many as programs have at a time: dicts cannot be held weakly, and most of those that functions make are soon gone.
@functools.lru_cache(maxsize=4096)
def _seen_at(address: int) -> _Seen:
    return _Seen()


def _cell_words(cell: types.CellType, value: Any) -> list[Word] | None:
    found = (id(cell) + CELL_CONTENTS, id(value))
    return [found] if _word(found[0]) == found[1] else None


def _function_words(function: types.FunctionType) -> list[Word]:
    return [(id(function) + offset, _word(id(function) + offset)) for offset in FUNCTION_PARTS]


def _words_of_entered(function: types.FunctionType) -> list[Word]:
    """Of a function that the call is for: it gives all that has no default."""
    return [word for word in _function_words(function) if word[1]]


def function_parts(function: types.FunctionType) -> list[Word]:
    """What decides what a function does: offsets, and what stands there."""
    offsets = (*FUNCTION_PARTS, _FUNCTION_GLOBALS, _FUNCTION_CLOSURE)
    return [(offset, _word(id(function) + offset)) for offset in offsets]


def variables_of(facts: Iterable[Fact]) -> list[tuple[contextvars.ContextVar, Any, Callable[[], bool]]]:
    """The variables among the facts, what they are now in this thread, and what is asked where they are not."""
    return [(details[0], details[0].get(None), details[1]) for kind, *details in facts if kind == "variable"]


_WORDS = {
    "item": _item_words, "absent": _absent_words, "cell": _cell_words, "function": _function_words,
    "class": _words_of_class, "type": lambda value, kind: [(id(value) + OBJECT_TYPE, id(kind))],
    "entered": _words_of_entered, "names": _words_of_names,
    "variable": lambda variable, is_as_good: [], "word": lambda address, value: [(address, value)],
}  # fmt: skip


@functools.cache
def layout_is_known() -> bool:
    """Whether these objects have their parts where they are looked for; by reads alone."""

    def function(a: Any = (), *, b: Any = None) -> Any:
        return cell_value

    cell_value = object()
    parts = (
        function.__code__, function.__defaults__, function.__kwdefaults__, function.__globals__, function.__closure__,
    )  # fmt: skip
    if [word for _, word in function_parts(function)] != [id(part) for part in parts]:
        return False
    if _cell_words(function.__closure__[0], cell_value) is None:
        return False
    for holder in ({f"name{number}": object() for number in range(20)}, {1: object(), "name1": object()}):
        for key, value in holder.items():
            words = _item_words(holder, key, value)
            if words is None or any(_word(address) != expected for address, expected in words):
                return False
        absent = _absent_words(holder, "another")
        holder["name1"] = object()
        if words_hold(absent) is False or words_hold(_item_words(holder, "name1", holder["name1"])) is False:
            return False
        holder["another"] = 1
        if words_hold(absent):
            return False
    return True


def words_hold(words: Iterable[Word] | None) -> bool | None:
    """Whether all of the words hold, as the native entry sees it; None for none."""
    return None if words is None else all(_word(address) == expected for address, expected in words)
