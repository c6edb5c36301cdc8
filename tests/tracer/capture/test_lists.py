"""Lists whose length the program decides: what decorated functions return is what they return undecorated."""

import copy
import math
import re
import sys
from collections import deque

import numpy as np
import pytest
from phlox import TracerError, hlo, jit

RISING, FALLING = np.arange(6.0), np.arange(6.0)[::-1] - 2
VALUES = [(RISING,), (FALLING,), (np.array([3.0, -1.0, 3.0, 0.5, 7.0, -2.0]),), (np.full(6, -9.0),)]


def alike(expected, found):
    """Whether two values are equal, of the same types, in all their parts; elements of one list may be NumPy's scalars all."""
    if isinstance(expected, (bool, int, float, np.generic)):
        return np.asarray(expected).dtype == np.asarray(found).dtype and expected == found
    if type(expected) is not type(found):
        return False
    if isinstance(expected, (list, tuple)):
        return len(expected) == len(found) and all(map(alike, expected, found))
    if isinstance(expected, dict):
        return list(expected) == list(found) and all(alike(expected[key], found[key]) for key in expected)
    if isinstance(expected, np.ndarray):
        return expected.dtype == found.dtype and np.array_equal(expected, found)
    return expected == found


def check(function, calls=VALUES):
    decorated = jit(function)
    for arguments in [*calls, calls[0]]:
        outcomes = []
        for run in (function, decorated):
            try:
                outcomes.append(run(*copy.deepcopy(arguments)))
            except Exception as error:
                outcomes.append(error)
        expected, found = outcomes
        if isinstance(expected, Exception):
            assert type(found) is type(expected), found
            assert str(expected) in str(found) or str(found).rstrip(")") in str(expected)
        elif isinstance(found, Exception):
            raise found
        else:
            assert alike(expected, found), (expected, found)


PROGRAMS = []


def program(function):
    PROGRAMS.append(pytest.param(function, id=function.__name__))
    return function


@program
def appended_in_a_branch(x):
    out = []
    for i, value in enumerate(x):
        if value > 0:
            out.append((i, value))
    return out, len(out)


@program
def appended_on_both_sides(x):
    small, large = [], [0.0]
    for value in x:
        if value > 2:
            large.append(value)
        else:
            small.append(int(value))
    return small, large, len(small) + len(large)


@program
def as_a_stack(x):
    stack, seen = [0], []
    while stack:
        place = stack.pop()
        if place < len(x) and x[place] > -1:
            seen.append(place)
            stack.append(2 * place + 2)
            stack.append(2 * place + 1)
    return seen


@program
def as_a_queue(x):
    queue, order = [0], []
    while queue:
        place = queue.pop(0)
        order.append(place)
        for child in (2 * place + 1, 2 * place + 2):
            if child < len(x) and x[child] > -2:
                queue.append(child)
    return order


@program
def grown_beyond_the_first_capacity(x):
    out = [0]
    while len(out) < 3000 and x[0] < 5:
        out.append(out[-1] + 1)
    return out[-1], len(out), sum(out)


@program
def texts_and_none_in_elements(x):
    log = []
    for i, value in enumerate(x):
        if value > 3:
            log.append(("above", i, value))
        elif value < 0:
            log.append(("below", i, None))
    return log


@program
def known_lists_stay(x):
    out = []
    for i in range(3):
        out.append(x[i])
    return out, [1, 2.5, "text"], out + [1]


@program
def read_from_both_ends(x):
    out = [0.0]
    for value in x:
        if value > out[-1]:
            out.append(value)
    return out[0], out[-1], out[len(out) - 1], out[:2], out[::-1], out[1:], out[-2:], out[:-1], out[::2]


@program
def index_out_of_range(x):
    out = [v for v in x[:1]]
    for value in x:
        if value > 4:
            out.append(value)
    return out[1]


@program
def pop_from_empty(x):
    stack = [1.0]
    for value in x:
        if value > 2:
            stack.append(value)
        else:
            stack.pop()
    return stack


@program
def contained(x):
    seen = []
    for value in x:
        kind = int(value) % 3
        if kind not in seen:
            seen.append(kind)
    return seen, 1 in seen, 7 in seen, seen == [0, 1, 2], seen != []


@program
def counted_by_place(x):
    counts = [0] * 4
    for value in x:
        counts[int(value) % 4] += 1
    return counts, counts[int(x[0])]


