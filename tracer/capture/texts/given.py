"""Texts that a call is given, as arrays of their characters: these lie among the program's, in front of all others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .... import hlo
from ...recording.array import TracedArray, require_trace
from ...recording.trace import Storage
from ..lists.tables import array_of_column
from ..loops.stacked_rows import number_of_pack
from ..outside.surroundings import Surroundings
from .characters import begin_with, text_at
from .deferred import WrittenText
from .formats import IN_USE, codes_of


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


@dataclass(frozen=True)
class TextsAsCodes:
    """The characters of all texts of a container from outside, and others behind them up to the ``room`` for them.

    >>> TextsAsCodes(4).convert("ab").tolist()
    [97, 98, 0, 0]
    """

    room: int

    @property
    def shape(self) -> hlo.Shape:
        return hlo.Shape(hlo.S32, (self.room,))

    def convert(self, text: str) -> np.ndarray:
        found = np.zeros(self.room, np.int32)
        found[: len(text)] = codes_of(text)
        return found

    def begin(self, storage: Storage) -> int:
        """Where they lie among the program's."""
        return place_of_given(storage.instruction)

    def example(self) -> WrittenText:
        zero = hlo.constant(np.int64(0))
        return text_at(zero, zero)


Surroundings.texts_as_codes = TextsAsCodes


def _texts(codes: hlo.Instruction, count: int, place: int) -> list[WrittenText]:
    starts, lengths = (hlo.convert(hlo.slice(codes, (k,), (2 * count,), (2,)), hlo.S64) for k in range(2))
    columns = [array_of_column(one, True) for one in (hlo.add(starts, place + 2 * count), lengths)]
    numbers = [[number_of_pack(column, position, (0, IN_USE)) for column in columns] for position in range(count)]
    return [WrittenText(start, length, True) for start, length in numbers]
