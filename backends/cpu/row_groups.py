"""Regions that work row by row, run one after another for a few rows at a time.

Before: softmax as three passes over a large array (maximum of each row; exponentials and their sum; quotients), each of which
fetches it from memory again. After: one loop over blocks of rows, in which the three regions find their block in the cache.

A region works row by row if row i of its results depends on row i of some operands only (and on the whole of others, which
no region of the group writes). Rows are the indices of dimension 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from llvmlite import ir

from ...compile.buffer_assignment import Buffer
from ...compile.fused_computations import result_roots
from ...hlo import Computation, Instruction, Shape, TupleShape
from ...hlo.operation import ELEMENTWISE
from ..llvm import index as indices
from ..llvm.arrays import Array
from ..llvm.elemental import Binding
from ..llvm.index import Affine
from ..llvm.pieces import independent_loop
from .line_clock import LineClock
from .region_functions import Division, RegionFunctions
from .work_estimate import nanoseconds

# Arrays smaller than this stay in the second-level cache by themselves; a block of rows is to stay in a part of it.
_SMALLEST_ARRAY_BYTES = 512 << 10
_BLOCK_BYTES = 64 << 10
# Of many short rows, blocks stay in the first-level cache: with so many rows in one, what is done once for each does not count.
_SMALL_BLOCK_BYTES, _MANY_ROWS = 16 << 10, 64


@dataclass(frozen=True)
class Region:
    """A fused loop or reduction, ready to be emitted by its ``nest``, and the buffers that it reads and writes."""

    computation: Computation
    arguments: list[Binding]
    outputs: list[Array]
    in_place: bool
    argument_buffers: list[Buffer | None]
    output_buffers: list[Buffer]
    nest: Callable[[ir.IRBuilder, RegionFunctions, Region], None]
    stops: Mapping[int, ir.Value] = field(default_factory=dict)  # by dimension, behind which size nothing is needed
    unread: frozenset[int] = frozenset()  # the numbers of outputs that need not be written

    @property
    def largest_bytes(self) -> int:
        return max(a.shape.byte_size for a in (*self.arguments, *self.outputs) if isinstance(a, Array))

    @property
    def kept(self) -> int | None:
        """The argument in whose memory the only output is."""
        only = self.output_buffers if len(self.output_buffers) == 1 else []
        return next((number for number, buffer in enumerate(self.argument_buffers) if buffer in only), None)

    def emit(self, builder: ir.IRBuilder, regions: RegionFunctions) -> None:
        self.nest(builder, regions, self)


@dataclass(frozen=True)
class _Member:
    """A region that works row by row, and where the rows are: for each instruction the position of their dimension."""

    region: Region
    positions: dict[Instruction, int]

    def has_rows(self, argument: int) -> bool:
        return self.region.computation.parameters[argument] in self.positions


class RowGroups:
    """Collects consecutive regions, and emits them together where they share rows."""

    def __init__(self, regions: RegionFunctions, clock: LineClock | None = None) -> None:
        self.regions, self._clock = regions, clock
        self.pending: list[_Member] = []
        self.rows = 0

    def add(self, builder: ir.IRBuilder, region: Region) -> None:
        """Emit a region now, or keep it until the next flush."""
        rows = region.outputs[0].shape.dimensions[0]
        # What is small joins others, as does the division that makes a sum of each row a mean.
        may_join = region.largest_bytes >= _SMALLEST_ARRAY_BYTES or bool(self.pending) and rows == self.rows
        positions = _row_positions(region, rows) if may_join and rows > 1 and not region.stops else None
        member = None if positions is None else _Member(region, positions)
        is_last = member is None or rows != self.rows or not all(_independent(other, member) for other in self.pending)
        if self._clock is not None and (member is not None or self.pending):
            self._clock.put_off()
        if is_last and self.pending:
            self.flush(builder)
            if self._clock is not None and member is None:
                self._clock.enter_group(builder, [region.computation])
        if member is None:
            region.emit(builder, self.regions)
        else:
            self.pending.append(member)
            self.rows = rows

    def flush(self, builder: ir.IRBuilder) -> None:
        """Emit what is kept; to be called before code that may depend on it."""
        pending, self.pending = self.pending, []
        if pending and self._clock is not None:
            self._clock.enter_group(builder, [member.region.computation for member in pending])
        count = _rows_in_a_block(pending, self.rows) if len(pending) > 1 else self.rows
        if count == self.rows:
            for member in pending:
                member.region.emit(builder, self.regions)
            return
        self._emit_blocks(builder, pending, count)

    def _emit_blocks(self, builder: ir.IRBuilder, members: list[_Member], count: int) -> None:
        blocks = [_of_rows(member, count) for member in members]

        def emit(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
            remaining = iter(bindings)
            with independent_loop(builder, self.rows // count, "rows") as number:
                first = indices.multiply_base(builder, number, count)
                for member, block in zip(members, blocks):
                    bound = replace(
                        block,
                        arguments=list(islice(remaining, len(block.arguments))),
                        outputs=list(islice(remaining, len(block.outputs))),
                    )
                    _moved(builder, member, bound, first).emit(builder, self.regions)

        values = [value for block in blocks for value in (*block.arguments, *block.outputs)]
        work = sum(nanoseconds(member.region.computation) for member in members)
        if self.regions.is_divided(work):
            regions = [member.region for member in members]
            forms = tuple(
                (self.regions.number(one.computation), one.in_place, one.kept, one.nest, one.unread) for one in regions
            )
            self.regions.emit(builder, ("rows", regions[0].computation, forms, count), values, emit, 1, Division(work))
        else:
            emit(builder, values)


def _row_positions(region: Region, rows: int) -> dict[Instruction, int] | None:
    """The position of the rows' dimension in each instruction that has it; None where the region does not work row by row."""
    computation = region.computation
    positions: dict[Instruction, int] = dict.fromkeys(result_roots(computation), 0)
    for instruction in reversed(computation.instructions):
        position = positions.get(instruction)
        if position is None:
            continue
        for operand, needed in _needed(instruction, position):
            if positions.setdefault(operand, needed) != needed or operand.shape.dimensions[needed] != rows:
                return None
        if not _works_by_rows(instruction):
            return None
    if any(positions.get(parameter, 0) != 0 for parameter in computation.parameters):
        return None
    reached_whole = _reached_without_rows(computation, positions)
    return None if reached_whole else positions


