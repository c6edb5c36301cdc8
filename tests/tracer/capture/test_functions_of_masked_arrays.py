"""Functions of `numpy.ma`, and NumPy's own of masked arrays, beside NumPy: data, masks, fill values, types."""

import itertools

import numpy as np
import pytest
from masked_arrays import DATA, MASKS, require_same, require_same_results, silently
from numpy import ma
from phlox import jit
from thinning import LEFT_TO_CI, one_in

pytestmark = pytest.mark.filterwarnings("ignore")


def text(m, r):
    return str(r)


def all_of_it(m, r):
    return repr(m)


def in_a_text(m, r):
    return f"{m} and {r[1]}"


def formatted(m, r):
    return f"{r} {m.sum()}"


# Of an array with two rows, m, and of its first row, r.
GROUPS = {
    "moved": [
        lambda m, r: np.flip(m), lambda m, r: np.flip(r), lambda m, r: np.fliplr(m), lambda m, r: np.roll(m, 1, axis=1),
        lambda m, r: np.rot90(m), lambda m, r: np.tile(r, 2), lambda m, r: np.split(r, 2),
        lambda m, r: np.array_split(r, 3), lambda m, r: np.moveaxis(m, 0, 1), lambda m, r: np.atleast_2d(r),
        lambda m, r: ma.atleast_2d(r), lambda m, r: np.take_along_axis(r, np.array([0, 3]), 0),
        lambda m, r: np.extract(np.array([1, 0, 1, 1]), r), lambda m, r: ma.hsplit(m, 2), lambda m, r: ma.resize(r, (3, 3)),
        lambda m, r: np.resize(r, 6), lambda m, r: ma.diag(r), lambda m, r: ma.compress_rows(m),
        lambda m, r: ma.compress_cols(m), lambda m, r: ma.compress_rowcols(m), lambda m, r: ma.compress_nd(m, 0),
        lambda m, r: ma.mask_rows(m), lambda m, r: ma.mask_cols(m), lambda m, r: m.compress(np.array([1, 0]), axis=0),
        lambda m, r: np.sort(m, axis=0),
    ],
    "together": [
        lambda m, r: np.concatenate([r, r]), lambda m, r: np.vstack([r, r]), lambda m, r: np.column_stack([r, r]),
        lambda m, r: np.stack([r, r]), lambda m, r: np.append(r, 1), lambda m, r: np.delete(r, 0),
        lambda m, r: np.insert(r, 0, 2), lambda m, r: np.meshgrid(r, r), lambda m, r: ma.append(r, r),
        lambda m, r: ma.append(m, m, axis=1), lambda m, r: ma.choose([0, 1, 0, 1], [r, r[::-1]]),
        lambda m, r: ma.choose(r.mask & 1, [r, 3]), lambda m, r: ma.array([r, r]), lambda m, r: ma.array(r, ndmin=2),
        lambda m, r: ma.where(r > 1),
    ],
    "like": [
        lambda m, r: np.zeros_like(m), lambda m, r: ma.zeros_like(m), lambda m, r: ma.ones_like(r),
        lambda m, r: np.full_like(m, 1), lambda m, r: ma.identity(2), lambda m, r: ma.indices((2, 3)),
        lambda m, r: m.baseclass is np.ndarray, lambda m, r: m.flags.c_contiguous, lambda m, r: m.strides,
        lambda m, r: m.view(np.ndarray), lambda m, r: m.view(), lambda m, r: [v is ma.masked for v in m.flat],
        lambda m, r: m.flat[1], lambda m, r: r.item(1), lambda m, r: m.shrink_mask(), lambda m, r: (np.real(m), np.imag(m)),
        lambda m, r: ma.around(m), lambda m, r: np.around(m), lambda m, r: ma.round_(m, 1), lambda m, r: ma.angle(m),
    ],
    "python": [
        lambda m, r: m.tolist(), lambda m, r: r.tolist(), lambda m, r: r.tolist(7), lambda m, r: r[1:2].tolist(),
    ],
    "texts": [text, all_of_it, in_a_text, formatted],
    "differences": [
        lambda m, r: np.diff(r), lambda m, r: np.diff(m, axis=0), lambda m, r: ma.diff(r, n=2),
        lambda m, r: ma.diff(r, prepend=0), lambda m, r: ma.ediff1d(m), lambda m, r: np.ediff1d(r),
        lambda m, r: ma.ediff1d(r, to_end=1, to_begin=ma.array([2, 3])),
    ],
    "products": [
        lambda m, r: ma.inner(r, r), lambda m, r: ma.inner(m, m), lambda m, r: ma.outer(r, r[:2]), lambda m, r: ma.trace(m),
        lambda m, r: m.trace(offset=1), lambda m, r: ma.dot(m, m.T, strict=True), lambda m, r: ma.dot(m, m.T),
        lambda m, r: ma.vander(r, 3), lambda m, r: ma.convolve(r, np.array([1, 2])),
        lambda m, r: ma.correlate(r, np.array([1, 2])),
        lambda m, r: ma.convolve(r, np.array([1, 2]), mode="same", propagate_mask=False), lambda m, r: np.dot(r, r),
        lambda m, r: np.outer(r, r), lambda m, r: np.convolve(r, [1, 2]),
    ],
    "ufuncs": [
        lambda m, r: ma.add.reduce(r), lambda m, r: ma.add.reduce(m, axis=1), lambda m, r: ma.multiply.reduce(m),
        lambda m, r: ma.add.accumulate(r), lambda m, r: ma.multiply.outer(r, r), lambda m, r: np.add.outer(r, r[:2]),
        lambda m, r: np.add.reduce(m, axis=1), lambda m, r: np.add.accumulate(r), lambda m, r: ma.logical_and.reduce(m),
    ],
    "of data": [
        lambda m, r: np.count_nonzero(m), lambda m, r: np.average(m, axis=0),
        lambda m, r: np.average(m, axis=1, weights=np.array([1.0, 2, 3, 4])), lambda m, r: np.triu(m),
        lambda m, r: np.isin(m, [2]), lambda m, r: np.digitize(r, [1, 3]), lambda m, r: np.allclose(m, m),
        lambda m, r: np.array_equal(m, m), lambda m, r: np.diag(r), lambda m, r: np.interp(0.5, np.arange(4), r),
        lambda m, r: np.argsort(r, kind="stable"),
    ],
    "equal ones": [
        lambda m, r: ma.unique(m), lambda m, r: np.unique(r, return_inverse=True), lambda m, r: ma.isin(r, [0, 2]),
        lambda m, r: ma.union1d(r, r[:2]), lambda m, r: ma.setdiff1d(r, r[:1]), lambda m, r: ma.flatten_mask(m.mask),
        lambda m, r: ma.sort(r, endwith=False), lambda m, r: r.argsort(endwith=False, kind="stable"),
    ],
}  # fmt: skip


