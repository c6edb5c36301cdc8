"""Collective operations in which one device of each group, the root, sends to the others or gets from them.

Source of the semantics: the section CollectiveBroadcast of XLA's Operation Semantics; for collective-reduce and roots that are
data, XLA's backend for GPUs (``xla/backends/gpu/runtime/collective_reduce_thunk.cc``, ``collective_broadcast_thunk.cc``).
"""

from __future__ import annotations

import numpy as np

from ..attributes import Boolean, CalledComputation
from ..builder import scalar_computation
from ..element_type import F32, S32
from ..errors import require
from ..operation import APPLIES, InvalidSample, Sample, operation
from ..shape import Shape, TupleShape
from .collective_groups import GLOBAL_GROUPS, GROUPS, MEETING, Meeting, one_or_all, require_arrays, require_groups, zeros
from .collectives import reduced, require_reducer
from .constraints import one_or_tuple

_DYNAMIC_ROOT = {"has_dynamic_root": Boolean(False)}


def _data(opcode, operands, has_dynamic_root):
    """The operands without the last one, which says the roots where they are data."""
    require_arrays(opcode, operands)
    if not has_dynamic_root:
        return operands
    *data, roots = operands
    require(bool(data), f"{opcode}: has_dynamic_root requires an operand for the roots behind the others, got {len(operands)}")
    wanted = Shape(S32, (len(data),))
    same = roots.dimensions == wanted.dimensions and roots.element_type.kind in ("signed", "unsigned", "float")
    require(same, f"{opcode}: the last operand says the roots, one for each other operand, such as {wanted}, got {roots}")
    return tuple(data)


def _roots(opcode, values, has_dynamic_root):
    """The operands of all devices without the roots, and the root's place in the group for each of these."""
    if not has_dynamic_root:
        return values, [0] * len(values[0])
    roots = [int(root) for root in values[0][-1]]
    for value in values:
        if value[-1].tolist() != roots:
            raise ValueError(f"{opcode}: all devices of a group must give the same roots, got {roots} and {value[-1].tolist()}")
    for root in roots:
        if not 0 <= root < len(values):
            raise ValueError(
                f"{opcode}: a root must be the place of a device in its group, from 0 to {len(values) - 1}, got {root}"
            )
    return [value[:-1] for value in values], roots


@operation(
    "collective-broadcast", "*operands", builder="CollectiveBroadcast", traits=MEETING, **GROUPS, **_DYNAMIC_ROOT
)  # fmt: skip
def collective_broadcast(*operands, has_dynamic_root, **attributes):
    """CollectiveBroadcast(operands...): the root of each group sends its operands to all of the group.

    The root is the first device of the group. With has_dynamic_root, a last operand, of s32 and equal on all devices, says for
    each of the others at which place in the group its root is. A device that no group names gets zeros.
    """
    data = _data("collective-broadcast", operands, has_dynamic_root)
    require_groups("collective-broadcast", attributes)
    return one_or_tuple([operand.without_layout() for operand in data])


@collective_broadcast.evaluation
def _(*operands, has_dynamic_root, run, shape, **attributes):
    meeting = Meeting(run, attributes)
    if not meeting.participants:
        return zeros(shape)

    def combine(values):
        values, roots = _roots("collective-broadcast", values, has_dynamic_root)
        return [tuple(values[root][number] for number, root in enumerate(roots))] * len(values)

    return one_or_all(meeting.meet(operands, combine), shape)


@operation(
    "collective-reduce", "*operands", builder="CollectiveReduce", traits={*MEETING, APPLIES},
    **GLOBAL_GROUPS, **_DYNAMIC_ROOT, to_apply=CalledComputation(),
)  # fmt: skip
def collective_reduce(*operands, has_dynamic_root, to_apply, **attributes):
    """CollectiveReduce(operands..., computation): an all-reduce of which only the root of each group gets the result.

    The root is the first device of the group. With has_dynamic_root, a last operand, of s32 and equal on all devices, says for
    each of the others at which place in the group its root is. What the other devices get is not specified by XLA; here,
    zeros.
    """
    data = _data("collective-reduce", operands, has_dynamic_root)
    require_reducer("collective-reduce", to_apply, data)
    require_groups("collective-reduce", attributes)
    return one_or_tuple([operand.without_layout() for operand in data])


@collective_reduce.evaluation
def _(*operands, has_dynamic_root, to_apply, run, shape, **attributes):
    meeting = Meeting(run, attributes)
    meeting.require_participation()

    def combine(values):
        values, roots = _roots("collective-reduce", values, has_dynamic_root)
        totals = reduced(run, to_apply, values)
        return [
            tuple(total if root == place else np.zeros_like(total)[()] for total, root in zip(totals, roots))
            for place in range(len(values))
        ]

    return one_or_all(meeting.meet(operands, combine), shape)


@collective_broadcast.sampling
def _():
    x = np.float32([1, 2])
    yield Sample([x], {"replica_groups": ((0,),)}, expected=x)
    yield Sample([Shape(F32, (2,)), Shape(S32)], {})
    yield Sample([x, np.int32([0])], {"has_dynamic_root": True}, expected=x)
    yield InvalidSample([Shape(F32)], {"channel_id": -1}, "channel_id must not be negative")
    yield InvalidSample([TupleShape(())], {}, "must be an array")
    yield InvalidSample([Shape(S32, (1,))], {"has_dynamic_root": True}, "requires an operand for the roots")
    yield InvalidSample([Shape(F32), Shape(S32, (2,))], {"has_dynamic_root": True}, r"such as s32\[1\]")


@collective_reduce.sampling
def _():
    add = {"to_apply": scalar_computation("add", F32)}
    x = np.float32([1, 2])
    yield Sample([x], {**add, "replica_groups": ((0,),)}, expected=x)
    yield Sample([Shape(F32, (2,)), Shape(F32)], add)
    yield Sample([x, np.int32([0])], {**add, "has_dynamic_root": True}, expected=x)
    yield InvalidSample([Shape(S32)], add, "to_apply must take")
    yield InvalidSample([Shape(F32), Shape(S32)], {**add, "has_dynamic_root": True}, r"such as s32\[1\]")
    yield InvalidSample([Shape(F32)], {**add, "use_global_device_ids": True}, "requires a channel_id")
    yield InvalidSample([], add, "at least one operand")
