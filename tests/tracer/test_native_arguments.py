"""Arguments that native code takes by way of Python: strided arrays, containers of all kinds, those that are changed."""

import contextlib
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field

import numpy as np
import pytest
from phlox import jit, register_pytree
from phlox.backends.cpu.call import unsupported_reason

from ..support.native_calls import calls_noted, natively

pytestmark = pytest.mark.skipif(unsupported_reason() is not None, reason=f"no native entries: {unsupported_reason()}")
GRID = np.arange(20.0).reshape(4, 5)


def test_arrays_that_are_copied():
    f = jit(lambda x, y: (x * y, x))
    rows = GRID.astype(">f8")
    for x in (GRID[:, 1], GRID[:, 2], rows[:, 1], np.frombuffer(bytes(33), np.uint8)[1:].view(np.float64), GRID[::-1, 0]):
        expected = x * 2.0
        f(x, 2.0)
        with natively():
            found, same = f(x, 2.0)
        np.testing.assert_array_equal(found, expected)
        assert same is x
    column = GRID[:, 1].copy()
    assert f(column, 2.0)[0].tolist() == (column * 2.0).tolist()
    assert f(GRID[:3, 1], 2.0)[0].shape == (3,)
    assert f(GRID[:, 1].astype(np.float32)[::2], 2.0)[0].dtype == np.float32
    writes = jit(lambda x, y: x.__setitem__(0, y.sum()))
    for _ in range(3):
        grid = GRID.copy()
        writes(grid[:, 0], grid[:, 0])
        assert grid[0, 0] == GRID[:, 0].sum()
        one = np.arange(4.0)
        writes(one, one[::2])
        assert one[0] == 2.0


TABLE = {"column": GRID[:, 1]}


def test_arrays_outside_that_are_copied():
    f = jit(lambda x: x * TABLE["column"])
    f(2.0)
    for column in (GRID[:, 1], GRID[:, 2], GRID[::-1, 1], GRID[:, 1].copy(), GRID[:3, 1], GRID.astype(np.float32)[:, 1]):
        TABLE["column"] = column
        for _ in range(3):
            np.testing.assert_array_equal(f(2.0), 2.0 * column)
    TABLE["column"] = GRID[:, 1]
    with natively():
        f(2.0)
    GRID[0, 1] = 50.0
    assert f(2.0)[0] == 100.0
    GRID[0, 1] = 1.0


class Vector:
    def __init__(self, x, y, unit):
        self.x, self.y, self.unit = x, y, unit


register_pytree(Vector, lambda one: ((one.x, one.y), one.unit), lambda unit, parts: Vector(*parts, unit))


def test_containers_of_other_kinds():
    f = jit(lambda table: sum(table.values()) + len(table))
    for make in (OrderedDict, lambda **values: defaultdict(int, values)):
        f(make(a=1.0, b=2.0))
        with natively():
            assert f(make(a=1.0, b=3.0)) == 6.0
        assert f(make(b=1.0, a=3.0)) == 6.0
        assert f(make(a=1.0)) == 2.0
        assert f(make(a=1, b=3.0)) == 6.0
    length = jit(lambda one: (np.hypot(one.x, one.y), one.unit))
    for unit in ("m", "m", "km", True, 1, 1.0, "m"):
        for _ in range(2):
            found = length(Vector(3.0, 4.0, unit))
            assert found == (5.0, unit) and type(found[1]) is type(unit)
    with natively():
        assert length(Vector(3.0, 4.0, "".join("km"))) == (5.0, "km")


@dataclass
class Body:
    place: float
    speed: float
    seen: list = field(default_factory=list)

    def move(self, step):
        self.place += step * self.speed
        self.seen.append(self.place)


def changes_list(values):
    values[0] = values[1] + 1
    values.append(values[0])
    del values[1]
    return len(values)


def changes_dict(table):
    table["n"] += 1
    table["x"] = table["x"] * 2
    table["new"] = table.pop("old")
    return table["x"].sum()


def moves(bodies, step):
    for body in bodies:
        body.move(step)
    return sum(body.place for body in bodies)


def two_lists(first, second):
    first.append(1.0)
    return len(second)


def changes_a_grid(grid, i):
    for row in grid:
        row[i] += row[i - 1]
    return grid[i][i]


CHANGES = {
    "grid": (changes_a_grid, lambda: ([[k * 10 + j for j in range(40)] for k in range(40)], 7)),
    "list": (changes_list, lambda: ([1.0, 2.0, 3.0],)),
    "dict": (changes_dict, lambda: ({"n": 1, "x": np.ones(3), "old": 2.5},)),
    "dataclasses": (moves, lambda: ([Body(1.0, 2.0), Body(2.0, 3.0)], 0.5)),
    "two lists": (two_lists, lambda: ([1.0], [1.0])),
}


@pytest.mark.parametrize("name", CHANGES)
def test_containers_that_are_changed(name):
    function, make = CHANGES[name]
    compiled = jit(function)
    for number in range(4):
        mine, other = make(), make()
        with natively() if number else contextlib.nullcontext():
            found = compiled(*mine)
        assert found == function(*other)
        assert repr(mine) == repr(other)


def test_one_container_at_two_places():
    compiled, one = jit(two_lists), [1.0]
    for _ in range(3):
        assert compiled([1.0], [1.0]) == 1
        with pytest.raises(ValueError, match="stands at two places"):
            compiled(one, one)
    compiled, body = jit(moves), Body(1.0, 2.0)
    compiled([Body(1.0, 2.0), Body(1.0, 2.0)], 0.5)
    with pytest.raises(ValueError, match="stands at two places"):
        compiled([body, body], 0.5)
    assert (one, body.place) == ([1.0], 1.0)
    compiled, grid = jit(changes_a_grid), [[k, 1] for k in range(30)]
    assert compiled(grid, 1) == grid[1][1] == 2
    with pytest.raises(ValueError, match="stands at two places"):
        compiled([*grid[:-1], grid[3]], 1)


RECENT, COUNTS, NAMED = deque([1.0, 2.0, 3.0], maxlen=3), Counter(), OrderedDict(a=1.0)


def test_what_is_set_by_way_of_python():
    def f(x, k):
        RECENT.append(x * 2)
        RECENT[0] = x
        NAMED["b"] = NAMED.pop("a", 0.0) + x
        NAMED.move_to_end("b")
        del LETTERS[0]
        return sum(RECENT)

    compiled = jit(f)
    for number in range(6):
        results = []
        for function in (f, compiled):
            RECENT.clear()
            RECENT.extend([1.0, 2.0, float(number)])
            NAMED.clear()
            NAMED.update(a=1.0, c=2.0)
            LETTERS[:] = ["a", "b"]
            with natively() if function is compiled and number > 3 else contextlib.nullcontext():
                found = function(3.0, number)
            results.append((found, list(RECENT), list(NAMED.items()), LETTERS.copy()))
        assert results[0] == results[1]


LETTERS = ["a", "b"]


def test_none_is_looked_at_without_python():
    @dataclass
    class Choice:
        first: float
        second: object = None

    def chosen(x, y, pair, choice):
        found = x if y is None else x + y
        return found * (2.0 if pair[1] is None else pair[1]) + (0.0 if choice.second is None else choice.second) + choice.first

    f = jit(chosen)
    for y in (None, 1.0):
        for second in (None, 3.0):
            arguments = (1.5, y, (0.5, second), Choice(0.25, second))
            for number in range(3):
                with calls_noted() as called:
                    found = f(*arguments)
                    called = called[:]
                assert found == chosen(*arguments)
                assert not number or called == []
