"""Sort and top-k against Python's own sort, and NumPy's functions of sorting on both backends."""

import functools
import warnings

import numpy as np
import pytest
from cpu_passes import expand
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from phlox import jit
from phlox.backends.loading import load_hlo
from phlox.backends.registry import get_backend
from phlox.compile.comparators import sort_key
from phlox.hlo import BF16, C128, F16, F32, F64, PRED, S8, S16, S32, S64, U8, U16, U64, Layout, Shape, ShapeError, parse_module
from phlox.hlo.builder import ascending_order
from phlox.tracer.functions.sorting import comparator
from phlox.xla_builder import XlaBuilder
from thinning import one_in_all

BACKENDS = ["reference", "cpu"]
METHODS = [
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "linear",
    "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
]  # fmt: skip


def compiled(b, root, backend):
    executable = get_backend(backend).compile(b.build_module(root))
    return lambda *arguments: [np.asarray(leaf) for leaf in executable(*arguments)]


def bits(array):
    """The array's bytes as integers: zeros and NaN are told apart."""
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}") if array.dtype.kind != "c" else array.view("u8")


def values(element_type, size, seed):
    """Values with many ties, and with zeros of both signs, infinities and NaN where there are some."""
    random, dtype = np.random.default_rng(seed), element_type.dtype
    if element_type.is_complex:
        parts = [values(F64, size, seed + part) for part in (1, 2)]
        numbers = np.empty(size, dtype)
        numbers.real, numbers.imag = parts
        return numbers
    if element_type.is_float:
        numbers = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.5, -2.0, 3.25])
        return np.where(random.random(size) < 0.5, random.choice(numbers, size), random.normal(size=size)).astype(dtype)
    return random.integers(0, 2 if element_type is PRED else 100, size).astype(dtype)


# --- the operations ---


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("size", [0, 1, 2, 15, 16, 17, 33, 100, 255, 256, 257])
def test_any_comparator_sorts_stably(backend, size):
    """By the last decimal digit, with a second operand that tells equal keys apart."""
    b = XlaBuilder("by_last_digit")
    parameters = [b.parameter(Shape(t)) for t in (S32, S32, S64, S64)]
    digits = [b.emit("remainder", x, b.constant(np.int32(10))) for x in parameters[:2]]
    by_digit = b.build(b.Lt(*digits))
    b = XlaBuilder("f")
    operands = b.parameter(Shape(S32, (size,)), "x"), b.parameter(Shape(S64, (size,)), "n")
    root = b.Sort(operands, by_digit, 0, is_stable=True)
    x = np.random.default_rng(size).integers(0, 1000, size).astype(np.int32)
    ordered, positions = compiled(b, root, backend)(x, np.arange(size))
    expected = sorted(range(size), key=lambda i: x[i] % 10)
    assert positions.tolist() == expected
    np.testing.assert_array_equal(ordered, x[expected])


