"""Products of arrays that were widened before, as products of these: kernels widen what they multiply.

Before::

    a = f32[8,16] convert(x), b = f32[16,4] convert(y)    # of bf16
    r = f32[8,4] dot(a, b)

After, which reads half as much, and is for matrix units::

    r = f32[8,4] dot(x, y)

Factors and products are the same numbers; sums of matrix units may be rounded otherwise.
"""

from __future__ import annotations

from ...compile.pass_manager import Pass
from ...compile.traversal import on_operands, transform_computations
from ...hlo import BF16, F16, F32, S8, S16, U8, U16, Computation, Instruction, Module, rebuild
from ...hlo.fast_math import has_fast_math
from .precision import wants_precision

# Numbers of these are numbers of f32, and so are the products of two of the same one of the first.
_OF_UNITS = (BF16, F16)
_NARROW = (*_OF_UNITS, S8, U8, S16, U16)
_PRODUCTS = ("dot", "convolution")


def multiply_narrow_factors(module: Module) -> Module:
    """Products of f32 read their operands as they were before they were converted."""
    fast_math = has_fast_math(module)
    return transform_computations(module, lambda computation: _transformed(computation, fast_math))


MULTIPLY_NARROW_FACTORS = Pass("multiply-narrow-factors", multiply_narrow_factors)


def _transformed(computation: Computation, fast_math: bool) -> Computation:
    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        is_product = instruction.opcode in _PRODUCTS and instruction.shape.element_type is F32
        if not is_product or wants_precision(instruction):
            return on_operands(instruction, operands)
        narrow = tuple([_narrow(operand) for operand in operands])
        types = {operand.shape.element_type for operand in narrow}
        is_for_units = len(types) == 1 and not types.isdisjoint(_OF_UNITS)
        # Others are not, where f32 would be.
        is_read_so = is_for_units or instruction.opcode == "dot" and not fast_math
        return on_operands(instruction, narrow if is_read_so else operands)

    return rebuild(computation, transform)


def _narrow(operand: Instruction) -> Instruction:
    is_widened = operand.opcode == "convert" and operand.operands[0].shape.element_type in _NARROW
    return operand.operands[0] if is_widened and operand.shape.element_type is F32 else operand
