"""Calls of NumPy's functions as programs have them, on arrays of fixed shapes and of sizes that are known at run time only.

Each is a small function of the arrays below; what it gives in a jitted function is what it gives without.
"""

import operator

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from numpy.polynomial import Polynomial, chebyshev, hermite, legendre
from numpy.polynomial import polynomial as P
from phlox import jit
from thinning import LEFT_TO_CI, left_to_ci, one_in

L = np.linalg


def line(seed=3):
    """x, y: numbers; i: integers; m: a matrix; s: a square one; p: a positive definite one; n: numbers and NaN."""
    rng = np.random.default_rng(seed)
    x, y, i, m = rng.random(12), rng.standard_normal(12), rng.integers(0, 6, 12), rng.random((4, 3))
    s = rng.random((3, 3)) + np.eye(3)
    return x, y, i, m, s, s @ s.T, np.where(i == 2, np.nan, x)


def added_at(a, places, values):
    np.add.at(a, places, values)
    return a


def put(function, a, *arguments):
    function(a, *arguments)
    return a


OF_ALL_ARRAYS = {
    "histogram": lambda x, y, i, m, s, p, n: np.histogram(x),
    "histogram with bins": lambda x, y, i, m, s, p, n: np.histogram(x, 5, range=(0.1, 0.8)),
    "histogram with edges": lambda x, y, i, m, s, p, n: np.histogram(x, [0.0, 0.25, 0.5, 1.0], weights=y),
    "histogram with weights": lambda x, y, i, m, s, p, n: np.histogram(x, 4, weights=y, density=True),
    "histogram of integers": lambda x, y, i, m, s, p, n: np.histogram(i, 4),
    "histogram of NaN": lambda x, y, i, m, s, p, n: np.histogram(n, 4, range=(0, 1)),
    "estimated bins": lambda x, y, i, m, s, p, n: (np.histogram(x, "auto"), np.histogram_bin_edges(x, "fd")),
    "histogram2d": lambda x, y, i, m, s, p, n: np.histogram2d(x, y, [3, 4], density=True),
    "histogramdd": lambda x, y, i, m, s, p, n: np.histogramdd(m, bins=(2, 3, [0.0, 0.5, 1.0]))[0],
    "digitize": lambda x, y, i, m, s, p, n: (np.digitize(x, [1.0, 0.5, 0.0]), np.digitize(x, np.sort(y), right=True)),
    "polyfit": lambda x, y, i, m, s, p, n: np.polyfit(x, y, 2),
    "polyfit with all": lambda x, y, i, m, s, p, n: (np.polyfit(x, y, 1, w=x, cov=True), np.polyfit(x, y, 1, full=True)),
    "polyval": lambda x, y, i, m, s, p, n: (np.polyval(y, x), np.polyval([1.0, 2.0], x)),
    "polyint, polyder": lambda x, y, i, m, s, p, n: (np.polyint(x, 2, k=[1.0, 2.0]), np.polyder(x, 2)),
    "polyadd, polymul": lambda x, y, i, m, s, p, n: (
        np.polyadd(x, [1.0]),
        np.polysub(x, y),
        np.polymul(x, y),
        np.polymul([0.0, 1.0], x),
    ),
    "roots": lambda x, y, i, m, s, p, n: np.abs(np.roots(x[:4])),
    "P.polyval": lambda x, y, i, m, s, p, n: (P.polyval(x, y), P.polyvalfromroots(x, y[:2]), P.polyvander(x, 2)),
    "P.polyfit": lambda x, y, i, m, s, p, n: P.polyfit(x, y, [0, 2], w=x),
    "P.polyadd": lambda x, y, i, m, s, p, n: (
        P.polyadd(x, y[:3]),
        P.polymul(x, y),
        P.polydiv(x, y[:3]),
        P.polyder(x),
        P.polyint(x),
    ),
    "Polynomial": lambda x, y, i, m, s, p, n: (Polynomial([1.0, 2.0, 3.0])(x), Polynomial.fit(x, y, 2)(x)),
    "other bases": lambda x, y, i, m, s, p, n: (
        chebyshev.chebval(x, [1.0, 2.0, 3.0]),
        legendre.legvander(x, 2),
        hermite.hermval(x, [1.0, 2.0]),
    ),
    "lstsq": lambda x, y, i, m, s, p, n: L.lstsq(m, m[:, 0]),
    "lstsq of low rank": lambda x, y, i, m, s, p, n: L.lstsq(m * 0, m, rcond=0.1),
    "eig": lambda x, y, i, m, s, p, n: (np.abs(L.eig(s).eigenvalues), np.sort(np.abs(L.eigvals(s)))),
    "svd": lambda x, y, i, m, s, p, n: (L.svd(m, compute_uv=False), L.svdvals(m), np.abs(L.svd(m, full_matrices=False)[0])),
    "qr": lambda x, y, i, m, s, p, n: (np.abs(L.qr(m)[0]), np.abs(L.qr(m, mode="r"))),
    "pinv": lambda x, y, i, m, s, p, n: (L.pinv(m), L.pinv(m, rcond=0.5), L.pinv(m, rtol=0.5), L.pinv(p, hermitian=True)),
    "rank, cond": lambda x, y, i, m, s, p, n: (
        L.matrix_rank(m),
        L.matrix_rank(m, tol=1.0),
        L.cond(m),
        L.cond(s, 1),
        L.cond(s, "fro"),
        L.cond(s, -2),
    ),
    "powers of matrices": lambda x, y, i, m, s, p, n: (L.matrix_power(s, 3), L.matrix_power(s, -2), L.multi_dot([s, p, s])),
    "norms": lambda x, y, i, m, s, p, n: (
        L.norm(m, 2),
        L.norm(m, "nuc"),
        L.norm(m, 1),
        L.norm(m, -np.inf),
        L.norm(x, 3),
        L.matrix_norm(m, ord=-2),
        L.vector_norm(m, axis=1, ord=1),
    ),
    "products": lambda x, y, i, m, s, p, n: (
        np.inner(m, m),
        np.vdot(m, m),
        np.vecdot(m, m),
        np.tensordot(m, m, ([0], [0])),
        np.kron(m, s),
        np.kron(x, y),
        np.cross(m, m),
    ),
    "Fourier transforms": lambda x, y, i, m, s, p, n: (
        np.fft.fft(x),
        np.fft.fft(x, 8),
        np.fft.rfft(x),
        np.fft.irfft(np.fft.rfft(x)),
        np.fft.fft2(m),
        np.fft.fft(m, axis=0, norm="ortho"),
        np.fft.fftshift(x),
    ),
    "frequencies": lambda x, y, i, m, s, p, n: (np.fft.fftfreq(x.shape[0]), np.fft.rfftfreq(x.shape[0], 0.5)),
    "windows": lambda x, y, i, m, s, p, n: (
        sliding_window_view(x, 3),
        sliding_window_view(m, (2, 2)),
        sliding_window_view(m, 2, axis=1).sum(-1),
    ),
    "reduceat": lambda x, y, i, m, s, p, n: (
        np.add.reduceat(x, [0, 2, 5]),
        np.maximum.reduceat(x, [3, 1, 2, 2]),
        np.subtract.reduceat(x, [0, 4]),
        np.add.reduceat(m, [0, 2], axis=1, dtype=np.float32),
    ),
    "reduced in order": lambda x, y, i, m, s, p, n: (
        np.subtract.reduce(x),
        np.divide.reduce(m, axis=1),
        np.subtract.accumulate(m, axis=1),
        np.divide.accumulate(x),
    ),
    "at": lambda x, y, i, m, s, p, n: added_at(np.zeros(6), i, x),
    "select": lambda x, y, i, m, s, p, n: np.select([x < 0.3, x > 0.7], [x, y], default=3.0),
    "piecewise": lambda x, y, i, m, s, p, n: np.piecewise(x, [x < 0.3, x > 0.7], [0.0, lambda v: -v, 2.0]),
    "choose": lambda x, y, i, m, s, p, n: (
        np.choose(i % 2, [x, y]),
        np.choose(i, [x, y], mode="wrap"),
        i.choose([x, y], mode="clip"),
    ),
    "take": lambda x, y, i, m, s, p, n: (
        np.take(x, i, mode="clip"),
        np.take(x, i + 20, mode="wrap"),
        np.take_along_axis(m, np.argsort(m, axis=1), axis=1),
    ),
    "numbers of places": lambda x, y, i, m, s, p, n: (
        np.unravel_index(i, (3, 4)),
        np.ravel_multi_index((i % 3, i % 4), (3, 4)),
        np.ravel_multi_index((i, i), (3, 4), mode=("clip", "wrap"), order="F"),
    ),
    "written where": lambda x, y, i, m, s, p, n: (
        put(np.copyto, x * 1, y, "same_kind", x > 0.5),
        put(np.putmask, x * 1, x > 0.5, y),
        put(np.place, x * 1, x > 0.5, [9.0, 8.0]),
        put(np.put, x * 1, [0, 2], [9.0, 8.0]),
    ),
    "split": lambda x, y, i, m, s, p, n: (
        np.split(x, [2, 5]),
        np.array_split(x, 5),
        np.hsplit(m, [1]),
        np.unstack(m, axis=1) if hasattr(np, "unstack") else (),
    ),
    "insert": lambda x, y, i, m, s, p, n: (
        np.insert(x, 2, 5.0),
        np.insert(x, [0, -1], [1.0, 2.0]),
        np.insert(m, [0, 2], 5.0, axis=0),
    ),
    "turned": lambda x, y, i, m, s, p, n: (
        np.flip(m),
        np.flip(m, 0),
        np.rot90(m, 3),
        np.roll(x, 2),
        np.block([[m, m], [m, m]]),
        np.resize(x, (3, 3)),
    ),
    "differences": lambda x, y, i, m, s, p, n: (
        np.diff(m, axis=0),
        np.diff(x, prepend=0.0, append=[1.0, 2.0]),
        np.unwrap(9 * x),
        np.gradient(x),
    ),
    "average": lambda x, y, i, m, s, p, n: (
        np.average(x, weights=y, returned=True),
        np.average(m, axis=0, weights=m[:, 0]),
        np.average(m, axis=1),
    ),
    "without NaN": lambda x, y, i, m, s, p, n: (
        np.nanargmax(n),
        np.nanargmin(m, axis=1),
        np.nancumsum(n),
        np.nansum(m, axis=0, where=m > 0.5),
    ),
    "interp": lambda x, y, i, m, s, p, n: np.interp(y, x, y, period=2.0),
    "sets": lambda x, y, i, m, s, p, n: (np.intersect1d(i, [1, 2, 3], return_indices=True), np.union1d(i, [7])),
    "lists": lambda x, y, i, m, s, p, n: (np.array(x.tolist()), np.array(i.tolist())),
}
OF_FIXED_SHAPES = {
    "poly": lambda x, y, i, m, s, p, n: (np.poly(x), np.poly(s), P.polyfromroots(x), P.polyroots([2.0, -3.0, 1.0])),
    "polydiv": lambda x, y, i, m, s, p, n: (np.polydiv(x, y[:3]), np.polydiv([1.0, -3.0, 2.0], x[:1])),
    "P.polyval2d": lambda x, y, i, m, s, p, n: (P.polyval2d(x, y, s), P.polygrid2d(x, y, s), P.polyvander2d(x, y, [1, 2])),
    "tensors": lambda x, y, i, m, s, p, n: (
        L.tensorinv(s.reshape(3, 3, 1), 1),
        L.tensorsolve(s.reshape(3, 1, 3), x[:3].reshape(3, 1)),
    ),
    "strides of views": lambda x, y, i, m, s, p, n: (
        as_strided(x.ravel()[1:], (2, 3), (8, 8)),
        as_strided(x[::-1], (2, 2), (-8, -8)),
        as_strided(m.T, (2, 2)),
        m.T.strides,
    ),
    "strides": lambda x, y, i, m, s, p, n: (as_strided(x, (3, 4), (8, 16)), as_strided(x, (2, 5), (0, 8)).sum()),
    "bits": lambda x, y, i, m, s, p, n: (
        np.packbits(x > 0.5),
        np.packbits(m > 0.5, axis=1, bitorder="little"),
        np.unpackbits(i.astype(np.uint8), count=-3),
    ),
    "weights": lambda x, y, i, m, s, p, n: (np.cov(x, aweights=x), np.cov(x, y, fweights=i)),
    "axes": lambda x, y, i, m, s, p, n: (np.matmul(s, s, axes=[(0, 1), (0, 1), (1, 0)]), np.vecdot(m, m, axis=0)),
    "vectorize": lambda x, y, i, m, s, p, n: (
        np.vectorize(lambda a: (a, a + 1))(x),
        np.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")(m, m),
        np.vectorize(lambda a, k: a * k, excluded=["k"])(x, k=3),
    ),
    "apply": lambda x, y, i, m, s, p, n: (np.apply_over_axes(np.sum, m, [0, 1]), np.apply_along_axis(np.sum, 0, m)),
    "unique rows": lambda x, y, i, m, s, p, n: np.unique(
        (m * 2).round(), axis=0, return_index=True, return_inverse=True, return_counts=True
    ),
    "spaces": lambda x, y, i, m, s, p, n: (np.geomspace(1.0, x[0] + 2, 5), np.geomspace(m[0] + 1, m[1] + 2, 4, axis=1)),
    "parts of triangles": lambda x, y, i, m, s, p, n: (
        np.tril_indices_from(s),
        np.triu_indices_from(s, 1),
        np.diag_indices_from(s),
        s[np.ix_([0, 2], s[0] > 0)],
    ),
    "i0": lambda x, y, i, m, s, p, n: np.i0(20 * x),
    "inserted at traced places": lambda x, y, i, m, s, p, n: (np.insert(x, i[:2], 1.0), np.split(x, np.cumsum(i % 2)[:3])),
}


