"""What is unpacked to names, matched by patterns of sequences, and what stands behind stars."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from ... import hlo
from ..recording.array import TracedArray, require_trace
from ..recording.dynamic_array import DynamicArray
from ..recording.errors import LeftToPython
from . import made_iterators
from .calls.dispatch import call
from .choices import Choice
from .distribution import each
from .entries import has_open_keys
from .keys import dicts
from .keys.views import DictView
from .lists import access as list_access
from .lists import unpacking as list_unpacking
from .lists.runs import is_open_list
from .loops.iteration import is_of_open_length, unlisted
from .printing import Spread
from .special_methods import special_method
from .texts.deferred import Deferred, DeferredParts, unpacked_parts


def unpacked(value: Any, before: int, behind: int | None) -> Any:
    """What is unpacked to this many names, with ``behind`` of them behind one with a star."""
    if isinstance(value, DynamicArray) and behind is None and value.bounds.is_dynamic(0):
        return _rows_of_array(value, before)
    if type(value) is DeferredParts and behind is None:
        return unpacked_parts(value, before)
    value = value if type(value) is tuple else starred(value)
    if type(value) is Choice and any(map(is_open_list, value.values)):
        return each(lambda one: tuple(list_unpacking.unpacked(one, before, behind)), value)
    return list_unpacking.unpacked(value, before, behind) if is_open_list(value) else value


def _rows_of_array(value: DynamicArray, count: int) -> list[Any]:
    """So many rows of an array; the call raises ValueError where it has another number of them."""
    size, last = list_access.instruction_of(value.shape[0]), value.bounds.dimensions[0] - 1
    if last < 0 < count:
        raise ValueError(f"not enough values to unpack (expected {count}, got 0)")
    for few in range(count):
        error = ValueError(f"not enough values to unpack (expected {count}, got {few})")
        list_access.fail_where(hlo.eq(size, few), error)
    list_access.fail_where(hlo.gt(size, count), ValueError(f"too many values to unpack (expected {count})"))
    return [value[min(place, last)] for place in range(count)]


def is_sequence(value: Any, count: int, or_more: bool) -> Any:
    """Whether a pattern of this many elements, or of more, is one for a value."""
    is_one = isinstance(value, (Sequence, deque, DeferredParts)) and not isinstance(value, (str, bytes, bytearray))
    if not is_one:
        return False
    length = call(len, value)
    return length >= count if or_more else length == count


def known_to_python(value: Any) -> Any:
    """The subject of a ``match`` statement that Python runs."""
    if _meets_traced(value):
        form = "a guard that binds names of its pattern anew, or more than 8 alternatives that bind names"
        raise NotImplementedError(f"a match statement on traced values has {form}: write such a case as two, or as `if`")
    return value


def _meets_traced(value: Any, depth: int = 4) -> bool:
    """Whether patterns may come to a traced value, be it known or not: it is no float for them."""
    if isinstance(value, (TracedArray, Deferred)) or is_open_list(value):
        return True
    if depth == 0:
        return False
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return any(_meets_traced(part, depth - 1) for part in (*parts, *getattr(value, "__dict__", {}).values()))


def spread(value: Any) -> Any:
    """What stands behind a star among elements or arguments."""
    value = starred(value)
    return list_unpacking.elements_of(value) if is_open_list(value) else value


def spread_text(value: Any) -> Any:
    """What stands behind a star among what is printed: of what has as many elements as the program decides, these in one."""
    value = starred(value)
    if not is_open_list(value) or isinstance(call(len, value), int):
        return spread(value)
    return (Spread(value),)


def zipped(function: Any, value: Any) -> Any:
    """``zip(*value)``, if the function is `zip`; of two and more elements `max` and `min` say what they say of the list."""
    value = starred(value)
    if is_open_list(value) and not isinstance(length := call(len, value), int):
        if function is zip:
            return iter(list_unpacking.zipped(value))
        if function is max or function is min:
            trace = require_trace()
            trace.add_error_flag((length < 2).instruction(trace), LeftToPython, f"{function.__name__} of one element or none")
            return call(function, value)
    return call(function, *spread(value))


def starred(value: Any) -> Any:
    """What stands behind a star in a list: of what has as many elements as the program decides, these as a list."""
    made_iterators.require_made_here(value)
    value = made_iterators.taken(value)
    is_gone_over = has_open_keys(value) or type(value) is DictView or special_method(value, "__iter__") is not None
    is_gone_over = is_gone_over or is_of_open_length(value) and not is_open_list(value)
    return call(list, value) if is_gone_over else value


def tuple_of(elements: list[Any]) -> tuple:
    """A tuple that is written down with stars in it."""
    return tuple(elements)


def pairs_of(value: Any) -> Any:
    """What stands behind two stars in a dict that is written down; one of several is in its place (`dict_of`)."""
    value = unlisted(value)
    return [value] if type(value) is Choice else dicts.pairs_in(value)
