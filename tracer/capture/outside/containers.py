"""Dicts and lists from outside as the traced function sees them: with copies of their own, which tell what is read and set.

Items become hidden inputs or guards when they are read. What is set stays in the copy, and happens to the user's object behind
each call: a list to which the function only appends is not read at all, and may be of another length at each call.
"""

from __future__ import annotations

import functools
import operator
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from ...outside.guards import SameKeys, SameLength, SameType
from ...outside.paths import MISSING, Item, Length, Path
from ...outside.policy import HiddenNeeded
from ...recording.current_trace import current_trace
from ...recording.errors import RecordedAgain, TracerError
from .. import places
from ..choices import Maybe
from ..entries import OPEN, is_open_dict, opened
from ..journals import is_journaling, note
from ..lists.runs import settled
from ..places import UNBOUND, Contents
from .open_containers import open_entries, require_entries

if TYPE_CHECKING:
    from .surroundings import Surroundings

KINDS = (dict, list, OrderedDict, defaultdict)


class _DictItem(places.Item):
    """What is under a key of such a dict."""

    def __init__(self, holder: OutsideDict, index: Any) -> None:
        self.holder, self.index = holder, index
        self.name = f"{holder.path.text}[{index!r}]"

    @property
    def key(self) -> Any:
        return id(self.holder), self.index

    def get(self) -> Any:
        value = MISSING if is_open_dict(self.holder) else self.holder.value(self.index)
        return UNBOUND if value is MISSING else value

    def set(self, value: Any) -> None:
        if is_open_dict(self.holder):
            return
        if value is not UNBOUND:
            dict.__setitem__(self.holder, self.index, value)
        elif dict.__contains__(self.holder, self.index):
            dict.__delitem__(self.holder, self.index)


class HeldItems(Contents):
    """What such a list or queue holds."""

    def __init__(self, holder: Any) -> None:
        self.holder = holder
        self.name = holder.path.text

    @property
    def key(self) -> Any:
        return id(self.holder)


class _ListItems(HeldItems):
    def get(self) -> Any:
        return list.__getitem__(self.holder, slice(None))

    def set(self, value: Any) -> None:
        list.__setitem__(self.holder, slice(None), value)
        self.holder.keep_what_was_read()


