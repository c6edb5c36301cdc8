"""Forms of NumPy's functions that few use, and what they raise: decorated as undecorated."""

import copy
import re

import numpy as np
import pytest
from jitted_calls import assert_same
from phlox import jit

X, ROW, PAIR = np.array([0.0, 3, 2, 5]), np.array([1, 2, 4]), np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]])
U8, I8 = np.array([3, 2, 1], np.uint8), np.array([-128, 127], np.int8)
NOWHERE = np.array([1.5]), np.array([1.0, 2]), np.array([-1j * np.inf, -1j * np.inf])


def _pad_by_mean(vector, pad_width, iaxis, kwargs):
    vector[: pad_width[0]] = vector[pad_width[0] : -pad_width[1]].mean() + iaxis
    vector[-pad_width[1] :] = kwargs["last"]


CASES = [
    (lambda a, d: np.gradient(a, d), (ROW, U8)),
    (lambda a, d: np.gradient(a, d), (np.array([-1, 1], np.int8), I8)),
    (lambda x, xp, fp: np.interp(x, xp, fp), NOWHERE),
    (lambda x, xp, fp: np.interp(x, xp, fp), (X, np.array([1.0, 2, 3, 4]), np.array([1, 2 + 1j, np.inf + 0.5j, 4]))),
    (lambda x, xp, fp: np.interp(x, xp, fp, 1j, 2), (X, np.array([1.0, 2, 3]), np.array([1, 2 + 1j, 3]))),
    (lambda a: np.place(a, [1, 0, 1, 0], []), (X,)),
    (lambda a: np.place(a, [0, 0, 0, 0], []), (X,)),
    (lambda a: np.digitize(a, [1j]), (X,)),
    (lambda a: np.trim_zeros(a), (PAIR,)),
    (lambda a: np.trim_zeros(a, "f", axis=1), (PAIR,)),
    (lambda a: np.trim_zeros(a, "b"), (PAIR * 0,)),
    (lambda a: np.pad(a, 1, mode="mean", stat_length=-2), (X,)),
    (lambda a: np.unique(a, axis=0), (np.zeros((0, 2)),)),
    (lambda a: np.unique(a, axis=1), (np.zeros((0, 2)),)),
    (lambda a: np.unique(a, axis=0, return_index=True, return_inverse=True, return_counts=True), (np.zeros((2, 0)),)),
    (lambda a: np.isin(a, [1, 2], kind="bogus"), (X,)),
    (lambda a: np.isin(a, [1, 2], kind="table"), (X,)),
    (lambda a: np.ediff1d(a, to_end=np.nan), (ROW,)),
    (lambda a: np.ediff1d(a, to_begin=7), (ROW.astype(np.int8),)),
    (lambda a: np.rot90(a.reshape(2, 2), axes=(0, 2)), (X,)),
    (lambda a: np.cov(a, ddof=2.5), (X,)),
    (lambda a: np.percentile(a, [25, 50]), (ROW,)),
    (lambda a: np.isclose(a, 2, atol=0, rtol=(1 - 2.0**-52) / 2), (np.ones(1, np.float32),)),
    (lambda a: a.item(100), (X,)),
    (lambda a: a.reshape(2, 2).T.item(1), (X,)),
    (lambda a: _stored(np.zeros((2, 2)), (1, 0), a), (X[:1],)),
    (lambda a: _stored(np.zeros((2, 2)), (1, 0, ...), a), (X[:1],)),
    (lambda a: _stored(np.zeros((2, 2)), (1, slice(1)), a), (X[:1],)),
    (lambda a: float(a), (X[:1],)),
    (lambda a, b: np.concatenate([a, b, 2], axis=None), (U8, 7)),
    (lambda a: np.concatenate([a, 1.5], axis=None), (np.ones(2, np.float32),)),
    (lambda a: [np.r_[a, 1.5], np.c_[a, 1.5], np.r_[1:2, a]], (np.ones(1, np.float32),)),
    (lambda a: [np.choose([0, 1], [a, 1.5]), np.choose(1, [a[0], 2])], (np.ones(2, np.float32),)),
    (lambda a: np.put(a, 0, 300), (I8.copy(),)),
    (lambda a: np.compress([1, 0], a, out=np.zeros(1)), (np.ones(2, np.float32),)),
    (lambda a: np.ptp(a, out=np.zeros((), np.int8)), (X,)),
    (lambda a: np.round(a, 1, out=np.zeros(4, np.int8)), (X,)),
    (lambda a, b: a * b[0], ([1, 2], X)),
    (lambda a, b: (1, a) * b[0], (3, ROW)),
    (lambda a: np.subtract(a, 2, out=np.ones(4), where=[1, 0, 0, 1]), (X,)),
    (lambda a: np.add(a, 0.5, sig="i", casting="unsafe"), (X,)),
    (lambda a: np.add(a, 0.5, signature=1.5), (X,)),
    (lambda a: [np.add.accumulate(a, axis=None), np.add.reduceat(a, [0, 2], axis=None)], (X,)),
    (lambda a: np.add.accumulate(a, axis=None), (X.reshape(2, 2),)),
    (lambda a: a + [np.arange(stop=3), np.arange(start=1, stop=4)], (ROW,)),
    (lambda a: [(a % 3).choose(a, a + 1, a + 2), (a % 3).choose([a, a + 1, a + 2])], (ROW,)),
    (lambda a: np.putmask(a, [True], 5), (X,)),
    (lambda a: np.tensordot(a, a, axes=(range(1), [0])), (X,)),
    (lambda a: [np.flip(a, range(2)), np.roll(a, 1, range(2)), np.median(a, range(2))], (PAIR,)),
    (lambda a: [np.expand_dims(a, [0, 1]), np.moveaxis(a, np.array([0, 1]), range(1, -1, -1))], (PAIR,)),
    (lambda a: [np.gradient(a, axis=range(2)), np.fft.fftshift(a, range(2))], (PAIR * 1.0,)),
    (lambda a: [np.append(a, range(2)), np.dot(a[:2], range(2)), np.bincount(range(3), a[:3])], (X,)),
    (lambda a: [np.pad(a, range(2)), np.array_split(a, range(1, 3))], (X,)),
    (lambda a: [np.ones(a), np.full(a, 2)], (np.array([], int),)),
    (lambda a: np.dot(a, a.T, out=np.zeros((3, 3), order="F")), (PAIR * 1.0,)),
    (lambda a: np.dot(a, a.T, out=np.zeros((3, 3), np.float32)), (PAIR * 1.0,)),
    (lambda a: np.zeros_like(a, device="gpu"), (X,)),
    (lambda a: np.matmul(a, a[0, :2], axes=[(1, 0), (0), (0)]), (PAIR[:2],)),
    (lambda a: np.vecdot(a, a, axes=[-1]), (PAIR,)),
    (lambda a: np.vecdot(a, a, axes=[0, 1], keepdims=True), (PAIR,)),
    (lambda a: np.vecdot(a, a, axes=[0, 1, 0], keepdims=True), (PAIR,)),
    (lambda a: np.vecdot(a, a, axes=[0, 1, 0]), (PAIR,)),
    (lambda a: np.vecdot(a, a, out=np.zeros((2, 3), int)), (PAIR,)),
    (lambda a: int(a.reshape(())), (X[:1],)),
    (lambda a: [np.full(3, a, np.uint8), np.full_like(np.zeros(2, np.int8), a)], (-300.0,)),
    (lambda a: np.array([a[0], 1], np.uint8), (np.array([300.0]),)),
    (lambda a: np.array([a[0], 1], np.int32), (np.array([3e10]),)),
    (lambda a: _filled(np.zeros(2, np.int32), a[0]), (np.array([3e10]),)),
    (lambda a: _filled(np.zeros(2), a), (X[:1],)),
    (lambda a, n: a.reshape(n), (X, -1)),
    (lambda a, n, m: a.reshape(n, m), (X, 1, -1)),
    (lambda a, n: np.unwrap(a, period=n), (np.array([0, 75, 150, 225, 45]), 255)),
    (lambda a, b, p: np.interp(0, a, b, period=p), ([0, 1], [1, 2], 0)),
    (lambda f, d: np.gradient(f, d, 1), (np.ones((2, 2)), np.ones((2, 2)))),
    (lambda c, d: np.select([c], [d], default=[0]), (True, 0)),
    (lambda x, c: np.piecewise(x, c, [2, 3]), ([1, 2], [True, False])),
    (lambda x, c: np.piecewise(x, c, [2, 3]), (np.array(3), np.array([True, False]))),
    (lambda a, mask: np.delete(a, mask), (X, np.array([True, False]))),
    (lambda a, mask: np.insert(a, mask, 9), ([1, 2, 3], np.array([True, False, True, False]))),
    (lambda a, mask: np.insert(a, mask, [8, 9]), ([1, 2, 3], np.array([True, False, True, False]))),
    (lambda a: np.insert(a[a > 0], [1], [7, 8, 9]), (X,)),
    (lambda a, v: np.put(a, 0, v), ([1, 2, 3], 9)),
    (lambda a, mask, v: np.place(a, mask, v), ([1, 2, 3], [True, False, True], [0])),
    (lambda a, mask, v: np.putmask(a, mask, v), ([1, 2, 3], [True, False, True], 0)),
    (lambda a, b: np.copyto(a, b), ([1, 2, 3], [4, 5, 6])),
    (lambda *shapes: np.broadcast_shapes(*shapes), ((6, 7), (5, 6, 1), 7, (5, 1, 7))),
    (lambda *shapes: np.broadcast_shapes(*shapes), ((6, 7), 8)),
    (lambda i: np.unravel_index(i, (2, 1, 0)), (np.zeros(0, int),)),
    (lambda i: np.unravel_index(i, ()), ([0],)),
    (lambda i, shape: np.unravel_index(i, shape), (1, (2**32 - 1, 2**31 + 1))),
    (lambda i: np.ravel_multi_index(i, (2, 0), mode="clip"), (np.zeros((2, 1), int),)),
    (lambda i, dims: np.ravel_multi_index(i, dims), (([0], [0]), (2**62, 2))),
    (lambda a: np.unique(a, axis=2), (ROW,)),
    (lambda a, tol: np.real_if_close(a, tol=tol), (X + 1e-7j, 1e-6)),
    (lambda a, d: np.var(a, ddof=d), (X, 0.5)),
    (lambda a, d: np.nanstd(a, correction=d), (X, 0.5)),
    (lambda a: np.nanmean(a, dtype=int), (X,)),
    (lambda a: np.nanargmax(a, axis=0), (np.zeros((0, 3)),)),
    (lambda a, order: np.linalg.norm(a, order), (X, np.inf)),
    (lambda a, order: np.linalg.norm(a[a > 0], order), (ROW, "fro")),
    (lambda a: np.linalg.norm(a, np.inf), (np.zeros((2, 0)),)),
    (lambda a: np.linalg.norm(a[a > 0]), (np.array([2**40, 3]),)),
    (lambda a: np.linalg.cond(a), (np.zeros((0, 0)),)),
    (lambda a, b: np.linalg.cross(a, b), (PAIR[:, 1:], PAIR[:, 1:])),
    (lambda a: np.pad(a, 1.5), (X,)),
    (lambda a: np.pad(a, 1, mode="maximum", stat_length=0), (X,)),
    (lambda a: np.unpackbits(a, bitorder=10), (U8,)),
    (lambda a: np.digitize(a[a > 0], [1, 2 + 1j]), (X,)),
    (lambda a: np.histogram(a, bins="stone"), (np.concatenate([X, X + 9, X - 2]),)),
    (lambda a: np.pad(a, ((1, 2), (2, 1)), _pad_by_mean, last=7), (PAIR + ROW,)),
    (lambda c: np.polynomial.chebyshev.cheb2poly(c), ([0, 0, 1],)),
    (lambda a, k: [np.dot(k, a), np.inner(a, k), np.einsum("i,->i", a, k)], (np.ones(2, np.float32), 3)),
    (lambda a, k: [np.union1d(a, k), np.setxor1d(k, a, assume_unique=True)], (np.ones(1, np.float32), 0.1)),
    (lambda a: [np.clip(a, None, None, dtype=np.float32), a.clip(dtype=np.int64, casting="unsafe"), a.clip(0, 2)], (X,)),
    (lambda a: a.clip(0, 2, dtype=np.int64), (X,)),
    (lambda a: [a.var(dtype=np.uint8), np.std(a, dtype=bool), np.std(a, dtype=complex)], (X,)),
    (lambda a: [np.var(a, dtype=complex), np.var(a, dtype=np.complex64, axis=0)], (X + 1j,)),
    (lambda n: [np.tri(n), np.tri(2, n)], (-1,)),
    (lambda a: [np.matmul(a, a, out=np.zeros(3)), np.matmul(a, np.eye(4), out=np.zeros((2, 4)))], (X,)),
    (lambda a: np.matmul(a, np.eye(4), out=np.zeros((2, 3))), (X,)),
    (lambda a: _stored(np.block(a), 0, 7), (X.copy(),)),
    (lambda a, k: _stored(a, ([1, 0], slice(0, k, 2)), k), (np.zeros((2, 3, 2)), 3)),
    (lambda a, k: _stored(a, (slice(0, k), [True, False, True]), k), (np.zeros((2, 3, 2)), 1)),
    (lambda a, v: np.putmask(a, a > 1, v), (ROW.copy(), X[:3])),
    (lambda a, v: np.putmask(a, a > 1, v), (X.astype(np.float32), np.array(2.5))),
    (lambda a, v: np.place(a, a > 1, v), (ROW.copy(), X)),
    (lambda a, v: np.place(a, a > 1, [v]), (ROW.copy(), np.float64(2.5))),
    (lambda a, z: np.place(a, a > 1, [z]), (X.copy(), 1j)),
    (lambda a, z: np.put(a, 0, z), (X.copy(), 1j)),
    (lambda a, z: np.insert(a, 0, z), (X, 1j)),
    (lambda a, z: np.put_along_axis(a, ROW[:1], z, 0), (X.copy(), 1j)),
    (lambda a, z: [np.full_like(a, z), np.full(2, z, np.int8), _stored(a > 1, 0, 1j)], (ROW, 2.5 + 1j)),
    (lambda a, z: np.asarray(z, a.dtype), (ROW, 1j)),
    (lambda a, i: np.add.reduceat(a, i), (X, np.array([[0, 2]]))),
    (lambda a, i: np.add.reduceat(a, i), (X, np.array(1))),
    (lambda a, i: np.add.reduceat(a, i), (X, np.array([0.0, 2]))),
    (lambda a: np.add.reduceat(a, [0.0, 2]), (X,)),
    (lambda a, b: np.hstack((a, b), casting="equiv"), (X, U8)),
    (lambda a, b: np.concatenate((a, 1), axis=None, casting="no"), (X, U8)),
    (lambda a: a.T.view(np.float64), (np.array([[1 + 2j, 3], [4, 5j]], np.complex64),)),
    (lambda a: np.trim_zeros(a, "x"), (PAIR,)),
    (lambda a, n: [np.quantile(a, 1), np.nanquantile(a, n), np.quantile(a, 1.0), np.quantile(a * 0.5, 1)], (U8, 0)),
    (lambda mask, a: np.ix_(mask, a), ([True, False], ROW[:2])),
    (lambda a: np.power.accumulate(a), (np.array([2, -1]),)),
    (lambda a: [np.power.accumulate(a), np.power.reduce(a)], (np.array([-2, 1]),)),
    (lambda a: np.power.reduce(a, initial=2), (np.array([-2, 1]),)),
    (lambda a, n: [np.subtract.reduce(n, initial=3), np.divide.reduce(a, axis=(), initial=3)], (ROW, 5.0)),
    (lambda n: np.power.reduce(n, initial=3), (-5,)),
    (lambda a: np.power(a, a, where=a > 0, out=a * 0), (np.array([2, -1]),)),
    (lambda a, out: np.isnat(a, out=out > 1), (np.array([1, 2, 4], "m8[s]"), ROW)),
    (lambda a, out: np.negative(a, out=out), (np.array([1, 2, 4], "m8[s]"), ROW)),
    (lambda a, n: np.less.outer(a, n), (np.array([1, 2, 4], "m8[s]"), ROW)),
    (lambda s: [np.transpose(s), np.squeeze(s), np.squeeze(s, 0), np.moveaxis(s, (), ())], (1.5,)),
    (lambda a: [np.tril(a, 1.0), np.triu(a, -1.0), np.tri(2, k=1.0)], (PAIR,)),
    (lambda a: np.histogram2d(a, a), (PAIR,)),
    (lambda a: np.histogramdd(a)[0], ((1, 2, 3),)),
]


