"""Instructions of ordinary form of which everything, but for names and operands, was said before of another one.

Most of a long text is such: reading it anew would find out the same again.
"""

from __future__ import annotations

import re

from ..errors import HloError
from ..inference import KnownUses
from ..instruction import Instruction
from ..operation import OPERATIONS
from ..shape import AnyShape, compatible
from .lexer import Cursor
from .phrases import ARRAY_SHAPE, ATTRIBUTES, COMMENT, NAME, SHAPE, SIZES, phrase
from .shapes import parse_shape

_MOST = 10_000  # that are remembered

_OPERANDS = rf"(?: [^(){{}}\[\]\"/=]++ | {SIZES} | {COMMENT} )*+"
# Behind an instruction something must stand that can only be the next one, or the end of the computation.
INSTRUCTION = phrase(rf"""
    (?P<root> ROOT \s++)?+ (?!ROOT=) (?P<name> {NAME} ) \s*+ = \s*+ (?P<shape> {SHAPE} ) \s*+ (?P<opcode> [a-z] [\w\-]*+ )
    \( (?P<inside> {_OPERANDS} ) \) \s*+ (?P<attributes> {ATTRIBUTES} ) \s*+ (?= [%A-Za-z_}}] )
""")
OPERANDS = phrase(rf"\( ( {_OPERANDS} ) \) \s*+ (?!/)")
_OPERAND = phrase(rf"(?: ({ARRAY_SHAPE}) \s++ )?+ ({NAME}) (?: , \s*+ (?: {COMMENT} \s*+ )?+ (?= [%A-Za-z_] ) | \Z )")
_COMMENT = re.compile(r"/\*.*?\*/\s*", re.DOTALL)
_WITH_VALUES = frozenset(
    opcode for opcode, record in OPERATIONS.items() if any(kind.stands_in_parentheses for kind in record.attributes.values())
)


class KnownInstructions:
    """Those that were read before, by what they say."""

    def __init__(self, cursor: Cursor, uses: KnownUses) -> None:
        self.cursor, self.uses = cursor, uses
        self.known: dict[tuple[str, ...], Instruction] = {}

    def remember(self, match: re.Match[str], instruction: Instruction) -> None:
        """This is what an instruction of these words means, wherever it stands."""
        if len(self.known) == _MOST:
            self.known.clear()
        self.known[_details(match)] = instruction

    def instruction(self, match: re.Match[str], by_name: dict[str, Instruction]) -> Instruction | None:
        """The instruction of this form; None if something is new about it, or wrong."""
        like = self.known.get(_details(match))
        if like is None:
            return None
        shape = self.cursor.shapes.get(match["shape"])
        if shape is None:
            self.cursor.position = match.start("shape")
            shape = parse_shape(self.cursor)
            if self.cursor.has_unsized_shapes:
                return None
        operands = () if match["opcode"] in _WITH_VALUES else named_operands(match["inside"], by_name, self.cursor.shapes)
        if None in operands:
            return None
        try:
            shape = self.uses.shape(like.operation, tuple([o.shape for o in operands]), like.attributes, shape)
        except (HloError, NotImplementedError):
            return None
        name = match["name"].removeprefix("%")
        return Instruction(like.operation, operands, like.attributes, shape, name, like.source, like.annotations)


def _details(match: re.Match[str]) -> tuple[str, ...]:
    """What an instruction says besides its name, shape and operands; with the shape where a literal depends on it."""
    opcode = match["opcode"]
    if opcode not in _WITH_VALUES:
        return opcode, match["attributes"]
    return opcode, match["attributes"], match["inside"], "" if opcode == "parameter" else match["shape"]


def named_operands(
    text: str, by_name: dict[str, Instruction], shapes: dict[str, AnyShape]
) -> tuple[Instruction | None, ...]:  # fmt: skip
    """The instructions that ``%a, f32[2] %b`` names; None for one that is not defined, or not of this shape."""
    if "[" in text:
        return _stated_operands(text, by_name, shapes)
    if "/" in text:
        text = _COMMENT.sub("", text)
    if not text:
        return ()
    operands = tuple([by_name.get(name.removeprefix("%")) for name in text.split(", ")])
    if None in operands:  # other blanks, perhaps
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
