"""Functions of SciPy that are given traced arrays: they are followed, or others stand for what they have compiled."""

import warnings

import numpy as np
import phlox
import pytest
from phlox import jit
from thinning import left_to_ci, one_in

signal = pytest.importorskip("scipy.signal")
fft = pytest.importorskip("scipy.fft")
linalg = pytest.importorskip("scipy.linalg")
blas = pytest.importorskip("scipy.linalg.blas")
ndimage = pytest.importorskip("scipy.ndimage")
stats = pytest.importorskip("scipy.stats")
spatial = pytest.importorskip("scipy.spatial")
distance = pytest.importorskip("scipy.spatial.distance")
integrate = pytest.importorskip("scipy.integrate")
interpolate = pytest.importorskip("scipy.interpolate")
optimize = pytest.importorskip("scipy.optimize")
vq = pytest.importorskip("scipy.cluster.vq")

RANDOM = np.random.default_rng(0)
LINE = RANDOM.random(120)
MATRIX = RANDOM.random((5, 5)) + 5 * np.eye(5)
SYMMETRIC = MATRIX @ MATRIX.T
LOWER = np.linalg.cholesky(SYMMETRIC)
RIGHT, SIDES = RANDOM.random(5), RANDOM.random((5, 2))
B, A = signal.butter(3, 0.2)
CENTERS = np.array([[0.2, 0.2], [0.8, 0.8], [0.2, 0.8]])
SECTIONS = signal.butter(4, 0.2, output="sos")

