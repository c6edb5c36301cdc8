"""NumPy's public names, each with programs that use it: `docs/numpy_functions.md` is written from them, and the tests run them.

The tables are the text files beside this one. A line that begins in the first column is a name; the lines below it are
programs, statements of which the last one is the result, over the arrays of `comparison.ARRAYS`. A name that is followed by a
colon has none: the text says why it has no meaning in compiled code, or under which name its programs stand (``see np.pi``).
What stands behind two hashes is a limit: the program is ``refused``, or ``refused of unknown sizes``, where the sizes of its
arrays are known at run time only; or its result ``differs: how``, or ``differs of unknown sizes: how``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .ufuncs import UFUNCS, programs

FOLDER = Path(__file__).parent
CHAPTERS = {
    "creation": "Creating arrays",
    "shapes": "Shapes",
    "indexing": "Indexing",
    "ufuncs": "Ufuncs",
    "numbers": "Reductions, sorting, statistics, numbers",
    "linear_algebra": "Linear algebra and Fourier transforms",
    "polynomials": "Polynomials",
    "methods": "Methods and attributes of arrays",
    "python": "Types, constants, the rest",
}
# Chapters of functions whose programs are not run with arrays of sizes that are known at run time only.
FOLLOWED = ("polynomials",)


class Program(NamedTuple):
    """Statements, of which the last one is an expression, and the limit that is stated."""

    text: str
    limit: str = ""

    def is_limited(self, of_unknown_sizes: bool) -> bool:
        return bool(self.limit) and (of_unknown_sizes or "of unknown sizes" not in self.limit)


class Row(NamedTuple):
    """A name; its programs, or else why there are none."""

    name: str
    programs: tuple[Program, ...]
    reason: str = ""


@cache
def rows(chapter: str) -> tuple[Row, ...]:
    if chapter == "ufuncs":
        return tuple(Row(f"np.{name}", tuple(map(_program, programs(ufunc, f"np.{name}")))) for name, ufunc in UFUNCS.items())
    return tuple(read_rows((FOLDER / f"{chapter}.txt").read_text(encoding="utf-8")))


def read_rows(text: str) -> Iterator[Row]:
    name, reason, found = "", "", []
    for line in (*text.splitlines(), ""):
        if line.startswith(" "):
            found.append(_program(line))
            continue
        if name:
            yield Row(name, tuple(found), reason)
        (name, _, reason), found = line.partition(": "), []


def _program(line: str) -> Program:
    text, _, limit = line.partition(" ## ")
    return Program(text.strip(), limit.strip())


def every_row() -> Iterator[tuple[str, Row]]:
    return ((chapter, row) for chapter in CHAPTERS for row in rows(chapter))
