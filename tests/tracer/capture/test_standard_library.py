"""heapq, bisect, itertools and functools on what the program computes: results, types, order and exceptions of Python."""

import bisect
import functools
import heapq
import itertools
import operator
from collections import Counter, deque

import numpy as np
import pytest
from phlox import jit
from thinning import left_to_ci, one_in

from .test_keys import check

CALLS = [(np.array(values),) for values in ([3.0, 1.5, 3.0, 2.5, 1.0, 3.5, 7.0, 0.5], np.arange(8.0), [5.0] * 8)]
PROGRAMS = []


def program(function):
    PROGRAMS.append(function)
    return function


# --- heapq ---


@program
def heap_sort(x):
    heap = []
    for value in x:
        heapq.heappush(heap, value)
    return [heapq.heappop(heap) for _ in range(len(heap))], heap


@program
def greatest_of_a_stream(x):
    heap = []
    for place, value in enumerate(x):
        if len(heap) < 3:
            heapq.heappush(heap, (value, place))
        elif value > heap[0][0]:
            heapq.heapreplace(heap, (value, place))
        least = heapq.heappushpop(heap, (value + 1, -place))
    return heap, sorted(heap, reverse=True), least


@program
def heap_of_known_length(x):
    heap = list(x)
    heapq.heapify(heap)
    least = heapq.heappop(heap)
    return least, heap, heapq.heappushpop(heap, x[2]), heap[0], heapq.heapreplace(heap, x[0]), heap


@program
def events(x):
    queue, log = [(x[0], 0, "arrives")], []
    while queue and len(log) < 12:
        time, number, kind = heapq.heappop(queue)
        log.append((time, number))
        if kind == "arrives":
            heapq.heappush(queue, (time + x[number], number, "leaves"))
            if number < 7:
                heapq.heappush(queue, (time + 0.5 * x[number + 1], number + 1, "arrives"))
    return log, len(queue)


@program
def merged_in_a_heap(x):
    """Of equal elements the order tells how they moved."""
    heap = [(value % 2, place) for place, value in enumerate(x)]
    heapq.heapify(heap)
    for _ in range(3):
        heapq.heappush(heap, heapq.heappop(heap))
    return heap


@program
def smallest_and_largest(x):
    some = [value for value in x if value > 1]
    return (
        heapq.nsmallest(3, x),
        heapq.nlargest(2, some),
        heapq.nsmallest(2, some, key=lambda value: -value),
        heapq.nlargest(20, some),
        heapq.nsmallest(0, x),
    )


@program
def texts_by_their_numbers(x):
    """Zips and views of dicts are gone over, and methods of dicts are keys."""
    totals = dict(zip("abcd", x))
    counted = Counter(totals)
    return (
        heapq.nlargest(2, totals, key=totals.get),
        heapq.nsmallest(2, totals.items(), key=operator.itemgetter(1)),
        heapq.nlargest(2, zip(x, "abcd")),
        counted.most_common(2),
        counted.most_common(),
        counted.most_common(-1),
        functools.reduce(max, totals.values()),
        [(key, len(list(group))) for key, group in itertools.groupby(zip(x > 1, x > 2))],
        [(key, list(group)) for key, group in itertools.groupby("abab", key=totals.get)],
    )


@program
def nothing_left(x):
    heap = []
    for value in x:
        if value > 1:
            heapq.heappush(heap, value)
    taken = 0.0
    for _ in range(8):
        taken += heapq.heappop(heap)
    return taken


# --- bisect ---


@program
def places(x):
    ordered, limits = sorted(x.tolist()), [1, 2.5, 3]
    return (
        bisect.bisect(ordered, x[2]),
        bisect.bisect_left(ordered, x[2]),
        [bisect.bisect(limits, value) for value in x],
        bisect.bisect_right(np.sort(x), 3.0, 1, 6),
        bisect.bisect_left([-v for v in limits], -x[3], key=lambda v: v),
    )


