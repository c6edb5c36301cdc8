"""Where instructions come from: ``metadata={...}``, and the tables of files and stack frames ahead of verbose dumps."""

from __future__ import annotations

import re
from dataclasses import replace

from ..attributes import quoted
from ..instruction import SourceLocation
from .lexer import Cursor
from .phrases import STRING, WORD, Phrase

_NUMBER = re.compile(r"[0-9]{1,9}")
_FIELD = Phrase(rf"([A-Za-z_] \w*+) = (?: ({STRING}) | ({WORD}) ) (?= [\s}}] )")
_FIELDS = Phrase(rf"\{{ (?: [A-Za-z_] \w*+ = (?: {STRING} | {WORD} ) (?: \x20 | (?= \}} ) ) )*+ \}}")
_STACK_FRAME = re.compile(r'("(?:[^"\\]|\\.)*")|\bstack_frame_id=[0-9]+', re.DOTALL)
_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")


class SourceTables:
    """The tables ``FileNames``, ``FunctionNames``, ``FileLocations`` and ``StackFrames``, whose rows refer to one another."""

    def __init__(self) -> None:
        self.locations: dict[str, SourceLocation | None] = {}  # by the texts of metadata
        self.tables: dict[str, dict[int, str | dict[str, str]]] = {name: {} for name in _TABLES}

    def parse(self, cursor: Cursor) -> str:
        """Read the tables that stand here, if any; returns their text."""
        start = cursor.position
        while cursor.token in _TABLES:
            table = self.tables[cursor.identifier()]
            while _NUMBER.fullmatch(cursor.token):
                number = cursor.integer()
                table[number] = _fields(cursor)[0] if cursor.token == "{" else cursor.string()
        return cursor.text[start : cursor.position].strip()

    def read_metadata(self, text: str) -> bool:
        """Whether the text is metadata of ordinary form; if so, what it says stands among the locations."""
        if "\\" in text or _FIELDS.fullmatch(text) is None:
            return False
        self.ordinary(text)
        return True

    def ordinary(self, text: str) -> SourceLocation | None:
        """What metadata of ordinary form says, which is remembered."""
        if text not in self.locations:
            self.locations[text] = _location(_ordinary_fields(text), text, self)
        return self.locations[text]

    def location(self, stack_frame: str) -> SourceLocation | None:
        """The innermost source line of a stack frame; None if the tables do not tell it."""
        frame = self._row("StackFrames", stack_frame)
        place = self._row("FileLocations", frame.get("file_location_id", ""))
        file = self._name("FileNames", place.get("file_name_id", ""))
        line = place.get("line", "")
        if not file or not _NUMBER.fullmatch(line):
            return None
        return SourceLocation(file, int(line), self._name("FunctionNames", place.get("function_name_id", "")))

    def _row(self, table: str, number: str) -> dict[str, str]:
        row = self.tables[table].get(int(number)) if _NUMBER.fullmatch(number) else None
        return row if isinstance(row, dict) else {}

    def _name(self, table: str, number: str) -> str:
        name = self.tables[table].get(int(number)) if _NUMBER.fullmatch(number) else None
        return name if isinstance(name, str) else ""


def parse_metadata(cursor: Cursor, tables: SourceTables) -> SourceLocation | None:
    """``{op_name="..." source_file="..." source_line=7}``: the place in the source, with all that is said of it."""
    start = cursor.position
    if (match := cursor.matched(_FIELDS)) is not None and "\\" not in match.group():
        return tables.ordinary(match.group())
    cursor.position = start
    fields, end = _fields(cursor)
    return _location(fields, cursor.text[start:end], tables)


def _location(fields: dict[str, str], text: str, tables: SourceTables) -> SourceLocation | None:
    if not fields:
        return None
    name = fields.get("op_name", "")
    if "source_file" in fields:
        line = fields.get("source_line", "")
        return SourceLocation(fields["source_file"], int(line) if _NUMBER.fullmatch(line) else 0, name, text)
    location = tables.location(fields.get("stack_frame_id", ""))
    return SourceLocation("", 0, name, text) if location is None else replace(location, metadata=text)


def metadata_text(source: SourceLocation, with_tables: bool) -> str:
    """The place as an instruction's ``metadata`` value: as it was spelled, if it was.

    A stack frame is replaced by its source line where the module has no tables that would tell it.

    >>> metadata_text(SourceLocation("a.py", 3, "f"), False)
    '{op_name="f" source_file="a.py" source_line=3}'
    >>> metadata_text(SourceLocation("a.py", 3, "f", '{op_type="add" stack_frame_id=2}'), False)
    '{op_type="add" source_file="a.py" source_line=3}'
    """
    place = f"source_file={quoted(source.file)} source_line={source.line}"
    if not source.metadata:
        name = f"op_name={quoted(source.function)} " if source.function else ""
        return f"{{{name}{place}}}"
    if with_tables or not source.file:
        return source.metadata
    return _STACK_FRAME.sub(lambda match: match.group(1) or place, source.metadata)


def _ordinary_fields(text: str) -> dict[str, str]:
    return {name: string[1:-1] or word for name, string, word in _FIELD.findall(text)}


def _fields(cursor: Cursor) -> tuple[dict[str, str], int]:
    """``{name=value name=value ...}`` and its end; strings without their quotes, other values as they are spelled."""
    if (match := cursor.matched(_FIELDS)) is not None and "\\" not in match.group():
        return _ordinary_fields(match.group()), match.end()
    if match is not None:
        cursor.position = match.start()
    cursor.expect("{")
    fields: dict[str, str] = {}
    while cursor.token != "}":
        name = cursor.identifier()
        cursor.expect("=")
        fields[name] = cursor.string() if cursor.token[:1] == '"' else cursor.raw_value()
        cursor.accept(",")
    end = cursor.position + 1
    cursor.advance()
    return fields, end
