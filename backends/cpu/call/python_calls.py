"""What native code asks of the interpreter: to call a function, whether it is to go on, to keep an object.

The functions are called with the global interpreter lock or without it. An exception stays set in the thread, whichever code it
comes from, a signal's handler too, and their callers return at once: through all loops, to whoever called the native code.
"""

from __future__ import annotations

import ctypes
import functools
import os

from ....runtime.communicator import raise_if_run_has_failed
from . import object_layout

# Kernels end with these codes where an exception is set.
CALL_FAILED, INTERRUPTED = 2, 3

# A thread looks for interrupts this often, in nanoseconds, wherever it is asked to.
_INTERVAL = 50_000_000

# In the form of `entry_code`'s: functions, and what else is filled at load.
FUNCTIONS = (
    "PyCapsule_GetPointer",
    "PyErr_CheckSignals",
    "PyGILState_Ensure",
    "PyGILState_Release",
    "PyLong_FromVoidPtr",
    "PyObject_CallNoArgs",
    "PyThread_tss_get",
    "PyThread_tss_set",
)
VARIABLES = ("timespec_get", "checked_key", "go_on")

CALL_PYTHON, CHECK_INTERRUPTS, RUN_KERNEL = "phlox.call_python", "phlox.check_interrupts", "phlox.run_kernel"
DROP_HIDDEN = "phlox.drop_hidden"
NAMES = (CALL_PYTHON, CHECK_INTERRUPTS, RUN_KERNEL, DROP_HIDDEN)

ASSEMBLY = f"""
; Calls function(address), a Python object; returns 0, or CALL_FAILED with the exception set.
define i32 @{CALL_PYTHON}(ptr %function, ptr %address) noinline optnone {{
  %ensure = load ptr, ptr @PyGILState_Ensure
  %state = call i32 %ensure()
  %from_pointer = load ptr, ptr @PyLong_FromVoidPtr
  %argument = call ptr %from_pointer(ptr %address)
  %no_argument = icmp eq ptr %argument, null
  br i1 %no_argument, label %done, label %call
call:
  %call_one = load ptr, ptr @PyObject_CallOneArg
  %result = call ptr %call_one(ptr %function, ptr %argument)
  call void @drop(ptr %argument)
  br label %done
done:
  %value = phi ptr [ null, %0 ], [ %result, %call ]
  call void @drop(ptr %value)
  %failed = icmp eq ptr %value, null
  %code = select i1 %failed, i32 {CALL_FAILED}, i32 0
  %release = load ptr, ptr @PyGILState_Release
  call void %release(i32 %state)
  ret i32 %code
}}

; Lets the interpreter do what waits for this thread, unless it has done so shortly before: handlers of signals, exceptions that
; other threads raise in it, and other threads' turns. Returns 0, or INTERRUPTED with the exception set.
define i32 @{CHECK_INTERRUPTS}() noinline optnone {{
  %time = alloca {{ i64, i64 }}, align 8
  %read_clock = load ptr, ptr @timespec_get
  %base = call i32 %read_clock(ptr %time, i32 1)
  %seconds = load i64, ptr %time
  %nanoseconds_at = getelementptr i8, ptr %time, i64 8
  %nanoseconds = load i64, ptr %nanoseconds_at
  %scaled = mul i64 %seconds, 1000000000
  %now = add i64 %scaled, %nanoseconds
  %key = load ptr, ptr @checked_key
  %get = load ptr, ptr @PyThread_tss_get
  %value = call ptr %get(ptr %key)
  %last = ptrtoint ptr %value to i64
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
  %found = phi i32 [ %raised, %check ], [ %entered, %enter_python ]
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
  ret i32 %status
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
