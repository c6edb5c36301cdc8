"""Texts that a call makes of characters that the program has written, and of numbers among these: a part of `entry_code`.

Such a number stands there as four elements: -1 - the number of its format, and its 64 bits, 22 in an element.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# How a number is read.
NUMBER_DOUBLE, NUMBER_SINGLE, NUMBER_LONG, NUMBER_SHORT, NUMBER_OF_PYTHON = range(5)

_SPECIFICATION = re.compile(r"([<>^]?)([-+ ]?)(0?)(\d{0,4})(?:\.(\d{1,4}))?([eEfFgG%d]?)")
_ADD_DOT_0 = 2
_KINDS = {"f8": NUMBER_DOUBLE, "f4": NUMBER_SINGLE, "i8": NUMBER_LONG, "i4": NUMBER_SHORT}


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How a number among characters becomes a text.

    code: what `PyOS_double_to_string` takes, 0 for the digits of an integer. flags: likewise. sign: what stands before what is
    not negative, 0 for nothing. align: "<", ">", "^", or "0" for zeros behind the sign, up to the width.
    """

    kind: int
    code: int = 0
    precision: int = 0
    flags: int = 0
    sign: int = 0
    align: int = 0
    width: int = 0
    is_percentage: bool = False


OF_PYTHON = NumberFormat(NUMBER_OF_PYTHON)


def number_format(conversion: int, specification: str, dtype: np.dtype, is_weak: bool) -> NumberFormat:
    """How ``f"{number!s:specification}"`` is shown; `OF_PYTHON` where Python has to be asked. is_weak: of Python's numbers."""
    kind = _KINDS.get(f"{dtype.kind}{dtype.itemsize}", NUMBER_OF_PYTHON)
    found = _SPECIFICATION.fullmatch(specification)
    if found is None or kind == NUMBER_OF_PYTHON or conversion != -1 and specification:
        return OF_PYTHON
    if specification == "" and not is_weak and not _is_shown_as_by_python(kind, conversion):
        return OF_PYTHON
    align, sign, zero, width, precision, code = found.groups()
    is_integer = kind in (NUMBER_LONG, NUMBER_SHORT)
    if align and zero or not is_integer and code == "d" or is_integer and code in ("", "d") and precision:
        return OF_PYTHON
    sign_code = ord(sign) if sign in ("+", " ") and sign else 0
    align_code = ord("0" if zero else align or ">")
    shown = {"sign": sign_code, "align": align_code, "width": int(width or 0)}
    if is_integer and code in ("", "d"):
        return NumberFormat(kind, **shown)
    is_percentage = code == "%"
    if not code:
        code, flags = "g" if precision else "r", _ADD_DOT_0
        digits = int(precision or 0)
    else:
        code, flags, digits = "f" if is_percentage else code, 0, int(precision or 6)
    return NumberFormat(kind, ord(code), digits, flags, **shown, is_percentage=is_percentage)


def _is_shown_as_by_python(kind: int, conversion: int) -> bool:
    """Whether the text of a NumPy scalar is that of a Python number: their shortest digits are the same."""
    return kind == NUMBER_DOUBLE and conversion in (-1, ord("s")) and not np.get_printoptions()["legacy"]


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A text among the characters that a s32 result has.

    start, length: numbers of s64 results, or None where they are known; ``length`` is None, too, where they stand one behind
    the other in rows of ``start``. formats: of numbers that may be among the characters; ``by_python`` is called with the bytes
    of the elements of a text that has a number whose format is `OF_PYTHON`.
    """

    characters: int
    start: int | None
    length: int | None
    known_start: int = 0
    known_length: int = 0
    is_pair: bool = False
    formats: tuple[NumberFormat, ...] = ()
    by_python: Callable[[bytes], Any] | None = None


# In the form of `entry_code`'s.
FUNCTIONS = ("PyMem_Realloc", "PyOS_double_to_string", "PyOS_snprintf", "PyUnicode_FromKindAndData")

ASSEMBLY = """
@digits_of_integer = internal constant [5 x i8] c"%lld\\00"

