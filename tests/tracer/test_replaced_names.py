"""Functions of libraries, and Python's own, that something else stands for at a later call, as tests do it."""

import builtins
import fractions
import math
import os
import random
import statistics
import sys
import time
import types
from unittest import mock

import numpy as np
import pytest
from phlox import TracerError, jit


def triple(x):
    return x * 3


def from_import(x):
    from math import floor

    return x + floor(2.5)


def in_a_loop(x):
    total = 0.0
    for i in range(len(x)):
        total += math.sqrt(i) * x[i]
    return total


def called_function(x):
    return x + from_import(x)


def default_of_getattr(x):
    return x * getattr(math, "nothing_there", 5.0)


# Each: a function, whose name is replaced, and by what.
REPLACED = {
    "ufunc": (lambda x: np.sin(x), np, "sin", np.cos),
    "ufunc by a function": (lambda x: np.sin(x), np, "sin", triple),
    "function of NumPy": (lambda x: np.sum(x), np, "sum", lambda x: 7.0),
    "function of a submodule": (lambda x: np.linalg.norm(x), np.linalg, "norm", triple),
    "submodule": (lambda x: np.linalg.norm(x), np, "linalg", types.SimpleNamespace(norm=triple)),
    "number of NumPy": (lambda x: x * np.pi, np, "pi", 3.0),
    "number of another type": (lambda x: x * np.pi, np, "pi", 3),
    "math": (lambda x: x * math.sqrt(2.0), math, "sqrt", lambda x: 7.0),
    "math, of a traced number": (lambda x: math.sqrt(x[2]), math, "sqrt", lambda x: x + 1),
    "math, in a loop": (in_a_loop, math, "sqrt", lambda i: i * 2),
    "built-in function": (lambda x: abs(x), builtins, "abs", triple),
    "built-in function, in a helper": (lambda x: called_function(abs(x)), builtins, "abs", triple),
    "time": (lambda x: x + (time.time() > 0), time, "time", lambda: -5.0),
    "from math import": (from_import, math, "floor", lambda x: 70),
    "in a called function": (called_function, math, "floor", lambda x: 70),
    "getattr": (lambda x: getattr(np, "cos")(x), np, "cos", np.sin),  # noqa: B009
    "hasattr": (lambda x: x * (2 if hasattr(math, "nothing_there") else 3), math, "nothing_there", 1),
    "default of getattr": (default_of_getattr, math, "nothing_there", 1),
    "pure Python": (lambda x: x * statistics.mean([1, 2, 3]), statistics, "mean", lambda values: 11),
    "method of a class": (
        lambda x: x * fractions.Fraction(1, 3).limit_denominator(2).numerator,
        fractions.Fraction,
        "limit_denominator",
        lambda self, largest: fractions.Fraction(7),
    ),
    "method by its class": (
        lambda x: x * fractions.Fraction.from_float(0.5).numerator,
        fractions.Fraction,
        "from_float",
        lambda value: triple(fractions.Fraction(value)),
    ),
    "class": (
        lambda x: x * fractions.Fraction(1, 3).denominator,
        fractions,
        "Fraction",
        lambda a, b: types.SimpleNamespace(denominator=8),
    ),
    "text": (lambda x: x * len(os.sep), os, "sep", "long"),
    "list": (lambda x: x * len(sys.argv), sys, "argv", ["a"] * 1000),
}


@pytest.mark.parametrize("name", REPLACED)
def test_what_stands_there_now(name):
    function, holder, attribute, other = REPLACED[name]
    jitted, x = jit(function), np.array([1.0, -2.0, 3.0])

    def pairs():
        return [(function(x), jitted(x)) for _ in range(3)]

    found = pairs()
    with mock.patch.object(holder, attribute, other, create=True):
        replaced = pairs()
    found += replaced + pairs()
    for expected, actual in found:
        np.testing.assert_allclose(actual, expected, rtol=1e-14, strict=True)
    assert not np.array_equal(found[0][0], replaced[0][0])
    assert jitted.cache_info().misses == 2


def test_compiled_while_replaced():
    jitted, x = jit(lambda x: np.exp(x)), np.ones(3)
    with mock.patch.object(np, "exp", triple):
        assert jitted(x).tolist() == [3.0] * 3
    np.testing.assert_allclose(jitted(x), np.exp(x), rtol=1e-14)


def test_random_function(monkeypatch):
    def function(x):
        return x * random.random()

    jitted, x = jit(function), np.ones(3)
    assert 0 <= jitted(x)[0] < 1
    monkeypatch.setattr(random, "random", lambda: 4.0)
    assert jitted(x).tolist() == [4.0] * 3
    monkeypatch.undo()
    assert 0 <= jitted(x)[0] < 1


def test_mock_objects_are_refused():
    jitted, x = jit(lambda x: np.sin(x)), np.ones(3)
    jitted(x)
    for one in (mock.Mock(return_value=1.0), mock.MagicMock(side_effect=[1.0, 2.0]), mock.Mock(wraps=np.sin)):
        with mock.patch.object(np, "sin", one), pytest.raises(TracerError, match="Mock is called.*host_call"):
            jitted(x)
        assert not one.called
    np.testing.assert_allclose(jitted(x), np.sin(x), rtol=1e-14)


def test_number_of_a_library_that_changes():
    module = types.ModuleType("settings_of_a_library")
    module.__file__ = np.__file__
    module.rate = 0.5
    sys.modules["settings_of_a_library"] = module

    def function(x):
        import settings_of_a_library

        return x * settings_of_a_library.rate

    try:
        jitted, x = jit(function), np.ones(3)
        for module.rate in (0.5, 1.5, 2.5, 3.5, 4.5):
            np.testing.assert_array_equal(jitted(x), function(x))
        assert jitted.cache_info().misses == 2
    finally:
        del sys.modules["settings_of_a_library"]


def test_calls_stay_native_where_the_module_gets_other_names(monkeypatch):
    jitted, x = jit(lambda x: np.sin(x) + math.pi), np.ones(3)
    for number in range(100):
        monkeypatch.setattr(np, "name_of_a_test", number, raising=False)
        np.testing.assert_allclose(jitted(x), np.sin(x) + math.pi, rtol=1e-14)
    fresh = jit(lambda x: np.sin(x) + 1)
    for number in range(100):
        fresh(x)
        monkeypatch.setattr(np, "name_of_a_test", number)
    hits = fresh.cache_info().hits
    for number in range(100):
        fresh(x)
        monkeypatch.setattr(np, "name_of_a_test", number)
    assert fresh.cache_info().hits - hits < 5
