"""What a computation does in all rounds of a loop at once: one operation on arrays with the rounds as their first dimension.

Before, in round i: y[i] = 2 * x[i]        After: y[:] = 2 * x

A value is the same in each round (`Fixed`), another one in each (`Varying`), an array of the loop's state as the loop has found
it (`Initial`), or that array with one block written (`Written`).
"""

from __future__ import annotations

from . import control_flow  # noqa: F401  (importing it fills the table)
from .batch import Batch
from .movement import moving_block, update_sizes
from .values import Carried, Fixed, Initial, NotBatchedError, Read, Value, Varying, Written

__all__ = [
    "Batch",
    "Carried",
    "Fixed",
    "Initial",
    "NotBatchedError",
    "Read",
    "Value",
    "Varying",
    "Written",
    "moving_block",
    "update_sizes",
]
