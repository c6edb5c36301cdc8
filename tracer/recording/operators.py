"""Python's operators, each written as the ufunc that it is."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def _binary(ufunc: np.ufunc) -> tuple[Callable, Callable, Callable]:
    """The operator, its reflected and its in-place form."""

    def operate(self: Operators, other: Any) -> Any:
        return self.operate(ufunc, (self, other)) if self.takes(other) else self.leave(ufunc, other)

    def operate_reflected(self: Operators, other: Any) -> Any:
        return self.operate(ufunc, (other, self)) if self.takes(other) else NotImplemented

    def operate_in_place(self: Operators, other: Any) -> Any:
        takes = self.takes(other) or getattr(type(other), "is_dynamic", False)
        if not takes:
            return self.leave(ufunc, other, in_place=True)
        if ufunc is np.matmul:
            require_matrix(self, other)
        return self.operate_in_place(ufunc, other)

    return operate, operate_reflected, operate_in_place


def require_matrix(array: Any, other: Any) -> None:
    """Raises ValueError, as NumPy does, for an array that would be multiplied by a vector in place."""
    if np.ndim(array) and np.ndim(other) == 1:
        raise ValueError(
            "inplace matrix multiplication requires the first operand to have at least one and the second at least two "
            "dimensions."
        )


def _unary(ufunc: np.ufunc) -> Callable:
    return lambda self: self.operate(ufunc, (self,))


class Operators:
    """Operators for classes that say which operands they take, and how a ufunc is applied to them."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def takes(self, operand: Any) -> bool:
        raise NotImplementedError

    def leave(self, ufunc: np.ufunc, operand: Any, in_place: bool = False) -> Any:
        """What is returned where an operand is not taken, so that its own method is asked."""
        return NotImplemented

    def operate(self, ufunc: np.ufunc, operands: tuple) -> Any:
        raise NotImplementedError

    def operate_in_place(self, ufunc: np.ufunc, operand: Any) -> Any:
        raise NotImplementedError

    __add__, __radd__, __iadd__ = _binary(np.add)
    __sub__, __rsub__, __isub__ = _binary(np.subtract)
    __mul__, __rmul__, __imul__ = _binary(np.multiply)
    __truediv__, __rtruediv__, __itruediv__ = _binary(np.true_divide)
    __floordiv__, __rfloordiv__, __ifloordiv__ = _binary(np.floor_divide)
    __mod__, __rmod__, __imod__ = _binary(np.remainder)
    __divmod__, __rdivmod__, _ = _binary(np.divmod)
    __pow__, __rpow__, __ipow__ = _binary(np.power)
    __matmul__, __rmatmul__, __imatmul__ = _binary(np.matmul)
    __and__, __rand__, __iand__ = _binary(np.bitwise_and)
    __or__, __ror__, __ior__ = _binary(np.bitwise_or)
    __xor__, __rxor__, __ixor__ = _binary(np.bitwise_xor)
    __lshift__, __rlshift__, __ilshift__ = _binary(np.left_shift)
    __rshift__, __rrshift__, __irshift__ = _binary(np.right_shift)
    __eq__, *_ = _binary(np.equal)  # type: ignore[assignment]
    __ne__, *_ = _binary(np.not_equal)  # type: ignore[assignment]
    __lt__, *_ = _binary(np.less)
    __le__, *_ = _binary(np.less_equal)
    __gt__, *_ = _binary(np.greater)
    __ge__, *_ = _binary(np.greater_equal)
    __neg__ = _unary(np.negative)
    __pos__ = _unary(np.positive)
    __abs__ = _unary(np.absolute)
    __invert__ = _unary(np.invert)
    del _


# As Python's own numbers have them, and in place.
_PYTHON: dict[np.ufunc, tuple[Callable, Callable]] = {
    np.add: (operator.add, operator.iadd), np.subtract: (operator.sub, operator.isub),
    np.multiply: (operator.mul, operator.imul), np.true_divide: (operator.truediv, operator.itruediv),
    np.floor_divide: (operator.floordiv, operator.ifloordiv), np.remainder: (operator.mod, operator.imod),
    np.divmod: (divmod, divmod), np.power: (operator.pow, operator.ipow), np.matmul: (operator.matmul, operator.imatmul),
    np.bitwise_and: (operator.and_, operator.iand), np.bitwise_or: (operator.or_, operator.ior),
    np.bitwise_xor: (operator.xor, operator.ixor), np.left_shift: (operator.lshift, operator.ilshift),
    np.right_shift: (operator.rshift, operator.irshift), np.less: (operator.lt, operator.lt),
    np.less_equal: (operator.le, operator.le), np.greater: (operator.gt, operator.gt),
    np.greater_equal: (operator.ge, operator.ge),
}  # fmt: skip
_BUILTIN = (list, tuple, range, dict, set, str, bytes, type(None))


def refused(ufunc: np.ufunc, types: Sequence[type], in_place: bool = False) -> Any:
    """Raises what Python does where a number of one of the types meets the other one; NotImplemented where it does not."""
    kinds = [next((one for one in _BUILTIN if issubclass(kind, one)), kind) for kind in types]
    if ufunc not in _PYTHON or any(kind not in _BUILTIN and kind not in (bool, int, float, complex) for kind in kinds):
        return NotImplemented
    made = [range(0) if kind is range else kind() for kind in kinds]
    try:
        _PYTHON[ufunc][in_place](*made)
    except TypeError as error:
        message = str(error)
    else:
        return NotImplemented
    raise TypeError(message)


def simple_power(base: Any, exponent: Any) -> tuple[np.ufunc, tuple] | None:
    """The ufunc that ndarray's ``**`` uses in place of power, for a few exponents."""
    if not isinstance(base, Operators) or type(exponent) not in (int, float):
        return None
    kind = base.element_type.kind
    if exponent == 2 and (kind in ("float", "complex") or (type(exponent) is int and kind != "pred")):
        return np.square, (base,)
    ufunc = {0.5: np.sqrt, 1: np.positive, -1: np.reciprocal}.get(exponent)
    return (ufunc, (base,)) if ufunc is not None and kind in ("float", "complex") else None
