"""What the state of a loop has come to, for when the round of another loop, in which it stands, is recorded again.

That is recorded with more state, or with wider types: what a loop in it carries then is what it has carried before, or more.
Beginning with this it is recorded once in most cases, so that the body of the innermost of some loops is recorded as often as
there are loops, and not as often as the product of the recordings of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ...recording.trace import Storage, Trace
from ..forms import Container, Form, Number, Optional, Several, is_like, joined
from ..outcomes import END_CODE
from ..places import LocalName
from .state import Slot, varying

# What has loops: the round or the condition of one. By their code, their variables, and how many of the same come before.
Inner = dict[tuple, "Settled"]


class Settled:
    """Of one loop; nothing, as long as its recording has not come to an end."""

    def __init__(self, closure: Any = None) -> None:
        self.closure = closure  # which stays, and the ids with it
        self.forms: dict[str, Form] = {}
        self.codes: frozenset[int] = frozenset([END_CODE])
        self.changing: set[Storage] = set()  # as of `Trace`
        self.in_round: Inner = {}
        self.in_condition: Inner = {}

    def note(self, slots: Iterable[Slot], codes: frozenset[int], changing: set[Storage]) -> None:
        """Take down what a loop has come to."""
        self.forms = {
            slot.place.name: slot.form
            for slot in slots
            if isinstance(slot.place, LocalName) and slot.state is None and _is_of_numbers(slot.form)
        }
        self.codes, self.changing = codes, changing

    def form(self, name: str, initial: Any) -> Form | None:
        """The form with which the place begins that has this name; None where nothing is known, or the value has another."""
        known = self.forms.get(name)
        if known is None:
            return None
        both = joined(known, varying(initial), in_loop=True)
        return both if is_like(both, known) else None


def settled_before(trace: Trace, body: Callable) -> Settled:
    """Of the loop with this body that is about to be recorded."""
    while trace.loops is None and trace.parent is not None:
        trace = trace.parent
    closure = getattr(body, "__closure__", None)
    if trace.loops is None or not closure:
        return Settled()
    inner, counts = trace.loops
    loop = body.__code__, *map(id, closure)
    counts[loop] += 1
    return inner.setdefault((*loop, counts[loop]), Settled(closure))


def begin_loops(trace: Trace, inner: Inner) -> None:
    """The trace, which begins, has these loops."""
    trace.loops = inner, Counter()


def _is_of_numbers(form: Form | None) -> bool:
    """Whether nothing in a form belongs to the recording."""
    if isinstance(form, Optional):
        return _is_of_numbers(form.form)
    if isinstance(form, Container):
        return form.type in (tuple, list) and all(map(_is_of_numbers, form.parts))
    return isinstance(form, Number | Several) and not getattr(form, "of_any_size", False)
