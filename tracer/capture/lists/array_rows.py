"""Arrays that become rows of lists and dicts whose length the program decides: which of them may be in several rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...recording import pytree
from ...recording.aliases import bases_of
from ...recording.current_trace import current_trace
from ..choices import Choice, Maybe
from ..forms import is_around, may_be_shared

if TYPE_CHECKING:
    from .elements import ElementType


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