; The text of a part in a row of its columns, or NULL with an exception set.
define internal ptr @text_in_row(ptr %part, ptr %memory, i64 %row) {
start:
  %characters_offset = field i64 %part, Part_codes
  %start_offset = field i64 %part, Part_start
  %length_offset = field i64 %part, Part_length
  %known_start = field i64 %part, Part_capacity
  %known_length = field i64 %part, Part_known_length
  %pair = field i64 %part, Part_shared
  %formats = field ptr %part, Part_parts
  %row_of_start = shl i64 %row, %pair
  %row_of_length = add i64 %row_of_start, %pair
  %begin = call i64 @number_in(ptr %memory, i64 %start_offset, i64 %row_of_start, i64 %known_start)
  %length = call i64 @number_in(ptr %memory, i64 %length_offset, i64 %row_of_length, i64 %known_length)
  %characters_at = getelementptr i8, ptr %memory, i64 %characters_offset
  %characters = load ptr, ptr %characters_at
  %first = getelementptr i32, ptr %characters, i64 %begin
  %is_plain = icmp eq ptr %formats, null
  br i1 %is_plain, label %plain, label %next
next:
  %index = phi i64 [ 0, %start ], [ %index_after, %look ]
  %are_all = icmp eq i64 %index, %length
  br i1 %are_all, label %plain, label %look
look:
  %element_at = getelementptr i32, ptr %first, i64 %index
  %element = load i32, ptr %element_at
  %index_after = add i64 %index, 1
  %is_number = icmp slt i32 %element, 0
  br i1 %is_number, label %with_numbers, label %next
with_numbers:
  %shown = call ptr @text_with_numbers(ptr %part, ptr %first, i64 %length)
  ret ptr %shown
plain:
  %make = load ptr, ptr @PyUnicode_FromKindAndData
  %text = call ptr %make(i32 4, ptr %first, i64 %length)
  ret ptr %text
}

