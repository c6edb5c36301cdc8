"""Loops in rewritten functions: unrolled where what comes of it is short, captured as a While where it is not, or cannot be."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from ....hlo.interrupts import not_of_a_signal
from ...control_flow.bodies import function_place, size_of
from ...recording.array import TracedArray
from ...recording.current_trace import current_trace
from ...recording.errors import (
    CarryTypeError,
    ChangedCopyError,
    ConcretizationError,
    RecordedAgain,
    TooMuchRecorded,
    TracerError,
)
from ...recording.trace import Trace
from ..branches import decide, truth
from ..choices import Choice
from ..distribution import condition, truth_of
from ..endless import refuse_for_often
from ..journals import are_containers_changed, is_round, journal
from ..made_iterators import note_left, require_end
from ..outcomes import BREAK, CONTINUE, CONTINUE_CODE, END_CODE, Mixed, possible_codes
from ..places import Names, local_names
from ..sides import at_most
from ..texts.deferred import is_longer_text
from .captured_loop import CapturedLoop
from .carried_places import aliased
from .generators import TracedGenerator, begun
from .iteration import ListItems, Pairs, Rows, Tail, note_captured, rows_of, rows_with_texts
from .leaving import behind_loop, ended, if_it_goes_on, is_one_of, may_go_on, may_leave, unless_left
from .pushed_rounds import over_generator
from .settled import settled_before
from .trials import Block, attempt, code_of, drop_effects, note_long, size_of_a_round

# Rounds are unrolled where they record no more instructions together.
LARGEST_UNROLLED = 256
# The same of those over a short list of numbers: what is known of each of them may make its round short.
_LARGEST_OF_LISTS = 2048
# The same of rounds in which Python knows a text, which may make them short; and how many of them are looked at.
_LARGEST_OF_TEXTS, _TRIED_TEXTS = 4096, 8
# Rounds that may leave the loop have the next one inside of them, up to this number.
_MOST_NESTED = 16
# As few rounds are unrolled that make a text longer.
_FEW_ROUNDS = 4
# Of rounds that are unrolled a name does not hold more values of different kinds, of which each may be changed.
_FEW_ALTERNATIVES = 8
# Where a loop cannot be captured it is unrolled, up to this number of rounds.
_MOST_ROUNDS = 20_000
# A while loop that Python has run to its end so often is taken for one that it runs to its end.
_KNOWN_OFTEN = 3


def for_(iterable: Any, body: Block, orelse: Block | None, names: Names) -> Any:
    """``for``: the way on which control goes on behind it."""
    trace = current_trace()
    if type(iterable) is Choice:
        return _over_choice(iterable, 0, body, orelse, names)
    iterable = begun(iterable) if trace is not None else iterable
    if isinstance(iterable, TracedGenerator) and not iterable.has_begun:
        return over_generator(iterable, body, orelse, names)
    rows = None if trace is None else rows_of(iterable)
    if rows is None and trace is not None and (texts := rows_with_texts(iterable)) is not None:
        if _are_long_with_texts(trace, texts, body, names):
            return over_long(texts, body, orelse, names)
    if rows is None:
        if trace is not None:
            _note_unrolled(body, f"unrolled, over the elements of a {type(iterable).__name__}")
        elements = ListItems(iterable) if trace is not None and isinstance(iterable, list) else iter(iterable)
        return _one_by_one(elements, body, orelse, names)
    return _over(rows, body, orelse, names)


def _over(rows: Rows, body: Block, orelse: Block | None, names: Names) -> Any:
    trace = current_trace()
    if isinstance(rows.length, TracedArray) and rows.length.known_value is None:
        capture, following = [partial(_captured, some, None, body, orelse, names) for some in (rows, Tail(rows, 1))]
        run = partial(
            _or_first_alone, capture, rows.length > 0, lambda: body(rows.element(0)), following, (body, orelse), names
        )
        return _with_static_numbers(rows.length, run)
    count = len(rows)
    if count <= 1 or not _is_long(trace, rows, body, names):
        _note_unrolled(body, f"{count} rounds, unrolled as they are short")
        return _short(rows, body, orelse, names)
    return over_long(rows, body, orelse, names)


def _short(rows: Rows, body: Block, orelse: Block | None, names: Names) -> Any:
    """A loop whose rounds are unrolled. Raises RecordedAgain where each adds to what a name may hold: to capture them."""
    program, place = current_trace().program, _place_of(body)
    if len(rows) <= _FEW_ALTERNATIVES or rows.is_short or place in program.guessed_bounds:
        return _one_by_one(_rounds(rows), body, orelse, names)
    try:
        with at_most(_FEW_ALTERNATIVES):
            return _one_by_one(_rounds(rows), body, orelse, names)
    except ConcretizationError as error:
        if not error.is_of_rounds:
            raise
    program.guessed_bounds[place] = True
    raise RecordedAgain


def _place_of(body: Block) -> str:
    code = code_of(body)
    return f"the rounds of the loop at {code.co_filename}:{code.co_firstlineno}"


def over_long(rows: Rows, body: Block, orelse: Block | None, names: Names) -> Any:
    """A loop whose rounds, of a known number, are captured if they can be."""
    count = len(rows)
    try:
        return attempt(lambda: _captured_in_some_way(rows, body, orelse, names), (body, orelse), names)
    except not_of_a_signal(Exception) as error:
        if count > _MOST_ROUNDS or _place_of(body) in current_trace().program.guessed_bounds:
            raise
        failure = error
    current_trace().program.long_loops[code_of(body), count, is_round()] = 0
    _note_unrolled(body, f"{count} rounds, unrolled as a loop of the program fails: {failure}")
    try:
        return _one_by_one(_rounds(rows), body, orelse, names)
    except ConcretizationError as error:
        if error.is_of_rounds:
            raise failure from None
        raise


def _line_of(body: Block) -> tuple[str, int]:
    code = code_of(body)
    return code.co_filename, code.co_firstlineno


def _note_unrolled(body: Block, what: str) -> None:
    current_trace().program.unrolled_loops.setdefault(_line_of(body), what)


def _require_short(body: Block) -> None:
    """To be called before a round is unrolled. Raises TooMuchRecorded."""
    trace = current_trace()
    if trace is None or trace.builder.recorded[0] <= trace.program.most_recorded:
        return
    how = trace.program.unrolled_loops.get(_line_of(body), "unrolled")
    raise TooMuchRecorded(
        f"{trace.builder.recorded[0]} operations have been recorded, most of them for the rounds of the loop at "
        f"{function_place(body)} and of those around it, one after the other, and more would take too long. It is {how}. "
        "Fix: let what a round changes have one shape and one type in all rounds, or call what the loop is in by "
        "phlox.host_call(function, result_shapes, *args)"
    )


def _rounds(rows: Rows) -> Iterator[Any]:
    """Rows one after the other: of lists, as Python goes over them, with what is put there meanwhile."""
    return _Rounds(rows) if rows.of_python is None else rows.of_python()


class _Rounds:
    """Rows one after the other; where a round has turned out to hold loops, those behind it are left in ``rest``.

    first_alone: those behind the first are left in any case.
    """

    def __init__(self, rows: Rows, first_alone: bool = False) -> None:
        self.rows, self.count, self.position, self.first_alone = rows, len(rows), 0, first_alone
        self.rest: Rows | None = None
        self.trace, self.recorded = None, 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.position >= self.count or self.rest is not None or self._are_long():
            raise StopIteration
        self.position += 1
        return self.rows.element(self.position - 1)

    def _are_long(self) -> bool:
        before, recorded, self.trace = self.trace, self.recorded, current_trace()
        self.recorded = len(self.trace.builder.instructions)
        remaining = self.count - self.position
        if self.first_alone and self.position:
            self.rest = Tail(self.rows, self.position)
            return True
        if before is not self.trace or remaining < 2 or isinstance(self.rows, Tail):
            return False
        round_ = self.trace.builder.instructions[recorded:]
        if any(one.opcode == "while" for one in round_) and size_of(round_) * remaining > LARGEST_UNROLLED:
            self.rest = Tail(self.rows, self.position)
        return self.rest is not None


def _over_choice(iterable: Choice, place: int, body: Block, orelse: Block | None, names: Names) -> Any:
    """A loop over one of several values is one of several loops."""
    if place == len(iterable.values) - 1:
        return for_(iterable.values[place], body, orelse, names)
    ways = (
        lambda: for_(iterable.values[place], body, orelse, names),
        lambda: _over_choice(iterable, place + 1, body, orelse, names),
    )
    return decide(iterable.number == place, ways, names, (body, orelse))


def _is_long(trace: Trace, rows: Rows, body: Block, names: Names) -> bool:
    """Whether the rounds record too much to be unrolled; remembered, as loops are often recorded again, by a round's size."""
    count = len(rows)
    decided, key = trace.program.long_loops, (code_of(body), count, is_round())  # rounds of a captured loop know less
    if key not in decided and _place_of(body) in trace.program.guessed_bounds:
        decided[key] = 1
    if key not in decided:
        largest = _LARGEST_OF_LISTS if rows.is_short else LARGEST_UNROLLED
        size = _size_of_one(trace, rows, body, names, largest)
        if size == 0:  # of what is known here, which may be traced the next time
            return False
        decided[key] = 1 if size is None else size if size * count > largest else 0
    if decided[key]:
        note_long(trace, decided[key])
    return bool(decided[key])


