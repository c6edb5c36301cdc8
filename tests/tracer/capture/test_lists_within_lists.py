"""Lists within lists, of which the program decides which one it is: what is changed in one is changed under all names."""

import copy
import importlib.util

import numpy as np
import pytest
from phlox import ConcretizationError, TracerError, jit
from thinning import one_in

from ...support.undecorated import check

X = np.arange(6.0)


def read_behind_a_change(x):
    grid = [[1.0, 2.0], [3.0, 4.0]]
    row = grid[int(x[1]) % 2]
    grid[1][0] = 9.0
    return row[0], row[1], len(row), sum(row), grid


def changed_through_the_row(x):
    grid = [[1.0, 2.0], [3.0, 4.0]]
    row = grid[int(x[1]) % 2]
    row[0] = 7.0
    return row[0], grid


def under_three_names(x):
    grid = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    first, row = grid[0], grid[int(x[2]) % 3]
    other = {"row": row}
    other["row"][2] = 5
    first[1] += row[2]
    return grid, first[:], row[:], row is grid[0], row is grid[2]


def longest_common_subsequence(x):
    a, b = x.astype(int) % 3, (x[::-1] * 2).astype(int) % 3
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                table[i][j] = table[i - 1][j - 1] + 1
            else:
                table[i][j] = max(table[i - 1][j], table[i][j - 1])
    return table[len(a)][len(b)], table


def more_rows_than_ways(x):
    table = [[0, 0, 0] for _ in range(50)]
    for i in range(1000):
        table[(i * int(x[3])) % 50][i % 3] += i
    return table


def rows_swapped(x):
    m = [[x[0], x[1]], [x[2], x[3]], [x[4], x[5]]]
    p = int(x[0]) % 3
    m[0], m[p] = m[p], m[0]
    m[1][0] = 100 * x[1]
    m[2][1] -= m[0][0]
    return m


def solved_by_elimination(x):
    n = 5
    a = [[float((i * 3 + j * 5) % 7) + (i == j) for j in range(n)] + [float(x[i])] for i in range(n)]
    for c in range(n):
        p = c
        for r in range(c + 1, n):
            if abs(a[r][c]) > abs(a[p][c]):
                p = r
        a[c], a[p] = a[p], a[c]
        for r in range(c + 1, n):
            f = a[r][c] / a[c][c]
            for k in range(c, n + 1):
                a[r][k] -= f * a[c][k]
    found = [0.0] * n
    for c in range(n - 1, -1, -1):
        found[c] = (a[c][n] - sum(a[c][k] * found[k] for k in range(c + 1, n))) / a[c][c]
    return found


def neighbours(x):
    near = [[] for _ in range(10)]
    for i in range(30):
        a, b = (i * int(x[1] + 3)) % 10, (i * i) % 10
        near[a].append(b)
        near[b].append(a)
    seen, stack, order = [False] * 10, [0], []
    while stack:
        v = stack.pop()
        if seen[v]:
            continue
        seen[v] = True
        order.append(v)
        for w in near[v]:
            if not seen[w]:
                stack.append(w)
    return order, near


def seen_while_it_grows(x):
    rows = [[1], [2], [3]]
    k = int(x[1]) % 3
    for v in rows[k]:
        if v < 20:
            rows[(k + v) % 3].append(v * 2)
    return rows


def one_list_or_the_other(x):
    low, high = [0.0, 1.0], [2.0, 3.0]
    chosen = low if x[1] > 0.5 else high
    chosen[0] = 9.0
    return low, high, chosen[:]


def kept_by_another_name(x):
    best, path = [], [0]
    for i in range(len(x)):
        path.append(i)
        if x[i] > 2:
            best = path
    path.append(-1)
    return best, path


def in_buckets(x):
    found = [[], [], []]
    for value in x:
        chosen = found[int(value) % 3]
        chosen.append(value)
    return found


def rows_exchanged_in_a_loop(x):
    a, b = [1, 2, 3], [4, 5, 6]
    pair = [a, b]
    for i in range(300):
        if x[i % 6] > 2:
            pair[0], pair[1] = pair[1], pair[0]
        pair[0][i % 3] += 1
    return pair, a[:], b[:]


def the_same_row_twice(x):
    rows = [[1, 2, 3]] * 2 + [[4, 5, 6]]
    rows[int(x[1]) % 3][1] = 7
    rows[int(x[2]) % 3].append(8)
    return rows


def shared_by_two_lists(x):
    a = [0.0, 1.0]
    one, other = [a, [2.0, 3.0]], [[4.0, 5.0], a]
    one[int(x[1]) % 2][0] = 6.0
    return one, other[0], a[0], a[1]


