"""Operations that send data from device to device.

Source of the semantics: the sections of the same names in XLA's Operation Semantics.
"""

from __future__ import annotations

import numpy as np

from ..attributes import IntegerList
from ..element_type import F32, S32, S64, U32
from ..errors import require
from ..operation import InvalidSample, Sample, operation
from ..replica_groups import IntegerLists, SourceTargetPairs
from ..shape import Shape, TupleShape, compatible
from .collective_groups import (
    GROUPS,
    MEETING,
    PART_OF_MEETING,
    Meeting,
    finish,
    one_or_all,
    require_arrays,
    require_groups,
    zeros,
)
from .constraints import one_or_tuple, require_array, require_dimensions

# --- all-to-all ---


@operation(
    "all-to-all", "*operands", builder="AllToAll", aliases=("AllToAllTuple",), traits=MEETING,
    **GROUPS, dimensions=IntegerList(None),
)  # fmt: skip
def all_to_all(*operands, dimensions, stated, **attributes):
    """AllToAll(operands..., split_dimension): every device of a group sends each of them, itself included, a part.

    With a dimension, the one operand is cut along it into as many equal parts as the group has devices; the device at place i
    of the group gets part i of each, and puts them together along the same dimension in the order of the group. Without,
    there is an operand of one shape for each device of the group: device i gets operand i of each, as a tuple.
    """
    require_arrays("all-to-all", operands)
    count = require_groups("all-to-all", attributes, same_size=True)
    if dimensions is not None:
        require(len(operands) == 1, f"all-to-all: one operand is required where a dimension is split, got {len(operands)}")
        require(len(dimensions) == 1, f"all-to-all: one dimension to split is required, got {dimensions}")
        require_dimensions("all-to-all", "dimensions", dimensions, operands[0].rank)
        whole = count is None or operands[0].dimensions[dimensions[0]] % count == 0
        require(
            whole, f"all-to-all: dimension {dimensions[0]} of {operands[0]} must be divisible by the {count} devices of a group"
        )
        return operands[0].without_layout()
    for number, operand in enumerate(operands):
        same = operand.without_layout() == operands[0].without_layout()
        require(same, f"all-to-all: all operands must have one shape, got {operands[0]} and operand {number} {operand}")
    fits = count is None or count == len(operands)
    require(fits, f"all-to-all: one operand for each of the {count} devices of a group is required, got {len(operands)}")
    if len(operands) == 1 and stated is not None and not stated.is_tuple:
        return operands[0].without_layout()
    return TupleShape(tuple([operand.without_layout() for operand in operands]))


@all_to_all.evaluation
def _(*operands, dimensions, run, shape, **attributes):
    meeting = Meeting(run, attributes)
    meeting.require_participation()
    count = len(meeting.participants)
    if dimensions is None:
        if len(operands) != count:
            raise ValueError(f"all-to-all: one operand for each of the {count} devices of a group, {len(operands)} given")
        return one_or_all(meeting.meet(operands, lambda values: list(zip(*values))), shape)
    (dimension,) = dimensions
    size = shape.dimensions[dimension]
    if size % count:
        raise ValueError(f"all-to-all: dimension {dimension} of {shape} must be divisible by the {count} devices of a group")

    def combine(values):
        parts = [np.split(array, count, dimension) for (array,) in values]
        return [(np.concatenate(received, dimension),) for received in zip(*parts)]

    return meeting.meet(operands, combine)[0]


@all_to_all.sampling
def _():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    yield Sample([x], {"dimensions": (1,)}, expected=x)
    yield Sample([x], {"replica_groups": ((0,),)}, expected=(x,))
    yield Sample([np.float32(2)], {"channel_id": 1}, expected=(np.float32(2),))
    yield Sample([Shape(S32, (4, 2))], {"dimensions": (0,), "replica_groups": ((0,),), "constrain_layout": True})
    yield InvalidSample([Shape(F32, (4,)), Shape(F32, (4,))], {"dimensions": (0,)}, "one operand is required")
    yield InvalidSample([Shape(F32, (4,))], {"dimensions": (0, 0)}, "one dimension to split")
    yield InvalidSample([Shape(F32, (4,))], {"dimensions": (1,)}, r"must be in \[0, 1\)")
    yield InvalidSample([Shape(F32, (3,))], {"dimensions": (0,), "replica_groups": ((0, 1),)}, "must be divisible by the 2")
    yield InvalidSample([Shape(F32, (3,)), Shape(F32, (4,))], {}, "must have one shape")
    yield InvalidSample([Shape(F32, (3,))], {"replica_groups": ((0, 1),)}, "one operand for each of the 2")
    yield InvalidSample([Shape(F32, (3,))], {"replica_groups": ((0, 1), (2,))}, "must have the same size")
    yield InvalidSample([], {}, "at least one operand")


# --- collective-permute ---

_PAIRS = {"channel_id": GROUPS["channel_id"], "source_target_pairs": SourceTargetPairs(), "slice_sizes": IntegerLists(())}


