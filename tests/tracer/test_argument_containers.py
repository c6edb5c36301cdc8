"""Lists, dicts and dataclasses among the arguments: what the function changes in them, the caller sees."""

import collections
import copy
import dataclasses
import functools

import numpy as np
import pytest
from phlox import jit, register_pytree

X = np.arange(4.0)


@dataclasses.dataclass
class Body:
    position: np.ndarray
    mass: float = 1.0

    def move(self):
        self.position = self.position + self.mass


class Holder:
    def __init__(self, items):
        self.items = items


register_pytree(Holder, lambda holder: (holder.items, None), lambda _, items: Holder(list(items)))


def append_and_set(values, x):
    values.append(7)
    values[0] = values[1]
    return len(values), values * 2, sum(values)


def set_items(table, x):
    table["w"] = table["w"] - 0.1 * x
    table["steps"] = table.get("steps", 0) + 1


def nested(state, x):
    state["a"]["b"].append(state["c"])
    state["a"]["n"] = len(state["a"]["b"])
    del state["c"]
    return state["a"]


def swap(items, x):
    items[0], items[1] = items[1], items[0]
    return items


def pop(items, x):
    return items.pop() + x, items


def reorder(table, x):
    table["a"] = table.pop("a")
    table.setdefault("z", x)


def bodies(some, x):
    for body in some:
        body.position = body.position + x
        body.mass += 1
        body.move()
    return some[0]


def sorted_in_place(values, x):
    values.sort()
    values.reverse()
    values.insert(0, 9.0)


def in_a_loop(values, x):
    for i in range(len(x)):
        values[i % 2] += x[i]


def appended_in_a_loop(values, x):
    for value in x:
        values.append(value * 2)


def on_one_side(values, x):
    if x[1] > 1.5:
        values[0] = float(x[1])
    else:
        values[1] = float(x[2])


def grid(rows, x):
    for i in range(len(rows)):
        for j in range(len(rows[0])):
            rows[i][j] *= 2
    return rows[1][0]


def in_tuples(pair, x):
    pair[0].append(pair[1])
    return pair


def arrays_in_place(items, x):
    items[0][:] = items[1]
    items[1] = items[0]


def before_an_error(values, x):
    values.append(1.0)
    values[0] = x[int(values[0])]
    values.append(2.0)


def with_default(table, x):
    table["x"].append(x[0])


CASES = [
    (append_and_set, [1.0, 2.0]), (append_and_set, [5, 4]), (set_items, {"w": X.copy()}), (set_items, {"w": X * 2, "steps": 3}),
    (nested, {"a": {"b": [1.0]}, "c": 2.0}), (swap, [X, X * 2]), (pop, [X.copy(), X * 2]), (reorder, {"a": 1.0, "b": 2.0}),
    (bodies, [Body(X.copy()), Body(X * 2, 3.0)]), (sorted_in_place, [3.0, 1.0, 2.0]), (in_a_loop, [1.0, 2.0]),
    (appended_in_a_loop, []), (on_one_side, [1.0, 2.0]), (grid, [[1.0, 2.0], [3.0, 4.0]]), (in_tuples, ([1.0], 2.0)),
    (arrays_in_place, [X.copy(), X * 2]), (before_an_error, [2.0]), (before_an_error, [7.0]),
    (with_default, collections.defaultdict(list, y=[1.0])),
]  # fmt: skip


@pytest.mark.parametrize("function, container", CASES, ids=[f"{one.__name__} {n}" for n, (one, _) in enumerate(CASES)])
def test_the_caller_sees_what_is_changed(function, container):
    found = []
    for called in (function, jit(function)):
        results = []
        for x in (X, X + 1, X):
            given = copy.deepcopy(container)
            try:
                result = called(given, x)
            except IndexError as error:
                result = str(error)
            results.append((repr((result, given)), result is given))
        found.append(results)
    assert found[1] == found[0]


def test_what_is_returned_is_the_callers_own():
    items, table = [1.0], {"a": X}
    one, other = jit(lambda items, table: (items, table))(items, table)
    assert one is items and other is table and table["a"] is X


def test_one_list_twice_is_an_error_where_it_is_changed():
    items = [1.0]
    assert jit(lambda a, b: sum(a) + sum(b))(items, items) == 2.0
    with pytest.raises(ValueError, match="two places"):
        jit(lambda a, b: a.append(b[0]))(items, items)
    assert items == [1.0]


def test_keys_that_are_equal_are_told_apart():
    def text_of_key(table):
        return [str(key) for key in table]

    f = jit(text_of_key)
    for key in (0, 0.0, -0.0, False, np.float64(-0.0), np.float32(0.0), np.float32(-0.0), 0.0, (0.0,), (-0.0,)):
        assert f({key: 1.0}) == text_of_key({key: 1.0})


def test_registered_containers_cannot_be_changed():
    @jit
    def f(holder):
        holder.items.append(1.0)

    with pytest.raises(TypeError, match="make it a dataclass"):
        f(Holder([2.0]))


@dataclasses.dataclass
class Disc:
    radius: float

    def __post_init__(self):
        self.area = 3 * self.radius**2

    @functools.cached_property
    def half(self):
        return self.area / 2


def resized(disc, x):
    best, found = Disc(0.5), []
    for value in x:
        if value > best.area:
            best = Disc(value)
            found.append(best)
    if best.area > 10:
        disc.area = disc.area + best.half
        best.name = "large"
    return disc, best, found, Disc(disc.area), disc.half


def test_attributes_that_are_no_fields():
    """As `__post_init__` and cached properties set them: of arguments, results, and objects that loops and branches choose."""

    def described(value):
        if isinstance(value, Disc):
            return {name: described(held) for name, held in sorted(vars(value).items())}
        return [described(one) for one in value] if isinstance(value, (list, tuple)) else (type(value), value)

    jitted = jit(resized)
    for x in ([1.0, 2.0, 20.0], [1.0, 2.0, 20.0], [0.25, 0.5, 1.0], [1.0, 2.0, 20.0]):
        for other in ({}, {"label": 7}):
            discs = Disc(2.0), Disc(2.0)
            for one in discs:
                vars(one).update(other)
            found, expected = (function(one, np.array(x)) for function, one in zip((jitted, resized), discs))
            assert found[0] is discs[0]
            assert described([found, discs[0]]) == described([expected, discs[1]])
