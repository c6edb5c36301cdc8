"""Fused computations: the hero gives the loop nest its form. What stands alone is a fusion of one."""

from __future__ import annotations

from llvmlite import ir

from ....compile.aliasing import Value
from ....compile.fused_computations import as_computation, has_scan, producers, result_roots
from ....compile.in_place import update_of
from ....compile.spread_update import spread_update_of
from ....hlo import Computation, Instruction
from ...llvm.elemental import Binding, ElementalEmitter
from ...llvm.memory import copy_memory
from ...llvm.reductions import Reduction
from ..emitter_table import emits, emits_elements
from ..frame import Frame, Leaf, Values
from ..nest_samples import combining, samples
from ..region_functions import UNDIVIDED, Division, RegionFunctions
from ..row_groups import Region
from ..work_estimate import nanoseconds
from .dynamic_update_slice import fused_update
from .loop import emit_loop
from .parts import emit_in_parts, has_parts
from .reduction import emit_reduction
from .scan import fused_scan
from .scatter import fused_scatter
from .scatter_tables import table_bytes
from .spread_update import emit_spread_update, may_emit_spread_update

# Each operand has loops of its own in one native function.
_MOST_CONCATENATED = 128


@samples(
    """
    x = f32[40,50] parameter(0)
    y = f32[40] parameter(1)
    b = f32[40,50] broadcast(y), dimensions={0}
    m = f32[40,50] multiply(x, b)
    n = f32[40,50] subtract(m, x)
    a = f32[40,50] abs(n)
    ROOT both = (f32[40,50], f32[40,50]) tuple(n, a)
    """,
    """
    x = f32[30] parameter(0)
    ROOT y = f32[30] reverse(x), dimensions={0}
    """,
    """
    x = s32[40,50] parameter(0)
    zero = s32[] constant(0)
    n = s32[40,50] multiply(x, x)
    ROOT sum = s32[50] reduce(n, zero), dimensions={0}, to_apply=add_s32
    """,
    calls=combining("add", "s32[]"),
)
@emits("fusion", scratch=table_bytes, joins_row_groups=True)
def fusion(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    computation = instruction.attributes["calls"]
    if has_scan(computation):
        frame.row_groups.flush(frame.builder)
        return fused_scan(frame, instruction, computation, values)
    if update_of(instruction) is not None:
        frame.row_groups.flush(frame.builder)
        emit = fused_scatter if computation.root.opcode == "scatter" else fused_update
        return emit(frame, instruction, computation, values)
    roots = result_roots(computation)
    if len(roots) == 1 and roots[0].opcode == "reduce":
        return _reduction(frame, instruction, computation, values)
    if any(root.opcode == "reduce" for root in roots):
        raise NotImplementedError("fusion of several reductions has no native code")
    if roots[0].shape.rank == 0:
        frame.row_groups.flush(frame.builder)
        bindings = dict(zip(computation.parameters, _bindings(instruction, values)))
        emitter = ElementalEmitter(frame.builder, 1, bindings)
        return [emitter.emit(root, ()) for root in roots]
    return _in_row_groups(frame, instruction, computation, values, _emit_loop)


@samples(
    """
    x = s32[40,50] parameter(0)
    init = s32[] parameter(1)
    ROOT sum = s32[] reduce(x, init), dimensions={0,1}, to_apply=add_s32
    """,
    calls=combining("add", "s32[]"),
)
@emits("reduce", joins_row_groups=True)
def reduce(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    return _reduction(frame, instruction, as_computation(instruction), values)


@samples(
    """
    x = f32[] parameter(0)
    y = f32[] parameter(1)
    ROOT z = f32[] multiply(x, y)
    """,
)
@emits_elements(
    concatenate=lambda concatenate: len(concatenate.operands) <= _MOST_CONCATENATED,
    select=lambda select: not select.shape.is_tuple,
)
def single(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """An instruction outside of any fusion: a scalar, or a loop of its own."""
    if instruction.shape.rank == 0:
        bindings = dict(zip(instruction.operands, _bindings(instruction, values)))
        return [ElementalEmitter(frame.builder, 1, bindings).emit(instruction, ())]
    return _in_row_groups(frame, instruction, as_computation(instruction), values, _emit_loop)


def _bindings(instruction: Instruction, values: Values) -> list[Binding]:
    return [values[operand][0] for operand in instruction.operands]


def _reduction(frame: Frame, instruction: Instruction, computation: Computation, values: Values) -> list[Leaf]:
    """A computation whose root is a reduce."""
    if result_roots(computation)[0].shape.is_tuple or computation.root.shape.rank:
        first = computation.root.shape.elements[0] if computation.root.shape.is_tuple else computation.root.shape
        if first.rank:
            return _in_row_groups(frame, instruction, computation, values, _emit_reduction)
    frame.row_groups.flush(frame.builder)
    outputs = frame.outputs(instruction)
    stops = frame.stops(instruction, values)
    region = Region(computation, _bindings(instruction, values), outputs, False, [], [], _emit_reduction, stops)
    region.emit(frame.builder, frame.regions)
    return frame.loaded(outputs)


def _in_row_groups(frame: Frame, instruction: Instruction, computation: Computation, values: Values, emit) -> list[Leaf]:
    """Hand a loop or a reduction into arrays to the row groups."""
    outputs, of = frame.outputs(instruction), frame.assignment.of
    argument_buffers = [of(Value(operand)) if operand.shape.rank else None for operand in instruction.operands]
    output_buffers = [of(Value(instruction, leaf)) for leaf in range(len(outputs))]
    in_place = any(buffer in output_buffers for buffer in argument_buffers if buffer is not None)
    arguments, stops = _bindings(instruction, values), frame.stops(instruction, values)
    unread = frozenset(number for number, buffer in enumerate(output_buffers) if buffer.is_unread)
    frame.row_groups.add(
        frame.builder,
        Region(computation, arguments, outputs, in_place, argument_buffers, output_buffers, emit, stops, unread),
    )
    return outputs


def _emit_loop(builder: ir.IRBuilder, functions: RegionFunctions, region: Region) -> None:
    first, last, stops = len(region.arguments), len(region.arguments) + len(region.outputs), region.stops
    update = None if stops else spread_update_of(region.computation)
    may_spread = update is not None and may_emit_spread_update(update)
    may_spread = may_spread and (not region.in_place or region.kept == update.array.attributes["number"])
    if may_spread and region.kept is None:
        array, copy = region.arguments[update.array.attributes["number"]], region.outputs[0]
        copy_memory(builder, copy.pointer, array.pointer, copy.shape.byte_size)

    def emit(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        arguments, outputs = bindings[:first], bindings[first:last]
        if may_spread:
            is_held = region.kept is not None
            emit_spread_update(builder, functions.target, region.computation, update, arguments, outputs[0], is_held)
            return
        ends = dict(zip(stops, bindings[last:]))
        emit_loop(builder, functions.target, region.computation, arguments, outputs, region.in_place, ends, region.kept)

    key = ("loop", region.computation, region.in_place, region.kept, tuple(stops))
    work = nanoseconds(region.computation)
    functions.emit(builder, key, [*region.arguments, *region.outputs, *stops.values()], emit, 1, Division(work))


def _emit_reduction(builder: ir.IRBuilder, functions: RegionFunctions, region: Region) -> None:
    """A computation whose root is a reduce, into arrays or, where everything is reduced, into memory for scalars."""
    computation, reduce = region.computation, region.computation.root
    count = len(reduce.operands) // 2
    reduced_values = producers(computation, reduce.operands[:count])
    dimensions = tuple(sorted(reduce.attributes["dimensions"]))
    work = nanoseconds(computation)
    in_parts = not region.stops and functions.is_divided(work) and has_parts(reduced_values, dimensions, reduce)

    first, last, stops = len(region.arguments), len(region.arguments) + count, region.stops

    def emit(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        arguments, outputs = bindings[:first], bindings[first:last]
        ends = dict(zip(stops, bindings[last:]))
        scalars = ElementalEmitter(builder, 1, dict(zip(computation.parameters, arguments)))
        init_values = [scalars.emit(init, ()) for init in reduce.operands[count:]]
        to_apply = reduce.attributes["to_apply"]
        reduction = Reduction(reduced_values, arguments, init_values, dimensions, to_apply, ends, unread=region.unread)
        if in_parts:
            emit_in_parts(builder, functions, computation, reduction, outputs, work)
            return
        arrays = [output for output in outputs if output.shape.rank]
        for slot, value in zip(outputs, emit_reduction(builder, functions.target, reduction, arrays)):
            slot.store(builder, (), value, 1)

    key = ("reduce", computation, tuple(stops), region.unread)
    values = [*region.arguments, *region.outputs, *stops.values()]
    functions.emit(builder, key, values, emit, 10, UNDIVIDED if in_parts else Division(work))
