"""The places whose values a captured loop carries, and what becomes of these behind a round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from .... import hlo
from ...control_flow.bodies import are_other_arrays
from ...recording import pytree
from ...recording.array import TracedArray
from ...recording.callables import bound_cells
from ...recording.current_trace import current_trace
from ...recording.errors import CarryTypeError, TracerError
from ...recording.trace import Trace
from ..forms import (
    NOWHERE,
    Container,
    Fixed,
    Form,
    Number,
    OneOf,
    Optional,
    carried,
    fixed_in,
    form_of,
    is_around,
    is_number,
    joined,
    kind_in,
    kind_of,
    kinds,
    without_sizes,
    zero_like,
)
from ..places import Attribute, Contents, Item, Place
from ..sides import MOST_ALTERNATIVES
from .iteration import Rows

# So many rounds are unrolled whose numbers alone decide on sizes.
_MOST_OF_OWN_SIZES = 8


def aliased(message: str) -> CarryTypeError:
    """That a name is bound to another array while the one that it held is changed in place."""
    error = CarryTypeError(message)
    error.is_of_swap = True
    return error


class Slot:
    """A place whose value is carried from round to round, in a form that it has in all of them.

    ``state`` says how lists in it are carried whose length the program decides; the form is that of what they are carried as,
    None until that is known.
    """

    def __init__(self, place: Place, initial: Any) -> None:
        self.place, self.initial = place, initial
        self.form: Form | None = None
        self.state: Any = None
        self.ends_bound = False
        self.other_objects = 0  # how many recordings have left other objects in its lists
        self.longer = 0  # how many have left more numbers in it, or in elements of its lists


def require_own_sizes(trace: Trace, rows: Rows | None, position: TracedArray | None) -> None:
    """Raises TracerError where there are a few rounds, whose numbers alone decide how large arrays in them are.

    The sizes are known where the rounds are recorded one by one.
    """
    if rows is None or not isinstance(rows.length, int) or rows.length > _MOST_OF_OWN_SIZES:
        return
    fixed: set[hlo.Instruction] = set()
    following = {position.instruction(trace)}
    for made in trace.builder.instructions:
        if made.opcode == "set-dimension-size" and made.operands[1] in following:
            raise TracerError("the number of the round decides on the sizes of arrays, and there are few rounds")
        if made.opcode == "constant":
            fixed.add(made)
        elif made.operands and not made.called_computations and all(one in fixed or one in following for one in made.operands):
            (fixed if fixed.issuperset(made.operands) else following).add(made)


def of_one_type(number: Any, end: Any) -> Any:
    """A number as it is behind a round, if that always leaves one of the same type; of a list its elements."""
    if type(number) is list and type(end) is list and len(number) == len(end):
        number[:] = map(of_one_type, number, end)
        return number
    if not isinstance(number, TracedArray) or number.exact is None or getattr(end, "exact", None) is not None:
        return number
    wanted = kind_of(end).scalar_type
    found = next(one for one in (number, *number.exact.values) if kind_of(one).scalar_type == wanted)
    found.exact = None
    return found


def require_same_arrays(initial: Form, end: Form, name: str, loop: str) -> None:
    """Raises CarryTypeError where an array enters the first round, and an array of another dtype, or a number, the others."""
    if isinstance(initial, Optional):
        initial = initial.form
    if isinstance(end, Optional):
        end = end.form
    if isinstance(initial, Container) and isinstance(end, Container) and len(initial.parts) == len(end.parts):
        for one, other in zip(initial.parts, end.parts):
            require_same_arrays(one, other, name, loop)
    first, second = kind_in(initial), kind_in(end)
    if first is not None and second is not None and are_other_arrays(first, second):
        raise CarryTypeError(f"{name} is {first} before {loop}, and {second} behind a round")


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or isinstance(value, TracedArray) and not value.is_scalar


def varying(value: Any) -> Form:
    """The form of a value that loops change: numbers are carried, whatever they are at first."""
    form = form_of(value, as_views=True)
    return Number(kind_of(value)) if isinstance(form, Fixed) and is_number(value) else form


def depth_of(form: Form) -> int:
    """How many containers are nested in what has this form."""
    if isinstance(form, Container):
        return 1 + max(map(depth_of, form.parts), default=0)
    if isinstance(form, OneOf):
        return max(map(depth_of, form.forms), default=0)
    return depth_of(form.form) if isinstance(form, Optional) else 0


def require_one_name(names: Sequence[Place], before: dict, ends: dict, changed: Iterable[Place], where: str) -> None:
    """A name may not be bound to a list in a round that is also known by another name, which it would no longer be.

    changed: the places whose values the loop carries.
    """
    seen: dict[int, str] = {}
    for place in names:
        end = ends[place.key]
        if isinstance(end, (list, dict, set)) and seen.setdefault(id(end), place.name) != place.name:
            if any(one is not ends[key] for key, one in before.items() if ends.get(key) is end):
                raise CarryTypeError(
                    f"{seen[id(end)]} and {place.name} are names of one list behind a round of {where}. Fix: give one of them "
                    "a copy (list(...))"
                )
    holders = [place.holder for place in changed if isinstance(place, (Contents, Item, Attribute))]
    for place in names:
        if any(ends[place.key] is holder for holder in holders) and before[place.key] is not ends[place.key]:
            kind = type(ends[place.key]).__name__
            raise CarryTypeError(f"{place.name} becomes another name of a {kind} that {where} changes. Fix: give it a copy")


def require_unaliased(place: Place, before: Any, copies: bool, loop: str) -> None:
    """A round may not change an array in place whose name it then gives to another one, if others see the first.

    ``copies`` as of `CapturedLoop`. Raises CarryTypeError.
    """
    trace = current_trace()
    for array in pytree.flatten(before)[0]:
        if isinstance(array, TracedArray) and array.shape and array.root_storage in trace.written:
            if copies and array is before and not array.root_storage.is_from_outside:
                continue
            raise aliased(
                f"{place.name} is changed in place, and bound to another array, in a round of {loop}. Fix: write the new "
                f"values into it ({place.name}[...] = ...)"
            )


def carried_row(form: Form, row: Sequence[Any]) -> list[Any]:
    """The numbers of a value of this form as they are carried; zeros where there are none."""
    trace, given = current_trace(), zip(row, kinds(form))
    return [zero_like(trace, kind) if number is NOWHERE else carried(number) for number, kind in given]


def _is_made_of(function: Any, outer: Trace) -> bool:
    """Whether a function, or one that it calls, holds values of the round, and not of the trace around the loop."""
    found = [function]
    for one in found:
        if isinstance(one, TracedArray) and not is_around(one.root_storage.trace, outer):
            return True
        found += [held for held in _held_by(one) if not any(held is known for known in found)]
    return False


def _held_by(function: Any) -> Iterator[Any]:
    if isinstance(function, partial):
        yield from (function.func, *function.args, *function.keywords.values())
    if isinstance(function, FunctionType):
        yield from [cell.cell_contents for cell in bound_cells(function).values()]


def _of_any_size_where_wider(form: Form, both: Form) -> Form:
    """What a form has become, where arrays of one more shape in each round, also in parts of it, are one of any size."""
    if isinstance(form, Optional) and isinstance(both, Optional):
        return Optional(both.absent, _of_any_size_where_wider(form.form, both.form))
    if isinstance(form, Container) and isinstance(both, Container) and len(form.parts) == len(both.parts):
        return Container(both.type, both.auxiliary, tuple(map(_of_any_size_where_wider, form.parts, both.parts)))
    if isinstance(form, OneOf) and isinstance(both, OneOf) and len(both.forms) > len(form.forms):
        return without_sizes(both)
    return both


def form_with(place: Place, form: Form, value: Any, outer: Trace, loop: str) -> Form:
    """The form that values of this form have together with this value, which a round leaves there. Raises CarryTypeError."""
    found = form_of(value, outer, as_views=True)
    if any(_is_made_of(one, outer) for one in fixed_in(found)):
        raise CarryTypeError(f"{place.name} holds another function in each round of {loop}, which the round makes")
    both = _of_any_size_where_wider(form, joined(form, found, in_loop=True))
    if isinstance(place, Contents) and not isinstance(both, Container):
        raise CarryTypeError(
            f"{place.name} enters a round of {loop} with {len(form.parts)} elements and leaves it with {len(value)}: it must "
            "keep its keys"
        )
    if isinstance(both, OneOf) and len(both.forms) > MOST_ALTERNATIVES:
        raise CarryTypeError(f"{place.name} holds something of another kind in each round of {loop}")
    return both
