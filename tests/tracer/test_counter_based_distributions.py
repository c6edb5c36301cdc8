"""`phlox.random.Generator`: distributions that have parameters, against closed forms, and the same bits everywhere."""

import inspect

import mpmath
import numpy as np
import pytest
from phlox import jit
from phlox.random import Generator
from phlox.tracer.random import elementary, rejection
from thinning import left_to_ci, one_in, one_in_all

N = 20 * 1024  # made by twenty calls of one compiled function


def test_elementary_functions():
    x = np.concatenate([np.linspace(-30, 30, 301), [-700.0, -1e-300, 0.0, 1e-17, 0.3466, -0.3466, 709.7]])
    y = np.concatenate([2.0 ** np.linspace(-1000, 1000, 101), [1.0, 1 + 2.0**-52, 1 - 2.0**-53, 0.7072, 0.7071, 10.0]])
    p = np.array([1e-300, 1e-20, 1e-9, 0.1, 0.5, 0.9, 1 - 2.0**-53])
    with mpmath.workdps(40):
        cases = [(elementary.exponential, mpmath.exp, x), (elementary.logarithm, mpmath.log, y)]
        cases += [(elementary.exponential_minus_1, mpmath.expm1, x[(x >= 0) & (x < 700)])]
        cases += [(rejection.logarithm_of_rest, lambda one: mpmath.log1p(-one), p)]
        for function, exact, numbers in cases:
            for one, found in zip(numbers.tolist(), function(numbers).tolist(), strict=True):
                assert abs(found - exact(mpmath.mpf(one))) <= 4 * 2.0**-53 * abs(exact(mpmath.mpf(one))), (function, one)
    assert elementary.exponential(np.array([-800.0, -np.inf])).tolist() == [0.0, 0.0]
    with np.errstate(over="ignore"):
        assert elementary.exponential(np.array([720.0, np.inf])).tolist() == [np.inf, np.inf]
    assert np.isnan(elementary.exponential(np.array([np.nan])))[0]


def test_what_stirlings_formula_leaves():
    with mpmath.workdps(40):
        for k in [0, 1, 5, 9, 10, 11, 100, 10**6]:
            exact = mpmath.loggamma(k + 1) - (k + mpmath.mpf(0.5)) * mpmath.log(k + 1) + k + 1 - mpmath.log(2 * mpmath.pi) / 2
            assert abs(rejection.stirling_tail(float(k)) - exact) < 1e-10


# --- closed forms ---

CONTINUOUS = {
    "laplace": ((1.0, 2.0), ("laplace", 1, 2)), "logistic": ((1.0, 2.0), ("logistic", 1, 2)),
    "gumbel": ((1.0, 2.0), ("gumbel_r", 1, 2)), "lognormal": ((0.5, 0.3), ("lognorm", 0.3, 0, np.exp(0.5))),
    "rayleigh": ((2.0,), ("rayleigh", 0, 2)), "weibull": ((1.5,), ("weibull_min", 1.5)), "pareto": ((3.0,), ("lomax", 3)),
    "power": ((0.7,), ("powerlaw", 0.7)), "standard_cauchy": ((), ("cauchy",)), "wald": ((2.0, 3.0), ("invgauss", 2 / 3, 0, 3)),
    "triangular": ((1.0, 2.0, 5.0), ("triang", 0.25, 1, 4)), "gamma": ((2.5, 3.0), ("gamma", 2.5, 0, 3)),
    "standard_gamma": ((0.3,), ("gamma", 0.3)), "chisquare": ((3.0,), ("chi2", 3)),
    "noncentral_chisquare": (([3.0, 0.5], 2.0), ("ncx2", np.array([3.0, 0.5]), 2)), "f": ((3.0, 5.0), ("f", 3, 5)),
    "noncentral_f": ((3.0, 5.0, 2.0), ("ncf", 3, 5, 2)), "standard_t": ((2.5,), ("t", 2.5)),
    "beta": (([0.5, 3.0, 1e-2], [0.7, 2.0, 2.0]), ("beta", np.array([0.5, 3.0, 1e-2]), np.array([0.7, 2.0, 2.0]))),
}  # fmt: skip


