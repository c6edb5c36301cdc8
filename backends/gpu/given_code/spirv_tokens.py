"""SPIR-V's text as instructions: these need no lines, and may have comments between their words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .text_places import TextError

_TOKEN = re.compile(r'\s+|;[^\n]*|(?P<token>"(?:\\.|[^"\\])*"|=|[^\s;="]+)', re.DOTALL)
_OPCODE = re.compile(r"Op[A-Z]\w*", re.ASCII)


class Token(NamedTuple):
    text: str
    place: int


class Statement(NamedTuple):
    """An instruction of the text: the name of its result, its own, what stands behind it, and where that ends."""

    result: Token | None
    opcode: Token
    operands: list[Token]


def tokens_of(text: str) -> list[Token]:
    """The words, strings and = of a text, without comments. Raises TextError for a string that does not end."""
    place, tokens = 0, []
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise TextError(text, place, "a string that does not end")
        if found["token"] is not None:
            tokens.append(Token(found["token"], place))
        place = found.end()
    return tokens


def statements_of(text: str, tokens: list[Token]) -> Iterator[Statement]:
    """The instructions. Raises TextError where a text begins with something else, or nothing stands behind =."""
    begins = [at for at in range(len(tokens)) if _begins_statement(tokens, at)]
    if tokens and begins[:1] != [0]:
        raise TextError(text, tokens[0].place, f"an instruction is required, as %1 = OpTypeVoid, got {tokens[0].text}")
    for begin, end in zip(begins, [*begins[1:], len(tokens)]):
        result = None
        if tokens[begin + 1 : begin + 2] and tokens[begin + 1].text == "=":
            result, begin = tokens[begin], begin + 2
            if begin >= end:
                raise TextError(text, tokens[begin - 1].place, "an instruction is required behind =")
        yield Statement(result, tokens[begin], tokens[begin + 1 : end])


def _begins_statement(tokens: list[Token], at: int) -> bool:
    if at + 1 < len(tokens) and tokens[at + 1].text == "=":
        return True
    return _OPCODE.fullmatch(tokens[at].text) is not None and (at == 0 or tokens[at - 1].text != "=")
