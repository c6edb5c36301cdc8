"""Generators that several threads draw from, by NumPy and in compiled code: no number is given twice, and none is left out."""

import random
import signal
import sys
import threading
import time

import numpy as np
import pytest
from phlox import jit

MAKE = {
    "Generator": lambda: np.random.default_rng(5),
    "RandomState": lambda: np.random.RandomState(np.random.PCG64(5)),
}


@jit
def one_by_one(generator, n):
    out = np.zeros(n)
    for i in range(n):
        out[i] = generator.random_sample() if isinstance(generator, np.random.RandomState) else generator.random()
    return out


@jit
def at_once(generator):
    return generator.random_sample(2000) if isinstance(generator, np.random.RandomState) else generator.random(2000)


@pytest.fixture
def frequent_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def _numbers(generator, count):
    return generator.random_sample(count) if isinstance(generator, np.random.RandomState) else generator.random(count)


@pytest.mark.parametrize("kind", MAKE)
def test_numpy_and_programs_take_turns(kind, frequent_switches):
    generator = MAKE[kind]()
    one_by_one(MAKE[kind](), 10), at_once(MAKE[kind]())
    found = []

    def by_numpy():
        for _ in range(10):
            found.append(_numbers(generator, 50_000))

    def by_programs():
        for _ in range(20):
            found.append(one_by_one(generator, 20_000))
            found.append(at_once(generator))

    threads = [threading.Thread(target=target) for target in (by_numpy, by_programs, by_numpy, by_programs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    every = np.sort(np.concatenate(found))
    np.testing.assert_array_equal(every, np.sort(_numbers(MAKE[kind](), every.size)))


@pytest.mark.parametrize("kind", MAKE)
def test_who_holds_the_lock_may_call(kind):
    ours, theirs = MAKE[kind](), MAKE[kind]()
    holder = ours.bit_generator if kind == "Generator" else ours._bit_generator
    one_by_one(MAKE[kind](), 10)
    with holder.lock:
        np.testing.assert_array_equal(one_by_one(ours, 100), _numbers(theirs, 100))


def test_a_lock_that_another_thread_holds_is_waited_for():
    generator = np.random.default_rng(5)
    expected = np.random.default_rng(5).random(10)
    one_by_one(np.random.default_rng(5), 10)
    is_held, is_over, found = threading.Event(), threading.Event(), []

    def hold():
        with generator.bit_generator.lock:
            is_held.set()
            is_over.wait(0.2)
            found.append("released")

    def draw():
        found.append(one_by_one(generator, 10))

    holder, thread = threading.Thread(target=hold), threading.Thread(target=draw)
    holder.start()
    is_held.wait()
    thread.start()
    thread.join()
    holder.join()
    assert found[0] == "released"
    np.testing.assert_array_equal(found[1], expected)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
def test_who_waits_can_be_interrupted():
    generator = np.random.default_rng(5)
    one_by_one(np.random.default_rng(5), 10)
    is_held, is_over = threading.Event(), threading.Event()

    def hold():
        with generator.bit_generator.lock:
            is_held.set()
            is_over.wait(0.5)

    holder = threading.Thread(target=hold)
    # The program sends the interrupt again, as SIGINT, which processes in the background may ignore.
    signals = signal.SIGALRM, signal.SIGINT
    before = [signal.signal(one, signal.default_int_handler) for one in signals]
    holder.start()
    is_held.wait()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            one_by_one(generator, 10_000_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for one, handler in zip(signals, before):
            signal.signal(one, handler)
        is_over.set()
        holder.join()


def test_random_of_python_needs_no_lock(frequent_switches):
    generator = random.Random(5)
    draw = jit(lambda generator, n: [generator.random() for _ in range(n)])
    draw(random.Random(5), 1000)
    found = []

    def by_python():
        for _ in range(2000):
            found.append(generator.random())

    def by_programs():
        for _ in range(20):
            found.extend(draw(generator, 1000))

    threads = [threading.Thread(target=target) for target in (by_python, by_programs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    other = random.Random(5)
    assert sorted(found) == sorted(other.random() for _ in range(22_000))


def test_threads_share_a_generator():
    """Each number is drawn once."""
    generator = np.random.default_rng(3)
    jitted = jit(lambda g: np.array([g.random() for _ in range(2000)]))
    jitted(np.random.default_rng(1))
    found = []
    threads = [threading.Thread(target=lambda: found.append(jitted(generator))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(np.sort(np.concatenate(found)), np.sort(np.random.default_rng(3).random(8000)))


def test_other_threads_run_while_a_program_draws():
    def total(g, n):
        found = 0.0
        for _ in range(n):
            found += g.standard_normal()
        return found

    jitted, counted, is_over = jit(total), [0], threading.Event()
    jitted(np.random.default_rng(1), 1000)

    def count():
        while not is_over.is_set():
            counted[0] += 1
            time.sleep(0.01)

    thread = threading.Thread(target=count)
    thread.start()
    jitted(np.random.default_rng(1), 40_000_000)
    seen = counted[0]
    is_over.set()
    thread.join()
    assert seen >= 2