def _size_of_one(trace: Trace, rows: Rows, body: Block, names: Names, largest: int) -> int | None:
    """How many instructions a round records; the first may find the containers empty that those behind it have to look into.

    None where it makes a text longer, which takes more from round to round until the text lies among the characters.
    """
    changes, grows = False, False
    places = local_names((body,), names[0])
    before = [place.get() for place in places]

    def first() -> None:
        nonlocal changes, grows
        body(rows.element(0))
        changes = are_containers_changed()
        grows = any(is_longer_text(one, place.get()) for one, place in zip(before, places))

    def both() -> None:
        body(rows.element(0))
        body(rows.element(1))

    most = largest // len(rows)
    size = size_of_a_round(trace, first, (body,), names, most)
    if grows and len(rows) > _FEW_ROUNDS:
        return None
    if size is not None and size <= most and changes:
        whole = size_of_a_round(trace, both, (body,), names, 2 * most)
        size = None if whole is None else whole - size
    return size


def _are_long_with_texts(trace: Trace, rows: Rows, body: Block, names: Names) -> bool:
    """As `_is_long`, by the first rounds, as what a round does depends on its texts."""
    decided, key = trace.program.long_loops, (code_of(body), len(rows), is_round())
    if key not in decided:
        first = (rows.element(position) for position in range(_TRIED_TEXTS))
        most = _TRIED_TEXTS * _LARGEST_OF_TEXTS // len(rows)
        size = size_of_a_round(trace, lambda: _one_by_one(first, body, None, names), (body,), names, most)
        decided[key] = size if size is not None and size > most else 0
    if decided[key]:
        note_long(trace, decided[key])
    return bool(decided[key])


