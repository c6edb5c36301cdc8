"""Random numbers of a distribution: their bits, their limits and their moments, with the same seed on every backend."""

import ml_dtypes
import numpy as np
import pytest
from phlox.backends.registry import get_backend
from phlox.hlo import (
    BF16,
    F16,
    F32,
    F64,
    PRED,
    S8,
    S16,
    S32,
    S64,
    U8,
    U32,
    U64,
    Shape,
    ShapeError,
    TupleShape,
    evaluate,
    parse_module,
    scalar_computation,
)
from phlox.hlo.element_type import ELEMENT_TYPES
from phlox.hlo.ops.random_numbers import philox4x32
from phlox.runtime import Environment
from phlox.runtime.random_state import RandomState
from phlox.xla_builder import XlaBuilder
from thinning import one_in

BOTH = pytest.mark.parametrize("backend", ["cpu", "reference"])
INTEGERS = [S8, S16, S32, S64, U8, U32, U64, *(ELEMENT_TYPES[name] for name in ("s2", "s4", "u2", "u4"))]
FLOATS = [F64, F32, F16, BF16, *(ELEMENT_TYPES[name] for name in ("f8e4m3fn", "f8e5m2", "f8e3m4", "f4e2m1fn"))]


def module_of(method, element_type, dimensions, *parameters):
    b = XlaBuilder("random")
    values = [b.constant(np.array(p).astype(element_type.dtype)) for p in parameters]
    return b.build_module(getattr(b, method)(*values, Shape(element_type, dimensions)))


def run(module, backend="cpu", seed=1):
    with Environment(seed=seed).active():
        return get_backend(backend).compile(module)()[0]


def draw(method, element_type, dimensions, *parameters, backend="cpu", seed=1):
    return run(module_of(method, element_type, dimensions, *parameters), backend, seed)


# --- the state ---


@BOTH
def test_the_state_is_a_counter(backend):
    text = """HloModule m
ENTRY e {
  a = u64[2]{0} rng-get-and-update-state(), delta=5
  b = u64[2]{0} rng-get-and-update-state(), delta=7
  c = u64[2]{0} rng-get-and-update-state(), delta=0
  ROOT t = (u64[2]{0}, u64[2]{0}, u64[2]{0}) tuple(a, b, c)
}"""
    module = parse_module(text)
    assert parse_module(module.as_text()) == module and "rng-get-and-update-state(), delta=5" in module.as_text()
    compiled = get_backend(backend).compile(module)
    with Environment(seed=3).active():
        first, again = compiled(), compiled()

    def whole(array):
        return int(array[0]) | int(array[1]) << 64

    steps = [whole(array) - whole(first[0]) for array in (*first, *again)]
    assert [step % 2**128 for step in steps] == [0, 5, 12, 12, 17, 24]
    assert whole(first[0]) == whole(RandomState(3).take(0))


def test_the_counter_wraps():
    state = RandomState(5)
    state.take(0)
    state._counter = 2**128 - 1
    assert state.take(3).tolist() == [2**64 - 1, 2**64 - 1]
    assert state.take(0).tolist() == [2, 0]


def test_environments_differ_unless_their_seeds_are_the_same():
    module = module_of("RngUniform", U64, (4,), 0, 2**63)
    compiled = get_backend("cpu").compile(module)
    assert not np.array_equal(compiled()[0], compiled()[0])
    results = []
    for seed in (None, None, 0, 0, 1):
        with Environment(seed=seed).active():
            results.append(np.concatenate([compiled()[0], compiled()[0]]).tolist())
    assert results[2] == results[3]
    assert len({tuple(result) for result in results}) == 4 and len(set(results[2])) == 8


def test_bad_seeds():
    with pytest.raises(ValueError, match="non-negative"):
        Environment(seed=-1)
    with pytest.raises(TypeError):
        Environment(seed="seven")


def test_the_bits_are_those_of_philox():
    """Of u8 in [0, 256): the highest byte of each word of 64 bits; the high half of the state is the key."""
    low, high = (int(half) for half in RandomState(1).take(0))
    key, upper = [(np.uint32(high & 0xFFFFFFFF), np.uint32(high >> 32))] * 2
    counters = [low + step for step in range(3)]
    lower = [np.array([c >> shift & 0xFFFFFFFF for c in counters], np.uint32) for shift in (0, 32)]
    words = np.stack(philox4x32(key, (*lower, *(np.full(3, part) for part in upper))), axis=1)
    expected = (words[:, 1::2].ravel() >> np.uint32(17)).astype(np.int32)  # of [0, 2**15), the highest 15 bits
    assert draw("RngUniform", S32, (2, 3), 0, 2**15).ravel().tolist() == expected.tolist()


