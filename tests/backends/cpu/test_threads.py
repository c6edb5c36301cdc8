"""Programs whose work the pool of threads does, in pieces."""

import ctypes
import os
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import phlox
import pytest
from llvmlite import binding
from phlox import jit
from phlox.backends.cpu import thread_pool
from phlox.backends.cpu.machine_code import LoadedCode, compile_object
from phlox.backends.cpu.target import host_target
from phlox.backends.cpu.thread_pool_code import module_assembly
from phlox.runtime import thread_count
from signals import interrupt
from thinning import one_in, one_in_all

pooled = pytest.mark.skipif(thread_pool.unsupported_reason() is not None, reason="there is no pool here")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
THREADS = (1, 2, 3, 8)


def arrays(*shapes, dtype=np.float64):
    random = np.random.default_rng(0)
    return [(random.random(shape) + 0.5).astype(dtype) for shape in shapes]


@jit
def chain(x, y):
    return np.exp(-x * x) * np.sin(y) + np.tanh(x * y) + np.log1p(x)


def several_results(x, y):
    return np.exp(x) * y, np.sqrt(x) - y, x > y


def softmax(x):
    exponentials = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return exponentials / np.sum(exponentials, axis=-1, keepdims=True)


def updated(x, y):
    x = x.copy()
    x[1:-1, 2:-2] += np.sin(y[1:-1, 2:-2])
    x[3:-3, 1:-1] = y[3:-3, 1:-1]
    return x


def rows_of_other_lengths(x, y):
    return np.exp(x) * y[:, :1], np.sin(x) + y[0]


def rows_added(x, y):
    sums = np.zeros((23, x.shape[1]), x.dtype)
    np.add.at(sums, (y * 15).astype(np.int64), x)
    return sums


def largest_at_places(x, y):
    largest = y[:50].copy()
    np.maximum.at(largest, (x * 30).astype(np.int64), np.sin(x) * 2)
    return largest


