"""Taking a call: the native code that tries one entry, a part of `entry_code`'s."""

from __future__ import annotations

# Kinds of guards: of arguments, of places alone.
(
    ARGUMENT_INLINE, ARGUMENT_ARRAY, ARGUMENT_INTEGER, ARGUMENT_BOOL, ARGUMENT_STATIC, ARGUMENT_TYPE, ARGUMENT_SIZE,
    ARGUMENT_KEYS, ARGUMENT_FLOAT_VALUE, ARGUMENT_INTEGER_VALUE, ARGUMENT_METHOD, ARGUMENT_FUNCTION, ARGUMENT_SAME,
    ARGUMENT_OTHER, ARGUMENT_ANY, ARGUMENT_ADDRESS, ARGUMENT_PACKED_FLOAT, ARGUMENT_PACKED_INTEGER, ARGUMENT_AS_GOOD,
    ARGUMENT_CHECKED, ARGUMENT_TEXT,
) = range(21)  # fmt: skip
# Kinds of results: objects that are made before the kernel runs, then objects that are made of memory that it fills, then
# memory that is copied into an argument, or read by native code alone.
RESULT_ARRAY, RESULT_SIZED_ARRAY, RESULT_ARRAY_CONTENTS, RESULT_SCALAR, RESULT_FLOAT, RESULT_INTEGER, RESULT_TRUTH = range(7)
RESULT_COMPLEX, RESULT_CODE, RESULT_SCALAR_CONTENTS, RESULT_HIDDEN = range(7, 11)
# What arrays of which no object is made are, where their memory lies in the frame of the call.
IN_FRAME = {RESULT_ARRAY: RESULT_HIDDEN, RESULT_ARRAY_CONTENTS: RESULT_SCALAR_CONTENTS}
# Those that become Python's numbers, in the order of `call_signature.PYTHON_RESULTS`.
PYTHON_NUMBERS = (RESULT_FLOAT, RESULT_INTEGER, RESULT_TRUTH, RESULT_COMPLEX, RESULT_CODE)

