"""Functions that call themselves with lists of any length, and return lists: as loops that are as long for any of these."""

import random

import numpy as np
import phlox
import pytest
from phlox import jit
from thinning import one_in
from undecorated import check


def floats(count, seed):
    generator = random.Random(seed)
    return [generator.random() for _ in range(count)]


def merge_sort(a):
    if len(a) <= 1:
        return a
    middle = len(a) // 2
    left = merge_sort(a[:middle])
    right = merge_sort(a[middle:])
    merged = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
    merged += left[i:]
    merged.extend(right[j:])
    return merged


def quicksort(a):
    if len(a) <= 1:
        return a
    pivot = a[0]
    return quicksort([v for v in a[1:] if v < pivot]) + [pivot] + quicksort([v for v in a[1:] if v >= pivot])


def inversions(a):
    if len(a) <= 1:
        return a, 0
    left, first = inversions(a[: len(a) // 2])
    right, second = inversions(a[len(a) // 2 :])
    merged, count, i, j = [], first + second, 0, 0
    while i < len(left) or j < len(right):
        if j == len(right) or (i < len(left) and left[i] <= right[j]):
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
            count += len(left) - i
    return merged, count


def turned(a):
    if not a:
        return []
    return turned(a[1:]) + [a[0]]


def closest(a):
    def nearest(points):
        if len(points) <= 3:
            return min([abs(p[0] - q[0]) + abs(p[1] - q[1]) for k, p in enumerate(points) for q in points[:k]], default=9.0)
        middle = len(points) // 2
        return min(nearest(points[:middle]), nearest(points[middle:]))

    return nearest(sorted(zip(a, a[::-1])))


def product(a):
    """The coefficients of the square of a polynomial, as Karatsuba's method finds them."""

    def times(p, q):
        if len(p) == 1:
            return [p[0] * q[0]]
        m = len(p) // 2
        low, high = times(p[:m], q[:m]), times(p[m:], q[m:])
        middle = times([v + w for v, w in zip(p[:m], p[m:])], [v + w for v, w in zip(q[:m], q[m:])])
        found = [0.0] * (2 * len(p) - 1)
        for i in range(len(low)):
            found[i] += low[i]
            found[i + m] += middle[i] - low[i] - high[i]
            found[i + 2 * m] += high[i]
        return found

    return times(a[:16], a[:16])


@pytest.mark.parametrize("program", one_in(3, [quicksort, merge_sort, inversions, turned, product, closest]))
def test_lists_are_divided_as_undecorated(program):
    jitted = check(program, floats(50, 1))
    check(jitted, floats(50, 2))
    check(jitted, floats(50, 1)[::-1])
    check(jitted, floats(20, 3))


def test_a_program_is_as_long_for_longer_lists():
    lengths = [len(jit(merge_sort).lower(floats(count, 1)).as_text().splitlines()) for count in (48, 120)]
    assert lengths[1] < lengths[0] * 1.01


def test_a_list_or_none_is_returned():
    def route(x, target):
        def go(k, path):
            if k == target:
                return path
            if k > target:
                return None
            found = go(2 * k, path + [k])
            if found is not None:
                return found
            return go(2 * k + 1, path + [k])

        return go(int(x), [])

    jitted = check(route, np.array(1), 13)
    for target in (22, 6, 1, 64):
        check(jitted, np.array(1), target)
    check(jitted, np.array(3), 4)


def exchanged(x):
    def go(a, b, k):
        if k <= 0:
            return 0
        a.append(k)
        return go(b, a, k - 1) + len(a) * 100 + len(b)

    return go([1], [2, 3], int(x))


def given_back(x):
    def go(a, k):
        if k <= 0:
            a.append(5)
            return a
        first = go(list(a), k - 1)
        first.append(k)
        second = go(a, k - 2)
        second[0] += k
        return first

    outer = [1]
    return go(outer, int(x)), outer


def the_same_one(x):
    def go(a, k):
        if k <= 0:
            return a
        return go(a + [k], k - 1) if k % 2 else go(a, k - 1)

    outer = [0]
    found = go(outer, int(x))
    found.append(9)
    return outer, found


def gone_on_with(x):
    def go(path, k):
        path = path if k % 2 else path + [k]
        if k > 0:
            go(path, k - 1)
            path.append(k)
            go(path, k - 2)
        return len(path)

    return go([7], int(x))


@pytest.mark.parametrize("program", [exchanged, given_back, the_same_one, gone_on_with])
def test_a_list_that_others_have_is_changed_for_all(program):
    jitted = jit(program)
    for x in (5, 0, 4):
        try:
            found = jitted(np.array(x))
        except phlox.TracerError:
            continue
        assert found == program(np.array(x))


def test_whether_a_tuple_is_another_one_is_not_told_by_what_is_read_from_a_list():
    def pairs(x):
        points = [(float(v), 1.0) for v in x if v > 0]
        return sum([1 for p in points for q in points if p is not q])

    with pytest.raises(phlox.TracerError, match="a tuple is another one"):
        jit(pairs)(np.array([1.0, -2.0, 3.0]))


def test_views_that_a_recursion_changes_are_refused():
    def sort(values):
        values = values.copy()

        def go(part):
            if len(part) <= 1:
                return
            i = 0
            for j in range(len(part) - 1):
                if part[j] < part[len(part) - 1]:
                    held = part[i]
                    part[i] = part[j]
                    part[j] = held
                    i += 1
            held = part[i]
            part[i] = part[len(part) - 1]
            part[len(part) - 1] = held
            go(part[:i])
            go(part[i + 1 :])

        go(values)
        return values

    with pytest.raises(phlox.ConcretizationError, match="calls itself"):
        jit(sort)(np.array(floats(8, 1)))


def test_a_function_without_parameters_calls_itself():
    def filled(board):
        def solve():
            for k in range(len(board)):
                if board[k] == 0:
                    for value in range(1, 5):
                        if all([board[i] != value for i in range(max(0, k - 2), min(len(board), k + 3))]):
                            board[k] = value
                            if solve():
                                return True
                            board[k] = 0
                    return False
            return True

        return solve(), board

    jitted = check(filled, [0, 3, 0, 0, 1, 0, 0])
    check(jitted, [2, 0, 0, 4, 0, 0, 1])
    check(jitted, [1, 1, 0, 0, 0, 0, 0])


def test_a_tree_of_tuples_is_built_call_by_call():
    def heights(values):
        def build(part):
            if not part:
                return None
            middle = len(part) // 2
            return part[middle], build(part[:middle]), build(part[middle + 1 :])

        def deepest(node):
            return 0.0 if node is None else node[0] + max(deepest(node[1]), deepest(node[2]))

        return deepest(build(values))

    check(heights, floats(22, 1), backend="reference")


def test_arrays_that_are_halved_are_no_loop():
    def times(a, b):
        n = len(a) // 2
        if n < 4:
            return a @ b
        p, q = times(a[:n, :n] + a[n:, n:], b[:n, :n] + b[n:, n:]), times(a[n:, :n] + a[n:, n:], b[:n, :n])
        r, s = times(a[:n, :n], b[:n, n:] - b[n:, n:]), times(a[n:, n:], b[n:, :n] - b[:n, :n])
        t, u = times(a[:n, :n] + a[:n, n:], b[n:, n:]), times(a[n:, :n] - a[:n, :n], b[:n, :n] + b[:n, n:])
        v = times(a[:n, n:] - a[n:, n:], b[n:, :n] + b[n:, n:])
        return np.block([[p + s - t + v, r + t], [q + s, p - q + r + u]])

    a = np.random.default_rng(1).integers(-5, 5, (32, 32)).astype(float)
    assert "while(" not in jit(times).lower(a, a).as_text()
