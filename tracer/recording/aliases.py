"""Arrays that may be one array, as the program decides: `x = a if test else b`, `best = row` in a loop, elements of open lists.

Such an x is a copy of the one that was chosen. That makes a difference only once one of them is changed: then the others are
not what they would be in Python, and reading them is an error; so is a change that the caller would have to see.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn

from .current_trace import is_around
from .errors import ConcretizationError

if TYPE_CHECKING:
    from .trace import Storage, Trace


def bases_of(storage: Storage) -> frozenset[Storage]:
    """What an array may be: itself, and those of which it is a copy."""
    return (storage.bases or frozenset()) | {storage}


def link(copy: Storage, bases: Iterable[Storage]) -> None:
    """The array ``copy`` may be one of these."""
    others = frozenset(bases) - {copy}
    if others:
        copy.bases = (copy.bases or frozenset()) | others
        for base in others:
            base.copies = (base.copies or frozenset()) | {copy}


def are_apart(one: Storage, other: Storage) -> bool:
    """Whether two arrays cannot be one."""
    return other in one.apart or bases_of(one).isdisjoint(bases_of(other))


def with_common_bases(storages: Sequence[Storage]) -> set[tuple[int, int]]:
    """The positions of all pairs that may be one as far as their bases tell; of most arrays nothing says that they may."""
    holders: dict[Storage, list[int]] = {}
    pairs = set()
    for position, storage in enumerate(storages):
        for base in bases_of(storage):
            others = holders.setdefault(base, [])
            pairs.update([(other, position) for other in others])
            others.append(position)
    return pairs


def keep_apart(one: Storage, other: Storage) -> None:
    """Two arrays that may both be some others cannot be the same one of these, as where a branch swaps them."""
    one.apart |= {other}
    other.apart |= {one}


def note_change(trace: Trace, storage: Storage) -> None:
    """To be called when a storage is written that has bases or copies.

    Raises NotImplementedError where the caller would have to see the change.
    """
    for base in bases_of(storage):
        for other in (base, *(base.copies or ())):
            if other is storage or other in storage.apart:
                continue
            if other.is_from_outside and not storage.is_from_outside:
                if storage.rounds is not None:
                    raise ConcretizationError(storage.rounds, "as a number of rounds: without any a name keeps its array")
                raise NotImplementedError(
                    f"an array is changed in place that may be {other.origin or 'an argument'}, as the program decides: the "
                    "change would have to be seen there, too. Fix: change a copy of it (x = x.copy()), or change both sides "
                    "under the condition"
                )
            trace.outdated.add(other)


def require_current(trace: Trace | None, storage: Storage) -> None:
    """To be called when a storage is read that has bases or copies. Raises NotImplementedError where it should have changed."""
    while trace is not None:
        if storage in trace.outdated:
            _refuse_outdated()
        if not is_around(trace, storage.trace):
            trace.shared_read.add(storage)
        trace = trace.parent


def require_current_in_rounds(body: Trace, used: Iterable[Storage]) -> None:
    """To be called behind the body of a loop with what it uses from before the loop: a round reads what it changes later."""
    if body.outdated and not body.outdated.isdisjoint(used):
        _refuse_outdated()


def _refuse_outdated() -> NoReturn:
    raise NotImplementedError(
        "an array is read that may be another one, as the program decides (which array a name has, or how many a list "
        "holds), and one of them has been changed in place since. Fix: make it a copy (x = x.copy()) where it is "
        "chosen or put into the list, or change it under the condition"
    )
