"""Arrays that share part of their memory, one of which a function changes: views of one array that stands for that memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Place(NamedTuple):
    """Where an array lies in the memory that it shares with others: which memory that is, its size, and how; in elements."""

    memory: int
    size: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def overlap(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two arrays have an element in common, as far as that is found out quickly."""
    if not np.may_share_memory(first, second):
        return False
    try:
        return np.shares_memory(first, second, max_work=10_000)
    except np.exceptions.TooHardError:
        return True


def places_of(arrays: Sequence[np.ndarray], memory: int) -> list[Place] | None:
    """Where arrays lie that share memory; None where they are no views of one array of their dtype."""
    size = arrays[0].itemsize
    lowest = min(_lowest_address(array) for array in arrays)
    places = []
    for array in arrays:
        distances = [array.ctypes.data - lowest, *array.strides]
        if array.dtype != arrays[0].dtype or any(distance % size for distance in distances):
            return None
        offset, *strides = [distance // size for distance in distances]
        place = Place(memory, 0, offset, array.shape, tuple(strides))
        extent = _extent(place)
        if extent is None:
            return None
        places.append(place._replace(size=extent))
    whole = max(place.size for place in places)
    return [place._replace(size=whole) for place in places]


def view(memory: Any, place: Place) -> Any:
    """The part of a one-dimensional array, traced or not, that lies at this place."""
    axes, low = _axes(place)
    found = memory[low:]
    for number, axis in enumerate(axes, 1):
        count, step = place.shape[axis], abs(place.strides[axis])
        if number == len(axes):
            found = found[..., : (count - 1) * step + 1 : step]
        else:
            found = found[..., : count * step]
            found = found.reshape(*found.shape[:-1], count, step)
    if not axes:
        return found[:1].reshape(place.shape)
    found = found.transpose(sorted(range(len(axes)), key=axes.__getitem__))
    directions = [slice(None, None, -1 if stride < 0 else None) for stride in place.strides]
    return found[tuple([None if count == 1 else one for count, one in zip(place.shape, directions)])]


def gathered(arrays: Sequence[np.ndarray], places: Sequence[Place]) -> np.ndarray:
    """A copy of the memory that these arrays share."""
    memory = np.zeros(places[0].size, arrays[0].dtype)
    for array, place in zip(arrays, places):
        view(memory, place)[...] = array
    return memory


def spread(memory: np.ndarray, arrays: Sequence[np.ndarray], places: Sequence[Place]) -> None:
    """Put the contents of such a copy to where the arrays lie."""
    for array, place in zip(arrays, places):
        if array.flags.writeable:
            np.copyto(array, view(memory, place))


def _lowest_address(array: np.ndarray) -> int:
    return array.ctypes.data + sum((count - 1) * stride for count, stride in zip(array.shape, array.strides) if stride < 0)


def _axes(place: Place) -> tuple[list[int], int]:
    """The axes with more than one element, the one with the largest steps first, and where the first element lies."""
    axes = [axis for axis, count in enumerate(place.shape) if count > 1]
    low = place.offset + sum((place.shape[axis] - 1) * place.strides[axis] for axis in axes if place.strides[axis] < 0)
    return sorted(axes, key=lambda axis: -abs(place.strides[axis])), low


def _extent(place: Place) -> int | None:
    """How many elements the memory must have; None where elements of the array lie upon each other, or across."""
    axes, low = _axes(place)
    room = None
    for number, axis in enumerate(axes, 1):
        count, step = place.shape[axis], abs(place.strides[axis])
        needed = (count - 1) * step + 1 if number == len(axes) else count * step
        if step == 0 or room is not None and needed > room:
            return None
        low, room = low + (needed if room is None else 0), step
    return low if axes else low + 1
