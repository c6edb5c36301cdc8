"""Scans: a thread for each element of a slice, or, along lines whose elements are neighbours, a block for each line.

Where the order makes no difference but for rounding, and there are too few lines to keep a device busy, each is cut into parts:
what each part comes to first, then what all before it come to, then the parts themselves. How lines are cut depends on shapes
alone: results are the same from run to run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from llvmlite import ir

from ....compile.fused_computations import as_computation, result_roots
from ....compile.scan_steps import elementwise_step
from ....hlo import Instruction, Shape, leaves
from ....hlo.operation import ASSOCIATIVE
from ...llvm.arrays import Array
from ...llvm.elemental import Binding
from ...llvm.index import Affine, Base, Index, i64, least
from ...llvm.loops import carried_loop
from ...llvm.scalar_computations import emit_scalar_computation
from ...llvm.scans import Scan
from ...llvm.types import I1, I32, I64, RegisterValue
from ...llvm.windows import select_all
from ..emitter_table import emits
from ..frame import Frame, Leaf, Stored, Values
from ..kernel import Grid, Kernel, index_of, wide
from .scan_tile import THREADS, ScanTile, elements_of_tile
from .sort_merge import aligned
from .sort_order import zero_of

# Lines of so many steps have a block each, where what lies behind each other in memory is less than so wide.
_LEAST_STEPS_OF_BLOCK, _NARROW = 256, 32
# So many blocks, or threads, keep a device busy. Parts have so many steps at least; a line that threads scan has so many parts.
_BUSY_BLOCKS, _BUSY_THREADS, _LEAST_STEPS, _MOST_PARTS = 1024, 1 << 16, 32, 128


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
    def unit(self) -> int:
        """Parts have multiples of so many steps."""
        return elements_of_tile(self.scalars) if self.has_blocks else _LEAST_STEPS

    @cached_property
    def part_steps(self) -> int:
        places = prod(self.places)
        if not self.is_in_any_order or not places or not self.steps:
            return max(1, self.steps)
        wanted = -(-_BUSY_BLOCKS // places) if self.has_blocks else min(_MOST_PARTS, -(-_BUSY_THREADS // places))
        return -(-self.steps // (wanted * self.unit)) * self.unit

    @property
    def parts(self) -> int:
        return max(1, -(-self.steps // self.part_steps))

    @property
    def scratch_bytes(self) -> int:
        """Memory for what parts come to, and what is before them."""
        if self.parts == 1:
            return 0
        return 2 * sum(aligned(self.parts * prod(self.places) * shape.byte_size) for shape in self.scalars)


@emits(
    "scan",
    scratch=lambda scan: ScanForm(scan).scratch_bytes,
    is_native=lambda scan: elementwise_step(scan) is not None,
)
def scan(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    form = ScanForm(instruction)
    outputs = frame.outputs(instruction)
    inputs = [values[operand][0] for operand in instruction.operands]
    places, parts = prod(form.places), form.parts
    if not places:
        return list(outputs)
    key = frame.number(instruction)
    if parts == 1:
        _launch(frame, form, key, "scan", inputs, outputs, None)
        return list(outputs)
    offset, memory = 0, []
    for shape in form.scalars * 2:
        memory.append(frame.scratch(instruction, shape.with_dimensions((parts * places,)), offset))
        offset += aligned(parts * places * shape.byte_size)
    totals, before = memory[: form.carries], memory[form.carries :]
    _launch(frame, form, key, "scan_totals", inputs, totals, None)
    inits = inputs[len(inputs) - form.carries :]
    writer = _Prefixes(form)
    if form.has_blocks:
        grid = Grid((places, 1, 1), (THREADS, 1, 1))
        frame.launch("scan_prefixes", key, [*totals, *inits], before, grid, writer.write_rows, instruction.source)
    else:
        grid = Grid.of(places, THREADS)
        frame.launch("scan_prefixes", key, [*totals, *inits], before, grid, writer.write_columns, instruction.source)
    _launch(frame, form, key, "scan", [*inputs, *before], outputs, before)
    return list(outputs)


def _launch(
    frame: Frame, form: ScanForm, key: int, name: str, inputs: list[Leaf], outputs: list[Stored], before: list[Stored] | None
) -> None:
    """Scan the parts of all lines, from what is before them on; or only find what they come to."""
    count = prod(form.places) * form.parts
    grid = Grid((count, 1, 1), (THREADS, 1, 1)) if form.has_blocks else Grid.of(count, THREADS)
    kernel = _Parts(form, name == "scan_totals", before is not None)
    write = kernel.write_rows if form.has_blocks else kernel.write_columns
    frame.launch(name, key, inputs, outputs, grid, write, form.scan.source)


class _Parts:
    """The kernel that scans parts."""

    def __init__(self, form: ScanForm, only_totals: bool, has_before: bool) -> None:
        self.form, self.only_totals, self.has_before = form, only_totals, has_before

    def _scan(self, kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> Scan:
        form = self.form
        return Scan(
            kernel.builder, as_computation(form.scan), bindings[: len(form.scan.operands)], [] if self.only_totals else arrays
        )

    def _bounds(self, b: ir.IRBuilder, part: ir.Value) -> tuple[Base, Base]:
        """The first step of a part, and the one behind its last."""
        form = self.form
        if form.parts == 1:
            return 0, form.steps
        start = b.mul(wide(b, part), I64(form.part_steps))
        return start, least(b, b.add(start, I64(form.part_steps)), form.steps)

    def _carries(self, scan: Scan, bindings: list[Binding], number: ir.Value, place: Index) -> list[RegisterValue]:
        """What is carried into a part."""
        if not self.has_before:
            return scan.first_carries(place, 1)
        held = bindings[len(self.form.scan.operands) :]
        return [array.load(scan.builder, (Affine(wide(scan.builder, number)),), 1) for array in held]

    def write_columns(self, kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        """A thread for each part of each line, the parts of neighbouring lines side by side."""
        b, number, form = kernel.builder, kernel.number(), self.form
        places = prod(form.places)
        with b.if_then(b.icmp_unsigned("<", number, number.type(places * form.parts))):
            part, line = b.udiv(number, number.type(places)), b.urem(number, number.type(places))
            place = index_of(b, line, form.places)
            scan = self._scan(kernel, bindings, arrays)
            start, stop = self._bounds(b, part)

            def step(number: Base, carries: list[RegisterValue], is_first: bool | None) -> list[RegisterValue]:
                index = scan.at(place, Affine(scan.position(number)))
                outputs, carries = scan.stepped(scan.elements(index, 1, is_first=is_first), carries, 1)
                if not self.only_totals:
                    scan.store(index, outputs, 1)
                return carries

            if self.only_totals:
                carries = scan.elements(scan.at(place, Affine(scan.position(start))), 1)
                start = b.add(i64(start), I64(1))
            else:
                carries = self._carries(scan, bindings, number, place)
            carries = scan.each_step(start, stop, carries, step)
            if self.only_totals:
                for array, value in zip(arrays, carries):
                    array.store(b, (Affine(wide(b, number)),), value, 1)
            elif form.parts == 1:
                scan.store_carries(place, carries, 1)
            else:
                with b.if_then(b.icmp_unsigned("==", part, part.type(form.parts - 1))):
                    scan.store_carries(place, carries, 1)

    def write_rows(self, kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        """A block for each part of each line, the parts of a line side by side."""
        b, form, number = kernel.builder, self.form, kernel.block()
        line, part = b.udiv(number, I32(form.parts)), b.urem(number, I32(form.parts))
        place = index_of(b, line, form.places)
        scan = self._scan(kernel, bindings, arrays)
        tile = ScanTile(kernel, form.scalars, lambda first, second: scan.stepped(second, first, 1)[1])
        start, stop = self._bounds(b, part)
        size = elements_of_tile(form.scalars)

        def index_at(base: ir.Value, element: ir.Value) -> Index:
            return scan.at(place, Affine(scan.position(b.add(base, wide(b, element)))))

        def one(base: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
            *carries, has_any = carried
            count = b.trunc(least(b, b.sub(i64(stop), base), size), I32)
            tile.fill(count, lambda element: scan.elements(index_at(base, element), 1))
            total = tile.reduce(count)
            if self.only_totals:
                joined = tile.combine(carries, total)
                return [*select_all(b, has_any, joined, total), I1(1)]

            def store(element: ir.Value, values: list[RegisterValue]) -> None:
                scan.store(index_at(base, element), [values[carry] for carry in form.carry_of_output], 1)

            tile.scan(count, carries, store)
            return [*tile.combine(carries, total), I1(1)]

        if self.only_totals:
            carries = [*map(zero_of, form.scalars), I1(0)]
        else:
            carries = [*self._carries(scan, bindings, number, place), I1(1)]
        most = -(-form.part_steps // size)
        *carries, _ = carried_loop(b, start, stop, size, carries, one, "tiles", most=most)
        is_writer = b.icmp_unsigned("==", kernel.thread(), I32(0))
        if not self.only_totals:
            is_writer = b.and_(is_writer, b.icmp_unsigned("==", part, I32(form.parts - 1)))
        with b.if_then(is_writer):
            if self.only_totals:
                for array, value in zip(arrays, carries):
                    array.store(b, (Affine(wide(b, number)),), value, 1)
            else:
                scan.store_carries(place, carries, 1)


class _Prefixes:
    """The kernel that scans what parts come to: what is carried into each of them."""

    def __init__(self, form: ScanForm) -> None:
        self.form = form

    def _combine(self, b: ir.IRBuilder, first: list[RegisterValue], second: list[RegisterValue]) -> list[RegisterValue]:
        results = emit_scalar_computation(b, self.form.step, [*second, *first], 1)
        return results[len(results) - self.form.carries :]

    def _first(self, b: ir.IRBuilder, inits: list[Binding], place: Index) -> list[RegisterValue]:
        return [init.load(b, place, 1) if isinstance(init, Array) else init for init in inits]

    def write_columns(self, kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, number, form = kernel.builder, kernel.number(), self.form
        totals, inits = bindings[: form.carries], bindings[form.carries :]
        places = prod(form.places)
        with b.if_then(b.icmp_unsigned("<", number, number.type(places))):

            def one(part: ir.Value, carries: list[RegisterValue]) -> list[RegisterValue]:
                at = (Affine(b.add(b.mul(part, I64(places)), wide(b, number))),)
                total = [array.load(b, at, 1) for array in totals]
                for array, value in zip(arrays, carries):
                    array.store(b, at, value, 1)
                return self._combine(b, carries, total)

            carried_loop(b, 0, form.parts, 1, self._first(b, inits, index_of(b, number, form.places)), one, "parts")

    def write_rows(self, kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, line, form = kernel.builder, kernel.block(), self.form
        totals, inits = bindings[: form.carries], bindings[form.carries :]
        first = self._first(b, inits, index_of(b, line, form.places))
        tile = ScanTile(kernel, form.scalars, lambda x, y: self._combine(b, x, y))
        begin, size = b.mul(wide(b, line), I64(form.parts)), elements_of_tile(form.scalars)
        with b.if_then(b.icmp_unsigned("==", kernel.thread(), I32(0))):
            for array, value in zip(arrays, first):
                array.store(b, (Affine(begin),), value, 1)

        def one(base: ir.Value, carries: list[RegisterValue]) -> list[RegisterValue]:
            count = b.trunc(least(b, b.sub(I64(form.parts), base), size), I32)

            def at(element: ir.Value) -> ir.Value:
                return b.add(b.add(begin, base), wide(b, element))

            tile.fill(count, lambda element: [array.load(b, (Affine(at(element)),), 1) for array in totals])
            total = tile.reduce(count)

            def store(element: ir.Value, values: list[RegisterValue]) -> None:
                is_followed = b.icmp_unsigned("<", b.add(base, wide(b, element)), I64(form.parts - 1))
                with b.if_then(is_followed):
                    for array, value in zip(arrays, values):
                        array.store(b, (Affine(b.add(at(element), I64(1))),), value, 1)

            tile.scan(count, carries, store)
            return tile.combine(carries, total)

        carried_loop(b, 0, form.parts, size, first, one, "tiles")
