"""Dicts and sets whose keys the program computes: what decorated functions return is what they return undecorated."""

import copy
from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pytest
from phlox import TracerError, jit

VALUES = [3, 1, 3, 2, 1, 3, 7, 7], [1, 2, 3, 4, 5, 6, 7, 8], [5] * 8, [0, 3, 0, 1, 2, 0, 1, 9]
SHORT = [(np.array(values),) for values in VALUES]
LONG = [(np.arange(120) * 37 % 17,), (np.arange(120) % 2,), (np.zeros(120, int),)]
PROGRAMS = []


def described(value):
    """A value with the types of all its parts; of sets, in any order."""
    if isinstance(value, Exception):
        return type(value), str(value)
    if isinstance(value, dict):
        return type(value), [(described(key), described(part)) for key, part in value.items()]
    if isinstance(value, (set, frozenset)):
        return type(value), sorted(map(repr, map(described, value)))
    return type(value), [described(part) for part in value] if isinstance(value, (list, tuple)) else repr(value)


def outcome(function, arguments):
    try:
        return described(function(*copy.deepcopy(arguments)))
    except Exception as error:
        return described(error)


def check(function, calls):
    decorated = jit(function)
    for arguments in [*calls, calls[0]]:
        assert outcome(decorated, arguments) == outcome(function, arguments)


def program(function):
    PROGRAMS.append(pytest.param(function, id=function.__name__))
    return function


@program
def counted(x):
    counts = {}
    for value in x:
        counts[value] = counts.get(value, 0) + 1
    return counts, len(counts)


@program
def counted_by_membership(x):
    counts = {}
    for value in x.tolist():
        if value not in counts:
            counts[value] = 0
        counts[value] += 1
    return counts, list(counts), list(counts.values())


@program
def counted_by_default(x):
    counts = defaultdict(int)
    for value in x:
        counts[int(value)] += 1
    return counts, sorted(counts.items()), max(counts, key=counts.get), sorted(counts, key=counts.get)


@program
def counted_by_counter(x):
    counts = Counter(x.tolist())
    return counts, counts.most_common(2), counts[3], counts[100], counts.total()


@program
def counter_of_counters(x):
    first, second = Counter(x[:4].tolist()), Counter()
    first.update(x[4:].tolist())
    second.update(first)
    second.subtract(x[:2].tolist())
    return first, second


@program
def sums_in_floats(x):
    sums = defaultdict(float)
    for value in x:
        sums[int(value) % 3] += value / 2
    return sums


@program
def found_again(x):
    seen = {}
    for place, value in enumerate(x.tolist()):
        if value in seen:
            return seen[value], place
        seen[value] = place
    return -1, -1


@program
def first_places(x):
    places = {}
    for place, value in enumerate(x.tolist()):
        places.setdefault(value, place)
    return places, {value: key for key, value in places.items()}


@program
def keys_of_two(x):
    found = {}
    for value in x:
        found[value, value % 2] = value * 2.5
    return found, list(found.keys()), list(found.values()), [a + b for a, b in found], (3, 1) in found


@program
def comprehended(x):
    places = {value: place for place, value in enumerate(x.tolist())}
    return places, {key: place for key, place in places.items() if place > 2}, [key for key in places if key != 3]


@program
def comprehended_of_one_key(x):
    one = {int(x[0]): 2.5}
    pairs = [(key, other) for key in one for other in one]
    return [one[key] for key in one], pairs, {key: one.get(key) for key in one}, list(zip(one, "a"))


class Squares(dict):
    asked = 0

    def __missing__(self, key):
        self.asked += 1
        square = self[key] = key**2
        return square


class Named(dict):
    def __missing__(self, key):
        raise LookupError(f"there is no {key}")


@program
def with_what_is_missing(x):
    squares, total = Squares({3: -1}), 0
    for value in x.tolist():
        total += squares[value]
    return total, squares.asked, dict(squares), squares.get(100)


@program
def raised_for_what_is_missing(x):
    return Named({3: "three"})[int(x[0])]


@program
def removed(x):
    places = {value: place for place, value in enumerate(x.tolist())}
    popped = places.pop(3, None), places.pop(100, None)
    if 1 in places:
        del places[1]
    last = places.popitem() if places else None
    return places, popped, last, len(places), 1 in places


@program
def changed_while_gone_over(x):
    total, marks = 0, dict.fromkeys(x.tolist(), 0)
    for key in marks:
        marks[key] += key * 2
        total += key
    for key, value in marks.items():
        total += key * value
    return marks, total, sum(marks.values()), max(marks.values()), min(marks), sorted(marks), sorted(marks.values())


@program
def ordered(x):
    found = OrderedDict()
    for value in x:
        found[value] = 1
    return found


@program
def with_texts(x):
    sizes = {}
    for value in x:
        key = "big" if value > 2 else "small"
        sizes[key] = sizes.get(key, 0) + 1
    return sizes


