"""Long lists and tuples of numbers: loops over them are loops of the program, and as arguments they are arrays of it."""

import copy
import math
from collections import deque

import numpy as np
import pytest
from phlox import jit
from thinning import left_to_ci

COUNT = 40
FLOATS = [float(i * 7 % 11) + 0.5 for i in range(COUNT)]
INTEGERS = [i * 7 % 11 for i in range(COUNT)]
ROWS = [[float((i * 3 + j) % 7) for j in range(8)] for i in range(COUNT)]
TUPLES = [(float(i), i, 2.0 * i) for i in range(COUNT)]
ARRAY = np.arange(float(COUNT))
OUTSIDE = [0.5 * i for i in range(COUNT)]
POSITIONS = list(range(COUNT))


def changed_meanwhile(v, w):
    for i, x in enumerate(v):
        v[i] = x * w
    return v


def appended_meanwhile(v, w):
    for x in v:
        if len(v) < 60:
            v.append(x * w)
    return v


def popped_meanwhile(v, w):
    total = 0.0
    for x in v:
        total += x * w
        if len(v) > 30:
            v.pop()
    return total, v


def zipped_and_popped(v, w):
    total = 0.0
    for a, _ in zip(v, INTEGERS):
        total += a * w
        v.pop()
    return total, v


def zipped(v, k):
    total = 0.0
    for a, b in zip(v, k):
        total += a * b
    return total, sum(x * y for x, y in zip(v, k)), [x - y for x, y in zip(v, k)], np.dot(v, k)


def asked_for_the_next(v):
    numbered, backwards, pairs, plain = enumerate(v), reversed(v), zip(v, v), iter(v)
    first = next(numbered), next(backwards), next(pairs), next(plain)
    return first, [x for _, x in numbered][0], sum(backwards), [a for a, _ in pairs], list(plain)


def large_sums(k):
    total = 0
    for x in k:
        total += x * 10**15
    return total


def largest(k):
    found = 0
    for x in k:
        found = max(found, x)
    return found


def as_indices(k, x):
    total = 0.0
    for i in k:
        total += x[i]
    return total, [x[i] for i in k]


def as_sizes(k):
    total = 0.0
    for i in k:
        total += np.ones(i + 1).sum()
    return total


def of_tuples(t, w):
    total, count, last = 0.0, 0, None
    for a, b, c in t:
        if a > 5:
            count += b
            last = a, b
        total += c * w
    return total, count, last, [a for a, *_ in t], {b: c for _, b, c in t}


def changed_rows(m):
    for row in m:
        row[0] += 1.0
        row[-1] = row[0] * 2
    return m


def summed_rows(m):
    return [sum(row) for row in m], max(max(row) for row in m), [row[::-1] for row in m][3], sum(m, [])[:9]


def transposed(m):
    return [list(column) for column in zip(*m)], [[row[j] for row in m] for j in range(8)]


def product(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(8)) for j in range(8)] for i in range(len(a))]


def left_early(v):
    for i, x in enumerate(v):
        if x > 9:
            return i, x
    return None


def with_else(v):
    for x in v:
        if x > 100:
            break
    else:
        return "none"
    return x


def compared(v):
    best = None
    for x in v:
        if best is None or x > best:
            best = x
    return best, max(v), min(v), sorted(v)[:3], v.index(best), best in v, v.count(0.5)


def of_a_tuple(v):
    total = 0.0
    for a, b in zip(v, v[1:]):
        total += (b - a) ** 2
    return math.sqrt(total), len(v)


def of_a_dict(d):
    total = 0.0
    for key, value in d.items():
        total += key * value
    return total


def of_several_types(v):
    total = 0
    for x in v:
        total += x
    return total, v[0], v[1]


def of_truths(v):
    count = 0
    for x in v:
        if x:
            count += 1
    return count


def of_complex_numbers(v):
    total = 0
    for x in v:
        total += x * x.conjugate()
    return total


def from_outside(x):
    total = 0.0
    for g, v in zip(OUTSIDE, x):
        total += g * v
    for g in OUTSIDE:
        for k in POSITIONS:
            total += g * x[k]
    return total


def handed_on(v):
    out = []
    for x in v:
        out.append(x)
    out[0] = -1.0
    w = v
    w[1] = 3.0
    return out, v, list(v), v[2:5], v + [1.0], v * 2


