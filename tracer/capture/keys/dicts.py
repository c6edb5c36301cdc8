"""Dicts whose keys the program computes: items, methods, and what is made of them."""

from __future__ import annotations

import functools
import threading
import types
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from .... import hlo
from ...functions.decompositions import expected_to_hold
from ...recording.array import TracedArray, require_trace
from ...recording.errors import TracerError
from .. import journals, places
from ..branches import choose, decide
from ..calls.dispatch import call
from ..calls.meanings import DICT_METHODS, implements
from ..calls.methods_of_containers import listed_iterator, may_give_keys
from ..choices import Choice
from ..contents import dict_like
from ..copies import require_own
from ..distribution import each
from ..entries import OPEN, contents_of, has_open_keys, is_open_dict
from ..library.listed_dicts import ListedDict
from ..lists import growing, tables
from ..lists.elements import joined_types
from ..lists.mapping import mapped
from ..lists.references import keys_in, records_made
from ..lists.runs import (
    Run,
    element,
    instruction_of,
    is_open_list,
    length_of,
    number_of,
    ordered,
    plus,
    settled,
)
from ..loops.iteration import is_captured, unlisted
from ..loops.unrolling import for_
from ..outside.containers import OutsideDict
from ..places import NO_NAMES
from ..raising import record_raise
from ..texts.bytes_as_texts import text_of_bytes
from ..texts.deferred import concrete, is_bytes, is_text
from ..texts.interned import holds_text
from ..texts.reading import plain, plain_of_bytes, position_among
from . import known_keys
from .listed_dicts import made_by_factory, made_dict
from .lookup import (
    found,
    found_as_they_are,
    holds_unknown,
    put_behind,
    require_hashable,
    stored,
    value_at,
    values_of_key,
    without_last_row,
    without_row,
)
from .views import ITEMS, KEYS, VALUES, DictRows, DictView, as_they_are, entries_of

Instruction = hlo.Instruction
_NONE = object()


def change(holder: Any, contents: dict[Any, Any]) -> None:
    """Give a dict or a set other contents."""
    if keys_in(holder):
        known_keys.require_other(holder)
    place = places.Contents(holder)
    journals.note(place)
    place.set(contents)


def is_concerned(holder: dict, key: Any) -> bool:
    """Whether the program decides where an item with this key stands."""
    return is_open_dict(holder) or holds_unknown(key)


def _truth(instruction: Instruction) -> TracedArray:
    return TracedArray.from_instruction(require_trace(), instruction, weak_type=True)


def raise_where(condition: Instruction, error: Exception) -> None:
    """Let the call raise an exception, whose arguments may be traced, where the condition holds."""

    def fail() -> None:
        record_raise(require_trace(), error)

    decide(TracedArray.from_instruction(require_trace(), condition, weak_type=True), (fail, None))


# --- items ---


def item(holder: dict, key: Any) -> Any:
    """``holder[key]``"""
    if keys_in(holder) and not holds_unknown(key):
        if (key := concrete(key)) in keys_in(holder):
            return known_keys.value_of(holder, key)
        raise _missing(key)
    if isinstance(holder, Counter):
        return get(holder, key, 0)
    factory = getattr(holder, "default_factory", None)
    if factory is not None:
        require_own(holder)
        if not records_made(require_trace().program):
            return set_default(holder, key, made_by_factory(factory))
        _put_where_missing(holder, key, factory)  # a record that nobody holds would take a row
    value, is_there = _looked_up(holder, key)
    method = getattr(type(holder), "__missing__", None)
    # The method may ask for what it has put there: the program looks it up, and does not call the method once more.
    if type(method) is types.FunctionType and not any(one is holder and other is key for one, other in _given.items):
        if is_there is None:
            return _given_by(method, holder, key)
        return choose(_truth(is_there), lambda: value, lambda: _given_by(method, holder, key))
    if is_there is None:
        raise _missing(key)
    raise_where(hlo.not_(is_there), KeyError(key))
    return value


class _Given(threading.local):
    """The dicts, with keys, for which a ``__missing__`` of the user's is being recorded."""

    def __init__(self) -> None:
        self.items: list[tuple[dict, Any]] = []


_given = _Given()


def _given_by(method: Callable[..., Any], holder: dict, key: Any) -> Any:
    _given.items.append((holder, key))
    try:
        return call(method, holder, key)
    finally:
        _given.items.pop()


def _put_where_missing(holder: dict, key: Any, factory: Any) -> None:
    at = found(entries_of(holder), key)
    if at is None:
        set_item(holder, key, made_by_factory(factory))
        return
    is_missing = _truth(hlo.not_(at[2]))
    decide(is_missing, (lambda: set_item(holder, key, made_by_factory(factory)), None))


