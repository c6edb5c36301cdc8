"""Python functions that traced functions call while the program runs, as custom-calls under names of their own."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..hlo.shape import AnyShape
from .custom_calls import register_family

PREFIX = "phlox.host_call."

_functions: weakref.WeakValueDictionary[str, HostFunction] = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


class HostFunction:
    """A function of the operands' values that returns those of the results; what it raises is raised as it is.

    Of an operand it gets, by its kind, a "number" of Python's, a "scalar" of NumPy's, or an "array" that it cannot write to.
    Programs call it by its ``name``, for as long as the object lives. only_raises: whether all that it does is to raise;
    raises_behind_changes: whether Python is to make the call then.
    """

    def __init__(
        self, function: Callable[..., tuple[Any, ...]], description: str, kinds: Sequence[str], only_raises: bool = False
    ) -> None:
        self.function, self.description, self.kinds, self.only_raises = function, description, tuple(kinds), only_raises
        self.raises_behind_changes = False
        self.name = f"{PREFIX}{next(_numbers)}"
        _functions[self.name] = self

    def __repr__(self) -> str:
        return f"Python, {self.description}"

    def prepared(self, operand_shapes: Sequence[AnyShape], shape: AnyShape, config: str) -> Callable[[tuple[Any, ...]], Any]:
        """What calls it with operands."""
        return lambda operands: self.function(*map(_argument, operands, self.kinds))


def _argument(operand: Any, kind: str) -> Any:
    if kind == "number":
        return np.asarray(operand).item()
    if kind == "scalar":
        return np.asarray(operand)[()]
    array = np.asarray(operand).view()
    array.flags.writeable = False
    return array


def _find(name: str) -> HostFunction:
    found = _functions.get(name)
    if found is None:
        raise NotImplementedError(f"custom-call to {name!r}: a function of another process is called, or one that is no more")
    return found


register_family(PREFIX, _find)
