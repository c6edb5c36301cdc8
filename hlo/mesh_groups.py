"""Replica groups as axes of a mesh of devices: ``replica_groups=mesh['a'=2,'b'=4] {'b'}``.

Source: ``MeshAxesReplicaGroupList`` of XLA (``xla/hlo/ir/mesh_and_axis``), and its parser.
"""

from __future__ import annotations

import re
from math import prod
from typing import NamedTuple

import numpy as np

from .attributes import Cursor
from .errors import require

LARGEST_MESH = 1 << 20  # devices

_NUMBERS = r"[0-9]{1,19}(?:\s*,\s*[0-9]{1,19})*"
_AXIS = re.compile(r"'([^'\n]+)'\s*=\s*([0-9]{1,19})")
_PART = re.compile(r"'([^'\n]+)'(?:\s*:\s*\(\s*([0-9]{1,19})\s*\)\s*([0-9]{1,19}))?")
_IOTA = re.compile(rf"\[\s*({_NUMBERS})\s*\](?:\s*T\s*\(\s*({_NUMBERS})\s*\))?")
_MESH = re.compile(
    rf"mesh\s*\[(?P<axes>[^\]\n]*)\]"
    rf"(?:\s*,\s*device_ids\s*=\s*\(\s*(?:(?P<ids>{_NUMBERS})|(?P<iota>\[[^\]]*\]\s*(?:T\s*\([^)]*\))?))\s*\))?"
    rf"\s*\{{(?P<parts>[^}}\n]*)\}}"
)


class Part(NamedTuple):
    """An axis, or, with a size, its middle dimension where it is seen as [before, size, rest]: ``'a'``, ``'a':(2)4``."""

    axis: str
    before: int = 1
    size: int = 0

    def __str__(self) -> str:
        return f"'{self.axis}'" + (f":({self.before}){self.size}" if self.size else "")


class MeshGroups(NamedTuple):
    """The devices of a mesh that differ in these parts of its axes alone are a group.

    ``devices`` are those of the mesh in row-major order, empty for 0, 1, ...; ``order`` is how the text says them.
    """

    axes: tuple[tuple[str, int], ...]
    parts: tuple[Part, ...]
    devices: tuple[int, ...] = ()
    order: str = ""

    def expanded(self) -> tuple[tuple[int, ...], ...]:
        """The groups written out, each in the order of its parts.

        >>> MeshGroups((("a", 2), ("b", 2)), (Part("b"),)).expanded()
        ((0, 1), (2, 3))
        >>> MeshGroups((("a", 4),), (Part("a", 2, 2),)).expanded()
        ((0, 1), (2, 3))
        >>> MeshGroups((("a", 4),), (Part("a", 1, 2),)).expanded()
        ((0, 2), (1, 3))
        """
        sizes: list[int] = []
        place: dict[Part, int] = {}
        for name, size in self.axes:
            own = sorted((part for part in self.parts if part.axis == name), key=lambda part: part.before)
            done = 1
            for part in own:
                taken = part.size or size
                sizes += [part.before // done, taken]
                place[part] = len(sizes) - 1
                done = part.before * taken
            sizes.append(size // done)
        inside = [place[part] for part in self.parts]
        outside = [d for d in range(len(sizes)) if d not in inside]
        devices = np.array(self.devices) if self.devices else np.arange(prod(size for _, size in self.axes))
        rows = devices.reshape(sizes).transpose(*outside, *inside).reshape(-1, prod(sizes[d] for d in inside))
        return tuple(tuple(row) for row in rows.tolist())

    def __str__(self) -> str:
        axes = ",".join(f"'{name}'={size}" for name, size in self.axes)
        order = f", device_ids=({self.order})" if self.order else ""
        return f"mesh[{axes}]{order} {{{','.join(map(str, self.parts))}}}"


def checked_mesh(value: MeshGroups) -> MeshGroups:
    """The value; raises ShapeError where its parts do not fit together."""
    sizes = dict(value.axes)
    require(len(sizes) == len(value.axes), f"no axis may stand twice in a mesh, got {value}")
    require(all(size > 0 for size in sizes.values()), f"sizes of axes must be above 0, got {value}")
    count = prod(sizes.values())
    require(count <= LARGEST_MESH, f"at most {LARGEST_MESH} devices are supported, got {value}")
    fits = not value.devices or sorted(value.devices) == list(range(count))
    require(fits, f"device_ids must be the numbers from 0 to {count - 1}, once each, got {value}")
    for name in {part.axis for part in value.parts}:
        require(name in sizes, f"the mesh has no axis {name!r}: {value}")
        done = 1
        for part in sorted((part for part in value.parts if part.axis == name), key=lambda part: part.before):
            taken = part.size or sizes[name]
            divides = part.before > 0 and taken > 0 and part.before % done == 0 and sizes[name] % (part.before * taken) == 0
            require(divides and part.before >= done, f"the parts of axis {name!r} must divide its size {sizes[name]}: {value}")
            done = part.before * taken
    group = prod(part.size or sizes[part.axis] for part in value.parts)
    require(group > 1, f"a group must have more than one device, got {value}")
    return value


def parse_mesh(cursor: Cursor) -> MeshGroups:
    """``mesh['a'=2,'b'=4], device_ids=([4,2]T(1,0)) {'a', 'b':(1)2}``, at the cursor; fails where it is of another form."""
    place = cursor.position
    match = cursor.matched(_MESH)
    axes = _items(_AXIS, match["axes"]) if match is not None else None
    parts = _items(_PART, match["parts"]) if match is not None else None
    if match is None or axes is None or parts is None:
        return cursor.fail("a mesh and its axes, mesh['name'=size,...] {'name',...}, expected", place)
    devices: tuple[int, ...] = ()
    order = ""
    if match["ids"]:
        devices = _numbers(match["ids"])
        order = ",".join(map(str, devices))
    elif match["iota"]:
        iota = _IOTA.fullmatch(match["iota"].strip())
        sizes = _numbers(iota[1]) if iota is not None else ()
        turn = _numbers(iota[2]) if iota is not None and iota[2] else tuple(range(len(sizes)))
        if sorted(turn) != list(range(len(sizes))) or not sizes or not 0 < prod(sizes) <= LARGEST_MESH:
            return cursor.fail(f"device_ids=([sizes]T(order)) expected, found {match['iota'].strip()}", place)
        devices = tuple(np.arange(prod(sizes)).reshape(sizes).transpose(turn).ravel().tolist())
        order = f"[{','.join(map(str, sizes))}]" + (f"T({','.join(map(str, turn))})" if iota[2] else "")
    return MeshGroups(
        tuple((name, int(size)) for name, size in axes),
        tuple(Part(name, int(before or 1), int(size or 0)) for name, before, size in parts),
        devices,
        order,
    )


def _items(pattern: re.Pattern[str], text: str) -> list[tuple[str, ...]] | None:
    """The groups of each item of a list with commas; None where an item is of another form."""
    matches = [pattern.fullmatch(item.strip()) for item in text.split(",")]
    return [match.groups() for match in matches if match is not None] if all(matches) else None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))
