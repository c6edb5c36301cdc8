"""Dicts, counters and deques that are values of dicts, or elements of lists, and get and lose elements there."""

from collections import Counter, OrderedDict, defaultdict, deque

import numpy as np
import pytest
from phlox import jit
from thinning import one_in

X = np.random.default_rng(1).integers(0, 5, 14)
OTHERS = np.random.default_rng(2).integers(0, 5, 14)


def by_item(x):
    found = {}
    for a, b in zip(x, x[1:]):
        if int(a) not in found:
            found[int(a)] = {}
        found[int(a)][int(b)] = found[int(a)].get(int(b), 0) + 1
    return found


def following(x):
    found = defaultdict(Counter)
    for a, b in zip(x, x[1:]):
        found[int(a)][int(b)] += 1
    return found


def counters(x):
    found, every = following(x), Counter()
    for a in found:
        every.update(found[a])
        found[a].subtract({0: 1})
        found[a].update([1, 1])
    likeliest = {a: one.most_common(1) for a, one in found.items()}
    return found, every, likeliest, {a: (one[7], 3 in one, len(one), one.total()) for a, one in found.items()}


def texts_as_keys(x):
    found = {}
    for k, a in enumerate(x):
        found.setdefault(int(a), {}).setdefault("ab"[int(a) % 2], 0)
        found[int(a)]["ab"[int(a) % 2]] += k
        found[int(a)]["n"] = found[int(a)].get("n", 0) + 1
    return found


def three_deep(x):
    found = {}
    for a, b, c in zip(x, x[1:], x[2:]):
        last = found.setdefault(int(a), {}).setdefault(int(b), {})
        last[int(c)] = last.get(int(c), 0) + 1
    return found


def of_lists(x):
    found = defaultdict(lambda: defaultdict(list))
    for k, (a, b) in enumerate(zip(x, x[1:])):
        found[int(a)][int(b)].append(k)
    return {a: {b: sum(one) for b, one in row.items()} for a, row in found.items()}, found[int(x[0])][int(x[1])]


def taken_out(x):
    found = defaultdict(dict)
    for k, (a, b) in enumerate(zip(x, x[1:])):
        found[int(a)][int(b), k % 2] = k
        if (int(a) + 1, 0) in found[int(b)]:
            del found[int(b)][int(a) + 1, 0]
        found[int(a)].pop((9, 9), None)
    return dict(found), [len(row) for row in found.values()]


def methods(x):
    found = defaultdict(dict)
    for k, (a, b) in enumerate(zip(x, x[1:])):
        found[int(a)][int(b)] = k
    row = found[int(x[0])]
    row.update({77: 1})
    row.update([(78, 2)])
    row |= {79: 3}
    others = {**row, 80: 4}, row | {81: 1}, dict(row), row.copy()
    shown = list(row), list(row.items()), list(row.values()), row == others[2], str(row), bool(row), len(row)
    kinds = isinstance(row, dict), type(row) is dict
    return others, shown, kinds, row.popitem(), min(row), max(row, key=row.get), [k for k in row if k > 2], row


def under_another_name(x):
    found = {}
    for k, (a, b) in enumerate(zip(x, x[1:])):
        row = found.get(int(a))
        if row is None:
            row = {}
            found[int(a)] = row
        row[int(b)] = k
    found[int(x[0])][100] = 1
    return found, 100 in found[int(x[0])]


def in_an_order(x):
    found = {}
    for k, a in enumerate(x):
        recent = found.setdefault(int(a) % 2, OrderedDict())
        recent[int(a)] = k
        recent.move_to_end(int(a))
        if len(recent) > 2:
            recent.popitem(last=False)
    return found


def divided(x):
    found = by_item(x)
    for row in found.values():
        total = sum(row.values())
        for b in row:
            row[b] /= total
    return found


def in_a_list(x):
    rows = []
    for k, a in enumerate(x):
        if a > 1:
            rows.append({})
        if rows:
            rows[-1][int(a)] = k
    return rows, [len(row) for row in rows]


def several(x):
    weights, counts, pairs = defaultdict(dict), defaultdict(Counter), {}
    for k, (a, b) in enumerate(zip(x, x[1:])):
        weights[int(a)][int(b)] = k * 0.5
        counts[int(b)]["ab"[k % 2]] += 1
        pairs.setdefault(int(a), {})[int(b)] = (k, k + 1)
    return weights, counts, pairs