@pytest.mark.parametrize("element_type", [F16, BF16, F32, F64, S8, U8, S16, U16, S32, S64, U64, PRED], ids=str)
@pytest.mark.parametrize("direction", ["LT", "GT"])
@pytest.mark.parametrize("size", [600])
def test_long_lines_are_sorted_by_their_keys(element_type, direction, size):
    """Total order, both directions; the positions show that equal elements keep their order."""
    b = XlaBuilder("order")
    first, second, *_ = [b.parameter(Shape(t)) for t in (element_type, element_type, S32, S32)]
    order = b.build(b.emit("compare", first, second, direction=direction, type="TOTALORDER" if element_type.is_float else ""))
    b = XlaBuilder("f")
    operands = b.parameter(Shape(element_type, (2, size)), "x"), b.parameter(Shape(S32, (2, size)), "n")
    run = compiled(b, b.Sort(operands, order, 1, is_stable=True), "cpu")
    x = values(element_type, 2 * size, size).reshape(2, size)
    ordered, positions = run(x, np.array([range(size)] * 2, np.int32))

    def key(row, i):
        raw = int(bits(row)[i])
        if element_type.is_float:  # two's complement order of sign and magnitude
            top = 1 << (element_type.bits - 1)
            return raw if raw < top else top - 1 - raw
        return int(row[i])

    for row, its_positions, its_values in zip(x, positions, ordered):
        sign = 1 if direction == "LT" else -1
        expected = sorted(range(size), key=lambda i: sign * key(row, i))
        assert its_positions.tolist() == expected
        np.testing.assert_array_equal(bits(its_values), bits(row[expected]))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dimension", [0, 1, 2])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_dimension_of_both_layouts(backend, dimension, order):
    sizes = (3, 300, 7) if dimension == 1 else (20, 4, 9)
    x = np.random.default_rng(5).normal(size=sizes).astype(np.float32, order=order)
    b = XlaBuilder("f")
    shape = Shape(F32, sizes, Layout((0, 1, 2)) if order == "F" else None)
    (result,) = compiled(b, b.Sort(b.parameter(shape, "x"), None, dimension), backend)(x)
    np.testing.assert_array_equal(result, np.sort(x, dimension))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_comparator_that_is_no_order_still_gives_a_permutation(backend):
    b = XlaBuilder("wrong")
    first, _ = b.parameter(Shape(S8)), b.parameter(Shape(S8))
    wrong = b.build(b.Ge(b.emit("and", first, b.constant(np.int8(5))), b.constant(np.int8(1))))
    for shape in ((1, 40), (3, 100), (2, 300)):
        b = XlaBuilder("f")
        run = compiled(b, b.Sort(b.parameter(Shape(S8, shape), "x"), wrong, 1), backend)
        for seed in range(20):
            x = np.random.default_rng(seed).integers(-9, 9, shape).astype(np.int8)
            np.testing.assert_array_equal(np.sort(run(x)[0]), np.sort(x))


def test_the_keys_that_are_recognized():
    for element_type in (F32, F16, F64):
        found = sort_key(comparator((element_type,)))
        assert found is not None and found.zeros_equal and not found.is_descending
    assert sort_key(comparator((S32,), (S64,))).operand == 0
    assert sort_key(comparator((C128,))) is None and sort_key(comparator((F32, F32))) is None
    assert sort_key(ascending_order((F32,))) is not None
    b = XlaBuilder("plain")  # NaN has no place in this order
    assert sort_key(b.build(b.Lt(b.parameter(Shape(F32)), b.parameter(Shape(F32))))) is None
    b = XlaBuilder("swapped")
    first, second = b.parameter(Shape(S32)), b.parameter(Shape(S32))
    assert sort_key(b.build(b.Lt(second, first))) is None
    b = XlaBuilder("second")
    parameters = [b.parameter(Shape(S32)) for _ in range(4)]
    assert sort_key(b.build(b.Gt(*parameters[2:]))) == (1, S32, True, False)


def test_a_sort_as_jax_writes_it():
    text = """
    HloModule sort
    order {
      a = f32[] parameter(0)
      b = f32[] parameter(1)
      nan = f32[] constant(nan)
      zero = f32[] constant(0)
      a_nan = pred[] compare(a, a), direction=NE
      a_zero = pred[] compare(a, zero), direction=EQ
      a_0 = f32[] select(a_zero, zero, a)
      a_1 = f32[] select(a_nan, nan, a_0)
      b_nan = pred[] compare(b, b), direction=NE
      b_zero = pred[] compare(b, zero), direction=EQ
      b_0 = f32[] select(b_zero, zero, b)
      b_1 = f32[] select(b_nan, nan, b_0)
      ROOT less = pred[] compare(a_1, b_1), direction=LT, type=TOTALORDER
    }
    ENTRY main {
      x = f32[2,700] parameter(0)
      ROOT y = f32[2,700] sort(x), dimensions={1}, is_stable=true, to_apply=order
    }
    """
    x = values(F32, 1400, 1).reshape(2, 700)
    loaded = load_hlo(text)
    assert sort_key(loaded.module.entry.root.attributes["to_apply"]) == (0, F32, False, True)
    result = loaded(x)
    for row, ordered in zip(x, result):
        expected = sorted(row.tolist(), key=lambda v: (np.isnan(v), 0.0 if np.isnan(v) else v))
        np.testing.assert_array_equal(ordered, np.array(expected, np.float32))
        np.testing.assert_array_equal(np.signbit(ordered[ordered == 0]), np.signbit(row[row == 0]))


SIZES = [1, 2, 7, 8, 9, 16, 17, 64, 100, 257, 1000]


