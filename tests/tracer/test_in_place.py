"""Changing arrays in place: views, aliases, arguments."""

from __future__ import annotations

import numpy as np
import pytest
from phlox import cond, fori_loop, jit


def check(function, *arguments):
    """The same result, and the same arguments afterwards, as with NumPy."""
    first = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    second = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    try:
        expected = function(*first)
    except (ValueError, TypeError) as error:
        with pytest.raises(type(error)):
            jit(function, backend="reference")(*second)
        return
    actual = jit(function, backend="reference")(*second)
    expected = expected if isinstance(expected, tuple) else (expected,)
    actual = actual if isinstance(actual, tuple) else (actual,)
    assert len(expected) == len(actual)
    for one, other in zip((*expected, *first), (*actual, *second)):
        if one is None:
            assert other is None
            continue
        assert np.shape(one) == np.shape(other) and np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(other, one)


X = np.arange(24.0).reshape(4, 6)
Z = X + 1j * X[::-1]

VIEWS = {
    "slice": lambda x: x[1:, ::2],
    "reversed": lambda x: x[::-1],
    "row": lambda x: x[2],
    "transpose": lambda x: x.T,
    "reshape": lambda x: x.reshape(2, 12),
    "flat": lambda x: x.reshape(-1),
    "ravel": lambda x: x.ravel(),
    "ravel of transpose": lambda x: x.T.ravel(),
    "reshape of transpose": lambda x: x.T.reshape(-1),
    "reshape of slice": lambda x: x[:, :3].reshape(-1),
    "split dimension": lambda x: x.T.reshape(2, 3, 4),
    "newaxis": lambda x: x[:, None],
    "expand_dims": lambda x: np.expand_dims(x, 1),
    "squeeze": lambda x: x[None].squeeze(),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "flip": lambda x: np.flip(x),
    "rot90": lambda x: np.rot90(x),
    "rot90 twice": lambda x: np.rot90(x, 2),
    "atleast_3d": lambda x: np.atleast_3d(x),
    "split": lambda x: np.split(x, 2)[1],
    "hsplit": lambda x: np.hsplit(x, 3)[1],
    "view": lambda x: x.view(),
    "real": lambda x: x.real,
    "asarray": lambda x: np.asarray(x, like=x),
    "ellipsis": lambda x: x[...],
    "chain": lambda x: x[1:].T[::2].reshape(3, 3),
    "flatten": lambda x: x.flatten(),
    "copy": lambda x: x.copy(),
    "astype": lambda x: x.astype(float),
    "astype without copy": lambda x: x.astype(float, copy=False),
    "roll": lambda x: np.roll(x, 1),
    "concatenate": lambda x: np.concatenate([x]),
    "broadcast": lambda x: np.broadcast_to(x, (2, 4, 6)),
    "diagonal": lambda x: x.diagonal(),
    "reshape to column order": lambda x: x.reshape(6, 4, order="F"),
    "order F of transpose": lambda x: x.T.reshape(-1, order="F"),
    "matrix transpose": lambda x: x.mT,
    "triangle": lambda x: np.tril(x),
    "imag": lambda x: x.imag,
    "repeat": lambda x: x.repeat(1),
    "positive": lambda x: +x,
    "iteration": lambda x: list(x)[1],
    "scalar index": lambda x: x[1, 1:2],
    "0-d": lambda x: x[1, 1, ...],
    "unstack": lambda x: np.unstack(x)[0],
    "nan_to_num": lambda x: np.nan_to_num(x),
    "ascontiguousarray": lambda x: x.T.reshape(4, 6),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_and_copies_do_not(name):
    view = VIEWS[name]

    def write_the_view(x):
        y = view(x)
        y[...] = -y - 1
        return y, x.sum()

    def write_the_base(x):
        y = view(x)
        x *= 2
        x[0] = 7
        return y

    check(write_the_view, X)
    check(write_the_base, X)


def test_parts_of_complex_arrays():
    def change(z):
        z.real[1:] = 5
        z.imag *= 2
        z.imag = z.imag + 1
        z.T.real[0] = np.arange(4)
        return z.real.sum()

    check(change, Z)
    check(change, X)


def test_operators_in_place():
    def change(x, n):
        y = x
        y += 1
        y -= x
        y *= 3
        x[1:] /= 2
        x[:, 0] **= 2
        x //= 2
        x %= 5
        n <<= 2
        n |= 1
        n &= ~2
        n ^= 5
        n >>= 1
        return y, n

    check(change, X, np.arange(5))


def test_scalars_are_rebound_not_changed():
    def change(x):
        s = x.sum()
        t = s
        t += 1
        a = x[0, 0]
        a *= 5
        return s, t, a, x

    check(change, X)

    def write(x):
        s = x.sum()
        s[...] = 1

    check(write, X)

    def zero_dimensional(x):
        a = np.zeros_like(x, shape=())
        b = a
        a += 1
        a[()] = a * 3
        b[...] += 1
        return a, b

    check(zero_dimensional, X)


def test_functions_that_write():
    def change(x):
        y = np.empty_like(x)
        np.copyto(y, x)
        np.copyto(y, 0, where=x > 10)
        np.copyto(y[0], x[1, ::-1])
        y[1].fill(3)
        np.add(y, 1, out=y)
        np.sin(x[2], out=x[2], where=x[2] > 13)
        np.fill_diagonal(y, -1)
        np.putmask(y, y > 8, 8)
        np.putmask(y, x.reshape(-1) < 2, [6, 7])
        np.cumsum(x[3], out=y[3])
        np.clip(y, 0, 5, out=y)
        np.clip(x[0], 1, 2, out=y[2:])
        np.matmul(x, x.T, out=x[:, :4])
        return y

    def reduce_into_own_operand(x):
        np.sum(x, axis=0, out=x[0])
        x.mean(axis=1, out=x[:, 0])
        return x

    check(change, X)
    check(reduce_into_own_operand, X)
    check(lambda x: np.copyto(x, 1j), X)
    check(lambda x: np.add(x, 1, out=np.broadcast_to(x, (2, 4, 6))), X)
    check(lambda x: np.nan_to_num(x, copy=False), np.array([np.nan, 1, np.inf]))


@pytest.mark.parametrize(
    "view", [lambda x: x.view(np.matrix), lambda x: x.view(type=np.recarray), lambda x: x.view(int, np.matrix)]
)
def test_views_as_subclasses_are_refused(view):
    with pytest.raises(NotImplementedError, match="a subclass of numpy.ndarray"):
        jit(view)(np.ones((2, 2)))


def test_views_of_another_dtype():
    def change(x):
        bits = x.view(np.int64)
        bits[0] = 0
        bits ^= np.int64(1) << 63
        return x

    check(change, X)


def test_arguments_are_changed_for_the_caller():
    x = np.arange(6.0)

    @jit(backend="reference")
    def change(x, y):
        view = x.reshape(2, 3).T
        view[0] = y
        return y

    y = np.array([8.0, 9.0])
    assert change(x, y) is not None
    np.testing.assert_array_equal(x, [8, 1, 2, 9, 4, 5])
    np.testing.assert_array_equal(y, [8, 9])


def test_read_only_views():
    for view in (lambda x: np.broadcast_to(x, (2, 4, 6)), lambda x: x.diagonal(), lambda x: x.imag):

        def write(x, view=view):
            view(x)[0] = 1

        check(write, X)


def test_writing_to_arrays_made_by_numpy_says_what_to_do():
    def change(x):
        out = np.zeros(4)
        out[0] = x[0, 0]
        return out

    with pytest.raises(TypeError, match="phlox.numpy.zeros"):
        jit(change, backend="reference", control_flow="trace")(X)
    with pytest.raises(TypeError, match="empty_like"):
        jit(lambda x: np.add(x, 1, out=np.zeros((4, 6))), backend="reference", control_flow="trace")(X)


def test_in_loops_and_branches():
    @jit(backend="reference")
    def relax(u):
        v = u[1:-1]

        def step(i, carry):
            v[...] = (u[:-2] + u[2:]) / 2
            u[0] += i
            return carry + v.sum()

        return fori_loop(0, 3, step, 0.0)

    def plain(u):
        v, carry = u[1:-1], 0.0
        for i in range(3):
            v[...] = (u[:-2] + u[2:]) / 2
            u[0] += i
            carry = carry + v.sum()
        return carry

    first, second = np.arange(6.0) ** 2, np.arange(6.0) ** 2
    np.testing.assert_allclose(relax(first), plain(second))
    np.testing.assert_allclose(first, second)

    @jit(backend="reference")
    def branch(x, flag):
        row = x[1]

        def zero():
            row[...] = 0
            return x.sum()

        def double():
            x[...] = x * 2
            return row.sum()

        return cond(flag, zero, double)

    for flag in (True, False):
        x, y = X.copy(), X.copy()
        if flag:
            y[1] = 0
            expected = y.sum()
        else:
            y *= 2
            expected = y[1].sum()
        assert branch(x, flag) == expected
        np.testing.assert_array_equal(x, y)


def forwards(x, begin, end):
    for i in range(begin, end):
        x[i] += x[i - 1]


def backwards(x, begin, end):
    for i in range(end, begin, -1):
        x[i - 1] = x[i] * 2


def in_a_row_of_rounds(x, begin, end):
    for k in range(len(x)):
        i = 2 * k + begin
        if i < end:
            x[i] = x[k] + x[-i]


def counted(x, begin, end):
    i = begin
    while i < end:
        x[i] = i
        i += 3


def carried(x, begin, end):
    last = 0
    for i in range(len(x)):
        x[last] += 1
        last = i * begin
    return x[last - end]


def bound_again(x, begin, end):
    for i in range(3):
        i += begin
        x[i] = i
        i -= 2 * end
        x[i] = i


@pytest.mark.parametrize("function", [forwards, backwards, in_a_row_of_rounds, counted, carried, bound_again])
@pytest.mark.parametrize("bounds", [(0, 40), (1, 41), (-3, 5), (-45, 3), (7, 60), (2, 39)])
def test_places_that_loops_compute(function, bounds):
    """Whether an index is in range is asked only where that does not follow from the rounds."""
    outcomes = []
    for called in (function, jit(function)):
        x = np.arange(40.0)
        try:
            outcomes.append((called(x, *bounds), x))
        except IndexError as error:
            outcomes.append((str(error), x))
    assert outcomes[1][0] == outcomes[0][0]
    np.testing.assert_array_equal(outcomes[1][1], outcomes[0][1])


def test_loops_over_all_places_need_no_checks():
    def smooth(x):
        for i in range(1, len(x) - 1):
            for j in range(1, x.shape[1] - 1):
                x[i, j] = (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]) / 4

    assert not jit(smooth).trace(np.ones((30, 40)))._recording.error_messages


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3)])
@pytest.mark.parametrize("values", [np.arange(1.0, 5.0), np.array([7.0, 8.0]), np.arange(9), [1, 2, 3], np.full((2, 2), 3.0)])
def test_a_diagonal_is_filled_with_values(shape, values):
    def f(x, values):
        a = np.zeros(shape) + x
        np.fill_diagonal(a, values)
        return a

    np.testing.assert_array_equal(jit(f)(1.0, values), f(1.0, values))
    np.testing.assert_array_equal(jit(lambda x: f(x, values))(1.0), f(1.0, values))


