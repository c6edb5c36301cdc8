"""What sorting compares: records of a few components each, and which of two records comes first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

from ....compile.comparators import SortKey, sort_key
from ....hlo import U8, U16, U32, U64, Computation, Instruction, Shape
from ...llvm.arithmetic import of_width
from ...llvm.arrays import Array
from ...llvm.index import Affine
from ...llvm.scalar_computations import emit_scalar_computation
from ...llvm.sort_key import order_bits, order_of_values, value_of_order
from ...llvm.types import I32, I64, ComplexValue, RegisterValue, from_memory, memory_type, scalar_register_type
from ..kernel import of_shape

Record = list[RegisterValue]

_UNSIGNED = {8: U8, 16: U16, 32: U32, 64: U64}
_PADDING = -1  # the position of what stands behind the end of a line


@dataclass(frozen=True, eq=False)
class SortOrder:
    """``shapes`` are those of a record's components, scalars. ``less(builder, x, y)`` is a strict order of all records, in
    which ``padding(builder)`` is the last. ``is_consistent`` says that it is one whatever the elements are: a comparator may
    be none.
    """

    shapes: tuple[Shape, ...]
    less: Callable[[ir.IRBuilder, Record, Record], ir.Value]
    padding: Callable[[ir.IRBuilder], Record]
    is_consistent: bool = True

    @property
    def record_bytes(self) -> int:
        return sum(shape.byte_size for shape in self.shapes)


def order_of_numbers(bits: int, has_positions: bool) -> SortOrder:
    """The order of unsigned integers of so many bits, those that are equal by their positions."""
    shapes = (Shape(_UNSIGNED[bits]), Shape(U32)) if has_positions else (Shape(_UNSIGNED[bits]),)

    def less(b: ir.IRBuilder, x: Record, y: Record) -> ir.Value:
        first = b.icmp_unsigned("<", x[0], y[0])
        if not has_positions:
            return first
        same = b.icmp_unsigned("==", x[0], y[0])
        return b.or_(first, b.and_(same, b.icmp_unsigned("<", x[1], y[1])))

    integer = ir.IntType(bits)
    greatest = [integer((1 << bits) - 1), I32(_PADDING)]
    return SortOrder(shapes, less, lambda b: greatest[: len(shapes)])


def _order_by_comparator(comparator: Computation, components: tuple[int, ...]) -> SortOrder:
    """A comparator's order of the operands that it compares; what it finds equal is ordered by the position behind these."""
    parameters = comparator.parameters
    shapes = (*(parameters[2 * number].shape for number in components), Shape(U32))

    def holds(b: ir.IRBuilder, x: Record, y: Record) -> ir.Value:
        arguments: list[RegisterValue] = [zero_of(parameter.shape) for parameter in parameters]
        for place, number in enumerate(components):
            arguments[2 * number], arguments[2 * number + 1] = x[place], y[place]
        (result,) = emit_scalar_computation(b, comparator, arguments, 1)
        return result

    def less(b: ir.IRBuilder, x: Record, y: Record) -> ir.Value:
        first, second = holds(b, x, y), holds(b, y, x)
        earlier = b.icmp_unsigned("<", x[-1], y[-1])
        before = b.or_(first, b.and_(b.not_(second), earlier))
        is_last, other_is_last = (b.icmp_unsigned("==", one[-1], I32(_PADDING)) for one in (x, y))
        return b.and_(b.not_(is_last), b.or_(other_is_last, before))

    def padding(b: ir.IRBuilder) -> Record:
        return [*map(zero_of, shapes[:-1]), I32(_PADDING)]

    return SortOrder(shapes, less, padding, is_consistent=False)


def zero_of(shape: Shape) -> RegisterValue:
    """A zero in registers."""
    scalar = scalar_register_type(shape.element_type)
    zero = scalar(0.0) if isinstance(scalar, ir.FloatType | ir.DoubleType) else scalar(0)
    return ComplexValue(zero, zero) if shape.element_type.is_complex else zero


