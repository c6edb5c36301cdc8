"""Values that are not the same kind of thing on all ways: one that may be missing, and one out of a fixed set."""

from __future__ import annotations

import operator
import sys
from collections.abc import Collection, Sequence
from typing import Any, NoReturn

import numpy as np

from ... import hlo
from ..recording import pytree
from ..recording.array import TracedArray, require_trace
from ..recording.device_arrays import ArrayOnDevice
from ..recording.function_tables import CHOICES
from ..recording.makers import Source, register_maker, register_writer


class Maybe:
    """A value that is there only where ``is_there`` holds; elsewhere ``absent`` is: UNBOUND, or None.

    One that may be None is used as the value that it is, and the call raises TypeError where it is not there.
    """

    __slots__ = ("is_there", "value", "absent")
    stands_for_others = True

    def __init__(self, is_there: TracedArray, value: Any, absent: Any) -> None:
        self.is_there, self.value, self.absent = is_there, value, absent

    def required(self, exception_type: type[Exception] = TypeError, message: str = "the value is None here") -> Any:
        """The value; the call raises the exception where it is not there."""
        trace = require_trace()
        trace.add_raise(hlo.not_(self.is_there.instruction(trace)), exception_type(message))
        return self.value


class Choice:
    """One of a few ``values``, the one with this ``number``; what they are made of is computed in any case.

    What is done with it is done with each of them, under a branch (`distribution`).
    """

    __slots__ = ("number", "values")
    stands_for_others = True

    def __init__(self, number: TracedArray, values: Sequence[Any]) -> None:
        self.number, self.values = number, tuple(values)

    def keys(self) -> NoReturn:
        """Asked for by Python's own ``f(**value)``; the program's ``value.keys()`` goes to each of them."""
        raise NotImplementedError(
            "a dict behind two stars in a call is one of several, as the program decides. Fix: call the function on both sides"
        )

    def __repr__(self) -> str:
        return f"one of {', '.join(map(repr, self.values))}"


CHOICES.append(Choice)


_TRUTHS, _NUMBERS = (bool, np.bool_), (int, np.integer)


def _decided(decider: Any, types: tuple[type, ...]) -> Any:
    """What a truth value or a number is that chooses, which a call on a device reads; None where the program decides."""
    if isinstance(decider, ArrayOnDevice):
        return decider.to_host()[()]
    return decider if isinstance(decider, types) else None


def _maybe_of(absent: Any, parts: Sequence[Any]) -> Any:
    is_there, value = parts
    decided = _decided(is_there, _TRUTHS)
    if decided is None:
        return Maybe(is_there, value, absent)
    return value if decided else absent


def _choice_of(_: None, parts: Sequence[Any]) -> Any:
    number, *values = parts
    decided = _decided(number, _NUMBERS)
    return Choice(number, values) if decided is None else values[decided]


def _needed_of_maybe(is_there: Any) -> Collection[int]:
    decided = _decided(is_there, _TRUTHS)
    return (1,) if decided is None or decided else ()


def _needed_of_choice(number: Any) -> Collection[int]:
    decided = _decided(number, _NUMBERS)
    return range(1, sys.maxsize) if decided is None else (1 + decided,)


# A compiled call puts the value together of numbers that are known then, and makes nothing that the way taken does not.
pytree.register_pytree(Maybe, lambda value: ((value.is_there, value.value), value.absent), _maybe_of, _needed_of_maybe)
pytree.register_pytree(Choice, lambda value: ((value.number, *value.values), None), _choice_of, _needed_of_choice)
register_maker(Maybe, lambda absent: lambda is_there, value: value if is_there else absent)
register_maker(Choice, lambda _: lambda number, *values: values[number])


def _written_choice(source: Source, _: None, parts: Sequence[pytree.Structure]) -> str | None:
    """One of values that are there is taken from a tuple of them; of others that one is made."""
    number, *values = [source.later(part) for part in parts]
    if all(part is pytree.LEAF for part in parts):
        return f"({''.join([value + ',' for value in values])})[{number}]"
    ways = [f"{value} if {number} == {place} else " for place, value in enumerate(values[:-1])]
    return "".join(ways) + values[-1]


register_writer(Choice, _written_choice)


def _use(name: str) -> Any:
    def use(self: Maybe, *arguments: Any, **keywords: Any) -> Any:
        value, arguments = self.required(), without_maybes(arguments)
        function = getattr(value, name, None)
        found = NotImplemented if function is None else function(*arguments, **keywords)
        if found is NotImplemented and name in _REFLECTED:  # the other operand has been asked about what may be None only
            function = getattr(arguments[0], _REFLECTED[name], None)
            return NotImplemented if function is None else function(value)
        return found

    return use


def _use_in_place(name: str) -> Any:
    """What the operator changes is the value, which other names hold, too; behind it the value is known to be there."""

    def use(self: Maybe, other: Any) -> Any:
        return getattr(operator, name)(self.required(), without_maybes(other))

    return use


BINARY_OPERATORS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift", "divmod",
)  # fmt: skip
_REFLECTED = {
    **{f"__{name}__": f"__r{name}__" for name in BINARY_OPERATORS},
    **{f"__r{name}__": f"__{name}__" for name in BINARY_OPERATORS},
    "__lt__": "__gt__", "__gt__": "__lt__", "__le__": "__ge__", "__ge__": "__le__",
}  # fmt: skip
for _name in (
    *[f"__{prefix}{name}__" for name in BINARY_OPERATORS for prefix in ("", "r")],
    *[f"__{name}__" for name in ("lt", "le", "gt", "ge", "neg", "pos", "abs", "invert", "len", "iter", "getitem", "call")],
    *[f"__{name}__" for name in ("int", "float", "index", "getattr", "array")],
):
    setattr(Maybe, _name, _use(_name))
for _name in BINARY_OPERATORS:
    if _name != "divmod":
        setattr(Maybe, f"__i{_name}__", _use_in_place(f"__i{_name}__"))


def without_maybes(arguments: Any) -> Any:
    """The arguments with values for those that may be None; the call raises TypeError where one is."""
    if type(arguments) in (tuple, list):
        parts = list(map(without_maybes, arguments))
        return arguments if all(map(operator.is_, parts, arguments)) else type(arguments)(parts)
    return arguments.required() if isinstance(arguments, Maybe) else arguments


def _equals(self: Maybe, other: Any) -> Any:
    if other is None:
        is_none = np.logical_not(self.is_there)
        is_none.weak_type = not getattr(self.value, "ndim", 0)
        return is_none
    equal = self.value == (other.value if type(other) is Maybe else other)
    both = np.logical_and(self.is_there, equal)
    if type(other) is Maybe:
        both = np.where(other.is_there, both, np.logical_not(self.is_there))
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
