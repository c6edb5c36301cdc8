"""Sorting by a key of whole bytes in vectors: each is sorted in its register, and sorted runs are merged a vector at a time.

Without comparisons that steer branches, every step takes the same few instructions. What is sorted are unsigned integers: the
keys themselves, where they are all that there is, or else keys with positions behind them, by which the elements are fetched in
the end. Source: K. E. Batcher, "Sorting networks and their applications", AFIPS 1968 (bitonic sorters); H. Inoue et al.,
"AA-Sort: a new parallel sorting algorithm for multi-core SIMD processors", PACT 2007 (merging runs in vectors).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

from ....compile.comparators import SortKey, sort_key
from ....hlo import ELEMENT_TYPES, Instruction, Shape
from ...llvm.arithmetic import all_lanes
from ...llvm.arrays import Array
from ...llvm.builder import undefined
from ...llvm.index import Affine, Base, Component, i64, least, merge_levels, multiply_base
from ...llvm.loops import carried_loop, counted_loop, while_loop
from ...llvm.sort_key import order_bits, order_of_values, value_of_order
from ...llvm.types import I8, I32, I64, RegisterValue, broadcast_lanes, integer_constant, lane_numbers, vector_of
from ..nest_samples import combining, samples
from ..quick_sort import emit_quick_sort
from ..sorting_networks import Network
from ..target import WIDEST_VECTOR_BYTES, Target
from ..vectors import VectorLoop, compresses_lanes, tail_mask

# Longer lines with positions are sorted faster digit by digit, whose passes do not grow in number, than by merging.
_MOST_MERGED_WITH_POSITIONS = 1 << 14
# Fewer keys with positions beside them are sorted faster one by one, and fewer vectors of keys by merging than by division.
_LEAST_WITH_POSITIONS_BESIDE = 17
_LEAST_DIVIDED_VECTORS = 5


@dataclass(frozen=True)
class VectorSort:
    """How a line is sorted: ``bits`` wide integers, of whom the low ``position_bits`` are the element's position.

    Where it does not fit into them it stands beside, in integers of its own. ``only_divided``: this is for processors alone
    that can divide keys (quick_sort.py).
    """

    key: SortKey
    size: int
    bits: int
    position_bits: int
    has_positions_beside: bool = False
    only_divided: bool = False

    @property
    def arrays(self) -> int:
        """How many arrays of integers there are."""
        return 1 + self.has_positions_beside

    @property
    def has_positions(self) -> bool:
        """Whether positions go with the keys."""
        return bool(self.position_bits) or self.has_positions_beside

    @property
    def array_bytes(self) -> int:
        """Memory for the integers; a vector may be read behind the last of them."""
        return (-(-self.size * self.bits // 8 // WIDEST_VECTOR_BYTES) + 1) * WIDEST_VECTOR_BYTES

    @property
    def scratch_bytes(self) -> int:
        """Memory for all of them, twice."""
        return 2 * self.arrays * self.array_bytes


def plan_vector_sort(sort: Instruction, size: int) -> VectorSort | None:
    """How to sort lines of this size; None where no key orders them, or another way is better."""
    key = sort_key(sort.attributes["to_apply"])
    if key is None or size < 2:
        return None
    key_bits = max(8, key.element_type.bits)
    order_counts = key.zeros_equal and sort.attributes["is_stable"]
    if len(sort.operands) == 1 and not order_counts:
        return VectorSort(key, size, key_bits, 0) if key_bits >= 32 else None
    position_bits = (size - 1).bit_length()
    if key_bits + position_bits > 64:
        is_long = size >= _LEAST_WITH_POSITIONS_BESIDE
        return VectorSort(key, size, 64, 0, has_positions_beside=True, only_divided=True) if is_long else None
    bits = 32 if key_bits + position_bits <= 32 else 64
    return VectorSort(key, size, bits, position_bits, only_divided=size > _MOST_MERGED_WITH_POSITIONS)


@samples(
    """
    x = s32[1000] parameter(0)
    ROOT y = s32[1000] sort(x), dimensions={0}, to_apply=compare_s32
    """,
    # So few that they are merged.
    """
    x = s32[13] parameter(0)
    ROOT y = s32[13] sort(x), dimensions={0}, to_apply=compare_s32
    """,
    """
    x = s8[37,3] parameter(0)
    i = s64[37,3] parameter(1)
    ROOT y = (s8[37,3], s64[37,3]) sort(x, i), dimensions={0}, is_stable=true, to_apply=greater
    """,
    calls=combining("compare", "s32[]", "pred[]", ", direction=LT")
    + """greater {
      a = s8[] parameter(0)
      b = s8[] parameter(1)
      i = s64[] parameter(2)
      j = s64[] parameter(3)
      ROOT z = pred[] compare(a, b), direction=GT
    }""",
)
def emit_vector_sort(
    builder: ir.IRBuilder,
    target: Target,
    plan: VectorSort,
    operands: list[Array],
    outputs: list[Array],
    at: Callable[[Component], tuple[Component, ...]],
    scratch: ir.Value,
    count: Base,
) -> None:
    """Sort so many elements of one line of all operands into the outputs; ``at`` makes the index of a position on the line.

    Where they are not the whole line, as is known when the code runs, what follows in the outputs is unspecified.
    """
    b, line = builder, Line(builder, plan, target.lanes(plan.bits // 8), count)
    memory = [b.gep(scratch, [I64(number * plan.array_bytes)], source_etype=I8) for number in range(2 * plan.arrays)]
    arrays, others = memory[: plan.arrays], memory[plan.arrays :]
    if plan.only_divided or compresses_lanes(target) and plan.size >= _LEAST_DIVIDED_VECTORS * line.lanes:
        key = operands[plan.key.operand]

        def divide() -> None:
            line.load(key, at, arrays, in_runs=False)
            emit_quick_sort(b, target, plan.bits, arrays, others, line.count_without_greatest(arrays[0]))
            line.store(operands, outputs, at, arrays)

        if not plan.has_positions:
            divide()
            return
        with b.if_else(line.is_in_order(key, at)) as (as_it_is, otherwise):
            with as_it_is:
                line.copy(operands, outputs, at)
            with otherwise:
                divide()
    else:
        line.load(operands[plan.key.operand], at, arrays, in_runs=True)
        keys, _ = line.merge(arrays[0], others[0])
        line.store(operands, outputs, at, [keys])


class Line:
    def __init__(self, builder: ir.IRBuilder, plan: VectorSort, lanes: int, count: Base) -> None:
        self.builder, self.plan, self.lanes, self.count = builder, plan, lanes, count
        self.scalar = ir.IntType(plan.bits)
        self.vector = vector_of(self.scalar, lanes)
        self.network = Network(builder, lanes)

    # --- elements to keys, and back ---

    def load(self, operand: Array, at: Callable, arrays: list[ir.Value], in_runs: bool) -> None:
        """Write the line's keys, ``in_runs`` each vector of them sorted; behind the last one stand the greatest there are."""
        b, plan, lanes = self.builder, self.plan, self.lanes

        def load(start: int | ir.Value, mask: ir.Value | None) -> None:
            record = self.record(operand, at, Affine(start, 1), mask)
            for value, array in zip(self.network.sorted(record) if in_runs else record, arrays):
                b.store(value, self._at(array, start), align=self.scalar.width // 8)

        if not isinstance(self.count, int):
            self._load_some(load)
            return
        whole, rest = divmod(plan.size, lanes)
        if whole:
            with counted_loop(b, whole, "keys") as number:
                load(multiply_base(b, number, lanes), None)
        if rest:
            load(whole * lanes, tail_mask(lanes, rest))

    def record(self, operand: Array, at: Callable, places: Affine, mask: ir.Value | None) -> list[ir.Value]:
        """Vectors of the keys, and perhaps of positions, of elements at some places; the greatest key there is elsewhere."""
        b, plan = self.builder, self.plan
        order = order_bits if plan.has_positions else order_of_values
        values = order(b, plan.key, _bits_of(operand).load(b, at(places), self.lanes, mask))
        if values.type != self.vector:
            values = b.zext(values, self.vector)
        numbers = b.add(self._splat(places.base), lane_numbers(self.scalar, self.lanes, places.stride))
        if plan.position_bits:
            values = b.or_(b.shl(values, integer_constant(self.vector, plan.position_bits)), numbers)
        if mask is not None:
            values = b.select(mask, values, integer_constant(self.vector, -1))
        return [values, numbers] if plan.has_positions_beside else [values]

    def _load_some(self, load: Callable[[ir.Value, ir.Value | None], None]) -> None:
        """The same of as many as the code finds; of the last vector perhaps none."""
        b, lanes = self.builder, self.lanes
        whole = b.udiv(self.count, I64(lanes))
        with counted_loop(b, max(2, self.plan.size // lanes), "keys", whole) as number:
            load(multiply_base(b, number, lanes), None)
        start = b.mul(whole, I64(lanes))
        rest = broadcast_lanes(b, b.sub(self.count, start), lanes)
        load(start, b.icmp_signed("<", lane_numbers(I64, lanes), rest))

    def _vectors(self) -> Base:
        """How many vectors there are, one at least."""
        if isinstance(self.count, int):
            return -(-self.count // self.lanes)
        b = self.builder
        number = b.udiv(b.add(self.count, I64(self.lanes - 1)), I64(self.lanes))
        return b.select(b.icmp_signed("<", number, I64(1)), I64(1), number)

    def count_without_greatest(self, keys: ir.Value) -> ir.Value:
        """The number of keys without vectors of the greatest at the end, which are in order: what stands for nothing is so."""
        b, plan = self.builder, self.plan
        greatest = ((1 << max(8, plan.key.element_type.bits)) - 1) << plan.position_bits
        with while_loop(b, [i64(multiply_base(b, self._vectors(), self.lanes))], "greatest", most=plan.size) as loop:
            (count,) = loop.values
            loop.leave_unless(b.icmp_signed(">", count, I64(0)))
            before = b.sub(count, I64(self.lanes))
            vector = b.load(self._at(keys, before), typ=self.vector, align=self.scalar.width // 8)
            are_greatest = b.icmp_unsigned(">=", vector, integer_constant(self.vector, greatest))
            loop.leave_unless(all_lanes(b, are_greatest))
            loop.carry([before])
        return least(b, count, self.count)

    def is_in_order(self, operand: Array, at: Callable) -> ir.Value:
        """Whether no key of the operand is less than the one in front of it; looks no further than the first that is."""
        b, plan, elements = self.builder, self.plan, _bits_of(operand)
        pairs, place = b.sub(i64(self.count), I64(1)), I64(0)

        def are_in_order(place: ir.Value, lanes: int) -> ir.Value:
            positions = (Affine(one, int(lanes > 1)) for one in (place, b.add(place, I64(1))))
            first, second = (order_bits(b, plan.key, elements.load(b, at(one), lanes)) for one in positions)
            return all_lanes(b, b.icmp_unsigned("<=", first, second))

        for lanes in (self.lanes, 1):  # the last ones of a line, and those around the first that is less, one by one
            with while_loop(b, [place], "in.order", most=-(-plan.size // lanes)) as loop:
                (place,) = loop.values
                following = b.add(place, I64(lanes))
                loop.leave_unless(b.icmp_signed("<=", following, pairs))
                loop.leave_unless(are_in_order(place, lanes))
                loop.carry([following])
            (place,) = loop.values
        return b.icmp_signed(">=", place, pairs)

    def copy(self, operands: list[Array], outputs: list[Array], at: Callable) -> None:
        """Store the operands as they are."""
        b, stop = self.builder, None if isinstance(self.count, int) else self.count

        def copy(component: Component, lanes: int, mask: ir.Value | None) -> None:
            for operand, output in zip(operands, outputs):
                output.store(b, at(component), operand.load(b, at(component), lanes, mask), lanes, mask)

        VectorLoop(b, self.lanes, in_place=False).emit(self.plan.size, copy, stop)

    def store(self, operands: list[Array], outputs: list[Array], at: Callable, arrays: list[ir.Value]) -> None:
        stop = None if isinstance(self.count, int) else self.count

        def store(component: Component, lanes: int, mask: ir.Value | None) -> None:
            self.store_vector(operands, outputs, at, arrays, component, lanes, mask)

        VectorLoop(self.builder, self.lanes, in_place=False).emit(self.plan.size, store, stop)

    def store_vector(
        self,
        operands: list[Array],
        outputs: list[Array],
        at: Callable,
        arrays: list[ir.Value],
        component: Component,
        lanes: int,
        mask: ir.Value | None,
    ) -> None:
        """Store the elements of some sorted keys."""
        b, plan = self.builder, self.plan
        last = Array(arrays[-1], Shape(ELEMENT_TYPES[f"u{plan.bits}"], (plan.size,)))
        values = last.load(b, (component,), lanes, mask)
        if not plan.has_positions:
            _bits_of(outputs[0]).store(b, at(component), value_of_order(b, plan.key, values), lanes, mask)
            return
        positions = values
        if plan.position_bits:
            positions = b.and_(values, integer_constant(values.type, (1 << plan.position_bits) - 1))
        if not isinstance(self.count, int):  # behind it there is anything
            last_position = integer_constant(positions.type, plan.size - 1)
            positions = b.select(b.icmp_unsigned("<", positions, last_position), positions, last_position)
        if plan.bits < 64:
            positions = b.zext(positions, vector_of(I64, lanes))
        for operand, output in zip(operands, outputs):
            source = Affine(positions) if lanes == 1 else positions
            output.store(b, at(component), operand.load(b, at(source), lanes, mask), lanes, mask)

    def _splat(self, start: int | ir.Value) -> ir.Value:
        if isinstance(start, int):
            return integer_constant(self.vector, start)
        b = self.builder
        scalar = start if self.scalar.width == 64 else b.trunc(start, self.scalar)
        first = b.insert_element(undefined(self.vector), scalar, I32(0))
        return self.network.shuffled(first, [0] * self.lanes)

    # --- runs ---

    def merge(self, source: ir.Value, target: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Merge runs twice as long in each level, from one memory into the other and back; where they are in the end."""
        b, count = self.builder, self._vectors()
        levels = merge_levels(b, count)

        def level(number: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
            width, source, target = carried
            step = b.shl(width, I64(1))
            pairs = b.udiv(b.sub(b.add(step, i64(count)), I64(1)), step)

            def pair(number: ir.Value, nothing: list[RegisterValue]) -> list[RegisterValue]:
                start = b.mul(number, step)
                middle, end = (least(b, b.add(start, length), count) for length in (width, step))
                self._merge_pair(source, target, start, middle, end)
                return nothing

            carried_loop(b, 0, pairs, 1, [], pair, "merge.pair", most=1)
            return [step, target, source]

        _, source, target = carried_loop(b, 0, levels, 1, [I64(1), source, target], level, "merge.level")
        return source, target

    def _merge_pair(self, source: ir.Value, target: ir.Value, start: ir.Value, middle: ir.Value, end: ir.Value) -> None:
        """Merge the vectors [start, middle) and [middle, end); the second run may be empty.

        Of two vectors in hand the lower half is stored; the next vector comes from the run that goes on with the smaller key.
        """
        b = self.builder
        first = self._load(source, start)

        def step(place: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
            held, left, right = carried
            left_key, right_key = (b.load(self._vector_at(source, run), typ=self.scalar) for run in (left, right))
            more_left, more_right = b.icmp_signed("<", left, middle), b.icmp_signed("<", right, end)
            smaller = b.icmp_unsigned("<=", left_key, right_key)
            take_left = b.or_(b.not_(more_right), b.and_(more_left, smaller))
            other = self._load(source, b.select(take_left, left, right))
            [lower], [upper] = self.network.merged([held], [other])
            self._store(target, place, lower)
            taken = b.zext(take_left, I64)
            return [upper, b.add(left, taken), b.add(right, b.sub(I64(1), taken))]

        one = I64(1)
        last = b.sub(end, one)
        most = -(-self.plan.size // self.lanes)
        held, *_ = carried_loop(b, start, last, 1, [first, b.add(start, one), middle], step, "merge.vectors", most)
        self._store(target, last, held)

    def _at(self, keys: ir.Value, position: int | ir.Value) -> ir.Value:
        position = I64(position) if isinstance(position, int) else position
        return self.builder.gep(keys, [position], source_etype=self.scalar)

    def _vector_at(self, keys: ir.Value, number: ir.Value) -> ir.Value:
        return self._at(keys, self.builder.mul(number, I64(self.lanes)))

    def _load(self, keys: ir.Value, number: ir.Value) -> ir.Value:
        return self.builder.load(self._vector_at(keys, number), typ=self.vector, align=self.scalar.width // 8)

    def _store(self, keys: ir.Value, number: ir.Value, value: ir.Value) -> None:
        self.builder.store(value, self._vector_at(keys, number), align=self.scalar.width // 8)


def _bits_of(array: Array) -> Array:
    """The same memory as unsigned integers."""
    shape, bits = array.shape, max(8, array.shape.element_type.bits)
    return Array(array.pointer, Shape(ELEMENT_TYPES[f"u{bits}"], shape.dimensions, shape.layout))
