"""The native code of all calls: one vectorcall function that reads what to accept and return from records.

It is the same for all signatures, so a new signature costs no compilation, only a record (`records`): tried the other way, code
emitted for each signature takes three times as long to emit and to compile as a small kernel itself, and saves a tenth of the
time of a call (most of which is NumPy's allocation of the result). The code is LLVM assembly in its final form, to be compiled
without passes; functions off the fast path are marked ``optnone``, which makes compiling them cheaper.
"""

from __future__ import annotations

from . import (
    assembly,
    attempt,
    entries,
    finishing,
    guards,
    kept_values,
    lookup,
    made_results,
    new_entries,
    places,
    python_calls,
    repetition,
    rows,
    shown,
    texts,
)

_PARTS = (
    lookup,
    guards,
    kept_values,
    places,
    attempt,
    repetition,
    finishing,
    made_results,
    rows,
    texts,
    shown,
    entries,
    new_entries,
    python_calls,
)

# In bytes: what the frame of a call takes of the stack, and what one takes that holds arrays that are no results, such as the
# characters of texts; the memory of a larger one is allocated.
SMALL_FRAME, LARGE_FRAME = 1 << 12, 3 << 13

# The functions of CPython and NumPy that the code calls, through a global of the same name that is filled at load.
FUNCTIONS = (
    *places.FUNCTIONS,
    *repetition.FUNCTIONS,
    *finishing.FUNCTIONS,
    *made_results.FUNCTIONS,
    *rows.FUNCTIONS,
    *texts.FUNCTIONS,
    *shown.FUNCTIONS,
    *entries.FUNCTIONS,
    *new_entries.FUNCTIONS,
    "PyContextVar_Get",
    "PyObject_GetAttr",
    "PyObject_Vectorcall",
    "PyObject_CallOneArg",
    "PyErr_ExceptionMatches",
    "PyErr_NoMemory",
    "PyErr_Occurred",
    "PyErr_SetString",
    "PyLong_FromLongLong",
    "PyLong_AsLongLong",
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
OBJECTS = ("call_in_python", "none", "true", "text_type", "system_error")

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
  call void @retain(ptr %entries)
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
  %at = phi i64 [ %last, %search ], [ %hash, %hash_call ], [ %at_after, %look_for_exception ]
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
  br i1 %is_small, label %on_stack, label %check_frame
on_stack:
  %result_on_stack = call ptr @attempt(ptr %entry, ptr %args, i64 %nargsf, ptr %names, ptr %small_frame)
  br label %tried
check_frame:
  %is_large = icmp ule i64 %frame_size, LARGE_FRAME
  br i1 %is_large, label %in_large_frame, label %on_heap
in_large_frame:
  %result_in_large_frame = call ptr @attempt_in_large_frame(ptr %entry, ptr %args, i64 %nargsf, ptr %names)
  br label %tried
on_heap:
  %result_on_heap = call ptr @attempt_on_heap(ptr %entry, ptr %args, i64 %nargsf, ptr %names)
  br label %tried
tried:
  %result = phi ptr [ %result_on_stack, %on_stack ], [ %result_in_large_frame, %in_large_frame ], [ %result_on_heap, %on_heap ]
  %does_not_fit = icmp eq ptr %result, @does_not_fit
  br i1 %does_not_fit, label %look_for_exception, label %look_for_python
look_for_exception:
  ; Of Python code that has looked at an object.
  %get_exception = load ptr, ptr @PyErr_Occurred
  %exception = call ptr %get_exception()
  %is_clear = icmp eq ptr %exception, null
  br i1 %is_clear, label %next, label %done
look_for_python:
  %is_pythons = icmp eq ptr %result, @is_pythons
  br i1 %is_pythons, label %none_fits, label %done
done:
  %returned = phi ptr [ %result, %look_for_python ], [ null, %look_for_exception ]
  call void @drop(ptr %entries)
  ret ptr %returned
none_fits:
  call void @drop(ptr %entries)
  br label %miss
miss:
  %missed = musttail call ptr @miss(ptr %self, ptr %args, i64 %nargsf, ptr %names)
  ret ptr %missed
}

; Apart from the others, as it takes much of the stack.
define internal ptr @attempt_in_large_frame(ptr %entry, ptr %args, i64 %nargsf, ptr %names) noinline {
  %frame = alloca [LARGE_FRAME x i8], align 16
  %result = call ptr @attempt(ptr %entry, ptr %args, i64 %nargsf, ptr %names, ptr %frame)
  ret ptr %result
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
@is_pythons = internal constant i8 0

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

_HELPERS = """
; Calls error(status), which raises. An exception that the kernel has set stands.
define internal ptr @raise(ptr %error, i64 %status) noinline optnone {
  %get_exception = load ptr, ptr @PyErr_Occurred
  %exception = call ptr %get_exception()
  %is_clear = icmp eq ptr %exception, null
  br i1 %is_clear, label %convert, label %done
convert:
  %from_integer = load ptr, ptr @PyLong_FromLongLong
  %code = call ptr %from_integer(i64 %status)
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

; All versions of CPython count the references to an object in these bits, or have a negative number there, which stays.
define internal void @retain(ptr %object) alwaysinline {
  %references = load i32, ptr %object
  %more_references = add i32 %references, 1
  %stays = icmp slt i32 %references, 0
  %counted = select i1 %stays, i32 %references, i32 %more_references
  store i32 %counted, ptr %object
  ret void
}

; Does nothing with NULL.
define internal void @drop(ptr %object) alwaysinline {
  %decrement = load ptr, ptr @Py_DecRef
  tail call void %decrement(ptr %object)
  ret void
}

; Of most results no objects have been made.
define internal void @drop_all(ptr %objects, i64 %count) noinline {
start:
  br label %next
next:
  %index = phi i64 [ 0, %start ], [ %after, %one ], [ %after, %count_one ], [ %after, %drop_last ]
  %done = icmp eq i64 %index, %count
  br i1 %done, label %all, label %one
one:
  %object_at = getelementptr ptr, ptr %objects, i64 %index
  %object = load ptr, ptr %object_at
  %after = add i64 %index, 1
  %is_missing = icmp eq ptr %object, null
  br i1 %is_missing, label %next, label %drop_one
drop_one:
  %references = load i32, ptr %object
  %are_several = icmp sgt i32 %references, 1
  br i1 %are_several, label %count_one, label %drop_last
count_one:
  %less_references = sub i32 %references, 1
  store i32 %less_references, ptr %object
  br label %next
drop_last:
  call void @drop(ptr %object)
  br label %next
all:
  ret void
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""

_DID_NOT_RAISE = b"the error function of a compiled kernel returned instead of raising an exception\0"


def module_assembly(names: dict[str, int]) -> str:
    """The LLVM assembly of the module: ``entry`` and the functions of `python_calls` are public.

    names: the value of each name in capitals or of the form ``Record_field``. Raises KeyError for a name without one.
    """
    text = assembly.substitute(_ENTRY + _HELPERS + "".join([part.ASSEMBLY for part in _PARTS]), names)
    message = _DID_NOT_RAISE.decode().replace("\0", "\\00")
    constant = f'@did_not_raise = internal constant [{len(_DID_NOT_RAISE)} x i8] c"{message}"\n'
    return assembly.pointers((*FUNCTIONS, *OBJECTS, *python_calls.FUNCTIONS, *python_calls.VARIABLES)) + constant + text
