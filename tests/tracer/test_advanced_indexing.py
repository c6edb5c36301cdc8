"""Indexing with arrays, and the functions that take indices, against NumPy: on the CPU backend and the reference."""

from __future__ import annotations

import numpy as np
import phlox.numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phlox import ConcretizationError, fori_loop, jit

BACKENDS = ("reference", "cpu")
ERRORS = (IndexError, ValueError, TypeError)


def as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def check(function, *arguments, backends=BACKENDS):
    """The result, and the arguments afterwards, are NumPy's; or the exception is."""
    first = [np.copy(argument) for argument in arguments]
    try:
        expected = function(*first)
    except ERRORS as error:
        expected = error
    for backend in backends:
        second = [np.copy(argument) for argument in arguments]
        if isinstance(expected, Exception):
            with pytest.raises(type(expected)):
                jit(function, backend=backend)(*second)
            continue
        found = jit(function, backend=backend)(*second)
        for mine, wanted in zip((*as_tuple(found), *second), (*as_tuple(expected), *first), strict=True):
            assert np.shape(mine) == np.shape(wanted)
            assert np.asarray(mine).dtype == np.asarray(wanted).dtype
            np.testing.assert_array_equal(mine, wanted)


X = np.arange(60.0).reshape(3, 4, 5)
I = np.array([2, 0, -1, 2])
J = np.array([[1], [3]])
ROWS = np.array([True, False, True])

READS = {
    "one": lambda x, i, j: x[i],
    "two": lambda x, i, j: x[i, j],
    "three": lambda x, i, j: x[i, j, i],
    "around a slice": lambda x, i, j: x[i, :, j],
    "behind a slice": lambda x, i, j: x[:, j, 1:3],
    "behind two": lambda x, i, j: x[..., i],
    "with an integer": lambda x, i, j: x[0, i],
    "away from an integer": lambda x, i, j: x[0, :, i],
    "integer behind": lambda x, i, j: x[i, ..., 1],
    "ellipsis of no dimensions": lambda x, i, j: x[:, i, ..., j],
    "traced integer": lambda x, i, j: x[i[1], :, j],
    "new axes": lambda x, i, j: x[None, i, :, None, [0, 1, 2, -1]],
    "new axis between": lambda x, i, j: x[i, None, j],
    "steps": lambda x, i, j: x[::-2, j, ::-1],
    "lists": lambda x, i, j: x[[0, 2], [[1], [-1]]],
    "nested tuples": lambda x, i, j: x[(0, 2), :, (1, 3)],
    "list of traced": lambda x, i, j: x[[i[0], 1, i[2]]],
    "empty": lambda x, i, j: x[[]],
    "empty broadcast": lambda x, i, j: x[[], [7], 0],
    "of a view": lambda x, i, j: x.T[1:][i],
    "of a row": lambda x, i, j: x[1, 2][j],
    "mask": lambda x, i, j: x[ROWS],
    "mask of all": lambda x, i, j: x[np.arange(60).reshape(3, 4, 5) % 7 == 0],
    "mask of two": lambda x, i, j: x[:, np.arange(20).reshape(4, 5) % 3 == 0],
    "mask and list": lambda x, i, j: x[ROWS, :, [0, 1]],
    "mask and array": lambda x, i, j: x[ROWS, j],
    "mask behind ellipsis": lambda x, i, j: x[..., [True, False, False, True, False]],
    "mask of none": lambda x, i, j: x[np.zeros(3, bool)],
    "true": lambda x, i, j: x[True],
    "false": lambda x, i, j: x[False],
    "true and list": lambda x, i, j: x[True, ..., [0, 1]],
    "true between": lambda x, i, j: x[0, True, 1],
    "small integers": lambda x, i, j: x[i.astype(np.int8), j.astype(np.uint8)],
    "unsigned": lambda x, i, j: x[abs(i).astype(np.uint64), j.astype(np.uint32)],
    "computed": lambda x, i, j: np.exp(x[i * 1, (j + 1) % 4] / 60).sum() > 0,
    # What NumPy refuses.
    "out of range": lambda x, i, j: x[i + 1],
    "below": lambda x, i, j: x[i - 3],
    "list out of range": lambda x, i, j: x[[0, 3]],
    "list below": lambda x, i, j: x[[0, -4]],
    "second out of range": lambda x, i, j: x[0, :, j + 2],
    "unequal": lambda x, i, j: x[i, [0, 1, 2]],
    "too many": lambda x, i, j: x[i, j, i, i],
    "too many by mask": lambda x, i, j: x[i, np.ones((4, 5), bool), 0],
    "floats": lambda x, i, j: x[[0.5, 1.0]],
    "traced floats": lambda x, i, j: x[i * 1.0],
    "wrong mask": lambda x, i, j: x[:, ROWS],
    "wrong mask behind ellipsis": lambda x, i, j: x[..., ROWS],
    "two ellipses": lambda x, i, j: x[..., i, ...],
}


