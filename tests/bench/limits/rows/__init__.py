"""The rows of the table, a chapter in each module: TITLE, ``rows()``, and MEAN, where the chapter as a whole has a target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType

from ..contenders import Row
from . import (
    calls,
    compilation,
    convolutions,
    element_loops,
    elementwise,
    factorizations,
    loops,
    memory,
    movement,
    normalization,
    products,
    programs,
    random_numbers,
    reductions,
    scans,
    scatters,
    sorting,
    transforms,
)

CHAPTERS = (
    calls, compilation, elementwise, reductions, normalization, movement, products, convolutions, sorting, scans, scatters,
    transforms, random_numbers, loops, element_loops, programs, factorizations, memory,
)  # fmt: skip


def chosen(words: Sequence[str]) -> Iterator[tuple[ModuleType, list[Row]]]:
    """The rows with one of these words in their names, or in their chapter's; of no words, all."""
    for chapter in CHAPTERS:
        found = [row for row in chapter.rows() if not words or _has(words, row.name) or _has(words, chapter.TITLE)]
        if found:
            yield chapter, found


def _has(words: Sequence[str], text: str) -> bool:
    return any(word.lower() in text.lower() for word in words)
