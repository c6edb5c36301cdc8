"""Which containers in the state of a captured loop are perhaps one, or one from before it: a change of one is one of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...recording.array import TracedArray
from ...recording.current_trace import current_trace
from ..choices import Choice
from ..forms import Form, fixed_in, is_around
from ..journals import Journal, note_put_together
from ..lists.references import row_behind
from ..origins import (
    Origin,
    Path,
    containers_in,
    forget_origins,
    is_unreadable,
    make_unreadable,
    note_carried,
    note_origins,
    origins_of,
    others_of,
    refuse_former,
)
from ..places import Contents, LocalName, Place, is_noted_made

# The key of a slot, and the way to a container in what it holds.
ContainerPlace = tuple[Any, Path]
# So often what a place holds behind a round may turn out to be something else from before the loop.
_MOST_GAINS = 8


class LoopNames:
    """What is known of one loop; it grows until no round finds more."""

    def __init__(self, known: int) -> None:
        self._known = known  # how many origins have been noted before the loop
        self._before: dict[ContainerPlace, dict[int, Any]] = {}  # containers from before the loop that it is perhaps
        self._met_before: dict[int, Any] = {}  # all of these
        self._gains: dict[ContainerPlace, int] = {}
        self._common: dict[frozenset[ContainerPlace], Origin] = {}  # of places that hold perhaps one when a round begins
        self._unreadable: dict[int, Any] = {}  # those from before the loop, as rounds change what is perhaps one of them
        self._entered: dict[ContainerPlace, Any] = {}
        self._ends_unreadable = False
        self._round = 0  # the number of times that a round has been recorded
        self._met: dict[int, tuple[Any, int]] = {}  # containers that slots have held behind one, and behind which
        self._looked_at: set[ContainerPlace] = set()

    def begin(self) -> None:
        """To be called before the loop is recorded once more."""
        forget_origins(self._known)
        self._round += 1

    def note_initial(self, place: Place, initial: Any) -> None:
        """A slot holds this when the first round begins."""
        for key, one in _found(place, initial):
            self._before.setdefault(_spot(key), {}).update(origins_of(one))
            self._met_before |= {id(other): other for other in (one, *others_of(one))}

    def enter(self, place: Place, form: Form | None, held: Any) -> None:
        """Take down what a slot holds, in this form, when a round begins, or behind the loop."""
        themselves = set(map(id, fixed_in(form)))
        if not isinstance(place, Contents):
            note_carried(held)
        for key, one in _found(place, held):
            self._entered[key] = one
            if isinstance(place, LocalName) and self._is_put_together(one):
                note_put_together(one)
            if id(one) not in themselves:  # which stand for no others, whichever may be in their place
                note_origins(one, self._before.get(_spot(key), {}).values())

    def separate(self) -> None:
        """To be called behind `enter` of all slots."""
        for places, origin in self._common.items():
            for key, one in self._entered.items():
                if _spot(key) in places:
                    note_origins(one, (origin,))
        for holder in self._unreadable.values():
            make_unreadable(holder)

    def note_round(self, ends: Iterable[tuple[Place, Any]], entries: Journal) -> bool:
        """Take down what slots hold behind a round, before that is put back; whether anything is new."""
        found = {key: one for place, end in ends for key, one in _found(place, end)}
        entered = {id(one): key for key, one in self._entered.items()}
        missing, holding = False, {}
        for key, one in found.items():
            before = {}
            for other in (one, *others_of(one)):
                if id(other) in entered:
                    before |= self._before.get(_spot(entered[id(other)]), {})
                elif id(other) in entries.made or id(other) in entries.put_together or _is_of_round(other):
                    continue
                elif id(other) in self._met_before or is_noted_made(other) or self._is_met_again(other):
                    before |= origins_of(other)
                elif key not in self._looked_at:
                    self._looked_at.add(key)
                    missing = True
            missing |= self._gained(_spot(key), before)
            for origin in origins_of(one):
                holding.setdefault(origin, []).append(_spot(key))
        for places in map(frozenset, holding.values()):
            if len(places) > 1 and places not in self._common:
                self._common[places] = Origin()
                missing = True
        for holder, _ in entries.unreadable:
            if id(holder) not in entries.made and id(holder) not in entered and id(holder) not in self._unreadable:
                self._unreadable[id(holder)] = holder
                missing = True
        self._ends_unreadable = any(map(is_unreadable, found.values()))
        return missing

    def _is_put_together(self, one: Any) -> bool:
        """Whether this is a list or a dict that nobody has made or handed over: the loop has, to stand for one."""
        is_known = id(one) in self._met_before or is_noted_made(one) or row_behind(one) is not None
        containers = current_trace().program.surroundings.containers
        return isinstance(one, (list, dict)) and not is_known and containers.path_of(one) is None

    def _is_met_again(self, one: Any) -> bool:
        """Not all say that they have been made; one from before the loop is the same one when a round is recorded again."""
        return self._met.setdefault(id(one), (one, self._round))[1] != self._round

    def _gained(self, spot: ContainerPlace, before: dict[int, Any]) -> bool:
        known = self._before.setdefault(spot, {})
        if before.keys() <= known.keys() or self._gains.get(spot, 0) == _MOST_GAINS:
            return False
        self._gains[spot] = self._gains.get(spot, 0) + 1
        known.update(before)
        return True

    def require_readable(self) -> None:
        """Raises TracerError where a slot holds what nobody may read behind a round."""
        if self._ends_unreadable:
            refuse_former()


def _is_of_round(one: Any) -> bool:
    """Whether this is a tuple that holds what the round computes: no display of a tuple says that it has been made."""
    return isinstance(one, tuple) and any(
        isinstance(part, TracedArray) and is_around(current_trace(), part.root_storage.trace) for part in one
    )


def _spot(key: ContainerPlace) -> ContainerPlace:
    """Where a container is, whichever of several the place holds: at first it may hold a number, and one of two things then."""
    place, path = key
    return place, tuple([step for step in path if not (type(step) is tuple and step and step[0] is Choice)])


def _found(place: Place, value: Any) -> Iterator[tuple[ContainerPlace, Any]]:
    """The containers in what a slot holds; contents are none."""
    for path, one in containers_in(value):
        if path or not isinstance(place, Contents):
            yield (place.key, path), one
