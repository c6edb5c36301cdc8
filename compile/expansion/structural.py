"""Operations on tuples as operations on their elements, operations that only name a value, and those in two halves."""

from __future__ import annotations

import numpy as np

from ...hlo import TOKEN, Builder, Instruction
from ...hlo.ops.collective_handles import begins_collective, visible_start
from ...hlo.ops.known_calls import IDENTITY_TARGETS
from ...hlo.shape import AnyShape, compatible
from ..traversal import on_operands
from .table import expansion


def _elements(b: Builder, operand: Instruction) -> list[Instruction]:
    if operand.opcode == "tuple":
        return list(operand.operands)
    return [b.get_tuple_element(operand, index) for index in range(len(operand.shape.elements))]


@expansion("copy")
def expand_copy(b: Builder, copy: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """copy(tuple(x, y)) -> tuple(copy(x), copy(y))"""
    if not copy.shape.is_tuple:
        return on_operands(copy, operands)
    elements = _elements(b, operands[0])
    return b.emit("tuple", *(b.emit("copy", x, shape=shape) for x, shape in zip(elements, copy.shape.elements)))


@expansion("select")
def expand_select(b: Builder, select: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """select(p, tuple(x, y), tuple(z, w)) -> tuple(select(p, x, z), select(p, y, w))"""
    if not select.shape.is_tuple:
        return on_operands(select, operands)
    pred, on_true, on_false = operands
    pairs = zip(_elements(b, on_true), _elements(b, on_false))
    return b.emit("tuple", *(b.emit("select", pred, x, y) for x, y in pairs))


@expansion("constant")
def expand_constant(b: Builder, constant: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """constant((1, 2)) -> tuple(constant(1), constant(2))"""
    if not constant.shape.is_tuple:
        return constant
    return _constant(b, constant.attributes["literal"], constant.shape)


def _constant(b: Builder, literal: object, shape: AnyShape) -> Instruction:
    if not shape.is_tuple:
        return b.emit("constant", literal=literal, shape=shape)
    return b.emit("tuple", *(_constant(b, part, element) for part, element in zip(literal, shape.elements)))


@expansion("domain")
def expand_domain(b: Builder, domain: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """domain(x) -> x"""
    return operands[0]


@expansion("get-dimension-size")
def expand_get_dimension_size(b: Builder, size: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """get-dimension-size(f32[3,5], dimensions={1}) -> 5, for a size that is not dynamic"""
    (dimension,) = size.attributes["dimensions"]
    shape = operands[0].shape
    if shape.has_dynamic_dimensions and shape.dynamic_dimensions[dimension]:
        return on_operands(size, operands)
    return b.constant(np.int32(shape.dimensions[dimension]))


@expansion("dynamic-reshape")
def expand_dynamic_reshape(b: Builder, reshape: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """dynamic-reshape(x, sizes...) -> reshape(x), for dimensions that are not dynamic"""
    if reshape.shape.has_dynamic_dimensions or operands[0].shape.has_dynamic_dimensions:
        return on_operands(reshape, operands)
    return b.emit("reshape", operands[0], shape=reshape.shape)


@expansion("fusion")
def expand_fusion(b: Builder, fusion: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """fusion(x), calls=f -> call(x), to_apply=f: what another compiler has fused is expanded, and fused again"""
    return b.emit("call", *operands, to_apply=fusion.attributes["calls"])


@expansion("custom-call")
def expand_custom_call(b: Builder, call: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """custom-call(x), custom_call_target="Sharding" -> x"""
    is_identity = call.attributes["custom_call_target"] in IDENTITY_TARGETS and len(operands) == 1
    if not is_identity or not compatible(operands[0].shape, call.shape):
        return on_operands(call, operands)
    return operands[0]


@expansion("async-start")
def expand_async_start(b: Builder, start: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """async-start(x, y), calls=f -> tuple(tuple(x, y), call(x, y), 0), unless f ends in a collective operation"""
    if begins_collective(start):
        return on_operands(start, operands)
    result = b.emit("call", *operands, to_apply=start.attributes["calls"])
    contexts = [_zeros(b, shape) for shape in start.shape.elements[2:]]
    return b.emit("tuple", b.emit("tuple", *operands), result, *contexts)


def _zeros(b: Builder, shape: AnyShape) -> Instruction:
    if shape.is_tuple:
        return b.emit("tuple", *(_zeros(b, element) for element in shape.elements))
    if shape.element_type is TOKEN:
        return b.emit("after-all")
    return b.broadcast(b.constant(0, shape.element_type), shape.dimensions, ())


@expansion("async-update")
@expansion("add-dependency")
def expand_to_operand(b: Builder, instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """async-update(x) -> x; add-dependency(x, token) -> x, since native code stands in the order of the instructions"""
    return operands[0]


@expansion("async-done")
def expand_async_done(b: Builder, done: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """async-done(x) -> get-tuple-element(x), index=1, where the start is known not to begin a collective operation"""
    start = visible_start(done)
    if start is None or begins_collective(start):
        return on_operands(done, operands)
    return b.get_tuple_element(operands[0], 1)


@expansion("copy-start")
def expand_copy_start(b: Builder, start: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """copy-start(x) -> tuple(copy(x), x, 0)"""
    copy = b.emit("copy", operands[0], shape=start.shape.elements[0])
    return b.emit("tuple", copy, operands[0], _zeros(b, start.shape.elements[2]))


@expansion("copy-done")
def expand_copy_done(b: Builder, done: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """copy-done(x) -> get-tuple-element(x), index=0"""
    return b.get_tuple_element(operands[0], 0)
