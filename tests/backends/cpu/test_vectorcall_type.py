"""The type whose instances are called through native code."""

import copy
import gc
import pickle
import sys
import weakref

import numpy as np
import pytest
from hand_written_kernels import Base, Callable_, add_kernel, array_pair, native, same
from phlox.backends.cpu.call import (
    bind_entry,
    install_entry,
    make_vectorcall_type,
    object_layout,
    unsupported_reason,
    vectorcall_type,
)


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

        def call_in_python(self, *args):
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

        def call_in_python(self, *args):
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
        def call_in_python(self):
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
        vectorcall_type.set_entries(f, None, ())


def test_supported_interpreters_pass_the_layout_test():
    plain = sys.implementation.name == "cpython" and not hasattr(sys, "gettotalrefcount")
    if plain and sys.maxsize > 2**32 and getattr(sys, "_is_gil_enabled", lambda: True)():
        assert unsupported_reason() is None
    else:
        assert unsupported_reason()