OF_LINES = {
    "lfilter": lambda x: signal.lfilter(B, A, x),
    "lfilter with state": lambda x: signal.lfilter(B, A, x, zi=signal.lfilter_zi(B, A) * x[0]),
    "lfilter of columns": lambda x: signal.lfilter(B, A, x.reshape(4, 30), axis=0),
    "lfilter of one number": lambda x: signal.lfilter([2.0], [4.0, 1.0], x),
    "lfilter of given coefficients": lambda x: signal.lfilter(x[:3], x[3:6], x),
    "filtfilt": lambda x: signal.filtfilt(B, A, x),
    "sosfilt": lambda x: signal.sosfilt(SECTIONS, x.reshape(2, 60)),
    "decimate": lambda x: signal.decimate(x, 4),
    "hilbert": lambda x: signal.hilbert(x),
    "welch": lambda x: signal.welch(x, nperseg=32),
    "fftconvolve": lambda x: signal.fftconvolve(x, x[:20]),
    "savgol_filter": lambda x: signal.savgol_filter(x, 11, 3),
    "detrend": lambda x: signal.detrend(x),
    "find_peaks by distance": lambda x: signal.find_peaks(x, distance=5),
    "find_peaks by prominence": lambda x: signal.find_peaks(np.round(x, 1), prominence=0.3, width=1),
    "fft": lambda x: fft.ifft(fft.fft(x, 50) * 2j),
    "rfft": lambda x: fft.irfft(fft.rfft(x.astype(np.float32))),
    "fftn": lambda x: fft.fftn(x.reshape(4, 5, 6), (3, 4), norm="ortho"),
    "gaussian_filter1d": lambda x: ndimage.gaussian_filter1d(x, 2.0),
    "zscore": lambda x: stats.zscore(x),
    "kurtosis": lambda x: stats.kurtosis(x.reshape(4, 30), axis=1),
    "linregress": lambda x: stats.linregress(x, x**2),
    "ttest_ind": lambda x: stats.ttest_ind(x[:50], x[50:]),
    "distributions": lambda x: (stats.norm.cdf(x, 1, 2), stats.poisson.pmf(np.arange(5), x[3]), stats.t.ppf(x, 5)),
    "cdist": lambda x: distance.cdist(x.reshape(40, 3), x[:15].reshape(5, 3), "cityblock"),
    "pdist": lambda x: distance.squareform(distance.pdist(x[:30].reshape(10, 3))),
    "kmeans2": lambda x: vq.kmeans2(x.reshape(60, 2), CENTERS + 0 * x[0], minit="matrix"),
    "CubicSpline": lambda x: interpolate.CubicSpline(np.cumsum(x), x)([0.1, 2.0, 70.0], nu=1),
    "PchipInterpolator": lambda x: interpolate.PchipInterpolator(np.cumsum(x), x, extrapolate=False)(x),
    "interp1d": lambda x: interpolate.interp1d(np.arange(120.0), x)(x * 50),
    "simpson": lambda x: integrate.simpson(x, dx=0.1),
    "newton": lambda x: optimize.newton(lambda t: t**3 - x[0], 1.5),
    "golden": lambda x: optimize.golden(lambda t: (t - x[0]) ** 2),
    "brent": lambda x: optimize.brent(lambda t: (t - x[0]) ** 2),
    "brentq": lambda x: optimize.brentq(lambda t: t**3 - x[0], 0, 5),
    "bisect": lambda x: optimize.bisect(lambda t, shift: t - x[0] - shift, 0, 5, args=(0.25,)),
    "nelder-mead": lambda x: optimize.fmin(lambda t: ((t - x[:2]) ** 2).sum(), np.zeros(2), disp=False),
    "percentileofscore": lambda x: stats.percentileofscore(x, 0.3),
    "dct": lambda x: fft.idct(fft.dct(x, norm="ortho"), 1)[3:7],
    "medfilt": lambda x: signal.medfilt(x, 5),
    "median_filter": lambda x: (ndimage.median_filter(x, 4, mode="wrap"), ndimage.median_filter((x * 9).astype(np.int8), 3)),
    "resample_poly": lambda x: signal.resample_poly(x, 3, 2),
}
OF_IMAGES = {
    "gaussian_filter of integers": lambda x: ndimage.gaussian_filter(np.arange(50, step=2).reshape(5, 5) + (x[0, 0] < 0), 1),
    "gaussian_filter": lambda x: ndimage.gaussian_filter(x, 1.5, mode="mirror"),
    "sobel": lambda x: ndimage.sobel(x, axis=0, mode="nearest"),
    "uniform_filter": lambda x: ndimage.uniform_filter(x, 3, mode="wrap"),
    "median_filter": lambda x: ndimage.median_filter(x, 3),
    "maximum_filter": lambda x: ndimage.maximum_filter(x, 3, mode="constant", cval=0.5),
    "convolve": lambda x: ndimage.convolve(x, np.arange(6.0).reshape(2, 3), mode="constant", origin=(0, 1)),
    "correlate of integers": lambda x: ndimage.correlate((x * 100).astype(int), [[1, 2, 1], [0, -3, 0], [1, 0, 1]]),
    "label": lambda x: ndimage.label(x > 0.5),
    "zoom": lambda x: ndimage.rotate(ndimage.zoom(x, (2, 0.5)), 30.0),
    "binary_erosion": lambda x: (ndimage.binary_erosion(x > 0.2), ndimage.distance_transform_edt(x > 0.2)),
    "convolve2d": lambda x: signal.convolve2d(x, x[:2, :3], mode="same", boundary="wrap"),
    "grey_erosion": lambda x: ndimage.grey_erosion(x, footprint=[[0, 1, 0], [1, 1, 1], [0, 1, 0]]),
}
OF_MATRICES = {
    "solve": lambda f: linalg.solve(MATRIX * f, RIGHT),
    "solve transposed": lambda f: linalg.solve(MATRIX * f, SIDES, transposed=True),
    "solve of a positive one": lambda f: linalg.solve(SYMMETRIC * f, RIGHT, assume_a="pos"),
    "inv": lambda f: linalg.inv(MATRIX * f),
    "det": lambda f: linalg.det(MATRIX * f),
    "norm": lambda f: linalg.norm(MATRIX * f, 1),
    "cholesky": lambda f: (linalg.cholesky(SYMMETRIC * f), linalg.cholesky(SYMMETRIC * f, lower=True)),
    "cho_solve": lambda f: linalg.cho_solve(linalg.cho_factor(SYMMETRIC * f), RIGHT),
    "cho_factor": lambda f: linalg.cho_factor(MATRIX * f + MATRIX.T, lower=True),
    "solve_triangular": lambda f: linalg.solve_triangular(LOWER * f, RIGHT, lower=True),
    "solve_triangular transposed": lambda f: linalg.solve_triangular(LOWER * f, SIDES, lower=True, trans=1),
    "solve_triangular of ones": lambda f: linalg.solve_triangular(LOWER.T * f, RIGHT, unit_diagonal=True),
    "svd": lambda f: linalg.svd(MATRIX[:, :3] * f),
    "qr": lambda f: (linalg.qr(MATRIX[:, :3] * f), linalg.qr(MATRIX[:, :3] * f, mode="economic")),
    "lstsq": lambda f: linalg.lstsq(MATRIX[:, :3] * f, RIGHT),
    "eigvalsh": lambda f: linalg.eigvalsh(SYMMETRIC * f),
    "toeplitz": lambda f: linalg.toeplitz(RIGHT * f),
    "expm": lambda f: linalg.expm(MATRIX * f / 9),
    "lu_factor": lambda f: linalg.lu_solve(linalg.lu_factor(MATRIX * f, overwrite_a=True), SIDES),
    "lu": lambda f: (linalg.lu(MATRIX[:, :3] * f), linalg.lu(MATRIX * f, permute_l=True)),
    "eigh": lambda f: (linalg.eigh(SYMMETRIC * f), linalg.eigh(SYMMETRIC * f, MATRIX @ MATRIX.T, eigvals_only=True)),
    "eigvals": lambda f: linalg.eigvals(MATRIX * f),
    "schur": lambda f: linalg.schur(MATRIX * f),
    "solve_continuous_lyapunov": lambda f: linalg.solve_continuous_lyapunov(MATRIX * f, SYMMETRIC),
    "linear_sum_assignment": lambda f: optimize.linear_sum_assignment(np.cos(MATRIX * f)[:3]),
}


