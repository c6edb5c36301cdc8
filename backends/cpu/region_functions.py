"""Regions as native functions of their own, each emitted once.

A program that applies the same layer a hundred times holds one function for it and a hundred calls; and LLVM, some of whose
passes take more than linear time, sees many small functions instead of a huge one. What does little work stays inline,
where a call would cost more than it does, unless there is much of it. What does much work is handed to the pool of threads in
pieces (`thread_pool`), where its nest says of a loop that its iterations are independent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from ...compile.common_subexpression_elimination import ComputationKeys
from ...hlo import Computation
from ..llvm.arrays import Array
from ..llvm.builder import Builder
from ..llvm.elemental import Binding
from ..llvm.interruption import InterruptibleFunction, call_interruptible, call_repeatedly
from ..llvm.memory import stack_memory
from ..llvm.module import align_stack, declaration
from ..llvm.pieces import PieceFunction
from ..llvm.types import I8, I32, I64, POINTER, flatten, unflatten
from .call.python_calls import INTERRUPTED
from .target import Target
from .thread_pool import RUN_PIECES

# Elements that a region must touch to become a function of its own.
_OUTLINED_ELEMENTS = 256
# What may be inline of smaller regions, by their weight; the rest become functions, too. A loop over a few elements is as short
# as a call.
_INLINE_WEIGHT = 200
_FEW_ELEMENTS, _LEAST_WEIGHT = 16, 8
# What takes less time than this is not divided; a piece takes at least half of it, and there are no more of them than keep many
# threads busy to the end.
_LEAST_NANOSECONDS = 16_000
_MOST_PIECES = 256
_SLOT_BYTES = 16  # of a register in memory: as large as any


@dataclass(frozen=True)
class Division:
    """That a region may be divided: all that it does is in independent loops or in one piece, or may be done in each of them.

    ``work`` estimates the nanoseconds that it takes; there are ``most`` pieces at most. ``scratch``, one of the region's
    values, is memory of so many bytes that each thread needs for itself.
    """

    work: int
    most: int = _MOST_PIECES
    scratch: ir.Value | None = None
    scratch_bytes: int = 0


UNDIVIDED = Division(0)


def most_pieces(work: int) -> int:
    """How many pieces so much work, in nanoseconds, is worth; 1 where it is not divided."""
    return min(_MOST_PIECES, 2 * work // _LEAST_NANOSECONDS) if work >= _LEAST_NANOSECONDS else 1


EmitRegion = Callable[[ir.IRBuilder, list[Binding]], None]


class RegionFunctions:
    """Emits regions into an LLVM module, inline or as functions."""

    def __init__(self, module: ir.Module, target: Target) -> None:
        self.module, self.target = module, target
        self._functions: dict[Any, InterruptibleFunction] = {}
        self._keys = ComputationKeys()
        self._inline_weight = 0

    def emit(
        self,
        builder: ir.IRBuilder,
        key: tuple,
        values: list[Binding],
        emit: EmitRegion,
        weight: int,
        division: Division = UNDIVIDED,
    ) -> int:
        """Emit a region; ``emit(builder, values)`` does so inside of the function that it may become.

        The key is its kind, its computation, and what else its code depends on besides the shapes of the values. For each
        instruction of the computation its code is about as long as that of ``weight`` instructions in a loop. Returns how
        many pieces there are.
        """
        kind, computation, *rest = key
        if self._stays_inline(weight * len(computation.instructions), values):
            emit(builder, values)
            return 1
        shapes = tuple(value.shape if isinstance(value, Array) else None for value in values)
        full_key = (kind, self.number(computation), *rest, shapes)
        function = self._functions.get(full_key)
        if function is None:
            name = self.module.get_unique_name(f"{kind}.{len(self._functions)}")
            if self.is_divided(division.work):
                function = self._define_pieces(name, values, emit, division)
            else:
                function = self._define(name, values, emit)
            self._functions[full_key] = function
        if isinstance(function, PieceFunction):
            self._call_pieces(builder, function, values, division)
            return max(1, function.count)
        call_interruptible(builder, function, _registers(values))
        return 1

    @staticmethod
    def is_divided(work: int) -> bool:
        """Whether so much work, in nanoseconds, is divided, where that is possible."""
        return work >= _LEAST_NANOSECONDS

    @staticmethod
    def memory(builder: ir.IRBuilder, size: int, align: int) -> ir.Value:
        """Memory that regions emitted from here on have in common."""
        with builder.goto_entry_block():
            return stack_memory(builder, size, align)

    def number(self, computation: Computation) -> int:
        """The same number for computations that do the same."""
        return self._keys.number(computation)

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
        builder = Builder(function.append_basic_block("entry"))
        bound = unflatten(function.args, _like(values))
        emit(builder, [Array(b, value.shape) if isinstance(value, Array) else b for value, b in zip(values, bound)])
        builder.ret(I32(0))
        return function

    def _define_pieces(self, name: str, values: list[Binding], emit: EmitRegion, division: Division) -> PieceFunction:
        wanted = min(division.most, most_pieces(division.work))
        function = PieceFunction(self.module, name, wanted, lambda builder: builder.ret(I32(INTERRUPTED)))
        function.linkage = "internal"
        align_stack(function, self.target.vector_bytes)
        builder = Builder(function.append_basic_block("entry"))
        context, _, scratch = function.args
        registers = [
            scratch if register is division.scratch else builder.load(_slot(builder, context, number), typ=register.type)
            for number, register in enumerate(_registers(values))
        ]
        bound = unflatten(registers, _like(values))
        emit(builder, [Array(b, value.shape) if isinstance(value, Array) else b for value, b in zip(values, bound)])
        builder.ret(I32(0))
        return function

    def _call_pieces(self, builder: ir.IRBuilder, function: PieceFunction, values: list[Binding], division: Division) -> None:
        registers = _registers(values)
        with builder.goto_entry_block():
            context = stack_memory(builder, _SLOT_BYTES * len(registers), _SLOT_BYTES)
        for number, register in enumerate(registers):
            builder.store(register, _slot(builder, context, number))
        scratch = ir.Constant(POINTER, None) if division.scratch is None else division.scratch
        if function.count <= 1:
            call_interruptible(builder, function, [context, I64(0), scratch])
            return
        run = declaration(self.module, RUN_PIECES, I32, [POINTER, POINTER, I64, I64, I64, POINTER, I64])
        sizes = (I64(function.count), I64(division.work))
        memory = (scratch, I64(division.scratch_bytes))
        call_repeatedly(
            builder,
            function,
            function.count,
            lambda checks: builder.call(run, [function, context, *sizes, I64(int(checks)), *memory]),
        )


def _slot(builder: ir.IRBuilder, memory: ir.Value, number: int) -> ir.Value:
    return builder.gep(memory, [I64(_SLOT_BYTES * number)], source_etype=I8)


def _like(values: list[Binding]) -> list[Any]:
    return [value.pointer if isinstance(value, Array) else value for value in values]


def _registers(values: list[Binding]) -> list[ir.Value]:
    """The pointers of arrays and the registers of scalars."""
    return flatten(_like(values))
