"""The places whose values a captured loop carries, and what becomes of these behind a round."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...recording.array import TracedArray
from ..forms import Fixed, Form, Number, form_of, is_number, kind_of
from ..places import Place


class Slot:
    """A place whose value is carried from round to round, in a form that it has in all of them.

    ``state`` says how lists in it are carried whose length the program decides; the form is that of what they are carried as,
    None until that is known.
    """

    def __init__(self, place: Place, initial: Any) -> None:
        self.place, self.initial = place, initial
        self.form: Form | None = None
        self.state: Any = None
        self.ends_bound = False


def of_one_type(number: TracedArray, end: Any) -> TracedArray:
    """The number as it is behind a round, if that always leaves one of the same type."""
    if getattr(end, "exact", None) is not None:
        return number
    wanted = kind_of(end).scalar_type
    found = next(one for one in (number, *number.exact.values) if kind_of(one).scalar_type == wanted)
    found.exact = None
    return found


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or isinstance(value, TracedArray) and not value.is_scalar


def varying(value: Any) -> Form:
    """The form of a value that loops change: numbers are carried, whatever they are at first."""
    form = form_of(value, as_views=True)
    return Number(kind_of(value)) if isinstance(form, Fixed) and is_number(value) else form
