"""Literals in HLO text: ``{ { 1, 2 }, { 3, 4 } }``, ``(1, -inf)``, ``-nan(0x1)``, ``true``.

Floats are printed with the fewest digits that give the same value back. Like XLA, the parser reads a decimal number as a double
and rounds that to the element type, so the digits are chosen for this way of reading. Minus zero is -0.0: XLA prints -0, but
would read it as the integer 0. A NaN keeps its sign and, where it is not the usual one, its payload: the bits of the mantissa,
the quiet bit included.
"""

from __future__ import annotations

import math
import re
from typing import Any

import ml_dtypes
import numpy as np

from ..element_type import U64, ElementType, component_type
from ..shape import AnyShape, Shape
from .dense_literals import parse_dense
from .lexer import END, Cursor
from .shapes import MAX_TUPLE_DEPTH
from .special_values import SPECIAL, nan_text, out_of_range, set_special

MAX_BYTES_OF_ZEROS = 1 << 28  # of a literal whose text does not grow with it

_INTEGER = re.compile(r"-?[0-9]+")
_DECIMAL = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+\-]?[0-9]+)?")
_ELIDED = re.compile(r"\{\s*\.\s*\.\s*\.\s*\}", re.ASCII)
ELIDED = (
    "the values of this constant are elided as {...}: dump the module with large constants in full, by "
    "as_hlo_text(print_large_constants=True), HloPrintOptions.print_large_constants, or XLA_FLAGS=--xla_dump_large_constants; "
    "phlox run --fill-elided puts random values there"
)


def literal_text(value: Any, shape: AnyShape) -> str:
    """The literal as HLO text; ``value`` is an array, or a tuple of literals.

    >>> from phlox.hlo import F32
    >>> literal_text(np.array([[1, 0.1], [-0.0, np.inf]], np.float32), Shape(F32, (2, 2)))
    '{ { 1, 0.1 }, { -0.0, inf } }'
    """
    if shape.is_tuple:
        return "(" + ", ".join(literal_text(element, part) for element, part in zip(value, shape.elements)) + ")"
    array = np.asarray(value)
    texts = _element_texts(array.ravel(), shape)
    if array.ndim == 0:
        return texts[0]
    if array.ndim == 1:
        return "{" + ", ".join(texts) + "}"
    for size, count in zip(reversed(array.shape), _counts(array.shape)):
        texts = ["{ " + ", ".join(texts[i * size : (i + 1) * size]) + " }" if size else "{}" for i in range(count)]
    return texts[0]


def _counts(dimensions: tuple[int, ...]) -> list[int]:
    """How many rows, matrices, ... of each rank there are."""
    return [math.prod(dimensions[:depth]) for depth in range(len(dimensions) - 1, -1, -1)]


def _element_texts(flat: np.ndarray, shape: Shape) -> list[str]:
    kind = shape.element_type.kind
    if kind == "pred":
        words = ("false", "true") if shape.rank == 0 else ("0", "1")
        return [words[value] for value in flat.tolist()]
    if kind in ("signed", "unsigned"):
        return [str(int(value)) for value in flat.tolist()]
    if kind == "complex":
        part = component_type(shape.element_type)
        parts = (float_texts(values, part, within_range=True) for values in (flat.real, flat.imag))
        return [f"({re}, {im})" for re, im in zip(*parts)]
    return float_texts(flat, shape.element_type)


def float_texts(flat: np.ndarray, element_type: ElementType, within_range: bool = False) -> list[str]:
    """The shortest texts from which these floats are read back, for a one-dimensional array.

    ``within_range`` leaves out decimals above the largest number that would be rounded down to it: XLA rejects them in
    complex numbers.

    >>> from phlox.hlo import F32
    >>> float_texts(np.array([0.1, 3.4028235e38], np.float32), F32)
    ['0.1', '3.4028235e+38']
    """
    dtype = element_type.dtype
    with np.errstate(all="ignore"):
        wide = flat.astype(np.float64)
        values = wide.tolist()
        if dtype == np.float64:
            texts = [_without_point(repr(value)) for value in values]
        else:
            texts = [""] * len(values)
            pending = list(range(len(values)))
            # Every decimal of so few digits survives the way through the type, so that fewer need not be tried.
            digits = max(1, int(ml_dtypes.finfo(dtype).nmant * math.log10(2)))
            while pending and digits < 17:
                for i in pending:
                    texts[i] = f"{values[i]:.{digits}g}"
                read = np.array([float(texts[i]) for i in pending])
                good = read.astype(dtype).astype(np.float64) == wide[pending]
                if within_range:
                    good &= (np.abs(read) <= float(ml_dtypes.finfo(dtype).max)) | np.isinf(read)
                pending = [i for i, done in zip(pending, good) if not done and not math.isnan(values[i])]
                digits += 1
            for i in pending:
                texts[i] = _without_point(repr(values[i]))
        nans = np.flatnonzero(np.isnan(wide))
    texts = ["-0.0" if text == "-0" else text for text in texts]
    if len(nans):
        bits = np.ascontiguousarray(flat).view(np.dtype(f"u{dtype.itemsize}"))
        for i in nans.tolist():
            texts[i] = nan_text(int(bits[i]), element_type)
    return texts


