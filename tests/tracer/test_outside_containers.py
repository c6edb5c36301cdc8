"""What a function reads from dicts, lists, sets and tuples outside, and puts there."""

import types
from collections import Counter, OrderedDict, defaultdict, deque

import numpy as np
import pytest
from phlox import ConcretizationError, jit
from programs_outside import check, registry

PROGRAMS, program = registry()


class Route(dict):
    pass


class Tour(list):
    pass


@program
def keys_that_numpy_compares_element_by_element(decorate):
    table = {np.int64(3): 1, (1, 2): 2.0}

    @decorate
    def f(x):
        return x * table[3] + table[1, 2]

    return f, [lambda: table.update({(1, 2): 5.0})], lambda: list(table.values())


@program
def attributes_that_are_called_as_those_of_copies_are(decorate):
    route, tour = Route(km=3.0), Tour([1.0, 2.0])
    route.path, route.original, route.unread, route.entries = "north", 2.0, [1], 4
    tour.path, tour.as_read = "south", 3

    @decorate
    def f(x):
        length = len(route.path) + len(tour.path) + route.entries * tour.as_read
        return x * route["km"] * route.original + tour[0] * len(route.unread), length

    return f, [
        lambda: route.update(km=5.0), lambda: setattr(route, "path", "northwest"), lambda: setattr(route, "original", 4.0),
        lambda: route.unread.append(2), lambda: setattr(tour, "as_read", 7), lambda: tour.insert(0, 9.0),
    ], lambda: (route, tour)  # fmt: skip


@program
def dicts(decorate):
    cfg = {"lr": 0.1, "w": np.ones(3), "name": "a"}

    @decorate
    def f(x):
        cfg["w"] = cfg["w"] - cfg["lr"] * x
        cfg["count"] = cfg.get("count", 0) + 1
        if "extra" in cfg:
            x = x * cfg["extra"]
        return x * len(cfg["name"])

    return f, [
        lambda: cfg.update(lr=0.2), lambda: cfg.update(lr=0.4), lambda: cfg.update(name="abc"), lambda: cfg.update(extra=2.0),
        lambda: cfg.pop("extra"), lambda: cfg.update(unrelated=1),
    ], lambda: cfg  # fmt: skip


@program
def what_a_list_counts(decorate):
    marks = [1, 2, 1]

    @decorate
    def f(x):
        return x * marks.count(1), marks.index(2)

    return f, [lambda: marks.append(1), lambda: marks.insert(0, 3), lambda: marks.extend([1, 1])], lambda: marks


@program
def all_of_a_dict(decorate):
    cfg = {"a": np.ones(3), "b": np.zeros(3)}

    @decorate
    def f(x):
        total = x
        for key, value in cfg.items():
            total = total + value * len(key)
        return total, sorted(cfg), {**cfg}["a"].sum()

    return f, [lambda: cfg.update(ccc=np.ones(3)), lambda: cfg.pop("b"), lambda: cfg["a"].fill(3)], lambda: cfg


@program
def kinds_of_dicts(decorate):
    counts, ordered = defaultdict(int), OrderedDict(a=1.0, b=2.0)

    @decorate
    def f(x):
        counts["calls"] += 1
        ordered["c"] = ordered["a"] + x
        del ordered["b"]
        ordered["b"] = 3.0
        return x + sum(ordered[key] for key in ("a", "b"))

    return f, [lambda: counts.update(calls=7), lambda: ordered.update(a=5.0)], lambda: (counts, ordered)


@program
def lists(decorate):
    log, weights = [], [np.ones(3), np.zeros(3)]

    @decorate
    def f(x):
        for w in weights:
            x = x + w
        log.append(x.sum())
        log.extend([1, 2])
        weights[1] = weights[1] + x
        return x

    return f, [lambda: log.clear(), lambda: weights.append(np.ones(3)), lambda: weights.pop(0)], lambda: (log, weights)


@program
def a_list_appended_to_by_rounds_that_are_recorded_again(decorate):
    log = ["before"]

    @decorate
    def f(x):
        for value in x:
            x[np.array([1, 2])] += 1
            log.append(value)

    return f, [lambda: log.append(7.0), lambda: log.clear()], lambda: log


