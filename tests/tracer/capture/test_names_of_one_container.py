"""Two names hold one container, and a branch or a round gives one of them another: no value that is read is outdated."""

import dataclasses
import itertools

import numpy as np
import pytest
from phlox import TracerError, jit

ROWS = [np.arange(40.0), np.zeros(40), np.arange(40.0)[::-1].copy()]


class Box:
    def __init__(self, n):
        self.n = n


@dataclasses.dataclass(frozen=True)
class Frozen:
    n: float
    held: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class FrozenWithSlots:
    n: float


def a_dict_in_a_loop(x):
    a = b = {"n": 0.0}
    for v in x:
        if v > 2:
            a = {"n": v * 2}
        a["n"] += v
    return a["n"], b["n"]


def a_list_in_a_loop(x):
    a = b = [0.0]
    for v in x:
        if v > 2:
            a = [v]
        a[0] += v
    return a, b


def an_object_in_a_loop(x):
    a = b = Box(0.0)
    for v in x:
        if v > 2:
            a = Box(v * 2)
        a.n += v
    return a.n, b.n


def a_set_in_a_loop(x):
    a = b = {1}
    for v in x:
        if v > 2:
            a = {int(v)}
        a.add(int(v) + 5)
    return sorted(a), sorted(b)


def an_attribute_in_a_loop(x):
    box = Box({"n": 0.0})
    b = box.n
    for v in x:
        if v > 2:
            box.n = {"n": v}
        box.n["n"] += v
    return box.n["n"], b["n"]


def what_a_dict_holds(x):
    d = {"a": {"n": 0.0}}
    b = d["a"]
    for v in x:
        if v > 2:
            d["a"] = {"n": v}
        d["a"]["n"] += v
    return d["a"]["n"], b["n"]


def what_a_tuple_holds(x):
    a = {"n": 0.0}
    t = (a, 1)
    for v in x:
        if v > 2:
            t = ({"n": v}, 2)
        t[0]["n"] += v
    return a["n"], t[0]["n"], t[1]


def asked_by_the_condition(x):
    a = b = {"n": 0.0}
    i = 0
    while i < len(x) and b["n"] < 5:
        if x[i] > 2:
            a = {"n": x[i]}
        a["n"] += x[i]
        i += 1
    return a["n"], b["n"], i


def two_names_that_meet_in_a_round(x):
    a, b = {"n": 0.0}, {"n": 1.0}
    for v in x:
        a = {"n": v}
        if v > 3:
            b = a
        a["n"] += 1
    return a["n"], b["n"]


def asked_whether_they_are_one(x):
    a = b = {"n": 0.0}
    for v in x:
        if v > 2:
            a = {"n": v}
    return a is b


def a_tuple_that_is_another_one(x):
    t = p = (0.0, 1)
    for v in x:
        if v > 3:
            t = (v, 2)
    return t is p, t


@pytest.mark.parametrize(
    "function",
    [
        a_dict_in_a_loop, a_list_in_a_loop, an_object_in_a_loop, a_set_in_a_loop, an_attribute_in_a_loop, what_a_dict_holds,
        what_a_tuple_holds, asked_by_the_condition, two_names_that_meet_in_a_round, asked_whether_they_are_one,
        a_tuple_that_is_another_one,
    ],
)  # fmt: skip
def test_loops_do_what_python_does_or_refuse(function):
    traced = jit(function)
    for x in ROWS * 2:
        _require_same_or_refused(traced, function, x)


def only_the_new_one_is_read(x):
    a = {"n": 0.0}
    for v in x:
        if v > 2:
            a = {"n": v * 2}
        a["n"] += v
    return a["n"]


def an_object_that_is_only_known_here(x):
    a = Box(0.0)
    for v in x:
        if v > 2:
            a = Box(v * 2)
        a.n += v
    return a.n


def a_new_one_in_each_round(x):
    a = first = {"n": 0.0}
    for v in x:
        a = {"n": a["n"] + v}
        a["n"] *= 2
    return a["n"], first["n"]


def lists_that_are_handed_on(x):
    groups, group = [], []
    for v in x:
        if v % 3 == 0:
            groups.append(group)
            group = []
        group.append(v)
    return groups, group


def in_a_while_loop(x):
    b = {"n": 1.0}
    while b["n"] < 10:
        if x[0] > 0:
            b = {"n": b["n"] + 1}
        b["n"] = b["n"] + 2
    return b["n"]


