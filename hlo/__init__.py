"""The language: XLA's HLO as types, operation records, modules and text.

Nothing here knows how programs are traced, optimized or run, except for the NumPy evaluation that defines each operation.

The operations are functions here, named as their opcodes: ``hlo.add(x, 1)`` (see `phlox.hlo.writing`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import ops
from .builder import Builder, UnattachedBuilder, current_builder, scalar_computation, set_current_builder
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
    as_dtype,
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
from .writing import (
    FUNCTIONS,
    append,
    arguments_of,
    broadcast_in_dim,
    computation,
    conjugate,
    emit,
    eq,
    full,
    full_like,
    function_name,
    ge,
    gt,
    in_preferred_type,
    le,
    lt,
    ne,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Callable

    # The operations, as functions.
    def __getattr__(name: str) -> Callable[..., Instruction]: ...


globals().update({function_name(opcode): function for opcode, function in FUNCTIONS.items()})

__all__ = [
    "BF16", "C64", "C128", "ELEMENT_TYPES", "F16", "F32", "F64", "FUNCTIONS", "OPAQUE", "PRED", "S8", "S16", "S32", "S64",
    "TOKEN", "U8", "U16", "U32", "U64", "OPERATIONS", "AddressSpaceError", "Builder", "Computation", "ElementType", "Evaluator",
    "HloError", "HloSyntaxError", "Instruction", "InvalidSample", "Layout", "Module", "Operation", "Sample", "Shape",
    "ShapeError", "SourceLocation", "TupleShape", "UnattachedBuilder", "VerificationError", "append", "arguments_of",
    "array_leaves", "as_dtype", "broadcast_in_dim", "compatible", "component_type", "computation", "conjugate",
    "current_builder", "element_type_of", "emit", "eq", "evaluate", "evaluate_operation", "full", "full_like", "function_name",
    "ge", "gt", "in_preferred_type", "le", "leaves", "lt", "make_instruction", "module_text", "ne", "ops", "parse_module",
    "post_order", "rebuild", "scalar_computation", "set_current_builder", "shape_of", "verify",
]  # fmt: skip