PROGRAMS = [
    (changed_meanwhile, FLOATS, 2.0),
    (appended_meanwhile, FLOATS, 2.0),
    (popped_meanwhile, FLOATS, 2.0),
    (zipped_and_popped, FLOATS, 2.0),
    (zipped, FLOATS, INTEGERS),
    (asked_for_the_next, FLOATS),
    (large_sums, INTEGERS),
    (largest, [10**18] * COUNT),
    (as_indices, INTEGERS, ARRAY),
    (as_sizes, INTEGERS),
    (of_tuples, TUPLES, 1.5),
    (changed_rows, ROWS),
    (summed_rows, ROWS),
    (transposed, ROWS),
    (product, ROWS, ROWS),
    (left_early, FLOATS),
    (with_else, FLOATS),
    (compared, FLOATS),
    (of_a_tuple, tuple(FLOATS)),
    (of_a_dict, {i: float(i) for i in range(COUNT)}),
    (of_several_types, [1, 2.5] * (COUNT // 2)),
    (of_truths, [True, False] * (COUNT // 2)),
    (of_several_types, [np.float64(i) for i in range(COUNT)]),
    (of_complex_numbers, [complex(i, 1) for i in range(COUNT)]),
    (from_outside, ARRAY),
    (handed_on, FLOATS),
]


def require_same(expected, found):
    assert type(expected) is type(found)
    if isinstance(expected, (list, tuple)):
        assert len(expected) == len(found)
        for one, other in zip(expected, found):
            require_same(one, other)
    elif isinstance(expected, dict):
        require_same(list(expected.items()), list(found.items()))
    elif isinstance(expected, (float, complex)):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    else:
        assert np.array_equal(expected, found)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0].__name__)
def test_what_is_done_is_what_python_does(program):
    plain, *arguments = program
    function = jit(plain)
    for _ in range(2):
        given, taken = copy.deepcopy(arguments), copy.deepcopy(arguments)
        require_same(plain(*given), function(*taken))
        require_same(given, taken)


def summed_tuples(t):
    return sum(a * b for a, b in t), max(b for _, b in t)


LENGTHS = [left_early, with_else, of_several_types, summed_tuples]


@pytest.mark.parametrize("program", LENGTHS, ids=lambda program: program.__name__)
def test_what_is_recorded_does_not_depend_on_the_length(program):
    def count(length):
        module = jit(program).lower([(0.5, 2.5) if program is summed_tuples else 0.5] * length).module
        return sum(len(computation.instructions) for computation in module.computations())

    assert count(300) == count(900)


def test_numbers_of_one_argument_are_one_parameter_until_python_needs_one_of_them():
    @jit
    def scaled(values, factor):
        return sum(values) * factor

    @jit
    def sized(values, factor):
        return np.full(values[3], factor)

    def parameters(function):
        return len(function.lower(INTEGERS, 2.0).module.entry.parameters)

    assert parameters(scaled) == 2
    assert len(sized(INTEGERS, 2.0)) == INTEGERS[3]
    assert parameters(sized) > COUNT - 2


def test_numbers_of_another_type_are_traced_again():
    @jit
    def total(values, factor):
        return sum(values) * factor, values[3]

    for fourth in (1.5, 7, True, 2**40, 2**70, np.float32(2), 0.25):
        values = [*FLOATS[:3], fourth, *FLOATS[4:]]
        require_same((sum(values) * 2.0, fourth), total(values, 2.0))
        values = [*INTEGERS[:3], fourth, *INTEGERS[4:]]
        require_same((sum(values) * 2.0, fourth), total(values, 2.0))
    with pytest.raises(TypeError):
        total([*FLOATS[:3], object(), *FLOATS[4:]], 2.0)


def products_of_arrays(a, b):
    n = len(a)
    return [[sum(a[i][k] * b[k, j] for k in range(n)) for j in range(n)] for i in range(n)]


def distances(points):
    return [[((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5 for b in points] for a in points]


def changed_when_made(x):
    rows = [[x[i] * j for j in range(20)] for i in range(20)]
    twice = [[float(v) + 1.0 for v in row] for row in rows]
    rows[3][4] = -1.0
    first = rows[0]
    first[1] = 7.0
    return rows, twice, [rows[5], rows[5]], np.array(twice).sum(), [sum(row) for row in twice], twice[2][3]


@pytest.mark.parametrize(
    "program",
    [
        (products_of_arrays, np.arange(400.0).reshape(20, 20), np.arange(400.0).reshape(20, 20) % 7),
        (distances, [(float(i), float(i * i % 7)) for i in range(COUNT)]),
        (changed_when_made, np.arange(20.0)),
    ],
    ids=lambda program: program[0].__name__,
)
def test_lists_of_lists_that_comprehensions_make(program):
    test_what_is_done_is_what_python_does(program)


def test_lists_of_lists_are_one_result():
    for count in (20, 40, 80):
        module = jit(products_of_arrays).lower(np.ones((count, count)), np.ones((count, count))).module
        assert len(module.entry.instructions) < 60


def test_code_for_packed_numbers_is_not_taken_for_others():
    """What is outside decides whether Python needs one of the numbers."""
    state = {"sized": False}

    @jit
    def made(values, factor):
        return np.full(values[3], factor) if state["sized"] else sum(values) * factor

    for sized in (False, True, False, True):
        state["sized"] = sized
        for fourth in (INTEGERS[3], 3):
            values = [*INTEGERS[:3], fourth, *INTEGERS[4:]]
            expected = np.full(fourth, 2.0) if sized else sum(values) * 2.0
            assert np.array_equal(made(values, 2.0), expected)


def served(floors, kinds):
    queues = [deque() for _ in range(4)]
    for place, (a, b) in enumerate(zip(floors, kinds)):
        if a != b:
            queues[a].append((place, b))
        if len(queues[b]) > 1:
            queues[b].popleft()
        axis = place % 2
    return [list(queue) for queue in queues], axis


def whole_turn(floors, kinds):
    """What Python needs to know behind the loop, it knows if its rounds are unrolled."""
    queues, axis = served(floors, kinds)
    return queues, np.ones((2, 3)).sum(axis=axis)


def of_short_lists(seed):
    return tuple(np.random.default_rng(seed).integers(0, 4, (2, 12)).tolist())


def test_long_rounds_over_short_lists_are_loops():
    assert "while" in [one.opcode for one in jit(served).lower(*of_short_lists(0)).module.entry.instructions]
    compiled = jit(served)
    for seed in range(3):
        assert compiled(*of_short_lists(seed)) == served(*of_short_lists(seed))
    assert compiled.cache_info().misses == 1


@left_to_ci
def test_long_rounds_over_short_lists_are_unrolled_where_they_cannot_be_loops():
    compiled = jit(whole_turn)
    for seed in range(3):
        assert repr(compiled(*of_short_lists(seed))) == repr(whole_turn(*of_short_lists(seed)))
    assert compiled.cache_info().misses == 1