def total_order(element_type, direction, *others):
    b = XlaBuilder("order")
    first, second, *_ = (b.parameter(Shape(t)) for t in (element_type, *others) for _ in range(2))
    return b.build(b.emit("compare", first, second, direction=direction, type="TOTALORDER" if element_type.is_float else ""))


@pytest.mark.parametrize(
    ("element_type", "direction"), [(F32, "LT"), (F64, "GT"), (S32, "GT"), (U64, "LT"), (F16, "LT"), (U8, "GT")], ids=str
)
def test_lines_of_every_length_by_a_plain_key(element_type, direction):
    """Values alone, whose order tells all bits apart, and values with others behind them, stably."""
    for size in SIZES:
        x = np.stack([values(element_type, size, seed=size + row) for row in range(2)])
        y = np.arange(2 * size, dtype=np.int16).reshape(2, size)
        b = XlaBuilder("f")
        parameter, payload = b.parameter(Shape(element_type, x.shape)), b.parameter(Shape(S16, x.shape))
        alone = b.emit("sort", parameter, dimensions=(1,), to_apply=total_order(element_type, direction))
        order = total_order(element_type, direction, S16)
        both = b.emit("sort", parameter, payload, dimensions=(1,), is_stable=True, to_apply=order)
        root = b.Tuple([alone, b.GetTupleElement(both, 0), b.GetTupleElement(both, 1)])
        native, expected = (compiled(b, root, backend)(x, y) for backend in ("cpu", "reference"))
        for one, other in zip(native, expected, strict=True):
            np.testing.assert_array_equal(bits(one), bits(other), err_msg=f"{size} elements")


@pytest.mark.parametrize("axis", [0, 1])
def test_sorting_floats_that_lie_across(axis):
    x = values(F32, 60 * 70, seed=1).reshape(60, 70)
    for argument in (x, np.asfortranarray(x)):
        np.testing.assert_array_equal(jit(lambda x: np.sort(x, axis=axis))(argument), np.sort(x, axis=axis))
        stable = jit(lambda x: np.argsort(x, axis=axis, kind="stable"))(argument)
        np.testing.assert_array_equal(stable, np.argsort(x, axis=axis, kind="stable"))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize(("shape", "k"), [((9,), 4), ((3, 20), 20), ((2, 3, 5), 1), ((4, 6), 0), ((3, 300), 7), ((1000,), 64)])
def test_top_k(backend, largest, shape, k):
    x = np.random.default_rng(k).integers(-4, 4, shape).astype(np.int16)
    b = XlaBuilder("f")
    chosen, positions = compiled(b, b.TopK(b.parameter(Shape(S16, x.shape), "x"), k, largest), backend)(x)
    for index in np.ndindex(x.shape[:-1]):
        row = x[index].tolist()
        expected = sorted(range(len(row)), key=lambda i: (-row[i] if largest else row[i], i))[:k]
        assert positions[index].tolist() == expected and chosen[index].tolist() == [row[i] for i in expected]


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("order", [1, -1])
def test_top_k_of_sorted_elements_with_every_special_value(largest, order):
    """In the worst order every element goes through the list."""
    special = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32)
    x = np.sort(np.random.default_rng(1).standard_normal(500).astype(np.float32))[::order]
    x = np.concatenate([x, special, special])
    module = XlaBuilder("f")
    module = module.build_module(module.TopK(module.parameter(Shape(F32, x.shape), "x"), 20, largest))
    native, expected = (get_backend(name).compile(module)(x) for name in ("cpu", "reference"))
    np.testing.assert_array_equal(native[1], expected[1])
    np.testing.assert_array_equal(native[0].view(np.uint32), x[expected[1]].view(np.uint32))


def test_top_k_of_most_elements_is_expanded_to_a_sort():
    b = XlaBuilder("f")
    module = b.build_module(b.TopK(b.parameter(Shape(F32, (3, 9)), "x"), 4))
    expanded = expand(module)
    opcodes = [instruction.opcode for instruction in expanded.entry.instructions]
    assert "topk" not in opcodes and "sort" in opcodes and expand(expanded) is expanded
    assert expanded.entry.shape == module.entry.shape


