"""What calls share compiled code: static arguments, integers that become static, the cache and its explanations."""

import enum
import threading

import numpy as np
import pytest
from jitted_calls import assert_same, check, compiled
from phlox.tracer import StaticArgumentError, jit, register_pytree

BASE = np.arange(24.0).reshape(4, 6)


# --- static arguments ---


class Mode(enum.Enum):
    PLUS = 1
    MINUS = 2


def test_arguments_that_are_static_by_their_type():
    def f(x, mode, dtype, flag, text, kind, nothing):
        assert mode is Mode.MINUS and flag is True and nothing is None and kind is np.float32
        return x.astype(dtype) - {"one": 1}[text] if flag else x

    check(f, np.arange(3), Mode.MINUS, np.dtype(np.float32), True, "one", np.float32, None)


def test_static_leaves_inside_containers():
    def f(options):
        return options["x"] * 2 if options["double"] else options["x"]

    jitted = compiled(f)
    for double in (True, False, True):
        options = {"x": np.ones(2), "double": double}
        assert_same(jitted(options), f(options))
    assert jitted.cache_info().misses == 2


def test_static_argnums_and_argnames():
    def power(x, n):
        for _ in range(int(n)):  # int() of a traced value fails: n is an ordinary number
            x = x * x
        return x

    for f in (compiled(power, static_argnums=1), compiled(power, static_argnums=(-1,)), compiled(power, static_argnames="n")):
        assert_same(f(np.full(2, 2.0), 2.0), np.full(2, 16.0))
        assert_same(f(np.full(2, 2.0), n=3.0), np.full(2, 256.0))
        assert f.cache_info().misses == 2


def test_static_values_of_different_types_differ():
    f = compiled(lambda x, s: (x, s), static_argnames="s")
    for value in (1, 1.0, True, (1, 2), (1.0, 2), 0.0, -0.0):
        result = f(np.ones(1), value)[1]
        assert type(result) is type(value) and repr(result) == repr(value)
    assert f.cache_info().misses == 7


def test_static_arguments_named_wrongly():
    def f(x, y):
        return x

    with pytest.raises(StaticArgumentError, match="no parameter 'z'"):
        jit(f, static_argnames="z")
    with pytest.raises(StaticArgumentError, match="2 positional parameters"):
        jit(f, static_argnums=2)


def test_unhashable_static_argument():
    f = compiled(lambda x, n: x, static_argnames="n")
    with pytest.raises(StaticArgumentError, match="argument n is static.*list is not; pass a tuple"):
        f(np.ones(1), [1, 2])


def test_integers_become_static_where_they_are_needed():
    def f(x, n):
        x = x + np.arange(n).sum()
        return x if n > 2 else -x

    jitted = check(f, np.ones(2), 3)
    for n in (1, 5, 3):
        assert_same(jitted(np.ones(2), n), f(np.ones(2), n))
    info = jitted.cache_info()
    assert [entry.static_numbers for entry in info.entries] == [("n=3",), ("n=1",), ("n=5",)]
    assert "n: static value 3 -> 1" in info.entries[1].reason
    assert "n=3" in str(info)


def test_integer_as_axis_shape_and_in_containers():
    check(lambda x, axis: np.sum(x, axis=axis), BASE, 1)
    check(lambda x, axis: np.sum(x, axis), BASE, -1)
    check(lambda n, x: np.zeros(n) + x, 3, 2.0)
    check(lambda size: np.ones((size["rows"], size["columns"])) * size["scale"], {"rows": 2, "columns": 3, "scale": 2.0})


def test_integer_that_is_only_computed_with_stays_traced():
    f = compiled(lambda x, n: x * n)
    for n in (1, 2, 3):
        assert_same(f(np.ones(2), n), np.ones(2) * n)
    assert f.cache_info().misses == 1


def test_integer_derived_from_arguments():
    check(lambda x, n, m: x * len(range(2 * n + m)), np.ones(2), 2, 1)


# --- the cache ---


