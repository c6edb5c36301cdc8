"""Calls on a processor that bypass Python, and those that find the arrays of the host where they lie."""

import os
import signal
import threading

import numpy as np
import pytest
from gpu_backends import processor_backend
from phlox import jit
from phlox.backends.cpu.call import unsupported_reason
from phlox.backends.gpu.errors import ForkedDeviceError
from phlox.backends.registry import in_place_of
from phlox.runtime.kernel_time import kernel_time


@pytest.fixture
def backend():
    backend = processor_backend()
    if backend.device.own_thread is None or not backend.device.properties.reaches_host or unsupported_reason() is not None:
        pytest.skip("calls do not bypass Python here")
    with in_place_of("opencl", backend):
        yield backend


def until_large(x):
    rounds = 0
    while x[0] < 1e6:
        x = x * 2 + 1
        rounds += 1
    return x, rounds


def changed(x):
    x[1:] += x[0]
    return x.sum()


def is_native(function):
    return "called natively" in str(function.cache_info())


def test_short_programs_are_called_natively(backend):
    twice = jit(lambda x, y: (x * 2 + y, x.sum()), backend="opencl")
    for number in range(4):
        x = np.arange(10.0) + number
        both, total = twice(x, 0.5)
        np.testing.assert_array_equal(both, x * 2 + 0.5)
        assert total == x.sum()
    assert is_native(twice)
    assert twice.cache_info().misses == 1 and twice.cache_info().hits == 0


@pytest.mark.parametrize("function", [until_large, changed])
def test_loops_and_changes(backend, function):
    """Loops of which the host decides whether they go on, and arguments that are changed in place."""
    compiled = jit(function, backend="opencl")
    for number in range(3):
        expected, given = np.arange(5.0) + number, np.arange(5.0) + number
        np.testing.assert_equal(compiled(given), function(expected))
        np.testing.assert_array_equal(given, expected)
    assert is_native(compiled)


def test_errors_of_the_function(backend):
    element = jit(lambda x, i: x[i] + 1, backend="opencl")
    x = np.arange(5)
    assert [int(element(x, i)) for i in (0, 4, -1)] == [1, 5, 5]
    with pytest.raises(IndexError):
        element(x, 5)


@pytest.mark.parametrize("size", [7, 100_001], ids=["one thread", "several"])
def test_arrays_lie_anywhere(backend, size):
    """In memory that cannot be written, behind what no vector begins at, in other orders; results are new arrays."""
    function = jit(lambda x: (x.copy(), x + 1), backend="opencl")
    x = np.arange(size, dtype=np.float32)
    not_aligned = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32)
    fixed = x.copy()
    fixed.flags.writeable = False
    for given in (x, x[1:], x[::-1], not_aligned, fixed):
        for _ in range(2):
            same, more = function(given)
            np.testing.assert_array_equal(same, given)
            np.testing.assert_array_equal(more, given + 1)
            assert same.flags.writeable and not np.shares_memory(same, given)


@pytest.mark.parametrize("rows", [10, 50_000], ids=["one thread", "several"])
def test_results_whose_sizes_the_program_finds(backend, rows):
    """Are not larger than they are; where all are small and where results are large."""
    function = jit(lambda x: (x[x > 0], np.nonzero(x), x[x[:, 0] > 1], x.sum()), backend="opencl")
    random = np.random.default_rng(5)
    for _ in range(3):
        x = random.integers(-2, 3, (rows, 4)).astype(np.float32)
        found, positions, some, total = function(x)
        for one, other in zip((found, *positions, some), (x[x > 0], *np.nonzero(x), x[x[:, 0] > 1]), strict=True):
            np.testing.assert_array_equal(one, other)
        assert total == x.sum()
    assert is_native(function) and function.cache_info().misses == 1


def test_linear_algebra_is_called_natively(backend):
    a, b = np.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]]), np.arange(3.0)
    solve = jit(lambda a, b: np.linalg.solve(a * 2, b) + 1, backend="opencl")
    for _ in range(2):
        np.testing.assert_allclose(solve(a, b), np.linalg.solve(a * 2, b) + 1)
        with pytest.raises(np.linalg.LinAlgError):
            solve(np.zeros((3, 3)), b)
    assert is_native(solve)


def test_sizes_that_do_not_fit_together(backend):
    function = jit(lambda x, y: x[x > 0] + y[y > 0], backend="opencl")
    x = np.arange(6.0)
    for _ in range(2):
        np.testing.assert_array_equal(function(x, x[::-1].copy()), x[x > 0] + x[::-1][:-1])
        with pytest.raises(ValueError, match="broadcast"):
            function(x, np.ones(6))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("size", [7, 100_001], ids=["one thread", "several"])
def test_a_child_is_refused(backend, size):
    """Where an entry has been used before, by threads that the child does not have."""
    function, x = jit(lambda x: np.exp(x) + 1, backend="opencl"), np.ones(size)
    expected = function(x)
    np.testing.assert_array_equal(function(x), expected)
    assert is_native(function)
    process = os.fork()
    if process == 0:
        status = 1
        try:
            function(x)
        except ForkedDeviceError:
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(process, 0)[1] == 0
    np.testing.assert_array_equal(function(x), expected)


@pytest.mark.parametrize("size", [36, 40_004], ids=["one thread", "several"])
def test_truth_values_that_begin_anywhere(backend, size):
    """Which are taken for words."""
    function = jit(lambda x: (x.any(axis=0), x.all(axis=0), x.any()), backend="opencl")
    values = np.random.default_rng(2).random(5 * size + 3) < 0.3
    for offset in range(4):
        x = values[offset : offset + 5 * size].reshape(5, size)
        for one, other in zip(function(x), (x.any(axis=0), x.all(axis=0), x.any()), strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_limit_of_time_is_kept(backend, monkeypatch):
    function = jit(lambda x: x + 1, backend="opencl")
    x = np.ones(10)
    function(x)
    hits = function.cache_info().hits
    monkeypatch.setattr(kernel_time, "seconds", 60.0)
    np.testing.assert_array_equal(function(x), x + 1)
    assert function.cache_info().hits == hits + 1
    monkeypatch.setattr(kernel_time, "seconds", None)
    function(x)
    assert function.cache_info().hits == hits + 1


def test_what_takes_long_can_be_interrupted(backend):
    def counted(x, most):
        while x[0] < most:
            x = x + 1
        return x

    def handler(*_):
        raise InterruptedError

    function, x = jit(counted, backend="opencl"), np.zeros(3)
    np.testing.assert_array_equal(function(x, 5.0), counted(x, 5.0))
    assert is_native(function)
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(InterruptedError):
            function(x, np.inf)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    hits = function.cache_info().hits
    np.testing.assert_array_equal(function(x, 5.0), counted(x, 5.0))
    assert function.cache_info().hits == hits  # also later calls bypass Python


def test_threads_run_a_program_in_turn(backend):
    function, given = jit(until_large, backend="opencl"), [np.full(4, 1.0 + number) for number in range(4)]
    expected = [until_large(x) for x in given]
    function(given[0])
    found = []

    def repeat(number):
        found.extend([(number, function(given[number])) for _ in range(50)])

    threads = [threading.Thread(target=repeat, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 200
    for number, one in found:
        np.testing.assert_equal(one, expected[number])
