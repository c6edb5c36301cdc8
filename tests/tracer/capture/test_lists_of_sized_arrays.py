"""Arrays of several sizes, known at run time only, in lists, dicts and queues whose length the program decides."""

from collections import deque

import numpy as np
import pytest
from phlox import CarryTypeError, ChangedCopyError, ConcretizationError, jit

from ...support.undecorated import check

X = np.random.default_rng(1).normal(size=40)
EDGES = np.random.default_rng(2).integers(0, 40, (70, 2))


def of_a_comprehension(x):
    neighbours = [np.where(np.abs(x - one) <= 0.5)[0] for one in x]
    return neighbours, len(neighbours[3]), neighbours[-1]


def clusters(x):
    neighbours = [np.where(np.abs(x - one) <= 0.1)[0] for one in x]
    labels, count = -np.ones(len(x), dtype=int), 0
    for i in range(len(x)):
        if labels[i] != -1 or len(neighbours[i]) < 3:
            continue
        labels[i] = count
        queue = list(neighbours[i])
        while queue:
            j = queue.pop(0)
            if labels[j] == -1:
                labels[j] = count
                if len(neighbours[j]) >= 3:
                    queue.extend(neighbours[j])
        count += 1
    return labels, count


def followed(x):
    larger = [np.flatnonzero(x > one) for one in x]
    seen, i = [], 0
    while len(larger[i]):
        seen.append(i)
        i = larger[i][0]
    return seen


def put_together(x):
    parts = []
    for i in range(len(x)):
        if x[i] > 0:
            parts.append(x[:i])
    return np.concatenate(parts), np.hstack(parts).sum()


def ascending_runs(x):
    runs, start = [], 0
    for i in range(1, len(x) + 1):
        if i == len(x) or x[i] < x[i - 1]:
            runs.append(x[start:i])
            start = i
    return runs, [run.mean() for run in runs], max(len(run) for run in runs), max(runs, key=len)


def sorted_by_hand(x):
    stack, found = [x], []
    while stack:
        part = stack.pop()
        if len(part) <= 1:
            found.extend(part)
            continue
        rest = part[1:]
        stack += [rest[rest >= part[0]], part[:1], rest[rest < part[0]]]
    return np.array(found)


