"""Lists that a call makes of columns, a row for each element, and what is in them: a part of `entry_code`'s code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .texts import Text

# Of the kinds of parts, those of containers are steps' (`finishing.STEPS`).
PART_LEAF, PART_PIECES, PART_ROWS, PART_SHARED, PART_TEXT, PART_CHOICE, PART_SHOWN = range(-7, 0)


@dataclass(frozen=True, slots=True)
class Numbers:
    """A column, a result by its number, and what is made of a row of it: a "number" of Python's, a "scalar", or an "array".

    dtype: of what is made; a column of f64 or c128 may hold numbers of half the size. shape: of an array.
    """

    result: int
    kind: str
    dtype: np.dtype
    shape: tuple[int, ...] = ()


# How a number is shown: the conversion, the specification, what it is, a "number" or a "scalar" of a dtype, and, of floats that
# PyOS_double_to_string shows, its letter and the digits behind the point, else None.
Showing = tuple[int, str, str, np.dtype, tuple[str, int] | None]


@dataclass(frozen=True, slots=True)
class Shown:
    """The text of a number, a result."""

    result: int
    showing: Showing


@dataclass(frozen=True, slots=True)
class Leaf:
    """A number, or a text, or one of the constants. The row of the result ``codes`` says which: the columns of numbers come
    first, or the text."""

    numbers: tuple[Numbers, ...]
    codes: int | None = None
    constants: tuple[Any, ...] = ()
    text: Text | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Container:
    """A "tuple", "list" or "dict" of parts, with the keys in the tuple ``object``; "call": what ``object`` returns for them;
    "attributes": what the first of ``object`` returns, with attributes of the names behind it.

    "pieces": a list of parts, and of the elements of those that are `Rows`.
    """

    kind: str
    parts: tuple[Part, ...]
    object: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Elements of a list, which are rows of columns.

    length: the number of an s64 result, or None where there are ``known_length`` elements. start: that of the first row, None
    for row 0; behind the row of the capacity comes row 0. Of lists in a list these are columns, too, and each row of the list
    has one more than the capacity in the columns of their elements.
    """

    part: Part
    length: int | None
    known_length: int
    start: int | None
    capacity: int


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """One of ``count`` objects, each of which a call makes once, wherever it stands: of ``part``, in the row of its number.

    number: of an s64 result. mark: what the parts have in common that are made of the same objects.
    """

    mark: Any
    count: int
    number: int
    part: Part


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One of the parts, that whose number an s64 result is; of two parts it ``is_flag`` where a byte is."""

    number: int
    parts: tuple[Part, ...]
    is_flag: bool = False


Part = Leaf | Container | Rows | Shared | Text | Choice | Shown


def room(part: Part) -> int:
    """How many objects are held while a part is made."""
    match part:
        case Container(kind="pieces", parts=parts):
            return max(map(room, parts), default=0)
        case Container(parts=parts):
            return len(parts) + max(map(room, parts), default=0)
        case Rows(part=one) | Shared(part=one):
            return room(one)
        case Choice(parts=parts):
            return max(map(room, parts))
    return 0


# In the form of `entry_code`'s.
FUNCTIONS = ("PyList_Append",)

ASSEMBLY = """
; The object of a part in a row of its columns, or NULL with an exception set. stack: there is `room` for objects.
define internal ptr @part_in_row(ptr %part, ptr %memory, i64 %row, ptr %stack) {
start:
  %kind = field i64 %part, Part_kind
  %count = field i64 %part, Part_count
  %parts = field ptr %part, Part_parts
  %object = field ptr %part, Part_object
  %rest = getelementptr ptr, ptr %stack, i64 %count
  switch i64 %kind, label %next [ i64 PART_LEAF, label %leaf
                                  i64 PART_PIECES, label %new_list
                                  i64 PART_SHARED, label %shared
                                  i64 PART_TEXT, label %text
                                  i64 PART_SHOWN, label %shown_number
                                  i64 PART_CHOICE, label %choice ]
shown_number:
  %shown_place_offset = field i64 %part, Part_codes
  %shown_place = getelementptr i8, ptr %memory, i64 %shown_place_offset
  %shown_at = load ptr, ptr %shown_place
  %shown = tail call ptr @shown(ptr %parts, ptr %shown_at)
  ret ptr %shown
choice:
  %chosen_part = call ptr @chosen_part(ptr %part, ptr %memory)
  %chosen = tail call ptr @part_in_row(ptr %chosen_part, ptr %memory, i64 %row, ptr %stack)
  ret ptr %chosen
text:
  %made_text = tail call ptr @text_in_row(ptr %part, ptr %memory, i64 %row)
  ret ptr %made_text
leaf:
  %made_leaf = tail call ptr @leaf_in_row(ptr %part, ptr %memory, i64 %row)
  ret ptr %made_leaf
next:
  %index = phi i64 [ 0, %start ], [ %index_after, %made ]
  %at = phi ptr [ %parts, %start ], [ %at_after, %made ]
  %are_made = icmp eq i64 %index, %count
  br i1 %are_made, label %put_together, label %make
make:
  %one = call ptr @part_in_row(ptr %at, ptr %memory, i64 %row, ptr %rest)
  %no_object = icmp eq ptr %one, null
  br i1 %no_object, label %failed, label %made
made:
  %one_at = getelementptr ptr, ptr %stack, i64 %index
  store ptr %one, ptr %one_at
  %index_after = add i64 %index, 1
  %at_after = getelementptr i8, ptr %at, i64 Part_SIZE
  br label %next
put_together:
  %container = call ptr @put_together(i64 %kind, ptr %object, ptr %stack, i64 %count)
  %no_container = icmp eq ptr %container, null
  br i1 %no_container, label %failed, label %complete
complete:
  ret ptr %container
failed:
  %held = phi i64 [ %index, %make ], [ %count, %put_together ]
  call void @drop_all(ptr %stack, i64 %held)
  ret ptr null

shared:
  %number_offset = field i64 %part, Part_codes
  %number = call i64 @number_in(ptr %memory, i64 %number_offset, i64 %row, i64 0)
  %last = sub i64 %count, 1
  %is_inside = icmp ult i64 %number, %count
  %number_inside = select i1 %is_inside, i64 %number, i64 %last
  %offset = field i64 %part, Part_shared
  %made_before = getelementptr i8, ptr %memory, i64 %offset
  %made_at = getelementptr ptr, ptr %made_before, i64 %number_inside
  %known = load ptr, ptr %made_at
  %is_new = icmp eq ptr %known, null
  br i1 %is_new, label %make_shared, label %share
make_shared:
  %new = call ptr @part_in_row(ptr %parts, ptr %memory, i64 %number_inside, ptr %stack)
  store ptr %new, ptr %made_at
  %is_not_made = icmp eq ptr %new, null
  br i1 %is_not_made, label %none, label %share
share:
  %one_of_them = phi ptr [ %known, %shared ], [ %new, %make_shared ]
  call void @retain(ptr %one_of_them)
  ret ptr %one_of_them

new_list:
  %make_list = load ptr, ptr @PyList_New
  %list = call ptr %make_list(i64 0)
  %no_list = icmp eq ptr %list, null
  br i1 %no_list, label %none, label %next_piece
next_piece:
  %piece = phi i64 [ 0, %new_list ], [ %piece_after, %extend ], [ %piece_after, %append ]
  %piece_at = phi ptr [ %parts, %new_list ], [ %piece_at_after, %extend ], [ %piece_at_after, %append ]
  %all_pieces = icmp eq i64 %piece, %count
  br i1 %all_pieces, label %whole_list, label %look
whole_list:
  ret ptr %list
look:
  %piece_after = add i64 %piece, 1
  %piece_at_after = getelementptr i8, ptr %piece_at, i64 Part_SIZE
  %piece_kind = field i64 %piece_at, Part_kind
  %are_rows = icmp eq i64 %piece_kind, PART_ROWS
  br i1 %are_rows, label %extend, label %append
extend:
  %is_extended = call i1 @append_rows(ptr %piece_at, ptr %memory, i64 %row, ptr %list, ptr %stack)
  br i1 %is_extended, label %next_piece, label %drop_list
append:
  %is_appended = call i1 @append_part(ptr %piece_at, ptr %memory, i64 %row, ptr %list, ptr %stack)
  br i1 %is_appended, label %next_piece, label %drop_list
drop_list:
  call void @drop(ptr %list)
  br label %none
none:
  ret ptr null
}

