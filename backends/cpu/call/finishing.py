"""What a call does once its kernel has run: it builds what it returns, and sets what is to be set outside.

The steps work on a stack of objects. The last object that is left on it is what the call returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .new_entries import NewEntries
from .rows import Part, room

# What a step does to the stack, and by how much it grows; None where it takes away as many as the step says and puts one on it.
STEPS = {
    "result": 1,  # puts the object of a result on it
    "place": 1,  # what stands at a place
    "object": 1,  # an object
    "tuple": None,  # makes one of the last objects, as many as the number says; so do the next four
    "list": None,
    "dict": None,  # with the keys in the tuple ``object``
    "call": None,  # calls ``object`` with them
    "attributes": None,  # calls the first of the tuple ``object``; they become attributes, whose names are the others
    "optional": 0,  # exchanges the last object for None where the memory of a result, a byte, is 0
    "drop": -1,  # takes the last object away
    "append": -1,  # appends it to the list before it
    # Takes an object, a name and a value away, and sets the attribute, as ``setattr``; ``object`` may say where it is kept.
    "set attribute": -3,
    "set item": -3,  # the same with a container, a key and a value, as ``operator.setitem`` does
    "rows": 0,  # appends elements to the last object, a list, as `rows.Rows`, the ``object``, says
    "part": 1,  # puts an object on it that is made of results, as the part of `rows`, the ``object``, says
    "entries": 0,  # gives the last object, whose columns stand at a place, what `new_entries.NewEntries`, the ``object``, says
    "set result": 0,  # takes the next four steps, of `_SETTING`, at once, or does nothing
}
STEP_RESULT, STEP_PLACE, STEP_OBJECT, STEP_TUPLE, STEP_LIST, STEP_DICT, STEP_CALL, STEP_ATTRIBUTES = range(8)
STEP_OPTIONAL, STEP_DROP, STEP_APPEND, STEP_SET_ATTRIBUTE, STEP_SET_ITEM = range(8, 13)
STEP_ROWS, STEP_PART, STEP_ENTRIES, STEP_SET_RESULT = range(13, len(STEPS))

# Steps that set something to a result: they need no stack.
_SETTING = (("place", "object"), ("object",), ("result",), ("set attribute", "set item"))


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One of `STEPS`."""

    kind: str
    number: int = 0
    object: Any = None


def stack_size(steps: Iterable[Step]) -> int:
    """The largest number of objects on the stack. Raises ValueError for steps that do not leave one object on it."""
    depth = largest = 0
    for step in steps:
        change = STEPS[step.kind]
        if depth < (step.number if change is None else max(1, -change) if change < 1 else 0):
            raise ValueError(f"the step {step.kind!r} takes more objects than there are")
        depth += 1 - step.number if change is None else change
        largest = max(largest, depth + _room(step.object))
    if depth != 1:
        raise ValueError(f"steps must leave one object; they leave {depth}")
    return largest


def with_short_ways(steps: Sequence[Step]) -> list[Step]:
    """The steps, with a "set result" before each four that this takes at once."""
    found = []
    for position, step in enumerate(steps):
        following = [one.kind for one in steps[position : position + len(_SETTING)]]
        if len(following) == len(_SETTING) and all(kind in kinds for kind, kinds in zip(following, _SETTING)):
            found.append(Step("set result"))
        found.append(step)
    return found


def _room(given: Any) -> int:
    return room(given) if isinstance(given, Part) else given.room if isinstance(given, NewEntries) else 0


# In the form of `entry_code`'s.
FUNCTIONS = (
    "PyDict_New",
    "PyDict_SetItem",
    "PyList_New",
    "PyObject_GenericSetAttr",
    "PyObject_SetAttr",
    "PyObject_SetItem",
)

