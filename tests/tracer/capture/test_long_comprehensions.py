"""Comprehensions whose values take long to record are loops of the program, which take as long for any number of them."""

import numpy as np
import pytest
from phlox import jit


def root(a, steps=30):
    x = a
    while abs(x * x - a) > 1e-9 * a:
        x = 0.5 * (x + a / x)
    return x


def last_above(row, limit):
    found = None
    for value in row:
        if value > limit:
            found = value
    return found


def roots(x):
    return [root(v) for v in x]


def pairs(x):
    return [(root(v), v * 2) for v in x]


def nested(x):
    return [root(a) + b for a in x[:20] for b in x[:10]]


def numbered(x):
    return [root(v) * i for i, v in enumerate(x)]


def by_position(x):
    return [root(x[i]) - root(x[i - 1]) for i in range(len(x))]


def array_of_rows(x):
    return np.array([np.array([root(v), v, 1.0]) for v in x])


def products(x):
    a, n = x.reshape(5, 8), 8
    return [[sum(a[i, k] * a[j, k] for k in range(n)) for j in range(5)] for i in range(5)]


def generators_in_calls(x):
    rows = x.reshape(8, 5)
    best = [max((root(v) for v in row), default=0.0) for row in rows]
    some = [any(v > 8.5 and root(v) > 2.8 for v in row) for row in rows]
    ranked = [sorted((root(v), v) for v in row)[0][0] for row in rows]
    return best, some, ranked, [np.array([root(v) for v in row]).sum() for row in rows]


def keys_in_calls(x):
    return [max(row, key=lambda v: abs(root(v) - 2)) for row in x.reshape(8, 5)]


def generators_that_stay(x):
    late = [(root(v) * i for v in x[:3]) for i in range(4)]
    functions = [lambda v: v * i for i in range(4)]  # noqa: B023, what it is about
    return [sum(one) for one in late], [one(x[0]) for one in functions]


def changed_later(x):
    rows = [np.array([root(v), v]) for v in x]
    rows[3][0] = -1.0
    rows[5] = rows[4]
    return np.array(rows).sum(axis=1), rows[5][0]


def summed(x):
    return sum(root(v) for v in x), max(root(v) for v in x), any(root(v) > 5 for v in x)


def gone_over(x):
    total = 0.0
    for a, b in [(root(v), v) for v in x]:
        total = total * 0.5 + a * b
    return total


def array_of_pairs(x):
    return np.array([(root(v), root(v + 1)) for v in x])


def of_a_dict(x):
    return {i: root(v) for i, v in enumerate(x)}


def mapped(x):
    return list(map(root, x))


def that_may_be_missing(x):
    return [last_above(row, 0.999) for row in x.reshape(-1, 4)]


def of_two_types(x):
    return [1 if root(v) > 2 else 2.5 for v in x]


def of_texts(x):
    return ["large" if root(v) > 2 else "small" for v in x]


def views(x):
    table = x.reshape(-1, 4)
    rows = [row for row in table]
    rows[1][:] = 0.0
    return table.sum(), rows[1].sum()


def conditional(x):
    return [root(v) for i, v in enumerate(x) if i % 3]


def unequal(x):
    return [np.array([root(v)] * (i % 3 + 1)).sum() for i, v in enumerate(x[:20])]


def counted(x):
    count = [0]

    def one(v):
        count[0] += 1
        return root(v) + count[0]

    return [one(v) for v in x], count[0]


PROGRAMS = [
    roots, pairs, nested, numbered, by_position, array_of_rows, products, generators_in_calls, keys_in_calls,
    generators_that_stay, changed_later, summed, gone_over, array_of_pairs, of_a_dict,
    mapped, that_may_be_missing, of_two_types, of_texts, views, conditional, unequal, counted,
]  # fmt: skip


def same(expected, found):
    assert type(expected) is type(found)
    if isinstance(expected, (list, tuple)):
        assert len(expected) == len(found)
        for one, other in zip(expected, found):
            same(one, other)
    elif isinstance(expected, dict):
        same(list(expected.items()), list(found.items()))
    elif isinstance(expected, (str, type(None))):
        assert expected == found
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert np.asarray(expected).dtype == np.asarray(found).dtype


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_elements_are_those_of_python(program):
    function = jit(program)
    for seed in (1, 2):
        x = np.random.default_rng(seed).uniform(0.1, 9.0, 40)
        same(program(x.copy()), function(x.copy()))