def _with_static_numbers(number: TracedArray, run: Callable[[], Any]) -> Any:
    """Run this; a number of rounds may become static: of several the one made of least.

    So it does where types cannot be reconciled, where Python needs what changes from round to round, where that has no
    implementation for traced values, and where rounds ask an iterator from outside.
    """
    try:
        return run()
    except NotImplementedError as error:
        concrete = ConcretizationError(number, "as a number of rounds")
        if not concrete.sources:
            raise
        raise concrete.with_traceback(error.__traceback__) from error
    except TracerError as error:
        if not isinstance(error, (CarryTypeError, ChangedCopyError, ConcretizationError)) and not error.is_of_an_iterator:
            raise
        is_inner = isinstance(error, ConcretizationError)
        if is_inner and error.sources is not None and not isinstance(error.__cause__, CarryTypeError):
            raise
        concrete = ConcretizationError(number, "as a number of rounds")
        if is_inner and not (concrete.sources and (error.sources is None or concrete.sources < error.sources)):
            raise
        concrete.args, concrete.is_of_recursion = error.args, is_inner and error.is_of_recursion
        raise concrete from (error.__cause__ if is_inner else error)


def _captured_in_some_way(rows: Rows, body: Block, orelse: Block | None, names: Names) -> Any:
    """As `_captured`; where a round swaps arrays, two of them together are one round of the While, else they are copied.

    Where it changes an array of the caller's, and then gives its name to another one, or puts something into containers which
    those behind it find there, the first round is none of the While; if that is not enough, taking one more round out of it
    after the other is not, either.
    """
    ways = [
        lambda: _captured(rows, None, body, orelse, names, copies=False),
        lambda: _captured_in_pairs(rows, body, orelse, names),
        lambda: _captured(rows, None, body, orelse, names),
    ]
    failure: CarryTypeError | ChangedCopyError | None = None
    note_captured(current_trace().program, rows)
    for way in ways:
        try:
            return attempt(way, (body, orelse), names)
        except (CarryTypeError, ChangedCopyError) as error:
            failure = error
            if not getattr(error, "is_of_swap", False):
                break
    if isinstance(rows, Tail):
        raise failure
    return _one_by_one(_Rounds(rows, first_alone=True), body, orelse, names)


