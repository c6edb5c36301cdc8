"""What remains behind the last whole vector: code that works in place must not write over the elements that follow."""

import numpy as np
import pytest
from comparisons import check_compiled
from phlox.hlo import BF16, F16, F32, S8, S16, S32, U8, Shape, scalar_computation
from phlox.hlo.element_type import ELEMENT_TYPES
from phlox.xla_builder import XlaBuilder

NARROW = (BF16, F16, S8, S16, U8, *(ELEMENT_TYPES[name] for name in ("s4", "u4", "f8e5m2", "f8e4m3fn", "f4e2m1fn")))
SIZES = (1, 2, 3, 8, 9, 15, 16, 17, 18, 31, 32, 33, 64, 65)
of_narrow = pytest.mark.parametrize("element_type", NARROW, ids=str)


def small(shape, random, stop=4):
    return random.integers(0, stop, shape.dimensions).astype(shape.dtype)


@of_narrow
def test_rows_that_are_updated(element_type):
    """A scatter adds to the first of three rows; the rows behind it stay."""
    random = np.random.default_rng(0)
    b = XlaBuilder("f")
    arguments, results = [], []
    for size in SIZES:
        x, y = Shape(element_type, (3, size)), Shape(element_type, (1, size))
        arguments += [small(x, random), small(y, random)]
        results.append(
            b.Scatter(
                b.parameter(x), b.constant(np.array([0]), S32), b.parameter(y), scalar_computation("add", element_type),
                update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), index_vector_dim=1,
            )
        )  # fmt: skip
    check_compiled(b.build_module(b.Tuple(results)), *arguments)


@of_narrow
def test_converted_rows_are_put_in_place(element_type):
    random = np.random.default_rng(1)
    b = XlaBuilder("f")
    arguments, results = [], []
    for size in SIZES:
        x, y = Shape(element_type, (3, size)), Shape(F32, (1, size))
        arguments += [small(x, random), small(y, random)]
        update = b.ConvertElementType(b.parameter(x), element_type), b.ConvertElementType(b.parameter(y), element_type)
        results.append(b.DynamicUpdateSlice(*update, [b.constant(1, S32), b.constant(0, S32)]))
    check_compiled(b.build_module(b.Tuple(results)), *arguments)


@of_narrow
def test_columns_of_products(element_type):
    random = np.random.default_rng(2)
    b = XlaBuilder("f")
    arguments, results = [], []
    for size in (1, 9, 17, 33):
        x, y = Shape(element_type, (5, 2)), Shape(element_type, (2, size))
        arguments += [small(x, random, 2), small(y, random, 2)]
        results.append(b.Dot(b.parameter(x), b.parameter(y)))
    check_compiled(b.build_module(b.Tuple(results)), *arguments)
