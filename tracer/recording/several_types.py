"""Arithmetic on numbers whose type the program decides: what the result is for each of the types that they may have."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .current_trace import current_trace
from .errors import IntegerOverflow, TracerError
from .intervals import INT64, Interval, interval_of, note_interval, within

if TYPE_CHECKING:
    from .array import TracedArray

# Those that fail for integers alone, where NumPy's have no room for Python's, or 64 bits none for the result.
_ARITHMETIC: dict[np.ufunc, Callable] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.absolute: operator.abs,
}
_WITH_ERRORS = frozenset({
    np.true_divide, np.floor_divide, np.remainder, np.divmod, np.power,
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift,
})  # fmt: skip
_COMPARISONS = frozenset({np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal})


def is_of_several_types(operand: Any) -> bool:
    return getattr(operand, "exact", None) is not None


def loses_integers(number: TracedArray) -> bool:
    """Whether a number of several types may be one of Python's integers that the common type has no room for."""
    if not _is_integer(number) and number.element_type.kind != "unsigned":
        return False
    limits = np.iinfo(number.dtype) if number.element_type.kind != "pred" else None
    integers = [one for one in number.exact.values if _is_weak_integer(one)]
    intervals = [interval_of(current_trace(), one) for one in integers]
    return limits is not None and not all(within(one, (int(limits.min), int(limits.max))) for one in intervals)


def with_types(operate: Callable, ufunc: np.ufunc, operands: Sequence[Any]) -> Any:
    """What is found in the common type, with what it is for each of the types that the operands may have.

    What one type raises the program raises where the operands have that one.
    """
    if ufunc not in _ARITHMETIC and ufunc not in _COMPARISONS and ufunc not in _WITH_ERRORS:
        return operate(ufunc, operands)
    choices = list({id(one): one.exact for one in operands if is_of_several_types(one)}.items())
    if not all(_is_number(one) for one in operands):
        return operate(ufunc, operands)
    place: Any = 0
    values, errors, may_fail = {}, {}, False
    for _, choice in choices:
        place = place * len(choice.values) + choice.number
    for number, alternatives in enumerate(itertools.product(*[choice.values for _, choice in choices])):
        exact = dict(zip([key for key, _ in choices], alternatives))
        given = [exact.get(id(one), one) for one in operands]
        if _may_fail(ufunc, given):
            may_fail = True
            changed = [_is_to_be_one(ufunc, one, id(own) in exact) for one, own in zip(given, operands)]
            given = [or_one(place == number, one) if is_one else one for one, is_one in zip(given, changed)]
        try:
            if all(map(_is_weak_integer, given)) and not all(map(_fits_or_is_traced, given)):
                raise IntegerOverflow(IntegerOverflow.MESSAGE)
            values[number] = operate(ufunc, given)
        except TracerError:
            return operate(ufunc, operands)
        except (TypeError, OverflowError) as error:
            errors[number] = error
    if not values:
        raise next(iter(errors.values()))
    for number, error in errors.items():
        trace = current_trace()
        trace.add_raise((place == number).instruction(trace), error)
    make = type(choices[0][1])
    if ufunc is np.divmod:
        return tuple([_number_of(make, place, {k: one[part] for k, one in values.items()}) for part in (0, 1)])
    if errors or may_fail:
        return _number_of(make, place, values)
    found = operate(ufunc, [_of_common_type(one) for one in operands])
    # Nobody asks then what it is for each type.
    is_of_one = {one.run_time_type for one in values.values()} == {found.run_time_type}
    return found if is_of_one else _number_of(make, place, values, found)


def _number_of(make: Callable, place: Any, values: Mapping[int, TracedArray], found: TracedArray | None = None) -> TracedArray:
    """The one of these values that has this place; ``found`` is what it is in the common type, if somebody knows."""
    types: dict[type, int] = {}
    for one in values.values():
        types.setdefault(one.run_time_type, len(types))
    each = [_one_of(place, {k: one for k, one in values.items() if one.run_time_type is kind}) for kind in types]
    if len(each) == 1:
        return each[0]
    found = _in_common_type(place, values) if found is None else found
    number = _one_of(place, {k: types[one.run_time_type] for k, one in values.items()})
    note_interval(current_trace(), number, (0, len(types) - 1))
    found.exact = make(number, each)
    return found


