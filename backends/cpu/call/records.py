"""The records that the native code of `entry_code` reads: an entry, its argument guards and its results."""

from __future__ import annotations

import ctypes
import struct
import sys
import types
from collections.abc import Callable, Sequence
from ctypes import c_int32, c_int64, c_uint64, c_void_p
from typing import Any

import numpy as np

from . import (
    attempt,
    column_records,
    entries,
    entry_code,
    finishing,
    kept_values,
    lookup,
    made_records,
    new_entries,
    outside,
    places,
    rows,
    shown,
    texts,
    vectorcall_type,
)
from . import object_layout as layout
from .call_signature import (
    RESULT_STRUCTURES,
    AddressGuard,
    ArrayGuard,
    CallSignature,
    KeysGuard,
    NumPyScalarGuard,
    PythonScalarGuard,
    SizeGuard,
    StaticGuard,
    TypeGuard,
    ValueGuard,
)

# Larger arrays have memory of their own, of which large ones come from the pool.
MOST_IN_FRAME = 1 << 14


class Argument(ctypes.Structure):
    """A guard. expected: the object's type, or a static object; slot: where the address of the data is noted.

    shape: the dimensions, the keys of a dict, the function of a method, or the parts of a function; size: how many elements a
    container has, the bits of a number, or the number of another place; least, greatest: what an integer may be.
    """

    _fields_ = [
        ("kind", c_int64),
        ("expected", c_void_p),
        ("slot", c_int64),
        ("flags", c_int32),
        ("rank", c_int32),
        ("dtype", c_void_p),
        ("shape", c_void_p),
        ("size", c_int64),
        ("least", c_int64),
        ("greatest", c_int64),
    ]


class Place(ctypes.Structure):
    """What `places.Place` says."""

    _fields_ = [
        ("source", c_int64),
        ("holder", c_int64),
        ("index", c_int64),
        ("key", c_void_p),
        ("words", c_void_p),
        ("words_end", c_void_p),
        ("known", c_void_p),
        ("kept", c_void_p),
        ("guard", Argument),
    ]


class Apart(ctypes.Structure):
    """The slots of two arrays, the first of which is changed in place, and their sizes in bytes."""

    _fields_ = [
        ("slot", c_int64),
        ("size", c_int64),
        ("other_slot", c_int64),
        ("other_size", c_int64),
    ]


class Saved(ctypes.Structure):
    """Memory outside, and its size."""

    _fields_ = [
        ("address", c_void_p),
        ("size", c_int64),
    ]


class Step(ctypes.Structure):
    """What `finishing.Step` says."""

    _fields_ = [
        ("kind", c_int64),
        ("number", c_int64),
        ("object", c_void_p),
    ]


class Entry(ctypes.Structure):
    """One signature: what to accept, the kernel, what to return, and the division of the frame of a call.

    hash: of the calls that fit, as `lookup` tells. unnamed_count: the number of arguments of a call without keyword names, -1
    if the signature has names. is_array_alone: whether the result is one new array. words: what has to stand outside, as
    `outside` tells; variables: context variables, and what they have to be. apart: what must not share memory. errors: where
    the codes of errors stand in the frame; found_error: what is called with such a code, null where Python takes the call;
    left_to_python: the classes of exceptions of the kernel where it does, too; noting: a context variable that is a new list
    while the kernel is run; make_again: what is called with that where Python takes the call; put_back: the memory that is as
    it was then, and is saved in the frame.
    """

    _fields_ = [
        ("hash", c_uint64),
        ("unnamed_count", c_int64),
        ("arguments", c_void_p),
        ("arguments_end", c_void_p),
        ("frame_size", c_int64),
        ("data_offset", c_int64),
        ("cells_distance", c_int64),
        ("memory_offset", c_int64),
        ("objects_offset", c_int64),
        ("shared_offset", c_int64),
        ("shared_count", c_int64),
        ("places_offset", c_int64),
        ("stack_offset", c_int64),
        ("places", c_void_p),
        ("place_count", c_int64),
        ("apart", c_void_p),
        ("apart_end", c_void_p),
        ("result_count", c_int64),
        ("results", c_void_p),
        ("kernel", c_void_p),
        ("release_gil", c_int64),
        ("errors", c_void_p),
        ("errors_end", c_void_p),
        ("is_array_alone", c_int64),
        ("result_structure", c_int64),
        ("steps", c_void_p),
        ("steps_end", c_void_p),
        ("error", c_void_p),
        ("found_error", c_void_p),
        ("left_to_python", c_void_p),
        ("noting", c_void_p),
        ("make_again", c_void_p),
        ("put_back", c_void_p),
        ("put_back_end", c_void_p),
        ("saved_offset", c_int64),
        ("positional_count", c_int64),
        ("keyword_count", c_int64),
        ("keyword_names", c_void_p),
        ("words", c_void_p),
        ("words_end", c_void_p),
        ("variables", c_void_p),
        ("variables_end", c_void_p),
    ]