# For an instruction and the position of the rows in it: which operands carry them, and in which dimension.
Needed = list[tuple[Instruction, int]]


def _of_none(instruction: Instruction, position: int) -> Needed:
    return []


def _of_elementwise(instruction: Instruction, position: int) -> Needed:
    return [(operand, position) for operand in instruction.operands if operand.shape.rank]


def _of_broadcast(broadcast: Instruction, position: int) -> Needed:
    dimensions = broadcast.attributes["dimensions"]
    return [(broadcast.operands[0], dimensions.index(position))] if position in dimensions else []


def _of_transpose(transpose: Instruction, position: int) -> Needed:
    return [(transpose.operands[0], transpose.attributes["dimensions"][position])]


def _of_reduce(reduce: Instruction, position: int) -> Needed:
    operands = reduce.operands
    kept = [d for d in range(operands[0].shape.rank) if d not in reduce.attributes["dimensions"]]
    return [(operand, kept[position]) for operand in operands[: len(operands) // 2]]


def _of_reshape(reshape: Instruction, position: int) -> Needed:
    (operand,) = reshape.operands
    return [(operand, 0)] if position == 0 and operand.shape.rank else []


def _of_slice(slice_: Instruction, position: int) -> Needed:
    return [(slice_.operands[0], position)]


# Operations that work row by row, besides the elementwise ones.
_NEEDED: dict[str, Callable[[Instruction, int], Needed]] = {
    "parameter": _of_none,
    "constant": _of_none,
    "iota": _of_none,
    "tuple": _of_none,
    "broadcast": _of_broadcast,
    "transpose": _of_transpose,
    "reduce": _of_reduce,
    "reshape": _of_reshape,
    "slice": _of_slice,
}


def _works_by_rows(instruction: Instruction) -> bool:
    return ELEMENTWISE in instruction.operation.traits or instruction.opcode in _NEEDED


def _needed(instruction: Instruction, position: int) -> Needed:
    is_elementwise = ELEMENTWISE in instruction.operation.traits
    return (_of_elementwise if is_elementwise else _NEEDED.get(instruction.opcode, _of_none))(instruction, position)


def _reached_without_rows(computation: Computation, positions: dict[Instruction, int]) -> bool:
    """Whether an instruction with rows is also an operand of one without, which needs all of it."""
    wanted = set(positions)
    for instruction in computation.instructions:
        if instruction is computation.root and instruction.opcode == "tuple":
            continue
        needed = _needed(instruction, positions[instruction]) if instruction in positions else []
        carried = {operand for operand, _ in needed}
        if any(operand in wanted and operand not in carried for operand in instruction.operands):
            return True
        if instruction.opcode == "iota" and positions.get(instruction) == instruction.attributes["iota_dimension"]:
            return True
        if instruction.opcode == "reshape" and instruction in positions:
            # The rows stay rows only if each has as many elements as before.
            (operand,) = instruction.operands
            if operand.shape.rank == 0 or operand.shape.dimensions[0] != instruction.shape.dimensions[0]:
                return True
    return False


def _independent(first: _Member, second: _Member) -> bool:
    """Whether the two may run block by block: what one writes, the other touches in the same rows or not at all."""
    return all(
        _no_conflict(written, touched)
        for one, other in ((first, second), (second, first))
        for written in _touched(one, writing=True)
        for touched in _touched(other, writing=False)
    )


def _touched(member: _Member, writing: bool) -> list[tuple[Buffer, int]]:
    """The buffers with the bytes that one row takes in them; 0 where a region needs all rows at once."""
    region = member.region
    rows = region.outputs[0].shape.dimensions[0]
    touched = [(b, o.shape.byte_size // rows) for b, o in zip(region.output_buffers, region.outputs)]
    if not writing:
        for number, (buffer, argument) in enumerate(zip(region.argument_buffers, region.arguments)):
            if buffer is not None:
                touched.append((buffer, argument.shape.byte_size // rows if member.has_rows(number) else 0))
    return touched


def _no_conflict(written: tuple[Buffer, int], touched: tuple[Buffer, int]) -> bool:
    (first, first_row), (second, second_row) = written, touched
    both_temporary = first.kind == second.kind == "temporary"
    if first is second or both_temporary and (first.offset, first.size) == (second.offset, second.size):
        # One lies where the other lay before: row by row, too, it comes when the other is no longer needed.
        return first_row == second_row
    if not both_temporary:
        return True
    return first.offset + first.size <= second.offset or second.offset + second.size <= first.offset


def _rows_in_a_block(members: list[_Member], rows: int) -> int:
    """The largest divisor of the rows whose blocks stay in the cache, at least 1."""
    row_bytes = sum(row for member in members for _, row in _touched(member, writing=False))
    few, most = (max(1, size // max(1, row_bytes)) for size in (_SMALL_BLOCK_BYTES, _BLOCK_BYTES))
    wanted = min(rows, few if few >= _MANY_ROWS else most)
    return next(count for count in range(wanted, 0, -1) if rows % count == 0)


def _of_rows(member: _Member, count: int) -> Region:
    """The region for so many rows."""
    replaced: dict[Instruction, Instruction] = {}
    computation = member.region.computation
    for instruction in computation.instructions:
        shape = instruction.shape
        if instruction in member.positions:
            shape = _resized(shape, member.positions[instruction], count)
        elif instruction is computation.root and instruction.opcode == "tuple":
            shape = TupleShape(tuple(_resized(element, 0, count) for element in shape.elements))
        operands = tuple(replaced[operand] for operand in instruction.operands)
        replaced[instruction] = Instruction(instruction.operation, operands, instruction.attributes, shape)
    smaller = Computation(computation.name, tuple(replaced.values()), replaced[computation.root])
    return replace(member.region, computation=smaller)


def _resized(shape: Shape | TupleShape, position: int, count: int) -> Shape | TupleShape:
    if shape.is_tuple:
        return TupleShape(tuple(_resized(element, position, count) for element in shape.elements))
    sizes = list(shape.dimensions)
    sizes[position] = count
    return shape.with_dimensions(tuple(sizes))


def _moved(builder: ir.IRBuilder, member: _Member, block: Region, first: indices.Base) -> Region:
    """The block's region on the rows from ``first`` on."""

    def rows_of(array: Array, shape: Shape) -> Array:
        start = (Affine(first), *(indices.ZERO,) * (array.shape.rank - 1))
        return Array(array.address(builder, start), shape)

    arguments = [
        rows_of(argument, parameter.shape) if member.has_rows(number) else argument
        for number, (argument, parameter) in enumerate(zip(block.arguments, block.computation.parameters))
    ]
    roots = result_roots(block.computation)
    shapes = roots[0].shape.elements if roots[0].shape.is_tuple else [root.shape for root in roots]
    outputs = [rows_of(output, shape) for output, shape in zip(block.outputs, shapes)]
    return replace(block, arguments=arguments, outputs=outputs)
