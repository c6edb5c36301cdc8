"""Matrix instructions."""

from __future__ import annotations


def matrix_step(instruction, architecture):
    raise NotImplementedError(f"the instruction {instruction.name}")
