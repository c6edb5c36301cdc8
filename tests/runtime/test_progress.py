"""The line that says what is compiled, where that takes long. The stream is not sys.stderr, which pytest replaces."""

import io
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from phlox import jit
from phlox.runtime import progress

SHOWN = "\rphlox: "


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.delenv("PHLOX_PROGRESS", raising=False)
    stream = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    return stream


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(progress, "INTERVAL", 0.001)


def wait_for(stream, text):
    end = time.monotonic() + 10
    while text not in stream.getvalue():
        assert time.monotonic() < end, f"{text!r} is not in {stream.getvalue()[-200:]!r}"
        time.sleep(0.001)


def what_is_left(text):
    """What a terminal shows of a line in which every carriage return begins anew."""
    line = ""
    for part in text.split("\r"):
        line = part + line[len(part) :]
    return line.strip()


def test_stages_and_the_end(terminal, at_once):
    with progress.Progress("f", "tracing"):
        wait_for(terminal, "phlox: f: tracing, 0 s")
        with progress.Progress("inner", "optimizing"):
            wait_for(terminal, "phlox: f: optimizing, ")
            progress.set_stage("compiling with LLVM")
            wait_for(terminal, "phlox: f: compiling with LLVM, ")
    written = terminal.getvalue()
    assert what_is_left(written) == ""
    time.sleep(0.05)
    assert terminal.getvalue() == written


def test_stages_inside_of_each_other(terminal, at_once):
    with progress.Progress("f", "tracing"):
        with progress.Progress("inner", "optimizing"):
            pass
        wait_for(terminal, "phlox: f: tracing, ")


def test_a_compilation_that_takes_long(terminal, at_once, monkeypatch):
    from phlox.backends.cpu import backend

    compile_objects = backend.compile_objects

    def slow(*arguments):
        wait_for(terminal, "phlox: slow_function: compiling with LLVM, ")
        return compile_objects(*arguments)

    monkeypatch.setattr(backend, "compile_objects", slow)

    @jit
    def slow_function(x):
        return np.sin(x) + 1

    np.testing.assert_allclose(slow_function(np.zeros(3)), 1)
    assert what_is_left(terminal.getvalue()) == ""


def test_short_compilations_say_nothing(terminal):
    assert jit(lambda x: x + 1)(1.0) == 2.0
    assert terminal.getvalue() == ""


def test_an_error_takes_the_line_away(terminal, at_once):
    with pytest.raises(KeyError), progress.Progress("f", "tracing"):
        wait_for(terminal, SHOWN)
        raise KeyError
    assert what_is_left(terminal.getvalue()) == ""


@pytest.mark.parametrize("setting, stream", [("0", Terminal()), ("", io.StringIO()), ("", None), ("0", io.StringIO())])
def test_where_it_is_not_wanted_no_thread_is_started(monkeypatch, at_once, setting, stream):
    monkeypatch.setenv("PHLOX_PROGRESS", setting)
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    monkeypatch.setattr(threading, "Timer", None)
    with progress.Progress("f", "tracing"):
        progress.set_stage("compiling")


def test_where_it_is_asked_for(monkeypatch, at_once):
    monkeypatch.setenv("PHLOX_PROGRESS", "1")
    stream = io.StringIO()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    with progress.Progress("f", "tracing"):
        wait_for(stream, SHOWN)


def test_a_stream_that_is_closed_meanwhile(monkeypatch, at_once):
    stream = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    with progress.Progress("f", "tracing"):
        wait_for(stream, SHOWN)
        stream.close()
    timers = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
    assert all(timer.finished.is_set() for timer in timers)
