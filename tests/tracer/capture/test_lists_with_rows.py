"""Lists that are put into others whose length the program decides, and have other names: a change is seen by all of them."""

from collections import OrderedDict, deque

import numpy as np
import pytest
from phlox import jit

from ...support.undecorated import check

X = np.random.default_rng(1).integers(0, 10, 100)


def the_last_one_grows(x):
    groups = []
    for d in x:
        if groups and d - groups[-1][-1] <= 1:
            groups[-1].append(d)
        else:
            groups.append([d])
    return groups, len(groups)


def intervals_merged(x):
    pairs = sorted([(int(v), int(v) + 2) for v in x])
    merged = [list(pairs[0])]
    for begin, end in pairs[1:]:
        if begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


def lots_in_a_deque(x):
    lots, realised = deque(), 0.0
    for i, v in enumerate(x):
        q, p = int(v) - 4, 1.0 + 0.1 * i
        if q > 0:
            lots.append([q, p])
        while q < 0 and lots:
            lot = lots[0]
            take = min(lot[0], -q)
            realised += take * (p - lot[1])
            lot[0] -= take
            q += take
            if lot[0] == 0:
                lots.popleft()
    return realised, list(lots)


def put_away_and_begun_anew(x):
    current, groups = [], []
    for v in x:
        if v > 6:
            groups.append(current)
            current = []
        current.append(int(v))
    groups.append(current)
    return groups


def copies_put_away(x):
    current, groups = [], []
    for v in x:
        current.append(int(v))
        if v > 6:
            groups.append(current[:])
            current.clear()
    return groups, current


def in_two_lists(x):
    rows, kept = [], []
    for v in x:
        row = [int(v), int(v) + 1]
        rows.append(row)
        if v > 3:
            kept.append(row)
    kept[0][1] = 100
    rows[-1][0] = 50
    return rows, kept, kept[0] is rows[0], any(kept[0] is row for row in rows)


def one_has_a_name(x):
    rows, best = [], None
    for v in x:
        if v > 3:
            row = [int(v), 3]
            rows.append(row)
            if best is None or v > best[0]:
                best = row
    best[1] = 7
    return rows, best, [row is best for row in rows]


def identity_alone(x):
    rows, kept = [], []
    for v in x:
        row = [int(v), 2]
        rows.append(row)
        kept.append(row)
    return kept[0] is rows[0], rows[3] is kept[3], rows[1] is rows[2]


def of_unlike_lengths_in_tuples(x):
    target, x, stack, found = 10 + int(x[-1]) % 3, x[:6], [(0, 0, [])], []
    while stack:
        i, total, chosen = stack.pop()
        if total == target:
            found.append(chosen)
        if i == len(x) or total >= target:
            continue
        stack.append((i + 1, total, chosen))
        stack.append((i + 1, total + int(x[i]), chosen + [int(x[i])]))
    return len(found), found


def rows_eliminated(x):
    a = [[float(v) for v in x[i * 4 : i * 4 + 4]] for i in range(4)]
    for i in range(4):
        a[i][i] += 30.0
    for c in range(4):
        p = max(range(c, 4), key=lambda r: abs(a[r][c]))
        a[c], a[p] = a[p], a[c]
        a[c] = [v / a[c][c] for v in a[c]]
    return a


def sums_of_rows(x):
    g = [[1, 2], [3, 4], [5, 6]]
    k = int(x[0]) % 3
    a, b, c, d = g[k] + [5], [0] + g[k], g[k] + g[k - 1], g[k] * 2
    g[k][0] = 9
    a.append(3)
    return a, b, c, d, [*g[k], 1], len(a), a[2], b[-1], sum(g, [])


