"""The native code of all calls: one vectorcall function that reads what to accept and return from records.

It is the same for all signatures, so a new signature costs no compilation, only a record (`records`): tried the other way, code
emitted for each signature takes three times as long to emit and to compile as a small kernel itself, and saves a tenth of the
time of a call (most of which is NumPy's allocation of the result). The code is LLVM assembly in its final form, to be compiled
without passes; functions off the fast path are marked ``optnone``, which makes compiling them cheaper.
"""

from __future__ import annotations

from . import assembly, guards, lookup, python_calls

# Kinds of argument records.
ARGUMENT_INLINE, ARGUMENT_ARRAY, ARGUMENT_INTEGER, ARGUMENT_BOOL, ARGUMENT_STATIC = range(5)
# Kinds of result records.
RESULT_ARRAY, RESULT_SCALAR, RESULT_ARGUMENT, RESULT_ERROR_CODE = range(4)

# In bytes: what the frame of a call takes of the stack; the memory of a larger one is allocated.
SMALL_FRAME = 1 << 11

# The functions of CPython and NumPy that the code calls, through a global of the same name that is filled at load.
FUNCTIONS = (
    "PyObject_GetAttr",
    "PyObject_Vectorcall",
    "PyObject_CallOneArg",
    "PyErr_NoMemory",
    "PyErr_Occurred",
    "PyErr_SetString",
    "PyLong_FromLongLong",
    "PyLong_AsLongLongAndOverflow",
    "PyMem_Free",
    "PyMem_Malloc",
    "PyTuple_New",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "Py_IncRef",
    "Py_DecRef",
    "PyArray_Scalar",
)
# The objects it names, likewise.
OBJECTS = ("call_in_python", "none", "true", "system_error")

