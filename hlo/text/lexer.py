"""Tokens of HLO text, and the cursor that the parsers of shapes, literals and attributes share.

The lexical rules are those of ``xla/hlo/parser/hlo_lexer.cc``: names may stand with or without ``%``, comments are
``/* */`` and ``//``, strings are escaped as in C. All tokens are found beforehand by one regular expression; lines and
columns are computed only for an error.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate
from typing import Any, NoReturn

from ..errors import HloSyntaxError

# Possessive repetition (++, *+): blanks that no token follows must not be matched in all possible ways.
_SKIPPED = r"(?: \s++ | /\* .*? (?: \*/ | \Z ) | // [^\n\r]*+ )*+"
_TOKEN = r"""(?:
    %? [A-Za-z_] [\w.\-]*+ (?: (?<= \b nan ) \( 0x [0-9a-fA-F]++ \) )?+
  | -? (?: [0-9]++ (?: \. [0-9]*+ )? | \. [0-9]++ ) (?: [eE] [+\-]? [0-9]++ )?
  | " (?: [^"\\] | \\. )*+ "
  | -nan \( 0x [0-9a-fA-F]++ \) | -inf\b | -nan\b
  | % [\w.\-]++
  | ->
  | \S
)"""
_FLAGS = re.VERBOSE | re.DOTALL | re.ASCII
_BEGINNING = re.compile(_SKIPPED, _FLAGS)
_PIECE = re.compile(_TOKEN + _SKIPPED, _FLAGS)  # a token with the blanks and comments behind it
_ONE_TOKEN = re.compile(_TOKEN, _FLAGS)
_INTEGER = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|nan)")
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.\-]*", re.ASCII)
_OPEN_COMMENT = re.compile(r"(?: \s++ | /\* .*? \*/ | // [^\n\r]*+ )*+ (/\*)", _FLAGS)
_NAME = re.compile(r"%?([\w.\-]+)", re.ASCII)
_WORD = re.compile(r"[^\s,=(){}\[\]]*")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPED = {"n": b"\n", "t": b"\t", "r": b"\r", "a": b"\a", "b": b"\b", "f": b"\f", "v": b"\v"}
_CLOSING = {"{": "}", "(": ")", "[": "]"}
_BRACKETS = frozenset("{}()[]")

END = ""  # the token behind the last one


class Cursor:
    """A position among the tokens of a text.

    ``resolve_computation`` is called with the name behind ``to_apply=`` and its like, or with an empty name at the brace that
    opens a computation written there, and returns the computation.
    """

    def __init__(self, text: str, file: str = "", resolve_computation: Callable[[str], Any] | None = None) -> None:
        self.text, self.file = text, file
        self.resolve_computation = resolve_computation
        self.fill_elided: Callable[[Any], Any] | None = None  # makes arrays for constants whose values are left out
        self.has_unsized_shapes = False  # whether a shape has been read that has no size: f32[?], b(f32[3])
        # With a line end behind it, every comment ends in a blank or a slash, which tells pieces that must be cut from tokens.
        beginning = _BEGINNING.match(text).end()
        pieces = _PIECE.findall(text + "\n", beginning)
        self.starts = list(accumulate(map(len, pieces), initial=beginning))
        self.starts[-1] = len(text)
        self.tokens = [piece if piece[-1] not in " \n\t\r\f\v/" else _without_blanks(piece) for piece in pieces]
        self.tokens.append(END)
        self.position = 0
        end = self.starts[-2] + len(self.tokens[-2]) if pieces else 0
        if (comment := _OPEN_COMMENT.match(text, end)) is not None:
            self._fail_at(comment.start(1), "this comment is never closed")

    @property
    def token(self) -> str:
        return self.tokens[self.position]

    def following(self, distance: int = 1) -> str:
        """The token that many places ahead."""
        place = self.position + distance
        return self.tokens[place] if place < len(self.tokens) else END

    def accept(self, token: str) -> bool:
        """Step over the token if it is this one."""
        if self.tokens[self.position] == token:
            self.position += 1
            return True
        return False

    def expect(self, token: str) -> None:
        """Step over the token, which must be this one."""
        if self.tokens[self.position] != token:
            self.fail(f"{token!r} expected, found {self.description()}")
        self.position += 1

    def integer(self) -> int:
        token = self.tokens[self.position]
        if _INTEGER.fullmatch(token) is None:
            self.fail(f"an integer expected, found {self.description()}")
        if len(token) > 20 or not -(2**63) <= int(token) < 2**64:
            self.fail(f"an integer of at most 64 bits expected, found {self.description()}")
        self.position += 1
        return int(token)

    def number(self) -> float:
        token = self.tokens[self.position]
        if _NUMBER.fullmatch(token) is None:
            self.fail(f"a number expected, found {self.description()}")
        self.position += 1
        return float(token)

    def identifier(self) -> str:
        token = self.tokens[self.position]
        if not token.isidentifier() and _IDENTIFIER.fullmatch(token) is None:
            self.fail(f"an identifier expected, found {self.description()}")
        self.position += 1
        return token

    def name(self, what: str = "a name") -> str:
        """The name of an instruction or computation, without its ``%``."""
        match = _NAME.fullmatch(self.tokens[self.position])
        if match is None:
            self.fail(f"{what} expected, found {self.description()}")
        self.position += 1
        return match.group(1)

    def string(self) -> str:
        token = self.tokens[self.position]
        if len(token) < 2 or token[0] != '"':
            self.fail(f"a string in double quotes expected, found {self.description()}")
        try:
            result = unescaped(token[1:-1])
        except UnicodeError:
            self.fail("the bytes of the string are not UTF-8")
        self.position += 1
        return result

    def word(self) -> str:
        """Everything up to a blank, comma, equals sign or bracket: ``0_1x2_3``, ``b01f_01io->b01f``."""
        start = self.starts[self.position]
        end = _WORD.match(self.text, start).end()
        self.position = bisect_left(self.starts, end, self.position)
        return self.text[start:end]

    def matched(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Step over what the pattern matches here; None where it does not."""
        match = pattern.match(self.text, self.starts[self.position])
        if match is not None:
            self.position = bisect_left(self.starts, match.end(), self.position)
        return match

    def raw_value(self) -> str:
        """The text of a value of any form: a string, something in brackets, or a word."""
        token = self.tokens[self.position]
        if token in _CLOSING:
            start = self.starts[self.position]
            self.skip_brackets()
            return self.text[start : self.starts[self.position - 1] + 1]
        if token[:1] == '"':
            if len(token) == 1:
                self.fail("this string is never closed")
            self.position += 1
            return token
        return self.word() or self.fail(f"a value expected, found {self.description()}")

    def skip_brackets(self) -> None:
        """Step over everything from this bracket to the one that closes it."""
        tokens, opening, open_brackets = self.tokens, self.position, []
        for position in range(opening, len(tokens)):
            token = tokens[position]
            if token not in _BRACKETS:
                if token == '"':
                    self.fail("this string is never closed", position)
                continue
            if token in _CLOSING:
                open_brackets.append(_CLOSING[token])
            else:
                if open_brackets.pop() != token:
                    self.fail(f"{token!r} does not match the bracket that it closes", position)
                if not open_brackets:
                    self.position = position + 1
                    return
        self.fail(f"this {tokens[opening]!r} is never closed", opening)

    def computation(self) -> Any:
        place = self.position
        name = "" if self.token == "{" else self.name("the name of a computation")
        if self.resolve_computation is None:
            self.fail("no computation can be named here", place)
        return self.resolve_computation(name)

    def description(self) -> str:
        """The token in words, for a message."""
        token = self.tokens[self.position]
        if token is END:
            return "the end of the text"
        return repr(token if len(token) <= 60 else token[:57] + "...")

    def line_and_column(self, position: int | None = None) -> tuple[int, int]:
        """Line and column, from 1, of a token (by default the current one)."""
        return self._line_and_column_at(self.starts[self.position if position is None else position])

    def _line_and_column_at(self, offset: int) -> tuple[int, int]:
        return self.text.count("\n", 0, offset) + 1, offset - self.text.rfind("\n", 0, offset)

    def not_implemented(self, message: str, position: int | None = None) -> NoReturn:
        """Raise NotImplementedError at a token (by default the current one)."""
        line, column = self.line_and_column(position)
        where = f"{self.file}, " if self.file else ""
        raise NotImplementedError(f"{where}line {line}, column {column}: {message}") from None

    def fail(self, message: str, position: int | None = None) -> NoReturn:
        """Raise HloSyntaxError at a token (by default the current one)."""
        self._fail_at(self.starts[self.position if position is None else position], message)

    def _fail_at(self, offset: int, message: str) -> NoReturn:
        line, column = self._line_and_column_at(offset)
        end = self.text.find("\n", offset)
        source_line = self.text[offset - column + 1 : end if end >= 0 else None]
        raise HloSyntaxError(message, line, column, source_line, self.file)


def _without_blanks(piece: str) -> str:
    token = piece.rstrip()
    return token if "/" not in token else _ONE_TOKEN.match(token).group()


def unescaped(text: str) -> str:
    """The inside of a quoted string with its C escapes resolved; octal and hexadecimal ones are bytes of UTF-8.

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
    return b"".join(parts).decode()
