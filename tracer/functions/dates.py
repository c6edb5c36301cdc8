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


def written_by(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any], out: Any) -> Any:
    """What NumPy's ufunc gives of known inputs, traced arrays among those that it writes to."""
    outputs = out if isinstance(out, tuple) else (out,) * (out is not None)
    if not any([isinstance(one, TracedArray) for one in outputs]):
        return ufunc(*inputs, out=out, **options)
    is_whole = options["where"] is True
    arrays = [
        one if not isinstance(one, TracedArray) or one.is_scalar  # which NumPy refuses
        else np.empty(one.shape, one.dtype) if is_whole
        else np.array(known_as_dates(one))
        for one in outputs
    ]  # fmt: skip
    made = ufunc(*inputs, out=tuple(arrays), **options)
    found = list(made) if ufunc.nout > 1 else [made]
    for number, one in enumerate(outputs):
        if isinstance(one, TracedArray):
            one[...] = found[number]
            found[number] = one
    return tuple(found) if ufunc.nout > 1 else found[0]