def _stored(array, index, value):
    array[index] = value
    return array


def _filled(array, value):
    array.fill(value)
    return array


@pytest.mark.parametrize(("function", "arguments"), CASES)
def test_as_undecorated(function, arguments):
    theirs, ours = copy.deepcopy(arguments), copy.deepcopy(arguments)
    with np.errstate(all="ignore"):
        try:
            expected = function(*theirs)
        except (ValueError, TypeError, LookupError, OverflowError) as error:
            with pytest.raises(TypeError if isinstance(error, TypeError) else type(error)):
                jit(function)(*ours)
        else:
            found = jit(function)(*ours)
            if isinstance(expected, np.ndarray) and expected.dtype.kind in "fc":
                np.testing.assert_allclose(found, expected, rtol=1e-15)
                assert found.dtype == expected.dtype
            else:
                assert_same(found, expected)
    assert_same(list(ours), list(theirs))


@pytest.mark.parametrize("keywords", [{"axes": [0]}, {"axis": 0}, {"keepdims": True}, {"signature": "%^->#"}, {"signature": 3}])
@pytest.mark.parametrize("operands", [(1.0, 2.0), (np.ones(2), 2.0)], ids=["numbers", "array"])
def test_keywords_that_an_elementwise_function_does_not_take(keywords, operands):
    def function(*args, **kwargs):
        return np.add(*args, **kwargs)

    with pytest.raises((TypeError, ValueError)) as expected:
        function(*operands, **keywords)
    with pytest.raises(expected.type, match=re.escape(str(expected.value))):
        jit(function)(*operands, **keywords)