@pytest.mark.parametrize("name", READS)
def test_reading(name):
    check(READS[name], X, I, J)


@pytest.mark.parametrize("name", [name for name in READS if name != "computed"])
def test_writing(name):
    """The same index as the target of assignments, by way of a function that sees it."""

    class Target:
        def __init__(self, x, write):
            self.x, self.write = x, write

        def __getitem__(self, index):
            self.write(self.x, index)
            return self.x.sum()

        T = property(lambda self: Target(self.x.T, self.write))

    def set_number(x, index):
        x[index] = -1

    def set_values(x, index):
        x[index] = 1000.0 * x[index][..., ::-1]

    def add(x, index):
        x[index] += x[index].shape[-1] if x[index].ndim else 1

    for write in (set_number, set_values, add):
        if name in ("of a view", "of a row"):
            continue
        check(lambda x, i, j, write=write: READS[name](Target(x, write), i, j), X, I, J, backends=("cpu",))


def test_the_last_of_several_values_counts():
    def write(x, i, v):
        x[i] = v
        x[:, [1, 1, 1]] = v[:3]
        x[[0, 0], 2:] = v[:3]
        return x

    check(write, np.zeros((3, 5)), np.array([2, 0, -1, 2, 2]), np.arange(5.0))

    def through_views(x, i):
        y = x[1:].T
        y[i] = -y[i]
        x.reshape(-1)[i * 4] += 100
        x[:, ::2][i, i] *= 3
        return y

    check(through_views, X[0], np.array([1, 0, 1]))


def test_values_that_do_not_fit():
    def write(x, v):
        x[[0, 1]] = v

    for value in (np.zeros(3), np.zeros((3, 4, 5)), np.zeros((2, 4, 1)), np.zeros((1, 2, 4, 5)), np.zeros(0)):
        check(write, X, value)
    with pytest.raises(ValueError, match=r"value array of shape \(3,\).* indexing result of shape \(2,4,5\)"):
        jit(write, backend="reference")(X.copy(), np.zeros(3))


