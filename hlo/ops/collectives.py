"""The place of a program among its copies, and operations that combine what all of them have.

Source of the semantics: the sections of the same names in XLA's Operation Semantics.
"""

from __future__ import annotations

import numpy as np

from ..attributes import CalledComputation, IntegerList
from ..builder import Builder, scalar_computation
from ..element_type import BF16, F32, S32, U32
from ..errors import require
from ..operation import APPLIES, HOST_CALL, InvalidSample, Sample, operation
from ..shape import Shape, TupleShape, compatible
from .collective_groups import (
    GLOBAL_GROUPS,
    MEETING,
    PART_OF_MEETING,
    Meeting,
    finish,
    one_or_all,
    require_arrays,
    require_groups,
)
from .constraints import one_or_tuple, require_dimensions, require_signature


@operation("replica-id", builder="ReplicaId", traits={HOST_CALL})
def replica_id():
    """ReplicaId(): the number of this replica, from 0 up to the module's ``replica_count``, as u32[]."""
    return Shape(U32)


@replica_id.evaluation
def _(*, run):
    return np.uint32(run.environment.replica)


@operation("partition-id", builder="PartitionId", traits={HOST_CALL})
def partition_id():
    """PartitionId(): the number of this partition, from 0 up to the module's ``num_partitions``, as u32[]."""
    return Shape(U32)


@partition_id.evaluation
def _(*, run):
    return np.uint32(run.environment.partition)


@replica_id.sampling
@partition_id.sampling
def _():
    yield Sample([], expected=np.uint32(0))
    yield InvalidSample([Shape(U32)], {}, "0 operands required")


# --- all-reduce ---


def require_reducer(opcode, to_apply, operands):
    """The computation combines two scalars of the operands' element type, which is one."""
    require_arrays(opcode, operands)
    first = operands[0].element_type
    for number, operand in enumerate(operands):
        same = operand.element_type is first
        require(
            same, f"{opcode}: all operands must have one element type, but operand 0 has {first}, operand {number} {operand}"
        )
    scalar = Shape(first)
    require_signature(opcode, "to_apply", to_apply, (scalar, scalar), scalar)


def _all_reduce_shape(opcode, operands, to_apply, attributes):
    require_reducer(opcode, to_apply, operands)
    require_groups(opcode, attributes)
    return one_or_tuple([operand.without_layout() for operand in operands])


@operation(
    "all-reduce", "*operands", builder="AllReduce", aliases=("CrossReplicaSum",), traits={*MEETING, APPLIES},
    **GLOBAL_GROUPS, to_apply=CalledComputation(),
)  # fmt: skip
def all_reduce(*operands, to_apply, **attributes):
    """AllReduce(operands..., computation): combines the operands of all devices of a group, element by element.

    Each device of the group gets the same result, of the operands' shapes; it is a tuple where there are several. The values
    are combined from left to right in the order of the group, so floating-point results do not depend on timing.
    """
    return _all_reduce_shape("all-reduce", operands, to_apply, attributes)


def reduced(run, to_apply, contributions):
    """The contributions combined, from the first to the last."""
    total = [np.asarray(array) for array in contributions[0]]
    for contribution in contributions[1:]:
        for number, array in enumerate(contribution):
            shape = total[number].shape
            (flat,) = run.elementwise(to_apply, total[number].reshape(-1), np.reshape(array, -1))
            total[number] = np.reshape(flat, shape)
    return tuple(array[()] for array in total)


def _reducing(run, to_apply):
    return lambda values: [reduced(run, to_apply, values)] * len(values)


@all_reduce.evaluation
def _(*operands, to_apply, run, shape, **attributes):
    meeting = Meeting(run, attributes)
    meeting.require_participation()
    return one_or_all(meeting.meet(operands, _reducing(run, to_apply)), shape)


@operation(
    "all-reduce-start", "*operands", builder="AllReduceStart", traits={*PART_OF_MEETING, APPLIES}, **GLOBAL_GROUPS,
    to_apply=CalledComputation(),
)  # fmt: skip
def all_reduce_start(*operands, to_apply, **attributes):
    """AllReduceStart(operands..., computation): begins an all-reduce without waiting. The result is for all-reduce-done."""
    return _all_reduce_shape("all-reduce-start", operands, to_apply, attributes)


@all_reduce_start.evaluation
def _(*operands, to_apply, run, shape, **attributes):
    meeting = Meeting(run, attributes)
    meeting.require_participation()
    return meeting.begin(operands, _reducing(run, to_apply), shape)


