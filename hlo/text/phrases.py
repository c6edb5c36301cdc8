"""Ordinary forms of whole stretches of HLO text, each recognised by one match.

What stands in such a form means the same as it does to the parsers that read it token by token; anything else, and with it
every error, is left to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any


class Phrase:
    """A pattern in which blanks do not count. It is compiled when it is first used, as that takes longer than all else here.

    Repetition should be possessive (++, *+): what does not match must not be tried in all possible ways.
    """

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._pattern, re.VERBOSE | re.DOTALL | re.ASCII)

    @cached_property
    def match(self) -> Callable[..., re.Match[str] | None]:
        return self._compiled.match

    @cached_property
    def fullmatch(self) -> Callable[..., re.Match[str] | None]:
        return self._compiled.fullmatch

    def findall(self, text: str) -> list[Any]:
        return self._compiled.findall(text)

    def sub(self, replacement: str, text: str) -> str:
        return self._compiled.sub(replacement, text)


STRING = r'" (?: [^"\\]++ | \\. )*+ "'
NAME = r"(?: % [\w.\-]++ | [A-Za-z_] [\w.\-]*+ )"


def _balanced(brackets: str, depth: int) -> str:
    """Something in brackets, without comments, in which brackets are nested this deep."""
    inside = rf"""[^{{}}()\[\]"/]++ | {STRING} | /(?![*/])"""
    if depth:
        inside += "".join(" | " + _balanced(pair, depth - 1) for pair in ("{}", "()", "[]"))
    opening, closing = brackets
    return rf"\{opening} (?: {inside} )*+ \{closing}"


_PLAIN = r"""[^{}()\[\]"/]*+"""
_LAYOUT = rf"\{{ (?= [0-9:}}] ) {_PLAIN} (?: \( {_PLAIN} \) {_PLAIN} )*+ \}}"
SIZES = rf"\[ {_PLAIN} \] (?: {_LAYOUT} )?+"
ARRAY_SHAPE = rf"[a-z] \w*+ {SIZES}"
COMMENT = r"/\* [^*/{}()\[\]]*+ \*/"
COMMENTS = Phrase(rf"{COMMENT} \s*+")


def _tuple_shape(depth: int) -> str:
    """A tuple shape in which tuples are nested this deep."""
    element = ARRAY_SHAPE if depth == 0 else f"(?: {ARRAY_SHAPE} | {_tuple_shape(depth - 1)} )"
    separator = rf", \s*+ (?: {COMMENT} \s*+ )?+"
    return rf"\( \s*+ (?: {element} (?: {separator} {element} )*+ )?+ \)"


SHAPE = f"(?: {ARRAY_SHAPE} | {_tuple_shape(2)} )"
BALANCED = "(?: " + " | ".join(_balanced(pair, 3) for pair in ("{}", "()", "[]")) + " )"
WORD = r"""[^\s,=(){}\[\]"/]++"""
OPERANDS = rf"(?: [^(){{}}\[\]\"/=]++ | {SIZES} | {COMMENT} )*+"  # as long as none of them is an instruction
