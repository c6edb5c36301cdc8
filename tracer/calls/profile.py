"""Time by the user's line, measured by the compiled code itself: `JittedFunction.profile`."""

from __future__ import annotations

import html
import linecache
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ...runtime.locks import new_lock
from ...runtime.source_lines import shown_line

if TYPE_CHECKING:
    from .jitted_function import JittedFunctionBase

# A file and a line in it. What is computed in one go may come from several: that of its result is first.
Place = tuple[str, int]

_one_at_a_time = new_lock()


class Row(NamedTuple):
    """A line: seconds spent there, how often it was begun, and the lines that are computed together with it."""

    place: Place
    seconds: float
    times: int
    fused: tuple[Place, ...]

    @property
    def text(self) -> str:
        return linecache.getline(*self.place).strip()


@dataclass(frozen=True)
class Profile:
    """Where the time of a call's compiled code went: ``rows`` in the order of the source. ``result`` is what it returned."""

    name: str
    rows: Sequence[Row]
    result: Any

    @property
    def seconds(self) -> float:
        return sum(row.seconds for row in self.rows)

    def __str__(self) -> str:
        table = list(self._cells())
        widths = [max(map(len, column)) for column in zip(*table)]
        lines = [self._heading]
        for *numbers, where, text in table:
            lines.append("  ".join([*map(str.rjust, numbers, widths), where.ljust(widths[-2]), text]).rstrip())
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(_html_row(cells, self._share(row)) for row, cells in zip(self.rows, self._cells()))
        return f'<p>{html.escape(self._heading)}</p><table style="font-family:monospace;white-space:pre">{rows}</table>'

    def _share(self, row: Row) -> float:
        return row.seconds / (self.seconds or 1)

    @property
    def _heading(self) -> str:
        return f"{self.name}: {duration(self.seconds)}, by line"

    def _cells(self) -> Iterator[tuple[str, ...]]:
        """Time, share, how often, line, and source of each row."""
        for row in self.rows:
            with_others = "".join(f", {_short(place, row.place)}" for place in row.fused)
            where = f"{shown_line(*row.place)}{with_others}"
            yield duration(row.seconds) if row.seconds else "-", f"{self._share(row):.0%}", f"x{row.times:,}", where, row.text


def profile(function: JittedFunctionBase, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Profile:
    """A call of the function, compiled by a backend whose programs take down their time in its ``clocks``."""
    backend = function.backend_of_call(args, kwargs)
    timing = getattr(backend, "timing_lines", None)
    if timing is None:
        raise NotImplementedError(f"profile: the backend {backend.name!r} does not time lines; 'cpu' does")
    timed = function.compiled_by(timing)
    with _one_at_a_time:
        for clock in timing.clocks:
            clock.clear()
        result = timed(*args, **kwargs)
        rows = _rows(clock.seconds() for clock in timing.clocks)
    return Profile(function.__name__, tuple(rows), result)


def _rows(measured: Iterable[Mapping[tuple[Place, ...], tuple[float, int]]]) -> list[Row]:
    seconds: dict[tuple[Place, ...], float] = defaultdict(float)
    times: dict[tuple[Place, ...], int] = defaultdict(int)
    for one in measured:
        for places, (spent, count) in one.items():
            seconds[places] += spent
            times[places] += count
    return sorted(Row(places[0], seconds[places], times[places], places[1:]) for places in seconds)


def _html_row(cells: Sequence[str], share: float) -> str:
    *numbers, where, text = map(html.escape, cells)
    bar = f"background:linear-gradient(90deg,#f4a58266 {share:.1%},transparent {share:.1%})"
    numeric = "".join(f'<td style="text-align:right">{cell}</td>' for cell in numbers)
    return f'<tr>{numeric}<td style="text-align:left">{where}</td><td style="text-align:left;{bar}">{text}</td></tr>'


def _short(place: Place, beside: Place) -> str:
    return str(place[1]) if place[0] == beside[0] else shown_line(*place)


def duration(seconds: float) -> str:
    """A time in three digits, with its unit.

    >>> duration(0.00123456), duration(4e-9)
    ('1.23 ms', '4 ns')
    """
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"