def _of_common_type(operand: Any) -> Any:
    """A number of the common type alone, for a result that counts where that is the type."""
    if not is_of_several_types(operand):
        return operand
    return type(operand).from_instruction(current_trace(), operand.instruction(current_trace()), operand.weak_type)


def _is_number(operand: Any) -> bool:
    """Whether this is one number, and no array, nor a sequence."""
    return getattr(operand, "is_scalar", isinstance(operand, (bool, int, float, complex, np.generic)))


def _one_of(place: Any, values: Mapping[int, Any]) -> Any:
    """The one of these values, all of one type, that has this place."""
    (_, found), *others = values.items()
    for k, value in others:
        is_weak = getattr(value, "weak_type", True)
        found = np.where(place == k, value, found)[()]
        found.weak_type = is_weak
    return found


def _in_common_type(place: Any, values: Mapping[int, TracedArray]) -> TracedArray:
    """The same of values of several types."""
    dtype = np.result_type(*[one.dtype for one in values.values()])
    found = _one_of(place, {k: one.astype(dtype) for k, one in values.items()})
    found.weak_type = all(one.weak_type for one in values.values())
    return found


def _is_to_be_one(ufunc: np.ufunc, operand: Any, is_of_several: bool) -> bool:
    """Whether a computation that is not asked for may fail for this operand, beside others that are 1."""
    is_positive = isinstance(operand, (int, float)) and operand > 0
    return is_of_several or ufunc is not np.power and not is_positive


def or_one(test: TracedArray, value: Any) -> Any:
    """The value where the test holds, elsewhere 1, of which no computation fails."""
    if not _fits_or_is_traced(value):
        return value
    found = np.where(test, value, np.ones((), np.result_type(value))[()])[()]
    found.weak_type = _is_weak(value)
    return found


def _may_fail(ufunc: np.ufunc, operands: Sequence[Any]) -> bool:
    """Whether Python's own arithmetic may raise an error of these, or NumPy's for a number of Python's that does not fit."""
    if ufunc in _COMPARISONS:
        return False
    if ufunc is np.power or ufunc in _WITH_ERRORS and all(map(_is_weak, operands)):
        return True
    return not _fits(_ARITHMETIC.get(ufunc, operator.add), operands)


def _fits(operate: Callable, operands: Sequence[Any]) -> bool:
    """Whether Python's integers among the operands fit into NumPy's, and the result of some of Python's own into 64 bits."""
    trace = current_trace()
    own = [one for one in operands if _is_weak(one)]
    intervals = [interval_of(trace, one) for one in own if _is_weak_integer(one)]
    if len(intervals) == len(operands):
        return within(_corners(operate, intervals), INT64)
    kinds = [one.dtype for one in operands if not any(one is other for other in own)]
    limits = [(int(np.iinfo(kind).min), int(np.iinfo(kind).max)) for kind in kinds if kind.kind in "iu"]
    return all(within(interval, limit) for interval in intervals for limit in limits)


def _fits_or_is_traced(number: Any) -> bool:
    return not isinstance(number, int) or within((number, number), INT64)


def _is_weak(number: Any) -> bool:
    return getattr(number, "weak_type", not hasattr(number, "dtype"))


def _is_weak_integer(number: Any) -> bool:
    return isinstance(number, int) or _is_integer(number) and number.weak_type


def _is_integer(number: Any) -> bool:
    return getattr(number, "element_type", None) is not None and number.element_type.kind in ("pred", "signed")


def _corners(operate: Callable, intervals: Sequence[Interval]) -> Interval:
    values = [operate(*corner) for corner in itertools.product(*intervals)]
    return min(values), max(values)
