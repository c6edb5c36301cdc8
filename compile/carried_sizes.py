"""Which elements of a while loop's state are the sizes of others: nobody needs what such an array holds behind them.

A padded program's loops carry arrays of the bounds, and sizes beside them; that these belong together stands in the loop's
annotations, ``frontend_attributes={sizes_of_state="4:0:12"}``: of element 4 dimension 0 has the size that is element 12.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count

from ..hlo import Instruction, Shape

# By element of a tuple those that are the sizes of its dimensions, by dimension.
SizesOfElements = Mapping[int, Mapping[int, int]]

_ATTRIBUTE, _KEY = "frontend_attributes", "sizes_of_state"
_NOTE = re.compile(rf'{_KEY}="([^"]*)"')


def sizes_behind(shapes: Sequence[Shape]) -> SizesOfElements:
    """Of a tuple of arrays of these shapes, and behind them the sizes of their dynamic dimensions, in order."""
    places = count(len(shapes))
    found = {number: {d: next(places) for d in range(shape.rank) if shape.is_dynamic(d)} for number, shape in enumerate(shapes)}
    return {number: sizes for number, sizes in found.items() if sizes}


def annotation_of_sizes(sizes: SizesOfElements) -> dict[str, str]:
    """The annotation of a loop that says it."""
    text = " ".join(f"{array}:{dimension}:{size}" for array, own in sizes.items() for dimension, size in own.items())
    return {_ATTRIBUTE: f'{{{_KEY}="{text}"}}'} if text else {}


def carried_sizes(loop: Instruction) -> SizesOfElements:
    """What a loop's annotations say of its state."""
    note = _NOTE.search(loop.annotations.get(_ATTRIBUTE, ""))
    found: dict[int, dict[int, int]] = {}
    for one in note[1].split() if note else ():
        array, dimension, size = map(int, one.split(":"))
        found.setdefault(array, {})[dimension] = size
    return found


def annotations_with_fewer(loop: Instruction, position: Mapping[int, int]) -> Mapping[str, str]:
    """The annotations of a loop of whose state these elements are left, in new places."""
    sizes = carried_sizes(loop)
    if not sizes:
        return loop.annotations
    kept = {
        position[array]: {d: position[size] for d, size in own.items() if size in position}
        for array, own in sizes.items()
        if array in position
    }
    return {key: text for key, text in loop.annotations.items() if key != _ATTRIBUTE} | annotation_of_sizes(kept)
