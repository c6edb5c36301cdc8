"""Sizes as values, and values under sizes that are known only at run time.

Source of the semantics: "GetDimensionSize" and "SetDimensionSize" of XLA's Operation Semantics; ``InferSetDimensionSizeShape``
and ``InferDynamicReshapeShape`` of XLA.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ..attributes import Boolean, IntegerList
from ..element_type import F32, S32
from ..errors import require
from ..operation import BOUNDS, InvalidSample, Sample, operation
from ..resizing import resized
from ..shape import Shape, TupleShape
from .constraints import require_array, require_dimensions, require_scalar, require_stated_array


@operation("get-dimension-size", "operand", builder="GetDimensionSize", cost=0.0, dynamic=BOUNDS, dimensions=IntegerList())
def get_dimension_size(operand, *, dimensions):
    """GetDimensionSize(operand, dimension): the size of one dimension, as s32[]; of a dynamic one that at run time."""
    require_array("get-dimension-size", "operand", operand)
    require(len(dimensions) == 1, f"get-dimension-size: one dimension is required, got {dimensions}")
    require_dimensions("get-dimension-size", "dimension", dimensions, operand.rank)
    size = operand.dimensions[dimensions[0]]
    require(size < 2**31, f"get-dimension-size: the size {size} of {operand} does not fit in s32")
    return Shape(S32)


@get_dimension_size.evaluation
def _(operand, *, dimensions):
    return np.int32(np.shape(operand)[dimensions[0]])


@get_dimension_size.sampling
def _():
    yield Sample([Shape(F32, (3, 5))], {"dimensions": (1,)}, expected=np.int32(5))
    yield Sample([Shape(S32, (0, 2))], {"dimensions": (0,)}, expected=np.int32(0))
    yield InvalidSample([Shape(F32, (3,))], {"dimensions": (1,)}, "must be in")
    yield InvalidSample([Shape(F32, (3, 5))], {"dimensions": (0, 1)}, "one dimension is required")
    yield InvalidSample([TupleShape(())], {"dimensions": (0,)}, "must be an array")


@operation(
    "set-dimension-size", "operand", "size", builder="SetDimensionSize", aliases=("RemoveDynamicDimension",),
    cost=0.0, dynamic=BOUNDS, dimensions=IntegerList(), leaves_unspecified=Boolean(False),
)  # fmt: skip
def set_dimension_size(operand, size, *, dimensions, leaves_unspecified, stated):
    """SetDimensionSize(operand, size, dimension): the operand with a dimension of this size, known at run time.

    The size is s32[], from 0 to the dimension's bound; another one raises ValueError at run time. Elements behind the size are
    gone; where it is larger than before, the new elements are zeros, or, with ``leaves_unspecified``, any (as XLA has it). The
    dimension is dynamic in the result, unless a shape is stated in which it is static: then the size must be the bound.

    >>> from phlox import hlo
    >>> shape = hlo.Shape(F32, (10,), dynamic_dimensions=(True,))
    >>> hlo.evaluate_operation("set-dimension-size", np.arange(10, dtype=np.float32), np.int32(3), shape=shape, dimensions=(0,))
    array([0., 1., 2.], dtype=float32)
    """
    require_array("set-dimension-size", "operand", operand)
    require(len(dimensions) == 1, f"set-dimension-size: one dimension is required, got {dimensions}")
    require_dimensions("set-dimension-size", "dimension", dimensions, operand.rank)
    require_scalar("set-dimension-size", "size", size, S32)
    bound = operand.dimensions[dimensions[0]]
    require(bound < 2**31, f"set-dimension-size: the size {bound} of {operand} does not fit in s32")
    dynamic = list(operand.dynamic_dimensions or [False] * operand.rank)
    dynamic[dimensions[0]] = True
    inferred = operand.with_dimensions(operand.dimensions, dynamic)
    if stated is None:
        return inferred
    require_array("set-dimension-size", "result", stated)
    dynamic[dimensions[0]] = stated.is_dynamic(dimensions[0]) if stated.rank == operand.rank else True
    return operand.with_dimensions(operand.dimensions, dynamic)


@set_dimension_size.evaluation
def _(operand, size, *, dimensions, leaves_unspecified, shape):
    (dimension,) = dimensions
    bound, place = shape.dimensions[dimension], f"set-dimension-size: dimension {dimension} of {shape}"
    if not shape.is_dynamic(dimension) and size != bound:
        raise ValueError(f"{place} is static: the size must be {bound}, got {size}")
    if not 0 <= size <= bound:
        raise ValueError(f"{place}: the size must be in [0, {bound}], got {size}")
    return resized(operand, dimension, int(size))


@set_dimension_size.sampling
def _():
    first = {"dimensions": (0,)}
    whole = Shape(F32, (10,))
    yield Sample([whole, np.int32(10)], first, whole)
    yield InvalidSample([whole, Shape(S32)], {"dimensions": (1,)}, "must be in")
    yield InvalidSample([whole, Shape(F32)], first, r"size must be s32\[\]")
    yield InvalidSample([whole, Shape(S32, (1,))], first, "size must be a scalar")
    yield InvalidSample([whole, Shape(S32)], {"dimensions": (0, 0)}, "one dimension is required")
    yield InvalidSample([TupleShape(()), Shape(S32)], first, "must be an array")


@operation("dynamic-reshape", "operand", "*dim_sizes", builder="DynamicReshape", cost=0.0, dynamic=BOUNDS)
def dynamic_reshape(operand, *dim_sizes, stated):
    """DynamicReshape(operand, dim_sizes, new_size_bounds): the elements in dimensions of sizes known at run time.

    A dimension that is not dynamic in the stated shape has its stated size. There must be as many elements as the operand has;
    else, or where a size is beyond its bound, ValueError is raised at run time.
    """
    require_array("dynamic-reshape", "operand", operand)
    require_stated_array("dynamic-reshape", stated)
    require(
        len(dim_sizes) == stated.rank,
        f"dynamic-reshape: one size for each of the {stated.rank} dimensions of {stated} is required, got {len(dim_sizes)}",
    )
    for number, size in enumerate(dim_sizes):
        require_scalar("dynamic-reshape", f"size {number}", size, S32)
    same = operand.element_type is stated.element_type
    require(same, f"dynamic-reshape: cannot change the element type, {operand} to {stated}")
    require(
        prod(operand.dimensions) == prod(stated.dimensions),
        f"dynamic-reshape: operand {operand} has {operand.size} elements, but the result {stated} has {stated.size}",
    )
    return stated.without_layout()


@dynamic_reshape.evaluation
def _(operand, *dim_sizes, shape):
    sizes = [int(size) if shape.is_dynamic(d) else shape.dimensions[d] for d, size in enumerate(dim_sizes)]
    for dimension, (size, bound) in enumerate(zip(sizes, shape.dimensions)):
        if not 0 <= size <= bound:
            place = f"dynamic-reshape: dimension {dimension} of {shape}"
            raise ValueError(f"{place}: the size must be in [0, {bound}], got {size}")
    if prod(sizes) != np.size(operand):
        raise ValueError(f"dynamic-reshape: {np.size(operand)} elements cannot have the dimensions {tuple(sizes)} of {shape}")
    return np.reshape(operand, sizes)


@dynamic_reshape.sampling
def _():
    x, four, three = np.arange(12, dtype=np.float32), np.int32(4), np.int32(3)
    yield Sample([x, four, three], {}, Shape(F32, (4, 3)), x.reshape(4, 3))
    yield Sample([x[:1]], {}, Shape(F32), x[0])
    size = Shape(S32)
    yield InvalidSample([Shape(F32, (6,)), size], {}, "one size for each of the 2 dimensions", shape=Shape(F32, (2, 3)))
    yield InvalidSample([Shape(F32, (6,)), Shape(F32)], {}, r"must be s32\[\]", shape=Shape(F32, (6,)))
    yield InvalidSample([Shape(F32, (6,)), size], {}, "has 6 elements", shape=Shape(F32, (5,)))
    yield InvalidSample([Shape(F32, (6,)), size], {}, "cannot change the element type", shape=Shape(S32, (6,)))
    yield InvalidSample([Shape(F32, (6,)), size], {}, "a result shape is required")
