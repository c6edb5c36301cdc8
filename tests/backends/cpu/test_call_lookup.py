"""Many compiled forms of one function: each call finds its own, in native code."""

import ctypes
import random

import numpy as np
import pytest
from phlox.backends.cpu.call import (
    ArrayGuard,
    CallSignature,
    PythonScalarGuard,
    StaticGuard,
    bind_entry,
    install_entry,
    make_vectorcall_type,
    remove_entries,
    unsupported_reason,
)
from phlox.backends.cpu.call.call_signature import ResultSpec
from phlox.backends.cpu.call.lookup import hash_of

pytestmark = pytest.mark.skipif(unsupported_reason() is not None, reason="native entries are not available")
KERNEL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
F64 = np.dtype("f8")


class MissingBase:
    def call_in_python(self, *args, **kwargs):
        return "miss"


Missing = make_vectorcall_type(MissingBase)


def returning(number):
    """A kernel whose result is the number."""

    def kernel(arguments, results):
        first = ctypes.c_void_p.from_address(results).value
        ctypes.c_double.from_address(first).value = number
        return 0

    return KERNEL(kernel)


def install(instance, number, arguments, names=(), statics=()):
    kernel = returning(number)
    signature = CallSignature(arguments, names, (ResultSpec(F64, ()),))
    entry = bind_entry(signature, ctypes.cast(kernel, ctypes.c_void_p).value, kernel, statics=statics)
    install_entry(instance, entry)


def shapes(count, seed=0):
    """Different shapes, many of them with the same sizes in another order."""
    found = [(), (1,), (1, 1), (0,), (0, 0), (2, 3), (3, 2), (6,), (2**40, 0)]
    generator = random.Random(seed)
    while len(found) < count:
        shape = tuple(generator.randrange(4) for _ in range(generator.randrange(1, 7)))
        if shape not in found:
            found.append(shape)
    return found[:count]


@pytest.mark.parametrize("count", [1, 4, 5, 6, 9, 300])
def test_each_shape_finds_its_entry(count):
    instance, order = Missing(), shapes(count)
    for number, shape in enumerate(order):
        install(instance, number, (ArrayGuard(F64, shape),))
        assert instance(np.zeros(shape)) == number
    for number, shape in enumerate(order):
        array = np.zeros(shape)
        assert instance(array) == number
        assert instance(array.astype("f4")) == instance(array, array) == instance(1.0) == "miss"
    assert instance(np.zeros((5, 5, 5))) == instance() == "miss"
    remove_entries(instance)
    assert instance(np.zeros(order[0])) == "miss"


@pytest.mark.parametrize("count", [2, 4, 5, 6, 9, 40])
def test_of_entries_for_the_same_calls_the_latest_one_runs(count):
    instance, others = Missing(), shapes(count)
    for number, shape in enumerate(others):
        install(instance, -number, (ArrayGuard(F64, (7, *shape)),))
        install(instance, number, (ArrayGuard(F64, (9,)),))
        assert instance(np.zeros(9)) == number
    assert [instance(np.zeros((7, *shape))) for shape in others] == [-number for number in range(count)]


def test_forms_of_one_shape_are_told_apart():
    instance, marker, array = Missing(), object(), np.zeros((2, 3))
    dtypes = [np.dtype(name) for name in ("f8", "f4", "i8", "i4", "u1", "?", "c16")]
    for number, dtype in enumerate(dtypes):
        install(instance, number, (ArrayGuard(dtype, (2, 3)),))
        install(instance, 10 + number, (ArrayGuard(dtype, (2, 3), "F"),))
        install(instance, 20 + number, (ArrayGuard(dtype, (2, 3)), ArrayGuard(F64, (2, 3))), ("y",))
        install(instance, 30 + number, (ArrayGuard(dtype, (2, 3)), PythonScalarGuard(float)))
        install(instance, 40 + number, (ArrayGuard(dtype, (2, 3)), StaticGuard()), statics=(marker,))
        install(instance, 50 + number, (ArrayGuard(dtype, (2, 3)), StaticGuard()), statics=(array,))
    for number, dtype in enumerate(dtypes):
        x = np.zeros((2, 3), dtype)
        assert instance(x) == number
        assert instance(np.asfortranarray(x)) == 10 + number
        assert instance(x, y=np.ones((2, 3))) == 20 + number
        assert instance(x, 1.0) == 30 + number
        assert instance(x, marker) == 40 + number
        assert instance(x, array) == 50 + number
        assert instance(x, np.zeros((2, 3))) == instance(x, object()) == instance(x, z=np.ones((2, 3))) == "miss"


def test_hashes_of_neighbouring_shapes_differ():
    signatures = [CallSignature((ArrayGuard(F64, (rows, columns)),), results=(ResultSpec(F64, ()),))
                  for rows in range(100) for columns in range(100)]  # fmt: skip
    hashes = [hash_of(signature, ()) for signature in signatures]
    assert len(set(hashes)) == len(hashes)
    assert len({value % 2**14 for value in hashes}) > 6000
