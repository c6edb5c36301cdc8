"""Programs that a processor's calling thread runs itself, and the order of what they do and what is in the queue."""

import ctypes
import threading
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from types import SimpleNamespace

import numpy as np
import pytest
from gpu_backends import processor_backend
from phlox import config, device_put, host_call, jit
from phlox.backends.cpu import thread_pool
from phlox.backends.cpu.thread_pool import run_pieces_address
from phlox.backends.gpu import fewer_launches
from phlox.backends.gpu.backend import program_of
from phlox.backends.gpu.drivers.native_calls import MOST_TOGETHER, OPENCL_FUNCTIONS, NativeCalls
from phlox.backends.gpu.drivers.own_thread import Asked
from phlox.backends.gpu.errors import DeviceError
from phlox.backends.gpu.kept_code import bytes_of_program, program_of_bytes
from phlox.backends.gpu.native_run import NativeRun
from phlox.backends.gpu.plan import Launch, Place, Plan, While, inside
from phlox.backends.registry import in_place_of
from phlox.hlo import parse_module
from phlox.runtime.kernel_time import kernel_time
from phlox.runtime.thread_count import thread_limit
from thinning import left_to_ci

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


def test_random_numbers_of_numpy_need_no_python(backend, monkeypatch):
    monkeypatch.setattr("phlox.backends.gpu.host_call.find_target", lambda name: pytest.fail(f"{name} is called"))

    def drawn(rng):
        return rng.random(5), rng.standard_normal(3), rng.integers(0, 9, 4), rng.permutation(6), rng.random()

    compiled, ours, theirs = jit(drawn, backend="opencl"), np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(2):
        for one, other in zip(compiled(ours), drawn(theirs), strict=True):
            np.testing.assert_array_equal(one, other)

    def draws_until(rng, bound):
        total, count = 0.0, 0
        while total < bound:
            total += rng.random()
            count += 1
        return total, count

    assert jit(draws_until, backend="opencl")(ours, 50.0) == draws_until(theirs, 50.0)


def test_kernels_with_a_time_limit_run_elsewhere(backend, plus_one, monkeypatch):
    x = backend.memory.share(np.ones(100, np.float32))
    monkeypatch.setattr(kernel_time, "seconds", 60.0)
    (y,) = plus_one.execute([x])
    assert not backend.device.asked.is_done
    np.testing.assert_array_equal(backend.memory.read(y), np.full(100, 2, np.float32))


def test_threads_share_the_blocks_of_a_launch(backend, monkeypatch):
    """As many as are asked for, with the results of the driver's own ones; those of calls at the same time, too."""
    x = np.random.default_rng(1).random((300, 200))
    function = jit(
        lambda x: (np.exp(x), np.exp(x).sum(), (x * x).sum(0), np.sort(x, 1), np.cumsum(x.ravel())), backend="opencl"
    )
    kernels = [step for step in inside(function.compile(x).executable.program.plan.steps) if isinstance(step, Launch)]
    assert any(launch.grid[0] > 1 for launch in kernels)
    with monkeypatch.context() as limited:
        limited.setattr(kernel_time, "seconds", 60.0)
        expected = function(x)

    def equal():
        for one, other in zip(function(x), expected, strict=True):
            np.testing.assert_array_equal(one, other)

    for number in (1, 2, 5):
        with config(num_threads=number):
            with ThreadPoolExecutor(3) as threads:
                for done in [threads.submit(equal) for _ in range(6)]:
                    done.result()
            assert thread_pool.worker_count() >= number - 1


