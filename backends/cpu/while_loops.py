"""While loops of the function that is being emitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir

from ...compile.aliasing import Value, invariant_leaves
from ...compile.trip_count import known_trip_count
from ...hlo import Instruction, Shape, leaves
from ..llvm.arrays import Array
from ..llvm.loops import while_loop

if TYPE_CHECKING:
    from .module_emitter import Leaf, ModuleEmitter, Values


def emit_while(emitter: ModuleEmitter, loop: Instruction, values: Values) -> list[Leaf]:
    """Scalars are carried in registers; arrays stay in their homes, or move between two buffers."""
    b = emitter.builder
    condition, body = loop.attributes["condition"], loop.attributes["body"]
    shapes, initial = leaves(loop.shape), values[loop.operands[0]]
    state = emitter.assignment.loops[loop]
    invariant = invariant_leaves(loop)
    arrays = {leaf: _home(emitter, loop, leaf, shape, initial[leaf]) for leaf, shape in enumerate(shapes) if shape.rank}
    carried = [leaf for leaf, shape in enumerate(shapes) if not shape.rank and leaf not in invariant]
    moving = sorted(state.seconds)
    pointers = [arrays[leaf].pointer for leaf in moving] + [emitter._buffer_pointer(state.seconds[leaf]) for leaf in moving]
    trips = known_trip_count(loop)
    scalars = [initial[leaf] for leaf in carried]
    with while_loop(b, [*scalars, *pointers], most=None if trips is None else trips.count) as open_loop:
        values = open_loop.values
        split = len(carried)
        firsts, seconds = values[split : split + len(moving)], values[split + len(moving) :]
        current: list[Leaf] = list(initial)
        for leaf, array in arrays.items():
            current[leaf] = Array(firsts[moving.index(leaf)], array.shape) if leaf in state.seconds else array
        for leaf, value in zip(carried, values):
            current[leaf] = value
        (goes_on,) = emitter._emit_computation(condition, [current])
        open_loop.leave_unless(goes_on)
        # While the body is emitted, its targets stand for whichever of the two buffers is the second in this iteration.
        emitter._moving.update({state.seconds[leaf]: second for leaf, second in zip(moving, seconds)})
        results = emitter._emit_computation(body, [current])
        open_loop.carry([*(results[leaf] for leaf in carried), *seconds, *firsts])
    for leaf, first in zip(moving, firsts):
        _bring_home(emitter, arrays[leaf], first, shapes[leaf].byte_size)
        current[leaf] = arrays[leaf]
    return current


def _home(emitter: ModuleEmitter, loop: Instruction, leaf: int, shape: Shape, initial: Leaf) -> Array:
    """The array of a state leaf, holding its initial value."""
    homes = emitter.assignment.loops[loop].homes
    if leaf not in homes:
        return initial
    home = Array(emitter._buffer_pointer(homes[leaf]), shape)
    if homes[leaf] is not emitter.assignment.of(Value(loop.operands[0], leaf)):
        emitter._copy(home.pointer, initial.pointer, shape.byte_size)
    return home


def _bring_home(emitter: ModuleEmitter, home: Array, current: ir.Value, size: int) -> None:
    """After an odd number of iterations the result lies in the second buffer: copy it."""
    b = emitter.builder
    moved = b.icmp_unsigned("!=", current, home.pointer)
    with b.if_then(moved, likely=False):
        emitter._copy(home.pointer, current, size)
