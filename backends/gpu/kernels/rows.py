"""Kernels of fusions that work row by row: the threads of a team hold a row in registers, and reduce it as often as needed."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import reduce as folded
from math import prod

from llvmlite import ir

from ....compile.fused_computations import result_roots
from ....hlo import Computation, Instruction, Shape
from ...llvm import index as indices
from ...llvm.arrays import Array
from ...llvm.elemental import Binding, ElementalEmitter
from ...llvm.index import Index
from ...llvm.reductions import splat_identity
from ...llvm.scalar_computations import emit_scalar_computation
from ...llvm.types import I32, I64, RegisterValue, lane_values, register_bytes, selected
from .. import choices
from ..frame import Frame
from ..kernel import Grid, Kernel, index_of, index_of_vector, wide
from ..phases import MOST_TURNS, USUAL_THREADS
from ..teams import totals_of_teams
from ..values import Leaf, Values
from .vectors import aligned, lanes_for


@dataclass(frozen=True)
class _Rows:
    """How rows are divided: ``team`` threads hold ``vectors`` vectors each, of so many lanes; ``threads`` are in a block."""

    rows: tuple[int, ...]
    row: tuple[int, ...]
    lanes: int
    team: int
    vectors: int
    threads: int

    @property
    def count(self) -> int:
        return prod(self.rows)

    @property
    def vectors_in_row(self) -> int:
        return prod(self.row) // self.lanes

    @property
    def grid(self) -> Grid:
        teams = max(1, self.threads // self.team)
        return Grid((-(-self.count // teams), 1, 1), (teams * self.team, 1, 1))


def _division(frame: Frame, computation: Computation) -> _Rows:
    reduce = next(one for one in computation.instructions if one.opcode == "reduce")
    dimensions, first = reduce.operands[0].shape.dimensions, len(reduce.shape.dimensions)
    rows, row = dimensions[:first], dimensions[first:]
    lanes = lanes_for(frame.target.vector_bytes, computation, row[-1])
    in_row, largest = prod(row) // lanes, min(choices.LARGEST_TEAM, frame.target.threads)
    team = 1
    while team < largest and team * choices.VECTORS_OF_ROW < in_row:
        team *= 2
    threads = choices.THREADS_OF_ROWS
    if prod(rows) * team <= USUAL_THREADS * MOST_TURNS:
        threads = frame.block_threads(threads)
    return _Rows(rows, row, lanes, team, -(-in_row // team), threads)


def emit_rows(frame: Frame, instruction: Instruction, computation: Computation, values: Values) -> list[Leaf]:
    """Compute a fusion of kind ``kCustom``: see `row_fusion`."""
    outputs = [output for output in frame.outputs(instruction) if output is not None]
    division = _division(frame, computation)
    inputs = [values[operand][0] for operand in instruction.operands]

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        kernel.is_plain = True
        if _registers(computation, division) <= choices.FEW_REGISTERS:
            kernel.target.keep_resident(kernel.function, max(1, choices.RESIDENT_THREADS // prod(division.grid.threads)))
        _RowKernel(kernel, computation, division, bindings, arrays).emit()

    key = (frame.kernels.number(computation), division)
    frame.launch("rows", key, inputs, outputs, division.grid, write, instruction.source)
    return list(outputs)


def _registers(computation: Computation, division: _Rows) -> int:
    """How many registers a thread needs for what it holds of the rows that it reads."""
    whole = (*division.rows, *division.row)
    read = [one.shape.element_type for one in computation.parameters if one.shape.dimensions == whole]
    return division.vectors * division.lanes * sum([max(1, register_bytes(one) // 4) for one in read])


class _RowKernel:
    def __init__(
        self, kernel: Kernel, computation: Computation, division: _Rows, bindings: list[Binding], arrays: list[Array]
    ) -> None:
        self.kernel, self.builder, self.computation, self.division = kernel, kernel.builder, computation, division
        b, team = kernel.builder, division.team
        self.bindings: dict[Instruction, Binding] = {
            parameter: self._vectors_of(binding) if isinstance(binding, Array) else binding
            for parameter, binding in zip(computation.parameters, bindings)
        }
        self.arrays = arrays
        thread = kernel.thread()
        self.member = b.urem(thread, I32(team))
        teams = kernel.grid.threads[0] // team
        kind = I32 if division.count + teams <= 1 << 31 else I64
        block, own = (one if kind is I32 else wide(b, one) for one in (kernel.block(), b.udiv(thread, I32(team))))
        row = b.add(b.mul(block, kind(teams)), own)
        self.is_row = None
        if division.count % teams:
            # Threads without a row of their own compute the last one, too, as all of them wait for each other.
            self.is_row = b.icmp_unsigned("<", row, kind(division.count))
            row = b.select(self.is_row, row, kind(division.count - 1))
        self.row = index_of(b, row, division.rows)
        self.places = [self._place(number) for number in range(division.vectors)]
        self.vectors = ElementalEmitter(b, division.lanes, self.bindings)
        self.alone = ElementalEmitter(b, 1, self.bindings)

    def _vectors_of(self, array: Array) -> Array:
        row = self.division.row
        is_whole = array.shape.rank >= 1 and array.shape.dimensions[-1] == row[-1]
        return aligned(array, array.shape, self.division.lanes) if is_whole else array

    def _place(self, number: int) -> tuple[Index, ir.Value | None]:
        """Where the vector of this number that the thread holds is, and whether it is in the row, if that is not certain."""
        b, d = self.builder, self.division
        place = b.add(self.member, I32(number * d.team))
        is_inside = None
        if (number + 1) * d.team > d.vectors_in_row:
            is_inside = b.icmp_unsigned("<", place, I32(d.vectors_in_row))
            place = b.select(is_inside, place, I32(d.vectors_in_row - 1))
        return (*self.row, *index_of_vector(b, place, d.row, d.lanes)), is_inside

    def emit(self) -> None:
        for instruction in self.computation.instructions:
            if instruction.opcode == "reduce":
                self.bindings[instruction] = self._reduced(instruction)
        whole = (*self.division.rows, *self.division.row)
        for root, array in zip(result_roots(self.computation), self.arrays):
            if root.shape.dimensions == whole:
                self._store_row(root, array)
            else:
                self._store_one(root, array)

    def _reduced(self, reduce: Instruction) -> RegisterValue:
        b, d = self.builder, self.division
        operand, init = reduce.operands
        to_apply, element_type = reduce.attributes["to_apply"], operand.shape.element_type
        identity = splat_identity(element_type, to_apply.combining_operation.identity(element_type), d.lanes)
        total = None
        for index, is_inside in self.places:
            value = self.vectors.emit(operand, index)
            if is_inside is not None:
                value = selected(b, is_inside, value, identity)
            total = value if total is None else emit_scalar_computation(b, to_apply, [total, value], d.lanes)[0]
        parts = lane_values(b, total)
        total = folded(lambda one, other: emit_scalar_computation(b, to_apply, [one, other], 1)[0], parts)

        def combine(first: list[RegisterValue], second: list[RegisterValue]) -> list[RegisterValue]:
            return emit_scalar_computation(b, to_apply, [*first, *second], 1)

        (total,) = totals_of_teams(self.kernel, d.team, [Shape(element_type, ())], [total], combine)
        return emit_scalar_computation(b, to_apply, [self.alone.emit(init, ()), total], 1)[0]

    def _store_row(self, root: Instruction, array: Array) -> None:
        b, d = self.builder, self.division
        target = aligned(array, root.shape, d.lanes)
        computed = [self.vectors.emit(root, index) for index, _ in self.places]
        for (index, is_inside), value in zip(self.places, computed):
            with self._where(is_inside):
                target.store(b, index, value, d.lanes)

    def _where(self, *conditions: ir.Value | None) -> AbstractContextManager[object]:
        """Code for threads with a row of their own for which the conditions hold, those that are not certain."""
        uncertain = [one for one in (self.is_row, *conditions) if one is not None]
        return self.builder.if_then(folded(self.builder.and_, uncertain)) if uncertain else nullcontext()

    def _store_one(self, root: Instruction, array: Array) -> None:
        """A result that has one element for each row."""
        b = self.builder
        index = (*self.row, *[indices.ZERO] * (root.shape.rank - len(self.row)))
        value = self.alone.emit(root, index)
        with self._where(b.icmp_unsigned("==", self.member, I32(0))):
            array.store(b, index, value, 1)
