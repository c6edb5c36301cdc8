"""The scan region: each element of a slice carries values of its own through the slices.

Lanes are neighbours within a slice. Where elements of different slices are neighbours in memory, square tiles are turned in
registers.
"""

from __future__ import annotations

from llvmlite import ir

from ....compile.fused_computations import result_roots
from ....compile.scan_steps import elementwise_step
from ....hlo import Computation, Instruction, leaves, make_instruction
from ...llvm import index as indices
from ...llvm.arrays import Array
from ...llvm.elemental import Binding, ElementalEmitter, emit_scalar_computation
from ...llvm.index import Affine, Base, Component, Index
from ...llvm.loops import carried_loop, counted_loop, loop_nest
from ...llvm.scalar_control_flow import has_control_flow
from ...llvm.types import RegisterValue, register_bytes
from ..target import Target
from ..vectors import VectorLoop, tail_mask, vector_strips, whole_lanes
from .loop import dimension_read_across
from .scan_lines import emit_lines
from .transpose import LARGEST_TILE, turned

Mask = ir.Value | None

# As many vectors of each slice are carried in registers.
_VECTORS = 8


def emit_scan(
    builder: ir.IRBuilder, target: Target, computation: Computation, arguments: list[Binding], outputs: list[Array]
) -> None:
    """Run a computation that holds one scan, what it reads, and elementwise operations on its results.

    ``arguments`` binds the parameters; ``outputs`` are for the results, those that are scalars, too.
    """
    scan = Scan(builder, computation, arguments, outputs)
    if 0 in scan.slice_sizes:
        return
    if not scan.steps:
        _hand_on(scan)
    elif scan.along < scan.rank - 1:
        _emit_columns(scan, target)
    else:
        _emit_rows(scan, target)


def is_native(scan: Instruction) -> bool:
    """Whether the computation does the same to each element of the slices."""
    return elementwise_step(scan) is not None


class Scan:
    """What is scanned, and where its results go."""

    def __init__(self, builder: ir.IRBuilder, computation: Computation, arguments: list[Binding], outputs: list[Array]) -> None:
        computation = _with_parts(computation)
        self.builder, self.bindings = builder, dict(zip(computation.parameters, arguments))
        self.scan = scan = next(instruction for instruction in computation.instructions if instruction.opcode == "scan")
        step = elementwise_step(scan)
        assert step is not None
        self.step = step
        (self.along,), carries = scan.attributes["dimensions"], scan.attributes["num_carries"]
        self.is_reverse = scan.attributes["is_reverse"]
        split = len(scan.operands) - carries
        self.inputs, self.inits = scan.operands[:split], scan.operands[split:]
        self.step_results = result_roots(step)
        self.output_count = len(self.step_results) - carries
        # The instructions that stand for the scan's results, by number.
        named = [i for i in computation.instructions if i.opcode == "get-tuple-element" and scan in i.operands]
        self.parts = [(part, part.attributes["index"]) for part in named] or [(scan, 0)]
        of_carries = {part: number - self.output_count for part, number in self.parts if number >= self.output_count}
        results = list(zip(result_roots(computation), outputs))
        self.results = [(root, array) for root, array in results if root not in of_carries]
        self.last_carries = [(of_carries[root], array) for root, array in results if root in of_carries]
        shapes = [*(x.shape for x in self.inputs), *leaves(scan.shape)]
        self.sizes = shapes[0].dimensions
        self.rank, self.steps = len(self.sizes), self.sizes[self.along]
        self.slice_sizes = self.sizes[: self.along] + self.sizes[self.along + 1 :]
        parts = {part for part, _ in self.parts}
        outside = tuple(i for i in computation.instructions if i not in parts and not i.shape.is_tuple)
        # What is computed for each element besides the steps.
        self.outside = Computation(computation.name, outside, outside[-1])

    def lanes(self, target: Target, size: int) -> int:
        """The lanes of vectors along a dimension of this size."""
        if has_control_flow([self.step, self.outside]):
            return 1
        arrays = (i for i in (*self.outside.instructions, *self.step.instructions) if not i.shape.is_tuple)
        return target.lanes(max(register_bytes(i.shape.element_type) for i in arrays), size)

    def position(self, number: Base) -> Base:
        """Where the step with this number is along the scanned dimension."""
        if not self.is_reverse:
            return number
        return indices.add_base(self.builder, indices.multiply_base(self.builder, number, -1), self.steps - 1)

    def at(self, place: Index, position: Component) -> Index:
        """The index of an element, from its place within the slice and the position of this along the scanned dimension."""
        return (*place[: self.along], position, *place[self.along :])

    def elements(self, index: Index, lanes: int, mask: Mask = None) -> list[RegisterValue]:
        emitter = ElementalEmitter(self.builder, lanes, self.bindings)
        return [emitter.emit(x, index, mask) for x in self.inputs]

    def first_carries(self, place: Index, lanes: int, mask: Mask = None) -> list[RegisterValue]:
        emitter = ElementalEmitter(self.builder, lanes, self.bindings)
        return [emitter.emit(x, place, mask) for x in self.inits]

    def stepped(
        self, elements: list[RegisterValue], carries: list[RegisterValue], lanes: int
    ) -> tuple[list[RegisterValue], list[RegisterValue]]:
        """The elements of the outputs, and the next carries."""
        results = emit_scalar_computation(self.builder, self.step, [*elements, *carries], lanes)
        return results[: self.output_count], results[self.output_count :]

    def store(self, index: Index, outputs: list[RegisterValue], lanes: int, mask: Mask = None) -> None:
        """Store the results that elements of the outputs make."""
        values = {part: outputs[number] for part, number in self.parts if number < self.output_count}
        emitter = ElementalEmitter(self.builder, lanes, {**self.bindings, **values})
        for root, array in self.results:
            array.store(self.builder, index, emitter.emit(root, index, mask), lanes, mask)

    def store_carries(self, place: Index, carries: list[RegisterValue], lanes: int, mask: Mask = None) -> None:
        for number, array in self.last_carries:
            array.store(self.builder, place, carries[number], lanes, mask)


