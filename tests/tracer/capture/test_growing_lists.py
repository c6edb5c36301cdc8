"""Lists that are put into dicts whose keys the program computes, and are changed there: what is grouped."""

from collections import defaultdict

import numpy as np
import pytest
from phlox import TracerError, jit
from thinning import left_to_ci

from ...support.undecorated import check

RANDOM = np.random.default_rng(0)
SMALL = np.array([1, 2, 1]), np.array([1.0, 2.0, 3.0])
FEW_KEYS = RANDOM.integers(0, 5, 40), RANDOM.random(40) * 9
MANY_KEYS = RANDOM.integers(0, 300, 1000), RANDOM.random(1000) * 9
NOTHING = np.zeros(0, int), np.zeros(0)


def means_of_groups(keys, values):
    groups = {}
    for k, v in zip(keys, values):
        groups.setdefault(int(k), []).append(v)
    return {k: np.mean(v) for k, v in groups.items()}


def in_order_of_keys(keys, values):
    groups = defaultdict(list)
    for k, v in zip(keys, values):
        groups[int(k)].append(v)
    out = []
    for k, v in sorted(groups.items()):
        out.append((k, len(v), sum(v), max(v)))
    return out


def put_where_missing(keys, values):
    groups = {}
    for k, v in zip(keys, values):
        k = int(k)
        if k not in groups:
            groups[k] = []
        groups[k].append(v)
    return {k: len(groups[k]) for k in groups}


def changed_or_put(keys, values):
    groups = {}
    for k, v in zip(keys, values):
        k = int(k)
        if k in groups:
            groups[k].append(v)
        else:
            groups[k] = [v]
    return max(groups, key=lambda k: len(groups[k]), default=0), [sum(v) / len(v) for v in groups.values()]


def a_name_for_a_group(keys, values):
    groups = {}
    last = 0
    for k, v in zip(keys, values):
        row = groups.setdefault(int(k), [])
        row.append(v)
        last = len(groups[int(k)])
        row[0] = row[0] + 1.0
    return last, {k: (v[0], v[-1], len(v)) for k, v in groups.items()}


def two_groupings_at_once(keys, values):
    a = {}
    b = defaultdict(list)
    for k, v in zip(keys, values):
        a.setdefault(int(k), []).append(v)
        b[int(v)].append(int(k))
    return {k: sum(v) for k, v in a.items()}, {k: sum(v) for k, v in b.items()}


def a_grouping_in_each_round(keys, values):
    total = 0.0
    for i in range(3):
        g = {}
        for k, v in zip(keys, values):
            g.setdefault(int(k) + i, []).append(v * i)
        for k, v in g.items():
            total += k * max(v)
    return total


def numpy_of_groups(keys, values):
    g = defaultdict(list)
    for k, v in zip(keys, values):
        g[int(k)].append(v)
    return {k: (np.median(g[k]), np.std(np.array(g[k])), sorted(g[k])[0]) for k in sorted(g)}


def a_name_for_what_is_put(keys, values):
    g = {}
    n = 0
    for k, v in zip(keys, values):
        row = []
        g[int(k)] = row
        row.append(v)
        g[int(k)].append(v * 2)
        n += len(row)
    return n, {k: sum(v) for k, v in g.items()}


def one_list_under_two_keys(keys, values):
    g = {}
    for k, v in zip(keys, values):
        row = []
        g[int(k)] = row
        g[-int(k) - 1] = row
        row.append(v)
        g[int(k)].append(v * 2)
    return {k: sum(v) for k, v in g.items()}


def one_list_in_two_dicts(keys, values):
    g = {}
    h = {}
    for k, v in zip(keys, values):
        row = []
        g[int(k)] = row
        h[int(k)] = row
        row.append(v)
        g[int(k)].append(v * 2)
    return {k: sum(v) for k, v in h.items()}


def replaced_by_a_new_list(keys, values):
    g = {}
    for k, v in zip(keys, values):
        k = int(k)
        g.setdefault(k, []).append(v)
        if len(g[k]) > 3:
            g[k] = [v]
    return {k: (len(v), v[0]) for k, v in g.items()}


def popped_and_deleted(keys, values):
    g = defaultdict(list)
    t = 0.0
    for k, v in zip(keys, values):
        k = int(k)
        g[k].append(v)
        if len(g[k]) > 2:
            t += g[k].pop(0)
        if k % 2 and len(g[k]) > 1:
            del g[k]
    return t, {k: list(v)[-1] for k, v in g.items()}


