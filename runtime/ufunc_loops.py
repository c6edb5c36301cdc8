"""Ufuncs of libraries in memory: the loops that they run, which native code calls by name (`phlox.hlo.ops.ufunc_calls`).

A loop is ``void loop(char **arrays, npy_intp *sizes, npy_intp *strides, void *data)``, for arrays with any strides; NumPy runs
it without the interpreter's lock, unless it is of objects. Where loops are found stands in ``numpy/ufuncobject.h``; `memory_of`
compares it with what the ufunc says of itself, and `loops_can_be_called` runs one that is known.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..hlo.ops.ufunc_calls import PREFIX, UfuncCall, ufunc_call_of
from ..hlo.shape import AnyShape
from .custom_calls import NativeTarget, PythonTarget, Target, register_family

# Behind the target of a call: the loop's function, and where the address of its data stands, which may be null.
FUNCTION, DATA = ".function", ".data"
# What a program that is loaded imports; others are to be there.
_IMPORTED = frozenset({"scipy"})

_LOOP = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_NO_DATA = ctypes.c_void_p(None)


class UfuncMemory(ctypes.Structure):
    """The beginning of a PyUFuncObject, behind what every object has."""

    _fields_ = (
        ("nin", ctypes.c_int), ("nout", ctypes.c_int), ("nargs", ctypes.c_int), ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)), ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int), ("reserved", ctypes.c_int), ("name", ctypes.c_char_p),
        ("types", ctypes.POINTER(ctypes.c_byte)),
    )  # fmt: skip


def memory_of(ufunc: np.ufunc) -> UfuncMemory | None:
    """The ufunc's structure, None where it is not as it is taken to be.

    >>> memory_of(np.hypot).nin
    2
    """
    memory = UfuncMemory.from_address(id(ufunc) + object.__basicsize__)
    known = ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes
    if (memory.nin, memory.nout, memory.nargs, memory.ntypes) != known or memory.name != ufunc.__name__.encode():
        return None
    numbers = [np.dtype(letter).num for types in ufunc.types for letter in types.replace("->", "")]
    return memory if memory.types[: len(numbers)] == numbers else None


@cache
def loops_can_be_called() -> bool:
    """Whether the loop that is found for ``np.hypot`` of float64 does what it does."""
    memory, types = memory_of(np.hypot), "dd->d"
    if sys.implementation.name != "cpython" or memory is None or types not in np.hypot.types:
        return False
    number = np.hypot.types.index(types)
    x, y, found = np.array([3.0, 5.0, 8.0]), np.array([4.0, 12.0, 15.0]), np.zeros(3)
    arrays = (ctypes.c_void_p * 3)(*[one.ctypes.data for one in (x, y, found)])
    size, strides = ctypes.c_ssize_t(3), (ctypes.c_ssize_t * 3)(8, 8, 8)
    _LOOP(memory.functions[number])(arrays, ctypes.byref(size), strides, memory.data[number] if memory.data else None)
    return found.tolist() == [5.0, 13.0, 17.0]


def _ufunc_of(call: UfuncCall) -> np.ufunc:
    """Raises NotImplementedError where this process has no such loop."""
    module = sys.modules.get(call.module)
    if module is None and call.module.partition(".")[0] in _IMPORTED:
        module = importlib.import_module(call.module)
    found = getattr(module, call.ufunc, None)
    if isinstance(found, np.ufunc) and call.types in found.types:
        return found
    missing = f"the module {call.module} is not imported" if module is None else f"{call.module} has no such loop"
    raise NotImplementedError(f"custom-call to {call.target!r}: {missing}")


class _UfuncTarget(PythonTarget):
    """The ufunc, called with the types of a loop."""

    def prepared(self, operand_shapes: Sequence[AnyShape], shape: AnyShape, config: str) -> Callable[[tuple[Any, ...]], Any]:
        types = self.name.rpartition(".")[2]
        dimensions = (shape.elements[0] if shape.is_tuple else shape).dimensions

        def call(operands: tuple[Any, ...]) -> Any:
            first, *rest = operands
            with np.errstate(all="ignore"):
                return self.function(np.broadcast_to(first, dimensions), *rest, signature=types)

        return call


def _find(name: str) -> Target | None:
    part = next((one for one in (FUNCTION, DATA) if name.endswith(one)), "")
    call = ufunc_call_of(name.removesuffix(part))
    if call is None:
        return None
    ufunc = _ufunc_of(call)
    if not part:
        return _UfuncTarget(name, ufunc)
    memory = memory_of(ufunc) if loops_can_be_called() else None
    number = ufunc.types.index(call.types)
    function = memory.functions[number] if memory is not None else None
    if memory is None or function is None:
        raise NotImplementedError(f"custom-call to {call.target!r}: where this build of NumPy keeps loops is not known")
    if part == FUNCTION:
        return NativeTarget(name, function, ufunc)
    if not memory.data:
        return NativeTarget(name, ctypes.addressof(_NO_DATA))
    return NativeTarget(name, ctypes.addressof(memory.data.contents) + number * ctypes.sizeof(ctypes.c_void_p), ufunc)


register_family(PREFIX, _find)