def test_what_the_builder_refuses():
    b = XlaBuilder("f")
    x = b.parameter(Shape(F32, (4,)), "x")
    with pytest.raises(ShapeError, match="at least one operand"):
        b.Sort([])
    with pytest.raises(ShapeError, match=r"dimensions must be in \[0, 1\), got 1"):
        b.Sort(x, None, 1)
    with pytest.raises(ShapeError, match=r"dimensions must be in \[0, 0\)"):
        b.Sort(b.constant(np.float32(1)))
    with pytest.raises(ShapeError, match="k must be in"):
        b.TopK(x, 5)


# --- NumPy's functions ---


@pytest.mark.parametrize("number", [0, 1])
def test_one_of_the_results_of_a_reduction(number):
    """Which becomes one fusion, whose root is the reduction."""
    text = f"""
HloModule m
less {{
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT
}}
sum_and_most {{
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  e = s32[] add(a, c)
  f = s32[] maximum(b, d)
  ROOT t = (s32[], s32[]) tuple(e, f)
}}
ENTRY e {{
  x = s32[5,7] parameter(0)
  zero = s32[] constant(0)
  y = s32[5,7] multiply(x, x)
  r = (s32[5], s32[5]) reduce(x, y, zero, zero), dimensions={{1}}, to_apply=sum_and_most
  g = s32[5] get-tuple-element(r), index={number}
  ROOT s = s32[5] sort(g), dimensions={{0}}, to_apply=less
}}"""
    x = np.random.default_rng(0).integers(-50, 50, (5, 7)).astype(np.int32)
    (result,) = get_backend("cpu").compile(parse_module(text))(x)
    np.testing.assert_array_equal(result, np.sort((x * x).max(1) if number else x.sum(1)))


@functools.cache
def traced(function, backend):
    return jit(function, backend=backend)