def _without_point(text: str) -> str:
    return text[:-2] if text.endswith(".0") else text


def parse_literal(cursor: Cursor, shape: AnyShape, depth: int = 0) -> Any:
    """The literal of this shape at the cursor: an array, or a tuple of literals. Raises HloSyntaxError."""
    if not shape.is_tuple:
        return _parse_dense(cursor, shape)
    if _is_elided(cursor):
        return _filled(cursor, shape) if cursor.fill_elided is not None else cursor.fail(ELIDED)
    if depth == MAX_TUPLE_DEPTH:
        cursor.fail(f"tuple literals are nested deeper than {MAX_TUPLE_DEPTH}")
    cursor.expect("(")
    elements: list[Any] = []
    for element in shape.elements:
        if elements:
            cursor.accept(",")
        elements.append(parse_literal(cursor, element, depth + 1))
    cursor.expect(")")
    return tuple(elements)


def _parse_dense(cursor: Cursor, shape: Shape) -> np.ndarray:
    """Braces nested as deep as the rank; each must hold as many elements as its dimension.

    As XLA reads them, commas may be missing or stand where none is needed.
    """
    element_type = shape.element_type
    if element_type.dtype is None:
        cursor.fail(f"there are no literals of {element_type.name} type")
    if not shape.has_size:
        cursor.fail(f"there are no literals of {shape}, which has no size or is a buffer")
    if cursor.fill_elided is not None and _is_elided(cursor):
        return _filled(cursor, shape)
    if shape.rank and _stands_alone(cursor, shape):
        return _parse_first_element(cursor, shape)
    if shape.rank and (values := parse_dense(cursor, shape)) is not None:
        return values
    tokens: list[str] = []
    places: list[int] = []
    seen = [0] * shape.rank
    found: list[int | None] = [None if dynamic else size for size, dynamic in zip(shape.dimensions, _is_dynamic(shape))]
    depth = 0

    def take() -> None:
        tokens.append(cursor.token)
        places.append(cursor.position)
        cursor.advance()

    while True:
        while cursor.accept(","):
            pass
        token = cursor.token
        if token == "{":
            if _is_elided(cursor):
                cursor.fail(ELIDED)
            if depth == shape.rank:
                cursor.fail(f"braces are nested deeper than the {shape.rank} dimensions of {shape}")
            _count_element(cursor, shape, seen, depth)
            depth += 1
            cursor.advance()
            if cursor.token != "}":
                continue
        elif token != "}" or depth == 0:
            if depth < shape.rank:
                cursor.fail(
                    f"'{{' expected: a literal of shape {shape} has braces {shape.rank} deep, found {cursor.description()}"
                )
            _count_element(cursor, shape, seen, depth)
            if element_type.is_complex:
                cursor.expect("(")
                take()
                cursor.expect(",")
                take()
                cursor.expect(")")
            else:
                take()
        # An element is complete: close as many braces as stand here.
        while depth > 0 and cursor.token in ("}", ","):
            if cursor.accept(","):
                continue
            depth -= 1
            if found[depth] is None:
                found[depth] = seen[depth]
            if seen[depth] != found[depth]:
                cursor.fail(f"dimension {depth} of {shape} has {found[depth]} elements, found {seen[depth]}")
            seen[depth] = 0
            cursor.advance()
        if depth == 0:
            break
    values = _element_values(cursor, tokens, places, component_type(element_type))
    if element_type.is_complex:
        values = values.view(element_type.dtype)
    return values.reshape([size or 0 for size in found])  # a dimension inside of an empty one is not seen


def _is_elided(cursor: Cursor) -> bool:
    """Whether ``{...}`` stands here."""
    return _ELIDED.match(cursor.text, cursor.position) is not None