def _require_permute(opcode, operands, channel_id, slice_sizes):
    require_arrays(opcode, operands)
    require(channel_id is None or channel_id >= 0, f"{opcode}: channel_id must not be negative, got {channel_id}")
    if slice_sizes:
        raise NotImplementedError(f"{opcode}: the form that writes slices in place (slice_sizes) is not implemented")


@operation("collective-permute", "*operands", builder="CollectivePermute", traits=MEETING, **_PAIRS)
def collective_permute(*operands, channel_id, source_target_pairs, slice_sizes):
    """CollectivePermute(operands..., source_target_pairs): each source sends its operands to its target.

    A device that is no target gets zeros. No number is the source of two pairs, and none the target of two. The numbers are
    those of replicas, or, with a channel_id, of partitions.
    """
    _require_permute("collective-permute", operands, channel_id, slice_sizes)
    return one_or_tuple([operand.without_layout() for operand in operands])


def _permuting(run, channel_id, pairs):
    """The meeting, and the function from all values to all results."""
    meeting = Meeting(run, {"channel_id": channel_id, "replica_groups": ()})
    count = len(meeting.participants)
    for number in (number for pair in pairs for number in pair):
        if number >= count:
            name = meeting.instruction.opcode
            raise ValueError(f"{name}: source_target_pairs name {number}, but the devices are numbered 0 to {count - 1}")
    source_of = {target: source for source, target in pairs}

    def combine(values):
        nothing = tuple(np.zeros_like(array)[()] for array in values[0])
        return [values[source_of[target]] if target in source_of else nothing for target in range(len(values))]

    return meeting, combine


@collective_permute.evaluation
def _(*operands, channel_id, source_target_pairs, slice_sizes, run, shape):
    meeting, combine = _permuting(run, channel_id, source_target_pairs)
    return one_or_all(meeting.meet(operands, combine), shape)


@operation("collective-permute-start", "*operands", builder="CollectivePermuteStart", traits=PART_OF_MEETING, **_PAIRS)
def collective_permute_start(*operands, channel_id, source_target_pairs, slice_sizes, stated):
    """CollectivePermuteStart(operands...): begins a collective-permute without waiting.

    The result is ``(operands, results, contexts...)``; where no shape is stated there are two contexts, u32[].
    """
    opcode = "collective-permute-start"
    _require_permute(opcode, operands, channel_id, slice_sizes)
    data = one_or_tuple([operand.without_layout() for operand in operands])
    if stated is None:
        return TupleShape((data, data, Shape(U32), Shape(U32)))
    form = stated.is_tuple and len(stated.elements) in (2, 4) and all(compatible(e, data) for e in stated.elements[:2])
    form = form and all(context.without_layout() == Shape(U32) for context in stated.elements[2:])
    require(form, f"{opcode}: the shape must be ({data}, {data}), with or without u32[], u32[] behind it, got {stated}")
    return stated


@collective_permute_start.evaluation
def _(*operands, channel_id, source_target_pairs, slice_sizes, run, shape):
    meeting, combine = _permuting(run, channel_id, source_target_pairs)
    data = shape.elements[1]
    return one_or_all(operands, data), meeting.begin(operands, combine, data), *map(zeros, shape.elements[2:])


@operation("collective-permute-done", "operand", builder="CollectivePermuteDone", traits=PART_OF_MEETING)
def collective_permute_done(operand):
    """CollectivePermuteDone(operand): waits for the collective-permute that its start has begun, and returns its result."""
    form = operand.is_tuple and len(operand.elements) in (2, 4) and compatible(operand.elements[0], operand.elements[1])
    require(form, "collective-permute-done: operand must be the result of collective-permute-start, got ", operand)
    return operand.elements[1]


@collective_permute_done.evaluation
def _(operand, *, run, shape):
    return finish(run, operand[1], shape)


@collective_permute.sampling
@collective_permute_start.sampling
def _():
    yield Sample([Shape(F32, (2, 3))], {"source_target_pairs": ((0, 0),)})
    yield Sample([Shape(F32, (2, 3))], {"source_target_pairs": (), "channel_id": 3})
    yield Sample([Shape(F32, (2,)), Shape(S32)], {"source_target_pairs": ((0, 0),)})
    yield InvalidSample([Shape(F32)], {"source_target_pairs": ((0, 1), (0, 2))}, "no source may stand in two pairs, but 0")
    yield InvalidSample([Shape(F32)], {"source_target_pairs": ((0, 1), (2, 1))}, "no target may stand in two pairs, but 1")
    yield InvalidSample([Shape(F32)], {"source_target_pairs": ((0, 1, 2),)}, "pairs of a source and a target")
    yield InvalidSample([Shape(F32)], {"source_target_pairs": ((0, -1),)}, "must not be negative")
    yield InvalidSample([Shape(F32)], {"source_target_pairs": (), "channel_id": -1}, "channel_id must not be negative")
    yield InvalidSample([TupleShape(())], {"source_target_pairs": ()}, "must be an array")
    yield InvalidSample([], {"source_target_pairs": ()}, "at least one operand")


