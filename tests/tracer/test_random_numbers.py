"""Random numbers of NumPy's generators in compiled functions: those that NumPy draws, and generators that have gone as far."""

import random
import threading
import time
import warnings
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from phlox import TracerError, cond, fori_loop, host_call, jit

GENERATOR, RANDOM_STATE = np.random.default_rng, np.random.RandomState
PARTS = np.linspace(0.1, 0.9, 5)
MATRIX = np.arange(12.0).reshape(3, 4)


def state(generator):
    if isinstance(generator, np.random.Generator):
        return repr(generator.bit_generator.state)
    if generator is random or isinstance(generator, random.Random):
        return repr(generator.getstate())
    return repr(generator.get_state(legacy=False))


def assert_same(found, expected):
    assert type(found) is type(expected), (found, expected)
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            assert_same(one, other)
        return
    np.testing.assert_array_equal(found, expected, strict=True)
    assert getattr(found, "dtype", None) == getattr(expected, "dtype", None)


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
        g.normal(), g.hypergeometric(3, 4, 5), g.negative_binomial(3, 0.4), g.normal(t),
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
    "gamma": lambda g, t: (
        g.gamma(t), g.gamma(t, 2, 3), g.standard_gamma(PARTS), g.standard_gamma(t, dtype=np.float32, size=3), g.gamma(PARTS, 2),
        g.beta(t, 2), g.beta(PARTS, PARTS),
    ),
    "others": lambda g, t: (
        g.chisquare(t), g.f(t, 3), g.noncentral_chisquare(t, PARTS), g.noncentral_f(t, 3, PARTS), g.standard_t(t),
        g.standard_cauchy(3), g.pareto(t), g.weibull(PARTS), g.power(PARTS), g.rayleigh(t), g.lognormal(0, PARTS), g.wald(t, 2),
        g.vonmises(0, t, 3), g.standard_cauchy(), g.geometric(PARTS), g.geometric(0.3),
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
    "random": lambda g, t: (g.random(), g.uniform(t, 2 * t), g.uniform(1, 2), g.expovariate(2.0), g.random()),
    "integers": lambda g, t: (
        g.randint(1, 6), g.randrange(100), g.randrange(1), g.randrange(-5, 2**33), g.randrange(2**31), g.randrange(2**31 + 1),
        g.randrange(2**32), g.randrange(2**32 + 1), g.randrange(2**40), g.randint(-(2**61), 2**61),
    ),
    "choice": lambda g, t: (
        g.choice([1, 2, 5]), g.choice((1.5, 2.5)), g.choice(range(3, 30, 4)), g.choice(PARTS), g.choice(MATRIX), g.choice([7]),
    ),
    "by way of Python": lambda g, t: (
        g.gauss(0, 1), g.random(), g.normalvariate(t, 1), g.randrange(0, 10, 3), g.sample([1, 2, 3], 2), g.random(),
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


@pytest.mark.parametrize("backend", ["cpu", "reference"])
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
    few = {"RandomState, binomial": 5, "default_rng, float32": 1, "RandomState, randint": 1, "default_rng, distinct": 1}
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


# --- generators here and there ---

OUTSIDE = GENERATOR(1)
CONFIG = {"rng": GENERATOR(2)}
HOLDER = SimpleNamespace(rng=GENERATOR(3), legacy=RANDOM_STATE(4))


def restart():
    OUTSIDE.bit_generator.state = GENERATOR(1).bit_generator.state
    CONFIG["rng"], HOLDER.rng, HOLDER.legacy = GENERATOR(2), GENERATOR(3), RANDOM_STATE(4)
    BITS.state = np.random.PCG64(8).state
    np.random.seed(5)
    random.seed(6)


def states():
    generators = (OUTSIDE, CONFIG["rng"], HOLDER.rng, HOLDER.legacy, np.random, random)
    return [state(one) for one in generators]


@dataclass
class Walker:
    rng: object
    position: np.ndarray


class Model:
    def __init__(self, seed):
        self.rng, self.steps = GENERATOR(seed), 0

    def step(self, x):
        self.steps += 1
        return x + self.rng.normal()


def everywhere(x):
    return OUTSIDE.random() * x + CONFIG["rng"].normal() + HOLDER.rng.integers(10) + HOLDER.legacy.randn() + np.random.rand()


def in_a_model(model, x):
    return model.step(x) + model.step(x), model.steps


def made_in_the_function(seed, count):
    rng, total = np.random.default_rng(seed), 0.0
    for _ in range(count):
        total += rng.random()
    return total, rng.integers(10)


BITS = np.random.PCG64(8)


def made_of_bit_generators(seed, x):
    return [
        np.random.Generator(np.random.PCG64(seed)).random() * x,
        np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, 3]))).random() * x,
        np.random.RandomState(np.random.MT19937(seed + 1)).rand() * x,
        np.random.default_rng([seed, 4]).random() * x,
        np.random.default_rng(np.random.SeedSequence(7)).random() * x,
        np.random.Generator(np.random.PCG64(5)).random() * x,
        [np.random.default_rng(one).random() for one in np.random.SeedSequence(7).spawn(2)],
        np.random.Generator(BITS).random() * x,
    ]