def agrees(function, *arguments, backends=BACKENDS, exact=False):
    """The traced function gives what NumPy gives: values, dtypes, shapes, or an exception of the same type."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            expected = function(*(np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments))
        except Exception as error:
            expected = error
        for backend in backends:
            if isinstance(expected, Exception):
                with pytest.raises(type(expected)):
                    traced(function, backend)(*arguments)
                continue
            actual = traced(function, backend)(*(np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments))
            assert type(actual) is type(expected)
            assert np.asarray(actual).dtype == np.asarray(expected).dtype and np.shape(actual) == np.shape(expected)
            if exact or np.asarray(expected).dtype.kind in "iub":
                np.testing.assert_array_equal(actual, expected)
            else:
                tolerance = {"e": 2e-3, "f": 2e-6, "F": 2e-6}.get(np.asarray(expected).dtype.char, 1e-13)
                np.testing.assert_allclose(actual, expected, rtol=tolerance)


KINDS = [F16, F32, F64, S8, S64, U64, PRED, C128]


@pytest.mark.parametrize(("element_type", "shape"), one_in_all(2, KINDS, [(13,), (3, 20), (2, 0), (), (300,)]), ids=str)
def test_sort_and_argsort(element_type, shape):
    x = values(element_type, int(np.prod(shape)), 3).reshape(shape)
    for function in (
        lambda x: np.sort(x),
        lambda x: np.sort(x, axis=None, kind="heapsort"),
        lambda x: np.argsort(x, axis=0, stable=True),
        lambda x: np.sort_complex(x),
    ):
        agrees(function, x, exact=True)
    if shape and 0 not in shape:
        agrees(lambda x: np.lexsort((x, x[::-1] < x)), x)


ORDERS = {
    axis: (lambda x, axis=axis: np.sort(x, axis), lambda x, axis=axis: np.argsort(x, axis, kind="stable"))
    for axis in (-1, 0, None)
}
SPECIAL = st.sampled_from([0.0, -0.0, np.nan, 1.0, -1.0, np.inf, -np.inf, 2.5])


@pytest.mark.parametrize("axis", ORDERS)
@settings(deadline=None, derandomize=True, max_examples=20)
@given(x=arrays.arrays(np.float64, (3, 20), elements=SPECIAL))
def test_sorted_values_and_their_order(axis, x):
    for function in ORDERS[axis]:
        agrees(function, x, exact=True)


COMPLEX = [complex(a, b) for a in (0.0, 1.0, -1.0, np.nan) for b in (0.0, -0.0, 2.0, -2.0, np.nan)]


@settings(deadline=None, derandomize=True, max_examples=25)
@given(x=arrays.arrays(np.complex128, 30, elements=st.sampled_from(COMPLEX)))
def test_complex_order(x):
    """Real parts first, then imaginary parts; what holds a NaN behind all numbers."""
    agrees(ORDERS[-1][1], x)


def test_sorting_in_place():
    def in_place(x):
        y = x[1:]
        y.sort()
        x[:, ::2].sort(axis=0)
        return x

    agrees(in_place, values(F32, 24, 2).reshape(4, 6), exact=True)

    def by_partition(x):
        x.partition(3)
        return np.all(x[:3] <= x[3]) & np.all(x[4:] >= x[3]), x[3]

    agrees(by_partition, np.random.default_rng(1).normal(size=20), exact=True)


def test_partitions():
    x = np.random.default_rng(1).normal(size=(4, 25))
    agrees(lambda x: np.partition(x, (3, 7), axis=1)[:, [3, 7]] if isinstance(x, np.ndarray) else np.stack(
        [np.partition(x, (3, 7), axis=1)[:, 3], np.partition(x, (3, 7), axis=1)[:, 7]], 1
    ), x, exact=True)  # fmt: skip
    for backend in BACKENDS:
        positions = jit(lambda x: np.argpartition(x, 5), backend=backend)(x)
        chosen = np.take_along_axis(x, positions, 1)
        assert (np.sort(positions) == np.arange(25)).all()
        assert (chosen[:, :5] <= chosen[:, 5:6]).all() and (chosen[:, 6:] >= chosen[:, 5:6]).all()


@pytest.mark.parametrize("element_type", KINDS, ids=str)
def test_medians(element_type):
    for shape in ((3, 20), (2, 0), ()):
        x = values(element_type, int(np.prod(shape)), 4).reshape(shape)
        agrees(lambda x: np.median(x, axis=-1, keepdims=True), x)
        agrees(lambda x: np.nanmedian(x), x)
    x = values(element_type, 60, 4).reshape(3, 4, 5)
    agrees(lambda x: np.median(x, axis=(0, 2)), x, backends=["cpu"])
    agrees(lambda x: np.nanmedian(x, axis=(0, 2), keepdims=True), x, backends=["cpu"])


@pytest.mark.parametrize("method", METHODS)
def test_quantiles(method):
    random = np.random.default_rng(1)
    for dtype in (np.float32, np.int64):
        x = random.integers(-50, 50, (3, 4, 5)).astype(dtype)
        agrees(lambda x: np.quantile(x, [0, 0.25, 0.5, 0.77, 1], axis=(0, 2), method=method), x, backends=["cpu"])
        agrees(lambda x: np.percentile(x, 40, axis=1, method=method, keepdims=True), x)
    agrees(lambda x, q: np.quantile(x, q, method=method), x, np.array([0.1, 0.5]), backends=["cpu"])
    x = np.where(random.random((6, 9)) < 0.3, np.nan, random.normal(size=(6, 9)))
    x[2] = np.nan
    agrees(lambda x: np.quantile(x, 0.3, axis=1, method=method), x, backends=["cpu"])
    agrees(lambda x: np.nanquantile(x, [0.3, 1.0], axis=1, method=method), x)
    agrees(lambda x, q: np.nanpercentile(x, q, method=method), x, 30.0, backends=["cpu"])


@pytest.mark.parametrize("element_type", KINDS, ids=str)
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(element_type, side):
    line, wanted = np.sort(values(element_type, 17, 1)), values(element_type, 36, 2).reshape(4, 9)
    for a in (line, line[:1], line[:0]):
        agrees(lambda a, v: np.searchsorted(a, v, side), a, wanted)
    agrees(lambda a, v: np.searchsorted(a, v, side), line, wanted[0, 0])
    agrees(lambda a: np.searchsorted(a, 1.5, side), line, backends=["cpu"])
    agrees(lambda a, v: a[::-1].copy().searchsorted(v, side, np.arange(17)[::-1].copy()), line, wanted, backends=["cpu"])


DIGITIZE = {right: lambda x, bins, right=right: np.digitize(x, bins, right) for right in (False, True)}


@settings(deadline=None, derandomize=True, max_examples=25)
@given(
    bins=arrays.arrays(np.int64, st.sampled_from([0, 1, 2, 13]), elements=st.integers(-9, 9)),
    right=st.booleans(),
    falls=st.booleans(),
)
def test_digitize(bins, right, falls):
    bins = np.sort(bins)[:: -1 if falls else 1].copy()
    agrees(DIGITIZE[right], np.arange(-12, 12).reshape(4, 6), bins)


def test_exceptions_are_those_of_numpy():
    x = np.arange(6.0).reshape(2, 3)
    for function in (
        lambda x: np.sort(x, axis=2),
        lambda x: np.sort(x, kind="bubble"),
        lambda x: np.sort(x, kind="stable", stable=True),
        lambda x: np.sort(x, order="name"),
        lambda x: np.argsort(x, axis=-3),
        lambda x: np.partition(x, 3),
        lambda x: np.partition(x, 1.5),
        lambda x: np.lexsort((x, x[0])),
        lambda x: np.lexsort(()),
        lambda x: np.quantile(x, 1.5),
        lambda x: np.percentile(x, -1),
        lambda x: np.quantile(x, 0.5, method="cubic"),
        lambda x: np.quantile(x.astype(complex), 0.5),
        lambda x: np.searchsorted(x, 1.0),
        lambda x: np.searchsorted(x[0], 1.0, side="middle"),
        lambda x: np.digitize(x, x),
        lambda x: np.digitize(x, np.array([1.0, 3.0, 2.0])),
    ):
        agrees(function, x)
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        jit(lambda x, q: np.quantile(x, q))(x, 2.0)


def test_interpolation_around_a_period():
    x, points, heights = np.linspace(-700, 700, 29), np.array([190.0, -190.0, 350.0, -350.0]), np.array([5.0, 10.0, 3.0, 4.0])
    agrees(lambda x, points, heights: np.interp(x, points, heights, period=360), x, points, heights)
    agrees(lambda x, points: np.interp(x, points, points * 1j, period=-90.0), x, points, backends=["cpu"])
    agrees(lambda x, points: np.interp(x, points, points, period=0), x, points)


def test_running_reductions_round_as_those_of_numpy():
    x = np.random.default_rng(1).normal(size=(40, 33)).astype(np.float32)
    for axis in (0, 1, None):
        agrees(lambda x, axis=axis: np.cumsum(x, axis), x, exact=True)
        agrees(lambda x, axis=axis: np.cumprod(x, axis), x, exact=True)
    agrees(lambda x: np.minimum.accumulate(x), x, exact=True)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_positions_that_partition_a_long_line(dtype):
    random = np.random.default_rng(4)
    size = 4100
    line = random.integers(-40, 40, size).astype(dtype)
    if dtype(0).dtype.kind == "f":
        line[::97], line[5::97], line[3::50] = np.nan, -np.nan, -0.0
    in_order = np.sort(line)
    for place in (0, 5, 63, 64, size // 2, size - 65, -64, -3, [-1]):
        positions = jit(lambda line, place=place: np.argpartition(line, place))(line)
        np.testing.assert_array_equal(np.sort(positions), np.arange(size))
        found, place = line[positions], np.ravel(place)[0] % size
        np.testing.assert_array_equal(found[place], in_order[place])
        np.testing.assert_array_equal(np.sort(found[:place]), in_order[:place])
        np.testing.assert_array_equal(np.sort(found[place:]), in_order[place:])


@pytest.mark.parametrize("size", [63, 64, 300])
def test_lines_in_the_order_of_several_keys(size):
    random = np.random.default_rng(size)
    x, y, z = (random.integers(-3, 4, size).astype(dtype) for dtype in (np.float64, np.int32, np.complex128))
    x[::7], x[3::11], z.imag = np.nan, -0.0, x
    z[2::9] = complex(np.nan, 1)
    for keys in ((x, y), (y, x), (x, y > 0, x + 1), (z, y), (y, z)):
        np.testing.assert_array_equal(jit(lambda *keys: np.lexsort(keys))(*keys), np.lexsort(keys))
    np.testing.assert_array_equal(jit(np.sort)(z), np.sort(z))
    np.testing.assert_array_equal(jit(lambda z: np.argsort(z, kind="stable"))(z), np.argsort(z, kind="stable"))
