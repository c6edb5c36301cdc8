"""Dicts, sets and lists that get the entries which a kernel has computed, in columns: a part of `entry_code`'s code."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from .entries import MOST_NUMBERS, EntryColumns
from .rows import Container, Leaf, Numbers, Part, room

MOST_COLUMNS = 2 * MOST_NUMBERS


@dataclass(frozen=True, slots=True, eq=False)
class NewEntries:
    """What the container gets: rows of results, one for each column; the others are as `rows.Rows` has them."""

    columns: EntryColumns
    numbers: tuple[Numbers, ...]
    length: int | None
    known_length: int
    start: int | None
    capacity: int

    def parts(self, numbers: tuple[Numbers, ...]) -> list[Part]:
        """The key and the value, or the element, of these columns."""
        remaining = iter([Leaf((one,)) for one in numbers])
        found: list[Part] = []
        for types, is_tuple in self.columns.parts:
            leaves = tuple(itertools.islice(remaining, len(types)))
            found.append(Container("tuple", leaves) if is_tuple else leaves[0])
        return found

    @property
    def room(self) -> int:
        """As `rows.room`."""
        return max(map(room, self.parts(self.numbers)))


# In the form of `entry_code`'s.
FUNCTIONS = ("PyDict_DelItem", "PyList_SetItem", "PyList_SetSlice", "PySet_Add", "PySet_Discard")

ASSEMBLY = """
; Gives a container the entries that a kernel has computed, in their order; those that stay are left as they are. Whether that
; was possible, otherwise an exception is set.
define internal i1 @write_entries(ptr %record, ptr %memory, ptr %holder, ptr %read, ptr %stack) {
start:
  %differences = alloca [MOST_COLUMNS x i64], align 8
  %before = getelementptr i8, ptr %read, i64 BYTES_DATA
  %kind = field i64 %record, Contents_kind
  %count = field i64 %record, Contents_count
  %keys = field i64 %record, Contents_keys
  %known_length = field i64 %record, Contents_known_length
  %length_offset = field i64 %record, Contents_length
  %start_offset = field i64 %record, Contents_start
  %capacity = field i64 %record, Contents_capacity
  %length = call i64 @number_in(ptr %memory, i64 %length_offset, i64 0, i64 %known_length)
  %first_row = call i64 @number_in(ptr %memory, i64 %start_offset, i64 0, i64 0)
  %length_before_at = getelementptr i64, ptr %before, i64 %count
  %length_before = load i64, ptr %length_before_at
  %is_dict = icmp eq i64 %kind, ENTRIES_DICT
  %is_list = icmp eq i64 %kind, ENTRIES_LIST
  %is_shorter = icmp slt i64 %length, %length_before
  %common = select i1 %is_shorter, i64 %length, i64 %length_before
  %is_ring = icmp ne i64 %first_row, 0
  %differences_size = shl i64 %count, 3
  call void @llvm.memset.p0.i64(ptr %differences, i8 0, i64 %differences_size, i1 false)
  %kept = field ptr %record, Contents_kept
  %is_kept = call i1 @is_kept(ptr %kept, ptr %holder, ptr %read)
  br label %next
next:
  ; Of the entries that were there before, and of the new ones.
  %old = phi i64 [ 0, %start ], [ %old_after, %advance ], [ %skipped, %skip ]
  %new = phi i64 [ 0, %start ], [ %new_after, %advance ], [ %skipped, %skip ]
  %is_moved = icmp ne i64 %old, %new
  %is_behind = icmp sge i64 %old, %common
  %is_last = or i1 %is_moved, %is_behind
  %is_alone = or i1 %is_last, %is_ring
  br i1 %is_alone, label %look, label %skip
skip:
  ; Most rows are the same.
  %skipped = call i64 @next_difference(ptr %record, ptr %before, ptr %memory, ptr %differences, i64 %old, i64 %common)
  %goes_on = icmp sgt i64 %skipped, %old
  br i1 %goes_on, label %next, label %look
look:
  %all_old = icmp sge i64 %old, %length_before
  %all_new = icmp sge i64 %new, %length
  %moved = add i64 %first_row, %new
  %is_around = icmp sge i64 %moved, %capacity
  %around = sub i64 %moved, %capacity
  %row = select i1 %is_around, i64 %around, i64 %moved
  br i1 %all_old, label %behind_old, label %compare
behind_old:
  br i1 %all_new, label %yes, label %put
compare:
  br i1 %all_new, label %take_away, label %compare_keys
compare_keys:
  %same_key = call i1 @same_numbers(ptr %record, ptr %before, ptr %memory, i64 %old, i64 %row, i64 0, i64 %keys)
  %stays = or i1 %same_key, %is_list
  br i1 %stays, label %compare_values, label %take_away
compare_values:
  %first_value = select i1 %is_list, i64 0, i64 %keys
  %same_value = call i1 @same_numbers(ptr %record, ptr %before, ptr %memory, i64 %old, i64 %row, i64 %first_value, i64 %count)
  br i1 %same_value, label %advance, label %put
take_away:
  br i1 %is_list, label %shorten, label %take_key_away
shorten:
  %set_slice = load ptr, ptr @PyList_SetSlice
  %not_shortened = call i32 %set_slice(ptr %holder, i64 %old, i64 %length_before, ptr null)
  %is_shortened = icmp eq i32 %not_shortened, 0
  br i1 %is_shortened, label %yes, label %no
take_key_away:
  %old_key_part = field ptr %record, Contents_old_key
  %old_key = call ptr @part_in_row(ptr %old_key_part, ptr %before, i64 %old, ptr %stack)
  %no_old_key = icmp eq ptr %old_key, null
  br i1 %no_old_key, label %no, label %delete
delete:
  br i1 %is_dict, label %delete_item, label %discard
delete_item:
  %delete_from = load ptr, ptr @PyDict_DelItem
  %not_deleted = call i32 %delete_from(ptr %holder, ptr %old_key)
  br label %taken_away
discard:
  %discard_from = load ptr, ptr @PySet_Discard
  %not_discarded = call i32 %discard_from(ptr %holder, ptr %old_key)
  br label %taken_away
taken_away:
  %not_taken_away = phi i32 [ %not_deleted, %delete_item ], [ %not_discarded, %discard ]
  call void @drop(ptr %old_key)
  %is_taken_away = icmp sge i32 %not_taken_away, 0
  br i1 %is_taken_away, label %advance, label %no
put:
  %key_part = field ptr %record, Contents_key
  %key = call ptr @part_in_row(ptr %key_part, ptr %memory, i64 %row, ptr %stack)
  %no_key = icmp eq ptr %key, null
  br i1 %no_key, label %no, label %put_key
put_key:
  switch i64 %kind, label %put_in_list [ i64 ENTRIES_DICT, label %put_in_dict
                                         i64 ENTRIES_SET, label %put_in_set ]
put_in_dict:
  %value_part = field ptr %record, Contents_value
  %value = call ptr @part_in_row(ptr %value_part, ptr %memory, i64 %row, ptr %stack)
  %no_value = icmp eq ptr %value, null
  br i1 %no_value, label %drop_key_alone, label %set_item
drop_key_alone:
  call void @drop(ptr %key)
  br label %no
set_item:
  %set = load ptr, ptr @PyDict_SetItem
  %not_set = call i32 %set(ptr %holder, ptr %key, ptr %value)
  call void @drop(ptr %value)
  br label %put_done
put_in_set:
  %add_to = load ptr, ptr @PySet_Add
  %not_added = call i32 %add_to(ptr %holder, ptr %key)
  br label %put_done
put_in_list:
  br i1 %all_old, label %append, label %exchange
append:
  %append_to = load ptr, ptr @PyList_Append
  %not_appended = call i32 %append_to(ptr %holder, ptr %key)
  br label %put_done
exchange:
  ; It takes over the reference.
  %exchange_in = load ptr, ptr @PyList_SetItem
  %not_exchanged = call i32 %exchange_in(ptr %holder, i64 %old, ptr %key)
  %is_exchanged = icmp eq i32 %not_exchanged, 0
  br i1 %is_exchanged, label %advance, label %no
put_done:
  %not_put = phi i32 [ %not_set, %set_item ], [ %not_added, %put_in_set ], [ %not_appended, %append ]
  call void @drop(ptr %key)
  %is_put = icmp eq i32 %not_put, 0
  br i1 %is_put, label %advance, label %no
advance:
  %uses_new = phi i64 [ 1, %compare_values ], [ 0, %taken_away ], [ 1, %put_done ], [ 1, %exchange ]
  %new_after = add i64 %new, %uses_new
  %old_after = add i64 %old, 1
  br label %next
yes:
  br i1 %is_kept, label %keep, label %done
keep:
  call void @keep_entries(ptr %record, ptr %holder, ptr %before, ptr %memory, i64 %length)
  br label %done
done:
  ret i1 true
no:
  ret i1 false
}

