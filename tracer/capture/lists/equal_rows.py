"""Which rows of two runs are equal."""

from __future__ import annotations

from .... import hlo
from ...recording.errors import AMBIGUOUS
from ..texts.reading import rows_alike
from .access import of_common_types, with_texts_alone
from .runs import Run, instructions

Instruction = hlo.Instruction


def equal_rows(one: Run, other: Run, is_single: bool, are_keys: bool = False) -> Instruction:
    """Which rows of both are equal; where ``is_single``, with the first row of the other one.

    are_keys: of equal texts among them there is one copy, so that it is enough to compare where they begin.
    """
    one, other = (with_texts_alone(of_common_types(run)) for run in (one, other))
    found, place = None, 0
    columns, others = instructions(one), instructions(other)

    def against(column: Instruction, like: Instruction) -> Instruction:
        if not is_single:
            return column
        return hlo.full_like(like, hlo.reshape(hlo.slice(column, (0,), (1,)), ()))

    for leaf in one.form.leaves:
        is_constant = None
        if leaf.text is not None:
            if leaf.is_coded or not leaf.text:
                raise NotImplementedError(
                    "a comparison of texts that the program makes, as elements of lists, with None or floats among them is not "
                    "implemented"
                )
            if are_keys:
                equal = hlo.eq(_begins(columns[place]), against(_begins(others[place]), _begins(columns[place])))
            else:
                equal = rows_alike(columns[place], others[place], is_single)
            found = equal if found is None else hlo.and_(found, equal)
            place += 1
            continue
        if leaf.is_coded:
            equal = hlo.eq(columns[place], against(others[place], columns[place]))
            found = equal if found is None else hlo.and_(found, equal)
            is_constant = hlo.ne(columns[place], 0)
            place += 1
        if leaf.is_number:
            if columns[place].shape.rank > 1:
                raise ValueError(AMBIGUOUS)
            equal = hlo.eq(columns[place], against(others[place], columns[place]))
            equal = equal if is_constant is None else hlo.or_(equal, is_constant)
            found = equal if found is None else hlo.and_(found, equal)
            place += 1
    return hlo.full(hlo.Shape(hlo.PRED, (one.form.capacity + 1,)), True) if found is None else found


def _begins(column: Instruction) -> Instruction:
    """Where each text of a column begins."""
    count, _ = column.shape.dimensions
    return hlo.reshape(hlo.slice(column, (0, 0), (count, 1)), (count,))