@program
def lists_as_stacks(decorate):
    stack = [1.0, 2.0, 3.0]

    @decorate
    def f(x):
        top = stack.pop()
        stack.append(top * 2)
        stack.insert(0, 7.0)
        return x * top + len(stack) + stack[-1]

    return f, [lambda: stack.pop(), lambda: stack.reverse()], lambda: stack


@program
def sets(decorate):
    seen, allowed = {1, 2}, frozenset({"a"})

    @decorate
    def f(x):
        seen.add(3)
        return x * len(seen) if "a" in allowed else x

    return f, [lambda: seen.add(9), lambda: seen.clear()], lambda: sorted(seen)


@program
def tuples(decorate):
    pair = types.SimpleNamespace(value=(np.ones(3), 2.0, "a"))

    @decorate
    def f(x):
        w, scale, name = pair.value
        return x * w * scale * len(name)

    return f, [
        lambda: setattr(pair, "value", (np.zeros(3), 2.0, "a")), lambda: setattr(pair, "value", (np.ones(3), 3.0, "ab")),
        lambda: pair.value[0].fill(4),
    ], lambda: pair.value  # fmt: skip


@program
def one_array_under_two_names(decorate):
    holder = types.SimpleNamespace(a=np.ones(3))
    holder.b = holder.a

    @decorate
    def f(x):
        holder.a[0] += 1
        return holder.b * x

    return f, [
        lambda: setattr(holder, "b", np.zeros(3)), lambda: setattr(holder, "b", holder.a),
    ], lambda: (holder.a, holder.b, holder.a is holder.b)  # fmt: skip


@program
def exceptions(decorate):
    holder = types.SimpleNamespace(n=0, w=np.ones(3), log=[])

    @decorate
    def f(x):
        if holder.n == 2:
            raise ValueError("two")
        holder.n += 1
        holder.log.append(holder.n)
        return x

    return f, [lambda: setattr(holder, "n", 0)], lambda: (holder.n, holder.log)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    check(PROGRAMS[name])


def gone_over(held):
    return [(one, str(one)) for one in held]


def put_under_a_condition(held, value):
    if value < 0:
        held["a"] = value


def taken_out_under_a_condition(held, value):
    if value < 0:
        held.pop("z", None)


CHANGES = [put_under_a_condition, taken_out_under_a_condition]
QUESTIONS = [
    lambda held: ("a" in held, "z" not in held),
    lambda held: (held.get("a", -1), held.get("z", -1)),
    lambda held: held["a"],
    lambda held: held.pop("a", -1),
    lambda held: (list(held), len(held), [key for key in held]),
    lambda held: (sum(held.values()), held == {"z": 1.5}),
    lambda held: (dict(held), held.copy(), {**held}, held | {"q": 2.5}),
    lambda held: held.popitem(),
    lambda held: str(held),
]


@pytest.mark.parametrize("ask", QUESTIONS, ids=range(len(QUESTIONS)))
@pytest.mark.parametrize("change", CHANGES)
def test_keys_that_are_there_on_some_ways(change, ask):
    held = {}

    def asked(value):
        change(held, value)
        return ask(held)

    def outcome(function, value):
        held.clear()
        held["z"] = 1.5
        try:
            return function(value), dict(held)
        except KeyError as error:
            return error.args, dict(held)

    jitted = jit(asked)
    for value in (1.0, -2.0, 3.0):
        assert repr(outcome(jitted, value)) == repr(outcome(asked, value))


def stacked(held, values):
    for value in values:
        if value > 0:
            held.append(value)
        elif value < -2:
            held.pop(0)
    return len(held), held


def test_lists_that_lose_elements_in_rounds():
    jitted, held, others = jit(lambda values: stacked(others, values)), [1.5, 2.5], [1.5, 2.5]
    for values in ([-3.0, 5.5, -3.0], [4.0, 2.0, -3.0], [4.0, 2.0, -3.0]):
        assert jitted(values) == stacked(held, values)
        assert others == held


