"""``x.flat`` and ``x.flags``: objects that an array hands out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...hlo.shape import row_major_strides
from ..recording.array import TracedArray
from ..recording.function_tables import ATTRIBUTES, FUNCTIONS, filling
from ..recording.operands import as_traced, prepare

_attribute = filling(ATTRIBUTES)


class Flat:
    """As `numpy.flatiter`: the elements in row-major order, to be read and written."""

    def __init__(self, base: TracedArray) -> None:
        self.base = base

    def elements(self) -> TracedArray:
        """A view of one dimension, where there is one; else a copy."""
        return self.base.reshape(-1)

    def as_array(self) -> TracedArray:
        """What conversions to an array give, as copies too: the elements, and where these are a copy it cannot be written."""
        found = self.elements()
        if found.root_storage is self.base.root_storage:
            return found
        return TracedArray.view_of(found, found.shape, lambda trace, base: base, None)

    def copy(self) -> TracedArray:
        return self.elements().copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.elements().__array__(dtype)

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Any]:
        return iter(self.elements())

    def __getitem__(self, index: Any) -> Any:
        found = self.elements()[index]
        return found.copy() if isinstance(found, TracedArray) and found.ndim else found

    def __setitem__(self, index: Any, value: Any) -> None:
        elements, value = self.elements(), prepare(value)
        if np.ndim(value):
            value, wanted = as_traced(value), elements[index]
            if not (value.is_dynamic or wanted.is_dynamic):  # repeated as often as it is needed
                value = FUNCTIONS[np.resize](value, wanted.shape)
        elements[index] = value
        if elements.root_storage is not self.base.root_storage:
            self.base[...] = elements.reshape(self.base.shape)


def owner_of(array: TracedArray) -> TracedArray | None:
    """As ``ndarray.base``: what owns the memory of a view; None for what is none.

    Raises NotImplementedError for an array of the caller's, and views of it: whether that is a view differs from call to call.
    """
    root = array.root
    if root.is_scalar:
        return None
    if _is_of_the_caller(root):
        raise NotImplementedError(
            f"whether {root.storage.origin} owns its memory (.base, .flags.owndata) is not known while the function is traced"
        )
    return None if root is array else root


def _is_of_the_caller(array: TracedArray) -> bool:
    return array.storage is not None and array.storage.is_from_outside


class Flags:
    """As `numpy.ndarray.flags`; they cannot be set."""

    _KEYS = {
        "C": "c_contiguous", "CONTIGUOUS": "c_contiguous", "F": "f_contiguous", "FORTRAN": "f_contiguous", "O": "owndata",
        "W": "writeable", "A": "aligned", "X": "writebackifcopy", "B": "behaved", "CA": "carray", "FA": "farray",
        **{
            name: name.lower() for name in (
                "C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED", "WRITEBACKIFCOPY", "BEHAVED", "CARRAY",
                "FARRAY", "FNC", "FORC",
            )
        },
    }  # fmt: skip
    _BITS = {"c_contiguous": 1, "f_contiguous": 2, "owndata": 4, "aligned": 0x100, "writeable": 0x400}

    def __init__(self, array: TracedArray) -> None:
        is_writeable = array.is_writeable
        self.__dict__.update(writeable=is_writeable, behaved=is_writeable, aligned=True, writebackifcopy=False)
        self.__dict__["_array"] = array
        if not array.is_dynamic:
            self._know_order(array.shape, array.element_strides)
        elif array.ndim == 1 and array.base is None:
            self._know_order((0,), (1,))

    def _know_order(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        steps = [(one, step) for one, step in zip(range(len(shape)), strides) if shape[one] > 1]
        none = 0 in shape
        for name, wanted in (
            ("c_contiguous", row_major_strides(shape)),
            ("f_contiguous", row_major_strides(shape[::-1])[::-1]),
        ):
            self.__dict__[name] = none or all(step == wanted[one] for one, step in steps)
        rows, columns, is_writeable = self.c_contiguous, self.f_contiguous, self.writeable
        self.__dict__.update(contiguous=rows, fortran=columns, forc=rows or columns, fnc=columns and not rows)
        self.__dict__.update(carray=is_writeable and rows, farray=is_writeable and columns and not rows)

    def __getattr__(self, name: str) -> bool:
        if name not in self._KEYS.values() and name not in ("contiguous", "fortran"):
            raise AttributeError(f"'numpy._core.multiarray.flagsobj' object has no attribute {name!r}")
        raise NotImplementedError(f"the flag {name} of an array whose sizes are known at run time only is not implemented")

    @property
    def owndata(self) -> bool:
        return self._array.base is None and owner_of(self._array) is None

    @property
    def num(self) -> int:
        return sum(bit for name, bit in self._BITS.items() if getattr(self, name))

    def __getitem__(self, name: str) -> bool:
        if name not in self._KEYS:
            raise KeyError("Unknown flag")
        return getattr(self, self._KEYS[name])

    def __setattr__(self, name: str, value: Any) -> None:
        raise NotImplementedError(f"the flag {name} of a traced array is set, which is not implemented")

    def __setitem__(self, name: str, value: Any) -> None:
        self.__setattr__(name, value)


@_attribute("flags")
def _(array: TracedArray) -> Flags:
    return Flags(array)


@_attribute("device")
def _(array: TracedArray) -> str:
    return "cpu"


@_attribute("flat")
def _(array: TracedArray) -> Flat:
    return Flat(array)
