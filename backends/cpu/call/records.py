"""The records that the native code of `entry_code` reads: an entry, its argument guards and its results."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from ctypes import c_int32, c_int64, c_uint64, c_void_p

import numpy as np

from . import entry_code, lookup, outside, vectorcall_type
from . import object_layout as layout
from .call_signature import (
    RESULT_STRUCTURES,
    ArgumentGuard,
    ArgumentResult,
    ArrayGuard,
    CallSignature,
    NumPyScalarGuard,
    PythonScalarGuard,
    ResultSpec,
)


class Argument(ctypes.Structure):
    """A guard. expected: the object's type, or a static object; captured: the captured array of a hidden argument."""

    _fields_ = [
        ("kind", c_int64),
        ("expected", c_void_p),
        ("flags", c_int32),
        ("rank", c_int32),
        ("dtype", c_void_p),
        ("shape", c_void_p),
        ("captured", c_void_p),
        ("least", c_int64),
        ("greatest", c_int64),
    ]


class Result(ctypes.Structure):
    """What a result is made of. allocate: a function with the type of PyArray_Empty; argument: the position of the argument."""

    _fields_ = [
        ("kind", c_int64),
        ("dtype", c_void_p),
        ("rank", c_int32),
        ("fortran", c_int32),
        ("shape", c_void_p),
        ("allocate", c_void_p),
        ("argument", c_int64),
    ]


class Entry(ctypes.Structure):
    """One signature: what to accept, the kernel, what to return, and the division of the frame of a call.

    hash: of the calls that fit, as `lookup` tells. unnamed_count: the number of arguments of a call without keyword names, -1
    if the signature has names. The guards of the arguments end where those of the captures start. error_code_offset: where in
    the frame the last result lies, an error code, -1 where there is none; returned_count: the results without it.
    is_array_alone: whether the result is one new array. words: what has to stand outside, as `outside` tells.
    """

    _fields_ = [
        ("hash", c_uint64),
        ("unnamed_count", c_int64),
        ("arguments", c_void_p),
        ("captures", c_void_p),
        ("captures_end", c_void_p),
        ("frame_size", c_int64),
        ("data_offset", c_int64),
        ("cells_distance", c_int64),
        ("memory_offset", c_int64),
        ("objects_offset", c_int64),
        ("result_count", c_int64),
        ("returned_count", c_int64),
        ("error_code_offset", c_int64),
        ("results", c_void_p),
        ("kernel", c_void_p),
        ("release_gil", c_int64),
        ("is_array_alone", c_int64),
        ("result_structure", c_int64),
        ("structure", c_void_p),
        ("error", c_void_p),
        ("positional_count", c_int64),
        ("keyword_count", c_int64),
        ("keyword_names", c_void_p),
        ("words", c_void_p),
        ("words_end", c_void_p),
    ]


def names() -> dict[str, int]:
    """The offsets and constants that the assembly of `entry_code` names."""
    values = {
        f"{record.__name__}_{field[0]}": getattr(record, field[0]).offset
        for record in (Entry, Argument, Result, lookup.Table)
        for field in record._fields_
    }
    values |= {f"{record.__name__}_SIZE": ctypes.sizeof(record) for record in (Argument, Result, lookup.Table)}
    for module in (layout, entry_code, lookup, vectorcall_type):
        values |= {name: value for name, value in vars(module).items() if name.isupper() and isinstance(value, int)}
    return values


