"""Arithmetic on numbers whose type the program decides: what the result is for each of the types that they may have."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .current_trace import current_trace
from .intervals import INT64, Interval, interval_of, note_interval, within

if TYPE_CHECKING:
    from .array import TracedArray

# Those that can be done with every number, also with what stands in the place of a type that a number does not have.
_ARITHMETIC: dict[np.ufunc, Callable] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.absolute: operator.abs,
}
_WITH_ERRORS = frozenset({np.true_divide, np.floor_divide, np.remainder, np.power})
_COMPARISONS = frozenset({np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal})


def is_of_several_types(operand: Any) -> bool:
    return getattr(operand, "exact", None) is not None


def with_types(found: TracedArray, operate: Callable, ufunc: np.ufunc, operands: Sequence[Any]) -> TracedArray:
    """What is found in the common type, with what it is for each of the types that the operands may have."""
    is_one = ufunc in _ARITHMETIC or ufunc in _COMPARISONS or ufunc in _WITH_ERRORS
    if not is_one or not getattr(found, "is_scalar", False):
        return found
    choices = list({id(one): one.exact for one in operands if is_of_several_types(one)}.items())
    place, values, types = 0, [], {}
    for _, choice in choices:
        place = place * len(choice.values) + choice.number
    for alternatives in itertools.product(*[choice.values for _, choice in choices]):
        exact = dict(zip([key for key, _ in choices], alternatives))
        given = [exact.get(id(one), one) for one in operands]
        if ufunc in _WITH_ERRORS or ufunc in _ARITHMETIC and not _fits(_ARITHMETIC[ufunc], given):
            own = {id(one): _or_one(choice, one) for (_, choice), one in zip(choices, alternatives)}
            given = [own.get(id(one), one) for one in given]
        try:
            values.append(operate(ufunc, given))
        except (TypeError, OverflowError):  # of NumPy's bools there is no difference
            return found
        types.setdefault(values[-1].run_time_type, len(types))
    if len(types) == 1 and found.run_time_type in types:
        return found
    each = [_one_of(place, [(k, one) for k, one in enumerate(values) if one.run_time_type is kind]) for kind in types]
    if len(each) == 1:
        return each[0]
    number = _one_of(place, [(k, types[one.run_time_type]) for k, one in enumerate(values)])
    note_interval(current_trace(), number, (0, len(types) - 1))
    found.exact = type(choices[0][1])(number, each)
    return found


def _one_of(place: Any, values: Sequence[tuple[int, Any]]) -> Any:
    """The one of these values, all of one type, that has this place."""
    found = values[0][1]
    for k, value in values[1:]:
        is_weak = getattr(value, "weak_type", True)
        found = np.where(place == k, value, found)[()]
        found.weak_type = is_weak
    return found


def _or_one(choice: Any, value: Any) -> Any:
    """One of the values where it is that one, elsewhere 1, of which no computation fails."""
    place = next(place for place, one in enumerate(choice.values) if one is value)
    found = np.where(choice.number == place, value, np.ones((), np.result_type(value))[()])[()]
    found.weak_type = getattr(value, "weak_type", True)
    return found


def _fits(operate: Callable, operands: Sequence[Any]) -> bool:
    """Whether Python's integers among the operands fit into NumPy's, and the result of some of Python's own into 64 bits."""
    trace = current_trace()
    own = [one for one in operands if getattr(one, "weak_type", not hasattr(one, "dtype"))]
    intervals = [interval_of(trace, one) for one in own if isinstance(one, int) or _is_integer(one)]
    if len(intervals) == len(operands):
        return within(_corners(operate, intervals), INT64)
    kinds = [one.dtype for one in operands if not any(one is other for other in own)]
    limits = [(int(np.iinfo(kind).min), int(np.iinfo(kind).max)) for kind in kinds if kind.kind in "iu"]
    return all(within(interval, limit) for interval in intervals for limit in limits)


def _is_integer(number: Any) -> bool:
    return getattr(number, "element_type", None) is not None and number.element_type.kind in ("pred", "signed")


def _corners(operate: Callable, intervals: Sequence[Interval]) -> Interval:
    values = [operate(*corner) for corner in itertools.product(*intervals)]
    return min(values), max(values)
