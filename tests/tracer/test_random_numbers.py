"""Methods of NumPy's and Python's generators in compiled functions: what they draw, and generators that have gone as far."""

import random

import numpy as np
import pytest
from phlox import jit
from random_streams import GENERATOR, RANDOM_STATE, assert_same, state
from thinning import one_in

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
PARTS = np.linspace(0.1, 0.9, 5)
MATRIX = np.arange(12.0).reshape(3, 4)
TYPES = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)

# Each takes a generator and a number; the numbers of both kinds of generators are drawn.
OF_BOTH = {
    "laplace": lambda g, t: (g.laplace(t, 2), g.laplace(size=3), g.gumbel(1, t, 4), g.logistic(t, PARTS)),
    "poisson": lambda g, t: (g.poisson(t), g.poisson(size=(2, 3)), g.poisson(100 * PARTS), g.poisson(3, ())),
    "counts": lambda g, t: (g.logseries(PARTS), g.zipf(1 + PARTS + t, 5), g.logseries(0.3), g.zipf(t + 1, (2, 2))),
    "uniform": lambda g, t: (
        g.uniform(), g.uniform(t, 5), g.uniform(-t, t, 3), g.uniform(PARTS, t + 1), g.uniform(PARTS, [[1], [2]]),
        g.uniform(size=()), g.uniform(high=3),
    ),
    "triangular": lambda g, t: (g.triangular(0, t / 9, t), g.triangular(0, PARTS, 1)),
    "binomial": lambda g, t: (
        g.binomial(10, 0.3), g.binomial(10, PARTS), g.binomial(np.arange(5), 0.4), g.binomial(1000, 0.4, (2, 2)),
        g.binomial(10, t / 100),
    ),
    "normal": lambda g, t: (
        g.normal(), g.normal(t), g.normal(t, 2, 3), g.normal(MATRIX, t), g.normal([1, 2], [[3], [4]]), g.normal(size=()),
        g.normal(scale=t), g.normal(0, 1, 0), g.normal(size=(2, 0)),
    ),
    "exponential": lambda g, t: (g.exponential(), g.exponential(t), g.exponential(PARTS), g.exponential(size=(2, 3))),
    "standard": lambda g, t: (
        g.standard_normal(), g.standard_normal((2, 3)), g.standard_exponential(), g.standard_exponential(4), g.random(),
        g.random(3), g.random((2, 2)),
    ),
    "bytes": lambda g, t: (
        g.bytes(0), g.bytes(1), g.bytes(length=10), g.bytes(-1), g.bytes(-5), [g.bytes(2) for _ in range(40)],
    ),
    "permutation": lambda g, t: (
        g.permutation(10), g.permutation(PARTS), g.permutation(MATRIX), g.permutation([1, 2, 3]), g.permutation(0),
        g.permutation(1), g.permutation(MATRIX + t),
    ),
    "choice": lambda g, t: (
        g.choice(5), g.choice(5, 3), g.choice(PARTS), g.choice(PARTS, 4), g.choice(5, size=(2, 2)), g.choice([1, 2, 3]),
        g.choice(PARTS + t, ()),
    ),
    "weights": lambda g, t: (
        g.choice(5, p=PARTS / PARTS.sum()), g.choice(PARTS, 3, p=PARTS / PARTS.sum()),
        g.choice(PARTS, p=(PARTS + t) / np.sum(PARTS + t)), g.choice(5, (), p=PARTS / PARTS.sum()),
    ),
    "without replacement": lambda g, t: (
        g.choice(5, 3, replace=False), g.choice(MATRIX[0], 4, False), g.choice(7, replace=False),
        g.choice(5, (2, 2), replace=False), g.choice(5, 3, False, PARTS / PARTS.sum()),
    ),
    "by way of Python": lambda g, t: (
        g.multivariate_normal([0, 1], np.eye(2)), g.random(2), g.dirichlet([1, 2, 3]), g.multinomial(10, [0.2, 0.8]),
        g.normal(), g.hypergeometric(3, 4, 5), g.negative_binomial(3, 0.4), g.normal(t), len(g.bytes(3)),
    ),
}  # fmt: skip
OF_GENERATORS = {
    "integers": lambda g, t: (
        g.integers(10), g.integers(2, 9), g.integers(-5, 5, size=(2, 3)), g.integers(10, endpoint=True), g.integers(1),
        g.integers(2**40), g.integers(-(2**63), 2**63 - 1), g.integers(0, 2**64 - 1, dtype=np.uint64, endpoint=True),
        g.integers(2**32, size=3), g.integers(0, 2**32 - 1, endpoint=True, size=3),
    ),
    "dtypes": lambda g, t: tuple(
        [g.integers(100, dtype=d) for d in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.uint64, int)]
        + [g.integers(2, dtype=bool), g.integers(2, dtype=np.bool_), g.integers(2, size=9, dtype=bool)]
        + [g.integers(-7, 100, (3, 5), dtype=d) for d in (np.int8, np.int16, np.int32, np.int64)]
        + [g.integers(256, size=7, dtype=np.uint8)]
    ),
    "bounds": lambda g, t: (g.integers([1, 2, 3], 10), g.integers(0, [[10], [20]], size=(2, 3)), g.integers(np.arange(5), 10)),
    "bounds of each": lambda g, t: tuple([
        [g.integers(np.arange(9) % 3, int(t) * np.array([[2], [40]]), dtype=d, endpoint=True), g.random(dtype=np.float32)]
        for d in TYPES
    ] + [g.integers([0, 0], [int(t) % 2 + 1, 2], (40, 2), dtype=bool), g.integers([5, 0], 2**63 - 1, dtype=np.int64)]),
    "gamma": lambda g, t: (
        g.gamma(t), g.gamma(t, 2, 3), g.standard_gamma(PARTS), g.standard_gamma(t, dtype=np.float32, size=3), g.gamma(PARTS, 2),
        g.beta(t, 2), g.beta(PARTS, PARTS),
    ),
    "others": lambda g, t: (
        g.chisquare(t), g.f(t, 3), g.noncentral_chisquare(t, PARTS), g.noncentral_f(t, 3, PARTS), g.standard_t(t),
        g.standard_cauchy(3), g.pareto(t), g.weibull(PARTS), g.power(PARTS), g.rayleigh(t), g.lognormal(0, PARTS), g.wald(t, 2),
        g.vonmises(0, t, 3), g.standard_cauchy(), g.geometric(PARTS), g.geometric(0.3),
    ),
    "traced bounds": lambda g, t: (
        g.integers(0, int(t) + 4, size=5, dtype=np.int32), g.integers(int(t), 200, dtype=np.uint8),
        g.integers(0, int(t), dtype=int),
        g.integers(int(t) * 0, 2, dtype=bool), g.integers([1, 2, 3], int(t) + 9, dtype=np.int16), g.integers(0, 0, (3, 0)),
    ),
    "by way of Python, whatever the parameters": lambda g, t: (
        g.negative_binomial(int(t), 0.4), g.hypergeometric(int(t), 10, 8), g.multinomial(20, [0.1, t / 10, 0.9 - t / 10], 2),
        g.multinomial([int(t), 3], [0.25, 0.75]), g.multivariate_normal([0, t], [[2, 0.5], [0.5, t]], 3, method="cholesky"),
        g.multivariate_hypergeometric([3, int(t), 5], 7), g.choice([1, 5, int(t)], 2, replace=False, p=[0.3, 0.3, 0.4]),
    ),
    "float32": lambda g, t: (
        g.random(dtype=np.float32), g.random(5, dtype=np.float32), g.standard_normal(5, np.float32),
        g.standard_normal(dtype="f4"), g.standard_exponential(3, np.float32), g.standard_exponential(3, method="inv"),
    ),
    "distinct": lambda g, t: (
        g.choice(5, 3, replace=False, shuffle=False), g.choice(1000, 900, replace=False), g.choice(10**6, 300, replace=False),
        g.choice(MATRIX, 2, False, axis=1), g.choice(10**4, 10**4, replace=False), g.choice(10**9, 9, False, shuffle=False),
        g.choice(20_000, 5000, replace=False), g.choice(1, 1, replace=False), g.choice(PARTS + t, (2, 2), replace=False),
    ),
    "permuted": lambda g, t: (
        g.permuted(PARTS + t), g.permuted([1, 2, 3]), g.permuted(MATRIX), g.permuted(MATRIX, axis=0),
        g.permuted(MATRIX, axis=-1), g.permuted(MATRIX.T + t), g.permuted((MATRIX + t).T, axis=1),
        g.permuted(MATRIX[:, ::2].T), g.permuted(MATRIX[:0], axis=1), g.permuted(MATRIX, axis=0, out=np.empty((3, 4))),
    ),
    "axes": lambda g, t: (
        g.permutation(MATRIX, axis=1), g.choice(MATRIX, 2, axis=1), g.choice(MATRIX, axis=1), g.choice(MATRIX),
        g.choice(MATRIX, 3), g.permutation(MATRIX, -1),
    ),
}  # fmt: skip
OF_RANDOM_STATES = {
    "rand": lambda g, t: (
        g.rand(), g.rand(3), g.rand(2, 3), g.randn(), g.randn(3), g.randn(2, 2), g.random_sample(), g.random_sample(4),
        g.normal(), g.randn(), g.normal(t, PARTS),
    ),
    "randint": lambda g, t: (
        g.randint(10), g.randint(2, 9), g.randint(-5, 5, size=(2, 3)), g.randint(1), g.randint(2**40), g.randint(2**32, size=3),
        g.randint(5, dtype=np.int64), g.randint(0, 255, 5, dtype=np.uint8), g.randint(5, dtype=np.int16),
        g.randint([1, 2], [5, 9]), g.randint(0, 2, size=4, dtype=bool),
    ),
    "bounds of each": lambda g, t: tuple([
        [g.randint(np.arange(9) % 3, int(t) * np.array([[3], [40]]), dtype=d), g.random_sample()] for d in TYPES
    ] + [g.randint([0, 0], [int(t) % 2 + 1, 2], (40, 2), dtype=bool), g.randint([5, 0], [2**62, 2**40], dtype=np.int64)]),
    "distributions": lambda g, t: (
        g.gamma(t), g.gamma(t / 10, 2, 20), g.gamma(1.0), g.gamma(0.0), g.beta(t, 2), g.beta(PARTS, PARTS),
        g.beta(1e-300, t / 1e300), g.lognormal(0, t, 3), g.standard_t(3), g.randn(), g.chisquare(4), g.weibull(t, 3),
        g.weibull(0.0), g.randn(), g.power(t), g.pareto(3.0, (2, 2)), g.standard_gamma(PARTS * 5), g.standard_gamma(t, 50),
        g.lognormal(),
    ),
    "by way of Python": lambda g, t: (
        g.standard_cauchy(), g.rayleigh(2.0, 3), g.randn(), g.vonmises(0, 1), g.f(t, 3), g.geometric(0.2), g.wald(t, 2),
    ),
}  # fmt: skip
OF_PYTHON = {
    "random": lambda g, t: (g.random(), g.uniform(t, 2 * t), g.uniform(1, 2), g.expovariate(2.0), g.expovariate(t), g.random()),
    "integers": lambda g, t: (
        g.randint(1, 6), g.randrange(100), g.randrange(1), g.randrange(-5, 2**33), g.randrange(2**31), g.randrange(2**31 + 1),
        g.randrange(2**32), g.randrange(2**32 + 1), g.randrange(2**40), g.randint(-(2**61), 2**61),
    ),
    "between bounds": lambda g, t: (
        g.randint(int(t), 2**61), g.randint(a=-int(t), b=int(t)), g.randrange(int(t)),
        g.randrange(np.int64(t), np.int64(t) + 9),
    ),
    "choice": lambda g, t: (
        g.choice([1, 2, 5]), g.choice((1.5, 2.5)), g.choice(range(3, 30, 4)), g.choice(PARTS), g.choice(MATRIX), g.choice([7]),
    ),
    "choice of a text": lambda g, t: (
        g.choice("abc"), g.choice(["up", "down", None]), g.choice(["only"]), g.choice((b"x", b"yy")), g.random(),
        sum([{"a": t, "b": 1}[g.choice("ab")] for _ in range(40)]), [g.choice("hello") for _ in range(3)],
    ),
    "by way of Python": lambda g, t: (
        g.gauss(0, 1), g.random(), g.randbytes(5), g.normalvariate(t, 1), g.randrange(0, 10, 3), g.sample([1, 2, 3], 2),
        g.random(), g.randbytes(2) == g.randbytes(2),
    ),
}  # fmt: skip
METHODS = [
    pytest.param(make, program, id=f"{make.__name__}, {name}")
    for makers, programs in (
        ((GENERATOR, RANDOM_STATE), OF_BOTH),
        ((GENERATOR,), OF_GENERATORS),
        ((RANDOM_STATE,), OF_RANDOM_STATES),
        ((random.Random,), OF_PYTHON),
    )
    for make in makers
    for name, program in programs.items()
]


