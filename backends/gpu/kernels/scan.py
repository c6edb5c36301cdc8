"""Scans: a thread for each element of a slice, or, along lines whose elements are neighbours, a block for each line.

Where the order makes no difference but for rounding, and there are too few lines to keep a device busy, each is cut into tiles,
of which blocks find out what is before theirs (`look_back`). How lines are cut depends on shapes alone: results are the same
from run to run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from llvmlite import ir

from ....compile.fused_computations import as_computation, result_roots
from ....compile.scan_steps import elementwise_step
from ....hlo import U32, U64, Instruction, Shape, leaves
from ....hlo.operation import ASSOCIATIVE
from ...llvm.arrays import Array
from ...llvm.elemental import Binding
from ...llvm.index import Affine, Base, Index, least
from ...llvm.loops import carried_loop
from ...llvm.scans import Scan
from ...llvm.types import I32, I64, RegisterValue
from ..emitter_table import emits
from ..frame import ALIGNMENT, Frame
from ..kernel import Grid, Kernel, index_of, wide
from ..plan import Fill
from ..values import Leaf, Values
from ..words import word_count
from .look_back import FAN_OUT, LookBack, TileWords, begun_block
from .scan_tile import THREADS, ScanTile, TileShape, tile_shape
from .sort_order import zero_of

_COUNTER_BYTES = ALIGNMENT
# Lines of so many steps are scanned by blocks, where what lies behind each other in memory is less than so wide.
_LEAST_STEPS_OF_BLOCK, _NARROW = 256, 32
# So many blocks, or threads, keep a device busy. Other lines are scanned in tiles, of so many steps at least.
_BUSY_BLOCKS, _BUSY_THREADS, _LEAST_STEPS = 1024, 1 << 16, 32
# Where lines lie side by side, so many have a tile in common.
_LINES = 32


@dataclass(frozen=True, eq=False)
class ScanForm:
    """How a scan is divided."""

    scan: Instruction

    @cached_property
    def step(self):
        return elementwise_step(self.scan)

    @cached_property
    def carries(self) -> int:
        return self.scan.attributes["num_carries"]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        has_inputs = len(self.scan.operands) > self.carries
        return (self.scan.operands[0].shape if has_inputs else leaves(self.scan.shape)[0]).dimensions

    @cached_property
    def along(self) -> int:
        return self.scan.attributes["dimensions"][0]

    @property
    def steps(self) -> int:
        return self.sizes[self.along]

    @cached_property
    def places(self) -> tuple[int, ...]:
        return self.sizes[: self.along] + self.sizes[self.along + 1 :]

    @cached_property
    def scalars(self) -> list[Shape]:
        """The shapes of an element of each carry."""
        inits = self.scan.operands[len(self.scan.operands) - self.carries :]
        return [Shape(init.shape.element_type, ()) for init in inits]

    @cached_property
    def is_in_any_order(self) -> bool:
        """Whether steps combine what they carry with elements, and it makes no difference which are combined first."""
        inputs, results = self.scan.operands[: len(self.scan.operands) - self.carries], result_roots(self.step)
        outputs, carried = results[: len(results) - self.carries], results[len(results) - self.carries :]
        if not inputs or [x.shape.element_type for x in inputs] != [shape.element_type for shape in self.scalars]:
            return False
        if any(output not in carried for output in outputs):
            return False
        if self.scan.attributes["is_associative"] == "true":
            return True
        (operation, *others) = carried
        is_one = not others and {*operation.operands} == {*self.step.parameters}
        return is_one and operation.has_trait(ASSOCIATIVE)

    @cached_property
    def carry_of_output(self) -> list[int]:
        results = result_roots(self.step)
        carried = results[len(results) - self.carries :]
        return [carried.index(output) for output in results[: len(results) - self.carries]]

    @cached_property
    def has_blocks(self) -> bool:
        inner = prod(self.sizes[self.along + 1 :])
        return self.is_in_any_order and inner < _NARROW and self.steps >= _LEAST_STEPS_OF_BLOCK

    @cached_property
    def lines(self) -> int:
        """How many lines have a tile in common."""
        return 1 if self.has_blocks else _LINES

    @cached_property
    def has_tiles(self) -> bool:
        """Whether lines are cut into tiles, each with a block of its own."""
        if self.has_blocks:
            return prod(self.places) < _BUSY_BLOCKS
        return self.is_in_any_order and prod(self.places) < _BUSY_THREADS and self.steps >= _LEAST_STEPS

    @property
    def shape(self) -> TileShape:
        return tile_shape(self.scalars, self.lines)

    @cached_property
    def tiles(self) -> int:
        """How many tiles a line has."""
        return -(-self.steps // self.shape.steps)

    @property
    def blocks_across(self) -> int:
        """How many blocks are side by side."""
        return -(-prod(self.places) // self.lines)

    def words(self, fan_out: int) -> TileWords:
        parts = sum(word_count([zero_of(shape)]) for shape in self.scalars)
        return TileWords(self.blocks_across * self.lines, self.tiles, parts, fan_out)

    @property
    def scratch_bytes(self) -> int:
        """Memory for a counter, and words for what tiles come to."""
        if not self.has_tiles or self.tiles <= 1:
            return 0
        return _COUNTER_BYTES + self.words(FAN_OUT).bytes


@emits(
    "scan",
    scratch=lambda scan: ScanForm(scan).scratch_bytes,
    is_native=lambda scan: elementwise_step(scan) is not None,
)
def scan(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    form = ScanForm(instruction)
    outputs = frame.outputs(instruction)
    inputs = [values[operand][0] for operand in instruction.operands]
    places, key, source = prod(form.places), frame.number(instruction), instruction.source
    if not places:
        return list(outputs)
    if form.has_tiles and form.tiles > 1:
        by_sub_group = form.lines == 1 and frame.target.lanes > 1
        words = form.words(frame.target.sub_group if by_sub_group else FAN_OUT)
        memory = frame.scratch(instruction, Shape(U32, (_COUNTER_BYTES // 4,)))
        held = frame.scratch(instruction, Shape(U64, (words.count,)), _COUNTER_BYTES)
        frame.add(Fill(memory.place, 0, _COUNTER_BYTES + words.bytes))
        grid = Grid((form.tiles * form.blocks_across, 1, 1), (THREADS, 1, 1))
        kernel = _Tiles(form, words, by_sub_group)
        frame.launch("scan_tiles", key, inputs, [*outputs, memory, held], grid, kernel.write, source)
    elif form.has_blocks or form.has_tiles:
        grid = Grid((form.blocks_across, 1, 1), (THREADS, 1, 1))
        frame.launch("scan_lines", key, inputs, outputs, grid, _Tiles(form).write, source)
    else:
        write = _Columns(form).write
        frame.launch("scan", key, inputs, outputs, Grid.of(places, THREADS), write, source)
    return list(outputs)


class _Columns:
    """The kernel with a thread for each line, neighbours side by side."""

    def __init__(self, form: ScanForm) -> None:
        self.form = form

    def write(self, kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, number, form = kernel.builder, kernel.number(), self.form
        with b.if_then(b.icmp_unsigned("<", number, number.type(prod(form.places)))):
            place = index_of(b, number, form.places)
            scan = Scan(b, as_computation(form.scan), bindings, arrays)

            def step(number: Base, carries: list[RegisterValue], is_first: bool | None) -> list[RegisterValue]:
                index = scan.at(place, Affine(scan.position(number)))
                outputs, carries = scan.stepped(scan.elements(index, 1, is_first=is_first), carries, 1)
                scan.store(index, outputs, 1)
                return carries

            carries = scan.each_step(0, form.steps, scan.first_carries(place, 1), step)
            scan.store_carries(place, carries, 1)


class _Tiles:
    """The kernel whose blocks scan a tile each, or, without words, all of their lines, one tile after the other."""

    def __init__(self, form: ScanForm, words: TileWords | None = None, by_sub_group: bool = False) -> None:
        self.form, self.words, self.by_sub_group = form, words, by_sub_group

    def write(self, kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, form, shape = kernel.builder, self.form, self.form.shape
        block, number = kernel.block(), None
        if self.words is not None:
            *arrays, counter, words = arrays
            begun = begun_block(kernel, counter.pointer)
            number, block = b.udiv(begun, I32(form.blocks_across)), b.urem(begun, I32(form.blocks_across))
        scan = Scan(b, as_computation(form.scan), bindings, arrays)
        tile = ScanTile(kernel, shape, form.scalars, lambda first, second: scan.stepped(second, first, 1)[1])
        line, is_line = block, None
        if shape.lines > 1:
            line = b.add(b.mul(block, I32(shape.lines)), tile.line)
            is_line = b.icmp_unsigned("<", line, I32(prod(form.places)))
        place = index_of(b, line if is_line is None else b.select(is_line, line, I32(0)), form.places)

        def one(base: ir.Value, carries: list[RegisterValue]) -> list[RegisterValue]:
            count = b.trunc(least(b, b.sub(I64(form.steps), base), shape.steps), I32)

            def index_at(step: ir.Value, offset: int = 0) -> Index:
                return scan.at(place, Affine(scan.position(b.add(b.add(base, wide(b, step)), I64(offset)))))

            tile.fill(count, lambda step, offset: scan.elements(index_at(step, offset), 1))
            total = tile.reduce(count)
            if self.words is not None:
                look_back = LookBack(kernel, self.words, words.pointer, line, number, tile.combine, total)
                find = look_back.by_sub_group if self.by_sub_group else look_back.by_one_thread
                with b.if_then(b.icmp_unsigned("<", kernel.thread(), I32(shape.lines))):
                    look_back.leave(total)
                carries = tile.shared_by_line(lambda: find(total, scan.first_carries(place, 1)), self.by_sub_group)

            def store(step: ir.Value, values: list[RegisterValue]) -> None:
                outputs = [values[carry] for carry in form.carry_of_output]
                if is_line is None:
                    scan.store(index_at(step), outputs, 1)
                    return
                with b.if_then(is_line):
                    scan.store(index_at(step), outputs, 1)

            tile.scan(count, carries, store)
            return tile.combine(carries, total)

        if self.words is not None:
            assert number is not None
            carries = one(b.mul(wide(b, number), I64(shape.steps)), [])
            is_last = b.icmp_unsigned("==", number, I32(form.tiles - 1))
        else:
            carries = carried_loop(b, 0, form.steps, shape.steps, scan.first_carries(place, 1), one, "tiles")
            is_last = None
        is_writer = b.icmp_unsigned("<", kernel.thread(), I32(shape.lines))
        for condition in (is_last, is_line):
            is_writer = is_writer if condition is None else b.and_(is_writer, condition)
        with b.if_then(is_writer):
            scan.store_carries(place, carries, 1)
