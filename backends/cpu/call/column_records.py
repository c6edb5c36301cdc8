"""The records of containers that are read, and written, as columns: a part of `records`."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_int64, c_void_p
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from . import entries, new_entries
from . import object_layout as layout
from .call_signature import ResultSpec
from .made_records import numbers_of, offset_of, part_of

if TYPE_CHECKING:
    from .records import Builder


class Column(ctypes.Structure):
    """A column of a container's entries: the numbers of a part, or those at a place of it, a tuple of this size.

    expected, kind, itemsize: the type of the numbers, how they are read, and their size; offset: where the column lies.
    """

    _fields_ = [
        ("part", c_int64),
        ("place", c_int64),
        ("tuple_size", c_int64),
        ("expected", c_void_p),
        ("kind", c_int64),
        ("itemsize", c_int64),
        ("offset", c_int64),
        ("slot", c_int64),
    ]


class Kept(ctypes.Structure):
    """What was read of a dict, or written to it, by the last call: an object of bytes, the dict and its version; 0: nothing."""

    _fields_ = [
        ("memory", c_void_p),
        ("holder", c_void_p),
        ("version", c_int64),
    ]


class Container(ctypes.Structure):
    """What `entries.EntryColumns` says. tuple: the type; size: of all columns, with what stands before them; kept: null where
    nothing is.
    """

    _fields_ = [
        ("kind", c_int64),
        ("rows", c_int64),
        ("columns", c_void_p),
        ("count", c_int64),
        ("length_slot", c_int64),
        ("tuple", c_void_p),
        ("size", c_int64),
        ("kept", c_void_p),
    ]


class Contents(ctypes.Structure):
    """What `new_entries.NewEntries` says. keys: how many of the columns; key, value: parts, of which old_key is the one of the
    columns that were read.
    """

    _fields_ = [
        ("kind", c_int64),
        ("count", c_int64),
        ("keys", c_int64),
        ("columns", c_void_p),
        ("key", c_void_p),
        ("value", c_void_p),
        ("old_key", c_void_p),
        ("length", c_int64),
        ("known_length", c_int64),
        ("start", c_int64),
        ("capacity", c_int64),
        ("kept", c_void_p),
    ]


RECORDS = (Column, Kept, Container, Contents)


def container(builder: Builder, columns: entries.EntryColumns) -> int:
    """The address of the record of what is read of a container."""
    found = []
    count = sum([len(kinds) for kinds, _ in columns.parts])
    end = _aligned(8 * (count + 1))
    for part, (kinds, is_tuple) in enumerate(columns.parts):
        for place, kind in enumerate(kinds):
            itemsize = np.dtype(kind).itemsize
            reads = {int: entries.NUMBER_INTEGER, bool: entries.NUMBER_BOOL}.get(kind, entries.NUMBER_INLINE)
            slot = offset_of(columns.slots.get(len(found)))
            column = Column(part, place if is_tuple else -1, len(kinds), builder.object(kind), reads, itemsize, end, slot)
            found.append(column)
            end += _aligned(itemsize * columns.rows)
    record = Container(
        kind=entries.KINDS.index(columns.kind),
        rows=columns.rows - 1,
        columns=builder.table(found)[0],
        count=count,
        length_slot=offset_of(columns.slots.get(-1)),
        tuple=builder.object(tuple),
        size=end,
        kept=_kept(builder, columns, end) if columns.kind is dict and layout.dicts_have_versions() else None,
    )
    return builder.memory((Container * 1)(record))


def _kept(builder: Builder, columns: entries.EntryColumns, size: int) -> int:
    """The address of a record that native code changes."""
    kept = Kept(memory=builder.object(bytes(size)))
    builder.references.append(kept)
    builder.kept[id(columns)] = ctypes.addressof(kept)
    return ctypes.addressof(kept)


def contents(builder: Builder, new: new_entries.NewEntries, results: Sequence[ResultSpec]) -> int:
    """The address of the record of what a container gets."""
    parts = [part_of(builder, part, results) for part in new.parts(new.numbers)]
    read = tuple([replace(one, result=number) for number, one in enumerate(new.numbers)])
    dtypes = [results[one.result] for one in new.numbers]
    record = Contents(
        kind=entries.KINDS.index(new.columns.kind),
        count=len(new.numbers),
        keys=len(new.columns.parts[0][0]),
        columns=builder.table([numbers_of(builder, one, results) for one in new.numbers])[0],
        key=builder.table(parts[:1])[0],
        value=builder.table(parts[1:])[0],
        old_key=builder.table([part_of(builder, new.parts(read)[0], dtypes)])[0],
        length=offset_of(new.length),
        known_length=new.known_length,
        start=offset_of(new.start),
        capacity=new.capacity,
        kept=builder.kept.get(id(new.columns)),
    )
    return builder.memory((Contents * 1)(record))


def _aligned(size: int) -> int:
    return -(-size // 64) * 64
