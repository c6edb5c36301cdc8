"""A computation that is being read."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..instruction import Computation, Instruction
from ..shape import AnyShape


@dataclass(eq=False)
class Body:
    """Its header, where its next instruction stands, and what has been read."""

    name: str
    is_entry: bool
    place: int  # of its name
    stated_shape: AnyShape | None  # of the result, by its header
    opening: int  # the place of its brace
    position: int
    instructions: list[Instruction] = field(default_factory=list)
    by_name: dict[str, Instruction] = field(default_factory=dict)
    root: Instruction | None = None
    computation: Computation | None = None
    execution_thread: str = ""
    end: int = 0  # behind its closing brace and what is said of it there
    elements: dict[tuple[Instruction, int], Instruction] = field(default_factory=dict)  # of tuples, by name#index
    names_its_parameters: bool = True  # no: it is a single instruction, whose operands become the parameters
