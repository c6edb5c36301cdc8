"""The scan of one long line in parts, where the order makes no difference.

Each part needs to know what all before it come to. Where that is known, the part is scanned at once. Where it is not, since
other threads are still at work on those before it, the totals that are missing are computed first, the part's own one, too, so
that nobody waits; who comes later finds them. Thus one thread reads everything once, and several read it twice. Source: D.
Merrill and M. Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016.
"""

from __future__ import annotations

from functools import reduce
from itertools import accumulate
from typing import NamedTuple

from llvmlite import ir

from ....hlo import Computation, Instruction, Shape
from ....hlo.instruction import post_order
from ...llvm import index as indices
from ...llvm.arrays import Array
from ...llvm.branches import replaced_if
from ...llvm.elemental import Binding
from ...llvm.index import ZERO, Affine, Index, i64
from ...llvm.loops import carried_loop, while_loop
from ...llvm.memory import element_address, fill_memory
from ...llvm.pieces import independent_loop
from ...llvm.reductions import splat_identity
from ...llvm.scans import Scan
from ...llvm.types import I8, I64, RegisterValue
from ..nest_samples import running_sum, samples
from ..region_functions import Division, RegionFunctions, most_pieces
from ..target import Target
from ..vectors import combined_lanes, lanes_of_scan
from .loop import streams_results
from .scan_lines import rounds, scanned_elements, scanned_vectors, scans_in_any_order, vector_index

_ALIGNMENT = 64
# As many vectors are combined side by side.
_ABREAST = 4
# Elements may be computed twice, which is not worth it where they take more instructions than this.
_MOST_COST = 6.0