def test_deques_that_some_ways_change():
    held = deque([1.0, 2.0])

    def changed(value):
        if value > 0:
            held.append(value)
        else:
            held.popleft()
        return len(held)

    with pytest.raises(NotImplementedError, match="a deque from outside"):
        jit(changed)(1.0)
    assert held == deque([1.0, 2.0])


def test_counters_get_new_contents():
    held, others = Counter(), Counter()

    def counted(counter, value):
        counter[value > 0] += 1
        return dict(counter)

    jitted = jit(lambda value: counted(others, value))
    for value in (1.5, -1.5, -1.5, 1.5, 2.5):
        assert jitted(value) == counted(held, value)
        assert others == held


def test_orders_of_keys_that_some_ways_change():
    held, others = ({"a": 1, "b": 2.5, "c": 3} for _ in range(2))

    def moved(items, value):
        if value > 0:
            items["a"] = items.pop("a")

    jitted = jit(lambda value: moved(others, value))
    for value in (-1.0, 1.0, -1.0):
        jitted(value), moved(held, value)
        assert list(others.items()) == list(held.items())


def test_containers_as_elements_are_the_users_own():
    held = [1.5], {"a": 1}, deque([1]), {1}

    def chosen(value):
        found, by_name = [], {}
        if value > 0:
            found.append(held)
            by_name["held"] = held[0]
        return found, by_name

    found, by_name = jit(chosen)(1.0)
    assert all(one is other for one, other in zip(found[0], held)) and by_name["held"] is held[0]
    assert jit(chosen)(-1.0) == ([], {})


def test_texts_of_containers(capsys):
    held = [{"a": 1.5}, [1.5], deque([1.5], 3), OrderedDict(a=1.5), defaultdict(float, a=1.5), Route(a=1.5), Tour([1.5])]

    def shown():
        print(*held)
        print(held)
        return [str(one) for one in held], f"{held[2]!r:>9} {held[3]}", "%s %r" % (held[4], held[5])  # noqa: UP031

    jitted = jit(shown)
    for step in range(3):
        for one in held:
            one["a" if isinstance(one, dict) else 0] += step
        assert jitted() == shown()
        printed = capsys.readouterr().out.splitlines()
        assert printed[:2] == printed[2:]


SETS_THAT_ARE_EQUAL = [
    [{(1, 2)}, {(1.0, 2.0)}, {(True, 2)}],
    [{0.0}, {-0.0}, {0}, {False}],
    [{0j}, {-0j}, {complex(0.0, -0.0)}],
    [{frozenset({1})}, {frozenset({1.0})}, {frozenset({True})}],
    [{1, "a"}, {1.0, "a"}, {True, "a"}],
    [{(0, (0.0,))}, {(0, (-0.0,))}],
    [{0, 8}, {8, 0}],
    [{-1, -2}, {-2, -1}],
    [frozenset({(1,)}), frozenset({(1.0,)})],
    [frozenset({0, 8}), frozenset({8, 0})],
    [{np.float64(1.0)}, {np.float32(1.0)}, {1.0}],
]


@pytest.mark.parametrize("sets", SETS_THAT_ARE_EQUAL)
def test_sets_that_are_equal_and_not_the_same(sets):
    space = {"held": None}
    exec("def outside():\n return [(one, str(one)) for one in held]", space)
    jitted, jitted_outside = jit(gone_over), jit(space["outside"])
    for held in [*sets, *sets, *reversed(sets)]:
        space["held"] = held
        expected = gone_over(held)
        for found in (jitted(held), jitted_outside()):
            assert repr(found) == repr(expected)


@pytest.mark.parametrize("kind", [list, deque])
def test_elements_without_a_common_structure_are_refused_as_those_of_other_lists(kind):
    log = kind()

    def logged(value):
        if value < 0:
            log.append(("out", "negative"))
        else:
            if value < 1:
                log.append(1)
            log.append(("out", None))

    with pytest.raises(ConcretizationError, match="elements of one kind"):
        jit(logged)(3.0)
    assert not log