@program
def one_side_adds_a_key(x):
    found = {"a": 1}
    if x[0] > 2:
        found["b"] = 2
    return found, "b" in found, found.get("b"), found.get("b", 5)


@program
def tables_read(x):
    table, names = {value: value * value + 0.5 for value in range(10)}, {0: "no", 1: "yes"}
    return [table[value] for value in x.tolist()], names[int(x[0] > 2)], [names.get(value, "other") for value in x[:2].tolist()]


@program
def functions_in_a_table(x):
    functions = {0: lambda v: v + 1, 1: lambda v: v * 10}
    return [functions[value % 2](value) for value in x[:3].tolist()]


@program
def keys_missing(x):
    return {1: 10, 3: 5, 5: 0}[int(x[0])]


@program
def keys_missing_in_a_loop(x):
    table, total = {1: 10, 3: 5, 2: 7, 7: 1}, 0
    for value in x.tolist():
        total += table[value]
    return total


@program
def keys_missing_and_caught(x):
    table, total = {1: 10, 3: 5, 2: 7}, 0
    for value in x.tolist():
        try:
            total += table[value]
        except KeyError:
            total -= 100
    return total


@program
def known_keys_changed(x):
    counts = {0: 0, 1: 0, 2: 0}
    for value in x.tolist():
        counts[value % 3] += 1
    return counts, counts[0], counts[1] - counts[2]


@program
def two_names(x):
    counts = other = {}
    for value in x:
        counts[value] = value
    other[x[0] + 100] = x[1]
    return counts, other is counts, len(other)


@program
def copies_stay(x):
    first = {value: 1 for value in x.tolist()}
    second = first.copy()
    third = dict(first)
    second[100] = 2
    third.clear()
    first.update({101: 3})
    return first, second, third


@program
def put_together(x):
    first, second = {value: 1 for value in x[:4].tolist()}, {value: 2 for value in x[4:].tolist()}
    both = {**first, **second, 100: 3}
    either = first | second
    first |= second
    return both, either, first, first == either, first == second, first != both


@program
def inside_of_others(x):
    state = {"seen": {}, "sets": [set(), 3]}
    for value in x.tolist():
        state["seen"][value] = state["seen"].get(value, 0) + 1
        state["sets"][0].add(value % 2)
    return state


@program
def sequence_until_it_repeats(x):
    value, steps, seen = int(x[0]), 0, {}
    while value not in seen:
        seen[value] = steps
        value = (value * value + 7) % 101
        steps += 1
    return steps - seen[value], seen


@program
def set_of_some(x):
    seen = set()
    for value in x:
        seen.add(int(value) % 3)
    return seen, 1 in seen, len(seen), sorted(seen), sum(seen), max(seen)


@program
def first_repeated(x):
    seen = set()
    for value in x.tolist():
        if value in seen:
            return value
        seen.add(value)
    return -1


@program
def algebra_of_sets(x):
    first, second = set(x.tolist()), {int(value) * 2 for value in x}
    return (
        first | second, first & second, first - second, first ^ second, first <= second, first == second,
        first.union([1, 2]), first.issuperset({int(x[0])}), first.isdisjoint(second), frozenset(first),
    )  # fmt: skip


@program
def sets_changed(x):
    found = set(x.tolist())
    other = found
    found |= {100, 101}
    found.discard(3)
    found.discard(55)
    found.update([7, 200])
    found -= {100}
    return found, other is found, len(found)


@program
def known_set_changed_on_one_side(x):
    found = {1, 2}
    if x[0] > 2:
        found.add(9)
    return found, 9 in found, len(found), sorted(found)


@program
def nearest_that_is_left(x):
    left, tour = set(range(1, len(x))), [0]
    while left:
        nearest = min(left, key=lambda place: abs(x[place] - x[tour[-1]]))
        tour.append(nearest)
        left.remove(nearest)
    return tour


@program
def known_set_gone_over_as_it_shrinks(x):
    left, found = {8, 3, 5, 40, 1}, []
    left.discard(int(x[0]))
    for value in left:
        found.append(value)
    found.append(left.pop())
    return found, left


@program
def gone_over_in_many_ways(x):
    found = Counter(x.tolist())
    first, *others = found
    least = min(found.items(), key=lambda entry: entry[1])
    pairs = list(zip(found, found.values())), list(enumerate(found.items())), list(reversed(found))
    tests = any(v > 2 for v in found.values()), 3 in found.values(), (3, 3) in found.items()
    return first, others, [*found, 0], least, pairs, tests


@program
def made_of_iterators(x):
    return (
        set(zip(x.tolist(), x[::-1].tolist())), dict(enumerate(x)), dict(map(lambda v: (v, v * 2), x.tolist())),
        frozenset(int(v) for v in x), dict.fromkeys(reversed(x.tolist())), Counter(v % 3 for v in x.tolist()),
    )  # fmt: skip


