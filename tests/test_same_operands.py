"""One value in several places: as the operand, the index and the update of a write, as two elements of a state or a tuple.

What is written in place must not be read afterwards under another name.
"""

import numpy as np
import pytest
from phlox import cond, fori_loop, jit, scan, while_loop

X = np.array([5.0, 3.0, 1.0, 4.0, 2.0])
P = np.array([3, 0, 2, 1, 4])
M = np.arange(12.0).reshape(3, 4)


def overwritten_by_itself(x, i):
    y = np.sort(x)
    y[i] = y
    return y


def added_to_itself(x, i):
    y = x * 2
    np.add.at(y, i, y)
    return y


def greater_of_itself(x, i):
    y = x - 3
    np.maximum.at(y, i, y)
    return y


def permuted_by_itself(x, i):
    p = i * 1
    p[p] = p
    return p


def positions_of_positions(x, i):
    p = i + 0
    p[p[p]] = p
    return p, p[p]


def inverse_in_place(x, i):
    order = np.argsort(x)
    order[order] = np.arange(5)
    return order


def shifted_onto_itself(x, i):
    y = x * 1
    y[1:] += y[:-1]
    y[:-1] = y[1:]
    return y


def reversed_onto_itself(x, i):
    y = x + 1
    y[:] = y[::-1]
    y[::-1] = y
    return y


def every_other_onto_the_rest(x, i):
    y = np.concatenate([x, x])
    y[::2] = y[1::2]
    y[5:] = y[:5]
    return y


def square_of_itself(x, i):
    y = x + 1
    y *= y
    np.subtract(y, y[::-1], out=y)
    return y


def rows_of_a_matrix(x, i):
    m = x[:, None] * x
    m[i] = m
    m[:, i] = m
    m[i, i] = m[0]
    return m


def transposed_onto_itself(x, i):
    m = np.outer(x, x + 1)
    m[...] = m.T
    m += m.T
    return m


def masked_by_itself(x, i):
    y = x - 3
    y[y > 0] = -y[y > 0]
    np.putmask(y, y < -1, y[::-1])
    return y


def diagonal_from_a_row(x, i):
    m = np.outer(x, x)
    d = m[0]
    m[np.arange(5), np.arange(5)] = d
    np.add.at(m, (i, i), d)
    return m


def accumulated_in_a_loop(x, i):
    def step(k, y):
        y = np.sort(y)
        y[i] = y
        np.add.at(y, i, y)
        return y

    return fori_loop(0, 4, step, x * 1)


def one_array_twice_in_the_state(x, i):
    def step(k, state):
        a, b = state
        a[i] = b
        return a * 0.5, a + b

    y = np.sort(x)
    return fori_loop(0, 3, step, (y, y * 1))


def exchanged_in_while(x, i):
    y = x * 3
    result = while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[2], s[1] + s[2], s[1]), (0, y, y, y))
    return result[1], result[2], result[3]


def written_in_scan(x, i):
    def step(carry, row):
        carry = np.sort(carry) + 0
        carry[i] = carry + row
        return carry, carry

    return scan(step, x - 1, np.stack([x, x, x]))


def written_in_a_branch(x, i):
    y = np.sort(x)

    def one():
        y[i] = y
        return y.sum()

    def two():
        y[:] = y[::-1]
        return y[0]

    return cond(x[0] > 4, one, two), y


def view_and_base(x, i):
    m = (x[:4] * 1).reshape(2, 2)
    flat = m.reshape(-1)
    flat[i[:4] % 4] = flat
    m[0] = m[:, 0]
    return m, flat


def set_and_read_in_turn(x, i):
    y = np.sort(x)
    z = y[i]
    y[i] = z
    z[i] = y
    return y, z, y + z


def moved_to_other_rows(x, i):
    m = np.stack([x, x + 1, x + 2])
    m[[2, 0, 1]] = m
    m[[0, 1]] = m[[1, 0]]
    np.minimum.at(m, [0, 0, 1], m)
    return m


PROGRAMS = [value for value in list(globals().values()) if getattr(value, "__module__", None) == __name__]


def flattened(value):
    return [leaf for element in value for leaf in flattened(element)] if isinstance(value, tuple) else [np.asarray(value)]


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_numpy_programs(program, backend):
    """Control flow runs as Python where nothing is traced, so the function itself says what is right."""
    for x, i in ((X, P), (X[::-1].copy(), np.array([1, 1, 3, 0, 1]))):
        ours, theirs = (x.copy(), i.copy()), (x.copy(), i.copy())
        actual, expected = jit(program, backend=backend)(*ours), program(*theirs)
        for mine, wanted in zip(flattened((actual, ours)), flattened((expected, theirs)), strict=True):
            assert mine.dtype == wanted.dtype
            np.testing.assert_array_equal(mine, wanted)
