"""Iterators of what has as many elements as the program decides."""

from __future__ import annotations

from typing import Any

from .... import hlo
from ...recording.array import TracedArray, require_trace
from ..branches import choose
from ..lists.access import fail_where
from ..lists.runs import instruction_of
from .iteration import Lazy, Rows, Tail


class InTurn(Lazy):
    """What `iter` gives: `next` takes one element after the other."""

    def __init__(self, rows: Rows) -> None:
        self._rows, self._position = rows, 0

    def rows(self) -> Rows:
        return Tail(self._rows, self._position)

    def following(self, *default: Any) -> Any:
        """``next(iterator, default)``"""
        rows, position = self._rows, instruction_of(self._position)
        is_there = hlo.gt(instruction_of(rows.length), position)
        self._position += 1
        if default:
            test = TracedArray.from_instruction(require_trace(), is_there, weak_type=True)
            return choose(test, lambda: rows.element(self._position - 1), lambda: default[0])
        fail_where(hlo.not_(is_there), StopIteration())
        return rows.element(self._position - 1)
