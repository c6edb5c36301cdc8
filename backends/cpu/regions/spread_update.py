"""Values that are written into an array with steps between them, as by ``x[::3] = y``: nothing else of the array is touched.

Before: ``select(pad(true), pad(value), array)``, a loop over the array that asks of each element whether it is written, and of
which element of the value. After: a loop over the value.
"""

from __future__ import annotations

from llvmlite import ir

from ....compile.spread_update import SpreadUpdate
from ....hlo import Computation, Instruction
from ...llvm.arrays import Array, View
from ...llvm.elemental import Binding
from ...llvm.index import ZERO, Affine
from ..nest_samples import samples
from ..target import Target
from .loop import emit_loop_at

# Below this step, whole vectors with one number in some lanes are written faster than their elements are.
_LEAST_STEP_OF_ONE_NUMBER = 4


def may_emit_spread_update(update: SpreadUpdate) -> bool:
    """Whether a loop over the value is faster than one over the array."""
    return update.number is None or update.steps[-1] not in range(2, _LEAST_STEP_OF_ONE_NUMBER)


@samples(
    """
    x = f32[40,50] parameter(0)
    y = f32[10,25] parameter(1)
    true = pred[] constant(true)
    false = pred[] constant(false)
    zero = f32[] constant(0)
    trues = pred[10,25] broadcast(true), dimensions={}
    mask = pred[40,50] pad(trues, false), padding=1_2_3x0_1_1
    old = f32[10,25] slice(x), slice={[1:38:4],[0:50:2]}
    n = f32[10,25] multiply(y, old)
    new = f32[40,50] pad(n, zero), padding=1_2_3x0_1_1
    ROOT z = f32[40,50] select(mask, new, x)
    """,
    # Its operand is needed afterwards, and read where it is not written.
    """
    x = s32[31,20] parameter(0)
    true = pred[] constant(true)
    false = pred[] constant(false)
    zero = s32[] constant(0)
    trues = pred[10,20] broadcast(true), dimensions={}
    mask = pred[31,20] pad(trues, false), padding=0_3_2x0_0_0
    old = s32[10,20] slice(x), slice={[1:29:3],[0:20]}
    n = s32[10,20] negate(old)
    new = s32[31,20] pad(n, zero), padding=0_3_2x0_0_0
    z = s32[31,20] select(mask, new, x)
    ROOT both = (s32[31,20], s32[31,20]) tuple(z, x)
    """,
)
def emit_spread_update(
    b: ir.IRBuilder,
    target: Target,
    computation: Computation,
    update: SpreadUpdate,
    arguments: list[Binding],
    output: Array,
    is_held: bool,
) -> None:
    """Write the values into the output, which ``is_held`` by the array, or holds a copy of it."""
    if not update.value.shape.size:
        return
    first = output.address(b, tuple(map(Affine, update.starts)))
    steps = tuple(stride * step for stride, step in zip(output.strides, update.steps))
    elements = View(first, update.value.shape.without_layout(), steps)
    origin = (ZERO,) * len(steps)
    emit_loop_at(b, target, _computing(update.value, computation), arguments, elements, origin, is_held)


def _computing(value: Instruction, computation: Computation) -> Computation:
    """What computes a value, which may stand outside of the computation."""
    needed = {value}
    for instruction in reversed((*computation.instructions, value)):
        if instruction in needed:
            needed.update(instruction.operands)
    inside = [one for one in computation.instructions if one is not value and (one in needed or one.opcode == "parameter")]
    return Computation(computation.name, (*inside, value), value)
