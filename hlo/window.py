"""Windows that slide over an array: the attribute kind, and the sizes of what a window leaves.

Shared by reduce-window, select-and-scatter and convolution. Source of the semantics: ``Window`` in ``xla_data.proto`` and
"ReduceWindow" in XLA's Operation Semantics; of the spelling: ``window_util::ToString`` and ``hlo_parser.cc``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .attributes import AttributeKind, Boolean, Cursor, Integer
from .errors import ShapeError, require

_SIZES = re.compile(r"-?[0-9]{1,19}(x-?[0-9]{1,19})*")
_PADDING = re.compile(r"-?[0-9]{1,19}_-?[0-9]{1,19}(x-?[0-9]{1,19}_-?[0-9]{1,19})*")


class WindowDimension(NamedTuple):
    """The window along one dimension.

    ``padding_low`` and ``padding_high`` may be negative and count positions of the dilated base. ``base_dilation`` and
    ``window_dilation`` are the distance between neighbours: 1 is no dilation. ``reversal`` turns the window around.
    """

    size: int
    stride: int = 1
    padding_low: int = 0
    padding_high: int = 0
    base_dilation: int = 1
    window_dilation: int = 1
    reversal: bool = False


# Of each field in HLO text: its spelling, and the names in WindowDimension that it holds.
_FIELDS = {
    "size": ("size",),
    "stride": ("stride",),
    "pad": ("padding_low", "padding_high"),
    "lhs_dilate": ("base_dilation",),
    "rhs_dilate": ("window_dilation",),
    "rhs_reversal": ("reversal",),
}


class Window(AttributeKind):
    """``window={size=2x3 stride=2x3 pad=0_1x0_0 lhs_dilate=1x2 rhs_dilate=2x1 rhs_reversal=1x0}``

    The value is a tuple of WindowDimension, one for each dimension; fields that are the same as without them are not
    printed, and a window of no dimensions is left out.
    """

    def __init__(self, spelling: str = "") -> None:
        super().__init__((), spelling)

    def check(self, value: Any) -> tuple[WindowDimension, ...]:
        try:
            items = [tuple(item) for item in value]
        except TypeError:
            raise ShapeError(f"a sequence of WindowDimension is required, {value!r} given") from None
        for item in items:
            require(1 <= len(item) <= 7, f"a WindowDimension of 1 to 7 fields is required, {item!r} given")
        integer, boolean = Integer().check, Boolean().check
        return tuple(WindowDimension(*map(integer, item[:6]), *map(boolean, item[6:])) for item in items)

    def print(self, value: tuple[WindowDimension, ...]) -> str:
        parts = []
        for spelling, names in _FIELDS.items():
            columns = [[getattr(d, name) for name in names] for d in value]
            default = [WindowDimension._field_defaults.get(name) for name in names]
            if any(column != default for column in columns):
                parts.append(f"{spelling}=" + "x".join("_".join(str(int(item)) for item in column) for column in columns))
        return "{" + " ".join(parts) + "}"

    def parse(self, cursor: Cursor) -> tuple[WindowDimension, ...]:
        start = cursor.position
        fields: dict[str, list[tuple[int, ...]]] = {}
        cursor.expect("{")
        while not cursor.accept("}"):
            place = cursor.position
            spelling = cursor.identifier()
            if spelling not in _FIELDS:
                cursor.fail(f"a field of a window ({', '.join(_FIELDS)}) expected, found {spelling}", place)
            if spelling in fields:
                cursor.fail(f"the window has two fields {spelling}", place)
            cursor.expect("=")
            fields[spelling] = _parse_field(cursor, spelling)
            cursor.accept(",")
        if not fields:
            return ()
        if "size" not in fields:
            cursor.fail("the window has no field size", start)
        rank = len(fields["size"])
        dimensions: list[dict[str, int]] = [{} for _ in range(rank)]
        for spelling, values in fields.items():
            if len(values) != rank:
                cursor.fail(f"the window has {rank} sizes, but {len(values)} values of {spelling}", start)
            for dimension, value in zip(dimensions, values):
                dimension.update(zip(_FIELDS[spelling], value))
        return tuple(WindowDimension(**{**d, "reversal": bool(d.get("reversal", 0))}) for d in dimensions)


def _parse_field(cursor: Cursor, spelling: str) -> list[tuple[int, ...]]:
    place, word = cursor.position, cursor.word()
    pattern, form = (_PADDING, "low_high") if spelling == "pad" else (_SIZES, "integers")
    if pattern.fullmatch(word) is None:
        cursor.fail(f"{form}, joined by x, expected as {spelling}; found {word!r}", place)
    values = [tuple(map(int, part.split("_"))) for part in word.split("x")]
    if spelling == "rhs_reversal" and any(value not in ((0,), (1,)) for value in values):
        cursor.fail(f"0 or 1, joined by x, expected as rhs_reversal; found {word!r}", place)
    return values


def make_window(
    sizes: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Sequence[tuple[int, int]] | None = None,
    base_dilations: Sequence[int] | None = None,
    window_dilations: Sequence[int] | None = None,
    reversal: Sequence[bool] | None = None,
) -> tuple[WindowDimension, ...]:
    """The window of these sizes; what is None (or empty) is as if it were not there.

    Raises ShapeError where a list has another length than ``sizes``.

    >>> make_window((2,), padding=[(0, 1)])[0].padding_high
    1
    """
    sizes = tuple(sizes)
    rank = len(sizes)

    def column(name: str, values: Sequence[Any] | None, default: Any) -> Sequence[Any]:
        values = tuple(values) if values is not None else ()
        require(len(values) in (0, rank), f"window: {rank} sizes are given, but {len(values)} {name}: {values}")
        return values or (default,) * rank

    pairs = [tuple(pair) for pair in column("paddings", padding, (0, 0))]
    for pair in pairs:
        require(len(pair) == 2, f"window: the padding of a dimension is (low, high), got {pair}")
    columns = zip(
        sizes,
        column("strides", strides, 1),
        [low for low, _ in pairs],
        [high for _, high in pairs],
        column("base dilations", base_dilations, 1),
        column("window dilations", window_dilations, 1),
        column("reversals", reversal, False),
    )
    return Window().check(columns)


def require_window(opcode: str, window: tuple[WindowDimension, ...], rank: int) -> None:
    """The window has this many dimensions; sizes, strides and dilations are positive."""
    require(len(window) == rank, f"{opcode}: the window must have {rank} dimensions, got {len(window)}")
    for number, dimension in enumerate(window):
        for name in ("size", "stride", "base_dilation", "window_dilation"):
            value = getattr(dimension, name)
            words = name.replace("_", " ")
            require(value >= 1, f"{opcode}: the {words} of window dimension {number} must be positive, got {value}")


def dilated_size(size: int, dilation: int) -> int:
    """The positions that ``size`` elements span, each ``dilation`` from the next.

    >>> dilated_size(3, 2), dilated_size(0, 2)
    (5, 0)
    """
    return (size - 1) * dilation + 1 if size else 0


def padded_size(dimension: WindowDimension, base: int) -> int:
    """The positions of a dilated and padded base; negative where negative padding takes more than there is."""
    return dimension.padding_low + dilated_size(base, dimension.base_dilation) + dimension.padding_high


def output_size(dimension: WindowDimension, base: int) -> int:
    """The number of places at which the window lies inside the dilated and padded base.

    >>> output_size(WindowDimension(3, stride=2), 5)
    2
    """
    room = padded_size(dimension, base) - dilated_size(dimension.size, dimension.window_dilation)
    return room // dimension.stride + 1 if room >= 0 else 0


def output_sizes(window: Sequence[WindowDimension], bases: Sequence[int]) -> tuple[int, ...]:
    return tuple(map(output_size, window, bases))


def same_padding(dimension: WindowDimension, base: int) -> tuple[int, int]:
    """Low and high padding that make the output ceil(base / stride) long; an odd element more goes to the high side.

    >>> same_padding(WindowDimension(3, stride=2), 5)
    (1, 1)
    """
    positions = dilated_size(base, dimension.base_dilation)
    outputs = -(-positions // dimension.stride)
    missing = (outputs - 1) * dimension.stride + dilated_size(dimension.size, dimension.window_dilation) - positions
    missing = max(missing, 0)
    return missing // 2, missing - missing // 2


def with_padding(window: Sequence[WindowDimension], bases: Sequence[int], padding: str) -> tuple[WindowDimension, ...]:
    """The window with the padding that ``"SAME"`` or ``"VALID"`` means for a base of these sizes."""
    require(padding in ("SAME", "VALID"), f"window: the padding must be 'SAME' or 'VALID', got {padding!r}")
    require(len(window) == len(bases), f"window: {len(bases)} dimensions are required, got {len(window)}")
    require_window("window", tuple(window), len(bases))
    pair: Callable = same_padding if padding == "SAME" else lambda dimension, base: (0, 0)
    pairs = [pair(dimension, base) for dimension, base in zip(window, bases)]
    return tuple(d._replace(padding_low=low, padding_high=high) for d, (low, high) in zip(window, pairs))
