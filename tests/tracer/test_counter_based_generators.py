"""`phlox.random.Generator` in and out of compiled functions: the same numbers, the same state, NumPy's errors."""

import copy
import doctest
import inspect
import pickle
import threading
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from phlox import TracerError, jit
from phlox.random import Generator

P = [0.1, 0.2, 0.3, 0.4]


def assert_same(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            assert_same(one, other)
    elif isinstance(expected, dict):
        assert_same(list(found.items()), list(expected.items()))
    elif isinstance(expected, Generator):
        assert found.state == expected.state
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected


CALLS = [
    ("random", ()), ("random", (5,)), ("random", ((2, 3),)), ("random", (0,)), ("random", ((),)), ("random", (5, np.float32)),
    ("random", (None, np.float32)), ("standard_normal", ()), ("standard_normal", (7,)), ("standard_normal", (7, np.float32)),
    ("standard_normal", (0,)), ("standard_exponential", (5,)), ("standard_exponential", (5, np.float32)),
    ("uniform", ()), ("uniform", (-1, 1, 4)), ("uniform", ([0.0, 1.0], [1.0, 5.0])), ("uniform", (0, [1.0, 5.0], (3, 2))),
    ("normal", ()), ("normal", (1, 2, 5)), ("normal", ([0.0, 1.0], 2.0)), ("normal", (np.nan, 0.0, 2)),
    ("exponential", (3.0, 2)), ("exponential", ([1.0, 2.0],)), ("bits", ()), ("bits", (3,)),
    ("integers", (10,)), ("integers", (5, 10, 6)), ("integers", (-3, 3, 6, np.int8, True)), ("integers", (2, None, 9, bool)),
    ("integers", (10, None, None, int)), ("integers", (10, None, None, np.uint8)), ("integers", (0, 2**64, 3, np.uint64)),
    ("integers", (-(2**63), 2**63, 3)), ("integers", (2**63, 2**63 + 5, 9, np.uint64)), ("integers", (0, 2**40, 4)),
    ("integers", ([0, 100], [10, 101], None)), ("integers", ([0, 5], 2**40, (2, 2))), ("integers", (0, [3, 200], 2, np.uint8)),
    ("permutation", (6,)), ("permutation", (np.arange(12.0).reshape(3, 4), 1)), ("permutation", ([5, 6, 7],)),
    ("choice", (5,)), ("choice", (5, 4)), ("choice", (5, (2, 2), False)), ("choice", (4, 5, True, P)),
    ("choice", (4, 3, False, P)), ("choice", ([1.5, 2.5, 3.5],)), ("choice", (np.eye(3), 2)),
    ("choice", (np.eye(3), 2, False, None, 1)), ("choice", (4, 0)), ("choice", (["a", "b"], 3)), ("split", (3,)),
    ("spawn", (2,)), ("fold_in", (5,)),
]  # fmt: skip


@pytest.mark.parametrize("name, args", CALLS)
def test_methods_in_and_out_of_jit(name, args):
    def program(rng):
        return getattr(rng, name)(*args)

    inside, outside = Generator(7), Generator(7)
    expected = program(outside)
    assert_same(jit(program)(inside), expected)
    assert inside.state == outside.state


@pytest.mark.parametrize("name, args", [
    ("random", (300,)), ("random", (301, np.float32)), ("standard_normal", (301,)), ("standard_normal", (301, np.float32)),
    ("standard_exponential", (300,)), ("integers", (10, None, 300)), ("integers", (0, 2**40, 300)), ("permutation", (300,)),
])  # fmt: skip
def test_backends_give_equal_bits(name, args):
    def program(rng):
        return getattr(rng, name)(*args)

    found = [jit(program, backend=backend)(Generator(11)) for backend in ("cpu", "reference")]
    assert_same(*found)


NUMPY_METHODS = [
    "random", "uniform", "integers", "standard_normal", "normal", "exponential", "permutation", "shuffle", "choice", "spawn",
]  # fmt: skip


@pytest.mark.parametrize("name", NUMPY_METHODS)
def test_methods_take_what_numpys_take(name):
    ours, theirs = (inspect.signature(getattr(kind, name)).parameters for kind in (Generator, np.random.Generator))
    assert [(one.name, one.default) for one in ours.values()] == [(one.name, one.default) for one in theirs.values()]


@pytest.mark.parametrize("name, args", [*[call for call in CALLS if call[0] in NUMPY_METHODS], ("random", (3.5,)),
    ("random", (-1,)), ("random", ((2, -1),)), ("random", (3, int)), ("standard_normal", (3, "f2")),
    ("standard_exponential", (3, int)), ("uniform", (2, 1)), ("uniform", ([2, 0], 1)), ("uniform", (0, np.inf)),
    ("uniform", (0, [1, np.inf])), ("uniform", (-1e308, 1e308)), ("uniform", (0, np.nan)), ("normal", (0, -1)),
    ("normal", (0, [-1, 2])), ("normal", (0, -0.0)), ("exponential", (-1,)), ("integers", (0,)), ("integers", (-3,)),
    ("integers", (-3, None, 2, int, True)), ("integers", (5, 5)), ("integers", (5, 4, None, int, True)),
    ("integers", ([5, 1], [5, 3])), ("integers", ([0, 0], [0, 3])), ("integers", (0, 300, None, np.int8)),
    ("integers", (-1, 3, None, np.uint8)), ("integers", (0, 3, None, float)), ("integers", (0, 3, None, bool)),
    ("integers", (0, 2**64)), ("integers", ([0, -3], [300, 3], None, np.int8)), ("permutation", (2.5,)),
    ("permutation", (np.ones((2, 3)), 2)), ("choice", (0,)), ("choice", ([],)), ("choice", (-3,)), ("choice", (3, 5, False)),
    ("choice", (3, None, True, [0.5, 0.4])), ("choice", (3, None, True, [0.5, 0.4, 0.2])), ("choice", (2.5,)),
    ("choice", (3, None, True, [0.5, -0.4, 0.9])), ("choice", (3, None, True, [0.5, 0.4, np.nan])),
    ("choice", (3, None, True, [[0.5, 0.4, 0.1]])), ("choice", (3, 2, False, [1, 0, 0])),
])  # fmt: skip
def test_results_and_errors_are_like_numpys(name, args):
    rng = Generator(3)
    before = rng.state
    try:
        expected = getattr(np.random.default_rng(3), name)(*args)
    except Exception as error:
        with pytest.raises(type(error)) as found:
            getattr(rng, name)(*args)
        assert str(found.value) == str(error) and rng.state == before
    else:
        found = getattr(rng, name)(*args)
        assert type(found) is type(expected) and np.shape(found) == np.shape(expected)
        assert np.asarray(found).dtype == np.asarray(expected).dtype


@pytest.mark.parametrize("out, size, error", [
    (np.empty(3), 4, "size must match"), (np.empty(3, np.float32), None, "Supplied output array has the wrong type"),
    (np.empty(6)[::2], None, "Supplied output array must be contiguous"), ([1.0], None, "Supplied output array must be"),
])  # fmt: skip
def test_wrong_outputs(out, size, error):
    with pytest.raises((ValueError, TypeError), match=error):
        Generator(1).random(size, out=out)


@pytest.mark.parametrize("seed, error", [(-1, ValueError), (2.5, TypeError), ("a", TypeError)])
def test_wrong_seeds(seed, error):
    with pytest.raises(error):
        Generator(seed)


def test_examples():
    """Those of the methods, whose module is another one than that of the class."""
    found = doctest.DocTestFinder().find(Generator, "Generator", module=False, globs={"Generator": Generator})
    results = [doctest.DocTestRunner().run(one) for one in found]
    assert sum(one.attempted for one in results) > 8 and not any(one.failed for one in results)


# --- errors that the program finds ---


@pytest.mark.parametrize("program, value, error, message", [
    (lambda rng, v: rng.normal(0.0, v), -1.0, ValueError, "scale < 0"),
    (lambda rng, v: rng.uniform(v, 1.0), 2.0, ValueError, "high - low < 0"),
    (lambda rng, v: rng.integers(v), 0, ValueError, "high <= 0"),
    (lambda rng, v: rng.integers(5, v, dtype=np.int8), 500, ValueError, "high is out of bounds for int8"),
    (lambda rng, v: rng.choice(v), 0, ValueError, "a must be a positive integer"),
])  # fmt: skip
def test_errors_of_traced_arguments(program, value, error, message):
    rng = Generator(3)
    before = rng.state
    with pytest.raises(error, match=message):
        jit(program)(rng, value)
    assert rng.state == before


def until_it_is_large(rng):
    for k in range(1000):
        if rng.random() > 0.99:
            raise ValueError(f"at {k}")


def test_what_is_drawn_before_an_error():
    inside, outside = Generator(7), Generator(7)
    with pytest.raises(ValueError) as expected:
        until_it_is_large(outside)
    with pytest.raises(ValueError, match=str(expected.value)):
        jit(until_it_is_large)(inside)
    assert inside.state == outside.state and inside.state[1] > 1


# --- states ---


def test_states():
    rng = Generator(5)
    rng.random(3)
    assert rng.state[1] == 3
    others = [pickle.loads(pickle.dumps(rng)), copy.copy(rng), copy.deepcopy(rng), Generator(state=rng.state)]
    assert eval(repr(rng), {"phlox": SimpleNamespace(random=SimpleNamespace(Generator=Generator))}).state == rng.state
    saved, expected = rng.state, rng.random(4)
    for other in others:
        np.testing.assert_array_equal(other.random(4), expected)
    rng.state = saved
    np.testing.assert_array_equal(rng.random(4), expected)


def test_seeds():
    assert Generator(5).state == Generator(np.int32(5)).state != Generator(6).state
    assert Generator([1, 2]).state == Generator([1, 2]).state != Generator([2, 1]).state
    assert Generator(np.random.SeedSequence(5)).state == Generator(np.random.SeedSequence(5)).state
    assert Generator(2**70).state != Generator(2**70 + 1).state
    assert Generator().state != Generator().state


# --- programs ---


@dataclass
class Walker:
    rng: Generator
    position: np.ndarray


class Model:
    def __init__(self, seed):
        self.rng, self.steps = Generator(seed), 0

    def step(self, x):
        self.steps += 1
        return x + self.rng.normal()


def in_a_loop(rng):
    total = 0.0
    for _ in range(300):
        if rng.random() < 0.3:
            total += rng.normal()
    return total


def until(rng):
    count = 0
    while rng.random() < 0.99:
        count += 1
    return count


def in_handlers(rng):
    count = 0
    for _ in range(100):
        try:
            if rng.random() > 0.9:
                raise ValueError
            rng.random(2)
        except ValueError:
            count += 1
    return count


def splitting(rng):
    total = 0.0
    for _ in range(100):
        rng, one = rng.split(2)
        total += one.normal()
    return total


def folding(rng):
    total = 0.0
    for step in range(100):
        total += rng.fold_in(step).random()
    return total


def on_one_side(rng):
    if rng.random() < 2:
        rng.random(5)
    else:
        rng = rng.split(1)[0]
    return rng.random()


def of_a_list(rng):
    generators, total = rng.split(3), 0.0
    for step in range(60):
        total += generators[step % 3].random()
    return total, generators


def of_a_dict(rng):
    generators = {name: one for name, one in zip("ab", rng.split(2))}
    return generators["a"].random(), generators["b"].random(), generators


def helper(rng):
    return rng.normal(size=4)


def in_helpers(rng):
    return helper(rng) + helper(rng) * rng.random()


def made_there(rng):
    one = Generator(int(rng.integers(100)))
    return one.random(3), one


def copied(rng):
    one, other = copy.copy(rng), copy.deepcopy(rng)
    return one.random(), other.random(), rng.random(2), one


def set_back(rng):
    state = rng.state
    first = rng.random()
    rng.state = state
    return first == rng.random()


def shuffled(rng):
    x, y, z = np.arange(10), [1, 2, 3, 4], np.arange(12.0).reshape(3, 4)
    rng.shuffle(x), rng.shuffle(y), rng.shuffle(z, axis=1)
    return x, y, z


def into_an_output(rng):
    out = np.zeros((2, 2))
    return rng.standard_normal(out=out) is out, out


def bounds_that_are_drawn(rng):
    high = int(rng.integers(2**33, 2**34))
    return rng.integers(high), rng.integers(high % 100 + 1, size=3), rng.uniform(rng.random(), 2.0, 3)


def parameters_that_are_drawn(rng):
    x = rng.normal(size=8)
    low = rng.integers(0, 9, 3)
    return rng.normal(x, x * x), rng.integers(low, low + 5), rng.choice(x[x > 0], 3), rng.choice(x, 2, p=x * x / np.sum(x * x))


def sizes_that_are_drawn(rng):
    x = rng.normal(size=9)
    y, count = x[x > 0], rng.integers(3, 6)
    rng.shuffle(y)
    return (
        rng.random(count), rng.normal(1, 2, len(y)), rng.standard_normal(count, np.float32), rng.integers(0, 10, count), y,
        rng.permutation(y), rng.exponential(y), rng.choice(5, count), rng.choice(y, 1, replace=False), rng.random(),
    )  # fmt: skip


def in_comprehensions(rng):
    return [rng.random() for _ in range(50)], [one.random() for one in rng.split(10)]


@pytest.mark.parametrize("program", [
    in_a_loop, until, in_handlers, splitting, folding, on_one_side, of_a_list, of_a_dict, in_helpers, made_there, copied,
    set_back, shuffled, into_an_output, bounds_that_are_drawn, parameters_that_are_drawn, sizes_that_are_drawn,
    in_comprehensions,
])  # fmt: skip
def test_programs(program):
    inside, outside, compiled = Generator(7), Generator(7), jit(program)
    for _ in range(2):
        assert_same(compiled(inside), program(outside))
        assert inside.state == outside.state


OUTSIDE, GENERATORS = Generator(1), Generator(2).split(2)


def of_everywhere(walker, model):
    walker.position = walker.position + walker.rng.normal(size=2)
    return OUTSIDE.random() + GENERATORS[0].random() * GENERATORS[1].random(), walker.position, model.step(1.0)


def test_where_generators_are_found():
    found = []
    for function in (of_everywhere, jit(of_everywhere)):
        OUTSIDE.state = 1, 0
        GENERATORS[0].state, GENERATORS[1].state = (2, 0), (3, 0)
        walker, model = Walker(Generator(4), np.zeros(2)), Model(5)
        results = [function(walker, model) for _ in range(3)]
        found.append((results, [one.state for one in (OUTSIDE, *GENERATORS, walker.rng, model.rng)], model.steps))
    assert_same(*found)


def test_one_program_for_all_generators():
    program = jit(lambda rng, seed: rng.random() + Generator(seed).random())
    for seed in range(5):
        program(Generator(seed), seed)
    assert program.cache_info().misses == 1


class Recording(Generator):
    """A class of the user's that is one."""

    def __init__(self, seed):
        super().__init__(seed)
        self.numbers = 0

    def random(self, size=None):
        self.numbers += 1 if size is None else size
        return super().random(size)


def test_subclasses():
    def use(rng):
        return rng.random(3), rng.normal(), rng.split(2)[1].random()

    inside, outside = Recording(1), Recording(1)
    assert_same(jit(use)(inside), use(outside))
    assert inside.state == outside.state and inside.numbers == outside.numbers == 3


def test_where_it_is_not_seen_is_an_error():
    model = Model(1)
    with pytest.raises(TracerError, match="does not see it"):
        jit(lambda x: x + model.rng.random(), control_flow="trace")(1.0)
    assert model.rng.state[1] == 0


def test_threads():
    @jit
    def total(rng):
        return rng.random(2000).sum() + rng.normal(size=1000).sum()

    def run(rng, found, index):
        found[index] = [total(rng), rng.random(1000).sum(), [total(rng) for _ in range(20)]]

    expected, found = [None] * 8, [None] * 8
    for index, rng in enumerate(Generator(3).split(8)):
        run(rng, expected, index)
    threads = [threading.Thread(target=run, args=(rng, found, k)) for k, rng in enumerate(Generator(3).split(8))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected
