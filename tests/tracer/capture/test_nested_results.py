"""Lists in lists, and what else a program puts into lists, come back as Python makes them: values, types, identity."""

import dataclasses
import gc
import sys
import threading
import tracemalloc
from collections import OrderedDict, defaultdict, deque, namedtuple

import numpy as np
import pytest
from phlox import jit
from thinning import one_in

from ...support.native_calls import natively

Pair = namedtuple("Pair", "first second")


@dataclasses.dataclass
class Point:
    x: float
    names: list


class Thing:
    def __init__(self, number, items):
        self.number, self.items = number, items


def empty_rows(x):
    out = []
    for v in x:
        row = []
        if v > 5:
            row.append(int(v))
        out.append(row)
    return out, [len(row) for row in out]


def rows_of_other_lengths(x):
    out = []
    for i in range(len(x)):
        row = []
        for j in range(i % 4):
            row.append(int(x[j]) * j)
        out.append(row)
    return out


def rows_with_none(x):
    out, row = [], []
    for v in x:
        row.append(None if v == 2 else int(v))
        if v > 6:
            out.append(row)
            row = []
    return out, row


def rows_of_several_types(x):
    out, row = [], []
    for v in x:
        row.append(int(v) if v < 3 else float(v) / 2 if v < 6 else v > 7)
        if v == 4:
            out.append(row)
            row = []
    return out, row


def rows_of_texts(x):
    out, row = [], []
    for v in x:
        row.append("low" if v < 3 else "middle" if v < 6 else "high")
        if v == 4:
            out.append(row)
            row = []
    return out, row


def rows_of_truths(x):
    out, row = [], []
    for v in x:
        row.append(v > 3)
        if v == 5:
            out.append(row)
            row = []
    return out, row


def row_beside_a_number_of_several_types(x):
    out, row = [], []
    for v in x:
        row.append(int(v))
        if v > 4:
            out.append((row, int(v) if v > 6 else float(v), "a" if v > 7 else None))
            row = []
    return out, row


def pairs_of_rows(x):
    out, first, second = [], [], []
    for v in x:
        first.append(int(v))
        second.append((float(v), int(v) % 2 == 0))
        if v == 4:
            out.append((first, second))
            first, second = [], []
    return out


def rows_as_tuples(x):
    out, row = [], []
    for v in x:
        row.append(int(v))
        if v == 4:
            out.append(tuple(row))
            row = []
    return out


def one_row_at_two_places(x):
    out, row = [], []
    for v in x:
        row.append(int(v))
        if v > 7:
            out.append(row)
            out.append(row)
            row = []
    return out, out[0], [out[int(x[0]) % 3], row]


def the_longest_row(x):
    runs = []
    for v in x // 3:
        if runs and runs[-1][0] == v:
            runs[-1][1] += 1
        else:
            runs.append([int(v), 1])
    return runs, max(runs, key=lambda run: run[1])


def a_row_or_none(x):
    rows = [[0, 0] for _ in range(5)]
    for v in x:
        rows[v % 5][0] += 1
    best = None
    if x[0] > 4:
        best = rows[int(x[1]) % 5]
    return rows, best


def rows_within_elements(x):
    out, row = [], []
    for v in x:
        row.append(int(v))
        if v > 4:
            out.append([row, [row, 1]])
            row = []
    return out


def lists_by_key(x):
    found = {}
    for i, v in enumerate(x):
        found.setdefault(int(v), []).append(i)
    return found, found[int(x[0])], [found[int(v)] for v in x[:3]]


def lists_by_default(x):
    found = defaultdict(list)
    for i, v in enumerate(x):
        found[int(v) % 3].append(float(i))
    return found


def matrix_with_infinity(x):
    found = [[0] * 5 for _ in range(5)]
    for i in range(5):
        for j in range(5):
            found[i][j] = int(x[i]) + j if x[j] > 4 else float("inf")
    return found, found[int(x[0]) % 5]


def dicts(x):
    out = []
    for i, v in enumerate(x):
        if v > 2:
            out.append({"i": i, "v": int(v), "name": "a" if v > 5 else "b", "pair": (float(v), [int(v), i])})
    return out


def dicts_of_other_keys(x):
    out, found = [], {}
    for v in x[:12]:
        found[int(v)] = float(v)
        if v == 5:
            out.append(found)
            found = {}
    return out, found


def sets(x):
    out, found = [], set()
    for v in x[:12]:
        found.add(int(v))
        if v == 4:
            out.append(found)
            found = set()
    return out, found


def containers_of_containers(x):
    out = []
    for v in x:
        out.append([[int(v)], [int(v), [float(v), (int(v), "t")]], {"k": [v]}, Pair(v, OrderedDict(a=int(v))), deque([v, 1])])
    return out


def objects(x):
    out = []
    for i, v in enumerate(x):
        if v > 4:
            out.append((Point(float(v), [int(v)]), Thing(i, (int(v), "x" if v > 6 else None))))
    return out


def arrays(x):
    out = []
    for v in x:
        if v > 4:
            out.append((int(v), np.array([v, v * 2, v * 3]), np.array(v)))
    return out


def small_types(x):
    out = []
    for v in x.astype(np.float32):
        out.append(v if v < 3 else int(v) if v < 6 else np.int8(7))
    return out


def complex_types(x):
    out = []
    for v in x:
        out.append(complex(v, 1) if v < 3 else np.complex64(v) if v < 6 else 1)
    return out


def the_last_ones(x):
    last = deque(maxlen=4)
    for v in x:
        last.append([int(v), None if v < 3 else "z"])
    return last, list(last)


