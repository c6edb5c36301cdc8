"""Kernels written by hand and callables to install them on, for the tests of the compiled entry."""

import types

import numpy as np
import pytest
from phlox.backends.cpu.call import (
    ArrayGuard,
    CallSignature,
    ResultSpec,
    bind_entry,
    install_entry,
    make_vectorcall_type,
    native_functions,
    unsupported_reason,
)
from phlox.backends.cpu.machine_code import compile_object
from phlox.backends.cpu.target import host_target

f8 = np.dtype("f8")
native = pytest.mark.skipif(unsupported_reason() is not None, reason=f"no native entries: {unsupported_reason()}")


class Base:
    """A callable whose calls, if no entry takes them, are recorded."""

    def __init__(self):
        self.missed = []

    def call_in_python(self, *args, **kwargs):
        self.missed.append((args, kwargs))
        return "missed"

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)


Callable_ = make_vectorcall_type(Base)


class KernelError(Exception):
    pass


def raise_error(code):
    raise KernelError(code)


def kernel(body, declarations=""):
    """Compiles a kernel; returns its address and an owner (the code stays loaded)."""
    text = f"define i32 @kernel(ptr %arguments, ptr %results) {{\n{body}\n}}\n{declarations}"
    return load_kernel(text), body


def load_kernel(text, **pointers):
    """The address of the function ``kernel`` of LLVM assembly, which stays loaded; pointers are stored in its variables."""
    code = compile_object(text, host_target())
    return native_functions.load_for_good(code, pointers, ("kernel",))["kernel"]


def pointer(name, array, index):
    return f"%{name}.at = getelementptr ptr, ptr %{array}, i64 {index}\n%{name} = load ptr, ptr %{name}.at\n"


def add_kernel(count):
    """result[i] = x[i] + y[i] for f64, in a loop."""
    return kernel(
        pointer("x", "arguments", 0)
        + pointer("y", "arguments", 1)
        + pointer("r", "results", 0)
        + f"""
        %empty = icmp eq i64 {count}, 0
        br i1 %empty, label %done, label %loop
        loop:
        %i = phi i64 [ 0, %0 ], [ %next, %loop ]
        %x.i = getelementptr double, ptr %x, i64 %i
        %y.i = getelementptr double, ptr %y, i64 %i
        %r.i = getelementptr double, ptr %r, i64 %i
        %x.value = load double, ptr %x.i
        %y.value = load double, ptr %y.i
        %sum = fadd double %x.value, %y.value
        store double %sum, ptr %r.i
        %next = add i64 %i, 1
        %end = icmp eq i64 %next, {count}
        br i1 %end, label %done, label %loop
        done:
        ret i32 0
        """
    )


def copy_kernel(*sizes):
    """Copies sizes[k] bytes from argument k to result k."""
    lines = [
        pointer(f"a{k}", "arguments", k)
        + pointer(f"r{k}", "results", k)
        + f"call void @llvm.memcpy.p0.p0.i64(ptr %r{k}, ptr %a{k}, i64 {size}, i1 false)\n"
        for k, size in enumerate(sizes)
    ]
    return kernel("".join(lines) + "ret i32 0", "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")


def status_kernel(status):
    return kernel(f"ret i32 {status}")


SUCCESS = status_kernel(0) if unsupported_reason() is None else None


def function(signature, compiled, **bound):
    instance = Callable_()
    install_entry(instance, bind_entry(signature, *compiled, **bound))
    return instance


def array_pair(count=8):
    guard = ArrayGuard(f8, (count,))
    return CallSignature((guard, guard), results=(ResultSpec(f8, (count,)),))


def same(actual, expected):
    assert type(actual) is type(expected)
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)
