"""Elements that are None or a tuple: the structure has a flag beside the leaves, which say nothing where it does not hold.

As a structure that is one of a `Maybe`. What has another structure, None alone or the tuple alone, is put into it.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

from ...recording import pytree
from ..choices import Maybe
from ..parts import Parts
from ..parts import parts_of as parts_of_object
from .references import Row, row_of

BLANK = object()  # stands for the leaves of what is not there


def may_be_missing(value: Any) -> bool:
    """Whether this is a tuple, say, or an object that the function makes, or None: a flag stands beside its leaves."""
    if type(value) is not Maybe or value.absent is not None:
        return False
    one = value.value
    return _may_have_flag(type(one)) or row_of(one) is not None or parts_of_object(one) is not None


def _may_have_flag(kind: type) -> bool:
    return issubclass(kind, (tuple, dict, Parts)) or dataclasses.is_dataclass(kind) or hasattr(kind, "names_of_record")


def flags_of(structure: Any) -> Iterator[bool]:
    """Which leaves say whether others are there."""
    if structure is pytree.LEAF:
        yield False
        return
    for place, part in enumerate(structure[2]):
        if structure[0] is Maybe and place == 0:
            yield True
        else:
            yield from flags_of(part)


def placed(own: Any, leaves: Iterator[Any], structure: Any) -> Iterator[Any]:
    """What belongs to the leaves of one structure, where another one has them: with flags, and `BLANK` for what is missing."""
    if own == structure or structure is pytree.LEAF:
        yield from itertools.islice(leaves, leaf_count(own))
    elif own is pytree.LEAF:
        next(leaves)
        yield from [False, *[BLANK] * (leaf_count(structure) - 1)]
    elif structure[0] is Maybe and own[0] is not Maybe:
        yield True
        yield from placed(own, leaves, structure[2][1])
    else:
        for part, wanted in zip(own[2], structure[2]):
            yield from placed(part, leaves, wanted)


def common_structure(first: Any, nones: Iterator[bool], second: Any, others: Iterator[bool]) -> Any:
    """The structure of elements of both, with a flag where one is None and the other a container; None where there is none.

    nones, others: of each leaf, whether it is nothing but None.
    """
    if first is pytree.LEAF or second is pytree.LEAF:
        of_first = list(itertools.islice(nones, leaf_count(first)))
        of_second = list(itertools.islice(others, leaf_count(second)))
        if first is second:
            return first
        found, is_none = (second, of_first[0]) if first is pytree.LEAF else (first, of_second[0])
        if not is_none:
            return None
        if found[0] is Maybe:
            return found
        is_row = found[0] is list and len(found[2]) == 1 and found[2][0] is not pytree.LEAF and found[2][0][0] is Row
        return (Maybe, None, (pytree.LEAF, found)) if is_row or _may_have_flag(found[0]) else None
    if first[0] is Maybe or second[0] is Maybe:
        for one, leaves in ((first, nones), (second, others)):
            if one[0] is Maybe:
                next(leaves)
        values = [one[2][1] if one[0] is Maybe else one for one in (first, second)]
        value = common_structure(values[0], nones, values[1], others)
        return None if value is None else (Maybe, None, (pytree.LEAF, value))
    if first[:2] != second[:2] or len(first[2]) != len(second[2]):
        return None
    parts = [common_structure(one, nones, other, others) for one, other in zip(first[2], second[2])]
    return None if None in parts else (*first[:2], tuple(parts))


def leaf_count(structure: Any) -> int:
    return sum(map(leaf_count, structure[2])) if isinstance(structure, tuple) else 1
