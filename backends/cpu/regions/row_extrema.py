"""Where the largest or smallest element of a row is: the extremum first, block by block, then its place in a block.

In each lane the extremum of a block and the block's number take the place of an element and its place: one comparison with the
extremum so far for all elements of a lane in the block. Only the block with the extremum of all is looked at again.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

from llvmlite import ir

from ....compile.placed_extrema import finds_largest
from ....hlo import F32, F64, Computation
from ....hlo.ops.elementwise import MAXIMUM, MINIMUM
from ...llvm import index as indices
from ...llvm.arithmetic import any_lane
from ...llvm.elemental import ElementalEmitter
from ...llvm.index import Affine, Base, Component
from ...llvm.loops import carried_loop
from ...llvm.pieces import piece_bounds
from ...llvm.reductions import Fold, Reduction, is_divided, splat_identity
from ...llvm.scalar_control_flow import has_control_flow
from ...llvm.types import I1, I64, RegisterValue, broadcast_lanes, register_bytes, scalar_register_type
from ..nest_samples import samples
from ..target import Target
from ..vectors import combined_lanes

# Shorter rows take less time with the places beside the elements.
_LEAST_ELEMENTS = 256
# Vectors of a block, and of partial results in it, so that one comparison need not wait for another.
_BLOCK_VECTORS, _PARTIAL_VECTORS = 8, 4
# The bits of a mask that is searched at once.
_MASK_BITS = 64
# What is computed again in a block that is searched costs so much for an element, in cheap instructions.
_MOST_COST = 4.0
# Vectors of fewer bytes have no masks that are quickly made bits, and portable code none at all.
_LEAST_VECTOR_BYTES = 32


class RowExtremum(NamedTuple):
    """How the first place of an extremum in a row is found, in ``lanes`` of elements alone."""

    is_largest: bool
    lanes: int

    @classmethod
    def of(cls, target: Target, reduction: Reduction) -> RowExtremum | None:
        last = len(reduction.dimensions) - 1
        if reduction.count != 2 or reduction.reduced != (last,) or last in reduction.stops:
            return None
        element, place = reduction.operands
        if place.opcode != "iota" or place.attributes["iota_dimension"] != last or not _is_computed_again(reduction.producers):
            return None
        if reduction.dimensions[last] < _LEAST_ELEMENTS or target.vector_bytes < _LEAST_VECTOR_BYTES or target.is_portable:
            return None
        element_type, is_largest = element.shape.element_type, finds_largest(reduction.to_apply)
        if is_largest is None or not (element_type in (F32, F64) or element_type.is_integer and element_type.bits >= 8):
            return None
        shapes = [i.shape for i in reduction.producers.instructions if not i.shape.is_tuple and i is not place]
        lanes = target.lanes(max(register_bytes(shape.element_type) for shape in shapes))
        return cls(is_largest, lanes) if 1 < lanes <= _MASK_BITS else None

    @samples(
        """
        x = f32[3,1003] parameter(0)
        place = s32[3,1003] iota(), iota_dimension=1
        least = f32[] constant(-inf)
        none = s32[] constant(2147483647)
        ROOT most = (f32[3], s32[3]) reduce(x, place, least, none), dimensions={1}, to_apply=first_of_largest
        """,
        """
        x = s8[5000] parameter(0)
        y = s8[5000] abs(x)
        place = s64[5000] iota(), iota_dimension=0
        most = s8[] constant(127)
        none = s64[] constant(9223372036854775807)
        ROOT least = (s8[], s64[]) reduce(y, place, most, none), dimensions={0}, to_apply=first_of_smallest
        """,
        calls="""first_of_largest {
          x = f32[] parameter(0)
          i = s32[] parameter(1)
          y = f32[] parameter(2)
          j = s32[] parameter(3)
          more = pred[] compare(x, y), direction=GT
          nan = pred[] compare(x, x), direction=NE
          is_more = pred[] or(more, nan)
          same = pred[] compare(x, y), direction=EQ
          other = pred[] compare(y, y), direction=NE
          both = pred[] and(nan, other)
          equal = pred[] or(same, both)
          earlier = pred[] compare(i, j), direction=LT
          not_more = pred[] not(other)
          only = pred[] and(is_more, not_more)
          tie = pred[] and(equal, earlier)
          better = pred[] or(only, tie)
          z = f32[] select(better, x, y)
          k = s32[] select(better, i, j)
          ROOT r = (f32[], s32[]) tuple(z, k)
        }
        first_of_smallest {
          x = s8[] parameter(0)
          i = s64[] parameter(1)
          y = s8[] parameter(2)
          j = s64[] parameter(3)
          less = pred[] compare(x, y), direction=LT
          same = pred[] compare(x, y), direction=EQ
          earlier = pred[] compare(i, j), direction=LT
          tie = pred[] and(same, earlier)
          better = pred[] or(less, tie)
          z = s8[] select(better, x, y)
          k = s64[] select(better, i, j)
          ROOT r = (s8[], s64[]) tuple(z, k)
        }""",
    )
    def find(self, builder: ir.IRBuilder, reduction: Reduction, index: dict[int, Component]) -> list[RegisterValue]:
        """The extremum and its first place in the row, or in the part of it that belongs to the piece."""
        rank = len(reduction.dimensions)
        place = _Search(builder, self, reduction, index).first_place()
        return reduction.elements(builder, tuple(index.get(d, Affine(place)) for d in range(rank)), 1)


def _is_computed_again(producers: Computation) -> bool:
    """Whether elements cost little, and come out the same in other code: without a product and a sum that one may round."""
    opcodes = {instruction.opcode for instruction in producers.instructions}
    cost = sum(instruction.operation.cost or 0 for instruction in producers.instructions)
    may_contract = "multiply" in opcodes and not opcodes.isdisjoint(("add", "subtract"))
    return cost <= _MOST_COST and not may_contract and not has_control_flow([producers])


class _Search:
    """The blocks of one row, of so many elements; the last one may overlap the one before."""

    def __init__(self, builder: ir.IRBuilder, extremum: RowExtremum, reduction: Reduction, index: dict[int, Component]) -> None:
        self.builder, self.reduction, self.index = builder, reduction, index
        self.is_largest, self.lanes = extremum
        self.type = reduction.operands[0].shape.element_type
        self.size = reduction.dimensions[-1]
        self.vectors = min(_BLOCK_VECTORS, self.size // self.lanes)

    def first_place(self) -> ir.Value:
        """In each lane the extremum of the blocks so far, with the number of the block, are reduced as elements with places."""
        b, reduction, last = self.builder, self.reduction, len(self.reduction.dimensions) - 1
        blocks = -(-self.size // (self.vectors * self.lanes))
        first, stop, most = piece_bounds(b, blocks) if is_divided(reduction, last) else (0, blocks, blocks)
        fold = Fold(b, reduction, self.lanes, in_order=last)

        def block(number: ir.Value, state: list[RegisterValue]) -> list[RegisterValue]:
            return fold.step(state, [self._extremum(self._start(number)), self._number(number)])

        state = carried_loop(b, first, stop, 1, [self._worst(), self._number(indices.i64(first))], block, "block", most)
        value, number = self._of_all_lanes(*state)
        return self._place(value, self._start(number if number.type == I64 else b.zext(number, I64)))

    def _of_all_lanes(self, values: ir.Value, numbers: ir.Value) -> list[ir.Value]:
        """The extremum of all lanes, and the first block that has it."""
        b = self.builder
        (value,) = combined_lanes(b, [values], self.lanes, lambda low, high, _: [self._better(*low, *high)])
        if self.type.is_float:
            is_nan = any_lane(b, b.fcmp_unordered("uno", values, values))
            value = b.select(is_nan, splat_identity(self.type, float("nan"), 1), value)
        none = ir.Constant(numbers.type, [numbers.type.element((1 << numbers.type.element.width - 1) - 1)] * self.lanes)
        numbers = b.select(self._is_same(values, broadcast_lanes(b, value, self.lanes)), numbers, none)

        def least(low: list[ir.Value], high: list[ir.Value], _: int) -> list[ir.Value]:
            return [b.select(b.icmp_signed("<", *low, *high), *low, *high)]

        return [value, *combined_lanes(b, [numbers], self.lanes, least)]

    def _start(self, number: Base) -> Base:
        """The first element of a block."""
        length = self.vectors * self.lanes
        return indices.least(self.builder, indices.multiply_base(self.builder, number, length), self.size - length)

    def _number(self, number: ir.Value) -> ir.Value:
        """The number of a block in the type of places, in all lanes."""
        scalar = scalar_register_type(self.reduction.operands[1].shape.element_type)
        number = number if number.type == scalar else self.builder.trunc(number, scalar)
        return broadcast_lanes(self.builder, number, self.lanes)

    def _worst(self) -> RegisterValue:
        """What no element is worse than."""
        operation = MAXIMUM if self.is_largest else MINIMUM
        return splat_identity(self.type, operation.identity(self.type), self.lanes)

    def _extremum(self, start: Base) -> ir.Value:
        """That of a block, in each lane: one of those that are equal, or NaN."""
        b = self.builder
        elements = [self._elements(indices.add_base(b, start, k * self.lanes)) for k in range(self.vectors)]
        found, others = elements[:_PARTIAL_VECTORS], elements[_PARTIAL_VECTORS:]
        for k, element in enumerate(others):
            found[k % len(found)] = self._better(element, found[k % len(found)])
        best = reduce(self._better, found)
        if not self.type.is_float:
            return best
        are_nan = reduce(b.or_, (b.fcmp_unordered("uno", *pair) for pair in _in_pairs(elements)))
        return b.select(are_nan, splat_identity(self.type, float("nan"), self.lanes), best)

    def _elements(self, start: Base) -> ir.Value:
        rank = len(self.reduction.dimensions)
        place = tuple(self.index.get(d, Affine(start, 1)) for d in range(rank))
        return ElementalEmitter(self.builder, self.lanes, self.reduction.bindings).emit(self.reduction.operands[0], place)

    def _better(self, one: ir.Value, other: ir.Value) -> ir.Value:
        """The second of two that are equal, or where one is NaN."""
        b, relation = self.builder, ">" if self.is_largest else "<"
        if self.type.is_float:
            is_better = b.fcmp_ordered(relation, one, other)
        else:
            is_better = (b.icmp_signed if self.type.kind == "signed" else b.icmp_unsigned)(relation, one, other)
        return b.select(is_better, one, other)

    def _place(self, value: ir.Value, start: Base) -> ir.Value:
        """The first element in a block that equals the value, or is NaN as that is."""
        b, at_once = self.builder, min(_MASK_BITS // self.lanes, self.vectors)
        wanted, word = broadcast_lanes(b, value, self.lanes), ir.IntType(self.lanes)
        place = start
        # No branches, of which the processor would have to guess which is taken.
        for first in reversed(range(0, self.vectors, at_once)):
            words = []
            for k in range(first, min(first + at_once, self.vectors)):
                elements = self._elements(indices.add_base(b, start, k * self.lanes))
                mask = b.zext(b.bitcast(self._is_same(elements, wanted), word), I64)
                words.append(b.shl(mask, I64((k - first) * self.lanes)))
            found = reduce(b.or_, words)
            here = b.add(b.cttz(found, I1(0)), indices.i64(indices.add_base(b, start, first * self.lanes)))
            place = b.select(b.icmp_unsigned("!=", found, I64(0)), here, indices.i64(place))
        return indices.i64(place)

    def _is_same(self, elements: ir.Value, wanted: ir.Value) -> ir.Value:
        b = self.builder
        if not self.type.is_float:
            return b.icmp_unsigned("==", elements, wanted)
        both = b.and_(b.fcmp_unordered("uno", elements, elements), b.fcmp_unordered("uno", wanted, wanted))
        return b.or_(b.fcmp_ordered("==", elements, wanted), both)


def _in_pairs(values: list[ir.Value]) -> list[tuple[ir.Value, ir.Value]]:
    """All values in pairs, the last one with itself where their number is odd."""
    return list(zip(values[::2], values[1::2] if len(values) % 2 == 0 else [*values[1::2], values[-1]]))
