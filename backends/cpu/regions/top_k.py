"""The top-k region: the few best elements of each line, found in one pass.

The best so far stand in order in a short list; a vector of elements is looked at closely only where one of them beats the last
of the list, which soon becomes rare. Of a long line some vectors are looked at before all others: what is not among the best of
these is not among the best of all, so that it is rare in lines that are in order already, too.
"""

from __future__ import annotations

from llvmlite import ir

from ....compile.comparators import SortKey
from ....hlo import Instruction, Shape
from ...llvm.arithmetic import any_lane
from ...llvm.arrays import Array
from ...llvm.index import Affine, Index, i64
from ...llvm.loops import counted_loop, while_loop
from ...llvm.memory import stack_memory
from ...llvm.pieces import independent_loops
from ...llvm.sort_key import order_bits
from ...llvm.types import I32, I64, broadcast_lanes, vector_of
from ..nest_samples import samples
from ..nests import Nest, always, emits_nest

# As many are kept in a list by insertion; and of no fewer than this many times as many elements.
_FEW = 128
_OF_MANY = 4
# One vector in so many is looked at before, at most, and at least where that is done at all; of some times as many elements.
_MOST_LEFT_OUT, _LEAST_LEFT_OUT = 64, 8


def is_native(topk: Instruction) -> bool:
    """Whether a few of many elements are wanted, of a type with an order that bytes have."""
    shape, k = topk.operands[0].shape, topk.attributes["k"]
    return 0 < k <= _FEW and k * _OF_MANY <= shape.dimensions[-1] and shape.element_type.has_order_of_bytes


