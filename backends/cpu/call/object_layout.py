"""Offsets of the CPython and NumPy structs that the compiled entry reads, and the self-test that verifies them.

The numbers are those of the public headers: ``object.h``, ``floatobject.h``, ``complexobject.h``, ``tupleobject.h`` of
CPython (a 64-bit build with the global interpreter lock), and ``ndarraytypes.h``, ``arrayscalars.h``,
``__multiarray_api.h`` of NumPy 2. NumPy's ABI policy (NEP 53 and the header's own comments) appends to these structs and
to the function table, it does not reorder them; `unsupported_reason` still checks every number against live objects
before any emitted code relies on it.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import sysconfig
import types

import numpy as np

# struct _object { Py_ssize_t ob_refcnt; PyTypeObject *ob_type; }
OBJECT_TYPE = 8
# PyTypeObject { PyObject_VAR_HEAD; tp_name, tp_basicsize, tp_itemsize, tp_dealloc, tp_vectorcall_offset: a word each; ... }
TYPE_BASIC_SIZE = 32
TYPE_VECTORCALL_OFFSET = 56
# ... tp_del; unsigned int tp_version_tag; }, and padding
TYPE_VERSION = 384
# PyVarObject { PyObject_HEAD; Py_ssize_t ob_size; }
TUPLE_SIZE = 16
# PyListObject { PyObject_VAR_HEAD; PyObject **ob_item; ... }
LIST_ITEMS = 24
# PyDictObject { PyObject_HEAD; Py_ssize_t ma_used; uint64_t ma_version_tag; ... }, before Python 3.14
DICT_VERSION = 24
# PyCellObject { PyObject_HEAD; PyObject *ob_ref; }
CELL_CONTENTS = 16
# PyMethodObject { PyObject_HEAD; PyObject *im_func; ... }
METHOD_FUNCTION = 16
# PyTupleObject { PyObject_VAR_HEAD; PyObject *ob_item[]; }, with a hash before the items since Python 3.14
TUPLE_ITEMS = tuple.__basicsize__
# PyBytesObject { PyObject_VAR_HEAD; Py_hash_t ob_shash; char ob_sval[1]; }
BYTES_DATA = bytes.__basicsize__ - 1
# PyArrayObject_fields
ARRAY_DATA = 16
ARRAY_RANK = 24
ARRAY_DIMENSIONS = 32
ARRAY_STRIDES = 40
ARRAY_BASE = 48
ARRAY_DESCRIPTOR = 56
ARRAY_FLAGS = 64
# PyArray_Descr, the part that is common to NumPy 1.x and 2.x
DESCRIPTOR_SCALAR_TYPE = 16
DESCRIPTOR_BYTE_ORDER = 26
DESCRIPTOR_TYPE_NUMBER = 28
# Py<Type>ScalarObject { PyObject_HEAD; npy_<type> obval; }, PyFloatObject { PyObject_HEAD; double ob_fval; },
# PyComplexObject { PyObject_HEAD; Py_complex cval; }
SCALAR_VALUE = 16

# ndarraytypes.h: NPY_ARRAY_*
C_CONTIGUOUS = 0x0001
F_CONTIGUOUS = 0x0002
ALIGNED = 0x0100
WRITEABLE = 0x0400
NOT_WRITEABLE = ~WRITEABLE

# Indices into PyArray_API, as numpy/_core/include/numpy/__multiarray_api.h defines them.
NUMPY_API = {
    "PyArray_GetNDArrayCVersion": 0,
    "PyArray_Type": 2,
    "PyArrayDescr_Type": 3,
    "PyGenericArrType_Type": 10,
    "PyDoubleArrType_Type": 31,
    "PyArray_Scalar": 60,
    "PyArray_Empty": 184,
    "PyDataMem_SetHandler": 304,
    "PyDataMem_GetHandler": 305,
    "PyDataMem_DefaultHandler": 306,
}


def numpy_api_address(name: str) -> int:
    """The address that stands in NumPy's C-API table under `name`.

    For a function it is the function's address, for ``*_Type`` the type object's; ``PyDataMem_DefaultHandler`` is the
    address of a variable that holds the capsule. Raises KeyError for a name outside `NUMPY_API`.

    >>> numpy_api_address("PyArray_Type") == id(np.ndarray)
    True
    """
    return int(_numpy_api_table()[NUMPY_API[name]])


def python_api_address(name: str) -> int:
    """The address of the C-API function `name` of this interpreter. Raises AttributeError where it has none."""
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address is not None
    return address


def function_address(name: str) -> int:
    """The address of a C-API function of NumPy, if it stands in `NUMPY_API`, or of CPython."""
    return numpy_api_address(name) if name in NUMPY_API else python_api_address(name)


@functools.cache
def unsupported_reason() -> str | None:
    """Why emitted code must not read objects of this interpreter directly, or None where it may.

    Checked once: the kind of interpreter, then every offset of this module against known objects, by reads only.
    """
    for check in (_interpreter_reason, _python_layout_reason, _numpy_layout_reason):
        reason = check()
        if reason is not None:
            return reason
    return None


@functools.cache
def dicts_have_versions() -> bool:
    """Whether each change of a dict changes the word at `DICT_VERSION`, to one that no dict has had."""
    if sys.version_info >= (3, 14) or _interpreter_reason() is not None:
        return False
    one: dict[int, float] = {1: 1.5}
    versions = [_pointer(id(one) + DICT_VERSION), _pointer(id(one) + DICT_VERSION)]
    for change in (lambda: one.update({1: 2.5}), lambda: one.update({2: 2.5}), lambda: one.pop(1), one.clear):
        change()
        versions.append(_pointer(id(one) + DICT_VERSION))
    return versions[0] == versions[1] and len(set(versions)) == 5 and 0 not in versions


@functools.cache
def types_have_versions() -> bool:
    """Whether each change of a class, or of what it inherits from, changes the word at `TYPE_VERSION`, to 0 or a new number."""
    if _interpreter_reason() is not None:
        return False

    class Base:
        first = 1

    class Other:
        first = 2

    class Derived(Base):
        pass

    versions = []
    for change in (lambda: None, lambda: None, lambda: setattr(Base, "first", 3), lambda: setattr(Derived, "first", 4),
                   lambda: delattr(Derived, "first"), lambda: setattr(Derived, "__bases__", (Other,))):  # fmt: skip
        change()
        changed = _pointer(id(Derived) + TYPE_VERSION)
        found = Derived.first, Derived().first, Derived.__doc__
        versions.append(_pointer(id(Derived) + TYPE_VERSION))
        if len(versions) > 2 and changed in versions[:-1] or found[0] != found[1]:
            return False
    return versions[0] == versions[1] and len(set(versions)) == 5 and 0 not in versions


@functools.cache
def scalar_value_is_inline(dtype: np.dtype) -> bool:
    """Whether scalars of `dtype` keep their value, in `dtype`'s own bytes, at offset `SCALAR_VALUE` of the object.

    True for NumPy's numeric scalars; verified on samples, because scalar types of other packages (``ml_dtypes``) are
    laid out as they choose.

    >>> scalar_value_is_inline(np.dtype("float32"))
    True
    """
    for value in (0, 1, 3):
        array = np.array(value).astype(dtype)
        scalar = array[()]
        if type(scalar) is not dtype.type or type(scalar).__basicsize__ < SCALAR_VALUE + dtype.itemsize:
            return False
        if ctypes.string_at(id(scalar) + SCALAR_VALUE, dtype.itemsize) != array.tobytes():
            return False
    return True


@functools.cache
def _numpy_api_table() -> ctypes.Array[ctypes.c_void_p]:
    from numpy._core import _multiarray_umath  # private to NumPy: looked for only when it is needed

    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    pointer = prototype(("PyCapsule_GetPointer", ctypes.pythonapi))(_multiarray_umath._ARRAY_API, None)
    return (ctypes.c_void_p * (max(NUMPY_API.values()) + 1)).from_address(pointer)


def _interpreter_reason() -> str | None:
    if sys.implementation.name != "cpython":
        return f"the interpreter is {sys.implementation.name}, not CPython"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this is a free-threaded build of CPython"
    if hasattr(sys, "gettotalrefcount"):
        return "this is a debug build of CPython"
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return "the interpreter is not a 64-bit little-endian build"
    if not (3, 11) <= sys.version_info[:2] <= (3, 14):
        return f"the object layout of Python {sys.version_info[0]}.{sys.version_info[1]} is not known"
    if not np.__version__.startswith("2."):
        return f"the array layout of NumPy {np.__version__} is not known"
    return None


def _pointer(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _int32(address: int) -> int:
    return ctypes.c_int32.from_address(address).value


class _Bound:
    def method(self) -> None: ...


def _python_layout_reason() -> str | None:
    function = type(_pointer)
    number, complex_number, items, text = 1234.5678, complex(-2.5, 7.25), (object(), object(), "name"), b"0123456789"
    listed, method = list(items), _Bound().method
    cell = types.CellType(items)
    fields = {
        "PyObject.ob_type": _pointer(id(items) + OBJECT_TYPE) == id(tuple),
        "PyTypeObject.tp_basicsize": _pointer(id(tuple) + TYPE_BASIC_SIZE) == tuple.__basicsize__,
        "PyTypeObject.tp_vectorcall_offset": 0 < _pointer(id(function) + TYPE_VECTORCALL_OFFSET) < function.__basicsize__,
        "PyFloatObject.ob_fval": ctypes.c_double.from_address(id(number) + SCALAR_VALUE).value == number,
        "PyComplexObject.cval": (ctypes.c_double * 2).from_address(id(complex_number) + SCALAR_VALUE)[:]
        == [complex_number.real, complex_number.imag],
        "PyVarObject.ob_size": _pointer(id(items) + TUPLE_SIZE) == len(items),
        "PyTupleObject.ob_item": [_pointer(id(items) + TUPLE_ITEMS + 8 * index) for index in range(3)]
        == [id(item) for item in items],
        "PyListObject.ob_size": _pointer(id(listed) + TUPLE_SIZE) == len(listed),
        "PyListObject.ob_item": [_pointer(_pointer(id(listed) + LIST_ITEMS) + 8 * index) for index in range(3)]
        == [id(item) for item in listed],
        "PyCellObject.ob_ref": _pointer(id(cell) + CELL_CONTENTS) == id(items),
        "PyMethodObject.im_func": _pointer(id(method) + METHOD_FUNCTION) == id(_Bound.method),
        "PyBytesObject.ob_sval": ctypes.string_at(id(text) + BYTES_DATA, len(text)) == text,
    }
    return _first_failure(fields)


def _numpy_layout_reason() -> str | None:
    try:
        table = _numpy_api_table()
    except (ImportError, AttributeError, ValueError) as error:
        return f"NumPy's C-API table is out of reach: {error}"
    types = {
        "PyArray_Type": np.ndarray,
        "PyArrayDescr_Type": np.dtype,
        "PyGenericArrType_Type": np.generic,
        "PyDoubleArrType_Type": np.float64,
    }
    for name, expected in types.items():
        if table[NUMPY_API[name]] != id(expected):
            return f"{name} does not stand at index {NUMPY_API[name]} of NumPy's C-API table"
    version = ctypes.PYFUNCTYPE(ctypes.c_uint)(table[NUMPY_API["PyArray_GetNDArrayCVersion"]])()
    if version >> 24 != 2:
        return f"NumPy's C ABI has version {version:#x}, not 2"

    base = np.arange(120, dtype=np.int16).reshape(2, 3, 20)
    for array in (base, base.T, base[:, 1:, ::2], np.zeros((0, 4)), np.ones((), ">f8"), np.frombuffer(b"abc", np.int8)):
        reason = _first_failure(_array_fields(array))
        if reason is not None:
            return reason
    for dtype in ("bool", "int8", "uint64", "float16", "float32", "float64", "complex64", "complex128"):
        if not scalar_value_is_inline(np.dtype(dtype)):
            return f"the value of a NumPy scalar of dtype {dtype} does not stand at offset {SCALAR_VALUE}"
    return None


def _array_fields(array: np.ndarray) -> dict[str, bool]:
    address, rank, dtype = id(array), array.ndim, array.dtype
    flags = _int32(address + ARRAY_FLAGS)
    dimensions, strides = _pointer(address + ARRAY_DIMENSIONS), _pointer(address + ARRAY_STRIDES)
    if _int32(address + ARRAY_RANK) != rank:
        return {"PyArrayObject_fields.nd": False}
    return {
        "PyArrayObject_fields.data": _pointer(address + ARRAY_DATA) == array.ctypes.data,
        "PyArrayObject_fields.dimensions": rank == 0 or tuple((ctypes.c_int64 * rank).from_address(dimensions)) == array.shape,
        "PyArrayObject_fields.strides": rank == 0 or tuple((ctypes.c_int64 * rank).from_address(strides)) == array.strides,
        "PyArrayObject_fields.base": _pointer(address + ARRAY_BASE) == (0 if array.base is None else id(array.base)),
        "PyArrayObject_fields.descr": _pointer(address + ARRAY_DESCRIPTOR) == id(dtype),
        "NPY_ARRAY_C_CONTIGUOUS": bool(flags & C_CONTIGUOUS) == array.flags.c_contiguous,
        "NPY_ARRAY_F_CONTIGUOUS": bool(flags & F_CONTIGUOUS) == array.flags.f_contiguous,
        "NPY_ARRAY_ALIGNED": bool(flags & ALIGNED) == array.flags.aligned,
        "NPY_ARRAY_WRITEABLE": bool(flags & WRITEABLE) == array.flags.writeable,
        "PyArray_Descr.typeobj": _pointer(id(dtype) + DESCRIPTOR_SCALAR_TYPE) == id(dtype.type),
        "PyArray_Descr.byteorder": ctypes.string_at(id(dtype) + DESCRIPTOR_BYTE_ORDER, 1).decode() == dtype.byteorder,
        "PyArray_Descr.type_num": _int32(id(dtype) + DESCRIPTOR_TYPE_NUMBER) == dtype.num,
    }


def _first_failure(fields: dict[str, bool]) -> str | None:
    for name, holds in fields.items():
        if not holds:
            return f"the self-test of the object layout failed at {name}"
    return None