def doubled(x, y):
    x[1::3] *= 2


def from_what_is_left(x, y):
    x[1:-1:2] = x[:-2:2] + x[2::2]


def from_what_is_written(x, y):
    x[::4] = x[::4][::-1] + y[::4]


def from_both(x, y):
    x[::2] += x[1::2] * y[::2]
    x[1::2] -= x[::2]


def across(x, y):
    x[:, ::5] += y[:, ::5]
    x[::4, 1::2] = x[1:2, 1::2]
    x[::3] = x[3]
    x[::-5] = x[0]


def kept_as_it_was(x, y):
    before = x + 0
    x[::6] = y[::6]
    x[2::7] = 1
    return before - x


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.complex64])
@pytest.mark.parametrize("function", [doubled, from_what_is_left, from_what_is_written, from_both, across, kept_as_it_was])
def test_writing_with_steps(function, dtype):
    random = np.random.default_rng(3)
    for shape in [(20,), (302,), (10, 8), (62, 34)]:
        if len(shape) == 1 and function is across:
            continue
        x, y = (random.integers(-9, 9, shape).astype(dtype) for _ in range(2))
        x = x[:-1].copy() if function is from_what_is_left else x
        outcomes = []
        for called in (function, jit(function)):
            written = x.copy()
            outcomes.append((written, called(written, y)))
        np.testing.assert_array_equal(outcomes[1][0], outcomes[0][0])
        if outcomes[0][1] is not None:
            np.testing.assert_array_equal(outcomes[1][1], outcomes[0][1])