; The record of a column of the new entries.
define internal ptr @column_of(ptr %record, i64 %number) alwaysinline {
  %columns = field ptr %record, Contents_columns
  %offset = mul i64 %number, Numbers_SIZE
  %column = getelementptr i8, ptr %columns, i64 %offset
  ret ptr %column
}

; Whether what was read of a dict is kept for the next call. Nothing is kept until it has got its new entries.
define internal i1 @is_kept(ptr %kept, ptr %holder, ptr %read) alwaysinline {
start:
  %keeps_none = icmp eq ptr %kept, null
  br i1 %keeps_none, label %no, label %compare
compare:
  %kept_memory = field ptr %kept, Kept_memory
  %is_own = icmp eq ptr %kept_memory, %read
  br i1 %is_own, label %compare_version, label %no
compare_version:
  %kept_version = field i64 %kept, Kept_version
  %version = field i64 %holder, DICT_VERSION
  %same_version = icmp eq i64 %kept_version, %version
  store i64 0, ptr %kept_version.at
  ret i1 %same_version
no:
  ret i1 false
}

; Keeps the new entries of a dict for the next call.
define internal void @keep_entries(ptr %record, ptr %holder, ptr %before, ptr %memory, i64 %length) {
start:
  %kept = field ptr %record, Contents_kept
  %count = field i64 %record, Contents_count
  %version = field i64 %holder, DICT_VERSION
  br label %next
next:
  %number = phi i64 [ 0, %start ], [ %number_after, %copy ]
  %done = icmp eq i64 %number, %count
  br i1 %done, label %note, label %copy
copy:
  %numbers = call ptr @column_of(ptr %record, i64 %number)
  %size = field i64 %numbers, Numbers_stride
  %new_numbers = call ptr @numbers_at(ptr %numbers, ptr %memory, i64 0)
  %to_at = getelementptr ptr, ptr %before, i64 %number
  %to = load ptr, ptr %to_at
  %bytes = mul i64 %length, %size
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %new_numbers, i64 %bytes, i1 false)
  %number_after = add i64 %number, 1
  br label %next
