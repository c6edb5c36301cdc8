"""What all collective operations share: attributes, their checks, and the meeting of the devices of a group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..attributes import Boolean
from ..errors import require
from ..instruction import Instruction
from ..operation import COLLECTIVE, EFFECTFUL, HOST_CALL
from ..replica_groups import FLATTENED_ID, ChannelId, Device, ReplicaGroups, expanded, group_mode, participants
from ..shape import AnyShape
from .collective_handles import finished, placeholder
from .constraints import require_array

Arrays = tuple[Any, ...]

# The traits of a collective operation; a start and a done have but the first two, since only both together are one.
MEETING = frozenset({EFFECTFUL, HOST_CALL, COLLECTIVE})
PART_OF_MEETING = frozenset({EFFECTFUL, HOST_CALL})

# In the order in which XLA prints them.
GROUPS = {"channel_id": ChannelId(None), "replica_groups": ReplicaGroups(()), "constrain_layout": Boolean(False)}
GLOBAL_GROUPS = {**GROUPS, "use_global_device_ids": Boolean(False)}


def require_groups(opcode: str, attributes: dict[str, Any], same_size: bool = False) -> int | None:
    """The attributes fit together; the size of the groups, where the attributes tell it."""
    channel_id, groups = attributes["channel_id"], expanded(attributes["replica_groups"])
    require(channel_id is None or channel_id >= 0, f"{opcode}: channel_id must not be negative, got {channel_id}")
    use_global = attributes.get("use_global_device_ids")
    require(channel_id is not None or not use_global, f"{opcode}: use_global_device_ids requires a channel_id")
    mode = group_mode(channel_id, use_global)
    require(mode != FLATTENED_ID or bool(groups), f"{opcode}: use_global_device_ids requires replica_groups that are not empty")
    sizes = sorted({len(group) for group in groups})
    require(not same_size or len(sizes) <= 1, f"{opcode}: all groups must have the same size, got {groups}")
    return sizes[0] if len(sizes) == 1 and (channel_id is None or use_global is not False) else None


def require_arrays(opcode: str, operands: Sequence[AnyShape]) -> None:
    """There are operands, and all are arrays."""
    require(bool(operands), f"{opcode}: at least one operand is required")
    for number, operand in enumerate(operands):
        require_array(opcode, f"operand {number}", operand)


class Meeting:
    """The devices that meet in one execution of a collective operation, seen from one of them.

    ``participants`` is empty where no group names the device, whose place among them is ``position``.
    """

    def __init__(self, run: Any, attributes: dict[str, Any]) -> None:
        self.instruction: Instruction = run.instruction
        self.environment = run.environment
        self.channel_id = attributes["channel_id"]
        mode = group_mode(self.channel_id, attributes.get("use_global_device_ids"))
        device = (self.environment.replica, self.environment.partition)
        counts = self.environment.replica_count, self.environment.partition_count
        try:
            self.participants: tuple[Device, ...] = participants(attributes["replica_groups"], mode, device, *counts)
        except ValueError as error:
            raise ValueError(f"{self.instruction.opcode}: {error}") from None
        self.device = device

    def require_participation(self) -> None:
        """Raise ValueError where no group names this device."""
        if not self.participants:
            raise ValueError(
                f"{self.instruction.opcode}: no replica group names the device of replica {self.device[0]} and partition "
                f"{self.device[1]}"
            )

    def meet(self, value: Arrays, combine: Callable[[list[Arrays]], Sequence[Arrays]]) -> Arrays:
        """This device's result, one of those that ``combine`` makes of all values, both in the participants' order."""
        return self.environment.exchange(*self._arguments(value, combine))

    def begin(self, value: Arrays, combine: Callable[[list[Arrays]], Sequence[Arrays]], shape: AnyShape) -> Any:
        """As meet, without waiting: a value of this shape, which says to `finish` what was begun, or, on one device, is it."""
        if self.environment.device_count == 1:
            return one_or_all(combine([value])[0], shape)
        return placeholder(shape, self.environment.begin_exchange(self.instruction, *self._arguments(value, combine)))

    def _arguments(self, value: Arrays, combine: Callable[[list[Arrays]], Sequence[Arrays]]) -> tuple[Any, ...]:
        shapes = ", ".join(str(operand.shape.without_layout()) for operand in self.instruction.operands)
        kind = f"{self.instruction.opcode.removesuffix('-start')}({shapes})"
        return self.instruction, self.channel_id, self.participants, kind, value, combine


def finish(run: Any, operand: Any, shape: AnyShape) -> Any:
    """The value of what the start of this done has begun, which left ``operand``, of this shape, for it.

    Where the program runs on one device, the operand is the value.
    """
    return one_or_all(finished(run, operand, shape), shape) if run.environment.device_count > 1 else operand


def one_or_all(results: Arrays, shape: AnyShape) -> Any:
    """The value of a variadic operation: the tuple, or the only result."""
    return results if shape.is_tuple else results[0]


def zeros(shape: AnyShape) -> Any:
    """The value of this shape that is zero."""
    return placeholder(shape, 0)