class OutsideDict(dict):
    """A dict from outside. ``unread`` are the keys whose values are still the user's own."""

    def __init__(self, surroundings: Surroundings, original: dict, path: Path) -> None:
        super().__init__(original)
        self.surroundings, self.original, self.path = surroundings, original, path
        self.unread = set(original)
        self.as_read: dict[Any, Any] = {}
        self.removed: set[Any] = set()
        self.default_factory = getattr(original, "default_factory", None)
        surroundings.guard(SameType(path, type(original)))
        self.entries = open_entries(surroundings, original, path)
        if self.entries is not None:
            self.unread = set()
            Contents(self).set({OPEN: [self.entries.run]})

    @property
    def users_own(self) -> dict:
        return self.original

    def value(self, key: Any) -> Any:
        """The value under a key, MISSING if there is none."""
        value = dict.get(self, key, MISSING)
        if key in self.unread or value is MISSING and key not in self.original:
            value = self.surroundings.convert(value, Item(self.path, key))
            if value is not MISSING:
                self.unread.discard(key)
                self.as_read[key] = value
                dict.__setitem__(self, key, value)
        self._require_there(value)
        return value

    @property
    def _place_of_keys(self) -> str:
        """Stands among the guesses for a dict that is asked for keys behind branches that put some there, or take some out."""
        return f"the keys of {self.path.text}"

    def _require_there(self, *values: Any) -> None:
        """Raises RecordedAgain where it depends on the program whether one of these items is there."""
        if any(type(one) is Maybe and one.absent is UNBOUND for one in values):
            self._record_as_whole()

    def _record_as_whole(self) -> NoReturn:
        current_trace().program.guessed_bounds[self._place_of_keys] = True
        raise RecordedAgain

    @property
    def _is_whole(self) -> bool:
        """Whether other keys are other contents, which branches and loops carry as a whole."""
        return self._place_of_keys in self.surroundings.trace.program.guessed_bounds

    def _note_key(self, key: Any) -> None:
        """To be called before an item is put there or deleted. Raises RecordedAgain where the order of keys depends on it."""
        if not self._is_whole:
            if key in self.removed and is_journaling():
                self._record_as_whole()
            note(_DictItem(self, key))
            return
        self._read_all()
        note(Contents(self))

    def _read_all(self) -> None:
        if self.entries is not None:
            return
        self._require_there(*dict.values(self))
        self.surroundings.guard(SameKeys(self.path, list(self.original)))
        for key in list(self.unread):
            self.value(key)

    def __getitem__(self, key: Any) -> Any:
        value = self.value(key)
        if value is not MISSING:
            return value
        if self.default_factory is None:
            missing = getattr(type(self), "__missing__", None)
            if missing is None:
                raise KeyError(key)
            return missing(self, key)
        made = self.default_factory()
        self[key] = made
        return made

    def get(self, key: Any, default: Any = None) -> Any:
        value = self.value(key)
        return default if value is MISSING else value

    def __contains__(self, key: Any) -> bool:
        return self.value(key) is not MISSING

    def __iter__(self) -> Iterator:
        self._read_all()
        return dict.__iter__(self)

    def __reversed__(self) -> Iterator:
        self._read_all()
        return dict.__reversed__(self)

    def __len__(self) -> int:
        self._read_all()
        return dict.__len__(self)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __eq__(self, other: object) -> bool:
        self._read_all()
        return dict.__eq__(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __or__(self, other: Any) -> dict:
        return self.copy() | other

    def __ror__(self, other: Any) -> dict:
        return other | self.copy()

    def keys(self) -> Any:
        self._read_all()
        return dict.keys(self)

    def values(self) -> Any:
        self._read_all()
        return dict.values(self)

    def items(self) -> Any:
        self._read_all()
        return dict.items(self)

    def copy(self) -> dict:
        kind = type(self.original)
        return defaultdict(self.default_factory, self.items()) if kind is defaultdict else kind(self.items())

    __copy__ = copy

    def __repr__(self) -> str:
        return repr(dict(self.items()))

    def __setitem__(self, key: Any, value: Any) -> None:
        if is_journaling() and dict.__contains__(self, key):
            note(_DictItem(self, key))
        elif is_journaling():
            self._note_key(key)
        self.unread.discard(key)
        dict.__setitem__(self, key, value)

    def __delitem__(self, key: Any) -> None:
        if self.value(key) is MISSING:
            raise KeyError(key)
        self._note_key(key)
        if not self._is_whole:
            self.removed.add(key)
        dict.__delitem__(self, key)

    def __ior__(self, other: Any) -> OutsideDict:
        self.update(other)
        return self

    def update(self, *others: Any, **values: Any) -> None:
        for key, value in dict(*others, **values).items():
            self[key] = value

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: Any, *default: Any) -> Any:
        if key not in self and default:
            return default[0]
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple:
        if not self:
            raise KeyError("popitem(): dictionary is empty")
        key = next(reversed(self))
        return key, self.pop(key)

    def clear(self) -> None:
        for key in list(self):
            del self[key]

    def move_to_end(self, key: Any, last: bool = True) -> None:
        """Of an OrderedDict."""
        others = [] if last else [other for other in self if other != key]
        for moved in (key, *others):
            value = self.pop(moved)
            self[moved] = value

    # --- what becomes of it ---

    def effects(self) -> Iterator[tuple[str, Path, Any]]:
        if self.entries is not None:
            contents = opened(dict(self))
            yield from self.entries.change(self.path, contents[OPEN], contents)
            return
        if is_open_dict(self):
            require_entries(self.surroundings, self.original, self.path)
            yield "contents", self.path, dict(self)
            return
        if self._is_whole and list(dict.keys(self)) != list(self.original):
            yield "contents", self.path, dict(self)
            return
        for key in self.original:
            if key in self.removed or not dict.__contains__(self, key):
                yield "write", Item(self.path, key), MISSING
        for key, value in zip(dict.keys(self), dict.values(self)):
            is_as_read = key in self.as_read and self.as_read[key] is value and key not in self.removed
            if key not in self.unread and not is_as_read:
                yield "write", Item(self.path, key), value


