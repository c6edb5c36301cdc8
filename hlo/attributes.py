"""The kinds of attributes: each knows how to check, print and parse its values.

A kind's ``parse`` gets a cursor over HLO text (``text/lexer.py``): ``cursor.accept(token)``, ``cursor.expect(token)``,
``cursor.integer()``, ``cursor.number()``, ``cursor.identifier()``, ``cursor.string()``, ``cursor.computation()``,
``cursor.matched(form)``, for a whole value of an ordinary form, and ``cursor.fail(message, position)``. The spellings are those
of XLA's HLO text (``xla/hlo/parser/hlo_parser.cc``).
"""

from __future__ import annotations

import operator
import re
from typing import Any, NamedTuple, Protocol

import numpy as np

from .errors import ShapeError

_INTEGERS = re.compile(r"\{\s*(?:(-?[0-9]{1,18}(?:\s*,\s*-?[0-9]{1,18})*)\s*)?\}", re.ASCII)
_SLICE = re.compile(r"\[(-?[0-9]{1,18}):(-?[0-9]{1,18})(?::(-?[0-9]{1,18}))?\]")
_SLICES = re.compile(rf"\{{(?:{_SLICE.pattern}(?:, ?(?=\[)|(?=\}})))*\}}")
_PADDING = re.compile(r"(-?[0-9]{1,19}(_-?[0-9]{1,19}){1,2})(x-?[0-9]{1,19}(_-?[0-9]{1,19}){1,2})*")

REQUIRED: Any = type("Required", (), {"__repr__": lambda self: "REQUIRED"})()


class Cursor(Protocol):
    """What an attribute kind needs of the text it is parsed from; ``position`` is that of the next token."""

    position: int

    @property
    def token(self) -> str: ...
    def accept(self, token: str) -> bool: ...
    def expect(self, token: str) -> None: ...
    def integer(self) -> int: ...
    def number(self) -> float: ...
    def identifier(self) -> str: ...
    def string(self) -> str: ...
    def word(self) -> str: ...
    def raw_value(self) -> str: ...
    def matched(self, pattern: re.Pattern[str]) -> re.Match[str] | None: ...
    def computation(self) -> Any: ...
    def fail(self, message: str, position: int | None = None) -> Any: ...


class AttributeKind:
    """A kind of attribute value.

    ``default`` is the value when the text or the caller leaves the attribute out, and is not printed; REQUIRED means that it
    may not be left out. ``spelling`` is the name in HLO text where it differs from the Python name. A kind that
    ``stands_in_parentheses`` is written between the operands' parentheses, without a name: ``parameter(0)``. What is
    ``always_printed`` is printed even if it is the default, because XLA requires it.
    """

    stands_in_parentheses = False
    always_printed = False

    def __init__(self, default: Any = REQUIRED, spelling: str = "") -> None:
        self.default, self.spelling = default, spelling

    def check(self, value: Any) -> Any:
        """The value in canonical form; raises ShapeError if it is not of this kind."""
        raise NotImplementedError

    def print(self, value: Any) -> str:
        raise NotImplementedError

    def parse(self, cursor: Cursor) -> Any:
        raise NotImplementedError


