"""Numbers beside dates and times: the program computes with neither, so what meets them becomes known.

``first_day + np.arange(n)`` is NumPy's own sum, of numbers that are constants or follow from arguments that become static.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..recording.array import TracedArray
from ..recording.errors import ConcretizationError

_DATES = (np.datetime64, np.timedelta64)
_HINT = (
    "Compute with numbers of days or seconds, and make dates of them outside of the function, or take them from an array of "
    "dates (days[numbers])."
)


def has_dates(values: Sequence[Any]) -> bool:
    """Whether one of these is a date or a time, or an array of them."""
    return any([isinstance(one, _DATES) or type(one) is np.ndarray and one.dtype.kind in "mM" for one in values])


def known_as_dates(value: Any) -> Any:
    """What a traced number or array holds, and anything else as it is. Raises ConcretizationError where it is not known."""
    if not isinstance(value, TracedArray):
        return value
    known = value.known_value
    if known is None:
        raise ConcretizationError(value, "where dates and times are made of numbers", _HINT)
    known = np.array(known)
    return (known.item() if value.weak_type else known[()]) if value.is_scalar else known
