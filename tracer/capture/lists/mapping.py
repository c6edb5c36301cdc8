"""What a function makes of each element of a list whose length the program decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import journals
from ..calls.dispatch import call
from ..loops.comprehensions import if_holds
from ..loops.iteration import Rows
from ..loops.unrolling import for_
from ..places import NO_NAMES
from .access import item_at
from .runs import Run, instructions, made, settled, type_of_items


def mapped(function: Callable[..., Any], rows: Rows, test: Callable[..., Any] | None = None) -> list[Any]:
    """The function's values for all elements, or for those for which the test holds."""

    def run(append: Callable[[Any], None]) -> None:
        def body(item: Any) -> None:
            def add() -> None:
                append(call(function, item))

            return add() if test is None else if_holds(call(test, item), add)

        for_(rows, body, None, NO_NAMES)

    return journals.collected(run)


def keys_of(items: Sequence[Any], key: Callable) -> list[Any]:
    """What the function makes of each element, as many as there are; none where it raises an exception for any."""
    run = settled(items)
    found = mapped(key, AllRows(run))
    if type_of_items(found) is None:
        return []
    keys = settled(found)
    return [made(keys.type, instructions(keys), run.length, keys.form.place)]


class AllRows(Rows):
    """All rows of a run, so that what is made of them has as many."""

    def __init__(self, run: Run) -> None:
        self.run, self.length = run, run.length

    def element(self, position: Any) -> Any:
        return item_at([self.run], position)
