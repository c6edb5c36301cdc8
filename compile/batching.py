"""What a computation does in all rounds of a loop at once: one operation on arrays with the rounds as their first dimension.

Before, in round i: y[i] = 2 * x[i]        After: y[:] = 2 * x

A value is the same in each round (`Fixed`), another one in each (`Varying`), an array of the loop's state as the loop has found
it (`Initial`), or that array with one block written (`Written`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import hlo
from ..hlo import PRED, Computation, Instruction, Shape, TupleShape, leaves, make_instruction
from ..hlo.builder import UnattachedBuilder
from ..hlo.instruction import post_order
from ..hlo.operation import ELEMENTWISE
from .cost import vector_instructions
from .loop_state import PROGRESSION_RULES, Progression, is_of_type, lies_inside
from .traversal import is_control_flow
from .trip_count import known_trip_count, loop_invariant_elements

_FOR_FEW = "a branch does much, and perhaps in few rounds"


class NotBatchedError(Exception):
    """The rounds need one another, or hold an operation that is not known here. Says which."""


class Fixed(NamedTuple):
    """The same in each round."""

    instruction: Instruction


class Varying(NamedTuple):
    """Row k is the value in round k; an integer scalar may be known to be ``start + step * k``."""

    instruction: Instruction
    progression: Progression | None = None


class Initial(NamedTuple):
    """The array that is the state's element ``leaf``, as the loop has found it."""

    leaf: int
    instruction: Instruction


class Written(NamedTuple):
    """That array with a block written into it, in round k row k of the update, where the places say."""

    initial: Initial
    places: tuple[Fixed | Varying, ...]
    update: Fixed | Varying


class Carried(NamedTuple):
    """What the last round has left: nothing can be computed of it."""

    leaf: int


class Read(NamedTuple):
    """A round reads a block of the array ``leaf`` as the loop has found it, beginning at these places."""

    leaf: int
    places: tuple[Fixed | Varying, ...]


Value = Any  # one of these, or a list of values for a tuple

Rule = Callable[["Batch", Instruction, Sequence[Value]], Value]
_RULES: dict[str, Rule] = {}


def _rule(opcode: str) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        _RULES[opcode] = rule
        return rule

    return register


class Batch:
    """Batches instructions without effects over ``count`` rounds; arrays have ``most_bytes`` at most.

    ``reads`` collects what is read of arrays that the loop may write.
    """

    def __init__(self, count: int, most_bytes: int) -> None:
        self.count, self.most_bytes = count, most_bytes
        self.reads: list[Read] = []
        self._branches = 0  # that are being batched, one within the other

    def run(self, wanted: Sequence[Instruction], known: dict[Instruction, Value]) -> list[Value]:
        """The values of the wanted instructions, given some; adds all that it needs to those known. Raises NotBatchedError."""
        for root in wanted:
            for instruction in post_order(root, known):
                if instruction not in known:
                    with UnattachedBuilder("batch", where=lambda instruction=instruction: instruction.source):
                        known[instruction] = self._value(instruction, [known[operand] for operand in instruction.operands])
        return [known[root] for root in wanted]

    def _value(self, instruction: Instruction, operands: list[Value]) -> Value:
        opcode = instruction.opcode
        if opcode == "tuple":
            return operands
        if opcode == "get-tuple-element" and isinstance(operands[0], list):
            return operands[0][instruction.attributes["index"]]
        is_dynamic = any(shape.dynamic_dimensions for shape in leaves(instruction.shape))
        if opcode == "parameter" or is_dynamic:
            raise NotBatchedError(opcode)
        if self._branches and _is_for_few(instruction):
            raise NotBatchedError(_FOR_FEW)
        if any(type(operand) is Carried for operand in operands):
            raise NotBatchedError("a round needs what the one before it has computed")
        if all(type(operand) is Fixed for operand in operands) and not is_control_flow(instruction):
            return Fixed(instruction.with_operands([operand.instruction for operand in operands]))
        rule = _RULES.get(opcode) or (_elementwise if ELEMENTWISE in instruction.operation.traits else None)
        if rule is None:
            raise NotBatchedError(opcode)
        return rule(self, instruction, operands)

    def branch(self, computation: Computation, argument: Value) -> Value:
        """What a branch makes of its argument: computed in each round, also in those that do not choose it."""
        if vector_instructions(computation) > _MOST_BRANCH_INSTRUCTIONS:
            raise NotBatchedError(_FOR_FEW)
        (parameter,) = computation.parameters
        self._branches += 1
        try:
            return self.run([computation.root], {parameter: argument})[0]
        finally:
            self._branches -= 1

    def rows(self, value: Value, dimensions: Sequence[int]) -> Instruction:
        """The array of all rounds' values, each of these dimensions; what is a scalar stands for all elements."""
        if type(value) not in (Fixed, Varying):
            raise NotBatchedError("an array that the loop writes is used as a whole")
        array, is_fixed = value.instruction, type(value) is Fixed
        whole = (self.count, *dimensions)
        if array.shape.with_dimensions(whole).byte_size > self.most_bytes:
            raise NotBatchedError("arrays would be too large")
        if array.shape.rank == len(dimensions) + (not is_fixed):
            return hlo.broadcast_in_dim(array, whole, range(1, len(whole))) if is_fixed else array
        return hlo.broadcast_in_dim(array, whole, () if is_fixed else (0,))

    def read(self, value: Value, places: tuple[Value, ...]) -> Value:
        """What a block is read from, as a value in each round."""
        if type(value) is not Initial:
            return value
        self.reads.append(Read(value.leaf, places))
        return Fixed(value.instruction)


