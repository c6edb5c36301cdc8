"""Lists and dicts among the arguments whose lengths and keys differ from call to call: three are compiled for, not each."""

import copy
import random
import threading
import warnings
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
from phlox import RecompilationWarning, jit

from ..support.native_calls import natively

_WORDS = ["a", "bb", "ccc", "\u00e9", "", "dd", "eee", "zz", "q", "pear", "fig", "plum"]


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


Sale = namedtuple("Sale", "region units price")


@dataclass
class Bid:
    who: str
    price: float
    count: int

    def value(self):
        return self.price * self.count


def counted_words(words):
    found = {}
    for word in words:
        found[word] = found.get(word, 0) + 1
    return found, max(words, key=len), "-".join(words)


def different(values):
    return sorted(set(values)), len(set(values)), values.count(values[1])


def gains(rows):
    held, total = {}, 0.0
    for name, price, count in rows:
        total += count * (price - held.get(name, price))
        held[name] = price
    return total, held, max(rows)


def by_name(rows):
    found = {}
    for row in rows:
        found.setdefault(row["who"], []).append(row["price"])
    return {name: sum(prices) / len(prices) for name, prices in found.items()}, [row["who"] for row in rows if row["count"] > 4]


def of_sales(sales):
    return sum(sale.units * sale.price for sale in sales), sorted(sales)[0], [sale.region for sale in sales]


def of_bids(bids):
    return sum(bid.value() for bid in bids), [bid.who for bid in sorted(bids, key=lambda bid: -bid.count)]


def means(rows):
    return [sum(row) / len(row) for row in rows], np.array(rows).mean(axis=0).tolist()


def prices(table):
    longer = [key for key in table if len(key) > 1]
    return sum(table.values()), max(table, key=table.get), longer, table.get("zz"), "fig" in table


def raised(table):
    table["fig"] = table.pop("a") + 1.5
    for key in sorted(table):
        table[key] *= 2
    return len(table)


def of_records(made):
    def one(generator):
        return made(generator.choice(_WORDS), generator.random(), generator.randrange(9))

    return lambda generator, length: [one(generator) for _ in range(length)]


def _table(generator, length):
    return {key: generator.random() for key in generator.sample(_WORDS[1:], min(length, 11))} | {"a": 2.0}


_PROGRAMS = {
    counted_words: lambda generator, length: generator.choices(_WORDS, k=length),
    different: lambda generator, length: generator.choices(_WORDS, k=length),
    gains: of_records(lambda *parts: parts),
    by_name: of_records(lambda who, price, count: {"who": who, "price": price, "count": count}),
    of_sales: of_records(Sale),
    of_bids: of_records(Bid),
    means: lambda generator, length: [[generator.random(), generator.randrange(9)] for _ in range(length)],
    prices: _table,
    raised: _table,
}


@pytest.mark.parametrize("function", _PROGRAMS, ids=lambda function: function.__name__)
def test_texts_and_records(function):
    generator, compiled = random.Random(5), jit(function)
    for number in range(16):
        given = _PROGRAMS[function](generator, generator.randrange(2, 30))
        mine = copy.deepcopy(given)
        expected = function(given)
        if number < 15:
            found = compiled(mine)
        else:
            with natively():
                found = compiled(mine)
        same(found, expected)
        assert mine == given
    assert compiled.cache_info().misses <= 4
    assert "is an input from now on" in str(compiled.cache_info())


def bought(prices, stock, names, word):
    total = {}
    for name in names:
        total[name] = total.get(name, 0.0) + prices.get(name, 1.0) * stock.get(name, 0)
    left = {name: stock[name] for name in names if name in stock}
    return total, [name for name in stock if name in prices], word in prices, left


def test_several_arguments_with_texts():
    generator, compiled = random.Random(3), jit(bought)
    for _ in range(12):
        length = generator.randrange(3, 11)
        first, second = generator.sample(_WORDS, length), generator.sample(_WORDS, length - 1)
        given = {key: generator.random() for key in first}, {key: generator.randrange(9) for key in second}
        given = *given, generator.choices(_WORDS, k=length + 2), generator.choice(_WORDS)
        assert repr(compiled(*given)) == repr(bought(*given))
    assert compiled.cache_info().misses <= 7


def first_of(rows):
    return rows[0]


def in_front(rows):
    return rows[0], len(rows)


def raises_all(rows):
    for row in rows:
        row["score"] += 1
    return rows[-1]["score"]


def raises_one(rows):
    one = rows[1]
    one["score"], one["name"] = 7, "z"
    return rows[1]["score"]


def exchanged(rows):
    rows[0], rows[1] = rows[1], rows[0]


def appended(rows):
    rows.append({"name": "new", "score": 1})
    return rows[-1]["name"]


def filed(rows):
    table = {}
    for row in rows:
        table[row["name"]] = row
    table["a"]["score"] = 9
    return sum(row["score"] for row in rows)


@pytest.mark.parametrize("function", [first_of, in_front, raises_all, raises_one, exchanged, appended, filed])
def test_what_is_returned_or_changed_stays_the_object_that_it_is(function):
    compiled = jit(function)
    for length in (2, 3, 4, 5, 6, 7):
        mine = [{"name": "abc"[place % 3], "score": 7 * place % 5} for place in range(length)]
        other = copy.deepcopy(mine)
        parts, other_parts = list(mine), list(other)
        found, expected = compiled(mine), function(other)
        assert (found, mine, parts) == (expected, other, other_parts)
        assert [[one is row for one in mine] for row in parts] == [[one is row for one in other] for row in other_parts]
        if function in (first_of, in_front):
            assert (found if function is first_of else found[0]) is mine[0]


def raises_another(rows, row):
    row["score"] += 5
    return sum(one["score"] for one in rows)


def test_what_a_list_holds_may_be_another_argument():
    compiled = jit(raises_another)
    for length in (2, 3, 4, 5, 6):
        rows = [{"score": place} for place in range(length)]
        assert compiled(rows, {"score": 1}) == sum(range(length))
        with pytest.raises(ValueError, match="stands at two places among the arguments"):
            compiled(rows, rows[1])


def test_lists_that_are_changed_in_place_between_calls():
    compiled = jit(lambda words, scores: ["-".join(words), sum(scores), len(words)])
    words, scores = [], []
    for place in range(9):
        words.append(_WORDS[place])
        scores.append(place / 2)
        assert compiled(words, scores) == ["-".join(words), sum(scores), len(words)]
        words[0] = _WORDS[-place]
        assert compiled(words, scores) == ["-".join(words), sum(scores), len(words)]
    assert compiled(words, [1, 2]) == ["-".join(words), 3, 9]
    words[0] = "changed"
    assert compiled(words, scores) == ["-".join(words), sum(scores), len(words)]


def merged(ids, rounds):
    found = []
    for round in range(rounds):
        pairs = {}
        for pair in zip(ids, ids[1:]):
            pairs[pair] = pairs.get(pair, 0) + 1
        best, out, place = max(pairs, key=pairs.get), [], 0
        while place < len(ids):
            is_one = place < len(ids) - 1 and (ids[place], ids[place + 1]) == best
            out.append(100 + round if is_one else ids[place])
            place += 2 if is_one else 1
        ids = out
        found.append(best)
    return found, ids


def test_what_cannot_be_recorded_with_columns_is_compiled_for_each_length():
    generator, compiled = random.Random(2), jit(merged)
    for length in (20, 19, 18, 17):
        ids = [generator.randrange(3) for _ in range(length)]
        assert compiled(ids, 2) == merged(ids, 2)
