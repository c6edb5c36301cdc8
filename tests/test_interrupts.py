"""Exceptions that come from outside while compiled code runs: signals, and those of functions that it calls."""

import gc
import signal
import sys

import numpy as np
import phlox
import pytest
from phlox import custom_call, fori_loop, jit
from phlox.backends.cpu import call as native_call

native = pytest.mark.skipif(native_call.unsupported_reason() is not None, reason="native entries are not available")


class Interrupt(Exception):
    """What the handler of a signal raises."""


@pytest.fixture(autouse=True)
def handler():
    def raise_interrupt(number, frame):
        raise Interrupt

    before = signal.signal(signal.SIGALRM, raise_interrupt)
    yield
    signal.signal(signal.SIGALRM, before)


def interrupt(after, function, *arguments):
    """Call the function, and raise Interrupt in this thread after so many seconds."""
    with pytest.raises(Interrupt):
        signal.setitimer(signal.ITIMER_REAL, after)
        function(*arguments)
        signal.pause()


@pytest.fixture
def register():
    names = []

    def register(name, function):
        names.append(name)
        phlox.register_custom_call(name, function)

    yield register
    for name in names:
        phlox.runtime.unregister_custom_call(name)


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) << 12


# Functions that compiled code calls


def test_signal_in_a_loop_that_calls_python(register):
    """The exception of a handler is raised wherever the signal comes, at the first line of the called function too."""
    calls = []

    def tick(x):
        calls.append(0)
        return x + 1

    register("tick", tick)
    f = jit(lambda x, n: fori_loop(0, n, lambda i, value: custom_call("tick", value, result=value), x))
    assert f(np.int64(0), 10) == 10
    for turn in range(100):
        calls.clear()
        interrupt(1e-4 + 1e-5 * turn, f, np.int64(0), 10**9)
    calls.clear()
    assert f(np.int64(0), 1000) == len(calls) == 1000


def test_signal_in_every_function_of_a_nest(register):
    """A program that calls a program that calls a function."""
    inner = jit(lambda x: custom_call("leaf", x, result=x) * 2)
    register("leaf", lambda x: x + 1)
    register("nested", lambda x: inner(x))
    outer = jit(lambda x, n: fori_loop(0, n, lambda i, value: custom_call("nested", value, result=value) % 100, x))
    outer(np.int64(0), 10)
    for turn in range(50):
        interrupt(1e-3 + 2e-5 * turn, outer, np.int64(0), 10**9)


def test_failing_calls_leave_nothing(register):
    def fail(x):
        raise ValueError("no")

    register("fail", fail)
    f = jit(lambda x: (custom_call("fail", x * 2.0, result=x) + 1, x))
    x = np.ones(5000)

    def run(count):
        for _ in range(count):
            with pytest.raises(ValueError, match="no"):
                f(x)
        gc.collect()

    run(100)
    references, resident = sys.getrefcount(x), resident_bytes()
    run(2000)
    assert sys.getrefcount(x) == references
    assert resident_bytes() - resident < 5 << 20, "an array of 40,000 bytes is lost each time"


def test_exception_keeps_its_traceback(register):
    def fail(x):
        raise KeyError("here")

    register("fail", fail)
    with pytest.raises(KeyError) as caught:
        jit(lambda x: custom_call("fail", x, result=x))(np.ones(3))
    assert caught.traceback[-1].name == "fail"


# What native code reads


@native
def test_entries_are_out_of_reach():
    f, x = jit(lambda x: x + 1), np.ones(3)
    f(x)
    assert not hasattr(f, "_bound_entries")
    for name in ("_bound_entries", "entries"):
        setattr(f, name, ())
        np.testing.assert_array_equal(f(x), np.full(3, 2.0))


def test_forgetting_while_the_code_runs(register):
    def forget(x):
        f.cache_clear()
        gc.collect()
        return x

    register("forget", forget)
    f = jit(lambda x: custom_call("forget", x * 2, result=x) + custom_call("forget", x * 3, result=x))
    for _ in range(3):
        np.testing.assert_array_equal(f(np.ones(3)), np.full(3, 5.0))


def test_calls_while_the_collector_takes_a_function_apart():
    """An object without a place in the collector's lists calls the function that held it."""
    results = []

    def make():
        f = jit(lambda x: x + 1)
        f(np.ones(3))

        class Last:
            __slots__ = ()

            def __del__(self):
                try:
                    results.append(f(np.ones(3)))
                except AttributeError:  # of the function, where that is taken apart already
                    results.append(None)

        f.itself, f.last = f, Last()

    for _ in range(5):
        make()
    gc.collect()
    assert len(results) == 5
    for result in results:
        assert result is None or np.array_equal(result, np.full(3, 2.0))
