"""Regions as native functions of their own, each emitted once.

A program that applies the same layer a hundred times holds one function for it and a hundred calls; and LLVM, some of whose
passes take more than linear time, sees many small functions instead of a huge one. What does little work stays inline,
where a call would cost more than it does, unless there is much of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ...compile.common_subexpression_elimination import ComputationKeys
from ..llvm.arrays import Array
from ..llvm.elemental import Binding
from ..llvm.interruption import InterruptibleFunction, call_interruptible
from ..llvm.module import align_stack
from ..llvm.types import I32, flatten, unflatten
from .call.python_calls import INTERRUPTED
from .target import Target

# Elements that a region must touch to become a function of its own.
_OUTLINED_ELEMENTS = 256
# What may be inline of smaller regions, by their weight; the rest become functions, too. A loop over a few elements is as short
# as a call.
_INLINE_WEIGHT = 200
_FEW_ELEMENTS, _LEAST_WEIGHT = 16, 8

EmitRegion = Callable[[ir.IRBuilder, list[Binding]], None]


class RegionFunctions:
    """Emits regions into an LLVM module, inline or as functions."""

    def __init__(self, module: ir.Module, target: Target) -> None:
        self.module, self.target = module, target
        self._functions: dict[Any, InterruptibleFunction] = {}
        self._keys = ComputationKeys()
        self._inline_weight = 0

    def emit(self, builder: ir.IRBuilder, key: tuple, values: list[Binding], emit: EmitRegion, weight: int) -> None:
        """Emit a region; ``emit(builder, values)`` does so inside of the function that it may become.

        The key is its kind, its computation, and what else its code depends on besides the shapes of the values. For each
        instruction of the computation its code is about as long as that of ``weight`` instructions in a loop.
        """
        kind, computation, *rest = key
        if self._stays_inline(weight * len(computation.instructions), values):
            emit(builder, values)
            return
        shapes = tuple(value.shape if isinstance(value, Array) else None for value in values)
        full_key = (kind, self._keys.number(computation), *rest, shapes)
        function = self._functions.get(full_key)
        if function is None:
            function = self._functions[full_key] = self._define(
                self.module.get_unique_name(f"{kind}.{len(self._functions)}"), values, emit
            )
        call_interruptible(builder, function, _registers(values))

    def _stays_inline(self, weight: int, values: list[Binding]) -> bool:
        elements = max(value.shape.size for value in values if isinstance(value, Array))
        if elements >= _OUTLINED_ELEMENTS:
            return False
        if elements <= _FEW_ELEMENTS and weight <= _LEAST_WEIGHT:
            return True
        self._inline_weight += weight
        return self._inline_weight <= _INLINE_WEIGHT

    def _define(self, name: str, values: list[Binding], emit: EmitRegion) -> InterruptibleFunction:
        types = [register.type for register in _registers(values)]
        function = InterruptibleFunction(self.module, name, types, lambda builder: builder.ret(I32(INTERRUPTED)))
        function.linkage = "internal"
        align_stack(function, self.target.vector_bytes)
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        like = [value.pointer if isinstance(value, Array) else value for value in values]
        bound = unflatten(function.args, like)
        emit(builder, [Array(b, value.shape) if isinstance(value, Array) else b for value, b in zip(values, bound)])
        builder.ret(I32(0))
        return function


def _registers(values: list[Binding]) -> list[ir.Value]:
    """The pointers of arrays and the registers of scalars."""
    return flatten([value.pointer if isinstance(value, Array) else value for value in values])
