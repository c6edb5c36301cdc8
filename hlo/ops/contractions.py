"""Contractions: sums of products.

Source of the semantics: "Dot" and "DotGeneral" in XLA's Operation Semantics.
"""

from __future__ import annotations

import numpy as np

from ..attributes import IntegerList
from ..element_type import BF16, C64, C128, F16, F32, F64, S8, S32, U8
from ..operation import ACTUAL_SIZES, FOLDABLE, InvalidSample, Sample, operation
from ..shape import Shape, TupleShape
from .dot_dimensions import DotDimensions, dot_shape, multiplications_and_additions, sums_of_products


@operation(
    "dot", "lhs", "rhs", builder="DotGeneral", aliases=("Dot",), traits={FOLDABLE}, dynamic=ACTUAL_SIZES,
    lhs_batch_dimensions=IntegerList((), "lhs_batch_dims"), lhs_contracting_dimensions=IntegerList((), "lhs_contracting_dims"),
    rhs_batch_dimensions=IntegerList((), "rhs_batch_dims"), rhs_contracting_dimensions=IntegerList((), "rhs_contracting_dims"),
)  # fmt: skip
def dot(
    lhs, rhs, *, lhs_batch_dimensions, lhs_contracting_dimensions, rhs_batch_dimensions, rhs_contracting_dimensions, stated
):
    """DotGeneral(lhs, rhs, dimension_numbers, preferred_element_type): sums of products over the contracting dimensions.

    The contracting dimensions of lhs and rhs are paired in the order in which they are named, and so are the batch dimensions,
    along which the product is one for each index; both dimensions of a pair have the same size. No dimension is named twice.
    The result's dimensions are the batch dimensions, then the remaining ones of lhs, then those of rhs. The preferred
    element type, in which products are summed, is that of the stated result shape; without one it is that of the operands.
    """
    numbers = DotDimensions(lhs_batch_dimensions, lhs_contracting_dimensions, rhs_batch_dimensions, rhs_contracting_dimensions)
    return dot_shape("dot", lhs, rhs, numbers, stated)


dot.counting(multiplications_and_additions)


@dot.evaluation
def _(lhs, rhs, *, lhs_batch_dimensions, lhs_contracting_dimensions, rhs_batch_dimensions, rhs_contracting_dimensions, shape):
    numbers = DotDimensions(lhs_batch_dimensions, lhs_contracting_dimensions, rhs_batch_dimensions, rhs_contracting_dimensions)
    return sums_of_products(lhs, rhs, numbers, shape)


@dot.sampling
def _():
    contract = {"lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (0,)}
    for element_type in (F32, F64, S32, U8, F16, BF16, C64):
        yield Sample([Shape(element_type, (5, 7)), Shape(element_type, (7, 19))], contract)
    lhs = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    rhs = np.array([[1, 1, 1], [2, 2, 2]], np.float32)
    both_last = {"lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (1,)}
    yield Sample([lhs, rhs], both_last, expected=np.array([[6, 12], [15, 30]], np.float32))
    lhs = np.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], np.float32)
    rhs = np.array([[[1, 0], [0, 1]], [[1, 0], [0, 1]]], np.float32)
    batched = {"lhs_contracting_dimensions": (2,), "rhs_contracting_dimensions": (1,)}
    batched |= {"lhs_batch_dimensions": (0,), "rhs_batch_dimensions": (0,)}
    yield Sample([lhs, rhs], batched, expected=lhs)
    vectors = {"lhs_contracting_dimensions": (0,), "rhs_contracting_dimensions": (0,)}
    yield Sample([Shape(F32, (67,)), Shape(F32, (67,))], vectors)
    yield Sample([Shape(F64, (9, 67)), Shape(F64, (67,))], contract)
    yield Sample([Shape(F32, (67,)), Shape(F32, (67, 9))], vectors)
    yield Sample([Shape(F32, (3,)), Shape(F32, (20,))])
    yield Sample([Shape(F32, (0, 4)), Shape(F32, (4, 3))], contract)
    yield Sample([Shape(F32, (3, 0)), Shape(F32, (0, 4))], contract, expected=np.zeros((3, 4), np.float32))
    two = {"lhs_contracting_dimensions": (1, 3), "rhs_contracting_dimensions": (2, 0)}
    two |= {"lhs_batch_dimensions": (2,), "rhs_batch_dimensions": (1,)}
    yield Sample([Shape(F32, (3, 4, 2, 5)), Shape(F32, (5, 2, 4, 17))], two)
    yield Sample([Shape(S8, (3, 4)), Shape(S8, (4, 20))], contract, Shape(S32, (3, 20)))
    yield Sample([Shape(BF16, (3, 4)), Shape(BF16, (4, 20))], contract, Shape(F32, (3, 20)))
    yield Sample([Shape(S8, (20,)), np.int8(-100)], {}, Shape(S32, (20,)))
    for narrow, wide in ((C64, C128), (C128, C64), (F64, F32), (S32, S8), (U8, S32)):
        yield Sample([Shape(narrow, (3, 4)), Shape(narrow, (4, 20))], contract, Shape(wide, (3, 20)))
    yield InvalidSample([Shape(F32, (3, 4)), Shape(F32, (5, 6))], contract, "must have the same size")
    yield InvalidSample([Shape(F32, (3, 4)), Shape(S32, (4, 6))], contract, "a preferred element type is required")
    for element_type, preferred in ((C64, F32), (F32, C64), (BF16, S32), (S8, C64)):
        operands, result = [Shape(element_type, (3, 4)), Shape(element_type, (4, 5))], Shape(preferred, (3, 5))
        yield InvalidSample(operands, contract, "cannot be summed in", shape=result)
    yield InvalidSample([Shape(F32, (3,)), Shape(F32, (3,))], contract, "must be in")
    result = TupleShape((Shape(F32, (3, 5)),))
    yield InvalidSample([Shape(F32, (3, 4)), Shape(F32, (4, 5))], contract, "result must be an array", shape=result)
    yield InvalidSample(
        [Shape(F32, (3, 4)), Shape(F32, (4, 5))], {"lhs_contracting_dimensions": (1,)}, "equally many contracting"
    )
