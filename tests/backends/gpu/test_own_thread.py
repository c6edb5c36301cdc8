"""Programs that a processor's calling thread runs itself, and the order of what they do and what is in the queue."""

import ctypes
import threading

import numpy as np
import pytest
from gpu_backends import processor_backend
from phlox import device_put, host_call, jit
from phlox.backends.gpu.backend import program_of
from phlox.backends.gpu.kept_code import bytes_of_program, program_of_bytes
from phlox.backends.registry import in_place_of
from phlox.hlo import parse_module
from phlox.runtime.kernel_time import kernel_time

PLUS_ONE = """ENTRY main {
  x = f32[100] parameter(0)
  one = f32[] constant(1)
  ones = f32[100] broadcast(one), dimensions={}
  ROOT y = f32[100] add(x, ones)
}"""


@pytest.fixture
def backend():
    backend = processor_backend()
    if backend.device.own_thread is None:
        pytest.skip("the driver has no queue whose work the calling thread does")
    backend.device.synchronize()
    with in_place_of("opencl", backend):
        yield backend


@pytest.fixture
def plus_one(backend):
    return backend.compile(parse_module(PLUS_ONE))


def at(buffer):
    """What is in a buffer's memory now."""
    return np.frombuffer((ctypes.c_float * 100).from_address(buffer.address), np.float32)


def slow(x):
    for _ in range(200):
        x = np.sqrt(x) + 1
    return x


def test_short_programs_have_run_when_the_call_returns(backend, plus_one):
    (once,) = plus_one.execute([backend.memory.share(np.ones(100, np.float32))])
    assert (at(once) == 2).all()
    (twice,) = plus_one.execute([once])
    assert (at(twice) == 3).all()
    assert backend.device.asked.is_done


def test_they_wait_for_what_is_in_the_queue(backend):
    """Also where the host reads in between, and where other threads ask for more."""
    x = np.linspace(0, 1, 100_000, dtype=np.float32)
    long, short = jit(slow, backend="opencl"), jit(lambda y: y[-3:] * 2, backend="opencl")
    given = device_put(x, "opencl")
    expected = np.asarray(short(long(given)))
    np.testing.assert_allclose(expected, slow(x)[-3:] * 2, rtol=1e-5)

    def repeat():
        for _ in range(5):
            np.testing.assert_array_equal(np.asarray(short(long(given))), expected)
        finished.append(True)

    finished = []
    threads = [threading.Thread(target=repeat) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(finished) == 2


def test_a_queue_is_empty_when_it_was_waited_for(backend):
    x = device_put(np.ones(100_000, np.float32), "opencl")
    compiled = jit(slow, backend="opencl")
    y = compiled(x)
    assert not backend.device.asked.is_done
    np.asarray(y)
    assert backend.device.asked.is_done
    compiled(x)
    backend.device.synchronize()
    assert backend.device.asked.is_done


@pytest.mark.parametrize("size", [50, 100_000], ids=["short", "in the queue"])
def test_the_host_works_where_arrays_lie(backend, size):
    """On what kernels before have left, and for those behind."""
    seen = []

    def look(x):
        seen.append(x.sum())
        return x + 1

    x = np.arange(size, dtype=np.float32)
    compiled = jit(lambda x: host_call(look, np.ndarray(x.shape, x.dtype), x * 2) * 3, backend="opencl")
    np.testing.assert_array_equal(np.asarray(compiled(device_put(x, "opencl"))), (x * 2 + 1) * 3)
    assert seen == [(x * 2).sum()]


def test_linear_algebra_of_the_host_needs_no_python(backend, monkeypatch):
    monkeypatch.setattr("phlox.backends.gpu.host_call.find_target", lambda name: pytest.fail(f"{name} is called"))
    a, b = np.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]]), np.arange(3.0)
    solve = jit(lambda a, b: np.linalg.solve(a * 2, b), backend="opencl")
    np.testing.assert_allclose(np.asarray(solve(device_put(a, "opencl"), device_put(b, "opencl"))), np.linalg.solve(a * 2, b))
    assert backend.device.asked.is_done
    with pytest.raises(np.linalg.LinAlgError):
        solve(np.zeros((3, 3)), b)


def test_kernels_with_a_time_limit_run_elsewhere(backend, plus_one, monkeypatch):
    x = backend.memory.share(np.ones(100, np.float32))
    monkeypatch.setattr(kernel_time, "seconds", 60.0)
    (y,) = plus_one.execute([x])
    assert not backend.device.asked.is_done
    np.testing.assert_array_equal(backend.memory.read(y), np.full(100, 2, np.float32))


def test_which_programs_are_short(backend):
    def until_large(x):
        while x.sum() < 1e6:
            x = x * 2
        return x

    def plan(function, *arguments):
        return jit(function, backend="opencl").compile(*arguments).executable.program.plan

    small, large = np.ones(100, np.float32), np.ones(1_000_000, np.float32)
    assert plan(lambda x: (x * 2).sum() + x, small).is_short
    assert not plan(lambda x: (x * 2).sum(), large).is_short
    assert plan(until_large, small).is_short  # as the thread would wait for what it goes on by
    assert not plan(until_large, large).is_short
    assert plan(lambda x: np.linalg.svd(x.reshape(10, 10)), small).is_short  # which the host does in this thread, too


def test_plans_say_so(backend):
    module = parse_module(PLUS_ONE)
    program = program_of(module, backend.target)
    assert program.plan.as_text().startswith("temporary: 0 bytes, constant: 0 bytes, by the thread that asks\n")
    kept = program_of_bytes(bytes_of_program(program, module), module, backend.target, program.texts)
    assert kept.plan.is_short
