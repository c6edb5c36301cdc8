"""Replica groups: which devices take part in a collective operation together.

A device is a pair of a replica and a partition; its flattened number is ``replica * partition_count + partition``.
Source: ``CollectiveOpGroupMode`` and ``GetParticipatingDevices`` of XLA (``xla/service/collective_ops_utils``), and the parser
of ``replica_groups`` (``xla/hlo/parser/hlo_parser.cc``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .attributes import AttributeKind, Cursor, Integer, IntegerList, as_index, braced_list
from .errors import ShapeError, require
from .mesh_groups import MeshGroups, checked_mesh, parse_mesh

Device = tuple[int, int]  # the numbers of replica and partition
Groups = tuple[tuple[int, ...], ...]

# What the numbers in replica groups are. XLA's names of the modes, in words.
CROSS_REPLICA = "cross-replica"
CROSS_PARTITION = "cross-partition"
CROSS_REPLICA_AND_PARTITION = "cross-replica and cross-partition"
FLATTENED_ID = "flattened id"

LARGEST_IOTA = 1 << 20  # devices


class IotaGroups(NamedTuple):
    """``[2,4]<=[4,2]T(1,0)``: 0, 1, ... as an array of ``reshape`` sizes, transposed, cut into rows of ``sizes``."""

    sizes: tuple[int, int]
    reshape: tuple[int, ...]
    transpose: tuple[int, ...]

    def expanded(self) -> Groups:
        """The groups written out.

        >>> IotaGroups((2, 4), (4, 2), (1, 0)).expanded()
        ((0, 2, 4, 6), (1, 3, 5, 7))
        """
        numbers = np.arange(prod(self.reshape)).reshape(self.reshape).transpose(self.transpose).reshape(self.sizes)
        return tuple(tuple(row) for row in numbers.tolist())


AnyGroups: TypeAlias = Groups | IotaGroups | MeshGroups


def expanded(groups: AnyGroups) -> Groups:
    """The groups as tuples of numbers, however they are written."""
    return groups.expanded() if isinstance(groups, IotaGroups | MeshGroups) else groups


class ChannelId(Integer):
    """``channel_id=1``, or None for an operation without one."""

    def check(self, value: Any) -> int | None:
        return None if value is None else super().check(value)


class ReplicaGroups(AttributeKind):
    """``replica_groups={{0,1},{2,3}}``, ``replica_groups=[2,2]<=[4]`` or ``replica_groups=mesh['a'=2,'b'=2] {'b'}``.

    No number stands in two places; ``{}`` means all.
    """

    always_printed = True

    def check(self, value: Any) -> AnyGroups:
        if isinstance(value, IotaGroups):
            return _checked_iota(value)
        if isinstance(value, MeshGroups):
            return checked_mesh(value)
        groups = tuple(tuple(map(as_index, group)) for group in _sequence(value))
        numbers = [number for group in groups for number in group]
        require(all(groups), f"no group may be empty, got {groups}")
        require(min(numbers, default=0) >= 0, f"the numbers in groups must not be negative, got {groups}")
        require(len(set(numbers)) == len(numbers), f"no number may stand twice, got {groups}")
        return groups

    def print(self, value: AnyGroups) -> str:
        if isinstance(value, MeshGroups):
            return str(value)
        if not isinstance(value, IotaGroups):
            return "{" + ",".join("{" + ",".join(map(str, group)) + "}" for group in value) + "}"
        is_transposed = value.transpose != tuple(range(len(value.reshape)))
        order = f"T({_joined(value.transpose)})" if is_transposed else ""
        return f"[{_joined(value.sizes)}]<=[{_joined(value.reshape)}]{order}"

    def parse(self, cursor: Cursor) -> AnyGroups:
        if cursor.token == "mesh":
            return parse_mesh(cursor)
        place = cursor.position
        if not cursor.accept("["):
            return tuple(braced_list(cursor, lambda: tuple(braced_list(cursor, cursor.integer))))
        sizes = _numbers(cursor, "]")
        for token in ("<", "=", "["):
            cursor.expect(token)
        reshape = _numbers(cursor, "]")
        transpose = tuple(range(len(reshape)))
        if cursor.accept("T"):
            cursor.expect("(")
            transpose = _numbers(cursor, ")")
        try:
            return _checked_iota(IotaGroups(sizes, reshape, transpose))
        except ShapeError as error:
            return cursor.fail(f"replica_groups: {error}", place)


class SourceTargetPairs(AttributeKind):
    """``source_target_pairs={{0,1},{1,2}}``: no source stands twice, and no target."""

    always_printed = True

    def check(self, value: Any) -> tuple[tuple[int, int], ...]:
        pairs = tuple(tuple(map(as_index, pair)) for pair in _sequence(value))
        for pair in pairs:
            require(len(pair) == 2, f"pairs of a source and a target are required, got {pair}")
            require(min(pair) >= 0, f"sources and targets must not be negative, got {pair}")
        for name, numbers in (("source", [p[0] for p in pairs]), ("target", [p[1] for p in pairs])):
            twice = sorted(number for number in set(numbers) if numbers.count(number) > 1)
            require(not twice, f"no {name} may stand in two pairs, but {', '.join(map(str, twice))} does: {pairs}")
        return pairs

    def print(self, value: tuple[tuple[int, int], ...]) -> str:
        return "{" + ",".join(f"{{{source},{target}}}" for source, target in value) + "}"

    def parse(self, cursor: Cursor) -> tuple[tuple[int, ...], ...]:
        return tuple(braced_list(cursor, lambda: tuple(braced_list(cursor, cursor.integer))))


class IntegerLists(IntegerList):
    """``slice_sizes={{1,2},{3,4}}``"""

    def check(self, value: Any) -> tuple[tuple[int, ...], ...]:
        return tuple(IntegerList.check(self, item) for item in _sequence(value))

    def print(self, value: tuple[tuple[int, ...], ...]) -> str:
        return "{" + ",".join(IntegerList.print(self, item) for item in value) + "}"

    def parse(self, cursor: Cursor) -> tuple[tuple[int, ...], ...]:
        return tuple(braced_list(cursor, lambda: tuple(braced_list(cursor, cursor.integer))))


def group_mode(channel_id: int | None, use_global_device_ids: bool | None) -> str:
    """What the groups' numbers mean; ``use_global_device_ids`` is None for operations that have no such attribute.

    >>> group_mode(None, False), group_mode(1, True), group_mode(1, None)
    ('cross-replica', 'flattened id', 'cross-partition')
    """
    if channel_id is None:
        require(not use_global_device_ids, "use_global_device_ids requires a channel_id")
        return CROSS_REPLICA
    if use_global_device_ids is None:
        return CROSS_PARTITION
    return FLATTENED_ID if use_global_device_ids else CROSS_REPLICA_AND_PARTITION


def participants(groups: AnyGroups, mode: str, device: Device, replica_count: int, partition_count: int) -> tuple[Device, ...]:
    """The devices that take part together with this one, in the order of its group; empty where no group names it.

    Raises ValueError where the groups name what there is not.

    >>> participants(((0, 1), (2, 3)), "cross-replica", (3, 0), 4, 2)
    ((2, 0), (3, 0))
    >>> participants(((1, 0),), "cross-replica and cross-partition", (0, 0), 2, 2)
    ((1, 0), (1, 1), (0, 0), (0, 1))
    """
    replica, partition = device
    own, count, word = {
        CROSS_REPLICA: (replica, replica_count, "replica"),
        CROSS_PARTITION: (partition, partition_count, "partition"),
        CROSS_REPLICA_AND_PARTITION: (replica, replica_count, "replica"),
        FLATTENED_ID: (replica * partition_count + partition, replica_count * partition_count, "device"),
    }[mode]
    written = expanded(groups) or (tuple(range(count)),)
    for number in (number for group in written for number in group):
        if number >= count:
            raise ValueError(f"{word} {number} is named, but the program runs on {count} {word}{'s' * (count != 1)}")
    group: Iterable[int] = next((group for group in written if own in group), ())
    if mode == CROSS_REPLICA:
        return tuple((number, partition) for number in group)
    if mode == CROSS_PARTITION:
        return tuple((replica, number) for number in group)
    if mode == FLATTENED_ID:
        return tuple(divmod(number, partition_count) for number in group)
    return tuple((number, other) for number in group for other in range(partition_count))


def _checked_iota(value: IotaGroups) -> IotaGroups:
    sizes, reshape, transpose = (tuple(map(as_index, part)) for part in value)
    require(len(sizes) == 2, f"groups [number,size] are required, got [{_joined(sizes)}]")
    positive = all(size > 0 for size in (*sizes, *reshape))
    require(positive and bool(reshape), f"sizes above 0 are required, got [{_joined(sizes)}]<=[{_joined(reshape)}]")
    count = prod(sizes)
    same = count == prod(reshape) and count <= LARGEST_IOTA
    require(same, f"[{_joined(sizes)}] and [{_joined(reshape)}] must have as many elements, at most {LARGEST_IOTA}")
    is_order = sorted(transpose) == list(range(len(reshape)))
    require(is_order, f"T must be an order of {len(reshape)} dimensions, got ({_joined(transpose)})")
    return IotaGroups(sizes, reshape, transpose)


def _sequence(value: Any) -> Sequence[Any]:
    try:
        return [list(item) for item in value]
    except TypeError:
        raise ShapeError(f"a sequence of sequences of integers is required, got {value!r}") from None


def _numbers(cursor: Cursor, end: str) -> tuple[int, ...]:
    numbers = [cursor.integer()]
    while cursor.accept(","):
        numbers.append(cursor.integer())
    cursor.expect(end)
    return tuple(numbers)


def _joined(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))
