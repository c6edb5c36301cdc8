"""Objects whose attributes are a row of a table: what is changed of one of them is seen wherever it is held.

An element that is an object is a copy when it is read. Where one is changed, and the function cannot be recorded otherwise, it
is recorded again with the objects of its class as *records*: from the end of ``__init__`` on each has a row, and what stands
for it is the table and a position, as of a list that lies in one. Its class is a subclass, which looks there.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from ...recording import pytree
from ...recording.attributes import attributes_of, class_of, is_property, is_record, slots_of
from ...recording.current_trace import current_trace
from ...recording.errors import CarryTypeError, RecordedAgain, TracerError
from .. import places
from ..choices import Maybe
from ..copies import TRY_LISTED, note_copies
from ..library.listed import Listed
from . import tables
from .elements import joined_types
from .growing import new_row, renew
from .references import (
    KEEPING,
    ROW,
    Needs,
    Row,
    Table,
    note_makers,
    records_made,
    refuse,
    row_behind,
    try_rows,
)

# By the class of the objects, and the names of their attributes.
_classes: dict[tuple[type, tuple[str, ...]], type] = {}


def keep(made: Any) -> None:
    """To be called with an object that the function has just made."""
    trace, kind = current_trace(), type(made)
    known = None if trace is None else records_made(trace.program)
    if not known or is_record(kind):
        return
    followed = class_of(kind)
    needs = known.get((followed.__module__, followed.__qualname__))
    if needs is None or needs.is_refused:
        return
    attributes = attributes_of(made)
    if not _can_be_kept(made, attributes):
        give_up(needs)
    record = _class_of(kind, tuple(attributes))
    trace.program.record_classes[record.__module__, record.__qualname__] = record
    row = record_row(attributes.values(), needs, f"objects of the class {followed.__qualname__}", record)
    made.__dict__.clear()
    made.__dict__[ROW] = [row]
    object.__setattr__(made, "__class__", record)


KEEPING.append(keep)


def give_up(needs: Needs) -> NoReturn:
    """What has these needs has to be without a table."""
    needs.is_refused = True
    raise RecordedAgain


def record_row(parts: Iterable[Any], needs: Needs, place: str, records: Any) -> Row:
    """A new row that holds these parts, of the table with these needs, in which all are such ``records``."""
    element = (0, *parts)  # a number, so that there is a column
    renew(needs)
    found = tables.kind_of([[element]], needs, holds_arrays=True)
    _note_parts(element)
    if found is False:
        if any(type(part) is list and row_behind(part) is None for part in element):
            try_rows([pytree.flatten(element)[1]])
        if any(type(part) is set for part in element):
            TRY_LISTED[0]()
        give_up(needs)
    row = new_row(found, needs, place, 1)
    if row.table.records not in (None, records):
        give_up(needs)
    row.table.records = records
    _require_kind(row.table, element)
    tables.set_element(row, 0, element)
    return row


def _can_be_kept(made: Any, attributes: dict[str, Any]) -> bool:
    kind = type(made)
    if places.where_made(made) is None or id(made) in current_trace().program.copies or type(kind) not in (type, abc.ABCMeta):
        return False
    if slots_of(kind) or kind.__setattr__ is not object.__setattr__ or kind.__getattribute__ is not object.__getattribute__:
        return False
    if any(is_property(kind, name) for name in attributes):
        return False
    return bool(attributes) and not any(type(one) is Maybe and one.absent is places.UNBOUND for one in attributes.values())


def _class_of(kind: type, names: tuple[str, ...]) -> type:
    """The class of records of objects of this class that have attributes with these names."""
    if (kind, names) in _classes:
        return _classes[kind, names]
    inherited = vars(kind) if "followed_methods" in vars(kind) else {}
    methods = {name: value for name, value in inherited.items() if name not in ("__dict__", "__weakref__", "__doc__")}
    methods |= {
        "__slots__": (),
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__getattribute__": _getattribute,
        "__setattr__": set_attribute,
        "__delattr__": delete_attribute,
        "__hash__": _hash if kind.__hash__ is object.__hash__ else kind.__hash__,
        "followed_class": class_of(kind),
        "names_of_record": names,
    }
    record = _classes[kind, names] = type(kind)(kind.__name__, (kind,), methods)

    def put_together(_: Any, parts: Sequence[Any]) -> Any:
        (held,) = parts
        if type(held) is list and type(held[0]) is not Row:  # the program has run
            return _finished(record, held)
        made = object.__new__(record)
        object.__getattribute__(made, "__dict__")[ROW] = held
        return made

    pytree.register_pytree(record, lambda one: ((_held(one),), None), put_together)
    return record


def _finished(records: Any, held: list[Any]) -> Any:
    """The object, or dict, whose parts the list holds; all that have been one have one list, which holds it from now on."""
    if type(held[0]) is tuple:
        element = held[0]
        held[0] = shell(records)[0]
        fill_record(records, held[0], element)
    return held[0]


def finished_dict(keys: tuple[str, ...], held: list[Any]) -> dict[str, Any]:
    """The dict with these keys whose values the list holds."""
    return _finished(keys, held)


def shell(records: Any) -> list[Any]:
    """A list as lies in a table, of a class of records, or of dicts with these keys, or of neither, when the program has run:
    with what the record becomes, which holds nothing yet."""
    if records is None:
        return []
    if type(records) is tuple:
        return [{}]
    return [records.empty() if is_container(records) else object.__new__(records.followed_class)]


def is_container(records: Any) -> bool:
    """Whether these records stand for containers."""
    return isinstance(records, type) and issubclass(records, Listed)


def fill_record(records: Any, made: Any, element: tuple[Any, ...]) -> None:
    """Give what is in a `shell` what it holds."""
    _, *parts = element
    if type(records) is tuple:
        made.update(zip(records, parts))
    elif is_container(records):
        records.fill(made, parts[0])
    else:
        made.__dict__.update(zip(records.names_of_record, parts))


def _held(record: Any) -> list[Any]:
    return object.__getattribute__(record, "__dict__")[ROW]


# --- attributes ---


def _getattribute(self: Any, name: str) -> Any:
    kind = type(self)
    if name in kind.names_of_record:
        return attribute(self, name)
    if name == "__class__":
        return kind.followed_class
    if name == "__dict__":
        raise AttributeError(f"the attributes of a {kind.__name__} lie in a table while the function is traced")
    return super(kind, self).__getattribute__(name)


def _hash(self: Any) -> NoReturn:
    raise TracerError(
        f"a {type(self).__name__} whose attributes are changed where it is an element of a list is used as a key, or in a set. "
        "Fix: give each a number, and use that"
    )


def attribute(record: Any, name: str) -> Any:
    """What an attribute of a record holds."""
    return part_of(row_behind(record), type(record).names_of_record.index(name))


def set_attribute(record: Any, name: str, value: Any) -> None:
    """``record.name = value``"""
    names = type(record).names_of_record
    if name not in names:
        refuse(row_behind(record).table)
    set_part(row_behind(record), names.index(name), value)


def delete_attribute(record: Any, name: str) -> NoReturn:
    """``del record.name``: there are no records then."""
    refuse(row_behind(record).table)


# --- parts ---


def part_of(row: Row, number: int) -> Any:
    """The part of a record with this number."""
    return tables.part_at(row, number + 1)


def set_part(row: Row, number: int, value: Any) -> None:
    """Give a record another part."""
    _note_parts((value,))
    try:
        is_set = tables.set_part(row, number + 1, value)
    except CarryTypeError:
        refuse(row.table)
    if not is_set:
        element = list(tables.element_at(row, 0))
        element[number + 1] = value
        _require_kind(row.table, tuple(element))


def _note_parts(parts: tuple) -> None:
    """What becomes part of a record is a copy, unless it lies in a table, too."""
    note_makers([parts])
    note_copies(current_trace(), parts, is_put=True)


def _require_kind(table: Table, element: tuple) -> None:
    """Raises RecordedAgain where the table cannot hold such an object as it is."""
    try:
        kind = joined_types([element])
    except CarryTypeError:
        refuse(table)
    if kind.holds_sized_arrays:
        refuse(table)
    tables.require_type(table, kind, (element,))
