"""What native code cannot compare itself it asks Python about: equal values that are made anew, dates, sets, the environment.

Each test calls natively while what counts is the same, in other objects, and finds what has changed.
"""

import contextlib
import datetime
import functools
import os
import threading
from collections import OrderedDict, deque
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from phlox import jit
from phlox.backends.cpu.call import unsupported_reason

from ..support.native_calls import natively

pytestmark = pytest.mark.skipif(unsupported_reason() is not None, reason=f"no native entries: {unsupported_reason()}")
X = np.arange(6.0)


class Text(str):
    def __str__(self):
        return "other"


class Unit:
    """Equal by its contents, which may change."""

    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return type(other) is Unit and other.name == self.name

    def __hash__(self):
        return hash(self.name)


# How a value is made, and others, of which some are equal to Python.
VALUES = {
    "text": (lambda: "".join("ab"), ["abc", Text("ab"), b"ab", None]),
    "bytes": (lambda: bytes([1, 2]), [b"\1", bytearray(b"\1\2")]),
    "date": (lambda: datetime.date(2024, 1, 2), [datetime.date(2024, 1, 3), datetime.datetime(2024, 1, 2)]),  # noqa: DTZ001
    "moment": (
        lambda: datetime.datetime(2024, 1, 2, 12, tzinfo=datetime.UTC),
        [datetime.datetime(2024, 1, 2, 13, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))],
    ),
    "decimal": (lambda: Decimal("1.0"), [Decimal("1.00"), Decimal(2)]),
    "fraction": (lambda: Fraction(1, 2), [Fraction(1, 3)]),
    "path": (lambda: Path("a") / "b", [Path("a"), "a/b"]),
    "slice": (lambda: slice(1, 3), [slice(1, 2), slice(True, 3)]),
    "range": (lambda: range(1, 3), [range(1, 4)]),
}  # fmt: skip


def described(value):
    return type(value).__name__, repr(value)


@pytest.mark.parametrize("name", VALUES)
def test_arguments_that_are_equal_are_as_good(name):
    make, others = VALUES[name]
    f = jit(lambda x, value: (x.sum(), type(value).__name__, repr(value)))
    for _ in range(2):
        f(X, make())
        with natively():
            assert f(X, make()) == (15.0, *described(make()))
        for other in others:
            assert f(X, other) == (15.0, *described(other))


@pytest.mark.parametrize("name", VALUES)
def test_values_outside_that_are_equal_are_as_good(name):
    make, others = VALUES[name]
    holder = {"value": make()}
    f = jit(lambda x: (x.sum(), *described(holder["value"])))
    for _ in range(2):
        f(X)
        holder["value"] = make()
        with natively():
            assert f(X) == (15.0, *described(make()))
        for other in others:
            holder["value"] = other
            assert f(X) == (15.0, *described(other))
        del holder["value"]
        with pytest.raises(KeyError):
            f(X)
        holder["value"] = make()


def test_static_objects_that_change():
    f = jit(lambda x, unit: (x.sum(), unit.name), static_argnames="unit")
    unit = Unit("m")
    for name in ("m", "m", "km", "m", "s", "s"):
        unit.name = name
        assert f(X, unit) == (15.0, name)
        with natively():
            assert f(X, Unit(name)) == (15.0, name)


def test_static_tuples_with_what_cannot_be_hashed():
    f = jit(lambda x, axes: x.sum(axes[0]), static_argnames="axes")
    for _ in range(3):
        assert f(X, (0, "a")) == 15.0
    with pytest.raises(TypeError, match="hashable"):
        f(X, ([0], "a"))


KINDS = {"a", "b"}
RECENT = deque([1.0, 2.0])


def test_sets_and_deques_outside():
    f = jit(lambda x: (x.sum() + len(KINDS), "a" in KINDS))
    try:
        f(X)
        for change, expected in [
            (lambda: None, (17.0, True)), (lambda: KINDS.add("c"), (18.0, True)), (lambda: KINDS.discard("a"), (17.0, False)),
            (lambda: KINDS.add("a"), (18.0, True)), (lambda: KINDS.discard("c"), (17.0, True)),
        ]:  # fmt: skip
            change()
            for _ in range(3):
                assert f(X) == expected
    finally:
        KINDS.clear()
        KINDS.update("ab")
    g = jit(lambda x: x.sum() + RECENT[-1] + len(RECENT))
    for value in (3.0, 4.0, 4.0, 5.5, 6.0):
        RECENT.append(value)
        for _ in range(3):
            assert g(X) == 15.0 + value + len(RECENT)
    RECENT[-1] = np.float64(1.0)
    assert g(X) == 16.0 + len(RECENT)
    RECENT[-1] = 2
    assert g(X) == 17.0 + len(RECENT)


