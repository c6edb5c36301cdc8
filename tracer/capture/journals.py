"""What places held before a loop, a branch or a call that may have to be taken back has changed them."""

from __future__ import annotations

import dataclasses
import functools
import operator
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ..recording.attributes import attributes_of, is_record
from ..recording.current_trace import current_trace
from ..recording.errors import TracerError
from ..recording.trace import Trace
from .places import UNBOUND, Attribute, Contents, Item, OuterName, Place, owner_of, places_of


class Journal(dict[Any, tuple[Place, Any]]):
    """Places with what they held before. ``made`` are the objects that are made meanwhile, by id: theirs are not among them.

    ``stays``: what is done meanwhile is done once, and not put back. ``loop_state``: that of the captured loop of which this
    is a round; ``is_round``: whether it is that of any loop, perhaps recorded to see how long it is. ``is_of_trace``: whether
    it is kept as long as a trace is recorded.
    """

    def __init__(self, stays: bool) -> None:
        super().__init__()
        self.made: dict[int, Any] = {}
        self.put_together: dict[int, Any] = {}  # the same of containers by which loops stand for others; theirs are
        self.watched: set[int] = set()  # those of which it is noted what they hold before they are changed again
        self.changed_again: dict[Any, tuple[Place, Any]] = {}
        self.unreadable: list[tuple[Any, Any]] = []  # containers, with what they held before nobody might read them
        self.stays = stays
        self.loop_state: Any = None
        self.is_round = self.is_of_trace = False

    def add(self, place: Place, before: Callable[[], Any]) -> None:
        holder = id(place.holder)
        if holder in self.watched and place.key not in self.changed_again:
            self.changed_again[place.key] = place, before()
        if place.key in self or holder in self.made:
            return
        if isinstance(place, Item) and id(place.holder) in self:
            return
        value = before()
        if isinstance(place, Contents) and isinstance(place.holder, dict):
            value = self._with_items_put_back(place.holder, dict(value))
        self[place.key] = place, value

    def _with_items_put_back(self, holder: dict, contents: dict) -> dict:
        """What a dict held before single items of it were changed, which is no longer told of these."""
        for key, (place, before) in list(self.items()):
            if isinstance(place, Item) and place.holder is holder:
                del self[key]
                if before is UNBOUND:
                    contents.pop(place.index, None)
                else:
                    contents[place.index] = before
        return contents


class _Journals(threading.local):
    def __init__(self) -> None:
        self.open: list[Journal] = []


_journals = _Journals()


def note(place: Place) -> None:
    """To be called before a place that is no local variable is changed."""
    if _journals.open:
        if isinstance(place, Contents) and (owner := owner_of(place.holder)) is not None:
            _require_single_attributes(owner)
        _journals.open[-1].add(place, place.get)


def _require_single_attributes(owner: Any) -> None:
    if not _journals.open[-1].stays and id(owner) not in _journals.open[-1].made:
        raise TracerError(
            f"vars() of a {type(owner).__name__} is changed as a whole in a loop or a branch that depends on traced values. "
            "Fix: set and delete attributes one by one (setattr(x, name, value))"
        )


def note_item(holder: dict, index: Any) -> None:
    """The same before the item of a dict is changed, set or deleted; that may be an attribute of an object."""
    if not _journals.open:
        return
    owner = owner_of(holder)
    if owner is not None:
        note(Attribute(owner, index))
    else:
        note(Item(holder, index) if type(holder) is dict and index in holder else Contents(holder))


def note_unreadable(holder: Any) -> None:
    """To be called before a container is made one that nobody may read, which no loop or branch carries."""
    if _journals.open:
        _journals.open[-1].unreadable.append((holder, [(place, place.get()) for place in places_of(holder)]))


def done_by(function: Any, args: tuple, kwargs: dict) -> Any:
    """A call of a function that is not followed: of what it is given it may change what holds something, which is noted."""
    if not _journals.open:
        return function(*args, **kwargs)
    before = [(place, place.get()) for one in (getattr(function, "__self__", None), *args) for place in places_of(one)]
    try:
        return function(*args, **kwargs)
    finally:
        for place, held in before:
            if not _is_same(held, place.get()):
                _journals.open[-1].add(place, lambda held=held: held)