DIVIDED = {
    "chain": (chain, [(50_001,), (50_001,)]),
    "several results": (several_results, [(40_003,), (40_003,)]),
    "rows": (rows_of_other_lengths, [(301, 203), (301, 203)]),
    "concatenate": (lambda x, y: np.concatenate([np.sin(x), np.cos(y)]), [(30_001,), (70_003,)]),
    "read across": (lambda x, y: np.exp(x.T) + y, [(301, 203), (203, 301)]),
    "transpose": (lambda x: x.T.copy(), [(503, 701)]),
    "sum": (lambda x: np.sum(x), [(200_003,)]),
    "sum of a product with rows": (lambda x, y: np.sum(x * y), [(301, 1003), (1003,)]),
    "mean and variance": (lambda x: (np.mean(x), np.var(x)), [(501, 403)]),
    "max": (lambda x: np.max(x), [(400_003,)]),
    "argmax": (lambda x: np.argmax(x), [(300_007,)]),
    "sums of rows": (lambda x: np.sum(x, axis=1), [(500, 403)]),
    "sums of short columns": (lambda x: np.sum(x, axis=0), [(70_003, 5)]),
    "sums of columns": (lambda x: np.sum(x, axis=0), [(503, 701)]),
    "least of columns": (lambda x: np.min(x, axis=0), [(1003, 701)]),
    "sums of long rows": (lambda x: np.sum(x, axis=0), [(11, 40_003)]),
    "sorts": (lambda x: np.sort(x, axis=1), [(203, 301)]),
    "sort": (lambda x: np.sort(x), [(150_001,)]),
    "order": (lambda x: np.argsort(x, kind="stable"), [(150_001,)]),
    "orders": (lambda x: np.argsort(x, axis=0), [(203, 301)]),
    "running sums of rows": (lambda x: np.cumsum(x, axis=1), [(403, 701)]),
    "running sums of columns": (lambda x: np.cumsum(x, axis=0), [(203, 1301)]),
    "running maximum": (lambda x: np.maximum.accumulate(x), [(300_007,)]),
    "running minimum from the end": (lambda x: np.minimum.accumulate(x[::-1])[::-1], [(90_001,)]),
    "running count": (lambda x: np.cumsum(x > 1), [(300_007,)]),
    "running product of integers": (lambda x: np.cumprod((x * 9).astype(np.int64) | 1), [(200_003,)]),
    "running truth": (lambda x: np.logical_and.accumulate(x < 1.49999), [(1_000_003,)]),
    "product": (lambda x, y: x @ y, [(201, 203), (203, 301)]),
    "product of a tall matrix": (lambda x, y: x @ y, [(3001, 31), (31, 37)]),
    "product of many terms": (lambda x, y: x @ y, [(31, 8009), (8009, 37)]),
    "transposed product of many terms": (lambda x, y: x.T @ y, [(8009, 31), (8009, 37)]),
    "transposed product": (lambda x, y: x.T @ y.T, [(203, 201), (301, 203)]),
    "batched product": (lambda x, y: x @ y, [(5, 101, 73), (5, 73, 103)]),
    "vectors' product": (lambda x, y: x @ y, [(200_003,), (200_003,)]),
    "product of a vector": (lambda x, y: x @ y, [(1001,), (1001, 303)]),
    "product with a vector": (lambda x, y: x @ y, [(1001, 303), (303,)]),
    "transforms": (lambda x: np.fft.fft(x, axis=1).real, [(101, 512)]),
    "transform": (lambda x, y: np.abs(np.fft.fft(x)) + np.fft.ifft(y).real, [(18_750,), (18_750,)]),
    "real transform": (lambda x: np.abs(np.fft.rfft(x)), [(1 << 16,)]),
    "sums at places": (lambda x, y: np.bincount((x * 40).astype(np.int64), y, 70), [(100_003,), (100_003,)]),
    "counts": (lambda x: np.bincount((x * 40).astype(np.int64)), [(100_003,)]),
    "rows at places": (rows_added, [(20_003, 7), (20_003,)]),
    "largest at places": (largest_at_places, [(70_001,), (60,)]),
    "histogram": (lambda x: np.histogram(x, 37, (0.6, 1.3))[0], [(100_003,)]),
    "update": (updated, [(301, 503), (301, 503)]),
    "softmax": (softmax, [(397, 503)]),
}


def in_bits(result):
    return [np.asarray(leaf).tobytes() for leaf in (result if isinstance(result, tuple) else (result,))]


def divides(function, *arguments):
    return function.compile(*arguments).executable.program.divides


@pooled
@pytest.mark.parametrize("name, dtype", one_in_all(5, DIVIDED, [np.float32, np.float64]))
def test_results_do_not_depend_on_the_number_of_threads(name, dtype):
    function, shapes = DIVIDED[name]
    function, arguments = jit(function), arrays(*shapes, dtype=dtype)
    assert divides(function, *arguments)
    expected = None
    for number in THREADS * 3:
        with phlox.config(num_threads=number):
            found = in_bits(function(*arguments))
        assert expected is None or found == expected
        expected = found
    assert thread_pool.worker_count() >= max(THREADS) - 1


@pytest.mark.parametrize("name", one_in(4, DIVIDED))
def test_values_of_what_is_divided(name):
    function, shapes = DIVIDED[name]
    arguments = arrays(*shapes)
    found, expected = jit(function)(*arguments), function(*arguments)
    for one, other in zip(*[value if isinstance(value, tuple) else (value,) for value in (found, expected)], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13 * np.abs(other).max())


@pooled
@pytest.mark.parametrize("function", [np.cumsum, np.cumprod])
def test_running_sums_in_any_order(function):
    """Where rounding may differ from NumPy's, it is the same for any number of threads."""
    (x,) = arrays((300_007,), dtype=np.float32)
    x = x if function is np.cumsum else np.exp((x - 1) / 100)
    running = jit(lambda x: function(x), fastmath=True)
    assert divides(running, x)
    expected = running(x)
    np.testing.assert_allclose(expected, function(x.astype(np.float64)), rtol=1e-4)
    for number in THREADS * 3:
        with phlox.config(num_threads=number):
            assert in_bits(running(x)) == in_bits(expected)


