"""Lists that a call makes of columns, a row for each element, as many as the program says: a part of `entry_code`'s code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# An element has no more leaves.
MOST_LEAVES = 32


@dataclass(frozen=True, slots=True)
class RowLeaf:
    """One leaf of each element: a row of the results ``numbers`` and ``codes``; None where there is no such column.

    kind: what is made of a row of numbers, a "number" of Python's or a "scalar". A code is the number of one of the constants,
    and before these, where there are numbers, 0 stands for the number.
    """

    numbers: int | None
    kind: str
    codes: int | None
    constants: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Elements of a list: single leaves, or tuples of them.

    length: the number of a hidden s64 result, or None where there are ``known_length`` elements. start: that of the first row,
    None for row 0; behind the row of the capacity comes row 0.
    """

    leaves: tuple[RowLeaf, ...]
    is_tuple: bool
    length: int | None
    known_length: int
    start: int | None
    capacity: int


# In the form of `entry_code`'s.
FUNCTIONS = ("PyList_Append",)

ASSEMBLY = """
; Appends elements to a list, as `Rows` says; whether that was possible, otherwise an exception is set.
define internal i1 @append_rows(ptr %entry, ptr %rows, ptr %frame, ptr %list) {
start:
  %objects = alloca [MOST_LEAVES x ptr], align 8
  %memory_offset = field i64 %entry, Entry_memory_offset
  %memory = getelementptr i8, ptr %frame, i64 %memory_offset
  %known_length = field i64 %rows, Rows_known_length
  %length_offset = field i64 %rows, Rows_length
  %start_offset = field i64 %rows, Rows_start
  %capacity = field i64 %rows, Rows_capacity
  %leaves = field ptr %rows, Rows_leaves
  %count = field i64 %rows, Rows_count
  %is_tuple = field i64 %rows, Rows_is_tuple
  %length = call i64 @number_in(ptr %memory, i64 %length_offset, i64 %known_length)
  %first_row = call i64 @number_in(ptr %memory, i64 %start_offset, i64 0)
  br label %next
next:
  %element = phi i64 [ 0, %start ], [ %element_after, %drop_element ]
  %done = icmp sge i64 %element, %length
  br i1 %done, label %yes, label %find_row
find_row:
  %moved = add i64 %first_row, %element
  %is_around = icmp sge i64 %moved, %capacity
  %around = sub i64 %moved, %capacity
  %row = select i1 %is_around, i64 %around, i64 %moved
  br label %next_leaf
next_leaf:
  %leaf = phi i64 [ 0, %find_row ], [ %leaf_after, %made ]
  %record = phi ptr [ %leaves, %find_row ], [ %record_after, %made ]
  %are_made = icmp eq i64 %leaf, %count
  br i1 %are_made, label %put_together, label %make
make:
  %object = call ptr @leaf_in_row(ptr %record, ptr %memory, i64 %row)
  %no_object = icmp eq ptr %object, null
  br i1 %no_object, label %failed, label %made
made:
  %object_at = getelementptr [MOST_LEAVES x ptr], ptr %objects, i64 0, i64 %leaf
  store ptr %object, ptr %object_at
  %leaf_after = add i64 %leaf, 1
  %record_after = getelementptr i8, ptr %record, i64 Leaf_SIZE
  br label %next_leaf
put_together:
  %is_leaf = icmp eq i64 %is_tuple, 0
  br i1 %is_leaf, label %take_leaf, label %make_tuple
take_leaf:
  %alone = load ptr, ptr %objects
  br label %append
make_tuple:
  ; The collector must not see one with empty places: nothing is called before it is filled.
  %new_tuple = load ptr, ptr @PyTuple_New
  %tuple = call ptr %new_tuple(i64 %count)
  %no_tuple = icmp eq ptr %tuple, null
  br i1 %no_tuple, label %failed, label %fill
fill:
  %items = getelementptr i8, ptr %tuple, i64 TUPLE_ITEMS
  %size = shl i64 %count, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %items, ptr %objects, i64 %size, i1 false)
  br label %append
append:
  %value = phi ptr [ %alone, %take_leaf ], [ %tuple, %fill ]
  %append_to = load ptr, ptr @PyList_Append
  %not_appended = call i32 %append_to(ptr %list, ptr %value)
  %is_appended = icmp eq i32 %not_appended, 0
  br label %drop_element
drop_element:
  call void @drop(ptr %value)
  %element_after = add i64 %element, 1
  br i1 %is_appended, label %next, label %no
failed:
  %held = phi i64 [ %leaf, %make ], [ %count, %make_tuple ]
  call void @drop_all(ptr %objects, i64 %held)
  br label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; The s64 of a result whose address stands in memory at this offset; where that is negative another number.
define internal i64 @number_in(ptr %memory, i64 %offset, i64 %otherwise) {
  %is_known = icmp slt i64 %offset, 0
  br i1 %is_known, label %known, label %read
known:
  ret i64 %otherwise
read:
  %address_at = getelementptr i8, ptr %memory, i64 %offset
  %address = load ptr, ptr %address_at
  %number = load i64, ptr %address
  ret i64 %number
}

; The object of a leaf in a row of its columns, or NULL with an exception set.
define internal ptr @leaf_in_row(ptr %leaf, ptr %memory, i64 %row) {
  %codes_offset = field i64 %leaf, Leaf_codes
  %numbers_offset = field i64 %leaf, Leaf_numbers
  %constants = field ptr %leaf, Leaf_constants
  %has_no_codes = icmp slt i64 %codes_offset, 0
  %has_no_numbers = icmp slt i64 %numbers_offset, 0
  br i1 %has_no_codes, label %choose, label %read_code
read_code:
  %codes_at = getelementptr i8, ptr %memory, i64 %codes_offset
  %codes = load ptr, ptr %codes_at
  %code_at = getelementptr i32, ptr %codes, i64 %row
  %narrow_code = load i32, ptr %code_at
  %code_in_row = sext i32 %narrow_code to i64
  br label %choose
choose:
  %code = phi i64 [ 0, %0 ], [ %code_in_row, %read_code ]
  %is_first = icmp eq i64 %code, 0
  %are_numbers = xor i1 %has_no_numbers, true
  %is_number = and i1 %is_first, %are_numbers
  br i1 %is_number, label %number, label %constant
constant:
  %constant_at = getelementptr ptr, ptr %constants, i64 %code
  %held = load ptr, ptr %constant_at
  call void @retain(ptr %held)
  ret ptr %held
number:
  %kind = field i64 %leaf, Leaf_kind
  %size = field i64 %leaf, Leaf_size
  %dtype = field ptr %leaf, Leaf_dtype
  %numbers_at = getelementptr i8, ptr %memory, i64 %numbers_offset
  %numbers = load ptr, ptr %numbers_at
  %offset = mul i64 %row, %size
  %value_at = getelementptr i8, ptr %numbers, i64 %offset
  %is_scalar = icmp eq i64 %kind, RESULT_SCALAR
  br i1 %is_scalar, label %scalar, label %python
scalar:
  %make_scalar = load ptr, ptr @PyArray_Scalar
  %made_scalar = call ptr %make_scalar(ptr %value_at, ptr %dtype, ptr null)
  ret ptr %made_scalar
python:
  %made_number = call ptr @python_number(i64 %kind, ptr %value_at)
  ret ptr %made_number
}
"""