def _same_place(one: Value, other: Value) -> bool:
    """Whether two places are known to be one in each round."""
    if type(one) is not type(other):
        return False
    if type(one) is Varying:
        return one.progression is not None and one.progression == other.progression
    return _is_same(one.instruction, other.instruction)


def _is_same(one: Instruction, other: Instruction) -> bool:
    if one is other:
        return True
    if one.opcode != other.opcode or one.shape != other.shape or len(one.operands) != len(other.operands):
        return False
    if one.opcode == "constant":
        return not one.shape.rank and one.attributes["literal"] == other.attributes["literal"]
    is_known = ELEMENTWISE in one.operation.traits and one.attributes == other.attributes
    return is_known and all(map(_is_same, one.operands, other.operands))


def _elementwise(batch: Batch, instruction: Instruction, operands: Sequence[Value]) -> Value:
    shape = instruction.shape
    arrays = [batch.rows(operand, shape.dimensions) for operand in operands]
    whole = Shape(shape.element_type, (batch.count, *shape.dimensions))
    result = make_instruction(instruction.opcode, arrays, instruction.attributes, whole, source=instruction.source)
    return Varying(result, _progression(instruction, operands))


def _progression(instruction: Instruction, operands: Sequence[Value]) -> Progression | None:
    rule = PROGRESSION_RULES.get(instruction.opcode)
    if rule is None or instruction.shape.rank or not instruction.shape.element_type.is_integer:
        return None
    parts = [_known_progression(operand) for operand in operands]
    return None if None in parts else rule(*parts)


def _known_progression(value: Value) -> Progression | None:
    if type(value) is Varying:
        return value.progression
    constant = value.instruction
    return (int(constant.attributes["literal"]), 0) if constant.opcode == "constant" and not constant.shape.rank else None


# --- movement ---


@_rule("reshape")
def _reshape(batch: Batch, reshape: Instruction, operands: Sequence[Value]) -> Value:
    (value,) = operands
    rows = batch.rows(value, reshape.operands[0].shape.dimensions)
    return Varying(hlo.reshape(rows, (batch.count, *reshape.shape.dimensions)), value.progression)


@_rule("bitcast-convert")
def _bitcast_convert(batch: Batch, conversion: Instruction, operands: Sequence[Value]) -> Value:
    rows = batch.rows(operands[0], conversion.operands[0].shape.dimensions)
    return Varying(hlo.bitcast_convert(rows, conversion.shape.element_type))


@_rule("broadcast")
def _broadcast(batch: Batch, broadcast: Instruction, operands: Sequence[Value]) -> Value:
    rows = batch.rows(operands[0], broadcast.operands[0].shape.dimensions)
    dimensions = [0, *(dimension + 1 for dimension in broadcast.attributes["dimensions"])]
    return Varying(hlo.broadcast(rows, (batch.count, *broadcast.shape.dimensions), dimensions))


@_rule("slice")
def _slice(batch: Batch, operation: Instruction, operands: Sequence[Value]) -> Value:
    rows = batch.rows(operands[0], operation.operands[0].shape.dimensions)
    return Varying(hlo.emit("slice", rows, slice=[(0, batch.count, 1), *operation.attributes["slice"]]))