class Builder:
    """Builds the records of one entry and keeps what they point to: every address is that of an object in `references`."""

    def __init__(self) -> None:
        self.references: list[object] = []

    def object(self, value: object) -> int:
        """The address of a Python object, kept alive."""
        self.references.append(value)
        return id(value)

    def memory(self, value: ctypes.Array) -> int:
        """The address of a copy of C data that nothing can change, kept alive."""
        return self.object(bytes(value)) + layout.BYTES_DATA

    def object_array(self, values: list[str]) -> int:
        """The address of an array of pointers to Python objects, all kept alive."""
        return self.memory((c_void_p * len(values))(*map(self.object, values)))

    def shape(self, shape: tuple[int, ...]) -> int:
        """The address of the dimensions as npy_intp."""
        return self.memory((c_int64 * max(len(shape), 1))(*shape))

    def dtype(self, dtype: np.dtype) -> int:
        """The address of the descriptor that arrays of this dtype share, which an unpickled dtype is not."""
        return self.object(np.dtype(dtype.type) if dtype.num >= 256 else np.dtype(dtype.char))

    def argument(self, guard: ArgumentGuard, static: object) -> Argument:
        """The record of a guard; static is the object of a StaticGuard."""
        match guard:
            case ArrayGuard():
                return self.array(guard)
            case NumPyScalarGuard(dtype=dtype):
                return Argument(kind=entry_code.ARGUMENT_INLINE, expected=self.object(dtype.type))
            case PythonScalarGuard(type=kind, least=least, greatest=greatest):
                kinds = {int: entry_code.ARGUMENT_INTEGER, bool: entry_code.ARGUMENT_BOOL}
                code = kinds.get(kind, entry_code.ARGUMENT_INLINE)
                return Argument(kind=code, expected=self.object(kind), least=least, greatest=greatest)
        return Argument(kind=entry_code.ARGUMENT_STATIC, expected=self.object(static))

    def array(self, guard: ArrayGuard, captured: np.ndarray | None = None) -> Argument:
        """The record of an array argument, or of a captured array."""
        order = layout.C_CONTIGUOUS if guard.order == "C" else layout.F_CONTIGUOUS
        return Argument(
            kind=entry_code.ARGUMENT_ARRAY,
            expected=self.object(np.ndarray),
            flags=layout.ALIGNED | order | (layout.WRITEABLE if guard.writeable else 0),
            rank=len(guard.shape),
            dtype=self.dtype(guard.dtype),
            shape=self.shape(guard.shape),
            captured=None if captured is None else self.object(captured),
        )

    def error_code(self) -> Result:
        """The record of the last result, where the signature has an error code."""
        return Result(kind=entry_code.RESULT_ERROR_CODE)

    def result(self, result: ResultSpec | ArgumentResult, allocate: int) -> Result:
        """The record of a result; allocate is the address of the function for arrays."""
        if isinstance(result, ArgumentResult):
            return Result(kind=entry_code.RESULT_ARGUMENT, argument=result.index)
        return Result(
            kind=entry_code.RESULT_ARRAY if result.shape else entry_code.RESULT_SCALAR,
            dtype=self.dtype(result.dtype),
            rank=len(result.shape),
            fortran=result.order == "F",
            shape=self.shape(result.shape),
            allocate=allocate,
        )

    def entry(
        self,
        signature: CallSignature,
        kernel: int,
        arguments: list[Argument],
        captures: list[Argument],
        results: list[Result],
        words: Sequence[outside.Word],
    ) -> Entry:
        """The record of the whole; its fields structure and error are left empty."""
        guards = self.memory((Argument * (len(arguments) + len(captures)))(*arguments, *captures))
        captures_at = guards + len(arguments) * ctypes.sizeof(Argument)
        # The frame: memory of scalar results (16 bytes each, at the front, for alignment), pointers to the data, for each of
        # them a cell for a value that has to be converted, pointers to the memory of the results, the result objects.
        words_at = self.memory((c_uint64 * max(2 * len(words), 1))(*[part for word in words for part in word]))
        data_offset = 16 * len(results)
        data_size = 8 * (len(arguments) + len(captures))
        memory_offset = data_offset + 2 * data_size
        objects_offset = memory_offset + 8 * len(results)
        return Entry(
            unnamed_count=-1 if signature.keyword_names else len(arguments),
            arguments=guards,
            captures=captures_at,
            captures_end=captures_at + len(captures) * ctypes.sizeof(Argument),
            frame_size=max(objects_offset + 8 * len(results), 16),
            data_offset=data_offset,
            cells_distance=data_size,
            memory_offset=memory_offset,
            objects_offset=objects_offset,
            result_count=len(results),
            returned_count=len(results) - signature.has_error_code,
            error_code_offset=16 * (len(results) - 1) if signature.has_error_code else -1,
            results=self.memory((Result * len(results))(*results)),
            kernel=kernel,
            release_gil=signature.release_gil,
            is_array_alone=signature.result_structure == "single" and results[0].kind == entry_code.RESULT_ARRAY,
            result_structure=RESULT_STRUCTURES.index(signature.result_structure),
            positional_count=len(arguments) - len(signature.keyword_names),
            keyword_count=len(signature.keyword_names),
            keyword_names=self.object_array([sys.intern(name) for name in signature.keyword_names]),
            words=words_at,
            words_end=words_at + 16 * len(words),
        )
