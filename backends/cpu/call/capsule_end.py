"""What becomes of a DLPack capsule that nobody has taken: its tensor is given back.

The function is native: who finds that a capsule is not for it drops it while its exception is set, which code of Python would
not leave as it is.
"""

from __future__ import annotations

from functools import cache

from ..kept_code import kept_object_code
from ..target import host_target
from .native_functions import load_for_good
from .object_layout import function_address

_FUNCTIONS = ("PyCapsule_IsValid", "PyCapsule_GetPointer", "PyErr_Fetch", "PyErr_Restore")

# A capsule that was taken has another name; PyCapsule_IsValid sets no exception.
_ASSEMBLY = """
@name = internal constant [9 x i8] c"dltensor\\00"
define void @end(ptr %capsule) {
  %type = alloca ptr
  %value = alloca ptr
  %traceback = alloca ptr
  %PyCapsule_IsValid = load ptr, ptr @PyCapsule_IsValid
  %is_valid = call i32 %PyCapsule_IsValid(ptr %capsule, ptr @name)
  %is_taken = icmp eq i32 %is_valid, 0
  br i1 %is_taken, label %done, label %drop
drop:
  %PyCapsule_GetPointer = load ptr, ptr @PyCapsule_GetPointer
  %tensor = call ptr %PyCapsule_GetPointer(ptr %capsule, ptr @name)
  %place = getelementptr i8, ptr %tensor, i64 DELETER
  %deleter = load ptr, ptr %place
  %PyErr_Fetch = load ptr, ptr @PyErr_Fetch
  call void %PyErr_Fetch(ptr %type, ptr %value, ptr %traceback)
  call void %deleter(ptr %tensor)
  %PyErr_Restore = load ptr, ptr @PyErr_Restore
  %its_type = load ptr, ptr %type
  %its_value = load ptr, ptr %value
  %its_traceback = load ptr, ptr %traceback
  call void %PyErr_Restore(ptr %its_type, ptr %its_value, ptr %its_traceback)
  br label %done
done:
  ret void
}
"""


@cache
def capsule_end(deleter: int) -> int:
    """The address of the destructor of capsules whose tensors have the address of what deletes them at this byte."""
    variables = "".join([f"@{name} = global ptr null\n" for name in _FUNCTIONS])
    code = kept_object_code(variables + _ASSEMBLY.replace("DELETER", str(deleter)), host_target())
    return load_for_good(code, {name: function_address(name) for name in _FUNCTIONS}, ("end",))["end"]
