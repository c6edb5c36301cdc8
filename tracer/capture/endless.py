"""Which of the user's functions, as they call themselves until the program decides otherwise, are recorded as loops."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from ..recording.current_trace import current_trace
from ..recording.errors import RecordedAgain
from ..recording.program import Program
from ..source.rewriting import is_function_of_user

_LOOPS = "functions that are loops instead of calling themselves"
# Whether a function is a loop: as it would not end otherwise, or as it is called so often; what has not been refused may be.
_ENDLESS, _OFTEN, _NOT_FOR_OFTEN, _REFUSED = "endless", "often", "not for being called often", "refused"


def make_loop(file: str, qualname: str, is_often: bool = False) -> None:
    """To be called where a function calls itself, and the program decides when that ends, or just often. Raises RecordedAgain
    where it has not been tried as a loop."""
    loops = current_trace().program.guessed_bounds.setdefault(_LOOPS, {})
    if loops.get((file, qualname), _NOT_FOR_OFTEN) == _NOT_FOR_OFTEN and not (is_often and (file, qualname) in loops):
        loops[file, qualname] = _OFTEN if is_often else _ENDLESS
        raise RecordedAgain


def refuse_for_often(file: str, qualname: str) -> None:
    """To be called where one round of a function that is a loop does not say what all do. Raises RecordedAgain where it would
    end as well without: what is known of each call is more then, and calls that are alike are recorded once."""
    found = current_trace().program.guessed_bounds
    if found.get(_LOOPS, {}).get((file, qualname)) == _OFTEN:
        _forget_all_but(found, found[_LOOPS] | {(file, qualname): _NOT_FOR_OFTEN})
        raise RecordedAgain


def make_loop_of_deep(file: str, qualname: str, depth: int) -> None:
    """The same where it is called within itself so many times."""
    if (file, qualname) in current_trace().program.guessed_bounds.get(_LOOPS, {}):
        return
    frame, times = sys._getframe(1), 0
    while frame is not None:
        code = frame.f_code
        times += code.co_qualname == qualname and code.co_filename == file and is_function_of_user(code)
        frame = frame.f_back
    if times >= depth:
        make_loop(file, qualname)


def is_loop(program: Program, file: str, qualname: str) -> bool:
    loops = program.guessed_bounds.get(_LOOPS)
    return loops is not None and loops.get((file, qualname)) in (_ENDLESS, _OFTEN)


def refuse_loop(program: Program, file: str, qualname: str) -> NoReturn:
    """The function cannot be a loop."""
    program.guessed_bounds[_LOOPS][file, qualname] = _REFUSED
    raise RecordedAgain


def give_up_loops(guessed_bounds: dict[str, Any]) -> bool:
    """To be called where a function cannot be recorded: let those in it call themselves again. Whether any was a loop."""
    loops = guessed_bounds.get(_LOOPS, {})
    refused = {_ENDLESS: _REFUSED, _OFTEN: _NOT_FOR_OFTEN}
    found = not refused.keys().isdisjoint(loops.values())
    if found:
        _forget_all_but(guessed_bounds, {place: refused.get(one, one) for place, one in loops.items()})
    return found


def _forget_all_but(guessed_bounds: dict[str, Any], loops: dict[tuple[str, str], str]) -> None:
    """What else has been found out may hold of functions as loops alone."""
    guessed_bounds.clear()
    guessed_bounds[_LOOPS] = loops
