"""Arguments that are neither arrays nor numbers: dates, paths, slices, sets, queues, arrays of texts."""

import copy
import datetime as dt
import functools
import operator
import re
from collections import ChainMap, Counter, UserDict, deque
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest
from jitted_calls import assert_same
from phlox import TracerError, jit

EAST = dt.timezone(dt.timedelta(hours=1))


def later(x, day):
    return x.sum(), day + dt.timedelta(days=3), day.strftime("%a %d"), day.weekday()


def text_and_hour(x, time):
    return str(time), x + time.hour


def text_and_double(x, number):
    return str(number), number * 2, x * float(number)


def applied(x, function):
    return function(x)


def selected(x, index):
    return x[index]


def counted(x, counts):
    counts["a"] += 1
    return x * counts["a"], len(counts)


def exchanged(x, queue):
    value = queue.popleft()
    queue.append(value + x.sum())
    return x + value, len(queue)


def stepped(x, state):
    state.weights = state.weights - 0.1 * x
    state.steps += 1
    return state.weights.sum(), state.steps


def grown(x, names):
    names.add(7)
    return x * len(names)


def scaled(x, factors):
    return [x * one for one in sorted(factors)], factors, 2 in factors


def sums(x, labels):
    return [x[labels == label].sum() for label in np.unique(labels)], labels[0], labels


def months(x, days):
    return x[days >= np.datetime64("2024-01-03")], days[0], days.astype("M8[M]")


def is_later(x, time):
    return (x * 2 if time > np.datetime64("2024-01-05") else x), time + np.timedelta64(1, "D")


def parts(x, path):
    return (path / "a.txt").name, path.suffix, x + len(path.parts)


CASES = {
    later: [lambda: dt.date(2024, 2, 28), lambda: dt.date(2024, 2, 29), lambda: dt.datetime(2024, 2, 28, 5)],
    text_and_hour: [lambda: dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC), lambda: dt.datetime(2024, 1, 1, 13, tzinfo=EAST)],
    text_and_double: [
        lambda: Decimal("1.0"), lambda: Decimal("1.00"), lambda: Decimal(1), lambda: Fraction(1, 3), lambda: Fraction(2, 3)
    ],
    applied: [
        lambda: functools.partial(np.add, 1), lambda: functools.partial(np.add, 2.5), lambda: functools.partial(np.multiply, 2),
        lambda: functools.partial(lambda a, b: a * b, 3), lambda: functools.partial(np.sum, keepdims=True),
        lambda: functools.partial(np.sum, axis=0), lambda: functools.partial(np.add, np.full(4, 2.0)),
        lambda: functools.partial(np.add, np.full(4, 3.0)), lambda: np.sum, lambda: np.mean, lambda: np.sin, lambda: len,
        lambda: functools.partial(functools.partial(np.clip, a_min=1), a_max=2), lambda: operator.itemgetter(1),
        lambda: operator.itemgetter(0, 2),
    ],
    selected: [
        lambda: slice(1, 3), lambda: slice(1, None), lambda: slice(None, None, 2), lambda: (slice(1, 4), None), lambda: ...,
    ],
    counted: [
        lambda: Counter("ab"), lambda: Counter("aab"), lambda: Counter("b"),
    ],
    exchanged: [lambda: deque([1.0]), lambda: deque([2.0]), lambda: deque([2.0, 3.0], maxlen=2)],
    stepped: [
        lambda: SimpleNamespace(weights=np.ones(4), steps=0), lambda: SimpleNamespace(weights=np.zeros(4), steps=5),
    ],
    grown: [lambda: {1, 2}, lambda: {1, 3}, lambda: {1, 7}],
    scaled: [lambda: frozenset({1, 2}), lambda: frozenset({1.0, 2.0}), lambda: frozenset({1, 3}), lambda: {1, 2}],
    sums: [lambda: np.array(list("abab")), lambda: np.array(list("aabb")), lambda: np.array(["abc", "b", "c", "d"])],
    months: [
        lambda: np.arange("2024-01-01", "2024-01-05", dtype="M8[D]"),
        lambda: np.arange("2024-01-02", "2024-01-06", dtype="M8[D]"),
    ],
    is_later: [
        lambda: np.datetime64("2024-01-02"), lambda: np.datetime64("2024-01-09"), lambda: np.datetime64("2024-01-09T00"),
    ],
    parts: [lambda: Path("/a/b.c"), lambda: Path("b.d"), lambda: PurePosixPath("b.d")],
    lambda x, found: x * len(found.findall("aabaa")): [lambda: re.compile("a+"), lambda: re.compile("a")],
    lambda x, table: x * table["a"]: [
        lambda: MappingProxyType({"a": 5}), lambda: MappingProxyType({"a": 6}), lambda: ChainMap({"a": 1}, {"a": 3}),
        lambda: UserDict({"a": 6}), lambda: UserDict({"a": 7}),
    ],
    lambda x, memory: x + memory[0]: [lambda: bytearray(b"ab"), lambda: bytearray(b"bb"), lambda: memoryview(b"cb")],
}  # fmt: skip