def repeated_as_often_as_computed(x):
    runs, back = [], []
    for v in x // 3:
        if runs and runs[-1][0] == v:
            runs[-1][1] += 1
        else:
            runs.append([int(v), 1])
    for v, n in runs:
        back.extend([v] * n)
    return runs, back == (x // 3).tolist(), max(runs, key=lambda run: run[1])


def changed_under_the_name_it_keeps(x):
    rows, last = [], [0]
    for v in x:
        if v > 4:
            last = [int(v)]
            rows.append(last)
        last[0] += 1
    return rows, last


def put_on_one_side_and_kept(x):
    rows, last = [], [0]
    for v in x:
        if v > 4:
            rows.append(last)
        else:
            last = [int(v)]
        last[0] += 1
    return rows, last


def put_in_a_branch_alone(x):
    rows, last = [], [0]
    if x[0] > 4:
        last = [int(x[1])]
        rows.append(last)
    last[0] += 5
    return rows, last


def put_into_a_dict(x):
    d, last = {}, [0]
    for v in x:
        if v > 4:
            last = [int(v)]
            d[int(v)] = last
        last.append(1)
    return d, last


def put_in_a_tuple(x):
    rows, last = [], [0]
    for v in x:
        if v > 4:
            last = [int(v)]
            rows.append((last, int(v)))
        last[0] += 1
    return rows, last


class Log:
    def __init__(self):
        self.current, self.all = [0], []


def kept_by_an_attribute(x):
    log = Log()
    for v in x:
        if v > 4:
            log.current = [int(v)]
            log.all.append(log.current)
        log.current[0] += 1
    return log.current, log.all


PROGRAMS = [
    the_last_one_grows, intervals_merged, lots_in_a_deque, put_away_and_begun_anew, copies_put_away, in_two_lists,
    one_has_a_name, identity_alone, of_unlike_lengths_in_tuples, rows_eliminated, sums_of_rows, repeated_as_often_as_computed,
    changed_under_the_name_it_keeps, put_on_one_side_and_kept, put_in_a_branch_alone, put_into_a_dict, put_in_a_tuple,
    kept_by_an_attribute,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
def test_lists_are_what_they_are_undecorated(function):
    jitted = check(function, X)
    check(jitted, X[::-1].copy())
    check(jitted, (X * 7 + 3) % 10)


def test_one_list_at_two_places_is_one_list():
    rows, best, _ = jit(one_has_a_name)(X)
    assert any(row is best for row in rows)


def test_growing_tuples_are_compared_as_tuples():
    def compared(x):
        t = u = ()
        for v in x:
            if v > 3:
                t, u = (*t, int(v)), (*u, int(v))
        return t == u, t != u, t == list(u)

    check(compared, X)


def test_the_last_of_a_cache_is_dropped():
    def hits(keys):
        cache, count = OrderedDict(), 0
        for key in keys:
            key = int(key)
            if key in cache:
                cache.move_to_end(key)
                count += 1
                cache[key] += 1
            else:
                if len(cache) >= 4:
                    cache.popitem(last=False)
                cache[key] = 1
        return count, dict(cache)

    check(hits, X)


def test_lists_made_in_two_ways_meet_in_objects():
    class Tour:
        def __init__(self, stops, cost):
            self.stops, self.cost = stops, cost

    def cut_and_joined(x):
        tours = [Tour([int(v) for v in x[k : k + 3]], k) for k in range(3)]
        for v in x:
            tours.sort(key=lambda tour: tour.cost)
            stops = tours[int(v) % 3].stops
            first = stops[: int(v) % 4]
            tours = tours[:2] + [Tour(first + [one for one in stops if one not in first], int(v))]
        return [(tour.stops, tour.cost) for tour in tours]

    check(cut_and_joined, X)


def test_sums_of_three_lists_meet_others():
    def turned(x):
        tours = [[int(v) for v in x[k : k + 4]] for k in range(3)]
        for v in x:
            tours.sort(key=sum)
            tour, cut = tours[int(v) % 3], int(v) % 4
            tours = tours[:2] + [tour[cut:] + [9] * (cut // 2) + tour[:cut]]
        return tours

    check(turned, X)


def test_a_comprehension_goes_over_one_of_several_tuples():
    def others(x):
        row = (1, 2) if x[0] > 4 else (3.5, "a", 5)
        return [w * 2 for w in row if w != x[1]]

    check(others, X)
