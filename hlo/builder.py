"""Builds computations, instruction by instruction.

``Builder.emit(opcode, ...)`` makes any instruction. Inside of ``with builder:`` the functions of `phlox.hlo` that are named as
operations (`phlox.hlo.writing`) write into it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from .element_type import ElementType
from .errors import require
from .instruction import Computation, Instruction, Module, SourceLocation, make_instruction
from .shape import AnyShape, Shape

Where = Callable[[], "SourceLocation | None"]


class Builder:
    """Builds one computation.

    ``where``, if given, is called for each instruction and tells where in the user's code it comes from.

    >>> from phlox import hlo
    >>> with Builder("axpy") as b:
    ...     x, y = (b.parameter(hlo.Shape(hlo.F32, (3,)), name) for name in "xy")
    ...     axpy = b.build(hlo.add(hlo.multiply(x, 2), y))
    >>> axpy
    <computation axpy: (f32[3], f32[3]) -> f32[3]>
    """

    def __init__(self, name: str, where: Where | None = None) -> None:
        self.name = name
        self.where = where
        self.instructions: list[Instruction] = []
        self._parameter_count = 0
        self._enclosing: list[Builder] = []

    def __enter__(self) -> Builder:
        self._enclosing.append(current.builder)
        current.builder = self
        return self

    def __exit__(self, *exception: object) -> None:
        current.builder = self._enclosing.pop()

    def append(self, instruction: Instruction) -> Instruction:
        self.instructions.append(instruction)
        return instruction

    def emit(
        self,
        opcode: str,
        *operands: Instruction,
        shape: AnyShape | None = None,
        name: str = "",
        annotations: Mapping[str, str] | None = None,
        **attributes: Any,
    ) -> Instruction:
        """Append the instruction; ``shape`` is the result shape where the operation cannot infer it. Raises ShapeError."""
        source = self.where() if self.where is not None else None
        return self.append(self.canonical(make_instruction(opcode, operands, attributes, shape, name, source, annotations)))

    def canonical(self, made: Instruction) -> Instruction:
        """What stands for an instruction that has been made, before it is appended."""
        return made

    def write(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """What a function of `phlox.hlo` returns that writes here."""
        with self:
            return function(*arguments, **keywords)

    def parameter(self, shape: AnyShape, name: str = "") -> Instruction:
        """The next parameter of the computation."""
        self._parameter_count += 1
        return self.emit("parameter", shape=shape, name=name, number=self._parameter_count - 1)

    def constant(self, value: Any, element_type: ElementType | None = None) -> Instruction:
        """A constant array; the dtype of value decides the element type unless one is given.

        Arrays and NumPy's scalars are converted to it as ``astype`` does. Raises OverflowError for a Python int that does not
        fit.
        """
        if element_type is None:
            literal = np.asarray(value)
            return self.emit("constant", literal=literal.astype(literal.dtype.newbyteorder("="), copy=False))
        with np.errstate(all="ignore"):
            if isinstance(value, (np.ndarray, np.generic)):
                return self.emit("constant", literal=np.asarray(value).astype(element_type.dtype))
            try:
                literal = np.asarray(value, element_type.dtype)
            except (TypeError, ValueError, OverflowError) as error:
                raise error.with_traceback(None) from None  # the value is to blame: the compiler raises it
            return self.emit("constant", literal=literal)

    def build(self, root: Instruction | None = None) -> Computation:
        """The computation that returns root (by default the last instruction that is not a trace)."""
        require(bool(self.instructions), f"computation {self.name} has no instructions")
        if root is None:
            values = (instruction for instruction in reversed(self.instructions) if instruction.opcode != "trace")
            root = next(values, self.instructions[-1])
        return Computation(self.name, tuple(self.instructions), root)

    def build_module(self, root: Instruction | None = None) -> Module:
        return Module(self.name, self.build(root))


class UnattachedBuilder(Builder):
    """Writes instructions that stand in no computation yet: `phlox.hlo.rebuild` takes them in with their users."""

    def append(self, instruction: Instruction) -> Instruction:
        return instruction


class _Current(threading.local):
    builder: Builder = UnattachedBuilder("")


current = _Current()


def current_builder() -> Builder:
    """The builder into which this thread writes."""
    return current.builder


def set_current_builder(builder: Builder | None) -> None:
    """For recordings that are left in other ways than by a ``with`` block; None is no builder at all."""
    current.builder = _Current.builder if builder is None else builder


@cache
def scalar_computation(opcode: str, element_type: ElementType) -> Computation:
    """The computation of one binary operation on two scalars, as a reduction's ``to_apply``.

    >>> from phlox.hlo import F32
    >>> scalar_computation("add", F32)
    <computation add_f32: (f32[], f32[]) -> f32[]>
    """
    b = Builder(f"{opcode}_{element_type.name}")
    scalar = Shape(element_type)
    return b.build(b.emit(opcode, b.parameter(scalar, "a"), b.parameter(scalar, "b")))


@cache
def ascending_order(element_types: tuple[ElementType, ...]) -> Computation:
    """The comparator of a sort by the first operand; floats in total order.

    >>> from phlox.hlo import F32, S32
    >>> ascending_order((F32, S32))
    <computation ascending_f32: (f32[], f32[], s32[], s32[]) -> pred[]>
    """
    b = Builder(f"ascending_{element_types[0].name}")
    first, second, *_ = [b.parameter(Shape(element_type)) for element_type in element_types for _ in range(2)]
    total = "TOTALORDER" if element_types[0].is_float else ""
    return b.build(b.emit("compare", first, second, direction="LT", type=total))