def _filled(cursor: Cursor, shape: AnyShape) -> Any:
    """A literal of this shape for ``{...}``."""
    cursor.matched(_ELIDED)

    def made(shape: AnyShape) -> Any:
        return tuple(map(made, shape.elements)) if shape.is_tuple else cursor.fill_elided(shape)

    return made(shape)


def _stands_alone(cursor: Cursor, shape: Shape) -> bool:
    """Whether the literal of this array is a number without braces."""
    is_number = cursor.token not in ("{", ",", "(", "}", ")", END)
    return is_number and 0 not in shape.dimensions and not shape.element_type.is_complex


def _parse_first_element(cursor: Cursor, shape: Shape) -> np.ndarray:
    """``f32[9] constant(1)``: the first element has this value, the others are zero."""
    if shape.byte_size > MAX_BYTES_OF_ZEROS:
        cursor.not_implemented(f"a constant of {shape.byte_size} bytes, of which one element is given, is not implemented")
    array = np.zeros(shape.dimensions, shape.dtype)
    array.flat[0] = _parse_dense(cursor, Shape(shape.element_type))
    return array


def _is_dynamic(shape: Shape) -> tuple[bool, ...]:
    return shape.dynamic_dimensions or (False,) * shape.rank


def _count_element(cursor: Cursor, shape: Shape, seen: list[int], depth: int) -> None:
    if depth == 0:
        return
    seen[depth - 1] += 1
    if seen[depth - 1] > shape.dimensions[depth - 1]:
        cursor.fail(f"dimension {depth - 1} of {shape} has only {shape.dimensions[depth - 1]} elements")


def _element_values(cursor: Cursor, tokens: list[str], places: list[int], element_type: ElementType) -> np.ndarray:
    """These tokens, from these places, as an array of this type."""
    if element_type.kind == "pred":
        meaning = {"true": True, "false": False, "1": True, "0": False}
        for place, token in zip(places, tokens):
            if token not in meaning:
                if _INTEGER.fullmatch(token) is None or len(token) > 20:
                    cursor.fail(f"true or false expected, found {token[:60]!r}", place)
                meaning[token] = int(token) != 0
        return np.array([meaning[token] for token in tokens], np.bool_)
    if element_type.is_integer:
        return _integer_values(cursor, tokens, places, element_type)
    return _float_values(cursor, tokens, places, element_type)


def _integer_values(cursor: Cursor, tokens: list[str], places: list[int], element_type: ElementType) -> np.ndarray:
    limits = ml_dtypes.iinfo(element_type.dtype)
    low, high = int(limits.min), int(limits.max)
    values = []
    for place, token in zip(places, tokens):
        if _INTEGER.fullmatch(token) is None:
            cursor.fail(f"an integer of type {element_type.name} expected, found {token[:60]!r}", place)
        value = int(token) if len(token) < 100 else high + 1
        if element_type is U64 and -(2**63) <= value < 0:
            value += 2**64  # as XLA reads it
        if not low <= value <= high:
            cursor.fail(f"{token[:60]} is out of range for {element_type.name}, [{low}, {high}]", place)
        values.append(value)
    return np.array(values, np.uint64 if element_type.kind == "unsigned" else np.int64).astype(element_type.dtype)


def _float_values(cursor: Cursor, tokens: list[str], places: list[int], element_type: ElementType) -> np.ndarray:
    values, specials = [], []
    for number, token in enumerate(tokens):
        if token[-1:].isdigit() or token[-1:] == ".":
            value = float(token) if _DECIMAL.fullmatch(token) is not None else None
        else:
            value = 1.0 if SPECIAL.fullmatch(token) is not None else None
            specials.append(number)
        if value is None:
            cursor.fail(f"a number of type {element_type.name} expected, found {token[:60]!r}", places[number])
        values.append(value)
    wide = np.array(values, np.float64)
    with np.errstate(all="ignore"):
        result = wide.astype(element_type.dtype)
        lost = np.flatnonzero(~np.isfinite(result.astype(np.float64)) | out_of_range(wide, element_type))
    if len(lost):
        cursor.fail(f"{tokens[lost[0]][:60]} is out of range for {element_type.name}", places[lost[0]])
    for number in specials:
        if not set_special(result, number, tokens[number], element_type):
            cursor.fail(f"{element_type.name} has no {tokens[number][:60]}", places[number])
    return result