@program
def kept_in_order(x):
    window, medians = [], []
    for place, value in enumerate(x):
        bisect.insort(window, value)
        if place >= 3:
            del window[bisect.bisect_left(window, x[place - 3])]
        medians.append(window[len(window) // 2])
    return medians, window


@program
def records_in_order(x):
    records = []
    for place, value in enumerate(x):
        if value != 1:
            bisect.insort_left(records, (place, value), key=lambda record: record[1])
    return records


# --- itertools and functools ---


@program
def running(x):
    some = [value for value in x if value > 1]
    return (
        list(itertools.accumulate(x)),
        list(itertools.accumulate(some, max)),
        list(itertools.accumulate(some, initial=x[1])),
        list(itertools.accumulate((value * 2 for value in x if value < 3), lambda a, b: a * 0.5 + b)),
    )


@program
def left_early(x):
    count = 0
    for total in itertools.accumulate(x):
        if total > 8:
            break
        count += 1
    return count, total


@program
def reduced(x):
    some = [value for value in x if value > 1]
    return (
        functools.reduce(lambda a, b: a * 0.9 + b, x),
        functools.reduce(max, some, 0.5),
        functools.reduce(operator.mul, some, 1.0),
        functools.reduce(lambda a, b: a - b, (value for value in some)),
        functools.reduce(lambda a, b: a + b, [1, 2], x[0]),
    )


@program
def reduced_from_nothing(x):
    return functools.reduce(lambda a, b: a + b, [value for value in x if value > 4])


@program
def neighbours(x):
    some = [value for value in x if value > 1]
    rises = 0
    for before, value in itertools.pairwise(x):
        if value > before:
            rises += 1
    return rises, [b - a for a, b in itertools.pairwise(some)], list(itertools.pairwise(v for v in x if v < 4))


@program
def products_of_numbers(x):
    total, counts, last = 0.0, [0] * 3, None
    for i, j, k in itertools.product((-1, 0, 1), [2, 5, 7, 9], range(-1, 2)):
        if (i, k) != (0, 0):
            total += x[j % 8] * i - k
            counts[i + 1] += j
            last = i, j, k
    return total, counts, last, [a * x[0] for a, _ in itertools.product([0.5, 1.5, 2.5, 3.5], ((1, 2),) * 12)]


@program
def combined(x):
    some = [value for value in x if value > 2]
    best, closest = np.inf, None
    for i, j in itertools.combinations(range(8), 2):
        if abs(x[i] - x[j]) < best:
            best, closest = abs(x[i] - x[j]), (i, j)
    return (
        best,
        closest,
        [a * b for a, b in itertools.combinations(some, 2)],
        sum(a * b - c for a, b, c in itertools.combinations(x, 3)),
        [a - b for a, b in itertools.product(some, some[:2])],
        len(list(itertools.product(some, repeat=3))),
        [list(pair) for pair in itertools.combinations(x[:3], 1)],
    )


@program
def grid(x):
    table = np.zeros((6, 7))
    for i, j in itertools.product(range(6), range(7)):
        table[i, j] = x[i] * x[j] if i != j else -1
    return table


@program
def parts(x):
    some, others = [value for value in x if value > 2], [value for value in x if value <= 2]
    total = 0.0
    for value in itertools.chain(some, others, (1.0, x[0])):
        total = 0.5 * total + value
    return (
        total,
        list(itertools.islice(some, 2)),
        list(itertools.islice(x, 1, None, 3)),
        list(itertools.islice(some, 1, 3)),
        list(itertools.chain.from_iterable([some, others])),
        list(itertools.islice((v for v in x if v > 1), 1, 4, 2)),
    )


@program
def chosen(x):
    return (
        list(itertools.takewhile(lambda value: value < 3.2, x)),
        list(itertools.dropwhile(lambda value: value > 2, x)),
        list(itertools.filterfalse(lambda value: value > 2, x)),
        list(itertools.compress(x, x > 2)),
        list(itertools.starmap(lambda a, b: a - b, zip(x, x[1:]))),
        [i for i in itertools.takewhile(lambda i: x[i] < 3, range(8))],
    )


@program
def groups(x):
    runs = []
    for is_great, group in itertools.groupby(x, lambda value: value > 2):
        runs.append((is_great, sum(1 for _ in group)))
    return runs, [(key, len(list(group))) for key, group in itertools.groupby(np.sort(x) // 2)]


# --- deques ---


@program
def turned(x):
    queue, some = deque(x[:6]), deque()
    queue.rotate(int(x[1]) - 3)
    for value in x:
        if value > 1:
            some.append(value)
    some.rotate(2)
    for value in x:
        some.rotate(-1 if value > 2 else 3)
    empty = deque()
    empty.rotate(int(x[0]))
    return queue, some, empty


@program
def counted_out(x):
    circle, out = deque(range(8)), []
    while circle:
        circle.rotate(-int(x[len(circle) - 1]))
        out.append(circle.popleft())
    return out


@pytest.mark.parametrize("function", one_in(3, PROGRAMS))
def test_standard_library(function):
    check(function, CALLS)


@left_to_ci
def test_products_of_ranges_are_as_short_as_loops():
    def summed(x, count):
        total = 0.0
        for i, j, k in itertools.product(range(count), repeat=3):
            total += np.sin(x[i] + j) * np.exp(x[k] - j) * np.sqrt(x[j] + i) / (1.0 + i + j + k)
        return total

    x, sizes = np.linspace(0.0, 1.0, 9), []
    for count in (8, 9):
        module = jit(functools.partial(summed, count=count)).lower(x).module
        sizes.append(sum(len(computation.instructions) for computation in module.computations()))
        np.testing.assert_allclose(jit(summed)(x, count), summed(x, count), rtol=1e-12)
    assert max(sizes) < 1200


def test_deques_turn_by_any_number():
    def turned(counts):
        circle, order = deque(range(7)), []
        for count in counts:
            circle.rotate(int(count))
            order.append(circle.popleft() if len(circle) > 3 else circle[0])
        return order, list(circle)

    counts = np.array([-9, 0, 23, 2**62, -(2**62), -1, 3])
    assert jit(turned)(counts) == turned(counts)
