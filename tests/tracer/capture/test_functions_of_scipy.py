"""Functions of scipy.special that are written in Python: their source is followed where they are given traced values."""

import numpy as np
import pytest
from phlox import TracerError, jit

special = pytest.importorskip("scipy.special")

TABLE = np.random.default_rng(0).normal(size=(3, 4))
LIMITS = np.array([[np.inf, 1, 2, 3], [1, -np.inf, np.nan, 0], [-np.inf, -np.inf, -np.inf, -np.inf], [np.inf, -np.inf, 0, 1]])
WEIGHTS = np.array([[1.0], [-1], [0]])
LINE = np.linspace(-2, 3, 7)
COUNTS = np.arange(-2, 6)


def called(function, arguments):
    try:
        with np.errstate(all="ignore"):
            return function(*arguments)
    except Exception as error:
        return error


def check(function, *arguments):
    expected, found = called(function, arguments), called(jit(function), arguments)
    if isinstance(expected, Exception):
        assert type(found) is type(expected)
        return
    expected, found = ((one if isinstance(one, tuple) else (one,)) for one in (expected, found))
    for one, other in zip(found, expected, strict=True):
        assert type(one) is type(other), one
        assert one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-5 if one.dtype.char in "fF" else 1e-13)


@pytest.mark.parametrize("axis", [None, -1, (0, 1)])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["no weights", "weights"])
def test_logsumexp(axis, weights):
    for keepdims, return_sign in ((False, False), (True, True)):

        def function(a, b, keepdims=keepdims, return_sign=return_sign):
            return special.logsumexp(a, axis=axis, b=b, keepdims=keepdims, return_sign=return_sign)

        check(function, TABLE, weights)
        check(function, LIMITS[:3], weights)


@pytest.mark.parametrize(
    "a",
    [TABLE.astype(np.float32), TABLE + 1j * TABLE[::-1], COUNTS, np.array(2.5), 3, np.zeros((0, 3)), TABLE[:, ::2]],
    ids=lambda a: f"{type(a).__name__}{getattr(a, 'dtype', '')}{np.shape(a)}",
)  # fmt: skip
def test_logsumexp_of_other_types(a):
    check(lambda a: special.logsumexp(a), a)
    check(lambda a: special.logsumexp(a, axis=0, return_sign=True), a)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name):
    function = getattr(special, name)
    for axis in (None, 1):
        for a in (TABLE, LIMITS, TABLE.astype(np.float32)):
            check(lambda a, axis=axis: function(a, axis=axis), a)
    for a in (2.5, COUNTS):
        check(lambda a: function(a), a)


FUNCTIONS = {
    "comb": lambda n: (special.comb(n, 2), special.comb(n + 2, n), special.comb(n, 2.5, repetition=True)),
    "perm": lambda n: (special.perm(n, 2), special.perm(5, n)),
    "factorial": lambda n: special.factorial(n),
    "multigammaln": lambda n: special.multigammaln(n + 9, 3),
    "zeta": lambda n: (special.zeta(n), special.zeta(n, 2.5)),
    "lambertw": lambda n: (special.lambertw(n), special.lambertw(n, -1)),
    "polygamma": lambda n: (special.polygamma(2, n), special.polygamma(1, n + 5)),
    "softplus": lambda n: special.softplus(n),
    "spherical": lambda n: (special.spherical_jn(2, n), special.spherical_kn(1, n, True), special.spherical_yn(1, n + 0.5j)),
    "derivatives": lambda n: (special.jvp(1.5, n), special.kvp(1, n, 2), special.h1vp(1, n), special.yvp(1, n, 0)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "n", [LINE, COUNTS, COUNTS.astype(np.float32).reshape(2, 4), 3],
    ids=lambda n: f"{type(n).__name__}{getattr(n, 'dtype', '')}{np.shape(n)}",
)  # fmt: skip
def test_other_functions(name, n):
    check(FUNCTIONS[name], n)


def test_what_is_required_is_checked():
    with pytest.raises(ValueError, match=r"\(1.0\) not met"):
        jit(lambda a: special.multigammaln(a, 3))(LINE)
    with pytest.raises(ValueError, match="d should be a positive integer"):
        jit(lambda a: special.multigammaln(a, 2.5))(LINE + 9)


def test_within_loops():
    def program(x, n):
        total = 0.0
        for i in range(n):
            total += special.softmax(x[i]).max() + special.comb(i + 4, 2)
        return total

    np.testing.assert_allclose(jit(program)(TABLE, 3), program(TABLE, 3), rtol=1e-13)

    def levels(x, n):
        return np.array([special.hermite(k)(x) for k in range(n)])

    np.testing.assert_allclose(jit(levels)(LINE, 3), levels(LINE, 3), rtol=1e-13)  # of rounds whose number is known


def test_what_is_not_there_in_a_loop_is_named():
    def at_most(x):
        total = 0
        for k in range(int(x.sum())):
            total += np.min_scalar_type(x[k]).itemsize
        return total

    with pytest.raises(NotImplementedError, match="np.min_scalar_type is not implemented"):
        jit(at_most)(LINE)


def test_exact_integers_are_of_numbers_that_are_known():
    f = jit(lambda n: special.comb(n, 2, exact=True))
    assert f(5) == 10 and f(50) == 1225


def test_arrays_of_functions_that_are_not_followed():
    with pytest.raises((TracerError, NotImplementedError), match="scipy.special"):
        jit(lambda x: special.sph_harm_y(2, 1, x, x))(LINE)
