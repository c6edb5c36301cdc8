"""Lists and dicts among the arguments whose lengths and keys differ from call to call: three are compiled for, not each."""

import random
import threading
import warnings

import numpy as np
import pytest
from phlox import RecompilationWarning, jit

from ..support.native_calls import natively


def mean(values):
    return sum(values) / len(values)


def as_array(values):
    found = np.array(values)
    return found.mean(), found.dtype.name, found.shape


def in_a_loop(values):
    total, names = 0.0, []
    for number, value in enumerate(values):
        if value > 0:
            total += value * number
        else:
            names.append(number)
    return total, names


def changed(values):
    values.append(values[0] + values[-1])
    values[1] = 7.0
    return len(values), values[2:]


def cleared(values):
    while values and values[-1] > 0:
        values.pop()
    return len(values)


def chosen(values, limit):
    return [2 * value for value in values if value > limit], max(values), sorted(values)[0]


def looked_for(values):
    return values.count(values[2]), values[-1] in values, values.index(values[1])


def handed_back(values):
    values[0] = -1.0
    return values, values[0]


def same(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            same(one, other)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        same(list(found.values()), list(expected.values()))
    else:
        assert found == pytest.approx(expected)


def lists(draw, shortest=3):
    generator = random.Random(4)
    return [[draw(generator) for _ in range(generator.randrange(shortest, 40))] for _ in range(25)]


FLOATS = lists(lambda generator: generator.gauss(0, 1))
INTEGERS = lists(lambda generator: generator.randrange(-5, 9))
PAIRS = lists(lambda generator: (generator.randrange(5), generator.gauss(0, 1)))
SCALARS = lists(lambda generator: np.float64(generator.gauss(0, 1)))


@pytest.mark.parametrize("function", [mean, as_array, in_a_loop, changed, cleared, looked_for, handed_back])
@pytest.mark.parametrize("given", [FLOATS, INTEGERS, SCALARS], ids=["floats", "integers", "scalars"])
def test_lists_of_numbers(function, given):
    if function in (changed, handed_back):
        given = [[float(value) for value in one] for one in given]
    compiled = jit(function)
    for one in given:
        other, mine = one.copy(), one.copy()
        expected, found = function(other), compiled(mine)
        same(found, expected)
        same(mine, other)
        if function is handed_back:
            assert found[0] is mine
    assert compiled.cache_info().misses <= 6


def test_calls_are_native():
    compiled = jit(mean)
    for one in FLOATS[:8]:
        compiled(one)
    for one in FLOATS[8:]:
        with natively():
            assert compiled(one) == pytest.approx(mean(one))


def test_rows_and_further_arguments():
    compiled = jit(lambda rows, x: sum(weight * x[place] for place, weight in rows))
    x = np.arange(5.0)
    for one in PAIRS:
        assert compiled(one, x) == pytest.approx(sum(weight * x[place] for place, weight in one))
    assert compiled.cache_info().misses == 3
    compiled = jit(chosen)
    for one in FLOATS:
        same(compiled(one, limit=0.25), chosen(one, 0.25))
    assert compiled.cache_info().misses == 3


def totals(table):
    found = 0.0
    for key, value in table.items():
        found += key * value
    return found, len(table), table.get(3, -1.0), 4 in table


def counted(table, key):
    table[key] = table.get(key, 0) + 1
    return len(table)


def test_dicts_of_numbers():
    generator, compiled, counts = random.Random(1), jit(totals), jit(counted)
    for _ in range(25):
        keys = generator.sample(range(50), generator.randrange(2, 20))
        table = {key: generator.gauss(0, 1) for key in keys}
        same(compiled(table), totals(table))
        numbers, others = dict.fromkeys(keys, 2), dict.fromkeys(keys, 2)
        assert counts(numbers, 3) == counted(others, 3)
        assert list(numbers.items()) == list(others.items())
    assert compiled.cache_info().misses <= 4
    assert counts.cache_info().misses <= 4


def test_other_types_and_lengths_in_between():
    compiled = jit(as_array)
    for one in (*FLOATS[:5], [1, 2], [1.0, 2], [True, False], *FLOATS[5:9], [2.5], ["a", "b"][:0] + [1.0] * 300, *FLOATS[9:12]):
        same(compiled(one), as_array(one))


def test_empty_ones():
    compiled = jit(lambda values: (len(values), sum(values), [value + 1.0 for value in values]))
    for one in (*FLOATS[:5], [], *FLOATS[5:7], [], []):
        same(compiled(one.copy()), (len(one), sum(one), [value + 1.0 for value in one]))


def test_what_is_no_column_is_compiled_for_each_structure():
    compiled = jit(lambda parts: sum(part.sum() for part in parts))
    for count in (1, 2, 3, 4, 2, 5):
        assert compiled([np.ones(2)] * count) == 2.0 * count
    assert compiled.cache_info().misses == 5
    words = jit(lambda parts: "-".join(parts))
    for count in (1, 2, 3, 4, 2):
        assert words(["ab"] * count) == "-".join(["ab"] * count)


def test_what_needs_the_length():
    compiled = jit(lambda values: np.zeros(len(values)).reshape(2, -1).shape)
    for count in (2, 4, 6, 8, 10, 4, 2):
        assert compiled([1.0] * count) == (2, count // 2)


def both(first, second):
    first.append(1.0)
    first[0] = 5.0
    return second[0] + len(second)


def test_one_list_at_two_places():
    compiled = jit(both)
    for one in FLOATS[:6]:
        assert compiled(one.copy(), [1.0, 2.0]) == 3.0
    shared = [1.0, 2.0, 3.0]
    for _ in range(2):
        with pytest.raises(ValueError, match="stands at two places among the arguments"):
            compiled(shared, shared)
    nested = jit(lambda first, held: (first.append(1.0), held["list"][0] + len(held["list"]))[1])
    for one in FLOATS[:6]:
        assert nested(one.copy(), {"list": [1.0, 2.0]}) == 3.0
    with pytest.raises(ValueError, match="stands at two places among the arguments"):
        nested(shared, {"list": shared})
    assert shared == [1.0, 2.0, 3.0]


def test_one_list_at_two_places_that_nobody_changes():
    compiled = jit(lambda first, second: sum(first) + second[0])
    for one in FLOATS[:6]:
        assert compiled(one, [1.0]) == pytest.approx(sum(one) + 1.0)
    for one in FLOATS[:6]:
        assert compiled(one, one) == pytest.approx(sum(one) + one[0])


def test_threads():
    compiled, wrong = jit(mean), []

    def call(part):
        wrong.extend(one for one in part * 5 if compiled(one) != pytest.approx(mean(one)))

    threads = [threading.Thread(target=call, args=(FLOATS[begin::3],)) for begin in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_reason_names_the_argument():
    compiled = jit(mean)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RecompilationWarning)
        for one in FLOATS:
            compiled(one)
    assert "argument values: what it holds is an input from now on" in str(compiled.cache_info())
    compiled = jit(lambda table: sum(table.values()))
    with pytest.warns(RecompilationWarning, match="argument table"):
        for count in range(1, 18):
            compiled({f"name {number}": number / 2 if number else 1 for number in range(count)})


def test_lists_in_lists_of_other_lengths_are_arrays():
    """What is within is opened by itself; NumPy's functions look into lists at any depth."""
    function = lambda rows: (np.array(rows), np.sum(rows), np.stack(rows))  # noqa: E731
    jitted = jit(function)
    for rows in ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[1, 0], [0, 1]], [[1], [2.5]], [[1, 2], [3, 4], [5, 6]], [[0, 1], [1, 0]]):
        for found, expected in zip(jitted(rows), function(rows)):
            assert found.dtype == expected.dtype and np.array_equal(found, expected)