def groups_are_compared(keys, values):
    g = {}
    for k in keys:
        g.setdefault(int(k), []).append(1)
    ks = list(g)
    n = 0
    for k in ks:
        for l in ks:
            if g[k] == g[l]:
                n += 1
    return n


def changed_in_a_copy_of_the_dict(keys, values):
    g = {}
    for k, v in zip(keys, values):
        g.setdefault(int(k) % 7, []).append(v)
    h = dict(g)
    for k in g:
        h[k].append(1.0)
    return {k: len(v) for k, v in g.items()}


def records_of_integers(keys, values):
    g = {}
    for k in keys:
        row = g.setdefault(int(k) % 7, [0, 0])
        row[0] += 1
        row[1] += int(k)
    return {k: v[1] / v[0] for k, v in g.items()}, {k: v[0] for k, v in g.items()}


def keys_are_tuples(keys, values):
    g = {}
    for k, v in zip(keys, values):
        g.setdefault((int(k) % 3, int(v) % 2), []).append((int(k), v))
    return {k: max(v) for k, v in g.items()}


def put_by_a_function(keys, values):
    def add(d, k, v):
        d.setdefault(k, []).append(v)

    g = {}
    for k, v in zip(keys, values):
        add(g, int(k), v)

    def show(d):
        return [len(x) for x in d.values()]

    return show(g)


def pairs_within_groups(keys, values):
    g = defaultdict(list)
    for k, v in zip(keys, values):
        g[int(k)].append(v)
    t = 0.0
    for k in g:
        for i in range(len(g[k])):
            for j in range(i + 1, len(g[k])):
                t += abs(g[k][i] - g[k][j])
    return t


def reached_in_a_graph(keys, values):
    adj = defaultdict(list)
    for i in range(len(keys) - 1):
        a, b = int(keys[i]), int(keys[i + 1])
        adj[a].append(b)
        adj[b].append(a)
    if len(keys) == 0:
        return 0
    seen = {int(keys[0])}
    stack = [int(keys[0])]
    while stack:
        n = stack.pop()
        for m in adj[n]:
            if m not in seen:
                seen.add(m)
                stack.append(m)
    return len(seen)


def orders_of_groups(keys, values):
    g = {}
    for k, v in zip(keys, values):
        g.setdefault(int(k) % 7, []).append(v)
    return (
        [k for k, v in sorted(g.items(), reverse=True)],
        [k for k, v in sorted(g.items(), key=lambda kv: (-len(kv[1]), kv[0]))],
        [k for k, v in sorted(g.items(), key=lambda kv: -len(kv[1]))],
    )


def dicts_are_compared(keys, values):
    g = {}
    h = {}
    for k in keys:
        g.setdefault(int(k) % 7, []).append(0)
        h.setdefault(int(k) % 7, []).append(0)
    return g == h


def groups_returned(keys, values):
    groups = {}
    for k, v in zip(keys, values):
        groups.setdefault(int(k), []).append(v)
    return groups


def groups_of_tuples(keys, values):
    groups = defaultdict(list)
    for k, v in zip(keys, values):
        groups[int(k)].append((v, k))
    return groups


def lists_of_groups(keys, values):
    g = defaultdict(list)
    for k in keys:
        g[int(k)].append(int(k))
    return list(g.values()), list(g.items()), sorted(g.items())


def groups_of_texts(keys, values):
    g = {}
    for k, v in zip(keys, values):
        g.setdefault((int(k), True), []).append((v, "a" if v > 1 else "b"))
    return g


def emptied_groups(keys, values):
    g = {}
    for k, v in zip(keys, values):
        g.setdefault(int(k), []).append(v)
    for k in g:
        g[k].clear()
    return g


def made_of_groups(keys, values):
    g = {}
    for k, v in zip(keys, values):
        g.setdefault(int(k), []).append(v)
    return (
        {k: [x * 2 for x in v] for k, v in g.items()},
        {k: v[:2] for k, v in g.items()},
        {k: (v, len(v)) for k, v in g.items()},
    )


