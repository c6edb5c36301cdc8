"""Arrays that share part of their memory, one of which a function changes: views of one array that stands for that memory."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Place(NamedTuple):
    """Where an array lies in the memory that it shares with others: which memory that is, its size, and how; in elements.

    And whether the array can be written to, and its dtype, which is that of the memory.
    """

    memory: int
    size: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    is_writeable: bool = True
    dtype: np.dtype | None = None


class Itself(NamedTuple):
    """In the place of what makes a part of memory: that this is the array of that number itself."""

    number: int

    def __call__(self, array: np.ndarray) -> np.ndarray:
        return array


def overlap(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two arrays have an element in common, as far as that is found out quickly."""
    if not np.may_share_memory(first, second):
        return False
    try:
        return np.shares_memory(first, second, max_work=10_000)
    except np.exceptions.TooHardError:
        return True


def has_elements_twice(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether an array has an element of memory at several places, as one has with a stride of 0; strides in any unit.

    >>> has_elements_twice((3, 2), (8, 0)), has_elements_twice((3, 2), (8, 8)), has_elements_twice((2, 2), (3, 2))
    (True, True, False)
    """
    axes = [(abs(stride), count) for count, stride in zip(shape, strides) if count > 1]
    if 0 in shape:
        return False
    if any(stride == 0 for stride, _ in axes):
        return True
    reach = 0
    for stride, count in sorted(axes):
        if stride <= reach:
            break
        reach += stride * (count - 1)
    else:
        return False
    offsets = functools.reduce(np.add.outer, [stride * np.arange(count) for stride, count in axes])
    return np.unique(offsets).size < offsets.size


def places_of(arrays: Sequence[np.ndarray], memory: int) -> list[Place] | None:
    """Where arrays lie that share memory; None where they are no views of one array of their dtype."""
    dtype = arrays[0].dtype
    if any([array.dtype != dtype for array in arrays]):
        return None
    addresses = [array.__array_interface__["data"][0] for array in arrays]
    distances = [address - addresses[0] for address in addresses]
    places = _places_at(memory, dtype.itemsize, tuple(zip(distances, [(one.shape, one.strides) for one in arrays])))
    if places is None:
        return None
    return [place._replace(is_writeable=array.flags.writeable, dtype=dtype) for place, array in zip(places, arrays)]


@functools.lru_cache(256)
def _places_at(memory: int, itemsize: int, found: tuple[tuple[int, tuple[tuple[int, ...], tuple[int, ...]]], ...]) -> Any:
    """The same of how many bytes arrays begin behind the first one, and their shapes and strides."""
    lowest = min(distance + _lowest_offset(*form) for distance, form in found)
    places = []
    for distance, (shape, strides) in found:
        bytes_apart = [distance - lowest, *strides]
        if any(one % itemsize for one in bytes_apart):
            return None
        offset, *steps = [one // itemsize for one in bytes_apart]
        place = Place(memory, 0, offset, shape, tuple(steps))
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
        _part(memory, place)[...] = array
    return memory


class _Memory:
    """For NumPy: memory, as long as the arrays are there."""

    def __init__(self, address: int, shape: tuple[int], itemsize: int, arrays: Sequence[np.ndarray]) -> None:
        self.__array_interface__ = {"data": (address, False), "shape": shape, "typestr": f"|V{itemsize}", "version": 3}
        self.arrays = arrays


def memory_of(arrays: Sequence[np.ndarray], places: Sequence[Place]) -> np.ndarray:
    """The memory that these arrays share, itself; it may seem to end behind what belongs to them."""
    (array, *_), (place, *_) = arrays, places
    address = array.__array_interface__["data"][0] - place.offset * array.itemsize
    return np.asarray(_Memory(address, (place.size,), array.itemsize, arrays)).view(array.dtype)


def spread(memory: np.ndarray, arrays: Sequence[np.ndarray], places: Sequence[Place]) -> None:
    """Put the contents of such a copy to where the arrays lie."""
    for array, place in zip(arrays, places):
        if array.flags.writeable:
            array[...] = _part(memory, place)


def _part(memory: np.ndarray, place: Place) -> np.ndarray:
    """As `view`, of an array that is no traced one."""
    size = memory.itemsize
    return np.ndarray(place.shape, memory.dtype, memory, place.offset * size, [size * stride for stride in place.strides])


def _lowest_offset(shape: Sequence[int], strides: Sequence[int]) -> int:
    return sum((count - 1) * stride for count, stride in zip(shape, strides) if stride < 0)


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
