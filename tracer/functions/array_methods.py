"""ndarray's methods on traced arrays: those of NumPy's functions of the same name, and the few that differ from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import hlo
from ..indexing.basic import assigned_value
from ..recording import function_tables, promotion
from ..recording.array import TracedArray, require_trace
from ..recording.memory_order import laid_out
from ..recording.operands import convert

_SAME_AS_FUNCTION = (
    "sum", "prod", "mean", "std", "var", "min", "max", "all", "any", "argmax", "argmin", "cumsum", "cumprod", "dot",
    "round", "repeat", "take", "trace", "diagonal", "ravel", "squeeze", "swapaxes", "argsort", "argpartition", "searchsorted",
    "nonzero", "choose",
)  # fmt: skip


def _method(name: str) -> Callable:
    function = getattr(np, name)

    def method(self: TracedArray, *arguments: Any, **keywords: Any) -> Any:
        found = function_tables.FUNCTIONS.get(function) or function_tables.implementation(function)
        return found(self, *arguments, **keywords)

    method.__name__ = name
    method.__doc__ = f"As `numpy.{name}`."
    return method


for _name in _SAME_AS_FUNCTION:
    setattr(TracedArray, _name, _method(_name))


def _add(function: Callable) -> Callable:
    setattr(TracedArray, function.__name__, function)
    return function


@_add
def clip(self, min=None, max=None, out=None, **keywords):
    """As `numpy.clip`; either bound may be left out."""
    return function_tables.FUNCTIONS[np.clip](self, min, max, out, **keywords)


@_add
def reshape(self, *shape, order="C", copy=None):
    """As `ndarray.reshape`: the sizes as one argument or several."""
    sizes = shape[0] if len(shape) == 1 else shape
    return function_tables.FUNCTIONS[np.reshape](self, sizes, order=order, copy=copy)


@_add
def transpose(self, *axes):
    """As `ndarray.transpose`: the axes as one argument, several, or none."""
    order = None if not axes else axes[0] if len(axes) == 1 else axes
    return function_tables.FUNCTIONS[np.transpose](self, order)


@_add
def flatten(self, order="C"):
    """A copy in one dimension."""
    return function_tables.FUNCTIONS[np.copy](function_tables.FUNCTIONS[np.ravel](self, order))


@_add
def copy(self, order="C"):
    return function_tables.FUNCTIONS[np.copy](self, order)


@_add
def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
    """The array in another dtype; a copy unless ``copy`` is false and nothing changes. Raises TypeError as NumPy does."""
    target = promotion.native(dtype)
    promotion.require_cast(self.dtype, target, casting)
    if not copy and target == self.dtype:
        return self
    trace = require_trace(self)
    converted = convert(trace.builder, self.instruction(trace), hlo.element_type_of(target))
    return laid_out(TracedArray.from_instruction(trace, converted, is_scalar=self.is_scalar), (self,), order)


@_add
def conj(self):
    """The complex conjugate; a real array itself."""
    return np.conjugate(self) if self.element_type.is_complex else self


TracedArray.conjugate = conj  # type: ignore[attr-defined]


@_add
def fill(self, value):
    """Set all elements to a scalar."""
    if self.is_scalar:
        raise TypeError("a scalar cannot be filled in place")
    trace = require_trace(self)
    self._set_value(assigned_value(trace, value, self.shape, self.element_type))


@_add
def view(self, dtype=None, type=None):
    """The same memory read as another dtype; without one, another handle to the same array. The widths must be equal."""
    if dtype is None:
        return TracedArray.view_of(self, self.shape, lambda trace, base: base, lambda trace, base, value: value, self._strides)
    target = hlo.element_type_of(promotion.native(dtype))
    source = self.element_type
    if target is source:
        return self.view()
    if hlo.PRED in (source, target) or source.is_complex or target.is_complex or source.byte_size != target.byte_size:
        raise NotImplementedError(
            f"a view of {self.dtype} as {target.dtype} is not implemented for traced arrays: equal widths are required"
        )
    shape = hlo.Shape(target, self.shape)

    def read(trace, base):
        return trace.emit("bitcast-convert", base, shape=shape)

    def write(trace, base, value):
        return trace.emit("bitcast-convert", value, shape=hlo.Shape(source, shape.dimensions))

    return TracedArray.view_of(self, self.shape, read, write, self._strides, target)


@_add
def sort(self, axis=-1, kind=None, order=None, *, stable=None):
    """Sort in place."""
    self[...] = function_tables.implementation(np.sort)(self, axis, kind, order, stable=stable)


@_add
def partition(self, kth, axis=-1, kind="introselect", order=None):
    """Partition in place."""
    self[...] = function_tables.FUNCTIONS[np.partition](self, kth, axis, kind, order)


@_add
def compress(self, condition, axis=None, out=None):
    """As `numpy.compress`."""
    return function_tables.FUNCTIONS[np.compress](condition, self, axis, out)


@_add
def put(self, indices, values, mode="raise"):
    """As `numpy.put`."""
    function_tables.FUNCTIONS[np.put](self, indices, values, mode)


@_add
def resize(self, *shape, refcheck=True):
    raise NotImplementedError(
        "ndarray.resize is not implemented for traced arrays: shapes do not change; use np.pad or np.concatenate"
    )


@_add
def setflags(self, write=None, align=None, uic=None):
    raise NotImplementedError("ndarray.setflags is not implemented for traced arrays")


@_add
def byteswap(self, inplace=False):
    raise NotImplementedError("ndarray.byteswap is not implemented for traced arrays")


@_add
def to_device(self, device, /, *, stream=None):
    if device != "cpu":
        raise ValueError(f"Unsupported device: {device!r}")
    return self
