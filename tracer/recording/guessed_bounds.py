"""Guesses of how large sizes are that are known at run time only: by the user's line, and kept from one recording to the next.

In one dimension elements behind the size cost little, and a large guess saves compiling the function again. In a table they
cost its other dimension each: of ``np.zeros((k, k))`` with ten rows a thousand would be a million elements.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from math import prod
from typing import Any

from ... import hlo
from .errors import RecordedAgain
from .trace import Trace

LARGEST_SIZE = 2**31 - 1
_SIZES = (hlo.Shape(hlo.S32), hlo.Shape(hlo.S64))
# A table of more elements, by first guesses, is recorded again with these: of one, of two, or of more dimensions.
_LARGE_TABLE = 1 << 16
_TABLE_SIDES = (64, 64, 16)


class FirstGuess(int):
    """Nothing has shown yet what size there is."""


class TableGuess(int):
    """Of a size of tables: it grows by as much as is needed."""


FIRST_GUESS = FirstGuess(1024)
# The bound of a size that grows in each round of a loop.
LEAST_BOUND = 256


def require_small_tables(trace: Trace, shape: hlo.Shape, sizes: Iterable[hlo.Instruction]) -> None:
    """Of an array of this shape, with these sizes. Raises RecordedAgain where first guesses make it large."""
    if shape.rank < 2 or prod(shape.dimensions) <= _LARGE_TABLE:
        return
    known = trace.program.guessed_bounds
    places = {place for size in sizes for place in _places_behind(size, trace.program.places_of_sizes)}
    found = [place for place in places if isinstance(known[place], FirstGuess)]
    for place in found:
        known[place] = TableGuess(_TABLE_SIDES[min(len(found), len(_TABLE_SIDES)) - 1])
    if found:
        raise RecordedAgain


def _places_behind(size: hlo.Instruction, places: dict[hlo.Instruction, str], depth: int = 8) -> Iterator[str]:
    """Where the sizes have been guessed that a size is computed from."""
    if size in places:
        yield places[size]
    elif depth:
        for operand in size.operands:
            if operand.shape in _SIZES:
                yield from _places_behind(operand, places, depth - 1)


def copied_guesses(guesses: dict[str, Any]) -> dict[str, Any]:
    """What has been guessed so far, of which nothing changes where more is found out."""
    return {place: copy.copy(one) if isinstance(one, (set, dict, list)) else one for place, one in guesses.items()}


def outgrown(bound: int, size: int | None) -> int:
    """The bound instead of one that a size at run time, if that is known, has been larger than.

    >>> outgrown(1024, None), outgrown(1024, 100_000), outgrown(TableGuess(64), 70)
    (8192, 131072, 128)
    """
    if size is None:
        return min(8 * bound, LARGEST_SIZE)
    if isinstance(bound, TableGuess):
        return TableGuess(min(max(2 * bound, _power_of_two(size + size // 4)), LARGEST_SIZE))
    return min(max(8 * bound, _power_of_two(size)), LARGEST_SIZE)


def _power_of_two(size: int) -> int:
    """The least one that is not smaller."""
    return 1 << (size - 1).bit_length()
