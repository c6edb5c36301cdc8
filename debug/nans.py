"""The first operation that makes a NaN."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import hlo
from ..backends.reference.backend import ReferenceBackend, ReferenceExecutable
from ..hlo.operation import CONTROL_FLOW, ELEMENTWISE, GIVEN, TUPLING
from ..tracer.calls.diversion import diverted
from ..tracer.calls.jitted_function import JittedFunctionBase
from ..tracer.recording.errors import at


@contextmanager
def nans() -> Iterator[None]:
    """Within, a call of a jitted function whose result holds a NaN raises, naming the first operation that made one.

    That is an operation with a NaN in its result and none in its operands. Programs run one operation after the other, with the
    semantics of the records: slowly, and with nothing changed by a call that raises.

    Raises FloatingPointError: the operation, the user's line, the element, and what it was made of.

    >>> from phlox import debug, jit
    >>> @jit
    ... def ratio(x, y):
    ...     return x / y
    >>> with debug.nans():
    ...     ratio(np.array([1.0, 0.0]), np.array([2.0, 0.0]))
    Traceback (most recent call last):
        ...
    FloatingPointError: a NaN is made by divide ... element [1] of f64[2] is nan, made of 0.0 and 0.0
    """
    with diverted(_checked_call):
        yield


def _checked_call(function: JittedFunctionBase, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return function.compiled_by(_NAN_CHECKS).run_compiled(args, kwargs)
    except _NanFound as found:
        error = FloatingPointError(*found.args)
    raise error


class _NanFound(BaseException):
    """A program has made a NaN. No Exception: those of a program that changes its arguments are for Python to raise."""


class _Watcher:
    """Sees each instruction with its value; keeps the first one that made a NaN. An observer for `hlo.Evaluator`."""

    def __init__(self) -> None:
        self.found: str | None = None
        self._values: dict[hlo.Instruction, Any] = {}
        self._runs: Counter[hlo.Instruction] = Counter()

    def __call__(self, computation: hlo.Computation, instruction: hlo.Instruction, value: Any) -> None:
        if self.found is not None:
            return
        self._values[instruction] = value
        self._runs[instruction] += 1
        if not instruction.operation.traits.isdisjoint({GIVEN, TUPLING, CONTROL_FLOW}) or not _has_nan(value):
            return
        operands = [self._values[operand] for operand in instruction.operands]
        if not any(map(_has_nan, operands)):
            self.found = self._described(instruction, value, operands)

    def _described(self, instruction: hlo.Instruction, value: Any, operands: list[Any]) -> str:
        text = f"a NaN is made by {instruction.opcode}"
        if instruction.source:
            text += f" at {at(instruction.source)}"
        if self._runs[instruction] > 1:
            text += f", when it runs for the {self._runs[instruction]}. time"
        if isinstance(value, tuple):
            return text
        place = tuple(map(int, np.argwhere(_is_nan(value))[0]))
        text += f": element {list(place)} of {instruction.shape} is nan" if place else ": the result is nan"
        if instruction.has_trait(ELEMENTWISE):
            text += ", made of " + " and ".join(str(np.asarray(operand)[place]) for operand in operands)
        return text


def _has_nan(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_has_nan, value))
    return bool(_is_nan(value).any())


def _is_nan(value: Any) -> np.ndarray:
    value = np.asarray(value)
    return np.asarray(value != value)  # noqa: PLR0124, for all types of floats


class _CheckedExecutable(ReferenceExecutable):
    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        watcher = _Watcher()
        results = self.run(arguments, watcher)
        if watcher.found is not None and _has_nan(results):
            raise _NanFound(watcher.found)
        return results


class _NanChecks(ReferenceBackend):
    """The reference backend, whose programs raise where a result holds a NaN that they have made."""

    executable_type = _CheckedExecutable


_NAN_CHECKS = _NanChecks()
