"""Contractions: sums of products.

Source of the semantics: "Dot" and "DotGeneral" in XLA's Operation Semantics.
"""

from __future__ import annotations

import numpy as np

from ..attributes import IntegerList
from ..element_type import BF16, C64, F16, F32, F64, S8, S32, U8
from ..errors import require
from ..operation import InvalidSample, Sample, operation
from ..shape import Shape, TupleShape
from .constraints import require_dimensions, require_kind

_KINDS = ("pred", "signed", "unsigned", "float", "complex")


@operation(
    "dot", "lhs", "rhs", builder="DotGeneral",
    lhs_batch_dimensions=IntegerList((), "lhs_batch_dims"), lhs_contracting_dimensions=IntegerList((), "lhs_contracting_dims"),
    rhs_batch_dimensions=IntegerList((), "rhs_batch_dims"), rhs_contracting_dimensions=IntegerList((), "rhs_contracting_dims"),
)  # fmt: skip
def dot(
    lhs, rhs, *, lhs_batch_dimensions, lhs_contracting_dimensions, rhs_batch_dimensions, rhs_contracting_dimensions, stated
):
    """DotGeneral(lhs, rhs, dimension_numbers, preferred_element_type): sums of products over the contracting dimensions.

    The result's dimensions are the batch dimensions, then the remaining ones of lhs, then those of rhs. The preferred
    element type, in which products are summed, is that of the stated result shape; without one it is that of the operands.
    """
    require_kind("dot", "lhs", lhs, _KINDS)
    require_kind("dot", "rhs", rhs, _KINDS)
    for name, shape, batch, contracting in (
        ("lhs", lhs, lhs_batch_dimensions, lhs_contracting_dimensions),
        ("rhs", rhs, rhs_batch_dimensions, rhs_contracting_dimensions),
    ):
        require_dimensions("dot", f"{name} batch and contracting dimensions", (*batch, *contracting), shape.rank)
    for role, of_lhs, of_rhs in (
        ("batch", lhs_batch_dimensions, rhs_batch_dimensions),
        ("contracting", lhs_contracting_dimensions, rhs_contracting_dimensions),
    ):
        require(
            len(of_lhs) == len(of_rhs), f"dot: lhs and rhs must have equally many {role} dimensions, got {of_lhs} and {of_rhs}"
        )
        for left, right in zip(of_lhs, of_rhs):
            require(
                lhs.dimensions[left] == rhs.dimensions[right],
                f"dot: {role} dimensions {left} of lhs {lhs} and {right} of rhs {rhs} must have the same size",
            )
    require(
        lhs.element_type is rhs.element_type or stated is not None,
        f"dot: lhs {lhs} and rhs {rhs} differ in element type: a preferred element type is required",
    )
    if stated is not None:
        require_kind("dot", "result", stated, _KINDS)
    element_type = lhs.element_type if stated is None else stated.element_type
    batch_sizes = tuple(lhs.dimensions[d] for d in lhs_batch_dimensions)
    lhs_sizes = _free_sizes(lhs, lhs_batch_dimensions, lhs_contracting_dimensions)
    rhs_sizes = _free_sizes(rhs, rhs_batch_dimensions, rhs_contracting_dimensions)
    return Shape(element_type, (*batch_sizes, *lhs_sizes, *rhs_sizes))


def _free_sizes(shape: Shape, batch: tuple[int, ...], contracting: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for d, size in enumerate(shape.dimensions) if d not in batch and d not in contracting)


@dot.evaluation
def _(lhs, rhs, *, lhs_batch_dimensions, lhs_contracting_dimensions, rhs_batch_dimensions, rhs_contracting_dimensions, shape):
    lhs, rhs = np.asarray(lhs), np.asarray(rhs)
    lhs_free = [d for d in range(lhs.ndim) if d not in lhs_batch_dimensions and d not in lhs_contracting_dimensions]
    rhs_free = [d for d in range(rhs.ndim) if d not in rhs_batch_dimensions and d not in rhs_contracting_dimensions]
    batch = [lhs.shape[d] for d in lhs_batch_dimensions]
    terms = int(np.prod([lhs.shape[d] for d in lhs_contracting_dimensions], dtype=int))
    rows = int(np.prod([lhs.shape[d] for d in lhs_free], dtype=int))
    columns = int(np.prod([rhs.shape[d] for d in rhs_free], dtype=int))
    # Types that NumPy's matmul lacks or would round too early are summed in a wider one.
    wide = {"f": np.float32, "V": np.float32}.get(shape.dtype.kind) if shape.dtype.itemsize <= 2 else None
    dtype = shape.dtype if wide is None or not shape.element_type.is_float else np.dtype(wide)
    left = lhs.transpose(*lhs_batch_dimensions, *lhs_free, *lhs_contracting_dimensions).reshape(*batch, rows, terms)
    right = rhs.transpose(*rhs_batch_dimensions, *rhs_contracting_dimensions, *rhs_free).reshape(*batch, terms, columns)
    with np.errstate(all="ignore"):
        product = np.matmul(left.astype(dtype), right.astype(dtype))
        return product.astype(shape.dtype).reshape(shape.dimensions)


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
    yield InvalidSample([Shape(F32, (3, 4)), Shape(F32, (5, 6))], contract, "must have the same size")
    yield InvalidSample([Shape(F32, (3, 4)), Shape(S32, (4, 6))], contract, "a preferred element type is required")
    yield InvalidSample([Shape(F32, (3,)), Shape(F32, (3,))], contract, "must be in")
    result = TupleShape((Shape(F32, (3, 5)),))
    yield InvalidSample([Shape(F32, (3, 4)), Shape(F32, (4, 5))], contract, "result must be an array", shape=result)
    yield InvalidSample(
        [Shape(F32, (3, 4)), Shape(F32, (4, 5))], {"lhs_contracting_dimensions": (1,)}, "equally many contracting"
    )