def halved(x):
    waiting, count = deque([x]), 0
    while waiting:
        part = waiting.popleft()
        if len(part) >= 2:
            count += 1
            waiting.append(part[: len(part) // 2])
            waiting.append(part[len(part) // 2 :])
    return count


def grown_in_a_dict(x):
    groups = {}
    for one in x:
        key = int(one * 2)
        groups[key] = np.append(groups.get(key, np.empty(0)), one)
    return groups


def grown_in_a_list(edges):
    adjacent = [np.empty(0, int) for _ in range(40)]
    for a, b in edges:
        adjacent[a] = np.append(adjacent[a], b)
        adjacent[b] = np.append(adjacent[b], a)
    distance, waiting = -np.ones(40, int), [0]
    distance[0] = 0
    while waiting:
        node = waiting.pop(0)
        for other in adjacent[node]:
            if distance[other] < 0:
                distance[other] = distance[node] + 1
                waiting.append(other)
    return distance, adjacent


def by_size(x):
    parts = [np.flatnonzero(x > one) for one in x]
    found = sorted(parts, key=lambda one: -len(one))
    parts.sort(key=len)
    return [len(one) for one in parts], parts[0], parts[-1], found[2]


def changed_lists(x):
    parts = [x[x > one] for one in x if one > 0] + [x[:2]]
    parts.insert(1, x[:1])
    del parts[0]
    parts.reverse()
    first = parts.pop(0)
    return (
        len(parts),
        parts[1:3],
        first,
        parts.copy()[-1],
        [i * (p.sum() - q.sum()) for i, (p, q) in enumerate(zip(parts, parts[1:]))],
    )


def in_tuples_and_objects(x):
    class Group:
        def __init__(self, members):
            self.members, self.count = members, len(members)

    pairs, groups = [], []
    for i in range(len(x)):
        if x[i] > 0:
            pairs.append((i, x[x < x[i]], "a"))
            groups.append(Group(x[x > x[i]]))
    return [(i, part.size) for i, part, _ in pairs], max(groups, key=lambda group: group.count).members


def of_two_dimensions(x):
    table, rows, blocks = np.outer(x, x), [], []
    for one in x:
        if one > 0:
            rows.append(table[x > one])
            blocks.append(table[x > one][:, x > one])
    return [part.shape for part in rows], [part.shape for part in blocks], blocks[2], sum(part.sum() for part in rows)


def or_none(x):
    parts = []
    for i in range(len(x)):
        parts.append(x[:i] if x[i] > 0 else None)
    return parts, [0 if part is None else part.sum() for part in parts]


def of_one_size(x):
    parts = []
    for _ in range(len(x)):
        parts.append(np.argsort(x)[: int(abs(x[0]) * 2) + 1])
    return np.array(parts), np.stack(parts)


def changed_afterwards(x):
    parts = []
    for i in range(len(x)):
        if x[i] > 0:
            part = x[:i].copy()
            parts.append(part)
            part += 1
    return [part.sum() for part in parts]


def of_a_source_that_changes(x):
    parts = []
    for i in range(len(x)):
        parts.append(x[:i])
        x[0] += 1
    return [part.sum() for part in parts]


@pytest.mark.parametrize(
    "function",
    [
        of_a_comprehension, clusters, followed, put_together, ascending_runs, sorted_by_hand, halved, grown_in_a_dict, by_size,
        changed_lists, in_tuples_and_objects, of_two_dimensions, or_none, of_one_size, changed_afterwards,
        of_a_source_that_changes,
    ],
    ids=lambda function: function.__name__,
)  # fmt: skip
def test_lists_of_sized_arrays(function):
    jitted = check(function, X)
    check(jitted, np.random.default_rng(3).normal(size=40))


def test_arrays_that_grow_in_a_list():
    check(grown_in_a_list, EDGES)


def test_arrays_that_outgrow_their_memory():
    star = np.stack([np.zeros(700, int), 1 + np.arange(700) % 39], axis=1)
    check(grown_in_a_list, star)


def test_arrays_of_several_sizes_are_no_array():
    @jit
    def function(x):
        parts = []
        for one in x:
            parts.append(x[x > one])
        return np.array(parts)

    with pytest.raises(ValueError, match="inhomogeneous|must match exactly"):
        function(X)


def test_nothing_to_concatenate():
    @jit
    def function(x):
        parts = []
        for one in x:
            if one > 100:
                parts.append(x[x > one])
        return np.concatenate(parts)

    with pytest.raises(ValueError, match="need at least one array to concatenate"):
        function(X)


def test_an_element_that_is_changed_in_place():
    @jit
    def function(x):
        parts = []
        for i in range(len(x)):
            if x[i] > 0:
                parts.append(x[:i].copy())
        parts[0][:] = 1
        return parts[0]

    with pytest.raises(ChangedCopyError, match="changed in place"):
        function(X)


def of_other_dtypes(x):
    parts = []
    for i in range(len(x)):
        if x[i] > 0:
            parts.append(np.arange(3))
        elif x[i] > -1:
            parts.append(x[:3])
    return [part.sum() for part in parts]


def test_arrays_of_other_dtypes_are_not_converted():
    with pytest.raises(ConcretizationError, match="s64\\[3\\] and f64\\[3\\]|f64\\[3\\] and s64\\[3\\]"):
        jit(of_other_dtypes)(X)


def test_too_much_room():
    @jit
    def function(x):
        parts = []
        for one in x:
            parts.append(x[x > one])
        return parts[0]

    with pytest.raises(CarryTypeError, match="room for the largest"):
        function(np.zeros(30_000))


def changed_under_another_name(x):
    chosen, parts = x[x > 0], []
    for i in range(len(x)):
        parts.append(chosen if x[i] > 0 else x[:i])
    chosen += 1
    return [part.sum() for part in parts]


def changed_as_what_a_dict_holds(x):
    states = {}
    for t in range(30):
        key = int(abs(x[t]) * 2)
        state = states.get(key)
        if state is None:
            state = states[key] = x[: key + 1].copy()
        else:
            state *= 0.9
    return states


def one_of_two_that_is_changed(x):
    chosen, taken = x[x > 0], x[x < 0]
    for i in range(len(x)):
        if x[i] > 1:
            taken = chosen
    chosen *= 2
    return taken.sum(), chosen.sum()


@pytest.mark.parametrize(
    "function",
    [changed_under_another_name, changed_as_what_a_dict_holds, one_of_two_that_is_changed],
    ids=lambda function: function.__name__,
)
def test_changes_that_other_names_would_have_to_show_are_refused(function):
    with pytest.raises(NotImplementedError, match="an array is read that may be another one"):
        jit(function)(X)