@pytest.mark.parametrize("program", [roots, pairs, nested, by_position, array_of_rows, summed, array_of_pairs, mapped])
def test_what_is_recorded_does_not_depend_on_the_number_of_elements(program):
    def loops(count):
        module = jit(program).lower(np.linspace(0.1, 9.0, count)).module
        return sum(one.opcode == "while" for made in module.computations() for one in made.instructions)

    assert loops(40) == loops(200)


def test_explain_names_the_line():
    function = jit(roots)
    function(np.linspace(0.1, 9.0, 40))
    assert "`return [root(v) for v in x]`: a loop of the program, 40 rounds" in str(function.explain())
    assert " comprehensions.py" not in str(function.explain())


def appended_types(x):
    out = []
    for v in x:
        out.append(1 if root(v) > 2 else 2.5)
    last = None
    for one in out:
        last = one
    return out, last, max(out)


def appended_pairs(x):
    out, a, b = [], 0.5, 1.0
    for v in x:
        a, b = 0.5 * np.sin(a) + v, 0.3 * np.cos(b)
        out.append((a, b))
    total = 0.0
    for p, q in out:
        total = total * 0.5 + p * q
    return np.array(out), total, max(p for p, q in out)


@pytest.mark.parametrize("program", [appended_types, appended_pairs])
def test_what_a_long_loop_appends(program):
    x = np.random.default_rng(3).uniform(0.1, 9.0, 300)
    same(program(x), jit(program)(x))


def left_out_at_first(x):
    return [i for i in range(len(x)) if i > 10 and x[i] > 4]


def pairs_behind(x):
    return [(a, b) for a in range(len(x)) for b in range(len(x)) if a > 2 and b > a and x[a] < x[b]]


def inner_behind(x):
    return [(a, b) for a in range(len(x)) if x[a] < 4 for b in range(len(x)) if b > 3 and x[a] < x[b]]


def taken_at_first(x):
    return [i for i in range(len(x)) if i < 2 or x[i] > 4]


def the_last_alone(x):
    return [x[i] for i in range(len(x)) if i < 2 or i == len(x) - 1 and x[i] > 4]


def entries_behind(x):
    return {a: x[a] for a in range(len(x)) if a > 2 and x[a] < 4}


def summed_behind(x):
    return sum(x[a] for a in range(len(x)) if a > 2 and x[a] < 4)


def texts_behind(x):
    return [f"row {i}" for i in range(len(x)) if i > 10 and x[i] > 4]


def known_alone(x):
    return [x[i] for i in range(len(x)) if i % 7 == 3]


BEHIND = [
    left_out_at_first, pairs_behind, inner_behind, taken_at_first, the_last_alone, entries_behind, summed_behind, texts_behind,
    known_alone,
]  # fmt: skip


@pytest.mark.parametrize("count", [3, 9, 14])
@pytest.mark.parametrize("program", BEHIND)
def test_tests_that_are_known_of_the_first_elements(program, count):
    function = jit(program)
    for seed in (1, 2, 3):
        x = np.random.default_rng(seed).uniform(0.1, 9.0, count)
        same(program(x), function(x))


@pytest.mark.parametrize("program", [left_out_at_first, pairs_behind, inner_behind, taken_at_first, summed_behind])
def test_what_such_tests_record_does_not_depend_on_the_number_of_elements(program):
    def size(count):
        return sum(len(made.instructions) for made in jit(program).lower(np.linspace(0.1, 9.0, count)).module.computations())

    assert size(200) <= size(40) + 10


def rows_of_products(x):
    n = len(x)
    rows = [[x[i] * x[j] for j in range(n)] for i in range(n)]
    rows[1][2] = rows[0][0]
    rows[2] = rows[1]
    rows[2][0] = rows[3][3] + 1
    return rows, rows[1] is rows[2], len({id(row) for row in rows}) == n - 1


def rows_with_another_name(x):
    kept = []

    def keep(row):
        kept.append(row)
        return row

    rows = [keep([root(v), v]) for v in x]
    rows[0][1] = rows[1][0]
    return rows, kept[0][1], kept[0] is rows[0]


def one_row_many_times(x):
    row = [root(x[0]), x[1]]
    rows = [row for _ in range(len(x))]
    rows[3][0] = x[2]
    return rows, rows[0] is rows[5]


def generators_read_later(x):
    late = [(v * root(w) for w in x[:3]) for v in x[:4]]
    return [list(one) for one in late]


LISTS = [rows_of_products, rows_with_another_name, one_row_many_times, generators_read_later]


@pytest.mark.parametrize("program", LISTS)
def test_lists_that_comprehensions_make(program):
    x = np.random.default_rng(4).uniform(0.1, 9.0, 18)
    same(program(x), jit(program)(x))
