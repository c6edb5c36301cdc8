"""Values that meet: what a name holds behind a branch, or in all rounds of a loop.

A value is taken apart as `pytree` does. Its leaves are *fixed* (the same object, or equal constants, on both ways) or carried
as traced arrays, in the dtype that both take on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import hlo
from ..control_flow.bodies import ValueType, promoted, type_of
from ..recording.array import TracedArray, require_trace
from ..recording.errors import ConcretizationError, TracerError, at
from ..recording.intervals import INT64, within
from ..recording.trace import Trace
from .places import UNBOUND

NUMBERS = (bool, int, float, complex, np.ndarray, np.generic, TracedArray)


class Maybe:
    """A value that is there only where ``is_there`` holds; elsewhere ``absent`` is: UNBOUND, or None.

    One that may be None is used as the value that it is, and the call raises TypeError where it is not there.
    """

    __slots__ = ("is_there", "value", "absent")

    def __init__(self, is_there: TracedArray, value: Any, absent: Any) -> None:
        self.is_there, self.value, self.absent = is_there, value, absent

    def required(self, exception_type: type[Exception] = TypeError, message: str = "the value is None here") -> Any:
        """The value; the call raises the exception where it is not there."""
        trace = require_trace()
        trace.add_raise(hlo.not_(self.is_there.instruction(trace)), exception_type(message))
        return self.value


def _use(name: str) -> Any:
    def use(self: Maybe, *arguments: Any, **keywords: Any) -> Any:
        function = getattr(self.required(), name, None)
        return NotImplemented if function is None else function(*arguments, **keywords)

    return use


_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift", "divmod")
for _name in (
    *[f"__{prefix}{name}__" for name in _BINARY for prefix in ("", "r")],
    *[f"__{name}__" for name in ("lt", "le", "gt", "ge", "neg", "pos", "abs", "invert", "len", "iter", "getitem", "call")],
    *[f"__{name}__" for name in ("int", "float", "index", "getattr", "array")],
):
    setattr(Maybe, _name, _use(_name))


def without_maybes(arguments: Any) -> Any:
    """The arguments with values for those that may be None; the call raises TypeError where one is."""
    if type(arguments) in (tuple, list):
        return type(arguments)(map(without_maybes, arguments))
    return arguments.required() if isinstance(arguments, Maybe) else arguments


def _equals(self: Maybe, other: Any) -> Any:
    if other is None:
        return np.logical_not(self.is_there)
    equal = self.value == other
    both = np.logical_and(self.is_there, equal)
    both.weak_type = getattr(equal, "weak_type", True)
    return both


def _differs(self: Maybe, other: Any) -> Any:
    equal = _equals(self, other)
    differs = np.logical_not(equal)
    differs.weak_type = equal.weak_type
    return differs


Maybe.__eq__, Maybe.__ne__ = _equals, _differs
Maybe.__hash__ = object.__hash__
Maybe.__getattr__ = lambda self, name: getattr(self.required(), name)
Maybe.__array_ufunc__ = lambda self, ufunc, method, *inputs, **keywords: getattr(ufunc, method)(
    *without_maybes(inputs), **keywords
)
Maybe.__array_function__ = lambda self, function, types, arguments, keywords: function(*without_maybes(arguments), **keywords)


class Irreconcilable:
    """What a name holds whose values on two ways cannot become one; any use of it is an error that says so."""

    __slots__ = ("_test", "_message")

    def __init__(self, test: TracedArray | None, message: str) -> None:
        self._test, self._message = test, message

    def error(self) -> Exception:
        if self._test is None:
            return TracerError(self._message)
        error = ConcretizationError(self._test, "to decide between values that cannot become one")
        error.args = (self._message,)
        return error


def _refuse(self: Irreconcilable, *arguments: Any, **keywords: Any) -> Any:
    raise Irreconcilable.error(self)


for _name in (
    "__getattr__", "__call__", "__bool__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__len__", "__iter__",
    "__getitem__", "__setitem__", "__contains__", "__index__", "__int__", "__float__", "__add__", "__radd__", "__sub__",
    "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__", "__pow__", "__rpow__", "__mod__", "__neg__", "__matmul__",
    "__array_ufunc__", "__array_function__", "__array__", "__format__", "__str__", "__enter__", "__exit__",
):  # fmt: skip
    setattr(Irreconcilable, _name, _refuse)
Irreconcilable.__hash__ = object.__hash__


def is_number(leaf: Any) -> bool:
    """Whether a leaf can be carried as a traced array."""
    if isinstance(leaf, np.ndarray) or isinstance(leaf, np.generic):
        return leaf.dtype.kind in "biufc"
    return isinstance(leaf, NUMBERS) and not _is_huge(leaf)


def _is_huge(leaf: Any) -> bool:
    """Whether this is a Python integer that 64 bits do not hold."""
    return type(leaf) is int and not within((leaf, leaf), INT64)


def same(first: Any, second: Any) -> bool:
    """Whether two leaves are the same on both ways: one object, or equal constants."""
    if first is second:
        return True
    if type(first) is not type(second) or isinstance(first, (TracedArray, np.ndarray)):
        return False
    if isinstance(first, float):
        return repr(first) == repr(second)
    return isinstance(first, (str, bytes, bool, int, complex, type, np.dtype, type(None), range, slice)) and first == second


def unchanged(before: Any, after: Any) -> bool:
    """Whether a place holds what it held: the same object, or containers of the same objects."""
    if same(before, after):
        return True
    if type(before) is not type(after) or type(before) not in (tuple, list, dict):
        return False
    if isinstance(before, dict):
        return list(before) == list(after) and all(unchanged(before[key], after[key]) for key in before)
    return len(before) == len(after) and all(map(unchanged, before, after))


def zero_like(trace: Trace, kind: ValueType) -> TracedArray:
    """What stands for a value of this kind where there is none; sizes that are known at run time only are 0."""
    zero = hlo.full(kind.shape, 0)
    for d in range(kind.shape.rank):
        if kind.shape.is_dynamic(d):
            zero = hlo.set_dimension_size(zero, hlo.constant(np.int32(0)), dimensions=(d,))
    return TracedArray.from_instruction(trace, zero, kind.weak_type, kind.is_scalar)


def kind_of(leaf: Any) -> ValueType | None:
    """What is carried for a leaf, None for one that is no number. Python's numbers are weak, True and False among them."""
    if isinstance(leaf, TracedArray):
        return type_of(leaf)
    if isinstance(leaf, bool):
        return ValueType(hlo.Shape(hlo.PRED), True, True)
    if isinstance(leaf, (int, float, complex)) and not _is_huge(leaf):
        return ValueType(hlo.Shape(hlo.element_type_of(np.result_type(leaf))), True, True)
    if is_number(leaf):
        return ValueType(hlo.Shape(hlo.element_type_of(leaf.dtype), leaf.shape), False, isinstance(leaf, np.generic))
    return None


def carried(leaf: Any) -> Any:
    """A leaf as it is carried: True and False as traced values that stay Python's."""
    if isinstance(leaf, bool):
        trace = require_trace()
        return TracedArray.from_instruction(trace, hlo.constant(np.bool_(leaf)), weak_type=True)
    return leaf


def common_type(first: ValueType, second: ValueType) -> ValueType | None:
    return promoted(first, second, widens=True)


def describe_value(value: Any) -> str:
    """A value in messages: its type and the line that it comes from."""
    if isinstance(value, TracedArray):
        source = value.root_storage.instruction.source
        place = f" (computed at {at(source)})" if source is not None else ""
        return f"{type_of(value)}{place}"
    if value is UNBOUND or isinstance(value, Maybe):
        return "not bound"
    if isinstance(value, np.ndarray):
        return f"an array {value.dtype}{list(value.shape)}"
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) < 40 else text[:37] + '...'}"