# --- the backends ---


def check_backends(method, element_type, limits, check):
    """Shapes of several ranks in one program."""
    b = XlaBuilder("random")
    results = []
    for low, high in limits:
        values = [b.constant(np.array(limit).astype(element_type.dtype)) for limit in (low, high)]
        results += [getattr(b, method)(*values, Shape(element_type, dimensions)) for dimensions in ((), (7,), (3, 6), (0,))]
    module = b.build_module(b.Tuple(results))
    expected = evaluate(module.entry, environment=Environment(seed=1))
    with Environment(seed=1).active():
        actual = get_backend("cpu").compile(module)()
    for mine, wanted in zip(actual, expected, strict=True):
        assert mine.dtype == element_type.dtype and mine.shape == wanted.shape
        check(mine, wanted)


@pytest.mark.parametrize("element_type", one_in(2, [*FLOATS, *INTEGERS, PRED]), ids=str)
def test_backends_draw_the_same_uniform_numbers(element_type):
    limits = [(0, 1)]
    if element_type.is_integer:
        info = ml_dtypes.iinfo(element_type.dtype)
        limits += [(int(info.min), int(info.max)), (int(info.max) // 2, int(info.max))]
    elif element_type.is_float:
        limits += [(-6, 4)]
    check_backends("RngUniform", element_type, limits, np.testing.assert_array_equal)


@pytest.mark.parametrize("element_type", FLOATS, ids=str)
def test_backends_draw_the_same_normal_numbers(element_type):
    """Up to the elementary functions."""
    single, own = float(np.finfo(np.float32).eps), float(ml_dtypes.finfo(element_type.dtype).eps)
    tolerance = max(8 * (single if element_type is not F64 else own), own)

    def check(actual, expected):
        wide = (array.astype(np.float64) for array in (actual, expected))
        np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance)

    check_backends("RngNormal", element_type, [(0.5, 2)], check)


def test_several_draws_and_loops():
    """Each draw of a run has numbers of its own, in a loop too; an unused one moves the state all the same."""
    state = TupleShape((Shape(S32), Shape(U32, (3,)), Shape(U32)))
    c = XlaBuilder("condition")
    condition = c.build(c.Lt(c.GetTupleElement(c.parameter(state), 0), c.constant(np.int32(3))))
    d = XlaBuilder("body")
    parameter = d.parameter(state)
    count, array, total = (d.GetTupleElement(parameter, n) for n in range(3))
    limits = d.constant(np.uint32(0)), d.constant(np.uint32(2**31))
    d.RngUniform(*limits, Shape(U32, (5,)))
    number = d.RngUniform(*limits, Shape(U32))
    array = d.DynamicUpdateSlice(array, d.Reshape(number, (1,)), [count])
    more = d.Reduce(d.RngUniform(*limits, Shape(U32, (9,))), total, scalar_computation("add", U32), (0,))
    body = d.build(d.Tuple([d.Add(count, d.constant(np.int32(1))), array, more]))
    b = XlaBuilder("loop")
    init = b.Tuple([b.constant(np.int32(0)), b.constant(np.zeros(3, np.uint32)), b.constant(np.uint32(0))])
    module = b.build_module(b.While(condition, body, init))
    with Environment(seed=2).active():
        _, numbers, sum_ = get_backend("cpu").compile(module)()
    _, expected, expected_sum = evaluate(module.entry, environment=Environment(seed=2))
    np.testing.assert_array_equal(numbers, expected)
    assert sum_ == expected_sum and len(set(numbers.tolist())) == 3


# --- the distributions ---


@pytest.mark.parametrize("element_type", FLOATS, ids=str)
def test_uniform_floats_stay_in_the_interval(element_type):
    """Half-open, also where rounding would reach the end, and with the mean and the deviation of a uniform distribution."""
    b, intervals = XlaBuilder("uniform"), ((0, 1), (-2, 2), (1, 1.5))
    shape = Shape(element_type, (1 << 14,))
    draws = [b.RngUniform(b.constant(low, element_type), b.constant(high, element_type), shape) for low, high in intervals]
    with Environment(seed=1).active():
        results = get_backend("cpu").compile(b.build_module(b.Tuple(draws)))()
    for (low, high), result in zip(intervals, results):
        values = result.astype(np.float64)
        assert values.min() >= low and values.max() < high
        if element_type.bits >= 16:
            width = high - low
            assert abs(values.mean() - (low + high) / 2) < width * (5 * 12**-0.5 / 2**7 + 2.0**-8)
            assert abs(values.std() - width * 12**-0.5) < width * 0.01


def test_the_end_of_the_interval_is_never_drawn():
    """Between 1 and the next number but one, where half of all sums are rounded to the end."""
    for element_type in (F32, F64, BF16):
        high = np.array(1 + 2 * float(ml_dtypes.finfo(element_type.dtype).eps))
        values = draw("RngUniform", element_type, (1000,), 1, high)
        assert set(values.astype(np.float64).tolist()) <= {1.0, 1 + float(ml_dtypes.finfo(element_type.dtype).eps)}


@pytest.mark.parametrize("element_type", INTEGERS, ids=str)
def test_uniform_integers_take_every_value(element_type):
    info = ml_dtypes.iinfo(element_type.dtype)
    low, high = (int(info.min), int(info.max)) if element_type.bits <= 4 else (int(info.min) + 3, int(info.min) + 13)
    count = 1 << 13
    values, counts = np.unique(draw("RngUniform", element_type, (count,), low, high).astype(object), return_counts=True)
    assert [int(value) for value in values] == list(range(low, high))
    expected = count / (high - low)
    assert np.all(np.abs(counts - expected) < 5 * np.sqrt(expected))


def test_uniform_integers_of_the_whole_range():
    for element_type in (S64, U64, S32):
        info = np.iinfo(element_type.dtype)
        values = draw("RngUniform", element_type, (1 << 12,), info.min, info.max)
        quarters = np.histogram(values.astype(np.float64), 4, (float(info.min), float(info.max)))[0]
        assert np.all(np.abs(quarters - 2**10) < 5 * 32)


@BOTH
def test_empty_intervals_give_their_lower_end(backend):
    for element_type in (F32, S32, U64, BF16):
        assert set(draw("RngUniform", element_type, (9,), 7, 3, backend=backend).astype(int).tolist()) == {7}
        assert set(draw("RngUniform", element_type, (9,), 7, 7, backend=backend).astype(int).tolist()) == {7}
    assert draw("RngUniform", PRED, (9,), False, True, backend=backend).tolist() == [False] * 9


@pytest.mark.parametrize("element_type", [F32, F64, BF16], ids=str)
def test_normal_numbers(element_type):
    """The first four moments, and the share within one and two standard deviations; pairs are uncorrelated."""
    count = 1 << 16
    values = (draw("RngNormal", element_type, (count,), 3, 2).astype(np.float64) - 3) / 2
    moments = [np.mean(values**power) for power in (1, 2, 3, 4)]
    tolerance = 5 / np.sqrt(count) * np.array([1, 2**0.5, 15**0.5, 96**0.5]) + (element_type is BF16) * 0.01
    assert np.all(np.abs(np.array(moments) - [0, 1, 0, 3]) < tolerance)
    for limit, share in ((1, 0.682689), (2, 0.954500)):
        assert abs(np.mean(np.abs(values) < limit) - share) < 5 * 0.5 / np.sqrt(count) + (element_type is BF16) * 0.01
    first, second = np.split(values, 2)
    assert abs(np.mean(first * second)) < 5 / np.sqrt(count / 2) and abs(np.mean(first[1:] * first[:-1])) < 5 / 2**7.5


def test_normal_numbers_without_deviation():
    np.testing.assert_array_equal(draw("RngNormal", F64, (5,), 1.5, 0), np.full(5, 1.5))


@pytest.mark.parametrize("element_type", [U32, PRED, F32, S32], ids=str)
def test_bernoulli(element_type):
    b = XlaBuilder("bernoulli")
    shape = Shape(element_type, (1 << 14,))
    module = b.build_module(b.Tuple([b.RngBernoulli(b.constant(np.float32(p)), shape) for p in (0, 0.25, 1)]))
    with Environment(seed=4).active():
        never, sometimes, always = get_backend("cpu").compile(module)()
    assert never.dtype == element_type.dtype and not never.any() and always.all()
    assert set(sometimes.astype(int).tolist()) == {0, 1}
    assert abs(sometimes.astype(np.float64).mean() - 0.25) < 5 * 0.433 / 2**7


def test_bad_operands():
    b = XlaBuilder("f")
    f, s = b.constant(np.float32(1)), b.constant(np.int32(1))
    with pytest.raises(ShapeError, match=r"second must be f32\[\], got s32\[\]"):
        b.RngUniform(f, s, Shape(F32, (3,)))
    with pytest.raises(ShapeError, match="result must have a floating-point element type, got s32"):
        b.RngNormal(s, s, Shape(S32, (3,)))
    with pytest.raises(ShapeError, match=r"RngBernoulli: mean must be a floating-point scalar, got s32"):
        b.RngBernoulli(s, Shape(U32, (3,)))
    with pytest.raises(ShapeError, match="first must be a scalar"):
        b.RngNormal(b.constant(np.ones(2, np.float32)), f, Shape(F32, (2,)))