_ENTRY = """
; What the instances of a vectorcall type point to: an entry that the call fits takes it, else call_in_python is called.
; The word before the vectorcall pointer is the instance's own reference to the tuple of its entries (`lookup`). The call holds
; a reference of its own, since the entries may be exchanged while it runs.
define ptr @entry(ptr %self, ptr %args, i64 %nargsf, ptr %names) {
start:
  %small_frame = alloca [SMALL_FRAME x i8], align 16
  %type = field ptr %self, OBJECT_TYPE
  %offset = field i64 %type, TYPE_VECTORCALL_OFFSET
  %vectorcall_at = getelementptr i8, ptr %self, i64 %offset
  %entries = field ptr %vectorcall_at, ENTRIES_OFFSET
  %no_entries = icmp eq ptr %entries, null
  br i1 %no_entries, label %miss, label %check_size
check_size:
  %size = field i64 %entries, TUPLE_SIZE
  %is_empty = icmp eq i64 %size, 0
  br i1 %is_empty, label %miss, label %search
search:
  ; All versions of CPython count the references to what is not immortal in these bits.
  %references = load i32, ptr %entries
  %more_references = add i32 %references, 1
  store i32 %more_references, ptr %entries
  %items = getelementptr i8, ptr %entries, i64 TUPLE_ITEMS
  %table_object = load ptr, ptr %items
  %table = getelementptr i8, ptr %table_object, i64 BYTES_DATA
  %mask = field i64 %table, Table_mask
  %slots = getelementptr i8, ptr %table, i64 Table_SIZE
  %has_slots = icmp sge i64 %mask, 0
  %last = sub i64 %size, 2
  br i1 %has_slots, label %hash_call, label %next
hash_call:
  %hash = call i64 @hash_of_call(ptr %table, ptr %args, i64 %nargsf, ptr %names)
  br label %next
next:
  ; The number of a slot, or a position among the items.
  %at = phi i64 [ %last, %search ], [ %hash, %hash_call ], [ %at_after, %tried ]
  br i1 %has_slots, label %read_slot, label %check_position
read_slot:
  %slot = and i64 %at, %mask
  %slot_at = getelementptr i64, ptr %slots, i64 %slot
  %in_slot = load i64, ptr %slot_at
  br label %check_position
check_position:
  %position = phi i64 [ %at, %next ], [ %in_slot, %read_slot ]
  %step = phi i64 [ -2, %next ], [ 1, %read_slot ]
  %at_after = add i64 %at, %step
  %end = icmp slt i64 %position, 0
  br i1 %end, label %none_fits, label %try
try:
  %record_at = getelementptr ptr, ptr %items, i64 %position
  %record_object = load ptr, ptr %record_at
  %entry = getelementptr i8, ptr %record_object, i64 BYTES_DATA
  %frame_size = field i64 %entry, Entry_frame_size
  %is_small = icmp ule i64 %frame_size, SMALL_FRAME
  br i1 %is_small, label %on_stack, label %on_heap
on_stack:
  %result_on_stack = call ptr @attempt(ptr %entry, ptr %args, i64 %nargsf, ptr %names, ptr %small_frame)
  br label %tried
on_heap:
  %result_on_heap = call ptr @attempt_on_heap(ptr %entry, ptr %args, i64 %nargsf, ptr %names)
  br label %tried
tried:
  %result = phi ptr [ %result_on_stack, %on_stack ], [ %result_on_heap, %on_heap ]
  %does_not_fit = icmp eq ptr %result, @does_not_fit
  br i1 %does_not_fit, label %next, label %done
done:
  %references_after = load i32, ptr %entries
  %is_last = icmp eq i32 %references_after, 1
  br i1 %is_last, label %drop_entries, label %keep_entries
keep_entries:
  %less_references = sub i32 %references_after, 1
  store i32 %less_references, ptr %entries
  ret ptr %result
drop_entries:
  call void @drop(ptr %entries)
  ret ptr %result
none_fits:
  call void @drop(ptr %entries)
  br label %miss
miss:
  %missed = musttail call ptr @miss(ptr %self, ptr %args, i64 %nargsf, ptr %names)
  ret ptr %missed
}

; For calls with many arguments or results: the stack of a thread may be small.
define internal ptr @attempt_on_heap(ptr %entry, ptr %args, i64 %nargsf, ptr %names) noinline optnone {
  %frame_size = field i64 %entry, Entry_frame_size
  %allocate = load ptr, ptr @PyMem_Malloc
  %frame = call ptr %allocate(i64 %frame_size)
  %no_frame = icmp eq ptr %frame, null
  br i1 %no_frame, label %failed, label %allocated
allocated:
  %result = call ptr @attempt(ptr %entry, ptr %args, i64 %nargsf, ptr %names, ptr %frame)
  %free = load ptr, ptr @PyMem_Free
  call void %free(ptr %frame)
  ret ptr %result
failed:
  %set = load ptr, ptr @PyErr_NoMemory
  %nothing = call ptr %set()
  ret ptr null
}

@does_not_fit = internal constant i8 0

; self.call_in_python(*args, **kwargs)
define internal ptr @miss(ptr %self, ptr %args, i64 %nargsf, ptr %names) noinline optnone {
  %name = load ptr, ptr @call_in_python
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

_ATTEMPT = """
; Takes a call if it fits an entry: checks it, by reads alone, while gathering the addresses of the data in a frame; makes
; the results, runs the kernel, and returns the results as one object. Returns @does_not_fit if it does not fit.
define internal ptr @attempt(ptr %entry, ptr %args, i64 %nargsf, ptr %names, ptr %frame) {
start:
  %data_offset = field i64 %entry, Entry_data_offset
  %data = getelementptr i8, ptr %frame, i64 %data_offset
  %cells_distance = field i64 %entry, Entry_cells_distance
  ; The top bit is PY_VECTORCALL_ARGUMENTS_OFFSET.
  %count = and i64 %nargsf, 9223372036854775807
  %no_names = icmp eq ptr %names, null
  br i1 %no_names, label %check_count, label %check_names
check_names:
  %names_fit = call i1 @names_fit(ptr %entry, i64 %count, ptr %names)
  br i1 %names_fit, label %outside, label %no
check_count:
  %unnamed_count = field i64 %entry, Entry_unnamed_count
  %same_count = icmp eq i64 %count, %unnamed_count
  br i1 %same_count, label %outside, label %no

outside:
  ; Words of memory, each an address and what has to stand there.
  %words = field ptr %entry, Entry_words
  %words_end = field ptr %entry, Entry_words_end
  br label %next_word
next_word:
  %word = phi ptr [ %words, %outside ], [ %word_after, %compare_word ]
  %words_done = icmp eq ptr %word, %words_end
  br i1 %words_done, label %arguments, label %compare_word
compare_word:
  %word_at = load ptr, ptr %word
  %expected_at = getelementptr i64, ptr %word, i64 1
  %expected_word = load i64, ptr %expected_at
  %found_word = load i64, ptr %word_at
  %same_word = icmp eq i64 %found_word, %expected_word
  %word_after = getelementptr i64, ptr %word, i64 2
  br i1 %same_word, label %next_word, label %no

arguments:
  %guards = field ptr %entry, Entry_arguments
  %guards_end = field ptr %entry, Entry_captures
  br label %next_argument
next_argument:
  %guard = phi ptr [ %guards, %arguments ], [ %guard_after, %argument_done ]
  %object_at = phi ptr [ %args, %arguments ], [ %object_after, %argument_done ]
  %data_at = phi ptr [ %data, %arguments ], [ %data_after, %argument_done ]
  %arguments_done = icmp eq ptr %guard, %guards_end
  br i1 %arguments_done, label %captures, label %check_argument
check_argument:
  %object = load ptr, ptr %object_at
  %type = field ptr %object, OBJECT_TYPE
  %kind = field i64 %guard, Argument_kind
  %expected = field ptr %guard, Argument_expected
  %same_type = icmp eq ptr %type, %expected
  br i1 %same_type, label %check_kind, label %check_static
check_static:
  %is_static = icmp eq i64 %kind, ARGUMENT_STATIC
  %identical = icmp eq ptr %object, %expected
  %is_wanted = and i1 %is_static, %identical
  br i1 %is_wanted, label %argument_done, label %no
check_kind:
  %data_one_after = getelementptr ptr, ptr %data_at, i64 1
  %is_array = icmp eq i64 %kind, ARGUMENT_ARRAY
  br i1 %is_array, label %array, label %not_array
array:
  %array_fits = call i1 @array_fits(ptr %guard, ptr %object)
  %array_data = field ptr %object, ARRAY_DATA
  store ptr %array_data, ptr %data_at
  br i1 %array_fits, label %argument_done, label %no
not_array:
  switch i64 %kind, label %inline [ i64 ARGUMENT_STATIC, label %check_static
                                    i64 ARGUMENT_INTEGER, label %integer
                                    i64 ARGUMENT_BOOL, label %bool ]
inline:
  ; The object holds the value as the kernel reads it, and lives as long as the call.
  %value_at = getelementptr i8, ptr %object, i64 SCALAR_VALUE
  store ptr %value_at, ptr %data_at
  br label %argument_done
integer:
  %integer_at = getelementptr i8, ptr %data_at, i64 %cells_distance
  %convert = load ptr, ptr @PyLong_AsLongLongAndOverflow
  %integer_value = call i64 %convert(ptr %object, ptr %integer_at)
  %overflow = load i32, ptr %integer_at
  store i64 %integer_value, ptr %integer_at
  store ptr %integer_at, ptr %data_at
  %least = field i64 %guard, Argument_least
  %greatest = field i64 %guard, Argument_greatest
  %is_64_bits = icmp eq i32 %overflow, 0
  %is_not_below = icmp sge i64 %integer_value, %least
  %is_not_above = icmp sle i64 %integer_value, %greatest
  %is_between = and i1 %is_not_below, %is_not_above
  %integer_fits = and i1 %is_64_bits, %is_between
  br i1 %integer_fits, label %argument_done, label %no
bool:
  %bool_at = getelementptr i8, ptr %data_at, i64 %cells_distance
  %true = load ptr, ptr @true
  %is_true = icmp eq ptr %object, %true
  %bool_value = zext i1 %is_true to i8
  store i8 %bool_value, ptr %bool_at
  store ptr %bool_at, ptr %data_at
  br label %argument_done
argument_done:
  %data_after = phi ptr [ %data_at, %check_static ], [ %data_one_after, %array ], [ %data_one_after, %inline ],
                        [ %data_one_after, %integer ], [ %data_one_after, %bool ]
  %guard_after = getelementptr i8, ptr %guard, i64 Argument_SIZE
  %object_after = getelementptr ptr, ptr %object_at, i64 1
  br label %next_argument

captures:
  %captures_end = field ptr %entry, Entry_captures_end
  br label %next_capture
next_capture:
  %capture = phi ptr [ %guards_end, %captures ], [ %capture_after, %check_capture ]
  %captured_data_at = phi ptr [ %data_at, %captures ], [ %captured_data_after, %check_capture ]
  %captures_done = icmp eq ptr %capture, %captures_end
  br i1 %captures_done, label %results, label %check_capture
check_capture:
  %captured = field ptr %capture, Argument_captured
  %captured_fits = call i1 @array_fits(ptr %capture, ptr %captured)
  %captured_data = field ptr %captured, ARRAY_DATA
  store ptr %captured_data, ptr %captured_data_at
  %captured_data_after = getelementptr ptr, ptr %captured_data_at, i64 1
  %capture_after = getelementptr i8, ptr %capture, i64 Argument_SIZE
  br i1 %captured_fits, label %next_capture, label %no
no:
  ret ptr @does_not_fit

results:
  %memory_offset = field i64 %entry, Entry_memory_offset
  %memory = getelementptr i8, ptr %frame, i64 %memory_offset
  %objects_offset = field i64 %entry, Entry_objects_offset
  %objects = getelementptr i8, ptr %frame, i64 %objects_offset
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
                                               i64 RESULT_SCALAR, label %scalar_memory
                                               i64 RESULT_ERROR_CODE, label %scalar_memory ]
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
  %memory_after = phi ptr [ %memory_at, %prepare_result ], [ %memory_one_after, %allocated ],
                          [ %memory_one_after, %scalar_memory ]
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
  br i1 %success, label %check_error_code, label %error
