"""Calls that have begun natively and that Python makes again: nothing outside is done twice, and nothing is left out."""

import contextlib
import io
import logging
import os
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from phlox import host_call, jit
from phlox.backends.cpu.call import unsupported_reason

from ..support.native_calls import calls_noted

pytestmark = pytest.mark.skipif(unsupported_reason() is not None, reason=f"no native entries: {unsupported_reason()}")
X = np.arange(5.0)


def by_python(function, *args):
    """What the call gives or raises, and whether it came to Python."""
    with calls_noted() as called:
        try:
            found = function(*args)
        except Exception as error:
            found = error
    return found, "call_in_python" in called


class Account:
    def __init__(self):
        self.total, self.steps = 0.0, []

    def add(self, x, k):
        print("before", self.total)
        self.total += x.sum()
        self.steps.append(k)
        print("adds", x[k])
        self.total += x[k]
        print("behind", self.total)
        return self.total


def test_what_is_printed_before_an_error_behind_changes(capsys):
    compiled = jit(Account.add)
    plain, jitted = Account(), Account()
    for k in (1, 1, 1, 7, 2, -9, 3):
        expected, _ = by_python(Account.add, plain, X, k)
        printed = capsys.readouterr().out
        found, was_python = by_python(compiled, jitted, X, k)
        assert capsys.readouterr().out == printed
        assert type(found) is type(expected)
        assert str(found) == str(expected)
        assert (jitted.total, jitted.steps) == (plain.total, plain.steps)
    assert not by_python(compiled, jitted, X, 1)[1]
    assert by_python(compiled, jitted, X, 9)[1]


def positive(x):
    print("sum", x.sum())
    chosen = x[x > 2]
    print("chosen", chosen.size)
    return chosen


def test_sizes_beyond_their_bounds(capsys):
    compiled = jit(lambda x, n: (print("begins", n), np.repeat(x, n), print("ends", n))[1])
    for n in (2, 3, 2, 500, 3, 5000, 2):
        np.testing.assert_array_equal(compiled(X, n), np.repeat(X, n))
        assert capsys.readouterr().out == f"begins {n}\nends {n}\n"
    compiled = jit(positive)
    for x in (X, X + 1, X - 9, X):
        np.testing.assert_array_equal(compiled(x), positive(x))
        once, _, again = capsys.readouterr().out.partition("chosen")
        assert (once + "chosen" + again.partition("sum")[0]).count("sum") == 1


def handled(x, k):
    try:
        print("tries", x[0])
        print("finds", x[k])
    except IndexError as error:
        print("not there", error)
        return -1.0
    return x[k]


def test_prints_in_a_handler(capsys):
    compiled = jit(handled)
    for k in (1, 2, 3, 9, 2, -7, 4):
        expected = handled(X, k)
        printed = capsys.readouterr().out
        assert compiled(X, k) == expected
        assert capsys.readouterr().out == printed
    assert not by_python(compiled, X, 1)[1]


def test_host_calls_that_fail_and_generators(capsys):
    log, state = [], SimpleNamespace(n=0)

    def note(value):
        log.append(value)
        if value > 3:
            raise OverflowError("too large")

    def draws(rng, x):
        state.n += 1
        drawn = rng.normal()
        host_call(note, None, x)
        return drawn, rng.normal()

    compiled = jit(draws)
    plain, jitted = np.random.default_rng(1), np.random.default_rng(1)
    for x in (1.0, 2.0, 3.0, 4.0, 2.0, 5.0, 1.0):
        log.clear()
        expected, _ = by_python(draws, plain, np.float64(x))
        count, noted = state.n, list(log)
        log.clear()
        found, _ = by_python(compiled, jitted, np.float64(x))
        assert (state.n, log) == (count + 1, noted)
        assert str(found) == str(expected)
        assert jitted.bit_generator.state == plain.bit_generator.state
    assert not by_python(compiled, jitted, np.float64(1.0))[1]


def test_files_whose_numbers_become_more(tmp_path, capsys):
    file = tmp_path / "numbers.txt"

    def f(x):
        print("reads")
        return x.sum() + np.loadtxt(file).sum()

    compiled = jit(f)
    for text in ("1 2", "3 4", "5 6", "1 2 3", "4 5 6", "1 2", "7 8"):
        file.write_text(text)
        assert compiled(X) == 10.0 + sum(map(int, text.split()))
        assert capsys.readouterr().out == "reads\n"
    assert not by_python(compiled, X)[1]


