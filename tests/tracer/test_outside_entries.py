"""Dicts, sets and lists outside that hold others at each call: read as columns, and compiled a few times in all."""

import gc
import threading
from collections import Counter, OrderedDict, defaultdict
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from phlox import jit
from phlox.tracer.outside.effects import exchange_items

from ..support.native_calls import natively

CALLS = 50


def some(rng, k):
    return rng.integers(0, 12 + 2 * k, 10)


def place(rng, k):
    return int(rng.integers(0, 20 + k))


def count_new(held, values):
    fresh = 0
    for value in values.tolist():
        if value not in held:
            held[value] = 0
            fresh += 1
        held[value] += 1
    return fresh, max(held.values())


def count(held, values):
    for value in values:
        held[int(value)] = held.get(int(value), 0) + 1
    return len(held)


def count_in_order(held, values):
    for value in values:
        held[int(value)] += 1
    return list(held.items())[-2:]


def keep_square(held, n):
    if n in held:
        return held[n]
    held[n] = n * n + 0.5
    return held[n]


def set_default(held, n):
    return held.setdefault(n, n * 2), n in held


def keep_last(held, n):
    held[n] = n
    if len(held) > 5:
        del held[next(iter(held))]
    return len(held)


def take_away(held, n):
    held[n] = held.pop(n, 0) + 1  # now the last one
    return sum(held.values())


def pairs(held, n):
    held[n % 7, n] = held.get((n % 7, n), 0) + 1
    return len(held)


def mean_of(held, n):
    times, total = held.get(n, (0, 0.0))
    held[n] = (times + 1, total + n / 3)
    return held[n]


def of_numpy(held, values):
    for value in values:
        held[value] = held.get(value, np.float64(0)) + 0.5


def is_third(held, n):
    if n not in held:
        held[n] = n % 3 == 0
    return held[n]


def by_fraction(held, n):
    held[n / 4] = held.get(n / 4, 0) + n
    return sum(key * value for key, value in held.items())


def clear_sometimes(held, n):
    if n % 11 == 0:
        held.clear()
    held[n] = 1
    return len(held)


@pytest.mark.parametrize("kind", [dict, Counter, lambda: defaultdict(int)], ids=["dict", "Counter", "defaultdict"])
@pytest.mark.parametrize(
    "function, argument",
    [
        (count_new, some), (count, some), (set_default, place), (keep_last, place), (take_away, place), (pairs, place),
        (of_numpy, some), (by_fraction, place), (clear_sometimes, place),
    ],
    ids=lambda one: one.__name__,
)  # fmt: skip
def test_dicts_that_hold_others_at_each_call(function, argument, kind):
    check(function, kind(), kind(), argument)


@pytest.mark.parametrize("function", [keep_square, mean_of, is_third])
def test_dicts_with_values_of_other_kinds(function):
    check(function, {}, {}, place)


@pytest.mark.parametrize("kind", [Counter, lambda: defaultdict(int)], ids=["Counter", "defaultdict"])
def test_what_is_missing_is_made(kind):
    check(count_in_order, kind(), kind(), some)


def add_new(held, values):
    new = 0
    for value in values.tolist():
        if value not in held:
            held.add(value)
            new += 1
    return new, len(held)


def drop_some(held, values):
    held.update(values.tolist())
    held.discard(int(values[0]))
    return len(held)


@pytest.mark.parametrize("function", [add_new, drop_some])
def test_sets_that_hold_others_at_each_call(function):
    check(function, set(), set(), some)


def mean_so_far(held, n):
    held.append(n / 3)
    return np.mean(held)


def greatest_of_last(held, n):
    held.append(n)
    if len(held) > 5:
        held.pop(0)
    return max(held), min(held), held[-1]


def sum_of_pairs(held, n):
    held.append((n, n / 2))
    return max(a + b for a, b in held)


def change_one(held, n):
    held.append(0.0)
    held[n % len(held)] += n
    return sum(held)


@pytest.mark.parametrize("function", [mean_so_far, greatest_of_last, sum_of_pairs, change_one])
def test_lists_whose_elements_are_read_and_that_grow(function):
    check(function, [], [], place)