check_error_code:
  %error_code_offset = field i64 %entry, Entry_error_code_offset
  %has_error_code = icmp sge i64 %error_code_offset, 0
  br i1 %has_error_code, label %read_error_code, label %finish
read_error_code:
  %error_code_at = getelementptr i8, ptr %frame, i64 %error_code_offset
  %error_code = load i32, ptr %error_code_at
  %negative_code = sub i32 0, %error_code
  %no_error = icmp eq i32 %error_code, 0
  br i1 %no_error, label %finish, label %error
error:
  %raised_status = phi i32 [ %status, %ran ], [ %negative_code, %read_error_code ]
  call void @drop_all(ptr %objects, i64 %result_count)
  %error_function = field ptr %entry, Entry_error
  %raised = call ptr @raise(ptr %error_function, i32 %raised_status)
  ret ptr %raised

finish:
  ; The first form of result needs no more than this.
  %returned_count = field i64 %entry, Entry_returned_count
  %is_array_alone = field i64 %entry, Entry_is_array_alone
  %is_finished = icmp ne i64 %is_array_alone, 0
  br i1 %is_finished, label %single, label %next_finish
next_finish:
  %index = phi i64 [ 0, %finish ], [ %index_after, %finish_done ]
  %record = phi ptr [ %first_result, %finish ], [ %record_after, %finish_done ]
  %all_finished = icmp eq i64 %index, %returned_count
  br i1 %all_finished, label %structure, label %finish_one
