"""Products of every form and size on the CPU backend, against exact integer arithmetic.

The operands are small integers, so that every sum is exact in every type and the order of additions cannot matter.
"""

import itertools

import numpy as np
import pytest
from phlox.backends.registry import get_backend
from phlox.hlo import C64, F32, F64, S8, S32, U8, Layout, Shape
from phlox.xla_builder import XlaBuilder


def product(lhs, rhs, element_type, **dimensions):
    """The dot on the CPU backend; operands are integer arrays."""
    b = XlaBuilder("product")
    b.emit("dot", b.parameter(Shape(element_type, lhs.shape)), b.parameter(Shape(element_type, rhs.shape)), **dimensions)
    (result,) = get_backend("cpu").compile(b.build_module())(lhs.astype(element_type.dtype), rhs.astype(element_type.dtype))
    return result


def integers(rng, *shape):
    return rng.integers(-4, 5, shape)


@pytest.mark.parametrize("element_type", [F32, F64, S32, C64], ids=str)
@pytest.mark.parametrize("sides", list(itertools.product((0, 1), repeat=2)), ids=str)
def test_matrix_products(element_type, sides):
    rng = np.random.default_rng(1)
    sizes = [(1, 1, 1), (3, 5, 7), (17, 33, 65), (40, 129, 200), (64, 300, 96), (100, 1, 67), (2, 400, 130), (20, 3001, 70)]
    for rows, terms, columns in sizes:
        left, right = integers(rng, rows, terms), integers(rng, terms, columns)
        lhs = left if sides[0] == 0 else np.ascontiguousarray(left.T)
        rhs = right if sides[1] == 0 else np.ascontiguousarray(right.T)
        found = product(
            lhs, rhs, element_type, lhs_contracting_dimensions=(1 - sides[0],), rhs_contracting_dimensions=(sides[1],)
        )
        np.testing.assert_array_equal(found, left @ right)


@pytest.mark.parametrize("types", list(itertools.product((S8, U8), repeat=2)), ids=str)
@pytest.mark.parametrize("terms", [16, 203, 3001])
def test_products_of_bytes(types, terms):
    """All bytes there are, and the extremes alone, whose sums do not fit into 16 bits."""
    rng = np.random.default_rng(4)
    limits = [np.iinfo(element_type.dtype) for element_type in types]
    everything = [rng.integers(limit.min, limit.max + 1, shape) for limit, shape in zip(limits, ((19, terms), (terms, 83)))]
    extremes = [np.full_like(everything[0], limits[0].min or limits[0].max), np.full_like(everything[1], limits[1].max)]
    for lhs, rhs in (everything, extremes):
        for result in (S32, U8):
            b = XlaBuilder("product")
            operands = [b.parameter(Shape(one, values.shape)) for one, values in zip(types, (lhs, rhs))]
            contract = {"lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (0,)}
            b.emit("dot", *operands, shape=Shape(result, (19, 83)), **contract)
            (found,) = get_backend("cpu").compile(b.build_module())(lhs.astype(types[0].dtype), rhs.astype(types[1].dtype))
            np.testing.assert_array_equal(found, (lhs @ rhs).astype(result.dtype))


def test_batches_and_several_dimensions_of_each_role():
    rng = np.random.default_rng(2)
    lhs, rhs = integers(rng, 3, 4, 2, 35, 6), integers(rng, 6, 2, 4, 17, 9)
    found = product(
        lhs,
        rhs,
        F32,
        lhs_batch_dimensions=(2,),
        rhs_batch_dimensions=(1,),
        lhs_contracting_dimensions=(1, 4),
        rhs_contracting_dimensions=(2, 0),
    )
    np.testing.assert_array_equal(found, np.einsum("abcde,ecbfg->cadfg", lhs, rhs))


def test_large_packed_batches():
    rng = np.random.default_rng(3)
    lhs, rhs = integers(rng, 2, 50, 200), integers(rng, 2, 200, 150)
    dimensions = {"lhs_batch_dimensions": (0,), "rhs_batch_dimensions": (0,)}
    dimensions |= {"lhs_contracting_dimensions": (2,), "rhs_contracting_dimensions": (1,)}
    np.testing.assert_array_equal(product(lhs, rhs, F32, **dimensions), lhs @ rhs)


@pytest.mark.parametrize("shape", [(1, 600), (600, 1), (37, 530)], ids=str)
def test_products_with_vectors(shape):
    rng = np.random.default_rng(4)
    matrix = integers(rng, *shape)
    right, left = integers(rng, shape[1]), integers(rng, shape[0])
    by_right = product(matrix, right, F64, lhs_contracting_dimensions=(1,), rhs_contracting_dimensions=(0,))
    np.testing.assert_array_equal(by_right, matrix @ right)
    by_left = product(left, matrix, F64, lhs_contracting_dimensions=(0,), rhs_contracting_dimensions=(0,))
    np.testing.assert_array_equal(by_left, left @ matrix)


def test_column_major_arguments():
    rng = np.random.default_rng(5)
    left, right = integers(rng, 40, 70).astype(np.float32), integers(rng, 70, 130).astype(np.float32)
    for first, second in itertools.product((None, Layout((0, 1))), repeat=2):
        b = XlaBuilder("product")
        lhs, rhs = b.parameter(Shape(F32, left.shape, first)), b.parameter(Shape(F32, right.shape, second))
        b.emit("dot", lhs, rhs, lhs_contracting_dimensions=(1,), rhs_contracting_dimensions=(0,))
        arguments = (np.asarray(a, order="C" if l is None else "F") for a, l in ((left, first), (right, second)))
        (found,) = get_backend("cpu").compile(b.build_module())(*arguments)
        np.testing.assert_array_equal(found, left @ right)