def test_folders_that_are_made_before_an_error(tmp_path):
    folder, state = tmp_path / "made", SimpleNamespace(n=0)

    def f(x, k):
        state.n += 1
        os.mkdir(folder)
        return x[k]

    compiled = jit(f)
    for k in (1, 2, 1, 9, 2, 7):
        expected, _ = by_python(f, X, k)
        folder.rmdir()
        found, _ = by_python(compiled, X, k)
        assert (type(found), str(found)) == (type(expected), str(expected))
        folder.rmdir()
    assert state.n == 12


def test_calls_within_calls(capsys):
    inner = jit(Account.add)
    account = Account()

    def report(value):
        with pytest.raises(IndexError):
            inner(account, X, 9)
        print("reported", value)

    @jit
    def outer(x, k):
        account.total = 0.0
        host_call(report, None, x[0])
        return x[k]

    for k in (0, 1, 2, 9, 3):
        account.steps.clear()
        if k == 9:
            with pytest.raises(IndexError):
                outer(X, k)
        else:
            assert outer(X, k) == X[k]
        assert capsys.readouterr().out.count("reported") == 1
        assert len(account.steps) == 1


def test_several_threads():
    printed, lock = [], threading.Lock()

    def say(k):
        with lock:
            printed.append(int(k))

    state = SimpleNamespace(last=0)

    @jit
    def f(x, k):
        state.last = k
        host_call(say, None, k)
        return x[k]

    def work():
        for number in range(60):
            k = number % 7
            try:
                results.append(f(X, k) == X[k])
            except IndexError:
                results.append(k >= 5)

    results = []
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(results)
    assert len(printed) == len(results) == 240


class Counting:
    """A standard output that calls a jitted function, which prints, too, for each line, and fails at some of them."""

    def __init__(self, fails_at=None):
        self.lines, self.fails_at = [], fails_at
        self.inner = jit(self.told)

    def told(self, number):
        self.lines.append(f"inner {number}")
        return number + 1

    def write(self, text):
        if text.strip():
            if len(self.lines) == self.fails_at:
                raise OSError("no room")
            self.lines.append(text)
            self.inner(len(self.lines))


def said(x, k):
    try:
        print("first", x[0])
        print("second")
    except OSError as error:
        print(str(error))
    total = x[k]
    print("end", total, sep="-", end="!\n")
    x[0] = total
    return total


@pytest.mark.parametrize("fails_at", [None, 0, 2, 4])
@pytest.mark.parametrize("k", [1, 9])
def test_what_a_print_calls_is_a_part_of_it(monkeypatch, fails_at, k):
    decorated = jit(said)
    for number in range(3):
        outcomes = []
        for function in (said, decorated):
            output, x = Counting(fails_at if number else None), X.copy()
            with monkeypatch.context() as patched:
                patched.setattr("sys.stdout", output)
                try:
                    found = function(x, k)
                except Exception as error:
                    found = repr(error)
            outcomes.append((found, output.lines, x.tolist()))
        assert outcomes[0] == outcomes[1]


def test_loggers_are_told_once(caplog):
    logger = logging.getLogger("phlox.tests.made_again")

    def logs(x, k):
        logger.warning("value %s at %d", x[0], k)
        logger.error("keywords", extra={"place": 1})
        x[0] = 2.0
        return x[k]

    decorated = jit(logs)
    for k in (1, 2, 9, 1):
        told = []
        for function in (logs, decorated):
            caplog.clear()
            try:
                function(X.copy(), k)
            except IndexError:
                pass
            told.append([record.getMessage() for record in caplog.records])
        assert told[0] == told[1]
        assert len(told[0]) == 2


def test_what_is_written_goes_to_what_the_standard_output_is():
    def tells(x):
        print("value", x, file=sys.stdout)
        sys.stdout.write("written\n")
        print("error", file=sys.stderr)
        return x

    decorated = jit(tells)
    for number in range(4):
        texts = []
        for function in (tells, decorated):
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                function(number + 0.5)
            texts.append((out.getvalue(), err.getvalue()))
        assert texts[0] == texts[1]
    assert decorated.cache_info().misses == 1
