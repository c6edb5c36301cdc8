"""Where in a text something is wrong."""

from __future__ import annotations


class TextError(ValueError):
    """Code that a user gives as text is wrong at a place.

    >>> print(TextError("OpNop\\nOpNope", 6, "OpNope is no instruction"))
    line 2, column 1: OpNope is no instruction
      OpNope
      ^
    """

    def __init__(self, text: str, place: int, message: str) -> None:
        begin = text.rfind("\n", 0, place) + 1
        line, column = text[begin:].partition("\n")[0], place - begin
        pointed = "".join(["\t" if character == "\t" else " " for character in line[:column]])
        super().__init__(f"line {text.count(chr(10), 0, place) + 1}, column {column + 1}: {message}\n  {line}\n  {pointed}^")
