"""Rules of `batch`: reductions, branches, and loops inside of the loop."""

from __future__ import annotations

from collections.abc import Sequence

from ... import hlo
from ...hlo import PRED, Computation, Instruction, Shape, TupleShape, make_instruction
from ...hlo.instruction import post_order
from ..trip_count import loop_invariant_elements
from .batch import Batch, rule
from .movement import block_at, is_there, update_sizes
from .values import Fixed, Initial, NotBatchedError, Value, Varying, Written


@rule("reduce")
def _reduce(batch: Batch, reduce: Instruction, operands: Sequence[Value]) -> Value:
    count = len(operands) // 2
    if any(type(init) is not Fixed for init in operands[count:]):
        raise NotBatchedError("a reduction that begins with another value in each round")
    arrays = [batch.rows(value, operand.shape.dimensions) for value, operand in zip(operands[:count], reduce.operands)]
    dimensions = tuple(dimension + 1 for dimension in reduce.attributes["dimensions"])
    inits = [init.instruction for init in operands[count:]]
    found = hlo.emit("reduce", *arrays, *inits, dimensions=dimensions, to_apply=reduce.attributes["to_apply"])
    if not reduce.shape.is_tuple:
        return Varying(found)
    return [Varying(hlo.emit("get-tuple-element", found, index=number)) for number in range(count)]


@rule("conditional")
def _conditional(batch: Batch, conditional: Instruction, operands: Sequence[Value]) -> Value:
    """Both branches are computed, and one is selected in each round."""
    predicate, *arguments = operands
    if conditional.operands[0].shape.element_type is not PRED or type(predicate) is not Varying:
        raise NotBatchedError("a choice among many")
    branches = [batch.branch(*one) for one in zip(conditional.called_computations, arguments)]
    return _selected(batch, predicate, *branches)


def _selected(batch: Batch, predicate: Varying, on_true: Value, on_false: Value) -> Value:
    if isinstance(on_true, list):
        return [_selected(batch, predicate, *pair) for pair in zip(on_true, on_false, strict=True)]
    if on_true is on_false:
        return on_true
    if Written in (type(on_true), type(on_false)):
        written = on_true if type(on_true) is Written else on_false
        updates = [_update_of(batch, one, written) for one in (on_true, on_false)]
        return written._replace(update=_selected(batch, predicate, *updates))
    if type(on_true) not in (Fixed, Varying) or type(on_false) not in (Fixed, Varying):
        if type(on_true) is type(on_false) is Initial and on_true.leaf == on_false.leaf:
            return on_true
        raise NotBatchedError("one of two arrays is chosen")
    shape = on_true.instruction.shape
    dimensions = shape.dimensions if type(on_true) is Fixed else shape.dimensions[1:]
    return Varying(hlo.select(*(batch.rows(value, dimensions) for value in (predicate, on_true, on_false))))


def _update_of(batch: Batch, value: Value, written: Written) -> Value:
    """What lies, in one of two arrays, where one of them has been written."""
    if type(value) is Written and value.initial.leaf == written.initial.leaf:
        if is_there(value, written.places, update_sizes(written)):
            return value.update
    elif type(value) is Initial and value.leaf == written.initial.leaf:
        return block_at(batch, value, written.places, update_sizes(written))
    raise NotBatchedError("two branches write in different places")


# What the rounds of an inner loop change is to stay in the caches while all outer rounds go through them side by side.
_MOST_STATE_BYTES = 1 << 20
_MOST_STATE_ELEMENTS = 16


@rule("while")
def _while(batch: Batch, loop: Instruction, operands: Sequence[Value]) -> Value:
    """One loop over what all rounds have in it, where all of them go round equally often."""
    (state,) = operands
    body, condition = loop.attributes["body"], loop.attributes["condition"]
    if not isinstance(state, list) or body.root.opcode != "tuple" or not loop.shape.elements:
        raise NotBatchedError("a loop whose state is no tuple")
    unchanging = loop_invariant_elements(loop)
    varying = {leaf for leaf, value in enumerate(state) if leaf not in unchanging and type(value) is Varying}
    while True:
        initial = [
            _initial(batch, leaf, state[leaf], shape, unchanging, varying) for leaf, shape in enumerate(loop.shape.elements)
        ]
        parameter = hlo.emit("parameter", number=0, shape=TupleShape(tuple(value.shape for value in initial)))
        found = batch.run([body.root], {body.parameters[0]: _inside(parameter, state, unchanging, varying)})[0]
        grown = {leaf for leaf, value in enumerate(found) if leaf not in unchanging and type(value) is not Fixed} - varying
        if not grown:
            break
        varying |= grown
    _require_small(batch, [loop.shape.elements[leaf] for leaf in varying])
    root = hlo.tuple(
        *(_following(batch, leaf, value, loop, parameter, unchanging, varying) for leaf, value in enumerate(found))
    )
    asked = hlo.emit("parameter", number=0, shape=parameter.shape)
    goes_on = batch.run([condition.root], {condition.parameters[0]: _inside(asked, state, unchanging, varying)})[0]
    if type(goes_on) is not Fixed:
        raise NotBatchedError("a loop that ends earlier in some rounds")
    computations = {
        "condition": _computation(condition, asked, goes_on.instruction),
        "body": _computation(body, parameter, root),
    }
    whole = make_instruction("while", (hlo.tuple(*initial),), computations, source=loop.source)
    parts = [hlo.emit("get-tuple-element", whole, index=leaf) for leaf in range(len(state))]
    return [
        state[leaf] if leaf in unchanging else Varying(part) if leaf in varying else Fixed(part)
        for leaf, part in enumerate(parts)
    ]


def _initial(batch: Batch, leaf: int, value: Value, shape: Shape, unchanging: set[int], varying: set[int]) -> Instruction:
    """An element of the state in front of the loop."""
    if leaf in varying:
        return batch.rows(value, shape.dimensions)
    if type(value) is Fixed or leaf in unchanging and type(value) in (Varying, Initial):
        return value.instruction
    raise NotBatchedError("an array that the loop writes is written in a loop inside of it")


def _inside(parameter: Instruction, state: Sequence[Value], unchanging: set[int], varying: set[int]) -> list[Value]:
    """The elements of the state at the beginning of a round of the inner loop."""
    elements = [hlo.emit("get-tuple-element", parameter, index=leaf) for leaf in range(len(state))]
    return [
        value._replace(instruction=element) if leaf in unchanging else Varying(element) if leaf in varying else Fixed(element)
        for leaf, (value, element) in enumerate(zip(state, elements))
    ]


def _following(
    batch: Batch,
    leaf: int,
    value: Value,
    loop: Instruction,
    parameter: Instruction,
    unchanging: set[int],
    varying: set[int],
) -> Instruction:
    """An element of the state behind a round of the inner loop."""
    if leaf in unchanging:
        return hlo.emit("get-tuple-element", parameter, index=leaf)
    return batch.rows(value, loop.shape.elements[leaf].dimensions) if leaf in varying else value.instruction


def _require_small(batch: Batch, shapes: Sequence[Shape]) -> None:
    is_large = any(shape.size > _MOST_STATE_ELEMENTS for shape in shapes)
    if is_large or batch.count * sum(shape.byte_size for shape in shapes) > _MOST_STATE_BYTES:
        raise NotBatchedError("the state of a loop inside would be too large")


def _computation(before: Computation, parameter: Instruction, root: Instruction) -> Computation:
    instructions = dict.fromkeys([parameter, *post_order(root, (parameter,))])
    return Computation(before.name, tuple(instructions), root)
