"""Texts that a call is given, as arrays of their characters: these lie among the program's, in front of all others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .... import hlo
from ...control_flow.loops import while_loop
from ...recording.array import TracedArray, require_trace
from ...recording.trace import Storage
from ..lists.runs import number_of
from ..lists.tables import array_of_column
from ..loops.stacked_rows import number_of_pack
from ..outside.surroundings import Surroundings
from .characters import begin_with, below, text_at
from .deferred import WrittenText
from .formats import IN_USE
from .interned import interned, require_written
from .leaves import text_row


def texts_given(packs: Sequence[tuple[TracedArray, int]]) -> Iterator[WrittenText]:
    """The texts of arrays of so many: their beginnings and lengths stand in front of their characters."""
    if not packs:
        return iter(())
    given = [(pack.instruction(require_trace()), count) for pack, count in packs]
    places = [place_of_given(codes) for codes, _ in given]
    return (text for (codes, count), place in zip(given, places) for text in _texts(codes, count, place))


def place_of_given(codes: hlo.Instruction) -> int:
    """Where these characters lie among the program's; to be called before it makes texts."""
    given = require_trace().program.given_texts
    given.append(codes)
    return begin_with(given)[-1]


class TextsOfEntries:
    """Texts that a container from outside holds."""

    def begin(self, storage: Storage) -> int:
        """Where these characters lie among the program's."""
        return place_of_given(storage.instruction)

    def make_keys(self, column: TracedArray, count: TracedArray) -> None:
        """Put the one copy of each of so many texts into a column, as those have them that are keys; behind all `begin`."""
        require_written(self.example())

        def one(number: TracedArray) -> TracedArray:
            trace = require_trace()
            place = number.instruction(trace), hlo.constant(np.int64(0))
            row = hlo.dynamic_slice(column.instruction(trace), *place, sizes=(1, 2))
            start, length = (hlo.reshape(hlo.slice(row, (0, k), (1, k + 1)), ()) for k in range(2))
            row = hlo.reshape(text_row(interned(text_at(start, length)), True), (1, 2))
            column.set_value(hlo.dynamic_update_slice(column.instruction(trace), row, *place))
            return number_of(hlo.add(place[0], 1))

        while_loop(lambda number: below(number, count), one, number_of(hlo.constant(np.int64(0))))

    def example(self) -> WrittenText:
        zero = hlo.constant(np.int64(0))
        return text_at(zero, zero)


Surroundings.texts = TextsOfEntries()


def _texts(codes: hlo.Instruction, count: int, place: int) -> list[WrittenText]:
    starts, lengths = (hlo.convert(hlo.slice(codes, (k,), (2 * count,), (2,)), hlo.S64) for k in range(2))
    columns = [array_of_column(one, True) for one in (hlo.add(starts, place + 2 * count), lengths)]
    numbers = [[number_of_pack(column, position, (0, IN_USE)) for column in columns] for position in range(count)]
    return [WrittenText(start, length, True) for start, length in numbers]
