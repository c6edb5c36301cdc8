"""Operations on tuples as operations on their elements, operations that only name a value, and those in two halves."""

from __future__ import annotations

import numpy as np

from ... import hlo
from ...hlo import TOKEN, Instruction
from ...hlo.ops.collective_handles import begins_collective, visible_start
from ...hlo.ops.known_calls import IDENTITY_TARGETS
from ...hlo.shape import AnyShape, compatible
from ..traversal import on_operands
from .table import expansion


def _elements(operand: Instruction) -> list[Instruction]:
    if operand.opcode == "tuple":
        return list(operand.operands)
    return [hlo.get_tuple_element(operand, index) for index in range(len(operand.shape.elements))]


@expansion("copy")
def expand_copy(copy: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """copy(tuple(x, y)) -> tuple(copy(x), copy(y))"""
    if not copy.shape.is_tuple:
        return on_operands(copy, operands)
    elements = _elements(operands[0])
    return hlo.tuple(*(hlo.copy(x, shape=shape) for x, shape in zip(elements, copy.shape.elements)))


@expansion("select")
def expand_select(select: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """select(p, tuple(x, y), tuple(z, w)) -> tuple(select(p, x, z), select(p, y, w))"""
    if not select.shape.is_tuple:
        return on_operands(select, operands)
    pred, on_true, on_false = operands
    pairs = zip(_elements(on_true), _elements(on_false))
    return hlo.tuple(*(hlo.select(pred, x, y) for x, y in pairs))


@expansion("constant")
def expand_constant(constant: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """constant((1, 2)) -> tuple(constant(1), constant(2))"""
    if not constant.shape.is_tuple:
        return constant
    return _constant(constant.attributes["literal"], constant.shape)


def _constant(literal: object, shape: AnyShape) -> Instruction:
    if not shape.is_tuple:
        return hlo.constant(literal)
    return hlo.tuple(*(_constant(part, element) for part, element in zip(literal, shape.elements)))


@expansion("domain")
def expand_domain(domain: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """domain(x) -> x"""
    return operands[0]


@expansion("get-dimension-size")
def expand_get_dimension_size(size: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """get-dimension-size(f32[3,5], dimensions={1}) -> 5, for a size that is not dynamic"""
    (dimension,) = size.attributes["dimensions"]
    shape = operands[0].shape
    if shape.has_dynamic_dimensions and shape.dynamic_dimensions[dimension]:
        return on_operands(size, operands)
    return hlo.constant(np.int32(shape.dimensions[dimension]))


@expansion("dynamic-reshape")
def expand_dynamic_reshape(reshape: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """dynamic-reshape(x, sizes...) -> reshape(x), for dimensions that are not dynamic"""
    if reshape.shape.has_dynamic_dimensions or operands[0].shape.has_dynamic_dimensions:
        return on_operands(reshape, operands)
    return hlo.emit("reshape", operands[0], shape=reshape.shape)


@expansion("fusion")
def expand_fusion(fusion: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """fusion(x), calls=f -> call(x), to_apply=f: what another compiler has fused is expanded, and fused again"""
    return hlo.call(*operands, to_apply=fusion.attributes["calls"])


@expansion("custom-call")
def expand_custom_call(call: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """custom-call(x), custom_call_target="Sharding" -> x"""
    is_identity = call.attributes["custom_call_target"] in IDENTITY_TARGETS and len(operands) == 1
    if not is_identity or not compatible(operands[0].shape, call.shape):
        return on_operands(call, operands)
    return operands[0]


@expansion("async-start")
def expand_async_start(start: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """async-start(x, y), calls=f -> tuple(tuple(x, y), call(x, y), 0), unless f ends in a collective operation"""
    if begins_collective(start):
        return on_operands(start, operands)
    result = hlo.call(*operands, to_apply=start.attributes["calls"])
    contexts = [_zeros(shape) for shape in start.shape.elements[2:]]
    return hlo.tuple(hlo.tuple(*operands), result, *contexts)


def _zeros(shape: AnyShape) -> Instruction:
    if shape.is_tuple:
        return hlo.tuple(*(_zeros(element) for element in shape.elements))
    if shape.element_type is TOKEN:
        return hlo.after_all()
    return hlo.full(shape, 0)


@expansion("async-update")
@expansion("add-dependency")
def expand_to_operand(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """async-update(x) -> x; add-dependency(x, token) -> x, since native code stands in the order of the instructions"""
    return operands[0]


@expansion("async-done")
def expand_async_done(done: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """async-done(x) -> get-tuple-element(x), index=1, where the start is known not to begin a collective operation"""
    start = visible_start(done)
    if start is None or begins_collective(start):
        return on_operands(done, operands)
    return hlo.get_tuple_element(operands[0], 1)


@expansion("copy-start")
def expand_copy_start(start: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """copy-start(x) -> tuple(copy(x), x, 0)"""
    copy = hlo.copy(operands[0], shape=start.shape.elements[0])
    return hlo.tuple(copy, operands[0], _zeros(start.shape.elements[2]))


@expansion("copy-done")
def expand_copy_done(done: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """copy-done(x) -> get-tuple-element(x), index=0"""
    return hlo.get_tuple_element(operands[0], 0)
