"""Dicts with known keys that the function writes down, as records: each lies in a row of a table, as objects do.

Such a dict holds its row as its list of entries, so that what has not been taught of records finds a dict whose keys are open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ....hlo.source_lines import user_instruction
from ...recording.current_trace import current_trace
from ..entries import OPEN, is_open_dict
from ..lists.records import give_up, part_of, record_row, set_part
from ..lists.references import KEEPING, keys_in, notes_dicts, records_made, refuse, row_behind, try_dicts


def keep(made: Any) -> None:
    """To be called with a dict that the function has just made."""
    if type(made) is not dict or (trace := current_trace()) is None or not notes_dicts(program := trace.program):
        return
    program.dict_makers[id(made)] = maker = user_instruction()
    program.makers_of_keys.setdefault(tuple(made), set()).add(maker)
    needs = records_made(program).get(maker)
    if needs is None or needs.is_refused:
        return
    if not made or is_open_dict(made) or not all(map(_is_exact, made)) or id(made) in program.copies:
        give_up(needs)
    row = record_row(made.values(), needs, f"dicts at {maker[0]}", tuple(made))
    dict.clear(made)
    dict.__setitem__(made, OPEN, [row])


KEEPING.append(keep)


def _is_exact(key: Any) -> bool:
    """Whether a key that is equal to this one is the same."""
    return all(map(_is_exact, key)) if type(key) is tuple else type(key) in (str, int)


def try_records(values: Sequence[dict]) -> None:
    """To be called with dicts of which the program decides which one it is: those with the same keys can be records."""
    if not any(is_open_dict(value) for value in values) and len(set(map(tuple, values))) == 1:
        try_dicts(values)


def value_of(record: dict, key: str) -> Any:
    """What stands under one of the keys."""
    return part_of(row_behind(record), keys_in(record).index(key))


def set_value(record: dict, key: Any, value: Any) -> None:
    """``record[key] = value``"""
    if key not in keys_in(record):
        require_other(record)
    set_part(row_behind(record), keys_in(record).index(key), value)


def items_of(record: dict) -> dict[str, Any]:
    """What a record holds now, as a dict of its own."""
    return {key: value_of(record, key) for key in keys_in(record)}


def require_other(record: dict) -> NoReturn:
    """Where keys come and go there are no records."""
    refuse(row_behind(record).table)
