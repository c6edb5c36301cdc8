"""The attributes of a custom call, read from its ``backend_config``.

The text is a dictionary in MLIR's spelling, ``{mode = 86 : ui8, name = "x"}``, in braces or in a string; a JSON object in a
string; or anything else in a string. Source: ``HloCustomCallInstruction`` of XLA, and the attribute syntax of MLIR's Builtin
dialect.
"""

from __future__ import annotations

import json
import re
from typing import Any

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<number>-?(?:0x[0-9A-Fa-f]+|[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?))
    |(?P<word>[A-Za-z_][\w.$\-]*)
    |(?P<mark>[{}\[\]<>=,:]))""",
    re.VERBOSE,
)


def call_attributes(text: str) -> dict[str, Any]:
    """The attributes by name: int, float, bool, str, or lists and dictionaries of them.

    Text in a string that is no dictionary is returned under the name ``backend_config``. Raises ValueError where a dictionary
    in braces cannot be read.

    >>> call_attributes('{mode = 86 : ui8, sizes = array<i64: 2, 3>, name = "x", scale = 2.0 : f32, unit}')
    {'mode': 86, 'sizes': [2, 3], 'name': 'x', 'scale': 2.0, 'unit': True}
    >>> call_attributes('"opaque"')
    {'backend_config': 'opaque'}
    """
    text = text.strip()
    if not text:
        return {}
    if text[0] != '"':
        return _Reader(text).whole()
    inside = re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match.group(1), match.group(1)), text[1:-1])
    if inside.lstrip()[:1] == "{":
        try:
            value = json.loads(inside)
        except ValueError:
            try:
                return _Reader(inside).whole()
            except ValueError:
                return {"backend_config": inside}
        return value if isinstance(value, dict) else {"backend_config": inside}
    return {"backend_config": inside} if inside else {}


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.position = text, 0
        self._advance()

    def whole(self) -> dict[str, Any]:
        value = self._dictionary()
        if self.kind:
            self._fail("the end")
        return value

    def _advance(self) -> None:
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            self.kind, self.token = "", ""
            if self.text[self.position :].strip():
                self._fail("a value")
            return
        self.kind, self.token, self.position = match.lastgroup or "", match.group(match.lastgroup or 0), match.end()

    def _fail(self, wanted: str) -> None:
        raise ValueError(f"backend_config: {wanted} is required before position {self.position} of {self.text!r}")

    def _accept(self, mark: str) -> bool:
        if self.kind != "mark" or self.token != mark:
            return False
        self._advance()
        return True

    def _expect(self, mark: str) -> None:
        if not self._accept(mark):
            self._fail(f"{mark!r}")

    def _dictionary(self) -> dict[str, Any]:
        self._expect("{")
        result: dict[str, Any] = {}
        while not self._accept("}"):
            if result:
                self._expect(",")
            if self.kind not in ("word", "string"):
                self._fail("a name")
            name = self.token.strip('"')
            self._advance()
            result[name] = self._value() if self._accept("=") else True
        return result

    def _value(self) -> Any:
        if self.kind == "mark" and self.token == "{":
            return self._dictionary()
        if self._accept("["):
            return self._list("]")
        kind, token = self.kind, self.token
        if kind not in ("string", "number", "word"):
            self._fail("a value")
        self._advance()
        if kind == "string":
            return re.sub(r"\\(.)", r"\1", token[1:-1])
        if kind == "number":
            value = _number(token, self._type())
        elif token in ("true", "false"):
            value = token == "true"
        elif token == "array":
            self._expect("<")
            self._advance()  # the element type
            value = self._list(">") if self._accept(":") else self._list(">")
        else:
            value = token
        return value

    def _type(self) -> str:
        """``: ui8`` behind a number; an empty string where there is none."""
        if not self._accept(":"):
            return ""
        name = self.token
        self._advance()
        return name

    def _list(self, end: str) -> list[Any]:
        values: list[Any] = []
        while not self._accept(end):
            if values:
                self._expect(",")
            values.append(self._value())
        return values


def _number(token: str, type_name: str) -> int | float:
    if type_name.startswith(("f", "bf")) or (not token.startswith(("0x", "-0x")) and any(mark in token for mark in ".eE")):
        return float(token)
    return int(token, 0)
