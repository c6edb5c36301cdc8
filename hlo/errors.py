"""The exceptions that HLO raises, and the one way in which shape functions raise them."""

from __future__ import annotations


class HloError(ValueError):
    """An HLO program, or a request to build one, breaks a rule of the language."""


class ShapeError(HloError):
    """Operand shapes or attributes break a constraint of an operation."""


class VerificationError(HloError):
    """A module that already exists breaks an invariant; the message names the instruction."""


class AddressSpaceError(HloError, MemoryError):
    """A program whose arrays are larger than any memory can be; the message says how many bytes they take."""


class HloSyntaxError(HloError):
    """HLO text that cannot be read; the message starts with the file, where one is given, line and column.

    ``line`` and ``column`` count from 1.
    """

    def __init__(self, message: str, line: int, column: int, source_line: str = "", file: str = "") -> None:
        self.line, self.column, self.source_line, self.file = line, column, source_line, file
        text = f"{file + ', ' if file else ''}line {line}, column {column}: {message}"
        if source_line:
            start = max(0, column - 61)
            excerpt = source_line[start : start + 120].replace("\t", " ")
            text += f"\n  {excerpt}\n  {' ' * (column - 1 - start)}^"
        super().__init__(text)


for _error in (HloError, ShapeError, VerificationError, AddressSpaceError, HloSyntaxError):
    _error.__module__ = __name__.rpartition(".")[0]  # where users find them


def require(condition: bool, *message: object) -> None:
    """Raise ShapeError with the joined message parts unless the condition holds.

    The parts are joined only on failure, so a shape function pays nothing for a message it does not need.
    """
    if not condition:
        raise ShapeError("".join(str(part) for part in message))