finish_one:
  %kind_to_finish = field i64 %record, Result_kind
  switch i64 %kind_to_finish, label %finish_done [ i64 RESULT_SCALAR, label %new_scalar
                                                  i64 RESULT_ARGUMENT, label %same_argument ]
new_scalar:
  %value_offset = shl i64 %index, 4
  %scalar_value_at = getelementptr i8, ptr %frame, i64 %value_offset
  %scalar_dtype = field ptr %record, Result_dtype
  %make_scalar = load ptr, ptr @PyArray_Scalar
  %scalar = call ptr %make_scalar(ptr %scalar_value_at, ptr %scalar_dtype, ptr null)
  %no_scalar = icmp eq ptr %scalar, null
  br i1 %no_scalar, label %failed, label %store_object
same_argument:
  %source = field i64 %record, Result_argument
  %source_at = getelementptr ptr, ptr %args, i64 %source
  %returned_argument = load ptr, ptr %source_at
  call void @retain(ptr %returned_argument)
  br label %store_object
store_object:
  %finished_object = phi ptr [ %scalar, %new_scalar ], [ %returned_argument, %same_argument ]
  %finished_object_at = getelementptr ptr, ptr %objects, i64 %index
  store ptr %finished_object, ptr %finished_object_at
  br label %finish_done
finish_done:
  %index_after = add i64 %index, 1
  %record_after = getelementptr i8, ptr %record, i64 Result_SIZE
  br label %next_finish

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
  %packed = call ptr %new_tuple(i64 %returned_count)
  %no_tuple = icmp eq ptr %packed, null
  br i1 %no_tuple, label %failed, label %fill
fill:
  %items = getelementptr i8, ptr %packed, i64 TUPLE_ITEMS
  %items_size = shl i64 %returned_count, 3
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
define internal ptr @raise(ptr %error, i32 %status) noinline optnone {
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
define internal void @drop_all(ptr %objects, i64 %count) noinline optnone {
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


def module_assembly(names: dict[str, int]) -> str:
    """The LLVM assembly of the module: ``entry`` and the functions of `python_calls` are public.

    names: the value of each name in capitals or of the form ``Record_field``. Raises KeyError for a name without one.
    """
    text = assembly.substitute(_ENTRY + lookup.ASSEMBLY + guards.ASSEMBLY + _ATTEMPT + python_calls.ASSEMBLY, names)
    message = _DID_NOT_RAISE.decode().replace("\0", "\\00")
    constant = f'@did_not_raise = internal constant [{len(_DID_NOT_RAISE)} x i8] c"{message}"\n'
    return assembly.pointers((*FUNCTIONS, *OBJECTS, *python_calls.FUNCTIONS, *python_calls.VARIABLES)) + constant + text