def noted(function: types.FunctionType) -> types.FunctionType:
    """The same for whoever calls the function."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return done_by(function, args, kwargs)

    return run


def _is_same(one: Any, other: Any) -> bool:
    """Whether two things that a place held are the same objects, in the same order."""
    if type(one) is dict and type(other) is dict:
        one, other = [*one, *one.values()], [*other, *other.values()]
    if type(one) is list and type(other) is list:
        return len(one) == len(other) and all(map(operator.is_, one, other))
    return one is other


def note_nonlocal(read: types.FunctionType) -> None:
    """To be called before variables of a function around, those that the given one reads, are changed."""
    if _journals.open:
        for name, cell in zip(read.__code__.co_freevars, read.__closure__ or ()):
            note(OuterName(name, cell))


def note_made(value: Any) -> None:
    """To be called with an object that has just been made."""
    note_made_in(current_trace(), value)


def note_made_in(trace: Trace | None, value: Any) -> None:
    """The same, while this is recorded."""
    if trace is not None:
        trace.program.made_objects[id(value)] = value, trace
    if _journals.open:
        _journals.open[-1].made[id(value)] = value


def note_all_made(value: Any) -> None:
    """The same for a value that has been put together, of numbers that the program computes, and the containers in it."""
    if _journals.open and dataclasses.is_dataclass(kind := type(value)) and not is_record(kind):
        note_made(value)
        for part in attributes_of(value).values():
            note_all_made(part)
    elif isinstance(value, (list, tuple, dict)):
        if not isinstance(value, tuple):
            note_made(value)
        for part in value.values() if isinstance(value, dict) else list.__iter__(value) if isinstance(value, list) else value:
            note_all_made(part)


def note_put_together(value: Any) -> None:
    """To be called with a container that a loop has put together, to stand for one that it carries."""
    if _journals.open:
        _journals.open[-1].put_together[id(value)] = value


@contextmanager
def journal(stays: bool = False) -> Iterator[Journal]:
    """Collects the places that are changed meanwhile, with what they held before."""
    entries = Journal(stays)
    _journals.open.append(entries)
    try:
        yield entries
    finally:
        _journals.open.pop()
        if _journals.open:
            outer = _journals.open[-1]
            outer.made.update(entries.made)
            outer.put_together.update(entries.put_together)
            outer.unreadable += entries.unreadable
            if not entries.is_of_trace:
                outer.changed_again = {**entries.changed_again, **outer.changed_again}
            for place, before in entries.values():
                outer.add(place, lambda before=before: before)


def changed_within(begin: Journal) -> dict[Any, tuple[Place, Any]]:
    """What has been changed since a journal was begun, of what has been made meanwhile what was watched, as it was before."""
    changed: dict[Any, tuple[Place, Any]] = {}
    for one in _journals_within(begin):
        changed = {**one.changed_again, **one, **changed}
    return changed


def watch_all_made(begin: Journal) -> None:
    """Note from now on, too, what objects hold that have been made since a journal was begun, before they are changed."""
    journals = _journals_within(begin)
    made = set().union(*[one.made for one in journals])
    for one in journals:
        one.watched = made


def _journals_within(begin: Journal) -> list[Journal]:
    place = next((place for place, one in enumerate(_journals.open) if one is begin), None)
    return [begin] if place is None else _journals.open[place:]


def journals_since(holders: Iterable[Any]) -> tuple[Journal | None, list[Journal]]:
    """The journal that is kept in which the last of these objects was made, and those that have been begun since."""
    ids = set(map(id, holders))
    numbers = [number for number, one in enumerate(_journals.open) if not ids.isdisjoint(one.made)]
    return (_journals.open[numbers[-1]], _journals.open[numbers[-1] + 1 :]) if numbers else (None, list(_journals.open))


def are_changed(holders: Iterable[Any], journals: Iterable[Journal]) -> bool:
    """Whether one of these containers holds something else than when the journals were begun."""
    ids = set(map(id, holders))
    return any(
        not ids.isdisjoint(one) or one.loop_state is not None and not ids.isdisjoint(one.loop_state.slots) for one in journals
    )


def is_changed_here(holder: Any) -> bool:
    """Whether a container is among what the innermost journal that is kept tells apart from before it, if there is one."""
    return not _journals.open or id(holder) in _journals.open[-1] or id(holder) in _journals.open[-1].made


def are_containers_changed() -> bool:
    """Whether the innermost journal that is kept has what a container held."""
    return bool(_journals.open) and any(isinstance(place, Contents | Item) for place, _ in _journals.open[-1].values())


def is_anything_changed() -> bool:
    """The same of any place."""
    return bool(_journals.open) and bool(_journals.open[-1])


@contextmanager
def own_variables(*functions: types.FunctionType) -> Iterator[None]:
    """What variables of these functions hold is noted meanwhile for no loop or branch that has begun before."""
    with journal(stays=True) as entries:
        try:
            yield
        finally:
            for function in functions:
                for cell in function.__closure__ or ():
                    entries.pop(id(cell), None)


def is_journaling() -> bool:
    return bool(_journals.open)


def is_round() -> bool:
    """Whether a round of a captured loop is being recorded."""
    return any(entries.loop_state is not None for entries in _journals.open)


def may_be_put_back() -> bool:
    """Whether what is done may be recorded again, or done never or many times: in a loop or a branch that is captured."""
    return any(not entries.stays for entries in _journals.open)


def collected(run: Callable[[Callable[[Any], None]], Any]) -> list[Any]:
    """A new list of what ``run`` hands to the function that it is given."""
    found: list[Any] = []
    note_made(found)

    def append(value: Any) -> None:
        note(Contents(found))
        found.append(value)

    run(append)
    return found


def let_be_read(unreadable: list[tuple[Any, Any]]) -> None:
    for _, held in reversed(unreadable):
        for place, before in held:
            place.set(before)


def put_back(entries: Journal) -> None:
    let_be_read(entries.unreadable)
    entries.unreadable = []
    for place, before in reversed(entries.values()):
        place.set(before)
