"""``not``, ``and`` and ``or``: as values, and in conditions, where only the truth counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from .branches import choose as choose_traced
from .branches import truth
from .choices import Maybe
from .distribution import condition, each, truth_of

Later = Callable[[], Any]


def not_(value: Any) -> Any:
    value = condition(value)
    if isinstance(value, TracedArray) and truth(value) is None:
        negated = np.logical_not(value if not value.shape else value.reshape(()))
        negated.weak_type = True  # a bool of Python's
        return negated
    return not value


def and_(value: Any, *later: Later) -> Any:
    if not later:
        return value
    test = condition(value)
    holds = truth(test)
    if holds is None:
        return choose_traced(test, lambda: and_(later[0](), *later[1:]), lambda: _known_as(False, value))
    return and_(later[0](), *later[1:]) if holds else value


def tested(value: Any) -> Any:
    """What decides in the place of a value, of which only that counts."""
    return truth_of(value) if isinstance(value, (list, dict, set)) and current_trace() is not None else value


def _known_as(truth_value: bool, value: Any) -> Any:
    """A value where its truth is known: one that is a bool is that, so that ``a or True`` is True."""
    if type(value) is Maybe and truth_value:
        return _known_as(True, value.value)
    if _is_bool(value):
        if value.exact is not None:  # a bool of Python's or of NumPy's
            return each(lambda one: _known_as(truth_value, one), value.exact)
        return truth_value if value.weak_type else np.bool_(truth_value)
    return value


def or_(value: Any, *later: Later) -> Any:
    if not later:
        return value
    test = condition(value)
    holds = truth(test)
    if holds is None:
        return choose_traced(test, lambda: _known_as(True, value), lambda: or_(later[0](), *later[1:]))
    return value if holds else or_(later[0](), *later[1:])


def all_hold(value: Any, *later: Later) -> Any:
    """``and`` where only the truth counts: it is known where that of a later operand is, whatever the program decides."""
    if not later:
        return value
    test = condition(value)
    holds = truth(test)
    if holds is None:
        return choose_traced(test, partial(_behind, all_hold, value, later), partial(_at_once, False, value))
    return all_hold(later[0](), *later[1:]) if holds else value


def one_holds(value: Any, *later: Later) -> Any:
    """``or``, likewise."""
    if not later:
        return value
    test = condition(value)
    holds = truth(test)
    if holds is None:
        return choose_traced(test, partial(_at_once, True, value), partial(_behind, one_holds, value, later))
    return value if holds else one_holds(later[0](), *later[1:])


def _at_once(truth_value: bool, value: Any) -> Any:
    return _known_as(truth_value, value) if _is_bool(value) else truth_value


def _behind(operation: Callable[..., Any], value: Any, later: Sequence[Later]) -> Any:
    """What the later operands say; where it is known, in the type of the first one, so that both ways may be one constant."""
    found = operation(later[0](), *later[1:])
    known = found if isinstance(found, (bool, np.bool_)) else found.known_value if _is_bool(found) else None
    return found if known is None else _at_once(bool(known), value)


def _is_bool(value: Any) -> bool:
    return isinstance(value, TracedArray) and value.is_scalar and value.element_type.kind == "pred"
