"""Asynchronous operations whose operands, or result, are bound after their start.

``async-start`` may have the first operands alone, and ``async-update`` and ``async-done`` further ones; the place of the result
in its shape may be ``()`` until it is bound. Read is a start with all operands, at the place where the last of them is bound.
Source: "Late Binding" of XLA's document on asynchronous instructions (``docs/async_ops.md``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import ShapeError, require
from ..instruction import Computation, Instruction, SourceLocation, make_instruction
from ..operation import OPERATIONS, Operation
from ..shape import AnyShape, TupleShape
from .asynchronous import started

_NOTHING = TupleShape(())


@dataclass(frozen=True)
class Start:
    """What was said at the start. ``record`` is the operation of a short spelling, or that of async-start."""

    record: Operation
    operands: tuple[Instruction, ...]
    attributes: Mapping[str, object]
    shape: AnyShape | None
    name: str
    source: SourceLocation | None
    annotations: Mapping[str, str]
    place: int  # among the tokens

    @property
    def opcode(self) -> str:
        """That of the operation that is started; that of the root of a computation."""
        computation = self.attributes.get("calls")
        if self.record.opcode == "async-start" and isinstance(computation, Computation):
            return computation.root.opcode
        return self.record.opcode

    def count(self) -> int | None:
        """How many operands it takes; None for any number."""
        computation = self.attributes.get("calls", self.attributes.get("to_apply"))
        if isinstance(computation, Computation) and self.record.opcode in ("async-start", "call", "fusion"):
            return len(computation.parameters)
        return None if self.record.is_variadic else len(self.record.operand_names)

    def instruction(self) -> Instruction:
        """The async-start. Raises ShapeError."""
        shape = self.shape
        if shape is not None and _leaves_out_result(shape):
            unbound = replace(self, shape=None).instruction()
            if unbound.shape.elements[1] != _NOTHING:
                shape = TupleShape((shape.elements[0], unbound.shape.elements[1], *shape.elements[2:]))
        if self.record.opcode == "async-start":
            return make_instruction(
                "async-start", self.operands, self.attributes, shape, self.name, self.source, self.annotations
            )
        return started(self.record, self.operands, self.attributes, shape, self.name, self.source, self.annotations)


class LateBinding:
    """The starts of the computation that is read, those among them that wait for operands, and how they go on."""

    def __init__(self) -> None:
        self.starts: dict[Instruction, Start] = {}
        self.waiting: dict[Instruction, Start] = {}

    def require_bound(self, operands: Iterable[Instruction]) -> None:
        """Raise ShapeError where one of them is a start that waits for operands."""
        for operand in operands:
            require(operand not in self.waiting, f"{operand.name} waits for operands: it can be updated and done, no more")

    def start(self, start: Start) -> Instruction:
        """The async-start, or, where the shape says that operands are missing, what stands for it until they are bound."""
        count, shape = start.count(), start.shape
        if count is not None and len(start.operands) < count and _says(shape, start.operands):
            instruction = Instruction(OPERATIONS["async-start"], start.operands, {}, shape, start.name)
            self.waiting[instruction] = start
        else:
            instruction = start.instruction()
        self.starts[instruction] = start
        return instruction

    def step(
        self, record: Operation, operands: Sequence[Instruction], attributes: Mapping[str, object], shape: AnyShape | None,
        name: str, source: SourceLocation | None, annotations: Mapping[str, str],
    ) -> Instruction:  # fmt: skip
        """An update or a done of a start that has all operands. Raises ShapeError."""
        self.require_bound(operands)
        if record.opcode == "async-update" and shape is not None and _leaves_out_result(shape):
            shape = None  # that of the operand
        instruction = make_instruction(record.opcode, operands, attributes, shape, name, source, annotations)
        if operands[0] in self.starts:
            self.starts[instruction] = self.starts[operands[0]]
        return instruction

    def bound(self, value: Instruction, more: tuple[Instruction, ...], shape: AnyShape | None, name: str) -> Instruction:
        """What a start becomes with more operands, at an update of this shape or, where None, a done."""
        start = self.starts.get(value)
        if start is None:
            raise ShapeError("further operands can be bound to async-start alone, or to an async-update of it")
        count, operands = start.count(), (*start.operands, *more)
        if count is not None and len(operands) > count:
            if shape is not None and _says(shape, operands[:count]):
                raise NotImplementedError(f"memory for the result of {start.name}, behind its operands, is not implemented")
            raise ShapeError(f"{start.name} takes {count} operand{'s' * (count != 1)}, {len(operands)} are bound")
        if shape is not None:
            require(
                _says(shape, operands),
                "async-update: the shape must begin with those of all operands, got ",
                shape,
            )
            start = replace(start, shape=shape)
        elif start.shape is not None:
            bound = TupleShape(tuple(operand.shape for operand in operands))
            start = replace(start, shape=TupleShape((bound, *start.shape.elements[1:])))
        self.waiting.pop(value, None)
        return self.start(replace(start, operands=operands, name=name))


def _leaves_out_result(shape: AnyShape) -> bool:
    return shape.is_tuple and len(shape.elements) > 1 and shape.elements[1] == _NOTHING


def _says(shape: AnyShape | None, operands: tuple[Instruction, ...]) -> bool:
    """Whether the shape of a start says that these operands are bound."""
    form = shape is not None and shape.is_tuple and len(shape.elements) > 1 and shape.elements[0].is_tuple
    return form and len(shape.elements[0].elements) == len(operands)
