"""What is recorded on trial: rounds whose size is asked for, and loops that may turn out to be none of the program."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any

from .... import hlo
from ....compile.traversal import has_effects
from ....hlo.interrupts import not_of_a_signal
from ...control_flow.bodies import size_of
from ...recording.current_trace import current_trace
from ...recording.trace import PackedInputs, Storage, Trace
from ..journals import journal, put_back
from ..origins import forget_origins
from ..places import Names, local_names
from .settled import begin_loops, settled_before

Block = Callable[..., Any]


def code_of(body: Block) -> CodeType:
    """The user's code of which a block is made."""
    user = inspect.unwrap(body) if hasattr(body, "__wrapped__") else body
    return user.__code__ if isinstance(user, FunctionType) else body.__code__


def attempt(run: Callable[[], Any], functions: Sequence[Block | None], names: Names, is_estimate: bool = False) -> Any:
    """Run this; where it raises, all places hold what they held before."""
    places = local_names(functions, (*names[0], *names[1]))
    before = [(place, place.get()) for place in places]
    trace = current_trace()
    program = trace.program
    messages, flag, copies = len(program.error_messages), program.error_flag, dict(program.copies)
    origins = len(program.noted_origins)
    written: dict[Storage, hlo.Instruction] = {}
    with trace.logging_writes(written), journal() as entries:
        entries.is_round = is_estimate
        try:
            return run()
        except (Exception, _TooLong):
            del program.error_messages[messages:]
            program.caught = {code for code in program.caught if code <= messages}
            for region in program.regions:
                region.forget(messages)
            program.error_flag, program.copies = flag, copies
            forget_origins(origins)
            for storage, held in written.items():  # the flag of errors, too: one that is dropped has no number
                trace.hand_on(storage, held)
            put_back(entries)
            entries.clear()
            for place, value in before:
                place.set(value)
            raise


def drop_effects(trace: Trace, begin: int, written: dict[Storage, hlo.Instruction]) -> None:
    """Let what a trace has recorded from an instruction on do nothing."""
    for storage, before in written.items():
        trace.write(storage, before)
    instructions = trace.builder.instructions
    instructions[begin:] = [instruction for instruction in instructions[begin:] if not has_effects(instruction)]


class _Dropped(Exception):
    pass


class _TooLong(BaseException):
    """The round of a trial has turned out to record more than is asked for. Nobody else handles it."""


def size_of_a_round(
    trace: Trace, run: Callable[[], Any], functions: Sequence[Block], names: Names, most: int | None = None
) -> int | None:
    """How many instructions a round records; nothing of it stays. None where it cannot be told.

    Where they are more than ``most`` that is not exact, as the trial ends there. The last function is the body of the loop.
    """
    scratch = Trace("round", trace, PackedInputs())
    begin_loops(scratch, settled_before(trace, functions[-1], is_trial=True).in_round if functions else {})
    size = None
    trial = scratch, most, _TooLong()
    if most is not None:
        _limit(scratch, most, trial[2])

    def record() -> None:
        nonlocal size
        with scratch, scratch.running:
            run()
            size = size_of(scratch.builder.instructions)
        raise _Dropped

    trials = trace.program.trials
    trials.append(trial)
    try:
        attempt(record, functions, names, is_estimate=True)
    except not_of_a_signal(Exception) as error:  # what is wrong with the round is found out when it stays
        # When it stays it goes down as far once more, and so does each round within.
        if getattr(error, "is_of_recursion", False):
            raise
        return size
    except _TooLong as found:
        if found is not trial[2]:
            raise
        return most + 1
    finally:
        trials.remove(trial)
        # Without circles the interpreter has not to look for what the trial has recorded.
        vars(scratch.builder).pop("append", None)
        trial[2].__traceback__ = None
    return size


def _limit(scratch: Trace, most: int, too_long: _TooLong) -> None:
    """Let a trial end with the first instruction that is too much."""
    builder, keep, size = scratch.builder, scratch.builder.append, 0

    def append(instruction: hlo.Instruction) -> hlo.Instruction:
        nonlocal size
        keep(instruction)
        size += size_of((instruction,))
        if size > most and (size := size_of(builder.instructions)) > most:  # some may have been dropped
            raise too_long
        return instruction

    builder.append = append


def note_long(trace: Trace, size: int) -> None:
    """To be called where a captured loop, of rounds of this size, is about to be recorded: a trial need not go on."""
    for scratch, most, too_long in trace.program.trials:
        if most is not None and size + size_of(scratch.builder.instructions) > most:
            raise too_long