note:
  %kept_version.at = getelementptr i8, ptr %kept, i64 Kept_version
  store i64 %version, ptr %kept_version.at
  ret void
}

; The first row from one on that may differ from what it was before; the last one if none does. For each column the last one
; that was found is noted.
define internal i64 @next_difference(ptr %record, ptr %before, ptr %memory, ptr %differences, i64 %first, i64 %end)
    alwaysinline {
start:
  %count = field i64 %record, Contents_count
  br label %next
next:
  %number = phi i64 [ 0, %start ], [ %number_after, %found ]
  %limit = phi i64 [ %end, %start ], [ %nearest, %found ]
  %done = icmp eq i64 %number, %count
  br i1 %done, label %all, label %look
look:
  %noted_at = getelementptr i64, ptr %differences, i64 %number
  %noted = load i64, ptr %noted_at
  %is_behind = icmp sge i64 %noted, %first
  %is_noted = icmp sgt i64 %noted, 0
  %is_valid = and i1 %is_behind, %is_noted
  br i1 %is_valid, label %found, label %search
search:
  %numbers = call ptr @column_of(ptr %record, i64 %number)
  %size = field i64 %numbers, Numbers_stride
  %new_numbers = call ptr @numbers_at(ptr %numbers, ptr %memory, i64 0)
  %numbers_before_at = getelementptr ptr, ptr %before, i64 %number
  %numbers_before = load ptr, ptr %numbers_before_at
  %begin = mul i64 %first, %size
  %bytes = mul i64 %end, %size
  %position = call i64 @first_difference(ptr %numbers_before, ptr %new_numbers, i64 %begin, i64 %bytes)
  %row_of_difference = udiv i64 %position, %size
  store i64 %row_of_difference, ptr %noted_at
  br label %found
found:
  %row = phi i64 [ %noted, %look ], [ %row_of_difference, %search ]
  %is_nearer = icmp slt i64 %row, %limit
  %nearest = select i1 %is_nearer, i64 %row, i64 %limit
  %number_after = add i64 %number, 1
  br label %next
all:
  ret i64 %limit
}

