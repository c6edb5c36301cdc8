"""Compilation where it is interrupted, where memory runs out, and where the stack is small."""

import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from functools import partial

import numpy as np
import pytest
from llvmlite.binding import ffi
from phlox import cond, fori_loop, jit
from phlox.backends.llvm import llvm_work
from signals import Interrupt, interrupt

LONG = "x" * (1 << 20)


def run_script(script):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return run.stdout


# Interrupts


def test_a_handler_finds_no_step_at_which_llvmlite_keeps_its_lock(monkeypatch):
    """An exception at such a step would leave it to this thread for ever."""

    def raise_in_lock(frame, event, argument):
        if frame.f_code.co_filename == ffi.__file__ and frame.f_code.co_qualname.startswith("_LLVMLock."):
            raise Interrupt

    def other():
        taken.append(ffi.lib._lock._lock.acquire(timeout=5))
        ffi.lib._lock._lock.release()

    taken = []
    monkeypatch.setattr(ffi.lib._lock, "_cblist", [])  # of other packages in this process
    before = sys.getprofile()
    sys.setprofile(raise_in_lock)
    try:
        result = jit(lambda x: x * 3)(np.float32([2]))
    finally:
        sys.setprofile(before)
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert taken == [True] and result == 6


def test_functions_that_others_call_with_llvmlites_lock_are_called():
    steps = []
    functions = [partial(steps.append, "taken"), partial(steps.append, "left")]
    ffi.register_lock_callback(*functions)
    try:
        jit(lambda x: x * 5)(np.float32([2]))
    finally:
        ffi.unregister_lock_callback(*functions)
    assert steps[:2] == ["taken", "left"] and steps.count("taken") == steps.count("left")


def test_what_takes_long_is_left_alone_by_an_interrupt():
    class Code:
        pass

    def compile_slowly():
        held.append(weakref.ref(code := Code()))
        go_on.wait(30)
        ended.set()
        return code

    held, go_on, ended = [], threading.Event(), threading.Event()
    interrupt(0.1, llvm_work.run_interruptibly, LONG, compile_slowly)
    go_on.set()
    assert ended.wait(30)
    llvm_work.wait_for_all()
    for _ in range(300):  # the thread ends
        gc.collect()
        if held[0]() is None:
            break
        time.sleep(0.1)
    assert held[0]() is None


AT_THE_END = """
import signal, time
from phlox.backends.llvm import llvm_work

def handler(number, frame):
    raise TimeoutError

def work():
    time.sleep(0.5)
    print("done", flush=True)

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    llvm_work.run_interruptibly("", work)
except TimeoutError:
    print("interrupted", flush=True)
"""


def test_the_end_of_the_process_waits_for_what_was_left_alone():
    assert run_script(AT_THE_END).split() == ["interrupted", "done"]


def test_what_the_other_thread_raises_and_returns():
    assert llvm_work.run_interruptibly(LONG, lambda: 3) == 3
    with pytest.raises(KeyError, match="no"):
        llvm_work.run_interruptibly(LONG, lambda: {}["no"])


def assignments(x):
    y = np.zeros_like(x)
    y[:3] = x[:3]
    y[x > 2] += 1
    return y


def loops(x, inner=lambda v: v * 2):
    for i in range(3):
        x = inner(x) + i
    return x


def traced_loops(x):
    inner = jit(lambda v: v * 2)
    return cond(True, lambda v: fori_loop(0, 3, lambda i, v: inner(v) + i, v), lambda v: -v, x)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in finalizers, which drop exceptions
@pytest.mark.parametrize("function, expected", [(assignments, assignments), (traced_loops, loops)])
def test_interrupts_anywhere_leave_nothing_half_done(function, expected):
    """An exception at one of many calls that tracing and compiling make; then the same function, and another one."""

    def run(limit):
        count = 0

        def count_calls(frame, event, argument):
            nonlocal count
            if event == "c_call":  # no handler runs in front of these, as of the one that ends a `with` statement
                return
            count += 1
            if count == limit:
                sys.setprofile(None)
                raise Interrupt

        f = jit(function)
        try:
            sys.setprofile(count_calls)
            f(x)
        except Interrupt:
            pass
        finally:
            sys.setprofile(None)
        for g in (f, f, jit(function)):
            np.testing.assert_array_equal(g(x), expected(x))
        return count

    x = np.arange(6.0)
    jit(function)(x)
    total = run(0)
    for number in range(1, 8):
        run(total * number // 8)


# Memory


MEMORY = """
import os, resource, signal
import numpy as np
from phlox import jit

jit(lambda x: x + 1)(np.ones(3))
for mebibytes in (6, 14, 28, 4000):
    process = os.fork()
    if process == 0:
        signal.alarm(60)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with open("/proc/self/statm") as file:
            size = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + (mebibytes << 20),) * 2)
        try:
            functions = [np.sin, np.exp, np.tanh, np.sort]
            jit(lambda x: tuple(functions[i % 4](x[: 20 + i]) for i in range(4)))(np.ones(40))
        except MemoryError:
            os._exit(3)
        except BaseException:
            os._exit(4)
        os._exit(0)
    status = os.waitpid(process, 0)[1]
    print(-os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status), end=" ")
print(flush=True)
os._exit(0)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the size of a process is read from /proc")
def test_memory_that_runs_out_is_an_error():
    codes = list(map(int, run_script(MEMORY).split()))
    assert codes[-1] == 0
    assert codes[0] == 3, "6 MiB are not enough"
    assert min(codes) >= 0, f"signals have ended the process: {codes}"


SMALL_STACK = """
import threading
import numpy as np
from phlox import jit

def work():
    many = jit(lambda x: tuple(x + i for i in range(1000)))
    results.append(many(np.arange(3.0)))
    results.append(jit(lambda x: np.sort(np.sin(x))[::-1].cumsum())(np.arange(3000.0)))

results = []
threading.stack_size(1 << 16)
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(len(results), len(results[0]))
"""


def test_threads_with_little_stack():
    assert run_script(SMALL_STACK).split() == ["2", "1000"]
