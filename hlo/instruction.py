"""Instructions, computations and modules: a program as a graph of operations.

An instruction's identity (operation, operands, attributes, shape) never changes; passes build new instructions. Name,
source location and other metadata stand outside the identity.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from .attributes import REQUIRED
from .errors import HloError, ShapeError
from .inference import KnownUses
from .operation import CALLS, OPERATIONS, Operation
from .shape import AnyShape, TupleShape, compatible


@dataclass(frozen=True)
class SourceLocation:
    """Where in the user's code an instruction comes from.

    ``metadata`` is all that a dump says of it, ``{op_type="add" op_name="jit(f)/add" ...}``, as text; it does not count in
    comparisons. ``file`` is empty where the dump names none.
    """

    file: str
    line: int
    function: str = ""
    metadata: str = field(default="", compare=False, repr=False)

    def __bool__(self) -> bool:
        return bool(self.file or self.function)

    def __str__(self) -> str:
        return " in ".join(filter(None, (f"{self.file}:{self.line}" if self.file else "", self.function)))


_NO_ANNOTATIONS: Mapping[str, str] = MappingProxyType({})


class Instruction:
    """One application of an operation.

    ``shape`` is the result shape; ``operands`` are instructions of the same computation; ``attributes`` holds a value for each
    attribute of the operation. ``annotations`` keeps text attributes that have no meaning here (sharding, backend
    configs, ...), by name, as they were spelled.
    """

    __slots__ = ("operation", "opcode", "operands", "attributes", "shape", "name", "source", "annotations", "__weakref__")

    def __init__(
        self,
        operation: Operation,
        operands: tuple[Instruction, ...],
        attributes: dict[str, Any],
        shape: AnyShape,
        name: str = "",
        source: SourceLocation | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        self.operation, self.opcode = operation, operation.opcode
        self.operands, self.attributes, self.shape = operands, attributes, shape
        self.name, self.source, self.annotations = name, source, annotations or _NO_ANNOTATIONS

    def has_trait(self, trait: str) -> bool:
        return trait in self.operation.traits

    @property
    def called_computations(self) -> list[Computation]:
        """The computations among the attributes, in order."""
        called: list[Computation] = []
        for name in self.operation.names_of_computations:
            value = self.attributes.get(name)
            if isinstance(value, tuple):
                called.extend(value)
            elif value is not None:
                called.append(value)
        return called

    def with_operands(self, operands: Iterable[Instruction], **changed_attributes: Any) -> Instruction:
        """The same operation on other operands of the same shapes (not checked again), metadata kept."""
        attributes = {**self.attributes, **changed_attributes} if changed_attributes else self.attributes
        return Instruction(self.operation, tuple(operands), attributes, self.shape, self.name, self.source, self.annotations)

    def __repr__(self) -> str:
        operands = ", ".join("%" + (operand.name or operand.opcode) for operand in self.operands)
        return f"<{'%' + self.name + ' = ' if self.name else ''}{self.shape} {self.opcode}({operands})>"


def make_instruction(
    opcode: str,
    operands: Iterable[Instruction] = (),
    attributes: Mapping[str, Any] | None = None,
    shape: AnyShape | None = None,
    name: str = "",
    source: SourceLocation | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Instruction:
    """A checked instruction: attributes completed by their defaults, shape inferred.

    ``shape`` is the result shape as the program states it: required by the operations that cannot infer it, compared with the
    inferred one otherwise; its layout is kept. Raises ShapeError.
    """
    record = OPERATIONS.get(opcode)
    if record is None:
        raise NotImplementedError(f"operation {opcode} is not known")
    operands = tuple(operands)
    record.check_operand_count(len(operands))
    completed = complete_attributes(record, attributes or {})
    shape = result_shape(record, tuple([operand.shape for operand in operands]), completed, shape)
    return Instruction(record, operands, completed, shape, name, source, annotations)


def result_shape(
    record: Operation, operands: tuple[AnyShape, ...], attributes: dict[str, Any], stated: AnyShape | None
) -> AnyShape:
    """The shape of an instruction with operands of these shapes and these attributes, all of them; the layout is the stated.

    Raises ShapeError.
    """
    record.check_operand_count(len(operands))
    inferred = record.infer_shape(operands, attributes, stated)
    if stated is None:
        return inferred
    if not compatible(stated, inferred):
        raise ShapeError(f"{record.opcode}: the result shape is {inferred}, but {stated} was stated")
    return stated


def complete_attributes(record: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    """A value for each attribute of the operation, checked, or its default. Raises ShapeError."""
    completed = {}
    for name, kind in record.attributes.items():
        if name in given:
            try:
                completed[name] = kind.check(given[name])
            except ShapeError as error:
                raise ShapeError(f"{record.opcode}: attribute {name}: {error}") from None
        elif kind.default is REQUIRED:
            raise ShapeError(f"{record.opcode}: attribute {name} is required")
        else:
            completed[name] = kind.default
    if len(given) > len(completed) or not given.keys() <= completed.keys():
        unknown = sorted(given.keys() - completed.keys())
        known = ", ".join(record.attributes) or "none"
        raise ShapeError(f"{record.opcode}: no attribute named {', '.join(unknown)}; known: {known}")
    return completed


@dataclass(eq=False)
class Computation:
    """A function: parameters, instructions in an order in which they can run, and the root, which is the result.

    ``execution_thread`` is the name of the thread that XLA would run it on, kept as text; empty for the main one.
    """

    name: str
    instructions: tuple[Instruction, ...]
    root: Instruction
    execution_thread: str = ""
    parameters: tuple[Instruction, ...] = field(init=False)

    def __post_init__(self) -> None:
        found = [instruction for instruction in self.instructions if instruction.opcode == "parameter"]
        self.parameters = tuple(sorted(found, key=lambda parameter: parameter.attributes["number"]))

    @property
    def shape(self) -> AnyShape:
        """The shape of the result."""
        return self.root.shape

    @property
    def parameter_shapes(self) -> tuple[AnyShape, ...]:
        return tuple(parameter.shape for parameter in self.parameters)

    @cached_property
    def calling(self) -> tuple[Instruction, ...]:
        """The instructions that call computations, in order."""
        return tuple([instruction for instruction in self.instructions if CALLS in instruction.operation.traits])

    @property
    def combining_operation(self) -> Operation | None:
        """The operation, where all that the computation does is to combine its two parameters by one."""
        operands = self.root.operands
        if len(self.instructions) != 3 or len(operands) != 2 or set(operands) != set(self.parameters):
            return None
        return self.root.operation

    def callees(self) -> Iterator[Computation]:
        """The computations that its instructions call, in order, as often as they do."""
        for instruction in self.instructions:
            if instruction.operation.names_of_computations:
                yield from instruction.called_computations

    def __repr__(self) -> str:
        return f"<computation {self.name}: ({', '.join(map(str, self.parameter_shapes))}) -> {self.shape}>"


@dataclass(eq=False)
class Module:
    """A program: the entry computation and, through it, all computations that it calls.

    ``attributes`` keeps what the module's header says besides (``input_output_alias``, ``replica_count``, ...), by
    name, as text, and ``source_tables`` the tables of files and stack frames. Two modules are equal if their programs are:
    names, source locations and order do not count.
    """

    name: str
    entry: Computation
    attributes: dict[str, str] = field(default_factory=dict)
    source_tables: str = ""
    inferred: KnownUses | None = field(default=None, init=False, repr=False)  # while it was made, until it is verified

    def computations(self) -> list[Computation]:
        """All computations, callees before their callers, the entry last."""
        return callees_first(self.entry)

    @property
    def replica_count(self) -> int:
        """How many replicas the program runs as, by the header's ``replica_count``. Raises HloError where that is no count."""
        return self._count("replica_count")

    @property
    def partition_count(self) -> int:
        """How many partitions each replica has, by the header's ``num_partitions``. Raises HloError where that is no count."""
        return self._count("num_partitions")

    @property
    def device_count(self) -> int:
        return self.replica_count * self.partition_count

    def _count(self, name: str) -> int:
        text = self.attributes.get(name, "1")
        if not text.isascii() or not text.isdecimal() or int(text) < 1:
            raise HloError(f"module {self.name}: {name} must be an integer above 0, got {text}")
        return int(text)

    def instruction_count(self) -> int:
        return sum(len(computation.instructions) for computation in self.computations())

    def as_text(self, **options: Any) -> str:
        """The module in XLA's HLO text."""
        from .text.printer import module_text  # which stands above

        return module_text(self, **options)

    def __str__(self) -> str:
        return self.as_text()

    def _repr_svg_(self) -> str:
        from .drawing import module_svg  # which stands above

        return module_svg(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Module):
            return NotImplemented
        from .equality import same_computation  # which stands above

        return same_computation(self.entry, other.entry) and self.attributes == other.attributes

    __hash__ = object.__hash__