@pytest.mark.parametrize("name", one_in(5, CONTINUOUS))
def test_continuous_distributions(name):
    """Of arrays of parameters all columns are put together: their places in their distributions are uniform."""
    stats = pytest.importorskip("scipy.stats")
    args, (exact, *parameters) = CONTINUOUS[name]
    columns = np.broadcast_shapes(*map(np.shape, args))
    found = getattr(Generator(7), name)(*args, size=(N, *columns))
    places = getattr(stats, exact)(*parameters).cdf(found)
    assert stats.kstest(places.ravel(), "uniform").pvalue > 1e-3


COUNTS = {
    "poisson": [((3.0,), ("poisson", 3)), ((10.0,), ("poisson", 10)), ((150.0,), ("poisson", 150))],
    "binomial": [
        ((10, 0.3), ("binom", 10, 0.3)), ((100, 0.3), ("binom", 100, 0.3)), ((100, 0.85), ("binom", 100, 0.85)),
        ((5000, 0.001), ("binom", 5000, 0.001)),
    ],
    "negative_binomial": [((2.5, 0.4), ("nbinom", 2.5, 0.4))], "geometric": [((0.3,), ("geom", 0.3))],
    "hypergeometric": [
        ((20, 7, 12), ("hypergeom", 27, 20, 12)), ((300, 500, 600), ("hypergeom", 800, 300, 600)),
        ((1, 2, 1), ("hypergeom", 3, 1, 1)),
    ],
    "zipf": [((3.0,), ("zipf", 3))], "logseries": [((0.6,), ("logser", 0.6))],
}  # fmt: skip


@pytest.mark.parametrize("case", one_in(5, [(name, *case) for name, cases in COUNTS.items() for case in cases]), ids=str)
def test_counts(case):
    name, args, exact = case
    stats = pytest.importorskip("scipy.stats")
    distribution = getattr(stats, exact[0])(*exact[1:])
    found = getattr(Generator(7), name)(*args, size=N)
    k = np.arange(found.min(), found.max() + 1)
    expected, observed = N * distribution.pmf(k), np.bincount(found - k[0], minlength=len(k))
    often = expected > 5
    rest, others = N - expected[often].sum(), N - observed[often].sum()
    if rest > 5:
        expected, observed = np.append(expected[often], rest), np.append(observed[often], others)
    else:
        expected, observed = expected[often], observed[often]
    assert stats.chisquare(observed, expected * (observed.sum() / expected.sum())).pvalue > 1e-3


@left_to_ci
def test_large_rates_and_many_trials():
    rates = np.array([1e4, 1e8, 1e12, 1e15])
    found = (Generator(7).poisson(rates, (4096, 4)) - rates) / np.sqrt(rates)
    np.testing.assert_allclose(found.mean(0), 0, atol=4 / 64)
    np.testing.assert_allclose(found.var(0), 1, atol=5 * np.sqrt(2) / 64)
    n, p = np.array([10**5, 10**9, 10**12, 10**15]), np.array([0.2, 1e-6, 0.5, 0.9])
    found = (Generator(7).binomial(n, p, (4096, 4)) - n * p) / np.sqrt(n * p * (1 - p))
    np.testing.assert_allclose(found.mean(0), 0, atol=4 / 64)
    np.testing.assert_allclose(found.var(0), 1, atol=5 * np.sqrt(2) / 64)


