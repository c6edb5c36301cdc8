"""Literals of many elements, read at once.

Only literals of the ordinary form are: braces as deep as the rank, a comma between each two elements, plain numbers. For
anything else, and with it for every error, ``literals.py`` reads token by token.
"""

from __future__ import annotations

import re
from functools import cache

import ml_dtypes
import numpy as np

from ..element_type import ElementType, component_type
from ..shape import Shape
from .lexer import Cursor
from .special_values import out_of_range, set_special

_BLANKS = b" \t\n\r\f\v"
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n\r]*", re.DOTALL)
_SIGN_ALONE = re.compile(rb"(?<![eE])\+")
_BRACKETS = str.maketrans("", "", "{}()")
_TRUTH = {"0": False, "1": True, "false": False, "true": True, " 0": False, " 1": True}
_SPECIAL = {"inf", "-inf", "nan", "-nan"}


def parse_dense(cursor: Cursor, shape: Shape) -> np.ndarray | None:
    """The array of this shape at the cursor, which goes behind it; None, the cursor where it was, if it has another form."""
    if cursor.token != "{" or not shape.size or shape.dynamic_dimensions:
        return None
    closing = _closing_braces(shape.rank).search(cursor.text, cursor.position)
    if closing is None:
        return None
    text = cursor.text[cursor.position : closing.end()]
    if "/" in text:
        text = _COMMENT.sub(" ", text)
    if not text.isascii():
        return None
    data = text.encode()
    is_complex = shape.element_type.is_complex
    if not _has_form(data, shape.dimensions, is_complex):
        return None
    part = component_type(shape.element_type)
    if part.kind == "pred":
        values = _truth_values(text.translate(_BRACKETS).split(","))
    else:
        values = (_integers if part.is_integer else _floats)(data, text.translate(_BRACKETS).split(","), part)
    if values is None:
        return None
    cursor.move(closing.end())
    return (values.view(shape.element_type.dtype) if is_complex else values).reshape(shape.dimensions)


@cache
def _closing_braces(count: int) -> re.Pattern[str]:
    return re.compile(r"\}" + r"\s*+\}" * (count - 1), re.ASCII)


def _has_form(data: bytes, dimensions: tuple[int, ...], is_complex: bool) -> bool:
    """Whether the brackets and commas stand as they must, with the values innermost."""
    expected = b"(,)" if is_complex else b""
    for size in reversed(dimensions):
        if size > len(data):
            return False
        expected = b"{" + expected + (b"," + expected) * (size - 1) + b"}"
        if len(expected) > len(data):
            return False
    shown = data.translate(_form_of_values(), _BLANKS)
    if any(wrong in shown for wrong in (b"0{", b"}0", b"0(", b")0")):
        return False
    return shown.translate(None, b"0") == expected


@cache
def _form_of_values() -> bytes:
    """The table that makes every character of a value a 0."""
    return bytes(code if chr(code) in "{}()," else ord("0") for code in range(256))


def _truth_values(texts: list[str]) -> np.ndarray | None:
    values = [_TRUTH.get(text) for text in texts]
    if None in values:
        values = [_TRUTH.get(text.strip()) for text in texts]
    return None if None in values else np.array(values, np.bool_)


def _integers(data: bytes, texts: list[str], element_type: ElementType) -> np.ndarray | None:
    if data.translate(None, b"0123456789-{}," + _BLANKS):
        return None
    wide = np.uint64 if element_type.kind == "unsigned" else np.int64
    try:
        values = np.fromiter(map(int, texts), wide, len(texts))
    except (ValueError, OverflowError):
        return None
    limits = ml_dtypes.iinfo(element_type.dtype)
    if not int(limits.min) <= int(values.min()) <= int(values.max()) <= int(limits.max):
        return None
    return values.astype(element_type.dtype)


def _floats(data: bytes, texts: list[str], element_type: ElementType) -> np.ndarray | None:
    if data.translate(None, b"0123456789+-.eEinfa{}()," + _BLANKS) or (b"+" in data and _SIGN_ALONE.search(data)):
        return None
    try:
        wide = np.fromiter(map(float, texts), np.float64, len(texts))
    except ValueError:
        return None
    with np.errstate(all="ignore"):
        values = wide.astype(element_type.dtype)
        unusual = np.flatnonzero(~np.isfinite(values.astype(np.float64)) | out_of_range(wide, element_type)).tolist()
    for number in unusual:
        text = texts[number].strip()
        if text not in _SPECIAL or not set_special(values, number, text, element_type):
            return None
    return values