def require_same(found, expected):
    """Equal types, dtypes and shapes, and values up to rounding."""
    if isinstance(expected, (tuple, list)):
        assert type(found) is type(expected) or isinstance(found, tuple) and isinstance(expected, tuple)
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            require_same(one, other)
        return
    assert type(found) is type(expected)
    if isinstance(expected, (np.ndarray, np.generic)):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        single = expected.dtype in (np.float32, np.complex64)
        np.testing.assert_allclose(found, expected, rtol=1e-4 if single else 1e-8, atol=1e-10)
    else:
        assert found == expected


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", one_in(2, [*OF_ALL_ARRAYS, *OF_FIXED_SHAPES]))
def test_of_fixed_shapes(name):
    function = {**OF_ALL_ARRAYS, **OF_FIXED_SHAPES}[name]
    jitted = jit(function)
    for seed in (3, 4, 3):
        require_same(jitted(*line(seed)), function(*line(seed)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", one_in(2, OF_ALL_ARRAYS))
def test_of_unknown_sizes(name):
    function = OF_ALL_ARRAYS[name]

    def selected(keep, x, y, i, m, s, p, n):
        few = keep[:3]
        return function(x[keep], y[keep], i[keep], m[keep[:4]], s[few][:, few], p[few][:, few], n[keep])

    jitted, every = jit(selected), np.ones(12, bool)
    some = every.copy()
    some[[2, 9]] = False
    for keep in (every, some, every):
        require_same(jitted(keep, *line()), selected(keep, *line()))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("size", [0, 1, pytest.param(2, marks=LEFT_TO_CI), 50])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.uint64, np.float16, np.float32, np.float64])