def check(function, held, expected, argument):
    same_object = held
    f = jit(lambda *given: function(held, *given))
    rng, other = np.random.default_rng(1), np.random.default_rng(1)
    for k in range(CALLS):
        found, wanted = f(argument(rng, k)), function(expected, argument(other, k))
        assert described(found) == described(wanted), k
        assert described(held) == described(expected), k
    assert held is same_object
    information = f.cache_info()
    assert information.misses <= 5
    assert information.entries[-1].native or isinstance(held, OrderedDict)


def described(value):
    """With the types, and of dicts the order."""
    if isinstance(value, dict):
        return type(value), [(described(key), described(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [described(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return type(value), pytest.approx(float(value), rel=1e-12)
    return type(value), value


def test_what_python_changes_between_calls_is_seen():
    held, f = {}, None

    @jit
    def total(n):
        held[n] = held.get(n, 0) + 1
        return sum(held.values())

    f, expected = total, {}
    for k in range(60):
        n = k % 9
        for one in (held, expected):
            if k % 5 == 1:
                one[100 + k] = k
            elif k % 5 == 3:
                one.pop(next(iter(one)))
            elif k % 7 == 4:
                one[n] = -k
            elif k == 30:
                kept = dict(one)
                one.clear()
                one.update(kept)
        expected[n] = expected.get(n, 0) + 1
        assert f(n) == sum(expected.values())
        assert list(held.items()) == list(expected.items())


def test_another_dict_at_the_same_place():
    holder = SimpleNamespace(seen={})

    @jit
    def add(n):
        holder.seen[n] = n
        return len(holder.seen)

    for k in range(40):
        if k % 8 == 7:
            holder.seen = {1: 1, 2: 2, 3: 3} if k % 16 == 7 else {}
            gc.collect()
        expected = {**holder.seen, k: k}
        assert add(k) == len(expected)
        assert holder.seen == expected
    assert add.cache_info().misses <= 4


def test_one_dict_under_two_names_is_one():
    held = {}
    holder = {"first": held, "second": [held]}

    @jit
    def add(n):
        holder["first"][n] = 1
        return len(holder["second"][0]), held.get(n - 1, 0)

    for k in range(20):
        assert add(k) == (k + 1, min(k, 1))
    assert add.cache_info().misses <= 4


def test_entries_of_other_types_are_taken_one_by_one():
    held = {"name": None, "other": "text"}

    @jit
    def put(n):
        held["last"] = n
        return sum(1 for key in held if key != "name")

    assert [put(k) for k in range(3)] == [2, 2, 2]
    held["fourth"] = (1, "two")
    assert put(5) == 3
    assert described(held) == described({"name": None, "other": "text", "last": 5, "fourth": (1, "two")})


def test_integers_that_64_bits_do_not_hold():
    held = {1: 1, 2: 2}

    @jit
    def greatest(n):
        held[n] = n
        return max(held.values())

    assert [greatest(k) for k in range(5)] == [2, 2, 2, 3, 4]
    held[5] = 2**70
    assert greatest(6) == 2**70
    assert held[5] == 2**70


def test_an_error_behind_changes_is_raised_with_them_and_with_its_key():
    held = {}

    @jit
    def move(n, other):
        held[n] = 1.5
        held[n] += held[other]
        return held[n]

    for k in range(20):
        assert move(k, k) == 3.0
    with pytest.raises(KeyError, match="99"):
        move(50, 99)
    assert list(held)[-1] == 50 and held[50] == 1.5
    assert move(7, 7) == 3.0


def test_many_entries():
    held, expected = {}, {}

    @jit
    def add(values):
        for value in values.tolist():
            held[value] = held.get(value, 0) + value
        return len(held)

    for k in range(12):
        values = np.arange(k * 300, k * 300 + 400)
        for value in values.tolist():
            expected[value] = expected.get(value, 0) + value
        assert add(values) == len(expected)
        assert list(held.items()) == list(expected.items())
    assert add.cache_info().misses <= 8


def test_threads_may_call_at_the_same_time():
    held = {k: k for k in range(100)}
    failed = []

    @jit
    def total(values):
        return sum(held.values()) + len(values) + np.sum(np.sort(values))

    held[100] = 100
    large = np.zeros(50_000)
    total(large)
    held[101] = 101
    expected = total(large)

    def call():
        try:
            for _ in range(50):
                assert total(large) == expected
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_an_ordered_dict_keeps_its_order():
    check(keep_square, OrderedDict(), OrderedDict(), place)


def test_iterators_of_what_the_program_decides():
    @jit
    def first_ones(values):
        seen = {}
        for value in values:
            if value > 2:
                seen[int(value)] = 1
        items = iter(seen.items())
        return next(iter(seen)), next(items), next(items, None), next(iter(seen.values()), -1), list(iter(seen))

    assert first_ones(np.array([1, 5, 2, 7, 5])) == (5, (5, 1), (7, 1), 1, [5, 7])
    assert first_ones(np.array([1, 1, 2, 2, 9])) == (9, (9, 1), None, 1, [9])
    with pytest.raises(StopIteration):
        first_ones(np.array([1, 1, 2, 2, 1]))


@pytest.mark.parametrize("values", [[1.0, np.nan, 3.0], [np.nan, 1.0, 2.0], [3.0, 1.0, np.nan], [1.0, 2.0, -np.nan]])
def test_extremes_of_lists_with_what_is_no_number(values):
    def extremes(x):
        kept = []
        for value in x:
            if value > 0 or value != value:
                kept.append(float(value))
        if x[0] == 3:
            kept.pop()
        return max(kept), min(kept)

    np.testing.assert_array_equal(jit(extremes)(np.array(values)), extremes(np.array(values)))


def test_a_number_of_a_known_dict_needs_no_static_key():
    table = {0: 5, 1: 7, 2: -3}

    @jit
    def look_up(k):
        return table.get(k, -1) + table.get(k - 1, 0)

    for k in range(-2, 8):
        assert look_up(k) == table.get(k, -1) + table.get(k - 1, 0)
    assert look_up.cache_info().misses == 1


def test_containers_that_are_kept_and_returned_stay_themselves():
    numbers, table, kept = [1.0, 2.0, 3.0], {1: 2.0}, SimpleNamespace()

    @jit
    def f(value):
        kept.numbers, kept.both = numbers, (table, [numbers])
        numbers.append(value)
        table[value] = 3.0
        return {"numbers": numbers, "table": (1, table)}, len(numbers)

    for size in (3, 3, 4, 5, 6, 7):
        numbers[:] = [1.0] * size
        table.clear()
        table.update(dict.fromkeys(range(size), 2.0))
        found, length = f(9)
        assert found["numbers"] is kept.numbers is kept.both[1][0] is numbers
        assert found["table"][1] is kept.both[0] is table
        assert numbers == [1.0] * size + [9] and length == size + 1
        assert table == {**dict.fromkeys(range(size), 2.0), 9: 3.0}
    assert f.cache_info().misses == 1


def counted_there(held, a, b):
    held[a, b] += 1
    return held[a, b], len(held)


@pytest.mark.parametrize("kind", [dict, lambda held: defaultdict(int, held)], ids=["dict", "defaultdict"])
@pytest.mark.parametrize(("others", "compilations"), [({(3, 4): 7}, 1), ({(3, 4): 2.5}, 2), ({}, 1)])
def test_keys_that_are_there_already_are_kept(kind, others, compilations):
    key = (1, int("2"))
    held, expected = kind({key: 3000, **others}), kind({key: 3000, **others})
    compiled = jit(lambda a, b: counted_there(held, a, b))
    for number in range(6):
        with natively() if number > 2 else nullcontext():
            assert compiled(1, 2) == counted_there(expected, 1, 2)
    assert list(held.items()) == list(expected.items())
    assert next(iter(held)) is key
    assert compiled.cache_info().misses == compilations


def test_a_key_of_another_type_in_the_place_of_an_equal_one():
    held, expected = {(1, 2): 3}, {(1, 2): 3}
    for key in ((True, 2), (1.0, 2), (1, 2), (1, 2), (-0.0, 2), (0.0, 2)):
        expected.clear()
        expected[key] = 4
        exchange_items(held, {key: 4})
        assert repr(held) == repr(expected)
