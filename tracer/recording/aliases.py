"""Arrays that may be one array, as the program decides: `x = a if test else b`, `best = row` in a branch of a loop.

Such an x is a copy of the one that was chosen. That makes a difference only once one of them is changed: then the others are
not what they would be in Python, and reading them is an error; so is a change that the caller would have to see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .trace import Storage, Trace


def link(new: Storage, old: Storage) -> None:
    """A new array may be this one, and so what the caller has that this may be."""
    for other in {old, *[one for one in old.links or () if one.is_from_outside]} - {new}:
        new.links = (new.links or frozenset()) | {other}
        other.links = (other.links or frozenset()) | {new}


def note_change(trace: Trace, storage: Storage) -> None:
    """To be called when a storage that has links is written. Raises NotImplementedError if the caller would see the change."""
    for other in storage.links or ():
        if other.is_from_outside and not storage.is_from_outside:
            raise NotImplementedError(
                f"an array is changed in place that may be {other.origin or 'an argument'}, as the program decides: the change "
                "would have to be seen there, too. Fix: change a copy of it (x = x.copy()), or change both sides under the "
                "condition"
            )
        trace.outdated.add(other)


def require_current(trace: Trace | None, storage: Storage) -> None:
    """To be called when a storage that has links is read. Raises NotImplementedError where it should have been changed."""
    while trace is not None:
        if storage in trace.outdated:
            raise NotImplementedError(
                "an array is read that may be another one, as the program decides, which has been changed in place since. Fix: "
                "make it a copy (x = x.copy()) where it is chosen, or change it under the condition"
            )
        trace = trace.parent
