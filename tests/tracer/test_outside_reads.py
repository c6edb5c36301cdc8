"""What libraries call back, classes, environment, files, iterators and names by name: another one at each call."""

import collections
import contextvars
import enum
import functools
import itertools
import json
import os
import pathlib
import sys
import types

import numpy as np
import pytest
from phlox import TracerError, jit

FACTOR = 1.0
OUTSIDE = types.SimpleNamespace()
VARIABLE = contextvars.ContextVar("variable", default=0.0)
X = np.arange(4.0)


class Colour(enum.Enum):
    RED, BLUE = 1.0, 2.0


class Scale:
    factor = 1.0
    table = {"a": 1.0}

    def apply(self, x):
        return x * self.factor

    @classmethod
    def of_class(cls, x):
        return x * cls.factor

    @staticmethod
    def of_nothing(x):
        return x * FACTOR


class Finer(Scale):
    pass


def weighted(a, b=1.0):
    return a * FACTOR + b


def by_factor(a):
    return a * FACTOR


@functools.lru_cache
def cached(n):
    return n * FACTOR


PLAIN_APPLY = Scale.apply


def set_all(step, folder):
    """Everything outside, for the call with this number."""
    global FACTOR
    FACTOR = (1.0, -2.0, 3.0, 1.0)[step]
    Scale.factor = Scale.table["a"] = FACTOR
    Scale.apply = PLAIN_APPLY if step != 2 else lambda self, x: x + 100
    OUTSIDE.colour = (Colour.RED, Colour.BLUE)[step % 2]
    os.environ["PHLOX_TEST_FACTOR"] = str(step + 1)
    os.environ.pop("PHLOX_TEST_FLAG", None)
    if step % 2:
        os.environ["PHLOX_TEST_FLAG"] = "1"
    VARIABLE.set(FACTOR)
    OUTSIDE.path = folder / "numbers.txt"
    OUTSIDE.path.write_text("1 2\n3" if step % 2 else "4 5 6\n7")
    (folder / "table.json").write_text(json.dumps({"a": [step, 2], "b": {"c": FACTOR}}))
    if step in (0, 2):
        cached.cache_clear()


def environment_by_items(x):
    return x * int(os.environ["PHLOX_TEST_FACTOR"]) + ("PHLOX_TEST_FLAG" in os.environ)


def lines_of_a_file(x):
    total = 0.0
    with open(OUTSIDE.path) as file:
        for line in file:
            total += sum(map(float, line.split()))
    return x * total


def table_of_a_file(x):
    with open(OUTSIDE.path.parent / "table.json") as file:
        table = json.load(file)
    return x * table["a"][0] + table["b"]["c"]


def sorted_in_place(x):
    places = [3, 1, 2]
    places.sort(key=by_factor)
    return x[places[0]]


