"""Arrays that a dict holds whose keys the program computes, changed in place: ``values[state][action] += step``.

An element is a copy of a row. What is changed of it is put there anew; arrays that may be the same one are outdated then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..recording.aliases import bases_of
from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.errors import ChangedCopyError
from ..recording.trace import Storage
from .entries import OPEN, is_open_dict
from .forms import may_be_shared
from .lists.runs import Run


class Element(NamedTuple):
    """An array that is, or becomes, an item of a holder, in the place of the one that was there ``before``."""

    array: TracedArray
    holder: Any
    index: Any
    before: TracedArray
    puts: int  # how many arrays the function had put into the holder


def note_element(found: Any, holder: Any, index: Any) -> Any:
    """To be called with an item in which something is about to be changed."""
    return _noted(found, holder, index, found) if _is_element(found, holder) else found


def copy_to_change(found: Any, holder: Any, index: Any) -> Any:
    """What an operator changes in place in the place of an item, before it is set."""
    if noted(holder) is not None:
        return found.copy() if may_be_shared(found) else found
    return _noted(found.copy(), holder, index, found) if _is_element(found, holder) else found


def note_copy(array: TracedArray, element: Element, before: TracedArray) -> TracedArray:
    """To be called with the changed copy of an element, which is about to be put there."""
    return _noted(array, element.holder, element.index, before)


def _noted(array: TracedArray, holder: Any, index: Any, before: TracedArray) -> TracedArray:
    program = current_trace().program
    program.element_arrays[id(array)] = Element(array, holder, index, before, program.arrays_put.get(id(holder), 0))
    return array


def noted(array: Any) -> Element | None:
    """What an array has been noted as; None of any other."""
    trace = current_trace()
    element = None if trace is None or not trace.program.element_arrays else trace.program.element_arrays.get(id(array))
    if element is not None and trace.program.arrays_put.get(id(element.holder), 0) != element.puts:
        raise ChangedCopyError(
            "an array is changed in place in a dict whose keys the program computes, into which arrays have been put "
            "since the item was read. Fix: compute the new value first"
        )
    return element


def note_put(holder: Any, value: Any) -> None:
    """To be called with an item that the function sets, and that is no change of an element."""
    if may_be_shared(value) and is_open_dict(holder):
        puts = current_trace().program.arrays_put
        puts[id(holder)] = puts.get(id(holder), 0) + 1


def put_element(element: Element, put: Callable[[], None]) -> None:
    """Put the changed array into the holder; whoever has the one that was there before can no longer read it."""
    holder = element.holder
    family: set[Storage] = set()
    for base in bases_of(element.before.root_storage):
        family |= {base, *(base.copies or ())}
    put()
    runs = [one for one in dict.get(holder, OPEN) if type(one) is Run]
    current_trace().outdated |= family - {column.root_storage for run in runs for column in run.columns}


def _is_element(found: Any, holder: Any) -> bool:
    if not may_be_shared(found) or not is_open_dict(holder):
        return False
    bases = bases_of(found.root_storage)
    return bases.isdisjoint(current_trace().program.in_several_rows) and not any(base.is_from_outside for base in bases)
