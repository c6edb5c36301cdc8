"""Finding the entry of a call among many: by a hash of the dimensions of its array arguments.

The entries of an instance are a tuple: a table, then of each entry the record and what it refers to, the latest one last. With
few entries the table is empty, and native code tries all, from the last to the first; with more it tries those that the table
has under the hash of the call, the latest one first, too: where a size has been outgrown an earlier one fits the same calls,
and would run in vain. An entry that fits has this hash: its guards ask for exactly these dimensions.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .call_signature import ArrayGuard, CallSignature, StaticGuard

# So many are tried one after another.
_FEW = 4

HASH_MULTIPLIER = 0x9E3779B97F4A7C15 - 2**64  # 2**64 divided by the golden ratio: neighbours come to lie far apart
_WORD = 2**64 - 1
_EMPTY = -1


class Table(ctypes.Structure):
    """What stands before the slots, each of which is the position of a record in the tuple, or -1.

    mask: the number of slots minus 1, or -1 where there are none; array_type: ``numpy.ndarray``.
    """

    _fields_ = [("mask", ctypes.c_int64), ("array_type", ctypes.c_void_p)]


def hash_of(signature: CallSignature, statics: Sequence[object]) -> int:
    """The hash of the calls that fit, as the native ``hash_of_call`` computes it."""
    value, static_objects = 0, iter(statics)
    for guard in signature.arguments:
        static = next(static_objects) if isinstance(guard, StaticGuard) else None
        if isinstance(guard, ArrayGuard) or type(static) is np.ndarray:
            shape = guard.shape if isinstance(guard, ArrayGuard) else static.shape
            for part in (*shape, len(shape)):
                value = (value ^ part) * HASH_MULTIPLIER & _WORD
                value ^= value >> 32
    return value


def with_entry(entries: tuple[Any, ...], record: bytes, references: object, hash_in: Callable[[bytes], int]) -> tuple[Any, ...]:
    """The entries of an instance, and another one; ``hash_in`` tells the hash that a record holds."""
    table = entries[0] if entries else _table(())
    added = (*entries[1:], record, references)
    position = len(added) - 1  # the table is the first item
    if len(added) <= 2 * _FEW:
        return table, *added
    slots = np.frombuffer(table, np.int64, offset=ctypes.sizeof(Table)).copy()
    if len(added) > len(slots):  # at most half of the slots are taken
        slots = np.full(1 << (2 * len(added) - 1).bit_length(), _EMPTY)
        for number in range(0, len(added) - 2, 2):
            _fill(slots, hash_in(added[number]), number + 1)
    _fill(slots, hash_in(record), position)
    return _table(slots), *added


def _fill(slots: np.ndarray, value: int, position: int) -> None:
    """Put a position in front of those with this hash: what it meets moves one slot further."""
    slot = value & (len(slots) - 1)
    while position != _EMPTY:
        slots[slot], position = position, slots[slot]
        slot = (slot + 1) & (len(slots) - 1)


def _table(slots: Sequence[int]) -> bytes:
    return bytes(Table(len(slots) - 1, id(np.ndarray))) + np.asarray(slots, np.int64).tobytes()


ASSEMBLY = """
; A hash of the dimensions of the arguments that are arrays.
define internal i64 @hash_of_call(ptr %table, ptr %args, i64 %nargsf, ptr %names) {
first:
  %positional = and i64 %nargsf, 9223372036854775807
  %no_names = icmp eq ptr %names, null
  br i1 %no_names, label %start, label %with_names
with_names:
  %name_count = field i64 %names, TUPLE_SIZE
  br label %start
start:
  %more = phi i64 [ 0, %first ], [ %name_count, %with_names ]
  %count = add i64 %positional, %more
  %array_type = field ptr %table, Table_array_type
  br label %next_argument
next_argument:
  %argument = phi i64 [ 0, %start ], [ %argument_after, %argument_done ]
  %value = phi i64 [ 0, %start ], [ %value_after, %argument_done ]
  %done = icmp eq i64 %argument, %count
  br i1 %done, label %all, label %check_type
check_type:
  %object_at = getelementptr ptr, ptr %args, i64 %argument
  %object = load ptr, ptr %object_at
  %type = field ptr %object, OBJECT_TYPE
  %is_array = icmp eq ptr %type, %array_type
  br i1 %is_array, label %array, label %argument_done
array:
  %rank = field i32 %object, ARRAY_RANK
  %end = zext i32 %rank to i64
  %dimensions = field ptr %object, ARRAY_DIMENSIONS
  br label %next_size
next_size:
  %axis = phi i64 [ 0, %array ], [ %axis_after, %mix ]
  %mixed = phi i64 [ %value, %array ], [ %mixed_after, %mix ]
  %is_rank = icmp eq i64 %axis, %end
  br i1 %is_rank, label %mix, label %load_size
load_size:
  %size_at = getelementptr i64, ptr %dimensions, i64 %axis
  %size = load i64, ptr %size_at
  br label %mix
mix:
  ; The rank comes last.
  %part = phi i64 [ %end, %next_size ], [ %size, %load_size ]
  %combined = xor i64 %mixed, %part
  %product = mul i64 %combined, HASH_MULTIPLIER
  %high = lshr i64 %product, 32
  %mixed_after = xor i64 %product, %high
  %axis_after = add i64 %axis, 1
  br i1 %is_rank, label %argument_done, label %next_size
argument_done:
  %value_after = phi i64 [ %value, %check_type ], [ %mixed_after, %mix ]
  %argument_after = add i64 %argument, 1
  br label %next_argument
all:
  ret i64 %value
}
"""