def test_of_all_types_and_sizes(dtype, size):
    """Where NumPy raises, the same is raised."""
    rng = np.random.default_rng(size)
    x = (rng.random(size) * 20 - (5 if np.dtype(dtype).kind in "if" else 0)).astype(dtype)
    functions = [
        lambda a: np.histogram(a, 3), lambda a: np.histogram(a, [0, 1, 5], weights=a * 1), lambda a: np.packbits(a),
        lambda a: np.histogram(a, 7, range=(-1, 5.5), density=True), lambda a: sliding_window_view(a, 2),
        lambda a: np.add.reduceat(a, [0]), lambda a: np.histogram2d(a, a, 2)[0], lambda a: np.unpackbits(a),
        lambda a: np.linalg.lstsq(a[:, None] * 1.0, a * 1.0)[0], lambda a: np.maximum.reduceat(a, [1, 0]),
    ]  # fmt: skip
    for function in functions:
        try:
            expected = function(x)
        except Exception as error:
            with pytest.raises(type(error)):
                jit(function)(x)
        else:
            require_same(jit(function)(x), expected)


def test_lists_of_columns():
    def counted(x, y):
        return np.histogramdd([x, y], 3)[0], np.histogramdd((x, y), [2, [0.0, 0.5, 1.0]])[0], np.histogram2d(x, y, [2, 3])[0]

    x, y, *_ = line()
    require_same(jit(counted)(x, y), counted(x, y))


