"""Objects, dicts, sets and named tuples as elements of lists whose length the program decides, and as results."""

from collections import OrderedDict, deque, namedtuple
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from phlox import TracerError, jit

Pair = namedtuple("Pair", "number found")
VALUES = [np.array([5.0, 0.0, 2.0, 4.0, 7.0]), np.array([0.0, 1.0, 0.5, 1.5, 1.0]), np.zeros(5)]


class Record:
    def __init__(self, number, found):
        self.number = number
        self.found = found


class Slotted:
    __slots__ = ("number", "found")

    def __init__(self, number, found):
        self.number, self.found = number, found


class Node:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right

    def __eq__(self, other):
        return self.value == other.value

    __hash__ = None


def below(x, limit):
    return [place for place in range(5) if x[place] < limit]


def counts(x, limit):
    found = {}
    for value in x:
        found[int(value) % 3] = found.get(int(value) % 3, 0) + limit
    return found


def remainders(x, limit):
    return {int(value) % (limit + 1) for value in x}


def last_ones(x, limit):
    found = deque(maxlen=3)
    for value in x:
        if value < limit:
            found.append(value)
    return found


HOLDERS = {
    "alone": lambda value, found: found,
    "dict": lambda value, found: {"number": value, "found": found},
    "nested": lambda value, found: {"a": {"b": [found, value]}},
    "tuple": lambda value, found: (value, found),
    "named_tuple": lambda value, found: Pair(value, found),
    "object": lambda value, found: Record(value, found),
    "object_with_slots": lambda value, found: Slotted(value, found),
    "namespace": lambda value, found: SimpleNamespace(number=value, found=found),
    "ordered_dict": lambda value, found: OrderedDict(number=value, found=found),
}


def described(value):
    """The value as tuples of names and numbers, types among them."""
    if isinstance(value, (list, tuple, deque)):
        return type(value).__name__, *map(described, value)
    if isinstance(value, dict):
        return type(value).__name__, *((key, described(one)) for key, one in value.items())
    if hasattr(type(value), "__slots__") and not isinstance(value, (np.generic, set)):
        return type(value).__name__, *(described(getattr(value, name)) for name in type(value).__slots__)
    return (type(value).__name__, described(vars(value))) if hasattr(value, "__dict__") else (type(value).__name__, value)


@pytest.mark.parametrize("holder", ["alone", "ordered_dict", "object"])
@pytest.mark.parametrize("find", [counts, remainders, last_ones])
def test_elements(find, holder):
    hold = HOLDERS[holder]

    def some(x, rounds):
        found = []
        for k in range(rounds):
            if x[k % 5] > 1:
                found.append(hold(x[k % 5], find(x, k)))
        return found

    decorated = jit(some)
    for x in (*VALUES, VALUES[0]):
        assert described(decorated(x, 12)) == described(some(x, 12))


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_every_round(hold):
    def all_of_them(x, rounds):
        found, by_key = [], {}
        for k in range(rounds):
            found.append(hold(x[k % 5], below(x, k)))
            if x[k % 5] > 1:
                by_key[k] = hold(x[k % 5], below(x, 2))
        return found, by_key

    decorated = jit(all_of_them)
    for x in (*VALUES, VALUES[0]):
        assert described(decorated(x, 12)) == described(all_of_them(x, 12))


def best_of_all(x):
    best = None
    for value in x:
        if best is None or value > best.number:
            best = Record(value, None)
    return best


def sorted_by_attribute(x):
    found = []
    for value in x:
        if value > 0:
            found.append(Record(value, 2 * value))
    return [one.found for one in sorted(found, key=lambda one: one.number)]


def tree(x):
    leaf = Node(x[0])
    return Node(x.sum(), leaf, Node(x[1], leaf))


def sometimes_none(x):
    found = []
    for value in x:
        if value > 0:
            found.append(Record(value, None if value > 3 else value))
    return found


@pytest.mark.parametrize("function", [best_of_all, sorted_by_attribute, tree, sometimes_none])
@pytest.mark.parametrize("times", [1, 60])
def test_as_undecorated(function, times):
    decorated = jit(function)
    for x in (*VALUES, VALUES[0]):
        assert described(decorated(np.tile(x, times))) == described(function(np.tile(x, times)))


def test_an_object_at_two_places_is_one():
    result = jit(tree)(VALUES[0])
    assert type(result) is Node and result.left is result.right.left
    assert jit(tree)(VALUES[0]) is not result


