"""HLO text to instructions: ``[ROOT] name = shape opcode(operands), attribute=value, ...``.

Source of the grammar: ``HloParserImpl::ParseInstruction`` (``xla/hlo/parser/hlo_parser.cc``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache, partial
from typing import Any

from ..attributes import AttributeKind, LiteralValue, RawText
from ..errors import HloError, HloSyntaxError, require
from ..inference import KnownUses
from ..instruction import Computation, Instruction, SourceLocation, complete_attributes, make_instruction, result_shape
from ..operation import OPERATIONS, Operation
from ..shape import AnyShape, leaves
from .annotations import UNIMPLEMENTED, check_form, is_annotation, operand_alias_error
from .asynchronous import execution_thread, short_spelling, start_of
from .body import Body
from .equivalent_forms import equivalent
from .inferred_layouts import in_inferred_layout
from .known_instructions import WITH_VALUES, KnownInstructions
from .late_binding import LateBinding, Start
from .lexer import Cursor
from .literals import parse_literal
from .older_spellings import ATTRIBUTES, OPCODES, scalar_start_indices
from .operands import OperandParser, named_operands
from .phrases import Phrase
from .shapes import parse_optional_shape, parse_shape
from .source_tables import SourceTables, parse_metadata

MAX_OPERAND_DEPTH = 32  # of instructions that are written as operands of others

_CHECKED_TOGETHER = frozenset({"async-done", "async-start", "async-update", "custom-call", "fusion"})
# What may be done with a value whose size is not known.
_HAND_ON = frozenset({
    "add-dependency", "after-all", "call", "conditional", "custom-call", "domain", "get-tuple-element", "opt-barrier",
    "parameter", "tuple", "while",
})  # fmt: skip
_NAMES = re.compile(r"%?([\w.\-]+)", re.ASCII)
_ATTRIBUTE = Phrase(r", \s*+ ([A-Za-z_] [\w.\-]*+) \s*+ = \s*+ (?!/)")


class InstructionParser:
    """Reads instructions, one at a time, into a body."""

    def __init__(self, cursor: Cursor, sources: SourceTables) -> None:
        self.cursor, self.sources = cursor, sources
        self.late = LateBinding()
        self.asynchronous: set[Computation] = set()  # those that async-start calls
        self.operands = OperandParser(cursor, self.right_hand_side)
        self.uses = KnownUses(result_shape)
        self.known = KnownInstructions(cursor, self.uses, sources)
        self.is_alike_everywhere = True  # so it is with the instruction that is being read

    def read_known(self, body: Body) -> re.Match[str] | None:
        """Read instructions about which nothing is new, as many as stand here; returns the form of the next, if ordinary."""
        if self.late.waiting or self.cursor.has_unsized_shapes:  # much is to be checked one by one
            return self.known.form(body)
        return self.known.read(body)

    def read(self, body: Body, form: re.Match[str] | None) -> None:
        """``[ROOT] name = ...``, which may have the ordinary form."""
        cursor = self.cursor
        nested: list[Instruction] = []
        cursor.position = body.position
        if form is None or form["name"] in body.by_name or (form["root"] and body.root is not None):
            is_root, name = self._beginning(body)
        else:
            is_root, name, cursor.position = form["root"], form["name"], form.start("shape")
        self.operands.elements.clear()
        self.is_alike_everywhere = True
        instruction = self.right_hand_side(body, name, nested, form=form)
        if form is not None and self.is_alike_everywhere and not nested and cursor.position == form.end():
            self.known.remember(form, instruction)
        # Only a whole instruction is put into the body: one that calls a computation which is not read yet is read again.
        body.instructions += nested
        body.elements.update(self.operands.elements)
        if instruction not in self.late.waiting:
            body.instructions.append(instruction)
        body.by_name[name] = instruction
        if is_root:
            body.root = instruction

    def _beginning(self, body: Body) -> tuple[bool, str]:
        """``[ROOT] name =``: whether it is the root, and the name, which must be new."""
        cursor = self.cursor
        is_root = cursor.accept("ROOT")
        place = cursor.position
        name = cursor.name("the name of an instruction")
        cursor.expect("=")
        if name in body.by_name:
            cursor.fail(f"two instructions of {body.name} have the name {name}", place)
        if is_root and body.root is not None:
            cursor.fail(f"computation {body.name} has two ROOT instructions", place)
        return is_root, name

    def check_bound(self) -> None:
        """Fail where a start waits for operands to the end."""
        for start in self.late.waiting.values():
            self.cursor.fail(f"{start.name} waits for operands that are never bound", start.place)

    def right_hand_side(
        self, body: Body, name: str, nested: list[Instruction], depth: int = 0, form: re.Match[str] | None = None
    ) -> Instruction:
        """``shape opcode(operands), attribute=value, ...``; an operand that is an instruction is put among the nested ones.

        An instruction that is an operand, at a depth above 0, has no attributes: a comma behind it belongs to the operands.
        """
        cursor = self.cursor
        if depth > MAX_OPERAND_DEPTH:
            cursor.fail(f"operands are nested deeper than {MAX_OPERAND_DEPTH}")
        given: dict[str, object] = {}
        ordinary = None if form is None else self._ordinary(body, form)
        if ordinary is not None:
            shape, record, operands = ordinary
            place, half = form.start("opcode"), ""
        else:
            shape = parse_optional_shape(cursor)
            place = cursor.position
            record, half = self._operation(given)
            values = _in_parentheses(record.opcode)
            operands = self.operands.read(body, nested, depth) if not values else self._values(values, shape, given)
        if half:
            self.is_alike_everywhere = False
        if half in ("update", "done"):
            self._check_chain(f"{record.opcode}-{half}", record, operands, place)
            record = OPERATIONS[f"async-{half}"]
        if cursor.has_unsized_shapes:
            self._check_sizes(record, operands, shape, place)
        annotations, source = ({}, None)
        if depth == 0:
            end = None if form is None else form.end()
            annotations, source = self._attributes(record, body, given, operands, half == "start", end)
        if record.opcode == "broadcast" and "dimensions" not in given:
            self.is_alike_everywhere = False
            if len(operands) == 1 and _is_scalar(operands[0].shape):
                given["dimensions"] = ()
        try:
            operands = scalar_start_indices(record.opcode, operands, nested)
            if half == "start" or record.opcode == "async-start":
                begun = Start(record, tuple(operands), given, shape, name, source, annotations, place)
                instruction = self.late.start(begun)
            elif record.opcode in ("async-update", "async-done"):
                bound = self._bound(body, record, operands, shape, name)
                if bound is None or record.opcode == "async-done":
                    if bound is not None:
                        nested.append(bound)
                        operands = [bound]
                    instruction = self.late.step(record, operands, given, shape, name, source, annotations)
                else:
                    instruction = bound
            else:
                if self.late.waiting:
                    self.late.require_bound(operands)
                record.check_operand_count(len(operands))
                attributes = complete_attributes(record, given)
                shapes = tuple([operand.shape for operand in operands])
                result = self.uses.shape(record, shapes, attributes, shape)
                if shape is None:
                    result = in_inferred_layout(result, record, shapes, attributes)
                instruction = Instruction(record, tuple(operands), attributes, result, name, source, annotations)
        except HloSyntaxError:
            raise
        except NotImplementedError as error:
            self.cursor.not_implemented(str(error), place)
        except HloError as error:
            found = None
            if half == "":
                self.is_alike_everywhere = False
                make = partial(_make, record.opcode, name, source, annotations)
                found = equivalent(record, tuple(operands), given, shape, name, make, nested)
            return found or cursor.fail(str(error), place)
        if record.opcode in _CHECKED_TOGETHER:
            self._check_together(instruction, place)
        return instruction

    def _ordinary(self, body: Body, form: re.Match[str]) -> tuple[AnyShape, Operation, list[Instruction]] | None:
        """Shape, operation and operands of an instruction of ordinary form; None where they are to be read one by one.

        The cursor is then behind the operands, or where it was.
        """
        cursor = self.cursor
        record = OPERATIONS.get(form["opcode"])
        if record is None or record.opcode in WITH_VALUES:
            return None
        operands = named_operands(form["inside"], body.by_name, cursor.shapes)
        if None in operands:
            return None
        shape = cursor.shapes.get(form["shape"]) or parse_shape(cursor)
        cursor.position = form.start("attributes")
        return shape, record, list(operands)

    def _bound(
        self, body: Body, record: Operation, operands: list[Instruction], shape: AnyShape | None, name: str
    ) -> Instruction | None:
        """The start with what an update or a done binds to it; None where that is nothing."""
        if len(operands) < 2 and not (operands and operands[0] in self.late.waiting):
            return None
        value, *more = operands
        is_update = record.opcode == "async-update"
        bound = self.late.bound(value, tuple(more), shape if is_update else None, name if is_update else value.name)
        if value in body.instructions:  # it needed no more operands, but got them
            require(not any(value in other.operands for other in body.instructions), f"{value.name} has other users")
            body.instructions.remove(value)
        return bound

    def _check_together(self, instruction: Instruction, place: int) -> None:
        """What an instruction says fits what it is, and other instructions."""
        annotations = instruction.annotations
        if instruction.opcode in ("custom-call", "fusion"):
            aliases = annotations.get("output_to_operand_aliasing", "")
            self.is_alike_everywhere &= not aliases
            operands = tuple(operand.shape for operand in instruction.operands)
            if error := operand_alias_error(aliases, operands, instruction.shape):
                self.cursor.fail(f"{instruction.opcode}: {error}", place)
            return
        self.is_alike_everywhere = False
        start = start_of(instruction)
        if instruction in self.late.waiting:
            return
        if start is instruction:
            computation = instruction.attributes["calls"]
            if computation in self.asynchronous:
                self.cursor.fail(f"computation {computation.name} is called by more than one async-start", place)
            self.asynchronous.add(computation)
            self._check_together(computation.root, place)
        elif start is not None and "async_execution_thread" in annotations:
            given, wanted = execution_thread(instruction), execution_thread(start)
            if given != wanted:
                self.cursor.fail(
                    f"{instruction.opcode} is on the thread {given or 'main'}, its start on {wanted or 'main'}", place
                )

    def _operation(self, given: dict[str, object]) -> tuple[Operation, str]:
        """The operation, and the half of it that a short spelling names, or an empty string.

        The attributes that an older opcode stands for are put among the given ones.
        """
        cursor = self.cursor
        place = cursor.position
        opcode = cursor.identifier()
        if (record := OPERATIONS.get(opcode)) is not None:
            return record, ""
        if opcode in OPCODES:
            opcode, attributes = OPCODES[opcode]
            given.update(attributes)
            return OPERATIONS[opcode], ""
        if (short := short_spelling(opcode)) is not None:
            return short
        if opcode == "sparse":  # f32[10]sparse{3}, until 2020
            cursor.fail("sparse arrays are not supported; XLA has none any more", place)
        if cursor.token != "(":
            cursor.fail(f"'shape opcode(operands)' expected, found {opcode!r}", place)
        near = get_close_matches(opcode, OPERATIONS, 1)
        meant = f"; did you mean {near[0]}?" if near else ""
        self.cursor.not_implemented(f"operation {opcode} is not implemented{meant}", place)

    def _check_sizes(self, record: Operation, operands: list[Instruction], shape: AnyShape | None, place: int) -> None:
        """Arrays of unknown size, and buffers, are handed on, and nothing is computed of them."""
        if record.opcode in _HAND_ON:
            return
        for value in (*(operand.shape for operand in operands), *([] if shape is None else [shape])):
            if not all(leaf.has_size for leaf in leaves(value)):
                self.cursor.not_implemented(
                    f"{record.opcode} of {value}, which has no size or is a buffer, is not implemented", place
                )

    def _check_chain(self, opcode: str, record: Operation, operands: list[Instruction], place: int) -> None:
        """``add-done`` must be that of an ``add-start``."""
        start = start_of(operands[0]) if operands else None
        if start is None:
            self.cursor.fail(f"{opcode}: one operand is required, the result of {record.opcode}-start", place)
        begun = self.late.starts[start].opcode
        if begun != record.opcode:
            self.cursor.fail(f"{opcode}: the operand must come from {record.opcode}-start, it comes from {begun}-start", place)

    def _values(
        self, kinds: dict[str, AttributeKind], shape: AnyShape | None, given: dict[str, object]
    ) -> list[Instruction]:  # fmt: skip
        """The attributes that stand in the operands' place, put among the given ones; returns that there are no operands."""
        cursor = self.cursor
        cursor.expect("(")
        for name, kind in kinds.items():
            if isinstance(kind, LiteralValue):
                if shape is None:
                    cursor.fail("a constant needs its shape stated")
                given[name] = parse_literal(cursor, shape)
            else:
                given[name] = kind.parse(cursor)
        cursor.expect(")")
        return []

    def _attributes(
        self, record: Operation, body: Body, given: dict[str, object], operands: list[Instruction], is_started: bool,
        end: int | None,
    ) -> tuple[dict[str, str], SourceLocation | None]:  # fmt: skip
        """``, name=value`` as often as it stands there: known ones are put among the given, the others returned.

        Where it is known that they reach to an end, nothing behind it is looked at.
        """
        cursor = self.cursor
        annotations: dict[str, str] = {}
        source = None
        spellings = _spellings(record.opcode)
        seen = set(given)
        while cursor.position != end:
            if (match := _ATTRIBUTE.match(cursor.text, cursor.position)) is not None:
                place, spelling, cursor.position = match.start(1), match[1], match.end()
            elif cursor.accept(","):
                place, spelling = cursor.position, cursor.identifier()
                cursor.expect("=")
            else:
                break
            spelling = ATTRIBUTES.get((record.opcode, spelling), spelling)
            if spelling in seen:
                cursor.fail(f"{record.opcode} has two attributes {spelling}", place)
            seen.add(spelling)
            if spelling in spellings:
                name, kind = spellings[spelling]
                value = cursor.position
                given[name] = kind.parse(cursor)
                if isinstance(kind, RawText):
                    check_form(cursor, spelling, given[name], value)
            elif spelling == "metadata":
                source = parse_metadata(cursor, self.sources)
            elif spelling == "calls" and record.opcode in ("async-update", "async-done"):
                self.is_alike_everywhere = False
                self._check_started(operands, place)
            elif is_annotation(spelling, record.opcode, is_started):
                value = cursor.position
                annotations[spelling] = self._shaped_literal() if spelling == "literal" else cursor.raw_value()
                check_form(cursor, spelling, annotations[spelling], value)
                if spelling == "control-predecessors":
                    self.is_alike_everywhere = False
                    self._check_predecessors(body, annotations[spelling], value)
            elif spelling in UNIMPLEMENTED.get(record.opcode, ()):
                cursor.not_implemented(f"{record.opcode} with {spelling} is not implemented", place)
            else:
                known = ", ".join(spellings) or "none"
                cursor.fail(f"{record.opcode} has no attribute {spelling}; its own are: {known}", place)
        return annotations, source

    def _shaped_literal(self) -> str:
        """The text of ``s32[2]{0} {1, 2}``, or of ``(s32[] 1, f32[2] {1, 2})``."""
        cursor = self.cursor
        start = cursor.position
        if cursor.token != "(":
            parse_shape(cursor)
        begin = cursor.position
        value = cursor.raw_value()
        return cursor.text[start : begin + len(value)]

    def _check_started(self, operands: list[Instruction], place: int) -> None:
        """``calls=`` of an update or done, in older dumps, repeats that of the start."""
        computation = self.cursor.computation()
        start = start_of(operands[0]) if operands else None
        begun = self.late.starts[start].attributes.get("calls") if start is not None else None
        if isinstance(begun, Computation) and begun is not computation:
            self.cursor.fail(f"the start calls {begun.name}, not {computation.name}", place)

    def _check_predecessors(self, body: Body, text: str, place: int) -> None:
        for name in _NAMES.findall(text):
            if name not in body.by_name:
                self.cursor.fail(f"control predecessor {name} is not defined before this instruction", place)


def _make(
    opcode: str, name: str, source: SourceLocation | None, annotations: Mapping[str, str], operands: Iterable[Instruction],
    attributes: Mapping[str, Any], shape: AnyShape | None,
) -> Instruction:  # fmt: skip
    return make_instruction(opcode, operands, attributes, shape, name, source, annotations)


def _is_scalar(shape: AnyShape) -> bool:
    return not shape.is_tuple and shape.rank == 0


@cache
def _in_parentheses(opcode: str) -> dict[str, AttributeKind]:
    """The attributes of an operation that stand in the place of operands."""
    return {name: kind for name, kind in OPERATIONS[opcode].attributes.items() if kind.stands_in_parentheses}


@cache
def _spellings(opcode: str) -> dict[str, tuple[str, AttributeKind]]:
    """The attributes of an operation by their names in HLO text."""
    return {
        kind.spelling or name: (name, kind)
        for name, kind in OPERATIONS[opcode].attributes.items()
        if not kind.stands_in_parentheses
    }
