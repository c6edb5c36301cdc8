"""Functions of installed packages that are not written in Python: they are called while a function is traced.

They take the contents of arrays that are known, as arrays of their own, and may write into these: what has changed is written
into what stands for the array. Of other arrays they say in ways of their own that they are no arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from ....hlo.interrupts import not_of_a_signal
from ...recording.array import TracedArray
from ...recording.current_trace import current_trace
from ...recording.errors import HINTS, ConcretizationError, TracerError
from ...recording.libraries import way_out
from ...recording.operands import first_traced
from .. import journals

_SAY_NO_ARRAY = (TypeError, ValueError, AttributeError, LookupError, RuntimeError)


def done_by_compiled(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The call of such a function."""
    given: dict[int, _Given] = {}
    args = [_contents(value, given) for value in args]
    kwargs = {name: _contents(value, given) for name, value in kwargs.items()}
    unknown = [value for value in (*args, *kwargs.values()) if isinstance(value, TracedArray) and not value.is_scalar]
    if unknown and _takes_arrays_alone(function):
        raise ConcretizationError(unknown[0], "where NumPy needs an ndarray", HINTS["array"])
    needed = current_trace().program.concretizations
    known = len(needed)
    try:
        result = journals.done_by(function, args, kwargs)
    except not_of_a_signal(Exception) as error:
        if isinstance(error, (TracerError, NotImplementedError)):
            raise
        if len(needed) > known:
            raise needed[-1] from error
        if not isinstance(error, _SAY_NO_ARRAY) or (first := first_traced((args, kwargs))) is None:
            raise
        raise ConcretizationError(first, "where NumPy needs an ndarray", HINTS["array"]) from error
    if len(needed) > known:  # it calls a function of the user's, and goes on without what that gives
        raise needed[-1]
    for one in given.values():
        one.write_back()
    if type(result) is tuple:
        return tuple([_result(function, part, given) for part in result])
    return _result(function, result, given)


def _takes_arrays_alone(function: Any) -> bool:
    """Whether it is one of SciPy's in C, which are not to be asked.

    Some release what they could not make an array of once more: SciPy 1.17's `lsoda_step` so ends the interpreter later on.
    """
    return type(function) is BuiltinFunctionType and (function.__module__ or "").startswith("scipy.")


class _Given:
    """A traced array with the array of its contents that a function is given."""

    def __init__(self, traced: TracedArray, known: Any) -> None:
        self.traced, self.array = traced, np.array(known, order="K")
        self.before = self.array.copy("K")

    def write_back(self) -> None:
        if self.array.tobytes() != self.before.tobytes():
            self.traced[...] = self.array


def _contents(value: Any, given: dict[int, _Given]) -> Any:
    if not isinstance(value, TracedArray) or value.is_scalar:
        return value
    if id(value) not in given:
        if (known := value.known_value) is None:
            return value
        given[id(value)] = _Given(value, known)
    return given[id(value)].array


def _result(function: Any, result: Any, given: dict[int, _Given]) -> Any:
    """What stands for an array that is one of those that were given, or has its memory."""
    if isinstance(result, np.ndarray):
        for one in given.values():
            if result is one.array or result.__array_interface__ == one.array.__array_interface__:
                return one.traced
            if np.may_share_memory(result, one.array):
                name = getattr(function, "__name__", type(function).__name__)
                raise NotImplementedError(f"{name} returns a view of an array that it is given. {way_out(name)}")
    return result
