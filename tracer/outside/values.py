"""Which objects are values: they cannot change, and what is equal in all that can be seen of it is as good."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import ipaddress
import re
import types
import uuid
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from .ownership import belongs_to_the_user

PLAIN_TYPES = (
    bool, int, float, complex, str, bytes, types.NoneType, types.EllipsisType, types.NotImplementedType, np.dtype, np.generic,
    range, enum.Enum,
)  # fmt: skip
_LIBRARY_TYPES = (
    datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, decimal.Decimal, fractions.Fraction, PurePath,
    uuid.UUID, re.Pattern, types.GenericAlias, ipaddress.IPv4Address, ipaddress.IPv6Address, ipaddress.IPv4Network,
    ipaddress.IPv6Network, np.datetime64, np.timedelta64,
)  # fmt: skip


def is_value(value: Any) -> bool:
    """Whether this is a number, a text, a date, a path or the like, or a slice between such.

    >>> is_value(datetime.date(2024, 2, 20)), is_value(slice(0, None)), is_value(slice([0])), is_value([0])
    (True, True, False, False)
    """
    return isinstance(value, PLAIN_TYPES) or is_library_value(value)


def is_library_value(value: Any) -> bool:
    """Whether this is a value of a class of the standard library: its text tells what `==` does not, as scale and time zone."""
    if isinstance(value, slice):
        return is_value(value.start) and is_value(value.stop) and is_value(value.step)
    return isinstance(value, _LIBRARY_TYPES) and not belongs_to_the_user(type(value))


def are_equal(one: Any, other: Any) -> bool:
    """Whether two values are the same in all that counts: their types, too, the sign of zero, the time zone.

    >>> are_equal(1, 1.0), are_equal(decimal.Decimal("1.0"), decimal.Decimal("1.00")), are_equal(0.0, -0.0)
    (False, False, False)
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, (float, complex)) and not isinstance(one, np.generic):
        return repr(one) == repr(other)
    if isinstance(one, np.generic):
        return one.dtype == other.dtype and one.tobytes() == other.tobytes()
    if isinstance(one, (tuple, frozenset)):  # a frozenset in the order in which it is gone over
        return len(one) == len(other) and all(map(are_equal, one, other))
    return bool(one == other) and (not is_library_value(one) or repr(one) == repr(other))


def print_options(options: Mapping[str, Any] | None = None) -> str:
    """What decides in this thread about the texts of NumPy's arrays."""
    return repr(sorted((np.get_printoptions() if options is None else options).items()))


def decimal_context() -> str:
    """What decides in this thread about the digits of results of Decimals, and about their errors."""
    context = decimal.getcontext()
    trapped = sorted(signal.__name__ for signal, is_raised in context.traps.items() if is_raised)
    return f"{context.prec} {context.rounding} {context.Emin} {context.Emax} {context.capitals} {context.clamp} {trapped}"
