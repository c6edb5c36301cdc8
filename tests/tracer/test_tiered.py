"""`jit(tiered=True)`: calls do not wait for code, and what they do is the same with code and without."""

import threading
import time

import numpy as np
import pytest
from phlox import debug, jit
from phlox.backends.cpu.backend import CpuBackend
from phlox.backends.registry import register_backend


class HeldBackend(CpuBackend):
    """Compiles when it is allowed to."""

    def __init__(self):
        super().__init__()
        self.may_compile, self.compiled = threading.Event(), 0

    def compile(self, module):
        assert self.may_compile.wait(60)
        self.compiled += 1
        return super().compile(module)


@pytest.fixture
def held(registered):
    backend = HeldBackend()
    register_backend("held", lambda: backend)
    yield backend
    backend.may_compile.set()


def wait_until_compiled(function):
    deadline = time.monotonic() + 60
    while not function.cache_info().misses:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_calls_do_not_wait(held):
    calls = []

    def f(x, n):
        calls.append(type(x))
        for _ in range(n):
            x = x * 2 + 1
        return x

    g = jit(f, backend="held", tiered=True)
    x = np.arange(4.0)
    for _ in range(3):
        np.testing.assert_array_equal(g(x, 3), x * 8 + 7)
    assert held.compiled == 0 and calls.count(np.ndarray) == 3
    held.may_compile.set()
    wait_until_compiled(g)
    np.testing.assert_array_equal(g(x, 4), x * 16 + 15)
    assert held.compiled == 1 and calls.count(np.ndarray) == 4  # the last one by compiled code
    assert len(g.cache_info().entries) == 1


def test_arguments_are_changed_once(held):
    @jit(backend="held", tiered=True)
    def grow(x, log):
        x += 1
        log.append(float(x[0]))

    x, log = np.zeros(3), []
    grow(x, log)
    assert (x == 1).all() and log == [1.0]
    held.may_compile.set()
    wait_until_compiled(grow)
    assert (x == 1).all() and log == [1.0]
    grow(x, log)
    assert (x == 2).all() and log == [1.0, 2.0]


def test_each_form_of_call_is_compiled_for_itself(held):
    held.may_compile.set()
    f = jit(lambda x: x.sum(), backend="held", tiered=True)
    for _ in range(2):
        for n in (3, 4, 5):
            assert f(np.ones(n)) == n
        deadline = time.monotonic() + 60
        while f.cache_info().misses < 3:
            assert time.monotonic() < deadline
            time.sleep(0.001)


def test_what_cannot_be_compiled_raises_when_that_is_known(held):
    held.may_compile.set()

    @jit(backend="held", tiered=True)
    def f(x):
        y = x + 1
        y.setflags(write=False)
        return y

    assert f(np.ones(1))[0] == 2
    with pytest.raises(NotImplementedError, match="setflags"):
        for _ in range(1000):
            f(np.ones(1))
            time.sleep(0.01)


def test_exceptions_of_the_function_itself(held):
    @jit(backend="held", tiered=True)
    def f(x):
        if x[0] > 0:
            raise ValueError("positive")
        return x

    with pytest.raises(ValueError, match="positive"):
        f(np.ones(2))
    held.may_compile.set()
    wait_until_compiled(f)
    with pytest.raises(ValueError, match="positive"):
        f(np.ones(2))


def test_debugging_does_not_run_the_function_itself():
    f = jit(lambda x: np.log(x) * 0, tiered=True)
    with debug.nans(), pytest.raises(FloatingPointError):
        f(np.zeros(2) - 1)
    assert f.profile(np.ones(2)).result[0] == 0


def test_many_threads_call_at_once():
    f = jit(lambda x: np.sort(x)[0] + x.sum(), tiered=True)
    x = np.arange(50.0)
    found = []
    threads = [threading.Thread(target=lambda: found.extend(f(x) for _ in range(200))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [x.sum()] * 800
    wait_until_compiled(f)
    assert f.cache_info().misses == 1


def test_random_generators_go_on(held):
    @jit(backend="held", tiered=True)
    def draw(rng):
        return rng.random(3)

    one, other = np.random.default_rng(1), np.random.default_rng(1)
    before = draw(one)
    held.may_compile.set()
    wait_until_compiled(draw)
    np.testing.assert_array_equal([before, draw(one), draw(one)], [other.random(3) for _ in range(3)])