; Where bytes behind a position begin to differ, which may be up to 7 of them before; the end if they are the same until there.
define internal i64 @first_difference(ptr %one, ptr %other, i64 %begin, i64 %end) alwaysinline {
start:
  br label %next_byte
next_byte:
  ; Whole words first.
  %position = phi i64 [ %begin, %start ], [ %word_end, %compare_word ], [ %byte_end, %compare_byte ]
  %is_complete = icmp sge i64 %position, %end
  %word_end = add i64 %position, 8
  %byte_end = add i64 %position, 1
  %has_word = icmp sle i64 %word_end, %end
  %one_at = getelementptr i8, ptr %one, i64 %position
  %other_at = getelementptr i8, ptr %other, i64 %position
  br i1 %is_complete, label %found, label %compare
compare:
  br i1 %has_word, label %compare_word, label %compare_byte
compare_word:
  %word = load i64, ptr %one_at, align 1
  %other_word = load i64, ptr %other_at, align 1
  %same_word = icmp eq i64 %word, %other_word
  br i1 %same_word, label %next_byte, label %found
compare_byte:
  %byte = load i8, ptr %one_at
  %other_byte = load i8, ptr %other_at
  %same_byte = icmp eq i8 %byte, %other_byte
  br i1 %same_byte, label %next_byte, label %found
found:
  ret i64 %position
}

; Whether the numbers of some columns are the same in a row from before and in a new one.
define internal i1 @same_numbers(ptr %record, ptr %before, ptr %memory, i64 %old, i64 %new, i64 %first, i64 %end) alwaysinline {
start:
  br label %next
next:
  %number = phi i64 [ %first, %start ], [ %number_after, %same ]
  %done = icmp sge i64 %number, %end
  br i1 %done, label %yes, label %look
look:
  %numbers = call ptr @column_of(ptr %record, i64 %number)
  %size = field i64 %numbers, Numbers_stride
  %at = call ptr @numbers_at(ptr %numbers, ptr %memory, i64 %new)
  %numbers_before_at = getelementptr ptr, ptr %before, i64 %number
  %numbers_before = load ptr, ptr %numbers_before_at
  %offset_before = mul i64 %old, %size
  %at_before = getelementptr i8, ptr %numbers_before, i64 %offset_before
  %position = call i64 @first_difference(ptr %at_before, ptr %at, i64 0, i64 %size)
  %is_same = icmp sge i64 %position, %size
  br i1 %is_same, label %same, label %no
same:
  %number_after = add i64 %number, 1
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}
"""
