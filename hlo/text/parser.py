"""HLO text to modules.

Source of the grammar: ``xla/hlo/parser/hlo_parser.cc``. What has a meaning here goes through the operations' records; the
rest of what XLA prints (sharding, backend configurations, ...) is kept as text. Computations may stand in any order, or inside
of the instruction that calls them: they are read in the order of the text, but for one that is called and not read yet, which
is found ahead and read when its first caller needs it, on an explicit stack.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from ..instruction import Computation, Instruction, Module
from ..shape import AnyShape, Shape, compatible
from .annotations import check_aliases, check_form
from .asynchronous import thread_name
from .body import Body
from .instructions import InstructionParser
from .lexer import END, Cursor
from .phrases import COMMENT, NAME, SHAPE, Phrase
from .printer import entry_layout_text
from .shapes import parse_shape, starts_shape
from .source_tables import SourceTables

MAX_CALL_DEPTH = 64
_PARAMETER = Phrase(rf"{NAME} \s*+ : \s*+ ({SHAPE}) \s*+ , \s*+ (?: {COMMENT} \s*+ )?+ (?!/)")  # and one behind it
_STATED = rf"{NAME} \s*+ : \s*+ {SHAPE} (?: , \s*+ (?: {COMMENT} \s*+ )?+ (?! \) ) | (?= \) ) )"  # with a comma, or as the last
_HEADING = Phrase(rf"""
    (ENTRY \s++)?+ (?!ENTRY) ({NAME}) \s*+ \( ( (?: {_STATED} )*+ ) \) \s*+ -> \s*+ ({SHAPE}) \s*+
    (?P<brace>) \{{ \s*+ (?= [%A-Za-z_] )
""")
_STATED_SHAPE = Phrase(rf": \s*+ ({SHAPE})")
_CLOSED = Phrase(r"\} \s*+ (?![,/])")  # what closes a computation of which nothing more is said
_ATTRIBUTE_AHEAD = re.compile(r"([\w\-]+)\s*=\s*\Z", re.ASCII)


def parse_module(text: str, name: str = "<text>", fill_elided: Callable[[Shape], np.ndarray] | None = None) -> Module:
    """The module that this HLO text describes; ``name`` is that of the file, for error messages.

    The text may also be a single instruction, with the shapes of its operands: these become parameters. ``fill_elided`` makes
    the array for a constant whose values are left out as ``{...}``, which is an error without it.

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
    parser = _ModuleParser(text, "" if name == "<text>" else name)
    parser.cursor.fill_elided = fill_elided
    return parser.parse()


class _CalleeNeeded(Exception):
    """A computation must be read before the instruction that calls it."""

    def __init__(self, body: Body, place: int) -> None:
        self.body, self.place = body, place


class _ModuleParser:
    def __init__(self, text: str, file: str) -> None:
        self.cursor = Cursor(text, file, self._resolve_computation)
        self.bodies: dict[str, Body] = {}
        self.inline_bodies: dict[int, Body] = {}  # by the places of their braces
        self.last: Body | None = None  # the last one that was found in the text
        self.sources = SourceTables()
        self.instructions = InstructionParser(self.cursor, self.sources)

    def parse(self) -> Module:
        cursor = self.cursor
        if cursor.token not in ("HloModule", "ENTRY", END) and (cursor.following() == "=" or starts_shape(cursor)):
            return self._single_instruction()
        name, attributes, places = self._header()
        source_tables = self.sources.parse(cursor)
        while (body := self._outline()) is not None:
            self._read(body)
        if not self.bodies:
            cursor.fail(f"a computation expected, found {cursor.description()}")
        for body in self.bodies.values():
            self._read(body)
        self.instructions.check_bound()
        entry = self._entry()
        check_aliases(cursor, attributes, places, entry)
        module = Module(name or entry.name, entry, attributes, source_tables)
        module.inferred = self.instructions.uses
        if attributes.get("entry_computation_layout") == entry_layout_text(module):
            del attributes["entry_computation_layout"]
        return module

    def _single_instruction(self) -> Module:
        """``name = shape opcode(shape name, ...)``, or the same without any names."""
        cursor = self.cursor
        body = Body("main", True, cursor.position, None, cursor.position, cursor.position, names_its_parameters=False)
        while body.root is None:
            try:
                name = ""
                if cursor.following() == "=":
                    name = cursor.name("the name of an instruction")
                    cursor.expect("=")
                nested: list[Instruction] = []
                body.root = self.instructions.right_hand_side(body, name, nested)
            except _CalleeNeeded as needed:
                self._read(needed.body)
                body.instructions.clear()
                body.by_name.clear()
                cursor.position = body.place
        if cursor.token is not END:
            cursor.fail(f"the end of the text expected behind an instruction that stands alone, found {cursor.description()}")
        # Operands that are parameters themselves stand among the nested instructions.
        computation = Computation(body.name, (*body.instructions, *nested, body.root), body.root)
        self._check_computation(body, computation)
        return Module(name or body.root.opcode, computation)

    def _header(self) -> tuple[str, dict[str, str], dict[str, int]]:
        """``HloModule name, attribute=value, ...``, with the values' places; the header may be missing."""
        cursor = self.cursor
        attributes: dict[str, str] = {}
        places: dict[str, int] = {}
        if not cursor.accept("HloModule"):
            return "", attributes, places
        name = cursor.name("the module's name")
        cursor.accept(":")
        while cursor.accept(","):
            place = cursor.position
            key = cursor.identifier()
            cursor.expect("=")
            if key in attributes:
                cursor.fail(f"the module has two attributes {key}", place)
            places[key] = cursor.position
            attributes[key] = cursor.raw_value()
            check_form(cursor, key, attributes[key], places[key])
        return name, attributes, places

    def _outline(self) -> Body | None:
        """The next computation, without its instructions; None at the end of the text."""
        if self.last is not None:
            self._skip(self.last)
        if self.cursor.position == len(self.cursor.text):
            return None
        body = self._ordinary_heading() or self._heading()
        self.last = self.bodies[body.name] = body
        return body

    def _ordinary_heading(self) -> Body | None:
        """What _heading reads, if it is of ordinary form, with shapes that were read before, and its name is new."""
        cursor = self.cursor
        match = _HEADING.match(cursor.text, cursor.position)
        if match is None:
            return None
        entry, spelled_name, parameters, result, _ = match.groups()
        name = spelled_name.removeprefix("%")
        if name in self.bodies or not cursor.shapes.keys() >= {result, *_STATED_SHAPE.findall(parameters)}:
            return None
        cursor.position = match.end()
        return Body(name, bool(entry), match.start(2), cursor.shapes[result], match.start("brace"), cursor.position)

    def _heading(self) -> Body:
        """``[ENTRY] name [(parameters) -> shape] {``"""
        cursor = self.cursor
        is_entry = cursor.accept("ENTRY")
        place = cursor.position
        name = cursor.name("the name of a computation")
        if name in self.bodies:
            cursor.fail(f"two computations have the name {name}", place)
        stated_shape = self._signature() if cursor.token == "(" else None
        opening = cursor.position
        if not cursor.accept("{"):
            cursor.fail(f"'{{' expected, found {cursor.description()}")
        return Body(name, is_entry, place, stated_shape, opening, cursor.position)

    def _skip(self, body: Body) -> None:
        """Go behind this computation, whether it is read or not."""
        cursor = self.cursor
        if not body.end:
            cursor.position = body.opening
            cursor.skip_brackets()
            self._end(body)
        cursor.position = body.end

    def _end(self, body: Body) -> None:
        """``[, execution_thread="..."]``, behind the closing brace."""
        cursor = self.cursor
        while cursor.accept(","):
            place = cursor.position
            attribute = cursor.identifier()
            cursor.expect("=")
            if attribute != "execution_thread":
                cursor.fail(f"a computation has no attribute {attribute}; its own is: execution_thread", place)
            body.execution_thread = thread_name(cursor.string())
        body.end = cursor.position

    def _signature(self) -> AnyShape:
        """``(name: shape, ...) -> shape``: the last of these. What is said of the parameters does not count, as in XLA."""
        cursor = self.cursor
        cursor.expect("(")
        if cursor.token != ")":
            self._stated_parameter()
        while not cursor.accept(")"):
            cursor.expect(",")
            self._stated_parameter()
        cursor.expect("->")
        return parse_shape(cursor)

    def _stated_parameter(self) -> None:
        cursor = self.cursor
        while (match := _PARAMETER.match(cursor.text, cursor.position)) is not None and match[1] in cursor.shapes:
            cursor.position = match.end()
        cursor.name("the name of a parameter")
        cursor.accept(":")
        parse_shape(cursor)

    def _entry(self) -> Computation:
        entries = [body for body in self.bodies.values() if body.is_entry]
        if len(entries) > 1:
            self.cursor.fail("the module has two ENTRY computations", entries[1].place)
        body = entries[0] if entries else list(self.bodies.values())[-1]
        assert body.computation is not None
        return body.computation

    def _resolve_computation(self, name: str, place: int) -> Computation:
        body = self._named(name, place) if name else self._inline(place)
        if body.computation is None:
            raise _CalleeNeeded(body, place)
        if not name:
            self.cursor.position = body.end
        return body.computation

    def _named(self, name: str, place: int) -> Body:
        """The computation of this name, which may stand further on."""
        cursor = self.cursor
        behind = cursor.position
        while name not in self.bodies:
            if self.last is None or self._outline() is None:
                cursor.fail(f"there is no computation {name} in this module", place)
        cursor.position = behind
        return self.bodies[name]

    def _inline(self, place: int) -> Body:
        """``{ instructions }`` in the place of a computation's name."""
        self.instructions.is_alike_everywhere = False
        body = self.inline_bodies.get(place)
        if body is None:
            attribute = _ATTRIBUTE_AHEAD.search(self.cursor.text, max(0, place - 100), place)
            name = attribute[1] if attribute is not None else "branch"
            self.cursor.expect("{")
            body = self.inline_bodies[place] = Body(name, False, place, None, place, self.cursor.position)
        return body

    def _read(self, body: Body) -> None:
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

    def _read_instructions(self, body: Body) -> None:
        cursor = self.cursor
        cursor.position = body.position
        while True:
            form = self.instructions.read_known(body)
            if cursor.text.startswith("}", body.position):
                break
            if body.position == len(cursor.text):
                cursor.fail("this '{' is never closed", body.opening)
            self.instructions.read(body, form)
            body.position = cursor.position
        cursor.position = body.position
        if not body.instructions:
            cursor.fail(f"computation {body.name} has no instructions")
        if body.opening in self.inline_bodies:
            cursor.advance()
            body.end = cursor.position
        elif (closed := _CLOSED.match(cursor.text, cursor.position)) is not None:
            body.end = cursor.position = closed.end()
        else:
            cursor.advance()
            self._end(body)
        root = body.root or body.instructions[-1]
        computation = Computation(body.name, tuple(body.instructions), root, body.execution_thread)
        self._check_computation(body, computation)
        body.computation = computation

    def _check_computation(self, body: Body, computation: Computation) -> None:
        numbers = [parameter.attributes["number"] for parameter in computation.parameters]
        if numbers != list(range(len(numbers))):
            self.cursor.fail(f"the parameters of {body.name} must be numbered 0, 1, ..., got {numbers}", body.place)
        result = body.stated_shape
        if result is not None and not compatible(result, computation.shape):
            message = f"{body.name} is stated to return {result}, but its root has shape {computation.shape}"
            self.cursor.fail(message, body.place)