def callees_first(
    entry: Computation,
    known: Container[Computation] = (),
    follows: Callable[[Instruction], bool] = lambda instruction: True,
) -> list[Computation]:
    """The computations that the entry calls, directly or not, by instructions that are followed; the entry last.

    What is in ``known`` is left out, and so is what only the known call.
    """
    ordered: dict[Computation, None] = {}
    stack = [(entry, False)]
    while stack:
        computation, has_callees = stack.pop()
        if has_callees:
            ordered[computation] = None
        elif computation not in ordered and computation not in known:
            stack.append((computation, True))
            for instruction in reversed(computation.calling):
                if follows(instruction):
                    stack.extend((c, False) for c in reversed(instruction.called_computations) if c not in ordered)
    return list(ordered)


def post_order(root: Instruction, known: Container[Instruction] = ()) -> Iterator[Instruction]:
    """All instructions that root depends on, operands before their users, root last.

    What is in ``known`` is left out, and so is what only the known depends on.
    """
    seen: set[Instruction] = set()
    stack: list[tuple[Instruction, bool]] = [(root, False)]
    while stack:
        instruction, expanded = stack.pop()
        if expanded:
            yield instruction
        elif instruction not in seen and instruction not in known:
            seen.add(instruction)
            stack.append((instruction, True))
            stack.extend((operand, False) for operand in reversed(instruction.operands))


