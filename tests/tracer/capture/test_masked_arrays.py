"""`numpy.ma` in traced functions, beside NumPy's own: data, masks, fill values, types."""

import operator
import warnings

import numpy as np
import phlox
import pytest
from masked_arrays import DATA, MASKS, require_same, require_same_results, silently
from numpy import ma
from phlox import jit
from thinning import one_in, one_in_all

pytestmark = pytest.mark.filterwarnings("ignore")

REDUCTIONS = ("sum", "prod", "mean", "min", "max", "any", "all", "count", "argmin", "argmax", "cumsum", "cumprod")
OF_FINITE = ("var", "std", "ptp", "anom")
ELEMENTWISE = (
    "abs", "negative", "sqrt", "log", "log2", "log10", "exp", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "arccosh",
    "arctanh", "floor", "ceil", "logical_not", "conjugate",
)  # fmt: skip
OPERATORS = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, operator.eq,
    operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
)  # fmt: skip


@pytest.mark.parametrize("data, mask", one_in_all(17, DATA, MASKS))
def test_reductions(data, mask):
    names = [*REDUCTIONS, *[name for name in OF_FINITE if np.isfinite(DATA[data]).all() and data != "bool"]]
    if data == "complex":
        names = [name for name in names if name not in ("min", "max", "ptp", "argmin", "argmax")]
    functions = [lambda m, name=name, axis=axis: getattr(m, name)(axis=axis) for name in names for axis in (None, 0, 1, -1)]
    require_same_results(functions, ma.array(DATA[data], mask=MASKS[mask]))


@pytest.mark.parametrize("data, mask", one_in_all(11, ["f64", "f32", "i64", "complex"], MASKS))
def test_elementwise_functions(data, mask):
    names = [name for name in ELEMENTWISE if data != "complex" or name in ("abs", "negative", "exp", "sin", "conjugate")]
    functions = [lambda m, name=name, module=module: getattr(module, name)(m) for name in names for module in (ma, np)]
    require_same_results(functions, ma.array(DATA[data], mask=MASKS[mask]))


@pytest.mark.parametrize("data, mask", one_in_all(8, ["f64", "f32", "i64"], MASKS))
def test_operators(data, mask):
    functions = []
    for function in OPERATORS:
        functions += [
            lambda m, x, function=function: function(m, x),
            lambda m, x, function=function: function(x, m),
            lambda m, x, function=function: function(m, 2),
            lambda m, x, function=function: function(m, m[::-1]),
        ]
        if mask != "all":  # numpy.ma.masked is a float64, and zero where it is no mask
            functions.append(lambda m, x, function=function: function(x, m.max()))
    require_same_results(functions, ma.array(DATA[data], mask=MASKS[mask]), DATA[data][:, ::-1].copy())


