"""For which values of a Python integer among the arguments compiled code is made.

At first all that 32 bits hold share it. Where that does not show that what the function computes is what Python computes, the
interval is made smaller (`narrowed`), and values outside of it are static: traced for themselves, as Python computes them.
"""

from __future__ import annotations

from typing import Any

from ..recording.intervals import INT64, SMALL, Interval

# One of these on either side of 0 is tried after the other. The last one is for exponents and counts of shifts.
_LIMITS = (2**31 - 1, 2**20, 2**15, 62)


def first_interval(value: int) -> Interval | None:
    """The interval that an integer is traced for before anything is known of the function; None where it is static."""
    return next((interval for interval in (SMALL, INT64) if interval[0] <= value <= interval[1]), None)


def interval_key(value: int, interval: Interval | None) -> Any:
    """What counts of an integer that is traced for this interval."""
    if interval is None:
        return int, value
    return int if interval is SMALL else (int, interval)


def narrowed(interval: Interval, value: int, wanted: Interval | None) -> Interval | None:
    """A smaller interval; with ``wanted`` what that allows of it. None where there is none, so that all values are static.

    >>> narrowed(SMALL, 7, None), narrowed((1, 2**15), 7, None), narrowed((1, 62), 7, None), narrowed(SMALL, 300, (0, 255))
    ((1, 2147483647), (1, 62), None, (0, 255))
    """
    if interval is INT64 and wanted is None:
        return SMALL
    if wanted is not None:
        low, high = max(interval[0], wanted[0]), min(interval[1], wanted[1])
        return (low, high) if low <= high and (low, high) != interval else None
    sign = -1 if value < 0 else 1
    for limit in _LIMITS if value else ():
        found = (1, limit) if sign > 0 else (-limit, -1)
        if found[0] <= value <= found[1] and interval[0] <= found[0] and found[1] <= interval[1] and found != interval:
            return found
    return None


def below(value: int) -> Interval:
    """The values to which an integer is narrowed with which a program did not get by with 64 bits."""
    limit = abs(value) // 2 if abs(value) > 2**16 else max(abs(value) - 1, 0)
    return -limit, limit
