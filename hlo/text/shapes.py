"""Shapes in HLO text: ``f32[2,3]{1,0}``, ``(s32[], f32[<=10]{0:T(8,128)})``, ``token[]``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from math import prod

from ..element_type import ELEMENT_TYPES, ElementType
from ..errors import HloSyntaxError
from ..shape import UNBOUNDED, AnyShape, Layout, Shape, TupleShape
from .lexer import Cursor
from .phrases import COMMENTS, SHAPE, Phrase

MAX_RANK = 64  # of a NumPy array
MAX_TUPLE_DEPTH = 32

# What may stand behind the order, to be kept: levels of a sparse layout, tiles, alignment, types of indices and pointers,
# element size, memory space, splits, the physical shape of a sparse layout, bytes of metadata.
_ANNOTATION_FORM = ":D(D,C)T(8,128)L(1)#(u32)*(u32)E(4)S(1)SC(0:8)P(...)M(64)"
_ANNOTATION = re.compile(
    r"""(?: :
        (?: D\( (?P<levels> [DCS]~?\+? (?: ,[DCS]~?\+? )* ) \) )?
        (?: T (?: \( (?: (?:[0-9]+|\*) (?: ,(?:[0-9]+|\*) )* )? \) )+ )?
        (?: L\([0-9]+\) )? (?: \#\(\w+\) )? (?: \*\(\w+\) )? (?: E\([0-9]+\) )? (?: S\(-?[0-9]+\) )?
        (?: SC (?: \( [0-9]+ : [0-9]+ (?: ,[0-9]+ )* \) )+ )?
        (?: P\( (?P<physical> .* ) \) )? (?: M\([0-9]+\) )?
    )?""",
    re.VERBOSE,
)
_PLAIN = Phrase(r"""
    ([a-z] \w*+) \[ ([0-9]{1,18} (?: , [0-9]{1,18} )*+ )?+ \] (?: \{ ([0-9]{1,2} (?: , [0-9]{1,2} )*+ ) \} )?+
""")
_SHAPE = Phrase(rf"({SHAPE}) \s*+ (?! / | \{{ \s*+ [0-9:}}/] )")


def full_shape_text(shape: AnyShape) -> str:
    """The shape as XLA prints it: a layout on every array, positions counted in long tuples.

    >>> from phlox.hlo import F32
    >>> full_shape_text(TupleShape((Shape(F32, (2, 3)), Shape(F32))))
    '(f32[2,3]{1,0}, f32[])'
    """
    if shape.is_tuple:
        return "(" + counted([full_shape_text(element) for element in shape.elements]) + ")"
    if shape.is_buffer:
        return f"b({full_shape_text(replace(shape, is_buffer=False))})"
    if shape.layout is not None:
        if shape.layout.padded_dimensions:
            raise NotImplementedError(f"HLO text has no spelling for the padded layout of {shape}")
        return str(shape)
    if shape.rank == 0:
        return str(shape)
    return str(shape) + "{" + ",".join(map(str, shape.minor_to_major)) + "}"


def counted(texts: list[str]) -> str:
    """The texts joined by commas, with a comment before every fifth that tells its position, as XLA prints them."""
    return ", ".join(f"/*index={i}*/{text}" if i and i % 5 == 0 else text for i, text in enumerate(texts))


def starts_shape(cursor: Cursor) -> bool:
    """Whether a shape stands here, rather than a name or an opcode."""
    return cursor.token == "(" or cursor.following() == "[" or (cursor.token == "b" and cursor.following() == "(")


def parse_optional_shape(cursor: Cursor) -> AnyShape | None:
    """The shape at the cursor; None if no shape stands here. Raises HloSyntaxError."""
    match = _SHAPE.match(cursor.text, cursor.position)
    if match is not None and (known := cursor.shapes.get(match[1])) is not None:
        cursor.position = match.end()
        return known
    return parse_shape(cursor) if starts_shape(cursor) else None


def parse_shape(cursor: Cursor, depth: int = 0) -> AnyShape:
    """The shape at the cursor. Raises HloSyntaxError."""
    match = _SHAPE.match(cursor.text, cursor.position)
    if match is None:
        if cursor.token == "b" and cursor.following() == "(":
            return _parse_buffer(cursor)
        return _parse_tuple(cursor, depth) if cursor.token == "(" else _parse_array(cursor)
    known = cursor.shapes.get(match[1])
    if known is not None and (depth == 0 or not known.is_tuple):
        cursor.position = match.end()
        return known
    text = match[1]
    plain = _plain_array(text) if text[0] != "(" else _plain_tuple(text, cursor.shapes) if depth == 0 else None
    if plain is not None:
        cursor.position = match.end()
        # Row-major order is what no layout means: stated or not, it is to be the same object.
        same = text.partition("{")[0] if not plain.is_tuple and plain.layout is None else text
        cursor.shapes[text] = plain = cursor.shapes.setdefault(same, plain)
        return plain
    shape = _parse_tuple(cursor, depth) if cursor.token == "(" else _parse_array(cursor)
    if cursor.position == match.end():
        cursor.shapes[text] = shape = cursor.shapes.setdefault(str(shape), shape)
    return shape


def _plain_array(text: str) -> Shape | None:
    """The shape of this text; None if it is not an array of sizes above 0, with an order of dimensions or without, or wrong."""
    match = _PLAIN.fullmatch(text)
    element_type = None if match is None else ELEMENT_TYPES.get(match[1])
    if element_type is None or element_type.dtype is None:
        return None
    sizes = tuple(map(int, match[2].split(","))) if match[2] else ()
    if len(sizes) > MAX_RANK or not 0 < prod(sizes) * element_type.byte_size < 2**63:
        return None
    if match[3] is None or match[3] == _row_major(len(sizes)):
        return Shape(element_type, sizes)
    order = tuple(map(int, match[3].split(",")))
    return Shape(element_type, sizes, Layout(order)) if sorted(order) == list(range(len(sizes))) else None


@cache
def _row_major(rank: int) -> str:
    return ",".join(map(str, range(rank - 1, -1, -1)))


def _plain_tuple(text: str, shapes: dict[str, AnyShape]) -> TupleShape | None:
    """The shape of this text; None if it is not a tuple of arrays, all of which were read before."""
    if "/" in text:
        text = COMMENTS.sub("", text)
    elements = tuple(map(shapes.get, text[1:-1].split(", ")))
    return None if None in elements or any(element.is_tuple for element in elements) else TupleShape(elements)


def _parse_tuple(cursor: Cursor, depth: int) -> TupleShape:
    if depth == MAX_TUPLE_DEPTH:
        cursor.fail(f"tuple shapes are nested deeper than {MAX_TUPLE_DEPTH}")
    cursor.expect("(")
    elements: list[AnyShape] = []
    while not cursor.accept(")"):
        if elements:
            cursor.expect(",")
        elements.append(parse_shape(cursor, depth + 1))
    return TupleShape(tuple(elements))


def _parse_buffer(cursor: Cursor) -> Shape:
    """``b(f32[3]{0})``"""
    cursor.expect("b")
    cursor.expect("(")
    array = _parse_array(cursor)
    cursor.expect(")")
    cursor.has_unsized_shapes = True
    return replace(array, is_buffer=True)


def _parse_array(cursor: Cursor) -> Shape:
    first = cursor.position
    element_type = _parse_element_type(cursor)
    cursor.expect("[")
    dimensions: list[int] = []
    dynamic: list[bool] = []
    while not cursor.accept("]"):
        if dimensions:
            cursor.expect(",")
        if cursor.accept("?"):
            cursor.has_unsized_shapes = True
            dimensions.append(UNBOUNDED)
            dynamic.append(True)
            continue
        bounded = cursor.accept("<")
        if bounded:
            cursor.expect("=")
        place = cursor.position
        size = cursor.integer()
        if size < 0:
            cursor.fail(f"a dimension's size must not be negative, got {size}", place)
        dimensions.append(size)
        dynamic.append(bounded)
    return _array(cursor, first, element_type, tuple(dimensions), tuple(dynamic) if any(dynamic) else ())


def _array(
    cursor: Cursor, first: int, element_type: ElementType, dimensions: tuple[int, ...], dynamic: tuple[bool, ...] = ()
) -> Shape:  # fmt: skip
    """The shape that begins at the first place, with the layout that may stand at the cursor."""
    if dimensions and element_type.dtype is None:
        cursor.fail(f"{element_type.name} has no dimensions", first)
    if len(dimensions) > MAX_RANK:
        cursor.fail(f"at most {MAX_RANK} dimensions are supported, got {len(dimensions)}", first)
    if prod(max(size, 1) for size in dimensions) * element_type.byte_size >= 2**63:
        cursor.fail("the array's size in bytes must be below 2**63", first)
    layout = _parse_layout(cursor, len(dimensions)) if _starts_layout(cursor) else None
    return Shape(element_type, dimensions, layout, dynamic)


def _parse_element_type(cursor: Cursor) -> ElementType:
    name = cursor.token
    if name not in ELEMENT_TYPES:
        cursor.fail(f"an element type (such as f32, s64 or pred) expected, found {cursor.description()}")
    cursor.advance()
    return ELEMENT_TYPES[name]


def _starts_layout(cursor: Cursor) -> bool:
    """Whether the brace here opens a layout; behind a computation's result shape it may open the body."""
    if cursor.token != "{":
        return False
    following = cursor.following()
    return following in (":", "}") or "0" <= following[:1] <= "9"


def _parse_layout(cursor: Cursor, rank: int) -> Layout | None:
    """The layout; None for plain row-major order, which is what None means."""
    first = cursor.position
    cursor.expect("{")
    order: list[int] = []
    while cursor.token not in (":", "}"):
        if order:
            cursor.expect(",")
        order.append(cursor.integer())
    if sorted(order) != list(range(rank)):
        cursor.fail(f"a layout must order the {rank} dimensions, got {{{','.join(map(str, order))}}}", first)
    closing = cursor.position
    cursor.position = first
    try:
        end = cursor.skip_brackets() - 1
    except HloSyntaxError:
        cursor.fail("the layout is never closed", first)
    behind = cursor.position
    cursor.position = closing
    annotation = "".join(_tokens_until(cursor, end))
    cursor.position = behind
    match = _ANNOTATION.fullmatch(annotation)
    if match is None:
        cursor.fail(
            f"behind the order of a layout, {_ANNOTATION_FORM} or parts of it expected, found {annotation[:60]}", closing
        )
    if match["physical"] and not set(match["levels"] or "") & set("CS"):
        cursor.fail("only a sparse layout, D(...) with a level C or S, has a physical shape P(...)", closing)
    layout = Layout(tuple(order), annotation=annotation)
    return None if layout.is_row_major and not annotation else layout


def _tokens_until(cursor: Cursor, end: int) -> Iterator[str]:
    while cursor.position < end:
        yield cursor.token
        cursor.advance()