def test_columns_of_several_types_have_one():
    def edges(x, y):
        return np.histogram2d(x, y, 3), list(np.histogramdd([x, y], 3)[1])

    x, y, *_ = line()
    require_same(jit(edges)(x, y.astype(np.float32)), edges(x, y.astype(np.float32)))


def test_eigenvalues_that_are_real_in_some_calls():
    """The function is traced again where the dtype turns out to be the other one."""

    @jit
    def values(a):
        return np.linalg.eigvals(a)

    turn, scale = np.array([[0.0, 1.0], [-1.0, 0.0]]), np.diag([1.0, 2.0])
    for a in (scale, turn, turn, scale):
        require_same(np.sort_complex(values(a)), np.sort_complex(np.linalg.eigvals(a)))
        assert values(a).dtype == np.linalg.eigvals(a).dtype


def test_real_and_complex_eigenvalues_in_one_call():
    """They are refused where NumPy makes some of them real, as it did before 2.5."""

    def radii(matrices):
        total = 0.0
        for a in matrices:
            total += abs(np.linalg.eigvals(a)).max()
        return total

    matrices = np.array([[[0.0, 1.0], [(-1.0) ** k, 0.0]] for k in range(40)])
    if np.linalg.eigvals(np.eye(1)).dtype == np.complex128:
        require_same(jit(radii)(matrices), radii(matrices))
    else:
        with pytest.raises(NotImplementedError, match="real and complex in one call"):
            jit(radii)(matrices)


