"""Dicts, sets and lists as columns of numbers: what a call reads of one, a part of `entry_code`'s code.

What is read lies in an object of bytes, a place of the call: the address of each column, the number of entries, the columns.
That of a dict is kept for the next call, which finds by the dict's version whether it is still the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field

ENTRIES_DICT, ENTRIES_SET, ENTRIES_LIST = range(3)
KINDS = (dict, set, list)
# A part of an entry has no more numbers.
MOST_NUMBERS = 16
# Kinds of numbers.
NUMBER_INLINE, NUMBER_INTEGER, NUMBER_BOOL = range(3)


@dataclass(frozen=True, slots=True, eq=False)
class EntryColumns:
    """A container of up to so many entries, all of the same types, by exact type.

    kind: dict, set or list. parts: for the keys and the values, or for the elements, the types of their numbers, and whether
    these stand in a tuple. slots: by the numbers of the columns the slots of the data pointers that the kernel gets for them;
    under -1 that for the number of entries, an s64.
    """

    kind: type
    rows: int
    parts: tuple[tuple[tuple[type, ...], bool], ...]
    slots: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if max([len(types) for types, _ in self.parts]) > MOST_NUMBERS:
            raise ValueError(f"EntryColumns requires tuples of at most {MOST_NUMBERS} numbers; given {self.parts}")


# In the form of `entry_code`'s.
FUNCTIONS = ("PyBytes_FromStringAndSize", "PySequence_List")

ASSEMBLY = """
; The columns of a container, as an object of bytes, whose addresses are noted in their slots; NULL where it does not fit.
define internal ptr @read_entries(ptr %record, ptr %holder, ptr %data) {
start:
  %position_at = alloca i64
  %objects = alloca [2 x ptr], align 8
  %value_at = getelementptr ptr, ptr %objects, i64 1
  store i64 0, ptr %position_at
  %kind = field i64 %record, Container_kind
  %rows = field i64 %record, Container_rows
  %columns = field ptr %record, Container_columns
  %count = field i64 %record, Container_count
  %is_dict = icmp eq i64 %kind, ENTRIES_DICT
  %is_set = icmp eq i64 %kind, ENTRIES_SET
  br i1 %is_dict, label %measure_dict, label %measure_others
measure_dict:
  %get_size = load ptr, ptr @PyDict_Size
  %dict_size = call i64 %get_size(ptr %holder)
  br label %measured
measure_others:
  br i1 %is_set, label %list_set, label %measure_list
list_set:
  %make_list = load ptr, ptr @PySequence_List
  %list_of_set = call ptr %make_list(ptr %holder)
  %no_list = icmp eq ptr %list_of_set, null
  br i1 %no_list, label %no, label %measure_list
measure_list:
  %list = phi ptr [ %holder, %measure_others ], [ %list_of_set, %list_set ]
  %list_size = field i64 %list, TUPLE_SIZE
  br label %measured
measured:
  %source = phi ptr [ %holder, %measure_dict ], [ %list, %measure_list ]
  %length = phi i64 [ %dict_size, %measure_dict ], [ %list_size, %measure_list ]
  %is_too_long = icmp sgt i64 %length, %rows
  br i1 %is_too_long, label %release, label %look_for_kept
look_for_kept:
  ; What is kept from the last call, unless another one is using it.
  %kept = field ptr %record, Container_kept
  %keeps_none = icmp eq ptr %kept, null
  br i1 %keeps_none, label %allocate, label %ask_for_kept
ask_for_kept:
  %kept_memory = field ptr %kept, Kept_memory
  %references = load i32, ptr %kept_memory
  %is_free = icmp eq i32 %references, 1
  br i1 %is_free, label %compare_version, label %allocate
compare_version:
  call void @retain(ptr %kept_memory)
  %kept_holder = field ptr %kept, Kept_holder
  %kept_version = field i64 %kept, Kept_version
  %version_now = field i64 %holder, DICT_VERSION
  %same_holder = icmp eq ptr %kept_holder, %holder
  %same_version = icmp eq i64 %kept_version, %version_now
  %is_as_kept = and i1 %same_holder, %same_version
  br i1 %is_as_kept, label %note_length, label %read_anew
read_anew:
  store i64 0, ptr %kept_version.at
  br label %note_length
allocate:
  %size = field i64 %record, Container_size
  %make_bytes = load ptr, ptr @PyBytes_FromStringAndSize
  %new_memory = call ptr %make_bytes(ptr null, i64 %size)
  %no_memory = icmp eq ptr %new_memory, null
  br i1 %no_memory, label %release, label %note_length
note_length:
  %memory = phi ptr [ %new_memory, %allocate ], [ %kept_memory, %compare_version ], [ %kept_memory, %read_anew ]
  %kept_or_none = phi ptr [ null, %allocate ], [ %kept_memory, %compare_version ], [ %kept_memory, %read_anew ]
  %is_complete = phi i1 [ false, %allocate ], [ true, %compare_version ], [ false, %read_anew ]
  %base = getelementptr i8, ptr %memory, i64 BYTES_DATA
  br i1 %is_complete, label %store_length, label %clear
clear:
  ; Rows that do not count are computed with, too.
  %size_to_clear = field i64 %record, Container_size
  call void @llvm.memset.p0.i64(ptr %base, i8 0, i64 %size_to_clear, i1 false)
  br label %store_length
store_length:
  %length_at = getelementptr i64, ptr %base, i64 %count
  store i64 %length, ptr %length_at
  %length_slot = field i64 %record, Container_length_slot
  %takes_no_length = icmp slt i64 %length_slot, 0
  br i1 %takes_no_length, label %next_address, label %pass_length
pass_length:
  %length_data_at = getelementptr i8, ptr %data, i64 %length_slot
  store ptr %length_at, ptr %length_data_at
  br label %next_address
next_address:
  %noted = phi i64 [ 0, %store_length ], [ 0, %pass_length ], [ %noted_after, %address_noted ]
  %column_to_note = phi ptr [ %columns, %store_length ], [ %columns, %pass_length ], [ %column_to_note_after, %address_noted ]
  %all_noted = icmp eq i64 %noted, %count
  br i1 %all_noted, label %noted_all, label %note_address
note_address:
  %offset = field i64 %column_to_note, Column_offset
  %slot = field i64 %column_to_note, Column_slot
  %column_memory = getelementptr i8, ptr %base, i64 %offset
  %address_at = getelementptr ptr, ptr %base, i64 %noted
  store ptr %column_memory, ptr %address_at
  %has_no_slot = icmp slt i64 %slot, 0
  br i1 %has_no_slot, label %address_noted, label %pass_address
pass_address:
  %data_at = getelementptr i8, ptr %data, i64 %slot
  store ptr %column_memory, ptr %data_at
  br label %address_noted
address_noted:
  %noted_after = add i64 %noted, 1
  %column_to_note_after = getelementptr i8, ptr %column_to_note, i64 Column_SIZE
  br label %next_address

noted_all:
  br i1 %is_complete, label %complete, label %next_row
next_row:
  %row = phi i64 [ 0, %noted_all ], [ %row_after, %row_done ]
  %all_rows = icmp eq i64 %row, %length
  br i1 %all_rows, label %all_read, label %look
look:
  br i1 %is_dict, label %look_in_dict, label %look_in_list
look_in_dict:
  %step = load ptr, ptr @PyDict_Next
  %found = call i32 %step(ptr %holder, ptr %position_at, ptr %objects, ptr %value_at)
  %is_over = icmp eq i32 %found, 0
  br i1 %is_over, label %unfit, label %next_column
look_in_list:
  %items = field ptr %source, LIST_ITEMS
  %item_at = getelementptr ptr, ptr %items, i64 %row
  %item = load ptr, ptr %item_at
  store ptr %item, ptr %objects
  br label %next_column
next_column:
  %column_number = phi i64 [ 0, %look_in_dict ], [ 0, %look_in_list ], [ %column_number_after, %stored ]
  %column = phi ptr [ %columns, %look_in_dict ], [ %columns, %look_in_list ], [ %column_after, %stored ]
  %all_columns = icmp eq i64 %column_number, %count
  br i1 %all_columns, label %row_done, label %take_number
take_number:
  %part = field i64 %column, Column_part
  %place = field i64 %column, Column_place
  %expected = field ptr %column, Column_expected
  %number_kind = field i64 %column, Column_kind
  %itemsize = field i64 %column, Column_itemsize
  %column_offset = field i64 %column, Column_offset
  %part_at = getelementptr ptr, ptr %objects, i64 %part
  %part_object = load ptr, ptr %part_at
  %is_alone = icmp slt i64 %place, 0
  br i1 %is_alone, label %check_number, label %check_tuple
check_tuple:
  %tuple_type = field ptr %record, Container_tuple
  %part_type = field ptr %part_object, OBJECT_TYPE
  %is_tuple = icmp eq ptr %part_type, %tuple_type
  br i1 %is_tuple, label %check_tuple_size, label %unfit
check_tuple_size:
  %wanted_size = field i64 %column, Column_tuple_size
  %tuple_size = field i64 %part_object, TUPLE_SIZE
  %same_size = icmp eq i64 %tuple_size, %wanted_size
  %items_of_tuple = getelementptr i8, ptr %part_object, i64 TUPLE_ITEMS
  %number_at = getelementptr ptr, ptr %items_of_tuple, i64 %place
  br i1 %same_size, label %take_from_tuple, label %unfit
take_from_tuple:
  %number_in_tuple = load ptr, ptr %number_at
  br label %check_number
check_number:
  %number = phi ptr [ %part_object, %take_number ], [ %number_in_tuple, %take_from_tuple ]
  %type = field ptr %number, OBJECT_TYPE
  %same_type = icmp eq ptr %type, %expected
  br i1 %same_type, label %store, label %unfit
store:
  %row_offset = mul i64 %row, %itemsize
  %to_offset = add i64 %column_offset, %row_offset
  %to = getelementptr i8, ptr %base, i64 %to_offset
  %value = getelementptr i8, ptr %number, i64 SCALAR_VALUE
  switch i64 %number_kind, label %store_inline [ i64 NUMBER_INTEGER, label %store_integer
                                                 i64 NUMBER_BOOL, label %store_bool ]
store_integer:
  ; -1 may also mean an error, which is set then.
  %convert = load ptr, ptr @PyLong_AsLongLong
  %integer = call i64 %convert(ptr %number)
  store i64 %integer, ptr %to
  %may_be_error = icmp eq i64 %integer, -1
  br i1 %may_be_error, label %ask_for_error, label %stored
ask_for_error:
  %get_error = load ptr, ptr @PyErr_Occurred
  %error = call ptr %get_error()
  %is_clear = icmp eq ptr %error, null
  br i1 %is_clear, label %stored, label %unfit
store_bool:
  %true = load ptr, ptr @true
  %is_true = icmp eq ptr %number, %true
  %truth = zext i1 %is_true to i8
  store i8 %truth, ptr %to
  br label %stored
store_inline:
  %is_word = icmp eq i64 %itemsize, 8
  br i1 %is_word, label %store_word, label %store_bytes
store_word:
  %word = load i64, ptr %value
  store i64 %word, ptr %to
  br label %stored
store_bytes:
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %value, i64 %itemsize, i1 false)
  br label %stored
stored:
  %column_number_after = add i64 %column_number, 1
  %column_after = getelementptr i8, ptr %column, i64 Column_SIZE
  br label %next_column
row_done:
  %row_after = add i64 %row, 1
  br label %next_row

unfit:
  call void @drop(ptr %memory)
  br label %release
all_read:
  %keeps = icmp eq ptr %memory, %kept_or_none
  br i1 %keeps, label %keep, label %complete
keep:
  %version_read = field i64 %holder, DICT_VERSION
  %new_holder.at = getelementptr i8, ptr %kept, i64 Kept_holder
  store ptr %holder, ptr %new_holder.at
  %new_version.at = getelementptr i8, ptr %kept, i64 Kept_version
  store i64 %version_read, ptr %new_version.at
  br label %complete
complete:
  br label %release
release:
  %result = phi ptr [ null, %measured ], [ null, %allocate ], [ null, %unfit ], [ %memory, %complete ]
  br i1 %is_set, label %release_list, label %done
release_list:
  call void @drop(ptr %source)
  br label %done
no:
  br label %done
done:
  %read = phi ptr [ %result, %release ], [ %result, %release_list ], [ null, %no ]
  ret ptr %read
}
"""
