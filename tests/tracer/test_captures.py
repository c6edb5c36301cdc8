"""Arrays that a function uses from outside, and arrays that it changes in place."""

import gc
import weakref

import numpy as np
import pytest
from jitted_calls import compiled

# --- captured arrays ---


@pytest.mark.parametrize("size", [3, 5000])
def test_contents_are_read_at_each_call(size):
    table = np.arange(float(size))
    f = compiled(lambda x: x + table)
    x = np.ones(size)
    for value in (7.0, 8.0):
        np.testing.assert_array_equal(f(x), x + table)
        table[1] = value
    table *= 2
    np.testing.assert_array_equal(f(x), x + table)
    assert f.cache_info().misses == 1


@pytest.mark.parametrize(
    "make", [lambda a: a.T, lambda a: a[::2], lambda a: a[::-1], np.asfortranarray, lambda a: a.astype(">f8")]
)
def test_memory_of_captured_arrays(make):
    table = make(np.arange(12.0).reshape(4, 3))
    f = compiled(lambda x: x * table)
    for _ in range(2):
        np.testing.assert_array_equal(f(2.0), 2 * table)
        table[0] = 9


def test_captured_view_follows_its_base():
    base = np.arange(6.0)

    def f(x):
        return x + base[1:4]

    jitted = compiled(f)
    np.testing.assert_array_equal(jitted(1.0), f(1.0))
    base[2] = 50
    np.testing.assert_array_equal(jitted(1.0), f(1.0))


def test_changed_shape_or_dtype_compiles_again():
    table = np.arange(6.0)
    f = compiled(lambda x: np.sum(table * x, axis=0))
    assert f(1.0) == 15
    table.shape = (3, 2)
    np.testing.assert_array_equal(f(1.0), [6, 9])
    info = f.cache_info()
    assert info.misses == 2 and "closure variable table: shape (6,) -> (3, 2)" in info.entries[1].reason
    table.shape = (6,)
    assert f(2.0) == 30 and f.cache_info().misses == 2


def test_captured_array_stays_alive():
    def make():
        table = np.arange(5000.0)
        return compiled(lambda x: x + table), weakref.ref(table)

    f, reference = make()
    np.testing.assert_array_equal(f(1.0), np.arange(5000.0) + 1)
    assert reference() is not None
    del f
    gc.collect()
    assert reference() is None


class Holder:
    def __init__(self):
        self.table = np.ones(50)

    def total(self, x):
        return self.table.sum() + x


HELD = {"array": np.ones(50)}


def test_what_stands_outside_no_more_is_not_kept():
    """By compiled code, which goes on being used."""
    by_name, method = compiled(lambda x: HELD["array"] + x), compiled(Holder.total)
    first = Holder()
    for _ in range(2):
        by_name(1.0), method(first, 1.0)
    references = [weakref.ref(HELD["array"]), weakref.ref(first), weakref.ref(first.table)]
    del first
    HELD["array"] = np.zeros(50)
    by_name(1.0)
    gc.collect()
    assert [reference() for reference in references] == [None] * 3
    assert method(Holder(), 2.0) == 52


def test_arrays_made_by_the_function_are_constants():
    f = compiled(lambda x: x + np.arange(3))
    assert len(f.trace(1.0).module.entry.parameters) == 1
    np.testing.assert_array_equal(f(1.0), [1, 2, 3])
    large = compiled(lambda x: x + np.arange(5000))
    np.testing.assert_array_equal(large(1.0), np.arange(5000) + 1.0)


def test_arrays_made_and_changed_by_the_function():
    def f(x):
        table = np.zeros(3)
        first = x + table
        table[0] = 5
        second = x + table
        table[1] = 6
        return first, second

    for mine, theirs in zip(compiled(f)(1.0), f(1.0)):
        np.testing.assert_array_equal(mine, theirs)


def test_outside_array_is_changed_at_each_call():
    table = np.zeros(3)

    def f(x):
        y = x + table
        table[0] += 1
        return y

    jitted = compiled(f)
    for count in range(3):
        np.testing.assert_array_equal(jitted(1.0), [count + 1, 1, 1])
    np.testing.assert_array_equal(table, [3, 0, 0])


def test_returned_constants_are_fresh():
    f = compiled(lambda x: (x, np.zeros(2)))
    first, second = f(1.0)[1], f(1.0)[1]
    first[0] = 9
    np.testing.assert_array_equal(second, [0, 0])
    np.testing.assert_array_equal(f(1.0)[1], [0, 0])


