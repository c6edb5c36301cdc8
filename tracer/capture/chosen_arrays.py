"""Arrays in a list or a dict, of which the program decides which one is changed in place: each is, where it is that one."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..recording.array import TracedArray
from .choices import BINARY_OPERATORS, Choice
from .copies import require_own
from .distribution import each, holds_choice
from .entries import is_open_dict
from .forms import may_be_shared
from .keys import dicts
from .lists import access as list_access
from .lists.runs import is_open_list
from .sides import MOST_ALTERNATIVES


class ChosenArrays(Choice):
    """The array that an operator changes in place; to set that as the item that it has been changes nothing more."""

    __slots__ = ()


def _in_place(function: Callable) -> Callable:
    def operate(self: ChosenArrays, other: Any) -> ChosenArrays:
        def change(array: TracedArray) -> None:
            require_own(array)
            function(array, other)

        each(change, Choice(self.number, self.values))
        return self

    return operate


for _name in BINARY_OPERATORS:
    if _name != "divmod":
        setattr(ChosenArrays, f"__i{_name}__", _in_place(getattr(operator, f"__i{_name}__")))


def chosen_arrays(holder: Any, index: Any, kind: type[Choice] = Choice) -> Choice | None:
    """The arrays of which ``holder[index]`` is one, as the program decides; None where it is anything else."""
    holders = holder.values if type(holder) is Choice else (holder,)
    if kind is ChosenArrays and any(isinstance(one, tuple) for one in holders):
        return None  # which raises when its item is set
    if type(holder) is Choice:
        return None if holds_choice(index) else _of_one_of_several(holder, index, kind)
    is_number = isinstance(index, TracedArray) and index.known_value is None and not index.ndim
    if not (is_number and index.element_type.is_integer or type(index) is Choice):
        return None
    if isinstance(holder, dict) and not is_open_dict(holder):
        keys = list(holder)
    elif isinstance(holder, (list, tuple)) and not is_open_list(holder):
        keys = list(range(len(holder)))
    else:
        return None
    if not is_number:
        if not all(key in keys for key in index.values):
            return None
        keys = index.values
    if not 1 < len(keys) <= MOST_ALTERNATIVES:
        return None
    arrays = [holder[key] for key in keys]
    if not all(map(may_be_shared, arrays)):
        return None
    if not is_number:
        return kind(index.number, arrays)
    if isinstance(holder, dict):
        return kind(dicts.known_place(holder, index), arrays)
    return kind(list_access.row_at(holder, index, f"{list_access.kind_of(holder)} index out of range"), arrays)


def _of_one_of_several(holder: Choice, index: Any, kind: type[Choice]) -> Choice | None:
    """The same of one of several dicts, lists or tuples, by a key that is known, and the view of one of several arrays."""
    arrays = [_array_in(one, index) for one in holder.values]
    return None if any(array is None for array in arrays) else kind(holder.number, arrays)


def _array_in(holder: Any, index: Any) -> TracedArray | None:
    """The array, or the view, that this has under a key; None where it has none that can be told from a copy."""
    if may_be_shared(holder):
        found = holder[index] if _gives_view(index) else None
    elif isinstance(holder, dict) and not is_open_dict(holder):
        found = holder.get(index) if isinstance(index, (int, str)) else None
    else:
        is_known = isinstance(holder, (list, tuple)) and not is_open_list(holder) and type(index) is int
        found = holder[index] if is_known and -len(holder) <= index < len(holder) else None
    return found if may_be_shared(found) else None


def _gives_view(index: Any) -> bool:
    parts = index if type(index) is tuple else (index,)
    slices = [part for part in parts if type(part) is slice]
    numbers = [part for part in parts if type(part) is not slice]
    numbers += [bound for one in slices for bound in (one.start, one.stop, one.step)]
    return all(type(one) in (int, type(None), type(...)) for one in numbers)
