"""What a dict, a set or a list outside holds, as columns: how many rows of them count may differ at each call.

A column is of numbers, or of texts: where the characters of each begin among those of all of them, and how many there are.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from .guards import Guard, short
from .paths import MISSING, Objects, Path

_DTYPES = {int: np.dtype(np.int64), float: np.dtype(np.float64), complex: np.dtype(np.complex128), bool: np.dtype(np.bool_)}
_PLACE_AND_LENGTH = np.dtype((np.int64, (2,)))
_SMALLEST, _LEAST_ROOM = 64, 512  # rows and characters
LENGTH, TEXTS = -1, -2
_BESIDE_COLUMNS = {LENGTH: "the length of", TEXTS: "the texts in"}


def _dtype_of(kind: type) -> np.dtype | None:
    """The dtype of a column of such numbers or texts, None for what is none."""
    if kind is str:
        return _PLACE_AND_LENGTH
    if kind in _DTYPES:
        return _DTYPES[kind]
    if issubclass(kind, np.generic) and kind.__module__ == "numpy":
        dtype = np.dtype(kind)
        return dtype if dtype.kind in "biufc" else None
    return None


@dataclass(frozen=True, slots=True)
class Part:
    """Keys, values or elements that are all alike: numbers of one type, texts, or containers of such parts.

    kind: that of the containers; of numbers and texts their own type. keys: of dicts and dataclasses.
    """

    kind: type
    parts: tuple[Part, ...] = ()
    keys: tuple[str, ...] = ()

    @property
    def types(self) -> tuple[type, ...]:
        """The types of the numbers and texts."""
        return tuple([kind for part in self.parts for kind in part.types]) if self.parts else (self.kind,)

    @property
    def copied(self) -> set[type]:
        """The types of the lists, dicts and objects among these, which a function gets copies of."""
        own = {self.kind} if self.parts and not issubclass(self.kind, tuple) else set()
        return own.union(*[part.copied for part in self.parts])

    @property
    def dtypes(self) -> list[np.dtype]:
        return list(map(_dtype_of, self.types))

    def example(self, text: Any) -> Any:
        """A value that is like these, with this in the place of each text."""
        if not self.parts:
            return text if self.kind is str else self.kind(0)
        return _put_together(self.kind, self.keys, [part.example(text) for part in self.parts])

    def columns(self, values: Sequence[Any]) -> list[Sequence[Any]] | None:
        """The numbers and texts in these values, by their places; None where one value is not like this."""
        if set(map(type, values)) - {self.kind}:
            return None
        if not self.parts:
            is_within = self.kind is not int or not values or -(2**63) <= min(values) and max(values) < 2**63
            return [values] if is_within else None
        is_tuple = self.kind is list or issubclass(self.kind, tuple)
        dicts = values if is_tuple or self.kind is dict else list(map(vars, values))
        if {*map(len, dicts)} - {len(self.parts)} or not is_tuple and {*map(tuple, dicts)} - {self.keys}:
            return None
        rows = list(zip(*(values if is_tuple else map(dict.values, dicts)))) or [()] * len(self.parts)
        columns = [part.columns(row) for part, row in zip(self.parts, rows)]
        return None if None in columns else [column for found in columns for column in found]


# Containers with more parts are taken one by one: each part is a column.
_MOST_PARTS = 16


def _taken_apart(value: Any) -> tuple[tuple[str, ...], Sequence[Any]] | None:
    """The keys, and the parts, of what an entry may consist of: None of what is no container, or holds something else."""
    kind = type(value)
    if kind in (tuple, list) or issubclass(kind, tuple) and hasattr(kind, "_fields") and hasattr(kind, "_make"):
        return (), value
    if kind is dict:
        return tuple(value), tuple(value.values())
    names = tuple([field.name for field in fields(kind) if not field.metadata]) if is_dataclass(kind) else ()
    held = getattr(value, "__dict__", {})
    return (names, tuple(held.values())) if names and tuple(held) == names and len(names) == len(fields(kind)) else None


def _put_together(kind: type, keys: Sequence[str], parts: Sequence[Any]) -> Any:
    if kind in (tuple, list):
        return kind(parts)
    if issubclass(kind, tuple):
        return kind._make(parts)
    if kind is dict:
        return dict(zip(keys, parts))
    made = object.__new__(kind)
    vars(made).update(zip(keys, parts))
    return made


def _part_of(values: Sequence[Any]) -> Part | None:
    """What these values are like, None where they are not alike, or no numbers, texts and containers of these."""
    found = _part_like(values[0])
    return found if found is not None and found.columns(values) is not None else None


def _part_like(value: Any) -> Part | None:
    kind = type(value)
    if _dtype_of(kind) is not None:
        return Part(kind)
    keys, held = _taken_apart(value) or ((), ())
    parts = [_part_like(one) for one in held] if 0 < len(held) <= _MOST_PARTS else [None]
    return None if None in parts or {*map(type, keys)} - {str} else Part(kind, tuple(parts), keys)


@dataclass(frozen=True, slots=True)
class EntryForm:
    """What all entries of a container are like: keys and values of a dict, elements of a set or of a list."""

    kind: type
    parts: tuple[Part, ...]

    def example(self, text: Any) -> Any:
        """An entry as a traced function has it, with this in the place of each text: those of a set are (element, None)."""
        found = tuple([part.example(text) for part in self.parts])
        return found if self.kind is dict else (*found, None) if self.kind is set else found[0]

    @property
    def dtypes(self) -> list[np.dtype]:
        return [dtype for part in self.parts for dtype in part.dtypes]

    @property
    def holds_texts(self) -> bool:
        return any(str in part.types for part in self.parts)

    @property
    def copied(self) -> set[type]:
        """The types of the lists, dicts and objects among the entries, which a function gets copies of."""
        return set().union(*[part.copied for part in self.parts])

    @property
    def keys_that_are_texts(self) -> list[int]:
        """The columns that hold them."""
        return [number for number, kind in enumerate(self.parts[0].types) if kind is str] if self.kind is dict else []

    @property
    def is_flat(self) -> bool:
        """Whether the entries are numbers, and tuples of numbers."""
        parts = [one for part in self.parts for one in (part.parts if part.kind is tuple else (part,))]
        return not self.holds_texts and not any(one.parts for one in parts)

    def columns(self, container: Any) -> list[Sequence[Any]] | None:
        """The numbers and texts in a container, by their places; None where its entries are not like this."""
        if _kind_of(container) is not self.kind:
            return None
        columns = [part.columns(values) for part, values in zip(self.parts, _values(container))]
        return None if None in columns else [column for found in columns for column in found]

    def texts(self, columns: Iterable[Sequence[Any]]) -> list[str]:
        """All texts in these columns, those of one behind another's."""
        return [text for column, dtype in zip(columns, self.dtypes) if dtype.ndim for text in column]


