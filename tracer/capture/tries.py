"""``try`` with handlers, which catch what is raised while a function is traced, and what the program finds when it runs.

An operation that may fail sets the error flag. A statement of the body that has set it is undone, and those behind it do not
run; behind the body the program goes to the handler, and the flag is what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import hlo
from ...compile.traversal import has_effects
from ...hlo.source_lines import belongs_to_a_library, raising_line
from ..recording import error_codes
from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.errors import LeftToPython, StaleCapture, TracerError
from ..recording.trace import Storage, Trace
from .branches import decide
from .choices import Maybe
from .outcomes import END_CODE, Mixed, possible_codes, statements
from .places import UNBOUND, Journal, LocalName, Names, journal, local_names, note
from .raising import inside_try, is_of_exception
from .texts import Deferred

Block = Callable[..., Any]
# Of the statements of a body each one, and whether it is a simple one: without others inside, binding names at its end.
Blocks = Sequence[tuple[Block, bool]]
# The exceptions that a handler catches, None for all, and the handler, which takes the exception.
Handlers = Sequence[tuple[Callable[[], Any] | None, Block]]


def try_(blocks: Blocks, handlers: Handlers, orelse: Block | None, names: Names, bound: Sequence[str]) -> Any:
    """The way on which control goes on behind the statement. ``bound``: the names that are certainly so behind the body."""
    trace = current_trace()
    known = 0 if trace is None else len(trace.program.error_messages)
    try:
        sequence = _Sequence(names, (*[block for block, _ in blocks], *[handler for _, handler in handlers], orelse))
        with inside_try():
            outcome = sequence.run(blocks)
    except BaseException as error:
        if _is_of_tracing(error):
            raise
        for kinds, handler in handlers:
            if kinds is None or isinstance(error, kinds()):
                return handler(error)
        raise
    if trace is None or len(trace.program.error_messages) == known:
        return orelse() if outcome is None and orelse is not None else outcome
    return _behind(trace, known, outcome, sequence, handlers, orelse, bound)


def _is_of_tracing(error: BaseException) -> bool:
    """Whether this says that the function cannot be traced: no handler of the user's is meant for that."""
    if isinstance(error, TracerError):
        return True
    traceback = raising_line(error)
    inside = traceback is not None and belongs_to_a_library(traceback.tb_frame.f_code.co_filename)
    return isinstance(error, NotImplementedError) and inside


def _behind(
    trace: Trace,
    known: int,
    outcome: Any,
    sequence: _Sequence,
    handlers: Handlers,
    orelse: Block | None,
    bound: Sequence[str],
) -> Any:
    """Behind a body that may have set the error flag: to the handler for what it says, or on."""
    flag, messages = trace.program.error_flag, trace.program.error_messages
    found = trace.read(flag)
    codes: dict[int, list[int]] = {}
    for code in range(known + 1, len(messages) + 1):
        kind = messages[code - 1][0]
        kind = kind if isinstance(kind, type) else type(kind)
        for number, (kinds, _) in enumerate(() if issubclass(kind, (StaleCapture, LeftToPython)) else handlers):
            if kinds is None or issubclass(kind, kinds()):
                if code in sequence.unfinished:
                    messages[code - 1] = (LeftToPython, str(messages[code - 1][1]), messages[code - 1][2])
                else:
                    codes.setdefault(number, []).append(code)
                break
    tests = {number: _is_one_of(found, some) for number, some in codes.items()}
    remaining = found
    for test in tests.values():
        remaining = hlo.select(test, hlo.constant(0, hlo.S64), remaining)
    trace.write(flag, remaining)

    def go_on() -> Any:
        left = outcome
        if isinstance(left, Mixed) and END_CODE not in sequence.possible:
            left = left.without(END_CODE)
        if left is not None or orelse is None:
            return left
        for place in local_names(sequence.sharing, bound):
            held = place.get()
            if isinstance(held, Maybe) and held.absent is UNBOUND:
                place.set(held.value)
        return orelse()

    run = go_on
    for number, test in reversed(tests.items()):
        run = _caught(trace, test, _handled(trace, handlers[number][1], messages, codes[number], found), run, sequence)
    return run()