@pytest.mark.parametrize("signature", ["ii->i", b"ii->i", "dd->d", (None, None, "i")])
def test_signatures(signature):
    found, expected = jit(lambda x: np.add(x, 4, signature=signature))(3), np.add(3, 4, signature=signature)
    assert found == expected and found.dtype == expected.dtype


@pytest.mark.parametrize("make", [
    lambda x: [1, []], lambda x: [[], x], lambda x: [], lambda x: [[x], x], lambda x: [[x, [x]], [x, x]], lambda x: (x, x),
    lambda x: [(x, x), x], lambda x: [[x], (x,)],
])  # fmt: skip
def test_blocks_that_do_not_fit_together(make):
    with pytest.raises((TypeError, ValueError)) as expected:
        np.block(make(1))
    with pytest.raises(expected.type, match=re.escape(str(expected.value))):
        jit(lambda x: np.block(make(x)))(1)


SHARING = [
    lambda a: np.shares_memory(a, a), lambda a: np.shares_memory(a, a.T), lambda a: np.shares_memory(a[0], a),
    lambda a: np.shares_memory(a[:2], a.reshape(-1)), lambda a: np.may_share_memory(a.copy(), a),
    lambda a: np.shares_memory(a[1:].T, a), lambda a: np.shares_memory(a[:0], a), lambda a: np.may_share_memory(a + 1, a[0]),
]  # fmt: skip


