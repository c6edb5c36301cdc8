"""Exceptions of signals' handlers that come while a function is traced: they end the call, as no statement raised them."""

import signal

import numpy as np
import pytest
from phlox import jit
from phlox.tracer.recording.trace import RecordingBuilder

ALARMS = {"exception": TimeoutError, "base exception": type("Alarm", (BaseException,), {})}


def halved(v):
    return v * 0.5 if v.sum() > 4 else v + 1


def program(x, n, table):
    for _ in range(n):
        x = halved(x)
        if x[0] > 1e8:
            break
    for row in table:
        try:
            if row[0] < 0:
                raise ValueError("negative")
            x = halved(x) + row
        except ValueError:
            x = x - 1
    while x.sum() > 100:
        x = x / 2
        table[0] += 1
    return x


@pytest.mark.parametrize("kind", ALARMS)
def test_no_exception_of_a_handler_is_taken_for_the_programs(monkeypatch, kind):
    """At instructions all over the trace a signal comes."""
    append = RecordingBuilder.append
    recorded = 0

    def handler(number, frame):
        raise ALARMS[kind]("of the handler")

    def appended(self, instruction):
        nonlocal recorded
        recorded += 1
        if recorded == at:
            signal.raise_signal(signal.SIGALRM)
        return append(self, instruction)

    def arguments():
        return np.ones(3), 4, np.array([[1.0, 2, 3], [-1, 2, 3]])

    at, expected, changed = 0, program(*arguments()), arguments()
    f = jit(program)
    np.testing.assert_array_equal(f(*changed), expected)
    monkeypatch.setattr(RecordingBuilder, "append", appended)
    jit(program)(*arguments())
    before, count = signal.signal(signal.SIGALRM, handler), recorded
    assert count > 100
    try:
        for at in range(1, count, 29):
            recorded, f, given = 0, jit(program), arguments()
            with pytest.raises(ALARMS[kind], match="of the handler"):
                f(*given)
            np.testing.assert_array_equal(given[2], arguments()[2])
            at = 0
    finally:
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(f(*arguments()), expected)