def as_index(value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise ShapeError(f"an integer is required, {value!r} given") from None


class Integer(AttributeKind):
    """``index=2``"""

    def check(self, value: Any) -> int:
        return as_index(value)

    def print(self, value: int) -> str:
        return str(value)

    def parse(self, cursor: Cursor) -> int:
        return cursor.integer()


class ParameterNumber(Integer):
    """``parameter(0)``"""

    stands_in_parentheses = True


class LiteralValue(AttributeKind):
    """``constant({1, 2})``: an array, or a tuple of literals; the text package prints and parses it, given the shape."""

    stands_in_parentheses = True

    def check(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self.check(element) for element in value)
        array = np.array(value, order="C")
        array.flags.writeable = False
        return array


class RawText(AttributeKind):
    """``domain={kind="sharding", entry={replicated}}``: any value, kept as it is spelled."""

    def check(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ShapeError(f"a string is required, {value!r} given")
        return value

    def print(self, value: str) -> str:
        return value

    def parse(self, cursor: Cursor) -> str:
        return cursor.raw_value()


class Boolean(AttributeKind):
    """``is_stable=true``"""

    def __init__(self, default: Any = REQUIRED, spelling: str = "", always_printed: bool = False) -> None:
        super().__init__(default, spelling)
        self.always_printed = always_printed

    def check(self, value: Any) -> bool:
        if value is not True and value is not False:
            raise ShapeError(f"True or False is required, {value!r} given")
        return value

    def print(self, value: bool) -> str:
        return "true" if value else "false"

    def parse(self, cursor: Cursor) -> bool:
        place, word = cursor.position, cursor.identifier()
        if word not in ("true", "false"):
            cursor.fail(f"true or false expected, found {word}", place)
        return word == "true"


class Float32(AttributeKind):
    """``epsilon=0.001``: a finite number, rounded to f32, in which XLA keeps it."""

    def check(self, value: Any) -> float:
        try:
            with np.errstate(over="ignore"):
                number = float(np.float32(value))
        except (TypeError, ValueError):
            raise ShapeError(f"a number is required, {value!r} given") from None
        if not np.isfinite(number):
            raise ShapeError(f"a finite number of type f32 is required, {value!r} given")
        return number

    def print(self, value: float) -> str:
        return str(np.float32(value)).removesuffix(".0")

    def parse(self, cursor: Cursor) -> float:
        return cursor.number()


class Choice(AttributeKind):
    """``direction=LT``: one of a few words."""

    def __init__(self, *words: str, default: Any = REQUIRED, spelling: str = "", always_printed: bool = False) -> None:
        super().__init__(default, spelling)
        self.words, self.always_printed = words, always_printed

    def check(self, value: Any) -> str:
        if value not in self.words:
            raise ShapeError(f"one of {', '.join(self.words)} is required, {value!r} given")
        return value

    def print(self, value: str) -> str:
        return value

    def parse(self, cursor: Cursor) -> str:
        place, word = cursor.position, cursor.identifier()
        if word not in self.words:
            cursor.fail(f"one of {', '.join(filter(None, self.words))} expected, found {word}", place)
        return word


class String(AttributeKind):
    """``custom_call_target="name"``"""

    def check(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ShapeError(f"a string is required, {value!r} given")
        return value

    def print(self, value: str) -> str:
        return quoted(value)

    def parse(self, cursor: Cursor) -> str:
        return cursor.string()


class IntegerList(AttributeKind):
    """``dimensions={0,2}``"""

    def check(self, value: Any) -> tuple[int, ...]:
        try:
            items = tuple(value)
        except TypeError:
            raise ShapeError(f"a sequence of integers is required, {value!r} given") from None
        return tuple([as_index(item) for item in items])

    def print(self, value: tuple[int, ...]) -> str:
        return "{" + ",".join(map(str, value)) + "}"

    def parse(self, cursor: Cursor) -> tuple[int, ...]:
        return integers(cursor)


class SliceDimension(NamedTuple):
    """The elements start, start + stride, ... below limit, of one dimension."""

    start: int
    limit: int
    stride: int = 1


class SliceDimensions(AttributeKind):
    """``slice={[0:4], [1:9:2]}``: start, limit and stride for each dimension."""

    def check(self, value: Any) -> tuple[SliceDimension, ...]:
        return tuple([SliceDimension(*map(as_index, item)) for item in value])

    def print(self, value: tuple[SliceDimension, ...]) -> str:
        parts = [f"[{d.start}:{d.limit}" + (f":{d.stride}" if d.stride != 1 else "") + "]" for d in value]
        return "{" + ", ".join(parts) + "}"

    def parse(self, cursor: Cursor) -> tuple[SliceDimension, ...]:
        def one() -> SliceDimension:
            cursor.expect("[")
            start = cursor.integer()
            cursor.expect(":")
            limit = cursor.integer()
            stride = cursor.integer() if cursor.accept(":") else 1
            cursor.expect("]")
            return SliceDimension(start, limit, stride)

        if (match := cursor.matched(_SLICES)) is not None:
            return tuple([SliceDimension(int(a), int(b), int(c or 1)) for a, b, c in _SLICE.findall(match.group())])
        return tuple(braced_list(cursor, one))


class PaddingDimension(NamedTuple):
    """Elements added before, after, and between each two elements, of one dimension; low and high may be negative."""

    low: int
    high: int
    interior: int = 0


class PaddingDimensions(AttributeKind):
    """``padding=1_2x0_0_3``: low, high and interior padding for each dimension."""

    def check(self, value: Any) -> tuple[PaddingDimension, ...]:
        return tuple(PaddingDimension(*map(as_index, item)) for item in value)

    def print(self, value: tuple[PaddingDimension, ...]) -> str:
        return "x".join(f"{d.low}_{d.high}" + (f"_{d.interior}" if d.interior else "") for d in value)

    def parse(self, cursor: Cursor) -> tuple[PaddingDimension, ...]:
        place, word = cursor.position, cursor.word()
        if word and _PADDING.fullmatch(word) is None:
            cursor.fail(f"padding of the form low_high or low_high_interior, joined by x, expected; found {word!r}", place)
        return self.check([map(int, part.split("_")) for part in word.split("x")] if word else [])


class CalledComputation(AttributeKind):
    """``to_apply=%add``: a computation of the same module."""

    def check(self, value: Any) -> Any:
        if not hasattr(value, "parameters") or not hasattr(value, "root"):
            raise ShapeError(f"a computation is required, {value!r} given")
        return value

    def print(self, value: Any) -> str:
        return "%" + value.name

    def parse(self, cursor: Cursor) -> Any:
        return cursor.computation()


class CalledComputations(CalledComputation):
    """``branch_computations={%a, %b}``"""

    def check(self, value: Any) -> tuple:
        return tuple(CalledComputation.check(self, item) for item in value)

    def print(self, value: tuple) -> str:
        return "{" + ", ".join("%" + item.name for item in value) + "}"

    def parse(self, cursor: Cursor) -> tuple:
        return tuple(braced_list(cursor, cursor.computation))


def integers(cursor: Cursor) -> tuple[int, ...]:
    """``{integer, integer, ...}``"""
    if (match := cursor.matched(_INTEGERS)) is not None:
        return tuple(map(int, match[1].split(","))) if match[1] else ()
    return tuple(braced_list(cursor, cursor.integer))


def braced_list(cursor: Cursor, item: Any) -> list:
    """``{item, item, ...}``, the items read by calling ``item``."""
    cursor.expect("{")
    items: list = []
    if cursor.accept("}"):
        return items
    while True:
        items.append(item())
        if cursor.accept("}"):
            return items
        cursor.expect(",")


def quoted(text: str) -> str:
    """The text as a string in HLO text, escaped as in C.

    >>> print(quoted('say "hi"'))
    "say \\"hi\\""
    """
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character == "\n":
        return "\\n"
    if "\udc80" <= character <= "\udcff":  # a byte that is not UTF-8
        return f"\\{ord(character) - 0xDC00:03o}"
    return f"\\{ord(character):03o}" if character < " " or character == "\x7f" else character