def test_running_sums_of_floats_are_those_of_numpy():
    (x,) = arrays((300_007,))
    assert in_bits(jit(lambda x: np.cumsum(x))(x)) == in_bits(np.cumsum(x))


@pooled
def test_running_maximum_keeps_the_first_nan():
    (x,) = arrays((200_003,))
    x[:90_000] = np.where(np.arange(90_000) % 2, 0.0, -0.0)
    x.view(np.uint64)[[150_000, 150_001, 190_000]] = [0xFFF8 << 48, 0x7FF8 << 48, (0x7FF8 << 48) + 5]
    running = jit(lambda x: np.maximum.accumulate(x))
    for number in THREADS * 3:
        with phlox.config(num_threads=number):
            found = running(x)
        np.testing.assert_array_equal(found, np.maximum.accumulate(x))
        assert (found[150_000:].view(np.int64) == x.view(np.int64)[150_000]).all()


@pooled
def test_running_sum_in_place():
    """Here no thread may read what another one has overwritten."""
    (x,) = arrays((300_007,), dtype=np.float32)
    x = (x * 100).astype(np.int64)

    @jit
    def in_place(x):
        np.cumsum(x, out=x)

    for number in THREADS:
        y = x.copy()
        with phlox.config(num_threads=number):
            in_place(y)
        np.testing.assert_array_equal(y, np.cumsum(x))


def test_values_that_are_changed_in_place():
    x, y = arrays((60_007,), (60_007,))
    np.testing.assert_allclose(chain(x, y), np.exp(-x * x) * np.sin(y) + np.tanh(x * y) + np.log1p(x), rtol=1e-13)
    z = x.copy()

    @jit
    def in_place(z):
        z[:] = np.sin(z) * 3
        z[:100] = 0

    in_place(z)
    np.testing.assert_allclose(z, np.where(np.arange(z.size) < 100, 0, np.sin(x) * 3), rtol=1e-13)


def test_small_programs_are_not_divided():
    assert not divides(jit(lambda x, y: x + y), *arrays((1000,), (1000,)))
    assert not divides(chain, *arrays((500,), (500,)))


# The pool


def run_python(source, **environment):
    """What the program prints behind `PROGRAM`."""
    return run_alone(textwrap.dedent(PROGRAM) + textwrap.dedent(source), **environment)


def run_alone(source, **environment):
    completed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)],
        env=os.environ | environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert completed.returncode == 0, completed.stderr
    return completed.stdout.split()


PROGRAM = """
    import os, sys, threading, time
    import numpy as np
    import phlox
    from phlox import jit
    from phlox.backends.cpu import thread_pool

    @jit
    def f(x):
        return np.sin(x) * np.exp(x) + np.tanh(x)

    def forever():
        while True:
            f(x)

    x = np.linspace(0, 1, 200_001)
    expected = np.sin(x) * np.exp(x) + np.tanh(x)
"""


@pooled
@pytest.mark.parametrize("number", [1, 3])
def test_environment_variable(number):
    source = "f(x); print(phlox.config().num_threads, thread_pool.worker_count())"
    assert run_python(source, PHLOX_NUM_THREADS=str(number)) == [str(number), str(number - 1)]


@pytest.mark.parametrize("usual, expected", [("3", 3), ("2,4", 2), ("", None), ("dynamic", None)])
def test_usual_environment_variable(usual, expected, monkeypatch):
    monkeypatch.delenv("PHLOX_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", usual)
    assert thread_count.thread_limit.__wrapped__().value == (expected or thread_count.available_cores())
    monkeypatch.setenv("PHLOX_NUM_THREADS", "5")
    assert thread_count.thread_limit.__wrapped__().value == 5