def _missing(key: Any) -> KeyError:
    error = KeyError(key)
    journals.note_made(error)
    return error


def _looked_up(holder: dict, key: Any) -> tuple[Any, Instruction | None]:
    """The value under a key, and whether there is one; None where there can be none."""
    if keys_in(holder):
        return _looked_up_in_known(known_keys.items_of(holder), key)
    if not is_open_dict(holder):
        return _looked_up_in_known(holder, key)
    values = values_of_key(as_they_are(holder), key)
    value, is_there = values.pop() if values else (None, None)
    for waiting, waits in reversed(values):
        value = choose(_truth(waits), lambda waiting=waiting: waiting, lambda value=value: value)
        is_there = hlo.or_(waits, is_there)
    return value, is_there


def _looked_up_in_known(holder: dict, key: Any) -> tuple[Any, Instruction | None]:
    """The same where all keys are known: the values may be of any kind, and stay the objects that they are."""
    at = _place_in_known(holder, key)
    if at is None or not holder:
        return None, None
    values = list(contents_of(holder).values())
    number = number_of(hlo.minimum(at[0], hlo.constant(np.int64(len(values) - 1))))
    return one_of(values, number), at[1]


def _place_in_known(holder: dict, key: Any) -> tuple[Instruction, Instruction] | None:
    """The position of a key among those of a dict, and whether it is one; None where it can be none."""
    require_hashable(key)
    if is_text(key) and holds_text(key):
        place = _position_in_known(holder, key)
        return place, hlo.lt(place, hlo.constant(np.int64(len(holder))))
    at = found([(one, None) for one in holder], key)
    return None if at is None else at[1:]


def _position_in_known(holder: Any, key: Any) -> Instruction:
    """Which of the keys of a dict, or elements of a set, a text is, or bytes are; their number where they are none of them."""
    if not is_bytes(key):
        return position_among(list(holder), plain(key))
    known = [text_of_bytes(one) if isinstance(one, bytes) else None for one in holder]
    return position_among(known, plain_of_bytes(key))


def known_place(holder: dict, key: TracedArray) -> TracedArray:
    """The position of a key among those of a dict whose keys are known; a KeyError where it is none of them."""
    at = found([(one, None) for one in holder], key)
    if at is None:
        raise _missing(key)
    _, place, is_there = at
    raise_where(hlo.not_(is_there), KeyError(key))
    return number_of(hlo.minimum(place, hlo.constant(np.int64(len(holder) - 1))))


def one_of(values: list[Any], number: TracedArray) -> Any:
    """The one of these values that has this number; of lists, and of dicts with the same keys, a row of a table."""
    if len(values) > 1 and all(type(value) is list for value in values):
        found = tables.reference(values, number)
        return Choice(number, values) if found is None else found
    if len(values) > 1 and all(type(value) is dict for value in values):
        known_keys.try_records(values)
    if all(map(keys_in, values)) or not any(isinstance(value, (list, dict, set)) for value in values):
        try:
            joined_types(values)
        except TracerError:
            pass
        else:
            return value_at(settled([(None, value) for value in values]), number.instruction(require_trace()))
    return values[0] if len(values) == 1 else Choice(number, values)


def set_item(holder: dict, key: Any, value: Any) -> None:
    """``holder[key] = value``"""
    if keys_in(holder) and holds_unknown(key):
        _set_one_of_known(holder, key, value)
        return
    if keys_in(holder):
        known_keys.set_value(holder, concrete(key), value)
        return
    entries = as_they_are(holder)
    growing.put(holder, entries, value)
    change(holder, {OPEN: put_behind(entries, key, value)})


def _set_one_of_known(record: dict, key: Any, value: Any) -> None:
    """``record[key] = value``, where the program decides which of the keys it is: it is expected to be one of them."""
    before = known_keys.items_of(record)
    place, is_there = _place_in_known(before, key) or (None, None)
    if place is None or not expected_to_hold("a key of a dict", _truth(is_there)):
        known_keys.require_other(record)
    for number, (one, held) in enumerate(before.items()):
        is_this = _truth(hlo.eq(place, hlo.constant(np.int64(number))))
        known_keys.set_value(record, one, choose(is_this, lambda: value, lambda held=held: held))


def delete_item(holder: dict, key: Any) -> None:
    """``del holder[key]``"""
    if isinstance(holder, Counter):  # which does not mind that there is none
        pop(holder, key, None)
        return
    at = found(entries_of(holder), key)
    if at is None:
        raise _missing(key)
    run, place, is_there = at
    raise_where(hlo.not_(is_there), KeyError(key))
    change(holder, {OPEN: without_row(run, place)})


