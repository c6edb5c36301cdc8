"""While loops and conditionals: loops and branches of the plan, or of one thread where they hold scalars alone."""

from __future__ import annotations

from functools import partial

import numpy as np
from llvmlite import ir

from ...compile.aliasing import Value, invariant_leaves
from ...compile.trip_count import known_trip_count
from ...hlo import PRED, Computation, Instruction, Shape, leaves
from ..llvm.called_computations import holds_arrays
from ..llvm.elemental import Binding
from ..llvm.scalar_computations import emit_scalar_computation
from ..llvm.scalar_control_flow import emit_scalar_conditional, emit_scalar_while
from ..llvm.types import RegisterValue
from .emitter_table import emits
from .frame import Frame
from .loop_counters import counter_of
from .plan import Conditional, Copy, Point, Step, While
from .values import Leaf, Loop, Stored, Values, known_scalar


@emits("while")
def emit_while(frame: Frame, loop: Instruction, values: Values) -> list[Leaf]:
    """Scalars are carried in slots; arrays stay in their homes, or move between two buffers. What counts rounds whose number is
    known is carried by nothing.

    The condition is computed before the loop and at the end of each round, where it joins what computes the next state.
    """
    if _holds_scalars_alone(loop):
        return _in_one_thread(frame, loop, values[loop.operands[0]])
    condition, body = loop.attributes["condition"], loop.attributes["body"]
    shapes, initial = leaves(loop.shape), values[loop.operands[0]]
    state = frame.assignment.loops[loop]
    invariant = invariant_leaves(loop)
    trips = known_trip_count(loop)
    counter = counter_of(frame, loop, trips)
    current: list[Leaf] = list(initial)
    moves = []
    for leaf, shape in enumerate(shapes):
        if leaf in invariant or initial[leaf] is None or (counter is not None and leaf == counter.leaf):
            continue
        if shape.rank:
            current[leaf] = _home(frame, loop, leaf, initial[leaf])
        else:
            current[leaf] = frame.slot(shape)
            moves.append((initial[leaf], current[leaf]))
    frame.move_scalars(moves)
    homes = {leaf: current[leaf] for leaf in sorted(state.seconds)}
    firsts = {leaf: frame.pointer() for leaf in homes}
    seconds = {leaf: frame.pointer() for leaf in homes}
    before: list[Step] = []
    is_odd = frame.slot(Shape(PRED)) if homes and trips is None else None
    if is_odd is not None:
        frame.move_scalars([(known_scalar(np.False_, is_odd.shape), is_odd)])
    if homes:
        numbers = [place.number for place in (*firsts.values(), *seconds.values())]
        places = [home.place for home in homes.values()] + [frame.place_of(state.seconds[leaf]) for leaf in homes]
        before.append(Point(tuple(numbers), tuple(places)))
        frame.add(before[0])
    for leaf, home in homes.items():
        current[leaf] = Stored(firsts[leaf], home.shape)
    predicate = None if trips is not None else _condition(frame, condition, current)
    frame.flush()
    counted = None if counter is None else counter.leaf
    state_of_round = tuple(current)
    known: Values = {}
    if counter is not None:
        current[counter.leaf], known[counter.update] = counter.now, [counter.following]
        before += counter.point()
        frame.steps += counter.point()
    outside, frame.steps = frame.steps, []
    frame.depth += 1
    outer_runs_ahead, frame.runs_ahead = frame.runs_ahead, predicate is not None
    frame.moving.update({state.seconds[leaf]: seconds[leaf] for leaf in homes})
    results = frame.emit_computation(body, [current], known)
    carried = [leaf for leaf in range(len(shapes)) if leaf != counted and _is_carried(shapes, invariant, leaf)]
    frame.move_scalars([(results[leaf], current[leaf]) for leaf in carried])
    if homes:
        numbers = [place.number for place in (*firsts.values(), *seconds.values())]
        frame.add(Point(tuple(numbers), (*seconds.values(), *firsts.values())))
    if predicate is not None:
        _condition(frame, condition, current, predicate)
    if is_odd is not None:
        (other,) = frame.compute_scalars("odd", [is_odd], [is_odd.shape], lambda b, values: [b.not_(values[0])])
        frame.move_scalars([(other, is_odd)])
    frame.flush()
    if counter is not None:
        frame.steps += counter.advance()
        current[counter.leaf] = counter.last
    frame.depth -= 1
    frame.runs_ahead = outer_runs_ahead
    inside, frame.steps = frame.steps, outside
    for leaf in homes:
        del frame.moving[state.seconds[leaf]]
    step = While(inside, None if predicate is None else predicate.place, None if trips is None else trips.count)
    step.most = frame.most_rounds.get(loop) if trips is None else trips.count
    after: list[Step] = [Copy(home.place, firsts[leaf], home.shape.byte_size) for leaf, home in homes.items()]
    frame.loops.append(Loop(loop, state_of_round, step, before, after, None if is_odd is None else is_odd.place, loop.source))
    frame.steps += [step, *after]
    for leaf, home in homes.items():
        current[leaf] = home
    return current