@pytest.mark.parametrize("backend", one_in(2, ["cpu", "reference"]))
@pytest.mark.parametrize("make, program", METHODS)
def test_methods(make, program, backend):
    jitted, ours, theirs = jit(program, backend=backend), make(7), make(7)
    for t in (2.5, 1.5, 3.0):
        assert_same(jitted(ours, t), program(theirs, t))
        assert state(ours) == state(theirs)
    assert jitted.cache_info().misses == 1


def calls_of_python(jitted, *args):
    computations = jitted.lower(*args).module.computations()
    targets = [one.attributes.get("custom_call_target", "") for made in computations for one in made.instructions]
    return [target for target in targets if target.startswith("phlox.host_call")]


@pytest.mark.parametrize("make, program", [one for one in METHODS if "Python" not in one.id and "without" not in one.id])
def test_what_is_drawn_without_python(make, program):
    few = {
        "RandomState, binomial": 5,
        "default_rng, float32": 1,
        "default_rng, distinct": 1,
        "Random, between bounds": 4,  # where there is no such number
    }
    name = next(one.id for one in METHODS if one.values == (make, program))
    assert len(calls_of_python(jit(program), make(7), 2.5)) == few.get(name, 0)


BIT_GENERATORS = [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64]


@pytest.mark.parametrize("bit_generator", BIT_GENERATORS)
def test_bit_generators(bit_generator):
    def draw(g, n):
        total = g.integers(5, dtype=np.int32) + g.random()
        for _ in range(n):
            total += g.normal() * g.random(dtype=np.float32)
        return total, g.integers(100, size=3, dtype=np.int16), g.permutation(9)

    jitted = jit(draw)
    ours, theirs = (np.random.Generator(bit_generator(5)) for _ in range(2))
    legacy = [np.random.RandomState(bit_generator(5)) for _ in range(2)]
    for n in (3, 100, 1000):
        assert_same(jitted(ours, n), draw(theirs, n))
        assert state(ours) == state(theirs)
        assert_same(jit(lambda g: (g.randn(3), g.rand()))(legacy[0]), (legacy[1].randn(3), legacy[1].rand()))


