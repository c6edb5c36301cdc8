"""The records of containers that are read, and written, as columns: a part of `records`."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_int64, c_void_p
from typing import TYPE_CHECKING

import numpy as np

from . import entries, new_entries
from . import object_layout as layout
from .call_signature import ResultSpec

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
    """What `new_entries.NewEntries` says. keys: how many of the columns; old_leaves: leaves of the columns that were read."""

    _fields_ = [
        ("kind", c_int64),
        ("count", c_int64),
        ("keys", c_int64),
        ("key_is_tuple", c_int64),
        ("value_is_tuple", c_int64),
        ("leaves", c_void_p),
        ("old_leaves", c_void_p),
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
    leaves = [builder.leaf(leaf, results) for leaf in new.leaves]
    old = [type(leaf).from_buffer_copy(leaf) for leaf in leaves]
    for number, leaf in enumerate(old):
        leaf.numbers = 8 * number
    parts = [*new.columns.parts, ((), False)]
    record = Contents(
        kind=entries.KINDS.index(new.columns.kind),
        count=len(leaves),
        keys=len(parts[0][0]),
        key_is_tuple=parts[0][1],
        value_is_tuple=parts[1][1],
        leaves=builder.table(leaves)[0],
        old_leaves=builder.table(old)[0],
        length=offset_of(new.length),
        known_length=new.known_length,
        start=offset_of(new.start),
        capacity=new.capacity,
        kept=builder.kept.get(id(new.columns)),
    )
    return builder.memory((Contents * 1)(record))


def offset_of(number: int | None) -> int:
    """Where the address of a result, or of data, stands."""
    return -8 if number is None else 8 * number


def _aligned(size: int) -> int:
    return -(-size // 64) * 64