def test_the_environment():
    f = jit(lambda x: x.sum() * float(os.environ.get("PHLOX_TEST_SCALE", "1")))
    g = jit(lambda x: (x.sum(), "PHLOX_TEST_SCALE" in os.environ))
    try:
        for value in (None, "2", "2", "3", "2", None, "3"):
            if value is None:
                os.environ.pop("PHLOX_TEST_SCALE", None)
            else:
                os.environ["PHLOX_TEST_SCALE"] = value
            for number in range(3):
                with natively() if number else contextlib.nullcontext():
                    assert f(X) == 15.0 * float(value or "1")
                    assert g(X) == (15.0, value is not None)
    finally:
        os.environ.pop("PHLOX_TEST_SCALE", None)


def test_files_that_are_read(tmp_path):
    file = tmp_path / "numbers.txt"

    @jit
    def f(x):
        with open(file) as opened:
            return x.sum() + sum(map(float, opened.read().split()))

    for text in ("1 2", "1 2", "1 3", "4", "1 2"):
        file.write_text(text)
        for _ in range(3):
            assert f(X) == 15.0 + sum(map(float, text.split()))
    file.unlink()
    with pytest.raises(FileNotFoundError):
        f(X)


def test_partial_functions_made_for_each_call():
    f = jit(lambda x, function: function(x).sum())
    for low in (1.0, 1.0, 2.0, 1.0, 3.0):
        for _ in range(3):
            assert f(X, functools.partial(np.clip, a_min=low, a_max=4)) == np.clip(X, low, 4).sum()
    assert f(X, functools.partial(np.clip, a_min=1.0, a_max=3)) == np.clip(X, 1, 3).sum()
    assert f(X, functools.partial(np.maximum, 2.0)) == np.maximum(X, 2.0).sum()


def test_keys_that_are_equal():
    f = jit(lambda values: (values["".join("ab")] * 2, list(values)))
    first = {"".join("ab"): 1.5, 1000: 2.0}
    assert f(first) == (3.0, ["ab", 1000])
    for key, expected in (("".join("ab"), "ab"), (Text("ab"), Text("ab"))):
        for number in (int("1000"), 1000.0):
            found, keys = f({key: 2.5, number: 1.0})
            assert (found, keys, list(map(type, keys))) == (5.0, [expected, 1000], [type(key), type(number)])


def test_threads_that_change_what_is_compared():
    state = {"mode": "twice"}
    f = jit(lambda x: x.sum() * {"twice": 2.0, "thrice": 3.0}[state["mode"]])
    f(X)
    ends, wrong = threading.Event(), []

    def change():
        while not ends.is_set():
            state["mode"] = "".join(["th", "rice"])
            state["mode"] = "".join(["tw", "ice"])

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(3000):
            if (found := f(X)) not in (30.0, 45.0):
                wrong.append(found)
    finally:
        ends.set()
        thread.join()
    assert not wrong
    state["mode"] = "".join(["th", "rice"])
    assert f(X) == 45.0


def test_keys_outside_that_are_equal():
    table = {1: 2.0, 2: 3.0}
    f = jit(lambda x: (x.sum(), list(map(type, table)), 1 in table))
    for keys in ((1, 2), (1, 2), (True, 2), (1.0, 2), (1, np.int64(2)), (1, 2)):
        table.clear()
        table.update(zip(keys, (2.0, 3.0)))
        for _ in range(3):
            assert f(X) == (15.0, list(map(type, keys)), True)


def test_records_and_orders_that_change():
    record, table = np.zeros(1, [("rate", float)])[0], OrderedDict(a=1.0, b=2.0)
    f = jit(lambda x: x * record["rate"])
    for rate in (0.0, 5.0, 5.0, 7.0):
        record["rate"] = rate
        for _ in range(3):
            assert f(2.0) == 2 * rate
    g = jit(lambda x: ([key for key in table], x * next(iter(table.values()))))
    for moved in "aabba":
        table.move_to_end(moved)
        for _ in range(3):
            assert g(2.0) == (list(table), 2 * next(iter(table.values())))