@dataclass
class Split:
    number: float
    found: int


def least_below(x, limit):
    best = None
    for k in range(len(x)):
        if x[k] < (limit if best is None else best.number):
            best = Split(x[k], k)
    return best


def changed_when_put_there(x):
    found, others = [], {}
    for k in range(12):
        one, other, row = Record(x[k % 5], [k, k]), Record(x[k % 4], [k, 1]), {"sum": 0.0}
        chosen = one if x[k % 3] > 1 else other if x[k % 4] > 1 else None
        if x[k % 5] > 0.7:
            found.append((one, chosen, row))
            one.number += 1
            if x[k % 3] > 0.6:
                one.found[0] -= 5
                row["sum"] += x[k % 5]
            if chosen is not None:
                chosen.number *= 2
        elif k not in others:
            others[k] = other
            other.number -= k
    numbers = [(one.number, one.found, None if chosen is None else chosen.number, row) for one, chosen, row in found]
    return numbers, [(key, other.number) for key, other in others.items()]


def one_of_several(x):
    found = []
    for k in range(6):
        one, other = Record(1, x[k % 5]), Record(2, x[k % 3])
        if x[k % 3] > 0.6:
            found.append(one if x[k % 5] > 1 else other)
    return found


def one_of_several_or_none(x):
    found, first, last = [], Record(x[0], 1), Record(x[1], 2)
    for k in range(6):
        if x[k % 3] > 0.6:
            found.append(first if x[k % 5] > 1 else None if x[k % 4] > 1 else last)
    return found


def until_there_is_none(x):
    found = []
    for _ in range(8):
        split = least_below(x, 3)
        if split is None:
            break
        found.append(split)
        x = x + 0.75
    return found, len(found)


@pytest.mark.parametrize("function", [changed_when_put_there, one_of_several, one_of_several_or_none, until_there_is_none])
def test_objects_that_lists_get_under_conditions(function):
    decorated = jit(function)
    for x in (*VALUES, VALUES[0]):
        assert described(decorated(x)) == described(function(x))


def test_an_element_is_not_changed():
    def increased(x):
        found = []
        for value in x:
            if value > 1:
                found.append(Slotted(value, 0))
        for one in found:
            one.number += 1
        return found

    with pytest.raises(TracerError, match="a Slotted is changed that is one of several, or an element of a list"):
        jit(increased)(np.tile(VALUES[0], 20))


def greater_others(x):
    records, found = [Record(value, None) for value in x], []
    for one in records:
        found.append(sum(other.number > one.number for other in [other for other in records if other is not one]))
        greater = [other for other in records if other is not one and other.number > one.number]
        by_number = [(other.number, other) for other in records if one is not other and other.number < one.number]
        found.append((len(greater), [number for number, _ in by_number]))
    return found


def test_objects_are_still_themselves_when_lists_hold_them():
    decorated = jit(greater_others)
    for x in (*VALUES, VALUES[0]):
        assert described(decorated(x)) == described(greater_others(x))


def which_object_an_element_is(x):
    records = [Record(value, None) for value in x]
    greater = [one for one in records if one.number > 1]
    greater.append(records[2])
    return greater[-1] is records[2], greater[0] is records[0], records[int(x[2])] is records[int(x[1])]


def test_objects_that_are_one():
    decorated = jit(which_object_an_element_is)
    for x in (*VALUES, VALUES[0]):
        assert decorated(x) == which_object_an_element_is(x)


@dataclass(frozen=True)
class Frozen:
    number: float


def test_which_frozen_object_is_there():
    def is_first(x):
        first, second = Frozen(x[0]), Frozen(x[1])
        assert first is not second and [first, second][0] is first
        return (first if x[2] > 1 else second) is first

    decorated = jit(is_first)
    for last in (0, 2):
        assert decorated(np.array([1.0, 1.0, last])) is is_first(np.array([1.0, 1.0, last]))


def test_objects_are_kept_outside():
    class Model:
        best = None

    def fit(model, x):
        model.best = Record(x.max(), [x.argmax()])

    model = Model()
    decorated = jit(fit, static_argnames="model")
    decorated(model, VALUES[0])
    first = model.best
    decorated(model, VALUES[1])
    assert (first.number, model.best.number, model.best.found) == (7.0, 1.5, [3])
