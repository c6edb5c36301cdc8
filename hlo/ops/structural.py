"""Parameters, constants, tuples: operations that name or group values without computing."""

from __future__ import annotations

import numpy as np

from ..attributes import Integer, LiteralValue, ParameterNumber, RawText
from ..element_type import F32, F64, PRED, S32, U32
from ..errors import require
from ..operation import BOUNDS, GIVEN, RENAMES, TUPLING, InvalidSample, Sample, operation
from ..shape import AnyShape, Layout, Shape, TupleShape, compatible, shape_of
from . import numerics


@operation("parameter", traits={GIVEN}, cost=0.0, dynamic=BOUNDS, number=ParameterNumber())
def parameter(*, number, stated):
    """Parameter(number, shape, name): the computation's argument with this number, of the stated shape.

    A computation's parameters are numbered 0, 1, ... once each. The name is metadata.
    """
    require(number >= 0, f"parameter: number must not be negative, got {number}")
    require(stated is not None, "parameter: a shape is required")
    return stated


_CONSTANTS = ("R0", "R1", "R2", "R2FromArray2D", "R3", "R3FromArray3D", "R4", "R4FromArray4D")


@operation(
    "constant", builder="ConstantLiteral", aliases=[f"Constant{rank}" for rank in _CONSTANTS],
    traits={GIVEN}, cost=0.0, dynamic=BOUNDS, literal=LiteralValue(),
)  # fmt: skip
def constant(*, literal, stated):
    """ConstantLiteral(literal): a value known when the program is built.

    The literal is an array, a scalar, or a tuple of literals.
    Source: ConstantR0 to ConstantR4 and ConstantLiteral of the 2017 preview.
    """
    shape = shape_of(literal)
    fits = stated is None or compatible(shape, stated) or _is_within(shape, stated)
    require(fits, "constant: the literal has shape ", shape, ", but ", stated, " was stated")
    return stated or shape


def _is_within(shape: AnyShape, stated: AnyShape) -> bool:
    """Whether a literal of the one shape is one of the other, which has dynamic dimensions."""
    if shape.is_tuple or stated.is_tuple:
        both = shape.is_tuple and stated.is_tuple and len(shape.elements) == len(stated.elements)
        return both and all(map(_is_within, shape.elements, stated.elements))
    if shape.element_type is not stated.element_type or shape.rank != stated.rank:
        return False
    pairs = enumerate(zip(shape.dimensions, stated.dimensions))
    return all(size == bound or (size < bound and stated.is_dynamic(d)) for d, (size, bound) in pairs)


@constant.evaluation
def _(*, literal):
    return literal


@constant.sampling
def _():
    for literal in (np.float32(1.5), np.arange(6, dtype=np.int32).reshape(2, 3), np.array([True, False]), np.zeros((0, 2))):
        yield Sample([], {"literal": literal}, expected=literal)
    nested = (np.arange(3, dtype=np.float32), (np.int32(7), np.array([[True], [False]])))
    yield Sample([], {"literal": nested}, expected=nested)
    yield InvalidSample([], {"literal": np.float32(1)}, "the literal has shape", shape=Shape(S32))


@operation("tuple", "*elements", traits={TUPLING}, cost=0.0, dynamic=BOUNDS)
def tuple_(*elements):
    """Tuple(elements...): a tuple of any number of values, each with its own shape.

    Elements may be tuples, and there may be none. Source: "Tuple" of XLA's Operation Semantics.
    """
    return TupleShape(elements)


@tuple_.evaluation
def _(*elements):
    return elements


@tuple_.sampling
def _():
    pair = np.array([1, 2], np.float32), np.int32(7)
    yield Sample(list(pair), expected=pair)
    yield Sample([])
    yield Sample([Shape(F32, (2,)), Shape(S32)])
    yield Sample([TupleShape((Shape(PRED, (0, 3)),)), Shape(F32)])


@operation(
    "get-tuple-element", "operand", builder="GetTupleElement", traits={TUPLING}, cost=0.0, dynamic=BOUNDS,
    index=Integer()
)  # fmt: skip
def get_tuple_element(operand, *, index):
    """GetTupleElement(operand, index): the element of a tuple at a constant index.

    The index is constant so that the result's shape is known. Source: "GetTupleElement" of XLA's Operation Semantics.
    """
    require(operand.is_tuple, "get-tuple-element: operand must be a tuple, got ", operand)
    count = len(operand.elements)
    require(0 <= index < count, f"get-tuple-element: index must be in [0, {count}) for {operand}, got {index}")
    return operand.elements[index]


@get_tuple_element.evaluation
def _(operand, *, index):
    return operand[index]


