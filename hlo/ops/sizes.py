"""Sizes as values, and values under sizes that are known only at run time.

Source of the semantics: "GetDimensionSize" of XLA's Operation Semantics; ``InferDynamicReshapeShape`` of XLA.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ..attributes import IntegerList
from ..element_type import F32, S32
from ..errors import require
from ..operation import InvalidSample, Sample, operation
from ..shape import Shape, TupleShape
from .constraints import require_array, require_dimensions, require_scalar, require_stated_array


@operation("get-dimension-size", "operand", builder="GetDimensionSize", dimensions=IntegerList())
def get_dimension_size(operand, *, dimensions):
    """GetDimensionSize(operand, dimension): the size of one dimension, as s32[]."""
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


@operation("dynamic-reshape", "operand", "*dim_sizes", builder="DynamicReshape")
def dynamic_reshape(operand, *dim_sizes, stated):
    """DynamicReshape(operand, dim_sizes, new_size_bounds): the elements in dimensions of sizes known at run time.

    A dimension that is not dynamic in the stated shape has its stated size.
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
    if shape.has_dynamic_dimensions:
        raise NotImplementedError(f"dynamic-reshape to dynamic dimensions is not implemented: {shape}")
    return np.reshape(operand, shape.dimensions)


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
