"""The regions of dynamic-update-slice: a block copied into an array by whole runs of memory, or computed there."""

from __future__ import annotations

from llvmlite import ir

from ....compile.aliasing import Value
from ....compile.fused_computations import as_computation, producers
from ....compile.in_place import updated_operand
from ....compile.update_fusion import is_one_run
from ....hlo import Computation, Instruction
from ...llvm.arrays import Array
from ...llvm.elemental import Binding, ElementalEmitter, clamped_starts
from ...llvm.index import Affine, add_base, i64
from ...llvm.memory import copy_memory
from ...llvm.pieces import independent_loops
from ..emitter_table import emits
from ..frame import Frame, Leaf, Values
from ..nest_samples import samples
from ..region_functions import Division
from ..target import Target
from ..work_estimate import copying, nanoseconds
from .loop import emit_loop, emit_loop_at


@samples(
    """
    x = f32[6,7] parameter(0)
    y = f32[2,3] parameter(1)
    i = s32[] parameter(2)
    j = s32[] parameter(3)
    ROOT z = f32[6,7] dynamic-update-slice(x, y, i, j)
    """,
    # Its operand is needed afterwards.
    """
    x = s8[6,5,4] parameter(0)
    y = s8[3,5,4] parameter(1)
    i = u64[] parameter(2)
    zero = u64[] constant(0)
    z = s8[6,5,4] dynamic-update-slice(x, y, i, zero, zero)
    ROOT both = (s8[6,5,4], s8[6,5,4]) tuple(z, x)
    """,
)
@emits("dynamic-update-slice")
def dynamic_update_slice(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """Write the update into the operand's own memory, or into a copy where the operand is needed afterwards."""
    operand, update, *starts = instruction.operands
    if instruction.shape.rank == 0:
        return values[update]
    output = frame.updated(instruction, 0, operand, values)
    if update.shape.size == 0:
        return [output]
    bindings = {start: values[start][0] for start in starts}
    emitter = ElementalEmitter(frame.builder, 1, bindings)
    bases = clamped_starts(emitter, tuple(starts), operand.shape.dimensions, update.shape.dimensions)
    work = copying(update.shape)
    if frame.regions.is_divided(work):
        frame.regions.emit(
            frame.builder,
            (instruction.opcode, as_computation(instruction)),
            [output, values[update][0], *map(i64, bases)],
            lambda builder, bindings: _copy_block(builder, bindings[0], bindings[2:], bindings[1]),
            1,
            Division(work),
        )
    else:
        _copy_block(frame.builder, output, bases, values[update][0])
    return [output]


@samples(
    """
    x = f32[40,50] parameter(0)
    y = f32[40,50] parameter(1)
    a = f32[20,40] slice(x), slice={[10:30],[5:45]}
    b = f32[20,40] slice(y), slice={[3:23],[10:50]}
    n = f32[20,40] add(a, b)
    row = s32[] constant(10)
    column = s32[] constant(5)
    ROOT z = f32[40,50] dynamic-update-slice(x, n, row, column)
    """,
    # One run of memory, whose place is computed, and which is needed afterwards as it was.
    """
    x = c64[6,7,50] parameter(0)
    y = c64[1,7,50] parameter(1)
    i = s32[] parameter(2)
    zero = s32[] constant(0)
    old = c64[1,7,50] dynamic-slice(x, i, zero, zero), dynamic_slice_sizes={1,7,50}
    n = c64[1,7,50] multiply(old, y)
    z = c64[6,7,50] dynamic-update-slice(x, n, i, zero, zero)
    ROOT both = (c64[6,7,50], c64[6,7,50]) tuple(z, x)
    """,
)
def fused_update(frame: Frame, instruction: Instruction, computation: Computation, values: Values) -> list[Leaf]:
    """Compute the update within the operand's own memory, or within a copy where the operand is needed afterwards."""
    update = computation.root
    number = updated_operand(instruction)
    output = frame.updated(instruction, 0, instruction.operands[number], values)
    arguments = [values[operand][0] for operand in instruction.operands]
    if update.operands[1].shape.size == 1:
        _emit_update(frame.builder, frame.target, computation, arguments, output, in_place=True)
        return [output]
    of = frame.assignment.of
    is_read = any(update.operands[0] in one.operands for one in computation.instructions if one is not update)
    in_place = is_read and of(Value(instruction.operands[number])) is of(Value(instruction))
    frame.regions.emit(
        frame.builder,
        ("update", computation, in_place),
        [*arguments, output],
        lambda builder, bindings: _emit_update(builder, frame.target, computation, bindings[:-1], bindings[-1], in_place),
        1,
        Division(nanoseconds(producers(computation, (update.operands[1],)))),
    )
    return [output]


def _emit_update(
    b: ir.IRBuilder, target: Target, computation: Computation, arguments: list[Binding], output: Array, in_place: bool
) -> None:
    update = computation.root
    array, block, *starts = update.operands
    emitter = ElementalEmitter(b, 1, dict(zip(computation.parameters, arguments)))
    bases = clamped_starts(emitter, tuple(starts), array.shape.dimensions, block.shape.dimensions)
    origin = tuple(Affine(base) for base in bases)
    computed = producers(computation, (block,))
    if is_one_run(update):
        run = Array(output.address(b, origin), block.shape)
        emit_loop(b, target, computed, arguments, [run], in_place)
    else:
        emit_loop_at(b, target, computed, arguments, output, origin, in_place)


def _copy_block(b: ir.IRBuilder, output: Array, bases: list, update: Array) -> None:
    """Copy a block into an array: whole runs of memory at a time."""
    full, sizes = output.shape.dimensions, update.shape.dimensions
    # The trailing dimensions that the block fills wholly, and one more, lie in one run.
    run = len(sizes) - 1
    while run > 0 and sizes[run] == full[run]:
        run -= 1
    run_bytes = output.shape.element_type.byte_size
    for size in sizes[run:]:
        run_bytes *= size
    with independent_loops(b, sizes[:run]) as index:
        inner = (Affine(0),) * (len(sizes) - run)
        source = update.address(b, (*index, *inner))
        target = tuple(Affine(add_base(b, base, i.base)) for base, i in zip(bases, (*index, *inner)))
        copy_memory(b, output.address(b, target), source, run_bytes)
