"""Which containers and objects are perhaps the same one, as the program decides which of them a name holds.

What branches and loops put together of several containers is a new one, which stands for the one that it is: its *origins* are
those. Where one is changed, others with one of its origins do not show that, and are not read any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from ..recording.array import TracedArray
from ..recording.attributes import attributes_of
from ..recording.current_trace import current_trace
from ..recording.errors import TracerError
from . import journals, places
from .choices import Choice, Maybe
from .entries import OPEN, contents_of, elements_of_set, has_open_keys, mark_of
from .forms import is_around
from .lists.references import Unread, row_behind, want_records

# The way from a value to a container in it.
Path = tuple[Any, ...]
# So many ways lead to so many containers, and not more to each of them.
_MOST_WAYS, _MOST_WAYS_EACH = 1000, 16


class Origin:
    """In the place of a container that a round of a loop makes, and of which the next one knows that two names hold it."""


def is_shared_by_names(value: Any) -> bool:
    """Whether names may share this, so that what is changed under one of them is seen under the others; or what holds such."""
    return isinstance(value, (list, dict, set, tuple)) or _has_parts(value)


def _has_parts(value: Any) -> bool:
    """Whether this is an object that the function has made; what a frozen dataclass holds may be changed, if not itself."""
    parameters = getattr(type(value), "__dataclass_params__", None)
    return parameters is not None and parameters.frozen or places.where_made(value) is not None


def _parts_of(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, dict):
        mark = mark_of(value)
        # The list of entries has no name, and is another one whenever a round is recorded.
        return dict.items(value) if mark is None else (((mark, place), one) for place, one in enumerate(value[mark]))
    if isinstance(value, list):
        return enumerate(list.__iter__(value))
    if isinstance(value, tuple):
        return enumerate(value)
    return attributes_of(value).items() if _has_parts(value) else ()


def _is_leaf(value: Any) -> bool:
    return isinstance(value, (TracedArray, int, float, str)) or value is None


def containers_in(value: Any) -> Iterator[tuple[Path, Any]]:
    """The containers and objects in a value, itself among them, with the ways to them."""
    known: dict[int, Any] = {}
    for number, (path, one) in enumerate(_containers_in(value, (), frozenset())):
        known[id(one)] = one
        if number > _MOST_WAYS and number > _MOST_WAYS_EACH * len(known):
            _refuse_many_ways(known.values())
        yield path, one


def _containers_in(value: Any, path: Path, seen: frozenset[int]) -> Iterator[tuple[Path, Any]]:
    if _is_leaf(value) or id(value) in seen:
        return
    if type(value) is Maybe:  # what may be None is in the same place where it is not
        yield from _containers_in(value.value, path, seen)
        return
    if type(value) is Choice:
        for number, one in enumerate(value.values):
            yield from _containers_in(one, (*path, (Choice, number)), seen)
        return
    if not is_shared_by_names(value):
        return
    yield path, value
    for key, part in _parts_of(value):
        if not _is_leaf(part):
            yield from _containers_in(part, (*path, key), seen | {id(value)})


def _refuse_many_ways(found: Iterable[Any]) -> NoReturn:
    """There are twice as many with each object that holds one or the other of those before it; records hold positions."""
    program = current_trace().program
    for one in found:
        if places.where_made(one) is not None:
            want_records(program, type(one))
    raise TracerError(
        "objects hold others in more ways than can be told apart, as the program decides which ones. Fix: keep them in one "
        "list, and hold their positions in it"
    )


def containers_beside(held: Any, end: Any, others: Iterable[Any] = ()) -> Iterator[tuple[Any, Any]]:
    """The containers and objects in a value that stand where others do in one of those of which it has been put together.

    others: all of those.
    """
    if _is_leaf(held) or held is end:
        return
    if type(held) in (Choice, Maybe) or type(end) in (Choice, Maybe):
        own, given = alternatives(held), alternatives(end)
        for one in own:
            if not any(one is other for each in (end, *others) for other in alternatives(each)):
                for other in given:
                    if not any(other is each for each in own):
                        yield from containers_beside(one, other)
        return
    if type(held) is not type(end) or not is_shared_by_names(held):
        return
    yield held, end
    parts = dict(_parts_of(end))
    for key, part in _parts_of(held):
        if not _is_leaf(part) and key in parts:
            yield from containers_beside(part, parts[key])


def alternatives(value: Any) -> tuple[Any, ...]:
    """What a value is one of: itself, where it is known; None is left out."""
    if type(value) is Choice:
        return tuple([one for part in value.values for one in alternatives(part)])
    return alternatives(value.value) if type(value) is Maybe else (value,)


def origins_of(value: Any) -> dict[int, Any]:
    """The containers of which one is perhaps what a container stands for, by id; itself, where it stands for no other."""
    _, origins = current_trace().program.origins.get(id(value), (value, None))
    return origins or {id(value): value}


def note_origins(held: Any, given: Iterable[Any]) -> None:
    """A container stands for one of those ``given``, too, as the program decides. What lies in a table is known exactly."""
    program = current_trace().program
    if row_behind(held) is not None:
        return
    _, origins = program.origins.setdefault(id(held), (held, {}))
    for one in given:
        if one is held or row_behind(one) is not None:
            continue
        for key, origin in origins_of(one).items():
            if key not in origins and origin is not held:
                origins[key] = origin
                program.stand_for.setdefault(key, (origin, []))[1].append(held)
                program.noted_origins.append((key, held))


def forget_origins(known: int) -> None:
    """Forget those that have been noted since so many were known, in a recording that is dropped."""
    program = current_trace().program
    for key, held in reversed(program.noted_origins[known:]):
        program.stand_for[key][1].pop()
        program.origins.pop(id(held), None)
    del program.noted_origins[known:]


def may_be_one(one: Any, other: Any) -> bool:
    """Whether two containers are perhaps the same."""
    return not origins_of(one).keys().isdisjoint(origins_of(other))


def others_of(value: Any) -> list[Any]:
    """All other containers that are perhaps the same as this one."""
    program = current_trace().program
    found: dict[int, Any] = {}
    for key, origin in origins_of(value).items():
        if type(origin) is not Origin:
            found[key] = origin
        for one in program.stand_for.get(key, (origin, ()))[1]:
            found[id(one)] = one
    found.pop(id(value), None)
    return list(found.values())


def note_merged(held: Any, test: TracedArray, ends: Iterable[Any]) -> None:
    """A container, or an array, is the first of these where the test holds, else the second."""
    current_trace().program.merged[id(held)] = held, test, tuple(ends)


def merged_from(held: Any) -> tuple[TracedArray, tuple[Any, Any]] | None:
    """The test and the containers, or arrays, of which one stands for this one, where that is known."""
    trace = current_trace()
    found = None if trace is None else trace.program.merged.get(id(held))
    if found is None or found[1] is None or not is_around(found[1].root_storage.trace, trace):
        return None
    return found[1], found[2]


def note_carried(held: Any) -> None:
    """A slot of a loop holds this array, which is perhaps one from before the loop."""
    array = held.value if type(held) is Maybe else held
    if isinstance(array, TracedArray) and not array.is_scalar:
        current_trace().program.merged[id(array)] = array, None, ()


def require_known_arrays(one: TracedArray, other: TracedArray) -> None:
    """Raises TracerError where it is asked whether two arrays are one, and the program decides that in a place that is left."""
    merged = current_trace().program.merged
    if (id(one) in merged or id(other) in merged) and (one.ndim, one.dtype) == (other.ndim, other.dtype):
        raise TracerError(
            "it is asked whether an array is another one (by `is`) that it is perhaps, as a loop, or a branch within a branch, "
            "decides. Fix: keep a flag beside it that says which one it is"
        )


# --- what is not read any more ---


def refuse_former() -> NoReturn:
    raise TracerError(
        "a container is read, under another name, that may be one that has been changed in place since: a name that held it "
        "holds another one or it, as the program decides. Fix: change a copy (x = dict(x), x = list(x)), or change both sides "
        "under the condition"
    )


def _is_unread(value: Any) -> bool:
    return type(value) is Unread and value.read is refuse_former


def is_unreadable(value: Any) -> bool:
    """Whether this is a container that nobody may read any more."""
    if isinstance(value, list):
        return len(value) == 1 and _is_unread(list.__getitem__(value, 0))
    if has_open_keys(value):
        return any(map(is_unreadable, contents_of(value).values()))
    return not isinstance(value, (tuple, dict, set)) and any(map(_is_unread, attributes_of(value).values()))


def make_unreadable(holder: Any, names: Iterable[str] = ()) -> None:
    """Let what reads this container raise, or what reads attributes of an object, those with these names among them."""
    if isinstance(holder, tuple) or isinstance(holder, (list, dict, set)) and is_unreadable(holder):
        return
    journals.note_unreadable(holder)
    if isinstance(holder, list):
        list.__setitem__(holder, slice(None), [Unread(refuse_former)])
    elif isinstance(holder, dict):
        places.dict_type(holder).clear(holder)
        places.dict_type(holder).__setitem__(holder, OPEN, [Unread(refuse_former)])
    elif isinstance(holder, set):
        set.clear(holder)
        set.update(holder, elements_of_set({OPEN: [Unread(refuse_former)]}))
    else:
        want_records(current_trace().program, type(holder))
        for name in {*attributes_of(holder), *names}:
            object.__setattr__(holder, name, Unread(refuse_former))


def require_readable(value: Any) -> None:
    """To be called with what is handed on, where what nobody may read is put back."""
    if any(is_unreadable(one) for _, one in containers_in(value)):
        refuse_former()


def attribute_read(value: Any) -> Any:
    """What an attribute holds, which is read."""
    if type(value) is Unread:
        value.read()
    return value