ASSEMBLY = """
; Takes a call if it fits an entry: checks it, by reads alone, while gathering the addresses of the data in a frame; makes
; the results, runs the kernel, and returns the results as one object. Returns @does_not_fit if it does not fit.
define internal ptr @attempt(ptr %entry, ptr %args, i64 %nargsf, ptr %names, ptr %frame) {
start:
  %noted_at = alloca [2 x ptr]
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
  br i1 %words_done, label %outside_of_thread, label %compare_word
compare_word:
  %word_at = load ptr, ptr %word
  %expected_at = getelementptr i64, ptr %word, i64 1
  %expected_word = load i64, ptr %expected_at
  %found_word = load i64, ptr %word_at
  %same_word = icmp eq i64 %found_word, %expected_word
  %word_after = getelementptr i64, ptr %word, i64 2
  br i1 %same_word, label %next_word, label %no

outside_of_thread:
  ; Context variables, each with what it has to be in this thread, and what is asked otherwise.
  %variables = field ptr %entry, Entry_variables
  %variables_end = field ptr %entry, Entry_variables_end
  br label %next_variable
next_variable:
  %variable_at = phi ptr [ %variables, %outside_of_thread ], [ %variable_after, %compare_variable ]
  %variables_done = icmp eq ptr %variable_at, %variables_end
  br i1 %variables_done, label %arguments, label %compare_variable
compare_variable:
  %variable = load ptr, ptr %variable_at
  %wanted_at = getelementptr ptr, ptr %variable_at, i64 1
  %wanted = load ptr, ptr %wanted_at
  %as_good_at = getelementptr ptr, ptr %variable_at, i64 2
  %as_good = load ptr, ptr %as_good_at
  %is_wanted = call i1 @variable_is(ptr %variable, ptr %wanted, ptr %as_good)
  %variable_after = getelementptr ptr, ptr %variable_at, i64 3
  br i1 %is_wanted, label %next_variable, label %no

arguments:
  %guards = field ptr %entry, Entry_arguments
  %guards_end = field ptr %entry, Entry_arguments_end
  br label %next_argument
next_argument:
  %guard = phi ptr [ %guards, %arguments ], [ %guard_after, %argument_done ]
  %object_at = phi ptr [ %args, %arguments ], [ %object_after, %argument_done ]
  %arguments_done = icmp eq ptr %guard, %guards_end
  br i1 %arguments_done, label %check_places, label %check_argument
check_argument:
  %object = load ptr, ptr %object_at
  %type = field ptr %object, OBJECT_TYPE
  %kind = field i64 %guard, Argument_kind
  %expected = field ptr %guard, Argument_expected
  %slot = field i64 %guard, Argument_slot
  %data_at = getelementptr i8, ptr %data, i64 %slot
  %same_type = icmp eq ptr %type, %expected
  ; The commonest guards, without a call.
  switch i64 %kind, label %other_guard [ i64 ARGUMENT_ARRAY, label %check_array
                                         i64 ARGUMENT_INLINE, label %check_inline ]
check_array:
  br i1 %same_type, label %array, label %no
array:
  %array_fits = call i1 @array_fits(ptr %guard, ptr %object)
  %array_data = field ptr %object, ARRAY_DATA
  store ptr %array_data, ptr %data_at
  br i1 %array_fits, label %argument_done, label %no
check_inline:
  br i1 %same_type, label %inline, label %no
inline:
  ; The object holds the value as the kernel reads it, and lives as long as the call.
  %value_at = getelementptr i8, ptr %object, i64 SCALAR_VALUE
  store ptr %value_at, ptr %data_at
  br label %argument_done
other_guard:
  %fits = call i1 @fits(ptr %guard, ptr %object, ptr %data, i64 %cells_distance, ptr null)
  br i1 %fits, label %argument_done, label %no
argument_done:
  %guard_after = getelementptr i8, ptr %guard, i64 Argument_SIZE
  %object_after = getelementptr ptr, ptr %object_at, i64 1
  br label %next_argument

check_places:
  %place_count = field i64 %entry, Entry_place_count
  %places_offset = field i64 %entry, Entry_places_offset
  %places = getelementptr i8, ptr %frame, i64 %places_offset
  %no_places = icmp eq i64 %place_count, 0
  br i1 %no_places, label %check_memory, label %take_places
take_places:
  %places_fit = call i1 @take_places(ptr %entry, ptr %args, ptr %data, i64 %cells_distance, ptr %places)
  br i1 %places_fit, label %check_memory, label %no
check_memory:
  %first_apart = field ptr %entry, Entry_apart
  %apart_end = field ptr %entry, Entry_apart_end
  %changes_nothing = icmp eq ptr %first_apart, %apart_end
  br i1 %changes_nothing, label %results, label %compare_memory
compare_memory:
  %memory_is_apart = call i1 @are_apart(ptr %entry, ptr %data)
  br i1 %memory_is_apart, label %results, label %leave
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
  %is_object = icmp ule i64 %result_kind, RESULT_ARRAY_CONTENTS
  br i1 %is_object, label %new_array, label %scalar_memory
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
  %scalar_offset = field i64 %result_record, Result_offset
  %scalar_at = getelementptr i8, ptr %frame, i64 %scalar_offset
  store ptr %scalar_at, ptr %memory_at
  br label %result_done
result_done:
  %result_object = phi ptr [ %new, %allocated ], [ null, %scalar_memory ]
  %memory_after = getelementptr ptr, ptr %memory_at, i64 1
  %result_object_at = getelementptr ptr, ptr %objects, i64 %result
  store ptr %result_object, ptr %result_object_at
  %result_after = add i64 %result, 1
  %result_record_after = getelementptr i8, ptr %result_record, i64 Result_SIZE
  br label %next_result

run:
  %is_begun = call i1 @begin_noting(ptr %entry, ptr %noted_at)
  br i1 %is_begun, label %run_kernel, label %failed
run_kernel:
  %kernel = field ptr %entry, Entry_kernel
  %release_gil = field i64 %entry, Entry_release_gil
  %keeps_gil = icmp eq i64 %release_gil, 0
  call void @copy_saved(ptr %entry, ptr %frame, i1 true)
  br i1 %keeps_gil, label %run_with_gil, label %run_without_gil
run_with_gil:
  %status_with_gil = call i32 %kernel(ptr %data, ptr %memory)
  br label %ran
run_without_gil:
  %save = load ptr, ptr @PyEval_SaveThread
  %thread = call ptr %save()
  %status_of_kernel = call i32 %kernel(ptr %data, ptr %memory)
  %restore = load ptr, ptr @PyEval_RestoreThread
  call void %restore(ptr %thread)
  %status_without_gil = call i32 @code_behind(i32 %status_of_kernel)
  br label %ran
ran:
  %status = phi i32 [ %status_with_gil, %run_with_gil ], [ %status_without_gil, %run_without_gil ]
  %success = icmp eq i32 %status, 0
  br i1 %success, label %ask_for_errors, label %error
error:
  call void @drop_all(ptr %objects, i64 %result_count)
  %error_function = field ptr %entry, Entry_error
  %wide_status = sext i32 %status to i64
  %raised = call ptr @raise(ptr %error_function, i64 %wide_status)
  %left_to_python = field ptr %entry, Entry_left_to_python
  %raises_all = icmp eq ptr %left_to_python, null
  br i1 %raises_all, label %leave_with_error, label %compare_error
compare_error:
  %matches = load ptr, ptr @PyErr_ExceptionMatches
  %match = call i32 %matches(ptr %left_to_python)
  %is_other = icmp eq i32 %match, 0
  br i1 %is_other, label %leave_with_error, label %leave_to_python
leave_with_error:
  %is_ended_by_error = call i1 @end_noting(ptr %entry, ptr %noted_at, i1 false)
  br label %leave
leave_to_python:
  %clear_error = load ptr, ptr @PyErr_Clear
  call void %clear_error()
  br label %make_again
make_again:
  ; No other entry is tried where Python is told that it makes the call again.
  call void @copy_saved(ptr %entry, ptr %frame, i1 false)
  %noted = load ptr, ptr %noted_at
  %was_not_noted = icmp eq ptr %noted, null
  %is_told = call i1 @end_noting(ptr %entry, ptr %noted_at, i1 true)
  %left = select i1 %was_not_noted, ptr @does_not_fit, ptr @is_pythons
  br label %leave
ask_for_errors:
  %first_error = field ptr %entry, Entry_errors
  %errors_end = field ptr %entry, Entry_errors_end
  %raises_nothing = icmp eq ptr %first_error, %errors_end
  br i1 %raises_nothing, label %end, label %check_errors
check_errors:
  ; Nothing has been changed yet: Python takes the call, and finds the same error, unless what was done must not be done twice.
  %code = call i64 @first_error(ptr %entry, ptr %frame)
  %is_without_error = icmp eq i64 %code, 0
  br i1 %is_without_error, label %end, label %found_error
found_error:
  call void @drop_all(ptr %objects, i64 %result_count)
  %raising = field ptr %entry, Entry_found_error
  %is_repeated = icmp eq ptr %raising, null
  br i1 %is_repeated, label %make_again, label %raise_found
raise_found:
  %raised_found = call ptr @raise(ptr %raising, i64 %code)
  br label %leave

end:
  %is_ended = call i1 @end_noting(ptr %entry, ptr %noted_at, i1 false)
  br i1 %is_ended, label %finish, label %failed
finish:
  ; The first form of result needs no more than this.
  %is_array_alone = field i64 %entry, Entry_is_array_alone
  %is_finished = icmp ne i64 %is_array_alone, 0
  br i1 %is_finished, label %single, label %next_finish
next_finish:
  %index = phi i64 [ 0, %finish ], [ %index_after, %finish_done ]
  %record = phi ptr [ %first_result, %finish ], [ %record_after, %finish_done ]
  %all_finished = icmp eq i64 %index, %result_count
  br i1 %all_finished, label %structure, label %finish_one
finish_one:
  %kind_to_finish = field i64 %record, Result_kind
  %object_to_finish_at = getelementptr ptr, ptr %objects, i64 %index
  %value_offset = shl i64 %index, 4
  %result_value_at = getelementptr i8, ptr %frame, i64 %value_offset
  switch i64 %kind_to_finish, label %new_number [ i64 RESULT_ARRAY, label %finish_done
                                                  i64 RESULT_SIZED_ARRAY, label %sized_array
                                                  i64 RESULT_ARRAY_CONTENTS, label %contents
                                                  i64 RESULT_SCALAR_CONTENTS, label %contents
                                                  i64 RESULT_HIDDEN, label %finish_done ]
new_number:
  %number = call ptr @object_of(ptr %record, ptr %result_value_at)
  br label %store_object
sized_array:
  %whole = load ptr, ptr %object_to_finish_at
  %of_size = call ptr @of_size(ptr %record, ptr %whole, ptr %frame)
  br label %store_object
contents:
  %target_slot = field i64 %record, Result_target
  %target_at = getelementptr i8, ptr %data, i64 %target_slot
  %target = load ptr, ptr %target_at
  %bytes = field i64 %record, Result_bytes
  %contents_at = getelementptr ptr, ptr %memory, i64 %index
  %new_contents = load ptr, ptr %contents_at
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %new_contents, i64 %bytes, i1 false)
  br label %finish_done
store_object:
  %finished_object = phi ptr [ %number, %new_number ], [ %of_size, %sized_array ]
  store ptr %finished_object, ptr %object_to_finish_at
  %has_no_object = icmp eq ptr %finished_object, null
  br i1 %has_no_object, label %failed, label %finish_done
finish_done:
  %index_after = add i64 %index, 1
  %record_after = getelementptr i8, ptr %record, i64 Result_SIZE
  br label %next_finish

structure:
  %result_structure = field i64 %entry, Entry_result_structure
  switch i64 %result_structure, label %tuple [ i64 0, label %none
                                               i64 1, label %single
                                               i64 3, label %steps ]
none:
  %none_object = load ptr, ptr @none
  call void @retain(ptr %none_object)
  br label %leave
single:
  %single_object = load ptr, ptr %objects
  br label %leave
tuple:
  ; The tuple is made last: the collector, and by it other threads, must not see one with empty places.
  %packed = call ptr @tuple_of(ptr %objects, i64 %result_count)
  %no_tuple = icmp eq ptr %packed, null
  br i1 %no_tuple, label %failed, label %leave
steps:
  %made = call ptr @take_steps(ptr %entry, ptr %frame, ptr %objects, ptr %places)
  call void @drop_all(ptr %objects, i64 %result_count)
  br label %leave

failed:
  %existing = phi i64 [ %result, %new_array ], [ %result_count, %run ], [ %result_count, %end ],
                      [ %result_count, %store_object ], [ %result_count, %tuple ]
  call void @drop_all(ptr %objects, i64 %existing)
  br label %leave
leave:
  %returned = phi ptr [ @does_not_fit, %compare_memory ], [ %raised, %leave_with_error ], [ %left, %make_again ],
                      [ %raised_found, %raise_found ],
                      [ %none_object, %none ], [ %single_object, %single ], [ %packed, %tuple ], [ %made, %steps ],
                      [ null, %failed ]
  br i1 %no_places, label %done, label %drop_places
drop_places:
  call void @drop_all(ptr %places, i64 %place_count)
  br label %done
done:
  ret ptr %returned
}
"""