@collective_permute_done.sampling
def _():
    yield Sample([TupleShape((Shape(F32, (2,)), Shape(F32, (2,)), Shape(U32), Shape(U32)))])
    yield Sample([TupleShape((Shape(F32, (2,)), Shape(F32, (2,))))])
    yield InvalidSample([Shape(F32, (2,))], {}, "must be the result of collective-permute-start")


# --- ragged-all-to-all ---

_OFFSETS = ("input_offsets", "send_sizes", "output_offsets", "recv_sizes")


@operation("ragged-all-to-all", "input", "output", *_OFFSETS, builder="RaggedAllToAll", traits=MEETING, **GROUPS)
def ragged_all_to_all(input, output, input_offsets, send_sizes, output_offsets, recv_sizes, **attributes):
    """RaggedAllToAll(input, output, ...): an all-to-all of parts of different sizes, along dimension 0.

    Element i of input_offsets and send_sizes tells which rows of the input go to device i of the group, and that of
    output_offsets at which row of that device's output they are put; recv_sizes tells how many rows come from device i. The
    result is the output with these rows replaced. Where there are k times as many elements as devices, k parts in a row go
    to each.
    """
    opcode = "ragged-all-to-all"
    require_array(opcode, "input", input)
    require_array(opcode, "output", output)
    same = input.element_type is output.element_type and input.rank == output.rank and input.rank > 0
    same = same and input.dimensions[1:] == output.dimensions[1:]
    require(same, f"{opcode}: input and output must be arrays that differ in dimension 0 alone, got {input} and {output}")
    offsets = (input_offsets, send_sizes, output_offsets, recv_sizes)
    for name, shape in zip(_OFFSETS, offsets):
        require_array(opcode, name, shape)
        form = shape.rank == 1 and shape.element_type.is_integer
        require(form, f"{opcode}: {name} must be a vector of integers, got {shape}")
        same = shape.without_layout() == input_offsets.without_layout()
        require(same, f"{opcode}: {name} must have the shape of input_offsets, {input_offsets}, got {shape}")
    count = require_groups(opcode, attributes, same_size=True)
    whole = count is None or (input_offsets.size % count == 0 and input_offsets.size > 0)
    require(
        whole, f"{opcode}: input_offsets must have a multiple of {count} elements, the devices of a group, got {input_offsets}"
    )
    return output.without_layout()


@ragged_all_to_all.evaluation
def _(input, output, input_offsets, send_sizes, output_offsets, recv_sizes, *, run, shape, **attributes):
    meeting = Meeting(run, attributes)
    meeting.require_participation()
    count = len(meeting.participants)
    if len(input_offsets) % count:
        raise ValueError(f"ragged-all-to-all: {len(input_offsets)} offsets are no multiple of the {count} devices of a group")
    value = (input, output, *([int(n) for n in part] for part in (input_offsets, send_sizes, output_offsets, recv_sizes)))
    return meeting.meet(value, _exchanged)[0]


def _exchanged(values):
    results = [np.array(output) for _, output, *_ in values]
    parts = len(values[0][2]) // len(values)
    for sender, (rows, _, input_offsets, send_sizes, output_offsets, _) in enumerate(values):
        for number, (start, size, target) in enumerate(zip(input_offsets, send_sizes, output_offsets)):
            receiver, part = divmod(number, parts)
            result = results[receiver]
            expected = values[receiver][5][sender * parts + part]
            where = f"ragged-all-to-all: from place {sender} of the group to place {receiver}"
            if expected != size:
                raise ValueError(f"{where}: {size} rows are sent, but recv_sizes says {expected}")
            inside = 0 <= start <= start + size <= len(rows) and 0 <= target <= target + size <= len(result)
            if not inside:
                sent, put = f"{start} to {start + size} of {len(rows)}", f"{target} to {target + size} of {len(result)}"
                raise ValueError(f"{where}: rows {sent} cannot be put to rows {put}")
            result[target : target + size] = rows[start : start + size]
    return [(result,) for result in results]


@ragged_all_to_all.sampling
def _():
    rows, output = np.float32([1, 2, 3]), np.float32([9, 9, 9, 9])
    one, two, zero = np.int32([1]), np.int32([2]), np.int32([0])
    groups = {"replica_groups": ((0,),)}
    expected = np.float32([2, 3, 9, 9])
    yield Sample([rows, output, one, two, zero, two], groups, expected=expected)
    yield Sample([rows, output, np.int64([0, 2]), np.int64([1, 1]), np.int64([3, 0]), np.int64([1, 1])], groups)
    vector, long = Shape(F32, (3,)), Shape(S64, (1,))
    yield InvalidSample([vector, Shape(F32, (3, 1)), *[long] * 4], {}, "differ in dimension 0 alone")
    yield InvalidSample([vector, vector, *[vector] * 4], {}, "must be a vector of integers")
    yield InvalidSample([vector, vector, long, long, long, Shape(S32, (1,))], {}, "must have the shape of input_offsets")
    yield InvalidSample([vector, vector, *[long] * 4], {"replica_groups": ((0, 1),)}, "a multiple of 2")
