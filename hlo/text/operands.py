"""The operands of an instruction: names, with or without their shapes, elements of tuples, and instructions."""

from __future__ import annotations

from typing import Protocol

from ..errors import HloError
from ..instruction import Instruction, make_instruction
from ..shape import AnyShape, compatible
from .body import Body
from .lexer import Cursor
from .phrases import ARRAY_SHAPE, COMMENT, COMMENTS, NAME, OPERANDS, Phrase
from .shapes import parse_shape, starts_shape

_IN_PARENTHESES = Phrase(rf"\( ( {OPERANDS} ) \) \s*+ (?!/)")
_OPERAND = Phrase(rf"(?: ({ARRAY_SHAPE}) \s++ )?+ ({NAME}) (?: , \s*+ (?: {COMMENT} \s*+ )?+ (?= [%A-Za-z_] ) | \Z )")


class ReadsInstruction(Protocol):
    """Reads an instruction that is an operand, at a depth above 0."""

    def __call__(self, body: Body, name: str, nested: list[Instruction], depth: int) -> Instruction: ...


class OperandParser:
    """Reads operands; those that are made where they stand are put among the nested instructions."""

    def __init__(self, cursor: Cursor, read_instruction: ReadsInstruction) -> None:
        self.cursor, self.read_instruction = cursor, read_instruction
        self.elements: dict[tuple[Instruction, int], Instruction] = {}  # as those of a body, by the instruction that is read

    def read(self, body: Body, nested: list[Instruction], depth: int) -> list[Instruction]:
        """``(operand, operand, ...)``"""
        cursor = self.cursor
        match = _IN_PARENTHESES.match(cursor.text, cursor.position)
        if match is not None:
            named = named_operands(match[1], body.by_name, cursor.shapes)
            if None not in named:
                cursor.position = match.end()
                return list(named)
        cursor.expect("(")
        operands = []
        while cursor.token != ")":
            if operands:
                cursor.expect(",")
            operands.append(self._operand(body, nested, depth))
        cursor.expect(")")
        return operands

    def _operand(self, body: Body, nested: list[Instruction], depth: int) -> Instruction:
        """``name``, ``shape name``, ``name#index``, or an instruction, ``shape opcode(operands)``."""
        cursor = self.cursor
        first = cursor.position
        if cursor.following() in ",)":
            operand = body.by_name.get(cursor.token.removeprefix("%"))
            if operand is not None:
                cursor.advance()
                return operand
        stated = parse_shape(cursor) if starts_shape(cursor) else None
        if cursor.following() == "(" and cursor.token[:1] != "%":
            opcode = cursor.token
            cursor.position = first
            nested.append(self.read_instruction(body, f"{opcode}.anon", nested, depth + 1))
            return nested[-1]
        place = cursor.position
        if not body.names_its_parameters:
            return self._new_parameter(body, stated)
        name = cursor.name("an operand")
        operand = body.by_name.get(name)
        if operand is None:
            cursor.fail(f"operand {name} is not defined before it is used", place)
        if cursor.token == "#":
            operand = self._element(body, operand, nested)
        if stated is not None and not compatible(stated, operand.shape):
            cursor.fail(f"operand {name} is stated to have shape {stated}, but it has {operand.shape}", place)
        return operand

    def _element(self, body: Body, value: Instruction, nested: list[Instruction]) -> Instruction:
        """``name#1#0``: a get-tuple-element of a get-tuple-element, each made where it is first named."""
        cursor = self.cursor
        while cursor.accept("#"):
            place = cursor.position
            index = cursor.integer()
            element = body.elements.get((value, index)) or self.elements.get((value, index))
            if element is None:
                try:
                    name = f"{value.name}_{index}"
                    element = make_instruction("get-tuple-element", (value,), {"index": index}, name=name)
                except HloError as error:
                    cursor.fail(str(error), place)
                nested.append(element)
                self.elements[value, index] = element
            value = element
        return value

    def _new_parameter(self, body: Body, shape: AnyShape | None) -> Instruction:
        """The parameter that an operand of a single instruction becomes: ``shape name`` or ``shape``."""
        cursor = self.cursor
        place = cursor.position
        name = "" if cursor.token in (",", ")") else cursor.name("an operand")
        if name in body.by_name:
            return body.by_name[name]
        if shape is None:
            cursor.fail(f"an instruction that stands alone needs the shapes of its operands: 'shape {name}' expected", place)
        number = {"number": len(body.instructions)}
        parameter = make_instruction("parameter", (), number, shape, name or f"parameter.{len(body.instructions)}")
        body.instructions.append(parameter)
        if name:
            body.by_name[name] = parameter
        return parameter


def named_operands(
    text: str, by_name: dict[str, Instruction], shapes: dict[str, AnyShape]
) -> tuple[Instruction | None, ...]:  # fmt: skip
    """The instructions that ``%a, f32[2] %b`` names; None for one that is not defined, or not of this shape."""
    if "[" in text:
        return _stated_operands(text, by_name, shapes)
    if "/" in text:
        text = COMMENTS.sub("", text)
    if not text:
        return ()
    names = text[1:].split(", %") if text[0] == "%" else text.split(", ")
    operands = tuple(map(by_name.get, names))
    if None in operands:  # other blanks, perhaps, or some names with % and some without
        operands = tuple([by_name.get(name.strip().removeprefix("%")) for name in text.split(",")])
    return operands


def _stated_operands(
    text: str, by_name: dict[str, Instruction], shapes: dict[str, AnyShape]
) -> tuple[Instruction | None, ...]:  # fmt: skip
    operands: list[Instruction | None] = []
    end = 0
    while end < len(text):
        match = _OPERAND.match(text, end)
        operand = None if match is None else by_name.get(match[2].removeprefix("%"))
        if operand is None or (match[1] and not _is_stated(shapes.get(match[1]), operand.shape)):
            return (None,)
        operands.append(operand)
        end = match.end()
    return tuple(operands)


def _is_stated(stated: AnyShape | None, shape: AnyShape) -> bool:
    return stated is shape or (stated is not None and compatible(stated, shape))