@_rule("transpose")
def _transpose(batch: Batch, transpose: Instruction, operands: Sequence[Value]) -> Value:
    rows = batch.rows(operands[0], transpose.operands[0].shape.dimensions)
    return Varying(hlo.transpose(rows, dimensions=(0, *(d + 1 for d in transpose.attributes["dimensions"]))))


@_rule("reverse")
def _reverse(batch: Batch, reverse: Instruction, operands: Sequence[Value]) -> Value:
    rows = batch.rows(operands[0], reverse.operands[0].shape.dimensions)
    return Varying(hlo.reverse(rows, dimensions=tuple(d + 1 for d in reverse.attributes["dimensions"])))


@_rule("concatenate")
def _concatenate(batch: Batch, concatenate: Instruction, operands: Sequence[Value]) -> Value:
    parts = [batch.rows(value, operand.shape.dimensions) for value, operand in zip(operands, concatenate.operands)]
    (along,) = concatenate.attributes["dimensions"]
    return Varying(hlo.concatenate(*parts, dimensions=(along + 1,)))


@_rule("dynamic-slice")
def _dynamic_slice(batch: Batch, operation: Instruction, operands: Sequence[Value]) -> Value:
    source, *places = operands
    return _block(batch, source, tuple(places), operation.shape.dimensions)


def _block(batch: Batch, source: Value, places: tuple[Value, ...], sizes: tuple[int, ...]) -> Value:
    """The block of these sizes that begins at the places, in each round."""
    if type(source) is Written:
        if _is_there(source, places, sizes):
            return source.update
        raise NotBatchedError("an array is read after it has been written")
    source = batch.read(source, places)
    starts, moving = [place.instruction for place in places], _moving(places)
    if type(source) is Varying:
        if moving:
            raise NotBatchedError("each round reads another array in another place")
        zero = hlo.constant(0, starts[0].shape.element_type)
        return Varying(hlo.dynamic_slice(source.instruction, zero, *starts, sizes=(batch.count, *sizes)))
    array = source.instruction
    if not moving:
        return Fixed(hlo.dynamic_slice(array, *starts, sizes=sizes))
    along, start, step = moving_block(batch, places, sizes)
    rows = _lines(batch, array, starts, sizes, along, min(start, start + step * (batch.count - 1)), abs(step))
    if step < 0:
        rows = hlo.reverse(rows, dimensions=(along,))
    others = [dimension for dimension in range(len(sizes)) if dimension != along]
    rows = hlo.transpose(rows, dimensions=(along, *others)) if along else rows
    return Varying(hlo.reshape(rows, (batch.count, *sizes)))


def _lines(
    batch: Batch, array: Instruction, starts: list[Instruction], sizes: tuple[int, ...], along: int, low: int, step: int
) -> Instruction:
    """The lines ``low``, ``low + step``, ... of a block of the array, which lies at the starts in the other dimensions.

    As of a dynamic-slice, what is in front of the first line is the first, and what is behind the last is the last.
    """
    last, high = array.shape.dimensions[along] - 1, low + step * (batch.count - 1)
    first_inside, last_inside = max(low, 0), min(high, last)
    if first_inside > last_inside or step > 1 and (low, high) != (first_inside, last_inside):
        raise NotBatchedError("places that lie outside")
    starts = [*starts]
    starts[along] = hlo.constant(first_inside, starts[along].shape.element_type)
    extent = last_inside - first_inside + 1
    lines = hlo.dynamic_slice(array, *starts, sizes=(*sizes[:along], extent, *sizes[along + 1 :]))
    if step > 1:
        every = [step if dimension == along else 1 for dimension in range(len(sizes))]
        return hlo.slice(lines, [0] * len(sizes), lines.shape.dimensions, every)
    parts = [_repeated(lines, along, 0, first_inside - low), lines, _repeated(lines, along, extent - 1, high - last_inside)]
    parts = [part for part in parts if part.shape.size]
    return hlo.concatenate(*parts, dimensions=(along,)) if len(parts) > 1 else lines


def _repeated(lines: Instruction, along: int, number: int, count: int) -> Instruction:
    sizes = lines.shape.dimensions
    limits = [number + 1 if dimension == along else size for dimension, size in enumerate(sizes)]
    line = hlo.slice(lines, [number if dimension == along else 0 for dimension in range(len(sizes))], limits)
    return hlo.broadcast_in_dim(line, [count if d == along else size for d, size in enumerate(sizes)], range(len(sizes)))


