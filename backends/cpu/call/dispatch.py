"""The native code of all calls: one vectorcall function that reads what to accept and return from records.

It is the same for all signatures, so a new signature costs no compilation, only a record (`records`): tried the other way, code
emitted for each signature takes about 8 ms of emission and code generation where the kernel itself takes 3, to save a few of
about 100 nanoseconds per call. The code is LLVM assembly in its final form: no pass has anything left to do but what code
generation does. Field offsets are written by name, ``%value = field <type> <pointer>, <name>``; `assembly` puts in the
``getelementptr`` and the ``load``.
"""

from __future__ import annotations

import re

# Kinds of argument records.
ARGUMENT_INLINE, ARGUMENT_ARRAY, ARGUMENT_INTEGER, ARGUMENT_BOOL, ARGUMENT_STATIC = range(5)
# Kinds of result records.
RESULT_ARRAY, RESULT_SCALAR, RESULT_ARGUMENT = range(3)

# The functions of CPython and NumPy that the code calls, through a global of the same name that is filled at load.
FUNCTIONS = (
    "PyObject_GetAttr",
    "PyObject_Vectorcall",
    "PyObject_CallOneArg",
    "PyErr_Occurred",
    "PyErr_SetString",
    "PyLong_FromLongLong",
    "PyLong_AsLongLongAndOverflow",
    "PyTuple_New",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "Py_IncRef",
    "Py_DecRef",
    "PyArray_Scalar",
)
# The objects it names, likewise.
OBJECTS = ("miss_name", "none", "true", "system_error")

_ENTRY = """
; What the instances of a vectorcall type point to: the first entry that the call fits is executed, else _miss is called.
; The list of entries starts behind the vectorcall pointer of the instance.
define ptr @entry(ptr %self, ptr %args, i64 %nargsf, ptr %names) {
start:
  %type = field ptr %self, OBJECT_TYPE
  %offset = field i64 %type, TYPE_VECTORCALL_OFFSET
  %vectorcall_at = getelementptr i8, ptr %self, i64 %offset
  %head_at = getelementptr i8, ptr %vectorcall_at, i64 8
  %head = load atomic ptr, ptr %head_at acquire, align 8
  ; The top bit is PY_VECTORCALL_ARGUMENTS_OFFSET.
  %count = and i64 %nargsf, 9223372036854775807
  br label %try
try:
  %entry = phi ptr [ %head, %start ], [ %next, %other ]
  %end = icmp eq ptr %entry, null
  br i1 %end, label %miss, label %check
check:
  %fits = call i1 @fits(ptr %entry, ptr %args, i64 %count, ptr %names)
  br i1 %fits, label %found, label %other
other:
  %next_at = getelementptr i8, ptr %entry, i64 Entry_next
  %next = load atomic ptr, ptr %next_at acquire, align 8
  br label %try
found:
  %result = tail call ptr @execute(ptr %entry, ptr %args)
  ret ptr %result
miss:
  %missed = musttail call ptr @miss(ptr %self, ptr %args, i64 %nargsf, ptr %names)
  ret ptr %missed
}

; self._miss(*args, **kwargs)
define internal ptr @miss(ptr %self, ptr %args, i64 %nargsf, ptr %names) {
  %name = load ptr, ptr @miss_name
  %get = load ptr, ptr @PyObject_GetAttr
  %method = call ptr %get(ptr %self, ptr %name)
  %absent = icmp eq ptr %method, null
  br i1 %absent, label %failed, label %found
found:
  %vectorcall = load ptr, ptr @PyObject_Vectorcall
  %result = call ptr %vectorcall(ptr %method, ptr %args, i64 %nargsf, ptr %names)
  call void @drop(ptr %method)
  ret ptr %result
failed:
  ret ptr null
}
"""

