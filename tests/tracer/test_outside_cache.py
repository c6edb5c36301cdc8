"""When what is outside makes a function be traced again, and what errors and threads leave behind."""

import gc
import threading
import types
import weakref
from array import array

import numpy as np
import pytest
from phlox import jit
from phlox.tracer.calls.specialization import Specialization
from programs_outside import X


def test_reasons():
    holder = types.SimpleNamespace(flag=True, w=np.ones(3))
    f = jit(lambda x: x * holder.w if holder.flag else x)
    f(X)
    holder.w = np.ones((2, 3))
    f(X)
    holder.flag = False
    f(X)
    reasons = [entry.reason for entry in f.cache_info().entries]
    assert reasons[1:] == [
        "closure variable holder.w: shape (3,) -> (2, 3)", "closure variable holder.flag: True -> False"
    ]  # fmt: skip


def test_what_was_there_before_is_not_traced_again():
    holder = types.SimpleNamespace(flag=True)
    f = jit(lambda x: x * 2 if holder.flag else x)
    for flag in (True, False, True, False, True):
        holder.flag = flag
        np.testing.assert_array_equal(f(X), X * 2 if flag else X)
    assert f.cache_info().misses == 2


def asked_behind_it(log, x):
    for value in x:
        if value > 0:
            log.append(float(value))
    return len(log), len(log) / 2


def asked_before_it(log, x):
    count = len(log)
    log.append(1.0)
    return x * count, len(log)


def appending_until(log, x):
    while len(log) < 5:
        log.append(x.sum())
    return len(log), log is not None


def asked_in_a_loop(log, x):
    total = 0.0
    for k in range(100):
        if x[k % 3] > 0:
            log.append(total)
        total += len(log) * x[k % 3]
    return total, len(log)


@pytest.mark.parametrize("function", [asked_behind_it, asked_before_it, appending_until, asked_in_a_loop])
def test_the_length_of_a_list_that_grows_is_an_input(function):
    log = []
    f, expected_log = jit(lambda x: function(log, x)), []
    for seed in range(6):
        if seed == 3:
            log.append(9.0)
            expected_log.append(9.0)
        x = np.random.default_rng(seed).normal(size=3)
        for one, other in zip(f(x), function(expected_log, x)):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        np.testing.assert_allclose(log, expected_log, rtol=1e-12)
    assert f.cache_info().misses == 1 and f.cache_info().entries[0].native


def test_functions_of_numpy_that_are_read_from_outside_are_called_natively():
    holder = types.SimpleNamespace(activation=np.tanh, layers=[np.abs, np.square])

    @jit
    def f(x):
        for layer in holder.layers:
            x = layer(x)
        return holder.activation(x)

    np.testing.assert_allclose(f(X), np.tanh(np.abs(X) ** 2))
    assert f.cache_info().entries[0].native
    holder.layers[0] = np.negative
    holder.activation = np.sin
    np.testing.assert_allclose(f(X), np.sin(X**2))


def as_a_size(log, x):
    log.append(1.0)
    return np.zeros(len(log)) + x[0]


def as_a_number_of_rounds(log, x):
    log.extend([1.0, 2.0])
    for _ in log:
        x = x + 1
    return x


def behind_what_is_read(log, x):
    total = log[0] if log else 0.0
    for k in range(100):
        total += x[k % 3]
        if total > 1:
            log.append(total)
    return total, len(log)


@pytest.mark.parametrize("function", [as_a_size, as_a_number_of_rounds, behind_what_is_read])
def test_the_length_of_a_list_that_python_needs(function):
    log, expected_log = [0.5], [0.5]
    f = jit(lambda x: function(log, x))
    for seed in range(4):
        x = np.random.default_rng(seed).uniform(size=3)
        for one, other in zip(f(x), function(expected_log, x)):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        np.testing.assert_allclose(log, expected_log, rtol=1e-12)


def test_numbers_that_change_are_inputs():
    holder = types.SimpleNamespace(lr=0.1)
    f = jit(lambda x: x * holder.lr)
    for step in range(10):
        holder.lr = 0.1 / (step + 1)
        np.testing.assert_array_equal(f(X), X * holder.lr)
    assert f.cache_info().misses == 2