def test_one_program_for_all_bit_generators():
    jitted = jit(lambda g, x: g.random() + x)
    for bit_generator in BIT_GENERATORS:
        assert jitted(np.random.Generator(bit_generator(5)), 1.0) == np.random.Generator(bit_generator(5)).random() + 1.0
    assert jitted.cache_info().misses == 1 and jitted.cache_info().hits == 0  # the others bypassed Python


def test_long_streams():
    """What is rare, such as the tail of the normal distribution, comes up, too."""
    count = 1_000_000
    programs = [
        lambda g: (g.standard_normal(count), g.standard_exponential(count), g.random(count), g.integers(3**20, size=count)),
        lambda g: (g.standard_normal(count, np.float32), g.integers(1000, size=count, dtype=np.int16), g.permutation(count)),
    ]
    for program in programs:
        ours, theirs = GENERATOR(9), GENERATOR(9)
        assert_same(jit(program)(ours), program(theirs))
        assert state(ours) == state(theirs)
    ours, theirs = RANDOM_STATE(9), RANDOM_STATE(9)
    legacy = [
        lambda g: (g.randn(count), g.standard_exponential(count), g.randint(3**20, size=count)),
        lambda g: (g.gamma(0.3, size=count // 4), g.gamma(2.5, size=count // 4), g.beta(0.2, 0.7, size=count // 4)),
    ]
    for program in legacy:
        assert_same(jit(program)(ours), program(theirs))
        assert state(ours) == state(theirs)


# --- what NumPy refuses ---

REFUSED = {
    "scale": lambda g, t: g.normal(0, -t),
    "scales": lambda g, t: g.normal(0, -t * PARTS),
    "exponential": lambda g, t: g.exponential(-t),
    "range": lambda g, t: g.uniform(0, t * np.inf),
    "ranges": lambda g, t: g.uniform(0, t * np.inf * PARTS),
    "rate": lambda g, t: g.poisson(-t),
    "rates": lambda g, t: g.poisson(-t * PARTS),
    "large rate": lambda g, t: g.poisson(t * 1e30),
    "probability": lambda g, t: g.logseries(t + 1),
    "exponent": lambda g, t: g.zipf(t * 0),
    "weights": lambda g, t: g.choice(2, p=t * np.ones(2)),
    "negative weights": lambda g, t: g.choice(2, p=t * np.array([-1.0, 2.0])),
    "triangular": lambda g, t: g.triangular(t, 0, 1),
    "triangular right": lambda g, t: g.triangular(0, t + 5, 1),
    "known": lambda g, t: g.normal(t, -1),
}
REFUSED_BY_GENERATORS = {
    "descending": lambda g, t: g.uniform(0, -t),
    "gamma": lambda g, t: g.gamma(-t),
    "beta": lambda g, t: g.beta(0 * t, 1),
    "geometric": lambda g, t: g.geometric(t + 1),
    "vonmises": lambda g, t: g.vonmises(0, -t),
    "wald": lambda g, t: g.wald(-t, 1),
    "binomial": lambda g, t: g.binomial(3, t + 5),
    "binomials": lambda g, t: g.binomial(3, t + PARTS),
    "integers": lambda g, t: g.integers(np.int64(t) * 0),
    "low and high": lambda g, t: g.integers(5, np.int64(t)),
    "with endpoint": lambda g, t: g.integers(5, np.int64(t), endpoint=True),
    "arrays": lambda g, t: g.integers(np.arange(3), np.int64(t) * 0),
    "known": lambda g, t: g.integers(5, 2) * t,
    "dtype": lambda g, t: g.integers(300, dtype=np.int8) * t,
    "samples": lambda g, t: g.choice(3, 4, replace=False) * t,
}


@pytest.mark.parametrize(
    "make, program",
    [
        pytest.param(make, one, id=f"{make.__name__}, {name}")
        for make in (GENERATOR, RANDOM_STATE)
        for name, one in REFUSED.items()
    ]
    + [pytest.param(GENERATOR, one, id=name) for name, one in REFUSED_BY_GENERATORS.items()],
)
def test_refusals(make, program):
    """The same exception, and a generator that has gone as far: what is drawn behind the error is not drawn."""

    def whole(g, t):
        first = g.random_sample() if make is RANDOM_STATE else g.random()
        second = program(g, t)
        return first, second, g.normal()

    ours, theirs = make(3), make(3)
    jitted = jit(whole)
    for _ in range(2):
        with pytest.raises((ValueError, OverflowError)) as expected:
            whole(theirs, 1.0)
        with pytest.raises(type(expected.value)) as caught:
            jitted(ours, 1.0)
        assert str(caught.value) == str(expected.value)
        assert state(ours) == state(theirs)


def test_drawn_masks_and_sizes():
    """What a generator from outside gives is not known once the generator is."""

    def programs(rng, x):
        kept = x[rng.random(len(x)) < 0.5]
        flips = np.zeros(len(x), bool)
        flips[rng.integers(len(x))] ^= True
        return kept, x[flips], np.zeros(rng.integers(1, 5)), np.flatnonzero(rng.random(4) < 0.5)

    x, decorated = np.arange(12.0), jit(programs)
    ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(4):
        for one, other in zip(decorated(ours, x), programs(theirs, x)):
            np.testing.assert_array_equal(one, other)
    assert jit(lambda x: x[np.random.rand(12) < 2])(x).shape == (12,)