_GUARDS = """
; Whether a call fits an entry, by reads alone.
define internal i1 @fits(ptr %entry, ptr %args, i64 %count, ptr %names) {
start:
  %positional = field i64 %entry, Entry_positional_count
  %same_count = icmp eq i64 %count, %positional
  br i1 %same_count, label %form, label %no
form:
  %name_count = field i64 %entry, Entry_keyword_count
  %no_names_given = icmp eq ptr %names, null
  br i1 %no_names_given, label %without_names, label %with_names
without_names:
  %no_names_wanted = icmp eq i64 %name_count, 0
  br i1 %no_names_wanted, label %arguments, label %no
with_names:
  %given = field i64 %names, TUPLE_SIZE
  %same_name_count = icmp eq i64 %given, %name_count
  br i1 %same_name_count, label %next_name, label %no
next_name:
  %name = phi i64 [ 0, %with_names ], [ %name_after, %same_name ]
  %names_done = icmp eq i64 %name, %name_count
  br i1 %names_done, label %arguments, label %compare_name
compare_name:
  ; Names at a place of call are interned: the same name is the same object.
  %items = getelementptr i8, ptr %names, i64 TUPLE_ITEMS
  %item_at = getelementptr ptr, ptr %items, i64 %name
  %item = load ptr, ptr %item_at
  %wanted_names = field ptr %entry, Entry_keyword_names
  %wanted_at = getelementptr ptr, ptr %wanted_names, i64 %name
  %wanted = load ptr, ptr %wanted_at
  %is_wanted = icmp eq ptr %item, %wanted
  br i1 %is_wanted, label %same_name, label %no
same_name:
  %name_after = add i64 %name, 1
  br label %next_name

arguments:
  %argument_count = field i64 %entry, Entry_argument_count
  %first_guard = field ptr %entry, Entry_arguments
  br label %next_argument
next_argument:
  %argument = phi i64 [ 0, %arguments ], [ %argument_after, %argument_fits ]
  %guard = phi ptr [ %first_guard, %arguments ], [ %guard_after, %argument_fits ]
  %arguments_done = icmp eq i64 %argument, %argument_count
  br i1 %arguments_done, label %captures, label %check_argument
check_argument:
  %object_at = getelementptr ptr, ptr %args, i64 %argument
  %object = load ptr, ptr %object_at
  %kind = field i64 %guard, Argument_kind
  %expected = field ptr %guard, Argument_expected
  %is_static = icmp eq i64 %kind, ARGUMENT_STATIC
  br i1 %is_static, label %check_static, label %check_type
check_static:
  %identical = icmp eq ptr %object, %expected
  br i1 %identical, label %argument_fits, label %no
check_type:
  %type = field ptr %object, OBJECT_TYPE
  %same_type = icmp eq ptr %type, %expected
  br i1 %same_type, label %check_kind, label %no
check_kind:
  %is_array = icmp eq i64 %kind, ARGUMENT_ARRAY
  br i1 %is_array, label %check_array, label %not_array
check_array:
  %array_fits = call i1 @array_fits(ptr %guard, ptr %object)
  br i1 %array_fits, label %argument_fits, label %no
not_array:
  %is_integer = icmp eq i64 %kind, ARGUMENT_INTEGER
  br i1 %is_integer, label %check_integer, label %argument_fits
check_integer:
  %integer_fits = call i1 @integer_fits(ptr %object)
  br i1 %integer_fits, label %argument_fits, label %no
argument_fits:
  %argument_after = add i64 %argument, 1
  %guard_after = getelementptr i8, ptr %guard, i64 Argument_SIZE
  br label %next_argument

captures:
  %capture_count = field i64 %entry, Entry_capture_count
  %first_capture = field ptr %entry, Entry_captures
  br label %next_capture
next_capture:
  %capture = phi i64 [ 0, %captures ], [ %capture_after, %capture_fits ]
  %capture_guard = phi ptr [ %first_capture, %captures ], [ %capture_guard_after, %capture_fits ]
  %captures_done = icmp eq i64 %capture, %capture_count
  br i1 %captures_done, label %yes, label %check_capture
check_capture:
  %captured = field ptr %capture_guard, Argument_captured
  %captured_fits = call i1 @array_fits(ptr %capture_guard, ptr %captured)
  br i1 %captured_fits, label %capture_fits, label %no
capture_fits:
  %capture_after = add i64 %capture, 1
  %capture_guard_after = getelementptr i8, ptr %capture_guard, i64 Argument_SIZE
  br label %next_capture
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether an ndarray has the flags, rank, dtype and dimensions of a guard.
define internal i1 @array_fits(ptr %guard, ptr %array) {
start:
  %mask = field i32 %guard, Argument_flags
  %all_flags = field i32 %array, ARRAY_FLAGS
  %flags = and i32 %all_flags, %mask
  %has_flags = icmp eq i32 %flags, %mask
  %rank = field i32 %guard, Argument_rank
  %given_rank = field i32 %array, ARRAY_RANK
  %has_rank = icmp eq i32 %given_rank, %rank
  %has_both = and i1 %has_flags, %has_rank
  br i1 %has_both, label %compare_dtype, label %no
compare_dtype:
  %dtype = field ptr %guard, Argument_dtype
  %given_dtype = field ptr %array, ARRAY_DESCRIPTOR
  %same_dtype = icmp eq ptr %given_dtype, %dtype
  br i1 %same_dtype, label %dimensions, label %compare_fields
compare_fields:
  ; Arrays that were unpickled have a descriptor of their own, equal to the common one.
  %number = field i32 %dtype, DESCRIPTOR_TYPE_NUMBER
  %given_number = field i32 %given_dtype, DESCRIPTOR_TYPE_NUMBER
  %same_number = icmp eq i32 %number, %given_number
  %byte_order = field i8 %dtype, DESCRIPTOR_BYTE_ORDER
  %given_byte_order = field i8 %given_dtype, DESCRIPTOR_BYTE_ORDER
  %same_byte_order = icmp eq i8 %byte_order, %given_byte_order
  %equal_dtype = and i1 %same_number, %same_byte_order
  br i1 %equal_dtype, label %dimensions, label %no
dimensions:
  %shape = field ptr %guard, Argument_shape
  %given_shape = field ptr %array, ARRAY_DIMENSIONS
  %end = zext i32 %rank to i64
  br label %next_axis
next_axis:
  %axis = phi i64 [ 0, %dimensions ], [ %axis_after, %same_size ]
  %done = icmp eq i64 %axis, %end
  br i1 %done, label %yes, label %compare_size
compare_size:
  %size_at = getelementptr i64, ptr %shape, i64 %axis
  %size = load i64, ptr %size_at
  %given_size_at = getelementptr i64, ptr %given_shape, i64 %axis
  %given_size = load i64, ptr %given_size_at
  %is_same_size = icmp eq i64 %size, %given_size
  br i1 %is_same_size, label %same_size, label %no
same_size:
  %axis_after = add i64 %axis, 1
  br label %next_axis
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether a Python int fits in 64 bits with sign.
define internal i1 @integer_fits(ptr %object) {
  %overflow_at = alloca i32
  %convert = load ptr, ptr @PyLong_AsLongLongAndOverflow
  %ignored = call i64 %convert(ptr %object, ptr %overflow_at)
  %overflow = load i32, ptr %overflow_at
  %fits = icmp eq i32 %overflow, 0
  ret i1 %fits
}
"""

