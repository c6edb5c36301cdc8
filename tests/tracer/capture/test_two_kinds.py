"""Values of two kinds beside each other, and names of which two may hold one value: as the undecorated function has it."""

import copy
from collections import deque, namedtuple

import numpy as np
import pytest
from phlox import TracerError, jit

RECORDS = np.dtype([("a", "f8"), ("b", "i4")])
Pair = namedtuple("Pair", "first second")
# Of x the first, the second and all are asked about: each case goes both ways.
ARGUMENTS = [np.array([1.0, 2.0, -3.0, 4.0]), np.array([-2.0, 2.0, -3.0, 4.0]), np.array([2.0, 0.0, 0.0, 1.0])]

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def is_same(expected, found):
    if type(expected) is not type(found):
        return False
    if isinstance(expected, (tuple, list, deque)):
        return len(expected) == len(found) and all(map(is_same, expected, found))
    if isinstance(expected, np.ndarray):
        return expected.dtype == found.dtype and np.array_equal(expected, found)
    return expected == found


def outcome(function, x):
    try:
        return function(x)
    except (TypeError, ValueError) as error:
        return type(error)


@case
def array_or_none_changed_in_place(x):
    v = x.copy() if x[0] > 0 else None
    w = v
    if v is not None:
        w += 1
        return v, w, v is w
    return None


@case
def array_or_none_multiplied(x):
    v = None
    for i in range(3):
        if x[i] > 0:
            v = x + i
    w = v
    w *= 2
    w -= x
    return v, w


@case
def list_or_none_extended(x):
    v = [x[0], 2.0] if x[0] > 0 else None
    w = v
    if w is not None:
        w += [x[1]]
    return v


@case
def number_in_integer(x):
    return 2 in int(x[0])


@case
def number_in_scalar(x):
    return 2.0 in x.sum()


@case
def truth_of_records(x):
    r = np.zeros(3, RECORDS)
    r["a"] = x[:3]
    return 1 if r else 0


@case
def class_of_selection(x):
    d = deque(x.tolist())
    d.append(x[0])
    return x[x > 0].__class__.__name__, d.__class__ is deque


@case
def open_list_beside_arrays(x):
    found = []
    for v in x:
        if v > -5:
            found.append(v)
    return found == x[0], found == x, found != np.float64(2), x == found, found == 2.0


@case
def open_list_beside_another_shape(x):
    found = []
    for v in x:
        if v > 0:
            found.append(v)
    return found == x


@case
def list_beside_complex(x):
    z = complex(x[0], x[1])
    return [1.0, 2.0] == z, (1.0, 2.0) != z


@case
def scalar_times_deque(x):
    n = np.int64(x[0])
    return n * deque([1.0, 2.0]), n * Pair(1.0, 2.0), Pair(1.0, x[1]) * n


@case
def one_of_two_dtypes(x):
    i = int(x[0]) % 2
    y = (x.astype(np.float32), x.astype(complex))[i]
    return y * 2, y.dtype.itemsize, y.sum()


@case
def deleted_element(x):
    del x[0]


@case
def deleted_element_of_number(x):
    n = x.sum()
    del n[0]


@case
def found_or_none_is(x):
    found = x if x[0] > 0 else None
    return found is x, x is not found, found is None


@case
def one_of_two_is(x):
    y = x * 2
    a = x if x[0] > 0 else y
    b = a if x[1] > 0 else x
    return a is x, a is y, b is x, b is a, b is y


@case
def copied_on_one_side_is(x):
    v = x * 2
    w = v
    if x[0] > 0:
        w = copy.copy(v)
    return w is v, w


@case
def exchanged_is(x):
    y = x + 1
    if x[0] > 0:
        x, y = y, x
    return x is y, x is not y


@case
def class_attributes(x):
    v = x * 2
    either, count = "yes" if x[0] > 0 else 2.0, int(x[0])

    class Holder:
        values = v
        other = either
        both = [x[0], x[1]]
        number = count

    Holder.number += 1
    return Holder.values, Holder.other, Holder.both, Holder.number, Holder().values[0]


@case
def array_or_none_beside_numbers(x):
    v = x if x[0] > 0 else None
    return v == 2.0, v != 2.0, v == [1.0, 2.0, -3.0, 4.0], np.float32(2) != (x[0] if x[0] > 0 else None)


@case
def hash_of_array_or_number(x):
    v = x if x[0] > -5 else None
    return hash(v)


@pytest.mark.parametrize("name", CASES)
def test_as_undecorated(name):
    decorated = jit(CASES[name])
    for x in ARGUMENTS:
        expected, found = outcome(CASES[name], x.copy()), outcome(decorated, x.copy())
        assert is_same(expected, found), (expected, found)


def test_identity_that_a_loop_decides_is_refused():
    @jit
    def best_is_first(x):
        best = x
        for i in range(40):
            if x[i % 4] < 0:
                best = x * i
        return best is x

    with pytest.raises(TracerError, match=r"whether an array is another one \(by `is`\)"):
        best_is_first(ARGUMENTS[0])