def test_long_segments_of_reduceat():
    x = np.random.default_rng(0).random((3000, 2))
    places = np.array([5, 2900, 2900, 3, 1500, 7])
    for ufunc in (np.add, np.maximum, np.multiply):
        function = lambda x, places: ufunc.reduceat(x, places)  # noqa: B023, E731
        require_same(jit(function)(x, places), function(x, places))


def test_segments_of_reduceat_have_the_signs_of_zeros():
    """An element alone is itself, whether its place is known or not; nothing else is combined with it, or with others."""
    x = np.array([-0.0, -0.0, 0.0, -0.0] * 200)
    places = np.array([0, 1, 3, 3, 1])
    for ufunc in (np.add, np.hypot, np.logaddexp, np.subtract, np.copysign):
        for function in (lambda x, places: ufunc.reduceat(x, places), lambda x, _: ufunc.reduceat(x, [0, 1, 3, 3, 1])):  # noqa: B023
            found, expected = jit(function)(x, places), function(x, places)
            require_same(found[[0, 2, 3]], expected[[0, 2, 3]])
            require_same(np.signbit(found), np.signbit(expected))


def test_places_that_come_twice_are_updated_in_turn():
    """Where much is done with an element several are updated at once, but for those whose places are the same."""
    random = np.random.default_rng(0)
    apart, some, one = random.permutation(100), random.integers(-100, 100, 1003), np.full(37, 3)
    for ufunc in (np.floor_divide, np.fmod, np.power, np.logaddexp):

        def changed(x, places, y):
            ufunc.at(x, places, y)  # noqa: B023
            return x

        for places in (apart, some, one, np.concatenate([apart, some, apart[:5]])):
            x, y = random.uniform(0.5, 3, 100), random.uniform(0.9, 1.1, len(places))
            found, expected = jit(changed)(x.copy(), places, y), changed(x.copy(), places, y)
            np.testing.assert_allclose(found, expected, rtol=0 if ufunc in (np.floor_divide, np.fmod) else 1e-12)


