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
    Programs call it by its ``name``, for as long as the object lives. does_nothing: whether nothing is another outside when it
    was called: it raises, or returns what it makes of the values; raises_behind_changes: whether Python is to make the call
    where it raises. Where it makes the characters of a text in an array, and their count, native code does so in its place.
    shows: of a number: the conversion, the specification, whether it is a "number" or a "scalar" of which dtype, and the letter
    and the digits of a float that is shown as PyOS_double_to_string does, or None;
    makes_text: of what this function of the same operands returns, and -1 for the count of None. direct: of one whose only
    result is a Python number, or an array, of the type ``returns`` what makes one that returns that, of one that has no
    results, or says whether it has raised something that is over, one that returns None, or True for that; and what it tells of
    exceptions, which says whether they are over.
    """

    def __init__(
        self, function: Callable[..., tuple[Any, ...]], description: str, kinds: Sequence[str], does_nothing: bool = False
    ) -> None:
        self.function, self.description, self.kinds, self.does_nothing = function, description, tuple(kinds), does_nothing
        self.raises_behind_changes = False
        self.shows: tuple[Any, ...] | None = None
        self.makes_text: Callable[..., str | None] | None = None
        self.direct: tuple[Callable[[Callable[[BaseException], bool]], Callable[..., Any]], Callable] | None = None
        self.returns: type = bool
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
