"""x[mask]: arithmetic, assignment and reductions of selected elements, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from phlox import ConcretizationError, jit

X = np.arange(12.0).reshape(3, 4) - 5


def check(function, *arguments):
    first = [np.copy(a) for a in arguments]
    second = [np.copy(a) for a in arguments]
    try:
        expected = function(*first)
    except (ValueError, TypeError, IndexError) as error:
        with pytest.raises(type(error)):
            jit(function, backend="reference")(*second)
        return
    actual = jit(function, backend="reference")(*second)
    expected = expected if isinstance(expected, tuple) else (expected,)
    actual = actual if isinstance(actual, tuple) else (actual,)
    for one, other in zip((*expected, *first), (*actual, *second), strict=True):
        assert np.shape(one) == np.shape(other) and np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(other, one, rtol=1e-14)


def test_few_exponents_are_not_powers():
    """As in NumPy's ``**``; a power of complex numbers takes many times as long."""

    def change(z):
        z[abs(z) < 2] = z[abs(z) < 2] ** 2 + 1
        return z[abs(z) < 3] ** -1

    check(change, X + 1j * X.T.ravel().reshape(3, 4))
    assert " power(" not in jit(change).lower(X + 1j * X).as_text()


def test_arithmetic_and_assignment():
    def change(x):
        x[x < 0] *= -2
        y = x * 3
        chosen = x > 4
        y[chosen] = x[chosen] + 1
        y[x <= 4] += x[x <= 4] ** 2
        y[chosen] = 1 / y[chosen] - x[chosen] * x[chosen]
        return y

    check(change, X)


def test_a_selection_is_a_copy():
    def change(x):
        chosen = x > 0
        part = x[chosen]
        part += 100
        x[...] = 1
        chosen[...] = False
        x[x > 0] = 7
        return part.sum(), x

    check(change, X)


def test_what_is_changed_through_a_view():
    def change(x):
        y, z = x[x > 0], x[x < 0]
        part = y[1:]
        part += 100
        y.real[0] = 50
        z[::2] *= 3
        for k in range(2):
            z[1:][k] += 7
        return y + 1, y.sum(), part, z.astype(np.float32), z.max()

    check(change, X)


def test_reductions():
    def reduce(x):
        m = x > 1
        return (
            x[m].sum(), x[m].mean(), np.max(x[m]), x[m].min(), x[m].size + 0, np.add.reduce(x[m]), np.std(x[m]),
            x[m].var(ddof=1),
            np.sum(np.sqrt(x[m])), np.add(2, x[m]).sum(), (x[0, 0] + x[m]).prod(), (x[m] > 3).any(), np.all(x[m] > 0),
            -x[m].max(),
        )  # fmt: skip

    check(reduce, X)


def test_masks_of_leading_dimensions():
    def rows(x, chosen):
        x[chosen] += np.arange(4)
        return x[chosen].sum(axis=0), x[chosen].mean(), x[chosen].max(0), (x[chosen] * x[0]).sum(), (x[chosen] - x[:1]).sum()

    check(rows, X, np.array([True, False, True]))


def test_integers():
    def change(x):
        n = x.astype(int)
        part = n[n > 0]
        part += 1
        n[n > 0] //= 2
        n[n != 0] = 2 ** abs(n[n != 0])
        return n, part.sum(), (n[n > 0] ** n[n > 0]).sum()

    check(change, X)

    def wrong_dtype(x):
        n = x.astype(int)
        n[n > 0] *= 1.5

    check(wrong_dtype, X)


def test_an_empty_selection_has_no_maximum():
    check(lambda x: x[x > 1000].max(), X)
    check(lambda x: x[x > 1000].sum(), X)
    check(lambda x: x[x > 1000].max(initial=3), X)


def test_wrong_masks():
    check(lambda x: x[np.ones(4, bool)].sum(), X)
    check(lambda x: x[np.ones((3, 4, 1), bool)].sum(), X)


def test_what_needs_the_elements_themselves():
    """They are moved together."""

    def assigned(x, value):
        x[x > 0] = value
        return x

    for function in (
        lambda x: x[x > 0][0], lambda x: x[x > 0] + x[x > 1], lambda x: np.cumsum(x[x > 0]), lambda x: x[x > 0] + np.arange(6),
        lambda x: x[x > 0] + np.arange(7), lambda x: assigned(x, x[x < 0]), lambda x: assigned(x, x[x < 1]),
        lambda x: x[:, x[0] > -4], lambda x: x[x > 0].shape, lambda x: x[x > 0],
    ):  # fmt: skip
        check(function, X)


def test_what_python_needs_is_refused():
    with pytest.raises(ConcretizationError):
        jit(lambda x: 1 if x[x > 0] else 0, backend="reference")(X)


def test_changes_before_and_after_the_elements_are_moved_together():
    def change(x):
        part = x[x > 0]
        part += 1
        part[0] = 10
        part *= 2
        part[part > 15] -= 1
        tail = part[1:]
        tail += 0.5
        return part, part.sum(), x

    check(change, X)