def _with_parts(computation: Computation) -> Computation:
    """The computation, the results of the scan one by one where the scan is its root."""
    scan = computation.root
    if scan.opcode != "scan" or not scan.shape.is_tuple:
        return computation
    parts = [make_instruction("get-tuple-element", (scan,), {"index": n}) for n in range(len(scan.shape.elements))]
    root = make_instruction("tuple", parts)
    return Computation(computation.name, (*computation.instructions, *parts, root), root)


def _hand_on(scan: Scan) -> None:
    """The first carries are the last ones, where there are no slices."""
    with loop_nest(scan.builder, scan.slice_sizes) as place:
        scan.store_carries(place, scan.first_carries(place, 1), 1)


# --- slices whose elements are neighbours ---


def _emit_columns(scan: Scan, target: Target) -> None:
    size = scan.sizes[-1]
    if _is_read_along(scan) and (lanes := _tile(scan, target, scan.rank - 1)) > 1:
        _emit_tiles(scan, lanes, scan.rank - 1, turns_inputs=True, turns_outputs=False)
        return
    lanes = scan.lanes(target, size)
    arrays = _arrays_of_carries(scan)
    if arrays is None or size <= _VECTORS * lanes and scan.rank == scan.along + 2:
        _emit_strips(scan, lanes)
    else:
        _emit_slices(scan, lanes, arrays)


def _is_read_along(scan: Scan) -> bool:
    """Whether a transposed input has the elements along the scanned dimension as neighbours."""
    return dimension_read_across(scan.outside.instructions, scan.sizes) == scan.along