def of_the_caller(x, rows):
    k = int(x[1]) % 3
    rows[k][0] = rows[k - 1][1] + 1
    rows[k].append(3)
    return rows[k][-1]


def of_the_caller_reversed(x, rows):
    rows[int(x[1]) % 3][0] = 9
    rows.reverse()
    rows[0][1] = 5
    return len(rows)


def three_deep(x):
    t = [[[0, 0] for _ in range(3)] for _ in range(4)]
    for i in range(100):
        t[i % 4][int(x[i % 6]) % 3][i % 2] += i
    return t


def in_functions(x):
    def pick(rows, k):
        return rows[k]

    def change(row, value):
        row[0] = value
        row += [value]

    rows = [[1, 2], [3, 4], [5, 6]]
    for i in range(6):
        change(pick(rows, int(x[i]) % 3), i)
    return rows, [row[0] for row in rows]


def copies_are_copies(x):
    rows = [[1, 2], [3, 4]]
    k = int(x[1]) % 2
    kept, part, whole = list(rows[k]), rows[k][:1], [row[:] for row in rows]
    rows[k][0] = 9
    whole[k][1] = 8
    return kept, part, whole, rows


def sorted_within_a_loop(x):
    rows = [[4 - i, i] for i in range(5)]
    for i in range(20):
        rows.sort(key=lambda row: row[0])
        rows[i % 3][0] += int(x[2])
    return rows


def slices_and_methods(x):
    rows = [[3, 1, 2], [6, 5, 4], [9, 7, 8]]
    k = int(x[1]) % 3
    rows[k][:] = [7, 8, 9]
    rows[k - 1].sort()
    rows[k - 2].reverse()
    a, *b = rows[k - 1]
    rows[k - 1].insert(0, a)
    return rows, a, b, rows[k].pop(), rows[k].index(8)


