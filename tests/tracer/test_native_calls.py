"""Calls that bypass Python do what the function does, whatever they read and set, and leave to Python what is other."""

import contextlib
from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest
from phlox import jit
from phlox.backends.cpu.call import unsupported_reason

from ..support.native_calls import natively

pytestmark = pytest.mark.skipif(unsupported_reason() is not None, reason=f"no native entries: {unsupported_reason()}")


def twice_natively(function, *made, **named):
    """Calls the function and its compiled form on new arguments; the later calls reach no Python. Returns the compiled form."""
    jitted = jit(function)
    for number in range(3):
        arguments, others = ([make() for make in made] for _ in range(2))
        with natively() if number else contextlib.nullcontext():
            found = jitted(*arguments, **named)
        assert_equal(found, function(*others, **named))
        assert_equal(arguments, others)
    return jitted


def assert_equal(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            assert_equal(one, other)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        for key in expected:
            assert_equal(found[key], expected[key])
    elif hasattr(expected, "__dict__"):
        assert_equal(vars(found), vars(expected))
    else:
        np.testing.assert_array_equal(found, expected)
        assert np.asarray(found).dtype == np.asarray(expected).dtype


def rows():
    return np.arange(6.0).reshape(2, 3)


Pair = namedtuple("Pair", "first second")


@dataclass
class Options:
    rate: float
    name: str = field(default="plain", metadata={"static": True})


def changes(x, y):
    x += y
    y[0] = 7


def changes_and_returns(x):
    x[1:] = x[:-1].copy()
    return x, x.sum()


CASES = {
    "numbers": (lambda n, x: (n + 1, x * 2, x > 1, -n), lambda: 3, lambda: 2.5),
    "a long list of results": (lambda x: [x[0, 0], [x[1], 2, "text", None], {"a": (x, 1.5)}], rows),
    "ordered dict": (lambda x: OrderedDict(a=x + 1), rows),
    "named tuple": (lambda p: Pair(p.second, p.first + 1), lambda: Pair(rows(), 2)),
    "dict": (lambda p: {"sum": p["w"] + p["b"][0]}, lambda: {"w": rows(), "b": [1, 2.5]}),
    "empty containers": (lambda a, b, c, x: x + 1, lambda: [], tuple, dict, rows),
    "none inside": (lambda a: a[1] * 2, lambda: (None, rows())),
    "dataclass": (lambda o, x: x * o.rate, lambda: Options(0.5), rows),
    "static by type": (lambda x, how: x.sum(axis=how), rows, lambda: 0),
    "argument returned": (lambda x, y: (y, x + y), rows, rows),
    "changed in place": (changes, rows, rows),
    "changed and returned": (changes_and_returns, rows),
    "scalar array changed": (lambda x: x.fill(3), lambda: np.array(1.0)),
    "none changed": (lambda x, y: x + 1, lambda: np.zeros(0), lambda: np.zeros(0)),
    "selection": (lambda x: x[x > 2], rows),
    "selection of rows": (lambda x: (x[x.sum(axis=1) > 5], x[x > 100]), rows),
    "sizes within": (lambda x: np.sort(x[x > 2]).sum(), rows),
    "nothing but an error": (lambda x: None if np.sort(x[x > 2]).sum() else None, rows),
    "size": (lambda x: (x[x > 2].shape[0], np.nonzero(x[0])[0]), rows),
}


@pytest.mark.parametrize("name", CASES)
def test_calls(name):
    function, *made = CASES[name]
    twice_natively(function, *made)


def test_other_containers_are_noticed():
    jitted = jit(lambda p: p["a"] + len(p))
    assert jitted({"a": 1.0}) == 2.0
    assert jitted({"a": 1.0, "b": 2}) == 3.0
    assert jitted({"b": 2, "a": 1.0}) == 3.0
    lists = jit(lambda p: sum(p))
    for count in (2, 3, 2, 1):
        assert lists([0.5] * count) == 0.5 * count
    assert lists((0.5, 1)) == 1.5
    nested = jit(lambda p: p[0][0] + p[1])
    assert [nested([[1.0], 2.0]), nested([(1.0,), 2.0]), nested([[1.0, 5.0], 2.0]), nested([[1], 2])] == [3.0, 3.0, 3.0, 3]


def test_an_argument_that_is_changed_and_shares_memory():
    jitted = twice_natively(changes, rows, rows)
    whole, other = np.arange(9.0), np.arange(9.0)
    jitted(whole[:6].reshape(2, 3), whole[3:].reshape(2, 3))
    changes(other[:6].reshape(2, 3), other[3:].reshape(2, 3))
    np.testing.assert_array_equal(whole, other)
    x, y = rows(), rows()
    changes(x, x)
    jitted(y, y)
    np.testing.assert_array_equal(y, x)
    z = rows()
    z.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        jitted(z, rows())


def test_errors_come_from_python_behind_what_is_changed():
    def f(x, i):
        x[0] = 5
        return x[i]

    jitted = twice_natively(f, lambda: np.arange(3.0), lambda: 1)
    x = np.arange(3.0)
    with pytest.raises(IndexError):
        jitted(x, 3)
    np.testing.assert_array_equal(x, [5, 1, 2])


class Model:
    def __init__(self):
        self.w, self.rate, self.calls, self.seen, self.table = np.ones(3), 0.5, 0, [], {"bias": 1.0}

    def step(self, x):
        self.w = self.w - self.rate * x
        self.calls += 1
        self.seen.append(self.w.sum())
        self.table["bias"] = self.table["bias"] * 2
        return self.w.max() + self.table["bias"]


def test_objects():
    step, one, other = jit(Model.step), Model(), Model()
    x = np.arange(3.0)
    for number in range(6):
        with natively() if number > 2 else contextlib.nullcontext():
            found = step(one, x)
        assert found == other.step(x)
        assert_equal(one, other)
    one.rate = other.rate = 0.25
    for _ in range(5):
        assert step(one, x) == other.step(x)
    one.rate = other.rate = 0.125
    with natively():
        found = step(one, x)
    assert found == other.step(x)
    one.w = other.w = np.ones(3, np.float32)
    assert step(one, x) == other.step(x)
    del one.w, other.w
    with pytest.raises(AttributeError):
        step(one, x)
    one.w = other.w = np.zeros(3)
    assert step(one, x) == other.step(x)
    assert_equal(one, other)


def test_what_stands_outside_is_read_at_each_call():
    outside = SimpleNamespace(array=np.ones(3), numbers=[1.0, 2.0], names=("a", "b"))

    def f(x):
        return x + outside.array * outside.numbers[1] + len(outside.names)

    jitted = jit(f)
    x = np.arange(3.0)
    jitted(x)
    outside.array = np.full(3, 2.0)
    with natively():
        found = jitted(x)
    np.testing.assert_array_equal(found, f(x))
    for value in (3.0, 4.0, 5.0):
        outside.numbers[1] = value
        np.testing.assert_array_equal(jitted(x), f(x))
    outside.numbers[1] = 6.0
    with natively():
        found = jitted(x)
    np.testing.assert_array_equal(found, f(x))
    outside.names = ("a", "b", "c")
    np.testing.assert_array_equal(jitted(x), f(x))
    outside.array = np.ones((2, 3))
    np.testing.assert_array_equal(jitted(x), f(x))


def test_a_table_that_moves_is_found_again():
    namespace = {"scale": 2.0}
    exec("def f(x):\n    return x * scale", namespace)
    jitted = jit(namespace["f"])
    x = np.ones(3)
    jitted(x)
    namespace.update({f"name{number}": number for number in range(100)})
    jitted(x)
    with natively():
        found = jitted(x)
    np.testing.assert_array_equal(found, 2 * x)


def test_another_spelling_becomes_native():
    jitted = jit(lambda x, y: x - 2 * y)
    x = np.ones(3)
    jitted(x, x)
    for _ in range(2):
        jitted(y=x, x=x + 1)
    with natively():
        found = jitted(y=x, x=x + 1)
    np.testing.assert_array_equal(found, np.zeros(3))


def test_functions_that_are_made_anew():
    def apply(holder, x):
        return holder.function(x) * (2 if holder.function is holder.other else 1)

    def holders(factor=None):
        same = lambda x: x + 1  # noqa: E731
        other = {None: lambda x: x + 1, 3: lambda x, by=3: x * by, "closure": lambda x: x * len(str(factor))}[factor]
        return SimpleNamespace(function=same, other=same), SimpleNamespace(function=other, other=same)

    class Holder:
        def __init__(self, function, other):
            self.function, self.other = function, other

    jitted = jit(apply)
    for factor in (None, 3, "closure", None, 3):
        for plain in holders(factor):
            holder = Holder(plain.function, plain.other)
            assert jitted(holder, 2.0) == apply(holder, 2.0)
    misses = jitted.cache_info().misses
    for _ in range(3):
        for plain in holders():
            holder = Holder(plain.function, plain.other)
            assert jitted(holder, 2.0) == apply(holder, 2.0)
    assert jitted.cache_info().misses == misses


def test_results_with_sizes_along_any_dimension_are_returned_natively():
    @jit
    def votes(labels):
        counts = np.zeros((3, labels.max() + 1), int)
        for i, label in enumerate(labels):
            counts[i, label] += i + 1
        return counts, counts[:, 1:]

    for labels in ([2, 0, 1], [1, 1, 1], [5, 0, 2]):
        labels = np.array(labels)
        for found, expected in zip(votes(labels), votes.__wrapped__(labels)):
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == expected.dtype
    assert votes.cache_info().entries[0].native


def test_errors_of_functions_that_print_are_raised_natively_and_print_once(capsys):
    @jit
    def element(x, place):
        print("begin", place)
        found = x[place]
        assert found > 0, f"{found} is not positive"
        print(found)
        return found

    x = np.array([1.0, -2.0])
    wrong = [(-3, IndexError, "out of bounds"), (1, AssertionError, "-2.0 is not positive"), (9, IndexError, "index 9 is out")]
    for place, error, message in wrong * 2:
        assert element(x, 0) == 1.0
        assert capsys.readouterr().out == "begin 0\n1.0\n"
        with pytest.raises(error, match=message) as raised:
            element(x, place)
        assert capsys.readouterr().out == f"begin {place}\n"
        assert [entry.name for entry in raised.traceback][1:] == ["element"]
    assert element.cache_info().entries[0].native


SHARED = np.zeros(3)


def test_numbers_outside_may_be_other_objects():
    factors, third = SimpleNamespace(first=1.5, table={"second": 1000}), 2.5

    @jit
    def scaled(x):
        return x * factors.first + factors.table["second"] - third

    x = np.arange(3.0)
    scaled(x)
    with natively():
        for _ in range(3):
            factors.first, factors.table["second"], third = float("1.5"), int("1000"), float("2.5")
            assert scaled(x).tolist() == [997.5, 999.0, 1000.5]
    for first, second, last in [(1.75, 1000, 2.5), (1.75, 1001, 2.5), (1.75, 1001, 3.5), (1.5, 1000, 2.5)]:
        factors.first, factors.table["second"], third = first, second, last
        for _ in range(2):
            assert scaled(x).tolist() == (x * first + second - last).tolist()
    factors = SimpleNamespace(first=3.5, table={"second": 7})
    assert scaled(x).tolist() == [4.5, 8.0, 11.5]


def test_calls_with_one_array_under_several_names_are_native():
    def add_both(x, pair):
        x += pair["first"]
        SHARED[:] += x
        pair["first"][0] = 7
        return x + SHARED * pair["first"]

    decorated = jit(add_both)
    ways = {
        "apart": lambda: (np.ones(3), np.arange(3.0)),
        "arguments": lambda: (one := np.arange(3.0), one),
        "outside": lambda: (SHARED, np.arange(3.0)),
        "all": lambda: (SHARED, SHARED),
        "views": lambda: (SHARED[:], SHARED),
    }
    for way in [*ways, *ways, *reversed(ways)]:
        outcomes = []
        for function in (add_both, decorated):
            SHARED[:] = 1, 2, 3
            x, first = ways[way]()
            result = function(x, {"first": first})
            outcomes.append([result, x.copy(), first.copy(), SHARED.copy()])
        for expected, found in zip(*outcomes, strict=True):
            np.testing.assert_array_equal(found, expected)
    before = decorated.cache_info().hits
    for way in ("arguments", "outside", "all"):
        x, first = ways[way]()
        decorated(x, {"first": first})
    assert decorated.cache_info().hits == before


def test_functions_that_raise_what_the_program_computes_are_native_where_their_lists_may_outgrow_their_memory():
    @jit
    def digits(x, limit):
        found = []
        while x > 0:
            if x % 10 == limit:
                raise ValueError(f"{x % 10} behind {len(found)}")
            found.append(x % 10)
            x //= 10
        return found, [1] * len(found)

    for _ in range(3):
        assert digits(12345, 7) == ([5, 4, 3, 2, 1], [1] * 5)
        with pytest.raises(ValueError, match="3 behind 2"):
            digits(12345, 3)
    assert digits.cache_info().entries[0].native


def test_functions_of_numpy_that_stand_outside_are_called_natively():
    x, chosen = np.arange(6.0), {"reduce": np.sum}

    def both(a):
        return chosen["reduce"](a) + first(a)

    first = np.max
    jitted = jit(both)
    jitted(x)
    with natively():
        found = jitted(x)
    assert found == both(x)
    first = np.min
    assert jitted(x) == both(x)
    chosen["reduce"] = np.prod
    assert jitted(x) == both(x)


def texts(n, c, name):
    quoted = f"{name!r:>8}" if c else f"{name}"
    both = f"{{{n}}} 'a' \"b\" \\ {n:>{n % 7}}|{n / 3:.2f}|{quoted}|{n!r}"
    return both, ("few" if n < 3 else "some" if n < 9 else f"{n!s:0>5}"), f"{both}{f'{n:x}'}", [f"{n}", (f"{c}", 2)]


def test_texts_are_those_of_python():
    jitted = jit(texts, static_argnames="name")
    for n in (1, 4, 20, 2, 12):
        for c in (True, False):
            assert jitted(n, c, "one") == texts(n, c, "one")