; As @text_in_row, of so many elements, some of which are numbers.
define internal ptr @text_with_numbers(ptr %part, ptr %first, i64 %length) {
start:
  %digits = alloca [32 x i8]
  %formats = field ptr %part, Part_parts
  %by_python = field ptr %part, Part_object
  %allocate = load ptr, ptr @PyMem_Malloc
  %reallocate = load ptr, ptr @PyMem_Realloc
  %free = load ptr, ptr @PyMem_Free
  %least = add i64 %length, 64
  %least_size = shl i64 %least, 3
  %least_room = shl i64 %least, 1
  %first_buffer = call ptr %allocate(i64 %least_size)
  %has_no_buffer = icmp eq ptr %first_buffer, null
  br i1 %has_no_buffer, label %no_memory, label %next

next:
  %buffer = phi ptr [ %first_buffer, %start ], [ %buffer, %character ], [ %buffer_with_room, %put_right ]
  %room = phi i64 [ %least_room, %start ], [ %room, %character ], [ %new_room, %put_right ]
  %used = phi i64 [ 0, %start ], [ %used_by_one, %character ], [ %used_behind, %put_right ]
  %index = phi i64 [ 0, %start ], [ %index_by_one, %character ], [ %index_by_four, %put_right ]
  %is_complete = icmp sge i64 %index, %length
  br i1 %is_complete, label %complete, label %take
take:
  %element_at = getelementptr i32, ptr %first, i64 %index
  %element = load i32, ptr %element_at
  %to = getelementptr i32, ptr %buffer, i64 %used
  %is_number = icmp slt i32 %element, 0
  br i1 %is_number, label %number, label %character
character:
  ; There is room for all elements that are left: what numbers need comes on top of that.
  store i32 %element, ptr %to
  %used_by_one = add i64 %used, 1
  %index_by_one = add i64 %index, 1
  br label %next

number:
  %opposite = xor i32 %element, -1
  %which = zext i32 %opposite to i64
  %format_offset = mul i64 %which, Format_SIZE
  %format = getelementptr i8, ptr %formats, i64 %format_offset
  %kind = field i64 %format, Format_kind
  %code = field i64 %format, Format_code
  %index_by_four = add i64 %index, 4
  %low_at = getelementptr i32, ptr %element_at, i64 1
  %middle_at = getelementptr i32, ptr %element_at, i64 2
  %high_at = getelementptr i32, ptr %element_at, i64 3
  %low_narrow = load i32, ptr %low_at
  %middle_narrow = load i32, ptr %middle_at
  %high_narrow = load i32, ptr %high_at
  %low = zext i32 %low_narrow to i64
  %middle = zext i32 %middle_narrow to i64
  %high = zext i32 %high_narrow to i64
  %middle_bits = shl i64 %middle, 22
  %high_bits = shl i64 %high, 44
  %lower = or i64 %low, %middle_bits
  %bits = or i64 %lower, %high_bits
  %half = trunc i64 %bits to i32
  switch i64 %kind, label %python [ i64 NUMBER_DOUBLE, label %double
                                    i64 NUMBER_SINGLE, label %single
                                    i64 NUMBER_LONG, label %long
                                    i64 NUMBER_SHORT, label %short ]
double:
  %given_double = bitcast i64 %bits to double
  br label %floating
single:
  %given_single = bitcast i32 %half to float
  %widened = fpext float %given_single to double
  br label %floating
short:
  %extended = sext i32 %half to i64
  br label %long
long:
  %integer = phi i64 [ %bits, %number ], [ %extended, %short ]
  %is_shown_as_integer = icmp eq i64 %code, 0
  br i1 %is_shown_as_integer, label %integer_digits, label %convert
convert:
  %converted = sitofp i64 %integer to double
  br label %floating
integer_digits:
  %print = load ptr, ptr @PyOS_snprintf
  %count_printed = call i32 (ptr, i64, ptr, ...) %print(ptr %digits, i64 32, ptr @digits_of_integer, i64 %integer)
  br label %sign
floating:
  %value = phi double [ %given_double, %double ], [ %widened, %single ], [ %converted, %convert ]
  %percentage = field i64 %format, Format_is_percentage
  %is_percentage = icmp ne i64 %percentage, 0
  %in_percent = fmul double %value, 100.0
  %shown_value = select i1 %is_percentage, double %in_percent, double %value
  %precision = field i64 %format, Format_precision
  %flags = field i64 %format, Format_flags
  %narrow_code = trunc i64 %code to i8
  %narrow_flags = trunc i64 %flags to i32
  %double_to_string = load ptr, ptr @PyOS_double_to_string
  %places = trunc i64 %precision to i32
  %made = call ptr %double_to_string(double %shown_value, i8 signext %narrow_code, i32 %places, i32 %narrow_flags, ptr null)
  %is_not_made = icmp eq ptr %made, null
  br i1 %is_not_made, label %failed, label %sign

sign:
  %string = phi ptr [ %digits, %integer_digits ], [ %made, %floating ]
  %own = phi ptr [ null, %integer_digits ], [ %made, %floating ]
  %percent_signs = phi i64 [ 0, %integer_digits ], [ %percentage, %floating ]
  %head = load i8, ptr %string
  %is_negative = icmp eq i8 %head, 45
  %sign_of_others = field i64 %format, Format_sign
  %sign_sign = select i1 %is_negative, i64 45, i64 %sign_of_others
  %has_sign = icmp ne i64 %sign_sign, 0
  %signs = zext i1 %has_sign to i64
  %skipped = zext i1 %is_negative to i64
  %body = getelementptr i8, ptr %string, i64 %skipped
  br label %count
count:
  %counted = phi i64 [ 0, %sign ], [ %counted_after, %count_one ]
  %counted_at = getelementptr i8, ptr %body, i64 %counted
  %sign_there = load i8, ptr %counted_at
  %is_end = icmp eq i8 %sign_there, 0
  br i1 %is_end, label %measure, label %count_one
count_one:
  %counted_after = add i64 %counted, 1
  br label %count
measure:
  %with_sign = add i64 %counted, %signs
  %whole = add i64 %with_sign, %percent_signs
  %width = field i64 %format, Format_width
  %align = field i64 %format, Format_align
  %missing = sub i64 %width, %whole
  %is_short = icmp sgt i64 %missing, 0
  %padding = select i1 %is_short, i64 %missing, i64 0
  %half_padding = lshr i64 %padding, 1
  %is_left = icmp eq i64 %align, 60
  %is_right = icmp eq i64 %align, 62
  %is_zeros = icmp eq i64 %align, 48
  %is_at_left = or i1 %is_left, %is_zeros
  %padding_of_others = select i1 %is_at_left, i64 0, i64 %half_padding
  %left = select i1 %is_right, i64 %padding, i64 %padding_of_others
  %zeros = select i1 %is_zeros, i64 %padding, i64 0
  %at_left = add i64 %left, %zeros
  %right = sub i64 %padding, %at_left
  %added = add i64 %whole, %padding
  %used_behind = add i64 %used, %added
  %elements_left = sub i64 %length, %index_by_four
  %needed = add i64 %used_behind, %elements_left
  %is_too_small = icmp ugt i64 %needed, %room
  br i1 %is_too_small, label %grow, label %put
grow:
  %larger = shl i64 %needed, 1
  %larger_size = shl i64 %larger, 2
  %moved = call ptr %reallocate(ptr %buffer, i64 %larger_size)
  %is_not_moved = icmp eq ptr %moved, null
  br i1 %is_not_moved, label %drop_string, label %put
drop_string:
  call void %free(ptr %own)
  br label %failed_without_memory
put:
  %buffer_with_room = phi ptr [ %buffer, %measure ], [ %moved, %grow ]
  %new_room = phi i64 [ %room, %measure ], [ %larger, %grow ]
  %begin = getelementptr i32, ptr %buffer_with_room, i64 %used
  call void @fill_with(ptr %begin, i64 %left, i32 32)
  %sign_at = getelementptr i32, ptr %begin, i64 %left
  %narrow_sign = trunc i64 %sign_sign to i32
  call void @fill_with(ptr %sign_at, i64 %signs, i32 %narrow_sign)
  %zeros_at = getelementptr i32, ptr %sign_at, i64 %signs
  call void @fill_with(ptr %zeros_at, i64 %zeros, i32 48)
  %body_at = getelementptr i32, ptr %zeros_at, i64 %zeros
  br label %next_sign
next_sign:
  %copied = phi i64 [ 0, %put ], [ %copied_after, %copy_sign ]
  %are_copied = icmp eq i64 %copied, %counted
  br i1 %are_copied, label %put_right, label %copy_sign
copy_sign:
  %from = getelementptr i8, ptr %body, i64 %copied
  %narrow = load i8, ptr %from
  %wide = zext i8 %narrow to i32
  %copied_to = getelementptr i32, ptr %body_at, i64 %copied
  store i32 %wide, ptr %copied_to
  %copied_after = add i64 %copied, 1
  br label %next_sign
put_right:
  %behind = getelementptr i32, ptr %body_at, i64 %counted
  call void @fill_with(ptr %behind, i64 %percent_signs, i32 37)
  %right_at = getelementptr i32, ptr %behind, i64 %percent_signs
  call void @fill_with(ptr %right_at, i64 %right, i32 32)
  call void %free(ptr %own)
  br label %next

python:
  call void %free(ptr %buffer)
  %make_bytes = load ptr, ptr @PyBytes_FromStringAndSize
  %size = shl i64 %length, 2
  %bytes = call ptr %make_bytes(ptr %first, i64 %size)
  %no_bytes = icmp eq ptr %bytes, null
  br i1 %no_bytes, label %none, label %ask
ask:
  %call_one = load ptr, ptr @PyObject_CallOneArg
  %answer = call ptr %call_one(ptr %by_python, ptr %bytes)
  call void @drop(ptr %bytes)
  ret ptr %answer
complete:
  %make = load ptr, ptr @PyUnicode_FromKindAndData
  %text = call ptr %make(i32 4, ptr %buffer, i64 %used)
  call void %free(ptr %buffer)
  ret ptr %text
failed_without_memory:
  %set = load ptr, ptr @PyErr_NoMemory
  %nothing = call ptr %set()
  br label %failed
failed:
  call void %free(ptr %buffer)
  br label %none
no_memory:
  %set_first = load ptr, ptr @PyErr_NoMemory
  %nothing_at_first = call ptr %set_first()
  br label %none
none:
  ret ptr null
}

; So many times the same character.
define internal void @fill_with(ptr %to, i64 %count, i32 %character) {
start:
  br label %next
next:
  %index = phi i64 [ 0, %start ], [ %index_after, %put ]
  %done = icmp eq i64 %index, %count
  br i1 %done, label %all, label %put
put:
  %at = getelementptr i32, ptr %to, i64 %index
  store i32 %character, ptr %at
  %index_after = add i64 %index, 1
  br label %next
all:
  ret void
}
"""