@program
def until_it_is_empty(x):
    found, number = Counter(x.tolist()), 0
    while found:
        key, count = found.popitem()
        number = number * 3 + key * count
    return number, found


@program
def removed_and_added_in_branches(x):
    found = {}
    for value in x.tolist():
        if value > 2:
            if value in found:
                del found[value]
            else:
                found[value] = value * 2
    return found, str(found), f"{len(found)}: {found}"


class Remembered:
    def __init__(self):
        self.values, self.hits = {}, 0

    def square(self, value):
        if value in self.values:
            self.hits += 1
            return self.values[value]
        self.values[value] = value * value
        return self.values[value]


@program
def remembered_by_an_object(x):
    memory, total = Remembered(), 0
    for value in x.tolist():
        total += memory.square(value)
    return total, memory.hits, memory.values


@program
def sets_one_after_the_other(x):
    current, steps = {int(x[0])}, 0
    while len(current) < 5:
        following = set()
        for value in sorted(current):
            following.add(value)
            following.add((value * 3 + 1) % 50)
        current = following
        steps += 1
    return steps, current


@pytest.mark.parametrize("function", PROGRAMS)
def test_short(function):
    check(function, SHORT)


CAPTURED = [
    counted_by_membership, counted_by_default, counted_by_counter, found_again, keys_of_two, removed, changed_while_gone_over,
    keys_missing_in_a_loop, inside_of_others, set_of_some, first_repeated, algebra_of_sets, sets_changed,
]  # fmt: skip


@pytest.mark.parametrize("function", CAPTURED)
def test_long(function):
    check(function, LONG)


@pytest.mark.parametrize(
    "keys",
    [
        np.arange(9000) * 7919 % 5003,
        np.arange(700) * 2.0**40,
        np.where(np.arange(300) % 2, 0.0, -0.0),
        np.arange(300, dtype=np.int16),
        np.arange(300, dtype=np.float32) % 7 / 3,
        np.arange(300) % 3 == 1,
        np.exp(1j * (np.arange(300) % 5)),
    ],
    ids=lambda keys: f"{keys.dtype}-{len(keys)}",
)
def test_many_keys(keys):
    """More than are expected at first, and of all kinds of numbers."""

    def counted(keys):
        counts, pairs, seen = {}, {}, set()
        for key in keys:
            counts[key] = counts.get(key, 0) + 1
            if key not in seen:
                seen.add(key)
            pairs[key, len(seen) % 4] = len(counts)
        return counts, pairs, seen, len(seen)

    check(counted, [(keys,)])


def test_arguments_are_changed():
    @jit
    def add(counts, x):
        counts[int(x[0])] = counts.get(int(x[0]), 0) + 1
        return len(counts)

    counts = {1: 2}
    assert add(counts, np.array([3])) == 2
    assert add({1: 2}, np.array([1])) == 1
    assert counts == {1: 2, 3: 1} and [type(key) for key in counts] == [int, int]


TABLE = {1: 0, 2: 0}


def test_an_item_of_a_dict_from_outside():
    @jit
    def count(x):
        TABLE[int(x[0])] += 1
        return TABLE[int(x[0])]

    TABLE.update({1: 0, 2: 0})
    assert [count(np.array([1])), count(np.array([2])), count(np.array([1]))] == [1, 1, 2]
    assert TABLE == {1: 2, 2: 1}
    with pytest.raises(KeyError):
        count(np.array([3]))


def test_one_of_two_is_changed():
    def changed(x):
        first, second = dict.fromkeys(x[:4].tolist()), dict.fromkeys(x[4:].tolist())
        chosen = first if x[0] > 2 else second
        chosen[int(x[1])] = 1
        return first, second

    compiled = jit(changed)
    for x in (np.arange(8), np.arange(8) + 3, np.arange(8)):
        assert compiled(x) == changed(x)


def test_one_of_two_sets_is_changed():
    def changed(x):
        first, second = set(x[:4].tolist()), set(x[4:].tolist())
        chosen = first if x[0] > 2 else second
        chosen.add(int(x[1]) + 7)
        return first, second

    compiled = jit(changed)
    for x in (np.arange(8), np.arange(8) + 3, np.arange(8)):
        assert compiled(x) == changed(x)


def test_keys_are_of_one_kind():
    @jit
    def mixed(x):
        found = {1: 2}
        found[float(x[0])] = 3
        return found

    with pytest.raises(TracerError, match="one kind of number"):
        mixed(np.array([1.0]))


def test_nan_is_no_key():
    @jit
    def stored(x):
        return {value: 1 for value in x}

    assert stored(np.array([0.5, 0.5])) == {0.5: 1}
    with pytest.raises(NotImplementedError, match="NaN"):
        stored(np.array([0.5, np.nan]))


def test_arrays_are_no_keys():
    @jit
    def stored(x):
        return {x: 1}

    with pytest.raises(TypeError, match="unhashable"):
        stored(np.arange(3))
