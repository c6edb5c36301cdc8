"""The native checks of a call against the records of an entry, by reads alone; a part of `entry_code`'s code."""

from __future__ import annotations

ASSEMBLY = """
; Whether a call that gives keyword names gives those of an entry.
define internal i1 @names_fit(ptr %entry, i64 %count, ptr %names) {
start:
  %positional = field i64 %entry, Entry_positional_count
  %same_count = icmp eq i64 %count, %positional
  %name_count = field i64 %entry, Entry_keyword_count
  %given = field i64 %names, TUPLE_SIZE
  %same_name_count = icmp eq i64 %given, %name_count
  %same_counts = and i1 %same_count, %same_name_count
  %wanted_names = field ptr %entry, Entry_keyword_names
  %items = getelementptr i8, ptr %names, i64 TUPLE_ITEMS
  br i1 %same_counts, label %next, label %no
next:
  %name = phi i64 [ 0, %start ], [ %name_after, %compare ]
  %end = icmp eq i64 %name, %name_count
  br i1 %end, label %yes, label %compare
compare:
  ; Names at a place of call are interned: the same name is the same object.
  %item_at = getelementptr ptr, ptr %items, i64 %name
  %item = load ptr, ptr %item_at
  %wanted_at = getelementptr ptr, ptr %wanted_names, i64 %name
  %wanted = load ptr, ptr %wanted_at
  %is_wanted = icmp eq ptr %item, %wanted
  %name_after = add i64 %name, 1
  br i1 %is_wanted, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether a context variable is this object, None where it is not set, or what is as good. What Python raises stands.
define internal i1 @variable_is(ptr %variable, ptr %wanted, ptr %as_good) alwaysinline {
  %found_at = alloca ptr
  store ptr null, ptr %found_at
  %get = load ptr, ptr @PyContextVar_Get
  %none_object = load ptr, ptr @none
  %status = call i32 %get(ptr %variable, ptr %none_object, ptr %found_at)
  %found = load ptr, ptr %found_at
  %same = icmp eq ptr %found, %wanted
  call void @drop(ptr %found)
  br i1 %same, label %yes, label %ask
ask:
  %call = load ptr, ptr @PyObject_CallNoArgs
  %answer = call ptr %call(ptr %as_good)
  %true_object = load ptr, ptr @true
  %is_as_good = icmp eq ptr %answer, %true_object
  call void @drop(ptr %answer)
  ret i1 %is_as_good
yes:
  ret i1 true
}

; Whether an ndarray has the flags, rank, dtype and dimensions of a guard.
define internal i1 @array_fits(ptr %guard, ptr %array) alwaysinline {
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
  br label %next
next:
  %axis = phi i64 [ 0, %dimensions ], [ %axis_after, %compare_size ]
  %done = icmp eq i64 %axis, %end
  br i1 %done, label %yes, label %compare_size
compare_size:
  %size_at = getelementptr i64, ptr %shape, i64 %axis
  %size = load i64, ptr %size_at
  %given_size_at = getelementptr i64, ptr %given_shape, i64 %axis
  %given_size = load i64, ptr %given_size_at
  %same_size = icmp eq i64 %size, %given_size
  %axis_after = add i64 %axis, 1
  br i1 %same_size, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether a dict has the very keys of a guard, or equal texts, in their order.
define internal i1 @keys_fit(ptr %guard, ptr %dict) {
start:
  %position_at = alloca i64
  %key_at = alloca ptr
  %value_at = alloca ptr
  store i64 0, ptr %position_at
  %wanted_count = field i64 %guard, Argument_size
  %wanted = field ptr %guard, Argument_shape
  %get_size = load ptr, ptr @PyDict_Size
  %count = call i64 %get_size(ptr %dict)
  %same_count = icmp eq i64 %count, %wanted_count
  br i1 %same_count, label %next, label %no
next:
  %number = phi i64 [ 0, %start ], [ %number_after, %compare ], [ %number_after, %compare_letters ]
  %done = icmp eq i64 %number, %wanted_count
  br i1 %done, label %yes, label %look
look:
  %step = load ptr, ptr @PyDict_Next
  %found = call i32 %step(ptr %dict, ptr %position_at, ptr %key_at, ptr %value_at)
  %is_over = icmp eq i32 %found, 0
  br i1 %is_over, label %no, label %compare
compare:
  %key = load ptr, ptr %key_at
  %wanted_at = getelementptr ptr, ptr %wanted, i64 %number
  %wanted_key = load ptr, ptr %wanted_at
  %same = icmp eq ptr %key, %wanted_key
  %number_after = add i64 %number, 1
  br i1 %same, label %next, label %compare_texts
compare_texts:
  ; Of exact type, so no Python code runs that could change the dict.
  %text_type = load ptr, ptr @text_type
  %key_type = field ptr %key, OBJECT_TYPE
  %wanted_type = field ptr %wanted_key, OBJECT_TYPE
  %is_text = icmp eq ptr %key_type, %text_type
  %is_wanted_text = icmp eq ptr %wanted_type, %text_type
  %are_texts = and i1 %is_text, %is_wanted_text
  br i1 %are_texts, label %compare_letters, label %no
compare_letters:
  %compare_text = load ptr, ptr @PyUnicode_Compare
  %order = call i32 %compare_text(ptr %key, ptr %wanted_key)
  %is_equal = icmp eq i32 %order, 0
  br i1 %is_equal, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}
"""
