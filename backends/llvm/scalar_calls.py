"""Calls in computations on scalars: what is large becomes an LLVM function, emitted once, so that its size counts once."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from ...compile.memo import Memo
from ...hlo import Computation, leaves
from ...hlo.instruction import callees_first
from .builder import Builder, undefined
from .module import Module
from .types import RegisterValue, broadcast_lanes, flatten, register_type, unflatten

Emit = Callable[[ir.IRBuilder, Computation, list[RegisterValue], int], list[RegisterValue]]

# Computations with more instructions, those that they call included, are functions.
_LARGEST_INLINE = 64

_sizes: Memo[Computation, int] = Memo()


def is_function(computation: Computation) -> bool:
    """Whether calls of the computation call a function: it is large, and no tuple is in its arguments or among its results."""
    for callee in callees_first(computation, _sizes):
        called = (c for instruction in callee.instructions for c in instruction.called_computations)
        _sizes[callee] = len(callee.instructions) + sum(_sizes[c] for c in called)
    values = (*computation.parameter_shapes, *(computation.shape.elements if computation.shape.is_tuple else ()))
    return _sizes[computation] > _LARGEST_INLINE and not any(shape.is_tuple for shape in values)


def emit_scalar_call(
    builder: ir.IRBuilder, computation: Computation, arguments: list[RegisterValue], lanes: int, emit: Emit
) -> list[RegisterValue]:
    """Call the function of a computation in every lane; ``emit`` writes its body, once for each number of lanes."""
    arguments = [broadcast_lanes(builder, argument, lanes) for argument in arguments]
    functions = builder.module.scalar_functions
    if (computation, lanes) not in functions:
        functions[computation, lanes] = _define(builder.module, computation, arguments, lanes, emit)
    function, like = functions[computation, lanes]
    returned = builder.call(function, flatten(arguments))
    registers = [builder.extract_value(returned, number) for number in range(len(flatten(like)))]
    return unflatten(registers, like)


def _define(
    module: Module, computation: Computation, arguments: list[RegisterValue], lanes: int, emit: Emit
) -> tuple[ir.Function, list[RegisterValue]]:
    """The function, and values that are made of registers as its results are."""
    returned = [register_type(shape.element_type, lanes) for shape in leaves(computation.shape)]
    parts = [2 if shape.element_type.is_complex else 1 for shape in leaves(computation.shape)]
    result = ir.LiteralStructType([register for register, count in zip(returned, parts) for _ in range(count)])
    types = [register.type for register in flatten(arguments)]
    function = ir.Function(module, ir.FunctionType(result, types), module.get_unique_name("scalar_call"))
    function.linkage = "internal"
    builder = Builder(function.append_basic_block("entry"))
    results = emit(builder, computation, unflatten(function.args, arguments), lanes)
    value: ir.Value = undefined(result)
    for number, register in enumerate(flatten([broadcast_lanes(builder, one, lanes) for one in results])):
        value = builder.insert_value(value, register, number)
    builder.ret(value)
    return function, results