@all_reduce.sampling
@all_reduce_start.sampling
def _():
    add, maximum = scalar_computation("add", F32), scalar_computation("maximum", BF16)
    x, y = np.float32([1.0, 2.5]), np.float32([[3.0], [5.25]])
    yield Sample([x], {"to_apply": add}, expected=x)
    yield Sample([x, y], {"to_apply": add, "replica_groups": ((0,),)}, expected=(x, y))
    yield Sample([np.float32(3)], {"to_apply": add, "channel_id": 1}, expected=np.float32(3))
    global_ids = {"channel_id": 7, "replica_groups": ((0,),), "use_global_device_ids": True}
    yield Sample([Shape(BF16, (2, 3))], {"to_apply": maximum, **global_ids})
    yield Sample([Shape(F32, (0, 3))], {"to_apply": add, "constrain_layout": True})
    one = Builder("one")
    one.parameter(Shape(F32))
    yield InvalidSample([], {"to_apply": add}, "at least one operand")
    yield InvalidSample([TupleShape((Shape(F32),))], {"to_apply": add}, "must be an array")
    yield InvalidSample([Shape(F32), Shape(S32)], {"to_apply": add}, "one element type")
    yield InvalidSample([Shape(S32)], {"to_apply": add}, "to_apply must take")
    yield InvalidSample([Shape(F32)], {"to_apply": one.build()}, "to_apply must take")
    yield InvalidSample([Shape(F32)], {"to_apply": add, "channel_id": -1}, "channel_id must not be negative")
    yield InvalidSample([Shape(F32)], {"to_apply": add, "use_global_device_ids": True}, "requires a channel_id")
    both = {"use_global_device_ids": True, "channel_id": 1}
    yield InvalidSample([Shape(F32)], {"to_apply": add, **both}, "requires replica_groups that are not empty")
    yield InvalidSample([Shape(F32)], {"to_apply": add, "replica_groups": ((0, 1), (1, 2))}, "no number may stand twice")
    yield InvalidSample([Shape(F32)], {"to_apply": add, "replica_groups": ((0, 1), ())}, "no group may be empty")
    yield InvalidSample([Shape(F32)], {"to_apply": add, "replica_groups": ((-1,),)}, "must not be negative")


@operation("all-reduce-done", "operand", builder="AllReduceDone", traits=PART_OF_MEETING)
def all_reduce_done(operand):
    """AllReduceDone(operand): waits for the all-reduce that the operand, its start, has begun, and returns its result."""
    is_data = all(not element.is_tuple for element in operand.elements) if operand.is_tuple else operand.element_type.dtype
    require(bool(is_data), "all-reduce-done: operand must be the result of all-reduce-start, an array or arrays, got ", operand)
    return operand


@all_reduce_done.evaluation
def _(operand, *, run, shape):
    return finish(run, operand, shape)


@all_reduce_done.sampling
def _():
    yield Sample([np.float32([1, 2])], expected=np.float32([1, 2]))
    yield Sample([TupleShape((Shape(F32, (3,)), Shape(F32)))])
    yield InvalidSample([TupleShape((TupleShape((Shape(F32),)),))], {}, "must be the result of all-reduce-start")


# --- reduce-scatter ---


