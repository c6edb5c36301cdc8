"""While loops and conditionals: loops and branches of the function that is being emitted."""

from __future__ import annotations

from functools import partial

from llvmlite import ir

from ...compile.aliasing import Value, invariant_leaves
from ...compile.carried_sizes import carried_sizes
from ...hlo import Computation, Instruction, Shape, leaves
from ..llvm.arrays import Array
from ..llvm.branches import chosen
from ..llvm.known_ranges import forget_range, known_rounds
from ..llvm.loops import while_loop
from ..llvm.memory import copy_memory
from ..llvm.types import RegisterValue
from .emitter_table import emits
from .frame import Frame, Leaf, Values


@emits("while")
def emit_while(frame: Frame, loop: Instruction, values: Values) -> list[Leaf]:
    """Scalars are carried in registers; arrays stay in their homes, or move between two buffers."""
    b = frame.builder
    condition, body = loop.attributes["condition"], loop.attributes["body"]
    shapes, initial = leaves(loop.shape), values[loop.operands[0]]
    state = frame.assignment.loops[loop]
    invariant = invariant_leaves(loop)
    arrays = {leaf: _home(frame, loop, leaf, shape, initial[leaf]) for leaf, shape in enumerate(shapes) if shape.rank}
    carried = [leaf for leaf, shape in enumerate(shapes) if not shape.rank and leaf not in invariant]
    moving = sorted(state.seconds)
    pointers = [arrays[leaf].pointer for leaf in moving] + [frame.buffer_pointer(state.seconds[leaf]) for leaf in moving]
    rounds = known_rounds(loop, initial)
    scalars = [initial[leaf] for leaf in carried]
    with while_loop(b, [*scalars, *pointers], most=None if rounds is None else rounds.most) as open_loop:
        values = open_loop.values
        split = len(carried)
        firsts, seconds = values[split : split + len(moving)], values[split + len(moving) :]
        current: list[Leaf] = list(initial)
        for leaf, array in arrays.items():
            current[leaf] = Array(firsts[moving.index(leaf)], array.shape) if leaf in state.seconds else array
        for leaf, value in zip(carried, values):
            current[leaf] = value
        counter = None if rounds is None or rounds.index not in carried else current[rounds.index]
        (goes_on,) = frame.emit_computation(condition, [current])
        open_loop.leave_unless(goes_on)
        if counter is not None:
            rounds.note(counter)
        # While the body is emitted, its targets stand for whichever of the two buffers is the second in this iteration.
        frame.moving.update({state.seconds[leaf]: second for leaf, second in zip(moving, seconds)})
        results = frame.emit_computation(body, [current], carried_sizes(loop))
        if counter is not None:
            forget_range(counter)
        open_loop.carry([*(results[leaf] for leaf in carried), *seconds, *firsts])
    for leaf, first in zip(moving, firsts):
        _bring_home(frame, arrays[leaf], first, shapes[leaf].byte_size)
        current[leaf] = arrays[leaf]
    return current


def _home(frame: Frame, loop: Instruction, leaf: int, shape: Shape, initial: Leaf) -> Array:
    """The array of a state leaf, holding its initial value."""
    homes = frame.assignment.loops[loop].homes
    if leaf not in homes:
        return initial
    home = Array(frame.buffer_pointer(homes[leaf]), shape)
    if homes[leaf] is not frame.assignment.of(Value(loop.operands[0], leaf)):
        copy_memory(frame.builder, home.pointer, initial.pointer, shape.byte_size)
    return home


def _bring_home(frame: Frame, home: Array, current: ir.Value, size: int) -> None:
    """After an odd number of iterations the result lies in the second buffer: copy it."""
    b = frame.builder
    moved = b.icmp_unsigned("!=", current, home.pointer)
    with b.if_then(moved, likely=False):
        copy_memory(frame.builder, home.pointer, current, size)


@emits("conditional")
def emit_conditional(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """A branch for each computation; scalars are merged in registers, arrays lie in the same places whatever is chosen."""
    selector, *operands = instruction.operands
    shapes = leaves(instruction.shape)
    scalars = [leaf for leaf, shape in enumerate(shapes) if not shape.rank]

    def run(branch: Computation, operand: Instruction) -> list[RegisterValue]:
        results = frame.emit_computation(branch, [values[operand]])
        return [results[leaf] for leaf in scalars]

    alternatives = [partial(run, *one) for one in zip(instruction.called_computations, operands)]
    merged: list[Leaf] = [None] * len(shapes)
    for leaf, value in zip(scalars, chosen(frame.builder, values[selector][0], alternatives)):
        merged[leaf] = value
    for leaf, shape in enumerate(shapes):
        if shape.rank:
            merged[leaf] = frame.array(Value(instruction, leaf), shape)
    return merged