; The part that a choice is.
define internal ptr @chosen_part(ptr %part, ptr %memory) {
start:
  %count = field i64 %part, Part_count
  %parts = field ptr %part, Part_parts
  %offset = field i64 %part, Part_codes
  %is_flag = field i64 %part, Part_capacity
  %number_place = getelementptr i8, ptr %memory, i64 %offset
  %number_at = load ptr, ptr %number_place
  %is_wide = icmp eq i64 %is_flag, 0
  br i1 %is_wide, label %number, label %flag
number:
  %whole = load i64, ptr %number_at
  br label %found
flag:
  %byte = load i8, ptr %number_at
  %is_set = icmp ne i8 %byte, 0
  %as_number = zext i1 %is_set to i64
  br label %found
found:
  %given = phi i64 [ %whole, %number ], [ %as_number, %flag ]
  %last = sub i64 %count, 1
  %is_inside = icmp ult i64 %given, %count
  %inside = select i1 %is_inside, i64 %given, i64 %last
  %distance = mul i64 %inside, Part_SIZE
  %chosen = getelementptr i8, ptr %parts, i64 %distance
  ret ptr %chosen
}

; Appends the object of a part to a list; whether that was possible, otherwise an exception is set.
define internal i1 @append_part(ptr %part, ptr %memory, i64 %row, ptr %list, ptr %stack) alwaysinline {
  %object = call ptr @part_in_row(ptr %part, ptr %memory, i64 %row, ptr %stack)
  %no_object = icmp eq ptr %object, null
  br i1 %no_object, label %no, label %append
append:
  %append_to = load ptr, ptr @PyList_Append
  %not_appended = call i32 %append_to(ptr %list, ptr %object)
  call void @drop(ptr %object)
  %is_appended = icmp eq i32 %not_appended, 0
  ret i1 %is_appended
no:
  ret i1 false
}

