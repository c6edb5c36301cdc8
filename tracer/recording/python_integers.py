"""Python's integers have no bounds, and the program's have 64 bits: where one may grow beyond, the program looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import hlo

if TYPE_CHECKING:
    from .array import TracedArray
    from .trace import Trace

_LIMIT = 2.0**63
_WRITERS = {np.multiply: hlo.multiply, np.add: hlo.add, np.subtract: hlo.subtract, np.power: hlo.power}
_MESSAGE = (
    "a Python integer grows beyond 64 bits in a loop that is captured; make the argument that the number of rounds comes from "
    "static, or compute with floats"
)


def grows(value: Any) -> bool:
    """Whether this is an integer of Python's that a captured loop carries, or made of one."""
    storage = getattr(value, "storage", None)
    return storage is not None and storage.grows


def watch_growth(trace: Trace, ufunc: np.ufunc, operands: tuple, result: TracedArray) -> None:
    """After an operation on Python's integers: the call raises OverflowError where what a loop carries has grown too far."""
    growing = sum(map(grows, operands))
    if not growing or not result.element_type.is_integer or ufunc in (np.remainder, np.bitwise_and):
        return
    result.storage.grows = True
    if ufunc not in _WRITERS or growing < 2 and ufunc in (np.add, np.subtract):
        return
    numbers = [
        hlo.constant(float(one), hlo.F64) if isinstance(one, int) else hlo.convert(one.instruction(trace), hlo.F64)
        for one in operands
    ]
    too_large = hlo.ge(hlo.abs(_WRITERS[ufunc](*numbers)), _LIMIT)
    trace.add_error_flag(too_large, OverflowError, _MESSAGE)
