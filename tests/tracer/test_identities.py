"""What is one object in Python is one object: arguments, containers in results, arrays in containers."""

from dataclasses import dataclass

import numpy as np
import pytest
from phlox import jit


@dataclass
class Pair:
    first: object
    second: object


def shape_of(value, known):
    """A value as numbers of its containers, the same one for the same object, and what these hold."""
    if isinstance(value, (list, tuple, dict, Pair)):
        number = known.setdefault(id(value), len(known)) if not isinstance(value, tuple) else None
        parts = vars(value) if isinstance(value, Pair) else value
        return number, [shape_of(part, known) for part in (parts.values() if isinstance(parts, dict) else parts)]
    return (known.setdefault(id(value), len(known)), value.tolist()) if isinstance(value, np.ndarray) else value


def lists(x):
    one = [x[0]]
    return one, one, [one, [one]], [one[:], list(one)]


def rows_of_one_list(x):
    grid = [[0.0] * 2] * 3
    grid[0][1] = x[0]
    return grid, [[0.0] * 2 for _ in range(2)]


def dictionaries_and_objects(x):
    inner = {"x": x[0]}
    pair = Pair(inner, [inner])
    return pair, inner, (pair, pair), {"again": pair}


def open_lists(x):
    found = [v for v in x if v > 1]
    other = found
    other.append(9.0)
    return found, other, [other], found[:]


def arrays_in_containers(x):
    y = x * 2
    return [y, y], {"y": y}, x, [x]


@pytest.mark.parametrize("function", [lists, rows_of_one_list, dictionaries_and_objects, open_lists, arrays_in_containers])
def test_containers_in_results(function):
    jitted = jit(function)
    for start in (0.0, 1.0, 2.0, 2.0):
        x, same = np.arange(3.0) + start, np.arange(3.0) + start
        assert shape_of(function(x), {}) == shape_of(jitted(same), {})


def test_arguments_beside_containers_that_stand_at_several_places():
    def linked(n, held):
        one, pair = [n], Pair(held, None)
        pair.second = pair
        return one, one, held, [held, pair]

    jitted = jit(linked)
    for held in ({"a": 1.0}, [1.0, 2.0], Pair(1, 2), [[3]]) * 2:
        one, other, found, (again, pair) = jitted(1, held)
        assert one is other and found is held and again is held and pair.first is held and pair.second is pair


def test_containers_that_are_set_outside():
    kept = {}

    @jit
    def keep(x):
        one = [x[0]]
        kept["first"], kept["second"] = one, (one, 1)
        return one

    for _ in range(3):
        found = keep(np.ones(1))
        assert kept["first"] is found and kept["second"][0] is found


def chosen(a, b):
    return a + 1 if a is b else a * b


def compared_and_changed(a, b, c):
    b += 10
    c[0] = 5
    return a is b, a is c, a is not c, a.sum()


def test_arguments_that_are_one_array():
    f, g = jit(chosen), jit(compared_and_changed)
    for _ in range(3):
        x, y = np.arange(3.0), np.arange(3.0)
        for arguments in ((x, x), (x, y), (y, x), (y, y)):
            np.testing.assert_array_equal(f(*arguments), chosen(*arguments))
        for pick in (lambda a: (a, a[1:], a), lambda a: (a, a, a), lambda a: (a, a.copy(), a), lambda a: (a, a, a + 1)):
            assert g(*pick(np.arange(4.0))) == compared_and_changed(*pick(np.arange(4.0)))


def test_an_element_is_in_a_list_that_holds_it():
    def f(x):
        value = x[0]
        return value in [value], value in (1.0, value), x[1] in [value], value in []

    assert jit(f)(np.array([np.nan, 1.0])) == f(np.array([np.nan, 1.0]))


class Base:
    count = 0


class Derived(Base):
    pass


def test_attributes_that_are_set_on_classes():
    shared = Derived()

    def f(step):
        before = shared.count
        Base.count += step
        return before, shared.count, Derived.count, Derived().count, Base.count

    jitted = jit(f)
    for step in (1, 2, 2):
        start = Base.count
        expected = f(step)
        Base.count = start
        assert jitted(step) == expected
    Base.count = 0


def test_a_value_that_may_be_none_is_no_container():
    function = lambda x: ({"found": x[0] if x[0] > 0 else None}, None if x[1] > 0 else x)  # noqa: E731
    for x in (np.ones(2), -np.ones(2)):
        found, other = jit(function)(x)
        assert found == function(x)[0] and (other is None) is bool(x[1] > 0)