def made_in_a_loop(seed, count):
    total, old = 0.0, np.random.default_rng(0)
    for i in range(count):
        rng = np.random.default_rng(seed + i)
        total += rng.random() * rng.integers(1, 5) - old.random()
        old = rng
    return total


def one_of_two(x, a, b):
    rng = a if x < 0.5 else b
    return rng.random(), a.random(), b.random()


def in_branches(x, a, b):
    if x < 0.5:
        y = a.random()
    else:
        y = b.normal() + a.random()
    return y, a.random(), b.random()


def rejection(rng, count):
    found = np.empty(count)
    for i in range(count):
        while True:
            u, v = rng.uniform(-1, 1), rng.uniform(-1, 1)
            if u * u + v * v < 1:
                break
        found[i] = u / v
    return found


def in_turns(x):
    first, second = OUTSIDE.random(), OUTSIDE.multivariate_normal([0, 0], np.eye(2))
    return first, second, OUTSIDE.random(), host_call(OUTSIDE.random, float), OUTSIDE.random() * x


def seeded(x):
    np.random.seed(5)
    first = np.random.rand()
    np.random.seed(5)
    return first == np.random.rand(), np.random.randn(2), np.random.normal(x)


def handed_on(rng, x):
    def draw(r, k):
        return r.random() * k

    return draw(rng, x) + draw(rng, 2 * x), isinstance(rng, np.random.Generator), isinstance(rng, np.random.RandomState)


def seed_or_generator(rng, x):
    rng = np.random.default_rng(rng)
    return rng.random() * x, rng.normal()


def in_lists(rng):
    return [rng.random() for _ in range(5)], [rng.integers(6) + 1 for _ in range(200)], [g() for g in (rng.random, rng.normal)]


def pairs(rng, count):
    total = 0.0
    for i in range(count):
        total += rng.randn() if i % 3 else rng.normal(1, 2)
    return total, rng.standard_normal(3), rng.randint(5)


inner = jit(lambda rng, x: rng.random() * x)


def in_jitted_functions(rng, x):
    return inner(rng, x) + inner(rng, x)


def in_combinators(rng, x):
    return fori_loop(0, 5, lambda i, s: s + rng.random() * i, x), cond(x > 2, lambda: rng.random(), lambda: 0.0)


def beside_float32(rng, x):
    return x * rng.random(), x * rng.random(dtype=np.float32), x * rng.normal(size=(3, 2)), x + rng.integers(5)


def tallied(rng, count):
    tally = np.zeros(5, int)
    for _ in range(count):
        tally[rng.choice(5, p=[0.1, 0.2, 0.3, 0.2, 0.2])] += 1
    return tally


def kept_outside(rng):
    HOLDER.rng = rng
    return HOLDER.rng.random()


def shuffled(rng, x):
    rng.shuffle(x)
    y = x.copy()
    rng.shuffle(y)
    return y


def shuffled_in_parts(rng, x):
    rng.shuffle(x)
    rng.shuffle(x, axis=1)
    rng.shuffle(x[0])
    np.random.shuffle(x[:, 1])
    return x.sum(0)


def with_the_library(count):
    inside = 0
    for _ in range(count):
        if random.random() ** 2 + random.uniform(0, 1) ** 2 < 1:
            inside += random.choice([1, 2]) * random.randint(1, 6)
    random.seed(count)
    return inside, random.random(), random.gauss(0, 1), random.random()