PROGRAMS = [
    read_behind_a_change, changed_through_the_row, under_three_names, longest_common_subsequence, more_rows_than_ways,
    rows_swapped, solved_by_elimination, neighbours, seen_while_it_grows, one_list_or_the_other, kept_by_another_name,
    in_buckets, rows_exchanged_in_a_loop, the_same_row_twice, shared_by_two_lists, three_deep, in_functions, copies_are_copies,
    sorted_within_a_loop, slices_and_methods,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
def test_lists_within_lists(function):
    jitted = check(function, X)
    check(jitted, X + 1)
    check(jitted, X - 1)


@pytest.mark.parametrize("function", [of_the_caller, of_the_caller_reversed])
def test_rows_of_the_caller_are_changed(function):
    jitted = check(function, X, [[1, 2], [3, 4], [5, 6]])
    check(jitted, X + 1, [[1, 2], [3, 4], [5, 6]])


def test_a_copy_is_not_read_behind_a_change():
    def read_again(x):
        rows = [[0.0, x[0]] for _ in range(40)]
        row = rows[int(x[1])]
        rows[1][0] = x[:2]
        return row[0]

    with pytest.raises(TracerError, match="changed in place since"):
        jit(read_again)(X)


def test_compiling_takes_as_long_for_any_number_of_rows():
    def table(x, count):
        rows = [[0] * 8 for _ in range(count)]
        for i in range(1, count):
            for j in range(1, 8):
                rows[i][j] = rows[i - 1][j - 1] + int(x[j % 6])
        return rows[count - 1]

    lengths = [len(jit(table, static_argnames=("count",)).lower(X, count).as_text()) for count in (40, 80)]
    assert lengths[1] - lengths[0] < 40 * 500  # what puts the rows into the table


def growing(ends, count):
    adjacent = [[] for _ in range(count)]
    for a, b in ends:
        adjacent[a].append(b)
    return adjacent


def begun_unlike(ends, count):
    adjacent = [[k] * (k % 3) for k in range(count)]
    for a, b in ends:
        adjacent[a].append(b)
    return adjacent


def pairs_and_names(ends, count):
    adjacent = [[(k, "first", None if k % 2 else 2.5)] for k in range(count)]
    for a, b in ends:
        if a < b:
            adjacent[a].append((b, "later", a / 2))
    return adjacent


def shared_between_two(ends, count):
    first = [[k, k + 1] for k in range(count)]
    second = first[::-1]
    for a, b in ends:
        first[a].append(b)
        second[b][0] -= 1
    return first, [first[k] is second[count - 1 - k] for k in range(2)]


def of_computed_elements(ends, count):
    rows = [[ends[0, 0] + k] * (k % 4 + 1) for k in range(count)]
    for a, b in ends:
        rows[a][0] += rows[b][-1]
    return rows


def of_arrays(ends, count):
    rows = [[np.arange(3) * k] for k in range(count)]
    for a, b in ends:
        rows[a].append(rows[b][0] + 1)
    return [row[-1] for row in rows]


ROWS_MADE = [growing, begun_unlike, pairs_and_names, shared_between_two, of_computed_elements, of_arrays]


@pytest.mark.parametrize("function", ROWS_MADE)
def test_rows_are_filled_as_lists_are(function):
    for seed, count in ((0, 5), (1, 12)):
        check(function, np.random.default_rng(seed).integers(0, count, (20, 2)), count)


@pytest.mark.parametrize("function", [growing, begun_unlike, pairs_and_names])
def test_rows_are_filled_by_as_many_operations_for_any_number(function):
    ends = np.zeros((20, 2), int)
    lowered = [jit(function, static_argnames=("count",)).lower(ends, count) for count in (40, 80)]
    lengths = [len(one.module.entry.instructions) for one in lowered]
    assert lengths[1] - lengths[0] <= 40  # the position of each that is returned


def test_rows_of_which_some_are_made_in_a_round_that_is_not_captured():
    def program(x, tolerance):
        table = [[x]]
        for i in range(1, 20):
            total = sum(x * k for k in range(1, 2 ** (i - 1) + 1))
            row = [0.5 * table[i - 1][0] + total]
            for j in range(1, i + 1):
                row.append(row[j - 1] + (row[j - 1] - table[i - 1][j - 1]))
            table.append(row)
            if abs(table[i][i] - table[i - 1][i - 1]) > tolerance:
                return i, row
        return None

    check(program, 1.0, 100.0)


# --- statements in all orders: what runs does what Python does ---

SETUPS = [
    "g = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0], [0.0, 0.5, 1.5]]",
    "g = [[1, 2, 3]] * 2 + [[4, 5, 6], [7, 8, 9]]",
    "g = [[1], [2, 3], [], [4, 5, 6]]",
    "g = [[1, 2.5, 'a'], [2, 3.5, 'b'], [3, 4.5, 'a'], [0, 0.5, 'c']]",
]
STATEMENTS = [
    "r = g[k]", "r[0] = 9",
    "g[k][0] += 1", "g[0], g[k] = g[k], g[0]", "g[k] = r", "g[2] = r", "r.append(4)",
    "g[k].pop()", "r += [5]", "for v in g[k]: r[0] = v", "h[k % 2][0] = 2", "if x[2] > 2: r = g[0]",
    "if x[2] > 2: g[0], g[1] = g[1], g[0]", "r = g[0] if x[2] > 2 else g[1]", "g[k] = [7, 7, 7]",
    "d['r'] = g[k]; d['r'][0] = 6",
    "r[:] = [1, 2, 3]", "g.reverse()", "out.append(r is g[0])", "del r[0]",
]  # fmt: skip
HEADS = ["if True", "for i in range(n)", "if x[2] > 2"]


def _function(tmp_path, setup, statements, head, name):
    block = "\n".join("        " + statement for statement in statements)
    source = (
        f"def f(x, n):\n    k = int(x[1]) % 4; out = []; d = {{}}\n    {setup}\n    r = g[1]; h = [g[0], g[1]]\n    {head}:\n"
        f"{block}\n        k = (k + 1) % 4\n    return r[:], [row[:] for row in g], [row[:] for row in h], out\n"
    )
    (tmp_path / f"{name}.py").write_text(source)
    specification = importlib.util.spec_from_file_location(name, tmp_path / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.f


def _outcome(function, x, n):
    try:
        return function(x, n)
    except (IndexError, TypeError) as error:
        if isinstance(error, TracerError):
            raise
        return type(error)


@pytest.mark.parametrize("number", one_in(2, range(len(STATEMENTS))))
def test_orders_of_statements(tmp_path, number):
    ran = 0
    for place in range(3):
        others = [STATEMENTS[(number * (place + 2) + 3 * place + 1) % len(STATEMENTS)], STATEMENTS[(number + 7 * place) % 20]]
        setup, head = SETUPS[(number + place) % len(SETUPS)], HEADS[(number // 4 + place) % len(HEADS)]
        function = _function(tmp_path, setup, [STATEMENTS[number], *others], head, f"rows_{number}_{place}")
        jitted = jit(function)
        for x, n in ((X, 3), (X - 1, 20), (X + 1, 4)):
            expected = _outcome(function, copy.deepcopy(x), n)
            try:
                found = _outcome(jitted, copy.deepcopy(x), n)
            except (NotImplementedError, TracerError, ConcretizationError):
                continue
            assert found == expected
            ran += 1
    assert ran or STATEMENTS[number] in ("g[k] = r", "g[k] = [7, 7, 7]")
