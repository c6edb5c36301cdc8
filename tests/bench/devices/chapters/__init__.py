"""The chapters of the table of targets, what matters most first: TITLE, and ``rows(sizes)``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..cases import Row, Sizes

sys.path.insert(0, str(Path(__file__).parents[3] / "support"))  # which has `hot_programs`

from . import calls, compiling, moving, networks, ordering, products  # noqa: E402

# By the words that name them.
CHAPTERS = {
    "memory": moving,
    "products": products,
    "calls": calls,
    "compilation": compiling,  # before others have XLA try out its choices for the same shapes
    "networks": networks,
    "orders": ordering,
}


def rows_of(chapters: Sequence[str], words: Sequence[str], sizes: Sizes) -> Iterator[tuple[str, Row]]:
    """The rows of these chapters that have one of the words in their names, with the chapters' titles. Of none, all.

    Raises SystemExit for a chapter that there is not.
    """
    for name in chapters:
        if name not in CHAPTERS:
            raise SystemExit(f"there is no chapter {name!r}; there are {', '.join(CHAPTERS)}")
    for name in chapters or CHAPTERS:
        chapter = CHAPTERS[name]
        for row in chapter.rows(sizes):
            if not words or any(word.lower() in row.name.lower() for word in words) or row.target is None:
                yield chapter.TITLE, row
