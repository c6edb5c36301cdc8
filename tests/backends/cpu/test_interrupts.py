"""Exceptions that come from outside while compiled code runs: signals, and those of functions that it calls."""

import ctypes
import gc
import os
import sys
import threading
import time

import numpy as np
import phlox
import pytest
from phlox import custom_call, fori_loop, jit
from phlox.backends.cpu import call as native_call
from signals import Interrupt, interrupt

native = pytest.mark.skipif(native_call.unsupported_reason() is not None, reason="native entries are not available")


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


# Loops


def endless(step):
    """A loop of n rounds of a step, which has the round's number and the state."""
    return jit(lambda x, n: fori_loop(0, n, step, x))


LOOPS = {
    "scalar": (endless(lambda i, v: v * 1.0000001 + 0.5), 1.0),
    "integer": (endless(lambda i, v: v ^ i), 1),
    "short loops inside": (endless(lambda i, v: fori_loop(0, i % 5, lambda j, w: w * 1.01, v)), 1.0),
    "arrays": (endless(lambda i, v: np.sin(v)), np.ones(1000)),
    "branches": (endless(lambda i, v: phlox.cond(i % 2 == 0, lambda v: v + 1, lambda v: v * 0.5, v)), np.ones(3)),
    "products": (endless(lambda i, v: v @ v * 0.5), np.eye(300)),
    "sorts": (endless(lambda i, v: np.sort(-v)), np.arange(10000.0)),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_end_at_a_signal(name):
    f, x = LOOPS[name]
    before = f(x, 3)
    resident = resident_bytes()
    for turn in range(3):
        interrupt(0.01 + 0.01 * turn, f, x, 10**12)
    assert resident_bytes() - resident < 4 << 20
    np.testing.assert_array_equal(f(x, 3), before)


def test_reference_backend_ends_at_a_signal():
    f = jit(backend="reference")(lambda x, n: fori_loop(0, n, lambda i, v: v + 1, x))
    assert f(1.0, 3) == 4
    interrupt(0.02, f, 1.0, 10**12)


def test_what_is_changed_in_place_is_left_alone_by_an_interrupt():
    @jit
    def f(x, n):
        def body(i, v):
            x[0] += 1
            return v + 1

        return fori_loop(0, n, body, 0)

    x = np.zeros(3)
    f(x, 5)
    interrupt(0.02, f, x, 10**12)
    np.testing.assert_array_equal(x, [5, 0, 0])


SUM_OF_IOTA = """
HloModule sum

add { a = f64[] parameter(0)  b = f64[] parameter(1)  ROOT c = f64[] add(a, b) }

ENTRY main {
  x = f64[] parameter(0)
  i = f64[1000000000000] iota(), iota_dimension=0
  y = f64[1000000000000] broadcast(x), dimensions={}
  p = f64[1000000000000] multiply(i, y)
  zero = f64[] constant(0)
  ROOT r = f64[] reduce(p, zero), dimensions={0}, to_apply=add
}
"""


@pytest.mark.parametrize("x", [np.float64(2), 2.0], ids=["native call", "call by way of Python"])
def test_long_reductions_end_at_a_signal(x):
    interrupt(0.03, phlox.load_hlo(SUM_OF_IOTA), x)


def test_long_products_in_batches_leave_the_interpreter_to_others():
    x = np.zeros((8, 512, 128), np.float32)
    product = jit(lambda x: x @ x.transpose(0, 2, 1))
    assert product.compile(x).executable.program.may_take_long
    assert not product.compile(x[:, :4, :4]).executable.program.may_take_long


def test_loops_of_many_threads_leave_the_interpreter_to_others():
    """A thread computes, in place and by way of Python; this one gets its turns, and ends it."""
    progress, turns = np.zeros(1), 0

    @jit
    def f(x, n):
        def body(i, v):
            x[0] += 1
            return v + 1

        return fori_loop(0, n, body, 0)

    f(progress, 2)
    finished = []
    thread = threading.Thread(target=lambda: finished.append(f(progress, 10**8)))
    thread.start()
    while not finished:
        turns += 1
        time.sleep(0.001)
    thread.join()
    assert turns > 5
    assert progress[0] == 2 + 10**8


def test_an_exception_that_another_thread_raises_ends_a_loop():
    f = LOOPS["scalar"][0]
    f(1.0, 3)
    started, ended = threading.Event(), []

    def work():
        try:
            started.set()
            f(1.0, 10**12)
        except Interrupt:
            ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    while thread.is_alive() and not ended:  # the interpreter drops what is raised in a finalizer
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Interrupt))
        thread.join(5)
    thread.join()
    assert ended == [True]


@pytest.mark.slow
def test_a_kernel_of_a_notebook_is_interrupted():
    manager = pytest.importorskip("jupyter_client.manager")
    pytest.importorskip("ipykernel")
    kernel, client = manager.start_new_kernel(env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    try:
        cell = "from phlox import fori_loop, jit\nf = jit(lambda x, n: fori_loop(0, n, lambda i, v: v * 1.5, x))\n"
        assert client.execute_interactive(cell + "f(1.0, 3)", timeout=60)["content"]["status"] == "ok"
        timer = threading.Timer(1.0, kernel.interrupt_kernel)
        timer.start()
        reply = client.execute_interactive("f(1.0, 10**12)", timeout=30, output_hook=lambda message: None)
        timer.join()
        assert reply["content"]["ename"] == "KeyboardInterrupt"
        assert client.execute_interactive("f(1.0, 3)", timeout=60)["content"]["status"] == "ok"
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)