@dataclass(frozen=True, eq=False)
class SortedRecords:
    """How the operands of a sort become records, and records its results; the positions are one of those where it
    ``returns_positions``. The operands with these numbers are the positions themselves.
    """

    order: SortOrder
    key: SortKey | None
    components: tuple[int, ...]
    has_positions: bool
    returns_positions: bool = False
    positions: tuple[int, ...] = ()

    @property
    def key_bits(self) -> int | None:
        """The bits of the number that orders records, None where it is no number."""
        return None if self.key is None else max(8, self.key.element_type.bits)

    def load(self, b: ir.IRBuilder, operands: list[Array], place: ir.Value, position: ir.Value) -> Record:
        """The record of the elements at a place of the operands, flat, whose position in its line is given: i64, i32."""
        if self.key is None:
            return [*(operands[number].load(b, (Affine(place),), 1) for number in self.components), position]
        integer = ir.IntType(self.key_bits)
        address = operands[self.key.operand].address(b, (Affine(place),))
        bits = b.load(address, typ=integer, align=self.key_bits // 8)
        if not self.has_positions:
            return [order_of_values(b, self.key, bits)]
        return [order_bits(b, self.key, bits), position]

    def elements(
        self, b: ir.IRBuilder, record: Record, operands: list[Array], place_of: Callable[[ir.Value], ir.Value]
    ) -> list[RegisterValue | ir.Value]:
        """What the results hold for a record: elements that it has itself, or that lie where its position says."""
        if not self.has_positions:
            return [value_of_order(b, self.key, record[0])]
        known = {} if self.key is not None else dict(zip(self.components, record))
        if self.key is not None and not self.key.zeros_equal:
            known[self.key.operand] = _value(b, self.key, record[0])
        for number in self.positions:
            known[number] = of_width(b, record[-1], scalar_register_type(operands[number].shape.element_type))
        place = None
        found = []
        for number, operand in enumerate(operands):
            if number not in known and place is None:
                place = place_of(record[-1])
            found.append(known[number] if number in known else operand.load(b, (Affine(place),), 1))
        return [*found, record[-1]] if self.returns_positions else found

    def store(self, b: ir.IRBuilder, outputs: list[Array], place: ir.Value, elements: list) -> None:
        if self.has_positions:
            for output, value in zip(outputs, elements):
                output.store(b, (Affine(place),), value, 1)
        else:
            b.store(elements[0], outputs[0].address(b, (Affine(place),)), align=self.key_bits // 8)


def _value(b: ir.IRBuilder, key: SortKey, order: ir.Value) -> RegisterValue:
    """The element whose bits order as this number."""
    bits, memory = value_of_order(b, key, order), memory_type(key.element_type)
    return from_memory(b, key.element_type, bits if bits.type == memory else b.bitcast(bits, memory))


def _is_position(operand: Instruction, along: int) -> bool:
    """Whether elements are their positions in the lines, and fit their type."""
    element_type, sizes = operand.shape.element_type, operand.shape.dimensions
    is_iota = operand.opcode == "iota" and operand.attributes["iota_dimension"] == along
    return is_iota and element_type.is_integer and element_type.bits >= 8 and sizes[along] <= 1 << (element_type.bits - 1)


def records_of(sort: Instruction) -> SortedRecords:
    """The records of a sort: keys where its comparator is known to order by one."""
    comparator, (along,) = sort.attributes["to_apply"], sort.attributes["dimensions"]
    positions = tuple(n for n, operand in enumerate(sort.operands) if _is_position(operand, along))
    key = sort_key(comparator)
    if key is not None:
        has_positions = len(sort.operands) > 1 or key.zeros_equal and sort.attributes["is_stable"]
        order = order_of_numbers(max(8, key.element_type.bits), has_positions)
        return SortedRecords(order, key, (key.operand,), has_positions, positions=positions)
    used = {operand for instruction in comparator.instructions for operand in instruction.operands}
    used.add(comparator.root)
    pairs = range(len(comparator.parameters) // 2)
    components = tuple(n for n in pairs if not used.isdisjoint(comparator.parameters[2 * n : 2 * n + 2]))
    return SortedRecords(_order_by_comparator(comparator, components), None, components, True, positions=positions)


def records_of_key(key: SortKey) -> SortedRecords:
    """The records of an operand that is sorted by a key, whose results are its elements and their positions."""
    return SortedRecords(
        order_of_numbers(max(8, key.element_type.bits), True), key, (key.operand,), True, returns_positions=True
    )


@dataclass(frozen=True)
class Lines:
    """The lines along a dimension of arrays: ``outer`` times ``inner`` of them, of so many elements."""

    outer: int
    size: int
    inner: int

    @property
    def count(self) -> int:
        return self.outer * self.inner

    def place(self, b: ir.IRBuilder, line: ir.Value, position: ir.Value) -> ir.Value:
        """The number of an element in the array, i64, by those of its line and its position there, i32."""
        number = I32 if self.count * self.size < 1 << 31 else I64
        line, position = (value if value.type == number else b.zext(value, number) for value in (line, position))
        if self.inner == 1:
            place = b.add(b.mul(line, number(self.size)), position)
        else:
            outer, inner = b.udiv(line, number(self.inner)), b.urem(line, number(self.inner))
            place = b.add(b.mul(b.add(b.mul(outer, number(self.size)), position), number(self.inner)), inner)
        return place if number is I64 else b.zext(place, I64)


def flat(array: Array) -> Array:
    return of_shape(array, array.shape.with_dimensions((array.shape.size,)))
