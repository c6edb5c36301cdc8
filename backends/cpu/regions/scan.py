"""The scan region: each element of a slice carries values of its own through the slices.

Lanes are neighbours within a slice; a few vectors of it are carried in registers, or whole slices stream by.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import itemgetter

from llvmlite import ir

from ....compile.aliasing import Value
from ....compile.fused_computations import as_computation
from ....compile.scan_steps import elementwise_step
from ....hlo import Computation, Instruction, leaves
from ...llvm import index as indices
from ...llvm.arrays import Array
from ...llvm.elemental import Binding
from ...llvm.index import Affine, Base, Component, Index
from ...llvm.loops import counted_loop, loop_nest
from ...llvm.pieces import in_one_piece, independent_loop, independent_loops, loop_of_piece
from ...llvm.scans import Mask, Scan
from ...llvm.types import RegisterValue
from ..emitter_table import emits
from ..frame import Frame, Leaf, Values
from ..nest_samples import changing_sign, running_sum, samples
from ..nests import Nest, emit_nest
from ..target import Target
from ..vectors import VectorLoop, lanes_of_scan, vector_strips
from ..work_estimate import nanoseconds
from .scan_lines import emit_lines
from .scan_parts import emit_in_parts, plan_parts
from .scan_tiles import emit_tiles, plan_tiles

# As many vectors of a slice are carried in registers.
_VECTORS = 8
# As many vectors of each slice are in a piece, at least.
_LEAST_VECTORS = 16
# Where no slice has a result of its own, so many bytes of carries stay in the first-level cache.
_PIECE_BYTES = 1 << 14
# Steps of so few instructions combine several slices with a vector of carries before it is stored.
_SHORT_STEP, _SLICES_AT_ONCE = 12, 4


def is_native(scan: Instruction) -> bool:
    """Whether the computation does the same to each element of the slices."""
    return elementwise_step(scan) is not None


@samples(
    # The carries of a few vectors stay in registers, or whole slices stream by.
    """
    x = s32[30,5] parameter(0)
    init = s32[5] parameter(1)
    ROOT y = (s32[30,5], s32[5]) scan(x, init), dimensions={0}, num_carries=1, to_apply=running_sum_s32_5
    """,
    """
    x = s32[3,30,1000] parameter(0)
    init = s32[3,1000] parameter(1)
    ROOT y = (s32[3,30,1000], s32[3,1000]) scan(x, init), dimensions={1}, num_carries=1, is_reverse=true,
      to_apply=running_sum_s32_3_1000
    """,
    """
    x = s32[0,5] parameter(0)
    init = s32[5] parameter(1)
    ROOT y = (s32[0,5], s32[5]) scan(x, init), dimensions={0}, num_carries=1, to_apply=running_sum_s32_5
    """,
    # The last carries alone are wanted.
    """
    x = s32[3,30,5003] parameter(0)
    init = s32[3,5003] parameter(1)
    ROOT y = s32[3,5003] scan(x, init), dimensions={1}, num_carries=1, to_apply=difference_s32_3_5003
    """,
    calls=running_sum("s32[5]")
    + running_sum("s32[3,1000]")
    + """difference_s32_3_5003 {
      x = s32[3,5003] parameter(0)
      carry = s32[3,5003] parameter(1)
      ROOT rest = s32[3,5003] subtract(carry, x)
    }""",
)
@emits("scan", is_native=is_native)
def scan(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    return fused_scan(frame, instruction, as_computation(instruction), values)


def fused_scan(frame: Frame, instruction: Instruction, computation: Computation, values: Values) -> list[Leaf]:
    """A scan, or a fusion whose computation holds one."""
    operands, outputs = [values[operand][0] for operand in instruction.operands], frame.outputs(instruction)
    stops, work = frame.stops(instruction, values), nanoseconds(computation)
    if frame.regions.is_divided(work) and not stops and not _is_in_place(frame, instruction):
        parts = plan_parts(Scan(frame.builder, computation, operands, outputs), frame.target, work)
        if parts is not None:
            emit_in_parts(frame.builder, frame.regions, computation, operands, outputs, parts)
            return frame.loaded(outputs)

    def emit(nest: Nest) -> None:
        (stop,) = nest.stops.values() or (None,)
        emit_scan(nest.builder, nest.target, computation, nest.operands, nest.outputs, stop)

    return emit_nest(frame, instruction, emit, operands, outputs, stops=stops, divides=True)


def _is_in_place(frame: Frame, instruction: Instruction) -> bool:
    """Whether results are written where operands are."""
    of = frame.assignment.of
    written = [of(Value(instruction, leaf)) for leaf, shape in enumerate(leaves(instruction.shape)) if shape.rank]
    return any(operand.shape.rank and of(Value(operand)) in written for operand in instruction.operands)


@samples(
    # An input tells the first step from others, and the step reads the bits of an element.
    """
    x = f32[30,5] parameter(0)
    init = f32[5] parameter(1)
    number = s64[30,5] iota(), iota_dimension=0
    zero = s64[] constant(0)
    zeros = s64[30,5] broadcast(zero), dimensions={}
    first = pred[30,5] compare(number, zeros), direction=EQ
    ROOT y = (f32[30,5], f32[5]) scan(x, first, init), dimensions={0}, num_carries=1, to_apply=changing_sign_5
    """,
    calls=changing_sign("5"),
)
def emit_scan(
    builder: ir.IRBuilder,
    target: Target,
    computation: Computation,
    arguments: list[Binding],
    outputs: list[Array],
    stop: ir.Value | None = None,
) -> None:
    """Run a computation that holds one scan, what it reads, and elementwise operations on its outputs.

    ``arguments`` binds the parameters; ``outputs`` are for the results, scalars in memory, too. ``stop`` is the number of
    steps behind which the results are not needed.
    """
    scan = Scan(builder, computation, arguments, outputs, stop)
    if 0 in scan.slice_sizes:
        return
    if not scan.steps:
        _hand_on(scan)
    elif tiles := plan_tiles(scan, target):
        emit_tiles(scan, tiles)
    elif scan.along == scan.rank - 1:
        emit_lines(scan, target)
    else:
        _emit_columns(scan, lanes_of_scan(target, scan, scan.sizes[-1]))


def _hand_on(scan: Scan) -> None:
    """The first carries are the last ones, where there are no slices."""
    with independent_loops(scan.builder, scan.slice_sizes) as place:
        scan.store_carries(place, scan.first_carries(place, 1), 1)


def _emit_columns(scan: Scan, lanes: int) -> None:
    arrays = _arrays_of_carries(scan)
    if not scan.results and len(scan.last_carries) == len(scan.inits) and scan.sizes[-1] > _VECTORS * lanes:
        _emit_pieces(scan, lanes)
    elif arrays is None or scan.sizes[-1] <= _VECTORS * lanes and scan.rank == scan.along + 2:
        _emit_strips(scan, lanes)
    else:
        _emit_slices(scan, lanes, arrays)


def _emit_strips(scan: Scan, lanes: int) -> None:
    """A few vectors of each slice, whose carries stay in registers."""
    b, count = scan.builder, len(scan.inits)
    vectors = max(1, _VECTORS // max(1, count))
    with independent_loops(b, scan.slice_sizes[:-1]) as outer:

        def strip(start: Component, vectors: int, mask: Mask) -> None:
            places = [(*outer, indices.add(b, start, number * lanes)) for number in range(vectors)]

            def step(number: Base, carries: list[RegisterValue], is_first: bool | None) -> list[RegisterValue]:
                following: list[RegisterValue] = []
                position = Affine(scan.position(number))
                for nth, place in enumerate(places):
                    index = scan.at(place, position)
                    own = carries[nth * count : (nth + 1) * count]
                    outputs, own = scan.stepped(scan.elements(index, lanes, mask, is_first), own, lanes)
                    scan.store(index, outputs, lanes, mask)
                    following += own
                return following

            first = [carry for place in places for carry in scan.first_carries(place, lanes, mask)]
            last = scan.each_step(0, scan.end, first, step)
            for nth, place in enumerate(places):
                scan.store_carries(place, last[nth * count : (nth + 1) * count], lanes, mask)

        vector_strips(b, scan.slice_sizes[-1], lanes, vectors, strip, independent=True)


def _emit_pieces(scan: Scan, lanes: int) -> None:
    """The carries alone are wanted, and stay in their results, a piece of these at a time, while whole slices stream by."""
    b, size = scan.builder, scan.slice_sizes[-1]
    arrays = [array for _, array in sorted(scan.last_carries, key=itemgetter(0))]
    at_once = _SLICES_AT_ONCE if len(scan.step.instructions) + len(scan.outside.instructions) <= _SHORT_STEP else 1
    piece = min(size, _PIECE_BYTES // max(array.shape.element_type.byte_size for array in arrays))
    with independent_loops(b, scan.slice_sizes[:-1]) as outer:

        def emit(first: Base, count: int) -> None:
            def columns(body: Callable[[Index, int, Mask], None]) -> None:
                def vector(component: Affine, lanes: int, mask: Mask) -> None:
                    body((*outer, indices.add(b, component, first)), lanes, mask)

                VectorLoop(b, lanes, in_place=True).emit(count, vector)

            def slices(start: Base, number: int) -> None:
                def combine(place: Index, lanes: int, mask: Mask) -> None:
                    carries = [array.load(b, place, lanes, mask) for array in arrays]
                    for nth in range(number):
                        index = scan.at(place, Affine(scan.position(indices.add_base(b, start, nth))))
                        _, carries = scan.stepped(scan.elements(index, lanes, mask), carries, lanes)
                    scan.store_carries(place, carries, lanes, mask)

                columns(combine)

            columns(lambda place, *how: scan.store_carries(place, scan.first_carries(place, *how), *how))
            whole, rest = divmod(scan.steps, at_once)
            if whole:
                with counted_loop(b, whole, "slices") as number:
                    slices(indices.multiply_base(b, number, at_once), at_once)
            if rest:
                slices(whole * at_once, rest)

        whole, rest = divmod(size, piece)
        with independent_loop(b, whole, "piece") as number:
            emit(indices.multiply_base(b, number, piece), piece)
        if rest:
            with in_one_piece(b):
                emit(whole * piece, rest)


def _arrays_of_carries(scan: Scan) -> list[Array] | None:
    """The results that hold the carries of each step; None where there are carries that none of them holds."""
    stored = {number: array for part, number in scan.parts for root, array in scan.results if root is part}
    carries = scan.step_results[scan.output_count :]
    held = [next((stored[n] for n in stored if scan.step_results[n] is carry), None) for carry in carries]
    return None if None in held else held


def _emit_slices(scan: Scan, lanes: int, arrays: list[Array]) -> None:
    """Whole slices; the carries are read back from the results for the slice before, which is still in the cache.

    A piece has some vectors of all slices.
    """
    b, along = scan.builder, scan.along

    def vectors(before: Index, body: Callable[[Index, int, Mask], None]) -> None:
        with loop_nest(b, scan.slice_sizes[along:-1]) as middle:
            VectorLoop(b, lanes, in_place=False, loop=partial(loop_of_piece, least=_LEAST_VECTORS)).emit(
                scan.slice_sizes[-1], lambda component, lanes, mask: body((*before, *middle, component), lanes, mask)
            )

    def slice_(before: Index, number: Base, first: bool) -> None:
        def vector(place: Index, lanes: int, mask: Mask) -> None:
            if first:
                carries = scan.first_carries(place, lanes, mask)
            else:
                carries = held(place, indices.add_base(b, number, -1), lanes, mask)
            index = scan.at(place, Affine(scan.position(number)))
            outputs, _ = scan.stepped(scan.elements(index, lanes, mask, first), carries, lanes)
            scan.store(index, outputs, lanes, mask)

        vectors(before, vector)

    def held(place: Index, number: Base, lanes: int, mask: Mask) -> list[RegisterValue]:
        return [array.load(b, scan.at(place, Affine(scan.position(number))), lanes, mask) for array in arrays]

    with independent_loops(b, scan.slice_sizes[:along]) as before:
        slice_(before, 0, first=True)
        if scan.steps > 1:
            needed = None if scan.stop is None else indices.add_base(b, scan.stop, -1)
            with counted_loop(b, scan.steps - 1, stop=needed) as number:
                slice_(before, indices.add_base(b, number, 1), first=False)
        if scan.last_carries:
            vectors(before, lambda place, *how: scan.store_carries(place, held(place, scan.steps - 1, *how), *how))
