"""What operators do with an array and an object that is none: NumPy applies them to each element and the object.

That gives an array of what the object's methods return, which no program holds, but where it is asked whether they are equal,
and no number equals such an object: that is False. Where NumPy leaves the operator to the object says `binop_should_defer` of
NumPy's common/binop_override.h.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from .attributes import class_of, is_generated

_PACKAGE = __name__.partition(".")[0]
_NO_NUMBERS = (object.__eq__, dict.__eq__, set.__eq__, frozenset.__eq__, slice.__eq__)  # are equal to none
_ARRAYS = ("__array__", "__array_interface__", "__array_struct__", "__buffer__")
_REFLECTED = {
    np.add: "__radd__", np.subtract: "__rsub__", np.multiply: "__rmul__", np.true_divide: "__rtruediv__",
    np.floor_divide: "__rfloordiv__", np.remainder: "__rmod__", np.divmod: "__rdivmod__", np.power: "__rpow__",
    np.bitwise_and: "__rand__", np.bitwise_or: "__ror__", np.bitwise_xor: "__rxor__", np.left_shift: "__rlshift__",
    np.right_shift: "__rrshift__", np.less: "__gt__", np.less_equal: "__ge__", np.greater: "__lt__", np.greater_equal: "__le__",
}  # fmt: skip


def _is_of_phlox(kind: type) -> bool:
    return "followed_class" not in vars(kind) and kind.__module__.partition(".")[0] == _PACKAGE


def is_left_to(operand: Any) -> bool:
    """Whether NumPy's arrays, or those of phlox, leave an operator to this operand."""
    if _is_of_phlox(type(operand)) or hasattr(operand, "__array_ufunc__"):
        return True
    return getattr(operand, "__array_priority__", -1.0) > 0


def is_none_or_text(operand: Any) -> bool:
    """Whether NumPy compares each element with the operand, which no number is equal to."""
    return operand is None or isinstance(operand, (str, bytes))


def equals_no_number(operand: Any) -> bool:
    """Whether the comparison of each number with the operand is False. Raises NotImplementedError where its class decides."""
    if is_none_or_text(operand):
        return True
    if is_left_to(operand):
        return False
    kind = class_of(type(operand))
    is_array = isinstance(operand, Sequence) or any(hasattr(kind, name) for name in _ARRAYS)
    is_written = dataclasses.is_dataclass(kind) and is_generated(kind.__eq__)
    if not is_array and (is_written or kind.__eq__ in _NO_NUMBERS):
        return True
    raise NotImplementedError(
        f"an array is compared with a {kind.__name__}, which NumPy does element by element, by {kind.__name__}'s own methods; "
        "that is not implemented. Fix: compare with a number or an array that it holds"
    )


def reflected(ufunc: np.ufunc, operand: Any) -> Any:
    """The method of an operand that is called with a scalar of NumPy's, as a number of Python's; None for others."""
    name = _REFLECTED.get(ufunc)
    return None if name is None or is_left_to(operand) else _method_of(type(operand), name)


def _method_of(kind: type, name: str) -> Any:
    """A special method of a class, and not of the class of that, as ``type`` has one for ``|``."""
    return next((vars(one)[name] for one in kind.__mro__ if name in vars(one)), None)


def require_left(ufunc: np.ufunc, operand: Any, in_place: bool = False) -> None:
    """To be called before the operand's own method is asked. Raises NotImplementedError where NumPy would call it for each
    element, and TypeError where it would not, as the array is changed in place.
    """
    kind, name = class_of(type(operand)), _REFLECTED.get(ufunc)
    if name is None or _method_of(kind, name) is _method_of(object, name) or _is_of_phlox(type(operand)):
        return
    if in_place and getattr(kind, "__array_ufunc__", None) is None:
        raise TypeError(f"np.{ufunc.__name__} changes an array in place, which a {kind.__name__} gives no numbers for")
    if not is_left_to(operand):
        raise NotImplementedError(
            f"np.{ufunc.__name__} of an array and a {kind.__name__}: NumPy calls {kind.__name__}.{name} for each element, and "
            "gives an array of objects, which is not implemented. Fix: __array_ufunc__ = None in the class, so that the method "
            "is called once, with the array"
        )