def update_sizes(written: Written) -> tuple[int, ...]:
    dimensions = written.update.instruction.shape.dimensions
    return dimensions if type(written.update) is Fixed else dimensions[1:]


def _is_there(written: Written, places: Sequence[Value], sizes: tuple[int, ...]) -> bool:
    """Whether a block of these sizes at these places is the one that has been written."""
    return sizes == update_sizes(written) and all(map(_same_place, places, written.places))


def _moving(places: Sequence[Value]) -> list[int]:
    return [dimension for dimension, place in enumerate(places) if type(place) is Varying]


def moving_block(batch: Batch, places: Sequence[Value], sizes: Sequence[int]) -> tuple[int, int, int]:
    """The dimension in which a block of these sizes moves from round to round, one line at a time: from which, by how many."""
    moving = _moving(places)
    if len(moving) == 1 and sizes[moving[0]] == 1:
        (along,) = moving
        found, integers = places[along].progression, places[along].instruction.shape.element_type
        if found is not None and found[1] and is_of_type(found, integers, batch.count):
            return along, *found
    raise NotBatchedError("a place that is not known to go on step by step")


@_rule("dynamic-update-slice")
def _dynamic_update_slice(batch: Batch, operation: Instruction, operands: Sequence[Value]) -> Value:
    target, update, *places = operands
    sizes = operation.operands[1].shape.dimensions
    if type(target) is Written:
        if _is_there(target, places, sizes):
            return target._replace(update=update)
        raise NotBatchedError("an array is written in two places")
    if type(target) is Initial:
        along, start, step = moving_block(batch, places, sizes)
        if not lies_inside((start, step), operation.shape.dimensions[along], batch.count):
            raise NotBatchedError("places that lie outside")
        if type(update) not in (Fixed, Varying):
            raise NotBatchedError("an array that the loop writes is used as a whole")
        return Written(target, tuple(places), update)
    if _moving(places):
        raise NotBatchedError("each round writes another array in another place")
    whole, part = batch.rows(target, operation.shape.dimensions), batch.rows(update, sizes)
    zero = hlo.constant(0, places[0].instruction.shape.element_type)
    return Varying(hlo.dynamic_update_slice(whole, part, zero, *(place.instruction for place in places)))


# --- what computes with several elements ---


@_rule("reduce")
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


@_rule("conditional")
def _conditional(batch: Batch, conditional: Instruction, operands: Sequence[Value]) -> Value:
    """Both branches are computed, and one is selected in each round."""
    predicate, *arguments = operands
    if conditional.operands[0].shape.element_type is not PRED or type(predicate) is not Varying:
        raise NotBatchedError("a choice among many")
    branches = [batch.branch(*one) for one in zip(conditional.called_computations, arguments)]
    return _selected(batch, predicate, *branches)


# What a branch computes is computed in all rounds, if it is but chosen in one of a thousand, or none.
_MOST_BRANCH_INSTRUCTIONS = 45
_MOST_BRANCH_ELEMENTS = 64


def _is_for_few(instruction: Instruction) -> bool:
    """Whether a round must not do this that does not need it: a loop that may never end then, or work on many elements."""
    if is_control_flow(instruction):
        return instruction.opcode == "while" and known_trip_count(instruction) is None
    # Of the array from which a block is taken, or in which it is put, nothing else is touched.
    arrays = {
        "dynamic-slice": (instruction,),
        "dynamic-update-slice": instruction.operands[1:],
        "get-tuple-element": (),
    }.get(instruction.opcode, (instruction, *instruction.operands))
    return any(leaf.size > _MOST_BRANCH_ELEMENTS for array in arrays for leaf in leaves(array.shape))


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
        if _is_there(value, written.places, update_sizes(written)):
            return value.update
    elif type(value) is Initial and value.leaf == written.initial.leaf:
        return _block(batch, value, written.places, update_sizes(written))
    raise NotBatchedError("two branches write in different places")


# --- loops inside ---

# What the rounds of an inner loop change is to stay in the caches while all outer rounds go through them side by side.
_MOST_STATE_BYTES = 1 << 20
_MOST_STATE_ELEMENTS = 16


@_rule("while")
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
