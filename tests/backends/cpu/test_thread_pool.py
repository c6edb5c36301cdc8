"""The pool of threads: how many there are, when they run, and what interrupts, forks and the end of a process do to them."""

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
from divided_programs import arrays, chain, in_bits, pooled
from llvmlite import binding
from phlox import jit
from phlox.backends.cpu import thread_pool
from phlox.backends.cpu.machine_code import LoadedCode, compile_object
from phlox.backends.cpu.target import host_target
from phlox.backends.cpu.thread_pool_code import module_assembly
from phlox.runtime import thread_count
from signals import interrupt

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


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
    code = LoadedCode([compile_object(MEETING, host_target())], host_target(), {})
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
    code = LoadedCode([compile_object(module_assembly(None), host_target())], host_target(), {})
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
