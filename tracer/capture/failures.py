"""What places hold where the program finds an error that a handler may catch: that has done what stands before it, no more.

The program goes on behind an error, with any values. What it does there is undone at the end of each branch, of each round of
a loop, and of each statement of a ``try``, for those errors behind which something has been changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ... import hlo
from ..recording import error_codes
from ..recording.array import TracedArray
from ..recording.attributes import attributes_of
from ..recording.current_trace import current_trace
from ..recording.errors import LeftToPython, StaleCapture, TracerError
from ..recording.program import ErrorMessage
from ..recording.trace import Storage, Trace
from .forms import is_unchanged
from .journals import Journal, changed_within, note, watch_all_made
from .places import UNBOUND, Item, LocalName, Place, where_made
from .raising import is_of_exception

# Of more errors with different things done before them Python makes the call.
_MOST_FAILURES = 64
# Runs one of two functions, where the test holds the first; they change these places.
Between = Callable[[TracedArray, Sequence[Callable[[], Any]], Sequence[Place]], Any]
_Held = dict[Any, tuple[Place, Any]]


def is_stale(message: ErrorMessage) -> bool:
    """Whether an error is none that handlers see: the function is traced again, or Python makes the call."""
    kind = message[0]
    return issubclass(kind if isinstance(kind, type) else type(kind), (StaleCapture, LeftToPython))


def put_flag_aside(trace: Trace) -> TracedArray:
    """What the error flag is; meanwhile it says that there is no error.

    What is put back where one has been found, and handed on from there, is computed by loops, too, as texts are; and loops end
    at errors.
    """
    storage = trace.error_flag_storage()
    flag = trace.read(storage)
    trace.write(storage, hlo.constant(0, hlo.S64))
    return TracedArray.from_instruction(trace, flag, weak_type=True, is_scalar=True)


def take_flag_again(trace: Trace, flag: TracedArray) -> None:
    """The error flag is what it was, or says what has been found meanwhile."""
    storage = trace.error_flag_storage()
    since = trace.read(storage)
    if since.opcode == "constant":  # as it was put aside
        return trace.write(storage, flag.recorded(trace))
    trace.write(storage, hlo.select(hlo.eq(since, 0), flag.recorded(trace), since))


class _Failure:
    """Errors that have been found where places and arrays held this."""

    def __init__(self, codes: Iterable[int], held: _Held, arrays: dict[Storage, hlo.Instruction]) -> None:
        self.codes, self.held, self.arrays = list(codes), held, arrays


class _Difference:
    """What has to be put back where an error has been found of the first code, or of those behind it."""

    def __init__(self, first: int, places: list[tuple[Place, Any]], arrays: dict[Storage, Storage]) -> None:
        self.first, self.places, self.arrays = first, places, arrays

    def __bool__(self) -> bool:
        return bool(self.places or self.arrays)


class Region:
    """A part of a trace: what it has ``changed`` and ``written`` until it finds an error; ``places`` are local variables.

    ``inexact`` are the codes of errors of which that is not known.
    """

    def __init__(self, trace: Trace, places: Iterable[Place], changed: Journal, written: dict) -> None:
        self.trace, self.changed, self.written = trace, changed, written
        self.start(places)
        self.failures: list[_Failure] = []
        self.inexact: set[int] = set()

    def start(self, places: Iterable[Place]) -> None:
        self.begin: _Held = {place.key: (place, place.get()) for place in places}

    def add(self, trace: Trace, codes: Collection[int], held: _Held | None = None) -> None:
        """Errors that may have been found here, where places hold what they hold, or, some of them, what is given."""
        if trace is not self.trace:
            self.inexact.update(codes)
        elif codes:
            now = {key: (place, place.get()) for key, (place, _) in self._before().items()}
            now.update(held or {})
            arrays = {storage: self._value(storage) for storage in self.written}
            last = self.failures[-1] if self.failures else None
            if last is not None and last.arrays == arrays and last.held.keys() == now.keys():
                if all(is_unchanged(place, last.held[key][1], value) for key, (place, value) in now.items()):
                    last.codes += codes
                    return
            self.failures.append(_Failure(codes, now, arrays))
            watch_all_made(self.changed)

    def _before(self) -> _Held:
        """All that has been changed, with what it held before; of what has been made meanwhile, before it was changed again."""
        return {**self.begin, **changed_within(self.changed)}

    def forget(self, known: int) -> None:
        """Leave out all errors behind the first ones, which are no longer there."""
        self.inexact = {code for code in self.inexact if code <= known}
        for failure in self.failures:
            failure.codes = [code for code in failure.codes if code <= known]
        self.failures = [failure for failure in self.failures if failure.codes]

    def _value(self, storage: Storage) -> hlo.Instruction:
        return storage.instruction if storage.trace is self.trace else self.trace.outside_value(storage)

    # --- the end ---

    def settle(self, between: Between, flag: TracedArray) -> None:
        """Let everything hold what it held where the error of this flag has been found."""
        if (differences := self._differences()) is None:
            return
        before = [(place, place.get()) for difference in differences for place, _ in difference.places]
        try:
            self._put_back([_Difference(0, [], {}), *differences], between, flag)
        except TracerError:  # of what holds one thing or another there is no common structure
            for place, value in before:
                place.set(value)
            self.inexact.update(code for failure in self.failures for code in failure.codes)

    def undoing(self, between: Between) -> Callable[[TracedArray], None]:
        """What does the same where it is known that an error has been found."""
        differences = self._differences() or [_Difference(0, [], {})]
        return lambda flag: self._put_back(differences, between, flag)

    def inexact_behind(self) -> set[int]:
        """The errors of which it is not known what has been done before them, where nothing can be settled."""
        if self._differences() is None:
            return self.inexact
        return self.inexact.union(*[failure.codes for failure in self.failures])

    def is_anything_done(self) -> bool:
        """Whether something has been changed that is no local variable."""
        return bool(self.changed) or not all(map(self._is_left, self.written))

    def is_anything_bound(self) -> bool:
        return any(place.get() is not before for place, before in self.begin.values())

    def _differences(self) -> list[_Difference] | None:
        """What is to be put back, by the first code of each failure; None where it is nothing."""
        found: list[_Difference] = []
        made = [self._difference(failure) for failure in self.failures]
        by_code = {code: number for number, failure in reversed([*enumerate(self.failures)]) for code in failure.codes}
        program = self.trace.program
        seen = [code for code in by_code if code not in program.caught and not is_stale(program.error_messages[code - 1])]
        for code in sorted(seen):
            difference = made[by_code[code]]
            if not found or not _are_alike(found[-1], difference):
                found.append(_Difference(code, difference.places, difference.arrays))
        if not any(found):
            return None
        if len(found) > _MOST_FAILURES:
            self.inexact.update(code for failure in self.failures for code in failure.codes)
            return None
        return found

    def _is_left(self, storage: Storage) -> bool:
        return storage is self.trace.program.error_flag or is_of_exception(storage)

    def _difference(self, failure: _Failure) -> _Difference:
        held = self._whole_contents(failure.held)
        places: list[tuple[Place, Any]] = []
        reached: set[int] | None = None
        for key, (place, before) in {**self._before(), **held}.items():
            if is_unchanged(place, before, place.get()):
                continue
            if key in self.changed.changed_again:  # what is made and left in the functions that are called
                reached = _reached(value for _, value in held.values()) if reached is None else reached
            if key not in self.changed.changed_again or id(place.holder) in reached:
                places.append((place, before))
        arrays = {
            storage: Storage(self.trace, value)
            for storage, before in self.written.items()
            if (value := failure.arrays.get(storage, before)) is not self._value(storage) and not self._is_left(storage)
        }
        return _Difference(0, places, arrays)

    def _whole_contents(self, held: _Held) -> _Held:
        """Single items of a dict that has been changed as a whole since as what that held then."""
        made = dict(held)
        for key, (place, value) in held.items():
            if not isinstance(place, Item) or (whole := id(place.holder)) not in self.changed:
                continue
            if whole not in made:
                made[whole] = self.changed[whole][0], dict(self.changed[whole][1])
            if whole not in held:
                contents = made[whole][1]
                contents.pop(place.index, None) if value is UNBOUND else contents.update({place.index: value})
            del made[key]
        return made

    def _put_back(self, differences: Sequence[_Difference], between: Between, flag: TracedArray) -> None:
        if len(differences) == 1:
            self._put(differences[0])
            return
        middle = len(differences) // 2
        trace = current_trace()
        number = error_codes.number_of(flag.recorded(trace))
        test = TracedArray.from_instruction(trace, hlo.lt(number, differences[middle].first))
        places = {place.key: place for difference in differences for place, _ in difference.places}
        halves = [
            lambda part=part: self._put_back(part, between, flag) for part in (differences[:middle], differences[middle:])
        ]
        between(test, halves, [place for place in places.values() if isinstance(place, LocalName)])

    def _put(self, difference: _Difference) -> None:
        for place, value in difference.places:
            if place.get() is not value:
                note(place) if not isinstance(place, LocalName) else None
                place.set(value)
        inner = current_trace()
        for storage, kept in difference.arrays.items():
            inner.hand_on(storage, inner.read(kept))


def _are_alike(first: _Difference, second: _Difference) -> bool:
    if first.places is second.places:
        return True
    if len(first.places) != len(second.places) or first.arrays.keys() != second.arrays.keys():
        return False
    pairs = zip(first.places, second.places)
    return all(one[0].key == other[0].key and is_unchanged(one[0], one[1], other[1]) for one, other in pairs) and all(
        kept.instruction is second.arrays[storage].instruction for storage, kept in first.arrays.items()
    )


def _reached(values: Iterable[Any]) -> set[int]:
    """The ids of the values, and of what they hold."""
    pending, seen = list(values), set()
    while pending:
        value = pending.pop()
        if id(value) in seen or isinstance(value, (TracedArray, str, int, float, type)):
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            pending += dict.values(value)
        elif isinstance(value, (list, tuple)):
            pending += value
        elif where_made(value) is not None:
            pending += attributes_of(value).values()
    return seen


@contextmanager
def errors_found_in(trace: Trace, places: Iterable[Place], changed: Journal, is_body: bool = False) -> Iterator[Region | None]:
    """Meanwhile errors of the program are noted with what has been done before each, where a handler may catch them.

    is_body: what is recorded is the body of a ``try`` with handlers itself.
    """
    if not is_body and not trace.program.regions:
        yield None
        return
    written: dict[Storage, hlo.Instruction] = {}
    region = Region(trace, places, changed, written)
    trace.program.regions.append(region)
    try:
        with trace.logging_writes(written):
            yield region
    finally:
        trace.program.regions.pop()


def note_errors(trace: Trace, known: int, inexact: Collection[int] = (), held: _Held | None = None) -> None:
    """The errors behind the first ones may have been found here, or inside of what has been recorded since."""
    program = trace.program
    if program.regions and len(program.error_messages) > known:
        codes = [code for code in range(known + 1, len(program.error_messages) + 1) if code not in inexact]
        program.regions[-1].inexact.update(inexact)
        program.regions[-1].add(trace, codes, held)
