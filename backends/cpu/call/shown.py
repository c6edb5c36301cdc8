"""Texts of numbers, as f-strings show them, and texts that a program takes as characters: a part of `entry_code`'s code."""

from __future__ import annotations

# In the form of `entry_code`'s.
FUNCTIONS = (
    "PyObject_ASCII",
    "PyObject_Format",
    "PyObject_Repr",
    "PyObject_Str",
    "PyUnicode_AsUCS4",
    "PyUnicode_FromString",
    "PyUnicode_GetLength",
)

ASSEMBLY = """
; The text of a number in memory, or NULL with an exception set.
define internal ptr @shown(ptr %format, ptr %bits_at) {
start:
  %letter = field i64 %format, Showing_letter
  %is_any = icmp eq i64 %letter, 0
  br i1 %is_any, label %make, label %as_float
as_float:
  %value_of_float = load double, ptr %bits_at
  %digits = field i64 %format, Showing_digits
  %text_of_float = tail call ptr @text_of_float(double %value_of_float, i64 %letter, i64 %digits)
  ret ptr %text_of_float
make:
  %record = getelementptr i8, ptr %format, i64 Showing_made
  %number = call ptr @object_of(ptr %record, ptr %bits_at)
  %no_number = icmp eq ptr %number, null
  br i1 %no_number, label %none, label %convert
convert:
  %conversion = field i64 %format, Showing_conversion
  switch i64 %conversion, label %show [ i64 115, label %as_text
                                        i64 114, label %as_expression
                                        i64 97, label %as_ascii ]
as_text:
  %to_text = load ptr, ptr @PyObject_Str
  br label %call
as_expression:
  %to_expression = load ptr, ptr @PyObject_Repr
  br label %call
as_ascii:
  %to_ascii = load ptr, ptr @PyObject_ASCII
  br label %call
call:
  %function = phi ptr [ %to_text, %as_text ], [ %to_expression, %as_expression ], [ %to_ascii, %as_ascii ]
  %converted = call ptr %function(ptr %number)
  call void @drop(ptr %number)
  %not_converted = icmp eq ptr %converted, null
  br i1 %not_converted, label %none, label %show
show:
  %value = phi ptr [ %number, %convert ], [ %converted, %call ]
  %specification = field ptr %format, Showing_specification
  %show_value = load ptr, ptr @PyObject_Format
  %shown = call ptr %show_value(ptr %value, ptr %specification)
  call void @drop(ptr %value)
  ret ptr %shown
none:
  ret ptr null
}

; The text of a float in one of the forms of PyOS_double_to_string; "r" has a point in it.
define internal ptr @text_of_float(double %value, i64 %letter, i64 %digits) {
  %code = trunc i64 %letter to i8
  %precision = trunc i64 %digits to i32
  %is_short = icmp eq i8 %code, 114
  %flags = select i1 %is_short, i32 2, i32 0
  %write = load ptr, ptr @PyOS_double_to_string
  %characters = call ptr %write(double %value, i8 %code, i32 %precision, i32 %flags, ptr null)
  %no_memory = icmp eq ptr %characters, null
  br i1 %no_memory, label %none, label %make
make:
  %from_string = load ptr, ptr @PyUnicode_FromString
  %text = call ptr %from_string(ptr %characters)
  %free = load ptr, ptr @PyMem_Free
  call void %free(ptr %characters)
  ret ptr %text
none:
  ret ptr null
}

; Writes the characters of a number into an array; nothing where an error has been found before. table: the addresses of a flag
; that says so, of the number, and of the array, as @write_text has it, which tells what is returned, too.
define internal i1 @write_shown(ptr %format, i64 %places, ptr %table) {
  %flag_at = load ptr, ptr %table
  %number_at_place = getelementptr ptr, ptr %table, i64 1
  %number_at = load ptr, ptr %number_at_place
  %array_at = getelementptr ptr, ptr %table, i64 2
  %flag = load i8, ptr %flag_at
  %is_stopped = icmp ne i8 %flag, 0
  br i1 %is_stopped, label %nothing, label %show
show:
  %text = call ptr @shown(ptr %format, ptr %number_at)
  %is_written = call i1 @write_text(ptr %text, i64 %places, ptr %array_at)
  ret i1 %is_written
nothing:
  %count_place = getelementptr ptr, ptr %table, i64 3
  %count_at = load ptr, ptr %count_place
  store i64 0, ptr %count_at
  ret i1 true
}

; Writes the characters of a text, a reference to which it takes over, into an array, if it has as many places, and how many
; there are; of None -1. table: the addresses of both. Returns whether that was possible, otherwise an exception is set, as
; it is where the text is NULL.
define internal i1 @write_text(ptr %text, i64 %places, ptr %table) {
  %codes = load ptr, ptr %table
  %count_place = getelementptr ptr, ptr %table, i64 1
  %count_at = load ptr, ptr %count_place
  store i64 -1, ptr %count_at
  %no_text = icmp eq ptr %text, null
  br i1 %no_text, label %no, label %look
look:
  %none = load ptr, ptr @none
  %is_none = icmp eq ptr %text, %none
  br i1 %is_none, label %drop_text, label %measure
measure:
  %length = load ptr, ptr @PyUnicode_GetLength
  %count = call i64 %length(ptr %text)
  store i64 %count, ptr %count_at
  %is_too_long = icmp sgt i64 %count, %places
  br i1 %is_too_long, label %drop_text, label %copy
copy:
  %copy_characters = load ptr, ptr @PyUnicode_AsUCS4
  %copied = call ptr %copy_characters(ptr %text, ptr %codes, i64 %places, i32 0)
  br label %drop_text
drop_text:
  %found = phi ptr [ %codes, %look ], [ %codes, %measure ], [ %copied, %copy ]
  call void @drop(ptr %text)
  %is_written = icmp ne ptr %found, null
  ret i1 %is_written
no:
  ret i1 false
}
"""
