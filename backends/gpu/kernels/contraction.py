"""Products: each block of threads computes a tile of the result, from tiles of the operands that its threads share.

All operands are seen as views: an element of the left one lies at the sum of a step for its row, one for its term, and one for
its batch. So a dot of any layout, and a convolution without padding, is one kernel, and nothing is copied before it. The next
tiles are fetched into registers while the products of this one are added up.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from llvmlite import ir

from ....compile.contraction import Contraction, contraction_of
from ....compile.convolution_views import convolution_views
from ....hlo import F32, ElementType, Instruction, Shape
from ....hlo.shape import element_strides
from ....hlo.window import WindowDimension
from ...llvm.arithmetic import constant, multiply_add
from ...llvm.arrays import Array
from ...llvm.conversion import convert_value
from ...llvm.elemental import Binding
from ...llvm.elementwise import ElementwiseContext
from ...llvm.index import Affine
from ...llvm.loops import carried_loop
from ...llvm.types import I32, I64, ComplexValue, RegisterValue, integer_constant, register_bytes, register_type, round_to_type
from ..emitter_table import emits
from ..frame import Frame, Leaf, Stored, Values
from ..kernel import Grid, Kernel, wide

THREADS = 256
_SIDE = 16  # threads along rows and along columns of a tile


@dataclass(frozen=True)
class Axis:
    """A dimension that several of left operand, right operand and output have; ``steps`` are in elements, 0 where one has not."""

    size: int
    steps: tuple[int, int, int]


@dataclass(frozen=True)
class Product:
    """What is multiplied and summed, as dimensions by their role."""

    batch: tuple[Axis, ...]
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    terms: tuple[Axis, ...]

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """How many batches, rows, columns and terms there are."""
        return tuple([prod(axis.size for axis in axes) for axes in (self.batch, self.rows, self.columns, self.terms)])


def product_of(contraction: Contraction, strides: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]) -> Product:
    """The roles of a contraction's dimensions; ``strides`` are those of its operands and its output, in elements."""
    left, right, output = strides
    lhs, rhs = contraction.lhs.dimensions, contraction.rhs.dimensions
    of_output = iter(output)
    batch = [Axis(lhs[a], (left[a], right[b], next(of_output))) for a, b in contraction.batch]
    rows = [Axis(lhs[d], (left[d], 0, next(of_output))) for d in contraction.rows]
    columns = [Axis(rhs[d], (0, right[d], next(of_output))) for d in contraction.columns]
    terms = [Axis(lhs[a], (left[a], right[b], 0)) for a, b in contraction.terms]
    return Product(*map(_merged, (batch, rows, columns, terms)))


def _merged(axes: list[Axis]) -> tuple[Axis, ...]:
    """Neighbouring dimensions that all walk as one; those of size 1 left out."""
    merged: list[Axis] = []
    for axis in axes:
        if axis.size == 1:
            continue
        if merged and merged[-1].steps == tuple([step * axis.size for step in axis.steps]):
            merged[-1] = Axis(merged[-1].size * axis.size, axis.steps)
        else:
            merged.append(axis)
    return tuple(merged)


@dataclass(frozen=True)
class Tile:
    """How many rows, columns and terms a block takes at once."""

    rows: int
    columns: int
    terms: int


