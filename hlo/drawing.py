"""Draws a module as SVG: a box for each instruction, operands above their users, one panel for each computation.

The rows are those of a layered drawing: an instruction stands below all its operands (Sugiyama, Tagawa and Toda, 1981); the
barycenter method keeps crossings few. Scalar constants are written into their users instead of being drawn.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from .attributes import CalledComputation
from .instruction import Computation, Instruction, Module
from .operation import APPLIES, CALLS, DATA_MOVEMENT, ELEMENTWISE, GIVEN

CHARACTER, LINE, PADDING, GAP, ROW_GAP, MARGIN = 6.4, 14, 10, 18, 34, 16
LONGEST = 48  # characters in a line of a box
FILLS = {
    "parameter": "#ffe3c2",
    "constant": "#eceff4",
    "contraction": "#c9d8f5",
    "reduction": "#e2d3f3",
    "control flow": "#f8cfd3",
    "data movement": "#d3ecd5",
    "elementwise": "#fff6c9",
    "other": "#f4f4f4",
}
# The files of operations that are mostly sums of products.
CONTRACTIONS = frozenset({"contractions", "convolution", "fourier", "linear_algebra", "ragged_dot", "scaled_dot"})


@dataclass(eq=False)
class _Box:
    """An instruction, or (without lines of text) a point through which a long edge passes."""

    lines: tuple[str, ...] = ()
    fill: str = ""
    title: str = ""
    is_root: bool = False
    row: int = 0
    x: float = 0.0
    above: list[_Box] = field(default_factory=list)
    below: list[_Box] = field(default_factory=list)

    @property
    def width(self) -> float:
        return max(map(len, self.lines)) * CHARACTER + 2 * PADDING if self.lines else 2.0

    @property
    def height(self) -> float:
        return len(self.lines) * LINE + PADDING if self.lines else 0.0


def module_svg(module: Module) -> str:
    """The module as an SVG image: the entry computation first, then those that it calls.

    Computations of a single operation, as reductions apply them, are named in their users' boxes instead of being drawn.

    >>> from phlox import hlo
    >>> negation = hlo.computation("negation", [hlo.Shape(hlo.F32, (3,))], hlo.negate)
    >>> module_svg(hlo.Module("negation", negation)).startswith("<svg")
    True
    """
    panels, top, width = [], MARGIN, 0.0
    for computation in reversed(module.computations()):
        if computation is not module.entry and _is_one_operation(computation):
            continue
        panel, panel_width, panel_height = _draw(computation)
        panels.append(f'<g transform="translate({MARGIN},{top:.0f})">{panel}</g>')
        top += panel_height + 1.5 * MARGIN
        width = max(width, panel_width)
    size = f'width="{width + 2 * MARGIN:.0f}" height="{top:.0f}"'
    style = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:10.5px"
    background = '<rect width="100%" height="100%" fill="white"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="{style}">{background}{"".join(panels)}</svg>'


def _is_one_operation(computation: Computation) -> bool:
    return sum(not instruction.has_trait(GIVEN) for instruction in computation.instructions) == 1


# --- boxes ---


def _boxes(computation: Computation) -> list[_Box]:
    """The boxes of a computation, connected, each in its row, with points on edges that are longer than a row."""
    boxes: dict[Instruction, _Box] = {}
    for instruction in computation.instructions:
        if instruction is not computation.root and _inline_text(instruction):
            continue
        box = _Box(
            _lines(instruction),
            FILLS[_family(instruction)],
            " ".join(filter(None, ["%" + instruction.name if instruction.name else "", str(instruction.source or "")])),
            instruction is computation.root,
        )
        operands = [boxes[operand] for operand in dict.fromkeys(instruction.operands) if operand in boxes]
        box.row = 1 + max((operand.row for operand in operands), default=-1)
        box.above = operands
        for operand in operands:
            operand.below.append(box)
        boxes[instruction] = box
    for box in boxes.values():
        if not box.above and box.below:  # a parameter stands right above its first user
            box.row = min(user.row for user in box.below) - 1
    return [*boxes.values(), *_points(boxes.values())]


def _points(boxes: Iterable[_Box]) -> list[_Box]:
    points: list[_Box] = []
    for box in boxes:
        for user in list(box.below):
            previous = box
            for row in range(box.row + 1, user.row):
                point = _Box(row=row, above=[previous])
                previous.below = [point if below is user else below for below in previous.below]
                point.below = [user]
                user.above = [point if above is previous else above for above in user.above]
                points.append(point)
                previous = point
    return points


def _inline_text(instruction: Instruction) -> str:
    """A scalar constant, or the broadcast of one, as text; empty for anything else."""
    if instruction.opcode == "broadcast":
        return _inline_text(instruction.operands[0])
    literal = instruction.attributes.get("literal")
    if not isinstance(literal, np.ndarray) or literal.ndim:
        return ""
    if literal.dtype.kind == "f" and 1e-3 <= abs(literal) < 1e5:
        return np.format_float_positional(literal, 4, trim="-", fractional=False)
    return str(literal)


def _lines(instruction: Instruction) -> tuple[str, ...]:
    if instruction.opcode == "parameter":
        head = instruction.name or f"parameter {instruction.attributes['number']}"
    else:
        head = instruction.opcode
        operands = [_inline_text(operand) for operand in instruction.operands]
        if any(operands):
            head += f"({', '.join(text or '.' for text in operands)})"
    details = []
    for name, kind in instruction.operation.attributes.items():
        value = instruction.attributes[name]
        if kind.stands_in_parentheses or value == kind.default:
            continue
        scalar = isinstance(kind, CalledComputation) and isinstance(value, Computation) and _is_one_operation(value)
        text = f"{kind.spelling or name}={value.root.opcode if scalar else kind.print(value)}"
        if len(text) <= LONGEST:
            details.append(text)
    shape = str(instruction.shape.without_layout())
    return head, *details, shape if len(shape) <= LONGEST else shape[: LONGEST - 3] + "..."


def _family(instruction: Instruction) -> str:
    if instruction.has_trait(GIVEN):
        return instruction.opcode
    if instruction.operation.family in CONTRACTIONS:
        return "contraction"
    return next((family for trait, family in _FAMILIES.items() if instruction.has_trait(trait)), "other")


# The first one counts.
_FAMILIES = {APPLIES: "reduction", CALLS: "control flow", ELEMENTWISE: "elementwise", DATA_MOVEMENT: "data movement"}


# --- places ---


def _draw(computation: Computation) -> tuple[str, float, float]:
    """The panel of one computation, its width and its height."""
    boxes = _boxes(computation)
    rows: list[list[_Box]] = [[] for _ in range(1 + max(box.row for box in boxes))]
    for box in boxes:
        rows[box.row].append(box)
    _order(rows)
    _place(rows)
    left = min(box.x - box.width / 2 for box in boxes)
    for box in boxes:
        box.x -= left
    tops, bottoms, top = [], [], 2.0 * LINE
    for row in rows:
        tops.append(top)
        bottoms.append(top + max(box.height for box in row))
        top = bottoms[-1] + ROW_GAP
    edges = [_edge(box, user, tops, bottoms) for box in boxes for user in box.below]
    drawn = [_rectangle(box, tops[box.row]) for box in boxes if box.lines]
    title = f'<text x="0" y="{LINE}" font-weight="bold">{html.escape(computation.name)}</text>'
    width = max(max(box.x + box.width / 2 for box in boxes), len(computation.name) * CHARACTER * 1.1)
    return title + "".join(edges) + "".join(drawn), width, top - ROW_GAP


def _order(rows: list[list[_Box]], sweeps: int = 8) -> None:
    """Sort each row by the mean position of its neighbours in the row before, downwards and upwards in turn."""
    for sweep in range(sweeps):
        downwards = sweep % 2 == 0
        for row in rows if downwards else reversed(rows):
            for position, box in enumerate(row):
                box.x = _mean_x(box.above if downwards else box.below, float(position))
            row.sort(key=lambda box: box.x)
            for position, box in enumerate(row):
                box.x = float(position)


def _place(rows: list[list[_Box]], sweeps: int = 12) -> None:
    """Move each box towards its neighbours as far as the others of its row leave room."""
    for row in rows:
        position = 0.0
        for box in row:
            box.x = position + box.width / 2
            position += box.width + GAP
    for _ in range(sweeps):
        for row in (*rows, *reversed(rows)):
            _spread(row, [_mean_x(box.above + box.below, box.x) for box in row])


def _mean_x(boxes: list[_Box], default: float) -> float:
    """The mean of their places; boxes count for more than points, so that the main line of a program runs straight down."""
    weights = [4 if box.lines else 1 for box in boxes]
    return sum(weight * box.x for weight, box in zip(weights, boxes)) / sum(weights) if boxes else default


def _spread(row: list[_Box], wanted: list[float]) -> None:
    """The places nearest to the wanted ones, in least squares, that keep the order and the gaps.

    That is an isotonic regression of the wanted places less the room that the boxes before need; solved by pooling
    adjacent violators (Ayer et al., 1955).
    """
    room, offsets = 0.0, []
    for previous, box in zip([None, *row], row):
        room += 0.0 if previous is None else (previous.width + box.width) / 2 + GAP
        offsets.append(room)
    pools: list[tuple[float, int]] = []
    for place, offset in zip(wanted, offsets):
        mean, count = place - offset, 1
        while pools and pools[-1][0] > mean:
            before, size = pools.pop()
            mean, count = (before * size + mean * count) / (size + count), size + count
        pools.append((mean, count))
    places = [mean for mean, count in pools for _ in range(count)]
    for box, place, offset in zip(row, places, offsets):
        box.x = place + offset


# --- lines ---


def _rectangle(box: _Box, top: float) -> str:
    left, width, height = box.x - box.width / 2, box.width, box.height
    stroke = 'stroke="#22223b" stroke-width="1.8"' if box.is_root else 'stroke="#8d8da6" stroke-width="0.8"'
    place = f'x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}"'
    lines = []
    for number, line in enumerate(box.lines):
        style = 'font-weight="bold"' if number == 0 else 'fill="#55556b"'
        baseline = top + PADDING / 2 + (number + 0.75) * LINE
        lines.append(f'<text x="{box.x:.1f}" y="{baseline:.1f}" text-anchor="middle" {style}>{html.escape(line)}</text>')
    return f'<g><title>{html.escape(box.title)}</title><rect {place} rx="4" fill="{box.fill}" {stroke}/>{"".join(lines)}</g>'


def _edge(box: _Box, user: _Box, tops: list[float], bottoms: list[float]) -> str:
    start = tops[box.row] + box.height if box.lines else bottoms[box.row]
    middle, end = (start + tops[user.row]) / 2, tops[user.row]
    path = f"M{box.x:.1f},{start:.1f} C{box.x:.1f},{middle:.1f} {user.x:.1f},{middle:.1f} {user.x:.1f},{end:.1f}"
    through = "" if user.lines else f" V{bottoms[user.row]:.1f}"
    return f'<path d="{path}{through}" fill="none" stroke="#8d8da6"/>'