def with_all_kinds(x):
    found = defaultdict(lambda: {"n": 0, "seen": [], "first": {}})
    for k, (a, b) in enumerate(zip(x, x[1:])):
        row = found[int(a)]
        row["n"] += 1
        row["seen"].append(int(b))
        row["first"].setdefault(int(b), k)
    return dict(found)


def with_sets(x):
    found = {}
    for a, b in zip(x, x[1:]):
        found.setdefault(int(a), {"n": 0, "tags": set()})
        found[int(a)]["n"] += 1
        found[int(a)]["tags"].add(int(b))
    return found


def deques(x):
    found = {}
    for k, a in enumerate(x):
        queue = found.setdefault(int(a), deque(maxlen=2))
        queue.append(k)
        if k % 4 == 3:
            queue.appendleft(-k)
    return found, {a: (one[0], one[-1], len(one), sum(one), list(one), 5 in one) for a, one in found.items()}


def deques_in_turn(x):
    found, out = defaultdict(deque), []
    for k, a in enumerate(x):
        found[int(a)].extend([k, k + 1])
        found[int(a)].rotate(1)
    while any(found.values()):
        for a in sorted(found):
            if found[a]:
                out.append(found[a].popleft())
    return out


PROGRAMS = [
    by_item, counters, texts_as_keys, three_deep, of_lists, taken_out, methods, under_another_name,
    in_an_order, with_all_kinds, with_sets, divided, in_a_list, several, deques, deques_in_turn,
]  # fmt: skip


@pytest.mark.parametrize("function", one_in(20, PROGRAMS))
def test_they_are_changed_where_they_are(function):
    decorated = jit(function)
    for x in (X, OTHERS):
        assert repr(decorated(x)) == repr(function(x))


def test_a_key_that_is_missing():
    @jit
    def some(x):
        return by_item(x)[int(x[0])][99]

    with pytest.raises(KeyError, match="99"):
        some(X)


class Entries:
    def __init__(self):
        self.entries = []

    def at(self, key):
        for other, value in self.entries:
            if other == key:
                return value
        value = []
        self.entries.append((key, value))
        return value


def test_lists_of_tuples_with_lists_that_grow():
    def some(x):
        found = {}
        for k, (a, b) in enumerate(zip(x, x[1:])):
            if int(a) not in found:
                found[int(a)] = Entries()
            found[int(a)].at(int(b)).append(k)
        return {a: [(key, list(value)) for key, value in one.entries] for a, one in found.items()}

    assert jit(some)(X) == some(X)


def queues(x):
    held, total = [deque() for _ in range(40)], 0
    for k, v in enumerate(x):
        held[v].append(k)
        if len(held[v]) > 1:
            total += held[v].popleft()
    return held, total


def tallies(x):
    held = [{} for _ in range(40)]
    for k, v in enumerate(x):
        held[v][k % 3] = held[v].get(k % 3, 0) + 1
    return held


def members(x):
    held = [set() for _ in range(40)]
    for k, v in enumerate(x):
        held[v].add(k)
    return held


@pytest.mark.parametrize("program", one_in(3, [queues, tallies, members]), ids=lambda program: program.__name__)
def test_more_containers_than_a_choice_has(program):
    decorated = jit(program)
    for x in (X, OTHERS):
        assert decorated(x) == program(x)
    assert decorated.cache_info().misses == 1


def test_what_is_taken_out_of_a_row_is_read_before_the_row_is_written():
    def last_ones(x):
        held, total = {}, 0
        for k, v in enumerate(x):
            one = held.setdefault(int(v), [])
            one.append(k)
            if len(one) > 1:
                total += one.pop(0)
        return total

    decorated = jit(last_ones)
    assert decorated(X) == last_ones(X)
    copies = str(decorated.explain()).partition("   copies")[2]
    assert "before the loop" in copies
    assert "in each round" not in copies


def test_dicts_that_factories_make_are_compiled_once():
    def sums(names, x):
        table = defaultdict(lambda: defaultdict(float))
        for name, value in zip(names, x):
            if value > 0:
                table[name][name] += value
        return {name: sum(row.values()) for name, row in table.items()}

    jitted = jit(sums)
    for x in (np.array([1.0, -2.0, 3.0]), np.array([-1.0, 2.0, 4.0]), np.array([1.0, 2.0, 4.0])):
        assert jitted(("a", "b", "a"), x) == sums(("a", "b", "a"), x)
    assert jitted.cache_info().misses == 1