CALLS = [
    lambda x: ma.masked_where(x > 1, x),
    lambda x: ma.masked_equal(x, 2),
    lambda x: ma.masked_not_equal(x, 2),
    lambda x: ma.masked_greater(x, 2),
    lambda x: ma.masked_greater_equal(x, 2),
    lambda x: ma.masked_less(x, 2),
    lambda x: ma.masked_less_equal(x, 2),
    lambda x: ma.masked_inside(x, 3, 1),
    lambda x: ma.masked_outside(x, 1, 3),
    lambda x: ma.masked_values(x, 2),
    lambda x: ma.masked_invalid(x / (x - 2)),
    lambda x: ma.fix_invalid(x / (x - 2)),
    lambda x: ma.array(x, mask=x > 1, fill_value=7).filled(),
    lambda x: ma.array(x, mask=[0, 1, 0, 0]),
    lambda x: ma.array(x, mask=True),
    lambda x: ma.masked_array(x, x < 1),
    lambda x: ma.array(ma.array(x, mask=x > 2), mask=x < 1),
    lambda x: ma.array(ma.array(x, mask=x > 2), mask=x < 1, keep_mask=False),
    lambda x: ma.masked_all((2, 2)).mask,
    lambda x: ma.zeros(3) + ma.arange(3),
    lambda x: ma.where(x > 1, ma.masked_equal(x, 2), 0),
    lambda x: ma.concatenate([ma.masked_equal(x, 2), x]),
    lambda x: ma.stack([ma.masked_equal(x, 2), x], axis=1),
    lambda x: ma.vstack([ma.masked_equal(x, 2), x]),
    lambda x: ma.average(ma.masked_equal(x, 2), weights=x),
    lambda x: ma.average(ma.masked_equal(x.reshape(2, 2), 2), axis=0, weights=np.array([1.0, 3.0])),
    lambda x: ma.average(ma.masked_equal(x, 2), returned=True),
    lambda x: [ma.median(ma.masked_equal(x, k)) for k in range(5)],
    lambda x: ma.median(ma.masked_equal(x.reshape(2, 2), 2), axis=1),
    lambda x: ma.median(ma.masked_greater(x.reshape(2, 2), 1), axis=1, keepdims=True),
    lambda x: ma.sort(ma.masked_equal(x[::-1], 2)),
    lambda x: ma.masked_equal(x[::-1], 2).argsort(),
    lambda x: ma.dot(ma.masked_equal(x, 2), x),
    lambda x: ma.maximum(ma.masked_equal(x, 2), 1),
    lambda x: ma.minimum(1, ma.masked_equal(x, 2)),
    lambda x: np.maximum(ma.masked_equal(x, 2), 1),
    lambda x: ma.masked_equal(x, 2).compressed(),
    lambda x: ma.masked_equal(x, 2)[1:].sum(),
    lambda x: ma.masked_equal(x, 2)[x > 0],
    lambda x: ma.masked_greater(x, 2)[ma.masked_greater(x, 2) < 3],
    lambda x: ma.masked_equal(x, 2)[np.array([0, 2])],
    lambda x: ma.masked_equal(x, 2)[None, :] * ma.masked_equal(x, 1)[:, None],
    lambda x: ma.masked_equal(x.reshape(2, 2), 2).T.reshape(-1),
    lambda x: ma.masked_equal(x, 2).astype(np.int32),
    lambda x: ma.masked_equal(x, 2).round(1),
    lambda x: ma.masked_equal(x, 2).clip(0.5, 1.5),
    lambda x: ma.masked_equal(x, 2).take([0, 2]),
    lambda x: ma.masked_equal(x, 2).repeat(2),
    lambda x: [v is ma.masked for v in ma.masked_equal(x, 2)],
    lambda x: [i for i in range(4) if ma.masked_equal(x, 2)[i] is not ma.masked],
    lambda x: (isinstance(ma.array(x), ma.MaskedArray), isinstance(ma.array(x), np.ndarray), type(ma.array(x)) is np.ndarray),
    lambda x: (ma.is_masked(ma.masked_equal(x, 2)), ma.is_masked(ma.masked_equal(x, 9)), ma.isMaskedArray(x)),
    lambda x: (np.asarray(ma.masked_equal(x, 2)), np.array(ma.masked_equal(x, 2)), np.where(ma.masked_equal(x, 2) > 1, 1, 0)),
    lambda x: (np.sum(ma.masked_equal(x, 2)), np.mean(ma.masked_equal(x, 2)), np.std(ma.masked_equal(x, 2))),
    lambda x: x - ma.masked_equal(x, 2).mean(),
    lambda x: x - ma.masked_less(x, 9).mean(),
    lambda x: ma.masked_less(x, 9).sum() + 1,
    lambda x: f"{ma.masked_equal(x, 2).mean():.3f} {ma.masked_less(x, 9).mean():.3f}",
    lambda x: 1 if ma.masked_equal(x, 2).sum() > 3 else 0,
    lambda x: float(ma.masked_equal(x, 2).sum()),
    lambda x: (ma.getmask(ma.array(x)), ma.getmaskarray(ma.array(x)), ma.getdata(ma.masked_equal(x, 2))),
    lambda x: (ma.masked_equal(x, 2).fill_value, ma.masked_equal(x, 2).shape, ma.masked_equal(x, 2).dtype.kind),
    lambda x: (ma.allequal(ma.masked_equal(x, 2), x), ma.allclose(ma.masked_equal(x, 2), x + 1e-12), ma.count_masked(x)),
    lambda x: (ma.masked_equal(x, 2) > 5).any(),
]


@pytest.mark.parametrize("number", one_in(6, range(len(CALLS))))
def test_functions(number):
    x = np.arange(4.0)
    require_same(jit(CALLS[number])(x), silently(CALLS[number], x))


# --- changes ---


def first_masked(m):
    m[0] = ma.masked
    return m.sum()


def one_set(m):
    m[1] = 9
    m[2:] = m[:2] * 2
    return m


def in_place(m):
    m += 1
    m *= 2
    m -= 0.5
    m /= m - 1
    return m


def mask_set(m):
    m.mask = [1, 0, 0, 1]
    return m.mean()


def hard(m):
    n = m.copy()
    n.harden_mask()
    n[:] = 5
    return n