@pytest.mark.parametrize("wrong", ["0", "many"])
def test_environment_variable_without_a_number(wrong, monkeypatch):
    monkeypatch.setenv("PHLOX_NUM_THREADS", wrong)
    with pytest.raises(ValueError, match=f"PHLOX_NUM_THREADS requires a number of threads, 1 or more; given '{wrong}'"):
        thread_count.thread_limit.__wrapped__()


@pooled
def test_threads_are_started_when_they_are_needed():
    source = """
        print(thread_pool.worker_count())
        f(x[:10])
        print(thread_pool.worker_count())
        f(x)
        print(thread_pool.worker_count())
    """
    assert run_python(source, PHLOX_NUM_THREADS="4") == ["0", "0", "3"]


@pooled
@pytest.mark.parametrize("end", ["", "sys.exit(0)", "threading.Thread(target=forever, daemon=True).start()"])
def test_end_of_the_interpreter(end):
    """Threads of the pool are asleep, or at work for a thread that never ends."""
    assert run_python(f"f(x); print('done', flush=True); {end}", PHLOX_NUM_THREADS="4") == ["done"]


@forks
@pooled
def test_forks():
    source = """
        f(x)
        for _ in range(20):
            before = thread_pool.worker_count()
            child = os.fork()
            if child == 0:
                none = thread_pool.worker_count()
                found = f(x)
                child = os.fork()
                if child == 0:
                    os._exit(not np.allclose(f(x), expected))
                status = os.waitpid(child, 0)[1]
                os._exit(not (status == 0 and none == 0 and np.allclose(found, expected)))
            assert np.allclose(f(x), expected)
            assert os.waitpid(child, 0)[1] == 0
        print(before, thread_pool.worker_count())
    """
    assert run_python(source, PHLOX_NUM_THREADS="3") == ["2", "2"]


@forks
@pooled
def test_forks_while_other_threads_compute():
    source = """
        f(x)
        ended, wrong = threading.Event(), []
        def work():
            while not ended.is_set():
                if not np.allclose(f(x), expected):
                    wrong.append(0)
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(20):
            child = os.fork()
            if child == 0:
                os._exit(not np.allclose(f(x), expected))
            assert os.waitpid(child, 0)[1] == 0
        ended.set()
        for thread in threads:
            thread.join()
        print(len(wrong))
    """
    assert run_python(source, PHLOX_NUM_THREADS="2") == ["0"]


@forks
@pooled
def test_fork_in_the_middle_of_a_divided_loop():
    """By a signal's handler: both processes go on with the pieces that are left."""
    source = """
        import signal
        children = []
        def handler(number, frame):
            children.append(os.fork())
        signal.signal(signal.SIGALRM, handler)
        x = np.linspace(0, 1, 10_000_001)
        expected = x + 0
        @jit
        def g(x):
            return np.sin(np.cos(np.sin(np.cos(np.sin(x) * np.exp(x) + np.tanh(x)))))
        g(x[:7])
        g.compile(x)
        signal.setitimer(signal.ITIMER_REAL, 0.06)
        found = g(x)
        while not children:
            signal.pause()
        expected = np.sin(np.cos(np.sin(np.cos(np.sin(x) * np.exp(x) + np.tanh(x)))))
        is_right = np.allclose(found, expected, rtol=1e-12)
        if children[0] == 0:
            os._exit(0 if is_right and np.allclose(g(x), expected, rtol=1e-12) else 1)
        print(is_right, os.waitpid(children[0], 0)[1])
    """
    assert run_python(source, PHLOX_NUM_THREADS="2") == ["True", "0"]