; Appends elements to a list, as `Rows` says, which is in this row of others; as @append_part.
define internal i1 @append_rows(ptr %rows, ptr %memory, i64 %row, ptr %list, ptr %stack) {
start:
  %part = field ptr %rows, Part_parts
  %known_length = field i64 %rows, Part_known_length
  %length_offset = field i64 %rows, Part_length
  %start_offset = field i64 %rows, Part_start
  %capacity = field i64 %rows, Part_capacity
  %length = call i64 @number_in(ptr %memory, i64 %length_offset, i64 %row, i64 %known_length)
  %first_row = call i64 @number_in(ptr %memory, i64 %start_offset, i64 %row, i64 0)
  %rows_in_all = add i64 %capacity, 1
  %base = mul i64 %row, %rows_in_all
  br label %next
next:
  %element = phi i64 [ 0, %start ], [ %element_after, %append ]
  %done = icmp sge i64 %element, %length
  br i1 %done, label %yes, label %append
append:
  %moved = add i64 %first_row, %element
  %is_around = icmp sge i64 %moved, %capacity
  %around = sub i64 %moved, %capacity
  %row_in_list = select i1 %is_around, i64 %around, i64 %moved
  %row_of_element = add i64 %base, %row_in_list
  %element_after = add i64 %element, 1
  %is_appended = call i1 @append_part(ptr %part, ptr %memory, i64 %row_of_element, ptr %list, ptr %stack)
  br i1 %is_appended, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; The s64 in a row of a result whose address stands in memory at this offset; where that is negative another number.
define internal i64 @number_in(ptr %memory, i64 %offset, i64 %row, i64 %otherwise) alwaysinline {
  %is_known = icmp slt i64 %offset, 0
  br i1 %is_known, label %known, label %read
known:
  ret i64 %otherwise
read:
  %address_at = getelementptr i8, ptr %memory, i64 %offset
  %address = load ptr, ptr %address_at
  %number_at = getelementptr i64, ptr %address, i64 %row
  %number = load i64, ptr %number_at
  ret i64 %number
}

; Where the numbers of a row of a column lie.
define internal ptr @numbers_at(ptr %numbers, ptr %memory, i64 %row) alwaysinline {
  %column_offset = field i64 %numbers, Numbers_column
  %stride = field i64 %numbers, Numbers_stride
  %column_at = getelementptr i8, ptr %memory, i64 %column_offset
  %column = load ptr, ptr %column_at
  %offset = mul i64 %row, %stride
  %at = getelementptr i8, ptr %column, i64 %offset
  ret ptr %at
}

; The object of a leaf in a row of its columns, or NULL with an exception set.
define internal ptr @leaf_in_row(ptr %leaf, ptr %memory, i64 %row) alwaysinline {
start:
  %narrow = alloca [2 x float], align 8
  %codes_offset = field i64 %leaf, Part_codes
  %count = field i64 %leaf, Part_count
  %numbers_of_leaf = field ptr %leaf, Part_parts
  %constants = field ptr %leaf, Part_object
  %has_no_codes = icmp slt i64 %codes_offset, 0
  br i1 %has_no_codes, label %choose, label %read_code
read_code:
  %codes_at = getelementptr i8, ptr %memory, i64 %codes_offset
  %codes = load ptr, ptr %codes_at
  %code_at = getelementptr i32, ptr %codes, i64 %row
  %narrow_code = load i32, ptr %code_at
  %code_in_row = sext i32 %narrow_code to i64
  br label %choose
choose:
  %code = phi i64 [ 0, %start ], [ %code_in_row, %read_code ]
  %is_number = icmp slt i64 %code, %count
  br i1 %is_number, label %number, label %constant
constant:
  %place = sub i64 %code, %count
  %constant_at = getelementptr ptr, ptr %constants, i64 %place
  %held = load ptr, ptr %constant_at
  call void @retain(ptr %held)
  ret ptr %held
number:
  %has_text = field i64 %leaf, Part_shared
  %is_text = icmp ne i64 %has_text, 0
  br i1 %is_text, label %text, label %choose_number
text:
  %made_text = tail call ptr @text_in_row(ptr %numbers_of_leaf, ptr %memory, i64 %row)
  ret ptr %made_text
choose_number:
  %numbers_offset = mul i64 %code, Numbers_SIZE
  %numbers = getelementptr i8, ptr %numbers_of_leaf, i64 %numbers_offset
  %value_at = call ptr @numbers_at(ptr %numbers, ptr %memory, i64 %row)
  %record = getelementptr i8, ptr %numbers, i64 Numbers_made
  %doubles = field i64 %numbers, Numbers_doubles
  switch i64 %doubles, label %both [ i64 0, label %make
                                     i64 1, label %real ]
both:
  %second_at = getelementptr double, ptr %value_at, i64 1
  %second = load double, ptr %second_at
  %narrow_second = fptrunc double %second to float
  %narrow_second_at = getelementptr float, ptr %narrow, i64 1
  store float %narrow_second, ptr %narrow_second_at
  br label %real
real:
  %first = load double, ptr %value_at
  %narrow_first = fptrunc double %first to float
  store float %narrow_first, ptr %narrow
  br label %make
make:
  %contents_at = phi ptr [ %value_at, %choose_number ], [ %narrow, %real ]
  %object = call ptr @object_of(ptr %record, ptr %contents_at)
  ret ptr %object
}
"""
