"""Containers that stand for others, as what is read from a list whose length the program decides: they must not be changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from ..recording import pytree
from ..recording.attributes import attributes_of, is_record
from ..recording.current_trace import current_trace
from ..recording.errors import ChangedCopyError, RecordedAgain, TracerError
from ..recording.program import Program
from ..recording.trace import Trace
from . import journals, places
from .choices import Choice, Maybe
from .entries import is_open_dict
from .lists.references import Unread, make_rows, row_behind, want_alike, want_listed, want_records
from .origins import alternatives, make_unreadable, may_be_one, others_of

LISTS_ARE_CHANGED = "lists that are put into others are changed there"  # what a recording has found out of the program


# What is called where a set is changed that is a copy (`keys.listed`).
TRY_LISTED: list[Callable[[], None]] = []


def note_copies(trace: Trace, value: Any, seen: frozenset[int] = frozenset(), is_put: bool = False) -> None:
    """What is changed in such a value would not be changed in the list, unless its elements lie in a table.

    is_put: objects are put into the list, and stay those that they are; otherwise nobody knows which one an object is.
    """
    if row_behind(value) is not None:
        return
    leaves, structure = pytree.flatten(value, lambda part: part is not value)
    if structure is pytree.LEAF and places.where_made(value) is not None:
        _note_object(trace.program, value, is_put)
        for part in attributes_of(value).values() if id(value) not in seen else ():  # objects may hold one another
            note_copies(trace, part, seen | {id(value)}, is_put)
        return
    if structure is pytree.LEAF and not isinstance(value, set):
        return
    if not isinstance(value, (tuple, Maybe, Choice)):
        trace.program.copies[id(value)] = value
        if (line := trace.program.list_makers.get(id(value))) is not None:
            trace.program.makers_of_copies.add(line)
        if (line := trace.program.set_makers.get(id(value))) is not None:
            trace.program.makers_of_copied_sets.add(line)
        if (line := trace.program.container_makers.get(id(value))) is not None:
            trace.program.makers_of_copied_containers.add(line)
        if (line := trace.program.dict_makers.get(id(value))) is not None:
            trace.program.makers_of_copied_dicts.add(line)
    elif isinstance(value, tuple) and not is_put:
        trace.program.read_tuples[id(value)] = value
    for leaf in leaves if structure is not pytree.LEAF else ():
        note_copies(trace, leaf, seen, is_put)


def _note_object(program: Program, value: Any, is_put: bool) -> None:
    if is_put and (id(value) not in program.copies or id(value) in program.put_objects):
        program.put_objects[id(value)] = value
    else:
        program.put_objects.pop(id(value), None)
    program.copies[id(value)] = value


def note_same_copies(held: Any, ends: Iterable[Any]) -> None:
    """To be called with what a branch has put together: a part is a copy where it has taken one. The containers that names hold
    are noted by who has these names."""
    copies = current_trace().program.copies
    for end in ends if copies else ():
        _note_beside(held, end, copies, {})


def _note_beside(held: Any, end: Any, copies: dict[int, Any], seen: dict[Any, Any], is_part: bool = False) -> None:
    for one in alternatives(held):
        for other in alternatives(end):
            pair = id(one), id(other), is_part
            if one is other or type(one) is not type(other) or row_behind(one) is not None or pair in seen:
                continue
            seen[pair] = one, other
            if id(other) in copies and (is_part or not isinstance(one, (list, tuple, dict, set))):
                copies[id(one)] = one
            parts, others = _parts_of(one), _parts_of(other)
            for key in parts.keys() & others.keys():
                _note_beside(parts[key], others[key], copies, seen, True)


def _parts_of(value: Any) -> dict[Any, Any]:
    """What a container or an object holds, by where it stands."""
    if isinstance(value, (list, tuple)):
        return dict(enumerate(list.__iter__(value) if isinstance(value, list) else value))
    if isinstance(value, dict):
        return dict(dict.items(value))
    is_object = dataclasses.is_dataclass(type(value)) or places.where_made(value) is not None
    return attributes_of(value) if is_object and not is_record(type(value)) else {}


def is_or_holds_copy(value: Any) -> bool:
    """Whether a value is a copy, or is a container or an object that holds one. Objects may hold themselves."""
    copies = current_trace().program.copies
    seen: dict[int, Any] = {}
    to_see = [value]
    while to_see:
        for one in alternatives(to_see.pop()):
            if id(one) in seen:
                continue
            seen[id(one)] = one
            if copies.get(id(one)) is one:
                return True
            to_see += _parts_of(one).values()
    return False


def note_copy_of(trace: Trace, copy: Any, originals: Iterable[Any]) -> None:
    """This list is a copy of one of these, as the program decides: once one of them is changed it is read no more."""
    for original in originals:
        if isinstance(original, (list, dict, set)):
            trace.program.copied.setdefault(id(original), (original, []))[1].append(copy)
            note_copy_of(trace, copy, original.values() if isinstance(original, dict) else list.__iter__(original))


def _is_outdated() -> NoReturn:
    raise TracerError(
        "a list is read that is a copy of one of several, as the program decides which one, and one of these has been changed "
        "in place since. Fix: read it again (rows[k]) behind the change, or copy it first (list(rows[k]))"
    )


def _require_rows(trace: Trace, value: Any) -> None:
    """Raises RecordedAgain where a list that stands for another one can be a row of a table, as that one then is, too."""
    program = trace.program
    if type(value) is list and LISTS_ARE_CHANGED not in program.guessed_bounds and program.puts_lists_into_dicts:
        program.guessed_bounds[LISTS_ARE_CHANGED] = True
        raise RecordedAgain
    if type(value) is list and make_rows(program):
        raise RecordedAgain


def require_identity(*values: Any) -> None:
    """To be called with two containers of which it is asked whether they are one."""
    trace = current_trace()
    if trace is not None and may_be_one(*values):
        raise TracerError(
            f"it is asked whether a {type(values[0]).__name__} is another one (by `is`) that it is perhaps, as the program "
            "decides. Fix: compare what tells them apart (x[0] == y[0])"
        )
    for value in values if trace is not None else ():
        is_read = id(value) in trace.program.read_tuples
        if is_read or id(value) in trace.program.copies and id(value) not in trace.program.put_objects:
            _require_rows(trace, value)
            want_rows((value,))
            raise TracerError(
                f"it is asked whether a {type(value).__name__} is another one (by `is`) that is one of several, or an element "
                "of a list, as the program decides. Fix: compare what tells them apart (x[0] == y[0])"
            )


def _owners_of(container: Any) -> list[Any]:
    """The objects and dicts of which this is an attribute or an item, among those that are copies."""
    copies = [one for one in current_trace().program.copies.values() if not isinstance(one, (list, tuple, set))]
    return [one for one in copies if any(part is container for part in _parts_of(one).values())]


def want_rows(values: Iterable[Any]) -> None:
    """To be called with what one place may hold, where it is too much to choose from: objects may be records of one table."""
    program = current_trace().program
    for one in values:
        if places.where_made(one) is not None and not is_record(type(one)):
            want_records(program, type(one))


def require_own(holder: Any, *names: str) -> None:
    """To be called with a container that is about to be changed, or an object of which attributes with these names are."""
    trace = current_trace()
    if trace is None:
        return
    key, program = id(holder), trace.program
    if key in program.copied:
        for copy in program.copied[key][1]:
            journals.note(places.Contents(copy))
            list.__setitem__(copy, slice(None), [Unread(_is_outdated)])
    if key in program.origins or key in program.stand_for:
        for other in others_of(holder):
            make_unreadable(other, names)
    if key in program.copies:
        _require_rows(trace, holder)
        kind = getattr(type(holder), "followed_class", type(holder))
        kinds = {kind} if not isinstance(holder, (list, dict, set)) or kind is dict else set(map(type, _owners_of(holder)))
        for one in kinds:
            want_records(program, one)
        if kind is dict and not is_open_dict(holder):
            want_alike(program, holder)
        want_listed(program, type(holder))
        instead = "put another one there (x[i] = x[i] + [value]), or copy it first"
        if isinstance(holder, set):
            TRY_LISTED[0]()
            instead = "hold a list in its place (if value not in x[i]: x[i].append(value))"
        raise ChangedCopyError(
            f"a {kind.__name__} is changed that is one of several, or an element of a list, where the program decides "
            f"which one it is, or how many there are. Fix: {instead}"
        )
