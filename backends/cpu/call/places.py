"""What a call reads of the places around it: elements of containers, attributes, items of dicts, closure variables.

A place is read when a call comes, and has to pass a guard, as an argument has; the kernel may read the data of what stands
there. The call holds references to all of it until it is over.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .call_signature import ArgumentGuard
from .kept_values import InstanceValue
from .outside import Fact

# How the object of a place is found.
SOURCES = (
    "argument", "object", "place", "tuple item", "list item", "dict item", "item", "attribute", "cell", "length", "new list",
    "entries", "read",
)  # fmt: skip
(
    SOURCE_ARGUMENT, SOURCE_OBJECT, SOURCE_PLACE, SOURCE_TUPLE_ITEM, SOURCE_LIST_ITEM, SOURCE_DICT_ITEM, SOURCE_ITEM,
    SOURCE_ATTRIBUTE, SOURCE_CELL, SOURCE_LENGTH, SOURCE_NEW_LIST, SOURCE_ENTRIES,
    SOURCE_READ,
) = range(len(SOURCES))  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class IdentityGuard:
    """One object, by identity; with ``is_as_good`` another one of exactly its type for which that function says True, too."""

    value: object
    is_as_good: Callable[[Any], bool] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CheckedGuard:
    """An object for which a Python function says True."""

    holds: Callable[[Any], bool]


@dataclass(frozen=True, slots=True, eq=False)
class MethodGuard:
    """A bound method of this function."""

    function: types.FunctionType


@dataclass(frozen=True, slots=True, eq=False)
class FunctionGuard:
    """A function with the globals, the code, the defaults and the closure of this one: the very objects."""

    function: types.FunctionType


@dataclass(frozen=True, slots=True, eq=False)
class SameGuard:
    """The object at another place, which stands before this one; with ``differs`` any other object."""

    place: int
    differs: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class PackedGuard:
    """A Python float or int, by exact type, that is one of several of which the kernel gets an array.

    ``first`` and ``number`` count 8 bytes in the memory of all such arrays: where this array begins, and where the number goes.
    An int below ``least`` or above ``greatest`` does not satisfy the guard.
    """

    type: type
    first: int
    number: int
    least: int = 0
    greatest: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class TextGuard:
    """A str, by exact type, that is one of several of which the kernel gets an array of 32-bit integers.

    For each of them, ``count`` in all, that has where its characters begin and how many there are; then come the characters of
    all, for which there is ``room``. ``first`` and ``number`` are as of a `PackedGuard`; those before have passed already.
    """

    first: int
    number: int
    count: int
    room: int


PlaceGuard = ArgumentGuard | IdentityGuard | CheckedGuard | MethodGuard | FunctionGuard | SameGuard | PackedGuard | TextGuard


def packed_size(around: Sequence[Place]) -> int:
    """How many times 8 bytes the arrays take of which there is a part at each of these places."""
    guards = [place.guard for place in around]
    ends = [guard.number + 1 for guard in guards if isinstance(guard, PackedGuard)]
    ends += [guard.first + size_of_texts(guard.count, guard.room) for guard in guards if isinstance(guard, TextGuard)]
    return max(ends, default=0)


def size_of_texts(count: int, room: int) -> int:
    """How many times 8 bytes so many texts take with so many characters."""
    return count + -(-room // 2)


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where an object is found, and what it has to be.

    source: "argument" (number ``index`` of the call's), "object" (``key`` itself), "place" (what stands at the place number
        ``holder``), "tuple item" and "list item" (number ``index`` of what stands there), "dict item", "item" and "attribute"
        (``key`` of what stands there), "cell" (the contents of the cell ``key``), "length" (of the list that stands there),
        "new list" (an empty one for each call), "entries" (the columns of the container that stands there, as `EntryColumns`,
        the ``key``, says), "read" (what the Python function ``key`` returns of what stands there).
    guard: None lets everything pass. What items of tuples, lists and dicts, and lengths, are taken of must have passed a guard
        of its type.
    slot: the number of the data pointer that the kernel gets for the object, None for none.
    facts, known: as long as memory tells that these facts hold (`outside`), ``known`` is the object, and is not looked for.
    kept: of an attribute, where objects of one class keep it. Of a dict item ``index`` says how many entries stand before it,
        and 1, where that is known; where that is wrong it is looked up.
    """

    source: str
    holder: int = 0
    index: int = 0
    key: Any = None
    guard: PlaceGuard | None = None
    slot: int | None = None
    facts: Sequence[Fact] = ()
    known: Any = None
    kept: InstanceValue | None = None

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise ValueError(f"Place requires a source among {SOURCES}; given {self.source!r}")
        if min(self.holder, self.index) < 0:
            raise ValueError(f"Place requires numbers that are not negative; given {self.holder} and {self.index}")


