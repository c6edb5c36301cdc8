"""Values of which the program decides to what they are equal, and the lists that are searched for such one by one."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..recording import pytree
from ..recording.array import TracedArray
from ..recording.attributes import attributes_of, is_generated, is_record
from .choices import Choice, Maybe
from .entries import has_open_keys
from .lists.access import items_of
from .lists.references import row_behind, tables_in
from .lists.runs import is_open_list, type_of_items
from .origins import merged_from
from .special_methods import special_method
from .texts.deferred import Deferred

_PLAIN = frozenset({int, float, complex, bool, str, bytes, type(None), np.int64, np.float64})


def holds_unknown(value: Any) -> bool:
    """Whether the program decides to what this is equal."""
    if type(value) in _PLAIN:
        return False
    if type(value) is TracedArray:
        return value.known_value is None
    if isinstance(value, (Maybe, Choice, Deferred)) or is_open_list(value) or has_open_keys(value):
        return True
    if isinstance(value, (tuple, list)):
        return any(map(holds_unknown, value))
    if isinstance(value, dict):
        return any(map(holds_unknown, value.values()))
    return _is_compared_by_program(value)


def _is_compared_by_program(value: Any) -> bool:
    """Whether this is an object that is one of several, or of a class that says what it is equal to."""
    kind = type(value)
    if dataclasses.is_dataclass(kind) and is_generated(kind.__eq__) and any(map(holds_unknown, attributes_of(value).values())):
        return True
    return is_record(kind) or merged_from(value) is not None or special_method(value, "__eq__") is not None


def is_searched_one_by_one(holder: list, value: Any) -> bool:
    """Whether elements of a list are no rows of numbers and texts that could be compared with a value at once."""
    if not is_open_list(holder):
        return any(map(_is_compared_by_itself, (*holder, value)))
    kind = type_of_items(items_of(holder))
    return kind is not None and (bool(tables_in(kind.structure)) or _holds_dict(kind.structure))


def _is_compared_by_itself(value: Any) -> bool:
    if type(value) in _PLAIN:
        return False
    if isinstance(value, (tuple, list)) and not is_open_list(value):
        return any(map(_is_compared_by_itself, value))
    return is_open_list(value) or isinstance(value, dict) or row_behind(value) is not None or _is_compared_by_program(value)


def _holds_dict(structure: Any) -> bool:
    return structure is not pytree.LEAF and (structure[0] is dict or any(map(_holds_dict, structure[2])))
