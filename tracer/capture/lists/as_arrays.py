"""What `np.array` and the like make of lists whose length the program decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import hlo
from ...recording import pytree
from ...recording.array import TracedArray, require_trace
from ...recording.dynamic_array import dynamic
from ...recording.errors import LeftToPython, TracerError
from ...recording.function_tables import ARRAYS_OF_LISTS
from . import tables
from .access import any_row, fail_where, items_of, leave_empty_to_python, of_common_types, rows_inside
from .references import Row, tables_in
from .runs import Form, Run, instruction_of, instructions, made, ordered, settled, type_of_items

INHOMOGENEOUS = "setting an array element with a sequence. The requested array has an inhomogeneous shape"


def array_of(run: Run) -> Any:
    """What ``np.array`` makes of the list; its size is known at run time only."""
    run = ordered(run)
    if tables_in(run.form.structure):
        return tables.rows_as_array(run)
    if any(not leaf.is_number or leaf.constants or leaf.text is not None for leaf in run.form.leaves):
        raise TracerError(f"a list of {run.type} cannot become an array of numbers")
    if (forms := _forms_of_parts(run.form.structure)) is not None:
        return _rows_of_parts(run, forms)
    if (inner := _form_of_rows(run.form.structure)) is not None:
        elements, *lengths = instructions(run)
        return _rows_of_one_length(run, elements, lengths[0] if lengths else None, inner.capacity, inner.length)
    if run.type.holds_sized_arrays:
        return arrays_of_one_size(run)
    run, trace, capacity = _of_one_dtype(run), require_trace(), run.form.capacity
    columns = iter([TracedArray.from_instruction(trace, column, is_scalar=False) for column in instructions(run)])

    def whole(structure: Any) -> Any:
        if structure is pytree.LEAF:
            return next(columns)
        return np.stack([whole(child) for child in structure[2]], axis=1)

    array = whole(run.form.structure)[:capacity]
    if isinstance(run.length, int):
        return array[: run.length]
    length = hlo.minimum(instruction_of(run.length), capacity)  # it may be larger where that is guessed, which a flag tells
    return dynamic(trace, array, {0: hlo.convert(length, hlo.S32)})


def _of_one_dtype(run: Run) -> Run:
    """The run with numbers of one type in place of several, as ``np.array`` takes them, which depends on the others there."""
    types = [kind for leaf in run.form.leaves for kind in leaf.types]
    if not types:
        return run
    each = [leaf.types or (number,) for leaf, number in zip(run.form.leaves, run.type.numbers)]
    wanted = np.result_type(*[kind.shape.dtype for kinds in each for kind in kinds])
    if any(all(kind.shape.dtype == wanted for kind in kinds) for kinds in each):
        return of_common_types(run, hlo.element_type_of(wanted))
    is_there, place, trace = None, 0, require_trace()
    inside = rows_inside(run)
    for leaf, number in zip(run.form.leaves, run.type.numbers):
        codes = instructions(run)[place]
        place += len(leaf.columns(number))
        for code, kind in enumerate(leaf.types):
            if kind.shape.dtype == wanted:
                found = any_row(hlo.and_(inside, hlo.eq(codes, code)))
                is_there = found if is_there is None else hlo.or_(is_there, found)
    missing = hlo.constant(np.bool_(True)) if is_there is None else hlo.not_(is_there)
    trace.add_error_flag(missing, LeftToPython, "np.array of numbers whose types the program decides")
    return of_common_types(run, hlo.element_type_of(wanted))


def _form_of_rows(structure: Any) -> Form | None:
    """The form of the run that each element of a list is."""
    children = () if structure is pytree.LEAF else structure[2]
    if structure is not pytree.LEAF and structure[0] is Run or any(_form_of_rows(child) is not None for child in children):
        if structure[0] in (list, tuple) and len(children) == 1 and children[0][0] is Run:
            form = children[0][1]
            if form.structure is pytree.LEAF and not form.is_ring and form.key_columns is None:
                return form
        elif structure[0] is Run:
            return structure[1]
        raise NotImplementedError("np.array of lists in lists, whose lengths the program decides, that hold lists")
    return None


def _forms_of_parts(structure: Any) -> list[Form | None] | None:
    """Where each element is a list of runs and numbers, as of ``[*row, 0]``: the forms of the runs, None for a number."""
    if structure is pytree.LEAF or structure[0] is not list or len(structure[2]) < 2:
        return None
    forms = [None if child is pytree.LEAF else child[1] if child[0] is Run else False for child in structure[2]]
    are_plain = all(form is None or form and _is_of_numbers(form) for form in forms)
    return forms if are_plain and any(forms) else None


def _is_of_numbers(form: Form) -> bool:
    is_one = form.structure is pytree.LEAF and not form.is_ring and form.key_columns is None
    return is_one and form.leaves[0].is_number and not form.leaves[0].is_coded and not form.leaves[0].dynamic


def _rows_of_parts(run: Run, forms: Sequence[Form | None]) -> Any:
    """An array whose rows are the elements, the parts of each one behind the other."""
    trace, columns, parts = require_trace(), iter(instructions(run)), []
    for form in forms:
        held = TracedArray.from_instruction(trace, next(columns), is_scalar=False)
        width = 1 if form is None else form.capacity if form.length is None else form.length
        if form is not None and form.length is None:
            lengths = TracedArray.from_instruction(trace, next(columns), is_scalar=False)
        else:
            lengths = np.full(len(held), width)
        if width:
            parts.append((held.reshape(len(held), -1)[:, :width], lengths))
    capacity, ends = sum(held.shape[1] for held, _ in parts), 0
    whole = np.zeros((len(parts[0][0]), capacity), np.result_type(*[held.dtype for held, _ in parts]))
    for held, lengths in parts:
        places = np.arange(capacity) - np.reshape(ends, (-1, 1))
        taken = np.take_along_axis(held, np.clip(places, 0, held.shape[1] - 1) + np.zeros_like(whole, np.int64), axis=1)
        whole = np.where((places >= 0) & (places < np.reshape(lengths, (-1, 1))), taken, whole)
        ends = ends + lengths
    return _rows_of_one_length(run, whole.instruction(trace), ends.instruction(trace), capacity, None)


def arrays_of_one_size(run: Run, message: str = INHOMOGENEOUS) -> Any:
    """The same of arrays whose sizes are known at run time only; the call raises ValueError where they differ."""
    if run.form.structure is not pytree.LEAF or run.form.leaves[0].dynamic != (0,):
        raise NotImplementedError(f"an array of a list of {run.type} whose length the program decides is not implemented")
    sizes, elements = instructions(run)
    lengths = hlo.convert(hlo.reshape(sizes, sizes.shape.dimensions[:1]), hlo.S64)
    return _rows_of_one_length(run, elements, lengths, elements.shape.dimensions[1], None, message)


def joined(run: Run) -> Any:
    """What ``np.concatenate`` makes of a list of arrays whose sizes are known at run time only."""
    if run.form.structure is not pytree.LEAF or run.form.leaves[0].dynamic != (0,) or run.form.leaves[0].constants:
        raise NotImplementedError(f"np.concatenate of a list of {run.type} whose length the program decides is not implemented")
    run = ordered(run)
    fail_where(hlo.eq(instruction_of(run.length), 0), ValueError("need at least one array to concatenate"))
    sizes, elements = [TracedArray.from_instruction(require_trace(), one, is_scalar=False) for one in instructions(run)]
    inside = TracedArray.from_instruction(require_trace(), rows_inside(run), is_scalar=False)
    return elements[inside[:, None] & (np.arange(elements.shape[1]) < sizes)]


def _rows_of_one_length(
    run: Run,
    elements: hlo.Instruction,
    lengths: hlo.Instruction | None,
    capacity: int,
    length: int | None,
    message: str = INHOMOGENEOUS,
) -> Any:
    """An array whose rows are the elements; the call raises ValueError where their lengths differ."""
    trace = require_trace()
    count = instruction_of(run.length)
    sizes = {0: hlo.convert(hlo.minimum(count, run.form.capacity), hlo.S32)}
    if lengths is not None:
        first = hlo.reshape(hlo.slice(lengths, (0,), (1,)), ())
        rows = hlo.iota(hlo.Shape(hlo.S64, lengths.shape.dimensions), 0)
        differs = hlo.ne(lengths, hlo.full_like(lengths, first))
        differs = hlo.and_(hlo.lt(rows, hlo.full_like(rows, count)), differs)
        found = np.any(TracedArray.from_instruction(trace, differs, is_scalar=False)).instruction(trace)
        fail_where(found, ValueError(message))
        trace.add_error_flag(hlo.eq(first, 0), LeftToPython, "np.array of lists without elements")
        sizes[1] = hlo.convert(hlo.minimum(first, capacity), hlo.S32)
    array = TracedArray.from_instruction(trace, elements, is_scalar=False)
    width = capacity if length is None else length
    return dynamic(trace, array[: run.form.capacity, :width], sizes)


def array_of_list(values: Any, has_dtype: bool = False) -> Any:
    """What ``np.array`` makes of a list. One without elements gives another array than others, but for lists of floats."""
    items = items_of(values)
    if type_of_items(items) is None:
        return np.array([])
    run = settled(items)
    array = array_of(run)
    if array.ndim > 1 or array.dtype != np.float64 and not has_dtype:
        leave_empty_to_python(run, "np.array")
    return array


def _in_dtype(values: Any, dtype: Any) -> Any:
    return array_of_list(values) if dtype is None else array_of_list(values, has_dtype=True).astype(dtype)


ARRAYS_OF_LISTS[Run] = ARRAYS_OF_LISTS[Row] = _in_dtype


def stacked(lists: Sequence[Any], message: str) -> TracedArray:
    """An array whose rows are lists of one length, which the program decides."""
    runs = [settled(items_of(one)) for one in lists]
    for run in runs[1:]:
        fail_where(hlo.ne(instruction_of(runs[0].length), instruction_of(run.length)), ValueError(message))
    for run in runs:
        leave_empty_to_python(run, "np.array")
    capacity = min(run.form.capacity for run in runs)
    known = [made(run.type, instructions(ordered(run)), run.form.capacity, run.form.place) for run in runs]
    whole = np.stack([array_of(run)[:capacity] for run in known])
    length = hlo.convert(instruction_of(runs[0].length), hlo.S32)
    return dynamic(require_trace(), whole, {1: length})
