"""Products of arrays that were widened before, as products of these: kernels widen what they multiply.

Before::

    a = f32[8,16] convert(x), b = f32[16,4] convert(y)    # of bf16
    r = f32[8,4] dot(a, b)

After, which reads half as much, and is for matrix units::

    r = f32[8,4] dot(x, y)

Factors and products are the same numbers; sums of matrix units may be rounded otherwise. Integers are read so, too, but for
products that matrix units multiply only as they are.
"""

from __future__ import annotations

from collections.abc import Callable

from ...compile.pass_manager import Pass
from ...compile.simplification.reductions import dot_of_transpose
from ...compile.traversal import on_operands, transform_computations
from ...hlo import BF16, F16, F32, PRED, S8, S16, U8, U16, Computation, ElementType, Instruction, Module, rebuild
from ...hlo.fast_math import has_fast_math
from .precision import wants_precision

# Numbers of these are numbers of f32, and so are the products of two of the same one of the first.
_OF_UNITS = (BF16, F16)
_SMALL_INTEGERS = (S8, U8, S16, U16)
_PRODUCTS = ("dot", "convolution")


# Whether matrix units multiply the operands of a product, which may lose bits where the program has fast math.
RunsOnUnits = Callable[[Instruction, bool], bool]


def narrow_factors_pass(runs_on_units: RunsOnUnits) -> Pass:
    """The pass for a target, which says what its matrix units multiply."""

    def run(module: Module) -> Module:
        """Products read their operands as they were before they were widened."""
        fast_math = has_fast_math(module)
        return transform_computations(module, lambda one: _transformed(one, lambda product: runs_on_units(product, fast_math)))

    return Pass("multiply-narrow-factors", run)


# For a target without any.
MULTIPLY_NARROW_FACTORS = narrow_factors_pass(lambda product, fast_math: False)


def _transformed(computation: Computation, runs_on_units: Callable[[Instruction], bool]) -> Computation:
    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        if instruction.opcode not in _PRODUCTS or wants_precision(instruction):
            return on_operands(instruction, operands)
        narrow = tuple([_narrow(operand, instruction.shape.element_type) for operand in operands])
        types = {operand.shape.element_type for operand in narrow}
        as_it_is, narrowed = on_operands(instruction, operands), on_operands(instruction, narrow)
        if narrow == operands or len(types) == 1 and not types.isdisjoint(_OF_UNITS):
            return _read_as_it_lies(narrowed)
        loses_units = runs_on_units(as_it_is) and not runs_on_units(narrowed)
        return _read_as_it_lies(narrowed) if instruction.opcode == "dot" and not loses_units else as_it_is

    return rebuild(computation, transform)


def _read_as_it_lies(product: Instruction) -> Instruction:
    """The product without transposes of its factors, which stood before these were widened."""
    made = dot_of_transpose(product) if product.opcode == "dot" else None
    if made is None:
        return product
    return Instruction(made.operation, made.operands, made.attributes, made.shape, product.name, product.source)


def _narrow(operand: Instruction, result: ElementType) -> Instruction:
    """What an operand, of the result's type, was before."""
    if operand.opcode != "convert" or operand.shape.element_type is not result:
        return operand
    before = operand.operands[0].shape.element_type
    if result is F32:
        return operand.operands[0] if before in (*_OF_UNITS, *_SMALL_INTEGERS) else operand
    is_wide = result.is_integer and result.bits >= 32
    return operand.operands[0] if is_wide and before in (PRED, *_SMALL_INTEGERS) else operand
