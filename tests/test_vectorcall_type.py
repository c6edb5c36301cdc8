"""The type whose instances are called through native code."""

import copy
import gc
import pickle
import sys
import types
import weakref

import numpy as np
import pytest
from phlox.backends.cpu.call import (
    ArrayGuard,
    CallSignature,
    ResultSpec,
    bind_entry,
    install_entry,
    make_vectorcall_type,
    object_layout,
    runtime,
    unsupported_reason,
    vectorcall_type,
)

f8 = np.dtype("f8")
native = pytest.mark.skipif(unsupported_reason() is not None, reason=f"no native entries: {unsupported_reason()}")


class Base:
    """A callable whose calls, if no entry takes them, are recorded."""

    def __init__(self):
        self.missed = []

    def _miss(self, *args, **kwargs):
        self.missed.append((args, kwargs))
        return "missed"

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)


Callable_ = make_vectorcall_type(Base)


def kernel(body, declarations=""):
    """Compiles a kernel; returns its address and an owner (the code stays loaded)."""
    text = f"define i32 @kernel(ptr %arguments, ptr %results) {{\n{body}\n}}\n{declarations}"
    address = runtime.load_object(runtime.compile_object(text), {}, ("kernel",))["kernel"]
    return address, body


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


def array_pair(count=8):
    guard = ArrayGuard(f8, (count,))
    return CallSignature((guard, guard), results=(ResultSpec(f8, (count,)),))


def same(actual, expected):
    assert type(actual) is type(expected)
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


def test_call_without_entry_goes_to_miss():
    f = Callable_()
    assert f(1, 2, key=3) == "missed"
    assert f.__call__(4) == "missed"
    assert f.missed == [((1, 2), {"key": 3}), ((4,), {})]


def test_type_keeps_the_identity_of_its_base():
    assert (Callable_.__name__, Callable_.__module__, Callable_.__doc__) == (Base.__name__, Base.__module__, Base.__doc__)
    assert isinstance(Callable_(), Base)


@pytest.mark.parametrize("slots", [(), ("value",), ("value", "__weakref__"), ("value", "__dict__")])
def test_bases_with_slots(slots):
    class Slotted:
        __slots__ = slots

        def _miss(self, *args):
            return args

    f = make_vectorcall_type(Slotted)()
    assert f(1, 2) == (1, 2)
    if "value" in slots:
        f.value = "kept"
        assert f.value == "kept"
    if "__weakref__" in slots:
        assert weakref.ref(f)() is f


@native
def test_slots_and_entry_do_not_overlap():
    class Slotted:
        __slots__ = ("first", "last")

        def _miss(self, *args):
            return args

    f = make_vectorcall_type(Slotted)()
    f.first, f.last = "first", "last"
    install_entry(f, bind_entry(array_pair(), *add_kernel(8)))
    same(f(np.ones(8), np.ones(8)), np.full(8, 2.0))
    assert (f.first, f.last) == ("first", "last")


def test_instances_bind_as_methods():
    class Owner:
        method = Callable_()

    owner = Owner()
    owner.method(1)
    assert Owner.method.missed == [((owner, 1), {})]


def test_weak_references_and_cycles_are_collected():
    f = Callable_()
    f.itself = f
    reference = weakref.ref(f)
    assert reference() is f
    del f
    gc.collect()
    assert reference() is None


@native
def test_instance_with_entries_is_collected_with_what_they_hold():
    class Owner:
        pass

    owner = Owner()
    f = Callable_()
    install_entry(f, bind_entry(array_pair(), add_kernel(8)[0], owner, raise_error=f.__init__))
    reference = weakref.ref(owner)
    del owner
    gc.collect()
    assert reference() is not None
    del f
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize("make_copy", [copy.copy, copy.deepcopy, pickle.dumps])
def test_copies_are_refused(make_copy):
    with pytest.raises(TypeError, match="cannot pickle"):
        make_copy(Callable_())


@native
def test_type_is_final():
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Derived", (Callable_,), {})


def test_unsuitable_bases_are_refused():
    class WithoutMiss:
        pass

    class WithCall:
        def _miss(self):
            pass

        def __call__(self):
            pass

    for base in (WithoutMiss, WithCall, Callable_, type, 3):
        with pytest.raises(TypeError, match="make_vectorcall_type requires"):
            make_vectorcall_type(base)


@native
def test_entries_of_other_objects_are_refused():
    with pytest.raises(TypeError, match="make_vectorcall_type"):
        install_entry(Base(), bind_entry(array_pair(), *add_kernel(8)))


def test_interpreter_without_native_entries(monkeypatch):
    monkeypatch.setattr(object_layout, "unsupported_reason", lambda: "a test says so")
    f = make_vectorcall_type(Base)()
    assert f(1, key=2) == "missed"
    assert f.missed == [((1,), {"key": 2})]
    with pytest.raises(RuntimeError, match="a test says so"):
        bind_entry(array_pair(), 1, None)
    with pytest.raises(RuntimeError, match="a test says so"):
        vectorcall_type.set_entry(f, None, None)


def test_supported_interpreters_pass_the_layout_test():
    plain = sys.implementation.name == "cpython" and not hasattr(sys, "gettotalrefcount")
    if plain and sys.maxsize > 2**32 and getattr(sys, "_is_gil_enabled", lambda: True)():
        assert unsupported_reason() is None
    else:
        assert unsupported_reason()