FUNCTIONS = {
    "reduce": lambda x: functools.reduce(weighted, [x, x, x]),
    "accumulate": lambda x: list(itertools.accumulate([1.0, 2.0, 3.0], weighted))[-1] * x,
    "starmap": lambda x: list(itertools.starmap(weighted, [(1.0, 2.0)]))[0] * x,
    "map": lambda x: sum(map(weighted, [x, x])),
    "sorted": lambda x: x + sorted([3, 1, 2], key=by_factor)[0],
    "sort": sorted_in_place,
    "max": lambda x: x + max([3, 1, 2], key=by_factor),
    "fromfunction": lambda x: np.fromfunction(weighted, (2, 2)) + x[0],
    "partial": lambda x: functools.partial(weighted, b=3.0)(x),
    "cached": lambda x: x * cached(3),
    "class attributes": lambda x: Scale().apply(x) + Scale().factor + Finer().factor,
    "class methods": lambda x: Scale.of_class(x) + Scale().of_class(x) + Finer().of_nothing(x),
    "class items": lambda x: x * Scale.table["a"] + Finer().table["a"],
    "enum": lambda x: x * OUTSIDE.colour.value + (OUTSIDE.colour is Colour.RED) + len(OUTSIDE.colour.name),
    "globals": lambda x: x * globals()["FACTOR"] + globals().get("FACTOR") + ("NO" in globals()),
    "modules": lambda x: x * sys.modules[__name__].FACTOR,
    "environment": lambda x: x * int(os.getenv("PHLOX_TEST_FACTOR")) + int(os.environ.get("PHLOX_TEST_FLAG", "7")),
    "environment by items": environment_by_items,
    "context": lambda x: x * VARIABLE.get(),
    "text": lambda x: x * len(OUTSIDE.path.read_text()) + os.path.getsize(OUTSIDE.path),
    "bytes": lambda x: x * len(open(OUTSIDE.path, "rb").read()),  # noqa: SIM115
    "exists": lambda x: x + OUTSIDE.path.exists() + os.path.exists(OUTSIDE.path.parent / "no") + pathlib.Path("no").exists(),
    "lines of a file": lines_of_a_file,
    "table of a file": table_of_a_file,
    "loadtxt": lambda x: x.sum() + np.loadtxt(OUTSIDE.path.parent / "table.txt"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_outside_now(name, tmp_path):
    function = FUNCTIONS[name]
    jitted = jit(function)
    found = []
    for called in (function, jitted):
        results = []
        for step in range(4):
            set_all(step, tmp_path)
            np.savetxt(tmp_path / "table.txt", np.full((2, 2 + step % 2), step))
            results.append(called(X))
        found.append(repr(results))
    assert found[1] == found[0]
    assert jitted.cache_info().misses <= 4


@pytest.mark.parametrize("start", ["count", "list", "cycle", "map"])
def test_iterators_go_on(start):
    makers = {
        "count": lambda: itertools.count(3),
        "list": lambda: iter([1.0, 2.0, 3.0]),
        "cycle": lambda: itertools.cycle([1.0, 2.0]),
        "map": lambda: map(float, [1, 2, 3, 4]),
    }

    def results(decorate):
        numbers = makers[start]()
        function = decorate(lambda x: x * next(numbers) + next(numbers, 7.0))
        found = []
        for _ in range(3):
            try:
                found.append(function(X))
            except StopIteration as stop:
                found.append(type(stop))
        return repr(found)

    assert results(jit) == results(lambda function: function)


@pytest.mark.parametrize(
    "use",
    [lambda it, x: x * next(it), lambda it, x: [x * v for v in it], lambda it, x: list(zip(it, x)), lambda it, x: it.send(1)],
)
def test_iterators_whose_elements_cannot_be_foreseen_are_refused(use):
    def numbers():
        yield 1.0
        yield 2.0

    generator = numbers()
    with pytest.raises(TracerError, match="phlox.host_call"):
        jit(lambda x: use(generator, x))(X)
    assert next(generator) == 1.0


def test_files_outside_are_refused(tmp_path):
    with open(tmp_path / "x.txt", "w+") as file:
        for use in (lambda x: file.write("1"), lambda x: file.read(), lambda x: [line for line in file]):
            with pytest.raises(TracerError, match="phlox.host_call"):
                jit(use)(X)
    with pytest.raises(TracerError, match="phlox.host_call"):
        jit(lambda x: open(tmp_path / "x.txt", "w"))(X)  # noqa: SIM115


def test_caches_keep_what_they_would_keep():
    calls = []

    @functools.lru_cache
    def slow(n):
        calls.append(n)
        return np.full(3, float(n))

    f = jit(lambda x, n: x + slow(n) + slow(2))
    for n in (2, 3, 2):
        np.testing.assert_array_equal(f(np.zeros(3), n), np.full(3, n + 2.0))
    assert calls == [2, 3]


def test_counts_by_next_are_taken_once_before_an_error():
    numbers = itertools.count()

    @jit
    def f(x, i):
        x[0] = next(numbers)
        x[i] = 1
        next(numbers)

    x = np.zeros(2)
    f(x, np.int64(1))
    with pytest.raises(IndexError):
        f(x, np.int64(5))
    assert x[0] == 2 and repr(numbers) == "count(3)"


def test_order_of_a_dictionary():
    table = collections.OrderedDict(a=1.0, b=2.0)
    f = jit(lambda x: (table.move_to_end("a"), x * next(iter(table.values())))[1])
    assert [f(1.0), f(1.0)] == [2.0, 2.0] and list(table) == ["b", "a"]