def _is_carried(shapes, invariant: frozenset[int], leaf: int) -> bool:
    return not shapes[leaf].rank and leaf not in invariant and shapes[leaf].element_type.kind != "token"


def _home(frame: Frame, loop: Instruction, leaf: int, initial: Leaf) -> Stored:
    """The array of a state leaf, holding its initial value."""
    homes, initial = frame.assignment.loops[loop].homes, frame.stored(initial)
    if leaf not in homes:
        return initial
    home = Stored(frame.place_of(homes[leaf]), initial.shape)
    if home.place != initial.place:
        frame.copy(home, initial)
    return home


def _condition(frame: Frame, condition: Computation, state: list[Leaf], target: Stored | None = None) -> Stored:
    """A slot with the condition's value."""
    (goes_on,) = frame.emit_computation(condition, [state])
    target = frame.slot(condition.root.shape) if target is None else target
    frame.move_scalars([(goes_on, target)])
    return target


@emits("conditional")
def emit_conditional(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """A branch for each computation; arrays lie in the same places whatever is chosen, scalars are moved to slots."""
    if _holds_scalars_alone(instruction):
        return _in_one_thread(frame, instruction, [leaf for one in instruction.operands for leaf in values[one]])
    selector, *operands = instruction.operands
    shapes = leaves(instruction.shape)
    merged: list[Leaf] = []
    for leaf, shape in enumerate(shapes):
        if shape.element_type.kind == "token":
            merged.append(None)
        elif shape.rank:
            merged.append(Stored(frame.place_of(frame.assignment.of(Value(instruction, leaf))), shape))
        else:
            merged.append(frame.slot(shape))
    chosen = frame.stored(values[selector][0])
    frame.flush()
    outside, branches = frame.steps, []
    for branch, operand in zip(instruction.called_computations, operands):
        frame.steps = []
        results = frame.emit_computation(branch, [values[operand]])
        frame.move_scalars(
            [(result, merged[leaf]) for leaf, result in enumerate(results) if result is not None and not shapes[leaf].rank]
        )
        frame.flush()
        branches.append(frame.steps)
    frame.steps = outside
    frame.steps.append(Conditional(chosen.place, selector.shape.element_type.kind == "pred", branches))
    return merged


def _holds_scalars_alone(instruction: Instruction) -> bool:
    """Whether one thread runs it in registers."""
    shapes = [shape for one in (instruction, *instruction.operands) for shape in leaves(one.shape)]
    if any(shape.rank or shape.element_type.kind == "token" for shape in shapes):
        return False
    return not any(map(holds_arrays, instruction.called_computations))


def _in_one_thread(frame: Frame, instruction: Instruction, inputs: list[Leaf]) -> list[Leaf]:
    """A loop or branch over scalars, in registers."""

    def emit(builder: ir.IRBuilder, bindings: list[Binding]) -> list[RegisterValue]:
        given = iter(bindings)
        operands = [_nested(operand.shape, given) for operand in instruction.operands]
        run = partial(_run, builder)
        if instruction.opcode == "while":
            found = emit_scalar_while(builder, instruction, operands[0], run)
        else:
            found = emit_scalar_conditional(builder, instruction, operands, run)
        return _flat(found)

    return list(frame.compute_scalars(frame.number(instruction), inputs, leaves(instruction.shape), emit, instruction))


def _run(builder: ir.IRBuilder, computation: Computation, arguments: list) -> list:
    return emit_scalar_computation(builder, computation, arguments, 1)


def _nested(shape, given) -> RegisterValue | list:
    return [_nested(element, given) for element in shape.elements] if shape.is_tuple else next(given)


def _flat(value) -> list[RegisterValue]:
    return [leaf for element in value for leaf in _flat(element)] if isinstance(value, list) else [value]