def _emit_strips(scan: Scan, lanes: int) -> None:
    """A few vectors of each slice, whose carries stay in registers."""
    b, count = scan.builder, len(scan.inits)
    vectors = max(1, _VECTORS // max(1, count))
    with loop_nest(b, scan.slice_sizes[:-1]) as outer:

        def strip(start: Component, vectors: int, mask: Mask) -> None:
            places = [(*outer, indices.add(b, start, number * lanes)) for number in range(vectors)]

            def step(number: Base, carries: list[RegisterValue]) -> list[RegisterValue]:
                following: list[RegisterValue] = []
                position = Affine(scan.position(number))
                for nth, place in enumerate(places):
                    index = scan.at(place, position)
                    own = carries[nth * count : (nth + 1) * count]
                    outputs, own = scan.stepped(scan.elements(index, lanes, mask), own, lanes)
                    scan.store(index, outputs, lanes, mask)
                    following += own
                return following

            first = [carry for place in places for carry in scan.first_carries(place, lanes, mask)]
            last = carried_loop(b, 0, scan.steps, 1, first, step, "scan")
            for nth, place in enumerate(places):
                scan.store_carries(place, last[nth * count : (nth + 1) * count], lanes, mask)

        vector_strips(b, scan.slice_sizes[-1], lanes, vectors, strip)


def _arrays_of_carries(scan: Scan) -> list[Array] | None:
    """The results that hold the carries of each step; None where there are carries that none of them holds."""
    stored = {number: array for part, number in scan.parts for root, array in scan.results if root is part}
    held = [next((stored[n] for n in stored if scan.step_results[n] is carry), None) for carry in _carries(scan)]
    return None if None in held else held


def _carries(scan: Scan) -> tuple[Instruction, ...]:
    return scan.step_results[scan.output_count :]


def _emit_slices(scan: Scan, lanes: int, arrays: list[Array]) -> None:
    """Whole slices; the carries are read back from the results for the slice before, which is still in the cache."""
    b, along = scan.builder, scan.along

    def vectors(before: Index, body) -> None:
        with loop_nest(b, scan.slice_sizes[along:-1]) as middle:
            VectorLoop(b, lanes, in_place=False).emit(
                scan.slice_sizes[-1], lambda component, lanes, mask: body((*before, *middle, component), lanes, mask)
            )

    def slice_(before: Index, number: Base, first: bool) -> None:
        def vector(place: Index, lanes: int, mask: Mask) -> None:
            if first:
                carries = scan.first_carries(place, lanes, mask)
            else:
                carries = held(place, indices.add_base(b, number, -1), lanes, mask)
            index = scan.at(place, Affine(scan.position(number)))
            outputs, _ = scan.stepped(scan.elements(index, lanes, mask), carries, lanes)
            scan.store(index, outputs, lanes, mask)

        vectors(before, vector)

    def held(place: Index, number: Base, lanes: int, mask: Mask) -> list[RegisterValue]:
        return [array.load(b, scan.at(place, Affine(scan.position(number))), lanes, mask) for array in arrays]

    with loop_nest(b, scan.slice_sizes[:along]) as before:
        slice_(before, 0, first=True)
        if scan.steps > 1:
            with counted_loop(b, scan.steps - 1) as number:
                slice_(before, indices.add_base(b, number, 1), first=False)
        if scan.last_carries:
            vectors(before, lambda place, *how: scan.store_carries(place, held(place, scan.steps - 1, *how), *how))


# --- lines whose elements are neighbours ---


def _emit_rows(scan: Scan, target: Target) -> None:
    across = dimension_read_across(scan.outside.instructions, scan.sizes)
    rows = max(range(scan.rank - 1), key=scan.sizes.__getitem__, default=None) if across is None else across
    lanes = 1 if rows is None else _tile(scan, target, rows)
    if lanes > 1:
        _emit_tiles(scan, lanes, rows, turns_inputs=across is None, turns_outputs=True)
    else:
        emit_lines(scan, target)


def _tile(scan: Scan, target: Target, rows: int) -> int:
    """How many rows and how many elements of each make a tile."""
    return whole_lanes(min(LARGEST_TILE, scan.lanes(target, scan.steps)), scan.sizes[rows])


def _emit_tiles(scan: Scan, lanes: int, rows: int, turns_inputs: bool, turns_outputs: bool) -> None:
    """Lanes along the dimension ``rows``; what has the elements along the scanned dimension as neighbours is turned."""
    b = scan.builder
    others = [d for d in range(scan.rank) if d not in (rows, scan.along)]
    whole, rest = divmod(scan.steps, lanes)

    groups = -(-scan.sizes[rows] // lanes)

    with loop_nest(b, [scan.sizes[d] for d in others]) as outer, counted_loop(b, groups, "rows") as group:
        fixed = dict(zip(others, outer))
        start = indices.multiply_base(b, group, lanes)
        if scan.sizes[rows] % lanes:
            start = indices.clamp_base(b, start, 0, scan.sizes[rows] - lanes)

        def index(row: Component, position: Component) -> Index:
            every = {**fixed, rows: row, scan.along: position}
            return tuple(every[d] for d in range(scan.rank))

        def tile(first: Base, count: int, carries: list[RegisterValue]) -> list[RegisterValue]:
            """The positions from ``first`` on."""
            mask = None if count == lanes else tail_mask(lanes, count)
            positions = [Affine(indices.add_base(b, first, k)) for k in range(count)]
            lines = [index(Affine(indices.add_base(b, start, k)), Affine(first, 1)) for k in range(lanes)]
            columns = [index(Affine(start, 1), position) for position in positions]
            if turns_inputs:
                by_line = [scan.elements(line, lanes, mask) for line in lines]
                elements = list(zip(*(turned(b, list(one)) for one in zip(*by_line))))
            else:
                elements = [scan.elements(column, lanes) for column in columns]
            outputs: dict[int, list[RegisterValue]] = {}
            for k in reversed(range(count)) if scan.is_reverse else range(count):
                outputs[k], carries = scan.stepped(list(elements[k]), carries, lanes)
            if not turns_outputs:
                for k, column in enumerate(columns):
                    scan.store(column, outputs[k], lanes)
                return carries
            by_position = [outputs[min(k, count - 1)] for k in range(lanes)]
            for line, values in zip(lines, zip(*(turned(b, list(one)) for one in zip(*by_position)))):
                scan.store(line, list(values), lanes, mask)
            return carries

        def nth_tile(number: ir.Value, carries: list[RegisterValue]) -> list[RegisterValue]:
            first = indices.multiply_base(b, number, lanes)
            if scan.is_reverse:
                first = indices.add_base(b, indices.multiply_base(b, first, -1), scan.steps - lanes)
            return tile(first, lanes, carries)

        place = tuple(component for d, component in enumerate(index(Affine(start, 1), indices.ZERO)) if d != scan.along)
        carries = carried_loop(b, 0, whole, 1, scan.first_carries(place, lanes), nth_tile, "scan")
        if rest:
            carries = tile(0 if scan.is_reverse else whole * lanes, rest, carries)
        scan.store_carries(place, carries, lanes)