def contains_key(holder: Any, key: Any) -> Any:
    """``key in holder``, of a dict or a set."""
    require_hashable(key)
    if keys_in(holder):
        return contains_key(known_keys.items_of(holder), key) if holds_unknown(key) else concrete(key) in keys_in(holder)
    if not has_open_keys(holder) and is_text(key) and holds_text(key):
        place = _position_in_known(holder, key)
        return _truth(hlo.lt(place, hlo.constant(np.int64(len(holder)))))
    entries = as_they_are(holder) if has_open_keys(holder) else [(one, None) for one in holder]
    keys = [item if type(item) is Run else (item[0], None) for item in entries]
    places = found_as_they_are(keys, key)
    return _truth(functools.reduce(hlo.or_, [is_there for *_, is_there in places])) if places else False


def set_default(holder: dict, key: Any, default: Any) -> Any:
    """The value under a key, the default where there was none, which is put there then."""
    if keys_in(holder):
        return item(holder, key) if not holds_unknown(key) and concrete(key) in keys_in(holder) else change(holder, {})
    before = entries_of(holder)

    def store(value: Any) -> Any:
        """Gives the value, and by how many entries there are more."""
        entries, place = stored(before, key, value, replaces=False)
        change(holder, {OPEN: entries})
        return value_at(entries[0], place), hlo.subtract(instruction_of(entries[0].length), instruction_of(length_of(before)))

    return growing.put_where_new(holder, before, default, store)


# --- methods ---


def _method(name: str) -> Callable:
    def register(function: Callable) -> Callable:
        DICT_METHODS[name] = function
        return function

    return register


@_method("get")
def get(holder: dict, key: Any, default: Any = None) -> Any:
    if keys_in(holder) and not holds_unknown(key):
        return item(holder, key) if concrete(key) in keys_in(holder) else default
    value, is_there = _looked_up(holder, key)
    return default if is_there is None else choose(_truth(is_there), lambda: value, lambda: default)


@_method("setdefault")
def setdefault(holder: dict, key: Any, default: Any = None) -> Any:
    return set_default(holder, key, default)


@_method("pop")
def pop(holder: dict, key: Any, default: Any = _NONE) -> Any:
    if keys_in(holder):
        change(holder, {})
    at = found(entries_of(holder), key)
    if at is None:
        if default is _NONE:
            raise _missing(key)
        return default
    run, place, is_there = at
    value = value_at(run, place)
    if default is _NONE:
        raise_where(hlo.not_(is_there), KeyError(key))
        change(holder, {OPEN: without_row(run, place)})
        return value
    change(holder, {OPEN: without_row(run, hlo.select(is_there, place, _end(run)), is_there)})
    return choose(_truth(is_there), lambda: value, lambda: default)


def _end(run: Any) -> Instruction:
    return hlo.constant(np.int64(run.form.capacity))


@_method("popitem")
def popitem(holder: dict, last: bool = True) -> tuple:
    is_ordered = isinstance(holder, OrderedDict)
    error = KeyError("dictionary is empty" if is_ordered else "popitem(): dictionary is empty")
    entries = entries_of(holder)
    if not entries:
        raise error
    run = settled(entries)
    raise_where(hlo.le(instruction_of(run.length), 0), error)
    if not last:
        first = element(run, 0, is_copied=True)
        change(holder, {OPEN: without_row(ordered(run), hlo.constant(np.int64(0)))})
        return first
    run = ordered(run)
    found = element(run, plus(run.length, -1), is_copied=True)
    change(holder, {OPEN: without_last_row(run)})
    return found


@_method("move_to_end")
def move_to_end(holder: dict, key: Any, last: bool = True) -> None:
    if not last:
        raise NotImplementedError("move_to_end(key, last=False) of a dict whose keys the program computes is not implemented")
    set_item(holder, key, pop(holder, key))


@_method("keys")
def keys(holder: dict) -> DictView:
    return DictView(holder, KEYS)


@_method("values")
def values(holder: dict) -> DictView:
    return DictView(holder, VALUES)


@_method("items")
def items(holder: dict) -> DictView:
    return DictView(holder, ITEMS)


@_method("clear")
def clear(holder: dict) -> None:
    change(holder, {})


@_method("copy")
def copy(holder: dict) -> dict:
    if keys_in(holder):
        return _new(known_keys.items_of(holder))
    new = dict_like(holder.original if isinstance(holder, OutsideDict) else holder, ())
    journals.note_made(new)
    places.Contents(new).set({key: list(value) if key is OPEN else value for key, value in contents_of(holder).items()})
    return new