@get_tuple_element.sampling
def _():
    yield Sample([(np.array([1, 2], np.float32), np.int32(7))], {"index": 1}, expected=np.int32(7))
    pair = TupleShape((Shape(F32, (10,)), Shape(S32)))
    yield Sample([pair], {"index": 0})
    yield Sample([pair], {"index": 1})
    yield InvalidSample([pair], {"index": 2}, r"index must be in \[0, 2\)")
    yield InvalidSample([pair], {"index": -1}, r"index must be in \[0, 2\)")
    yield InvalidSample([Shape(F32)], {"index": 0}, "operand must be a tuple")


@operation("copy", "operand", builder="Copy", cost=1.0, dynamic=BOUNDS)
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
    yield Sample([TupleShape((Shape(F32, (2,)), TupleShape((Shape(S32), Shape(PRED, (3, 0))))))])
    yield InvalidSample([Shape(F32, (2, 3))], {}, "must have the same shape", shape=Shape(F32, (3, 2)))


@operation("bitcast", "operand", builder="Bitcast", traits={RENAMES}, cost=0.0)
def bitcast(operand, *, stated):
    """Bitcast(operand): the operand's bytes as they lie in memory, read in another shape, layout, or type of the same width.

    XLA's compiler makes it of a reshape or transpose that moves nothing. Its meaning depends on the layouts of both shapes; one
    that is not stated is row-major. Source: ``HloOpcode::kBitcast`` and ``ShapeUtil::ReshapeIsBitcast`` of XLA.
    """
    require(not operand.is_tuple, "bitcast: operand must be an array, got ", operand)
    require(stated is not None and not stated.is_tuple, f"bitcast: a result shape is required, of an array, got {stated}")
    old, new = operand.element_type, stated.element_type
    same = operand.size == stated.size and (old is new or (old.bits == new.bits and old.is_complex == new.is_complex))
    require(same, f"bitcast: operand {operand} and result {stated} must have as many elements, each of as many bits")
    return stated


@bitcast.evaluation
def _(operand, *, shape, operand_shapes):
    (operand_shape,) = operand_shapes
    major_to_minor = shape.minor_to_major[::-1]
    in_memory = np.transpose(operand, operand_shape.minor_to_major[::-1])
    sizes = [shape.dimensions[dimension] for dimension in major_to_minor]
    elements = numerics.bitcast_convert(in_memory, Shape(shape.element_type, tuple(sizes)))
    return elements.transpose(np.argsort(major_to_minor).astype(int))


@bitcast.sampling
def _():
    column_major = Layout((0, 1))
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    yield Sample([x], shape=Shape(S32, (3, 2)), expected=x.reshape(3, 2))
    yield Sample([x], shape=Shape(S32, (3, 2), column_major), expected=x.T)
    yield Sample([x], shape=Shape(U32, (3, 2), column_major), expected=x.T.astype(np.uint32))
    yield Sample([np.float32(1)], shape=Shape(S32), expected=np.int32(0x3F800000))
    yield Sample([Shape(F32, (5, 3, 4))], shape=Shape(F32, (2, 30), column_major))
    yield Sample([Shape(F32)], shape=Shape(F32, (1, 1)))
    yield Sample([Shape(F32, (0, 3))], shape=Shape(F32, (3, 0)))
    yield InvalidSample([Shape(F32, (4,))], {}, "as many elements", shape=Shape(F32, (5,)))
    yield InvalidSample([Shape(F32, (4,))], {}, "each of as many bits", shape=Shape(F64, (4,)))
    yield InvalidSample([Shape(F32, (4,))], {}, "a result shape is required")
    yield InvalidSample([TupleShape((Shape(F32),))], {}, "operand must be an array", shape=Shape(F32))


@operation("opt-barrier", "operand", builder="OptimizationBarrier", traits={RENAMES}, dynamic=BOUNDS)
def optimization_barrier(operand):
    """OptimizationBarrier(operand): the value itself; no pass moves computation across it.

    The operand may be a tuple: all its elements are then computed before any of them is used. Source: "OptimizationBarrier" of
    XLA's Operation Semantics.
    """
    return operand


@optimization_barrier.evaluation
def _(operand):
    return operand


@optimization_barrier.sampling
def _():
    yield Sample([Shape(F32, (2, 3))])
    yield Sample([TupleShape((Shape(F32, (2,)), Shape(S32)))])


@operation("domain", "operand", builder="Domain", traits={RENAMES}, dynamic=BOUNDS, domain=RawText(""))
def domain(operand, *, domain):
    """Domain(operand): the value itself, where instructions of one kind of metadata border on those of another.

    ``domain`` is the metadata on both sides, as text. Source: ``HloDomainInstruction`` of XLA.
    """
    return operand


@domain.evaluation
def _(operand, *, domain):
    return operand


@domain.sampling
def _():
    sharding = '{kind="sharding", entry={replicated}, exit={maximal device=1}}'
    yield Sample([Shape(F32, (2, 3))], {"domain": sharding})
    yield Sample([TupleShape((Shape(F32, (2,)), Shape(S32)))], {"domain": sharding})
    yield InvalidSample([Shape(F32)], {"domain": 1}, "a string is required")
