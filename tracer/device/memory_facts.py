"""What an array on a device tells of its memory: strides and flags; and what an ndarray has and it has not."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..recording.device_arrays import ArrayOnDevice, array_like


def _on_host(array: ArrayOnDevice) -> np.ndarray:
    """An ndarray that lies as the array does, whose elements nobody reads."""
    like = array_like(array.shape, array.dtype)
    if array.base is not None:
        like = like[...]  # it does not own its memory
    like.flags.writeable = array.is_writeable
    return like


def strides_of(array: ArrayOnDevice) -> tuple[int, ...]:
    return _on_host(array).strides


class Flags:
    """As `numpy.ndarray.flags`: ``writeable`` can be set."""

    __slots__ = ("_array",)
    _WRITEABLE = frozenset({"W", "WRITEABLE"})

    def __init__(self, array: ArrayOnDevice) -> None:
        object.__setattr__(self, "_array", array)

    def __getattr__(self, name: str) -> Any:
        if name == "_array":  # which a copy has not yet
            raise AttributeError(name)
        return getattr(_on_host(self._array).flags, name)

    def __getitem__(self, name: str) -> bool:
        return _on_host(self._array).flags[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "writeable":
            set_writeable(self._array, value)
        else:
            setattr(_on_host(self._array).flags, name, value)  # raises as NumPy's, or changes nothing there either

    def __setitem__(self, name: str, value: Any) -> None:
        if name in self._WRITEABLE:
            set_writeable(self._array, value)
        else:
            _on_host(self._array).flags[name] = value

    def __eq__(self, other: object) -> bool:
        return repr(self) == repr(other)

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'numpy.flagsobj'")

    def __repr__(self) -> str:
        return repr(_on_host(self._array).flags)


def set_writeable(array: ArrayOnDevice, value: Any) -> None:
    """Say whether the array can be changed. Raises ValueError where what it is a view of cannot be."""
    if value and (array.is_scalar or array.base is not None and not array.base.is_writeable):
        raise ValueError("cannot set WRITEABLE flag to True of this array")
    array.is_writeable = bool(value)


# What an ndarray has, or CuPy's, and an array on a device has not, and what stands for it.
INSTEAD = {
    "ctypes": "the host does not reach its memory; np.asarray(x).ctypes is that of a copy",
    "data": "the host does not reach its memory; np.asarray(x) copies the contents, and __dlpack__() and, on CUDA's devices, "
    "__cuda_array_interface__ share the memory",
    "get": "np.asarray(x) copies the contents to the host",
    "getfield": "x.view(dtype) sees the elements as others",
    "resize": "its size does not change; np.resize(x, shape) makes another array",
    "setfield": "x.view(dtype)[...] = value sets parts of the elements",
}  # fmt: skip

# What can be set of an ndarray, and not of an array on a device, and what makes an array with another one.
FIXED = {
    "dtype": "x.view(dtype) is a view of the elements as others",
    "shape": "x.reshape(shape) is a view with another one",
    "strides": "the elements lie row-major",
}


def fixed(name: str, of_class: property) -> property:
    """The attribute, which can be read alone: what is raised where it is set says what there is instead."""

    def refuse(array: ArrayOnDevice, value: Any) -> None:
        kind = type(array).__name__
        raise AttributeError(f"{name!r} of a {kind!r} object cannot be set: {FIXED[name]}", name=name, obj=array)

    return property(of_class.fget, refuse, doc=of_class.__doc__)


def missing(name: str) -> property:
    """An attribute that there is not, as `hasattr` says, too: what is raised says what there is instead."""

    def get(array: ArrayOnDevice) -> Any:
        kind = type(array).__name__
        raise AttributeError(f"{kind!r} object has no attribute {name!r}: {INSTEAD[name]}", name=name, obj=array)

    return property(get)