def test_captured_numbers_are_constants():
    scale = np.float32(2)
    f = compiled(lambda x: x * scale)
    assert len(f.trace(np.ones(2, np.float32)).module.entry.parameters) == 1
    assert f(np.ones(2, np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    "array, match",
    [
        (np.matrix([[1.0]]), "subclass of numpy.ndarray"),
        (np.array([None]), "dtype object"),
    ],
)
def test_captured_arrays_that_cannot_be_traced(array, match):
    with pytest.raises(TypeError, match=match):
        compiled(lambda x: np.sum(x) + array)(np.ones(1))


# --- arguments changed in place ---


def both(function, *arrays):
    """Runs the function jitted and plain on copies; returns (results, arrays afterwards) of each."""
    runs = []
    for run in (compiled(function), function):
        copies = [array.copy(order="K") for array in arrays]
        runs.append((run(*copies), copies))
    return runs


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_callers_array_is_changed(order):
    def f(x, y):
        x[0, 1:] += y[1]
        y *= 2
        return np.sum(x)

    x = np.array(np.arange(12.0).reshape(3, 4), order=order)
    (mine, ours), (theirs, expected) = both(f, x, np.arange(4.0))
    assert mine == theirs
    for actual, correct in zip(ours, expected):
        np.testing.assert_array_equal(actual, correct)


def test_changed_argument_that_is_returned_is_the_callers():
    def f(x):
        x[0] = 5
        return x, x[1:]

    x = np.arange(3.0)
    same, part = compiled(f)(x)
    assert same is x
    np.testing.assert_array_equal(x, [5, 1, 2])
    np.testing.assert_array_equal(part, [1, 2])


def test_strided_and_swapped_arguments_are_changed():
    def f(x):
        x[1:] += x[:-1]

    jitted = compiled(f)
    for make in (lambda: np.arange(12.0)[::3], lambda: np.arange(4.0)[::-1], lambda: np.arange(4, dtype=">i4")):
        mine, theirs = make(), make()
        jitted(mine), f(theirs)
        np.testing.assert_array_equal(mine, theirs)


def test_views_write_through():
    def f(x):
        row = x[1]
        row[:] = 7
        x.T[0] += 1

    (_, [mine]), (_, [theirs]) = both(f, np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(mine, theirs)


def test_numbers_are_not_changed():
    def f(x):
        x += 1
        return x

    jitted = compiled(f)
    for value in (1.5, np.float32(2)):
        assert jitted(value) == value + 1


def test_read_only_argument():
    ran = []

    def f(x):
        ran.append(1)
        x[0] = 1
        return x

    x = np.zeros(2)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        compiled(f)(x)
    assert x[0] == 0


def test_same_array_twice():
    def f(x, y):
        x[0] = 5
        return x + y

    jitted = compiled(f)
    for _ in range(2):
        x, plain = np.arange(3.0), np.arange(3.0)
        np.testing.assert_array_equal(jitted(x, x), f(plain, plain))
        np.testing.assert_array_equal(x, plain)
        x, y = np.arange(3.0), np.arange(3.0)
        np.testing.assert_array_equal(jitted(x, y), [5, 2, 4])
        view = x[:]
        np.testing.assert_array_equal(jitted(x, view), 2 * x)
    assert jitted.cache_info().misses == 2


def test_same_array_in_a_container():
    def f(items):
        items[0][0] = 9
        return items[1] * 2, items[2]

    x, plain = np.arange(2.0), np.arange(2.0)
    mine, theirs = compiled(f)([x, x, np.ones(1)]), f([plain, plain, np.ones(1)])
    np.testing.assert_array_equal(mine[0], theirs[0])
    np.testing.assert_array_equal(x, plain)


def test_overlapping_arguments():
    def f(x, y):
        x[0] = 1
        return x + y

    memory, plain = np.arange(5.0), np.arange(5.0)
    np.testing.assert_array_equal(compiled(f)(memory[1:], memory[:-1]), f(plain[1:], plain[:-1]))
    np.testing.assert_array_equal(memory, [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(compiled(f)(memory[:4:2], memory[1::2]), [1 + 1, 2 + 3])  # interleaved


def test_overlapping_arguments_that_are_only_read():
    memory = np.arange(5.0)
    np.testing.assert_array_equal(compiled(lambda x, y: x + y)(memory[1:], memory[:-1]), memory[1:] + memory[:-1])


def test_changed_argument_that_is_also_captured():
    table = np.zeros(3)

    def f(x):
        x[0] = 1
        return x + table

    jitted = compiled(f)
    np.testing.assert_array_equal(jitted(np.zeros(3)), [1, 0, 0])
    np.testing.assert_array_equal(jitted(table), [2, 0, 0])
    np.testing.assert_array_equal(table, [1, 0, 0])
    np.testing.assert_array_equal(jitted(table[::-1]), [2, 0, 2])
    np.testing.assert_array_equal(table, [1, 0, 1])
    np.testing.assert_array_equal(jitted(np.zeros(3)), [2, 0, 1])


def test_arguments_keep_what_was_changed_before_an_index_error():
    def f(x, i):
        x[0] = 5
        y = x[i]
        x[1] = 6
        return y

    jitted = compiled(f)
    x = np.arange(3.0)
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        jitted(x, np.int64(3))
    np.testing.assert_array_equal(x, [5, 1, 2])
    assert jitted(x, np.int64(-1)) == 2
    np.testing.assert_array_equal(x, [5, 6, 2])


def test_aliases_are_stated_in_the_module():
    def f(x, y):
        y += x
        return x * 2

    module = compiled(f).trace(np.ones(2), np.ones(2)).module
    assert module.attributes["input_output_alias"] == "{ {1}: (1, {}, must-alias) }"
    assert "input_output_alias" not in compiled(lambda x: x + 1).trace(np.ones(2)).module.attributes