class _Refusing:
    """A driver that takes all launches but those that have this block."""

    def __init__(self, refused):
        self.begun, self.refused = [], refused
        self.set_pointer = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64)(lambda *_: 0)
        types = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, *[ctypes.POINTER(ctypes.c_size_t)] * 3
        self.enqueue = ctypes.CFUNCTYPE(ctypes.c_int32, *types, ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(self._enqueue)

    def _enqueue(self, queue, kernel, dimensions, offset, size, *_):
        begin = offset[0] if offset else 0
        self.begun.append((begin, size[0]))
        return -5 if begin <= self.refused < begin + size[0] else 0


@pytest.mark.parametrize("threads", [1, 2])
def test_what_a_driver_refuses_of_a_launch(backend, monkeypatch, threads):
    """Ends the program, whichever thread asked for it; and each block is asked for once."""
    for refused in (40, 3, 39):
        driver = _Refusing(refused)
        functions = [
            ctypes.cast(one, ctypes.c_void_p).value for one in (driver.set_pointer, driver.set_pointer, driver.enqueue)
        ]
        of_threads = run_pieces_address(), ctypes.addressof(thread_limit()), *range(1, MOST_TOGETHER + 1)
        table = 0, *functions, 0, 0, 0, *of_threads
        calls = NativeCalls(OPENCL_FUNCTIONS, table, Lock(), Asked(), table, table)
        monkeypatch.setattr(backend.device, "native_calls", lambda calls=calls: calls)
        monkeypatch.setattr(backend.device, "prepare", lambda *_: None)
        launch = Launch("add", (40, 1, 1), (1, 1, 1), (Place("argument", 0),))
        run = NativeRun(
            backend.device, Plan([launch], 0, b"", 0), {"add": SimpleNamespace(name="add", handle=1, together=1)}, 1, 0
        )
        with config(num_threads=threads):
            if refused >= 40:
                run.at([0, 0, 0, 0], waits=True)
                assert sorted(block for begin, size in driver.begun for block in range(begin, begin + size)) == list(range(40))
                assert (len(driver.begun) > 1) == (threads > 1)
            else:
                with pytest.raises(DeviceError, match="CL_OUT_OF_RESOURCES"):
                    run.at([0, 0, 0, 0], waits=True)


def test_which_programs_are_short(backend):
    def until_large(x):
        while x.sum() < 1e6:
            x = x * 2
        return x

    def plan(function, *arguments):
        return jit(function, backend="opencl").compile(*arguments).executable.program.plan

    small, large = np.ones(100, np.float32), np.ones(1_000_000, np.float32)
    assert plan(lambda x: (x * 2).sum() + x, small).is_short
    assert plan(lambda x: (x * 2).sum(), large).is_short  # whose blocks threads share
    assert not plan(lambda x: np.exp(x * 2).sum(), large).is_short
    assert plan(until_large, small).is_short  # as the thread would wait for what it goes on by
    assert plan(lambda x: np.linalg.svd(x.reshape(10, 10)), small).is_short  # which the host does in this thread, too


def test_plans_say_so(backend):
    module = parse_module(PLUS_ONE)
    program = program_of(module, backend.target)
    assert program.plan.as_text().startswith("temporary: 0 bytes, constant: 0 bytes, by the thread that asks\n")
    kept = program_of_bytes(bytes_of_program(program, module), module, backend.target, program.texts)
    assert kept.plan.is_short


@left_to_ci
def test_loops_stay_with_their_moving_pointers(backend, monkeypatch):
    """Also where what stands before them is as much as one kernel may do."""
    monkeypatch.setattr(fewer_launches, "_MOST_LAUNCHES", 3)

    def swapped(x, y, most):
        rounds = 0
        while x[0] < most:
            x, y = y + x.sum() * 0.5, x * 1.5
            rounds += 1
        return x, y, rounds

    compiled, arguments = jit(swapped, backend="opencl"), (np.ones(5), np.arange(5.0), 1e6)
    np.testing.assert_equal(compiled(*arguments), swapped(*arguments))
    steps = compiled.compile(*arguments).executable.program.plan.steps
    assert [[type(one).__name__ for one in step.body] for step in steps if isinstance(step, While)] == [["Launch"]]
