"""Conversions: other element types of the same values, or of the same bits.

Source of the semantics: "ConvertElementType", "ReducePrecision" and "BitcastConvertType" of XLA's Operation Semantics.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from ..attributes import Integer
from ..element_type import BF16, C64, F16, F32, F64, PRED, S32, U8, U64
from ..errors import require
from ..operation import ACTUAL_SIZES, ELEMENTWISE, FOLDABLE, InvalidSample, Sample, operation
from ..shape import Shape
from . import numerics
from .constraints import require_kind, require_static
from .elementwise import ANY, NUMBERS, sample_types


@operation("convert", "operand", builder="ConvertElementType", traits={ELEMENTWISE})
def convert(operand, *, stated):
    """ConvertElementType(operand, new_element_type): the value in another type.

    Floats become integers by truncation towards zero, saturating at the limits, NaN giving 0; integers become other integers by
    keeping the low bits, and floats by rounding to nearest even, as floats do where they become narrower. Everything becomes
    pred by comparison with 0. A complex number becomes real by dropping its imaginary part. The dimensions stay.
    """
    require_kind("convert", "operand", operand, ANY)
    require(stated is not None, "convert: a result shape is required")
    require_kind("convert", "result", stated, ANY)
    same = stated.dimensions == operand.dimensions and stated.dynamic_dimensions == operand.dynamic_dimensions
    require(same, f"convert: operand {operand} and result {stated} must have the same dimensions")
    return stated.without_layout()


@convert.evaluation
def _(operand, *, shape):
    return numerics.convert(operand, shape.element_type)


@convert.sampling
def _():
    types = sample_types(ANY)
    for source, target in product(types, types):
        yield Sample([Shape(source, (3, 17))], shape=Shape(target, (3, 17)))
    integers = np.array([0, 1, 2], np.int32)
    yield Sample([integers], shape=Shape(F32, (3,)), expected=np.array([0, 1, 2], np.float32))
    yield InvalidSample([Shape(F32, (2,))], {}, "must have the same dimensions", shape=Shape(S32, (3,)))


@operation(
    "reduce-precision", "operand", builder="ReducePrecision", traits={ELEMENTWISE},
    exponent_bits=Integer(), mantissa_bits=Integer(),
)  # fmt: skip
def reduce_precision(operand, *, exponent_bits, mantissa_bits):
    """ReducePrecision(operand, exponent_bits, mantissa_bits): rounded to nearest even to a float of that format.

    The element type stays. Values too large become infinite; values below the format's smallest normal number become zero of
    their sign. Exponents have at least one bit; bits beyond those of the element type change nothing.
    """
    require_kind("reduce-precision", "operand", operand, ("float",))
    require(exponent_bits >= 1, f"reduce-precision: exponent_bits must be at least 1, got {exponent_bits}")
    require(mantissa_bits >= 0, f"reduce-precision: mantissa_bits must not be negative, got {mantissa_bits}")
    return operand.without_layout()


@reduce_precision.evaluation
def _(operand, *, exponent_bits, mantissa_bits):
    return numerics.reduce_precision(operand, exponent_bits, mantissa_bits)


@reduce_precision.sampling
def _():
    x, rounded = np.array([1 / 3, 70000, -1e-5], np.float32), np.array([1365 / 4096, np.inf, -0.0], np.float32)
    yield Sample([x], {"exponent_bits": 5, "mantissa_bits": 10}, expected=rounded)
    for element_type, bits in product((F16, BF16, F32, F64), ((5, 10), (8, 7), (4, 3), (11, 52), (2, 0))):
        yield Sample([Shape(element_type, (65,))], {"exponent_bits": bits[0], "mantissa_bits": bits[1]})
    yield InvalidSample([Shape(F32)], {"exponent_bits": 0, "mantissa_bits": 3}, "exponent_bits must be at least 1")
    yield InvalidSample([Shape(F32)], {"exponent_bits": 5, "mantissa_bits": -1}, "mantissa_bits must not be negative")


@operation("bitcast-convert", "operand", builder="BitcastConvertType", traits={FOLDABLE}, cost=0.0, dynamic=ACTUAL_SIZES)
def bitcast_convert(operand, *, stated):
    """BitcastConvertType(operand, new_element_type): the same bits read as another type.

    A narrower result type adds a minor dimension, a wider one drops it; the first element holds the lowest bits. A complex
    number is read as complex numbers only, and pred as pred: XLA counts one bit for it in shapes, and stores eight.
    """
    require_kind("bitcast-convert", "operand", operand, ("pred", *NUMBERS))
    require(stated is not None, "bitcast-convert: a result shape is required")
    require_kind("bitcast-convert", "result", stated, ("pred", *NUMBERS))
    old, new = operand.element_type, stated.element_type
    same = (old is PRED) == (new is PRED)
    require(same, f"bitcast-convert: cannot convert between pred and another type, {operand} to {stated}")
    require(
        old.is_complex == new.is_complex, f"bitcast-convert: cannot convert between complex and real, {operand} to {stated}"
    )
    if old.bits == new.bits:
        expected = operand.dimensions
    elif old.bits > new.bits:
        expected = (*operand.dimensions, old.bits // new.bits)
    else:
        ratio = new.bits // old.bits
        fits = operand.rank > 0 and operand.dimensions[-1] == ratio
        require(fits, f"bitcast-convert: {operand} to {new.name} needs a minor dimension of {ratio}")
        expected = operand.dimensions[:-1]
    dynamic = operand.dynamic_dimensions and (*operand.dynamic_dimensions, False)[: len(expected)]
    wanted = stated.with_dimensions(expected, dynamic)
    fits = stated.without_layout() == wanted
    require(fits, f"bitcast-convert: {operand} to {new.name} gives {expected}, but {stated} was stated")
    require_static("bitcast-convert", "operand", operand, range(len(expected), operand.rank), "as its elements become one")
    return stated.without_layout()


@bitcast_convert.evaluation
def _(operand, *, shape):
    return numerics.bitcast_convert(np.asarray(operand), shape)


@bitcast_convert.sampling
def _():
    bits = np.array([0x3F800000, -0x40000000], np.int32)
    yield Sample([np.array([1, -2], np.float32)], shape=Shape(S32, (2,)), expected=bits)
    yield Sample([Shape(F32, (3, 5))], shape=Shape(S32, (3, 5)))
    yield Sample([Shape(F32, (10,))], shape=Shape(F16, (10, 2)))
    yield Sample([Shape(F32)], shape=Shape(F16, (2,)))
    yield Sample([Shape(F16, (10, 2))], shape=Shape(F32, (10,)))
    yield Sample([Shape(U64, (2, 0))], shape=Shape(U8, (2, 0, 8)))
    yield Sample([Shape(PRED, (2, 3))], shape=Shape(PRED, (2, 3)))
    yield InvalidSample([Shape(PRED, (8,))], {}, "between pred and another type", shape=Shape(U8, (8,)))
    yield InvalidSample([Shape(U8, (8,))], {}, "between pred and another type", shape=Shape(PRED, (8,)))
    yield InvalidSample([Shape(F32, (2,))], {}, "gives", shape=Shape(F16, (2,)))
    yield InvalidSample([Shape(F16, (2, 3))], {}, "needs a minor dimension of 2", shape=Shape(F32, (2,)))
    yield InvalidSample([Shape(C64)], {}, "between complex and real", shape=Shape(F64))