def records_of_unlike_numbers(keys, values):
    g = {}
    for k, v in zip(keys, values):
        row = g.setdefault(int(k) % 7, [0, 0.0])
        row[0] += 1
        row[1] += v
    return {k: v[1] / v[0] for k, v in g.items()}, {k: v[0] for k, v in g.items()}


def a_default_under_all_keys(keys, values):  # one list under all keys
    g = {}
    empty = []
    for k, v in zip(keys, values):
        g.setdefault(int(k), empty).append(v)
    return {k: len(v) for k, v in g.items()}


GROUPINGS = [
    means_of_groups,
    in_order_of_keys,
    put_where_missing,
    changed_or_put,
    a_name_for_a_group,
    two_groupings_at_once,
    a_grouping_in_each_round,
    numpy_of_groups,
    a_name_for_what_is_put,
    one_list_under_two_keys,
    one_list_in_two_dicts,
    replaced_by_a_new_list,
    popped_and_deleted,
    groups_are_compared,
    changed_in_a_copy_of_the_dict,
    records_of_integers,
    keys_are_tuples,
    put_by_a_function,
    pairs_within_groups,
    reached_in_a_graph,
    orders_of_groups,
    dicts_are_compared,
    groups_returned,
    groups_of_tuples,
    lists_of_groups,
    groups_of_texts,
    emptied_groups,
    made_of_groups,
    records_of_unlike_numbers,
    a_default_under_all_keys,
]


@pytest.mark.parametrize("function", GROUPINGS)
def test_groups_are_what_python_makes(function):
    check(function, *FEW_KEYS)
    check(function, *NOTHING)


def test_groups_grow_in_number_and_in_length():
    for given in (SMALL, MANY_KEYS):
        check(means_of_groups, *given)
        check(changed_or_put, *given)


def a_default_with_a_name(keys, values):
    g = {}
    n = 0
    for k, v in zip(keys, values):
        new = [v]
        g.setdefault(int(k), new).append(v)
        n += len(new)
    return n, {k: len(v) for k, v in g.items()}


def groups_are_ordered(keys, values):
    g = {}
    for k, v in zip(keys, values):
        g.setdefault(int(k) % 7, []).append(v)
    return [v[0] for v in sorted(g.values())], [v[0] for v in sorted(g.values(), key=len)]


def ordered_behind_equal_keys(keys, values):
    g = {}
    for k, v in zip(keys, values):
        g.setdefault(int(k) % 7, []).append(v)
    return [v[0] for n, v in sorted([(len(v), v) for v in g.values()])], max(g.items())[0]


def a_group_is_searched(keys, values):
    g = {}
    for k in keys:
        g.setdefault(int(k) % 7, []).append(0)
    return [0] in g.values(), [0] in list(g.values())


@left_to_ci
@pytest.mark.parametrize("function", [groups_are_ordered, ordered_behind_equal_keys, a_group_is_searched])
def test_groups_are_compared(function):
    check(function, *FEW_KEYS)


REFUSED = [a_default_with_a_name]


@pytest.mark.parametrize("function", REFUSED)
def test_what_would_not_be_pythons_is_an_error(function):
    with pytest.raises((TracerError, NotImplementedError), match="one of several|setdefault"):
        jit(function)(*FEW_KEYS)


def test_an_element_of_a_list_that_is_empty_at_first():
    def copied_from_before(offsets, lengths, symbols):
        out = []
        for offset, length, symbol in zip(offsets, lengths, symbols):
            if length:
                out.append(out[-offset])
            out.append(symbol)
        return out

    jitted = jit(copied_from_before)
    offsets, symbols = np.array([1, 1, 2, 3, 1] * 9), np.arange(45)
    lengths = np.array([0, 1, 1, 0, 1] * 9)
    assert jitted(offsets, lengths, symbols) == copied_from_before(offsets, lengths, symbols)
    with pytest.raises(IndexError, match="list index out of range"):
        jitted(offsets, 1 - lengths, symbols)


@pytest.mark.parametrize("start", [0, 5, 0.5, np.float32(0.5), np.int16(3)], ids=repr)
def test_small_integers_are_added_one_by_one_from_the_start_on(start):
    def program(x, start):
        return sum([v for v in x if v > 1], start)

    x = np.array([1, 100, 3, 100, 100], np.uint8)
    with np.errstate(over="ignore"):
        expected = program(x, start)
    found = jit(program)(x, start)
    assert (type(found), found) == (type(expected), expected)