def test_windows_are_views():
    """They see what is written to the array, and cannot be written to."""

    def seen(x):
        windows = sliding_window_view(x, 3)
        x[0] = 9
        return windows.sum(), windows.strides, windows.flags.writeable

    require_same(jit(seen)(np.arange(5.0)), seen(np.arange(5.0)))
    with pytest.raises(ValueError, match="read-only"):
        jit(lambda x: sliding_window_view(x, 3).fill(0))(np.arange(5.0))
    with pytest.raises(NotImplementedError, match="write to a view that has elements of an array several times"):
        jit(lambda x: sliding_window_view(x, 3, writeable=True).fill(0))(np.arange(5.0))


def test_strided_views_of_all_orders_are_written_to():
    def strided(x, y):
        every_second = as_strided(x, (3, 2), (32, 8))
        every_second[1:] *= 2
        diagonal = as_strided(y, (3,), (32,))
        diagonal[:] = [7, 8, 9]
        blocks = as_strided(x.T[1:], (2, 2), (16, 32))
        blocks[0, 1] = -1
        return x, y, blocks, as_strided(y, (2, 2, 2), (8, 8, 24), writeable=False), every_second.flags.writeable

    x, y = np.arange(12.0).reshape(3, 4), np.asfortranarray(np.arange(12.0).reshape(3, 4))
    require_same(jit(strided)(x.copy(), y.copy("K")), strided(x.copy(), y.copy("K")))


@left_to_ci
def test_polynomials_that_lose_coefficients():
    """In one call, in another one, and in some rounds of a loop."""

    def products(a, b):
        return P.polymul(a, b), legendre.legmul(a, b), (Polynomial(a) * Polynomial(b) - 1).coef

    jitted = jit(products)
    for a in ([1.0, 2, 3], [1.0, 2, 0], [2.0, 3, 1], [1.0, 0, 0]):
        a, b = np.array(a), np.array([1.0, 2.0])
        require_same(jitted(a, b), products(a, b))

    def of_rows(rows):
        total = 0.0
        for row in rows:
            square = P.polymul(row, row)
            total += square.sum() + len(square)
        return total

    rows = np.array([[1.0, 2], [3, 0], [0, 0], [2, 1]])
    jitted = jit(of_rows)
    require_same((jitted(rows), jitted(rows + 1)), (of_rows(rows), of_rows(rows + 1)))


def test_what_is_guessed_of_one_shape_may_hold_for_another():
    trimmed = jit(lambda c: np.polynomial.chebyshev.chebsub(c, c * 0))
    for c in ([1.0, 2], [1.0, 2, 3], [1.0, 0], [1.0, 2, 0], [1.0, 2, 3]):
        np.testing.assert_array_equal(trimmed(np.array(c)), np.polynomial.chebyshev.chebsub(np.array(c), np.zeros(len(c))))


