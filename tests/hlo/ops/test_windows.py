"""Reduce-window and select-and-scatter against plain loops over window positions; padding, text and the builder's methods."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phlox import hlo
from phlox.backends.registry import get_backend
from phlox.hlo import BF16, F32, F64, S32, S64, HloSyntaxError, Layout, Shape, ShapeError, scalar_computation
from phlox.hlo.text.lexer import Cursor
from phlox.hlo.window import Window, WindowDimension, make_window, output_size, output_sizes, same_padding, with_padding
from phlox.xla_builder import XlaBuilder

BACKENDS = ["reference", "cpu"]


def elements_of(window, sizes, place):
    """The indices of the base that the window holds at a place, in row-major order."""
    for offsets in itertools.product(*(range(d.size) for d in window)):
        index = []
        for d, size, at, offset in zip(window, sizes, place, offsets):
            position = at * d.stride + offset * d.window_dilation - d.padding_low
            if position < 0 or position % d.base_dilation or position // d.base_dilation >= size:
                break
            index.append(position // d.base_dilation)
        else:
            yield tuple(index)


def reduced(array, window, combine, init):
    """Reduce-window, one element at a time."""
    result = np.empty(output_sizes(window, array.shape), array.dtype)
    for place in np.ndindex(result.shape):
        total = init
        for index in elements_of(window, array.shape, place):
            total = combine(total, array[index])
        result[place] = total
    return result


def scattered(array, source, window, prefers, init):
    """Select-and-scatter by addition, one element at a time."""
    result = np.full_like(array, init)
    for place in np.ndindex(source.shape):
        best = None
        for index in elements_of(window, array.shape, place):
            if best is None or not prefers(array[best], array[index]):
                best = index
        if best is not None:
            result[best] += source[place]
    return result


def compiled(b, root, backend):
    executable = get_backend(backend).compile(b.build_module(root))
    return lambda *arguments: [np.asarray(leaf) for leaf in executable(*arguments)]


def comparison(element_type, direction):
    b = XlaBuilder("select")
    first, second = b.parameter(Shape(element_type), "a"), b.parameter(Shape(element_type), "b")
    return b.build(b.emit("compare", first, second, direction=direction))


@st.composite
def windows(draw, rank):
    def dimension():
        return WindowDimension(
            draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(-3, 4)), draw(st.integers(-3, 4)),
            draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.booleans()),
        )  # fmt: skip

    return tuple(dimension() for _ in range(rank))


@st.composite
def cases(draw):
    sizes = tuple(draw(st.lists(st.integers(0, 9), max_size=3)))
    if sizes and draw(st.booleans()):
        sizes = (*sizes[:-1], draw(st.integers(15, 40)))  # long enough for vectors
    return sizes, draw(windows(len(sizes))), draw(st.integers(0, 2**32 - 1))


@pytest.mark.parametrize("backend", BACKENDS)
@settings(deadline=None, derandomize=True, max_examples=25)
@given(case=cases())
def test_reduce_window_is_a_loop_over_windows(backend, case):
    sizes, window, seed = case
    array = np.random.default_rng(seed).integers(-99, 99, sizes).astype(np.int32)
    b = XlaBuilder("f")
    x = b.parameter(Shape(S32, sizes), "x")
    results = [
        b.emit("reduce-window", x, b.constant(np.int32(init)), window=window, to_apply=scalar_computation(opcode, S32))
        for opcode, init in (("add", 0), ("maximum", -(2**31)))
    ]
    for result, combine, init in zip(
        compiled(b, b.Tuple(results), backend)(array), (np.add, np.maximum), (np.int32(0), np.int32(-(2**31)))
    ):
        np.testing.assert_array_equal(result, reduced(array, window, combine, init))


@pytest.mark.parametrize("backend", BACKENDS)
@settings(deadline=None, derandomize=True, max_examples=25)
@given(case=cases(), direction=st.sampled_from(["GE", "GT", "LT"]))
def test_select_and_scatter_is_a_loop_over_windows(backend, case, direction):
    sizes, window, seed = case
    random = np.random.default_rng(seed)
    array = random.integers(-3, 3, sizes).astype(np.int32)
    source = random.integers(1, 99, output_sizes(window, sizes)).astype(np.int32)
    prefers = {"GE": np.greater_equal, "GT": np.greater, "LT": np.less}[direction]
    b = XlaBuilder("f")
    operands = b.parameter(Shape(S32, sizes), "x"), b.parameter(Shape(S32, source.shape), "s"), b.constant(np.int32(7))
    attributes = {"select": comparison(S32, direction), "scatter": scalar_computation("add", S32)}
    (result,) = compiled(b, b.emit("select-and-scatter", *operands, window=window, **attributes), backend)(array, source)
    np.testing.assert_array_equal(result, scattered(array, source, window, prefers, 7))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("backwards", [False, True])
def test_running_reductions(backend, axis, backwards):
    """A window as long as the base, padded on one side, is a cumulative sum."""
    array = np.random.default_rng(3).integers(-99, 99, (5, 6, 37))
    size = array.shape[axis]
    for extra in (0, 4):
        pads = [(0, 0)] * 3
        pads[axis] = (size - 1 + extra, 0)[:: -1 if backwards else 1]
        sizes = [1, 1, 1]
        sizes[axis] = size + extra
        b = XlaBuilder("f")
        x, zero = b.parameter(Shape(S64, array.shape), "x"), b.constant(np.int64(0))
        root = b.ReduceWindowWithGeneralPadding(x, zero, scalar_computation("add", S64), sizes, [1] * 3, padding=pads)
        expected = np.flip(np.cumsum(np.flip(array, axis), axis), axis) if backwards else np.cumsum(array, axis)
        (result,) = compiled(b, root, backend)(array)
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_averages_by_two_accumulators(backend):
    """Sum and count in one pass: the count is that of the elements that are no padding."""
    b = XlaBuilder("sum_and_count")
    parts = [b.parameter(Shape(t)) for t in (F32, S32, F32, S32)]
    both = b.build(b.Tuple([b.Add(parts[0], parts[2]), b.Add(parts[1], parts[3])]))
    b = XlaBuilder("f")
    x, n = b.parameter(Shape(F32, (4, 50)), "x"), b.parameter(Shape(S32, (4, 50)), "n")
    init_values = [b.constant(np.float32(0)), b.constant(np.int32(0))]
    root = b.ReduceWindow([x, n], init_values, both, (3, 3), (1, 1), "SAME")
    total, count = compiled(b, root, backend)(np.ones((4, 50), np.float32), np.ones((4, 50), np.int32))
    rows, columns = np.full(4, 3), np.full(50, 3)
    rows[[0, -1]] = columns[[0, -1]] = 2
    np.testing.assert_array_equal(count, np.outer(rows, columns))
    np.testing.assert_array_equal(total, np.outer(rows, columns))


@pytest.mark.parametrize("backend", BACKENDS)
def test_pooling_and_its_gradient(backend):
    """Max pooling of a ramp takes the last corner of each window; its gradient goes there."""
    b = XlaBuilder("f")
    x, ones = b.parameter(Shape(F32, (6, 40)), "x"), b.parameter(Shape(F32, (3, 20)), "ones")
    pooled = b.ReduceWindow(x, b.constant(np.float32(-np.inf)), scalar_computation("maximum", F32), (2, 2), (2, 2), "VALID")
    add, zero = scalar_computation("add", F32), b.constant(np.float32(0))
    gradient = b.SelectAndScatter(x, comparison(F32, "GE"), (2, 2), (2, 2), "VALID", ones, zero, add)
    ramp = np.arange(240, dtype=np.float32).reshape(6, 40)
    maxima, sent = compiled(b, b.Tuple([pooled, gradient]), backend)(ramp, np.ones((3, 20), np.float32))
    np.testing.assert_array_equal(maxima, ramp[1::2, 1::2])
    expected = np.zeros((6, 40), np.float32)
    expected[1::2, 1::2] = 1
    np.testing.assert_array_equal(sent, expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_general_padding_of_select_and_scatter(backend):
    b = XlaBuilder("f")
    x, source = b.parameter(Shape(F64, (4,)), "x"), b.parameter(Shape(F64, (3,)), "s")
    add, zero = scalar_computation("add", F64), b.constant(np.float64(0))
    root = b.SelectAndScatterWithGeneralPadding(x, comparison(F64, "GE"), (2,), (2,), [(1, 1)], source, zero, add)
    (result,) = compiled(b, root, backend)(np.array([1.0, 5.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0]))
    np.testing.assert_array_equal(result, [10, 20, 0, 30])


def test_column_major_operands():
    shape = Shape(F32, (5, 33), Layout((0, 1)))
    b = XlaBuilder("f")
    x = b.parameter(shape, "x")
    root = b.ReduceWindow(x, b.constant(np.float32(0)), scalar_computation("add", F32), (2, 3), (1, 1), "VALID")
    array = np.asfortranarray(np.random.default_rng(2).integers(-9, 9, (5, 33)).astype(np.float32))
    (result,) = compiled(b, root, "cpu")(array)
    np.testing.assert_array_equal(result, reduced(array, make_window((2, 3)), np.add, np.float32(0)))


def test_sixteen_bit_floats_are_rounded_after_each_step():
    b = XlaBuilder("f")
    x = b.parameter(Shape(BF16, (40,)), "x")
    init = b.constant(np.array(256, BF16.dtype))
    root = b.ReduceWindow(x, init, scalar_computation("add", BF16), (8,), (1,), "VALID")
    # 256 + 1 rounds to 256 in bf16 each time; in a wider type it would come to 264.
    (result,) = compiled(b, root, "cpu")(np.ones(40, BF16.dtype))
    np.testing.assert_array_equal(result.astype(np.float32), np.full(33, 256))


# --- the window itself ---


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.integers(0, 3).flatmap(windows))
def test_windows_as_text(window):
    text = Window().print(window)
    cursor = Cursor(text)
    assert Window().parse(cursor) == window
    assert cursor.token == ""


def test_text_as_xla_prints_it():
    window = make_window((2, 3), (1, 2), [(0, 1), (1, -1)], (1, 2), (2, 1))
    assert Window().print(window) == "{size=2x3 stride=1x2 pad=0_1x1_-1 lhs_dilate=1x2 rhs_dilate=2x1}"
    assert Window().print(make_window((2,), reversal=(True,))) == "{size=2 rhs_reversal=1}"
    # Fields in any order, with commas as in older dumps.
    assert Window().parse(Cursor("{stride=1x2, size=2x3}")) == make_window((2, 3), (1, 2))


def test_a_module_of_xla():
    """Without a window the operand is a scalar, as XLA prints it."""
    text = """
    HloModule m
    add { a = f32[] parameter(0)
      b = f32[] parameter(1)
      ROOT c = f32[] add(a, b) }
    ENTRY main { x = f32[] parameter(0)
      zero = f32[] constant(0)
      ROOT y = f32[] reduce-window(x, zero), to_apply=add }
    """
    module = hlo.parse_module(text)
    assert module.entry.root.attributes["window"] == ()
    assert float(get_backend("cpu").compile(module)(np.float32(3))[0]) == 3
    assert "window=" not in module.as_text()
    assert hlo.parse_module(module.as_text()) == module


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{stride=2}", "no field size"),
        ("{size=2 size=2}", "two fields size"),
        ("{size=2 pad=1}", "low_high, joined by x, expected"),
        ("{size=2x}", "integers, joined by x, expected"),
        ("{size=2 stride=1x1}", "1 sizes, but 2 values of stride"),
        ("{size=2 color=1}", "a field of a window"),
        ("{size=2 rhs_reversal=2}", "0 or 1"),
        ("{size 2}", "'=' expected"),
    ],
)
def test_wrong_text(text, message):
    with pytest.raises(HloSyntaxError, match=message):
        Window().parse(Cursor(text))


@settings(deadline=None, derandomize=True, max_examples=200)
@given(size=st.integers(1, 6), stride=st.integers(1, 4), dilation=st.integers(1, 3), base=st.integers(1, 20))
def test_same_padding(size, stride, dilation, base):
    """The result has ceil(base / stride) places, and no smaller padding would do."""
    window = WindowDimension(size, stride, window_dilation=dilation)
    low, high = same_padding(window, base)
    assert 0 <= high - low <= 1 or (low, high) == (0, 0)
    padded = window._replace(padding_low=low, padding_high=high)
    assert output_size(padded, base) == -(-base // stride)
    if high:
        assert output_size(padded._replace(padding_high=high - 1), base) < -(-base // stride)


def test_what_the_builder_refuses():
    b = XlaBuilder("f")
    x, zero, add = b.parameter(Shape(F32, (4, 4)), "x"), b.constant(np.float32(0)), scalar_computation("add", F32)
    with pytest.raises(ShapeError, match="'SAME' or 'VALID', got 'same'"):
        b.ReduceWindow(x, zero, add, (2, 2), (1, 1), "same")
    with pytest.raises(ShapeError, match="2 sizes are given, but 1 strides"):
        b.ReduceWindow(x, zero, add, (2, 2), (1,), "SAME")
    with pytest.raises(ShapeError, match="2 dimensions are required, got 1"):
        b.ReduceWindow(x, zero, add, (2,), (1,), "SAME")
    with pytest.raises(ShapeError, match="stride of window dimension 1 must be positive, got 0"):
        b.ReduceWindow(x, zero, add, (2, 2), (1, 0), "SAME")
    with pytest.raises(ShapeError, match=r"\(low, high\), got \(1, 2, 3\)"):
        b.ReduceWindowWithGeneralPadding(x, zero, add, (2, 2), (1, 1), padding=[(0, 0), (1, 2, 3)])
    with pytest.raises(ValueError, match="'SAME' or 'VALID'"):
        with_padding(make_window((2,)), (3,), "FULL")
