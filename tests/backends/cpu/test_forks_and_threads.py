"""Functions that are called from several threads while they are traced, and in forked processes."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from phlox import jit

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def test_thread_that_is_joined_while_its_function_is_traced():
    @jit(control_flow="trace")  # threads are begun, and waited for, while it is traced
    def f(x):
        if x.shape == (3,):
            results = []
            thread = threading.Thread(target=lambda: results.append(f(np.ones(4))), daemon=True)
            thread.start()
            thread.join(30)
            assert len(results) == 1, "the thread waits for this one"
        return x + 1

    np.testing.assert_array_equal(f(np.ones(3)), np.full(3, 2.0))
    np.testing.assert_array_equal(f(np.ones(4)), np.full(4, 2.0))


def test_many_threads_trace_and_one_compiles():
    barrier = threading.Barrier(6)

    @jit(control_flow="trace")  # threads are begun, and waited for, while it is traced
    def f(x, n):
        if threading.current_thread() is not threading.main_thread():
            barrier.wait(30)  # all of them trace at once
        return x.reshape(n, -1) * 2

    def work():
        barrier.wait(30)
        results.append(f(np.ones(6), 2))

    results: list[np.ndarray] = []
    f(np.ones(4), 2)  # n becomes static
    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6 and f.cache_info().misses == 2
    for result in results:
        np.testing.assert_array_equal(result, np.full((2, 3), 2.0))


CHILDREN = """
import os, signal, sys, threading, time
import numpy as np
import phlox
from phlox import custom_call, fori_loop, jit

signal.alarm(100)
x = np.ones(10)

def in_child(work, seconds=20):
    process = os.fork()
    if process == 0:
        signal.alarm(seconds)
        try:
            work()
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(process, 0)[1] == 0

def compiles():
    np.testing.assert_allclose(jit(lambda x: np.sin(x * 3) + 1)(x), np.sin(x * 3) + 1)

def main():
    {body}

main()
print("done")
os._exit(0)
"""
BODIES = {
    "while another thread compiles": """
    def compile_all_the_time():
        number = 0
        while not stop:
            number += 1
            jit(lambda x: np.exp(np.sin(x + number)) * np.tanh(x))(x)
    stop = []
    thread = threading.Thread(target=compile_all_the_time)
    thread.start()
    time.sleep(0.3)
    for _ in range(6):
        in_child(compiles)
    stop.append(True)
    thread.join()
""",
    "while the function is traced": """
    def f(y):
        in_child(compiles)
        return y * 2
    np.testing.assert_array_equal(jit(f, control_flow="trace")(x), 2 * x)  # captured, the fork would be refused
""",
    "while a loop runs in another thread": """
    f = jit(lambda x, n: fori_loop(0, n, lambda i, v: v * 1.5 % 7, x))
    f(1.0, 3)
    thread = threading.Thread(target=f, args=(1.0, 10**12), daemon=True)
    thread.start()
    time.sleep(0.1)
    in_child(lambda: (compiles(), f(1.0, 1000)))
""",
    "in a function that compiled code calls": """
    phlox.register_custom_call("forks", lambda v: (in_child(compiles), v)[1])
    np.testing.assert_array_equal(jit(lambda v: custom_call("forks", v, result=v))(x), x)
""",
    "of a thread, and the child is interrupted": """
    f = jit(lambda x, n: fori_loop(0, n, lambda i, v: v * 1.5 % 7, x))
    f(1.0, 3)
    def loop():
        def handler(number, frame):
            raise KeyError
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        try:
            f(1.0, 10**12)
        except KeyError:
            return
    failures = []
    def fork():
        try:
            in_child(loop)
        except AssertionError as error:
            failures.append(error)
    thread = threading.Thread(target=fork)
    thread.start()
    thread.join()
    assert not failures
""",
}


@forks
@pytest.mark.parametrize("name", BODIES)
def test_fork(name):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    script = CHILDREN.replace("{body}", BODIES[name].strip())
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120)
    assert run.stdout.strip() == "done", run.stderr
