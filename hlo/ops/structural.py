"""Parameters, constants, tuples: operations that name or group values without computing."""

from __future__ import annotations

import numpy as np

from ..attributes import Integer, LiteralValue, ParameterNumber
from ..element_type import F32, PRED, S32
from ..errors import require
from ..operation import InvalidSample, Sample, operation
from ..shape import Shape, TupleShape, compatible, shape_of


@operation("parameter", number=ParameterNumber())
def parameter(*, number, stated):
    """Parameter(number, shape, name): the computation's argument with this number, of the stated shape."""
    require(number >= 0, f"parameter: number must not be negative, got {number}")
    require(stated is not None, "parameter: a shape is required")
    return stated


@operation("constant", builder="ConstantLiteral", literal=LiteralValue())
def constant(*, literal, stated):
    """ConstantLiteral(literal): a value known when the program is built.

    Source: ConstantR0 to ConstantR4 and ConstantLiteral of the 2017 preview.
    """
    shape = shape_of(literal)
    require(stated is None or compatible(shape, stated), f"constant: the literal has shape {shape}, but {stated} was stated")
    return stated or shape


@constant.evaluation
def _(*, literal):
    return literal


@constant.sampling
def _():
    for literal in (np.float32(1.5), np.arange(6, dtype=np.int32).reshape(2, 3), np.array([True, False]), np.zeros((0, 2))):
        yield Sample([], {"literal": literal}, expected=literal)


@operation("tuple", "*elements")
def tuple_(*elements):
    """Tuple(elements...): a tuple of any number of values, each with its own shape."""
    return TupleShape(elements)


@tuple_.evaluation
def _(*elements):
    return elements


@tuple_.sampling
def _():
    yield Sample([])
    yield Sample([Shape(F32, (2,)), Shape(S32)])
    yield Sample([TupleShape((Shape(PRED, (0, 3)),)), Shape(F32)])


@operation("get-tuple-element", "operand", builder="GetTupleElement", index=Integer())
def get_tuple_element(operand, *, index):
    """GetTupleElement(operand, index): the element of a tuple at a constant index."""
    require(operand.is_tuple, "get-tuple-element: operand must be a tuple, got ", operand)
    count = len(operand.elements)
    require(0 <= index < count, f"get-tuple-element: index must be in [0, {count}) for {operand}, got {index}")
    return operand.elements[index]


@get_tuple_element.evaluation
def _(operand, *, index):
    return operand[index]


@get_tuple_element.sampling
def _():
    pair = TupleShape((Shape(F32, (10,)), Shape(S32)))
    yield Sample([pair], {"index": 0})
    yield Sample([pair], {"index": 1})
    yield InvalidSample([pair], {"index": 2}, r"index must be in \[0, 2\)")
    yield InvalidSample([pair], {"index": -1}, r"index must be in \[0, 2\)")
    yield InvalidSample([Shape(F32)], {"index": 0}, "operand must be a tuple")


@operation("copy", "operand", builder="Copy")
def copy(operand, *, stated):
    """Copy(operand): the same value in a buffer of its own, in the stated layout."""
    require(
        stated is None or compatible(operand, stated), f"copy: operand {operand} and result {stated} must have the same shape"
    )
    return stated or operand


@copy.evaluation
def _(operand):
    return operand


@copy.sampling
def _():
    yield Sample([Shape(F32, (2, 3))])
    yield Sample([Shape(PRED)])


@operation("opt-barrier", "operand", builder="OptimizationBarrier")
def optimization_barrier(operand):
    """OptimizationBarrier(operand): the value itself; no pass moves computation across it."""
    return operand


@optimization_barrier.evaluation
def _(operand):
    return operand


@optimization_barrier.sampling
def _():
    yield Sample([Shape(F32, (2, 3))])
    yield Sample([TupleShape((Shape(F32, (2,)), Shape(S32)))])