@program
def inserted_and_removed(x):
    out = [2.0]
    for value in x:
        place = 0
        while place < len(out) and out[place] < value:
            place += 1
        out.insert(place, value)
    if x[0] > 2:
        out.remove(2.0)
    out.insert(0, -100.0)
    return out, out.index(2.0) if 2.0 in out else -1, out.count(3.0)


@program
def builtins(x):
    out = [1.0]
    for value in x:
        if value > -2:
            out.append(value)
    return sum(out), max(out), min(out), sorted(out), sorted(out, reverse=True), any(v > 3 for v in x), list(out), out.copy()


@program
def gone_over(x):
    out = []
    for value in x:
        if value > 0:
            out.append(value)
    total, squares = 0.0, []
    for i, value in enumerate(out):
        total += i * value
        squares.append(value**2)
    pairs = 0.0
    for a, b in zip(out, out[1:]):
        pairs += a * b
    return total, squares, pairs


@program
def appended_while_gone_over(x):
    order = [0]
    for place in order:
        for child in (2 * place + 1, 2 * place + 2):
            if child < len(x) and x[child] > -2:
                order.append(child)
    return order


@program
def special_methods_by_their_names(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    changed = {"a": 1}
    if x[0] > 0:
        changed.__setitem__("a", 5)
        list.append(out, x[1])
    return out.__len__(), list.__len__(out), out.__contains__(x[2]), list.__getitem__([*out, x[0]], -1), changed


@program
def without_elements(x):
    above = [i for i, v in enumerate(x) if v > 5]
    pairs = [(v, i) for i, v in enumerate(x) if v > 5]
    flags = [v > 6 for v in x if v > 5]
    costs = [v * 2 for v in x if v > 5]
    x[above] = 5
    return (
        np.array(above),
        np.array(pairs),
        np.asarray(flags),
        np.sum(above),
        sum(costs),
        np.array(above, dtype=int),
        x[above],
        x,
    )


@program
def two_names(x):
    first = [1.0]
    second = first
    for value in x:
        if value > 1:
            first.append(value)
    second.append(7.0)
    return first, second


@program
def replaced_by_the_next(x):
    frontier, levels = [0], []
    while frontier:
        following = []
        for place in frontier:
            for child in (2 * place + 1, 2 * place + 2):
                if child < len(x) and x[child] > -2:
                    following.append(child)
        levels.append(len(frontier))
        frontier = following
    return levels


@program
def arrays_as_elements(x):
    rows = [x[:2]]
    for value in x:
        if value > 0:
            rows.append(x[:2] * value)
    return rows, np.array(rows), rows[-1].sum()


@program
def as_an_array(x):
    out, pairs = [], [(7, 0.5)]
    for i, value in enumerate(x):
        if value > 0:
            out.append(value)
            pairs.append((i, value))
    array = np.array(out)
    return array, array.sum(), np.array(pairs).shape, np.sum(out)


@program
def integers_that_become_floats(x):
    out = [0]
    for value in x:
        if value > 1:
            out.append(out[-1] + 1)
    out.append(0.5)
    return len(out)


@program
def cleared_and_extended(x):
    out, parts = [], []
    for value in x:
        out += [value, -value]
        if value > 3:
            parts.append(len(out))
            out.clear()
        if value < 0:
            out.extend([0.0, 1.0])
    return out, parts


@program
def attributes_and_items(x):
    holder = {"up": [], "down": []}
    for a, b in zip(x, x[1:]):
        if b > a:
            holder["up"].append(b - a)
        else:
            holder["down"].append(a - b)
    return holder


@program
def unpacked(x):
    out = [0.0, 1.0]
    for value in x:
        if value > 0:
            out.append(value)
    first, *middle, last = out
    return first, middle, last


@program
def unpacked_into_too_few(x):
    out = [0.0]
    for value in x:
        if value > 0:
            out.append(value)
    a, b, c, d, e, f = out
    return a + b


@program
def deleted(x):
    out = [5.0, 6.0, 7.0]
    for value in x:
        if value > 2:
            out.append(value)
    del out[1]
    del out[-1]
    out[0] = 9.0
    out[-1] = 8.0
    return out


@program
def comprehensions(x):
    kept = [i for i, value in enumerate(x) if value > 0]
    pairs = [a * b for a in kept for b in kept if a < b]
    nested = [(i, j) for i in range(3) for j in range(3) if x[i] > x[j]]
    return kept, [x[k] for k in kept], pairs, nested, [i for i in range(10) if i % 2]


@program
def generator_expressions(x):
    kept = []
    for i in range(len(x)):
        if all(abs(x[i] - x[j]) >= 1.5 for j in kept):
            kept.append(i)
    return kept, sum(k for k in kept), any(x[k] > 3 for k in kept), sorted(v for v in x if v < 3), max(v for v in kept)


@program
def mapped_and_filtered(x):
    large = list(filter(lambda v: v > 1, x))
    return large, list(map(lambda v: v * 2, large)), sum(map(lambda v: v * v, large), 0.5)


def root(a):
    if a < 1:
        raise ValueError("less than 1")
    return a**0.5


@program
def changed_in_a_statement_that_fails(x):
    steps = []
    try:
        steps.append(1.0)
        steps.append(root(x[0]))
        steps.append(2.0)
    except ValueError:
        steps.append(3.0)
    finally:
        steps.append(4.0)
    return steps


@program
def a_tuple_of_it(x):
    out = []
    for value in x:
        if value > 1:
            out.append(value)
    return tuple(out), len(tuple(out))


@program
def deque_breadth_first(x):
    free = np.abs(x).reshape(2, 3) < 2.5
    seen = np.zeros((2, 3), dtype=bool)
    queue, order = deque([(0, 0)]), []
    while queue:
        r, c = queue.popleft()
        if seen[r, c]:
            continue
        seen[r, c] = True
        order.append((r, c))
        for i, j in ((r, c + 1), (r + 1, c), (r, c - 1), (r - 1, c)):
            if 0 <= i < 2 and 0 <= j < 3 and free[i, j] and not seen[i, j]:
                queue.append((i, j))
    return order, seen


@program
def deque_at_both_ends(x):
    queue = deque([1.0, 2.0, 3.0])
    for value in x:
        if value > 1:
            queue.appendleft(value)
        elif value < 0:
            queue.pop()
        else:
            queue.extend([value, value])
    while len(queue) > 4:
        queue.popleft()
    return list(queue), queue[0], queue[-1], isinstance(queue, deque)


@program
def deque_with_a_greatest_length(x):
    recent, sums = deque(maxlen=3), []
    for value in x:
        if value > 0:
            recent.append(value)
        if len(recent) > 0:
            sums.append(sum(recent))
    return recent, sums


@program
def deque_without_elements(x):
    queue = deque()
    for value in x:
        if value > 2:
            queue.append(value)
    return queue.popleft()


@program
def lists_of_other_lengths_as_elements(x):
    groups, group = [], []
    for value in x:
        group.append(value)
        if value > 2:
            groups.append(group)
            group = []
    return groups, group


@program
def replaced_on_one_side_and_changed_on_the_other(x):
    out, other = [4], [1, 2]
    for i in range(len(x)):
        if x[i] > 2:
            out = [w + 1 for w in out]
            other.append(i)
        else:
            out.append(i)
            other = other[::-1]
        if i in other:
            other = other + [int(x[i])]
    return out, other


@program
def returned_early(x):
    out = []
    for value in x:
        if value > 4:
            return out
        if value > 1:
            out.append(value)
    return out


@pytest.mark.parametrize("function", PROGRAMS)
def test_as_undecorated(function):
    check(function)


def reads_what_it_appends(x):
    last, middle = [x], []
    for i in range(400):
        last.append(last[-1] * 0.9 + i)
        middle.append(x * i)
        x = x + len(middle) * middle[0]
    return last[-1], len(last), x, middle[3]


def appends_in_two_loops(x):
    seen = [x]
    for i in range(30):
        for j in range(20):
            seen.append(seen[-1] * 0.5 + j)
        seen.append(float(i))
    return seen[-2], seen[-1], len(seen), sum(seen)


@pytest.mark.parametrize("function", [reads_what_it_appends, appends_in_two_loops])
def test_lists_that_a_round_appends_to_and_reads(function):
    jitted = jit(function)
    for x in (1.5, -0.25):
        assert jitted(x) == pytest.approx(function(x), rel=1e-12)


def test_what_was_printed_is_not_printed_again_when_a_list_outgrows_its_capacity(capsys):
    def noisy(count):
        out = []
        while len(out) < count:
            if len(out) % 500 == 0:
                print("at", len(out))
            out.append(len(out))
        return len(out)

    decorated = jit(noisy)
    assert decorated(np.int64(3000)) == 3000
    assert capsys.readouterr().out == "".join(f"at {i}\n" for i in range(0, 3000, 500))
    assert "a size is larger than" in str(decorated.cache_info())
    misses = decorated.cache_info().misses
    assert decorated(np.int64(10)) == 10
    assert decorated.cache_info().misses == misses


def test_lists_are_printed_as_they_are(capsys):
    def shown(x):
        ints, recent = [1, 2], deque([1, 2], maxlen=3)
        for value in x:
            if value > 0:
                ints.append(int(value))
                recent.append(int(value))
        print(ints, tuple(ints), recent, deque([1]), f"{len(ints)}: {ints}")
        return math.prod(ints), math.prod([2, 3])

    expected = shown(RISING)
    printed = capsys.readouterr().out
    assert jit(shown)(RISING) == expected
    assert capsys.readouterr().out == printed


def test_a_list_chosen_by_the_program_cannot_be_changed_unnoticed():
    @jit
    def buckets(x):
        found = [[], [], []]
        for value in x:
            chosen = found[int(value) % 3]
            chosen.append(value)
        return found

    with pytest.raises(TracerError, match="one of several, or an element of a list"):
        buckets(RISING)


def test_the_time_of_a_round_does_not_depend_on_the_capacity():
    """Pushing and popping moves no other elements: the program has no loop over a column."""

    @jit
    def collatz(n):
        stack, total = [n], 0
        while stack:
            value = stack.pop()
            total += value
            if value > 1:
                stack.append(value // 2)
                if value % 3 == 0:
                    stack.append(value // 3)
        return total

    body = collatz.lower(27).compile().as_text().partition("%while_body")[2].partition("ENTRY")[0]
    wide = [line for line in body.splitlines() if re.search(r"= s64\[257\]", line)]
    assert wide and all("get-tuple-element" in line or "dynamic-update-slice" in line or "parameter" in line for line in wide)


def either_of_two(x):
    low, high = [], []
    for value in x:
        target = low if value < 0 else high
        target.append(value)
    return low, high


def one_side_is_another_name(x):
    first = [1.0]
    second = first if x[0] > 0 else list(first)
    second.append(2.0)
    return first, second


def kept_by_another_name(x):
    best, path = [], [0]
    for i in range(len(x)):
        path.append(i)
        if x[i] > 2:
            best = path
    path.append(-1)
    return best, path


def two_names_of_a_new_one(x):
    first, second, i = [], [], 0
    while i < x[1] * 100:
        first = second = [i]
        i += 1
    first.append(7)
    return first, second


@pytest.mark.parametrize("function", [either_of_two, one_side_is_another_name, kept_by_another_name, two_names_of_a_new_one])
def test_a_list_that_would_be_a_copy_is_an_error(function):
    with pytest.raises(TracerError, match="one of several|names of one list"):
        jit(function)(RISING)


def test_what_some_rounds_append_is_as_many_results_for_any_number_of_rounds():
    def positive(x):
        found = []
        for i in range(len(x)):
            if x[i] > 0:
                found.append((i, x[i]))
        return found

    def count(size):
        return len(hlo.leaves(jit(positive).lower(np.ones(size)).module.entry.shape))

    assert count(300) == count(100)


def one_of_several_appended(x):
    words = ["begin"]
    words.append("low" if x[0] < -1 else 3)
    words.append("odd" if x[1] > 2 else "even" if x[2] < -1 else x[0])
    words.insert(1, "high" if x[3] > 2 else None)
    words.extend(("a" if x[4] > 0 else "b", 5))
    return words


def optional_words_in_tuples(x):
    rows = []
    for i in range(len(x)):
        if x[i] > 0:
            rows.append((i, "even" if i % 2 == 0 else None, "large" if x[i] > 2 else None if x[i] > 1 else i))
        if x[i] > 4:
            rows.append((-i, None, None))
            return rows, "left"
    return rows, "ended"


@pytest.mark.parametrize("function", [one_of_several_appended, optional_words_in_tuples])
def test_elements_that_are_one_of_several(function):
    check(function)


def kinds_of_elements(x):
    numbers, rows, words, scalars, lists, flags, nothing = [], [], [], [], [], [], []
    queue = deque(maxlen=3)
    for i in range(len(x)):
        if x[i] > 0:
            numbers.append(i)
            rows.append((i, float(x[i]), "even" if i % 2 == 0 else None, True, complex(x[i], i)))
            scalars.append(np.float32(x[i]))
            flags.append(x[i] > 1)
            lists.append([i, (x[i], "in a list")])
        else:
            rows.append((-i, -1.0, "negative", False, 1j))
            words.append("odd" if i % 2 else "even" if x[i] < -1 else i)
        queue.append(i * 1.5)
        if x[i] > 4:
            queue.popleft()
            nothing.append(())
    if x[0] > 2:
        numbers.append(7)
    numbers += [8, 9]
    if x[1] > 2:
        words.insert(0, "first")
        return numbers, rows, words, queue
    return numbers, rows, words, scalars, flags, lists, nothing, tuple(numbers), queue


def outside_lists(x):
    found = {"a": []}
    for i in range(len(x)):
        if x[i] > 0:
            found["a"].append(i)
            LOG.append((i, float(x[i])))
    if x[0] > 2:
        LOG.append("large")
    LOG.append("end")
    return found


LOG = []


def test_lists_are_made_natively():
    for function in (kinds_of_elements, outside_lists):
        decorated = jit(function)
        for arguments in [*VALUES, *VALUES, (RISING + 3,), (RISING * 0,)] * 2:
            LOG.clear()
            expected, log = function(*arguments), list(LOG)
            LOG.clear()
            assert alike(expected, decorated(*arguments))
            assert alike(log, LOG)
        assert decorated.cache_info().entries[0].native


def test_lists_that_are_made_natively_are_not_kept():
    def found(x):
        return [(i, "text", x[i]) for i in range(len(x)) if x[i] > 0]

    decorated, x = jit(found), RISING + 0.5
    for _ in range(3):
        decorated(x)
    counts = sys.getrefcount(None), sys.getrefcount(np.dtype(float)), sys.getrefcount(found.__code__.co_consts[1])
    blocks = sys.getallocatedblocks()
    for _ in range(1000):
        decorated(x)
    after = sys.getrefcount(None), sys.getrefcount(np.dtype(float)), sys.getrefcount(found.__code__.co_consts[1])
    assert all(abs(one - other) < 50 for one, other in zip(counts, after))
    assert sys.getallocatedblocks() - blocks < 100


def arrays_of_two_lists(x):
    first, second = [], []
    for value in x:
        if value > 0:
            first.append(value)
            second.append(value * 2)
    both = [first, second]
    return np.array(both), np.array([first[::-1], second]), np.stack(both), np.column_stack(both), np.concatenate(both)


def arrays_of_lists_that_may_differ(x):
    first, second = [], []
    for value in x:
        if value > 0:
            first.append(value)
        second.append(value)
    return np.vstack([first, second])


@pytest.mark.parametrize("function", [arrays_of_two_lists, arrays_of_lists_that_may_differ])
def test_arrays_of_several_lists(function):
    check(function, [(np.arange(1.0, 7.0),), (np.array([3.0, 1, 2, 3, 0.5, 7]),)])


def test_lists_of_other_lengths_are_no_array():
    with pytest.raises(ValueError, match="same shape"):
        jit(arrays_of_lists_that_may_differ)(VALUES[2][0])


@pytest.mark.parametrize("count", [3, 300])
def test_elements_that_are_arrays_are_changed_in_place(count):
    def f(x):
        out = []
        for i in range(count):
            out.append(np.zeros(2) + i * x[0])
        out[1][0] = 7
        for row in out[:2]:
            row += x[1]
        whole = np.array(out)
        whole[0] = 5
        last = out[-1]
        last *= 2
        return out, whole, last

    jitted = jit(f)
    for x in (np.array([1.0, 2.0]), np.array([3.0, -1.0])):
        expected, found = f(x), jitted(x)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
        np.testing.assert_array_equal(found[2], expected[2])


def test_arrays_as_long_as_a_list_that_gets_shorter_have_its_first_length_for_a_bound():
    def shrink(x):
        active = list(range(len(x)))
        while len(active) > 1:
            n = len(active)
            square = np.zeros((n, n)) + x[active]
            if square.sum() < 0:
                break
            del active[int(x[active].argmax())]
        return active, square

    lowered = jit(shrink).lower(np.arange(6.0))
    assert max(shape.size for shape in hlo.leaves(lowered.module.entry.shape)) <= 36
    for x in (np.arange(6.0), np.array([3.0, -9, 2, 1, 0, 5])):
        assert alike(shrink(x), jit(shrink)(x))
