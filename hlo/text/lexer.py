"""Tokens of HLO text, and the cursor that the parsers of shapes, literals and attributes share.

The lexical rules are those of ``xla/hlo/parser/hlo_lexer.cc``: names may stand with or without ``%``, comments are
``/* */`` and ``//``, strings are escaped as in C. Tokens are found one at a time, where they are asked for, so that what is
recognised as a whole (see phrases.py) costs one match; lines and columns are computed only for an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

from ..errors import HloSyntaxError
from ..shape import AnyShape
from .phrases import BALANCED, STRING, Phrase

_SKIPPED = r"(?: \s++ | /\* .*? \*/ | // [^\n\r]*+ )*+"
_TOKEN = rf"""(
    %? [A-Za-z_] [\w.\-]*+ (?: (?<= \b nan ) \( 0x [0-9a-fA-F]++ \) )?+
  | -? (?: [0-9]++ (?: \. [0-9]*+ )? | \. [0-9]++ ) (?: [eE] [+\-]? [0-9]++ )?
  | {STRING}
  | -nan \( 0x [0-9a-fA-F]++ \) | -inf\b | -nan\b
  | % [\w.\-]++
  | ->
  | \S
)"""
_BLANKS = Phrase(_SKIPPED)
_PIECE = Phrase(_TOKEN + _SKIPPED)  # a token with the blanks and comments behind it
_BRACKET = Phrase(rf"""(?: [^{{}}()\[\]"/]++ | {STRING} | /\* .*? \*/ | // [^\n\r]*+ | /(?!\*) )*+ (\S)?""")
_IN_BRACKETS = Phrase(BALANCED)
_INTEGER = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|nan)")
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.\-]*", re.ASCII)
_NAME = re.compile(r"%?([\w.\-]+)", re.ASCII)
_WORD = re.compile(r"""[^\s,=(){}\[\]"]*""")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPED = {"n": b"\n", "t": b"\t", "r": b"\r", "a": b"\a", "b": b"\b", "f": b"\f", "v": b"\v"}
_CLOSING = {"{": "}", "(": ")", "[": "]"}

END = ""  # the token behind the last one


