"""What the arrays and lists in the state of a captured loop may be: others from before it, others in it, elements of lists."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ...recording import pytree
from ...recording.aliases import bases_of, keep_apart, link, with_common_bases
from ...recording.current_trace import current_trace
from ...recording.trace import Storage, Trace
from ..copies import is_or_holds_copy, note_copies
from ..forms import Form, is_around, may_be_shared
from ..lists.elements import ElementType
from ..lists.runs import Run
from ..places import Contents, Place
from .names import LoopNames

# The key of a slot, and which of its numbers.
ArrayPlace = tuple[Any, int]


class LoopAliases:
    """What is known of one loop; it grows until no round finds more.

    The bases of an array that enters a round are arrays from before the loop, and *tokens*, which stand for an array that a
    round has made and that is then in several places.
    """

    def __init__(self, outer: Trace, elements: Iterable[Any]) -> None:
        self.outer = outer
        self.bases: dict[ArrayPlace, set[Storage]] = {}
        self.end_bases: dict[ArrayPlace, set[Storage]] = {}  # the same behind a round
        self._tokens: dict[frozenset[ArrayPlace], Storage] = {}
        self._columns: dict[ArrayPlace, Storage] = {}  # the tokens of columns that are made before the loop
        self._tables: set[Storage] = set()  # the tokens of arrays that lie in a table, and another place, too
        self._in_list = Storage(outer, None)  # the token of arrays that a list holds, and another place, too
        self._together: set[frozenset[ArrayPlace]] = set()  # pairs that may hold one array when a round begins
        self._entered: dict[ArrayPlace, Storage] = {}
        self._values: dict[ArrayPlace, tuple[Storage, Any]] = {}  # what these are when a round begins
        self._put_into_lists: set[Storage] = set()  # arrays that a round has made
        self._reachable: set[Storage] = set()
        self.elements = set(elements)  # slots with a list that is an element of another one, too
        self._copies = dict(outer.program.copies)
        self.names = LoopNames(len(outer.program.noted_origins))

    def begin(self) -> None:
        """To be called before the loop is recorded once more."""
        self.outer.program.copies = dict(self._copies)
        self.names.begin()

    def enter(
        self, place: Place, form: Form | None, row: Sequence[Any], held: Any, bases: dict[ArrayPlace, set[Storage]]
    ) -> None:
        """Connect the arrays among a slot's numbers with what they may be; ``held`` is what these are put together to."""
        key = place.key
        self.names.enter(place, form, held)
        for number, array in enumerate(row):
            if may_be_shared(array):
                link(array.root_storage, bases.get((key, number), ()))
                self._entered[key, number] = array.root_storage
        self.enter_elements(place, held)

    def enter_elements(self, place: Place, held: Any) -> None:
        """A place holds this when a round begins, or behind the loop: perhaps elements of lists."""
        if place.key in self.elements:
            note_copies(current_trace(), held)

    def separate(self, rounds: Any = None) -> None:
        """To be called behind `enter` of all slots: which of these arrays cannot be one.

        rounds: how many there are that have left these, where the program decides it.
        """
        places, storages = list(self._entered), list(self._entered.values())
        for storage in storages:
            storage.rounds = rounds
        for one, other in with_common_bases(storages):
            if frozenset((places[one], places[other])) not in self._together:
                keep_apart(storages[one], storages[other])
        self._values = {place: (storage, storage.instruction) for place, storage in self._entered.items()}
        self._entered = {}
        self.names.separate()

    def note_together(self, rows: dict[Any, Sequence[Any]]) -> bool:
        """Take down which places hold what may be one array; whether that is new."""
        arrays = {
            (key, number): array.root_storage
            for key, row in rows.items()
            for number, array in enumerate(row)
            if may_be_shared(array)
        }
        places, storages = list(arrays), list(arrays.values())
        pairs = [pair for pair in with_common_bases(storages) if storages[pair[1]] not in storages[pair[0]].apart]
        found = {frozenset((places[one], places[other])) for one, other in pairs}
        missing = not found <= self._together
        self._together |= found
        return missing

    def shared_with_changed(self) -> set[Any]:
        """The keys of what may hold an array of a slot that rounds change in place."""
        changed = {place for place, (storage, before) in self._values.items() if storage.instruction is not before}
        return {key for pair in self._together if pair & changed for key, _ in pair}

    def forget(self, key: Any) -> None:
        """To be called where a slot's numbers have become others."""
        self.bases = {place: bases for place, bases in self.bases.items() if place[0] != key}

    def note_columns(self, key: Any, row: Sequence[Any], initial: Any) -> None:
        """The same as `note`, before the loop, of lists whose columns each recording makes anew of what a place holds: a token
        stands for each, as elements that are moved within a list, or to another one, are copies of a row."""
        there = {leaf.root_storage for leaf in pytree.flatten(initial)[0] if may_be_shared(leaf)}
        made = {
            array.root_storage: self._columns.setdefault((key, number), Storage(self.outer, None))
            for number, array in enumerate(row)
            if may_be_shared(array) and array.root_storage not in there
        }
        found = self._outer_bases(key, row)
        self._note({place: {made.get(base, base) for base in bases} for place, bases in found.items()})

    def note(self, key: Any, row: Sequence[Any]) -> bool:
        """Take down which arrays from before the loop are among a slot's numbers; whether that is new."""
        return self._note(self._outer_bases(key, row))

    def _note(self, found: dict[ArrayPlace, set[Storage]]) -> bool:
        missing = False
        for place, outer in found.items():
            known = self.bases.setdefault(place, set())
            missing |= not outer <= known
            known |= outer
        return missing

    def _outer_bases(self, key: Any, row: Sequence[Any]) -> dict[ArrayPlace, set[Storage]]:
        return {
            (key, number): {base for base in bases_of(array.root_storage) if is_around(base.trace, self.outer)}
            for number, array in enumerate(row)
            if may_be_shared(array)
        }

    def note_round(self, rows: dict[Any, Sequence[Any]]) -> bool:
        """The same for all slots behind a round, and which arrays are in several of them."""
        missing = self.note_together(rows)
        holders: dict[Storage, list[ArrayPlace]] = {}  # of arrays that the round has made
        for key, row in rows.items():
            missing |= self.note(key, row)
            for number, array in enumerate(row):
                for base in bases_of(array.root_storage) if may_be_shared(array) else ():
                    if not is_around(base.trace, self.outer):
                        holders.setdefault(base, []).append((key, number))
        for base, places in holders.items():
            if base in self._put_into_lists:
                missing |= self._note_shared(self._in_list, places)
            for table in (base.copies or frozenset()) & self.outer.program.tables_of_arrays:
                if is_around(table.trace, self.outer):
                    self._tables.add(table)
                    missing |= self._note_shared(table, places)
            for pair in itertools.combinations(places, 2):
                missing |= self._note_shared(self._tokens.setdefault(frozenset(pair), Storage(self.outer, None)), pair)
        tokens = {self._in_list, *self._tables, *self._tokens.values()}
        self.end_bases = {
            place: outer | self.bases[place] & tokens
            for key, row in rows.items()
            for place, outer in self._outer_bases(key, row).items()
        }
        return missing

    def _note_shared(self, token: Storage, places: Iterable[ArrayPlace]) -> bool:
        missing = not all(token in self.bases[place] for place in places)
        for place in places:
            self.bases[place].add(token)
        return missing

    # --- lists ---

    def reach(self, ends: Sequence[Any]) -> None:
        """To be called with all that places hold behind a round."""
        leaves = pytree.flatten(ends, lambda part: type(part) is Run)[0]
        self._reachable = {base for leaf in leaves if may_be_shared(leaf) for base in bases_of(leaf.root_storage)}

    def lasting(self, kind: ElementType) -> ElementType:
        """The type of a list's elements without the arrays that nobody can change behind the round."""
        forms = []
        for form in kind.leaves:
            made = {base for base in form.copied if not is_around(base.trace, self.outer)}
            self._put_into_lists |= made
            reached = {self._in_list} if made & self._reachable else set()
            forms.append(replace(form, copied=frozenset(form.copied - made | reached)))
        return replace(kind, leaves=tuple(forms))

    def note_element(self, holder: Any) -> None:
        """A list from before the loop is one of several that one place may hold, and copied there."""
        self._copies[id(holder)] = self.outer.program.copies[id(holder)] = holder

    def note_elements(self, ends: Sequence[tuple[Place, Any]]) -> bool:
        """Take down which slots hold a list behind a round that has become an element of another one; whether that is new."""
        copies, missing = self.outer.program.copies, False
        for place, end in ends:
            if isinstance(place, Contents) and id(place.holder) in copies:
                missing |= id(place.holder) not in self._copies
                self._copies[id(place.holder)] = place.holder
            elif is_or_holds_copy(end):
                missing |= place.key not in self.elements
                self.elements.add(place.key)
        return missing