@operation(
    "reduce-scatter", "*operands", builder="ReduceScatter", traits={*MEETING, APPLIES}, **GLOBAL_GROUPS,
    dimensions=IntegerList(), to_apply=CalledComputation(),
)  # fmt: skip
def reduce_scatter(*operands, dimensions, to_apply, stated, **attributes):
    """ReduceScatter(operands..., computation, scatter_dimension): an all-reduce of which each device gets its part.

    The result is cut along the dimension into as many equal parts as the group has devices; the device at place i of the group
    gets part i. The stated shape tells the number of parts where the groups are empty.
    """
    opcode = "reduce-scatter"
    require_reducer(opcode, to_apply, operands)
    count = require_groups(opcode, attributes, same_size=True)
    require(len(dimensions) == 1, f"{opcode}: one dimension is required, got {dimensions}")
    (dimension,) = dimensions
    for operand in operands:
        require_dimensions(opcode, "dimensions", dimensions, operand.rank)
    if count is not None:
        for operand in operands:
            whole = operand.dimensions[dimension] % count == 0
            require(whole, f"{opcode}: dimension {dimension} of {operand} must be divisible by the {count} devices of a group")
        return one_or_tuple([_resized(o, dimension, o.dimensions[dimension] // count) for o in operands])
    require(stated is not None, f"{opcode}: a result shape is required where replica_groups do not tell the number of parts")
    _require_scaled(opcode, stated, operands, dimension, lambda result, operand: result and operand % result == 0)
    return stated


def _resized(shape, dimension, size):
    sizes = list(shape.dimensions)
    sizes[dimension] = size
    return shape.with_dimensions(tuple(sizes))


def _require_scaled(opcode, stated, operands, dimension, fits):
    """The stated results are the operands but for the size of one dimension, in which they fit."""
    results = stated.elements if stated.is_tuple else (stated,)
    same = len(results) == len(operands) and stated.is_tuple == (len(operands) > 1)
    for result, operand in zip(results, operands):
        same = same and not result.is_tuple and result.rank == operand.rank
        same = same and compatible(result, _resized(operand, dimension, result.dimensions[dimension]))
        sizes = (result.dimensions[dimension], operand.dimensions[dimension]) if same else (0, 0)
        same = same and (sizes == (0, 0) or bool(fits(*sizes)))
    texts = ", ".join(map(str, operands))
    require(same, f"{opcode}: {stated} was stated, which does not fit operands {texts} along dimension {dimension}")


@reduce_scatter.evaluation
def _(*operands, dimensions, to_apply, run, shape, **attributes):
    meeting = Meeting(run, attributes)
    meeting.require_participation()
    (dimension,) = dimensions
    count = len(meeting.participants)
    _require_count(run.instruction, count, np.shape(operands[0])[dimension], _sizes(shape)[0][dimension])

    def combine(values):
        parts = [np.split(np.asarray(array), count, dimension) for array in reduced(run, to_apply, values)]
        return list(zip(*parts))

    return one_or_all(meeting.meet(operands, combine), shape)


def _sizes(shape):
    return [element.dimensions for element in (shape.elements if shape.is_tuple else (shape,))]


def _require_count(instruction, count, large, small):
    if large != small * count:
        raise ValueError(
            f"{instruction.opcode}: {count} devices of a group require sizes {count} to 1, the shapes say {large} to {small}"
        )


@reduce_scatter.sampling
def _():
    add = scalar_computation("add", F32)
    x = np.float32([1.0, 2.25])
    one_group = {"dimensions": (0,), "to_apply": add, "replica_groups": ((0,),)}
    yield Sample([x], one_group, expected=x)
    yield Sample([Shape(F32, (2, 4))], {"dimensions": (1,), "to_apply": add}, shape=Shape(F32, (2, 4)))
    yield Sample([Shape(F32, (2, 4)), Shape(F32, (3, 2))], {**one_group, "dimensions": (1,)})
    yield InvalidSample([Shape(F32, (4,))], {"dimensions": (1,), "to_apply": add}, r"dimensions must be in \[0, 1\)")
    yield InvalidSample([Shape(F32, (4,))], {"dimensions": (), "to_apply": add}, "one dimension is required")
    yield InvalidSample([Shape(F32, (4,))], {"dimensions": (0,), "to_apply": add}, "a result shape is required")
    three = Shape(F32, (3,))
    yield InvalidSample([Shape(F32, (4,))], {"dimensions": (0,), "to_apply": add}, "does not fit", shape=three)
    yield InvalidSample([three], {**one_group, "replica_groups": ((0, 1),)}, "must be divisible by the 2 devices")
    yield InvalidSample([three], {**one_group, "replica_groups": ((0, 1), (2,))}, "must have the same size")
    yield InvalidSample([Shape(S32, (4,))], one_group, "to_apply must take")


# --- all-gather ---


def _all_gather_shape(opcode, operands, dimensions, attributes, stated):
    require_arrays(opcode, operands)
    count = require_groups(opcode, attributes, same_size=True)
    require(len(dimensions) == 1, f"{opcode}: one dimension is required, got {dimensions}")
    (dimension,) = dimensions
    for operand in operands:
        require_dimensions(opcode, "dimensions", dimensions, operand.rank)
    if count is not None:
        return one_or_tuple([_resized(o, dimension, o.dimensions[dimension] * count) for o in operands])
    require(stated is not None, f"{opcode}: a result shape is required where replica_groups do not tell the number of parts")
    _require_scaled(opcode, stated, operands, dimension, lambda result, operand: operand and result % operand == 0)
    return stated


@operation(
    "all-gather", "*operands", builder="AllGather", traits=MEETING, **GLOBAL_GROUPS, dimensions=IntegerList()
)  # fmt: skip
def all_gather(*operands, dimensions, stated, **attributes):
    """AllGather(operands..., all_gather_dimension): the operands of all devices of a group, one behind the other.

    The order of the group is the order of the operands in the result. The stated shape tells the number of devices where the
    groups are empty.
    """
    return _all_gather_shape("all-gather", operands, dimensions, attributes, stated)


def _gathering(dimension):
    def combine(values):
        result = tuple(np.concatenate(arrays, dimension) for arrays in zip(*values))
        return [result] * len(values)

    return combine


def _gathering_meeting(run, attributes, operands, dimension, shape):
    meeting = Meeting(run, attributes)
    meeting.require_participation()
    _require_count(run.instruction, len(meeting.participants), _sizes(shape)[0][dimension], np.shape(operands[0])[dimension])
    return meeting


@all_gather.evaluation
def _(*operands, dimensions, run, shape, **attributes):
    meeting = _gathering_meeting(run, attributes, operands, dimensions[0], shape)
    return one_or_all(meeting.meet(operands, _gathering(dimensions[0])), shape)


@operation(
    "all-gather-start", "*operands", builder="AllGatherStart", traits=PART_OF_MEETING, **GLOBAL_GROUPS, dimensions=IntegerList()
)  # fmt: skip
def all_gather_start(*operands, dimensions, stated, **attributes):
    """AllGatherStart(operands...): begins an all-gather without waiting; the result is ``(operands, results)``."""
    form = stated is None or (stated.is_tuple and len(stated.elements) == 2)
    require(form, "all-gather-start: the shape must be (operands, results), got ", stated)
    if stated is not None:
        same = compatible(stated.elements[0], one_or_tuple(list(operands)))
        require(same, "all-gather-start: the shape's first element must be as the operands are, got ", stated)
    results = None if stated is None else stated.elements[1]
    inferred = _all_gather_shape("all-gather-start", operands, dimensions, attributes, results)
    return TupleShape((one_or_tuple([operand.without_layout() for operand in operands]), inferred))


@all_gather_start.evaluation
def _(*operands, dimensions, run, shape, **attributes):
    first, second = shape.elements
    meeting = _gathering_meeting(run, attributes, operands, dimensions[0], second)
    return one_or_all(operands, first), meeting.begin(operands, _gathering(dimensions[0]), second)


@operation("all-gather-done", "operand", builder="AllGatherDone", traits=PART_OF_MEETING)
def all_gather_done(operand):
    """AllGatherDone(operand): waits for the all-gather that the operand, its start, has begun, and returns its result."""
    form = operand.is_tuple and len(operand.elements) == 2 and operand.elements[0].is_tuple == operand.elements[1].is_tuple
    require(form, "all-gather-done: operand must be the result of all-gather-start, (operands, results), got ", operand)
    return operand.elements[1]


@all_gather_done.evaluation
def _(operand, *, run, shape):
    return finish(run, operand[1], shape)


@all_gather.sampling
def _():
    x = np.float32([[1.0, 2.5]])
    yield Sample([x], {"dimensions": (0,), "replica_groups": ((0,),)}, expected=x)
    yield Sample([Shape(S32, (2, 3))], {"dimensions": (1,)}, shape=Shape(S32, (2, 3)))
    yield Sample([Shape(S32, (2, 3)), Shape(F32, (2, 0))], {"dimensions": (1,), "replica_groups": ((0,),)})
    yield InvalidSample([Shape(F32)], {"dimensions": (0,)}, r"dimensions must be in \[0, 0\)")
    yield InvalidSample([Shape(F32, (4,))], {"dimensions": (0, 0)}, "one dimension is required")
    yield InvalidSample([Shape(F32, (4,))], {"dimensions": (0,)}, "a result shape is required")
    yield InvalidSample([Shape(F32, (4,))], {"dimensions": (0,)}, "does not fit", shape=Shape(F32, (6,)))
    groups = {"replica_groups": ((0, 1), (2,))}
    yield InvalidSample([Shape(F32, (4,))], {"dimensions": (0,), **groups}, "must have the same size")
    yield InvalidSample([], {"dimensions": (0,)}, "at least one operand")


@all_gather_start.sampling
def _():
    x = np.float32([[1.0, 2.5]])
    yield Sample([x], {"dimensions": (0,), "replica_groups": ((0,),)}, expected=(x, x))
    pair = TupleShape((Shape(S32, (2, 3)), Shape(S32, (2, 3))))
    yield Sample([pair.elements[0]], {"dimensions": (1,)}, shape=pair)
    yield Sample([Shape(S32, (2, 3)), Shape(F32, (2, 5))], {"dimensions": (1,), "replica_groups": ((0,),)})
    yield InvalidSample([Shape(F32, (4,))], {"dimensions": (0,)}, r"must be \(operands, results\)", shape=Shape(F32, (4,)))
    wrong = TupleShape((Shape(F32, (3,)), Shape(F32, (3,))))
    yield InvalidSample([Shape(F32, (4,))], {"dimensions": (0,)}, "first element must be", shape=wrong)


@all_gather_done.sampling
def _():
    yield Sample([TupleShape((Shape(F32, (2,)), Shape(F32, (4,))))])
    yield InvalidSample([Shape(F32, (2,))], {}, "must be the result of all-gather-start")