def _is_one_of(flag: hlo.Instruction, codes: Sequence[int]) -> hlo.Instruction:
    number = error_codes.number_of(flag)
    test = hlo.eq(number, codes[0])
    for code in codes[1:]:
        test = hlo.or_(test, hlo.eq(number, code))
    return test


def _handled(trace: Trace, handler: Block, messages: Sequence[Any], codes: Sequence[int], flag: Any) -> Callable[[], Any]:
    kind, message, _ = messages[codes[0] - 1]
    if not isinstance(kind, type):
        return lambda: handler(kind)
    texts = {code: messages[code - 1][1] for code in codes}
    if len(texts) == 1 and "{} " not in message:
        return lambda: handler(kind(message))

    def text_of(flag: int) -> str:
        number, value = error_codes.number_and_value(flag)
        return error_codes.with_value_shown(texts[number], value)

    found = TracedArray.from_instruction(trace, flag, weak_type=True, is_scalar=True)
    return lambda: handler(kind(Deferred(text_of, found)))


def _caught(trace: Trace, test: hlo.Instruction, handle: Block, others: Block, sequence: _Sequence) -> Callable[[], Any]:
    caught = TracedArray.from_instruction(trace, test)
    return lambda: decide(caught, (handle, others), sequence.names, sequence.sharing)


class _Sequence:
    """The statements of a body, one after the other for as long as none sets the error flag.

    ``possible`` are the ways on which control leaves the body where none does. A statement that runs loops or branches, in
    functions that it calls, too, may have done something before it fails, which stays: then Python makes the call.
    """

    def __init__(self, names: Names, sharing: Sequence[Block | None]) -> None:
        self.names, self.sharing = names, sharing
        self.possible: frozenset[int] = frozenset([END_CODE])
        self.unfinished: set[int] = set()  # what statements raise that have done something before

    def run(self, blocks: Blocks) -> Any:
        for position, (block, is_simple) in enumerate(blocks):
            trace = current_trace()
            if trace is None:
                outcome = block()
            else:
                known = len(trace.program.error_messages)
                places = local_names(self.sharing, (*self.names[0], *self.names[1]))
                before = [(place, place.get()) for place in places]
                written: dict[Storage, hlo.Instruction] = {}
                begun, recorded = statements.count, len(trace.builder.instructions)
                with trace.logging_writes(written), journal() as changed:
                    outcome = block()
                if len(trace.program.error_messages) > known:
                    if statements.count > begun and not (
                        _leaves_nothing(trace, recorded, written, changed)
                        and (is_simple or all(place.get() is value for place, value in before))
                    ):
                        self.unfinished.update(range(known + 1, len(trace.program.error_messages) + 1))
                    before += changed.values()
                    return self._checked(trace, outcome, blocks[position + 1 :], before, written)
            if outcome is not None:
                self.possible = possible_codes(outcome)
                return outcome
        return None

    def _checked(self, trace: Trace, outcome: Any, rest: Blocks, before: Any, written: Any) -> Any:
        """Behind a statement that may have set the flag: the others where it has not, else as if it had not begun."""
        flag = trace.program.error_flag
        is_fine = TracedArray.from_instruction(trace, hlo.eq(trace.read(flag), 0))
        old = {
            storage: Storage(trace, value)
            for storage, value in written.items()
            if storage is not flag and not is_of_exception(storage)
        }

        def go_on() -> Any:
            self.possible = possible_codes(outcome)
            return outcome if outcome is not None else self.run(rest)

        def undo() -> None:
            for place, value in before:
                if place.get() is not value:
                    note(place) if not isinstance(place, LocalName) else None
                    place.set(value)
            inner = current_trace()
            for storage, kept in old.items():
                inner.hand_on(storage, inner.read(kept))

        return decide(is_fine, (go_on, undo), self.names, self.sharing)


def _leaves_nothing(trace: Trace, begin: int, written: dict[Storage, hlo.Instruction], changed: Journal) -> bool:
    """Whether a statement, whose instructions begin there, has done nothing that is seen when it fails."""
    arrays = [storage for storage in written if storage is not trace.program.error_flag and not is_of_exception(storage)]
    return not arrays and not changed and not any(map(has_effects, trace.builder.instructions[begin:]))
