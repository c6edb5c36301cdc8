"""What functions that call themselves ask for where they are loops (`source/recursion.py`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..recording import pytree
from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.errors import CarryTypeError, RecordedAgain, TracerError
from .attributes import getattr_
from .calls.dispatch import call
from .choices import Choice, Maybe
from .copies import note_copies
from .lists.elements import ElementType, joined_type
from .lists.merging import fitted
from .lists.references import note_makers, row_of, tables_in
from .lists.runs import Form, bound_of, guessed, is_open_list, read, type_of_items

_LEAST_ROOM = 32
# As often other lists may turn out to be left on a stack, before these are left there as they are.
_MOST_KINDS = 6


def receiver(value: Any, method: str, qualname: str) -> Any:
    """What a method is called of by itself. Raises TracerError where that has another one of this name."""
    getattr_(value, method)
    value = value.value if type(value) is Maybe else value
    for one in value.values if type(value) is Choice else (value,):
        found = getattr(type(one), method, None)
        if getattr(found, "__qualname__", None) != qualname:
            raise TracerError(f"{qualname} calls a {method} of {type(one).__name__}, which is another one")
    return value


def sequence(iterable: Any) -> Any:
    """What a loop goes over, as something that has positions."""
    return iterable if isinstance(iterable, (list, tuple, str)) else call(list, iterable)


@dataclass
class _Handed:
    """What has been found out of the lists that calls leave on a stack: the type of their elements, and how often."""

    kind: ElementType | None = None
    times: int = 0  # it has been another one


def pushed(value: Any, stack: str, qualname: str) -> Any:
    """What a call leaves on a stack. Calls leave lists of any length there: these become copies of one form."""
    trace = current_trace()
    if trace is None:
        return value
    if type(value) is tuple:
        return tuple([pushed(part, f"{stack}, {number}", qualname) for number, part in enumerate(value)])
    if not _is_list(value) or row_of(value) is not None:
        return value
    handed = trace.program.guessed_bounds.setdefault(f"the lists of {qualname} at {stack}", _Handed())
    if handed.times > _MOST_KINDS:
        return value
    note_makers([value])
    note_copies(trace, value, is_put=True)
    try:
        kind = joined_type(handed.kind, found := type_of_items(value))
    except CarryTypeError:
        kind = found = None
    if kind is None and found is None and not value:
        return value
    is_one = kind is not None and kind.is_of_fixed_constants and not tables_in(kind.structure)
    if not is_one or kind != handed.kind:
        handed.kind, handed.times = kind, handed.times + 1 if is_one else _MOST_KINDS + 1
        raise RecordedAgain
    # One room for all lists: where one of them turns out to be long, others are so, too.
    room = f"the lists of {qualname}"
    capacity = guessed(room, max(_LEAST_ROOM, bound_of(read(value))))
    return [fitted(value, Form(kind.structure, kind.leaves, capacity, room), kind)]


def popped(stack: list[Any], is_own: bool) -> Any:
    """What a call has left on a stack; if nothing else has it, it may be changed, although it is a copy."""
    trace = current_trace()
    is_copy = trace is not None and not is_own and is_open_list(stack)
    found = call(getattr_(stack, "pop"))
    if is_copy:
        note_copies(trace, found)
        for leaf in pytree.flatten(found)[0]:
            if isinstance(leaf, TracedArray) and not leaf.is_scalar:
                leaf.root_storage.is_copy = True
    return found


def _is_list(value: Any) -> bool:
    """Whether this is a list and nothing more, perhaps one from outside."""
    return type(value) is list or isinstance(value, list) and type(getattr(value, "users_own", None)) is list
