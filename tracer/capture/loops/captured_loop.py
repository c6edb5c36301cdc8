"""A loop of a rewritten function as a While: its state is what the body changes and someone reads later."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NoReturn

from ....hlo.interrupts import not_of_a_signal
from ...control_flow.bodies import function_place
from ...control_flow.loops import Loop
from ...recording import pytree
from ...recording.array import TracedArray
from ...recording.current_trace import current_trace
from ...recording.errors import CarryTypeError, TracerError
from ...recording.intervals import CARRIED, note_interval
from ...recording.trace import Storage, Trace
from ..branches import between, choose
from ..choices import Maybe
from ..contents import with_contents
from ..copies import note_copies
from ..distribution import condition
from ..failures import Region, errors_found_in, note_errors
from ..forms import NOWHERE, Form, View, form_of, is_like, is_number, is_unchanged, kinds, labels
from ..lists.merging import LEAST_CAPACITY, carried_as, state_of
from ..lists.references import note_same_makers
from ..lists.runs import place_of, require_read
from ..lists.tables import is_made_before, meeting, put_together
from ..merging import filled, numbers
from ..outcomes import (
    BREAK,
    CONTINUE_CODE,
    END_CODE,
    RETURN_CODE,
    outcome_of,
    possible_codes,
    returned_value,
    returning,
    without_continue,
)
from ..places import (
    UNBOUND,
    Contents,
    Item,
    Journal,
    LocalName,
    Names,
    Place,
    holds_the_same,
    journal,
    let_be_read,
    local_names,
    note,
    note_all_made,
    put_back,
)
from ..raising import is_raised_when_run, record_raise
from ..texts.characters import holds_written_texts, release
from .aliases import ArrayPlace, LoopAliases
from .growing_lists import GrowingLists, is_growing
from .iteration import Rows
from .settled import Settled, begin_loops, settled_before
from .stacked_rows import row_numbers
from .state import (
    Slot,
    carried_row,
    depth_of,
    form_with,
    is_array,
    of_one_type,
    require_one_name,
    require_own_sizes,
    require_same_arrays,
    require_unaliased,
    varying,
)

_MOST_ATTEMPTS = 60
# State that grows by more containers than this, one with each recording, does not come to an end; and each takes longer.
_MOST_NESTED = 16
# So many rounds of a loop in which arrays change their sizes are better unrolled.
_FEW_ROUNDS = 64


_RETURNED = Place()
_RETURNED.name = _RETURNED.key = "the returned value"


class _Again(BaseException):
    """The state of a loop has turned out to be larger. Nobody else handles it.

    prepare: is to be called before the loop is recorded from its beginning.
    """

    def __init__(self, loop: CapturedLoop, prepare: Callable[[], Any] | None = None) -> None:
        self.loop, self.prepare = loop, prepare


class CapturedLoop:
    """Records one loop, over rows or while a test holds; again with more state, until no round changes anything else.

    copies: a name that holds an array which is changed in place, and then another one, holds a copy of the first from the
    beginning. That this is not read under another name is seen to (`aliases`); without, it is an error. Of a loop that
    ``may_be_empty`` the program raises what a round always raises, if there is one.
    """

    def __init__(
        self,
        outer: Trace,
        rows: Rows | None,
        test: Callable | None,
        body: Callable,
        names: Names,
        sharing: Sequence[Callable | None],
        copies: bool,
        may_be_empty: bool,
    ) -> None:
        self.most_rounds = None if rows is None else rows.most(outer, LEAST_CAPACITY)
        self.outer, self.rows, self.test, self.body, self.copies = outer, rows, test, body, copies
        self.may_be_empty = may_be_empty or rows is not None and not isinstance(rows.length, int)
        self.places, self.others = (local_names(sharing, some) for some in names[:2])
        self.surely_bound = names[2]
        self.before = {place.key: place.get() for place in (*self.places, *self.others)}
        self.known = len(outer.program.error_messages)
        self.inexact: set[int] = set()  # errors of which it is not known what has been done before them
        self.met: set[int] = set()  # lists that have met at one place
        self.shared: set[Any] = set()  # places of containers that rounds append, and that have several places
        self.unreadable: list[tuple[Any, Any]] = []  # as of a `Journal`, of rounds that have come to their end
        self.settled = settled_before(outer, body)
        self._begin()

    def _begin(self) -> None:
        """Nothing is known of the state yet but the names that hold numbers."""
        self.slots: dict[Any, Slot] = {}
        self.aliases = LoopAliases(self.outer, [place.key for place in self.places if place.name in self.settled.elements])
        self.growing = GrowingLists()
        self.codes = self.settled.codes
        self.returned = self.settled.returned
        self.is_returned_guessed = False
        for place in self.places:
            initial = self.before[place.key]
            form = self.settled.form(place.name, initial)
            if form is not None or isinstance(initial, Maybe) or is_number(initial) and not is_array(initial):
                self.slots[place.key] = Slot(place, initial)
                self.slots[place.key].form = form
        for slot, is_element in self.settled.slots():
            with suppress(CarryTypeError):
                if not isinstance(slot.form, View):
                    require_unaliased(slot.place, slot.initial, self.copies, self._place())
                self.slots[slot.place.key] = slot
                if is_element:
                    self.aliases.elements.add(slot.place.key)

    def run(self) -> Any:
        """Record the loop; the way on which control leaves it."""
        try:
            for _ in range(_MOST_ATTEMPTS):
                try:
                    final = self._record()
                    break
                except _Again as again:
                    if again.loop is not self:
                        raise
                    self._let_be_read()
                    self._reset()
                    if again.prepare is not None:
                        again.prepare()
                        self.settled = Settled()
                        self._begin()
                    self.aliases.begin()
            else:
                raise self._never_ends()
        except BaseException:
            self._reset()
            raise
        return self._leave(final)

    def _never_ends(self) -> CarryTypeError:
        return CarryTypeError(f"the state of {self._place()} does not come to an end")

    def again_with(self, prepare: Callable[[], Any]) -> NoReturn:
        """Record the loop from its beginning, behind what ``prepare`` does in front of it."""
        raise _Again(self, prepare)

    def _place(self) -> str:
        return f"the loop at {function_place(self.body)}"

    def _let_be_read(self) -> None:
        """Let containers hold again what they held before rounds that have come to their end have made them unreadable."""
        let_be_read(self.unreadable)
        self.unreadable = []

    def _reset(self) -> None:
        for place in (*self.places, *self.others):
            place.set(self.before[place.key])
        for slot in self.slots.values():
            if slot.place.key not in self.before:
                slot.place.set(slot.initial)
        self.growing.reset()

    # --- the state, as the While has it ---

    def _record(self) -> list[Any]:
        slots = list(self.slots.values())
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
        for slot in slots:
            if not isinstance(slot.place, LocalName):
                note(slot.place)  # whoever puts it back, as the loop cannot be captured, finds what it is now
            initial = carried_as(slot.initial, slot.state)
            slot.form = slot.form or varying(initial)
            row = rows[slot.place.key] = numbers(slot.form, initial)
            self.aliases.note(slot.place.key, row)
            self.aliases.names.note_initial(slot.place, slot.initial)
            state += carried_row(slot.form, row)
            types += kinds(slot.form)
            names += labels(slot.form, slot.place.name)
        self.aliases.note_together(rows)
        length, name = (None, "while") if self.rows is None else (self.rows.length, "for")
        loop = Loop(
            self.outer, name, tuple(state), lambda state: self._condition(slots, list(state)),
            lambda state: self._round(slots, list(state)), function_place(self.body), tuple(names),
            always_ends=isinstance(length, int) and not self.leaves_early, widens=True,
            stops=bool(self.outer.program.regions), types=types,
            resizes=not isinstance(length, int) or self.leaves_early or length > _FEW_ROUNDS,
        )  # fmt: skip
        loop.changing |= self.settled.changing
        return list(loop.run())

    @property
    def leaves_early(self) -> bool:
        return self.codes != {END_CODE}

    def _numbers(self, form: Form, value: Any) -> list[Any]:
        """The numbers of a value as they are carried."""
        return carried_row(form, numbers(form, value))

    # --- one round ---

    @contextmanager
    def _is_round_of(self, entries: Journal) -> Iterator[None]:
        entries.loop, entries.is_round, entries.is_of_trace = self, True, True
        try:
            yield
        except _Again:
            put_back(entries)
            entries.clear()
            raise
        self.unreadable += entries.unreadable

    def _enter(self, slots: Sequence[Slot], state: list[Any]) -> tuple[Any, Any, Any]:
        values = iter(state)
        position = next(values) if self.rows is not None else None
        code = next(values) if self.leaves_early else None
        value = UNBOUND if self.returned is None else filled(self.returned, values)
        self.aliases.names.enter(_RETURNED, self.returned, value)
        self._reset()
        self.entered = {}
        for slot in slots:
            held = self.entered[slot.place.key] = self._held(slot, values, self.aliases.bases)
            slot.place.set(held)
        self.aliases.separate()
        return position, code, value

    def _held(self, slot: Slot, values: Iterator[Any], bases: dict[ArrayPlace, set[Storage]]) -> Any:
        """What a slot holds, of its numbers."""
        row = [next(values) for _ in kinds(slot.form)]
        held = filled(slot.form, iter(row))
        note_same_makers(held, (slot.initial,))
        if slot.place.key in self.shared:
            note_copies(current_trace(), held)
        self.aliases.enter(slot.place, slot.form, row, held, bases)
        return held

    def _condition(self, slots: Sequence[Slot], state: list[Any]) -> Any:
        trace = current_trace()
        begin_loops(trace, self.settled.in_condition)
        with journal() as entries, self._is_round_of(entries), errors_found_in(trace, (), entries) as region:
            goes_on = self._goes_on(slots, state)
            if region is not None:
                self.inexact |= region.inexact_behind()
            return goes_on

    def _goes_on(self, slots: Sequence[Slot], state: list[Any]) -> Any:
        position, code, _ = self._enter(slots, state)
        goes_on = None if code is None else code == END_CODE
        if self.rows is not None:
            below = position < self.rows.length
            return below if goes_on is None else below & goes_on
        if goes_on is None:
            return self._test()
        return choose(goes_on, self._test, lambda: False)

    def _test(self) -> Any:
        value = condition(self.test())
        return value if isinstance(value, TracedArray) else bool(value)

    def _round(self, slots: Sequence[Slot], state: list[Any]) -> Any:
        begin_loops(current_trace(), self.settled.in_round)
        for place in self.growing.places():
            note(place)
        with (
            journal() as entries,
            self._is_round_of(entries),
            errors_found_in(current_trace(), self.places, entries) as region,
        ):
            position, code, value = self._enter(slots, state)
            if region is not None:
                region.start(self.places)
            if position is not None:
                last = max(0, self.rows.length - 1) if isinstance(self.rows.length, int) else CARRIED[1]
                note_interval(current_trace(), position, (0, last))
            self.growing.enter(self._read_growing)
            for slot in slots:
                if isinstance(slot.place, LocalName):
                    note_all_made(self.entered[slot.place.key])
            outcome = failed = None
            try:
                outcome = self.body() if self.rows is None else self.body(self.rows.element(position))
            except BaseException as error:  # noqa: BLE001, raised below
                if self.may_be_empty and is_raised_when_run(error):
                    record_raise(current_trace(), error)
                    outcome = BREAK
                elif isinstance(error, not_of_a_signal(Exception)):
                    failed = error
                else:
                    raise
            if region is not None and failed is None:
                self._settle(region)
            ends = {place.key: place.get() for place in (*self.places, *self.others)}
            found = [*[(slot.place, slot.place.get()) for slot in slots], (_RETURNED, returned_value(outcome))]
            missing = self.aliases.names.note_round(found, entries)
            changed = {key: (place, before, place.get()) for key, (place, before) in entries.items()}
            put_back(entries)
            entries.clear()
        held = {key: end for key, (_, _, end) in changed.items()}
        # What a loop within has put together is not there when a round begins: it is part of what holds it behind the round.
        changed = {key: one for key, one in changed.items() if id(one[0].holder) not in entries.put_together}
        # What holds the very objects that it held, as a dict behind `setdefault` of a key that is there, is no state.
        changed = {key: one for key, one in changed.items() if key in self.slots or not holds_the_same(*one)}
        holders = {id(place.holder) for place, _, _ in changed.values()}
        as_held = partial(with_contents, ends=held, outer=self.outer)
        outcome = returning(outcome, as_held(returned_value(outcome)))
        ends = {  # a name that holds what is changed itself is another name of that
            key: end if end is self.before[key] or id(end) in holders else as_held(end) for key, end in ends.items()
        }
        changed = {  # what still holds the object that it held is a place of its own, and so are that one's contents
            key: (place, before, end if end is before else as_held(end)) for key, (place, before, end) in changed.items()
        }
        if failed is not None:
            if not getattr(failed, "is_of_recursion", False):
                try:  # it may have failed for want of state, as where it reads the list that it appends to
                    self._look_for_more(slots, ends, changed, None)
                except not_of_a_signal(Exception):
                    pass
            raise failed
        slots_and_growing = (*[slot.place for slot in self.slots.values()], *self.growing.places())
        require_one_name(self.places, self.before, ends, slots_and_growing, self._place())
        self.aliases.reach([*ends.values(), *[end for _, _, end in changed.values()]])
        self._look_for_more(slots, ends, changed, outcome)
        appended = self.growing.appended(changed)
        shared = self.growing.shared(appended, {**ends, **held}, held, self.outer)
        if missing or not shared <= self.shared:
            self.shared |= shared
            raise _Again(self)
        self.aliases.names.require_readable()
        require_own_sizes(current_trace(), self.rows, position)
        added = {key: row_numbers(pytree.flatten(values)[0]) for key, values in appended.items()}
        require_read(itertools.chain(*added.values()))
        rows = {slot.place.key: numbers(slot.form, self.ended[slot.place.key]) for slot in slots}
        self._note_aliases(slots, ends, returned_value(outcome), {**rows, **added})
        self.growing.stack(appended, self.rows, self.outer, position, self.aliases)
        if self.returned is None or not holds_written_texts(self.returned):
            release([slot.form for slot in slots], [rows[slot.place.key] for slot in slots])

        following: list[Any] = []
        if self.rows is not None:
            following.append(position + 1)
        if self.leaves_early:
            following.append(without_continue(outcome))
        if self.returned is not None:
            returned = returned_value(outcome)
            following += self._numbers(self.returned, value if returned is UNBOUND else returned)
        for slot in slots:
            following += carried_row(slot.form, rows[slot.place.key])
        # Here, and not behind the loop, as a trial may end with the While.
        self.settled.note(slots, self.codes, self.returned, current_trace().changing, self.aliases.elements)
        return tuple(following)

    def _settle(self, region: Region) -> None:
        """The state is what it was where an error has been found; there the loop ends, before rows are appended."""
        if (region.failures or region.inexact) and self.growing:
            self._carry_growing(*self.growing)
            raise _Again(self)
        region.settle(between)
        self.inexact |= region.inexact

    def _note_aliases(self, slots: Sequence[Slot], ends: dict, returned: Any, rows: dict[Any, Sequence[Any]]) -> None:
        """Raises _Again where it was not known what an array or a list may be behind a round."""
        missing = self.aliases.note_round(rows)
        ends = {**self.ended, **ends}
        found = [*[(slot.place, ends[slot.place.key]) for slot in slots], (_RETURNED, returned)]
        missing |= self.aliases.note_elements(found)
        shared = self.aliases.shared_with_changed() & set(self.growing)
        self._carry_growing(*shared)
        if missing or shared:
            raise _Again(self)

    def _end_elsewhere(self, slot: Slot, changed: dict) -> Any:
        return changed[slot.place.key][2] if slot.place.key in changed else self.entered[slot.place.key]

    def _look_for_more(self, slots: Sequence[Slot], ends: dict, changed: dict, outcome: Any) -> None:
        """Raises _Again where a round changes what is not carried yet."""
        missing = False
        candidates = [(place, self.before[place.key], ends[place.key]) for place in self.places]
        for key, (place, before, end) in changed.items():
            if key not in ends:
                candidates.append((place, before, end))
        appends = self.rows is not None and isinstance(self.rows.length, int) and not self.leaves_early
        for place, before, end in candidates:
            if place.key in self.slots or place.key in self.growing or is_unchanged(place, before, end):
                continue
            if appends and is_growing(place, before, end):
                self.growing.add(place, before, end)
            else:
                self._add(place, before, end)
                if not isinstance(self.slots[place.key].form, View):
                    require_unaliased(place, before, self.copies, self._place())
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
            raise _Again(self)

    def _look_at_returned(self, returned: Any, is_guess: bool) -> bool:
        """Take down what a round returns, a guess where more is carried the next time; whether it is in another form."""
        known = None if is_guess or self.is_returned_guessed else self.returned
        form = form_of(returned, self.outer, as_views=True)
        both = form if known is None else form_with(_RETURNED, known, returned, self.outer, self._place())
        is_other = self.returned is None or not is_like(both, self.returned)
        self.returned, self.is_returned_guessed = both, is_guess
        return is_other

    def _note_aliases_early(self, ends: dict, changed: dict) -> None:
        """What can be known already before the loop is recorded again with more state, so that it needs no third time."""
        ends = {**self.entered, **{key: end for key, (_, _, end) in changed.items()}, **ends}
        slots = [slot for key, slot in self.slots.items() if key in ends]
        plain = [slot for slot in slots if slot.form is not None and slot.state is None]
        with suppress(TracerError):  # in the form in which they will be carried they may be others
            self.aliases.note_round({slot.place.key: numbers(slot.form, ends[slot.place.key]) for slot in plain})
        self.aliases.note_elements([(slot.place, ends[slot.place.key]) for slot in slots])

    def _carry_growing(self, *keys: Any) -> None:
        """Lists to which rounds append are carried, as they are read in the loop, or that is left early."""
        for key in keys:
            self._add(*self.growing.pop(key))

    def _read_growing(self, key: Any) -> NoReturn:
        self._carry_growing(key)
        raise _Again(self)

    def _add(self, place: Place, before: Any, end: Any) -> None:
        """One more place whose value is carried."""
        if isinstance(place, Contents) and isinstance(before, dict):
            before = self._with_carried_items(place.holder, before)
        self._put_together(place, before, end)
        slot = self.slots[place.key] = Slot(place, before)
        if not self._state_differs(slot, before, end):
            slot.form = form_with(place, varying(before), end, self.outer, self._place())

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
        require_same_arrays(form_of(slot.initial), form_of(end), slot.place.name, self._place())
        both = form_with(slot.place, slot.form, end, self.outer, self._place())
        is_wider = not is_like(both, slot.form)
        if is_wider:
            if depth_of(both) > depth_of(form_of(slot.initial)) + _MOST_NESTED:
                raise self._never_ends()
            if isinstance(slot.form, View):
                require_unaliased(slot.place, slot.initial, self.copies, self._place())
            self.aliases.forget(slot.place.key)
        slot.form = both
        return is_wider

    def _state_differs(self, slot: Slot, before: Any, end: Any) -> bool:
        """Whether lists in it have turned out to be carried in another way."""
        state = state_of(before, end, place_of(), self.most_rounds, self.aliases.lasting)
        differs, slot.state = state != slot.state, state
        return differs

    # --- behind the loop ---

    def _leave(self, final: list[Any]) -> Any:
        values = iter(final)
        if self.rows is not None:
            next(values)
        code = next(values) if self.leaves_early else None
        value = UNBOUND if self.returned is None else filled(self.returned, values)
        self.aliases.names.enter(_RETURNED, self.returned, value)
        self.aliases.enter_elements(_RETURNED, value)
        self._reset()
        runs = self.rows is not None and isinstance(self.rows.length, int) and self.rows.length > 0
        for slot in self.slots.values():
            held = self._held(slot, values, self.aliases.end_bases if runs else self.aliases.bases)
            if runs:
                held = of_one_type(held, self.ended[slot.place.key])
            if isinstance(held, Maybe):
                surely = held.absent is UNBOUND and slot.place.name in self.surely_bound
                held = held.value if surely or runs and slot.ends_bound else held
            if not isinstance(slot.place, LocalName):
                note(slot.place)
            slot.place.set(held)
        self.aliases.separate(None if self.rows is None or isinstance(self.rows.length, int) else self.rows.length)
        self.growing.leave(self.rows, self.shared)
        for place in self.others:
            place.set(UNBOUND)
        note_errors(self.outer, self.known, self.inexact)
        return None if code is None else outcome_of(code, self.codes, value)