# In the form of `entry_code`'s.
FUNCTIONS = (
    "PyDict_GetItemWithError",
    "PyDict_Next",
    "PyDict_Size",
    "PyErr_Clear",
    "PyLong_FromSsize_t",
    "PyObject_GetItem",
    "PyUnicode_Compare",
)

ASSEMBLY = """
; Whether an object passes a guard. The address of what the kernel reads of it is noted in its slot.
define internal i1 @fits(ptr %guard, ptr %object, ptr %data, i64 %cells_distance, ptr %places) {
start:
  %overflow_at = alloca i32
  %kind = field i64 %guard, Argument_kind
  %expected = field ptr %guard, Argument_expected
  %size = field i64 %guard, Argument_size
  %slot = field i64 %guard, Argument_slot
  %data_at = getelementptr i8, ptr %data, i64 %slot
  %cell_at = getelementptr i8, ptr %data_at, i64 %cells_distance
  switch i64 %kind, label %check_type [ i64 ARGUMENT_STATIC, label %identity
                                        i64 ARGUMENT_SAME, label %other_place
                                        i64 ARGUMENT_OTHER, label %other_place
                                        i64 ARGUMENT_AS_GOOD, label %as_good
                                        i64 ARGUMENT_CHECKED, label %ask
                                        i64 ARGUMENT_ANY, label %yes ]
identity:
  %is_identical = icmp eq ptr %object, %expected
  ret i1 %is_identical
other_place:
  %other_at = getelementptr ptr, ptr %places, i64 %size
  %other = load ptr, ptr %other_at
  %is_same = icmp eq ptr %object, %other
  %wants_other = icmp eq i64 %kind, ARGUMENT_OTHER
  %is_as_wanted = xor i1 %is_same, %wants_other
  ret i1 %is_as_wanted
as_good:
  %is_the_one = icmp eq ptr %object, %expected
  br i1 %is_the_one, label %yes, label %compare_types
compare_types:
  %expected_type = field ptr %expected, OBJECT_TYPE
  %object_type = field ptr %object, OBJECT_TYPE
  %is_of_type = icmp eq ptr %object_type, %expected_type
  br i1 %is_of_type, label %ask, label %no
ask:
  ; What Python raises stands, and is what the call raises.
  %asked = field ptr %guard, Argument_shape
  %ask_function = load ptr, ptr @PyObject_CallOneArg
  %answer = call ptr %ask_function(ptr %asked, ptr %object)
  %affirmative = load ptr, ptr @true
  %is_affirmed = icmp eq ptr %answer, %affirmative
  call void @drop(ptr %answer)
  ret i1 %is_affirmed
check_type:
  %type = field ptr %object, OBJECT_TYPE
  %same_type = icmp eq ptr %type, %expected
  br i1 %same_type, label %check_kind, label %no
check_kind:
  switch i64 %kind, label %yes [ i64 ARGUMENT_INLINE, label %inline
                                 i64 ARGUMENT_ARRAY, label %array
                                 i64 ARGUMENT_INTEGER, label %integer
                                 i64 ARGUMENT_BOOL, label %bool
                                 i64 ARGUMENT_SIZE, label %count
                                 i64 ARGUMENT_KEYS, label %keys
                                 i64 ARGUMENT_FLOAT_VALUE, label %float_value
                                 i64 ARGUMENT_INTEGER_VALUE, label %integer_value
                                 i64 ARGUMENT_METHOD, label %method
                                 i64 ARGUMENT_FUNCTION, label %parts
                                 i64 ARGUMENT_ADDRESS, label %address
                                 i64 ARGUMENT_PACKED_FLOAT, label %packed_float
                                 i64 ARGUMENT_PACKED_INTEGER, label %packed_integer
                                 i64 ARGUMENT_TEXT, label %text ]
inline:
  ; The object holds the value as the kernel reads it, and lives as long as the call.
  %value_at = getelementptr i8, ptr %object, i64 SCALAR_VALUE
  store ptr %value_at, ptr %data_at
  ret i1 true
array:
  %array_fits = call i1 @array_fits(ptr %guard, ptr %object)
  %array_data = field ptr %object, ARRAY_DATA
  store ptr %array_data, ptr %data_at
  ret i1 %array_fits
integer:
  %convert = load ptr, ptr @PyLong_AsLongLongAndOverflow
  %to_pass = call i64 %convert(ptr %object, ptr %cell_at)
  %overflow = load i32, ptr %cell_at
  store i64 %to_pass, ptr %cell_at
  store ptr %cell_at, ptr %data_at
  %least = field i64 %guard, Argument_least
  %greatest = field i64 %guard, Argument_greatest
  %is_64_bits = icmp eq i32 %overflow, 0
  %is_not_below = icmp sge i64 %to_pass, %least
  %is_not_above = icmp sle i64 %to_pass, %greatest
  %is_between = and i1 %is_not_below, %is_not_above
  %integer_fits = and i1 %is_64_bits, %is_between
  ret i1 %integer_fits
bool:
  %true = load ptr, ptr @true
  %is_true = icmp eq ptr %object, %true
  %bool_value = zext i1 %is_true to i8
  store i8 %bool_value, ptr %cell_at
  store ptr %cell_at, ptr %data_at
  ret i1 true
address:
  %object_address = ptrtoint ptr %object to i64
  %handle = add i64 %object_address, %size
  store i64 %handle, ptr %cell_at
  store ptr %cell_at, ptr %data_at
  ret i1 true
packed_float:
  %float_to_pack = field i64 %object, SCALAR_VALUE
  br label %pack
packed_integer:
  %to_pack = load ptr, ptr @PyLong_AsLongLongAndOverflow
  %integer_to_pack = call i64 %to_pack(ptr %object, ptr %overflow_at)
  %overflow_of_pack = load i32, ptr %overflow_at
  %least_in_pack = field i64 %guard, Argument_least
  %greatest_in_pack = field i64 %guard, Argument_greatest
  %pack_is_64_bits = icmp eq i32 %overflow_of_pack, 0
  %pack_is_not_below = icmp sge i64 %integer_to_pack, %least_in_pack
  %pack_is_not_above = icmp sle i64 %integer_to_pack, %greatest_in_pack
  %pack_is_between = and i1 %pack_is_not_below, %pack_is_not_above
  %may_be_packed = and i1 %pack_is_64_bits, %pack_is_between
  br i1 %may_be_packed, label %pack, label %no
pack:
  %packed = phi i64 [ %float_to_pack, %packed_float ], [ %integer_to_pack, %packed_integer ]
  ; Offsets from the data pointers on: of this number, and of the array.
  %packed_at = getelementptr i8, ptr %data, i64 %size
  store i64 %packed, ptr %packed_at
  %pack_begin = field i64 %guard, Argument_shape
  %pack_at = getelementptr i8, ptr %data, i64 %pack_begin
  store ptr %pack_at, ptr %data_at
  ret i1 true
text:
  ; Behind the characters of the text before.
  %text_cell = getelementptr i8, ptr %data, i64 %size
  %texts_begin = field i64 %guard, Argument_shape
  %texts_at = getelementptr i8, ptr %data, i64 %texts_begin
  store ptr %texts_at, ptr %data_at
  %is_first_text = icmp eq i64 %size, %texts_begin
  br i1 %is_first_text, label %place_text, label %behind_text
behind_text:
  %start_before_at = getelementptr i32, ptr %text_cell, i64 -2
  %start_before = load i32, ptr %start_before_at
  %length_before_at = getelementptr i32, ptr %text_cell, i64 -1
  %length_before = load i32, ptr %length_before_at
  %end_before = add i32 %start_before, %length_before
  br label %place_text
place_text:
  %text_start = phi i32 [ 0, %text ], [ %end_before, %behind_text ]
  %get_text_length = load ptr, ptr @PyUnicode_GetLength
  %text_length = call i64 %get_text_length(ptr %object)
  %room_for_texts = field i64 %guard, Argument_greatest
  %text_begin = zext i32 %text_start to i64
  %room_for_text = sub i64 %room_for_texts, %text_begin
  %has_room = icmp sle i64 %text_length, %room_for_text
  br i1 %has_room, label %copy_text, label %no
copy_text:
  store i32 %text_start, ptr %text_cell
  %length_at = getelementptr i32, ptr %text_cell, i64 1
  %length_to_note = trunc i64 %text_length to i32
  store i32 %length_to_note, ptr %length_at
  %characters_begin = field i64 %guard, Argument_least
  %characters_at = getelementptr i8, ptr %data, i64 %characters_begin
  %characters_of_text = getelementptr i32, ptr %characters_at, i64 %text_begin
  %copy_characters = load ptr, ptr @PyUnicode_AsUCS4
  %copied = call ptr %copy_characters(ptr %object, ptr %characters_of_text, i64 %room_for_text, i32 0)
  %is_copied = icmp ne ptr %copied, null
  ret i1 %is_copied
count:
  %count_found = field i64 %object, TUPLE_SIZE
  %same_count = icmp eq i64 %count_found, %size
  ret i1 %same_count
keys:
  %same_keys = call i1 @keys_fit(ptr %guard, ptr %object)
  ret i1 %same_keys
float_value:
  %float = field i64 %object, SCALAR_VALUE
  %same_float = icmp eq i64 %float, %size
  ret i1 %same_float
integer_value:
  %to_integer = load ptr, ptr @PyLong_AsLongLongAndOverflow
  %found_integer = call i64 %to_integer(ptr %object, ptr %overflow_at)
  %overflowed = load i32, ptr %overflow_at
  %did_not_overflow = icmp eq i32 %overflowed, 0
  %same_integer = icmp eq i64 %found_integer, %size
  %is_the_integer = and i1 %same_integer, %did_not_overflow
  ret i1 %is_the_integer
method:
  %function = field ptr %object, METHOD_FUNCTION
  %wanted_function = field ptr %guard, Argument_shape
  %same_function = icmp eq ptr %function, %wanted_function
  ret i1 %same_function
parts:
  ; Pairs of an offset and the word that has to stand there.
  %pairs = field ptr %guard, Argument_shape
  br label %next_part
next_part:
  %part = phi i64 [ 0, %parts ], [ %part_after, %compare_part ]
  %all_parts = icmp eq i64 %part, %size
  br i1 %all_parts, label %yes, label %compare_part
compare_part:
  %pair_at = getelementptr { i64, i64 }, ptr %pairs, i64 %part
  %offset = load i64, ptr %pair_at
  %word_at = getelementptr i8, ptr %pair_at, i64 8
  %wanted_word = load i64, ptr %word_at
  %found_at = getelementptr i8, ptr %object, i64 %offset
  %found_word = load i64, ptr %found_at
  %same_word = icmp eq i64 %found_word, %wanted_word
  %part_after = add i64 %part, 1
  br i1 %same_word, label %next_part, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; Reads all places of an entry, and whether all pass their guards. If so the call owns references to what stands there.
define internal i1 @take_places(ptr %entry, ptr %args, ptr %data, i64 %cells_distance, ptr %places) alwaysinline {
start:
  %count = field i64 %entry, Entry_place_count
  %records = field ptr %entry, Entry_places
  br label %next
next:
  %number = phi i64 [ 0, %start ], [ %number_after, %check ]
  %record = phi ptr [ %records, %start ], [ %record_after, %check ]
  %done = icmp eq i64 %number, %count
  br i1 %done, label %yes, label %read
read:
  %source = field i64 %record, Place_source
  %holder_number = field i64 %record, Place_holder
  %index = field i64 %record, Place_index
  %key = field ptr %record, Place_key
  %holder_at = getelementptr ptr, ptr %places, i64 %holder_number
  %words = field ptr %record, Place_words
  %words_end = field ptr %record, Place_words_end
  %knows_none = icmp eq ptr %words, %words_end
  br i1 %knows_none, label %look_for, label %compare_word
compare_word:
  %word = phi ptr [ %words, %read ], [ %word_after, %next_word ]
  %word_at = load ptr, ptr %word
  %expected_at = getelementptr i64, ptr %word, i64 1
  %expected_word = load i64, ptr %expected_at
  %found_word = load i64, ptr %word_at
  %same_word = icmp eq i64 %found_word, %expected_word
  br i1 %same_word, label %next_word, label %look_for
next_word:
  %word_after = getelementptr i64, ptr %word, i64 2
  %all_words = icmp eq ptr %word_after, %words_end
  br i1 %all_words, label %known, label %compare_word
known:
  %known_object = field ptr %record, Place_known
  br label %borrowed
look_for:
  switch i64 %source, label %held [ i64 SOURCE_ARGUMENT, label %argument
                                    i64 SOURCE_OBJECT, label %borrowed
                                    i64 SOURCE_CELL, label %cell
                                    i64 SOURCE_NEW_LIST, label %new_list ]
argument:
  %argument_at = getelementptr ptr, ptr %args, i64 %index
  %given = load ptr, ptr %argument_at
  br label %borrowed
cell:
  %contents = field ptr %key, CELL_CONTENTS
  br label %borrowed
new_list:
  %make_list = load ptr, ptr @PyList_New
  %made_list = call ptr %make_list(i64 0)
  br label %owned
held:
  %holder = load ptr, ptr %holder_at
  switch i64 %source, label %borrowed [ i64 SOURCE_TUPLE_ITEM, label %tuple_item
                                        i64 SOURCE_LIST_ITEM, label %list_item
                                        i64 SOURCE_DICT_ITEM, label %dict_item
                                        i64 SOURCE_ITEM, label %any_item
                                        i64 SOURCE_ATTRIBUTE, label %attribute
                                        i64 SOURCE_LENGTH, label %length
                                        i64 SOURCE_ENTRIES, label %entries
                                        i64 SOURCE_READ, label %read_by_python ]
tuple_item:
  %tuple_size = field i64 %holder, TUPLE_SIZE
  %in_tuple = icmp slt i64 %index, %tuple_size
  %items_of_tuple = getelementptr i8, ptr %holder, i64 TUPLE_ITEMS
  br i1 %in_tuple, label %item, label %absent
list_item:
  %list_size = field i64 %holder, TUPLE_SIZE
  %in_list = icmp slt i64 %index, %list_size
  %items_of_list = field ptr %holder, LIST_ITEMS
  br i1 %in_list, label %item, label %absent
item:
  %items = phi ptr [ %items_of_tuple, %tuple_item ], [ %items_of_list, %list_item ]
  %item_at = getelementptr ptr, ptr %items, i64 %index
  %an_item = load ptr, ptr %item_at
  br label %borrowed
dict_item:
  %item_there = call ptr @item_of_number(ptr %holder, i64 %index, ptr %key)
  %is_not_there = icmp eq ptr %item_there, null
  br i1 %is_not_there, label %look_up_item, label %borrowed
look_up_item:
  %look_up = load ptr, ptr @PyDict_GetItemWithError
  %found_item = call ptr %look_up(ptr %holder, ptr %key)
  br label %borrowed
any_item:
  %get_item = load ptr, ptr @PyObject_GetItem
  %found_any_item = call ptr %get_item(ptr %holder, ptr %key)
  br label %owned
attribute:
  %kept = field ptr %record, Place_kept
  %kept_at = call ptr @instance_value_at(ptr %kept, ptr %holder)
  %is_elsewhere = icmp eq ptr %kept_at, null
  br i1 %is_elsewhere, label %get_attribute, label %kept_there
kept_there:
  %kept_value = load ptr, ptr %kept_at
  br label %borrowed
get_attribute:
  %get = load ptr, ptr @PyObject_GetAttr
  %found_attribute = call ptr %get(ptr %holder, ptr %key)
  br label %owned
length:
  %list_length = field i64 %holder, TUPLE_SIZE
  %make_integer = load ptr, ptr @PyLong_FromSsize_t
  %made_length = call ptr %make_integer(i64 %list_length)
  br label %owned
read_by_python:
  %read_function = load ptr, ptr @PyObject_CallOneArg
  %read_object = call ptr %read_function(ptr %key, ptr %holder)
  br label %owned
entries:
  %columns = call ptr @read_entries(ptr %key, ptr %holder, ptr %data)
  br label %owned
borrowed:
  %reference = phi ptr [ %known_object, %known ], [ %given, %argument ], [ %key, %look_for ], [ %contents, %cell ],
                       [ %holder, %held ], [ %an_item, %item ], [ %found_item, %look_up_item ],
                       [ %item_there, %dict_item ], [ %kept_value, %kept_there ]
  %is_missing = icmp eq ptr %reference, null
  br i1 %is_missing, label %absent, label %retain_it
retain_it:
  call void @retain(ptr %reference)
  br label %owned
owned:
  %object = phi ptr [ %reference, %retain_it ], [ %found_any_item, %any_item ], [ %found_attribute, %get_attribute ],
                    [ %made_length, %length ], [ %made_list, %new_list ], [ %columns, %entries ],
                    [ %read_object, %read_by_python ]
  %nothing = icmp eq ptr %object, null
  br i1 %nothing, label %absent, label %check
check:
  %place_at = getelementptr ptr, ptr %places, i64 %number
  store ptr %object, ptr %place_at
  %number_after = add i64 %number, 1
  %record_after = getelementptr i8, ptr %record, i64 Place_SIZE
  %guard = getelementptr i8, ptr %record, i64 Place_guard
  %fits = call i1 @fits(ptr %guard, ptr %object, ptr %data, i64 %cells_distance, ptr %places)
  br i1 %fits, label %next, label %does_not_fit
absent:
  ; What Python functions of a signature raise stands.
  %is_of_python = icmp eq i64 %source, SOURCE_READ
  br i1 %is_of_python, label %does_not_fit, label %clear_error
clear_error:
  %clear = load ptr, ptr @PyErr_Clear
  call void %clear()
  br label %does_not_fit
does_not_fit:
  %taken = phi i64 [ %number, %absent ], [ %number, %clear_error ], [ %number_after, %check ]
  call void @drop_all(ptr %places, i64 %taken)
  br label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether memory that is changed in place is memory of its own.
define internal i1 @are_apart(ptr %entry, ptr %data) alwaysinline {
start:
  %first = field ptr %entry, Entry_apart
  %end = field ptr %entry, Entry_apart_end
  br label %next
next:
  %record = phi ptr [ %first, %start ], [ %record_after, %compare ]
  %done = icmp eq ptr %record, %end
  br i1 %done, label %yes, label %compare
compare:
  %slot = field i64 %record, Apart_slot
  %size = field i64 %record, Apart_size
  %other_slot = field i64 %record, Apart_other_slot
  %other_size = field i64 %record, Apart_other_size
  %at = getelementptr i8, ptr %data, i64 %slot
  %other_at = getelementptr i8, ptr %data, i64 %other_slot
  %begin = load i64, ptr %at
  %other_begin = load i64, ptr %other_at
  %behind = add i64 %begin, %size
  %behind_other = add i64 %other_begin, %other_size
  %lies_before = icmp ule i64 %behind, %other_begin
  %lies_behind = icmp ule i64 %behind_other, %begin
  %is_apart = or i1 %lies_before, %lies_behind
  %record_after = getelementptr i8, ptr %record, i64 Apart_SIZE
  br i1 %is_apart, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}
"""