def test_cache_counts_and_reasons():
    f = compiled(lambda x, y: x + y)
    f(np.ones((4, 3)), 1.0)
    f(np.ones((4, 3)), 2.0)
    f(np.ones((5, 3)), 2.0)
    f(np.ones((5, 3), np.float32), 2.0)
    f(np.ones((5, 3)), np.float64(2.0))
    info = f.cache_info()
    assert (info.hits, info.misses, len(info.entries)) == (1, 4, 4)
    reasons = [entry.reason for entry in info.entries]
    assert reasons[0] == "first call"
    assert reasons[1] == "argument x: shape (4, 3) -> (5, 3)"
    assert reasons[2] == "argument x: dtype float64 -> float32"
    assert reasons[3] == "argument y: kind python scalar -> numpy scalar"
    f.cache_clear()
    assert (f.cache_info().misses, f.cache_info().entries) == (0, ())
    assert_same(f(np.ones(1), 1.0), np.full(1, 2.0))
    assert f.cache_info().misses == 1


def test_a_different_structure_is_explained():
    f = compiled(lambda t: t["a"])
    f({"a": np.ones(1)})
    f({"a": np.ones(1), "b": np.ones(1)})
    assert "argument t['b']: new" in f.cache_info().entries[1].reason


def test_failed_traces_leave_nothing_behind():
    state = {"fail": True}

    @compiled
    def f(x):
        if state["fail"]:
            raise RuntimeError("mine")
        return x + 1

    with pytest.raises(RuntimeError, match="^mine$"):
        f(np.ones(1))
    assert f.cache_info().misses == 0
    state["fail"] = False
    assert_same(f(np.ones(1)), np.full(1, 2.0))


def test_concurrent_first_calls_compile_once():
    traced = []

    @compiled
    def f(x):
        traced.append(threading.get_ident())
        return x * 2

    barrier = threading.Barrier(8)
    results = [None] * 8

    def call(number):
        barrier.wait()
        results[number] = f(np.full(3, float(number)))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, result in enumerate(results):
        assert_same(result, np.full(3, 2.0 * number))
    assert 1 <= len(traced) <= 8 and f.cache_info().misses == 1


def test_functions_are_traced_independently_in_threads():
    results = {}

    def work(factor):
        f = compiled(lambda x: x * factor)
        for size in range(1, 20):
            results[factor, size] = f(np.ones(size))

    threads = [threading.Thread(target=work, args=(factor,)) for factor in (2.0, 3.0, 5.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 57
    for (factor, size), result in results.items():
        assert_same(result, np.full(size, factor))


def test_a_miss_reads_the_arguments_once():
    class Pair:
        def __init__(self, first, second):
            self.first, self.second = first, second

    reads = []

    def take_apart(pair):
        reads.append(pair)
        return (pair.first, pair.second), None

    register_pytree(Pair, take_apart, lambda _, children: Pair(*children))
    scaled = compiled(lambda pair, count, scale=1.0: (pair.first + pair.second[count]) * scale)
    for keywords in ({}, {"scale": 2.0}, {}):  # a miss in which an integer becomes static, another one, a hit
        pair = Pair(np.ones(3), [np.zeros(3), np.ones(3)])
        reads.clear()
        assert_same(scaled(pair, 1, **keywords), 2 * np.ones(3) * keywords.get("scale", 1.0))
        assert sum(read is pair for read in reads) == 1
    assert scaled.cache_info().misses == 2


def test_one_name_by_position_and_by_keyword():
    difference = check(lambda x, /, **others: x - others["x"], 5.0, x=2.0)
    assert difference.lower(5.0, x=2.0).compile()(5.0, x=2.0) == 3
    assert [leaf.path for leaf in difference.cache_info().entries[0].leaves] == ["x", "others['x']"]
    native = jit(lambda x, /, **others: x - (others["x"] == "one"))
    for _ in range(2):
        assert native(5.0, x="one") == 4 and native(5.0, x="two") == 5