def _captured_in_pairs(rows: Rows, body: Block, orelse: Block | None, names: Names) -> Any:
    if orelse is not None:
        raise aliased("a loop with else that swaps arrays")

    def round_(pair: tuple[Any, Any]) -> Any:
        for element in pair:
            if body(element) not in (None, CONTINUE):
                raise aliased("a loop that swaps arrays is left early")

    _captured(Pairs(rows), None, round_, None, names, (body,), copies=False)
    if len(rows) % 2:
        return _one_by_one(iter([rows.element(len(rows) - 1)]), body, None, names)
    return None


def while_(test: Block, body: Block, orelse: Block | None, names: Names, first_alone: bool = False) -> Any:
    """``while``: the way on which control goes on behind it.

    first_alone: this is what follows a first round.
    """
    trace = current_trace()
    if trace is None:
        return _plain_while(test, body, orelse)
    begun, tried = len(trace.builder.instructions), False
    line = _line_of(body)
    known_before, rounds = trace.program.known_whiles, 0
    while True:
        recorded, written = len(trace.builder.instructions), {}
        with trace.logging_writes(written), journal(stays=True) as changed:
            holds = truth_of(test())
        value = truth(holds)
        capture = partial(_captured_behind_test, holds) if changed else partial(_captured, None)
        capture = partial(capture, test, body, orelse, names)
        if value is None:
            known_before[line] = -math.inf
            if not changed:
                drop_effects(trace, recorded, written)  # the While has the test itself
            capture = partial(capture, may_be_empty=True)
            if first_alone:
                return capture()
            following = partial(while_, test, body, orelse, names, first_alone=True)
            return _or_first_alone(capture, holds, body, following, (test, body, orelse), names)
        if not value:
            known_before[line] += begun == len(trace.builder.instructions)
            return None if orelse is None else orelse()
        _note_unrolled(body, "unrolled, as what decides is known while tracing")
        _require_short(body)
        rounds += 1
        if not tried:
            nothing_recorded = begun == len(trace.builder.instructions)
            # A trial takes as long as a round: of many rounds, and of loops that are run often, few are tried.
            is_tried = rounds & (rounds - 1) == 0 and known_before[line] < _KNOWN_OFTEN
            if nothing_recorded and is_tried and _turns_traced(trace, test, body, names):
                known_before[line] = -math.inf
                try:
                    return attempt(capture, (test, body, orelse), names)
                except CarryTypeError as error:
                    if error.is_of_rest or first_alone:
                        raise
                    first_alone = True
            elif len(trace.builder.instructions) - begun > LARGEST_UNROLLED:
                tried = True
                try:
                    return attempt(capture, (test, body, orelse), names)
                except not_of_a_signal(Exception):
                    pass  # as it was before there were captured loops
        outcome = body()
        if isinstance(outcome, Mixed) and not outcome.possible <= {END_CODE, CONTINUE_CODE}:
            return if_it_goes_on(outcome, lambda: while_(test, body, orelse, names), names, (test, body, orelse))
        if outcome is not None and outcome is not CONTINUE and not isinstance(outcome, Mixed):
            return None if outcome is BREAK else outcome


def calls_(test: Block, body: Block, orelse: Block | None, names: Names) -> Any:
    """The loop that a function is which calls itself (`source/recursion.py`). What is known of the first calls, as how long
    lists are, is not known of all: unrolled rounds would be as many as there are calls."""
    if current_trace() is None:
        return _plain_while(test, body, orelse)
    with suppress(not_of_a_signal(Exception)):
        return attempt(lambda: _captured(None, test, body, orelse, names), (test, body, orelse), names)
    code = code_of(body)
    refuse_for_often(code.co_filename, code.co_qualname)
    return while_(test, body, orelse, names)  # what is carried gets its types in the first rounds


def _or_first_alone(
    capture: Block, holds: Any, first: Block, following: Block, blocks: Sequence[Block | None], names: Names
) -> Any:
    """The loop as a While; where its state gets its shapes in the first round, as by ``s = s + row``, this is none of it.

    following: what comes behind the first round, which is there if ``holds``.
    """
    try:
        return attempt(capture, blocks, names)
    except (CarryTypeError, ChangedCopyError) as error:
        if isinstance(error, CarryTypeError) and error.is_of_rest:
            raise
        failure = error

    def alone() -> Any:
        outcome = first()
        if isinstance(outcome, Mixed) and may_leave(outcome):
            return if_it_goes_on(outcome, following, names, blocks) if may_go_on(outcome) else behind_loop(outcome)
        if outcome is None or outcome is CONTINUE or isinstance(outcome, Mixed):
            return following()
        return None if outcome is BREAK else outcome

    try:
        return attempt(partial(decide, holds, (alone, blocks[-1]), names, blocks), blocks, names)
    except (CarryTypeError, ChangedCopyError):
        if isinstance(failure, CarryTypeError):
            failure.is_of_rest = True
        raise failure from None