def lists_are_shuffled(x):
    deck, numbers = list(range(12)), [x, 2 * x, 3.5]
    random.shuffle(deck)
    np.random.shuffle(deck)
    OUTSIDE.shuffle(numbers)
    return deck, numbers, deck[0] + x


def lists_are_shuffled_in_rounds(rng, count):
    total, deck = 0, [1, 2, 3, 4, 5]
    for i in range(count):
        rng.shuffle(deck)
        total += deck[0] * i
        if deck[1] > 3:
            random.shuffle(deck)
    return total, deck


def changes_before_an_error(rng, x, scale):
    x[0] = rng.random()
    x[1] = rng.normal(0, scale)
    x[2] = rng.random()
    return x.sum()


def index_out_of_range(rng, i, x):
    return rng.random() + x[i] + rng.random()


PROGRAMS = [
    (everywhere, lambda: (2.0,)),
    (lambda t: t[0].random() * t[1], lambda: ((GENERATOR(5), 2.0),)),
    (lambda t: t["rng"].random() * t["x"], lambda: ({"rng": GENERATOR(5), "x": 2.0},)),
    (lambda w: w.rng.random() * w.position, lambda: (Walker(GENERATOR(5), np.ones(3)),)),
    (lambda rngs: [one.random() for one in rngs], lambda: ([GENERATOR(1), GENERATOR(2)],)),
    (in_a_model, lambda: (Model(3), 2.0)),
    (made_in_the_function, lambda: (3, 100)),
    (made_of_bit_generators, lambda: (3, 2.0)),
    (made_in_a_loop, lambda: (3, 50)),
    (one_of_two, lambda: (0.3, GENERATOR(1), GENERATOR(2))),
    (in_branches, lambda: (0.3, GENERATOR(1), GENERATOR(2))),
    (in_branches, lambda: (0.7, GENERATOR(1), GENERATOR(2))),
    (rejection, lambda: (GENERATOR(1), 200)),
    (in_turns, lambda: (2.0,)),
    (seeded, lambda: (2.0,)),
    (handed_on, lambda: (GENERATOR(4), 3.0)),
    (seed_or_generator, lambda: (GENERATOR(4), 3.0)),
    (seed_or_generator, lambda: (7, 3.0)),
    (in_lists, lambda: (GENERATOR(4),)),
    (pairs, lambda: (RANDOM_STATE(4), 30)),
    (in_jitted_functions, lambda: (GENERATOR(4), 3.0)),
    (in_combinators, lambda: (GENERATOR(4), 3.0)),
    (beside_float32, lambda: (GENERATOR(4), np.ones((3, 2), np.float32))),
    (tallied, lambda: (GENERATOR(4), 300)),
    (kept_outside, lambda: (GENERATOR(4),)),
    (shuffled, lambda: (GENERATOR(4), np.arange(10.0))),
    (shuffled, lambda: (random.Random(4), np.arange(10.0))),
    (with_the_library, lambda: (1000,)),
    (lists_are_shuffled, lambda: (2.0,)),
    (lists_are_shuffled_in_rounds, lambda: (GENERATOR(3), 300)),
    (shuffled_in_parts, lambda: (GENERATOR(4), np.arange(12).reshape(3, 4))),
    (changes_before_an_error, lambda: (GENERATOR(4), np.zeros(3), -1.0)),
    (index_out_of_range, lambda: (GENERATOR(4), 5, np.arange(5.0))),
]


def outcome(function, args):
    try:
        return function(*args)
    except (ValueError, IndexError) as error:
        return [type(error).__name__, str(error)]


@pytest.mark.parametrize("program, make", PROGRAMS)
def test_programs(program, make):
    found = []
    for function in (program, jit(program)):
        restart()
        results = []
        for args in (make(), make()):
            results += [outcome(function, args) for _ in range(3)]
            results += [state(one) for one in args if isinstance(one, (np.random.Generator, np.random.RandomState))]
            results += [one.copy() for one in args if isinstance(one, np.ndarray)]
        found.append((results, states()))
    for one, other in zip(*(results for results, _ in found)):
        assert_same(one, other) if not isinstance(one, str) else None
        assert repr(one) == repr(other)
    assert found[0][1] == found[1][1]
    assert function.cache_info().misses == 1


