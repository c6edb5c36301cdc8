"""What functions that call themselves ask for where they are loops (`source/recursion.py`)."""

from __future__ import annotations

from typing import Any

from ... import hlo
from ..recording import pytree
from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.errors import RecordedAgain, TracerError
from ..recording.trace import Trace
from .attributes import getattr_
from .calls.dispatch import call
from .choices import Choice, Maybe
from .copies import note_copies
from .journals import note_all_made
from .lists import tables
from .lists.growing import new_row, renew
from .lists.references import Needs, row_of
from .lists.runs import bound_of, guessed, instruction_of, is_open_list, read

_LEAST_ROOM, _MOST_ROOM = 32, 1 << 20


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


def pushed(value: Any, stack: str, qualname: str) -> Any:
    """What a call leaves on a stack. Calls leave lists of any length there: they lie in a table, which is a stack itself."""
    trace = current_trace()
    if trace is None:
        return value
    if type(value) is tuple:
        return tuple([pushed(part, f"{stack}, {number}", qualname) for number, part in enumerate(value)])
    if type(value) is Maybe:
        return Maybe(value.is_there, pushed(value.value, stack, qualname), value.absent)
    if not _is_list(value) or row_of(value) is not None:
        return value
    needs = trace.program.guessed_bounds.setdefault(f"the lists of {qualname} at {stack}", Needs())
    if needs.is_refused:
        return value
    trace.program.copies[id(value)] = value  # a change of it would have to be one of what lies there
    renew(needs)
    kind = tables.kind_of([value], needs, holds_arrays=True)
    if kind is False:
        needs.is_refused = True
        raise RecordedAgain
    place = f"the lists that {qualname} hands on"  # one room for all: where one of them is long, others are so, too
    guessed(place, min(max(_LEAST_ROOM, bound_of(read(value))), _MOST_ROOM))
    row = new_row(kind, needs, place, None)
    row.table.is_stack = True
    tables.store(row, list(value))
    return [row]


def popped(stack: list[Any], is_own: bool) -> Any:
    """What a call has left on a stack; if nothing else has it, it may be changed, although it is a copy."""
    trace = current_trace()
    if trace is None:
        return stack.pop()
    is_copy = not is_own and is_open_list(stack)
    found = _taken(call(getattr_(stack, "pop")), trace)
    if is_copy:
        note_copies(trace, found)
        for leaf in pytree.flatten(found)[0]:
            if isinstance(leaf, TracedArray) and not leaf.is_scalar:
                leaf.root_storage.is_copy = True
    return found


def _taken(value: Any, trace: Trace, is_there: Any = True) -> Any:
    """The same with lists that lay in tables which are stacks; where it is there, their rows are given back."""
    if type(value) is tuple:
        return tuple([_taken(part, trace, is_there) for part in value])
    if type(value) is Maybe:
        return Maybe(value.is_there, _taken(value.value, trace, value.is_there if is_there is True else False), value.absent)
    if type(value) is Choice:
        return Choice(value.number, [_taken(one, trace, False) for one in value.values])
    row = row_of(value)
    if row is None or not row.table.is_stack:
        return value
    held = read(value)
    if is_there is not False:
        count = hlo.reshape(instruction_of(row.position), (1,))
        if is_there is not True:
            test = hlo.broadcast(is_there.recorded(trace), (1,), ())
            count = hlo.select(test, count, row.table.count.instruction(trace))
        row.table.count.set_value(count)
    note_all_made(held)
    return held


def _is_list(value: Any) -> bool:
    """Whether this is a list and nothing more, perhaps one from outside."""
    return type(value) is list or isinstance(value, list) and type(getattr(value, "users_own", None)) is list
