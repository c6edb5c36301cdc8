"""The language: XLA's HLO as types, operation records, modules and text.

Nothing here knows how programs are traced, optimized or run, except for the NumPy evaluation that defines each operation.
"""

from . import ops
from .builder import Builder, scalar_computation
from .element_type import (
    BF16,
    C64,
    C128,
    ELEMENT_TYPES,
    F16,
    F32,
    F64,
    OPAQUE,
    PRED,
    S8,
    S16,
    S32,
    S64,
    TOKEN,
    U8,
    U16,
    U32,
    U64,
    ElementType,
    component_type,
    element_type_of,
)  # fmt: skip
from .errors import AddressSpaceError, HloError, HloSyntaxError, ShapeError, VerificationError
from .evaluation import Evaluator, evaluate, evaluate_operation
from .instruction import Computation, Instruction, Module, SourceLocation, make_instruction, post_order, rebuild
from .operation import OPERATIONS, InvalidSample, Operation, Sample
from .shape import Layout, Shape, TupleShape, array_leaves, compatible, leaves, shape_of
from .text import module_text, parse_module
from .verifier import verify

__all__ = [
    "BF16", "C64", "C128", "ELEMENT_TYPES", "F16", "F32", "F64", "OPAQUE", "PRED", "S8", "S16", "S32", "S64", "TOKEN",
    "U8", "U16", "U32", "U64", "OPERATIONS", "AddressSpaceError", "Builder", "Computation", "ElementType",
    "Evaluator", "HloError", "HloSyntaxError", "Instruction", "InvalidSample", "Layout", "Module", "Operation",
    "Sample", "Shape", "ShapeError", "SourceLocation", "TupleShape", "VerificationError", "array_leaves",
    "compatible", "component_type", "element_type_of", "evaluate", "evaluate_operation", "leaves", "make_instruction",
    "module_text", "ops", "parse_module", "post_order", "rebuild", "scalar_computation", "shape_of", "verify",
]  # fmt: skip