@pooled
def test_calls_from_eight_threads_at_once():
    inputs = [arrays((20_000 + 1000 * number,), (20_000 + 1000 * number,)) for number in range(8)]
    expected = [in_bits(chain(*pair)) for pair in inputs]
    barrier, wrong = threading.Barrier(8), []

    def work(number):
        barrier.wait(30)
        for _ in range(100):
            if in_bits(chain(*inputs[number])) != expected[number]:
                wrong.append(number)

    with phlox.config(num_threads=3):
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
    assert not wrong


@pooled
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="this system does not say what its threads do")
def test_the_pool_sleeps():
    """A thread that spun would be running, `R` in /proc, for ever."""
    with phlox.config(num_threads=4):
        chain(*arrays((50_001,), (50_001,)))
    others = set(Path("/proc/self/task").iterdir()) - {Path("/proc/self/task", str(threading.get_native_id()))}
    assert len(others) >= 3
    for _ in range(1000):
        if not any(map(is_running, others)):
            return
        time.sleep(0.01)
    raise AssertionError("a worker has been running for 10 s with nothing to do")


def is_running(task):
    with suppress(OSError):  # a thread that has ended
        return (task / "stat").read_text().rpartition(")")[2].split()[0] == "R"
    return False


@pooled
@pytest.mark.skipif(not hasattr(__import__("signal"), "setitimer"), reason="this system has no timers")
def test_interrupt_in_a_divided_loop():
    x = np.linspace(0, 1, 60_000_001)

    @jit
    def long(x):
        for _ in range(50):
            x = np.sin(np.cos(x)) + np.tanh(x)
        return x

    compiled = long.compile(x)
    assert compiled.executable.program.divides
    with phlox.config(num_threads=3):
        interrupt(0.1, long, x)
        y = x[:50_001]
        np.testing.assert_array_equal(chain(y, y), chain(y, y))


MEETING = """
; Two pieces that wait for each other, so that two threads run them, and then write down their modes of rounding.
define i32 @piece(ptr %context, i64 %number, ptr %scratch) {
start:
  %before = atomicrmw add ptr %context, i64 1 seq_cst
  br label %wait
wait:
  %turn = phi i64 [ 0, %start ], [ %following, %again ]
  %arrived = load atomic i64, ptr %context seq_cst, align 8
  %are_both = icmp sge i64 %arrived, 2
  %is_late = icmp eq i64 %turn, 100000000
  %goes_on = or i1 %are_both, %is_late
  br i1 %goes_on, label %done, label %again
again:
  %following = add i64 %turn, 1
  %yielded = call i32 @sched_yield()
  br label %wait
done:
  %place = add i64 %number, 2
  %at = getelementptr i32, ptr %context, i64 %place
  call void @llvm.x86.sse.stmxcsr(ptr %at)
  ret i32 0
}
define void @set_modes(ptr %at) {
  call void @llvm.x86.sse.ldmxcsr(ptr %at)
  ret void
}
declare i32 @sched_yield()
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
"""


@pooled
@pytest.mark.skipif("x86_64" not in host_target().triple, reason="reads a register of x86")
def test_workers_round_as_the_caller_does():
    """Here also: numbers that are too small for their exponent are taken for 0."""
    code = LoadedCode(compile_object(MEETING, host_target()), host_target(), {})
    run_type = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 3, ctypes.c_void_p, ctypes.c_int64)
    run, set_modes = (
        run_type(thread_pool.run_pieces_address()),
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address("set_modes")),
    )
    found = []

    def work():
        for modes in (0x1F80, 0x9FC0, 0x1F80):
            words = np.array([modes, 0, 0, 0], np.uint32)
            set_modes(words.ctypes.data)
            words[0] = 0
            run(code.address("piece"), words.ctypes.data, 2, 10**6, 0, None, 0)
            set_modes(np.array([0x1F80], np.uint32).ctypes.data)
            found.append((int(words[0]), *[int(word) & ~0x3F for word in words[2:]]))  # without what has occurred

    with phlox.config(num_threads=2):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)
    assert found == [(2, 0x1F80, 0x1F80), (2, 0x9FC0, 0x9FC0), (2, 0x1F80, 0x1F80)]


