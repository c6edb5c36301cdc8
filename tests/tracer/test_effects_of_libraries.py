"""What functions and objects of libraries do outside happens at each call, or is an error, and never while tracing alone."""

import contextlib
import csv
import io
import logging
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import types

import numpy as np
import phlox
import pytest
from phlox import jit

X = np.array([1.0, 2.0, 3.0])
LOG = logging.getLogger("phlox.tests.effects")


@pytest.fixture
def said(caplog):
    caplog.set_level(logging.DEBUG, LOG.name)
    return lambda: [(record.levelname, record.getMessage()) for record in caplog.records]


def says_values(x, n):
    LOG.info("the sum is %.1f", x.sum())
    LOG.debug(f"and the mean {x.mean():.2f}")
    return x


def says_in_a_loop(x, n):
    for i in range(n):
        LOG.info("round %d: %s", i, x[i % 3])
    return x


def says_in_a_branch(x, n):
    if x[0] > n:
        LOG.warning("small")
    else:
        LOG.log(logging.ERROR, "large: %s", [x[0], n])
    return x


def says_and_changes(x, n):
    x[0] = n
    LOG.info("before")
    if x[1] > 0:
        raise ValueError("positive")


def asks_for_the_level(x, n):
    if LOG.isEnabledFor(logging.INFO):
        LOG.info("enabled")
    return x


@pytest.mark.parametrize("function", [says_values, says_in_a_loop, says_in_a_branch, asks_for_the_level])
def test_loggers_are_told_at_each_call(function, said, caplog):
    jitted, calls = jit(function), [(X, 2), (X * 2, 3), (X, 2), (-X, 500)]
    for x, n in calls:
        function(x, n)
    expected = said()
    caplog.clear()
    for x, n in calls:
        jitted(x, n)
    assert said() == expected and expected


def test_a_level_that_is_set_meanwhile_counts(said, caplog):
    jitted = jit(asks_for_the_level)
    for level, lines in ((logging.INFO, 1), (logging.ERROR, 1), (logging.INFO, 2)):
        caplog.set_level(level, LOG.name)
        jitted(X, 1)
        assert len(said()) == lines


def test_what_was_said_is_not_said_again_where_python_makes_the_call(said):
    x = X.copy()
    with pytest.raises(ValueError, match="positive"):
        jit(says_and_changes)(x, 7)
    assert x[0] == 7 and said() == [("INFO", "before")]


def writes(x):
    sys.stdout.write(f"{x[0]}\n")
    return sys.stderr.write("twice"), sys.stdout.flush()


def test_what_standard_streams_are_at_the_call_is_written_to(capsys):
    jitted = jit(writes)
    assert jitted(X) == (5, None) and jitted(X * 2) == (5, None)
    assert capsys.readouterr() == ("1.0\n2.0\n", "twicetwice")


def test_a_stream_whose_method_is_a_function(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "stdout", types.SimpleNamespace(write=lambda text: told.append(text), flush=lambda: None))
    jitted = jit(lambda x: sys.stdout.write(f"{x[0]}"))
    jitted(X), jitted(X * 2)
    assert told == ["1.0", "2.0"]


def test_folders_are_made_and_removed_at_each_call(tmp_path):
    path, other = str(tmp_path / "made"), str(tmp_path / "other")

    @jit
    def make(x):
        os.makedirs(path, exist_ok=True)
        os.rename(path, other)
        return x + 1

    for _ in range(3):
        make(X)
        assert os.path.isdir(other)
        os.rmdir(other)


LOCK = threading.Lock()


def under_a_lock(x):
    with LOCK:
        return x + 1


def redirected(x):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        print(x)
    return text.getvalue()


QUEUE, EVENT, WRITER = queue.Queue(), threading.Event(), csv.writer(io.StringIO())


@pytest.mark.parametrize(
    "effect",
    [
        lambda x: QUEUE.put(x.sum()),
        lambda x: EVENT.set(),
        lambda x: WRITER.writerow([1, 2]),
        lambda x: subprocess.run(["true"]),
        lambda x: os.system("true"),
        lambda x: tempfile.mkdtemp(),
        lambda x: threading.Thread(target=print).start(),
        lambda x: shutil.copy("a", "b"),
        lambda x: subprocess.Popen(["true"]),
        lambda x: os.stat("/"),
        lambda x: LOG.setLevel(0),
        redirected,
    ],
)
def test_what_would_happen_once_only_is_an_error(effect):
    before = QUEUE.qsize(), EVENT.is_set(), LOG.level
    for function in (effect, lambda x: effect(x) if x[0] > 0 else None):
        with pytest.raises(phlox.TracerError, match="phlox.host_call"):
            jit(function)(X)
    assert (QUEUE.qsize(), EVENT.is_set(), LOG.level) == before


def test_a_lock_is_to_be_taken_around_the_call():
    with pytest.raises(phlox.TracerError, match="global LOCK, a lock, .* Take the lock around the call"):
        jit(under_a_lock)(X)
    assert not LOCK.locked()


def test_host_calls_do_it():
    jit(lambda x: phlox.host_call(QUEUE.put, None, x.sum()))(X)
    assert QUEUE.get_nowait() == 6.0


def test_what_the_function_makes_itself_is_its_own():
    @jit
    def through_a_queue(x):
        own = queue.Queue()
        own.put(x * 2)
        return own.get()

    assert through_a_queue(X).tolist() == [2.0, 4.0, 6.0]
