"""NumPy's linear algebra in memory: the loops of the generalized ufuncs that ``numpy.linalg`` is written in terms of.

They take any strides, and a stack of matrices at once: ``void loop(char **arrays, npy_intp *sizes, npy_intp *strides, void *)``
with as many matrices as the first size says, and then the sizes of the letters of the ufunc's signature, in their order. The
strides, in bytes, are those from one matrix to the next for each array, then those within each. A loop that finds an error
fills its results with NaN, and leaves the processor's flag for invalid operations set, and else as it was.

Where loops are found is not known (`phlox.runtime.ufunc_loops`), or the number of the flag is not, `loop_of` has none, and
programs call ``numpy.linalg`` in Python.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.linalg import _umath_linalg

from .custom_calls import NativeTarget, register_family
from .ufunc_loops import loops_can_be_called, memory_of

# The prefix of the names under which programs call loops (``<ufunc>.<types>``), and functions of the C library for the flag.
LOOPS = "numpy.linalg.c."
CLEAR_FLAG, TEST_FLAG = (f"{LOOPS}{name}" for name in ("feclearexcept", "fetestexcept"))
INVALID = 1  # FE_INVALID of the C libraries of these processors
_PROCESSORS = frozenset({"x86_64", "amd64", "aarch64", "arm64"})


class Loop(NamedTuple):
    """The name to call it by, and for each operand and result the letters of its sizes and its dtype."""

    name: str
    parts: tuple[tuple[str, ...], ...]
    dtypes: tuple[np.dtype, ...]


def loop_of(ufunc: str, first: np.dtype) -> Loop | None:
    """The loop of a ufunc of ``numpy.linalg`` for operands of this type, None where there is none.

    >>> loop_of("no such function", np.dtype(float)) is None
    True
    """
    found = _ufunc(ufunc)
    for types in () if found is None else found.types:
        if types[0] == first.char:
            parts = re.findall(r"\(([^)]*)\)", found.signature)
            letters = tuple([tuple(part.replace(" ", "").split(",")) if part else () for part in parts])
            return Loop(f"{LOOPS}{ufunc}.{types}", letters, tuple(map(np.dtype, types.replace("->", ""))))
    return None


@cache
def _ufunc(name: str) -> np.ufunc | None:
    found = getattr(_umath_linalg, name, None)
    is_known = isinstance(found, np.ufunc) and None not in map(_of_library, (CLEAR_FLAG, TEST_FLAG))
    return found if is_known and loops_can_be_called() and memory_of(found) is not None else None


@cache
def _of_library(name: str) -> int | None:
    """The address of a function of the C library."""
    if os.name != "posix" or platform.machine().lower() not in _PROCESSORS:
        return None
    function = getattr(ctypes.CDLL(None), name.removeprefix(LOOPS), None)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


def _find(name: str) -> NativeTarget:
    if name in (CLEAR_FLAG, TEST_FLAG):
        address = _of_library(name)
    else:
        ufunc, _, types = name.removeprefix(LOOPS).partition(".")
        found = _ufunc(ufunc)
        known = found is not None and types in found.types
        address = memory_of(found).functions[found.types.index(types)] if known else None
    if address is None:
        raise NotImplementedError(f"{name!r}, which a program calls, is not found in this process")
    return NativeTarget(name, address)


register_family(LOOPS, _find)