_EXECUTION = """
; Runs the kernel of an entry that the call fits, and returns its results as one object.
define internal ptr @execute(ptr %entry, ptr %args) {
start:
  %frame_size = field i64 %entry, Entry_frame_size
  %frame = alloca i8, i64 %frame_size, align 16
  %data_offset = field i64 %entry, Entry_data_offset
  %data = getelementptr i8, ptr %frame, i64 %data_offset
  %memory_offset = field i64 %entry, Entry_memory_offset
  %memory = getelementptr i8, ptr %frame, i64 %memory_offset
  %objects_offset = field i64 %entry, Entry_objects_offset
  %objects = getelementptr i8, ptr %frame, i64 %objects_offset
  %cells_offset = field i64 %entry, Entry_cells_offset
  %cells = getelementptr i8, ptr %frame, i64 %cells_offset

  %argument_count = field i64 %entry, Entry_argument_count
  %first_guard = field ptr %entry, Entry_arguments
  br label %next_argument
next_argument:
  %argument = phi i64 [ 0, %start ], [ %argument_after, %argument_done ]
  %guard = phi ptr [ %first_guard, %start ], [ %guard_after, %argument_done ]
  %data_at = phi ptr [ %data, %start ], [ %data_after, %argument_done ]
  %arguments_done = icmp eq i64 %argument, %argument_count
  br i1 %arguments_done, label %captures, label %read_argument
read_argument:
  %object_at = getelementptr ptr, ptr %args, i64 %argument
  %object = load ptr, ptr %object_at
  %kind = field i64 %guard, Argument_kind
  %data_one_after = getelementptr ptr, ptr %data_at, i64 1
  %is_array = icmp eq i64 %kind, ARGUMENT_ARRAY
  br i1 %is_array, label %array, label %not_array
not_array:
  switch i64 %kind, label %inline [ i64 ARGUMENT_STATIC, label %argument_done
                                    i64 ARGUMENT_INTEGER, label %integer
                                    i64 ARGUMENT_BOOL, label %bool ]
array:
  %array_data = field ptr %object, ARRAY_DATA
  store ptr %array_data, ptr %data_at
  br label %argument_done
inline:
  ; The object holds the value as the kernel reads it, and lives as long as the call.
  %value_at = getelementptr i8, ptr %object, i64 SCALAR_VALUE
  store ptr %value_at, ptr %data_at
  br label %argument_done
integer:
  %overflow_at = getelementptr i64, ptr %cells, i64 %argument
  %convert = load ptr, ptr @PyLong_AsLongLongAndOverflow
  %integer_value = call i64 %convert(ptr %object, ptr %overflow_at)
  br label %cell
bool:
  %true = load ptr, ptr @true
  %is_true = icmp eq ptr %object, %true
  %bool_value = zext i1 %is_true to i64
  br label %cell
cell:
  %cell_value = phi i64 [ %integer_value, %integer ], [ %bool_value, %bool ]
  %cell_at = getelementptr i64, ptr %cells, i64 %argument
  store i64 %cell_value, ptr %cell_at
  store ptr %cell_at, ptr %data_at
  br label %argument_done
argument_done:
  %data_after = phi ptr [ %data_at, %not_array ], [ %data_one_after, %array ], [ %data_one_after, %inline ], [ %data_one_after, %cell ]
  %argument_after = add i64 %argument, 1
  %guard_after = getelementptr i8, ptr %guard, i64 Argument_SIZE
  br label %next_argument

captures:
  %capture_count = field i64 %entry, Entry_capture_count
  %first_capture = field ptr %entry, Entry_captures
  br label %next_capture
next_capture:
  %capture = phi i64 [ 0, %captures ], [ %capture_after, %read_capture ]
  %captures_done = icmp eq i64 %capture, %capture_count
  br i1 %captures_done, label %results, label %read_capture
read_capture:
  %capture_offset = mul i64 %capture, Argument_SIZE
  %capture_guard = getelementptr i8, ptr %first_capture, i64 %capture_offset
  %captured = field ptr %capture_guard, Argument_captured
  %captured_data = field ptr %captured, ARRAY_DATA
  %captured_data_at = getelementptr ptr, ptr %data_at, i64 %capture
  store ptr %captured_data, ptr %captured_data_at
  %capture_after = add i64 %capture, 1
  br label %next_capture

results:
  %result_count = field i64 %entry, Entry_result_count
  %first_result = field ptr %entry, Entry_results
  br label %next_result
next_result:
  %result = phi i64 [ 0, %results ], [ %result_after, %result_done ]
  %result_record = phi ptr [ %first_result, %results ], [ %result_record_after, %result_done ]
  %memory_at = phi ptr [ %memory, %results ], [ %memory_after, %result_done ]
  %results_done = icmp eq i64 %result, %result_count
  br i1 %results_done, label %run, label %prepare_result
prepare_result:
  %result_kind = field i64 %result_record, Result_kind
  %memory_one_after = getelementptr ptr, ptr %memory_at, i64 1
  switch i64 %result_kind, label %result_done [ i64 RESULT_ARRAY, label %new_array
                                               i64 RESULT_SCALAR, label %scalar_memory ]
new_array:
  %result_dtype = field ptr %result_record, Result_dtype
  ; PyArray_Empty takes over a reference to the descriptor.
  call void @retain(ptr %result_dtype)
  %allocate = field ptr %result_record, Result_allocate
  %result_rank = field i32 %result_record, Result_rank
  %fortran = field i32 %result_record, Result_fortran
  %result_shape = field ptr %result_record, Result_shape
  %new = call ptr %allocate(i32 %result_rank, ptr %result_shape, ptr %result_dtype, i32 %fortran)
  %no_array = icmp eq ptr %new, null
  br i1 %no_array, label %failed, label %allocated
allocated:
  %new_data = field ptr %new, ARRAY_DATA
  store ptr %new_data, ptr %memory_at
  br label %result_done
scalar_memory:
  %scalar_offset = shl i64 %result, 4
  %scalar_at = getelementptr i8, ptr %frame, i64 %scalar_offset
  store ptr %scalar_at, ptr %memory_at
  br label %result_done
result_done:
  %result_object = phi ptr [ null, %prepare_result ], [ %new, %allocated ], [ null, %scalar_memory ]
  %memory_after = phi ptr [ %memory_at, %prepare_result ], [ %memory_one_after, %allocated ], [ %memory_one_after, %scalar_memory ]
  %result_object_at = getelementptr ptr, ptr %objects, i64 %result
  store ptr %result_object, ptr %result_object_at
  %result_after = add i64 %result, 1
  %result_record_after = getelementptr i8, ptr %result_record, i64 Result_SIZE
  br label %next_result

run:
  %kernel = field ptr %entry, Entry_kernel
  %release_gil = field i64 %entry, Entry_release_gil
  %keeps_gil = icmp eq i64 %release_gil, 0
  br i1 %keeps_gil, label %run_with_gil, label %run_without_gil
run_with_gil:
  %status_with_gil = call i32 %kernel(ptr %data, ptr %memory)
  br label %ran
run_without_gil:
  %save = load ptr, ptr @PyEval_SaveThread
  %thread = call ptr %save()
  %status_without_gil = call i32 %kernel(ptr %data, ptr %memory)
  %restore = load ptr, ptr @PyEval_RestoreThread
  call void %restore(ptr %thread)
  br label %ran
ran:
  %status = phi i32 [ %status_with_gil, %run_with_gil ], [ %status_without_gil, %run_without_gil ]
  %success = icmp eq i32 %status, 0
  br i1 %success, label %pack, label %error
error:
  call void @drop_all(ptr %objects, i64 %result_count)
  %error_function = field ptr %entry, Entry_error
  %raised = tail call ptr @raise(ptr %error_function, i32 %status)
  ret ptr %raised

pack:
  %finished = phi i64 [ 0, %ran ], [ %finished_after, %finish_done ]
  %all_finished = icmp eq i64 %finished, %result_count
  br i1 %all_finished, label %structure, label %finish
finish:
  %finish_offset = mul i64 %finished, Result_SIZE
  %finish_record = getelementptr i8, ptr %first_result, i64 %finish_offset
  %finish_kind = field i64 %finish_record, Result_kind
  switch i64 %finish_kind, label %finish_done [ i64 RESULT_SCALAR, label %new_scalar
                                               i64 RESULT_ARGUMENT, label %same_argument ]
new_scalar:
  %value_offset = shl i64 %finished, 4
  %scalar_value_at = getelementptr i8, ptr %frame, i64 %value_offset
  %scalar_dtype = field ptr %finish_record, Result_dtype
  %make_scalar = load ptr, ptr @PyArray_Scalar
  %scalar = call ptr %make_scalar(ptr %scalar_value_at, ptr %scalar_dtype, ptr null)
  %no_scalar = icmp eq ptr %scalar, null
  br i1 %no_scalar, label %failed, label %finish_object
same_argument:
  %source = field i64 %finish_record, Result_argument
  %source_at = getelementptr ptr, ptr %args, i64 %source
  %returned_argument = load ptr, ptr %source_at
  call void @retain(ptr %returned_argument)
  br label %finish_object
finish_object:
  %finished_object = phi ptr [ %scalar, %new_scalar ], [ %returned_argument, %same_argument ]
  %finished_object_at = getelementptr ptr, ptr %objects, i64 %finished
  store ptr %finished_object, ptr %finished_object_at
  br label %finish_done
finish_done:
  %finished_after = add i64 %finished, 1
  br label %pack

structure:
  %result_structure = field i64 %entry, Entry_result_structure
  switch i64 %result_structure, label %tuple [ i64 0, label %none
                                               i64 1, label %single ]
none:
  %none_object = load ptr, ptr @none
  call void @retain(ptr %none_object)
  ret ptr %none_object
single:
  %single_object = load ptr, ptr %objects
  ret ptr %single_object
tuple:
  ; The tuple is made last: the collector, and by it other threads, must not see one with empty places.
  %new_tuple = load ptr, ptr @PyTuple_New
  %packed = call ptr %new_tuple(i64 %result_count)
  %no_tuple = icmp eq ptr %packed, null
  br i1 %no_tuple, label %failed, label %fill
fill:
  %items = getelementptr i8, ptr %packed, i64 TUPLE_ITEMS
  %items_size = shl i64 %result_count, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %items, ptr %objects, i64 %items_size, i1 false)
  %is_tuple = icmp eq i64 %result_structure, 2
  br i1 %is_tuple, label %return_tuple, label %call_structure
return_tuple:
  ret ptr %packed
call_structure:
  %structure_function = field ptr %entry, Entry_structure
  %call = load ptr, ptr @PyObject_CallOneArg
  %structured = call ptr %call(ptr %structure_function, ptr %packed)
  call void @drop(ptr %packed)
  ret ptr %structured

failed:
  %existing = phi i64 [ %result, %new_array ], [ %result_count, %new_scalar ], [ %result_count, %tuple ]
  call void @drop_all(ptr %objects, i64 %existing)
  ret ptr null
}

; Calls error(status), which raises. An exception that the kernel has set stands.
define internal ptr @raise(ptr %error, i32 %status) {
  %get_exception = load ptr, ptr @PyErr_Occurred
  %exception = call ptr %get_exception()
  %is_clear = icmp eq ptr %exception, null
  br i1 %is_clear, label %convert, label %done
convert:
  %wide = sext i32 %status to i64
  %from_integer = load ptr, ptr @PyLong_FromLongLong
  %code = call ptr %from_integer(i64 %wide)
  %no_code = icmp eq ptr %code, null
  br i1 %no_code, label %done, label %call_error
call_error:
  %call = load ptr, ptr @PyObject_CallOneArg
  %result = call ptr %call(ptr %error, ptr %code)
  call void @drop(ptr %code)
  %raised = icmp eq ptr %result, null
  br i1 %raised, label %done, label %returned
returned:
  call void @drop(ptr %result)
  %set = load ptr, ptr @PyErr_SetString
  %class = load ptr, ptr @system_error
  call void %set(ptr %class, ptr @did_not_raise)
  br label %done
done:
  ret ptr null
}

define internal void @retain(ptr %object) {
  %increment = load ptr, ptr @Py_IncRef
  tail call void %increment(ptr %object)
  ret void
}

define internal void @drop(ptr %object) {
  %decrement = load ptr, ptr @Py_DecRef
  tail call void %decrement(ptr %object)
  ret void
}

; Py_DecRef takes NULL.
define internal void @drop_all(ptr %objects, i64 %count) {
start:
  br label %next
next:
  %index = phi i64 [ 0, %start ], [ %after, %one ]
  %done = icmp eq i64 %index, %count
  br i1 %done, label %all, label %one
one:
  %object_at = getelementptr ptr, ptr %objects, i64 %index
  %object = load ptr, ptr %object_at
  call void @drop(ptr %object)
  %after = add i64 %index, 1
  br label %next
all:
  ret void
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""

_DID_NOT_RAISE = b"the error function of a compiled kernel returned instead of raising an exception\0"


def assembly(names: dict[str, int]) -> str:
    """The LLVM assembly of the module, with its one public function ``entry``.

    names: the value of each name in capitals or of the form ``Record_field``. Raises KeyError for a name without one.
    """
    text = _ENTRY + _GUARDS + _EXECUTION
    text = re.sub(
        r"(%\w+) = field (\w+) (%\w+), (\w+)", r"\1.at = getelementptr i8, ptr \3, i64 \4\n  \1 = load \2, ptr \1.at", text
    )
    text = re.sub(r"\b(?:[A-Z]+_[A-Z_]+|(?:Entry|Argument|Result)_\w+)\b(?!\()", lambda match: _value(names, match[0]), text)
    globals_ = "".join(f"@{name} = global ptr null\n" for name in FUNCTIONS + OBJECTS)
    message = _DID_NOT_RAISE.decode().replace("\0", "\\00")
    return f'{globals_}@did_not_raise = constant [{len(_DID_NOT_RAISE)} x i8] c"{message}"\n{text}'


def _value(names: dict[str, int], name: str) -> str:
    # Comments speak of C-API macros.
    return name if name.startswith("PY_") else str(names[name])
