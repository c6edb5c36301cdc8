"""The methods of XlaBuilder for communication between devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import hlo
from ..hlo import scalar_computation
from ..hlo.errors import require
from ..hlo.instruction import Computation, Instruction

Groups = Sequence[Sequence[int]]


class CollectiveMethods:
    """A part of `phlox.xla_builder.XlaBuilder`.

    Groups are as in the records; none at all means that all devices are one group.
    """

    emit: Callable[..., Instruction]
    write: Callable[..., Instruction]
    GetTupleElement: Callable[..., Instruction]

    def AllReduce(
        self,
        operand: Instruction,
        computation: Computation,
        replica_groups: Groups = (),
        channel_id: int | None = None,
        use_global_device_ids: bool = False,
    ) -> Instruction:
        """A tuple is reduced element by element, and the result is one, too."""
        groups = {"replica_groups": replica_groups, "channel_id": channel_id, "use_global_device_ids": use_global_device_ids}
        return self.emit("all-reduce", *self._elements(operand), to_apply=computation, **groups)

    def CrossReplicaSum(self, operand: Instruction, replica_groups: Groups = ()) -> Instruction:
        """An all-reduce that adds."""
        first = operand.shape.elements[0] if operand.shape.is_tuple and operand.shape.elements else operand.shape
        require(not first.is_tuple, f"CrossReplicaSum: an array or a tuple of arrays is required, got {operand.shape}")
        return self.AllReduce(operand, scalar_computation("add", first.element_type), replica_groups)

    def AllGather(
        self,
        operand: Instruction,
        all_gather_dimension: int,
        shard_count: int,
        replica_groups: Groups = (),
        channel_id: int | None = None,
        use_global_device_ids: bool = False,
    ) -> Instruction:
        """The result's dimension is ``shard_count`` times as large as the operand's."""
        groups = {"replica_groups": replica_groups, "channel_id": channel_id, "use_global_device_ids": use_global_device_ids}
        shape = _with_size("AllGather", operand, all_gather_dimension, shard_count, 1)
        return self.emit("all-gather", operand, shape=shape, dimensions=(all_gather_dimension,), **groups)

    def ReduceScatter(
        self,
        operand: Instruction,
        computation: Computation,
        scatter_dimension: int,
        shard_count: int,
        replica_groups: Groups = (),
        channel_id: int | None = None,
        use_global_device_ids: bool = False,
    ) -> Instruction:
        """The operand's dimension is ``shard_count`` times as large as the result's."""
        groups = {"replica_groups": replica_groups, "channel_id": channel_id, "use_global_device_ids": use_global_device_ids}
        shape = _with_size("ReduceScatter", operand, scatter_dimension, 1, shard_count)
        attributes = {"dimensions": (scatter_dimension,), "to_apply": computation, **groups}
        return self.emit("reduce-scatter", operand, shape=shape, **attributes)

    def AllToAll(
        self,
        operand: Instruction,
        split_dimension: int,
        concat_dimension: int,
        split_count: int,
        replica_groups: Groups = (),
        channel_id: int | None = None,
    ) -> Instruction:
        """Cuts along one dimension, exchanges, and puts together along another: XLA's instruction knows one dimension alone."""
        size = _with_size("AllToAll", operand, split_dimension, 1, split_count).dimensions[split_dimension]
        shape = operand.shape
        require(
            0 <= concat_dimension < shape.rank,
            f"AllToAll: concat_dimension must be in [0, {shape.rank}), got {concat_dimension}",
        )
        groups = {"replica_groups": replica_groups, "channel_id": channel_id}
        exchanged = self.emit("all-to-all", operand, dimensions=(split_dimension,), **groups)
        if split_dimension == concat_dimension:
            return exchanged
        # Parts become a dimension of their own, which is moved before the dimension along which they are put together.
        sizes = list(shape.dimensions)
        sizes[split_dimension : split_dimension + 1] = [split_count, size]
        order = [dimension for dimension in range(shape.rank + 1) if dimension != split_dimension]
        order.insert(concat_dimension, split_dimension)
        moved = self.emit("transpose", self.write(hlo.reshape, exchanged, sizes), dimensions=tuple(order))
        result = list(shape.dimensions)
        result[split_dimension], result[concat_dimension] = size, result[concat_dimension] * split_count
        return self.emit("reshape", moved, shape=shape.without_layout().with_dimensions(tuple(result)))

    def AllToAllTuple(
        self, operands: Sequence[Instruction], replica_groups: Groups = (), channel_id: int | None = None
    ) -> Instruction:
        """One operand for each device of a group; the result is the tuple of those that this device gets."""
        return self.emit("all-to-all", *operands, replica_groups=replica_groups, channel_id=channel_id)

    def CollectivePermute(
        self, operand: Instruction, source_target_pairs: Sequence[tuple[int, int]], channel_id: int | None = None
    ) -> Instruction:
        return self.emit("collective-permute", operand, source_target_pairs=source_target_pairs, channel_id=channel_id)

    def CollectiveBroadcast(
        self, operand: Instruction, replica_groups: Groups = (), channel_id: int | None = None
    ) -> Instruction:
        return self.emit("collective-broadcast", operand, replica_groups=replica_groups, channel_id=channel_id)

    def _elements(self, operand: Instruction) -> list[Instruction]:
        if not operand.shape.is_tuple:
            return [operand]
        return [self.GetTupleElement(operand, index) for index in range(len(operand.shape.elements))]


def _with_size(method: str, operand: Instruction, dimension: int, factor: int, divisor: int) -> Any:
    """The operand's shape with the size of one dimension multiplied and divided."""
    shape = operand.shape
    require(not shape.is_tuple, f"{method}: an array is required, got {shape}")
    require(0 <= dimension < shape.rank, f"{method}: the dimension must be in [0, {shape.rank}), got {dimension}")
    require(factor > 0 and divisor > 0, f"{method}: shard_count must be above 0, got {min(factor, divisor)}")
    sizes = list(shape.dimensions)
    whole = sizes[dimension] % divisor == 0
    require(whole, f"{method}: dimension {dimension} of {shape} must be divisible by {divisor}")
    sizes[dimension] = sizes[dimension] * factor // divisor
    return shape.without_layout().with_dimensions(tuple(sizes))