@pytest.mark.parametrize("change", [first_masked, one_set, in_place, mask_set, hard])
@pytest.mark.parametrize("mask", [[0, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]])
def test_arguments_are_changed_in_place(change, mask):
    f = jit(change)
    for scale in (1, 3):
        mine, theirs = [ma.array(np.arange(4.0) * scale, mask=mask) for _ in range(2)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            require_same(f(mine), change(theirs))
        require_same(mine, theirs)


def test_what_an_argument_cannot_get_is_an_error():
    without = ma.array(np.arange(4.0))
    with pytest.raises(NotImplementedError, match=r"make it with a mask \(np.ma.array\(x, mask=False\)\)"):
        jit(first_masked)(without)
    assert without.mask is ma.nomask
    with pytest.raises(NotImplementedError, match="np.ma.clump_masked is not implemented"):
        jit(lambda m: ma.clump_masked(m))(without)
    with pytest.raises(NotImplementedError, match="np.add.reduce of masked arrays"):
        jit(lambda m: np.add.reduce(m, out=m))(without)
    with pytest.raises(NotImplementedError, match="view of masked arrays"):
        jit(lambda m: m.view("i8"))(without)
    with pytest.raises(NotImplementedError, match="partition of masked arrays"):
        jit(lambda m: m.argpartition(1))(without)


outside = ma.array(np.arange(4.0), mask=[0, 0, 1, 0])


def test_masked_arrays_from_outside():
    f = jit(lambda x: outside * x)
    x = np.arange(4.0)
    require_same(f(x), outside * x)
    outside[2] = 5
    outside[3] = ma.masked
    require_same(f(x), outside * x)


class Station:
    def __init__(self):
        self.readings = ma.zeros(4)

    @jit
    def read(self, values):
        self.readings = self.readings + ma.masked_invalid(values)
        return self.readings.mean()


def test_masked_arrays_in_objects():
    station, plain = Station(), Station()
    for values in (np.array([1.0, np.nan, 3, 4]), np.array([1.0, 2, 3, np.nan])):
        require_same(station.read(values), Station.read.__wrapped__(plain, values))
        require_same(station.readings, plain.readings)


def test_masked_arrays_go_through_loops_and_branches():
    def smoothed(x, n):
        m = ma.masked_less(x, 0)
        for _ in range(n):
            inner = (m[:-2] + m[1:-1] + m[2:]) / 3
            m = ma.concatenate([m[:1], inner, m[-1:]])
            if m.mean() > 10:
                m = m / 2
        return m

    x = np.array([3.0, -1, 5, 40, 2, 7])
    for n in (0, 1, 7):
        require_same(jit(smoothed)(x, n), smoothed(x, n))


def test_same_values_by_every_backend():
    def f(x):
        m = ma.masked_greater(x, 2)
        return m.mean(), ma.log(m), m.filled(0)

    x = np.arange(5.0)
    for backend in ("reference", "cpu"):
        require_same(jit(f, backend=backend)(x), f(x))
    assert phlox.tree_map(lambda leaf: leaf, ma.array([1, 2], mask=[0, 1])).mask.tolist() == [False, True]


def test_fill_values_are_told_apart_and_nan_is_one_value():
    """Among arguments and outside: what equals another one, as -0.0 does, and what does not equal itself."""

    def f(m):
        return m * 2, kept[0].fill_value

    kept, g = [None], jit(f)
    for fill in (0.0, -0.0, np.nan, np.nan, 0.0, -0.0):
        m = ma.array([1.0, 2], mask=[0, 1], fill_value=fill)
        kept[0] = ma.array([3.0], fill_value=fill)
        (doubled, fill_outside), (expected, _) = g(m), f(m)
        require_same(doubled, expected)
        assert repr(float(doubled.fill_value)) == repr(float(fill_outside)) == repr(fill)
    assert g.cache_info().misses == 3


# --- whole programs ---


def anomalies(t, latitudes):
    t = ma.masked_where((t < -5) | (t > 40), t)
    anomaly = t - t.mean(axis=0)
    zonal = ma.average(anomaly.mean(axis=2), axis=1, weights=np.cos(np.deg2rad(latitudes)))
    return anomaly, zonal, zonal.std(), t.count(axis=(1, 2))


def without_outliers(t, latitudes):
    m = ma.masked_invalid(t.ravel() / latitudes[0])
    for _ in range(3):
        m = ma.masked_where(np.abs(m - m.mean()) > 2 * m.std(), m)
    return m, m.count(), m.compressed().mean()


def gaps_filled(t, latitudes):
    m = ma.masked_less(t[0, 0], 15)
    good = ~ma.getmaskarray(m)
    places = np.arange(m.size)
    return np.interp(places, places[good], m.compressed())


def running_means(t, latitudes):
    m = ma.masked_less(t[0, 0], 15)
    out = ma.zeros(m.size)
    for i in range(m.size):
        out[i] = m[max(0, i - 1) : min(m.size, i + 2)].mean()
    return out


def text_of_rows(t, latitudes):
    text = ""
    for row in ma.masked_less(t[0], 20):
        text += f"{row.mean():.2f};"
    return text


@pytest.mark.parametrize("program", one_in(5, [anomalies, without_outliers, gaps_filled, running_means, text_of_rows]))
def test_programs(program):
    rng = np.random.default_rng(0)
    f = jit(program)
    for _ in range(2):
        t = rng.normal(20, 15, (4, 5, 6))
        latitudes = np.linspace(-60, 60, 5)
        require_same(f(t, latitudes), silently(program, t, latitudes))
