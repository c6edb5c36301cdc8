"""Tuples, calls, branches and loops: sizes go along with the arrays, and so does the error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import hlo
from ...hlo import S32, Computation, Instruction, Shape, TupleShape, leaves
from ...hlo.instruction import callees_first
from ...hlo.shape import AnyShape, has_dynamic_dimensions
from ..carried_sizes import annotation_of_sizes, sizes_behind
from ..traversal import attributes_of_branches
from .padder import Padded, Padder, Value, flat, nested, padded

# Calls of computations with more instructions, those that they call included, stay calls.
_LARGEST_INLINED = 2000


def mentions_dynamic_dimensions(computation: Computation) -> bool:
    """Whether an instruction of the computation, or of one that it calls, has dynamic dimensions, or sets the size of one."""
    instructions = (instruction for inside in callees_first(computation) for instruction in inside.instructions)
    return any(i.opcode == "set-dimension-size" or has_dynamic_dimensions(i.shape) for i in instructions)


@padded("tuple", always=True)
def pad_tuple(p: Padder, instruction: Instruction, operands: list[Value]) -> Value:
    return tuple(operands)


@padded("get-tuple-element", always=True)
def pad_get_tuple_element(p: Padder, instruction: Instruction, operands: list[Any]) -> Value:
    return operands[0][instruction.attributes["index"]]


@padded("copy", "opt-barrier", "domain", "add-dependency")
def pad_copy(p: Padder, instruction: Instruction, operands: list[Value]) -> Value:
    shape = instruction.shape
    parts = flat(operands[0], shape)
    if instruction.opcode == "opt-barrier":
        whole = hlo.opt_barrier(hlo.tuple(*parts))
        return nested([hlo.get_tuple_element(whole, number) for number in range(len(parts))], shape)
    return operands[0]


@padded("constant")
def pad_constant(p: Padder, instruction: Instruction, operands: list[Value]) -> Value:
    return _constant(p, instruction.attributes["literal"], instruction.shape)


def _constant(p: Padder, literal: Any, shape: AnyShape) -> Value:
    if shape.is_tuple:
        return tuple(_constant(p, part, element) for part, element in zip(literal, shape.elements))
    bounds = np.zeros(shape.dimensions, np.asarray(literal).dtype)
    bounds[tuple(map(slice, np.shape(literal)))] = literal
    sizes = {d: p.s32(size) for d, size in enumerate(np.shape(literal)) if shape.is_dynamic(d)}
    return Padded(hlo.constant(bounds), sizes)


@padded("select")
def pad_select(p: Padder, instruction: Instruction, operands: list[Any]) -> Value:
    """Of tuples: element by element. Of arrays of different sizes under one pred[]: the sizes are selected, too."""
    predicate, on_true, on_false = operands
    if isinstance(on_true, tuple):
        return tuple(_select_whole(p, predicate.array, x, y) for x, y in zip(on_true, on_false))
    return p.elementwise(instruction, operands)


def _select_whole(p: Padder, predicate: Instruction, on_true: Any, on_false: Any) -> Value:
    if isinstance(on_true, tuple):
        return tuple(_select_whole(p, predicate, x, y) for x, y in zip(on_true, on_false))
    sizes = {d: hlo.select(predicate, size, on_false.sizes[d]) for d, size in on_true.sizes.items()}
    return Padded(hlo.select(predicate, on_true.array, on_false.array), sizes)


@padded("map")
def pad_map(p: Padder, instruction: Instruction, operands: list[Padded]) -> Padded:
    return p.elementwise(instruction, operands)


@padded("call", "fusion", always=True)
def pad_call(p: Padder, instruction: Instruction, operands: list[Value]) -> Value:
    (computation,) = instruction.called_computations
    if not mentions_dynamic_dimensions(computation):
        return _unchanged(p, instruction, operands)
    if _full_size(computation) <= _LARGEST_INLINED:
        return p.run(computation, operands)
    shape = TupleShape(tuple(operand.shape for operand in instruction.operands))
    argument = hlo.tuple(*flat(tuple(operands), shape), p.error_or_none())
    function = p.functions.get((computation, argument.shape))
    if function is None:
        function = _flat_computation(p, computation, shape, argument.shape, lambda values: list(values))
        p.functions[computation, argument.shape] = function
    return _with_error(p, hlo.call(argument, to_apply=function), instruction.shape)


def _full_size(computation: Computation) -> int:
    """The number of instructions where each call is replaced by those of what it calls."""
    sizes: dict[Computation, int] = {}
    for one in callees_first(computation):
        called = (sizes[callee] for instruction in one.instructions for callee in instruction.called_computations)
        sizes[one] = len(one.instructions) + sum(called)
    return sizes[computation]


def _unchanged(p: Padder, instruction: Instruction, operands: list[Value]) -> Value:
    return p.unpacked(p.same(instruction, map(p.packed, operands), instruction.shape))


@padded("conditional", always=True)
def pad_conditional(p: Padder, instruction: Instruction, operands: list[Value]) -> Value:
    if not any(map(mentions_dynamic_dimensions, instruction.called_computations)):
        return _unchanged(p, instruction, operands)
    before = p.error_or_none()
    arguments, branches = [], []
    for computation, operand, source in zip(instruction.called_computations, operands[1:], instruction.operands[1:]):
        parts = [*flat(operand, source.shape), before]
        arguments.append(hlo.tuple(*parts))
        branches.append(_flat_computation(p, computation, source.shape, arguments[-1].shape))
    result = p.same(instruction, [operands[0].array, *arguments], None, **attributes_of_branches(instruction, branches))
    return _with_error(p, result, instruction.shape)


def _with_error(p: Padder, result: Instruction, shape: AnyShape) -> Value:
    *parts, p.error = [hlo.get_tuple_element(result, number) for number in range(len(result.shape.elements))]
    return nested(parts, shape)


def _flat_computation(
    p: Padder,
    computation: Computation,
    shape: AnyShape,
    flat_shape: TupleShape,
    arguments: Callable[[Value], list[Value]] = lambda value: [value],
) -> Computation:
    """The computation from the flat parts of its parameter, and the error, to those of its result."""

    def body(inner: Padder, value: Value) -> Instruction:
        result = inner.run(computation, arguments(value))
        return hlo.tuple(*flat(result, computation.shape), inner.error_or_none())

    return _padded_computation(p, computation.name, flat_shape, shape, body)


def _padded_computation(
    p: Padder, name: str, flat_shape: TupleShape, shape: AnyShape, body: Callable[[Padder, Value], Instruction]
) -> Computation:
    """A computation whose parameter is a tuple, of the flat parts of a value of this shape and the error."""
    inner = Padder(name, p.errors, functions=p.functions)
    with inner.b:
        parameter = hlo.parameter(flat_shape, "state")
        *parts, inner.error = [hlo.get_tuple_element(parameter, number) for number in range(len(flat_shape.elements))]
        return inner.b.build(body(inner, nested(parts, shape)))


@padded("while", always=True)
def pad_while(p: Padder, instruction: Instruction, operands: list[Value]) -> Value:
    """The state is flat: arrays, sizes, and the error, which ends the loop.

    A condition that can fail itself runs at the end of the body instead, and what it found is part of the state.
    """
    condition, body = instruction.attributes["condition"], instruction.attributes["body"]
    if not mentions_dynamic_dimensions(condition) and not mentions_dynamic_dimensions(body):
        return _unchanged(p, instruction, operands)
    shape = instruction.operands[0].shape
    parts = flat(operands[0], shape)
    known = len(p.errors)
    test = _condition(p, condition, TupleShape((*(part.shape for part in parts), Shape(S32))), shape)
    if can_fail := len(p.errors) > known:
        del p.errors[known:]
        p.functions.clear()  # they may hold the numbers of these errors
        parts.append(p.run(condition, [operands[0]]).array)
    init = hlo.tuple(*parts, p.error_or_none())
    if can_fail:
        test = hlo.computation(condition.name, [init.shape], _stored_condition)

    def step(inner: Padder, state: Value) -> Instruction:
        result = inner.run(body, [state])
        new = flat(result, shape)
        if can_fail:
            new.append(inner.run(condition, [result]).array)
        return hlo.tuple(*new, inner.error_or_none())

    padded_body = _padded_computation(p, body.name, init.shape, shape, step)
    annotations = annotation_of_sizes(sizes_behind(leaves(shape)))
    loop = p.b.emit("while", init, condition=test, body=padded_body, annotations=annotations)
    return _with_error(p, loop, shape)


def _condition(p: Padder, condition: Computation, flat_shape: TupleShape, shape: AnyShape) -> Computation:
    def goes_on(inner: Padder, state: Value) -> Instruction:
        error = inner.error_or_none()
        return hlo.and_(inner.run(condition, [state]).array, hlo.eq(error, 0))

    return _padded_computation(p, condition.name, flat_shape, shape, goes_on)


def _stored_condition(state: Instruction) -> Instruction:
    """Whether what the body found at its end, the last but one part of the state, holds, and there is no error."""
    count = len(state.shape.elements)
    holds, error = (hlo.get_tuple_element(state, number) for number in (count - 2, count - 1))
    return hlo.and_(holds, hlo.eq(error, 0))