def test_flat_lists_and_then_lists_in_lists():
    jitted = jit(lambda x: np.array(x))
    for values in ([1, 0, 2], [0], [20.0, 1.0], [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[1, 0], [0, 1]]):
        found, expected = jitted(values), np.array(values)
        assert found.dtype == expected.dtype and np.array_equal(found, expected)


LONG = [[random.Random(7).gauss(0, 1) for _ in range(length)] for length in (700, 900, 2000)]


@pytest.mark.parametrize("function", [mean, as_array, in_a_loop, changed, cleared, looked_for, handed_back])
def test_long_lists_are_opened_at_once(function):
    compiled = jit(function)
    for one in LONG:
        other, mine = one.copy(), one.copy()
        same(compiled(mine), function(other))
        same(mine, other)
    entries = compiled.cache_info().entries
    assert all(len(entry.leaves) <= 1 for entry in entries)


def test_what_is_long_and_no_column_is_taken_as_it_is():
    compiled = jit(lambda values: values[3] + values[-1] if isinstance(values[3], float) else values[3])
    assert compiled([1.0] * 600) == 2.0
    assert compiled([1, 2.0] * 300) == 4.0
    assert compiled(["a"] * 600) == "a"


def test_what_needs_the_entries_of_a_long_list():
    compiled = jit(lambda values: np.zeros(len(values)).reshape(2, -1).shape)
    assert [compiled([1.0] * count) for count in (600, 800, 600)] == [(2, 300), (2, 400), (2, 300)]