@st.composite
def indexing_cases(draw):
    """A shape and an index: slices, integers, new axes, an Ellipsis and at least one array or mask, known or to be traced."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    common = tuple(draw(st.lists(st.integers(0 if draw(st.integers(0, 9)) == 0 else 1, 3), min_size=1, max_size=2)))
    entries, dimension, left = [], 0, draw(st.integers(1, len(shape)))
    while dimension < left:
        size = shape[dimension]
        kind = draw(st.sampled_from(["array", "array", "array", "slice", "integer", "mask"]))
        if kind == "slice":
            bound = st.none() | st.integers(-size - 1, size + 1)
            entries.append(slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, -1, -2]))))
        elif kind == "integer":
            entries.append(draw(st.integers(-size, size - 1)))
        elif kind == "mask":
            count = min(draw(st.integers(1, 2)), left - dimension)
            wanted = draw(st.sampled_from([1, common[-1]]))
            cells = int(np.prod(shape[dimension : dimension + count]))
            mask = np.zeros(cells, bool)
            mask[list(draw(st.permutations(range(cells)))[: min(wanted, cells)])] = True
            entries.append(mask.reshape(shape[dimension : dimension + count]))
            dimension += count - 1
        else:
            own = tuple(draw(st.sampled_from([1, n])) for n in common[draw(st.integers(0, len(common) - 1)) :])
            cells = int(np.prod(own))
            values = draw(st.lists(st.integers(-size, size - 1), min_size=cells, max_size=cells))
            entries.append(np.array(values, draw(st.sampled_from([np.int64, np.int32, np.int8]))).reshape(own))
        dimension += 1
    if not any(isinstance(entry, np.ndarray) for entry in entries):
        entries[0:0] = [draw(st.booleans())]
    if draw(st.booleans()):
        entries.insert(draw(st.integers(0, len(entries))), Ellipsis)
    for _ in range(draw(st.integers(0, 2))):
        entries.insert(draw(st.integers(0, len(entries))), None)
    return shape, tuple(entries)


def as_traced_index(entries, arrays):
    """The index with its integer arrays replaced, in order."""
    following = iter(arrays)
    return tuple(next(following) if is_integer_array(entry) else entry for entry in entries)


def is_integer_array(entry):
    return isinstance(entry, np.ndarray) and entry.dtype != bool


@settings(deadline=None, derandomize=True, max_examples=80)
@given(indexing_cases(), st.sampled_from(BACKENDS), st.booleans())
def test_any_index(case, backend, traced):
    shape, entries = case
    x = np.arange(np.prod(shape)).reshape(shape)
    arrays = [entry for entry in entries if is_integer_array(entry)] if traced else []

    def function(x, *arrays):
        index = as_traced_index(entries, arrays) if traced else entries
        found = x[index]
        x[index] = 100 + np.arange(found.size).reshape(found.shape)
        x[index] += found
        np.subtract.at(x, index, 3)
        return found

    check(function, x, *arrays, backends=(backend,))


# --- contents that are known, or not ---


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_captured_mask_that_changes_is_traced_again(backend):
    mask = np.array([True, False, True])
    function = jit(lambda x: x[mask].sum(0), backend=backend)
    np.testing.assert_array_equal(function(X), X[mask].sum(0))
    mask[1] = True
    np.testing.assert_array_equal(function(X), X.sum(0))
    np.testing.assert_array_equal(function(X), X.sum(0))
    assert function.cache_info().misses == 2
    index = np.array([0, 2])
    function = jit(lambda x: x[index].sum(0), backend=backend)
    for position in (1, -1):
        np.testing.assert_array_equal(function(X), X[index].sum(0))
        index[1] = position
    assert function.cache_info().misses == 1


def test_traced_masks_whose_contents_decide_about_a_shape():
    for function in (
        lambda x: x[None, x[:, 0, 0] > 2], lambda x: x[:, x[0, :, 0] > 2], lambda x: x[[0, 1, 2], x[:, :, 0] > 2],
        lambda x: np.compress(x[:, 0, 0] > 2, x, 0), lambda x: np.extract(x > 2, x), lambda x: np.delete(x, x[:, 0, 0] > 2, 0),
        lambda x: np.compress([False, True], x[0] > 2), lambda x: np.compress(x[0, :2, 0] > -2, x, 1),
    ):  # fmt: skip
        check(function, X)
    with pytest.raises(ConcretizationError, match="contents"):
        jit(lambda x: np.add.at(x, (slice(None), x[0, :, 0] > 2), 1), backend="reference")(X.copy())


def test_a_value_for_each_element_of_a_traced_mask():
    def deal_out(x, v, rows):
        x[x > 30] = v
        x[rows] = np.arange(40).reshape(2, 4, 5)
        x[rows, ...] += 1
        return x

    check(deal_out, X, np.arange(29.0), ROWS)
    check(deal_out, X, np.arange(28.0), ROWS)
    check(deal_out, X, np.arange(29.0), ~ROWS)

    def nothing(x, v):
        x[x > 100] = v[:0]
        x[x < 0] = v
        return x

    check(nothing, X, np.arange(1.0))
    check(nothing, X, np.arange(2.0))


def test_errors_at_run_time_come_behind_what_was_written_before():
    def write(x, i):
        x[0] = -1
        x[i] = 5

    expected = X.copy()
    with pytest.raises(IndexError):
        write(expected, np.array([0, 3]))
    for backend in BACKENDS:
        x = X.copy()
        with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
            jit(write, backend=backend)(x, np.array([0, 3]))
        np.testing.assert_array_equal(x, expected)


def test_in_loops():
    def histogram(i, n):
        counts = np.zeros_like(i, shape=n)

        def step(k, counts):
            counts[i[k]] += 1
            counts[[i[k], 0]] += 1
            return counts

        return fori_loop(0, len(i), step, counts)

    def plain(i, n):
        counts = np.zeros(n, i.dtype)
        for k in i:
            counts[k] += 1
            counts[[k, 0]] += 1
        return counts

    i = np.array([3, 1, 1, 0, 2, 3, -1])
    for backend in BACKENDS:
        found = jit(histogram, backend=backend, static_argnames="n")(i, n=4)
        np.testing.assert_array_equal(found, plain(i, 4))
        with pytest.raises(IndexError, match="out of bounds"):
            jit(histogram, backend=backend, static_argnames="n")(i, n=3)


# --- ufunc.at ---


def test_ufuncs_at():
    def change(x, i):
        np.add.at(x, i, 1)
        np.multiply.at(x, (slice(None), i), 2.5)
        np.maximum.at(x, (0, i, 0), np.arange(4) * 20)
        np.negative.at(x, i)
        np.subtract.at(x, (slice(1, 3), [0, 0]), x[1:, 1:3])
        np.add.at(x, ROWS, 1)
        np.add.at(x, (0, 1), 1)
        return x

    check(change, X, I)
    check(change, X.astype(np.float32), I)

    def integers(n, i):
        np.add.at(n, i, i)
        np.minimum.at(n, i, np.array([300, 2**33, -(2**40), 1]))
        np.bitwise_xor.at(n, i, 3)
        np.floor_divide.at(n, i, 2)
        np.power.at(n, i, 2)
        np.add.at(n, i, True)
        np.add.at(n, i, 1.75)  # rounded towards zero after each step
        np.add.at(n, 0, 1.75)
        return n

    check(integers, np.arange(5, dtype=np.int32), I)
    check(integers, np.arange(5), I)
    check(lambda n, i: np.add.at(n, i, 1.5), np.arange(5) + 2**60 + 1, I)
    check(lambda x, i: np.ldexp.at(x, i, np.array([3, 4, 1, 2])), np.arange(5, dtype=np.float32), I)
    check(lambda x, i: np.add.at(x, i + 1, 1), X, I)
    check(lambda x, i: np.add.at(x, i, np.ones(3)), X, I)
    check(lambda x, i: np.divmod.at(x, i, 2), X, I)


# --- functions ---

K = np.array([[[0, 1]], [[2, -1]], [[3, 3]]])

FUNCTIONS = {
    "take": lambda x, i, k: np.take(x, i),
    "take axis": lambda x, i, k: (np.take(x, i, 1), np.take(x, k, axis=-1), x.take(i, axis=0)),
    "take wrap": lambda x, i, k: (x.take(i * 7 + 3, 2, mode="wrap"), x.take([-9, 9], 1, mode="wrap")),
    "take clip": lambda x, i, k: (x.take(i * 3, 2, mode="clip"), x.take([-9, 9], 1, mode="clip")),
    "take narrow": lambda x, i, k: (np.repeat(x, 20).take(i.astype(np.int8) * 40, mode="wrap"), x.take(i.astype(np.uint8) % 3)),
    "take scalars": lambda x, i, k: (x.take(3), x.take(i[0], axis=0), x.take(-1, 1)),
    "take lists": lambda x, i, k: (x.take([[1, 2]], axis=1), x.take([], 1)),
    "take out of range": lambda x, i, k: x.take(i * 3, 2),
    "take list out of range": lambda x, i, k: x.take([4], 1),
    "take floats": lambda x, i, k: x.take(i * 1.0),
    "take of nothing": lambda x, i, k: x[:0].take(i, 0),
    "take mode": lambda x, i, k: x.take(i, mode="other"),
    "take_along_axis": lambda x, i, k: (np.take_along_axis(x, k.transpose(0, 2, 1), 1), np.take_along_axis(x, k, 2)),
    "take_along_axis argmax": lambda x, i, k: np.take_along_axis(x, np.argmax(-x, axis=1, keepdims=True), 1),
    "take_along_axis flat": lambda x, i, k: np.take_along_axis(x, i, None),
    "take_along_axis stretched": lambda x, i, k: np.take_along_axis(x[:1], k, 2),
    "take_along_axis out of range": lambda x, i, k: np.take_along_axis(x, k, 0),
    "take_along_axis rank": lambda x, i, k: np.take_along_axis(x, i, 0),
    "take_along_axis floats": lambda x, i, k: np.take_along_axis(x, k * 1.0, 2),
    "choose": lambda x, i, k: (np.choose(abs(i), [i * 2.5, i, 7]), (i > 0).choose([x[0, 0, :4], i])),
    "choose wrap": lambda x, i, k: np.choose(i * 5, [i * 2.5, i, 7], mode="wrap"),
    "choose clip": lambda x, i, k: np.choose(i * 5, x[..., 1][:, :, None], mode="clip"),
    "choose out of range": lambda x, i, k: np.choose(i, [i * 2.5, i, 7]),
    "compress": lambda x, i, k: (np.compress(ROWS, x, 0), x.compress([0, 1, 1]), np.compress([True], x, 2)),
    "extract": lambda x, i, k: np.extract(np.arange(60) % 7 == 0, x),
    "delete": lambda x, i, k: (np.delete(x, 1, 1), np.delete(x, [0, -1], 2), np.delete(x, slice(0, 9, 3))),
    "delete by mask": lambda x, i, k: np.delete(x, ROWS, 0),
    "delete out of range": lambda x, i, k: np.delete(x, 7, 0),
    "insert": lambda x, i, k: (np.insert(x, 1, x[0, 0], 1), np.insert(x, [0, 3], [7, 8]), np.insert(x, slice(0, 2), 5, 0)),
    "insert several": lambda x, i, k: (np.insert(x, 2, [7, 8]), np.insert(x[0], 1, [1, 2, 3, 4], axis=1)),
    "unravel_index": lambda x, i, k: np.unravel_index(i * i * 11, (5, 3, 4)) + np.unravel_index(i * i, (5, 3), order="F"),
    "unravel_index out of range": lambda x, i, k: np.unravel_index(i * i * 30, (5, 3, 4)),
    "ravel_multi_index": lambda x, i, k: (
        np.ravel_multi_index((i * i, i + 1), (6, 4)), np.ravel_multi_index((i, i), (3, 4), mode=("clip", "wrap"), order="F"),
    ),
    "ravel_multi_index out of range": lambda x, i, k: np.ravel_multi_index((i, i), (3, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    check(FUNCTIONS[name], X, I, K)


def test_functions_that_write():
    def change(x, i, k):
        x.put(i, [-1, -2])
        np.put(x.T, [1, 1, 3], [5, 6, 7])
        np.put(x, i + 100, 3, mode="clip")
        np.put(x, [61, 62], [1, 2, 3], mode="wrap")
        np.put(x, i, [])
        np.put_along_axis(x, k, np.arange(2.0), 2)
        np.put_along_axis(x[:1], k, -1, 2)
        np.put_along_axis(x, i, 9, None)
        np.place(x, x > 20, [1, 2, 3])
        return x

    check(change, X, I, K)
    check(lambda x, i: np.put(x, i * 100, 1), X, I)
    check(lambda x, k: np.put_along_axis(x, k, 1, 0), X, K)
    check(lambda x, k: np.put_along_axis(x, k, np.zeros((5, 1, 2)), 2), X, K)


def test_out_argument():
    def into(x, i):
        out = np.zeros_like(x[:, :4, 0])
        np.take(x[..., 1], i, axis=1, out=out)
        return out

    check(into, X, I)


def test_tables_from_outside():
    """An ndarray that is not traced takes a traced index by way of phlox.numpy, as the message says."""
    table = np.arange(10.0) ** 2
    check(lambda i: np.take_along_axis(table, i, 0), I)
    for backend in BACKENDS:
        found = jit(lambda i: phlox.numpy.asarray(table)[i] + phlox.numpy.take(table, i), backend=backend)(I)
        np.testing.assert_array_equal(found, 2 * table[I])
    for index in (I, 1):
        found = jit(lambda i: np.sum(table[i]), backend="reference")(np.asarray(index))
        assert found == np.sum(table[index])


MASK = np.array([True, True, True, False])


@pytest.mark.parametrize("index", [lambda m: ([0, 1], m), lambda m: (m[1:], m), lambda m: ([0, 1], ~m & m)])
def test_masks_that_do_not_fit_beside_index_arrays(index):
    def read(x, m):
        return x[index(m)]

    def write(x, m):
        x[index(m)] = 1

    for function in (read, write):
        check(function, X[..., 0], MASK)
        with pytest.raises(IndexError, match="shape mismatch: indexing arrays could not be broadcast together"):
            jit(function)(X[..., 0].copy(), MASK)


@pytest.mark.parametrize("dtype", [complex, float, bool])
def test_several_values_in_an_element(dtype):
    def element(x, y):
        x[0] = y

    def from_list(x, y):
        x[0] = [y[0], y[1]]

    def fill(x, y):
        x.fill(y)

    for function in (element, from_list, fill):
        check(function, np.zeros(3, dtype), np.ones(2))


def test_vectors_in_place_of_matrices():
    def multiply(x, y):
        x @= y
        return x

    for first, second in (((3,), (3,)), ((3, 3), (3,)), ((3,), (3, 3)), ((2, 3, 3), (3, 3)), ((3, 3), (3, 3))):
        check(multiply, np.arange(float(np.prod(first))).reshape(first), np.eye(3)[0] if second == (3,) else 2 * np.eye(3))


@pytest.mark.parametrize("n", [5, 300, -1, 2**40])
def test_numbers_that_are_chosen_are_cast_as_arrays_are(n):
    def choose(x, y, n):
        return np.where(x > 0, n, x), np.where(x > 0, y, n), np.select([x > 1, x > 0], [x, n], n), np.where(x > 0, 300, x)

    for dtype in (np.int8, np.int64):
        x = np.array([1, -2, 3], dtype)
        for mine, wanted in zip(jit(choose)(x, x[::-1], n), choose(x, x[::-1], n)):
            assert mine.dtype == wanted.dtype
            np.testing.assert_array_equal(mine, wanted)
    with pytest.raises(TypeError, match="Cannot cast array data from dtype"):
        jit(lambda x: np.select([x > 0], [n], x))(np.ones(3, np.uint8))
