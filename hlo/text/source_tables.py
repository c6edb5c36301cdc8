"""Where instructions come from: ``metadata={...}``, and the tables of files and stack frames ahead of verbose dumps."""

from __future__ import annotations

from ..attributes import quoted
from ..instruction import SourceLocation
from .lexer import Cursor

_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")


class SourceTables:
    """The tables ``FileNames``, ``FunctionNames``, ``FileLocations`` and ``StackFrames``, whose rows refer to one another."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[int, str | dict[str, str]]] = {name: {} for name in _TABLES}

    def parse(self, cursor: Cursor) -> None:
        """Read the tables that stand here, if any."""
        while cursor.token in _TABLES:
            table = self.tables[cursor.identifier()]
            while cursor.token.isdigit():
                number = cursor.integer()
                table[number] = _fields(cursor) if cursor.token == "{" else cursor.string()

    def location(self, stack_frame: str) -> SourceLocation | None:
        """The innermost source line of a stack frame; None if the tables do not tell it."""
        frame = self._row("StackFrames", stack_frame)
        place = self._row("FileLocations", frame.get("file_location_id", ""))
        file = self._name("FileNames", place.get("file_name_id", ""))
        line = place.get("line", "")
        if not file or not line.isdigit():
            return None
        return SourceLocation(file, int(line[:9]), self._name("FunctionNames", place.get("function_name_id", "")))

    def _row(self, table: str, number: str) -> dict[str, str]:
        row = self.tables[table].get(int(number)) if number.isdigit() and len(number) < 10 else None
        return row if isinstance(row, dict) else {}

    def _name(self, table: str, number: str) -> str:
        name = self.tables[table].get(int(number)) if number.isdigit() and len(number) < 10 else None
        return name if isinstance(name, str) else ""


def parse_metadata(cursor: Cursor, tables: SourceTables) -> SourceLocation | None:
    """``{op_name="..." source_file="..." source_line=7}``: the place in the source, if it is told."""
    fields = _fields(cursor)
    if "source_file" in fields:
        line = fields.get("source_line", "0")
        return SourceLocation(fields["source_file"], int(line[:9]) if line.isdigit() else 0, fields.get("op_name", ""))
    return tables.location(fields.get("stack_frame_id", ""))


def metadata_text(source: SourceLocation) -> str:
    """The place as an instruction's ``metadata`` value."""
    name = f"op_name={quoted(source.function)} " if source.function else ""
    return f"{{{name}source_file={quoted(source.file)} source_line={source.line}}}"


def _fields(cursor: Cursor) -> dict[str, str]:
    """``{name=value name=value ...}``; strings without their quotes, other values as they are spelled."""
    cursor.expect("{")
    fields: dict[str, str] = {}
    while not cursor.accept("}"):
        name = cursor.identifier()
        cursor.expect("=")
        fields[name] = cursor.string() if cursor.token[:1] == '"' else cursor.raw_value()
        cursor.accept(",")
    return fields
