"""``x[mask]``: the elements that a boolean mask selects.

How many these are is not known while tracing, so the selection is no array. It stands for the whole array together with
the mask, which is enough for what masks are mostly read for: arithmetic (``x[mask] *= 2``, ``x[mask] = y[mask] + 1``)
and reductions (``x[mask].mean()``). Arithmetic is done on all elements; writing back and reductions take the selected
ones alone. What needs the selected elements as an array of their own raises NotImplementedError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import hlo
from ..recording import promotion
from ..recording.array import TracedArray, require_trace
from ..recording.errors import ConcretizationError
from ..recording.function_tables import ufunc_kernel
from ..recording.operands import as_traced, class_of, has_traced, normalize_axes, shape_of
from ..recording.operators import Operators

_HINT = "the number of selected elements is not known while tracing; np.where(mask, ..., ...) keeps the shape"


def same_value(first: hlo.Instruction, second: hlo.Instruction, depth: int = 16) -> bool:
    """Whether two instructions compute the same by their structure, as far as a few levels show."""
    if first is second:
        return True
    if depth == 0 or first.operation is not second.operation or first.shape != second.shape or first.opcode == "parameter":
        return False
    if len(first.operands) != len(second.operands) or not _same_attributes(first.attributes, second.attributes):
        return False
    return all(same_value(one, other, depth - 1) for one, other in zip(first.operands, second.operands))


def _same_attributes(first: dict[str, Any], second: dict[str, Any]) -> bool:
    for name, value in first.items():
        other = second[name]
        if isinstance(value, np.ndarray):
            if value.dtype != other.dtype or value.shape != other.shape or value.tobytes() != other.tobytes():
                return False
        elif value is not other and value != other:
            return False
    return True


def _reduction(function: Callable) -> Callable:
    return lambda self, axis=None, **arguments: self.reduce(function, axis, **arguments)


class MaskedSelection(Operators):
    """The elements of an array (of shape mask.shape + rest) that the mask selects, of shape (unknown, *rest).

    >>> from phlox import jit
    >>> @jit(backend="reference")
    ... def clip_below(x):
    ...     x[x < 0] *= -10
    ...     return x[x > 15].sum()
    >>> x = np.array([-1.0, 2.0, -3.0])
    >>> clip_below(x), x
    (np.float64(30.0), array([10.,  2., 30.]))
    """

    __slots__ = ("whole", "mask")

    def __init__(self, whole: TracedArray, mask: TracedArray) -> None:
        self.whole, self.mask = whole, mask

    @property
    def dtype(self) -> np.dtype:
        return self.whole.dtype

    @property
    def rest(self) -> tuple[int, ...]:
        """The sizes of the dimensions that the mask leaves alone."""
        return self.whole.shape[self.mask.ndim :]

    @property
    def ndim(self) -> int:
        return 1 + len(self.rest)

    @property
    def size(self) -> TracedArray:
        """How many elements are selected, a traced integer."""
        return np.count_nonzero(self.mask) * int(np.prod(self.rest, dtype=np.int64))

    @property
    def shape(self) -> tuple:
        raise ConcretizationError(self.mask, "as an index, and the shape of the result is asked for", f"Note that {_HINT}.")

    def __len__(self) -> int:
        raise ConcretizationError(
            self.mask,
            "as an index, and the length of the result is asked for",
            "np.count_nonzero(mask) counts the selected elements.",
        )

    def __bool__(self) -> bool:
        raise ConcretizationError(self.mask, "as an index, and the result is used where Python needs a bool")

    def __iter__(self) -> Any:
        raise NotImplementedError(f"iteration over x[mask] is not implemented for traced arrays: {_HINT}")

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(f"indexing x[mask] is not implemented for traced arrays: {_HINT}")

    def __setitem__(self, index: Any, value: Any) -> None:
        raise NotImplementedError(f"assigning to a part of x[mask] is not implemented for traced arrays: {_HINT}")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise ConcretizationError(
            self.mask, "as an index, and the result is used where NumPy needs an ndarray", f"Note that {_HINT}."
        )

    def __repr__(self) -> str:
        return f"MaskedSelection({self.dtype}[{','.join(map(str, ('?', *self.rest)))}])"

    def _has_mask_of(self, other: MaskedSelection) -> bool:
        trace = require_trace(self.mask)
        return self.mask.shape == other.mask.shape and same_value(self.mask.instruction(trace), other.mask.instruction(trace))

    def values_for(self, mask: TracedArray) -> TracedArray:
        """The whole array behind the selection, for assignment to the same mask of another array."""
        if not self._has_mask_of(MaskedSelection(self.whole, mask)):
            raise NotImplementedError(
                f"assigning elements that one mask selects to those of another is not implemented for traced arrays: {_HINT}"
            )
        return self.whole

    # --- arithmetic ---

    def takes(self, operand: Any) -> bool:
        return True  # what it does not take raises an error that says so

    def operate(self, ufunc: np.ufunc, operands: tuple) -> Any:
        return self.__array_ufunc__(ufunc, "__call__", *operands)

    def operate_in_place(self, ufunc: np.ufunc, operand: Any) -> Any:
        return self.__array_ufunc__(ufunc, "__call__", self, operand, out=(self,))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **arguments: Any) -> Any:
        if method == "reduce" and not arguments.get("out"):
            return self.reduce(ufunc.reduce, *inputs[1:], **arguments)
        if method != "__call__" or ufunc.signature is not None:
            method = "" if method == "__call__" else f".{method}"
            raise NotImplementedError(f"np.{ufunc.__name__}{method} of x[mask] is not implemented for traced arrays: {_HINT}")
        out = arguments.pop("out", None)
        if arguments.get("where", True) is not True:
            raise NotImplementedError(f"where= with x[mask] is not implemented for traced arrays: {_HINT}")
        wholes = [self._operand(one) for one in inputs]
        if ufunc is np.power and isinstance(wholes[1], TracedArray) and wholes[1].dtype.kind == "i":
            wholes[1] = np.where(self._spread(), wholes[1], 0)  # negative exponents that are not selected are no error
        if out is not None:  # raises as NumPy does where the result cannot be stored
            promotion.resolve(ufunc, tuple(class_of(one) for one in wholes), tuple(one.dtype for one in out))
        results = ufunc(*wholes, **arguments)
        results = results if isinstance(results, tuple) else (results,)
        shape = self.whole.shape
        selections = []
        for position, one in enumerate(results):
            selection = MaskedSelection(np.broadcast_to(one, shape), self.mask)
            if out is not None:
                selection = out[position]._rebind(selection)
            selections.append(selection)
        return selections[0] if len(selections) == 1 else tuple(selections)

    def _rebind(self, other: MaskedSelection) -> MaskedSelection:
        """In place: x[mask] is a copy in NumPy, so that only this selection changes."""
        self.whole = other.whole.astype(self.dtype)
        return self

    def _operand(self, value: Any) -> Any:
        if isinstance(value, MaskedSelection):
            if value is not self and (value.rest != self.rest or not self._has_mask_of(value)):
                raise NotImplementedError(
                    f"arithmetic between elements that different masks select is not implemented for traced arrays: {_HINT}"
                )
            return value.whole
        array = as_traced(value) if isinstance(value, (list, tuple)) or has_traced(value) else value
        shape = shape_of(array)
        if len(shape) > len(self.rest) and shape[len(shape) - len(self.rest) - 1] != 1:
            raise NotImplementedError(
                f"arithmetic of x[mask] with an array of shape {shape} is not implemented for traced arrays: {_HINT}"
            )
        if len(shape) > len(self.rest) + 1:
            raise NotImplementedError(f"broadcasting x[mask] to more dimensions is not implemented for traced arrays: {_HINT}")
        if len(shape) == len(self.rest) + 1:
            # The dimension of the selected elements, of size 1: those of the mask, each of size 1.
            return as_traced(array).reshape((1,) * self.mask.ndim + shape[1:])
        return array

    # --- reductions ---

    def _spread(self) -> TracedArray:
        return self.mask.reshape(self.mask.shape + (1,) * len(self.rest))

    def _axes(self, axis: Any) -> Any:
        """Axes of the selection as axes of the whole array; those of the mask belong together."""
        masked = tuple(range(self.mask.ndim))
        found: list[int] = []
        for one in normalize_axes(axis, self.ndim):
            found.extend(masked if one == 0 else (one + self.mask.ndim - 1,))
        if 0 not in normalize_axes(axis, self.ndim):
            raise NotImplementedError(
                f"reducing x[mask] along other dimensions alone is not implemented for traced arrays: {_HINT}"
            )
        return tuple(found)

    def reduce(self, function: Callable, axis: Any = 0, **arguments: Any) -> TracedArray:
        if arguments.get("keepdims"):
            raise NotImplementedError(f"keepdims=True with x[mask] is not implemented for traced arrays: {_HINT}")
        arguments.pop("keepdims", None)
        if arguments.pop("where", True) is not True:
            raise NotImplementedError(f"where= with x[mask] is not implemented for traced arrays: {_HINT}")
        arguments = {name: value for name, value in arguments.items() if value is not np._NoValue}
        return function(self.whole, axis=self._axes(axis), where=np.broadcast_to(self._spread(), self.whole.shape), **arguments)

    def _extremum(self, function: Callable, axis: Any, ufunc: np.ufunc, arguments: dict[str, Any]) -> TracedArray:
        if arguments.get("initial", np._NoValue) is np._NoValue:
            trace = require_trace(self.mask)
            nothing = ~np.any(self.mask)
            message = f"zero-size array to reduction operation {function.__name__} which has no identity"
            trace.add_error_flag(nothing.instruction(trace), ValueError, message)
            arguments = {**arguments, "initial": ufunc_kernel(ufunc).identity(self.dtype)}
        return self.reduce(function, axis, **arguments)

    def __array_function__(self, function: Callable, types: Any, arguments: tuple, keywords: dict) -> Any:
        method = _METHODS.get(function)
        if method is None or not arguments or not isinstance(arguments[0], MaskedSelection):
            raise NotImplementedError(f"np.{function.__name__} of x[mask] is not implemented for traced arrays: {_HINT}")
        return getattr(arguments[0], method)(*arguments[1:], **keywords)

    sum = _reduction(np.sum)
    prod = _reduction(np.prod)
    mean = _reduction(np.mean)
    std = _reduction(np.std)
    var = _reduction(np.var)
    any = _reduction(np.any)
    all = _reduction(np.all)

    def min(self, axis: Any = None, **arguments: Any) -> TracedArray:
        return self._extremum(np.min, axis, np.minimum, arguments)

    def max(self, axis: Any = None, **arguments: Any) -> TracedArray:
        return self._extremum(np.max, axis, np.maximum, arguments)

    def astype(self, dtype: Any, copy: bool = True) -> MaskedSelection:
        return MaskedSelection(self.whole.astype(dtype), self.mask)

    def copy(self, order: str = "C") -> MaskedSelection:
        return MaskedSelection(self.whole.copy(), self.mask)


_METHODS: dict[Callable, str] = {
    **{getattr(np, name): name for name in ("all", "any", "copy", "max", "mean", "min", "prod", "std", "sum", "var")},
    np.amax: "max",
    np.amin: "min",
}
