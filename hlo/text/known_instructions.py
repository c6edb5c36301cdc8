"""Instructions of ordinary form of which everything, but for names and operands, was said before of another one.

Most of a long text is such: reading it anew would find out the same again. What stands in nearly every instruction and differs
from one to the next, the computation that it calls and its metadata, is read apart from the rest.
"""

from __future__ import annotations

import re

from ..errors import HloError
from ..inference import KnownUses
from ..instruction import Instruction
from ..operation import OPERATIONS
from ..shape import AnyShape
from .body import Body
from .lexer import Cursor
from .operands import named_operands
from .phrases import NAME, OPERANDS, SHAPE, STRING, WORD, Phrase
from .shapes import parse_shape
from .source_tables import SourceTables

_MOST = 10_000  # that are remembered


def _bracketed(depth: int) -> str:
    """Something in brackets that are nested this deep, whichever: who reads it finds out whether they fit."""
    inside = rf"[^{{}}()\[\]\"/]++ | {STRING} | /(?![*/])" + (f" | {_bracketed(depth - 1)}" if depth else "")
    return rf"[{{(\[] (?: {inside} )*+ [}})\]]"


_ATTRIBUTE = rf"[A-Za-z_] [\w\-]*+ = (?: {_bracketed(3)} | {STRING} | {WORD} )"
_ATTRIBUTES = rf"(?: , \s*+ (?! (?: calls | to_apply | metadata ) = ) {_ATTRIBUTE} )*+"
_MORE_ATTRIBUTES = rf"(?: , \s*+ (?! metadata= ) {_ATTRIBUTE} )*+"
# Behind an instruction something must stand that can only be the next one, or the end of the computation.
INSTRUCTION = Phrase(rf"""
    (?P<root> ROOT \s++ )?+ (?!ROOT=) (?: % | (?= [A-Za-z_] ) ) (?P<name> [\w.\-]++ ) \s*+ = \s*+
    (?P<shape> {SHAPE} ) \s*+ (?P<opcode> [a-z] [\w\-]*+ ) \( (?P<inside> {OPERANDS} ) \) \s*+
    (?P<attributes> {_ATTRIBUTES} ) (?: , \s*+ (?P<caller> calls | to_apply ) = (?P<callee> {NAME} ) )?+
    (?: , \s*+ metadata= (?P<metadata> {_bracketed(0)} ) )?+ (?P<more> {_MORE_ATTRIBUTES} ) \s*+ (?= [%A-Za-z_}}] )
""")
WITH_VALUES = frozenset(
    opcode for opcode, record in OPERATIONS.items() if any(kind.stands_in_parentheses for kind in record.attributes.values())
)


class KnownInstructions:
    """Those that were read before, by what they say."""

    def __init__(self, cursor: Cursor, uses: KnownUses, sources: SourceTables) -> None:
        self.cursor, self.uses, self.sources = cursor, uses, sources
        self.known: dict[tuple[str, ...], Instruction] = {}

    def remember(self, match: re.Match[str], instruction: Instruction) -> None:
        """This is what an instruction of these words means, wherever it stands."""
        if len(self.known) == _MOST:
            self.known.clear()
        self.known[_details(*match.group("opcode", "inside", "shape", "attributes", "caller", "more"))] = instruction

    def form(self, body: Body) -> re.Match[str] | None:
        """The next instruction, if it is of ordinary form."""
        return INSTRUCTION.match(self.cursor.text, body.position)

    def read(self, body: Body) -> re.Match[str] | None:
        """Read instructions into the body up to the first that is new in something, or wrong; returns its form, if ordinary.

        Raises what the cursor raises for a computation that is not read yet; the body is then as it was before its caller.
        """
        cursor, known, by_name, locations = self.cursor, self.known, body.by_name, self.sources.locations
        text, shapes = cursor.text, cursor.shapes
        while (match := INSTRUCTION.match(text, body.position)) is not None:
            is_root, name, shape_text, opcode, inside, attributes_text, caller, callee, metadata, more = match.groups()
            like = known.get(_details(opcode, inside, shape_text, attributes_text, caller, more))
            if like is None or name in by_name or (is_root and body.root is not None):
                return match
            operands = () if opcode in WITH_VALUES else named_operands(inside, by_name, shapes)
            shape = shapes.get(shape_text) or self._new_shape(match)
            if shape is None or None in operands:
                return match
            if metadata is not None and metadata not in locations and not self.sources.read_metadata(metadata):
                return match
            attributes, annotations = like.attributes, like.annotations
            if caller is not None:
                called = cursor.resolve_computation(callee.removeprefix("%"), match.start("callee"))
                attributes = {**attributes, caller: called}
            try:
                shape = self.uses.shape(like.operation, tuple([operand.shape for operand in operands]), attributes, shape)
            except (HloError, NotImplementedError):
                return match
            instruction = Instruction(like.operation, operands, attributes, shape, name, locations.get(metadata), annotations)
            body.instructions.append(instruction)
            by_name[name] = instruction
            if is_root:
                body.root = instruction
            body.position = match.end()
        return None

    def _new_shape(self, match: re.Match[str]) -> AnyShape | None:
        """The shape of an instruction, not read before; None if it has no size, which is checked elsewhere."""
        cursor = self.cursor
        cursor.position = match.start("shape")
        shape = parse_shape(cursor)
        return None if cursor.has_unsized_shapes else shape


def _details(
    opcode: str, inside: str, shape: str, attributes: str, caller: str | None, more: str
) -> tuple[str | None, ...]:  # fmt: skip
    """What an instruction says besides its name, shape and operands; with the shape where a literal depends on it."""
    if opcode not in WITH_VALUES:
        return opcode, attributes, caller, more
    return opcode, attributes, caller, more, inside, "" if opcode == "parameter" else shape
