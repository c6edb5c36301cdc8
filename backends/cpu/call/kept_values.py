"""Values where dicts and objects keep them: what a call finds without a search, a part of `entry_code`'s code.

Objects of a class keep their attributes in an array of values, and the class says their order. CPython reads and sets them
so itself, once it has seen what class an object has: as long as the version of the class is the same nothing that the class
defines stands before them. Objects whose ``__dict__`` has been asked for have no such array. Where an item of a dict stood
among the entries it mostly stands in the next call, and in other dicts of the same form.

The offsets are those of CPython's ``pycore_object.h`` and ``pycore_dict.h``, and are tried on objects before they are relied
on.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from ctypes import c_int64, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any

from .object_layout import TYPE_VERSION, types_have_versions
from .outside import KEYS_COUNT, KEYS_INDICES, KEYS_KIND, KEYS_LOG2_INDEX_BYTES, layout_is_known

# Where an object has the address of its values, and what is to be added to that.
INSTANCE_VALUES, VALUES_FROM_THERE = (-24, 1) if sys.version_info >= (3, 12) else (-32, 0)
_SPLIT = 2  # keys that objects of a class share, each (key, value)
_IS_MANAGED_DICT = 1 << 4  # Py_TPFLAGS_MANAGED_DICT
# What may stand in a class under a name without saying what an attribute of this name is: nothing changes their types.
_NO_DESCRIPTORS = (int, float, complex, bool, str, bytes, tuple, list, dict, set, frozenset, type(None))


@dataclass(frozen=True, slots=True, eq=False)
class InstanceValue:
    """An attribute of the objects of exactly this class, as long as it has this version: the value of this number."""

    type: type
    version: int
    number: int


class Attribute(ctypes.Structure):
    """What `InstanceValue` says; the number in bytes."""

    _fields_ = [
        ("type", c_void_p),
        ("version", c_uint64),
        ("offset", c_int64),
    ]


ASSEMBLY = """
; The value of a text in a dict, where it is at most the entry of this number, counted from 1; otherwise NULL. The number is 0
; where nothing is to be looked at. A dict that shares its keys with others has its values elsewhere.
define internal ptr @item_of_number(ptr %dict, i64 %number, ptr %key) alwaysinline {
start:
  %is_unknown = icmp eq i64 %number, 0
  br i1 %is_unknown, label %no, label %look_at_table
look_at_table:
  %shared_values = field ptr %dict, DICT_VALUES
  %table = field ptr %dict, DICT_KEYS
  %kind = field i8 %table, KEYS_KIND
  %count = field i64 %table, KEYS_COUNT
  %is_own = icmp eq ptr %shared_values, null
  %is_of_texts = icmp eq i8 %kind, KEYS_OF_TEXTS
  %is_in_table = icmp sle i64 %number, %count
  %is_own_of_texts = and i1 %is_own, %is_of_texts
  %may_stand_there = and i1 %is_own_of_texts, %is_in_table
  br i1 %may_stand_there, label %look_at_entry, label %no
look_at_entry:
  %log2_size = field i8 %table, KEYS_LOG2_INDEX_BYTES
  %wide_log2_size = zext i8 %log2_size to i64
  %size = shl i64 1, %wide_log2_size
  %indices = getelementptr i8, ptr %table, i64 KEYS_INDICES
  %entries = getelementptr i8, ptr %indices, i64 %size
  %before = sub i64 %number, 1
  %entry = getelementptr { ptr, ptr }, ptr %entries, i64 %before
  %entry_key = load ptr, ptr %entry
  %value_at = getelementptr ptr, ptr %entry, i64 1
  %value = load ptr, ptr %value_at
  %same_key = icmp eq ptr %entry_key, %key
  br i1 %same_key, label %yes, label %no
yes:
  ret ptr %value
no:
  ret ptr null
}

