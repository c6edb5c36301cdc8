"""Which of the user's functions, as they call themselves until the program decides otherwise, are recorded as loops."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from ..recording.current_trace import current_trace
from ..recording.errors import RecordedAgain
from ..recording.program import Program
from ..source.rewriting import is_function_of_user

_LOOPS = "functions that are loops instead of calling themselves"


def make_loop(file: str, qualname: str) -> None:
    """To be called where a function calls itself, and the program decides when that ends. Raises RecordedAgain where it has
    not been tried as a loop."""
    loops = current_trace().program.guessed_bounds.setdefault(_LOOPS, {})
    if (file, qualname) not in loops:
        loops[file, qualname] = True
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
    return loops is not None and loops.get((file, qualname), False)


def refuse_loop(program: Program, file: str, qualname: str) -> NoReturn:
    """The function cannot be a loop."""
    program.guessed_bounds[_LOOPS][file, qualname] = False
    raise RecordedAgain


def give_up_loops(guessed_bounds: dict[str, Any]) -> bool:
    """To be called where a function cannot be recorded: let those in it call themselves again. Whether any was a loop."""
    loops = guessed_bounds.get(_LOOPS, {})
    found = any(loops.values())
    if found:  # what else has been found out may hold of the loops alone
        guessed_bounds.clear()
        guessed_bounds[_LOOPS] = dict.fromkeys(loops, False)
    return found
