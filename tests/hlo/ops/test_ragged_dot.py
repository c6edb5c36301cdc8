"""Dots of groups of rows or terms, and dots of operands with scales by blocks: against NumPy group by group, and JAX."""

import ml_dtypes
import numpy as np
import pytest
from phlox.backends.registry import get_backend
from phlox.hlo import BF16, F32, F64, Shape, evaluate, parse_module, shape_of
from phlox.hlo.element_type import ELEMENT_TYPES
from phlox.xla_builder import XlaBuilder

RANDOM = np.random.default_rng(11)
BOTH = pytest.mark.parametrize("backend", ["cpu", "reference"])
ROWS = {"lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (1,), "lhs_ragged_dimensions": (0,),
        "rhs_group_dimensions": (0,)}  # fmt: skip
TERMS = {"lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (0,), "lhs_ragged_dimensions": (1,)}


def whole_numbers(*dimensions):
    return RANDOM.integers(-3, 4, dimensions).astype(np.float32)


def module_of(operands, numbers, preferred=None, method="RaggedDot"):
    b = XlaBuilder("f")
    return b.build_module(getattr(b, method)(*(b.parameter(shape_of(x)) for x in operands), preferred, **numbers))


@BOTH
@pytest.mark.parametrize("sizes", [[3, 0, 6], [0, 0, 11], [300, 1, 100], [4, 3, 2]], ids=str)
def test_rows(backend, sizes):
    """A matrix for each group of rows; what no group has is 0."""
    count = sum(sizes) + 2
    x, y, sizes = whole_numbers(count, 5), whole_numbers(3, 5, 7), np.array(sizes, np.int32)
    (result,) = get_backend(backend).compile(module_of([x, y, sizes], ROWS))(x, y, sizes)
    group = np.repeat([0, 1, 2], sizes)
    expected = np.zeros((count, 7), np.float32)
    expected[: len(group)] = np.einsum("mk,mkn->mn", x[: len(group)], y[group])
    np.testing.assert_array_equal(result, expected)


@BOTH
@pytest.mark.parametrize("sizes", [[3, 0, 6], [0, 0, 11], [300, 1, 100]], ids=str)
def test_terms(backend, sizes):
    """A product for each group of terms, summed in f32 even where the result is bf16."""
    count = sum(sizes) + 2
    x, y = whole_numbers(4, count), whole_numbers(count, 7)
    groups = np.split(np.arange(count), np.cumsum(sizes))[:-1]
    expected = np.stack([x[:, terms] @ y[terms] for terms in groups])
    sizes = np.array(sizes, np.int64)
    (result,) = get_backend(backend).compile(module_of([x, y, sizes], TERMS))(x, y, sizes)
    np.testing.assert_array_equal(result, expected)
    narrow = [x.astype(ml_dtypes.bfloat16), y.astype(ml_dtypes.bfloat16), sizes]
    (result,) = get_backend(backend).compile(module_of(narrow, TERMS))(*narrow)
    np.testing.assert_array_equal(result, expected.astype(ml_dtypes.bfloat16))


@BOTH
@pytest.mark.parametrize("numbers", [ROWS, TERMS], ids=["rows", "terms"])
def test_groups_do_not_see_each_other(backend, numbers):
    """Infinities and NaN stay in the results of their own group."""
    x, y = whole_numbers(6, 4), whole_numbers(2, 4, 3)
    y[1] = np.inf
    if numbers is TERMS:
        x, y = whole_numbers(3, 6), whole_numbers(6, 4)
        x[:, 4], y[5] = np.nan, np.inf
    sizes = np.array([4, 2], np.int32)
    (result,) = get_backend(backend).compile(module_of([x, y, sizes], numbers))(x, y, sizes)
    first, second = (result[:4], result[4:]) if numbers is ROWS else result
    assert np.isfinite(first).all() and not np.isfinite(second).all()


@BOTH
def test_text_of_the_dimension_numbers(backend):
    """As XLA prints them."""
    text = """HloModule m
ENTRY main {
  lhs = f32[64,9]{1,0} parameter(0)
  rhs = f32[2,9,8]{2,1,0} parameter(1)
  gs = s32[2]{0} constant({16, 48})
  ROOT rd = f32[64,8]{1,0} ragged-dot(lhs, rhs, gs), NUMBERS
}"""
    numbers = "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}"
    module = parse_module(text.replace("NUMBERS", numbers))
    assert f"ragged-dot(%lhs, %rhs, %gs), {numbers}\n" in module.as_text()
    x, y = whole_numbers(64, 9), whole_numbers(2, 9, 8)
    (result,) = get_backend(backend).compile(module)(x, y)
    np.testing.assert_array_equal(result, np.concatenate([x[:16] @ y[0], x[16:] @ y[1]]))


# (lhs, rhs, sizes' dimensions, dimension numbers: batch, contracting, of lhs and of rhs, ragged, group)
GENERAL = [
    ((300, 5), (5, 7, 3), (3,), (), (), (1,), (0,), (0,), (2,)),
    ((2, 3, 8, 5), (3, 2, 5, 4), (3,), (0,), (1,), (3,), (2,), (2,), (0,)),
    ((2, 3, 8, 5), (3, 2, 5, 4), (2, 3, 3), (0,), (1,), (3,), (2,), (2,), (0,)),
    ((2, 11, 30), (2, 30, 7), (2, 3), (0,), (0,), (2,), (1,), (2,), ()),
    ((2, 3, 4, 8), (8, 3, 2, 5), (2, 3, 4), (0,), (2,), (1, 3), (1, 0), (3,), ()),
    ((8, 3, 5), (8, 5, 4), (3,), (0,), (0,), (2,), (1,), (0,), ()),
]


@pytest.mark.peer
@pytest.mark.parametrize("case", GENERAL, ids=str)
def test_jax_gives_the_same(case):
    lax = pytest.importorskip("jax").lax
    left, right, of_sizes, *dimensions = case
    x, y, sizes = whole_numbers(*left), whole_numbers(*right), RANDOM.integers(0, 4, of_sizes).astype(np.int32)
    names = ("lhs_batch", "rhs_batch", "lhs_contracting", "rhs_contracting", "lhs_ragged", "rhs_group")
    numbers = {f"{name}_dimensions": value for name, value in zip(names, dimensions)}
    lhs_batch, rhs_batch, lhs_contracting, rhs_contracting, ragged, group = dimensions
    of_jax = lax.RaggedDotDimensionNumbers(((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)), ragged, group)
    expected = np.asarray(lax.ragged_dot_general(x, y, sizes, of_jax))
    module = module_of([x, y, sizes], numbers)
    np.testing.assert_array_equal(get_backend("cpu").compile(module)(x, y, sizes)[0], expected)
    np.testing.assert_array_equal(evaluate(module.entry, x, y, sizes), expected)


# --- scales ---


@BOTH
@pytest.mark.parametrize(("name", "scale_name", "block"), [("f8e4m3fn", "f8e8m0fnu", 32), ("f4e2m1fn", "f8e4m3fn", 16)])
def test_scaled_dot(backend, name, scale_name, block):
    """The formats of MXFP8 and NVFP4, against f64."""
    element, scale = ELEMENT_TYPES[name].dtype, ELEMENT_TYPES[scale_name].dtype
    x, y = (RANDOM.integers(-6, 7, (rows, 128)).astype(element) for rows in (5, 9))
    s, t = ((2.0 ** RANDOM.integers(-3, 4, (rows, 128 // block))).astype(scale) for rows in (5, 9))
    numbers = {"lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (1,)}
    module = module_of([x, y, s, t], numbers, F32, "ScaledDot")
    assert "scaled-dot(" in module.as_text() and parse_module(module.as_text()) == module
    (result,) = get_backend(backend).compile(module)(x, y, s, t)
    wide = [np.repeat(scales.astype(float), block, axis=1) * array.astype(float) for array, scales in ((x, s), (y, t))]
    np.testing.assert_array_equal(result, wide[0] @ wide[1].T)


def test_the_preferred_type():
    b = XlaBuilder("f")
    x, y = b.parameter(Shape(BF16, (4, 8))), b.parameter(Shape(BF16, (8, 3)))
    s, t = b.parameter(Shape(BF16, (1, 1))), b.parameter(Shape(BF16, (1, 3)))
    numbers = {"lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (0,)}
    assert b.ScaledDot(x, y, s, t, **numbers).shape == Shape(BF16, (4, 3))
    assert b.ScaledDot(x, y, s, t, F64, **numbers).shape == Shape(F64, (4, 3))