def seen(function, argument):
    """All that the caller sees, without the addresses of objects."""
    try:
        found = function(np.arange(4.0), argument)
    except Exception as error:
        found = type(error), str(error)
    return re.sub(r" at 0x\w+", "", repr((found, argument)))


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_calls_with_one_and_with_others(function):
    jitted = jit(function)
    for make in CASES[function] * 2:
        for _ in range(2):
            assert seen(jitted, make()) == seen(function, make())


@pytest.mark.parametrize("make", [CASES[later][0], CASES[parts][0], CASES[selected][0], CASES[stepped][0]])
def test_what_is_equal_needs_no_other_code(make):
    jitted = jit(lambda x, other: (x, other)[0])
    for _ in range(3):
        jitted(np.ones(2), copy.copy(make()))
    assert jitted.cache_info().misses == 1


def test_elements_of_sets_outside_have_types():
    factors = {1, 2}

    @jit
    def scaled_by_outside():
        return sorted(factors)

    assert repr(scaled_by_outside()) == "[1, 2]"
    factors = {1.0, 2.0}
    assert repr(scaled_by_outside()) == "[1.0, 2.0]"


@pytest.mark.parametrize(
    ("function", "calls"),
    [
        (lambda x, axis: np.cumsum(x, axis=axis), [np.int64(1), np.int8(0), np.int64(1)]),
        (lambda x, n: np.roll(np.zeros((n, 3)), 1).shape, [np.int64(8), np.uint8(3)]),
        (lambda x, n: np.fft.fft(0 * x, n), [np.int64(8), np.uint8(3)]),
        (lambda x, n: np.split(x, n, axis=1)[0], [np.int64(2), np.int32(4)]),
        (lambda x, k: np.diag(x, k), [np.int64(1), np.int64(-1)]),
        (lambda x, stop: np.arange(0, stop, 0.25) + x[0, 0], [np.float64(1.5), np.float32(0.75)]),
    ],
)
def test_scalars_of_numpy_become_known_where_python_needs_them(function, calls):
    x = np.arange(12.0).reshape(3, 4)
    jitted = jit(function)
    for number in calls:
        assert_same(jitted(x, number), function(x, number))


@pytest.mark.parametrize(
    ("function", "calls"),
    [
        (lambda x, order: x.transpose(order), ([2, 0, 1], [0, 2, 1], [2, 0, 1])),
        (lambda x, widths: np.pad(x, widths), ([[1, 1], [0, 0], [2, 1]], [1, 2], 1)),
        (lambda x, times: np.tile(x, times), ([2, 1, 2], 2)),
        (lambda x, axes: x.sum(axis=tuple(axes)), ([0, 1], [1, 2])),
        (lambda x, axis: np.cumsum(x, axis=axis), (1, 2)),
        (lambda x, shape: x.reshape(shape), ([6, 4], [4, 6])),
    ],
)
def test_short_arrays_of_integers_become_known_where_python_needs_them(function, calls):
    x = np.arange(24.0).reshape(2, 3, 4)
    jitted = jit(function)
    for numbers in calls:
        for _ in range(2):
            found, expected = jitted(x, np.array(numbers)), function(x, np.array(numbers))
            assert_same(found, expected)


def test_an_array_that_has_become_known_is_changed_in_place():
    def f(x, order):
        found = x.transpose(order)
        order += 1
        return found

    jitted = jit(f)
    x = np.ones((2, 3))
    for numbers in ([1, 0], [0, 1], [1, 0]):
        order = np.array(numbers)
        assert jitted(x, order).shape == x.transpose(numbers).shape and order.tolist() == [number + 1 for number in numbers]


def test_durations_that_an_operator_changes_are_refused_and_stay_what_they_are():
    def delayed(times):
        times += np.timedelta64(1, "s")
        return times

    given = np.array([1, 2], "m8[s]")
    with pytest.raises(TracerError, match="times is changed while the function is traced"):
        jit(delayed)(given)
    assert given.astype(int).tolist() == [1, 2]


@pytest.mark.parametrize(
    "values", [["a", "b"], [b"a"], np.array(["2020-01-31", "NaT"], "M8[D]")], ids=["texts", "bytes", "dates"]
)
def test_arrays_of_texts_and_dates_that_are_returned_are_the_arguments(values):
    jitted, one, other = jit(lambda a, b: [b, {"a": a}]), np.array(values), np.array(values)
    for a, b in [(one, other), (one, other), (other, one), (one, one), (other, one)]:
        found = jitted(a, b)
        assert found[0] is b and found[1]["a"] is a
