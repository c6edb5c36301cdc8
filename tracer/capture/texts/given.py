"""Texts that a call is given, as arrays of their characters: these lie among the program's, in front of all others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .... import hlo
from ...recording.array import TracedArray, require_trace
from ..lists.tables import array_of_column
from ..loops.stacked_rows import number_of_pack
from .characters import begin_with
from .deferred import WrittenText
from .formats import IN_USE


def texts_given(packs: Sequence[tuple[TracedArray, int]]) -> Iterator[WrittenText]:
    """The texts of arrays of so many: their beginnings and lengths stand in front of their characters."""
    if not packs:
        return iter(())
    given = [(pack.instruction(require_trace()), count) for pack, count in packs]
    require_trace().program.has_given_texts = True
    places = begin_with([codes for codes, _ in given])
    return (text for (codes, count), place in zip(given, places) for text in _texts(codes, count, place))


def _texts(codes: hlo.Instruction, count: int, place: int) -> list[WrittenText]:
    starts, lengths = (hlo.convert(hlo.slice(codes, (k,), (2 * count,), (2,)), hlo.S64) for k in range(2))
    columns = [array_of_column(one, True) for one in (hlo.add(starts, place + 2 * count), lengths)]
    numbers = [[number_of_pack(column, position, (0, IN_USE)) for column in columns] for position in range(count)]
    return [WrittenText(start, length, True) for start, length in numbers]