def nothing(x):
    out = []
    for v in x:
        if v > 100:
            out.append([int(v)])
    return out, [out]


PROGRAMS = (
    empty_rows, rows_of_other_lengths, rows_with_none, rows_of_several_types, rows_of_texts, rows_of_truths,
    row_beside_a_number_of_several_types, pairs_of_rows, rows_as_tuples, one_row_at_two_places, the_longest_row,
    a_row_or_none, rows_within_elements, lists_by_key, lists_by_default, matrix_with_infinity, dicts, dicts_of_other_keys, sets,
    containers_of_containers, objects, arrays, small_types, complex_types, the_last_ones, nothing,
)  # fmt: skip
ARGUMENTS = (*[np.random.default_rng(seed).integers(0, 10, 60) for seed in range(3)], np.zeros(60, int))


def described(value, numbers):
    """A value as one of plain tuples that says of containers, in the order in which they are found, which ones are the same."""
    if isinstance(value, np.ndarray):
        return ("array", str(value.dtype), value.shape, value.tolist())
    if isinstance(value, (set, frozenset)):
        return (type(value), sorted(value))
    if isinstance(value, (list, deque, dict, Point, Thing)):
        if id(value) in numbers:
            return ("again", numbers[id(value)])
        numbers[id(value)] = len(numbers)
    if isinstance(value, (list, tuple, deque)):
        return (type(value), getattr(value, "maxlen", None), *[described(part, numbers) for part in value])
    if isinstance(value, (dict, Point, Thing)):
        items = (value if isinstance(value, dict) else vars(value)).items()
        return (type(value), *[(described(key, numbers), described(part, numbers)) for key, part in items])
    return (type(value), repr(value))


def outcome(function, x):
    try:
        return described(function(x), {})
    except IndexError as error:
        return type(error)


@pytest.mark.parametrize("program", one_in(3, PROGRAMS))
def test_nested_results(program):
    jitted = jit(program)
    for x in (*ARGUMENTS, ARGUMENTS[0]):
        assert outcome(jitted, x) == outcome(program, x)
    with natively():
        assert described(jitted(ARGUMENTS[0]), {}) == described(program(ARGUMENTS[0]), {})


@pytest.mark.parametrize("program", [the_longest_row, a_row_or_none, rows_within_elements, matrix_with_infinity])
def test_nested_results_that_python_makes(program):
    jitted = jit(program, backend="reference")
    for x in (ARGUMENTS[0][:12], ARGUMENTS[1][:12]):
        assert outcome(jitted, x) == outcome(program, x)


@pytest.mark.parametrize("program", [rows_with_none, rows_of_several_types, one_row_at_two_places, lists_by_key, dicts, arrays])
def test_nothing_is_left_behind(program):
    jitted, x = jit(program), ARGUMENTS[0]

    def counts():
        gc.collect()
        return [sys.getrefcount(one) for one in (None, True, "b", x.dtype, list, tuple, dict)]

    for _ in range(600):
        jitted(x)
    before = counts()
    tracemalloc.start()
    try:
        jitted(x)
        gc.collect()
        start, _ = tracemalloc.get_traced_memory()
        for _ in range(1000):
            jitted(x)
        after = counts()
        end, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert end - start < 10_000, "1000 calls that leave one small object each would leave more"
    assert all(abs(one - other) < 50 for one, other in zip(after, before)), (before, after)


def test_threads_that_call_at_once():
    jitted = jit(one_row_at_two_places)
    expected = [described(one_row_at_two_places(x), {}) for x in ARGUMENTS[:3]]
    jitted(ARGUMENTS[0])
    wrong = []

    def call(number):
        for _ in range(200):
            if described(jitted(ARGUMENTS[number]), {}) != expected[number]:
                wrong.append(number)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_collector_may_run_while_lists_are_made():
    jitted, x = jit(rows_with_none), ARGUMENTS[0]
    expected = described(rows_with_none(x), {})
    jitted(x)
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for _ in range(50):
            assert described(jitted(x), {}) == expected
    finally:
        gc.set_threshold(*before)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_lists_that_are_printed_on_the_way(backend, capsys):
    def printed(x):
        rows, empty = [[] for _ in range(4)], [[] for _ in range(4)]
        for v in x:
            rows[v % 4].append(int(v))
            print(rows[v % 4], rows, empty[v % 4])
        return rows[x[0] % 4], [rows[x[0] % 4]], empty[x[1] % 4]

    x = ARGUMENTS[0][:12]
    expected, text = described(printed(x), {}), capsys.readouterr().out
    assert described(jit(printed, backend=backend)(x), {}) == expected
    assert capsys.readouterr().out == text


class _Named(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


class _Itself(dict):
    def __init__(self, **items):
        super().__init__(**items)
        self.__dict__ = self


class _Ordered(OrderedDict):
    def last(self):
        return next(reversed(self.values()))


@pytest.mark.parametrize("kind", [_Named, _Itself, _Ordered])
def test_dicts_of_classes_of_their_own(kind):
    def program(x):
        found = kind(fun=x[0], count=1)
        found["rows"] = [x, kind(a=x[1])]
        if x[0] > 0:
            found["fun"] = x[1]
        return found, [kind()]

    for x in (np.array([1.0, 2.0]), np.array([-1.0, 2.0])):
        (found, (empty,)), (expected, _) = jit(program)(x), program(x)
        assert type(found) is type(found["rows"][1]) is type(empty) is kind
        assert repr(found) == repr(expected) and (kind is _Ordered or found.fun == expected.fun)
