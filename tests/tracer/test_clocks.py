"""Clocks: compiled code reads them as the functions of `time` do."""

import threading
import time

import numpy as np
import pytest
from phlox import jit
from phlox.runtime.clocks import clock_target

from ..support.native_calls import calls_noted

NAMES = ("time", "perf_counter", "monotonic", "process_time", "thread_time")
FUNCTIONS = [getattr(time, name + ending) for name in NAMES for ending in ("", "_ns")]


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("clock", FUNCTIONS)
def test_what_is_read_lies_between_what_python_reads(clock, backend):
    decorated = jit(lambda: (clock(), clock()), backend=backend)
    for _ in range(3):
        before, (first, second), behind = clock(), decorated(), clock()
        assert before <= first <= second <= behind
        assert type(first) is type(before)


def test_no_python_is_called():
    if None in map(clock_target, FUNCTIONS):
        pytest.skip("Python reads a clock otherwise than by clock_gettime")
    decorated = jit(lambda x: (x * 2, [clock() for clock in FUNCTIONS]))
    decorated(1.0)
    with calls_noted() as called:
        found = decorated(2.0)
        called = called[:]
    assert called == []
    assert found[0] == 4.0


def test_clocks_go_on_while_the_program_waits():
    def waits(x):
        begin = time.perf_counter()
        time.sleep(0.01)
        rounds, behind = 0, time.perf_counter()  # a loaded machine may sleep for longer
        while rounds < 1000 or time.perf_counter() - behind < 0.01:
            rounds += 1
        return time.perf_counter() - begin, rounds, x + 1

    decorated = jit(waits)
    for _ in range(3):
        spent, rounds, _ = decorated(np.ones(2))
        assert spent >= 0.02
        assert rounds >= 1000


def test_the_processor_time_of_a_thread_is_its_own():
    decorated = jit(lambda: time.thread_time())
    decorated()
    found = []
    thread = threading.Thread(target=lambda: found.append(decorated()))
    thread.start()
    thread.join()
    assert found[0] < decorated()


def test_arguments_are_refused_as_python_refuses_them():
    with pytest.raises(TypeError):
        jit(lambda x: time.time(x))(1)
