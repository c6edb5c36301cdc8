"""Calls that Python makes again: what is asked to take down what a program does outside; a part of `entry_code`'s code."""

from __future__ import annotations

# In the form of `entry_code`'s.
FUNCTIONS = ("PyErr_Fetch", "PyErr_Restore")

ASSEMBLY = """
; Lets Python take down what is done from now on; notes the function that ends this, NULL where there is none. Whether nothing
; was raised.
define internal i1 @begin_noting(ptr %entry, ptr %ending_at) {
start:
  store ptr null, ptr %ending_at
  %begin = field ptr %entry, Entry_noting
  %notes_nothing = icmp eq ptr %begin, null
  br i1 %notes_nothing, label %fine, label %ask
ask:
  %call = load ptr, ptr @PyObject_CallNoArgs
  %ending = call ptr %call(ptr %begin)
  store ptr %ending, ptr %ending_at
  %failed = icmp eq ptr %ending, null
  br i1 %failed, label %raised, label %fine
fine:
  ret i1 true
raised:
  ret i1 false
}

; Ends this, and says whether Python makes the call again. An exception that is set stays so, before one that is raised here.
; Whether nothing was raised here.
define internal i1 @end_noting(ptr %ending_at, i1 %is_made_again) {
start:
  %type_at = alloca ptr
  %value_at = alloca ptr
  %traceback_at = alloca ptr
  %ending = load ptr, ptr %ending_at
  %notes_nothing = icmp eq ptr %ending, null
  br i1 %notes_nothing, label %fine, label %tell
tell:
  %fetch = load ptr, ptr @PyErr_Fetch
  call void %fetch(ptr %type_at, ptr %value_at, ptr %traceback_at)
  %true_object = load ptr, ptr @true
  %none_object = load ptr, ptr @none
  %said = select i1 %is_made_again, ptr %true_object, ptr %none_object
  %call = load ptr, ptr @PyObject_CallOneArg
  %answer = call ptr %call(ptr %ending, ptr %said)
  call void @drop(ptr %answer)
  call void @drop(ptr %ending)
  %type = load ptr, ptr %type_at
  %was_clear = icmp eq ptr %type, null
  br i1 %was_clear, label %look, label %restore
look:
  %is_fine = icmp ne ptr %answer, null
  ret i1 %is_fine
restore:
  %value = load ptr, ptr %value_at
  %traceback = load ptr, ptr %traceback_at
  %restore_exception = load ptr, ptr @PyErr_Restore
  call void %restore_exception(ptr %type, ptr %value, ptr %traceback)
  br label %fine
fine:
  ret i1 true
}

; Copies the memory that is to be as it was where Python takes the call to the frame, or from there.
define internal void @copy_saved(ptr %entry, ptr %frame, i1 %is_to_frame) {
start:
  %first = field ptr %entry, Entry_put_back
  %end = field ptr %entry, Entry_put_back_end
  %offset = field i64 %entry, Entry_saved_offset
  br label %next
next:
  %record = phi ptr [ %first, %start ], [ %record_after, %copy ]
  %at = phi i64 [ %offset, %start ], [ %at_after, %copy ]
  %done = icmp eq ptr %record, %end
  br i1 %done, label %all, label %copy
copy:
  %address = field ptr %record, Saved_address
  %size = field i64 %record, Saved_size
  %in_frame = getelementptr i8, ptr %frame, i64 %at
  %to = select i1 %is_to_frame, ptr %in_frame, ptr %address
  %from = select i1 %is_to_frame, ptr %address, ptr %in_frame
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %size, i1 false)
  %padded = add i64 %size, 7
  %whole = and i64 %padded, -8
  %at_after = add i64 %at, %whole
  %record_after = getelementptr i8, ptr %record, i64 Saved_SIZE
  br label %next
all:
  ret void
}
"""