def _captured_behind_test(
    holds: Any, test: Block, body: Block, orelse: Block | None, names: Names, may_be_empty: bool = False
) -> Any:
    """The loop as a While whose test changes something. It has been evaluated once, and stands at the end of the rounds."""
    condition_ = holds

    def evaluate() -> None:
        nonlocal condition_
        condition_ = truth_of(test())

    def round_() -> Any:
        outcome = body()
        if possible_codes(outcome) <= {END_CODE, CONTINUE_CODE}:
            evaluate()
        elif isinstance(outcome, Mixed):
            decide(is_one_of(outcome, END_CODE, CONTINUE_CODE), (evaluate, None), names, (test, body, evaluate))
        return outcome

    round_.__wrapped__ = body  # whose round it is
    names = ((*names[0], "condition_"), names[1], (*names[2], "condition_"))
    return _captured(None, lambda: condition_, round_, orelse, names, (test, body, evaluate), may_be_empty=may_be_empty)


def _plain_while(test: Block, body: Block, orelse: Block | None) -> Any:
    while test():
        outcome = body()
        if outcome is not None and outcome is not CONTINUE:
            return None if outcome is BREAK else outcome
    return None if orelse is None else orelse()


def _one_by_one(elements: Iterator[Any], body: Block, orelse: Block | None, names: Names, nested: int = 0) -> Any:
    """Round after round; behind one that the program may leave, the others are on one side of a branch."""
    for element in elements:
        _require_short(body)
        outcome = body(element)
        if outcome is None or outcome is CONTINUE:
            continue
        if isinstance(outcome, Mixed):
            if not may_leave(outcome):
                continue
            require_end(elements)
            note_left(elements)
            if nested == _MOST_NESTED:
                return _in_turn(outcome, elements, body, orelse, names)
            remaining = partial(_one_by_one, elements, body, orelse, names, nested + 1)
            return if_it_goes_on(outcome, remaining, names, (body, orelse))
        return None if outcome is BREAK else outcome
    if isinstance(elements, (ListItems, _Rounds)) and elements.rest is not None:
        return _over(elements.rest, body, orelse, names)
    return None if orelse is None else orelse()


def _in_turn(outcome: Any, elements: Iterator[Any], body: Block, orelse: Block | None, names: Names) -> Any:
    """The rounds behind one that was left in this way, each in a branch of its own."""
    for element in elements:
        if not may_leave(outcome):
            outcome = body(element)
        elif may_go_on(outcome):
            outcome = unless_left(outcome, partial(body, element), names, (body,))
        else:
            break
    if not may_go_on(outcome):
        return behind_loop(outcome)
    rest = partial(_one_by_one, elements, body, orelse, names)  # none but those that are a loop of their own
    return if_it_goes_on(outcome, rest, names, (body, orelse)) if may_leave(outcome) else rest()


def _captured(
    rows: Rows | None,
    test: Block | None,
    body: Block,
    orelse: Block | None,
    names: Names,
    sharing: Sequence[Block] | None = None,
    copies: bool = True,
    may_be_empty: bool = False,
) -> Any:
    """The loop as a While. The block functions in ``sharing``, by default its own, share the names that it changes."""
    outcome = CapturedLoop(current_trace(), rows, test, body, names, sharing or (test, body), copies, may_be_empty).run()
    return ended(outcome, body, orelse, names)


def _turns_traced(trace: Trace, test: Block, body: Block, names: Names) -> bool:
    """Whether the program decides if there is a second round; remembered where it does, as loops are often recorded again."""
    settled = settled_before(trace, body, is_trial=True)
    found = False

    def round_() -> None:
        nonlocal found
        outcome = body()
        if isinstance(outcome, Mixed):
            found = True
        elif outcome is None or outcome is CONTINUE:
            found = truth(condition(test())) is None

    if not settled.turns_traced:
        size_of_a_round(trace, round_, (test, body), names)
        settled.turns_traced = found
    return settled.turns_traced
