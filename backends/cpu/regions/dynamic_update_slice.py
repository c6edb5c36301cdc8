"""The region of dynamic-update-slice: a block written into an array, by whole runs of memory."""

from __future__ import annotations

from llvmlite import ir

from ....hlo import Instruction
from ...llvm.arrays import Array
from ...llvm.elemental import ElementalEmitter, clamped_starts
from ...llvm.index import Affine, add_base
from ...llvm.loops import loop_nest
from ...llvm.memory import copy_memory
from ..emitter_table import emits
from ..frame import Frame, Leaf, Values
from ..nest_samples import samples


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
    _copy_block(frame.builder, output, bases, values[update][0])
    return [output]


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
    with loop_nest(b, sizes[:run]) as index:
        inner = (Affine(0),) * (len(sizes) - run)
        source = update.address(b, (*index, *inner))
        target = tuple(Affine(add_base(b, base, i.base)) for base, i in zip(bases, (*index, *inner)))
        copy_memory(b, output.address(b, target), source, run_bytes)
