"""What calls back in the rest of SciPy: filters of images, linear operators, resampling, distances, interpolation."""

import numpy as np
import pytest
from both_ways import both_ways

scipy = pytest.importorskip("scipy")
ndimage = pytest.importorskip("scipy.ndimage")
sparse = pytest.importorskip("scipy.sparse.linalg")
distance = pytest.importorskip("scipy.spatial.distance")
stats = pytest.importorskip("scipy.stats")

IMAGE = np.random.default_rng(2).random((20, 24))


@both_ways()
def test_generic_filter(jit):
    cross = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
    percentile = jit(lambda window, q=10: np.percentile(window, q))
    return (
        ndimage.generic_filter(IMAGE, jit(lambda window: window.max() - window.min()), size=3),
        ndimage.generic_filter(IMAGE, percentile, size=3, extra_arguments=(40,)),
        ndimage.generic_filter(IMAGE, percentile, footprint=cross, extra_keywords={"q": 30}),
        ndimage.generic_filter(IMAGE.astype(np.float32)[::2, ::-1], jit(np.median), size=3),
    )


@both_ways()
def test_lines_that_are_written_in_place(jit):
    @jit
    def smooth(line, out):
        out[...] = line[:-2] + 2 * line[1:-1] + line[2:]

    @jit
    def loop(line, out):
        for k in range(len(out)):
            out[k] = line[k] * line[k + 2]

    return ndimage.generic_filter1d(IMAGE, smooth, 3), ndimage.generic_filter1d(IMAGE, loop, 3, axis=0)


@both_ways()
def test_geometric_transform(jit):
    moved = jit(lambda place: (place[0] - 0.5, place[1] - 0.5))
    bent = jit(lambda place: (place[0] * 0.9 + 0.1 * place[1], place[1] ** 1.01))
    return ndimage.geometric_transform(IMAGE, moved), ndimage.geometric_transform(IMAGE, bent, order=1, mode="nearest")


@both_ways()
def test_functions_of_each_row_and_element(jit):
    return (
        np.vectorize(jit(lambda a, b: a - b if a > b else a + b))([1, 2, 3, 4], 2),
        np.apply_along_axis(jit(lambda row: row[0] + row[-1] * 2), 1, IMAGE),
        np.apply_over_axes(jit(lambda a, axis: np.sum(a, axis=axis)), IMAGE, [0, 1]),
        np.fromfunction(jit(lambda i, k: i * 10 + k), (3, 4)),
        np.piecewise(np.arange(5.0), [np.arange(5) < 2], [jit(lambda v: -v), jit(lambda v: v**2)]),
    )


@both_ways(rtol=1e-5, atol=1e-8)
def test_linear_operators(jit):
    A, b = IMAGE[:, :20] + 20 * np.eye(20), np.arange(20.0)
    S = A @ A.T
    norms = []
    operator = sparse.LinearOperator((20, 20), matvec=jit(lambda v: A @ v), rmatvec=jit(lambda v: A.T @ v), dtype=float)
    symmetric = sparse.LinearOperator((20, 20), matvec=jit(lambda v: S @ v.ravel()), dtype=float)
    return (
        sparse.gmres(operator, b, rtol=1e-9)[0],
        sparse.bicgstab(operator, b, rtol=1e-9)[0],
        sparse.lsqr(operator, b, atol=1e-12, btol=1e-12)[0],
        operator @ np.eye(20),
        operator.T @ b,
        sparse.cg(symmetric, b, rtol=1e-9, callback=jit(lambda x: norms.append(np.sum(x))))[0],
        sparse.eigsh(symmetric, k=2, v0=b)[0],
        len(norms) > 0,
    )


@both_ways()
def test_distances(jit):
    power = jit(lambda u, v, p=2: (abs(u - v) ** p).sum())
    return (
        distance.pdist(IMAGE, jit(lambda u, v: np.sqrt(((u - v) ** 2).sum()))),
        distance.cdist(IMAGE[:3], IMAGE, power, p=3),
        pytest.importorskip("scipy.cluster.hierarchy").linkage(IMAGE, metric=power),
    )


@both_ways()
def test_resampling(jit):
    values = IMAGE.ravel()[:100]
    mean, apart = jit(lambda x, axis: np.mean(x, axis=axis)), jit(lambda x, y: np.mean(x) - np.mean(y))
    return (
        float(stats.bootstrap((values,), mean, n_resamples=99, rng=1).confidence_interval.low),
        float(stats.bootstrap((values,), jit(np.mean), n_resamples=99, rng=1).confidence_interval.low),
        float(stats.permutation_test((values[:50], values[50:]), apart, n_resamples=99, rng=1).pvalue),
        stats.norm.expect(jit(lambda x: x**2), loc=1),
    )


@both_ways()
def test_a_distribution_by_its_density(jit):
    density = jit(lambda x: np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi))

    class Bell(stats.rv_continuous):
        def _pdf(self, x):
            return density(x)

    return Bell(name="bell").cdf([0.1, 0.2])


@both_ways(rtol=1e-8)
def test_interpolation_and_functions_of_matrices(jit):
    interpolate, linalg = pytest.importorskip("scipy.interpolate"), pytest.importorskip("scipy.linalg")
    radius = jit(lambda r: np.sqrt(r**2 + 1))
    A = IMAGE[:5, :5] + IMAGE[:5, :5].T
    return (
        interpolate.Rbf(IMAGE[:, 0], IMAGE[:, 1], IMAGE[:, 2], function=radius)(0.2, 0.3),
        interpolate.approximate_taylor_polynomial(jit(lambda x: np.sin(3 * x)), 0, 4, 0.5).coef,
        linalg.funm(A, jit(lambda x: np.exp(x))),
    )
