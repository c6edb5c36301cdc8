"""Objects that are changed where the program decides which one it is: their attributes lie in a row of a table.

As with lists (`growing.py`), what marks them is the instruction that makes them. Such an object is of a subclass of its own
class, with descriptors in the place of the attributes, and holds a list with a row, whose only element is a tuple of what the
attributes hold. So it may have many names and stand in many lists, and what is changed under one of them is seen everywhere.
"""

from __future__ import annotations

import weakref
from typing import Any

from ...recording import pytree
from ...recording.array import TracedArray
from ...recording.attributes import attributes_of, slots_of
from ...recording.current_trace import current_trace
from ...recording.errors import RecordedAgain, TracerError
from .. import places
from ..choices import Choice, Maybe
from . import tables
from .growing import new_row
from .references import RECORD, Row, held_row, make_rows, note_makers

_classes: weakref.WeakKeyDictionary[type, dict[tuple[str, ...], type]] = weakref.WeakKeyDictionary()


class _Field:
    """An attribute of such an object."""

    def __init__(self, name: str, place: int) -> None:
        self.name, self.place = name, place

    def __get__(self, record: Any, kind: type | None = None) -> Any:
        return self if record is None else tables.element_at(_row(record), 0)[self.place]

    def __set__(self, record: Any, value: Any) -> None:
        row = _row(record)
        if not _may_be_held(value):
            _refuse(row)
        held = list(tables.element_at(row, 0))
        held[self.place] = value
        tables.set_element(row, 0, tuple(held))

    def __delete__(self, record: Any) -> None:
        _refuse(_row(record))


def _row(record: Any) -> Row:
    if RECORD not in vars(record):
        raise TracerError(
            f"a {type(record).__name__} is made by code that is not captured, of an object that the function changes"
        )
    return held_row(record)


def _refuse(row: Row) -> None:
    row.table.needs.is_refused = True
    raise RecordedAgain


def note_object(made: Any) -> None:
    """To be called with an object that the function has just made."""
    trace = current_trace()
    if trace is None or places.where_made(made) is None or slots_of(type(made)) or isinstance(made, BaseException):
        return
    held = attributes_of(made)
    row = new_row(trace, made, [tuple(held.values())], all(map(_may_be_held, held.values())) and bool(held))
    if row is not None:
        vars(made).clear()
        vars(made)[RECORD] = [row]
        object.__setattr__(made, "__class__", _class_with(type(made), tuple(held)))


def _may_be_held(value: Any) -> bool:
    """Whether a table can hold this: a number or a constant, or what is in a table itself. Lists are put into one."""
    if type(value) is Maybe:
        return _may_be_held(value.value)
    if type(value) is Choice:
        return all(map(_may_be_held, value.values))
    if isinstance(value, TracedArray):
        return value.is_scalar
    if held_row(value) is not None:
        return True
    if isinstance(value, (list, dict, set)):
        note_makers([value])
        if make_rows(current_trace().program):
            raise RecordedAgain
        return False
    return value is None or isinstance(value, (int, float, complex, str, bytes))


def _class_with(kind: type, names: tuple[str, ...]) -> type:
    known = _classes.setdefault(kind, {})
    if names not in known:
        fields = {name: _Field(name, place) for place, name in enumerate(names)}
        about = {"__slots__": (), "__qualname__": kind.__qualname__, "__module__": kind.__module__, "__hash__": kind.__hash__}
        about["followed_class"] = vars(kind).get("followed_class", kind)
        about |= {name: vars(kind)[name] for name in ("followed_methods",) if name in vars(kind)}
        known[names] = made = type(kind)(kind.__name__, (kind,), {**about, **fields, "names_of_record": names})
        pytree.register_pytree(made, lambda record: ((vars(record)[RECORD],), None), lambda _, parts: _of_row(made, parts[0]))
    return known[names]


def _of_row(kind: type, held: list) -> Any:
    record = object.__new__(kind)
    vars(record)[RECORD] = held
    places.note_made(record)
    return record