def _kind_of(container: Any) -> type | None:
    return next((kind for kind in (dict, set, list) if isinstance(container, kind)), None)


def _values(container: Any) -> tuple[Sequence[Any], ...]:
    """The values of each part of a container."""
    if isinstance(container, dict):
        return list(dict.keys(container)), list(dict.values(container))
    return (list(container),)


def form_of(container: Any) -> EntryForm | None:
    """What the entries of a container are like; None where they are not alike, or there are none."""
    kind = _kind_of(container)
    if kind is None or not container:
        return None
    parts = tuple(map(_part_of, _values(container)))
    if None in parts or kind is not list and (parts[0].copied or not all(map(_may_be_key, parts[0].types))):
        return None
    if kind is set and str in parts[0].types:
        return None
    return EntryForm(kind, parts)


def _may_be_key(kind: type) -> bool:
    return kind is str or _dtype_of(kind).kind in "iuf"


def codes_of(text: str) -> np.ndarray:
    """The code points of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<i4").astype(np.int32)


def rows_for(length: int, had: int) -> int:
    """How many rows there should be for so many entries, to which others may be added."""
    return _doubled(max(_SMALLEST, had), length)


def room_for(form: EntryForm, container: Any, had: int) -> int:
    """For how many characters there should be room: for twice as many as there are; 0 where there are no texts."""
    if not form.holds_texts:
        return 0
    return _doubled(max(_LEAST_ROOM, had), 2 * sum(map(len, form.texts(form.columns(container)))))


def _doubled(found: int, least: int) -> int:
    while found < least:
        found *= 2
    return found


class Columns:
    """Makes arrays of what a container holds, with so many rows, and room for so many characters.

    They are made in one go where a guard looks at the container, and given out to who reads them behind it.
    """

    def __init__(self, form: EntryForm, rows: int, room: int) -> None:
        self.form, self.rows, self.room = form, rows, room
        self._dtypes = form.dtypes
        self._made = threading.local()

    def make(self, container: Any) -> str:
        """Make them; in words, why they cannot be made."""
        self._made.arrays = None
        if _kind_of(container) is self.form.kind and len(container) > self.rows - 1:
            return f"more than {self.rows - 1} entries"
        columns = self.form.columns(container)
        if columns is None:
            return "entries of other types"
        texts = self.form.texts(columns)
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        ends = lengths.cumsum()
        if len(texts) and ends[-1] > self.room:
            return f"texts of more than {self.room} characters"
        codes = np.zeros(self.room, np.int32)
        if texts:
            codes[: ends[-1]] = codes_of("".join(texts))
        made: dict[int, Any] = {LENGTH: len(container), TEXTS: codes}
        place = 0
        for number, (column, dtype) in enumerate(zip(columns, self._dtypes)):
            made[number] = array = np.zeros(self.rows, dtype)
            if dtype.ndim:
                those = slice(place, place := place + len(column))
                array[: len(column), 0], array[: len(column), 1] = ends[those] - lengths[those], lengths[those]
            else:
                array[: len(column)] = column
        self._made.arrays, self._made.of = made, id(container)
        return ""

    def take_anew(self, number: int, container: Any) -> Any:
        """As `take`, of what nobody has looked at before in this call."""
        return MISSING if self.make(container) else self.take(number, container)

    def take(self, number: int, container: Any) -> Any:
        """One of them, which is made anew where it has been taken before; MISSING where there is none."""
        made = getattr(self._made, "arrays", None)
        if not made or self._made.of != id(container) or number not in made:
            if self.make(container):
                return MISSING
            made = self._made.arrays
        return made.pop(number)


class Entries(Path):
    """A column of what a container holds, or how many entries there are (``number`` -1), or all texts in one (-2)."""

    __slots__ = ("columns", "holder", "number")

    def __init__(self, holder: Path, columns: Columns, number: int) -> None:
        self.holder, self.columns, self.number = holder, columns, number
        self.text = f"column {number} of {holder.text}" if number >= 0 else f"{_BESIDE_COLUMNS[number]} {holder.text}"
        self.key = (*entries_key(holder), number)

    @property
    def root(self) -> Path:
        return self.holder.root

    @property
    def known_by(self) -> tuple:
        return entries_key(self.holder)

    def read(self, objects: Objects) -> Any:
        return self.columns.take(self.number, self.holder.read(objects))


def entries_key(holder: Path) -> tuple:
    """What stands for the entries of a container as a whole."""
    return holder.key, "entries"


@dataclass(eq=False, slots=True)
class SameEntries(Guard):
    """A container whose entries are alike, and no more than there are rows for, nor more characters than there is room for."""

    columns: Columns

    def holds(self, found: Any) -> bool:
        return not self.columns.make(found)

    def words(self, found: Any) -> str:
        return f"{self.path.text}: {self.columns.make(found) if found is not MISSING else short(found)}"


def put_entries(holder: Any, value: Any) -> None:
    """Give a container other entries, in their order; those that stay are left as they are."""
    if isinstance(holder, list):
        for place, (one, other) in enumerate(zip(holder, value)):
            if not _is_same(one, other):
                holder[place] = other
        holder[len(value) :] = value[len(holder) :]
        return
    if isinstance(holder, set):
        exchange_elements(holder, value)
        return
    pending = iter(value)
    following = next(pending, MISSING)
    for key in list(dict.keys(holder)):
        if following is MISSING or key != following:
            del holder[key]
            continue
        if not _is_same(dict.__getitem__(holder, key), value[key]):
            holder[key] = value[key]
        following = next(pending, MISSING)
    while following is not MISSING:
        holder[following] = value[following]
        following = next(pending, MISSING)


def exchange_elements(holder: set[Any], value: Iterable[Any]) -> None:
    """Give a set other elements; those that stay are left at their places, which decide on its order."""
    elements = list(value)
    for lost in holder.difference(elements):
        holder.discard(lost)
    holder.update(elements)


def _is_same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and repr(one) == repr(other)
