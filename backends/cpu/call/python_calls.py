"""What native code asks of the interpreter: to call a function, whether it is to go on, to keep an object.

The functions are called with the global interpreter lock or without it. An exception stays set in the thread, whichever code it
comes from, a signal's handler too, and their callers return at once: through all loops, to whoever called the native code.
"""

from __future__ import annotations

import ctypes
import functools
import os

import numpy as np

from ....runtime.communicator import raise_if_run_has_failed
from . import object_layout

# Kernels end with these codes where an exception is set.
CALL_FAILED, INTERRUPTED = 2, 3

# A thread looks for interrupts this often, in nanoseconds, wherever it is asked to.
_INTERVAL = 50_000_000

# A thread keeps the time of its last look; a worker of the pool, marked by this bit, the address of a word that is not 0 once
# its work is in vain.
WORKER_MARK = -(1 << 63)

# In the form of `entry_code`'s: functions, and what else is filled at load.
FUNCTIONS = (
    "PyCapsule_GetPointer",
    "PyErr_CheckSignals",
    "PyGILState_Check",
    "PyGILState_Ensure",
    "PyGILState_Release",
    "PyLong_FromVoidPtr",
    "PyObject_CallNoArgs",
    "PyThread_tss_get",
    "PyThread_tss_set",
)
VARIABLES = ("timespec_get", "checked_key", "go_on")

CALL_PYTHON, CHECK_INTERRUPTS, RUN_KERNEL = "phlox.call_python", "phlox.check_interrupts", "phlox.run_kernel"
DROP_HIDDEN, LOOK_FOR_EXCEPTION = "phlox.drop_hidden", "phlox.look_for_exception"

# What a call does with results, besides dropping them: the function stores them; or it returns a value of this type.
CALL_PASSES_TABLE, CALL_STORES_TRUTH, CALL_STORES_FLOAT, CALL_STORES_INTEGER, CALL_STORES_ARRAY = range(1, 6)
STORES = {bool: CALL_STORES_TRUTH, float: CALL_STORES_FLOAT, int: CALL_STORES_INTEGER, np.ndarray: CALL_STORES_ARRAY}
NAMES = (CALL_PYTHON, CHECK_INTERRUPTS, RUN_KERNEL, DROP_HIDDEN, LOOK_FOR_EXCEPTION)