_RECORDS = (
    Entry,
    Argument,
    Place,
    Apart,
    Saved,
    Step,
    kept_values.Attribute,
    lookup.Table,
    *made_records.RECORDS,
    *column_records.RECORDS,
)


def names() -> dict[str, int]:
    """The offsets and constants that the assembly of `entry_code` names."""
    values = {
        f"{record.__name__}_{field[0]}": getattr(record, field[0]).offset for record in _RECORDS for field in record._fields_
    }
    values |= {f"{record.__name__}_SIZE": ctypes.sizeof(record) for record in _RECORDS}
    for module in (
        layout,
        entry_code,
        attempt,
        places,
        finishing,
        rows,
        texts,
        shown,
        entries,
        new_entries,
        lookup,
        vectorcall_type,
        outside,
        kept_values,
    ):
        values |= {name: value for name, value in vars(module).items() if name.isupper() and isinstance(value, int)}
    return values


class Builder:
    """Builds the records of one entry and keeps what they point to: every address is that of an object in `references`.

    pointers: how many data pointers the kernel gets, those of columns among them.
    """

    def __init__(self, pointers: int = 0) -> None:
        self.references: list[object] = []
        self.kept: dict[int, int] = {}  # addresses, by the ids of `entries.EntryColumns`
        self.pointers = pointers
        # Of `rows.Shared` the first of the places, by their marks, and how many there are.
        self.shared: dict[Any, int] = {}
        self.shared_count = 0
        # Behind the data pointers and their cells, counted from the former.
        self.packs_offset = 16 * pointers

    def object(self, value: object) -> int:
        """The address of a Python object, kept alive."""
        self.references.append(value)
        return id(value)

    def memory(self, value: ctypes.Array) -> int:
        """The address of a copy of C data that nothing can change, kept alive."""
        return self.object(bytes(value)) + layout.BYTES_DATA

    def object_array(self, values: Sequence[object]) -> int:
        """The address of an array of pointers to Python objects, all kept alive."""
        return self.memory((c_void_p * len(values))(*map(self.object, values)))

    def shape(self, shape: tuple[int, ...]) -> int:
        """The address of the dimensions as npy_intp."""
        return self.memory((c_int64 * max(len(shape), 1))(*shape))

    def dtype(self, dtype: np.dtype) -> int:
        """The address of the descriptor that arrays of this dtype share, which an unpickled dtype is not."""
        return self.object(np.dtype(dtype.type) if dtype.num >= 256 else np.dtype(dtype.char))

    def argument(self, guard: places.PlaceGuard | None, static: object = None, slot: int | None = None) -> Argument:
        """The record of a guard; static is the object of a StaticGuard, slot the number of the data pointer."""
        record = self._guard(guard, static)
        record.slot = 8 * (slot or 0)
        return record

    def _guard(self, guard: places.PlaceGuard | None, static: object) -> Argument:
        match guard:
            case ArrayGuard():
                return self._array(guard)
            case NumPyScalarGuard(dtype=dtype):
                return Argument(kind=attempt.ARGUMENT_INLINE, expected=self.object(dtype.type))
            case PythonScalarGuard(type=kind, least=least, greatest=greatest):
                kinds = {int: attempt.ARGUMENT_INTEGER, bool: attempt.ARGUMENT_BOOL}
                code = kinds.get(kind, attempt.ARGUMENT_INLINE)
                return Argument(kind=code, expected=self.object(kind), least=least, greatest=greatest)
            case StaticGuard(is_as_good=is_as_good):
                return self._identity(static, is_as_good)
            case places.IdentityGuard(value=value, is_as_good=is_as_good):
                return self._identity(value, is_as_good)
            case places.CheckedGuard(holds=holds):
                return Argument(kind=attempt.ARGUMENT_CHECKED, shape=self.object(holds))
            case TypeGuard(type=kind):
                return Argument(kind=attempt.ARGUMENT_TYPE, expected=self.object(kind))
            case AddressGuard(type=kind, offset=offset):
                return Argument(kind=attempt.ARGUMENT_ADDRESS, expected=self.object(kind), size=offset)
            case SizeGuard(type=kind, size=size):
                return Argument(kind=attempt.ARGUMENT_SIZE, expected=self.object(kind), size=size)
            case KeysGuard(keys=keys, type=kind):
                table = self.object_array(keys)
                return Argument(kind=attempt.ARGUMENT_KEYS, expected=self.object(kind), shape=table, size=len(keys))
            case ValueGuard(value=float(value)):
                bits = int.from_bytes(struct.pack("<d", value), "little", signed=True)
                return Argument(kind=attempt.ARGUMENT_FLOAT_VALUE, expected=self.object(float), size=bits)
            case ValueGuard(value=value):
                return Argument(kind=attempt.ARGUMENT_INTEGER_VALUE, expected=self.object(int), size=value)
            case places.MethodGuard(function=function):
                expected, shape = self.object(types.MethodType), self.object(function)
                return Argument(kind=attempt.ARGUMENT_METHOD, expected=expected, shape=shape)
            case places.FunctionGuard(function=function):
                self.object(function)
                pairs = outside.function_parts(function)
                table = self.memory((c_uint64 * (2 * len(pairs)))(*[part for pair in pairs for part in pair]))
                expected = self.object(types.FunctionType)
                return Argument(kind=attempt.ARGUMENT_FUNCTION, expected=expected, shape=table, size=len(pairs))
            case places.PackedGuard(type=kind, first=first, number=number, least=least, greatest=greatest):
                code = attempt.ARGUMENT_PACKED_INTEGER if kind is int else attempt.ARGUMENT_PACKED_FLOAT
                begin, at = self.packs_offset + 8 * first, self.packs_offset + 8 * number
                return Argument(kind=code, expected=self.object(kind), shape=begin, size=at, least=least, greatest=greatest)
            case places.TextGuard(first=first, number=number, count=count, room=room):
                begin, at, behind = (self.packs_offset + 8 * one for one in (first, number, first + count))
                code = attempt.ARGUMENT_TEXT
                return Argument(kind=code, expected=self.object(str), shape=begin, size=at, least=behind, greatest=room)
            case places.SameGuard(place=place, differs=differs):
                return Argument(kind=attempt.ARGUMENT_OTHER if differs else attempt.ARGUMENT_SAME, size=place)
        return Argument(kind=attempt.ARGUMENT_ANY)

    def _identity(self, value: object, is_as_good: Callable[[Any], bool] | None) -> Argument:
        if is_as_good is None:
            return Argument(kind=attempt.ARGUMENT_STATIC, expected=self.object(value))
        return Argument(kind=attempt.ARGUMENT_AS_GOOD, expected=self.object(value), shape=self.object(is_as_good))

    def _array(self, guard: ArrayGuard) -> Argument:
        order = layout.C_CONTIGUOUS if guard.order == "C" else layout.F_CONTIGUOUS
        return Argument(
            kind=attempt.ARGUMENT_ARRAY,
            expected=self.object(np.ndarray),
            flags=layout.ALIGNED | order | (layout.WRITEABLE if guard.writeable else 0),
            rank=len(guard.shape),
            dtype=self.dtype(guard.dtype),
            shape=self.shape(guard.shape),
        )

    def place(self, place: places.Place) -> Place:
        """The record of a place; its words are complete, as Python code may run between them and those of the call."""
        source = places.SOURCES.index(place.source)
        if place.source == "entries":
            key = column_records.container(self, place.key)
        else:
            key = None if place.source in ("argument", "place") else self.object(place.key)
        words = outside.words_of(place.facts) or []
        self.references.extend(place.facts)
        words_at, known, guard = self._pairs(words), self.object(place.known), self.argument(place.guard, None, place.slot)
        words_end, kept = words_at + 16 * len(words), kept_values.address_of(self, place.kept)
        return Place(source, place.holder, place.index, key, words_at, words_end, known, kept, guard)

    def table(self, records: Sequence[ctypes.Structure]) -> tuple[int, int]:
        """The address of a copy of records of one kind that stand one behind another, and that of its end."""
        if not records:
            return 0, 0
        start = self.memory((type(records[0]) * len(records))(*records))
        return start, start + len(records) * ctypes.sizeof(records[0])

    def _pairs(self, words: Sequence[tuple[int, int]]) -> int:
        return self.memory((c_uint64 * max(2 * len(words), 1))(*[part for word in words for part in word]))

    def entry(
        self,
        signature: CallSignature,
        kernel: int,
        arguments: list[Argument],
        around: list[Place],
        apart: list[Apart],
        results: list[made_records.Result],
        steps: Sequence[finishing.Step],
        words: Sequence[outside.Word],
        variables: Sequence[tuple[Any, Any, Any]],
        packed_size: int,
        put_back: Sequence[tuple[int, int]],
    ) -> Entry:
        """The record of the whole; its fields hash, error, found_error, left_to_python, noting, make_again are left empty."""
        words_at = self._pairs(words)
        variables_at = self.object_array([one for variable in variables for one in variable])
        errors_at = self.memory((c_int64 * max(len(signature.errors), 1))(*[16 * number for number in signature.errors]))
        kinds = list(finishing.STEPS)
        records = {"rows": made_records.address_of, "part": made_records.address_of, "entries": column_records.contents}
        records["set attribute"] = lambda builder, kept, _: kept_values.address_of(builder, kept)
        taken = []
        for one in finishing.with_short_ways(steps):
            made = records.get(one.kind)
            constant = self.object(one.object) if made is None else made(self, one.object, signature.results)
            taken.append(Step(kinds.index(one.kind), one.number, constant))
        # The frame: memory of scalar results (16 bytes each, at the front, for alignment), pointers to the data, for each of
        # them a cell for a value that has to be converted, numbers that are parts of arrays, pointers to the memory of the
        # results, the result objects, objects that may stand at several places, what stands at the places of the call, the
        # stack of the steps, what is saved, memory of arrays that are only read.
        sizes = {
            "data": self.pointers,
            "cells": self.pointers,
            "packs": packed_size,
            "memory": len(results),
            "objects": len(results),
            "shared": self.shared_count,
            "places": len(around),
            "stack": finishing.stack_size(steps) if steps else 0,
            "saved": sum([-(-size // 8) for _, size in put_back]),
        }
        offsets, end = {}, 16 * len(results)
        for part, size in sizes.items():
            offsets[part], end = end, end + 8 * size
        end = _put_in_frame(results, signature, {one.number for one in steps if one.kind == "result"}, end)
        tables = {}
        saved = [Saved(address, size) for address, size in put_back]
        for name, records in (("arguments", arguments), ("apart", apart), ("steps", taken), ("put_back", saved)):
            tables[name], tables[f"{name}_end"] = self.table(records)
        return Entry(
            unnamed_count=-1 if signature.keyword_names else len(arguments),
            frame_size=max(end, 16),
            data_offset=offsets["data"],
            cells_distance=offsets["cells"] - offsets["data"],
            memory_offset=offsets["memory"],
            objects_offset=offsets["objects"],
            shared_offset=offsets["shared"],
            shared_count=self.shared_count,
            places_offset=offsets["places"],
            stack_offset=offsets["stack"],
            saved_offset=offsets["saved"],
            places=self.table(around)[0],
            place_count=len(around),
            result_count=len(results),
            results=self.table(results)[0],
            kernel=kernel,
            release_gil=signature.release_gil,
            errors=errors_at,
            errors_end=errors_at + 8 * len(signature.errors),
            is_array_alone=signature.result_structure == "single" and results[0].kind == attempt.RESULT_ARRAY,
            result_structure=RESULT_STRUCTURES.index(signature.result_structure),
            positional_count=len(arguments) - len(signature.keyword_names),
            keyword_count=len(signature.keyword_names),
            keyword_names=self.object_array([sys.intern(name) for name in signature.keyword_names]),
            words=words_at,
            words_end=words_at + 16 * len(words),
            variables=variables_at,
            variables_end=variables_at + 24 * len(variables),
            **tables,
        )


def _put_in_frame(results: Sequence[made_records.Result], signature: CallSignature, seen: set[int], end: int) -> int:
    """Gives the results their places in a frame of this end; returns the new one. seen: those whose objects steps ask for."""
    for number, (record, result) in enumerate(zip(results, signature.results)):
        record.offset = 16 * number
        kind = attempt.IN_FRAME.get(record.kind)
        if kind is not None and number not in seen and signature.result_structure == "steps" and result.nbytes <= MOST_IN_FRAME:
            # As NumPy's memory is, which costs more than all else of a short call.
            record.offset = -(-end // 16) * 16
            record.kind, end = kind, record.offset + result.nbytes
    return end
