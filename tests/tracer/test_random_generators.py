"""Generators of random numbers here and there in compiled functions: arguments, outside, made, in loops and containers."""

import random
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from phlox import ConcretizationError, TracerError, cond, fori_loop, host_call, jit
from random_streams import GENERATOR, RANDOM_STATE, assert_same, state

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
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


def test_texts_from_outside_are_shuffled():
    deck = list("abcde")

    def cut(x):
        np.random.shuffle(deck)
        return deck[:3], "".join(deck), "a" if deck[0] == "b" else deck[1], x * np.random.rand()

    jitted, found = jit(cut), []
    for function in (cut, jitted):
        deck[:] = "abcde"
        np.random.seed(3)
        found.append([function(2.0), function(3.0), list(deck)])
    assert found[1] == found[0]


LISTS = {
    "numbers": lambda: [1, 2.5, 3, True, np.float32(2)],
    "texts and numbers": lambda: ["a", 1, None, b"b"],
    "tuples": lambda: [(1, "a"), (3, "b"), (5, "c")],
    "lists": lambda: [[1, 2], [3], []],
    "objects": lambda: [Walker(None, np.ones(1)), Walker(3, np.ones(2))],
    "arrays": lambda: [np.arange(3.0), np.arange(2), np.eye(2)],
    "many texts": lambda: list(map(str, range(65))),
    "one": lambda: [None],
}


@pytest.mark.parametrize("make", [GENERATOR, RANDOM_STATE, random.Random])
@pytest.mark.parametrize("elements", LISTS)
def test_lists_of_anything_are_shuffled(elements, make):
    def shuffled(g):
        x = LISTS[elements]()
        g.shuffle(x)
        return x, g.random()

    ours, theirs = make(7), make(7)
    assert repr(jit(shuffled)(ours)) == repr(shuffled(theirs))
    assert state(ours) == state(theirs)


@pytest.mark.parametrize(
    "draw", [lambda g, n: g.randint(n, n - 2), lambda g, n: g.randrange(n), lambda g, n: g.randrange(5, n)]
)
def test_there_are_no_integers_between(draw):
    generators, messages = [random.Random(7), random.Random(7)], []
    for function, generator in zip((draw, jit(draw)), generators):
        with pytest.raises(ValueError) as raised:
            function(generator, 0)
        messages.append(str(raised.value))
    assert messages[0] == messages[1] and state(generators[0]) == state(generators[1])


def test_lists_have_one_axis():
    for function in (rng_shuffle_of_rows, jit(rng_shuffle_of_rows)):
        with pytest.raises(NotImplementedError, match="Axis argument is only supported on ndarray objects"):
            function(GENERATOR(7))


def rng_shuffle_of_rows(g):
    g.shuffle([[1, 2], [3, 4]], axis=1)


def test_texts_are_shuffled_again_and_again():
    def shuffled(g, n):
        x = list("abcdefgh")
        g.shuffle(x)
        for _ in range(n):
            g.shuffle(x)
        return x

    ours, theirs = GENERATOR(7), GENERATOR(7)
    assert jit(shuffled)(ours, 5) == shuffled(theirs, 5)


@pytest.mark.parametrize("elements", [(1, 2), {1: 2}, "ab"])
def test_what_is_no_list_is_not_shuffled(elements):
    with pytest.raises(TracerError, match="an array, or a list"):
        jit(lambda: random.shuffle(elements))()


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


def test_seeding_again_behind_a_legacy_generator_of_another_kind():
    legacy = np.random.RandomState(np.random.PCG64(3))
    assert_same(jit(lambda r: r.random(2))(legacy), np.random.RandomState(np.random.PCG64(3)).random(2))

    def seeded(n):
        np.random.seed(n)
        return np.random.rand(2)

    assert_same(jit(seeded)(3), seeded(3))


def test_children_of_seeds():
    def children(seed):
        return [np.random.default_rng(one).random() for one in np.random.SeedSequence(seed).spawn(2)]

    def said(seed):
        sequences = [np.random.SeedSequence(seed, spawn_key=(k,)) for k in range(2)]
        return [np.random.default_rng(one).random() for one in sequences]

    jitted = jit(children)
    assert jit(said)(3) == children(3) == jitted(3) == jitted(3) and jitted(4) == children(4)
    with pytest.raises(ConcretizationError, match="as a seed that has children"):
        jit(lambda x: children(int(x.sum())))(np.ones(3))
    with pytest.raises(NotImplementedError, match="Generator.spawn"):
        jit(lambda seed: np.random.default_rng(seed).spawn(2)[0].random())(3)