@left_to_ci
def test_vectors():
    rng, alpha = Generator(7), np.array([0.01, 0.5, 3.0])
    rows, total = rng.dirichlet(alpha, N), alpha.sum()
    np.testing.assert_allclose(rows.sum(1), 1, atol=1e-15)
    np.testing.assert_allclose(rows.mean(0), alpha / total, atol=0.01)
    np.testing.assert_allclose(rows.var(0), alpha * (total - alpha) / total**2 / (total + 1), atol=0.003)
    p = np.array([0.1, 0.2, 0.3, 0.4])
    counts = rng.multinomial(20, p, N)
    assert (counts.sum(1) == 20).all()
    np.testing.assert_allclose(np.cov(counts.T), 20 * (np.diag(p) - np.outer(p, p)), atol=0.15)
    cov = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 0.5]])
    for method in ("svd", "eigh", "cholesky"):
        rows = rng.multivariate_normal([1.0, 2.0, 3.0], cov, N, method=method)
        np.testing.assert_allclose(rows.mean(0), [1, 2, 3], atol=0.05)
        np.testing.assert_allclose(np.cov(rows.T), cov, atol=0.08)


# --- the same bits everywhere ---

CALLS = {
    "elementwise": lambda rng: (
        rng.laplace(1.0, 2.0, 30), rng.logistic([1.0, 2.0], 2.0), rng.gumbel(), rng.lognormal(0.5, 0.3, 7), rng.rayleigh([2.0]),
        rng.weibull([1.5, 0.0]), rng.pareto(3.0, 5), rng.power(0.7, 5), rng.standard_cauchy(4), rng.wald(2.0, 3.0, 4),
        rng.triangular(1.0, 2.0, 5.0, (2, 2)), rng.geometric([0.3, 1.0, 1e-30]),
    ),
    "gamma": lambda rng: (rng.gamma(2.5, 3.0, 300), rng.gamma([0.0, 0.5, 1.0, 2.0, 100.0], 2.0, (60, 5))),
    "standard_gamma": lambda rng: (
        rng.standard_gamma(0.3, (), np.float32), rng.standard_gamma([1, 2, 3], out=np.empty(3)),
    ),
    "chisquare": lambda rng: (rng.chisquare(3.0, 5), rng.standard_t(2.5, 5), rng.f(3.0, 5.0, 9)),
    "noncentral": lambda rng: rng.noncentral_f([3.0, 0.5], 5.0, 2.0, (20, 2)),
    "beta": lambda rng: rng.beta([0.5, 1e-3], [0.7, 2e-3], (100, 2)),
    "poisson": lambda rng: (rng.poisson(), rng.poisson([2.0, 30.0, 1e6, 1e12], (100, 4))),
    "binomial": lambda rng: rng.binomial([0, 3, 100, 10**12], [0.5, 0.9, 0.4, 0.6], (50, 4)),
    "negative_binomial": lambda rng: rng.negative_binomial(2.5, 0.4),
    "others": lambda rng: (
        rng.hypergeometric([3, 0, 5, 400, 1], [4, 5, 0, 300, 10**8], [7, 3, 2, 350, 10**6]),
        rng.zipf(2.0, 100), rng.zipf(1.1, 10), rng.zipf(2000.0), rng.logseries([0.0, 0.6, 0.999], (100, 3)),
    ),
    "dirichlet": lambda rng: (rng.dirichlet([0.1, 0.2, 0.3], 4), rng.dirichlet([1.0, 0.0]), rng.dirichlet([])),
    "multinomial": lambda rng: (
        rng.multinomial([10, 20], [0.2, 0.3, 0.5], (3, 2)), rng.multinomial(3, [[0.0, 1.0, 0.0], [0.1, 0.9, 0.0]]),
    ),
    "multivariate_normal": lambda rng: (
        rng.multivariate_normal([0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]], 5), rng.multivariate_normal([1.0], [[2.0]], (2, 2)),
        rng.multivariate_normal([0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]], method="eigh"),
    ),
    "bytes": lambda rng: (rng.bytes(0), rng.bytes(7), rng.bytes(8), rng.bytes(9)),
    "permuted": lambda rng: (
        rng.permuted(np.arange(12).reshape(3, 4)), rng.permuted(np.arange(12).reshape(3, 4), axis=0),
        rng.permuted([[1.0, 2.0], [3.0, 4.0]], axis=-1, out=np.empty((2, 2))),
    ),
}  # fmt: skip


