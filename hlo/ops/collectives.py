"""The place of a program among its copies, and communication between them.

Source of the semantics: the sections of the same names in XLA's Operation Semantics.
"""

from __future__ import annotations

import numpy as np

from ..element_type import U32
from ..operation import HOST_CALL, InvalidSample, Sample, operation
from ..shape import Shape


@operation("replica-id", builder="ReplicaId", traits={HOST_CALL})
def replica_id():
    """ReplicaId(): the number of this replica, from 0 up to the module's ``replica_count``, as u32[]."""
    return Shape(U32)


@replica_id.evaluation
def _(*, run):
    return np.uint32(run.environment.replica)


@replica_id.sampling
def _():
    yield Sample([], expected=np.uint32(0))
    yield InvalidSample([Shape(U32)], {}, "0 operands required")


@operation("partition-id", builder="PartitionId", traits={HOST_CALL})
def partition_id():
    """PartitionId(): the number of this partition, from 0 up to the module's ``num_partitions``, as u32[]."""
    return Shape(U32)


@partition_id.evaluation
def _(*, run):
    return np.uint32(run.environment.partition)


@partition_id.sampling
def _():
    yield Sample([], expected=np.uint32(0))
    yield InvalidSample([Shape(U32)], {}, "0 operands required")
