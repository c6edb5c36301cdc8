"""``collections.deque`` in a traced function: a list with methods for its other end, and perhaps a greatest length."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Iterable
from typing import Any

from .... import hlo
from ...recording import pytree
from .. import journals
from ..calls.dispatch import call
from ..calls.meanings import LIST_METHODS, implements
from ..copies import require_own
from ..library.listed_deques import ListedDeque
from .access import change, is_unknown, items_of, sliced
from .listed import made_listed, note_container
from .moving_rows import rotated_rows
from .runs import Run, instruction_of, is_open_list, settled, type_of_items


class TracedDeque(list):
    """Is returned, and set outside, as a deque. What its methods do stands below."""

    followed_class = deque
    empty_message = "pop from an empty deque"

    def __init__(self, items: Iterable[Any] = (), maxlen: int | None = None) -> None:
        super().__init__(items)
        self.maxlen = maxlen

    def __repr__(self) -> str:
        return repr(deque(self, self.maxlen))

    def append(self, value: Any) -> None: ...

    def appendleft(self, value: Any) -> None: ...

    def extend(self, values: Any) -> None: ...

    def extendleft(self, values: Any) -> None: ...

    def pop(self) -> Any: ...

    def popleft(self) -> Any: ...

    def rotate(self, count: int = 1) -> None: ...

    def copy(self) -> Any: ...

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, TracedDeque):
            raise TypeError(f'can only concatenate deque (not "{type(other).__name__}") to deque')
        return call(deque, [*items_of(self), *items_of(other)], self.maxlen)

    def __iadd__(self, values: Any) -> Any:
        call(self.extend, values)
        return self

    def __mul__(self, count: Any) -> Any:
        return call(deque, items_of(self) * operator.index(count), self.maxlen)

    __rmul__ = __mul__

    def __imul__(self, count: Any) -> Any:
        change(self, list(self * count))
        return self


pytree.register_pytree(
    TracedDeque, lambda value: (tuple(items_of(value)), value.maxlen), lambda m, items: TracedDeque(items, m)
)


@implements(deque)
def deque_(iterable: Any = (), maxlen: int | None = None) -> Any:
    if not is_unknown(maxlen) and (listed := made_listed(ListedDeque, maxlen, maxlen=maxlen)) is not None:
        call(listed.extend, iterable)
        return listed
    made = TracedDeque((), maxlen)
    journals.note_made(made)
    note_container(made, ListedDeque)
    _extend(made, iterable)
    return made


def _put(holder: TracedDeque, items: list[Any], kept: slice) -> None:
    """Give it these contents; of those beyond the greatest length this part is kept."""
    require_own(holder)
    too_long = holder.maxlen is not None and (is_open_list(items) or len(items) > holder.maxlen)
    change(holder, sliced(items, kept) if too_long else items)


@implements(TracedDeque.append)
def _append(holder: TracedDeque, value: Any) -> None:
    _put(holder, [*items_of(holder), value], slice(-holder.maxlen, None) if holder.maxlen else slice(0))


@implements(TracedDeque.extend)
def _extend(holder: TracedDeque, values: Any) -> None:
    more = call(list, values)
    _put(holder, [*items_of(holder), *items_of(more)], slice(-holder.maxlen, None) if holder.maxlen else slice(0))


@implements(TracedDeque.appendleft)
def _appendleft(holder: TracedDeque, value: Any) -> None:
    require_own(holder)
    if is_open_list(holder):
        LIST_METHODS["insert"](holder, 0, value)
    else:
        change(holder, [value, *items_of(holder)])
    _put(holder, items_of(holder), slice(holder.maxlen))


@implements(TracedDeque.extendleft)
def _extendleft(holder: TracedDeque, values: Any) -> None:
    for value in values:
        _appendleft(holder, value)


@implements(TracedDeque.pop)
def _pop(holder: TracedDeque) -> Any:
    require_own(holder)
    return LIST_METHODS["pop"](holder)


@implements(TracedDeque.popleft)
def _popleft(holder: TracedDeque) -> Any:
    require_own(holder)
    if is_open_list(holder[:1]) or not holder:
        return LIST_METHODS["pop"](holder, 0)
    items = items_of(holder)
    change(holder, items[1:])
    return items[0]


@implements(TracedDeque.rotate)
def _rotate(holder: TracedDeque, count: int = 1) -> None:
    require_own(holder)
    items = items_of(holder)
    if is_open_list(items) or is_unknown(count):
        change(holder, [_rotated(settled(items), count)] if type_of_items(items) is not None else [])
    elif items and (count := int(count) % len(items)):
        change(holder, items[-count:] + items[:-count])


def _rotated(run: Run, count: Any) -> Run:
    length = hlo.maximum(instruction_of(run.length), 1)
    rest = hlo.remainder(instruction_of(count), length)
    back = hlo.select(hlo.lt(rest, 0), hlo.add(rest, length), rest)
    return rotated_rows(run, back, hlo.subtract(length, back))


@implements(TracedDeque.copy)
def _copy(holder: TracedDeque) -> TracedDeque:
    made = TracedDeque(items_of(holder), holder.maxlen)
    journals.note_made(made)
    return made