def rebuild(computation: Computation, transform: Callable[[Instruction, tuple[Instruction, ...]], Instruction]) -> Computation:
    """The computation with each instruction replaced by ``transform(instruction, new operands)``, in order.

    The result is the same object where nothing changed. New operands that are not instructions of the computation
    become part of it, before their first user.
    """
    replaced: dict[Instruction, Instruction] = {}
    instructions: dict[Instruction, None] = {}

    for position, instruction in enumerate(computation.instructions):
        operands = instruction.operands
        if replaced:
            operands = tuple([replaced.get(operand, operand) for operand in operands])
        result = transform(instruction, operands)
        if result is not instruction:
            if not replaced:  # most are left as they are, by most passes
                instructions = dict.fromkeys(computation.instructions[:position])
            replaced[instruction] = result
        elif not replaced:
            continue
        if result in instructions:
            continue
        for operand in result.operands:
            if operand not in instructions:
                for needed in post_order(result, instructions):
                    instructions[needed] = None
                break
        else:
            instructions[result] = None
    if not replaced:
        return computation
    return Computation(computation.name, tuple(instructions), replaced.get(computation.root, computation.root))


def tuple_of(instructions: Iterable[Instruction]) -> TupleShape:
    """The shape of a tuple of these instructions' results."""
    return TupleShape(tuple(instruction.shape for instruction in instructions))
