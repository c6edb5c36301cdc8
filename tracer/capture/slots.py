"""Special methods of numbers and texts that are called by their names: ``int.__add__(a, b)``, ``(2).__add__(n)``."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from ..recording.array import TracedArray
from .calls.dispatch import call
from .calls.meanings import implements
from .distribution import type_when_run
from .texts.deferred import Deferred

_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift", "divmod")
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
_UNARY: dict[str, Callable] = {
    "neg": operator.neg, "pos": operator.pos, "abs": operator.abs, "invert": operator.invert, "int": int, "float": float,
    "bool": bool, "index": operator.index, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "round": round,
    "complex": complex, "len": len, "str": str, "repr": repr, "format": format,
}  # fmt: skip
# What each class takes for another operand.
_TAKES: dict[type, tuple[type, ...]] = {
    bool: (bool,), int: (int,), float: (int, float), complex: (int, float, complex), str: (str,),
}  # fmt: skip


def _is_open(value: Any) -> bool:
    return isinstance(value, (TracedArray, Deferred))


def _as_its_class(kind: type, value: Any) -> Any:
    """A value as that of the class whose method is called: objects of classes that inherit from it have others."""
    own = type_when_run(value)
    if own is kind or own in (bool, int, float, complex, str):
        return value
    found = next(one for one in (bool, int, float, complex, str) if issubclass(own, one))
    return call(found, value) if _is_open(value) else found.__new__(found, value)


def _function_of(name: str) -> Callable | None:
    if name in _UNARY:
        return _UNARY[name]
    if name == "divmod":
        return divmod
    return pow if name == "pow" else getattr(operator, f"__{name}__", None)


def _with_meaning(kind: type, name: str, slot: Callable) -> None:
    is_reflected = name[0] == "r" and name[1:] in _BINARY
    plain = name[1:] if is_reflected else name
    function = _function_of(plain)

    def method(*args: Any) -> Any:
        if not any(map(_is_open, args)):
            return slot(*args)
        if not issubclass(type_when_run(args[0]), kind):
            shown = type_when_run(args[0]).__name__
            raise TypeError(f"descriptor '__{name}__' requires a '{kind.__name__}' object but received a '{shown}'")
        if plain in _BINARY or plain in _COMPARISONS:
            takes = (int,) if kind is str and plain == "mul" else () if kind is str else _TAKES[kind]
            if plain in _COMPARISONS and kind is str:
                takes = (str,)
            if takes and not all(issubclass(type_when_run(one), takes) for one in args[1:]):
                return NotImplemented
        args = tuple(
            [_as_its_class(kind, one) if issubclass(type_when_run(one), (int, float, complex, str)) else one for one in args]
        )
        return call(function, *(args[::-1] if is_reflected else args))

    implements(slot)(method)


for _kind in (int, float, complex, bool, str):
    for _name in (*_BINARY, *[f"r{one}" for one in _BINARY], *_COMPARISONS, *_UNARY, "contains", "getitem"):
        _slot = vars(_kind).get(f"__{_name}__")
        if _slot is not None and type(_slot) is type(int.__add__) or _slot is not None and type(_slot) is type(int.__round__):
            _with_meaning(_kind, _name, _slot)
