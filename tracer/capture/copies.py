"""Containers that stand for others, as what is read from a list whose length the program decides: they must not be changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from ..recording import pytree
from ..recording.attributes import attributes_of
from ..recording.current_trace import current_trace
from ..recording.errors import RecordedAgain, TracerError
from ..recording.trace import Trace
from . import places
from .choices import Choice, Maybe
from .entries import OPEN, elements_of_set
from .lists.references import Unread, make_rows, row_of

LISTS_ARE_CHANGED = "lists that are put into others are changed there"  # what a recording has found out of the program


def note_copies(trace: Trace, value: Any) -> None:
    """What is changed in such a value would not be changed in the list, unless its elements lie in a table."""
    if row_of(value) is not None:
        return
    leaves, structure = pytree.flatten(value, lambda part: part is not value)
    if structure is pytree.LEAF and places.where_made(value) is not None:
        trace.program.copies[id(value)] = value
        for part in attributes_of(value).values():
            note_copies(trace, part)
        return
    if structure is pytree.LEAF and not isinstance(value, set):
        return
    if not isinstance(value, (tuple, Maybe, Choice)):
        trace.program.copies[id(value)] = value
        if (line := trace.program.list_makers.get(id(value))) is not None:
            trace.program.makers_of_copies.add(line)
    for leaf in leaves if structure is not pytree.LEAF else ():
        note_copies(trace, leaf)


def note_copy_of(trace: Trace, copy: Any, originals: Iterable[Any]) -> None:
    """This list is a copy of one of these, as the program decides: once one of them is changed it is read no more."""
    for original in originals:
        if isinstance(original, (list, dict, set)):
            trace.program.copied.setdefault(id(original), (original, []))[1].append(copy)
            note_copy_of(trace, copy, original.values() if isinstance(original, dict) else list.__iter__(original))


def note_former(trace: Trace, former: Any, held: Any) -> None:
    """One of these is a copy of the other, as the program decides: once one is changed the other is read no more.

    What has no other name is not read anyway.
    """
    if former is held or row_of(former) is not None or row_of(held) is not None:
        return
    for one, other in ((former, held), (held, former)):
        trace.program.perhaps_one.setdefault(id(one), (one, []))[1].append(other)


def containers_beside(held: Any, end: Any) -> Iterator[tuple[Any, Any]]:
    """The lists, dicts and sets in a value that stand where others do in one of those of which it has been chosen."""
    if type(held) in (Choice, Maybe):
        for one in held.values if type(held) is Choice else (held.value,):
            yield from containers_beside(one, end)
        return
    if held is end or type(held) is not type(end):
        return
    if isinstance(held, (list, dict, set)):
        yield held, end
    if isinstance(held, dict):
        pairs = [(part, dict.get(end, key)) for key, part in dict.items(held)]
    elif isinstance(held, list):
        pairs = zip(list.__iter__(held), list.__iter__(end))
    elif isinstance(held, tuple):
        pairs = zip(held, end)
    elif places.where_made(held) is not None:
        attributes = attributes_of(end)
        pairs = [(part, attributes[name]) for name, part in attributes_of(held).items() if name in attributes]
    else:
        return
    for pair in pairs:
        yield from containers_beside(*pair)


def _is_former() -> NoReturn:
    raise TracerError(
        "a container is read, under another name, that may be one that has been changed in place since: a name that held it "
        "holds another one or it, as the program decides. Fix: change a copy (x = dict(x), x = list(x)), or change both sides "
        "under the condition"
    )


def make_unreadable(holder: Any) -> None:
    """Let what reads this container raise."""
    places.note_unreadable(holder)
    if isinstance(holder, list):
        list.__setitem__(holder, slice(None), [Unread(_is_former)])
    elif isinstance(holder, dict):
        dict.clear(holder)
        dict.__setitem__(holder, OPEN, [Unread(_is_former)])
    else:
        set.clear(holder)
        set.update(holder, elements_of_set({OPEN: [Unread(_is_former)]}))


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
    """To be called with containers of which it is asked whether they are one."""
    trace = current_trace()
    for value in values if trace is not None else ():
        if id(value) in trace.program.copies:
            _require_rows(trace, value)
            raise TracerError(
                f"it is asked whether a {type(value).__name__} is another one (by `is`) that is one of several, or an element "
                "of a list, as the program decides. Fix: compare what tells them apart (x[0] == y[0])"
            )


def require_own(holder: Any) -> None:
    """To be called with a container that is about to be changed."""
    trace = current_trace()
    if trace is None:
        return
    key, program = id(holder), trace.program
    if key in program.copied:
        for copy in program.copied[key][1]:
            places.note(places.Contents(copy))
            list.__setitem__(copy, slice(None), [Unread(_is_outdated)])
    for other in program.perhaps_one.get(key, (holder, ()))[1]:
        make_unreadable(other)
    if key in program.copies:
        _require_rows(trace, holder)
        raise TracerError(
            f"a {type(holder).__name__} is changed that is one of several, or an element of a list, where the program decides "
            "which one it is, or how many there are. Fix: put another one there (x[i] = x[i] + [value]), or copy it first"
        )
