"""Sorting where the processor moves selected lanes of a vector together: keys are divided about a pivot, a vector at a time.

The keys that are less than the pivot stay in front, in their order, the others go to other memory in theirs and come back
behind them: so this is stable, and no branch depends on a key. A few vectors of keys are sorted by a network. Where pivots have
been bad for so many levels that time would grow with the square of the size, the middle between the least and the greatest key
is taken, which cannot be bad for longer than keys have bits.

The functions are compiled once a process, for any number of keys. Source: M. Blacher et al., "Vectorized and
performance-portable Quicksort", 2022.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from ...hlo import U32, U64, Shape
from ..llvm.arithmetic import all_lanes, count_lanes
from ..llvm.arrays import Array, masked_load, masked_store
from ..llvm.branches import chosen, replaced_if
from ..llvm.builder import Builder
from ..llvm.interruption import CHECK_INTERRUPTS, interruption_of
from ..llvm.loops import carried_loop, while_loop
from ..llvm.memory import copy_apart, element_address, stack_memory
from ..llvm.module import DeviceModule, SharedFunction, align_stack, declaration, declared
from ..llvm.types import I1, I8, I32, I64, POINTER, broadcast_lanes, integer_constant, lane_numbers
from .sorting_networks import Network, Record
from .target import Target
from .vectors import compressed

_UNSIGNED = {32: U32, 64: U64}
_ANY_SIZE = 1 << 40  # of arrays that are not small
# Vectors of a block, which a network sorts, and blocks of keys that are not divided; powers of 2.
_VECTORS, _BLOCKS = 8, 4
# Of so many keys, the levels of divisions that are usual: about twice the logarithm to the base of 2.
_LEVELS_PER_BIT = 2
# Dividing more keys takes so long that it is worth asking whether to go on.
_MANY = 1 << 16
# Parts that wait while others are divided: a part waits for one that is shorter.
_MOST_WAITING, _WAITING_BYTES = 64, 24


def emit_quick_sort(
    builder: ir.IRBuilder, target: Target, bits: int, arrays: Sequence[ir.Value], scratch: Sequence[ir.Value], count: ir.Value
) -> None:
    """Sort so many keys, unsigned integers of 32 or 64 bits; or keys, and positions, which decide where keys are equal.

    The scratch memory has as much room as each of the arrays, and a vector more.
    """
    b = builder
    function = declared(b.module, _shared(target, bits, len(arrays)))
    caller = interruption_of(b)
    levels = b.mul(b.sub(I64(64), b.ctlz(count, I1(0))), I64(_LEVELS_PER_BIT))
    status = b.call(function, [*arrays, *scratch, count, levels, I1(int(caller is not None))])
    if caller is not None:
        caller.leave_if(b, b.icmp_signed("!=", status, I32(0)))


def _shared(target: Target, bits: int, count: int) -> SharedFunction:
    registers = [POINTER] * (2 * count) + [I64, I64, I1]
    name = f"phlox.{'sort' if count == 1 else 'sort_pairs'}.i{bits}"

    def emit(function: ir.Function) -> None:
        align_stack(function, target.vector_bytes)
        _QuickSort(function, target, bits, count).emit()

    return SharedFunction(name, ir.FunctionType(I32, registers), emit)


class _QuickSort:
    """The function, while it is written; and the functions that it calls."""

    def __init__(self, function: ir.Function, target: Target, bits: int, count: int) -> None:
        self.function, self.module, self.target = function, function.module, target
        self.key, self.lanes, self.count = ir.IntType(bits), target.lanes(bits // 8), count
        self.vector = ir.VectorType(self.key, self.lanes)
        self.greatest = integer_constant(self.vector, -1)
        self.finish: ir.Function | None = None
        self.finish = self._on_block("lanes", lambda network, records: list(map(network.in_lanes, records)))

    def emit(self) -> None:
        b = Builder(self.function.append_basic_block("entry"))
        arrays, scratch = self.function.args[: self.count], self.function.args[self.count : 2 * self.count]
        count, levels, can_leave = self.function.args[2 * self.count :]
        divide, middle, few = self._divide(), self._middle(), self._few()
        waiting = stack_memory(b, _MOST_WAITING * _WAITING_BYTES, 8)
        with b.if_then(b.call(self._in_order(), [arrays[0], count])):
            b.ret(I32(0))

        def place(number: ir.Value) -> list[ir.Value]:
            """Where a part that waits has its first key, its count, and its levels."""
            first = b.gep(waiting, [b.mul(number, I64(_WAITING_BYTES))], source_etype=I8)
            return [b.gep(first, [I64(8 * which)], source_etype=I8) for which in range(3)]

        with while_loop(b, [I64(0), count, levels, I64(0)]) as loop:
            start, count, levels, number = loop.values
            part = [element_address(b, array, start, self.key) for array in arrays]

            def finished() -> list[ir.Value]:
                b.call(few, [*part, count])
                with b.if_then(b.icmp_unsigned("==", number, I64(0))):
                    b.ret(I32(0))
                last = b.sub(number, I64(1))
                return [*[b.load(address, typ=I64) for address in place(last)], last]

            def divided() -> list[ir.Value]:
                if not isinstance(self.module, DeviceModule):
                    with b.if_then(b.and_(can_leave, b.icmp_unsigned(">", count, I64(_MANY))), likely=False):
                        self._return_if_interrupted(b, b.call(declaration(self.module, CHECK_INTERRUPTS, I32, []), []))
                is_exhausted = b.icmp_unsigned("==", levels, I64(0))
                sampled = self._sampled(b, part[0], count)
                (pivot,) = replaced_if(b, is_exhausted, [sampled], lambda: [b.call(middle, [part[0], count])])
                lower = b.call(divide, [*part, *scratch, count, pivot])
                has_none = b.icmp_unsigned("==", lower, I64(0))  # then keys that equal the pivot come first, and are in order

                def equal() -> list[ir.Value]:
                    following = b.add(pivot, self.key(1))
                    is_greatest = b.icmp_unsigned("==", following, self.key(0))
                    return replaced_if(
                        b, b.not_(is_greatest), [count], lambda: [b.call(divide, [*part, *scratch, count, following])]
                    )

                (lower,) = replaced_if(b, has_none, [lower], equal)
                upper, behind = b.sub(count, lower), b.add(start, lower)
                rest = b.select(is_exhausted, levels, b.sub(levels, I64(1)))
                # The longer part waits, so that no more of them do than the count has bits.
                first_is_short = b.or_(has_none, b.icmp_unsigned("<", lower, upper))
                both = list(zip((start, lower), (behind, upper)))
                short = [b.select(first_is_short, one, other) for one, other in both]
                long = [b.select(first_is_short, other, one) for one, other in both]
                for value, address in zip((*long, rest), place(number)):
                    b.store(value, address)
                following = [b.select(has_none, one, other) for one, other in zip(long, short)]
                return [*following, rest, b.add(number, b.zext(b.not_(has_none), I64))]

            is_small = b.icmp_unsigned("<=", count, I64(_BLOCKS * _VECTORS * self.lanes))
            loop.carry(chosen(b, is_small, [finished, divided]))
        b.ret(I32(0))

    def _return_if_interrupted(self, b: ir.IRBuilder, status: ir.Value) -> None:
        with b.if_then(b.icmp_signed("!=", status, I32(0)), likely=False):
            b.ret(status)

    def _load(self, b: ir.IRBuilder, array: ir.Value, place: ir.Value, mask: ir.Value | None = None) -> ir.Value:
        address = element_address(b, array, place, self.key)
        if mask is None:
            return b.load(address, typ=self.vector, align=self.key.width // 8)
        return masked_load(b, address, self.vector, mask, self.key.width // 8)

    def _store(self, b: ir.IRBuilder, value: ir.Value, array: ir.Value, place: ir.Value, mask: ir.Value | None = None) -> None:
        address = element_address(b, array, place, self.key)
        if mask is None:
            b.store(value, address, align=self.key.width // 8)
        else:
            masked_store(b, value, address, mask, self.key.width // 8)

    def _first_lanes(self, b: ir.IRBuilder, count: ir.Value) -> ir.Value:
        """The mask of as many lanes as there are, of the first so many."""
        count = count if self.key == I64 else b.trunc(count, self.key)
        return b.icmp_signed("<", lane_numbers(self.key, self.lanes), broadcast_lanes(b, count, self.lanes))

    def _sampled(self, b: ir.IRBuilder, keys: ir.Value, count: ir.Value) -> ir.Value:
        """The middle one of a vector of keys that lie at equal distances."""
        distance = broadcast_lanes(b, b.udiv(count, I64(self.lanes)), self.lanes)
        places = b.mul(lane_numbers(I64, self.lanes), distance)
        of_any_size = Array(keys, Shape(_UNSIGNED[self.key.width], (_ANY_SIZE,)))
        sample = of_any_size.load(b, (places,), self.lanes)
        (sample,) = Network(b, self.lanes).sorted([sample])
        return b.extract_element(sample, I32(self.lanes // 2))

    def _own_function(self, name: str, result: ir.Type, arguments: list[ir.Type]) -> tuple[ir.Function, ir.IRBuilder]:
        function = ir.Function(self.module, ir.FunctionType(result, arguments), f"{self.function.name}.{name}")
        function.linkage = "internal"
        return function, Builder(function.append_basic_block("entry"))

    def _in_order(self) -> ir.Function:
        """A function that returns whether no key is less than the one in front of it; it looks no further than the first."""
        function, b = self._own_function("in_order", I1, [POINTER, I64])
        keys, count = function.args
        pairs = b.sub(count, I64(1))

        def are_in_order(place: ir.Value, inside: ir.Value | None) -> ir.Value:
            first, second = (self._load(b, keys, one, inside) for one in (place, b.add(place, I64(1))))
            mask = b.icmp_unsigned("<=", first, second)
            mask = mask if inside is None else b.or_(mask, b.not_(inside))
            return all_lanes(b, mask)

        with while_loop(b, [I64(0)]) as loop:
            (place,) = loop.values
            following = b.add(place, I64(self.lanes))
            loop.leave_unless(b.icmp_signed("<=", following, pairs))
            with b.if_then(b.not_(are_in_order(place, None))):
                b.ret(I1(0))
            loop.carry([following])
        (place,) = loop.values
        b.ret(are_in_order(place, self._first_lanes(b, b.sub(pairs, place))))
        return function

    def _divide(self) -> ir.Function:
        """A function that brings the keys that are less than a pivot to the front, and returns how many these are."""
        function, b = self._own_function("divide", I64, [POINTER] * (2 * self.count) + [I64, self.key])
        arrays, scratch, (count, pivot) = function.args[: self.count], function.args[self.count : -2], function.args[-2:]
        pivots = broadcast_lanes(b, pivot, self.lanes)

        def size(mask: ir.Value) -> ir.Value:
            return count_lanes(b, mask, I64)

        def step(place: ir.Value, carried: list) -> list:
            lower, upper = carried
            record = [self._load(b, array, place) for array in arrays]
            is_lower = b.icmp_unsigned("<", record[0], pivots)
            for value, array, other in zip(record, arrays, scratch):
                self._store(b, compressed(b, value, is_lower), array, lower)  # at most up to where the vector has been read
                self._store(b, compressed(b, value, b.not_(is_lower)), other, upper)
            lower = b.add(lower, size(is_lower))
            return [lower, b.sub(b.add(place, I64(self.lanes)), lower)]

        rest = b.urem(count, I64(self.lanes))
        whole = b.sub(count, rest)
        lower, upper = carried_loop(b, I64(0), whole, self.lanes, [I64(0), I64(0)], step, "divide")
        inside = self._first_lanes(b, rest)
        record = [self._load(b, array, whole, inside) for array in arrays]
        is_lower = b.and_(b.icmp_unsigned("<", record[0], pivots), inside)
        is_upper = b.and_(b.not_(is_lower), inside)
        for value, array, other in zip(record, arrays, scratch):
            self._store(b, compressed(b, value, is_lower), array, lower, self._first_lanes(b, size(is_lower)))
            self._store(b, compressed(b, value, is_upper), other, upper)
        lower, upper = b.add(lower, size(is_lower)), b.add(upper, size(is_upper))
        for array, other in zip(arrays, scratch):
            copy_apart(b, element_address(b, array, lower, self.key), other, b.mul(upper, I64(self.key.width // 8)))
        b.ret(lower)
        return function

    def _middle(self) -> ir.Function:
        """A function that returns the middle between the extreme keys; none is less than that only where all are equal."""
        function, b = self._own_function("middle", self.key, [POINTER, I64])
        keys, count = function.args
        first = b.load(keys, typ=self.key)

        def step(place: ir.Value, carried: list) -> list:
            least, greatest = carried
            key = b.load(element_address(b, keys, place, self.key), typ=self.key)
            return [
                b.select(b.icmp_unsigned("<", key, least), key, least),
                b.select(b.icmp_unsigned(">", key, greatest), key, greatest),
            ]

        least, greatest = carried_loop(b, I64(1), count, 1, [first, first], step, "extremes")
        half = b.lshr(b.add(b.sub(greatest, least), self.key(1)), self.key(1))
        whole = b.icmp_unsigned("==", b.sub(greatest, least), self.key(-1))
        b.ret(b.select(whole, self.key(1 << (self.key.width - 1)), b.add(least, half)))
        return function

    # --- few keys ---

    def _few(self) -> ir.Function:
        """A function that sorts no more keys than the blocks hold, in memory of its own."""
        function, b = self._own_function("few", ir.VoidType(), [POINTER] * self.count + [I64])
        *arrays, count = function.args
        block, merge = self._block(), self._merge()
        width = self.key.width // 8
        memory = [stack_memory(b, _BLOCKS * _VECTORS * self.target.vector_bytes, self.target.vector_bytes) for _ in arrays]
        blocks = b.udiv(b.add(count, I64(_VECTORS * self.lanes - 1)), I64(_VECTORS * self.lanes))
        filled = b.shl(I64(1), b.sub(I64(64), b.ctlz(b.sub(blocks, I64(1)), I1(0))))  # a power of 2 of blocks

        def fill(number: ir.Value, _: list) -> tuple:
            place = b.mul(number, I64(self.lanes))
            mask = self._first_lanes(b, b.sub(count, place))
            for array, own in zip(arrays, memory):
                self._store(b, b.select(mask, self._load(b, array, place, mask), self.greatest), own, place)
            return ()

        def sort_block(number: ir.Value, _: list) -> tuple:
            b.call(block, self._at(b, memory, b.mul(number, I64(_VECTORS))))
            return ()

        carried_loop(b, I64(0), b.mul(filled, I64(_VECTORS)), 1, (), fill, "fill")
        carried_loop(b, I64(0), blocks, 1, (), sort_block, "blocks")
        with while_loop(b, [I64(1)]) as loop:
            (length,) = loop.values
            loop.leave_unless(b.icmp_unsigned("<", length, blocks))
            with while_loop(b, [I64(0)]) as pairs:
                (first,) = pairs.values
                pairs.leave_unless(b.icmp_unsigned("<", b.add(first, length), blocks))
                place, vectors = (b.mul(number, I64(_VECTORS)) for number in (first, length))
                b.call(merge, [*self._at(b, memory, place), vectors])
                pairs.carry([b.add(first, b.shl(length, I64(1)))])
            loop.carry([b.shl(length, I64(1))])
        for array, own in zip(arrays, memory):
            copy_apart(b, array, own, b.mul(count, I64(width)))
        b.ret_void()
        return function

    def _at(self, b: ir.IRBuilder, arrays: Sequence[ir.Value], vectors: ir.Value) -> list[ir.Value]:
        return [element_address(b, array, b.mul(vectors, I64(self.lanes)), self.key) for array in arrays]

    def _read(self, b: ir.IRBuilder, arrays: Sequence[ir.Value], vector: int | ir.Value) -> Record:
        place = I64(vector * self.lanes) if isinstance(vector, int) else b.mul(vector, I64(self.lanes))
        return [self._load(b, array, place) for array in arrays]

    def _write(self, b: ir.IRBuilder, record: Record, arrays: Sequence[ir.Value], vector: int | ir.Value) -> None:
        place = I64(vector * self.lanes) if isinstance(vector, int) else b.mul(vector, I64(self.lanes))
        for value, array in zip(record, arrays):
            self._store(b, value, array, place)

    def _on_block(self, name: str, *steps: Callable[[Network, list[Record]], list[Record]]) -> ir.Function:
        """A function that does these steps with the vectors of a block, each of which leaves their lanes to be put in order."""
        function, b = self._own_function(name, ir.VoidType(), [POINTER] * self.count)
        network, arrays = Network(b, self.lanes), list(function.args)
        for step in steps:
            records = step(network, [self._read(b, arrays, number) for number in range(_VECTORS)])
            for number, record in enumerate(records):
                self._write(b, record, arrays, number)
            if self.finish is not None:
                b.call(self.finish, arrays)
        b.ret_void()
        return function

    def _block(self) -> ir.Function:
        """A function that sorts a block."""
        lengths = [1 << level for level in range(_VECTORS.bit_length() - 1)]
        first, *others = [lambda network, records, length=length: network.in_pairs(records, length) for length in lengths]
        return self._on_block("block", lambda network, records: first(network, list(map(network.sorted, records))), *others)

    def _merge(self) -> ir.Function:
        """A function that merges two runs of so many vectors, a block or more, which lie behind each other."""
        divided = self._on_block("divided", lambda network, records: network.halved(records, len(records) // 2))
        function, b = self._own_function("merge", ir.VoidType(), [POINTER] * self.count + [I64])
        *arrays, length = function.args
        network, whole = Network(b, self.lanes), b.shl(length, I64(1))

        def cross(number: ir.Value, _: list) -> tuple:
            opposite = b.sub(b.sub(whole, I64(1)), number)
            others = network.backwards(self._read(b, arrays, opposite))
            low, high = network.low_and_high(self._read(b, arrays, number), others)
            self._write(b, low, arrays, number)
            self._write(b, network.backwards(high), arrays, opposite)
            return ()

        carried_loop(b, I64(0), length, 1, (), cross, "cross")
        with while_loop(b, [b.lshr(length, I64(1))]) as loop:
            (distance,) = loop.values
            loop.leave_unless(b.icmp_unsigned(">=", distance, I64(_VECTORS)))

            def halve(number: ir.Value, _: list) -> tuple:
                # Numbers count pairs: of each 2 * distance vectors the first half has one each.
                place = b.add(number, b.sub(number, b.and_(number, b.sub(distance, I64(1)))))
                opposite = b.add(place, distance)
                low, high = network.low_and_high(self._read(b, arrays, place), self._read(b, arrays, opposite))
                self._write(b, low, arrays, place)
                self._write(b, high, arrays, opposite)
                return ()

            carried_loop(b, I64(0), length, 1, (), halve, "halve")
            loop.carry([b.lshr(distance, I64(1))])
        carried_loop(
            b, I64(0), whole, _VECTORS, (), lambda number, _: b.call(divided, self._at(b, arrays, number)) and (), "divided"
        )
        b.ret_void()
        return function
