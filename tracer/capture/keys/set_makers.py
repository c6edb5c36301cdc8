"""What makes the containers of a function: instructions of the user's, or what is called in their place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ....hlo.source_lines import user_instruction
from ...recording.current_trace import current_trace


@contextmanager
def made_by(maker: Any, makes_lists: bool = False) -> Iterator[None]:
    """Meanwhile this makes sets, dicts and deques, and perhaps lists, and not the instruction that is executed."""
    program = current_trace().program
    before = program.set_maker, program.list_maker
    program.set_maker, program.list_maker = maker, maker if makes_lists else None
    try:
        yield
    finally:
        program.set_maker, program.list_maker = before


def maker_of_sets() -> Any:
    return current_trace().program.set_maker or user_instruction()