def tile_for(product: Product, element_bytes: int) -> Tile:
    """The largest tile of which the result has enough to keep a device busy, whose sums fit into registers."""
    batches, rows, columns, _ = product.sizes
    for side in (128, 64, 32, 16):
        tiles = batches * -(-rows // side) * -(-columns // side)
        if (
            side * side * element_bytes <= THREADS * 256
            and (tiles >= 64 or side == 16)
            and side <= 2 * max(16, min(rows, columns))
        ):
            return Tile(side, side, 8 if side == 128 else 16)
    return Tile(16, 16, 16)


def launch_product(
    frame: Frame, instruction: Instruction, product: Product, operands: tuple[Stored, Stored], output: Stored
) -> None:
    """Compute a product into the output."""
    result_type = output.shape.element_type
    width = register_bytes(result_type) * (2 if result_type.is_complex else 1)
    tile = tile_for(product, width)
    batches, rows, columns, _ = product.sizes
    grid = Grid((-(-columns // tile.columns), -(-rows // tile.rows), batches), (THREADS, 1, 1))

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        _Tiles(kernel, instruction, product, tile, bindings, arrays[0]).emit()

    frame.launch("product", (product, tile, instruction.opcode), operands, [output], grid, write, instruction.source)


class _Tiles:
    """The kernel while it is emitted."""

    def __init__(
        self, kernel: Kernel, instruction: Instruction, product: Product, tile: Tile, operands: list[Array], output: Array
    ) -> None:
        self.kernel, self.builder, self.instruction = kernel, kernel.builder, instruction
        self.product, self.tile, self.operands, self.output = product, tile, operands, output
        self.element_type: ElementType = output.shape.element_type
        b = self.builder
        _, self.rows, self.columns, self.terms = product.sizes
        self.thread = kernel.thread()
        self.first_row = b.mul(kernel.block(1), I32(tile.rows))
        self.first_column = b.mul(kernel.block(0), I32(tile.columns))
        self.batch = self._offsets(wide(b, kernel.block(2)), product.batch)
        # Elements of both tiles that a thread fetches: neighbouring threads those that lie side by side.
        self.loads = (
            self._places(0, tile.rows, self.first_row, product.rows, self.rows),
            self._places(1, tile.columns, self.first_column, product.columns, self.columns),
        )
        # Narrow floats are shared as they are carried in registers.
        is_narrow = self.element_type.is_float and self.element_type.bits < 32
        self.shared_type = F32 if is_narrow else self.element_type
        shapes = [Shape(self.shared_type, (tile.terms * count,)) for count in (tile.rows, tile.columns)]
        self.shared = tuple([Array(kernel.shared(shape.byte_size), shape) for shape in shapes])

    # --- where elements lie ---

    def _offsets(self, number: ir.Value, axes: tuple[Axis, ...]) -> list[ir.Value]:
        """How far from the beginning of left operand, right operand and output the element of this number is, i64 each."""
        b = self.builder
        totals: list[ir.Value] = [I64(0)] * 3
        for position, axis in reversed(list(enumerate(axes))):
            if position == 0:
                part = number
            else:
                part, number = b.urem(number, number.type(axis.size)), b.udiv(number, number.type(axis.size))
            part = wide(b, part)
            for side, step in enumerate(axis.steps):
                if step:
                    totals[side] = b.add(totals[side], b.mul(part, I64(step)))
        return totals

    def _places(self, side: int, count: int, first: ir.Value, axes: tuple[Axis, ...], size: int):
        """For each element that the thread fetches of an operand's tile: its row or column in the tile, its term, how far it is
        from the operand's beginning but for the term, and whether there is such a row or column.
        """
        b, terms = self.builder, self.tile.terms
        innermost = self.product.terms[-1].steps[side] if self.product.terms else 0
        along_terms = innermost == 1 or not axes or abs(axes[-1].steps[side]) > abs(innermost) > 0
        places = []
        for number in range(-(-count * terms // THREADS)):
            position = b.add(self.thread, I32(number * THREADS))
            if along_terms:
                line, term = b.udiv(position, I32(terms)), b.urem(position, I32(terms))
            else:
                line, term = b.urem(position, I32(count)), b.udiv(position, I32(count))
            place = b.add(first, line)
            is_inside = b.icmp_unsigned("<", place, I32(size))
            within = b.select(is_inside, place, I32(max(size - 1, 0)))
            base = b.add(self._offsets(within, axes)[side], self.batch[side])
            is_used = b.icmp_unsigned("<", position, I32(count * terms)) if count * terms % THREADS else None
            places.append((line, term, base, is_inside, is_used))
        return places

    # --- the steps ---

    def emit(self) -> None:
        b, tile = self.builder, self.tile
        height, width = tile.rows // _SIDE, tile.columns // _SIDE
        zero = _zero(self.element_type)
        sums: list[RegisterValue] = [zero] * (height * width)
        if self.terms:
            fetched = self._fetch(I32(0))
            count = -(-self.terms // tile.terms)

            def step(number: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
                kept, totals = carried[: len(fetched)], carried[len(fetched) :]
                self._share(kept)
                self.kernel.barrier()
                following = self._fetch(b.mul(b.trunc(b.add(number, I64(1)), I32), I32(tile.terms)))
                totals = self._multiply(totals, height, width)
                self.kernel.barrier()
                return [*following, *totals]

            sums = carried_loop(b, 0, count, 1, [*fetched, *sums], step, "tiles")[len(fetched) :]
        self._store(sums, height, width)

    def _fetch(self, first_term: ir.Value) -> list[RegisterValue]:
        """This thread's elements of both tiles, zero outside of the operands."""
        return [value for side in (0, 1) for value in self._fetched(side, first_term)]

    def _fetched(self, side: int, first_term: ir.Value) -> list[RegisterValue]:
        b, array = self.builder, self.operands[side]
        flat = Array(array.pointer, Shape(array.shape.element_type, (max(1, array.shape.size),)))
        values = []
        for _, term, base, is_inside, _ in self.loads[side]:
            number = b.add(first_term, term)
            is_term = b.icmp_unsigned("<", number, I32(self.terms))
            within = b.select(is_term, number, I32(max(self.terms - 1, 0)))
            offset = b.add(base, self._offsets(within, self.product.terms)[side])
            value = self._converted(flat.load(b, (Affine(offset),), 1), array.shape.element_type)
            values.append(_select(b, b.and_(is_inside, is_term), value, _zero(self.element_type)))
        return values

    def _converted(self, value: RegisterValue, element_type: ElementType) -> RegisterValue:
        if element_type is self.element_type:
            return value
        return convert_value(ElementwiseContext(self.builder, self.instruction, 1), value, element_type, self.element_type)

    def _share(self, values: list[RegisterValue]) -> None:
        b, following = self.builder, iter(values)
        for side, count in ((0, self.tile.rows), (1, self.tile.columns)):
            for line, term, _, _, is_used in self.loads[side]:
                value, place = next(following), b.add(b.mul(term, I32(count)), line)
                if is_used is None:
                    self.shared[side].store(b, (Affine(wide(b, place)),), value, 1)
                else:
                    with b.if_then(is_used):
                        self.shared[side].store(b, (Affine(wide(b, place)),), value, 1)

    def _multiply(self, totals: list[RegisterValue], height: int, width: int) -> list[RegisterValue]:
        totals = list(totals)
        row, column = self._own_row(), self._own_column()
        for term in range(self.tile.terms):
            left = self._line(0, term, row, height)
            right = self._line(1, term, column, width)
            for i in range(height):
                for j in range(width):
                    totals[i * width + j] = self._multiply_add(left[i], right[j], totals[i * width + j])
        return totals

    def _line(self, side: int, term: int, first: ir.Value, count: int) -> list[RegisterValue]:
        """The elements of a term that this thread's rows or columns have: runs of four, as they are loaded at once."""
        b, lines = self.builder, (self.tile.rows, self.tile.columns)[side]
        values = []
        for run, length in _runs(count):
            place = b.add(I32(term * lines + run * _SIDE), b.mul(first, I32(length)))
            values += self._loaded(side, wide(b, place), length)
        return values

    def _loaded(self, side: int, place: ir.Value, length: int) -> list[RegisterValue]:
        b, shared = self.builder, self.shared[side]
        if length == 1 or self.element_type.is_complex or self.element_type.kind == "pred":
            return [shared.load(b, (Affine(b.add(place, I64(number))),), 1) for number in range(length)]
        align = min(16, length * self.shared_type.byte_size)
        array = Array(shared.pointer, shared.shape, vector_alignment=align)
        vector = array.load(b, (Affine(place, 1),), length)
        return [b.extract_element(vector, I32(number)) for number in range(length)]

    def _own_row(self) -> ir.Value:
        return self.builder.udiv(self.thread, I32(_SIDE))

    def _own_column(self) -> ir.Value:
        return self.builder.urem(self.thread, I32(_SIDE))

    def _multiply_add(self, left: RegisterValue, right: RegisterValue, total: RegisterValue) -> RegisterValue:
        b, kind = self.builder, self.element_type.kind
        if kind == "float":
            return multiply_add(b, left, right, total)
        if kind == "complex":
            real = multiply_add(b, left.real, right.real, total.real)
            imag = multiply_add(b, left.real, right.imag, total.imag)
            return ComplexValue(
                multiply_add(b, b.fneg(left.imag), right.imag, real), multiply_add(b, left.imag, right.real, imag)
            )
        if kind == "pred":
            return b.or_(total, b.and_(left, right))
        return b.add(total, b.mul(left, right))

    def _store(self, sums: list[RegisterValue], height: int, width: int) -> None:
        b = self.builder
        flat = Array(self.output.pointer, Shape(self.element_type, (max(1, self.output.shape.size),)))
        columns = [self._numbered(self.first_column, self._own_column(), width, number) for number in range(width)]
        of_columns = [self._offsets(column, self.product.columns)[2] for column in columns]
        for i in range(height):
            row = self._numbered(self.first_row, self._own_row(), height, i)
            with b.if_then(b.icmp_unsigned("<", row, I32(self.rows))):
                start = b.add(self._offsets(row, self.product.rows)[2], self.batch[2])
                for j, (column, offset) in enumerate(zip(columns, of_columns)):
                    with b.if_then(b.icmp_unsigned("<", column, I32(self.columns))):
                        value = sums[i * width + j]
                        if not self.element_type.is_complex:
                            value = round_to_type(b, self.element_type, value)
                        flat.store(b, (Affine(b.add(start, offset)),), value, 1)

    def _numbered(self, first: ir.Value, own: ir.Value, count: int, number: int) -> ir.Value:
        """The row or column of a thread's sum with this number."""
        b, passed = self.builder, 0
        for run, length in _runs(count):
            if number < passed + length:
                return b.add(b.add(first, I32(run * _SIDE + number - passed)), b.mul(own, I32(length)))
            passed += length
        raise AssertionError(number)


def _runs(count: int) -> list[tuple[int, int]]:
    """Where the runs of a thread's rows or columns begin, of ``count`` a thread, and how long they are: four at most."""
    return [(start, min(4, count - start)) for start in range(0, count, 4)]


def _zero(element_type: ElementType) -> RegisterValue:
    type_ = register_type(element_type, 1)
    if element_type.is_complex:
        return ComplexValue(constant(type_, 0.0), constant(type_, 0.0))
    return constant(type_, 0.0) if element_type.is_float else integer_constant(type_, 0)


def _select(b: ir.IRBuilder, condition: ir.Value, value: RegisterValue, other: RegisterValue) -> RegisterValue:
    if isinstance(value, ComplexValue):
        return ComplexValue(*[b.select(condition, one, zero) for one, zero in zip(value, other)])
    return b.select(condition, value, other)


@emits("dot")
def dot(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    output = frame.output(instruction)
    if instruction.shape.size:
        operands = tuple([frame.stored(values[operand][0]) for operand in instruction.operands])
        shapes = [operand.shape for operand in operands]
        product = product_of(contraction_of(instruction), tuple(map(element_strides, (*shapes, output.shape))))
        launch_product(frame, instruction, product, operands, output)
    return [output]


def _is_plain(convolution: Instruction) -> bool:
    """Whether it is not empty, and has no padding, base dilation or reversal."""
    window = convolution.attributes["window"]
    plain = all(d == WindowDimension(d.size, d.stride, window_dilation=d.window_dilation) for d in window)
    return bool(convolution.shape.size) and plain


@emits("convolution", is_native=_is_plain)
def convolution(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """A contraction of views of its operands."""
    output = frame.output(instruction)
    views = convolution_views(instruction)
    operands = [frame.stored(values[operand][0]) for operand in instruction.operands]
    operands = operands if views.base_is_left else operands[::-1]
    steps = tuple([tuple(view.steps) for view in (views.left, views.right, views.output)])
    launch_product(frame, instruction, product_of(views.contraction, steps), tuple(operands), output)
    return [output]
