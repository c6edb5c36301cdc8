"""Convolution against the sums of products of its definition; its dimension labels, builder methods and text."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phlox import hlo, jit
from phlox.backends.registry import get_backend
from phlox.hlo import BF16, F32, F64, S8, S32, HloSyntaxError, Shape, ShapeError
from phlox.hlo.convolution_dimensions import ConvolutionDimensions, DimensionLabels, default_dimensions
from phlox.hlo.window import WindowDimension, make_window
from phlox.xla_builder import XlaBuilder

BACKENDS = ["reference", "cpu"]


def element_at(dimension, size, place, offset):
    """The index of the base's element under an offset of the window at a place; None for padding and holes."""
    offset = dimension.size - 1 - offset if dimension.reversal else offset
    position = place * dimension.stride + offset * dimension.window_dilation - dimension.padding_low
    index, rest = divmod(position, dimension.base_dilation)
    return index if rest == 0 and 0 <= index < size else None


def place_count(dimension, size):
    positions = ((size - 1) * dimension.base_dilation + 1 if size else 0) + dimension.padding_low + dimension.padding_high
    room = positions - (dimension.size - 1) * dimension.window_dilation - 1
    return room // dimension.stride + 1 if room >= 0 else 0


def convolved(lhs, rhs, window, labels, feature_groups=1, batch_groups=1):
    """The pseudo-code of the semantics, with the words of dim_labels for indices."""
    of_lhs, rest = labels.split("_")
    of_rhs, of_result = rest.split("->")
    sizes, kernel = dict(zip(of_lhs, lhs.shape)), dict(zip(of_rhs, rhs.shape))
    spatial = [str(number) for number in range(len(window))]
    result = {"b": sizes["b"] // batch_groups, "f": kernel["o"]}
    result |= {d: place_count(w, sizes[d]) for d, w in zip(spatial, window)}
    total = np.zeros([result[d] for d in of_result], np.result_type(lhs, rhs))
    for index in np.ndindex(total.shape):
        at = dict(zip(of_result, index))
        batch = at["b"] + at["f"] // (kernel["o"] // batch_groups) * result["b"]
        first_feature = at["f"] // (kernel["o"] // feature_groups) * kernel["i"]
        for offsets in itertools.product(*(range(w.size) for w in window)):
            elements = [element_at(w, sizes[d], at[d], offset) for d, w, offset in zip(spatial, window, offsets)]
            if None in elements:
                continue
            for feature in range(kernel["i"]):
                left = {"b": batch, "f": first_feature + feature, **dict(zip(spatial, elements))}
                right = {"i": feature, "o": at["f"], **dict(zip(spatial, offsets))}
                total[index] += lhs[tuple(left[d] for d in of_lhs)] * rhs[tuple(right[d] for d in of_rhs)]
    return total


def run(backend, lhs, rhs, shape=None, **attributes):
    b = XlaBuilder("convolution")
    operands = b.parameter(hlo.shape_of(lhs)), b.parameter(hlo.shape_of(rhs))
    module = b.build_module(b.emit("convolution", *operands, shape=shape, **attributes))
    (result,) = get_backend(backend).compile(module)(lhs, rhs)
    return result


def integers(random, sizes, dtype=np.float32):
    return random.integers(-3, 4, sizes).astype(dtype)


@st.composite
def convolutions(draw):
    """Sizes, window, labels and groups."""
    spatial = draw(st.integers(0, 3))
    window, base = [], []
    for _ in range(spatial):
        window.append(
            WindowDimension(
                draw(st.integers(1, 3)),
                draw(st.integers(1, 3)),
                draw(st.integers(-2, 3)),
                draw(st.integers(-2, 3)),
                draw(st.integers(1, 3)),
                draw(st.integers(1, 3)),
                draw(st.booleans()),
            )
        )
        base.append(draw(st.integers(0, 5 if spatial < 3 else 3)))
    feature_groups, batch_groups = draw(st.sampled_from([(1, 1), (1, 1), (2, 1), (3, 1), (1, 2), (1, 3)]))
    inputs, outputs = draw(st.integers(0, 2)), draw(st.integers(0, 2)) * feature_groups * batch_groups
    digits = [str(number) for number in range(spatial)]
    sizes = {"b": draw(st.integers(0, 2)) * batch_groups, "f": inputs * feature_groups, **dict(zip(digits, base))}
    kernel = {"i": inputs, "o": outputs, **{d: w.size for d, w in zip(digits, window)}}
    orders = ["".join(draw(st.permutations(names + "".join(digits)))) for names in ("bf", "io", "bf")]
    labels = f"{orders[0]}_{orders[1]}->{orders[2]}"
    lhs, rhs = tuple(sizes[d] for d in orders[0]), tuple(kernel[d] for d in orders[1])
    return lhs, rhs, tuple(window), labels, feature_groups, batch_groups


@pytest.mark.parametrize("backend", BACKENDS)
@settings(deadline=None, derandomize=True, max_examples=60)
@given(case=convolutions())
def test_any_convolution(backend, case):
    lhs, rhs, window, labels, feature_groups, batch_groups = case
    random = np.random.default_rng(0)
    lhs, rhs = integers(random, lhs), integers(random, rhs)
    expected = convolved(lhs, rhs, window, labels, feature_groups, batch_groups)
    groups = {"feature_group_count": feature_groups, "batch_group_count": batch_groups}
    actual = run(backend, lhs, rhs, window=window, dim_labels=labels, **groups)
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint8, np.complex64])
@pytest.mark.parametrize("labels", ["b01f_01io->b01f", "bf01_oi01->bf01"])
def test_wide_features_and_rows(dtype, labels):
    """More output features and places than a block of registers holds, with remainders of both."""
    random = np.random.default_rng(1)
    features = {"b": 2, "f": 3, "0": 6, "1": 21}, {"i": 3, "o": 37, "0": 3, "1": 2}
    of_lhs, rest = labels.split("_")
    lhs = random.integers(0, 3, [features[0][d] for d in of_lhs]).astype(dtype)
    rhs = random.integers(0, 3, [features[1][d] for d in rest.split("->")[0]]).astype(dtype)
    if dtype is np.complex64:
        lhs, rhs = (lhs - 1j * lhs[..., ::-1]).astype(dtype), (rhs + 2j).astype(dtype)
    window = make_window((3, 2), (1, 1), [(1, 1), (0, 1)])
    expected = convolved(lhs.astype(np.complex128), rhs.astype(np.complex128), window, labels)
    for backend in BACKENDS:
        actual = run(backend, lhs, rhs, window=window, dim_labels=labels)
        assert actual.dtype == dtype
        np.testing.assert_array_equal(actual, expected, err_msg=backend)


