"""`docs/numpy_functions.md`, written from the tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .table import CHAPTERS, FOLLOWED, Program, Row, rows

PAGE = Path(__file__).resolve().parents[2] / "docs" / "numpy_functions.md"
_HEAD = """\
# NumPy's functions

Every public name of `numpy`, `numpy.linalg`, `numpy.fft`, `numpy.lib.stride_tricks` and `numpy.polynomial`, and what compiled
code does with it. `python -m tests.numpy_names --write` writes this page from the programs in `tests/numpy_names/`, which use
each name with all of its keyword arguments; the tests run them decorated and undecorated, and compare values, types, shapes
and exceptions.

The second column is about arrays whose sizes are known while the function is traced, the third about those whose sizes are
known at run time only (`x[mask]`, see [extents.md](extents.md)). What is not done stands there as code: "not" is refused with
an error that names it, "otherwise" gives another result than NumPy. "NumPy's source" is followed as the user's own is, as far
as that is written for such arrays. Names without meaning in compiled code say why. `np.random` is in
[random_numbers.md](random_numbers.md).
"""


def page() -> str:
    parts = [_HEAD]
    for chapter, title in CHAPTERS.items():
        parts.append(f"\n## {title}\n\n| name | sizes known | sizes known at run time only |\n|---|---|---|\n")
        parts += [f"| {' | '.join(_cells(row, chapter not in FOLLOWED))} |\n" for row in rows(chapter)]
    return "".join(parts)


def _cells(row: Row, says_of_unknown_sizes: bool) -> tuple[str, str, str]:
    name = f"`{row.name}`"
    if not row.programs:
        return name, row.reason if row.reason.startswith("see ") else f"without meaning: {row.reason}", ""
    return name, _limits(row.programs, False), _limits(row.programs, True) if says_of_unknown_sizes else "NumPy's source"


def _limits(programs: Sequence[Program], of_unknown_sizes: bool) -> str:
    limited = [program for program in programs if program.is_limited(of_unknown_sizes)]
    refused = [_code(program.text) for program in limited if program.limit.startswith("refused")]
    others = [f"{_code(one.text)} ({one.limit.partition(': ')[2]})" for one in limited if one.limit.startswith("differs")]
    said = [f"{word} {', '.join(texts)}" for word, texts in (("not", refused), ("otherwise", others)) if texts]
    return "; ".join(said) or "yes"


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"