class Parts(NamedTuple):
    """``vectors`` of so many lanes in all, and of each part; ``work`` in nanoseconds."""

    lanes: int
    vectors: int
    vectors_of_part: int
    work: int

    @property
    def count(self) -> int:
        return -(-self.vectors // self.vectors_of_part)


def plan_parts(scan: Scan, target: Target, work: int) -> Parts | None:
    """How a scan that takes so much work, in nanoseconds, is divided; None where it is not."""
    if scan.stop is not None or scan.along != scan.rank - 1 or any(size != 1 for size in scan.slice_sizes):
        return None
    if not scans_in_any_order(scan) or _identity(scan) is None or not _is_cheap(scan.inputs[0]):
        return None
    lanes = lanes_of_scan(target, scan, scan.steps)
    vectors = scan.steps // lanes
    parts = Parts(lanes, vectors, -(-vectors // most_pieces(work)), work)
    return parts if lanes > 1 and parts.count > 1 else None


def _identity(scan: Scan) -> bool | int | float | complex | None:
    """The number that a step combines with any other to that one."""
    return scan.step_results[0].operation.identity(scan.inputs[0].shape.element_type)


def _is_cheap(element: Instruction) -> bool:
    cost = 0.0
    for instruction in post_order(element, ()):
        if instruction.opcode not in ("parameter", "constant"):
            cost += _MOST_COST + 1 if instruction.operation.cost is None else instruction.operation.cost
    return cost <= _MOST_COST


@samples(
    """
    x = s32[70001] parameter(0)
    init = s32[] parameter(1)
    ROOT y = (s32[70001], s32[]) scan(x, init), dimensions={0}, num_carries=1, to_apply=running_sum_s32
    """,
    """
    x = s32[60011] parameter(0)
    init = s32[] parameter(1)
    ROOT y = (s32[60011], s32[]) scan(x, init), dimensions={0}, num_carries=1, is_reverse=true, to_apply=running_sum_s32
    """,
    calls=running_sum("s32[]").replace("add(x, carry)", "add(carry, x)"),
)
def emit_in_parts(
    builder: ir.IRBuilder,
    functions: RegionFunctions,
    computation: Computation,
    operands: list[Binding],
    outputs: list[Array],
    parts: Parts,
) -> None:
    """Run a computation that holds one scan, as `emit_scan`."""
    b, count = builder, len(operands)
    scan = Scan(b, computation, operands, outputs)
    place, element_type = (ZERO,) * (scan.rank - 1), scan.inits[0].shape.element_type
    known = _known_values(b, functions, [Shape(element_type, (size,)) for size in (parts.count + 1, parts.count)])
    streams = streams_results(functions.target, [array.shape for array in outputs])

    def given(builder: ir.IRBuilder, bindings: list[Binding], streams: bool) -> tuple[Scan, _Known, _Known]:
        *others, before, before_flags, totals, total_flags = bindings
        results = [Array(array.pointer, array.shape, is_streamed=streams) for array in others[count:]]
        scan = Scan(builder, computation, others[:count], results)
        return scan, _Known(builder, before, before_flags), _Known(builder, totals, total_flags)

    def begin(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        scan, before, totals = given(builder, bindings, False)
        before.forget()
        totals.forget()
        before.tell(I64(0), scan.first_carries(place, 1)[0])

    def emit(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        scan, before, totals = given(builder, bindings, streams)
        with independent_loop(builder, parts.count, "part") as part:
            _Part(scan, place, parts, before, totals).emit(i64(part))
        if streams:
            builder.fence("seq_cst")

    def end(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        scan, before, _ = given(builder, bindings, False)
        carries = [before.value(I64(parts.count))]
        last = scanned_elements(scan, place, parts.vectors * parts.lanes, scan.steps, carries)
        scan.store_carries(place, last, 1)

    values = [*operands, *outputs, *known]
    functions.emit(b, ("scan.begin", computation), values, begin, 1)
    functions.emit(b, ("scan.parts", computation), values, emit, 60, Division(parts.work))
    functions.emit(b, ("scan.end", computation), values, end, 1)


def _known_values(builder: ir.IRBuilder, functions: RegionFunctions, shapes: list[Shape]) -> list[Binding]:
    """Memory for values of these shapes, and behind each for flags that say which are known."""
    sizes = [size for shape in shapes for size in (shape.byte_size, shape.size * I64.width // 8)]
    starts = list(accumulate([-(-size // _ALIGNMENT) * _ALIGNMENT for size in sizes], initial=0))
    memory = functions.memory(builder, starts[-1], _ALIGNMENT)
    pointers = [builder.gep(memory, [I64(start)], source_etype=I8) for start in starts[:-1]]
    return [
        one for number, shape in enumerate(shapes) for one in (Array(pointers[2 * number], shape), pointers[2 * number + 1])
    ]


class _Known(NamedTuple):
    """Values that any thread may compute, the same whoever does, with flags that say whether they are known."""

    builder: ir.IRBuilder
    values: Array
    flags: ir.Value

    def forget(self) -> None:
        """None of the values is known."""
        fill_memory(self.builder, self.flags, 0, self.values.shape.size * I64.width // 8)

    def value(self, number: ir.Value) -> RegisterValue:
        return self.values.load(self.builder, (Affine(number),), 1)

    def tell(self, number: ir.Value, value: RegisterValue) -> None:
        self.values.store(self.builder, (Affine(number),), value, 1)
        self.builder.atomic_rmw("xchg", element_address(self.builder, self.flags, number, I64), I64(1), "release")

    def is_there(self, number: ir.Value) -> ir.Value:
        place = element_address(self.builder, self.flags, number, I64)
        return self.builder.icmp_unsigned("!=", self.builder.load_atomic(place, "acquire", 8, typ=I64), I64(0))


class _Part(NamedTuple):
    """What scans a part; what is known of all ``before`` each one, and the ``totals`` of each."""

    scan: Scan
    place: Index
    parts: Parts
    before: _Known
    totals: _Known

    def emit(self, part: ir.Value) -> None:
        b, scan, before = self.scan.builder, self.scan, self.before
        following = b.add(part, I64(1))
        if rounds(scan):  # in the same way, whoever is first
            self._look_back(following)
        else:
            with b.if_then(b.not_(before.is_there(part))):
                self._look_back(following)
        last = scanned_vectors(scan, self.place, [before.value(part)], self.parts.lanes, *self._vectors(part))
        with b.if_then(b.not_(before.is_there(following))):
            before.tell(following, last[0])

    def _vectors(self, part: ir.Value) -> tuple[ir.Value, ir.Value, int]:
        """The first vector of a part, the end, and how many there are at most."""
        b, size = self.scan.builder, self.parts.vectors_of_part
        start = b.mul(part, I64(size))
        return start, indices.least(b, b.add(start, I64(size)), self.parts.vectors), size

    def _look_back(self, following: ir.Value) -> None:
        """Find what all before ``following`` come to, and tell it; first the total of the part in front of that."""
        b, before = self.scan.builder, self.before
        part = b.sub(following, I64(1))
        self._find_total(part)
        with while_loop(b, [part], "known", most=self.parts.count) as loop:
            (known,) = loop.values
            loop.leave_unless(b.not_(before.is_there(known)))
            loop.carry([b.sub(known, I64(1))])

        def go_on(number: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
            self._find_total(number)
            after = self.scan.stepped([self.totals.value(number)], carried, 1)[1]
            before.tell(b.add(number, I64(1)), after[0])
            return after

        carried_loop(b, known, following, 1, [before.value(known)], go_on, "before", self.parts.count)

    def _find_total(self, part: ir.Value) -> None:
        with self.scan.builder.if_then(self.scan.builder.not_(self.totals.is_there(part))):
            self.totals.tell(part, _total(self.scan, self.place, self.parts.lanes, *self._vectors(part)))


def _total(scan: Scan, place: Index, lanes: int, start: ir.Value, stop: ir.Value, most: int) -> RegisterValue:
    """What the elements of some vectors come to."""
    b = scan.builder

    def elements(number: indices.Base) -> list[RegisterValue]:
        return scan.elements(vector_index(scan, place, lanes, number), lanes)

    def combined(first: list[RegisterValue], second: list[RegisterValue], lanes: int) -> list[RegisterValue]:
        return scan.stepped(second, first, lanes)[1]

    def step(number: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
        return combined(carried, elements(number), lanes)

    def abreast(number: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
        places = [indices.add_base(b, number, nth) for nth in range(_ABREAST)]
        return [combined([one], elements(place), lanes)[0] for one, place in zip(carried, places)]

    def folded(first: RegisterValue, second: RegisterValue) -> RegisterValue:
        return combined([first], [second], lanes)[0]

    def first_nan() -> list[RegisterValue]:
        """Of several NaN the first one is that of a scan."""
        with while_loop(b, [b.mul(start, I64(lanes))], "nan", most=most * lanes) as loop:
            (number,) = loop.values
            (element,) = scan.elements(scan.at(place, Affine(scan.position(number))), 1)
            loop.leave_unless(b.fcmp_ordered("ord", element, element))
            loop.carry([b.add(number, I64(1))])
        return [element]

    identity = splat_identity(scan.inputs[0].shape.element_type, _identity(scan), lanes)
    whole = b.sub(stop, b.and_(b.sub(stop, start), I64(_ABREAST - 1)))
    carried = carried_loop(b, start, whole, _ABREAST, [identity] * _ABREAST, abreast, "total", -(-most // _ABREAST))
    carried = carried_loop(b, whole, stop, 1, [reduce(folded, carried)], step, "total.rest", _ABREAST)
    (total,) = combined_lanes(b, carried, lanes, combined)
    if rounds(scan) or not scan.inputs[0].shape.element_type.is_float:
        return total
    return replaced_if(b, b.fcmp_unordered("uno", total, total), [total], first_nan)[0]
