"""The records of what a call makes of the memory that its kernel fills: a part of `records`."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Sequence
from ctypes import c_int32, c_int64, c_void_p
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from . import attempt, finishing, rows, texts
from . import object_layout as layout
from .call_signature import PYTHON_RESULTS, ResultSpec

if TYPE_CHECKING:
    from .records import Builder


class Result(ctypes.Structure):
    """What a result is made of. allocate: a function with the type of PyArray_Empty; size: where the size along the first
    dimension stands in the frame; bytes: the size of the contents, or of what lies along the other dimensions; target: the slot
    of the array that is changed; offset: where the memory lies in the frame, of those of which no object is made before.
    """

    _fields_ = [
        ("kind", c_int64),
        ("dtype", c_void_p),
        ("rank", c_int32),
        ("fortran", c_int32),
        ("shape", c_void_p),
        ("allocate", c_void_p),
        ("size", c_int64),
        ("bytes", c_int64),
        ("target", c_int64),
        ("offset", c_int64),
    ]


class Numbers(ctypes.Structure):
    """What `rows.Numbers` says. column: where its address stands among those of the results; stride: the bytes of a row;
    doubles: how many numbers of it become half as long.
    """

    _fields_ = [
        ("column", c_int64),
        ("stride", c_int64),
        ("doubles", c_int64),
        ("made", Result),
    ]


class Part(ctypes.Structure):
    """A part of `rows`. parts: the records of so many parts, or of a leaf's numbers, or of its text, where shared is 1; object:
    that of a container, or the constants of a leaf; codes: or the numbers of shared objects, which are held from the place
    ``shared`` on, counted from the memory of the results; the columns codes, length and start are -8 where there are none. Of a
    text codes are its characters, parts the formats of numbers among these, capacity where it begins if that is known, and
    shared is 1 where its place and its length stand in one column, the start. Of a choice the capacity is 1 where its number
    is a byte.
    """

    _fields_ = [
        ("kind", c_int64),
        ("count", c_int64),
        ("parts", c_void_p),
        ("object", c_void_p),
        ("codes", c_int64),
        ("shared", c_int64),
        ("length", c_int64),
        ("known_length", c_int64),
        ("start", c_int64),
        ("capacity", c_int64),
    ]


class Format(ctypes.Structure):
    """What `texts.NumberFormat` says."""

    _fields_ = [(field.name, c_int64) for field in dataclasses.fields(texts.NumberFormat)]


class Showing(ctypes.Structure):
    """How a number is shown, as `rows.Showing` says; the specification is null where there is none, and the letter 0."""

    _fields_ = [
        ("letter", c_int64),
        ("digits", c_int64),
        ("conversion", c_int64),
        ("specification", c_void_p),
        ("made", Result),
    ]


class Call(ctypes.Structure):
    """A call of a Python function by a program, as `python_calls` has it. operands: `Result` records of the objects.

    results: what becomes of these, as `python_calls` has it, 0 where there are none; bytes: how many an array has. places: of
    how many characters there is room for a text that it returns. Without a function the text of a number is written there:
    operands is a `Showing`.
    """

    _fields_ = [
        ("function", c_void_p),
        ("count", c_int64),
        ("operands", c_void_p),
        ("results", c_int64),
        ("bytes", c_int64),
        ("places", c_int64),
    ]


RECORDS = (Result, Numbers, Part, Format, Showing, Call)


def result_of(builder: Builder, result: ResultSpec, allocate: int) -> Result:
    """The record of a result; allocate is the address of the function for arrays."""
    row = result.nbytes if result.size is None else prod(result.shape[1:]) * result.dtype.itemsize
    return Result(
        kind=_kind(result),
        dtype=builder.dtype(result.dtype),
        rank=len(result.shape),
        fortran=result.order == "F",
        shape=builder.shape(result.shape),
        allocate=allocate,
        size=16 * (result.size or 0),
        bytes=row,
        target=8 * (result.target or 0),
    )


def part_of(builder: Builder, part: rows.Part, results: Sequence[ResultSpec]) -> Part:
    """The record of what is made of rows of results."""
    match part:
        case rows.Leaf(text=texts.Text() as text, codes=codes, constants=constants):
            made = builder.table([_text_of(builder, text)])[0]
            return Part(rows.PART_LEAF, 1, made, builder.object_array(constants), offset_of(codes), shared=1)
        case rows.Leaf(numbers=numbers, codes=codes, constants=constants):
            made = builder.table([numbers_of(builder, one, results) for one in numbers])[0]
            return Part(rows.PART_LEAF, len(numbers), made, builder.object_array(constants), offset_of(codes))
        case rows.Shared(count=count, number=number):
            made = builder.table([part_of(builder, part.part, results)])[0]
            first = builder.shared.setdefault(part.mark, builder.shared_count)
            builder.shared_count = max(builder.shared_count, first + count)
            return Part(rows.PART_SHARED, count, made, codes=offset_of(number), shared=16 * len(results) + 8 * first)
        case rows.Container(kind=kind, parts=parts, object=value):
            code = rows.PART_PIECES if kind == "pieces" else list(finishing.STEPS).index(kind)
            made = builder.table([part_of(builder, one, results) for one in parts])[0]
            return Part(code, len(parts), made, builder.object(value))
        case rows.Rows():
            return Part(
                kind=rows.PART_ROWS,
                parts=builder.table([part_of(builder, part.part, results)])[0],
                length=offset_of(part.length),
                known_length=part.known_length,
                start=offset_of(part.start),
                capacity=part.capacity,
            )
        case texts.Text():
            return _text_of(builder, part)
        case rows.Shown(result=number, showing=showing):
            made = builder.table([_showing_of(builder, *showing)])[0]
            return Part(rows.PART_SHOWN, 1, made, codes=offset_of(number))
        case rows.Choice(number=number, parts=parts, is_flag=is_flag):
            made = builder.table([part_of(builder, one, results) for one in parts])[0]
            return Part(rows.PART_CHOICE, len(parts), made, codes=offset_of(number), capacity=is_flag)


def _text_of(builder: Builder, text: texts.Text) -> Part:
    formats = [Format(*dataclasses.astuple(one)) for one in text.formats]
    return Part(
        kind=rows.PART_TEXT,
        parts=builder.table(formats)[0],
        object=builder.object(text.by_python),
        codes=offset_of(text.characters),
        shared=text.is_pair,
        length=offset_of(text.start if text.is_pair else text.length),
        known_length=text.known_length,
        start=offset_of(text.start),
        capacity=text.known_start,
    )


def address_of(builder: Builder, part: rows.Part, results: Sequence[ResultSpec]) -> int:
    """The address of the record of a part."""
    return builder.table([part_of(builder, part, results)])[0]


def numbers_of(builder: Builder, numbers: rows.Numbers, results: Sequence[ResultSpec]) -> Numbers:
    made, held = of_memory(builder, numbers.kind, numbers.dtype, numbers.shape), results[numbers.result].dtype
    is_narrowed = held.kind in "fc" and held != numbers.dtype
    stride = prod(numbers.shape) * held.itemsize
    return Numbers(offset_of(numbers.result), stride, held.itemsize // 8 if is_narrowed else 0, made)


def of_memory(builder: Builder, kind: str, dtype: np.dtype, shape: tuple[int, ...]) -> Result:
    """The record of an object that is made of memory: a "number", a "scalar" or an "array"."""
    spec = ResultSpec(dtype, shape, form="python" if kind == "number" else "new")
    made = result_of(builder, spec, layout.numpy_api_address("PyArray_Empty"))
    if kind == "array":  # without dimensions, too
        made.kind = attempt.RESULT_ARRAY
    return made


def call_of(
    builder: Builder,
    function: object,
    operands: Sequence[tuple[str, np.dtype, tuple[int, ...]]],
    results: int,
    places: int = 0,
) -> Call:
    """The record of a call. operands: whether a "number", a "scalar" or an "array" is made of each, its dtype and shape."""
    made = [of_memory(builder, *one) for one in operands]
    return Call(builder.object(function), len(made), builder.table(made)[0], results, places=places)


def showing_of(builder: Builder, showing: rows.Showing, places: int) -> Call:
    """The record of what writes the text of a number."""
    return Call(None, 0, builder.table([_showing_of(builder, *showing)])[0], places=places)


def _showing_of(
    builder: Builder, conversion: int, specification: str, kind: str, dtype: np.dtype, form: tuple[str, int] | None
) -> Showing:
    given = builder.object(specification) if specification else None
    letter, digits = (0, 0) if form is None else (ord(form[0]), form[1])
    return Showing(letter, digits, conversion, given, of_memory(builder, kind, dtype, ()))


def offset_of(number: int | None) -> int:
    """Where the address of a result, or of data, stands."""
    return -8 if number is None else 8 * number


def _kind(result: ResultSpec) -> int:
    """What native code does about a result."""
    if result.form == "python":
        return attempt.PYTHON_NUMBERS[PYTHON_RESULTS.index(result.dtype)]
    if result.form in ("in place", "hidden"):
        return attempt.RESULT_HIDDEN
    if result.form == "contents":
        return attempt.RESULT_ARRAY_CONTENTS if result.shape else attempt.RESULT_SCALAR_CONTENTS
    if result.size is not None:
        return attempt.RESULT_SIZED_ARRAY
    return attempt.RESULT_ARRAY if result.shape else attempt.RESULT_SCALAR