; Where an object keeps the value of an attribute, NULL where that is not known, or where it has none.
define internal ptr @instance_value_at(ptr %record, ptr %object) alwaysinline {
start:
  %is_unknown = icmp eq ptr %record, null
  br i1 %is_unknown, label %no, label %compare_type
compare_type:
  %type = field ptr %record, Attribute_type
  %object_type = field ptr %object, OBJECT_TYPE
  %same_type = icmp eq ptr %type, %object_type
  br i1 %same_type, label %compare_version, label %no
compare_version:
  %version = field i64 %record, Attribute_version
  %version_now = field i64 %type, TYPE_VERSION
  %same_version = icmp eq i64 %version, %version_now
  br i1 %same_version, label %look, label %no
look:
  %values = field i64 %object, INSTANCE_VALUES
  %tag = and i64 %values, VALUES_FROM_THERE
  %is_tagged = icmp eq i64 %tag, VALUES_FROM_THERE
  %is_there = icmp ne i64 %values, 0
  %has_values = and i1 %is_tagged, %is_there
  br i1 %has_values, label %found, label %no
found:
  %begin = add i64 %values, VALUES_FROM_THERE
  %offset = field i64 %record, Attribute_offset
  %address = add i64 %begin, %offset
  %at = inttoptr i64 %address to ptr
  %value = load ptr, ptr %at
  %is_absent = icmp eq ptr %value, null
  br i1 %is_absent, label %no, label %yes
yes:
  ret ptr %at
no:
  ret ptr null
}
"""


def entry_number(holder: dict, key: Any) -> tuple[int, Any]:
    """How many entries of a dict stand before that of a text, and 1, and the very key; 0 where native code must not look."""
    if type(key) is str and layout_is_known():
        for number, one in enumerate(dict.keys(holder), 1):
            if one is key or type(one) is str and one == key:
                return number, one
    return 0, key


def instance_value(value: Any, name: str) -> InstanceValue | None:
    """Where objects of the class of this one keep the attribute; None where that is not known, or decided otherwise."""
    kind = type(value)
    if not _objects_keep_values() or not kind.__flags__ & _IS_MANAGED_DICT:
        return None
    if type(kind) is not type or kind.__getattribute__ is not object.__getattribute__:
        return None
    if kind.__setattr__ is not object.__setattr__:
        return None
    if any(type(vars(base).get(name)) not in _NO_DESCRIPTORS for base in kind.__mro__):
        return None
    getattr(kind, "__doc__", None)  # by a read a class gets a version
    version = _word(id(kind) + TYPE_VERSION)
    names = _names(kind)
    return InstanceValue(kind, version, names.index(name)) if version and name in names else None


def address_of(builder: Any, kept: InstanceValue | None) -> int | None:
    """The address of the record."""
    if kept is None:
        return None
    return int(builder.memory((Attribute * 1)(Attribute(builder.object(kept.type), kept.version, 8 * kept.number))))


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _byte(address: int) -> int:
    return ctypes.c_uint8.from_address(address).value


def _names(kind: type) -> list[Any]:
    """The names of the attributes of a class's objects, in the order of their values."""
    at = _offset_of_keys()
    table = _word(id(kind) + at) if at else 0
    if not table or _byte(table + KEYS_KIND) != _SPLIT:
        return []
    entries = table + KEYS_INDICES + (1 << _byte(table + KEYS_LOG2_INDEX_BYTES))
    keys = [_word(entries + 16 * number) for number in range(_word(table + KEYS_COUNT))]
    return [ctypes.cast(key, ctypes.py_object).value for key in keys]


@functools.cache
def _offset_of_keys() -> int:
    """Where a class has the keys that its objects share: behind its name."""

    class Sample:
        pass

    name = id(Sample.__qualname__)
    places = [at for at in range(0, type.__basicsize__ - 8, 8) if _word(id(Sample) + at) == name]
    return places[-1] + 8 if places else 0


@functools.cache
def _objects_keep_values() -> bool:
    """Whether objects keep their attributes there; by reads alone."""
    if sys.version_info[:2] not in ((3, 11), (3, 12)) or not types_have_versions():
        return False

    class Sample:
        def __init__(self) -> None:
            self.first, self.second, self.third = object(), object(), object()

    sample = Sample()
    names = _names(Sample)
    values = _word(id(sample) + INSTANCE_VALUES)
    if names != ["first", "second", "third"] or not values or values & VALUES_FROM_THERE != VALUES_FROM_THERE:
        return False
    found = [_word(values + VALUES_FROM_THERE + 8 * number) for number in range(3)]
    if found != [id(sample.first), id(sample.second), id(sample.third)]:
        return False
    sample.__dict__["fourth"] = None  # from now on they are kept otherwise
    values = _word(id(sample) + INSTANCE_VALUES)
    return not values or values & VALUES_FROM_THERE != VALUES_FROM_THERE