def check(function, argument):
    found, expected = jit(function)(argument), function(argument)
    assert type(found) is type(expected)
    for one, other in zip(*map(leaves, (found, expected)), strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(one, other, rtol=1e-7 if np.asarray(one).dtype.char in "dD" else 1e-4, atol=1e-11)


def leaves(value):
    if isinstance(value, dict):
        value = tuple(value.values())
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("name", one_in(9, OF_LINES))
def test_of_lines(name):
    check(OF_LINES[name], LINE)


@pytest.mark.parametrize("name", one_in(4, OF_IMAGES))
def test_of_images(name):
    check(OF_IMAGES[name], LINE.reshape(10, 12))


@pytest.mark.parametrize("name", one_in(5, OF_MATRICES))
def test_of_matrices(name):
    check(OF_MATRICES[name], 1.5)


def test_in_loops_they_are_called_in_each_round():
    def grown(x, rounds):
        for _ in range(rounds):
            x = linalg.expm(x / 10)
        return x

    np.testing.assert_array_equal(jit(grown)(MATRIX, 3), grown(MATRIX, 3))


def test_trees_are_asked():
    points, places = RANDOM.random((60, 2)), RANDOM.random((4, 2))
    outside, other = spatial.cKDTree(points[:50]), spatial.KDTree(points[50:])

    def program(points, places):
        tree, total = spatial.KDTree(points, leafsize=5), 0.0
        for place in places:
            distance, number = tree.query(place)
            total += distance * number
        of_moved = spatial.cKDTree(points + total).query(places + total, k=2)
        return total, of_moved, tree.query(places, k=3, distance_upper_bound=0.1), (tree.n, tree.m), tree.data[0]

    def of_known(places):
        return outside.query(places), other.query(places, 2, p=1.0), other.query(places[0])

    check(lambda x: program(x, places), points)
    check(lambda x: program(points, x), places)
    check(of_known, places)
    with pytest.raises(NotImplementedError, match="cKDTree.query_pairs"):
        jit(lambda x: spatial.cKDTree(x).query_pairs(0.1))(points)
    for shape in (points[0], points[None]):
        with pytest.raises(ValueError, match="data must be 2 dimensions"):
            jit(lambda x: spatial.cKDTree(x).n)(shape)


def test_numbers_that_decide_sizes_become_known():
    for function, numbers in [(ndimage.zoom, (0.5, 2.0)), (ndimage.rotate, (0.0, 45.0)), (fft.dct, (1, 4))]:
        decorated = jit(lambda x, number, function=function: function(x, number))
        for number in numbers:
            np.testing.assert_allclose(decorated(MATRIX, number), function(MATRIX, number), atol=1e-12)


def test_an_error_of_theirs_comes_when_the_program_runs():
    solved = jit(lambda x: linalg.eigh(x, eigvals_only=True))
    np.testing.assert_array_equal(solved(SYMMETRIC), linalg.eigh(SYMMETRIC, eigvals_only=True))
    for function in (solved, linalg.eigh):
        with pytest.raises(ValueError, match="must not contain infs or NaNs"):
            function(np.full((5, 5), np.nan))


def test_what_compiled_functions_write_is_there():
    def written(x):
        out, y = np.zeros(5), np.arange(5.0)
        ndimage.correlate1d(np.arange(5.0), np.array([1.0, 2, 1]), output=out)
        scaled = blas.dscal(2.0, y)
        scaled[0] = 7
        return out + x, y + x

    for one, other in zip(jit(written)(1.0), written(1.0)):
        np.testing.assert_array_equal(one, other)


def test_functions_of_libraries_cannot_write_where_it_would_be_lost():
    def written(x):
        y = np.arange(3.0)
        np.asarray(memoryview(np.asarray(y)))[0] = x
        return y

    with pytest.raises((TypeError, ValueError)):
        jit(written)(1.0)


def test_functions_of_other_kinds_are_refused_by_name():
    for function, name in [
        (lambda x: linalg.sqrtm(x[:100].reshape(10, 10)), "scipy.linalg.sqrtm"),
        (lambda x: linalg.eig(x[:100].reshape(10, 10)), "scipy.linalg.eig"),
    ]:
        with pytest.raises((phlox.TracerError, NotImplementedError), match=name):
            jit(function)(LINE)


def test_warnings_are_given_where_the_program_comes_to_them():
    empty = jit(lambda x: vq.kmeans2(x.reshape(60, 2), CENTERS * x[0], minit="matrix"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        empty(np.where(np.arange(120) == 0, 1, LINE))
    with pytest.warns(UserWarning, match="clusters is empty"):
        empty(np.where(np.arange(120) == 0, 1000, LINE))


def test_what_a_call_does_before_it_is_followed_is_done_once(capsys):
    def program(x, log):
        def function(t):
            print("at", round(t, 3))
            log.append(t)
            x[0] += 0.001
            return t**3 - x[0]

        return optimize.newton(function, 1.5, tol=1e-3)

    results = []
    for function in (program, jit(program)):
        x, log = np.array([3.0]), []
        found = function(x, log)
        results.append((found, x[0], log, capsys.readouterr().out))
    assert results[0] == results[1]


@pytest.mark.parametrize("method", [optimize.brentq, optimize.bisect])
def test_roots_take_as_many_calls(method):
    def program(x):
        root, found = method(lambda t: t**3 - x, 0, 5, full_output=True)
        return root, found.iterations, found.function_calls, found.converged

    compiled = jit(program)
    assert [compiled(x) for x in (3.0, 2.5)] == [program(x) for x in (3.0, 2.5)]
    with pytest.raises(ValueError, match="different signs"):
        compiled(-3.0)


@left_to_ci
def test_what_is_not_finite_is_an_error():
    with pytest.raises(ValueError, match="infs or NaNs"):
        jit(lambda a: linalg.solve(a, RIGHT))(MATRIX * np.nan)
    with pytest.raises(np.linalg.LinAlgError):
        jit(lambda a: linalg.cholesky(a))(-SYMMETRIC)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: optimize.fsolve(lambda v: v**2 - x, x, full_output=True)[0],
        lambda x: optimize.leastsq(lambda v: v**2 - x, np.ones(2))[0],
        lambda x: integrate.solve_ivp(lambda t, y: -y, (0, 1), x, method="LSODA").y,
    ],
    ids=["arguments", "of a callback", "LSODA"],
)
def test_an_error_of_theirs_does_not_take_the_place_of_the_reason(program):
    """Nor are they called with arrays whose contents are unknown: LSODA would end the interpreter after some times."""
    for _ in range(10):
        with pytest.raises(phlox.ConcretizationError, match="where NumPy needs an ndarray"):
            jit(program)(np.array([1.0, 2.0]))
    assert len([float(number) + 0.5 for number in range(20000)]) == 20000