@samples(
    """
    x = f32[5,1003] parameter(0)
    ROOT y = (f32[5,7], s32[5,7]) topk(x), k=7, largest=true
    """,
    """
    x = s16[40] parameter(0)
    ROOT y = (s16[10], s32[10]) topk(x), k=10, largest=false
    """,
    """
    x = s64[2,1007] parameter(0)
    ROOT y = (s64[2,20], s32[2,20]) topk(x), k=20, largest=true
    """,
)
@emits_nest("topk", is_native=is_native, divides=always)
def emit_top_k(nest: Nest) -> None:
    """The k best elements of each line of a row-major operand, and their positions; k is at least 1."""
    builder, target, topk = nest.builder, nest.target, nest.instruction
    (operand,), (elements, positions) = nest.operands, nest.outputs
    if operand.shape.size == 0:
        return
    b, k, (*outer, size) = builder, topk.attributes["k"], operand.shape.dimensions
    key = SortKey(0, operand.shape.element_type, topk.attributes["largest"], zeros_equal=False)
    integer = ir.IntType(max(8, key.element_type.bits))
    with b.goto_entry_block():
        best = stack_memory(b, k * integer.width // 8, 8)
        most = stack_memory(b, integer.width // 8, 8)
    with independent_loops(b, outer) as index:
        row, chosen, places = (_row(b, array, index) for array in (operand, elements, positions))
        line = _Line(b, key, integer, row, places, best, most)
        lanes, greatest = target.lanes(integer.width // 8), integer((1 << integer.width) - 1)
        b.store(greatest, most)
        stop = nest.stops.get(len(outer))
        one_in = min(_MOST_LEFT_OUT, size // (k * _OF_MANY))
        if one_in >= _LEAST_LEFT_OUT and stop is None:
            line.take(size, k, lanes, one_in)
            last = b.load(line.best_key(I64(k - 1)), typ=integer)
            # Others that equal the last one may be among the best.
            b.store(b.select(b.icmp_unsigned("==", last, greatest), last, b.add(last, integer(1))), most)
        line.take(size, k, lanes, stop=stop)
        with counted_loop(b, k, "chosen") as place:
            position = b.sext(line.places.load(b, (Affine(place),), 1), I64)
            chosen.store(b, (Affine(place),), line.operand.load(b, (Affine(position),), 1), 1)


class _Line:
    """One line of the operand with the list of its best keys, the smallest first, and their positions.

    All of these are smaller than a number in the memory ``most``, unless it is the greatest.
    """

    def __init__(
        self,
        builder: ir.IRBuilder,
        key: SortKey,
        integer: ir.IntType,
        operand: Array,
        places: Array,
        best: ir.Value,
        most: ir.Value,
    ) -> None:
        self.builder, self.key, self.integer = builder, key, integer
        self.operand, self.places, self.best, self.most = operand, places, best, most

    def take(self, size: int, k: int, lanes: int, one_in: int = 1, stop: ir.Value | None = None) -> None:
        """Make the list, from all elements, or those in front of a stop behind k, or from one vector of them in so many."""
        b = self.builder
        with counted_loop(b, k, "first") as position:
            self.insert(position, position)
        vectors, whole, left = (size - k) // lanes // one_in, None, None
        rest, begin = size - k - vectors * lanes, I64(k + vectors * lanes)
        if stop is not None:
            count = b.sub(stop, I64(k))
            whole, left = b.udiv(count, I64(lanes)), b.urem(count, I64(lanes))
            rest, begin = lanes if lanes > 1 else 0, b.sub(stop, left)
        if vectors:
            with counted_loop(b, vectors, "vectors", whole) as number:
                start = b.add(I64(k), b.mul(i64(number), I64(lanes * one_in)))
                with b.if_then(self.beats_last(start, k, lanes), likely=False), counted_loop(b, lanes, "lane") as lane:
                    self.insert_if_better(b.add(start, i64(lane)), k)
        if one_in == 1 and rest:
            with counted_loop(b, rest, "rest", left) as number:
                self.insert_if_better(b.add(begin, i64(number)), k)

    def keys(self, position: ir.Value, lanes: int) -> ir.Value:
        address = self.operand.address(self.builder, (Affine(position),))
        type_ = vector_of(self.integer, lanes)
        return order_bits(self.builder, self.key, self.builder.load(address, typ=type_, align=self.integer.width // 8))

    def best_key(self, place: ir.Value) -> ir.Value:
        return self.builder.gep(self.best, [place], source_etype=self.integer)

    def beats_last(self, position: ir.Value, k: int, lanes: int) -> ir.Value:
        """Whether one of the elements from a position on comes before the last of the list."""
        b = self.builder
        last, most = (b.load(address, typ=self.integer) for address in (self.best_key(I64(k - 1)), self.most))
        last = b.select(b.icmp_unsigned("<", last, most), last, most)
        keys = self.keys(position, lanes)
        return any_lane(b, b.icmp_unsigned("<", keys, broadcast_lanes(b, last, lanes)))

    def insert_if_better(self, position: ir.Value, k: int) -> None:
        with self.builder.if_then(self.beats_last(position, k, 1), likely=False):
            self.insert(position, I64(k - 1))

    def insert(self, position: ir.Value | int, last: ir.Value | int) -> None:
        """Put an element in its place in the list of last + 1, whose last one goes; behind those that it equals."""
        b, position = self.builder, i64(position)
        key = self.keys(position, 1)
        # It becomes rare, and so is not counted as many steps.
        with while_loop(b, [i64(last)], "insert", most=1) as loop:
            (place,) = loop.values
            loop.leave_unless(b.icmp_signed(">", place, I64(0)))
            before = b.sub(place, I64(1))
            other = b.load(self.best_key(before), typ=self.integer)
            loop.leave_unless(b.icmp_unsigned(">", other, key))
            b.store(other, self.best_key(place))
            self.places.store(b, (Affine(place),), self.places.load(b, (Affine(before),), 1), 1)
            loop.carry([before])
        b.store(key, self.best_key(place))
        self.places.store(b, (Affine(place),), b.trunc(position, I32), 1)


def _row(builder: ir.IRBuilder, array: Array, index: Index) -> Array:
    """One line along the last dimension of a row-major array."""
    address = array.address(builder, (*index, Affine(0)))
    return Array(address, Shape(array.shape.element_type, array.shape.dimensions[-1:]))
