"""Arrays that become rows of lists and dicts whose length the program decides: which of them may be in several rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...recording import pytree
from ...recording.aliases import bases_of, link, require_current
from ...recording.current_trace import current_trace
from ...recording.trace import Storage
from ..choices import Choice, Maybe
from ..forms import is_around, may_be_shared

if TYPE_CHECKING:
    from .elements import ElementType
    from .references import Table


def note_arrays(values: Iterable[Any], kind: ElementType) -> None:
    """To be called with what becomes rows. An array that was there before, or has become a row, can be in several."""
    if not any(number is not None and number.shape.rank for number in kind.numbers):
        return
    trace = current_trace()
    program = trace.program
    for array in () if program.moves_rows else _arrays_in(values):
        bases = bases_of(array.root_storage)
        are_new = array.root is array and all(is_around(trace, base.trace) for base in bases)
        if not are_new or not bases.isdisjoint(program.rows_made_of):
            program.in_several_rows |= bases
        program.rows_made_of |= bases


def _arrays_in(values: Iterable[Any]) -> Iterator[Any]:
    for leaf in pytree.flatten(list(values))[0]:
        if type(leaf) is Choice:
            yield from _arrays_in(leaf.values)
        elif type(leaf) is Maybe:
            yield from _arrays_in([leaf.value])
        elif may_be_shared(leaf):
            yield leaf


@contextmanager
def rows_moved() -> Iterator[None]:
    """What becomes rows meanwhile has been rows of the same container."""
    program = current_trace().program
    before, program.moves_rows = program.moves_rows, True
    try:
        yield
    finally:
        program.moves_rows = before


# --- tables ---


def note_arrays_put(table: Table, kind: ElementType) -> ElementType:
    """To be called with the type of what is put into a list that lies in a table; gives that of the table's elements.

    Which arrays these are copies of each recording finds out for itself, and so does each round: whatever has been read before
    may be any of them.
    """
    bases = frozenset().union(*[leaf.copied for leaf in kind.leaves])
    if not bases:
        return kind
    trace = current_trace()
    if table.arrays_put is None:
        table.arrays_put = Storage(table.trace, None)
        trace.program.tables_of_arrays.add(table.arrays_put)
    for read in (table.arrays_put, *(table.arrays_put.copies or ())):
        link(read, bases - {table.arrays_put})
    return without_arrays(kind)


def without_arrays(kind: ElementType) -> ElementType:
    """The type without the arrays of which there are copies."""
    return replace(kind, leaves=tuple([replace(leaf, copied=frozenset()) for leaf in kind.leaves]))


def type_when_read(table: Table) -> ElementType:
    """The type of a table's elements, with the arrays of which they may be copies."""
    if table.arrays_put is None:
        return table.kind
    require_arrays_current(table)
    bases = bases_of(table.arrays_put)
    held = [
        replace(leaf, copied=bases) if number is not None and number.shape.rank else leaf
        for leaf, number in zip(table.kind.leaves, table.kind.numbers)
    ]
    return replace(table.kind, leaves=tuple(held))


def require_arrays_current(table: Table) -> None:
    """Raises NotImplementedError where an array has been changed since it was put into a table."""
    if table.arrays_put is not None:
        require_current(current_trace(), table.arrays_put)