def assert_same(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    else:
        np.testing.assert_array_equal(found, expected, strict=isinstance(expected, np.ndarray))


@pytest.mark.parametrize("name, backend", one_in_all(13, CALLS, ["cpu", "reference"], ci_step=3))
def test_in_and_out_of_jit(name, backend):
    inside, outside = Generator(11), Generator(11)
    assert_same(jit(CALLS[name], backend=backend)(inside), CALLS[name](outside))
    assert inside.state == outside.state


def test_numbers_are_taken_in_turn():
    """Also of parameters that differ from number to number, over the ends of what one compiled function makes."""
    rng, other = Generator(1), Generator(1)
    shapes = np.linspace(0.1, 30.0, 36_000)
    together = rng.gamma(shapes)
    parts = [other.gamma(part) for part in np.split(shapes, [1, 17, 34, 1058, 33_900])]
    np.testing.assert_array_equal(np.concatenate(parts), together)
    assert rng.state == other.state and rng.state[1] == 4 * 36_000


def of_traced_parameters(rng, x):
    rates = x * 10
    count, total = len(x[x > 0.5]), 0
    for k in range(20):
        total += rng.poisson(x[k])
    drawn = rng.poisson(rates), rng.gamma(x, rates), rng.weibull(x[0]), rng.laplace(size=count), rng.gamma(2.0, size=count)
    return *drawn, total


@left_to_ci
def test_parameters_and_sizes_that_the_program_computes():
    inside, outside, x = Generator(3), Generator(3), np.linspace(0.1, 1.0, 20)
    assert_same(jit(of_traced_parameters)(inside, x), of_traced_parameters(outside, x))
    assert inside.state == outside.state


# --- like NumPy's ---

METHODS = [
    "beta", "binomial", "bytes", "chisquare", "dirichlet", "f", "gamma", "geometric", "gumbel", "hypergeometric", "laplace",
    "logistic", "lognormal", "logseries", "multinomial", "multivariate_normal", "negative_binomial", "noncentral_chisquare",
    "noncentral_f", "pareto", "permuted", "poisson", "power", "rayleigh", "standard_cauchy", "standard_gamma", "standard_t",
    "triangular", "wald", "weibull", "zipf",
]  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_methods_take_what_numpys_take(name):
    ours, theirs = (inspect.signature(getattr(kind, name)).parameters for kind in (Generator, np.random.Generator))
    assert [(one.name, one.default, one.kind) for one in ours.values() if one.name != "self"] == [
        (one.name, one.default, one.kind) for one in theirs.values() if one.name != "self"
    ]


REFUSED = [
    ("laplace", (0, -1)), ("gumbel", (0, [-1, 1])), ("logistic", (0, -0.0)), ("lognormal", (0, -1)), ("rayleigh", (-1,)),
    ("weibull", (-1,)), ("pareto", (0,)), ("power", (-1,)), ("wald", (0, 1)), ("wald", (1, 0)), ("triangular", (2, 1, 3)),
    ("triangular", (1, 4, 3)), ("triangular", (1, 1, 1)), ("standard_gamma", (-1,)), ("gamma", (-1,)), ("gamma", (1, -1)),
    ("gamma", ([1, -1], 1)), ("chisquare", (0,)), ("noncentral_chisquare", (0, 1)), ("noncentral_chisquare", (1, -1)),
    ("f", (0, 1)), ("f", (1, 0)), ("noncentral_f", (1, 1, -1)), ("standard_t", (0,)), ("beta", (0, 1)), ("beta", (1, [0, 1])),
    ("poisson", (-1,)), ("poisson", (np.nan,)), ("poisson", ([-1, 1],)), ("poisson", (1e19,)), ("binomial", (-1, 0.5)),
    ("binomial", (3, 1.5)), ("binomial", (3, [0.5, np.nan])), ("binomial", (2**63, 0.5)), ("negative_binomial", (0, 0.5)),
    ("negative_binomial", (np.nan, 0.5)),
    ("negative_binomial", (1e30, 0.5)), ("geometric", (0,)), ("geometric", ([1.5, 0.5],)),
    ("zipf", (1,)), ("hypergeometric", (1, 2, 4)),
    ("hypergeometric", (1, 2, -3)), ("hypergeometric", ([-1], 2, 0)), ("hypergeometric", (10**9, 2, 4)),
    ("logseries", (1,)), ("poisson", (3.0, -1)), ("poisson", (3.0, 2.5)), ("dirichlet", (0.5,)),
    ("dirichlet", ([1, -1],)), ("multinomial", (-1, [0.5, 0.5])), ("multinomial", (3, [0.6, 0.6, 0.1])),
    ("multinomial", (3, [0.5, -0.5])), ("multinomial", (3, 0.5)), ("multinomial", (3, [])),
    ("multinomial", (3, np.float32([0.6, 0.6, 0.1]))), ("multinomial", (3, np.float32([0.6, 0.4, 0.0]))),
    ("multivariate_normal", (0, 1)),
    ("multivariate_normal", ([0, 0], [1, 2])),
    ("multivariate_normal", ([0], np.eye(2))), ("multivariate_normal", ([0, 0], np.eye(2), None, "x")),
    ("multivariate_normal", ([0, 0], [[1, 2], [2, 1]], None, "raise")), ("permuted", (3,)),
]  # fmt: skip


@pytest.mark.parametrize("name, args", REFUSED)
def test_errors_are_like_numpys(name, args):
    rng = Generator(3)
    before = rng.state
    with pytest.raises((ValueError, TypeError, OverflowError)) as expected:
        getattr(np.random.default_rng(3), name)(*args)
    with pytest.raises(expected.type) as found:
        getattr(rng, name)(*args)
    assert str(found.value) == str(expected.value) and rng.state == before


@pytest.mark.parametrize("program, message", [
    (lambda rng, v: rng.poisson(v), "lam < 0 or lam is NaN"), (lambda rng, v: rng.gamma(2.0, v), "scale < 0"),
    (lambda rng, v: rng.beta(v * np.ones(2), 1.0), "a <= 0"), (lambda rng, v: rng.dirichlet([1.0, v]), "alpha < 0"),
    (lambda rng, v: rng.multinomial(3, [0.5, -v, 0.2]), r"sum\(pvals\[:-1\]\) > 1.0"),
])  # fmt: skip
def test_errors_of_traced_parameters(program, message):
    rng = Generator(3)
    before = rng.state
    with pytest.raises(ValueError, match=message):
        jit(program)(rng, -1.0)
    assert rng.state == before


@pytest.mark.parametrize("args, error", [
    ((np.ones(3), None, np.zeros(2)), "same shape"), ((np.ones(3), None, [1.0]), "numpy array"),
    ((np.ones(3), None, np.zeros(3, int)), "Cannot cast"), ((np.ones(3), 1, None), "out of bounds"),
])  # fmt: skip
def test_wrong_arguments_of_permuted(args, error):
    x, axis, out = args
    with pytest.raises((ValueError, TypeError), match=error):
        Generator(1).permuted(x, axis=axis, out=out)


def test_a_warning_of_covariances():
    with pytest.warns(RuntimeWarning, match="covariance is not symmetric positive-semidefinite"):
        Generator(1).multivariate_normal([0, 0], [[1, 2], [2, 1]])


def test_rates_beyond_integers_end():
    assert (Generator(5).negative_binomial(0.5, 1e-18, 1000) >= 0).all()


@left_to_ci
def test_parameters_that_are_not_numbers_end():
    rng = Generator(5)
    assert np.isnan(rng.gamma(np.nan)) and np.isnan(rng.gamma(2.0, np.nan)) and np.isnan(rng.standard_t(3.0) * np.nan)
    assert np.isnan(rng.noncentral_chisquare([0.5, 3.0], np.nan)).all() and np.isnan(rng.beta(np.nan, 1.0))
    assert np.isnan(rng.laplace(np.nan)) and np.isnan(rng.lognormal(np.nan)) and np.isnan(rng.weibull(np.nan))
