"""HLO text to modules.

Source of the grammar: ``xla/hlo/parser/hlo_parser.cc``. What has a meaning here goes through the operations' records; the
rest of what XLA prints (sharding, backend configurations, ...) is kept as text. Computations may stand in any order: one that
is called is parsed when its first caller needs it, on an explicit stack.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from ..attributes import AttributeKind, LiteralValue
from ..errors import HloError, HloSyntaxError
from ..instruction import Computation, Instruction, Module, SourceLocation, make_instruction
from ..operation import OPERATIONS, Operation
from ..shape import AnyShape, compatible
from .lexer import END, Cursor
from .literals import parse_literal
from .printer import entry_layout_text
from .shapes import parse_shape, starts_shape
from .source_tables import SourceTables, parse_metadata

MAX_CALL_DEPTH = 64

# Attributes of instructions that do not change what they compute, kept as they are spelled.
ANNOTATIONS = frozenset({
    "algorithm", "allow_spmd_sharding_propagation", "async_execution_thread", "backend_config", "control-predecessors",
    "frontend_attributes", "inner_tile", "operand_precision", "original_value", "outer_dimension_partitions",
    "output_to_operand_aliasing", "parameter_replication", "result_accuracy", "schedule", "sharding", "statistics",
})  # fmt: skip


def parse_module(text: str, name: str = "<text>") -> Module:
    """The module that this HLO text describes; ``name`` is that of the file, for error messages.

    Raises HloSyntaxError, with line and column, for text that XLA could not read either and for instructions that break a
    constraint of their operation; NotImplementedError for an operation that is not known.

    >>> module = parse_module('''
    ... HloModule square
    ... ENTRY main {
    ...   x = f32[3] parameter(0)
    ...   ROOT y = f32[3] multiply(x, x)
    ... }''')
    >>> module.entry
    <computation main: (f32[3]) -> f32[3]>
    """
    if not isinstance(text, str):
        raise TypeError(f"HLO text must be a str, got {type(text).__name__}")
    return _ModuleParser(text, "" if name == "<text>" else name).parse()


@dataclass(eq=False)
class _Body:
    """A computation that is being read: its header, where its next instruction stands, and what has been read."""

    name: str
    is_entry: bool
    place: int  # of its name, among the tokens
    signature: tuple[list[AnyShape], AnyShape] | None
    position: int
    instructions: list[Instruction] = field(default_factory=list)
    by_name: dict[str, Instruction] = field(default_factory=dict)
    root: Instruction | None = None
    computation: Computation | None = None


class _CalleeNeeded(Exception):
    """A computation must be read before the instruction that calls it."""

    def __init__(self, body: _Body, place: int) -> None:
        self.body, self.place = body, place


class _ModuleParser:
    def __init__(self, text: str, file: str) -> None:
        self.cursor = Cursor(text, file, self._resolve_computation)
        self.bodies: dict[str, _Body] = {}
        self.sources = SourceTables()

    def parse(self) -> Module:
        cursor = self.cursor
        name, attributes = self._header()
        self.sources.parse(cursor)
        while cursor.token is not END:
            self._outline()
        if not self.bodies:
            cursor.fail(f"a computation expected, found {cursor.description()}")
        for body in self.bodies.values():
            self._read(body)
        entry = self._entry()
        module = Module(name or entry.name, entry, attributes)
        if attributes.get("entry_computation_layout") == entry_layout_text(module):
            del attributes["entry_computation_layout"]
        return module

    def _header(self) -> tuple[str, dict[str, str]]:
        """``HloModule name, attribute=value, ...``; the header may be missing."""
        cursor = self.cursor
        attributes: dict[str, str] = {}
        if not cursor.accept("HloModule"):
            return "", attributes
        name = cursor.name("the module's name")
        while cursor.accept(","):
            place = cursor.position
            key = cursor.identifier()
            cursor.expect("=")
            if key in attributes:
                cursor.fail(f"the module has two attributes {key}", place)
            attributes[key] = cursor.raw_value()
        return name, attributes

    def _outline(self) -> None:
        """Note one computation, ``[ENTRY] name [(parameters) -> shape] { ... }``, without reading its instructions."""
        cursor = self.cursor
        is_entry = cursor.accept("ENTRY")
        place = cursor.position
        name = cursor.name("the name of a computation")
        if name in self.bodies:
            cursor.fail(f"two computations have the name {name}", place)
        signature = self._signature() if cursor.token == "(" else None
        if cursor.token != "{":
            cursor.fail(f"'{{' expected, found {cursor.description()}")
        self.bodies[name] = _Body(name, is_entry, place, signature, cursor.position + 1)
        cursor.skip_brackets()
        while cursor.accept(","):
            cursor.identifier()  # execution_thread
            cursor.expect("=")
            cursor.raw_value()

    def _signature(self) -> tuple[list[AnyShape], AnyShape]:
        cursor = self.cursor
        cursor.expect("(")
        shapes: list[AnyShape] = []
        while not cursor.accept(")"):
            if shapes:
                cursor.expect(",")
            cursor.name("the name of a parameter")
            cursor.expect(":")
            shapes.append(parse_shape(cursor))
        cursor.expect("->")
        return shapes, parse_shape(cursor)

    def _entry(self) -> Computation:
        entries = [body for body in self.bodies.values() if body.is_entry]
        if len(entries) > 1:
            self.cursor.fail("the module has two ENTRY computations", entries[1].place)
        if not entries and len(self.bodies) > 1:
            self.cursor.fail("one of the computations must be marked ENTRY", next(iter(self.bodies.values())).place)
        body = entries[0] if entries else next(iter(self.bodies.values()))
        assert body.computation is not None
        return body.computation

    def _resolve_computation(self, name: str) -> Computation:
        place = self.cursor.position - 1
        body = self.bodies.get(name)
        if body is None:
            self.cursor.fail(f"there is no computation {name} in this module", place)
        if body.computation is None:
            raise _CalleeNeeded(body, place)
        return body.computation

    def _read(self, body: _Body) -> None:
        """Read a computation, and before it those that it calls."""
        stack = [] if body.computation is not None else [body]
        while stack:
            current = stack[-1]
            try:
                self._read_instructions(current)
                stack.pop()
            except _CalleeNeeded as needed:
                if needed.body in stack:
                    names = " calls ".join(caller.name for caller in (*stack[stack.index(needed.body) :], needed.body))
                    self.cursor.fail(f"computations must not be recursive: {names}", needed.place)
                if len(stack) == MAX_CALL_DEPTH:
                    self.cursor.fail(f"calls are nested deeper than {MAX_CALL_DEPTH}", needed.place)
                stack.append(needed.body)

    def _read_instructions(self, body: _Body) -> None:
        cursor = self.cursor
        cursor.position = body.position
        while cursor.token != "}":
            self._read_instruction(body)
            body.position = cursor.position
        if not body.instructions:
            cursor.fail(f"computation {body.name} has no instructions")
        computation = Computation(body.name, tuple(body.instructions), body.root or body.instructions[-1])
        self._check_computation(body, computation)
        body.computation = computation

    def _check_computation(self, body: _Body, computation: Computation) -> None:
        numbers = [parameter.attributes["number"] for parameter in computation.parameters]
        if numbers != list(range(len(numbers))):
            self.cursor.fail(f"the parameters of {body.name} must be numbered 0, 1, ..., got {numbers}", body.place)
        if body.signature is None:
            return
        shapes, result = body.signature
        actual = computation.parameter_shapes
        if len(shapes) != len(actual) or not all(map(compatible, shapes, actual)):
            stated = ", ".join(map(str, shapes))
            found = ", ".join(map(str, actual))
            self.cursor.fail(f"{body.name} is stated to take ({stated}), but its parameters are ({found})", body.place)
        if not compatible(result, computation.shape):
            message = f"{body.name} is stated to return {result}, but its root has shape {computation.shape}"
            self.cursor.fail(message, body.place)

    def _read_instruction(self, body: _Body) -> None:
        """``[ROOT] name = shape opcode(operands), attribute=value, ...``"""
        cursor = self.cursor
        is_root = cursor.accept("ROOT")
        place = cursor.position
        name = cursor.name("the name of an instruction")
        if name in body.by_name:
            cursor.fail(f"two instructions of {body.name} have the name {name}", place)
        if is_root and body.root is not None:
            cursor.fail(f"computation {body.name} has two ROOT instructions", place)
        cursor.expect("=")
        shape = parse_shape(cursor) if starts_shape(cursor) else None
        opcode_place = cursor.position
        record = self._operation()
        given: dict[str, object] = {}
        operands = self._parentheses(record, body, shape, given)
        annotations, source = self._attributes(record, given)
        try:
            instruction = make_instruction(record.opcode, operands, given, shape, name, source, annotations)
        except HloSyntaxError:
            raise
        except HloError as error:
            cursor.fail(str(error), opcode_place)
        body.instructions.append(instruction)
        body.by_name[name] = instruction
        if is_root:
            body.root = instruction

    def _operation(self) -> Operation:
        cursor = self.cursor
        place = cursor.position
        opcode = cursor.identifier()
        record = OPERATIONS.get(opcode)
        if record is None:
            if cursor.token != "(":
                cursor.fail(f"'shape opcode(operands)' expected, found {opcode!r}", place)
            line, column = cursor.line_and_column(place)
            where = f"{cursor.file}, " if cursor.file else ""
            raise NotImplementedError(f"{where}line {line}, column {column}: operation {opcode} is not implemented")
        return record

    def _parentheses(
        self, record: Operation, body: _Body, shape: AnyShape | None, given: dict[str, object]
    ) -> list[Instruction]:
        """The operands; or the attribute that stands in their place, put among the given ones."""
        cursor = self.cursor
        cursor.expect("(")
        operands: list[Instruction] = []
        inside = [(name, kind) for name, kind in record.attributes.items() if kind.stands_in_parentheses]
        for name, kind in inside:
            if isinstance(kind, LiteralValue):
                if shape is None:
                    cursor.fail("a constant needs its shape stated")
                given[name] = parse_literal(cursor, shape)
            else:
                given[name] = kind.parse(cursor)
        while not inside and cursor.token != ")":
            if operands:
                cursor.expect(",")
            operands.append(self._operand(body))
        cursor.expect(")")
        return operands

    def _operand(self, body: _Body) -> Instruction:
        cursor = self.cursor
        if cursor.following() in ",)":
            stated = None
            operand = body.by_name.get(cursor.token.removeprefix("%"))
            if operand is not None:
                cursor.position += 1
                return operand
        else:
            stated = parse_shape(cursor)
        place = cursor.position
        name = cursor.name("an operand")
        operand = body.by_name.get(name)
        if operand is None:
            cursor.fail(f"operand {name} is not defined before it is used", place)
        if stated is not None and not compatible(stated, operand.shape):
            cursor.fail(f"operand {name} is stated to have shape {stated}, but it has {operand.shape}", place)
        return operand

    def _attributes(self, record: Operation, given: dict[str, object]) -> tuple[dict[str, str], SourceLocation | None]:
        """``, name=value`` as often as it stands there: known ones are put among the given, the others returned."""
        cursor = self.cursor
        annotations: dict[str, str] = {}
        source = None
        spellings = _spellings(record.opcode)
        while cursor.accept(","):
            place = cursor.position
            spelling = cursor.identifier()
            cursor.expect("=")
            name, kind = spellings.get(spelling, (spelling, None))
            if name in given or name in annotations:
                cursor.fail(f"{record.opcode} has two attributes {spelling}", place)
            if kind is not None:
                given[name] = kind.parse(cursor)
            elif spelling == "metadata":
                source = parse_metadata(cursor, self.sources)
            elif spelling in ANNOTATIONS:
                annotations[name] = cursor.raw_value()
            else:
                known = ", ".join(spellings) or "none"
                cursor.fail(f"{record.opcode} has no attribute {spelling}; its own are: {known}", place)
        return annotations, source


@cache
def _spellings(opcode: str) -> dict[str, tuple[str, AttributeKind]]:
    """The attributes of an operation by their names in HLO text."""
    return {
        kind.spelling or name: (name, kind)
        for name, kind in OPERATIONS[opcode].attributes.items()
        if not kind.stands_in_parentheses
    }
