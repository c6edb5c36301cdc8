"""Indices of arrays on devices, as values that can be compared: what they make is a view, compiled once for all positions."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..calls.jit import jit
from ..recording.device_arrays import ArrayOnDevice, Steps, array_like

_POSITION = "position"  # in the place of an integer of an index


class Item(NamedTuple):
    """``array[index]`` with integers, slices and None alone. Slices are ``(start, stop, step)``.

    An Ellipsis stands last where it leaves no axis: what NumPy returns is an array then, be it without dimensions.
    """

    index: tuple[Any, ...]

    def __call__(self, array: Any) -> Any:
        return array[tuple([slice(*one) if isinstance(one, tuple) else one for one in self.index])]


class ViewAs(NamedTuple):
    """``array.view(dtype)``."""

    dtype: np.dtype

    def __call__(self, array: Any) -> Any:
        return array.view(self.dtype)


PARTS = {name: operator.attrgetter(name) for name in ("real", "imag")}


class ItemAtPositions(NamedTuple):
    """The same for any integers in the place of those of ``index``."""

    index: tuple[Any, ...]

    def read(self, array: Any, positions: Iterator[Any]) -> Any:
        """The positions are as many as it needs, taken off the others."""
        rest = [slice(None) if one is _POSITION else slice(*one) if isinstance(one, tuple) else one for one in self.index]
        axes = [axis for axis, one in enumerate(self.index) if one is _POSITION]
        found = array[tuple(rest)]
        for axis, position in sorted([(axis, next(positions)) for axis in axes], reverse=True, key=operator.itemgetter(0)):
            found = np.take(found, position, axis=axis, mode="clip")  # it is within the array
        return found

    def write(self, array: Any, positions: Sequence[Any], contents: Any) -> None:
        remaining, sizes = iter(positions), iter(array.shape)
        index = []
        for one in self.index:
            size = None if one is None else next(sizes)
            # It is within the array, which the program need not find out.
            index.append(next(remaining) % size if one is _POSITION else slice(*one) if isinstance(one, tuple) else one)
        array[tuple(index)] = contents


def item(index: Any, shape: tuple[int, ...]) -> Item | None:
    """A basic index of an array of this shape, with an entry for each axis; None for another one. Raises IndexError."""
    parts = index if isinstance(index, tuple) else (index,)
    found: list[Any] = []
    for part in parts:
        if part is None or part is Ellipsis:
            found.append(part)
        elif isinstance(part, slice):
            found.append((part.start, part.stop, part.step))
        elif isinstance(part, (int, np.integer)) and not isinstance(part, (bool, np.bool_)):
            found.append(int(part))
        else:
            return None
    axes = sum(part is not None and part is not Ellipsis for part in found)
    if found.count(Ellipsis) > 1 or axes > len(shape):
        np.empty(shape, np.void)[index]  # raises
    has_ellipsis = Ellipsis in found
    if has_ellipsis:
        place = found.index(Ellipsis)
        found[place : place + 1] = [(None, None, None)] * (len(shape) - axes)
    sizes = iter(shape)
    for place, part in enumerate(found):
        if part is None:
            continue
        size = next(sizes)
        if isinstance(part, int):
            if not -size <= part < size:
                axis = len(shape) - len(list(sizes)) - 1
                raise IndexError(f"index {part} is out of bounds for axis {axis} with size {size}")
            found[place] = part % size
        else:
            start, stop, step = slice(*part).indices(size)
            if not range(start, stop, step):
                start = stop = 0  # a start in front of the array would be one from its end
            found[place] = (start, None if stop < 0 else stop, step)
    return Item((*found, Ellipsis) if has_ellipsis and axes == len(shape) else tuple(found))


def _apart(step: Any) -> tuple[Any, list[int]]:
    """A step without the integers in it, and these."""
    if not isinstance(step, Item):
        return step, []
    numbers = [one for one in step.index if isinstance(one, int)]
    index = [_POSITION if isinstance(one, int) else one for one in step.index if one is not Ellipsis]
    return ItemAtPositions(tuple(index)), numbers


def computed(root: ArrayOnDevice, steps: Steps) -> ArrayOnDevice:
    """A new array with the contents of the view that the steps make of the root."""
    pairs = [_apart(step) for step in steps]
    return _reader(tuple([step for step, _ in pairs]))(root, *[number for _, numbers in pairs for number in numbers])


def write(root: ArrayOnDevice, steps: Steps, contents: Any) -> None:
    """Let that view have other contents, which are broadcast to it."""
    *first, last = steps or (Item(()),)
    last, numbers = _apart(last)
    _writer(tuple(first), last)(root, numbers, contents)


def shares_memory(first: Any, second: Any) -> bool:
    """Whether two arrays, one of them on a device, have an element in common."""
    if not (isinstance(first, ArrayOnDevice) and isinstance(second, ArrayOnDevice) and first.root is second.root):
        return False
    whole = array_like(first.root.shape, first.root.dtype)
    parts = []
    for array in (first, second):
        part = whole
        for step in array.steps:
            part = step(part)
        parts.append(part)
    return np.shares_memory(*parts)


@lru_cache(maxsize=1024)
def _reader(steps: tuple[Any, ...]) -> Any:
    def read_view(root: Any, *positions: Any) -> Any:
        remaining = iter(positions)
        for step in steps:
            root = step.read(root, remaining) if isinstance(step, ItemAtPositions) else step(root)
        return root.copy()

    read_view.is_for_any_form = True
    return jit(read_view, control_flow="trace")


@lru_cache(maxsize=1024)
def _writer(first: tuple[Any, ...], last: Any) -> Any:
    def write_view(root: Any, positions: Any, contents: Any) -> None:
        for step in first:
            root = step(root)
        if isinstance(last, ItemAtPositions):
            last.write(root, positions, contents)
        else:
            last(root)[...] = contents

    write_view.is_for_any_form = True
    return jit(write_view, control_flow="trace")