@pytest.mark.parametrize("function", SHARING)
def test_whether_views_share_memory(function):
    x = np.arange(12.0).reshape(3, 4)
    assert jit(function)(x) is function(x)


def test_it_is_not_told_of_arrays_whose_places_are_not_known():
    x = np.arange(12.0).reshape(3, 4)
    with pytest.raises(NotImplementedError, match="np.shares_memory of two arrays of the caller's"):
        jit(lambda a, b: np.shares_memory(a, b))(x, x)
    for function in (lambda a: np.shares_memory(a[0], a[0].T), lambda a: np.shares_memory(a[0], a[1:].T)):
        with pytest.raises(NotImplementedError, match="np.shares_memory of two parts of one array"):
            jit(function)(x)


@pytest.mark.parametrize("function", [
    lambda x, flag: np.array(x, copy=flag), lambda x, flag: np.unique(x, return_index=flag),
    lambda x, flag: np.astype(x, np.float32, copy=flag),
])  # fmt: skip
def test_truth_values_of_numpys_that_say_what_is_done(function):
    jitted, x = jit(function), np.arange(4.0)
    for flag in (np.True_, np.False_, np.True_, True):
        try:
            expected = function(x, flag)
        except ValueError as error:
            with pytest.raises(ValueError, match=re.escape(str(error).partition("\n")[0])):
                jitted(x, flag)
        else:
            assert_same(jitted(x, flag), expected)


@pytest.mark.parametrize("coefficients", [[1], np.ones(1), [1, 2], [1.0, 2, 3]], ids=str)
def test_companion_matrices(coefficients):
    function = np.polynomial.polynomial.polycompanion
    try:
        expected = function(coefficients)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            jit(lambda c: function(c))(coefficients)
    else:
        assert_same(jit(lambda c: function(c))(coefficients), expected)