ASSEMBLY = """
; The code of the first of the results that tell of an error, 0 where none does. Its lower half decides; the upper half is the
; code's only where the result is an s64.
define internal i64 @first_error(ptr %entry, ptr %frame) alwaysinline {
start:
  %first = field ptr %entry, Entry_errors
  %end = field ptr %entry, Entry_errors_end
  br label %next
next:
  %offset_at = phi ptr [ %first, %start ], [ %offset_after, %look ]
  %done = icmp eq ptr %offset_at, %end
  br i1 %done, label %none, label %look
look:
  %offset = load i64, ptr %offset_at
  %code_at = getelementptr i8, ptr %frame, i64 %offset
  %lower = load i32, ptr %code_at
  %is_fine = icmp eq i32 %lower, 0
  %offset_after = getelementptr i64, ptr %offset_at, i64 1
  br i1 %is_fine, label %next, label %found
found:
  %code = load i64, ptr %code_at
  ret i64 %code
none:
  ret i64 0
}

; A tuple of objects, whose references it takes over, or NULL with an exception set; they are the caller's then.
define internal ptr @tuple_of(ptr %objects, i64 %count) alwaysinline {
start:
  ; The collector must not see one with empty places: nothing is called before it is filled.
  %new_tuple = load ptr, ptr @PyTuple_New
  %tuple = call ptr %new_tuple(i64 %count)
  %no_tuple = icmp eq ptr %tuple, null
  %is_empty = icmp eq i64 %count, 0
  %is_done = or i1 %no_tuple, %is_empty
  br i1 %is_done, label %done, label %fill
fill:
  %items = getelementptr i8, ptr %tuple, i64 TUPLE_ITEMS
  %size = shl i64 %count, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %items, ptr %objects, i64 %size, i1 false)
  br label %done
done:
  ret ptr %tuple
}

; What a step of this kind makes of objects: a tuple, a list, a dict, an object, or what a function returns; as @tuple_of.
define internal ptr @put_together(i64 %kind, ptr %constant, ptr %objects, i64 %count) {
start:
  %size = shl i64 %count, 3
  switch i64 %kind, label %tuple [ i64 STEP_LIST, label %list
                                   i64 STEP_DICT, label %dict
                                   i64 STEP_CALL, label %call
                                   i64 STEP_ATTRIBUTES, label %attributes ]
tuple:
  %tuple_of = call ptr @tuple_of(ptr %objects, i64 %count)
  ret ptr %tuple_of
list:
  %new_list = load ptr, ptr @PyList_New
  %list_of = call ptr %new_list(i64 %count)
  %no_list = icmp eq ptr %list_of, null
  %is_empty = icmp eq i64 %count, 0
  %is_done = or i1 %no_list, %is_empty
  br i1 %is_done, label %return_list, label %fill_list
fill_list:
  %items = field ptr %list_of, LIST_ITEMS
  call void @llvm.memcpy.p0.p0.i64(ptr %items, ptr %objects, i64 %size, i1 false)
  br label %return_list
return_list:
  ret ptr %list_of
dict:
  %new_dict = load ptr, ptr @PyDict_New
  %made_dict = call ptr %new_dict()
  %keys = getelementptr i8, ptr %constant, i64 TUPLE_ITEMS
  %set_item_of_dict = load ptr, ptr @PyDict_SetItem
  br label %made
attributes:
  %make_at = getelementptr i8, ptr %constant, i64 TUPLE_ITEMS
  %make = load ptr, ptr %make_at
  %call_alone = load ptr, ptr @PyObject_CallNoArgs
  %made_object = call ptr %call_alone(ptr %make)
  %names = getelementptr ptr, ptr %make_at, i64 1
  %set_attribute = load ptr, ptr @PyObject_GenericSetAttr
  br label %made
made:
  ; A dict gets items, an object attributes, one after the other.
  %holder = phi ptr [ %made_dict, %dict ], [ %made_object, %attributes ]
  %keys_of_all = phi ptr [ %keys, %dict ], [ %names, %attributes ]
  %set = phi ptr [ %set_item_of_dict, %dict ], [ %set_attribute, %attributes ]
  %no_holder = icmp eq ptr %holder, null
  br i1 %no_holder, label %failed, label %next_item
next_item:
  %item = phi i64 [ 0, %made ], [ %item_after, %set_item ]
  %all_items = icmp eq i64 %item, %count
  br i1 %all_items, label %release, label %set_item
set_item:
  %key_at = getelementptr ptr, ptr %keys_of_all, i64 %item
  %key = load ptr, ptr %key_at
  %value_at = getelementptr ptr, ptr %objects, i64 %item
  %value = load ptr, ptr %value_at
  %not_set = call i32 %set(ptr %holder, ptr %key, ptr %value)
  %item_after = add i64 %item, 1
  %is_set = icmp eq i32 %not_set, 0
  br i1 %is_set, label %next_item, label %drop_incomplete
drop_incomplete:
  call void @drop(ptr %holder)
  br label %failed
call:
  %vectorcall = load ptr, ptr @PyObject_Vectorcall
  %returned = call ptr %vectorcall(ptr %constant, ptr %objects, i64 %count, ptr null)
  %raised = icmp eq ptr %returned, null
  br i1 %raised, label %failed, label %release
release:
  %made_of_them = phi ptr [ %holder, %next_item ], [ %returned, %call ]
  call void @drop_all(ptr %objects, i64 %count)
  ret ptr %made_of_them
failed:
  ret ptr null
}

; Takes the steps of an entry; returns the object that they leave, or NULL with an exception set.
define internal ptr @take_steps(ptr %entry, ptr %frame, ptr %objects, ptr %places) alwaysinline {
start:
  %stack_offset = field i64 %entry, Entry_stack_offset
  %stack = getelementptr i8, ptr %frame, i64 %stack_offset
  %memory_offset = field i64 %entry, Entry_memory_offset
  %memory = getelementptr i8, ptr %frame, i64 %memory_offset
  %shared_offset = field i64 %entry, Entry_shared_offset
  %shared_count = field i64 %entry, Entry_shared_count
  %shared = getelementptr i8, ptr %frame, i64 %shared_offset
  %shared_size = shl i64 %shared_count, 3
  call void @llvm.memset.p0.i64(ptr %shared, i8 0, i64 %shared_size, i1 false)
  %first = field ptr %entry, Entry_steps
  %end = field ptr %entry, Entry_steps_end
  br label %next
next:
  %step = phi ptr [ %first, %start ], [ %step_after, %taken ], [ %setting_end, %value_is_set ]
  %depth = phi i64 [ 0, %start ], [ %depth_after, %taken ], [ %depth, %value_is_set ]
  %done = icmp eq ptr %step, %end
  br i1 %done, label %all, label %take
take:
  %kind = field i64 %step, Step_kind
  %number = field i64 %step, Step_number
  %constant = field ptr %step, Step_object
  %step_after = getelementptr i8, ptr %step, i64 Step_SIZE
  %top = sub i64 %depth, 1
  %top_at = getelementptr ptr, ptr %stack, i64 %top
  %rest = sub i64 %depth, %number
  %last = getelementptr ptr, ptr %stack, i64 %rest
  %room = getelementptr ptr, ptr %stack, i64 %depth
  switch i64 %kind, label %drop_top [ i64 STEP_RESULT, label %result
                                      i64 STEP_PLACE, label %place
                                      i64 STEP_OBJECT, label %borrowed
                                      i64 STEP_TUPLE, label %together
                                      i64 STEP_LIST, label %together
                                      i64 STEP_DICT, label %together
                                      i64 STEP_CALL, label %together
                                      i64 STEP_ATTRIBUTES, label %together
                                      i64 STEP_OPTIONAL, label %optional
                                      i64 STEP_APPEND, label %append
                                      i64 STEP_SET_ATTRIBUTE, label %set_attribute
                                      i64 STEP_SET_ITEM, label %set_item
                                      i64 STEP_ROWS, label %rows
                                      i64 STEP_PART, label %part
                                      i64 STEP_ENTRIES, label %entries
                                      i64 STEP_SET_RESULT, label %set_result ]
set_result:
  %key_step = getelementptr i8, ptr %step_after, i64 Step_SIZE
  %value_step = getelementptr i8, ptr %key_step, i64 Step_SIZE
  %setting_step = getelementptr i8, ptr %value_step, i64 Step_SIZE
  %setting_end = getelementptr i8, ptr %setting_step, i64 Step_SIZE
  %value_number = field i64 %value_step, Step_number
  %value_at = getelementptr ptr, ptr %objects, i64 %value_number
  %value = load ptr, ptr %value_at
  %setting_kind = field i64 %setting_step, Step_kind
  %is_attribute = icmp eq i64 %setting_kind, STEP_SET_ATTRIBUTE
  %changed_kind = field i64 %step_after, Step_kind
  %is_at_place = icmp eq i64 %changed_kind, STEP_PLACE
  br i1 %is_at_place, label %changed_at_place, label %changed_constant
changed_at_place:
  %changed_number = field i64 %step_after, Step_number
  %changed_at = getelementptr ptr, ptr %places, i64 %changed_number
  %changed_place = load ptr, ptr %changed_at
  br label %set_in
changed_constant:
  %constant_changed = field ptr %step_after, Step_object
  br label %set_in
set_in:
  %changed_object = phi ptr [ %changed_place, %changed_at_place ], [ %constant_changed, %changed_constant ]
  br i1 %is_attribute, label %set_kept_value, label %set_value_of_key
set_kept_value:
  %kept_record = field ptr %setting_step, Step_object
  %kept_value_at = call ptr @instance_value_at(ptr %kept_record, ptr %changed_object)
  %is_not_kept = icmp eq ptr %kept_value_at, null
  br i1 %is_not_kept, label %taken, label %set_there
set_there:
  call void @retain(ptr %value)
  %former_value = load ptr, ptr %kept_value_at
  store ptr %value, ptr %kept_value_at
  call void @drop(ptr %former_value)
  br label %value_is_set
set_value_of_key:
  %key_of_value = field ptr %key_step, Step_object
  %set_by_key = load ptr, ptr @PyObject_SetItem
  call void @retain(ptr %changed_object)
  %by_key = call i32 %set_by_key(ptr %changed_object, ptr %key_of_value, ptr %value)
  call void @drop(ptr %changed_object)
  %is_set_by_key = icmp eq i32 %by_key, 0
  br i1 %is_set_by_key, label %value_is_set, label %failed
value_is_set:
  br label %next
result:
  %object_at = getelementptr ptr, ptr %objects, i64 %number
  %object = load ptr, ptr %object_at
  br label %borrowed
place:
  %place_at = getelementptr ptr, ptr %places, i64 %number
  %placed = load ptr, ptr %place_at
  br label %borrowed
borrowed:
  %reference = phi ptr [ %constant, %take ], [ %object, %result ], [ %placed, %place ]
  call void @retain(ptr %reference)
  br label %put
together:
  %container = call ptr @put_together(i64 %kind, ptr %constant, ptr %last, i64 %number)
  %no_container = icmp eq ptr %container, null
  br i1 %no_container, label %failed, label %put
put:
  ; Behind what is left below.
  %new_object = phi ptr [ %reference, %borrowed ], [ %container, %together ], [ %made_part, %part ]
  %position = phi i64 [ %depth, %borrowed ], [ %rest, %together ], [ %depth, %part ]
  %put_at = getelementptr ptr, ptr %stack, i64 %position
  store ptr %new_object, ptr %put_at
  %depth_with_it = add i64 %position, 1
  br label %taken
optional:
  %flag_offset = shl i64 %number, 4
  %flag_at = getelementptr i8, ptr %frame, i64 %flag_offset
  %flag = load i8, ptr %flag_at
  %is_there = icmp ne i8 %flag, 0
  br i1 %is_there, label %taken, label %exchange
exchange:
  %unused = load ptr, ptr %top_at
  call void @drop(ptr %unused)
  %none = load ptr, ptr @none
  call void @retain(ptr %none)
  store ptr %none, ptr %top_at
  br label %taken
append:
  %appended = load ptr, ptr %top_at
  %below = sub i64 %depth, 2
  %extended_at = getelementptr ptr, ptr %stack, i64 %below
  %extended = load ptr, ptr %extended_at
  %append_to = load ptr, ptr @PyList_Append
  %not_appended = call i32 %append_to(ptr %extended, ptr %appended)
  %is_appended = icmp eq i32 %not_appended, 0
  br i1 %is_appended, label %drop_top, label %failed
set_attribute:
  %below_them = sub i64 %depth, 3
  %object_below_at = getelementptr ptr, ptr %stack, i64 %below_them
  %object_below = load ptr, ptr %object_below_at
  %kept_at = call ptr @instance_value_at(ptr %constant, ptr %object_below)
  %is_elsewhere = icmp eq ptr %kept_at, null
  br i1 %is_elsewhere, label %set_by_name, label %exchange_value
exchange_value:
  %new_value = load ptr, ptr %top_at
  %old_value = load ptr, ptr %kept_at
  store ptr %new_value, ptr %kept_at
  store ptr %old_value, ptr %top_at
  call void @drop_all(ptr %object_below_at, i64 3)
  br label %taken
set_by_name:
  %to_attribute = load ptr, ptr @PyObject_SetAttr
  br label %set
set_item:
  %to_item = load ptr, ptr @PyObject_SetItem
  br label %set
set:
  %setter = phi ptr [ %to_attribute, %set_by_name ], [ %to_item, %set_item ]
  %without_them = sub i64 %depth, 3
  %holder_at = getelementptr ptr, ptr %stack, i64 %without_them
  %key_at = getelementptr ptr, ptr %holder_at, i64 1
  %holder = load ptr, ptr %holder_at
  %key = load ptr, ptr %key_at
  %to_set = load ptr, ptr %top_at
  %not_set = call i32 %setter(ptr %holder, ptr %key, ptr %to_set)
  %is_set = icmp eq i32 %not_set, 0
  br i1 %is_set, label %drop_set, label %failed
drop_set:
  call void @drop_all(ptr %holder_at, i64 3)
  br label %taken
rows:
  %filled_list = load ptr, ptr %top_at
  %are_appended = call i1 @append_rows(ptr %constant, ptr %memory, i64 0, ptr %filled_list, ptr %room)
  br i1 %are_appended, label %taken, label %failed
part:
  %made_part = call ptr @part_in_row(ptr %constant, ptr %memory, i64 0, ptr %room)
  %no_part = icmp eq ptr %made_part, null
  br i1 %no_part, label %failed, label %put
entries:
  %changed = load ptr, ptr %top_at
  %read_at = getelementptr ptr, ptr %places, i64 %number
  %read = load ptr, ptr %read_at
  %are_written = call i1 @write_entries(ptr %constant, ptr %memory, ptr %changed, ptr %read, ptr %room)
  br i1 %are_written, label %taken, label %failed
drop_top:
  %dropped = load ptr, ptr %top_at
  call void @drop(ptr %dropped)
  br label %taken
taken:
  %depth_after = phi i64 [ %depth_with_it, %put ], [ %depth, %optional ], [ %depth, %exchange ], [ %depth, %rows ],
                     [ %depth, %set_kept_value ],
                     [ %depth, %entries ], [ %top, %drop_top ], [ %without_them, %drop_set ],
                     [ %below_them, %exchange_value ]
  br label %next
all:
  %left = load ptr, ptr %stack
  br label %end_sharing
failed:
  call void @drop_all(ptr %stack, i64 %depth)
  br label %end_sharing
end_sharing:
  %found = phi ptr [ %left, %all ], [ null, %failed ]
  call void @drop_all(ptr %shared, i64 %shared_count)
  ret ptr %found
}
"""
