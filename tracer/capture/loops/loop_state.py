"""What a captured loop carries from round to round, and whether a round turns out to need more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from ...recording.current_trace import current_trace
from ...recording.errors import CarryTypeError, TracerError
from ...recording.trace import Storage, Trace
from ..choices import Maybe
from ..copies import note_copies
from ..forms import NOWHERE, Form, View, form_of, is_like, is_number, is_unchanged, kinds, labels
from ..journals import note
from ..lists.merging import LEAST_CAPACITY, carried_as, leaves_of, objects_of, state_of
from ..lists.references import note_same_makers
from ..lists.runs import place_of
from ..lists.tables import is_made_before, meeting, put_together
from ..merging import filled, numbers
from ..outcomes import CONTINUE_CODE, END_CODE, RETURN_CODE, possible_codes, returned_value, without_continue
from ..places import UNBOUND, Contents, Item, LocalName, Place
from ..texts.characters import holds_written_texts, release
from .aliases import ArrayPlace, LoopAliases
from .carried_places import Slot, carried_row, depth_of, form_with, is_array, require_same_arrays, require_unaliased, varying
from .growing_lists import GrowingLists, is_growing
from .iteration import Rows
from .settled import Settled

RETURNED = Place()
RETURNED.name = RETURNED.key = "the returned value"
# State that grows by more containers than this, one with each recording, does not come to an end; and each takes longer.
_MOST_NESTED = 16
# So often at the most it grows by more numbers, which may be twice as many each time, as of trees of tuples.
_MOST_LONGER = 6
# As often one more recording of a round has left other objects in a list: each one makes others then.
_MOST_OF_OTHER_OBJECTS = 3


class Again(BaseException):
    """The state of a loop has turned out to be larger. Nobody else handles it.

    prepare: is to be called before the loop is recorded from its beginning.
    """

    def __init__(self, state: LoopState, prepare: Callable[[], Any] | None = None) -> None:
        self.state, self.prepare = state, prepare


class LoopState:
    """The state of one loop: of which places it carries the values, on which ways it is left, and what it returns then.

    ``before`` is what the places hold before the loop, ``where`` is what messages call it, and ``copies`` as of `CapturedLoop`.
    """

    def __init__(
        self,
        outer: Trace,
        rows: Rows | None,
        names: Sequence[Place],
        before: dict[Any, Any],
        copies: bool,
        settled: Settled,
        where: str,
    ) -> None:
        self.outer, self.rows, self.names, self.before, self.copies, self.where = outer, rows, names, before, copies, where
        self.most_rounds = None if rows is None else rows.most(outer, LEAST_CAPACITY)
        self.met: set[int] = set()  # lists that have met at one place
        self.shared: set[Any] = set()  # places of containers that rounds append, and that have several places
        self.begin(settled)

    def begin(self, settled: Settled) -> None:
        """Nothing is known of the state yet but the names that hold numbers, and what a loop like it has settled."""
        self.settled = settled
        self.slots: dict[Any, Slot] = {}
        self.aliases = LoopAliases(self.outer, [place.key for place in self.names if place.name in settled.elements])
        self.growing = GrowingLists()
        self.codes = settled.codes
        self.returned = settled.returned
        self.is_returned_guessed = False
        for place in self.names:
            initial = self.before[place.key]
            form = settled.form(place.name, initial)
            if form is not None or isinstance(initial, Maybe) or is_number(initial) and not is_array(initial):
                self.slots[place.key] = Slot(place, initial)
                self.slots[place.key].form = form
        for slot, is_element in settled.slots():
            with suppress(CarryTypeError):
                if not isinstance(slot.form, View):
                    require_unaliased(slot.place, slot.initial, self.copies, self.where)
                self.slots[slot.place.key] = slot
                if is_element:
                    self.aliases.elements.add(slot.place.key)

    def never_ends(self) -> CarryTypeError:
        return CarryTypeError(f"the state of {self.where} does not come to an end")

    def again_with(self, prepare: Callable[[], Any]) -> NoReturn:
        """Record the loop from its beginning, behind what ``prepare`` does in front of it."""
        raise Again(self, prepare)

    def reset(self) -> None:
        """Let all places but the loop's names hold what they held before it."""
        for slot in self.slots.values():
            if slot.place.key not in self.before:
                slot.place.set(slot.initial)
        self.growing.reset()

    # --- as the While has it ---

    @property
    def leaves_early(self) -> bool:
        return self.codes != {END_CODE}

    @property
    def known_length(self) -> int | None:
        """How many rounds there are at most, where that is known while the loop is recorded."""
        return self.rows.length if self.rows is not None and isinstance(self.rows.length, int) else None

    def initial(self) -> tuple[list[Any], list[Any], list[str]]:
        """The numbers with which the loop is entered, their types, None for those that are the loop's own, and their names."""
        state, names, types = [], [], []
        if self.rows is not None:
            state.append(0)
            types.append(None)
            names.append("the number of the round")
        if self.leaves_early:
            state.append(0)
            types.append(None)
            names.append("the way on which the loop is left")
        if self.returned is not None:
            state += self._numbers(self.returned, NOWHERE)
            types += kinds(self.returned)
            names += labels(self.returned, "the returned value")
        rows: dict[Any, Sequence[Any]] = {}
        for slot in self.slots.values():
            if not isinstance(slot.place, LocalName):
                note(slot.place)  # whoever puts it back, as the loop cannot be captured, finds what it is now
            initial = carried_as(slot.initial, slot.state)
            slot.form = slot.form or varying(initial)
            row = rows[slot.place.key] = numbers(slot.form, initial)
            if slot.state is None:
                self.aliases.note(slot.place.key, row)
            else:
                self.aliases.note_columns(slot.place.key, row, slot.initial)
            self.aliases.names.note_initial(slot.place, slot.initial)
            state += carried_row(slot.form, row)
            types += kinds(slot.form)
            names += labels(slot.form, slot.place.name)
        self.aliases.note_together(rows)
        return state, types, names

    def _numbers(self, form: Form, value: Any) -> list[Any]:
        """The numbers of a value as they are carried."""
        return carried_row(form, numbers(form, value))

    def control(self, values: Iterator[Any]) -> tuple[Any, Any, Any]:
        """Of the numbers of a round the first ones: its own, the way on which the loop is left, and what is returned then."""
        position = next(values) if self.rows is not None else None
        code = next(values) if self.leaves_early else None
        value = UNBOUND if self.returned is None else filled(self.returned, values)
        self.aliases.names.enter(RETURNED, self.returned, value)
        return position, code, value

    def enter(self, values: Iterator[Any]) -> None:
        """Let the places hold what they hold when a round begins, of the numbers behind those of `control`."""
        self.entered = {}
        for slot in self.slots.values():
            held = self.entered[slot.place.key] = self.held(slot, values, self.aliases.bases)
            slot.place.set(held)
        self.aliases.separate()

    def held(self, slot: Slot, values: Iterator[Any], bases: dict[ArrayPlace, set[Storage]]) -> Any:
        """What a slot holds, of its numbers."""
        row = [next(values) for _ in kinds(slot.form)]
        held = filled(slot.form, iter(row))
        note_same_makers(held, (slot.initial,))
        if slot.place.key in self.shared:
            note_copies(current_trace(), held)
        self.aliases.enter(slot.place, slot.form, row, held, bases)
        return held

    def rows_behind(self) -> dict[Any, Sequence[Any]]:
        """The numbers of what the places hold behind a round."""
        return {key: numbers(slot.form, self.ended[key]) for key, slot in self.slots.items()}

    def following(self, position: Any, outcome: Any, before: Any, rows: dict[Any, Sequence[Any]]) -> tuple[Any, ...]:
        """The numbers with which the next round is entered, behind one that ends so; ``before`` was returned until then."""
        if self.returned is None or not holds_written_texts(self.returned):
            release([slot.form for slot in self.slots.values()], [rows[key] for key in self.slots])
        following: list[Any] = []
        if self.rows is not None:
            following.append(position + 1)
        if self.leaves_early:
            following.append(without_continue(outcome))
        if self.returned is not None:
            returned = returned_value(outcome)
            following += self._numbers(self.returned, before if returned is UNBOUND else returned)
        for slot in self.slots.values():
            following += carried_row(slot.form, rows[slot.place.key])
        return tuple(following)

    # --- behind a round ---

    def require_complete(self, ends: dict, changed: dict, outcome: Any) -> None:
        """Raises Again where a round changes what is not carried yet, or leaves it in another form.

        ends: what the loop's names hold behind the round. changed: places with what they held before the round, and behind it.
        """
        slots = list(self.slots.values())
        missing = False
        candidates = [(place, self.before[place.key], ends[place.key]) for place in self.names]
        for key, (place, before, end) in changed.items():
            if key not in ends:
                candidates.append((place, before, end))
        appends = self.known_length is not None and not self.leaves_early
        for place, before, end in candidates:
            if place.key in self.slots or place.key in self.growing or is_unchanged(place, before, end):
                continue
            if appends and is_growing(place, before, end):
                self.growing.add(place, before, end)
            else:
                self._add(place, before, end)
                if not isinstance(self.slots[place.key].form, View):
                    require_unaliased(place, before, self.copies, self.where)
            missing = True
        self.ended = {}
        for slot in slots:
            end = ends[slot.place.key] if slot.place.key in ends else self._end_elsewhere(slot, changed)
            missing |= self._ends(slot, end)
        possible = frozenset(END_CODE if code == CONTINUE_CODE else code for code in possible_codes(outcome))
        if not possible <= self.codes:
            self._carry_growing(*self.growing)
            self.codes |= possible
            missing = True
        if RETURN_CODE in possible:
            missing |= self._look_at_returned(returned_value(outcome), missing)
        if missing:
            self._note_aliases_early(ends, changed)
            raise Again(self)

    def _end_elsewhere(self, slot: Slot, changed: dict) -> Any:
        return changed[slot.place.key][2] if slot.place.key in changed else self.entered[slot.place.key]

    def _look_at_returned(self, returned: Any, is_guess: bool) -> bool:
        """Take down what a round returns, a guess where more is carried the next time; whether it is in another form."""
        known = None if is_guess or self.is_returned_guessed else self.returned
        form = form_of(returned, self.outer, as_views=True)
        both = form if known is None else form_with(RETURNED, known, returned, self.outer, self.where)
        is_other = self.returned is None or not is_like(both, self.returned)
        self.returned, self.is_returned_guessed = both, is_guess
        return is_other

    def _add(self, place: Place, before: Any, end: Any) -> None:
        """One more place whose value is carried."""
        if isinstance(place, Contents) and isinstance(before, dict):
            before = self._with_carried_items(place.holder, before)
        self._put_together(place, before, end)
        slot = self.slots[place.key] = Slot(place, before)
        if not self._state_differs(slot, before, end):
            slot.form = form_with(place, varying(before), end, self.outer, self.where)

    def _with_carried_items(self, holder: dict, contents: dict) -> dict:
        """What a dict holds before the loop, of what it holds in a round, where until now single items of it were carried."""
        items = [slot for slot in self.slots.values() if isinstance(slot.place, Item) and slot.place.holder is holder]
        for slot in items:
            del self.slots[slot.place.key]
            self.aliases.forget(slot.place.key)
        contents |= {slot.place.index: slot.initial for slot in items}
        return {key: value for key, value in contents.items() if value is not UNBOUND}

    def _put_together(self, place: Place, before: Any, end: Any) -> None:
        """Lists from before the loop of which a place holds one or the other are put into a table, or must not be changed."""
        met = meeting(before, end, isinstance(place, Contents))
        lists = [one for one in met if is_made_before(one, self.outer)]
        if not set(map(id, lists)) <= self.met:
            self.met |= set(map(id, lists))
            self.again_with(lambda: put_together(lists))
        for one in lists:
            self.aliases.note_element(one)

    def _ends(self, slot: Slot, end: Any) -> bool:
        """Take down what a round leaves in a slot; whether it has to be carried in another way."""
        self._put_together(slot.place, self.entered[slot.place.key], end)
        if self._state_differs(slot, self.entered[slot.place.key], end):
            slot.form = None
            return True
        end = self.ended[slot.place.key] = carried_as(end, slot.state)
        slot.ends_bound = end is not None and end is not UNBOUND and not isinstance(end, Maybe)
        require_same_arrays(form_of(slot.initial), form_of(end), slot.place.name, self.where)
        both = form_with(slot.place, slot.form, end, self.outer, self.where)
        is_wider = not is_like(both, slot.form)
        if is_wider:
            slot.longer += len(kinds(both)) > len(kinds(slot.form))
            if depth_of(both) > depth_of(form_of(slot.initial)) + _MOST_NESTED or slot.longer > _MOST_LONGER:
                raise self.never_ends()
            if isinstance(slot.form, View):
                require_unaliased(slot.place, slot.initial, self.copies, self.where)
            self.aliases.forget(slot.place.key)
        slot.form = both
        return is_wider

    def _state_differs(self, slot: Slot, before: Any, end: Any) -> bool:
        """Whether lists in it have turned out to be carried in another way."""
        state = state_of(before, end, place_of(), self.most_rounds, self.aliases.lasting)
        differs = state != slot.state
        slot.other_objects += objects_of(state) > objects_of(slot.state)
        slot.longer += slot.state is not None and leaves_of(state) > leaves_of(slot.state)
        if slot.other_objects > _MOST_OF_OTHER_OBJECTS or slot.longer > _MOST_LONGER:
            raise self.never_ends()
        slot.state = state
        return differs

    # --- lists that grow, and other names of what is carried ---

    def read_growing(self, key: Any) -> NoReturn:
        """A list to which rounds append is read in the loop."""
        self._carry_growing(key)
        raise Again(self)

    def carry_all_growing(self) -> None:
        """Where a round may end before it has appended its elements, lists are carried like others."""
        if self.growing:
            self._carry_growing(*self.growing)
            raise Again(self)

    def _carry_growing(self, *keys: Any) -> None:
        for key in keys:
            self._add(*self.growing.pop(key))

    def require_known_shared(self, shared: set[Any], is_missing: bool) -> None:
        """Raises Again where containers that rounds append have several places of which it was not known."""
        if is_missing or not shared <= self.shared:
            self.shared |= shared
            raise Again(self)

    def note_aliases(self, ends: dict, returned: Any, rows: dict[Any, Sequence[Any]]) -> None:
        """Raises Again where it was not known what an array or a list may be behind a round."""
        missing = self.aliases.note_round(rows)
        ends = {**self.ended, **ends}
        found = [*[(slot.place, ends[key]) for key, slot in self.slots.items()], (RETURNED, returned)]
        missing |= self.aliases.note_elements(found)
        shared = self.aliases.shared_with_changed() & set(self.growing)
        self._carry_growing(*shared)
        if missing or shared:
            raise Again(self)

    def _note_aliases_early(self, ends: dict, changed: dict) -> None:
        """What can be known already before the loop is recorded again with more state, so that it needs no third time."""
        ends = {**self.entered, **{key: end for key, (_, _, end) in changed.items()}, **ends}
        slots = [slot for key, slot in self.slots.items() if key in ends]
        plain = [slot for slot in slots if slot.form is not None and slot.state is None]
        with suppress(TracerError):  # in the form in which they will be carried they may be others
            self.aliases.note_round({slot.place.key: numbers(slot.form, ends[slot.place.key]) for slot in plain})
        self.aliases.note_elements([(slot.place, ends[slot.place.key]) for slot in slots])
