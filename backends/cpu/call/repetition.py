"""Calls that Python makes again: what is asked to take down what a program does outside; a part of `entry_code`'s code."""

from __future__ import annotations

# In the form of `entry_code`'s.
FUNCTIONS = ("PyContextVar_Reset", "PyContextVar_Set", "PyErr_Fetch", "PyErr_Restore")

ASSEMBLY = """
; Lets a context variable be a new list; notes that, and the token that takes it back, NULL where there is none. Whether nothing
; was raised.
define internal i1 @begin_noting(ptr %entry, ptr %noted_at) alwaysinline {
start:
  %token_at = getelementptr ptr, ptr %noted_at, i64 1
  store ptr null, ptr %noted_at
  store ptr null, ptr %token_at
  %variable = field ptr %entry, Entry_noting
  %notes_nothing = icmp eq ptr %variable, null
  br i1 %notes_nothing, label %fine, label %make
make:
  %make_list = load ptr, ptr @PyList_New
  %list = call ptr %make_list(i64 0)
  %no_list = icmp eq ptr %list, null
  br i1 %no_list, label %raised, label %begin
begin:
  %set = load ptr, ptr @PyContextVar_Set
  %token = call ptr %set(ptr %variable, ptr %list)
  %not_set = icmp eq ptr %token, null
  br i1 %not_set, label %drop_list, label %note
note:
  store ptr %list, ptr %noted_at
  store ptr %token, ptr %token_at
  br label %fine
drop_list:
  call void @drop(ptr %list)
  br label %raised
fine:
  ret i1 true
raised:
  ret i1 false
}

; Ends this, and hands on the list where Python makes the call again. An exception that is set stays so, before one that is
; raised here. Whether nothing was raised here.
define internal i1 @end_noting(ptr %entry, ptr %noted_at, i1 %is_made_again) alwaysinline {
start:
  %type_at = alloca ptr
  %value_at = alloca ptr
  %traceback_at = alloca ptr
  %list = load ptr, ptr %noted_at
  %notes_nothing = icmp eq ptr %list, null
  br i1 %notes_nothing, label %fine, label %end
end:
  %fetch = load ptr, ptr @PyErr_Fetch
  call void %fetch(ptr %type_at, ptr %value_at, ptr %traceback_at)
  %token_at = getelementptr ptr, ptr %noted_at, i64 1
  %token = load ptr, ptr %token_at
  %variable = field ptr %entry, Entry_noting
  %reset = load ptr, ptr @PyContextVar_Reset
  %not_reset = call i32 %reset(ptr %variable, ptr %token)
  call void @drop(ptr %token)
  %is_reset = icmp eq i32 %not_reset, 0
  %tells = and i1 %is_reset, %is_made_again
  br i1 %tells, label %tell, label %told
tell:
  %make_again = field ptr %entry, Entry_make_again
  %call = load ptr, ptr @PyObject_CallOneArg
  %answer = call ptr %call(ptr %make_again, ptr %list)
  %is_told = icmp ne ptr %answer, null
  call void @drop(ptr %answer)
  br label %told
told:
  %is_fine = phi i1 [ %is_reset, %end ], [ %is_told, %tell ]
  call void @drop(ptr %list)
  %type = load ptr, ptr %type_at
  %was_clear = icmp eq ptr %type, null
  br i1 %was_clear, label %look, label %restore
look:
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
define internal void @copy_saved(ptr %entry, ptr %frame, i1 %is_to_frame) alwaysinline {
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