ASSEMBLY = f"""
; Calls a Python function with objects made of operands; returns 0, or CALL_FAILED with the exception set. table: the addresses
; of the operands' data, then of the results'. The function gets the address of the part of it that no objects are made of, too,
; where it asks for it. Where there is no function the text of a number is written, where there are places for characters the
; text that it returns (`texts`).
define i32 @{CALL_PYTHON}(ptr %call, ptr %table) noinline {{
start:
  %ensure = load ptr, ptr @PyGILState_Ensure
  %state = call i32 %ensure()
  %function = field ptr %call, Call_function
  %count = field i64 %call, Call_count
  %first_record = field ptr %call, Call_operands
  %results = field i64 %call, Call_results
  %places = field i64 %call, Call_places
  %no_function = icmp eq ptr %function, null
  br i1 %no_function, label %write_number, label %allocate_objects
write_number:
  %is_shown = call i1 @write_shown(ptr %first_record, i64 %places, ptr %table)
  %none = load ptr, ptr @none
  %shown = select i1 %is_shown, ptr %none, ptr null
  br label %done
allocate_objects:
  %all = add i64 %count, 1
  %objects_size = shl i64 %all, 3
  %allocate = load ptr, ptr @PyMem_Malloc
  %objects = call ptr %allocate(i64 %objects_size)
  %no_objects = icmp eq ptr %objects, null
  br i1 %no_objects, label %no_memory, label %next
no_memory:
  %set = load ptr, ptr @PyErr_NoMemory
  %nothing = call ptr %set()
  br label %done
next:
  %made = phi i64 [ 0, %allocate_objects ], [ %made_after, %make ]
  %record = phi ptr [ %first_record, %allocate_objects ], [ %record_after, %make ]
  %data_at = getelementptr ptr, ptr %table, i64 %made
  %is_complete = icmp eq i64 %made, %count
  br i1 %is_complete, label %complete, label %make
make:
  %data = load ptr, ptr %data_at
  %object = call ptr @operand_of(ptr %record, ptr %data)
  %object_at = getelementptr ptr, ptr %objects, i64 %made
  store ptr %object, ptr %object_at
  %made_after = add i64 %made, 1
  %record_after = getelementptr i8, ptr %record, i64 Result_SIZE
  %no_object = icmp eq ptr %object, null
  br i1 %no_object, label %drop, label %next
complete:
  %has_table = icmp eq i64 %results, {CALL_PASSES_TABLE}
  br i1 %has_table, label %pass_table, label %call_function
pass_table:
  %from_pointer = load ptr, ptr @PyLong_FromVoidPtr
  %address = call ptr %from_pointer(ptr %data_at)
  %address_at = getelementptr ptr, ptr %objects, i64 %count
  store ptr %address, ptr %address_at
  %no_address = icmp eq ptr %address, null
  br i1 %no_address, label %drop, label %call_function
call_function:
  %given = phi i64 [ %count, %complete ], [ %all, %pass_table ]
  %vectorcall = load ptr, ptr @PyObject_Vectorcall
  %returned = call ptr %vectorcall(ptr %function, ptr %objects, i64 %given, ptr null)
  br label %drop
drop:
  %held = phi i64 [ %made, %make ], [ %count, %pass_table ], [ %given, %call_function ]
  %value = phi ptr [ null, %make ], [ null, %pass_table ], [ %returned, %call_function ]
  call void @drop_all(ptr %objects, i64 %held)
  %free = load ptr, ptr @PyMem_Free
  call void %free(ptr %objects)
  %returns_text = icmp ne i64 %places, 0
  br i1 %returns_text, label %write, label %drop_value
write:
  %results_at = getelementptr ptr, ptr %table, i64 %count
  %is_written = call i1 @write_text(ptr %value, i64 %places, ptr %results_at)
  %none_object = load ptr, ptr @none
  %written = select i1 %is_written, ptr %none_object, ptr null
  br label %done
drop_value:
  ; Of exactly the type that the function is for.
  %result_place = getelementptr ptr, ptr %table, i64 %count
  %is_nothing = icmp eq ptr %value, null
  br i1 %is_nothing, label %drop_returned, label %store_number
store_number:
  switch i64 %results, label %drop_returned [ i64 {CALL_STORES_TRUTH}, label %store_flag
                                                   i64 {CALL_STORES_FLOAT}, label %store_float
                                                   i64 {CALL_STORES_INTEGER}, label %store_integer
                                                   i64 {CALL_STORES_ARRAY}, label %store_array ]
store_array:
  %array_at = load ptr, ptr %result_place
  %array_data = field ptr %value, ARRAY_DATA
  %array_bytes = field i64 %call, Call_bytes
  call void @llvm.memcpy.p0.p0.i64(ptr %array_at, ptr %array_data, i64 %array_bytes, i1 false)
  br label %drop_returned
store_float:
  %float_at = load ptr, ptr %result_place
  %float = field i64 %value, SCALAR_VALUE
  store i64 %float, ptr %float_at
  br label %drop_returned
store_integer:
  %integer_at = load ptr, ptr %result_place
  %convert = load ptr, ptr @PyLong_AsLongLong
  %integer = call i64 %convert(ptr %value)
  store i64 %integer, ptr %integer_at
  br label %drop_returned
store_flag:
  %flag_at = load ptr, ptr %result_place
  %true_object = load ptr, ptr @true
  %is_true = icmp eq ptr %value, %true_object
  %flag = zext i1 %is_true to i8
  store i8 %flag, ptr %flag_at
  br label %drop_returned
drop_returned:
  call void @drop(ptr %value)
  br label %done
done:
  %result = phi ptr [ %shown, %write_number ], [ null, %no_memory ], [ %written, %write ], [ %value, %drop_returned ]
  %failed = icmp eq ptr %result, null
  %code = select i1 %failed, i32 {CALL_FAILED}, i32 0
  %release = load ptr, ptr @PyGILState_Release
  call void %release(i32 %state)
  ret i32 %code
}}

; The object of an operand: as of memory that a kernel fills, but an array is not to be written to.
define internal ptr @operand_of(ptr %record, ptr %data) {{
  %object = call ptr @object_of(ptr %record, ptr %data)
  %kind = field i64 %record, Result_kind
  %is_array = icmp eq i64 %kind, RESULT_ARRAY
  %is_made = icmp ne ptr %object, null
  %is_open = and i1 %is_array, %is_made
  br i1 %is_open, label %close, label %done
close:
  %flags = field i32 %object, ARRAY_FLAGS
  %without = and i32 %flags, NOT_WRITEABLE
  store i32 %without, ptr %flags.at
  br label %done
done:
  ret ptr %object
}}

; Lets the interpreter do what waits for this thread, unless it has done so shortly before: handlers of signals, exceptions that
; other threads raise in it, and other threads' turns. Returns 0, or INTERRUPTED with the exception set. A worker of the pool
; only finds out whether the thread that it works for has been interrupted.
define i32 @{CHECK_INTERRUPTS}() noinline optnone {{
  %time = alloca {{ i64, i64 }}, align 8
  %key = load ptr, ptr @checked_key
  %get = load ptr, ptr @PyThread_tss_get
  %value = call ptr %get(ptr %key)
  %last = ptrtoint ptr %value to i64
  %is_worker = icmp slt i64 %last, 0
  br i1 %is_worker, label %look_at_region, label %look_at_clock
look_at_region:
  %cancelled_place = xor i64 %last, {WORKER_MARK}
  %cancelled_at = inttoptr i64 %cancelled_place to ptr
  %cancelled = load atomic i32, ptr %cancelled_at monotonic, align 4
  %is_wanted = icmp eq i32 %cancelled, 0
  br i1 %is_wanted, label %fine, label %interrupted
look_at_clock:
  %read_clock = load ptr, ptr @timespec_get
  %base = call i32 %read_clock(ptr %time, i32 1)
  %seconds = load i64, ptr %time
  %nanoseconds_at = getelementptr i8, ptr %time, i64 8
  %nanoseconds = load i64, ptr %nanoseconds_at
  %scaled = mul i64 %seconds, 1000000000
  %now = add i64 %scaled, %nanoseconds
  %passed = sub i64 %now, %last
  ; Unsigned: a clock that was set back counts as one that has run far.
  %is_early = icmp ult i64 %passed, {_INTERVAL}
  br i1 %is_early, label %fine, label %check
check:
  %new_value = inttoptr i64 %now to ptr
  %set = load ptr, ptr @PyThread_tss_set
  %not_set = call i32 %set(ptr %key, ptr %new_value)
  %ensure = load ptr, ptr @PyGILState_Ensure
  %state = call i32 %ensure()
  %look = load ptr, ptr @PyErr_Occurred
  %exception = call ptr %look()
  %is_set = icmp ne ptr %exception, null
  br i1 %is_set, label %checked, label %look_for_signals
look_for_signals:
  %check_signals = load ptr, ptr @PyErr_CheckSignals
  %raised = call i32 %check_signals()
  %is_clear = icmp eq i32 %raised, 0
  br i1 %is_clear, label %enter_python, label %checked
enter_python:
  %call = load ptr, ptr @PyObject_CallNoArgs
  %function = load ptr, ptr @go_on
  %nothing = call ptr %call(ptr %function)
  call void @drop(ptr %nothing)
  %failed = icmp eq ptr %nothing, null
  %entered = sext i1 %failed to i32
  br label %checked
checked:
  %found = phi i32 [ 1, %check ], [ %raised, %look_for_signals ], [ %entered, %enter_python ]
  %release = load ptr, ptr @PyGILState_Release
  call void %release(i32 %state)
  %goes_on = icmp eq i32 %found, 0
  br i1 %goes_on, label %fine, label %interrupted
fine:
  ret i32 0
interrupted:
  ret i32 {INTERRUPTED}
}}

; Runs a kernel for Python code that has checked its arguments.
define i32 @{RUN_KERNEL}(ptr %kernel, ptr %arguments, ptr %results) noinline optnone {{
  %save = load ptr, ptr @PyEval_SaveThread
  %thread = call ptr %save()
  %status = call i32 %kernel(ptr %arguments, ptr %results)
  %restore = load ptr, ptr @PyEval_RestoreThread
  call void %restore(ptr %thread)
  %code = call i32 @code_behind(i32 %status)
  ret i32 %code
}}

; The status of a kernel, or CALL_FAILED where a function that it has called without the lock has set an exception.
define i32 @code_behind(i32 %status) {{
  %look = load ptr, ptr @PyErr_Occurred
  %exception = call ptr %look()
  %is_set = icmp ne ptr %exception, null
  %is_other = icmp ne i32 %status, {INTERRUPTED}
  %has_failed = and i1 %is_set, %is_other
  %code = select i1 %has_failed, i32 {CALL_FAILED}, i32 %status
  ret i32 %code
}}

; Whether a function that is not Python's has set an exception: 0 or CALL_FAILED. Without the lock nobody looks until the kernel
; has ended, since to wait for the lock takes as long as other threads do.
define i32 @{LOOK_FOR_EXCEPTION}() noinline optnone {{
  %has_lock = load ptr, ptr @PyGILState_Check
  %locked = call i32 %has_lock()
  %is_locked = icmp ne i32 %locked, 0
  br i1 %is_locked, label %look, label %fine
look:
  %code = call i32 @code_behind(i32 0)
  ret i32 %code
fine:
  ret i32 0
}}

; The destructor of a capsule that holds a Python object.
define void @{DROP_HIDDEN}(ptr %capsule) noinline optnone {{
  %get = load ptr, ptr @PyCapsule_GetPointer
  %object = call ptr %get(ptr %capsule, ptr null)
  call void @drop(ptr %object)
  ret void
}}
"""


def _go_on() -> None:
    """The interpreter handles on entry of any Python function what waits for the thread; devices of one run end together."""
    raise_if_run_has_failed()


@functools.cache
def variables() -> dict[str, int]:
    """What the `VARIABLES` are filled with."""
    library, name = (ctypes.CDLL(None), "timespec_get") if os.name == "posix" else (ctypes.CDLL("ucrtbase"), "_timespec64_get")
    address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    assert address is not None
    allocate = ctypes.PYFUNCTYPE(ctypes.c_void_p)(object_layout.python_api_address("PyThread_tss_alloc"))
    create = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(object_layout.python_api_address("PyThread_tss_create"))
    key = allocate()
    if not key or create(key):
        raise MemoryError("no thread-specific storage is left for the time of the last check for interrupts")
    return {"timespec_get": address, "checked_key": key, "go_on": id(_go_on)}
