"""``try`` with handlers, which catch what is raised while a function is traced, and what the program finds when it runs.

An operation that may fail sets the error flag. A statement of the body that has set it is undone, and those behind it do not
run; behind the body the program goes to the handler, and the flag is what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ... import hlo
from ...compile.traversal import has_effects
from ...hlo.tracebacks import raised_at
from ..recording import error_codes
from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.errors import LeftToPython
from ..recording.trace import Trace
from .branches import between, decide
from .choices import Maybe
from .failures import Region, errors_found_in, is_stale, note_errors, put_flag_aside, take_flag_again
from .journals import journal
from .outcomes import END_CODE, Mixed, possible_codes
from .places import UNBOUND, Names, local_names
from .raising import (
    handled,
    inside_try,
    is_of_tracing,
    is_raised_when_run,
    is_said_of_stand_ins,
    raise_uncaught,
    record_raise,
)
from .texts.deferred import Deferred, is_open, one_text_of

Block = Callable[..., Any]
# Of the statements of a body each one, and whether it is a simple one: without others inside, binding names at its end.
Blocks = Sequence[tuple[Block, bool]]


class Handler(NamedTuple):
    """The exceptions that it catches, None for all; what takes the exception; and whether that asks for it."""

    kinds: Callable[[], Any] | None
    block: Block
    asks: bool

    def catches(self, kind: type[BaseException]) -> bool:
        return self.kinds is None or issubclass(kind, self.kinds())


def try_(blocks: Blocks, handlers: Sequence[tuple], orelse: Block | None, names: Names, bound: Sequence[str]) -> Any:
    """The way on which control goes on behind the statement. ``bound``: the names that are certainly so behind the body."""

    def go_on(outcome: Any) -> Any:
        if orelse is None or END_CODE not in possible_codes(outcome):
            return outcome
        if isinstance(outcome, Mixed):
            return decide(outcome.code == END_CODE, (behind_end, lambda: outcome.without(END_CODE)), names, sharing)
        return behind_end()

    def behind_end() -> Any:
        for place in local_names(sharing, bound):
            held = place.get()
            if isinstance(held, Maybe) and held.absent is UNBOUND:
                place.set(held.value)
        return orelse()

    sharing = *[block for block, _ in blocks], *[block for _, block, _ in handlers], orelse
    return tried(blocks, [Handler(*one) for one in handlers], go_on, names, sharing)


def tried(
    blocks: Blocks,
    handlers: Sequence[Handler],
    go_on: Callable[[Any], Any],
    names: Names,
    sharing: Sequence[Block | None],
) -> Any:
    """The way out of statements or of a handler; where there is no error, what ``go_on`` makes of the former."""
    trace = current_trace()
    known = 0 if trace is None else len(trace.program.error_messages)
    try:
        sequence = _Sequence(names, sharing)
        with inside_try():
            outcome = sequence.run(blocks)
    except BaseException as error:
        if trace is not None and is_of_tracing(error):
            raise
        for handler in handlers:
            if handler.catches(type(error)):
                if trace is not None and handler.asks and is_said_of_stand_ins(error):
                    trace.add_error_flag(hlo.constant(np.bool_(True)), LeftToPython, str(error))
                return handled(error, handler.block)
        raise
    if trace is None or len(trace.program.error_messages) == known:
        return go_on(outcome)
    return _behind(trace, known, outcome, sequence, handlers, go_on)


def _behind(
    trace: Trace,
    known: int,
    outcome: Any,
    sequence: _Sequence,
    handlers: Sequence[Handler],
    go_on: Callable[[Any], Any],
) -> Any:
    """Behind a body that may have set the error flag: to the handler for what it says, or on."""
    flag, messages = trace.program.error_flag, trace.program.error_messages
    found = trace.read(flag)
    codes: dict[int, list[int]] = {}
    leave_to_python(trace, sequence.unfinished)
    for code in range(known + 1, len(messages) + 1):
        kind = messages[code - 1][0]
        kind = kind if isinstance(kind, type) else type(kind)
        number = next((number for number, handler in enumerate(handlers) if handler.catches(kind)), None)
        if number is not None and not is_stale(messages[code - 1]):
            codes.setdefault(number, []).append(code)
    remaining = found
    for some in codes.values():
        remaining = hlo.select(_is_one_of(found, some), hlo.constant(0, hlo.S64), remaining)
    trace.write(flag, remaining)
    caught = {code for some in codes.values() for code in some}
    note_errors(trace, known)  # those that no handler catches are for the statements around
    raise_uncaught(trace, known, caught, lambda test, run: decide(test, (run, None)))

    if isinstance(outcome, Mixed) and END_CODE not in sequence.possible:
        outcome = outcome.without(END_CODE)
    run = None if sequence.always_fails else partial(go_on, outcome)
    shown = TracedArray.from_instruction(trace, found, weak_type=True, is_scalar=True)
    for number, some in reversed(codes.items()):
        for of_one, error in _ways(handlers[number], messages, some, shown):
            handle = partial(handled, error, handlers[number].block)
            run = handle if run is None else _caught(trace, _is_one_of(found, of_one), handle, run, sequence)
    trace.program.caught |= caught
    return outcome if run is None else run()


def finally_(block: Block, final: Block, names: Names) -> Any:
    """``try: block`` with a finally clause, which may leave in a way of its own: the way on which control goes on."""
    trace = current_trace()
    if trace is None:
        return _plain_finally(block, final)
    known, sharing, raised = len(trace.program.error_messages), (block, final), None
    with inside_try(has_handlers=False), journal() as changed:
        with errors_found_in(trace, local_names(sharing, names[0]), changed, is_body=True) as region:
            outcome = None
            try:
                outcome = block()
            except BaseException as error:
                if not is_raised_when_run(error):
                    raise
                raised = error
                if len(trace.program.error_messages) > known:
                    record_raise(trace, error)
            flag = put_flag_aside(trace)
            region.settle(between, flag)
            take_flag_again(trace, flag)
    messages = trace.program.error_messages
    leave_to_python(trace, region.inexact)
    codes = [code for code in range(known + 1, len(messages) + 1) if not is_stale(messages[code - 1])]
    left = _with_flag_aside(trace, codes, final) if codes else final()
    note_errors(trace, known)
    raise_uncaught(trace, known, (), lambda test, run: decide(test, (run, None)))

    def go_on() -> Any:
        if raised is not None:
            raise raised
        return outcome

    if left is None:
        return go_on()
    if not isinstance(left, Mixed) or END_CODE not in left.possible:
        return left
    return decide(left.code == END_CODE, (go_on, lambda: left.without(END_CODE)), names, sharing)


def _plain_finally(block: Block, final: Block) -> Any:
    try:
        outcome = block()
    except BaseException:
        left = final()
        if left is None:
            raise
        return left
    left = final()
    return outcome if left is None else left


def _with_flag_aside(trace: Trace, codes: Sequence[int], final: Block) -> Any:
    """The way out of a finally clause; what has been raised before is raised behind its end, if it raises nothing itself."""
    flag = trace.program.error_flag
    found = trace.read(flag)
    is_raised = _is_one_of(found, codes)
    trace.write(flag, hlo.select(is_raised, hlo.constant(0, hlo.S64), found))
    left = final()
    goes_on = hlo.and_(is_raised, hlo.eq(trace.read(flag), 0))
    if isinstance(left, Mixed):
        goes_on = hlo.and_(goes_on, (left.code == END_CODE).instruction(trace))
    if left is None or isinstance(left, Mixed):
        trace.write(flag, hlo.select(goes_on, found, trace.read(flag)))
    return left


def leave_to_python(trace: Trace, codes: Iterable[int]) -> None:
    """Let Python make the call where one of these errors is found."""
    messages = trace.program.error_messages
    for code in codes:
        if not is_stale(messages[code - 1]):
            messages[code - 1] = (LeftToPython, str(messages[code - 1][1]), messages[code - 1][2])


def _is_one_of(flag: hlo.Instruction, codes: Sequence[int]) -> hlo.Instruction:
    number = error_codes.number_of(flag)
    test = hlo.eq(number, codes[0])
    for code in codes[1:]:
        test = hlo.or_(test, hlo.eq(number, code))
    return test


def _ways(handler: Handler, messages: Sequence[Any], codes: Sequence[int], flag: TracedArray) -> list[tuple[list[int], Any]]:
    """The exceptions for which a handler runs, with the codes of each; exceptions that are alike are one."""
    alike: dict[Any, list[int]] = {}
    for code in codes:
        kind = messages[code - 1][0]
        alike.setdefault(_likeness(kind) if handler.asks else None, []).append(code)
    seen = slice(None if handler.asks else 1)  # any of them will do where nobody looks at it
    return [(some, raised_at(_exception(messages, some[seen], flag), *messages[some[0] - 1][2])) for some in alike.values()]


def _likeness(error: type[Exception] | Exception) -> Any:
    """What exceptions have in common that differ in their arguments alone."""
    if isinstance(error, type):
        return error
    is_plain = not vars(error) and type(error).__module__ == "builtins"
    return (type(error), len(error.args)) if is_plain else id(error)


def _exception(messages: Sequence[Any], codes: Sequence[int], flag: TracedArray) -> Exception:
    """The exception that these codes stand for, with what is told of it."""
    kind, message, _ = messages[codes[0] - 1]
    if not isinstance(kind, type):
        return _one_of([messages[code - 1][0] for code in codes], codes, flag)
    texts = {code: messages[code - 1][1] for code in codes}
    if len(set(texts.values())) == 1 and "{}" not in message:
        return kind(message)

    def text_of(flag: int) -> str:
        number, value = error_codes.number_and_value(flag)
        return error_codes.with_value_shown(texts[number], value)

    return kind(Deferred(text_of, flag))


def _one_of(errors: Sequence[Exception], codes: Sequence[int], flag: TracedArray) -> Exception:
    first = errors[0]
    if len(errors) == 1 or not any(is_open(one.args) for one in errors) and all(one.args == first.args for one in errors):
        return first
    trace = current_trace()
    place: Any = hlo.constant(0, hlo.S64)
    for number, code in list(enumerate(codes))[1:]:
        place = hlo.select(_is_one_of(flag.recorded(trace), [code]), number, place)
    found = TracedArray.from_instruction(trace, place, weak_type=True, is_scalar=True)
    return type(first)(*[one_text_of(found, values) for values in zip(*[one.args for one in errors])])


def _caught(trace: Trace, test: hlo.Instruction, handle: Block, others: Block, sequence: _Sequence) -> Callable[[], Any]:
    caught = TracedArray.from_instruction(trace, test)
    return lambda: decide(caught, (handle, others), sequence.names, sequence.sharing)


class _Sequence:
    """The statements of a body, one after the other for as long as none sets the error flag.

    ``possible`` are the ways on which control leaves the body where none does. Where it is not known what has been done before
    an error Python makes the call.
    """

    def __init__(self, names: Names, sharing: Sequence[Block | None]) -> None:
        self.names, self.sharing = names, sharing
        self.possible: frozenset[int] = frozenset([END_CODE])
        self.always_fails = self.is_behind_check = False
        self.unfinished: set[int] = set()  # what statements raise that have done something before

    def run(self, blocks: Blocks) -> Any:
        for position, (block, is_simple) in enumerate(blocks):
            trace = current_trace()
            if trace is None:
                outcome = block()
            else:
                known, recorded = len(trace.program.error_messages), len(trace.builder.instructions)
                places = local_names(self.sharing, self.names[0])
                rest = blocks[position + 1 :]
                with journal() as changed, errors_found_in(trace, places, changed, is_body=True) as region:
                    try:
                        outcome = block()
                    except BaseException as error:
                        # Behind a statement that may fail this is a side of a branch, of which what it has done counts.
                        is_first = len(trace.program.error_messages) == known and not self.is_behind_check
                        if is_first or not is_raised_when_run(error):
                            raise
                        record_raise(trace, error)
                        outcome, rest, self.always_fails = None, (), True
                if len(trace.program.error_messages) > known:
                    undo = region.undoing(between)
                    self.unfinished |= region.inexact & trace.program.behind_changes
                    if region.inexact and (not is_simple and region.is_anything_bound() or _has_done(trace, recorded, region)):
                        self.unfinished |= region.inexact
                    return self._checked(trace, outcome, rest, undo)
            if outcome is not None:
                self.possible = possible_codes(outcome)
                return outcome
        return None

    def _checked(self, trace: Trace, outcome: Any, rest: Blocks, undo: Callable[[TracedArray], None]) -> Any:
        """Behind a statement that may have set the flag: the others where it has not, else what it has done until then."""
        flag = put_flag_aside(trace)
        is_fine = TracedArray.from_instruction(trace, hlo.eq(flag.instruction(trace), 0))

        def go_on() -> Any:
            self.possible, self.is_behind_check = possible_codes(outcome), True
            return outcome if outcome is not None else self.run(rest)

        left = decide(is_fine, (go_on, partial(undo, flag)), self.names, self.sharing)
        take_flag_again(trace, flag)
        return left


def _has_done(trace: Trace, begin: int, region: Region) -> bool:
    """Whether a statement, whose instructions begin there, has done something that is seen when it fails."""
    return region.is_anything_done() or any(map(has_effects, trace.builder.instructions[begin:]))