def test_a_list_outside_is_shuffled():
    deck = list(range(10))

    def cut(x):
        random.shuffle(deck)
        return deck[:3], deck[0] * x

    jitted, found = jit(cut), []
    for function in (cut, jitted):
        deck[:] = range(10)
        random.seed(3)
        found.append([*(function(2.0) for _ in range(4)), list(deck)])
    assert_same(found[1], found[0])


def test_lists_of_texts_are_not_shuffled():
    with pytest.raises(TracerError, match="numbers of one type"):
        jit(lambda: random.shuffle(["a", "b"]))()


def test_generators_without_a_seed():
    jitted = jit(lambda: (np.random.default_rng().random(), np.random.Generator(np.random.PCG64()).random()))
    (first, second), (third, fourth) = jitted(), jitted()
    assert len({first, second, third, fourth}) == 4


def test_generators_that_are_returned():
    jitted = jit(lambda g, x: (g, g.random() * x))
    generator = GENERATOR(3)
    same, number = jitted(generator, 2.0)
    assert same is generator and number == 2 * GENERATOR(3).random()
    with pytest.raises(TracerError, match="Generator"):
        jit(lambda seed: np.random.default_rng(seed))(3)


def test_subclasses_are_called_in_python():
    class Loaded(np.random.Generator):
        def random(self, *args):
            return 0.5 + super().random(*args) / 2

    make = lambda: Loaded(np.random.PCG64(3))  # noqa: E731
    program = lambda g, x: (g.random() * x, g.normal(), g.random(2))  # noqa: E731
    ours, theirs = make(), make()
    assert_same(jit(program)(ours, 2.0), program(theirs, 2.0))
    assert state(ours) == state(theirs)


def test_threads_share_a_generator():
    """Each number is drawn once."""
    generator = GENERATOR(3)
    jitted = jit(lambda g: np.array([g.random() for _ in range(2000)]))
    jitted(GENERATOR(1))
    found = []
    threads = [threading.Thread(target=lambda: found.append(jitted(generator))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(np.sort(np.concatenate(found)), np.sort(GENERATOR(3).random(8000)))


def test_other_threads_run_while_a_program_draws():
    def total(g, n):
        found = 0.0
        for _ in range(n):
            found += g.standard_normal()
        return found

    jitted, counted, is_over = jit(total), [0], threading.Event()
    jitted(GENERATOR(1), 1000)

    def count():
        while not is_over.is_set():
            counted[0] += 1
            time.sleep(0.01)

    thread = threading.Thread(target=count)
    thread.start()
    jitted(GENERATOR(1), 40_000_000)
    seen = counted[0]
    is_over.set()
    thread.join()
    assert seen >= 2


def test_arguments_are_read_at_each_call():
    jitted = jit(lambda g: g.random())
    for seed in range(20):
        assert jitted(GENERATOR(seed)) == GENERATOR(seed).random()
    assert jitted.cache_info().misses == 1 and "called natively" in str(jitted.cache_info())


@pytest.mark.parametrize(
    "program, args",
    [
        (lambda g, x, i: g.random() + g.normal(0, x), (1.0, 0)),
        (lambda g, x, i: np.arange(3.0)[i] * x + g.random(), (1.0, 1)),
        (lambda g, x, i: np.random.default_rng(i).random() + g.random() * x, (1.0, 1)),
        (lambda g, x, i: g.integers(i + 1) * x, (1.0, 1)),
    ],
)
def test_calls_that_may_fail_bypass_python(program, args):
    """What fails is raised without drawing again."""
    jitted, ours, theirs = jit(program), GENERATOR(1), GENERATOR(1)
    for x, i in (args, args, (-1.0, 7), args, (-2.0, -8), args):
        found, expected = (outcome(one, (g, x, i)) for one, g in ((jitted, ours), (program, theirs)))
        assert_same(found, expected)
        assert state(ours) == state(theirs)
    assert "called natively" in str(jitted.cache_info()) and jitted.cache_info().misses == 1


def test_bit_generator_of_the_global_state():
    before = np.random.get_bit_generator()
    try:
        jitted = jit(lambda: (np.random.rand(), np.random.randn(3)))
        for bit_generator in (np.random.PCG64, np.random.MT19937):
            np.random.set_bit_generator(bit_generator(3))
            found = jitted()
            np.random.set_bit_generator(bit_generator(3))
            assert_same(found, (np.random.rand(), np.random.randn(3)))
    finally:
        np.random.set_bit_generator(before)


@pytest.fixture(autouse=True)
def without_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield
