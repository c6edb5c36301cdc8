"""Methods of XlaBuilder and of the 2017 preview's ComputationBuilder that differ from an operation's own by their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import hlo
from ..hlo.attributes import quoted
from ..hlo.element_type import F32, PRED, ElementType
from ..hlo.errors import require
from ..hlo.instruction import Computation, Instruction
from ..hlo.shape import AnyShape, Shape, TupleShape


class AliasMethods:
    """A part of `phlox.xla_builder.XlaBuilder`."""

    emit: Callable[..., Instruction]
    constant: Callable[..., Instruction]
    write: Callable[..., Instruction]

    def ConstantR0(self, value: Any, element_type: ElementType | None = None) -> Instruction:
        """A scalar."""
        return self.constant(_of_rank(0, value, element_type))

    def ConstantR1(self, values: Any, value: Any = None, element_type: ElementType | None = None) -> Instruction:
        """ConstantR1(values, element_type): a vector. ConstantR1(length, value, element_type): one of equal elements."""
        if isinstance(values, int) and not isinstance(values, bool) and value is not None:
            require(values >= 0, f"ConstantR1: the length must not be negative, got {values}")
            return self.constant(np.full(values, _of_rank(0, value, element_type)))
        require(element_type is None, f"ConstantR1: the length must be an integer, got {values!r}")
        return self.constant(_of_rank(1, values, value))

    def ConstantR2(self, values: Any, element_type: ElementType | None = None) -> Instruction:
        return self.constant(_of_rank(2, values, element_type))

    def ConstantR3(self, values: Any, element_type: ElementType | None = None) -> Instruction:
        return self.constant(_of_rank(3, values, element_type))

    def ConstantR4(self, values: Any, element_type: ElementType | None = None) -> Instruction:
        return self.constant(_of_rank(4, values, element_type))

    # Source: the preview of 2017, where the arrays have types of their own.
    ConstantR2FromArray2D, ConstantR3FromArray3D, ConstantR4FromArray4D = ConstantR2, ConstantR3, ConstantR4

    def ConstantLiteral(self, literal: Any) -> Instruction:
        """An array of any rank, or a tuple of literals."""
        return self.emit("constant", literal=literal)

    def Conj(self, operand: Instruction) -> Instruction:
        """The complex conjugate; of a real number, itself."""
        return operand if operand.shape.is_tuple else self.write(hlo.conjugate, operand)

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

    def RngUniform(self, a: Instruction, b: Instruction, shape: Shape) -> Instruction:
        """Random numbers of this shape from [a, b), all of one element type."""
        return self.emit("rng", a, b, shape=shape, distribution="rng_uniform")

    def RngNormal(self, mu: Instruction, sigma: Instruction, shape: Shape) -> Instruction:
        """Random numbers of this shape, of mean mu and standard deviation sigma."""
        return self.emit("rng", mu, sigma, shape=shape, distribution="rng_normal")

    def RngBernoulli(self, mean: Instruction, shape: Shape) -> Instruction:
        """1 with the probability mean, else 0. Source: the preview of 2017."""
        is_scalar = not mean.shape.is_tuple and mean.shape.rank == 0 and mean.shape.element_type.is_float
        require(is_scalar, f"RngBernoulli: mean must be a floating-point scalar, got {mean.shape}")
        unit = shape.without_layout().with_element_type(mean.shape.element_type)
        limits = [self.constant(limit, unit.element_type) for limit in (0, 1)]
        numbers = self.RngUniform(*limits, unit)
        means = self.emit("broadcast", mean, shape=unit, dimensions=()) if unit.rank else mean
        chosen = self.emit("compare", numbers, means, direction="LT")
        return chosen if shape.element_type is PRED else self.emit("convert", chosen, shape=shape)

    def StochasticConvertType(self, operand: Instruction, random: Instruction, new_element_type: ElementType) -> Instruction:
        shape = operand.shape.without_layout().with_element_type(new_element_type)
        return self.emit("stochastic-convert", operand, random, shape=shape)

    def GetDimensionSize(self, operand: Instruction, dimension: int) -> Instruction:
        return self.emit("get-dimension-size", operand, dimensions=(dimension,))

    def SetDimensionSize(self, operand: Instruction, size: Instruction, dimension: int) -> Instruction:
        return self.emit("set-dimension-size", operand, size, dimensions=(dimension,))

    def RemoveDynamicDimension(self, operand: Instruction, dimension: int) -> Instruction:
        """The operand with this dimension static, of the size that was its bound; zeros fill it up."""
        shape = operand.shape.without_layout()
        bound, dynamic = shape.dimensions[dimension], list(shape.dynamic_dimensions)
        if dynamic:
            dynamic[dimension] = False
        size = self.constant(np.int32(bound))
        shape = shape.with_dimensions(shape.dimensions, dynamic)
        return self.emit("set-dimension-size", operand, size, shape=shape, dimensions=(dimension,))

    def DynamicReshape(
        self, operand: Instruction, dim_sizes: Any, new_size_bounds: Any, dims_are_dynamic: Any = ()
    ) -> Instruction:
        """A reshape to sizes known at run time, within these bounds; what is not dynamic has its bound's size."""
        shape = operand.shape.with_dimensions(tuple(new_size_bounds), tuple(dims_are_dynamic))
        return self.emit("dynamic-reshape", operand, *dim_sizes, shape=shape)

    def CompositeCall(
        self,
        computation: Computation,
        operands: Sequence[Instruction],
        name: str,
        composite_attributes: str = "",
        version: int = 0,
    ) -> Instruction:
        """A call of what spells out an operation of this name; composite_attributes is the text of a dictionary."""
        require(isinstance(name, str) and bool(name), f"CompositeCall: a name is required, got {name!r}")
        attributes = composite_attributes or "{}"
        in_braces = isinstance(attributes, str) and attributes[0] == "{" and attributes[-1] == "}"
        require(in_braces, f"CompositeCall: composite_attributes must be the text of a dictionary, {{...}}, got {attributes!r}")
        fields = (f"attributes={attributes}", f"name={quoted(name)}", f"version={quoted(str(int(version)))}")
        notes = {"frontend_attributes": "{" + ",".join(f"composite.{field}" for field in fields) + "}"}
        return self.emit("call", *operands, to_apply=computation, is_composite="true", annotations=notes)

    def Scan(
        self,
        inputs: Sequence[Instruction],
        inits: Sequence[Instruction],
        computation: Computation,
        scan_dimension: int,
        is_reverse: bool = False,
        is_associative: bool | None = None,
        shape: AnyShape | None = None,
    ) -> Instruction:
        """The outputs and the last carries, as a tuple unless there is one alone; ``shape`` tells the length without inputs."""
        word = "" if is_associative is None else str(is_associative).lower()
        attributes = {"dimensions": (scan_dimension,), "num_carries": len(inits), "is_reverse": is_reverse}
        return self.emit("scan", *inputs, *inits, shape=shape, **attributes, is_associative=word, to_apply=computation)

    def RaggedDot(
        self,
        lhs: Instruction,
        rhs: Instruction,
        group_sizes: Instruction,
        preferred_element_type: ElementType | None = None,
        **dimension_numbers: Any,
    ) -> Instruction:
        """The dimension numbers are those of the record."""
        return self.write(
            hlo.in_preferred_type, "ragged-dot", (lhs, rhs, group_sizes), preferred_element_type, dimension_numbers
        )

    def ScaledDot(
        self,
        lhs: Instruction,
        rhs: Instruction,
        lhs_scale: Instruction,
        rhs_scale: Instruction,
        preferred_element_type: ElementType | None = None,
        **dimension_numbers: Any,
    ) -> Instruction:
        """The dimension numbers are those of DotGeneral."""
        return self.write(
            hlo.in_preferred_type, "scaled-dot", (lhs, rhs, lhs_scale, rhs_scale), preferred_element_type, dimension_numbers
        )


def _of_rank(rank: int, values: Any, element_type: ElementType | None) -> np.ndarray:
    array = np.asarray(values, None if element_type is None else element_type.dtype)
    require(array.ndim == rank, f"ConstantR{rank}: values of rank {rank} are required, got an array of rank {array.ndim}")
    return array


def _f32(name: str, operand: Instruction) -> Instruction:
    is_f32 = not operand.shape.is_tuple and operand.shape.element_type is F32
    require(is_f32, f"{name}: an operand of element type f32 is required, got {operand.shape}")
    return operand
