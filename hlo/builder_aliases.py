"""Methods of XlaBuilder and of the 2017 preview's ComputationBuilder that differ from an operation's own by their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .element_type import F32, ElementType
from .errors import require
from .instruction import Instruction
from .shape import Shape, TupleShape


class AliasMethods:
    """A part of `phlox.hlo.Builder`."""

    emit: Callable[..., Instruction]
    constant: Callable[..., Instruction]

    def SqrtF32(self, operand: Instruction) -> Instruction:
        """The square root of f32 elements. Source: the preview of 2017."""
        return self.emit("sqrt", _f32("SqrtF32", operand))

    def SquareF32(self, operand: Instruction) -> Instruction:
        """The square of f32 elements. Source: the preview of 2017."""
        return self.emit("multiply", _f32("SquareF32", operand), operand)

    def ReciprocalF32(self, operand: Instruction) -> Instruction:
        """1 / x of f32 elements. Source: the preview of 2017."""
        one = self.constant(1, _f32("ReciprocalF32", operand).shape.element_type)
        ones = self.emit("broadcast", one, shape=operand.shape.without_layout(), dimensions=()) if operand.shape.rank else one
        return self.emit("divide", ones, operand)

    def RngBitGenerator(self, algorithm: str, initial_state: Instruction, shape: Shape) -> Instruction:
        """The tuple of the new state and bits of this shape; the algorithm is RNG_DEFAULT, RNG_THREE_FRY or RNG_PHILOX."""
        pair = TupleShape((initial_state.shape.without_layout(), shape))
        return self.emit("rng-bit-generator", initial_state, shape=pair, algorithm=algorithm.lower())

    def StochasticConvertType(self, operand: Instruction, random: Instruction, new_element_type: ElementType) -> Instruction:
        shape = operand.shape.without_layout().with_element_type(new_element_type)
        return self.emit("stochastic-convert", operand, random, shape=shape)

    def GetDimensionSize(self, operand: Instruction, dimension: int) -> Instruction:
        return self.emit("get-dimension-size", operand, dimensions=(dimension,))

    def DynamicReshape(self, operand: Instruction, dim_sizes: Any, new_size_bounds: Any) -> Instruction:
        """A reshape to sizes known at run time, within these bounds."""
        shape = operand.shape.with_dimensions(tuple(new_size_bounds))
        return self.emit("dynamic-reshape", operand, *dim_sizes, shape=shape)


def _f32(name: str, operand: Instruction) -> Instruction:
    is_f32 = not operand.shape.is_tuple and operand.shape.element_type is F32
    require(is_f32, f"{name}: an operand of element type f32 is required, got {operand.shape}")
    return operand