class Cursor:
    """A position in a text, always at the beginning of a token.

    ``resolve_computation`` is called with the name behind ``to_apply=`` and its like and the place of the name, or with an
    empty name at the brace that opens a computation written there, and returns the computation. ``shapes`` holds the
    shapes that were read before, by their text.
    """

    def __init__(
        self, text: str, file: str = "", resolve_computation: Callable[[str, int], Any] | None = None
    ) -> None:  # fmt: skip
        self.text, self.file = text, file
        self.resolve_computation = resolve_computation
        self.fill_elided: Callable[[Any], Any] | None = None  # makes arrays for constants whose values are left out
        self.has_unsized_shapes = False  # whether a shape has been read that has no size: f32[?], b(f32[3])
        self.shapes: dict[str, AnyShape] = {}
        self.position = 0
        self._scanned = -1  # the position to which the following belong
        self._token, self._next = END, 0
        self.move(0)

    @property
    def token(self) -> str:
        if self._scanned != self.position:
            self._scan()
        return self._token

    def _scan(self) -> None:
        """Find the token here, and where the next one begins."""
        match = _PIECE.match(self.text, self.position)
        self._scanned = self.position
        if match is None:
            self._token, self._next = END, self.position
            return
        self._token, self._next = match.group(1), match.end()
        if self._token == "/" and self.text.startswith("/*", self.position):
            self.fail("this comment is never closed")

    def following(self) -> str:
        """The token behind this one."""
        position = self.position
        self.advance()
        token, self.position = self.token, position
        return token

    def advance(self) -> None:
        """Step over the token."""
        if self._scanned != self.position:
            self._scan()
        self.position = self._next

    def move(self, offset: int) -> None:
        """Go to the token that begins at this place in the text, or is the first behind it."""
        first = self.text[offset : offset + 1]
        is_token = first > " " and first != "/"  # mostly; the expression says what a blank or a comment is
        self.position = offset if is_token else _BLANKS.match(self.text, offset).end()

    def accept(self, token: str) -> bool:
        """Step over the token if it is this one."""
        if self.token == token:
            self.position = self._next
            return True
        return False

    def expect(self, token: str) -> None:
        """Step over the token, which must be this one."""
        if self.token != token:
            self.fail(f"{token!r} expected, found {self.description()}")
        self.position = self._next

    def integer(self) -> int:
        token = self.token
        if _INTEGER.fullmatch(token) is None:
            self.fail(f"an integer expected, found {self.description()}")
        if len(token) > 20 or not -(2**63) <= int(token) < 2**64:
            self.fail(f"an integer of at most 64 bits expected, found {self.description()}")
        self.position = self._next
        return int(token)

    def number(self) -> float:
        token = self.token
        if _NUMBER.fullmatch(token) is None:
            self.fail(f"a number expected, found {self.description()}")
        self.position = self._next
        return float(token)

    def identifier(self) -> str:
        token = self.token
        if not token.isidentifier() and _IDENTIFIER.fullmatch(token) is None:
            self.fail(f"an identifier expected, found {self.description()}")
        self.position = self._next
        return token

    def name(self, what: str = "a name") -> str:
        """The name of an instruction or computation, without its ``%``."""
        match = _NAME.fullmatch(self.token)
        if match is None:
            self.fail(f"{what} expected, found {self.description()}")
        self.position = self._next
        return match.group(1)

    def string(self) -> str:
        token = self.token
        if len(token) < 2 or token[0] != '"':
            self.fail(f"a string in double quotes expected, found {self.description()}")
        try:
            result = unescaped(token[1:-1])
        except UnicodeError:
            self.fail("the bytes of the string are not UTF-8")
        self.position = self._next
        return result

    def word(self) -> str:
        """Everything up to a blank, comma, equals sign or bracket: ``0_1x2_3``, ``b01f_01io->b01f``."""
        return self.matched(_WORD).group()

    def matched(self, form: Phrase) -> re.Match[str] | None:
        """Step over what has this form, which must end where a token does; None where nothing here has it."""
        match = form.match(self.text, self.position)
        if match is not None:
            self.move(match.end())
        return match

    def raw_value(self) -> str:
        """The text of a value of any form: a string, something in brackets, or a word."""
        start = self.position
        if (match := self.matched(_IN_BRACKETS)) is not None:
            return match.group()
        token = self.token
        if token in _CLOSING:
            return self.text[start : self.skip_brackets()]
        if token[:1] == '"':
            if len(token) == 1:
                self.fail("this string is never closed")
            self.advance()
            return token
        return self.word() or self.fail(f"a value expected, found {self.description()}")

    def skip_brackets(self) -> int:
        """Step over everything from this bracket to the one that closes it; returns where that ends in the text."""
        text, opening = self.text, self.position
        expected: list[str] = []
        end = opening
        while (match := _BRACKET.match(text, end))[1] is not None:
            bracket, end = match[1], match.end()
            if bracket in _CLOSING:
                expected.append(_CLOSING[bracket])
            elif bracket == '"':
                self.fail("this string is never closed", end - 1)
            elif bracket == "/":
                self.fail("this comment is never closed", end - 1)
            elif expected.pop() != bracket:
                self.fail(f"{bracket!r} does not match the bracket that it closes", end - 1)
            if not expected:
                self.move(end)
                return end
        self.fail(f"this {text[opening]!r} is never closed", opening)

    def computation(self) -> Any:
        place = self.position
        name = "" if self.token == "{" else self.name("the name of a computation")
        if self.resolve_computation is None:
            self.fail("no computation can be named here", place)
        return self.resolve_computation(name, place)

    def description(self) -> str:
        """The token in words, for a message."""
        token = self.token
        if token is END:
            return "the end of the text"
        return repr(token if len(token) <= 60 else token[:57] + "...")

    def line_and_column(self, place: int | None = None) -> tuple[int, int]:
        """Line and column, from 1, of a place in the text (by default the current one)."""
        offset = self.position if place is None else place
        return self.text.count("\n", 0, offset) + 1, offset - self.text.rfind("\n", 0, offset)

    def not_implemented(self, message: str, place: int | None = None) -> NoReturn:
        """Raise NotImplementedError at a place in the text (by default the current one)."""
        line, column = self.line_and_column(place)
        where = f"{self.file}, " if self.file else ""
        raise NotImplementedError(f"{where}line {line}, column {column}: {message}") from None

    def fail(self, message: str, place: int | None = None) -> NoReturn:
        """Raise HloSyntaxError at a place in the text (by default the current one)."""
        offset = self.position if place is None else place
        line, column = self.line_and_column(offset)
        end = self.text.find("\n", offset)
        source_line = self.text[offset - column + 1 : end if end >= 0 else None]
        raise HloSyntaxError(message, line, column, source_line, self.file)


def unescaped(text: str) -> str:
    """The inside of a quoted string with its C escapes resolved; octal and hexadecimal ones are bytes of UTF-8.

    Bytes that are not UTF-8 become what Python's ``surrogateescape`` makes of them, and are printed as escapes again.

    >>> unescaped(r"a\\tb \\303\\244")
    'a\\tb \xe4'
    """
    if "\\" not in text:
        return text
    parts, last = [], 0
    for match in _ESCAPE.finditer(text):
        code = match.group(1)
        parts.append(text[last : match.start()].encode())
        if code[0] == "x" and len(code) > 1:
            parts.append(bytes([int(code[1:], 16)]))
        elif code[0] in "01234567":
            parts.append(bytes([int(code, 8) & 255]))
        else:
            parts.append(_ESCAPED.get(code, code.encode()))
        last = match.end()
    parts.append(text[last:].encode())
    return b"".join(parts).decode(errors="surrogateescape")
