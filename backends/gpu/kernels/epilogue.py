"""Where the elements of a product go: into an array, or into an epilogue, whose results are stored instead (`epilogue_form`).

A kernel asks for one of both by the place of an element in the results, in elements from their beginning. Where it has a tile
of sums in registers, these pass through the block's memory first, and threads take neighbouring ones: what the epilogue reads
and writes is read and written in vectors by neighbouring threads, and there is one copy of its code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from llvmlite import ir

from ....compile.fused_computations import result_roots
from ....hlo import Computation, ElementType, Instruction, Shape, make_instruction
from ...llvm.arrays import Array
from ...llvm.collapse import collapse_dimensions
from ...llvm.elemental import Binding, ElementalEmitter
from ...llvm.index import Affine
from ...llvm.loops import carried_loop
from ...llvm.types import I32, RegisterValue, register_type, round_to_type
from ..epilogue_form import EpilogueForm
from ..frame import Frame
from ..kernel import Kernel, index_of_vector, wide
from ..values import Leaf, Stored, Values
from .product import Axis, Product, columns_at_once, narrow, offsets_of
from .vectors import aligned, lanes_for

# So many vectors of a tile a thread computes at once, of an epilogue that costs no more for each element.
_AT_ONCE, _CHEAP = 4, 24.0


@dataclass(frozen=True, eq=False)
class Epilogue:
    """What is computed of an element, the last parameter of ``computation``: a result itself where ``keeps_hero``."""

    computation: Computation
    keeps_hero: bool

    @property
    def cost(self) -> float:
        return sum([one.operation.cost or 0.0 for one in self.computation.instructions])


@dataclass(frozen=True, eq=False)
class Results:
    """Where a product's elements, of this type, go: to the outputs; by an epilogue, if there is one, which reads the inputs.

    So many as ``lanes`` that lie side by side may be stored at once, at multiples of as many.
    """

    element_type: ElementType
    outputs: tuple[Stored, ...]
    epilogue: Epilogue | None = None
    inputs: tuple[Leaf, ...] = ()
    key: Any = None
    lanes: int = 1

    def store(
        self, b: ir.IRBuilder, bindings: Sequence[Binding], arrays: Sequence[Array], offset: ir.Value, value: RegisterValue,
        lanes: int = 1,
    ) -> None:  # fmt: skip
        """Store what comes of an element, or of so many side by side. ``bindings`` are the inputs', ``arrays`` the outputs'."""
        self.write(b, arrays, offset, self.computed(b, bindings, offset, value, lanes), lanes)

    def computed(
        self, b: ir.IRBuilder, bindings: Sequence[Binding], offset: ir.Value, value: RegisterValue, lanes: int
    ) -> list[RegisterValue]:
        """For each output its elements."""
        value = _as_element(b, self.element_type, value, lanes)
        if self.epilogue is None:
            return [value]
        computation = self.epilogue.computation
        roots, (*read, product) = result_roots(computation), computation.parameters
        bound: dict[Instruction, Binding] = {
            parameter: aligned(binding, parameter.shape, lanes) if isinstance(binding, Array) else binding
            for parameter, binding in zip(read, bindings)
        }
        bound[product] = value
        dimensions = roots[0].shape.dimensions
        number = narrow(b, offset, prod(dimensions))
        if lanes > 1:
            number = b.udiv(number, number.type(lanes))
        emitter = ElementalEmitter(b, lanes, bound)
        index = index_of_vector(b, number, dimensions, lanes)
        return [emitter.emit(root, index) for root in roots] + [value] * self.epilogue.keeps_hero

    def write(
        self, b: ir.IRBuilder, arrays: Sequence[Array], offset: ir.Value, values: Sequence[RegisterValue], lanes: int
    ) -> None:
        for array, value in zip(arrays, values):
            flat = aligned(array, Shape(array.shape.element_type, (max(1, array.shape.size),)), lanes)
            flat.store(b, (Affine(offset, 1 if lanes > 1 else 0),), value, lanes)


def _as_element(b: ir.IRBuilder, element_type: ElementType, value: RegisterValue, lanes: int) -> RegisterValue:
    """A sum, or several, as elements of a product."""
    if element_type.is_complex:
        return value
    type_ = register_type(element_type, lanes)
    if not element_type.is_float and value.type != type_:
        value = b.trunc(value, type_)
    return round_to_type(b, element_type, value)


def epilogue_results(frame: Frame, fusion: Instruction, form: EpilogueForm, product: Product | None, values: Values) -> Results:
    """The results of a fusion with an epilogue; the output of the product, or of the reduction, is as theirs."""
    computation, read = _epilogue_computation(fusion.attributes["calls"], form)
    inputs = tuple([values[fusion.operands[number]][0] for number in read])
    collapsed = collapse_dimensions(computation)
    walked = computation if collapsed is None else collapsed.computation
    lanes = _lanes(frame.target.vector_bytes, walked, product)
    outputs = tuple([output for output in frame.outputs(fusion) if output is not None])
    key = (frame.kernels.number(walked), lanes, form.keeps_hero)
    epilogue = Epilogue(walked, form.keeps_hero)
    return Results(form.seen.shape.element_type, outputs, epilogue, inputs, key, lanes)


def _epilogue_computation(fused: Computation, form: EpilogueForm) -> tuple[Computation, list[int]]:
    """What is computed of what is read besides the product, and of the product's element, the last parameter; and the numbers
    of the fusion's operands that are read.
    """
    needed = set(form.results)
    for instruction in reversed(fused.instructions):
        if instruction in needed and instruction is not form.seen:
            needed.update(instruction.operands)
    given = [one for one in fused.parameters if one in needed]
    known: dict[Instruction, Instruction] = {}
    for number, instruction in enumerate((*given, form.seen)):
        known[instruction] = make_instruction("parameter", (), {"number": number}, instruction.shape)
    parameters = list(known.values())
    body: list[Instruction] = []
    for instruction in fused.instructions:
        if instruction in needed and instruction not in known:
            known[instruction] = instruction.with_operands([known[operand] for operand in instruction.operands])
            body.append(known[instruction])
    roots = [known[result] for result in form.results]
    root = roots[0]
    if len(roots) > 1:
        root = make_instruction("tuple", roots)
        body.append(root)
    return Computation("epilogue", (*parameters, *body), root), [one.attributes["number"] for one in given]


def in_vectors(results: Results, vector_bytes: int, product: Product) -> Results:
    """Results without an epilogue, of which neighbouring columns are stored at once."""
    lanes = _aligned_columns(vector_bytes // results.element_type.byte_size, product)
    return replace(results, lanes=1 if results.element_type.is_complex else lanes)


def _lanes(vector_bytes: int, computation: Computation, product: Product | None) -> int:
    """How many neighbouring columns are stored at once, or elements of a reduction."""
    *_, last = 1, *result_roots(computation)[0].shape.dimensions
    lanes = lanes_for(vector_bytes, computation, last)
    return lanes if product is None else _aligned_columns(lanes, product)


def _aligned_columns(lanes: int, product: Product) -> int:
    """So many, or fewer: how many columns lie side by side, wherever they begin at multiples of as many."""
    while columns_at_once(product, lanes) < lanes:
        lanes //= 2
    return lanes


@dataclass(frozen=True, eq=False)
class StagedTile:
    """Sums in the block's memory, from which results are stored: rows by columns, those of a row side by side, rows ``pitch``
    elements apart. They may be some rows of the block's tile, which has ``tile_rows``.
    """

    array: Array
    rows: int
    tile_rows: int
    columns: int
    pitch: int

    def store(
        self, kernel: Kernel, results: Results, bindings: Sequence[Binding], arrays: Sequence[Array], product: Product,
        origin: ir.Value, row_of: Callable[[ir.Value], ir.Value], first_column: ir.Value,
    ) -> None:  # fmt: skip
        """Store what comes of the tile. Its row r is row ``row_of(r)`` of the product, of which those behind the end are left
        out, and so are columns; ``origin`` is the place of the product's first element.
        """
        b, lanes, threads = kernel.builder, results.lanes, kernel.grid.threads[0]
        in_row = self.columns // lanes
        vectors = self.rows * in_row
        turns = -(-vectors // threads)
        at_once = min(turns, _AT_ONCE) if results.epilogue is not None and results.epilogue.cost <= _CHEAP else 1
        thread = kernel.thread()
        flat = aligned(self.array, self.array.shape, lanes)
        # What is behind the end reads the last element instead, which another thread may be writing.
        written = [array.pointer for array in arrays]
        is_in_place = any(isinstance(one, Array) and any(one.pointer is pointer for pointer in written) for one in bindings)
        of_rows, of_columns = product.sizes[1:3]

        def turn(number: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
            found = []
            for copy in range(at_once):
                position = b.add(b.mul(b.add(b.trunc(number, I32), I32(copy)), I32(threads)), thread)
                conditions = []
                if vectors % threads or turns % at_once:
                    conditions.append(b.icmp_unsigned("<", position, I32(vectors)))
                    position = b.select(conditions[0], position, I32(vectors - 1))
                line, place = kernel.divided(position, in_row)
                column_in_tile = b.mul(place, I32(lanes))
                row = _inside(b, row_of(line), of_rows, self.tile_rows, 1, conditions)
                column = _inside(b, b.add(first_column, column_in_tile), of_columns, self.columns, lanes, conditions)
                at = wide(b, b.add(b.mul(line, I32(self.pitch)), column_in_tile))
                value = flat.load(b, (Affine(at, 1 if lanes > 1 else 0),), lanes)
                offset = b.add(_offset(b, row, product.rows), b.add(_offset(b, column, product.columns), origin))
                if is_in_place and conditions:
                    _if_all(b, conditions, lambda: results.store(b, bindings, arrays, offset, value, lanes))  # noqa: B023
                else:
                    found.append((conditions, offset, results.computed(b, bindings, offset, value, lanes)))
            for conditions, offset, values in found:
                _if_all(b, conditions, lambda: results.write(b, arrays, offset, values, lanes))  # noqa: B023
            return []

        carried_loop(b, 0, turns, at_once, [], turn, "results")


def _inside(b: ir.IRBuilder, number: ir.Value, size: int, tile: int, lanes: int, conditions: list[ir.Value]) -> ir.Value:
    """A row or column, or the last one where there is none of this number, which is a condition then."""
    if not size % tile:
        return number
    conditions.append(b.icmp_unsigned("<", number, I32(size)))
    return b.select(conditions[-1], number, I32(size - lanes))


def _offset(b: ir.IRBuilder, number: ir.Value, axes: tuple[Axis, ...]) -> ir.Value:
    return offsets_of(b, number, axes)[2]


def _if_all(b: ir.IRBuilder, conditions: list[ir.Value], emit: Callable[[], None]) -> None:
    if not conditions:
        emit()
        return
    joined = conditions[0]
    for condition in conditions[1:]:
        joined = b.and_(joined, condition)
    with b.if_then(joined):
        emit()