def test_operators_of_objects_that_can_be_called():
    line = np.polynomial.Polynomial([1.0, 2])
    added = jit(lambda *operands: operator.add(*operands))
    assert added(line, np.array([1.0, 2])) == line + np.array([1.0, 2])
    assert added(np.array([1.0, 2]), line) == np.array([1.0, 2]) + line


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("bounds", [None, (-4, 4), (0.1, 0.7), (2.0, 2.0), (1000, 1000.5), (1e-7, 1.3e-7)])
def test_histogram_of_what_lies_at_the_edges(dtype, bounds):
    numbers = np.linspace(-4.5, 4.5, 200).astype(dtype)
    for bins in (1, 7, 100):
        edges = np.linspace(*(bounds or (numbers.min(), numbers.max())), bins + 1).astype(dtype)
        near = [edges, np.nextafter(edges, dtype(np.inf)), np.nextafter(edges, dtype(-np.inf)), numbers]
        outside = [] if bounds is None else [np.array([np.nan, np.inf, -np.inf], dtype)]
        x = np.concatenate([*near, *outside])

        def counted(x, bins=bins):
            return np.histogram(x, bins, bounds)

        try:
            expected = counted(x)
        except ValueError:  # edges that the dtype cannot tell apart
            with pytest.raises(ValueError, match="Too many bins"):
                jit(counted)(x)
            continue
        for found, one in zip(jit(counted)(x), expected, strict=True):
            np.testing.assert_array_equal(found, one, strict=True)


def test_places_outside_of_the_counts():
    numbers = np.array([3, -1, 2, 2, 2**40])
    with pytest.raises(ValueError, match="no negative elements"):
        jit(lambda i: np.bincount(i, minlength=3))(numbers[:4])
    for size in (5, 100_000):
        many = np.arange(size) % 1500  # more than are guessed at first
        np.testing.assert_array_equal(jit(lambda i: np.bincount(i))(many), np.bincount(many))


FACTOR = 2.0


class Threshold:
    def __init__(self, limit):
        self.limit = limit

    def cut(self, v):
        return v if v > self.limit else self.limit


@np.vectorize
def bent(v, slope=0.5):
    return v * FACTOR if v > 0 else v * slope


halves = np.vectorize(otypes=[float])(lambda v: v // 2)
lines = np.vectorize(lambda a, b: (a @ b, b[0]), signature="(n),(n)->(),()")
threshold = Threshold(0.25)
cut = np.vectorize(threshold.cut)
signs = np.vectorize(lambda v: "up" if v > 0 else "down")


def test_vectorize_takes_the_type_of_the_first_result():
    def several(x):
        x[0] += 1
        mixed = np.vectorize(lambda v: v if v > 0 else 0)(x), np.vectorize(lambda v: (v > 0 and 1, 2.5 if v > 0 else 7))(x)
        return mixed, np.vectorize(lambda v: 1.5 if v > 0 else -1)(x.reshape(-1, 1)), np.vectorize(lambda v: 7)(x)

    jitted = jit(several)
    for first in (1.5, -2.5, 1.5):
        for size in (3, 40):
            x = np.append(first, np.arange(size - 1) - 1.25)
            found, expected = (function(x.copy()) for function in (jitted, several))
            assert repr(found) == repr(expected)


def test_vectorize_outside():
    """What `numpy.vectorize` has made outside is followed, and what its function reads is looked at before each call."""

    def several(x):
        matrix = x.reshape(2, 2)
        made_here = np.vectorize(otypes=[int])(lambda v: v * 1.5 * FACTOR)
        known = bent(np.arange(3)), bent(3.0, slope=1.0)
        of_matrices = halves(matrix), lines(matrix, matrix), cut(matrix)
        return bent(x), bent(x, slope=0.25), of_matrices, made_here(x), signs(x).tolist(), known, list(map(bent, x))

    jitted, decorated, x = jit(several), jit(bent), np.array([-1.0, 0.1, 2.0, 3.0])
    global FACTOR
    for FACTOR in (2.0, 4.0, 2.0):
        threshold.limit = FACTOR / 8
        require_same(jitted(x), several(x))
        require_same(decorated(x), bent(x))


def test_poly1d_is_an_argument():
    def several(x):
        p, line = np.poly1d(x), np.poly1d([1.0, 2.0])
        made = np.polyder(p), np.polyint(p, 2), np.polymul(line, p), np.polyadd(p, 1.0), p(line), np.polyval(line, p)
        return [one.coeffs for one in made], np.polyval(p, x), np.sort(np.roots(p)), np.asarray(p), list(line), np.sum(p)

    jitted = jit(several)
    for x in (np.array([3.0, 1.0, -2.0]), np.array([0.0, 1.0, -2.0])):
        require_same(jitted(x), several(x))