@pytest.mark.parametrize("labels", ["f01b_i01o->01bf", "fb01_io01->fb01"])
def test_gradient_by_the_window(labels):
    """Few places, and more terms for each than are added up in one chunk, with a remainder."""
    random = np.random.default_rng(3)
    sizes = {"f": 7, "b": 3, "0": 20, "1": 19}, {"i": 7, "o": 5, "0": 19, "1": 17}
    of_lhs, of_rhs = labels.partition("->")[0].split("_")
    lhs, rhs = (integers(random, [size[d] for d in of]) for size, of in zip(sizes, (of_lhs, of_rhs)))
    window = make_window((19, 17))
    expected = convolved(lhs, rhs, window, labels)
    for backend in BACKENDS:
        actual = run(backend, lhs, rhs, window=window, dim_labels=labels)
        np.testing.assert_array_equal(actual, expected, err_msg=backend)


@pytest.mark.parametrize("features", [3, 17])
@pytest.mark.parametrize("labels", ["b01f_01oi->b01f", "bf01_io01->bf01"])
def test_gradient_by_the_input_at_strides(labels, features):
    """Holes in the base: 2 by 3 phases of the places, of which some meet nothing, with a remainder; reversed or not."""
    random = np.random.default_rng(4)
    sizes = {"b": 2, "f": 5, "0": 4, "1": 5}, {"i": 5, "o": features, "0": 3, "1": 2}
    of_lhs, of_rhs = labels.partition("->")[0].split("_")
    lhs, rhs = (integers(random, [size[d] for d in of]) for size, of in zip(sizes, (of_lhs, of_rhs)))
    for reversal in (None, (True, True)):
        window = make_window((3, 2), (1, 1), [(2, 1), (0, 3)], (2, 3), None, reversal)
        expected = convolved(lhs, rhs, window, labels)
        for backend in BACKENDS:
            actual = run(backend, lhs, rhs, window=window, dim_labels=labels)
            np.testing.assert_array_equal(actual, expected, err_msg=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_depthwise(backend):
    random = np.random.default_rng(2)
    window = make_window((3, 3), (1, 2), [(1, 1), (-1, 2)], None, (2, 1))
    lhs = integers(random, (2, 8, 9, 19))
    for multiplier, labels in ((1, "b01f_01io->b01f"), (2, "b01f_01io->b01f"), (1, "b01f_01io->fb01")):
        rhs = integers(random, (3, 3, 1, 19 * multiplier))
        actual = run(backend, lhs, rhs, window=window, dim_labels=labels, feature_group_count=19)
        np.testing.assert_array_equal(actual, convolved(lhs, rhs, window, labels, 19))


@pytest.mark.parametrize("backend", BACKENDS)
def test_sums_are_formed_in_the_preferred_type(backend):
    lhs, rhs = np.full((1, 1, 4), 100, np.int8), np.full((1, 1, 4), 100, np.int8)
    attributes = {"window": make_window((4,)), "dim_labels": "bf0_oi0->bf0"}
    result = run(backend, lhs, rhs, Shape(S32, (1, 1, 1)), **attributes)
    assert result.dtype == np.int32 and result.item() == 40000
    # 256 + 1 is no bfloat16: added one by one in bfloat16 the ones would be lost.
    ones = np.ones((1, 1, 300), BF16.dtype)
    result = run(backend, ones, ones, window=make_window((300,)), dim_labels="bf0_oi0->bf0")
    assert float(result.item()) == 300


@pytest.mark.parametrize("backend", BACKENDS)
def test_padding_is_multiplied_as_zeros(backend):
    lhs, rhs = np.ones((1, 1, 2), np.float32), np.array([[[np.inf, 1]]], np.float32)
    result = run(backend, lhs, rhs, window=make_window((2,), padding=[(1, 0)]), dim_labels="bf0_oi0->bf0")
    np.testing.assert_array_equal(result, [[[np.nan, np.inf]]])


# --- the builder's methods ---


def built(method, *arguments, lhs=(1, 3, 9, 8), rhs=(4, 3, 3, 2), **options):
    b = XlaBuilder("f")
    return getattr(b, method)(b.parameter(Shape(F32, lhs)), b.parameter(Shape(F32, rhs)), *arguments, **options)


def test_builder_methods():
    same = built("Conv", (1, 1), "SAME")
    assert same.shape == Shape(F32, (1, 4, 9, 8))
    assert [(d.padding_low, d.padding_high) for d in same.attributes["window"]] == [(1, 1), (0, 1)]
    assert built("Conv", (2, 3), "SAME").shape.dimensions == (1, 4, 5, 3)
    assert built("Conv", (2, 3), "VALID").shape.dimensions == (1, 4, 4, 3)
    assert built("ConvWithGeneralPadding", (1, 1), [(2, 0), (-1, 0)]).shape.dimensions == (1, 4, 9, 6)
    labels = "b01f_01io->b01f"
    last = {"lhs": (1, 9, 8, 3), "rhs": (3, 2, 3, 4)}
    assert built("ConvWithGeneralDimensions", (1, 1), "VALID", labels, **last).shape.dimensions == (1, 7, 7, 4)
    general = built("ConvGeneral", (1, 1), [(0, 0), (1, 1)], DimensionLabels().check(labels), **last)
    assert general.shape.dimensions == (1, 7, 9, 4)
    dilated = built("ConvGeneralDilated", (1, 1), "VALID", (2, 1), (1, 3), labels, 3, lhs=(1, 9, 8, 3), rhs=(3, 2, 1, 6))
    assert dilated.shape.dimensions == (1, 15, 5, 6)
    wide = built("Conv", (1, 1), "VALID", preferred_element_type=F64)
    assert wide.shape.element_type is F64
    assert built("Conv", (), "VALID", lhs=(5, 3), rhs=(4, 3)).shape.dimensions == (5, 4)


def test_builder_refuses():
    with pytest.raises(ShapeError, match="'SAME' or 'VALID', got 'FULL'"):
        built("Conv", (1, 1), "FULL")
    with pytest.raises(ShapeError, match=r"2 sizes are given, but 1 strides: \(1,\)"):
        built("Conv", (1,), "SAME")
    with pytest.raises(ShapeError, match=r"the dimension numbers are 3, but lhs is f32\[1,3,9,8\]"):
        built("ConvGeneral", (1,), [(0, 0)], "bf0_oi0->bf0")
    with pytest.raises(ShapeError, match="stride of window dimension 1 must be positive, got 0"):
        built("Conv", (1, 0), "SAME")


# --- text ---


def test_labels():
    kind = DimensionLabels()
    numbers = kind.check("b01f_01io->b01f")
    assert numbers == ConvolutionDimensions(0, 3, (1, 2), 2, 3, (0, 1), 0, 3, (1, 2))
    assert kind.print(numbers) == "b01f_01io->b01f"
    assert kind.check("1f0b_i0o1->f10b").input_spatial == (2, 0)
    assert kind.print(kind.check("bf_oi->fb")) == "bf_oi->fb"
    assert kind.print(default_dimensions(3)) == "bf012_oi012->bf012"


def test_text_in_the_spelling_of_xla():
    line = (
        "f32[2,3,15,6]{3,2,1,0} convolution(%x, %w), window={size=3x3 stride=2x1 pad=-1_2x0_0 lhs_dilate=1x2 "
        "rhs_dilate=2x1 rhs_reversal=1x0}, dim_labels=b01f_01io->b01f"
    )
    text = f"""HloModule m
ENTRY main {{
  x = f32[2,8,9,4]{{3,2,1,0}} parameter(0)
  w = f32[3,3,4,6]{{3,2,1,0}} parameter(1)
  ROOT c = {line}
}}"""
    assert line in hlo.parse_module(text).as_text()
    for wrong, message in (
        ("b01f_01io", "labels of the form b01f_01io->b01f are required, 'b01f_01io' given"),
        ("b01f_01io->b00f", "must label each of b, f, 0, 1 once"),
        ("b01f_0io->b01f", "equally many spatial dimensions, got 2, 1, 2"),
    ):
        with pytest.raises(HloSyntaxError, match=message):
            hlo.parse_module(text.replace("b01f_01io->b01f", wrong))


# --- NumPy's convolutions ---


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("sizes", [(1, 1), (7, 3), (3, 8), (50, 50), (200, 90)])
def test_numpy_convolve_and_correlate(backend, mode, sizes):
    random = np.random.default_rng(sum(sizes))
    a, v = (random.integers(-5, 6, size) for size in sizes)
    for first, second in ((a, v), (a.astype(np.float32), v), (a + 1j * a[::-1], v - 2j)):
        for function in (np.convolve, np.correlate):
            expected = function(first, second, mode)
            actual = jit(lambda x, y, function=function: function(x, y, mode), backend=backend)(first, second)
            assert actual.dtype == expected.dtype
            np.testing.assert_array_equal(actual, expected)


# --- XLA as a peer ---


@pytest.mark.peer
@pytest.mark.parametrize("groups", [{}, {"feature_group_count": 2}, {"batch_group_count": 2}])
def test_as_xla(groups):
    lax = pytest.importorskip("jax").lax
    random = np.random.default_rng(3)
    lhs = random.normal(size=(4, 11, 9, 6)).astype(np.float32)
    rhs = random.normal(size=(3, 2, 6 // groups.get("feature_group_count", 1), 8)).astype(np.float32)
    arguments = (2, 1), [(1, -1), (3, 2)], (1, 2), (2, 3)
    expected = lax.conv_general_dilated(lhs, rhs, *arguments, dimension_numbers=("NHWC", "HWIO", "NHWC"), **groups)
    window = make_window((3, 2), arguments[0], arguments[1], arguments[2], arguments[3])
    for backend in BACKENDS:
        actual = run(backend, lhs, rhs, window=window, dim_labels="b01f_01io->b01f", **groups)
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


def test_small_integers_wrap():
    lhs, rhs = np.array([[100, 100]], np.int8), np.array([[2], [1]], np.int8)
    for backend in BACKENDS:
        result = run(backend, lhs, rhs, window=(), dim_labels="bf_io->bf")
        assert result.dtype == S8.dtype and result.item() == 300 - 256
