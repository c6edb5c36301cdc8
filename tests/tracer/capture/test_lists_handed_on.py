"""Lists whose length the program decides: read by loops, printed, chosen, made natively, made arrays; what is refused."""

import math
import re
import sys
from collections import deque

import numpy as np
import pytest
from list_programs import RISING, VALUES, alike, check
from phlox import TracerError, hlo, jit


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


def two_names_of_a_new_one(x):
    first, second, i = [], [], 0
    while i < x[1] * 100:
        first = second = [i]
        i += 1
    first.append(7)
    return first, second


def test_either_of_two():
    check(either_of_two, [(RISING,), (-RISING,), (RISING - 3,)])


def test_a_list_that_would_be_a_copy_is_an_error():
    with pytest.raises(TracerError, match="names of one list"):
        jit(two_names_of_a_new_one)(RISING)


def test_a_list_with_two_names_on_one_side():
    check(one_side_is_another_name, [(RISING,), (-RISING,), (0 * RISING,)])
    first, second = jit(one_side_is_another_name)(RISING)
    assert (first is second) is bool(RISING[0] > 0)


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
