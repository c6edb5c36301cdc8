"""The sort of one long line by several threads: keys are divided into buckets, which are sorted on their own.

A few keys of the line say where buckets end. Each thread counts how many keys of its part belong to each bucket, then moves
them there, behind those of the parts before, so that equal keys stay in order; and then sorts buckets. Source: W. D. Frazer and
A. C. McKellar, "Samplesort: a sampling approach to minimal storage tree sorting", 1970.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from llvmlite import ir

from ...llvm.arithmetic import all_lanes, count_lanes
from ...llvm.arrays import Array, masked_store
from ...llvm.index import ZERO, Affine, Base, Component, i64, least
from ...llvm.loops import carried_loop, while_loop
from ...llvm.memory import element_address, stack_memory
from ...llvm.pieces import independent_loop
from ...llvm.types import I1, I8, I32, I64, RegisterValue, broadcast_lanes, lane_numbers
from ..nest_samples import combining, samples
from ..nests import Nest
from ..quick_sort import emit_quick_sort
from ..vectors import compressed, compresses_lanes
from .vector_sort import Line, VectorSort

# Shorter lines are sorted by one thread.
LEAST_DIVIDED = 1 << 17
# Parts, buckets, and keys that are looked at for each of these.
_PARTS, _BUCKETS, _SAMPLES = 32, 8, 16
_COUNTS_BYTES = _PARTS * _BUCKETS * 8
_TABLE_BYTES = _COUNTS_BYTES + _PARTS * 8


def sample_sort_bytes(plan: VectorSort) -> int:
    """Memory for the keys twice, once with a vector more for each bucket, and for a table."""
    return plan.scratch_bytes + plan.arrays * _BUCKETS * 64 + _TABLE_BYTES


@samples(
    """
    x = s32[131100] parameter(0)
    ROOT y = s32[131100] sort(x), dimensions={0}, to_apply=compare_s32
    """,
    """
    x = s16[1,131083] parameter(0)
    i = s32[1,131083] parameter(1)
    ROOT y = (s16[1,131083], s32[1,131083]) sort(x, i), dimensions={1}, is_stable=true, to_apply=greater
    """,
    # Keys that leave no room for positions.
    """
    x = s64[131083] parameter(0)
    i = s16[131083] parameter(1)
    ROOT y = (s64[131083], s16[131083]) sort(x, i), dimensions={0}, is_stable=true, to_apply=greater_s64
    """,
    calls=combining("compare", "s32[]", "pred[]", ", direction=LT")
    + """greater {
      a = s16[] parameter(0)
      b = s16[] parameter(1)
      i = s32[] parameter(2)
      j = s32[] parameter(3)
      ROOT z = pred[] compare(a, b), direction=GT
    }
    greater_s64 {
      a = s64[] parameter(0)
      b = s64[] parameter(1)
      i = s16[] parameter(2)
      j = s16[] parameter(3)
      ROOT z = pred[] compare(a, b), direction=GT
    }""",
)
def emit_phase(nest: Nest, plan: VectorSort, phase: Callable[[SampleSort], None]) -> bool:
    """Emit what threads do at one time, a method of `SampleSort`; whether the processor can, and the whole line is sorted."""
    is_possible = compresses_lanes(nest.target) and not nest.stops
    if is_possible:
        phase(SampleSort(nest, plan))
    return is_possible


class SampleSort:
    """Emits what the threads do, one after the other: ``count``, ``move``, and ``sort``."""

    def __init__(self, nest: Nest, plan: VectorSort) -> None:
        self.nest, self.plan, self.builder = nest, plan, nest.builder
        self.lanes = nest.target.lanes(plan.bits // 8)
        self.line = Line(nest.builder, plan, self.lanes, plan.size)
        self.key, b = ir.IntType(plan.bits), nest.builder
        sizes = [plan.array_bytes] * plan.arrays + [plan.array_bytes + _BUCKETS * 64] * plan.arrays
        offsets = [_TABLE_BYTES + sum(sizes[:number]) for number in range(len(sizes))]
        memory = [b.gep(nest.scratch, [I64(offset)], source_etype=I8) for offset in offsets]
        # Keys are read into ``spare``, which has more room, and moved to ``arrays``.
        self.arrays, self.spare = memory[: plan.arrays], memory[plan.arrays :]
        self.vectors = -(-plan.size // self.lanes)

    def _at(self, component: Component) -> tuple[Component, ...]:
        (dimension,) = self.nest.instruction.attributes["dimensions"]
        return tuple(component if d == dimension else ZERO for d in range(self.nest.outputs[0].shape.rank))

    def _pivots(self) -> list[ir.Value]:
        """The least keys of the buckets but for the first, in vectors: keys at equal distances, sorted, say them."""
        b, lanes, count = self.builder, self.lanes, _BUCKETS * _SAMPLES
        size = (count + lanes) * self.key.width // 8
        sample, scratch = (stack_memory(b, size, 64) for _ in range(2))
        distance = self.plan.size // count
        for first in range(0, count, lanes):
            key, *_ = self.line.record(self._key_operand, self._at, Affine(first * distance, distance), None)
            b.store(key, element_address(b, sample, I64(first), self.key), align=self.key.width // 8)
        emit_quick_sort(b, self.nest.target, self.plan.bits, [sample], [scratch], I64(count))
        pivots = (element_address(b, sample, I64(number * _SAMPLES), self.key) for number in range(1, _BUCKETS))
        return [broadcast_lanes(b, b.load(pivot, typ=self.key), lanes) for pivot in pivots]

    @property
    def _key_operand(self) -> Array:
        return self.nest.operands[self.plan.key.operand]

    def _inside(self, place: ir.Value, end: Base) -> ir.Value:
        """The lanes from a place on that are in front of the end."""
        return self.builder.icmp_signed(
            "<", lane_numbers(I64, self.lanes), broadcast_lanes(self.builder, self.builder.sub(i64(end), place), self.lanes)
        )

    def _reached(self, keys: ir.Value, pivots: list[ir.Value], inside: ir.Value) -> list[ir.Value]:
        """For each bucket the lanes whose keys are in it or in a later one."""
        b = self.builder
        return [inside, *(b.and_(inside, b.icmp_unsigned(">=", keys, pivot)) for pivot in pivots)]

    def _number(self, mask: ir.Value) -> ir.Value:
        return count_lanes(self.builder, mask, I64)

    def _each_part(self, body: Callable[[ir.Value, ir.Value, ir.Value], None]) -> None:
        """``body(part, first vector, end)``."""
        b, size = self.builder, -(-self.vectors // _PARTS)
        with independent_loop(b, _PARTS, "part") as part:
            first = b.mul(i64(part), I64(size))
            body(i64(part), first, least(b, b.add(first, I64(size)), self.vectors))

    def _entry(self, part: ir.Value, bucket: ir.Value) -> ir.Value:
        b = self.builder
        return element_address(b, self.nest.scratch, b.add(b.mul(part, I64(_BUCKETS)), bucket), I64)

    def _flag(self, part: ir.Value) -> ir.Value:
        """The place of a number that is not 0 where the keys of a part, and the one behind it, are in order."""
        b = self.builder
        return element_address(b, b.gep(self.nest.scratch, [I64(_COUNTS_BYTES)], source_etype=I8), part, I64)

    def _are_all_in_order(self) -> ir.Value:
        b = self.builder

        def add(part: ir.Value, flags: list[RegisterValue]) -> list[RegisterValue]:
            return [b.and_(flags[0], b.load(self._flag(part), typ=I64))]

        (flag,) = carried_loop(b, I64(0), I64(_PARTS), 1, [I64(1)], add, "in.order", _PARTS)
        return b.icmp_unsigned("!=", flag, I64(0))

    def _is_in_order(self, first: ir.Value, end: ir.Value) -> ir.Value:
        """Whether no key from a vector on is less than the one in front of it; looks no further than the first that is."""
        b = self.builder
        stop = least(b, b.mul(end, I64(self.lanes)), self.plan.size - 1)

        def keys(place: ir.Value, inside: ir.Value) -> ir.Value:
            return self.line.record(self._key_operand, self._at, Affine(place, 1), inside)[0]

        with while_loop(b, [b.mul(first, I64(self.lanes))], "in.order", most=self.vectors) as loop:
            (place,) = loop.values
            loop.leave_unless(b.icmp_signed("<", place, stop))
            inside = self._inside(place, stop)
            rises = b.icmp_unsigned("<=", keys(place, inside), keys(b.add(place, I64(1)), inside))
            rises = b.or_(rises, b.not_(inside))
            loop.leave_unless(all_lanes(b, rises))
            loop.carry([b.add(place, I64(self.lanes))])
        return b.icmp_signed(">=", place, stop)

    def count(self) -> None:
        """Read the keys; of each part, how many of them there are in each bucket and those behind it."""
        b = self.builder

        def count(part: ir.Value, first: ir.Value, end: ir.Value) -> None:
            pivots = self._pivots()
            b.store(b.zext(self._is_in_order(first, end), I64), self._flag(part))

            def step(number: ir.Value, counts: list[RegisterValue]) -> list[RegisterValue]:
                place = b.mul(number, I64(self.lanes))
                inside = self._inside(place, self.plan.size)
                record = self.line.record(self._key_operand, self._at, Affine(place, 1), inside)
                for value, array in zip(record, self.spare):
                    b.store(value, element_address(b, array, place, self.key), align=self.key.width // 8)
                return [b.add(n, self._number(mask)) for n, mask in zip(counts, self._reached(record[0], pivots, inside))]

            counts = carried_loop(b, first, end, 1, [I64(0)] * _BUCKETS, step, "count", self.vectors)
            for bucket, number in enumerate(counts):
                b.store(number, self._entry(part, I64(bucket)))

        self._each_part(count)

    def move(self) -> None:
        """Move the keys of each part to their buckets, unless they are in order."""
        b, row = self.builder, ir.VectorType(I64, _BUCKETS)

        def counted(end: ir.Value) -> list[ir.Value]:
            """How many keys of the parts before are in each bucket and those behind it."""

            def add(part: ir.Value, sums: list[RegisterValue]) -> list[RegisterValue]:
                return [b.add(sums[0], b.load(self._entry(part, I64(0)), typ=row, align=8))]

            (sums,) = carried_loop(b, I64(0), end, 1, [ir.Constant(row, None)], add, "counted", _PARTS)
            return [b.extract_element(sums, I32(bucket)) for bucket in range(_BUCKETS)]

        def move(part: ir.Value, first: ir.Value, end: ir.Value) -> None:
            pivots, everywhere, before = self._pivots(), counted(I64(_PARTS)), [*counted(part), I64(0)]
            places = [
                b.add(b.sub(I64(self.plan.size), everywhere[bucket]), b.sub(before[bucket], before[bucket + 1]))
                for bucket in range(_BUCKETS)
            ]

            def step(number: ir.Value, places: list[RegisterValue]) -> list[RegisterValue]:
                start = b.mul(number, I64(self.lanes))
                addresses = [element_address(b, array, start, self.key) for array in self.spare]
                record = [b.load(address, typ=self.line.vector, align=self.key.width // 8) for address in addresses]
                none = ir.Constant(ir.VectorType(I1, self.lanes), None)
                reached, following = [*self._reached(record[0], pivots, self._inside(start, self.plan.size)), none], []
                for place, mask, behind in zip(places, reached, reached[1:]):
                    here = b.and_(mask, b.not_(behind))
                    number = self._number(here)
                    stored = self._inside(I64(0), number)
                    for value, array in zip(record, self.arrays):
                        address = element_address(b, array, place, self.key)
                        masked_store(b, compressed(b, value, here), address, stored, self.key.width // 8)
                    following.append(b.add(place, number))
                return following

            carried_loop(b, first, end, 1, places, step, "move", self.vectors)

        with b.if_then(b.not_(self._are_all_in_order())):
            self._each_part(move)

    def sort(self) -> None:
        """Sort each bucket, and store its elements."""
        b, nest = self.builder, self.nest

        def behind(bucket: ir.Value) -> ir.Value:
            """How many keys are in a bucket or behind it."""

            def add(part: ir.Value, sums: list[RegisterValue]) -> list[RegisterValue]:
                return [b.add(sums[0], b.load(self._entry(part, bucket), typ=I64))]

            return carried_loop(b, I64(0), I64(_PARTS), 1, [I64(0)], add, "behind", _PARTS)[0]

        with independent_loop(b, _BUCKETS, "bucket") as number:
            bucket, size = i64(number), I64(self.plan.size)
            start, is_last = b.sub(size, behind(bucket)), b.icmp_unsigned("==", bucket, I64(_BUCKETS - 1))
            following = b.select(is_last, bucket, b.add(bucket, I64(1)))
            end = b.select(is_last, size, b.sub(size, behind(following)))
            count = b.sub(end, start)
            with b.if_then(b.icmp_signed(">", count, I64(0))):
                apart = b.add(start, b.mul(bucket, I64(self.lanes)))
                arrays = [element_address(b, array, start, self.key) for array in self.arrays]
                spare = [element_address(b, array, apart, self.key) for array in self.spare]
                with b.if_else(self._are_all_in_order()) as (as_they_are, otherwise):
                    with as_they_are:
                        carried_loop(b, start, end, self.lanes, [], partial(self._store_in_order, end), "copy", self.vectors)
                    with otherwise:
                        emit_quick_sort(b, nest.target, self.plan.bits, arrays, spare, count)
                        carried_loop(b, start, end, self.lanes, [], partial(self._store, end), "store", self.vectors)

    def _store(self, end: ir.Value, place: ir.Value, nothing: list[RegisterValue]) -> list[RegisterValue]:
        nest, inside = self.nest, self._inside(place, end)
        self.line.store_vector(nest.operands, nest.outputs, self._at, self.arrays, Affine(place, 1), self.lanes, inside)
        return nothing

    def _store_in_order(self, end: ir.Value, place: ir.Value, nothing: list[RegisterValue]) -> list[RegisterValue]:
        nest, inside, index = self.nest, self._inside(place, end), self._at(Affine(place, 1))
        if not self.plan.has_positions:
            self.line.store_vector(nest.operands, nest.outputs, self._at, self.spare, Affine(place, 1), self.lanes, inside)
            return nothing
        for operand, output in zip(nest.operands, nest.outputs):
            output.store(self.builder, index, operand.load(self.builder, index, self.lanes, inside), self.lanes, inside)
        return nothing
