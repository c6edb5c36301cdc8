"""``x[mask]``: the elements that a boolean mask selects.

A selection stands for the whole array together with the mask for as long as that is enough, as it is for what masks are mostly
read for: arithmetic (``x[mask] *= 2``, ``x[mask] = y[mask] + 1``) and reductions (``x[mask].mean()``). Arithmetic is done on
all elements; writing back and reductions take the selected ones alone. What needs the selected elements as an array of their
own has them moved together.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ... import hlo
from ..recording import promotion
from ..recording.aliases import link
from ..recording.array import TracedArray, require_trace
from ..recording.current_trace import current_trace
from ..recording.dynamic_array import DynamicArray, same_value
from ..recording.function_tables import ufunc_kernel
from ..recording.operands import as_traced, class_of, has_traced, normalize_axes, shape_of
from ..recording.trace import Storage, Trace
from .compression import compressed

# Of more elements than this the selected ones are moved together before functions are applied that cost more than a move.
_FEW = 4096
_COSTLY = frozenset({
    np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan,
    np.arctan2, np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh, np.power, np.float_power, np.cbrt, np.hypot,
    np.logaddexp, np.logaddexp2, np.sqrt,
})  # fmt: skip


class MaskedSelection(DynamicArray):
    """The elements of an array (of shape mask.shape + rest) that the mask selects, of shape (unknown, *rest).

    ``whole`` and ``mask`` are arrays of its own; ``whole`` is None once the elements have been moved together and changed.

    >>> from phlox import jit
    >>> @jit(backend="reference")
    ... def clip_below(x):
    ...     x[x < 0] *= -10
    ...     return x[x > 15].sum(), x[x > 2]
    >>> x = np.array([-1.0, 2.0, -3.0])
    >>> clip_below(x), x
    ((np.float64(30.0), array([10., 30.])), array([10.,  2., 30.]))
    """

    __slots__ = ("whole", "mask", "has_other_order", "_trace", "_stored", "_elsewhere")

    def __init__(self, whole: TracedArray, mask: TracedArray) -> None:
        bounds = (mask.size, *whole.shape[mask.ndim :])
        super().__init__(None, hlo.Shape(whole.element_type, bounds, dynamic_dimensions=(True,) + (False,) * (len(bounds) - 1)))
        self.whole: TracedArray | None = whole
        self.has_other_order = whole.has_other_order
        self.mask, self._trace = mask, current_trace()
        self._stored: Storage | None = None
        self._elsewhere: Storage | None = None  # stands for it in loops and branches, where it is another storage each time

    @property
    def rest(self) -> tuple[int, ...]:
        """The sizes of the dimensions that the mask leaves alone."""
        return self.bounds.dimensions[1:]

    @property
    def storage(self) -> Storage:  # type: ignore[override]
        """The selected elements, moved together when this is asked for first."""
        if self._stored is not None:
            return self._stored
        trace = require_trace(self.mask)
        storage = Storage(trace, compressed(trace, self.whole, self.mask).recorded(trace), "x[mask]")
        if trace is self._trace:  # what is computed in a loop or branch is known there only
            self._stored = storage
        elif self._elsewhere is None:
            self._elsewhere = Storage(self._trace, None)
        if self._elsewhere is not None:
            link(storage, (self._elsewhere,))
        return storage

    @storage.setter
    def storage(self, storage: Storage | None) -> None:
        self._stored = storage

    def store(self, trace: Trace, value: hlo.Instruction) -> None:
        if self._stored is None and trace is not self._trace:
            raise NotImplementedError("changing elements of x[mask] in a loop or branch is not implemented: copy it before")
        super().store(trace, value)
        self.whole = None

    def is_that_of(self, mask: TracedArray) -> bool:
        """Whether it is still all of what this mask selects, element by element."""
        trace = require_trace(self.mask)
        if self.whole is None or self.mask.shape != mask.shape:
            return False
        return same_value(self.mask.instruction(trace), mask.instruction(trace))

    def __repr__(self) -> str:
        return f"MaskedSelection({self.dtype}[{','.join(map(str, ('?', *self.rest)))}])"

    # --- arithmetic ---

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **arguments: Any) -> Any:
        if method == "reduce" and inputs[0] is self and ufunc_kernel(ufunc).identity is not None and not arguments.get("out"):
            found = self._reduced(ufunc.reduce, *inputs[1:], **{"axis": 0, **arguments} if len(inputs) == 1 else arguments)
            if found is not None:
                return found
        elif method == "__call__" and ufunc.signature is None and arguments.get("where", True) is True:
            found = self._mapped(ufunc, inputs, arguments)
            if found is not None:
                return found
        return super().__array_ufunc__(ufunc, method, *inputs, **arguments)

    def _mapped(self, ufunc: np.ufunc, inputs: tuple, arguments: dict[str, Any]) -> Any:
        """The ufunc of the whole arrays, where all operands are selected by one mask; None where they are not."""
        outs = arguments.get("out") or ()
        if len(inputs) != ufunc.nin or not all(one is None or self._can_change(one) for one in outs):
            return None
        if ufunc in _COSTLY and not outs and self.mask.size > _FEW:
            return None
        wholes = []
        for one in inputs:
            whole = self._operand(one)
            if whole is None:
                return None
            wholes.append(whole)
        arguments = {name: value for name, value in arguments.items() if name != "out"}
        if ufunc is np.power and isinstance(wholes[1], TracedArray) and wholes[1].dtype.kind == "i":
            wholes[1] = np.where(self._spread(), wholes[1], 0)  # negative exponents that are not selected are no error
        if outs:  # raises as NumPy does where the result cannot be stored
            promotion.resolve(ufunc, tuple(class_of(one) for one in wholes), tuple(one.dtype for one in outs))
        results = ufunc(*wholes, **arguments)
        selections = []
        for position, one in enumerate(results if isinstance(results, tuple) else (results,)):
            if outs:
                selections.append(outs[position]._rebind(one))
            else:
                selections.append(MaskedSelection(np.broadcast_to(one, self._shape_of_whole), self.mask))
        return selections[0] if len(selections) == 1 else tuple(selections)

    @property
    def _shape_of_whole(self) -> tuple[int, ...]:
        return (*self.mask.shape, *self.rest)

    def _can_change(self, out: Any) -> bool:
        """Whether a result may be stored by changing the whole array behind ``out``."""
        return (
            isinstance(out, MaskedSelection) and out._stored is None and out._trace is current_trace() and out.rest == self.rest
            and self._operand(out) is not None and out._elsewhere is None
        )  # fmt: skip

    def _rebind(self, value: Any) -> MaskedSelection:
        """In place: x[mask] is a copy in NumPy, so that only this selection changes."""
        self.whole = np.broadcast_to(value, self._shape_of_whole).astype(self.dtype)
        return self

    def _operand(self, value: Any) -> Any:
        """What stands for an operand in arithmetic of whole arrays; None where nothing does."""
        if self.whole is None:
            return None
        if isinstance(value, MaskedSelection):
            return value.whole if value.rest == self.rest and value.is_that_of(self.mask) else None
        if isinstance(value, DynamicArray) or isinstance(value, (list, tuple)) and not has_traced(value):
            return None
        array = as_traced(value) if isinstance(value, (list, tuple)) else value
        shape = shape_of(array)
        if len(shape) > len(self.rest) + 1 or len(shape) > len(self.rest) and shape[0] != 1:
            return None
        if any(size not in (1, wanted) for size, wanted in zip(reversed(shape), reversed(self.rest))):
            return None
        if len(shape) == len(self.rest) + 1:
            # The dimension of the selected elements, of size 1: those of the mask, each of size 1.
            return as_traced(array).reshape((1,) * self.mask.ndim + shape[1:])
        return array

    # --- reductions ---

    def _spread(self) -> TracedArray:
        return self.mask.reshape(self.mask.shape + (1,) * len(self.rest))

    def _reduced(self, function: Callable, axis: Any = None, **arguments: Any) -> TracedArray | None:
        """The reduction of the whole array where the mask holds; None where it cannot be that."""
        arguments = {name: value for name, value in arguments.items() if value is not np._NoValue}
        where = arguments.pop("where", True) is True
        if self.whole is None or arguments.pop("keepdims", False) or not where or arguments.get("out") is not None:
            return None
        axes = normalize_axes(axis, self.ndim)
        if 0 not in axes:
            return None
        whole_axes = (*range(self.mask.ndim), *(one + self.mask.ndim - 1 for one in axes if one))
        ufunc = _EXTREMA.get(function, getattr(function, "__self__", None))
        if ufunc is not None and ufunc.identity is None and arguments.get("initial") is None:
            trace = require_trace(self.mask)
            if prod(self.rest[one - 1] for one in axes if one) == 0 or prod(self.rest) == 0:
                return None
            message = f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
            trace.add_error_flag((~np.any(self.mask)).instruction(trace), ValueError, message)
            arguments["initial"] = ufunc_kernel(ufunc).identity(self.dtype)
        mask = np.broadcast_to(self._spread(), self._shape_of_whole)
        return function(self.whole, axis=whole_axes, where=mask, **arguments)

    # --- functions and methods ---

    def implementation_of(self, method: Callable, function: Callable) -> Callable | None:
        otherwise = super().implementation_of(method, function)
        if method is np.ndarray.astype:
            return _astype
        return self._reduction_or(function, otherwise) if function in _REDUCTIONS else otherwise

    def _reduction_or(self, function: Callable, otherwise: Callable) -> Callable:
        def call(array: Any, *given: Any, **arguments: Any) -> Any:
            found = None
            if array is self and len(given) <= 1:
                found = self._reduced(function, *given, **arguments)
            return otherwise(array, *given, **arguments) if found is None else found

        return call

    def __array_function__(self, function: Callable, types: Any, arguments: tuple, keywords: dict) -> Any:
        if function in _REDUCTIONS and arguments and arguments[0] is self:
            return self.implementation_of(function, function)(*arguments, **keywords)
        return super().__array_function__(function, types, arguments, keywords)


def _astype(
    array: MaskedSelection, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
):
    target = hlo.as_dtype(dtype)
    if array.whole is None or target.kind == "U" or not copy and target == array.dtype:
        return DynamicArray.implementation_of(array, np.ndarray.astype, np.ndarray.astype)(
            array, dtype, order, casting, subok, copy
        )
    return MaskedSelection(array.whole.astype(dtype, casting=casting), array.mask)


_EXTREMA: dict[Callable, np.ufunc] = {
    np.max: np.maximum,
    np.min: np.minimum,
    np.maximum.reduce: np.maximum,
    np.minimum.reduce: np.minimum,
}
_REDUCTIONS = {np.sum, np.prod, np.mean, np.std, np.var, np.any, np.all, np.max, np.min}