_ORDINARY = ("texts", "f64", "a row")
_CASES = [
    pytest.param(*case, marks=[] if case == _ORDINARY else LEFT_TO_CI)
    for case in itertools.product(GROUPS, ["f64", "i64"], MASKS)
]


@pytest.mark.parametrize("group, data, mask", _CASES)
def test_functions(group, data, mask):
    values = np.where(np.isfinite(DATA[data]), DATA[data], 2).astype(DATA[data].dtype)
    m = ma.array(values, mask=MASKS[mask])
    require_same_results(GROUPS[group], m, m[0])


def weighted(x, y):
    return ma.polyfit(x, y, 1), ma.polyfit(x, y, 2, w=np.arange(1.0, 9))


def covariances(x, y):
    table = ma.stack([x, y, x * y])
    return (
        ma.cov(x), ma.cov(x, y), ma.cov(table), ma.cov(table, rowvar=False, bias=True), ma.cov(x, ddof=0), ma.corrcoef(x, y),
        ma.corrcoef(table),
    )  # fmt: skip


def edges(x, y):
    return ma.notmasked_edges(x), ma.flatnotmasked_edges(y)


def along_axes(x, y):
    table = ma.stack([x, y])
    return (
        ma.apply_along_axis(lambda line: line.sum(), 0, table), ma.apply_along_axis(lambda line: line.max(), 1, table),
        ma.apply_over_axes(ma.sum, table, [0, 1]),
    )  # fmt: skip


def lists(x, y):
    return (
        ma.array([x.mean(), ma.masked, y.sum()]), ma.array([x[k] for k in range(8)]), ma.array([1.0, ma.masked]) + 1,
        ma.array([x.max(), y.max()]).sum(),
    )  # fmt: skip


def put_there(x, y):
    x.put([0, 1], [9, 8])
    ma.put(x, [2], ma.array([5.0], mask=[1]))
    ma.putmask(y, x > 5, -1)
    np.add(y, 1, out=y)
    np.sqrt(y, out=x)
    return x, y


@pytest.mark.parametrize("function", one_in(6, [put_there, weighted, covariances, edges, along_axes, lists]))
@pytest.mark.parametrize("share", one_in(3, (0.3, 0.7, 0.0)))
def test_programs(function, share):
    rng = np.random.default_rng(1)
    f = jit(function)
    for _ in range(2):
        x, y = (ma.array(rng.normal(size=8), mask=rng.random(8) < share) for _ in range(2))
        for_numpy, for_jit = (x.copy(), y.copy()), (x.copy(), y.copy())
        require_same(f(*for_jit), silently(function, *for_numpy))
        require_same(for_jit, for_numpy)


def test_functions_without_source():
    found = {}
    exec("def function(x): return x + 1, x.sum(), x[0], x[1], x[:2], -x", found)
    for mask in ([0, 1, 0], [1, 1, 1]):
        x = ma.array([1.0, 2.0, 3.0], mask=mask)
        require_same(jit(found["function"])(x), found["function"](x))
