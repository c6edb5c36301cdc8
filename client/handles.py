"""Data handles, and the check that a builder's operation gets handles where it takes values."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from .. import hlo
from ..hlo import Instruction
from ..hlo.operation import ELEMENTWISE, OPERATIONS
from ..xla_builder import XlaBuilder
from .computation import Computation
from .shapes import as_element_type, require_shape


class ComputationDataHandle:
    """Refers to a value in a computation that is being built; empty (``instruction`` is None) after an error."""

    __slots__ = ("builder", "instruction")

    def __init__(self, builder: XlaBuilder, instruction: Instruction | None) -> None:
        self.builder, self.instruction = builder, instruction

    def __repr__(self) -> str:
        if self.instruction is None:
            return "<empty handle: an operation has failed>"
        operands = ", ".join("%" + (operand.name or operand.opcode) for operand in self.instruction.operands)
        return f"<handle of {self.instruction.shape} {self.instruction.opcode}({operands})>"


@cache
def operation_signature(name: str) -> inspect.Signature | None:
    """What the operation of this name takes, annotated; None where `phlox.xla_builder.XlaBuilder` has none of the name."""
    method = getattr(XlaBuilder, name, None)
    if method is not None:
        parameters = list(inspect.signature(method).parameters.values())[1:]
        return inspect.Signature(parameters)
    record = _record_of(name)
    return None if record is None else _signature_of(record)


def operation_documentation(name: str) -> str | None:
    """The docstring of the builder's method, and that of the operation which is named after it.

    >>> operation_documentation("Sin").splitlines()[0]
    'Sin(operand): element by element, the sine of x in radians.'
    """
    record, method = _record_of(name), getattr(XlaBuilder, name, None)
    parts = [inspect.getdoc(method) if method is not None else None, record.documentation if record is not None else None]
    return "\n\n".join(filter(None, parts)) or None


def _record_of(name: str) -> hlo.Operation | None:
    return next((record for record in OPERATIONS.values() if record.builder == name), None)


def _signature_of(record: hlo.Operation) -> inspect.Signature:
    """That of a method that `phlox.xla_builder.XlaBuilder` makes from the record: the operands, then the attributes."""
    kind = inspect.Parameter
    parameters = []
    for operand in record.operand_names:
        how = kind.VAR_POSITIONAL if operand.startswith("*") else kind.POSITIONAL_OR_KEYWORD
        parameters.append(kind(operand.lstrip("*"), how, annotation="Instruction"))
    if len(record.operand_names) == 2 and ELEMENTWISE in record.traits and not record.attributes:
        parameters.append(kind("broadcast_dimensions", kind.POSITIONAL_OR_KEYWORD, default=()))
        return inspect.Signature(parameters)
    how = kind.KEYWORD_ONLY if record.is_variadic else kind.POSITIONAL_OR_KEYWORD
    for attribute in record.attributes:
        parameters.append(kind(attribute, how, default=None))
    for option, annotation in (("shape", "AnyShape"), ("name", "str")):
        if option not in record.attributes:
            parameters.append(kind(option, kind.KEYWORD_ONLY, default=None, annotation=annotation))
    return inspect.Signature(parameters)


def check_arguments(name: str, signature: inspect.Signature, bound: inspect.BoundArguments) -> None:
    """Raise TypeError unless there are handles for values, computations for computations, and shapes for shapes.

    A dtype that stands for an element type is replaced by it.
    """
    for parameter, value in bound.arguments.items():
        annotation = str(signature.parameters[parameter].annotation)
        if annotation.startswith("ElementType") and value is not None:
            bound.arguments[parameter] = as_element_type(value)
        if annotation.startswith(("Shape", "AnyShape")) and value is not None:
            require_shape(f"{name}: {parameter}", value)
        if annotation.startswith("Computation") and not isinstance(value, Computation):
            if value is not None or "None" not in annotation:
                raise TypeError(f"{name}: {parameter} must be a Computation, as Build returns it, got {_given(value)}")
        if "Instruction" not in annotation:
            continue
        is_variadic = signature.parameters[parameter].kind is inspect.Parameter.VAR_POSITIONAL
        takes_many = is_variadic or "Sequence[Instruction]" in annotation
        takes_one = not is_variadic and annotation.startswith("Instruction")
        if takes_many and isinstance(value, list | tuple):
            elements = value
        elif takes_one:
            elements = [value]
        else:
            raise TypeError(f"{name}: {parameter} must be a sequence of data handles, got {_given(value)}")
        for element in elements:
            if not isinstance(element, ComputationDataHandle):
                raise TypeError(f"{name}: {parameter}: a data handle of this builder is required, got {_given(element)}")


def _given(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"