class OutsideList(list):
    """A list from outside. ``unread`` are the positions whose items are still the user's own."""

    def __init__(self, surroundings: Surroundings, original: list, path: Path) -> None:
        super().__init__(original)
        self.surroundings, self.original, self.path = surroundings, original, path
        self.length_found = len(original)
        self.unread = set(range(self.length_found))
        self.as_read: dict[int, tuple[Any, Any]] = {}
        self.length_read: Any = None  # an input, where it differs from call to call
        self.is_changed = False
        surroundings.guard(SameType(path, list))
        self.entries = open_entries(surroundings, original, path)
        if self.entries is not None:
            self.unread = set()
            list.__setitem__(self, slice(None), [self.entries.run])
        elif surroundings.policy.is_hidden(self._read_at_once):
            self._read_all()

    @property
    def users_own(self) -> list:
        return self.original

    def _count(self) -> None:
        """Python needs its length."""
        if self.entries is not None:
            raise TracerError(f"{self.path.text} has another length at each call, and Python needs it")
        if self.length_read is None or type(self.length_read) is int:
            self.surroundings.guard(SameLength(self.path, self.length_found))
        else:
            self.length_read.__index__()

    def length_before(self) -> Any:
        """The length that it has at the call; traced where it differs from call to call."""
        if self.length_read is None:
            length = Length(self.path)
            if self.surroundings.policy.is_hidden(length.key):
                self.length_read = self.surroundings.convert(self.length_found, length)
            else:
                self._count()
                self.length_read = self.length_found
        return self.length_read

    def parts_of_length(self) -> tuple[Any, list[Any]]:
        """A number of elements, and what else is in it."""
        items = list.__getitem__(self, slice(None))
        if self.entries is not None:
            return 0, items
        if self._is_kept(items):
            return self.length_before(), items[self.length_found :]
        self._count()
        return 0, items

    def _is_kept(self, items: list[Any]) -> bool:
        """Whether what was in it stands where it stood: loops put lists together."""
        if self.is_changed or len(items) < self.length_found:
            return False
        before = self.original[: self.length_found]
        for place, (_, value) in self.as_read.items():
            before[place] = value
        return all(map(operator.is_, items, before))

    def _item(self, position: int) -> Any:
        if position in self.unread:
            self.unread.discard(position)
            raw = list.__getitem__(self, position)
            value = self.surroundings.convert(raw, Item(self.path, position))
            self.as_read[position] = raw, value
            list.__setitem__(self, position, value)
        return list.__getitem__(self, position)

    def _read_all(self) -> None:
        if self.entries is not None:
            return
        self._count()
        for position in sorted(self.unread):
            self._item(position)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            self._read_all()
            return list.__getitem__(self, index)
        position = index.__index__()
        if position < 0 or position >= list.__len__(self):
            self._count()
            position += list.__len__(self) if position < 0 else 0
        if 0 <= position < list.__len__(self):
            return self._item(position)
        raise IndexError("list index out of range")

    def __iter__(self) -> Iterator:
        self._read_all()
        return list.__iter__(self)

    def __len__(self) -> int:
        self._count()
        return list.__len__(self)

    def append(self, value: Any) -> None:
        note(_ListItems(self))
        list.append(self, value)

    def extend(self, values: Any) -> None:
        note(_ListItems(self))
        list.extend(self, list(values))

    def __iadd__(self, values: Any) -> OutsideList:
        self.extend(values)
        return self

    # --- what becomes of it ---

    def keep_what_was_read(self) -> None:
        """Items that were read stay so where the user's own are put back."""
        for position, (raw, value) in self.as_read.items():
            if position < list.__len__(self) and list.__getitem__(self, position) is raw:
                list.__setitem__(self, position, value)

    def effects(self) -> Iterator[tuple[str, Path, Any]]:
        items = list.__getitem__(self, slice(None))
        if self.entries is not None:
            one_run = [settled(items)] if len(items) > 1 else items
            yield from self.entries.change(self.path, items, one_run)
        elif not self._is_kept(items):
            if self.unread:
                raise HiddenNeeded({self._read_at_once})
            self._count()
            before = [value for _, (_, value) in sorted(self.as_read.items())]
            if len(items) != len(before) or any(one is not other for one, other in zip(items, before)):
                yield "contents", self.path, items
        elif len(items) > self.length_found:
            self._expect_another_length()
            yield "append", self.path, items[self.length_found :]

    @property
    def _read_at_once(self) -> tuple:
        """Stands among the hidden for a list some of whose elements are put together with those that were not read."""
        return self.path.key, "elements"

    def _expect_another_length(self) -> None:
        """At the next call: what has asked for its length gets an input, unless Python needs it."""
        policy, key = self.surroundings.policy, Length(self.path).key
        if type(self.length_read) is int and key not in policy.hidden | policy.known:
            raise HiddenNeeded({key})


def _reads_whole(name: str) -> Callable:
    plain = getattr(list, name)

    @functools.wraps(plain)
    def method(self: OutsideList, *args: Any, **kwargs: Any) -> Any:
        self._read_all()
        return plain(self, *args, **kwargs)

    return method


def _rewrites(name: str) -> Callable:
    plain = getattr(list, name)

    @functools.wraps(plain)
    def method(self: OutsideList, *args: Any, **kwargs: Any) -> Any:
        self._read_all()
        note(_ListItems(self))
        self.is_changed = True
        found = plain(self, *args, **kwargs)
        return self if name.startswith("__i") else found

    return method


for _name in (
    "__contains__",
    "__eq__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__add__",
    "__mul__",
    "__rmul__",
    "__reversed__",
    "__repr__",
    "copy",
    "count",
    "index",
):
    setattr(OutsideList, _name, _reads_whole(_name))
for _name in ("__setitem__", "__delitem__", "__imul__", "insert", "pop", "remove", "clear", "sort", "reverse"):
    setattr(OutsideList, _name, _rewrites(_name))
OutsideList.__copy__ = OutsideList.copy
OutsideList.__hash__ = None
