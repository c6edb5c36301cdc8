"""What Python asks of an array whose contents are not known while it is traced: a bool, a number, a key."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import AMBIGUOUS, HINTS, ConcretizationError, no_integer
from .function_tables import FUNCTIONS


class PythonConversions:
    """The special methods by which Python makes something of its own of an array: of known contents, or by an error."""

    __slots__ = ()

    def __bool__(self) -> bool:
        if not self.size and not self.is_dynamic:
            return bool(np.empty(0))  # what it says depends on NumPy's version
        if self.size > 1:
            raise ValueError(AMBIGUOUS)
        if (known := self.known_value) is not None:
            return bool(known)
        raise ConcretizationError(
            self, "where Python needs a bool (in `if`, `while`, `and`, `or`, `not` or bool())", HINTS["bool"]
        )

    def __int__(self) -> int:
        if self.size == 1 and (known := self.known_value) is not None:
            return int(known)
        raise ConcretizationError(
            self, "where Python needs an int", "Use .astype(int) to convert a traced value. " + HINTS["range"]
        )

    def __float__(self) -> float:
        if self.size == 1 and (known := self.known_value) is not None:
            return float(known)
        raise ConcretizationError(
            self,
            "where Python needs a float (by float(), the math module, or as an element of an ndarray)",
            "Use np functions instead of those of math. " + HINTS["array"],
        )

    def __complex__(self) -> complex:
        if self.size == 1 and (known := self.known_value) is not None:
            return complex(known)
        raise ConcretizationError(
            self, "where Python needs a complex number", "Use .astype(complex) to convert a traced value."
        )

    def __index__(self) -> int:
        if self.shape or not self.element_type.is_integer:
            raise no_integer(self)
        if (known := self.known_value) is not None:
            return int(known)
        raise ConcretizationError(
            self, "where Python needs an integer (in range(), as a shape, an axis or a slice bound)", HINTS["range"]
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if (known := self.known_value) is not None:
            found = np.array(known, dtype)
            found.flags.writeable = copy is True  # what is written there would be lost
            return found
        raise ConcretizationError(self, "where NumPy needs an ndarray", HINTS["array"])

    def __contains__(self, value: Any) -> bool:
        raise ConcretizationError(self, "in a Python `in`", "Use np.any(array == value).")

    def __format__(self, specification: str) -> str:
        if specification:
            raise ConcretizationError(self, f"where the format {specification!r} needs a number")
        return repr(self)

    def __round__(self, digits: int | None = None) -> Any:
        if digits is None:
            raise ConcretizationError(self, "where round() needs a Python int", "Use np.rint(...).")
        return FUNCTIONS[np.round](self, digits)

    def __hash__(self) -> int:
        if not self.is_scalar:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        raise ConcretizationError(self, "where Python needs a hash (as the key of a dict, or in a set)")