@_method("update")
def update(holder: dict, *others: Any, **more: Any) -> None:
    for other in others:
        put_all(holder, other)
    put_all(holder, more)


def put_all(holder: dict, pairs: Any) -> None:
    """Put items there: those of a dict, or pairs."""
    if isinstance(holder, ListedDict):
        call(holder.update, pairs)
        return
    pairs = unlisted(pairs)
    if isinstance(pairs, dict):
        pairs = list(known_keys.items_of(pairs).items()) if keys_in(pairs) else call(pairs.items)

    def body(pair: Any) -> None:
        key, value = pair
        put(holder, key, value)

    for_(pairs, body, None, NO_NAMES)


def put(holder: dict, key: Any, value: Any) -> None:
    """``holder[key] = value`` with any key."""
    if isinstance(holder, ListedDict):
        call(holder.__setitem__, key, value)
        return
    if is_concerned(holder, key):
        set_item(holder, key, value)
        return
    key = concrete(key)
    if not isinstance(holder, OutsideDict):
        journals.note_item(holder, key)
    holder[key] = value


# --- what is made of dicts ---


def _new(pairs: Any = ()) -> Any:
    return made_dict(dict(pairs))


def _may_give_pairs(pairs: Any) -> bool:
    """Whether what a dict is made of may have keys that the program computes."""
    if isinstance(pairs, (list, tuple)) and not is_open_list(pairs):
        return any(isinstance(pair, (list, tuple)) and len(pair) == 2 and holds_unknown(pair[0]) for pair in pairs)
    return is_captured(pairs)


def pairs_in(value: Any) -> Any:
    return items(value).listed() if is_open_dict(value) else value.items()


def dict_of(pairs: Any) -> dict:
    """What is written ``{key: value, ...}``, or comes of a comprehension: a dict of these pairs."""
    chosen = [place for place, pair in enumerate(pairs) if type(pair) is Choice] if type(pairs) is tuple else []
    if chosen:
        before, behind = pairs[: chosen[0]], pairs[chosen[0] + 1 :]
        return each(lambda one: dict_of((*before, *pairs_in(one), *behind)), pairs[chosen[0]])
    return dict_(pairs) if _may_give_pairs(pairs) else _new([(concrete(key), value) for key, value in pairs])


@implements(dict)
def dict_(*args: Any, **more: Any) -> dict:
    args = tuple([listed_iterator(unlisted(one)) for one in args])
    if not args or not _may_give_pairs(args[0]):
        return _new(dict(*args, **more))
    new = _new()
    for given in (args[0], more):
        put_all(new, given)
    return new


@implements(dict.fromkeys)
def fromkeys(iterable: Any, value: Any = None, /) -> dict:
    iterable = listed_iterator(unlisted(iterable))
    if not may_give_keys(iterable):
        return _new(dict.fromkeys(iterable, value))
    new = _new()
    for_(iterable, lambda key: put(new, key, value), None, NO_NAMES)
    return new


def merged(first: dict, second: dict) -> dict:
    """``first | second``"""
    new = copy(first)
    put_all(new, second)
    return new


def equal(first: Any, second: Any, equal_values: Callable[[Any, Any], Any]) -> Any:
    """``first == second`` of dicts."""
    if keys_in(first) or keys_in(second):
        return _equal_records(first, second, equal_values)

    def is_in_second(entry: tuple) -> Any:
        value, is_there = _looked_up(second, entry[0])
        if is_there is None:
            return False
        return choose(_truth(is_there), lambda: equal_values(entry[1], value), lambda: False)

    alike = mapped(lambda _: None, DictRows(first, ITEMS), is_in_second)
    counts = [instruction_of(length_of(one)) for one in (alike, entries_of(first), entries_of(second))]
    return _truth(hlo.and_(hlo.eq(counts[0], counts[1]), hlo.eq(counts[0], counts[2])))


def _equal_records(first: dict, second: dict, equal_values: Callable[[Any, Any], Any]) -> Any:
    """The same where one of them is a record: of what has other keys that are known it is none."""
    sides = [known_keys.items_of(one) if keys_in(one) else one for one in (first, second)]
    if any(map(is_open_dict, sides)):
        known, other = sides if is_open_dict(sides[1]) else sides[::-1]
        return equal(other, known, equal_values)
    if sides[0].keys() != sides[1].keys():
        return False
    return equal_values(tuple(sides[0].values()), tuple([sides[1][key] for key in sides[0]]))
