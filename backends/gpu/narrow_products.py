"""Products of numbers that were narrow before they were converted to f32, as NumPy does for bf16.

Before: ``dot(convert(x), convert(y))``, in f32. After: ``dot(x, y)``, of halves and in f32, which is the same: a product of two
of these is a number of f32. Converted copies are not made, and matrix units multiply them.
"""

from __future__ import annotations

from ...compile.pass_manager import Pass
from ...compile.traversal import on_operands, transform_computations
from ...hlo import BF16, F16, F32, Computation, Instruction, Module, rebuild
from .precision import wants_precision

_PRODUCTS = ("dot", "convolution")


def narrow_products(module: Module) -> Module:
    """Products in f32 of halves that were converted to f32 become products of halves."""
    return transform_computations(module, _narrowed)


NARROW_PRODUCTS = Pass("narrow-products", narrow_products)


def _narrowed(computation: Computation) -> Computation:
    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        if instruction.opcode in _PRODUCTS and instruction.shape.element_type is F32 and not wants_precision(instruction):
            left, right = (_source(operand) for operand in operands)
            if left is not None and right is not None and left.shape.element_type is right.shape.element_type:
                return instruction.with_operands((left, right))
        return on_operands(instruction, operands)

    return rebuild(computation, transform)


def _source(operand: Instruction) -> Instruction | None:
    """The halves that an array of f32 was converted from."""
    if operand.opcode != "convert":
        return None
    (source,) = operand.operands
    return source if source.shape.element_type in (BF16, F16) else None