def test_code_for_another_processor():
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    for architecture, wait in (("aarch64", "yield"), ("x86_64", "pause")):
        machine = binding.Target.from_triple(f"{architecture}-unknown-linux-gnu").create_target_machine()
        with binding.parse_assembly(module_assembly(architecture), binding.create_context()) as module:
            module.verify()
            assert wait in machine.emit_assembly(module)


def test_pieces_where_there_is_no_pool():
    code = LoadedCode(compile_object(module_assembly(None), host_target()), host_target(), {})
    piece_type = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
    run = ctypes.CFUNCTYPE(ctypes.c_int32, piece_type, ctypes.c_void_p, *[ctypes.c_int64] * 3, ctypes.c_void_p, ctypes.c_int64)(
        code.address(thread_pool.RUN_PIECES)
    )
    seen = []
    assert run(piece_type(lambda context, number, scratch: seen.append((context, number, scratch)) or 0), 1, 3, 9, 0, 2, 8) == 0
    assert seen == [(1, number, 2) for number in range(3)]
    assert run(piece_type(lambda context, number, scratch: seen.append(number) or 5), 1, 3, 9, 0, 2, 8) == 5
    assert seen[3:] == [0]


# How many threads there are


def test_config():
    before = phlox.config().num_threads
    with phlox.config(num_threads=5) as config:
        assert config.num_threads == phlox.config().num_threads == 5
        with phlox.config(num_threads=np.int32(2)):
            assert repr(phlox.config()) == "config(num_threads=2, kernel_seconds=inf, deterministic=False)"
        assert phlox.config().num_threads == 5
    assert phlox.config().num_threads == before
    with pytest.raises(ValueError, match="1 or more; given 0"):
        phlox.config(num_threads=0)
    with pytest.raises(TypeError, match="requires an integer, float given"):
        phlox.config(num_threads=1.5)
    assert phlox.config().num_threads == before


@pytest.mark.parametrize("first", ["phlox", "threadpoolctl"])
def test_threadpoolctl(first):
    """Whichever is imported first."""
    pytest.importorskip("threadpoolctl", minversion="3.2")
    program = f"""
        import {first}
        import phlox, threadpoolctl
        import numpy as np
        phlox.jit(lambda x: x + 1)(np.ones(3))  # loads the library that the threads are listed with
        (found,) = [one for one in threadpoolctl.threadpool_info() if one["user_api"] == "phlox"]
        with threadpoolctl.threadpool_limits(1):
            limited = phlox.config().num_threads
        with threadpoolctl.threadpool_limits(2, user_api="blas"):
            print(found["num_threads"], limited, phlox.config().num_threads)
    """
    assert run_alone(program, PHLOX_NUM_THREADS="5") == ["5", "1", "5"]


@pytest.mark.parametrize(
    "files, quotas",
    [
        ({"a/b/cpu.max": "150000 100000\n", "a/cpu.max": "max 100000\n", "membership": "0::/a/b\n"}, [2]),
        ({"a/b/cpu.max": "max 100000\n", "a/cpu.max": "400000 100000\n", "membership": "0::/a/b\n"}, [4]),
        ({"cpu.max": "50000 100000\n", "membership": "0::/\n"}, [1]),
        (
            {
                "cpu/x/cpu.cfs_quota_us": "300000\n", "cpu/x/cpu.cfs_period_us": "100000\n",
                "membership": "3:memory:/y\n2:cpu,cpuacct:/x\n",
            },
            [3],
        ),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n", "membership": "2:cpu:/\n"}, []),
        ({"membership": ""}, []),
    ],
)  # fmt: skip
def test_quotas_of_control_groups(files, quotas, tmp_path):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert list(thread_count._quotas(tmp_path / "membership", tmp_path)) == quotas


def test_available_cores():
    assert 1 <= thread_count.available_cores() <= os.cpu_count()
