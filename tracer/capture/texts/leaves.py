"""Texts that the program makes, as leaves of elements of lists: where they lie among its characters, and how long they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .... import hlo
from ...control_flow.bodies import ValueType
from ...recording import pytree
from ...recording.array import require_trace
from ...recording.errors import RecordedAgain
from ..forms import TEXTS, is_written_text, written_text
from .bytes_as_texts import bytes_of_text

PLACE_AND_LENGTH = ValueType(hlo.Shape(hlo.S64, (2,)))
_WRITTEN = "whether texts that are put into lists are written among the characters"


def is_text_leaf(value: Any) -> bool:
    """Whether this is a text that is a leaf: one that lies among the characters, or is made of such; of any where texts of
    several structures are put into one list."""
    if type(value) not in TEXTS or getattr(value, "function", None) is bytes_of_text:
        return False
    if is_written_text(value) or _WRITTEN in require_trace().program.guessed_bounds:
        return True
    return any(map(is_written_text, pytree.flatten(value, is_written_text)[0]))


def try_text_leaves(structures: Any) -> None:
    """Raises RecordedAgain where texts of several structures could be leaves."""
    if any(map(_holds_texts, structures)):
        _write_texts()


def try_text_leaf(value: Any) -> None:
    """Raises RecordedAgain where this is a text, which could be a leaf, but is none."""
    if type(value) in TEXTS:
        _write_texts()


def _write_texts() -> None:
    guessed = require_trace().program.guessed_bounds
    if _WRITTEN not in guessed:
        guessed[_WRITTEN] = True
        raise RecordedAgain


def _holds_texts(structure: Any) -> bool:
    return structure is not pytree.LEAF and (structure[0] in TEXTS or any(map(_holds_texts, structure[2])))


def text_row(value: Any, is_plain: bool) -> hlo.Instruction:
    """What stands for a text in a row."""
    trace, text = require_trace(), written_text(value, is_plain)
    parts = [hlo.convert(part.instruction(trace), hlo.S64) for part in (text.start, text.length)]
    return hlo.concatenate(*[hlo.reshape(part, (1,)) for part in parts], dimensions=(0,))


def text_of_row(row: hlo.Instruction, is_plain: bool) -> Any:
    parts = [hlo.reshape(hlo.slice(row, (k,), (k + 1,)), ()) for k in range(2)]
    return written_text(parts, is_plain)


def written_rows(codes: hlo.Instruction, column: hlo.Instruction, constants: Sequence[str]) -> hlo.Instruction:
    """The column of texts with known ones in the rows whose codes say so, from 1 on."""
    for code, constant in enumerate(constants, 1):
        row = hlo.broadcast(text_row(constant, True), column.shape.dimensions, (1,))
        is_it = hlo.broadcast(hlo.eq(codes, code), column.shape.dimensions, (0,))
        column = hlo.select(is_it, row, column)
    return column
