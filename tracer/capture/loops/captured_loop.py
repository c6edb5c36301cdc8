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
from ...recording.intervals import CARRIED, note_interval
from ...recording.trace import Trace
from ..branches import between, choose
from ..choices import Maybe
from ..contents import with_contents
from ..distribution import condition
from ..failures import Region, errors_found_in, note_errors, put_flag_aside, take_flag_again
from ..journals import Journal, journal, let_be_read, note, note_all_made, put_back
from ..lists.runs import require_read
from ..outcomes import (
    BREAK,
    END_CODE,
    outcome_of,
    returned_value,
    returning,
)
from ..places import UNBOUND, LocalName, Names, Place, holds_the_same, local_names
from ..raising import is_raised_when_run, record_raise
from .carried_places import (
    of_one_type,
    require_one_name,
    require_own_sizes,
)
from .iteration import Rows
from .loop_state import RETURNED, Again, LoopState
from .settled import Settled, begin_loops, settled_before
from .stacked_rows import row_numbers

# A place, what it held before a round, and what it holds behind it.
Change = tuple[Place, Any, Any]

_MOST_ATTEMPTS = 60
# So many rounds of a loop in which arrays change their sizes are better unrolled.
_FEW_ROUNDS = 64


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
        self.outer, self.rows, self.test, self.body = outer, rows, test, body
        self.may_be_empty = may_be_empty or rows is not None and not isinstance(rows.length, int)
        self.places, self.others = (local_names(sharing, some) for some in names[:2])
        self.surely_bound = names[2]
        self.before = {place.key: place.get() for place in (*self.places, *self.others)}
        self.known = len(outer.program.error_messages)
        self.inexact: set[int] = set()  # errors of which it is not known what has been done before them
        self.unreadable: list[tuple[Any, Any]] = []  # as of a `Journal`, of rounds that have come to their end
        where = f"the loop at {function_place(body)}"
        self.state = LoopState(outer, rows, self.places, self.before, copies, settled_before(outer, body), where)

    def run(self) -> Any:
        """Record the loop; the way on which control leaves it."""
        try:
            for _ in range(_MOST_ATTEMPTS):
                try:
                    final = self._record()
                    break
                except Again as again:
                    if again.state is not self.state:
                        raise
                    self._let_be_read()
                    self._reset()
                    if again.prepare is not None:
                        again.prepare()
                        self.state.begin(Settled())
                    self.state.aliases.begin()
            else:
                raise self.state.never_ends()
        except BaseException:
            self._reset()
            raise
        return self._leave(final)

    def _let_be_read(self) -> None:
        """Let containers hold again what they held before rounds that have come to their end have made them unreadable."""
        let_be_read(self.unreadable)
        self.unreadable = []

    def _reset(self) -> None:
        for place in (*self.places, *self.others):
            place.set(self.before[place.key])
        self.state.reset()

    def _record(self) -> list[Any]:
        state, types, names = self.state.initial()
        length, name = (None, "while") if self.rows is None else (self.rows.length, "for")
        loop = Loop(
            self.outer, name, tuple(state), lambda state: self._condition(list(state)),
            lambda state: self._round(list(state)), function_place(self.body), tuple(names),
            always_ends=isinstance(length, int) and not self.state.leaves_early, widens=True,
            stops=bool(self.outer.program.regions), types=types,
            resizes=not isinstance(length, int) or self.state.leaves_early or length > _FEW_ROUNDS,
        )  # fmt: skip
        loop.changing |= self.state.settled.changing
        return list(loop.run())

    @contextmanager
    def _is_round_of(self, entries: Journal) -> Iterator[None]:
        entries.loop_state, entries.is_round, entries.is_of_trace = self.state, True, True
        try:
            yield
        except Again:
            put_back(entries)
            entries.clear()
            raise
        self.unreadable += entries.unreadable

    def _enter(self, numbers: list[Any]) -> tuple[Any, Any, Any]:
        values = iter(numbers)
        control = self.state.control(values)
        self._reset()
        self.state.enter(values)
        return control

    # --- the condition ---

    def _condition(self, numbers: list[Any]) -> Any:
        trace = current_trace()
        begin_loops(trace, self.state.settled.in_condition)
        with journal() as entries, self._is_round_of(entries), errors_found_in(trace, (), entries) as region:
            goes_on = self._goes_on(numbers)
            if region is not None:
                self.inexact |= region.inexact_behind()
            return goes_on

    def _goes_on(self, numbers: list[Any]) -> Any:
        position, code, _ = self._enter(numbers)
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

    # --- one round ---

    def _round(self, numbers: list[Any]) -> Any:
        state = self.state
        begin_loops(current_trace(), state.settled.in_round)
        for place in state.growing.places():
            note(place)
        with (
            journal() as entries,
            self._is_round_of(entries),
            errors_found_in(current_trace(), self.places, entries) as region,
        ):
            position, _, before = self._enter(numbers)
            if region is not None:
                region.start(self.places)
            if position is not None:
                last = CARRIED[1] if state.known_length is None else max(0, state.known_length - 1)
                note_interval(current_trace(), position, (0, last))
            state.growing.enter(state.read_growing)
            for slot in state.slots.values():
                if isinstance(slot.place, LocalName):
                    note_all_made(state.entered[slot.place.key])
            outcome, failed = self._run_body(position)
            flag = self._settle(region) if region is not None and failed is None else None
            ends = {place.key: place.get() for place in (*self.places, *self.others)}
            found = [*[(slot.place, slot.place.get()) for slot in state.slots.values()], (RETURNED, returned_value(outcome))]
            is_missing = state.aliases.names.note_round(found, entries)
            changed = {key: (place, before, place.get()) for key, (place, before) in entries.items()}
            put_back(entries)
            entries.clear()
        held = {key: end for key, (_, _, end) in changed.items()}
        as_held = partial(with_contents, ends=held, outer=self.outer)
        changed = self._as_state(changed, entries)
        ends, changed = self._as_held(ends, changed, as_held)
        outcome = returning(outcome, as_held(returned_value(outcome)))
        if failed is not None:
            self._raise(failed, ends, changed)
        slots_and_growing = (*[slot.place for slot in state.slots.values()], *state.growing.places())
        require_one_name(self.places, self.before, ends, slots_and_growing, state.where)
        state.aliases.reach([*ends.values(), *[end for _, _, end in changed.values()]])
        state.require_complete(ends, changed, outcome)
        appended = state.growing.appended(changed)
        state.require_known_shared(state.growing.shared(appended, {**ends, **held}, held, self.outer), is_missing)
        state.aliases.names.require_readable()
        require_own_sizes(current_trace(), self.rows, position)
        added = {key: row_numbers(pytree.flatten(values)[0]) for key, values in appended.items()}
        require_read(itertools.chain(*added.values()))
        rows = state.rows_behind()
        state.note_aliases(ends, returned_value(outcome), {**rows, **added})
        state.growing.stack(appended, self.rows, self.outer, position, state.aliases)
        following = state.following(position, outcome, before, rows)
        # Here, and not behind the loop, as a trial may end with the While.
        slots = list(state.slots.values())
        state.settled.note(slots, state.codes, state.returned, current_trace().changing, state.aliases.elements)
        if flag is not None:
            take_flag_again(current_trace(), flag)
        return following

    def _run_body(self, position: TracedArray | None) -> tuple[Any, BaseException | None]:
        """How the body ends, or with what it fails."""
        try:
            return self.body() if self.rows is None else self.body(self.rows.element(position)), None
        except BaseException as error:  # noqa: BLE001, raised by whoever is given it
            if self.may_be_empty and is_raised_when_run(error):
                record_raise(current_trace(), error)
                return BREAK, None
            if isinstance(error, not_of_a_signal(Exception)):
                return None, error
            raise

    def _settle(self, region: Region) -> TracedArray | None:
        """The state is what it was where an error has been found; there the loop ends, before rows are appended.

        The error flag, which is aside until the round is recorded; None where no error may have been found.
        """
        if region.failures or region.inexact:
            self.state.carry_all_growing()
        flag = put_flag_aside(current_trace()) if region.failures else None
        if flag is not None:
            region.settle(between, flag)
        self.inexact |= region.inexact
        return flag

    def _as_state(self, changed: dict[Any, Change], entries: Journal) -> dict[Any, Change]:
        """What has been changed in a round, without what is no state of the loop."""
        # What a loop within has put together is not there when a round begins: it is part of what holds it behind the round.
        changed = {key: one for key, one in changed.items() if id(one[0].holder) not in entries.put_together}
        # What holds the very objects that it held, as a dict behind `setdefault` of a key that is there, is no state.
        return {key: one for key, one in changed.items() if key in self.state.slots or not holds_the_same(*one)}

    def _as_held(self, ends: dict[Any, Any], changed: dict[Any, Change], as_held: Callable[[Any], Any]) -> tuple[dict, dict]:
        """What names and places hold behind a round, with the contents that their containers have then."""
        holders = {id(place.holder) for place, _, _ in changed.values()}
        ends = {  # a name that holds what is changed itself is another name of that
            key: end if end is self.before[key] or id(end) in holders else as_held(end) for key, end in ends.items()
        }
        changed = {  # what still holds the object that it held is a place of its own, and so are that one's contents
            key: (place, before, end if end is before else as_held(end)) for key, (place, before, end) in changed.items()
        }
        return ends, changed

    def _raise(self, failed: BaseException, ends: dict[Any, Any], changed: dict[Any, Change]) -> NoReturn:
        if not getattr(failed, "is_of_recursion", False):
            with suppress(not_of_a_signal(Exception)):
                # It may have failed for want of state, as where it reads the list that it appends to.
                self.state.require_complete(ends, changed, None)
        raise failed

    # --- behind the loop ---

    def _leave(self, final: list[Any]) -> Any:
        state, values = self.state, iter(final)
        _, code, returned = state.control(values)
        state.aliases.enter_elements(RETURNED, returned)
        self._reset()
        runs = bool(state.known_length)
        for slot in state.slots.values():
            held = state.held(slot, values, state.aliases.end_bases if runs else state.aliases.bases)
            if runs:
                held = of_one_type(held, state.ended[slot.place.key])
            if isinstance(held, Maybe):
                surely = held.absent is UNBOUND and slot.place.name in self.surely_bound
                held = held.value if surely or runs and slot.ends_bound else held
            if not isinstance(slot.place, LocalName):
                note(slot.place)
            slot.place.set(held)
        state.aliases.separate(None if self.rows is None or isinstance(self.rows.length, int) else self.rows.length)
        state.growing.leave(self.rows, state.shared)
        for place in self.others:
            place.set(UNBOUND)
        note_errors(self.outer, self.known, self.inexact)
        return None if code is None else outcome_of(code, state.codes, returned)
