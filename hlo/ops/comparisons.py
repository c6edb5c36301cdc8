"""Comparisons and choices, element by element.

Source of the semantics: "Element-wise comparison operations", "Clamp" and "Select" of XLA's Operation Semantics.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from ..attributes import Choice
from ..element_type import BF16, C64, F16, F32, F64, PRED, S8, S32, S64, U32, element_type_of
from ..errors import require
from ..operation import ELEMENTWISE, SELECTING, InvalidSample, Sample, operation
from ..shape import Shape, TupleShape
from . import numerics
from .constraints import PRED_SCALAR, require_array, require_kind, require_same_shape, with_dynamic_dimensions_of
from .elementwise import ANY, INTEGERS, sample_types

_DIRECTIONS = ("EQ", "NE", "GE", "GT", "LE", "LT")


@operation(
    "compare", "lhs", "rhs", builder="Compare", traits={ELEMENTWISE},
    aliases=[relation.capitalize() + order for relation in _DIRECTIONS for order in ("", "TotalOrder")],
    direction=Choice(*_DIRECTIONS), type=Choice("", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED", default=""),
)  # fmt: skip
def compare(lhs, rhs, *, direction, type):
    """Compare(lhs, rhs, direction, type): whether the relation holds, element by element, as pred.

    TOTALORDER compares floats in the order -NaN < -Inf < -Finite < -0 < +0 < +Finite < +Inf < +NaN; without it, IEEE 754
    comparison holds (NaN is unequal to everything). The other types (FLOAT, SIGNED, UNSIGNED) add nothing to what the element
    type says, whichever is given. Complex numbers have no order: they are compared by EQ and NE. The builder's Eq, Ne, Ge, Gt,
    Le and Lt name the direction, and with TotalOrder behind it the type; they broadcast as the arithmetic operations do.
    """
    require_kind("compare", "lhs", lhs, ANY)
    shape = require_same_shape("compare", lhs=lhs, rhs=rhs)
    kind = shape.element_type.kind
    if kind == "complex":
        require(direction in ("EQ", "NE"), f"compare: complex numbers have no order: EQ or NE required, got {direction}")
        require(type != "TOTALORDER", f"compare: complex numbers have no order: TOTALORDER does not fit {shape}")
    return shape.with_element_type(PRED)


@compare.evaluation
def _(lhs, rhs, *, direction, type):
    if type == "TOTALORDER" and element_type_of(np.asarray(lhs).dtype).is_float:
        lhs, rhs = numerics.total_order_key(lhs), numerics.total_order_key(rhs)
    functions = (np.equal, np.not_equal, np.greater_equal, np.greater, np.less_equal, np.less)
    with np.errstate(invalid="ignore"):
        return functions[_DIRECTIONS.index(direction)](lhs, rhs)


@compare.sampling
def _():
    operands = [np.array([1, 2, np.nan], np.float32), np.array([1, 3, np.nan], np.float32)]
    yield Sample(operands, {"direction": "GE"}, expected=np.array([True, False, False]))
    for element_type, direction in product(sample_types(("pred", *INTEGERS, "float")), _DIRECTIONS):
        yield Sample([Shape(element_type, (3, 5))] * 2, {"direction": direction})
    for element_type, direction in product((BF16, F16, F32, F64), _DIRECTIONS):
        yield Sample([Shape(element_type, (35,))] * 2, {"direction": direction, "type": "TOTALORDER"})
    for direction in ("EQ", "NE"):
        yield Sample([Shape(C64, (4,))] * 2, {"direction": direction})
    yield InvalidSample([Shape(C64)] * 2, {"direction": "LT"}, "complex numbers have no order")
    for element_type, type in product((PRED, S8, U32, S64, F32), ("FLOAT", "SIGNED", "UNSIGNED", "TOTALORDER")):
        yield Sample([Shape(element_type, (5,))] * 2, {"direction": "LT", "type": type})
    yield InvalidSample([Shape(C64)] * 2, {"direction": "EQ", "type": "TOTALORDER"}, "TOTALORDER does not fit")
    yield InvalidSample([Shape(S32)] * 2, {"direction": "LESS"}, "one of EQ, NE, GE, GT, LE, LT is required")
    yield InvalidSample([Shape(S32), Shape(U32)], {"direction": "LT"}, "must have the same shape")


@operation("clamp", "min", "operand", "max", builder="Clamp", traits={ELEMENTWISE, SELECTING})
def clamp(min, operand, max):
    """Clamp(min, operand, max): the operand moved into [min, max]; the bounds may be scalars.

    NaN in any of the three gives NaN.

    >>> from phlox import hlo
    >>> hlo.evaluate_operation("clamp", np.int32(0), np.array([-1, 5, 9], np.int32), np.int32(6))
    array([0, 5, 6], dtype=int32)
    """
    require_kind("clamp", "operand", operand, (*INTEGERS, "float"))
    shape = operand.without_layout()
    for name, bound in (("min", min), ("max", max)):
        require_array("clamp", name, bound)
        fits = bound.element_type is shape.element_type and bound.dimensions in ((), shape.dimensions)
        require(fits, f"clamp: {name} must have the operand's shape {shape} or be its scalar, got {bound}")
    return with_dynamic_dimensions_of(shape, (min, operand, max))


@clamp.evaluation
@numerics.in_wider_type
def _(min, operand, max):
    return numerics.minimum(numerics.maximum(operand, min), max)


@clamp.sampling
def _():
    for element_type in sample_types((*INTEGERS, "float")):
        array, scalar = Shape(element_type, (3, 5)), Shape(element_type)
        yield Sample([array, array, array])
        yield Sample([scalar, array, scalar])
        yield Sample([scalar, scalar, scalar])
    bounds = [np.int32(0), np.array([-1, 5, 9], np.int32), np.int32(6)]
    yield Sample(bounds, expected=np.array([0, 5, 6], np.int32))
    yield InvalidSample([Shape(F32, (2,)), Shape(F32, (3,)), Shape(F32)], {}, "min must have the operand's shape")
    yield InvalidSample([Shape(F32), Shape(F32, (3,)), Shape(S32)], {}, "max must have the operand's shape")


@operation("select", "pred", "on_true", "on_false", builder="Select", traits={ELEMENTWISE, SELECTING})
def select(pred, on_true, on_false):
    """Select(pred, on_true, on_false): the element of on_true where pred holds, of on_false elsewhere; pred may be a scalar.

    Both have the same shape, which is the result's; pred has its dimensions or is a scalar, which then chooses the whole.
    Tuples count as scalars: their elements are selected together.
    """
    shape = require_same_shape("select", on_true=on_true, on_false=on_false)
    require_kind("select", "pred", pred, ("pred",))
    dimensions = () if shape.is_tuple else shape.dimensions
    require(pred.dimensions in ((), dimensions), f"select: pred must be a scalar or have the dimensions of {shape}, got {pred}")
    return with_dynamic_dimensions_of(shape, (pred, shape))


@select.evaluation
def _(pred, on_true, on_false):
    if isinstance(on_true, tuple):
        return on_true if pred else on_false
    return np.where(pred, on_true, on_false).astype(on_true.dtype, copy=False)


@select.sampling
def _():
    for element_type in sample_types(ANY):
        yield Sample([Shape(PRED, (3, 5)), Shape(element_type, (3, 5)), Shape(element_type, (3, 5))])
        yield Sample([PRED_SCALAR, Shape(element_type, (7,)), Shape(element_type, (7,))])
    v1, v2 = np.array([1, 2, 3, 4], np.int32), np.array([100, 200, 300, 400], np.int32)
    yield Sample([np.array([True, False, False, True]), v1, v2], expected=np.array([1, 200, 300, 4], np.int32))
    yield Sample([np.True_, v1, v2], expected=v1)
    pair = TupleShape((Shape(F32, (3,)), TupleShape((Shape(S32),))))
    yield Sample([np.True_, pair, pair])
    yield Sample([np.False_, (v1, (np.int32(1),)), (v2, (np.int32(2),))], expected=(v2, (np.int32(2),)))
    yield InvalidSample([Shape(PRED, (3,)), pair, pair], {}, "pred must be a scalar or")
    yield InvalidSample([Shape(PRED, (2,)), Shape(F32, (3,)), Shape(F32, (3,))], {}, "pred must be a scalar or")
    yield InvalidSample([Shape(S32), Shape(F32), Shape(F32)], {}, "pred must have a pred element type")
    yield InvalidSample([PRED_SCALAR, Shape(F32), Shape(F64)], {}, "must have the same shape")