@pytest.mark.parametrize(
    "function",
    [
        only_the_new_one_is_read, an_object_that_is_only_known_here, a_new_one_in_each_round, lists_that_are_handed_on,
        in_a_while_loop,
    ],
)  # fmt: skip
def test_what_has_no_other_name_is_changed(function):
    traced = jit(function)
    for x in ROWS * 2:
        assert _leaves(traced(x)) == _leaves(function(x))


def each_has_another(x, y):
    a = b = {"n": 0.0}
    if x > 0:
        a = {"n": x}
    if y > 0:
        b = {"n": y}
    a["n"] += 9
    return a["n"], b["n"]


def returned_where_it_is_changed(x, y):
    a = b = {"n": 0.0}
    if x > 0:
        b = {"n": x}
    if y > 0:
        b["n"] = y
        return a["n"]
    return 7.0


def bound_where_it_is_changed(x, y):
    a = b = {"n": 0.0}
    if x > 0:
        b = {"n": x}
    c = {"n": 1.0}
    if y > 0:
        b["n"] = y
        c = a
    return c["n"]


def one_on_one_side(x, y):
    if x > 0:
        a = b = {"n": x}
    else:
        a, b = {"n": x}, {"n": y}
    a["n"] = 7.0
    return a["n"], b["n"]


def one_object_on_one_side(x, y):
    if x > 0:
        a = b = Box(x)
    else:
        a, b = Box(x), Box(y)
    a.n = 7.0
    return a.n, b.n


def held_by_an_object(x, y):
    if x > 0:
        box = Box([x])
        b = box.n
    else:
        box, b = Box([1.0]), [y]
    b.append(3.0)
    return box.n, b


def held_by_one_of_two_frozen_objects(x, y):
    a, b = Frozen(x), Frozen(y)
    (a if x > 0 else b).held.append(y)
    return a.held, b.held


def held_by_what_is_one_of_two_frozen_objects(x, y):
    a, b = Frozen(x, [1.0]), Frozen(y)
    c = a if x > 0 else b
    a.held.append(y)
    return c.held, a.held


@pytest.mark.parametrize(
    "function",
    [
        each_has_another, returned_where_it_is_changed, bound_where_it_is_changed, one_on_one_side, one_object_on_one_side,
        held_by_an_object, held_by_one_of_two_frozen_objects, held_by_what_is_one_of_two_frozen_objects,
    ],
)  # fmt: skip
def test_branches_do_what_python_does_or_refuse(function):
    traced = jit(function)
    for args in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] * 2:
        _require_same_or_refused(traced, function, *args)


def one_on_both_sides(x):
    if x > 0:
        a = b = [x]
    else:
        a = b = [x * 2]
    a.append(3.0)
    return a, b, a is b


def a_chosen_tuple(x):
    p, q = (x, 2), (1, 2)
    t = p if x > 0 else q
    return t is p, t is q, t is not p, t


def a_tuple_of_each_side(x):
    if x > 0:
        t = u = (x, 1)
    else:
        t, u = (x, 2), (x, 2)
    return t is u


def a_dict_that_is_another_one(x):
    a = b = {"n": 1.0}
    if x > 0:
        a = {"n": x}
    return a is b, a is not b


def chosen_twice(x):
    p, q = [x], [x]
    t = p if x > 0 else q
    u = t if x < 5 else q
    return t is p, u is p, u is t, u is q


def a_chosen_frozen_object(x):
    a, b, c = Frozen(x), Frozen(x + 1), FrozenWithSlots(x)
    one, other = a if x > 0 else b, c if x > 0 else FrozenWithSlots(x)
    farthest = max([a, b], key=lambda each: abs(each.n))
    return one is a, one is b, one is not a, one == a, other is c, other == c, [each is farthest for each in (a, b)]


def a_frozen_object_or_another_one(x):
    a = b = Frozen(x)
    if x > 0:
        b = dataclasses.replace(a, n=x + 1)
    return a is b, b.n


@pytest.mark.parametrize(
    "function",
    [
        one_on_both_sides, a_chosen_tuple, a_tuple_of_each_side, a_dict_that_is_another_one, chosen_twice,
        a_chosen_frozen_object, a_frozen_object_or_another_one,
    ],
)  # fmt: skip
def test_which_one_it_is_is_known(function):
    traced = jit(function)
    for x in (1.0, -1.0, 9.0) * 2:
        assert traced(x) == function(x)


def _leaves(value):
    if isinstance(value, (list, tuple)):
        return [type(value), *map(_leaves, value)]
    return type(value), value