def test_appending_does_not_depend_on_the_length():
    log = []
    f = jit(lambda x: log.append(x.sum()))
    for _ in range(5):
        f(X)
    assert log == [6.0] * 5 and f.cache_info().misses == 1


def test_nothing_traced_stays_in_the_users_objects_after_errors():
    holder = types.SimpleNamespace(w=np.ones(3), log=[], options={})

    @jit
    def f(x):
        holder.w = x * 2
        holder.log.append(x)
        holder.options["x"] = x
        raise RuntimeError("while traced")

    with pytest.raises(RuntimeError, match="while traced"):
        f(X)
    np.testing.assert_array_equal(holder.w, X * 2)
    assert holder.log[0] is X and holder.options["x"] is X


def test_what_is_set_before_an_error_of_the_program_is_set():
    holder = types.SimpleNamespace(w=np.ones(3), n=0)

    @jit
    def f(x, i):
        holder.w = holder.w + x
        holder.n += 1
        value = x[i]
        holder.n += 10
        return value

    f(X, np.int64(1))
    with pytest.raises(IndexError):
        f(X, np.int64(7))
    np.testing.assert_array_equal(holder.w, 1 + X + X)
    assert holder.n == 12


def test_threads_see_no_traced_arrays():
    holder = types.SimpleNamespace(w=np.zeros(3))
    seen, stop = [], threading.Event()

    def look():
        while not stop.is_set():
            seen.append(type(holder.w))

    @jit
    def f(x):
        holder.w = holder.w + x
        return holder.w

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for _ in range(3):
            f(X)
    finally:
        stop.set()
        thread.join()
    assert set(seen) <= {np.ndarray}
    np.testing.assert_array_equal(holder.w, 3 * X)


def test_objects_that_the_function_makes_are_kept():
    class Pair:
        def __init__(self, a):
            self.a = a

    holder = types.SimpleNamespace(pair=None)

    @jit
    def f(x):
        holder.pair = Pair(x * 2)
        return x

    kept = []
    for factor in (1, 2, 3):
        assert f(X * factor) is not None
        assert type(holder.pair) is Pair and type(holder.pair.a) is np.ndarray
        np.testing.assert_array_equal(holder.pair.a, X * factor * 2)
        kept.append(holder.pair)
    assert len(set(map(id, kept))) == 3


def test_what_cannot_be_followed_is_an_error():
    class Upper(dict):
        def __setitem__(self, key, value):
            dict.__setitem__(self, key.upper(), value)

    table, numbers = Upper(), array("d", [1.0])

    @jit
    def setting(x):
        table["x"] = x
        return x

    @jit
    def assigning(x):
        numbers.append(2.0)
        return x

    for f in (setting, assigning):
        with pytest.raises(TypeError, match="table|numbers"):
            f(X)
    assert not table


def test_another_thread_changes_an_array_between_the_comparison_and_the_call(monkeypatch):
    holder = {"w": np.ones(3)}
    f = jit(lambda x: x + holder["w"].sum(), backend="reference")
    f(0.0), f(0.0)
    fits = Specialization.fits

    def fits_and_changes(self, objects):
        found = fits(self, objects)
        if found:
            monkeypatch.undo()
            holder["w"] = np.ones(5)
        return found

    monkeypatch.setattr(Specialization, "fits", fits_and_changes)
    assert f(0.0) == 5 and f(0.0) == 5
    assert f.cache_info().misses == 2


class Box:
    def __init__(self, values):
        self.values = values


def test_what_a_trace_has_seen_goes_with_its_last_reference():
    def positive(box):
        found = []
        for value in box.values:
            if value > 0:
                found.append(value)
        return sum(found), box.values.sum()

    box, f = Box(np.ones(40)), jit(positive)
    gc.disable()
    try:
        f(box)
        seen = weakref.ref(box), weakref.ref(box.values)
        del box
        assert [one() for one in seen] == [None, None]
    finally:
        gc.enable()