def _require_same_or_refused(traced, function, *args):
    try:
        found = traced(*args)
    except TracerError:
        return
    assert _leaves(found) == _leaves(function(*args))


def recorded_again_and_again(x, places):
    """Four loops, of which the innermost finds state for all, while a name goes from one list to another."""
    groups, table, found = {}, [[0, 1], [2, 3]], np.zeros(3)
    current, first, best, last, out, count = [1, 2], [3, 4], 0, None, [], 0
    pair = (0, 1)
    for i, y in enumerate(x):
        found[i % 3] += 0.5
        for j, y in enumerate(x):  # noqa: B007, it has the name twice
            current = first
            for m in range(20):
                row = table[1]
                for n in places:
                    if out:
                        count += 1
                    else:
                        groups.setdefault(0, []).append(best)
                    best = x[(n * m) % len(x)]
                    if last is None:
                        current = table[1]
                        pair = (n, j)
    return found, len(groups[0]), current, best, pair, row, count, y


def test_a_round_that_is_recorded_again_begins_with_what_was_there():
    x, places = np.array([0.5, 2.0, 1.25, 3.0]), np.array([1, 0, 2])
    assert repr(jit(recorded_again_and_again)(x, places)) == repr(recorded_again_and_again(x, places))


def gone_over(row, table, n, count):
    for v in row:
        count = count * 3 + v
        for m in range(n):
            count += table[(n * m) % 3][0]
    return count


def gone_over_with_numbers(row, table, n, count):
    for p, v in enumerate(row):
        count = count * 3 + v + p
        for m in range(n):
            count += table[(n * m) % 3][0]
    return count


def gone_over_together(row, table, n, count):
    for v, w in zip(row, table[2]):
        count = count * 3 + v + w
        for m in range(n):
            table[(n * m) % 3][0] += 1
    return count


def gone_over_in_pairs(row, table, n, count):
    for v, w in itertools.pairwise(row):
        count = count * 3 + v + w
        for m in range(n):
            count += table[(n * m) % 3][0]
    return count


def asked_one_by_one(row, table, n, count):
    items = iter(row)
    first = next(items)
    for m in range(n):
        count += table[(n * m) % 3][0]
    return first, next(items, None), next(items, None), next(items, "end"), count


def grown_while_gone_over(row, table, n, count):
    for v in row:
        count = count * 3 + v
        for m in range(n):
            if len(table[(n + m) % 3]) < 5:
                table[(n + m) % 3].append(7)
    return count


def gone_over_lazily(row, table, n, count):
    for v in map(lambda one: one * 2, (one + 1 for one in row)):
        count = count * 3 + v
        for m in range(n):
            count += table[(n * m) % 3][0]
    return count


@pytest.mark.parametrize(
    "go",
    [
        gone_over, gone_over_with_numbers, gone_over_together, gone_over_in_pairs, asked_one_by_one, grown_while_gone_over,
        gone_over_lazily,
    ],
)  # fmt: skip
def test_a_list_that_a_round_puts_into_a_table_is_gone_over_to_its_end(go):
    def whole(n):
        table = [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
        return go(table[0], table, n, 0), table

    jitted = jit(whole)
    for n in (3, 4, 3):
        assert _leaves(jitted(n)) == _leaves(whole(n))


def a_list_in_place_of_a_flag(x, n):
    flag, out = False, [1.5]
    for _ in range(n):
        flag = out
    out.append(x)
    return flag


def a_dict_in_place_of_a_number(x, n):
    found, out = 0, {"a": 1.5}
    for _ in range(n):
        found = out
    out["a"] += x
    return found


@pytest.mark.parametrize("function", [a_list_in_place_of_a_flag, a_dict_in_place_of_a_number])
def test_what_was_no_container_before_a_loop_shows_changes_or_is_refused(function):
    for n in (3, 40):
        _require_same_or_refused(jit(function), function, 2.0, n)


def test_a_list_is_exchanged_for_one_made_in_the_same_round():
    def descend(scores, pairs):
        order, lowest = list(range(5)), 9.0
        best = order[:]
        for score, (i, j) in zip(scores, pairs):
            other = order[:i] + order[i:j][::-1] + order[j:]
            if score < 0.6:
                order = other
                if score < lowest:
                    best, lowest = order[:], score
        return best, order, lowest

    random, jitted = np.random.default_rng(0), jit(descend)
    for _ in range(3):
        scores, pairs = random.random(12), np.sort(random.integers(0, 5, (12, 2)), axis=1)
        assert jitted(scores, pairs) == descend(scores, pairs)
